"""Operations of an API as tools: what is sent, what is refused, and what comes back."""

import asyncio
import base64
import datetime
import gzip
import itertools
import json
import socket
import threading
import zlib
from urllib.parse import parse_qsl

import pytest

httpx = pytest.importorskip("httpx", reason="httpx is not installed")

from toolshape import Registry, ToolError, UsageError, openapi  # noqa: E402 - it needs httpx

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
LIST, OBJECT = {"type": "array", "items": TEXT}, {"type": "object"}


def parameter(name, where, schema=TEXT, **more):
    return {"name": name, "in": where, "schema": schema, **more}


def document_of(*parameters, path="/x", method="get", body=None, **operation):
    node = {"operationId": "op", "parameters": list(parameters), **operation}
    if body is not None:
        node["requestBody"] = body
    return {"openapi": "3.1.0", "info": {}, "paths": {path: {method: node}}}


class Server:
    """What was sent, and what is answered."""

    def __init__(self, *answers):
        self.requests, self.answers = [], list(answers)

    def __call__(self, request):
        request.read()
        self.requests.append(request)
        return self.answers.pop(0) if self.answers else httpx.Response(200, json="fine")

    def client(self, base="https://api.example/v1", **options):
        return httpx.Client(base_url=base, transport=httpx.MockTransport(self), **options)


def call(document, arguments, *answers, name="op", **options):
    server = Server(*answers)
    tools = openapi.load(document, server.client(), **options).tools()
    return tools[name].call(arguments), server


def sent(document, arguments):
    _, server = call(document, arguments)
    [request] = server.requests
    return request


PLACES = [
    # the parameter, its value, the path and the query that are sent
    (parameter("p", "path"), "a/b ?#é", "/v1/x/a%2Fb%20%3F%23%C3%A9"),
    (parameter("p", "path", LIST), ["a", "b;c"], "/v1/x/a,b%3Bc"),
    (parameter("p", "path", OBJECT), {"k": 1, "l": "b"}, "/v1/x/k,1,l,b"),
    (parameter("p", "path", OBJECT, explode=True), {"k": 1, "l": "b"}, "/v1/x/k=1,l=b"),
    (parameter("p", "query"), "a&b=c+d", "/v1/x?p=a%26b%3Dc%2Bd"),
    (parameter("p", "query"), "", "/v1/x?p="),
    (parameter("p", "query", {"type": "boolean"}), True, "/v1/x?p=true"),
    (parameter("p", "query", {"type": "number"}), 1.5, "/v1/x?p=1.5"),
    (parameter("p q", "query", LIST), ["a", "b,c"], "/v1/x?p%20q=a&p%20q=b%2Cc"),
    (parameter("p", "query", LIST, explode=False), ["a", "b c"], "/v1/x?p=a,b%20c"),
    (parameter("p", "query", LIST, style="spaceDelimited", explode=False), ["a", "b"], "/v1/x?p=a%20b"),
    (parameter("p", "query", LIST, style="pipeDelimited", explode=False), ["a", "b"], "/v1/x?p=a%7Cb"),
    (parameter("p", "query", OBJECT), {"k": 1, "l": "b"}, "/v1/x?k=1&l=b"),
    (parameter("p", "query", OBJECT, explode=False), {"k": 1, "l": "b"}, "/v1/x?p=k,1,l,b"),
    (
        parameter("p", "query", OBJECT, style="deepObject"),
        {"k": 1, "l": {"m": ["a", {"n": True}]}},
        "/v1/x?p%5Bk%5D=1&p%5Bl%5D%5Bm%5D%5B0%5D=a&p%5Bl%5D%5Bm%5D%5B1%5D%5Bn%5D=true",
    ),
    (
        {"name": "p", "in": "query", "content": {"application/json": {"schema": OBJECT}}},
        {"k": [1, None]},
        "/v1/x?p=%7B%22k%22%3A%5B1%2Cnull%5D%7D",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "value", "target"), PLACES)
def test_a_value_is_written_in_its_style(given, value, target):
    path = "/x/{p}" if given["in"] == "path" else "/x"
    request = sent(document_of({**given, "required": True}, path=path), {given["name"]: value})
    assert request.url.raw_path.decode() == target


def test_headers_and_cookies():
    document = document_of(
        parameter("X-A", "header", LIST), parameter("c", "cookie"), parameter("d", "cookie", NUMBER)
    )
    request = sent(document, {"X-A": ["1", "b c"], "c": "v", "d": 2})
    assert (request.headers["X-A"], request.headers["Cookie"]) == ("1,b c", "c=v; d=2")


REFUSED = [
    (parameter("p", "path"), "..", "part of a path"),
    (parameter("p", "path"), "", "part of a path"),
    (parameter("p", "path"), "a/../b", "part of a path"),
    (parameter("p", "path"), "..\\b", "part of a path"),
    (parameter("p", "path", LIST), ["a,b"], "stands between items"),
    (parameter("p", "path", LIST), [], "is empty"),
    (parameter("p", "query", LIST), [], "is empty"),
    (parameter("p", "query", LIST, explode=False), ["a,b"], "stands between items"),
    (parameter("p", "query", {"type": "array"}), [["a"]], "a list or an object"),
    (parameter("p", "query", {"type": "array"}), [None], "null"),
    (parameter("p", "query", OBJECT, style="deepObject"), {"a": {}}, "is empty"),
    (parameter("p", "query", OBJECT, style="deepObject"), {"a[b": 1}, "no name of a field"),
    (parameter("p", "query", {}, style="deepObject"), "a", "must be an object"),
    (parameter("p", "header"), "a\r\nX-B: c", "cannot stand in a header"),
    (parameter("p", "header"), "é", "cannot stand in a header"),
    (parameter("p", "header"), " a", "cannot stand in a header"),
    (parameter("p", "header", OBJECT, explode=True), {"a": "b=c"}, "names and values"),
    (parameter("p", "cookie"), "a; b=c", "cannot stand in a cookie"),
    (parameter("p", "cookie", LIST), ["a"], "a list or an object"),
    (parameter("p", "query", {"type": ["string", "null"]}), None, "cannot be null"),
]


@pytest.mark.parametrize(("given", "value", "why"), REFUSED)
def test_what_could_not_be_read_back_is_not_sent(given, value, why):
    server = Server()
    path = "/x/{p}" if given["in"] == "path" else "/x"
    document = document_of({**given, "required": True}, path=path)
    tools = openapi.load(document, server.client()).tools()
    [result] = tools.dispatch({"name": "op", "arguments": {"p": value}})
    assert (result.error.code, server.requests) == ("tool_error", [])
    assert why in str(result.error)


def body_of(media_type, schema=OBJECT, required=True, **media):
    return {"required": required, "content": {media_type: {"schema": schema, **media}}}


def test_bodies():
    value = {"a": "1 +&é", "n": None, "l": [1, {"x": 2}], "o": {"k": [True]}}
    request = sent(
        document_of(method="post", body=body_of("application/vnd.x+json")), {"body": value}
    )
    assert (request.headers["Content-Type"], json.loads(request.content)) == (
        "application/vnd.x+json",
        value,
    )
    request = sent(document_of(method="post", body=body_of("application/json", {})), {"body": None})
    assert request.content == b"null"
    del value["n"]
    form = body_of(
        "application/x-www-form-urlencoded",
        encoding={
            "deep": {"style": "deepObject", "explode": True},
            "list": {"style": "form", "explode": False},
            "json": {"contentType": "application/json"},
        },
    )
    value |= {"deep": {"card": {"number": "4"}, "of": ["a"]}, "list": ["x", "y"], "json": [1]}
    request = sent(document_of(method="post", body=form), {"body": value})
    assert parse_qsl(request.content.decode()) == [
        ("a", "1 +&é"), ("l", "1"), ("l", '{"x":2}'), ("o", '{"k":[true]}'), ("deep[card][number]", "4"),
        ("deep[of][0]", "a"), ("list", "x,y"), ("json", "[1]"),
    ]  # fmt: skip
    request = sent(document_of(method="post", body=body_of("text/plain", TEXT)), {"body": "é"})
    assert (request.content.decode(), request.headers["Content-Type"]) == ("é", "text/plain")
    octets = document_of(method="post", body=body_of("application/octet-stream", TEXT))
    assert sent(octets, {"body": base64.b64encode(b"\x00\xff").decode()}).content == b"\x00\xff"
    with pytest.raises(Exception, match="bytes in base64"):
        sent(octets, {"body": "é"})
    fields = {
        "file": {"type": "string", "format": "binary"},
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
    }
    parts = body_of(
        "multipart/form-data",
        {"type": "object", "properties": fields},
        encoding={
            "file": {"contentType": "image/png"},
            "text": {"contentType": "application/json"},
        },
    )
    data = base64.b64encode(b"\x89PNG").decode()
    value = {"file": data, "files": [data, ""], "n": 1, "o": {"k": 1}, "l": ["a", "b"], "text": "x"}
    request = sent(document_of(method="post", body=parts), {"body": value})
    content = request.content.decode("latin-1")
    assert request.headers["Content-Type"].startswith("multipart/form-data; boundary=")
    assert 'name="file"; filename="file"\r\nContent-Type: image/png\r\n\r\n\x89PNG' in content
    assert (
        content.count('name="files"; filename="files"\r\nContent-Type: application/octet-stream')
        == 2
    )
    assert 'name="n"\r\n\r\n1' in content
    assert 'name="o"\r\nContent-Type: application/json\r\n\r\n{"k":1}' in content
    assert 'name="text"\r\nContent-Type: application/json\r\n\r\n"x"' in content
    assert content.count('name="l"') == 2
    tool = openapi.load(document_of(method="post", body=parts), Server().client()).tools()["op"]
    assert "bytes, in base64: file, files" in tool.input_schema["properties"]["body"]["description"]
    latin = document_of(method="post", body=body_of("text/plain; charset=iso-8859-1", TEXT))
    assert sent(latin, {"body": "é"}).content == b"\xe9"
    wild = document_of(method="post", body=body_of("text/*", TEXT))
    assert sent(wild, {"body": "x"}).headers["Content-Type"] == "text/plain"
    assert (
        sent(
            document_of(method="post", body=body_of("application/json", required=False)), {}
        ).content
        == b""
    )


def test_what_has_one_name_stays_apart():
    document = document_of(
        parameter("id", "path", required=True), parameter("id", "query", NUMBER), parameter("id", "header"),
        parameter("body", "query"), path="/x/{id}", method="put", body=body_of("application/json"),
    )  # fmt: skip
    given = {
        "path_id": "1",
        "query_id": 2,
        "header_id": "3",
        "query_body": "4",
        "request_body": {"id": 5},
    }
    request = sent(document, given)
    assert request.url.raw_path == b"/v1/x/1?id=2&body=4"
    assert (request.headers["id"], request.content) == ("3", b'{"id":5}')


def test_a_path_with_a_query_or_a_fragment():
    """Some documents tell operations apart by them; a fragment is never sent."""
    document = document_of(parameter("q", "query"), path="/x?Action=Get#part")
    assert sent(document, {"q": "a"}).url.raw_path == b"/v1/x?Action=Get&q=a"


def test_a_number_that_json_has_not_is_not_sent():
    document = document_of(method="post", body=body_of("application/json", {"type": "number"}))
    server = Server()
    tools = openapi.load(document, server.client()).tools()
    [result] = tools.dispatch({"name": "op", "arguments": '{"body": 1e999}'})
    assert not result.ok
    assert server.requests == []


def test_no_header_of_the_connection_is_an_argument():
    names = ["Host", "Content-Length", "Transfer-Encoding", "Cookie", "X-Mine"]
    document = document_of(*(parameter(name, "header") for name in names))
    tool = openapi.load(document, Server().client()).tools()["op"]
    assert list(tool.input_schema["properties"]) == ["X-Mine"]


def test_what_the_client_has_stays():
    """Its parameters, cookies and headers; no argument takes their place."""
    document = document_of(
        parameter("q", "query"), parameter("tenant", "query"), parameter("c", "cookie"), parameter("session", "cookie"),
        parameter("X-Tenant", "header"), parameter("o", "query", OBJECT),
    )  # fmt: skip
    server = Server(httpx.Response(302, headers={"Location": "/v1/z?page=2"}))
    client = server.client(
        params={"tenant": "mine"}, cookies={"session": "s"}, headers={"X-Tenant": "t"}
    )
    tools = openapi.load(document, client).tools()
    assert list(tools["op"].input_schema["properties"]) == ["q", "c", "o"]
    tools["op"].call({"q": "1", "c": "2", "o": {"k": 3}})
    first, second = server.requests
    assert first.url.raw_path == b"/v1/x?q=1&k=3&tenant=mine"
    assert second.url.raw_path == b"/v1/z?page=2"
    for request in (first, second):
        assert (request.headers["Cookie"], request.headers["X-Tenant"]) == ("session=s; c=2", "t")
    for key in ("q", "TENANT"):
        [result] = tools.dispatch({"name": "op", "arguments": {"o": {key: "evil"}}})
        assert "cannot have the field" in str(result.error)
    assert len(server.requests) == 2


class Stream(httpx.SyncByteStream):
    """What a server sends piece by piece, and how much of it was read."""

    def __init__(self, pieces):
        self.pieces, self.read = pieces, 0

    def __iter__(self):
        for piece in self.pieces:
            self.read += len(piece)
            yield piece


def answer_of(pieces, packing, *, status=200, media_type="text/plain"):
    headers = {"Content-Encoding": packing, "Content-Type": media_type}
    return httpx.Response(status, headers=headers, stream=Stream(pieces))


def test_a_packed_answer_is_unpacked_as_far_as_it_is_read():
    packed = gzip.compress(b"x" * 1_000)

    answers = [answer_of([packed], packing) for packing in ("gzip", "br", "deflate, gzip")]
    value, server = call(document_of(), {}, answers[0], most_bytes=10)
    assert value.startswith("xxxxxxxxxx\n[cut")
    assert server.requests[0].headers["Accept-Encoding"] == "identity"
    for answer in answers[1:]:
        with pytest.raises(Exception, match="packed in a way"):
            call(document_of(), {}, answer)


def test_an_operation_with_servers_of_its_own_is_left_out():
    document = document_of(servers=[{"url": "https://uploads.example"}])
    assert "servers of its own" in openapi.load(document, Server().client()).left_out[0].reason
    document["servers"] = [{"url": "https://uploads.example/"}]
    assert not openapi.load(document, Server().client()).left_out


def test_what_cannot_be_sent_is_told_to_the_model():
    def told(document, arguments):
        tools = openapi.load(document, Server().client()).tools()
        [result] = tools.dispatch({"name": "op", "arguments": arguments})
        return (result.error.code, str(result.error))

    assert told(document_of(parameter("q", "query")), {"q": "x" * 70_000})[0] == "tool_error"
    encoding = {"a": {"style": "form"}, "d": {"style": "deepObject"}}
    form = body_of("application/x-www-form-urlencoded", encoding=encoding)
    for value in ({"b": 2, "a": {"b": 1}}, {"d[x]": 1, "d": {"x": 2}}):
        assert (
            "name of another field"
            in told(document_of(method="post", body=form), {"body": value})[1]
        )
    empty = document_of(method="post", body=body_of("multipart/form-data"))
    assert "is empty" in told(empty, {"body": {}})[1]


def test_no_credential_is_an_argument():
    """The client has them; what the document says of them is left out."""
    document = document_of(
        parameter("Authorization", "header"), parameter("X-Key", "header"), parameter("Accept", "header"), parameter("q", "query"),
    )  # fmt: skip
    document["components"] = {
        "securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "X-KEY"}}
    }
    server = Server()
    client = server.client(headers={"X-Key": "secret"})
    tools = openapi.load(document, client).tools()
    assert list(tools["op"].input_schema["properties"]) == ["q"]
    tools["op"].call({"q": "a"})
    assert server.requests[0].headers["X-Key"] == "secret"
    assert tools["op"].input_schema["additionalProperties"] is False


def test_names_effects_tags_and_approval():
    paths = {
        "/a/{b}": {
            "parameters": [parameter("b", "path", required=True)],
            "get": {"tags": ["t"], "deprecated": True, "summary": "S.", "description": "D."},
            "head": {"operationId": "x y.z"},
            "put": {"operationId": "x_y_z"},
            "delete": {"operationId": ""},
            "post": {"operationId": "post"},
        }
    }
    asked = []

    def approve(operation, arguments):
        asked.append((operation.path, arguments))
        return operation.method == "DELETE"

    server = Server()
    tools = openapi.load(
        {"openapi": "3.0.1", "paths": paths}, server.client(), approve=approve, tags=["mine"]
    ).tools()
    assert {tool.name: sorted(tool.effects) for tool in tools} == {
        "get_a_b": ["read"], "x_y_z": ["idempotent", "write"], "delete_a_b": ["idempotent", "write"],
        "x_y_z_2": ["read"], "post": ["write"],
    }  # fmt: skip
    assert tools["get_a_b"].tags == {"t", "deprecated", "mine"}
    assert tools["get_a_b"].description == "S.\n\nD.\n\nDeprecated."
    plan = tools.bind("json-schema").plan({"name": "delete_a_b", "arguments": {"b": "1"}})
    assert [pending.name for pending in plan.pending]
    assert asked == [("/a/{b}", {"b": "1"})]
    assert not server.requests


def test_what_cannot_be_written_is_left_out_with_the_reason():
    paths = {
        "/xml": {"post": {"requestBody": body_of("application/xml")}},
        "/label/{p}": {"get": {"parameters": [parameter("p", "path", style="label")]}},
        "/gone/{p}": {"get": {}},
        "/there": {"get": {"parameters": [{"$ref": "other.json#/p"}]}},
        "/round": {"get": {"parameters": [{"$ref": "#/components/parameters/a"}]}},
        "/content": {
            "get": {"parameters": [{"name": "p", "in": "query", "content": {"text/csv": {}}}]}
        },
        "/broken": {
            "get": {"parameters": [parameter("p", "query", {"$ref": "#/components/schemas/none"})]}
        },
        "/item": {"$ref": "#/nowhere"},
        "/fine": {"get": {}},
    }
    document = {
        "openapi": "3.1.0",
        "paths": paths,
        "components": {"parameters": {"a": {"$ref": "#/components/parameters/a"}}},
    }
    api = openapi.load(document, Server().client())
    assert [tool.name for tool in api.tools()] == ["get_fine"]
    reasons = {left_out.path: left_out.reason for left_out in api.left_out}
    assert sorted(reasons) == sorted(paths.keys() - {"/fine"})
    for path, word in (
        ("/xml", "application/xml"), ("/label/{p}", "'label'"), ("/gone/{p}", "{p}"), ("/there", "other.json"),
        ("/round", "circle"), ("/content", "text/csv"), ("/broken", "none"), ("/item", "nowhere"),
    ):  # fmt: skip
        assert word in reasons[path], reasons[path]


def test_read_only_fields_stay_out_of_requests():
    """Also where one part of an object has the field, and another requires it."""
    schemas = {
        "Base": {
            "type": "object",
            "properties": {"id": {"$ref": "#/components/schemas/Id"}, "name": TEXT},
        },
        "Id": {"type": "integer", "readOnly": True},
        "Pet": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"required": ["id", "name"]}]},
    }
    document = document_of(
        method="post", body=body_of("application/json", {"$ref": "#/components/schemas/Pet"})
    )
    document["components"] = {"schemas": schemas}
    before = json.dumps(document)
    tools = openapi.load(document, Server().client()).tools()
    [result] = tools.dispatch({"name": "op", "arguments": {"body": {"name": "a"}}})
    assert result.ok, result.error
    assert '"id"' not in json.dumps(tools["op"].input_schema)
    assert json.dumps(document) == before


READ_ONLY = {"type": "integer", "readOnly": True}
REQUIRED_ELSEWHERE = [
    {"properties": {"id": READ_ONLY, "n": TEXT}, "anyOf": [{"required": ["id"]}, {"required": ["n", "id"]}], "additionalProperties": False},
    {"allOf": [{"$ref": "#/components/schemas/Q"}, {"properties": {"id": READ_ONLY}}]},
    {"properties": {"id": {"$ref": "#/components/schemas/A"}}, "required": ["id"]},
    {"properties": {"id": {"allOf": [{"$ref": "#/components/schemas/B"}]}}, "required": ["id"]},
    {"properties": {"id": READ_ONLY}, "dependentRequired": {"n": ["id"]}},
    {"allOf": [{"allOf": [{"allOf": [{"allOf": [{"properties": {"id": READ_ONLY}}]}]}]}], "required": ["id"]},
    {"properties": {"x": {"properties": {"id": READ_ONLY}, "required": ["id"]}, "n": TEXT}},
]  # fmt: skip


@pytest.mark.parametrize("schema", REQUIRED_ELSEWHERE)
def test_what_is_read_only_is_required_nowhere(schema):
    document = document_of(method="post", body={"$ref": "#/components/requestBodies/default"})
    document["components"] = {
        "requestBodies": {"default": body_of("application/json", {"type": "object", **schema})},
        "schemas": {
            "Q": {"required": ["id"]},
            "A": {"$ref": "#/components/schemas/B"},
            "B": READ_ONLY,
        },
    }
    api = openapi.load(document, Server().client())
    value = {"n": "1"} if schema.get("additionalProperties") is False else {"n": "1", "x": {}}
    [result] = api.tools().dispatch({"name": "op", "arguments": {"body": value}})
    assert result.ok, (result.error, api.left_out)


def test_a_field_that_something_else_refers_to_is_still_there():
    document = document_of(
        parameter("p", "query", {"$ref": "#/components/schemas/Pet/properties/id"})
    )
    document["components"] = {
        "schemas": {"Pet": {"properties": {"id": READ_ONLY}, "allOf": 7, "required": [{}]}}
    }
    api = openapi.load(document, Server().client())
    [tool] = api.tools()
    assert list(tool.input_schema["properties"]) == ["p"]


def test_data_and_fields_that_are_called_like_keywords_are_kept():
    schema = {
        "type": "object",
        "properties": {
            "properties": {"type": "object", "properties": {"a": {"readOnly": True}, "b": TEXT}},
            "required": LIST,
            "readOnly": {"type": "boolean"},
            "example": {"type": "object", "properties": {"a": {"readOnly": True}, "b": TEXT}},
        },
        "default": {"properties": {"a": {"readOnly": True}}, "required": ["a"]},
    }
    document = document_of(method="post", body=body_of("application/json", schema))
    tool = openapi.load(document, Server().client()).tools()["op"]
    body = tool.input_schema["properties"]["body"]
    assert list(body["properties"]) == ["properties", "required", "readOnly", "example"]
    assert body["default"] == schema["default"]
    for name in ("properties", "example"):
        assert list(body["properties"][name]["properties"]) == ["b"]


def test_a_schema_that_admits_nothing():
    tools = openapi.load(document_of(parameter("p", "query", False)), Server().client()).tools()
    [result] = tools.dispatch({"name": "op", "arguments": {"p": 1}})
    assert result.error.code == "invalid_arguments"


def test_only_what_is_asked_for_is_read():
    paths = {f"/{name}": {"get": {"operationId": name, "tags": [name[0]], "parameters": [parameter("p", "query", {"type": kind})]}} for name, kind in (("a1", "string"), ("a2", "objct"), ("b1", "objct"))}  # fmt: skip
    api = openapi.load(json.dumps({"openapi": "3.0.0", "paths": paths}), Server().client())
    assert (len(api.operations), api.left_out) == (3, ())
    assert isinstance(api.tools(tags=["a"]), Registry)
    assert [left_out.name for left_out in api.left_out] == ["a2"]
    assert [tool.name for tool in api.tools(["a*"])] == ["a1"]
    assert api.tools(["a1"])["a1"] is api.tools(["a1"])["a1"]
    with pytest.raises(KeyError):
        api.tools(["c"])


def test_a_large_tool_is_found_with_the_field():
    schema = {"type": "string", "enum": [f"value {number}" for number in range(3_000)]}
    document = document_of(
        parameter("small", "query"), method="post", body=body_of("application/json", schema)
    )
    tool = openapi.load(document, Server().client()).tools()["op"]
    [finding] = [finding for finding in tool.findings if finding.rule == "large"]
    assert finding.path == "body"


ANSWERS = [
    (lambda: httpx.Response(200, json={"a": [1]}), {"a": [1]}),
    (lambda: httpx.Response(200, content=b"{", headers={"Content-Type": "application/json"}), "{"),
    (lambda: httpx.Response(200, text="héllo"), "héllo"),
    (lambda: httpx.Response(204), None),
    (lambda: httpx.Response(200, content=b"\xe9", headers={"Content-Type": "text/csv; charset=latin-1"}), "é"),
    (lambda: httpx.Response(200, content=b"\xe9", headers={"Content-Type": "text/csv; charset=none"}), "\ufffd"),
    (lambda: httpx.Response(200, content=b"\x00", headers={"Content-Type": "application/zip"}), "1 bytes of application/zip, which are not shown"),
    (lambda: httpx.Response(200, text="x" * 101), "x" * 100 + "\n[cut: only the first 100 bytes of the answer were read]"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "value"), ANSWERS)
def test_answers(answer, value):
    assert call(document_of(), {}, answer(), most_bytes=100)[0] == value


def test_an_image_is_an_image():
    value, _ = call(
        document_of(),
        {},
        httpx.Response(200, content=b"\x89PNG", headers={"Content-Type": "image/png"}),
    )
    assert (value.data, value.media_type) == (b"\x89PNG", "image/png")


def test_errors_are_the_servers_own_words():
    def failed(*answers, method="get", **options):
        server = Server(*answers)
        api = openapi.load(
            document_of(method=method), server.client(follow_redirects=True), **options
        )
        [result] = api.tools().dispatch({"name": "op", "arguments": {}})
        assert result.error.code == "tool_error"
        return str(result.error), len(server.requests)

    assert failed(httpx.Response(422, json={"detail": "no"})) == (
        'the server answered 422 Unprocessable Entity: {"detail":"no"}',
        1,
    )
    long, _ = failed(httpx.Response(500, text="x" * 5_000))
    assert len(long) < 2_100
    assert long.endswith("[cut]")
    to_other = httpx.Response(302, headers={"Location": "https://evil.example/x"})
    assert failed(to_other) == ("the server redirects to evil.example, which is not followed", 1)
    to_plain = httpx.Response(302, headers={"Location": "http://api.example/x"})
    assert "not followed" in failed(to_plain)[0]
    within = httpx.Response(307, headers={"Location": "/v2"})
    assert failed(within, method="post") == (
        "the server redirects a call that writes, which is not followed; nothing was done",
        1,
    )
    assert failed(*[httpx.Response(302, headers={"Location": "/v1/x"})] * 6) == (
        "the server redirects again and again",
        5,
    )
    assert call(document_of(), {}, within, httpx.Response(200, json=1))[0] == 1

    def times_out(request):
        raise httpx.ReadTimeout("secret", request=request)

    def breaks(request):
        raise httpx.ConnectError("secret", request=request)

    for handler, words in (
        (times_out, "did not answer in time"),
        (breaks, "could not be reached (ConnectError)"),
    ):
        client = httpx.Client(base_url="https://a.example", transport=httpx.MockTransport(handler))
        with pytest.raises(Exception, match="server") as caught:
            openapi.load(document_of(), client).tools()["op"].call({})
        assert words in str(caught.value)
        assert "secret" not in str(caught.value)
        assert isinstance(caught.value.__cause__, ToolError)


def test_an_async_client_makes_async_tools():
    server = Server(
        httpx.Response(302, headers={"Location": "/v1/y"}), httpx.Response(200, text="x" * 20)
    )

    async def main():
        async with httpx.AsyncClient(
            base_url="https://api.example/v1", transport=httpx.MockTransport(server)
        ) as client:
            tools = openapi.load(document_of(), client, most_bytes=10).tools()
            [result] = await tools.adispatch({"name": "op", "arguments": {}})
            return result.value

    assert asyncio.run(main()).startswith("x" * 10 + "\n[cut")
    assert [request.url.path for request in server.requests] == ["/v1/x", "/v1/y"]


def test_what_cannot_be_loaded():
    client = Server().client()
    for document, options, words in (
        ({"swagger": "2.0"}, {}, "OpenAPI 3.0 or 3.1"),
        ("{", {}, "not JSON"),
        ([], {}, "OpenAPI 3.0 or 3.1"),
        (document_of(), {"most_bytes": 0}, "most_bytes"),
        (document_of(), {"most_bytes": "1"}, "most_bytes"),
        (document_of(), {"approve": "yes"}, "approve="),
        (document_of(), {"name": "x"}, "same name"),
    ):
        with pytest.raises(UsageError, match=words):
            openapi.load(document, client, **options)
    with pytest.raises(UsageError, match="client of httpx"):
        openapi.load(document_of(), print)
    with pytest.raises(UsageError, match="no server"):
        openapi.load(document_of(), httpx.Client())
    with pytest.raises(UsageError, match="has a query"):
        openapi.load(document_of(), client, base_url="https://a.example/?key=1")
    assert openapi.load(document_of(), httpx.Client(), base_url="https://a.example")


def test_what_a_subject_costs():
    """A tool with two tags counts for both; the largest comes first."""
    contract = pytest.importorskip("toolshape.contract", reason="jsonschema is not installed")
    paths = {
        "/a": {"get": {"tags": ["one", "two"], "summary": "x" * 100}},
        "/b": {"get": {"tags": ["two"]}},
        "/c": {"get": {}},
    }
    tools = openapi.load({"openapi": "3.1.0", "paths": paths}, Server().client()).tools()
    cost = contract.request_cost(tools.bind("anthropic"), "")
    sizes = {each.tool: each.characters for each in cost.costs}
    wanted = {"two": sizes["get_a"] + sizes["get_b"], "one": sizes["get_a"]}
    assert list(cost.by_tag().items()) == list(wanted.items())
    assert f"characters by tag: two {wanted['two']:,}, one {wanted['one']:,}" in str(cost)
    assert json.loads(cost.to_json())["by_tag"] == wanted


def within(seconds, run):
    """What a function returns, if it does in time; a thread that does not end is left behind."""
    done = []
    thread = threading.Thread(target=lambda: done.append(run()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert done, f"not done within {seconds} s"
    return done[0]


def schema_of(name):
    return {"$ref": f"#/components/schemas/{name}"}


def levels(count, inner):
    """A chain of schemas; ``inner`` says what each is of the reference to the next one."""
    schemas = {f"S{i}": inner(i, schema_of(f"S{i + 1}")) for i in range(count)}
    return {**schemas, f"S{count}": {"type": "object", "properties": {"id": READ_ONLY, "n": TEXT}}}


def marked(name, *inner):
    return {"properties": {name: READ_ONLY}, "oneOf": list(inner)}


SHARED = {
    "a diamond at each level": levels(100, lambda _, inner: {"allOf": [inner, inner], "required": ["id"]}),
    "an object that is its own part": {"S0": {"allOf": [schema_of("S0"), schema_of("S0")], "required": ["n"]}},
    "two branches at each level": levels(
        60, lambda i, inner: {"oneOf": [marked(f"a{i}", inner), marked(f"b{i}", inner)]}
    ),
}  # fmt: skip


@pytest.mark.parametrize("schemas", SHARED.values(), ids=SHARED)
def test_parts_that_are_shared_are_looked_at_once(schemas):
    document = document_of(method="post", body=body_of("application/json", schema_of("S0")))
    document["components"] = {"schemas": schemas}
    api = openapi.load(document, Server().client())
    tools = within(5, api.tools)
    text = "; ".join(each.reason for each in api.left_out) or json.dumps(tools["op"].input_schema)
    assert '"id"' not in text
    assert "readOnly" not in text


DAY = datetime.date(2020, 1, 1)
ODD = [
    (document_of(parameter("p", "query", {"type": "string", "default": DAY}), path="/odd"), "datetime.date"),
    (document_of(path="/odd", method="post", body=body_of("application/json", {"properties": {1: TEXT}})), "key 1"),
    (document_of(path="/odd", method="post", body={"content": {1: {}}}), "media type 1"),
    (document_of({"name": "p", "in": "query", "content": {True: {}}}, path="/odd"), "media type True"),
    (document_of(path=5), "path 5"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "why"), ODD)
def test_what_yaml_reads_leaves_one_operation_out(document, why):
    document["paths"]["/fine"] = {"get": {"operationId": "fine"}}
    api = openapi.load(document, Server().client())
    assert [tool.name for tool in api.tools()] == ["fine"]
    [left_out] = api.left_out
    assert why in left_out.reason


def test_what_is_beside_the_reference_of_a_path():
    """It holds, with the places of its own; what both say is undefined."""
    beside = {"post": {"operationId": "b", "parameters": [parameter("q", "query")]}}
    beside["parameters"] = [parameter("tenant", "query", NUMBER, required=True)]
    document = {
        "openapi": "3.1.0",
        "components": {"pathItems": {"x": {"get": {"operationId": "a"}}}},
        "paths": {"/x": {"$ref": "#/components/pathItems/x", **beside}},
    }
    tools = openapi.load(document, Server().client()).tools()
    assert {tool.name: tool.input_schema["required"] for tool in tools} == {
        "a": ["tenant"],
        "b": ["tenant"],
    }
    assert list(tools["b"].input_schema["properties"]) == ["tenant", "q"]
    document["paths"]["/x"]["servers"] = [{"url": "https://uploads.example"}]
    assert {each.name for each in openapi.load(document, Server().client()).left_out} == {"a", "b"}
    document["paths"]["/x"]["get"] = {}
    assert "both say" in openapi.load(document, Server().client()).left_out[0].reason


def raw_deflate(content):
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def packed_of(content):
    return gzip.compress(content, mtime=0)


MEMBERS = packed_of(b"one, ") + packed_of(b"") + packed_of(b"two")
WHOLE = [
    (MEMBERS, "gzip", "one, two"),
    (MEMBERS, "x-gzip", "one, two"),
    (MEMBERS + b"\0" * 100, "gzip", "one, two"),
    (MEMBERS + b"\x1f", "gzip", "one, two"),
    (zlib.compress(b"one"), "deflate", "one"),
    (raw_deflate(b"one"), "deflate", "one"),
    (packed_of(b"one"), "deflate", "one"),
    (b"", "gzip", None),
    (packed_of(b""), "gzip", None),
]


@pytest.mark.parametrize("length", [1, 7, 10_000])
@pytest.mark.parametrize(("packed", "packing", "value"), WHOLE)
def test_a_packed_answer_is_read_to_its_end(packed, packing, value, length):
    pieces = [packed[at : at + length] for at in range(0, len(packed), length)]
    assert call(document_of(), {}, answer_of(pieces, packing))[0] == value


@pytest.mark.parametrize("length", [1, 10_000])
def test_a_packed_answer_that_breaks_off_is_told_as_cut(length):
    packed = packed_of(b"hello ") + packed_of(bytes(range(97, 123)) * 10)
    for end in (1, 9, len(packed) - 30, len(packed) - 1):
        pieces = [packed[at : min(at + length, end)] for at in range(0, end, length)]
        value, _ = call(document_of(), {}, answer_of(pieces, "gzip"))
        assert "[cut: only the first" in value
        value, _ = call(document_of(), {}, answer_of(pieces, "gzip", media_type="application/pdf"))
        assert value.startswith("more than ")
        with pytest.raises(Exception, match=r"500 Internal Server Error: .*\[cut\]"):
            call(document_of(), {}, answer_of(pieces, "gzip", status=500))
    with pytest.raises(Exception, match="cannot be unpacked"):
        call(document_of(), {}, answer_of([packed[:-8] + bytes(8)], "gzip"))


START = packed_of(b"")[:10]
ENDLESS = [
    (START, b"\0\0\0\xff\xff" * 13_000, "[cut"),  # empty blocks
    (b"", packed_of(b"") * 3_000, "[cut"),  # empty members
    (packed_of(b"hi"), b"x" * 65_000, "hi"),  # what follows the end
]


@pytest.mark.parametrize(("first", "again", "value"), ENDLESS)
def test_what_unpacks_to_nothing_is_not_read_for_ever(first, again, value):
    stream = Stream(itertools.chain([first], itertools.repeat(again, 1_000)))
    headers = {"Content-Encoding": "gzip", "Content-Type": "text/plain"}
    answer = httpx.Response(200, headers=headers, stream=stream)
    assert (
        within(5, lambda: call(document_of(), {}, answer, most_bytes=1_000)[0]).strip()[:4] == value
    )
    assert stream.read < 200_000


def servers_of(*addresses, **variables):
    if not variables:
        return [{"url": address} for address in addresses]
    return [{"url": address, "variables": variables} for address in addresses]


API = "https://api.example/v1"
REGIONS = {"enum": ["eu", "us"], "default": "eu"}
SERVERS = [
    # those of the document, those of the operation, the base_url, and whether it is asked
    ((API, "https://b.example"), ("https://b.example",), API, False),
    ((API, "https://b.example"), ("https://b.example",), "https://b.example/", True),
    ((API, "https://b.example"), ("https://b.example", f"{API}/"), "https://proxy.example", True),
    (("//k.local",), ("https://k.local",), "https://mine.example:6443", True),
    (("//k.local",), ("https://other.local",), "https://OTHER.local", True),
    (("/v1",), ("/v2",), API, False),
    (("/v1",), ("/v2",), "https://api.example/v2", True),
    ((API,), ("https://{t}.example",), "https://acme.example", True),
    ((API,), ("https://{t}.example",), "https://a/b.example", False),
    ((API,), ("https://{a}{b}{c}{d}{e}{f}{g}{h}.example",), f"https://{'a' * 200}", False),
    ((API,), (API + "x",), API, False),
]


@pytest.mark.parametrize(("shared", "own", "base_url", "is_asked"), SERVERS)
def test_an_operation_goes_to_none_but_its_own_servers(shared, own, base_url, is_asked):
    document = document_of(servers=servers_of(*own)) | {"servers": servers_of(*shared)}
    api = within(5, lambda: openapi.load(document, Server().client(), base_url=base_url))
    assert bool(api.operations) is is_asked
    if not is_asked:
        assert own[0] in api.left_out[0].reason
        assert "base_url=" in api.left_out[0].reason


def test_the_variables_of_a_server():
    def is_asked(base_url, default="eu"):
        document = document_of(servers=servers_of("https://{r}.example", r=REGIONS))
        shared = servers_of("https://{r}.example", r={**REGIONS, "default": default})
        client = Server().client()
        return bool(
            openapi.load(document | {"servers": shared}, client, base_url=base_url).operations
        )

    assert is_asked("https://proxy.example")
    assert is_asked("https://us.example", default="us")
    assert not is_asked("https://cn.example", default="us")
    paths = document_of(servers=servers_of("{s}/v1", s={"default": "https://a.example/x"}))
    assert openapi.load(paths, Server().client(), base_url="https://a.example/x/v1").operations


def test_the_servers_of_an_operation_stand_for_those_of_its_path():
    document = document_of(servers=servers_of(API))
    document["paths"]["/x"]["servers"] = servers_of("https://b.example")
    assert openapi.load(document, Server().client()).operations
    del document["paths"]["/x"]["get"]["servers"]
    assert not openapi.load(document, Server().client()).operations


def parts_of(schema, value, version="3.1.0", **media):
    """What is sent of a multipart body: for each part its headers and its content."""
    document = document_of(method="post", body=body_of("multipart/form-data", schema, **media))
    document["openapi"] = version
    document["components"] = {"schemas": {"File": BINARY}}
    request = sent(document, {"body": value})
    boundary = request.headers["Content-Type"].partition("boundary=")[2].encode()
    parts = [part.split(b"\r\n\r\n", 1) for part in request.content.split(b"--" + boundary)[1:-1]]
    return [
        (head.decode().strip().removeprefix("Content-Disposition: form-data; "), content[:-2])
        for head, content in parts
    ]


BINARY = {"type": "string", "format": "binary"}
NULL = {"type": "null"}
AS_FASTAPI = {"type": "string", "contentMediaType": "application/octet-stream"}
FILES = [
    {"properties": {"f": {"anyOf": [AS_FASTAPI, NULL]}}},
    {"properties": {"f": {"anyOf": [{"type": "array", "items": AS_FASTAPI}, NULL]}}},
    {"properties": {"f": {"type": ["array", "null"], "items": schema_of("File")}}},
    {"properties": {"f": {"allOf": [schema_of("File")], "description": "A file."}}},
    {"allOf": [{"properties": {"t": TEXT}}, {"allOf": [{"properties": {"f": schema_of("File")}}]}]},
    {"anyOf": [{"properties": {"f": BINARY}}, {"properties": {"t": TEXT}}]},
    {"properties": {"t": TEXT}, "additionalProperties": schema_of("File")},
]


@pytest.mark.parametrize("schema", FILES)
def test_a_file_is_sent_as_a_file(schema):
    data = base64.b64encode(b"\x00\xff").decode()
    is_list = '"array"' in json.dumps(schema)
    [(head, content), text] = parts_of(schema, {"f": [data] if is_list else data, "t": "AAAA"})
    assert 'filename="f"' in head
    assert (content, text) == (b"\x00\xff", ('name="t"', b"AAAA"))
    body = body_of("multipart/form-data", schema)
    document = document_of(method="post", body=body)
    document["components"] = {"schemas": {"File": BINARY}}
    tool = openapi.load(document, Server().client()).tools()["op"]
    assert "in base64" in tool.input_schema["properties"]["body"]["description"]


def test_a_file_that_only_its_media_type_tells():
    for field in ({}, TEXT):
        encoding = {"f": {"contentType": "image/png"}}
        parts = parts_of({"properties": {"f": field}}, {"f": "AP8="}, encoding=encoding)
        assert parts == [('name="f"; filename="f"\r\nContent-Type: image/png', b"\x00\xff")]
    encoding = {"f": {"contentType": "text/csv"}}
    assert parts_of({"properties": {"f": TEXT}}, {"f": "AP8="}, encoding=encoding) == [
        ('name="f"\r\nContent-Type: text/csv', b"AP8=")
    ]


def test_what_is_in_base64_by_its_schema_stays_a_text():
    for version, schema in (
        ("3.0.3", {"type": "string", "format": "byte"}),
        ("3.1.0", {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}),
    ):
        parts = parts_of({"properties": {"f": schema}}, {"f": "AP8="}, version)
        assert parts == [('name="f"', b"AP8=")]


def test_multipart_has_styles_in_3_1_only():
    encoding = {"l": {"style": "form", "explode": False}, "o": {"style": "deepObject"}}
    value = {"l": ["a", "b"], "o": {"k": {"m": 1}}}
    assert parts_of(OBJECT, value, encoding=encoding) == [
        ('name="l"', b"a,b"),
        ('name="o[k][m]"', b"1"),
    ]
    assert parts_of(OBJECT, value, "3.0.3", encoding=encoding) == [
        ('name="l"', b"a"),
        ('name="l"', b"b"),
        ('name="o"\r\nContent-Type: application/json', b'{"k":{"m":1}}'),
    ]
    encoding = {"f": {"style": "form", "contentType": "image/png"}}
    [(head, _)] = parts_of({"properties": {"f": BINARY}}, {"f": ""}, "3.0.3", encoding=encoding)
    assert "image/png" in head


def said_of(document, arguments):
    """What the model reads of a call for which nothing is sent."""
    server = Server()
    tools = openapi.load(document, server.client()).tools()
    [result] = tools.dispatch({"name": "op", "arguments": arguments})
    assert (result.error.code, server.requests) == ("tool_error", [])
    return str(result.error)


DEEP = parameter("p", "query", OBJECT, style="deepObject")
MEETING = [
    (document_of(parameter("p", "query", OBJECT), parameter("q", "query", OBJECT)), {"p": {"a": 1}, "q": {"a": 2}}),
    (document_of(DEEP, parameter("p[k]", "query")), {"p": {"k": 1}, "p[k]": "2"}),
    (document_of(parameter("p[k]", "query"), DEEP), {"p": {"k": 1}}),
    (document_of(parameter("p", "query", OBJECT), DEEP | {"name": "d"}), {"p": {"d[k]": 1}, "d": {"k": 2}}),
    (document_of(parameter("p", "query", OBJECT), path="/x?action=list"), {"p": {"Action": "delete"}}),
]  # fmt: skip


@pytest.mark.parametrize(("document", "arguments"), MEETING)
def test_no_two_names_meet_in_the_query(document, arguments):
    assert "cannot have the field" in said_of(document, arguments)


def test_what_the_path_says_is_no_argument():
    document = document_of(
        parameter("view", "query", required=True), parameter("p", "query"), path="/x?view=info"
    )
    assert sent(document, {"p": "view"}).url.raw_path == b"/v1/x?view=info&p=view"


def test_multipart_refuses_what_other_forms_refuse():
    body = body_of("multipart/form-data", encoding={"d": {"style": "deepObject"}})
    document = document_of(method="post", body=body)
    assert "l is empty" in said_of(document, {"body": {"l": [], "t": "x"}})
    assert "name of another" in said_of(document, {"body": {"d[x]": 1, "d": {"x": 2}}})


BROKEN = [
    (httpx.ConnectError, False), (httpx.ConnectTimeout, False), (httpx.PoolTimeout, False), (httpx.ReadTimeout, True),
    (httpx.WriteError, True), (httpx.ReadError, True), (httpx.RemoteProtocolError, True),
]  # fmt: skip


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize(("kind", "may_have_arrived"), BROKEN)
def test_a_write_that_may_have_arrived_is_told_as_such(kind, may_have_arrived, method):
    def breaks(request):
        raise kind("secret", request=request)

    client = httpx.Client(base_url="https://a.example", transport=httpx.MockTransport(breaks))
    tools = openapi.load(document_of(method=method), client).tools()
    [result] = tools.dispatch({"name": "op", "arguments": {}})
    said = str(result.error)
    assert ("could not be reached" in said) is not may_have_arrived
    assert ("may or may not have had an effect" in said) is (may_have_arrived and method == "post")
    assert "secret" not in said


def test_a_write_whose_answer_is_not_read_is_told_as_such():
    def told(answer, method="post"):
        tools = openapi.load(document_of(method=method), Server(answer).client()).tools()
        [result] = tools.dispatch({"name": "op", "arguments": {}})
        return str(result.error)

    def redirect(status):
        return httpx.Response(status, headers={"Location": "https://other.example/done"})

    perhaps = "may or may not have had an effect"
    assert perhaps in told(answer_of([b"x"], "br"))
    assert perhaps in told(answer_of([START + b"\xff" * 20], "gzip"))
    assert perhaps not in told(answer_of([b"x"], "br"), "get")
    assert perhaps in told(redirect(302))
    assert "did what was asked" in told(redirect(303))
    assert "nothing was done" in told(redirect(308))


def test_a_write_over_a_socket_whose_answer_breaks_off():
    """The server reads the request, says that ten bytes come, and closes after two."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhi")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with httpx.Client(base_url=f"http://127.0.0.1:{server.getsockname()[1]}") as client:
            tools = openapi.load(document_of(method="post"), client).tools()
            [result] = tools.dispatch({"name": "op", "arguments": {}})
        thread.join(5)
    assert str(result.error).startswith("the connection to the server broke off")
    assert "may or may not have had an effect" in str(result.error)


LONG = "IGNORE ALL " * 5_000
WORDY = [
    lambda: httpx.Response(500, extensions={"reason_phrase": LONG.encode()}),
    lambda: httpx.Response(200, content=b"abc", headers={"Content-Type": f"application/{LONG}"}),
    lambda: httpx.Response(302, headers={"Location": f"https://{'a.' * 2_000}example/"}),
    lambda: answer_of([b"x"], LONG),
]


@pytest.mark.parametrize("answer", WORDY)
def test_the_words_of_a_server_are_bounded_everywhere(answer):
    tools = openapi.load(document_of(), Server(answer()).client()).tools()
    [result] = tools.dispatch({"name": "op", "arguments": {}})
    assert len(result.text) < 300
    assert "[cut]" in result.text


def test_a_binary_answer_that_is_cut():
    answer = httpx.Response(200, content=b"x" * 30, headers={"Content-Type": "application/pdf"})
    value, _ = call(document_of(), {}, answer, most_bytes=10)
    assert value == "more than 10 bytes of application/pdf, which are not shown"


def test_a_redirect_to_what_is_no_address():
    for method in ("get", "post"):
        server = Server(httpx.Response(302, headers={"Location": "javascript:x"}))
        tools = openapi.load(document_of(method=method), server.client()).tools()
        [result] = tools.dispatch({"name": "op", "arguments": {}})
        assert (result.error.code, "no address" in str(result.error)) == ("tool_error", True)


def test_a_redirect_keeps_the_name_and_password_of_the_address():
    for target in ("/v1/y", "https://api.example/v1/y"):
        server = Server(httpx.Response(302, headers={"Location": target}))
        client = server.client("https://u:p@api.example/v1")
        openapi.load(document_of(), client).tools()["op"].call({})
        first, second = server.requests
        assert first.headers["Authorization"] == second.headers["Authorization"]
        assert second.url.path == "/v1/y"
    server = Server(httpx.Response(302, headers={"Location": "https://x:y@api.example/"}))
    tools = openapi.load(document_of(), server.client("https://u:p@api.example/v1")).tools()
    [result] = tools.dispatch({"name": "op", "arguments": {}})
    assert "not followed" in str(result.error)


PET = {"type": "object", "allOf": [schema_of("Base"), {"properties": {"id": READ_ONLY}}]}
GIVEN = [
    ({"properties": {"id": READ_ONLY}}, {"id": 5}),
    (schema_of("Pet"), {"id": 5, "name": "a"}),
    ({"type": "array", "items": schema_of("Pet")}, [{}, {"id": 5}]),
    ({"additionalProperties": schema_of("Pet")}, {"a": {"id": 5}}),
    ({"properties": {"pet": {"anyOf": [schema_of("Pet"), NULL]}}}, {"pet": {"id": 5}}),
    ({"$ref": "#/components/schemas/Tree"}, {"of": [{"of": [{"id": 5}]}]}),
]
NOT_MARKED = [
    ({"allOf": [schema_of("Base"), {"properties": {"id": NUMBER}}]}, {"id": 5}),  # in Pet it is
    ({"anyOf": [schema_of("Pet"), {"properties": {"id": NUMBER}, "required": ["id"]}]}, {"id": 5}),
    (schema_of("Pet"), {"name": "a", "other": {"id": 5}}),
]
SCHEMAS = {
    "Base": {"properties": {"name": TEXT}, "required": ["id"]},
    "Pet": PET,
    "Tree": {"properties": {"id": READ_ONLY, "of": {"type": "array", "items": schema_of("Tree")}}},
}


def with_schemas(schema):
    document = document_of(method="post", body=body_of("application/json", schema))
    others = {"type": "object", "properties": {"pet": schema_of("Pet")}}
    document["paths"]["/x"]["post"]["parameters"] = [
        {"name": "o", "in": "query", "content": {"application/json": {"schema": others}}}
    ]
    return {**document, "components": {"schemas": SCHEMAS}}


@pytest.mark.parametrize(("schema", "value"), GIVEN)
def test_a_read_only_field_that_the_model_names_is_not_sent(schema, value):
    assert "id is read-only" in said_of(with_schemas(schema), {"body": value})


@pytest.mark.parametrize(("schema", "value"), NOT_MARKED)
def test_what_only_another_object_marks_is_sent(schema, value):
    assert json.loads(sent(with_schemas(schema), {"body": value}).content) == value

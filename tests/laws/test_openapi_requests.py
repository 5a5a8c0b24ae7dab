"""No drawn argument changes the server, the segments of the path, the names of headers or the number of cookies."""

import httpx
import pytest
from hypothesis import given, settings, strategies as st

from toolshape import openapi

LIST, OBJECT = {"type": "array"}, {"type": "object"}
WHERE = [
    ("path", "simple", False), ("path", "simple", True), ("query", "form", True), ("query", "form", False),
    ("query", "spaceDelimited", False), ("query", "pipeDelimited", False), ("query", "deepObject", True),
    ("header", "simple", False), ("header", "simple", True), ("cookie", "form", True),
]  # fmt: skip
SIGNS = st.sampled_from(["..", ".", "/", "\\", "%2e%2e", "%2F", "//evil.example", "@evil.example", "?", "#", "\r\n", "; a=b", "\x00", "é", "[", "&x=1", "{q}", ""])  # fmt: skip
TEXTS = st.text(max_size=6) | st.lists(SIGNS, max_size=3).map("".join) | SIGNS
SCALARS = TEXTS | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(TEXTS, SCALARS, max_size=3)


def document_of(where: str, style: str, explode: bool) -> dict[str, object]:
    parameters = [
        {
            "name": "p",
            "in": where,
            "style": style,
            "explode": explode,
            "required": True,
            "schema": {},
        },
        {"name": "q", "in": "path", "required": True, "schema": {"type": "string"}},
    ]
    path = "/a/{p}/b/{q}" if where == "path" else "/a/b/{q}"
    return {
        "openapi": "3.1.0",
        "paths": {path: {"get": {"operationId": "op", "parameters": parameters}}},
    }


@pytest.mark.parametrize(("where", "style", "explode"), WHERE)
@settings(deadline=None)
@given(value=VALUES, other=TEXTS)
def test_an_argument_stays_at_its_place(where, style, explode, value, other):
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=1)

    client = httpx.Client(
        base_url="https://api.example:8443/v1", transport=httpx.MockTransport(answer)
    )
    document = document_of(where, style, explode)
    tools = openapi.load(document, client).tools()
    [result] = tools.dispatch({"name": "op", "arguments": {"p": value, "q": other}})
    if not result.ok:
        assert result.error.code == "tool_error", result.error
        assert not seen
        return
    [request] = seen
    assert (request.url.scheme, request.url.host, request.url.port) == (
        "https",
        "api.example",
        8443,
    )
    path, _, query = request.url.raw_path.decode().partition("?")
    segments = path.split("/")
    assert segments[:3] == ["", "v1", "a"]
    assert len(segments) == (6 if where == "path" else 5)
    assert not {".", "..", ""} & set(segments[1:])
    assert "%2e" not in path.lower().replace("%252e", "")
    usual = {"host", "accept", "accept-encoding", "connection", "user-agent"}
    more = {"header": {"p"}, "cookie": {"cookie"}}.get(where, set())
    assert {name.lower() for name in request.headers} == usual | more
    assert not any(sign in text for text in request.headers.values() for sign in "\r\n\x00")
    assert request.headers.get("cookie", "").count(";") == 0
    if where != "query":
        assert query == ""

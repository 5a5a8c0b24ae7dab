"""Reads the operations of an OpenAPI document: where each argument of a call is written.

Only what says where arguments go is looked at here. The schemas stay in the document, and a
definition refers to them by their place, so that a document of a thousand operations is read in the
time of a walk over its paths.

OpenAPI Specification 3.0.4 and 3.1.1 (2024-10-24): Parameter Object, Style Values, Encoding Object.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, quote, unquote

from toolshape._records.calls import JsonObject
from toolshape._records.shown import readable_name

Where: TypeAlias = Literal["path", "query", "header", "cookie"]
BodyKind: TypeAlias = Literal["json", "form", "multipart", "text", "bytes"]

_BODY_KINDS: tuple[BodyKind, ...] = ("json", "form", "multipart", "text", "bytes")
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_PLACES: Mapping[str, Where] = MappingProxyType(
    {"path": "path", "query": "query", "header": "header", "cookie": "cookie"}
)
_USUAL_STYLE: Mapping[str, str] = MappingProxyType(
    {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
)
_STYLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "path": ("simple",),
        "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
        "header": ("simple",),
        "cookie": ("form",),
    }
)
# The standard says of the first three that a parameter for them is ignored. The others are of the
# connection, which is the client's: with them a model could name another host, or end the request.
_NO_HEADERS = (
    "accept", "content-type", "authorization", "connection", "content-length", "cookie", "expect",
    "host", "keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
    "content-encoding", "x-http-method", "x-http-method-override", "x-method-override",
)  # fmt: skip
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_MOST_REFERENCES = 20


class RefusedError(ValueError):
    """An operation cannot be a tool; the text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """Where one argument goes.

    ``argument`` is its name for the model, ``name`` the one on the wire, ``place`` the JSON Pointer
    of its schema. ``is_json`` says that the value is written as JSON text.
    """

    argument: str
    name: str
    where: Where
    style: str
    explode: bool
    is_json: bool
    is_required: bool
    description: str
    place: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoding:
    """How one field of a form is written; ``style`` is ``None`` if the document says nothing of it.

    ``is_file`` says that the field is a file, whose bytes a model writes in base64.
    """

    style: str | None = None
    explode: bool = True
    content_type: str | None = None
    is_file: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Body:
    """What of a call is the body of the request, and how it is written.

    ``others`` is how fields are written that ``encoding`` does not name.
    """

    argument: str
    kind: BodyKind
    media_type: str
    is_required: bool
    description: str
    place: str | None
    encoding: Mapping[str, Encoding]
    others: Encoding = Encoding()


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One operation of a document, as ``approve=`` gets it.

    ``name`` is the name of its tool, ``path`` the template of its path. ``taken`` are the names in
    the query that are not the model's to write: those of credentials, what the client adds, and
    what the path says.
    """

    name: str
    method: str
    path: str
    description: str
    tags: frozenset[str]
    is_deprecated: bool
    parameters: tuple[Parameter, ...]
    body: Body | None
    taken: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """An operation that cannot be a tool, and the reason."""

    name: str
    method: str
    path: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Named:
    """A part of the document with its own place, after references were followed."""

    node: Any
    place: str


class _Server(NamedTuple):
    """The address of a server with its variables: their names, defaults, and allowed values."""

    address: str
    variables: tuple[tuple[str, str, tuple[str, ...]], ...]


def operations_of(
    document: JsonObject, base_url: str, own: Collection[tuple[str, str]]
) -> Iterator[Operation | LeftOut]:
    """Yield every operation of a document; one that cannot be a tool with the reason.

    Args:
        document: The document.
        base_url: The server that is asked.
        own: The places that the client fills, with their names in small letters: no argument is
            for them.
    """
    filled = frozenset((*own, *_credentials(document)))
    taken: Counter[str] = Counter()
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        try:
            fields = _path_item(document, item, path)
        except RefusedError as error:
            yield LeftOut(name="", method="", path=str(path), reason=str(error))
            continue
        for method in _METHODS:
            if method not in fields or not isinstance(fields[method].node, dict):
                continue
            name = _free_name(_name_of(fields[method].node, method, path), taken)
            try:
                _refuse_other_servers(document, fields, method, base_url)
                yield _operation(document, fields, method, path, name, filled)
            except RefusedError as error:
                yield LeftOut(name=name, method=method.upper(), path=path, reason=str(error))


def _name_of(node: JsonObject, method: str, path: str) -> str:
    """Return the ``operationId`` as a name, or one made of the method and the path."""
    given = node.get("operationId")
    for words in (given, f"{method} {path}"):
        name = readable_name(words) if isinstance(words, str) else ""
        name = re.sub(r"_{2,}", "_", name).strip("_")
        if re.search("[a-zA-Z0-9]", name):
            return name
    return method


def _path_item(document: JsonObject, item: Any, path: Any) -> dict[str, _Named]:
    """Return the fields of a path with those beside its reference, each with its own place.

    Raises:
        RefusedError: The reference leads nowhere, a field is on both sides of it, or the path is no
            text, or holds signs that no address has.
    """
    if not isinstance(path, str):
        raise RefusedError(f"the path {path!r} is no text")
    if any(ord(sign) < ord(" ") or ord(sign) == _DELETE for sign in path):
        raise RefusedError("the path holds signs that cannot be sent")
    here = _Named(node=item, place=_pointer("paths", path))
    behind = _follow(document, item, here.place)
    found: dict[str, _Named] = {}
    for holder in (behind,) if behind.node is item else (behind, here):
        for field in (each for each in _FIELDS if each in holder.node):
            if field in found:
                raise RefusedError(f"the path and what it refers to both say its {field!r}")
            found[field] = _Named(node=holder.node[field], place=f"{holder.place}/{field}")
    return found


_FIELDS = (*_METHODS, "parameters", "servers")
_DELETE = 0x7F


def _free_name(name: str, taken: "Counter[str]") -> str:
    """Return the name, or the first with a number that is free: ids may meet once they are
    names.
    """
    candidate, number = name, 1
    while taken[candidate]:
        number += 1
        candidate = f"{name}_{number}"
    taken[candidate] += 1
    return candidate


def _operation(
    document: JsonObject,
    fields: Mapping[str, _Named],
    method: str,
    path: str,
    name: str,
    filled: frozenset[tuple[str, str]],
) -> Operation:
    node, place = fields[method].node, fields[method].place
    fixed = parse_qsl(path.partition("#")[0].partition("?")[2])
    filled |= {("query", name.lower()) for name, _ in fixed}
    found: dict[tuple[str, str], _Named] = {}
    own = _Named(node=node.get("parameters"), place=f"{place}/parameters")
    for listed in filter(None, (fields.get("parameters"), own)):
        for index, given in enumerate(_list(listed.node)):
            parameter = _follow(document, given, f"{listed.place}/{index}")
            where, its_name = str(parameter.node.get("in")), str(parameter.node.get("name"))
            if where in ("header", "cookie") and not _TOKEN.fullmatch(its_name):
                raise RefusedError(f"{its_name!r} is no name of a {where}")
            is_known = {
                known
                for known in found
                if where == known[0] == "header" and known[1].lower() == its_name.lower()
            }
            for known in is_known:  # the names of headers have no case
                del found[known]
            found[where, its_name] = parameter  # the operation's own stands for that of its path
    in_path = re.findall(r"\{([^{}]+)\}", path)
    kept = {
        key: parameter
        for key, parameter in found.items()
        if (key[0], key[1].lower()) not in filled
        and not (key[0] == "path" and key[1] not in in_path)
    }
    for variable in in_path:
        if ("path", variable) not in kept:
            raise RefusedError(f"no parameter says what {{{variable}}} in the path is")
    body = _body(document, node, place)
    arguments = _argument_names([*kept, *([("request", "body")] if body else ())])
    parameters = tuple(
        _parameter(arguments[key], key, parameter) for key, parameter in kept.items()
    )
    said = [_text(node.get("summary")), _text(node.get("description"))]
    tags = {tag for tag in _list(node.get("tags")) if isinstance(tag, str)}
    is_deprecated = node.get("deprecated") is True
    if is_deprecated:
        said.append("Deprecated.")
        tags.add("deprecated")
    return Operation(
        name=name,
        method=method.upper(),
        path=path,
        description="\n\n".join(filter(None, said)),
        tags=frozenset(tags),
        is_deprecated=is_deprecated,
        parameters=parameters,
        body=None if body is None else replace(body, argument=arguments["request", "body"]),
        taken=frozenset(name for where, name in filled if where == "query"),
    )


def _credentials(document: JsonObject) -> frozenset[tuple[str, str]]:
    """Return the places that no model fills: the client of the app has the keys.

    Some documents list them as parameters, too.
    """
    components = document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, dict) else None
    keys: list[tuple[str, str]] = []
    for given in schemes.values() if isinstance(schemes, dict) else ():
        with contextlib.suppress(RefusedError):  # a scheme that leads nowhere names no place
            scheme = _follow(document, given, "").node
            if scheme.get("type") == "apiKey":
                keys.append((str(scheme.get("in")), str(scheme.get("name")).lower()))
    return frozenset((*(("header", name) for name in _NO_HEADERS), *keys))


def _refuse_other_servers(
    document: JsonObject, fields: Mapping[str, _Named], method: str, base_url: str
) -> None:
    """Check that an operation is for the server that is asked.

    Raises:
        RefusedError: Its servers, which stand for those of the document, are others.
    """
    # The app decides where the document's own operations go, be it a server that no document names.
    # What names others, or only some of them, goes to one of these.
    own = _servers(fields[method].node.get("servers"))
    if not own and "servers" in fields:
        own = _servers(fields["servers"].node)
    if not own or own == _servers(document.get("servers")):
        return
    if not any(_is_at(server, base_url) for server in own):
        named = ", ".join(sorted(server.address for server in own))
        raise RefusedError(f"it has servers of its own: load it with base_url= one of {named}")


def _servers(given: Any) -> frozenset[_Server]:
    """Return the servers of a list; one without a scheme is asked as all are, by https."""
    found: set[_Server] = set()
    for node in _list(given):
        if isinstance(node, dict) and isinstance(node.get("url"), str):
            address = node["url"].rstrip("/")
            if address.startswith("//"):
                address = f"https:{address}"
            found.add(_Server(address, tuple(_variables(node.get("variables")))))
    return frozenset(found)


def _variables(given: Any) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for name, node in given.items() if isinstance(given, dict) else ():
        if isinstance(node, dict):
            yield str(name), str(node.get("default")), tuple(map(str, _list(node.get("enum"))))


def _is_at(server: _Server, base_url: str) -> bool:
    """Whether a URL is that of a server, with some values of its variables."""
    # A relative address says only the path. All ends that a beginning of the address may have in
    # the URL are kept, so that the time does not grow with the ways to divide it among variables.
    url = base_url.rstrip("/").lower()
    if not server.address.startswith("{") and "://" not in server.address:
        url = url.partition("://")[2]
        url = url[url.find("/") :] if "/" in url else ""
    variables = {
        name: (values or (default,), not values) for name, default, values in server.variables
    }
    ends = {0}
    for index, part in enumerate(re.split(r"\{([^{}]*)\}", server.address)):
        values, is_free = variables.get(part, ((), True)) if index % 2 else ((part,), False)
        free = {after for end in ends for after in range(end + 1, _segment_end(url, end) + 1)}
        texts = [value.lower() for value in values]
        ends = {end + len(text) for end in ends for text in texts if url.startswith(text, end)}
        if is_free:
            ends |= free
    return len(url) in ends


def _segment_end(url: str, start: int) -> int:
    end = url.find("/", start)
    return len(url) if end < 0 else end


def _argument_names(keys: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a name for each argument: its own, or with its place where two have one name."""
    counts = Counter(name for _, name in keys)
    names = {key: key[1] if counts[key[1]] == 1 else f"{key[0]}_{key[1]}" for key in keys}
    taken: Counter[str] = Counter()
    return {key: _free_name(name, taken) for key, name in names.items()}


def _parameter(argument: str, key: tuple[str, str], given: _Named) -> Parameter:
    # A parameter is written in a style, or as ``content`` of one media type. Of these only JSON can
    # be read back by every server; other types would need a writer of their own.
    where, name = _PLACES.get(key[0]), key[1]
    node = given.node
    if where is None:
        raise RefusedError(f"the parameter {name!r} is in {key[0]!r}, where no parameter can be")
    content = _media_types(node)
    style = str(node.get("style") or _USUAL_STYLE[where])
    place: str | None = f"{given.place}/schema" if "schema" in node else None
    if content:
        [media_type, *others] = content
        if others or not _is_json(media_type):
            raise RefusedError(f"the parameter {name!r} is written as {', '.join(content)}")
        style = _USUAL_STYLE[where]
        media = content[media_type]
        place = None
        if isinstance(media, dict) and "schema" in media:
            place = f"{given.place}/content/{_token(media_type)}/schema"
    elif style not in _STYLES[where]:
        raise RefusedError(f"the parameter {name!r} has the style {style!r} in the {where}")
    return Parameter(
        argument=argument,
        name=name,
        where=where,
        style=style,
        explode=bool(node.get("explode", style in ("form", "deepObject"))),
        is_json=bool(content),
        is_required=where == "path" or node.get("required") is True,
        description=_text(node.get("description")),
        place=place,
    )


def _body(document: JsonObject, node: JsonObject, place: str) -> Body | None:
    """Return how the body is written; its argument is called ``body`` until names are chosen."""
    if "requestBody" not in node:
        return None
    given = _follow(document, node["requestBody"], f"{place}/requestBody")
    content = _media_types(given.node)
    if not content:
        return None
    # A server takes any of the types that it lists, so one is chosen, in the order of
    # ``_BODY_KINDS``: JSON keeps every value as it is, forms make texts of numbers, a text and
    # bytes are only one value.
    choices: list[tuple[BodyKind, str]] = [
        (kind, media_type)
        for kind in _BODY_KINDS
        for media_type in content
        if _kind_of(media_type) == kind
    ]
    if not choices:
        raise RefusedError(f"the body is {', '.join(content)}, which is not written here")
    kind, chosen = choices[0]
    media = content[chosen] if isinstance(content[chosen], dict) else {}
    encodings = media.get("encoding")
    # In 3.0 only urlencoded forms have styles, and what says one for multipart is ignored.
    has_styles = kind != "multipart" or not str(document.get("openapi")).startswith("3.0")
    encoding = {
        name: _encoding(name, each, has_styles=has_styles)
        for name, each in (encodings.items() if isinstance(encodings, dict) else ())
        if isinstance(each, dict)
    }
    others = Encoding()
    if kind == "multipart":
        for name, schema in _fields(document, media.get("schema")):
            own = others if name is None else encoding.get(name, Encoding())
            if _is_file(document, schema, own.content_type):
                own = replace(own, is_file=True)
            if name is None:
                others = own
            else:
                encoding[name] = own
    schema_place = f"{given.place}/content/{_token(chosen)}/schema" if "schema" in media else None

    return Body(
        argument="body",
        kind=kind,
        media_type=chosen,
        is_required=given.node.get("required") is True,
        description=_text(given.node.get("description")),
        place=schema_place,
        encoding=encoding,
        others=others,
    )


def _media_types(node: JsonObject) -> JsonObject:
    """Return what a parameter or a body is written as, if it says so.

    Raises:
        RefusedError: A media type is no text, as YAML makes of some keys.
    """
    content = node.get("content")
    if not isinstance(content, dict):
        return {}
    for media_type in content:
        if not isinstance(media_type, str):
            raise RefusedError(f"the media type {media_type!r} is no text")
    return content


def _fields(document: JsonObject, schema: Any) -> Iterator[tuple[str | None, Any]]:
    """Yield the fields of a body with their schemas; ``None`` is the name of all others."""
    for node in _alternatives(document, schema):
        properties = node.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            if isinstance(name, str):
                yield name, inner
        if isinstance(node.get("additionalProperties"), dict):
            yield None, node["additionalProperties"]


def _is_file(document: JsonObject, schema: Any, content_type: str | None) -> bool:
    """Whether a field is a file, or a list of files; what is in base64 by the schema is a text."""
    nodes = list(_alternatives(document, schema))
    nodes += [
        inner for node in nodes for inner in _alternatives(document, node.get("items", False))
    ]
    if any(node.get("format") == "byte" or "contentEncoding" in node for node in nodes):
        return False
    if any(
        node.get("format") == "binary" or "json" not in str(node.get("contentMediaType", "json"))
        for node in nodes
    ):
        return True
    is_plain = all(_types(node) <= _OF_FILES and "properties" not in node for node in nodes)
    return is_plain and content_type is not None and not _TEXTUAL.search(content_type)


_TEXTUAL = re.compile(r"json|xml|text/|yaml|urlencoded|\*/\*", re.IGNORECASE)


_OF_FILES = frozenset(("string", "array", "null"))


def _types(node: JsonObject) -> set[str]:
    given = node.get("type", [])
    return set(map(str, given if isinstance(given, list) else [given]))


def _alternatives(document: JsonObject, schema: Any) -> Iterator[JsonObject]:
    """Yield a schema behind its references, with its parts and branches, each once."""
    pending, seen = [schema], set[int]()
    for given in pending:
        node = _schema_of(document, given)
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            for keyword in ("allOf", "anyOf", "oneOf"):
                pending += _list(node.get(keyword))


def _schema_of(document: JsonObject, schema: Any) -> JsonObject:
    """Return a schema behind its references; an empty one where they lead nowhere."""
    try:
        found: JsonObject = _follow(document, schema, "").node
    except RefusedError:
        return {}
    return found


def _encoding(name: str, node: JsonObject, *, has_styles: bool) -> Encoding:
    style = node.get("style") if has_styles else None
    if isinstance(style, str) and style not in _STYLES["query"]:
        raise RefusedError(f"the field {name!r} has the style {style!r}")
    content_type = node.get("contentType")
    is_styled = has_styles and (isinstance(style, str) or "explode" in node)
    found = str(style or "form") if is_styled else None
    return Encoding(
        style=found,
        explode=bool(node.get("explode", found in ("form", "deepObject"))),
        content_type=content_type if isinstance(content_type, str) and not is_styled else None,
    )


def _is_json(media_type: str) -> bool:
    plain = media_type.partition(";")[0].strip().lower()
    return plain == "application/json" or plain.endswith("+json")


def _kind_of(media_type: str) -> BodyKind | None:
    plain = media_type.partition(";")[0].strip().lower()
    if _is_json(media_type) or plain == "*/*":
        return "json"
    if plain == "application/x-www-form-urlencoded":
        return "form"
    if plain == "multipart/form-data":
        return "multipart"
    if plain.endswith(("/xml", "+xml")) or plain.startswith("multipart/"):
        return None
    if plain.startswith("text/"):
        return "text"
    return "bytes" if plain == "application/octet-stream" or "*" not in plain else None


def _follow(document: JsonObject, node: Any, place: str) -> _Named:
    """Follow the references of a part that is no schema.

    Raises:
        RefusedError: One leads out of the document, nowhere, or round in a circle.
    """
    for _ in range(_MOST_REFERENCES):
        if not isinstance(node, dict):
            raise RefusedError(f"#{unquote(place)} is no object")
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return _Named(node=node, place=place)
        if not reference.startswith("#/"):
            raise RefusedError(f"{reference} leads out of the document, and nothing is fetched")
        place = reference[1:]
        node = at(document, place)
    raise RefusedError("a reference leads round in a circle")


def at(document: JsonObject, pointer: str) -> Any:
    """Return what stands at a JSON Pointer of the document, which may be percent-encoded."""
    node: Any = document
    for token in pointer.split("/")[1:]:
        name = unquote(token).replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and name in node:
            node = node[name]
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            raise RefusedError(f"#{unquote(pointer)} is not in the document")
    return node


def _pointer(*names: str) -> str:
    return "".join(f"/{_token(name)}" for name in names)


def _token(name: str) -> str:
    return quote(name.replace("~", "~0").replace("/", "~1"), safe="~")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""

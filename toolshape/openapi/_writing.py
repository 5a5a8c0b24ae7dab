"""Writes the arguments of a call into a request, each at its place and in its style.

Whatever cannot be written so that the server reads the same value is refused: an empty list where
a list is its items, an item that holds the sign between items, a segment of the path that is
``..``. The model reads why, and no request is made.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from toolshape._records.calls import JsonObject
from toolshape._records.errors import ToolError
from toolshape.openapi._operations import Body, Operation, Parameter

_BETWEEN: Mapping[str, tuple[str, str]] = {
    "form": (",", ","),
    "simple": (",", ","),
    "spaceDelimited": (" ", "%20"),
    "pipeDelimited": ("|", "%7C"),
}
"""The sign between the items of a list, by style, and how it is written in a query."""
_IN_HEADERS = re.compile(r"[\x20-\x7e]*")
_IN_COOKIES = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A request without its server: the path with the query, the headers, and the body.

    ``parts`` are the fields of a multipart body: names with a file's name, the content and its
    media type. ``cookies`` are those of the arguments; the client may have others.
    """

    target: str
    headers: Mapping[str, str]
    cookies: str
    content: bytes | None
    parts: tuple[tuple[str, tuple[str | None, bytes, str | None]], ...] | None


def write_request(operation: Operation, arguments: JsonObject) -> Written:
    """Write a call of an operation.

    Raises:
        ToolError: A value cannot be written at its place.
    """
    # The template of the path is filled by name, so that a value with braces changes nothing else:
    # every value is percent-encoded before it is put in. Null means that an argument is left out,
    # where it can be; in the body it is a value.
    # What follows a "#" is no part of an address; some documents tell operations apart by it.
    path = operation.path.partition("#")[0]
    query, headers, cookies = list[str](), dict[str, str](), list[str]()
    for parameter in operation.parameters:
        value = arguments.get(parameter.argument)
        if value is None:
            if parameter.is_required:
                raise ToolError(f"{parameter.argument} cannot be null")
            continue
        if parameter.where == "path":
            path = path.replace(f"{{{parameter.name}}}", _in_path(parameter, value))
        elif parameter.where == "query":
            own = _in_query(parameter, value)
            _refuse_taken(operation, parameter, _names(own), _names(query))
            query += own
        elif parameter.where == "header":
            headers[parameter.name] = _plain(parameter, value, _IN_HEADERS, "a header")
        else:
            written = _plain(parameter, value, _IN_COOKIES, "a cookie")
            cookies.append(f"{parameter.name}={written}")
    target = ("&" if "?" in path else "?").join(filter(None, (path, "&".join(query))))
    body = operation.body
    given = None if body is None else arguments.get(body.argument)
    content, parts = None, None
    if body is None or (given is None and body.argument not in arguments):
        pass
    elif body.kind == "multipart":
        parts = tuple(_apart(body, _as_object(body, given), _parts))
        if not parts:
            raise ToolError(f"{body.argument} is empty, which cannot be sent")
    else:
        headers["Content-Type"] = _WILD.get(body.media_type, body.media_type)
        content = _content(body, given)
    return Written(
        target=target, headers=headers, cookies="; ".join(cookies), content=content, parts=parts
    )


_WILD: Mapping[str, str] = {"*/*": "application/json", "text/*": "text/plain"}


def _names(query: list[str]) -> set[str]:
    return {unquote(pair.partition("=")[0]) for pair in query}


def _refuse_taken(
    operation: Operation, parameter: Parameter, names: set[str], written: set[str]
) -> None:
    """Check that an argument is sent under no other's name.

    Raises:
        ToolError: It is, or it takes the place of a credential, or of what the path says.
    """
    # The fields of an object may be names in the query, and so be those of another argument,
    # whether it is given or not. Those of other objects are known when they are written.
    others = {
        other.name.lower()
        for other in operation.parameters
        if other.where == "query" and other is not parameter
    }
    made = {name for name in names - {parameter.name} if name.lower() in others | operation.taken}
    if met := sorted(made | (names & written)):
        raise ToolError(f"{parameter.argument} cannot have the field {met[0]!r} here")


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _scalar(name: str, value: Any) -> str:
    """Return a value that is neither a list nor an object as text.

    Raises:
        ToolError: It is one of these, or null.
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (list, dict)):
        kind = "null" if value is None else "a list or an object"
        raise ToolError(f"{name} holds {kind} where only a plain value can be sent")
    return _json(value)


def _joined(parameter: Parameter, value: Any) -> list[str]:
    """Return the texts that a style puts between its signs; a plain value is one text.

    Raises:
        ToolError: The texts could not be told apart again.
    """
    # Servers differ in what they do first, to decode or to split. So an item may not hold the sign
    # between items at all, though the standard would have it percent-encoded.
    name = parameter.argument
    sign = _BETWEEN[parameter.style][0]
    if not isinstance(value, (list, dict)):
        return [_scalar(name, value)]
    if not value:
        raise ToolError(f"{name} is empty, which cannot be sent: leave it out")
    if isinstance(value, list):
        texts = [_scalar(name, item) for item in value]
    else:
        texts = [text for key, item in value.items() for text in (key, _scalar(name, item))]
    if any(sign in text for text in texts):
        raise ToolError(f"{name} holds {sign!r}, which stands between items there")
    if texts == [""] or any(text != text.strip() for text in texts if parameter.where == "header"):
        raise ToolError(f"{name} has an item that could not be read back")
    if not isinstance(value, dict) or not parameter.explode:
        return texts
    if any("=" in text for text in texts):
        raise ToolError(f"{name} holds '=', which stands between names and values there")
    return [f"{key}={text}" for key, text in zip(texts[::2], texts[1::2], strict=True)]


def _in_path(parameter: Parameter, value: Any) -> str:
    """Return a segment of the path; no value can leave its segment, or remove it.

    Raises:
        ToolError: It would.
    """
    texts = [_json(value)] if parameter.is_json else _joined(parameter, value)
    whole = ",".join(texts)
    if not whole or any(part in (".", "..") for part in re.split(r"[/\\]", whole)):
        raise ToolError(f"{parameter.argument} cannot be {whole!r}: it is a part of a path")
    if parameter.explode and isinstance(value, dict) and not parameter.is_json:
        return ",".join("=".join(map(_quoted, text.split("=", 1))) for text in texts)
    return ",".join(map(_quoted, texts))


def _in_query(parameter: Parameter, value: Any) -> list[str]:
    name = _quoted(parameter.name)
    if parameter.is_json:
        return [f"{name}={_quoted(_json(value))}"]
    if parameter.style == "deepObject":
        if not isinstance(value, dict):
            raise ToolError(f"{parameter.argument} must be an object")
        pairs = _deep(parameter.name, value)
        return [f"{_quoted(key)}={_quoted(text)}" for key, text in pairs]
    if not parameter.explode or not isinstance(value, (list, dict)):
        return [
            f"{name}={_BETWEEN[parameter.style][1].join(map(_quoted, _joined(parameter, value)))}"
        ]
    if not value:
        raise ToolError(f"{parameter.argument} is empty, which cannot be sent: leave it out")
    if isinstance(value, list):
        return [f"{name}={_quoted(_scalar(parameter.argument, item))}" for item in value]
    return [
        f"{_quoted(key)}={_quoted(_scalar(parameter.argument, item))}"
        for key, item in value.items()
    ]


def _deep(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the leaves of an object with their names in brackets; a list is counted from 0.

    The standard leaves what is inside such an object open. This is how servers that take nested
    forms read it (Stripe's API, Rack, PHP and qs; read on 2026-11-28).

    Raises:
        ToolError: An object or a list in it is empty, or a value is null.
    """
    if not isinstance(value, (dict, list)):
        yield name, _scalar(name, value)
        return
    if not value:
        raise ToolError(f"{name} is empty, which cannot be sent: leave it out")
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str) and ("[" in key or "]" in key or not key or key.isdecimal()):
            raise ToolError(f"{key!r} is no name of a field that can be sent there")
        yield from _deep(f"{name}[{key}]", item)


def _plain(parameter: Parameter, value: Any, allowed: "re.Pattern[str]", place: str) -> str:
    """Return the value of a header or a cookie; no value can end it, or begin another.

    Raises:
        ToolError: It holds a sign that cannot stand there.
    """
    if parameter.is_json:
        text = _json(value)
    elif parameter.where == "cookie":
        text = _scalar(parameter.argument, value)
    else:
        text = ",".join(_joined(parameter, value))
    if not allowed.fullmatch(text) or text != text.strip():
        raise ToolError(f"{parameter.argument} holds signs that cannot stand in {place}")
    return text


def _json(value: Any) -> str:
    """Return a value as JSON text.

    Raises:
        ToolError: It holds a number that JSON has not, such as infinity.
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise ToolError("a number is too large to be sent") from error


def _content(body: Body, value: Any) -> bytes:
    if body.kind == "json":
        return _json(value).encode()
    if body.kind == "form":
        pairs = _apart(body, _as_object(body, value), _field)
        return "&".join(f"{_quoted(name)}={_quoted(text)}" for name, text in pairs).encode()
    if not isinstance(value, str):
        raise ToolError(f"{body.argument} must be a text")
    if body.kind == "bytes":
        return _bytes(body.argument, value)
    charset = re.search(r"charset=\"?([\w.:-]+)", body.media_type, re.IGNORECASE)
    try:
        return value.encode(charset[1] if charset else "utf-8")
    except (LookupError, ValueError) as error:
        raise ToolError(f"{body.argument} cannot be written as {body.media_type}") from error


def _bytes(name: str, value: Any) -> bytes:
    """Return the bytes that a model wrote in base64.

    Raises:
        ToolError: They are not in base64.
    """
    try:
        return base64.b64decode(_scalar(name, value), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolError(f"{name} must be bytes in base64") from error


def _as_object(body: Body, value: Any) -> JsonObject:
    if not isinstance(value, dict):
        raise ToolError(f"{body.argument} must be an object")
    return value


_Pair = TypeVar("_Pair", bound=tuple[str, Any])


def _apart(
    body: Body, fields: JsonObject, write: Callable[[Body, str, Any], Iterator[_Pair]]
) -> list[_Pair]:
    """Return what the fields of a form are written as, each under names of its own.

    Raises:
        ToolError: Two fields would be sent under one name.
    """
    pairs, taken = list[_Pair](), set[str]()
    for name, value in fields.items():
        own = list(write(body, name, value))
        names = {pair[0] for pair in own}
        if names & taken:
            raise ToolError(f"{name} would be sent under the name of another field")
        taken |= names
        pairs += own
    return pairs


def _field(body: Body, name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the pairs of one field of a form.

    Without a word in ``encoding``, a list is its items, and an object is JSON text (Encoding
    Object, ``contentType``).
    """
    # A media type and a style exclude each other; the style counts if both are there (Encoding
    # Object). The styles are those of a query, whose writer is asked.
    encoding = body.encoding.get(name, body.others)
    if encoding.content_type is not None and "json" in encoding.content_type:
        yield name, _json(value)
    elif encoding.style == "deepObject":
        yield from _deep(name, value)
    elif encoding.style is None:
        if value == []:
            raise ToolError(f"{name} is empty, which cannot be sent: leave it out")
        for item in value if isinstance(value, list) else [value]:
            yield name, _json(item) if isinstance(item, (dict, list)) else _scalar(name, item)
    else:
        parameter = Parameter(
            argument=name,
            name=name,
            where="query",
            style=encoding.style,
            explode=encoding.explode,
            is_json=False,
            is_required=True,
            description="",
            place=None,
        )
        if not encoding.explode or not isinstance(value, (list, dict)):
            yield name, _BETWEEN[encoding.style][0].join(_joined(parameter, value))
            return
        if not value:
            raise ToolError(f"{name} is empty, which cannot be sent: leave it out")
        pairs = value.items() if isinstance(value, dict) else ((name, item) for item in value)
        for key, item in pairs:
            yield key, _scalar(name, item)


def _parts(
    body: Body, name: str, value: Any
) -> Iterator[tuple[str, tuple[str | None, bytes, str | None]]]:
    """Yield the parts of one field of a multipart body: a list is its items, an object JSON text.

    Raises:
        ToolError: A list is empty, or bytes are not in base64.
    """
    encoding = body.encoding.get(name, body.others)
    if encoding.style is not None and not encoding.is_file:
        for key, text in _field(body, name, value):
            yield key, (None, text.encode(), None)
        return
    if value == []:
        raise ToolError(f"{name} is empty, which cannot be sent: leave it out")
    media_type = encoding.content_type
    if media_type is not None and "," in media_type:
        media_type = None  # a choice of several: the server is told none
    for item in value if isinstance(value, list) else [value]:
        if encoding.is_file:
            yield name, (name, _bytes(name, item), media_type or "application/octet-stream")
        elif isinstance(item, (dict, list)) or (media_type and "json" in media_type):
            yield name, (None, _json(item).encode(), media_type or "application/json")
        else:
            yield name, (None, _scalar(name, item).encode(), media_type)

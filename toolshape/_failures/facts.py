"""Reads status, codes, message and headers of an SDK's exception, an HTTP response or a body.

This module imports no SDK. It reads the attributes that these SDKs share (read on 2026-11-22):
openai 3.54, anthropic 2.12, google-genai 3.4, mistralai 3.7, cohere 7.3.1, ollama 0.6.3, botocore
1.44.5, groq 1.7 and grpc.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_DEEPEST = 8
_LONGEST_CODE = 200
_LONGEST = 4_000  # Search only this many characters: a message may quote a whole schema.
_TRANSPORT = (
    "ConnectionError", "TimeoutError", "APIConnectionError", "TransportError", "HTTPClientError",
    "ClientConnectionError",
    "ConnectTimeout", "ReadTimeout", "EndpointConnectionError", "ConnectionClosedError",
    "RequestError",
    "ChunkedEncodingError", "ClientPayloadError", "IncompleteRead", "SSLError", "gaierror",
    "ProtocolError",
)  # fmt: skip
_GRPC = {
    "INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403, "NOT_FOUND": 404, "ABORTED": 409, "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499, "INTERNAL": 500, "UNKNOWN": 500, "DATA_LOSS": 500, "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}  # fmt: skip
"""The HTTP status for each gRPC code (google/rpc/code.proto)."""
_REQUEST_IDS = (
    "x-request-id", "request-id", "x-amzn-requestid", "x-amz-request-id", "apim-request-id",
    "x-ds-trace-id",
    "x-debug-trace-id", "mistral-correlation-id", "cf-ray",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorFacts:
    """The facts about a failure.

    ``codes`` are the provider's error codes. ``param`` is the place that the provider names.
    ``details`` is further JSON from the body. ``is_provider`` is true if the error came from a
    provider or its SDK, not from Python itself. ``request`` is the body of the request, if the
    error contains it.
    """

    status: int | None
    codes: tuple[str, ...]
    message: str
    param: str
    details: str
    headers: Mapping[str, str]
    request_id: str | None
    request: Any
    is_provider: bool
    is_transport: bool
    is_timeout: bool


def facts_of(error: Any) -> ErrorFacts:
    """Collect the facts from an error. An attribute that raises an exception counts as missing."""
    # The innermost body is the provider's own. A gateway puts a body around it, and an SDK an
    # exception, and both may have a status and a message of their own: so the innermost is asked
    # first.
    chain = _chain(error)
    bodies = [body for link in chain if (body := _body(link)) is not None]
    unwrapped = [inner for body in bodies for inner in _unwrap(body)]
    headers = _first(_headers(link) for link in chain) or {}
    status = _first(_status_in(body) for body in unwrapped) or _first(
        _status(link) for link in chain
    )
    names = [name for link in chain for name in _class_names(link)]
    message = (
        _first(_message(body) for body in unwrapped)
        or _first(_error_text(link) for link in chain)
        or ""
    )
    return ErrorFacts(
        status=status if status is not None and status > 0 else None,
        codes=tuple(
            dict.fromkeys([code for source in (*unwrapped, *chain) for code in _codes(source)])
        ),
        message=message[:_LONGEST],
        param=(_first(_text(body, "param") for body in unwrapped) or "")[:_LONGEST_CODE],
        details="\n".join(_to_json_text(detail) for body in unwrapped for detail in _details(body))[
            :_LONGEST
        ],
        headers=headers,
        request_id=_request_id(chain, unwrapped, headers),
        request=_first(_request(link) for link in chain),
        is_provider=bool(unwrapped)
        or status is not None
        or not all(type(link).__module__ == "builtins" for link in chain),
        is_transport=any(
            name in _TRANSPORT or name.endswith(("ConnectError", "NetworkError")) for name in names
        ),
        is_timeout=any("Timeout" in name for name in names),
    )


def _first(values: Iterable[Any]) -> Any:
    return next((value for value in values if value), None)


def _get(node: Any, name: str) -> Any:
    """Return a member or attribute, or ``None`` if it is missing or raises."""
    try:
        if isinstance(node, Mapping):
            return node.get(name)
        return getattr(node, name, None)
    except Exception:  # A property of a foreign object may raise anything.
        return None


def _chain(error: Any) -> list[Any]:
    """Return the error and its causes."""
    chain: list[Any] = []
    while error is not None and not any(error is link for link in chain) and len(chain) < _DEEPEST:
        chain.append(error)
        is_not_builtin = isinstance(error, BaseException) and type(error).__module__ != "builtins"
        # A built-in error may have an unrelated context.
        context = error.__context__ if is_not_builtin else None
        if isinstance(error, BaseException):
            error = error.__cause__ or context
        else:
            error = None
    return chain


def _class_names(error: Any) -> list[str]:
    return [base.__name__ for base in type(error).__mro__]


def _response(error: Any) -> Any:
    """Return the HTTP response of an error, or the argument itself if it is a response."""
    if isinstance(error, (str, bytes, Mapping)):
        return None
    if not isinstance(error, BaseException):
        if _get(error, "headers") is not None:
            return error
        return None
    for name in ("response", "raw_response", "http_response"):
        response = _get(error, name)
        if response is not None and not isinstance(response, Mapping):
            return response
    return None


def _body(error: Any) -> Any:
    """Return the body of an error: parsed JSON, or text."""
    if isinstance(error, (str, bytes, bytearray, list, Mapping)):
        return _parse(error)
    aws_response = _get(error, "response")
    if isinstance(aws_response, Mapping) and isinstance(aws_response.get("Error"), Mapping):
        return {
            "code": aws_response["Error"].get("Code"),
            "message": aws_response["Error"].get("Message"),
        }
    if callable(_get(error, "code")) and callable(_get(error, "details")):  # gRPC
        with contextlib.suppress(Exception):
            return {"code": error.code().name, "message": str(error.details() or "")}
    for name in ("body", "details", "error"):
        body = _get(error, name)
        if isinstance(body, (str, bytes, Mapping, list)) and body:
            return _parse(body)
        if (
            name == "body"
            and body is not None
            and not callable(body)
            and (dump := _get(body, "model_dump"))
        ):
            with contextlib.suppress(Exception):
                return dump()
    return _response_body(_response(error))


def _response_body(response: Any) -> Any:
    if response is None:
        return None
    for name in ("text", "content"):
        content = _get(response, name)
        if isinstance(content, (str, bytes)) and content:
            return _parse(content)
    return None


def _parse(given: Any) -> Any:
    if isinstance(given, (bytes, bytearray)):
        given = bytes(given).decode(errors="replace")
    if not isinstance(given, str) or given.lstrip()[:1] not in ("{", "["):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _unwrap(body: Any, depth: int = 0) -> list[Any]:
    """Return a body and the bodies nested in it, innermost first.

    A router's body contains the provider's body, and a string in a body may contain JSON.
    """
    if isinstance(body, list):
        if body and depth < _DEEPEST:
            return _unwrap(body[0], depth + 1)
        return []
    if not isinstance(body, Mapping):
        if isinstance(body, str):
            return [body]
        return []
    # The innermost body is the provider's own and says most; each gateway around it adds a vaguer
    # one. Some gateways write the inner body as text, and one of them (OpenRouter) may put a plain
    # sentence in its place.
    inner_bodies: list[Any] = []
    for nested in (
        _get(_get(body, "metadata"), "raw"),
        *(body.get(name) for name in ("error", "response", "data")),
    ):
        parsed = _parse(nested)
        if isinstance(parsed, (Mapping, list)) and depth < _DEEPEST:
            inner_bodies += _unwrap(parsed, depth + 1)
        elif isinstance(nested, str) and _get(body, "metadata") is not None:
            inner_bodies.append({"message": nested})
    message = _parse(body.get("message"))
    if isinstance(message, (Mapping, list)) and depth < _DEEPEST:
        inner_bodies += _unwrap(message, depth + 1)
    return [*inner_bodies, body]


def _status_in(body: Any) -> int | None:
    for name in ("status_code", "statusCode", "status", "code"):
        status = _get(body, name)
        if isinstance(status, str) and re.fullmatch(r"[0-9]{3}", status):
            status = int(status)
        if isinstance(status, int) and not isinstance(status, bool) and 400 <= status <= 599:  # noqa: PLR2004 - HTTP
            return status
    code = str(_get(body, "code") or "")
    return _GRPC.get(code)


def _status(error: Any) -> int | None:
    metadata = _get(_get(error, "response"), "ResponseMetadata")
    holders = (error, _response(error))
    candidates = [
        _get(holder, name)
        for holder in holders
        for name in ("status_code", "http_status", "status", "code")
    ]
    codes = [_get(metadata, "HTTPStatusCode"), *candidates]
    return next(
        (
            code
            for code in codes
            if isinstance(code, int) and not isinstance(code, bool) and code > 0
        ),
        None,
    )


def _codes(source: Any) -> list[str]:
    codes = []
    for name in (
        "code",
        "type",
        "status",
        "error_code",
        "__type",
        "reason",
        "error_type",
        "finish_reason",
    ):
        code = _get(source, name)
        if isinstance(code, str) and code and code != "error":
            codes.append(code[:_LONGEST_CODE].rpartition("#")[2])
    return codes


def _text(body: Any, name: str) -> str:
    text = _get(body, name)
    if isinstance(text, str):
        return text
    return ""


def _message(body: Any) -> str:
    if isinstance(body, str):
        if body.lstrip()[:5].lower() in ("<html", "<!doc"):
            return ""
        return body
    for name in ("message", "Message", "error", "detail", "error_message"):
        text = _get(body, name)
        if isinstance(text, str) and text:
            failed = _text(body, "failed_generation")
            if failed:
                return f"{text}\n{failed}"
            return text
    detail = _get(body, "detail")
    if isinstance(detail, list):
        return "; ".join(
            f"{_get(entry, 'loc')}: {_get(entry, 'msg')}" for entry in detail[:_DEEPEST]
        )
    return ""


def _error_text(error: Any) -> str:
    if isinstance(error, BaseException):
        with contextlib.suppress(Exception):
            return str(error) or type(error).__name__
    reason = _get(error, "reason_phrase") or _get(error, "reason")
    if isinstance(reason, str):
        return reason
    return ""


def _to_json_text(detail: Any) -> str:
    try:
        return json.dumps(detail, default=lambda given: type(given).__name__)
    except (TypeError, ValueError, RecursionError):
        return ""


def _details(body: Any) -> list[Any]:
    details = _get(body, "details")
    if isinstance(details, list):
        return list(details[:_DEEPEST])
    if details:
        return [details]
    return []


def _headers(error: Any) -> dict[str, str]:
    metadata = _get(_get(error, "response"), "ResponseMetadata")
    for headers in (
        _get(_response(error), "headers"),
        _get(error, "headers"),
        _get(metadata, "HTTPHeaders"),
    ):
        with contextlib.suppress(Exception):
            raw_headers: Any = headers
            if headers is not None:
                return {str(key).lower(): str(value) for key, value in raw_headers.items()}
    return {}


def _request_id(chain: list[Any], bodies: list[Any], headers: Mapping[str, str]) -> str | None:
    candidates = [_get(source, "request_id") for source in (*chain, *bodies)]
    candidates += [
        _get(_get(_get(link, "response"), "ResponseMetadata"), "RequestId") for link in chain
    ]
    candidates += [headers.get(name) for name in _REQUEST_IDS]
    return next((value for value in candidates if isinstance(value, str) and value), None)


def _request(error: Any) -> Any:
    """Return the body of the request, because this body holds the names of the tools."""
    for holder in (error, _response(error)):
        content = _get(_get(holder, "request"), "content")
        if isinstance(content, (bytes, str)) and content:
            parsed = _parse(content)
            if isinstance(parsed, Mapping):
                return parsed
            return None
    return None

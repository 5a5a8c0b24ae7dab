"""Sends the request of a call, and returns what the server answers, up to a bound.

A redirect is followed by a call that only reads, and only to the same server: the credentials of
the client are for that server, and what writes is not sent twice.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from toolshape._records.calls import JsonObject
from toolshape._records.context import CallContext
from toolshape._records.errors import ToolError
from toolshape._records.parts import Image
from toolshape.openapi._operations import Operation
from toolshape.openapi._writing import Written, write_request

_MOST_REDIRECTS = 5
_MOST_OF_ERROR = 2_000  # characters of the server's words in an error
_ERRORS = 400
_READS = ("GET", "HEAD")


@dataclass(frozen=True, kw_only=True, eq=False)
class Sender:
    """Runs the calls of operations with a client of the app; see ``AsyncSender`` for an async one."""

    operations: Mapping[str, Operation]
    client: httpx.Client
    base_url: str
    most_bytes: int

    def __call__(self, name: str, arguments: JsonObject, context: CallContext) -> Any:
        del context
        operation = self.operations[name]
        request = _request(self.client, self.base_url, operation, arguments)
        try:
            for _ in range(_MOST_REDIRECTS):
                response = self.client.send(request, stream=True, follow_redirects=False)
                try:
                    again = _redirected(self.client, operation, request, response)
                    if again is None:
                        content, is_cut = _first_bytes(response.iter_bytes(), self.most_bytes)
                        return _value(response, content, is_cut=is_cut)
                finally:
                    response.close()
                request = again
        except httpx.HTTPError as error:
            raise _unreached(error) from error
        raise ToolError("the server redirects again and again")


@dataclass(frozen=True, kw_only=True, eq=False)
class AsyncSender:
    """Like ``Sender``, for an async client."""

    operations: Mapping[str, Operation]
    client: httpx.AsyncClient
    base_url: str
    most_bytes: int

    async def __call__(self, name: str, arguments: JsonObject, context: CallContext) -> Any:
        del context
        operation = self.operations[name]
        request = _request(self.client, self.base_url, operation, arguments)
        try:
            for _ in range(_MOST_REDIRECTS):
                response = await self.client.send(request, stream=True, follow_redirects=False)
                try:
                    again = _redirected(self.client, operation, request, response)
                    if again is None:
                        content, is_cut = await _afirst_bytes(
                            response.aiter_bytes(), self.most_bytes
                        )
                        return _value(response, content, is_cut=is_cut)
                finally:
                    await response.aclose()
                request = again
        except httpx.HTTPError as error:
            raise _unreached(error) from error
        raise ToolError("the server redirects again and again")


def _request(
    client: httpx.Client | httpx.AsyncClient,
    base_url: str,
    operation: Operation,
    arguments: JsonObject,
) -> httpx.Request:
    written: Written = write_request(operation, arguments)
    address = f"{base_url.rstrip('/')}/{written.target.lstrip('/')}"
    more: dict[str, Any] = {}
    if written.parts is not None:
        more["files"] = [
            (name, (file_name, content, media_type or "text/plain"))
            if media_type or file_name
            else (name, (None, content))
            for name, (file_name, content, media_type) in written.parts
        ]
    elif written.content is not None:
        more["content"] = written.content
    return client.build_request(operation.method, address, headers=dict(written.headers), **more)


def _redirected(
    client: httpx.Client | httpx.AsyncClient,
    operation: Operation,
    request: httpx.Request,
    response: httpx.Response,
) -> httpx.Request | None:
    """Return the request that a redirect asks for; ``None`` if the response is none.

    Raises:
        ToolError: It leads to another server, or the call does not only read.
    """
    if not response.has_redirect_location:
        return None
    target = request.url.join(response.headers["Location"])
    if (target.scheme, target.host, target.port) != (
        request.url.scheme,
        request.url.host,
        request.url.port,
    ):
        raise ToolError(f"the server redirects to {target.host}, which is not followed")
    if operation.method not in _READS:
        raise ToolError("the server redirects a call that writes, which is not followed")
    return client.build_request(operation.method, target, headers=request.headers)


def _first_bytes(chunks: Iterator[bytes], most: int) -> tuple[bytes, bool]:
    """Return the first bytes of a body, and whether there are more."""
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > most:
            return bytes(content[:most]), True
    return bytes(content), False


async def _afirst_bytes(chunks: AsyncIterator[bytes], most: int) -> tuple[bytes, bool]:
    content = bytearray()
    async for chunk in chunks:
        content += chunk
        if len(content) > most:
            return bytes(content[:most]), True
    return bytes(content), False


def _value(response: httpx.Response, content: bytes, *, is_cut: bool) -> Any:
    """Return what the server answered, by its media type.

    Raises:
        ToolError: The status is one of an error; the text is the server's own words.
    """
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if response.status_code >= _ERRORS:
        words = _text(response, content)
        shown = words if len(words) <= _MOST_OF_ERROR else f"{words[:_MOST_OF_ERROR]} [cut]"
        head = f"the server answered {response.status_code} {response.reason_phrase}".strip()
        raise ToolError(f"{head}: {shown}" if shown else head)
    if not content:
        return None
    if media_type.startswith("image/") and not is_cut:
        return Image(content, media_type=media_type)
    is_json = media_type == "application/json" or media_type.endswith("+json")
    if not is_json and not _is_text(media_type):
        return f"{len(content)} bytes of {media_type}, which are not shown"
    text = _text(response, content)
    if is_json and not is_cut:
        with contextlib.suppress(ValueError):  # else it is no JSON, and shown as it is
            return json.loads(text)
    if is_cut:
        return f"{text}\n[cut: only the first {len(content)} bytes of the answer were read]"
    return text


def _is_text(media_type: str) -> bool:
    return (
        media_type.startswith("text/")
        or media_type.endswith(("+xml", "/xml", "/javascript", "/yaml", "/x-ndjson"))
        or not media_type
    )


def _text(response: httpx.Response, content: bytes) -> str:
    try:
        return content.decode(response.charset_encoding or "utf-8", "replace")
    except LookupError:
        return content.decode("utf-8", "replace")


def _unreached(error: httpx.HTTPError) -> ToolError:
    """Return the error for the model: of which kind, without the address or its secrets."""
    if isinstance(error, httpx.TimeoutException):
        return ToolError("the server did not answer in time")
    return ToolError(f"the server could not be reached ({type(error).__name__})")

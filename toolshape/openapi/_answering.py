"""Sends the request of a call, and returns what the server answers, up to a bound.

A redirect is followed by a call that only reads, and only to the same server: the credentials of
the client are for that server, and what writes is not sent twice.
"""

import contextlib
import json
import zlib
from collections.abc import Mapping
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
        written = write_request(operation, arguments)
        request = _request(self.client, written, operation.method, _address(self.base_url, written))
        try:
            for _ in range(_MOST_REDIRECTS):
                response = self.client.send(request, stream=True, follow_redirects=False)
                try:
                    again = _redirected(self.client, operation, written, request, response)
                    if again is None:
                        reading = _Reading(response, self.most_bytes)
                        is_here = response.is_stream_consumed  # a cache may have read it already
                        for chunk in response.iter_bytes() if is_here else response.iter_raw():
                            if reading.is_full(chunk):
                                break
                        return reading.value(response)
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
        written = write_request(operation, arguments)
        request = _request(self.client, written, operation.method, _address(self.base_url, written))
        try:
            for _ in range(_MOST_REDIRECTS):
                response = await self.client.send(request, stream=True, follow_redirects=False)
                try:
                    again = _redirected(self.client, operation, written, request, response)
                    if again is None:
                        reading = _Reading(response, self.most_bytes)
                        is_here = response.is_stream_consumed
                        async for chunk in (
                            response.aiter_bytes() if is_here else response.aiter_raw()
                        ):
                            if reading.is_full(chunk):
                                break
                        return reading.value(response)
                finally:
                    await response.aclose()
                request = again
        except httpx.HTTPError as error:
            raise _unreached(error) from error
        raise ToolError("the server redirects again and again")


def _request(
    client: httpx.Client | httpx.AsyncClient, written: Written, method: str, address: str
) -> httpx.Request:
    """Return the request, with the client's own parameters and cookies beside those of the call.

    Raises:
        ToolError: The address would be too long.
    """
    more: dict[str, Any] = {}
    if written.parts is not None:
        more["files"] = list(written.parts)
    elif written.content is not None:
        more["content"] = written.content
    try:
        # The query is put in afterwards, because a client with parameters of its own replaces it.
        request = client.build_request(method, address.partition("?")[0], **more)
        added = str(client.params)
        if added:
            address += ("&" if "?" in address else "?") + added
        request.url = httpx.URL(address)
    except httpx.InvalidURL as error:
        raise ToolError("the arguments make an address that cannot be sent") from error
    request.headers.update(written.headers)
    request.headers["Accept-Encoding"] = "identity"  # so that an answer is as long as it is read
    if written.cookies:
        own = request.headers.get("Cookie")
        request.headers["Cookie"] = "; ".join(filter(None, (own, written.cookies)))
    return request


def _address(base_url: str, written: Written) -> str:
    return f"{base_url.rstrip('/')}/{written.target.lstrip('/')}"


def _redirected(
    client: httpx.Client | httpx.AsyncClient,
    operation: Operation,
    written: Written,
    request: httpx.Request,
    response: httpx.Response,
) -> httpx.Request | None:
    """Return the request that a redirect asks for; ``None`` if the response is none.

    Raises:
        ToolError: It leads to another server, or the call does not only read.
    """
    if not response.has_redirect_location:
        return None
    try:
        target = request.url.join(response.headers["Location"])
    except httpx.InvalidURL as error:
        raise ToolError("the server redirects to what is no address") from error
    here = (request.url.scheme, request.url.host, request.url.port)
    if (target.scheme, target.host, target.port) != here or target.userinfo:
        raise ToolError(f"the server redirects to {target.host}, which is not followed")
    if operation.method not in _READS:
        raise ToolError("the server redirects a call that writes, which is not followed")
    again = _request(client, written, operation.method, str(target))
    again.url = target  # it has what the server wants of the client's parameters
    return again


class _Reading:
    """The first bytes of an answer; one that is packed is unpacked no further than they go."""

    def __init__(self, response: httpx.Response, most: int) -> None:
        packed = response.headers.get("Content-Encoding", "").strip().lower()
        if response.is_stream_consumed:
            packed = ""
        if packed not in ("identity", "gzip", "deflate", ""):
            raise ToolError(f"the answer is packed in a way that is not read: {packed}")
        self._unpack = zlib.decompressobj(_ANY_HEADER) if packed in ("gzip", "deflate") else None
        self._most = most
        self.content = b""

    def is_full(self, chunk: bytes) -> bool:
        """Add the next bytes from the server; return whether there are more than wanted.

        Raises:
            ToolError: They cannot be unpacked.
        """
        if self._unpack is not None:
            try:
                chunk = self._unpack.decompress(chunk, self._most + 1 - len(self.content))
            except zlib.error as error:
                raise ToolError("the answer cannot be unpacked") from error
        self.content += chunk
        return len(self.content) > self._most

    def value(self, response: httpx.Response) -> Any:
        is_cut = len(self.content) > self._most
        return _value(response, self.content[: self._most], is_cut=is_cut)


_ANY_HEADER = 47  # zlib tells gzip and deflate apart


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
        with contextlib.suppress(ValueError, RecursionError):  # else it is shown as it is
            return json.loads(text.removeprefix("\ufeff"))
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
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


def _unreached(error: httpx.HTTPError) -> ToolError:
    """Return the error for the model: of which kind, without the address or its secrets."""
    if isinstance(error, httpx.TimeoutException):
        return ToolError("the server did not answer in time")
    return ToolError(f"the server could not be reached ({type(error).__name__})")

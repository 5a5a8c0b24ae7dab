"""Sends the request of a call, and returns what the server answers, up to a bound.

A redirect is followed by a call that only reads, and only to the same server: the credentials of
the client are for that server, and what writes is not sent twice.
"""

import contextlib
import json
import zlib
from collections.abc import Callable, Generator, Mapping
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
_MOST_OF_A_HEADER = 100
_ERRORS = 400
_READS = ("GET", "HEAD", "OPTIONS", "TRACE")


@dataclass(frozen=True, kw_only=True, eq=False)
class Sender:
    """Runs the calls of operations with a client of the app; see ``AsyncSender`` for an async one.

    ``refuse`` raises a ``ToolError`` for arguments that the schema admits and no server is sent.
    """

    operations: Mapping[str, Operation]
    client: httpx.Client
    base_url: str
    most_bytes: int
    refuse: Callable[[JsonObject], None] | None = None

    def __call__(self, name: str, arguments: JsonObject, context: CallContext) -> Any:
        del context
        exchange = _Exchange(self, self.operations[name], arguments)
        with _told_to_the_model(self.operations[name]):
            while True:
                response = self.client.send(exchange.request, stream=True, follow_redirects=False)
                try:
                    if exchange.is_over(response):
                        is_here = response.is_stream_consumed  # a cache may have read it already
                        for chunk in response.iter_bytes() if is_here else response.iter_raw():
                            if exchange.is_full(chunk):
                                break
                        return exchange.value(response)
                finally:
                    response.close()


@dataclass(frozen=True, kw_only=True, eq=False)
class AsyncSender:
    """Like ``Sender``, for an async client."""

    operations: Mapping[str, Operation]
    client: httpx.AsyncClient
    base_url: str
    most_bytes: int
    refuse: Callable[[JsonObject], None] | None = None

    async def __call__(self, name: str, arguments: JsonObject, context: CallContext) -> Any:
        del context
        exchange = _Exchange(self, self.operations[name], arguments)
        with _told_to_the_model(self.operations[name]):
            while True:
                response = await self.client.send(
                    exchange.request, stream=True, follow_redirects=False
                )
                try:
                    if exchange.is_over(response):
                        is_here = response.is_stream_consumed
                        chunks = response.aiter_bytes() if is_here else response.aiter_raw()
                        async for chunk in chunks:
                            if exchange.is_full(chunk):
                                break
                        return exchange.value(response)
                finally:
                    await response.aclose()


class _Exchange:
    """What both senders do of one call: the requests to make, and what is kept of the answer."""

    def __init__(
        self, sender: Sender | AsyncSender, operation: Operation, arguments: JsonObject
    ) -> None:
        self._sender = sender
        self._operation = operation
        if sender.refuse is not None:
            sender.refuse(arguments)
        self._written = write_request(operation, arguments)
        self._redirects = 0
        self._packing: _Packing | None = None
        self._raw_bytes = 0
        self._content = bytearray()
        address = f"{sender.base_url.rstrip('/')}/{self._written.target.lstrip('/')}"
        self.request = _request(sender.client, self._written, operation.method, address)

    def is_over(self, response: httpx.Response) -> bool:
        """Return whether this is the answer; else ``request`` is what a redirect asks for.

        Raises:
            ToolError: The redirect is not followed.
            _UnreadError: The answer is packed in a way that is not read.
        """
        target = _redirection(self._operation, self.request, response)
        if target is None:
            self._packing = _packing_of(response)
            return True
        self._redirects += 1
        if self._redirects == _MOST_REDIRECTS:
            raise ToolError("the server redirects again and again")
        method = self._operation.method
        self.request = _request(self._sender.client, self._written, method, str(target))
        self.request.url = target  # it has what the server wants of the client's parameters
        return False

    def is_full(self, chunk: bytes) -> bool:
        """Add the next bytes from the server; return whether no more are wanted.

        Raises:
            _UnreadError: They cannot be unpacked.
        """
        self._raw_bytes += len(chunk)
        most, packing = self._sender.most_bytes, self._packing
        if packing is None:
            self._content += chunk
            return len(self._content) > most
        for start in range(0, len(chunk), _PIECE):
            piece = chunk[start : start + _PIECE]
            self._content += packing.read(piece, most + 1 - len(self._content))
            if packing.is_over or len(self._content) > most:
                return True
        return self._is_overfed()

    def _is_overfed(self) -> bool:
        """Whether more came than bytes that unpack to what is read: it may unpack to nothing."""
        return self._raw_bytes > 2 * self._sender.most_bytes + _MOST_PACKING

    def value(self, response: httpx.Response) -> Any:
        """Return what the server answered; see ``_value``."""
        most, packing = self._sender.most_bytes, self._packing
        is_cut = len(self._content) > most
        if packing is not None:
            is_cut = is_cut or packing.is_open or self._is_overfed()
        return _value(response, bytes(self._content[:most]), is_cut=is_cut)


class _UnreadError(ValueError):
    """The server answered, in a way that is not read."""


_NOTHING_ARRIVED = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


@contextlib.contextmanager
def _told_to_the_model(operation: Operation) -> Generator[None]:
    """Say of which kind an error of the connection is, without the address or its secrets.

    Raises:
        ToolError: There was one.
    """
    # A model repeats what did not reach the server. So it reads when that is not known.
    try:
        yield
    except _NOTHING_ARRIVED as error:
        raise ToolError(f"the server could not be reached ({type(error).__name__})") from error
    except httpx.TimeoutException as error:
        raise ToolError(f"the server did not answer in time{_perhaps(operation)}") from error
    except httpx.HTTPError as error:
        words = f"the connection to the server broke off ({type(error).__name__})"
        raise ToolError(f"{words}{_perhaps(operation)}") from error
    except _UnreadError as error:
        raise ToolError(f"{error}{_perhaps(operation)}") from error
    except httpx.InvalidURL as error:  # httpx reads where a redirect leads, too
        raise ToolError(f"{_NO_ADDRESS}{_perhaps(operation)}") from error


def _perhaps(operation: Operation) -> str:
    """Return what is said of a call whose answer was not read."""
    if operation.method in _READS:
        return ""
    return "; the call may or may not have had an effect: find out before you call it again"


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


def _redirection(
    operation: Operation, request: httpx.Request, response: httpx.Response
) -> httpx.URL | None:
    """Return where a redirect leads; ``None`` if the response is none.

    Raises:
        ToolError: It leads to another server, or the call does not only read.
    """
    if not response.has_redirect_location:
        return None
    if operation.method not in _READS:
        raise ToolError(
            _REDIRECTED.get(response.status_code, _SENT_ELSEWHERE + _perhaps(operation))
        )
    try:
        target = request.url.join(response.headers["Location"])
    except httpx.InvalidURL as error:
        raise ToolError(_NO_ADDRESS) from error
    own = request.url
    is_own = target.userinfo in (b"", own.userinfo) and target.port == own.port
    if not is_own or (target.scheme, target.host) != (own.scheme, own.host):
        raise ToolError(f"the server redirects to {_short(target.host)}, which is not followed")
    return target.copy_with(userinfo=own.userinfo)


_NO_ADDRESS = "the server redirects to what is no address"


_SENT_ELSEWHERE = "the server redirects a call that writes, which is not followed"
_REDIRECTED: Mapping[int, str] = {
    303: "the server did what was asked; its answer is elsewhere, which is not followed",
    307: f"{_SENT_ELSEWHERE}; nothing was done",
    308: f"{_SENT_ELSEWHERE}; nothing was done",
}
"""What the standard says of a call that was redirected (RFC 9110, 15.4); others may be either."""


def _packing_of(response: httpx.Response) -> "_Packing | None":
    """Return how an answer is packed; ``None`` if it is not, or no longer.

    Raises:
        _UnreadError: It is packed in a way that is not read.
    """
    packed = response.headers.get("Content-Encoding", "").strip().lower()
    if response.is_stream_consumed or packed in ("", "identity"):
        return None
    if packed not in ("gzip", "x-gzip", "deflate"):
        raise _UnreadError(f"the answer is packed in a way that is not read: {_short(packed)}")
    return _Packing(is_deflate=packed == "deflate")


class _Packing:
    """What is left to unpack of an answer, which is one stream of zlib or members of gzip.

    ``is_over`` says that what follows is none of it, ``is_open`` that a stream did not end.
    """

    def __init__(self, *, is_deflate: bool) -> None:
        self._is_deflate = is_deflate
        self._stream: Any = None
        self._head = b""
        self._has_ended = False
        self.is_over = False

    @property
    def is_open(self) -> bool:
        return self._stream is not None or (self._head != b"" and not self._has_ended)

    def read(self, piece: bytes, most: int) -> bytes:
        """Return what the next bytes hold, unpacked no further than it is read.

        Raises:
            _UnreadError: They cannot be unpacked.
        """
        found = bytearray()
        left, self._head = self._head + piece, b""
        while left and len(found) < most:
            if self._stream is None:
                if len(left) < len(_GZIP):
                    self._head = left
                    break
                if self._has_ended and not left.startswith(_GZIP):
                    self.is_over = True
                    break
                self._stream = zlib.decompressobj(self._window(left))
            try:
                found += self._stream.decompress(left, most - len(found))
            except zlib.error as error:
                raise _UnreadError("the answer cannot be unpacked") from error
            left = self._stream.unused_data
            if self._stream.eof:
                self._stream, self._has_ended = None, True
        return bytes(found)

    def _window(self, head: bytes) -> int:
        """Return how zlib reads what begins so: many servers send deflate without its header."""
        has_header = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
        if self._is_deflate and not has_header and not head.startswith(_GZIP):
            return -zlib.MAX_WBITS
        return _ANY_HEADER


_ANY_HEADER = 47  # zlib tells gzip and deflate apart
_GZIP = b"\x1f\x8b"  # how each member begins (RFC 1952, 2.2: a file is one member after another)
_PIECE = 4_096  # zlib copies what follows a member, once for each
_MOST_PACKING = 65_536  # bytes of headers and of empty blocks


def _value(response: httpx.Response, content: bytes, *, is_cut: bool) -> Any:
    """Return what the server answered, by its media type.

    Raises:
        ToolError: The status is one of an error; the text is the server's own words.
    """
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if response.status_code >= _ERRORS:
        words = _text(response, content)
        is_cut = is_cut or len(words) > _MOST_OF_ERROR
        shown = f"{words[:_MOST_OF_ERROR]} [cut]" if is_cut else words
        head = (
            f"the server answered {response.status_code} {_short(response.reason_phrase)}".strip()
        )
        raise ToolError(f"{head}: {shown}" if shown else head)
    if not content and not is_cut:
        return None
    if media_type.startswith("image/") and not is_cut:
        return Image(content, media_type=media_type)
    is_json = media_type == "application/json" or media_type.endswith("+json")
    if not is_json and not _is_text(media_type):
        more = "more than " if is_cut else ""
        return f"{more}{len(content)} bytes of {_short(media_type)}, which are not shown"
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


def _short(words: str) -> str:
    """Return words of the server that are no body, where a few say all."""
    return words if len(words) <= _MOST_OF_A_HEADER else f"{words[:_MOST_OF_A_HEADER]} [cut]"


def _text(response: httpx.Response, content: bytes) -> str:
    try:
        return content.decode(response.charset_encoding or "utf-8", "replace")
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")

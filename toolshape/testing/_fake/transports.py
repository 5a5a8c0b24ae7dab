"""Connects a fake to httpx and httpx2 without a socket: builds sync and async transports."""

import importlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

from toolshape._errors import UsageError
from toolshape.testing._fake.exchange import Reply
from toolshape.testing._fake.server import Handle


def library(name: Literal["httpx", "httpx2"]) -> Any:
    """Import an HTTP library.

    Raises:
        UsageError: The library is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"{name} is not installed: install it, or send requests to the fake's url") from error


def transport(http: Any, handle: Handle, *, is_async: bool) -> Any:
    """Return a transport of an HTTP library that sends every request to a fake, whatever its address."""

    def answered(request: Any, raw: bytes) -> tuple[Reply, dict[str, str]]:
        reply = handle(request.method, request.url.raw_path.decode(), raw)
        if reply.drop == "before":
            raise http.RemoteProtocolError("Server disconnected without sending a response.", request=request)
        return reply, reply.headers

    def sync_handler(request: Any) -> Any:
        reply, headers = answered(request, request.read())
        return http.Response(reply.status, headers=headers, content=_chunks(http, reply))

    async def async_handler(request: Any) -> Any:
        reply, headers = answered(request, await request.aread())
        return http.Response(reply.status, headers=headers, content=_async_chunks(http, reply))

    return http.MockTransport(async_handler if is_async else sync_handler)


def _chunks(http: Any, reply: Reply) -> Iterator[bytes]:
    yield from reply.chunks
    if reply.drop:
        raise http.RemoteProtocolError("peer closed connection without sending complete message body")


async def _async_chunks(http: Any, reply: Reply) -> AsyncIterator[bytes]:
    for chunk in _chunks(http, reply):
        yield chunk

"""Changes of a registry in; notices to the clients of a server, each in its own loop and by its own revision, out."""

import asyncio
import contextlib
import functools
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar

from mcp.server.session import ServerSession
from mcp.server.subscriptions import ServerEvent, ToolsListChanged

from toolshape._registry import Registry

T = TypeVar("T")


class Changes:
    """Whom to tell that the list of tools has changed: a bus of subscriptions (2026-07-28), and sessions until then.

    It may be told of a change in any thread; each client hears of it in the loop that serves it.
    """

    def __init__(self) -> None:
        self._listeners: dict[object, tuple[asyncio.AbstractEventLoop, Callable[[ServerEvent], None]]] = {}
        self._sessions: dict[object, tuple[asyncio.AbstractEventLoop, ServerSession]] = {}
        self._telling: set[asyncio.Task[None]] = set()  # a loop keeps no strong reference to its tasks

    async def publish(self, event: ServerEvent) -> None:
        """Deliver an event to all who subscribed."""
        self._deliver(event)

    def _deliver(self, event: ServerEvent) -> None:
        for loop, listener in list(self._listeners.values()):
            _in_loop(loop, functools.partial(listener, event))

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Deliver events to a listener, in this loop, until what this returns is called."""
        return _put(self._listeners, listener)

    def joined(self, session: ServerSession) -> Callable[[], None]:
        """Tell a session of a revision without subscriptions, until what this returns is called."""
        return _put(self._sessions, session)

    def tell(self) -> None:
        """Tell everybody, from whatever thread, that the list of tools has changed."""
        self._deliver(ToolsListChanged())
        for loop, session in list(self._sessions.values()):
            _in_loop(loop, functools.partial(self._begin, loop, session))

    def _begin(self, loop: asyncio.AbstractEventLoop, session: ServerSession) -> None:
        task = loop.create_task(_told(session))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def _put(there: dict[object, tuple[asyncio.AbstractEventLoop, T]], one: T) -> Callable[[], None]:
    token = object()
    there[token] = asyncio.get_running_loop(), one

    def take_out() -> None:
        there.pop(token, None)

    return take_out


def _in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], object]) -> None:
    with contextlib.suppress(RuntimeError):  # it is closed: nobody is served there any more
        loop.call_soon_threadsafe(work)


async def _told(session: ServerSession) -> None:
    with contextlib.suppress(Exception):  # the client has gone
        await session.send_tool_list_changed()


class Changing(Protocol):
    """Who is told of a change."""

    def changed(self) -> None:
        """Take note of it."""


def tell_of_changes(tools: Registry, whom: Changing) -> None:
    """Tell somebody of each change of a registry, as long as anybody else holds them."""
    reference = weakref.ref(whom)

    def told() -> None:
        found = reference()
        if found is None:
            end()
        else:
            found.changed()

    end = tools.on_change(told)

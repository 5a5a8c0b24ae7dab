"""Notifies the clients of a server when its registry changes, each in its own loop and by its own MCP revision."""

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
    """Notifies clients of list changes: subscriptions from 2026-07-28 on, sessions before.

    ``tell`` may run in any thread; each client is notified in the loop that serves it.
    """

    def __init__(self) -> None:
        self._listeners: dict[object, tuple[asyncio.AbstractEventLoop, Callable[[ServerEvent], None]]] = {}
        self._sessions: dict[object, tuple[asyncio.AbstractEventLoop, ServerSession]] = {}
        self._telling: set[asyncio.Task[None]] = set()  # strong references: a loop holds its tasks weakly

    async def publish(self, event: ServerEvent) -> None:
        """Deliver an event to all subscribers."""
        self._deliver(event)

    def _deliver(self, event: ServerEvent) -> None:
        for loop, listener in list(self._listeners.values()):
            _in_loop(loop, functools.partial(listener, event))

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Deliver events to a listener in this loop; return a function that ends the subscription."""
        return _put(self._listeners, listener)

    def joined(self, session: ServerSession) -> Callable[[], None]:
        """Notify a session of a revision without subscriptions; return a function that ends this."""
        return _put(self._sessions, session)

    def tell(self) -> None:
        """Notify all clients, from any thread, that the list of tools has changed."""
        self._deliver(ToolsListChanged())
        for loop, session in list(self._sessions.values()):
            _in_loop(loop, functools.partial(self._begin, loop, session))

    def _begin(self, loop: asyncio.AbstractEventLoop, session: ServerSession) -> None:
        task = loop.create_task(_told(session))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def _put(entries: dict[object, tuple[asyncio.AbstractEventLoop, T]], listener: T) -> Callable[[], None]:
    token = object()
    entries[token] = asyncio.get_running_loop(), listener

    def take_out() -> None:
        entries.pop(token, None)

    return take_out


def _in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], object]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: it serves no client any more
        loop.call_soon_threadsafe(work)


async def _told(session: ServerSession) -> None:
    with contextlib.suppress(Exception):  # the client has disconnected
        await session.send_tool_list_changed()


class Changing(Protocol):
    """An object that is notified of changes."""

    def changed(self) -> None:
        """React to a change."""


def tell_of_changes(tools: Registry, whom: Changing) -> None:
    """Notify an object of each change of a registry, through a weak reference: until the object is collected."""
    reference = weakref.ref(whom)

    def told() -> None:
        listener = reference()
        if listener is None:
            end()
        else:
            listener.changed()

    end = tools.on_change(told)

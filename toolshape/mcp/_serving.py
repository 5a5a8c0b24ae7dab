"""Builds a server with the official MCP SDK: lists a registry's tools, and answers calls."""

import asyncio
import contextlib
import functools
import inspect
import logging
import math
import secrets
import sys
import weakref
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Protocol, TypeAlias, TypeVar

import anyio
from mcp import MCPError
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler, ServerEvent, ToolsListChanged
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    Tool as ListedTool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolshape._bound.bound import Bound, bound_tools_of, plan_call
from toolshape._bound.registry import Registry
from toolshape._families import get
from toolshape._function.calling.failures import hide_error
from toolshape._plan import state
from toolshape._plan.ledger_store import LedgerStore, check_ledger
from toolshape._plan.plan import Plan
from toolshape._plan.results import Results, known_controls
from toolshape._plan.running import Run, run_in_this_task
from toolshape._records.calls import JsonObject, WireCall
from toolshape._records.context import Progress
from toolshape._records.errors import TokenError, UsageError
from toolshape._tools.hook_kinds import is_loop_hook
from toolshape._tools.tool import Tool
from toolshape.mcp import _approving as approving

T = TypeVar("T")


class Changes:
    """Notifies clients of list changes: subscriptions from 2026-07-28 on, sessions before.

    ``tell`` may run in any thread. It notifies each client in the loop that serves the client.
    """

    def __init__(self) -> None:
        self._listeners: dict[
            object, tuple[asyncio.AbstractEventLoop, Callable[[ServerEvent], None]]
        ] = {}
        self._sessions: dict[object, tuple[asyncio.AbstractEventLoop, ServerSession]] = {}
        # Keeps the tasks alive: a loop holds only weak references.
        self._telling: set[asyncio.Task[None]] = set()

    async def publish(self, event: ServerEvent) -> None:
        """Deliver an event to all subscribers."""
        self._deliver(event)

    def _deliver(self, event: ServerEvent) -> None:
        for loop, listener in list(self._listeners.values()):
            _run_in_loop(loop, functools.partial(listener, event))

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Deliver events to a listener in this loop; return a function that ends the
        subscription.
        """
        return _add_listener(self._listeners, listener)

    def joined(self, session: ServerSession) -> Callable[[], None]:
        """Notify a session in a revision without subscriptions; return a
        function that ends the notifications.
        """
        return _add_listener(self._sessions, session)

    def tell(self) -> None:
        """Notify all clients, from any thread, that the list of tools has changed."""
        self._deliver(ToolsListChanged())
        for loop, session in list(self._sessions.values()):
            _run_in_loop(loop, functools.partial(self._notify_later, loop, session))

    def _notify_later(self, loop: asyncio.AbstractEventLoop, session: ServerSession) -> None:
        task = loop.create_task(_notify(session))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def _add_listener(
    entries: dict[object, tuple[asyncio.AbstractEventLoop, T]], listener: T
) -> Callable[[], None]:
    token = object()
    entries[token] = asyncio.get_running_loop(), listener

    def take_out() -> None:
        entries.pop(token, None)

    return take_out


def _run_in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], object]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed, so it serves no clients
        loop.call_soon_threadsafe(work)


async def _notify(session: ServerSession) -> None:
    with contextlib.suppress(Exception):  # the client has disconnected
        await session.send_tool_list_changed()


class Changing(Protocol):
    """An object that a registry notifies of changes."""

    def changed(self) -> None:
        """React to a change."""


def tell_of_changes(tools: Registry, whom: Changing) -> None:
    """Notify an object when a registry changes.

    A weak reference lets Python garbage-collect the object.
    """
    reference = weakref.ref(whom)

    def notify() -> None:
        listener = reference()
        if listener is None:
            end()
        else:
            listener.changed()

    end = tools.on_change(notify)


Inject: TypeAlias = (
    Mapping[str, Any] | Callable[[ServerRequestContext[Any, Any]], Mapping[str, Any]]
)
"""The values for injected parameters, or a function that returns the values for one
request (for example, its user).
"""
ToolsOf: TypeAlias = Callable[[ServerRequestContext[Any, Any]], Registry | Awaitable[Registry]]
"""A function that returns the tools of the client that made a request."""
_FORMS: Mapping[str, str] = {"2026-07-28": "mcp:2026-07-28", "2025-11-25": "mcp:2025-11-25"}
_IN_THREADS = (
    "a hook is a plain def, so calls run in threads, without cancellation and timeouts: make the "
    "hook async def"
)
_SHORTEST_KEY = (
    32  # the minimum key length, in bytes, that the SDK requires to seal a request state
)
_OLDEST_FORM = (
    "mcp:2025-06-18"  # for older revisions, the SDK drops the fields that this revision added
)
# In these revisions, clients learn of changes only by subscription.
_SUBSCRIBED = frozenset({"2026-07-28"})


def server(
    tools: Registry | ToolsOf,
    name: str,
    *,
    inject: Inject = {},  # noqa: B006 - never mutated
    key: bytes | str | None = None,
    expires: timedelta = timedelta(minutes=10),
    ledger: LedgerStore | None = None,
    **options: Any,
) -> "Server[Any]":
    """Serve tools to MCP clients with a lowlevel ``Server`` from the official SDK,
    which provides transports and auth.

    The server lists tools in the form of the revision that the client negotiated. It validates,
    coerces and runs calls like ``adispatch``: with hooks, limits and timeouts, and with plain tools
    in threads. If a hook is a plain ``def``, calls run in a thread, as in ``dispatch``. These calls
    cannot be cancelled, plain tools have no timeouts, and async tools do not run in the server's
    loop. The server logs a warning about this. If a call fails, the server sends a result with
    ``isError``. The server validates a value against the output schema before it sends the value.
    It notifies clients when its list of tools changes.

    If a call needs approval, the server asks the client's user. This needs revision 2026-07-28 and
    a client that can ask its user. Otherwise the server refuses the call and gives the reason.

    Args:
        tools: The registry. Each request uses its current tools. Or a function, plain or async,
            that takes the SDK's request context and returns the registry of this client, for
            example a subset by its user: a client sees and calls no other tools. Return the same
            registry for the same user, because a new one is compiled anew. Clients are not told of
            changes to the registries that a function returns.
        name: The name of the server.
        inject: The values for injected parameters, by name. You can also pass a function that takes
            the SDK's request context and returns these values.
        key: A secret of at least 32 bytes that seals approvals. All processes that serve one client
            must share it. By default, each process generates its own key, so an approval does not
            survive a restart.
        expires: How long a call may wait for an approval.
        ledger: Records which approvals were used, and stores the arguments of pending calls that
            take secrets. Without a ledger, calls that take secrets cannot be approved, and an
            approval can be used again until it expires.
        **options: Further arguments for ``mcp.server.Server``: ``version``, ``instructions``,
            ``lifespan``, handlers for resources and prompts, etc.

    Raises:
        UsageError: The key is too short, ``ledger`` is not a ledger, or another argument is
            invalid.
        DefinitionError: Some of the tools' definitions cannot be read.
    """
    _check(tools, inject, expires)
    if isinstance(tools, Registry):
        tools.check()
    if key is None:
        secret = secrets.token_bytes(_SHORTEST_KEY)
    else:
        secret = _check_key(key)
    if ledger is not None:
        check_ledger(ledger, None)
    changes = Changes()
    serving = _Serving(tools, inject, approving.Sealing(secret, name, expires, ledger), changes)
    mcp_server: Server[Any] = Server(
        name,
        on_list_tools=serving.listed,
        on_call_tool=serving.answered,
        on_subscriptions_listen=ListenHandler(changes),
        get_tool_input_schema=serving.input_schema,
        **options,
    )
    mcp_server.middleware.append(
        RequestStateBoundary(
            RequestStateSecurity(keys=[secret], ttl=max(expires.total_seconds(), 1)),
            default_audience=name,
        )
    )
    mcp_server.add_notification_handler(
        "notifications/initialized", NotificationParams, serving.joined
    )
    initialization_options = functools.partial(
        _enable_changes, mcp_server.create_initialization_options
    )
    mcp_server.create_initialization_options = initialization_options  # type: ignore[method-assign]  # transports do not enable list changes
    if isinstance(tools, Registry):
        tell_of_changes(tools, serving)
    return mcp_server


def _check(tools: Any, inject: Any, expires: Any) -> None:
    if not isinstance(tools, Registry) and (not callable(tools) or isinstance(tools, Tool)):
        raise UsageError(
            f"server takes a Registry, not {type(tools).__name__}: write server(Registry([...]), "
            "...)"
        )
    if inspect.iscoroutinefunction(inject) or not (callable(inject) or isinstance(inject, Mapping)):
        raise UsageError(
            "inject= must be a mapping from names to values, or a plain function from a request "
            "context to a mapping"
        )
    if not (isinstance(expires, timedelta) and expires > timedelta()):
        raise UsageError(f"expires= must be a timedelta above 0, not {expires!r}")


def _check_key(key: Any) -> bytes:
    key_bytes = key.encode(errors="surrogatepass") if isinstance(key, str) else key
    if not isinstance(key_bytes, (bytes, bytearray)) or len(key_bytes) < _SHORTEST_KEY:
        raise UsageError(
            "key= must be a string or bytes of at least 32 bytes: create it with "
            "secrets.token_bytes(32)"
        )
    return bytes(key_bytes)


def _enable_changes(
    made: Callable[..., InitializationOptions],
    notification_options: NotificationOptions | None = None,
    *args: Any,
    **options: Any,
) -> InitializationOptions:
    """Return a server's initialization options. By default, enable notifications of list
    changes.
    """
    return made(notification_options or NotificationOptions(tools_changed=True), *args, **options)


class _Progress:
    """Sends the progress reports of a tool to the client, in order; the
    tool may report from any thread.
    """

    # Each report becomes a task in the session's loop, as a tool must not wait. Each task first
    # waits for the task before it, which keeps the reports in order. ``all_sent`` waits for the
    # last task, and therefore for all tasks.

    __slots__ = ("_loop", "_sending", "_session", "has_begun")

    def __init__(self, session: ServerSession) -> None:
        self._loop = asyncio.get_running_loop()
        self._session = session
        self._sending: asyncio.Task[None] | None = None
        self.has_begun = False

    def __call__(self, progress: Progress) -> None:
        self.has_begun = True
        self._loop.call_soon_threadsafe(self._send_later, progress)

    def _send_later(self, progress: Progress) -> None:
        self._sending = self._loop.create_task(self._send(progress, self._sending))

    async def _send(self, progress: Progress, before: "asyncio.Task[None] | None") -> None:
        if before is not None:
            await asyncio.wait({before})
        # The client has disconnected: sending the answer will fail as well.
        with contextlib.suppress(Exception):
            await self._session.report_progress(
                progress.done, progress.total, progress.message or None
            )

    async def all_sent(self) -> None:
        """Wait until all reports are sent: the answer must come after the reports."""
        await asyncio.sleep(0)  # let the loop create the tasks of the newest reports
        if self._sending is not None:
            await asyncio.wait({self._sending})


class _Serving:
    """The request handlers for one server."""

    def __init__(
        self,
        tools: Registry | ToolsOf,
        inject: Inject,
        sealing: approving.Sealing,
        changes: Changes,
    ) -> None:
        self._tools = tools
        self._inject = inject
        self._sealing = sealing
        self._changes = changes
        self._listed: dict[str, tuple[Bound, ListToolsResult]] = {}
        self._bounds: dict[str, Bound] = {}
        self._last: tuple[Bound | None, bool] = None, True

    def changed(self) -> None:
        """Drop the cached tools of the changed registry, and notify the clients."""
        self._bounds = {}
        self._changes.tell()

    async def _tools_of(self, context: ServerRequestContext[Any, Any]) -> Registry:
        """Return the tools that a client sees and may call.

        Raises:
            UsageError: The function of the app returns something else.
        """
        if isinstance(self._tools, Registry):
            return self._tools
        returned = self._tools(context)
        found: Any = await returned if inspect.isawaitable(returned) else returned
        if not isinstance(found, Registry):
            raise UsageError(
                f"the function of the tools must return a Registry, not {type(found).__name__}"
            )
        return found

    def _bound(self, tools: Registry, revision: str) -> Bound:
        provider = get(_FORMS.get(revision, _OLDEST_FORM))
        if tools is not self._tools:
            return tools.bind(provider)
        bounds = self._bounds
        bound = bounds.get(revision)
        # If the registry changes meanwhile, ``changed`` replaces the dict and drops this entry.
        if bound is None:
            bound = bounds[revision] = tools.bind(provider)
        return bound

    def input_schema(self, name: str) -> JsonObject | None:
        """Return a tool's input schema in the newest revision: the SDK
        checks request headers against it, if the tools are the same for all clients.
        """
        if not isinstance(self._tools, Registry):
            return None
        listed = self._listing(self._tools, "2026-07-28")
        return next((tool.input_schema for tool in listed.tools if tool.name == name), None)

    def _listing(self, tools: Registry, revision: str) -> ListToolsResult:
        bound = self._bound(tools, revision)
        cached = self._listed.get(revision)
        if cached is None or cached[0] is not bound:
            entries = [ListedTool.model_validate(entry) for entry in bound.export()]
            cached = bound, ListToolsResult(tools=entries)
            if tools is self._tools:
                self._listed[revision] = cached
        return cached[1]

    async def listed(
        self, context: ServerRequestContext[Any, Any], _: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """Return all tools of the client, in the form of its revision."""
        try:
            return self._listing(await self._tools_of(context), context.protocol_version)
        except Exception as error:  # of the app's function: hide it from the client
            if isinstance(self._tools, Registry):
                raise
            message = str(hide_error("tool_crashed", error, tool="tools/list"))
            raise MCPError(code=INTERNAL_ERROR, message=message) from None

    async def joined(self, context: ServerRequestContext[Any, Any], _: NotificationParams) -> None:
        """If a client's revision has no subscriptions, notify the client of
        changes while it is connected.
        """
        if context.protocol_version not in _SUBSCRIBED:
            end_notifications = self._changes.joined(context.session)
            context.session._connection.exit_stack.callback(end_notifications)  # noqa: SLF001 - mcp 2.3 has no public hook for the end of a connection

    async def answered(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Answer a call with its result, or with a request for the user's approval."""
        try:
            tools = await self._tools_of(context)
        except Exception as error:  # of the app's function: hide it from the client
            return _crash_result(params.name, error)
        bound = self._bound(tools, context.protocol_version)
        number, name, arguments = context.request_id, params.name, params.arguments
        raw = {
            "id": number,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        plan = plan_call(bound, WireCall(str(number), name, arguments, raw))
        try:
            if (
                params.request_state is not None
                and context.protocol_version in MODERN_PROTOCOL_VERSIONS
            ):
                results = await self._resume(context, tools, bound, params)
            else:
                if known_controls(plan.results) is not None and plan.pending:
                    question = await approving.request_approval(plan, context, self._sealing)
                    if question is not None:
                        return question
                results = await self._run(context, bound, plan)
        except TokenError as error:
            if plan.pending:  # else the call already has an answer: its tool was changed or removed
                plan.deny(plan.pending, f"its approval cannot be used: {error}; call it again")
            results = plan.results
        except (
            Exception
        ) as error:  # a value is missing, or inject= failed: log the error, hide it from the client
            return _crash_result(params.name, error)
        answer: Any = results.messages[0]
        return answer  # type: ignore[no-any-return]  # the SDK also accepts the JSON of a result

    def _injected_values(self, context: ServerRequestContext[Any, Any]) -> Mapping[str, Any]:
        if callable(self._inject):
            return self._inject(context)
        return self._inject

    async def _run(
        self, context: ServerRequestContext[Any, Any], bound: Bound, plan: Plan
    ) -> Results:
        claimable_calls, inject = state.claimable(plan.results), self._injected_values(context)
        # Other tools report no progress.
        progress = (
            _Progress(context.session)
            if claimable_calls and claimable_calls[0][2].is_controlled
            else None
        )
        if not (self._last[1] if self._last[0] is bound else self._is_async(bound)):
            results = await asyncio.to_thread(plan.run, inject=inject, on_progress=progress)
        else:
            try:
                results = await run_in_this_task(plan.results, Run(inject, None, progress))
            except asyncio.CancelledError:
                # The request was cancelled; the error is not from the tool.
                if anyio.current_effective_deadline() == -math.inf:
                    raise
                task: Any = asyncio.current_task()
                if sys.version_info >= (3, 11):
                    task.uncancel()
                results = plan.results
        if progress is not None and progress.has_begun:
            await progress.all_sent()
        return results

    def _is_async(self, bound: Bound) -> bool:
        """Return whether all hooks of these tools are async, so calls can run in the loop."""
        if self._last[0] is not bound:
            self._last = bound, all(map(is_loop_hook, bound_tools_of(bound).handlers.hooks))
            if not self._last[1]:
                logging.getLogger("toolshape").warning(_IN_THREADS)
        return self._last[1]

    async def _resume(
        self,
        context: ServerRequestContext[Any, Any],
        tools: Registry,
        bound: Bound,
        params: CallToolRequestParams,
    ) -> Results:
        """Run or deny a call as the user decided."""
        sealing, progress = self._sealing, _Progress(context.session)
        options: dict[str, Any] = {
            "inject": self._injected_values(context),
            "on_progress": progress,
        }
        options |= {"audience": sealing.audience, "ledger": sealing.ledger}
        decision_arguments = params.request_state or "", sealing.key, approving.decisions(params)
        if self._is_async(bound):
            results = await tools.aresume(*decision_arguments, **options)
        else:
            results = await asyncio.to_thread(tools.resume, *decision_arguments, **options)
        await progress.all_sent()
        return results


def _crash_result(name: str, error: Exception) -> CallToolResult:
    text = str(hide_error("tool_crashed", error, tool=name))
    return CallToolResult.model_validate(
        {"content": [{"type": "text", "text": text}], "isError": True}
    )

"""A registry in; a server of the official MCP SDK that lists its tools and answers their calls out."""

import asyncio
import contextlib
import functools
import inspect
import logging
import math
import secrets
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

import anyio
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
)
from mcp_types import Tool as ListedTool
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolshape._bound import Bound, bound_tools_of, plan_of_call
from toolshape._calls import JsonObject, WireCall
from toolshape._context import Progress
from toolshape._dispatch import state
from toolshape._dispatch.hook_kinds import is_loop_hook
from toolshape._dispatch.ledger_store import LedgerStore, checked_ledger
from toolshape._dispatch.plan import Plan
from toolshape._dispatch.running import run_in_this_task
from toolshape._errors import TokenError, UsageError
from toolshape._execution.failures import hidden
from toolshape._registry import Registry
from toolshape._results import Results
from toolshape.mcp import _approving as approving
from toolshape.mcp._changes import Changes, tell_of_changes

Inject: TypeAlias = Mapping[str, Any] | Callable[[ServerRequestContext[Any, Any]], Mapping[str, Any]]
"""The values of injected parameters, or what gives them for a request, as for the user who makes it."""
_FORMS: Mapping[str, str] = {"2026-07-28": "mcp:2026-07-28", "2025-11-25": "mcp:2025-11-25"}
_IN_THREADS = "a hook of served tools is def, which costs cancellation, timeouts and the loop: write it as async def"
_SHORTEST_KEY = 32  # bytes, what the SDK's sealing takes
_OLDEST_FORM = "mcp:2025-06-18"  # what later revisions added to an entry or a result, the SDK leaves out
_SUBSCRIBED = frozenset({"2026-07-28"})  # these hear of changes by subscription alone


def server(
    tools: Registry,
    name: str,
    *,
    inject: Inject = {},  # noqa: B006 - it is not changed
    key: bytes | str | None = None,
    expires: timedelta = timedelta(minutes=10),
    ledger: LedgerStore | None = None,
    **options: Any,
) -> "Server[Any]":
    """Serve tools to MCP clients, by the lowlevel ``Server`` of the official SDK, with its transports and its auth.

    Tools are listed in the form of the revision that a client negotiated. Calls are validated, coerced and run as by
    ``adispatch``: under hooks, limits and timeouts, plain tools in threads. Where a hook is ``def``, a call runs in a
    thread as by ``dispatch``, without cancellation, timeouts of plain tools, and the loop of async ones; the log says
    so. What fails is a result with ``isError``; a value is held against the output schema before it is sent. Clients
    hear of changes.

    A call that has to be approved of is asked of the client's user, where the revision has that (2026-07-28) and the
    client can ask; else it is refused, and says why.

    Args:
        tools: The tools, as they are at each request.
        name: The name of the server.
        inject: The values of injected parameters, by name; or a function of the SDK's request context that gives them.
        key: A secret of 32 bytes or more by which approvals are sealed, the same in all processes that serve one
            client. By default this process makes one, and an approval is of no use after a restart.
        expires: How long a call may wait for an approval.
        ledger: Where it is written down that an approval was used, and where the arguments of tools that take secrets
            are kept meanwhile; without one these cannot be asked of, and an approval can be used until it expires.
        **options: What else ``mcp.server.Server`` takes: ``version``, ``instructions``, ``lifespan``, the handlers of
            resources and prompts, and the like.

    Raises:
        UsageError: The key is too short, the ledger is none, or an argument is not what it says here.
    """
    _check(tools, inject, expires)
    secret = secrets.token_bytes(_SHORTEST_KEY) if key is None else _long(key)
    if ledger is not None:
        checked_ledger(ledger, None)
    changes = Changes()
    serving = _Serving(tools, inject, approving.Sealing(secret, name, expires, ledger), changes)
    made: Server[Any] = Server(
        name,
        on_list_tools=serving.listed,
        on_call_tool=serving.answered,
        on_subscriptions_listen=ListenHandler(changes),
        get_tool_input_schema=serving.input_schema,
        **options,
    )
    made.middleware.append(
        RequestStateBoundary(
            RequestStateSecurity(keys=[secret], ttl=max(expires.total_seconds(), 1)), default_audience=name
        )
    )
    made.add_notification_handler("notifications/initialized", NotificationParams, serving.joined)
    made.create_initialization_options = functools.partial(_with_changes, made.create_initialization_options)  # type: ignore[method-assign]  # what a transport asks for says nothing of changes
    tell_of_changes(tools, serving)
    return made


def _check(tools: Any, inject: Any, expires: Any) -> None:
    if not isinstance(tools, Registry):
        raise UsageError(f"server takes a Registry, not {type(tools).__name__}: server(Registry([...]), ...)")
    if inspect.iscoroutinefunction(inject) or not (callable(inject) or isinstance(inject, Mapping)):
        raise UsageError(
            "inject= is a mapping of values by name, or a plain function of the request context that gives it"
        )
    if not (isinstance(expires, timedelta) and expires > timedelta()):
        raise UsageError(f"expires= is a timedelta above 0, not {expires!r}")


def _long(key: Any) -> bytes:
    given = key.encode(errors="surrogatepass") if isinstance(key, str) else key
    if not isinstance(given, (bytes, bytearray)) or len(given) < _SHORTEST_KEY:
        raise UsageError("key= is a secret text or bytes, of 32 bytes or more: secrets.token_bytes(32)")
    return bytes(given)


def _with_changes(
    made: Callable[..., InitializationOptions],
    notification_options: NotificationOptions | None = None,
    *args: Any,
    **options: Any,
) -> InitializationOptions:
    """What a server says of itself, list changes among it."""
    return made(notification_options or NotificationOptions(tools_changed=True), *args, **options)


class _Progress:
    """Sends a client what a tool says of its progress, in order, from whatever thread it is said in."""

    __slots__ = ("_loop", "_sending", "_session", "has_begun")

    def __init__(self, session: ServerSession) -> None:
        self._loop = asyncio.get_running_loop()
        self._session = session
        self._sending: asyncio.Task[None] | None = None
        self.has_begun = False

    def __call__(self, said: Progress) -> None:
        self.has_begun = True
        self._loop.call_soon_threadsafe(self._begin, said)

    def _begin(self, said: Progress) -> None:
        self._sending = self._loop.create_task(self._send(said, self._sending))

    async def _send(self, said: Progress, before: "asyncio.Task[None] | None") -> None:
        if before is not None:
            await asyncio.wait({before})
        with contextlib.suppress(Exception):  # the client has gone, which the answer will find out
            await self._session.report_progress(said.done, said.total, said.message or None)

    async def all_sent(self) -> None:
        """Wait until all of it is sent: the answer comes after it."""
        await asyncio.sleep(0)  # what was said in this loop is sent from now on
        if self._sending is not None:
            await asyncio.wait({self._sending})


class _Serving:
    """The handlers of one server."""

    def __init__(self, tools: Registry, inject: Inject, sealing: approving.Sealing, changes: Changes) -> None:
        self._tools = tools
        self._inject = inject
        self._sealing = sealing
        self._changes = changes
        self._listed: dict[str, tuple[Bound, ListToolsResult]] = {}
        self._bounds: dict[str, Bound] = {}
        self._last: tuple[Bound | None, bool] = None, True

    def changed(self) -> None:
        """Take note that the registry has changed, and tell the clients."""
        self._bounds = {}
        self._changes.tell()

    def _bound(self, revision: str) -> Bound:
        bounds = self._bounds
        found = bounds.get(revision)
        if found is None:  # where the registry changes meanwhile, others are looked at by then
            found = bounds[revision] = self._tools.bind(_FORMS.get(revision, _OLDEST_FORM))
        return found

    def input_schema(self, name: str) -> JsonObject | None:
        """The input schema of a tool in the newest revision, whose headers are checked against it."""
        listed = self._list_of("2026-07-28")
        return next((one.input_schema for one in listed.tools if one.name == name), None)

    def _list_of(self, revision: str) -> ListToolsResult:
        bound = self._bound(revision)
        known = self._listed.get(revision)
        if known is None or known[0] is not bound:
            entries = [ListedTool.model_validate(entry) for entry in bound.export()]
            known = self._listed[revision] = bound, ListToolsResult(tools=entries)
        return known[1]

    async def listed(
        self, context: ServerRequestContext[Any, Any], _: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """All tools, in the form of the client's revision."""
        return self._list_of(context.protocol_version)

    async def joined(self, context: ServerRequestContext[Any, Any], _: NotificationParams) -> None:
        """Tell a client of changes, if its revision has no subscriptions, as long as it is connected."""
        if context.protocol_version not in _SUBSCRIBED:
            left = self._changes.joined(context.session)
            context.session._connection.exit_stack.callback(left)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what ends with a connection has no public name in 2.3

    async def answered(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """The answer to a call: its result, or what the client's user has to say first."""
        bound = self._bound(context.protocol_version)
        number, name, given = context.request_id, params.name, params.arguments
        raw = {"id": number, "method": "tools/call", "params": {"name": name, "arguments": given}}
        plan = plan_of_call(bound, WireCall(str(number), name, given, raw))
        try:
            if params.request_state is not None and context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                results = await self._resumed(context, bound, params)
            else:
                if hasattr(plan.results, "controls") and plan.pending:
                    asked = await approving.asked(plan, context, self._sealing)
                    if asked is not None:
                        return asked
                results = await self._run(context, bound, plan)
        except TokenError as error:
            if plan.pending:  # else the call is answered as it is: its tool has changed, or gone
                plan.deny(plan.pending, f"its approval cannot be used: {error}; call it again")
            results = plan.results
        except Exception as error:  # a missing value, or what inject= raised: for the log, and not for the client
            return _crashed(params.name, error)
        answer: Any = results.messages[0]
        return answer  # type: ignore[no-any-return]  # the SDK takes the JSON of a result, too

    def _injected(self, context: ServerRequestContext[Any, Any]) -> Mapping[str, Any]:
        return self._inject(context) if callable(self._inject) else self._inject

    async def _run(self, context: ServerRequestContext[Any, Any], bound: Bound, plan: Plan) -> Results:
        ready, inject = state.claimable(plan.results), self._injected(context)
        progress = _Progress(context.session) if ready and ready[0][2].is_controlled else None  # nobody else tells any
        if not (self._last[1] if self._last[0] is bound else self._is_awaited(bound)):
            results = await asyncio.to_thread(plan.run, inject=inject, on_progress=progress)
        else:
            try:
                results = await run_in_this_task(plan.results, inject, progress)
            except asyncio.CancelledError:
                if anyio.current_effective_deadline() == -math.inf:  # the request is cancelled, not the tool by itself
                    raise
                task: Any = asyncio.current_task()
                if sys.version_info >= (3, 11):
                    task.uncancel()
                results = plan.results
        if progress is not None and progress.has_begun:
            await progress.all_sent()
        return results

    def _is_awaited(self, bound: Bound) -> bool:
        """Whether a loop can wait for the hooks of these tools."""
        if self._last[0] is not bound:
            self._last = bound, all(map(is_loop_hook, bound_tools_of(bound).handlers.hooks))
            if not self._last[1]:
                logging.getLogger("toolshape").warning(_IN_THREADS)
        return self._last[1]

    async def _resumed(
        self, context: ServerRequestContext[Any, Any], bound: Bound, params: CallToolRequestParams
    ) -> Results:
        """Run a call that was asked of, as it was answered."""
        sealing, progress = self._sealing, _Progress(context.session)
        given: dict[str, Any] = {"inject": self._injected(context), "on_progress": progress}
        given |= {"audience": sealing.audience, "ledger": sealing.ledger}
        decided = params.request_state or "", sealing.key, approving.decisions(params)
        if self._is_awaited(bound):
            results = await self._tools.aresume(*decided, **given)
        else:
            results = await asyncio.to_thread(self._tools.resume, *decided, **given)
        await progress.all_sent()
        return results


def _crashed(name: str, error: Exception) -> CallToolResult:
    text = str(hidden("tool_crashed", error, tool=name))
    return CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": True})

"""Connects to an MCP server: makes a registry of its tools, and keeps it up to date."""

import asyncio
import logging
import shlex
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mcp import Client, StdioServerParameters
from mcp.client.session import IncomingMessage, MessageHandlerFnT
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from mcp_types import Tool as ListedTool, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolshape._bound.registry import Registry, replace_tools
from toolshape._plan.steps import IN_LOOP
from toolshape._records.calls import Effect, Finding, JsonObject
from toolshape._records.errors import DefinitionError, UsageError
from toolshape._records.shown import readable_name
from toolshape._tools.definition.record import ReadOptions
from toolshape._tools.options import ToolOptions
from toolshape._tools.tool import Tool, make_from_definition, record_of, with_finding
from toolshape.mcp._calling import Connection

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.client._transport import Transport
    from typing_extensions import Unpack

    from toolshape.contract._lock import Contract
    from toolshape.contract._offered import OnChange
    from toolshape.contract._pins import Pins


ServerLike: TypeAlias = (
    "Server[Any] | MCPServer | Client | StdioServerParameters | Transport | str | Sequence[str]"
)
"""A server in this process, a URL, a command (a string or a list), an SDK ``Client``,
or any argument of ``Client``.
"""
_MOST_PAGES = 100
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds between two attempts to listen for changes
_RESTRICTING: Mapping[tuple[str, bool], Effect] = {
    ("readOnlyHint", False): "write",
    ("destructiveHint", False): "write",
    ("destructiveHint", True): "destructive",
    ("openWorldHint", True): "open_world",
}
"""Maps each hint that only restricts a tool to an effect.

These hints count even if the server is not trusted.
"""


def connect(
    server: ServerLike,
    *,
    prefix: str | None = None,
    trust: bool = False,
    client: Mapping[str, Any] = {},
    closed: bool = False,
    defaults: Literal["fill", "leave"] = "leave",
    lock: "Contract | Path | str | None" = None,
    on_change: "OnChange" = "refuse",
    **options: "Unpack[ToolOptions]",
) -> AbstractAsyncContextManager[Registry]:
    """Import the tools of an MCP server as a registry, for the duration of an ``async with``.

    You can use the ``Registry`` like any other: export it to every provider, and let it validate,
    coerce and answer calls. Each call sends a request to the server in the event loop that
    connected. Calls from other loops work as well. If a call fails, the result is a ``tool_error``.
    A call also fails if the connection is lost, if the result is invalid, or if the result does not
    match the server's output schema.

    When the server's list of tools changes, the registry changes too. Registries that you derived
    from it earlier, for example with ``|``, do not change. If the server lists an invalid
    definition, toolshape leaves this tool out of the registry, and logs a warning.

    Args:
        server: A server in this process, the URL of a server, or the command that starts the
            server. The command is a string such as ``"uvx mcp-server-time"`` or a list. You can
            also pass any argument of ``mcp.Client``, or a ``Client`` that is not entered yet.
        prefix: A prefix for each name: with ``gh``, the tool ``search`` becomes ``gh_search``.
            Requests to the server contain the server's own names.
        trust: Whether to believe the server's hints about what its tools do. If not, only the hints
            that restrict a tool count, and no tool is read-only or idempotent.
        client: Further arguments for ``mcp.Client``: ``elicitation_callback``,
            ``read_timeout_seconds``, ``mode``.
        closed: Whether the objects inside the arguments have no further fields; see
            ``Tool.from_definition``.
        defaults: Whether a field that a model leaves out is sent with the default in the server's
            schema. The server has its own defaults, so this is rarely needed.
        lock: What the tools were when somebody looked at them: a ``Contract``, or the path of a
            lock file, which ``toolshape lock --mcp`` writes. A tool of which only more calls are
            accepted than before is taken. A tool that changed otherwise, in its words, too, is left
            out, and so is a tool that the lock does not have. The log says why, with a call that
            breaks. If the list changes later, it is held against the same lock, and calls of a tool
            that is refused then do not reach the server, from whatever registry they come.
        on_change: What decides on such a tool: ``"refuse"``, or a function, which may be async,
            that takes the tool's ``Diff`` and returns whether to take the tool as it is now. It is
            asked once for each form of a tool.
        **options: The options of ``tool``, applied to all tools: ``approve``, ``timeout``,
            ``untrusted``, ``effects``, etc.

    Raises:
        UsageError: The server or an option is invalid, the lock cannot be read, or the server lists
            an entry that is not a tool. The SDK then rejects the whole list.
        Exception: No server answers, or the server does not speak MCP. The SDK chooses the class of
            the error.
    """
    given_prefix: Any = prefix
    if prefix is not None and not (isinstance(given_prefix, str) and given_prefix):
        raise UsageError(f"prefix= must be a non-empty string, not {prefix!r}")
    if "name" in options:
        raise UsageError("name= would give all tools the same name: use prefix=")
    _ = make_from_definition(
        {"name": "any", "inputSchema": {"type": "object"}},
        lambda _: _no_tool,
        False,
        options,
        None,
        ReadOptions(),
    )
    if isinstance(server, Client):
        if client:
            raise UsageError(
                "client= does not apply to a Client of your own: pass these arguments to the Client"
            )
        sdk_client = server
    else:
        target: Any = _to_client_target(server)
        sdk_client = Client(target, **client)
    pins = _make_pins(lock, on_change)
    return _connect(
        sdk_client, prefix, trust, options, ReadOptions(closed=closed, defaults=defaults), pins
    )


def _make_pins(lock: "Contract | Path | str | None", on_change: "OnChange") -> "Pins | None":
    """Read the lock.

    Raises:
        UsageError: The file is not a lock file, or there is no lock to decide about.
    """
    if lock is None:
        if on_change != "refuse":
            raise UsageError("on_change= decides on what differs from a lock: pass lock=, too")
        return None
    from toolshape.contract._pins import Pins  # noqa: PLC0415 - needs an extra

    return Pins(lock, on_change, "an MCP server")


def _no_tool() -> None:
    """Placeholder used to validate the options once, before connecting."""


def _to_client_target(server: Any) -> Any:
    if isinstance(server, str):
        if server.startswith(("http://", "https://")):
            return server
        try:
            server = shlex.split(server)
        except ValueError as error:
            raise UsageError(f"cannot parse the command {server!r}: {error}") from error
    if isinstance(server, (list, tuple)):
        if not (server and all(isinstance(word, str) for word in server)):
            raise UsageError(f"a command must be a string or a list of strings, not {server!r}")
        return StdioServerParameters(command=server[0], args=list(server[1:]))
    # The server inside a FastMCP (source of fastmcp 4.1, 2026-11-23).
    server = getattr(server, "_mcp_server", server)
    is_server = isinstance(server, (Server, MCPServer, StdioServerParameters)) or hasattr(
        server, "__aenter__"
    )
    if not is_server:
        raise UsageError(
            f"connect takes a server, its URL or its command, not {type(server).__name__}"
        )
    return server


@asynccontextmanager
async def _connect(
    client: Client,
    prefix: str | None,
    trust: bool,
    options: ToolOptions,
    read_options: ReadOptions,
    pins: "Pins | None",
) -> AsyncGenerator[Registry]:
    registry = Registry()
    list_changed = asyncio.Event()
    connections: list[Connection] = []
    client.message_handler = _make_handler(list_changed, client.message_handler, connections)
    connection = await Connection.opened(client)
    connections.append(connection)
    follow_tasks: list[asyncio.Future[None]] = []
    try:
        tool_source = _TakingIn(connection, prefix, trust, options, read_options, pins)
        replace_tools(registry, await tool_source.tools() or ())
        follow_tasks.append(asyncio.ensure_future(_follow(registry, tool_source, list_changed)))
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS and _announces_changes(client):
            follow_tasks.append(asyncio.ensure_future(_listen(client, connection, list_changed)))
        yield registry
    finally:
        for task in follow_tasks:
            task.cancel()
        await asyncio.gather(*follow_tasks, return_exceptions=True)
        await connection.close()


def _announces_changes(client: Client) -> bool:
    tools = client.server_capabilities.tools
    return tools is not None and bool(tools.list_changed)


def _make_handler(
    list_changed: asyncio.Event,
    next_handler: MessageHandlerFnT | None,
    connections: Sequence[Connection],
) -> MessageHandlerFnT:
    """Return a message handler that reacts to a changed list (revisions before
    2026-07-28) and to malformed messages.

    The handler runs in the task that reads messages, where a request would block. ``_follow``
    therefore requests the list.
    """

    async def handler(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            list_changed.set()
        if isinstance(message, Exception):
            for connection in connections:
                connection.hear_malformed(message)
        if next_handler is not None:
            await next_handler(message)

    return handler


async def _listen(client: Client, connection: Connection, list_changed: asyncio.Event) -> None:
    """Subscribe to changes of the list (from 2026-07-28 on), and
    subscribe again when the stream ends.

    The function also sets ``list_changed`` after each gap between two subscriptions, as the server
    does not report changes in the gap.
    """
    pause = _SHORTEST_PAUSE
    while connection.is_open:
        try:
            async with client.listen(tools_list_changed=True) as changes:
                pause = _SHORTEST_PAUSE
                list_changed.set()  # the server did not report changes before this subscription
                async for _ in changes:
                    list_changed.set()
        except Exception as error:  # the stream is lost, or the server has no subscriptions
            logging.getLogger("toolshape").info(
                "cannot listen for changes to an MCP server's tools: %r", error
            )
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
        list_changed.set()


async def _follow(registry: Registry, taking_in: "_TakingIn", list_changed: asyncio.Event) -> None:
    while True:
        await list_changed.wait()
        list_changed.clear()
        try:
            if (tools := await taking_in.tools()) is not None:
                replace_tools(registry, tools)
        except Exception:  # the server does not answer: keep the tools that are known
            if not taking_in.connection.is_open:
                logging.getLogger("toolshape").info(
                    "an MCP server has disconnected: the registry keeps its last tools"
                )
                return
            logging.getLogger("toolshape").exception("could not refresh the tools of an MCP server")


class _TakingIn:
    """Makes tools from the entries that a server lists."""

    def __init__(
        self,
        connection: Connection,
        prefix: str | None,
        trust: bool,
        options: ToolOptions,
        read_options: ReadOptions,
        pins: "Pins | None",
    ) -> None:
        self.connection = connection
        self._prefix = prefix
        self._trust = trust
        self._options = options
        self._read_options = read_options
        self._pins = pins
        self._kept: frozenset[str] = frozenset()
        self._listed: list[ListedTool] | None = None

    async def tools(self) -> list[Tool[..., Any]] | None:
        """Request the list and return its tools, or ``None`` if the list has not changed."""
        current_list = await self.connection.listed(_MOST_PAGES)
        if current_list == self._listed:
            return None
        by_name: dict[str, Tool[..., Any]] = {}
        own_names: dict[str, str] = {}
        outputs: dict[str, JsonObject] = {}
        for listed in current_list:
            try:
                tool = self._make_tool(listed)
            except (
                DefinitionError,
                ValueError,
                RecursionError,
            ) as error:  # RecursionError: the entry is nested too deeply
                logging.getLogger("toolshape").warning(
                    "a tool of an MCP server is left out: %s", error
                )
                continue
            if tool.name in by_name:
                logging.getLogger("toolshape").warning(
                    "an MCP server lists %r twice: using the first one", tool.name
                )
            by_name.setdefault(tool.name, tool)
            own_names.setdefault(tool.name, listed.name)
            if (schema := record_of(tool).output.schema) is not None:
                outputs.setdefault(listed.name, schema)
        taken: Collection[str] = by_name
        if self._pins is not None:
            taken = await self._pinned(self._pins, by_name, own_names)
        self.connection.expect(outputs)
        self._listed = current_list
        tools = self._without_meeting_names(
            [tool for name, tool in by_name.items() if name in taken]
        )
        self._kept = frozenset(tool.name for tool in tools)
        return tools

    async def _pinned(
        self, pins: "Pins", tools: Mapping[str, Tool[..., Any]], own_names: Mapping[str, str]
    ) -> Collection[str]:
        """Return the names of the tools that are taken, and let no call
        reach another tool of the server.

        Nor does a call reach a tool that somebody is still deciding on, because the server has
        changed it already.
        """
        self.connection.admit({own_names[name] for name in pins.known(tools.values())})
        taken = await pins.taken(tools.values(), IN_LOOP)
        pins.tell_missing(tools.keys())
        self.connection.admit({own_names[name] for name in taken})
        return taken

    def _without_meeting_names(self, tools: list[Tool[..., Any]]) -> list[Tool[..., Any]]:
        """Leave out the newer of two tools whose names are sent in one
        form; the older one has a finding.
        """
        by_form: dict[str, list[Tool[..., Any]]] = {}
        for tool in sorted(tools, key=lambda tool: tool.name not in self._kept):
            by_form.setdefault(readable_name(tool.name), []).append(tool)
        kept: dict[str, Tool[..., Any]] = {}
        for oldest, *newer in by_form.values():
            kept[oldest.name] = oldest
            for tool in newer:
                message = (
                    f"{tool.name!r} of the same server is left out: both names are sent as "
                    f"{readable_name(tool.name)!r}"
                )
                logging.getLogger("toolshape").warning("%s: %s", oldest.name, message)
                finding = Finding(path="name", rule="name_meets", message=message)
                kept[oldest.name] = with_finding(kept[oldest.name], finding)
        return [kept[tool.name] for tool in tools if tool.name in kept]

    def _make_tool(self, listed: ListedTool) -> Tool[..., Any]:
        entry: JsonObject = listed.model_dump(by_alias=True, mode="json", exclude_none=True)
        options: ToolOptions = {**self._options}
        if not self._trust:
            hints = entry.pop("annotations", {})
            entry.setdefault("title", hints.get("title", listed.title)) if hints.get(
                "title"
            ) else None
            if not options.get("effects"):
                options["effects"] = {
                    _RESTRICTING[hint] for hint in hints.items() if hint in _RESTRICTING
                }
        if self._prefix is not None:
            options["name"] = f"{self._prefix}_{listed.name}"
        function: Callable[..., Any] = self.connection.caller(listed.name)
        return make_from_definition(
            entry, lambda _: function, False, options, None, self._read_options
        )

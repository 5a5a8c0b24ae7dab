"""An MCP server in; a registry of its tools, which follows its list and asks it at each call, out."""

import asyncio
import logging
import shlex
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp import Client, StdioServerParameters
from mcp.client.session import IncomingMessage, MessageHandlerFnT
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from mcp_types import Tool as ListedTool
from mcp_types import ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolshape._calls import Effect, JsonObject
from toolshape._errors import DefinitionError, UsageError
from toolshape._options import ToolOptions
from toolshape._registry import Registry, replaced
from toolshape._tool import Tool, make_from_definition, record_of
from toolshape.mcp._calling import Connection

if TYPE_CHECKING:
    from mcp.client._transport import Transport
    from typing_extensions import Unpack


ServerLike: TypeAlias = "Server[Any] | MCPServer | Client | StdioServerParameters | Transport | str | Sequence[str]"
"""A server: one in this process; a URL; a command, as a text or as a list; what the SDK's ``Client`` takes, or one."""
_MOST_PAGES = 100
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds until changes are listened for anew
_RESTRICTING: Mapping[tuple[str, bool], Effect] = {
    ("readOnlyHint", False): "write",
    ("destructiveHint", False): "write",
    ("destructiveHint", True): "destructive",
    ("openWorldHint", True): "open_world",
}
"""The hints of a server that is not trusted which allow nothing that would not be allowed without them."""


def connect(
    server: ServerLike,
    *,
    prefix: str | None = None,
    trust: bool = False,
    client: Mapping[str, Any] = {},
    **options: "Unpack[ToolOptions]",
) -> AbstractAsyncContextManager[Registry]:
    """Take in the tools of an MCP server, for as long as an ``async with`` lasts.

    What that gives is a ``Registry`` like any other: it is exported to every provider, and its calls are validated,
    coerced and answered in the same words. Each call asks the server, in the loop that connected, from whatever loop it
    is made. What the server says of a failed call is a ``tool_error``, and so is a lost connection, a result that is
    none, or that does not fit the server's own output schema. When the server's list changes, the registry does; what
    was made of it before, as by ``|``, does not. A tool whose definition cannot be a tool's is left out, and the log
    says which.

    Args:
        server: The server in this process, its URL, or the command that starts it, as ``"uvx mcp-server-time"`` or a
            list; or what ``mcp.Client`` takes, or a ``Client`` that is not entered yet.
        prefix: Put before each name, as ``gh_``, of which the server hears nothing.
        trust: Whether the server's hints of what its tools do are believed. If not, none of them counts that would
            allow more: no tool is taken to read only, or to be idempotent.
        client: What else ``mcp.Client`` takes: ``elicitation_callback``, ``read_timeout_seconds``, ``mode``.
        **options: As for ``tool``, for all of them: ``approve``, ``timeout``, ``untrusted``, ``effects`` and the like.

    Raises:
        UsageError: It is no server, or an option is none; or it lists what is not of the form of a tool, for which the
            SDK refuses the whole list.
        Exception: What the SDK raises where there is nobody, or no MCP server.
    """
    given: Any = prefix
    if prefix is not None and not (isinstance(given, str) and given):
        raise UsageError(f"prefix= is a text, not {prefix!r}")
    if "name" in options:
        raise UsageError("name= would be one name for all tools: prefix= is put before each")
    _ = make_from_definition(
        {"name": "any", "inputSchema": {"type": "object"}}, lambda _: _no_tool, False, options, None
    )
    if isinstance(server, Client):
        if client:
            raise UsageError("client= is for a Client that is made here: give your own what it needs")
        made = server
    else:
        taken: Any = _as_the_sdk_takes_it(server)
        made = Client(taken, **client)
    return _connected(made, prefix, trust, options)


def _no_tool() -> None:
    """Stands for each tool of a server where the options for all of them are looked at."""


def _as_the_sdk_takes_it(server: Any) -> Any:
    if isinstance(server, str):
        if server.startswith(("http://", "https://")):
            return server
        try:
            server = shlex.split(server)
        except ValueError as error:
            raise UsageError(f"a command that cannot be read ({error}): {server!r}") from error
    if isinstance(server, (list, tuple)):
        if not (server and all(isinstance(one, str) for one in server)):
            raise UsageError(f"a command is a text, or a list of texts, not {server!r}")
        return StdioServerParameters(command=server[0], args=list(server[1:]))
    server = getattr(server, "_mcp_server", server)  # what a FastMCP of fastmcp 4.1 serves by (its source, 2026-11-23)
    is_server = isinstance(server, (Server, MCPServer, StdioServerParameters)) or hasattr(server, "__aenter__")
    if not is_server:
        raise UsageError(f"connect takes a server, its URL or its command, not {type(server).__name__}")
    return server


@asynccontextmanager
async def _connected(client: Client, prefix: str | None, trust: bool, options: ToolOptions) -> AsyncGenerator[Registry]:
    registry = Registry()
    list_changed = asyncio.Event()
    malformed: list[Connection] = []
    client.message_handler = _heard(list_changed, client.message_handler, malformed)
    connection = await Connection.opened(client)
    malformed.append(connection)
    following: list[asyncio.Future[None]] = []
    try:
        taking_in = _TakingIn(connection, prefix, trust, options)
        replaced(registry, await taking_in.tools() or ())
        following.append(asyncio.ensure_future(_follow(registry, taking_in, list_changed)))
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS and _says_changes(client):
            following.append(asyncio.ensure_future(_listen(client, connection, list_changed)))
        yield registry
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        await connection.close()


def _says_changes(client: Client) -> bool:
    tools = client.server_capabilities.tools
    return tools is not None and bool(tools.list_changed)


def _heard(
    list_changed: asyncio.Event, others: MessageHandlerFnT | None, connections: Sequence[Connection]
) -> MessageHandlerFnT:
    """Hears of a changed list, until 2026-07-28; the list cannot be asked for here, where messages are read."""

    async def handler(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            list_changed.set()
        if isinstance(message, Exception):
            for connection in connections:
                connection.hear_malformed(message)
        if others is not None:
            await others(message)

    return handler


async def _listen(client: Client, connection: Connection, list_changed: asyncio.Event) -> None:
    """Hear of a changed list from 2026-07-28 on, by a subscription; what was missed between two is asked for."""
    pause = _SHORTEST_PAUSE
    while connection.is_open:
        try:
            async with client.listen(tools_list_changed=True) as changes:
                pause = _SHORTEST_PAUSE
                list_changed.set()  # what changed since the list was asked for was told to nobody
                async for _ in changes:
                    list_changed.set()
        except Exception as error:  # the stream is lost, or the server has none of this
            logging.getLogger("toolshape").info("changes of an MCP server's list are not heard: %r", error)
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
        list_changed.set()


async def _follow(registry: Registry, taking_in: "_TakingIn", list_changed: asyncio.Event) -> None:
    while True:
        await list_changed.wait()
        list_changed.clear()
        try:
            if (tools := await taking_in.tools()) is not None:
                replaced(registry, tools)
        except Exception:  # the server is away: what was known is kept
            if not taking_in.connection.is_open:
                logging.getLogger("toolshape").info("an MCP server is gone: its tools stay as they were listed last")
                return
            logging.getLogger("toolshape").exception("the tools of an MCP server could not be listed anew")


class _TakingIn:
    """Makes tools of what a server lists."""

    def __init__(self, connection: Connection, prefix: str | None, trust: bool, options: ToolOptions) -> None:
        self.connection = connection
        self._prefix = prefix
        self._trust = trust
        self._options = options
        self._listed: list[ListedTool] | None = None

    async def tools(self) -> list[Tool[..., Any]] | None:
        """The tools that the server lists now; ``None`` where the list is what it was."""
        now = await self.connection.listed(_MOST_PAGES)
        if now == self._listed:
            return None
        found: dict[str, Tool[..., Any]] = {}
        outputs: dict[str, JsonObject] = {}
        for listed in now:
            try:
                made = self._tool(listed)
            except (DefinitionError, ValueError, RecursionError) as error:  # or it is nested too deeply to be written
                logging.getLogger("toolshape").warning("a tool of an MCP server is left out: %s", error)
                continue
            if made.name in found:
                logging.getLogger("toolshape").warning("an MCP server lists %r twice: the first is taken", made.name)
            found.setdefault(made.name, made)
            if (schema := record_of(made).output.schema) is not None:
                outputs.setdefault(listed.name, schema)
        self.connection.expect(outputs)
        self._listed = now
        return list(found.values())

    def _tool(self, listed: ListedTool) -> Tool[..., Any]:
        entry: JsonObject = listed.model_dump(by_alias=True, mode="json", exclude_none=True)
        options: ToolOptions = {**self._options}
        if not self._trust:
            hints = entry.pop("annotations", {})
            entry.setdefault("title", hints.get("title", listed.title)) if hints.get("title") else None
            if not options.get("effects"):
                options["effects"] = {_RESTRICTING[one] for one in hints.items() if one in _RESTRICTING}
        if self._prefix is not None:
            options["name"] = f"{self._prefix}_{listed.name}"
        function: Callable[..., Any] = self.connection.caller(listed.name)
        return make_from_definition(entry, lambda _: function, False, options, None)

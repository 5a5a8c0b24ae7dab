"""Arguments in; what an MCP server answers, or why it did not, in plain words, out."""

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, REQUEST_TIMEOUT, CallToolResult, ErrorData
from mcp_types import Tool as ListedTool
from pydantic import ValidationError

from toolshape._calls import JsonObject, JsonSchema
from toolshape._context import CallContext
from toolshape._errors import ToolError, UsageError
from toolshape._execution.failures import RemoteError
from toolshape._schema.backtracking import depth_of

_DEEPEST = 150  # levels of a message, of which pydantic reads 200 and writes 255
_LOST = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError, EOFError)


class Connection:
    """A connection to a server, for calls from any loop; it ends with the ``connect`` that made it, or is lost before.

    The SDK cancels the task that entered a client when the connection is lost: that is one of our own.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        self._is_lost = False
        self._outputs: dict[str, JsonSchema] = {}
        self._checks: dict[str, tuple[JsonSchema, Callable[[str, bool], None]]] = {}
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._held = asyncio.ensure_future(self._hold())

    @classmethod
    async def opened(cls, client: Client) -> "Connection":
        """Connect.

        Raises:
            Exception: What the SDK raises where there is nobody, or no MCP server.
        """
        made = cls(client)
        try:
            await asyncio.wait({made._opened, made._held}, return_when=asyncio.FIRST_COMPLETED)
            if made._held.done():
                made._held.result()
        except BaseException as error:
            made._held.cancel()
            await asyncio.wait({made._held})
            raise _only(error) from error.__cause__
        return made

    async def _hold(self) -> None:
        async with self._client:
            # The SDK's own check lets Python search for any pattern of the server's, which may take for ever.
            self._client.session.validate_tool_result = self._check_result  # type: ignore[method-assign]
            self._opened.set_result(None)
            await self._closing.wait()

    def expect(self, outputs: dict[str, JsonSchema]) -> None:
        """Hold results against these output schemas, by the server's own names of its tools."""
        self._outputs = outputs

    async def _check_result(self, name: str, result: CallToolResult) -> None:
        """Hold a result against the output schema that the server listed, in bounded time.

        Raises:
            RuntimeError: It does not fit, as the SDK says it.
        """
        schema = self._outputs.get(name)
        if schema is None:
            return
        if result.structured_content is None and "structured_content" not in result.model_fields_set:
            raise RuntimeError(f"Tool {name} has an output schema but did not return structured content")
        known = self._checks.get(name)
        if known is None or known[0] is not schema:
            from toolshape._definitions.output_checker import compile_output_check  # noqa: PLC0415 - it needs an extra

            known = self._checks[name] = schema, compile_output_check(name, schema)
        try:
            known[1](json.dumps(result.structured_content), False)
        except (ValueError, RecursionError) as error:
            raise RuntimeError(f"Invalid structured content returned by tool {name}: {error}") from error

    def hear_malformed(self, error: Exception) -> None:
        """Answer the request that a message belongs to which is none: the SDK drops it, and somebody waits.

        A message that is only nested deeper than the SDK reads is read here. What answers nothing, as a line that a
        server prints, is no matter.
        """
        message = _message_in(error)
        if message is None or "id" not in message or not message.keys() & {"result", "error"}:
            return
        answer: Any = _without_deep_tools(message.get("result"))
        if not isinstance(answer, dict) or depth_of(answer) > _DEEPEST:
            answer = ErrorData(code=INTERNAL_ERROR, message="it answered with what is no result")
        dispatcher: Any = getattr(self._client.session, "_dispatcher", None)
        resolve = getattr(dispatcher, "_resolve_pending", None)  # of mcp 2.3: a request by its id has no public name
        if resolve is not None:
            resolve(message["id"], answer)

    async def close(self) -> None:
        """End the connection: each call from now on is answered without asking the server."""
        self._closing.set()
        await asyncio.wait({self._held})
        if not self._held.cancelled() and (error := self._held.exception()) is not None:
            logging.getLogger("toolshape").info("an MCP connection was lost: %r", error)

    @property
    def is_open(self) -> bool:
        """Whether the server can be asked."""
        return not (self._is_lost or self._closing.is_set() or self._held.done())

    async def listed(self, most_pages: int) -> list[ListedTool]:
        """All tools of the server, as they are now."""
        found: list[ListedTool] = []
        cursor: str | None = None
        capabilities = self._client.server_capabilities
        if capabilities.tools is None:
            return []
        for _ in range(most_pages):  # a server may never end
            tools, cursor = await self._page(cursor)
            found += tools
            if cursor is None:
                break
        return found

    async def _page(self, cursor: str | None) -> tuple[list[ListedTool], str | None]:
        """A page of the list.

        Raises:
            UsageError: One of its entries is no tool: the SDK refuses the whole then.
        """
        try:
            page = await self._client.list_tools(cursor=cursor, cache_mode="refresh")
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise UsageError(f"an MCP server lists what is no tool ({place}: {first['msg']})") from error
        except MCPError as error:
            self._is_lost = self._is_lost or error.error.code == CONNECTION_CLOSED
            raise
        return page.tools, page.next_cursor

    def caller(self, name: str) -> Callable[..., Coroutine[Any, Any, CallToolResult]]:
        """The function that calls a tool of the server, by the server's own name for it."""

        async def call(_toolshape_context: CallContext, **arguments: Any) -> CallToolResult:
            asked = self._asked(name, arguments, _toolshape_context)
            if asyncio.get_running_loop() is self._loop:
                return await asked
            if not self.is_open:
                asked.close()
                raise self._lost(name)
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, self._loop))

        return call

    def _lost(self, name: str) -> ToolError:
        return ToolError(f"the connection to the MCP server is lost, and {name} cannot be called")

    async def _asked(self, name: str, arguments: JsonObject, context: CallContext) -> CallToolResult:
        """Ask the server.

        Raises:
            ToolError: It did not answer, or not with a result of this tool.
        """
        if not self.is_open:
            raise self._lost(name)

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            context.progress(progress, total, message or "")

        asked = asyncio.ensure_future(self._client.call_tool(name, arguments, progress_callback=tell))
        try:
            await asyncio.wait({asked, self._held}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise _broken(name)
            return asked.result()
        except MCPError as error:
            self._is_lost = self._is_lost or error.error.code == CONNECTION_CLOSED
            raise _said(error, name) from error
        except _LOST as error:
            raise _broken(name) from error
        except ValueError as error:  # it does not validate, or is nested too deeply for the SDK
            raise RemoteError(f"the MCP server answered {name} with what is no result") from error
        except RuntimeError as error:
            if not self.is_open:
                raise _broken(name) from error
            raise RemoteError(f"the MCP server's answer cannot be taken: {error}") from error
        finally:
            asked.cancel()


def _without_deep_tools(result: Any) -> Any:
    """A list of tools without those that the SDK cannot hold; any other result as it is."""
    if not (isinstance(result, dict) and isinstance(result.get("tools"), list)):
        return result
    kept = [entry for entry in result["tools"] if depth_of(entry) < _DEEPEST - 2]
    if len(kept) < len(result["tools"]):
        logging.getLogger("toolshape").warning("tools of an MCP server are left out: they are nested too deeply")
    return {**result, "tools": kept}


def _message_in(error: Exception) -> JsonObject | None:
    """The message that the SDK could not read, if it is JSON."""
    found = error.errors(include_url=False, include_context=False) if isinstance(error, ValidationError) else []
    for given in (one["input"] for one in found):
        if isinstance(given, (str, bytes)):
            try:
                given = json.loads(given)  # noqa: PLW2901 - the same, read
            except (ValueError, RecursionError):
                continue
        if isinstance(given, dict) and "jsonrpc" in given:
            return given
    return None


def _only(error: BaseException) -> BaseException:
    """The one error in a group of groups, as a task group raises it."""
    inside: Any = getattr(error, "exceptions", ())
    return _only(inside[0]) if len(inside) == 1 else error


def _broken(name: str) -> ToolError:
    return ToolError(f"the connection to the MCP server was lost while {name} ran: it may have had its effect or not")


def _said(error: MCPError, name: str) -> ToolError:
    code = error.error.code
    if code == CONNECTION_CLOSED:
        return _broken(name)
    if code == REQUEST_TIMEOUT:
        return ToolError(f"the MCP server did not answer {name} in time: it may have had its effect or not")
    return RemoteError(f"the MCP server refused to call {name}: {error.error.message}")

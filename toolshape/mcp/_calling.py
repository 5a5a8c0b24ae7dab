"""Calls the tools of an MCP server over one connection; what breaks is a tool's error."""

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Coroutine
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    REQUEST_TIMEOUT,
    CallToolResult,
    ErrorData,
    Tool as ListedTool,
)
from pydantic import ValidationError

from toolshape import _validation
from toolshape._function.calling.failures import RemoteError
from toolshape._records.calls import JsonObject, JsonSchema
from toolshape._records.context import CallContext
from toolshape._records.errors import ToolError, UsageError
from toolshape._schema.backtracking import depth_of

_DEEPEST = 150  # levels of nesting in a message; pydantic reads 200 and writes 255
_LOST = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError, EOFError)


class Connection:
    """A connection to a server that any event loop can use, until ``connect``
    ends or the connection is lost.

    When the connection is lost, the SDK cancels the task that entered the client. Therefore this
    class enters the client in a separate task, not in the caller's task.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        self._is_lost = False
        self._outputs: dict[str, JsonSchema] = {}
        self._admitted: Collection[str] | None = None
        self._checks: dict[str, tuple[JsonSchema, Callable[[str, bool], None]]] = {}
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._held = asyncio.ensure_future(self._hold())

    @classmethod
    async def opened(cls, client: Client) -> "Connection":
        """Connect to a server.

        Raises:
            Exception: No server answers, or the server does not speak MCP. The SDK chooses the
                class of the error.
        """
        connection = cls(client)
        try:
            await asyncio.wait(
                {connection._opened, connection._held}, return_when=asyncio.FIRST_COMPLETED
            )
            if connection._held.done():
                connection._held.result()
        except BaseException as error:
            connection._held.cancel()
            await asyncio.wait({connection._held})
            raise _unwrap_group(error) from error.__cause__
        return connection

    async def _hold(self) -> None:
        async with self._client:
            # The SDK's own check runs the server's regular expressions in Python, and a match may
            # never end.
            self._client.session.validate_tool_result = self._check_result  # type: ignore[method-assign]
            self._opened.set_result(None)
            await self._closing.wait()

    def expect(self, outputs: dict[str, JsonSchema]) -> None:
        """Set the output schemas for the validation of results, keyed
        by the server's own tool names.
        """
        self._outputs = outputs

    def admit(self, names: Collection[str]) -> None:
        """Set the only tools that a call may reach, by the server's own names; at
        first, every tool is admitted.
        """
        self._admitted = names

    async def _check_result(self, name: str, result: CallToolResult) -> None:
        """Validate a result against the output schema that the server listed, in bounded time.

        Raises:
            RuntimeError: The result does not match the schema. The SDK raises the same error in
                this case.
        """
        schema = self._outputs.get(name)
        if schema is None:
            return
        if (
            result.structured_content is None
            and "structured_content" not in result.model_fields_set
        ):
            raise RuntimeError(
                f"Tool {name} has an output schema but did not return structured content"
            )
        cached_check = self._checks.get(name)
        if cached_check is None or cached_check[0] is not schema:
            cached_check = self._checks[name] = (
                schema,
                _validation.output_checker.compile_output_check(name, schema),
            )
        try:
            cached_check[1](json.dumps(result.structured_content), False)
        except (ValueError, RecursionError) as error:
            raise RuntimeError(
                f"Invalid structured content returned by tool {name}: {error}"
            ) from error

    def hear_malformed(self, error: Exception) -> None:
        """Resolve the request that a malformed message answers.

        The SDK drops the message, so the caller would wait.

        If the message is valid but nested too deeply for the SDK, this method reads the message
        itself. It ignores messages that do not answer a request, for example a line that a server
        prints.
        """
        message = _parse_message(error)
        if message is None or "id" not in message or not message.keys() & {"result", "error"}:
            return
        answer: Any = _without_deep_tools(message.get("result"))
        if not isinstance(answer, dict) or depth_of(answer) > _DEEPEST:
            answer = ErrorData(code=INTERNAL_ERROR, message="the answer is not a valid result")
        dispatcher: Any = getattr(self._client.session, "_dispatcher", None)
        # In mcp 2.3 there is no public way to resolve a request by id.
        resolve = getattr(dispatcher, "_resolve_pending", None)
        if resolve is not None:
            resolve(message["id"], answer)

    async def close(self) -> None:
        """End the connection: from now on each call fails without a request to the server."""
        self._closing.set()
        await asyncio.wait({self._held})
        if not self._held.cancelled() and (error := self._held.exception()) is not None:
            logging.getLogger("toolshape").info("an MCP connection was lost: %r", error)

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent to the server."""
        return not (self._is_lost or self._closing.is_set() or self._held.done())

    async def listed(self, most_pages: int) -> list[ListedTool]:
        """Request the server's list of tools, and read at most ``most_pages`` pages of the list."""
        all_tools: list[ListedTool] = []
        cursor: str | None = None
        capabilities = self._client.server_capabilities
        if capabilities.tools is None:
            return []
        for _ in range(most_pages):  # the list of a faulty server may never end
            tools, cursor = await self._page(cursor)
            all_tools += tools
            if cursor is None:
                break
        return all_tools

    async def _page(self, cursor: str | None) -> tuple[list[ListedTool], str | None]:
        """Request one page of the list.

        Raises:
            UsageError: An entry is not a valid tool; the SDK then rejects the whole page.
        """
        try:
            page = await self._client.list_tools(cursor=cursor, cache_mode="refresh")
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise UsageError(
                f"an MCP server lists an invalid tool ({place}: {first['msg']})"
            ) from error
        except MCPError as error:
            self._is_lost = self._is_lost or error.error.code == CONNECTION_CLOSED
            raise
        return page.tools, page.next_cursor

    def caller(self, name: str) -> Callable[..., Coroutine[Any, Any, CallToolResult]]:
        """Return a function that calls a tool of the server; ``name`` is the
        server's own name for the tool.
        """

        async def call(_toolshape_context: CallContext, **arguments: Any) -> CallToolResult:
            request = self._send_call(name, arguments, _toolshape_context)
            if asyncio.get_running_loop() is self._loop:
                return await request
            # The client belongs to the loop that connected. When the connection is closed, that
            # loop may be closed too.
            if not self.is_open:
                request.close()
                raise self._lost_error(name)
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(request, self._loop))

        return call

    def _lost_error(self, name: str) -> ToolError:
        return ToolError(f"the connection to the MCP server is lost: {name} cannot be called")

    async def _send_call(
        self, name: str, arguments: JsonObject, context: CallContext
    ) -> CallToolResult:
        """Send a call to the server, and return its result.

        Raises:
            ToolError: The server did not answer, or did not return a valid result for this tool. Or
                the tool is refused.
        """
        if not self.is_open:
            raise self._lost_error(name)
        if self._admitted is not None and name not in self._admitted:
            raise ToolError(
                f"{name} was not called: the server offers it in another form than the app has "
                "agreed to"
            )

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            context.progress(progress, total, message or "")

        # If the connection is lost, the SDK may never resolve a request, so the wait also ends when
        # ``_held`` ends.
        request = asyncio.ensure_future(
            self._client.call_tool(name, arguments, progress_callback=tell)
        )
        try:
            await asyncio.wait({request, self._held}, return_when=asyncio.FIRST_COMPLETED)
            if not request.done():
                raise _broken_error(name)
            return request.result()
        except MCPError as error:
            self._is_lost = self._is_lost or error.error.code == CONNECTION_CLOSED
            raise _to_tool_error(error, name) from error
        except _LOST as error:
            raise _broken_error(name) from error
        except ValueError as error:  # the result is invalid, or nested too deeply for the SDK
            raise RemoteError(f"the MCP server's answer to {name} is not a valid result") from error
        except RuntimeError as error:
            if not self.is_open:
                raise _broken_error(name) from error
            raise RemoteError(f"the MCP server's answer is invalid: {error}") from error
        finally:
            request.cancel()


def _without_deep_tools(result: Any) -> Any:
    """If a result is a list of tools, drop the tools nested too deeply for the SDK.

    Leave other results unchanged.
    """
    if not (isinstance(result, dict) and isinstance(result.get("tools"), list)):
        return result
    kept_tools = [entry for entry in result["tools"] if depth_of(entry) < _DEEPEST - 2]
    if len(kept_tools) < len(result["tools"]):
        logging.getLogger("toolshape").warning(
            "left out tools of an MCP server that are nested too deeply"
        )
    return {**result, "tools": kept_tools}


def _parse_message(error: Exception) -> JsonObject | None:
    """Return the message that the SDK could not read, or ``None`` if it is not JSON-RPC."""
    if isinstance(error, ValidationError):
        faults = error.errors(include_url=False, include_context=False)
    else:
        faults = []
    for message in (fault["input"] for fault in faults):
        if isinstance(message, (str, bytes)):
            try:
                message = json.loads(message)  # noqa: PLW2901 - the same value, parsed
            except (ValueError, RecursionError):
                continue
        if isinstance(message, dict) and "jsonrpc" in message:
            return message
    return None


def _unwrap_group(error: BaseException) -> BaseException:
    """Unwrap an error from nested exception groups that hold only this error:
    task groups raise such groups.
    """
    nested: Any = getattr(error, "exceptions", ())
    if len(nested) == 1:
        return _unwrap_group(nested[0])
    return error


def _broken_error(name: str) -> ToolError:
    return ToolError(
        f"the connection to the MCP server was lost while {name} ran: it may or may not have "
        "taken effect"
    )


def _to_tool_error(error: MCPError, name: str) -> ToolError:
    code = error.error.code
    if code == CONNECTION_CLOSED:
        return _broken_error(name)
    if code == REQUEST_TIMEOUT:
        return ToolError(
            f"the MCP server did not answer {name} in time: it may or may not have taken effect"
        )
    return RemoteError(f"the MCP server refused to call {name}: {error.error.message}")

"""Converts framework tools to toolshape tools."""

import base64
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeVar

from toolshape._function.annotations import Injected
from toolshape._records.calls import JsonSchema
from toolshape._records.context import CallContext
from toolshape._records.parts import File, Image
from toolshape._tools.definition.record import ReadOptions
from toolshape._tools.tool import Tool, make_from_definition

P = TypeVar("P", bound=Image | File)


def import_tool(
    name: str,
    description: str | None,
    schema: JsonSchema,
    call: Callable[[dict[str, Any], str], Awaitable[Any]],
    options: Mapping[str, Any],
    injected: Collection[str] = (),
) -> Tool[..., Any]:
    """Make a tool that calls a framework's tool.

    Args:
        name: The framework's name for the tool.
        description: The description that the model reads.
        schema: The schema of the tool's arguments.
        call: Calls the framework's tool with the arguments and the call id.
        options: The options of ``tool``.
        injected: The names of parameters that the model does not see, and ``dispatch(inject=)``
            fills.
    """

    async def run(_toolshape_context: CallContext, **arguments: Any) -> Any:
        return await call(arguments, _toolshape_context.call_id)

    # A parameter that is injected is one that the function declares, so that a call without its
    # value is refused before it runs, and a model that writes its name is told that there is no
    # such parameter.
    marker: Any = Injected
    hidden = marker[Any]
    declared = [
        inspect.Parameter(parameter, inspect.Parameter.KEYWORD_ONLY, annotation=hidden)
        for parameter in injected
    ]
    first, *others = inspect.signature(run).parameters.values()
    run.__signature__ = inspect.Signature([first, *declared, *others])  # type: ignore[attr-defined]
    run.__annotations__ |= dict.fromkeys(injected, hidden)

    entry = {
        "name": name,
        "description": description or "",
        "parameters": {"type": "object", **schema},
    }
    tool_options: Any = dict(options)
    return make_from_definition(
        entry, lambda _: run, False, tool_options, None, ReadOptions(defaults="leave")
    )


def part_at(url: str, kind: Callable[..., P]) -> P:
    """Return the image or file at a URL. If the URL is a base64 data URL, decode its content."""
    head, comma, data = url.partition(",")
    if not (head.startswith("data:") and head.endswith(";base64") and comma):
        return kind(url=url)
    return kind(base64.b64decode(data), head.removeprefix("data:").removesuffix(";base64"))

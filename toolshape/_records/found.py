"""What a search for tools found."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolshape._records.result import Result

SEARCH_NAME = "tool_search"
"""The name of the tool that searches; OpenAI calls a search of the client by no name at all."""


@dataclass(frozen=True, kw_only=True)
class FoundTool:
    """A tool that a search found, with its score; the best has the highest."""

    name: str
    description: str
    score: float


@dataclass(frozen=True, kw_only=True)
class FoundTools:
    """What a search found, the best first, and what the model is told beside it."""

    tools: tuple[FoundTool, ...]
    note: str


def is_search(tool: Any) -> bool:
    """Whether a tool is one that ``Registry.search`` made."""
    return getattr(getattr(tool, "function", None), "finds_tools", False) is True


def own_search(shapes: Mapping[str, Any]) -> Any:
    """Return the shape of the tool that searches; ``None`` if there is none."""
    return next((shape for shape in shapes.values() if is_search(shape.tool)), None)


def names_of(entries: Iterable[Any]) -> set[Any]:
    """Return the names of the tools in a request, those inside groups included."""
    names: set[Any] = set()
    for entry in entries:
        if not isinstance(entry, Mapping):  # one of the provider's own tools, as an object
            continue
        names.add(entry.get("name"))
        names |= names_of(entry.get("tools") or ())
    return names


def found_text(names: Iterable[Any]) -> str:
    """Write what a search found as the text of its result, of which only the names are left."""
    return json.dumps({"tools": [{"name": str(name)} for name in names]})


def found_names(text: Any) -> list[str] | None:
    """Return the names in the text of a search's result; ``None`` if it is none, or found
    nothing.
    """
    try:
        found = json.loads(text)["tools"]
        return [str(tool["name"]) for tool in found] or None
    except (ValueError, TypeError, LookupError):
        return None


def found_entries(result: Result) -> Mapping[str, bytes] | None:
    """Return the entries of the tools that a search found, by wire name; ``None`` for the result of
    any other tool, or if nothing was found.

    Only tools that were sent are returned: a reference to another is refused.
    """
    reader = result.call.reader
    group = getattr(reader, "group", None)
    if group is None or not is_search(getattr(reader, "tool", None)):
        return None
    # The text has the names, also where the value came from a ledger or a token.
    shapes: Mapping[str, Any] = {shape.name: shape for shape in group.shapes.values()}
    found = [shapes[name] for name in found_names(result.text) or () if name in shapes]
    return {shape.wire_name: shape.entry for shape in found} or None

"""Writes tools, groups of deferred tools, and choices for OpenAI's Responses API.

The types come from openai 3.51.0, read on 2026-11-20. The dialect and the names are the same as in
Chat Completions.
"""

from collections.abc import Collection
from typing import Any

from toolshape._families.openai import schema as openai_schema
from toolshape._families.wire.bodies import member
from toolshape._families.wire.provider import Choice, unsupported
from toolshape._records.calls import Grammar, JsonObject, Namespace, Spec
from toolshape._records.found import names_of


def native_conflict(native: Any, names: Collection[str]) -> str:
    if member(native, "type") == "tool_search" and member(native, "execution") == "client":
        return "toolshape cannot run a tool_search with execution='client': leave out its execution"
    if member(native, "type") == "namespace":
        for tool in member(native, "tools") or ():
            if member(tool, "name") in names:
                return (
                    f"a call of {member(tool, 'name')!r} in that namespace would run your tool "
                    "of this name: rename one"
                )
    return ""


def envelope(spec: Spec, strict: bool) -> JsonObject:
    """Write an entry, always with ``strict``: by default, the server makes the
    schema strict itself (chatlas#255).

    The schema of results is for programs that call the tool: it "describes the JSON value encoded
    in string outputs" (``FunctionToolParam`` in openai 3.57.0, 2026-11-27). So it is sent only if
    the author lets programs call the tool, and if results are written as JSON; a string is sent as
    it is.
    """
    tool: JsonObject = {
        "type": "function",
        "name": spec.name,
        "parameters": spec.parameters,
        "strict": strict,
    }
    if spec.description:
        tool["description"] = spec.description
    if (
        spec.output is not None
        and spec.output.get("type") in _JSON_KINDS
        and _is_for_programs(spec)
    ):
        tool["output_schema"] = spec.output
    return tool


def free_text(spec: Spec) -> JsonObject:
    """Write a custom tool (``CustomToolParam`` of openai 3.57.0, read on 2026-11-27)."""
    tool: JsonObject = {"type": "custom", "name": spec.name}
    if spec.description:
        tool["description"] = spec.description
    if isinstance(spec.free_text, Grammar):
        tool["format"] = {"type": "grammar", **spec.free_text._asdict()}
    return tool


_JSON_KINDS = ("object", "array", "integer", "number", "boolean")


def _is_for_programs(spec: Spec) -> bool:
    callers = [keys.get("allowed_callers") for keys in spec.keys.values()]
    return any(isinstance(named, list) and "programmatic" in named for named in callers)


def mark_deferred(entry: JsonObject, where: bool | Namespace) -> JsonObject:
    """Return the entry as a deferred function, or, for a ``Namespace``, as a group
    with only this deferred function.

    ``merge_groups`` merges groups with the same name.
    """
    function = {**entry, "defer_loading": True}
    if not isinstance(where, Namespace):
        return function
    return {
        "type": "namespace",
        "name": where.name,
        "description": where.description,
        "tools": [function],
    }


def client_search(entry: JsonObject) -> JsonObject:
    """Write a search of the client's, in place of the function that does it: beside the function
    the model would call that (``ToolSearchToolParam`` of openai 3.57.0, 2026-11-28).
    """
    return {
        "type": "tool_search",
        "execution": "client",
        "description": entry.get("description") or "Finds tools.",
        "parameters": entry["parameters"],
    }


def is_deferred(entry: JsonObject) -> bool:
    return entry.get("defer_loading") is True or any(map(is_deferred, entry.get("tools") or ()))


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Write the tools and the choice.

    Raises:
        ExportError: The choice names a search of the client's, which has no name there.
    """
    has_search = any(entry.get("execution") == "client" for entry in tools)
    if has_search and not names_of(tools).issuperset(choice.names):
        message = "a search cannot be chosen by its name: a search of the client's has none there"
        raise unsupported(choice, "choice", message, "ToolChoiceTypes of openai 3.57.0, 2026-11-28")
    body = openai_schema.request(tools, choice)
    custom = {entry.get("name") for entry in choice.chosen if entry.get("type") == "custom"}
    chosen = [
        {"type": "custom" if name in custom else "function", "name": name} for name in choice.names
    ]
    if len(chosen) > 1:
        body["tool_choice"] = {"type": "allowed_tools", "mode": "required", "tools": chosen}
    elif chosen:
        body["tool_choice"] = chosen[0]
    return body

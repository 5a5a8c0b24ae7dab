"""Writes tools and a choice into a session of OpenAI's Realtime API.

The types come from ``openai.types.realtime`` of openai 3.57.0, read on 2026-11-28.
"""

from typing import Any

from toolshape._families.wire.provider import Choice
from toolshape._records.calls import JsonObject, Spec


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - there is no strict form
    """Write a tool, without the key ``strict``, which the server refuses."""
    entry: JsonObject = {"type": "function", "name": spec.name}
    if spec.description:
        entry["description"] = spec.description
    return {**entry, "parameters": spec.parameters}


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Write ``session=`` of an update; each needs its type.

    There is no choice among several tools, so only these tools are sent.
    """
    session: JsonObject = {"type": "realtime", "tools": tools}
    tool_choice: Any = choice.mode
    if len(choice.names) > 1:
        session["tools"], tool_choice = list(choice.chosen), "required"
    elif choice.names:
        tool_choice = {"type": "function", "name": choice.names[0]}
    if tool_choice is not None:
        session["tool_choice"] = tool_choice
    if choice.parallel is not None:
        session["parallel_tool_calls"] = choice.parallel
    return session

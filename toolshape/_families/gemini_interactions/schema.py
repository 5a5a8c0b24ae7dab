"""Writes tools and choices for Gemini's Interactions API.

From the types in google-genai 3.3.0, read on 2026-11-20.
"""

from typing import Any

from toolshape._families.wire.provider import Choice, unsupported
from toolshape._records.calls import ChoiceMode, JsonObject, Spec

CHOICES: dict[ChoiceMode, str] = {"auto": "auto", "none": "none", "required": "any"}


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - strict is a mode of the request
    tool: JsonObject = {"type": "function", "name": spec.name}
    if spec.description:
        tool["description"] = spec.description
    if spec.parameters.get("properties"):
        tool["parameters"] = spec.parameters
    return tool


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    if choice.parallel is False:
        raise unsupported(
            choice, "parallel", "Gemini has no switch for parallel calls: leave out parallel="
        )
    tool_choice: Any = None
    if choice.names:
        tool_choice = {"allowed_tools": {"mode": "any", "tools": list(choice.names)}}
    elif choice.mode is not None:
        tool_choice = CHOICES[choice.mode]
    if choice.is_strict and tool_choice in (None, "auto"):
        tool_choice = "validated"
    if tool_choice is None:
        return {"tools": tools}
    return {"tools": tools, "generation_config": {"tool_choice": tool_choice}}

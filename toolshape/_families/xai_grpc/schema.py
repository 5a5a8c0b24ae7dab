"""Writes tools and choices for xAI's gRPC protocol, which xAI's SDK uses.

Bodies are JSON with the protocol's fields, which come from xai-sdk 1.21.0, read on 2026-11-20.
"""

import json

from toolshape._families.openai import schema as openai_schema
from toolshape._families.wire.provider import Choice
from toolshape._records.calls import JsonObject, Spec

_MODES = {"auto": "TOOL_MODE_AUTO", "none": "TOOL_MODE_NONE", "required": "TOOL_MODE_REQUIRED"}


def envelope(spec: Spec, strict: bool) -> JsonObject:
    """Write the entry for a tool, with its parameters as JSON text."""
    function = openai_schema.envelope(spec, strict)["function"]
    return {
        "function": {**function, "parameters": json.dumps(spec.parameters, separators=(",", ":"))}
    }


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Return the tools and the choice for a request.

    If the choice names several tools, send only these tools.
    """
    body: JsonObject = {"tools": list(choice.chosen) if len(choice.names) > 1 else tools}
    if len(choice.names) == 1:
        body["tool_choice"] = {"function_name": choice.names[0]}
    elif choice.names or choice.mode is not None:
        body["tool_choice"] = {"mode": _MODES[choice.mode or "required"]}
    if choice.parallel is not None:
        body["parallel_tool_calls"] = choice.parallel
    return body

"""Writes tools and choices for AWS Bedrock's Converse API.

The types come from botocore 1.44.5, bedrock-runtime/2023-09-30, read on 2026-11-20.
"""

import re

from toolshape._families.anthropic import schema as anthropic_schema
from toolshape._families.wire.provider import Choice, unsupported
from toolshape._records.calls import JsonObject, Spec


def envelope(spec: Spec, strict: bool) -> JsonObject:
    """Write the entry for a tool, with its schema as an object.

    Omit an empty description: the API refuses it.
    """
    tool: JsonObject = {"name": spec.name, "inputSchema": {"json": spec.parameters}}
    if spec.description:
        tool["description"] = spec.description
    if strict:
        tool["strict"] = True
    return {"toolSpec": tool}


def gather(tools: list[JsonObject]) -> list[JsonObject]:
    """Split entries so that each has one key: a cache point becomes a
    separate entry after its tool.
    """
    return [{key: value} for tool in tools for key, value in tool.items()]


# toolChoice.tool is for Claude 3 and Nova (ToolChoice, botocore 1.44.5). This pattern matches the
# other models by name. The name of an inference profile does not show its model.
_NAMES_NO_TOOL = re.compile(
    r"claude-(v2|instant)|titan|(^|\.)(mistral|meta|cohere|ai21|deepseek|qwen|openai)\."
)


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Return the tools and the choice for a request.

    If the choice names several tools, send only these tools.
    """
    anthropic_schema.refuse_forced(choice)
    if choice.mode == "none":
        raise unsupported(
            choice,
            "choice",
            'Bedrock does not support "none", and needs the tools: ask for no calls in the prompt',
        )
    if choice.parallel is False:
        raise unsupported(
            choice, "parallel", "Bedrock has no switch for parallel calls: leave out parallel="
        )
    config: JsonObject = {"tools": list(choice.chosen) if len(choice.names) > 1 else tools}
    if len(choice.names) == 1:
        if choice.model and _NAMES_NO_TOOL.search(choice.model):
            raise unsupported(
                choice,
                "choice",
                f"{choice.model} cannot be forced to call one tool: ask for the call in the prompt",
            )
        config["toolChoice"] = {"tool": {"name": choice.names[0]}}
    elif choice.names or choice.mode is not None:
        config["toolChoice"] = {"auto": {}} if choice.mode == "auto" else {"any": {}}
    return {"toolConfig": config}

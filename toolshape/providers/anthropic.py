"""Anthropic Messages. Types read in anthropic 2.10.0 on 2026-11-20; server texts from the issues named."""

import re
from collections.abc import Sequence
from typing import Any

from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.provider import Choice, NameRule, Provider, Reading, member, plain

_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def envelope(spec: Spec) -> JsonObject:
    tool: JsonObject = {"name": spec.name, "input_schema": spec.parameters}
    if spec.description:
        tool["description"] = spec.description
    return tool


def choose(choice: Choice) -> JsonObject:
    """The parallel switch lives inside ``tool_choice``, and "none" has no such switch (ToolChoiceParam, 2.10.0)."""
    if choice.choice is None and choice.parallel is None:
        return {}
    said: JsonObject = (
        {"type": "tool", "name": choice.choice} if choice.is_name else {"type": _CHOICES[choice.choice or "auto"]}
    )
    if choice.parallel is not None and said["type"] != "none":
        said["disable_parallel_tool_use"] = not choice.parallel
    return {"tool_choice": said}


def recognises(body: Any) -> bool:
    return member(body, "type") == "message" and isinstance(member(body, "content"), list)


def read(body: Any) -> Reading:
    content = member(body, "content")
    # server_tool_use blocks are the provider's own calls, run by it.
    calls = [
        WireCall(member(block, "id"), member(block, "name"), member(block, "input"), block)
        for block in content
        if member(block, "type") == "tool_use"
    ]
    # A message may not have empty content: a response without any has no turn to send back.
    assistant = [{"role": "assistant", "content": plain(content)}] if content else []
    return Reading(assistant, calls, member(body, "stop_reason"))


def encode(results: Sequence[Result]) -> list[Message]:
    """All results in one user message, directly after the assistant's, in its order; anything else is a 400."""
    return [{"role": "user", "content": [_block(result) for result in results]}]


def _block(result: Result) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": result.call.id, "content": result.text}
    if result.error is not None:
        block["is_error"] = True
    return block


ANTHROPIC = Provider(
    name="anthropic",
    family="anthropic-messages",
    names=NameRule(
        # The documents say 64, the server 128 (claude-code#96152, 2026-09): what is documented is safe.
        pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
        evidence="1 to 64 of a-z A-Z 0-9 _ -; tool use documentation, 2026",
    ),
    envelope=envelope,
    choose=choose,
    recognises=recognises,
    read=read,
    encode=encode,
)

PROVIDERS = (ANTHROPIC,)

"""Writes a conversation down as a person would: who said what, each call and its answer."""

from collections.abc import Mapping, Sequence

from toolshape._bound.registry import Registry
from toolshape._records.calls import Coercion
from toolshape._records.printing import Line
from toolshape._records.shown import escape_invisible, shorten, show_arguments
from toolshape._schema.secrets import MASKED
from toolshape._tools.tool import record_of
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    calls_in,
)

_MOST_MESSAGES = 40


def transcript(
    messages: Sequence[Message],
    tools: Registry,
    coercions: Mapping[str, tuple[Coercion, ...]],
) -> list[Line]:
    """Return the lines of a conversation.

    Args:
        messages: The messages. Of a long conversation, only the last are shown.
        tools: The tools, which know whether a call may hold a secret.
        coercions: What was coerced, by the id of the call.
    """
    first = max(len(messages) - _MOST_MESSAGES, 0)
    if first:
        lines = [Line("...", f"{first} earlier messages")]
    else:
        lines = []
    for message in messages[first:]:
        who: str = message.role
        if message.origin is not None:
            author = filter(None, (message.origin.provider, message.origin.model))
            who = f"{who} ({', '.join(author)})"
        is_known = any(
            call.name in tools and record_of(tools[str(call.name)]).takes_secrets
            for call in calls_in(message)
        )
        if message.holds_secret and not is_known:
            lines.append(Line(f"{who}:", MASKED))
            continue
        for part in message.parts:
            lines += _lines_of(part, who, tools, coercions)
    return lines


def _lines_of(
    part: MessagePart, who: str, tools: Registry, coercions: Mapping[str, tuple[Coercion, ...]]
) -> list[Line]:
    match part:
        case TextPart():
            return [Line(f"{who}:", shorten(part.text, is_json=True))]
        case ReasoningPart():
            return [Line(f"{who} thinks:", shorten(part.text, is_json=True))]
        case ToolCallPart():
            return _lines_of_call(part, who, tools, coercions.get(part.id, ()))
        case ToolResultPart():
            code = "" if part.code is None else f"{part.code}: "
            name = escape_invisible(part.wire_name)
            return [Line(f"{name} ->", code + shorten(part.text, is_json=True), 1)]
        case MediaPart():
            return [Line(f"{who}:", type(part.media).__name__.lower())]
        case _:
            return [Line(f"{who}:", f"[{escape_invisible(part.kind)}]")]


def _lines_of_call(
    part: ToolCallPart, who: str, tools: Registry, coerced: Sequence[Coercion]
) -> list[Line]:
    is_open = part.name in tools and not record_of(tools[str(part.name)]).takes_secrets
    name = escape_invisible(part.name or part.wire_name)
    lines = [Line(f"{who} calls:", f"{name}({show_arguments(part.arguments, is_open=is_open)})")]
    for coercion in coerced:
        if is_open:
            values = f": {shorten(coercion.before)} -> {shorten(coercion.after)}"
        else:
            values = ""
        path = escape_invisible(coercion.path) or "the arguments"
        lines.append(Line("coerced", f"{path} by {coercion.rule}{values}", 1))
    return lines

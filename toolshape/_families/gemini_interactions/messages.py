"""Reads and writes steps for Gemini's Interactions API.

From the types in google-genai 3.4.0 (2026-11-22).
"""

from collections.abc import Sequence
from typing import Any

from toolshape._families.wire.bodies import member
from toolshape._families.wire.content import (
    arguments_object,
    as_result_parts,
    call_part,
    decode_base64,
    join_text,
    read_system_prompt,
    result_part,
    result_text,
    with_id_at,
)
from toolshape._families.wire.histories import Histories, history_rules
from toolshape._records.calls import JsonObject, WireCall, WireMessage
from toolshape._records.parts import (
    File,
    Image,
    Part,
    Text,
    as_text,
    by_media_type,
    encoded,
    file_name_in_url,
    media_kind_of,
)
from toolshape._records.result import Result
from toolshape._schema.values import write_json
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)


def read(item: JsonObject, path: str) -> Message:
    """Convert a step to a message; content outside a step becomes a user message."""
    kind = str(item.get("type", ""))
    role: Any = "assistant"
    if kind in ("user_input", "model_output"):
        content = item.get("content")
        if isinstance(content, list):
            entries = content
        else:
            entries = [content]
        if content is None:
            entries = []
        parts = tuple(_read_piece(entry, f"content[{at}]") for at, entry in enumerate(entries))
        return Message(
            role="user" if kind == "user_input" else role, parts=parts, raw=item, path=path
        )
    if kind == "function_call":
        part: MessagePart = call_part(read_call(item), "")
    elif kind == "function_result":
        role, part = "tool", _read_result(item)
    elif kind == "thought":
        summary = item.get("summary") or ()
        text = "\n".join(str(block.get("text", "")) for block in summary if isinstance(block, dict))
        part = ReasoningPart(text=text, raw=item)
    elif kind in _CONTENTS:
        role, part = "user", _read_piece(item, "")
    else:
        part = ProviderPart(kind=kind, raw=item)
    return Message(role=role, parts=(part,), raw=item, path=path)


_CONTENTS = {
    "text": "text/plain",
    "image": "image/png",
    "document": "application/pdf",
    "audio": "audio/wav",
    "video": "video/mp4",
}
"""The kinds of content, each with its default media type."""


def _read_piece(piece: Any, path: str) -> MessagePart:
    if not isinstance(piece, dict):
        return TextPart(text=str(piece), path=path)
    kind = str(piece.get("type", ""))
    if kind == "text":
        return TextPart(text=str(piece.get("text", "")), raw=piece, path=path)
    media_type = str(piece.get("mime_type") or _CONTENTS.get(kind))
    url = str(piece.get("uri") or "")
    if kind in _CONTENTS and (url or piece.get("data")):
        try:
            data = b"" if url else decode_base64(piece["data"])
        except ValueError:
            return ProviderPart(kind=kind, raw=piece, path=path)
        media = (
            Image(data, media_type, url)
            if kind == "image"
            else File(data, media_type, file_name_in_url(url) or "file", url)
        )
        return MediaPart(media=media, raw=piece, path=path)
    return ProviderPart(kind=kind, raw=piece, path=path)


def _read_result(item: JsonObject) -> ToolResultPart:
    result = item.get("result")
    parts: tuple[Part, ...] = ()
    is_text = isinstance(result, str)
    text = ""
    if result is not None:
        if isinstance(result, str):
            text = result
        else:
            text = write_json(result)
    if isinstance(result, list):
        inner_parts = [_read_piece(entry, "") for entry in result]
        is_text = len(inner_parts) == 1 and isinstance(inner_parts[0], TextPart)
        parts = () if is_text else as_result_parts(inner_parts)
        if is_text:
            text = join_text(inner_parts, "tool")
        else:
            text = as_text(parts)
    code = "tool_error" if item.get("is_error") else None
    return result_part(
        item.get("call_id"),
        item.get("name"),
        text,
        code=code,
        is_text=is_text or None,
        parts=parts,
        raw=item,
    )


def write_call(call_id: str, name: str, arguments: Any) -> JsonObject:
    """Write a call as a step."""
    return {"type": "function_call", "id": call_id, "name": name, "arguments": arguments}


def write_call_part(call: ToolCallPart) -> JsonObject:
    return write_call(call.id, call.wire_name, arguments_object(call))


def write(message: Message) -> list[WireMessage]:
    """Write steps in the order of the parts; adjacent pieces of content share a step."""
    steps: list[WireMessage] = []
    contents: list[JsonObject] = []
    if message.role == "assistant":
        kind = "model_output"
    else:
        kind = "user_input"
    for part in message.parts:
        if isinstance(part, (TextPart, MediaPart)) or (
            isinstance(part, ProviderPart) and part.path.startswith("content")
        ):
            contents.append(part.raw if part.raw is not None else _write_part(part))
            continue
        steps += [{"type": kind, "content": contents}] if contents else []
        contents = []
        if part.raw is not None:
            steps.append(part.raw)
        elif isinstance(part, ToolCallPart):
            steps.append(write_call_part(part))
        elif isinstance(part, ToolResultPart):
            steps.append(write_result_part(part))
    return steps + ([{"type": kind, "content": contents}] if contents else [])


def _write_part(part: MessagePart) -> JsonObject:
    if isinstance(part, MediaPart):
        return write_piece(part.media)
    return {"type": "text", "text": getattr(part, "text", "")}


def write_piece(part: Part) -> JsonObject:
    """Write text, an image or a file as a piece of content."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    part = by_media_type(part)
    kind = media_kind_of(part)
    if part.url:
        location = {"uri": part.url}
    else:
        location = {"data": encoded(part)}
    return {
        "type": "document" if kind == "file" else kind,
        "mime_type": part.media_type,
        **location,
    }


def read_system(request: JsonObject) -> list[Message]:
    """Read the system instruction from a request."""
    return read_system_prompt(request.get("system_instruction"), "system_instruction")


def _write_system(messages: Sequence[Message]) -> JsonObject:
    return {
        "system_instruction": "\n\n".join(
            join_text(message.parts, "system") for message in messages
        )
    }


def with_id(raw: JsonObject, call_id: str | None) -> JsonObject:
    """Return the step of a call or result with a different id."""
    return with_id_at(raw, "call_id" if raw.get("type") == "function_result" else "id", call_id)


HISTORIES = Histories(
    key="input",
    read=read,
    read_system=read_system,
    write=write,
    with_id=with_id,
    system=_write_system,
    is_items=True,
    input_kinds=frozenset(
        {"image", "image_url", "file", "file_url", "audio", "audio_url", "video", "video_url"},
    ),
    opaque_keys=frozenset({"signature"}),
    continued_by=frozenset({"previous_interaction_id"}),
    rules=(
        *history_rules(
            "microsoft/vscode#299295, 2026-03, about generateContent: assumed to hold here",
            "unanswered_call",
            "open_turn",
            "orphan_result",
            "duplicate_result",
        ),
    ),
)


# --- leaf functions: one reader and one writer for calls, one writer for results


def read_call(step: Any) -> WireCall:
    return WireCall(
        member(step, "id") or "", member(step, "name") or "", member(step, "arguments"), step
    )


def with_object_arguments(step: JsonObject) -> JsonObject:
    """Return a step that a request accepts.

    Arguments that were cut off are text, so wrap this text in an object.
    """
    text = step.get("arguments")
    if isinstance(text, str):
        return {**step, "arguments": {"INVALID_JSON": text}}
    return step


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    return [write_call(call.id, call.wire_name, call.arguments) for call in calls]


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    return [
        write_result(
            result.call.id,
            result.call.wire_name,
            result.text,
            result.parts,
            is_error=result.error is not None,
        )
        for result in results
    ]


def write_result_part(part: ToolResultPart) -> JsonObject:
    is_error = part.code is not None
    return write_result(part.id, part.wire_name, result_text(part), part.parts, is_error=is_error)


def write_result(
    call_id: str, name: str, text: str, parts: tuple[Part, ...], *, is_error: bool
) -> JsonObject:
    """Write a result as a step, with the call's id and a flag for errors.

    Send a result without parts as text.
    """
    step: JsonObject = {"type": "function_result", "call_id": call_id, "name": name}
    step["result"] = [write_piece(part) for part in parts] or text
    if is_error:
        step["is_error"] = True
    return step

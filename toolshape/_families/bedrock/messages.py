"""Reads and writes the messages of AWS Bedrock's Converse API.

The types come from botocore 1.44.5, bedrock-runtime/2023-09-30, read on 2026-11-22.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from toolshape._families.wire.bodies import member, result_json
from toolshape._families.wire.content import (
    arguments_object,
    as_result_parts,
    call_part,
    content_list,
    decode_base64,
    read_system_prompt,
    result_part,
    result_text,
    search_result_text,
    stored_json,
    with_id_at,
    write_blocks,
)
from toolshape._families.wire.histories import AN_OBJECT, Histories, history_rules
from toolshape._records.calls import JsonObject, WireCall, WireMessage
from toolshape._records.parts import (
    File,
    Image,
    Part,
    Text,
    as_text,
    by_media_type,
    is_blank,
    media_kind_of,
    named,
)
from toolshape._records.result import Result
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
    if item.get("role") not in ("user", "assistant", "system"):
        raise ValueError(
            f"these are another provider's messages: there is no role {item.get('role')!r}"
        )
    parts = [
        _read_block(block, f"content[{at}]")
        for at, block in enumerate(content_list(item.get("content")))
    ]
    if item.get("role") == "assistant":
        role: Any = "assistant"
    else:
        role = "user"
    if parts and role == "user" and all(isinstance(part, ToolResultPart) for part in parts):
        role = "tool"
    return Message(role=role, parts=tuple(parts), raw=item, path=path)


def _read_block(block: Any, path: str) -> MessagePart:  # noqa: PLR0911 - one return for each kind
    # A block names its kind by its only key, but gateways add a ``type``, so keys are looked for
    # and not counted. A block with a ``type`` of its own is Anthropic's: read as this family's, its
    # calls would be lost.
    if isinstance(block, dict) and block.get("type") is not None:
        raise ValueError(
            f"these are another provider's messages: a block has the type {block['type']!r}"
        )
    if not isinstance(block, dict) or not block:
        return ProviderPart(kind="", raw=block, path=path)
    if isinstance(block.get("text"), str):
        return TextPart(text=block["text"], raw=block, path=path)
    if (
        isinstance(tool_use := block.get("toolUse"), dict)
        and tool_use.get("type") != "server_tool_use"
    ):
        return call_part(read_call(block), path)
    if isinstance(result := block.get("toolResult"), dict):
        return _read_result(result, block, path)
    if isinstance(reasoning := block.get("reasoningContent"), dict):
        text = reasoning.get("reasoningText", {})
        return ReasoningPart(
            text=str(text.get("text", "")) if isinstance(text, dict) else "", raw=block, path=path
        )
    if inner_text := _block_text(block):
        return TextPart(text=inner_text, raw=block, path=path)
    media = _read_media(block)
    if media is not None:
        return MediaPart(media=media, raw=block, path=path)
    return ProviderPart(kind=next(iter(block)), raw=block, path=path)


def _block_text(block: JsonObject) -> str:
    """Return the text in a block with citations, guard content, a search result
    or a text document; else ``""``.
    """
    members = {key: value for key, value in block.items() if isinstance(value, dict)}
    if "citationsContent" in members:
        content = content_list(members["citationsContent"].get("content"))
        return "".join(str(inner.get("text", "")) for inner in content if isinstance(inner, dict))
    if "guardContent" in members:
        text = members["guardContent"].get("text")
        if isinstance(text, dict):
            return str(text.get("text", ""))
        return ""
    if "searchResult" in members:
        return search_result_text(members["searchResult"])
    document = members.get("document", {})
    source = document.get("source")
    if not isinstance(source, dict) or not source.keys() & {"text", "content"}:
        return ""
    return search_result_text(
        {**document, "source": None, "content": source.get("text", source.get("content"))}
    )


_IMAGES = {
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
}
_OFFICE = "application/vnd.openxmlformats-officedocument"
_FILES = {
    "txt": "text/plain", "md": "text/markdown", "html": "text/html", "csv": "text/csv",
    "pdf": "application/pdf",
    "doc": "application/msword", "docx": f"{_OFFICE}.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
}  # fmt: skip
_VIDEOS = {
    "mkv": "video/x-matroska", "mov": "video/quicktime", "mp4": "video/mp4", "webm": "video/webm",
    "flv": "video/x-flv",
    "mpeg": "video/mpeg", "mpg": "video/mpeg", "wmv": "video/x-ms-wmv", "three_gp": "video/3gpp",
}  # fmt: skip
_SOUNDS = {
    "mp3": "audio/mpeg", "opus": "audio/opus", "wav": "audio/wav", "aac": "audio/aac",
    "flac": "audio/flac",
    "mp4": "audio/mp4", "ogg": "audio/ogg", "mka": "audio/x-matroska", "mkv": "audio/x-matroska",
    "x-aac": "audio/x-aac",
    "m4a": "audio/m4a", "mpeg": "audio/mpeg", "mpga": "audio/mpeg", "pcm": "audio/l16",
    "webm": "audio/webm",
}  # fmt: skip
"""The media types of the formats in botocore 1.44.5: ImageFormat,
DocumentFormat, VideoFormat and AudioFormat.
"""
_KINDS = {"image": _IMAGES, "document": _FILES, "video": _VIDEOS, "audio": _SOUNDS}
_FORMATS: dict[str, tuple[str, str]] = {}
for _kind, _forms in _KINDS.items():
    for _form, _media_type in _forms.items():
        _FORMATS.setdefault(_media_type, (_kind, _form))
"""The kind of block and the format for each media type; if several formats have
the same type, the first is used.
"""


def _read_media(block: JsonObject) -> Image | File | None:
    """Return the image, document, video or audio file whose bytes are in the block."""
    guard_content = block.get("guardContent")
    block = guard_content if isinstance(guard_content, dict) else block
    for kind, forms in _KINDS.items():
        media_block = block.get(kind)
        if not isinstance(media_block, dict):
            continue
        try:
            data = decode_base64(media_block["source"]["bytes"])
        except (KeyError, TypeError, ValueError):
            return None
        form = str(media_block.get("format") or "")
        media_type = forms.get(form, f"{'application' if kind == 'document' else kind}/{form}")
        if kind == "image":
            return Image(data, media_type)
        name = media_block.get("name") or ("file" if kind == "document" else f"{kind}.{form}")
        return File(data, media_type, str(name))
    return None


def _read_result(result: JsonObject, block: JsonObject, path: str) -> ToolResultPart:
    content = [inner for inner in result.get("content") or () if isinstance(inner, dict)]
    texts = [
        inner["text"] if "text" in inner else json.dumps(inner["json"], ensure_ascii=False)
        for inner in content
        if inner.keys() & {"text", "json"}
    ]
    parts: tuple[Part, ...] = ()
    if any(not inner.keys() & {"text", "json"} for inner in content):
        parts = as_result_parts(_read_block(inner, "") for inner in content)
        texts = [as_text(parts)]
    if result.get("status") == "error":
        code = "tool_error"
    else:
        code = None
    is_text = None if len(content) != 1 else "text" in content[0]
    fields: JsonObject = {
        "code": code,
        "is_text": is_text,
        "parts": parts,
        "raw": block,
        "path": path,
    }
    return result_part(result.get("toolUseId"), "", "\n".join(map(str, texts)), **fields)


def write_call(call_id: str, name: str, arguments: Any) -> JsonObject:
    """Write the block of a call."""
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}


def write_call_part(call: ToolCallPart) -> JsonObject:
    return write_call(call.id, call.wire_name, arguments_object(call))


def write(message: Message) -> list[WireMessage]:
    """Write one message; in a user message, results come first."""
    role = "assistant" if message.role == "assistant" else "user"
    return [
        {
            "role": role,
            "content": write_blocks(message, write_call_part, write_result_part, _write_part),
        }
    ]


def _write_part(part: MessagePart) -> JsonObject:
    if isinstance(part, MediaPart):
        return _write_piece(part.media)
    return {"text": getattr(part, "text", "")}


def write_result_piece(part: Part) -> JsonObject:
    """Write text, an image or a file as a block of a result.

    A result cannot hold audio, so describe audio as text.
    """
    if not isinstance(part, Text) and media_kind_of(part) == "audio":
        return {"text": named(part)}
    return _write_piece(part)


def _write_piece(part: Part) -> JsonObject:
    """Write text, an image or a file as a block.

    Bytes stay bytes, because the SDK encodes them. The API takes no URLs, so a file without bytes
    becomes text that names it.
    """
    if isinstance(part, Text):
        return {"text": part.text}
    part = by_media_type(part)
    if not part.data or part.media_type not in _FORMATS:
        return {"text": named(part)}
    kind, form = _FORMATS[part.media_type]
    block: JsonObject = {"format": form, "source": {"bytes": part.data}}
    if kind == "document" and isinstance(part, File):
        # DocumentBlock.name accepts 1 to 200 of these characters.
        block["name"] = re.sub(r"[^a-zA-Z0-9 ()\[\]-]", "-", part.name)[:200] or "file"
    return {kind: block}


def read_system(request: JsonObject) -> list[Message]:
    """Read the system prompt, which is separate from the messages:
    blocks of text, and cache points.
    """
    return read_system_prompt(request.get("system"), "system")


def _write_system(messages: Sequence[Message]) -> JsonObject:
    parts = [part for message in messages for part in message.parts]
    return {
        "system": [
            part.raw if isinstance(part.raw, dict) else {"text": getattr(part, "text", "")}
            for part in parts
        ]
    }


def with_id(raw: JsonObject, call_id: str | None) -> JsonObject | None:
    """Return the block of a call or result with a different id."""
    key = next((key for key in ("toolUse", "toolResult") if isinstance(raw.get(key), dict)), None)
    if key is None:
        return None
    return {**raw, key: with_id_at(raw[key], "toolUseId", call_id)}


def _without_blank(block: JsonObject) -> JsonObject:
    """Return a result without its empty texts. One block must be left, and white space is one.

    Source: NousResearch/hermes-agent#55093, 2026-06.
    """
    result = block.get("toolResult")
    if isinstance(result, dict):
        content = result.get("content")
    else:
        content = None
    if not isinstance(result, dict) or not isinstance(content, list):
        return block
    kept = [inner for inner in content if member(inner, "text") != ""]
    if len(kept) == len(content):
        return block
    return {**block, "toolResult": {**result, "content": kept or [{"text": " "}]}}


HISTORIES = Histories(
    key="messages",
    model_key="modelId",
    read=read,
    read_system=read_system,
    write=write,
    with_id=with_id,
    system=_write_system,
    joins=True,
    input_kinds=frozenset({"image", "file", "video", "audio"}),
    media_types=frozenset(_FORMATS),
    without_blank=_without_blank,
    rules=(
        *history_rules(
            "botocore 1.44.5 ToolUseId: 1 to 64 of a-z A-Z 0-9 _ . : -, 2026-11-22",
            "call_id",
            pattern=r"[a-zA-Z0-9_.:-]{1,64}",
        ),
        *history_rules("botocore 1.44.5 ToolName, 2026-11-22", "tool_name"),
        *history_rules(
            "agno-agi/agno#6698, 2026-02; zeroclaw-labs/zeroclaw#1476, 2026-02: the next message "
            "has a result for each call",
            "unanswered_call",
            "open_turn",
            "late_result",
            "split_results",
        ),
        *history_rules(
            "langgenius/dify-official-plugins#765, 2025-04: no more results than calls",
            "orphan_result",
        ),
        *history_rules("BerriAI/litellm#20049, 2026-01", "duplicate_result", "duplicate_id"),
        *history_rules("aws-samples/bedrock-access-gateway#239, 2026-04", "tools_missing"),
        *history_rules("NousResearch/hermes-agent#63983, 2026-07", "blank_text", "empty_message"),
        *history_rules("evalstate/fast-agent#668, 2026-02", "text_after_call"),
        *history_rules(
            "aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15, 2026-06",
            "empty_error",
        ),
        *history_rules("microsoft/semantic-kernel#10281, 2025-03", "same_role"),
        *history_rules(
            "langchain-ai/langchain#35071, 2026-02, about Claude: assumed to hold here",
            "trailing_space",
            models=r"claude",
        ),
        *history_rules(
            "elastic/kibana#246393, 2025-12; strands-agents/harness-sdk#2085, 2026-04",
            "first_is_assistant",
        ),
        *history_rules(
            "botocore 1.44.5 ToolUseBlock: the input is required, and an object, 2026-11-22",
            "malformed_arguments",
            pattern=AN_OBJECT,
        ),
        *history_rules(
            "maximhq/bifrost#6942, 2026-09: thinking.signature: Field required, or Invalid "
            "signature",
            "unsigned_reasoning",
            models="claude",
            pattern="signature|redactedContent",
        ),
        *history_rules(
            "maximhq/bifrost#6942, 2026-09: Nova and MiniMax refuse a signature that is empty",
            "blank_signature",
            models="nova|minimax",
            pattern="signature",
        ),
    ),
)


# --- leaf functions: one reader and one writer for calls, one writer for results


def read_call(block: Any) -> WireCall:
    tool_use = member(block, "toolUse")
    return WireCall(
        member(tool_use, "toolUseId") or "",
        member(tool_use, "name"),
        member(tool_use, "input"),
        block,
    )


def with_object_arguments(block: JsonObject) -> JsonObject:
    """Return a block that a request accepts.

    Arguments that were cut off are text, so wrap this text in an object.
    """
    tool_use = block.get("toolUse")
    if not tool_use or not isinstance(tool_use.get("input"), str):
        return block
    return {**block, "toolUse": {**tool_use, "input": {"INVALID_JSON": tool_use["input"]}}}


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    return [
        {
            "role": "assistant",
            "content": [write_call(call.id, call.wire_name, call.arguments) for call in calls],
        }
    ]


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    """Write all results into the next user message."""
    content: list[JsonObject] = []
    for result in results:
        call_id, text, is_error = result.call.id, result.text, result.error is not None
        if text and text[0] != "{" and not is_error and not result.parts:
            content.append({"toolResult": {"toolUseId": call_id, "content": [{"text": text}]}})
        else:
            if text[:1] == "{":
                value = result_json(result)
            else:
                value = None
            content.append(write_result(call_id, text, value, result.parts, is_error=is_error))
    return [{"role": "user", "content": content}]


def write_result_part(part: ToolResultPart) -> JsonObject:
    return write_result(
        part.id, result_text(part), stored_json(part), part.parts, is_error=part.code is not None
    )


def write_result(
    call_id: str, text: str, value: Any, parts: tuple[Part, ...], *, is_error: bool
) -> JsonObject:
    """Write the block of a result.

    A ``json`` block holds only objects (haystack#3766); send other values as text.
    """
    # The server refuses a nested "__type" (bifrost#5762), so send a result that contains this key
    # as text.
    is_object = isinstance(value, dict) and '"__type"' not in text
    content = [{"json": value} if is_object and not is_error else {"text": text or " "}]
    if parts:  # an empty text is refused: NousResearch/hermes-agent#55093, 2026-06
        said = [write_result_piece(part) for part in parts if not is_blank(part)]
        content = said or [{"text": " "}]
    tool_result: JsonObject = {"toolUseId": call_id, "content": content}
    if is_error:
        tool_result["status"] = "error"
    return {"toolResult": tool_result}

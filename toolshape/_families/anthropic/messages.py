"""Reads and writes the messages of Anthropic's API.

From the types of anthropic 2.12.0, read on 2026-11-22.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from toolshape._families.wire.bodies import member
from toolshape._families.wire.content import (
    arguments_object,
    as_result_parts,
    call_part,
    content_as_text,
    content_list,
    decode_base64,
    read_system_prompt,
    result_part,
    result_text,
    search_result_text,
    with_id_at,
    write_blocks,
)
from toolshape._families.wire.histories import AN_OBJECT, Histories, history_rules
from toolshape._records.calls import JsonObject, WireCall, WireMessage
from toolshape._records.found import found_entries, found_names, found_text
from toolshape._records.parts import (
    File,
    Image,
    Part,
    Text,
    as_text,
    by_media_type,
    encoded,
    file_name_in_url,
    is_blank,
    is_taken,
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
    if (
        item.get("role") not in ("user", "assistant", "system")
        or item.get("tool_calls") is not None
    ):
        raise ValueError(
            f"these are another provider's messages: the role is {item.get('role')!r}, or calls "
            "are outside its content"
        )
    content = item.get("content")
    if isinstance(content, str):
        if content:
            parts: list[MessagePart] = [TextPart(text=content, path="content")]
        else:
            parts = []
    else:
        parts = [
            _read_block(block, f"content[{at}]") for at, block in enumerate(content_list(content))
        ]
    if item.get("role") in ("assistant", "system"):
        role: Any = item.get("role")
    else:
        role = "user"
    if parts and role == "user" and all(isinstance(part, ToolResultPart) for part in parts):
        role = "tool"
    # The message of a response has fields that a request does not accept.
    if item.get("type") == "message":
        raw = {"role": item["role"], "content": content}
    else:
        raw = item
    return Message(role=role, parts=tuple(parts), raw=raw, path=path)


def _read_block(block: Any, path: str) -> MessagePart:  # noqa: PLR0911 - one return for each kind
    if not isinstance(block, dict):
        return TextPart(text=str(block), path=path)
    kind = str(block.get("type", ""))
    if kind == "text":
        return TextPart(text=str(block.get("text", "")), raw=block, path=path)
    if kind in ("thinking", "redacted_thinking"):
        return ReasoningPart(text=str(block.get("thinking", "")), raw=block, path=path)
    if kind == "tool_use":
        return call_part(read_call(block), path)
    if kind == "tool_result":
        return _read_result(block, path)
    if kind == "tool_reference":  # what a search found; another provider reads the name
        return TextPart(text=str(block.get("tool_name", "")), raw=block, path=path)
    if inner_text := _document_text(block, kind):
        return TextPart(text=inner_text, raw=block, path=path)
    media = _read_media(block)
    if media is None:
        return ProviderPart(kind=kind, raw=block, path=path)
    return MediaPart(media=media, raw=block, path=path)


def _document_text(block: JsonObject, kind: str) -> str:
    """Return the text of a search result, or of a document whose source has the type
    ``content``.
    """
    if kind == "search_result":
        return search_result_text(block)
    source = block.get("source")
    if kind != "document" or not isinstance(source, dict) or source.get("type") != "content":
        return ""
    content = source.get("content")
    if isinstance(content, list):
        content = as_text(as_result_parts(_read_block(inner, "") for inner in content))
    return search_result_text(
        {"title": block.get("title"), "context": block.get("context"), "content": content}
    )


def _read_media(block: JsonObject) -> Image | File | None:
    """Return the image or the document in a block; ``None`` if other
    providers cannot read its source.
    """
    source = block.get("source")
    if block.get("type") not in ("image", "document") or not isinstance(source, dict):
        return None
    media_type, name = (
        str(source.get("media_type") or "image/png"),
        str(block.get("title") or "file"),
    )
    is_image, url = block["type"] == "image", source.get("url")
    if isinstance(url, str):
        if is_image:
            return Image(url=url)
        return File(url=url, name=str(block.get("title") or file_name_in_url(url) or "file"))
    try:
        if source.get("type") == "text":
            data = str(source["data"]).encode()
        else:
            data = decode_base64(source["data"])
    except (KeyError, ValueError):
        return None
    if is_image:
        return Image(data, media_type)
    return File(data, media_type, name)


def _read_result(block: JsonObject, path: str) -> ToolResultPart:
    content = block.get("content")
    parts: tuple[Part, ...] = ()
    referred = _references_in(content)
    if referred is not None:  # what a search found: another provider reads the names
        content = found_text(referred)
    elif isinstance(content, list) and any(
        isinstance(inner, dict) and inner.get("type") != "text" for inner in content
    ):
        parts = as_result_parts(_read_block(inner, "") for inner in content)
        content = as_text(parts)
    code = "tool_error" if block.get("is_error") else None
    return result_part(
        block.get("tool_use_id"),
        "",
        content_as_text(content),
        code=code,
        parts=parts,
        raw=block,
        path=path,
    )


def write_call(call_id: str, name: str, arguments: Any) -> JsonObject:
    """Write the block for a call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def write_call_part(call: ToolCallPart) -> JsonObject:
    return write_call(call.id, call.wire_name, arguments_object(call))


def write(message: Message) -> list[WireMessage]:
    """Write one message. In a user's message, results come first."""
    role = "assistant" if message.role == "assistant" else "user"
    if (
        len(message.parts) == 1
        and isinstance(only_part := message.parts[0], TextPart)
        and only_part.raw is None
    ):
        return [{"role": role, "content": only_part.text}]
    return [
        {
            "role": role,
            "content": write_blocks(message, write_call_part, write_result_part, _write_part),
        }
    ]


def _write_part(part: MessagePart) -> JsonObject:
    if isinstance(part, MediaPart):
        return write_piece(part.media)
    return {"type": "text", "text": getattr(part, "text", "")}


_MEDIA_TYPES = frozenset(
    {"image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", "text/*"}
)


def write_piece(part: Part) -> JsonObject:
    """Write a part of a message as a text, image or document block; describe other media as
    text.
    """
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    part = by_media_type(part)
    if media_kind_of(part) not in ("image", "file") or not is_taken(part, _MEDIA_TYPES):
        return {"type": "text", "text": named(part)}
    source: JsonObject = {"type": "base64", "media_type": part.media_type, "data": encoded(part)}
    if part.url:
        source = {"type": "url", "url": part.url}
    if isinstance(part, Image):
        return {"type": "image", "source": source}
    if part.media_type.startswith("text/") and part.data:  # a text document is sent as text
        source = {
            "type": "text",
            "media_type": "text/plain",
            "data": part.data.decode(errors="replace"),
        }
    return {"type": "document", "source": source, "title": part.name}


def read_system(request: JsonObject) -> list[Message]:
    """Read the system prompt, a string or a list of blocks, from the request's field for it."""
    return read_system_prompt(request.get("system"), "system")


def _write_system(messages: Sequence[Message]) -> JsonObject:
    parts = [part for message in messages for part in message.parts]
    if all(isinstance(part, TextPart) and not isinstance(part.raw, dict) for part in parts):
        return {"system": "\n\n".join(part.text for part in parts if isinstance(part, TextPart))}
    return {
        "system": [part.raw if isinstance(part.raw, dict) else _write_part(part) for part in parts]
    }


_IDS = r"[a-zA-Z0-9_-]+"


def with_id(raw: JsonObject, call_id: str | None) -> JsonObject:
    """Return a copy of a call or result block with a new id."""
    return with_id_at(raw, "tool_use_id" if raw.get("type") == "tool_result" else "id", call_id)


def _own_call(part: ProviderPart) -> tuple[str | None, str | None]:
    """Return the id of a server tool's call, and of the call that its result answers.

    The blocks of the MCP connector are none of these: nobody has reported that one alone is
    refused.
    """
    is_call = part.kind == "server_tool_use"
    call_id = member(part.raw, "id" if is_call else "tool_use_id")
    if not isinstance(call_id, str) or part.kind == "mcp_tool_result":
        return None, None
    if is_call:
        return (call_id, None)
    return (None, call_id)


def _without_blank(block: JsonObject) -> JsonObject:
    """Return a result without blank texts: they must hold more than white space, as outer ones."""
    content = block.get("content")
    if not isinstance(content, list):
        return block
    kept = [
        inner
        for inner in content
        if not isinstance(text := member(inner, "text"), str) or text.strip()
    ]
    if len(kept) == len(content):
        return block
    return {**block, "content": kept}


HISTORIES = Histories(
    key="messages",
    read=read,
    read_system=read_system,
    write=write,
    with_id=with_id,
    system=_write_system,
    joins=True,
    input_kinds=frozenset({"image", "image_url", "file", "file_url"}),
    opaque_keys=frozenset({"signature"}),
    continued_by=frozenset({"thread"}),  # anthropic 2.12.0, beta
    own_call=_own_call,
    without_blank=_without_blank,
    media_types=_MEDIA_TYPES,
    rules=(
        *history_rules(
            "aaif-goose/goose#1624, 2025-03; anthropics/claude-code#2697, 2025-06",
            "unanswered_call",
            "open_turn",
            "orphan_result",
            "late_result",
            "split_results",
        ),
        *history_rules(
            "QwenLM/qwen-code#8164, 2026-07: the id of a call matches [a-zA-Z0-9_-]+",
            "call_id",
            pattern=_IDS,
        ),
        *history_rules("BerriAI/litellm#23510, 2026-03", "duplicate_id", "duplicate_result"),
        *history_rules("earendil-works/pi#4071, 2026-05", "text_after_call"),
        *history_rules(
            "anthropics/claude-code#23369, 2026-02, and #59812, 2026-05: text must be more than "
            "white space",
            "blank_text",
            "empty_message",
        ),
        *history_rules("a recorded 400, 2026: ^[a-zA-Z0-9_-]{1,128}$", "tool_name"),
        *history_rules(
            "anthropic 2.12.0 ToolUseBlockParam: the input is an object, 2026-11-22",
            "malformed_arguments",
            pattern=AN_OBJECT,
        ),
        *history_rules(
            "BerriAI/litellm#31654, 2026; maximhq/bifrost#6942, 2026-09, about Claude on "
            "Bedrock: Invalid signature. Others who "
            "serve this form send no signatures, and want the reasoning back: "
            "lsdefine/GenericAgent#357, 2026-05",
            "unsigned_reasoning",
            models="^$|claude|opus|sonnet|haiku|mythos|fable",
            pattern="signature|data",
        ),
        *history_rules(
            "LibreChat-AI/agents#216, 2026-06: a call without its result; "
            "anthropics/claude-code#95406, 2026-09: a result "
            "without its call",
            "server_tool_alone",
        ),
        *history_rules(
            "Anthropic's documentation, read 2026-11: no prefill from 4.6 on; a message that "
            "ended with pause_turn "
            "is sent back unchanged",
            "last_is_assistant",
            models=r"(opus|sonnet|haiku)-(4-[6-9]|[5-9])|mythos|fable",
            pattern=r"(server|mcp)_tool_use|\w+_tool_result",
        ),
        *history_rules(
            "zed-industries/zed#33643, 2025-06; langchain-ai/langchain#35071, 2026-02",
            "trailing_space",
        ),
        *history_rules(
            "Anthropic's documentation, for accounts from 2026-08-31; anomalyco/opencode#46653, "
            "2026-09",
            "signed_prefix",
        ),
    ),
)
"""How to read and write messages, and the history rules with the evidence for each."""


# --- leaf functions: one reader and one writer for calls, one writer for results


def read_call(block: Any) -> WireCall:
    return WireCall(
        member(block, "id") or "", member(block, "name") or "", member(block, "input"), block
    )


def with_object_arguments(block: JsonObject) -> JsonObject:
    """Return a block that a request accepts.

    Arguments that were cut off are text, so wrap this text in an object.
    """
    text = block.get("input")
    if isinstance(text, str):
        return {**block, "input": {"INVALID_JSON": text}}
    return block


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    return [
        {
            "role": "assistant",
            "content": [write_call(call.id, call.wire_name, call.arguments) for call in calls],
        }
    ]


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    """Write one user message with all results, in the order of the calls.

    The message must directly follow the assistant's message. The server answers any other form with
    a 400.
    """
    content: list[JsonObject] = []
    for result in results:
        call_id, text = result.call.id, result.text
        if result.is_text and result.error is None:  # neither parts nor what a search found
            content.append({"type": "tool_result", "tool_use_id": call_id, "content": text})
        elif references := _references(result):
            content.append({"type": "tool_result", "tool_use_id": call_id, "content": references})
        else:
            is_error = result.error is not None
            content.append(write_result(call_id, text, result.parts, is_error=is_error))
    return [{"role": "user", "content": content}]


def _references(result: Result) -> list[JsonObject] | None:
    """Return the blocks that load the tools that a search found; nothing stands beside them.

    An empty list is refused, so a search that found nothing is a text. The form is that of the
    guide to tool search, and of a recorded round trip without a beta header, 2026-11-28.
    """
    found = found_entries(result)
    if found is None:
        return None
    return [{"type": "tool_reference", "tool_name": name} for name in found]


def load_found(
    messages: Sequence[WireMessage],
    entries: Mapping[str, JsonObject],
    search_names: Collection[str],
) -> list[WireMessage]:
    """Write references in place of the text of each search's result.

    A reference to a tool that is not sent is refused, so such tools are left out.
    """
    searches: set[Any] = set()
    written: list[WireMessage] = []
    for message in messages:
        blocks = message.get("content")
        if isinstance(blocks, list):
            searches |= {
                block.get("id")
                for block in blocks
                if block.get("type") == "tool_use" and block.get("name") in search_names
            }
            loaded = [_with_references(block, searches, entries) for block in blocks]
            message = {**message, "content": loaded}  # noqa: PLW2901 - the message as it is sent
        written.append(message)
    return written


def _with_references(
    block: JsonObject, searches: set[Any], entries: Mapping[str, JsonObject]
) -> JsonObject:
    # A block is rewritten only if it must be, so that the request keeps its prefix: a text of a
    # search becomes references, and references lose the tools that are not sent.
    if block.get("type") != "tool_result" or block.get("is_error"):
        return block
    content = block.get("content")
    referred = _references_in(content)
    if referred is None and block.get("tool_use_id") not in searches:
        return block
    found = (found_names(content) or []) if referred is None else referred
    # ``entries`` knows each tool by its own name and by the name that is sent, which is referred
    # to.
    sent_names = [entries[name]["name"] for name in found if name in entries]
    if sent_names == referred or (referred is None and not sent_names):
        return block
    # An empty list of references is refused: they become a text again.
    if not sent_names:
        return {**block, "content": found_text(found)}
    references = [{"type": "tool_reference", "tool_name": name} for name in sent_names]
    return {**block, "content": references}


def _references_in(content: Any) -> list[str] | None:
    """Return the names of the tools to which a result refers; ``None`` if it holds anything
    else.
    """
    if not isinstance(content, list) or not content:
        return None
    if any(member(block, "type") != "tool_reference" for block in content):
        return None
    return [str(member(block, "tool_name")) for block in content]


def write_result_part(part: ToolResultPart) -> JsonObject:
    return write_result(part.id, result_text(part), part.parts, is_error=part.code is not None)


def write_result(call_id: str, text: str, parts: tuple[Part, ...], *, is_error: bool) -> JsonObject:
    """Write the block for a result."""
    block: JsonObject = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    if parts:  # a blank text is refused: anthropics/claude-code#59812, 2026-05
        block["content"] = [write_piece(part) for part in parts if not is_blank(part)]
    if is_error:
        block["is_error"] = True
    return block

"""Reads and writes the messages of Chat Completions, and of vendors with the same form.

The types come from openai 3.54.0, read on 2026-11-22.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from toolshape._families.wire.bodies import member
from toolshape._families.wire.content import (
    arguments_object,
    arguments_text,
    as_result_parts,
    audio_file,
    audio_format,
    call_part,
    content_as_text,
    content_list,
    decode_base64,
    is_empty,
    join_text,
    media_from_url,
    result_part,
    result_text,
    split_error_mark,
    with_id_at,
    without_error_mark,
)
from toolshape._families.wire.histories import (
    A_TEXT,
    IN_ONE_MESSAGE,
    NULL,
    Histories,
    history_rules,
)
from toolshape._records.calls import (
    PLAIN_TEXT,
    JsonObject,
    WireCall,
    WireMessage,
    new_record,
    plain_text,
)
from toolshape._records.parts import (
    File,
    Image,
    Part,
    Text,
    as_text,
    by_media_type,
    data_url,
    encoded,
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
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip
_READ = {"role", "content", "tool_calls", "tool_call_id", "function_call"}
_REASONING = ("reasoning_content", "reasoning", "reasoning_details", "tool_plan", "thinking")
"""The keys that hold a model's reasoning.

The vendors, in the order of the keys: DeepSeek and similar vendors; Groq and OpenRouter;
OpenRouter; Cohere; Ollama.
"""


def read(item: JsonObject, path: str) -> Message:
    """Convert a wire message to a ``Message``."""
    role = _ROLES.get(str(item.get("role")))
    if role is None:
        raise ValueError(
            f"these are another provider's messages: there is no role {item.get('role')!r}"
        )
    if role == "tool":
        return Message(role="tool", parts=(_read_result(item),), raw=item, path=path)
    parts = [
        *_read_reasoning(item),
        *_read_content(item.get("content")),
        *_read_other_members(item),
        *_read_calls(item),
    ]
    return Message(role=role, parts=tuple(parts), raw=item, path=path)


def _read_other_members(item: JsonObject) -> list[MessagePart]:
    """Read the members that no other function reads, except empty members.

    Some gateways send every key, even without a value.
    """
    keys = [
        key
        for key in item
        if key not in _READ and key not in _REASONING and not is_empty(item[key])
    ]
    return [_read_member(key, item[key]) for key in keys]


def _read_member(key: str, value: Any) -> MessagePart:
    """Read a member.

    Refusals and transcripts of audio become the assistant's text; others become provider parts.
    """
    text = value if key == "refusal" else None
    if isinstance(value, dict) and key == "audio":
        text = value.get("transcript")
    if isinstance(text, str) and text:
        return TextPart(text=text, raw={key: value}, path=key)
    return ProviderPart(kind=key, raw={key: value}, path=key)


def _read_calls(item: JsonObject) -> list[MessagePart]:
    """Read the calls of a message.

    A call that has neither a name nor an id (some gateways send these) becomes a provider part.
    """
    calls = item.get("tool_calls")
    if isinstance(calls, list) and calls:
        parts = [
            _read_call_part(call, f"tool_calls[{position}]")
            for position, call in enumerate(calls)
            if isinstance(call, dict)
        ]
        return [
            part
            if part.id or part.wire_name
            else ProviderPart(kind="tool_calls", raw={}, path=part.path)
            for part in parts
        ]
    legacy_call = item.get("function_call")
    if not isinstance(legacy_call, dict) or not legacy_call.get("name"):
        return []
    name, arguments = str(legacy_call["name"]), legacy_call.get("arguments")
    return [
        ToolCallPart(
            id="", wire_name=name, arguments_raw=arguments, raw=legacy_call, path="function_call"
        )
    ]


def _read_reasoning(item: JsonObject) -> Iterable[MessagePart]:
    """Read the reasoning of a message: all reasoning keys together become one part."""
    members = {key: item[key] for key in _REASONING if item.get(key)}
    if not members:
        return ()
    texts = [
        value if isinstance(value, str) else content_as_text(value) for value in members.values()
    ]
    return [ReasoningPart(text=texts[0], raw=members, path=next(iter(members)))]


def _read_content(content: Any) -> list[MessagePart]:
    if isinstance(content, str):
        if content:
            return [TextPart(text=content, path="content")]
        return []
    return [
        _read_piece(entry, f"content[{position}]")
        for position, entry in enumerate(content_list(content))
    ]


def _read_piece(piece: Any, path: str) -> MessagePart:
    if not isinstance(piece, dict):
        return TextPart(text=str(piece), raw=piece, path=path)
    kind = piece.get("type", "text" if "text" in piece else "")
    if kind in ("tool_use", "tool_result"):
        raise ValueError(f"these are another provider's messages: a block has the type {kind!r}")
    if kind == "text" and isinstance(piece.get("text"), str):
        return TextPart(text=piece["text"], raw=piece, path=path)
    if kind == "refusal" and isinstance(piece.get("refusal"), str) and piece["refusal"]:
        return TextPart(text=piece["refusal"], raw=piece, path=path)
    # Mistral writes a list of text parts, Cohere a single string.
    if kind in (
        "thinking",
        "reasoning",
    ):
        return ReasoningPart(
            text=content_as_text(piece.get("thinking", piece.get("text"))), raw=piece, path=path
        )
    media = read_media(piece)
    if media is not None:
        return MediaPart(media=media, raw=piece, path=path)
    return ProviderPart(kind=str(kind), raw=piece, path=path)


def read_media(piece: JsonObject) -> Image | File | None:
    """Return the image, audio, video or file in a content part; ``None`` if there is
    none, or if it cannot be read.
    """
    try:
        return _media(piece.get("type"), piece)
    except (ValueError, TypeError, AttributeError, LookupError):
        return None


_URLS = {
    "image_url": ("image", ""),
    "audio_url": ("file", "audio/mpeg"),
    "video_url": ("file", "video/mp4"),
}
"""The content parts that hold a URL, with their kind of media and default media type.

OpenAI has only ``image_url``.
"""


def _media(kind: Any, piece: JsonObject) -> Image | File | None:  # noqa: PLR0911 - one return for each kind
    if kind in _URLS:
        source, (family, media_type) = piece.get(kind), _URLS[kind]
        return media_from_url(
            str(source["url"] if isinstance(source, dict) else source),
            kind=family,
            media_type=media_type,
        )
    if kind == "input_audio":
        source = piece["input_audio"]
        if isinstance(source, dict):
            return audio_file(source["data"], str(source.get("format") or "wav"))
        # Mistral writes a URL, or base64.
        is_url = str(source).startswith(("data:", "http://", "https://"))
        if is_url:
            return media_from_url(source, kind="file", media_type="audio/mpeg")
        return audio_file(source, "mp3")
    if kind == "file" and isinstance(piece.get("file"), dict):
        file = piece["file"]
        if not isinstance(file.get("file_data"), str):
            return None
        name = str(file.get("filename") or "file")
        if not file["file_data"].startswith("data:"):
            return File(decode_base64(file["file_data"]), name=name)
        return media_from_url(file["file_data"], name=name, kind="file")
    if kind == "document_url" and isinstance(piece.get("document_url"), str):  # Mistral
        return media_from_url(
            piece["document_url"], name=str(piece.get("document_name") or ""), kind="file"
        )
    return None


def _read_call_part(call: JsonObject, path: str) -> ToolCallPart:
    """Read a call from a message."""
    return call_part(read_call(call), path)


def normalise_id(given: Any) -> Any:
    """Return an id, or an empty string if it is missing.

    Mistral's SDK writes a missing id as the string "null".
    """
    if given is None or given == "null":
        return ""
    return given


def _read_result(item: JsonObject) -> ToolResultPart:
    content = item.get("content")
    media: list[Part] = []
    if isinstance(content, list):
        pieces = [_read_piece(entry, "") for entry in content]
        is_document = any(
            isinstance(inner, ProviderPart) and inner.kind == "document" for inner in pieces
        )
        if not is_document and any(not isinstance(inner, TextPart) for inner in pieces):
            media = list(as_result_parts(pieces))
    text, code = split_error_mark(as_text(tuple(media)) if media else _result_text(content))
    name = item.get("name") or item.get("tool_name")
    return result_part(
        normalise_id(item.get("tool_call_id")),
        name,
        text,
        code=code,
        parts=without_error_mark(tuple(media)),
        raw=item,
        path="",
    )


def _result_text(content: Any) -> str:
    """Return the text of a result. Cohere's results may be lists of documents."""
    if not isinstance(content, list):
        return content_as_text(content)
    documents = [
        block.get("document", {})
        for block in content
        if isinstance(block, dict) and block.get("type") == "document"
    ]
    if not documents:
        return content_as_text(
            [block for block in content if not isinstance(block, dict) or "text" in block]
        )
    data = [
        document.get("data") if isinstance(document, dict) else document for document in documents
    ]
    return "\n".join(
        datum if isinstance(datum, str) else json.dumps(datum, ensure_ascii=False) for datum in data
    )


class VendorForm(NamedTuple):
    """How a vendor's messages differ from OpenAI's messages.

    ``name_key`` is the key that holds the tool's name in the message of a result.
    ``sends_made_up_ids``: if the model gave a call no id, the call and its result are sent with a
    generated id. ``shows_media``: the images and files of a result follow the result in a user's
    message. ``arguments`` is the form of a call's arguments.
    """

    name_key: str = ""
    sends_made_up_ids: bool = True
    shows_media: bool = False
    arguments: Literal["text", "object"] = "text"


OPENAI_FORM = VendorForm(shows_media=True)


def write(message: Message, form: VendorForm = OPENAI_FORM) -> list[WireMessage]:
    """Write each result as a separate message, then all other parts as one message."""
    results = [part for part in message.parts if isinstance(part, ToolResultPart)]
    messages = _write_results(results, form)
    other_parts = [part for part in message.parts if not isinstance(part, ToolResultPart)]
    if other_parts or not results:
        messages.append(_write_message(message.role, other_parts, form))
    return messages


def _write_results(results: list[ToolResultPart], form: VendorForm) -> list[WireMessage]:
    """Write one message for each result, in order, and then one message with the
    images and files of all results.
    """
    messages: list[WireMessage] = []
    media: list[JsonObject] = []
    for part in results:
        if part.raw is not None:
            messages.append(part.raw)
        elif _is_legacy(part.call_raw):
            messages.append(
                _write_legacy_result(part.wire_name, add_error_mark(result_text(part), part.code))
            )
        else:
            messages.append(write_result_part(part, form))
        if part.raw is None and part.parts and form.shows_media:
            media += _media_content(part.id, part.wire_name, part.parts)
    if media:
        return [*messages, {"role": "user", "content": media}]
    return messages


def _write_call_part(call: ToolCallPart, form: VendorForm) -> JsonObject:
    if (text := plain_text(call.arguments_raw)) is not None:
        return write_custom_call(call.id, call.wire_name, text)
    arguments = arguments_text(call) if form.arguments == "text" else arguments_object(call)
    wire_call = write_call(call.id, call.wire_name, arguments)
    is_sent = call.id and (call.has_id or form.sends_made_up_ids)
    return wire_call if is_sent else {key: value for key, value in wire_call.items() if key != "id"}


def _write_message(role: str, parts: Sequence[MessagePart], form: VendorForm) -> WireMessage:
    message: WireMessage = {"role": role, "content": None if form.arguments == "text" else ""}
    calls: list[JsonObject] = []
    for part in parts:
        if isinstance(part, ToolCallPart):
            if part.path == "function_call" and part.raw is not None:
                message["function_call"] = part.raw
            else:
                calls.append(_write_call_part(part, form) if part.raw is None else part.raw)
        elif not _is_content(part) and isinstance(part.raw, dict) and "type" not in part.raw:
            message.update(part.raw)
    content_parts = [part for part in parts if _is_content(part)]
    if content_parts:
        message["content"] = _write_content(content_parts, role)
    if calls:
        message["tool_calls"] = calls
    return message


_SAID_BESIDE = ("refusal", "audio")
"""The keys of a message that hold text in addition to its content."""


def _is_content(part: MessagePart) -> bool:
    if isinstance(part, (TextPart, MediaPart)):
        return part.path not in _SAID_BESIDE or part.raw is None
    return (
        isinstance(part, (ReasoningPart, ProviderPart))
        and isinstance(part.raw, dict)
        and "type" in part.raw
    )


def _write_content(pieces: list[MessagePart], role: str) -> Any:
    """Return the content as a string if possible, because all vendors accept a
    string; otherwise as a list of parts.

    A single new text becomes a string. For the assistant, several new texts are joined into a
    string.
    """
    if all(isinstance(part, TextPart) and part.raw is None for part in pieces) and (
        len(pieces) == 1 or role == "assistant"
    ):
        return join_text(pieces, role)
    return [media_piece(part) if part.raw is None else part.raw for part in pieces]


def media_piece(part: MessagePart) -> JsonObject:
    """Write a text, image, audio, video or file for the content of a user's message."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if not isinstance(part, MediaPart):
        return {"type": "text", "text": ""}
    media = by_media_type(part.media)
    kind = media_kind_of(media)
    if isinstance(media, Image):
        return {"type": "image_url", "image_url": {"url": data_url(media)}}
    if kind == "audio" and media.data:
        return {
            "type": "input_audio",
            "input_audio": {"data": encoded(media), "format": audio_format(media)},
        }
    if kind == "video":
        return {"type": "video_url", "video_url": {"url": data_url(media)}}
    return {"type": "file", "file": {"filename": media.name, "file_data": data_url(media)}}


PAIRING = (
    *history_rules(
        "openai/openai-agents-python#1061, 2025-08", "unanswered_call", "open_turn", "late_result"
    ),
    *history_rules(
        "openai/openai-agents-python#1061, 2025-08: a result answers a call",
        "orphan_result",
        "duplicate_result",
    ),
)
_NAMES = history_rules("openai 3.54.0 FunctionDefinition, 2026-11-22", "tool_name")
_FILES = frozenset({"text/*", "application/*", "audio/wav", "audio/mpeg"})


def with_id(raw: JsonObject, call_id: str | None) -> JsonObject | None:
    """Return a call or a result with another id; ``None`` for the forms of 2023,
    which have names instead of ids.
    """
    if raw.get("role") == "function" or raw.keys() <= {"name", "arguments"}:
        return None
    return with_id_at(
        raw, "id" if "function" in raw or "custom" in raw else "tool_call_id", call_id
    )


_ONE_ID_A_CALL = history_rules(
    "HKUDS/nanobot#3943, 2026-05; agno-agi/agno#5116, 2025: a 400 for two results of one id",
    "duplicate_id",
    pattern=IN_ONE_MESSAGE,
)
HISTORIES = Histories(
    key="messages",
    read=read,
    write=write,
    with_id=with_id,
    input_kinds=frozenset({"image", "image_url", "file", "audio"}),
    # openai 3.54.0 InputAudio accepts wav or mp3. Since 2026-02-24, files may be documents of any
    # kind: pydantic/pydantic-ai#4445.
    media_types=_FILES | {"image/jpeg", "image/png", "image/gif", "image/webp"},
    rules=(
        *PAIRING,
        *history_rules(
            "anomalyco/opencode#12653, 2026-02: at most 40 characters",
            "call_id",
            pattern=r"(?s).{1,40}",
        ),
        *_ONE_ID_A_CALL,
        *history_rules(
            "run-llama/llama_index#17555, 2025-01; vercel/ai#13744, 2026-04: null, and no calls",
            "empty_message",
            pattern=NULL,
        ),
        *history_rules(
            "OpenHands/OpenHands#7700, 2025; openai/openai-openapi#523, 2026-02", "media_in_result"
        ),
        *history_rules(
            "openai 3.57.0 ChatCompletionMessageFunctionToolCallParam: the arguments are text, "
            "2026-11-27",
            "malformed_arguments",
            pattern=A_TEXT,
        ),
        *_NAMES,
    ),
)
_HAS_ID = history_rules(
    "openai 3.54.0: a call and its result have an id, 2026-11-22", "call_id", pattern=r"(?s).+"
)
VENDOR_HISTORIES = replace(
    HISTORIES,
    media_types=_FILES | {"image/*"},
    rules=(*PAIRING, *_HAS_ID, *_ONE_ID_A_CALL, *_NAMES),
)
"""The form of other vendors' histories.

Only OpenAI refuses long ids, and images in results. Other vendors accepted both in 2026.
"""
WITH_VIDEO = replace(
    VENDOR_HISTORIES,
    input_kinds=VENDOR_HISTORIES.input_kinds | {"video", "video_url"},
    media_types=_FILES | {"image/*", "video/*"},
)
"""How to read and write the histories of vendors that accept ``video_url``."""


# --- leaf functions: one reader and one writer for calls, one writer for results


def write_call(call_id: str, name: str, arguments: Any) -> JsonObject:
    """Write a call in a message; its arguments are JSON text."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def write_custom_call(call_id: str, name: str, text: str) -> JsonObject:
    """Write a call whose arguments are plain text
    (``ChatCompletionMessageCustomToolCallParam`` of openai 3.57.0).
    """
    return {"id": call_id, "type": "custom", "custom": {"name": name, "input": text}}


def write_any_call(call: WireCall) -> JsonObject:
    """Write a call to a function, or to a custom tool if its arguments are plain text."""
    text = plain_text(call.arguments)
    if text is not None:
        return write_custom_call(call.id, call.wire_name, text)
    arguments = call.arguments
    if not isinstance(arguments, str):  # a fake may send text that is no JSON
        arguments = json.dumps(arguments, ensure_ascii=False)
    return write_call(call.id, call.wire_name, arguments)


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    tool_calls = [write_any_call(call) for call in calls]
    return [{"role": "assistant", "content": None, "tool_calls": tool_calls}]


def read_call(call: Any) -> WireCall:
    """Read a call to a function or to a custom tool from a message."""
    function = member(call, "function")
    if function is None:  # {"type": "custom"}: the arguments are plain text
        custom = member(call, "custom")
        text = member(custom, "input")
        if isinstance(text, str):
            arguments = {PLAIN_TEXT: text}
        else:
            arguments = text
        return WireCall(
            normalise_id(member(call, "id")), member(custom, "name") or "", arguments, call
        )
    call_id = normalise_id(member(call, "id"))
    return new_record(
        WireCall, (call_id, member(function, "name") or "", member(function, "arguments"), call)
    )


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    """Write one message for each result: every call needs a result directly
    after the assistant's message.

    There is no error flag. A tool's message holds only text, so images and files follow in one
    user's message.
    """
    answers: list[WireMessage] = []
    media: list[JsonObject] | None = None
    for call, _, error, _, _, raw_text, _, parts, _, _ in results:
        text = raw_text
        if error is not None or "Error [" in raw_text:
            text = add_error_mark(raw_text, None if error is None else error.code)
        raw = call.raw
        if (type(raw) is dict and "function" in raw) or not _is_legacy(raw):
            answers.append(write_result(call.id, text))
        else:
            answers.append(_write_legacy_result(call.wire_name, text))
        if parts:
            media = media or []
            media += _media_content(call.id, call.wire_name, parts)
    if media:
        return [*answers, {"role": "user", "content": media}]
    return answers


def write_result(call_id: str, text: str) -> WireMessage:
    """Write the message for a result; if the result is an error,
    ``text`` already has the error mark.
    """
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def write_results_as(form: VendorForm, results: Sequence[Result]) -> list[WireMessage]:
    """Write one message for each result, in the vendor's form."""
    messages: list[WireMessage] = []
    for call, _, error, _, _, raw_text, _, _, _, _ in results:
        text = raw_text
        if error is not None or "Error [" in raw_text:
            text = add_error_mark(raw_text, None if error is None else error.code)
        has_id = form.sends_made_up_ids or member(call.raw, "id") not in (None, "")
        messages.append(_vendor_message(form, call.id if has_id else None, text, call.wire_name))
    return messages


def write_result_part(part: ToolResultPart, form: VendorForm) -> WireMessage:
    """Write the message for a stored result, in the vendor's form."""
    text = add_error_mark(result_text(part), part.code)
    if form is OPENAI_FORM:
        return write_result(part.id, text)
    has_id = form.sends_made_up_ids or (
        part.has_id and bool(part.id)
        if part.call_raw is None
        else member(part.call_raw, "id") not in (None, "")
    )
    return _vendor_message(form, part.id if has_id else None, text, part.wire_name)


def _vendor_message(form: VendorForm, call_id: str | None, text: str, name: str) -> WireMessage:
    """Return the message for a result in the vendor's form, with the error mark
    in ``text``; ``None`` is no id.
    """
    message: WireMessage = {"role": "tool"}
    if call_id is not None:
        message["tool_call_id"] = call_id
    message["content"] = text
    if form.name_key:
        message[form.name_key] = name
    return message


def _write_legacy_result(name: str, text: str) -> WireMessage:
    """Write the result of a ``function_call`` (the form of 2023).

    OpenAI matches the result to the call by name.
    """
    return {"role": "function", "name": name, "content": text}


def _media_content(call_id: str, name: str, parts: Sequence[Part]) -> list[JsonObject]:
    """Write text that names the result, then its images and files; return an empty
    list if the result has no media.
    """
    media = [part for part in parts if not isinstance(part, Text)]
    if not media:
        return []
    content: list[JsonObject] = [
        {"type": "text", "text": f"From the result of {name} ({call_id}):"}
    ]
    types = HISTORIES.media_types
    for part in map(by_media_type, media):
        if not isinstance(part, Image) and not part.data:
            content.append({"type": "text", "text": part.url})
        elif media_kind_of(part) in ("audio", "video") and not is_taken(part, types):
            content.append({"type": "text", "text": named(part)})
        else:
            content.append(media_piece(MediaPart(media=part)))
    return content


def _is_legacy(call: Any) -> bool:
    """Return whether a call is a ``function_call`` of 2023: a name and arguments without a
    wrapper.
    """
    return member(call, "name") is not None and member(call, "arguments") is not None


_ERROR_MARK = re.compile(r" *Error \[[a-z_]+\]: ")


def add_error_mark(text: str, code: str | None) -> str:
    """Return the text of a result for families without an error flag: an error's
    text gets a mark at the beginning.

    If a value begins like an error mark, it gets a leading space. So the mark is reliable, and the
    value can be read back.
    """
    if code is not None:
        return f"Error [{code}]: {text}"
    if _ERROR_MARK.match(text):
        return f" {text}"
    return text

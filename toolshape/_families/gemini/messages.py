"""Reads and writes messages ("contents") for Gemini's generateContent.

From the types in google-genai 3.4.0. The types were read on 2026-11-22.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape._families.wire.bodies import member, result_json, to_plain_json
from toolshape._families.wire.content import (
    arguments_object,
    call_part,
    content_list,
    decode_base64,
    read_system_prompt,
    result_part,
    result_text,
    stored_json,
    with_id_at,
    write_blocks,
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
    is_taken,
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

_SIGNATURES = ("thoughtSignature", "thought_signature")
SKIPPED_SIGNATURE = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""``skip_thought_signature_validator`` as base64: Gemini 3 accepts this
value in place of a signature.
"""


def _get_either(node: JsonObject, camel: str, snake: str) -> Any:
    """Return the value of a key in either spelling, because the SDK accepts both."""
    return node.get(camel, node.get(snake))


def read(item: JsonObject, path: str) -> Message:
    raw_parts = item.get("parts")
    if raw_parts is None and item.get("content") is not None:
        raise ValueError("a Gemini message has 'parts', not 'content'")
    if isinstance(raw_parts, (dict, str)):
        entries = [raw_parts]
    else:
        entries = content_list(raw_parts, "parts")
    parts = [_read_part(entry, f"parts[{at}]") for at, entry in enumerate(entries)]
    role: Any = {"model": "assistant", "assistant": "assistant", "system": "system"}.get(
        str(item.get("role")), "user"
    )
    if parts and role == "user" and all(isinstance(part, ToolResultPart) for part in parts):
        role = "tool"
    return Message(role=role, parts=tuple(parts), raw=item, path=path)


def _read_part(part: Any, path: str) -> MessagePart:  # noqa: PLR0911 - one return for each kind
    if not isinstance(part, dict):
        return TextPart(text=str(part), raw=part, path=path)
    if function_call(part) is not None:
        return call_part(read_call(part), path)
    response = _get_either(part, "functionResponse", "function_response")
    if isinstance(response, dict):
        return _read_result(response, part, path)
    if isinstance(part.get("text"), str):
        kind = ReasoningPart if part.get("thought") else TextPart
        return kind(text=part["text"], raw=part, path=path)
    media = _read_media(part)
    if media is not None:
        return MediaPart(media=media, raw=part, path=path)
    keys = [key for key in part if key not in _SIGNATURES]
    if not keys:
        return ReasoningPart(text="", raw=part, path=path)
    return ProviderPart(kind=keys[0], raw=part, path=path)


def _read_media(part: JsonObject) -> Image | File | None:
    data, file_data = (
        _get_either(part, "inlineData", "inline_data"),
        _get_either(part, "fileData", "file_data"),
    )
    source = data if isinstance(data, dict) else file_data
    if not isinstance(source, dict):
        return None
    media_type = str(_get_either(source, "mimeType", "mime_type") or "application/octet-stream")
    url = _get_either(source, "fileUri", "file_uri")
    display_name = _get_either(source, "displayName", "display_name") or (
        file_name_in_url(url) if isinstance(url, str) else ""
    )
    is_image, name = media_type.startswith("image/"), str(display_name or "file")
    if isinstance(url, str):
        if is_image:
            return Image(b"", media_type, url)
        return File(b"", media_type, name, url)
    try:
        content = decode_base64(source["data"])
    except (KeyError, ValueError):
        return None
    if is_image:
        return Image(content, media_type)
    return File(content, media_type, name)


def _read_result(response: JsonObject, part: JsonObject, path: str) -> ToolResultPart:
    """Read a function response.

    If its only key is ``output`` or ``error`` (documented) or ``result``, unwrap it.
    """
    output = response.get("response")
    value, code = output, None
    if isinstance(output, dict) and output.keys() in ({"output"}, {"error"}, {"result"}):
        [(key, value)] = output.items()
        code = "tool_error" if key == "error" else None
    is_text = isinstance(value, str)
    text = ""
    if value is not None:
        if isinstance(value, str):
            text = value
        else:
            text = write_json(value)
    inner_parts = [_read_part(inner, "") for inner in response.get("parts") or ()]
    media: list[Part] = [inner.media for inner in inner_parts if isinstance(inner, MediaPart)]
    parts: tuple[Part, ...] = ()
    if media:
        parts = (Text(text), *media) if text else (*media,)
    text = as_text(parts) if parts else text
    fields: JsonObject = {
        "code": code,
        "is_text": is_text,
        "parts": parts,
        "raw": part,
        "path": path,
    }
    return result_part(response.get("id"), response.get("name"), text, **fields)


def write_call(call_id: str, name: str, arguments: Any) -> JsonObject:
    """Write the part for a call, and omit an empty id. Do not pass an id that toolshape
    generated.
    """
    id_field: JsonObject = {"id": call_id} if call_id else {}
    return {"functionCall": {**id_field, "name": name, "args": arguments}}


def write_call_part(call: ToolCallPart) -> JsonObject:
    return write_call(call.id if call.has_id else "", call.wire_name, arguments_object(call))


def _write_unsigned(call: ToolCallPart) -> JsonObject:
    if isinstance(call.raw, dict):
        part: JsonObject = call.raw
    else:
        part = write_call_part(call)
    return {**part, "thoughtSignature": SKIPPED_SIGNATURE}


def write(message: Message) -> list[WireMessage]:
    """Write one message; in a user message, results come first."""
    role = "model" if message.role == "assistant" else "user"
    return [
        {
            "role": role,
            "parts": write_blocks(message, write_call_part, write_result_part, _write_part),
        }
    ]


def _write_part(part: MessagePart) -> JsonObject:
    if isinstance(part, MediaPart):
        return write_piece(part.media)
    return {"text": getattr(part, "text", "")}


def write_piece(part: Part) -> JsonObject:
    """Write text, an image or a file as a part."""
    if isinstance(part, Text):
        return {"text": part.text}
    part = by_media_type(part)
    if part.url:
        return {"fileData": {"fileUri": part.url, "mimeType": part.media_type}}
    return {"inlineData": {"mimeType": part.media_type, "data": encoded(part)}}


def read_system(request: JsonObject) -> list[Message]:
    """Read the system instruction from a request or its ``config``: a
    string, a message or a list of parts.
    """
    config = to_plain_json(request.get("config"))
    for holder in (request, config if isinstance(config, dict) else {}):
        instruction = _get_either(holder, "systemInstruction", "system_instruction")
        if isinstance(instruction, dict):
            instruction = instruction.get("parts", [instruction] if "text" in instruction else [])
        if instruction:
            return read_system_prompt(
                instruction if isinstance(instruction, (str, list)) else [instruction],
                "systemInstruction",
            )
    return []


def _write_system(messages: Sequence[Message]) -> JsonObject:
    parts = [part for message in messages for part in message.parts]
    texts = [
        part.raw if isinstance(part.raw, dict) else {"text": getattr(part, "text", "")}
        for part in parts
    ]
    return {"config": {"systemInstruction": {"parts": texts}}}


_LINKED = ("functionCall", "function_call", "functionResponse", "function_response")


def with_id(raw: JsonObject, call_id: str | None) -> JsonObject | None:
    """Return the part of a call or function response with a different id."""
    key = next((key for key in _LINKED if isinstance(raw.get(key), dict)), None)
    if key is None:
        return None
    return {**raw, key: with_id_at(raw[key], "id", call_id)}


HISTORIES = Histories(
    key="contents",
    read=read,
    read_system=read_system,
    write=write,
    with_id=with_id,
    system=_write_system,
    joins=True,
    input_kinds=frozenset(
        {"image", "image_url", "file", "file_url", "audio", "audio_url", "video", "video_url"},
    ),
    # The server answers an office document with "Unsupported MIME type":
    # googleapis/python-genai#829, 2025-05.
    media_types=frozenset({"image/*", "audio/*", "video/*", "text/*", "application/pdf"}),
    opaque_keys=frozenset(_SIGNATURES),
    write_unsigned=_write_unsigned,
    rules=(
        *history_rules(
            "microsoft/vscode#299295, 2026-03: as many responses as calls",
            "unanswered_call",
            "open_turn",
            "orphan_result",
            "duplicate_result",
            "late_result",
            "split_results",
        ),
        *history_rules("continuedev/continue#11047, 2026-03", "call_placement"),
        *history_rules(
            "windmill-labs/windmill#7679, 2026-01",
            "missing_signature",
            models=r"gemini-([3-9]|\d\d)",
        ),
        *history_rules(
            "maximhq/bifrost#4202, 2026-06: from Gemini 3 on",
            "media_in_result",
            models="gemini-[12]",
        ),
        *history_rules(
            "google-genai 3.4.0 FunctionCall: args is an object, 2026-11-22", "malformed_arguments"
        ),
        *history_rules(
            "Portkey-AI/gateway#462, 2024-07; PublicAffairs/openai-gemini#38, 2025-02; "
            "microsoft/vscode-copilot-release#7693, "
            "2025-04: an empty text parameter",
            "blank_text",
            pattern=r"(?s).+",
        ),
        *history_rules("QuantumNous/new-api#1260, 2025-06: at least one part", "empty_message"),
        *history_rules("cline/cline#7339, 2025-11", "tool_name"),
    ),
)
VERTEX_HISTORIES = replace(
    HISTORIES,
    has_call_ids=False,
    rules=(
        *HISTORIES.rules,
        *history_rules(
            "BerriAI/litellm#28324, 2026-05; gemini-3 took ids in 2026-02",
            "call_without_id",
            models="gemini-[12]",
        ),
    ),
)


# --- leaf functions: one reader and one writer for calls, one writer for results


def function_call(part: Any) -> Any:
    """Return the call in a part, or ``None`` if there is none.

    The key may have the wire's or the SDK's spelling.
    """
    call = member(part, "functionCall")
    call = member(part, "function_call") if call is None else call
    return call if isinstance(call, dict) or hasattr(call, "name") else None


def read_call(part: Any) -> WireCall:
    call = function_call(part)
    call_id = member(call, "id")
    return WireCall(
        "" if call_id is None else call_id, member(call, "name") or "", member(call, "args"), part
    )


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    return [
        {
            "role": "model",
            "parts": [write_call(call.id, call.wire_name, call.arguments) for call in calls],
        }
    ]


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    """Write one message with all results, because Gemini requires as
    many function responses as calls.
    """
    return [{"role": "user", "parts": [_write_own_result(result) for result in results]}]


def _write_own_result(result: Result) -> JsonObject:
    call, is_error, raw = result.call, result.error is not None, result.call.raw
    is_plain = not (is_error or result.parts) and type(raw) is dict and "functionCall" in raw
    if is_plain and "id" not in raw["functionCall"] and '"$ref"' not in result.text:
        if result.is_text:
            output = result.text
        else:
            output = result_json(result)
        return {"functionResponse": {"name": call.wire_name, "response": {"output": output}}}
    if _is_sent_as_text(result.text, is_error):
        output = result.text
    else:
        output = result_json(result)
    return write_result(
        call.id if _has_own_id(call.raw) else "",
        call.wire_name,
        output,
        result.parts,
        is_error=is_error,
    )


def write_result_part(part: ToolResultPart) -> JsonObject:
    if part.call_raw is None:
        has_id = part.has_id
    else:
        has_id = _has_own_id(part.call_raw)
    text, is_error = result_text(part), part.code is not None
    if _is_sent_as_text(text, is_error):
        output = text
    else:
        output = stored_json(part)
    return write_result(
        part.id if has_id else "", part.wire_name, output, part.parts, is_error=is_error
    )


def _has_own_id(call: Any) -> bool:
    return member(function_call(call), "id") not in (None, "")


def _is_sent_as_text(text: str, is_error: bool) -> bool:
    """Return whether a result is sent as text: an error, or a result that contains ``"$ref"``.

    Gemini 3 looks for a file behind every ``"$ref"`` in a JSON result (hermes-agent#93014).
    """
    return is_error or '"$ref"' in text


def write_result(
    call_id: str, name: str, output: Any, parts: tuple[Part, ...], *, is_error: bool
) -> JsonObject:
    """Write the part for a result, and omit an empty id. The output is JSON, or text for an
    error.
    """
    response: JsonObject = {"name": name, **({"id": call_id} if call_id else {})}
    key = "error" if is_error else "output"
    response["response"] = {key: output}
    types = HISTORIES.media_types
    if media := [
        part
        for part in parts
        if not isinstance(part, Text) and is_taken(by_media_type(part), types)
    ]:
        response["response"] = {key: as_text(tuple(part for part in parts if part not in media))}
        response["parts"] = [write_piece(part) for part in media]
    return {"functionResponse": response}

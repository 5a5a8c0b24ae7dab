"""Reads and writes the items of OpenAI's Responses API.

From the types of openai 3.54.0, read on 2026-11-22.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from toolshape._families.openai import messages as openai_messages
from toolshape._families.openai_responses.groups import merge_groups
from toolshape._families.wire.bodies import member, to_plain_json
from toolshape._families.wire.content import (
    arguments_text,
    as_result_parts,
    call_part,
    content_as_text,
    decode_base64,
    join_text,
    media_from_url,
    read_system_prompt,
    result_part,
    result_text,
    split_error_mark,
    with_id_at,
    without_error_mark,
)
from toolshape._families.wire.histories import A_TEXT, Histories, history_rules
from toolshape._records.calls import (
    PLAIN_TEXT,
    JsonObject,
    WireCall,
    WireMessage,
    plain_text,
)
from toolshape._records.found import SEARCH_NAME, found_entries, found_names, found_text
from toolshape._records.parts import (
    File,
    Image,
    Part,
    Text,
    as_text,
    by_media_type,
    data_url,
    file_name_in_url,
    media_kind_of,
    named,
)
from toolshape._records.result import Result
from toolshape._schema.values import copy_json
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

ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}
"""For each type of call item, the key of its arguments.

The arguments of a custom call are plain text.
"""
SEARCH_CALL = "tool_search_call"
_RESULTS = ("function_call_output", "custom_tool_call_output")
_SEARCH_ITEMS = (SEARCH_CALL, "tool_search_output")


def read(item: JsonObject, path: str) -> Message:
    """Read an item as a message with one part; an item of type "message" may have several parts."""
    # Each kind has one part. What is not known stays whole, as a part of this provider's only.
    kind = str(item.get("type", "message" if "role" in item else ""))
    if item.get("tool_calls") is not None or item.get("role") == "tool":
        raise ValueError(
            "these are another provider's messages: this API has no tool_calls and no role 'tool'"
        )
    if kind == "message":
        return _read_message(item, path)
    role: Any = "assistant"
    if kind in ARGUMENTS:
        part: MessagePart = call_part(read_call(item), "")
    elif kind in _RESULTS:
        role, part = "tool", _result(item)
    elif kind in _SEARCH_ITEMS and item.get("execution") == "client":
        part = _search_part(item)
        role = "tool" if isinstance(part, ToolResultPart) else "assistant"
    elif kind == "reasoning":
        part = ReasoningPart(
            text=content_as_text(item.get("summary") or item.get("content") or ""), raw=item
        )
    else:
        part = ProviderPart(kind=kind, raw=item)
    return Message(role=role, parts=(part,), raw=item, path=path)


def _read_message(item: JsonObject, path: str) -> Message:
    content = item.get("content")
    if isinstance(content, str) and content:
        parts: list[MessagePart] = [TextPart(text=content, path="content")]
    else:
        parts = []
    if isinstance(content, list):
        parts = [_piece(entry, f"content[{at}]") for at, entry in enumerate(content)]
    role_name = item.get("role")
    if role_name in ("system", "assistant"):
        role: Any = role_name
    else:
        role = "user"
    if role_name == "developer":
        role = "system"
    return Message(role=role, parts=tuple(parts), raw=item, path=path)


def _piece(piece: Any, path: str) -> MessagePart:
    if not isinstance(piece, dict):
        return TextPart(text=str(piece), raw=piece, path=path)
    kind = str(piece.get("type", ""))
    if kind in ("input_text", "output_text", "text"):
        return TextPart(text=str(piece.get("text", "")), raw=piece, path=path)
    if kind == "refusal" and isinstance(piece.get("refusal"), str) and piece["refusal"]:
        return TextPart(text=piece["refusal"], raw=piece, path=path)
    media: Image | File | None = None
    if kind == "input_image" and isinstance(piece.get("image_url"), str):
        media = media_from_url(piece["image_url"])
    elif kind == "input_file":
        media = _read_file(piece)
    elif kind != "input_image":  # gateways and frameworks put parts of Chat Completions into items
        media = openai_messages.read_media(piece)
    if media is None:
        return ProviderPart(kind=kind, raw=piece, path=path)
    return MediaPart(media=media, raw=piece, path=path)


def _read_file(piece: JsonObject) -> Image | File | None:
    name, data = str(piece.get("filename") or "file"), piece.get("file_data")
    if isinstance(piece.get("file_url"), str):
        url = piece["file_url"]
        return File(url=url, name=piece.get("filename") or file_name_in_url(url) or "file")
    try:
        if isinstance(data, str):
            if data.startswith("data:"):
                return media_from_url(data, name=name, kind="file")
            return File(decode_base64(data), name=name)
    except ValueError:
        pass
    return None


def _result(item: JsonObject) -> ToolResultPart:
    output = item.get("output")
    parts: tuple[Part, ...] = ()
    if isinstance(output, list):
        inner_parts = [_piece(entry, "") for entry in output]
        if all(isinstance(part, TextPart) for part in inner_parts):
            parts = ()
        else:
            parts = as_result_parts(inner_parts)
    text, code = split_error_mark(as_text(parts) if parts else content_as_text(output))
    return result_part(
        item.get("call_id"), "", text, code=code, parts=without_error_mark(parts), raw=item
    )


def _search_part(item: JsonObject) -> ToolCallPart | ToolResultPart:
    """Read a search of the client's as a call, or what it found as a result: there, the names stand
    for the definitions.
    """
    if item["type"] == SEARCH_CALL:
        call = read_call(item)
        return call_part(call._replace(arguments=json.dumps(call.arguments)), "")
    names: list[Any] = []
    for entry in item.get("tools") or ():
        functions = entry.get("tools") if member(entry, "type") == "namespace" else [entry]
        names += filter(None, (member(function, "name") for function in functions or ()))
    return result_part(item.get("call_id"), SEARCH_NAME, found_text(names), raw=item)


def write_call(call_id: str, name: str, arguments: Any) -> JsonObject:
    """Write the item for a call; its arguments are JSON text."""
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def write_custom_call(call_id: str, name: str, text: str) -> JsonObject:
    """Write the item for a call whose arguments are plain text
    (``ResponseCustomToolCallParam`` of openai 3.57.0).
    """
    return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": text}


def write_any_call(call: WireCall) -> JsonObject:
    """Write the item for a call to a function, or to a custom tool if its arguments are plain
    text.
    """
    text = plain_text(call.arguments)
    if text is not None:
        return write_custom_call(call.id, call.wire_name, text)
    arguments = call.arguments
    if not isinstance(arguments, str):  # a fake may send text that is no JSON
        arguments = json.dumps(arguments, ensure_ascii=False)
    return write_call(call.id, call.wire_name, arguments)


def write_call_part(call: ToolCallPart) -> JsonObject:
    if (text := plain_text(call.arguments_raw)) is not None:
        return write_custom_call(call.id, call.wire_name, text)
    return write_call(call.id, call.wire_name, arguments_text(call))


def write(message: Message) -> list[WireMessage]:
    """Write items in the order of the parts; adjacent pieces of content share an item."""
    items: list[WireMessage] = []
    pending_parts: list[MessagePart] = []
    for part in message.parts:
        is_content = isinstance(part, (TextPart, MediaPart)) or (
            isinstance(part, ProviderPart) and part.path.startswith("content")
        )
        if is_content:
            pending_parts.append(part)
            continue
        items += _write_contents(message.role, pending_parts)
        pending_parts = []
        if part.raw is not None:
            items.append(part.raw)
        elif isinstance(part, ToolCallPart):
            items.append(write_call_part(part))
        elif isinstance(part, ToolResultPart):
            items.append(write_result_part(part))
    return items + _write_contents(message.role, pending_parts)


_WRITTEN_ROLES = {"system": "developer", "assistant": "assistant"}


def _write_contents(role: str, parts: Sequence[MessagePart]) -> list[WireMessage]:
    if not parts:
        return []
    role = _WRITTEN_ROLES.get(role, "user")
    if all(isinstance(part, TextPart) and part.raw is None for part in parts) and (
        len(parts) == 1 or role == "assistant"
    ):
        return [{"role": role, "content": join_text(parts, role)}]
    return [
        {
            "role": role,
            "content": [part.raw if part.raw is not None else _write_part(part) for part in parts],
        }
    ]


def _write_part(part: MessagePart) -> JsonObject:
    if isinstance(part, MediaPart):
        return write_piece(part.media)
    return write_piece(Text(getattr(part, "text", "")))


def write_piece(part: Part) -> JsonObject:
    """Write a text, image or file for the content of an item."""
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    part = by_media_type(part)
    if media_kind_of(part) in ("audio", "video"):
        return {"type": "input_text", "text": named(part)}
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
    if part.data:
        return {"type": "input_file", "filename": part.name, "file_data": data_url(part)}
    return {"type": "input_file", "file_url": part.url}


def read_system(request: JsonObject) -> list[Message]:
    """Read the instructions from a request."""
    return read_system_prompt(request.get("instructions"), "instructions")


def _write_system(messages: Sequence[Message]) -> JsonObject:
    return {"instructions": "\n\n".join(join_text(message.parts, "system") for message in messages)}


def with_id(raw: JsonObject, call_id: str | None) -> JsonObject:
    """Return the item for a call or a result with another call id. The item's own id stays."""
    return with_id_at(raw, "call_id", call_id)


HISTORIES = Histories(
    key="input",
    read=read,
    read_system=read_system,
    write=write,
    with_id=with_id,
    system=_write_system,
    is_system_first=True,
    is_items=True,
    input_kinds=frozenset({"image", "image_url", "file", "file_url"}),
    # openai 3.54.0 ResponseInputContentParam has no audio. Since 2026-02-24, files may be documents
    # of any kind.
    media_types=frozenset(
        {"image/jpeg", "image/png", "image/gif", "image/webp", "text/*", "application/*"}
    ),
    opaque_keys=frozenset({"encrypted_content"}),
    # The ids of custom calls were seen by Oaklight/llm-rosetta#182, 2026-05.
    item_ids={"function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"},
    continued_by=frozenset({"previous_response_id", "conversation", "item_reference"}),
    rules=(
        *history_rules("livekit/agents#5092, 2026-03", "unanswered_call", "open_turn"),
        *history_rules("continuedev/continue#9542, 2026-01", "orphan_result", "duplicate_result"),
        *history_rules(
            "RooCodeInc/Roo-Code#10763, 2026-01: at most 64 characters",
            "call_id",
            pattern=r"(?s).{1,64}",
        ),
        *history_rules(
            "nodetool-ai/nodetool#4252, 2026-07; editor-code-assistant/eca#465, 2026-05",
            "item_id",
        ),
        *history_rules("openai/openai-agents-python#2503, 2026-02", "reasoning_alone"),
        *history_rules(
            "VRSEN/agency-swarm#367, 2025-09; continuedev/continue#10880, 2026-02, and #11994, "
            "2026-04; cline/cline#12242, "
            "2026-07: of models that reason",
            "item_without_reasoning",
            models=r"^$|^(.*/)?(o[1-9]|gpt-[5-9]|gpt-oss|codex)",
        ),
        *history_rules("openai 3.54.0 FunctionDefinition, 2026-11-22", "tool_name"),
        *history_rules(
            "openai 3.57.0 ResponseFunctionToolCallParam: the arguments are text, 2026-11-27",
            "malformed_arguments",
            pattern=A_TEXT,
        ),
    ),
)


# --- leaf functions: one reader and one writer for calls, one writer for results


def read_call(item: Any, search: str | None = None) -> WireCall:
    """Read the item of a call; ``search`` is the name of the tool that answers searches."""
    kind = member(item, "type")
    if kind == SEARCH_CALL:
        arguments = member(item, "arguments")
        return WireCall(member(item, "call_id") or "", search or SEARCH_NAME, arguments, item)
    arguments = member(item, ARGUMENTS[kind])
    if kind == "custom_tool_call" and isinstance(arguments, str):
        arguments = {PLAIN_TEXT: arguments}
    return WireCall(member(item, "call_id") or "", member(item, "name"), arguments, item)


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    return [write_any_call(call) for call in calls]


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    return [
        write_result(result.call.id, result.text, None, (), result.call.raw)
        if result.is_text and result.error is None
        else _write_any_result(result)
        for result in results
    ]


def _write_any_result(result: Result) -> JsonObject:
    """Write an error, parts, a value as JSON, or what a search of the client's found."""
    if member(result.call.raw, "type") == SEARCH_CALL:
        return _write_found(result)
    code = None if result.error is None else result.error.code
    return write_result(result.call.id, result.text, code, result.parts, result.call.raw)


def _write_found(result: Result) -> JsonObject:
    """Write what a search of the client's found: the whole definitions, which are then loaded.

    The item has no place for words, so an error is a search that found nothing
    (``ResponseToolSearchOutputItemParam`` of openai 3.57.0, 2026-11-28).
    """
    found = found_entries(result) or {}
    return _found_item(result.call.id, [json.loads(entry) for entry in found.values()])


def _found_item(call_id: Any, definitions: Sequence[JsonObject]) -> JsonObject:
    item: JsonObject = {"type": "tool_search_output", "call_id": call_id, "execution": "client"}
    tools = merge_groups(copy_json([*definitions]))
    return {**item, "status": "completed", "tools": tools}


def _namespaces(entries: Iterable[JsonObject]) -> dict[str, str]:
    """Return the namespace of each deferred function; one without a group is in one of its own."""
    found: dict[str, str] = {}
    for entry in entries:
        functions = entry["tools"] if entry.get("type") == "namespace" else [entry]
        found |= {one["name"]: entry["name"] for one in functions if one.get("defer_loading")}
    return found


def load_found(
    items: Sequence[WireMessage], entries: Mapping[str, JsonObject], search_names: Collection[str]
) -> list[WireMessage]:
    """Write each call of the search, and its result, as a search of the client's with definitions.

    A made-up pair of them is accepted (a recorded request of pydantic-ai's, 2026-11-28).
    """
    searches: set[Any] = set()
    written: list[WireMessage] = []
    namespaces = _namespaces(entries.values())
    for item in items:
        call_id, kind = item.get("call_id"), item.get("type")
        if kind == "function_call" and item.get("name") in search_names:
            searches.add(call_id)
            item = write_search(call_id, item.get("arguments"))  # noqa: PLW2901 - the item as it is sent
        elif kind == "function_call" and item.get("name") in namespaces:
            # "Missing namespace for function_call" (github/copilot-cli#4519); a call that another
            # provider wrote has none.
            item = {"namespace": namespaces[item["name"]], **item}  # noqa: PLW2901 - the same
        elif kind == "function_call_output" and call_id in searches:
            names = [name for name in found_names(item.get("output")) or () if name in entries]
            item = _found_item(call_id, [entries[name] for name in names])  # noqa: PLW2901 - the same
        written.append(item)
    return written


def write_search(call_id: Any, arguments: Any) -> JsonObject:
    """Write the item for a search of the client's, whose arguments are an object."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = {}
    call: JsonObject = {"type": SEARCH_CALL, "call_id": call_id, "execution": "client"}
    return {**call, "status": "completed", "arguments": arguments}


def write_result_part(part: ToolResultPart) -> JsonObject:
    return write_result(part.id, result_text(part), part.code, part.parts, part.call_raw)


def write_result(
    call_id: str, text: str, code: str | None, parts: tuple[Part, ...], call: Any
) -> JsonObject:
    """Write the item that answers a call item; there is no error flag.

    If a program called the tool, the call names this program as its ``caller``, and the item must
    name it as well. Otherwise, the program cannot continue (OpenHands/software-agent-sdk#4082 and
    openai/openai-agents-python#3833, 2026-07).
    """
    is_plain = not parts and code is None and type(call) is dict and "caller" not in call
    if is_plain and call.get("type") == "function_call" and "Error [" not in text:
        return {"type": "function_call_output", "call_id": call_id, "output": text}
    if member(call, "type") == SEARCH_CALL:  # an error, or the words of a hook: nothing is found
        return _found_item(call_id, [])
    output = [
        write_piece(part) for part in _mark_parts(parts, code)
    ] or openai_messages.add_error_mark(text, code)
    if plain_text(call) is None:
        default_kind = "function_call"
    else:
        default_kind = "custom_tool_call"
    kind, caller = str(member(call, "type") or default_kind), member(call, "caller")
    item = {"type": f"{kind}_output", "call_id": call_id, "output": output}
    if caller is None:
        return item
    return {**item, "caller": to_plain_json(caller)}


def _mark_parts(parts: tuple[Part, ...], code: str | None) -> tuple[Part, ...]:
    """Return the parts of a result.

    If the result is an error, put the error mark before the first text.
    """
    if not parts:
        return ()
    first = parts[0].text if isinstance(parts[0], Text) else None
    marked = openai_messages.add_error_mark(first or "", code)
    if marked == (first or ""):
        return parts
    return (Text(marked), *(parts if first is None else parts[1:]))

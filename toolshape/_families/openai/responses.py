"""Reads responses of OpenAI's Chat Completions, and assembles its streams.

The types come from openai 3.51.0, read on 2026-11-20. The server's messages are from the cited
issues.

``read`` and ``fold`` have a plain case and an open one. The plain case is a body as the provider's
own server sends it: it is read by name, without a question, and every deviation (another kind of
block, a call without id, an object of the SDK) is an exception or a break that leads to the open
case, which reads whatever any server of this form was seen to send. The plain case may only take
what the open one would read to the same values; a law holds this over the recorded bodies.

A stream is folded into a body as it would have come whole, which then is read by ``read``: so
there is one reader, and a stream cannot mean anything else than the response. What only the fold
needs stands in the body under names that begin with ``x-``, where no reader looks.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from toolshape._families.openai.messages import read as read_message, read_call
from toolshape._families.wire.bodies import member, to_plain_json
from toolshape._families.wire.content import is_empty
from toolshape._families.wire.ending import Ending, error_words, other_choice
from toolshape._families.wire.ids import is_plain_id, with_call_ids
from toolshape._families.wire.provider import (
    NO_TEXT,
    NOTHING_CUT,
    Completed,
    Read,
    Reading,
    TextDelta,
)
from toolshape._families.wire.usage import count_at, total, usage_of
from toolshape._records.calls import (
    EARLY,
    Finish,
    JsonObject,
    WireCall,
    WireMessage,
    plain_text,
)
from toolshape._records.errors import ResponseError
from toolshape._records.result import Usage
from toolshape._schema.values import append_text, is_whole
from toolshape.messages import ReasoningPart, TextPart


def as_completion(body: Any) -> Any:
    """Return a response, or wrap a message or a single call in a response;
    return ``None`` for any other body.
    """
    if isinstance(member(body, "choices"), list):
        return body
    is_plain = isinstance(member(body, "content"), str) or member(body, "function_call") is not None
    if member(body, "role") == "assistant" and (
        is_plain or isinstance(member(body, "tool_calls"), list)
    ):
        return {"choices": [{"message": body}]}
    if member(member(body, "function") or member(body, "custom"), "name") is not None:
        return {
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [to_plain_json(body)],
                    }
                }
            ]
        }
    return None


def recognises(body: Any) -> bool:
    return as_completion(body) is not None


def read(body: Any) -> Read | None:
    """Read the first choice. If the request set ``n``, all other choices are alternative
    answers.
    """
    if type(body) is dict:  # the usual case: JSON, every call with an id
        try:
            choices: list[JsonObject] = body["choices"]
            choice = choices[0]
            message = choice["message"]
            if "tool_calls" not in message and _is_only_text(message):
                return [message], (), choice["finish_reason"], NOTHING_CUT, True
            calls = []
            for call in message["tool_calls"]:
                call_id, function = call["id"], call["function"]
                if not call_id or not call_id.isascii() or call_id == "null":
                    break
                calls.append((call_id, function["name"], function["arguments"], call))
            else:
                content = message["content"] if "content" in message else None  # noqa: SIM401 - get takes three times as long
                is_usual = content is None or type(content) is str
                if (
                    calls
                    and is_usual
                    and "function_call" not in message
                    and "parsed" not in message
                    and message["role"] == "assistant"
                ):
                    return [message], calls, choice["finish_reason"], NOTHING_CUT, True
        except (LookupError, TypeError, AttributeError):
            pass
    return _read_any(body)


def _is_only_text(message: JsonObject) -> bool:
    is_text = type(message["content"]) is str and message["role"] == "assistant"
    return is_text and "function_call" not in message and "parsed" not in message


def _read_any(body: Any) -> Reading | None:
    response = as_completion(body)
    if response is None:
        return None
    choices = member(response, "choices")
    message = member(choices[0], "message") if choices else None
    if message is None:
        raise ResponseError("the chat completion has no choices[0].message", body=body)
    # Calls are read with any finish_reason, because forced calls have arrived with "stop".
    raw_calls = member(message, "tool_calls")
    if isinstance(raw_calls, list):
        listed_calls = [read_call(call) for call in raw_calls]
    else:
        listed_calls = []
    finish, legacy_call = member(choices[0], "finish_reason"), member(message, "function_call")
    # Some gateways append a call without name and id: ignore the call, and do not send it back.
    calls = [call for call in listed_calls if not is_stray(call)]
    # Some servers send an empty name.
    if not calls and legacy_call is not None and member(legacy_call, "name"):
        calls = [
            WireCall("", member(legacy_call, "name"), member(legacy_call, "arguments"), legacy_call)
        ]
    assistant = as_assistant(_sendable_message(message))
    if len(calls) < len(listed_calls):
        assistant = without_strays(assistant, listed_calls)
    if not all(is_plain_id(call.id) for call in calls) and assistant.get("tool_calls"):
        sent_calls = [to_plain_json(call) for call in assistant["tool_calls"]]
        sent_calls, calls = with_call_ids(
            sent_calls, calls, lambda _: True, lambda call, call_id: {**call, "id": call_id}
        )
        assistant = {**assistant, "tool_calls": sent_calls}
    return Reading([assistant], calls, finish)


def as_assistant(message: WireMessage) -> WireMessage:
    """Return a model's message with the role ``assistant``, even if a gateway gave it another
    role.
    """
    if message.get("role") == "assistant":
        return message
    return {"role": "assistant", **{key: value for key, value in message.items() if key != "role"}}


def with_content(message: WireMessage) -> WireMessage:
    """Return the message with content that a request accepts: a string, or parts.

    A gateway may send other content.
    """
    content = message.get("content")
    if content is None or isinstance(content, str):
        return message
    if not isinstance(content, list):
        if isinstance(content, dict) and content:
            return with_content({**message, "content": [content]})
        return {**message, "content": None if is_empty(content) else str(content)}
    kept_blocks = [
        block for block in content if member(block, "type") not in ("tool_use", "tool_result")
    ]
    if len(kept_blocks) == len(content):
        return message
    return {**message, "content": kept_blocks}


def is_stray(call: WireCall) -> bool:
    """Return whether a call has neither an id nor a name: some gateways append such a call."""
    return not (call.id or call.wire_name)


def without_strays(message: WireMessage, found: Sequence[WireCall]) -> WireMessage:
    """Return the message without its stray calls, and without the list of
    calls if no other call remains.
    """
    real_calls = [
        item for item, call in zip(message["tool_calls"], found, strict=True) if not is_stray(call)
    ]
    other_fields = {key: value for key, value in message.items() if key != "tool_calls"}
    if real_calls:
        return {**other_fields, "tool_calls": real_calls}
    return other_fields


_COUNTS = ("usage", "x_groq")
"""The keys of an event that hold token counts."""


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge an event; one that only adds to a text or to the arguments of a call is merged at
    once.
    """
    if "x-places" in body and _adds_only(body, event):
        return ()
    return _fold_any(body, event)


def _adds_only(body: JsonObject, event: JsonObject) -> bool:
    """Merge an event that only adds to what is there, as nearly every event
    does; return whether it was one.

    Whatever it does not know, it leaves to ``_fold_any``: more than one choice or key, a name, an
    id, an end.
    """
    try:
        [choice] = event["choices"]
        [(key, value)] = choice["delta"].items()
        message = body["choices"][0]["message"]
        is_over = choice["finish_reason"] is not None or choice["index"] != 0
        if (
            is_over
            or "error" in choice
            or (not _SILENT.isdisjoint(event) and any(map(event.get, _SILENT)))
        ):
            return False
        if key == "content":
            holder, name, piece = message, key, value
        else:
            [part] = value
            [(name, piece)] = part["function"].items()
            holder = message["tool_calls"][body["x-places"][part["index"]]]["function"]
            if key != "tool_calls" or name != "arguments" or "id" in part:
                return False
        known = holder[name]
    except (LookupError, TypeError, ValueError, AttributeError):
        return False
    # Empty arguments, and "{}", may only hold the place of what comes; both must be text to be
    # joined.
    is_text = type(known) is str and type(piece) is str
    if not is_text or (key != "content" and known in ("", "{}")):
        return False
    del known  # while a variable refers to the text, it is copied with each piece
    append_text(holder, name, piece)
    body["x-delta"] = TextDelta(piece) if key == "content" else NO_TEXT
    return True


_SILENT = frozenset({"error", *_COUNTS})


def _fold_any(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge any event.

    A call is complete if its text is whole and the next call has begun, or if the response ends.

    Fragments of several calls may alternate: if the text of a call is not whole when the next call
    begins, the earlier call may continue.
    """
    choice = body.setdefault(
        "choices", [{"index": 0, "message": {"role": "assistant", "content": None}}]
    )[0]
    call_positions: dict[Any, int] = body.setdefault("x-places", {})
    calls = choice["message"].get("tool_calls", [])
    call_count, finish = len(calls), None
    _keep_error(body, choice, event)
    body.update({key: event[key] for key in _COUNTS if event.get(key)})  # the last event counts
    for event_choice in event.get("choices") or ():
        delta = event_choice.get("delta") or event_choice.get("message") or {}
        if event_choice.get("index", 0) != 0:
            _keep_other_choice(body, event_choice["index"], delta)
            continue
        for key, value in delta.items():
            if key != "tool_calls":
                _join_field(choice["message"], key, value)
        for part in delta.get("tool_calls") or ():
            _join_call(call_positions, calls, part)
        if calls:
            choice["message"]["tool_calls"] = calls
        if event_choice.get("finish_reason"):
            choice["finish_reason"] = finish = event_choice["finish_reason"]
    if finish is not None:
        return _calls_at_end(choice["message"], FINISHES.get(str(finish), "other"))
    # If this event began new calls, check the previously last call, and all new calls except the
    # last.
    candidates = range(max(call_count - 1, 0), len(calls) - 1) if len(calls) > call_count else ()
    return [
        (position, read_call(calls[position]))
        for position in candidates
        if is_whole(calls[position].get("function", {}).get("arguments"))
    ]


def _keep_error(body: JsonObject, choice: JsonObject, event: JsonObject) -> None:
    first: JsonObject = next(iter(event.get("choices") or ()), {})
    error = event.get("error") or first.get("error")
    if error:
        body["error"], choice["finish_reason"] = error, "error"


def _keep_other_choice(body: JsonObject, index: int, delta: JsonObject) -> None:
    if delta.get("tool_calls"):
        body.setdefault("x-other", set()).add(index)


def _calls_at_end(message: WireMessage, finish: Finish) -> list[Completed]:
    """Return the calls of a response that has ended.

    If the response ended early, return only complete calls.
    """
    calls, legacy_call = (
        list(map(read_call, message.get("tool_calls") or ())),
        message.get("function_call"),
    )
    if not calls and isinstance(legacy_call, dict) and legacy_call.get("name"):
        calls = [WireCall("", legacy_call["name"], legacy_call["arguments"], legacy_call)]
    # Nobody can see where plain text was cut off.
    return [
        (position, call)
        for position, call in enumerate(calls)
        if finish not in EARLY or (is_whole(call.arguments) and plain_text(call.arguments) is None)
    ]


_WHOLE = ("role", "id", "name", "type")
"""Fields whose value comes whole, and is never joined from pieces."""
_GROWING_AUDIO = ("transcript", "data")
"""The texts of an audio answer that come in pieces (``ChatCompletionAudio`` of openai 3.54.0)."""


def _join_field(message: WireMessage, key: str, value: Any) -> None:
    # Texts grow and lists are extended, also one by the other; an object gets the members that it
    # did not have. What a chunk repeats as a whole replaces what was there.
    if isinstance(value, str) and key not in _WHOLE and isinstance(message.get(key), str):
        # Python extends a string in place only if nothing else refers to it, so this comes before
        # ``existing`` does.
        append_text(message, key, value)
        return
    existing = message.get(key)
    # Some gateways send "role": "" with each chunk after the first.
    if value is None or key in _WHOLE:
        message[key] = existing if existing is not None and value in (None, "") else value
    elif key == "function_call" and isinstance(value, dict):  # the legacy form
        if not isinstance(existing, dict):
            existing = message[key] = {"name": "", "arguments": ""}
        for part in ("name", "arguments"):
            if isinstance(value.get(part), str):
                append_text(existing, part, value[part])
    elif isinstance(existing, dict) and isinstance(value, dict):
        _join_members(existing, value, _GROWING_AUDIO if key == "audio" else ())
    elif isinstance(existing, list) or isinstance(value, list):
        message[key] = _join_parts(existing, value)
    else:
        message[key] = dict(value) if isinstance(value, dict) else value


def _join_members(existing: JsonObject, value: JsonObject, growing: Collection[str]) -> None:
    for name, item in value.items():
        if name in growing and isinstance(item, str) and isinstance(existing.get(name), str):
            append_text(existing, name, item)
        elif item is not None or name not in existing:
            existing[name] = item


def _join_parts(existing: Any, value: Any) -> Any:
    """Join parts with parts, or with text: Mistral streams its thinking as parts, and then text.

    Text becomes a part, or the end of the last one. So parts are copied: an event that was fed
    stays as it came.
    """
    if isinstance(value, list):
        parts = (
            [{"type": "text", "text": existing}] if existing and isinstance(existing, str) else []
        )
        joined = existing if isinstance(existing, list) else parts
        joined += [dict(part) if isinstance(part, dict) else part for part in value]
        return joined
    if not isinstance(value, str):
        return value
    if existing and isinstance(existing[-1], dict) and isinstance(existing[-1].get("text"), str):
        append_text(existing[-1], "text", value)
    elif value:
        existing.append({"type": "text", "text": value})
    return existing


def _join_call(places: dict[Any, int], calls: list[JsonObject], part: JsonObject) -> None:
    """Merge a fragment into its call, or begin a call.

    Ignore a fragment that names none, which some gateways send.
    """
    index, key = part.get("index"), "custom" if _is_custom(part) else "function"
    function, call_id = part.get(key) or {}, part.get("id")
    position = _position_of(places, calls, part, function)
    if position is None and not call_id and not function.get("name"):
        return
    if position is None:
        kind = "begins"
    else:
        kind = _kind_of_fragment(calls[position], part, function)
    if kind == "repeats":
        return
    if position is None or kind == "begins":
        places[index] = len(calls)
        if call_id:
            places["id", call_id] = len(calls)
        calls.append(_begun_call(key, part, function))
        places["placeholder"] = len(calls) - 1 if function.get("arguments") == "{}" else -1
        return
    call = calls[position]
    if call_id and not call.get("id"):
        call["id"] = call_id
    if index is not None:  # later fragments with this index and no id belong to this call
        places[index] = position
    written = _written_part(call)
    if kind == "names":
        append_text(written, "name", function["name"])
    written["name"] = written["name"] or function.get("name") or ""
    _add_arguments(places, position, call, function.get(_arguments_key(call)))


def _add_arguments(places: dict[Any, int], position: int, call: JsonObject, text: Any) -> None:
    """Append a piece to the arguments of a call, unless it is no text.

    A bridge to Gemini begins a call with the placeholder "{}" (microsoft/autogen#7549, 2026-04),
    which what follows replaces; a model that itself writes "{}" twice does not begin with its name.
    """
    written, key = _written_part(call), _arguments_key(call)
    if not (isinstance(text, str) and isinstance(written[key], str)):
        return
    if places.get("placeholder") == position and text.lstrip().startswith("{"):
        written[key] = ""
    if text:
        places["placeholder"] = -1
    append_text(written, key, text)


def _position_of(
    places: dict[Any, int], calls: list[JsonObject], part: JsonObject, function: JsonObject
) -> int | None:
    """Return the position of the call that a fragment may continue;
    ``None`` if it can only begin a call.

    ``places`` maps both ids and indices to positions in ``calls``. These are tried in turn, because
    servers leave out, repeat and share each of them: the index, unless the call there has another
    id; the id, because a gateway may give all calls one index; the index alone. A name at a new
    index begins a call even if its id is known: DeepSeek and GLM share an id between parallel calls
    (nanobot#3943, 2026). A fragment without any of the three continues the last call.
    """
    index, call_id, name = part.get("index"), part.get("id"), function.get("name")
    by_index = None if index is None else places.get(index)
    by_id = places.get(("id", call_id)) if call_id else None
    if by_index is not None and (not call_id or calls[by_index].get("id") in (None, "", call_id)):
        return by_index
    if by_id is not None and (index is None or by_index is not None or not name):
        return by_id
    if by_index is None and index is None and calls and not call_id and not name:
        return len(calls) - 1
    return by_index


def _kind_of_fragment(
    call: JsonObject, part: JsonObject, function: JsonObject
) -> Literal["begins", "continues", "names", "repeats"]:
    """Tell what a fragment does at the place of a call: ``repeats`` is the whole call once more.

    It begins another call if its id or its name is another. It also does if its arguments begin
    anew after whole ones (Ollama behind LiteLLM gives all calls index 0 and no id: smolagents#1569,
    #1958), and they differ or no id says that they are of this call. Two cases are no other call: a
    name in two pieces (continue#5849; openai-python joins names), which the first piece with its id
    begins; and a name that a server repeats in each fragment (hermes-agent#8259).
    """
    name, call_id = function.get("name"), part.get("id")
    written = _written_part(call)
    known_name, known_id = written["name"], call.get("id")
    if not name:
        return "continues"
    if call_id and known_id and call_id != known_id:
        return "begins"
    known_text, text = written[_arguments_key(call)], function.get(_arguments_key(call))
    # The order matters: another id outweighs the name, and the name outweighs the arguments,
    # because a model may call one tool twice with equal arguments, but a server gives no call two
    # ids.
    if known_name and name != known_name:
        return "names" if known_id and not call_id and not known_text else "begins"
    if not text or known_text in ("", "{}") or not (is_whole(known_text) and is_whole(text)):
        return "continues"
    return "repeats" if call_id and text == known_text else "begins"


def _begun_call(key: str, part: JsonObject, function: JsonObject) -> JsonObject:
    other_fields = {
        field: value
        for field, value in part.items()
        if field not in ("index", "function", "custom") and value is not None
    }
    arguments = function.get(_ARGUMENTS[key])
    started_part = {
        "name": function.get("name") or "",
        _ARGUMENTS[key]: "" if arguments is None else arguments,
    }
    return {"type": key, **other_fields, key: started_part}


def _arguments_key(call: JsonObject) -> str:
    return _ARGUMENTS["custom" if "custom" in call else "function"]


_ARGUMENTS = {"function": "arguments", "custom": "input"}
"""For each part of a call that holds its name, the key of its arguments."""


def _is_custom(part: JsonObject) -> bool:
    """Whether a fragment is of a custom call.

    The SDK's types of openai 3.57.0 have no such fragment, but servers send them
    (openai/openai-openapi#576, 2026-09). Some gateways add an empty ``custom`` to each fragment of
    a function's call (earendil-works/pi#8504).
    """
    custom = part.get("custom")
    return bool(custom) and isinstance(custom, dict) and not part.get("function")


def _written_part(call: JsonObject) -> JsonObject:
    if "custom" in call:
        part: JsonObject = call["custom"]
    else:
        part = call["function"]
    return part


def _sendable_message(message: Any) -> WireMessage:
    """Return the message with content that requests accept, and without the fields
    that the SDK's ``parse`` adds.
    """
    sent_message: WireMessage = with_content(to_plain_json(message))
    if "parsed" not in sent_message:
        return sent_message
    fields = {key: value for key, value in sent_message.items() if key != "parsed"}
    if isinstance(calls := fields.get("tool_calls"), list):
        fields["tool_calls"] = [_without_parsed(call) for call in calls]
    return fields


def _without_parsed(call: Any) -> Any:
    function = member(call, "function")
    if not isinstance(function, dict):
        return call
    received = {key: value for key, value in function.items() if key != "parsed_arguments"}
    return {**call, "function": received}


def text_delta(event: JsonObject) -> TextDelta:
    """Return the text and the reasoning of an event, by the rules for whole
    messages: a refusal counts as text.
    """
    text = thinking = ""
    for event_choice in event.get("choices") or ():
        if event_choice.get("index", 0) != 0:
            continue
        delta = event_choice.get("delta") or event_choice.get("message") or {}
        fields = {key: value for key, value in delta.items() if value and key not in _WITHOUT_TEXT}
        # Nearly every event brings only text.
        if fields.keys() == {"content"} and isinstance(fields["content"], str):
            text += fields["content"]
            continue
        if fields:
            parts = read_message({"role": "assistant", **fields}, "").parts
        else:
            parts = ()
        text += "".join(part.text for part in parts if isinstance(part, TextPart))
        thinking += "".join(part.text for part in parts if isinstance(part, ReasoningPart))
    return TextDelta(text, thinking)


_WITHOUT_TEXT = ("role", "tool_calls", "function_call")


def ending(body: JsonObject) -> Ending:
    """Find an error, and calls in other choices.

    A gateway sends an error inside a response of status 200, in the body, in a choice (OpenRouter)
    or as the only event of a stream (OmniRoute#8210, octo-agent#910, local-operator#223). Copilot
    puts the call of a turn into a choice of its own (zeroclaw#2136, nanobot#1555): the body does
    not say whether it is that, or an alternative (``n``).
    """
    choices = [choice for choice in body.get("choices") or () if isinstance(choice, dict)]
    others = body.get("x-other", ()) or [
        choice for choice in choices[1:] if (choice.get("message") or {}).get("tool_calls")
    ]
    error = error_words(body.get("error"), *(choice.get("error") for choice in choices[:1]))
    return Ending(error, warnings=(other_choice(len(others)),) if others else ())


FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refusal",
    "model_length": "length",  # Mistral
    "error": "error",
}


def usage(body: Any) -> Usage | None:
    """Read the usage in the form of OpenAI's Chat Completions, and of the vendors that follow it.

    DeepSeek and Moonshot count the cached tokens at places of their own. xAI's output tokens leave
    out the reasoning, which only the total shows (its API reference, 2026-11-23; xai_sdk's proto
    says the same).
    """
    node = member(body, "usage") or member(member(body, "x_groq"), "usage")
    prompt, completion = count_at(node, "prompt_tokens"), count_at(node, "completion_tokens")
    reasoning = count_at(node, "completion_tokens_details.reasoning_tokens", "reasoning_tokens")
    apart = total(prompt, completion, reasoning)
    if reasoning and apart == count_at(node, "total_tokens"):
        completion = total(completion, reasoning)
    cached = count_at(
        node,
        "prompt_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
        "cached_tokens",
        "cached_prompt_text_tokens",
    )
    return usage_of(prompt, completion, cached, reasoning)

"""Reads responses of OpenAI's Responses API, and assembles its streams.

The types come from openai 3.51.0, read on 2026-11-20. The dialect and the names are the same as in
Chat Completions.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from toolshape._families.openai_responses.messages import ARGUMENTS, SEARCH_CALL, read_call
from toolshape._families.wire.bodies import hold_unless_complete, make_room, member, to_plain_json
from toolshape._families.wire.ending import Ending, error_words, events_lost, not_over, waits
from toolshape._families.wire.ids import with_call_ids
from toolshape._families.wire.provider import (
    NO_TEXT,
    NOTHING_CUT,
    Completed,
    Read,
    Reading,
    ResponseForm,
    TextDelta,
)
from toolshape._families.wire.usage import count_at, usage_of
from toolshape._records.calls import JsonObject
from toolshape._records.result import Usage, WaitingItem
from toolshape._schema.values import append_text


def as_response(body: Any) -> Any:
    """Return a response, or wrap items that include a call in a response;
    return ``None`` for any other body.
    """
    if member(body, "object") == "response" and isinstance(member(body, "output"), list):
        return body
    items = body if isinstance(body, list) else [body]
    if any(_is_call(item) and member(item, "call_id") for item in items):
        return {"output": items}
    return None


def _is_call(item: Any) -> bool:
    kind = member(item, "type")
    return isinstance(kind, str) and kind in ARGUMENTS


def _is_call_or_search(item: Any) -> bool:
    """Whether an item is a call, or a search that the client answers."""
    is_search = member(item, "type") == SEARCH_CALL and member(item, "execution") == "client"
    return is_search or _is_call(item)


IsCall: TypeAlias = Callable[[Any], bool]


def _calls_beside(search: str | None) -> IsCall:
    """Return what tells calls from other items; a search is one if a tool of this name does it."""
    return _is_call if search is None else _is_call_or_search


def recognises(body: Any) -> bool:
    return as_response(body) is not None


def read(body: Any, search: str | None = None) -> Read | None:
    """Read the calls.

    A response of JSON in which every item is known is returned as it came; see ``_read_any``.
    """
    if type(body) is dict:
        try:
            # What is not known here goes to the other reader, because a guess would be faster than
            # right: an item of another kind may wait for the app, and a call that is not complete
            # must not run.
            calls: list[tuple[str, str, Any, Any]] = []
            kind = ""
            for item in body["output"]:
                kind = item["type"]
                if kind == "function_call":
                    call_id, name, arguments = item["call_id"], item["name"], item["arguments"]
                    if not (call_id.isascii() and call_id) or "parsed_arguments" in item:
                        break
                    if "status" in item and item["status"] == "incomplete":
                        break
                    calls.append((call_id, name, arguments, item))
                elif kind != "reasoning" and (kind != "message" or item["role"] != "assistant"):
                    break
            else:
                if kind and body["status"] == "completed" and body["object"] == "response":
                    return [*body["output"]], calls, "completed", NOTHING_CUT, True
        except (LookupError, TypeError, AttributeError):
            pass
    return _read_any(body, search)


def _read_any(body: Any, search: str | None = None) -> Reading | None:
    """Read any body.

    A response has a status instead of a finish reason; an incomplete response states why.
    """
    body = as_response(body)
    if body is None:
        return None
    output, is_call = member(body, "output"), _calls_beside(search)
    # A call has two ids: a result names the call_id, never the id.
    calls = [read_call(item, search) for item in output if is_call(item)]
    reason = member(member(body, "incomplete_details"), "reason")
    # A request needs a type or a role in each item.
    items = [item for item in to_plain_json(output) if "type" in item or "role" in item]
    sent_items = [
        {key: value for key, value in item.items() if key != "parsed_arguments"} for item in items
    ]
    sent_items = [
        {**item, "role": "assistant"} if item.get("type") == "message" else item
        for item in sent_items
    ]
    sent_items, calls = with_call_ids(
        sent_items, calls, is_call, lambda item, call_id: {**item, "call_id": call_id}
    )
    cut_positions = frozenset(
        at for at, call in enumerate(calls) if member(call.raw, "status") == "incomplete"
    )
    return Reading(sent_items, calls, reason or member(body, "status"), cut_positions)


def fold(body: JsonObject, event: JsonObject, search: str | None = None) -> Iterable[Completed]:
    """Merge an event. Items are found by their index, or by their id where a server leaves it out.

    When an item is done, the server sends the whole item once more, and at the end all of them.
    """
    # ``x-calls`` has the position of a call among the calls by that of its item in the output. The
    # last event completes all calls, also those that were held back; the collector skips those it
    # has already.
    kind = str(event.get("type", ""))
    if kind in _PIECES and _adds_only(body, event, _PIECES[kind]):
        return ()
    is_call = _calls_beside(search)
    output = body.setdefault("output", [])
    call_positions: dict[int, int] = body.setdefault("x-calls", {})
    body.setdefault("object", "response")
    if isinstance(event.get("response"), dict):
        received_output = event["response"].get("output") or output
        # An event with fewer calls must not drop earlier calls.
        whole_output = (
            received_output
            if _count(is_call, received_output) >= _count(is_call, output)
            else output
        )
        body.update({**event["response"], "output": whole_output})
        return (
            list(enumerate(read_call(item, search) for item in whole_output if is_call(item)))
            if kind == "response.completed"
            else ()
        )
    if kind == "error":
        body["error"] = event.get("error") or {
            key: event[key] for key in ("code", "message", "param") if event.get(key)
        }
        body["status"] = "failed"
    at = _position_in(body, output, event)
    if kind in ("response.output_item.added", "response.output_item.done"):
        make_room(output, at, lambda: {"type": "unknown"})
        output[at] = dict(event["item"])
        if not is_call(output[at]):
            return ()
        position = call_positions.setdefault(at, len(call_positions))
        if not kind.endswith("done") or output[at].get("status") == "incomplete":
            return ()
        call = read_call(output[at], search)
        return hold_unless_complete(body, position, call, call.arguments)
    if kind == "response.content_part.added" and 0 <= at < len(output):
        _begin_part(output[at], event)
    if kind in _TEXT_KEYS and 0 <= at < len(output):
        _join_text(output[at], event, *_TEXT_KEYS[kind])
    if kind.endswith((".arguments.delta", "_arguments.delta", "_input.delta")) and 0 <= at < len(
        output
    ):
        key = ARGUMENTS.get(output[at].get("type", ""), "arguments")
        output[at].setdefault(key, "")
        append_text(output[at], key, event.get("delta", ""))
    return ()


_PIECES = {
    "response.function_call_arguments.delta": "arguments",
    "response.output_text.delta": "text",
}
"""The events that add a piece to a text that has begun, each with the key of the text."""


def _adds_only(body: JsonObject, event: JsonObject, key: str) -> bool:
    """Merge a piece of text or arguments where the text has begun; return whether it has."""
    try:
        holder, piece = body["output"][event["output_index"]], event["delta"]
        if key == "text":
            holder = holder["content"][event["content_index"]]
        is_text = type(holder[key]) is str and type(piece) is str
    except (LookupError, TypeError):
        return False
    if is_text:
        append_text(holder, key, piece)
        body["x-delta"] = TextDelta(piece) if key == "text" else NO_TEXT
    return is_text


def _position_in(body: JsonObject, output: list[JsonObject], event: JsonObject) -> int:
    """Return the position of an event's item: by ``output_index``, or by the id of the item.

    llama.cpp leaves the index out (ggml-org/llama.cpp#20607; tontinton/maki#514, 2026-07). Ids may
    differ between the events of one item, but not the ``call_id``. An event that says nothing of
    its item belongs to the last one.
    """
    at: int | None = event.get("output_index")
    if at is not None and "item" not in event:
        return at
    positions: dict[Any, int] = body.setdefault("x-items", {})
    item = event.get("item") or {}
    ids = [name for name in (event.get("item_id"), item.get("call_id"), item.get("id")) if name]
    if at is None:
        begins = bool(ids) and bool(item)
        known = (positions[name] for name in ids if name in positions)
        at = next(known, len(output) if begins else len(output) - 1)
    positions.update(dict.fromkeys(ids, at))
    return at


_TEXT_KEYS = {
    "response.output_text.delta": ("output_text", "text"),
    "response.refusal.delta": ("refusal", "refusal"),
}
"""The events that add text to a message, each with the type of the part
and the key of the part's text.
"""


def _part_at(item: JsonObject, event: JsonObject) -> tuple[list[JsonObject], int]:
    """Return the list of parts that a message holds, and the position of
    the part that an event changes.
    """
    raw_content = item.get("content")
    if isinstance(raw_content, list):
        content: list[JsonObject] = list(raw_content)
    else:
        content = []
    item["content"] = content
    position = event.get("content_index", max(len(content) - 1, 0))
    make_room(content, position, dict)
    return content, position


def _begin_part(item: JsonObject, event: JsonObject) -> None:
    content, position = _part_at(item, event)
    part = event.get("part")
    content[position] = dict(part) if isinstance(part, dict) else {}


def _join_text(item: JsonObject, event: JsonObject, part_type: str, key: str) -> None:
    """Add a piece of text to a message, to keep it if the stream breaks.

    The finished item later replaces the text.
    """
    content, position = _part_at(item, event)
    if not isinstance(content[position].get(key), str):
        if key == "text":
            other_fields: JsonObject = {"annotations": []}
        else:
            other_fields = {}
        content[position] = {"type": part_type, key: "", **other_fields}
    append_text(content[position], key, event.get("delta", ""))


def _count(is_call: IsCall, output: Sequence[JsonObject]) -> int:
    return sum(map(is_call, output))


def text_delta(event: JsonObject) -> TextDelta:
    """Return the text of a delta event. An event that repeats a finished text adds no text."""
    kind, delta = event.get("type"), event.get("delta")
    if not isinstance(delta, str):
        return NO_TEXT
    if kind in ("response.output_text.delta", "response.refusal.delta"):
        return TextDelta(delta)
    is_thinking = kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
    if is_thinking:
        return TextDelta(thinking=delta)
    return NO_TEXT


_WAITING = frozenset(
    {"mcp_approval_request", "computer_call", "local_shell_call", "shell_call", "apply_patch_call",
    "tool_search_call"}
)  # fmt: skip
"""The kinds of items that wait for the app (openai 3.57.0, ``ResponseOutputItem``, 2026-11-27)."""


def _waits(item: JsonObject, answered: Collection[Any]) -> bool:
    """Whether an item waits for the app.

    What runs in the provider's container has its output beside it.
    """
    if item.get("type") == "tool_search_call" and item.get("execution") != "client":
        return False
    return item.get("type") in _WAITING and (item.get("call_id") or item.get("id")) not in answered


def _waiting_in(items: Sequence[JsonObject]) -> tuple[WaitingItem, ...]:
    answered = {
        item.get("call_id") or item.get("approval_request_id")
        for item in items
        if str(item.get("type")).endswith(("_output", "_response"))
    }
    return tuple(
        WaitingItem(str(item["type"]), str(item.get("call_id") or item.get("id") or ""), item)
        for item in items
        if _waits(item, answered)
    )


def ending(body: Any) -> Ending:
    """Find an error, a status that is no end, and the items that wait for the app,
    also in a list of items alone.
    """
    if isinstance(body, list):
        body = {"output": body}
    status, items = body.get("status"), body.get("output") or ()
    lost = (events_lost(),) if body.get("x-gap") else ()
    if any(item.get("type") in _WAITING for item in items):
        waiting = _waiting_in(items)
    else:
        waiting = ()
    if status in ("failed", "cancelled"):
        words = error_words(body.get("error")) or f"the response was {status}"
        return Ending(words, waiting=waiting, warnings=(*lost, *waits(waiting)))
    if status in ("queued", "in_progress") and "x-calls" not in body:  # not a stream that broke off
        later = not_over(status, "fetch the response by its id until its status is another")
        return Ending(finish="continue", waiting=waiting, warnings=(later, *waits(waiting)))
    warnings = (*lost, *waits(waiting))
    return Ending(finish="app" if waiting else None, waiting=waiting, warnings=warnings)


def usage(body: Any) -> Usage | None:
    """Read the usage in the form of OpenAI's Responses; its totals hold the
    cached tokens and the reasoning.
    """
    node = member(body, "usage")
    return usage_of(
        count_at(node, "input_tokens"),
        count_at(node, "output_tokens"),
        count_at(node, "input_tokens_details.cached_tokens"),
        count_at(node, "output_tokens_details.reasoning_tokens"),
    )


def with_search(form: ResponseForm, name: str) -> ResponseForm:
    """Return the form that reads a search of the client's as a call of the tool with this name."""
    return replace(
        form,
        read=functools.partial(read, search=name),
        fold=functools.partial(fold, search=name),
    )

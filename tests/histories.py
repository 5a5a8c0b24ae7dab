"""Histories at random, healthy and corrupted, as records and in the form of a provider."""

import copy
import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from zoo import CASES

from toolshape import Registry
from toolshape._bound.bound import Bound, bound_tools_of
from toolshape._families import get
from toolshape._families.names import available
from toolshape._history.outbound import CallWriter
from toolshape._records.parts import Image, Text
from toolshape.messages import (
    MediaPart,
    Message,
    Origin,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from toolshape.testing._laws import values

# Tools that every provider can be sent, of every kind of parameter.
NAMES = ("scalars", "defaults", "nullable", "maps", "nested", "containers", "pets")
TOOLS = Registry([CASES[name].function for name in NAMES if name in CASES])
PROVIDERS = [name for name in available() if get(name).histories is not None]
DEFAULTS = [name for name in PROVIDERS if ":" not in name or name == "xai:grpc"]
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
MODEL = "some-model"

_TEXTS = st.text("abc é\n", min_size=1, max_size=12).filter(str.strip)
_ARGUMENTS = {tool.name: values(tool.input_schema) for tool in TOOLS}


@st.composite
def histories(draw: Any, provider: str = "openai", most: int = 4) -> list[Message]:
    """A healthy history in records, its calls in the form that the provider is sent; it ends with the user."""
    bound = TOOLS.bind(provider)
    write = CallWriter(bound.provider, bound_tools_of(bound).handlers).write
    numbers = itertools.count()
    found = (
        [Message(role="system", parts=(TextPart(text=draw(_TEXTS)),))]
        if draw(st.booleans())
        else []
    )
    for _ in range(draw(st.integers(1, most))):
        found.append(_question(draw))
        for _ in range(draw(st.integers(0, 2))):
            found += _step(draw, write, numbers)
        if draw(st.booleans()):
            found.append(Message(role="assistant", parts=(TextPart(text=draw(_TEXTS)),)))
    found.append(Message(role="user", parts=(TextPart(text=draw(_TEXTS)),)))
    return found


def _question(draw: Any) -> Message:
    image = (MediaPart(media=Image(PNG)),) if draw(st.integers(0, 5)) == 0 else ()
    return Message(role="user", parts=(TextPart(text=draw(_TEXTS)), *image))


def _step(draw: Any, write: CallWriter, numbers: Any) -> list[Message]:
    calls: list[ToolCallPart] = []
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(_ARGUMENTS)))
        arguments = draw(_ARGUMENTS[name])
        call = ToolCallPart(
            id=f"call{next(numbers):05}",
            wire_name=name,
            arguments_raw={},
            name=name,
            arguments=arguments,
        )
        calls.append(write(call)[0])
    text = (TextPart(text=draw(_TEXTS)),) if draw(st.booleans()) else ()
    results = [_result(draw, call) for call in calls]
    return [
        Message(role="assistant", parts=(*text, *calls)),
        Message(role="tool", parts=tuple(results)),
    ]


def _result(draw: Any, call: ToolCallPart) -> ToolResultPart:
    text = draw(_TEXTS)
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return ToolResultPart(id=call.id, wire_name=call.wire_name, text=text, code="tool_error")
    if kind == 1:
        parts = (Text(text), Image(PNG))
        return ToolResultPart(
            id=call.id, wire_name=call.wire_name, text=f"{text}\n[image/png]", parts=parts
        )
    return ToolResultPart(id=call.id, wire_name=call.wire_name, text=text, is_text=True)


def on_wire(bound: Bound, messages: Sequence[Message]) -> list[Any]:
    """Records as wire messages of a provider, without any repair; system prompts only where they stand among them."""
    forms = bound.provider.histories
    assert forms is not None
    kept = [message for message in messages if message.role != "system" or forms.system is None]
    return [wire for item in kept for wire in forms.write(item)]


# What goes wrong with stored histories. Each takes records and numbers to choose by, and gives other records.
Corruption = Callable[[list[Message], int], list[Message]]


def _at(messages: list[Message], kind: type[Any], number: int) -> tuple[int, int] | None:
    """A part of a kind, by its message and its place in that."""
    places = [
        (m, p)
        for m, message in enumerate(messages)
        for p, part in enumerate(message.parts)
        if isinstance(part, kind)
    ]
    return places[number % len(places)] if places else None


def _changed(messages: list[Message], place: tuple[int, int], **changes: Any) -> list[Message]:
    m, p = place
    parts = list(messages[m].parts)
    parts[p] = dataclasses.replace(parts[p], **changes)
    return [*messages[:m], dataclasses.replace(messages[m], parts=tuple(parts)), *messages[m + 1 :]]


def delete_message(messages: list[Message], number: int) -> list[Message]:
    at = number % len(messages)
    return messages[:at] + messages[at + 1 :]


def duplicate_message(messages: list[Message], number: int) -> list[Message]:
    at = number % len(messages)
    return messages[: at + 1] + messages[at:]


def swap_messages(messages: list[Message], number: int) -> list[Message]:
    at = number % max(len(messages) - 1, 1)
    return messages[:at] + messages[at : at + 2][::-1] + messages[at + 2 :]


def delete_result(messages: list[Message], number: int) -> list[Message]:
    place = _at(messages, ToolResultPart, number)
    if place is None:
        return messages
    m, p = place
    kept = messages[m].parts[:p] + messages[m].parts[p + 1 :]
    changed = [dataclasses.replace(messages[m], parts=kept)] if kept else []
    return [*messages[:m], *changed, *messages[m + 1 :]]


def duplicate_result(messages: list[Message], number: int) -> list[Message]:
    place = _at(messages, ToolResultPart, number)
    if place is None:
        return messages
    m, p = place
    return [
        *messages[: m + 1],
        Message(role="tool", parts=(messages[m].parts[p],)),
        *messages[m + 1 :],
    ]


def late_result(messages: list[Message], number: int) -> list[Message]:
    place = _at(messages, ToolResultPart, number)
    if place is None:
        return messages
    result = messages[place[0]].parts[place[1]]
    rest = delete_result(messages, number)
    return [*rest[:-1], Message(role="tool", parts=(result,)), rest[-1]]


def orphan(messages: list[Message], number: int) -> list[Message]:
    at = number % len(messages)
    stray = Message(
        role="tool", parts=(ToolResultPart(id=f"stray{number:04}", wire_name="scalars", text="?"),)
    )
    return [*messages[:at], stray, *messages[at:]]


def alien_id(messages: list[Message], number: int) -> list[Message]:
    place = _at(messages, ToolCallPart, number)
    if place is None:
        return messages
    old = messages[place[0]].parts[place[1]].id
    new = ("functions.x:0", "call|1", "a" * 70, "é" + old)[number % 4]
    return [
        dataclasses.replace(
            message,
            parts=tuple(
                dataclasses.replace(part, id=new) if getattr(part, "id", None) == old else part
                for part in message.parts
            ),
        )
        for message in messages
    ]


def same_id(messages: list[Message], number: int) -> list[Message]:
    """All calls of one step have one id, and so have their results."""
    place = _at(messages, ToolCallPart, number)
    if place is None:
        return messages
    first = messages[place[0]].parts[place[1]].id
    ids = {part.id for part in messages[place[0]].parts if isinstance(part, ToolCallPart)}
    return [
        dataclasses.replace(
            message,
            parts=tuple(
                dataclasses.replace(part, id=first) if getattr(part, "id", None) in ids else part
                for part in message.parts
            ),
        )
        for message in messages
    ]


def cut_arguments(messages: list[Message], number: int) -> list[Message]:
    place = _at(messages, ToolCallPart, number)
    return (
        messages
        if place is None
        else _changed(messages, place, arguments_raw='{"a": [1, ', arguments=None)
    )


def odd_name(messages: list[Message], number: int) -> list[Message]:
    place = _at(messages, ToolCallPart, number)
    return (
        messages
        if place is None
        else _changed(messages, place, wire_name="no such.tool", name=None)
    )


def blank_text(messages: list[Message], number: int) -> list[Message]:
    place = _at(messages, TextPart, number)
    return messages if place is None else _changed(messages, place, text=" \n")


def text_after_calls(messages: list[Message], number: int) -> list[Message]:
    place = _at(messages, ToolCallPart, number)
    if place is None:
        return messages
    one = messages[place[0]]
    return [
        *messages[: place[0]],
        dataclasses.replace(one, parts=(*one.parts, TextPart(text="after"))),
        *messages[place[0] + 1 :],
    ]


CORRUPTIONS: dict[str, Corruption] = {
    function.__name__: function
    for function in (
        delete_message, duplicate_message, swap_messages, delete_result, duplicate_result, late_result, orphan, alien_id,
        same_id, cut_arguments, odd_name, blank_text, text_after_calls,
    )
}  # fmt: skip


@st.composite
def corrupted(draw: Any, provider: str) -> tuple[list[Any], list[str]]:
    """Wire messages of a provider with one to three things wrong, and which."""
    bound = TOOLS.bind(provider)
    messages = draw(histories(provider))
    names = draw(st.lists(st.sampled_from(sorted(CORRUPTIONS)), min_size=1, max_size=3))
    for name in names:
        messages = CORRUPTIONS[name](messages, draw(st.integers(0, 50))) or messages
    return copy.deepcopy(on_wire(bound, messages)), names


FOREIGN = Origin(provider="elsewhere", model="m")
THOUGHT = ReasoningPart(text="hm")

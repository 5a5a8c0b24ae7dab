"""The laws of a family's codec: what is read is written as it came, and calls and messages are read alike.

The oracles of what is written (the SDKs' types, botocore, mistral-common) are in ``tests/sdks`` and ``tests/oracles``.
TOOLSHAPE_BODIES says how many mutated bodies are read, TOOLSHAPE_SEED which.
"""

import copy
import json
import os
import random
from dataclasses import replace

import pytest
from histories import PROVIDERS, TOOLS, histories, on_wire
from hypothesis import given, settings
from mutated_bodies import WITH_MESSAGES, mutated

from toolshape import ResponseError
from toolshape._families import get
from toolshape._families.receive import read_response, sendable_name
from toolshape._history.reading import messages_in
from toolshape._records.result import make_sendable
from toolshape.messages import (
    MediaPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    calls_in,
    results_in,
)

EXAMPLES = 5 if os.environ.get("TOOLSHAPE_EXAMPLES") else 20
BODIES = int(os.environ.get("TOOLSHAPE_BODIES", "6000"))
SEED = os.environ.get("TOOLSHAPE_SEED", "0")
LAW = settings(max_examples=EXAMPLES, database=None, deadline=None, derandomize=True)
EVERY = pytest.mark.parametrize("provider", PROVIDERS)
ROW = pytest.mark.parametrize("row", WITH_MESSAGES, ids=lambda row: row.provider)

# What of a call or a result only its provider understands, and no record holds: these keys are lost without ``raw``.
OPAQUE = {
    "signature", "thoughtSignature",  # of what the model thought
    "index",  # Mistral's, of a stream
    "status", "id",  # of an item of Responses, whose calls are linked by call_id
    "refusal",  # null where there is none
}  # fmt: skip
BY_DEFAULT = ("function", {}, "{}", None, "")
"""What is written where nothing stood: the only type that there is, and arguments of nothing."""


def without_raw(message):
    return replace(
        message, raw=None, parts=tuple(replace(part, raw=None) for part in message.parts)
    )


def written_again(histories, wire):
    """Wire messages as they are written when they were read, and what came is forgotten."""
    return [
        item
        for message in messages_in(histories, copy.deepcopy(wire))
        for item in histories.write(without_raw(message))
    ]


@EVERY
def test_what_is_read_is_written_as_it_came(provider):
    """L1, for messages of every kind of call and result: without ``raw``, byte for byte."""
    bound = TOOLS.bind(provider)

    @LAW
    @given(histories(provider))
    def law(messages):
        wire = on_wire(bound, messages)
        assert written_again(bound.provider.histories, wire) == wire

    law()


@ROW
def test_what_a_provider_sends_is_written_as_it_came(row):
    """L1, for the calls and the results of recorded forms, but for keys that are listed as opaque."""
    forms = get(row.provider).histories
    for message in messages_in(forms, copy.deepcopy([*row.assistant, *row.messages])):
        for part in (*calls_in(message), *results_in(message)):
            [again] = forms.write(without_raw(replace(message, parts=(part,))))
            [[bare]] = [
                [*calls_in(item), *results_in(item)]
                for item in messages_in(forms, copy.deepcopy([again]))
            ]
            same_but_opaque(part.raw, bare.raw)


def same_but_opaque(came, written):
    if not isinstance(came, dict) or not isinstance(written, dict):
        assert (
            came == written
            or (came in BY_DEFAULT and written in BY_DEFAULT)
            or as_json(came) == as_json(written)
        )
        return
    assert came.keys() - written.keys() <= OPAQUE, (came, written)
    for key, value in written.items():
        if key in came:
            same_but_opaque(came[key], value)
        else:
            assert value in BY_DEFAULT, (key, came, written)


def as_json(value):
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value or "{}")
    except ValueError:
        return value


def facts(messages, forms):
    """What messages say: texts by who said them, calls, and results; pieces of one text are one text."""
    found = []
    for message in messages:
        role = {"assistant": "assistant", "system": "system"}.get(message.role, "user")
        for part in message.parts:
            if isinstance(part, TextPart):
                if found and found[-1][:2] == ("text", role):
                    found[-1] = ("text", role, found[-1][2] + "\n" + part.text)
                else:
                    found.append(("text", role, part.text))
            elif isinstance(part, ToolCallPart):
                given_id = part.id if forms.has_call_ids else ""
                found.append(("call", given_id, part.wire_name, as_json(part.arguments_raw)))
            elif isinstance(part, ToolResultPart):
                found.append(
                    ("result", part.id if forms.has_call_ids else "", part.text, part.code)
                )
            elif isinstance(part, MediaPart):
                found.append(("media", part.media.data))
    return found


@EVERY
def test_what_is_written_is_read_as_what_was_meant(provider):
    """L2: of results with images, which not all families hold, only their ids."""
    bound = TOOLS.bind(provider)
    forms = bound.provider.histories

    def plain(message):
        return not any(isinstance(part, ToolResultPart) and part.parts for part in message.parts)

    @LAW
    @given(histories(provider))
    def law(messages):
        messages = [
            message
            for message in messages
            if plain(message) and (message.role != "system" or forms.system is None)
        ]
        read = messages_in(forms, copy.deepcopy(on_wire(bound, messages)))
        calls = {part.id for message in messages for part in calls_in(message)}
        answered = {part.id for message in messages for part in results_in(message)}
        if not forms.has_call_ids and calls != answered:  # linked by their order, which has a gap
            return
        assert facts(read, forms) == facts(messages, forms)

    law()


LIES = {
    "name": (ToolCallPart, {"wire_name": "another"}),
    "id": (ToolCallPart, {"id": "another"}),
    "arguments": (ToolCallPart, {"arguments_raw": {"another": 1}}),
    "text": (TextPart, {"text": "another"}),
    "text of a result": (ToolResultPart, {"text": "another"}),
}


@EVERY
@pytest.mark.parametrize("lie", LIES)
def test_a_reader_that_lies_breaks_the_law(provider, lie):
    """L3: whatever a reader gets wrong, while ``raw`` is right, is noticed."""
    forms = get(provider).histories
    if lie == "id" and not forms.has_call_ids:
        pytest.skip("its calls have no ids")
    kind, wrong = LIES[lie]

    def lying(item, path):
        message = forms.read(item, path)
        parts = (
            replace(part, **wrong) if isinstance(part, kind) else part for part in message.parts
        )
        return replace(message, parts=tuple(parts))

    bound = TOOLS.bind(provider)
    noticed = []

    @LAW
    @given(histories(provider))
    def law(messages):
        wire = on_wire(bound, messages)
        if any(
            isinstance(part, kind)
            for message in messages
            for part in message.parts
            if message.role != "system"
        ):
            noticed.append(written_again(replace(forms, read=lying), wire) != wire)

    law()
    assert noticed
    assert all(noticed)


def disagreement(provider, body):
    """How the calls of a response differ from those in the messages that it is kept as; empty where they agree."""
    try:
        assistant, calls, *_ = read_response(provider, body)
    except ResponseError:
        return None
    messages = messages_in(provider.histories, list(assistant)) if assistant else []
    parts = [part for message in messages for part in calls_in(message)]
    if len(parts) != len(calls):
        return f"{len(calls)} calls, and {len(parts)} in the messages"
    for (call_id, name, arguments, _), part in zip(calls, parts, strict=True):
        if isinstance(name, str) and sendable_name(name) != part.wire_name:
            return f"the name {name!r}, and {part.wire_name!r}"
        if meant(arguments) != meant(part.arguments_raw):
            return f"the arguments {arguments!r}, and {part.arguments_raw!r}"
        if part.has_id and isinstance(call_id, str) and call_id.isascii() and call_id != part.id:
            return f"the id {call_id!r}, and {part.id!r}"
    return ""


def meant(arguments):
    """Arguments as JSON: what is no object stands inside one in a message that can be sent."""
    if isinstance(arguments, dict) and arguments.keys() == {"INVALID_JSON"}:
        arguments = arguments["INVALID_JSON"]
    return as_json(make_sendable([arguments])[0])


def test_calls_and_messages_agree_on_mutated_bodies():
    """L4: a call is read once, whatever a gateway puts around it."""
    read = 0
    for number in range(BODIES):
        row = WITH_MESSAGES[number % len(WITH_MESSAGES)]
        body = mutated(row.response, random.Random(f"{SEED} {number}"))
        difference = disagreement(get(row.provider), body)
        assert not difference, (
            f"{row.provider}, TOOLSHAPE_SEED={SEED}, {number}: {difference}\n{body!r}"
        )
        read += difference is not None
    assert read > BODIES * 0.8


@ROW
@pytest.mark.parametrize("lie", ["name", "id", "arguments"])
def test_a_record_that_lies_disagrees(row, lie):
    """L4 itself: a record that says another name, id or argument than the call is noticed."""
    provider = get(row.provider)
    kind, wrong = LIES[lie]

    def lying(item, path):
        message = provider.histories.read(item, path)
        return replace(
            message,
            parts=tuple(replace(p, **wrong) if isinstance(p, kind) else p for p in message.parts),
        )

    assert disagreement(provider, row.response) == ""
    assert disagreement(
        replace(provider, histories=replace(provider.histories, read=lying)), row.response
    )

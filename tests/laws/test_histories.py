"""The laws of histories, for every provider and tools of every kind. TOOLSHAPE_HISTORIES says how many cases there are."""

import copy
import os

import pytest
from histories import DEFAULTS, MODEL, PROVIDERS, TOOLS, corrupted, histories, on_wire
from hypothesis import given, settings, strategies as st

from toolshape import Conversation, HistoryError
from toolshape._families import get
from toolshape.messages import TextPart, ToolCallPart, ToolResultPart

EXAMPLES = int(os.environ.get("TOOLSHAPE_HISTORIES", "0")) or (
    5 if os.environ.get("TOOLSHAPE_EXAMPLES") else 25
)
EVERY = pytest.mark.parametrize("provider", PROVIDERS)
LAW = settings(max_examples=EXAMPLES, database=None, deadline=None, derandomize=True)


def key_of(provider):
    return get(provider).histories.key


def read(wire, provider):
    conversation = Conversation(TOOLS)
    conversation.read(copy.deepcopy(wire), provider, model=MODEL)
    return conversation


@EVERY
def test_its_own_messages_go_back_as_they_came(provider):
    """The same, and so they do after a visit at another provider."""

    @LAW
    @given(histories(provider), st.sampled_from(DEFAULTS))
    def law(messages, other):
        wire = read(on_wire(TOOLS.bind(provider), messages), provider).request(
            provider, model=MODEL
        )[key_of(provider)]
        conversation = read(wire, provider)
        assert not TOOLS.bind(provider).check_messages(wire, model=MODEL)
        assert conversation.request(provider, model=MODEL)[key_of(provider)] == wire
        assert not conversation.repairs
        conversation.request(other)
        assert conversation.request(provider, model=MODEL)[key_of(provider)] == wire
        stored = Conversation.from_json(conversation.to_json(), TOOLS)
        assert stored.messages == conversation.messages
        assert stored.request(provider, model=MODEL)[key_of(provider)] == wire

    law()


def said(messages):
    """What must not be lost: texts in their order, calls with what their functions would get, and results."""
    texts = [
        "\n\n".join(p.text for p in m.parts if isinstance(p, TextPart))
        for m in messages
        if m.role != "system"
    ]
    calls = [part for m in messages for part in m.parts if isinstance(part, ToolCallPart)]
    results = [part for m in messages for part in m.parts if isinstance(part, ToolResultPart)]
    got = [
        (c.name, TOOLS[c.name].model.model_validate(c.arguments) if c.name else None) for c in calls
    ]
    return "\n\n".join(filter(str.strip, texts)), got, [bool(r.code) for r in results]


@EVERY
def test_read_again_elsewhere_it_says_the_same(provider):
    """Whatever was meant for one provider is what the functions would get of what another is sent."""

    @LAW
    @given(histories(provider), st.sampled_from(DEFAULTS))
    def law(messages, other):
        conversation = read(on_wire(TOOLS.bind(provider), messages), provider)
        wire = conversation.request(other)[key_of(other)]
        assert not TOOLS.bind(other).check_messages(wire), (provider, other)
        again = TOOLS.bind(other).read_messages(copy.deepcopy(wire))
        texts, calls, _ = said(conversation.messages)
        texts_again, calls_again, _ = said(again)
        assert [name for name, _ in calls] == [name for name, _ in calls_again]
        for (name, meant), (_, got) in zip(calls, calls_again, strict=True):
            assert meant == got, (name, meant, got)
        for line in texts.split("\n\n"):
            assert line in texts_again, (line, wire)

    law()


@EVERY
def test_what_is_broken_is_repaired(provider):
    """Each call has its one result, nothing else is touched, and the repair finds nothing in its own work."""
    bound = TOOLS.bind(provider)

    @LAW
    @given(corrupted(provider))
    def law(case):
        wire, names = case
        before = copy.deepcopy(wire)
        findings = bound.check_messages(wire, model=MODEL)
        assert wire == before
        repaired = bound.repair_messages(wire, model=MODEL)
        assert wire == before
        assert len(
            [
                finding
                for finding in findings
                if finding.rule not in ("open_turn", "last_is_assistant")
            ]
        ) == len(repaired.repairs)
        if not repaired.repairs:
            assert all(any(message is other for other in wire) for message in repaired.messages)
            assert len(repaired.messages) == len(wire)
        left = [
            check_message
            for check_message in bound.check_messages(repaired.messages, model=MODEL)
            if check_message.rule not in _OPEN
        ]
        assert not left, (names, left, repaired)
        again = bound.repair_messages(repaired.messages, model=MODEL)
        assert again.messages == repaired.messages
        rules = {rule.name for rule in bound.provider.histories.rules if rule.holds(MODEL)}
        if {"unanswered_call", "orphan_result", "duplicate_result"} <= rules:
            _each_has_one(bound.read_messages(repaired.messages))

    law()


_OPEN = ("open_turn", "last_is_assistant")


def _each_has_one(messages):
    calls = [
        (part.id, at)
        for at, m in enumerate(messages)
        for part in m.parts
        if isinstance(part, ToolCallPart)
    ]
    results = [part.id for m in messages for part in m.parts if isinstance(part, ToolResultPart)]
    last = max(
        (at for at, m in enumerate(messages) if m.role != "assistant" and not _is_answer(m)),
        default=-1,
    )
    closed = [call_id for call_id, at in calls if at < last]
    for call_id in set(closed):
        assert results.count(call_id) == closed.count(call_id), (call_id, messages)
    assert set(results) <= {call_id for call_id, _ in calls} or not any(
        call_id for call_id, _ in calls
    )


def _is_answer(message):
    return bool(message.parts) and all(isinstance(part, ToolResultPart) for part in message.parts)


@EVERY
def test_a_longer_history_begins_as_the_shorter_one(provider):
    """But for a late result and white space at the end, which are named; made in steps it is what it is at once."""

    @LAW
    @given(histories("openai"), st.integers(1, 3))
    def law(messages, step):
        steps, shorter = Conversation(TOOLS), []
        wires = on_wire(TOOLS.bind("openai"), messages)
        for at in range(0, len(wires), step):
            steps.read(wires[at : at + step], "openai")
            try:
                longer = _pieces(steps.request(provider)[key_of(provider)])
            except HistoryError as error:
                assert {problem.rule for problem in error.problems} <= {
                    "open_turn",
                    "last_is_assistant",
                    "no_messages",
                }
                continue
            if not any(
                repair.rule in ("late_result", "unanswered_call") for repair in steps.repairs
            ):
                assert longer[: len(shorter)] == shorter
                # A text that the model is to go on with loses its white space only while it is the last.
                trimmed = any(repair.rule == "trailing_space" for repair in steps.repairs)
                shorter = longer[:-1] if trimmed else longer
        at_once = Conversation(TOOLS)
        at_once.read(wires, "openai")
        assert steps.request(provider) == at_once.request(provider)
        assert [(repair.rule, repair.path) for repair in steps.repairs] == [
            (repair.rule, repair.path) for repair in at_once.repairs
        ]

    law()


def _pieces(messages):
    """The parts of wire messages, each with its role."""
    found = []
    for message in messages:
        role = message.get("role") or message.get("type")
        content = message.get("content", message.get("parts"))
        pieces = (
            content if isinstance(content, list) else [] if content in (None, "") else [content]
        )
        found += [(role, piece) for piece in pieces]
        found += [(role, call) for call in message.get("tool_calls") or ()]
        if not pieces and not message.get("tool_calls"):
            found.append((role, message))
    return found


@EVERY
def test_what_is_said_for_speed_is_what_the_writer_writes(provider):
    """``say`` and ``encode`` of a provider against the writer of its histories."""
    bound = TOOLS.bind(provider)

    @LAW
    @given(histories(provider))
    def law(messages):
        for message in messages:
            calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            if calls and len(calls) == len(message.parts):
                pairs = [(call.name, call.arguments) for call in calls]
                spoken = bound.calls_as_messages(pairs)
                heard = bound.read_messages(spoken)
                ids = [part.id for item in heard for part in item.parts]
                written = on_wire(bound, [_with_ids(message, ids)])
                assert spoken == written

    law()


def _with_ids(message, ids):
    from dataclasses import replace

    has_ids = get(PROVIDERS[0]).histories is not None
    parts = tuple(
        replace(part, id=new, has_id=has_ids) for part, new in zip(message.parts, ids, strict=True)
    )
    return replace(message, parts=parts)

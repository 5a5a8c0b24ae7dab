"""What repair makes of every corruption, and what each provider is sent of another's history, before others' judges."""

import copy
import os

import pytest
from histories import CORRUPTIONS, MODEL, PROVIDERS, TOOLS, corrupted, histories, on_wire
from hypothesis import given, settings, strategies as st
from judges import JUDGES, MISTRAL_VERSIONS, judged

from toolshape import Conversation
from toolshape._families import get

EXAMPLES = 10 if os.environ.get("TOOLSHAPE_EXAMPLES") else 30
JUDGED = settings(max_examples=EXAMPLES, database=None, deadline=None, derandomize=True)
OPEN = {"open_turn", "last_is_assistant"}


def model_of(version):
    """A model whose tokenizer is of this version."""
    return "open-mixtral-8x22b" if version == "v3" else MODEL


@pytest.mark.parametrize("provider", JUDGES)
def test_the_judges_can_refuse(provider):
    """Each refuses a message that is none."""
    key = get(provider).histories.key
    with pytest.raises(Exception):  # noqa: B017, PT011 - each has its own
        judged(provider, {key: [{"role": 5, "type": "message", "content": 7, "parts": 3}]})


@pytest.mark.parametrize("provider", JUDGES)
def test_what_repair_makes_is_taken(provider):
    """Of every corruption, as far as the request is one that can be sent."""
    bound = TOOLS.bind(provider)
    key = get(provider).histories.key

    @JUDGED
    @given(corrupted(provider), st.sampled_from(MISTRAL_VERSIONS))
    def law(case, version):
        wire, _ = case
        model = model_of(version)
        repaired = bound.repair_messages(wire, model=model)
        if not repaired.messages or OPEN & {
            check_message.rule
            for check_message in bound.check_messages(repaired.messages, model=model)
        }:
            return
        judged(provider, {key: repaired.messages}, version)

    law()


@pytest.mark.parametrize("corruption", CORRUPTIONS)
@pytest.mark.parametrize("provider", JUDGES)
def test_each_corruption_by_each_provider(provider, corruption):
    """One at a time, so that none is missed by chance."""
    bound = TOOLS.bind(provider)
    key = get(provider).histories.key

    @settings(max_examples=4, database=None, deadline=None, derandomize=True)
    @given(histories(provider), st.integers(0, 20))
    def law(messages, number):
        wire = copy.deepcopy(on_wire(bound, CORRUPTIONS[corruption](messages, number)))
        repaired = bound.repair_messages(wire)
        left = bound.check_messages(repaired.messages) if repaired.messages else []
        assert {item.rule for item in left} <= OPEN
        if repaired.messages and not left:
            judged(provider, {key: repaired.messages})

    law()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_another_is_sent_is_taken(provider):
    """Of a history of any provider, by each that can be judged; also after corruption."""

    @JUDGED
    @given(corrupted(provider), st.sampled_from(sorted(JUDGES)), st.sampled_from(MISTRAL_VERSIONS))
    def law(case, other, version):
        wire, _ = case
        conversation = Conversation(TOOLS)
        conversation.read(wire, provider)
        conversation.user("And now?")
        request = conversation.request(other, model=model_of(version))
        assert not TOOLS.bind(other).check_messages(request, model=model_of(version))
        judged(
            other,
            {key: value for key, value in request.items() if key not in ("tools", "model")},
            version,
        )

    law()

"""Every call has exactly one answer, and nothing escapes: over broken responses, odd arguments and tools that misbehave.

``nox -s lanes-3.11`` runs 170,000 cases, every other run of this lane 6,000 of its Python's own;
``tests/fuzz_coverage.py`` lets a coverage-guided fuzzer choose them.
"""

import logging
import os
import random
import sys
import warnings

import fuzzing
import pytest
from rows import ROWS
from seeds import fails, run_each
from test_providers import MESSAGE_TYPES

CHUNKS = 20
CASES = 170_000 if os.environ.get("TOOLSHAPE_EVERY") else 6_000
# Each Python has cases of its own.
FIRST = sys.version_info[1] * 1_000_000


@pytest.fixture(autouse=True)
def quiet(caplog):
    """What the tools raise is logged; here that is no news."""
    caplog.set_level(logging.CRITICAL, logger="toolshape")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_call_is_answered(chunk):
    """Whatever comes, for every provider, streamed and not, in a loop and out of one."""
    size = CASES // CHUNKS
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", RuntimeWarning
        )  # a coroutine that a tool gave away is nobody's
        run_each(fuzzing.one, range(FIRST + chunk * size, FIRST + (chunk + 1) * size))


def test_a_case_can_fail(monkeypatch):
    """The check is one: an encoder that loses an answer is found."""
    monkeypatch.setattr(fuzzing, "sendable", lambda results: results.messages.append(1 / 0))
    assert any(fails(fuzzing.one, seed, ZeroDivisionError) for seed in range(50))


@pytest.mark.parametrize(
    "provider", ["openai", "openai-responses", "anthropic", "gemini", "bedrock", "mcp"]
)
def test_answers_pass_the_types_of_the_sdk(provider):
    """Odd arguments to tools that misbehave; what goes back is what the provider's SDK takes."""
    types = pytest.importorskip(
        "test_sdk_types", reason="google-genai does not install beside this pydantic"
    )
    check = types.MESSAGES.get(provider) or (
        lambda value: types.forced(MESSAGE_TYPES[provider].validate_python(value))
    )
    row = next(row for row in ROWS if row.provider == provider)
    for seed in range(FIRST, FIRST + CASES // 40):
        chance = fuzzing.ACTS.chance = random.Random(seed)
        tools = chance.choice(fuzzing.REGISTRIES).bind(provider)
        results = tools.dispatch(fuzzing.with_arguments(row.response, chance))
        assert [result.call.wire_name for result in results] == [name for _, name, _ in row.calls]
        for message in results.messages:
            check(message)

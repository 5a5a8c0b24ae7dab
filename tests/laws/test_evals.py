"""The laws of evaluations: the same verdict at every provider, in any order, and scores that an extra call never raises."""

import os
import random

import pytest
from histories import DEFAULTS, TOOLS
from hypothesis import given, settings, strategies as st

from toolshape.evals import Case, Expect
from toolshape.evals._assign import best_pairs
from toolshape.testing._laws import values

EXAMPLES = 10 if os.environ.get("TOOLSHAPE_EXAMPLES") else 60
LAW = settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True)


@pytest.mark.parametrize("provider", DEFAULTS)
def test_the_same_verdict_at_every_provider(provider):
    """After ``say`` and ``parse``, strict or not, in any order; an extra call never raises a score."""

    @LAW
    @given(st.data())
    def law(data):
        names = data.draw(
            st.lists(st.sampled_from([tool.name for tool in TOOLS]), min_size=1, max_size=3)
        )
        calls = [(name, data.draw(values(TOOLS[name].input_schema))) for name in names]
        wanted = data.draw(st.sampled_from([calls, calls[:-1], [*calls, calls[0]]]))
        case = Case("x", expected=[Expect(name, arguments) for name, arguments in wanted])
        found = set()
        for strict in (False, "auto"):
            bound = TOOLS.bind(provider, strict)
            for order in (calls, calls[::-1]):
                spoken = bound.calls_as_messages(order)
                verdict = case.compare(
                    bound,
                    spoken if len(spoken) > 1 or bound.provider.histories.is_items else spoken[0],
                )
                found.add((verdict.label, round(verdict.score, 9)))
        assert len(found) == 1, (found, calls)
        [(label, score)] = found
        assert 0 <= score <= 1
        assert (label == "right") is (wanted is calls)
        more = bound.calls_as_messages([*calls, calls[0]])
        again = case.compare(
            bound, more if len(more) > 1 or bound.provider.histories.is_items else more[0]
        )
        if len(wanted) <= len(calls):
            assert again.score <= score

    law()


def test_assignments_are_as_good_as_scipys():
    """The same sum as scipy's solver finds, for tables of any shape, ties and zeros among them."""
    optimize = pytest.importorskip(
        "scipy.optimize", reason="scipy is not installed: nox -s lanes-3.12"
    )
    for seed in range(50 * EXAMPLES):
        rng = random.Random(seed)
        rows, columns = rng.randint(1, 9), rng.randint(1, 9)
        values = [0.0, 0.5, 1.0] if seed % 2 else [rng.random() for _ in range(20)]
        table = [[rng.choice(values) for _ in range(columns)] for _ in range(rows)]
        pairs = best_pairs(table)
        assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
        chosen = zip(*optimize.linear_sum_assignment(table, maximize=True), strict=True)
        theirs = sum(table[row][column] for row, column in chosen)
        assert sum(table[row][column] for row, column in pairs) == pytest.approx(theirs), seed

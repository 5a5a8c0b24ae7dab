"""The score of a call beside the expected call."""

import pytest

from toolshape import Registry, tool
from toolshape._bound.bound import bound_tools_of
from toolshape.evals import Expect
from toolshape.evals._compare import compare_call, receive_call


@tool
def book(city: str, nights: int = 1, smoking: bool = False) -> str:
    """Book a room."""
    return city


@pytest.mark.parametrize(
    ("given", "score"),
    [
        ({"city": "Bonn"}, 1),
        ({"city": "Ulm"}, 0),
        (
            {"city": "Ulm", "nights": 1},
            1 / 2,
        ),  # the default, which the model gave: one argument of two is right
        ({"city": "Ulm", "nights": 1, "smoking": False}, 2 / 3),
        ({"city": "Bonn", "nights": 2}, 1 / 2),
        ({"city": "Bonn", "nights": 2, "smoking": False}, 2 / 3),
    ],
)
def test_each_argument_that_was_given_counts(given, score):
    bound = Registry([book]).bind("json-schema")
    plan = bound.plan({"name": "book", "arguments": given})
    [call] = plan.calls
    assert compare_call(
        Expect(book, city="Bonn"), receive_call(call, None, bound_tools_of(bound).handlers, 0)
    ).score == pytest.approx(score)

"""Time over doublings: evaluations, and the replay of long lines."""

import pytest
from growth import LINEAR, time_growth


def linear(size):
    """Work in proportion to its size."""
    return lambda: sum(number * number for number in range(size))


def quadratic(size):
    """Each item looks at all the others, quickly: no function of Python is called."""
    numbers = list(range(size))
    return lambda: [number for number in numbers if -number - 1 in numbers]


@pytest.mark.parametrize(("work", "small", "is_linear"), [(linear, 20_000, True), (quadratic, 400, False)])
def test_linear_and_quadratic_work_are_told_apart(work, small, is_linear):
    """The measure itself."""
    assert (time_growth(work, small) < LINEAR) is is_linear

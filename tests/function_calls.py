"""How much work something is: function calls counted, not seconds."""

import sys
from collections.abc import Callable
from typing import Any


def calls_in(work: Callable[[], Any]) -> int:
    """How many functions of Python and of C are called."""
    count = 0

    def look(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def growth(work: Callable[[int], Callable[[], Any]], small: int, times: int = 4) -> float:
    """By how much more than the size the work grows, where that is several times as large; 1 is linear.

    Args:
        work: What is to be done for a size; making it is not counted.
        small: The smaller size.
        times: How many times as large the larger is.
    """
    work(small)()  # what is compiled with the first
    return calls_in(work(small * times)) / calls_in(work(small)) / times

"""Measures how the time of some work grows with its size: as a ratio over doublings, so that no machine is too slow.

Counting function calls (``function_calls.py``) is exact, but does not see bytes that are copied, nor what C code does.
"""

import gc
import math
from collections.abc import Callable
from time import process_time
from typing import Any

__all__ = ["LINEAR", "time_growth"]

LINEAR = 2.5
"""The limit for ``time_growth`` over three doublings: linear work measures 0.7 to 1.5 there, quadratic work 5 to 8."""


_NO_DOUBT = 2.0


def time_growth(
    work: Callable[[int], Callable[[], Any]], small: int, *, doublings: int = 3, repeats: int = 5
) -> float:
    """Return by how much more than its size the time of some work grows: 1 is linear; quadratic work doubles it each time.

    The smallest and the largest size are timed several times, both sizes in turns, and the shortest time of each
    counts: what else the machine does only ever adds to a time. Time is the processor's, of all threads of this
    process. The garbage collector waits.

    Args:
        work: Prepares the work of one size, which is not timed, and returns it. It is prepared for each repetition.
        small: The smallest size; its work should take a few milliseconds.
        doublings: How often the size is doubled.
        repeats: How often each size is timed; four times as often where the growth is in doubt, as other processes
            may have had the caches.
    """
    work(small)()  # the first call may compile or import something
    shortest = {small: math.inf, small << doublings: math.inf}
    grown = math.inf
    for repeat in range(4 * repeats):
        if repeat >= repeats and grown < _NO_DOUBT:
            break
        shortest = {size: min(seconds, _seconds(work(size))) for size, seconds in shortest.items()}
        grown = shortest[small << doublings] / shortest[small] / (1 << doublings)
    return grown


def _seconds(prepared: Callable[[], Any]) -> float:
    gc.collect()
    gc.disable()
    try:
        start = process_time()
        prepared()
        return process_time() - start
    finally:
        gc.enable()

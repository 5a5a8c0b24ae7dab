"""Times callables in turns, so that a slow moment of the machine affects all of them."""

import asyncio
import gc
import inspect
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

__all__ = ["Effort", "Spread", "fitted_exponent", "seconds_of_each", "spread_of"]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long to measure: ``rounds`` of ``seconds`` for each callable."""

    rounds: int = 31
    seconds: float = 0.004


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A median, and the quartiles around it."""

    median: float
    low: float
    high: float


def spread_of(values: Sequence[float]) -> Spread:
    """Return the median and the quartiles of some values."""
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return Spread(median=median, low=low, high=high)


def seconds_of_each(
    callables: Mapping[str, Callable[[], Any]], effort: Effort, loop: asyncio.AbstractEventLoop
) -> dict[str, list[float]]:
    """Time callables in turns. A coroutine function is awaited many times in each run of the loop.

    Returns:
        The seconds of one call in each round, by name.
    """
    timers = {name: _timer(call, loop) for name, call in callables.items()}
    counts = {name: _repetitions(timer, effort.seconds) for name, timer in timers.items()}
    seconds_by_name: dict[str, list[float]] = {name: [] for name in callables}
    gc.collect()
    gc.disable()
    try:
        for _ in range(effort.rounds):
            for name, timer in timers.items():
                seconds_by_name[name].append(timer(counts[name]) / counts[name])
            gc.collect(0)
    finally:
        gc.enable()
    return seconds_by_name


def _timer(call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> Callable[[int], float]:
    def time(count: int) -> float:
        started = perf_counter()
        for _ in range(count):
            call()
        return perf_counter() - started

    async def time_awaiting(count: int) -> float:
        started = perf_counter()
        for _ in range(count):
            await call()
        return perf_counter() - started

    if inspect.iscoroutinefunction(call):
        return lambda count: loop.run_until_complete(time_awaiting(count))
    return time


def _repetitions(timer: Callable[[int], float], seconds: float) -> int:
    timer(3)
    count = 1
    while (elapsed := timer(count)) < seconds / 4:
        count *= 2
    return max(1, round(count * seconds / elapsed))


def fitted_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the exponent by which a cost grows with a size: the slope of their logarithms, by least squares."""
    xs, ys = [math.log(size) for size in sizes], [math.log(value) for value in seconds]
    return statistics.linear_regression(xs, ys).slope

"""Fuzz cases by their seeds: the one that fails is named in the error."""

from collections.abc import Callable, Iterable


def run_each(case: Callable[[int], object], seeds: Iterable[int]) -> None:
    """Run a case with each seed.

    Raises:
        AssertionError: One of them failed; it says which, and can be run alone.
    """
    for seed in seeds:
        try:
            case(seed)
        except BaseException as error:
            raise AssertionError(f"{case.__module__}.{case.__name__}({seed})") from error


def fails(case: Callable[[int], object], seed: int, error: type[Exception]) -> bool:
    """Whether a case fails with a seed, and in this way."""
    try:
        case(seed)
    except error:
        return True
    return False

"""Judges whether a value that has arrived in part may grow into another."""

from typing import Any


def begins(partial: Any, final: Any) -> bool:
    """Whether a value may grow into another: texts and lists at their end, objects by fields."""
    if isinstance(partial, str) and isinstance(final, str):
        return final.startswith(partial)
    if isinstance(partial, list) and isinstance(final, list):
        whole = len(partial) <= len(final) and partial[:-1] == final[: max(len(partial) - 1, 0)]
        return whole and (not partial or begins(partial[-1], final[len(partial) - 1]))
    if isinstance(partial, dict) and isinstance(final, dict):
        return partial.keys() <= final.keys() and all(
            begins(partial[key], final[key]) for key in partial
        )
    return type(partial) is type(final) and bool(partial == final)

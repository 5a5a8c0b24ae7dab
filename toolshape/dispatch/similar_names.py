"""Finds the known name that an unknown one was probably meant to be, at a cost that does not grow with their number."""

from collections.abc import Iterable

from toolshape.errors import nearest

__all__ = ["NameIndex"]

_MOST_CANDIDATES = 50
_LONGEST_NAME = 100
_PIECE = 3


class NameIndex:
    """Names, found by the pieces of three letters that they share with another.

    Args:
        names: The names; looked at when the first is asked for.
    """

    __slots__ = ("_by_piece", "_names")

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._by_piece: dict[str, list[str]] = {}

    def nearest(self, word: str) -> str | None:
        """The name that is surely meant, if one is near."""
        if not self._by_piece:
            for name in self._names:
                for piece in _pieces(name):
                    self._by_piece.setdefault(piece, []).append(name)
        candidates: dict[str, None] = {}
        for piece in sorted(_pieces(word), key=lambda one: len(self._by_piece.get(one, ()))):  # the rarest tells most
            for name in self._by_piece.get(piece, ())[: _MOST_CANDIDATES - len(candidates)]:
                candidates[name] = None
        return nearest(word, candidates)


def _pieces(name: str) -> set[str]:
    """The pieces of a name, its ends marked, whatever their case."""
    marked = f"  {name[:_LONGEST_NAME].lower()} "
    return {marked[start : start + _PIECE] for start in range(len(marked) - _PIECE + 1)}

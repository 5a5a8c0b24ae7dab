"""Finds the known name that is most similar to an unknown one, in time that does not grow with the number of names."""

from collections.abc import Iterable

from toolshape._errors import nearest


class NameIndex:
    """Names, of which those that share pieces with another are compared with it.

    Args:
        names: The names; looked at when the first is asked for.
    """

    __slots__ = ("_names",)

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def nearest(self, word: str) -> str | None:
        """The name that is surely meant, if one is near."""
        return nearest(word, self._names)

"""Finds the known name that is most similar to an unknown name, without comparing all names of a long list."""

from collections.abc import Iterable

from toolshape._errors import nearest


class NameIndex:
    """Finds the known name that is closest to an unknown name.

    Args:
        names: The known names.
    """

    __slots__ = ("_names",)

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def nearest(self, word: str) -> str | None:
        """Return the closest known name, or ``None`` if no name is close enough."""
        return nearest(word, self._names)

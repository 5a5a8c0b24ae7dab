"""Knows where text quotes: in a code fence, as code in a line, or in the middle of a sentence."""

_FENCES = ("```", "~~~")
_LENGTH = 3  # of a fence
_ENDS = frozenset(".!?:;\u2026\u3002\uff01\uff1f\uff1a>)]}\"'*")
"""The characters after which a sentence is over, or a mark stands for itself."""


class Line:
    """The line that a text ends with, read in pieces of any size.

    A model that explains a format, or cites a page, writes a call that it does not make. So text is
    a quote in a code fence, and as code between backticks in a line. A sentence that goes on after
    the call is the third sign, which only the text after the call can show.
    """

    __slots__ = ("_beginning", "_fence", "_last", "_ticks")

    def __init__(self) -> None:
        self._beginning = ""  # the first characters of the line that are no white space
        self._fence = ""
        self._ticks = 0  # the number of backticks in the line
        self._last = ""  # the last character of the line that is no white space

    @property
    def is_code(self) -> bool:
        """Whether what follows is code: in a fence, or after a backtick in the line."""
        return self._fence != "" or self._ticks % 2 == 1

    @property
    def is_in_sentence(self) -> bool:
        """Whether the line has text that no sentence ends."""
        return self._last != "" and self._last not in _ENDS

    def read(self, text: str) -> None:
        """Read the next piece of the text."""
        first, line_end, others = text.partition("\n")
        self._read_in_line(first)
        if not line_end:
            return
        self._end_line()
        if not any(fence in others for fence in _FENCES):  # only the last line counts
            self._read_in_line(others.rpartition("\n")[2])
            return
        first, *lines = others.split("\n")
        self._read_in_line(first)
        for line in lines:
            self._end_line()
            self._read_in_line(line)

    def _read_in_line(self, text: str) -> None:
        stripped = text.strip()
        if not stripped:
            return
        if len(self._beginning) < _LENGTH:
            self._beginning = (self._beginning + stripped)[:_LENGTH]
        self._ticks += text.count("`")
        self._last = stripped[-1]

    def _end_line(self) -> None:
        is_fence = self._beginning in _FENCES and self._ticks < 2 * _LENGTH
        if is_fence and self._fence in ("", self._beginning):
            self._fence = "" if self._fence else self._beginning
        self._beginning = self._last = ""
        self._ticks = 0

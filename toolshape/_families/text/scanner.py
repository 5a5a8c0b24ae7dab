"""Splits a model's text, in pieces of any size, into plain text, reasoning and calls."""

import json
import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from toolshape._families.text.format import Fields, Steps, TextCall, TextFormat
from toolshape._families.text.quoted import Line
from toolshape._families.text.steps import (
    Blank,
    Braces,
    Choice,
    JsonValue,
    Mark,
    Optional,
    PythonCall,
    PythonCalls,
    Repeated,
    Step,
    TextUntil,
)


class Segment(NamedTuple):
    """A part of a model's text: plain text, reasoning, or calls. The last call may be cut off.

    For calls, ``text`` is exactly what the model wrote. For plain text and reasoning, it contains
    no marks.
    """

    kind: Literal["text", "reasoning", "calls"]
    text: str
    calls: tuple[TextCall, ...] = ()


class _MissError(Exception):
    """The text after an opening mark is not a call."""


class _CutError(Exception):
    """The text ended inside a call."""


_Run: TypeAlias = Generator[None, None, None]
_OPENERS, _CLOSERS = "{[(", "}])"


class Scanner:
    """Scans the text of one response in linear time, even if it arrives in many small pieces.

    The scan is a generator that yields when it needs a character that has not arrived. The result
    must depend only on the characters, never on where a piece ends. So the scan searches the whole
    buffer for marks. If the last characters of the buffer may be the beginning of a mark, the scan
    holds them back until more text arrives. Inside a call, the scanner keeps every consumed
    character. If the supposed call turns out not to be a call, these characters become text again.
    """

    __slots__ = (
        "_at",
        "_buffer",
        "_call_from",
        "_call_text",
        "_calls_in",
        "_format",
        "_has_ended",
        "_is_at_start",
        "_json_errors",
        "_line",
        "_run",
        "_segments",
    )

    def __init__(
        self, text_format: TextFormat, calls_in: Callable[[Fields, bool], tuple[TextCall, ...]]
    ) -> None:
        """Start a scan.

        Args:
            text_format: The format.
            calls_in: A function that builds calls from fields; its second argument is whether the
                text was cut off. If it returns no calls, the scanner treats the supposed call as
                text.
        """
        self._format = text_format
        self._calls_in = calls_in
        self._buffer = ""
        self._at = 0  # the scan has consumed the buffer before this position
        self._has_ended = False
        self._segments: list[Segment] = []
        self._call_text: list[str] | None = (
            None  # the parts of the current call that are no longer in the buffer
        )
        self._call_from = 0  # where the rest of the current call begins in the buffer
        self._is_at_start = True
        self._json_errors = 0
        self._line = Line()
        self._run = self._scan()
        next(self._run)

    def feed(self, piece: str) -> list[Segment]:
        """Read a piece of the text, and return the segments that later pieces cannot change."""
        if piece:
            if self._call_text is not None:
                # True for most pieces.
                is_whole_buffer = not self._call_from and self._at == len(self._buffer)
                self._call_text.append(
                    self._buffer if is_whole_buffer else self._buffer[self._call_from : self._at]
                )
                self._call_from = 0
            self._buffer = (
                self._buffer[self._at :] + piece if self._at < len(self._buffer) else piece
            )
            self._at = 0
            next(self._run)
        return self._take_segments()

    def close(self) -> list[Segment]:
        """End the text, and return the remaining segments."""
        self._has_ended = True
        for _ in self._run:
            pass
        return self._take_segments()

    def _take_segments(self) -> list[Segment]:
        segments, self._segments = self._segments, []
        return segments

    # --- the text around calls -------------------------------------------------------------------

    def _scan(self) -> _Run:
        yield
        text_format = self._format
        calls, reasoning = dict(text_format.openings), dict(text_format.reasoning)
        marks = (*calls, *text_format.quiet, *reasoning)
        while True:
            while (
                self._is_at_start and text_format.bare and (yield from self._scan_bare_call(marks))
            ):
                pass
            mark = yield from self._scan_text(marks, "text")
            if mark is None:
                return
            if self._line.is_code:  # a call that is quoted is text, and so are the marks in it
                self._emit_text(mark, "text")
            elif mark in calls:
                yield from self._scan_call(calls[mark], [], mark)
            elif (
                mark in reasoning
                and (yield from self._scan_text((reasoning[mark],), "reasoning")) is None
            ):
                return

    def _scan_text(
        self, marks: tuple[str, ...], kind: Literal["text", "reasoning"]
    ) -> Generator[None, None, str | None]:
        """Emit the text before a mark; consume and return the mark, or return
        ``None`` if the text has no mark.
        """
        if not marks:
            while not self._has_ended:
                self._emit_text(self._take(len(self._buffer) - self._at), kind)
                yield
            return None
        compiled_marks = _compiled_marks(marks)
        while True:
            match = compiled_marks.pattern.search(self._buffer, self._at)
            is_open = not self._has_ended
            if match is not None and not (is_open and _may_grow(match, compiled_marks)):
                self._emit_text(self._take(match.start() - self._at), kind)
                self._take(match.end() - match.start())
                return match[0]
            if match is not None:
                end = match.start()
            else:
                end = len(self._buffer)
            if is_open and match is None:
                end -= _count_held_back(self._buffer, self._at, compiled_marks)
            self._emit_text(self._take(end - self._at), kind)
            if not is_open:
                return None
            yield

    def _emit_text(self, text: str, kind: Literal["text", "reasoning"]) -> None:
        if text:
            self._segments.append(Segment(kind, text))
            if kind == "text":
                self._line.read(text)
                if self._is_at_start and not text.isspace():
                    self._is_at_start = False

    # --- calls -----------------------------------------------------------------------------------

    def _scan_bare_call(self, marks: tuple[str, ...]) -> Generator[None, None, bool]:
        """Try to read a call without an opening mark at the start of the text; return
        whether the text looked like one.

        The text may still not be a call: then it is emitted as plain text.
        """
        while True:
            at = _blank_end(self._buffer, self._at)
            self._emit_text(self._take(at - self._at), "text")
            if at < len(self._buffer):
                break
            if self._has_ended:
                return False
            yield
        bare = dict(self._format.bare)
        beginnings = sorted((*marks, *bare), key=len, reverse=True)
        while True:  # a bare call may begin like a mark: the longest match decides
            next_text = self._buffer[self._at : self._at + len(beginnings[0])]
            first_beginning = next(
                (
                    beginning
                    for beginning in beginnings
                    if next_text.startswith(beginning) or beginning.startswith(next_text)
                ),
                None,
            )
            if first_beginning is None or next_text.startswith(first_beginning):
                break
            if self._has_ended:
                first_beginning = next(
                    (beginning for beginning in beginnings if next_text.startswith(beginning)), None
                )
                break
            yield
        if first_beginning not in bare:
            return False
        yield from self._scan_call(bare[first_beginning], [("bare", "")], "")
        return True

    def _scan_call(self, steps: Steps, fields: Fields, mark: str) -> _Run:
        self._call_text, self._call_from = [mark], self._at
        calls: tuple[TextCall, ...] = ()
        try:
            yield from self._scan_steps(steps, fields)
            calls = self._calls_in(fields, False)
            if calls and self._line.is_in_sentence and (yield from self._sentence_goes_on()):
                calls = ()
        except _MissError:
            pass
        except _CutError:
            self._at = len(self._buffer)
            calls = self._calls_in(fields, True)
        text = "".join((*self._call_text, self._buffer[self._call_from : self._at]))
        self._call_text = None
        if calls:
            self._is_at_start = self._is_at_start and not mark
            self._segments.append(Segment("calls", text, calls))
        else:
            self._is_at_start = False
            self._emit_text(text, "text")

    def _sentence_goes_on(self) -> Generator[None, None, bool]:
        """Wait for the next character of the line; return whether it goes on with a sentence."""
        at = self._at
        while True:
            while at < len(self._buffer) and self._buffer[at] in " \t":
                at += 1
            if at < len(self._buffer):
                character = self._buffer[at]
                return character.islower() or character in ",.;:!?)"
            if self._has_ended:
                return False
            waited = at - self._at
            yield
            at = self._at + waited

    def _scan_steps(self, steps: Steps, fields: Fields) -> _Run:
        """Run the steps of a call.

        If a step's text has fully arrived, run the step without a separate generator.
        """
        for step in steps:
            if isinstance(step, Mark):
                if not self._skip(step.text):
                    yield from self._scan_mark(step)
            elif isinstance(step, Blank):
                if not self._skip_blank():
                    yield from self._scan_blank()
            elif isinstance(step, TextUntil):
                if not self._take_text(step, fields):
                    yield from self._scan_text_until(step, fields)
            elif isinstance(step, JsonValue):
                yield from self._scan_json(step, fields)
            elif not (isinstance(step, (Optional, Repeated)) and self._is_absent(step.steps[0])):
                yield from self._scan_group(step, fields)

    def _scan_group(
        self, step: Optional | Repeated | Choice | Braces | PythonCall | PythonCalls, fields: Fields
    ) -> _Run:
        if isinstance(step, (Optional, Repeated)):
            yield from self._scan_optional(step, fields)
        elif isinstance(step, Choice):
            yield from self._scan_choice(step, fields)
        else:
            yield from self._scan_bracketed(step, fields)

    def _scan_bracketed(self, step: Braces | PythonCall | PythonCalls, fields: Fields) -> _Run:
        if isinstance(step, Braces):
            yield from self._wait_for(1)
            if self._buffer[self._at] not in "{(":
                raise _MissError
            brackets = _braces(step.quote, step.ends, self._buffer[self._at])
        else:
            yield from self._wait_for_python(
                _LIST_OF_CALLS if isinstance(step, PythonCalls) else _CALL
            )
            brackets = _PYTHON
        end = _closing_bracket(brackets, self._buffer, self._at)
        if end is None:
            yield from self._scan_brackets(step.field, fields, brackets)
        else:
            fields.append((step.field, self._take(end - self._at)))

    def _scan_optional(self, step: Optional | Repeated, fields: Fields) -> _Run:
        is_repeated = isinstance(step, Repeated)
        while (yield from self._follows(step.steps[0], may_be_cut=is_repeated)):
            yield from self._scan_steps(step.steps, fields)
            if not is_repeated:
                return

    def _follows(self, first: Step, *, may_be_cut: bool) -> Generator[None, None, bool]:
        """Return whether optional steps follow, that is, whether the next text
        fits the first of these steps.
        """
        if isinstance(first, PythonCall):
            while self._at == len(self._buffer) and not self._has_ended:
                yield
            return self._buffer[self._at : self._at + 1].isidentifier()
        if isinstance(first, JsonValue):
            texts = first.begins
        else:
            texts = (_text_of(first),)
        for text in texts:
            if len(self._buffer) - self._at >= len(text):
                if self._buffer.startswith(text, self._at):
                    return True
            elif (yield from self._is_next(text, may_be_cut=may_be_cut)):
                return True
        return False

    def _scan_choice(self, step: Choice, fields: Fields) -> _Run:
        yield from self._wait_for(1)
        for first_characters, steps in step.branches:
            if first_characters == "" or self._buffer[self._at] in first_characters:
                yield from self._scan_steps(steps, fields)
                return
        raise _MissError

    def _is_absent(self, first: Step) -> bool:
        """Return whether optional steps certainly do not follow: most do not, and
        none is asked for by a generator.
        """
        if isinstance(first, PythonCall):
            return False
        buffer, at = self._buffer, self._at
        arrived = len(buffer) - at
        for text in first.begins if isinstance(first, JsonValue) else (_text_of(first),):
            if arrived < len(text) or buffer.startswith(text, at):
                return False
        return True

    # --- single steps that never wait ------------------------------------------------------------

    def _take(self, count: int) -> str:
        text = self._buffer[self._at : self._at + count]
        self._at += count
        return text

    def _skip(self, text: str) -> bool:
        """Skip a mark if it has fully arrived; return whether it was skipped."""
        if not self._buffer.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _skip_blank(self) -> bool:
        """Skip white space; return whether the end of the white space has arrived."""
        self._at = _blank_end(self._buffer, self._at)
        return self._at < len(self._buffer) or self._has_ended

    def _take_text(self, step: TextUntil, fields: Fields) -> bool:
        """If a mark certainly ends the text, consume the text and the
        mark; return whether this happened.
        """
        marks = _compiled_marks(step.marks, step.excludes)
        match = marks.pattern.search(self._buffer, self._at)
        if match is None or match.end() == len(self._buffer) or _may_grow(match, marks):
            return False
        mark = match[0]
        leaves_mark = mark in step.leaves
        if mark in step.excludes or (
            step.only_before
            and not leaves_mark
            and not self._is_before(step.only_before, match.end())
        ):
            return False
        text = self._buffer[self._at : match.start()]
        self._at = match.start() if leaves_mark else match.end()
        fields.append((step.field, text))
        return True

    # --- single steps that may wait --------------------------------------------------------------

    def _wait_for(self, count: int) -> _Run:
        while len(self._buffer) - self._at < count:
            if self._has_ended:
                raise _CutError
            yield

    def _scan_mark(self, step: Mark) -> _Run:
        texts = (step.text, *step.or_before)
        while True:  # until one string matches, or no string can match any more
            next_text = self._buffer[self._at : self._at + max(map(len, texts))]
            for text in texts:
                if next_text.startswith(text):
                    self._take(len(text) if text == step.text else 0)
                    return
            if not any(text.startswith(next_text) for text in texts):
                raise _MissError
            if self._has_ended:
                raise _CutError
            yield

    def _is_next(self, text: str, *, may_be_cut: bool) -> Generator[None, None, bool]:
        for position, character in enumerate(text):
            while len(self._buffer) - self._at <= position:
                if self._has_ended:
                    if may_be_cut and position:
                        raise _CutError
                    return False
                yield
            if self._buffer[self._at + position] != character:
                return False
        return True

    def _scan_blank(self) -> _Run:
        while not self._skip_blank():
            yield

    def _scan_text_until(self, step: TextUntil, fields: Fields) -> _Run:
        marks = _compiled_marks(step.marks, step.excludes)
        parts: list[str] = []
        search_from = self._at
        while True:
            match = marks.pattern.search(self._buffer, search_from)
            if match is None:
                held_count = self._held_count(search_from, marks)
                parts.append(self._take(len(self._buffer) - held_count - self._at))
                if self._has_ended:
                    fields.extend([(step.field, "".join(parts))] if step.keeps_cut else ())
                    raise _CutError
                yield
                search_from = self._at
                continue
            ends_text: bool | None = True
            if not self._has_ended and _may_grow(match, marks):
                ends_text = None
            elif match[0] in step.excludes:
                # As a stream does, so every split gives the same result.
                self._take(match.start() - self._at)
                raise _MissError
            elif step.only_before and match[0] not in step.leaves:
                ends_text = self._is_before(step.only_before, match.end())
            if ends_text is False:
                search_from = match.start() + 1
            elif ends_text:
                parts.append(self._take(match.start() - self._at))
                if match[0] not in step.leaves:
                    self._take(len(match[0]))
                fields.append((step.field, "".join(parts)))
                return
            else:
                parts.append(self._take(match.start() - self._at))
                yield
                search_from = self._at

    def _held_count(self, search_from: int, marks: "_Marks") -> int:
        """Return how many characters at the end may begin a mark, and wait for the next piece."""
        if self._has_ended:
            return 0
        return _count_held_back(self._buffer, search_from, marks)

    def _is_before(self, texts: tuple[str, ...], at: int) -> bool | None:
        """Return whether one of ``texts`` follows after any white space; ``None``
        if more text is needed to tell.
        """
        blank_limit = at + _MOST_BLANK
        at = _blank_end(self._buffer, at, blank_limit)
        if at == blank_limit:
            return False
        if any(self._buffer.startswith(text, at) for text in texts):
            return True
        next_text = self._buffer[at : at + max(map(len, texts))]
        if self._has_ended:
            return not next_text
        if any(text.startswith(next_text) for text in texts):
            return None
        return False

    def _scan_json(self, step: JsonValue, fields: Fields) -> _Run:
        """Consume a JSON object or array.

        Python's parser finds its end; if the parser fails, count the brackets.
        """
        yield from self._wait_for(1)
        if self._buffer[self._at] not in "{[":
            raise _MissError
        end = self._json_end()
        if end is None:
            yield from self._scan_brackets(step.field, fields, _json_brackets(step.ends))
        else:
            fields.append((step.field, self._take(end - self._at)))

    def _json_end(self) -> int | None:
        """Return where the JSON value at the current position ends; ``None``
        if Python's parser finds no end.

        For each error, the parser counts the lines from the start of the buffer. Many errors would
        take quadratic time, so the scanner stops using the parser after ``_MOST_JSON_ERRORS``
        errors.
        """
        if self._json_errors < _MOST_JSON_ERRORS:
            try:
                return _DECODE(self._buffer, self._at)[1]
            except (ValueError, RecursionError):
                self._json_errors += 1
        return None

    def _scan_brackets(self, field: str, fields: Fields, brackets: "_Brackets") -> _Run:
        """Consume text until its first bracket closes, or until an end mark outside a string.

        This method looks only at quotes, brackets, escapes and end marks. Between pieces, it keeps
        the depth and the quote of the open string. If the call is cut off, the field holds the text
        so far.
        """
        parts: list[str] = []
        depth, quote, search_from = 0, "", self._at
        try:
            while True:
                marks = brackets.inside[quote] if quote else brackets.outside
                match = marks.pattern.search(self._buffer, search_from)
                if match is None:
                    held_count = self._held_count(search_from, marks)
                    parts.append(self._take(len(self._buffer) - held_count - self._at))
                    if self._has_ended:
                        raise _CutError
                    yield
                    search_from = self._at
                    continue
                mark, search_from = match[0], match.end()
                if mark == "\\":
                    search_from = yield from self._after_escape(parts, match.start())
                elif quote:
                    quote = ""
                elif mark in brackets.inside:
                    opens_string = (
                        not brackets.before_quote
                        or self._character_before(match.start(), parts) in brackets.before_quote
                    )
                    quote = mark if opens_string else ""
                elif mark in _OPENERS:
                    depth += 1
                elif mark not in _CLOSERS:  # an end mark: closing brackets are missing
                    parts.append(self._take(match.start() - self._at))
                    return
                elif depth == 1:
                    parts.append(self._take(search_from - self._at))
                    return
                else:
                    depth -= 1
        finally:
            fields.append((field, "".join(parts)))

    def _character_before(self, end: int, parts: Sequence[str]) -> str:
        """Return the last non-blank character before a position; ``parts`` hold the
        text that is already consumed.
        """
        text = self._buffer[self._at : end].rstrip()
        for part in reversed(parts):
            if text:
                break
            text = part.rstrip()
        return text[-1:]

    def _after_escape(self, parts: list[str], backslash: int) -> Generator[None, None, int]:
        """Wait for an escaped character, and return the position after it."""
        if backslash + 1 < len(self._buffer):
            return backslash + 2
        parts.append(self._take(backslash - self._at))
        yield from self._wait_for(2)
        return self._at + 2

    def _wait_for_python(self, pattern: re.Pattern[str]) -> _Run:
        """Wait for the first parenthesis of a call or of a list of calls, without consuming
        text.
        """
        yield from self._wait_for(1)
        while True:  # a list or a word may also begin text that is not a call
            match = pattern.match(self._buffer, self._at)
            if match is None or match.end() - self._at > _MOST_BEFORE_BRACKET:
                raise _MissError
            if match[0].endswith("("):
                break
            if match.end() < len(self._buffer) or self._has_ended:
                raise _MissError
            yield


class _Marks(NamedTuple):
    """Marks to search for, as a pattern.

    ``ambiguous`` holds the marks that another mark begins with. ``prefixes`` are all incomplete
    beginnings of marks. ``longest`` is the length of the longest mark.
    """

    pattern: re.Pattern[str]
    ambiguous: frozenset[str]
    prefixes: frozenset[str]
    longest: int


class _Brackets(NamedTuple):
    """The marks to search for: ``outside`` for text outside strings, ``inside`` for
    each quote that opens a string.

    ``tokens`` matches a whole string, or a single bracket or quote. If ``before_quote`` is not
    empty, a quote opens a string only after one of these characters. Gemma leaves out opening
    quotes, and then the closing quote must not open a string. ``ends`` are the marks at which
    closing brackets are missing.
    """

    outside: _Marks
    inside: Mapping[str, _Marks]
    tokens: re.Pattern[str]
    before_quote: str = ""
    ends: tuple[str, ...] = ()


def _closing_bracket(brackets: _Brackets, text: str, at: int) -> int | None:
    """Return where the bracket at a position closes; ``None`` if its
    closing bracket has not arrived.
    """
    depth = 0
    for token in brackets.tokens.finditer(text, at):
        mark = token[0]
        if mark in _OPENERS:
            depth += 1
        elif mark in brackets.inside or mark in brackets.ends:
            # A string or an object that has not ended.
            return None
        elif len(mark) > 1:
            if brackets.before_quote and text[token.start() - 1] not in brackets.before_quote:
                return None
        elif mark in _CLOSERS:
            depth -= 1
            if depth == 0:
                return token.end()
    return None


_MOST_BLANK = 100  # characters of white space between an end mark and the text after it
_MOST_BEFORE_BRACKET = 200  # characters before the first parenthesis of a Python call: the longest name and white space
_MOST_JSON_ERRORS = (
    20  # errors of Python's parser in one text; after that, the scanner counts brackets
)
_BLANK = re.compile(r"\s*")
_TOKENS = re.compile(
    r""""[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'|[{}\[\]()"']""", re.DOTALL
)


def _text_of(first: Step) -> str:
    if isinstance(first, Mark):
        return first.text
    return "{"


_DECODE = json.JSONDecoder(strict=False).raw_decode
_LIST_OF_CALLS = re.compile(r"\[\s*(?:[A-Za-z_][\w.]*\s*\(?)?")
_CALL = re.compile(r"[A-Za-z_][\w.]*\s*\(?")


@lru_cache(256)
def _compiled_marks(marks: tuple[str, ...], characters: str = "") -> _Marks:
    marks = (*marks, *characters)
    ambiguous = frozenset(
        mark for mark in marks for other in marks if other != mark and other.startswith(mark)
    )
    prefixes = frozenset(mark[:length] for mark in marks for length in range(1, len(mark)))
    return _Marks(_alternation(marks), ambiguous, prefixes, max(map(len, marks), default=0))


@lru_cache(256)
def _json_brackets(ends: tuple[str, ...]) -> _Brackets:
    return _Brackets(_compiled_marks(ends, '{}[]"'), {'"': _compiled_marks((), '"\\')}, _TOKENS)


@lru_cache(256)
def _braces(quote: str, ends: tuple[str, ...], first: str) -> _Brackets:
    """Return the brackets for values whose strings have a mark on both sides, and no escapes.

    ``first`` is the bracket that opens the whole; parentheses count only where they are the outer
    brackets.
    """
    mark = re.escape(quote)
    characters = "{}[]" if first == "{" else "{}[]()"
    stops = "|".join([*map(re.escape, ends), f"[{re.escape(characters)}]"])
    tokens = re.compile(rf"{mark}.*?{mark}|{mark}|{stops}", re.DOTALL)
    outside = _compiled_marks((quote, *ends), characters)
    inside = {quote: _compiled_marks((quote,))}
    return _Brackets(outside, inside, tokens, "{[,:(=" if first == "(" else "{[,:", ends)


def _blank_end(text: str, at: int, most: int = sys.maxsize) -> int:
    """Return where the white space at a position ends."""
    match = _BLANK.match(text, at, most)
    if match is None:
        return at
    return match.end()


def _alternation(marks: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))))


def _count_held_back(buffer: str, start: int, marks: _Marks) -> int:
    """Return how many characters at the end of the buffer may begin a mark."""
    for length in range(min(marks.longest - 1, len(buffer) - start), 0, -1):
        if buffer[-length:] in marks.prefixes:
            return length
    return 0


def _may_grow(found: re.Match[str], marks: _Marks) -> bool:
    """Return whether a found mark may be the beginning of a longer mark that has not fully
    arrived.
    """
    if found[0] not in marks.ambiguous:
        return False
    next_text = found.string[found.start() : found.start() + marks.longest]
    return next_text in marks.prefixes


_PYTHON = _Brackets(
    _compiled_marks((), "{}[]()\"'"),
    {quote: _compiled_marks((), f"{quote}\\") for quote in "\"'"},
    _TOKENS,
)

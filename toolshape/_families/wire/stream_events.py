"""Decodes a stream's chunks into events: SDK objects, server-sent events, JSON lines, ..."""

import base64
import codecs
import re
from collections.abc import Iterator
from typing import Any

from toolshape._families.wire.bodies import parse_body, to_plain_json
from toolshape._families.wire.provider import Numbering
from toolshape._records.errors import ResponseError
from toolshape._schema.values import read_json

_LINE_END = re.compile(r"\r\n|\r|\n")
_MARK = re.compile(r'["{}\[\]]|\\(?:.|\Z)', re.DOTALL)
WRAPPERS = frozenset({"payload", "chunk", "data"})
"""The keys under which an SDK or an event stream wraps an event; a dict
with none of them is an event.
"""
_DEEPEST_WRAPPED = 20
# Events that wait for one that is missing, and events that are known again.
_MOST_EARLY, _MOST_SEEN = 2, 32


class Decoder:
    """Decodes chunks into events.

    Text may be split anywhere: an incomplete event waits for the next chunk.
    """

    # The first character of a text stream, white space aside, selects the form. After "{", "[" or
    # "," the stream holds JSON values: one object per line, or the items of an array. Otherwise it
    # holds server-sent events. A chunk may end inside a UTF-8 character, between CR and LF, inside
    # a line or inside a value; for each of these cases the decoder keeps the incomplete rest, so
    # that it reads each character only once.

    __slots__ = ("_after_cr", "_bytes", "_data", "_form", "_line", "_values")

    def __init__(self) -> None:
        self._bytes = codecs.getincrementaldecoder("utf-8")("replace")
        self._form = ""
        self._line: list[str] = []
        self._after_cr = False
        self._data: list[str] = []
        self._values = _Values()

    def events(self, chunk: Any) -> Iterator[Any]:
        """Yield the events that this chunk completes.

        Raises:
            ResponseError: An event cannot be read.
        """
        if isinstance(chunk, (bytes, bytearray, memoryview)):
            chunk = self._bytes.decode(bytes(chunk))
        if isinstance(chunk, str):
            yield from self._decode_text(chunk)
            return
        try:
            events = list(_unwrap(to_plain_json(parse_body(chunk))))
        except (
            Exception
        ) as error:  # a user's object may raise anything; a wrapped event may be malformed
            raise ResponseError(
                f"cannot read an event of the stream ({type(error).__name__})", body=chunk
            ) from error
        yield from events

    def rest(self) -> Iterator[Any]:
        """At the end of a stream, yield the last event even if no blank line follows it.

        Drop a cut-off event.
        """
        try:
            yield from self._decode_text(self._bytes.decode(b"", final=True) + "\n\n")
        except ResponseError:
            return

    def _decode_text(self, text: str) -> Iterator[Any]:
        if not self._form:
            if not text:
                return
            text = text if self._line else text.removeprefix("\ufeff")
            first_character = text.lstrip()[:1]
            self._line.append(text)
            if first_character:
                text, self._line = "".join(self._line), []
                self._form = "values" if first_character in "{[]," else "lines"
        if self._form == "lines":
            yield from self._decode_lines(text)
        elif self._form == "values":
            for value in self._values.complete_with(text):
                yield from _parse_events(value)

    def _decode_lines(self, text: str) -> Iterator[Any]:
        """Yield server-sent events: a line is a field, and a blank line ends an event."""
        # The last chunk ended the line with CR; this LF belongs to it.
        if self._after_cr and text.startswith("\n"):
            text = text[1:]
            self._after_cr = False
        if not text:
            return
        self._after_cr = text.endswith("\r")
        first, *lines = _LINE_END.split(text)
        self._line.append(first)
        if not lines:
            return
        complete_lines, self._line = ["".join(self._line), *lines[:-1]], [lines[-1]]
        for line in complete_lines:
            if line.startswith("data:"):
                self._data.append(line[5:].removeprefix(" "))
            elif line.startswith("{"):  # not a field, but a JSON line after other lines
                yield from _parse_events(line)
            elif not line and self._data:
                data, self._data = "\n".join(self._data), []
                yield from _parse_events(data)


class Numbered:
    """Puts the events of a protocol that numbers them in order, and drops what came twice.

    An event that comes too early waits for the one that is missing, but only for the next two
    events: a gateway may leave events out on purpose, and nobody should wait for them. After such a
    gap nothing waits any more. A number that comes again with another event shows that a server
    does not number its events, so its numbers are ignored.
    """

    __slots__ = ("_form", "_is_reliable", "_next", "_seen", "_waiting", "_waits", "has_gap")

    def __init__(self, form: Numbering) -> None:
        self._form = form
        self._next: int | None = None
        self._seen: dict[int, Any] = {}
        self._waiting: dict[int, Any] = {}
        self._waits = self._is_reliable = True
        self.has_gap = False

    def is_next(self, event: Any) -> bool:
        """Whether an event is the next one, as nearly every event is; if so, it counts as read."""
        try:
            number = event[self._form.key]
        except (LookupError, TypeError):
            return False
        if number != self._next or self._waiting or type(number) is not int:
            return False
        self._seen[number] = event
        self._seen.pop(number - _MOST_SEEN, None)
        self._next = number + 1
        return True

    def in_order(self, event: Any) -> list[Any]:
        """Return the events that can be read now.

        Numbers are believed until two different events have one: from then on, events are read as
        they come.
        """
        if isinstance(event, dict):
            number = event.get(self._form.key)
        else:
            number = None
        if not self._is_reliable:
            return [*self.rest(), event]
        if type(number) is not int:
            return [event]  # a keep-alive, say: it has no place, and what waits goes on waiting
        # What comes again is dropped, also a number that is too old to be remembered; another event
        # with a number that was there says that the numbers mean nothing.
        is_first = event.get("type") == self._form.first or self._next is None
        known = self._waiting if number in self._waiting else self._seen
        if number in known:
            is_repeat = known[number] == event
        else:
            is_repeat = not is_first and self._next is not None and number < self._next
        if is_repeat:
            return []
        if is_first:
            early = self.rest()
            self._next, self._seen = number + 1, {number: event}
            return [*early, event]
        if number in known:
            self._is_reliable = False
            return [*self.rest(), event]
        self._waiting[number] = event
        return self._ready()

    def _ready(self) -> list[Any]:
        """Take the events that need not wait any longer."""
        # An event that is early waits, because the one before it may only be late; once one was
        # lost for good, each further event would wait for nothing.
        ready: list[Any] = []
        while self._waiting and self._next is not None:
            first = min(self._waiting)
            is_early = first > self._next
            if is_early and self._waits and len(self._waiting) <= _MOST_EARLY:
                break
            if is_early:
                self.has_gap, self._waits = True, False
            ready.append(self._take(first))
        return ready

    def rest(self) -> list[Any]:
        """Return the events that still wait for one that was lost."""
        self.has_gap = self.has_gap or bool(self._waiting)
        return [self._take(number) for number in sorted(self._waiting)]

    def _take(self, number: int) -> Any:
        event = self._waiting.pop(number)
        self._seen[number] = event
        self._seen.pop(number - _MOST_SEEN, None)
        self._next = number + 1
        return event


class PieceDecoder:
    """Decodes chunks of a model's text: a string becomes an event with this text;
    a client's event is unchanged.
    """

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = codecs.getincrementaldecoder("utf-8")("replace")

    def events(self, chunk: Any) -> Iterator[Any]:
        """Yield the events of this chunk.

        Raises:
            ResponseError: The chunk cannot be read.
        """
        if isinstance(chunk, (bytes, bytearray, memoryview)):
            chunk = self._bytes.decode(bytes(chunk))
        if isinstance(chunk, str):
            yield {"text": chunk}
            return
        try:
            events = list(_unwrap(to_plain_json(parse_body(chunk))))
        except Exception as error:  # a user's object may raise anything
            raise ResponseError(
                f"cannot read an event of the stream ({type(error).__name__})", body=chunk
            ) from error
        yield from events

    def rest(self) -> Iterator[Any]:
        """Yield one last event with the remaining text, and mark it as the end."""
        yield {"text": self._bytes.decode(b"", final=True), "is_end": True}


class _Values:
    """Finds the JSON objects in text that arrives in pieces: one object per
    line, or the items of an array.
    """

    # The scan looks only at quotes, brackets and escapes, and keeps its state between pieces: the
    # nesting depth, whether it is inside a string, and whether the last character escapes the next
    # one. An object ends where the depth returns to zero; only then does the scan join its text.
    # The bracket of an outer array does not count, so the items of the array are complete before
    # the array ends.

    __slots__ = ("depth", "in_string", "is_escaped", "pieces")

    def __init__(self) -> None:
        self.depth = 0
        self.in_string = self.is_escaped = False
        self.pieces: list[str] = []

    def complete_with(self, text: str) -> list[str]:
        """Return the JSON text of each object that ends in this piece."""
        # The text may be cut anywhere, also in a string or after a backslash. So depth, string and
        # escape are kept between pieces, and only marks are looked at: the text itself is joined
        # when its object ends. A bracket outside of any object separates objects, as in Gemini's
        # list of chunks, and opens nothing.
        start, objects = 0, list[str]()
        for match in _MARK.finditer(text, int(self.is_escaped and text != "")):
            mark = match[0]
            if mark[0] == "\\":
                continue
            if mark == '"':
                self.in_string = not self.in_string
            elif not self.in_string and mark in "{[" and (self.depth or mark == "{"):
                start = start if self.depth else match.start()
                self.depth += 1
            elif not self.in_string and mark in "}]" and self.depth:
                self.depth -= 1
                if not self.depth:
                    objects.append("".join([*self.pieces, text[start : match.end()]]))
                    self.pieces, start = [], match.end()
        if self.depth:
            self.pieces.append(text[start:])
        if text:
            self.is_escaped = self.in_string and _ends_in_escape(text, self.is_escaped)
        return objects


def _ends_in_escape(text: str, was_escaped: bool) -> bool:
    """Return whether the last character is a backslash that escapes the next character."""
    backslashes = len(text) - len(text.rstrip("\\"))
    if backslashes == len(text) and was_escaped:
        backslashes -= 1
    return backslashes % 2 == 1


def _parse_events(text: str) -> Iterator[Any]:
    """Yield the events in a JSON text.

    Skip text that does not begin like JSON: a comment or a keep-alive.

    Raises:
        ResponseError: The text begins like JSON but is malformed, so an event is lost.
    """
    if not text.lstrip().startswith(("{", "[")) or text.strip() == "[DONE]":
        return
    try:
        events = list(_unwrap(read_json(text)))
    except (ValueError, RecursionError) as error:
        raise ResponseError(
            f"an event is not valid JSON ({type(error).__name__})", body=text[:1000]
        ) from error
    yield from events


def _unwrap(event: Any, depth: int = 0) -> Iterator[Any]:
    """Remove the wrapper that an SDK or an event stream puts around an event, and yield the
    event.
    """
    if isinstance(event, list) and depth < _DEEPEST_WRAPPED:
        for item in event:
            yield from _unwrap(item, depth + 1)
    elif isinstance(event, dict) and isinstance(event.get("payload"), dict) and "event" in event:
        encoded = event["payload"].get("bytes")
        yield (
            read_json(base64.b64decode(encoded)) if encoded else {event["event"]: event["payload"]}
        )
    elif (
        isinstance(event, dict)
        and isinstance(event.get("chunk"), dict)
        and "bytes" in event["chunk"]
    ):
        encoded = event["chunk"]["bytes"]
        yield read_json(encoded if isinstance(encoded, bytes) else base64.b64decode(encoded))
    elif isinstance(event, dict) and set(event) == {"data"} and isinstance(event["data"], dict):
        yield event["data"]  # an event of mistralai
    elif (
        isinstance(event, dict)
        and isinstance(event.get("chunk"), dict)
        and "choices" in event["chunk"]
    ):
        yield event["chunk"]  # an event of openai's streaming helper
    elif isinstance(event, dict):
        yield event

"""Chunks of a stream in, decoded events out: SDK objects, server-sent events, JSON lines, event-stream items."""

import base64
import codecs
import json
from collections.abc import Iterator
from typing import Any

from toolshape.bodies import opened, plain
from toolshape.errors import ResponseError

__all__ = ["Decoder"]


class Decoder:
    """Decodes what is fed to it, text split anywhere; what is not complete yet waits."""

    __slots__ = ("_bytes", "_data", "_is_events", "_text")

    def __init__(self) -> None:
        self._bytes = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._data: list[str] = []
        self._is_events = False

    def events(self, chunk: Any) -> Iterator[Any]:
        """The events that are complete with this chunk."""
        if isinstance(chunk, (bytes, bytearray, memoryview)):
            chunk = self._bytes.decode(bytes(chunk))
        if not isinstance(chunk, str):
            try:
                events = list(_unwrapped(plain(opened(chunk))))
            except Exception as error:  # somebody's object, or an event in an event that is none
                raise ResponseError(f"an event that cannot be read ({type(error).__name__})", body=chunk) from error
            yield from events
            return
        self._text += chunk
        self._text = self._text.removeprefix("\ufeff")
        if not self._is_events:
            self._is_events = self._text.lstrip()[:1] not in ("", "{", "[", "]", ",")
        yield from self._lines() if self._is_events else self._values()

    def rest(self) -> Iterator[Any]:
        """The event that no blank line ended, once there is nothing more to come."""
        yield from self.events("\n\n")

    def _lines(self) -> Iterator[Any]:
        """Server-sent events: fields by line, an event by blank line."""
        *lines, self._text = self._text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for line in lines:
            if line.startswith("data:"):
                self._data.append(line[5:].removeprefix(" "))
            elif line.startswith("{"):  # no field: JSON lines after something else
                yield from _parsed(line)
            elif not line and self._data:
                text, self._data = "\n".join(self._data), []
                yield from _parsed(text)

    def _values(self) -> Iterator[Any]:
        """JSON values, one a line or in an array."""
        decoder = json.JSONDecoder()
        while text := self._text.lstrip(" \t\r\n,[]"):
            try:
                value, end = decoder.raw_decode(text)
            except ValueError:
                self._text = text
                return
            except RecursionError as error:
                self._text = ""
                raise ResponseError("an event that is nested too deeply", body=text[:1000]) from error
            self._text = text[end:]
            yield from _unwrapped(value)


def _parsed(text: str) -> Iterator[Any]:
    if text.strip() in ("", "[DONE]"):
        return
    try:
        yield from _unwrapped(json.loads(text))
    except (ValueError, RecursionError):  # a comment or a keep-alive in a field of its own
        return


def _unwrapped(event: Any) -> Iterator[Any]:
    """The event inside what an SDK or an event stream wraps it in."""
    if isinstance(event, list):
        for one in event:
            yield from _unwrapped(one)
    elif isinstance(event, dict) and isinstance(event.get("payload"), dict) and "event" in event:
        encoded = event["payload"].get("bytes")
        yield json.loads(base64.b64decode(encoded)) if encoded else {event["event"]: event["payload"]}
    elif isinstance(event, dict) and isinstance(event.get("chunk"), dict) and "bytes" in event["chunk"]:
        encoded = event["chunk"]["bytes"]
        yield json.loads(encoded if isinstance(encoded, bytes) else base64.b64decode(encoded))
    elif isinstance(event, dict) and set(event) == {"data"} and isinstance(event["data"], dict):
        yield event["data"]  # an event of mistralai
    elif isinstance(event, dict) and isinstance(event.get("chunk"), dict) and "choices" in event["chunk"]:
        yield event["chunk"]  # an event of openai's streaming helper
    elif isinstance(event, dict):
        yield event

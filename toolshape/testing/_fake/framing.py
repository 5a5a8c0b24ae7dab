"""Encodes stream events as bytes, in the framing of a provider: SSE, NDJSON, AWS event stream, JSON array."""

import binascii
import json
import struct
from collections.abc import Iterable, Iterator, Mapping

from toolshape._calls import JsonObject
from toolshape._wire.server import Framing

CONTENT_TYPES: Mapping[Framing, str] = {
    "sse": "text/event-stream; charset=utf-8",
    "named-sse": "text/event-stream; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "event-stream": "application/vnd.amazon.eventstream",
    "json-array": "application/json; charset=utf-8",
}


def framed(framing: Framing, events: Iterable[JsonObject], *, is_done: bool, name_key: str = "type") -> Iterator[bytes]:
    """Yield the bytes of each event, then those that end the stream.

    Args:
        framing: The framing.
        events: The events.
        is_done: Whether the stream ends with ``[DONE]``.
        name_key: The key of an event that holds its name, for ``named-sse``.
    """
    separator = "["
    for event in events:
        text = json.dumps(event, ensure_ascii=False)
        match framing:
            case "sse":
                yield f"data: {text}\n\n".encode()
            case "named-sse":
                yield f"event: {event[name_key]}\ndata: {text}\n\n".encode()
            case "ndjson":
                yield f"{text}\n".encode()
            case "event-stream":
                [(name, payload)] = event.items()
                yield _message(name, json.dumps(payload).encode())
            case "json-array":
                yield f"{separator}{text}\n".encode()
                separator = ","
    if is_done:
        yield b"data: [DONE]\n\n"
    if framing == "json-array":
        yield b"]"


def _message(name: str, payload: bytes) -> bytes:
    """Encode a message of AWS's event stream: a prelude of lengths, its checksum, headers, payload, and a checksum."""
    headers = b""
    for key, value in ((":event-type", name), (":content-type", "application/json"), (":message-type", "event")):
        headers += struct.pack("!B", len(key)) + key.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", binascii.crc32(message))

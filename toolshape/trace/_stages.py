"""Reads the lines of a trace, and replays their calls stage by stage with the current tools.

No tool is run.
"""

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from toolshape._bound.bound import Bound, bound_tools_of
from toolshape._bound.bound_tools import canonical_validation
from toolshape._bound.registry import Registry
from toolshape._families import get
from toolshape._families.receive import read_response
from toolshape._plan.collector import Collector
from toolshape._plan.plan import Plan
from toolshape._plan.planning import plan_calls
from toolshape._plan.resolve import Received, receive_arguments, refuse_cut, resolve_call
from toolshape._records.calls import Call, Coercion, JsonObject, Strictness, WireCall
from toolshape._records.errors import CallError, UsageError
from toolshape._records.result import REFUSED
from toolshape.trace._line import VERSION

_STRICTNESS: Mapping[Any, Strictness] = {True: True, False: False, "auto": "auto"}


class RecordedResponse(NamedTuple):
    """One line of a trace: a recorded response.

    ``number`` counts the lines from 1. ``response`` is the body, the text, or the pieces of a
    stream. If the response was not recorded, ``response`` is ``None``, and ``calls`` holds its
    calls (in canonical form, if their tool has hidden places). ``stream`` tells whether a stream
    had ``ended`` or was still ``open``. ``outcome`` holds the outcome of each call. ``error`` is
    the reason why the response could not be read. If ``continues`` is true, an earlier line,
    perhaps from another process, recorded the same response while some of its calls still waited.
    If the tools were bound with an output, ``answer`` holds the outcome of the answer: whether it
    was ``ok``, its coercions and its error.
    """

    number: int
    provider: str
    strict: Strictness
    model: str | None
    request_id: str | None
    tools: str
    response: Any
    calls: tuple[JsonObject, ...]
    outcome: tuple[JsonObject, ...]
    error: str
    stream: Literal["ended", "open"] | None
    redact: tuple[str, ...]
    notes: JsonObject
    continues: bool = False
    answer: JsonObject | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Stages:
    """The stages of one recorded call with the current tools, from the provider's
    call to the function's arguments.

    ``raw``: the provider's whole call. ``read``: its arguments as received. ``resolved``: the tool.
    ``canonical``: the arguments converted to canonical form. ``refused``: the error, if the
    arguments are rejected. ``validated``: the arguments that the function would receive.
    ``coerced``: the coercions. ``result``: the recorded outcome. A stage that was not recorded is
    ``None``. ``is_whole``: whether the trace holds all arguments, with none hidden.
    """

    raw: Any
    read: Any
    resolved: str | None
    canonical: JsonObject | None
    refused: CallError | None
    validated: JsonObject | None
    coerced: tuple[Coercion, ...]
    result: JsonObject
    is_whole: bool

    def as_json(self) -> JsonObject:
        """Convert the stages to JSON."""
        problems = None
        if self.refused is not None:
            problems = {
                "code": self.refused.code,
                "problems": [problem._asdict() for problem in self.refused.problems],
            }
        coerced = [coercion._asdict() for coercion in self.coerced]
        return {
            "raw": self.raw, "read": self.read, "resolved": self.resolved,
            "canonical": self.canonical,
            "refused": problems, "validated": self.validated, "coerced": coerced,
            "result": self.result,
        }  # fmt: skip


def parse_line(line: bytes, number: int) -> RecordedResponse:
    """Parse a line of a trace.

    Raises:
        UsageError: The line is not a trace line, or this version of toolshape cannot read it.
    """
    try:
        members = json.loads(line)
        version = members["version"]
        if version != VERSION:
            raise UsageError(
                f"line {number} has version {version!r}, but this toolshape reads version {VERSION}"
            )
        stream: Literal["ended", "open"] | None = None
        if "stream" in members:
            stream = "ended" if members["stream_ended"] else "open"
        return RecordedResponse(
            number=number,
            provider=members["provider"],
            strict=_STRICTNESS[members["strict"]],
            model=members["model"],
            request_id=members["request_id"],
            tools=members["tools"],
            response=_response(members),
            calls=tuple(members.get("calls", ())),
            outcome=tuple(members["outcome"]),
            error=members.get("error", ""),
            stream=stream,
            redact=tuple(members.get("redact", ())),
            notes=members.get("notes", {}),
            continues=members.get("continues", False),
            answer=members.get("answer"),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"line {number} is not a line of a trace ({error!r})") from error


def _response(given: JsonObject) -> Any:
    if "stream" in given:
        return [_encode_piece(piece) for piece in given["stream"]]
    if "text" in given:
        return _encode_piece(given["text"])
    return given.get("body")


def _encode_piece(piece: Any) -> Any:
    if isinstance(piece, str):
        return piece.encode(errors="surrogateescape")
    return piece


def read_trace(lines: Iterable[bytes]) -> Iterator[RecordedResponse]:
    """Yield the records of a trace. Unfinished lines are skipped.

    Raises:
        UsageError: A line is not a trace line or has another version, or no line can be read.
    """
    has_read, first_line = False, b""
    for number, line in enumerate(lines, start=1):
        if is_whole_line(line):
            has_read = True
            yield parse_line(line, number)
        first_line = first_line or line.strip()
    if first_line and not has_read:
        raise UsageError(f"no line of this trace can be read: {why_unreadable(first_line)}")


def is_whole_line(line: bytes) -> bool:
    """Return whether a line was written completely.

    A UTF-8 byte order mark before the first line is allowed.
    """
    whole = line.removeprefix(codecs.BOM_UTF8)
    return whole.startswith(b"{") and whole.rstrip().endswith(b"}") and whole.endswith(b"\n")


_COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""The first bytes of gzip, zip, bzip2, xz and zstandard files."""


def why_unreadable(line: bytes) -> str:
    """Explain to the user why toolshape cannot read the first line of a trace."""
    if line.startswith(_COMPRESSED):
        return "the file is compressed: unpack it first"
    if b"\x00" in line[:100]:  # In UTF-16 and UTF-32, a zero byte is next to each bracket.
        return "the file is not UTF-8: it may be UTF-16"
    if line.startswith(b"{") and not line.rstrip().endswith(b"}"):
        return "line 1 is incomplete"
    try:
        parse_line(line, 1)
    except UsageError as error:
        return str(error)
    return "line 1 has no line break"


def compute_stages(recorded: RecordedResponse, tools: Registry) -> tuple[Stages, ...]:
    """Replay each call of a recorded response with these tools, stage by stage. No tool is run.

    Args:
        recorded: The recorded response.
        tools: The current tools.

    Raises:
        ResponseError: The response cannot be read.
        ExportError: The tools cannot be bound to the provider.
    """
    bound = tools.bind(get(recorded.provider), recorded.strict)
    if recorded.calls or recorded.response is None:
        return tuple(
            (_stages_of_raw if "arguments_raw" in recorded_call else _stages_of_canonical)(
                bound, recorded_call, recorded, position
            )
            for position, recorded_call in enumerate(recorded.calls)
        )
    plan = _plan_recorded(bound, recorded)
    return tuple(
        _stages_of_call(bound, call, plan.results[position].error, _outcome_at(recorded, position))
        for position, call in enumerate(plan.calls)
    )


def _plan_recorded(bound: Bound, entry: RecordedResponse) -> Plan:
    """Plan a recorded response.

    Raises:
        ResponseError: The response cannot be read.
    """
    bound_tools = bound_tools_of(bound)
    if entry.stream is None:
        return Plan(
            plan_calls(
                bound.provider,
                read_response(bound_tools.reader, entry.response),
                bound_tools.handlers,
                entry.response,
            )
        )
    collector = Collector(bound.provider, bound_tools.handlers, None, bound_tools.reader)
    for piece in entry.response:
        collector.feed(piece)
    if entry.stream == "ended":
        collector.close()
    return collector.plan()


def _outcome_at(entry: RecordedResponse, position: int) -> JsonObject:
    if position < len(entry.outcome):
        return entry.outcome[position]
    return {}


def _stages_of_call(
    bound: Bound, call: Call, error: CallError | None, result: JsonObject
) -> Stages:
    handler = bound_tools_of(bound).handlers.find(call.wire_name)
    if handler is None or (error is not None and error.code in REFUSED):
        received = Received(None, (), error)
    else:
        received = receive_arguments(handler, call.arguments_raw)
    return Stages(
        raw=call.raw,
        read=call.arguments_raw,
        resolved=call.name,
        canonical=call.arguments,
        refused=received.error,
        validated=received.arguments,
        coerced=received.coercions,
        result=result,
        is_whole=True,
    )


def _stages_of_raw(
    bound: Bound, given: JsonObject, entry: RecordedResponse, position: int
) -> Stages:
    """Return the stages of a call that was recorded without its response."""
    wire = WireCall(given["id"], given["wire_name"], given["arguments_raw"], None)
    call = resolve_call(bound.provider.name, bound_tools_of(bound).handlers, position, wire)
    error: CallError | None = None
    try:
        refuse_cut(given["is_cut"], call.arguments_raw, call.wire_name)
    except CallError as cut:
        error = cut
    if call.name is None:
        error = CallError("unknown_tool", tool=call.wire_name)
    return _stages_of_call(bound, call, error, _outcome_at(entry, position))


def _stages_of_canonical(
    bound: Bound, given: JsonObject, entry: RecordedResponse, position: int
) -> Stages:
    """Return the stages of a call that was recorded in canonical form, without its hidden
    values.
    """
    name = given["wire_name"]
    handler, validate = (
        bound_tools_of(bound).handlers.find(name),
        canonical_validation(bound_tools_of(bound), name),
    )
    arguments = given.get("arguments")
    received = Received(None, (), None)
    if handler is None or validate is None:
        received = Received(None, (), CallError("unknown_tool", tool=name))
    elif arguments is not None:
        received = receive_arguments(handler, arguments, validate)
    return Stages(
        raw=None,
        read=None,
        resolved=None if handler is None else handler.name,
        canonical=arguments,
        refused=received.error,
        validated=received.arguments,
        coerced=received.coercions,
        result=_outcome_at(entry, position),
        is_whole=bool(given.get("is_whole")),
    )

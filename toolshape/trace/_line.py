"""A response that was seen in; what a trace keeps of it, as one line of JSON, out."""

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from toolshape._bound import Bound, Seen
from toolshape._calls import JsonObject
from toolshape._errors import ResponseError
from toolshape._results import Result
from toolshape._wire.bodies import member, model_of, parsed_body, plain
from toolshape.trace._privacy import Hidden, Pattern, digest_of, hidden_of, kept, known_path, masked

VERSION = 1
_IDS = ("id", "responseId", "response_id", "request_id")


def has_failed(seen: Seen) -> bool:
    """Whether a response could not be read, a call was refused or failed, or what was expected of it did not come."""
    if isinstance(seen.outcome, ResponseError) or seen.notes.get("label") in ("wrong", "failed"):
        return True
    return any(one.error is not None and one.error.code != "not_run" for one in seen.outcome)


def line_of(bound: Bound, seen: Seen, redact: Sequence[Pattern]) -> bytes:
    """The line, with its end.

    Args:
        bound: The tools as the model was sent them.
        seen: The response and its outcome.
        redact: Places in arguments that are not kept.

    Raises:
        UsageError: A redacted place is none of its tool.
    """
    hidden = {one.name: hidden_of(one, redact) for one in bound.tools}
    is_elsewhere = any(
        name not in ("*", *hidden) for name, _ in redact
    )  # of a tool that is not bound here, or misspelt
    some_are_hidden = is_elsewhere or any(one.is_needed for one in hidden.values())
    body = _named_piece(seen.response) if seen.stream else _data(seen.response)
    made: JsonObject = {
        "version": VERSION,
        "at": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "provider": bound.provider.name,
        "strict": bound.strict,
        "model": model_of(body),
        "request_id": _request_id(seen.response, body),
        "tools": bound.fingerprint,
    }
    if isinstance(seen.outcome, ResponseError):
        made |= _digest_of_body(seen.response) if some_are_hidden else _whole(seen, body)
        made["error"] = type(seen.outcome).__name__ if some_are_hidden else str(seen.outcome)
        made["outcome"] = []
    else:
        results = seen.outcome
        # Beside a call, a model may repeat what it read.
        made |= {"calls": [_call(one, hidden) for one in results]} if some_are_hidden else _whole(seen, body)
        made["finish"] = results.finish
        made["outcome"] = [_outcome(one, hidden, some_are_hidden=some_are_hidden) for one in results]
    made |= {"redact": [".".join((tool, *fields)) for tool, fields in redact]} if redact else {}
    made |= {"notes": dict(seen.notes)} if seen.notes else {}
    return _as_line(made)


def _as_line(made: JsonObject) -> bytes:
    try:
        return json.dumps(made, ensure_ascii=False, default=str).encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(made, default=str).encode() + b"\n"


def _data(response: Any) -> Any:
    try:
        return plain(parsed_body(response))
    except ResponseError:
        return None


def _request_id(response: Any, body: Any) -> str | None:
    """What the provider calls the request: the SDK's own word, or a member of the body."""
    for given in (getattr(response, "_request_id", None), *(member(body, name) for name in _IDS)):
        if isinstance(given, str) and given:
            return given
    headers = member(member(body, "ResponseMetadata") or {}, "RequestId")  # botocore
    return headers if isinstance(headers, str) else None


def _named_piece(pieces: Sequence[Any]) -> Any:
    """The first piece of a stream that names a model, or is inside one that does."""
    for piece in pieces:
        event = None if isinstance(piece, (str, bytes, bytearray)) else plain(piece)
        for held in (event, member(event, "message"), member(event, "response")):
            if model_of(held) is not None:
                return held
    return None


def _whole(seen: Seen, body: Any) -> JsonObject:
    """The response as it came: its text or its JSON, or the pieces of its stream."""
    if seen.stream is not None:
        return {"stream": [_text_or_json(one) for one in seen.response], "stream_ended": seen.stream == "ended"}
    is_text = isinstance(seen.response, (str, bytes, bytearray))
    return {"text": _text_or_json(seen.response)} if is_text else {"body": body}


def _text_or_json(piece: Any) -> Any:
    if isinstance(piece, (bytes, bytearray)):
        return bytes(piece).decode(errors="surrogateescape")
    return piece if isinstance(piece, str) else plain(parsed_body(piece))


def _digest_of_body(response: Any) -> JsonObject:
    """No more than the length and the hash of a response that may hold anything."""
    return {"kept": digest_of(response)}


def _call(result: Result, hidden: dict[str, Hidden]) -> JsonObject:
    """A call in place of a body: as it came, or in canonical form without what is hidden, or no more than its length."""
    call, error = result.call, result.error
    if call.name is None:  # it may have been meant for a tool with hidden places
        return {"id": call.id, "wire_name": "", "kept": digest_of(call.arguments_raw)}
    made: JsonObject = {"id": call.id, "wire_name": call.wire_name}
    own = hidden[call.name]
    if not own.is_needed:
        is_cut = error is not None and error.code == "truncated_arguments"
        return {**made, "arguments_raw": _text_or_json(call.arguments_raw), "is_cut": is_cut}
    arguments = call.arguments if _is_read(result) else None
    if arguments is None:
        return {**made, "kept": digest_of(call.arguments_raw)}
    shown = kept(arguments, own)
    return {**made, "arguments": shown, "is_whole": shown == arguments}


def _is_read(result: Result) -> bool:
    """Whether the arguments were read: of those that were repaired, it is not known which parts are hidden."""
    if result.error is not None and result.error.code in ("malformed_arguments", "truncated_arguments"):
        return False
    given = result.call.arguments_raw
    return not isinstance(given, (str, bytes)) or _has_each_key_once(given)


def _has_each_key_once(text: str | bytes) -> bool:
    def once(pairs: list[tuple[str, Any]]) -> JsonObject:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key comes twice")
        return dict(pairs)

    try:
        return not text.strip() or isinstance(json.loads(text, object_pairs_hook=once), dict)
    except (ValueError, RecursionError):
        return False


def _outcome(result: Result, hidden: dict[str, Hidden], *, some_are_hidden: bool) -> JsonObject:
    call, error = result.call, result.error
    own = None if call.name is None else hidden[call.name]
    arguments = result.arguments
    made: JsonObject = {
        "id": call.id,
        "tool": call.name,
        "wire_name": "" if own is None and some_are_hidden else call.wire_name,
        "ok": result.ok,
        "arguments": arguments if own is None or arguments is None else masked(arguments, own),
        "coercions": [[one.path if own is None else known_path(one.path, own), one.rule] for one in result.coercions],
        "elapsed": round(result.elapsed, 6),
    }
    if error is not None:
        problems = [[one.path if own is None else known_path(one.path, own), one.rule] for one in error.problems]
        made["error"] = {"code": error.code, "problems": problems}
    return made

"""Writes an observed response as one JSON line of a trace, without secrets and redacted values."""

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from toolshape._bound.bound import Bound, ObservedResponse, bound_tools_of
from toolshape._families.wire.bodies import member, model_name, parse_body, to_plain_json
from toolshape._plan import state
from toolshape._plan.plan_state import StoredAnswerTarget
from toolshape._plan.results import Answer, Results, answer_target_of, peek_answer
from toolshape._records.calls import Call, JsonObject
from toolshape._records.errors import ResponseError
from toolshape._records.result import Result
from toolshape._schema.secrets import Secrets
from toolshape.trace._privacy import (
    Hidden,
    Pattern,
    digest_of,
    hidden_in,
    hidden_of,
    known_path,
    mask_arguments,
    replace_hidden,
)

VERSION = 1
_IDS = ("id", "responseId", "response_id", "request_id")


def has_failed(seen: ObservedResponse) -> bool:
    """Return whether the response is unreadable, a call or the answer
    failed, or the verdict is not right.
    """
    if isinstance(seen.outcome, ResponseError) or seen.notes.get("label") in ("wrong", "failed"):
        return True
    if seen.outcome.output is not None and not seen.outcome.output.ok:
        return True
    return any(
        result.error is not None and result.error.code not in _UNDECIDED for result in seen.outcome
    )


_UNDECIDED = ("not_run", "pending")


def line_of(bound: Bound, seen: ObservedResponse, redact: Sequence[Pattern]) -> bytes:
    """Return the trace line for a response, including the line break.

    Args:
        bound: The tools as sent to the model.
        seen: The response and its outcome.
        redact: Places in arguments that must not be recorded.

    Raises:
        UsageError: A pattern in ``redact`` names a tool, and a field that the tool does not have.
    """
    hidden = {tool.name: hidden_of(tool, redact) for tool in bound.tools}
    # A pattern may name a tool that is not bound here, or be misspelt. Then the body must not be
    # recorded as received.
    answer = _answer_of(bound, seen.outcome, redact)
    known_names = ("*", *hidden, *([] if answer is None else [answer.name]))
    is_elsewhere = any(name not in known_names for name, _ in redact)
    some_are_hidden = is_elsewhere or any(places.is_needed for places in hidden.values())
    some_are_hidden = some_are_hidden or (answer is not None and answer.hidden.is_needed)
    if seen.stream:
        body = _named_piece(seen.response)
    else:
        body = _body_json(seen.response)
    line: JsonObject = {
        "version": VERSION,
        "at": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "provider": bound.provider.name,
        "strict": bound.strict,
        "model": model_name(body),
        "request_id": _request_id(seen.response, body),
        "tools": bound.fingerprint,
    }
    if isinstance(seen.outcome, ResponseError):
        line |= _digest_of_body(seen.response) if some_are_hidden else _whole_response(seen, body)
        line["error"] = type(seen.outcome).__name__ if some_are_hidden else str(seen.outcome)
        line["outcome"] = []
    else:
        results = seen.outcome
        # The text around a call is not recorded, because a model may repeat a secret there.
        if some_are_hidden:
            calls = {"calls": [_call(result, hidden) for result in results]}
        else:
            calls = None
        line |= calls or _whole_response(seen, body)
        line["finish"] = results.finish
        edits = [state.is_edited(results, position) for position in range(len(results))]
        line["outcome"] = [
            _outcome(result, hidden, answer, some_are_hidden=some_are_hidden, is_edited=is_edited)
            for result, is_edited in zip(results, edits, strict=True)
        ]
        read = peek_answer(results)
        if answer is not None and read is not None:
            line["answer"] = _outcome_of_answer(answer, read)
    line |= {"redact": [".".join((tool, *fields)) for tool, fields in redact]} if redact else {}
    line |= {"notes": dict(seen.notes)} if seen.notes else {}
    line |= {"continues": True} if seen.continues else {}
    return _as_line(line)


class _Answer(NamedTuple):
    """The output of the bound tools: its name, and its hidden places."""

    name: str
    hidden: Hidden


def _answer_of(
    bound: Bound, outcome: Results | ResponseError, redact: Sequence[Pattern]
) -> _Answer | None:
    """Return what is hidden in the answer: of the results, which may be a restored
    turn's, or else of the bound output.
    """
    target = answer_target_of(outcome) or bound_tools_of(bound).answer
    if target is None:
        return None
    # The type is not here: the whole answer is hidden, or nothing is.
    if isinstance(target, StoredAnswerTarget):
        if target.has_secrets or redact:
            schema = {"writeOnly": True}
        else:
            schema = {}
        return _Answer(target.name, hidden_in(target.name, Secrets(schema), ()))
    hidden = hidden_in(target.name, target.record.secrets, redact)
    return _Answer(target.name, hidden)


def _is_answer(call: Call) -> bool:
    return call.reader is not None and call.reader.is_answer


def _outcome_of_answer(answer: _Answer, read: Answer[Any]) -> JsonObject:
    """Return the outcome of the answer, without its value.

    If nothing is hidden, the body holds the value.
    """
    outcome: JsonObject = {
        "output": answer.name,
        "ok": read.ok,
        "coercions": [
            [known_path(coercion.path, answer.hidden), coercion.rule] for coercion in read.coercions
        ],
    }
    if read.error is not None:
        problems = [
            [known_path(problem.path, answer.hidden), problem.rule]
            for problem in read.error.problems
        ]
        outcome["error"] = {"code": read.error.code, "problems": problems}
    return outcome


def _as_line(line: JsonObject) -> bytes:
    try:
        return json.dumps(line, ensure_ascii=False, default=str).encode() + b"\n"
    except UnicodeEncodeError:  # The text contains half a surrogate pair.
        return json.dumps(line, default=str).encode() + b"\n"


def _body_json(response: Any) -> Any:
    try:
        return to_plain_json(parse_body(response))
    except ResponseError:
        return None


def _request_id(response: Any, body: Any) -> str | None:
    """Return the provider's id for the request: from the SDK object, or from a member of the
    body.
    """
    for candidate in (
        getattr(response, "_request_id", None),
        *(member(body, name) for name in _IDS),
    ):
        if isinstance(candidate, str) and candidate:
            return candidate
    request_id = member(member(body, "ResponseMetadata") or {}, "RequestId")  # botocore
    if isinstance(request_id, str):
        return request_id
    return None


def _named_piece(pieces: Sequence[Any]) -> Any:
    """Return the first object of a stream that names a model: an event, or the
    message or response inside it.
    """
    for piece in pieces:
        if isinstance(piece, (str, bytes, bytearray)):
            event = None
        else:
            event = to_plain_json(piece)
        for candidate in (event, member(event, "message"), member(event, "response")):
            if model_name(candidate) is not None:
                return candidate
    return None


def _whole_response(seen: ObservedResponse, body: Any) -> JsonObject:
    """Return the whole response: its text, its JSON, or the pieces of its stream."""
    if seen.stream is not None:
        return {
            "stream": [_text_or_json(piece) for piece in seen.response],
            "stream_ended": seen.stream == "ended",
        }
    is_text = isinstance(seen.response, (str, bytes, bytearray))
    if is_text:
        return {"text": _text_or_json(seen.response)}
    return {"body": body}


def _text_or_json(piece: Any) -> Any:
    if isinstance(piece, (bytes, bytearray)):
        return bytes(piece).decode(errors="surrogateescape")
    if isinstance(piece, str):
        return piece
    return to_plain_json(parse_body(piece))


def _digest_of_body(response: Any) -> JsonObject:
    """Return only the length and the hash of a response, which may hold secrets anywhere."""
    return {"kept": digest_of(response)}


def _call(result: Result, hidden: dict[str, Hidden]) -> JsonObject:
    """Return the record of a call, for a trace line without the body.

    If the tool has no hidden places, the arguments are recorded as received. Otherwise they are
    recorded in canonical form, without the hidden values. If they cannot be read, only their length
    and hash are recorded.
    """
    call, error = result.call, result.error
    if call.name is None:  # The call may have been meant for a tool with hidden places.
        return {"id": call.id, "wire_name": "", "kept": digest_of(call.arguments_raw)}
    record: JsonObject = {"id": call.id, "wire_name": call.wire_name}
    if _is_answer(call):
        return {**record, "kept": digest_of(call.arguments_raw)}
    hidden_places = hidden.get(call.name)
    if hidden_places is None:  # the tool of a restored call is not here
        return {**record, "kept": digest_of(call.arguments_raw)}
    if not hidden_places.is_needed:
        is_cut = error is not None and error.code == "truncated_arguments"
        return {**record, "arguments_raw": _text_or_json(call.arguments_raw), "is_cut": is_cut}
    arguments = call.arguments if _is_read(result) else None
    if arguments is None:
        return {**record, "kept": digest_of(call.arguments_raw)}
    kept_arguments = replace_hidden(arguments, hidden_places)
    return {**record, "arguments": kept_arguments, "is_whole": kept_arguments == arguments}


def _is_read(result: Result) -> bool:
    """Return whether the arguments were read without repair.

    After a repair, the hidden places are not known.
    """
    if result.error is not None and result.error.code in (
        "malformed_arguments",
        "truncated_arguments",
    ):
        return False
    raw_arguments = result.call.arguments_raw
    return not isinstance(raw_arguments, (str, bytes)) or _has_each_key_once(raw_arguments)


def _has_each_key_once(text: str | bytes) -> bool:
    def reject_repeats(pairs: list[tuple[str, Any]]) -> JsonObject:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key comes twice")
        return dict(pairs)

    try:
        return not text.strip() or isinstance(
            json.loads(text, object_pairs_hook=reject_repeats), dict
        )
    except (ValueError, RecursionError):
        return False


def _outcome(
    result: Result,
    hidden: dict[str, Hidden],
    answer: _Answer | None,
    *,
    some_are_hidden: bool,
    is_edited: bool,
) -> JsonObject:
    call, error = result.call, result.error
    is_answer = _is_answer(call)
    if answer is not None and is_answer:
        hidden_places = answer.hidden
    elif call.name is None:
        hidden_places = None
    else:
        hidden_places = hidden.get(call.name)
    arguments: Any = result.arguments
    places = [coercion.path for coercion in result.coercions]
    if hidden_places is not None:
        places = [known_path(path, hidden_places) for path in places]
        if arguments is not None:
            arguments = mask_arguments(arguments, hidden_places)
    rules = [coercion.rule for coercion in result.coercions]
    outcome: JsonObject = {
        "id": call.id,
        "tool": call.name,
        "wire_name": "" if hidden_places is None and some_are_hidden else call.wire_name,
        "ok": result.ok,
        "arguments": arguments,
        "coercions": [list(pair) for pair in zip(places, rules, strict=True)],
        "elapsed": round(result.elapsed, 6),
    }
    if is_answer:  # ``replay`` does not compare answers
        outcome["is_answer"] = True
    if is_edited:  # the function received arguments that differ from the response
        outcome["edited"] = True
    if error is not None:
        problems = [
            [
                problem.path if hidden_places is None else known_path(problem.path, hidden_places),
                problem.rule,
            ]
            for problem in error.problems
        ]
        outcome["error"] = {"code": error.code, "problems": problems}
    return outcome

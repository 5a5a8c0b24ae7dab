"""Turns a paused plan into a signed token, and restores the same calls with the same arguments from the token."""

import hashlib
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from toolshape._plan import state
from toolshape._plan.claims import Ready
from toolshape._plan.ledger_store import LedgerStore, check_ledger
from toolshape._plan.results import Results
from toolshape._plan.state import State
from toolshape._plan.steps import Steps
from toolshape._plan.stored import restore_result, store_result
from toolshape._plan.token import check_key, digest, sign
from toolshape._records.calls import Call, JsonObject
from toolshape._records.errors import TokenError, UsageError
from toolshape._records.identity import canonical_json
from toolshape._records.result import Result
from toolshape._schema.bytes_json import from_json_value, to_json_value
from toolshape._tools.handler import Handler, Handlers
from toolshape._tools.tool import record_of

VERSION = 2  # version 1 encoded bytes differently
_NEEDS_LEDGER = "a tool takes secrets, which a token never contains: pass ledger=, which stores the model's messages"


class Pause(NamedTuple):
    """The arguments of ``Plan.pause``; ``scope`` is the given ledger scope, or that of an earlier run."""

    key: bytes | str
    audience: str
    expires: timedelta
    ledger: LedgerStore | None
    scope: str | None


async def pause(results: Results, given: Pause, steps: Steps) -> str:
    """Pause a plan and return its token; from then on the token owns the calls. See ``Plan.pause``.

    Raises:
        UsageError: The plan cannot be paused; it is unchanged.
    """
    key_bytes, ledger, controls = check_key(given.key), given.ledger, state.controls_of(results)
    _check_options(given)
    previous_states, refusal = state.give_away(results)
    if refusal:
        raise UsageError(refusal)
    waiting = _Waiting(previous_states, controls.entries)
    try:
        token_id = uuid.uuid4().hex
        public_part, payload = _pack_plan(results, waiting, key_bytes)
        content = {**_token_fields(given, token_id, controls.unnamed), **public_part}
        if not _has_secrets(results, waiting):
            content["kept"] = payload
        elif ledger is not None:
            await steps.blocking(lambda: ledger.keep(token_id, payload))
            content["in_ledger"] = digest(key_bytes, payload)
        else:
            raise UsageError(_NEEDS_LEDGER)  # noqa: TRY301 - raised here, so the except branch takes the calls back
        token = sign(content, key_bytes)
    except BaseException:
        state.take_back(results, previous_states)
        raise
    state.notify_observer(results)
    return token


def _token_fields(given: Pause, token_id: str, unnamed: str | None) -> JsonObject:
    now = int(time.time())
    return {
        "version": VERSION,
        "id": token_id,
        "audience": given.audience,
        "issued": now,
        "expires": now + max(int(given.expires.total_seconds()), 1),
        "scope": given.scope,
        "unnamed": unnamed or f"paused {token_id}",
    }


def _check_options(given: Pause) -> None:
    """Check the arguments of ``Plan.pause``.

    Raises:
        UsageError: An argument is invalid.
    """
    expires: Any = given.expires
    audience: Any = given.audience
    if given.ledger is not None:
        check_ledger(given.ledger, None)
    if not isinstance(expires, timedelta) or expires <= timedelta():
        raise UsageError(
            f"expires= takes the time that the plan may wait, such as timedelta(days=1), not {expires!r}"
        )
    if not isinstance(audience, str):
        raise UsageError(
            f"audience= takes a string that names who may resume the plan, not {audience!r}"
        )


class _Waiting(NamedTuple):
    """The states of the calls that have not begun, and the entries of all calls, by position."""

    states: Mapping[int, State]
    entries: Mapping[int, Ready]


def _has_secrets(results: Results, waiting: _Waiting) -> bool:
    """Whether a called tool takes secrets; if so, the model's messages may contain secrets anywhere.

    A call of an unknown tool counts as a call of every tool, because the model may have meant any of them.
    """
    readers = [call.reader for call in results.calls]
    if any(map(_takes_secrets, readers)):
        return True
    handler = waiting.entries[next(iter(waiting.states))][2]
    shapes = () if all(readers) else handler.group.shapes.values()
    return any(record_of(shape.tool).secrets.are_there for shape in shapes)


def _takes_secrets(reader: Any) -> bool:
    """Whether a call's tool takes secrets or, if the call is an answer, whether the answer may hold a secret."""
    return reader is not None and reader.has_secrets


def _pack_plan(results: Results, waiting: _Waiting, key: bytes) -> tuple[JsonObject, str]:
    """Return the public part of a paused plan, and its payload, which the ledger stores if it may contain secrets.

    Raises:
        UsageError: The arguments of a call that has not run cannot be written as JSON, or change when validated again.
    """
    public_calls: list[JsonObject] = []
    payload_calls: list[JsonObject] = []
    for position, (call, result) in enumerate(zip(results.calls, results, strict=True)):
        stored_call: JsonObject = {
            "id": call.id,
            "tool": call.name,
            "name": call.wire_name,
            "raw": call.raw,
        }
        if position not in waiting.states:
            output = call.reader.record.output if isinstance(call.reader, Handler) else None
            payload_calls.append(
                {
                    **stored_call,
                    "arguments": call.arguments_raw,
                    "result": store_result(result, output),
                }
            )
            public_calls.append({"id": call.id, "tool": call.name, "state": "answered"})
            continue
        entry, original = waiting.entries[position], state.call_as_written(results, position)
        stored_call |= _stored_arguments(entry)
        if original is not call:
            stored_call["as_written"] = {
                "arguments": original.arguments_raw,
                "is_canonical": _is_canonical(original),
            }
        payload_calls.append(stored_call)
        public_calls.append(
            {
                "id": call.id,
                "tool": call.name,
                **_describe_call(entry, key, waiting.states[position]),
            }
        )
    first_handler = waiting.entries[next(iter(waiting.states))][2]
    public_part = {
        "provider": getattr(results.provider, "name", ""),
        "strict": first_handler.bound_strict,
        "finish": results.finish,
        "finish_raw": None if results.finish_raw is None else str(results.finish_raw),
        "calls": public_calls,
    }
    return public_part, _to_json_text(
        {"assistant": list(results.assistant), "calls": payload_calls}
    )


def _is_canonical(call: Call) -> bool:
    return isinstance(call.reader, Handler) and call.reader.back is None


def _describe_call(ready: Ready, key: bytes, was: State) -> JsonObject:
    """Describe a call that has not begun: whether it needs approval, is approved, or needs no approval.

    The state is the recorded decision. The approval rule does not run again: it may have changed since, or may fail.
    """
    _, call, handler, validated, _ = ready
    return {
        "state": "free" if was == "ready" else was,
        "arguments": handler.record.secrets.masked(handler.written(validated)),
        "sent": _fingerprint(handler),
        "digest": digest(key, _digested_identity(call, handler, validated)),
    }


def _digested_identity(call: Call, handler: Handler, validated: Any) -> list[Any]:
    return [call.id, handler.name, handler.record.source.exact(validated)]


def _fingerprint(handler: Handler) -> str:
    return hashlib.sha256(handler.shape.entry).hexdigest()[:16]


def _to_json_text(value: Any) -> str:
    """Return a value as JSON text. Objects keep the order of their keys; bytes are encoded."""
    return json.dumps(to_json_value(value), default=str)


def parse_payload(text: str) -> JsonObject:
    """Parse the payload of a paused plan, and decode the bytes in it."""
    payload: JsonObject = from_json_value(json.loads(text))
    return payload


def _stored_arguments(ready: Ready) -> JsonObject:
    """Return the arguments that restore a call when they are validated again: as received, or as validated.

    Raises:
        UsageError: Neither form gives the same arguments when it is validated again.
    """
    _, call, handler, validated, _ = ready
    try:
        expected = canonical_json(handler.record.source.exact(validated))
        for candidate, reader in (
            (call.arguments_raw, handler),
            (handler.record.source.sparse(validated), handler.canonical),
        ):
            arguments = parse_payload(_to_json_text({"given": candidate}))["given"]
            if _exact_json(reader, arguments) == expected:
                return {"arguments": arguments, "is_canonical": reader.back is None}
    except (TypeError, ValueError, RecursionError) as error:
        raise _cannot_pause(handler, str(error)) from error
    raise _cannot_pause(handler, "its arguments change when they are validated a second time")


def _exact_json(handler: Handler, given: Any) -> str:
    try:
        return canonical_json(handler.record.source.exact(handler.validate(given)[0]))
    except Exception:  # a user validator may raise anything
        return ""


def _cannot_pause(handler: Handler, why: str) -> UsageError:
    return UsageError(f"a call of {handler.name} cannot be paused: {why}")


class Parts(NamedTuple):
    """The parts of a restored plan: its calls, their answers, and the calls that have not begun, by state."""

    calls: list[Call]
    answers: list[Result | None]
    entries: dict[State, list[Ready]]
    as_written: dict[int, Call]
    assistant: Sequence[JsonObject]


def restore_parts(shown: JsonObject, kept: JsonObject, handlers: Handlers, key: bytes) -> Parts:
    """Restore the parts of a paused plan.

    A call that needed no approval is checked against its rule again, because the rule may have changed.

    Raises:
        TokenError: The schema of a tool has changed since the pause, or a tool would receive other arguments.
    """
    parts = Parts([], [], {"ready": [], "pending": [], "approved": []}, {}, kept["assistant"])
    for position, (public_call, stored_call) in enumerate(
        zip(shown["calls"], kept["calls"], strict=True)
    ):
        handler = handlers.find(stored_call["name"]) if public_call["tool"] is not None else None
        reader = (
            handler if handler is None or not stored_call.get("is_canonical") else handler.canonical
        )
        call = Call(
            stored_call["id"],
            public_call["tool"],
            stored_call["name"],
            stored_call["arguments"],
            shown["provider"],
            stored_call["raw"],
            reader,
        )
        parts.calls.append(call)
        if "result" in stored_call:
            parts.answers.append(restore_result(call, stored_call["result"], replayed=True))
            continue
        ready = _restore_ready(position, call, public_call, reader, key)
        parts.answers.append(None)
        call_state: State = "ready" if public_call["state"] == "free" else public_call["state"]
        record = ready[2].record
        if call_state == "ready" and not record.approves_by_inject and record.must_wait(ready[3]):
            call_state = "pending"
        parts.entries[call_state].append(ready)
        if "as_written" in stored_call and handler is not None:
            original = stored_call["as_written"]
            original_reader = handler.canonical if original["is_canonical"] else handler
            parts.as_written[position] = call._replace(
                arguments_raw=original["arguments"], reader=original_reader
            )
    return parts


def _restore_ready(
    position: int, call: Call, about: JsonObject, handler: Handler | None, key: bytes
) -> Ready:
    """Restore a call that has not begun.

    Raises:
        TokenError: The tool has changed since the pause, or would receive other arguments.
    """
    if handler is None or handler.name != about["tool"] or _fingerprint(handler) != about["sent"]:
        raise TokenError(
            "tools_changed", f"the tool {about['tool']} has changed since the plan was paused"
        )
    validated: Any = None
    current_digest = ""
    try:
        validated, coercions = handler.validate(call.arguments_raw)
        current_digest = digest(key, _digested_identity(call, handler, validated))
    except Exception:  # a user validator may raise anything
        coercions = ()
    if current_digest != about["digest"]:
        message = f"the arguments of {about['tool']} now validate to other values than when the plan was paused"
        raise TokenError("arguments_changed", message)
    return position, call, handler, validated, coercions

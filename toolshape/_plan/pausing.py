"""Turns a paused plan into a signed token, and reads the record of the plan out of the token."""

import json
import time
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from toolshape._plan import state
from toolshape._plan.ledger_store import LedgerStore, check_ledger
from toolshape._plan.plan_state import PlanState, StoredCallState, from_json, to_json
from toolshape._plan.results import Results
from toolshape._plan.signing import check_key, digest, sign
from toolshape._plan.snapshot import snapshot
from toolshape._plan.state import State
from toolshape._plan.steps import Steps
from toolshape._records.calls import JsonObject
from toolshape._records.errors import UsageError

TOKEN_VERSION = 3  # version 1 encoded bytes differently; version 2 knew no answers
_NEEDS_LEDGER = (
    "a tool takes secrets, which a token never contains: pass ledger=, which stores the model's "
    "messages"
)


class Pause(NamedTuple):
    """The arguments of ``Plan.pause``; ``scope`` is the given ledger
    scope, or that of an earlier run.
    """

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
    try:
        token_id = uuid.uuid4().hex
        content, payload, is_secret = _pack_plan(results, previous_states)
        content |= _token_fields(given, token_id, controls.unnamed)
        if not is_secret:
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
        "version": TOKEN_VERSION,
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
            "expires= takes the time that the plan may wait, such as timedelta(days=1), not "
            f"{expires!r}"
        )
    if not isinstance(audience, str):
        raise UsageError(
            f"audience= takes a string that names who may resume the plan, not {audience!r}"
        )


def _pack_plan(
    results: Results, previous_states: Mapping[int, State]
) -> tuple[JsonObject, str, bool]:
    """Return what a token shows of a plan, the plan's record as text, and
    whether the record may hold secrets.

    Raises:
        UsageError: The arguments of a call that has not run cannot be written as JSON, or change
            when validated again.
    """
    record = snapshot(results, previous_states)
    for position in previous_states:
        call = record.calls[position]
        if call.unstorable:
            raise UsageError(f"a call of {call.tool} cannot be paused: {call.unstorable}")
    shown = [*map(_shown_call, record.calls)]
    return {"calls": shown}, json.dumps(to_json(record), default=str), record.is_secret


def _shown_call(call: StoredCallState) -> JsonObject:
    """Return what the holder of a token reads of a call: whether it waits, and
    its arguments without secrets.
    """
    about: JsonObject = {"id": call.id, "tool": call.tool, "state": call.state}
    if call.state == "answered":
        return about
    if call.state == "ready":
        about["state"] = "free"
    return {**about, "arguments": call.shown}


def parse_record(text: str) -> PlanState:
    """Read the record of a paused plan.

    Raises:
        ValueError: The text is not such a record.
    """
    return from_json(json.loads(text))

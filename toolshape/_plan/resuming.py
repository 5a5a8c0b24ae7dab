"""Resumes a paused plan: opens its token, applies the decisions, and runs the plan once."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolshape._plan import approval, state
from toolshape._plan.approval import Decision, Deny
from toolshape._plan.claims import Ready, check_runnable
from toolshape._plan.ledger_store import Claim, LedgerStore, check_ledger
from toolshape._plan.once import LedgerRun, ledger_run, look_up, record_answer, try_write
from toolshape._plan.pausing import TOKEN_VERSION, parse_record
from toolshape._plan.plan import Plan
from toolshape._plan.plan_state import PlanState, StoredTarget
from toolshape._plan.results import Results
from toolshape._plan.run_options import OnProgress
from toolshape._plan.signing import check_key, digest, open_token
from toolshape._plan.steps import Steps
from toolshape._records.calls import JsonObject
from toolshape._records.errors import TokenError, UsageError
from toolshape._records.identity import Identity
from toolshape._records.result import Result


class Resumption(NamedTuple):
    """The arguments of ``Registry.resume``.

    ``open_turn`` makes the results of the plan from its record. ``adopt`` gets the results before
    the first call runs.
    """

    token: Any
    key: bytes | str
    decisions: Mapping[str, Decision]
    audience: str
    ledger: LedgerStore | None
    open_turn: Callable[[PlanState], Results]
    inject: Mapping[str, Any]
    limit: int | None
    on_progress: OnProgress | None
    adopt: Callable[[Results], None] | None = None


async def resume(given: Resumption, steps: Steps) -> Results:
    """Apply the decisions to a paused plan, and run the plan; see ``Registry.resume``.

    Raises:
        TokenError: ``token`` is not the token of a plan that can be resumed.
        CallError: A decision edits a call to invalid arguments.
        UsageError: A decision is invalid or names no waiting call, or the plan cannot run.
    """
    key_bytes, ledger = check_key(given.key), given.ledger
    if ledger is not None:
        check_ledger(ledger, None)
    content = open_token(given.token, key_bytes, given.audience, time.time())
    if content["version"] != TOKEN_VERSION:
        raise TokenError(
            "malformed", f"the token has version {content['version']}, not version {TOKEN_VERSION}"
        )
    record = await _load_record(content, key_bytes, ledger, steps)
    results = given.open_turn(replace(record, scope=content["scope"], unnamed=content["unnamed"]))
    if ledger is None:
        under_ledger = None
    else:
        under_ledger = ledger_run(results, ledger, None)
    if under_ledger is not None:
        # A decision on a call that the ledger answers has no effect.
        await look_up(under_ledger, frozenset(), steps)
    denials = _decide(results, given.decisions)
    check_runnable(state.claimable(results), given.inject, is_async=steps.is_loop)
    adopt = given.adopt or _nobody
    if under_ledger is None:
        adopt(results)
        state.deny(results, denials)
        return await _run(results, given, steps)
    identity = Identity(
        "paused plans", str(content["id"]), "", digest(key_bytes, content), is_lasting=True
    )
    owner = await _claim_token(identity, under_ledger.ledger, steps)
    has_finished = False
    try:
        adopt(results)
        await _write_denials(under_ledger, denials, steps)
        await _run(results, given, steps)
        has_finished = not results.pending and None not in results._answers
    finally:  # the ledger has the result of each call that has run, even if the token is released
        if has_finished:
            await try_write(steps, lambda: under_ledger.ledger.finish(identity, owner, "{}"))
        else:
            await try_write(
                steps, lambda: under_ledger.ledger.drop(identity, owner, has_begun=False)
            )
    return results


def _nobody(results: Results) -> None:
    """Adopt the results of a plan that belongs to no conversation."""


async def _run(results: Results, given: Resumption, steps: Steps) -> Results:
    plan = Plan(results)
    run: Any = plan.arun if steps.is_loop else plan.run
    options = {"inject": given.inject, "limit": given.limit, "on_progress": given.on_progress}
    finished: Results = await steps.result_of(run(**options, ledger=given.ledger))
    return finished


async def _claim_token(identity: Identity, ledger: LedgerStore, steps: Steps) -> str:
    """Claim the token; return the claim's owner id.

    Raises:
        TokenError: The token was used, or is in use.
    """

    def undo(claim: Claim) -> None:
        if claim.state == "ours":
            ledger.drop(identity, claim.owner, has_begun=False)

    claim = await steps.blocking(lambda: ledger.claim(identity, again=True), undo)
    if claim.state == "running":
        raise TokenError("in_use", "another run is using the token at this moment")
    if claim.state != "ours":
        raise TokenError("used", "the token was used: its plan has run")
    return claim.owner


async def _write_denials(
    run: LedgerRun, denials: Sequence[tuple[Ready, Result]], steps: Steps
) -> None:
    """Deny calls, but first record the denials, so neither this token nor its
    response can run the calls later.
    """
    for entry, denial in denials:
        answer = await record_answer(run.ledger, run.identity(entry[0]), denial, steps)
        state.deny(run.results, [(entry, answer)])


async def _load_record(
    content: JsonObject, key: bytes, ledger: LedgerStore | None, steps: Steps
) -> PlanState:
    """Return the record of the plan, from the token or from the ledger.

    Raises:
        TokenError: The ledger does not have the record.
        UsageError: A ledger holds the record, but no ledger was passed.
    """
    if "kept" in content:
        return parse_record(content["kept"])
    if ledger is None:
        raise UsageError("the messages for this token are in a ledger: pass ledger=")
    text = await steps.blocking(lambda: ledger.kept(str(content["id"])))
    if text is None or digest(key, text) != content["in_ledger"]:
        raise TokenError(
            "used",
            "the ledger has no messages for this token: the token was used, or belongs to "
            "another ledger",
        )
    return parse_record(text)


def _decide(results: Results, decisions: Mapping[str, Decision]) -> list[tuple[Ready, Result]]:
    """Approve or edit calls as decided; return the calls to deny, each with
    the result that denies the call.

    Raises:
        CallError: A decision edits a call to invalid arguments.
        UsageError: A decision is invalid, or names no waiting call.
    """
    decisions_by_id: Any = decisions
    if not isinstance(decisions_by_id, Mapping):
        raise UsageError(
            'decisions= takes a dict by call id, such as {"call_1": True}, not '
            f"{type(decisions_by_id).__name__}"
        )
    ids = {call.id for call in results.calls}
    if unknown_ids := [call_id for call_id in decisions_by_id if call_id not in ids]:
        raise UsageError(
            f"decisions= names {unknown_ids[0]!r}, but no call of this plan has this id: use "
            f"{sorted(ids)}"
        )
    denials: list[tuple[Ready, Result]] = []
    for call_id, decision in decisions_by_id.items():
        _check_decision(call_id, decision)
        if _is_known(results, call_id):
            continue
        if not isinstance(decision, Deny) and decision is not False:
            _refuse_lost(results, call_id, is_edit=isinstance(decision, Mapping))
        if isinstance(decision, Mapping):
            approval.edit(results, call_id, decision)
        elif decision is True:
            approval.approve(results, call_id)
        else:
            denials += approval.list_denials(
                results, call_id, decision.text if isinstance(decision, Deny) else ""
            )
    return denials


def _refuse_lost(results: Results, call_id: str, *, is_edit: bool) -> None:
    """Check that a call that is to run is what was shown.

    Raises:
        TokenError: Its tool is not here, or would get other arguments.
    """
    for entry in state.every_entry(results):
        target = entry[2]
        if entry[1].id != call_id or not isinstance(target, StoredTarget):
            continue
        if not (is_edit and target.handler is not None):
            raise TokenError(target.code, f"{target.name} cannot run as it was shown: {target.why}")


def _is_known(results: Results, call_id: str) -> bool:
    """Whether the ledger has answered all calls with this id that had no answer in the token."""
    states = [
        state.controls_of(results).states.get(position)
        for position, call in enumerate(results.calls)
        if call.id == call_id
    ]
    return bool(states) and all(call_state in {"answered", "unknown"} for call_state in states)


def _check_decision(call_id: str, decision: Any) -> None:
    """Check that a value is a decision.

    Raises:
        UsageError: The value is not a decision. A bare string is rejected, because it could mean
            approval or denial.
    """
    if isinstance(decision, (bool, Deny, Mapping)):
        return
    if isinstance(decision, str):
        way_out = f"Deny({decision!r})"
    else:
        way_out = "Deny('why')"
    raise UsageError(
        f"the decision on {call_id!r} is {decision!r}: pass True to run the call, {way_out} to "
        "deny it, or a dict of "
        "other arguments"
    )

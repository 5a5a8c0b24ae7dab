"""A token of a paused plan in; the plan, decided on and run once, out."""

import functools
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from toolshape._calls import JsonObject
from toolshape._dispatch.approval import Decision
from toolshape._dispatch.handler import Handlers
from toolshape._dispatch.ledger_store import Claim, LedgerStore, checked_ledger
from toolshape._dispatch.once import tried, written_down
from toolshape._dispatch.pausing import VERSION, Parts, read_kept, resumed
from toolshape._dispatch.plan import Plan
from toolshape._dispatch.run_options import OnProgress
from toolshape._dispatch.steps import Steps
from toolshape._dispatch.token import checked_key, digest, opened
from toolshape._dispatch.waiting import check
from toolshape._errors import TokenError, UsageError
from toolshape._identity import Identity, identity_of
from toolshape._results import Controls, Results, controls_of
from toolshape._wire.provider import Provider, Strictness


class Resumption(NamedTuple):
    """What is given to resume a plan by; see ``Registry.resume``.

    ``bind`` gives the provider and the handlers of a plan by the name of its provider and its strictness.
    """

    token: Any
    key: bytes | str
    decisions: Mapping[str, Decision]
    audience: str
    ledger: LedgerStore | None
    bind: Callable[[str, Strictness], tuple[Provider, Handlers]]
    inject: Mapping[str, Any]
    limit: int | None
    on_progress: OnProgress | None


async def resume(given: Resumption, steps: Steps) -> Results:
    """Run what was decided of a plan that was paused; see ``Registry.resume``.

    Raises:
        TokenError: This is no token of a plan that can be resumed.
        CallError: A call was edited to arguments that its tool does not take.
        UsageError: A decision is none, or of no call that waits; or the plan cannot be run.
    """
    secret, ledger = checked_key(given.key), given.ledger
    if ledger is not None:
        checked_ledger(ledger, None)
    content = opened(given.token, secret, given.audience, time.time())
    if content["version"] != VERSION:
        raise TokenError("malformed", f"the token is of version {content['version']}, and this is {VERSION}")
    kept = await _kept(content, secret, ledger, steps)
    provider, handlers = given.bind(content["provider"], content["strict"])
    plan = _plan_of(provider, resumed(content, kept, handlers, secret), content)
    denied = _decide(plan, given.decisions)
    check(plan.results.waiting, given.inject, is_async=steps.is_loop)
    run: Any = plan.arun if steps.is_loop else plan.run
    run = functools.partial(run, inject=given.inject, limit=given.limit, on_progress=given.on_progress)
    if ledger is None:
        alone: Results = await steps.result_of(run())
        return alone
    identity = Identity("paused plans", str(content["id"]), "", digest(secret, content), is_lasting=True)
    owner = await _claimed(identity, ledger, steps)
    is_over = False
    try:
        await _write_denials(plan, denied, ledger, steps)
        results: Results = await steps.result_of(run(ledger=ledger))
        is_over = not results.pending and None not in results.answers
    finally:  # each call that has run is in the ledger by itself, and its result is not lost for the token's sake
        if is_over:
            await tried(steps, lambda: ledger.finish(identity, owner, "{}"))
        else:
            await tried(steps, lambda: ledger.drop(identity, owner, has_begun=False))
    return results


async def _claimed(identity: Identity, ledger: LedgerStore, steps: Steps) -> str:
    """Take a token, so that nobody else uses it meanwhile; the name it is taken under.

    Raises:
        TokenError: It was used, or is being used.
    """

    def undo(claim: Claim) -> None:
        if claim.state == "ours":
            ledger.drop(identity, claim.owner, has_begun=False)

    claim = await steps.blocking(lambda: ledger.claim(identity, again=True), undo)
    if claim.state == "running":
        raise TokenError("in_use", "the token is being used elsewhere at this moment")
    if claim.state != "ours":
        raise TokenError("used", "the token was used: its plan has run")
    return claim.owner


async def _write_denials(plan: Plan, denied: Collection[str], ledger: LedgerStore, steps: Steps) -> None:
    """Keep what was denied, so that the same token, or the same response, does not run it another time."""
    controls, answers = controls_of(plan.results), plan.results.answers
    for position, call in enumerate(plan.calls):
        answer = answers[position]
        if call.id in denied and answer is not None:
            identity = identity_of(call, controls.scope, controls.unnamed)
            answers[position] = await written_down(ledger, identity, answer, steps)


async def _kept(content: JsonObject, key: bytes, ledger: LedgerStore | None, steps: Steps) -> JsonObject:
    """What was said and done, from the token or from the ledger.

    Raises:
        TokenError: The ledger does not have it.
        UsageError: It is in a ledger, and none is given.
    """
    if "kept" in content:
        return read_kept(content["kept"])
    if ledger is None:
        raise UsageError("what this token stands for is in a ledger: pass ledger=")
    text = await steps.blocking(lambda: ledger.kept(str(content["id"])))
    if text is None or digest(key, text) != content["in_ledger"]:
        raise TokenError(
            "used", "the ledger does not have what this token stands for: it was used, or is of another ledger"
        )
    return read_kept(text)


def _decide(plan: Plan, decisions: Mapping[str, Decision]) -> set[str]:
    """Approve of calls, deny or edit them; the ids of those that are denied.

    Raises:
        CallError: A tool does not take the arguments that it is given.
        UsageError: A decision is none, or of no call that waits.
    """
    given: Any = decisions
    if not isinstance(given, Mapping):
        raise UsageError(f'decisions are a dict by the ids of calls, as {{"call_1": True}}, not {type(given).__name__}')
    ids = {call.id for call in plan.calls}
    if lost := [one for one in given if one not in ids]:
        raise UsageError(f"decisions name {lost[0]!r}, and no call of this plan has this id; there are {sorted(ids)}")
    denied: set[str] = set()
    for call_id, decision in given.items():
        if isinstance(decision, Mapping):
            plan.edit(call_id, decision)
        elif decision is True:
            plan.approve(call_id)
        elif decision is False or isinstance(decision, str):
            plan.deny(call_id, decision or "")
            denied.add(call_id)
        else:
            raise UsageError(f"a decision is True, False, why not, or other arguments, not {decision!r}")
    return denied


def _plan_of(provider: Provider, parts: Parts, content: JsonObject) -> Plan:
    plan, results = Plan(), Results()
    plan.calls, plan.results = parts.calls, results
    plan._is_plain = False  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - private to users
    results.calls, results.answers, results.assistant = parts.calls, parts.answers, parts.assistant
    results.finish, results.finish_raw, results.provider = content["finish"], content["finish_raw"], provider
    results.waiting = parts.waiting
    results.controls = controls = Controls(dict(parts.held), plan)
    controls.scope, controls.unnamed = content["scope"], content["unnamed"]
    return plan

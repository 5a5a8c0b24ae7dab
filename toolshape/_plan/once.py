"""Runs each call at most once: answers known calls with the recorded outcome, and records the outcome of new calls.

A ledger identifies a call by its scope, its id, its tool, and its arguments as the model wrote them. Edits do not
count, because a response that is delivered again holds the arguments that the model wrote.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from toolshape._function.calling.failures import hide_error
from toolshape._plan import state
from toolshape._plan.claims import Ready
from toolshape._plan.ledger_store import Claim, LedgerStore, check_ledger
from toolshape._plan.results import Results
from toolshape._plan.steps import HERE, IN_LOOP, Steps, run_here
from toolshape._plan.stored import restore_result, store_result
from toolshape._records.calls import Call
from toolshape._records.context import CallContext, ToolFacts
from toolshape._records.errors import CallError, CallErrorCode
from toolshape._records.identity import Identity, identity_of
from toolshape._records.result import Result
from toolshape._tools.tool import Tool, record_of

_POLL = 0.05  # seconds before the first retry of a claim; each further pause is twice as long
_LONGEST_POLL = 1.0


@dataclass(frozen=True, kw_only=True)
class LedgerRun:
    """A run of one plan under a ledger, which knows earlier calls and records new calls."""

    results: Results
    ledger: LedgerStore
    scope: str | None
    unnamed: str | None

    def identity(self, position: int) -> Identity:
        """Return the identity of a call of the plan."""
        return identity_of(state.call_as_written(self.results, position), self.scope, self.unnamed)

    def around(self, ready: Sequence[Ready]) -> list[Ready]:
        """Wrap each call in one more hook, which runs around all others and asks the ledger."""
        return [
            (position, call, handler.under(LedgerGuard(self, position)), model, coercions)
            for position, call, handler, model, coercions in ready
        ]


def ledger_run(results: Results, ledger: LedgerStore | None, scope: str | None) -> LedgerRun:
    """Check the ledger and the scope, and return the ``LedgerRun`` of a plan.

    Args:
        results: The results of the plan.
        ledger: The ledger.
        scope: The application's name for where these calls were made; by default, the scope of an earlier run, or of
            the run before the plan was paused.

    Raises:
        UsageError: ``ledger`` is not a ledger, or ``scope`` is not a valid string.
    """
    checked_ledger, controls = check_ledger(ledger, scope), state.controls_of(results)
    if scope is not None:
        controls.scope = scope
    return LedgerRun(
        results=results, ledger=checked_ledger, scope=controls.scope, unnamed=controls.unnamed
    )


async def look_up(run: LedgerRun, steps: Steps) -> None:
    """Answer the pending calls that the ledger knows, and record in the ledger the calls that were denied.

    No person then has to approve a call that has already run, and a denied call does not run if its response is
    delivered again.
    """
    await record_denials(run, steps)
    for entry in state.entries_in(state.controls_of(run.results), "pending"):
        identity = run.identity(entry[0])
        if not identity.is_lasting:
            continue
        try:
            claim = await steps.blocking(lambda: run.ledger.look(identity))  # noqa: B023 - it is called before the next iteration
        except Exception:  # a database may raise anything: the call keeps waiting
            logging.getLogger("toolshape").exception(
                "the ledger could not be asked about a call of %s", identity.tool
            )
            return
        may_run_again = (
            claim is not None and claim.state == "unknown" and _may_run_again(entry[2].tool)
        )
        if claim is not None and claim.state != "running" and not may_run_again:
            state.answer_known(run.results, entry, _answer_from_claim(entry[1], claim))


async def record_denials(run: LedgerRun, steps: Steps) -> None:
    """Record the denied calls of a plan.

    If the ledger contradicts a denial, for example because the call ran elsewhere, log a warning.
    """
    for position in state.denied_positions(run.results):
        denial = run.results[position]
        try:
            recorded = await record_answer(run.ledger, run.identity(position), denial, steps)
        except Exception:  # a database may raise anything
            logging.getLogger("toolshape").exception(
                "the ledger could not record the denial of %s", denial.call.name
            )
            return
        if recorded.error is None or recorded.error.code != "denied":
            logging.getLogger("toolshape").warning(
                "%s (%s) was denied, but the ledger has another outcome: %s",
                denial.call.name,
                denial.call.id,
                recorded.text,
            )


def _may_run_again(tool: ToolFacts) -> bool:
    return not tool.effects.isdisjoint(("idempotent", "read"))


class LedgerGuard:
    """The outermost hook of a call under a ledger: runs the call, or returns the outcome that the ledger recorded."""

    __slots__ = ("_position", "_run")

    def __init__(self, run: LedgerRun, position: int) -> None:
        self._run = run
        self._position = position

    def __call__(self, context: CallContext, proceed: Callable[[], Result]) -> Result:
        """Answer a call outside of an event loop."""
        return run_here(self._answer(context, proceed, HERE))

    async def acall(self, context: CallContext, proceed: Callable[[], Awaitable[Result]]) -> Result:
        """Answer a call in a running event loop; a thread asks the ledger."""
        return await self._answer(context, proceed, IN_LOOP)

    async def _answer(
        self, context: CallContext, proceed: Callable[[], Any], steps: Steps
    ) -> Result:
        identity = context.known_as(self._run.identity(self._position))
        if (
            not identity.is_lasting
        ):  # the ledger could not recognise the call later: an equal call may be new
            self._begin()
            result: Result = await steps.result_of(proceed())
            return result
        try:
            claim = await self._claim(context, identity, steps)
        except (
            Exception
        ) as error:  # a database may raise anything; a call that cannot be recorded is not run
            return _refusal(context.call, hide_error("not_run", error, tool=context.call.wire_name))
        if claim.state == "ours":
            return await self._run_once(context, identity, claim.owner, proceed, steps)
        return _answer_from_claim(context.call, claim)

    def _begin(self) -> None:
        state.begin(state.controls_of(self._run.results), self._position)

    async def _claim(self, context: CallContext, identity: Identity, steps: Steps) -> Claim:
        """Claim the call in the ledger. While the call runs elsewhere, retry until the ledger's wait time is over."""
        ledger, again = self._run.ledger, _may_run_again(context.tool)
        deadline, delay = monotonic() + ledger.wait, _POLL

        def undo(claim: Claim) -> None:
            if claim.state == "ours":
                ledger.drop(identity, claim.owner, has_begun=False)

        while True:
            claim = await steps.blocking(lambda: ledger.claim(identity, again=again), undo)
            remaining = deadline - monotonic()
            if claim.state != "running" or remaining <= 0:
                return claim
            await steps.sleep(min(delay, remaining))
            delay = min(delay * 2, _LONGEST_POLL)

    async def _run_once(
        self,
        context: CallContext,
        identity: Identity,
        owner: str,
        proceed: Callable[[], Any],
        steps: Steps,
    ) -> Result:
        ledger = self._run.ledger
        self._begin()
        try:
            result: Result = await steps.result_of(proceed())
        except BaseException:  # interrupted or cancelled: how far the call got is unknown
            await try_write(steps, lambda: ledger.drop(identity, owner, has_begun=True))
            raise
        output = record_of(context.tool).output if isinstance(context.tool, Tool) else None
        try:
            outcome = json.dumps(store_result(result, output))
        except Exception:  # a hook may have put anything into a result
            await try_write(steps, lambda: ledger.drop(identity, owner, has_begun=True))
        else:
            await try_write(steps, lambda: ledger.finish(identity, owner, outcome))
        return result


async def try_write(steps: Steps, work: Callable[[], None]) -> None:
    """Write to the ledger; a failure is only logged, because the call has already run."""
    try:
        await steps.blocking(work)
    except Exception:  # a database may raise anything
        logging.getLogger("toolshape").exception(
            "the ledger could not record the outcome of a call"
        )


async def record_answer(
    ledger: LedgerStore, identity: Identity, answer: Result, steps: Steps
) -> Result:
    """Record and return the answer to a call that is not run; if the ledger knows the call, return its outcome."""
    if not identity.is_lasting:
        return answer
    claim = await steps.blocking(lambda: ledger.claim(identity, again=False))
    if claim.state != "ours":
        return _answer_from_claim(answer.call, claim)
    await steps.blocking(
        lambda: ledger.finish(identity, claim.owner, json.dumps(store_result(answer, None)))
    )
    return answer


def _answer_from_claim(call: Call, claim: Claim) -> Result:
    """Return the answer to a call that another run has begun."""
    if claim.state == "done":
        return restore_result(call, json.loads(claim.outcome), replayed=True)
    code: CallErrorCode = "duplicate_call" if claim.state == "other" else "unknown_outcome"
    return _refusal(call, CallError(code, tool=call.wire_name, text=claim.state))


def _refusal(call: Call, error: CallError) -> Result:
    return Result(call, error=error, text=str(error))

"""Runs each call at most once: a ledger answers what it knows, and records what is new.

A ledger identifies a call by its scope, its id, its tool, and its arguments as the model wrote
them. Edits do not count, because a response that is delivered again holds the arguments that the
model wrote.
"""

import functools
import json
import logging
from collections.abc import Awaitable, Callable, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from toolshape._function.calling.failures import hide_error, is_cancellation
from toolshape._plan import state
from toolshape._plan.claims import Ready
from toolshape._plan.ledger_store import Claim, LedgerStore, check_ledger
from toolshape._plan.result_json import restore_result, store_result
from toolshape._plan.results import Results
from toolshape._plan.steps import HERE, IN_LOOP, Steps, run_here
from toolshape._records.calls import Call
from toolshape._records.context import CallContext, ToolFacts
from toolshape._records.errors import CallError, CallErrorCode
from toolshape._records.identity import Identity, identity_of
from toolshape._records.result import Result
from toolshape._records.shown import escape_invisible
from toolshape._tools.tool import Tool, record_of

_POLL = 0.05  # seconds before the first retry of a claim; each further pause is twice as long
_LONGEST_POLL = 1.0


@dataclass(frozen=True, kw_only=True)
class LedgerRun:
    """A run of one plan under a ledger, which knows earlier calls and records new calls.

    ``stops`` are the exceptions by which the ledger asks the process to end, such as
    ``SystemExit``. They are raised when the run is over, because a call that has run keeps its
    result.
    """

    results: Results
    ledger: LedgerStore
    scope: str | None
    unnamed: str | None
    stops: list[BaseException] = field(default_factory=list)

    def identity(self, position: int) -> Identity:
        """Return the identity of a call of the plan."""
        return identity_of(state.call_as_written(self.results, position), self.scope, self.unnamed)

    def raise_stop(self) -> None:
        """Raise the first exception by which the ledger asked the process to end.

        Raises:
            BaseException: There is one.
        """
        if self.stops:
            raise self.stops[0]

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
        scope: The application's name for where these calls were made; by default, the scope of an
            earlier run, or of the run before the plan was paused.

    Raises:
        UsageError: ``ledger`` is not a ledger, or ``scope`` is not a valid string.
    """
    checked_ledger, controls = check_ledger(ledger, scope), state.controls_of(results)
    if scope is not None:
        controls.scope = scope
    return LedgerRun(
        results=results, ledger=checked_ledger, scope=controls.scope, unnamed=controls.unnamed
    )


async def look_up(run: LedgerRun, wanted: AbstractSet[int] | None, steps: Steps) -> None:
    """Answer the calls that the ledger knows: those that wait for approval, and
    those that had begun elsewhere.

    No person then has to approve a call that has already run. A call that had begun elsewhere is
    waited for, like a call that is claimed; if the ledger does not know how it ended, its answer
    says so. The ledger also gets the denials, so a denied call does not run if its response is
    delivered again.

    Args:
        run: The run.
        wanted: The positions of the calls that the run names; ``None`` for all. Of the calls that
            had begun elsewhere, only these are waited for.
        steps: How to wait.
    """
    await record_denials(run, steps)
    results = run.results
    for entry in state.entries_in(state.controls_of(results), "pending", "elsewhere"):
        is_begun = state.state_of(results, entry[0]) == "elsewhere"
        identity = run.identity(entry[0])
        if not identity.is_lasting or (is_begun and wanted is not None and entry[0] not in wanted):
            continue
        try:
            claim = await _look(run, identity, steps, waits=is_begun)
        except Exception:  # a database may raise anything: the call keeps waiting
            logging.getLogger("toolshape").exception(
                "the ledger could not be asked about a call of %s", escape_invisible(identity.tool)
            )
            return
        may_run_again = claim is not None and claim.state == "unknown" and state.is_harmless(entry)
        if claim is not None and (is_begun or claim.state != "running") and not may_run_again:
            state.answer_known(results, entry, _answer_from_claim(entry[1], claim))
    state.settle_elsewhere(results, wanted, _unknown_outcome)


async def _look(run: LedgerRun, identity: Identity, steps: Steps, *, waits: bool) -> Claim | None:
    """Look a call up; if ``waits``, wait while it runs elsewhere, until
    the ledger's wait time is over.
    """
    deadline, delay = monotonic() + (run.ledger.wait if waits else 0), _POLL
    while True:
        claim = await steps.blocking(lambda: run.ledger.look(identity))
        remaining = deadline - monotonic()
        if claim is None or claim.state != "running" or remaining <= 0:
            return claim
        await steps.sleep(min(delay, remaining))
        delay = min(delay * 2, _LONGEST_POLL)


def _unknown_outcome(entry: Ready) -> Result:
    call = entry[1]
    return _refusal(call, CallError("unknown_outcome", tool=call.wire_name, text="unknown"))


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
                "the ledger could not record the denial of %s", escape_invisible(denial.name)
            )
            return
        if recorded.error is None or recorded.error.code != "denied":
            logging.getLogger("toolshape").warning(
                "%s (%s) was denied, but the ledger has another outcome: %s",
                escape_invisible(denial.name),
                escape_invisible(denial.id),
                escape_invisible(recorded.text),
            )


def _may_run_again(tool: ToolFacts) -> bool:
    return not tool.effects.isdisjoint(("idempotent", "read"))


class LedgerGuard:
    """The outermost hook of a call under a ledger: runs the call, or returns the
    outcome that the ledger recorded.
    """

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
        # The ledger could not recognise the call later: an equal call may be new.
        if not identity.is_lasting:
            if not self._begin():
                return self._run.results[self._position]
            result: Result = await steps.result_of(proceed())
            return result
        try:
            claim = await self._claim(context, identity, steps)
        except (
            BaseException
        ) as error:  # a database may raise anything; a call that cannot be recorded is not run
            return self._unclaimed(context.call, error)
        if claim.state == "ours":
            return await self._run_once(context, identity, claim.owner, proceed, steps)
        return _answer_from_claim(context.call, claim)

    def _unclaimed(self, call: Call, error: BaseException) -> Result:
        """Return the result of a call that could not be claimed.

        Only if the ledger could not be reached is it certain that the call is not recorded, so it
        may run later.

        Raises:
            BaseException: The run is interrupted or cancelled.
        """
        if not isinstance(error, Exception):
            if isinstance(error, KeyboardInterrupt) or is_cancellation(error):
                raise error
            self._run.stops.append(error)
            return _refusal(call, CallError("not_run", tool=call.wire_name))
        refusal = hide_error("not_run", error, tool=call.wire_name)  # logs the error
        if isinstance(error, ConnectionError):
            return _refusal(call, refusal)
        unknown = CallError(
            "unknown_outcome", tool=call.wire_name, text="ledger", reference=refusal.reference
        )
        return _refusal(call, unknown)

    def _begin(self) -> bool:
        """Begin the call, unless the provider has taken it back meanwhile."""
        return state.begin(state.controls_of(self._run.results), self._position)

    async def _claim(self, context: CallContext, identity: Identity, steps: Steps) -> Claim:
        """Claim the call in the ledger.

        While the call runs elsewhere, retry until the ledger's wait time is over.
        """
        ledger = self._run.ledger
        again = (
            _may_run_again(context.tool)
            or self._position in state.controls_of(self._run.results).again
        )
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
        if not self._begin():
            await try_write(steps, lambda: ledger.drop(identity, owner, has_begun=False))
            return self._run.results[self._position]
        try:
            result: Result = await steps.result_of(proceed())
        except BaseException:  # interrupted or cancelled: how far the call got is unknown
            await try_write(steps, lambda: ledger.drop(identity, owner, has_begun=True))
            raise
        if isinstance(context.tool, Tool):
            output = record_of(context.tool).output
        else:
            output = None
        try:
            outcome = json.dumps(store_result(result, output))
        except Exception:  # a hook may have put anything into a result
            write = functools.partial(ledger.drop, identity, owner, has_begun=True)
        else:
            write = functools.partial(ledger.finish, identity, owner, outcome)
        try:
            await try_write(steps, write)
        except BaseException as error:
            state.answer(self._run.results, self._position, result)  # the call has run
            if isinstance(error, KeyboardInterrupt) or is_cancellation(error):
                raise
            self._run.stops.append(error)
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
    """Record and return the answer to a call that is not run; if the ledger
    knows the call, return its outcome.
    """
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
    if claim.state == "other":
        code: CallErrorCode = "duplicate_call"
    else:
        code = "unknown_outcome"
    return _refusal(call, CallError(code, tool=call.wire_name, text=claim.state))


def _refusal(call: Call, error: CallError) -> Result:
    return Result(call, error=error, text=str(error))

"""A call that may have run before in; its kept outcome, or that of running it once, out."""

import json
import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

from toolshape._calls import Call
from toolshape._context import CallContext
from toolshape._dispatch.ledger_store import Claim, LedgerStore
from toolshape._dispatch.steps import HERE, IN_LOOP, Steps, done_here
from toolshape._dispatch.stored import restored, stored
from toolshape._errors import CallError, CallErrorCode
from toolshape._execution.failures import hidden
from toolshape._identity import Identity
from toolshape._results import Result
from toolshape._tool import Tool, record_of

_POLL = 0.05  # seconds between two looks at a call that runs elsewhere, at first
_LONGEST_POLL = 1.0


class LedgerGuard:
    """The outermost hook of a call under a ledger: runs it if nobody has, else answers with what came of it."""

    __slots__ = ("_ledger", "_scope", "_unnamed")
    is_guard = True

    def __init__(self, ledger: LedgerStore, scope: str | None, unnamed: str | None = None) -> None:
        self._ledger = ledger
        self._scope = scope
        self._unnamed = unnamed

    def __call__(self, context: CallContext, proceed: Callable[[], Result]) -> Result:
        """Answer a call where no loop runs it."""
        return done_here(self._answer(context, proceed, HERE))

    async def acall(self, context: CallContext, proceed: Callable[[], Awaitable[Result]]) -> Result:
        """Answer a call in a loop; the ledger is asked in threads."""
        return await self._answer(context, proceed, IN_LOOP)

    async def _answer(self, context: CallContext, proceed: Callable[[], Any], steps: Steps) -> Result:
        identity = context.identity(self._scope, self._unnamed)
        if not identity.is_lasting:  # nobody could find it again, and an equal call may be meant anew
            made: Result = await steps.result_of(proceed())
            return made
        try:
            claim = await self._claimed(context, identity, steps)
        except Exception as error:  # whatever the database raises: what cannot be written down is not run
            return _refusal(context.call, hidden("not_run", error, tool=context.call.wire_name))
        if claim.state == "ours":
            return await self._run(context, identity, claim.owner, proceed, steps)
        return _answered(context.call, claim)

    async def _claimed(self, context: CallContext, identity: Identity, steps: Steps) -> Claim:
        """What the ledger says, once the call runs nowhere, or the time to wait for that is over."""
        again = not context.tool.effects.isdisjoint(("idempotent", "read"))
        until, pause = monotonic() + self._ledger.wait, _POLL

        def undo(claim: Claim) -> None:
            if claim.state == "ours":
                self._ledger.drop(identity, claim.owner, has_begun=False)

        while True:
            claim = await steps.blocking(lambda: self._ledger.claim(identity, again=again), undo)
            left = until - monotonic()
            if claim.state != "running" or left <= 0:
                return claim
            await steps.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_POLL)

    async def _run(
        self, context: CallContext, identity: Identity, owner: str, proceed: Callable[[], Any], steps: Steps
    ) -> Result:
        try:
            result: Result = await steps.result_of(proceed())
        except BaseException:  # we are interrupted, or cancelled: nobody knows how far it came
            await tried(steps, lambda: self._ledger.drop(identity, owner, has_begun=True))
            raise
        output = record_of(context.tool).output if isinstance(context.tool, Tool) else None
        try:
            outcome = json.dumps(stored(result, output))
        except Exception:  # a hook may have put anything into a result
            await tried(steps, lambda: self._ledger.drop(identity, owner, has_begun=True))
        else:
            await tried(steps, lambda: self._ledger.finish(identity, owner, outcome))
        return result


async def tried(steps: Steps, work: Callable[[], None]) -> None:
    """Write to the ledger what has happened; where that fails, it has happened all the same."""
    try:
        await steps.blocking(work)
    except Exception:  # whatever the database raises
        logging.getLogger("toolshape").exception("the ledger could not be told what came of a call")


async def written_down(ledger: LedgerStore, identity: Identity, answer: Result, steps: Steps) -> Result:
    """The answer of a call that is not run, once that is in the ledger; or what is there of the call already."""
    if not identity.is_lasting:
        return answer
    claim = await steps.blocking(lambda: ledger.claim(identity, again=False))
    if claim.state != "ours":
        return _answered(answer.call, claim)
    await steps.blocking(lambda: ledger.finish(identity, claim.owner, json.dumps(stored(answer, None))))
    return answer


def _answered(call: Call, claim: Claim) -> Result:
    """The answer of a call that was begun by somebody else."""
    if claim.state == "done":
        return restored(call, json.loads(claim.outcome), replayed=True)
    code: CallErrorCode = "duplicate_call" if claim.state == "other" else "unknown_outcome"
    return _refusal(call, CallError(code, tool=call.wire_name, text=claim.state))


def _refusal(call: Call, error: CallError) -> Result:
    return Result(call, error=error, text=str(error))

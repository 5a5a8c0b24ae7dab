"""``Plan``: the validated calls of one response, before they run, and the decisions on them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from toolshape._calls import Call
from toolshape._dispatch import approval, state
from toolshape._dispatch.claims import claimed
from toolshape._dispatch.ledger_store import LedgerStore
from toolshape._dispatch.run_options import OnProgress
from toolshape._dispatch.running import arun_calls, run_calls
from toolshape._errors import UsageError
from toolshape._execution.run import NOTHING_INJECTED
from toolshape._results import PendingCall, Results

if TYPE_CHECKING:
    from datetime import timedelta


class Plan:
    """The calls of one response, validated and not yet run.

    ``calls`` are all of them; ``results`` has an answer for each at any time: a call that failed to validate is
    answered already, one that has not been run reads as ``not_run``, one that began and has not finished as
    ``cancelled``.
    """

    __module__ = "toolshape"

    __slots__ = ("results",)
    results: Results

    def __init__(self, results: Results) -> None:
        """Make a plan of results. A plan holds nothing else, so two plans of the same results are equal."""
        self.results = results

    @property
    def calls(self) -> list[Call]:
        """The calls of the response, in order."""
        return self.results.calls

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for approval, in call order."""
        return self.results.pending

    def approve(self, call: Call | PendingCall | str | Iterable[Call | PendingCall | str]) -> None:
        """Approve a call, or several, with its current arguments; ``run`` runs it.

        Args:
            call: A call of ``pending`` or of ``calls``, unless it was edited since; or an id, for every call that has it.

        Raises:
            UsageError: It is not a call of this plan, or it is answered.
        """
        approval.approve(self.results, call)

    def deny(self, call: Call | PendingCall | str | Iterable[Call | PendingCall | str], why: str = "") -> None:
        """Deny a call, or several: it is answered as ``denied``, and the others are not touched.

        Args:
            call: As for ``approve``.
            why: What the model reads.

        Raises:
            UsageError: It is no call of this plan, or is answered or running.
        """
        approval.deny(self.results, call, why)

    def edit(self, call: Call | PendingCall | str, arguments: Mapping[str, Any]) -> Call:
        """Give a call other arguments, which are validated; if the tool needs approval for these, the call waits again.

        The model's own message does not change, and the model is not told: tell it in a message if it matters.

        Args:
            call: As for ``approve``.
            arguments: All of them, in canonical form.

        Returns:
            The call with these arguments, in the place of the one that was given.

        Raises:
            CallError: The tool does not take them; the call is what it was.
            UsageError: It is no call of this plan, or is answered or running; or a secret is the mask that was shown.
        """
        return approval.edit(self.results, call, arguments)

    def __repr__(self) -> str:
        return f"Plan({self.results!r})"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Plan cannot be pickled: it holds functions and validated arguments; pickle its calls, or results"
        )

    def pause(self, key: bytes | str, *, audience: str, expires: "timedelta", ledger: LedgerStore | None = None) -> str:
        """Pause the plan as a token, with which ``Registry.resume`` runs it in this or another process.

        The token is signed JSON, and not encrypted: its holder can read what the model wrote and what tools answered. The
        calls run with exactly the arguments that were validated here. A plan is paused once; its calls stay ``pending``
        here.

        Args:
            key: A secret of 16 bytes or more, the same where the plan is resumed.
            audience: Whom the token is for, as a user and a conversation; it is resumed with the same text.
            expires: How long it may be resumed.
            ledger: Where what the model wrote is kept, if a tool takes secrets: these never stand in a token.

        Raises:
            UsageError: A call's arguments do not survive JSON and validation, every call is answered, a tool takes
                secrets and there is no ledger, or the key is too short; the plan is what it was.
        """
        from toolshape._dispatch import pausing, steps  # noqa: PLC0415 - few plans are paused

        return steps.done_here(
            pausing.pause(
                self.results,
                pausing.Pause(key, audience, expires, ledger, state.controlled(self.results).scope),
                steps.HERE,
            )
        )

    async def apause(
        self, key: bytes | str, *, audience: str, expires: "timedelta", ledger: LedgerStore | None = None
    ) -> str:
        """Like ``pause``, from a running loop; the ledger is asked in a thread."""
        from toolshape._dispatch import pausing, steps  # noqa: PLC0415 - the same

        return await pausing.pause(
            self.results,
            pausing.Pause(key, audience, expires, ledger, state.controlled(self.results).scope),
            steps.IN_LOOP,
        )

    def run(
        self,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
        only: Iterable[Call | PendingCall | str] | None = None,
        limit: int | None = None,
        on_progress: OnProgress | None = None,
        ledger: LedgerStore | None = None,
        scope: str | None = None,
    ) -> Results:
        """Run the calls that have not been run, here: plain tools in order, then async ones in a loop of their own.

        A call that writes or destroys runs alone, after those before it and before those after it. Calls that wait for
        approval are not run.

        Args:
            inject: The values of injected parameters, by name.
            only: The calls to run, or their ids; the others can be run later, and read as ``not_run`` until then.
            limit: How many async calls run at once.
            on_progress: Takes each ``Progress`` that a tool reports through its ``CallContext``, in the tool's thread.
            ledger: Where it is written down which calls have run, so that none runs a second time.
            scope: Where these calls were made, for the ledger, as a conversation and a turn: the ids of calls differ
                within it. Without it, the provider's ids must differ everywhere, and a call without one is not looked
                up.

        Raises:
            UsageError: An injected value is missing, a tool or hook is async and a loop runs, or ``only`` names a call
                that is not here; nothing was run.
        """
        results = self.results
        guard = None
        if ledger is not None:
            from toolshape._dispatch import once, steps  # noqa: PLC0415 - it loads logging, and few programs have a ledger

            guard = once.ledger_run(results, ledger, scope)
            steps.done_here(once.look_up(guard, steps.HERE))
        ready = claimed(results, only, inject, limit, is_async=False)
        with state.run_of(results, ready):
            under = ready if guard is None else guard.around(ready)
            run_calls(results, getattr(results, "controls", None), under, inject, limit, on_progress)
        return results

    async def arun(
        self,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
        only: Iterable[Call | PendingCall | str] | None = None,
        limit: int | None = None,
        on_progress: OnProgress | None = None,
        ledger: LedgerStore | None = None,
        scope: str | None = None,
    ) -> Results:
        """Run the calls that have not been run, all at once: async tools in this loop, others in threads.

        A call that writes or destroys runs alone, after those before it and before those after it. Calls that wait for
        approval are not run.

        Args:
            inject: The values of injected parameters, by name.
            only: The calls to run, or their ids; the others can be run later, and read as ``not_run`` until then.
            limit: How many calls run at once, in the loop and in threads together.
            on_progress: Takes each ``Progress`` that a tool reports, in the loop's thread or the tool's.
            ledger: The record of the calls that have run; as for ``run``. It is asked in threads.
            scope: Where these calls were made, for the ledger.

        Raises:
            UsageError: An injected value is missing, a hook is not async, or ``only`` names a call that is not here;
                nothing was run.
            CancelledError: We were cancelled. ``results`` is complete all the same.
        """
        results = self.results
        guard = None
        if ledger is not None:
            from toolshape._dispatch import once, steps  # noqa: PLC0415 - the same

            guard = once.ledger_run(results, ledger, scope)
            await once.look_up(guard, steps.IN_LOOP)
        ready = claimed(results, only, inject, limit, is_async=True)
        with state.run_of(results, ready):
            under = ready if guard is None else guard.around(ready)
            await arun_calls(results, getattr(results, "controls", None), under, inject, limit, on_progress)
        return results


def plan_of(results: Results) -> Plan:
    """Return the plan of results with calls that wait for approval.

    Raises:
        UsageError: None of them does, or they were pickled.
    """
    if not hasattr(results, "controls") or not results.controls.entries:
        raise UsageError("no call in these results is waiting for approval")
    return Plan(results)

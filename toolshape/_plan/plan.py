"""The validated calls of one response: approve, deny, edit, pause and run them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from toolshape import _plan
from toolshape._function import calling
from toolshape._function.calling.call import NOTHING_INJECTED
from toolshape._plan import approval, state
from toolshape._plan.claims import claim_calls, wanted_positions
from toolshape._plan.ledger_store import LedgerStore, check_scope
from toolshape._plan.results import Results
from toolshape._plan.run_options import OnProgress
from toolshape._plan.running import Run, arun_calls, run_calls
from toolshape._records.calls import Call
from toolshape._records.errors import UsageError
from toolshape._records.result import PendingCall

if TYPE_CHECKING:
    from datetime import timedelta


class Plan:
    """The calls of one response, validated and not yet run.

    ``calls`` lists all calls. ``results`` always has a result for each call: an invalid call has
    its error, a call that has not run is ``not_run``, and a call that has started but not finished
    is ``cancelled``.
    """

    __module__ = "toolshape"

    __slots__ = ("results",)
    results: Results

    def __init__(self, results: Results) -> None:
        """Make a plan from results, which hold all state: two plans of the
        same results are interchangeable.
        """
        self.results = results

    @property
    def calls(self) -> list[Call]:
        """The calls of the response, in order."""
        return self.results.calls

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for approval, in call order."""
        return self.results.pending

    def approve(
        self,
        call: Call | PendingCall | str | Iterable[Call | PendingCall | str],
        *,
        again: bool = False,
    ) -> None:
        """Approve one or more calls with their current arguments; ``run`` then runs them.

        Args:
            call: One or more current calls from ``pending`` or ``calls``; after ``edit``, pass the
                new call. An id selects every call with this id.
            again: Whether the calls run even if they may have run before. A turn that was restored
                may hold such calls, and a ledger may know one that was interrupted. Find out first
                whether they had an effect.

        Raises:
            UsageError: The call is not in this plan, is answered or running, or its tool is not
                here or would get other arguments than were shown; or the call may have run, and
                ``again`` is false. No call was approved.
        """
        approval.approve(self.results, call, again=again)

    def deny(
        self, call: Call | PendingCall | str | Iterable[Call | PendingCall | str], why: str = ""
    ) -> None:
        """Deny one or more calls, which are then answered as ``denied``; other calls do not change.

        Args:
            call: The calls to deny, as for ``approve``.
            why: The reason, which the model reads.

        Raises:
            UsageError: The call is not in this plan, or is answered or running.
        """
        approval.deny(self.results, call, why)

    def edit(self, call: Call | PendingCall | str, arguments: Mapping[str, Any]) -> Call:
        """Give a call new arguments, which are validated; if these arguments need
        approval, the call waits again.

        The model's own message does not change, and the model does not learn of the edit. If the
        edit matters to the model, tell the model in a message.

        Args:
            call: One call, as for ``approve``.
            arguments: All arguments, in canonical form.

        Returns:
            The new call, which replaces the given call in the plan.

        Raises:
            CallError: The arguments are invalid; the call is unchanged.
            UsageError: The call is not in this plan, or is answered or running; or an argument is
                the mask of a secret.
        """
        return approval.edit(self.results, call, arguments)

    def __repr__(self) -> str:
        return f"Plan({self.results!r})"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Plan cannot be pickled: it holds functions and validated arguments; pickle its "
            "calls, or results"
        )

    def pause(
        self,
        key: bytes | str,
        *,
        audience: str,
        expires: "timedelta",
        ledger: LedgerStore | None = None,
        scope: str | None = None,
    ) -> str:
        """Pause the plan, and return a token with which ``Registry.resume`` runs the
        plan in this or another process.

        The token is signed JSON, and not encrypted: its holder can read what the model wrote and
        what tools answered. The calls run with exactly the arguments that were validated here. A
        plan can be paused only once; in this process, its calls stay ``pending``.

        Args:
            key: A secret of 16 bytes or more. Pass the same key to ``resume``.
            audience: Who may resume the plan, for example a user and a conversation. ``resume``
                needs the same string.
            expires: How long the token is valid.
            ledger: Stores the model's messages if a tool takes secrets: a token never contains
                secrets.
            scope: The scope under which ``resume`` looks up and records the calls in its ledger;
                see ``Registry.dispatch``. By default, the scope of an earlier run.

        Raises:
            UsageError: The key is too short, every call is answered, or a tool takes secrets and
                there is no ledger. Or the arguments of a call change when they are written as JSON
                and validated again. The plan is unchanged.
        """
        ledger_scope = check_scope(scope) or state.controls_of(self.results).scope
        return _plan.steps.run_here(
            _plan.pausing.pause(
                self.results,
                _plan.pausing.Pause(key, audience, expires, ledger, ledger_scope),
                _plan.steps.HERE,
            )
        )

    async def apause(
        self,
        key: bytes | str,
        *,
        audience: str,
        expires: "timedelta",
        ledger: LedgerStore | None = None,
        scope: str | None = None,
    ) -> str:
        """Like ``pause``, for a running event loop; a thread writes to the ledger."""
        ledger_scope = check_scope(scope) or state.controls_of(self.results).scope
        return await _plan.pausing.pause(
            self.results,
            _plan.pausing.Pause(key, audience, expires, ledger, ledger_scope),
            _plan.steps.IN_LOOP,
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
        """Run the calls that have not run: plain tools in this thread, in order,
        then async tools in a new loop.

        A call that writes or destroys runs alone: after all earlier calls, and before all later
        calls. Calls that wait for approval are not run.

        Args:
            only: The calls to run, or their ids. Other calls can run later; until then, their
                results are ``not_run``.
            inject: As for ``Registry.dispatch``, like all that follow.
            limit: As there.
            on_progress: As there.
            ledger: As there.
            scope: As there.

        Raises:
            UsageError: An injected value is missing, a tool or hook is async and an event loop is
                running, or ``only`` names a call that is not in this plan. No call was run.
        """
        results = self.results
        guard, wanted = None, wanted_positions(results, only)
        if ledger is not None:
            guard = _plan.once.ledger_run(results, ledger, scope)
            _plan.steps.run_here(_plan.once.look_up(guard, wanted, _plan.steps.HERE))
        elif results._controls is not None or scope is not None:
            state.run_without_ledger(results, wanted, check_scope(scope))
        ready = claim_calls(results, wanted, inject, limit, is_async=False)
        with state.open_run(results, ready):
            if guard is None:
                guarded = ready
            else:
                guarded = guard.around(ready)
            run_calls(results, Run(inject, limit, on_progress), guarded)
        if guard is not None:
            guard.raise_stop()
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
        """Run the calls that have not run, concurrently: async tools
        in this loop, others in threads.

        A call that writes or destroys runs alone: after all earlier calls, and before all later
        calls. Calls that wait for approval are not run.

        Args:
            only: The calls to run, or their ids. Other calls can run later; until then, their
                results are ``not_run``.
            inject: As for ``Registry.dispatch``, like all that follow.
            limit: As there.
            on_progress: As there.
            ledger: As there.
            scope: As there.

        Raises:
            UsageError: An injected value is missing, a hook is not async, ``only`` names a call
                that is not in this plan, or no event loop of asyncio is running. No call was run.
            CancelledError: The caller was cancelled. ``results`` still has a result for each call.
        """
        calling.aio.require_loop()
        results = self.results
        guard, wanted = None, wanted_positions(results, only)
        if ledger is not None:
            guard = _plan.once.ledger_run(results, ledger, scope)
            await _plan.once.look_up(guard, wanted, _plan.steps.IN_LOOP)
        elif results._controls is not None or scope is not None:
            state.run_without_ledger(results, wanted, check_scope(scope))
        ready = claim_calls(results, wanted, inject, limit, is_async=True)
        with state.open_run(results, ready):
            if guard is None:
                guarded = ready
            else:
                guarded = guard.around(ready)
            await arun_calls(results, Run(inject, limit, on_progress), guarded)
        if guard is not None:
            guard.raise_stop()
        return results


def plan_of(results: Results) -> Plan:
    """Return the plan for results in which a call waits for approval.

    Raises:
        UsageError: No call waits for approval, or the results were pickled.
    """
    if results._controls is None or not results._controls.entries:
        raise UsageError("no call in these results is waiting for approval")
    return Plan(results)

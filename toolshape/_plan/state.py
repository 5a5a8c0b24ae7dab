"""The states of the calls in a plan, and the table of transitions between them.

No call is claimed twice, an answer never changes, and a pending call is never dropped. Other
modules change a state only through this module. They name an event; the table says whether the
event is allowed, and which state follows. An event that the table does not allow is a bug in
toolshape, and raises ``AssertionError``.

- refused: The arguments are invalid, there is no such tool, or the call holds the structured
answer.
  The call got its result when the plan was made.
- ready: The call may run, and no run has claimed it.
- pending: The call needs approval first.
- approved: The call is approved, and may run like a ``ready`` call.
- given away: A token holds the call: only a plan that is resumed with this token runs it.
- claimed: A run has claimed the call and has not begun it. If the run is interrupted, the call may
be
  claimed again.
- asking: A run asks the ledger whether the call has run before.
- running: The tool, or a hook around it, was called.
- denied: The call was denied; answered.
- answered: The call has its result.
- unknown: The ledger knows that the call was begun, but not how it ended; the answer says so.
- cancelled: The run was interrupted while the tool ran: nobody runs the call any more, and it does
  not run again.
- elsewhere: The call had begun when the turn was stored: somebody may still run it. A ledger
answers
  such calls; without one, a person decides.

Most plans are made by ``dispatch``, run once by the thread that made them, and need no controls.
Such a plan has no ``Controls``: its calls are ready as long as ``results._waiting`` holds them, and
a run claims all of them by taking this list. When a caller first decides on a call, selects calls,
uses a ledger or observes the plan, ``controls_of`` makes the ``Controls`` from the list. From then
on, the ``Controls`` hold the state of each call, under one lock.
"""

import contextlib
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence, Set as AbstractSet
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from toolshape._plan.results import CallEntry, Controls, Results, ready_at
from toolshape._records.calls import Call
from toolshape._records.errors import UsageError
from toolshape._records.result import Result
from toolshape._records.shown import escape_invisible

State: TypeAlias = Literal[
    "refused",
    "ready",
    "pending",
    "approved",
    "given away",
    "claimed",
    "asking",
    "running",
    "denied",
    "answered",
    "unknown",
    "cancelled",
    "elsewhere",
]
Event: TypeAlias = Literal[
    "approve", "deny", "withdraw", "edit", "edit and hold", "hold", "release", "give away", "take back", "take back pending", "take back approved",
    "take back elsewhere", "claim", "ask", "begin", "return", "return approved", "answer", "lose", "break off",
]  # fmt: skip

_DECIDED: Mapping[Event, State] = {
    "approve": "approved",
    "deny": "denied",
    "withdraw": "denied",  # the provider takes the call back
    "edit": "ready",
    "edit and hold": "pending",
    "give away": "given away",
    "answer": "answered",  # with the outcome that the ledger recorded
    "lose": "unknown",
}
TRANSITIONS: Mapping[State, Mapping[Event, State]] = MappingProxyType({
    "refused": {},
    "ready": {**_DECIDED, "hold": "pending", "claim": "claimed"},
    "pending": {**_DECIDED, "release": "ready"},
    "approved": {**_DECIDED, "claim": "claimed"},
    "given away": {
        "take back": "ready",
        "take back pending": "pending",
        "take back approved": "approved",
        "take back elsewhere": "elsewhere",
    },
    "claimed": {
        "ask": "asking",
        "begin": "running",
        "withdraw": "denied",
        "return": "ready",
        "return approved": "approved",
    },
    "asking": {
        "begin": "running",
        "withdraw": "denied",
        "answer": "answered",
        "lose": "unknown",
        "return": "ready",
        "return approved": "approved",
    },
    "running": {"answer": "answered", "lose": "unknown", "break off": "cancelled"},
    "denied": {},
    "answered": {},
    "unknown": {},
    "cancelled": {},
    "elsewhere": {**_DECIDED, "return": "ready"},
})  # fmt: skip
UNDECIDED: frozenset[State] = frozenset({"ready", "pending", "approved", "elsewhere"})
"""The states in which a call can still be approved, denied or edited."""
_CLAIMABLE: tuple[State, ...] = ("ready", "approved")
_UNDER_WAY: tuple[State, ...] = ("ready", "approved", "claimed", "asking", "running")
# Held while a plan gets its controls, and while a plan without controls is claimed.
_BECOMING = threading.Lock()


def controls_of(results: Results) -> Controls:
    """Return the controls of results; make them if there are none yet."""
    controls: Controls | None = results._controls
    if controls is not None:
        return controls
    with _BECOMING:
        controls = results._controls
        if controls is None:
            controls = Controls()
            for entry in results._waiting:
                _add_entry(controls, entry, "ready")
            results._controls, results._waiting = controls, ()
    return controls


def _add_entry(controls: Controls, entry: CallEntry, state: State) -> None:
    controls.entries[entry[0]] = entry
    controls.states[entry[0]] = state
    controls.in_state.setdefault(state, set()).add(entry[0])


def state_of(results: Results, position: int) -> State:
    """Return the state of a call; without controls, a claimed call is
    ``running`` until it is answered.
    """
    controls: Controls | None = results._controls
    if controls is not None and position in controls.states:
        state: State = controls.states[position]
        return state
    if results._answers[position] is not None:
        return "answered"
    if ready_at(results._waiting, position) is not None:
        return "ready"
    return "running"


def move(controls: Controls, position: int, event: Event) -> State:
    """Apply an event to a call, and return its new state; the caller must
    hold the lock of the controls.

    Raises:
        AssertionError: The table has no such transition.
    """
    before: State = controls.states[position]
    after = TRANSITIONS[before].get(event)
    if after is None:
        raise AssertionError(f"a call that is {before} cannot take the event {event!r}")
    controls.states[position] = after
    controls.in_state[before].discard(position)
    controls.in_state.setdefault(after, set()).add(position)
    return after


def entries_in(controls: Controls, *states: State) -> list[CallEntry]:
    """Return the entries of the calls in the given states, in call order."""
    return [controls.entries[position] for position in sorted(_positions(controls, *states))]


def _positions(controls: Controls, *states: State) -> set[int]:
    return set().union(*(controls.in_state.get(state, ()) for state in states))


def denied_positions(results: Results) -> list[int]:
    """Return the positions of the calls that were denied, in call order."""
    controls = controls_of(results)
    with controls.lock:
        return sorted(_positions(controls, "denied"))


class Moment(NamedTuple):
    """The calls of a plan at one moment, each with its answer, its state, its
    entry, and as the model wrote it.
    """

    calls: Sequence[Call]
    answers: Sequence[Result | None]
    states: Sequence[State]
    entries: Mapping[int, CallEntry]
    written: Sequence[Call]


def moment(results: Results) -> Moment:
    """Return a copy of one moment, while other threads may run calls.

    A plan without controls has no lock: a call that is claimed leaves ``waiting`` before its answer
    arrives, so ``waiting`` is copied before the answers.
    """
    with _BECOMING:  # meanwhile the plan gets no controls
        controls: Controls | None = results._controls
        if controls is None:
            entries = {entry[0]: entry for entry in results._waiting}
            answers = list(results._answers)
            states: list[State] = [
                "ready" if position in entries else "running" for position in range(len(answers))
            ]
            for position, answer in enumerate(answers):
                if answer is not None:
                    states[position] = "answered"
            return Moment(results.calls, answers, states, entries, results.calls)
    with controls.lock:
        answers = list(results._answers)
        states = [
            controls.states.get(position, "running" if answer is None else "answered")
            for position, answer in enumerate(answers)
        ]
        for position in controls.unasked:  # neither a rule nor a person has said that it must wait
            if states[position] == "pending":
                states[position] = "ready"
        calls = list(results.calls)
        written = [controls.as_written.get(position, call) for position, call in enumerate(calls)]
        return Moment(calls, answers, states, dict(controls.entries), written)


def is_harmless(entry: CallEntry) -> bool:
    """Whether a call may run again without a decision: it only reads, or has the
    same effect however often it runs.
    """
    return not entry[2].effects.isdisjoint(("read", "idempotent"))


def run_without_ledger(
    results: Results, wanted: AbstractSet[int] | None, scope: str | None
) -> None:
    """Check that a plan can run without a ledger, and release what may run again:
    no write is repeated undecided.

    Args:
        results: The results of the plan.
        wanted: The positions of the calls that the run names; ``None`` for all.
        scope: The ledger scope, which is kept for a later run with a ledger.

    Raises:
        UsageError: A call may have run, and a second run may repeat its effect.
    """
    controls = controls_of(results)
    with controls.lock:
        controls.scope = scope or controls.scope
        begun = _wanted_elsewhere(controls, wanted)
        may_have_run = list(begun)
        if controls.is_stale:
            may_have_run += [
                entry
                for entry in entries_in(controls, *_CLAIMABLE)
                if wanted is None or entry[0] in wanted
            ]
        for entry in may_have_run:
            if _may_repeat_effect(controls, entry):
                raise UsageError(
                    f"{escape_invisible(entry[1].name)} ({escape_invisible(entry[1].id)}) may "
                    "have run since this turn "
                    "was stored: pass the ledger that records its calls as ledger=, resume the "
                    "token that pause() "
                    "returned, deny the call, or approve it with again=True to run it once more"
                )
        for entry in begun:
            move(controls, entry[0], "return")


def _wanted_elsewhere(controls: Controls, wanted: AbstractSet[int] | None) -> list[CallEntry]:
    return [
        entry for entry in entries_in(controls, "elsewhere") if wanted is None or entry[0] in wanted
    ]


def _may_repeat_effect(controls: Controls, entry: CallEntry) -> bool:
    return entry[0] not in controls.again and not is_harmless(entry)


def settle_elsewhere(
    results: Results, wanted: AbstractSet[int] | None, unknown: Callable[[CallEntry], Result]
) -> None:
    """Settle the calls that had begun elsewhere and that the ledger did not answer.

    A harmless call is ready again; any other is answered by ``unknown``. Calls that a run does not
    name stay.
    """
    controls = results._controls
    if controls is None:
        return
    with controls.lock:
        for entry in _wanted_elsewhere(controls, wanted):
            if is_harmless(entry):
                move(controls, entry[0], "return")
            else:
                move(controls, entry[0], "lose")
                results._answers[entry[0]] = unknown(entry)


def claimable(results: Results) -> list[CallEntry]:
    """Return the entries of the calls that may run, in call order."""
    controls: Controls | None = results._controls
    if controls is None:
        return list(results._waiting)
    with controls.lock:
        return entries_in(controls, *_CLAIMABLE)


def claimable_at(results: Results, position: int) -> CallEntry | None:
    """Return the entry of a call if it may run."""
    controls = controls_of(results)
    with controls.lock:
        if controls.states.get(position) in _CLAIMABLE:
            return controls.entries[position]
        return None


def claim(results: Results, wanted: Iterable[CallEntry]) -> list[CallEntry]:
    """Claim calls for one run, except calls that were claimed, answered or edited meanwhile."""
    controls: Controls | None = results._controls
    if controls is None:
        with _BECOMING:
            if results._controls is None:
                # A plan without controls is claimed as a whole.
                waiting_entries, results._waiting = (
                    results._waiting,
                    (),
                )
                return list(waiting_entries)
        controls = controls_of(results)
    with controls.lock:
        claimed = [
            entry
            for entry in wanted
            if controls.entries[entry[0]] is entry and controls.states[entry[0]] in _CLAIMABLE
        ]
        for entry in claimed:
            move(controls, entry[0], "claim")
        return claimed


def claim_whole(results: Results) -> Sequence[CallEntry]:
    """Claim all calls of a plan that no other thread uses; this takes no lock."""
    waiting_entries, results._waiting = results._waiting, ()
    return waiting_entries


def give_back(results: Results, entries: Iterable[CallEntry]) -> None:
    """Release calls of a plan without controls that were claimed but have not begun.

    In a plan with controls, ``open_run`` releases each call by its state.
    """
    with _BECOMING:
        controls: Controls | None = results._controls
        if controls is None:
            results._waiting = sorted([*results._waiting, *entries], key=lambda entry: entry[0])
            return
    with controls.lock:
        for entry in entries:
            if entry[0] not in controls.states:
                _add_entry(controls, entry, "ready")


@contextlib.contextmanager
def open_run(results: Results, claimed: Sequence[CallEntry]) -> Generator[None]:
    """Count a run of claimed calls as open, and settle its unanswered calls at the end.

    A call that has not begun may be claimed again; a call that has begun is cancelled. The plan
    cannot be paused while a run is open. The last run to end notifies the plan's observer.
    """
    controls: Controls | None = results._controls
    if controls is None:
        yield
        return
    with controls.lock:
        controls.runs += 1
    try:
        yield
    finally:
        with controls.lock:
            controls.runs -= 1
            for position, *_ in claimed:
                # ``None`` if it was claimed before the plan got its controls.
                state = controls.states.get(position)
                if state in {"claimed", "asking"}:
                    move(
                        controls,
                        position,
                        "return approved" if position in controls.approvals else "return",
                    )
                elif state == "running":
                    move(controls, position, "break off")
        notify_observer(results)


def notify_observer(results: Results) -> None:
    """Notify the plan's observer when the plan is over or, once before that,
    when all remaining calls wait.

    The observer receives the results, and whether it was notified about the plan before.
    """
    controls: Controls | None = results._controls
    if controls is None or controls.observer is None:
        return
    with controls.lock:
        if controls.runs or _positions(controls, *_UNDER_WAY):
            return
        observer, was_told = controls.observer, controls.was_told
        if not _positions(controls, "pending", "given away"):
            controls.observer = None
        elif was_told:
            return
        controls.was_told = True
    observer(results, was_told)


def observe(
    results: Results, observer: Callable[[Results, bool], None], *, was_told: bool = False
) -> None:
    """Set the plan's observer; see ``notify_observer`` for when it is called.

    Args:
        results: The results of the plan.
        observer: Receives the results, and whether an observer was notified about the plan before.
        was_told: Whether an observer was notified about the plan before, as for a plan that is
            resumed.
    """
    controls = controls_of(results)
    controls.observer, controls.was_told = observer, was_told


def begin(controls: Controls, position: int, *, asks: bool = False) -> bool:
    """Record that a claimed call begins: its tool or hook is called next or, if
    ``asks``, the ledger is asked.

    Returns:
        Whether the call may begin: the provider may have taken it back since it was claimed.
    """
    with controls.lock:
        state = controls.states.get(position)
        if state is None:  # the call was claimed before the plan got its controls
            return True
        if state == "denied":
            return False
        move(controls, position, "ask" if asks else "begin")
        return True


def answer(results: Results, position: int, result: Result) -> None:
    """Record the result of a call.

    If the ledger could not be asked, the call gets no result: it has not run, and may be claimed
    again. A call whose result was recorded when its run was broken off keeps it.
    """
    controls: Controls | None = results._controls
    # The plan got its controls while this call ran.
    if controls is None or position not in controls.states:
        results._answers[position] = result
        return
    code = None if result.error is None else result.error.code
    with controls.lock:
        before = controls.states[position]
        if (before == "asking" and code == "not_run") or before in ("answered", "denied"):
            return
        move(controls, position, "lose" if code == "unknown_outcome" else "answer")
        results._answers[position] = result


def record(results: Results, position: int, result: Result) -> None:
    """Record the result of a claimed call that was answered without running its tool."""
    controls: Controls | None = results._controls
    if controls is not None and position in controls.states and not begin(controls, position):
        return
    answer(results, position, result)


def hold(results: Results, entries: Iterable[CallEntry]) -> None:
    """Mark ready calls as pending, because they need approval or because
    ``run`` must ask their approval rule.
    """
    controls = controls_of(results)
    with controls.lock:
        for entry in entries:
            move(controls, entry[0], "hold")
            if entry[2].record.approves_by_inject:
                controls.unasked.add(entry[0])


def unasked_entries(results: Results) -> list[CallEntry]:
    """Return the pending calls whose approval rule has not been asked yet."""
    controls: Controls | None = results._controls
    if controls is None or not controls.unasked:
        return []
    with controls.lock:
        return [entry for entry in entries_in(controls, "pending") if entry[0] in controls.unasked]


def record_rule_decision(results: Results, entry: CallEntry, *, must_wait: bool) -> None:
    """Record the decision of a pending call's approval rule, unless the call
    was decided on in the meantime.
    """
    controls = controls_of(results)
    with controls.lock:
        if controls.entries[entry[0]] is entry and controls.states[entry[0]] == "pending":
            controls.unasked.discard(entry[0])
            if not must_wait:
                move(controls, entry[0], "release")


def approve(results: Results, entries: Sequence[CallEntry], *, again: bool) -> list[CallEntry]:
    """Approve calls.

    If any was claimed, answered or edited meanwhile, approve no call, and return the conflicts.

    ``again`` says that the calls run even if they may have run before.
    """
    controls = controls_of(results)
    with controls.lock:
        conflicts = [entry for entry in entries if not _is_undecided(controls, entry)]
        if not conflicts:
            for entry in entries:
                move(controls, entry[0], "approve")
                controls.approvals.add(entry[0])
                if again:
                    controls.again.add(entry[0])
    return conflicts


def deny(results: Results, denied: Iterable[tuple[CallEntry, Result]]) -> None:
    """Answer calls as denied, except calls that were claimed, answered or edited meanwhile."""
    controls = controls_of(results)
    with controls.lock:
        for entry, result in denied:
            if _is_undecided(controls, entry):
                move(controls, entry[0], "deny")
                results._answers[entry[0]] = result


def withdraw(results: Results, position: int, denial: Callable[[CallEntry], Result]) -> State:
    """Deny a call that the provider takes back, also one that a run has claimed and not begun.

    Returns:
        The state of the call before: ``running`` if it is too late, ``given away`` if a token holds
        the call, so that nobody here can deny it.
    """
    controls = controls_of(results)
    with controls.lock:
        before = state_of(results, position)
        if before in UNDECIDED or before in ("claimed", "asking"):
            move(controls, position, "withdraw")
            results._answers[position] = denial(controls.entries[position])
    return before


def answer_known(results: Results, entry: CallEntry, result: Result) -> None:
    """Answer a call that the ledger already knows, unless it was
    claimed, answered or edited meanwhile.
    """
    controls = controls_of(results)
    is_unknown = result.error is not None and result.error.code == "unknown_outcome"
    with controls.lock:
        if _is_undecided(controls, entry):
            move(controls, entry[0], "lose" if is_unknown else "answer")
            results._answers[entry[0]] = result


def replace(results: Results, old: CallEntry, new: CallEntry, *, must_wait: bool) -> bool:
    """Replace a call with its edited form; return ``False`` if the call was
    claimed, answered or edited meanwhile.

    The call as the model wrote it is kept, because a ledger knows the call in this form.
    """
    controls = controls_of(results)
    position = old[0]
    with controls.lock:
        if not _is_undecided(controls, old):
            return False
        move(controls, position, "edit and hold" if must_wait else "edit")
        controls.approvals.discard(position)
        if must_wait and new[2].record.approves_by_inject:
            controls.unasked.add(position)
        controls.as_written.setdefault(position, old[1])
        controls.entries[position] = new
        controls.places[id(new[1])] = [position]
        results.calls[position] = new[1]
    return True


def _is_undecided(controls: Controls, entry: CallEntry) -> bool:
    return controls.entries[entry[0]] is entry and controls.states[entry[0]] in UNDECIDED


def call_as_written(results: Results, position: int) -> Call:
    """Return a call as the model wrote it, before any edit."""
    controls: Controls | None = results._controls
    if controls is None:
        return results.calls[position]
    return controls.as_written.get(position, results.calls[position])


def is_edited(results: Results, position: int) -> bool:
    """Whether a caller replaced the arguments that the model wrote."""
    return call_as_written(results, position) is not results.calls[position]


def give_away(results: Results) -> tuple[dict[int, State], str]:
    """Mark all calls that have not begun as given away to a token.

    Returns:
        The previous states of these calls, by position, and an empty string. If no call could be
        given away, an empty dict, and the reason.
    """
    controls = controls_of(results)
    with controls.lock:
        if controls.in_state.get("given away"):
            return (
                {},
                (
                    "this plan was paused before, or its results were pickled: resume the plan "
                    "with "
                    "its token"
                ),
            )
        previous_states: dict[int, State] = {
            position: controls.states[position]
            for position in sorted(_positions(controls, *UNDECIDED))
        }
        if not previous_states:
            return {}, "every call is answered: there is nothing to pause"
        if controls.runs:
            return {}, "a call of this plan is running: pause the plan once this call is answered"
        for position in previous_states:
            move(controls, position, "give away")
    return previous_states, ""


def take_back(results: Results, before: Mapping[int, State]) -> None:
    """Undo ``give_away``, because no token was made."""
    events: dict[State, Event] = {
        "ready": "take back",
        "pending": "take back pending",
        "approved": "take back approved",
        "elsewhere": "take back elsewhere",
    }
    controls = controls_of(results)
    with controls.lock:
        for position, state in before.items():
            move(controls, position, events[state])


def restore_controls(
    results: Results,
    entries: Mapping[State, Iterable[CallEntry]],
    written: Mapping[int, Call],
    unasked: Iterable[int],
) -> Controls:
    """Set the controls of restored results.

    Args:
        results: The results.
        entries: The calls that are not answered, by their states.
        written: The edited calls as the model wrote them, by position.
        unasked: The positions of the pending calls whose rule is asked when they run.
    """
    controls = Controls()
    for state, state_entries in entries.items():
        for entry in state_entries:
            _add_entry(controls, entry, state)
            if state == "approved":
                controls.approvals.add(entry[0])
    controls.as_written.update(written)
    controls.unasked.update(unasked)
    results._controls, results._waiting = controls, ()
    return controls


def every_entry(results: Results) -> list[CallEntry]:
    """Return the entries of all validated calls, in call order, in any state."""
    controls: Controls | None = results._controls
    if controls is None:
        return list(results._waiting)
    return [controls.entries[position] for position in sorted(controls.entries)]

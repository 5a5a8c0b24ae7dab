"""A session: one connection over which a model answers many times, and all its calls."""

# A call is known by its response and its id, however often it comes, and goes one way: it is
# complete, then in a plan, then answered, then told to the model. What is told is decided when it
# is asked for, and counts as sent when the next event is read: so it may be read twice, and is
# sent once. A response asks the model to go on when it is over, all its calls have been told, and
# no other response is under way, which the provider would refuse.
#
# One lock is held while a session changes, and never while a tool runs: calls may run in other
# threads while events are fed, which is how a call can be taken back at all.

import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolshape._families.wire.bodies import parse_body
from toolshape._families.wire.nested import as_json
from toolshape._families.wire.provider import Provider
from toolshape._families.wire.sessions import SessionCall, SessionEvent, SessionForm
from toolshape._plan import approval, state
from toolshape._plan.partial_calls import PartialCall, partial_call
from toolshape._plan.plan import Plan
from toolshape._plan.planning import plan_calls
from toolshape._plan.resolve import resolve_call
from toolshape._plan.results import Results
from toolshape._records.calls import Call, WireMessage
from toolshape._records.errors import ResponseError, UsageError
from toolshape._records.result import ResponseWarning, Result
from toolshape._schema.values import copy_json, join_halves
from toolshape._tools.handler import Handlers

CallKey = tuple[str, str]
_HIDDEN = "the server reported an error, whose words are not shown: they may quote a secret"
_MOST_ENDED = 100  # responses that are over, and that are still known


@dataclass(slots=True)
class _Planned:
    """A plan that was made, with the keys of its calls whose answers were not sent."""

    results: Results
    keys: dict[int, CallKey]


@dataclass(slots=True)
class _Response:
    """A response with calls: those that were not sent an answer, and whether it is over."""

    untold: set[CallKey]
    goes_on: bool | None = None  # once it is over: whether the model goes on after its calls


class Session:
    """The calls of a session, which one connection carries: OpenAI's Realtime API, Gemini's Live.

    Feed each event that the connection receives. ``feed`` returns the calls that are complete,
    ``plan`` the plan of the calls that wait, and ``messages`` what to send. Events may come twice
    and in any order, and calls may run in other threads meanwhile. The connection is yours.

    ``text`` and ``thinking`` are what the model has said so far, ``new_text`` and ``new_thinking``
    what the last event added. ``warnings`` holds what the server reported, such as an error that
    leaves the session open.
    """

    __module__ = "toolshape"

    __slots__ = (
        "_active", "_done", "_ended", "_finished", "_form", "_handlers", "_known", "_lock",
        "_observe", "_owes_go_on", "_planned", "_provider",
        "_responses", "_state", "_text", "_thinking", "_told", "_told_of", "_told_to_go_on",
        "_waiting", "_withdrawn", "model",
        "new_text", "new_thinking", "warnings",
    )  # fmt: skip

    def __init__(
        self,
        provider: Provider,
        form: SessionForm,
        handlers: Handlers,
        observe: Callable[[Results], None] | None = None,
    ) -> None:
        self._provider = provider
        self._form = form
        self._handlers = handlers
        self._observe = observe
        self._lock = threading.RLock()
        self._state: dict[str, Any] = {}
        self._known: set[CallKey] = set()
        self._waiting: list[SessionCall] = []
        self._planned: list[_Planned] = []  # plans with an answer to send
        self._done: list[Results] = []  # the others
        self._responses: dict[str, _Response] = {}
        self._ended: dict[str, bool] = {}
        self._withdrawn: set[str] = set()
        self._told: list[tuple[_Planned, int]] = []  # read in ``messages``, and not yet sent
        self._told_of: set[str] = set()  # the responses after which the model was asked to go on
        self._active: str | None = None  # the response that is under way
        self._finished: dict[str, None] = {}  # the last that are over, in whatever order they begin
        self._owes_go_on = False  # the model was asked to go on, and did not
        self._told_to_go_on = False
        self._text: list[str] = []
        self._thinking: list[str] = []
        self.model: str | None = None
        self.new_text = ""
        self.new_thinking = ""
        self.warnings: tuple[ResponseWarning, ...] = ()

    def __reduce__(self) -> Any:
        raise TypeError("a Session cannot be pickled: pickle its results, or keep them in a ledger")

    @property
    def text(self) -> str:
        """What the model has said so far."""
        return join_halves("".join(self._text))

    @property
    def thinking(self) -> str:
        """The visible reasoning so far."""
        return join_halves("".join(self._thinking))

    def feed(self, event: Any) -> list[Call]:
        """Read one event that the connection received.

        What ``messages`` returned since the last event counts as sent.

        Args:
            event: An event of the SDK, a dict, or the JSON text or bytes of one frame.

        Returns:
            The calls that are complete now and were not before.

        Raises:
            ResponseError: It is no event of this provider. The session stays as it was.
        """
        parsed = as_json(parse_body(event))
        with self._lock:
            read = self._read(parsed, event)
            self.mark_sent()
            self.model = read.model or self.model
            self._take_text(read)
            self._take_back(read.withdrawn)
            new = [call for call in read.calls if self._is_new(call)]
            self._waiting += new
            for call in new:
                begun = _Response(set(), self._ended.pop(call.response, None))
                self._responses.setdefault(call.response, begun).untold.add(call.key)
            if read.began is not None and read.began not in self._finished:
                self._active = read.began
            self._owes_go_on |= read.refuses_go_on
            if read.ended is not None:
                self._end(read.ended, read.goes_on)
            return [self._resolve(call, number) for number, call in enumerate(new)]

    def _read(self, parsed: Any, event: Any) -> SessionEvent:
        """Read an event.

        Raises:
            ResponseError: It is no event of this provider.
        """
        read = None
        if isinstance(parsed, dict):
            try:
                read = self._form.read(self._state, parsed)
            except Exception as error:  # a broken server may send anything
                words = f"cannot read an event of {self._provider.name} ({type(error).__name__})"
                raise ResponseError(words, body=event) from error
        if read is None:
            raise ResponseError(f"this is no event of {self._provider.name}", body=event)
        return read

    def _end(self, response_id: str, goes_on: bool) -> None:
        """Keep that a response is over; its calls may be known already, or come later."""
        self._finished[response_id] = None
        if len(self._finished) > _MOST_ENDED:
            del self._finished[next(iter(self._finished))]
        if self._active == response_id:
            self._active = None
        response = self._responses.get(response_id)
        if response is None:
            self._ended[response_id] = goes_on
            if len(self._ended) > _MOST_ENDED:
                del self._ended[next(iter(self._ended))]
        elif response.goes_on is None:
            response.goes_on = goes_on

    def _take_text(self, read: SessionEvent) -> None:
        self.new_text, self.new_thinking = read.text, read.thinking
        if read.text:
            self._text.append(read.text)
        if read.thinking:
            self._thinking.append(read.thinking)
        if read.warning:
            words = _HIDDEN if self._handlers.may_hold_secrets else read.warning
            self.warnings += (ResponseWarning("provider_error", "", words),)

    def _is_new(self, call: SessionCall) -> bool:
        if call.key in self._known or call.wire[0] in self._withdrawn:
            return False
        self._known.add(call.key)
        return True

    def _take_back(self, ids: Sequence[str]) -> None:
        """Forget the calls that the provider takes back, and deny those that have not run."""
        if not ids:
            return
        self._withdrawn.update(ids)
        self._waiting = [call for call in self._waiting if call.wire[0] not in self._withdrawn]
        for name, response in [*self._responses.items()]:
            response.untold = {key for key in response.untold if key[1] not in self._withdrawn}
            if not response.untold:
                del self._responses[name]
        for planned in self._planned:
            for position, key in [*planned.keys.items()]:
                if key[1] in ids:
                    del planned.keys[position]
                    self._withdraw(planned.results, position)
        self._put_away()

    def _withdraw(self, results: Results, position: int) -> None:
        before = approval.withdraw(results, position, "the provider took this call back")
        if before == "given away":
            call = results.calls[position]
            words = (
                f"the provider took back {call.name} ({call.id}), which waits in a paused plan: "
                "deny it when you resume the plan"
            )
            self.warnings += (ResponseWarning("withdrawn", "", words),)

    def _put_away(self) -> None:
        """Keep the results of plans of which everything was sent, and look at them no more."""
        done = [planned for planned in self._planned if not planned.keys]
        if done:
            self._done += [planned.results for planned in done]
            self._planned = [planned for planned in self._planned if planned.keys]

    def plan(self) -> Plan:
        """Return the plan of the calls that are complete and in no earlier plan, validated and not
        run.

        If there are none, this is a plan with a call that may run now, for example one that was
        approved; then the last with a call that is not answered, such as one that waits for
        approval. Without such a plan, it is a plan without calls.
        """
        with self._lock:
            if not self._waiting and (open_results := self._open_results()) is not None:
                return Plan(open_results)
            taken, self._waiting = self._waiting, []
            cut = frozenset(number for number, call in enumerate(taken) if call.is_cut)
            assistant = [call.wire[3] for call in taken]
            reading = (assistant, [call.wire for call in taken], None, cut, True)
            results = plan_calls(self._provider, reading, self._handlers)
            if taken:
                state.controls_of(results)  # they say whether a call still runs, or was broken off
                keys = {position: call.key for position, call in enumerate(taken)}
                self._planned.append(_Planned(results, keys))
                if self._observe is not None:
                    self._observe(results)
            return Plan(results)

    def _open_results(self) -> Results | None:
        """Return the results of a plan that can go on, or of the last that waits."""
        for planned in self._planned:
            if state.claimable(planned.results):
                return planned.results
        for planned in reversed(self._planned):
            if _has_open_call(planned.results):
                return planned.results
        return None

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans with calls that are not answered yet, in order."""
        with self._lock:
            results = [planned.results for planned in self._planned]
        return tuple(Plan(each) for each in results if _has_open_call(each))

    def take(self, results: Results) -> None:
        """Take the results of a plan of this session that was paused, and resumed elsewhere.

        Their answers are then in ``messages``, as those of the plan would be. If the provider has
        taken all these calls back meanwhile, nothing is sent.

        Raises:
            UsageError: They are no results of a plan of this session that was paused.
        """
        ids = [call.id for call in results.calls]
        with self._lock:
            for planned in self._planned:
                if [call.id for call in planned.results.calls] == ids:
                    planned.results = results
                    return
            for place, done in enumerate(self._done):
                if [call.id for call in done.calls] == ids and _has_open_call(done):
                    self._done[place] = results
                    return
        raise UsageError("these results are of no plan of this session that waits for an answer")

    @property
    def results(self) -> list[Result]:
        """The results of all calls in plans; those whose answers were sent come first."""
        with self._lock:
            plans = [*self._done, *(planned.results for planned in self._planned)]
        return [result for results in plans for result in results]

    @property
    def messages(self) -> list[WireMessage]:
        """What to send now: the results that the model was not told, and what makes it go on.

        Reading it twice changes nothing. What was read counts as sent when the next event is fed,
        or at ``mark_sent``, which a program calls that sends in several tasks. A call that was
        broken off is told as cancelled. One that the provider took back is not answered.
        """
        with self._lock:
            told: list[tuple[_Planned, int]] = []
            for planned in self._planned:
                told += [(planned, at) for at in planned.keys if _is_settled(planned.results, at)]
            results = [planned.results[at] for planned, at in told]
            messages = self._provider.codec.write_results(results) if results else []
            self._told = told
            go_on = self._form.go_on
            self._told_to_go_on = go_on is not None and self._must_go_on()
            if go_on is not None and self._told_to_go_on:
                messages.append(copy_json(go_on))
            return messages

    def mark_sent(self) -> None:
        """Count what ``messages`` has returned as sent."""
        with self._lock:
            for planned, position in self._told:
                key = planned.keys.pop(position, None)
                if key is not None and key[0] in self._responses:
                    self._responses[key[0]].untold.discard(key)
            if self._told_to_go_on:
                self._owes_go_on = False
            for name in self._told_of | self._over():
                self._responses.pop(name, None)
            self._told, self._told_of, self._told_to_go_on = [], set(), False
            self._put_away()

    def _over(self) -> set[str]:
        """Return the responses after which nothing has to be said."""
        by_itself = self._form.go_on is None
        return {
            name
            for name, response in self._responses.items()
            if not response.untold and (response.goes_on is False or by_itself)
        }

    def _must_go_on(self) -> bool:
        """Whether a response is over, all its calls are told, and the model was not asked yet.

        It is not asked while it is at another response: the provider refuses that.
        """
        self._told_of = set()
        if self._active is not None:
            return False
        told = {planned.keys[position] for planned, position in self._told}
        self._told_of = {
            name
            for name, response in self._responses.items()
            if response.goes_on and response.untold <= told
        }
        return bool(self._told_of) or self._owes_go_on

    def partial(self) -> tuple[PartialCall, ...]:
        """Return the calls that are still arriving, as ``Collector.partial`` does."""
        answer = self._handlers.answer
        read_partial = partial_call if answer is None else answer.partial_call
        with self._lock:
            arriving = [*self._form.incomplete(self._state)]
        return tuple(
            read_partial(self._resolve(call, number))._replace(id=call.wire[0] or None, key=number)
            for number, call in enumerate(arriving)
        )

    def close(self) -> list[Call]:
        """Record that the connection has ended; a call that had not arrived whole never runs."""
        self.new_text = self.new_thinking = ""
        return []

    def over(self, events: Iterable[Any]) -> Iterator[Call]:
        """Feed all events, and yield each call when it is complete."""
        for event in events:
            yield from self.feed(event)
        yield from self.close()

    async def aover(self, events: AsyncIterable[Any]) -> AsyncIterator[Call]:
        """Like ``over``, for asynchronous events."""
        async for event in events:
            for call in self.feed(event):
                yield call
        self.close()

    def _resolve(self, call: SessionCall, number: int) -> Call:
        return resolve_call(self._provider.name, self._handlers, number, call.wire)


def _has_open_call(results: Results) -> bool:
    return any(not _is_settled(results, position) for position in range(len(results)))


def _is_settled(results: Results, position: int) -> bool:
    """Whether a call is answered, or was broken off and does not run any more."""
    if results._answers[position] is not None:
        return True
    controls = results._controls
    return (
        controls is not None and not controls.runs and controls.states.get(position) == "cancelled"
    )

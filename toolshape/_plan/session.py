"""A session: one connection over which a model answers many times, with the calls of all its
responses.
"""

# A call is known by its response and its id, however often it comes, and goes one way: it is
# complete, then in a plan, then answered, then told to the model. What is told is decided when it
# is asked for, and counts as sent when the next event is read: so it may be read twice, and is
# sent once. A response asks the model to go on when it is over and all its calls have been told.

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from toolshape._families.wire.bodies import parse_body, to_plain_json
from toolshape._families.wire.provider import NOTHING_CUT, Provider
from toolshape._families.wire.sessions import SessionCall, SessionEvent, SessionForm
from toolshape._plan import approval
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

Key = tuple[str, str]


class _Planned(NamedTuple):
    """A plan that was made, with the key of each of its calls."""

    results: Results
    keys: tuple[Key, ...]


class Session:
    """The calls of a session, which one connection carries: OpenAI's Realtime API, Gemini's Live.

    Feed each event that the connection receives. ``feed`` returns the calls that are complete,
    ``plan`` the plan of the calls that wait, and ``messages`` what to send. Events may come twice
    and in any order. The connection is yours.

    ``text`` and ``thinking`` are what the model has said so far, ``new_text`` and ``new_thinking``
    what the last event added. ``warnings`` holds what the server reported, such as an error that
    leaves the session open.
    """

    __module__ = "toolshape"

    __slots__ = (
        "_asked", "_complete", "_ended", "_form", "_handlers", "_observe", "_planned", "_provider", "_sent", "_state", "_text",
        "_thinking", "_told", "_told_of", "_waiting", "_withdrawn", "model", "new_text", "new_thinking", "warnings",
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
        self._state: dict[str, Any] = {}
        self._complete: dict[Key, SessionCall] = {}
        self._waiting: list[SessionCall] = []
        self._planned: list[_Planned] = []
        self._withdrawn: set[str] = set()
        self._ended: dict[str, bool] = {}  # whether the model goes on after this response
        self._sent: set[Key] = set()
        self._asked: set[str] = set()  # the responses after which the model was asked to go on
        self._told: set[Key] = set()  # read in ``messages``, and sent once the next event comes
        self._told_of: set[str] = set()
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
        parsed = to_plain_json(parse_body(event))
        read = None
        if isinstance(parsed, dict):
            try:
                read = self._form.read(self._state, parsed)
            except Exception as error:  # a broken server may send anything
                words = f"cannot read an event of {self._provider.name} ({type(error).__name__})"
                raise ResponseError(words, body=event) from error
        if read is None:
            raise ResponseError(f"this is no event of {self._provider.name}", body=event)
        self.mark_sent()
        self._take_text(read)
        self._take_back(read.withdrawn)
        if read.ended is not None:
            self._ended.setdefault(read.ended, read.goes_on)
        new = [call for call in read.calls if self._is_new(call)]
        self._waiting += new
        return [self._resolve(call, number) for number, call in enumerate(new)]

    def _take_text(self, read: SessionEvent) -> None:
        self.new_text, self.new_thinking = read.text, read.thinking
        if read.text:
            self._text.append(read.text)
        if read.thinking:
            self._thinking.append(read.thinking)
        if read.warning:
            self.warnings += (ResponseWarning("provider_error", "", read.warning),)

    def _is_new(self, call: SessionCall) -> bool:
        if call.key in self._complete or call.wire[0] in self._withdrawn:
            return False
        self._complete[call.key] = call
        return True

    def _take_back(self, ids: Sequence[str]) -> None:
        """Forget the calls that the provider takes back, and deny those that have not run."""
        if not ids:
            return
        self._withdrawn.update(ids)
        self._waiting = [call for call in self._waiting if call.wire[0] not in self._withdrawn]
        for planned in self._planned:
            for call, (_, call_id) in zip(planned.results.calls, planned.keys, strict=True):
                if call_id in ids:
                    try:
                        approval.deny(planned.results, call, "the provider took this call back")
                    except UsageError:  # it runs, or has run
                        continue

    def plan(self) -> Plan:
        """Return the plan of the calls that are complete and in no earlier plan, validated and not
        run.

        If there are none, this is the last plan with a call that is not answered, for example one
        that waits for approval. Without such a plan, it is a plan without calls.
        """
        if not self._waiting:
            unanswered = [each for each in self._planned if _has_open_call(each.results)]
            if unanswered:
                return Plan(unanswered[-1].results)
        taken, self._waiting = self._waiting, []
        wires = [call.wire for call in taken]
        assistant = [call.wire[3] for call in taken]
        reading = (assistant, wires, None, NOTHING_CUT, True)
        results = plan_calls(self._provider, reading, self._handlers)
        if taken:
            self._planned.append(_Planned(results, tuple(call.key for call in taken)))
            if self._observe is not None:
                self._observe(results)
        return Plan(results)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans with calls that are not answered yet, in order."""
        return tuple(Plan(each.results) for each in self._planned if _has_open_call(each.results))

    @property
    def results(self) -> list[Result]:
        """The results of all calls in plans, in the order of the plans."""
        return [result for planned in self._planned for result in planned.results]

    @property
    def messages(self) -> list[WireMessage]:
        """What to send now: the results that the model was not told, and what makes it go on.

        Reading it twice changes nothing. What was read counts as sent when the next event is fed,
        or at ``mark_sent``, which a program calls that sends in several tasks. A call that the
        provider took back is not answered.
        """
        results: list[Result] = []
        for planned in self._planned:
            for position, key in enumerate(planned.keys):
                answer = planned.results._answers[position]
                if answer is None or key in self._sent or key[1] in self._withdrawn:
                    continue
                self._told.add(key)
                results.append(answer)
        messages = self._provider.codec.write_results(results) if results else []
        go_on = self._form.go_on
        if go_on is not None and self._must_go_on():
            messages.append(copy_json(go_on))
        return messages

    def mark_sent(self) -> None:
        """Count what ``messages`` has returned as sent."""
        self._sent |= self._told
        self._asked |= self._told_of
        self._told, self._told_of = set(), set()

    def _must_go_on(self) -> bool:
        """Whether a response is over, all its calls are told, and the model was not asked yet."""
        known = self._sent | self._told
        calls_of: dict[str, list[Key]] = {}
        for key in self._complete:
            if key[1] not in self._withdrawn:
                calls_of.setdefault(key[0], []).append(key)
        ready = {
            response
            for response, goes_on in self._ended.items()
            if goes_on and response in calls_of and known.issuperset(calls_of[response])
        }
        self._told_of |= ready - self._asked
        return bool(ready - self._asked)

    def partial(self) -> tuple[PartialCall, ...]:
        """Return the calls that are still arriving, as ``Collector.partial`` does."""
        answer = self._handlers.answer
        read_partial = partial_call if answer is None else answer.partial_call
        arriving = self._form.incomplete(self._state)
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
    return any(answer is None for answer in results._answers)

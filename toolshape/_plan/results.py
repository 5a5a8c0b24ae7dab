"""Holds the results of a response's calls, the messages that answer them, and the answer."""

import html
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar, cast, overload

from toolshape._families.receive import ending_of
from toolshape._families.wire.bodies import parse_body
from toolshape._families.wire.content import visible_text
from toolshape._families.wire.ending import Ending, without_calls
from toolshape._families.wire.provider import Provider
from toolshape._plan.plan_state import AnswerState, StoredAnswerTarget
from toolshape._plan.resolve import resolve_call
from toolshape._records.calls import (
    Call,
    Coercion,
    Finish,
    JsonObject,
    Loss,
    WireCall,
    WireMessage,
)
from toolshape._records.errors import (
    AnswerError,
    CallError,
    CallErrorCode,
    Problem,
    ResponseError,
    UsageError,
)
from toolshape._records.identity import OutputRef
from toolshape._records.parts import Text
from toolshape._records.printing import Line, lines_as_html, lines_as_rich, lines_as_text
from toolshape._records.result import (
    PendingCall,
    ResponseWarning,
    Result,
    Usage,
    WaitingItem,
    make_sendable,
)
from toolshape._records.shown import escape_invisible, shorten, shown
from toolshape._schema.secrets import MASKED
from toolshape._tools.handler import Handlers
from toolshape.messages import Message, TextPart

if TYPE_CHECKING:
    from toolshape._families.wire.provider import Read

T = TypeVar("T", covariant=True)  # noqa: PLC0105 - users see this name in their editor
_MOST_SHOWN = 20
_ANSWERED = frozenset({"stop", "tool_calls", "other", None})
_EMPTY_ANSWER = (
    "the response holds neither text nor a call: ask the model again, or for more tokens"
)
_NO_END = ResponseWarning(
    "no_end", "", "no end of the stream has arrived: its last text may be cut off"
)
_CUT_AT_LENGTH = (
    "the response ended at its length limit without a call: ask for more tokens, or ask the "
    "model to go on"
)


class Answer(Generic[T]):
    """The answer in a response: its ``value``, or the ``error`` that
    tells the model what to correct.

    ``coercions`` are the changes that made the answer valid. ``text`` is the answer as the model
    wrote it; ``raw`` is the response that was passed in. ``finish`` says why the response ended, in
    words that are the same for all providers; ``finish_raw`` is the provider's own word.
    ``assistant`` holds the assistant's messages, unchanged. ``results`` holds the results of the
    response's calls, if the tools were bound with ``output=``.
    """

    __module__ = "toolshape"

    __slots__ = (
        "_is_secret", "_reading", "_tool", "assistant", "coercions", "error", "finish",
        "finish_raw", "provider", "raw", "results", "text", "value",
    )  # fmt: skip

    def __init__(
        self,
        provider: Provider,
        reading: "Read",
        raw: Any,
        tool: str | None,
        results: "Results | None" = None,
        *,
        is_secret: bool = False,
    ) -> None:
        finish_raw = reading[2]
        self._is_secret = is_secret
        self._reading = reading
        self._tool = tool
        self.value: T | None = None
        self.error: AnswerError | None = None
        self.coercions: tuple[Coercion, ...] = ()
        self.text: Any = ""
        self.raw = raw
        self.finish_raw = finish_raw
        self.finish: Finish | None = (
            None if finish_raw is None else provider.response.finishes.get(str(finish_raw), "other")
        )
        self.provider = provider
        self.assistant: Sequence[WireMessage] = reading[0]
        self.results = results

    def __repr__(self) -> str:
        if self.error is not None:
            return f"Answer({self.error.code})"
        return f"Answer({MASKED if self._is_secret else shorten(self.value)})"

    @property
    def calls(self) -> list[WireCall]:
        """The calls of the response, unchanged."""
        return wire_calls(self._reading)

    @property
    def call(self) -> WireCall | None:
        """The call whose arguments are the answer; ``None`` if no call holds the answer."""
        if self._tool is None:
            return None
        return next((call for call in self.calls if call.wire_name == self._tool), None)

    @property
    def ok(self) -> bool:
        """Whether the response holds a valid answer."""
        return self.error is None

    def unwrap(self) -> T:
        """Return the value, or raise the error.

        Raises:
            AnswerError: The response holds no valid answer.
        """
        if self.error is not None:
            raise self.error
        return cast("T", self.value)

    @property
    def turn(self) -> list[Any]:
        """The messages to append to the conversation: the assistant's message,
        unchanged, then the error for the model.

        If the structured answer came as a tool call, the messages include a result for this call.
        Every other call gets its own result if the tools were bound with ``output=``; otherwise,
        its result says that it was not run.
        """
        if self.results is not None:
            return self.results.turn
        messages: list[Any] = [*make_sendable(self.assistant)]
        if self.calls:
            messages += self.provider.codec.write_results(self._results())
        return messages + self.feedback

    @property
    def feedback(self) -> list[Any]:
        """A list with the user message that says what to correct.

        The list is empty if the answer is valid, or if the answer came as a call: the call's result
        then says what to correct.
        """
        if self.error is None or self.call is not None or self.provider.histories is None:
            return []
        return self.provider.histories.write(
            Message(role="user", parts=(TextPart(text=str(self.error)),))
        )

    def _results(self) -> list[Result]:
        results: list[Result] = []
        calls = self.calls
        names = [call.wire_name for call in calls]
        # Only the first call of this tool is the answer.
        answer_position = names.index(self._tool) if self._tool in names else None
        for position, wire in enumerate(calls):
            call = resolve_call(self.provider.name, _NO_HANDLERS, position, wire)
            if position != answer_position:
                error = CallError("not_run", tool=call.wire_name)
                results.append(Result(call, error=error, text=str(error)))
            elif self.error is not None:
                error = CallError("tool_error", tool=call.wire_name, text=str(self.error))
                results.append(Result(call, error=error, text=str(error)))
            else:
                results.append(Result(call, value=_RECEIVED, text=_RECEIVED, is_text=True))
        return results


_NO_HANDLERS = Handlers({})
_RECEIVED = "received"
"""The result of a call whose arguments are a valid answer; it exists because
providers reject calls without results.
"""


def wire_calls(reading: "Read") -> list[WireCall]:
    """Return the calls of a response as ``WireCall`` records."""
    return [call if type(call) is WireCall else WireCall(*call) for call in reading[1]]


class Streamed(NamedTuple):
    """The response that a stream has made so far; it may have ended before the provider said so."""

    body: JsonObject


class Kept(NamedTuple):
    """What is kept of a response where its body is not: in pickled results, and of a restored
    turn.
    """

    usage: Usage | None
    ending: Ending


class StoredAnswer(NamedTuple):
    """The answer of a restored turn, until somebody asks for it; ``find``
    returns the target of its output.
    """

    state: AnswerState
    find: Callable[[OutputRef], Any]


CallEntry: TypeAlias = tuple[Any, ...]
"""A validated call: its position, the call, its handler, its arguments, and
their coercions; see ``Ready``.
"""


class Controls:
    """The calls of one plan and their states; only ``_plan/state.py`` changes a state.

    ``entries`` holds the validated calls, and ``states`` their states, both by position;
    ``in_state`` maps each state to the positions of its calls. ``approvals`` holds the positions of
    approved calls. ``unasked`` holds the positions of pending calls whose approval rule needs the
    injected values: a run has these values, and evaluates the rule. ``as_written`` holds the edited
    calls as the model wrote them.

    ``again`` holds the positions of the calls that a person decided to run although they may have
    run before. ``is_stale`` says that the turn was in a store that is not signed, so its calls may
    have run since.

    ``runs`` counts the current runs. ``observer`` is called when the plan is over, and once before
    that if all remaining calls wait; ``was_told`` records whether an observer was called. ``scope``
    is the ledger scope of an earlier run, if any. ``unnamed`` is the scope for calls to which the
    provider gave no id. ``places`` maps the id of a call, and the ``id()`` of its object, to
    positions; it is filled when a caller first names a call.
    """

    __slots__ = (
        "again",
        "approvals",
        "as_written",
        "entries",
        "in_state",
        "is_stale",
        "lock",
        "observer",
        "places",
        "runs",
        "scope",
        "states",
        "unasked",
        "unnamed",
        "was_told",
    )

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entries: dict[int, CallEntry] = {}
        self.states: dict[int, Any] = {}
        self.in_state: dict[Any, set[int]] = {}
        self.approvals: set[int] = set()
        self.as_written: dict[int, Call] = {}
        self.unasked: set[int] = set()
        self.again: set[int] = set()
        self.is_stale = False
        self.observer: Callable[[Results, bool], None] | None = None
        self.was_told = False
        self.runs = 0
        self.scope: str | None = None
        self.unnamed: str | None = None
        self.places: dict[int | str, list[int]] = {}

    @property
    def pending(self) -> list[int]:
        """The positions, in call order, of the calls that wait for
        approval here, or that a token holds.
        """
        return sorted({*self.in_state.get("pending", ()), *self.in_state.get("given away", ())})

    def __getstate__(self) -> dict[int, str]:
        # Entries hold functions, so they are not pickled. Another process needs only two facts
        # about each call: whether the call waits for approval, and whether it has begun.
        return {
            position: _PICKLED[state]
            for position, state in self.states.items()
            if state in _PICKLED
        }

    def __setstate__(self, states: dict[int, str]) -> None:
        Controls.__init__(self)
        self.states.update(states)
        for position, state in states.items():
            self.in_state.setdefault(state, set()).add(position)


_PICKLED = {
    "pending": "given away",
    "given away": "given away",
    "ready": "left",
    "approved": "left",
    "claimed": "left",
    "left": "left",
}
_CODE_OF_STATE: Mapping[str, CallErrorCode] = {
    **dict.fromkeys(("pending", "given away"), "pending"),
    **dict.fromkeys(("ready", "approved", "claimed", "asking", "left"), "not_run"),
    "elsewhere": "unknown_outcome",
}
"""The error of a call that has no result, by its state; a call in any other state was cancelled."""


def _unchecked(call: Call) -> Iterator[ResponseWarning]:
    """Yield a warning for each text of a call that was not matched against its pattern."""
    if call.reader is None:
        unchecked = []
    else:
        unchecked = call.reader.unchecked(call.arguments_raw)
    for path, pattern in unchecked:
        message = (
            f"{call.name}: {path or 'the arguments'}: too long to be matched against "
            f"{pattern[:80]!r}"
        )
        yield ResponseWarning("pattern_not_checked", "", message)


class Results(Sequence[Result]):
    """The results of every call in one response, in call order; falsy
    if the response called no tool.

    At any time, each call has a result. Before a call has run, its result is an error with the code
    ``not_run``, or ``pending`` if the call waits for approval. If a call began but did not finish,
    the code is ``cancelled``. ``finish`` says why the response ended, in words that are the same
    for all providers; ``finish_raw`` is the provider's own word.

    ``calls`` holds the calls. Pickled results keep the answers that existed when they were pickled.
    """

    __module__ = "toolshape"

    # ``plan_calls`` sets the attributes directly; a constructor cost 2.9 % of a scalar dispatch.
    # ``_answers`` has ``None`` for a call that is not answered yet. ``_waiting`` holds the calls
    # that may run, as long as there are no ``_controls``. The ``_controls`` exist once calls are
    # approved, denied, edited, named, checked by a ledger, or observed. ``_is_plain`` tells whether
    # all calls can run without a prior check. ``_answer`` and ``_answered_by``, the target that
    # read it, are set only if the response holds an answer. ``_unknown_is_secret`` tells whether a
    # call of an unknown tool is there, and may hold a secret. ``_response`` is the response as it
    # came, ``Streamed`` or ``Kept``; see ``keep_response``.
    __slots__ = (
        "__weakref__",
        "_answer",
        "_answered_by",
        "_answers",
        "_assistant",
        "_controls",
        "_is_plain",
        "_response",
        "_unknown_is_secret",
        "_waiting",
        "calls",
        "finish",
        "finish_raw",
        "provider",
    )
    _answer: Answer[Any] | StoredAnswer
    _answered_by: Any
    _unknown_is_secret: bool
    calls: list[Call]
    _answers: list[Result | None]
    _waiting: Sequence[CallEntry]
    _controls: Controls | None
    _is_plain: bool
    _assistant: Sequence[WireMessage]
    provider: Provider
    finish: Finish | None
    finish_raw: str | None

    def __len__(self) -> int:
        return len(self._answers)

    def __iter__(self) -> Iterator[Result]:
        return (
            answer or self._placeholder_result(position)
            for position, answer in enumerate(self._answers)
        )

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        if isinstance(index, slice):
            return list(self)[index]
        return self._answers[index] or self._placeholder_result(range(len(self._answers))[index])

    def _placeholder_result(self, position: int) -> Result:
        call = self.calls[position]
        code: CallErrorCode = "cancelled"
        controls = self._controls
        if controls is not None and position in controls.states:
            state, entry = controls.states[position], controls.entries.get(position)
            code = _CODE_OF_STATE.get(state, "cancelled")
        elif (entry := ready_at(self._waiting, position)) is not None:
            code = "not_run"
        text = "unknown" if code == "unknown_outcome" else ""
        error = CallError(code, tool=call.wire_name, text=text)
        coercions = ()
        if entry is not None and code not in ("cancelled", "unknown_outcome"):
            coercions = next(iter(entry[4:]), ())  # a pickled entry has only its position
        return Result(call, error=error, coercions=coercions, text=str(error))

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for approval, in call order; see ``Plan.approve``."""
        if self._controls is None:
            return ()
        pending = []
        for position in self._controls.pending:
            call, entry = self.calls[position], self._controls.entries.get(position)
            if entry is None:  # pickled
                if call.reader is None:
                    arguments = None
                else:
                    arguments = call.reader.received(call.arguments_raw)
                pending.append(PendingCall(call, arguments or {}))
            else:
                pending.append(PendingCall(call, entry[2].shown(entry[3]), entry[4]))
        return tuple(pending)

    def _require_no_pending(self) -> None:
        """Check that no call waits for approval.

        Raises:
            UsageError: A call waits for approval.
        """
        pending_positions = self._controls.pending if self._controls is not None else ()
        if pending_positions:
            names = ", ".join(
                f"{call.name} ({call.id})"
                for call in map(self.calls.__getitem__, pending_positions)
            )
            raise UsageError(
                f"these calls still wait for approval: {escape_invisible(names)}; the results "
                "cannot be sent until "
                "each call is answered: get the plan with bound.plan(results), and either "
                "approve or deny the calls "
                "and run the plan, or pause the plan"
            )

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        # Waiting entries hold functions; their positions are enough to tell which calls were not
        # run.
        slots = {
            name: getattr(self, name)
            for name in self.__slots__
            if name != "__weakref__" and hasattr(self, name)
        }
        slots["_response"] = kept_of_results(self)  # a client's object may hold connections
        if "_answer" in slots:  # the target holds functions
            slots["_answer"] = self.output
            slots["_answered_by"] = StoredAnswerTarget(self._answered_by.stored(slots["_answer"]))
        return None, {**slots, "_waiting": [entry[:1] for entry in self._waiting]}

    def __repr__(self) -> str:
        shown = [repr(result) for result in self[:_MOST_SHOWN]]
        if len(self) > _MOST_SHOWN:
            more = [f"and {len(self) - _MOST_SHOWN} more"]
        else:
            more = []
        return f"Results([{', '.join([*shown, *more])}])"

    def __str__(self) -> str:
        """Return the first 20 calls, each with its coercions and its answer,
        and the number of further calls.
        """
        return lines_as_text(lines_of(self)) or f"no calls ({self.finish})"

    def _repr_html_(self) -> str:
        if len(self):
            return lines_as_html(lines_of(self))
        return html.escape(str(self))

    def __rich__(self) -> Any:
        """Return the calls for rich, as ``str`` returns them."""
        if len(self):
            return lines_as_rich(lines_of(self))
        return str(self)

    @property
    def goes_on(self) -> bool:
        """Whether to ask the provider again now.

        It is true if the response called tools, no call waits for a decision, and nothing waits for
        the app. It is also true if the model's turn is not over; ``finish`` is then ``"continue"``.
        """
        if not self._answers:
            return self.finish == "continue"
        if self._controls is not None and self._controls.pending:
            return False
        return not self.waits_for_app

    @property
    def waits_for_app(self) -> tuple[WaitingItem, ...]:
        """The items of the response that the app must answer, and that are no calls of its tools.

        They are approvals of a server's own tools, and calls of computers and shells. Answer them
        with the provider's messages, after ``turn``, and ask again.
        """
        return ending_of_results(self).waiting

    @property
    def ok(self) -> bool:
        """Whether every call returned a value."""
        return all(result.error is None for result in self)

    @property
    def messages(self) -> list[Any]:
        """The provider's messages that answer the calls, without the assistant's
        message; empty if there are no calls.

        Raises:
            UsageError: A call waits for approval.
        """
        answers: Any = self._answers
        if not answers:
            return []
        if None in answers:
            self._require_no_pending()
            answers = list(self)
        return self.provider.codec.write_results(answers)

    @property
    def output(self) -> Answer[Any] | None:
        """The ``Answer``, valid or not; ``None`` without ``output=``, or
        if the model only called tools.

        Raises:
            UsageError: The turn was restored, and this process does not know its output, or cannot
                restore the answer exactly. Everything else of the turn can be used.
        """
        held: Any = getattr(self, "_answer", None)
        if not isinstance(held, StoredAnswer):
            return cast("Answer[Any] | None", held)
        answer = _restored_answer(self, held)
        if answer.error is None:
            target = held.find(held.state.output)
            answer.value = target.restored_value(held.state)
            self._answered_by = target
        self._answer = answer
        return answer

    @property
    def warnings(self) -> tuple[ResponseWarning, ...]:
        """What needs attention in the response, although it could be read; see
        ``ResponseWarning``.
        """
        urgent = urgent_warnings(self, ending_of_results(self))
        return (*urgent, *_quiet_warnings(self, is_told=bool(urgent)))

    @property
    def usage(self) -> Usage | None:
        """The tokens of the response, in the same words for all providers; ``None``
        if the response has no counts.
        """
        if isinstance(kept := getattr(self, "_response", None), Kept):
            return kept.usage
        response = response_of_results(self)
        if response is None:
            return None
        try:
            return self.provider.response.usage(parse_body(response))
        except ResponseError:  # the response is a model's text
            return None

    @property
    def losses(self) -> list[Loss]:
        """The parts of results that the provider's messages cannot hold;
        the text names each part instead.
        """
        losses = []
        for result in self:
            for part in result.parts:
                if not isinstance(part, Text) and not self.provider.takes(part):
                    kind, note = (
                        type(part).__name__.lower(),
                        f"{part.media_type} is named in the text, not sent",
                    )
                    losses.append(
                        Loss(path=result.call.id, keyword=kind, kind="dropped", note=note)
                    )
        return losses

    @property
    def turn(self) -> list[Any]:
        """The messages to append to the conversation: the assistant's message
        as received, then ``messages``.

        If the answer is invalid, a user message follows that tells the model what to correct.

        Raises:
            UsageError: A call waits for approval.
        """
        answer = peek_answer(self)
        feedback = [] if answer is None else answer.feedback
        return [*make_sendable(self._assistant), *self.messages, *feedback]


def may_hold_secret(results: Results, call: Call) -> bool:
    """Whether a call may hold a secret; a call of an unknown tool may
    be meant for any that takes one.
    """
    if call.reader is not None:
        return call.reader.has_secrets
    return call.name is None and getattr(results, "_unknown_is_secret", False)


def peek_answer(results: Results) -> Answer[Any] | None:
    """Return the answer; if it is restored and was not asked for yet, without its value."""
    held: Any = getattr(results, "_answer", None)
    return _restored_answer(results, held) if isinstance(held, StoredAnswer) else held


def _restored_answer(results: Results, held: StoredAnswer) -> Answer[Any]:
    stored = held.state
    calls = [(call.id, call.wire_name, call.arguments_raw, call.raw) for call in results.calls]
    reading = [*results._assistant], calls, results.finish_raw, frozenset[int](), False
    if stored.call is None:
        tool = None
    else:
        tool = results.calls[stored.call].wire_name
    answer: Answer[Any] = Answer(
        results.provider,
        reading,
        list(results._assistant),
        tool,
        results,
        is_secret=stored.is_secret,
    )
    answer.text = stored.text
    answer.coercions = tuple(Coercion(*coercion) for coercion in stored.coercions)
    if stored.error is not None:
        error = stored.error
        answer.error = AnswerError(
            error["code"],
            output=stored.output.name,
            problems=[Problem(*problem) for problem in error["problems"]],
            text=error["text"],
            reference=error["reference"],
        )
    return answer


def ready_at(waiting: Sequence[CallEntry], position: int) -> CallEntry | None:
    """Return the waiting call at a position, or ``None``, by binary
    search; ``waiting`` is in call order.
    """
    index = bisect_left(waiting, position, key=itemgetter(0))
    if index < len(waiting) and waiting[index][0] == position:
        return waiting[index]
    return None


def lines_of(results: Results, most: int = _MOST_SHOWN) -> list[Line]:
    """Return what a person reads of results: each call, what was coerced, and its answer."""
    lines = [line for result in results[:most] for line in _lines_of_result(result)]
    if len(results) > most:
        lines.append(Line("and", f"{len(results) - most} more"))
    return lines


def _lines_of_result(result: Result) -> list[Line]:
    is_open = result.call.reader is not None and not result.call.reader.has_secrets
    lines = [Line(f"{shown(result.call)} ->", _outcome(result))]
    for coercion in result.coercions:
        if is_open:
            values = f": {shorten(coercion.before)} -> {shorten(coercion.after)}"
        else:
            values = ""
        path = escape_invisible(coercion.path) or "the arguments"
        lines.append(Line("coerced", f"{path} by {coercion.rule}{values}", 1))
    return lines


def _outcome(result: Result) -> str:
    if result.error is None:
        return shorten(result.value)
    return f"{result.error.code}: {shorten(result.text, is_json=True)}"


keep_response: Callable[[Results, Any], None] = vars(Results)["_response"].__set__
"""Keeps the response beside its results, so ``usage`` and ``warnings``
can be read when somebody asks.
"""


answers_of: Callable[[Results], list[Result | None]] = attrgetter("_answers")
"""Returns the answers so far; ``None`` for a call that is not answered yet."""
assistant_of: Callable[[Results], Sequence[WireMessage]] = attrgetter("_assistant")
"""Returns the assistant's messages, unchanged."""
known_controls: Callable[[Results], Controls | None] = attrgetter("_controls")
"""Returns the states of the calls, if somebody asked for them; ``state.controls_of`` makes them."""


def answer_target_of(results: Any) -> Any:
    """Return the target that read the answer; ``None`` if the response holds
    no answer, or could not be read.
    """
    return getattr(results, "_answered_by", None)


def response_of_results(results: Results) -> Any:
    """Return the response as it came, or what a stream made of it;
    ``None`` for results without one.
    """
    kept = getattr(results, "_response", None)
    if isinstance(kept, Kept):
        return None
    if isinstance(kept, Streamed):
        return kept.body
    return kept


def ending_of_results(results: Results) -> Ending:
    """Return how the response ended, where its calls and its text do not say it."""
    kept = getattr(results, "_response", None)
    if isinstance(kept, Kept):
        return kept.ending
    response = response_of_results(results)
    if response is None:
        response = list(results._assistant)
    ending = ending_of(results.provider, response)
    if ending.waiting:
        ending = without_calls(ending, {call.id for call in results.calls})
    return ending_with_finish(ending, results.finish, results.finish_raw)


def ending_with_finish(ending: Ending, finish: Finish | None, finish_raw: Any) -> Ending:
    """Return an ending whose error is the finish reason, if that alone
    says that the response failed.
    """
    if finish == "error" and ending.error is None and not ending.warnings:
        return ending._replace(error=f"the provider ended the response with {finish_raw}")
    return ending


def kept_of_results(results: Results) -> Kept:
    """Return what is known of a response and does not stand in the assistant's messages."""
    kept = getattr(results, "_response", None)
    if isinstance(kept, Kept):
        return kept
    ending = ending_of_results(results)
    if _has_no_end(results):
        ending = ending._replace(warnings=(*ending.warnings, _NO_END))
    return Kept(results.usage, ending)


def restore_kept(
    results: Results, usage: Usage | None, warnings: tuple[ResponseWarning, ...]
) -> None:
    """Keep what was stored of a response; the items that wait for the app stand in its messages."""
    ending = Ending(warnings=warnings)
    if any(warning.rule == "waits_for_app" for warning in warnings):
        found = ending_of(results.provider, list(results._assistant))
        ending = ending._replace(waiting=found.waiting)
    keep_response(results, Kept(usage, ending))


def _has_no_end(results: Results) -> bool:
    return isinstance(getattr(results, "_response", None), Streamed) and results.finish_raw is None


def urgent_warnings(results: Results, ending: Ending) -> tuple[ResponseWarning, ...]:
    """Return the warnings of a response that a program must not miss,
    and which are therefore logged.
    """
    find_left_calls, found = results.provider.response.left_calls, ending.warnings
    if find_left_calls is not None and results._assistant:
        found = (*find_left_calls(results._assistant[-1], results.provider.name), *found)
    if ending.error is not None:
        found += (ResponseWarning("provider_error", "", ending.error),)
    return found


def _quiet_warnings(results: Results, *, is_told: bool) -> Iterator[ResponseWarning]:
    """Yield the warnings that every app meets; ``is_told`` says that there are others."""
    if results.finish == "length" and not results.calls:
        yield ResponseWarning("cut_at_length", "", _CUT_AT_LENGTH)
    if _has_no_end(results):
        yield _NO_END
    elif not (is_told or results.calls) and results.finish in _ANSWERED and _is_empty(results):
        yield ResponseWarning("empty_answer", "", _EMPTY_ANSWER)
    for call in results.calls:
        yield from _unchecked(call)
    marks = results.provider.response.template_marks
    for answer in filter(None, results._answers) if marks else ():
        yield from _template_marks(answer, marks, results.provider.name)


def _template_marks(
    answer: Result, marks: Sequence[str], provider: str
) -> Iterator[ResponseWarning]:
    """Yield a warning if the text of a result holds marks of the model's chat template."""
    found = [mark for mark in marks if mark in answer.text]
    if not found:
        return
    text_format = provider.partition("+")[2] or provider.partition(":")[2]
    message = (
        f"the result of {answer.call.wire_name} holds {', '.join(found)}, with which the model's "
        "chat template begins or "
        "ends messages: what follows may look like a message to the model; let the tokenizer not "
        "read special tokens in "
        "results, or return other text"
    )
    yield ResponseWarning("template_mark", text_format, message)


def _is_empty(results: Results) -> bool:
    """Whether the assistant's messages hold no text that a person or a program would read."""
    output = results.provider.output
    if output is None:
        return not any(visible_text(message) for message in results._assistant)
    answer = output.answer(results._assistant)
    return not (answer.text or answer.refusal)

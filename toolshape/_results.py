"""Holds the results of the calls in a response: values or errors, and the messages that answer the calls."""

import copy
import json
import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast, overload

from toolshape._calls import Call, Coercion, Finish, JsonObject, Loss, WireMessage, escape_invisible, shorten
from toolshape._errors import AnswerError, CallError, CallErrorCode, UsageError
from toolshape._parts import File, Image, Part, Text

_MOST_SHOWN = 20
REFUSED = frozenset({"unknown_tool", "malformed_arguments", "truncated_arguments", "invalid_arguments"})
"""The error codes of calls that are not run because the tool is unknown or the arguments are invalid."""


class Result(NamedTuple):
    """The outcome of one call: its ``value`` or its ``error``; both are set only if the value could not be sent.

    ``text`` is the text that the model reads: a string verbatim, any other value as compact JSON, or the error's
    message. ``parts`` are the texts, images and files that the tool returned, if any; ``text`` names the images and
    files. ``coercions`` lists every coercion of the arguments; ``elapsed`` is the time in the tool, in seconds.
    ``is_text`` is ``True`` if the value is a string and ``text`` is this string, and ``False`` if ``text`` is the JSON
    of the value. It is ``None`` for parts, for text that was cut or marked as untrusted, and if it was not recorded.
    ``received`` holds the ``arguments``, if they were recorded before the tool ran.
    """

    call: Call
    value: Any = None
    error: CallError | None = None
    coercions: tuple[Coercion, ...] = ()
    elapsed: float = 0.0
    text: str = ""
    replayed: bool = False
    parts: tuple[Part, ...] = ()
    is_text: bool | None = None
    received: JsonObject | None = None

    def __repr__(self) -> str:
        outcome = shorten(self.value) if self.error is None else f"error {self.error.code}"
        return f"Result({escape_invisible(self.name)} -> {outcome})"

    @property
    def id(self) -> str:
        """The call's id."""
        return self.call.id

    @property
    def name(self) -> str:
        """The tool's own name; the name that the model wrote, if there is no such tool."""
        return self.call.name or self.call.wire_name

    @property
    def arguments(self) -> JsonObject | None:
        """The arguments that the function got, as JSON: validated, coerced, with defaults; ``None`` for invalid calls.

        Under a hook, the arguments are recorded before the tool runs. Without a hook, each access validates the call's
        raw arguments again. In that case, changes that the tool made to its arguments are missing, and a validator
        that is not deterministic can return other values.
        """
        if self.error is not None and self.error.code in REFUSED:
            return None
        if self.received is not None:
            return copy.deepcopy(self.received)
        return None if self.call.reader is None else self.call.reader.received(self.call.arguments_raw)

    @property
    def ok(self) -> bool:
        """Whether the tool returned a value."""
        return self.error is None

    def unwrap(self) -> Any:
        """Return the value, or raise the error.

        Raises:
            CallError: The call failed; its ``__cause__`` is the original exception, if there is one.
        """
        if self.error is not None:
            raise self.error
        return self.value


class PendingCall(NamedTuple):
    """A call that waits for approval.

    ``arguments`` are the arguments that the function would get, as JSON: validated, coerced, with defaults.
    ``coercions`` lists the changes to the arguments that the model wrote.
    """

    call: Call
    arguments: JsonObject
    coercions: tuple[Coercion, ...] = ()

    def __repr__(self) -> str:
        return f"PendingCall({escape_invisible(self.name)}, {shorten(self.arguments)}, id={shorten(self.id)})"

    @property
    def id(self) -> str:
        """The call's id."""
        return self.call.id

    @property
    def name(self) -> str:
        """The tool's own name."""
        return str(self.call.name)


class ResponseWarning(NamedTuple):
    """A part of a response that needs attention, although the response could be read.

    ``rule`` is ``call_in_text``: the text contains the opening mark of a call, but was not read as a call.
    ``text_format`` names the format of the call; ``message`` says what to do.
    """

    rule: Literal["call_in_text"]
    text_format: str
    message: str


class Answering(Protocol):
    """How a provider writes the results of calls."""

    @property
    def write_results(self) -> Callable[[Sequence[Result]], list[WireMessage]]:
        """Returns the messages that answer the calls of the given results."""
        ...


class ReadBy(Protocol):
    """How a provider's responses are read."""

    @property
    def left_calls(self) -> Callable[[WireMessage, str], tuple[ResponseWarning, ...]] | None:
        """Returns warnings about calls that a server left in a message's text; ``None`` if servers never do this."""
        ...


class Answered(Protocol):
    """The provider that sent the response."""

    @property
    def name(self) -> str:
        """The provider's name, as users write it."""
        ...

    @property
    def codec(self) -> Answering:
        """The provider's codec."""
        ...

    @property
    def response(self) -> ReadBy:
        """How the provider's responses are read."""
        ...

    @property
    def takes(self) -> Callable[[Image | File], bool]:
        """Returns whether the provider's messages can hold an image or a file."""
        ...


class ReadAnswer(Protocol):
    """The structured answer that was read from a response; ``Answer`` has these attributes."""

    value: Any
    error: AnswerError | None
    coercions: tuple[Coercion, ...]
    text: Any

    @property
    def ok(self) -> bool:
        """Whether the response holds a valid answer."""
        ...

    @property
    def feedback(self) -> list[Any]:
        """A list with the user message that says what to correct; see ``Answer.feedback``."""
        ...

    def unwrap(self) -> Any:
        """Return the value, or raise the error."""
        ...


Entry: TypeAlias = tuple[Any, ...]
"""A validated call: its position, the call, its handler, its arguments, and their coercions; see ``Ready``."""


class Controls:
    """The calls of one plan and their states; only ``_dispatch/state.py`` changes a state.

    ``entries`` holds the validated calls, and ``states`` their states, both by position; ``in_state`` maps each state
    to the positions of its calls. ``approvals`` holds the positions of approved calls. ``unasked`` holds the positions
    of pending calls whose approval rule needs the injected values: a run has these values, and evaluates the rule.
    ``as_written`` holds the edited calls as the model wrote them.

    ``runs`` counts the current runs. ``observer`` is called when the plan is over, and once before that if all
    remaining calls wait; ``was_told`` records whether an observer was called. ``scope`` is the ledger scope of an
    earlier run, if any. ``unnamed`` is the scope for calls to which the provider gave no id. ``places`` maps the id of
    a call, and the ``id()`` of its object, to positions; it is filled when a caller first names a call.
    """

    __slots__ = (
        "approvals",
        "as_written",
        "entries",
        "in_state",
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
        self.entries: dict[int, Entry] = {}
        self.states: dict[int, Any] = {}
        self.in_state: dict[Any, set[int]] = {}
        self.approvals: set[int] = set()
        self.as_written: dict[int, Call] = {}
        self.unasked: set[int] = set()
        self.observer: Callable[[Results, bool], None] | None = None
        self.was_told = False
        self.runs = 0
        self.scope: str | None = None
        self.unnamed: str | None = None
        self.places: dict[int | str, list[int]] = {}

    @property
    def pending(self) -> list[int]:
        """The positions, in call order, of the calls that wait for approval here, or that a token holds."""
        return sorted({*self.in_state.get("pending", ()), *self.in_state.get("given away", ())})

    def __getstate__(self) -> dict[int, str]:
        # Entries hold functions, so they are not pickled. Another process needs only two facts about each call: whether
        # the call waits for approval, and whether it has begun.
        return {position: _PICKLED[state] for position, state in self.states.items() if state in _PICKLED}

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
_NOT_RUN = frozenset({"ready", "approved", "claimed", "asking", "left"})


class Results(Sequence[Result]):
    """The results of every call in one response, in call order; falsy if the response called no tool.

    At any time, each call has a result. Before a call has run, its result is an error with the code ``not_run``, or
    ``pending`` if the call waits for approval. If a call began but did not finish, the code is ``cancelled``.
    ``finish`` says why the response ended, in words that are the same for all providers; ``finish_raw`` is the
    provider's own word.

    ``calls`` holds the calls, and ``assistant`` the assistant's messages, unchanged. Pickled results keep the answers
    that existed when they were pickled.
    """

    # ``plan_calls`` sets the attributes directly; a constructor cost 2.9 % of a scalar dispatch. ``answers`` has
    # ``None`` for a call that is not answered yet. ``waiting`` holds the calls that may run, as long as there are no
    # ``controls``. The ``controls`` exist once calls are approved, denied, edited, named, checked by a ledger, or
    # observed.
    # ``is_plain`` tells whether all calls can run without a prior check.
    # ``answer`` is set only if the tools were bound with ``output=``.
    __slots__ = (
        "answer",
        "answers",
        "assistant",
        "calls",
        "controls",
        "finish",
        "finish_raw",
        "is_plain",
        "provider",
        "waiting",
    )
    answer: ReadAnswer
    calls: list[Call]
    answers: list[Result | None]
    waiting: Sequence[Entry]
    controls: Controls
    is_plain: bool
    assistant: Sequence[WireMessage]
    provider: Answered
    finish: Finish | None
    finish_raw: str | None

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Result]:
        return (answer or self._placeholder_result(position) for position, answer in enumerate(self.answers))

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        if isinstance(index, slice):
            return list(self)[index]
        return self.answers[index] or self._placeholder_result(range(len(self.answers))[index])

    def _placeholder_result(self, position: int) -> Result:
        call = self.calls[position]
        code: CallErrorCode = "cancelled"
        controls = getattr(self, "controls", None)
        if controls is not None and position in controls.states:
            state, entry = controls.states[position], controls.entries.get(position)
            code = "pending" if state in {"pending", "given away"} else "not_run" if state in _NOT_RUN else "cancelled"
        elif (entry := ready_at(self.waiting, position)) is not None:
            code = "not_run"
        error = CallError(code, tool=call.wire_name)
        coercions = ()
        if entry is not None and code != "cancelled":
            coercions = next(iter(entry[4:]), ())  # a pickled entry has only its position
        return Result(call, error=error, coercions=coercions, text=str(error))

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for approval, in call order; see ``Plan.approve``."""
        if not hasattr(self, "controls"):
            return ()
        pending = []
        for position in self.controls.pending:
            call, entry = self.calls[position], self.controls.entries.get(position)
            if entry is None:  # pickled
                arguments = None if call.reader is None else call.reader.received(call.arguments_raw)
                pending.append(PendingCall(call, arguments or {}))
            else:
                pending.append(PendingCall(call, entry[2].written(entry[3]), entry[4]))
        return tuple(pending)

    def _require_no_pending(self) -> None:
        """Check that no call waits for approval.

        Raises:
            UsageError: A call waits for approval.
        """
        pending_positions = self.controls.pending if hasattr(self, "controls") else ()
        if pending_positions:
            names = ", ".join(f"{call.name} ({call.id})" for call in map(self.calls.__getitem__, pending_positions))
            raise UsageError(
                f"these calls still wait for approval: {escape_invisible(names)}; the results cannot be sent until "
                "each call is answered: get the plan with bound.plan(results), and either approve or deny the calls "
                "and run the plan, or pause the plan"
            )

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        # Waiting entries hold functions; their positions are enough to tell which calls were not run.
        slots = {name: getattr(self, name) for name in self.__slots__ if hasattr(self, name)}
        return None, {**slots, "waiting": [entry[:1] for entry in self.waiting]}

    def __repr__(self) -> str:
        shown = [repr(result) for result in self[:_MOST_SHOWN]]
        more = [f"and {len(self) - _MOST_SHOWN} more"] if len(self) > _MOST_SHOWN else []
        return f"Results([{', '.join([*shown, *more])}])"

    def __str__(self) -> str:
        """Return one line for each of the first 20 calls, and a line with the number of further calls."""
        lines = [_line(result) for result in self[:_MOST_SHOWN]]
        if len(self) > _MOST_SHOWN:
            lines.append(f"and {len(self) - _MOST_SHOWN} more")
        return "\n".join(lines) or f"no calls ({self.finish})"

    @property
    def ok(self) -> bool:
        """Whether every call returned a value."""
        return all(result.error is None for result in self)

    @property
    def messages(self) -> list[Any]:
        """The provider's messages that answer the calls, without the assistant's message; empty if there are no calls.

        Raises:
            UsageError: A call waits for approval.
        """
        answers: Any = self.answers
        if not answers:
            return []
        if None in answers:
            self._require_no_pending()
            answers = list(self)
        return self.provider.codec.write_results(answers)

    @property
    def output(self) -> ReadAnswer | None:
        """The ``Answer``, valid or not; ``None`` without ``output=``, or if the model only called tools."""
        return getattr(self, "answer", None)

    @property
    def warnings(self) -> tuple[ResponseWarning, ...]:
        """Warnings about calls that the server left in the text of the response; these calls were not run."""
        find_warnings = self.provider.response.left_calls
        return (
            find_warnings(self.assistant[-1], self.provider.name)
            if find_warnings is not None and self.assistant
            else ()
        )

    @property
    def losses(self) -> list[Loss]:
        """The parts of results that the provider's messages cannot hold; the text names each part instead."""
        losses = []
        for result in self:
            for part in result.parts:
                if not isinstance(part, Text) and not self.provider.takes(part):
                    kind, note = type(part).__name__.lower(), f"{part.media_type} is named in the text, not sent"
                    losses.append(Loss(path=result.call.id, keyword=kind, kind="dropped", note=note))
        return losses

    @property
    def turn(self) -> list[Any]:
        """The messages to append to the conversation: the assistant's message as received, then ``messages``.

        If the answer is invalid, a user message follows that tells the model what to correct.

        Raises:
            UsageError: A call waits for approval.
        """
        feedback = [] if self.output is None else self.output.feedback
        return [*make_sendable(self.assistant), *self.messages, *feedback]


def ready_at(waiting: Sequence[Entry], position: int) -> Entry | None:
    """Return the waiting call at a position, or ``None``, by binary search; ``waiting`` is in call order."""
    index = bisect_left(waiting, position, key=itemgetter(0))
    return waiting[index] if index < len(waiting) and waiting[index][0] == position else None


def make_sendable(messages: Sequence[WireMessage]) -> Sequence[WireMessage]:
    """Return the messages as received, but replace the values that no client can send.

    A lone surrogate becomes ``?``. A number that is NaN or outside the range of floats (1e400) becomes a string.
    """
    try:
        json.dumps(messages, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError):  # also raised for bytes, which are not JSON but which some clients send
        try:
            replaced = _replace_unsendable(messages)
        except RecursionError:
            return messages
        return messages if replaced == messages else cast("Sequence[WireMessage]", replaced)
    except RecursionError:  # the client will reject the messages
        return messages
    return messages


def _replace_unsendable(node: Any) -> Any:
    if isinstance(node, dict):
        return {_replace_unsendable(key): _replace_unsendable(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [_replace_unsendable(value) for value in node]
    if isinstance(node, str):
        return node.encode(errors="replace").decode()
    if isinstance(node, float) and not math.isfinite(node):
        return str(getattr(node, "text", node))
    return node


def _line(result: Result) -> str:
    name = escape_invisible(result.name)
    failure = "" if result.error is None else f"{result.error.code}: {shorten(result.text, is_json=True)}"
    return f"{name}({shorten(result.call.arguments_raw, is_json=True)}) -> {failure or shorten(result.value)}"

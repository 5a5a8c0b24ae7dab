"""The outcome of a call, and of all calls of a response: values or errors, and the messages that answer them."""

import copy
import json
import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias, cast, overload

from toolshape._calls import Call, Coercion, Finish, JsonObject, Loss, WireMessage, shortened, visible
from toolshape._errors import CallError, CallErrorCode, UsageError
from toolshape._parts import File, Image, Part, Text

_MOST_SHOWN = 20
REFUSED = frozenset({"unknown_tool", "malformed_arguments", "truncated_arguments", "invalid_arguments"})
"""The codes of errors for which a tool is not run, as its arguments are not what it takes."""


class Result(NamedTuple):
    """The outcome of one call: ``value``, or ``error``; both only where a value could not be sent.

    ``text`` is what the model reads: a string verbatim, any other value as compact JSON, or the error's message.
    ``parts`` are the texts, images and files that the tool returned, if it did; ``text`` names those that are no texts.
    ``coercions`` lists every coercion of the arguments; ``elapsed`` is the time in the tool, in seconds. ``is_text`` is
    ``True`` where ``text`` is a string value itself, ``False`` where it is the JSON of another value, and ``None``
    where it is neither: for parts, for what was cut or marked as untrusted, and where it was not recorded. ``received``
    are the ``arguments`` where they were taken before the tool ran.
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
        outcome = shortened(self.value) if self.error is None else f"error {self.error.code}"
        return f"Result({visible(self.call.name or self.call.wire_name)} -> {outcome})"

    @property
    def arguments(self) -> JsonObject | None:
        """What the function got, as JSON: validated, coerced, defaults filled in; ``None`` for a call that was refused.

        Under a hook it is what was taken before the tool ran. Otherwise it is made anew from the call as it came each
        time this is asked for, by validating it once more: a tool that changed its arguments has not changed these, and
        a validator that gives another value each time gives another here.
        """
        if self.error is not None and self.error.code in REFUSED:
            return None
        if self.received is not None:
            return copy.deepcopy(self.received)
        return None if self.call.reader is None else self.call.reader.received(self.call.arguments_raw)

    @property
    def ok(self) -> bool:
        """Whether the tool gave a value."""
        return self.error is None

    def unwrap(self) -> Any:
        """Return the value, or raise the error.

        Raises:
            CallError: the call failed; its ``__cause__`` is the original exception where there is one.
        """
        if self.error is not None:
            raise self.error
        return self.value


class PendingCall(NamedTuple):
    """A call that waits until somebody approves of it.

    ``arguments`` are what the function would get, as JSON: validated, coerced, defaults filled in. ``coercions`` lists
    what was changed of what the model wrote.
    """

    call: Call
    arguments: JsonObject
    coercions: tuple[Coercion, ...] = ()

    def __repr__(self) -> str:
        return f"PendingCall({visible(self.name)}, {shortened(self.arguments)}, id={shortened(self.id)})"

    @property
    def id(self) -> str:
        """The call's id."""
        return self.call.id

    @property
    def name(self) -> str:
        """The tool's own name."""
        return str(self.call.name)


class Answering(Protocol):
    """How a provider writes the results of calls."""

    @property
    def write_results(self) -> Callable[[Sequence[Result]], list[WireMessage]]:
        """Returns the messages that answer the calls."""
        ...


class Answered(Protocol):
    """The provider whose response is answered."""

    @property
    def name(self) -> str:
        """What users write."""
        ...

    @property
    def codec(self) -> Answering:
        """Its codec."""
        ...

    @property
    def takes(self) -> Callable[[Image | File], bool]:
        """Whether its messages can hold an image or a file."""
        ...


Entry: TypeAlias = tuple[Any, ...]
"""A validated call: its position, the call, its handler, its arguments, and their coercions; see ``Ready``."""


class Controls:
    """The calls of a plan that somebody decides on, and the state of each, which ``_dispatch/state.py`` alone changes.

    ``entries`` are the validated calls and ``states`` their states, by position; ``in_state`` has the positions by
    state. ``approvals`` are the positions of calls that were approved of, ``as_written`` the calls that were edited, as
    the model wrote them. ``runs`` counts the runs that are under way; ``observer`` is told when the plan is over.
    ``scope`` is that of the ledger that the plan was run under, if any, ``unnamed`` that of calls whose ids were made
    up. ``places`` has the positions of calls by identity and by id, once somebody has named a call.
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
        "unnamed",
    )

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entries: dict[int, Entry] = {}
        self.states: dict[int, Any] = {}
        self.in_state: dict[Any, set[int]] = {}
        self.approvals: set[int] = set()
        self.as_written: dict[int, Call] = {}
        self.observer: Callable[[Results], None] | None = None
        self.runs = 0
        self.scope: str | None = None
        self.unnamed: str | None = None
        self.places: dict[int | str, list[int]] = {}

    @property
    def pending(self) -> list[int]:
        """The positions of the calls that wait for approval, here or where the plan is resumed, in call order."""
        return sorted({*self.in_state.get("pending", ()), *self.in_state.get("given away", ())})

    def __getstate__(self) -> dict[int, str]:
        # Entries hold functions, and a state means nothing in another process but for what may be said of the call.
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
    """The answers to every call of one response, in call order; falsy when the response called no tool.

    They are complete at any time: a call that nobody has run reads as ``not_run``, one that waits for approval as
    ``pending``, one that began and did not finish as ``cancelled``. ``finish`` says why the response ended, in one word
    for all providers; ``finish_raw`` is the provider's own word.

    There is no constructor, and ``planned`` sets the attributes: one was measured at 2.9 % of a scalar dispatch.
    ``answers`` has ``None`` for a call not answered yet. ``waiting`` are the calls that may run, where there are no
    ``controls``; these are there once somebody decides on calls, names them, asks a ledger or observes them.
    ``is_plain`` is whether all calls can be run without a check before. ``assistant`` are the response's own messages;
    ``provider`` is whose response it was. Pickled results keep the answers that were there at that time.
    """

    __slots__ = ("answers", "assistant", "calls", "controls", "finish", "finish_raw", "is_plain", "provider", "waiting")
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
        return (answer or self._unanswered(position) for position, answer in enumerate(self.answers))

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        if isinstance(index, slice):
            return list(self)[index]
        return self.answers[index] or self._unanswered(range(len(self.answers))[index])

    def _unanswered(self, position: int) -> Result:
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
            coercions = next(iter(entry[4:]), ())  # of what was pickled, only the position is left
        return Result(call, error=error, coercions=coercions, text=str(error))

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait until somebody approves of them, in call order; see ``Plan.approve``."""
        if not hasattr(self, "controls"):
            return ()
        found = []
        for position in self.controls.pending:
            call, entry = self.calls[position], self.controls.entries.get(position)
            if entry is None:  # pickled
                arguments = None if call.reader is None else call.reader.received(call.arguments_raw)
                found.append(PendingCall(call, arguments or {}))
            else:
                found.append(PendingCall(call, entry[2].written(entry[3]), entry[4]))
        return tuple(found)

    def _refuse_half(self) -> None:
        """Check that no call waits for approval.

        Raises:
            UsageError: One does.
        """
        held = self.controls.pending if hasattr(self, "controls") else ()
        if held:
            names = ", ".join(f"{one.name} ({one.id})" for one in map(self.calls.__getitem__, held))
            raise UsageError(
                f"{visible(names)} still wait for approval, and half an answer cannot be sent: take the plan, as by "
                "bound.plan(results), approve or deny them, and run it; or pause it"
            )

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        # What waits holds functions: its positions are enough to tell what was not run.
        slots = {name: getattr(self, name) for name in self.__slots__ if hasattr(self, name)}
        return None, {**slots, "waiting": [entry[:1] for entry in self.waiting]}

    def __repr__(self) -> str:
        shown = [repr(result) for result in self[:_MOST_SHOWN]]
        more = [f"and {len(self) - _MOST_SHOWN} more"] if len(self) > _MOST_SHOWN else []
        return f"Results([{', '.join([*shown, *more])}])"

    def __str__(self) -> str:
        """A line a call, on one screen however many there are."""
        lines = [_line(result) for result in self[:_MOST_SHOWN]]
        if len(self) > _MOST_SHOWN:
            lines.append(f"and {len(self) - _MOST_SHOWN} more")
        return "\n".join(lines) or f"no calls ({self.finish})"

    @property
    def ok(self) -> bool:
        """Whether every call gave a value."""
        return all(result.error is None for result in self)

    @property
    def messages(self) -> list[Any]:
        """The provider's messages that answer the calls, without the assistant's own; empty when there was no call.

        Raises:
            UsageError: A call waits for approval.
        """
        answers: Any = self.answers
        if not answers:
            return []
        if None in answers:
            self._refuse_half()
            answers = list(self)
        return self.provider.codec.write_results(answers)

    @property
    def losses(self) -> list[Loss]:
        """The parts of results that the provider's messages cannot hold: the text names each in its place."""
        lost = []
        for result in self:
            for part in result.parts:
                if not isinstance(part, Text) and not self.provider.takes(part):
                    kind, note = type(part).__name__.lower(), f"{part.media_type} is named in the text, not sent"
                    lost.append(Loss(path=result.call.id, keyword=kind, kind="dropped", note=note))
        return lost

    @property
    def turn(self) -> list[Any]:
        """What to append to the conversation: the assistant's message as it came, then ``messages``.

        Raises:
            UsageError: A call waits for approval.
        """
        return [*sendable(self.assistant), *self.messages]


def ready_at(waiting: Sequence[Entry], position: int) -> Entry | None:
    """Return the call at a position, if it is among these, which are in call order, without looking through the others."""
    at = bisect_left(waiting, position, key=itemgetter(0))
    return waiting[at] if at < len(waiting) and waiting[at][0] == position else None


def sendable(messages: Sequence[WireMessage]) -> Sequence[WireMessage]:
    """The messages as received, but for what no client could send.

    A lone surrogate is replaced by ``?``, and a number that is NaN or beyond floats, as 1e400, by its text.
    """
    try:
        json.dumps(messages, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError):  # bytes, too, which are no JSON and which some clients send
        try:
            made = _sendable(messages)
        except RecursionError:
            return messages
        return messages if made == messages else cast("Sequence[WireMessage]", made)
    except RecursionError:  # the client refuses it
        return messages
    return messages


def _sendable(node: Any) -> Any:
    if isinstance(node, dict):
        return {_sendable(key): _sendable(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [_sendable(value) for value in node]
    if isinstance(node, str):
        return node.encode(errors="replace").decode()
    if isinstance(node, float) and not math.isfinite(node):
        return str(getattr(node, "text", node))
    return node


def _line(result: Result) -> str:
    name = visible(result.call.name or result.call.wire_name)
    failure = "" if result.error is None else f"{result.error.code}: {shortened(result.text, is_json=True)}"
    return f"{name}({shortened(result.call.arguments_raw, is_json=True)}) -> {failure or shortened(result.value)}"

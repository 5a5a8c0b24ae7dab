"""The outcome of a call, and of all calls of a response: values or errors, and the messages that answer them."""

import copy
import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast, overload

from toolshape._calls import Call, Coercion, Finish, JsonObject, Loss, WireMessage, shortened, visible
from toolshape._errors import CallError, CallErrorCode, UsageError
from toolshape._parts import File, Image, Part, Text

_MOST_SHOWN = 20
_NONE_HELD: Mapping[int, tuple[Any, ...]] = MappingProxyType({})
REFUSED = frozenset({"unknown_tool", "malformed_arguments", "truncated_arguments", "invalid_arguments"})
"""The codes of errors for which a tool is not run, as its arguments are not what it takes."""


class Result(NamedTuple):
    """The outcome of one call: ``value``, or ``error``; both only where a value could not be sent.

    ``text`` is what the model reads: a string verbatim, any other value as compact JSON, or the error's message.
    ``parts`` are the texts, images and files that the tool returned, if it did; ``text`` names those that are no texts.
    ``coercions`` lists every coercion of the arguments; ``elapsed`` is the time in the tool, in seconds. ``is_text`` is
    ``True`` where ``text`` is a string value itself, ``False`` where it is the JSON of another value, and ``None`` where
    it is neither: for parts, for what was cut or marked as untrusted, and where it was not recorded. ``received`` are the
    ``arguments`` where they were taken before the tool ran.
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


class Controls:
    """What was asked of somebody else about the calls of a response.

    ``held`` has the calls that wait for approval, by position; ``plan`` is theirs, as they are run by that. ``scope`` is
    that of the ledger that the calls were run under, if any, and ``unnamed`` that of calls whose ids were made up.
    ``running`` counts the runs of the plan that are under way. ``places`` has the positions of calls by their identity and
    by their ids, once somebody has named a call.
    """

    __slots__ = ("held", "places", "plan", "running", "scope", "unnamed")

    def __init__(self, held: dict[int, tuple[Any, ...]], plan: object = None) -> None:
        self.held = held
        self.plan = plan
        self.scope: str | None = None
        self.unnamed: str | None = None
        self.running = 0
        self.places: dict[int | str, list[int]] = {}


class Results(Sequence[Result]):
    """The answers to every call of one response, in call order; falsy when the response called no tool.

    They are complete at any time: a call that nobody has run reads as ``not_run``, one that waits for approval as
    ``pending``, one that began and did not finish as ``cancelled``. ``finish`` says why the response ended, in one word
    for all providers; ``finish_raw`` is the provider's own word.

    There is no constructor, and ``Plan.of`` sets the attributes: one was measured at 2.9 % of a scalar dispatch.
    ``answers`` has ``None`` for a call not answered yet, ``waiting`` begins with the position of each call that has
    not been started, ``controls`` is set where a call waits for approval, or a ledger was asked. ``assistant`` are the
    response's own messages; ``provider`` is whose response it was. Pickled results keep the answers that were there at
    that time.
    """

    __slots__ = ("answers", "assistant", "calls", "controls", "finish", "finish_raw", "provider", "waiting")
    calls: list[Call]
    answers: list[Result | None]
    waiting: Sequence[tuple[Any, ...]]
    controls: Controls
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
        waiting = ready_at(self.waiting, position)
        code: CallErrorCode = "cancelled" if waiting is None else "not_run"
        if (held := self._held.get(position)) is not None:
            code, waiting = "pending", held
        error = CallError(code, tool=call.wire_name)
        coercions = () if waiting is None or len(waiting) == 1 else waiting[-1]  # pickled, only the position is left
        return Result(call, error=error, coercions=coercions, text=str(error))

    @property
    def _held(self) -> Mapping[int, tuple[Any, ...]]:
        return self.controls.held if hasattr(self, "controls") else _NONE_HELD

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait until somebody approves of them, in call order; see ``Plan.approve``."""
        found = []
        for position, held in sorted(self._held.items()):
            call = self.calls[position]
            if len(held) == 1:  # pickled
                arguments = None if call.reader is None else call.reader.received(call.arguments_raw)
                found.append(PendingCall(call, arguments or {}))
            else:
                found.append(PendingCall(call, held[2].written(held[3]), held[4]))
        return tuple(found)

    def _refuse_half(self) -> None:
        """Check that no call waits for approval.

        Raises:
            UsageError: One does.
        """
        if self._held:
            names = ", ".join(f"{one.name} ({one.id})" for one in map(self.calls.__getitem__, self._held))
            raise UsageError(
                f"{visible(names)} still wait for approval, and half an answer cannot be sent: take the plan, as by "
                "bound.plan(results), approve or deny them, and run it; or pause it"
            )

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        # What waits holds functions: its positions are enough to tell what was not run.
        slots = {name: getattr(self, name) for name in self.__slots__ if name != "controls"}
        if self._held:
            slots["controls"] = Controls({position: (position,) for position in self._held})
        return None, {**slots, "waiting": [one[:1] for one in self.waiting]}

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


def place_of(waiting: Sequence[tuple[Any, ...]], position: int) -> int:
    """Where a call stands, or would stand, among calls that wait, which are in the order of their positions."""
    return bisect_left(waiting, position, key=itemgetter(0))


def ready_at(waiting: Sequence[tuple[Any, ...]], position: int) -> tuple[Any, ...] | None:
    """The call at a position, if it waits: found without looking through all the others."""
    at = place_of(waiting, position)
    return waiting[at] if at < len(waiting) and waiting[at][0] == position else None


def controls_of(results: Results) -> Controls:
    """The controls of results, which have none at first."""
    if not hasattr(results, "controls"):
        results.controls = Controls({})
    return results.controls


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

"""``CallContext``: what a hook, or a tool that asks for it, knows of the call that is running, and can say meanwhile."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from toolshape._calls import Call, Effect, JsonObject
from toolshape._identity import Identity, identity_of
from toolshape._results import Result


class ToolFacts(Protocol):
    """What a hook may want to know of a tool; each ``Tool`` has it."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str | None: ...
    @property
    def description(self) -> str: ...
    @property
    def tags(self) -> frozenset[str]: ...
    @property
    def effects(self) -> frozenset[Effect]: ...
    @property
    def timeout(self) -> float | None: ...


class Progress(NamedTuple):
    """How far a call is, as the tool says: ``done`` of ``total`` (``None``: unknown), in units of its own."""

    call: Call
    done: float
    total: float | None
    message: str


class Cancellation:
    """Whether anybody still waits for a piece of work; what is inside another is cancelled with it."""

    __slots__ = ("_is_cancelled", "_outer")

    def __init__(self, outer: "Cancellation | None" = None) -> None:
        self._is_cancelled = False
        self._outer = outer

    def cancel(self) -> None:
        """Say that nobody waits any more."""
        self._is_cancelled = True

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits any more."""
        return self._is_cancelled or (self._outer is not None and self._outer.is_cancelled)


class CallState:
    """What the runs of one call share.

    ``attempts`` counts the runs of the tool. ``on_progress`` takes what the tool says; ``to_result`` makes a result of
    a value, as if the tool had returned it. ``known_as`` is what tells the call from all others, once somebody has
    asked.
    """

    __slots__ = ("attempts", "known_as", "on_progress", "to_result")

    def __init__(
        self,
        on_progress: Callable[[Progress], object] | None = None,
        to_result: Callable[[Any], Result] | None = None,
    ) -> None:
        self.attempts = 0
        self.on_progress = on_progress
        self.to_result = to_result
        self.known_as: Identity | None = None

    def identity(self, call: Call) -> Identity:
        """What tells the call from all others, as a ledger knows it if there is one."""
        if self.known_as is None:
            self.known_as = identity_of(call, None)
        return self.known_as


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CallContext:
    """The call that is running: given to hooks, and to every parameter of a tool that is annotated with this class.

    ``arguments`` are what the function gets, as JSON, injected values left out. ``attempt`` counts the runs of the tool
    for this call, from 1: a hook that calls on twice makes a second one. ``inject`` are the injected values that the
    call was dispatched with, by name, to be read and not changed: a hook that keeps anything keeps it by user. They stand
    in no ``repr``, trace or span.
    """

    call: Call
    tool: ToolFacts
    arguments: JsonObject
    attempt: int
    inject: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    _state: CallState = field(default_factory=CallState)
    _cancellation: Cancellation = field(default_factory=Cancellation)

    def __repr__(self) -> str:
        return f"CallContext({self.call!r}, attempt={self.attempt})"

    @property
    def call_id(self) -> str:
        """The call's id: the provider's, or the one made from the response; ``""`` under ``Tool.call``."""
        return self.call.id

    @property
    def idempotency_key(self) -> str:
        """A key for this call, for services that do a thing once for one key; 64 hexadecimal digits.

        It is the same at every attempt, and, with the scope of a ledger or the provider's id, when the same response is
        dispatched again; a call without an id of the provider's and without a scope has a new one each time.
        """
        return self._state.identity(self.call).key

    def known_as(self, identity: Identity) -> Identity:
        """Set what a ledger knows the call by, which the first to ask decides."""
        if self._state.known_as is None:
            self._state.known_as = identity
        return self._state.known_as

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the call any more: its time is over, or whoever asked was cancelled.

        A synchronous tool cannot be stopped from outside; a long one can look at this and return.
        """
        return self._cancellation.is_cancelled

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Say how far the call is, to the ``on_progress`` of whoever dispatched it; without one, nothing happens.

        Args:
            done: How much is done, in units of your own; it should grow.
            total: How much there is to do, in the same units.
            message: What happens at the moment, for people.
        """
        if self._state.on_progress is not None and not self.cancelled:
            try:
                said = self._state.on_progress(Progress(self.call, done, total, message))
                if isinstance(said, Coroutine):
                    said.close()
                    message = (
                        "on_progress is async: give a function that passes it on, as loop.call_soon_threadsafe does"
                    )
                    raise TypeError(message)  # noqa: TRY301 - logged like whatever else it raises
            except Exception:  # whoever listens may raise anything, which is no failure of the tool
                import logging  # noqa: PLC0415 - only what goes wrong needs it

                logging.getLogger("toolshape").exception("on_progress failed at %r", self.call)

    def result(self, value: Any) -> Result:
        """The result of this call with a value of your own, as if the tool had returned it: for caches and stand-ins."""
        if self._state.to_result is None:
            raise TypeError("there is no result to make under Tool.call: return the value")
        return self._state.to_result(value)


def with_contexts(names: Iterable[str], context: CallContext, inject: Mapping[str, Any]) -> Mapping[str, Any]:
    """The injected values and the context under its names; a ``CallContext`` that was given, as by a test, stays."""
    given = {name: value for name, value in inject.items() if isinstance(value, CallContext)}
    return {**inject, **dict.fromkeys(names, context), **given}

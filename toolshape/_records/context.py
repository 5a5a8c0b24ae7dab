"""What hooks and tools read of the running call, and how they report progress."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from toolshape._records.calls import Call, Effect, JsonObject
from toolshape._records.identity import Identity, identity_of
from toolshape._records.result import Result


class ToolFacts(Protocol):
    """The properties of a tool that a hook can read; each ``Tool`` has them."""

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
    """The progress of a call, as the tool reports it: ``done`` of ``total``
    (``None`` if unknown), in any unit.
    """

    call: Call
    done: float
    total: float | None
    message: str


class Cancellation:
    """Tells work that its caller no longer waits; cancelling the outer work
    also cancels the work inside it.
    """

    __slots__ = ("_is_cancelled", "_outer")

    def __init__(self, outer: "Cancellation | None" = None) -> None:
        self._is_cancelled = False
        self._outer = outer

    def cancel(self) -> None:
        """Mark the work as cancelled: its caller no longer waits."""
        self._is_cancelled = True

    @property
    def is_cancelled(self) -> bool:
        """Whether this work, or the work around it, was cancelled."""
        return self._is_cancelled or (self._outer is not None and self._outer.is_cancelled)


class CallState:
    """The state that all runs of one call share.

    ``attempts`` counts the runs of the tool. ``on_progress`` receives the tool's progress;
    ``to_result`` converts a value into a result, as if the tool had returned the value.
    ``known_as`` is the identity of the call; it is computed at first use.
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
        """Return the identity of the call; with a ledger, the identity that the ledger uses."""
        if self.known_as is None:
            self.known_as = identity_of(call, None)
        return self.known_as


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CallContext:
    """The running call.

    Each hook receives it, and so does each tool parameter that is annotated with this class.

    ``arguments`` are the function's arguments as JSON, without injected values. ``attempt`` counts
    the runs of the tool for this call, from 1; a hook that runs the call twice makes a second
    attempt. ``inject`` holds the injected values of the dispatch by name, read-only; a hook can use
    them to store data per user. The values never appear in a ``repr``, trace or span.
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
        """The call's id: the provider's, or an id derived from the
        response; ``""`` under ``Tool.call``.
        """
        return self.call.id

    @property
    def idempotency_key(self) -> str:
        """A key for this call, for services that act only once per key; 64 hexadecimal digits.

        The key is the same at every attempt. With a ledger's scope or a provider's id, the key is
        also the same when the same response is dispatched again. Without either, each dispatch has
        a new key.
        """
        return self._state.identity(self.call).key

    def known_as(self, identity: Identity) -> Identity:
        """Set the identity that the ledger uses, unless the call already has
        one; return the call's identity.
        """
        if self._state.known_as is None:
            self._state.known_as = identity
        return self._state.known_as

    @property
    def cancelled(self) -> bool:
        """Whether the caller no longer waits for the call: the call timed
        out, or the caller was cancelled.

        A synchronous tool cannot be stopped from outside; a long-running tool can check this
        property and return early.
        """
        return self._cancellation.is_cancelled

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress to the ``on_progress`` of the dispatch;
        without ``on_progress``, do nothing.

        Args:
            done: How much is done, in any unit; the number should increase.
            total: How much there is to do in total, in the same unit; ``None`` if unknown.
            message: A description of the current step, for people.
        """
        if self._state.on_progress is not None and not self.cancelled:
            try:
                returned = self._state.on_progress(Progress(self.call, done, total, message))
                if isinstance(returned, Coroutine):
                    returned.close()
                    message = (
                        "on_progress is async: pass a plain function that forwards the progress "
                        "to the event loop, "
                        "for example with loop.call_soon_threadsafe"
                    )
                    raise TypeError(message)  # noqa: TRY301 - logged like any other error of on_progress
            except Exception:
                # ``on_progress`` may raise anything; the tool must not fail because of it.
                import logging  # noqa: PLC0415 - only failures need it

                logging.getLogger("toolshape").exception("on_progress failed for %r", self.call)

    def result(self, value: Any) -> Result:
        """Return a result of this call with the given value, as if the tool had
        returned it; for caches and stubs.
        """
        if self._state.to_result is None:
            raise TypeError("Tool.call makes no Result: return the value itself")
        return self._state.to_result(value)


def add_contexts(
    names: Iterable[str], context: CallContext, inject: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Add the context under these names to the injected values, but keep a
    ``CallContext`` that the caller injected.
    """
    caller_contexts = {
        name: value for name, value in inject.items() if isinstance(value, CallContext)
    }
    return {**inject, **dict.fromkeys(names, context), **caller_contexts}

"""What a ledger of calls must be able to do, and whether an object can."""

from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from toolshape._records.errors import UsageError
from toolshape._records.identity import Identity


class Claim(NamedTuple):
    """The state of a call in a ledger.

    ``ours``: this run has claimed the call as ``owner``. ``done``: the call has ended, and
    ``outcome`` is its outcome, as JSON. ``running``: another run has claimed the call. ``unknown``:
    the call was begun and interrupted. ``other``: another call has the same id.
    """

    state: Literal["ours", "done", "running", "unknown", "other"]
    owner: str = ""
    outcome: str = ""


@runtime_checkable
class LedgerStore(Protocol):
    """The interface of a ledger, which records the calls that have run.

    ``toolshape.ledger.Ledger`` implements it.

    Each method may block.
    """

    @property
    def wait(self) -> float:
        """How many seconds to wait for a call that another run has claimed."""
        ...

    def claim(self, identity: Identity, *, again: bool) -> Claim:
        """Claim a call unless it was begun; the claim holds until the call is finished or dropped.

        Args:
            identity: The identity of the call.
            again: Whether the call may run again if its outcome is unknown.
        """
        ...

    def look(self, identity: Identity) -> Claim | None:
        """Return the state of a call, or ``None`` if it was not begun. Writes nothing."""
        ...

    def finish(self, identity: Identity, owner: str, outcome: str) -> None:
        """Record the outcome of a claimed call."""
        ...

    def drop(self, identity: Identity, owner: str, *, has_begun: bool) -> None:
        """Release a claim.

        If the tool was called, mark the outcome unknown; otherwise forget the call.
        """
        ...

    def keep(self, token_id: str, text: str) -> None:
        """Store the contents of a paused plan that may hold secrets,
        under the id of the plan's token.
        """
        ...

    def kept(self, token_id: str) -> str | None:
        """Return the text stored by ``keep``, or ``None``."""
        ...


def check_ledger(ledger: Any, scope: Any) -> LedgerStore:
    """Check a ledger and a scope, and return the ledger.

    Raises:
        UsageError: The value is not a ledger, or the scope is not a string.
    """
    if not isinstance(ledger, LedgerStore):
        raise UsageError(f"ledger= takes a toolshape.ledger.Ledger, not {type(ledger).__name__}")
    check_scope(scope)
    return ledger


def check_scope(scope: Any) -> str | None:
    """Check a scope, and return the scope.

    Raises:
        UsageError: The scope is not a string, or contains a character that databases cannot store.
    """
    if scope is not None and not isinstance(scope, str):
        raise UsageError(
            "scope= must be a string, for example the ids of a conversation and a turn, not "
            f"{scope!r}"
        )
    if scope is not None and (
        "\0" in scope or b"?" in scope.replace("?", "").encode(errors="replace")
    ):
        raise UsageError(f"scope= contains a character that databases cannot store: {scope!r}")
    scope_text: str | None = scope
    return scope_text

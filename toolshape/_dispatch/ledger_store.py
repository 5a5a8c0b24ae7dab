"""``LedgerStore``: what a ledger of calls does, and what it says of one; and what refuses anything else."""

from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from toolshape._errors import UsageError
from toolshape._identity import Identity


class Claim(NamedTuple):
    """What a ledger says of a call.

    ``ours``: nobody has begun it, and now we have; ``owner`` is under what name. ``done``: ``outcome`` is what came of
    it, as JSON. ``running``: somebody has it. ``unknown``: it was begun and broken off. ``other``: another call has its
    id.
    """

    state: Literal["ours", "done", "running", "unknown", "other"]
    owner: str = ""
    outcome: str = ""


@runtime_checkable
class LedgerStore(Protocol):
    """Where it is written down which calls have run; ``toolshape.ledger.Ledger`` is one. Each method may block."""

    @property
    def wait(self) -> float:
        """How many seconds a call that runs elsewhere is waited for."""
        ...

    def claim(self, identity: Identity, *, again: bool) -> Claim:
        """Begin a call unless it was begun; keep it as ours until it is finished or dropped.

        Args:
            identity: The call.
            again: Whether it may be begun once more where its outcome is unknown.
        """
        ...

    def look(self, identity: Identity) -> Claim | None:
        """Return what is known of a call, and write nothing; ``None`` where nobody has begun it."""
        ...

    def finish(self, identity: Identity, owner: str, outcome: str) -> None:
        """Write down what came of a call that is ours."""
        ...

    def drop(self, identity: Identity, owner: str, *, has_begun: bool) -> None:
        """Give up a call that is ours: its outcome is unknown, or, where its tool was not called, it is as before."""
        ...

    def keep(self, token_id: str, text: str) -> None:
        """Keep what a token of a paused plan stands for, where it holds secrets."""
        ...

    def kept(self, token_id: str) -> str | None:
        """It again; ``None`` where it is not here."""
        ...


def checked_ledger(ledger: Any, scope: Any) -> LedgerStore:
    """Return the ledger.

    Raises:
        UsageError: It is not a ledger, or the scope is not a text.
    """
    if not isinstance(ledger, LedgerStore):
        raise UsageError(f"ledger= takes a toolshape.ledger.Ledger, not {type(ledger).__name__}")
    if scope is not None and not isinstance(scope, str):
        raise UsageError(f"scope= is a text, as the ids of a conversation and a turn, not {scope!r}")
    if scope is not None and ("\0" in scope or b"?" in scope.replace("?", "").encode(errors="replace")):
        raise UsageError(f"scope= holds a character that no database keeps: {scope!r}")
    return ledger

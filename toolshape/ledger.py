"""``Ledger``: calls that began in; what came of each, written down in a database so that none runs twice, out. Needs the extra ``ledger``."""

import hashlib
import logging
import math
import os
import threading
import time
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

try:
    import sqlalchemy as sa
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.schema import CreateTable
except ImportError as error:
    raise ImportError(f"a ledger needs SQLAlchemy: pip install 'toolshape[ledger]' ({error})") from error

from toolshape._dispatch.ledger_store import Claim
from toolshape._errors import UsageError
from toolshape._identity import Identity, canonical_json
from toolshape._ledger_tables import CALLS, CLOCKS, INSERTS, KEPT, METADATA, engine_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

__all__ = ["Ledger", "LedgerEntry"]

_LONGEST_TRY, _PAUSE = 1.0, 0.05  # seconds to make tables for, and between two tries
_STATES = ("running", "done", "unknown")


class LedgerEntry(NamedTuple):
    """A call that is written down: when it began and ended, and whether it is ``running``, ``done`` or ``unknown``.

    ``outcome`` is what came of it, as JSON text: what the model read, and the value or the error.
    """

    scope: str
    call_id: str
    tool: str
    state: Literal["running", "done", "unknown"]
    started: datetime
    finished: datetime | None
    outcome: str | None


class Ledger:
    """Which calls have begun, and what came of them, in a database that several processes and machines may share.

    It is as confidential as what tools are called with and answer: both are in it. Threads and processes may share one;
    it is pickled by its URL.

    Args:
        url: The URL of the database, as SQLAlchemy takes it, of SQLite or PostgreSQL; or the path of a file, which will
            be a SQLite database; or an ``Engine``. The tables are made where they are not there. In an ``Engine`` of
            SQLite, how long it waits for other writers, and what a power failure may take, are as you set them.
        lease: For how many seconds a call is taken to be running after its process was last heard of. It is renewed
            while the call runs, so that a call may be longer; a process that is stopped for longer has lost it.
        wait: How many seconds a call that runs elsewhere is waited for.

    Raises:
        UsageError: It is another database, or a number is not above 0.
    """

    def __init__(
        self, url: "str | Path | sa.URL | sa.Engine" = "toolshape.db", *, lease: float = 30.0, wait: float = 30.0
    ) -> None:
        for name, seconds in (("lease", lease), ("wait", wait)):
            given: Any = seconds
            is_number = isinstance(given, (int, float)) and not isinstance(given, bool) and math.isfinite(given)
            if not is_number or given < 0 or (name == "lease" and not given):
                raise UsageError(f"{name}= is a number of seconds, not {seconds!r}")
        self.lease = float(lease)
        self.wait = float(wait)
        self._url = url if isinstance(url, sa.Engine) else url_of(url)
        self._engine = engine_of(self._url, self.wait)
        self._now, self._insert = CLOCKS[self._engine.dialect.name], INSERTS[self._engine.dialect.name]
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._is_made = False
        self._running: set[str] = set()
        self._renewal: threading.Thread | None = None
        self._ended = threading.Event()

    def __reduce__(self) -> Any:
        if isinstance(self._url, sa.Engine):
            raise TypeError("a Ledger of an Engine cannot be pickled: make it of a URL")
        return _unpickle_ledger, (self._url, self.lease, self.wait)

    def __repr__(self) -> str:
        return f"Ledger({self._engine.url.render_as_string(hide_password=True)!r})"

    def __enter__(self) -> "Self":
        """The ledger, to be closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; calls that are running are renewed no more."""
        self._running.clear()
        self._ended.set()
        renewal = self._renewal
        if renewal is not None and renewal is not threading.current_thread() and os.getpid() == self._process:
            renewal.join()  # what it has borrowed would be left open
        self._engine.dispose()

    @contextmanager
    def _transaction(self) -> Generator[sa.Connection]:
        if os.getpid() != self._process:  # we were forked: the connections are the parent's, its threads are not here
            self._engine.dispose(close=False)
            self._start()
        if not self._is_made:
            self._make_tables()
        with self._engine.begin() as connection:
            yield connection

    def _make_tables(self) -> None:
        with self._lock:
            until = time.monotonic() + _LONGEST_TRY
            while True:
                try:
                    with self._engine.begin() as connection:
                        for table in METADATA.sorted_tables:
                            connection.execute(CreateTable(table, if_not_exists=True))
                except DBAPIError:  # another process makes them at this moment
                    if time.monotonic() > until:
                        raise
                    time.sleep(_PAUSE)
                else:
                    self._is_made = True
                    return

    def claim(self, identity: Identity, *, again: bool) -> Claim:
        """Begin a call unless it was begun; for ``dispatch``, which asks before it runs one.

        Args:
            identity: The call.
            again: Whether it may be begun once more where its outcome is unknown.
        """
        key, owner = _key(identity), uuid.uuid4().hex
        row = _row(identity)
        begun = {"state": "started", "owner": owner, "lease_until": self._now + self.lease, "started": self._now}
        with self._transaction() as connection:
            insert = self._insert(CALLS).values(key=key, **row, **begun).on_conflict_do_nothing()
            if connection.execute(insert.returning(CALLS.c.key)).first() is None:
                claim = self._looked_up(connection, key, row, begun, again=again)
                if claim.state != "ours":
                    return claim
        self._renew(owner)
        return Claim("ours", owner)

    def _looked_up(
        self, connection: sa.Connection, key: str, row: dict[str, Any], begun: dict[str, Any], *, again: bool
    ) -> Claim:
        """What is known of a call that was begun before, which is begun anew if it may be."""
        found = connection.execute(self._asked_for(key).with_for_update()).mappings().first()
        if found is None:  # it was dropped meanwhile
            return Claim("running")
        known = _known(found, row)
        if known.state != "unknown":
            return known
        values = begun if again else {"state": "unknown"}
        connection.execute(sa.update(CALLS).where(CALLS.c.key == key).values(**values))
        return Claim("ours", begun["owner"]) if again else Claim("unknown")

    def look(self, identity: Identity) -> Claim | None:
        """Return what is known of a call, and write nothing; for ``dispatch``, which asks before it asks for approval.

        Args:
            identity: The call.

        Returns:
            ``None`` where nobody has begun the call. It is never ``ours``: that is what ``claim`` gives.
        """
        with self._transaction() as connection:
            found = connection.execute(self._asked_for(_key(identity))).mappings().first()
        return None if found is None else _known(found, _row(identity))

    def _asked_for(self, key: str) -> Any:
        return sa.select(*CALLS.columns, (CALLS.c.lease_until < self._now).label("is_over")).where(CALLS.c.key == key)

    def finish(self, identity: Identity, owner: str, outcome: str) -> None:
        """Write down what came of a call; for ``dispatch``.

        Args:
            identity: The call.
            owner: As it was claimed.
            outcome: The result, as JSON text.
        """
        try:
            with self._transaction() as connection:
                values = {"state": "done", "outcome": outcome, "finished": self._now}
                connection.execute(sa.update(CALLS).where(_is_ours(identity, owner)).values(**values))
                connection.execute(sa.delete(KEPT).where(KEPT.c.token == identity.call_id))
        finally:
            self._running.discard(owner)

    def drop(self, identity: Identity, owner: str, *, has_begun: bool) -> None:
        """Give up a call; for ``dispatch``.

        Args:
            identity: The call.
            owner: As it was claimed.
            has_begun: Whether its tool was called: its outcome is unknown then.
        """
        self._running.discard(owner)
        with self._transaction() as connection:
            if has_begun:
                connection.execute(sa.update(CALLS).where(_is_ours(identity, owner)).values(state="unknown"))
            else:
                connection.execute(sa.delete(CALLS).where(_is_ours(identity, owner)))

    def keep(self, token_id: str, text: str) -> None:
        """Keep what a token of a paused plan stands for; for ``Plan.pause``."""
        with self._transaction() as connection:
            connection.execute(sa.insert(KEPT).values(token=token_id, made=self._now, content=text))

    def kept(self, token_id: str) -> str | None:
        """It again, until the token was used; for ``Registry.resume``."""
        with self._transaction() as connection:
            text: str | None = connection.scalar(sa.select(KEPT.c.content).where(KEPT.c.token == token_id))
        return text

    def entries(self, scope: str | None = None, *, state: str | None = None) -> list[LedgerEntry]:
        """The calls that are written down, in the order in which they began.

        Args:
            scope: Those of one scope.
            state: Those that are ``"running"``, ``"done"`` or ``"unknown"``, which somebody should look into.

        Raises:
            UsageError: There is no such state.
        """
        if state not in (None, *_STATES):
            raise UsageError(f"state= is one of {', '.join(_STATES)}, not {state!r}")
        over = (CALLS.c.state == "started") & (CALLS.c.lease_until < self._now)
        now = sa.case((over, "unknown"), (CALLS.c.state == "started", "running"), else_=CALLS.c.state).label("now")
        asked = sa.select(CALLS, now).order_by(CALLS.c.started)
        asked = asked if scope is None else asked.where(CALLS.c.scope == scope)
        with self._transaction() as connection:
            rows = connection.execute(asked).mappings().all()
        return [_entry(row) for row in rows if state in (None, row["now"])]

    def forget(self, *, older_than: timedelta) -> int:
        """Delete what is done, and what is kept for tokens, if it is older than this; a call that is deleted could run again.

        Returns:
            How many calls were deleted.
        """
        before = self._now - older_than.total_seconds()
        with self._transaction() as connection:
            connection.execute(sa.delete(KEPT).where(KEPT.c.made < before))
            done = (CALLS.c.state == "done") & (CALLS.c.finished < before)
            return int(connection.execute(sa.delete(CALLS).where(done)).rowcount)

    def _renew(self, owner: str) -> None:
        """Renew the lease of a call as long as it runs."""
        with self._lock:
            self._running.add(owner)
            if self._renewal is None:
                self._ended.clear()
                self._renewal = threading.Thread(target=self._renew_all, name="toolshape-ledger", daemon=True)
                self._renewal.start()

    def _renew_all(self) -> None:
        while not self._ended.wait(self.lease / 3):
            with self._lock:
                owners = list(self._running)
                if not owners:
                    self._renewal = None
                    return
            try:
                with self._transaction() as connection:
                    ours = CALLS.c.owner.in_(owners) & (CALLS.c.state == "started")
                    connection.execute(sa.update(CALLS).where(ours).values(lease_until=self._now + self.lease))
            except Exception:  # whatever the database raises: it may be there again the next time
                logging.getLogger("toolshape").exception("leases of calls that are running could not be renewed")
        with self._lock:
            self._renewal = None


def _unpickle_ledger(url: sa.URL, lease: float, wait: float) -> Ledger:
    return Ledger(url, lease=lease, wait=wait)


def _key(identity: Identity) -> str:
    return hashlib.sha256(canonical_json([identity.scope, identity.call_id]).encode()).hexdigest()


def _row(identity: Identity) -> dict[str, str]:
    return {"scope": identity.scope, "call_id": identity.call_id, "tool": identity.tool, "digest": identity.digest}


def _known(found: Any, row: Mapping[str, str]) -> Claim:
    """What a row of the table says of a call."""
    if any(found[name] != value for name, value in row.items()):
        return Claim("other")
    if found["state"] == "done":
        return Claim("done", outcome=found["outcome"])
    return Claim("running" if found["state"] == "started" and not found["is_over"] else "unknown")


def _is_ours(identity: Identity, owner: str) -> Any:
    return (CALLS.c.key == _key(identity)) & (CALLS.c.owner == owner)


def _entry(row: Any) -> LedgerEntry:
    def moment(seconds: float | None) -> datetime | None:
        return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)

    started = moment(row["started"])
    assert started is not None  # noqa: S101 - the column has no NULL
    return LedgerEntry(
        row["scope"], row["call_id"], row["tool"], row["now"], started, moment(row["finished"]), row["outcome"]
    )

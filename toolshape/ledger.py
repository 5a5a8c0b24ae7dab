"""Records calls and their outcomes in a database, so no call runs twice.

Needs the extra ``ledger``.
"""

import hashlib
import importlib.util
import logging
import math
import os
import threading
import time
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

try:
    import sqlalchemy as sa
    import stamina
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.schema import CreateTable
except ImportError as error:
    raise ImportError(
        f"a ledger needs SQLAlchemy and stamina: pip install 'toolshape[ledger]' ({error})"
    ) from error

from toolshape._plan.ledger_store import Claim
from toolshape._records.errors import UsageError
from toolshape._records.identity import Identity, canonical_json

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError

METADATA = sa.MetaData()
CALLS = sa.Table(
    "toolshape_calls",
    METADATA,
    # A digest, because scope and id may be too long for an index.
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("call_id", sa.Text, nullable=False),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("state", sa.String(8), nullable=False),  # started, done or unknown
    sa.Column("owner", sa.String(32), nullable=False),
    sa.Column("lease_until", sa.Double, nullable=False),
    sa.Column("started", sa.Double, nullable=False),
    sa.Column("finished", sa.Double),
    sa.Column("outcome", sa.Text),
)
KEPT = sa.Table(
    "toolshape_paused",
    METADATA,
    sa.Column("token", sa.String(32), primary_key=True),
    sa.Column("made", sa.Double, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
)
# The database's clock, in seconds since 1970. The ledger uses no other clock, as the clocks of two
# machines differ.
CLOCKS: dict[str, Any] = {
    "sqlite": sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Double),
    "postgresql": sa.literal_column(
        "extract(epoch from clock_timestamp())::double precision", sa.Double
    ),
}
INSERTS: dict[str, Callable[[sa.Table], Any]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
_SHORTEST_BUSY, _LONGEST_BUSY = 1.0, 30.0  # seconds that SQLite waits for another writer


def url_of(given: "str | Path | sa.URL") -> sa.URL:
    """Return the URL of a database.

    File paths become absolute, as the process may change its directory.

    Raises:
        UsageError: The URL is invalid, or the database is in memory.
    """
    if isinstance(given, str) and "://" in given:
        try:
            given = _with_driver(sa.make_url(given))
        except ArgumentError as error:
            raise UsageError(
                f"a ledger takes a database URL or the path of a file: {error}"
            ) from error
    if not isinstance(given, sa.URL):
        given = sa.URL.create("sqlite", database=str(given))
    if given.get_backend_name() != "sqlite":
        return given
    _refuse_memory(given)
    name = str(given.database)
    if name.startswith("file:"):
        return given
    return given.set(database=str(Path(name).resolve()))


def _with_driver(url: sa.URL) -> sa.URL:
    """Understand ``postgres://``, as hosts write it, and choose the driver that is
    installed if the URL names none.
    """
    if url.drivername not in ("postgres", "postgresql"):
        return url
    has_old_driver = importlib.util.find_spec("psycopg2") is not None
    return url.set(drivername="postgresql+psycopg2" if has_old_driver else "postgresql+psycopg")


def _refuse_memory(url: sa.URL) -> None:
    name = url.database or ""
    is_named = name.startswith("file:") and (
        ":memory:" in name or url.query.get("mode") == "memory"
    )
    if name in ("", ":memory:") or is_named:
        raise UsageError(
            "a ledger in memory is lost when the process ends: pass the path of a file"
        )


def engine_of(given: "sa.URL | sa.Engine", wait: float) -> sa.Engine:
    """Return an engine for a database. SQLite waits for other writers for about ``wait`` seconds.

    Raises:
        UsageError: The database is neither SQLite nor PostgreSQL, or is in memory.
    """
    engine = given if isinstance(given, sa.Engine) else None
    url = given.url if isinstance(given, sa.Engine) else given
    name = url.get_backend_name()
    if name not in CLOCKS:
        raise UsageError(f"a ledger needs SQLite or PostgreSQL, not {name}")
    if name == "sqlite":
        _refuse_memory(url)
    if engine is None:
        if name == "sqlite":
            connect_arguments = {"timeout": min(max(wait, _SHORTEST_BUSY), _LONGEST_BUSY)}
        else:
            connect_arguments = {}
        try:
            # A connection that the server has closed meanwhile is replaced before it is used.
            engine = sa.create_engine(url, connect_args=connect_arguments, pool_pre_ping=True)
        except ModuleNotFoundError as error:
            message = (
                f"a ledger in PostgreSQL needs a driver: pip install 'psycopg[binary]' ({error})"
            )
            raise ModuleNotFoundError(message, name=error.name) from error
        if name == "sqlite":
            event.listen(engine, "connect", _configure_sqlite)
    return engine


def _configure_sqlite(connection: Any, _: Any) -> None:
    """Configure SQLite: readers do not block the writer, and a power
    failure loses no committed write.
    """
    import sqlite3  # noqa: PLC0415 - a ledger in PostgreSQL needs none

    cursor = connection.cursor()
    # The first two processes that open a new file may change its mode at once, and SQLite does not
    # wait then.
    for attempt in stamina.retry_context(
        on=sqlite3.OperationalError, attempts=None, timeout=_SHORTEST_BUSY, wait_initial=_PAUSE
    ):
        with attempt:
            cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


__all__ = ["Ledger", "LedgerEntry"]

# Seconds for all tries to create the tables, and between two tries.
_LONGEST_TRY, _PAUSE = (
    1.0,
    0.05,
)
_STATES = ("running", "done", "unknown")
_TRIES, _LONGEST_TRIES = 4, 3.0
"""How often, and for how many seconds, the end of a call is written
until the ledger goes on without.
"""


class LedgerEntry(NamedTuple):
    """A recorded call: when it started and finished, and whether it is
    ``running``, ``done`` or ``unknown``.

    ``outcome`` is JSON text that contains the text that the model read, and the value or the error.
    """

    scope: str
    call_id: str
    tool: str
    state: Literal["running", "done", "unknown"]
    started: datetime
    finished: datetime | None
    outcome: str | None


class _Ended(NamedTuple):
    """The end of a call that the database could not be told yet: ``done``
    with its outcome, or ``unknown``.
    """

    identity: Identity
    owner: str
    claim: Claim


class Ledger:
    """Records calls and their outcomes in a database that processes and machines may share.

    The end of a call is written in several tries. If all of them fail, this process goes on trying,
    and answers from what it knows.

    The database holds the arguments and results of calls, so it is as confidential as this data.
    Threads and processes may share a ledger. Pickling stores the URL of a ledger, not its
    connections.

    Args:
        url: A SQLAlchemy URL for SQLite or PostgreSQL, the path of a SQLite file, or an ``Engine``.
            The ledger creates missing tables. If you pass an ``Engine`` for SQLite, your own
            settings decide how long it waits for other writers, and how much a power failure may
            lose.
        lease: A call counts as running for this many seconds after its process last renewed the
            lease. The process renews the lease while the call runs, so a call may take longer than
            its lease. If the process is suspended for longer than the lease, it loses the call.
        wait: How many seconds to wait for a call that another run has claimed.

    Raises:
        UsageError: The database is neither SQLite nor PostgreSQL, cannot be reached, or a number is
            not valid.
    """

    def __init__(
        self,
        url: "str | Path | sa.URL | sa.Engine" = "toolshape.db",
        *,
        lease: float = 30.0,
        wait: float = 30.0,
    ) -> None:
        for name, seconds in (("lease", lease), ("wait", wait)):
            number: Any = seconds
            is_number = (
                isinstance(number, (int, float))
                and not isinstance(number, bool)
                and math.isfinite(number)
            )
            if not is_number or number < 0 or (name == "lease" and not number):
                raise UsageError(f"{name}= must be a number of seconds, not {seconds!r}")
        self.lease = float(lease)
        self.wait = float(wait)
        self._url = url if isinstance(url, sa.Engine) else url_of(url)
        self._engine = engine_of(self._url, self.wait)
        self._now, self._insert = (
            CLOCKS[self._engine.dialect.name],
            INSERTS[self._engine.dialect.name],
        )
        self._start()
        try:
            self._engine.connect().close()
        except DBAPIError as error:
            self._engine.dispose()
            reason = str(error.orig).strip()
            raise UsageError(f"{self!r} cannot be opened: {reason}") from error

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._is_made = False
        self._running: set[str] = set()
        self._ended_calls: dict[str, _Ended] = {}  # by key
        self._unmade: DBAPIError | None = None  # why the tables could not be made
        self._renewal: threading.Thread | None = None
        self._ended = threading.Event()

    def __reduce__(self) -> Any:
        if isinstance(self._url, sa.Engine):
            raise TypeError("a Ledger with an Engine cannot be pickled: create it with a URL")
        return _unpickle_ledger, (self._url, self.lease, self.wait)

    def __repr__(self) -> str:
        return f"Ledger({self._engine.url.render_as_string(hide_password=True)!r})"

    def __enter__(self) -> "Self":
        """Return the ledger. The end of the ``with`` block closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, and stop renewing the leases of running calls."""
        self._running.clear()
        self._ended.set()
        renewal = self._renewal
        if (
            renewal is not None
            and renewal is not threading.current_thread()
            and os.getpid() == self._process
        ):
            renewal.join()  # otherwise a connection that the thread uses would stay open
        if os.getpid() == self._process:
            for ended in list(self._ended_calls.values()):
                # Their failure was told when they ended.
                with suppress(DBAPIError, ConnectionError):
                    self._write_end(ended)
        self._engine.dispose()

    @contextmanager
    def _transaction(self) -> Generator[sa.Connection]:
        # Forked: the connections belong to the parent, whose threads do not exist here.
        if os.getpid() != self._process:
            self._engine.dispose(close=False)
            self._start()
        try:
            if not self._is_made:
                self._make_tables()
            connection = self._engine.connect()
        except DBAPIError as error:  # then no call can have been recorded, and none is
            raise ConnectionError(f"{self!r} cannot be reached: {error.orig}") from error
        with connection, connection.begin():
            yield connection

    def _make_tables(self) -> None:
        """Make the tables that are missing: who may only read and write tables that
        are there needs no other right.
        """
        with self._lock:
            # Only the first call waits for tables that cannot be made.
            deadline = time.monotonic() + (_LONGEST_TRY if self._unmade is None else 0)
            while True:
                try:
                    with self._engine.begin() as connection:
                        known = sa.inspect(connection)
                        for table in METADATA.sorted_tables:
                            if not known.has_table(table.name):
                                connection.execute(CreateTable(table, if_not_exists=True))
                except DBAPIError as error:  # another process may be creating the tables
                    self._unmade = error
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(_PAUSE)
                else:
                    self._is_made, self._unmade = True, None
                    return

    def claim(self, identity: Identity, *, again: bool) -> Claim:
        """Claim a call if no process has claimed it; ``dispatch`` calls this before it runs a call.

        Args:
            identity: The identity of the call.
            again: Whether a call with an unknown outcome may be claimed again.

        Raises:
            ConnectionError: The database could not be reached: the call was not claimed.
            DBAPIError: The database refused; the call may have been claimed.
        """
        # The insert is the lock: if several processes claim a call at once, the database lets only
        # one insert the row. The other processes read the row under a lock (``FOR UPDATE``), so
        # only one reclaims an abandoned call.
        key, owner = _key(identity), uuid.uuid4().hex
        row = _row(identity)
        known = self._known(identity)
        if known is not None and not (again and known.state == "unknown"):
            return known
        started_values = {
            "state": "started",
            "owner": owner,
            "lease_until": self._now + self.lease,
            "started": self._now,
        }
        with self._transaction() as connection:
            insert = (
                self._insert(CALLS)
                .values(key=key, **row, **started_values)
                .on_conflict_do_nothing()
            )
            if connection.execute(insert.returning(CALLS.c.key)).first() is None:
                claim = self._claim_recorded(connection, key, row, started_values, again=again)
                if claim.state != "ours":
                    return claim
        self._renew(owner)
        return Claim("ours", owner)

    def _claim_recorded(
        self,
        connection: sa.Connection,
        key: str,
        row: dict[str, Any],
        begun: dict[str, Any],
        *,
        again: bool,
    ) -> Claim:
        """Return the claim on a recorded call; if its outcome is unknown and
        ``again`` is set, claim it again.
        """
        stored = connection.execute(self._asked_for(key).with_for_update()).mappings().first()
        # The row was dropped after the insert failed: the caller tries again, as for a running
        # call.
        if stored is None:
            return Claim("running")
        recorded_claim = _to_claim(stored, row)
        if recorded_claim.state != "unknown":
            return recorded_claim
        values = begun if again else {"state": "unknown"}
        connection.execute(sa.update(CALLS).where(CALLS.c.key == key).values(**values))
        if again:
            return Claim("ours", begun["owner"])
        return Claim("unknown")

    def look(self, identity: Identity) -> Claim | None:
        """Read the state of a call without changing it; ``dispatch`` calls
        this before it asks for approval.

        Args:
            identity: The identity of the call.

        Returns:
            The claim, or ``None`` if the call is not recorded. The state is never ``ours``, which
            only ``claim`` returns.
        """
        known = self._known(identity)
        if known is not None:
            return known
        with self._transaction() as connection:
            stored = connection.execute(self._asked_for(_key(identity))).mappings().first()
        if stored is None:
            return None
        return _to_claim(stored, _row(identity))

    def _asked_for(self, key: str) -> Any:
        return sa.select(*CALLS.columns, (CALLS.c.lease_until < self._now).label("is_over")).where(
            CALLS.c.key == key
        )

    def finish(self, identity: Identity, owner: str, outcome: str) -> None:
        """Record the outcome of a claimed call; ``dispatch`` calls this method.

        Args:
            identity: The identity of the call.
            owner: The owner that ``claim`` returned.
            outcome: The result, as JSON text.
        """
        self._end(_Ended(identity, owner, Claim("done", outcome=outcome)))

    def _end(self, ended: _Ended) -> None:
        """Write the end of a call in several tries; if they fail, keep it, and let the
        renewal of leases go on trying.
        """
        key = _key(ended.identity)
        with self._lock:
            self._ended_calls[key] = ended
        tries = stamina.retry_context(
            on=(DBAPIError, ConnectionError),
            attempts=_TRIES,
            timeout=_LONGEST_TRIES,
            wait_initial=_PAUSE,
            wait_max=1.0,
        )
        for attempt in tries:
            with attempt:
                self._write_end(ended)

    def _write_end(self, ended: _Ended) -> None:
        identity = ended.identity
        values: dict[str, Any] = {"state": ended.claim.state}
        if ended.claim.state == "done":
            values |= {"outcome": ended.claim.outcome, "finished": self._now}
        with self._transaction() as connection:
            mine = _is_ours(identity, ended.owner)
            connection.execute(sa.update(CALLS).where(mine).values(**values))
            if _is_token(identity):
                connection.execute(sa.delete(KEPT).where(KEPT.c.token == identity.call_id))
        with self._lock:
            self._ended_calls.pop(_key(identity), None)
            self._running.discard(ended.owner)

    def _known(self, identity: Identity) -> Claim | None:
        """Return what this process knows of a call whose end is not written yet."""
        ended = self._ended_calls.get(_key(identity))
        if ended is None:
            return None
        if ended.identity == identity:
            return ended.claim
        return Claim("other")

    def drop(self, identity: Identity, owner: str, *, has_begun: bool) -> None:
        """Release a claim: if the tool was called, mark the outcome unknown, else forget the call.

        ``dispatch`` calls this method.

        Args:
            identity: The identity of the call.
            owner: The owner that ``claim`` returned.
            has_begun: Whether the tool was called.
        """
        if has_begun:
            self._end(_Ended(identity, owner, Claim("unknown")))
            return
        self._running.discard(owner)
        with self._transaction() as connection:
            connection.execute(sa.delete(CALLS).where(_is_ours(identity, owner)))

    def keep(self, token_id: str, text: str) -> None:
        """Store the payload of a paused plan's token; ``Plan.pause`` calls this method."""
        with self._transaction() as connection:
            connection.execute(sa.insert(KEPT).values(token=token_id, made=self._now, content=text))

    def kept(self, token_id: str) -> str | None:
        """Return the text stored by ``keep``, or ``None`` once the token was
        used; ``Registry.resume`` calls it.
        """
        with self._transaction() as connection:
            text: str | None = connection.scalar(
                sa.select(KEPT.c.content).where(KEPT.c.token == token_id)
            )
        return text

    def entries(self, scope: str | None = None, *, state: str | None = None) -> list[LedgerEntry]:
        """Return the recorded calls, in the order in which they started.

        Args:
            scope: Return only calls in this scope.
            state: Return only calls in this state: ``"running"``, ``"done"`` or ``"unknown"``.
                Check yourself whether unknown calls had an effect.

        Raises:
            UsageError: The state is invalid.
        """
        if state not in (None, *_STATES):
            raise UsageError(f"state= must be one of {', '.join(_STATES)}, not {state!r}")
        is_expired = (CALLS.c.state == "started") & (CALLS.c.lease_until < self._now)
        current_state = sa.case(
            (is_expired, "unknown"), (CALLS.c.state == "started", "running"), else_=CALLS.c.state
        ).label("now")
        query = sa.select(CALLS, current_state).order_by(CALLS.c.started)
        if scope is not None:
            query = query.where(CALLS.c.scope == scope)
        with self._transaction() as connection:
            rows = connection.execute(query).mappings().all()
        return [_entry(row) for row in rows if state in (None, row["now"])]

    def forget(self, *, older_than: timedelta) -> int:
        """Delete old finished calls and old token payloads. A deleted call could run again.

        Args:
            older_than: The age that a call or a payload must exceed.

        Returns:
            The number of deleted calls.
        """
        cutoff = self._now - older_than.total_seconds()
        with self._transaction() as connection:
            connection.execute(sa.delete(KEPT).where(KEPT.c.made < cutoff))
            done = (CALLS.c.state == "done") & (CALLS.c.finished < cutoff)
            return int(connection.execute(sa.delete(CALLS).where(done)).rowcount)

    def _renew(self, owner: str) -> None:
        """Renew the lease of a call while it runs, in a thread that all running calls share."""
        with self._lock:
            self._running.add(owner)
            if self._renewal is None:
                self._ended.clear()
                self._renewal = threading.Thread(
                    target=self._renew_all, name="toolshape-ledger", daemon=True
                )
                self._renewal.start()

    def _renew_all(self) -> None:
        while not self._ended.wait(self.lease / 3):
            with self._lock:
                owners = list(self._running)
                if not owners and not self._ended_calls:
                    self._renewal = None
                    return
            try:
                with self._transaction() as connection:
                    is_owned = CALLS.c.owner.in_(owners) & (CALLS.c.state == "started")
                    connection.execute(
                        sa.update(CALLS).where(is_owned).values(lease_until=self._now + self.lease)
                    )
                for ended in list(self._ended_calls.values()):
                    self._write_end(ended)
            except Exception:  # any error of the database: the next renewal may work
                logging.getLogger("toolshape").exception(
                    "could not renew the leases of running calls"
                )
        with self._lock:
            self._renewal = None


def _unpickle_ledger(url: sa.URL, lease: float, wait: float) -> Ledger:
    return Ledger(url, lease=lease, wait=wait)


def _key(identity: Identity) -> str:
    """Return the key of a call, or of a token; no call has the key of a token, whatever its id
    is.
    """
    parts = [identity.scope, identity.call_id, *(["token"] if _is_token(identity) else [])]
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


def _is_token(identity: Identity) -> bool:
    return not identity.tool


def _row(identity: Identity) -> dict[str, str]:
    return {
        "scope": identity.scope,
        "call_id": identity.call_id,
        "tool": identity.tool,
        "digest": identity.digest,
    }


def _to_claim(stored: Any, row: Mapping[str, str]) -> Claim:
    """Convert a stored row to a claim.

    Its state is ``other`` if the row belongs to a different call with this id.
    """
    if any(stored[name] != value for name, value in row.items()):
        return Claim("other")
    if stored["state"] == "done":
        return Claim("done", outcome=stored["outcome"])
    return Claim("running" if stored["state"] == "started" and not stored["is_over"] else "unknown")


def _is_ours(identity: Identity, owner: str) -> Any:
    return (CALLS.c.key == _key(identity)) & (CALLS.c.owner == owner)


def _entry(row: Any) -> LedgerEntry:
    def to_datetime(seconds: float | None) -> datetime | None:
        if seconds is None:
            return None
        return datetime.fromtimestamp(seconds, timezone.utc)

    started = to_datetime(row["started"])
    assert started is not None  # noqa: S101 - the column has no NULL
    return LedgerEntry(
        row["scope"],
        row["call_id"],
        row["tool"],
        row["now"],
        started,
        to_datetime(row["finished"]),
        row["outcome"],
    )


def __dir__() -> list[str]:
    return sorted(__all__)

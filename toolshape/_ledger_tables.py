"""Defines the tables of a ledger, and for each supported database its clock, its conditional insert and its engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError

from toolshape._errors import UsageError

METADATA = sa.MetaData()
CALLS = sa.Table(
    "toolshape_calls",
    METADATA,
    sa.Column("key", sa.String(64), primary_key=True),  # digest of scope and id, which may be too long for an index
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
# The clock of the database, in seconds since 1970: the clocks of two machines differ.
CLOCKS: dict[str, Any] = {
    "sqlite": sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Double),
    "postgresql": sa.literal_column("extract(epoch from clock_timestamp())::double precision", sa.Double),
}
INSERTS: dict[str, Callable[[sa.Table], Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_SHORTEST_BUSY, _LONGEST_BUSY = 1.0, 30.0  # seconds that SQLite waits for another writer


def url_of(given: "str | Path | sa.URL") -> sa.URL:
    """Return the URL of a database; the path of a file is made absolute, as the process may change its directory.

    Raises:
        UsageError: The URL is invalid, or the database is in memory.
    """
    if isinstance(given, str) and "://" in given:
        try:
            given = sa.make_url(given)
        except ArgumentError as error:
            raise UsageError(f"a ledger takes the URL of a database or the path of a file: {error}") from error
    if not isinstance(given, sa.URL):
        given = sa.URL.create("sqlite", database=str(given))
    if given.get_backend_name() != "sqlite":
        return given
    _refuse_memory(given)
    name = str(given.database)
    return given if name.startswith("file:") else given.set(database=str(Path(name).resolve()))


def _refuse_memory(url: sa.URL) -> None:
    name = url.database or ""
    is_named = name.startswith("file:") and (":memory:" in name or url.query.get("mode") == "memory")
    if name in ("", ":memory:") or is_named:
        raise UsageError("a ledger in memory would be lost with the process: pass the path of a file")


def engine_of(given: "sa.URL | sa.Engine", wait: float) -> sa.Engine:
    """Return the engine of a database. SQLite waits for other writers about as long as ``wait``.

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
        busy = {"timeout": min(max(wait, _SHORTEST_BUSY), _LONGEST_BUSY)} if name == "sqlite" else {}
        try:
            engine = sa.create_engine(url, connect_args=busy)
        except ModuleNotFoundError as error:
            message = f"a ledger in PostgreSQL needs a driver: pip install 'psycopg[binary]' ({error})"
            raise ModuleNotFoundError(message, name=error.name) from error
        if name == "sqlite":
            event.listen(engine, "connect", _make_durable)
    return engine


def _make_durable(connection: Any, _: Any) -> None:
    """Configure SQLite so that readers do not block the writer, and a power failure loses no committed write."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()

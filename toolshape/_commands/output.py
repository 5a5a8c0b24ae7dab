"""What a command prints: a table on a terminal, plain columns elsewhere, and nothing that modules or tools print."""

import atexit
import codecs
import contextlib
import contextvars
import json
import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from toolshape._calls import visible
from toolshape._errors import UsageError
from toolshape._report import table

_STYLES: Mapping[str, str] = {"refused": "bold red", "finding": "yellow", "yes": "green", "ok": "green"}
_OUTPUT: contextvars.ContextVar[TextIO | None] = contextvars.ContextVar("toolshape_output", default=None)


def output() -> TextIO:
    """The stream that a command prints to."""
    return _OUTPUT.get() or sys.stdout


@contextlib.contextmanager
def own_output() -> Generator[None]:
    """Keep standard output for what the command prints: what anything else prints goes to standard error.

    Programs read what commands print, and an MCP client reads nothing but messages. Loaded modules and tools print by
    ``print``, by the descriptor, by processes that they start, and when the process ends.
    """
    given: Any = sys.stdout
    with contextlib.ExitStack() as stack:
        if given is None:  # it was closed before we began
            own: Any = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
        elif _is_descriptor(given, 1):
            own = stack.enter_context(_moved_output(given))
        else:
            own = given
        stack.callback(_OUTPUT.reset, _OUTPUT.set(own))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield


@contextlib.contextmanager
def own_input() -> Generator[TextIO]:
    """Keep standard input for the command: modules and tools find nothing in it, and take no message out of it."""
    given: Any = sys.stdin
    if not _is_descriptor(given, 0):
        yield given
        return
    own = os.fdopen(os.dup(0), encoding="utf-8", errors="replace", closefd=False)  # a thread may be reading at the end
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
        sys.stdin = nothing
        try:
            yield own
        finally:
            sys.stdin = given
            os.dup2(own.fileno(), 0)


def _is_descriptor(stream: Any, number: int) -> bool:
    """Whether a stream is the descriptor of this number, and no terminal, where a person reads whatever stands there."""
    try:
        return stream.fileno() == number and not stream.isatty()
    except (AttributeError, OSError, ValueError):
        return False


@contextlib.contextmanager
def _moved_output(given: TextIO) -> Generator[TextIO]:
    """The same output by another descriptor, while the usual one leads to standard error."""
    given.flush()
    own = os.fdopen(os.dup(1), "w", encoding=given.encoding, errors=given.errors)
    _divert()
    try:
        yield own
        own.flush()
    finally:
        given.flush()
        if threading.active_count() == 1:  # else a thread of a tool may print until the process ends
            os.dup2(own.fileno(), 1)
        atexit.register(_divert)  # what modules registered runs after this
        with contextlib.suppress(OSError):  # the flush above has raised it
            own.close()


def _divert() -> None:
    with contextlib.suppress(Exception):  # at the end of the process there may be no stream any more
        sys.stdout.flush()
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), 1)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """What an encoding does not have, as JSON escapes it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


_ESCAPED = "toolshape.escaped"
codecs.register_error(_ESCAPED, _escaped)


def _shown(text: str, stream: TextIO) -> str:
    """On a terminal, a text that holds nothing which moves the cursor, or is read otherwise than it is written."""
    return "\n".join(map(visible, text.split("\n"))) if stream.isatty() else text


def _encoding() -> str:
    return getattr(output(), "encoding", None) or "utf-8"


def _writable(text: str) -> str:
    """A text with what standard output cannot hold escaped: no encoding has half a surrogate pair, some have little."""
    encoding = _encoding()
    text = _shown(text, output())
    made = text.encode(encoding, _ESCAPED).decode(encoding)
    if made != text:
        click.echo(f"standard output is {encoding}, and what that cannot hold is escaped: PYTHONUTF8=1 helps", err=True)
    return made


def echo(text: str) -> None:
    """Print a text: what standard output cannot hold is escaped, and standard error says so."""
    click.echo(_writable(text), file=output())


def echo_json(text: str, *, nl: bool = True) -> None:
    """Print JSON: in ASCII where standard output is not UTF-8, as programs read JSON in no other encoding."""
    encoding = "utf-8" if codecs.lookup(_encoding()).name == "utf-8" else "ascii"
    click.echo(_shown(text, output()).encode(encoding, _ESCAPED).decode(encoding), file=output(), nl=nl)


def show_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows under their heads: with colour and fitted to the width on a terminal, else whole and plain."""
    texts = [[str(cell) for cell in row] for row in rows]
    if not output().isatty():
        echo(table(head, texts))
        return
    shown = Table(*head, box=None, pad_edge=False, header_style="bold")
    for row in texts:
        shown.add_row(*[Text(_writable(cell), style=_STYLES.get(cell, "")) for cell in row])
    Console(file=output()).print(shown)


def say(text: str, *, style: str = "") -> None:
    """Print a line."""
    if output().isatty():
        Console(file=output()).print(Text(_writable(text), style=style))
    else:
        echo(text)


def show_error(text: str) -> None:
    """Print what went wrong on standard error."""
    if sys.stderr.isatty():
        Console(stderr=True).print(Text("Error: ", style="bold red") + Text(_shown(text, sys.stderr), style=""))
    else:
        click.echo(f"Error: {text}", err=True)


def refuse_unwritable(*paths: Path | None) -> None:
    """Check before any work that files can be written.

    Raises:
        UsageError: One cannot: there is no such folder, or it is not ours to write.
    """
    for path in paths:
        if path is not None and not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
            raise UsageError(f"{path} cannot be written")


def write(path: Path, text: str) -> None:
    """Write a file; what is no Unicode text, as half a surrogate pair in somebody's description, is escaped.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", errors=_ESCAPED)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


@contextlib.contextmanager
def progress(what: str, total: int) -> Generator[Callable[[str], object]]:
    """Show how much of some work is done, on a terminal's standard error; call what this gives at each piece.

    Args:
        what: What is done.
        total: How many pieces there are.
    """
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as shown:
        task = shown.add_task(what, total=total)
        yield lambda now: shown.update(task, advance=1, description=now)

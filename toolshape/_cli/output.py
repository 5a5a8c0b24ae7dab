"""Prints the output of commands: tables on a terminal, plain columns elsewhere.

Tools print to standard error.
"""

import atexit
import codecs
import contextlib
import contextvars
import json
import math
import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from toolshape._bound.targets import TargetError
from toolshape._families.names import available
from toolshape._records.errors import UsageError
from toolshape._records.report import table
from toolshape._records.shown import escape_invisible

_STYLES: Mapping[str, str] = {"yes": "green", "ok": "green"}
_OUTPUT: contextvars.ContextVar[TextIO | None] = contextvars.ContextVar(
    "toolshape_output", default=None
)


def output() -> TextIO:
    """Return the stream that a command prints to."""
    return _OUTPUT.get() or sys.stdout


@contextlib.contextmanager
def reserve_output() -> Generator[None]:
    """Reserve standard output for the command: all other prints go to standard error.

    Programs parse the output of commands, and an MCP client accepts only messages. But loaded
    modules and tools may print as well: with ``print``, directly to the descriptor, from child
    processes, or when the process ends.
    """
    original_output: Any = sys.stdout
    with contextlib.ExitStack() as stack:
        if original_output is None:  # the process was started without standard output
            command_output: Any = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
        elif _is_descriptor(original_output, 1):
            command_output = stack.enter_context(_move_output(original_output))
        else:
            command_output = original_output
        stack.callback(_OUTPUT.reset, _OUTPUT.set(command_output))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield


def standard_input() -> TextIO:
    """Return standard input.

    Raises:
        TargetError: The process was started without it, as services and cron may do.
    """
    stream: TextIO | None = sys.stdin
    if stream is None:
        raise TargetError("standard input is closed")
    return stream


@contextlib.contextmanager
def reserve_input() -> Generator[TextIO]:
    """Reserve standard input for the command's messages: modules and tools get
    empty input, and cannot read them.

    Raises:
        TargetError: Standard input is closed.
    """
    original_input: Any = standard_input()
    if not _is_descriptor(original_input, 0):
        yield original_input
        return
    # Not closed: a thread may still read from it.
    command_input = os.fdopen(os.dup(0), encoding="utf-8", errors="replace", closefd=False)
    with Path(os.devnull).open(encoding="utf-8") as empty_input:
        os.dup2(empty_input.fileno(), 0)
        sys.stdin = empty_input
        try:
            yield command_input
        finally:
            sys.stdin = original_input
            os.dup2(command_input.fileno(), 0)


def _is_descriptor(stream: Any, number: int) -> bool:
    """Return whether a stream uses this descriptor and is not a terminal: on a
    terminal, users may see all prints.
    """
    try:
        return stream.fileno() == number and not stream.isatty()
    except (AttributeError, OSError, ValueError):
        return False


@contextlib.contextmanager
def _move_output(given: TextIO) -> Generator[TextIO]:
    """Duplicate standard output to another descriptor, and redirect descriptor 1
    to standard error in the block.
    """
    # Redirecting ``sys.stdout`` alone would miss prints from C code and child processes, which use
    # descriptor 1. At the end the descriptor is restored, unless threads of tools still run. When
    # the process exits, ``_divert`` runs before the exit handlers of modules, which then print to
    # standard error as well.
    given.flush()
    command_output = os.fdopen(os.dup(1), "w", encoding=given.encoding, errors=given.errors)
    _divert()
    try:
        yield command_output
        command_output.flush()
    finally:
        given.flush()
        if threading.active_count() == 1:  # a thread of a tool may print until the process ends
            os.dup2(command_output.fileno(), 1)
        atexit.register(_divert)  # runs before the handlers that modules have registered
        with contextlib.suppress(OSError):  # the flush above has raised the same error
            command_output.close()


def _divert() -> None:
    with contextlib.suppress(Exception):  # at exit the stream may be gone
        sys.stdout.flush()
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        with Path(os.devnull).open("wb") as null_device:
            os.dup2(null_device.fileno(), 1)


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks with JSON escapes.

    This is an error handler for ``codecs``.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


_ESCAPED = "toolshape.escaped"
codecs.register_error(_ESCAPED, _escape)


def _escape_lines(text: str) -> str:
    """Escape characters that move the cursor or look misleading: a person reads
    the text, perhaps behind a pipe.
    """
    return "\n".join(map(escape_invisible, text.split("\n")))


def _escape_for_terminal(text: str, stream: TextIO) -> str:
    """Escape such characters in data only if the stream is a terminal,
    because a program may read the data.
    """
    if stream.isatty():
        return _escape_lines(text)
    return text


def _encoding() -> str:
    return getattr(output(), "encoding", None) or "utf-8"


def _make_encodable(text: str, *, is_data: bool = False) -> str:
    """Escape the characters that standard output cannot encode: lone surrogates,
    and others if it is not UTF-8.
    """
    encoding = _encoding()
    if is_data:
        text = _escape_for_terminal(text, output())
    else:
        text = _escape_lines(text)
    encodable_text = text.encode(encoding, _ESCAPED).decode(encoding)
    if encodable_text != text:
        click.echo(
            f"standard output is {encoding}, so some characters are escaped: set PYTHONUTF8=1 to "
            "print them",
            err=True,
        )
    return encodable_text


def echo(text: str, *, is_data: bool = False) -> None:
    """Print text.

    Escape characters that standard output cannot encode, and add a note on standard error.

    Args:
        text: The text.
        is_data: Whether a program may read the text, so other characters are escaped only on a
            terminal.
    """
    click.echo(_make_encodable(text, is_data=is_data), file=output())


def echo_json(text: str, *, nl: bool = True) -> None:
    """Print JSON.

    If standard output is not UTF-8, escape non-ASCII characters, because programs read JSON as
    UTF-8.
    """
    if codecs.lookup(_encoding()).name == "utf-8":
        encoding = "utf-8"
    else:
        encoding = "ascii"
    click.echo(
        _escape_for_terminal(text, output()).encode(encoding, _ESCAPED).decode(encoding),
        file=output(),
        nl=nl,
    )


def show_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table: coloured and fitted to the width on a terminal, plain and complete
    elsewhere.
    """
    texts = [[str(cell) for cell in row] for row in rows]
    if not output().isatty():
        echo(table(head, texts))
        return
    terminal_table = Table(*head, box=None, pad_edge=False, header_style="bold")
    for row in texts:
        terminal_table.add_row(
            *[Text(_make_encodable(cell), style=_STYLES.get(cell, "")) for cell in row]
        )
    Console(file=output()).print(terminal_table)


def show_note(head: str, lines: Sequence[str], *, style: str) -> None:
    """Print a line, and indented lines below it. On a terminal, wrap the lines to its width."""
    if output().isatty():
        console = Console(file=output())
        console.print(Text(_make_encodable(head), style=style))
        for line in lines:
            console.print(Padding(Text(_make_encodable(line)), (0, 0, 0, 4)))
    else:
        echo("\n    ".join([head, *lines]))


def say(text: str, *, style: str = "") -> None:
    """Print a line."""
    if output().isatty():
        Console(file=output()).print(Text(_make_encodable(text), style=style))
    else:
        echo(text)


def show_error(text: str) -> None:
    """Print an error on standard error."""
    if sys.stderr.isatty():
        Console(stderr=True).print(
            Text("Error: ", style="bold red") + Text(_escape_lines(text), style="")
        )
    else:
        click.echo(f"Error: {_escape_lines(text)}", err=True)


def refuse_not_a_number(context: click.Context, parameter: click.Parameter, value: float) -> float:
    """Check a number of an option, for ``callback=``: no range holds NaN, and
    none of its comparisons is true.

    Raises:
        BadParameter: The value is not a number.
    """
    if math.isnan(value):
        raise click.BadParameter("nan is not a number", context, parameter)
    return value


def split_names(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Split names that are separated by commas, for ``callback=``."""
    return tuple(name.strip() for given in value for name in given.split(",") if name.strip())


def refuse_no_provider(context: click.Context, _: click.Parameter, value: Any) -> Any:
    """Check that an option names a provider, for ``callback=``; a user who left
    it out may not know the names.

    Raises:
        UsageError: It names none.
    """
    if value or context.resilient_parsing:
        return value
    names = ", ".join(name for name in available() if ":" not in name)
    raise click.UsageError(f"pass --to PROVIDER; the providers are {names}", context)


def refuse_unwritable(*paths: Path | None) -> None:
    """Check that files can be written, before the command does any work.

    Raises:
        UsageError: A file cannot be written: its folder does not exist, or a permission is missing.
    """
    for path in paths:
        if path is not None and not os.access(
            path if path.exists() else path.absolute().parent, os.W_OK
        ):
            raise UsageError(f"{path} cannot be written")


def write(path: Path, text: str) -> None:
    """Write a file. Escape lone surrogates, because a description may contain them.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", errors=_ESCAPED)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


@contextlib.contextmanager
def progress(what: str, total: int) -> Generator[Callable[[str], object]]:
    """Show a progress bar if standard error is a terminal; yield the
    function that advances the bar.

    Args:
        what: The label of the bar.
        total: The number of steps.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=total)
        yield lambda now: bar.update(task, advance=1, description=now)

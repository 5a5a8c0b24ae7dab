"""Rows in; a table on a terminal, plain columns elsewhere."""

import contextlib
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from toolshape.report import table

__all__ = ["progress", "say", "show_error", "show_table"]

_STYLES: Mapping[str, str] = {"refused": "bold red", "finding": "yellow", "yes": "green", "ok": "green"}


def show_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows under their heads: with colour and fitted to the width on a terminal, else whole and plain."""
    texts = [[str(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        click.echo(table(head, texts))
        return
    shown = Table(*head, box=None, pad_edge=False, header_style="bold")
    for row in texts:
        shown.add_row(*[Text(cell, style=_STYLES.get(cell, "")) for cell in row])
    Console().print(shown)


def say(text: str, *, style: str = "") -> None:
    """Print a line."""
    if sys.stdout.isatty():
        Console().print(Text(text, style=style))
    else:
        click.echo(text)


def show_error(text: str) -> None:
    """Print what went wrong on standard error."""
    if sys.stderr.isatty():
        Console(stderr=True).print(Text("Error: ", style="bold red") + Text(text, style=""))
    else:
        click.echo(f"Error: {text}", err=True)


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

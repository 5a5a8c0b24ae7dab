"""Prints lines and tables for people: as text, in a notebook, and by rich."""

import html
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class Line(NamedTuple):
    """One line of what is printed for people: who says it, what is
    said, and how far it is indented.
    """

    who: str
    what: str
    depth: int = 0


def lines_as_text(lines: Iterable[Line]) -> str:
    """Return lines as plain text."""
    return "\n".join(f"{'  ' * line.depth}{line.who} {line.what}".rstrip() for line in lines)


def lines_as_html(lines: Iterable[Line]) -> str:
    """Return lines as a part of an HTML page, for a notebook."""
    rows = [
        (
            f'<div style="padding-left:{2 * line.depth}em"><b>{html.escape(line.who)}</b> '
            f"{html.escape(line.what)}</div>"
        )
        for line in lines
    ]
    return f"<div>{''.join(rows)}</div>"


def lines_as_rich(lines: Iterable[Line]) -> Any:
    """Return lines as a renderable of rich, which asks for it and is therefore installed."""
    from rich.text import Text  # noqa: PLC0415 - an extra

    text = Text()
    for number, line in enumerate(lines):
        text.append("\n" * (number > 0) + "  " * line.depth)
        text.append(line.who, style="bold")
        text.append(f" {line.what}")
    return text


def rows_as_html(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as a part of an HTML page, for a notebook."""
    cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def rows_as_rich(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Any:
    """Return a table as a renderable of rich, which asks for it and is therefore installed."""
    from rich.table import Table  # noqa: PLC0415 - an extra
    from rich.text import Text  # noqa: PLC0415 - an extra

    shown_table = Table(*head, box=None, pad_edge=False)
    for row in rows:
        shown_table.add_row(*map(Text, row))
    return shown_table

"""Shows values on one line: cut to a length, characters that nobody sees escaped."""

import json
import re
from typing import Any, Protocol

_LONGEST_SHOWN = 80  # characters of a value in a repr
_LONGEST_LINE = 160  # characters of all arguments


def shorten(value: Any, *, is_json: bool = False) -> str:
    """Return a value as JSON or as its ``repr``, cut to fit on a line; if
    ``is_json``, a string is shown as it is.
    """
    if isinstance(value, (str, bytes)):
        text = value[: _LONGEST_SHOWN + 1]
        text = text if is_json and isinstance(text, str) else repr(text)
    else:
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            text = _repr(value)
    text = escape_invisible(" ".join(text.split()))
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def escape_invisible(text: str) -> str:
    """Escape every character that is invisible, ends a line, or changes the direction of the text.

    A model or a server may write such characters into names and arguments. A person who decides on
    a call must see them.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1] for character in text
    )


def readable_name(name: str) -> str:
    """Return a tool's name with an underscore for each character that providers seldom accept."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)


class _Reader(Protocol):
    @property
    def has_secrets(self) -> bool: ...
    def received(self, arguments: Any, /) -> dict[str, Any] | None: ...


class _Call(Protocol):
    """A call of a response: ``Call``. Its reader knows whether the tool takes secrets."""

    @property
    def name(self) -> str | None: ...
    @property
    def wire_name(self) -> str: ...
    @property
    def arguments(self) -> dict[str, Any] | None: ...
    @property
    def arguments_raw(self) -> Any: ...
    @property
    def reader(self) -> _Reader | None: ...


def is_open(call: _Call) -> bool:
    """Return whether the values of a call may be shown: its tool is known, and takes no secret."""
    return call.reader is not None and not call.reader.has_secrets


def shown(call: _Call) -> str:
    """Return a call as a person may see it:
    ``find_order(order_id="45128")``; see ``show_arguments``.
    """
    name = escape_invisible(call.name or call.wire_name)
    return f"{name}({show_arguments(_names_of(call), is_open=is_open(call))})"


def _names_of(call: _Call) -> dict[str, Any] | None:
    """Return the arguments of a call; of a tool with secrets, those that are
    received, whose names may be masked.
    """
    reader = call.reader
    if reader is None or not reader.has_secrets:
        return call.arguments
    return reader.received(call.arguments_raw)


def shown_json(call: _Call, arguments: Any) -> str:
    """Return arguments of a call as JSON on one line; only their names,
    where the values may not be shown.
    """
    if is_open(call):
        return shorten(arguments, is_json=True)
    return show_arguments(_names_of(call), is_open=False)


def show_arguments(arguments: Any, *, is_open: bool) -> str:
    """Return arguments as they may be seen.

    Args:
        arguments: The arguments in canonical form, or ``None`` if they cannot be read.
        is_open: Whether the tool is known to take no secret. Otherwise only the names are shown,
            because a model may have written a secret into any argument.
    """
    if not isinstance(arguments, dict):
        return "…"
    names = [escape_invisible(str(name)) for name in arguments]
    if not is_open:
        return shorten(", ".join(names), is_json=True)
    values = map(shorten, arguments.values())
    line = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[: _LONGEST_LINE - 1]}…"


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # a user's __repr__ may raise anything
        return f"<{type(value).__name__}>"


def as_sendable(text: str) -> str:
    """Return text in which each half of a surrogate pair is a replacement character,
    because no client can send it.

    Python makes such halves of file names that are not UTF-8, and of pipes on Windows.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

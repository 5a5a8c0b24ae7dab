"""How one tool's arguments from one provider are validated, such as the coercion rules."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import from_json

from toolshape._records.calls import Coercion
from toolshape._schema.arrows import Arrow, Dropped
from toolshape._schema.values import UnreadableError
from toolshape._validation.json_text import has_every_key, keys_in, parse_json

Validated: TypeAlias = tuple[Any, tuple[Coercion, ...]]
Validate: TypeAlias = Callable[[Any], Validated]
FindUnchecked: TypeAlias = Callable[[Any], list[tuple[str, str]]]
"""Takes valid arguments; returns the path of each value that was not checked
in full, and what was left out.
"""


class ValidationSettings(NamedTuple):
    """How the payloads for one tool are validated.

    ``name`` is the tool's name as the model sees it, and ``rules`` are the coercion rules that are
    on. ``back`` maps arguments in a provider's wire form to canonical form; it is ``None`` if both
    forms are the same. If ``drops`` is set, ``back`` does one thing: it drops null fields from the
    objects that ``drops`` lists. If ``annotates`` is true, an error quotes the model's own JSON,
    with comments. ``takes_text``: ``back`` also maps plain text to the arguments.
    """

    name: str
    rules: frozenset[str]
    back: Arrow | None = None
    drops: Dropped | None = None
    annotates: bool = False
    takes_text: bool = False


def to_canonical(arguments: Any, back: Arrow) -> Any:
    """Convert arguments to canonical form; if they are not a JSON object, or
    repeat a key, return them unchanged.

    Raises:
        UnreadableError: JSON text in a string of the arguments repeats a key.
    """
    value = arguments
    if isinstance(value, (str, bytes)):
        try:
            value = from_json(value)
        except ValueError:
            return arguments
        if isinstance(value, dict) and not has_every_key(arguments, keys_in(value)):
            try:
                parse_json(arguments, None)
            except UnreadableError:
                return arguments
    if isinstance(value, dict):
        return back(value)
    return arguments

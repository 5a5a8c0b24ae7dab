"""Defines how one tool validates the arguments from one provider: name, rules, and the mapping to canonical form."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import from_json

from toolshape._calls import Coercion
from toolshape._schema.arrows import Arrow, Dropped
from toolshape._schema.values import UnreadableError
from toolshape._validation.json_text import has_every_key, keys_in, parse_json

Validated: TypeAlias = tuple[Any, tuple[Coercion, ...]]
Validate: TypeAlias = Callable[[Any], Validated]


class ValidationSettings(NamedTuple):
    """How the payloads of one tool are validated.

    ``name`` is the tool's name as the model sees it; ``rules`` are the coercion rules that are on. ``back`` maps
    arguments in a provider's wire form to canonical form (``None``: both forms are the same). If ``drops`` is set,
    ``back`` only drops null fields from the objects listed there. If ``annotates`` is true, an error quotes the
    model's own JSON, with comments.
    """

    name: str
    rules: frozenset[str]
    back: Arrow | None = None
    drops: Dropped | None = None
    annotates: bool = False


def to_canonical(arguments: Any, back: Arrow) -> Any:
    """Convert arguments to canonical form; if they are not a JSON object, or repeat a key, return them unchanged.

    Raises:
        UnreadableError: A JSON text inside the arguments repeats a key.
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
    return back(value) if isinstance(value, dict) else arguments

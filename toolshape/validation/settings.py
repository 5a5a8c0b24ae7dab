"""How one tool validates the arguments of one provider: name, rules, and the mapping to canonical form."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import from_json

from toolshape.calls import Coercion
from toolshape.schema.arrows import Arrow, Dropped
from toolshape.schema.values import UnreadableError
from toolshape.validation.json_text import has_every_key, keys_in, parse_json

__all__ = ["Validate", "Validated", "ValidationSettings", "to_canonical"]

Validated: TypeAlias = tuple[Any, tuple[Coercion, ...]]
Validate: TypeAlias = Callable[[Any], Validated]


class ValidationSettings(NamedTuple):
    """On what terms the payloads of a tool are taken.

    ``name`` is the tool's as the model knows it, ``rules`` are the coercion rules that are on, ``back`` takes arguments
    in a provider's form to the canonical one (``None``: they are the same); all it does is to drop fields that are
    null, where ``drops`` says of which objects. ``annotates``: a model is shown its own JSON with comments.
    """

    name: str
    rules: frozenset[str]
    back: Arrow | None = None
    drops: Dropped | None = None
    annotates: bool = False


def to_canonical(arguments: Any, back: Arrow) -> Any:
    """The arguments in canonical form; what is no JSON object, or has a key twice, stays as it is.

    Raises:
        UnreadableError: A key comes twice in JSON text inside them.
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

"""The coercion rules: each makes one kind of invalid value one that the schema accepts."""

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from toolshape._records.errors import did_you_mean, nearest
from toolshape._schema.places import Location
from toolshape._schema.values import WrittenFloat

RULES: Mapping[str, bool] = {
    "empty_as_no_arguments": True,
    "json_text": True,
    "number_text": True,
    "text_from_integer": True,
    "integral_float": True,
    "null_as_default": True,
    "null_text": True,
    "enum_case": True,
    "bool_text": False,
    "scalar_as_list": False,
    "ignore_extra": False,
    "repair_json": False,
}
"""Every coercion rule, and whether it is on by default."""

_BY_DEFAULT = frozenset(rule for rule, on in RULES.items() if on)

Parse: TypeAlias = Callable[[str], tuple[Any, bool]]
"""A parser for JSON text: it returns the value and whether it repaired the
text, or raises ``ValueError``.
"""
Proposal: TypeAlias = tuple[str, Any]
"""The name of a rule, and the coerced value."""

OMIT = object()
"""The value that a rule returns if it removes the field or item."""

_SEVERAL = r"""[,;|\n]|^\s*[\[{("']"""
_EXACT_FLOATS = 2**53
_LONGEST_NUMBER = 300  # digits; no float needs more, and Python rejects very long integers
_LONGEST_NAME = 100
_LIKENESS = 0.8
_LIKENESS_IF_SHORT = 0.6
_SHORT_NAME = 5  # letters
_BOOLEANS = {"true": True, "false": False}
_NULLS = ("null", "None")
_CONTAINERS = frozenset({"array", "object"})
SCALARS = frozenset({"string", "integer", "number", "boolean", "choice", "decimal", "text"})


class Expected(NamedTuple):
    """What the schema expects at one place.

    ``location`` is the place in the JSON value. ``kinds`` are the JSON types that the schema
    accepts there. Further kinds are ``list`` (an array of any length), ``choice`` (one of
    ``choices``), ``union`` (one of ``branches``), ``decimal``, ``json`` (a string that contains
    JSON) and ``text`` (a string in a fixed format, such as a date). ``switched`` are the rules that
    the author switched on or off with ``Coerce``, at this place or around it. ``fields`` returns an
    object's field names. ``tags`` are the names of a union's discriminator; if ``has_optional_tag``
    is true, the tag may be omitted. ``steps`` is the number of steps in a fault's location that
    lead to this place. ``content`` compiles a checker for the JSON in a string. ``is_behind_code``:
    a before or wrap validator of the author's is given the value. ``is_scalar``: the fault is
    exactly at this place, the schema expects a scalar, and neither strict mode nor ``Coerce``
    applies. ``default`` returns, as JSON, the value that the function gets if the field is omitted.
    """

    location: Location = ()
    kinds: frozenset[str] = frozenset()
    choices: tuple[Any, ...] = ()
    nullable: bool = False
    has_default: bool = False
    strict: bool = False
    switched: Mapping[str, bool] = {}
    fields: Callable[[], Iterable[str]] = tuple
    tags: tuple[str, ...] = ()
    branches: tuple[Any, ...] = ()
    steps: int = 0
    is_behind_code: bool = False
    content: Callable[[], Any] | None = None
    has_optional_tag: bool = False
    is_scalar: bool = False
    default: Callable[[], Any] | None = None

    def outcome(self, after: Any) -> Any:
        """Return the value to record for this place after a coercion: the
        default if the value was removed.
        """
        if after is not OMIT:
            return after
        if self.default is None:
            return None
        return self.default()

    def tag_in(self, found: Any) -> str | None:
        """Return the name of the discriminator that a value has or should have;
        ``None`` if no discriminator exists.
        """
        present_tags = (name for name in self.tags if isinstance(found, dict) and name in found)
        return next(present_tags, self.tags[-1] if self.tags else None)


ExpectedAt: TypeAlias = Callable[[Location], Expected | None]
"""A lookup from a location in a validator's error to what the schema expects there,
or ``None`` if that is unknown.
"""


@dataclass(frozen=True, init=False)
class Coerce:
    """Switch coercion rules on or off for a parameter or field and everything inside it.

    Write ``Annotated[bool, Coerce("bool_text")]``, for example.

    Args:
        *on: The names of rules to switch on.
        **switched: Rules to switch on or off by name, such as ``Coerce(number_text=False)``.

    Raises:
        ValueError: A rule is unknown, or a value is not a bool.
    """

    rules: tuple[tuple[str, bool], ...]

    def __init__(self, *on: str, **switched: bool) -> None:
        rules = {**dict.fromkeys(on, True), **switched}
        choose_rules(rules)
        object.__setattr__(self, "rules", tuple(rules.items()))

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Store the rules in the metadata of the core schema."""
        schema = handler(source)
        metadata = schema.get("metadata", {})
        rules = {**metadata.get(COERCE, {}), **dict(self.rules)}
        return {**schema, "metadata": {**metadata, COERCE: rules}}


COERCE = "toolshape_coerce"
"""The key for the rules from ``Coerce`` in a core schema's metadata."""


def choose_rules(*layers: Mapping[str, bool] | bool | None) -> frozenset[str]:
    """Return the rules that are on: start from the defaults, and apply each layer in order.

    A mapping switches the rules that it names on or off. ``False`` switches all rules off, and
    ``True`` restores the defaults.

    Raises:
        ValueError: A layer names an unknown rule, or is neither a mapping nor a bool.
        ImportError: ``repair_json`` is on, but its extra is not installed.
    """
    chosen = dict(RULES)
    for layer in layers:
        if isinstance(layer, bool):
            chosen = {rule: layer and is_on_by_default for rule, is_on_by_default in RULES.items()}
        elif isinstance(layer, Mapping):
            for rule, is_on in layer.items():
                if rule not in RULES:
                    hint = did_you_mean(str(rule), RULES)
                    raise ValueError(f"no coercion rule {rule!r}" + (f", {hint}" if hint else ""))
                if is_on is not True and is_on is not False:
                    message = f"the coercion rule {rule!r} must be True or False, not {is_on!r}"
                    raise ValueError(message)
            chosen.update(layer)
        elif layer is not None:
            message = (
                "coercion rules must be a dict of names to True or False, or False for none, "
                f"not {layer!r}"
            )
            raise ValueError(message)
    if chosen["repair_json"] and not is_installed("json5"):
        raise ImportError("the rule repair_json needs json5: pip install 'toolshape[repair]'")
    active_rules = frozenset(rule for rule, is_on_by_default in chosen.items() if is_on_by_default)
    # Nearly all tools share one set.
    return _BY_DEFAULT if active_rules == _BY_DEFAULT else active_rules


def is_installed(library: str) -> bool:
    """Return whether an optional library is installed."""
    import importlib.util  # noqa: PLC0415 - costs a thirtieth of toolshape's import time, and few callers need it

    try:
        return importlib.util.find_spec(library) is not None
    except ValueError:  # something blocked the import: ``sys.modules`` holds None
        return False


def is_misspelt(name: str, known: Iterable[str]) -> bool:
    """Return whether an unknown field's name is clearly a misspelling of a known name."""
    if len(name) > _LONGEST_NAME:
        return False
    names = list(known)
    plain_name = re.sub(r"[\W_]", "", name).casefold()
    has_same_letters = any(re.sub(r"[\W_]", "", other).casefold() == plain_name for other in names)
    return (
        has_same_letters
        or nearest(name, names, _LIKENESS if len(name) > _SHORT_NAME else _LIKENESS_IF_SHORT)
        is not None
    )


def propose(
    found: Any,
    expected: Expected,
    rules: frozenset[str],
    parse: Parse,
    item: Expected | None = None,
) -> Proposal | None:
    """Return the first applicable rule that is on, with the coerced value;
    return ``None`` if no rule applies.

    Args:
        found: The invalid value.
        expected: What the schema expects in its place.
        rules: The coercion rules that are on.
        parse: The parser for JSON text, which repairs the text if the rules allow repairs.
        item: What the schema expects for each item, if it expects a list at this place.
    """
    for candidate in (
        _propose_from_null(expected)
        if found is None
        else _propose_from_any(found, expected, parse, item)
    ):
        if candidate[0] in rules:
            return candidate
    return None


def _propose_from_null(expected: Expected) -> list[Proposal]:
    if expected.has_default and not expected.nullable:
        return [("null_as_default", OMIT)]
    return []


def _propose_from_any(
    found: Any, expected: Expected, parse: Parse, item: Expected | None
) -> list[Proposal]:
    kinds = expected.kinds
    proposals: list[Proposal] = []
    if isinstance(found, str):
        proposals = _propose_from_text(found, expected, parse)
    elif isinstance(found, int) and not isinstance(found, bool) and "string" in kinds:
        proposals = [("text_from_integer", str(found))]
    elif (
        isinstance(found, float)
        and (number := _integral(found)) is not None
        and ("integer" in kinds or number in _integers(expected.choices))
    ):
        proposals = [("integral_float", number)]
    if "list" in kinds and item is not None:
        # An item of another list is not wrapped: for ``list[list[int]]``, ``[1, 2]`` may mean
        # ``[[1, 2]]``, and not ``[[1], [2]]``.
        in_list = bool(expected.location) and isinstance(expected.location[-1], int)
        if not in_list and _is_one_item(found, item):
            proposals.append(("scalar_as_list", [found]))
    return proposals


def _propose_from_text(found: str, expected: Expected, parse: Parse) -> list[Proposal]:
    proposals: list[Proposal] = []
    if not _CONTAINERS.isdisjoint(expected.kinds):
        proposals = _propose_from_json_text(found, expected.kinds, parse)
    elif len(found) <= _LONGEST_NUMBER:
        proposals = _propose_from_word(found, expected)
    if expected.nullable and found in _NULLS:
        # "null" may mean null, or a choice such as "NULL"; picking one meaning would be a guess.
        if any(rule == "enum_case" for rule, _ in proposals):
            return []
        return [*proposals, ("null_text", None)]
    return proposals


@functools.cache
def _integer_text() -> re.Pattern[str]:
    return re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)


@functools.cache
def _number_text() -> re.Pattern[str]:
    return re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)


def _propose_from_word(found: str, expected: Expected) -> list[Proposal]:
    kinds, is_integer = expected.kinds, bool(_integer_text().fullmatch(found))
    if is_integer and ("integer" in kinds or "number" in kinds):
        return [("number_text", int(found))]
    if "number" in kinds and _number_text().fullmatch(found) and math.isfinite(float(found)):
        return [("number_text", float(found))]
    if "boolean" in kinds and found.lower() in _BOOLEANS:
        return [("bool_text", _BOOLEANS[found.lower()])]
    if "choice" in kinds:
        return _propose_from_choice(found, expected)
    return []


def _propose_from_choice(found: str, expected: Expected) -> list[Proposal]:
    texts = [
        choice
        for choice in expected.choices
        if isinstance(choice, str) and choice.casefold() == found.casefold()
    ]
    if len(texts) == 1:
        return [("enum_case", texts[0])]
    if _integer_text().fullmatch(found) and int(found) in _integers(expected.choices):
        return [("number_text", int(found))]
    if any(
        choice is _BOOLEANS.get(found.lower())
        for choice in expected.choices
        if isinstance(choice, bool)
    ):
        return [("bool_text", _BOOLEANS[found.lower()])]
    return []


def _propose_from_json_text(found: str, kinds: frozenset[str], parse: Parse) -> list[Proposal]:
    try:
        parsed_value, was_repaired = parse(found)
    except ValueError:
        return []
    if (isinstance(parsed_value, list) and "array" in kinds) or (
        isinstance(parsed_value, dict) and "object" in kinds
    ):
        return [("repair_json" if was_repaired else "json_text", parsed_value)]
    return []


def _integers(choices: Iterable[Any]) -> list[int]:
    return [choice for choice in choices if type(choice) is int]


def _integral(value: float) -> int | None:
    """Convert a number to an integer by its digits as written; return ``None``
    if the number is not integral.
    """
    if not math.isfinite(value):  # for a Decimal, its exponent may be too large
        return None
    try:
        if isinstance(value, WrittenFloat):
            number: Any = Decimal(value.text)
        else:
            number = value
    except ArithmeticError:  # the exponent is too large for a Decimal
        return None
    if abs(number) <= _EXACT_FLOATS and number == int(number):
        return int(number)
    return None


def _is_one_item(found: Any, item: Expected) -> bool:
    """Return whether a value in place of a list is clearly one item, not several
    items or a wrapper around items.
    """
    if isinstance(found, dict):
        return bool(item.fields()) or bool(item.tags)
    if isinstance(found, str):
        is_several = not found.strip() or found in _NULLS or re.search(_SEVERAL, found)
        return not is_several and not item.branches and bool(item.kinds & SCALARS)
    return not isinstance(found, list)

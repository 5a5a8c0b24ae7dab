"""The named rules that mend what a model wrote: each a pure function of what is there and what is wanted."""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import from_json

from toolshape.calls import Coercion

__all__ = ["RULES", "Location", "Mending", "Wanted", "chosen_rules", "fields_of", "has", "mend", "path_of", "wanted_at"]

RULES: Mapping[str, bool] = {
    "empty_as_no_arguments": True,
    "json_text": True,
    "number_text": True,
    "text_from_integer": True,
    "integral_float": True,
    "null_as_default": True,
    "null_text": True,
    "enum_case": True,
}
"""Every rule, and whether it is on by default."""

CoreSchema: TypeAlias = Mapping[str, Any]
Location: TypeAlias = tuple[int | str, ...]

_INTEGER_TEXT = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_NUMBER_TEXT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_ARRAYS = frozenset({"list", "tuple", "set", "frozenset", "deque", "generator", "named-tuple", "call"})
_OBJECTS = frozenset({"dict", "model", "dataclass", "typed-dict", "named-tuple", "call"})
_EXACT_FLOATS = 2**53
_LONGEST_NUMBER = 300  # digits; no float has more, and Python refuses to read very long integers
_OMIT = object()


class Wanted(NamedTuple):
    """What a place wants: the innermost core schema node, and what stood around it."""

    node: CoreSchema
    nullable: bool
    has_default: bool
    strict: bool


class Mending(NamedTuple):
    """A value with some places mended, and the record of it."""

    value: Any
    coercions: list[Coercion]


def chosen_rules(*layers: Mapping[str, bool] | bool | None) -> frozenset[str]:
    """The rules that are on: the defaults, changed by each layer in turn (``False``: none, ``True``: the defaults).

    Raises:
        ValueError: A layer names a rule that does not exist.
    """
    chosen = dict(RULES)
    for layer in layers:
        if isinstance(layer, bool):
            chosen = {rule: layer and on for rule, on in RULES.items()}
        elif layer is not None:
            for rule in layer:
                if rule not in RULES:
                    near = difflib.get_close_matches(rule, RULES, 1)
                    raise ValueError(f"no coercion rule {rule!r}" + (f", did you mean {near[0]!r}?" if near else ""))
            chosen.update(layer)
    return frozenset(rule for rule, on in chosen.items() if on)


def mend(
    value: Any,
    places: Iterable[tuple[Location, Any]],
    wanted_at_place: Callable[[Location], Wanted | None],
    rules: frozenset[str],
) -> Mending:
    """Mend the places that an error named, where a rule that is on applies.

    Args:
        value: The arguments as parsed JSON; not changed.
        places: Where fault was found, and what stood there.
        wanted_at_place: What is wanted there.
        rules: The rules that are on.
    """
    coercions: list[Coercion] = []
    for location, found in places:
        wanted = wanted_at_place(location)
        if wanted is None or wanted.strict or not _stands_there(value, location, found):
            continue
        for rule, after in _proposals(found, wanted):
            if rule in rules:
                value = _replaced(value, location, after)
                coercions.append(Coercion(path_of(location), rule, found, None if after is _OMIT else after))
                break
    return Mending(value, coercions)


def path_of(location: Sequence[int | str]) -> str:
    """A place as people write it: ``lines[1].qty``."""
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def wanted_at(schema: CoreSchema, location: Location) -> Wanted | None:
    """What the model wants at a place; ``None`` where a union or a validator stands between."""
    definitions = {node["ref"]: node for node in schema.get("definitions", ())}
    wanted = _unwrapped(schema, definitions)
    for step in location:
        if wanted is None or (child := _child(wanted.node, step)) is None:
            return None
        wanted = _unwrapped(child, definitions)
    return wanted


def _unwrapped(node: CoreSchema, definitions: Mapping[str, CoreSchema]) -> Wanted | None:
    nullable = has_default = strict = False
    while True:
        strict = strict or node.get("strict") is True
        match node["type"]:
            case "nullable":
                nullable, node = True, node["schema"]
            case "default":
                has_default, node = True, node["schema"]
            case "definition-ref":
                node = definitions[node["schema_ref"]]
            case "json-or-python":
                node = node["json_schema"]
            case "lax-or-strict":
                node = node["strict_schema"]
            case "definitions" | "function-after" | "model-field" | "dataclass-field" | "typed-dict-field":
                node = node["schema"]
            case "model" | "dataclass" if node["schema"]["type"] in ("function-after", "definitions"):
                node = {**node, "schema": node["schema"]["schema"]}
            case "union" | "tagged-union" | "function-before" | "function-wrap" | "function-plain":
                return None
            case _:
                return Wanted(node, nullable, has_default, strict)


def _child(node: CoreSchema, step: int | str) -> CoreSchema | None:
    match node["type"]:
        case "model" | "dataclass":
            return _child(node["schema"], step)
        case "model-fields" | "typed-dict" | "dataclass-args":
            return next((field for name, field in fields_of(node) if name == step), node.get("extras_schema"))
        case "tuple" if isinstance(step, int):
            items = node["items_schema"]
            variadic = node.get("variadic_item_index")
            position = step if variadic is None else min(step, variadic)
            return items[position] if position < len(items) else None
        case "dict":
            return node.get("values_schema") if isinstance(step, str) and step != "[key]" else None
        case _:
            return node.get("items_schema") if isinstance(step, int) else None


def fields_of(node: CoreSchema) -> list[tuple[Any, CoreSchema]]:
    """The fields of a node that has some, under the names that a model writes."""
    node = node["schema"] if node["type"] in ("model", "dataclass") else node
    fields = node.get("fields", ())
    named = fields.items() if isinstance(fields, Mapping) else [(field["name"], field) for field in fields]
    return [(field.get("validation_alias", name), field) for name, field in named]


def _proposals(found: Any, wanted: Wanted) -> Iterable[tuple[str, Any]]:
    """The mends that fit, in the order in which they are tried."""
    kind = wanted.node["type"]
    if found is None:
        if wanted.has_default:
            yield "null_as_default", _OMIT
    elif isinstance(found, str):
        yield from _from_text(found, kind, wanted.node)
        if wanted.nullable and found in ("null", "None"):
            yield "null_text", None
    elif isinstance(found, int) and not isinstance(found, bool) and kind == "str":
        yield "text_from_integer", str(found)
    elif isinstance(found, float) and kind == "int" and found.is_integer() and abs(found) <= _EXACT_FLOATS:
        yield "integral_float", int(found)


def _from_text(found: str, kind: str, node: CoreSchema) -> Iterable[tuple[str, Any]]:
    if len(found) > _LONGEST_NUMBER and kind in ("int", "float", "literal", "enum"):
        return
    if kind == "int" and _INTEGER_TEXT.fullmatch(found):
        yield "number_text", int(found)
    elif kind == "float" and _NUMBER_TEXT.fullmatch(found) and math.isfinite(float(found)):
        yield "number_text", int(found) if _INTEGER_TEXT.fullmatch(found) else float(found)
    elif kind in ("literal", "enum"):
        given = node["expected"] if "expected" in node else node["members"]
        options = [getattr(option, "value", option) for option in given]
        alike = [option for option in options if isinstance(option, str) and option.casefold() == found.casefold()]
        if len(alike) == 1:
            yield "enum_case", alike[0]
        elif _INTEGER_TEXT.fullmatch(found) and int(found) in [o for o in options if type(o) is int]:
            yield "number_text", int(found)
    elif kind in _ARRAYS or kind in _OBJECTS:
        try:
            written = from_json(found)
        except ValueError:
            return
        if (isinstance(written, list) and kind in _ARRAYS) or (isinstance(written, dict) and kind in _OBJECTS):
            yield "json_text", written


def _stands_there(value: Any, location: Location, found: Any) -> bool:
    """Whether the place is one in the JSON itself: pydantic's locations also hold the names of union branches."""
    for step in location:
        if not has(value, step):
            return False
        value = value[step]
    return type(value) is type(found)


def has(value: Any, step: int | str) -> bool:
    """Whether a JSON value has such a member or item."""
    if isinstance(value, list):
        return isinstance(step, int) and step < len(value)
    return isinstance(value, dict) and step in value


def _replaced(value: Any, location: Location, after: Any) -> Any:
    """A copy of the value with one place replaced, or left out."""
    if not location:
        return after
    copy = value.copy()
    step, rest = location[0], location[1:]
    if after is _OMIT and not rest:
        del copy[step]
    else:
        copy[step] = _replaced(value[step], rest, after)
    return copy

"""Generates values of one schema that another schema is likely to refuse."""

import contextlib
import math
import random
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from toolshape._records.calls import JsonObject, JsonSchema
from toolshape._schema.generate import generate
from toolshape._schema.keywords import UNIONS
from toolshape._schema.references import at_pointer
from toolshape._schema.values import values_inside
from toolshape.contract._inclusion import is_same_json

_DEEPEST = 6
_MOST_BELOW = 60  # values per place
_MOST_CONSTANTS = 200  # values of ``const`` and ``enum`` per place
# The most items, and the most characters, in a value that tests a limit.
_LONGEST, _LONGEST_TEXT = (
    5_000,
    200_000,
)
_MOST_SPENT = (
    100_000  # a budget: each part of a value or of a schema costs 1, and so do 100 characters
)
_CHARACTERS = 100
_SMALL, _WEIGHT = 200, 5  # a large value costs more than its parts, as several schemas validate it
_MOST_BRANCHES = 100  # per place
_CONDITIONS = ("not", "if", "then", "else")
_TEXTS = ("", "a", "zz", "A b", "0", "-", "é", "x" * 300)
_NUMBERS = (0, 1, -1, 2, 7, 10**6, -(10**6))
_FRACTIONS = (0.5, -0.5, 1e-9)
_OTHER_NAMES = ("x_other", "A", "9", "with space", "n" * 80)


class Tries:
    """The budget for generating the values that decide one verdict."""

    def __init__(self) -> None:
        self._left = _MOST_SPENT

    def spend(self, size: int) -> None:
        """Subtract the size of a value, or of a part of a schema, from the budget.

        Raises:
            SpentError: The budget is spent.
        """
        self._left -= size if size <= _SMALL else _WEIGHT * size
        if self._left < 0:
            raise SpentError


class SpentError(Exception):
    """The budget is spent: generating more values of this schema would take minutes."""


def candidates(
    narrow: Any, wide: Any, narrow_root: Any, wide_root: Any, chance: random.Random, budget: Tries
) -> Iterator[Any]:
    """Yield values of ``narrow`` that ``wide`` may refuse.

    Args:
        narrow: The schema for the values. Some yielded values do not match it, and the caller must
            filter them.
        wide: The schema that may refuse the values.
        narrow_root: The root for references in ``narrow``.
        wide_root: The root for references in ``wide``.
        chance: The source of random choices.
        budget: The budget for the values.

    Raises:
        SpentError: The budget is spent.
    """
    yield from _Candidates(narrow_root, wide_root, chance, budget).of(narrow, wide, 0)


class _Candidates:
    def __init__(
        self, narrow_root: Any, wide_root: Any, chance: random.Random, budget: Tries
    ) -> None:
        self._narrow_root = narrow_root
        self._wide_root = wide_root
        self._chance = chance
        self._budget = budget

    def of(self, narrow: Any, wide: Any, depth: int) -> Iterator[Any]:
        """Yield values of ``narrow``: first the values that ``wide`` is most likely to refuse."""
        # This method compares each branch of ``narrow`` with each branch of ``wide``, as it cannot
        # know which branch admits a value. The values lie at the limits where the two branches
        # differ: lengths, bounds, names, constants.
        if depth > _DEEPEST or is_same_json(narrow, wide):  # there is no difference to test
            yield self._generate(narrow)
            return
        for branch in self._branches(narrow, self._narrow_root):
            if "const" in branch:
                yield branch["const"]
                continue
            if "enum" in branch:
                yield from branch["enum"]
                continue
            wide_branches = self._branches(wide, self._wide_root)
            if any(is_same_json(branch, other) for other in wide_branches):
                yield self._generate(branch)  # an equal branch admits this value
                # ``oneOf`` refuses a value that a second branch admits as well.
                if "oneOf" not in str(wide):
                    continue
                wide_branches = [
                    other for other in wide_branches if not is_same_json(branch, other)
                ]
            wide_branches += [
                other[key]
                for other in wide_branches
                for key in _CONDITIONS
                if isinstance(other.get(key), dict)
            ]
            yield from islice(_constants(branch, wide), _MOST_CONSTANTS)
            for other in [
                node for node in wide_branches if {*_kinds(node)} & _wider(branch)
            ] or wide_branches:
                for kind in _kinds(branch):
                    yield from islice(
                        self._of_kind(kind, branch, other, depth), _MOST_BELOW if depth else None
                    )
            yield self._generate(branch)

    def _generate(self, node: Any) -> Any:
        value = generate(_with_root(node, self._narrow_root), self._chance)
        self._budget.spend(_size(value))
        return value

    def _branches(self, node: Any, root: Any, depth: int = 0) -> list[JsonSchema]:
        """Return the alternatives of a node as nodes without references,
        ``anyOf``, ``oneOf`` and ``allOf``.
        """
        self._budget.spend(1)
        if not isinstance(node, dict):
            if node is not False:
                return [{}]
            return []
        if depth > _DEEPEST:
            return [{}]
        other_keywords = {key: value for key, value in node.items() if key not in ("$ref", *UNIONS)}
        branches = [other_keywords]
        if isinstance(node.get("$ref"), str):
            branches = self._merge(
                branches, self._branches(at_pointer(root, node["$ref"]), root, depth + 1)
            )
        for keyword in ("anyOf", "oneOf"):
            if node.get(keyword):
                inner_branches = [
                    branch
                    for choice in node[keyword]
                    for branch in self._branches(choice, root, depth + 1)
                ]
                branches = self._merge(branches, inner_branches)
        for part in node.get("allOf", ()):
            branches = self._merge(branches, self._branches(part, root, depth + 1))
        return branches

    def _merge(self, branches: list[JsonSchema], inner: list[JsonSchema]) -> list[JsonSchema]:
        merged = ({**part, **branch} for branch in branches for part in inner)
        return list(islice(merged, _MOST_BRANCHES)) or branches

    def _of_kind(
        self, kind: str, narrow: JsonSchema, wide: JsonSchema, depth: int
    ) -> Iterator[Any]:
        match kind:
            case "null":
                yield None
            case "boolean":
                yield from (True, False)
            case "string":
                yield from self._texts(narrow, wide)
            case "integer" | "number":
                yield from self._numbers(narrow, wide, is_integer=kind == "integer")
            case "array":
                yield from self._arrays(narrow, wide, depth)
            case _:
                yield from self._objects(narrow, wide, depth)

    def _texts(self, narrow: JsonSchema, wide: JsonSchema) -> Iterator[Any]:
        base = self._generate({**narrow, "type": "string"})
        yield base
        if narrow.keys() & {"format", "pattern", "contentMediaType"}:
            for _ in range(8):
                yield self._generate({**narrow, "type": "string"})
        if "format" in narrow:
            return  # no other strings of this format are known
        for length in _sizes(narrow, wide, "minLength", "maxLength", _LONGEST_TEXT):
            self._budget.spend(length // _CHARACTERS)
            yield (
                ((base or "ab") * (length // max(len(base), 2) + 1))[:length]
                if len(base) != 1
                else base * length
            )
        yield from _TEXTS
        if "pattern" in wide:
            yield from (
                self._generate({"type": "string", "pattern": wide["pattern"]}),
                f"{base}!",
                f"!{base}",
            )

    def _numbers(self, narrow: JsonSchema, wide: JsonSchema, *, is_integer: bool) -> Iterator[Any]:
        # A witness of a changed bound lies next to the bound, on either side, or just between two
        # steps of ``multipleOf``. Both schemas are asked for their bounds, since either may be the
        # one that changed. The numbers come in this order because the first that is refused is
        # shown, and one next to a bound explains itself.
        yield self._generate({**narrow, "type": "integer" if is_integer else "number"})
        bounds = [
            node[key]
            for node in (wide, narrow)
            for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
            if isinstance(node.get(key), (int, float))
        ]
        steps = [node["multipleOf"] for node in (narrow, wide) if node.get("multipleOf")]
        nearby = [bound + step for bound in bounds for step in (0, -1, 1)]
        if not is_integer:
            nearby += [bound + step for bound in bounds for step in (-0.5, 0.5, -1e-6, 1e-6)]
        nearby += [step * times for step in steps for times in (1, 2, 3, -1)]
        nearby += [step / 2 for step in steps] + [step + 1 for step in steps]
        for number in (*nearby, *_NUMBERS, *(() if is_integer else _FRACTIONS)):
            if is_integer and float(number).is_integer():
                yield int(number)
            elif not is_integer:
                yield number
        low = bounds[0] if bounds else 0
        yield from (int(low) + step for step in range(12))

    def _arrays(self, narrow: JsonSchema, wide: JsonSchema, depth: int) -> Iterator[Any]:
        base = self._generate({**narrow, "type": "array"})
        yield base
        prefix = narrow.get("prefixItems", [])
        for index in range(max(len(prefix), len(wide.get("prefixItems", [])))):
            for value in self._inner_values(
                _item_schema(narrow, index), _item_schema(wide, index), depth
            ):
                yield [
                    *self._fill_array(narrow, index),
                    value,
                    *self._fill_array(narrow, len(prefix))[index + 1 :],
                ]
        items = narrow.get("items", True)
        if items is not False:
            wide_items = _item_schema(wide, max(len(prefix), len(wide.get("prefixItems", []))))
            least = max(narrow.get("minItems", 0), len(prefix) + 1)
            for value in self._inner_values(items, wide_items, depth):
                yield [*self._fill_array(narrow, least - 1), value]
        for size in _sizes(narrow, wide, "minItems", "maxItems"):
            yield self._fill_array(narrow, size)
        if wide.get("uniqueItems") and items is not False:
            yield [*self._fill_array(narrow, len(prefix)), *[self._generate(items)] * 2]

    def _fill_array(self, node: JsonSchema, size: int) -> list[Any]:
        sized_schema = {
            **node,
            "type": "array",
            "minItems": min(size, _LONGEST),
            "maxItems": min(size, _LONGEST),
        }
        generated_items = self._generate(sized_schema)
        if isinstance(generated_items, list):
            items = list(generated_items)
        else:
            items = []
        while len(items) < size and len(items) < _LONGEST and not node.get("uniqueItems"):
            items.append(self._generate(_item_schema(node, len(items))))
        return items[:size]

    def _objects(self, narrow: JsonSchema, wide: JsonSchema, depth: int) -> Iterator[Any]:
        # The smallest objects come first: a witness with one field says which field it is about.
        # Then each field is varied alone, then left out alone, then added beside its dependents,
        # and last the sizes. Everything is generated for the narrow side and checked by the caller,
        # so a candidate may be wrong, and only costs its check.
        properties: JsonObject = narrow.get("properties", {})
        required = list(narrow.get("required", ()))
        minimal_object = {name: self._generate(properties.get(name, {})) for name in required}
        yield minimal_object
        yield self._generate({**narrow, "type": "object"})
        full_object = {
            **{
                name: self._generate(schema)
                for name, schema in properties.items()
                if schema is not False
            },
            **minimal_object,
        }
        yield full_object
        additional = narrow.get("additionalProperties", True)
        for name, schema in properties.items():
            wide_schema = wide.get("properties", {}).get(
                name, wide.get("additionalProperties", True)
            )
            for value in self._inner_values(schema, wide_schema, depth):
                yield {**minimal_object, name: value}
        for name in (key for key in wide.get("properties", {}) if key not in properties):
            wide_schema = _additional_schema(narrow, name)
            for value in (
                ()
                if wide_schema is False
                else self._inner_values(wide_schema, wide["properties"][name], depth)
            ):
                yield {**minimal_object, name: value}
        for name in properties:
            yield {
                key: value for key, value in full_object.items() if key != name or key in required
            }
        for name, dependents in self._dependents(narrow, wide):
            yield {
                **minimal_object,
                name: self._generate(properties.get(name, additional)),
                **dependents,
            }
        yield from self._more_names(narrow, wide, minimal_object, depth)
        for size in _sizes(narrow, wide, "minProperties", "maxProperties"):
            names = [*required, *(name for name in properties if name not in required)]
            free_names = (f"x{number}" for number in range(size)) if additional is not False else ()
            chosen = list(islice((*names, *free_names), size))
            yield {name: self._generate(properties.get(name, additional)) for name in chosen}

    def _dependents(self, narrow: JsonSchema, wide: JsonSchema) -> Iterator[tuple[str, JsonObject]]:
        """Yield each property that has dependents in ``wide``, with values
        generated from ``narrow`` for them.
        """
        properties, additional = (
            narrow.get("properties", {}),
            narrow.get("additionalProperties", True),
        )
        for keyword in ("dependentRequired", "dependentSchemas"):
            for name, wide_value in (wide.get(keyword) or {}).items():
                narrow_value = (narrow.get(keyword) or {}).get(
                    name, [] if keyword == "dependentRequired" else {}
                )
                if isinstance(narrow_value, list):
                    yield (
                        name,
                        {
                            key: self._generate(properties.get(key, additional))
                            for key in narrow_value
                        },
                    )
                    continue
                object_type = {"type": "object"}
                dependent_values = self.of(
                    {**narrow_value, **object_type}, {**wide_value, **object_type}, _DEEPEST
                )
                yield from (
                    (name, value)
                    for value in islice(dependent_values, _MOST_BELOW)
                    if isinstance(value, dict)
                )
                generated_value = self._generate({**narrow_value, **object_type})
                yield name, generated_value if isinstance(generated_value, dict) else {}

    def _more_names(
        self, narrow: JsonSchema, wide: JsonSchema, least: JsonObject, depth: int
    ) -> Iterator[Any]:
        # A field that neither side declares is judged by three keywords on each side, so a name
        # must be drawn that falls under the one that changed: under a pattern of either side, under
        # ``propertyNames``, or under none.
        additional = narrow.get("additionalProperties", True)
        for pattern, schema in (narrow.get("patternProperties") or {}).items():
            name = generate({"type": "string", "pattern": pattern}, self._chance)
            for value in self._inner_values(
                schema, (wide.get("patternProperties") or {}).get(pattern, True), depth
            ):
                yield {**least, name: value}
        if additional is False:
            return
        for pattern, schema in (wide.get("patternProperties") or {}).items():
            name = generate({"type": "string", "pattern": pattern}, self._chance)
            for value in self._inner_values(additional, schema, depth):
                yield {**least, name: value}
        if isinstance(narrow.get("propertyNames"), dict):
            generated_name = self._generate(narrow["propertyNames"])
        else:
            generated_name = None
        for value in self._inner_values(additional, wide.get("additionalProperties", True), depth):
            yield {
                **least,
                (generated_name if isinstance(generated_name, str) else "x_other"): value,
            }
        for name in _OTHER_NAMES:
            yield {**least, name: self._generate(additional)}

    def _inner_values(self, narrow: Any, wide: Any, depth: int) -> Iterator[Any]:
        return islice(self.of(narrow, wide, depth + 1), _MOST_BELOW)


def _with_root(node: Any, root: Any) -> Any:
    """Return a node with the definitions of its root, which the references in the node need."""
    if not isinstance(node, dict) or not isinstance(root, dict):
        return node
    return {**{key: root[key] for key in ("$defs", "definitions") if key in root}, **node}


def _size(value: Any) -> int:
    """Return the size of a value: the number of its parts, plus one for
    each hundred characters of text.
    """
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS
    children = values_inside(value)
    return 1 + sum(map(_size, children))


def _constants(*nodes: Any) -> Iterator[Any]:
    """Yield all constants in schemas, at any depth: a condition may depend on a constant."""
    for node in nodes:
        children = values_inside(node)
        if isinstance(node, dict):
            yield from [node["const"]] if "const" in node else ()
            yield from node["enum"] if isinstance(node.get("enum"), list) else ()
        for part in children:
            if isinstance(part, (dict, list)):
                yield from _constants(part)


def _wider(node: JsonSchema) -> set[str]:
    kinds = set(_kinds(node))
    if kinds & {"integer", "number"}:
        return kinds | {"integer", "number"}
    return kinds


def _kinds(node: JsonSchema) -> list[str]:
    kinds = node.get("type", ["null", "boolean", "string", "number", "array", "object"])
    if isinstance(kinds, list):
        return kinds
    return [kinds]


def _additional_schema(node: JsonSchema, name: str) -> Any:
    """Return the schema for a property that ``properties`` does not list."""
    for pattern, schema in (node.get("patternProperties") or {}).items():
        with contextlib.suppress(re.error):
            if re.search(pattern, name):
                return schema
    return node.get("additionalProperties", True)


def _item_schema(node: JsonSchema, index: int) -> Any:
    prefix = node.get("prefixItems", [])
    if index < len(prefix):
        return prefix[index]
    return node.get("items", True)


def _sizes(
    narrow: JsonSchema, wide: JsonSchema, least: str, most: str, longest: int = _LONGEST
) -> list[int]:
    """Return the sizes that ``narrow`` admits near the limits of both schemas."""
    low, high = narrow.get(least, 0), narrow.get(most, math.inf)
    near = [
        node[key] + step
        for node in (wide, narrow)
        for key in (least, most)
        if key in node
        for step in (0, -1, 1)
    ]
    return [int(size) for size in dict.fromkeys([*near, low]) if low <= size <= min(high, longest)]

"""Generates values of one schema that are likely to be rejected by another."""

import contextlib
import math
import random
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from toolshape._calls import JsonObject, JsonSchema
from toolshape._schema.generate import generated
from toolshape._schema.references import at_pointer
from toolshape.contract._inclusion import is_same_json

_DEEPEST = 6
_MOST_BELOW = 60  # values per place
_MOST_CONSTANTS = 200  # values of ``const`` and ``enum`` per place
_LONGEST, _LONGEST_TEXT = 5_000, 200_000  # the most items, and the most characters, of a value generated for a limit
_MOST_SPENT = 100_000  # a budget in parts of values, parts of schemas, and hundreds of characters
_CHARACTERS = 100
_SMALL, _WEIGHT = 200, 5  # a large value costs more than its parts, as several schemas validate it
_MOST_BRANCHES = 100  # per place
_CONDITIONS = ("not", "if", "then", "else")
_TEXTS = ("", "a", "zz", "A b", "0", "-", "é", "x" * 300)
_NUMBERS = (0, 1, -1, 2, 7, 10**6, -(10**6))
_FRACTIONS = (0.5, -0.5, 1e-9)
_OTHER_NAMES = ("x_other", "A", "9", "with space", "n" * 80)


class Tries:
    """The budget for the values that are generated for one verdict."""

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
    """Yield values of ``narrow`` to validate with ``wide``: no proof shows that ``wide`` admits all of them.

    Args:
        narrow: The schema of the values. It may refuse some of the yielded values: the caller must filter them.
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
    def __init__(self, narrow_root: Any, wide_root: Any, chance: random.Random, budget: Tries) -> None:
        self._narrow_root = narrow_root
        self._wide_root = wide_root
        self._chance = chance
        self._budget = budget

    def of(self, narrow: Any, wide: Any, depth: int) -> Iterator[Any]:
        """Yield values of ``narrow``, beginning with those that ``wide`` is most likely to refuse."""
        # This method compares each branch of ``narrow`` with each branch of ``wide``, as it cannot know which branch
        # admits a value. The values lie at the limits where the two branches differ: lengths, bounds, names, constants.
        if depth > _DEEPEST or is_same_json(narrow, wide):  # there is no difference to test
            yield self._any(narrow)
            return
        for branch in self._branches(narrow, self._narrow_root):
            if "const" in branch:
                yield branch["const"]
                continue
            if "enum" in branch:
                yield from branch["enum"]
                continue
            others = self._branches(wide, self._wide_root)
            if any(is_same_json(branch, other) for other in others):
                yield self._any(branch)  # an equal branch admits this value
                if "oneOf" not in str(wide):  # oneOf refuses a value that a second branch admits as well
                    continue
                others = [other for other in others if not is_same_json(branch, other)]
            others += [other[key] for other in others for key in _CONDITIONS if isinstance(other.get(key), dict)]
            yield from islice(_constants(branch, wide), _MOST_CONSTANTS)
            for other in [node for node in others if {*_kinds(node)} & _wider(branch)] or others:
                for kind in _kinds(branch):
                    yield from islice(self._of_kind(kind, branch, other, depth), _MOST_BELOW if depth else None)
            yield self._any(branch)

    def _any(self, node: Any) -> Any:
        value = generated(_with_root(node, self._narrow_root), self._chance)
        self._budget.spend(_size(value))
        return value

    def _branches(self, node: Any, root: Any, depth: int = 0) -> list[JsonSchema]:
        """Return the alternatives of a node as nodes without references, ``anyOf``, ``oneOf`` and ``allOf``."""
        self._budget.spend(1)
        if not isinstance(node, dict):
            return [{}] if node is not False else []
        if depth > _DEEPEST:
            return [{}]
        rest = {key: value for key, value in node.items() if key not in ("$ref", "anyOf", "oneOf", "allOf")}
        branches = [rest]
        if isinstance(node.get("$ref"), str):
            branches = self._beside(branches, self._branches(at_pointer(root, node["$ref"]), root, depth + 1))
        for keyword in ("anyOf", "oneOf"):
            if node.get(keyword):
                inner = [branch for choice in node[keyword] for branch in self._branches(choice, root, depth + 1)]
                branches = self._beside(branches, inner)
        for part in node.get("allOf", ()):
            branches = self._beside(branches, self._branches(part, root, depth + 1))
        return branches

    def _beside(self, branches: list[JsonSchema], inner: list[JsonSchema]) -> list[JsonSchema]:
        merged = ({**part, **branch} for branch in branches for part in inner)
        return list(islice(merged, _MOST_BRANCHES)) or branches

    def _of_kind(self, kind: str, narrow: JsonSchema, wide: JsonSchema, depth: int) -> Iterator[Any]:
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
        base = self._any({**narrow, "type": "string"})
        yield base
        if narrow.keys() & {"format", "pattern", "contentMediaType"}:
            for _ in range(8):
                yield self._any({**narrow, "type": "string"})
        if "format" in narrow:
            return  # no other strings of this format are known
        for length in _sizes(narrow, wide, "minLength", "maxLength", _LONGEST_TEXT):
            self._budget.spend(length // _CHARACTERS)
            yield ((base or "ab") * (length // max(len(base), 2) + 1))[:length] if len(base) != 1 else base * length
        yield from _TEXTS
        if "pattern" in wide:
            yield from (self._any({"type": "string", "pattern": wide["pattern"]}), f"{base}!", f"!{base}")

    def _numbers(self, narrow: JsonSchema, wide: JsonSchema, *, is_integer: bool) -> Iterator[Any]:
        yield self._any({**narrow, "type": "integer" if is_integer else "number"})
        bounds = [
            node[key]
            for node in (wide, narrow)
            for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
            if isinstance(node.get(key), (int, float))
        ]
        steps = [node["multipleOf"] for node in (narrow, wide) if node.get("multipleOf")]
        around = [bound + step for bound in bounds for step in (0, -1, 1)]
        if not is_integer:
            around += [bound + step for bound in bounds for step in (-0.5, 0.5, -1e-6, 1e-6)]
        around += [step * times for step in steps for times in (1, 2, 3, -1)]
        around += [step / 2 for step in steps] + [step + 1 for step in steps]
        for number in (*around, *_NUMBERS, *(() if is_integer else _FRACTIONS)):
            if is_integer and float(number).is_integer():
                yield int(number)
            elif not is_integer:
                yield number
        low = bounds[0] if bounds else 0
        yield from (int(low) + step for step in range(12))

    def _arrays(self, narrow: JsonSchema, wide: JsonSchema, depth: int) -> Iterator[Any]:
        base = self._any({**narrow, "type": "array"})
        yield base
        first = narrow.get("prefixItems", [])
        for index in range(max(len(first), len(wide.get("prefixItems", [])))):
            for value in self._below(_item(narrow, index), _item(wide, index), depth):
                yield [*self._filled(narrow, index), value, *self._filled(narrow, len(first))[index + 1 :]]
        items = narrow.get("items", True)
        if items is not False:
            wide_items = _item(wide, max(len(first), len(wide.get("prefixItems", []))))
            least = max(narrow.get("minItems", 0), len(first) + 1)
            for value in self._below(items, wide_items, depth):
                yield [*self._filled(narrow, least - 1), value]
        for size in _sizes(narrow, wide, "minItems", "maxItems"):
            yield self._filled(narrow, size)
        if wide.get("uniqueItems") and items is not False:
            yield [*self._filled(narrow, len(first)), *[self._any(items)] * 2]

    def _filled(self, node: JsonSchema, size: int) -> list[Any]:
        wanted = {**node, "type": "array", "minItems": min(size, _LONGEST), "maxItems": min(size, _LONGEST)}
        made = self._any(wanted)
        items = list(made) if isinstance(made, list) else []
        while len(items) < size and len(items) < _LONGEST and not node.get("uniqueItems"):
            items.append(self._any(_item(node, len(items))))
        return items[:size]

    def _objects(self, narrow: JsonSchema, wide: JsonSchema, depth: int) -> Iterator[Any]:
        properties: JsonObject = narrow.get("properties", {})
        required = list(narrow.get("required", ()))
        least = {name: self._any(properties.get(name, {})) for name in required}
        yield least
        yield self._any({**narrow, "type": "object"})
        whole = {**{name: self._any(schema) for name, schema in properties.items() if schema is not False}, **least}
        yield whole
        others = narrow.get("additionalProperties", True)
        for name, schema in properties.items():
            given = wide.get("properties", {}).get(name, wide.get("additionalProperties", True))
            for value in self._below(schema, given, depth):
                yield {**least, name: value}
        for name in (key for key in wide.get("properties", {}) if key not in properties):
            given = _free(narrow, name)
            for value in () if given is False else self._below(given, wide["properties"][name], depth):
                yield {**least, name: value}
        for name in properties:
            yield {key: value for key, value in whole.items() if key != name or key in required}
        for name, more in self._dependents(narrow, wide):
            yield {**least, name: self._any(properties.get(name, others)), **more}
        yield from self._more_names(narrow, wide, least, depth)
        for size in _sizes(narrow, wide, "minProperties", "maxProperties"):
            names = [*required, *(name for name in properties if name not in required)]
            free = (f"x{number}" for number in range(size)) if others is not False else ()
            chosen = list(islice((*names, *free), size))
            yield {name: self._any(properties.get(name, others)) for name in chosen}

    def _dependents(self, narrow: JsonSchema, wide: JsonSchema) -> Iterator[tuple[str, JsonObject]]:
        """Yield each property that has dependents in ``wide``, with values for the dependents in ``narrow``."""
        properties, others = narrow.get("properties", {}), narrow.get("additionalProperties", True)
        for keyword in ("dependentRequired", "dependentSchemas"):
            for name, asked in (wide.get(keyword) or {}).items():
                before = (narrow.get(keyword) or {}).get(name, [] if keyword == "dependentRequired" else {})
                if isinstance(before, list):
                    yield name, {key: self._any(properties.get(key, others)) for key in before}
                    continue
                kind = {"type": "object"}
                inside = self.of({**before, **kind}, {**asked, **kind}, _DEEPEST)
                yield from ((name, value) for value in islice(inside, _MOST_BELOW) if isinstance(value, dict))
                generated_one = self._any({**before, **kind})
                yield name, generated_one if isinstance(generated_one, dict) else {}

    def _more_names(self, narrow: JsonSchema, wide: JsonSchema, least: JsonObject, depth: int) -> Iterator[Any]:
        others = narrow.get("additionalProperties", True)
        for pattern, schema in (narrow.get("patternProperties") or {}).items():
            name = generated({"type": "string", "pattern": pattern}, self._chance)
            for value in self._below(schema, (wide.get("patternProperties") or {}).get(pattern, True), depth):
                yield {**least, name: value}
        if others is False:
            return
        for pattern, schema in (wide.get("patternProperties") or {}).items():
            name = generated({"type": "string", "pattern": pattern}, self._chance)
            for value in self._below(others, schema, depth):
                yield {**least, name: value}
        named = self._any(narrow["propertyNames"]) if isinstance(narrow.get("propertyNames"), dict) else None
        for value in self._below(others, wide.get("additionalProperties", True), depth):
            yield {**least, (named if isinstance(named, str) else "x_other"): value}
        for name in _OTHER_NAMES:
            yield {**least, name: self._any(others)}

    def _below(self, narrow: Any, wide: Any, depth: int) -> Iterator[Any]:
        return islice(self.of(narrow, wide, depth + 1), _MOST_BELOW)


def _with_root(node: Any, root: Any) -> Any:
    """Return a node with the definitions of its root, which the references in the node need."""
    if not isinstance(node, dict) or not isinstance(root, dict):
        return node
    return {**{key: root[key] for key in ("$defs", "definitions") if key in root}, **node}


def _size(value: Any) -> int:
    """Return the size of a value: the number of its parts, plus one for each hundred characters of text."""
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, inner))


def _constants(*nodes: Any) -> Iterator[Any]:
    """Yield all constants in schemas, at any depth: a condition may depend on a constant."""
    for node in nodes:
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        if isinstance(node, dict):
            yield from [node["const"]] if "const" in node else ()
            yield from node["enum"] if isinstance(node.get("enum"), list) else ()
        for part in inner:
            if isinstance(part, (dict, list)):
                yield from _constants(part)


def _wider(node: JsonSchema) -> set[str]:
    kinds = set(_kinds(node))
    return kinds | {"integer", "number"} if kinds & {"integer", "number"} else kinds


def _kinds(node: JsonSchema) -> list[str]:
    given = node.get("type", ["null", "boolean", "string", "number", "array", "object"])
    return given if isinstance(given, list) else [given]


def _free(node: JsonSchema, name: str) -> Any:
    """Return the schema of a name that is not in ``properties``."""
    for pattern, schema in (node.get("patternProperties") or {}).items():
        with contextlib.suppress(re.error):
            if re.search(pattern, name):
                return schema
    return node.get("additionalProperties", True)


def _item(node: JsonSchema, index: int) -> Any:
    first = node.get("prefixItems", [])
    return first[index] if index < len(first) else node.get("items", True)


def _sizes(narrow: JsonSchema, wide: JsonSchema, least: str, most: str, longest: int = _LONGEST) -> list[int]:
    """Return the sizes around the limits of two schemas that ``narrow`` admits."""
    low, high = narrow.get(least, 0), narrow.get(most, math.inf)
    near = [node[key] + step for node in (wide, narrow) for key in (least, most) if key in node for step in (0, -1, 1)]
    return [int(size) for size in dict.fromkeys([*near, low]) if low <= size <= min(high, longest)]

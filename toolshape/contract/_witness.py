"""Generates values of one schema that another schema is likely to refuse."""

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
_MOST_BELOW = 60  # values of one place
_MOST_CONSTANTS = 200  # of conditions and choices
_LONGEST, _LONGEST_TEXT = 5_000, 200_000  # items and characters of a value that a limit asks for
_MOST_SPENT = 100_000  # parts of values and of schemas, and hundreds of characters
_CHARACTERS = 100
_SMALL, _WEIGHT = 200, 5  # a large value costs more than the sum of its parts: it is validated by several schemas
_MOST_BRANCHES = 100  # of one place
_CONDITIONS = ("not", "if", "then", "else")
_TEXTS = ("", "a", "zz", "A b", "0", "-", "é", "x" * 300)
_NUMBERS = (0, 1, -1, 2, 7, 10**6, -(10**6))
_FRACTIONS = (0.5, -0.5, 1e-9)
_OTHER_NAMES = ("x_other", "A", "9", "with space", "n" * 80)


class Tries:
    """How much may be made for one verdict."""

    def __init__(self) -> None:
        self._left = _MOST_SPENT

    def spend(self, size: int) -> None:
        """Count a value, or a part of a schema, by its size.

        Raises:
            SpentError: Nothing is left.
        """
        self._left -= size if size <= _SMALL else _WEIGHT * size
        if self._left < 0:
            raise SpentError


class SpentError(Exception):
    """So much was made of a schema that more of it would take minutes."""


def candidates(
    narrow: Any, wide: Any, narrow_root: Any, wide_root: Any, chance: random.Random, budget: Tries
) -> Iterator[Any]:
    """Values of the schema that may be narrower, or may not be, for the ones of the other to be tried with.

    Args:
        narrow: The schema whose values are wanted; one in some is not admitted by it, and is to be left out.
        wide: The schema that may refuse them.
        narrow_root: Where the references of the first lead.
        wide_root: Where those of the second do.
        chance: What decides.
        budget: What the values may cost.

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
        """Values of a node, the most telling first."""
        if depth > _DEEPEST or is_same_json(narrow, wide):  # nothing differs here
            yield self._any(narrow)
            return
        for one in self._branches(narrow, self._narrow_root):
            if "const" in one:
                yield one["const"]
                continue
            if "enum" in one:
                yield from one["enum"]
                continue
            others = self._branches(wide, self._wide_root)
            if any(is_same_json(one, other) for other in others):
                yield self._any(one)  # it is admitted as it is
                if "oneOf" not in str(wide):  # where two branches may admit it now
                    continue
                others = [other for other in others if not is_same_json(one, other)]
            others += [other[key] for other in others for key in _CONDITIONS if isinstance(other.get(key), dict)]
            yield from islice(_constants(one, wide), _MOST_CONSTANTS)
            for other in [each for each in others if {*_kinds(each)} & _wider(one)] or others:
                for kind in _kinds(one):
                    yield from islice(self._of_kind(kind, one, other, depth), _MOST_BELOW if depth else None)
            yield self._any(one)

    def _any(self, node: Any) -> Any:
        found = generated(_with_root(node, self._narrow_root), self._chance)
        self._budget.spend(_size(found))
        return found

    def _branches(self, node: Any, root: Any, depth: int = 0) -> list[JsonSchema]:
        """A node without references and choices, one for each choice."""
        self._budget.spend(1)
        if not isinstance(node, dict):
            return [{}] if node is not False else []
        if depth > _DEEPEST:
            return [{}]
        rest = {key: value for key, value in node.items() if key not in ("$ref", "anyOf", "oneOf", "allOf")}
        found = [rest]
        if isinstance(node.get("$ref"), str):
            found = self._beside(found, self._branches(at_pointer(root, node["$ref"]), root, depth + 1))
        for keyword in ("anyOf", "oneOf"):
            if node.get(keyword):
                inner = [each for one in node[keyword] for each in self._branches(one, root, depth + 1)]
                found = self._beside(found, inner)
        for one in node.get("allOf", ()):
            found = self._beside(found, self._branches(one, root, depth + 1))
        return found

    def _beside(self, found: list[JsonSchema], inner: list[JsonSchema]) -> list[JsonSchema]:
        both = ({**other, **one} for one in found for other in inner)
        return list(islice(both, _MOST_BRANCHES)) or found

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
            return  # what else such a text may be is not known
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
        for at in range(max(len(first), len(wide.get("prefixItems", [])))):
            for value in self._below(_item(narrow, at), _item(wide, at), depth):
                yield [*self._filled(narrow, at), value, *self._filled(narrow, len(first))[at + 1 :]]
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
        found = list(made) if isinstance(made, list) else []
        while len(found) < size and len(found) < _LONGEST and not node.get("uniqueItems"):
            found.append(self._any(_item(node, len(found))))
        return found[:size]

    def _objects(self, narrow: JsonSchema, wide: JsonSchema, depth: int) -> Iterator[Any]:
        properties: JsonObject = narrow.get("properties", {})
        required = list(narrow.get("required", ()))
        least = {name: self._any(properties.get(name, {})) for name in required}
        yield least
        yield self._any({**narrow, "type": "object"})
        whole = {**{name: self._any(one) for name, one in properties.items() if one is not False}, **least}
        yield whole
        others = narrow.get("additionalProperties", True)
        for name, one in properties.items():
            given = wide.get("properties", {}).get(name, wide.get("additionalProperties", True))
            for value in self._below(one, given, depth):
                yield {**least, name: value}
        for name in (one for one in wide.get("properties", {}) if one not in properties):
            given = _free(narrow, name)
            for value in () if given is False else self._below(given, wide["properties"][name], depth):
                yield {**least, name: value}
        for name in properties:
            yield {key: value for key, value in whole.items() if key != name or key in required}
        for name, more in self._dependents(narrow, wide):
            yield {**least, name: self._any(properties.get(name, others)), **more}
        yield from self._more_names(narrow, wide, least, depth)
        for size in _sizes(narrow, wide, "minProperties", "maxProperties"):
            names = [*required, *(one for one in properties if one not in required)]
            free = (f"x{number}" for number in range(size)) if others is not False else ()
            chosen = list(islice((*names, *free), size))
            yield {one: self._any(properties.get(one, others)) for one in chosen}

    def _dependents(self, narrow: JsonSchema, wide: JsonSchema) -> Iterator[tuple[str, JsonObject]]:
        """Names that ask for others, each with what the narrow schema asks for beside it."""
        properties, others = narrow.get("properties", {}), narrow.get("additionalProperties", True)
        for keyword in ("dependentRequired", "dependentSchemas"):
            for name, asked in (wide.get(keyword) or {}).items():
                before = (narrow.get(keyword) or {}).get(name, [] if keyword == "dependentRequired" else {})
                if isinstance(before, list):
                    yield name, {one: self._any(properties.get(one, others)) for one in before}
                    continue
                kind = {"type": "object"}
                inside = self.of({**before, **kind}, {**asked, **kind}, _DEEPEST)
                yield from ((name, one) for one in islice(inside, _MOST_BELOW) if isinstance(one, dict))
                generated_one = self._any({**before, **kind})
                yield name, generated_one if isinstance(generated_one, dict) else {}

    def _more_names(self, narrow: JsonSchema, wide: JsonSchema, least: JsonObject, depth: int) -> Iterator[Any]:
        others = narrow.get("additionalProperties", True)
        for pattern, one in (narrow.get("patternProperties") or {}).items():
            name = generated({"type": "string", "pattern": pattern}, self._chance)
            for value in self._below(one, (wide.get("patternProperties") or {}).get(pattern, True), depth):
                yield {**least, name: value}
        if others is False:
            return
        for pattern, one in (wide.get("patternProperties") or {}).items():
            name = generated({"type": "string", "pattern": pattern}, self._chance)
            for value in self._below(others, one, depth):
                yield {**least, name: value}
        named = self._any(narrow["propertyNames"]) if isinstance(narrow.get("propertyNames"), dict) else None
        for value in self._below(others, wide.get("additionalProperties", True), depth):
            yield {**least, (named if isinstance(named, str) else "x_other"): value}
        for name in _OTHER_NAMES:
            yield {**least, name: self._any(others)}

    def _below(self, narrow: Any, wide: Any, depth: int) -> Iterator[Any]:
        return islice(self.of(narrow, wide, depth + 1), _MOST_BELOW)


def _with_root(node: Any, root: Any) -> Any:
    """A node whose references can be followed from itself."""
    if not isinstance(node, dict) or not isinstance(root, dict):
        return node
    return {**{key: root[key] for key in ("$defs", "definitions") if key in root}, **node}


def _size(value: Any) -> int:
    """The number of parts of a value, with hundreds of the characters of its texts."""
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, inner))


def _constants(*nodes: Any) -> Iterator[Any]:
    """The values that schemas name, wherever: a condition may be about one of them."""
    for node in nodes:
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        if isinstance(node, dict):
            yield from [node["const"]] if "const" in node else ()
            yield from node["enum"] if isinstance(node.get("enum"), list) else ()
        for one in inner:
            if isinstance(one, (dict, list)):
                yield from _constants(one)


def _wider(node: JsonSchema) -> set[str]:
    kinds = set(_kinds(node))
    return kinds | {"integer", "number"} if kinds & {"integer", "number"} else kinds


def _kinds(node: JsonSchema) -> list[str]:
    given = node.get("type", ["null", "boolean", "string", "number", "array", "object"])
    return given if isinstance(given, list) else [given]


def _free(node: JsonSchema, name: str) -> Any:
    """The schema of a name that is not among the properties."""
    for pattern, found in (node.get("patternProperties") or {}).items():
        with contextlib.suppress(re.error):
            if re.search(pattern, name):
                return found
    return node.get("additionalProperties", True)


def _item(node: JsonSchema, at: int) -> Any:
    first = node.get("prefixItems", [])
    return first[at] if at < len(first) else node.get("items", True)


def _sizes(narrow: JsonSchema, wide: JsonSchema, least: str, most: str, longest: int = _LONGEST) -> list[int]:
    """The sizes at which one of two schemas may end to admit a value."""
    low, high = narrow.get(least, 0), narrow.get(most, math.inf)
    near = [node[key] + step for node in (wide, narrow) for key in (least, most) if key in node for step in (0, -1, 1)]
    return [int(size) for size in dict.fromkeys([*near, low]) if low <= size <= min(high, longest)]

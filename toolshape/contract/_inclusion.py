"""Proves that one schema admits every value that another admits.

Sound, and not complete: ``False`` says that it was not proved.
"""

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from toolshape._calls import JsonSchema
from toolshape._identity import canonical_json
from toolshape._schema.references import at_pointer
from toolshape._schema.union_branches import are_disjoint

Admits: TypeAlias = Callable[[Any, Any], bool]
"""Whether a schema admits a value."""
ANNOTATIONS = frozenset(
    {"$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated", "description", "examples", "readOnly",
     "title", "writeOnly"}
)  # fmt: skip
"""Keywords that admit and refuse nothing."""
_DEEPEST = 60
_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
_APPLY: Mapping[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}),
    "array": frozenset(
        {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"}
    ),
    "object": frozenset(
        {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
         "maxProperties", "dependentRequired", "dependentSchemas"}
    ),
}  # fmt: skip
_OF_ANY = frozenset({"$ref", "allOf", "anyOf", "oneOf", "const", "discriminator", "enum", "type"})
_KNOWN = frozenset.union(_OF_ANY, *_APPLY.values())
_VALUES = frozenset({"const", "default", "enum", "examples"})
BY_NAME = frozenset({"$defs", "dependentRequired", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose values have schemas, or other things, by names of the author's."""
_OF_THE_WHOLE = frozenset({"unevaluatedItems", "unevaluatedProperties"})
"""Keywords that depend on all that stands beside them."""
FREE_FORMATS = frozenset({"binary", "password", "path"})
"""Formats of pydantic's that say what a text is for, and refuse none (2.14.3, seen by validating, 2026-11-23)."""
DECIMAL, LIMITED_DECIMAL = "decimal", "limited-decimal"
"""Formats that ``marked`` gives to the texts of a Decimal."""
_MOST_STEPS = 50_000


class Proof:
    """Proves that schemas under one root admit what schemas under another do."""

    def __init__(self, wide_root: Any, narrow_root: Any, admits: Admits) -> None:
        self._wide_root = wide_root
        self._narrow_root = narrow_root
        self._admits = admits
        self._assumed: frozenset[tuple[str, str]] = frozenset()
        self._depth = 0
        self._steps = 0

    def includes(self, wide: Any, narrow: Any) -> bool:
        """Whether every value that ``narrow`` admits is one that ``wide`` does."""
        self._steps += 1
        if self._steps > _MOST_STEPS:  # definitions that share definitions have more paths than anybody can follow
            return False
        if wide is True or wide == {} or narrow is False:
            return True
        if not (isinstance(wide, dict) and isinstance(narrow, (dict, bool))) or self._depth > _DEEPEST:
            return False
        wide, narrow = _stripped(wide), _stripped(narrow if isinstance(narrow, dict) else {})
        if _OF_THE_WHOLE & wide.keys():
            return "$ref" not in str(wide) and is_same_json(wide, narrow)
        pair = str(wide.get("$ref", "")), str(narrow.get("$ref", ""))
        is_pair = len(wide) == len(narrow) == 1 and all(pair)
        if is_pair and pair in self._assumed:
            return True  # a value is finite: what holds at each step holds for all of it
        self._assumed |= {pair} if is_pair else frozenset()
        self._depth += 1
        try:
            return not wide or self._followed(wide, narrow)
        finally:
            self._depth -= 1
            self._assumed -= {pair} if is_pair else frozenset()

    def _followed(self, wide: JsonSchema, narrow: JsonSchema) -> bool:
        if "$ref" in wide:
            return self._includes_all(wide, [at_pointer(self._wide_root, wide["$ref"])], "$ref", narrow)
        if "$ref" in narrow:
            return self._by_parts(wide, narrow, "$ref", [at_pointer(self._narrow_root, narrow["$ref"])])
        return self._of_values(wide, narrow)

    def _includes_all(self, wide: JsonSchema, parts: list[Any], keyword: str, narrow: JsonSchema) -> bool:
        rest = {key: value for key, value in wide.items() if key != keyword}
        return all(self.includes(part, narrow) for part in (rest, *parts))

    def _by_parts(self, wide: JsonSchema, narrow: JsonSchema, keyword: str, parts: list[Any]) -> bool:
        """What all of some parts admit is in ``wide`` if what one of them admits is."""
        rest = {key: value for key, value in narrow.items() if key != keyword}
        if any(self.includes(wide, part) for part in (rest, *parts)):
            return True
        merged = rest
        for part in parts:
            if not isinstance(part, dict) or (merged.keys() & part.keys() - ANNOTATIONS):
                return False
            merged = {**part, **merged}
        return merged != narrow and self.includes(wide, merged)

    def _of_values(self, wide: JsonSchema, narrow: JsonSchema) -> bool:  # noqa: PLR0911 - a line a keyword
        listed = _listed(narrow)
        if listed is not None:
            if "$ref" not in str(wide) and is_same_json(wide, narrow):
                return True
            whole = {**wide, "$defs": self._wide_root.get("$defs", {})} if isinstance(self._wide_root, dict) else wide
            return all(self._admits(whole, value) for value in listed)
        for keyword in ("anyOf", "oneOf"):
            if keyword in narrow:
                return all(self._by_parts(wide, narrow, keyword, [branch]) for branch in narrow[keyword])
        if "allOf" in narrow:
            return self._by_parts(wide, narrow, "allOf", narrow["allOf"])
        if "allOf" in wide:
            return self._includes_all(wide, wide["allOf"], "allOf", narrow)
        kinds = _kinds(narrow)
        if len(kinds) > 1:
            return all(self.includes(wide, {**narrow, "type": kind}) for kind in kinds)
        if "anyOf" in wide or "oneOf" in wide:
            return self._one_branch(wide, narrow)
        if "enum" in wide or "const" in wide:
            return False
        return kinds[0] in _wider(wide) and self._of_kind(kinds[0], wide, narrow)

    def _one_branch(self, wide: JsonSchema, narrow: JsonSchema) -> bool:
        keyword = "anyOf" if "anyOf" in wide else "oneOf"
        rest = {key: value for key, value in wide.items() if key != keyword}
        branches = wide[keyword]
        for at, branch in enumerate(branches):
            if self.includes(branch, narrow) and self.includes(rest, narrow):
                is_tagged = _tag(wide) is not None  # by which one of them is meant
                others = [*branches[:at], *branches[at + 1 :]] if keyword == "oneOf" and not is_tagged else []
                if all(are_disjoint(self._open(one), narrow, lambda node: node) for one in others):
                    return True
        return False

    def _open(self, node: Any) -> Any:
        return at_pointer(self._wide_root, node["$ref"]) if isinstance(node, dict) and "$ref" in node else node

    def _of_kind(self, kind: str, wide: JsonSchema, narrow: JsonSchema) -> bool:
        said = "number" if kind == "integer" else kind
        has_tag = _tag(wide) in (None, _tag(narrow))  # who had no tag to say the branch by did not say it
        if not (has_tag and _same(wide, narrow, tuple(wide.keys() - _KNOWN))):
            return False
        match said:
            case "string":
                return _strings(wide, narrow)
            case "number":
                return _numbers(wide, narrow, is_integer=kind == "integer")
            case "array":
                return self._arrays(wide, narrow)
            case "object":
                return self._objects(wide, narrow)
            case _:
                return True

    def _arrays(self, wide: JsonSchema, narrow: JsonSchema) -> bool:
        most = narrow.get("maxItems", math.inf)
        if wide.get("minItems", 0) > narrow.get("minItems", 0) or wide.get("maxItems", math.inf) < most:
            return False
        if wide.get("uniqueItems") and not narrow.get("uniqueItems"):
            return False
        if "contains" in wide and not _same(wide, narrow, ("contains", "minContains", "maxContains"), is_whole=True):
            return False
        first_wide, first_narrow = wide.get("prefixItems", []), narrow.get("prefixItems", [])
        for at in range(max(len(first_wide), len(first_narrow))):
            if at >= most:
                break
            if not self.includes(_at(first_wide, at, wide), _at(first_narrow, at, narrow)):
                return False
        return most <= len(first_narrow) or self.includes(wide.get("items", True), narrow.get("items", True))

    def _objects(self, wide: JsonSchema, narrow: JsonSchema) -> bool:
        required = set(narrow.get("required", ()))
        if not set(wide.get("required", ())) <= required:
            return False
        least, most = max(narrow.get("minProperties", 0), len(required)), narrow.get("maxProperties", math.inf)
        own = narrow.get("properties", {})
        if narrow.get("additionalProperties") is False and not narrow.get("patternProperties"):
            most = min(most, len(own))
        if wide.get("minProperties", 0) > least or wide.get("maxProperties", math.inf) < most:
            return False
        exact = ("dependentRequired", "dependentSchemas")
        if not all(is_same_json(wide[key], narrow.get(key, {})) for key in exact if key in wide):
            return False
        patterns, own_patterns = wide.get("patternProperties") or {}, narrow.get("patternProperties") or {}
        if patterns.keys() != own_patterns.keys():
            return False
        if not all(self.includes(patterns[each], own_patterns[each]) for each in patterns):
            return False
        return self._names(wide, narrow) and self._fields(wide, narrow, own)

    def _names(self, wide: JsonSchema, narrow: JsonSchema) -> bool:
        if "propertyNames" not in wide:
            return True
        if "propertyNames" in narrow:
            return self.includes(wide["propertyNames"], narrow["propertyNames"])
        only = list(narrow.get("properties", {})) if narrow.get("additionalProperties") is False else None
        return only is not None and self.includes(wide["propertyNames"], {"enum": only})

    def _fields(self, wide: JsonSchema, narrow: JsonSchema, own: JsonSchema) -> bool:
        others_wide, others_narrow = wide.get("additionalProperties", True), narrow.get("additionalProperties", True)
        for name in {**wide.get("properties", {}), **own}:
            matching = _matching(wide, name)
            if matching is None:
                return False
            # Both schemas have the same patterns, which admit what they admit: the property itself is left.
            here = own.get(name, True if matching else others_narrow)
            if name in wide.get("properties", {}):
                there = wide["properties"][name]
            else:
                there = True if matching else others_wide
            if here is not False and not self.includes(there, here):
                return False
        return others_narrow is False or self.includes(others_wide, others_narrow)


def _matching(node: JsonSchema, name: str) -> bool | None:
    """Whether a pattern for names finds a name; ``None`` where that is not known."""
    patterns = node.get("patternProperties") or {}
    try:
        return any(re.search(pattern, name) for pattern in patterns)
    except re.error:  # a pattern of another dialect
        return None


def marked(node: Any, *, is_map: bool = False) -> Any:
    """The same schema, in which the texts of a Decimal have a format.

    pydantic writes ``{"anyOf": [{"type": "number"}, {"type": "string"}]}`` for a Decimal, which does not take each
    text. ``float | str`` has the same schema, and only the tool can say which of the two it is.

    Args:
        node: The schema.
        is_map: Whether it is the schemas by name, as of ``properties``.
    """
    if isinstance(node, list):
        return [marked(each) for each in node]
    if not isinstance(node, dict):
        return node
    if is_map:
        return {name: marked(each) for name, each in node.items()}
    found = {key: value if key in _VALUES else marked(value, is_map=key in BY_NAME) for key, value in node.items()}
    branches = found.get("anyOf")
    if isinstance(branches, list):
        numbers = [each for each in branches if isinstance(each, dict) and each.get("type") == "number"]
        if numbers:
            said = DECIMAL if len(_stripped(numbers[0])) == 1 else LIMITED_DECIMAL
            text = {"type": "string", "format": said}
            plain = [isinstance(each, dict) and _stripped(each) == {"type": "string"} for each in branches]
            found["anyOf"] = [text if is_plain else each for each, is_plain in zip(branches, plain, strict=True)]
    return found


def _stripped(node: JsonSchema) -> JsonSchema:
    return {key: value for key, value in node.items() if key not in ANNOTATIONS}


def _listed(node: JsonSchema) -> list[Any] | None:
    """The values of a schema that has few, one by one."""
    if "const" in node:
        return [node["const"]]
    if "enum" in node:
        return list(node["enum"])
    few: dict[str, list[Any]] = {"boolean": [True, False], "null": [None]}
    return few.get(node["type"]) if isinstance(node.get("type"), str) else None


def _kinds(node: JsonSchema) -> list[str]:
    given = node.get("type", [kind for kind in _TYPES if kind != "integer"])
    return given if isinstance(given, list) else [given]


def _wider(node: JsonSchema) -> set[str]:
    kinds = set(_kinds(node))
    return kinds | {"integer"} if "number" in kinds else kinds


def _at(first: list[Any], number: int, node: JsonSchema) -> Any:
    return first[number] if number < len(first) else node.get("items", True)


def is_same_json(one: Any, other: Any) -> bool:
    """Whether two values are one as JSON, where 1 is not true; and 1.0 is taken for another than 1."""
    return bool(one == other) and (one is other or canonical_json(one) == canonical_json(other))


def _same(wide: JsonSchema, narrow: JsonSchema, keywords: tuple[str, ...], *, is_whole: bool = False) -> bool:
    """Whether keywords of one schema are in the other; or, as a whole, whether both have them or not."""
    return all(
        (key in wide) == (key in narrow) and is_same_json(wide.get(key), narrow.get(key))
        for key in keywords
        if key in wide or is_whole
    )


def _tag(node: JsonSchema) -> Any:
    """The name of the property that says which branch is meant."""
    given = node.get("discriminator")
    return given.get("propertyName") if isinstance(given, dict) else None


def _strings(wide: JsonSchema, narrow: JsonSchema) -> bool:
    lengths = wide.get("minLength", 0) <= narrow.get("minLength", 0) and wide.get("maxLength", math.inf) >= narrow.get(
        "maxLength", math.inf
    )
    is_free = wide.get("format") in FREE_FORMATS
    content = ("pattern", "contentEncoding", "contentMediaType", "contentSchema")
    return lengths and _same(wide, narrow, content) and (is_free or _same(wide, narrow, ("format",)))


def _numbers(wide: JsonSchema, narrow: JsonSchema, *, is_integer: bool) -> bool:
    low, high = _range(narrow, is_integer=is_integer)
    low_wide, high_wide = _range(wide, is_integer=is_integer)
    step = wide.get("multipleOf")
    own = narrow.get("multipleOf", 1 if is_integer else None)
    divides = step is None or (bool(step) and own is not None and _divides(step, own))
    return low_wide <= low and high_wide >= high and divides and _same(wide, narrow, ("format",))


def _divides(step: float, number: float) -> bool:
    return (Fraction(str(number)) / Fraction(str(step))).denominator == 1


def _range(node: JsonSchema, *, is_integer: bool) -> tuple[tuple[float, int], tuple[float, int]]:
    """The bounds, each with a place beside it for whether it is itself admitted."""
    low = max((node.get("minimum", -math.inf), 0), (node.get("exclusiveMinimum", -math.inf), 1))
    high = min((node.get("maximum", math.inf), 0), (node.get("exclusiveMaximum", math.inf), -1))
    if is_integer:
        low = (math.floor(low[0]) + 1, 0) if low[1] and low[0] != -math.inf else (_whole(low[0], math.ceil), 0)
        high = (math.ceil(high[0]) - 1, 0) if high[1] and high[0] != math.inf else (_whole(high[0], math.floor), 0)
    return low, high


def _whole(number: float, rounded: Callable[[float], int]) -> float:
    return number if isinstance(number, int) or math.isinf(number) else rounded(number)

"""Proves that one schema admits every value that another schema admits.

The proof is sound but not complete: ``False`` means that no proof was found.
"""

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from toolshape._records.calls import JsonSchema
from toolshape._records.identity import canonical_json
from toolshape._schema import keywords as keyword_table
from toolshape._schema.keywords import UNIONS, keywords
from toolshape._schema.references import at_pointer
from toolshape._schema.union_branches import are_disjoint

Admits: TypeAlias = Callable[[Any, Any], bool]
"""A function that takes a schema and a value, and returns whether the schema admits the value."""
ANNOTATIONS = frozenset(keywords("annotates", "identifies", "defines", draft="any")) | {"example"}
"""Keywords that do not constrain values."""
_DEEPEST = 60
_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
_OF_THE_WHOLE = frozenset({"unevaluatedItems", "unevaluatedProperties"})
"""Keywords whose meaning depends on the other keywords of the same schema."""
_APPLY: Mapping[str, frozenset[str]] = {
    kind: frozenset(keywords("applies", "constrains", "asserts", "content", kind=kind))
    - _OF_THE_WHOLE
    for kind in ("string", "number", "array", "object")
}
_OF_ANY = frozenset({"$ref", "discriminator", *UNIONS, *keywords("asserts", kind="")})
_KNOWN = frozenset.union(_OF_ANY, *_APPLY.values())
_VALUES = frozenset(keywords("asserts", "annotates", holds="value", draft="any"))
BY_NAME = keyword_table.BY_NAME | {"dependentRequired"}
"""Keywords that map names to schemas or other values. The author of the schema chooses these names.
"""
FREE_FORMATS = frozenset({"binary", "password", "path"})
"""Formats that pydantic writes for types that accept every string (2.14.3,
tested with values, 2026-11-23).
"""
DECIMAL, LIMITED_DECIMAL = "decimal", "limited-decimal"
"""Formats that ``mark_decimals`` sets on the string form of a Decimal."""
_MOST_STEPS = 50_000


class Proof:
    """Proves that one schema admits every value that another schema admits.

    Each schema has its own root.
    """

    def __init__(self, wide_root: Any, narrow_root: Any, admits: Admits) -> None:
        self._wide_root = wide_root
        self._narrow_root = narrow_root
        self._admits = admits
        self._assumed: frozenset[tuple[str, str]] = frozenset()
        self._depth = 0
        self._steps = 0

    def includes(self, wide: Any, narrow: Any) -> bool:
        """Return whether a proof shows that ``wide`` admits every value that ``narrow`` admits."""
        # Schemas may be recursive. While the proof of a pair of references runs, ``_assumed`` holds
        # the pair. If the proof meets the pair again at a deeper level, the pair counts as proved.
        # This is induction over the value, which is finite: if the claim holds at each level, it
        # holds for the whole value. Steps and depth are bounded, as definitions that share
        # definitions have exponentially many paths.
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return False
        if wide is True or wide == {} or narrow is False:
            return True
        if (
            not (isinstance(wide, dict) and isinstance(narrow, (dict, bool)))
            or self._depth > _DEEPEST
        ):
            return False
        wide, narrow = (
            _without_annotations(wide),
            _without_annotations(narrow if isinstance(narrow, dict) else {}),
        )
        if _OF_THE_WHOLE & wide.keys():
            return "$ref" not in str(wide) and is_same_json(wide, narrow)
        pair = str(wide.get("$ref", "")), str(narrow.get("$ref", ""))
        is_pair = len(wide) == len(narrow) == 1 and all(pair)
        if is_pair and pair in self._assumed:
            return True
        self._assumed |= {pair} if is_pair else frozenset()
        self._depth += 1
        try:
            return not wide or self._follow_references(wide, narrow)
        finally:
            self._depth -= 1
            self._assumed -= {pair} if is_pair else frozenset()

    def _follow_references(self, wide: JsonSchema, narrow: JsonSchema) -> bool:
        if "$ref" in wide:
            return self._includes_all(
                wide, [at_pointer(self._wide_root, wide["$ref"])], "$ref", narrow
            )
        if "$ref" in narrow:
            return self._includes_intersection(
                wide, narrow, "$ref", [at_pointer(self._narrow_root, narrow["$ref"])]
            )
        return self._includes_values(wide, narrow)

    def _includes_all(
        self, wide: JsonSchema, parts: list[Any], keyword: str, narrow: JsonSchema
    ) -> bool:
        other_keywords = {key: value for key, value in wide.items() if key != keyword}
        return all(self.includes(part, narrow) for part in (other_keywords, *parts))

    def _includes_intersection(
        self, wide: JsonSchema, narrow: JsonSchema, keyword: str, parts: list[Any]
    ) -> bool:
        """Return whether ``wide`` includes the intersection of the parts.

        It is enough that it includes one part.
        """
        other_keywords = {key: value for key, value in narrow.items() if key != keyword}
        if any(self.includes(wide, part) for part in (other_keywords, *parts)):
            return True
        merged = other_keywords
        for part in parts:
            if not isinstance(part, dict) or (merged.keys() & part.keys() - ANNOTATIONS):
                return False
            merged = {**part, **merged}
        return merged != narrow and self.includes(wide, merged)

    def _includes_values(self, wide: JsonSchema, narrow: JsonSchema) -> bool:  # noqa: PLR0911 - one per keyword
        # The narrow side is taken apart first: each of its values, branches and types must be
        # admitted, so *all* is exact there. On the wide side *one* branch is sufficient but not
        # necessary (two may cover what neither does alone), so it is opened last, and ``False``
        # means not proved.
        admitted_values = _admitted_values(narrow)
        if admitted_values is not None:
            if "$ref" not in str(wide) and is_same_json(wide, narrow):
                return True
            wide_with_definitions = (
                {**wide, "$defs": self._wide_root.get("$defs", {})}
                if isinstance(self._wide_root, dict)
                else wide
            )
            return all(self._admits(wide_with_definitions, value) for value in admitted_values)
        for keyword in ("anyOf", "oneOf"):
            if keyword in narrow:
                return all(
                    self._includes_intersection(wide, narrow, keyword, [branch])
                    for branch in narrow[keyword]
                )
        if "allOf" in narrow:
            return self._includes_intersection(wide, narrow, "allOf", narrow["allOf"])
        if "allOf" in wide:
            return self._includes_all(wide, wide["allOf"], "allOf", narrow)
        kinds = _kinds(narrow)
        if len(kinds) > 1:
            return all(self.includes(wide, {**narrow, "type": kind}) for kind in kinds)
        if "anyOf" in wide or "oneOf" in wide:
            return self._includes_with_one_branch(wide, narrow)
        if "enum" in wide or "const" in wide:
            return False
        return kinds[0] in _admitted_kinds(wide) and self._includes_kind(kinds[0], wide, narrow)

    def _includes_with_one_branch(self, wide: JsonSchema, narrow: JsonSchema) -> bool:
        keyword = "anyOf" if "anyOf" in wide else "oneOf"
        other_keywords = {key: value for key, value in wide.items() if key != keyword}
        branches = wide[keyword]
        for index, branch in enumerate(branches):
            if self.includes(branch, narrow) and self.includes(other_keywords, narrow):
                # The tag selects the branch, so no other branch can match.
                is_tagged = _tag(wide) is not None
                if keyword == "oneOf" and not is_tagged:
                    other_branches = [*branches[:index], *branches[index + 1 :]]
                else:
                    other_branches = []
                if all(
                    are_disjoint(self._resolve_reference(other), narrow, lambda node: node)
                    for other in other_branches
                ):
                    return True
        return False

    def _resolve_reference(self, node: Any) -> Any:
        if isinstance(node, dict) and "$ref" in node:
            return at_pointer(self._wide_root, node["$ref"])
        return node

    def _includes_kind(self, kind: str, wide: JsonSchema, narrow: JsonSchema) -> bool:
        family = "number" if kind == "integer" else kind
        # If ``narrow`` lacks this tag, calls may omit its property.
        has_tag = _tag(wide) in (
            None,
            _tag(narrow),
        )
        if not (has_tag and _has_same_keywords(wide, narrow, tuple(wide.keys() - _KNOWN))):
            return False
        match family:
            case "string":
                return _includes_string(wide, narrow)
            case "number":
                return _includes_number(wide, narrow, is_integer=kind == "integer")
            case "array":
                return self._includes_array(wide, narrow)
            case "object":
                return self._includes_object(wide, narrow)
            case _:
                return True

    def _includes_array(self, wide: JsonSchema, narrow: JsonSchema) -> bool:
        most = narrow.get("maxItems", math.inf)
        if (
            wide.get("minItems", 0) > narrow.get("minItems", 0)
            or wide.get("maxItems", math.inf) < most
        ):
            return False
        if wide.get("uniqueItems") and not narrow.get("uniqueItems"):
            return False
        if "contains" in wide and not _has_same_keywords(
            wide, narrow, ("contains", "minContains", "maxContains"), is_whole=True
        ):
            return False
        wide_prefix, narrow_prefix = wide.get("prefixItems", []), narrow.get("prefixItems", [])
        for index in range(max(len(wide_prefix), len(narrow_prefix))):
            if index >= most:
                break
            if not self.includes(
                _item_schema(wide_prefix, index, wide), _item_schema(narrow_prefix, index, narrow)
            ):
                return False
        return most <= len(narrow_prefix) or self.includes(
            wide.get("items", True), narrow.get("items", True)
        )

    def _includes_object(self, wide: JsonSchema, narrow: JsonSchema) -> bool:
        # The cheap and exact conditions come first, the fields last, because each of them may be a
        # schema of any size. Patterns are compared by their text: whether one regular expression
        # includes another is not asked, and so not proved.
        required = set(narrow.get("required", ()))
        if not set(wide.get("required", ())) <= required:
            return False
        least, most = (
            max(narrow.get("minProperties", 0), len(required)),
            narrow.get("maxProperties", math.inf),
        )
        narrow_properties = narrow.get("properties", {})
        if narrow.get("additionalProperties") is False and not narrow.get("patternProperties"):
            most = min(most, len(narrow_properties))
        if wide.get("minProperties", 0) > least or wide.get("maxProperties", math.inf) < most:
            return False
        # A reference in such a text may mean one thing in the old schema and another in the new.
        for key in ("dependentRequired", "dependentSchemas"):
            is_same = key not in wide or is_same_json(wide[key], narrow.get(key, {}))
            if not is_same or "$ref" in str(wide.get(key, "")):
                return False
        patterns, narrow_patterns = (
            wide.get("patternProperties") or {},
            narrow.get("patternProperties") or {},
        )
        if patterns.keys() != narrow_patterns.keys():
            return False
        if not all(
            self.includes(patterns[pattern], narrow_patterns[pattern]) for pattern in patterns
        ):
            return False
        return self._includes_names(wide, narrow) and self._includes_fields(
            wide, narrow, narrow_properties
        )

    def _includes_names(self, wide: JsonSchema, narrow: JsonSchema) -> bool:
        if "propertyNames" not in wide:
            return True
        if "propertyNames" in narrow:
            return self.includes(wide["propertyNames"], narrow["propertyNames"])
        # Without words of its own about names, a schema must list all of them: a pattern lists
        # none.
        if narrow.get("additionalProperties") is not False or narrow.get("patternProperties"):
            return False
        names = list(narrow.get("properties", {}))
        return self.includes(wide["propertyNames"], {"enum": names})

    def _includes_fields(self, wide: JsonSchema, narrow: JsonSchema, own: JsonSchema) -> bool:
        wide_additional, narrow_additional = (
            wide.get("additionalProperties", True),
            narrow.get("additionalProperties", True),
        )
        for name in {**wide.get("properties", {}), **own}:
            matches_pattern = _matches_pattern(wide, name)
            if matches_pattern is None:
                return False
            # Both nodes have the same patterns, and ``_includes_object`` has compared the schemas
            # of these patterns.
            narrow_property = own.get(name, True if matches_pattern else narrow_additional)
            if name in wide.get("properties", {}):
                wide_property = wide["properties"][name]
            else:
                wide_property = True if matches_pattern else wide_additional
            if narrow_property is not False and not self.includes(wide_property, narrow_property):
                return False
        return narrow_additional is False or self.includes(wide_additional, narrow_additional)


def _matches_pattern(node: JsonSchema, name: str) -> bool | None:
    """Return whether a key of ``patternProperties`` matches a name, or ``None`` if
    Python cannot compile the key.
    """
    patterns = node.get("patternProperties") or {}
    try:
        return any(re.search(pattern, name) for pattern in patterns)
    except re.error:  # a pattern in another regex dialect
        return None


def mark_decimals(node: Any, *, is_map: bool = False) -> Any:
    """Return the schema with a format added to each string that may be a Decimal.

    pydantic writes ``{"anyOf": [{"type": "number"}, {"type": "string"}]}`` for a Decimal, but a
    Decimal does not accept every string. ``float | str`` has the same schema: only the tool itself
    can distinguish the two types.

    Args:
        node: The schema.
        is_map: Whether ``node`` maps names to schemas, like ``properties``.
    """
    if isinstance(node, list):
        return [mark_decimals(item) for item in node]
    if not isinstance(node, dict):
        return node
    if is_map:
        return {name: mark_decimals(value) for name, value in node.items()}
    schema = {
        key: value if key in _VALUES else mark_decimals(value, is_map=key in BY_NAME)
        for key, value in node.items()
    }
    # A constraint of the number holds for the text as well, since both are one Decimal. So a text
    # beside a number with constraints has another format, which no text beside a free number fits.
    branches = schema.get("anyOf")
    if isinstance(branches, list):
        numbers = [
            branch
            for branch in branches
            if isinstance(branch, dict) and branch.get("type") == "number"
        ]
        if numbers:
            if len(_without_annotations(numbers[0])) == 1:
                text_format = DECIMAL
            else:
                text_format = LIMITED_DECIMAL
            text = {"type": "string", "format": text_format}
            plain_flags = [
                isinstance(branch, dict) and _without_annotations(branch) == {"type": "string"}
                for branch in branches
            ]
            schema["anyOf"] = [
                text if is_plain else branch
                for branch, is_plain in zip(branches, plain_flags, strict=True)
            ]
    return schema


def _without_annotations(node: JsonSchema) -> JsonSchema:
    return {key: value for key, value in node.items() if key not in ANNOTATIONS}


def _admitted_values(node: JsonSchema) -> list[Any] | None:
    """Return all values that a schema admits if there are only a few, else ``None``."""
    if "const" in node:
        return [node["const"]]
    if "enum" in node:
        return list(node["enum"])
    values_by_type: dict[str, list[Any]] = {"boolean": [True, False], "null": [None]}
    if isinstance(node.get("type"), str):
        return values_by_type.get(node["type"])
    return None


def _kinds(node: JsonSchema) -> list[str]:
    kinds = node.get("type", [kind for kind in _TYPES if kind != "integer"])
    if isinstance(kinds, list):
        return kinds
    return [kinds]


def _admitted_kinds(node: JsonSchema) -> set[str]:
    kinds = set(_kinds(node))
    if "number" in kinds:
        return kinds | {"integer"}
    return kinds


def _item_schema(first: list[Any], number: int, node: JsonSchema) -> Any:
    if number < len(first):
        return first[number]
    return node.get("items", True)


def is_same_json(left: Any, right: Any) -> bool:
    """Return whether two values are the same JSON: 1 and ``True`` differ, and so do 1 and 1.0."""
    return bool(left == right) and (left is right or canonical_json(left) == canonical_json(right))


def _has_same_keywords(
    wide: JsonSchema, narrow: JsonSchema, keywords: tuple[str, ...], *, is_whole: bool = False
) -> bool:
    """Return whether ``narrow`` has the same value as ``wide`` for each of the
    ``keywords`` that ``wide`` has.

    With ``is_whole``, return ``False`` as well if only ``narrow`` has one of the keywords.
    """
    return all(
        (key in wide) == (key in narrow) and is_same_json(wide.get(key), narrow.get(key))
        for key in keywords
        if key in wide or is_whole
    )


def _tag(node: JsonSchema) -> Any:
    """Return the name of the discriminator property, or ``None``."""
    discriminator = node.get("discriminator")
    if isinstance(discriminator, dict):
        return discriminator.get("propertyName")
    return None


def _includes_string(wide: JsonSchema, narrow: JsonSchema) -> bool:
    are_lengths_included = wide.get("minLength", 0) <= narrow.get("minLength", 0) and wide.get(
        "maxLength", math.inf
    ) >= narrow.get("maxLength", math.inf)
    is_free = wide.get("format") in FREE_FORMATS
    content = ("pattern", "contentEncoding", "contentMediaType", "contentSchema")
    return (
        are_lengths_included
        and _has_same_keywords(wide, narrow, content)
        and (is_free or _has_same_keywords(wide, narrow, ("format",)))
    )


def _includes_number(wide: JsonSchema, narrow: JsonSchema, *, is_integer: bool) -> bool:
    low, high = _range(narrow, is_integer=is_integer)
    low_wide, high_wide = _range(wide, is_integer=is_integer)
    step = wide.get("multipleOf")
    narrow_step = narrow.get("multipleOf", 1 if is_integer else None)
    divides = step is None or (
        bool(step) and narrow_step is not None and _divides(step, narrow_step)
    )
    return (
        low_wide <= low
        and high_wide >= high
        and divides
        and _has_same_keywords(wide, narrow, ("format",))
    )


def _divides(step: float, number: float) -> bool:
    return (Fraction(str(number)) / Fraction(str(step))).denominator == 1


def _range(node: JsonSchema, *, is_integer: bool) -> tuple[tuple[float, int], tuple[float, int]]:
    """Return the lower and the upper bound as comparable pairs: the second item is
    0 if the bound itself is valid.
    """
    low = max((node.get("minimum", -math.inf), 0), (node.get("exclusiveMinimum", -math.inf), 1))
    high = min((node.get("maximum", math.inf), 0), (node.get("exclusiveMaximum", math.inf), -1))
    if is_integer:
        if low[1] and low[0] != -math.inf:
            low = (math.floor(low[0]) + 1, 0)
        else:
            low = (_round_to_integer(low[0], math.ceil), 0)
        if high[1] and high[0] != math.inf:
            high = (math.ceil(high[0]) - 1, 0)
        else:
            high = (_round_to_integer(high[0], math.floor), 0)
    return low, high


def _round_to_integer(number: float, rounded: Callable[[float], int]) -> float:
    if isinstance(number, int) or math.isinf(number):
        return number
    return rounded(number)

"""Finds the branch of a union that a value matches, and whether branches can be told apart."""

# A union has no arrow of its own: each branch has one, and the value says which is meant. So two
# questions are answered here.
#
# The first is asked of every value, on its way back and out: which branch does it fit? Only its
# outermost level is looked at (types, names of fields, constants), and what is inside only where
# several branches fit so far. Then the first counts, as for whoever reads the schema from the top.
#
# The second is asked once, when the schema is rewritten: is there a value that fits two branches?
# Not if constants tell them apart that all of them require. Otherwise each pair in which a branch
# is rewritten is compared, until it is certain that they share no value. What is not certain is
# reported as a loss by ``walk``, before and after the rewrite apart.
#
# Definitions come from anywhere, so each question has a budget of levels and of steps, and both err
# to the side that is told: a value over its budget may fit, a pair over it may share a value.

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolshape._schema.patterns import is_bounded
from toolshape._schema.references import Resolve
from toolshape._schema.values import is_equal_json

# The limit for nested branches and references at one place in a value; a schema may refer to
# itself.
_DEPTH = 64
_ALL = 1_000_000
_SEVERAL = 2
_MOST_COMPARED = 10_000  # the limit for pairs of nodes in one comparison of two schemas
_MOST_COMPARED_OF_A_UNION = 100_000  # the same for all pairs of branches of a union together
_DEEPEST_COMPARED = 8
_MOST_STEPS = 20_000  # the limit for nodes of a schema in one match of a value


def branch_of(value: Any, branches: Sequence[Any], resolve: Resolve) -> int | None:
    """Return the index of the first branch that a value fits; nested values
    are compared only to break a tie.
    """
    candidates = [
        index for index, branch in enumerate(branches) if fits(value, branch, resolve, levels=1)
    ]
    if len(candidates) < _SEVERAL:
        if candidates:
            return candidates[0]
        return None
    return next((index for index in candidates if fits(value, branches[index], resolve)), None)


def fits(value: Any, schema: Any, resolve: Resolve, *, levels: int = _ALL) -> bool:
    """Whether a JSON value matches a schema; ``format`` is ignored.

    Args:
        value: The value.
        schema: The schema.
        resolve: The function that follows the schema's references.
        levels: The number of levels of the value to check; by default, all levels.
    """
    return _Fit(resolve).fits(value, schema, levels, _DEPTH)


class _Fit:
    """Matches one value against one schema; caches the result for each
    reference and part of the value.

    After ``_MOST_STEPS`` nodes, every value counts as matching: a caller then knows only that a
    value may match.
    """

    __slots__ = ("known", "left", "resolve")

    def __init__(self, resolve: Resolve) -> None:
        self.resolve = resolve
        self.known: dict[tuple[str, int, int], bool] = {}
        self.left = _MOST_STEPS

    def of_reference(self, value: Any, schema: Mapping[str, Any], levels: int, depth: int) -> bool:
        key = (schema["$ref"], id(value), levels)
        is_bare = len(schema) == 1
        if is_bare and key in self.known:
            return self.known[key]
        target = self.resolve(schema)
        is_open = not isinstance(target, dict) or "$ref" in target
        result = is_open or self.fits(value, target, levels, depth - 1)
        if is_bare:
            self.known[key] = result
        return result

    def fits(self, value: Any, schema: Any, levels: int, depth: int) -> bool:  # noqa: C901, PLR0911 - one per keyword
        # ``True`` means that the value may match: a branch that is ruled out can never be chosen
        # again, so only what surely refuses the value answers ``False``. For the same reason a
        # spent budget is ``True``, ``oneOf`` is read like ``anyOf``, and ``format`` is not asked.
        if not isinstance(schema, dict):
            return schema is not False
        self.left -= 1
        if not depth or self.left < 0:
            return True
        if "$ref" in schema:
            return self.of_reference(value, schema, levels, depth)
        if value is None and schema.get("nullable") is True:
            return True
        if "const" in schema and not is_equal_json(value, schema["const"]):
            return False
        if "enum" in schema and not any(is_equal_json(value, option) for option in schema["enum"]):
            return False
        if "type" in schema and not _types(value) & _declared_types(schema):
            return False
        for keyword, combine in (("anyOf", any), ("oneOf", any), ("allOf", all)):
            if keyword in schema:
                branches = schema[keyword]
                if not combine(self.fits(value, branch, levels, depth - 1) for branch in branches):
                    return False
        if isinstance(value, dict):
            return self.object_fits(value, schema, levels, depth)
        if isinstance(value, list):
            return self.array_fits(value, schema, levels, depth)
        return _scalar_fits(value, schema)

    def object_fits(
        self, value: dict[str, Any], schema: Mapping[str, Any], levels: int, depth: int
    ) -> bool:
        properties = schema.get("properties", {})
        additional = _of_other_names(schema)
        names = schema.get("propertyNames", True)
        if not (
            all(name in value for name in schema.get("required", ()))
            and schema.get("minProperties", 0)
            <= len(value)
            <= schema.get("maxProperties", math.inf)
            and (additional is not False or all(name in properties for name in value))
            and (names is True or all(self.fits(name, names, levels, depth) for name in value))
        ):
            return False
        return all(
            self.of_member(item, properties.get(name, additional), levels - 1, depth)
            for name, item in value.items()
        )

    def array_fits(
        self, value: list[Any], schema: Mapping[str, Any], levels: int, depth: int
    ) -> bool:
        prefix = schema.get("prefixItems", [])
        rest_schema = schema.get("items", True)
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
            return False
        return all(
            self.of_member(
                item, prefix[index] if index < len(prefix) else rest_schema, levels - 1, depth
            )
            for index, item in enumerate(value)
        )

    def of_member(self, item: Any, schema: Any, levels: int, depth: int) -> bool:
        """Match a member against its schema; below the last level, objects and
        arrays are accepted unchecked.
        """
        if levels < 0 or (levels == 0 and isinstance(item, (dict, list))):
            return True
        return self.fits(item, schema, levels, depth)


def _types(value: Any) -> set[str]:
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, (int, float)):
        if math.isfinite(value) and value == int(value):
            return {"number", "integer"}
        return {"number"}
    names: dict[type, str] = {str: "string", type(None): "null", dict: "object", list: "array"}
    return {name for kind, name in names.items() if isinstance(value, kind)}


def _declared_types(schema: Mapping[str, Any]) -> set[str]:
    if isinstance(schema["type"], list):
        declared = schema["type"]
    else:
        declared = [schema["type"]]
    return {str(name).lower() for name in declared}


def _scalar_fits(value: Any, schema: Mapping[str, Any]) -> bool:
    if isinstance(value, str):
        shortest, longest = schema.get("minLength", 0), schema.get("maxLength", math.inf)
        return shortest <= len(value) <= longest and matches(schema.get("pattern"), value)
    if isinstance(value, bool) or value is None:
        return True
    return (
        schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
        and schema.get("exclusiveMinimum", -math.inf)
        < value
        < schema.get("exclusiveMaximum", math.inf)
        if not isinstance(schema.get("exclusiveMinimum"), bool)
        else True
    )


def matches(pattern: Any, value: str) -> bool:
    """Whether a string may match a pattern; true if that may take too long, or if
    Python cannot compile the pattern.
    """
    try:
        return (
            not isinstance(pattern, str)
            or not is_bounded(pattern, len(value))
            or re.search(pattern, value) is not None
        )
    except (re.error, RecursionError, OverflowError):
        return True


def are_disjoint(one: Any, other: Any, resolve: Resolve, depth: int = _DEEPEST_COMPARED) -> bool:
    """Whether it is certain that no value fits both schemas; false if the
    comparison would take too long.
    """
    return _BranchPair(resolve, _MOST_COMPARED).are_disjoint(one, other, depth)


def disjoint_pairs(
    branches: Sequence[Any], pairs: Iterable[tuple[int, int]], resolve: Resolve
) -> set[tuple[int, int]]:
    """Return the pairs of positions whose branches certainly share no value; the
    work for all of them is bounded.
    """
    comparison = _BranchPair(resolve, _MOST_COMPARED_OF_A_UNION)
    return {
        (first, second)
        for first, second in pairs
        if comparison.are_disjoint(branches[first], branches[second], _DEEPEST_COMPARED)
    }


def are_distinguishable(branches: Sequence[Any], resolve: Resolve) -> bool:
    """Whether the branches have different constants for a field that all branches
    require, or for the whole value.

    At most one branch may be null, and only if no other branch admits null as a constant.
    """
    resolved_branches = [resolve(branch) for branch in branches]
    non_null_branches = [
        branch
        for branch in resolved_branches
        if not (isinstance(branch, dict) and branch.get("type") == "null")
    ]
    constants = [_values_by_name(branch) for branch in non_null_branches]
    if len(non_null_branches) + 1 < len(resolved_branches) or (
        len(non_null_branches) < len(resolved_branches)
        and any("null" in by_name.get("", ()) for by_name in constants)
    ):
        return False
    if constants:
        names = set(constants[0]).intersection(*constants[1:])
    else:
        names = set[str]()
    # The sets of constants are disjoint if their union has as many members as the sets have
    # together.
    return any(
        len(set[str]().union(*(by_name[name] for by_name in constants)))
        == sum(len(by_name[name]) for by_name in constants)
        for name in names
    )


def _values_by_name(schema: Any) -> dict[str, set[str]]:
    """Return the constants, as JSON text, for the whole value (key ``""``) and for
    required fields (key ``.name``).
    """
    if not isinstance(schema, dict):
        return {}
    schemas: dict[str, Any] = {"": schema}
    if _has_only_type(schema, "object"):
        required = schema.get("required", ())
    else:
        required = ()
    schemas |= {f".{name}": schema.get("properties", {}).get(name) for name in required}
    values_by_name = {name: _constants(inner) or [] for name, inner in schemas.items()}
    return {
        name: {json.dumps(value, sort_keys=True) for value in values}
        for name, values in values_by_name.items()
        if values
    }


def _has_only_type(schema: Mapping[str, Any], name: str) -> bool:
    return "type" in schema and _declared_types(schema) == {name}


class _BranchPair:
    """Compares two schemas, within a budget of node pairs, and of nodes for the constants in
    them.
    """

    __slots__ = ("fit", "left", "resolve")

    def __init__(self, resolve: Resolve, most: int) -> None:
        self.resolve = resolve
        self.left = most
        self.fit = _Fit(resolve)

    def are_disjoint(self, one: Any, other: Any, depth: int) -> bool:  # noqa: C901, PLR0911 - one per form
        # Whoever asks acts on ``True`` alone: it leaves a rewrite out, or knows which branch a
        # value is of. So every doubt is ``False``, and so is a spent budget. Unions are opened
        # before constants are looked at, because a constant in one branch says nothing of the
        # others.
        self.left -= 1
        one, other = self.resolve(one), self.resolve(other)
        if not isinstance(one, dict) or not isinstance(other, dict) or not depth or self.left < 0:
            # No more can be decided here, except that ``False`` admits no value.
            return one is False or other is False
        if one.get("nullable") is True and other.get("nullable") is True:
            return False
        for keyword in ("anyOf", "oneOf"):
            for first, second in ((one, other), (other, one)):
                if keyword in first:
                    return all(
                        self.are_disjoint(branch, second, depth - 1) for branch in first[keyword]
                    )
        first_values, second_values = _constants(one), _constants(other)
        if first_values is not None:
            return not any(self.fit.fits(value, other, _ALL, _DEPTH) for value in first_values)
        if second_values is not None:
            return not any(self.fit.fits(value, one, _ALL, _DEPTH) for value in second_values)
        if "type" not in one or "type" not in other:
            return False
        shared_types = _widen(_declared_types(one)) & _widen(_declared_types(other))
        if shared_types == {"object"}:
            return self.objects(one, other, depth)
        if shared_types == {"array"}:
            return self.arrays(one, other, depth)
        return not shared_types

    def objects(self, one: Mapping[str, Any], other: Mapping[str, Any], depth: int) -> bool:
        for first, second in ((one, other), (other, one)):
            second_properties = second.get("properties", {})
            for name in first.get("required", ()):
                first_schema = first.get("properties", {}).get(name, True)
                second_schema = second_properties.get(name, _of_other_names(second))
                if second_schema is False or (
                    name in second_properties
                    and self.are_disjoint(first_schema, second_schema, depth - 1)
                ):
                    return True
        return False

    def arrays(self, one: Mapping[str, Any], other: Mapping[str, Any], depth: int) -> bool:
        for first, second in ((one, other), (other, one)):
            if first.get("minItems", 0) > second.get("maxItems", math.inf):
                return True
        is_never_empty = one.get("minItems", 0) > 0 or other.get("minItems", 0) > 0
        first, second = (
            (schema.get("prefixItems") or [schema.get("items", True)])[0] for schema in (one, other)
        )
        return is_never_empty and self.are_disjoint(first, second, depth - 1)


def _of_other_names(schema: Mapping[str, Any]) -> Any:
    """Return the schema of the fields that ``properties`` does not name.

    Beside patterns it is ``True``: a name may fall under one of them, and none is asked.
    """
    if schema.get("patternProperties"):
        return True
    return schema.get("additionalProperties", True)


def _constants(schema: Any) -> list[Any] | None:
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum")


def _widen(types: set[str]) -> set[str]:
    if "integer" in types:
        return types | {"number"}
    return types

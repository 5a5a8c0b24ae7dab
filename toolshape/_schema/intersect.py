"""Intersects two schemas: one without ``allOf`` that admits what both admit."""

from collections.abc import Callable
from typing import Any

from toolshape._records.calls import JsonSchema
from toolshape._schema.keywords import KEYWORDS, group
from toolshape._schema.lens import UnsupportedError
from toolshape._schema.references import Resolve
from toolshape._schema.values import is_equal_json

_DEEPEST = (
    20  # the maximum nesting: without a limit, the intersection of recursive schemas would not end
)
_LARGER = frozenset(keyword.name for keyword in KEYWORDS if keyword.bound == "least")
_SMALLER = frozenset(keyword.name for keyword in KEYWORDS if keyword.bound == "most")


def intersect(
    one: JsonSchema,
    other: JsonSchema,
    resolve: Resolve,
    annotations: frozenset[str],
    *,
    path: str,
    depth: int = 0,
) -> JsonSchema:
    """Intersect two schemas, keyword by keyword.

    Args:
        one: The first schema.
        other: The second schema; its annotations override those of the first schema.
        resolve: The function that follows references.
        annotations: The keywords that do not constrain values.
        path: The path of the schemas, for the error.
        depth: The number of enclosing schemas that are being intersected.

    Raises:
        UnsupportedError: The intersection cannot be written without ``allOf``, or it admits
            nothing.
    """
    if depth > _DEEPEST:
        raise UnsupportedError(
            "allOf contains itself: merge its parts by hand", path=path, rule="allOf"
        )

    def both(ours: Any, theirs: Any) -> Any:
        return _intersect_schemas(ours, theirs, resolve, annotations, path, depth)

    _refuse_neighbours(one, other, path)
    merged = dict(one)
    for key, value in other.items():
        if key in annotations or key not in merged or is_equal_json(merged[key], value):
            merged[key] = value
        else:
            merged[key] = _intersect_keyword(key, merged[key], value, both, path)
    if "additionalProperties" in one or "additionalProperties" in other:
        return _close_properties(merged, one, other, both, path)
    return merged


def _refuse_neighbours(one: JsonSchema, other: JsonSchema, path: str) -> None:
    """Raise ``UnsupportedError`` if the schemas differ in keywords whose
    meaning depends on their siblings.
    """
    for together in _TOGETHER:
        first, second = (
            {key: part[key] for key in together & part.keys()} for part in (one, other)
        )
        if first and second and not is_equal_json(first, second) and {*first, *second} != {"items"}:
            raise UnsupportedError(
                f"the parts of allOf differ in {min(first)!r}: merge them by hand",
                path=path,
                rule="allOf",
            )
    for first, second in ((one, other), (other, one)):
        if "unevaluatedProperties" in first and second.keys() & _FIELDS:
            raise UnsupportedError(
                "allOf has unevaluatedProperties: merge the parts by hand", path=path, rule="allOf"
            )
        if "patternProperties" in second and first.get("additionalProperties", True) not in (
            True,
            {},
        ):
            raise UnsupportedError(
                "allOf has patternProperties and limits other fields: merge the parts by hand",
                path=path,
                rule="allOf",
            )


_TOGETHER = (group("items"), group("if"))
_FIELDS = group("fields")


def _intersect_keyword(  # noqa: PLR0911 - one branch for each keyword
    key: str, ours: Any, theirs: Any, both: Callable[[Any, Any], Any], path: str
) -> Any:
    """Intersect the values of one keyword."""
    # A keyword is merged only where the result admits exactly what both admit. ``pattern``,
    # ``format`` and the like have no such result in one keyword, and to drop one of the two would
    # widen the schema in silence: that is refused.
    if key in _LARGER:
        return max(ours, theirs)
    if key in _SMALLER:
        return min(ours, theirs)
    if key == "required":
        return list(dict.fromkeys([*ours, *theirs]))
    if key == "uniqueItems":
        return True
    if key == "type" and (kinds := _common_types(ours, theirs)):
        return kinds if len(kinds) > 1 else kinds[0]
    if key == "enum" and (
        choices := [
            choice for choice in ours if any(is_equal_json(choice, other) for other in theirs)
        ]
    ):
        return choices
    if key == "not":
        return {"anyOf": [ours, theirs]}
    if key == "properties":
        shared = {name: both(ours[name], inner) for name, inner in theirs.items() if name in ours}
        return {**ours, **theirs, **shared}
    if key in ("items", "additionalProperties", "propertyNames"):
        return both(ours, theirs)
    raise UnsupportedError(
        f"toolshape cannot merge the parts of allOf, because their values for {key!r} differ: "
        "merge them by hand",
        path=path,
        rule="allOf",
    )


def _intersect_schemas(
    ours: Any, theirs: Any, resolve: Resolve, annotations: frozenset[str], path: str, depth: int
) -> Any:
    if ours == theirs or theirs is True or theirs == {}:
        return ours
    if ours is True or ours == {}:
        return theirs
    if ours is False or theirs is False:
        return False
    return intersect(
        resolve(ours), resolve(theirs), resolve, annotations, path=path, depth=depth + 1
    )


def _close_properties(
    merged: JsonSchema,
    one: JsonSchema,
    other: JsonSchema,
    both: Callable[[Any, Any], Any],
    path: str,
) -> JsonSchema:
    """Apply each schema's ``additionalProperties`` to the properties
    that only the other schema names.
    """
    properties = dict(merged.get("properties", {}))
    for part, other_part in ((one, other), (other, one)):
        additional = part.get("additionalProperties", True)
        if additional is True or additional == {}:
            continue
        for name in other_part.get("properties", {}).keys() - part.get("properties", {}).keys():
            properties[name] = both(additional, properties[name])
    impossible_names = [name for name, inner in properties.items() if inner is False]
    if set(impossible_names) & set(merged.get("required", ())):
        raise UnsupportedError(
            f"allOf requires {impossible_names[0]!r} but forbids it", path=path, rule="allOf"
        )
    possible_properties = {name: inner for name, inner in properties.items() if inner is not False}
    if "properties" in merged:
        return {**merged, "properties": possible_properties}
    return merged


def _common_types(ours: Any, theirs: Any) -> list[str]:
    """Return the types that both schemas admit; an integer is also a number."""
    first, second = ([kinds] if isinstance(kinds, str) else kinds for kinds in (ours, theirs))
    common_types = [
        kind for kind in first if kind in second or (kind == "integer" and "number" in second)
    ]
    return list(
        dict.fromkeys(
            [*common_types, *(kind for kind in second if kind == "integer" and "number" in first)]
        )
    )

"""Checks for the schema features that providers reject.

Each check looks at one node and cites dated evidence.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from toolshape._records.calls import JsonSchema
from toolshape._records.errors import Problem
from toolshape._schema.lens import Place
from toolshape._schema.recursion import recursive_groups
from toolshape._schema.references import at_pointer, referring_nodes
from toolshape._schema.walk import nodes_of

Check: TypeAlias = Callable[[JsonSchema, Place], "str | None"]


class Cited(NamedTuple):
    """A check, and its evidence: where the provider documents the rule, or where the
    rule was observed, with the date.

    If ``is_refused`` is true, the server rejects a violation. Otherwise the server silently drops
    the violating part, so toolshape does not send this part.
    """

    check: Check
    evidence: str
    is_refused: bool = True


def cited(evidence: str, *checks: Check, is_refused: bool = True) -> tuple[Cited, ...]:
    """Pair several checks with the same evidence."""
    return tuple(Cited(check, evidence, is_refused) for check in checks)


def broken(schema: Any, checks: Iterable[Cited]) -> list[Problem]:
    """Return a problem for every node of a schema that fails one of the checks."""
    rules = tuple(checks)
    problems: list[Problem] = []
    if not isinstance(schema, dict):
        if rules:
            return [Problem(path="", rule="schema", message="the schema must be an object")]
        return []

    for node, at in nodes_of(schema):
        for check, evidence, _ in rules:
            if message := check(node, at):
                problems.append(
                    Problem(path=at.path, rule=check.__name__, message=message, evidence=evidence)
                )
    return problems


def types_of(node: JsonSchema) -> list[str]:
    """Return the types that a node declares, in lower case."""
    declared = node.get("type", [])
    return [str(name).lower() for name in (declared if isinstance(declared, list) else [declared])]


def root_is_object(node: JsonSchema, at: Place) -> str | None:
    """Check that the root has type object."""
    if at.is_root and types_of(node) != ["object"]:
        return "the root must have type object"
    return None


def root_without(*keywords: str) -> Check:
    """Return a check that the root has none of the given keywords."""

    def root_without_combinators(node: JsonSchema, at: Place) -> str | None:
        present = [key for key in keywords if key in node]
        if at.is_root and present:
            return f"the root must not have {present[0]}"
        return None

    return root_without_combinators


def objects_have_properties(node: JsonSchema, at: Place) -> str | None:
    """Check that every object below the root has properties."""
    if at.is_root or "object" not in types_of(node) or node.get("properties"):
        return None
    return "an object must have properties"


def root_has_properties(node: JsonSchema, at: Place) -> str | None:
    """Check that the root has the keyword ``properties``."""
    if at.is_root and "properties" not in node:
        return "the root must have properties"
    return None


def closed(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001 - a check
    """Check that every object sets ``additionalProperties`` to false."""
    if "object" in types_of(node) and node.get("additionalProperties") is not False:
        return "additionalProperties must be false"
    return None


def all_required(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that every property is required."""
    required = frozenset(node.get("required", ()))
    missing = [name for name in node.get("properties", ()) if name not in required]
    if missing:
        return f"required must name every property: {missing[0]!r} is missing"
    return None


def required_is_defined(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that every required name is a property."""
    if "properties" not in node and "required" not in node:
        return None
    missing = [name for name in node.get("required", ()) if name not in node.get("properties", {})]
    if missing:
        return f"required has {missing[0]!r}, which is not a property"
    return None


def arrays_have_items(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that every array has ``items`` or ``prefixItems``."""
    has_items = "items" in node or "prefixItems" in node
    if "array" in types_of(node) and not has_items:
        return "an array must have items"
    return None


def typed(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that every node has a type, a union, an enum or a reference, and that
    no property is a boolean schema.
    """
    for name, inner in node.get("properties", {}).items():
        if not isinstance(inner, dict):
            return f"the schema of {name!r} must be an object"
    if node.keys() & {"type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"}:
        return None
    return "a schema must have a type"


def no_recursion(node: JsonSchema, at: Place) -> str | None:
    """Check that no definition is recursive."""
    if not at.is_root or "$defs" not in node:
        return None
    groups = recursive_groups(node["$defs"])
    if groups:
        return f"definitions must not be recursive: {min(groups)!r} contains itself"
    return None


def references_resolve(node: JsonSchema, at: Place) -> str | None:
    """Check that every ``$ref`` resolves."""
    if at.is_root:
        references = {str(inner["$ref"]) for inner in referring_nodes(node)}
    else:
        references = set[str]()
    unresolved = [reference for reference in references if at_pointer(node, reference) is None]
    if unresolved:
        return f"{min(unresolved)} does not resolve"
    return None


def no_references(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that no node has a ``$ref``."""
    if "$ref" in node:
        return "$ref is not permitted"
    return None


def references_alone(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that a ``$ref`` has no siblings other than ``description`` and ``default``."""
    siblings = node.keys() - {"$ref", "description", "default"}
    if "$ref" in node and siblings:
        return f"{min(siblings)} is not permitted beside $ref"
    return None


def string_enums(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that every enum is a non-empty list of strings."""
    if "enum" not in node:
        return None
    if types_of(node) != ["string"] or not all(isinstance(choice, str) for choice in node["enum"]):
        return "enum is permitted only for strings"
    if node["enum"]:
        return None
    return "enum must not be empty"


def one_required(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that every object with fields requires at least one field."""
    is_bare = node.get("properties") and not node.get("required")
    if is_bare:
        return "an object must have a required field: remove the default of one field"
    return None


def any_of_alone(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that ``anyOf`` has no siblings."""
    if "anyOf" in node and len(node) > 1:
        return "anyOf must not have other keywords beside it"
    return None


def one_type(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that ``type`` is the name of a single JSON Schema type."""
    known = {"string", "number", "integer", "boolean", "array", "object", "null"}
    declared_type = node.get("type", "string")
    if isinstance(declared_type, str) and declared_type.lower() in known:
        return None
    return "type must be one of JSON Schema's type names"


def bounds_are_numbers(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that exclusive bounds are numbers, not the booleans of JSON Schema draft 4."""
    flags = [
        key for key in ("exclusiveMinimum", "exclusiveMaximum") if isinstance(node.get(key), bool)
    ]
    if flags:
        return f"{flags[0]} must be a number"
    return None


def known_keywords(*known: str) -> Check:
    """Return a check that a node has only keywords on the provider's list."""

    def keywords(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
        unknown = [key for key in node if key not in known]
        if unknown:
            return f"{unknown[0]} is not permitted"
        return None

    return keywords


def known_formats(*known: str) -> Check:
    """Return a check that ``format`` is on the provider's list."""

    def formats(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
        format_name = node.get("format")
        if format_name is not None and format_name not in known:
            return f"{format_name!r} is not a supported format"
        return None

    return formats


def keys(pattern: str, *, only_root: bool = False) -> Check:
    """Return a check that property names match a pattern."""
    allowed_pattern = re.compile(pattern)

    def property_keys(node: JsonSchema, at: Place) -> str | None:
        invalid_names = [
            name for name in node.get("properties", ()) if not allowed_pattern.fullmatch(name)
        ]
        if invalid_names and (at.is_root or not only_root):
            return f"{invalid_names[0]!r} is not a valid property name"
        return None

    return property_keys

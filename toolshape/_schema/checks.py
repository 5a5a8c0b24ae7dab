"""What providers refuse in a schema, as checks on one node each, with the evidence and its date."""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from toolshape._calls import JsonSchema
from toolshape._errors import Problem
from toolshape._schema.lens import Change, Place
from toolshape._schema.recursion import recursive_groups
from toolshape._schema.references import at_pointer, referring
from toolshape._schema.walk import everywhere

Check: TypeAlias = Callable[[JsonSchema, Place], "str | None"]


class Cited(NamedTuple):
    """A check, and where the provider's rule is written down or was seen, with its date.

    ``is_refused``: the server says so; else it drops in silence what breaks the rule, and we do not send it.
    """

    check: Check
    evidence: str
    is_refused: bool = True


def cited(evidence: str, *checks: Check, is_refused: bool = True) -> tuple[Cited, ...]:
    """Checks that rest on one piece of evidence."""
    return tuple(Cited(check, evidence, is_refused) for check in checks)


def broken(schema: Any, checks: Iterable[Cited]) -> list[Problem]:
    """Every place where a schema breaks one of the checks."""
    rules = tuple(checks)
    problems: list[Problem] = []
    if not isinstance(schema, dict):
        return [Problem(path="", rule="schema", message="the schema must be an object")] if rules else []

    def look(node: JsonSchema, at: Place) -> Change | None:
        found = ((check.__name__, check(node, at), evidence) for check, evidence, _ in rules)
        problems.extend(
            Problem(path=at.path, rule=name, message=message, evidence=evidence)
            for name, message, evidence in found
            if message
        )
        return None

    everywhere(look)(schema)
    return problems


def types_of(node: JsonSchema) -> list[str]:
    """The types that a node names, in lower case."""
    named = node.get("type", [])
    return [str(name).lower() for name in (named if isinstance(named, list) else [named])]


def root_is_object(node: JsonSchema, at: Place) -> str | None:
    """The arguments are an object."""
    return "the root must have type object" if at.is_root and types_of(node) != ["object"] else None


def root_without(*keywords: str) -> Check:
    """None of these beside the root's type."""

    def root_without_combinators(node: JsonSchema, at: Place) -> str | None:
        found = [key for key in keywords if key in node]
        return f"the root must not have {found[0]}" if at.is_root and found else None

    return root_without_combinators


def objects_have_properties(node: JsonSchema, at: Place) -> str | None:
    """An object below the root names a field."""
    if at.is_root or "object" not in types_of(node) or node.get("properties"):
        return None
    return "an object must have properties"


def root_has_properties(node: JsonSchema, at: Place) -> str | None:
    """An object without properties is refused at the root."""
    return "the root must have properties" if at.is_root and "properties" not in node else None


def closed(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001 - a check
    """Every object says additionalProperties: false."""
    if "object" in types_of(node) and node.get("additionalProperties") is not False:
        return "additionalProperties must be false"
    return None


def all_required(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Every property is required."""
    required = frozenset(node.get("required", ()))
    missing = [name for name in node.get("properties", ()) if name not in required]
    return f"required must name every property: {missing[0]!r} is missing" if missing else None


def required_is_defined(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """What is required is a property."""
    if "properties" not in node and "required" not in node:
        return None
    lost = [name for name in node.get("required", ()) if name not in node.get("properties", {})]
    return f"required names {lost[0]!r}, which is no property" if lost else None


def arrays_have_items(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """An array says what it holds."""
    has_items = "items" in node or "prefixItems" in node
    return "an array must have items" if "array" in types_of(node) and not has_items else None


def typed(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Every node has a type, or is a choice, and none is just true."""
    for name, inner in node.get("properties", {}).items():
        if not isinstance(inner, dict):
            return f"the schema of {name!r} must be an object"
    if node.keys() & {"type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"}:
        return None
    return "a schema must have a type"


def no_recursion(node: JsonSchema, at: Place) -> str | None:
    """No definition contains itself."""
    if not at.is_root or "$defs" not in node:
        return None
    groups = recursive_groups(node["$defs"])
    return f"definitions must not contain themselves: {min(groups)!r} does" if groups else None


def references_resolve(node: JsonSchema, at: Place) -> str | None:
    """A $ref leads to a definition."""
    given = {str(one["$ref"]) for one in referring(node)} if at.is_root else set[str]()
    lost = [reference for reference in given if at_pointer(node, reference) is None]
    return f"{min(lost)} leads nowhere" if lost else None


def no_references(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Nothing is said by reference."""
    return "$ref is not permitted" if "$ref" in node else None


def references_alone(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Beside a $ref there is at most a description and a default."""
    beside = node.keys() - {"$ref", "description", "default"}
    return f"beside $ref there must be no {min(beside)}" if "$ref" in node and beside else None


def string_enums(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """An enum is a non-empty list of strings."""
    if "enum" not in node:
        return None
    if types_of(node) != ["string"] or not all(isinstance(choice, str) for choice in node["enum"]):
        return "enum is only for strings"
    return None if node["enum"] else "enum must not be empty"


def one_required(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """An object that has fields requires one of them."""
    is_bare = node.get("properties") and not node.get("required")
    return "an object must have a required field: give one no default" if is_bare else None


def any_of_alone(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """``anyOf`` has nothing beside it."""
    return "beside anyOf there must be nothing" if "anyOf" in node and len(node) > 1 else None


def one_type(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """A type is one word, of those there are."""
    known = {"string", "number", "integer", "boolean", "array", "object", "null"}
    named = node.get("type", "string")
    return None if isinstance(named, str) and named.lower() in known else "type must be one of JSON's"


def bounds_are_numbers(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Bounds are numbers, not the flags of JSON Schema's draft 4."""
    flags = [key for key in ("exclusiveMinimum", "exclusiveMaximum") if isinstance(node.get(key), bool)]
    return f"{flags[0]} must be a number" if flags else None


def known_keywords(*known: str) -> Check:
    """Only keywords on the provider's list."""

    def keywords(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
        unknown = [key for key in node if key not in known]
        return f"{unknown[0]} is not permitted" if unknown else None

    return keywords


def known_formats(*known: str) -> Check:
    """Only formats on the provider's list."""

    def formats(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
        given = node.get("format")
        return f"{given!r} is not a supported format" if given is not None and given not in known else None

    return formats


def keys(pattern: str, *, only_root: bool = False) -> Check:
    """Property names are of a form."""
    allowed = re.compile(pattern)

    def property_keys(node: JsonSchema, at: Place) -> str | None:
        bad = [name for name in node.get("properties", ()) if not allowed.fullmatch(name)]
        return f"{bad[0]!r} is not a name for a property" if bad and (at.is_root or not only_root) else None

    return property_keys

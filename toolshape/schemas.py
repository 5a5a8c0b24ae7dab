"""Arguments held to a JSON Schema by a validator, with the problems and mends of a decorated tool. Needs jsonschema."""

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import from_json, to_json

from toolshape.arrows import Arrow
from toolshape.calls import Finding, JsonSchema
from toolshape.coercion import Location, Wanted, path_of
from toolshape.errors import Problem, shown
from toolshape.lens import Change, Place, everywhere, resolver
from toolshape.payload import InvalidError, Validate, Validated, mended, taken_home, unknown_field

try:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend
except ImportError as error:
    raise ImportError("tools from definitions need jsonschema: pip install 'toolshape[schema]'") from error

__all__ = ["compile_validate", "schema_problems", "unchecked"]

_MOST_SHOWN = 8


def _is_integer(_checker: Any, value: Any) -> bool:
    """``3.0`` is no integer here, so that it is mended on record, as for a decorated tool."""
    return isinstance(value, int) and not isinstance(value, bool)


_Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
)


def schema_problems(schema: JsonSchema) -> list[Problem]:
    """What the metaschema of 2020-12 has against a schema."""
    errors = Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema)
    return [
        Problem(path="/".join(map(str, error.absolute_path)), rule="not_a_schema", message=error.message[:200])
        for error in errors
    ]


def unchecked(schema: JsonSchema) -> tuple[Finding, ...]:
    """Patterns in a dialect of regular expressions that Python does not have; they are shown and not checked."""
    found: list[Finding] = []

    def look(node: JsonSchema, at: Place) -> None:
        for pattern in (*_patterns(node), *node.get("patternProperties", ())):
            if not _is_pattern(pattern):
                message = f"the pattern {pattern!r} is none that Python knows: it is shown, not checked"
                found.append(Finding(path=at.path, rule="unchecked", message=message))

    everywhere(look, constraints=True)(schema)
    return tuple(found)


def _patterns(node: JsonSchema) -> list[str]:
    return [node["pattern"]] if "pattern" in node else []


def _is_pattern(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _surely(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Without what is negated and cannot be checked: leaving out a pattern there would mean its opposite."""
    unsure = [key for key in ("not", "if") if isinstance(node.get(key), dict) and unchecked(node[key])]
    dropped = {*unsure, *(("then", "else") if "if" in unsure else ())}
    return Change(node={key: value for key, value in node.items() if key not in dropped}) if dropped else None


def _checkable(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Without patterns that Python does not know; a field that one of them may name is not held to be unknown."""
    patterns = node.get("patternProperties", {})
    known = {pattern: inner for pattern, inner in patterns.items() if _is_pattern(pattern)}
    if all(map(_is_pattern, _patterns(node))) and len(known) == len(patterns):
        return None
    kept = {key: value for key, value in node.items() if key != "pattern" or _is_pattern(value)}
    if len(known) < len(patterns):
        kept = {key: value for key, value in kept.items() if key != "additionalProperties"}
        kept["patternProperties"] = known
    return Change(node=kept)


def compile_validate(
    schema: JsonSchema,
    known: frozenset[str] | None,
    never: frozenset[str],
    rules: frozenset[str],
    name: str,
    back: Arrow | None = None,
) -> Validate:
    """Compile the way from what a model sent to valid arguments, as ``validation.compile_validate`` does for a model.

    Args:
        schema: The canonical schema of the arguments.
        known: The names that the function takes; ``None``: any.
        never: The names that no model may set.
        rules: The coercion rules that are on.
        name: The tool's name as the model knows it, for the error.
        back: What takes arguments in a provider's form to the canonical one; ``None`` where they are the same.
    """
    sure = everywhere(_surely, constraints=True)(schema).schema
    validator = _Validator(everywhere(_checkable, constraints=True)(sure).schema)
    check = functools.partial(_checked, validator, known, never)
    wanted = functools.partial(_wanted_at, schema)

    def validate(arguments: Any) -> Validated:
        home = arguments if back is None else taken_home(arguments, back)
        try:
            value = from_json(home if isinstance(home, (str, bytes)) else to_json(home))
            if isinstance(value, dict):
                return check(value), ()
        except (InvalidError, ValueError):
            pass
        return mended(check, wanted, rules, name, arguments, back)

    return validate


def _checked(
    validator: Any, known: frozenset[str] | None, never: frozenset[str], value: dict[str, Any]
) -> dict[str, Any]:
    try:
        errors = list(validator.iter_errors(value))
    except RecursionError as error:
        problem = Problem(path="", rule="too_deep", message="nested too deeply to be checked")
        raise InvalidError((), (problem,)) from error
    problems: dict[Location, Problem] = {}
    places: list[tuple[Location, Any]] = []
    for fault in errors:
        for leaf in _leaves(fault):
            places.append((tuple(leaf.absolute_path), leaf.instance))
            for location, problem in _problems(leaf):
                problems.setdefault(location, problem)
    for key in value:
        if key in never or (known is not None and key not in known):
            problems.setdefault((key,), unknown_field((key,), known or ()))
    if problems:
        order = sorted(problems, key=functools.partial(_position, validator.schema))
        raise InvalidError(places, [problems[location] for location in order])
    return value


def _position(schema: JsonSchema, location: Location) -> list[int]:
    """Where a place stands among the fields, so that problems come in their order, unknown fields last."""
    resolve = resolver(schema)
    node: Any = schema
    places: list[int] = []
    for step in location:
        node = _narrowed(node, resolve) or {}
        names = list(node.get("properties", ()))
        places.append(step if isinstance(step, int) else names.index(step) if step in names else len(names))
        node = _child(node, step)[0]
    return places


def _leaves(error: Any) -> Iterator[Any]:
    """What is wrong in the end: of the branches of a union, the one that the value is meant for, if that can be told."""
    branches = _by_branch(error) if error.validator in ("anyOf", "oneOf") else []
    open_branches = [found for found in branches if not any(_is_of_another_kind(one, error) for one in found)]
    if len(open_branches) == 1:
        for one in open_branches[0]:
            yield from _leaves(one)
    else:
        yield error


def _by_branch(error: Any) -> list[list[Any]]:
    found: dict[int, list[Any]] = {}
    for one in error.context or ():
        found.setdefault(one.relative_schema_path[0], []).append(one)
    return list(found.values())


def _is_of_another_kind(one: Any, union: Any) -> bool:
    """Whether a branch is about other values altogether: null, or another tag."""
    is_null = one.validator == "type" and one.validator_value == "null"
    is_tag = one.validator == "const" and len(one.relative_path) == 1
    return bool(is_null if list(one.absolute_path) == list(union.absolute_path) else is_tag)


def _problems(error: Any) -> Iterator[tuple[Location, Problem]]:
    location = tuple(error.absolute_path)
    keyword, asked = str(error.validator), error.validator_value
    if keyword == "required":
        for name in asked:
            if name not in error.instance:
                path = path_of((*location, name))
                yield (*location, name), Problem(path=path, rule="missing", message="required, but missing")
    elif keyword == "additionalProperties" and asked is False:
        known = error.schema.get("properties", {})
        patterns = error.schema.get("patternProperties", {})
        for key in error.instance:
            if key not in known and not any(re.search(pattern, key) for pattern in patterns):
                yield (*location, key), unknown_field((*location, key), known)
    else:
        yield location, _problem(error, path_of(location), keyword, asked)


def _problem(error: Any, path: str, keyword: str, asked: Any) -> Problem:
    if keyword in ("anyOf", "oneOf"):
        kinds = dict.fromkeys(kind for branch in asked for kind in _kinds(branch, error))
        expected = " or ".join(list(kinds)[:_MOST_SHOWN]) or "one of several forms"
    elif keyword == "type":
        expected = " or ".join(_named(asked))
    elif keyword in ("enum", "const"):
        expected = f"one of {_listed(asked if keyword == 'enum' else [asked])}"
    elif keyword in _EXPECTED:
        expected = _EXPECTED[keyword].format(asked)
    else:
        return Problem(path=path, rule=keyword, message=f"it breaks {keyword}: {json.dumps(asked)[:120]}")
    return Problem(path=path, rule=keyword, expected=expected, got=shown(error.instance))


def _named(types: Any) -> list[str]:
    return [str(name) for name in (types if isinstance(types, list) else [types])]


def _kinds(branch: Any, error: Any) -> list[str]:
    node = branch if isinstance(branch, dict) else {}
    if "const" in node or "enum" in node:
        return [_listed(node.get("enum", [node.get("const")]))]
    return _named(node["type"]) if "type" in node else ["object"] if isinstance(error.instance, dict) else []


def _listed(choices: Sequence[Any]) -> str:
    """Choices as pydantic lists them, so that both kinds of tools say the same."""
    texts = [repr(choice) if isinstance(choice, str) else json.dumps(choice) for choice in choices]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


_EXPECTED: Mapping[str, str] = {
    "minimum": "a value >= {}",
    "maximum": "a value <= {}",
    "exclusiveMinimum": "a value > {}",
    "exclusiveMaximum": "a value < {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "a string that matches {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "uniqueItems": "items that differ",
    "minProperties": "at least {} fields",
    "maxProperties": "at most {} fields",
}
_CORE: Mapping[str, str] = {
    "string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict",
    "null": "none",
}  # fmt: skip


def _wanted_at(schema: JsonSchema, location: Location) -> Wanted | None:
    """What a schema wants at a place, in the words of the coercion rules; ``None`` where a union stands between."""
    resolve = resolver(schema)
    node, is_optional = _narrowed(schema, resolve), False
    for step in location:
        if node is None:
            return None
        inner, is_optional = _child(node, step)
        node = _narrowed(inner, resolve)
    if node is None:
        return None
    types = _named(node.get("type", []))
    is_nullable = "null" in types or node.get("x-nullable") is True
    others = [name for name in types if name != "null"]
    if "enum" in node or "const" in node:
        choices = node.get("enum", [node.get("const")])
        core: Mapping[str, Any] = {"type": "literal", "expected": [one for one in choices if one is not None]}
        return Wanted(core, is_nullable or None in choices, is_optional, strict=False)
    if len(others) != 1 or others[0] not in _CORE:
        return None
    return Wanted({"type": _CORE[others[0]]}, is_nullable, is_optional, strict=False)


def _narrowed(node: Any, resolve: Any) -> JsonSchema | None:
    """A node without the branch of null; ``None`` where there are several others."""
    node = resolve(node)
    if not isinstance(node, dict):
        return None
    branches = node.get("anyOf") or node.get("oneOf")
    if not branches:
        return node
    others = [resolve(branch) for branch in branches if not (isinstance(branch, dict) and branch.get("type") == "null")]
    if len(others) != 1 or not isinstance(others[0], dict):
        return None
    return {**others[0], "x-nullable": len(others) < len(branches)}


def _child(node: JsonSchema, step: int | str) -> tuple[Any, bool]:
    """The schema of a field or an item, and whether it may be left out."""
    if isinstance(step, int):
        prefix = node.get("prefixItems", [])
        return (prefix[step] if step < len(prefix) else node.get("items")), False
    properties = node.get("properties", {})
    if step in properties:
        return properties[step], step not in node.get("required", ())
    return node.get("additionalProperties"), False

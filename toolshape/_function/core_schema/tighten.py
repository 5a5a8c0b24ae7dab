"""Makes a core schema reject what pydantic accepts even in strict mode, such as NaN.

The rules were checked with pydantic 2.13.0 and 2.14.3, on JSON, where each node is strict.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from pydantic import Base64Encoder, EncodedBytes, EncodedStr
from pydantic.types import Base64UrlEncoder
from pydantic_core import PydanticCustomError, SchemaValidator, ValidationError, core_schema

from toolshape._function.core_schema.authors import is_of_pydantic
from toolshape._function.core_schema.map_keys import NUMERIC, key_rule
from toolshape._function.core_schema.nodes import (
    KEYS,
    MAPS,
    WRAPPER,
    Definitions,
    Node,
    core_nodes,
    sets_extra,
)
from toolshape._schema.values import UnreadableError, is_finite, read_json, require_unique_keys

_DATES = frozenset({"date", "datetime", "time", "timedelta"})


def tighten_node(definitions: Definitions, node: Node, config: Node | None) -> Node:
    """Return a node that refuses what pydantic would accept even in strict mode.

    Args:
        definitions: The targets of references, before tightening.
        node: The core schema node, whose children are already tightened.
        config: The config of the pydantic model around the node.
    """
    if node["type"] in ("function-after", "function-before", "function-plain", "function-wrap"):
        return _tighten_function(node)
    changed = _tighten_kind(definitions, node, config)
    if node["type"] not in ("model", "dataclass", "typed-dict"):
        return changed
    changed = _refuse_second_names(changed)
    if _sets_extra(node):
        return changed
    return _refuse_strays(changed)


# One case for each kind of value that pydantic accepts, but should reject.
def _tighten_kind(definitions: Definitions, node: Node, config: Node | None) -> Node:  # noqa: C901, PLR0911, PLR0912
    match node["type"]:
        case "typed-dict":
            return _tighten_typed_dict(node)
        case "float" if "allow_inf_nan" not in node:
            # NaN, Infinity, and 1e999, which becomes infinity.
            return {**node, "allow_inf_nan": False}
        case "any":
            finite_schema = core_schema.no_info_after_validator_function(
                _require_finite, cast("Any", node)
            )
            return {**finite_schema, **_metadata(node)}
        case "model" | "dataclass" if not node.get("root_model") and not _sets_extra(node):
            return {**node, "config": {**node.get("config", {}), "extra_fields_behavior": "forbid"}}
        case "model" if node.get("config", {}).get("extra_fields_behavior") == "allow":
            return {**node, "schema": _require_finite_extras(node["schema"])}
        case "decimal" | "fraction":
            return _wrap(node, _compile_text_check(NUMBER_TEXTS[node["type"]]))
        case "complex":
            return _wrap(node, _is_complex_text)
        case "literal" if check := _compile_type_check(
            [getattr(value, "value", value) for value in node["expected"]]
        ):
            return _wrap(node, check)
        case "enum" if check := _compile_type_check([member.value for member in node["members"]]):
            return _wrap(node, check)
        case "date" | "datetime" | "time" | "timedelta":
            # Pydantic reads "20261231" as seconds since 1970.
            return _wrap(node, _is_no_number)
        case kind if kind in MAPS:
            return _require_exact_keys(node, config, definitions)
        case "json":
            return _wrap(
                node,
                _is_unambiguous_json,
                "the JSON in this string repeats a key, or has NaN or an infinity",
            )
        case _:
            return node


# No matching number overflows a float.
_NUMBER = r"(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?(?:[eE][+-]?[0-9]{1,2})?"
NUMBER_TEXTS = {
    # Every exponent fits a Decimal.
    "decimal": r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,17})?$",
    "fraction": f"^-?(?:{_NUMBER}|[0-9]{{1,99}}/[1-9][0-9]{{0,99}})$",
    "complex": f"^-?(?:{_NUMBER}|{_NUMBER}[+-]{_NUMBER}j|{_NUMBER}j)$",
}
"""Patterns of valid numbers in JSON notation, by node type.

Python's own parsers also accept blanks, underscores and digits from other alphabets. They even
accept an exponent so large that its ``Fraction`` would exhaust the memory.
"""
_BASE64_TEXTS: Mapping[Any, str] = {
    Base64Encoder: r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    Base64UrlEncoder: r"(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?",
}
"""Patterns of valid Base64 text, by encoder; the decoders silently skip invalid characters."""


def _compile_text_check(pattern: str) -> Callable[[Any], bool]:
    matches = re.compile(pattern.removesuffix("$"), re.ASCII).fullmatch
    return lambda value: not isinstance(value, str) or matches(value) is not None


_matches_complex = re.compile(NUMBER_TEXTS["complex"].removesuffix("$"), re.ASCII).fullmatch


def _is_complex_text(value: Any) -> bool:
    """Whether a value is the text of a complex number; false for a JSON
    number, which pydantic also accepts.
    """
    return isinstance(value, str) and _matches_complex(value) is not None


def _tighten_function(node: Node) -> Node:
    """Tighten pydantic's own validator function for a type: admit only strings, and
    turn exceptions into rejections.
    """
    function = node["function"]["function"]
    if not is_of_pydantic(function):
        return node
    guarded = {**node, "function": {**node["function"], "function": _guard(function)}}
    # An IP address, a pattern, a name to import: all are strings.
    if node["type"] == "function-plain":
        admits = _FORMS.get(getattr(function, "__name__", ""), _is_text)
        return _wrap(guarded, admits)
    encoded_type = getattr(function, "__self__", None)
    if isinstance(encoded_type, (EncodedBytes, EncodedStr)) and (
        pattern := _BASE64_TEXTS.get(encoded_type.encoder)
    ):
        return _wrap(guarded, _compile_text_check(pattern))
    return guarded


_FORMS: Mapping[str, Callable[[Any], bool]] = {
    "fraction_validator": lambda value: _is_text(value) and _is_fraction(value)
}
"""What pydantic's functions for types may be given; before 2.14, a fraction is such a
type and has no node of its own.
"""
_is_fraction: Callable[[Any], bool] = _compile_text_check(NUMBER_TEXTS["fraction"])


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_VALUE_ERRORS = (ArithmeticError, AttributeError, LookupError, OSError, TypeError)


def _guard(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its exceptions (for a huge exponent, or a path that
    is too long) become rejections.
    """

    def guarded(*args: Any) -> Any:
        try:
            return function(*args)
        except _VALUE_ERRORS as error:
            raise PydanticCustomError("refused", "the value is rejected") from error

    return guarded


def _refuse_second_names(node: Node) -> Node:
    """Make an object refuse a field under two of its names, where pydantic silently
    drops the value under one of them.
    """
    config = node.get("config", {})
    is_by_name = config.get("validate_by_name") or config.get("populate_by_name")
    if not is_by_name or not _drops_second_name():
        return node
    fields: Any = _fields_node(node).get("fields", {})
    named = (
        fields.items() if isinstance(fields, Mapping) else [(each["name"], each) for each in fields]
    )
    pairs = [
        (name, field["validation_alias"])
        for name, field in named
        if isinstance(field.get("validation_alias"), str)
    ]
    message = "the object has a field under both of its names"
    return _wrap(
        node,
        lambda value: (
            not isinstance(value, dict)
            or not any(name != alias and name in value and alias in value for name, alias in pairs)
        ),
        message,
    )


@functools.cache
def _drops_second_name() -> bool:
    """Whether this pydantic takes an object with a field under its name and its
    alias, as releases before 2.14.2 do.
    """
    field = core_schema.model_field(core_schema.any_schema(), validation_alias="b")
    config = core_schema.CoreConfig(validate_by_name=True, extra_fields_behavior="forbid")
    try:
        SchemaValidator(core_schema.model_fields_schema({"a": field}), config).validate_json(
            '{"a": 1, "b": 2}'
        )
    except ValidationError:
        return False
    return True


def _fields_node(node: Node) -> Node:
    """Return the node that holds the fields of a class; an empty one if the author's code hides
    it.
    """
    while node["type"] not in ("model-fields", "dataclass-args", "typed-dict"):
        if "schema" not in node:
            return {}
        node = node["schema"]
    return node


_Steps: TypeAlias = dict[Any, Any]
"""The alias paths of an object, as a tree of their steps; a subtree is empty where
a field reads the whole value.
"""


def _refuse_strays(node: Node) -> Node:
    """Make an object reject nested values that none of its alias paths reads;
    pydantic silently drops such values.
    """
    listed_fields: Any = _fields_node(node).get("fields", ())
    aliases = [
        field.get("validation_alias")
        for field in (
            listed_fields.values() if isinstance(listed_fields, Mapping) else listed_fields
        )
    ]
    paths = [path for alias in aliases if isinstance(alias, list) for path in alias]
    # Insert the longest paths first. A shorter path that ends inside a longer path then clears the
    # steps below its end, because its field reads everything there.
    tree: _Steps = {}
    for path in sorted((path for path in paths if isinstance(path, list)), key=len, reverse=True):
        subtree = tree
        for step in path:
            subtree = subtree.setdefault(step, {})
        subtree.clear()
    if not any(tree.values()):
        return node
    message = "the object contains values that no field reads"
    return _wrap(
        node,
        lambda value: not isinstance(value, dict) or _has_no_strays(value, tree, is_root=True),
        message,
    )


def _has_no_strays(value: Any, steps: _Steps, *, is_root: bool = False) -> bool:
    if not steps:
        return True
    if isinstance(value, dict):
        is_known = is_root or value.keys() <= steps.keys()
        return is_known and all(
            _has_no_strays(value[step], inner) for step, inner in steps.items() if step in value
        )
    if isinstance(value, list):
        steps_by_index = {
            step % len(value) if value else 0: inner
            for step, inner in steps.items()
            if isinstance(step, int)
        }
        is_known = len(value) <= max(
            (step + 1 for step in steps if isinstance(step, int)), default=len(value)
        )
        return is_known and all(
            _has_no_strays(value[index], inner)
            for index, inner in steps_by_index.items()
            if index < len(value)
        )
    return True


def _tighten_typed_dict(node: Node) -> Node:
    if not _sets_extra(node) and "extras_schema" not in node:
        return {**node, "extra_behavior": "forbid"}
    if node.get("extra_behavior") == "allow":
        return _require_finite_extras(node)
    return node


def _is_unambiguous_json(text: Any) -> bool:
    """Whether JSON text has no repeated key, NaN or infinity; pydantic itself
    rejects text that is not JSON.
    """
    try:
        return not isinstance(text, str) or is_finite(require_unique_keys(read_json(text)))
    except (UnreadableError, RecursionError):
        return False
    except ValueError:
        return True


def _sets_extra(node: Node) -> bool:
    return "cls" in node and sets_extra(node["cls"])


def _require_finite_extras(node: Node) -> Node:
    """Make a pydantic model check that its extra fields contain no NaN or infinity.

    The check is added to the fields node, inside any validators around that node.
    """
    if node["type"] not in ("model-fields", "typed-dict"):
        if "schema" in node:
            return {**node, "schema": _require_finite_extras(node["schema"])}
        return node
    if "extras_schema" in node:
        return node
    return {
        **node,
        "extras_schema": core_schema.no_info_after_validator_function(
            _require_finite, core_schema.any_schema()
        ),
    }


def _metadata(node: Node) -> dict[str, Any]:
    if "metadata" in node:
        return {"metadata": node["metadata"]}
    return {}


def _wrap(node: Node, admits: Callable[[Any], bool], message: str = "") -> Node:
    """Wrap a node in a union with one branch, whose discriminator sees
    the JSON value before validation.

    If ``lets_through`` rejects the value, the discriminator finds no branch, and pydantic reports
    the error.
    """
    if message:
        error = ("inexact_json", message)
    else:
        error = ("inexact", "not in this form")
    outer_keys = {key: node[key] for key in ("ref", "metadata", "serialization") if key in node}
    inner = {key: value for key, value in node.items() if key not in ("ref", "serialization")}

    def branch(value: Any) -> str | None:
        if admits(value):
            return WRAPPER
        return None

    return {
        "type": "json-or-python",
        "json_schema": core_schema.tagged_union_schema(
            {WRAPPER: cast("Any", inner)},
            branch,
            custom_error_type=error[0],
            custom_error_message=error[1],
        ),
        "python_schema": inner,
        **outer_keys,
    }


def _require_finite(value: Any) -> Any:
    if not is_finite(value):
        raise ValueError("NaN and infinities are not JSON")
    return value


def _compile_type_check(choices: list[Any]) -> Callable[[Any], bool] | None:
    """Return a check that a value has the type of one of the choices:
    in Python, ``True == 1 == 1.0``.

    Returns:
        The check, or ``None`` if no choice is a boolean or a number.
    """
    if not any(isinstance(choice, (bool, int, float)) for choice in choices):
        return None
    types = {type(choice) for choice in choices}
    rejected_types = {kind for kind in (bool, float) if kind not in types} | (
        {int} if not types & {int, float} else set()
    )
    return lambda value: type(value) not in rejected_types


def _is_no_number(value: Any) -> bool:
    return not (isinstance(value, str) and re.fullmatch(NUMERIC, value, re.ASCII))


def _is_json_object(value: Any) -> bool:
    """Whether a value is a JSON object, and not an object that the author's validator returned."""
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


_CHANGES = ("strip_whitespace", "to_lower", "to_upper")


def _require_exact_keys(node: Node, config: Node | None, definitions: Definitions) -> Node:
    """Make a map reject keys that are not in JSON notation, and two keys
    that become the same Python value.
    """
    keys = node.get("keys_schema")
    if keys is None:
        as_written = keys
    else:
        as_written = keys.get("metadata", {}).get(KEYS, keys)
    rule = key_rule(as_written, definitions)
    if rule.drops:
        return node
    config_changes_keys = config is not None and any(
        config.get(f"str_{change}") for change in _CHANGES
    )
    if keys is not None and (
        rule.converts
        or config_changes_keys
        or any(inner.get(name) for inner in core_nodes(keys) for name in _CHANGES)
    ):
        if definitions:
            keys_with_definitions = {
                "type": "definitions",
                "schema": keys,
                "definitions": list(definitions.values()),
            }
        else:
            keys_with_definitions = keys
        return _wrap(
            node,
            _key_discriminator(
                rule.admits,
                SchemaValidator(cast("Any", keys_with_definitions), cast("Any", config)),
            ),
        )
    if rule.admits is None:
        return node
    return _wrap(node, _key_discriminator(rule.admits, None))


def _key_discriminator(
    admits: Callable[[str], bool] | None, reader: SchemaValidator | None
) -> Callable[[Any], bool]:
    """Return a check that rejects an object with an invalid key, or with two keys
    that become the same Python value.
    """

    def has_valid_keys(value: Any) -> bool:
        if not _is_json_object(value):
            return True
        if admits is not None and not all(map(admits, value)):
            return False
        try:
            return reader is None or len({reader.validate_strings(key) for key in value}) == len(
                value
            )
        except (ValidationError, TypeError):  # the map's own validation reports the error
            return True

    return has_valid_keys

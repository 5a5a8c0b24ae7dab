"""Tightens a core schema: rejects values that pydantic accepts even in strict mode, such as digits for a date or NaN.

The schema is rewritten once, before any call. The rules were checked with pydantic 2.13.0 and 2.14.3, on
JSON with ``strict=True``.
"""

import functools
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from pydantic import Base64Encoder, BaseModel, EncodedBytes, EncodedStr
from pydantic.types import Base64UrlEncoder
from pydantic_core import PydanticCustomError, SchemaValidator, ValidationError, core_schema

from toolshape._core_schema.enum_values import choices_of, lookup_of
from toolshape._core_schema.map_keys import NUMERIC, key_rule
from toolshape._core_schema.nodes import (
    CHOICES,
    MAPS,
    NOT_SCHEMAS,
    WRAPPER,
    Definitions,
    Node,
    core_nodes,
    definitions_of,
    rebuild,
    sets_extra,
    takes_no_alias,
)
from toolshape._core_schema.optional_tags import with_optional_tag
from toolshape._schema.values import UnreadableError, is_finite, read_json, require_unique_keys

_LEFT_ALONE = NOT_SCHEMAS | {"keys_schema"}  # the map's wrapper checks the keys, which are strings in JSON
_DATES = frozenset({"date", "datetime", "time", "timedelta"})


def tighten(model: type[BaseModel]) -> None:
    """Tighten a pydantic model in place, before anything else refers to it.

    Nested models have their own validators, which pydantic would reuse (``_use_prebuilt``, since 2.13). Here, all
    validators are compiled again from the tightened schema.
    """
    core = model.__pydantic_core_schema__
    changed = tighten_schema(core)
    if changed is not core:
        untyped_model = cast("Any", model)
        untyped_model.__pydantic_core_schema__ = changed
        untyped_model.__pydantic_validator__ = cast("Any", SchemaValidator)(changed, _use_prebuilt=False)


def tighten_schema(schema: Any) -> Any:
    """Return a tightened core schema, or the same object if nothing changes."""
    return rebuild(schema, functools.partial(_tighten_node, definitions_of(schema)), _LEFT_ALONE)


def _tighten_node(definitions: Definitions, node: Node, config: Node | None) -> Node:
    if node["type"] in ("function-after", "function-before", "function-plain", "function-wrap"):
        return _tighten_function(node)
    changed = _tighten_kind(definitions, node, config)
    if node["type"] in ("model", "dataclass", "typed-dict") and not _sets_extra(node):
        return _refuse_strays(changed)
    return changed


# One case for each kind of value that pydantic accepts, but should reject.
def _tighten_kind(definitions: Definitions, node: Node, config: Node | None) -> Node:  # noqa: C901, PLR0911, PLR0912
    """Tighten one node whose children are already tightened.

    Args:
        definitions: The targets of references, before tightening.
        node: The core schema node.
        config: The config of the pydantic model around the node.
    """
    match node["type"]:
        case "model-fields" | "typed-dict" | "dataclass-args":
            return _use_schema_names(node, config)
        case "float" if "allow_inf_nan" not in node:  # NaN, Infinity, and 1e999, which becomes infinity
            return {**node, "allow_inf_nan": False}
        case "any":
            finite_schema = core_schema.no_info_after_validator_function(_require_finite, cast("Any", node))
            return {**finite_schema, **_metadata(node)}
        case "model" | "dataclass" if not node.get("root_model") and not _sets_extra(node):
            return {**node, "config": {**node.get("config", {}), "extra_fields_behavior": "forbid"}}
        case "model" if node.get("config", {}).get("extra_fields_behavior") == "allow":
            return {**node, "schema": _require_finite_extras(node["schema"])}
        case "decimal" | "fraction":
            return _wrap(node, _compile_text_check(NUMBER_TEXTS[node["type"]]))
        case "complex":
            return _wrap(node, _is_complex_text)
        case "named-tuple":  # an array in the JSON Schema, but pydantic also accepts an object
            return _wrap(node, lambda value: not isinstance(value, dict))
        case "literal" | "enum" if not choices_of(node).is_plain:
            return _use_lookup(node)
        case "literal" if check := _compile_type_check([getattr(value, "value", value) for value in node["expected"]]):
            return _wrap(node, check)
        case "enum" if check := _compile_type_check([member.value for member in node["members"]]):
            return _wrap(node, check)
        case "date" | "datetime" | "time" | "timedelta":  # pydantic reads "20261231" as seconds since 1970
            return _wrap(node, _is_no_number)
        case kind if kind in MAPS:
            return _require_exact_keys(node, config, definitions)
        case "json":
            return _wrap(node, _is_unambiguous_json, "the JSON in this string repeats a key, or has NaN or an infinity")
        case "tagged-union" if not callable(node["discriminator"]):
            return with_optional_tag(node, definitions)
        case "generator":  # pydantic validates the items only when the tool reads them
            list_schema = core_schema.list_schema(
                node.get("items_schema"), min_length=node.get("min_length"), max_length=node.get("max_length")
            )
            return {**core_schema.json_or_python_schema(cast("Any", list_schema), cast("Any", node)), **_metadata(node)}
        case _:
            return node


def _use_schema_names(node: Node, config: Node | None) -> Node:
    original_fields = node["fields"]
    if not isinstance(original_fields, Mapping):
        renamed = [_accept_schema_name(field["name"], field, config) for field in original_fields]
        return node if all(map(operator.is_, renamed, original_fields)) else {**node, "fields": renamed}
    fields = {name: _accept_schema_name(name, field, config) for name, field in original_fields.items()}
    node = node if all(fields[name] is field for name, field in original_fields.items()) else {**node, "fields": fields}
    return _tighten_typed_dict(node) if node["type"] == "typed-dict" else node


_NUMBER = r"(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?(?:[eE][+-]?[0-9]{1,2})?"  # no matching number overflows a float
NUMBER_TEXTS = {
    "decimal": r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,17})?$",  # every exponent fits a Decimal
    "fraction": f"^-?(?:{_NUMBER}|[0-9]{{1,99}}/[1-9][0-9]{{0,99}})$",
    "complex": f"^-?(?:{_NUMBER}|{_NUMBER}[+-]{_NUMBER}j|{_NUMBER}j)$",
}
"""Patterns of valid numbers in JSON notation, by node type. Python's own parsers also accept blanks, underscores and
digits from other alphabets. They even accept an exponent so large that its ``Fraction`` would exhaust the memory."""
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
    """Whether a value is the text of a complex number; false for a JSON number, which pydantic also accepts."""
    return isinstance(value, str) and _matches_complex(value) is not None


def _tighten_function(node: Node) -> Node:
    """Tighten pydantic's own validator function for a type: admit only strings, and turn exceptions into rejections."""
    function = node["function"]["function"]
    if not getattr(function, "__module__", "").startswith(_PYDANTIC):
        return node
    guarded = {**node, "function": {**node["function"], "function": _guard(function)}}
    if node["type"] == "function-plain":  # an IP address, a pattern, a name to import: all are strings
        return _wrap(guarded, lambda value: isinstance(value, str))
    encoded_type = getattr(function, "__self__", None)
    if isinstance(encoded_type, (EncodedBytes, EncodedStr)) and (pattern := _BASE64_TEXTS.get(encoded_type.encoder)):
        return _wrap(guarded, _compile_text_check(pattern))
    return guarded


_PYDANTIC = ("pydantic", "ipaddress", "pathlib")
"""The packages of the functions that pydantic itself puts into core schemas."""
_VALUE_ERRORS = (ArithmeticError, AttributeError, LookupError, OSError, TypeError)


def _guard(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its exceptions (for a huge exponent, or a path that is too long) become rejections."""

    def guarded(*args: Any) -> Any:
        try:
            return function(*args)
        except _VALUE_ERRORS as error:
            raise PydanticCustomError("refused", "the value is rejected") from error

    return guarded


_Steps: TypeAlias = dict[Any, Any]
"""The alias paths of an object, as a tree of their steps; a subtree is empty where a field reads the whole value."""


def _refuse_strays(node: Node) -> Node:
    """Make an object reject nested values that none of its alias paths reads; pydantic silently drops such values."""
    fields_node = node
    while fields_node["type"] not in ("model-fields", "dataclass-args", "typed-dict"):
        if "schema" not in fields_node:
            return node
        fields_node = fields_node["schema"]
    listed_fields: Any = fields_node["fields"]
    aliases = [
        field.get("validation_alias")
        for field in (listed_fields.values() if isinstance(listed_fields, Mapping) else listed_fields)
    ]
    paths = [path for alias in aliases if isinstance(alias, list) for path in alias]
    # Insert the longest paths first. A shorter path that ends inside a longer path then clears the steps below its end,
    # because its field reads everything there.
    tree: _Steps = {}
    for path in sorted((path for path in paths if isinstance(path, list)), key=len, reverse=True):
        subtree = tree
        for step in path:
            subtree = subtree.setdefault(step, {})
        subtree.clear()
    if not any(tree.values()):
        return node
    message = "the object contains values that no field reads"
    return _wrap(node, lambda value: not isinstance(value, dict) or _has_no_strays(value, tree, is_root=True), message)


def _has_no_strays(value: Any, steps: _Steps, *, is_root: bool = False) -> bool:
    if not steps:
        return True
    if isinstance(value, dict):
        is_known = is_root or value.keys() <= steps.keys()
        return is_known and all(_has_no_strays(value[step], inner) for step, inner in steps.items() if step in value)
    if isinstance(value, list):
        steps_by_index = {
            step % len(value) if value else 0: inner for step, inner in steps.items() if isinstance(step, int)
        }
        is_known = len(value) <= max((step + 1 for step in steps if isinstance(step, int)), default=len(value))
        return is_known and all(
            _has_no_strays(value[index], inner) for index, inner in steps_by_index.items() if index < len(value)
        )
    return True


def _tighten_typed_dict(node: Node) -> Node:
    if not _sets_extra(node) and "extras_schema" not in node:
        return {**node, "extra_behavior": "forbid"}
    return _require_finite_extras(node) if node.get("extra_behavior") == "allow" else node


def _accept_schema_name(name: str, field: Node, config: Node | None) -> Node:
    """Make a field accept its name in the canonical schema: its alias, or its own name if the alias is a path."""
    alias = field.get("validation_alias")
    if alias is None or isinstance(alias, str):
        return {**field, "validation_alias": name} if alias is not None and takes_no_alias(config) else field
    paths: list[Any] = alias if alias and isinstance(alias[0], list) else [alias]
    if any(len(path) == 1 and isinstance(path[0], str) for path in paths) and not takes_no_alias(config):
        return field
    return {**field, "validation_alias": name if takes_no_alias(config) else [[name], *paths]}


def _use_lookup(node: Node) -> Node:
    """Replace an enum or literal with a lookup from JSON values to members that pydantic cannot find itself."""
    choices = choices_of(node)
    outer_keys = {key: node[key] for key in ("ref", "serialization") if key in node}
    metadata = {**node.get("metadata", {}), CHOICES: tuple(choices.values) if choices.mask is None else ()}
    lookup = core_schema.no_info_plain_validator_function(lookup_of(choices))
    return {**lookup, **outer_keys, "metadata": metadata}


def _is_unambiguous_json(text: Any) -> bool:
    """Whether JSON text has no repeated key, NaN or infinity; pydantic itself rejects text that is not JSON."""
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
        return {**node, "schema": _require_finite_extras(node["schema"])} if "schema" in node else node
    if "extras_schema" in node:
        return node
    return {
        **node,
        "extras_schema": core_schema.no_info_after_validator_function(_require_finite, core_schema.any_schema()),
    }


def _metadata(node: Node) -> dict[str, Any]:
    return {"metadata": node["metadata"]} if "metadata" in node else {}


def _wrap(node: Node, lets_through: Callable[[Any], bool], message: str = "") -> Node:
    """Wrap a node in a union with one branch, whose discriminator sees the JSON value before validation.

    If ``lets_through`` rejects the value, the discriminator finds no branch, and pydantic reports the error.
    """
    error = ("inexact_json", message) if message else ("inexact", "not in this form")
    outer_keys = {key: node[key] for key in ("ref", "metadata", "serialization") if key in node}
    inner = {key: value for key, value in node.items() if key not in ("ref", "serialization")}

    def branch(value: Any) -> str | None:
        return WRAPPER if lets_through(value) else None

    return {
        "type": "json-or-python",
        "json_schema": core_schema.tagged_union_schema(
            {WRAPPER: cast("Any", inner)}, branch, custom_error_type=error[0], custom_error_message=error[1]
        ),
        "python_schema": inner,
        **outer_keys,
    }


def _require_finite(value: Any) -> Any:
    if not is_finite(value):
        raise ValueError("NaN and infinities are not JSON")
    return value


def _compile_type_check(choices: list[Any]) -> Callable[[Any], bool] | None:
    """Return a check that a value has the type of one of the choices: in Python, ``True == 1 == 1.0``.

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
    """Make a map reject keys that are not in JSON notation, and two keys that become the same Python value."""
    rule = key_rule(node.get("keys_schema"), definitions)
    if rule.read is not None:
        node = {**node, "keys_schema": core_schema.no_info_plain_validator_function(rule.read)}
    keys = node.get("keys_schema")
    config_changes_keys = config is not None and any(config.get(f"str_{change}") for change in _CHANGES)
    if keys is not None and (
        rule.converts or config_changes_keys or any(inner.get(name) for inner in core_nodes(keys) for name in _CHANGES)
    ):
        keys_with_definitions = (
            {"type": "definitions", "schema": keys, "definitions": list(definitions.values())} if definitions else keys
        )
        return _wrap(
            node,
            _key_discriminator(rule.admits, SchemaValidator(cast("Any", keys_with_definitions), cast("Any", config))),
        )
    return node if rule.admits is None else _wrap(node, _key_discriminator(rule.admits, None))


def _key_discriminator(admits: Callable[[str], bool] | None, reader: SchemaValidator | None) -> Callable[[Any], bool]:
    """Return a check that rejects an object with an invalid key, or with two keys that become the same Python value."""

    def lets_through(value: Any) -> bool:
        if not _is_json_object(value):
            return True
        if admits is not None and not all(map(admits, value)):
            return False
        try:
            return reader is None or len({reader.validate_strings(key) for key in value}) == len(value)
        except (ValidationError, TypeError):  # the map's own validation reports the error
            return True

    return lets_through

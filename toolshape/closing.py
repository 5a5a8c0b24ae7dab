"""A core schema in, one that refuses what pydantic would let through out: nothing is looked for at the time of a call.

Seen with pydantic 2.13.0 and 2.14.3, validating JSON with ``strict=True``.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from pydantic import BaseModel
from pydantic_core import SchemaValidator, ValidationError, core_schema

from toolshape.canonical import INTEGER_KEY, NOT_SCHEMAS, core_nodes, sets_extra

__all__ = [
    "GATE",
    "KEYLESS",
    "KeyCount",
    "UntoldError",
    "closed",
    "compile_key_count",
    "count_of_flat",
    "is_finite",
    "take_in",
]

Node: TypeAlias = Mapping[str, Any]
KeyCount: TypeAlias = Callable[[Any], int]

GATE = "toolshape gate"
"""The name of the one way through a gate, in the locations of errors."""
_LEFT_ALONE = NOT_SCHEMAS | {"keys_schema"}  # a key is text, whatever it becomes: the map's gate looks at it
_DATES = frozenset({"date", "datetime", "time", "timedelta"})
_NUMERIC = re.compile(r"\s*[+-]?[0-9_.]+([eE][+-]?[0-9]+)?\s*", re.ASCII)
_INTEGER = re.compile(INTEGER_KEY, re.ASCII)


def take_in(model: type[BaseModel]) -> None:
    """Make a model of ours refuse what it should; nothing else holds it yet.

    Nested models bring validators of their own, which pydantic would take as they are (``_use_prebuilt``, since 2.13):
    here they are compiled anew from the closed schema.
    """
    core = model.__pydantic_core_schema__
    made = closed(core)
    if made is not core:
        holder = cast("Any", model)
        holder.__pydantic_core_schema__ = made
        holder.__pydantic_validator__ = cast("Any", SchemaValidator)(made, _use_prebuilt=False)


def closed(schema: Any, config: Node | None = None) -> Any:
    """The same core schema, closed: what need not change is shared with the original.

    Args:
        schema: A core schema, or a part of one.
        config: The config of the model that it stands in.
    """
    if isinstance(schema, Mapping):
        is_node = isinstance(schema.get("type"), str)  # else a map whose keys are the user's: fields, choices
        config = schema.get("config", config) if is_node else config
        changed = {
            key: made
            for key, value in schema.items()
            if not (is_node and key in _LEFT_ALONE) and (made := closed(value, config)) is not value
        }
        inner = {**schema, **changed} if changed else schema
        return _closed_node(inner, config) if is_node else inner
    if isinstance(schema, (list, tuple)):
        made_items = [closed(value, config) for value in schema]
        same = all(one is other for one, other in zip(made_items, schema, strict=True))
        return schema if same else type(schema)(made_items)
    return schema


def _closed_node(node: Node, config: Node | None) -> Node:  # noqa: C901, PLR0911 - a line a hole
    """One node whose children are closed already."""
    match node["type"]:
        case "float" if "allow_inf_nan" not in node:  # NaN, Infinity, and 1e999, which overflows to it
            return {**node, "allow_inf_nan": False}
        case "any":
            return {**core_schema.no_info_after_validator_function(_finite, cast("Any", node)), **_metadata(node)}
        case "model" | "dataclass" | "typed-dict" if not node.get("root_model") and not _sets_extra(node):
            if node["type"] == "typed-dict":
                return {**node, "extra_behavior": "forbid"}
            return {**node, "config": {**node.get("config", {}), "extra_fields_behavior": "forbid"}}
        case "model" if node.get("config", {}).get("extra_fields_behavior") == "allow":
            return {**node, "schema": _with_finite_extras(node["schema"])}
        case "typed-dict" if node.get("extra_behavior") == "allow":
            return _with_finite_extras(node)
        case "literal" if exact := _is_of_a_type_in([getattr(one, "value", one) for one in node["expected"]]):
            return _gated(node, exact)
        case "enum" if exact := _is_of_a_type_in([one.value for one in node["members"]]):
            return _gated(node, exact)
        case "date" | "datetime" | "time" | "timedelta":  # "20261231" is read as seconds since 1970
            return _gated(node, _is_no_number)
        case "dict" if gate := _key_gate(node.get("keys_schema"), config):
            return _gated(node, gate)
        case "generator":  # validated only when it is read, inside the tool
            listed = core_schema.list_schema(
                node.get("items_schema"), min_length=node.get("min_length"), max_length=node.get("max_length")
            )
            return {**core_schema.json_or_python_schema(cast("Any", listed), cast("Any", node)), **_metadata(node)}
        case _:
            return node


def _sets_extra(node: Node) -> bool:
    return "cls" in node and sets_extra(node["cls"])


def _with_finite_extras(node: Node) -> Node:
    """The fields of a model, inside its validators, with others that are JSON."""
    if node["type"] not in ("model-fields", "typed-dict"):
        return {**node, "schema": _with_finite_extras(node["schema"])} if "schema" in node else node
    if "extras_schema" in node:
        return node
    return {**node, "extras_schema": core_schema.no_info_after_validator_function(_finite, core_schema.any_schema())}


def _metadata(node: Node) -> dict[str, Any]:
    return {"metadata": node["metadata"]} if "metadata" in node else {}


def _gated(node: Node, lets_through: Callable[[Any], bool]) -> Node:
    """The node behind a gate: a union of one branch, whose discriminator sees the JSON as it was written."""
    outside = {key: node[key] for key in ("ref", "metadata", "serialization") if key in node}
    inside = {key: value for key, value in node.items() if key not in ("ref", "serialization")}

    def branch(value: Any) -> str | None:
        return GATE if lets_through(value) else None

    return {
        "type": "json-or-python",
        "json_schema": core_schema.tagged_union_schema(
            {GATE: cast("Any", inside)}, branch, custom_error_type="inexact", custom_error_message="not in this form"
        ),
        "python_schema": inside,
        **outside,
    }


def _finite(value: Any) -> Any:
    if not is_finite(value):
        raise ValueError("NaN and infinities are no JSON")
    return value


def is_finite(value: Any) -> bool:
    """Whether JSON can say it: no NaN, no infinity, nowhere in it."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    return all(map(is_finite, value)) if isinstance(value, list) else True


def _is_of_a_type_in(choices: list[Any]) -> Callable[[Any], bool] | None:
    """Whether a value is of the type of a choice: Python takes ``true`` and ``1.0`` for ``1``."""
    if not any(isinstance(one, (bool, int, float)) for one in choices):
        return None
    types = {type(one) for one in choices}
    refused = {kind for kind in (bool, float) if kind not in types}
    return lambda value: type(value) not in refused


def _is_no_number(value: Any) -> bool:
    return not (isinstance(value, str) and _NUMERIC.fullmatch(value))


def _is_json_object(value: Any) -> bool:
    """Whether this is an object as it was written, and not what a validator of the author's made."""
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _converts(keys: Node, config: Node | None) -> bool:
    """Whether a key may become another value than the text that it is."""
    nodes = list(core_nodes(keys))
    strips = config is not None and any(config.get(f"str_{change}") for change in _CHANGES)
    changes = strips or any(node.get(change) for node in nodes for change in _CHANGES)
    return changes or not {str(node["type"]) for node in nodes} <= _KEPT


_CHANGES = ("strip_whitespace", "to_lower", "to_upper")
_KEPT = frozenset({"str", "any", "literal"})


def _key_gate(keys: Node | None, config: Node | None) -> Callable[[Any], bool] | None:
    """Whether the keys of a JSON object are what they become in a map, one for one."""
    kind = "str" if keys is None else keys["type"]
    if kind == "bool":
        return lambda value: not _is_json_object(value) or value.keys() <= {"true", "false"}
    if kind == "int":
        return lambda value: not _is_json_object(value) or all(map(_INTEGER.fullmatch, value))
    if keys is None or not _converts(keys, config):
        return None
    read = SchemaValidator(cast("Any", keys), cast("Any", config))

    def keeps_all(value: Any) -> bool:
        if not _is_json_object(value):
            return True
        try:
            return len({read.validate_strings(key) for key in value}) == len(value)
        except (ValidationError, TypeError):  # the map itself says so
            return True

    return keeps_all


# --- keys that come twice -----------------------------------------------------------------------------------------


def compile_key_count(schema: Node) -> KeyCount | None:
    """Count the keys that a validated model was given without looking at the JSON; ``None`` where it does not tell."""
    definitions = {node["ref"]: node for node in schema.get("definitions", ())}
    try:
        return _count(schema, definitions, frozenset())
    except UntoldError:
        return None


class UntoldError(Exception):
    """A core schema does not tell what is asked of it."""


KEYLESS = frozenset(
    {"str", "int", "float", "bool", "literal", "enum", "none", "bytes", "decimal", "uuid", "url", "complex", *_DATES}
)


def _count(node: Node, definitions: Mapping[str, Node], seen: frozenset[str]) -> KeyCount | None:  # noqa: C901, PLR0911 - a line a kind
    kind = node["type"]
    if kind in KEYLESS:
        return None
    if kind in ("definitions", "default", "model-field"):
        return _count(node["schema"], definitions, seen)
    if kind == "definition-ref" and node["schema_ref"] not in seen:
        ref = node["schema_ref"]
        return _count(definitions[ref], definitions, seen | {ref})
    if kind == "nullable":
        inside = _count(node["schema"], definitions, seen)
        return None if inside is None else _count_unless_none(inside)
    if kind == "json-or-python":
        gate = node["json_schema"]
        return _count(gate["choices"][GATE] if GATE in gate.get("choices", ()) else gate, definitions, seen)
    if kind in ("list", "set", "frozenset") and "items_schema" in node:
        of_item = _count(node["items_schema"], definitions, seen)
        if of_item is None or kind == "list":
            return None if of_item is None else _count_each(of_item)
    if kind == "dict" and node.get("keys_schema", {}).get("type") == "str" and "values_schema" in node:
        of_value = _count(node["values_schema"], definitions, seen)
        return len if of_value is None else _count_map(of_value)
    if kind == "lax-or-strict":
        return _count(node["strict_schema"], definitions, seen)
    if kind == "function-after" and _count(node["schema"], definitions, seen) is None:
        return None
    is_plain = not (node.get("root_model") or node.get("custom_init") or node.get("post_init"))
    if kind == "model" and is_plain and node["schema"]["type"] == "model-fields":
        return _count_of_model(node["schema"], definitions, seen)
    raise UntoldError  # unions, maps of anything, and all that a validator of the author's may have changed


def _count_unless_none(inside: KeyCount) -> KeyCount:
    return lambda value: 0 if value is None else inside(value)


def _count_each(of_item: KeyCount) -> KeyCount:
    if of_item is count_of_flat:
        return lambda items: sum([len(item.__pydantic_fields_set__) for item in items])
    return lambda items: sum([of_item(item) for item in items])


def _count_map(of_value: KeyCount) -> KeyCount:
    return lambda value: len(value) + sum([of_value(item) for item in value.values()])


def count_of_flat(model: Any) -> int:
    """The keys that a model without others inside was given."""
    return len(model.__pydantic_fields_set__)


def _count_of_model(node: Node, definitions: Mapping[str, Node], seen: frozenset[str]) -> KeyCount:
    if node.get("extras_schema") is not None or node.get("extra_behavior") == "allow":
        raise UntoldError
    if any(not isinstance(field.get("validation_alias", ""), str) for field in node["fields"].values()):
        raise UntoldError  # a field may be read out of another's value
    counted = {name: _count(field["schema"], definitions, seen) for name, field in node["fields"].items()}
    inner = [(name, count) for name, count in counted.items() if count is not None]
    if not inner:
        return count_of_flat
    first, count_first = inner[0]

    def count_one(model: Any) -> int:
        given = model.__pydantic_fields_set__
        return len(given) + count_first(model.__dict__[first]) if first in given else len(given)

    def count_several(model: Any) -> int:
        given, values = model.__pydantic_fields_set__, model.__dict__
        return len(given) + sum([count(values[name]) for name, count in inner if name in given])

    return count_one if len(inner) == 1 else count_several

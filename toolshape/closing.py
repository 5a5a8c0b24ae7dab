"""A core schema in, one that refuses what pydantic would let through out: nothing is looked for at the time of a call.

Seen with pydantic 2.13.0 and 2.14.3, validating JSON with ``strict=True``.
"""

import functools
import math
import re
from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import SchemaValidator, ValidationError, core_schema

from toolshape.canonical import INTEGER_KEY, sets_extra
from toolshape.cores import GATE, NOT_SCHEMAS, Node, core_nodes, rebuilt

__all__ = ["closed", "is_finite", "take_in"]

_LEFT_ALONE = NOT_SCHEMAS | {"keys_schema"}  # a key is text, whatever it becomes: the map's gate looks at it
_DATES = frozenset({"date", "datetime", "time", "timedelta"})


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


def closed(schema: Any) -> Any:
    """The same core schema, closed."""
    return rebuilt(schema, _closed_node, _LEFT_ALONE)


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


@functools.cache
def _numeric() -> re.Pattern[str]:
    return re.compile(r"\s*[+-]?[0-9_.]+([eE][+-]?[0-9]+)?\s*", re.ASCII)


def _is_no_number(value: Any) -> bool:
    return not (isinstance(value, str) and _numeric().fullmatch(value))


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
        is_integer = re.compile(INTEGER_KEY, re.ASCII).fullmatch
        return lambda value: not _is_json_object(value) or all(map(is_integer, value))
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

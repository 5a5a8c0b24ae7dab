"""Finds the traits of a pydantic model that decide how toolshape validates its arguments."""

from typing import NamedTuple

from pydantic import BaseModel

from toolshape._calls import JsonSchema
from toolshape._core_schema.key_count import KeyCount, compile_key_count
from toolshape._core_schema.nodes import Node, core_nodes
from toolshape._function.model import FunctionDefinition
from toolshape._schema.backtracking import DEEPEST, may_backtrack, unions_recur


class ModelTraits(NamedTuple):
    """The traits of a pydantic model that decide how toolshape validates its arguments.

    ``count_keys`` takes an instance, and counts the JSON keys that it was validated from; ``None`` if an instance does
    not show this. ``has_decimals``: a field or item expects a Decimal. ``lax``: the author made a field or item lax, or
    gave it a before, wrap or plain validator. ``unions_recur``: a union contains itself. ``deepest`` is the limit on
    the nesting depth of the arguments, if the validator's work multiplies with each level.
    """

    model: type[BaseModel]
    schema: JsonSchema
    reserved: frozenset[str]
    count_keys: KeyCount | None
    has_decimals: bool
    lax: bool
    deepest: int | None
    unions_recur: bool


def traits_of(definition: FunctionDefinition) -> ModelTraits:
    """Return the traits of a function definition's pydantic model."""
    nodes = list(core_nodes(definition.model.__pydantic_core_schema__))
    return ModelTraits(
        model=definition.model,
        schema=definition.schema,
        reserved=definition.reserved,
        count_keys=compile_key_count(definition.model.__pydantic_core_schema__),
        has_decimals=any(node["type"] == "decimal" for node in nodes),
        lax=any(node["type"] in _VALIDATOR_NODES or _is_lax(node) for node in nodes),
        deepest=DEEPEST if may_backtrack(definition.schema) else None,
        unions_recur=unions_recur(definition.schema),
    )


_VALIDATOR_NODES = frozenset({"function-before", "function-wrap", "function-plain"})


def _is_lax(node: Node) -> bool:
    return node.get("strict") is False and node["type"] != "tagged-union"  # pydantic sets ``strict`` there

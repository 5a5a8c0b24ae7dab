"""Finds the traits of a pydantic model that decide how toolshape validates its arguments."""

from typing import NamedTuple

from pydantic import BaseModel

from toolshape._function.core_schema.key_count import KeyCount, compile_key_count
from toolshape._function.core_schema.nodes import core_nodes
from toolshape._function.model import FunctionDefinition
from toolshape._records.calls import JsonSchema
from toolshape._schema.backtracking import DEEPEST, may_backtrack, unions_recur
from toolshape._validation.validators import Validators, validators_of


class ModelTraits(NamedTuple):
    """The traits of a pydantic model that decide how toolshape validates its arguments.

    ``count_keys`` takes an instance, and counts the JSON keys that it was validated from; ``None``
    if an instance does not show this. ``has_decimals``: a field or item expects a Decimal.
    ``validators``: the model's own two. ``unions_recur``: a union contains itself. ``deepest`` is
    the limit on the nesting depth of the arguments, if the validator's work multiplies with each
    level.
    """

    model: type[BaseModel]
    schema: JsonSchema
    reserved: frozenset[str]
    count_keys: KeyCount | None
    has_decimals: bool
    validators: Validators
    deepest: int | None
    unions_recur: bool


def traits_of(definition: FunctionDefinition) -> ModelTraits:
    """Return the traits of a function definition's pydantic model."""
    core = definition.model.__pydantic_core_schema__
    return ModelTraits(
        model=definition.model,
        schema=definition.schema,
        reserved=definition.reserved,
        count_keys=compile_key_count(core),
        has_decimals=any(node["type"] == "decimal" for node in core_nodes(core)),
        validators=validators_of(core, definition.model),
        deepest=DEEPEST if may_backtrack(definition.schema) else None,
        unions_recur=unions_recur(definition.schema),
    )

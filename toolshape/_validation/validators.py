"""The validators of one pydantic model: *full*, *structure*, and *structure, looked through*."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import SchemaValidator

from toolshape._function.core_schema.authors import is_authors_code, is_authors_function
from toolshape._function.core_schema.nodes import Node, core_nodes
from toolshape._function.core_schema.two import compile_validator, structure_schema
from toolshape._function.core_schema.validation_context import in_context


class Validators(NamedTuple):
    """The validators of one core schema; the last two are compiled when they are first asked for.

    ``full`` validates JSON. ``runs_code`` is true if it runs code of the author's on a value, so
    that *structure* is another validator, and the code is given the context of the call.
    ``has_places`` is true if the schema has an author's place: there, a before, wrap or plain
    validator sees what the model wrote.
    """

    full: Callable[[Any], Any]
    structure: Callable[[], SchemaValidator]
    through: Callable[[], SchemaValidator]
    runs_code: bool
    has_places: bool


def validators_of(core: Node, model: type[BaseModel]) -> Validators:
    """Return the validators of a widened core schema.

    Args:
        core: The core schema.
        model: The model itself, whose validator is *full*.
    """
    nodes = list(core_nodes(core))
    has_places = any(map(is_authors_code, nodes))
    runs_code = has_places or any(map(_runs_code, nodes))
    validate_json = model.__pydantic_validator__.validate_json
    return Validators(
        full=in_context(validate_json) if runs_code else validate_json,
        structure=functools.cache(lambda: compile_validator(structure_schema(core))),
        through=functools.cache(lambda: compile_validator(structure_schema(core, through=True))),
        runs_code=runs_code,
        has_places=has_places,
    )


def _runs_code(node: Node) -> bool:
    return is_authors_function(node) or bool(node.get("post_init") or node.get("custom_init"))

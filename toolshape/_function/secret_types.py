"""Tells whether a pydantic model has a type for secrets anywhere."""

from typing import Any

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

from toolshape._function.core_schema.nodes import core_nodes

_SECRET_TYPES = (SecretStr, SecretBytes, Secret)


def has_secret_types(model: type[BaseModel]) -> bool:
    """Return whether a model has a type for secrets anywhere; its JSON
    Schema may say something else.
    """
    return any(_is_secret(node.get("cls")) for node in core_nodes(model.__pydantic_core_schema__))


def _is_secret(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, _SECRET_TYPES)

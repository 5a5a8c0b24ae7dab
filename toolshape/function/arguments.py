"""Validated arguments in; JSON by the names that a model knows out."""

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from toolshape.calls import JsonObject

__all__ = ["shown_name", "written_arguments"]


def shown_name(field: str, info: FieldInfo) -> str:
    """The name of a field in the schema."""
    alias = info.validation_alias if isinstance(info.validation_alias, str) else info.alias
    return alias or field


def written_arguments(model: type[BaseModel], validated: BaseModel, omittable: frozenset[str]) -> JsonObject:
    """Validated arguments as JSON, by the names in the schema; what JSON has no form for is named by its type.

    Args:
        model: The model of the function's arguments.
        validated: An object of it.
        omittable: The fields that the function is not given where a caller left them out.
    """
    written: JsonObject = model.__pydantic_serializer__.to_python(
        validated,
        mode="json",
        by_alias=True,
        exclude=set(omittable - validated.model_fields_set),
        warnings=False,
        fallback=lambda value: f"<{type(value).__name__}>",
    )
    names = {
        info.serialization_alias or info.alias or name: shown_name(name, info)
        for name, info in model.model_fields.items()
    }
    return {names.get(name, name): value for name, value in written.items()}

"""Validated arguments in; JSON by the names that a model knows out."""

import dataclasses
from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from toolshape.calls import JsonObject

__all__ = ["shown_name", "written_arguments"]


def shown_name(field: str, info: FieldInfo) -> str:
    """The name of a field in the schema."""
    alias: Any = info.validation_alias or info.alias
    if alias is not None and not isinstance(alias, str):  # the first choice, where that is a name
        choices = getattr(alias, "choices", [alias])
        alias = next((one for one in choices if isinstance(one, str)), None)
    return alias or field


def written_arguments(validated: BaseModel, omittable: frozenset[str]) -> JsonObject:
    """Validated arguments as JSON, by the names in the schema at every level.

    What an author's serialisers would make of a value, or leave out, is not looked at: it is what the function gets. What
    JSON has no form for is named by its type.

    Args:
        validated: An object of the model of the function's arguments.
        omittable: The fields that the function is not given where a caller left them out.
    """
    written = _written(validated)
    left_out = omittable - validated.model_fields_set
    infos = type(validated).model_fields
    return {
        name: value for name, value in written.items() if name not in {shown_name(one, infos[one]) for one in left_out}
    }


def _written(value: Any) -> Any:  # noqa: PLR0911 - a line a type
    if isinstance(value, Enum):
        return _written(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, BaseModel):
        infos = type(value).model_fields
        fields = {shown_name(name, info): _written(getattr(value, name)) for name, info in infos.items()}
        return {**fields, **{name: _written(one) for name, one in (value.model_extra or {}).items()}}
    if dataclasses.is_dataclass(value):
        infos = getattr(value, "__pydantic_fields__", {})
        names = {
            one.name: shown_name(one.name, infos[one.name]) if one.name in infos else one.name
            for one in dataclasses.fields(value)
        }
        return {shown: _written(getattr(value, name, None)) for name, shown in names.items()}
    if isinstance(value, Mapping):
        return {_key(key): _written(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return [_written(one) for one in value]
    return _leaf(value)


def _key(key: Any) -> str:
    written = _written(key)
    return written if isinstance(written, str) else str(next(iter(_leaf({key: None}))))


def _leaf(value: Any) -> Any:
    """A value of another type, as pydantic writes it."""
    for mode in ("utf8", "base64"):
        try:
            return to_jsonable_python(value, bytes_mode=mode, inf_nan_mode="constants", fallback=_type_of)
        except Exception:  # noqa: S112 - bytes that are not UTF-8, and whatever a user's type raises
            continue
    return _type_of(value)


def _type_of(value: Any) -> str:
    return f"<{type(value).__name__}>"

"""Validated arguments in; JSON by the names that a model knows, or one that no two different arguments share, out."""

import dataclasses
import json
from collections import deque
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from toolshape.calls import JsonObject
from toolshape.schema.values import WrittenSet, WrittenText

__all__ = ["Form", "exact_arguments", "shown_name", "written_arguments"]


def shown_name(field: str, info: FieldInfo) -> str:
    """The name of a field in the schema."""
    alias: Any = info.validation_alias or info.alias
    if alias is not None and not isinstance(alias, str):  # the first choice, where that is a name
        choices = getattr(alias, "choices", [alias])
        alias = next((one for one in choices if isinstance(one, str)), None)
    return alias or field


class Form(NamedTuple):
    """How arguments are written: with secrets as they are, not as stars; without nested fields that nobody gave.

    ``keeps_values`` marks sets, and texts that stand for another value, so that ``is_same_value`` compares what the
    function gets.
    """

    reveals: bool = False
    is_sparse: bool = False
    keeps_values: bool = False


_AS_SHOWN = Form()


def written_arguments(validated: BaseModel, omittable: frozenset[str], form: Form = _AS_SHOWN) -> JsonObject:
    """Validated arguments as JSON, by the names in the schema at every level.

    What an author's serialisers would make of a value, or leave out, is not looked at: it is what the function gets. What
    JSON has no form for is named by its type.

    Args:
        validated: An object of the model of the function's arguments.
        omittable: The fields that the function is not given where a caller left them out.
        form: What of them is written.
    """
    left_out = omittable - validated.model_fields_set
    infos = type(validated).model_fields
    return {
        shown_name(name, info): _written(getattr(validated, name), form)
        for name, info in infos.items()
        if name not in left_out
    } | _extra(validated, form)


def _extra(value: BaseModel, form: Form) -> JsonObject:
    return {name: _written(one, form) for name, one in (value.model_extra or {}).items()}


def _written(value: Any, form: Form) -> Any:  # noqa: PLR0911 - a line a type
    if isinstance(value, Enum):
        return _written(value.value, form)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, BaseModel):
        infos = type(value).model_fields
        given = value.model_fields_set if form.is_sparse else infos.keys()
        return {
            shown_name(name, info): _written(getattr(value, name), form)
            for name, info in infos.items()
            if name in given
        } | _extra(value, form)
    if dataclasses.is_dataclass(value):
        infos = getattr(value, "__pydantic_fields__", {})
        names = {
            one.name: shown_name(one.name, infos[one.name]) if one.name in infos else one.name
            for one in dataclasses.fields(value)
        }
        return {shown: _written(getattr(value, name, None), form) for name, shown in names.items()}
    if isinstance(value, Mapping):
        return {_key(key, form): _written(one, form) for key, one in value.items()}
    if isinstance(value, (list, tuple, deque)):
        return [_written(one, form) for one in value]
    if isinstance(value, (set, frozenset)):
        items = _in_order(
            _written(one, form) for one in value
        )  # not in that of hashes, which each process has its own of
        return WrittenSet(items) if form.keeps_values else items
    if form.reveals and callable(reveal := getattr(value, "get_secret_value", None)):
        return _written(reveal(), form)
    text = _leaf(value)
    return WrittenText(text, value) if form.keeps_values and isinstance(text, str) else text


def _key(key: Any, form: Form) -> str:
    written = _written(key, form)
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


def exact_arguments(validated: Any, omittable: frozenset[str]) -> Any:
    """What a function gets, as JSON that differs where the arguments differ: with secrets, types, and sets in one order.

    Args:
        validated: An object of the model of the function's arguments, or JSON.
        omittable: The fields that the function is not given where a caller left them out.

    Raises:
        TypeError: A value has no form in JSON.
    """
    if not isinstance(validated, BaseModel):
        return _exact(validated)
    return _exact_fields(validated, omittable - validated.model_fields_set)


def _exact(value: Any) -> Any:  # noqa: PLR0911 - a line a type
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (list, tuple, deque)):
        return [_exact(one) for one in value]
    if isinstance(value, Mapping):
        return [[_exact(key), _exact(one)] for key, one in value.items()]  # a function may look at their order
    if isinstance(value, (set, frozenset)):
        return _in_order(map(_exact, value))
    name = type(value).__name__
    if isinstance(value, Enum):
        return [name, _exact(value.value)]
    if isinstance(value, BaseModel):
        extra = _exact(value.model_extra or {})
        return [name, extra, sorted(value.model_fields_set), _exact_fields(value, frozenset())]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [
            name,
            [[one.name, _exact(getattr(value, one.name, None))] for one in dataclasses.fields(value)],
        ]
    if callable(reveal := getattr(value, "get_secret_value", None)):
        return [name, _exact(reveal())]
    try:
        return [name, to_jsonable_python(value, bytes_mode="base64", inf_nan_mode="constants")]
    except Exception as error:
        raise TypeError(f"a value of type {name} has no form in JSON") from error


def _exact_fields(value: BaseModel, left_out: frozenset[str]) -> list[Any]:
    found: list[Any] = []
    for field in type(value).model_fields:
        try:
            found.append([field] if field in left_out else [field, _exact(value.__dict__.get(field))])
        except TypeError:
            if field in value.model_fields_set:
                raise
            found.append([field])  # a default that is no JSON, as an object that stands for nothing: the code has it
    return found


def _in_order(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda one: json.dumps(one, sort_keys=True))

"""Serialises validated arguments: with the names in the schema, or injectively (for comparison)."""

import copy
import dataclasses
import functools
import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from os import PathLike, fspath
from typing import Any, NamedTuple, TypeAlias, cast

import pydantic_core
from pydantic import BaseModel, EncodedBytes, EncodedStr, NameEmail, RootModel
from pydantic.fields import FieldInfo
from pydantic_core import SchemaValidator, to_jsonable_python

from toolshape._function.core_schema.enum_values import json_of_choice, written_key
from toolshape._function.core_schema.nodes import (
    MAPS,
    WRAPPER,
    Definitions,
    Node,
    definitions_of,
    inner_node,
)
from toolshape._function.core_schema.two import (
    compile_validator,
    full_schema,
    with_definitions,
)
from toolshape._records.calls import JsonObject
from toolshape._schema.values import WrittenSet, WrittenText


def schema_name_of(field: str, info: FieldInfo) -> str:
    """Return the name of a field in the schema."""
    alias: Any = info.validation_alias or info.alias
    # Take the first alias that is a name, not a path.
    if alias is not None and not isinstance(alias, str):
        choices = getattr(alias, "choices", [alias])
        alias = next((choice for choice in choices if isinstance(choice, str)), None)
    return alias or field


class FreshDefault:
    """An unhashable default: each call gets a copy, so no call changes the default for later
    calls.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        """Return a copy of the value, or the value itself if it cannot be copied (a lock)."""
        value = self.value
        if not value and type(value) in _EMPTIES:
            return type(value)()
        try:
            return copy.deepcopy(value)
        except Exception:  # copying a user's object may raise anything
            return value


_EMPTIES = frozenset({list, dict, set})


class ParameterForm(NamedTuple):
    """How arguments are written as JSON.

    ``reveals`` writes secrets in plain text, not as stars. ``is_sparse`` leaves out nested fields
    that the caller did not set. ``keeps_values`` marks each set, and each string that stands for a
    value of another type, so ``is_same_value`` can compare the values that the function receives.
    """

    reveals: bool = False
    is_sparse: bool = False
    keeps_values: bool = False


_AS_SHOWN = ParameterForm()
_REVEALED = ParameterForm(reveals=True)


class _Missing:
    """Replaces pydantic's ``MISSING`` sentinel in versions of pydantic that lack it."""


_MISSING: Any = getattr(pydantic_core, "MISSING", _Missing)
"""The value of a field that was left out, if the field's type includes ``MISSING``."""


def write_arguments(
    validated: BaseModel, omittable: frozenset[str], form: ParameterForm = _AS_SHOWN
) -> JsonObject:
    """Return validated arguments as JSON that the same tool accepts, with the
    names in the schema at every level.

    The core schema decides the form of each value: a ``RootModel`` is written as its root, a
    ``Json`` as text. The author's serialisers are ignored, so the JSON shows what the function
    receives. A value that JSON cannot express is written as the name of its type.

    Args:
        validated: An instance of the pydantic model of the function's arguments.
        omittable: The fields that the function does not receive if the caller left them out.
        form: How the values are written.
    """
    set_fields = validated.model_fields_set
    left_out = omittable - set_fields
    fields, extra = _fields_of_arguments(type(validated))
    values = validated.__dict__
    written = {
        schema_name: write(values[name], form)
        for name, schema_name, write, is_sayable in fields
        if name not in left_out
        and values[name] is not _MISSING
        and (name in set_fields or is_sayable())
    }
    return written | {
        name: extra(value, form) for name, value in (validated.model_extra or {}).items()
    }


_Write: TypeAlias = Callable[[Any, ParameterForm], Any]
_Field: TypeAlias = tuple[str, str, _Write, Callable[[], bool]]
"""A field: its name, its name in the schema, its writer, and a check
that its default can be written.
"""


@functools.lru_cache(maxsize=1_024)
def _fields_of_arguments(model: type[BaseModel]) -> tuple[list[_Field], _Write]:
    core = model.__pydantic_core_schema__
    return _Writers(definitions_of(core)).fields_of(core)


class _Writers:
    """Compiles a writer for each core schema node; the writer writes values
    in the form that the node reads.
    """

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.made: dict[int, _Write] = {}  # by id of a node; the core schema keeps the nodes alive

    def of(self, node: Node | None, config: Node | None) -> _Write:
        """Return the writer for a node's values; a value that does not fit the
        node is written by its own type.
        """
        if node is None:
            return _write_by_type
        # A node may contain itself, so its compilation might never end. While a writer is being
        # compiled, a lambda takes the writer's place. When called, the lambda looks up the finished
        # writer.
        if id(node) not in self.made:
            self.made[id(node)] = lambda value, form: self.made[id(node)](value, form)  # noqa: PLW0108 - a late lookup
            self.made[id(node)] = self._compile(node, config)
        return self.made[id(node)]

    def _compile(self, node: Node, config: Node | None) -> _Write:  # noqa: C901, PLR0911 - one line per kind
        # What the author wrote with comes first: a serialiser replaces whatever the type would
        # give. Then the kinds whose JSON differs from their Python value. Every other node only
        # wraps one, and its config is that of what is inside.
        kind = node["type"]
        if (encode := _own_encoder(node.get("serialization", {}))) is not None:
            return encode
        if kind == "nullable":
            return _nullable_writer(self.of(node["schema"], config))
        if kind == "json":
            return _json_text_writer(self.of(node.get("schema"), config))
        if kind == "bytes":
            return _bytes_writer((config or {}).get("val_json_bytes", "utf8"))
        if kind in ("list", "set", "frozenset", "deque", "generator"):
            return _items_writer(self.of(node.get("items_schema"), config))
        if kind in ("tuple", "named-tuple", "call"):
            return _tuple_writer(*self._position_writers(node, config))
        if kind in MAPS:
            return _map_writer(
                self.of(node.get("keys_schema"), config), self.of(node.get("values_schema"), config)
            )
        if kind in ("model", "dataclass") and not node.get("root_model"):
            return _object_writer(node["cls"], *self.fields_of(node))
        if kind == "typed-dict":
            return _typed_dict_writer(*self.fields_of(node, config))
        if kind == "union" or (kind == "tagged-union" and WRAPPER not in node["choices"]):
            return self._union_writer(node, config)
        inner = inner_node(node, self.definitions)
        if inner is None:
            return _write_by_type
        config = node.get("config", config)
        if kind == "model":
            return _root_writer(node["cls"], self.of(inner, config))
        return _secret_writer(self.of(inner, config))

    def fields_of(self, node: Node, config: Node | None = None) -> tuple[list[_Field], _Write]:
        """Return the fields of a model, dataclass or TypedDict, and
        the writer for undeclared fields.
        """
        config = node.get("config", config)
        while node["type"] not in ("model-fields", "dataclass-args", "typed-dict"):
            config = node.get("config", config)
            node = (
                node["schema"]
                if node["type"] in ("model", "dataclass")
                else inner_node(node, self.definitions) or {}
            )
        node_fields = node["fields"]
        fields = (
            node_fields.items()
            if isinstance(node_fields, Mapping)
            else [(field["name"], field) for field in node_fields]
        )
        field_entries = [
            (
                name,
                field_name(name, field),
                self.of(field["schema"], config),
                self._default_check(field["schema"], config),
            )
            for name, field in fields
            if field.get("init") is not False
        ]
        return field_entries, self.of(node.get("extras_schema"), config)

    def _default_check(self, node: Node, config: Node | None) -> Callable[[], bool]:
        """Return a function that checks whether the node accepts its default as
        JSON: authors may give any object.
        """

        @functools.cache
        def is_sayable() -> bool:
            if node["type"] != "default" or not _has_constant(node):
                return True
            if "default" in node:
                default = node["default"]
            else:
                default = node["default_factory"]()
            try:
                text = json.dumps(self.of(node, config)(default, _REVEALED))
                self.validator(node, config).validate_json(text)
            except Exception:  # an author's validator may raise anything
                return False
            return True

        return is_sayable

    def validator(self, node: Node, config: Node | None) -> SchemaValidator:
        """Return a validator for the values of a node."""
        part = with_definitions(node, self.definitions)
        return compile_validator(full_schema(part, config), config)

    def _position_writers(self, node: Node, config: Node | None) -> tuple[list[_Write], int | None]:
        if node["type"] == "tuple":
            return [self.of(item, config) for item in node["items_schema"]], node.get(
                "variadic_item_index"
            )
        if node["type"] == "call":
            fields = node["arguments_schema"]["arguments_schema"]
        else:
            fields = node["fields"]
        return [self.of(field["schema"], config) for field in fields], None

    def _union_writer(self, node: Node, config: Node | None) -> _Write:
        if isinstance(node["choices"], Mapping):
            choices = node["choices"].values()
        else:
            choices = node["choices"]
        branches = [
            self.of(choice[0] if isinstance(choice, tuple) else choice, config)
            for choice in choices
        ]
        validator = functools.cache(lambda: self.validator(node, config))

        def is_read_as(value: Any, written: Any) -> bool:
            try:
                read_back = validator().validate_json(json.dumps(written))
                return type(read_back) is type(value) and bool(read_back == value)
            except Exception:  # an author's validator or __eq__ may raise anything
                return False

        # A value does not show which branch of the union read it. If all branches write the value
        # alike, the branch does not matter. Otherwise we use the first writer whose JSON the union
        # reads back as an equal value of the same type. Numbers always take this test, because a
        # union with str would read a Decimal's text as a str.
        def write(value: Any, form: ParameterForm) -> Any:
            written_forms = [branch(value, form) for branch in branches]
            is_number = isinstance(value, _NUMBERS)
            if not is_number and all(
                written == written_forms[0] and type(written) is type(written_forms[0])
                for written in written_forms
            ):
                return written_forms[0]
            writers = (
                writer
                for writer in (*branches, _as_number)
                if is_read_as(value, writer(value, _REVEALED))
            )
            return next(writers, _write_by_type)(value, form)

        return write


def write_default(node: Node, definitions: Definitions, config: Node | None) -> Any:
    """Return a node's default as JSON; ``None`` if the default is ``MISSING``, or
    comes from an author's factory.
    """
    if node.get("default_factory") in _EMPTIES:
        if node["default_factory"] is not dict:
            return []
        return {}
    if not _has_constant(node):
        return None
    if "default" in node:
        default = node["default"]
    else:
        default = node["default_factory"]()
    if default is _MISSING:
        return None
    return _Writers(definitions).of(node, config)(default, _AS_SHOWN)


def _has_constant(node: Node) -> bool:
    """Whether a default is a fixed value, rather than the result of an author's function."""
    return "default" in node or isinstance(node.get("default_factory"), FreshDefault)


def field_name(name: str, field: Node) -> str:
    """Return the name of a field in the schema, from its node: its alias, or its
    own name if the alias is a path.
    """
    alias = field.get("validation_alias", name)
    if isinstance(alias, str):
        return alias
    if alias and isinstance(alias[0], list):
        paths: list[Any] = alias
    else:
        paths = [alias]
    return next((path[0] for path in paths if len(path) == 1 and isinstance(path[0], str)), name)


def _own_encoder(serialization: Node) -> _Write | None:
    """Return pydantic's encoder for one of its own types, or ``None``; encoders that
    authors wrote are never returned.

    The validator of each of these types can read the text that the encoder writes.
    """
    kind, function = serialization.get("type"), cast("Any", serialization.get("function"))
    if kind == "to-string":
        return _as_text
    if isinstance(encoded := getattr(function, "__self__", None), (EncodedBytes, EncodedStr)):
        is_bytes = isinstance(encoded, EncodedBytes)

        def encode(value: Any, form: ParameterForm) -> Any:
            has_expected_type = isinstance(value, bytes if is_bytes else str)
            if has_expected_type:
                return _keep_value(value, _write_leaf(function(value)), form)
            return _write_by_type(value, form)

        return encode
    if getattr(function, "__qualname__", "") == "ImportString._serialize":
        return lambda value, form: _keep_value(value, _write_leaf(function(value)), form)
    return None


def _as_text(value: Any, form: ParameterForm) -> Any:
    # ``str()`` leaves out the quotes, and some names are invalid without quotes.
    if isinstance(value, NameEmail):
        name = re.sub(r'(["\\\\])', r"\\\1", value.name)
        return _keep_value(
            value, f'"{name}" <{value.email}>' if re.search(r"[^\w ]", name) else str(value), form
        )
    if value is None or isinstance(value, str):
        return _write_by_type(value, form)
    return _keep_value(value, str(value), form)


_MOST_DIGITS = 300
_NUMBERS = (Decimal, Fraction, timedelta)
"""Types whose values can be written as text or as a number; a union may read the text
or the number as another type.
"""


def _as_number(value: Any, form: ParameterForm) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if not isinstance(value, (Decimal, Fraction)) or not math.isfinite(value):
        return _write_by_type(value, form)
    if isinstance(value, Decimal):
        is_short = value.adjusted() < _MOST_DIGITS
    else:
        is_short = True
    if is_short and value == int(value):
        return int(value)
    return float(value)


def _nullable_writer(write: _Write) -> _Write:
    return lambda value, form: None if value is None else write(value, form)


def _json_text_writer(write: _Write) -> _Write:
    return lambda value, form: _keep_value(
        value, json.dumps(write(value, form), ensure_ascii=False), form
    )


def _bytes_writer(mode: Any) -> _Write:
    def write(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, bytes) or mode == "utf8":
            return _write_by_type(value, form)
        return _keep_value(value, to_jsonable_python(value, bytes_mode=mode), form)

    return write


def _items_writer(write: _Write) -> _Write:
    def write_each(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, (list, tuple, set, frozenset, deque)):
            return _write_by_type(value, form)
        return _write_items(value, write, form)

    return write_each


def _tuple_writer(writes: list[_Write], variadic: int | None) -> _Write:
    def write(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, tuple) or (variadic is None and len(value) != len(writes)):
            return _write_by_type(value, form)
        writers = writes
        if variadic is not None:
            variadic_count = len(value) - len(writes) + 1
            writers = [
                *writes[:variadic],
                *[writes[variadic]] * variadic_count,
                *writes[variadic + 1 :],
            ]
        return [writer(item, form) for writer, item in zip(writers, value, strict=True)]

    return write


def _map_writer(write_key: _Write, write: _Write) -> _Write:
    def write_map(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, Mapping):
            return _write_by_type(value, form)
        return {
            _as_key(key, write_key(key, form)): write(item, form) for key, item in value.items()
        }

    return write_map


def _object_writer(cls: type[Any], fields: list[_Field], extra: _Write) -> _Write:
    def write(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, cls):
            return _write_by_type(value, form)
        if isinstance(value, BaseModel):
            set_fields: Any = value.model_fields_set
        else:
            set_fields = None
        written = {
            schema_name: writer(item, form)
            for name, schema_name, writer, is_sayable in fields
            if (set_fields is None or name in set_fields or (not form.is_sparse and is_sayable()))
            and (item := getattr(value, name, None)) is not _MISSING
        }
        extra_values: Mapping[str, Any] = (
            value.model_extra if isinstance(value, BaseModel) else None
        ) or {}
        return written | {name: extra(item, form) for name, item in extra_values.items()}

    return write


def _typed_dict_writer(fields: list[_Field], extra: _Write) -> _Write:
    writers = {name: (schema_name, writer) for name, schema_name, writer, _ in fields}

    def write(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, Mapping):
            return _write_by_type(value, form)
        written: JsonObject = {}
        for name, item in value.items():
            schema_name, writer = writers.get(name, (name, extra))
            written[str(schema_name)] = writer(item, form)
        return written

    return write


def _root_writer(cls: type[Any], write: _Write) -> _Write:
    return lambda value, form: (
        write(value.root, form) if isinstance(value, cls) else _write_by_type(value, form)
    )


def _secret_writer(write: _Write) -> _Write:
    def write_or_mask(value: Any, form: ParameterForm) -> Any:
        if callable(reveal := getattr(value, "get_secret_value", None)):
            if form.reveals:
                return write(reveal(), form)
            return _keep_value(value, _write_leaf(value), form)
        return write(value, form)

    return write_or_mask


def _write_by_type(value: Any, form: ParameterForm) -> Any:  # noqa: PLR0911 - one line per type
    """Write a value according to its own type, without a core schema node."""
    # The order matters where a value is of two kinds: an enum may be a string, a root model is a
    # model, and pydantic's dataclass has fields under aliases. Secrets come late, because a model
    # may have such a method, too.
    if isinstance(value, Enum):
        return _write_choice(value, form)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, RootModel):
        return _write_by_type(value.root, form)
    if isinstance(value, BaseModel):
        names, extra = _fields_of_arguments(type(value))
        return _object_writer(type(value), names, extra)(value, form)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        infos = getattr(value, "__pydantic_fields__", {})
        names_of = {
            field.name: schema_name_of(field.name, infos[field.name])
            if field.name in infos
            else field.name
            for field in dataclasses.fields(value)
            if field.init
        }
        return {
            schema_name: _write_by_type(getattr(value, name, None), form)
            for name, schema_name in names_of.items()
        }
    if isinstance(value, Mapping):
        return {
            _as_key(key, _write_by_type(key, form)): _write_by_type(item, form)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return _write_items(value, _write_by_type, form)
    if form.reveals and callable(reveal := getattr(value, "get_secret_value", None)):
        return _write_by_type(reveal(), form)
    return _keep_value(value, _write_leaf(value), form)


def _keep_value(value: Any, written: Any, form: ParameterForm) -> Any:
    """Return ``written``; with ``keeps_values``, a string that stands for
    another value also holds that value.
    """
    keeps_value = form.keeps_values and isinstance(written, str) and not isinstance(value, str)
    if keeps_value:
        return WrittenText(written, value)
    return written


def _write_items(values: Iterable[Any], write: _Write, form: ParameterForm) -> list[Any]:
    """Write the items of an array.

    The items of a set are sorted, because hash order differs between processes.
    """
    items = [write(item, form) for item in values]
    if not isinstance(values, (set, frozenset)):
        return items
    if form.keeps_values:
        return WrittenSet(_sort_items(items))
    return _sort_items(items)


def _write_choice(value: Enum, form: ParameterForm) -> Any:
    try:
        return json_of_choice(value.value)
    except Exception:  # the value of a member may be anything
        return _write_by_type(value.value, form)


def _as_key(key: Any, written: Any) -> str:
    """Return a map key as a JSON string; an enum member whose value is not a string
    becomes the JSON of its value.
    """
    if isinstance(written, str):
        return written
    if isinstance(key, Enum):
        return written_key(written)
    return str(next(iter(_write_leaf({key: None}))))


def _write_leaf(value: Any) -> Any:
    """Write a value as pydantic does, or as the name of its type if pydantic cannot write it."""
    if isinstance(value, PathLike):
        return fspath(value)
    for mode in ("utf8", "base64"):
        try:
            return to_jsonable_python(
                value, bytes_mode=mode, inf_nan_mode="constants", fallback=_type_of
            )
        except Exception:  # noqa: S112 - the bytes are not UTF-8, or a user's type raises
            continue
    return _type_of(value)


def _type_of(value: Any) -> str:
    return f"<{type(value).__name__}>"


def write_exact_arguments(
    validated: Any, omittable: frozenset[str], *, as_equal: bool = False
) -> Any:
    """Return JSON that differs whenever the function's arguments differ.

    The JSON includes secrets and the names of types. Sets are sorted.

    Args:
        validated: An instance of the pydantic model of the function's arguments, or JSON.
        omittable: The fields that the function does not receive if the caller left them out.
        as_equal: Whether models differ where ``==`` tells them apart: private attributes count, and
            what was given does not. By default, what was given counts, and private attributes do
            not.

    Raises:
        TypeError: A value cannot be written as JSON.
    """
    if not isinstance(validated, BaseModel):
        return _write_exact(validated, as_equal)
    return _write_exact_fields(validated, omittable - validated.model_fields_set, as_equal)


def _write_exact(value: Any, as_equal: bool) -> Any:  # noqa: C901, PLR0911 - one line per type
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_write_exact(item, as_equal) for item in value]
    if isinstance(value, (list, tuple, deque)):
        return [type(value).__name__, [_write_exact(item, as_equal) for item in value]]
    if isinstance(value, Mapping):
        # A function may depend on this order.
        return [
            [_write_exact(key, as_equal), _write_exact(item, as_equal)]
            for key, item in value.items()
        ]
    if isinstance(value, (set, frozenset)):
        items = _sort_items(_write_exact(item, as_equal) for item in value)
        return [type(value).__name__, items]
    name = type(value).__name__
    if isinstance(value, Enum):
        return [name, _write_exact(value.value, as_equal)]
    if isinstance(value, BaseModel):
        extra = _write_exact(value.model_extra or {}, as_equal)
        return [
            name,
            extra,
            _write_exact(value.__pydantic_private__, as_equal)
            if as_equal
            else sorted(value.model_fields_set),
            _write_exact_fields(value, frozenset(), as_equal),
        ]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [
            name,
            [
                [field.name, _write_exact(getattr(value, field.name, None), as_equal)]
                for field in dataclasses.fields(value)
            ],
        ]
    if callable(reveal := getattr(value, "get_secret_value", None)):
        return [name, _write_exact(reveal(), as_equal)]
    try:
        return [name, to_jsonable_python(value, bytes_mode="base64", inf_nan_mode="constants")]
    except Exception as error:
        raise TypeError(f"a value of type {name} cannot be written as JSON") from error


def _write_exact_fields(value: BaseModel, left_out: frozenset[str], as_equal: bool) -> list[Any]:
    written: list[Any] = []
    for field in type(value).model_fields:
        try:
            written.append(
                [field]
                if field in left_out
                else [field, _write_exact(value.__dict__.get(field), as_equal)]
            )
        except TypeError:
            if field in value.model_fields_set:
                raise
            # A default that is not JSON, such as a sentinel, is the same in all calls.
            written.append([field])
    return written


def _sort_items(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda item: json.dumps(item, sort_keys=True))

"""Serialises validated arguments: in the form that the schema describes, or injectively (for comparison)."""

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

from toolshape._calls import JsonObject
from toolshape._core_schema.enum_values import json_of_choice, key_of
from toolshape._core_schema.nodes import MAPS, WRAPPER, Definitions, Node, definitions_of, inside
from toolshape._schema.values import WrittenSet, WrittenText


def shown_name(field: str, info: FieldInfo) -> str:
    """The name of a field in the schema."""
    alias: Any = info.validation_alias or info.alias
    if alias is not None and not isinstance(alias, str):  # the first choice, where that is a name
        choices = getattr(alias, "choices", [alias])
        alias = next((one for one in choices if isinstance(one, str)), None)
    return alias or field


class FreshDefault:
    """A default that has no hash: each call gets a copy, so that no call changes what another one gets."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        """Copy it; what cannot be copied, such as a lock, is shared."""
        value = self.value
        if not value and type(value) in _EMPTIES:
            return type(value)()
        try:
            return copy.deepcopy(value)
        except Exception:  # the objects of users may refuse to be copied in any way
            return value


_EMPTIES = frozenset({list, dict, set})


class ParameterForm(NamedTuple):
    """How arguments are written: with secrets as they are, not as stars; without nested fields that nobody gave.

    ``keeps_values`` marks sets, and texts that stand for another value, so that ``is_same_value`` compares what the
    function gets.
    """

    reveals: bool = False
    is_sparse: bool = False
    keeps_values: bool = False


_AS_SHOWN = ParameterForm()
_REVEALED = ParameterForm(reveals=True)


class _Missing:
    """Stands for pydantic's sentinel where this pydantic has none."""


_MISSING: Any = getattr(pydantic_core, "MISSING", _Missing)
"""What a field holds that was left out, where its type says so."""


def written_arguments(validated: BaseModel, omittable: frozenset[str], form: ParameterForm = _AS_SHOWN) -> JsonObject:
    """Validated arguments as JSON that the same tool accepts, by the names in the schema at every level.

    The core schema decides the form of each value: a ``RootModel`` is written as its root, a ``Json`` as text. What an
    author's serialisers would make of a value, or leave out, is not looked at: it is what the function gets. What JSON
    has no form for is named by its type.

    Args:
        validated: An object of the model of the function's arguments.
        omittable: The fields that the function is not given where a caller left them out.
        form: What of them is written.
    """
    given = validated.model_fields_set
    left_out = omittable - given
    fields, extra = _fields_of_arguments(type(validated))
    values = validated.__dict__
    written = {
        shown: write(values[name], form)
        for name, shown, write, is_sayable in fields
        if name not in left_out and values[name] is not _MISSING and (name in given or is_sayable())
    }
    return written | {name: extra(one, form) for name, one in (validated.model_extra or {}).items()}


_Write: TypeAlias = Callable[[Any, ParameterForm], Any]
_Field: TypeAlias = tuple[str, str, _Write, Callable[[], bool]]
"""The name of a field, its name in the schema, what writes it, and whether its default can be written."""


@functools.lru_cache(maxsize=1_024)
def _fields_of_arguments(model: type[BaseModel]) -> tuple[list[_Field], _Write]:
    core = model.__pydantic_core_schema__
    return _Writers(definitions_of(core)).fields_of(core)


class _Writers:
    """Compiles what writes a value in the form that its core schema node reads."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.made: dict[int, _Write] = {}  # by node, which the core schema holds

    def of(self, node: Node | None, config: Node | None) -> _Write:
        """What writes the values of a node; a value of another kind is written by its own type."""
        if node is None:
            return _written
        if id(node) not in self.made:
            self.made[id(node)] = lambda value, form: self.made[id(node)](value, form)  # noqa: PLW0108 - it may contain itself
            self.made[id(node)] = self._compiled(node, config)
        return self.made[id(node)]

    def _compiled(self, node: Node, config: Node | None) -> _Write:  # noqa: C901, PLR0911 - a line a kind
        kind = node["type"]
        if (encode := _own_encoder(node.get("serialization", {}))) is not None:
            return encode
        if kind == "nullable":
            return _unless_null(self.of(node["schema"], config))
        if kind == "json":
            return _in_text(self.of(node.get("schema"), config))
        if kind == "bytes":
            return _of_bytes((config or {}).get("val_json_bytes", "utf8"))
        if kind in ("list", "set", "frozenset", "deque", "generator"):
            return _of_items(self.of(node.get("items_schema"), config))
        if kind in ("tuple", "named-tuple", "call"):
            return _of_positions(*self._positions(node, config))
        if kind in MAPS:
            return _of_map(self.of(node.get("keys_schema"), config), self.of(node.get("values_schema"), config))
        if kind in ("model", "dataclass") and not node.get("root_model"):
            return _of_object(node["cls"], *self.fields_of(node))
        if kind == "typed-dict":
            return _of_typed_dict(*self.fields_of(node, config))
        if kind == "union" or (kind == "tagged-union" and WRAPPER not in node["choices"]):
            return self._of_union(node, config)
        inner = inside(node, self.definitions)
        if inner is None:
            return _written
        config = node.get("config", config)
        if kind == "model":
            return _of_root(node["cls"], self.of(inner, config))
        return _unless_secret(self.of(inner, config))

    def fields_of(self, node: Node, config: Node | None = None) -> tuple[list[_Field], _Write]:
        """The fields of a model, dataclass or TypedDict, and what writes those that it does not name."""
        config = node.get("config", config)
        while node["type"] not in ("model-fields", "dataclass-args", "typed-dict"):
            config = node.get("config", config)
            node = node["schema"] if node["type"] in ("model", "dataclass") else inside(node, self.definitions) or {}
        listed = node["fields"]
        fields = listed.items() if isinstance(listed, Mapping) else [(field["name"], field) for field in listed]
        named = [
            (name, field_name(name, field), self.of(field["schema"], config), self._sayable(field["schema"], config))
            for name, field in fields
            if field.get("init") is not False
        ]
        return named, self.of(node.get("extras_schema"), config)

    def _sayable(self, node: Node, config: Node | None) -> Callable[[], bool]:
        """Whether the default of a field, once it is written, is accepted: an author may give any object."""

        @functools.cache
        def is_sayable() -> bool:
            if node["type"] != "default" or not _has_constant(node):
                return True
            default = node["default"] if "default" in node else node["default_factory"]()
            try:
                text = json.dumps(self.of(node, config)(default, _REVEALED))
                self.validator(node, config).validate_json(text, strict=True)
            except Exception:  # a validator of the author's may raise anything
                return False
            return True

        return is_sayable

    def validator(self, node: Node, config: Node | None) -> SchemaValidator:
        """What validates the values of a node."""
        definitions = list(self.definitions.values())
        whole = {"type": "definitions", "schema": node, "definitions": definitions} if definitions else node
        made: SchemaValidator = cast("Any", SchemaValidator)(whole, config, _use_prebuilt=False)
        return made

    def _positions(self, node: Node, config: Node | None) -> tuple[list[_Write], int | None]:
        if node["type"] == "tuple":
            return [self.of(item, config) for item in node["items_schema"]], node.get("variadic_item_index")
        fields = node["arguments_schema"]["arguments_schema"] if node["type"] == "call" else node["fields"]
        return [self.of(field["schema"], config) for field in fields], None

    def _of_union(self, node: Node, config: Node | None) -> _Write:
        choices = node["choices"].values() if isinstance(node["choices"], Mapping) else node["choices"]
        branches = [self.of(one[0] if isinstance(one, tuple) else one, config) for one in choices]
        validator = functools.cache(lambda: self.validator(node, config))

        def is_read_as(value: Any, written: Any) -> bool:
            try:
                read = validator().validate_json(json.dumps(written), strict=True)
                return type(read) is type(value) and bool(read == value)
            except Exception:  # a validator or an __eq__ of the author's may raise anything
                return False

        def write(value: Any, form: ParameterForm) -> Any:
            forms = [branch(value, form) for branch in branches]
            is_number = isinstance(value, _NUMBERS)
            if not is_number and all(one == forms[0] and type(one) is type(forms[0]) for one in forms):
                return forms[0]
            ways = (way for way in (*branches, _as_number) if is_read_as(value, way(value, _REVEALED)))
            return next(ways, _written)(value, form)

        return write


def written_default(node: Node, definitions: Definitions, config: Node | None) -> Any:
    """The default of a node as JSON; ``None`` where a function makes it, and where it has no form in JSON."""
    if node.get("default_factory") in _EMPTIES:
        return [] if node["default_factory"] is not dict else {}
    if not _has_constant(node):
        return None
    default = node["default"] if "default" in node else node["default_factory"]()
    return None if default is _MISSING else _Writers(definitions).of(node, config)(default, _AS_SHOWN)


def _has_constant(node: Node) -> bool:
    """Whether a default is one object, and not made by a function of the author's."""
    return "default" in node or isinstance(node.get("default_factory"), FreshDefault)


def field_name(name: str, field: Node) -> str:
    """The name of a field in the schema, from its node: an alias, or its own name where that is a path."""
    alias = field.get("validation_alias", name)
    if isinstance(alias, str):
        return alias
    paths: list[Any] = alias if alias and isinstance(alias[0], list) else [alias]
    return next((path[0] for path in paths if len(path) == 1 and isinstance(path[0], str)), name)


def _own_encoder(serialization: Node) -> _Write | None:
    """How pydantic itself writes a type of its own as text, which its validator reads; never that of an author."""
    kind, function = serialization.get("type"), cast("Any", serialization.get("function"))
    if kind == "to-string":
        return _as_text
    if isinstance(encoded := getattr(function, "__self__", None), (EncodedBytes, EncodedStr)):
        is_bytes = isinstance(encoded, EncodedBytes)

        def encode(value: Any, form: ParameterForm) -> Any:
            is_own = isinstance(value, bytes if is_bytes else str)
            return _for(value, _leaf(function(value)), form) if is_own else _written(value, form)

        return encode
    if getattr(function, "__qualname__", "") == "ImportString._serialize":
        return lambda value, form: _for(value, _leaf(function(value)), form)
    return None


def _as_text(value: Any, form: ParameterForm) -> Any:
    if isinstance(value, NameEmail):  # its own text leaves out quotes, without which some names are not read
        name = re.sub(r'(["\\\\])', r"\\\1", value.name)
        return _for(value, f'"{name}" <{value.email}>' if re.search(r"[^\w ]", name) else str(value), form)
    return _written(value, form) if value is None or isinstance(value, str) else _for(value, str(value), form)


_MOST_DIGITS = 300
_NUMBERS = (Decimal, Fraction, timedelta)
"""Types whose values may be written as a text and as a number, of which a union may take one for something else."""


def _as_number(value: Any, form: ParameterForm) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if not isinstance(value, (Decimal, Fraction)) or not math.isfinite(value):
        return _written(value, form)
    is_short = value.adjusted() < _MOST_DIGITS if isinstance(value, Decimal) else True
    return int(value) if is_short and value == int(value) else float(value)


def _unless_null(write: _Write) -> _Write:
    return lambda value, form: None if value is None else write(value, form)


def _in_text(write: _Write) -> _Write:
    return lambda value, form: _for(value, json.dumps(write(value, form), ensure_ascii=False), form)


def _of_bytes(mode: Any) -> _Write:
    def write(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, bytes) or mode == "utf8":
            return _written(value, form)
        return _for(value, to_jsonable_python(value, bytes_mode=mode), form)

    return write


def _of_items(write: _Write) -> _Write:
    def write_each(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, (list, tuple, set, frozenset, deque)):
            return _written(value, form)
        return _items(value, write, form)

    return write_each


def _of_positions(writes: list[_Write], variadic: int | None) -> _Write:
    def write(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, tuple) or (variadic is None and len(value) != len(writes)):
            return _written(value, form)
        ways = writes
        if variadic is not None:
            more = len(value) - len(writes) + 1
            ways = [*writes[:variadic], *[writes[variadic]] * more, *writes[variadic + 1 :]]
        return [way(item, form) for way, item in zip(ways, value, strict=True)]

    return write


def _of_map(write_key: _Write, write: _Write) -> _Write:
    def write_map(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, Mapping):
            return _written(value, form)
        return {_as_key(key, write_key(key, form)): write(one, form) for key, one in value.items()}

    return write_map


def _of_object(cls: type[Any], fields: list[_Field], extra: _Write) -> _Write:
    def write(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, cls):
            return _written(value, form)
        given: Any = value.model_fields_set if isinstance(value, BaseModel) else None
        written = {
            shown: way(one, form)
            for name, shown, way, is_sayable in fields
            if (given is None or name in given or (not form.is_sparse and is_sayable()))
            and (one := getattr(value, name, None)) is not _MISSING
        }
        more: Mapping[str, Any] = (value.model_extra if isinstance(value, BaseModel) else None) or {}
        return written | {name: extra(one, form) for name, one in more.items()}

    return write


def _of_typed_dict(fields: list[_Field], extra: _Write) -> _Write:
    ways = {name: (shown, way) for name, shown, way, _ in fields}

    def write(value: Any, form: ParameterForm) -> Any:
        if not isinstance(value, Mapping):
            return _written(value, form)
        written: JsonObject = {}
        for name, one in value.items():
            shown, way = ways.get(name, (name, extra))
            written[str(shown)] = way(one, form)
        return written

    return write


def _of_root(cls: type[Any], write: _Write) -> _Write:
    return lambda value, form: write(value.root, form) if isinstance(value, cls) else _written(value, form)


def _unless_secret(write: _Write) -> _Write:
    def write_unless_secret(value: Any, form: ParameterForm) -> Any:
        if callable(reveal := getattr(value, "get_secret_value", None)):
            return write(reveal(), form) if form.reveals else _for(value, _leaf(value), form)
        return write(value, form)

    return write_unless_secret


def _written(value: Any, form: ParameterForm) -> Any:  # noqa: PLR0911 - a line a type
    """A value by its own type, where no node says more of it."""
    if isinstance(value, Enum):
        return _of_choice(value, form)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, RootModel):
        return _written(value.root, form)
    if isinstance(value, BaseModel):
        names, extra = _fields_of_arguments(type(value))
        return _of_object(type(value), names, extra)(value, form)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        infos = getattr(value, "__pydantic_fields__", {})
        names_of = {
            one.name: shown_name(one.name, infos[one.name]) if one.name in infos else one.name
            for one in dataclasses.fields(value)
            if one.init
        }
        return {shown: _written(getattr(value, name, None), form) for name, shown in names_of.items()}
    if isinstance(value, Mapping):
        return {_as_key(key, _written(key, form)): _written(one, form) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return _items(value, _written, form)
    if form.reveals and callable(reveal := getattr(value, "get_secret_value", None)):
        return _written(reveal(), form)
    return _for(value, _leaf(value), form)


def _for(value: Any, written: Any, form: ParameterForm) -> Any:
    """What stands for a value that JSON has no form for, and the value beside it where that is asked for."""
    is_kept = form.keeps_values and isinstance(written, str) and not isinstance(value, str)
    return WrittenText(written, value) if is_kept else written


def _items(values: Iterable[Any], write: _Write, form: ParameterForm) -> list[Any]:
    """The items of an array. Those of a set come in an order of their own: that of hashes differs between processes."""
    items = [write(item, form) for item in values]
    if not isinstance(values, (set, frozenset)):
        return items
    return WrittenSet(_in_order(items)) if form.keeps_values else _in_order(items)


def _of_choice(value: Enum, form: ParameterForm) -> Any:
    try:
        return json_of_choice(value.value)
    except Exception:  # the value of a member may be anything
        return _written(value.value, form)


def _as_key(key: Any, written: Any) -> str:
    """A key as JSON writes it: its text, or the JSON of a choice that is no text."""
    if isinstance(written, str):
        return written
    return key_of(written) if isinstance(key, Enum) else str(next(iter(_leaf({key: None}))))


def _leaf(value: Any) -> Any:
    """A value of another type, as pydantic writes it."""
    if isinstance(value, PathLike):
        return fspath(value)
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

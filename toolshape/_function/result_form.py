"""Writes a function's return value as text for a model, and the schema of its type."""

import collections.abc
import inspect
import json
import typing
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, cast

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import (
    PydanticSerializationError,
    SchemaSerializer,
    to_json,
    to_jsonable_python,
)

from toolshape._function.core_schema.nodes import Node, rebuild
from toolshape._function.json_schema import generate
from toolshape._function.signature import Signature
from toolshape._records.calls import Finding, JsonSchema
from toolshape._records.mcp_results import is_mcp_content_type, is_mcp_result_type
from toolshape._records.parts import File, Image, Text
from toolshape._records.shown import as_sendable

_EMPTY = inspect.Signature.empty
_YIELDING = frozenset(
    {
        collections.abc.AsyncGenerator,
        collections.abc.AsyncIterable,
        collections.abc.AsyncIterator,
        collections.abc.Generator,
        collections.abc.Iterable,
        collections.abc.Iterator,
    }
)
_AWAITING = frozenset({collections.abc.Awaitable, collections.abc.Coroutine})


Write: TypeAlias = Callable[[Any], tuple[str, bool]]


class ResultForm(NamedTuple):
    """How a tool's results are written: the JSON Schema of the results, and a
    function that writes a value as text.

    ``schema`` is ``None`` if no schema describes the results. ``write`` returns the text, and
    whether the text is a plain string rather than JSON. A value whose JSON is a string (a date, an
    enum of strings) is written as that string without quotes. Any other value is written as compact
    JSON. NaN and infinities become ``null``; bytes that are not UTF-8 become base64. ``write``
    raises ``ValueError`` if JSON cannot express the value.
    """

    schema: JsonSchema | None
    write: "Write"
    findings: tuple[Finding, ...] = ()

    @property
    def says_text(self) -> bool:
        """Whether ``write`` returns a ``str`` unchanged."""
        return self.write is _write_untyped


def describe_result(signature: Signature) -> ResultForm:
    """Return the result form for a function's return annotation.

    If the annotation cannot be resolved or has no schema, each value is written according to its
    own type.
    """
    try:
        annotation = signature.returns()
    except Exception as error:  # subscripting a type may raise anything
        finding = Finding(
            path="",
            rule="unresolved_return",
            message=f"cannot resolve the return annotation: {error}",
        )
        return ResultForm(schema=None, write=_write_untyped, findings=(finding,))
    annotation = _value_type(annotation)
    never_returns = getattr(annotation, "_name", None) in ("Never", "NoReturn")
    if annotation is _EMPTY or annotation is Any or never_returns or _has_parts(annotation):
        return ResultForm(schema=None, write=_write_untyped)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        core = rebuild(adapter.core_schema, _drop_alias)
        is_unchanged = core is adapter.core_schema
        serializer = (
            adapter.serializer
            if is_unchanged
            else cast("Any", SchemaSerializer)(core, _use_prebuilt=False)
        )
    except Exception:  # the type has no schema, but its values may have a JSON form
        finding = Finding(
            path="", rule="unsendable_result", message=_UNSENDABLE.format(_name_of(annotation))
        )
        return ResultForm(
            schema=None,
            write=_write_untyped,
            findings=() if _holds_arrays(annotation) else (finding,),
        )
    try:
        schema, _ = generate(rebuild(core, _show_hidden), "serialization")
    except Exception:
        return ResultForm(schema=None, write=_typed_writer(serializer))
    if _may_be_parts(schema):
        return ResultForm(schema=None, write=_typed_writer(serializer))
    if signature.doc.returns:
        schema.setdefault("description", signature.doc.returns)
    findings = (
        (Finding(path="", rule="bytes_as_text", message=_BYTES),) if annotation is bytes else ()
    )
    write = _write_untyped if annotation is str else _typed_writer(serializer)
    return ResultForm(schema=schema, write=write, findings=findings)


def _show_hidden(node: Node, config: Node | None) -> Node:  # noqa: ARG001 - a change of a core schema
    """Return a node without ``SkipJsonSchema``: what it hides is no argument, but
    it is a value that is returned.
    """
    functions = node.get("metadata", {}).get(_SCHEMA_FUNCTIONS, ())
    kept = [each for each in functions if not isinstance(getattr(each, "__self__", None), _HIDES)]
    if len(kept) == len(functions):
        return node
    return {**node, "metadata": {**node["metadata"], _SCHEMA_FUNCTIONS: kept}}


_SCHEMA_FUNCTIONS = "pydantic_js_annotation_functions"
"""The key in a node's metadata under which pydantic 2.12 to 2.14 keeps what
annotations make of its JSON Schema.
"""
_HIDES = cast("type[Any]", SkipJsonSchema)
_UNSENDABLE = (
    "pydantic cannot write a result of type {} as JSON: return a dict, a str, or a type that "
    "pydantic knows"
)
_FINER_TIMES = ("[ns]", "[ps]", "[fs]", "[as]")
_WRITTEN_PACKAGES = ("numpy", "pandas")
_BYTES = (
    "bytes are sent as text, in base64 if they are not UTF-8: return Image or File to let the "
    "model see the content"
)


def _holds_arrays(annotation: Any) -> bool:
    """Whether a type is or contains a type of numpy or pandas, whose values ``_to_plain``
    converts.
    """
    package = getattr(annotation, "__module__", "").partition(".")[0]
    return package in _WRITTEN_PACKAGES or any(map(_holds_arrays, typing.get_args(annotation)))


def _name_of(annotation: Any) -> str:
    return str(getattr(annotation, "__name__", annotation))


def _drop_alias(node: Node, config: Node | None) -> Node:
    """Remove the alias of a field if its model sets ``serialize_by_alias=False``."""
    if (
        config is None
        or config.get("serialize_by_alias") is not False
        or "serialization_alias" not in node
    ):
        return node
    return {key: value for key, value in node.items() if key != "serialization_alias"}


def untyped_form() -> ResultForm:
    """Return the form for an unknown return type: no schema; each value is
    written according to its own type.
    """
    return ResultForm(schema=None, write=_write_untyped)


def _has_parts(annotation: Any) -> bool:
    """Whether a type contains parts (text, image, file) for the model; no
    result schema describes parts.
    """
    return (
        annotation in (Text, Image, File)
        or is_mcp_result_type(annotation)
        or (isinstance(annotation, type) and is_mcp_content_type(annotation))
        or any(map(_has_parts, typing.get_args(annotation)))
    )


def _may_be_parts(schema: JsonSchema) -> bool:
    """Whether a schema accepts any value as the result or as a list item: the
    function may then return images.

    A client that knows the output schema rejects a result made of parts, because this result has no
    structured content.
    """
    if not schema.keys() - {"title", "description"}:
        return True
    items = [schema["items"]] if "items" in schema else []
    items += schema.get("prefixItems", [])
    if schema.get("type") == "array" and (not items or any(not item for item in items)):
        return True
    return any(map(_may_be_parts, schema.get("anyOf", ())))


def _value_type(annotation: Any) -> Any:
    """Return the type of the final value: the value of an awaitable, or a
    list of the items of an iterator.
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _AWAITING:
        if arguments:
            return arguments[-1]
        return Any
    if origin not in _YIELDING:
        return annotation
    element: Any = arguments[0] if arguments else Any
    return list[element]


def _typed_writer(serializer: Any) -> Write:
    def write(value: Any) -> tuple[str, bool]:
        try:
            return _unquote(serializer.to_json(value, by_alias=True, warnings=False))
        except PydanticSerializationError as error:
            if _SURROGATE in str(error):
                return _write_untyped(
                    _sendable(serializer.to_python(value, by_alias=True, warnings=False))
                )
            # The value does not match the annotation, or its bytes are not UTF-8.
            return _write_untyped(value)

    return write


def _write_untyped(value: Any) -> tuple[str, bool]:
    if type(value) is str:
        return (value if value.isascii() else as_sendable(value)), True
    by_alias = _is_by_alias(value)
    try:
        return _unquote(to_json(value, inf_nan_mode="null", by_alias=by_alias, fallback=_to_plain))
    except PydanticSerializationError as error:
        if _SURROGATE in str(error):
            return _write_untyped(_sendable(value))
        # Otherwise the class's bytes mode would apply.
        dumped = value.model_dump() if isinstance(value, BaseModel) else value
        return _unquote(
            to_json(dumped, inf_nan_mode="null", bytes_mode="base64", fallback=_to_plain)
        )


_SURROGATE = "surrogates not allowed"  # what pydantic says of half a surrogate pair


def _sendable(node: Any) -> Any:
    """Return JSON data in which no text holds half a surrogate pair."""
    if isinstance(node, str):
        return as_sendable(node)
    if isinstance(node, dict):
        return {_sendable(key): _sendable(value) for key, value in node.items()}
    if isinstance(node, (list, tuple, set, frozenset)):
        return [_sendable(item) for item in node]
    if node is None or isinstance(node, (bool, int, float)):
        return node
    return _sendable(to_jsonable_python(node, by_alias=_is_by_alias(node), fallback=_to_plain))


def _to_plain(value: Any) -> Any:
    """Convert a value of numpy or pandas to plain Python: arrays to lists, frames to a
    list of rows, ``NA`` to ``None``.

    Raises:
        TypeError: The value comes from another package, and pydantic does not know its type.
    """
    kind = type(value)
    if kind.__module__.partition(".")[0] not in _WRITTEN_PACKAGES:
        raise TypeError(_UNSENDABLE.format(kind.__qualname__))
    if kind.__name__ == "NAType":
        return None
    if hasattr(value, "notna") and hasattr(value, "reset_index"):
        return _to_rows(value)
    # ``tolist`` would turn these times into integers.
    if str(getattr(value, "dtype", "")).endswith(_FINER_TIMES):
        value = value.astype(f"{value.dtype.kind}8[us]")
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def _to_rows(value: Any) -> Any:
    """Convert a frame or series of pandas to a list of rows or values;
    missing values become ``None``.

    An index with labels becomes columns, because the labels say what each row is about.

    Raises:
        TypeError: Two columns have the same name, so each row would lose the value of one column.
    """
    if type(value.index).__name__ != "RangeIndex":
        value = value.reset_index()
    value = value.astype(object).where(value.notna(), None)
    if not hasattr(value, "columns"):
        return value.tolist()
    if not value.columns.is_unique:
        raise TypeError("the frame has several columns with the same name: rename them")
    return value.to_dict("records")


def _is_by_alias(value: Any) -> bool:
    config = getattr(type(value), "model_config", None)
    return not isinstance(config, dict) or config.get("serialize_by_alias") is not False


def _unquote(text: bytes) -> tuple[str, bool]:
    if text[:1] == b'"':
        return (json.loads(text), True)
    return (text.decode(), False)

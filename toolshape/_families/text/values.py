"""Converts arguments that a format writes as strings to the types in the tool's schema."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from toolshape._families.text.calls import SaidText, read_python_literal
from toolshape._families.text.elements import ITEM, Elements, is_list
from toolshape._records.calls import JsonSchema
from toolshape._schema.references import Resolve, resolver
from toolshape._schema.values import WrittenObject, as_json, kind_of, object_of

_KINDS = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_TEXT_ALONE = frozenset({"string"})
_MOST_NESTED = 8  # how many nested unions and references to follow


def type_arguments(arguments: Any, schema: JsonSchema | None) -> Any:
    """Convert each string to a type that its parameter admits, by reading the string
    as JSON or as a Python literal.

    A parameter that admits only strings keeps its string, even if the string looks like a number.
    If a parameter admits strings and other types, a string becomes a value of another type if it
    can be read as one of these types. Without a schema, all strings stay strings.
    """
    if isinstance(arguments, Elements):
        if schema is None:
            return _convert_untyped_object(arguments)
        return _convert_object(arguments, schema, resolver(schema))
    if not isinstance(arguments, dict) or schema is None:
        return arguments
    properties = schema.get("properties")
    if isinstance(properties, dict):
        schemas_by_name: Mapping[str, Any] = properties
    else:
        schemas_by_name = {}
    other_schema = schema.get("additionalProperties", True)
    resolve = resolver(schema)

    def typed(key: str, value: Any) -> Any:
        if isinstance(value, str):
            return _convert_string(value, schemas_by_name.get(key, other_schema), resolve)
        return value

    if isinstance(arguments, WrittenObject):
        return WrittenObject([(key, typed(key, value)) for key, value in arguments.pairs])
    return {key: typed(key, value) for key, value in arguments.items()}


def unwrap(arguments: Any, schema: JsonSchema | None, wrappers: Collection[str]) -> Any:
    """Unwrap the arguments if the model put all of them into one
    parameter that the tool does not have.
    """
    if not wrappers or schema is None or not isinstance(arguments, dict) or len(arguments) != 1:
        return arguments
    ((name, content),) = arguments.items()
    if name not in wrappers or name in schema.get("properties", {}):
        return arguments
    if isinstance(content, str):
        unwrapped_content = as_json(content)
    else:
        unwrapped_content = content
    if isinstance(unwrapped_content, dict):
        return unwrapped_content
    return arguments


def _convert_untyped(value: Any) -> Any:
    """Convert the content of an element that has no schema; an empty
    element becomes an empty string.
    """
    if not isinstance(value, Elements):
        return value
    if not value:
        return ""
    if is_list(value):
        return [_convert_untyped(item) for _, item in value]
    return _convert_untyped_object(value)


def _convert_untyped_object(elements: Elements) -> dict[str, Any]:
    return object_of(
        [(name, _convert_untyped(item)) for name, item in _merge_repeated(elements, lambda _: True)]
    )


def _convert_object(elements: Elements, schema: JsonSchema, resolve: Resolve) -> dict[str, Any]:
    properties = schema.get("properties")
    if isinstance(properties, dict):
        schemas_by_name: Mapping[str, Any] = properties
    else:
        schemas_by_name = {}
    other_schema = schema.get("additionalProperties", True)

    def is_array(name: str) -> bool:
        return "array" in _admitted_kinds(schemas_by_name.get(name, other_schema), resolve, 0)[0]

    children = _merge_repeated(elements, is_array)
    return object_of(
        [
            (name, _convert_content(item, schemas_by_name.get(name, other_schema), resolve))
            for name, item in children
        ]
    )


def _merge_repeated(elements: Elements, is_array: Callable[[str], bool]) -> Elements:
    """If ``is_array`` is true for a name, merge all elements with this
    name into one element with items.
    """
    contents: dict[str, list[Any]] = {}
    for name, content in elements:
        contents.setdefault(name, []).append(content)
    if len(contents) == len(elements):
        return elements
    merged = {name for name, items in contents.items() if len(items) > 1 and is_array(name)}
    children = Elements()
    for name, content in elements:
        if name not in merged:
            children.append((name, content))
        elif name in contents:  # its first element
            children.append((name, Elements([(ITEM, item) for item in contents.pop(name)])))
    return children


def _convert_content(content: Any, node: Any, resolve: Resolve) -> Any:
    """Convert the content of an element to a value that its schema admits."""
    if not isinstance(content, Elements):
        return _convert_string(content, node, resolve)
    kinds, _ = _admitted_kinds(node, resolve, 0)
    if not content:
        return "" if "string" in kinds else _empty_of(kinds)
    if "array" in kinds and ("object" not in kinds or is_list(content)):
        items = _branch(node, "array", resolve, 0).get("items", True)
        return [_convert_content(item, items, resolve) for _, item in content]
    return _convert_object(content, _branch(node, "object", resolve, 0), resolve)


def _empty_of(kinds: Collection[str]) -> Any:
    if "array" in kinds:
        return []
    return {} if "object" in kinds else ""


def _branch(node: Any, kind: str, resolve: Resolve, depth: int) -> JsonSchema:
    """Return the first branch of a schema that admits a JSON type, or the
    schema itself if no branch does.
    """
    if isinstance(node, dict) and "$ref" in node:
        node = resolve(node)
    if not isinstance(node, dict) or depth > _MOST_NESTED:
        return {}
    for keyword in ("anyOf", "oneOf", "allOf"):
        for branch in node.get(keyword) or ():
            if kind in _admitted_kinds(branch, resolve, depth + 1)[0]:
                return _branch(branch, kind, resolve, depth + 1)
    return node


def _convert_string(text: str, node: Any, resolve: Resolve) -> Any:
    kinds, choices = _admitted_kinds(node, resolve, 0)
    is_declared_text, text = isinstance(text, SaidText), str(text)
    if kinds == _TEXT_ALONE or ("string" in kinds and (is_declared_text or text in choices)):
        return text
    stripped = text.strip()
    for read in _READERS:
        try:
            value = read(stripped)
        except ValueError:
            continue
        kind = kind_of(value)
        if kind != "string" and (kind in kinds or (kind == "integer" and "number" in kinds)):
            return value
        if kind == "number" and "integer" in kinds and float(value).is_integer():
            return value  # pydantic accepts 5.0 as an integer
    return text


def _read_json(text: str) -> Any:
    value = as_json(text)
    if isinstance(value, str):
        raise ValueError("not JSON, or a string")  # noqa: TRY004 - every reader raises ValueError
    return value


_READERS: tuple[Callable[[str], Any], ...] = (_read_json, read_python_literal)


def kinds_of(node: Any, resolve: Resolve) -> frozenset[str]:
    """Return the JSON types that a schema admits."""
    return _admitted_kinds(node, resolve, 0)[0]


def admits_texts_and_others(node: Any, resolve: Resolve) -> bool:
    """Return whether a parameter admits strings and other types: if it does, some
    strings are read as another type.
    """
    kinds, _ = _admitted_kinds(node, resolve, 0)
    return "string" in kinds and len(kinds) > 1


def _admitted_kinds(
    node: Any, resolve: Resolve, depth: int
) -> tuple[frozenset[str], frozenset[Any]]:
    """Return the JSON types that a schema admits, and the strings in its ``enum`` or ``const``."""
    # The first keyword that tells decides, the strongest first. Too many types only mean that a
    # text is left for the validation to judge, so ``allOf`` is asked for its first part alone.
    if isinstance(node, dict) and "$ref" in node:
        node = resolve(node)
    if not isinstance(node, dict) or depth > _MOST_NESTED:
        return _KINDS, frozenset()
    if isinstance(node.get("enum"), list):
        values = node["enum"]
    else:
        values = [node["const"]] if "const" in node else None
    if values is not None:
        texts = frozenset(value for value in values if isinstance(value, str))
        return frozenset(map(kind_of, values)), texts
    declared_kinds = node.get("type")
    if declared_kinds is not None:
        kinds = frozenset([declared_kinds] if isinstance(declared_kinds, str) else declared_kinds)
        return (kinds | {"null"} if node.get("nullable") is True else kinds), frozenset()
    for keyword in ("anyOf", "oneOf"):
        if isinstance(node.get(keyword), list):
            admitted_parts = [
                _admitted_kinds(branch, resolve, depth + 1) for branch in node[keyword]
            ]
            return frozenset().union(*(kinds for kinds, _ in admitted_parts)), frozenset().union(
                *(texts for _, texts in admitted_parts)
            )
    if isinstance(node.get("allOf"), list) and node["allOf"]:
        return _admitted_kinds(node["allOf"][0], resolve, depth + 1)
    return _KINDS, frozenset()

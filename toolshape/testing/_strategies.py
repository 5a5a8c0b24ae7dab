"""Builds a Hypothesis strategy for JSON values that a core schema may accept.

The values use every name of a field (its own name and its aliases), and may omit tags that have a
default. They also set fields with ``init=False``. Needs the extra ``testing``.
"""

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from toolshape._function.core_schema.enum_values import choices_of
from toolshape._function.core_schema.nodes import (
    MAPS,
    Definitions,
    Node,
    definitions_of,
    inner_node,
)

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(
        "toolshape.testing needs hypothesis and jsonschema: pip install 'toolshape[testing]'"
    ) from error


_DEEPEST = 5
_SAMPLES: Mapping[str, st.SearchStrategy[Any]] = {
    "str": st.sampled_from(["", "a", "abc", "5", "null", "1"]),
    "int": st.sampled_from([0, 1, 2, -1, 5, 2**53 + 1]),
    "float": st.sampled_from([0.5, 1.5, -2.25]),
    "decimal": st.sampled_from(["1.5", "0"]),
    "bool": st.booleans(),
    "none": st.none(),
    "bytes": st.just("ab"),
    "any": st.sampled_from([None, 1, "a", [1], {"a": None}]),
    "date": st.just("2026-01-02"),
    "datetime": st.just("2026-01-02T03:04:05Z"),
    "time": st.just("03:04:05"),
    "timedelta": st.just("PT1H"),
    "uuid": st.just("12345678-1234-5678-1234-567812345678"),
    "url": st.just("https://example.com/a"),
    "complex": st.just("1+2j"),
    "json": st.sampled_from(["[1]", '{"a": 1}', "1"]),
}


def values_for(core: Node) -> st.SearchStrategy[Any]:
    """Return a strategy for values that the validator of this core schema may accept.

    It rejects some of them.
    """
    return _Drawn(definitions_of(core)).of(core, 0)


class _Drawn:
    """Builds the strategies for the parts of one core schema."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.known: dict[str, st.SearchStrategy[Any]] = {}

    def of(self, node: Node, depth: int) -> st.SearchStrategy[Any]:
        kind = node["type"]
        if kind in _SAMPLES:
            return _SAMPLES[kind]
        if kind == "definition-ref":
            return self.referred(node["schema_ref"])
        if kind == "nullable":
            return st.none() | self.of(node["schema"], depth)
        if kind in ("literal", "enum"):
            return st.sampled_from(choices_of(node).values)
        ways: Mapping[str, Callable[[Node, int], st.SearchStrategy[Any]]] = {
            **dict.fromkeys(("list", "set", "frozenset", "deque", "generator"), self.items),
            **dict.fromkeys(MAPS, self.map),
            **dict.fromkeys(("model-fields", "dataclass-args", "typed-dict"), self.fields),
            "tuple": self.tuple,
            "named-tuple": self.named_tuple,
            "union": self.union,
            "tagged-union": self.tagged,
        }
        if kind in ways:
            return ways[kind](node, depth)
        inner = (
            node.get("schema")
            if kind in ("model", "dataclass", "call")
            else inner_node(node, self.definitions)
        )
        return _SAMPLES["any"] if inner is None else self.of(inner, depth)

    def referred(self, reference: str) -> st.SearchStrategy[Any]:
        if reference not in self.known:
            self.known[reference] = st.deferred(lambda: self.of(self.definitions[reference], 1))
        return self.known[reference]

    def items(self, node: Node, depth: int) -> st.SearchStrategy[Any]:
        if "items_schema" in node:
            inner = self.of(node["items_schema"], depth + 1)
        else:
            inner = _SAMPLES["any"]
        unique = node["type"] in ("set", "frozenset")
        size = 0 if depth > _DEEPEST else 2
        return st.lists(inner, max_size=size, unique_by=json.dumps if unique else None)

    def map(self, node: Node, depth: int) -> st.SearchStrategy[Any]:
        if "keys_schema" in node:
            keys = self.of(node["keys_schema"], depth + 1)
        else:
            keys = _SAMPLES["str"]
        text_keys = keys.map(lambda key: key if isinstance(key, str) else json.dumps(key))
        odd_keys = st.sampled_from(
            ["1_0", "+1", " 1", "1.0", "nan", "true", "True", "20261231", "2026-01-02"]
        )
        if "values_schema" in node:
            inner = self.of(node["values_schema"], depth + 1)
        else:
            inner = _SAMPLES["any"]
        return st.dictionaries(text_keys | odd_keys, inner, max_size=0 if depth > _DEEPEST else 2)

    def fields(self, node: Node, depth: int) -> st.SearchStrategy[Any]:
        field_schemas = node["fields"]
        if isinstance(field_schemas, Mapping):
            named_fields = list(field_schemas.items())
        else:
            named_fields = [(field["name"], field) for field in field_schemas]
        strategies = [self.field(name, field, depth) for name, field in named_fields]
        return st.tuples(*strategies).map(_merge)

    def field(self, name: str, field: Node, depth: int) -> st.SearchStrategy[Any]:
        """Return a strategy for objects with only this field, under one of its
        names, or ``{}`` if it is optional.
        """
        inner = self.of(field["schema"], depth + 1)
        alias = field.get("validation_alias", name)
        has_paths = isinstance(alias, list) and isinstance(alias[0], list)
        paths: list[Any] = alias if has_paths else [alias]
        all_paths = [[name], *([path] if isinstance(path, str) else path for path in paths)]
        is_left_out = (
            depth > _DEEPEST
            or field["schema"]["type"] == "default"
            or field.get("required") is False
        )
        named_value = st.one_of(
            [inner.map(functools.partial(_nest, tuple(path))) for path in all_paths]
        )
        if is_left_out:
            return st.just({}) | named_value
        return named_value

    def tuple(self, node: Node, depth: int) -> st.SearchStrategy[Any]:
        parts = [self.of(item, depth + 1) for item in node["items_schema"]]
        variadic_index = node.get("variadic_item_index")
        if variadic_index is None:
            return st.tuples(*parts).map(list)
        before, variadic_item, after = (
            parts[:variadic_index],
            parts[variadic_index],
            parts[variadic_index + 1 :],
        )
        return st.tuples(
            st.tuples(*before), st.lists(variadic_item, max_size=2), st.tuples(*after)
        ).map(lambda drawn: [*drawn[0], *drawn[1], *drawn[2]])

    def named_tuple(self, node: Node, depth: int) -> st.SearchStrategy[Any]:
        parts = [self.of(field["schema"], depth + 1) for field in node["fields"]]
        return st.integers(0, len(parts)).flatmap(
            lambda length: st.tuples(*parts[:length]).map(list)
        )

    def union(self, node: Node, depth: int) -> st.SearchStrategy[Any]:
        return st.one_of(
            [
                self.of(choice[0] if isinstance(choice, tuple) else choice, depth + 1)
                for choice in node["choices"]
            ]
        )

    def tagged(self, node: Node, depth: int) -> st.SearchStrategy[Any]:
        return st.one_of([self.of(choice, depth + 1) for choice in node["choices"].values()])


def _nest(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    for step in reversed(path):
        if isinstance(step, str):
            value = {step: value}
        else:
            value = [*[None] * step, value]
    if isinstance(value, dict):
        return value
    return {}


def _merge(parts: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for part in parts:
        merged.update(part)
    return merged

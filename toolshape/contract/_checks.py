"""Lists what a pydantic model checks beyond its JSON Schema, so that a lock can hold it.

A fact is JSON: one constraint of one place. The places are paths as in the schema: ``a.b``, ``[]``
for each item, ``{}`` for each value of a map.
"""

import functools
import hashlib
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from pydantic_core import SchemaValidator

from toolshape._function.core_schema.authors import FUNCTIONS, is_authors_function, is_of_version_1
from toolshape._function.core_schema.nodes import (
    Definitions,
    Node,
    definitions_of,
    steps_inside,
)
from toolshape._records.calls import Grammar, JsonObject
from toolshape._records.identity import canonical_json
from toolshape._validation.text_grammar import compile_grammar

Checks: TypeAlias = Mapping[str, tuple[JsonObject, ...]]
"""The facts of each place."""
_BOUNDS = ("ge", "gt", "le", "lt")
_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "date": (*_BOUNDS, "now_op"),
    "datetime": (*_BOUNDS, "now_op", "tz_constraint"),
    "time": (*_BOUNDS, "tz_constraint"),
    "timedelta": _BOUNDS,
    "decimal": (*_BOUNDS, "multiple_of", "max_digits", "decimal_places", "allow_inf_nan"),
    "url": ("allowed_schemes", "host_required", "max_length"),
    "multi-host-url": ("allowed_schemes", "host_required", "max_length"),
}
"""For each type, the constraints that its JSON Schema does not state, or
states for one of its forms only.
"""
_COERCED = frozenset(
    {"int", "float", "bool", "str", "bytes", "list", "tuple", "set", "frozenset", "date",
    "datetime", "time", "timedelta",
     "decimal", "uuid", "enum", "url", "dict", "model", "dataclass", "typed-dict", "lax-or-strict"}
)  # fmt: skip
"""The types whose values a strict field takes in one form only."""
_MOST_ENTERED = 8
"""How often a definition is entered: along many paths, the same classes would
be searched once for each path.
"""


def checks_of(schema: Any) -> Checks:
    """Return the facts of a model's core schema."""
    found: dict[str, dict[str, JsonObject]] = {}
    for path, fact in _Walk(definitions_of(schema)).of(schema, "", False, ()):
        found.setdefault(path, {})[canonical_json(fact)] = fact
    return {
        path: tuple(facts[text] for text in sorted(facts)) for path, facts in sorted(found.items())
    }


class _Walk:
    def __init__(self, definitions: Definitions) -> None:
        self._definitions = dict(definitions)
        self._entered: Counter[str] = Counter()

    def of(
        self, node: Any, path: str, is_strict: bool, around: tuple[str, ...]
    ) -> Iterator[tuple[str, JsonObject]]:
        """Yield the facts of a node and of what is inside.

        A definition is not entered inside itself, nor at more than a few places: a change of its
        facts shows there.
        """
        kind = node["type"]
        if kind == "definition-ref":
            name = node["schema_ref"]
            if name not in around and self._entered[name] < _MOST_ENTERED:
                self._entered[name] += 1
                yield from self.of(self._definitions[name], path, is_strict, (*around, name))
            return
        if node.get("ref"):
            around = (*around, node["ref"])
        if kind == "definitions":
            self._definitions.update(definitions_of(node))
        is_strict = bool(_config_of(node).get("strict", is_strict))
        for fact in _facts(node, is_strict):
            yield path, fact
        for step, inner in steps_inside(node):
            yield from self.of(inner, _join(path, step), is_strict, around)


def _config_of(node: Node) -> Mapping[str, Any]:
    config = node.get("config")
    if isinstance(config, Mapping):
        return config
    return {}


def _join(path: str, step: str) -> str:
    if path and step and step[0] not in "[{":
        return f"{path}.{step}"
    return f"{path}{step}"


def _facts(node: Node, is_strict: bool) -> Iterator[JsonObject]:
    kind: str = node["type"]
    if kind in _COERCED and node.get("strict", is_strict):
        yield {"type": kind, "strict": True}
    for key in _OF_TYPE.get(kind, ()):
        if node.get(key) is not None:
            yield {"type": kind, key: _as_json(node[key])}
    if kind in FUNCTIONS and is_authors_function(node):
        yield _validator_fact(kind, node["function"])
    for name in ("post_init", "custom_init"):
        if node.get(name):
            if name == "post_init":
                method = node[name]
            else:
                method = "__init__"
            yield {"validator": name, "digest": _digest(getattr(node["cls"], method, None))}


def _validator_fact(kind: str, function: Any) -> JsonObject:
    fact: JsonObject = {"validator": kind, "digest": _digest(function["function"])}
    if function["type"] == "with-info":
        fact["context"] = True  # what it decides may depend on the validation context
    return fact


def _digest(function: Any) -> str:
    """Return a digest of an author's function: of its source, or of its code
    where the source is not to be had.
    """
    return hashlib.sha256(" ".join(_texts_of(function)).encode()).hexdigest()[:16]


def _texts_of(function: Any) -> Iterator[str]:
    """Yield what decides an author's function; nothing in it differs from one process to the
    next.
    """
    if isinstance(function, functools.partial):
        yield from _texts_of(function.func)
        yield f"{function.args} {function.keywords}"
        return
    function = inspect.unwrap(getattr(function, "__func__", function))
    if is_of_version_1(function):  # pydantic's function holds the author's
        for cell in function.__closure__ or ():
            if callable(cell.cell_contents):
                yield from _texts_of(cell.cell_contents)
        return
    if not hasattr(function, "__code__"):  # an object that can be called
        function = type(function)
    try:
        yield inspect.cleandoc(inspect.getsource(function))
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        yield function.__qualname__ if code is None else f"{code.co_code.hex()} {code.co_names}"


def _as_json(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    return value


def is_code(fact: JsonObject) -> bool:
    """Whether only code can tell what a fact refuses: the author's, or
    an engine that is not installed.
    """
    return "validator" in fact and _grammar_check(fact) is None


def leaf_accepts(facts: Iterable[JsonObject]) -> Callable[[Any], bool]:
    """Compile the check of a single value by the facts of its place, as far as
    they are no code of the author's.
    """
    by_type: dict[str, JsonObject] = {}
    grammars: list[Callable[[str], bool]] = []
    for fact in facts:
        check = _grammar_check(fact)
        if check is not None:
            grammars.append(check)
        elif "type" in fact:
            limits = {key: value for key, value in fact.items() if key not in ("type", "strict")}
            by_type.setdefault(fact["type"], {}).update(limits)
    validators = [
        SchemaValidator(_leaf(kind, limits)) for kind, limits in by_type.items() if limits
    ]

    def accepts(value: Any) -> bool:
        if isinstance(value, str) and not all(fits(value) for fits in grammars):
            return False
        return not validators or any(_is_valid(validator, value) for validator in validators)

    return accepts


def _grammar_check(fact: JsonObject) -> Callable[[str], bool] | None:
    if fact.get("validator") != "grammar":
        return None
    return compile_grammar(Grammar(fact["syntax"], fact["definition"]))


def _leaf(kind: str, limits: JsonObject) -> Any:
    schema: Any = {"type": kind}
    parse = SchemaValidator(schema) if kind in _OF_TYPE else None
    return {
        "type": kind,
        **{
            key: parse.validate_python(value) if parse is not None and key in _BOUNDS else value
            for key, value in limits.items()
        },
    }


def _is_valid(validator: Any, value: Any) -> bool:
    try:
        validator.validate_python(value)
    except ValueError:
        return False
    return True

"""Decides which strings are valid keys of a map in JSON, based on the core schema of the keys.

Even in strict mode, pydantic-core accepts the keys ``"1_0"``, ``"+1"`` and ``"nan"``, and digits
for a date. This holds for its versions 2.46 and 2.50.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from toolshape._function.core_schema.enum_values import choices_of, lookup_of, written_key
from toolshape._function.core_schema.nodes import Definitions, Node, inner_node
from toolshape._records.calls import JsonSchema
from toolshape._schema.values import INTEGER_KEY

# No matching number overflows a float.
_NUMBER_KEY = r"^-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,99})?([eE][+-]?[0-9]{1,2})?$"
NUMERIC = r"\s*[+-]?[0-9_.]+([eE][+-]?[0-9]+)?\s*"
"""Matches text that pydantic reads as a number of seconds: since 1970, or in a duration."""
_DATES = frozenset({"date", "datetime", "time", "timedelta"})
_NEVER = frozenset(
    {
        "list",
        "tuple",
        "set",
        "frozenset",
        "dict",
        "model",
        "dataclass",
        "typed-dict",
        "named-tuple",
        "none",
    }
)

AdmitsKey: TypeAlias = Callable[[str], bool]


class KeyRule(NamedTuple):
    """The rule that decides which strings are valid keys of a map.

    ``schema`` is the rule as JSON Schema, and ``admits`` tests one key. ``read`` converts a key if
    pydantic itself cannot. ``converts`` is true if a key may be converted to a value other than its
    text. ``drops`` is true if a key that is not valid is left out with its value.
    """

    schema: JsonSchema | None = None
    admits: AdmitsKey | None = None
    read: Callable[[Any], Any] | None = None
    converts: bool = True
    drops: bool = False


_ANY = KeyRule(converts=False)
_NONE = KeyRule({"not": {}}, lambda _: False)


def key_rule(keys: Node | None, definitions: Definitions) -> KeyRule:
    """Return the rule for the keys of a map."""
    if keys is None:
        return _ANY
    kind = keys["type"]
    if keys.get("on_error", "raise") != "raise":
        return KeyRule(drops=True)  # a wrong key is left out, with its value
    if kind in ("literal", "enum"):
        return _rule_of_choices(keys)
    if kind == "union":
        return _rule_of_union(keys, definitions)
    if kind in _SIMPLE or kind in _NEVER:
        return _SIMPLE.get(kind, _NONE)
    inner = inner_node(keys, definitions)
    if inner is None:
        rule = KeyRule()
    else:
        rule = key_rule(inner, definitions)
    # A validator may return anything.
    return rule._replace(converts=rule.converts or kind.startswith("function-"))


def _rule_of_choices(node: Node) -> KeyRule:
    choices = choices_of(node)
    if choices.mask is not None:
        return KeyRule(
            {"pattern": INTEGER_KEY}, _compile_match(INTEGER_KEY), lookup_of(choices, {})
        )
    members_by_key = {
        written_key(value): member
        for value, member in zip(choices.values, choices.members, strict=True)
    }
    members_by_key |= {
        value: member
        for value, member in zip(choices.values, choices.members, strict=True)
        if type(value) is str
    }
    are_texts = choices.is_plain and all(isinstance(value, str) for value in choices.values)
    if are_texts:
        read = None
    else:
        read = lookup_of(choices, members_by_key)
    return KeyRule(
        {"enum": list(members_by_key)},
        members_by_key.__contains__,
        read,
        converts=node["type"] == "enum" or not are_texts,
    )


def _rule_of_union(node: Node, definitions: Definitions) -> KeyRule:
    branches = [choice[0] if isinstance(choice, tuple) else choice for choice in node["choices"]]
    rules = [key_rule(branch, definitions) for branch in branches]
    schemas = [rule.schema for rule in rules if rule.schema is not None]
    tests = [rule.admits for rule in rules if rule.admits is not None]
    converts = any(rule.converts for rule in rules)
    if len(tests) < len(rules):
        return KeyRule(converts=converts)
    return KeyRule(
        {"anyOf": schemas}, lambda key: any(test(key) for test in tests), converts=converts
    )


def _compile_match(pattern: str) -> AdmitsKey:
    matches = re.compile(pattern, re.ASCII).fullmatch
    return lambda key: matches(key) is not None


def _is_no_number(key: str) -> bool:
    return re.fullmatch(NUMERIC, key, re.ASCII) is None


_SIMPLE = {
    "str": _ANY,
    "any": _ANY,
    "int": KeyRule({"pattern": INTEGER_KEY}, _compile_match(INTEGER_KEY)),
    "bool": KeyRule({"enum": ["true", "false"]}, {"true", "false"}.__contains__),
    "float": KeyRule({"pattern": _NUMBER_KEY}, _compile_match(_NUMBER_KEY)),
    "decimal": KeyRule({"pattern": _NUMBER_KEY}, _compile_match(_NUMBER_KEY)),
    "date": KeyRule({"format": "date"}, _is_no_number),
    "datetime": KeyRule({"format": "date-time"}, _is_no_number),
    "time": KeyRule({"format": "time"}, _is_no_number),
    "timedelta": KeyRule({"format": "duration"}, _is_no_number),
}

"""Describes in words what the nodes of a schema accept, as a model reads it."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolshape._function.core_schema.tighten import NUMBER_TEXTS
from toolshape._records.calls import JsonSchema
from toolshape._records.errors import preview

_MOST_CHOICES = 12
_MOST_BRANCHES = 6
_LONGEST_PATTERN = 60
FORMAT_PHRASES: Mapping[str, str] = {
    "date": "date (YYYY-MM-DD)",
    "date-time": "date-time (ISO 8601)",
    "time": "time (ISO 8601)",
    "duration": "duration (ISO 8601)",
    "uuid": "UUID",
    "uri": "URL",
    "email": "e-mail address",
    "ipv4": "IPv4 address",
    "ipv6": "IPv6 address",
    "binary": "string",
    "password": "string",
    "path": "string",
}
"""What to say of a string's format."""
_NUMBER_TEXTS: Mapping[str, str] = {
    NUMBER_TEXTS["decimal"]: "decimal number",
    NUMBER_TEXTS["fraction"]: "fraction (1/3, 0.5)",
    NUMBER_TEXTS["complex"]: "complex number (1+2j)",
}
"""What to say instead of a pattern that no model can read."""
_DECIMAL = _NUMBER_TEXTS[NUMBER_TEXTS["decimal"]]


def expected_of(nodes: Sequence[JsonSchema]) -> str:
    """Describe what the nodes accept: ``integer >= 1``, ``one of "a", "b"``, ``array or null``."""
    phrases = list(
        dict.fromkeys(phrase for node in nodes if (phrase := _describe_node(node, len(nodes) > 1)))
    )
    if _DECIMAL in phrases:  # a number, or its text: that is one thing
        phrases = [phrase for phrase in phrases if not phrase.startswith("number")]
    if "null" in phrases:
        phrases = [*(phrase for phrase in phrases if phrase != "null"), "null"]
    ellipsis = ["..."] if len(phrases) > _MOST_BRANCHES else []
    return " or ".join([*phrases[:_MOST_BRANCHES], *ellipsis])


def _describe_node(node: JsonSchema, is_branch: bool) -> str:
    if "const" in node or "enum" in node:
        return _list_choices(node["enum"] if "enum" in node else [node["const"]])
    kinds = node.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if not kinds and "properties" in node:
        kinds = ["object"]
    return " or ".join(_describe_kind(str(kind), node, is_branch) for kind in kinds)


def _describe_kind(kind: str, node: JsonSchema, is_branch: bool) -> str:
    if kind == "string":
        return _describe_text(node)
    if kind in ("integer", "number"):
        bounds = [
            f"{sign} {_number(node[key])}"
            for key, sign in _BOUNDS.items()
            if _is_bound(node.get(key))
        ]
        if "multipleOf" in node:
            step = [f"a multiple of {_number(node['multipleOf'])}"]
        else:
            step = []
        return ", ".join(
            [" and ".join([f"{kind} {bounds[0]}", *bounds[1:]]) if bounds else kind, *step]
        )
    if kind == "array":
        return "array" + _describe_count(node.get("minItems"), node.get("maxItems"), "item")
    if kind == "object" and is_branch and node.get("required"):
        return f"object with {', '.join(map(str, node['required'][:4]))}"
    if kind == "object":
        return "object" + _describe_count(
            node.get("minProperties"), node.get("maxProperties"), "field"
        )
    return kind


_BOUNDS: Mapping[str, str] = {
    "minimum": ">=",
    "exclusiveMinimum": ">",
    "maximum": "<=",
    "exclusiveMaximum": "<",
}


def _is_bound(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: float) -> str:
    if value == int(value):
        return str(int(value))
    return str(value)


def _describe_text(node: JsonSchema) -> str:
    if "format" in node:
        return FORMAT_PHRASES.get(node["format"], f"string ({node['format']})")
    if node.get("pattern") in _NUMBER_TEXTS:
        return _NUMBER_TEXTS[node["pattern"]]
    phrase = "string" + _describe_count(node.get("minLength"), node.get("maxLength"), "character")
    pattern = node.get("pattern")
    if pattern is None:
        return phrase
    return f"{phrase} that matches {shortened(pattern)}"


def shortened(text: str) -> str:
    """Return the beginning of a text that the model need not read whole, such as a pattern."""
    if len(text) <= _LONGEST_PATTERN:
        return text
    return f"{text[:_LONGEST_PATTERN]}…"


def _describe_count(least: int | None, most: int | None, thing: str) -> str:
    if least and most is not None:
        if least != most:
            return f" of {least} to {most} {thing}s"
        return f" of {least} {thing}{'s' * (least != 1)}"
    if least:
        return f" of at least {least} {thing}{'s' * (least != 1)}"
    if most is not None:
        return f" of at most {most} {thing}{'s' * (most != 1)}"
    return ""


def _list_choices(choices: Sequence[Any]) -> str:
    texts = [preview(choice) for choice in choices]
    if len(texts) == 1:
        return texts[0]
    omitted_count = len(texts) - _MOST_CHOICES
    return f"one of {', '.join(texts[:_MOST_CHOICES])}" + (
        f" and {omitted_count} more" if omitted_count > 0 else ""
    )

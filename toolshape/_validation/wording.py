"""Describes in a few words what a schema expects: the "expected" in a line of feedback."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolshape._calls import JsonSchema
from toolshape._core_schema.tighten import NUMBER_TEXTS
from toolshape._errors import preview

_MOST_CHOICES = 12
_MOST_BRANCHES = 6
_LONGEST_PATTERN = 60
_FORMATS: Mapping[str, str] = {
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


def expected_of(nodes: Sequence[JsonSchema]) -> str:
    """Describe what the nodes accept: ``integer >= 1``, ``one of "a", "b"``, ``array or null``."""
    phrases = list(dict.fromkeys(phrase for node in nodes if (phrase := _phrase(node, len(nodes) > 1))))
    if _is_decimal(nodes):
        return "decimal number"
    if "null" in phrases:
        phrases = [*(phrase for phrase in phrases if phrase != "null"), "null"]
    more = ["..."] if len(phrases) > _MOST_BRANCHES else []
    return " or ".join([*phrases[:_MOST_BRANCHES], *more])


def _is_decimal(nodes: Sequence[JsonSchema]) -> bool:
    """Whether the nodes are the schema of a Decimal: a number, or a string that spells a number."""
    patterns = [node["pattern"] for node in nodes if node.get("type") == "string" and "pattern" in node]
    return any(node.get("type") == "number" for node in nodes) and any(
        pattern == NUMBER_TEXTS["decimal"] for pattern in patterns
    )


def _phrase(node: JsonSchema, is_branch: bool) -> str:
    if "const" in node or "enum" in node:
        return _listed(node["enum"] if "enum" in node else [node["const"]])
    kinds = node.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if not kinds and "properties" in node:
        kinds = ["object"]
    return " or ".join(_of_kind(str(kind), node, is_branch) for kind in kinds)


def _of_kind(kind: str, node: JsonSchema, is_branch: bool) -> str:
    if kind == "string":
        return _text(node)
    if kind in ("integer", "number"):
        bounds = [f"{sign} {_number(node[key])}" for key, sign in _BOUNDS.items() if _is_bound(node.get(key))]
        step = [f"a multiple of {_number(node['multipleOf'])}"] if "multipleOf" in node else []
        return ", ".join([" and ".join([f"{kind} {bounds[0]}", *bounds[1:]]) if bounds else kind, *step])
    if kind == "array":
        return "array" + _count(node.get("minItems"), node.get("maxItems"), "item")
    if kind == "object" and is_branch and node.get("required"):
        return f"object with {', '.join(map(str, node['required'][:4]))}"
    if kind == "object":
        return "object" + _count(node.get("minProperties"), node.get("maxProperties"), "field")
    return kind


_BOUNDS: Mapping[str, str] = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def _is_bound(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _text(node: JsonSchema) -> str:
    if "format" in node:
        return _FORMATS.get(node["format"], f"string ({node['format']})")
    phrase = "string" + _count(node.get("minLength"), node.get("maxLength"), "character")
    pattern = node.get("pattern")
    if pattern is None:
        return phrase
    return f"{phrase} that matches {pattern if len(pattern) <= _LONGEST_PATTERN else pattern[:_LONGEST_PATTERN] + '…'}"


def _count(least: int | None, most: int | None, thing: str) -> str:
    if least and most is not None:
        return f" of {least} to {most} {thing}s" if least != most else f" of {least} {thing}{'s' * (least != 1)}"
    if least:
        return f" of at least {least} {thing}{'s' * (least != 1)}"
    return f" of at most {most} {thing}{'s' * (most != 1)}" if most is not None else ""


def _listed(choices: Sequence[Any]) -> str:
    texts = [preview(choice) for choice in choices]
    if len(texts) == 1:
        return texts[0]
    more = len(texts) - _MOST_CHOICES
    return f"one of {', '.join(texts[:_MOST_CHOICES])}" + (f" and {more} more" if more > 0 else "")

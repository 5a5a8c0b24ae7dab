"""Writes the feedback on invalid arguments that the model reads: the path, the expected value, and the sent value.

The feedback has a limited length, and shows no secrets.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolshape._calls import JsonSchema
from toolshape._core_schema.tighten import NUMBER_TEXTS
from toolshape._errors import Problem, did_you_mean, preview
from toolshape._schema.values import kind_of
from toolshape._validation.faults import Fault, Location, path_of
from toolshape._validation.lookup import Secrets, nodes_at, property_names

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
    phrases = list(dict.fromkeys(phrase for node in nodes if (phrase := _describe_node(node, len(nodes) > 1))))
    if _is_decimal(nodes):
        return "decimal number"
    if "null" in phrases:
        phrases = [*(phrase for phrase in phrases if phrase != "null"), "null"]
    ellipsis = ["..."] if len(phrases) > _MOST_BRANCHES else []
    return " or ".join([*phrases[:_MOST_BRANCHES], *ellipsis])


def _is_decimal(nodes: Sequence[JsonSchema]) -> bool:
    """Return whether the nodes are the schema of a Decimal: a number, or a string with the pattern of a number."""
    patterns = [node["pattern"] for node in nodes if node.get("type") == "string" and "pattern" in node]
    return any(node.get("type") == "number" for node in nodes) and any(
        pattern == NUMBER_TEXTS["decimal"] for pattern in patterns
    )


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
        bounds = [f"{sign} {_number(node[key])}" for key, sign in _BOUNDS.items() if _is_bound(node.get(key))]
        step = [f"a multiple of {_number(node['multipleOf'])}"] if "multipleOf" in node else []
        return ", ".join([" and ".join([f"{kind} {bounds[0]}", *bounds[1:]]) if bounds else kind, *step])
    if kind == "array":
        return "array" + _describe_count(node.get("minItems"), node.get("maxItems"), "item")
    if kind == "object" and is_branch and node.get("required"):
        return f"object with {', '.join(map(str, node['required'][:4]))}"
    if kind == "object":
        return "object" + _describe_count(node.get("minProperties"), node.get("maxProperties"), "field")
    return kind


_BOUNDS: Mapping[str, str] = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def _is_bound(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _describe_text(node: JsonSchema) -> str:
    if "format" in node:
        return _FORMATS.get(node["format"], f"string ({node['format']})")
    phrase = "string" + _describe_count(node.get("minLength"), node.get("maxLength"), "character")
    pattern = node.get("pattern")
    if pattern is None:
        return phrase
    return f"{phrase} that matches {pattern if len(pattern) <= _LONGEST_PATTERN else pattern[:_LONGEST_PATTERN] + '…'}"


def _describe_count(least: int | None, most: int | None, thing: str) -> str:
    if least and most is not None:
        return f" of {least} to {most} {thing}s" if least != most else f" of {least} {thing}{'s' * (least != 1)}"
    if least:
        return f" of at least {least} {thing}{'s' * (least != 1)}"
    return f" of at most {most} {thing}{'s' * (most != 1)}" if most is not None else ""


def _list_choices(choices: Sequence[Any]) -> str:
    texts = [preview(choice) for choice in choices]
    if len(texts) == 1:
        return texts[0]
    omitted_count = len(texts) - _MOST_CHOICES
    return f"one of {', '.join(texts[:_MOST_CHOICES])}" + (f" and {omitted_count} more" if omitted_count > 0 else "")


_MOST_HINTS = 10
_MOST_TOLD = 100
_LONGEST_MESSAGE = 200
_INEXACT_KEYS = "each key must be written as JSON writes its value (7, true), and no two keys may mean the same value"


def problems_of(faults: Sequence[Fault], schema: JsonSchema) -> list[Problem]:
    """Convert faults to problems: one problem for each place, in the order of the schema's fields.

    In each object, unknown fields come after known fields.

    Args:
        faults: The faults that a validator found. Of several faults at one place, only the first is reported.
        schema: The canonical schema of the arguments.

    Returns:
        The first hundred problems. If there are more, one further problem states how many are left out.
    """
    secrets = Secrets(schema)
    places: dict[Location, Fault] = {}
    for fault in faults:
        visible_location = secrets.visible(fault.location)
        if visible_location != fault.location:  # the fault is inside a secret
            fault = Fault(fault.at, visible_location, None, "refused", "the value is rejected")  # noqa: PLW2901 - hides it
        places.setdefault(visible_location, fault)
    order = _Order(schema)
    ordered_faults = sorted(places.values(), key=order.position)
    hinted_faults = [fault for fault in ordered_faults if fault.rule == "unknown"][:_MOST_HINTS]
    problems = [
        _problem(fault, schema, secrets, has_hint=fault in hinted_faults) for fault in ordered_faults[:_MOST_TOLD]
    ]
    omitted_count = len(ordered_faults) - len(problems)
    return (
        [*problems, Problem(path="", rule="more", got=str(omitted_count), message=f"and {omitted_count} more")]
        if omitted_count
        else problems
    )


class _Order:
    """Sorts places by the order of the fields in a schema."""

    def __init__(self, schema: JsonSchema) -> None:
        self.schema = schema
        self.places: dict[Location, dict[str, int]] = {}

    def position(self, fault: Fault) -> list[int]:
        positions: list[int] = []
        for depth, step in enumerate(fault.location):
            parent = fault.location[:depth]
            if isinstance(step, int):
                positions.append(step)
                continue
            if parent not in self.places:
                names = property_names(nodes_at(self.schema, parent))
                self.places[parent] = {name: place for place, name in enumerate(names)}
            place_by_name = self.places[parent]
            positions.append(place_by_name.get(step, len(place_by_name)))
        return positions


def _problem(fault: Fault, schema: JsonSchema, secrets: Secrets, *, has_hint: bool) -> Problem:
    path = path_of(fault.location)
    if fault.rule == "missing":
        return Problem(path=path, rule="missing", message="required, but missing")
    if fault.rule == "unknown":
        hint = _meant_name(fault, schema) if has_hint else ""
        return Problem(path=path, rule="extra_forbidden", message="unknown field", hint=hint)
    nodes, is_secret = nodes_at(schema, fault.location), secrets.may_be_at(fault.location)
    if fault.message:
        message = "the value is rejected" if is_secret else fault.message
        return Problem(path=path, rule=fault.rule, message=message[:_LONGEST_MESSAGE])
    if fault.rule == "inexact" and isinstance(fault.found, dict):
        return Problem(path=path, rule="inexact_keys", message=_INEXACT_KEYS)
    names_secret = is_secret and any(node.keys() & {"const", "enum"} for node in nodes)
    expected = "decimal number" if fault.rule.startswith("decimal_") else "" if names_secret else expected_of(nodes)
    if not expected:
        message = "the value is rejected" if names_secret else fault.otherwise or f"violates {fault.rule}"
        return Problem(path=path, rule=fault.rule, message=message[:_LONGEST_MESSAGE])
    got = f"{kind_of(fault.found)} (not shown)" if is_secret else preview(fault.found)
    return Problem(path=path, rule=fault.rule, expected=expected, got=got)


def _meant_name(fault: Fault, schema: JsonSchema) -> str:
    name = str(fault.location[-1])
    return did_you_mean(
        name, [other for other in property_names(nodes_at(schema, fault.location[:-1])) if other != name]
    )


def faults_of_meant_branch(branches: Iterable[Sequence[Fault]], place: Location) -> Sequence[Fault] | None:
    """Return the faults of the union branch that was probably meant, or ``None`` if that is unclear.

    Only branches that match the value's type and tag are considered. The branch with the fewest faults was probably
    meant. If two branches both have the fewest faults, it is unclear which branch was meant.

    Args:
        branches: The faults of each branch.
        place: The location of the union.
    """
    candidates = [faults for faults in branches if not any(_is_of_another_kind(fault, place) for fault in faults)]
    candidates.sort(key=len)
    if not candidates or (len(candidates) > 1 and len(candidates[0]) == len(candidates[1])):
        return None
    return candidates[0]


def _is_of_another_kind(fault: Fault, place: Location) -> bool:
    """Return whether a fault rules out its branch, because the value has a different type or tag."""
    if fault.location == place:
        return not fault.message
    return len(fault.location) == len(place) + 1 and fault.rule in ("literal_error", "const")


# --- the model's own JSON, with comments --------------------------------------------------------------------------

_MOST_FAULTS = 10
_NEIGHBOURS = 2
_MOST_LINES = 80
_LONGEST_TEXT = 4_000


def annotate(value: Any, problems: Sequence[Problem], schema: JsonSchema) -> str:
    """Return the arguments as JSON text with a comment at each fault; omit secrets, and long parts without faults.

    Args:
        value: The parsed arguments.
        problems: The problems with the arguments.
        schema: The canonical schema of the arguments.

    Returns:
        The text, or an empty string if the text would be too long.
    """
    comments = {problem.path: str(problem).removeprefix(f"{problem.path}: ") for problem in problems[:_MOST_FAULTS]}
    omitted_count = sum(int(problem.got) if problem.rule == "more" else 1 for problem in problems[_MOST_FAULTS:])
    lines = list(itertools.islice(_lines(value, (), comments, Secrets(schema), ""), _MOST_LINES + 1))
    text = "\n".join([*lines, *([f"// and {omitted_count} more"] if omitted_count else [])])
    return text if len(lines) <= _MOST_LINES and len(text) <= _LONGEST_TEXT else ""


def _lines(value: Any, at: Location, comments: Mapping[str, str], secrets: Secrets, comma: str) -> Iterator[str]:
    indent, path = "  " * len(at), path_of(at)
    label = f"{preview(at[-1])}: " if at and isinstance(at[-1], str) else ""
    comment = f"  // {comments[path]}" if path in comments else ""
    inner_places = [
        place for place in comments if place != path and (not path or place.startswith((f"{path}.", f"{path}[")))
    ]
    if inner_places and not isinstance(value, (dict, list)):  # the value is a string that contains JSON text
        comment = "  // " + "; ".join(f"{place[len(path) :].lstrip('.')}: {comments[place]}" for place in inner_places)
    if not isinstance(value, (dict, list)) or not inner_places:
        text = f"<{kind_of(value)}, not shown>" if secrets.may_be_at(at) else preview(value)
        yield f"{indent}{label}{text}{comma}{comment}"
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield f"{indent}{label}{opening}{comment}"
    items: list[tuple[Any, Any]] = list(value.items() if isinstance(value, dict) else enumerate(value))
    paths = [path_of((*at, step)) for step, _ in items]
    for index, count in _shown_items(paths, inner_places):
        if count:
            yield f"{indent}  // ... {count} more"
        else:
            step, item = items[index]
            yield from _lines(item, (*at, step), comments, secrets, "," if index < len(items) - 1 else "")
    absent_places = [place for place in inner_places if not any(_contains_place(path, place) for path in paths)]
    for place in absent_places:
        yield f"{indent}  // {place[len(path) :].lstrip('.')}: {comments[place]}"
    yield f"{indent}{closing}{comma}"


def _contains_place(path: str, place: str) -> bool:
    return place == path or place.startswith((f"{path}.", f"{path}["))


def _shown_items(paths: Sequence[str], faults: Sequence[str]) -> Iterable[tuple[int, int]]:
    """Yield ``(index, 0)`` for each item at or near a fault, and ``(index, count)`` for ``count`` omitted items."""
    faulty_indices = {
        index for index, path in enumerate(paths) if any(_contains_place(path, fault) for fault in faults)
    }
    near_indices = {index + step for index in faulty_indices for step in range(-_NEIGHBOURS, _NEIGHBOURS + 1)} | set(
        range(_NEIGHBOURS)
    )
    omitted_count = 0
    for index in range(len(paths)):
        if index in near_indices:
            if omitted_count:
                yield index, omitted_count
            omitted_count = 0
            yield index, 0
        else:
            omitted_count += 1
    if omitted_count:
        yield len(paths), omitted_count

"""Writes the feedback on invalid arguments that the model reads: place, expected, sent.

The feedback has a limited length, and shows no secrets.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolshape._records.calls import JsonSchema
from toolshape._records.errors import Problem, did_you_mean, preview
from toolshape._schema.places import NO_VALUE, Location, nodes_at, property_names
from toolshape._schema.references import Resolve, resolver
from toolshape._schema.secrets import MASKED, Secrets
from toolshape._schema.union_branches import fits
from toolshape._schema.values import kind_of
from toolshape._validation.faults import Fault, path_of
from toolshape._validation.phrases import expected_of

_MOST_HINTS = 10
_MOST_TOLD = 100
_LONGEST_MESSAGE = 200
_INEXACT_KEYS = (
    "each key must be written as JSON writes its value (7, true), and no two keys may mean the "
    "same value"
)


def problems_of(
    faults: Sequence[Fault], schema: JsonSchema, value: Any = NO_VALUE
) -> list[Problem]:
    """Convert faults to problems: one problem for each place, in the order of the schema's fields.

    In each object, unknown fields come after known fields.

    Args:
        faults: The faults that a validator found. Of several faults at one place, only the first is
            reported.
        schema: The canonical schema of the arguments.
        value: The arguments, if they are known: what is expected is then said of the branch that
            their tags name.

    Returns:
        The first hundred problems. If there are more, one further problem states how many are left
        out.
    """
    secrets = Secrets(schema)
    places: dict[Location, Fault] = {}
    for fault in faults:
        visible_location = secrets.visible(fault.location)
        if visible_location != fault.location:  # the fault is inside a secret
            fault = Fault(fault.at, visible_location, None, "refused", _REJECTED)  # noqa: PLW2901 - hides it
        places.setdefault(visible_location, fault)
    order = _Order(schema)
    ordered_faults = sorted(places.values(), key=order.position)
    hinted_faults = [fault for fault in ordered_faults if fault.rule == "unknown"][:_MOST_HINTS]
    problems = [
        _problem(fault, schema, value, secrets, has_hint=fault in hinted_faults)
        for fault in ordered_faults[:_MOST_TOLD]
    ]
    omitted_count = len(ordered_faults) - len(problems)
    if omitted_count:
        return [
            *problems,
            Problem(
                path="", rule="more", got=str(omitted_count), message=f"and {omitted_count} more"
            ),
        ]
    return problems


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


def _problem(
    fault: Fault, schema: JsonSchema, value: Any, secrets: Secrets, *, has_hint: bool
) -> Problem:
    # The first words that are known are told: those for fields, the author's or the validator's
    # own, and only then what was expected, which is never told of a secret that has choices.
    path = path_of(fault.location)
    if fault.rule == "missing":
        return Problem(path=path, rule="missing", message="required, but missing")
    if fault.rule == "unknown":
        hint = _meant_name(fault, schema) if has_hint else ""
        return Problem(path=path, rule="extra_forbidden", message="unknown field", hint=hint)
    nodes = nodes_at(schema, fault.location, value)
    is_secret = not secrets.shows(fault.found, fault.location)
    if fault.message:
        message = _REJECTED if is_secret else fault.message
        return Problem(path=path, rule=fault.rule, message=message[:_LONGEST_MESSAGE])
    if fault.rule == "inexact" and isinstance(fault.found, dict):
        return Problem(path=path, rule="inexact_keys", message=_INEXACT_KEYS)
    lists = fault.violation is not None and bool(fault.violation.choices)
    lists = lists or any(node.keys() & {"const", "enum"} for node in nodes)
    if is_secret and lists:
        expected = ""
    else:
        expected = _expectation(fault, nodes, schema)
    if message := _words(fault, expected, _REJECTED if is_secret and lists else ""):
        return Problem(path=path, rule=fault.rule, message=message[:_LONGEST_MESSAGE])
    if is_secret:
        got = f"{kind_of(fault.found)} (not shown)"
    else:
        got = preview(fault.found)
    return Problem(path=path, rule=fault.rule, expected=expected, got=got)


_REJECTED = "the value is rejected"


def _words(fault: Fault, expected: str, hidden: str) -> str:
    """Return what to say where no expectation can be told: it is a
    secret, or unknown, or it was given.
    """
    kind = kind_of(fault.found)
    if fault.violation is None and kind in expected.split(" or "):
        return f"this {kind} fits none of the forms that are allowed here"
    return hidden or ("" if expected else fault.otherwise or f"violates {fault.rule}")


def _expectation(fault: Fault, nodes: Sequence[JsonSchema], schema: JsonSchema) -> str:
    """Say what was expected at a place: by the validator's error, with what the
    schema says of that kind of value.
    """
    # ``nodes`` are those of every branch that may stand at the place. For choices and limits, one
    # that admits the value is not why it was refused: to name it would tell the model to send what
    # it sent.
    violation = fault.violation
    if violation is None:
        return expected_of(nodes)
    if violation.kind:
        of_kind = [node for node in nodes if _is_of(node, violation.kind)]
        return expected_of(of_kind) or violation.kind
    resolve = resolver(schema)
    if violation.choices:
        listed = [
            node
            for node in nodes
            if node.keys() & {"const", "enum"} and _refuses(node, fault.found, resolve)
        ]
        return expected_of(listed) or violation.choices
    kind = kind_of(fault.found)
    of_sent_kind = [  # of several types, only the one that was sent is named
        {**node, "type": kind} if isinstance(node.get("type"), list) else node
        for node in nodes
        if _may_hold(node, kind) and node.get("type") != "null"
    ]
    said = expected_of([node for node in of_sent_kind if _refuses(node, fault.found, resolve)])
    if not said:  # none refuses it alone: all that are no choices
        said = expected_of([node for node in of_sent_kind if not node.keys() & {"const", "enum"}])
    if said and _is_said(violation.limit, said):
        return said
    is_list = said.startswith("one of ") or " or " in said
    if violation.limit.startswith("a multiple"):
        joint = ", "
    else:
        joint = " "
    return f"{kind if is_list or not said else said}{joint}{violation.limit}"


def _is_said(limit: str, said: str) -> bool:
    """Return whether a description names a limit already, perhaps in a range: ``of 2 to 3
    items``.
    """
    counts = [word for word in limit.split() if word.isdigit()]
    # With blanks, there are enough.
    is_count = limit.startswith("of at ") and " without " not in limit
    return limit in said or (is_count and bool(counts) and counts[0] in said.split())


def _refuses(node: JsonSchema, value: Any, resolve: Resolve) -> bool:
    try:
        return not fits(value, node, resolve)
    except OverflowError:  # an integer that no float can hold
        return True


_NUMBERS = frozenset({"integer", "number"})


def _may_hold(node: JsonSchema, kind: str) -> bool:
    """Return whether a node is about values of the kind that was given; a
    number may be one of either kind.
    """
    return _is_of(node, kind) or (kind in _NUMBERS and any(_is_of(node, each) for each in _NUMBERS))


def _is_of(node: JsonSchema, kind: str) -> bool:
    """Return whether a node is about a kind of value: a JSON type, or the words for a form."""
    kinds = node.get("type", ())
    named = {kinds} if isinstance(kinds, str) else set(kinds)
    return bool(named & {kind, "null"}) or kind in expected_of([node])


def _meant_name(fault: Fault, schema: JsonSchema) -> str:
    name = str(fault.location[-1])
    return did_you_mean(
        name,
        [other for other in property_names(nodes_at(schema, fault.location[:-1])) if other != name],
    )


def faults_of_meant_branch(
    branches: Iterable[Sequence[Fault]], place: Location
) -> Sequence[Fault] | None:
    """Return the faults of the union branch that was probably meant,
    or ``None`` if that is unclear.

    Only branches that match the value's type and tag are considered. The branch with the fewest
    faults was probably meant. If two branches both have the fewest faults, it is unclear which
    branch was meant.

    Args:
        branches: The faults of each branch.
        place: The location of the union.
    """
    candidates = [
        faults
        for faults in branches
        if not any(_is_of_another_kind(fault, place) for fault in faults)
    ]
    candidates.sort(key=len)
    if not candidates or (len(candidates) > 1 and len(candidates[0]) == len(candidates[1])):
        return None
    return candidates[0]


def _is_of_another_kind(fault: Fault, place: Location) -> bool:
    """Return whether a fault rules out its branch, because the value has a different type or
    tag.
    """
    if fault.location == place:
        breaks_limit = fault.violation is not None and bool(fault.violation.limit)
        return not (fault.message or breaks_limit)
    return len(fault.location) == len(place) + 1 and fault.rule in ("literal_error", "const")


# --- the model's own JSON, with comments --------------------------------------------------------

_MOST_FAULTS = 10
_NEIGHBOURS = 2
_MOST_LINES = 80
_LONGEST_TEXT = 4_000


def annotate(value: Any, problems: Sequence[Problem], schema: JsonSchema) -> str:
    """Return the arguments as JSON text with a comment at each fault; omit secrets,
    and long parts without faults.

    Args:
        value: The parsed arguments.
        problems: The problems with the arguments.
        schema: The canonical schema of the arguments.

    Returns:
        The text, or an empty string if the text would be too long.
    """
    comments = {
        problem.path: str(problem).removeprefix(f"{problem.path}: ")
        for problem in problems[:_MOST_FAULTS]
    }
    omitted_count = sum(
        int(problem.got) if problem.rule == "more" else 1 for problem in problems[_MOST_FAULTS:]
    )
    lines = list(
        itertools.islice(_lines(value, (), comments, Secrets(schema), ""), _MOST_LINES + 1)
    )
    text = "\n".join([*lines, *([f"// and {omitted_count} more"] if omitted_count else [])])
    if len(lines) <= _MOST_LINES and len(text) <= _LONGEST_TEXT:
        return text
    return ""


def _lines(
    value: Any, at: Location, comments: Mapping[str, str], secrets: Secrets, comma: str
) -> Iterator[str]:
    # A value without a comment inside is one line. Around a comment stand the fields or items that
    # lead to it; ``_shown_items`` says which of the others are only counted.
    indent, path = "  " * len(at), path_of(at)
    label = f"{preview(at[-1])}: " if at and isinstance(at[-1], str) else ""
    if label and secrets.hides_keys(at[:-1]):
        label = f"{MASKED}: "
    comment = f"  // {comments[path]}" if path in comments else ""
    inner_places = [
        place
        for place in comments
        if place != path and (not path or place.startswith((f"{path}.", f"{path}[")))
    ]
    # The value is a string that contains JSON text.
    if inner_places and not isinstance(value, (dict, list)):
        told = [comments[path]] if path in comments else []
        told += [f"{place[len(path) :].lstrip('.')}: {comments[place]}" for place in inner_places]
        comment = f"  // {'; '.join(told)}"
    if not isinstance(value, (dict, list)) or not inner_places:
        text = f"<{kind_of(value)}, not shown>" if not secrets.shows(value, at) else preview(value)
        yield f"{indent}{label}{text}{comma}{comment}"
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield f"{indent}{label}{opening}{comment}"
    items: list[tuple[Any, Any]] = list(
        value.items() if isinstance(value, dict) else enumerate(value)
    )
    paths = [path_of((*at, step)) for step, _ in items]
    for index, omitted_count in _shown_items(paths, inner_places):
        if omitted_count:
            yield f"{indent}  // ... {omitted_count} more"
        else:
            step, item = items[index]
            yield from _lines(
                item, (*at, step), comments, secrets, "," if index < len(items) - 1 else ""
            )
    absent_places = [
        place for place in inner_places if not any(_contains_place(item, place) for item in paths)
    ]
    for place in absent_places:
        yield f"{indent}  // {place[len(path) :].lstrip('.')}: {comments[place]}"
    yield f"{indent}{closing}{comma}"


def _contains_place(path: str, place: str) -> bool:
    return place == path or place.startswith((f"{path}.", f"{path}["))


def _shown_items(paths: Sequence[str], faults: Sequence[str]) -> Iterable[tuple[int, int]]:
    """Yield ``(index, 0)`` for each item at or near a fault, and
    ``(index, count)`` for ``count`` omitted items.
    """
    faulty_indices = {
        index
        for index, path in enumerate(paths)
        if any(_contains_place(path, fault) for fault in faults)
    }
    near_indices = {
        index + step for index in faulty_indices for step in range(-_NEIGHBOURS, _NEIGHBOURS + 1)
    } | set(range(_NEIGHBOURS))
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

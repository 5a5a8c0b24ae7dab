"""What of a call may stand in a trace: its arguments without secrets and redacted places, or no more than their length."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolshape._calls import JsonObject, JsonSchema
from toolshape._errors import UsageError, did_you_mean
from toolshape._schema.values import WrittenSet
from toolshape._schema.write_only import is_secret
from toolshape._tool import Tool, record_of
from toolshape._validation.lookup import MASKED, Secrets, is_scalar, location_of, nodes_at, property_names

Place: TypeAlias = tuple[str | int, ...]
Pattern: TypeAlias = tuple[str, tuple[str, ...]]
"""The name of a tool, or ``*``, and the fields that lead to a place in its arguments; items of lists are passed over."""


def split_patterns(given: Iterable[str]) -> tuple[Pattern, ...]:
    """Redacted places, each written ``tool.field.field``; ``*`` is any tool, or any field.

    Raises:
        UsageError: One names no place in the arguments of a tool.
    """
    found: list[Pattern] = []
    for one in given:
        tool, dot, path = str(one).partition(".")
        if not (tool and dot and all(path.split("."))):
            raise UsageError(f"redact= takes tool.field, tool.field.field or *.field, not {one!r}")
        found.append((tool, tuple(path.removesuffix("[]").replace("[].", ".").split("."))))
    return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hidden:
    """The places in the arguments of one tool that may not be shown.

    ``fields`` are the redacted ones; ``secrets`` finds those that the schema marks.
    """

    secrets: Secrets
    fields: tuple[tuple[str, ...], ...]

    @property
    def is_needed(self) -> bool:
        """Whether there are such places."""
        return self.secrets.are_there or bool(self.fields)

    def hides(self, place: Place) -> bool:
        """Whether a scalar at this place is hidden: marked, redacted, or where the schema knows of no scalar."""
        if not self.is_needed:
            return False
        nodes = nodes_at(self.secrets.schema, place)
        return self._is_redacted(place) or not nodes or not all(map(is_scalar, nodes)) or self.secrets.may_be_at(place)

    def covers(self, place: Place) -> bool:
        """Whether all that stands at a place is hidden, names of fields too."""
        if not self.is_needed:
            return False
        return self._is_redacted(place) or any(map(is_secret, nodes_at(self.secrets.schema, place)))

    def _is_redacted(self, place: Place) -> bool:
        names = [step for step in place if isinstance(step, str)]
        return any(_leads_to(fields, names) for fields in self.fields)

    def hides_path(self, path: str) -> bool:
        """Whether what stands at a path, as a problem names it, is hidden."""
        return self.hides(location_of(path))

    def knows(self, place: Place) -> bool:
        """Whether the schema says something of a place."""
        return bool(nodes_at(self.secrets.schema, place))


def _leads_to(fields: Sequence[str], names: Sequence[str]) -> bool:
    return len(fields) <= len(names) and all(
        one in ("*", other) for one, other in zip(fields, names[: len(fields)], strict=True)
    )


def hidden_of(tool: Tool[..., Any], patterns: Iterable[Pattern]) -> Hidden:
    """The hidden places of a tool.

    Raises:
        UsageError: A pattern names this tool, and a field that it does not have.
    """
    secrets = record_of(tool).secrets
    schema = secrets.schema
    own = [(name, fields) for name, fields in patterns if name in ("*", tool.name)]
    for name, fields in own:
        missing = _missing(schema, fields)
        if name != "*" and missing:
            hint = did_you_mean(missing, property_names(nodes_at(schema, ())))
            message = f"redact= names {name}.{'.'.join(fields)}, and {name} has no field {missing!r}"
            raise UsageError(f"{message}{f' ({hint})' if hint else ''}")
    there = tuple(fields for _, fields in own if not _missing(schema, fields))
    return Hidden(secrets=secrets, fields=there)


def _missing(schema: JsonSchema, fields: Sequence[str]) -> str:
    """The first field that the schema does not have on the way to a place; ``""`` where it has them all."""
    places: list[Place] = [()]
    for name in fields:
        places = [(*place, 0) if _is_list(schema, place) else place for place in places]
        if name == "*":  # fields that have a name, and those of a map
            places = [(*place, one) for place in places for one in ("*", *property_names(nodes_at(schema, place)))]
        else:
            places = [(*place, name) for place in places]
        places = [place for place in places if nodes_at(schema, place)]
        if not places:
            return name
    return ""


def _is_list(schema: JsonSchema, place: Place) -> bool:
    return any("items" in node or "prefixItems" in node for node in nodes_at(schema, place))


def kept(arguments: JsonObject, hidden: Hidden) -> JsonObject:
    """Canonical arguments with a value of the same kind and length in each hidden place.

    A key that the schema does not know may be a value in the wrong place, and is numbered instead.
    """
    numbers = iter(range(1, 1_000_000))

    def inner(value: Any, place: Place) -> Any:
        if isinstance(value, (dict, list)) and hidden.covers(place):
            return MASKED
        if isinstance(value, dict):
            found = {}
            for name, one in value.items():
                key = name if hidden.knows((*place, name)) else f"?{next(numbers)}"
                found[key] = inner(one, (*place, name))
            return found
        if isinstance(value, list):
            return [inner(one, (*place, number)) for number, one in enumerate(value)]
        return _stand_in(value) if hidden.hides(place) else value

    made: JsonObject = inner(arguments, ()) if hidden.is_needed else arguments
    return made


def _stand_in(value: Any) -> Any:
    match value:
        case None | bool():
            return None if value is None else False
        case int() | float():
            return type(value)(0)
        case str():
            return "*" * len(value)
        case _:
            return MASKED


def masked(arguments: Any, hidden: Hidden, place: Place = ()) -> Any:
    """What a function got, as JSON, with ``MASKED`` in each hidden place."""
    if not hidden.is_needed:
        return arguments
    if isinstance(arguments, (dict, list)) and hidden.covers(place):
        return MASKED
    if isinstance(arguments, dict):
        return {name: masked(one, hidden, (*place, name)) for name, one in arguments.items()}
    if isinstance(arguments, list):
        items = [masked(one, hidden, (*place, number)) for number, one in enumerate(arguments)]
        return WrittenSet(items) if isinstance(arguments, WrittenSet) else items
    return MASKED if hidden.hides(place) else arguments


def known_path(path: str, hidden: Hidden) -> str:
    """The path of a problem, as far as the schema knows it: what a model wrote for a name may be anything.

    The names inside of a hidden object are hidden with it.
    """
    if not hidden.is_needed:
        return path
    steps = location_of(path)
    is_known = all(hidden.knows(steps[: number + 1]) for number in range(len(steps)))
    return path if is_known and not any(hidden.covers(steps[:number]) for number in range(1, len(steps))) else ""


def digest_of(given: Any) -> JsonObject:
    """The length of a value in bytes, as it came or as JSON, and a hash of it."""
    if isinstance(given, str):
        data = given.encode(errors="surrogatepass")
    elif isinstance(given, (bytes, bytearray)):
        data = bytes(given)
    else:
        data = json.dumps(given, default=repr, sort_keys=True).encode()
    return {"length": len(data), "sha256": hashlib.sha256(data).hexdigest()}

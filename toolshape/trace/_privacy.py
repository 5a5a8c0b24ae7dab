"""Removes secrets and redacted values from the arguments of recorded calls."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolshape._records.calls import JsonObject, JsonSchema
from toolshape._records.errors import UsageError, did_you_mean
from toolshape._schema.places import is_scalar, location_of, nodes_at, property_names
from toolshape._schema.secrets import MASKED, Secrets
from toolshape._schema.values import WrittenSet
from toolshape._tools.tool import Tool, record_of

HiddenPlace: TypeAlias = tuple[str | int, ...]
Pattern: TypeAlias = tuple[str, tuple[str, ...]]
"""The name of a tool (or ``*``), and the fields on the path to a place in its arguments.

List items add no field.
"""


def split_patterns(given: Iterable[str]) -> tuple[Pattern, ...]:
    """Parse redacted places, each written as ``tool.field.field``.

    ``*`` means any tool or any field.

    Raises:
        UsageError: A place does not have this form.
    """
    patterns: list[Pattern] = []
    for place in given:
        tool, dot, path = str(place).partition(".")
        if not (tool and dot and all(path.split("."))):
            raise UsageError(
                f"redact= takes tool.field, tool.field.field or *.field, not {place!r}"
            )
        patterns.append((tool, tuple(path.removesuffix("[]").replace("[].", ".").split("."))))
    return tuple(patterns)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hidden:
    """The places in one tool's arguments that must not be recorded.

    ``fields`` holds the redacted places. ``secrets`` finds the places that the schema marks as
    secret.
    """

    secrets: Secrets
    fields: tuple[tuple[str, ...], ...]

    @property
    def is_needed(self) -> bool:
        """Whether the tool or output has hidden places."""
        return self.secrets.are_there or bool(self.fields)

    def hides(self, place: HiddenPlace) -> bool:
        """Return whether a scalar at a place is hidden: marked as secret, redacted,
        or not expected by the schema.
        """
        if not self.is_needed:
            return False
        nodes = nodes_at(self.secrets.schema, place)
        return (
            self._is_redacted(place)
            or not nodes
            or not all(map(is_scalar, nodes))
            or self.secrets.may_be_at(place)
        )

    def covers(self, place: HiddenPlace) -> bool:
        """Return whether everything at a place is hidden, including the names of fields."""
        if not self.is_needed:
            return False
        return self._is_redacted(place) or self.secrets.marks(place)

    def _is_redacted(self, place: HiddenPlace) -> bool:
        names = [step for step in place if isinstance(step, str)]
        return any(_is_prefix(fields, names) for fields in self.fields)

    def hides_path(self, path: str) -> bool:
        """Return whether the value at the path of a problem is hidden."""
        return self.hides(location_of(path))

    def knows(self, place: HiddenPlace) -> bool:
        """Return whether the schema describes a place."""
        return bool(nodes_at(self.secrets.schema, place))


def _is_prefix(fields: Sequence[str], names: Sequence[str]) -> bool:
    return len(fields) <= len(names) and all(
        field in ("*", name) for field, name in zip(fields, names[: len(fields)], strict=True)
    )


def hidden_of(tool: Tool[..., Any], patterns: Iterable[Pattern]) -> Hidden:
    """Return the hidden places of a tool.

    Raises:
        UsageError: A pattern names this tool and a field that the tool does not have.
    """
    return hidden_in(tool.name, record_of(tool).secrets, patterns)


def hidden_in(of: str, secrets: Secrets, patterns: Iterable[Pattern]) -> Hidden:
    """Return the hidden places of the tool or output with this name.

    Raises:
        UsageError: A pattern names this tool or output, and a field that does not exist.
    """
    schema = secrets.schema
    matching_patterns = [(name, fields) for name, fields in patterns if name in ("*", of)]
    for name, fields in matching_patterns:
        missing = _missing(schema, fields)
        if name != "*" and missing:
            hint = did_you_mean(missing, property_names(nodes_at(schema, ())))
            message = (
                f"redact= names {name}.{'.'.join(fields)}, but {name} has no field {missing!r}"
            )
            raise UsageError(f"{message}{f' ({hint})' if hint else ''}")
    existing_fields = tuple(
        fields for _, fields in matching_patterns if not _missing(schema, fields)
    )
    return Hidden(secrets=secrets, fields=existing_fields)


def _missing(schema: JsonSchema, fields: Sequence[str]) -> str:
    """Return the first field of a path that the schema does not have, or
    ``""`` if the schema has all fields.
    """
    places: list[HiddenPlace] = [()]
    for name in fields:
        places = [(*place, 0) if _is_list(schema, place) else place for place in places]
        if name == "*":  # ``*`` means all named fields, and the values of a map.
            places = [
                (*place, field)
                for place in places
                for field in ("*", *property_names(nodes_at(schema, place)))
            ]
        else:
            places = [(*place, name) for place in places]
        places = [place for place in places if nodes_at(schema, place)]
        if not places:
            return name
    return ""


def _is_list(schema: JsonSchema, place: HiddenPlace) -> bool:
    return any("items" in node or "prefixItems" in node for node in nodes_at(schema, place))


def replace_hidden(arguments: JsonObject, hidden: Hidden) -> JsonObject:
    """Replace each hidden value in canonical arguments with a stand-in of the same type and length.

    A key that the schema does not know may be a misplaced secret, so a numbered placeholder
    replaces it.
    """
    numbers = iter(range(1, 1_000_000))

    def inner(value: Any, place: HiddenPlace) -> Any:
        if isinstance(value, (dict, list)) and hidden.covers(place):
            return MASKED
        if isinstance(value, dict):
            replaced_members = {}
            hides_keys = hidden.secrets.hides_keys(place)
            for name, item in value.items():
                is_known = hidden.knows((*place, name)) and not hides_keys
                key = name if is_known else f"?{next(numbers)}"
                replaced_members[key] = inner(item, (*place, name))
            return replaced_members
        if isinstance(value, list):
            return [inner(item, (*place, number)) for number, item in enumerate(value)]
        if hidden.hides(place):
            return _stand_in(value)
        return value

    if hidden.is_needed:
        replaced: JsonObject = inner(arguments, ())
    else:
        replaced = arguments
    return replaced


def _stand_in(value: Any) -> Any:
    match value:
        case None | bool():
            if value is None:
                return None
            return False
        case int() | float():
            return type(value)(0)
        case str():
            return "*" * len(value)
        case _:
            return MASKED


def mask_arguments(arguments: Any, hidden: Hidden, place: HiddenPlace = ()) -> Any:
    """Replace each hidden value with ``MASKED`` in the arguments that
    a function received (as JSON).
    """
    if not hidden.is_needed:
        return arguments
    if isinstance(arguments, (dict, list)) and hidden.covers(place):
        return MASKED
    if isinstance(arguments, dict):
        hides_keys = hidden.secrets.hides_keys(place)
        return {
            f"{MASKED} {number}" if hides_keys else name: mask_arguments(
                value, hidden, (*place, name)
            )
            for number, (name, value) in enumerate(arguments.items(), 1)
        }
    if isinstance(arguments, list):
        items = [
            mask_arguments(value, hidden, (*place, number))
            for number, value in enumerate(arguments)
        ]
        return WrittenSet(items) if isinstance(arguments, WrittenSet) else items
    return MASKED if hidden.hides(place) else arguments


def known_path(path: str, hidden: Hidden) -> str:
    """Return the path of a problem if the schema knows all names in the path, else ``""``.

    An unknown name may be any text that the model wrote, even a secret. Names inside a hidden
    object are hidden too.
    """
    if not hidden.is_needed:
        return path
    steps = location_of(path)
    is_known = all(hidden.knows(steps[: number + 1]) for number in range(len(steps)))
    is_known = is_known and hidden.secrets.visible(steps) == steps
    if is_known and not any(hidden.covers(steps[:number]) for number in range(1, len(steps))):
        return path
    return ""


def digest_of(given: Any) -> JsonObject:
    """Return the length in bytes and the hash of a string or bytes.

    Any other value is first converted to JSON.
    """
    if isinstance(given, str):
        data = given.encode(errors="surrogatepass")
    elif isinstance(given, (bytes, bytearray)):
        data = bytes(given)
    else:
        data = json.dumps(given, default=repr, sort_keys=True).encode()
    return {"length": len(data), "sha256": hashlib.sha256(data).hexdigest()}

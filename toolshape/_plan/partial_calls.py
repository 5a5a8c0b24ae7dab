"""Reads the beginning of a call whose arguments are still arriving."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from pydantic_core import from_json

from toolshape._records.calls import Call, Finding, JsonObject, Loss
from toolshape._schema.arrows import Arrow
from toolshape._tools.handler import Handler

_ESCAPED = re.compile(r"\\.", re.DOTALL)
_NUMBER_AT_END = re.compile(r"[-+.\deE]+\Z")


class PartialCall(NamedTuple):
    """The part of a call that has arrived.

    ``id`` is ``None`` until an id arrives; some servers send none, or only at the end. ``name`` is
    ``None`` if no tool has the name that arrived. ``arguments`` holds the beginning of the
    arguments, in canonical form and not validated. ``key`` is the position of the call in the
    response, by which a page can follow the call: it never changes.
    """

    id: str | None
    name: str | None
    arguments: JsonObject
    key: int = 0


PartialCall.__module__ = "toolshape"


def partial_call(call: Call) -> PartialCall:
    """Return the beginning of a call that is not complete.

    The final arguments always begin with the returned arguments, although the model writes
    arguments in the form that the provider was sent. Only whole values can be mapped back from that
    form. Half a list of pairs, or half of an enum's word, would be mapped to a value that the final
    value does not begin with.

    All fields but the last are whole, and are mapped back. The last field may still grow. If the
    form changes anything inside this field, the field is left out. Otherwise, the field is kept
    without its nulls: a null may mean that a field was omitted, and whether it does can depend on
    the rest of the call.
    """
    handler = call.reader
    if not isinstance(handler, Handler):
        return PartialCall(call.id, call.name, _parse_incomplete(call.arguments_raw))
    definitions = tuple(handler.record.definition.schema.get("$defs", ()))
    arguments = read_beginning(
        call.arguments_raw, handler.back, handler.shape.differences, definitions
    )
    return PartialCall(call.id, call.name, arguments)


def read_beginning(
    written: Any,
    back: Arrow | None,
    differences: Sequence[Loss | Finding],
    definitions: Sequence[str],
) -> JsonObject:
    """Return the beginning of a JSON object that a model is still writing, in canonical form.

    Args:
        written: The part that has arrived: JSON text, or an object.
        back: Maps whole objects from the form that was sent to canonical form.
        differences: The differences between the canonical schema and the schema that was sent.
        definitions: The names of the definitions in the canonical schema.
    """
    parsed = _parse_incomplete(written)
    if back is None or not parsed:
        return parsed
    beginning_of_object = parsed
    if not (isinstance(written, str) and _is_complete_json(written)):
        *whole_names, last_name = parsed
        beginning_of_object = {name: parsed[name] for name in whole_names}
        if not _is_changed_inside(last_name, back, differences, definitions):
            beginning_of_object[last_name] = _drop_nulls(parsed[last_name])
    try:
        return cast("JsonObject", back(beginning_of_object))
    except ValueError:  # the arguments are invalid: the result of the whole call will say so
        return {}


def _parse_incomplete(arguments: Any) -> JsonObject:
    """Parse incomplete JSON text; leave out a number at its end, because more digits may follow."""
    value = arguments
    if isinstance(value, str):
        is_in_text = _ESCAPED.sub("", value).count('"') % 2
        if is_in_text:
            text = value
        else:
            text = _NUMBER_AT_END.sub("", value)
        try:
            value = from_json(text, allow_partial="trailing-strings")
        except ValueError:
            return {}
    if isinstance(value, dict):
        return value
    return {}


def _is_complete_json(text: str) -> bool:
    if not text.rstrip().endswith("}"):
        return False
    try:
        from_json(text)
    except ValueError:
        return False
    return True


def _is_changed_inside(
    wire_name: str, back: Arrow, differences: Sequence[Loss | Finding], definitions: Sequence[str]
) -> bool:
    """Whether the form of the provider changes anything inside a field of the arguments.

    The path of a change begins with the name of a field, or of a definition. Any field may use a
    definition, so a change in a definition counts for every field. Two changes do not count: a new
    name for the field itself, and null for an omitted field.
    """
    try:
        name = next(iter(back({wire_name: ""})), "")
    except ValueError:
        return True
    for change in _changes_of_form(differences):
        is_own_name = change.kind == "renamed" and change.path == name
        if not is_own_name and (
            change.path == "" or _begins_with(change.path, (name, *definitions))
        ):
            return True
    return False


def _changes_of_form(differences: Sequence[Loss | Finding]) -> list[Loss]:
    losses = [difference for difference in differences if isinstance(difference, Loss)]
    renamed_fields = [
        loss for loss in losses if loss.kind == "renamed" and loss.keyword == "properties"
    ]
    return renamed_fields + [
        loss for loss in losses if loss.kind == "reshaped" and loss.keyword != "required"
    ]


def _begins_with(path: str, names: Sequence[str]) -> bool:
    return any(path == name or path.startswith((f"{name}.", f"{name}[")) for name in names)


def _drop_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_drop_nulls(item) for item in value]
    return value

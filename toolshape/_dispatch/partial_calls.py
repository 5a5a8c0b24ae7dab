"""Reads the beginning of a call whose arguments are still arriving."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json

from toolshape._calls import Call, Finding, JsonObject, Loss
from toolshape._dispatch.handler import Handler

_ESCAPED = re.compile(r"\\.", re.DOTALL)
_NUMBER_AT_END = re.compile(r"[-+.\deE]+\Z")


class PartialCall(NamedTuple):
    """What has come of a call.

    ``name`` is ``None`` if no tool has the name that came. ``arguments`` are the beginning of the arguments, in canonical
    form and not validated.
    """

    id: str
    name: str | None
    arguments: JsonObject


PartialCall.__module__ = "toolshape"


def partial_call(call: Call) -> PartialCall:
    """Return the beginning of a call that is not complete.

    The arguments are a beginning of the final arguments, whatever comes next, although what has come is in the form that
    the provider was sent. The inverse of that form is for whole values: it would turn half a list of pairs, or half of an
    enum's word, into something that the final value does not begin with. All fields but the last are whole, and are
    mapped back. The last may still grow. It is left out if the form changes anything inside it, and otherwise passes
    through; without its nulls, as some of these mean that a field was omitted, and which do may depend on what comes next.
    """
    given = _read(call.arguments_raw)
    handler = call.reader
    if not isinstance(handler, Handler) or handler.back is None or not given:
        return PartialCall(call.id, call.name, given)
    *whole, last = given
    arguments = {name: given[name] for name in whole}
    if not _is_reshaped(handler, last):
        arguments[last] = _without_nulls(given[last])
    try:
        return PartialCall(call.id, call.name, handler.back(arguments))
    except ValueError:  # the model has not kept to the form: the whole call will be answered with that
        return PartialCall(call.id, call.name, {})


def _read(arguments: Any) -> JsonObject:
    """Read JSON text as far as it goes, without a number at its end, which may go on."""
    value = arguments
    if isinstance(value, str):
        is_in_text = _ESCAPED.sub("", value).count('"') % 2
        text = value if is_in_text else _NUMBER_AT_END.sub("", value)
        try:
            value = from_json(text, allow_partial="trailing-strings")
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _is_reshaped(handler: Handler, wire_name: str) -> bool:
    """Whether the form of the provider changes anything inside a field that the model writes under a name.

    The path of a change begins with the field, or with the definition that it is in; a definition may be used by any
    field. Another name for the field itself is no change inside it, and neither is null for an omitted field.
    """
    try:
        name = next(iter(handler.back({wire_name: ""})), "") if handler.back else wire_name
    except ValueError:
        return True
    definitions = tuple(handler.record.definition.schema.get("$defs", ()))
    for change in _changes_of_form(handler.shape.differences):
        is_own_name = change.kind == "renamed" and change.path == name
        if not is_own_name and (change.path == "" or _begins_with(change.path, (name, *definitions))):
            return True
    return False


def _changes_of_form(differences: Sequence[Loss | Finding]) -> list[Loss]:
    losses = [difference for difference in differences if isinstance(difference, Loss)]
    renamed = [loss for loss in losses if loss.kind == "renamed" and loss.keyword == "properties"]
    return renamed + [loss for loss in losses if loss.kind == "reshaped" and loss.keyword != "required"]


def _begins_with(path: str, names: Sequence[str]) -> bool:
    return any(path == name or path.startswith((f"{name}.", f"{name}[")) for name in names)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value

"""Reads the beginning of a call whose arguments are still arriving."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from pydantic_core import from_json

from toolshape._calls import Call, Finding, JsonObject, Loss
from toolshape._dispatch.handler import Handler
from toolshape._schema.arrows import Arrow

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
    handler = call.reader
    if not isinstance(handler, Handler):
        return PartialCall(call.id, call.name, _read(call.arguments_raw))
    definitions = tuple(handler.record.definition.schema.get("$defs", ()))
    arguments = beginning(call.arguments_raw, handler.back, handler.shape.differences, definitions)
    return PartialCall(call.id, call.name, arguments)


def beginning(
    written: Any, back: Arrow | None, differences: Sequence[Loss | Finding], definitions: Sequence[str]
) -> JsonObject:
    """Return the beginning of a JSON object that a model is still writing, in canonical form.

    Args:
        written: What has come: JSON text, or an object.
        back: Maps whole objects from the form that was sent to canonical form.
        differences: What the form that was sent changes.
        definitions: The names of the definitions in the canonical schema.
    """
    given = _read(written)
    if back is None or not given:
        return given
    beginning_of_object = given
    if not (isinstance(written, str) and _is_whole(written)):
        *whole, last = given
        beginning_of_object = {name: given[name] for name in whole}
        if not _is_reshaped(last, back, differences, definitions):
            beginning_of_object[last] = _without_nulls(given[last])
    try:
        return cast("JsonObject", back(beginning_of_object))
    except ValueError:  # the model has not kept to the form: the whole object will be answered with that
        return {}


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


def _is_whole(text: str) -> bool:
    if not text.rstrip().endswith("}"):
        return False
    try:
        from_json(text)
    except ValueError:
        return False
    return True


def _is_reshaped(
    wire_name: str, back: Arrow, differences: Sequence[Loss | Finding], definitions: Sequence[str]
) -> bool:
    """Whether the form of the provider changes anything inside a field that the model writes under a name.

    The path of a change begins with the field, or with the definition that it is in; a definition may be used by any
    field. Another name for the field itself is no change inside it, and neither is null for an omitted field.
    """
    try:
        name = next(iter(back({wire_name: ""})), "")
    except ValueError:
        return True
    for change in _changes_of_form(differences):
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

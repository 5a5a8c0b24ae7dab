"""What anyone stored of a conversation with a provider in: its messages as records out."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolshape._calls import JsonObject
from toolshape._errors import ResponseError
from toolshape._history.linking import linked
from toolshape._results import sendable
from toolshape._wire.bodies import parsed_body, plain
from toolshape._wire.histories import Histories
from toolshape.messages import Message, TextPart


def messages_in(histories: Histories, given: Any, before: Sequence[Message] = ()) -> list[Message]:
    """Read messages.

    Args:
        histories: How the provider's messages are read.
        given: Messages, one of them, a request that holds them, or the JSON text of any; dicts or SDK objects.
        before: What stands before them.

    Raises:
        ResponseError: It is none of these.
    """
    try:
        return linked(_messages_in(histories, _as_body(given)), before)
    except RecursionError as error:
        raise ResponseError("the messages are nested too deep", body=None) from error


def _messages_in(histories: Histories, body: Any) -> list[Message]:
    found: list[Message] = []
    if isinstance(body, dict) and histories.key in body and histories.read_system is not None:
        found += histories.read_system(body)
    for at, item in enumerate(wire_messages(histories, body)):
        path = f"{histories.key}[{at}]"
        try:
            found.append(histories.read(item, path))
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise ResponseError(f"{path} cannot be read as a message: {error}", body=item) from error
    return found


def _as_body(given: Any) -> Any:
    if isinstance(given, (str, bytes, bytearray)):
        return parsed_body(given)
    if isinstance(given, Mapping):
        return dict(given)
    return list(given) if isinstance(given, Sequence) else _plain_object(given)


def _plain_object(given: Any) -> Any:
    """JSON of a message, also where objects of an SDK stand anywhere in it; what holds none is the same object."""
    if isinstance(given, dict):
        changed = {key: new for key, value in given.items() if (new := _plain_object(value)) is not value}
        return {**given, **changed} if changed else given
    if isinstance(given, (list, tuple)):
        found = [_plain_object(value) for value in given]
        is_same = isinstance(given, list) and all(new is value for new, value in zip(found, given, strict=True))
        return given if is_same else found
    if given is None or isinstance(given, (str, int, float, bytes, bytearray)):
        return given
    return parsed_body(given) if hasattr(given, "ListFields") else _with_kinds(plain(given), given)


def _with_kinds(found: Any, given: Any) -> Any:
    """What an object of an SDK was written as, with its role and type, which may be defaults of its class."""
    if isinstance(found, list) and isinstance(given, (list, tuple)) and len(found) == len(given):
        return [_with_kinds(written, value) for written, value in zip(found, given, strict=True)]
    if not isinstance(found, dict) or found is given:
        return found
    if isinstance(given, dict):
        return {key: _with_kinds(value, given.get(key)) for key, value in found.items()}
    kinds, made = {}, dict(found)
    fields: dict[str, Any] = getattr(type(given), "model_fields", {})
    for name, field in fields.items():
        key, value = field.serialization_alias or field.alias or name, getattr(given, name, None)
        if key in ("role", "type") and found.get(key) is None and isinstance(value, str):
            kinds[key] = value
        elif key in found:
            made[key] = _with_kinds(found[key], value)
    return {**kinds, **made, **kinds}


_KEYS = frozenset({"role", "type", "content", "parts"})


def _named(given: Any) -> str:
    return f"an object with the keys {sorted(map(str, given))[:5]}" if isinstance(given, dict) else type(given).__name__


def wire_messages(histories: Histories, body: Any) -> list[JsonObject]:
    """The wire messages in what was given.

    Raises:
        ResponseError: There are none.
    """
    held = body[histories.key] if isinstance(body, dict) and histories.key in body else body
    if isinstance(held, str):
        held = histories.write(Message(role="user", parts=(TextPart(text=held),)))
    items = [held] if isinstance(held, dict) else held
    if not isinstance(items, (list, tuple)):
        raise ResponseError(f"no messages: neither a list of them nor a request with {histories.key!r}", body=body)
    found: list[JsonObject] = []
    for at, item in enumerate(items):
        one: Any = sendable([_plain_object(item)])[0]
        if not isinstance(one, dict) or not one.keys() & _KEYS:
            raise ResponseError(f"{histories.key}[{at}] is no message, but {_named(one)}", body=body)
        found.append(one)
    return found

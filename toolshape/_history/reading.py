"""Reads stored messages of a provider (lists, requests, JSON text or SDK objects) into ``Message`` records."""

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
        histories: How to read the provider's messages.
        given: A message, a list of messages, a request that holds them, or the JSON text of any of these. The
            messages may be dicts or SDK objects.
        before: The preceding messages.

    Raises:
        ResponseError: ``given`` is none of these.
    """
    try:
        return linked(_messages_in(histories, _as_body(given)), before)
    except RecursionError as error:
        raise ResponseError("the messages are nested too deeply", body=None) from error


def _messages_in(histories: Histories, body: Any) -> list[Message]:
    messages: list[Message] = []
    if isinstance(body, dict) and histories.key in body and histories.read_system is not None:
        messages += histories.read_system(body)
    for at, item in enumerate(wire_messages(histories, body)):
        path = f"{histories.key}[{at}]"
        try:
            messages.append(histories.read(item, path))
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise ResponseError(f"{path} cannot be read as a message: {error}", body=item) from error
    return messages


def _as_body(given: Any) -> Any:
    if isinstance(given, (str, bytes, bytearray)):
        return parsed_body(given)
    if isinstance(given, Mapping):
        return dict(given)
    return list(given) if isinstance(given, Sequence) else _plain_object(given)


def _plain_object(given: Any) -> Any:
    """Convert SDK objects anywhere in a value to JSON. A value without SDK objects is returned as the same object."""
    if isinstance(given, dict):
        changed = {key: new for key, value in given.items() if (new := _plain_object(value)) is not value}
        return {**given, **changed} if changed else given
    if isinstance(given, (list, tuple)):
        items = [_plain_object(value) for value in given]
        is_same = isinstance(given, list) and all(new is value for new, value in zip(items, given, strict=True))
        return given if is_same else items
    if given is None or isinstance(given, (str, int, float, bytes, bytearray)):
        return given
    return parsed_body(given) if hasattr(given, "ListFields") else _with_kinds(plain(given), given)


def _with_kinds(dumped: Any, given: Any) -> Any:
    """Restore ``role`` and ``type`` in the JSON of an SDK object.

    These may be class defaults, which a dump without unset fields omits.
    """
    if isinstance(dumped, list) and isinstance(given, (list, tuple)) and len(dumped) == len(given):
        return [_with_kinds(item, value) for item, value in zip(dumped, given, strict=True)]
    if not isinstance(dumped, dict) or dumped is given:
        return dumped
    if isinstance(given, dict):
        return {key: _with_kinds(value, given.get(key)) for key, value in dumped.items()}
    kinds, restored = {}, dict(dumped)
    fields: dict[str, Any] = getattr(type(given), "model_fields", {})
    for name, field in fields.items():
        key, value = field.serialization_alias or field.alias or name, getattr(given, name, None)
        if key in ("role", "type") and dumped.get(key) is None and isinstance(value, str):
            kinds[key] = value
        elif key in dumped:
            restored[key] = _with_kinds(dumped[key], value)
    return {**kinds, **restored, **kinds}


_KEYS = frozenset({"role", "type", "content", "parts"})


def _named(given: Any) -> str:
    return f"an object with the keys {sorted(map(str, given))[:5]}" if isinstance(given, dict) else type(given).__name__


def wire_messages(histories: Histories, body: Any) -> list[JsonObject]:
    """Return the wire messages in a body: a message, a list of messages, a request or a text.

    Raises:
        ResponseError: The body holds no messages.
    """
    held = body[histories.key] if isinstance(body, dict) and histories.key in body else body
    if isinstance(held, str):
        held = histories.write(Message(role="user", parts=(TextPart(text=held),)))
    items = [held] if isinstance(held, dict) else held
    if not isinstance(items, (list, tuple)):
        raise ResponseError(f"no messages: expected a list, or a request with the key {histories.key!r}", body=body)
    messages: list[JsonObject] = []
    for at, item in enumerate(items):
        message: Any = sendable([_plain_object(item)])[0]
        if not isinstance(message, dict) or not message.keys() & _KEYS:
            raise ResponseError(f"{histories.key}[{at}] is not a message, but {_named(message)}", body=body)
        messages.append(message)
    return messages

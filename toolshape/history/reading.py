"""What anyone stored of a conversation with a provider in: its messages as records out."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolshape.calls import JsonObject
from toolshape.errors import ResponseError
from toolshape.history.linking import linked
from toolshape.messages import Message, TextPart
from toolshape.wire.bodies import parsed_body, plain
from toolshape.wire.histories import Histories

__all__ = ["messages_in", "wire_messages"]


def messages_in(histories: Histories, given: Any, before: Sequence[Message] = ()) -> list[Message]:
    """Read messages.

    Args:
        histories: How the provider's messages are read.
        given: Messages, one of them, a request that holds them, or the JSON text of any; dicts or SDK objects.
        before: What stands before them.

    Raises:
        ResponseError: It is none of these.
    """
    body = _as_body(given)
    found: list[Message] = []
    if isinstance(body, dict) and histories.key in body and histories.read_system is not None:
        found += histories.read_system(body)
    for at, item in enumerate(wire_messages(histories, body)):
        path = f"{histories.key}[{at}]"
        try:
            found.append(histories.read(item, path))
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise ResponseError(f"{path} cannot be read as a message: {error}", body=item) from error
    return linked(found, before)


def _as_body(given: Any) -> Any:
    if isinstance(given, (str, bytes, bytearray)):
        return parsed_body(given)
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, Sequence):
        return [plain(one) for one in given]
    return plain(given)


def _plain_message(item: Any) -> Any:
    """A message as JSON, also where objects of an SDK stand in its lists."""
    message = _plain_object(item)
    if not isinstance(message, dict):
        return message
    for key, value in message.items():
        if isinstance(value, (list, tuple)) and any(not isinstance(one, (dict, str)) for one in value):
            message = {**message, key: [_plain_object(one) for one in value]}
    return message


def _plain_object(given: Any) -> Any:
    """An object of an SDK as JSON; what tells its kind is there even where it is a default of its class."""
    if isinstance(given, (dict, str)):
        return given
    found = parsed_body(given) if hasattr(given, "ListFields") else plain(given)
    if isinstance(found, dict) and found is not given:
        for key in ("role", "type"):
            kind = getattr(given, key, None)
            if key not in found and isinstance(kind, str):
                found = {key: kind, **found}
    return found


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
        held = histories.write(Message(role="user", parts=(TextPart(text=held),)), lambda _: [])
    items = [held] if isinstance(held, dict) else held
    if not isinstance(items, (list, tuple)):
        raise ResponseError(f"no messages: neither a list of them nor a request with {histories.key!r}", body=body)
    found: list[JsonObject] = []
    for at, item in enumerate(items):
        one = _plain_message(item)
        if not isinstance(one, dict) or not one.keys() & _KEYS:
            raise ResponseError(f"{histories.key}[{at}] is no message, but {_named(one)}", body=body)
        found.append(one)
    return found

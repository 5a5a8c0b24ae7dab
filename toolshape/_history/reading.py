"""Reads a provider's stored messages (lists, requests, JSON text, SDK objects) as ``Message``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolshape._families.wire.bodies import parse_body, to_plain_json
from toolshape._families.wire.histories import Histories
from toolshape._families.wire.ids import generated_id, id_seed
from toolshape._records.calls import JsonObject
from toolshape._records.errors import ResponseError
from toolshape._records.result import make_sendable
from toolshape.messages import (
    Message,
    MessagePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    calls_in,
    results_in,
)


def link_results(messages: Sequence[Message], before: Sequence[Message] = ()) -> list[Message]:
    """Give each call without an id a new id, and give each result without an id the
    id of the call that it answers.

    Args:
        messages: The messages, in their order.
        before: The preceding messages, already linked. Results in ``messages`` may answer the last
            calls in ``before``.

    Returns:
        The messages. A message that needs no new id is returned as the same object.
    """
    has_ids = all(map(_has_ids, messages))
    if has_ids and not any(map(results_in, messages)):
        return list(messages)
    waiting = _unanswered(before)
    if has_ids and all(call.has_id for call in waiting):
        return list(messages)
    call_ids = {call.id for message in before for call in calls_in(message)}
    linked_messages: list[Message] = []
    last_message: Message | None = before[-1] if before else None
    for message in messages:
        if message.role == "assistant" and (
            last_message is None or last_message.role != "assistant"
        ):
            waiting.clear()  # A new turn begins. Its results do not answer calls in earlier turns.
        last_message = message
        position = len(before) + len(linked_messages)
        parts = tuple(
            _link_part(part, waiting, call_ids, position, index)
            for index, part in enumerate(message.parts)
        )
        linked_messages.append(message if parts == message.parts else replace(message, parts=parts))
    return linked_messages


def _has_ids(message: Message) -> bool:
    return all(
        part.id for part in message.parts if isinstance(part, (ToolCallPart, ToolResultPart))
    )


def _unanswered(messages: Sequence[Message]) -> list[ToolCallPart]:
    """Return the unanswered calls in the assistant's last turn, even if
    user messages follow this turn.
    """
    answered: set[str] = set()
    calls: list[ToolCallPart] = []
    for index, message in enumerate(reversed(messages)):
        if message.role == "assistant":
            calls[:0] = calls_in(message)
            if index + 1 < len(messages):
                earlier_message = messages[-index - 2]
            else:
                earlier_message = None
            if earlier_message is None or earlier_message.role != "assistant":
                break
        answered.update(result.id for result in results_in(message))
    return [call for call in calls if call.id not in answered]


def _link_part(
    part: MessagePart, waiting: list[ToolCallPart], own: set[str], position: int, at: int
) -> MessagePart:
    """Return the part with an id: its original id, a generated id, or the
    id of the call that it answers.

    A result without an id answers the first waiting call with the same name. If the result also has
    no name, it answers the first waiting call. Calls that came without an id have priority. If a
    result has an id that belongs to no call, it can only answer a call that came without an id.
    """
    # A history may mix messages with ids and without: a gateway may drop the ids of calls and keep
    # those of results. So the order decides only among calls that nothing else tells apart.
    if isinstance(part, ToolCallPart):
        if part.id:
            call = part
        else:
            call = replace(part, id=_make_id(part, position, at), has_id=False)
        waiting.append(call)
        own.add(call.id)
        return call
    if not isinstance(part, ToolResultPart):
        return part
    if part.id in own:
        waiting[:] = [call for call in waiting if call.id != part.id]
        return part
    without_id = [call for call in waiting if not call.has_id]
    if part.id:
        candidates = without_id
    else:
        candidates = [*without_id, *(call for call in waiting if call.has_id)]
    named = [call for call in candidates if call.wire_name == part.wire_name]
    for call in named or (candidates if not part.wire_name else ()):
        waiting.remove(call)
        return replace(part, id=call.id, has_id=False)
    if part.id:
        return part
    return replace(
        part,
        id=generated_id(id_seed(["result", part.wire_name, part.text]), position + at),
        has_id=False,
    )


def _make_id(call: ToolCallPart, position: int, at: int) -> str:
    return generated_id(id_seed([call.wire_name, repr(call.arguments_raw), position]), at)


def messages_in(histories: Histories, given: Any, before: Sequence[Message] = ()) -> list[Message]:
    """Read messages, and give ids to calls and results that have no id.

    Args:
        histories: How to read the provider's messages.
        given: A message, a list of messages, a request that holds messages, or any of these as JSON
            text. The messages may be dicts or SDK objects.
        before: The preceding messages.

    Raises:
        ResponseError: ``given`` has none of these forms.
    """
    try:
        return link_results(_messages_in(histories, _read_body(given)), before)
    except RecursionError as error:
        raise ResponseError("the messages are nested too deeply", body=None) from error


def response_in(
    histories: Histories, given: Sequence[Any], before: Sequence[Message], *, is_plain: bool
) -> list[Message]:
    """Read the messages of a response; ``is_plain`` says that they are JSON,
    so nothing has to be converted.

    Raises:
        ResponseError: They cannot be read.
    """
    if not (is_plain and all(type(item) is dict and item.keys() & _KEYS for item in given)):
        return messages_in(histories, given, before)
    try:
        messages = [
            histories.read(item, f"{histories.key}[{index}]") for index, item in enumerate(given)
        ]
    except (AttributeError, TypeError, KeyError, ValueError, RecursionError) as error:
        raise ResponseError(
            f"the response cannot be read as messages: {error}", body=given
        ) from error
    return link_results(messages, before)


def _messages_in(histories: Histories, body: Any) -> list[Message]:
    messages: list[Message] = []
    if isinstance(body, dict) and histories.key in body and histories.read_system is not None:
        messages += histories.read_system(body)
    for index, item in enumerate(wire_messages(histories, body)):
        path = f"{histories.key}[{index}]"
        try:
            messages.append(histories.read(item, path))
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise ResponseError(
                f"{path} cannot be read as a message: {error}", body=item
            ) from error
    return messages


def _read_body(given: Any) -> Any:
    if isinstance(given, (str, bytes, bytearray)):
        return parse_body(given)
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, Sequence):
        return list(given)
    return _convert_sdk_objects(given)


def _convert_sdk_objects(given: Any) -> Any:
    """Convert all SDK objects in a value to JSON.

    If the value has no SDK objects, return the same object.
    """
    if isinstance(given, dict):
        changed_values = {
            key: converted
            for key, value in given.items()
            if (converted := _convert_sdk_objects(value)) is not value
        }
        return {**given, **changed_values} if changed_values else given
    if isinstance(given, (list, tuple)):
        items = [_convert_sdk_objects(value) for value in given]
        is_unchanged = isinstance(given, list) and all(
            converted is value for converted, value in zip(items, given, strict=True)
        )
        return given if is_unchanged else items
    if given is None or isinstance(given, (str, int, float, bytes, bytearray)):
        return given
    return (
        parse_body(given)
        if hasattr(given, "ListFields")
        else _restore_kinds(to_plain_json(given), given)
    )


def _restore_kinds(dumped: Any, given: Any) -> Any:
    """Restore ``role`` and ``type`` in the JSON of an SDK object.

    The class may define both fields as defaults, and a dump of the fields that were set omits
    defaults.
    """
    # The walk is over the dump and the object side by side: the dump says which fields there are,
    # and only the object knows its defaults. Where both differ in shape, a serialiser of the SDK
    # decided, and the dump stands.
    if isinstance(dumped, list) and isinstance(given, (list, tuple)) and len(dumped) == len(given):
        return [_restore_kinds(item, value) for item, value in zip(dumped, given, strict=True)]
    if not isinstance(dumped, dict) or dumped is given:
        return dumped
    if isinstance(given, dict):
        return {key: _restore_kinds(value, given.get(key)) for key, value in dumped.items()}
    kinds, restored = {}, dict(dumped)
    fields: dict[str, Any] = getattr(type(given), "model_fields", {})
    for name, field in fields.items():
        key, value = field.serialization_alias or field.alias or name, getattr(given, name, None)
        if key in ("role", "type") and dumped.get(key) is None and isinstance(value, str):
            kinds[key] = value
        elif key in dumped:
            restored[key] = _restore_kinds(dumped[key], value)
    # Twice: the first puts the kinds in front, the last replaces a ``None`` of the dump.
    return {**kinds, **restored, **kinds}


_KEYS = frozenset({"role", "type", "content", "parts"})


def _describe(given: Any) -> str:
    if isinstance(given, dict):
        return f"an object with the keys {sorted(map(str, given))[:5]}"
    return type(given).__name__


def wire_messages(histories: Histories, body: Any) -> list[JsonObject]:
    """Return the wire messages in a body: a message, a list of messages, a request or a string.

    Raises:
        ResponseError: The body holds no messages.
    """
    if isinstance(body, dict) and histories.key in body:
        content = body[histories.key]
    else:
        content = body
    if isinstance(content, str):
        content = histories.write(Message(role="user", parts=(TextPart(text=content),)))
    items = [content] if isinstance(content, dict) else content
    if not isinstance(items, (list, tuple)):
        raise ResponseError(
            f"no messages: expected a list, or a request with the key {histories.key!r}", body=body
        )
    messages: list[JsonObject] = []
    for index, item in enumerate(items):
        message: Any = make_sendable([_convert_sdk_objects(item)])[0]
        if not isinstance(message, dict) or not message.keys() & _KEYS:
            raise ResponseError(
                f"{histories.key}[{index}] is not a message, but {_describe(message)}", body=body
            )
        messages.append(message)
    return messages

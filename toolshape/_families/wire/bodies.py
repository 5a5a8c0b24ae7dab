"""Converts a response's body (text, SDK object, protocol buffer) to JSON, and reads members."""

from collections.abc import Callable
from typing import Any

from toolshape._records.calls import EARLY, Finish, JsonObject, WireCall
from toolshape._records.errors import ResponseError
from toolshape._records.result import Result
from toolshape._schema.values import as_plain_json, is_whole, read_json

_MOST_LEFT_OUT = 1_000


def parse_body(response: Any) -> Any:
    """Parse JSON text, or convert an SDK's object to the JSON data that it was made
    from; return others unchanged.

    Raises:
        ResponseError: The text is not JSON.
    """
    if isinstance(response, dict):
        return response
    if not isinstance(response, (str, bytes, bytearray)):
        if (dumped := _dumped(response)) is not None:
            return dumped
        message = getattr(response, "proto", response)
        if hasattr(message, "ListFields"):
            return _from_protocol_buffer(message)
        return response
    try:
        return read_json(response)
    except (ValueError, RecursionError) as error:
        message = (
            "the response is not JSON: pass the whole response, as the SDK's object, a dict or "
            "JSON text"
        )
        raise ResponseError(f"{message} ({error})", body=response) from error


def _from_protocol_buffer(message: Any) -> JsonObject:
    """Convert a protocol buffer to JSON.

    Fields that are not set are left out, and enum values become names.
    """
    return {field.name: _field(field, value) for field, value in message.ListFields()}


def _field(field: Any, value: Any) -> Any:
    if hasattr(value, "ListFields"):
        return _from_protocol_buffer(value)
    if not isinstance(value, (str, bytes)) and hasattr(value, "__len__"):
        return [_field(field, item) for item in value]
    if field.enum_type:
        return field.enum_type.values_by_number[value].name
    return value


def model_name(body: Any) -> str | None:
    """Return the name of the model in a response, or ``None``."""
    for name in ("model", "modelVersion", "model_version"):
        model = member(body, name)
        if isinstance(model, str) and model:
            return model
    return None


def member(node: Any, name: str) -> Any:
    """Return a member of a JSON object or an attribute of an SDK object, or ``None``."""
    if isinstance(node, dict):
        return node.get(name)
    return getattr(node, name, None)


def to_plain_json(node: Any) -> Any:
    """Convert an SDK object (any pydantic model) to the JSON data that it was made
    from; return JSON data unchanged.
    """
    if isinstance(node, list):
        return [to_plain_json(item) for item in node]
    dumped = None if isinstance(node, dict) else _dumped(node)
    if dumped is None:
        return node
    return dumped


def _dumped(node: Any) -> JsonObject | None:
    """Return the JSON data of any pydantic model, which SDKs' objects
    are; ``None`` for anything else.
    """
    if isinstance(node, type):
        dump = None
    else:
        dump = getattr(node, "model_dump", None)
    if dump is None:
        return None
    try:
        dumped = dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    except Exception:  # an SDK builds objects without validation, so they may hold anything
        return None
    if isinstance(dumped, dict):
        return dumped
    return None


def result_json(result: Result) -> Any:
    """Return the value of a result as JSON data (not as JSON text), for providers
    whose results can hold such data.
    """
    if result.is_text is None:
        is_text = isinstance(result.value, str)
    else:
        is_text = result.is_text
    if is_text:
        return result.text
    # A hook may have replaced the text.
    is_same = type(result.value) is int and result.text == str(result.value)
    if is_same:
        return result.value
    return as_plain_json(result.text)


def hold_unless_complete(
    body: JsonObject, position: int, call: WireCall, text: Any
) -> list[tuple[int, WireCall]]:
    """Handle the end event of a streamed call: return the call if its JSON text is
    complete, otherwise hold the call.

    If a response reaches its length limit, the provider sends the end event even for the call that
    was cut off. When the response ends, ``release_held`` decides whether the held calls count.
    """
    if not isinstance(text, str) or is_whole(text):
        return [(position, call)]
    body.setdefault("x-held", []).append((position, call))
    return []


def release_held(body: JsonObject, finish: Finish) -> list[tuple[int, WireCall]]:
    """Return the held calls of a response that has ended.

    If the response ended early, return no calls.
    """
    held_calls: list[tuple[int, WireCall]] = body.pop("x-held", [])
    if finish in EARLY:
        return []
    return held_calls


def make_room(items: list[Any], index: int, filler: Callable[[], Any]) -> None:
    """Extend a list with fillers until it has an item at this index, which came from a stream.

    Raises:
        ResponseError: The index is negative, or skips more items than any real stream does.
    """
    missing = index + 1 - len(items)
    if index < 0 or missing > _MOST_LEFT_OUT:
        raise ResponseError(
            f"the stream continues at index {index!r} after {len(items)} items", body=items
        )
    items.extend(filler() for _ in range(missing))

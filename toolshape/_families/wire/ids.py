"""Makes the ids of calls sendable: converts ids to strings, and generates the ids that a provider left out."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from toolshape._families.wire.bodies import to_plain_json
from toolshape._records.calls import JsonObject, WireCall

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_LENGTH = 9  # Mistral accepts only ids of nine letters and digits; every other provider accepts such ids too


def with_call_ids(
    items: Sequence[JsonObject],
    calls: Sequence[WireCall],
    is_call: Callable[[JsonObject], bool],
    named: Callable[[JsonObject, str], JsonObject],
    *,
    leaves_out: bool = False,
) -> tuple[list[JsonObject], list[WireCall]]:
    """Give an id to each call without a plain id. Set it both in the call and in the item to send back.

    Args:
        items: The blocks, items or calls of the message that is sent back.
        calls: The calls among the items, in the same order.
        is_call: Returns whether an item is a call.
        named: Takes an item and an id, and returns the item with this id.
        leaves_out: If ``True``, a call that came without an id stays without an id.
    """
    if all(is_plain_id(call.id) for call in calls):
        return list(items), list(calls)
    identified = [
        call
        if is_plain_id(call.id) or (leaves_out and call.id in ("", None))
        else call._replace(id=sendable_id(call.id) or generated_id(id_seed(call.raw), at))
        for at, call in enumerate(calls)
    ]
    ids = iter([call.id for call in identified])
    pairs = [(item, next(ids) if is_call(item) else "") for item in items]
    return [named(item, call_id) if call_id else item for item, call_id in pairs], identified


def is_plain_id(given: Any) -> bool:
    """Return whether the id of a call can be sent unchanged."""
    return type(given) is str and given != "" and given.isascii()


def sendable_id(given: Any) -> str:
    """Return the id of a call as a string that can be sent, or an empty string if the call has no id."""
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    try:
        return given if isinstance(given, str) and given.encode() else ""
    except UnicodeEncodeError:
        return ""


def id_seed(call: Any) -> bytes:
    """Hash a call without its id. ``generated_id`` makes an id from this seed and the call's position."""
    try:
        node = to_plain_json(call)
        content = (
            {key: value for key, value in node.items() if key != "id"}
            if isinstance(node, dict)
            else node
        )
        text = json.dumps(content, sort_keys=True, default=str)
    except (
        ValueError,
        TypeError,
        RecursionError,
    ):  # not JSON: the ids of these calls differ only by position
        text = type(call).__name__
    return hashlib.sha256(text.encode(errors="replace")).digest()


def generated_id(seed: bytes, position: int) -> str:
    """Return an id of nine letters and digits. The same call at the same position always gets the same id."""
    number = int.from_bytes(hashlib.sha256(seed + str(position).encode()).digest(), "big")
    digits = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)

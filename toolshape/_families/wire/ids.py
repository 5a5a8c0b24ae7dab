"""Makes the ids of calls sendable: as strings, and generated where a provider sent none."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_core import to_json

from toolshape._families.wire.bodies import to_plain_json
from toolshape._records.calls import JsonObject, WireCall

# One encoder, because ``json.dumps`` makes one for each text.
_sorted_json = json.JSONEncoder(sort_keys=True, default=str).encode
# Mistral accepts only ids of nine letters and digits; every other provider accepts such ids too.
_LENGTH = 9


def with_call_ids(
    items: Sequence[JsonObject],
    calls: Sequence[WireCall],
    is_call: Callable[[JsonObject], bool],
    named: Callable[[JsonObject, str], JsonObject],
    *,
    leaves_out: bool = False,
) -> tuple[list[JsonObject], list[WireCall]]:
    """Give an id to each call without a plain id.

    Set it both in the call and in the item to send back.

    Args:
        items: The blocks, items or calls of the message that is sent back.
        calls: The calls among the items, in the same order.
        is_call: Returns whether an item is a call.
        named: Takes an item and an id, and returns the item with this id.
        leaves_out: If ``True``, a call that came without an id stays without an id.
    """
    # The call that is run and the item that is sent back must have the same id, or the provider
    # finds no result for its call. So the ids are made once, for the calls, and then written into
    # the items, where only some items are calls.
    if all(is_plain_id(call.id) for call in calls):
        return list(items), list(calls)
    identified = [
        call
        if is_plain_id(call.id) or (leaves_out and call.id in ("", None))
        else call._replace(
            id=sendable_id(call.id) or made_up_id(call.wire_name, call.arguments, at)
        )
        for at, call in enumerate(calls)
    ]
    ids = iter([call.id for call in identified])
    pairs = [(item, next(ids) if is_call(item) else "") for item in items]
    return [named(item, call_id) if call_id else item for item, call_id in pairs], identified


def is_plain_id(given: Any) -> bool:
    """Return whether the id of a call can be sent unchanged."""
    return type(given) is str and given != "" and given.isascii()


def sendable_id(given: Any) -> str:
    """Return the id of a call as a string that can be sent, or an
    empty string if the call has no id.
    """
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    try:
        return given if isinstance(given, str) and given.encode() else ""
    except UnicodeEncodeError:
        return ""


def made_up_id(name: Any, arguments: Any, position: int) -> str:
    """Return the id of a call that came without one: nine letters and digits.

    The same call at the same position always gets the same id, whatever order an SDK gives its
    keys.

    Args:
        name: The name of the tool, as it was sent.
        arguments: The arguments as they came.
        position: The position of the call in the response.
    """
    try:
        # Of all JSON data only objects and lists have no hash. To ask for it costs less than to
        # look at the type of each value, and a flat object needs no walk.
        hash(tuple(arguments.values()))
        ordered = sorted(arguments.items())
    except (TypeError, AttributeError):
        ordered = None
    try:
        seed = to_json((name, _in_order(arguments) if ordered is None else ordered, position))
    except (ValueError, TypeError, RecursionError):  # not JSON
        return generated_id(id_seed([name, arguments]), position)
    return hashlib.blake2s(seed).hexdigest()[:_LENGTH]  # takes two thirds of the time of SHA-256


class IdsOfText:
    """Makes the ids of the calls in a model's text, from what the text holds before each call.

    So a call has one id from its first character to its end, in a stream and as a whole.
    """

    __slots__ = ("_count", "_said")

    def __init__(self) -> None:
        self._said = hashlib.blake2s()
        self._count = 0

    def id_of(self, name: str) -> str:
        """Return the id of the next call: nine letters and digits."""
        said = self._said.copy()
        said.update(to_json((name, self._count)))
        self._count += 1
        return said.hexdigest()[:_LENGTH]

    def read(self, text: str) -> None:
        """Read the next part of the text."""
        self._said.update(text.encode(errors="surrogatepass"))


def _in_order(node: Any) -> Any:
    """Return JSON data in which the order of keys is always the same."""
    if type(node) is dict:
        return [(key, _in_order(value)) for key, value in sorted(node.items())]
    if type(node) is list:
        return [_in_order(item) for item in node]
    return node


def id_seed(call: Any) -> bytes:
    """Return JSON data without its id as text, in which the order of keys does not count.

    ``generated_id`` makes an id from this seed and a position.
    """
    try:
        content = to_plain_json(call)
        if isinstance(content, dict) and "id" in content:
            content = {key: value for key, value in content.items() if key != "id"}
        text = _sorted_json(content)
    except (
        ValueError,
        TypeError,
        RecursionError,
    ):
        # Not JSON: the ids of these calls differ only by position.
        text = type(call).__name__
    return text.encode(errors="replace")


def generated_id(seed: bytes, position: int) -> str:
    """Return an id of nine letters and digits.

    The same call at the same position always gets the same id.
    """
    return hashlib.blake2s(b"%d %b" % (position, seed)).hexdigest()[:_LENGTH]

"""Writes the searches in a history so that a provider loads again what they found."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolshape._bound.bound import Bound, bound_tools_of
from toolshape._records.calls import JsonObject, WireMessage
from toolshape._records.errors import ExportError
from toolshape._records.found import SEARCH_NAME, names_of
from toolshape.messages import Message, calls_in

MOST_SEARCHES = 3
"""The number of searches after which the model has to say whether a tool fits: no score can say
that none does (``search.py``).
"""


def load_found(
    bound: Bound, messages: Sequence[WireMessage], request: Mapping[str, Any]
) -> list[WireMessage]:
    """Return the messages, with what searches of the user's found loaded again.

    Without such a search, nothing changes; without deferred tools beside it, nothing is loaded.

    Args:
        bound: The tools of the request.
        messages: The messages in the provider's form.
        request: The arguments for tools of the request. A reference to a tool that it does not hold
            is refused.
    """
    tools, deferral = bound_tools_of(bound), bound.provider.request.deferral
    own = tools.search
    if own is None or deferral is None or deferral.load is None:
        return [*messages]
    sent = names_of(request.get("tools") or ())
    entries: dict[str, JsonObject] = {}
    for shape in tools.shapes.values():
        if shape.wire_name in sent:
            entry = json.loads(shape.entry)
            entries[shape.wire_name] = entries[shape.name] = entry
    if not any(map(deferral.is_marked, entries.values())):
        return deferral.load(messages, {}, ())  # nothing is loaded, and no reference may be left
    return deferral.load(messages, entries, {SEARCH_NAME, own.wire_name})


def choice_after_searches(
    bound: Bound, messages: Sequence[Message], model: str | None
) -> str | None:
    """Return ``"none"`` after three searches without a call, so that the model has to answer.

    Where the provider cannot forbid calls, as Bedrock, only what the model read says so.
    """
    if not _has_searched_enough(bound, messages):
        return None
    try:
        bound.request(choice="none", model=model)
    except ExportError:
        return None
    return "none"


def _has_searched_enough(bound: Bound, messages: Sequence[Message]) -> bool:
    """Whether the model has searched three times since somebody spoke, and called nothing else."""
    own = bound_tools_of(bound).search
    if own is None:
        return False
    names, searches = {SEARCH_NAME, own.wire_name}, 0
    for message in reversed(messages):
        if message.role in ("user", "system"):
            return False
        calls = calls_in(message)
        if not all(call.wire_name in names for call in calls):
            return False
        searches += len(calls)
        if searches >= MOST_SEARCHES:
            return True
    return False

"""Writes the searches in a history so that a provider loads again what they found."""

import json
from collections.abc import Sequence

from toolshape._bound.bound import Bound, bound_tools_of
from toolshape._records.calls import WireMessage
from toolshape._records.found import SEARCH_NAME, is_search


def load_found(bound: Bound, messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Return the messages, with what searches of the user's found loaded again.

    Without such a search beside deferred tools, nothing changes.
    """
    tools = bound_tools_of(bound)
    deferral, own = bound.provider.request.deferral, tools.shapes.get(SEARCH_NAME)
    if own is None or not is_search(own.tool) or deferral is None or deferral.load is None:
        return [*messages]
    entries = {shape.name: json.loads(shape.entry) for shape in tools.shapes.values()}
    if not any(map(deferral.is_marked, entries.values())):
        return [*messages]
    return deferral.load(messages, entries)

"""Keeps the provider's own calls and their results together: each is refused without the other."""

from collections.abc import Sequence

from toolshape._history.log import Log, Rules
from toolshape._history.repairs.order import begins_turn
from toolshape.messages import Message, MessagePart, ProviderPart, part_path, with_parts


def pair_server_tools(
    messages: Sequence[Message], log: Log, calls: set[str], *, is_end: bool
) -> list[Message]:
    """Remove a call of the provider's own without a result in its
    turn, and a result without a call.

    A turn ends with the next message of the user that is no result of a tool. In the last turn, a
    call may still be answered: the provider goes on where it paused.

    Args:
        messages: The messages.
        log: The log to which this function adds the repairs.
        calls: The ids of the calls in the turn so far. This function updates the set in place.
        is_end: Whether no messages follow.
    """
    kept: list[Message] = []
    for turn in _turns(messages):
        if begins_turn(turn[0]):
            calls.clear()
        is_open = is_end and turn[-1] is messages[-1]
        alone = _alone(turn, log.rules, calls, is_open=is_open)
        for message in turn:
            parts: list[MessagePart] = []
            for part in message.parts:
                fault = alone.get(id(part))
                if fault is None:
                    parts.append(part)
                else:
                    path = part_path(message, part)
                    log.repaired("server_tool_alone", path, fault, "it is left out")
            remaining = with_parts(message, parts)
            if remaining.parts or not message.parts:
                kept.append(remaining)
    return kept


def _alone(
    turn: Sequence[Message], rules: Rules, calls: set[str], *, is_open: bool
) -> dict[int, str]:
    """Return what is wrong with each half that stands alone, by the ``id()`` of the part."""
    alone: dict[int, str] = {}
    waiting: dict[str, list[int]] = {}
    for message in turn:
        for part in message.parts:
            called, answered = _own_call(part, rules)
            if called is not None:
                calls.add(called)
                waiting.setdefault(called, []).append(id(part))
            elif answered is not None:
                if waiting.get(answered):
                    waiting[answered].pop()
                elif answered not in calls:
                    alone[id(part)] = f"no call of the provider's own has the id {answered!r}"
    if not is_open:
        for name, part_ids in waiting.items():
            alone |= dict.fromkeys(part_ids, f"the provider's own call {name!r} has no result")
    return alone


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    turns: list[list[Message]] = []
    for message in messages:
        if begins_turn(message) or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def _own_call(part: MessagePart, rules: Rules) -> tuple[str | None, str | None]:
    """Return the id of a call that the provider runs, and the id of the call that a part
    answers.
    """
    own_call = rules.histories.own_call
    if own_call is None or not isinstance(part, ProviderPart):
        return None, None
    return own_call(part)


def open_from(messages: Sequence[Message], rules: Rules) -> int:
    """Return the position from which a later message may change what stands alone.

    This is the start of the last turn, or the number of messages if that turn holds no call of the
    provider's own.
    """
    start = max((at for at, message in enumerate(messages) if begins_turn(message)), default=0)
    parts = (part for message in messages[start:] for part in message.parts)
    has_calls = any(_own_call(part, rules)[0] is not None for part in parts)
    if has_calls:
        return start
    return len(messages)

"""Pairs each call with exactly one result, next to it where the provider asks for that."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape._history.log import Log
from toolshape._records.calls import plain_text
from toolshape.messages import (
    Message,
    MessagePart,
    Role,
    ToolCallPart,
    ToolResultPart,
    calls_in,
    part_path,
    results_in,
    with_parts,
)

NO_ANSWER = "The call was not answered."


class LateResultError(Exception):
    """A result arrived for a call that was already treated as unanswered.

    Convert the whole history again.
    """


class Pairs:
    """The call ids from earlier messages, and the pairs of calls and
    results in the current messages.

    ``answered`` holds the ids of calls with a result. ``filled_in`` holds the ids of calls for
    which this library added a result that says that the call did not run. ``left`` holds the ids of
    calls without a result, which the provider accepts. ``calls`` maps the ``id()`` of each result
    in the current messages to the call that it answers.
    """

    __slots__ = ("answered", "calls", "filled_in", "left")

    def __init__(self) -> None:
        self.answered: set[str] = set()
        self.filled_in: set[str] = set()
        self.left: set[str] = set()
        self.calls: dict[int, ToolCallPart] = {}

    def copy(self) -> "Pairs":
        """Return an independent copy, without the pairs in the current messages."""
        pairs_copy = Pairs()
        pairs_copy.answered, pairs_copy.filled_in, pairs_copy.left = (
            set(self.answered),
            set(self.filled_in),
            set(self.left),
        )
        return pairs_copy


class _Asked:
    """A call and its result (``answer``), with the positions of their messages.

    ``turn`` is the position of the first message of the call's turn.
    ``is_late``: other messages came between the call and the result, and the provider rejects this.
    """

    __slots__ = ("answer", "answer_at", "at", "is_late", "part", "turn")

    def __init__(self, at: int, turn: int, part: ToolCallPart) -> None:
        self.at = at
        self.turn = turn
        self.part = part
        self.answer: ToolResultPart | None = None
        self.answer_at = -1
        self.is_late = False


def pair_calls(
    messages: Sequence[Message], log: Log, pairs: Pairs, *, is_end: bool
) -> list[Message]:
    """Pair each call with its result.

    Parts are identified by ``id()``, because two parts of a faulty history may be equal (a result
    stored twice).

    Args:
        messages: The messages. Each call and result has an id.
        log: The log to which this function adds the repairs.
        pairs: The state after the preceding messages. This function updates the object in place.
        is_end: Whether no messages follow. If so, calls in the last turn may still wait for
            results.

    Raises:
        LateResultError: A result answers a call that an earlier conversion answered as not run, or
            left without a result.
    """
    calls, dropped, last_turn, last_non_assistant = _match_results(messages, log, pairs)
    # Parts are frozen, so each change creates a new object with a new id(). ``replacements`` maps
    # the id() of each original result to its replacement. ``moved_ids`` holds the id() of results
    # that leave their message, and ``inserted_results`` holds these results by the position of
    # their call.
    inserted_results: dict[int, list[ToolResultPart]] = {}
    moved_ids: set[int] = set()
    replacements: dict[int, ToolResultPart] = {}
    pairs.calls = {}
    for call in calls:
        if call.answer is not None:
            answer = copy_call_form(call.answer, call.part)
            if call.is_late:  # it leaves its message, where its path would be looked up
                answer = replace(answer, path=part_path(messages[call.answer_at], answer))
            replacements[id(call.answer)] = answer
            pairs.calls[id(answer)] = call.part
            pairs.answered.add(call.part.id)
            if call.is_late:
                call_path = part_path(messages[call.at], call.part)
                fault = f"the result of {call.part.id!r} comes after other messages"
                log.repaired("late_result", call_path, fault, "it is moved to its call")
                inserted_results.setdefault(call.at, []).append(answer)
                moved_ids.add(id(call.answer))
            continue
        # A call may still wait if no later turn follows. Where each part is a message of its own,
        # it may if nobody but the assistant has spoken since.
        is_items = log.rules.histories.is_items
        is_open = is_end and call.at >= (last_non_assistant if is_items else last_turn)
        _handle_unanswered_call(
            call, messages[call.at], log, pairs, inserted_results, is_open=is_open
        )
    messages = [_replace_results(message, replacements) for message in messages]
    call_positions = {id(call.part): index for index, call in enumerate(calls)}
    messages = [_sort_results(message, log, pairs, call_positions) for message in messages]
    if dropped or inserted_results:
        messages = _rebuild(
            messages, dropped | {id(replacements[key]) for key in moved_ids}, inserted_results
        )
    if log.rules.histories.joins:
        messages = _join_results(messages, log, pairs)
    return list(messages)


def copy_call_form(answer: ToolResultPart, call: ToolCallPart) -> ToolResultPart:
    """If the encoder must write a result, copy the name and the wire
    form of its call to the result.
    """
    if answer.raw is not None:
        return answer
    call_raw = call.raw
    if call_raw is None and plain_text(call.arguments_raw) is not None:
        call_raw = call.arguments_raw
    # ``replace`` costs three times as much, and this is on the path of every turn.
    return ToolResultPart(
        id=answer.id,
        wire_name=call.wire_name,
        text=answer.text,
        code=answer.code,
        is_text=answer.is_text,
        parts=answer.parts,
        has_id=call.has_id,
        call_raw=call_raw,
        path=answer.path,
    )


def _replace_results(message: Message, renewed: dict[int, ToolResultPart]) -> Message:
    if not any(renewed.get(id(part), part) is not part for part in message.parts):
        return message
    parts = tuple(
        renewed.get(id(part), part) if isinstance(part, ToolResultPart) else part
        for part in message.parts
    )
    return replace(message, parts=parts)


def _sort_results(message: Message, log: Log, pairs: Pairs, order: dict[int, int]) -> Message:
    """Sort the results in a message in the order of their calls.

    Sorting is needed if the message has no wire form. It is also needed if the provider has no call
    ids, because the provider then matches results to calls by position.
    """
    results = results_in(message)
    if len(results) == 1 or (message.raw is not None and "call_without_id" not in log.rules):
        return message
    end_rank = len(order)
    ranked = iter(
        sorted(results, key=lambda result: order.get(id(pairs.calls.get(id(result))), end_rank))
    )
    return with_parts(
        message,
        (next(ranked) if isinstance(part, ToolResultPart) else part for part in message.parts),
    )


def _match_results(
    messages: Sequence[Message], log: Log, pairs: Pairs
) -> tuple[list[_Asked], set[int], int, int]:
    """Match results to calls in one pass.

    Usually, a turn is one message. But neighbouring assistant messages are one turn if the provider
    joins them (``joins``): a streaming client may store each chunk as a message, and answer the
    calls of all chunks together. So they are where each part is a message of its own
    (``is_items``).

    Returns:
        The calls with their results, the ``id()`` of each result to drop, the position of the last
        turn, and the position of the last message that is not an assistant message. Both positions
        ignore messages that hold only results.
    """
    calls: list[_Asked] = []
    by_id: dict[str, list[_Asked]] = {}
    dropped: set[int] = set()
    last_turn = last_content = last_non_assistant = -1
    checks_place = "late_result" in log.rules
    is_one_turn = log.rules.histories.joins or log.rules.histories.is_items
    for index, message in enumerate(messages):
        # An empty message also separates a call from its result.
        for part in message.parts or (None,):
            if isinstance(part, ToolResultPart):
                call = _find_call(part, by_id)
                if call is None:
                    _drop_unasked_result(
                        part, message, log, pairs, dropped, is_known=part.id in by_id
                    )
                    continue
                call.answer, call.answer_at = part, index
                call.is_late = checks_place and last_turn > call.at
                continue
            if last_content != index and not (
                is_one_turn and _continues_turn(messages, index, last_content)
            ):
                last_turn = index
            last_content = index
            if message.role != "assistant":
                last_non_assistant = index
            if isinstance(part, ToolCallPart):
                calls.append(_Asked(index, last_turn, part))
                by_id.setdefault(part.id, []).append(calls[-1])
    return calls, dropped, last_turn, last_non_assistant


def _continues_turn(messages: Sequence[Message], at: int, last_content: int) -> bool:
    """Return whether the message at this position continues an
    assistant message directly before it.
    """
    return last_content == at - 1 >= 0 and messages[at].role == messages[at - 1].role == "assistant"


def _find_call(result: ToolResultPart, by_id: dict[str, list[_Asked]]) -> _Asked | None:
    """Return the call that a result answers, or ``None``.

    If several calls share the id, the result answers the first waiting call in the latest turn with
    a waiting call.
    """
    waiting = [call for call in by_id.get(result.id, ()) if call.answer is None]
    return next((call for call in waiting if call.turn == waiting[-1].turn), None)


def _drop_unasked_result(
    part: ToolResultPart,
    message: Message,
    log: Log,
    pairs: Pairs,
    dropped: set[int],
    *,
    is_known: bool,
) -> None:
    """Drop a result that answers no waiting call, if the provider rejects such results.

    Raises:
        LateResultError: An earlier conversion answered the call as not run, or left it without a
            result.
    """
    if part.id in pairs.filled_in or part.id in pairs.left:
        raise LateResultError
    is_known = is_known or part.id in pairs.answered
    if is_known:
        rule: Any = "duplicate_result"
    else:
        rule = "orphan_result"
    if rule in log.rules:
        if is_known:
            problem_text = "is a second result for the same call"
        else:
            problem_text = "answers no call"
        log.repaired(
            rule,
            part_path(message, part),
            f"the result of {part.id!r} {problem_text}",
            "it is left out",
        )
        dropped.add(id(part))


def _handle_unanswered_call(
    call: _Asked,
    message: Message,
    log: Log,
    pairs: Pairs,
    inserted: dict[int, list[ToolResultPart]],
    *,
    is_open: bool,
) -> None:
    part, path = call.part, part_path(message, call.part)
    if is_open:
        if "open_turn" in log.rules:
            hint = "run the pending calls with dispatch()"
            log.refused(
                "open_turn",
                path,
                f"the call of {part.wire_name} ({part.id!r}) has no result yet",
                hint,
            )
        return
    if "unanswered_call" not in log.rules:
        pairs.left.add(part.id)
    else:
        log.repaired(
            "unanswered_call",
            path,
            f"the call {part.id!r} has no result",
            "it is answered as not run",
        )
        answer = ToolResultPart(
            id=part.id,
            wire_name=part.wire_name,
            text=NO_ANSWER,
            code="not_run",
            has_id=part.has_id,
            call_raw=part.raw,
        )
        pairs.calls[id(answer)] = part
        inserted.setdefault(call.at, []).append(answer)
        pairs.filled_in.add(part.id)


def _rebuild(
    messages: Sequence[Message], dropped: set[int], inserted: dict[int, list[ToolResultPart]]
) -> list[Message]:
    """Remove the dropped results, and insert new results after the messages of their calls.

    ``inserted`` maps the position of a message with calls to its new results. If results already
    follow this message, the new results come after them.
    """
    result_messages: list[Message] = []
    pending: list[Message] = []
    for index, message in enumerate(messages):
        remaining = with_parts(message, (part for part in message.parts if id(part) not in dropped))
        if pending and not _is_results(message):
            result_messages += pending
            pending = []
        if remaining.parts or not message.parts:
            result_messages.append(remaining)
        if index in inserted:
            pending.append(Message(role="tool", parts=tuple(inserted[index]), path=message.path))
    return result_messages + pending


def _is_results(message: Message) -> bool:
    return bool(message.parts) and all(isinstance(part, ToolResultPart) for part in message.parts)


def _join_results(messages: Sequence[Message], log: Log, pairs: Pairs) -> list[Message]:
    """Merge neighbouring messages with results into one message, and sort the
    results in the order of their calls.
    """
    # Two messages that the provider sent apart are told of when they are merged; a message without
    # wire form was written here, and merging it changes nothing that was sent before. The order of
    # the calls goes on over all messages of one turn, because the provider may have spread the
    # calls, too.
    joined_messages: list[Message] = []
    order: dict[str, int] = {}
    for message in messages:
        last_message = joined_messages[-1] if joined_messages else None
        if last_message is not None and _is_results(last_message) and results_in(message):
            if (
                last_message.raw is not None
                and message.raw is not None
                and "split_results" in log.rules
            ):
                fault = "the results of one turn are in several messages"
                log.repaired("split_results", message.path, fault, "they are merged into one")
            if "split_results" in log.rules or last_message.raw is None or message.raw is None:
                joined_messages[-1] = _merge_results(
                    _keep_paths(last_message, pairs), _keep_paths(message, pairs), order
                )
                continue
        if calls := calls_in(message):
            order = order if last_message is not None and last_message.role == "assistant" else {}
            order = {**order, **{call.id: len(order) + index for index, call in enumerate(calls)}}
        joined_messages.append(message)
    return joined_messages


def _keep_paths(message: Message, pairs: Pairs) -> Message:
    """Prepare a message for merging: store each part's position in its path, and
    update the pairs for the new parts.
    """
    parts: list[MessagePart] = []
    for part in message.parts:
        parts.append(replace(part, path=part_path(message, part)))
        if (call := pairs.calls.pop(id(part), None)) is not None:
            pairs.calls[id(parts[-1])] = call
    return replace(message, parts=tuple(parts))


def _merge_results(first: Message, second: Message, order: dict[str, int]) -> Message:
    results = sorted(
        [*results_in(first), *results_in(second)],
        key=lambda result: order.get(result.id, len(order)),
    )
    other_parts = [
        part for part in (*first.parts, *second.parts) if not isinstance(part, ToolResultPart)
    ]
    role: Role = "user" if other_parts else "tool"
    return replace(
        second,
        role=role,
        parts=(*results, *other_parts),
        raw=None,
        origin=first.origin or second.origin,
    )

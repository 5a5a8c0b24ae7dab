"""Repairs messages by a provider's rules, and reports the faults that cannot be repaired."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from toolshape._families.wire.histories import NULL, Histories
from toolshape._history.log import Log
from toolshape._history.repairs.ids import Ids, replace_ids
from toolshape._history.repairs.order import order_messages
from toolshape._history.repairs.pairs import Pairs, pair_calls
from toolshape._history.repairs.parts import CONTENT_RULES, TOOL_RULES, blank_text, drop_item_id
from toolshape._history.repairs.server_tools import pair_server_tools
from toolshape._records.errors import Problem
from toolshape.messages import (
    Message,
    MessagePart,
    ProviderPart,
    ReasoningPart,
    Repair,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    calls_in,
    part_path,
    with_parts,
)

_OF_TOOLS = (ToolCallPart, ToolResultPart)


class RepairState:
    """The state after a conversion: ids in use, paired calls, the last message, and
    whether the turn has reasoning.

    ``server_calls`` holds the ids of the provider's own calls in the turn.
    """

    __slots__ = ("has_thought", "ids", "pairs", "previous", "server_calls")

    def __init__(self) -> None:
        self.ids = Ids()
        self.pairs = Pairs()
        self.previous: Message | None = None
        self.has_thought = False
        self.server_calls: set[str] = set()

    def copy(self) -> "RepairState":
        """Return an independent copy."""
        state_copy = RepairState()
        state_copy.ids, state_copy.pairs, state_copy.previous = (
            self.ids.copy(),
            self.pairs.copy(),
            self.previous,
        )
        state_copy.has_thought = self.has_thought
        state_copy.server_calls = set(self.server_calls)
        return state_copy


def repaired(
    messages: Sequence[Message], log: Log, progress: RepairState, *, is_end: bool, thinks: bool
) -> list[Message]:
    """Repair the messages that continue a history, if all earlier messages are already repaired.

    The passes run in a fixed order: drop empty content, pair calls with results, replace ids,
    repair the content of each message, and finally order the messages. Later passes rely on earlier
    passes.

    Args:
        messages: The messages. Each call and result has an id.
        log: The log to which this function adds the repairs and problems.
        progress: The state after the preceding messages. This function updates the object in place.
        is_end: Whether no messages follow.
        thinks: Whether the history contains the model's reasoning.

    Raises:
        LateResultError: A result arrives for a call that an earlier conversion answered as not run,
            or left without a result.
    """
    messages = _drop_empty(messages, log)
    if "server_tool_alone" in log.rules:
        messages = pair_server_tools(messages, log, progress.server_calls, is_end=is_end)
    repaired_messages = pair_calls(messages, log, progress.pairs, is_end=is_end)
    repaired_messages = replace_ids(repaired_messages, log, progress.ids, progress.pairs.calls)
    rules = [rule for name, rule in CONTENT_RULES.items() if name in log.rules]
    tool_message_rules = [*rules, *(rule for name, rule in TOOL_RULES.items() if name in log.rules)]
    for index, message in enumerate(repaired_messages):
        for rule in (
            tool_message_rules
            if any(isinstance(part, _OF_TOOLS) for part in message.parts)
            else rules
        ):
            message = rule(message, log)  # noqa: PLW2901 - each rule changes the result of the previous rule
        repaired_messages[index] = message
    if "item_without_reasoning" in log.rules:
        repaired_messages = [
            _drop_orphaned_item_id(message, log, progress) for message in repaired_messages
        ]
    repaired_messages = order_messages(
        repaired_messages, log, progress.previous, is_end=is_end, thinks=thinks
    )
    if repaired_messages:
        progress.previous = repaired_messages[-1]
    return repaired_messages


def _drop_orphaned_item_id(message: Message, log: Log, progress: RepairState) -> Message:
    """Remove the item id of a call if its turn has no reasoning, because the
    provider would require the reasoning.

    The reasoning may have been lost in storage. If this library read the call from a response (the
    message's origin has a fingerprint), nothing was lost, so the call keeps its id. If a provider's
    own item such as a search precedes the call, the reasoning belongs to this item, and the call
    needs no reasoning.
    """
    if message.role != "assistant":
        progress.has_thought = progress.has_thought and message.role == "tool"
    elif any(isinstance(part, (ReasoningPart, ProviderPart)) for part in message.parts):
        progress.has_thought = True
    elif (
        not progress.has_thought
        and calls_in(message)
        and (message.origin is None or not message.origin.fingerprint)
    ):
        # Only items from the API have a status. OpenAI accepted items without status and reasoning
        # (recorded, 2026).
        is_from_api = isinstance(message.raw, dict) and message.raw.get("status") is not None
        if is_from_api:
            return drop_item_id(message, log)
        return message
    return message


def _drop_empty(messages: Sequence[Message], log: Log) -> list[Message]:
    """Drop the blank text parts and the empty messages that the provider rejects."""
    kept_messages: list[Message] = []
    for message in messages:
        if "blank_text" in log.rules:
            trimmed = blank_text(message, log)
        else:
            trimmed = message
        if trimmed.parts or trimmed.role == "system" or not _is_refused(trimmed, log):
            kept_messages.append(trimmed)
        elif not message.parts:
            log.repaired(
                "empty_message", message.path, "a message has no content", "it is left out"
            )
    return kept_messages


def _is_refused(message: Message, log: Log) -> bool:
    """Return whether the provider rejects an empty message.

    Some providers accept an empty string, but reject null.
    """
    rule = log.rules.active.get("empty_message")
    is_null = isinstance(message.raw, dict) and message.raw.get("content") is None
    return rule is not None and (rule.pattern != NULL or is_null)


def tools_missing(histories: Histories, model: str | None) -> Problem | None:
    """Return the problem of calls in a request without tools, or ``None`` if the
    provider accepts such a request.
    """
    rule = histories.rule("tools_missing", model)
    if rule is None:
        return None
    message, hint = (
        "the history contains calls, but the request has no tools",
        "send the tools with the request",
    )
    return Problem(path="tools", rule=rule.name, message=message, hint=hint, evidence=rule.evidence)


def answers_as_text(
    messages: Sequence[Message], outputs: Collection[str]
) -> tuple[list[Message], list[Repair]]:
    """Write the answers that came as calls as text, and leave out the results of these calls.

    A provider that refuses calls in a request without tools can then be sent them.

    Args:
        messages: The messages.
        outputs: The names of the outputs whose answers these are.
    """
    written: list[Message] = []
    repairs: list[Repair] = []
    ids: set[str] = set()
    for message in messages:
        parts: list[MessagePart] = []
        for part in message.parts:
            if isinstance(part, ToolCallPart) and part.name in outputs:
                ids.add(part.id)
                parts.append(TextPart(text=json.dumps(part.arguments, ensure_ascii=False)))
                note = f"the answer {part.name} is sent as text, because the request has no tools"
                path = part_path(message, part)
                repairs.append(Repair(path=path, rule="tools_missing", note=note))
            elif not (isinstance(part, ToolResultPart) and part.id in ids):
                parts.append(part)
        if parts:
            written.append(with_parts(message, parts))
    return written, repairs


def mark_invalidated(messages: Sequence[Message], repairs: Sequence[Repair]) -> list[Repair]:
    """Record in each repair which later signatures it invalidates, because a
    signature covers all earlier messages.
    """
    signed_paths = [
        (index, part_path(message, part))
        for index, message in enumerate(messages)
        for part in message.parts
        if isinstance(part, ReasoningPart) and part.raw is not None
    ]
    if not signed_paths:
        return list(repairs)
    updated_repairs: list[Repair] = []
    for repair in repairs:
        position = int((re.findall(r"\d+", repair.path) or ["0"])[0])
        updated_repairs.append(
            replace(
                repair, invalidates=tuple(path for index, path in signed_paths if index > position)
            )
        )
    return updated_repairs

"""Messages of one provider in; the same as it takes them, with what was changed and what cannot be, out."""

import re
from collections.abc import Sequence
from dataclasses import replace

from toolshape._errors import Problem
from toolshape._history.contents import CONTENT_RULES, TOOL_RULES, blank_text, without_item_id
from toolshape._history.ids import Ids, with_ids
from toolshape._history.log import Log
from toolshape._history.order import in_order
from toolshape._history.pairing import Pairs, paired
from toolshape._wire.histories import NULL, Histories
from toolshape.messages import (
    Message,
    ProviderPart,
    ReasoningPart,
    Repair,
    ToolCallPart,
    ToolResultPart,
    calls_in,
    part_path,
)

_OF_TOOLS = (ToolCallPart, ToolResultPart)


class RepairState:
    """How far a history is: what the messages before the next ones have used up."""

    __slots__ = ("has_thought", "ids", "pairs", "previous")

    def __init__(self) -> None:
        self.ids = Ids()
        self.pairs = Pairs()
        self.previous: Message | None = None
        self.has_thought = False

    def copy(self) -> "RepairState":
        """The same, to be changed on its own."""
        made = RepairState()
        made.ids, made.pairs, made.previous = self.ids.copy(), self.pairs.copy(), self.previous
        made.has_thought = self.has_thought
        return made


def repaired(
    messages: Sequence[Message], log: Log, progress: RepairState, *, is_end: bool, thinks: bool
) -> list[Message]:
    """Repair messages that follow others.

    Args:
        messages: The messages, each call and result with an id.
        log: Takes what is repaired, and what cannot be.
        progress: Where the messages before them ended; changed in place.
        is_end: Whether nothing follows.
        thinks: Whether the model's reasoning is part of the history.

    Raises:
        LateResultError: A result answers a call that was answered for it before.
    """
    found = paired(_with_content(messages, log), log, progress.pairs, is_end=is_end)
    found = with_ids(found, log, progress.ids, progress.pairs.calls)
    rules = [rule for name, rule in CONTENT_RULES.items() if name in log.rules]
    of_tools = [*rules, *(rule for name, rule in TOOL_RULES.items() if name in log.rules)]
    for at, message in enumerate(found):
        for rule in of_tools if any(isinstance(part, _OF_TOOLS) for part in message.parts) else rules:
            message = rule(message, log)  # noqa: PLW2901 - one rule after another
        found[at] = message
    if "item_without_reasoning" in log.rules:
        found = [_thought_through(message, log, progress) for message in found]
    found = in_order(found, log, progress.previous, is_end=is_end, thinks=thinks)
    if found:
        progress.previous = found[-1]
    return found


def _thought_through(message: Message, log: Log, progress: RepairState) -> Message:
    """A call of a turn in which nothing was thought, without its id: its reasoning may have been lost where it was stored.

    What was dispatched here has lost nothing: the origin names the tools that its model was sent. An item of the
    provider's own before the call, as a search, is what the reasoning led to.
    """
    if message.role != "assistant":
        progress.has_thought = progress.has_thought and message.role == "tool"
    elif any(isinstance(part, (ReasoningPart, ProviderPart)) for part in message.parts):
        progress.has_thought = True
    elif not progress.has_thought and calls_in(message) and (message.origin is None or not message.origin.fingerprint):
        # An item that an application has written has no status: such were taken without reasoning (recorded, 2026).
        is_as_it_came = isinstance(message.raw, dict) and message.raw.get("status") is not None
        return without_item_id(message, log) if is_as_it_came else message
    return message


def _with_content(messages: Sequence[Message], log: Log) -> list[Message]:
    """The messages without those that have none, and without blank texts where these are refused."""
    found: list[Message] = []
    for message in messages:
        kept = blank_text(message, log) if "blank_text" in log.rules else message
        if kept.parts or kept.role == "system" or not _is_refused(kept, log):
            found.append(kept)
        elif not message.parts:
            log.repaired("empty_message", message.path, "a message has no content", "it is left out")
    return found


def _is_refused(message: Message, log: Log) -> bool:
    """Whether a message without content is refused: some take an empty text, and not null."""
    rule = log.rules.active.get("empty_message")
    is_null = isinstance(message.raw, dict) and message.raw.get("content") is None
    return rule is not None and (rule.pattern != NULL or is_null)


def tools_missing(histories: Histories, model: str | None) -> Problem | None:
    """What a provider says of calls in a request that has no tools; ``None`` where it takes them."""
    rule = histories.rule("tools_missing", model)
    if rule is None:
        return None
    message, hint = "calls are in the history, and the request has no tools", "send the tools again"
    return Problem(path="tools", rule=rule.name, message=message, hint=hint, evidence=rule.evidence)


def invalidated(messages: Sequence[Message], repairs: Sequence[Repair]) -> list[Repair]:
    """Repairs with the signed reasoning that stands after each, and no longer holds where it is bound to what it follows."""
    signed = [
        (at, part_path(message, part))
        for at, message in enumerate(messages)
        for part in message.parts
        if isinstance(part, ReasoningPart) and part.raw is not None
    ]
    if not signed:
        return list(repairs)
    found: list[Repair] = []
    for repair in repairs:
        place = int((re.findall(r"\d+", repair.path) or ["0"])[0])
        found.append(replace(repair, invalidates=tuple(path for at, path in signed if at > place)))
    return found

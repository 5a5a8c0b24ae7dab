"""``Histories``: one wire family's messages as data: functions that read and write them, and the rules that they keep."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from toolshape._calls import JsonObject, WireMessage
    from toolshape.messages import Message, ToolCallPart


HistoryRuleName: TypeAlias = Literal[
    "ambiguous_arguments", "blank_text", "call_id", "call_placement", "call_without_id", "content_beside_calls",
    "duplicate_id", "duplicate_result", "empty_error", "empty_message", "first_is_assistant", "foreign_part",
    "foreign_reasoning", "invalid_arguments", "item_id", "item_without_reasoning", "last_is_assistant", "late_result", "malformed_arguments",
    "media_as_text", "media_in_result", "media_kind", "missing_reasoning", "missing_signature", "no_messages", "open_turn",
    "orphan_result", "other_tools", "reasoning_alone", "refused_reasoning", "same_role", "signed_prefix", "split_results",
    "system_between", "system_moved", "text_after_call", "tool_name", "tools_missing", "trailing_space", "unanswered_call",
    "unknown_tool", "user_after_result",
]  # fmt: skip
"""The rules of histories, by the names under which repairs are switched and recorded."""

CARRY_RULES: frozenset[HistoryRuleName] = frozenset(
    {
        "ambiguous_arguments", "foreign_part", "invalid_arguments", "media_as_text", "media_kind", "other_tools",
        "system_moved", "unknown_tool",
    }
)  # fmt: skip
"""What is changed on the way from one provider to another: without that nothing could be sent, and no switch is off."""

NULL = "null"
"""The pattern of ``empty_message`` where only a content that is null is refused."""

IN_ONE_MESSAGE = "in one message"
"""The pattern of ``duplicate_id`` where an id may come again in a later message."""


class HistoryRule(NamedTuple):
    """What a provider refuses of a history, and the evidence for it, with its date.

    ``models`` is searched in the model's name: where it is given, the rule holds for models that match; a model that is
    not named is an empty text.
    ``pattern`` must match the whole of what the rule is about: an id, or a name. Of ``missing_reasoning`` it is the key
    that holds reasoning, of ``refused_reasoning`` the keys that may not; of ``last_is_assistant`` the key of a message
    that may be the last all the same, or the kind of the part that it ends in; of ``blank_text`` what a text is to
    match, where white space is taken.
    """

    name: HistoryRuleName
    evidence: str
    models: str = ""
    pattern: str = ""

    def holds(self, model: str | None) -> bool:
        """Whether the rule holds for a model."""
        return not self.models or re.search(self.models, model or "") is not None


def history_rules(
    evidence: str, *names: HistoryRuleName, models: str = "", pattern: str = ""
) -> tuple[HistoryRule, ...]:
    """Rules that rest on one piece of evidence."""
    return tuple(HistoryRule(name, evidence, models, pattern) for name in names)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Histories:
    """How a provider's messages are read and written.

    Args:
        key: The keyword of a request that holds them.
        model_key: The keyword that holds the model.
        read: One wire message, at a path, as a record; what is not known becomes a ``ProviderPart``.
        read_system: The system prompts of a request, where they stand beside its messages.
        write: A record as wire messages; a part whose ``raw`` is given is written as that.
        system: System prompts as keywords of a request; ``None`` where they stand among the messages.
        is_system_first: Whether those after the first other message stand among the messages all the same.
        joins: Whether calls and results of one turn stand in one message each.
        is_items: Whether each part is a wire message of its own.
        input_kinds: What a user's message can hold: ``"image"``, ``"audio"``, ``"video"`` and ``"file"`` as bytes, and
            each with ``_url`` behind it where it may stand elsewhere.
        media_types: The media types that are taken; ``"text/*"`` for all texts, ``None``: any.
        has_call_ids: Whether a call is written with its id.
        opaque_keys: The keys of a part that only the model that wrote it can read, as signatures.
        write_unsigned: A call as it is taken where no signature of the model is known.
        with_id: A call or a result as it came, with another id or with none; ``None`` where its form has no place for
            an id. Without this function, what gets another id is written as if it came from another provider.
        item_ids: What the provider's own ids of items begin with, by the type of the item.
        continued_by: The keys of a request, or kinds of its items, by which it goes on from what the provider keeps.
        rules: What is refused.
    """

    key: str
    model_key: str = "model"
    read: "Callable[[JsonObject, str], Message]"
    read_system: "Callable[[JsonObject], list[Message]] | None" = None
    write: "Callable[[Message], list[WireMessage]]"
    system: "Callable[[Sequence[Message]], JsonObject] | None" = None
    is_system_first: bool = False
    joins: bool = False
    is_items: bool = False
    input_kinds: frozenset[str] = frozenset()
    media_types: frozenset[str] | None = None
    has_call_ids: bool = True
    opaque_keys: frozenset[str] = frozenset()
    write_unsigned: "Callable[[ToolCallPart], JsonObject] | None" = None
    with_id: "Callable[[JsonObject, str | None], JsonObject | None] | None" = None
    item_ids: Mapping[str, str] = field(default_factory=dict)
    continued_by: frozenset[str] = frozenset()
    rules: tuple[HistoryRule, ...] = ()

    def rule(self, name: HistoryRuleName, model: str | None) -> HistoryRule | None:
        """The rule of a name, if there is one that holds for a model."""
        return next((one for one in self.rules if one.name == name and one.holds(model)), None)

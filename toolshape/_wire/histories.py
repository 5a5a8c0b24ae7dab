"""Defines ``Histories``: how one wire family's messages are read and written, and the rules that they must keep."""

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
"""The names of the rules of histories, which switch and record repairs."""

CARRY_RULES: frozenset[HistoryRuleName] = frozenset(
    {
        "ambiguous_arguments", "foreign_part", "invalid_arguments", "media_as_text", "media_kind", "other_tools",
        "system_moved", "unknown_tool",
    }
)  # fmt: skip
"""Repairs that a conversion between providers needs; they cannot be switched off."""

NULL = "null"
"""The pattern of ``empty_message`` if only a null content is refused."""

IN_ONE_MESSAGE = "in one message"
"""The pattern of ``duplicate_id`` if an id may repeat in a later message."""


class HistoryRule(NamedTuple):
    """One thing that a provider refuses in a history, with dated evidence.

    ``models`` is a regular expression. If it is given, the rule holds only for models whose name contains a match. A
    missing name counts as an empty text. ``pattern`` must match the whole subject of the rule: an id, or a name. Some
    rules use ``pattern`` in another way:

    - ``missing_reasoning``: the key that holds reasoning.
    - ``refused_reasoning``: the keys that may not hold reasoning.
    - ``last_is_assistant``: the key of a message that may be last anyway, or the kind of the part that it ends in.
    - ``blank_text``: the pattern that a text must match; without a pattern, a text needs a character other than white
      space.
    """

    name: HistoryRuleName
    evidence: str
    models: str = ""
    pattern: str = ""

    def holds(self, model: str | None) -> bool:
        """Return whether the rule holds for a model."""
        return not self.models or re.search(self.models, model or "") is not None


def history_rules(
    evidence: str, *names: HistoryRuleName, models: str = "", pattern: str = ""
) -> tuple[HistoryRule, ...]:
    """Return rules that rest on one piece of evidence."""
    return tuple(HistoryRule(name, evidence, models, pattern) for name in names)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Histories:
    """How a provider's messages are read and written.

    Args:
        key: The keyword of a request that holds the messages.
        model_key: The keyword that holds the model.
        read: Reads one wire message, at a path, as a record; unknown parts become ``ProviderPart``.
        read_system: Reads the system prompts of a request, if they are beside its messages.
        write: Writes a record as wire messages; a part with a ``raw`` is written as its ``raw``.
        system: Writes system prompts as keywords of a request; ``None`` if they are among the messages.
        is_system_first: Whether a system prompt after the first other message stays among the messages anyway.
        joins: Whether the calls of a turn are in one message, and its results in another.
        is_items: Whether each part is a wire message of its own.
        input_kinds: What a user's message can hold: ``"image"``, ``"audio"``, ``"video"`` and ``"file"`` as bytes, and
            the same with ``_url`` appended if a URL may point to it.
        media_types: The accepted media types; ``"text/*"`` for all texts, ``None`` for any type.
        has_call_ids: Whether a call is written with its id.
        opaque_keys: The keys of a part that only the model that wrote it can read, such as signatures.
        write_unsigned: Writes a call in the form that is accepted without a signature of the model.
        with_id: Returns a call or a result as it came, with another id or none; ``None`` if its form has no place for
            an id. Without this function, a part that gets another id is written as if another provider wrote it.
        item_ids: The prefixes of the provider's own item ids, by the type of the item.
        continued_by: The keys of a request, or kinds of its items, that continue from state that the provider keeps.
        rules: What the provider refuses.
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
        """Return the rule with this name that holds for a model, or ``None``."""
        return next((rule for rule in self.rules if rule.name == name and rule.holds(model)), None)

"""How a family's messages are read and written, and which rules they must keep, as data."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from toolshape._records.calls import JsonObject, WireMessage
    from toolshape.messages import Message, ProviderPart, ToolCallPart


HistoryRuleName: TypeAlias = Literal[
    "ambiguous_arguments", "blank_signature", "blank_text", "call_id", "call_placement",
    "call_without_id", "content_beside_calls",
    "duplicate_id", "duplicate_result", "empty_error", "empty_message", "first_is_assistant",
    "foreign_part",
    "foreign_reasoning", "invalid_arguments", "item_id", "item_without_reasoning",
    "last_is_assistant", "late_result", "malformed_arguments",
    "media_as_text", "media_in_result", "media_kind", "missing_reasoning", "missing_signature",
    "no_messages", "open_turn",
    "orphan_result", "other_tools", "reasoning_alone", "refused_reasoning", "same_role",
    "server_tool_alone", "signed_prefix",
    "split_results", "system_between", "system_moved", "text_after_call", "tool_name",
    "tools_missing", "trailing_space",
    "unanswered_call", "unknown_tool", "unsigned_reasoning", "user_after_result",
]  # fmt: skip
"""The names of the history rules.

A repair is switched on or off, and recorded, under the name of its rule.
"""

CARRY_RULES: frozenset[HistoryRuleName] = frozenset(
    {
        "ambiguous_arguments", "foreign_part", "invalid_arguments", "media_as_text", "media_kind",
        "other_tools",
        "system_moved", "unknown_tool",
    }
)  # fmt: skip
"""Repairs that a conversion between providers needs; they cannot be switched off."""

NULL = "null"
"""The ``pattern`` of an ``empty_message`` rule for a provider that refuses only null content."""

AN_OBJECT, A_TEXT, JSON_TEXT = "an object", "text", "JSON text"
"""The ``pattern`` of a ``malformed_arguments`` rule for a provider that
requires arguments of this form.

Without a pattern, arguments may also be null or absent.
"""

IN_ONE_MESSAGE = "in one message"
"""The ``pattern`` of a ``duplicate_id`` rule for a provider that accepts a
repeated id in a later message.
"""


class HistoryRule(NamedTuple):
    """One thing that a provider refuses in a history, with dated evidence.

    ``models`` is a regular expression. If it is given, the rule holds only for models whose name
    contains a match. A missing name counts as an empty string. ``pattern`` must match the whole
    subject of the rule: an id, or a name. Some rules use ``pattern`` in another way:

    - ``missing_reasoning``: the key that holds reasoning. The rule holds where the history shows
      that the model thinks, and always for a model whose name contains a match of ``always``.
    - ``refused_reasoning``: the keys that may not hold reasoning.
    - ``last_is_assistant``: which assistant message may be last anyway: a message with a key that
      matches and is ``True``, or a message whose last part is a provider part of a kind that
      matches.
    - ``blank_text``: the pattern that text must match. Without a pattern, text must hold a
      character other than white space.
    """

    name: HistoryRuleName
    evidence: str
    models: str = ""
    pattern: str = ""
    always: str = ""

    def holds(self, model: str | None) -> bool:
        """Return whether the rule holds for a model."""
        return not self.models or re.search(self.models, model or "") is not None


def history_rules(
    evidence: str, *names: HistoryRuleName, models: str = "", pattern: str = "", always: str = ""
) -> tuple[HistoryRule, ...]:
    """Return a rule for each name, all with the same evidence."""
    return tuple(HistoryRule(name, evidence, models, pattern, always) for name in names)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Histories:
    """How to read and write a provider's messages.

    Args:
        key: The request's keyword for the messages.
        model_key: The request's keyword for the model.
        read: Converts one wire message and its path to a ``Message``; unknown parts become
            ``ProviderPart``.
        read_system: Reads the system prompts of a request, if the provider takes them beside the
            messages.
        write: Converts a ``Message`` to wire messages; a part with a ``raw`` is written as its
            ``raw``.
        system: Writes system prompts as keywords of a request; ``None`` if they are among the
            messages.
        is_system_first: Whether ``system`` takes only the system prompts before the first other
            message; later system prompts stay among the messages.
        joins: Whether the provider wants all calls of a turn in one message, and all their results
            in another.
        is_items: Whether each part is a separate wire message.
        input_kinds: The media that a user's message can hold: ``"image"``, ``"audio"``, ``"video"``
            and ``"file"`` stand for bytes, and the same names with ``_url`` appended for URLs.
        media_types: The accepted media types; ``"text/*"`` for all types of text, ``None`` for any
            type.
        has_call_ids: Whether a call is written with its id.
        opaque_keys: The keys of a part whose values only the model that wrote them can read, such
            as signatures.
        write_unsigned: Writes a call in the form that the provider accepts without the model's
            signature.
        with_id: Returns the ``raw`` of a call or a result with another id, or without an id;
            ``None`` if this ``raw`` has no field for an id. Without this function, a part that gets
            another id loses its ``raw``, and is written like another provider's part.
        item_ids: The prefixes of the ids that the provider gives to items, by the type of the item.
        continued_by: The keys or item kinds by which a request continues from state that the
            provider keeps.
        own_call: Takes a part that only the provider knows. Returns the id of the call that the
            provider runs itself, if the part is one, and the id of the call that the part answers,
            if it does.
        without_blank: Returns the ``raw`` of a result without the texts inside of it that the
            provider refuses as blank; the same object if there are none.
        rules: The rules by which the provider refuses a history.
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
    own_call: "Callable[[ProviderPart], tuple[str | None, str | None]] | None" = None
    without_blank: "Callable[[JsonObject], JsonObject] | None" = None
    rules: tuple[HistoryRule, ...] = ()

    def rule(self, name: HistoryRuleName, model: str | None) -> HistoryRule | None:
        """Return the rule with this name that holds for a model, or ``None``."""
        return next((rule for rule in self.rules if rule.name == name and rule.holds(model)), None)

"""Cohere v2 chat: messages, calls and results. Types read in cohere 7.3.1 on 2026-11-20; the strict dialect is in its documentation of 2025."""

from collections.abc import Sequence

from toolshape._calls import WireMessage
from toolshape._families.cohere.schema import without_null
from toolshape._families.openai import messages as openai_messages
from toolshape._results import Result
from toolshape._wire.histories import Histories, history_rules
from toolshape._wire.server import OutboundCall


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    [message] = openai_messages.say(calls)
    return [{key: value for key, value in message.items() if key != "content"}]


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """One message a call. There is no error flag."""
    return [
        {"role": "tool", "tool_call_id": result.call.id, "content": openai_messages.content(result)}
        for result in results
    ]


HISTORIES = Histories(
    key="messages",
    read=openai_messages.read,
    write=lambda message: [without_null(one) for one in openai_messages.write_with(message, encode, is_text=True)],
    input_kinds=frozenset({"image", "image_url"}),
    rules=(
        *history_rules(
            "oracle/langchain-oracle#10, 2025-08",
            "unanswered_call",
            "open_turn",
            "orphan_result",
            "duplicate_result",
            "late_result",
        ),
        *history_rules("cohere 7.3.1 ToolCallV2: the id is required, 2026-11-22", "call_id", pattern=r"(?s).+"),
    ),
)

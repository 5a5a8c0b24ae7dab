"""Reads and writes the messages of Cohere's v2 chat API, mostly in OpenAI's form.

The types come from cohere 7.3.1, read on 2026-11-20. Cohere's documentation of 2025 describes the
strict dialect.
"""

from collections.abc import Sequence
from functools import partial

from toolshape._families.cohere.schema import without_null
from toolshape._families.openai import messages as openai_messages
from toolshape._families.wire.histories import Histories, history_rules
from toolshape._records.calls import WireCall, WireMessage


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    [message] = openai_messages.write_calls(calls)
    return [{key: value for key, value in message.items() if key != "content"}]


FORM = openai_messages.VendorForm()
"""Cohere takes one message for each result, without an error flag."""
write_results = partial(openai_messages.write_results_as, FORM)


HISTORIES = Histories(
    key="messages",
    read=openai_messages.read,
    with_id=openai_messages.with_id,
    write=lambda message: [
        without_null(written) for written in openai_messages.write(message, FORM)
    ],
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
        *history_rules(
            "cohere 7.3.1 ToolCallV2: the id is required, 2026-11-22", "call_id", pattern=r"(?s).+"
        ),
    ),
)

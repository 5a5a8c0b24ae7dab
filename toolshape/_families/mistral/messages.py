"""Writes Mistral's messages where they differ from OpenAI's, and holds Mistral's rules.

The types come from mistralai 3.7.0 and mistral-common 1.13.1, read on 2026-11-20.
"""

from dataclasses import replace
from functools import partial

from toolshape._families.openai import messages as openai_messages
from toolshape._families.wire.histories import IN_ONE_MESSAGE, history_rules

FORM = openai_messages.VendorForm(name_key="name")
"""Mistral needs as many results as calls, each with the name of its tool. There is no error flag.
"""
write_results = partial(openai_messages.write_results_as, FORM)


HISTORIES = replace(
    openai_messages.HISTORIES,
    write=partial(openai_messages.write, form=FORM),
    input_kinds=frozenset({"image", "image_url"}),
    rules=(
        *history_rules(
            "mistral-common 1.13.1 MistralRequestValidatorV11, 2026-11-22",
            "unanswered_call",
            "open_turn",
            "orphan_result",
            "duplicate_result",
            "late_result",
        ),
        *history_rules(
            "mistral-common 1.13.1 MistralRequestValidatorV11, 2026-11-22: in one message",
            "duplicate_id",
            pattern=IN_ONE_MESSAGE,
        ),
        *history_rules(
            "zed-industries/zed#53034, 2026-04: nine letters and digits, until tokenizer V13",
            "call_id",
            pattern=r"[a-zA-Z0-9]{9}",
        ),
        *history_rules(
            "mistral-common 1.13.1 MistralRequestValidatorV3, 2026-11-22: before V5 no content "
            "beside calls",
            "content_beside_calls",
            models=r"7b|8x7b|8x22b|codestral-22b",
        ),
        *history_rules("mistral-common 1.13.1, 2026-11-22", "tool_name"),
        *history_rules(
            "mistral-common 1.13.1 _validate_message_order, 2026-11-22", "system_between"
        ),
        *history_rules(
            "mistral-common 1.13.1 _validate_tool_calls_followed_by_tool_messages, 2026-11-23: "
            "calls of the first "
            "message are not expected to be answered",
            "call_placement",
        ),
        *history_rules(
            "mistral-common 1.13.1 _validate_last_message, 2026-11-22",
            "last_is_assistant",
            pattern="prefix",
        ),
        *history_rules(
            "NousResearch/hermes-agent#20154, 2026-05; not seen again in aaif-goose/goose#5998",
            "user_after_result",
        ),
        *history_rules(
            "OpenMinis/OpenMinis#87, 2026-07",
            "refused_reasoning",
            pattern="reasoning_content|reasoning",
        ),
        *history_rules(
            "mistral-common 1.13.1: no images in results before V15, 2026-11-22", "media_in_result"
        ),
    ),
)

"""Asks Gemini's Interactions API for an answer in a schema, and finds it in the steps.

The types come from google-genai 3.6.1, read on 2026-11-25. If a request has an unknown field, the
whole request fails (js-genai#1571, 2026-05).
"""

from collections.abc import Sequence

from toolshape._families.wire.content import visible_text
from toolshape._families.wire.provider import AnswerText, OutputForm, OutputSchema, SentOutput
from toolshape._families.wire.server_json import as_object
from toolshape._records.calls import JsonObject, WireMessage


def keywords(output: OutputSchema) -> JsonObject:
    return {
        "response_format": {
            "type": "text",
            "mime_type": "application/json",
            "schema": output.schema,
        }
    }


def answer(assistant: Sequence[WireMessage]) -> AnswerText:
    """Return the text of all ``model_output`` steps."""
    return AnswerText(
        "".join(visible_text(step) for step in assistant if step.get("type") == "model_output")
    )


def sent(body: JsonObject) -> SentOutput | None:
    schema = as_object(body.get("response_format")).get("schema")
    if schema is None:
        return None
    return SentOutput("response_format.schema", schema)


OUTPUT = OutputForm(
    keywords=keywords,
    answer=answer,
    sent=sent,
    takes_any_root=True,
    is_always_strict=True,
    evidence="TextResponseFormat of google-genai 3.6.1, 2026-11-25",
)

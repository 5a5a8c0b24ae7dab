"""Writes ``text.format`` for the Responses API, and finds the answer in the items.

The types come from openai 3.57.0, read on 2026-11-25. toolshape always sends ``strict``, as for
tools, because the documentation does not say what the server does without it.
"""

from collections.abc import Sequence

from toolshape._families.openai.output import named_schema, read_named_schema
from toolshape._families.openai.schema import NAMES
from toolshape._families.wire.bodies import member
from toolshape._families.wire.provider import AnswerText, OutputForm, OutputSchema, SentOutput
from toolshape._families.wire.server_json import as_object
from toolshape._records.calls import JsonObject, WireMessage


def keywords(output: OutputSchema) -> JsonObject:
    return {
        "text": {
            "format": {"type": "json_schema", "strict": output.is_strict, **named_schema(output)}
        }
    }


def answer(assistant: Sequence[WireMessage]) -> AnswerText:
    """Return the text of the messages in the final-answer phase, and
    of the messages without a phase.
    """
    messages = [
        item
        for item in assistant
        if item.get("type") == "message" and item.get("phase") in (None, "final_answer")
    ]
    pieces = [piece for item in messages for piece in item.get("content") or ()]
    texts = [member(piece, "text") for piece in pieces if member(piece, "type") == "output_text"]
    refusals = [member(piece, "refusal") for piece in pieces if member(piece, "type") == "refusal"]
    return AnswerText("".join(filter(None, texts)), "".join(filter(None, refusals)))


def sent(body: JsonObject) -> SentOutput | None:
    form = as_object(as_object(body.get("text")).get("format"))
    if form.get("type") == "json_schema":
        return read_named_schema(form, "text.format")
    return None


OUTPUT = OutputForm(
    keywords=keywords,
    answer=answer,
    sent=sent,
    names=NAMES,
    has_description=True,
    evidence="ResponseFormatTextJSONSchemaConfig of openai 3.57.0, 2026-11-25",
)

"""Writes ``response_format`` for OpenAI's Chat Completions, and finds the answer in a message.

The types come from openai 3.57.0, read on 2026-11-25. The server refuses a ``strict`` flag beside
``json_schema`` (BerriAI/litellm#10320).
"""

from collections.abc import Sequence

from toolshape._families.openai.schema import NAMES
from toolshape._families.wire.content import visible_text
from toolshape._families.wire.provider import AnswerText, OutputForm, OutputSchema, SentOutput
from toolshape._families.wire.server_json import as_object
from toolshape._records.calls import JsonObject, WireMessage, new_record


def keywords(output: OutputSchema) -> JsonObject:
    return {"response_format": {"type": "json_schema", "json_schema": named_schema(output)}}


def named_schema(output: OutputSchema) -> JsonObject:
    """Write a schema with its name.

    Add the description if there is one, and ``strict`` if the schema is strict.
    """
    fields: JsonObject = {"name": output.name, "schema": output.schema}
    if output.description:
        fields["description"] = output.description
    if output.is_strict:
        fields["strict"] = True
    return fields


def answer(assistant: Sequence[WireMessage]) -> AnswerText:
    """Return the text of the last message, and the text of its refusal if there is one."""
    if not assistant:
        return AnswerText("")
    refusal, content = assistant[-1].get("refusal"), assistant[-1].get("content")
    if type(content) is str and refusal is None:  # nearly every answer
        return new_record(AnswerText, (content, ""))
    return AnswerText(visible_text(assistant[-1]), refusal if isinstance(refusal, str) else "")


def sent(body: JsonObject) -> SentOutput | None:
    """Read the output schema from a request, and whether it is strict.

    OpenAI enforces only a strict schema.
    """
    response_format = as_object(body.get("response_format"))
    if response_format.get("type") != "json_schema":
        return None
    return read_named_schema(
        as_object(response_format.get("json_schema")), "response_format.json_schema"
    )


def read_named_schema(named: JsonObject, path: str) -> SentOutput:
    return SentOutput(
        f"{path}.schema", named.get("schema"), named.get("name"), named.get("strict") is True
    )


OUTPUT = OutputForm(
    keywords=keywords,
    answer=answer,
    sent=sent,
    names=NAMES,
    has_description=True,
    evidence="ResponseFormatJSONSchema of openai 3.57.0, 2026-11-25",
)

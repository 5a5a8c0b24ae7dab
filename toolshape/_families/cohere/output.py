"""Writes ``response_format`` for Cohere's v2 chat API.

From the types of cohere 7.3.1, read on 2026-11-25.
"""

from toolshape._families.wire.content import answer_text
from toolshape._families.wire.provider import NotBesideTools, OutputForm, OutputSchema, SentOutput
from toolshape._families.wire.server_json import as_object
from toolshape._records.calls import JsonObject


def keywords(output: OutputSchema) -> JsonObject:
    """Write the schema.

    The format has no name, description or strict flag (JsonObjectResponseFormatV2).
    """
    return {"response_format": {"type": "json_object", "json_schema": output.schema}}


def sent(body: JsonObject) -> SentOutput | None:
    schema = as_object(body.get("response_format")).get("json_schema")
    if schema is None:
        return None
    return SentOutput("response_format.json_schema", schema)


OUTPUT = OutputForm(
    keywords=keywords,
    sent=sent,
    answer=answer_text,
    is_always_strict=True,
    not_beside_tools=NotBesideTools("Cohere's API reference of response_format, 2025", ""),
    evidence="JsonObjectResponseFormatV2 of cohere 7.3.1, and its structured outputs documentation, "
    "2025",
)

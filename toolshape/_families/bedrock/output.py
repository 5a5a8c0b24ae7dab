"""Writes ``outputConfig.textFormat`` for Bedrock's Converse API, with the schema as JSON text.

The types come from botocore 1.44.8, bedrock-runtime/2023-09-30, read on 2026-11-25. The schema
dialect is the same as for strict tools (user guide, 2026).
"""

import contextlib
import json
from typing import Any

from toolshape._families.wire.content import answer_text
from toolshape._families.wire.provider import NameRule, OutputForm, OutputSchema, SentOutput
from toolshape._families.wire.server_json import as_object
from toolshape._records.calls import JsonObject


def keywords(output: OutputSchema) -> JsonObject:
    schema: JsonObject = {
        "schema": json.dumps(output.schema, separators=(",", ":")),
        "name": output.name,
    }
    if output.description:
        schema["description"] = output.description
    return {
        "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}
    }


def sent(body: JsonObject) -> SentOutput | None:
    """Read the output schema that a request holds; if the schema is not
    JSON text, return it unchanged.
    """
    form = as_object(as_object(body.get("outputConfig")).get("textFormat"))
    named_schema = as_object(as_object(form.get("structure")).get("jsonSchema"))
    if form.get("type") != "json_schema":
        return None
    schema: Any = named_schema.get("schema")
    with contextlib.suppress(TypeError, ValueError):
        schema = json.loads(schema)
    return SentOutput(
        "outputConfig.textFormat.structure.jsonSchema.schema", schema, named_schema.get("name")
    )


OUTPUT = OutputForm(
    keywords=keywords,
    sent=sent,
    answer=answer_text,  # the text blocks of a message; reasoning blocks have no "text"
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="no rule is documented (botocore 1.44.8 JsonSchemaDefinition): 1 to 64 of a-z A-Z "
        "0-9 _ -, as for tools",
    ),
    has_description=True,
    takes_any_root=True,
    is_always_strict=True,
    evidence="OutputConfig of botocore 1.44.8; its user guide names Claude 4.5 and 4.6 and some open "
    "models, 2026-09-26",
)

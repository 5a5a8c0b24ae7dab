"""Writes ``response_format`` for xAI's gRPC protocol, which takes the schema as JSON text.

Bodies are JSON with the protocol's fields, which come from xai-sdk 1.21.0, read on 2026-11-25.
"""

import json

from toolshape._families.wire.content import answer_text
from toolshape._families.wire.provider import OutputForm, OutputSchema
from toolshape._records.calls import JsonObject


def keywords(output: OutputSchema) -> JsonObject:
    schema = json.dumps(output.schema, separators=(",", ":"))
    return {"response_format": {"format_type": "FORMAT_TYPE_JSON_SCHEMA", "schema": schema}}


OUTPUT = OutputForm(
    keywords=keywords,
    answer=answer_text,
    is_always_strict=True,
    evidence="ResponseFormat of xai-sdk 1.21.0, 2026-11-25",
)

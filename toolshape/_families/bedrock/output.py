"""Writes ``outputConfig.textFormat`` for AWS Bedrock's Converse API, whose schema is a JSON text.

Read in botocore 1.44.8, bedrock-runtime/2023-09-30, on 2026-11-25. The subset is that of strict tools (user guide, 2026).
"""

import json

from toolshape._calls import JsonObject
from toolshape._wire.content import answer_text
from toolshape._wire.provider import NameRule, OutputForm, OutputSchema


def keywords(output: OutputSchema) -> JsonObject:
    schema: JsonObject = {"schema": json.dumps(output.schema, separators=(",", ":")), "name": output.name}
    if output.description:
        schema["description"] = output.description
    return {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}}


OUTPUT = OutputForm(
    keywords=keywords,
    answer=answer_text,  # a message's blocks of text; blocks of reasoning hold theirs elsewhere
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="no rule is documented (botocore 1.44.8 JsonSchemaDefinition): 1 to 64 of a-z A-Z 0-9 _ -, as for tools",
    ),
    has_description=True,
    is_always_strict=True,
    evidence="OutputConfig of botocore 1.44.8; its user guide names Claude 4.5 and 4.6 and some open models, 2026-09-26",
)

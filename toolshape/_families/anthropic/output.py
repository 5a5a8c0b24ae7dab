"""Writes ``output_config.format`` for Anthropic's Messages API.

The types come from anthropic 2.13.0, read on 2026-11-25. The schema dialect is the same as for
strict tools, and the server constrains every answer (structured outputs documentation, 2026-09-26).
If a request has the older field ``output_format`` without its beta header, the server refuses it.
"""

from toolshape._families.wire.content import answer_text
from toolshape._families.wire.provider import OutputForm, OutputSchema, SentOutput
from toolshape._families.wire.server_json import as_object
from toolshape._records.calls import JsonObject


def keywords(output: OutputSchema) -> JsonObject:
    """Write the schema.

    The format has no field for a name, a description or a strict flag (JSONOutputFormatParam).
    """
    return {"output_config": {"format": {"type": "json_schema", "schema": output.schema}}}


def sent(body: JsonObject) -> SentOutput | None:
    form = as_object(as_object(body.get("output_config")).get("format"))
    if form.get("type") == "json_schema":
        return SentOutput("output_config.format.schema", form.get("schema"))
    return None


OUTPUT = OutputForm(
    keywords=keywords,
    sent=sent,
    answer=answer_text,  # the text blocks of a message; thinking blocks have no "text"
    takes_any_root=True,
    is_always_strict=True,
    evidence="JSONOutputFormatParam of anthropic 2.13.0, and the structured outputs documentation, "
    "2026-09-26",
)

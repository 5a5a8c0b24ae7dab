"""Writes ``format`` for Ollama's ``/api/chat``.

The types come from ollama 0.6.3 and from the server's source, read on 2026-11-25. The server
converts the schema to a grammar, as llama.cpp does.
"""

from toolshape._families.openai.vendor_outputs import GRAMMAR_RULES
from toolshape._families.wire.content import answer_text
from toolshape._families.wire.provider import NotBesideTools, OutputForm, OutputSchema, SentOutput
from toolshape._records.calls import JsonObject


def keywords(output: OutputSchema) -> JsonObject:
    """Write the schema as an object.

    The request has no field for a name, a description or a strict flag.
    """
    return {"format": output.schema}


def sent(body: JsonObject) -> SentOutput | None:
    """Read the schema. The string ``json`` asks for any JSON, so it is not a schema."""
    schema = body.get("format")
    if isinstance(schema, dict):
        return SentOutput("format", schema)
    return None


OUTPUT = OutputForm(
    keywords=keywords,
    sent=sent,
    answer=answer_text,
    schema=GRAMMAR_RULES,
    is_always_strict=True,
    not_beside_tools=NotBesideTools(
        "the grammar of the answer leaves no place for a call: ollama/ollama#8095, #13750, 2026-01",
        None,
    ),
    evidence="ChatRequest of ollama 0.6.3, and its structured outputs documentation, 2026-11-25",
)

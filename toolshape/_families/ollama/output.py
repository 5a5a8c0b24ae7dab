"""Writes ``format`` for Ollama's ``/api/chat``.

Read in ollama 0.6.3 and the server's source on 2026-11-25. The server makes a grammar of the schema, as
llama.cpp does.
"""

from toolshape._calls import JsonObject
from toolshape._families.openai.vendor_outputs import GRAMMAR_RULES
from toolshape._wire.content import answer_text
from toolshape._wire.provider import OutputForm, OutputSchema


def keywords(output: OutputSchema) -> JsonObject:
    """Write the schema as an object. There is no place for a name, a description or a flag."""
    return {"format": output.schema}


OUTPUT = OutputForm(
    keywords=keywords,
    answer=answer_text,
    schema=GRAMMAR_RULES,
    is_always_strict=True,
    not_beside_tools="the grammar of the answer leaves no place for a call: ollama/ollama#8095, #13750, 2026-01",
    evidence="ChatRequest of ollama 0.6.3, and its structured outputs documentation, 2026-11-25",
)

"""Writes ``responseJsonSchema`` or ``responseSchema`` for Gemini's generateContent, and finds the answer in a content.

Types read in google-genai 3.6.1 on 2026-11-25. The SDK adds no media type, which the server needs beside a schema.
"""

from collections.abc import Sequence

from toolshape._calls import JsonObject, WireMessage
from toolshape._wire.bodies import member
from toolshape._wire.provider import AnswerText, OutputForm, OutputSchema


def keywords(output: OutputSchema) -> JsonObject:
    return {"config": {"responseMimeType": "application/json", "responseJsonSchema": output.schema}}


def openapi_keywords(output: OutputSchema) -> JsonObject:
    return {"config": {"responseMimeType": "application/json", "responseSchema": output.schema}}


def answer(assistant: Sequence[WireMessage]) -> AnswerText:
    """Return the text of all parts that are no thoughts: an answer may come in several, and with a blank at its end."""
    parts = assistant[-1].get("parts") or () if assistant else ()
    texts = [member(part, "text") for part in parts if not member(part, "thought")]
    return AnswerText("".join(text for text in texts if isinstance(text, str)))


# A 400 says so for models before Gemini 3, which takes both (alphaXiv/agents#3). A tool works for all of them.
BESIDE_TOOLS = "googleapis/python-genai#867, 2025-05; vercel/ai#16540, 2026-07"
OUTPUT = OutputForm(
    keywords=keywords,
    answer=answer,
    is_always_strict=True,
    not_beside_tools=BESIDE_TOOLS,
    evidence="GenerateContentConfig of google-genai 3.6.1, and ai.google.dev's structured output guide, 2026",
)
OPENAPI_OUTPUT = OutputForm(
    keywords=openapi_keywords,
    answer=answer,
    is_always_strict=True,
    not_beside_tools=BESIDE_TOOLS,
    evidence="Schema of google-genai 3.6.1, 2026-11-25",
)

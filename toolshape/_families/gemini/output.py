"""Writes ``responseJsonSchema`` or ``responseSchema`` for Gemini's generateContent, and finds the answer in a content.

Types read in google-genai 3.6.1 on 2026-11-25. The SDK adds no media type, which the server needs beside a schema.
"""

from collections.abc import Sequence
from dataclasses import replace

from toolshape._calls import JsonObject, WireMessage
from toolshape._wire.bodies import member
from toolshape._wire.provider import AnswerText, NotBesideTools, OutputForm, OutputSchema, SentOutput
from toolshape._wire.server_json import mapping


def keywords(output: OutputSchema) -> JsonObject:
    return {"config": {"responseMimeType": "application/json", "responseJsonSchema": output.schema}}


def openapi_keywords(output: OutputSchema) -> JsonObject:
    return {"config": {"responseMimeType": "application/json", "responseSchema": output.schema}}


def answer(assistant: Sequence[WireMessage]) -> AnswerText:
    """Return the text of all parts that are no thoughts: an answer may come in several, and with a blank at its end."""
    parts = assistant[-1].get("parts") or () if assistant else ()
    texts = [member(part, "text") for part in parts if not member(part, "thought")]
    return AnswerText("".join(text for text in texts if isinstance(text, str)))


_DIALECTS = {"responseJsonSchema": "gemini", "responseSchema": "gemini-openapi"}


def sent(body: JsonObject) -> SentOutput | None:
    """Read the schema in either field; the SDK's own name of the object that holds them is ``config``."""
    config = mapping(body.get("generationConfig", body.get("config")))
    for key, dialect in _DIALECTS.items():
        if config.get(key) is not None:
            return SentOutput(f"generationConfig.{key}", config[key], dialect=dialect)
    return None


# A 400 says so for models before Gemini 3, which takes both (alphaXiv/agents#3). A tool works for all of them.
BESIDE_TOOLS = NotBesideTools("googleapis/python-genai#867, 2025-05; vercel/ai#16540, 2026-07", r"gemini-[12]")
OUTPUT = OutputForm(
    keywords=keywords,
    sent=sent,
    answer=answer,
    takes_any_root=True,  # the guide's first example asks for a list
    is_always_strict=True,
    not_beside_tools=BESIDE_TOOLS,
    evidence="GenerateContentConfig of google-genai 3.6.1, and ai.google.dev's structured output guide, 2026",
)
OPENAPI_OUTPUT = replace(OUTPUT, keywords=openapi_keywords, evidence="Schema of google-genai 3.6.1, 2026-11-25")

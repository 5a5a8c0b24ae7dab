"""Asks Gemini's generateContent for an answer in a schema, and finds it in the response.

The schema is ``responseJsonSchema`` or ``responseSchema``. The types come from google-genai 3.6.1,
read on 2026-11-25. A request with a schema must also state a media type, which the SDK does not
add.
"""

from collections.abc import Sequence
from dataclasses import replace

from toolshape._families.wire.bodies import member
from toolshape._families.wire.provider import (
    AnswerText,
    NotBesideTools,
    OutputForm,
    OutputSchema,
    SentOutput,
)
from toolshape._families.wire.server_json import as_object
from toolshape._records.calls import JsonObject, WireMessage


def keywords(output: OutputSchema) -> JsonObject:
    return {"config": {"responseMimeType": "application/json", "responseJsonSchema": output.schema}}


def openapi_keywords(output: OutputSchema) -> JsonObject:
    return {"config": {"responseMimeType": "application/json", "responseSchema": output.schema}}


def answer(assistant: Sequence[WireMessage]) -> AnswerText:
    """Join the text of all parts except thoughts: an answer may come in several
    parts, and the last may be blank.
    """
    parts = assistant[-1].get("parts") or () if assistant else ()
    texts = [member(part, "text") for part in parts if not member(part, "thought")]
    return AnswerText("".join(text for text in texts if isinstance(text, str)))


_DIALECTS = {"responseJsonSchema": "gemini", "responseSchema": "gemini-openapi"}


def sent(body: JsonObject) -> SentOutput | None:
    """Read the schema from either of its fields in ``generationConfig``,
    which the SDK calls ``config``.
    """
    config = as_object(body.get("generationConfig", body.get("config")))
    for key, dialect in _DIALECTS.items():
        if config.get(key) is not None:
            return SentOutput(f"generationConfig.{key}", config[key], dialect=dialect)
    return None


# If a request has both a schema and tools, models before Gemini 3 refuse it with a 400; Gemini 3
# accepts it (alphaXiv/agents#3). All models can return the answer through a tool.
BESIDE_TOOLS = NotBesideTools(
    "googleapis/python-genai#867, 2025-05; vercel/ai#16540, 2026-07", r"gemini-[12]"
)
OUTPUT = OutputForm(
    keywords=keywords,
    sent=sent,
    answer=answer,
    takes_any_root=True,  # the guide's first example asks for a list
    is_always_strict=True,
    not_beside_tools=BESIDE_TOOLS,
    evidence="GenerateContentConfig of google-genai 3.6.1, and ai.google.dev's structured output "
    "guide, 2026",
)
OPENAPI_OUTPUT = replace(
    OUTPUT, keywords=openapi_keywords, evidence="Schema of google-genai 3.6.1, 2026-11-25"
)

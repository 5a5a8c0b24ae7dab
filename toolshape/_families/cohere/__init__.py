"""Cohere's v2 chat API."""

from toolshape._families.cohere import server
from toolshape._families.cohere.messages import HISTORIES, write_calls, write_results
from toolshape._families.cohere.output import OUTPUT
from toolshape._families.cohere.responses import (
    FINISHES,
    ending,
    fold,
    read,
    recognises,
    text_delta,
    usage,
)
from toolshape._families.cohere.schema import FORMATS, STRICT, STRICT_KEYWORDS, envelope, request
from toolshape._families.openai import OPENAI
from toolshape._families.wire.provider import (
    Budget,
    Codec,
    Facts,
    NameRule,
    Provider,
    RequestForm,
    ResponseForm,
    SchemaRules,
)
from toolshape._schema import checks as rules
from toolshape._schema.checks import cited

COHERE = Provider(
    name="cohere",
    family="cohere",
    form="cohere",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="no rule is documented: 1 to 64 of a-z A-Z 0-9 _ -, as elsewhere",
    ),
    schema=SchemaRules(
        refuses=cited("cohere 7.3.1 ToolV2Function", rules.root_is_object),
        refuses_strict=cited(
            "Cohere's structured outputs documentation, 2025",
            rules.known_keywords(*STRICT_KEYWORDS),
            rules.known_formats(*FORMATS),
            rules.typed,
            rules.one_type,
            rules.one_required,
        ),
        lenient=OPENAI.schema.lenient,
        strict=STRICT,
        budget=Budget(
            properties=200,
            is_shared=True,
            evidence="Cohere's structured outputs documentation, 2025",
        ),
    ),
    request=RequestForm(envelope=envelope, keywords=request),
    codec=Codec(write_calls=write_calls, write_results=write_results),
    response=ResponseForm(
        recognises=recognises,
        read=read,
        finishes=FINISHES,
        unfinished=frozenset({""}),
        fold=fold,
        usage=usage,
        ending=ending,
        text_delta=text_delta,
    ),
    histories=HISTORIES,
    server=server.SERVER,
    output=OUTPUT,
    facts=Facts(
        arguments="JSON text",
        malformed="the text as the model wrote it",
        declined="no `tool_calls`; `finish_reason` `COMPLETE`",
        strict="the request's `strict_tools`, for all tools",
        needs="`tool_plan` is replayed; `tool_choice` for Command R7B and newer",
    ),
)
PROVIDERS = (COHERE,)

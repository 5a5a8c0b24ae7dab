"""Cohere v2 chat."""

from toolshape._families.cohere import server
from toolshape._families.cohere.messages import HISTORIES, encode, say
from toolshape._families.cohere.responses import FINISHES, fold, read, recognises
from toolshape._families.cohere.schema import FORMATS, STRICT, STRICT_KEYWORDS, envelope, request
from toolshape._families.openai import OPENAI
from toolshape._schema import checks as rules
from toolshape._schema.checks import cited
from toolshape._wire.provider import Budget, Facts, NameRule, Provider
from toolshape._wire.request_checks import entry_keys, required_fields
from toolshape._wire.server import request_rules

COHERE = Provider(
    name="cohere",
    family="cohere",
    form="cohere",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="no rule is documented: 1 to 64 of a-z A-Z 0-9 _ -, as elsewhere",
    ),
    refuses=cited("cohere 7.3.1 ToolV2Function", rules.root_is_object),
    refuses_strict=cited(
        "Cohere's structured outputs documentation, 2025",
        rules.known_keywords(*STRICT_KEYWORDS),
        rules.known_formats(*FORMATS),
        rules.typed,
        rules.one_type,
        rules.one_required,
    ),
    lenient=OPENAI.lenient,
    strict=STRICT,
    budget=Budget(properties=200, is_shared=True, evidence="Cohere's structured outputs documentation, 2025"),
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes=FINISHES,
    fold=fold,
    say=say,
    encode=encode,
    histories=HISTORIES,
    facts=Facts(
        arguments="JSON text",
        malformed="the text as the model wrote it",
        declined="no `tool_calls`; `finish_reason` `COMPLETE`",
        strict="the request's `strict_tools`, for all tools",
        needs="`tool_plan` is replayed; `tool_choice` at Command R7B and newer",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    refuses_request=(
        *request_rules("cohere 7.3.1 V2ChatRequest, 2026-11-22", required_fields("model", "messages")),
        *request_rules(
            "a recorded 422: parameter 'strict' is not a valid field",
            entry_keys("function", "name", "description", "parameters"),
        ),
    ),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
    wordings=server.WORDINGS,
)
PROVIDERS = (COHERE,)

"""Ollama, ``/api/chat``."""

from dataclasses import replace

from toolshape._families.ollama import messages, server
from toolshape._families.ollama.messages import encode, say
from toolshape._families.ollama.responses import fold, read, recognises
from toolshape._families.ollama.schema import CLIENT, SERVER, SERVER_KEYWORDS, client_keywords, envelope, request
from toolshape._families.openai import server as openai_server
from toolshape._schema import checks as rules
from toolshape._schema.checks import cited
from toolshape._wire.provider import Facts, NameRule, Provider
from toolshape._wire.request_checks import required_fields
from toolshape._wire.server import request_rules

OLLAMA = Provider(
    name="ollama",
    family="ollama",
    form="ollama",
    names=NameRule(pattern=r"(?s).+", longest=10_000, evidence="any name; the server's source, 2026-08-21"),
    refuses=(
        *cited("ollama 0.6.3 Tool", rules.root_is_object, client_keywords, is_refused=False),
        *cited("the server's source, 2026-08-21", rules.known_keywords(*SERVER_KEYWORDS), is_refused=False),
    ),
    lenient=CLIENT,
    strict=None,
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes={"stop": "stop", "length": "length", "error": "error"},
    fold=fold,
    carries=frozenset({"image"}),
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="an object",
        malformed="text: what does not parse is no call",
        declined="no `tool_calls`; `done_reason` is `stop` with and without",
        strict="none; nothing is enforced",
    ),
    endpoint=server.ENDPOINT,
    read_request=openai_server.read_counted_request,
    refuses_request=request_rules("ollama 0.6.3 ChatRequest, 2026-11-22", required_fields("model")),
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
)
PROVIDERS = (
    OLLAMA,
    replace(
        OLLAMA,
        name="ollama:server",
        lenient=SERVER,
        refuses=(
            *cited(
                "the server's source, 2026-08-21",
                rules.root_is_object,
                rules.known_keywords(*SERVER_KEYWORDS),
                is_refused=False,
            ),
        ),
    ),
)

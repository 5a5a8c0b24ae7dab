"""Mistral, chat completions."""

from dataclasses import replace

from toolshape._families.mistral import server
from toolshape._families.mistral.messages import HISTORIES, encode
from toolshape._families.mistral.responses import fold, read
from toolshape._families.openai import server as openai_server
from toolshape._families.openai import vendors as openai_vendors
from toolshape._schema import checks as rules
from toolshape._schema.checks import cited
from toolshape._wire.provider import Facts, NameRule
from toolshape._wire.request_checks import entry_keys, required_fields
from toolshape._wire.server import request_rules
from toolshape._wire.server_json import KEY

MISTRAL = replace(
    openai_vendors.VENDOR,
    name="mistral",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; mistral-common 1.13.1, and its server's refusals",
    ),
    refuses=(
        *cited("mistralai 3.7.0 Function", rules.root_is_object),
        *cited("pdf-reader-mcp#63, 2026", rules.bounds_are_numbers),
    ),
    read=read,
    fold=fold,
    carries=frozenset(),
    encode=encode,
    histories=HISTORIES,
    facts=Facts(
        arguments="JSON text or an object",
        malformed="the text as the model wrote it",
        declined="no `tool_calls`",
        strict="`function.strict`, its dialect undocumented",
        needs="older models take ids of nine letters and digits only",
    ),
    endpoint=openai_server.ENDPOINT._replace(variables={"MISTRAL_API_KEY": KEY}),
    read_request=server.read_request,
    refuses_request=(
        *request_rules("mistralai 3.7.0 ChatCompletionRequest, 2026-11-22", required_fields("model", "messages")),
        *request_rules(
            "a recorded 422: extra_forbidden at tools.0.function.required",
            entry_keys("function", "name", "description", "strict", "parameters"),
        ),
    ),
    request_fields=server.REQUEST_FIELDS,
    unfold=openai_server.unfold_whole_calls,
    error=server.error,
    wordings=server.WORDINGS,
)
PROVIDERS = (MISTRAL,)

"""Ollama's ``/api/chat``."""

from dataclasses import replace

from toolshape._families.ollama import messages, server
from toolshape._families.ollama.messages import write_calls, write_results
from toolshape._families.ollama.output import OUTPUT
from toolshape._families.ollama.responses import (
    ending,
    fold,
    is_last,
    read,
    recognises,
    text_delta,
    usage,
)
from toolshape._families.ollama.schema import (
    CLIENT,
    SERVER,
    SERVER_KEYWORDS,
    client_keywords,
    envelope,
    request,
)
from toolshape._families.openai.text_place import TEXT_PLACE
from toolshape._families.openai.unparsed import left_calls
from toolshape._families.wire.provider import (
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

OLLAMA = Provider(
    name="ollama",
    family="ollama",
    form="ollama",
    names=NameRule(
        pattern=r"(?s).+", longest=10_000, evidence="any name; the server's source, 2026-08-21"
    ),
    schema=SchemaRules(
        refuses=(
            *cited("ollama 0.6.3 Tool", rules.root_is_object, client_keywords, is_refused=False),
            *cited(
                "the server's source, 2026-08-21",
                rules.known_keywords(*SERVER_KEYWORDS),
                is_refused=False,
            ),
        ),
        lenient=CLIENT,
        strict=None,
    ),
    request=RequestForm(envelope=envelope, keywords=request),
    codec=Codec(carries=frozenset({"image"}), write_calls=write_calls, write_results=write_results),
    response=ResponseForm(
        recognises=recognises,
        read=read,
        finishes={"stop": "stop", "length": "length", "error": "error"},
        fold=fold,
        usage=usage,
        ending=ending,
        text_delta=text_delta,
        left_calls=left_calls,
        text_place=TEXT_PLACE._replace(is_last=is_last),
    ),
    histories=messages.HISTORIES,
    server=server.SERVER,
    output=OUTPUT,
    facts=Facts(
        arguments="an object",
        malformed="text, if the server cannot parse the call",
        declined="no `tool_calls`; `done_reason` is `stop` with and without calls",
        strict="none; nothing is enforced",
    ),
)
PROVIDERS = (
    OLLAMA,
    replace(
        OLLAMA,
        name="ollama:server",
        schema=replace(
            OLLAMA.schema,
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
    ),
)

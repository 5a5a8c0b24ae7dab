"""OpenAI Responses."""

from dataclasses import replace

from toolshape._families.openai import OLDER, OPENAI
from toolshape._families.openai_responses import messages, server
from toolshape._families.openai_responses.messages import encode, say
from toolshape._families.openai_responses.responses import fold, read, recognises
from toolshape._families.openai_responses.schema import (
    deferred,
    envelope,
    gathered,
    is_deferred,
    refused_beside,
    request,
)
from toolshape._wire.bodies import member
from toolshape._wire.provider import Deferral, Facts
from toolshape._wire.server import request_rules

OPENAI_RESPONSES = replace(
    OPENAI,
    name="openai-responses",
    family="openai-responses",
    form="openai-responses",
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes={
        "completed": "stop",
        "max_output_tokens": "length",
        "content_filter": "refusal",
        "failed": "error",
        "cancelled": "error",
    },
    fold=fold,
    carries=frozenset({"image", "file"}),
    say=say,
    encode=encode,
    gather=gathered,
    deferral=Deferral(
        mark=deferred,
        is_marked=is_deferred,
        search={"type": "tool_search"},
        is_search=lambda tool: member(tool, "type") == "tool_search",
        refused=refused_beside,
        evidence="FunctionToolParam, NamespaceToolParam and ToolSearchToolParam of openai 3.51.0, and the guide to tool "
        "search (gpt-5.4 and later), 2026-11-20; a search without a deferred tool, and one the other way round, is "
        "refused: justrach/codegraff#746, Wei-Shaw/sub2api#5942",
    ),
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="JSON text",
        malformed='the text as the model wrote it; `""` for no arguments',
        declined="no `function_call` item; perhaps a `refusal` part of a message",
        strict="`strict`, always said: left out, the server decides",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    refuses_request=request_rules(
        "justrach/codegraff#746 and Wei-Shaw/sub2api#5942, 2026; read 2026-11-23", server.deferral_and_search
    ),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    wordings=server.WORDINGS,
)
PROVIDERS = (
    OPENAI_RESPONSES,
    replace(
        OPENAI_RESPONSES,
        name="openai-responses:minimal",
        strict=OLDER.strict,
        refuses_strict=OLDER.refuses_strict,
        longest_description=OLDER.longest_description,
    ),
)

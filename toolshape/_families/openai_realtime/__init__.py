"""OpenAI's Realtime API: one session, many responses."""

from dataclasses import replace

from toolshape._families.openai import OPENAI
from toolshape._families.openai_realtime.messages import write_calls, write_results
from toolshape._families.openai_realtime.schema import envelope, request
from toolshape._families.openai_realtime.server import SERVER
from toolshape._families.openai_realtime.session import (
    ending,
    incomplete,
    read,
    read_event,
    recognises,
    usage,
)
from toolshape._families.wire.provider import (
    Codec,
    Facts,
    RequestForm,
    ResponseForm,
    never_streamed,
)
from toolshape._families.wire.sessions import SessionForm

EVIDENCE = (
    "openai.types.realtime of openai 3.57.0, and recorded sessions of OpenAI and Azure, 2026-11-28"
)

OPENAI_REALTIME = replace(
    OPENAI,
    name="openai-realtime",
    family="openai-realtime",
    form="openai-realtime",
    # A key that it does not know makes the server refuse the whole update: "Unknown parameter:
    # 'session.tools[0].strict'" (livekit/agents#3210, 2025).
    schema=replace(OPENAI.schema, strict=None, refuses_strict=()),
    request=RequestForm(envelope=envelope, keywords=request),
    codec=Codec(carries=frozenset(), write_calls=write_calls, write_results=write_results),
    response=ResponseForm(
        recognises=recognises,
        read=read,
        fold=never_streamed,
        finishes={
            "completed": "stop",
            "max_output_tokens": "length",
            "content_filter": "refusal",
            "failed": "error",
        },
        usage=usage,
        ending=ending,
    ),
    session=SessionForm(
        read=read_event,
        incomplete=incomplete,
        go_on={"type": "response.create"},
        evidence=EVIDENCE,
        server=SERVER,
    ),
    histories=None,
    server=None,
    output=None,
    batch=None,
    facts=Facts(
        arguments="JSON text",
        malformed="the text as the model wrote it",
        declined="no `function_call` item",
        strict="none",
        needs="`session=` of `session.update`",
    ),
)
PROVIDERS = (OPENAI_REALTIME,)

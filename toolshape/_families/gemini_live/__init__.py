"""Google Gemini's Live API: one session, many turns."""

from dataclasses import replace

from toolshape._families.gemini import GEMINI_OPENAPI, GEMINI_OPENAPI_UPPER
from toolshape._families.gemini_live.server import SERVER
from toolshape._families.gemini_live.session import (
    incomplete,
    read,
    read_event,
    recognises,
    request,
    write_calls,
    write_results,
)
from toolshape._families.wire.provider import Codec, Facts, ResponseForm, never_streamed
from toolshape._families.wire.sessions import SessionForm

# Live does not read parametersJsonSchema, and says nothing: the model then guesses the arguments
# (googleapis/python-genai#1147, livekit/agents#3135).
GEMINI_LIVE = replace(
    GEMINI_OPENAPI_UPPER,
    name="gemini-live",
    family="gemini-live",
    form="gemini-live",
    schema=replace(GEMINI_OPENAPI_UPPER.schema, strict=None, refuses_strict=()),
    request=replace(GEMINI_OPENAPI.request, keywords=request),
    codec=Codec(carries=frozenset(), write_calls=write_calls, write_results=write_results),
    response=ResponseForm(recognises=recognises, read=read, fold=never_streamed, finishes={}),
    session=SessionForm(
        read=read_event,
        incomplete=incomplete,
        go_on=None,
        evidence="LiveServerMessage of google-genai 3.6.1, "
        "ai.google.dev/gemini-api/docs/live-api/tools, 2026-11-28",
        server=SERVER,
    ),
    histories=None,
    server=None,
    output=None,
    batch=None,
    facts=Facts(
        arguments="an object, or nothing",
        malformed="no call",
        declined="no `toolCall`",
        strict="none",
        needs="`config=` of `live.connect`",
    ),
)
PROVIDERS = (GEMINI_LIVE,)

"""Google Gemini, Interactions."""

from toolshape._families.gemini import GEMINI
from toolshape._families.gemini import schema as gemini_schema
from toolshape._families.gemini import server as gemini_server
from toolshape._families.gemini_interactions import messages, server
from toolshape._families.gemini_interactions.messages import encode, say
from toolshape._families.gemini_interactions.responses import FINISHES, fold, read, recognises
from toolshape._families.gemini_interactions.schema import envelope, request
from toolshape._wire.provider import Facts, Provider

GEMINI_INTERACTIONS = Provider(
    name="gemini-interactions",
    family="gemini-interactions",
    form="gemini-interactions",
    names=GEMINI.names,
    refuses=GEMINI.refuses,
    lenient=gemini_schema.JSON_SCHEMA,
    strict=gemini_schema.JSON_SCHEMA,
    most_tools=GEMINI.most_tools,
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes=FINISHES,
    fold=fold,
    carries=frozenset({"image", "file", "audio", "video"}),
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="an object",
        malformed="no call: `status` `failed` or `incomplete`",
        declined="no `function_call` step; `status` `completed`",
        strict="the request's choice `validated`",
        needs="`previous_interaction_id`, or all steps of the conversation as they came",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    respond=server.respond,
    unfold=server.unfold,
    error=gemini_server.error,
)
PROVIDERS = (GEMINI_INTERACTIONS,)

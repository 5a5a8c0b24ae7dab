"""Google Gemini's Interactions API."""

from toolshape._families.gemini import GEMINI, schema as gemini_schema
from toolshape._families.gemini_interactions import messages, server
from toolshape._families.gemini_interactions.messages import write_calls, write_results
from toolshape._families.gemini_interactions.output import OUTPUT
from toolshape._families.gemini_interactions.responses import (
    FINISHES,
    ending,
    fold,
    read,
    recognises,
    text_delta,
    usage,
)
from toolshape._families.gemini_interactions.schema import envelope, request
from toolshape._families.wire.provider import (
    Codec,
    Facts,
    Provider,
    RequestForm,
    ResponseForm,
    SchemaRules,
)

GEMINI_INTERACTIONS = Provider(
    name="gemini-interactions",
    family="gemini-interactions",
    form="gemini-interactions",
    names=GEMINI.names,
    schema=SchemaRules(
        refuses=GEMINI.schema.refuses,
        lenient=gemini_schema.JSON_SCHEMA,
        strict=gemini_schema.JSON_SCHEMA,
    ),
    request=RequestForm(most_tools=GEMINI.request.most_tools, envelope=envelope, keywords=request),
    codec=Codec(
        carries=frozenset({"image", "file", "audio", "video"}),
        write_calls=write_calls,
        write_results=write_results,
    ),
    response=ResponseForm(
        recognises=recognises,
        read=read,
        finishes=FINISHES,
        unfinished=frozenset({"in_progress"}),
        fold=fold,
        usage=usage,
        ending=ending,
        text_delta=text_delta,
    ),
    histories=messages.HISTORIES,
    server=server.SERVER,
    output=OUTPUT,
    facts=Facts(
        arguments="an object",
        malformed="no call: `status` `failed` or `incomplete`",
        declined="no `function_call` step; `status` `completed`",
        strict="the request's choice `validated`",
        needs="`previous_interaction_id`, or all steps of the conversation as they came",
    ),
)
PROVIDERS = (GEMINI_INTERACTIONS,)

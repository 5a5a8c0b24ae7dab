"""AWS Bedrock's Converse API."""

from toolshape._families.anthropic import ANTHROPIC, schema as anthropic_schema
from toolshape._families.bedrock import messages, server
from toolshape._families.bedrock.batches import BEDROCK_BATCH
from toolshape._families.bedrock.messages import write_calls, write_results
from toolshape._families.bedrock.output import OUTPUT
from toolshape._families.bedrock.responses import (
    FINISHES,
    ending,
    fold,
    read,
    recognises,
    text_delta,
    usage,
)
from toolshape._families.bedrock.schema import envelope, gather, request
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

BEDROCK = Provider(
    name="bedrock",
    family="bedrock",
    form="bedrock",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; botocore 1.44.5 ToolName",
    ),
    schema=SchemaRules(
        # Each model has different rules for keywords. According to the documentation, strict tools
        # may use the same subset of JSON Schema as Claude's strict tools.
        refuses=cited("aws-sdk-net#3377; recorded 400s", rules.root_is_object),
        refuses_strict=anthropic_schema.DIALECT,
        lenient=ANTHROPIC.schema.lenient,
        strict=ANTHROPIC.schema.strict,
    ),
    request=RequestForm(envelope=envelope, gather=gather, keywords=request),
    codec=Codec(
        carries=frozenset({"image", "file", "video"}),
        write_calls=write_calls,
        write_results=write_results,
    ),
    response=ResponseForm(
        recognises=recognises,
        read=read,
        finishes=FINISHES,
        fold=fold,
        usage=usage,
        ending=ending,
        text_delta=text_delta,
    ),
    histories=messages.HISTORIES,
    server=server.SERVER,
    output=OUTPUT,
    batch=BEDROCK_BATCH,
    facts=Facts(
        arguments="an object",
        malformed="no call: `stopReason` `malformed_tool_use`",
        declined="`stopReason` `end_turn`, or `guardrail_intervened`",
        strict="`toolSpec.strict`, for newer models",
        needs="`toolConfig` in every request whose history holds a call",
    ),
)
PROVIDERS = (BEDROCK,)

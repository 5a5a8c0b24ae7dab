"""AWS Bedrock Converse."""

from toolshape._families.anthropic import ANTHROPIC
from toolshape._families.anthropic import schema as anthropic_schema
from toolshape._families.bedrock import messages, server
from toolshape._families.bedrock.messages import encode, say
from toolshape._families.bedrock.responses import FINISHES, fold, read, recognises
from toolshape._families.bedrock.schema import envelope, gather, request
from toolshape._schema import checks as rules
from toolshape._schema.checks import cited
from toolshape._wire.provider import Facts, NameRule, Provider
from toolshape._wire.request_checks import required_fields, schemas_are_objects
from toolshape._wire.server import request_rules

BEDROCK = Provider(
    name="bedrock",
    family="bedrock",
    form="bedrock",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; botocore 1.44.5 ToolName",
    ),
    # Keywords are the model's own business; the strict subset is documented as Claude's.
    refuses=cited("aws-sdk-net#3377; recorded 400s", rules.root_is_object),
    refuses_strict=anthropic_schema.DIALECT,
    lenient=ANTHROPIC.lenient,
    strict=ANTHROPIC.strict,
    envelope=envelope,
    gather=gather,
    request=request,
    recognises=recognises,
    read=read,
    finishes=FINISHES,
    fold=fold,
    carries=frozenset({"image", "file", "video"}),
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="an object",
        malformed="no call: `stopReason` `malformed_tool_use`",
        declined="`stopReason` `end_turn`, or `guardrail_intervened`",
        strict="`toolSpec.strict`, at newer models",
        needs="`toolConfig` in every request whose history holds a call",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    refuses_request=(
        *request_rules("botocore 1.44.5 ConverseRequest, 2026-11-22", required_fields("modelId")),
        *request_rules("a recorded 400: a json object is to be provided", schemas_are_objects),
    ),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
    wordings=server.WORDINGS,
)
PROVIDERS = (BEDROCK,)

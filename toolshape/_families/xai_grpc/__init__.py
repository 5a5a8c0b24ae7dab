"""xAI's gRPC protocol, which xAI's SDK uses."""

from dataclasses import replace

from toolshape._families.openai import vendors as openai_vendors
from toolshape._families.openai.responses import usage
from toolshape._families.xai_grpc import messages
from toolshape._families.xai_grpc.messages import write_calls, write_results
from toolshape._families.xai_grpc.output import OUTPUT
from toolshape._families.xai_grpc.responses import fold, read, recognises, text_delta
from toolshape._families.xai_grpc.schema import envelope, request

XAI_GRPC = replace(
    openai_vendors.XAI,
    name="xai:grpc",
    family="xai:grpc",
    form="xai:grpc",
    request=replace(openai_vendors.XAI.request, envelope=envelope, keywords=request),
    codec=replace(
        openai_vendors.XAI.codec,
        write_calls=write_calls,
        carries=frozenset(),
        write_results=write_results,
    ),
    response=replace(
        openai_vendors.XAI.response,
        recognises=recognises,
        read=read,
        finishes={
            "REASON_STOP": "stop",
            "REASON_TOOL_CALLS": "tool_calls",
            "REASON_MAX_LEN": "length",
            "REASON_MAX_CONTEXT": "length",
        },
        fold=fold,
        usage=usage,
        text_delta=text_delta,
    ),
    histories=messages.HISTORIES,
    server=None,  # the fake server supports only HTTP, not gRPC
    output=OUTPUT,
)
PROVIDERS = (XAI_GRPC,)

"""xAI over gRPC, as its SDK speaks it."""

from dataclasses import replace

from toolshape._families.openai import vendors as openai_vendors
from toolshape._families.xai_grpc import messages
from toolshape._families.xai_grpc.messages import encode, say
from toolshape._families.xai_grpc.responses import fold, read, recognises
from toolshape._families.xai_grpc.schema import envelope, request

XAI_GRPC = replace(
    openai_vendors.XAI,
    name="xai:grpc",
    family="xai:grpc",
    form="xai:grpc",
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes={
        "REASON_STOP": "stop",
        "REASON_TOOL_CALLS": "tool_calls",
        "REASON_MAX_LEN": "length",
        "REASON_MAX_CONTEXT": "length",
    },
    fold=fold,
    say=say,
    carries=frozenset(),
    encode=encode,
    histories=messages.HISTORIES,
    endpoint=None,  # gRPC, and no fake speaks it
    read_request=None,
    respond=None,
    unfold=None,
    error=None,
)
PROVIDERS = (XAI_GRPC,)

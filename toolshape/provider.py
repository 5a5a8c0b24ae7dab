"""Everything that the author of a ``Provider`` needs, re-exported from where it stands.

A provider is one frozen record: a name rule, rewrites in their order, and functions from JSON to JSON. A package
registers it as an entry point of the group ``toolshape.providers``; ``toolshape.testing.check_provider`` holds it to
the laws.
"""

from toolshape import parts
from toolshape.calls import Finish, JsonObject, JsonSchema, Spec, WireCall, WireMessage
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from toolshape.parts import File, Image, Part, Text
from toolshape.providers import available, family_of, get, recognised
from toolshape.results import Result
from toolshape.schema import arrows, checks, constrained, lens, limits, rewrites, values, walk
from toolshape.wire import bodies, ids
from toolshape.wire.histories import IN_ONE_MESSAGE, Encode, Histories, HistoryRule, history_rules
from toolshape.wire.provider import (
    Budget,
    Choice,
    Completed,
    Deferral,
    Facts,
    Limit,
    NameRule,
    OutboundCall,
    Provider,
    Read,
    Reading,
    Strictness,
    never_streamed,
    unsupported,
)
from toolshape.wire.server import (
    Completion,
    CompletionCall,
    Endpoint,
    Refusal,
    RequestFault,
    RequestRead,
    RequestRule,
    SentTool,
    Wording,
    request_rules,
)

__all__ = [
    "IN_ONE_MESSAGE",
    "Budget",
    "Choice",
    "Completed",
    "Completion",
    "CompletionCall",
    "Deferral",
    "Encode",
    "Endpoint",
    "Facts",
    "File",
    "Finish",
    "Histories",
    "HistoryRule",
    "Image",
    "JsonObject",
    "JsonSchema",
    "Limit",
    "MediaPart",
    "Message",
    "MessagePart",
    "NameRule",
    "OutboundCall",
    "Part",
    "Provider",
    "ProviderPart",
    "Read",
    "Reading",
    "ReasoningPart",
    "Refusal",
    "RequestFault",
    "RequestRead",
    "RequestRule",
    "Result",
    "SentTool",
    "Spec",
    "Strictness",
    "Text",
    "TextPart",
    "ToolCallPart",
    "ToolResultPart",
    "WireCall",
    "WireMessage",
    "Wording",
    "arrows",
    "available",
    "bodies",
    "checks",
    "constrained",
    "family_of",
    "get",
    "history_rules",
    "ids",
    "lens",
    "limits",
    "never_streamed",
    "parts",
    "recognised",
    "request_rules",
    "rewrites",
    "unsupported",
    "values",
    "walk",
]

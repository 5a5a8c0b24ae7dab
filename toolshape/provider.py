"""The public names for authors of a ``Provider``, re-exported from the private modules.

A provider is one frozen record: a name rule, rewrites in their order, and functions from JSON to JSON. A package
registers its provider as an entry point of the group ``toolshape.providers``. ``toolshape.testing.check_provider``
checks a provider against the laws.
"""

from toolshape import _parts as parts
from toolshape._calls import Finish, JsonObject, JsonSchema, Spec, Strictness, WireCall, WireMessage
from toolshape._families import available, family_of, get, recognised
from toolshape._parts import File, Image, Part, Text
from toolshape._results import Result
from toolshape._schema import arrows, checks, constrained, lens, limits, rewrites, values, walk
from toolshape._wire import bodies, ids
from toolshape._wire.histories import IN_ONE_MESSAGE, Histories, HistoryRule, history_rules
from toolshape._wire.provider import (
    Budget,
    Choice,
    Codec,
    Completed,
    Deferral,
    Facts,
    Limit,
    NameRule,
    Provider,
    Read,
    Reading,
    RequestForm,
    ResponseForm,
    SchemaRules,
    never_streamed,
    unsupported,
)
from toolshape._wire.server import (
    Completion,
    Endpoint,
    Refusal,
    RequestFault,
    RequestRead,
    RequestRule,
    SentTool,
    Server,
    Wording,
    request_rules,
)
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

__all__ = [
    "IN_ONE_MESSAGE",
    "Budget",
    "Choice",
    "Codec",
    "Completed",
    "Completion",
    "Deferral",
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
    "Part",
    "Provider",
    "ProviderPart",
    "Read",
    "Reading",
    "ReasoningPart",
    "Refusal",
    "RequestFault",
    "RequestForm",
    "RequestRead",
    "RequestRule",
    "ResponseForm",
    "Result",
    "SchemaRules",
    "SentTool",
    "Server",
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

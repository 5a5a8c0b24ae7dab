"""Describe a function once; send it to every model provider, and read every call back as the function's own arguments."""

import importlib
import typing

from toolshape.bound import Bound
from toolshape.calls import Call, Coercion, Finding, Namespace, Spec
from toolshape.context import CallContext, Progress
from toolshape.dispatch.collector import Collector
from toolshape.dispatch.plan import Plan
from toolshape.errors import (
    CallError,
    DefinitionError,
    ExportError,
    HistoryError,
    Problem,
    ResponseError,
    TokenError,
    ToolError,
    ToolshapeError,
    UsageError,
)
from toolshape.function.annotations import Injected
from toolshape.parts import File, Image, Text
from toolshape.registry import Registry
from toolshape.results import PendingCall, Result, Results
from toolshape.tool import Tool, tool
from toolshape.validation.coercion import Coerce

if typing.TYPE_CHECKING:
    from toolshape.conversation import Conversation
    from toolshape.failures.explain import Failure, explain
    from toolshape.messages import Message, Repair, Repaired

__all__ = [
    "Bound",
    "Call",
    "CallContext",
    "CallError",
    "Coerce",
    "Coercion",
    "Collector",
    "Conversation",
    "DefinitionError",
    "ExportError",
    "Failure",
    "File",
    "Finding",
    "HistoryError",
    "Image",
    "Injected",
    "Message",
    "Namespace",
    "PendingCall",
    "Plan",
    "Problem",
    "Progress",
    "Registry",
    "Repair",
    "Repaired",
    "ResponseError",
    "Result",
    "Results",
    "Spec",
    "Text",
    "TokenError",
    "Tool",
    "ToolError",
    "ToolshapeError",
    "UsageError",
    "explain",
    "tool",
]

_LATER = {
    "Conversation": "toolshape.conversation",
    "Failure": "toolshape.failures.explain",
    "Message": "toolshape.messages",
    "Repair": "toolshape.messages",
    "Repaired": "toolshape.messages",
    "explain": "toolshape.failures.explain",
}
"""What stands in rooms that importing us does not load, and where."""


if not typing.TYPE_CHECKING:  # a type checker is to find misspelt names

    def __getattr__(name: str) -> typing.Any:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"importlib", "typing"})

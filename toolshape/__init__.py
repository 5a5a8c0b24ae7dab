"""Describe a function once; send it to every model provider, and read every call back as the function's own arguments."""

import importlib
import typing

from toolshape._calls import Call, Coercion, Finding, Namespace, Spec
from toolshape._context import CallContext, Progress
from toolshape._errors import (
    AnswerError,
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
from toolshape._function.annotations import Injected
from toolshape._parts import File, Image, Text
from toolshape._registry import Registry
from toolshape._results import PendingCall, ResponseWarning, Result, Results
from toolshape._tool import Tool, tool
from toolshape._validation.coercion import Coerce

if typing.TYPE_CHECKING:
    from toolshape._answer import Answer
    from toolshape._bound import Bound
    from toolshape._bound_output import AnswerCollector, BoundOutput
    from toolshape._conversation import Conversation
    from toolshape._dispatch.approval import Deny
    from toolshape._dispatch.collector import Collector
    from toolshape._dispatch.partial_calls import PartialCall
    from toolshape._dispatch.plan import Plan
    from toolshape._failures.explain import Failure, explain
    from toolshape._output import Output
    from toolshape.messages import Message, Repair, Repaired

__all__ = [
    "Answer",
    "AnswerCollector",
    "AnswerError",
    "Bound",
    "BoundOutput",
    "Call",
    "CallContext",
    "CallError",
    "Coerce",
    "Coercion",
    "Collector",
    "Conversation",
    "DefinitionError",
    "Deny",
    "ExportError",
    "Failure",
    "File",
    "Finding",
    "HistoryError",
    "Image",
    "Injected",
    "Message",
    "Namespace",
    "Output",
    "PartialCall",
    "PendingCall",
    "Plan",
    "Problem",
    "Progress",
    "Registry",
    "Repair",
    "Repaired",
    "ResponseError",
    "ResponseWarning",
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


for _name in __all__:
    _found = globals().get(_name)
    if isinstance(_found, type):
        _found.__module__ = __name__  # tracebacks and pickles name this stable public module

_LATER = {
    "Answer": "toolshape._answer",
    "AnswerCollector": "toolshape._bound_output",
    "Bound": "toolshape._bound",
    "BoundOutput": "toolshape._bound_output",
    "Collector": "toolshape._dispatch.collector",
    "Conversation": "toolshape._conversation",
    "Deny": "toolshape._dispatch.approval",
    "Failure": "toolshape._failures.explain",
    "Message": "toolshape.messages",
    "Output": "toolshape._output",
    "PartialCall": "toolshape._dispatch.partial_calls",
    "Plan": "toolshape._dispatch.plan",
    "Repair": "toolshape.messages",
    "Repaired": "toolshape.messages",
    "explain": "toolshape._failures.explain",
}
"""Maps public names to modules that are imported at first use. The classes in them set ``__module__`` themselves."""


if not typing.TYPE_CHECKING:  # type checkers can then report misspelt names

    def __getattr__(name: str) -> typing.Any:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"importlib", "typing"})

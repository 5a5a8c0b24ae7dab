"""Describe a function once; send it to every model provider, and read every tool call back."""

import importlib
import typing

from toolshape._bound.registry import Registry
from toolshape._function.annotations import Injected
from toolshape._records.calls import Call, Coercion, Finding, Grammar, Namespace, Spec
from toolshape._records.context import CallContext, Progress
from toolshape._records.errors import (
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
from toolshape._records.parts import File, Image, Text
from toolshape._records.result import PendingCall, ResponseWarning, Result, Usage
from toolshape._tools.tool import Tool, tool
from toolshape._validation.coercion import Coerce

if typing.TYPE_CHECKING:
    from toolshape import (  # noqa: I001 - type checkers export what is imported "as" itself
        bridges as bridges,
        contract as contract,
        evals as evals,
        ledger as ledger,
        mcp as mcp,
        messages as messages,
        openapi as openapi,
        otel as otel,
        provider as provider,
        testing as testing,
        text as text,
        trace as trace,
    )
    from toolshape._answers.bound_output import AnswerCollector, BoundOutput
    from toolshape._bound.batches import BatchLine
    from toolshape._answers.output import Output
    from toolshape._bound.bound import Bound
    from toolshape._conversation.conversation import Conversation
    from toolshape._failures.explain import Failure, explain
    from toolshape._plan.approval import Deny
    from toolshape._plan.collector import Collector
    from toolshape._plan.partial_calls import PartialCall
    from toolshape._plan.plan import Plan
    from toolshape._plan.session import Session
    from toolshape._plan.results import Answer, Results
    from toolshape.messages import Message, Repair, Repaired

__all__ = [
    "Answer",
    "AnswerCollector",
    "AnswerError",
    "BatchLine",
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
    "Grammar",
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
    "Session",
    "Spec",
    "Text",
    "TokenError",
    "Tool",
    "ToolError",
    "ToolshapeError",
    "Usage",
    "UsageError",
    "explain",
    "tool",
]


for _name in __all__:
    _found = globals().get(_name)
    if isinstance(_found, type):
        _found.__module__ = __name__  # tracebacks and pickles name this stable public module

_LATER = {
    "Answer": "toolshape._plan.results",
    "AnswerCollector": "toolshape._answers.bound_output",
    "BatchLine": "toolshape._bound.batches",
    "Bound": "toolshape._bound.bound",
    "BoundOutput": "toolshape._answers.bound_output",
    "Collector": "toolshape._plan.collector",
    "Conversation": "toolshape._conversation.conversation",
    "Deny": "toolshape._plan.approval",
    "Failure": "toolshape._failures.explain",
    "Message": "toolshape.messages",
    "Output": "toolshape._answers.output",
    "PartialCall": "toolshape._plan.partial_calls",
    "Plan": "toolshape._plan.plan",
    "Repair": "toolshape.messages",
    "Repaired": "toolshape.messages",
    "Results": "toolshape._plan.results",
    "Session": "toolshape._plan.session",
    "explain": "toolshape._failures.explain",
}
"""Maps public names to modules that are imported at first use.

The classes in them set ``__module__`` themselves.
"""


_SUBMODULES = frozenset(
    {
        "bridges", "contract", "evals", "ledger", "mcp", "messages", "openapi", "otel", "provider",
        "testing", "text", "trace",
    }
)  # fmt: skip
"""The public submodules, which are imported when they are first read as attributes.

Some need an extra.
"""


if not typing.TYPE_CHECKING:  # type checkers can then report misspelt names

    def __getattr__(name: str) -> typing.Any:
        if name in _SUBMODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES} - {"importlib", "typing"})

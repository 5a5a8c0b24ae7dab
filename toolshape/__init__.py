"""Describe a function once; send it to every model provider, and read every call back as the function's own arguments."""

from toolshape.bound import Bound
from toolshape.calls import Call, Coercion, Finding, Spec
from toolshape.context import CallContext, Progress
from toolshape.dispatch.collector import Collector
from toolshape.dispatch.plan import Plan
from toolshape.errors import (
    CallError,
    DefinitionError,
    ExportError,
    Problem,
    ResponseError,
    ToolError,
    ToolshapeError,
    UsageError,
)
from toolshape.function.annotations import Injected
from toolshape.parts import File, Image, Text
from toolshape.registry import Registry
from toolshape.results import Result, Results
from toolshape.tool import Tool, tool
from toolshape.validation.coercion import Coerce

__all__ = [
    "Bound",
    "Call",
    "CallContext",
    "CallError",
    "Coerce",
    "Coercion",
    "Collector",
    "DefinitionError",
    "ExportError",
    "File",
    "Finding",
    "Image",
    "Injected",
    "Plan",
    "Problem",
    "Progress",
    "Registry",
    "ResponseError",
    "Result",
    "Results",
    "Spec",
    "Text",
    "Tool",
    "ToolError",
    "ToolshapeError",
    "UsageError",
    "tool",
]

"""Describe a function once; show it to every model provider, and carry every call home."""

from toolshape.annotations import Injected
from toolshape.bound import Bound
from toolshape.calls import Call, Coercion, Finding, Result, Results, Spec
from toolshape.coercion import Coerce
from toolshape.collecting import Collector
from toolshape.dispatch import Plan
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
from toolshape.parts import File, Image, Text
from toolshape.registry import Registry
from toolshape.tool import Tool, tool

__all__ = [
    "Bound",
    "Call",
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

"""Resolves a function's annotations to types, including strings and forward references."""

import contextlib
import inspect
import sys
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic.fields import FieldInfo

from toolshape._records.context import CallContext

if sys.version_info >= (3, 14):  # untested: no interpreter of this version was available
    import annotationlib

    def signature(function: Any) -> inspect.Signature:
        """Return a function's signature, in which names that are not defined
        yet become forward references.
        """
        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
else:
    signature = inspect.signature


T = TypeVar("T")


class _InjectedMarker:
    __slots__ = ()

    def __repr__(self) -> str:
        return "Injected"


_INJECTED = _InjectedMarker()

Injected: TypeAlias = Annotated[T, _INJECTED]
"""A parameter that the application fills by name through ``inject=``;
no model ever sees or sets it.
"""


def resolve(
    raw: Mapping[str, Any], global_names: dict[str, Any], local_names: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Resolve the strings and forward references in annotations, including nested ones.

    Raises:
        NameError: A name is not defined (yet).
        TypeError: An annotation is not a type.
    """
    plain_types = {
        name: annotation for name, annotation in raw.items() if isinstance(annotation, type)
    }
    if len(plain_types) == len(raw):
        return plain_types
    holder = type(
        "_Annotations",
        (),
        {"__annotations__": {k: v for k, v in raw.items() if k not in plain_types}},
    )
    # Read the hints from a class: for a function, get_type_hints before 3.11 turns a default of
    # None into Optional.
    hints = typing.get_type_hints(
        holder, global_names, dict(local_names or {}), include_extras=True
    )
    return {name: plain_types[name] if name in plain_types else hints[name] for name in raw}


def contains_self(annotation: Any) -> bool:
    """Whether an annotation contains ``Self``."""
    is_self = getattr(annotation, "_name", None) == "Self" and typing.get_origin(annotation) is None
    return is_self or any(map(contains_self, typing.get_args(annotation)))


def local_names(function: types.FunctionType, frame: types.FrameType | None) -> dict[str, Any]:
    """Return the non-global names that annotations may use: from the closure, type
    parameters and enclosing scopes.

    Args:
        function: The innermost function.
        frame: The frame in which the function was decorated. Outer frames are read as long as their
            names match ``__qualname__``.
    """
    names: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        # The cell is empty: the name is assigned further down.
        with contextlib.suppress(ValueError):
            names[name] = cell.cell_contents
    for parameter in getattr(function, "__type_params__", ()):
        names[parameter.__name__] = parameter
    # If a name from a class body or an enclosing function is used only in an annotation, no closure
    # cell holds the name. So we read the frames. A frame belongs to an enclosing scope only if its
    # name matches. The first frame with another name ends the walk.
    scopes = [part for part in function.__qualname__.split(".")[:-1] if part != "<locals>"]
    frame_names: dict[str, Any] = {}
    while frame is not None and scopes and frame.f_code.co_name == scopes.pop():
        frame_names = {**frame.f_locals, **frame_names}
        frame = frame.f_back
    return {**names, **frame_names}


def is_injected(annotation: Any) -> bool | None:
    """Whether a parameter is injected; ``None`` if ``Injected`` is in the wrong
    place (``list[Injected[T]]``).
    """
    if is_context(annotation) or _INJECTED in getattr(annotation, "__metadata__", ()):
        return True
    argument_results = [is_injected(argument) for argument in typing.get_args(annotation)]
    if (
        typing.get_origin(annotation) in (typing.Union, types.UnionType)
        and True in argument_results
    ):
        return True
    if True in argument_results or None in argument_results:
        return None
    return False


def is_context(annotation: Any) -> bool:
    """Whether a parameter takes the ``CallContext``, which no model sees.

    The annotation may be optional, or marked as injected.
    """
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is Annotated:
        return is_context(arguments[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return any(map(is_context, arguments)) and all(
            is_context(argument) or argument is type(None) for argument in arguments
        )
    return annotation is CallContext


_CONTEXTS: Mapping[str, frozenset[str]] = {
    "agents": frozenset({"RunContextWrapper", "ToolContext", "AgentHookContext"}),
    "fastmcp": frozenset({"Context"}),
    "google.adk": frozenset(
        {"CallbackContext", "Context", "InvocationContext", "ReadonlyContext", "ToolContext"}
    ),
    "langchain": frozenset({"ToolRuntime"}),
    "langchain_core": frozenset({"RunnableConfig", "ToolRuntime"}),
    "langgraph": frozenset({"Runtime", "ToolRuntime"}),
    "livekit": frozenset({"RunContext"}),
    "mcp": frozenset({"Context"}),
    "pydantic_ai": frozenset({"RunContext"}),
    "strands": frozenset({"ToolContext"}),
}
"""The context classes that frameworks pass to the tools they run, by the
package that defines the class.

Seen on 2026-11-23 in openai-agents, pydantic-ai 2.68, fastmcp 4.1.2, mcp 2.3.0, langchain-core,
langgraph-prebuilt 1.1.2, google-adk 2.13.0, strands-agents 1.62.0 and livekit-agents.
"""
_INJECTED_BY = ("langchain", "langchain_core", "langgraph")


def framework_of_context(annotation: Any) -> str | None:
    """Return the package of the framework that fills a parameter with this annotation, or
    ``None``.
    """
    # The marker may be an instance or a class.
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, type):
            marker = extra
        else:
            marker = type(extra)
        package = marker.__module__.split(".")[0]
        if marker.__name__.startswith("Injected") and package in _INJECTED_BY:
            return package
    origin = typing.get_origin(annotation) or annotation
    for cls in origin.__mro__ if isinstance(origin, type) else ():
        for package, names in _CONTEXTS.items():
            if cls.__name__.split("[")[0] in names and f"{cls.__module__}.".startswith(
                f"{package}."
            ):
                return package
    is_wrapper = typing.get_origin(annotation) in (typing.Union, types.UnionType, Annotated)
    inner = typing.get_args(annotation) if is_wrapper else ()
    return next(
        (
            framework
            for argument in inner
            if (framework := framework_of_context(argument)) is not None
        ),
        None,
    )


def description_of(annotation: Any, default: Any) -> str | None:
    """Return the description in an annotation: ``Field(description=)``,
    ``Doc(...)``, or a string in ``Annotated``.
    """
    metadata = getattr(annotation, "__metadata__", ())
    fields = [default, *reversed(metadata)]
    for field in fields:
        if isinstance(field, FieldInfo) and field.description:
            return field.description
    for extra in metadata:
        # PEP 727: typing_extensions.Doc, annotated_doc.Doc.
        documentation = getattr(extra, "documentation", None)
        if isinstance(documentation, str):
            return documentation
    return next((extra for extra in metadata if isinstance(extra, str)), None)


def calling_frame() -> types.FrameType | None:
    """Return the frame of the caller's caller."""
    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame and frame.f_back
    return frame


def unpack_type(annotation: Any) -> Any | None:
    """Return the type inside ``Unpack[...]``, else ``None``.

    ``Unpack`` is recognised by name: in Python 3.10 only typing_extensions has it.
    """
    origin = typing.get_origin(annotation)
    if origin is not None and getattr(origin, "_name", getattr(origin, "__name__", "")) == "Unpack":
        return typing.get_args(annotation)[0]
    return None

"""Reads a function's signature: its parameters, docstring and kind (sync, async, generator)."""

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, cast

from toolshape._function import docstrings
from toolshape._function.annotations import (
    Injected,
    contains_self,
    framework_of_context,
    is_injected,
    local_names,
    resolve,
    signature,
)
from toolshape._records.errors import DefinitionError, Problem

EMPTY = inspect.Parameter.empty
POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
POSITIONAL_OR_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD
VAR_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD

Kind = Literal["function", "coroutine", "generator", "async_generator"]


class NameNotDefinedError(Exception):
    """An annotation uses a name that is not defined yet; the caller may
    read the function again later.
    """

    def __init__(self, message: str, *, tool: str, location: str) -> None:
        self.tool = tool
        self.location = location
        super().__init__(message)


class Parameter(NamedTuple):
    """One parameter with its resolved annotation.

    If the parameter has no annotation, ``annotation`` is ``Any`` and ``annotated`` is false.
    """

    name: str
    kind: Any
    annotation: Any
    annotated: bool
    default: Any
    injected: bool


class Signature(NamedTuple):
    """The signature and docstring of a function.

    ``parameters`` holds the parameters that a call fills, without ``self`` and parameters that a
    partial has bound. ``names`` holds the names of all parameters. ``returns`` resolves the return
    annotation, or raises ``NameError``. ``problems`` describes the parameters that neither a model
    nor the application can fill; ``parameters`` does not include them.
    """

    name: str
    location: str
    module: str
    kind: Kind
    doc: docstrings.Doc
    parameters: tuple[Parameter, ...]
    names: frozenset[str]
    returns: Callable[[], Any]
    problems: tuple[Problem, ...]


_INJECTED_ANY: Any = Injected[Any]  # type: ignore[misc]


class _Names(NamedTuple):
    """The namespaces in which annotations are resolved."""

    globals: dict[str, Any]
    locals: Mapping[str, Any]


def read_signature(
    function: Callable[..., Any],
    *,
    name: str | None,
    skip_first: bool,
    frame: types.FrameType | None,
) -> Signature:
    """Read the signature and the docstring of a function.

    Args:
        function: A callable with a signature: function, bound method, partial, object with
            ``__call__``.
        name: The tool's name; by default the function's name.
        skip_first: Whether to leave out the first parameter (``self`` of a method that is not bound
            yet).
        frame: The frame in which the function was decorated, to resolve annotations that name local
            classes.

    Raises:
        DefinitionError: The object is not a function, or its parameters cannot be read.
        NameNotDefinedError: An annotation uses a name that is not defined yet.
    """
    inner = innermost_function(function)
    tool_name = name or _name_of(function)
    location = _location(inner)
    problems: list[Problem] = []
    undefined: list[str] = []
    try:
        python_signature = _read_python_signature(function, tool_name)
    except (ValueError, TypeError) as error:
        problem = Problem(path="", rule="not_a_function", message=str(error))
        raise DefinitionError(tool=tool_name, location=location, problems=[problem]) from error
    names = _Names(getattr(inner, "__globals__", {}), _local_names(inner, frame))
    parameters = _parameters(python_signature, function, skip_first, names, problems, undefined)
    if undefined and not problems:
        raise NameNotDefinedError("; ".join(undefined), tool=tool_name, location=location)
    return Signature(
        name=tool_name,
        location=location,
        module=getattr(inner, "__module__", None) or __name__,
        kind=_kind(function, inner),
        doc=docstrings.read_docstring(
            _docstring(function, inner), [parameter.name for parameter in parameters]
        ),
        parameters=tuple(parameters),
        names=_names(python_signature, inner)
        | frozenset(getattr(function, "keywords", None) or ()),
        returns=functools.partial(_resolve_return, python_signature.return_annotation, names),
        problems=tuple(problems),
    )


def _names(described: inspect.Signature, inner: Any) -> frozenset[str]:
    """Return the name of every parameter, including parameters that a
    bound object or a partial fills.
    """
    code = getattr(inner, "__code__", None)
    if code is not None:
        filled_names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    else:
        filled_names = ()
    variadic = {
        parameter.name
        for parameter in described.parameters.values()
        if parameter.kind in (VAR_POSITIONAL, VAR_KEYWORD)
    }
    parameter_names = {parameter.name for parameter in described.parameters.values()} - variadic
    return frozenset(
        parameter_names
        | {*filled_names}
        | {name for name in variadic if described.parameters[name].kind is VAR_POSITIONAL}
    )


def drop_first_parameter(read: Signature) -> Signature:
    """Return the signature of a method without its first parameter (``self``)."""
    return read._replace(parameters=read.parameters[1:])


def _read_python_signature(function: Any, tool_name: str) -> inspect.Signature:
    if isinstance(function, type):
        raise TypeError("a class is not a tool: decorate a function that returns an instance")
    if isinstance(function, str):
        raise TypeError(
            f"a string is not callable: to set the name, write @tool(name={function!r})"
        )
    if not callable(function):
        raise TypeError(f"{type(function).__name__} is not callable")
    if tool_name == "<lambda>":
        raise TypeError("a lambda has no name: pass name=")
    return signature(function)


def _parameters(
    described: inspect.Signature,
    function: Any,
    skip_first: bool,
    names: _Names,
    problems: list[Problem],
    undefined: list[str],
) -> list[Parameter]:
    # The model does not fill the arguments that a partial has bound, whether by keyword or by
    # position.
    if isinstance(function, functools.partial):
        bound_keywords = function.keywords
    else:
        bound_keywords = {}
    binds_only_keywords = isinstance(function, functools.partial) and not function.args
    dispatch_kind = dispatches_on(function.func if binds_only_keywords else function)
    is_bound = skip_first or dispatch_kind == "method"  # the signature still includes ``self``
    described_parameters = list(described.parameters.values())[is_bound:]
    visible = [
        parameter for parameter in described_parameters if parameter.name not in bound_keywords
    ]
    # ``singledispatch`` needs a position.
    if dispatch_kind and visible and visible[0].kind is POSITIONAL_OR_KEYWORD:
        visible[0] = visible[0].replace(kind=POSITIONAL_ONLY)
    raw_annotations = {
        parameter.name: Any if parameter.annotation is EMPTY else parameter.annotation
        for parameter in visible
    }
    try:
        hints = resolve(raw_annotations, names.globals, names.locals)
    except Exception:
        # Subscripting a type may raise anything; a second pass finds the parameters that fail.
        hints = _resolve_each(raw_annotations, names, problems, undefined)
    parameters: list[Parameter] = []
    for parameter in visible:
        annotation = hints.get(parameter.name, Any)
        injected = is_injected(annotation)
        if injected is False and framework_of_context(annotation) is not None:
            injected = True  # the framework fills this parameter, and no model can
        if (problem := _problem_of(parameter, annotation, injected)) is not None:
            problems.append(problem)
            continue
        if any(problem.path == parameter.name for problem in problems):
            continue
        parameters.append(
            Parameter(
                name=parameter.name,
                kind=parameter.kind,
                annotation=annotation,
                annotated=parameter.annotation is not EMPTY,
                default=parameter.default,
                injected=bool(injected),
            )
        )
    return parameters


def _problem_of(
    parameter: inspect.Parameter, annotation: Any, injected: bool | None
) -> Problem | None:
    """Return why neither a model nor the application can fill a parameter, or ``None``."""
    if contains_self(annotation):
        message = (
            "Self cannot be resolved: a method becomes a tool before its class exists; write the "
            "class's name"
        )
        return Problem(path=parameter.name, rule="self", message=message)
    if injected is None or (injected and parameter.kind in (VAR_POSITIONAL, VAR_KEYWORD)):
        message = "Injected[...] must be the whole annotation of an ordinary parameter"
        return Problem(path=parameter.name, rule="injected_inside", message=message)
    return None


def _resolve_each(
    raw: Mapping[str, Any], names: _Names, problems: list[Problem], undefined: list[str]
) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for name, annotation in raw.items():
        try:
            hints.update(resolve({name: annotation}, names.globals, names.locals))
        except NameError as error:
            # We never need the type of an injected value, and authors often import it for the type
            # checker only.
            if (
                isinstance(annotation, str)
                and annotation.split("[")[0].split(".")[-1].strip() == "Injected"
            ):
                hints[name] = _INJECTED_ANY
            else:
                undefined.append(f"{name}: {error}")
        except Exception as error:
            problems.append(
                Problem(path=name, rule="bad_annotation", message=f"{annotation!r}: {error}")
            )
    return hints


def dispatches_on(function: Any) -> Literal["function", "method"] | None:
    """Return ``"function"`` for a ``singledispatch`` function, ``"method"`` for a
    bound ``singledispatchmethod``.
    """
    if isinstance(function, types.FunctionType):
        code = getattr(function, "__code__", None)
    else:
        code = None
    if code is None or code.co_filename != functools.singledispatch.__code__.co_filename:
        return None
    cells_by_name = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    if code.co_name == "_method" and "obj" in cells_by_name:
        if cells_by_name["obj"].cell_contents is not None:
            return "method"
        return None
    if code.co_name == "wrapper" and hasattr(function, "dispatch"):
        return "function"
    return None


def _resolve_return(annotation: Any, names: _Names) -> Any:
    if annotation is EMPTY:
        return EMPTY
    return resolve({"returns": annotation}, names.globals, names.locals)["returns"]


def innermost_function(function: Any) -> Any:
    """Return the annotated function inside partials, methods, callable objects
    and ``functools.wraps`` wrappers.
    """
    while True:
        inner = _without_wrappers(function)
        if hasattr(inner, "__wrapped__") and "__signature__" not in getattr(inner, "__dict__", {}):
            inner = inner.__wrapped__
        if inner is function:
            return function
        function = inner


def _without_wrappers(function: Any) -> Any:
    """Return the function that a call runs, without the partials, methods
    and callable objects around it.
    """
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif (
            hasattr(function, "__wrapped__")
            or inspect.isroutine(function)
            or not _is_object(function)
        ):
            return function
        else:
            function = type(function).__call__


def _is_object(function: Any) -> bool:
    return callable(function) and not isinstance(function, type)


def _local_names(inner: Any, frame: types.FrameType | None) -> Mapping[str, Any]:
    if isinstance(inner, types.FunctionType):
        return local_names(inner, frame)
    return {}


def _name_of(function: Any) -> str:
    if isinstance(function, functools.partial):
        return _name_of(function.func)
    return str(getattr(function, "__name__", type(function).__name__))


def _location(inner: Any) -> str:
    code = getattr(inner, "__code__", None)
    if code is None:
        return f"{getattr(inner, '__module__', None) or 'built-in'}.{_name_of(inner)}"
    return f"{code.co_filename}:{code.co_firstlineno}"


def _kind(function: Any, inner: Any) -> Kind:
    """Return the kind of a function.

    Only the outer function decides whether the kind is ``"coroutine"``: a plain wrapper may run the
    coroutine itself.
    """
    if inspect.isasyncgenfunction(inner):
        return "async_generator"
    outer = _without_wrappers(function)
    if inspect.iscoroutinefunction(outer):
        return "coroutine"
    if inspect.isgeneratorfunction(inner):
        return "generator"
    return "function"


def _docstring(function: Any, inner: Any) -> str | None:
    """Return the docstring of a function; for a callable object, the docstring
    of ``__call__`` or of its class.
    """
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or hasattr(function, "__wrapped__"):
        # ``getdoc`` reads a base class's docstring too.
        return cast("str | None", function.__doc__) or inspect.getdoc(inner)
    return inner.__doc__ or type(function).__doc__

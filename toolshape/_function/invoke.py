"""Compiles the call to a tool's function.

The call passes a pydantic model's fields and the injected values.
"""

import functools
import keyword
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel

_MOST_KEPT = 256
Invoke: TypeAlias = Callable[[BaseModel, Mapping[str, Any]], Any]


class Layout(NamedTuple):
    """How the fields of a pydantic model become the arguments of a function call.

    ``positional`` and ``keywords`` pair a parameter with its field, or with ``None`` if the
    parameter is injected. ``omittable`` fields are passed only if the caller set them. ``injected``
    maps an injected parameter to its default, or to ``EMPTY``. ``contexts`` names the injected
    parameters that take a ``CallContext``. If ``takes_extra`` is true, fields that the pydantic
    model does not declare become the function's ``**kwargs``.
    """

    injected: Mapping[str, Any]
    positional: tuple[tuple[str, str | None], ...] = ()
    var_positional: str | None = None
    keywords: tuple[tuple[str, str | None], ...] = ()
    omittable: frozenset[str] = frozenset()
    takes_extra: bool = False
    contexts: frozenset[str] = frozenset()


def compile_invoke(function: Callable[..., Any], layout: Layout) -> Invoke:
    """Compile a function that calls ``function`` with the fields of a pydantic
    model and the injected values.
    """
    is_plain = not (
        layout.positional or layout.var_positional or layout.omittable or layout.takes_extra
    )
    if not is_plain or any(field not in (None, name) for name, field in layout.keywords):
        return _compile_any_layout(function, layout)
    injected = layout.injected
    if injected:
        return lambda model, inject: function(
            **model.__dict__, **{name: inject[name] for name in injected if name in inject}
        )
    if not _takes_in_order(function, layout):
        return lambda model, _: function(**model.__dict__)
    names = [name for name, _ in layout.keywords]
    if not names:
        return lambda _model, _inject: function()
    return _compile_by_position(tuple(names))(function)


@functools.lru_cache(_MOST_KEPT)
def _compile_by_position(names: tuple[str, ...]) -> Callable[[Callable[..., Any]], Invoke]:
    """Generate code that passes attributes of a pydantic model by position.

    This is three times as fast as ``attrgetter``. ``namedtuple`` generates its code in the same
    way.
    """
    values = ", ".join(f"model.{name}" for name in names)
    factory: Callable[[Callable[..., Any]], Invoke] = eval(  # noqa: S307 - parameter names, checked to be identifiers
        f"lambda function: lambda model, _: function({values})"
    )
    return factory


def _compile_any_layout(function: Callable[..., Any], layout: Layout) -> Invoke:
    injected = layout.injected
    keyword_fields = [(name, field) for name, field in layout.keywords if field is not None]

    def call(model: BaseModel, inject: Mapping[str, Any]) -> Any:
        values = model.__dict__
        positional = [
            inject.get(name, injected[name]) if field is None else values[field]
            for name, field in layout.positional
        ]
        if layout.var_positional is not None:
            positional.extend(values[layout.var_positional])
        keywords = {
            name: values[field]
            for name, field in keyword_fields
            if field not in layout.omittable or field in model.__pydantic_fields_set__
        }
        keywords.update(
            (name, inject[name])
            for name, field in layout.keywords
            if field is None and name in inject
        )
        return function(*positional, **keywords, **(model.__pydantic_extra__ or {}))

    return call


def _takes_in_order(function: Callable[..., Any], layout: Layout) -> bool:
    """Whether a function certainly accepts all fields by position, which is faster than by name.

    A wrapper may show the signature of the function that it wraps, but accept keywords only. So the
    result is ``False`` for every wrapper.
    """
    if isinstance(function, MethodType):
        inner = function.__func__
    else:
        inner = function
    if not isinstance(inner, FunctionType) or inner.__dict__.keys() & {
        "__wrapped__",
        "__signature__",
    }:
        return False
    code, names = inner.__code__, tuple(name for name, _ in layout.keywords)
    by_position = code.co_varnames[inner is not function : code.co_argcount]
    are_names = all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    return are_names and not code.co_kwonlyargcount and by_position == names

"""A validated model in, the call of the function out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import BaseModel

__all__ = ["Invoke", "Layout", "compile_invoke"]

Invoke: TypeAlias = Callable[[BaseModel, Mapping[str, Any]], Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How the fields of a model become the arguments of a call.

    ``positional`` and ``keywords`` pair a parameter with its field, ``None`` where it is injected. ``omittable`` fields
    are passed only when they were given. ``injected`` maps an injected parameter to its default, ``EMPTY`` if it has
    none. ``takes_extra`` is whether the fields unknown to the model are the function's ``**kwargs``.
    """

    positional: tuple[tuple[str, str | None], ...] = ()
    var_positional: str | None = None
    keywords: tuple[tuple[str, str | None], ...] = ()
    omittable: frozenset[str] = frozenset()
    takes_extra: bool = False
    injected: Mapping[str, Any]


def compile_invoke(function: Callable[..., Any], layout: Layout) -> Invoke:
    """Compile the way from a validated model and the injected values to the call of the function."""
    injected = layout.injected
    keyword_fields = [(name, field) for name, field in layout.keywords if field is not None]

    def call_plain(model: BaseModel, _inject: Mapping[str, Any]) -> Any:
        return function(**model.__dict__)

    def call_injected(model: BaseModel, inject: Mapping[str, Any]) -> Any:
        return function(**model.__dict__, **{name: inject[name] for name in injected if name in inject})

    def call_any(model: BaseModel, inject: Mapping[str, Any]) -> Any:
        values = model.__dict__
        positional = [
            inject.get(name, injected[name]) if field is None else values[field] for name, field in layout.positional
        ]
        if layout.var_positional is not None:
            positional.extend(values[layout.var_positional])
        keywords = {
            name: values[field]
            for name, field in keyword_fields
            if field not in layout.omittable or field in model.__pydantic_fields_set__
        }
        keywords.update((name, inject[name]) for name, field in layout.keywords if field is None and name in inject)
        return function(*positional, **keywords, **(model.__pydantic_extra__ or {}))

    if (
        layout.positional
        or layout.var_positional is not None
        or layout.omittable
        or layout.takes_extra
        or any(name != field for name, field in keyword_fields)
    ):
        return call_any
    return call_injected if injected else call_plain

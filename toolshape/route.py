"""``Route``: the way from a call of one tool at one provider to its function, and back to what the model reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolshape.arrows import Arrow
from toolshape.binding import Invoke
from toolshape.payload import Validate
from toolshape.running import is_async
from toolshape.shape import Shape
from toolshape.signature import Kind
from toolshape.tool import Tool

__all__ = ["Route", "Routes"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Route:
    """The way of a tool's calls, compiled when the first one comes.

    ``back`` is the lens's arrow on arguments. ``is_awaited``: the function is a coroutine function, without a deadline. ``is_framed``: what a model reads of a result is cut or marked.
    ``says_text``: a result that is a text is read as it is. ``has_needs``: a call needs more than its arguments;
    ``is_plain``: it does not, nor a loop.
    """

    tool: Tool[..., Any]
    name: str
    wire_name: str
    back: Arrow | None
    kind: Kind
    is_async: bool
    is_awaited: bool
    validate: Validate
    invoke: Invoke
    to_text: Callable[[Any], str]
    timeout: float | None
    longest_result: int | None
    is_untrusted: bool
    is_framed: bool
    says_text: bool
    has_needs: bool
    is_plain: bool

    def framed(self, text: str) -> str:
        """A text as the model reads it: no longer than the tool allows, and marked where it is not to be trusted."""
        longest = self.longest_result
        if longest is not None and len(text) > longest:
            text = f"{text[:longest]}\n[cut: the first {longest} of {len(text)} characters]"
        if not self.is_untrusted:
            return text
        inside = text.replace("</untrusted", "<\\/untrusted")  # what looks like the end of the mark is none
        return f'<untrusted source="{self.wire_name}">\n{inside}\n</untrusted>'


class Routes:
    """The ways of the calls of some shapes, by wire name: ``compiled`` has those that have been taken."""

    __slots__ = ("compiled", "shapes")

    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        self.shapes = shapes
        self.compiled: dict[str, Route] = {}

    def find(self, wire_name: Any) -> Route | None:
        """The way of a call, compiled now if it is the first; ``None`` if there is no such tool."""
        shape = self.shapes.get(wire_name) if isinstance(wire_name, str) else None
        if shape is None:
            return None
        route = self.compiled.get(shape.wire_name)
        if route is None:
            route = self.compiled[shape.wire_name] = _compiled(shape)
        return route


def _compiled(shape: Shape) -> Route:
    tool, definition = shape.tool, shape.tool.definition
    has_needs = bool(definition.layout.injected) or tool.function is None
    is_framed = tool.options.untrusted or tool.options.longest_result is not None
    return Route(
        tool=tool,
        name=shape.name,
        wire_name=shape.wire_name,
        back=shape.terms.back,
        kind=definition.kind,
        is_async=is_async(definition.kind),
        is_awaited=definition.kind == "coroutine" and tool.timeout is None,
        validate=tool.compile_validate(shape.terms),
        invoke=tool.invoke,
        to_text=tool.output.to_text,
        timeout=tool.timeout,
        longest_result=tool.options.longest_result,
        is_untrusted=tool.options.untrusted,
        is_framed=is_framed,
        says_text=not is_framed and tool.output.says_text,
        has_needs=has_needs,
        is_plain=not (has_needs or is_async(definition.kind)),
    )

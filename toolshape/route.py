"""``Route``: the way from a call of one tool at one provider to its function, and back to what the model reads."""

from collections.abc import Callable, Mapping
from typing import Any

from toolshape.running import is_async
from toolshape.shape import Shape
from toolshape.signature import Kind

__all__ = ["Route", "Routes"]


class Route:
    """The way of a tool's calls, compiled when the first one comes.

    ``back`` is the lens's arrow on arguments. ``is_awaited``: the function is a coroutine function, without a deadline.
    ``is_framed``: what a model reads of a result is cut or marked. ``says_text``: a result that is a text is read as it
    is. ``has_needs``: a call needs more than its arguments; ``is_plain``: it does not, nor a loop.
    """

    __slots__ = (
        "back", "has_needs", "invoke", "is_async", "is_awaited", "is_framed", "is_plain", "is_untrusted", "kind",
        "longest_result", "name", "says_text", "timeout", "to_text", "tool", "validate", "wire_name",
    )  # fmt: skip
    kind: Kind

    def __init__(self, shape: Shape) -> None:
        tool, definition = shape.tool, shape.tool.definition
        self.tool = tool
        self.name = shape.name
        self.wire_name = shape.wire_name
        self.back = shape.terms.back
        self.kind = definition.kind
        self.timeout = tool.timeout
        self.is_async = is_async(definition.kind)
        self.is_awaited = definition.kind == "coroutine" and tool.timeout is None
        self.validate = tool.compile_validate(shape.terms)
        self.invoke = tool.invoke
        self.to_text: Callable[[Any], str] = tool.output.to_text
        self.longest_result = tool.options.longest_result
        self.is_untrusted = tool.options.untrusted
        self.is_framed = self.is_untrusted or self.longest_result is not None
        self.says_text = not self.is_framed and tool.output.says_text
        self.has_needs = bool(definition.layout.injected) or tool.function is None
        self.is_plain = not (self.has_needs or self.is_async)

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
            route = self.compiled[shape.wire_name] = Route(shape)
        return route

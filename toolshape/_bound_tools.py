"""``BoundTools``: tools compiled for one provider, with the handlers that read and run their calls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolshape._calls import DefaultEffect, JsonObject, JsonSchema, Strictness
from toolshape._dispatch.handler import Handlers
from toolshape._dispatch.hook_kinds import Hook
from toolshape._dispatch.receive import reading_of
from toolshape._dispatch.resolve import call_of
from toolshape._dispatch.shape import Rules, Shape, shapes
from toolshape._errors import ExportError, Problem
from toolshape._output import Output, record_of_output
from toolshape._output_beside_tools import OutputBesideTools, compile_beside_tools, taken_name
from toolshape._tool import Tool
from toolshape._validation.settings import Validate
from toolshape._wire.provider import Provider


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, slots=True)
class BoundTools:
    """The record behind a ``Bound``.

    Args:
        tools: The tools, in the order of the export.
        provider: The provider that they are shown to.
        strict: Whether arguments are to be constrained, where a tool does not say.
        rules: The registry's coercion rules.
        annotates: Whether a model is shown its own invalid JSON with comments.
        hooks: The hooks around every call, the first outermost.
        observers: The observers of whole responses; ``None`` where there is none, which a dispatch compares faster
            than a length.
        default_effect: What tools without a declared effect are taken for.
        shapes: The tools as they are shown, by wire name.
        handlers: What validates and runs their calls.
        reader: The provider with the form that reads responses to these tools.
        output: The output that answers are read as; ``None`` where none was bound.
        beside: This output as it is sent beside the tools.
        is_direct: Whether a response is planned with nothing else to do: no observers, and no output.
    """

    tools: tuple[Tool[..., Any], ...]
    provider: Provider
    strict: Strictness
    rules: Rules
    annotates: bool
    hooks: Sequence[Hook]
    observers: Sequence[Any] | None
    default_effect: DefaultEffect
    shapes: Mapping[str, Shape]
    handlers: Handlers
    reader: Provider
    output: Output[Any] | None
    beside: OutputBesideTools | None
    is_direct: bool

    @property
    def entries(self) -> Mapping[str, bytes]:
        """The JSON of what is sent, by wire name, in the order of the export: the answer's tool last, if there is one."""
        beside = self.beside
        found = {wire_name: shape.entry for wire_name, shape in self.shapes.items()}
        return found if beside is None or beside.tool is None else {**found, beside.tool: beside.entry}

    @property
    def schemas(self) -> dict[str, JsonSchema]:
        """The schemas of the parameters that are sent, by wire name."""
        return _schemas(self.shapes, self.beside)

    def terms(self) -> dict[str, Any]:
        """Return the arguments for ``bind_tools`` that make the same, in this or in another process."""
        names = "tools", "provider", "strict", "rules", "annotates", "hooks", "observers", "default_effect", "output"
        return {name: getattr(self, name) for name in names}


def bind_tools(
    *,
    tools: Iterable[Tool[..., Any]],
    provider: Provider,
    strict: Strictness,
    rules: Rules,
    annotates: bool = False,
    hooks: Sequence[Hook] = (),
    observers: Sequence[Any] | None = None,
    default_effect: DefaultEffect = None,
    output: Output[Any] | None = None,
) -> BoundTools:
    """Compile tools for a provider, and the output that is asked for beside them.

    Raises:
        ExportError: The provider cannot be sent one of them, or two have one name there.
    """
    tools = tuple(tools)
    by_wire_name: dict[str, Shape] = {}
    beside = (
        None
        if output is None
        else compile_beside_tools(provider, record_of_output(output), strict, has_tools=bool(tools))
    )
    shared = [] if beside is None else [beside.candidate]
    compiled = shapes(tools, provider, strict, rules, annotates=annotates, beside=shared)
    if beside is not None and beside.tool is not None and beside.candidate.name in compiled.relaxed:
        beside = compile_beside_tools(provider, beside.record, strict=False)
    for shape in compiled.compiled:
        if other := by_wire_name.get(shape.wire_name):
            message = f"{other.name!r} and {shape.name!r} would both be {shape.wire_name!r}: pass name= to one"
            problem = Problem(path="name", rule="name_taken", message=message)
            raise ExportError(provider=provider.name, tool=shape.name, problems=[problem])
        by_wire_name[shape.wire_name] = shape
    if beside is not None and beside.tool is not None and (taken := by_wire_name.get(beside.tool)) is not None:
        raise taken_name(beside, taken.name)
    return BoundTools(
        tools=tools,
        provider=provider,
        strict=strict,
        rules=rules,
        annotates=annotates,
        hooks=hooks,
        observers=observers or None,
        default_effect=default_effect,
        shapes=by_wire_name,
        handlers=Handlers(by_wire_name, hooks, default_effect, strict),
        reader=_reader(provider, _schemas(by_wire_name, beside)),
        output=output,
        beside=beside,
        is_direct=not observers and output is None,
    )


def _schemas(shapes_by_name: Mapping[str, Shape], beside: OutputBesideTools | None) -> dict[str, JsonSchema]:
    found = {wire_name: shape.schema for wire_name, shape in shapes_by_name.items()}
    return found if beside is None or beside.tool is None else {**found, beside.tool: beside.lens.schema}


def _reader(provider: Provider, schemas: Mapping[str, JsonSchema]) -> Provider:
    """Return the provider that reads responses to some tools: with their schemas, if it types arguments by them."""
    for_schemas = provider.response.for_schemas
    if for_schemas is None:
        return provider
    return replace(provider, response=for_schemas(schemas))


def part_of(whole: BoundTools, tools: Iterable[Tool[..., Any]]) -> BoundTools:
    """Return some of the tools, as they are shown in the whole."""
    chosen = tuple(tools)
    names = {tool.name for tool in chosen}
    part = {wire_name: shape for wire_name, shape in whole.shapes.items() if shape.name in names}
    return replace(whole, tools=chosen, shapes=part, handlers=whole.handlers.of_some(part))


def canonical_validation(whole: BoundTools, wire_name: str) -> Validate | None:
    """Validates canonical arguments by the rules of a tool at a provider; ``None`` where there is no such tool."""
    shape = whole.shapes.get(wire_name)
    if shape is None:
        return None
    return shape.validation(shape.settings._replace(back=None, drops=None))


def canonical_calls(whole: BoundTools, body: Any) -> list[tuple[str | None, JsonObject | None]]:
    """The calls in a response body as these shapes read them, before the arguments are validated."""
    _, wires, *_ = reading_of(whole.reader, body)
    calls = [call_of(whole.provider.name, whole.handlers, position, wire) for position, wire in enumerate(wires)]
    return [(call.name, call.arguments) for call in calls]

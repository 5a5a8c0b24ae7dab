"""Compiles tools for one provider, with the handlers that read and run their calls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolshape._answers.record import Recorded, record_of_output
from toolshape._answers.target import AnswerTarget, compile_target, name_conflict
from toolshape._families.receive import read_response
from toolshape._families.wire.provider import Provider
from toolshape._plan.resolve import resolve_call
from toolshape._records.calls import DefaultEffect, JsonObject, JsonSchema, Strictness
from toolshape._records.errors import ExportError, Problem
from toolshape._records.found import own_search
from toolshape._tools.handler import Handlers
from toolshape._tools.hook_kinds import Hook
from toolshape._tools.shape import CoercionRules, Shape, compile_shapes
from toolshape._tools.tool import Tool
from toolshape._validation.settings import Validate


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, slots=True)
class BoundTools:
    """The record behind a ``Bound``.

    Args:
        tools: The tools, in the order of the export.
        provider: The provider that receives the tools.
        strict: Whether the provider must constrain arguments to the schema; a tool's own ``strict``
            takes precedence.
        rules: The registry's coercion rules.
        annotates: Whether the model gets its invalid arguments back as JSON with comments.
        hooks: The hooks around every call; the first hook is the outermost.
        observers: The observers of whole responses; ``None`` if there are none, because a dispatch
            checks ``None`` faster than a length.
        default_effect: How to treat tools that declare no effect.
        shapes: The tools in the provider's form, by wire name.
        handlers: The handlers that validate and run the calls.
        reader: The provider that reads responses; it holds the tools' schemas if it needs them to
            type arguments.
        output: The output that an answer must fit; ``None`` if no output was bound.
        search: The shape of the tool that searches the others; ``None`` if there is none.
        is_direct: Whether a dispatch can skip observers, because there are none.
    """

    tools: tuple[Tool[..., Any], ...]
    provider: Provider
    strict: Strictness
    rules: CoercionRules
    annotates: bool
    hooks: Sequence[Hook]
    observers: Sequence[Any] | None
    default_effect: DefaultEffect
    shapes: Mapping[str, Shape]
    handlers: Handlers
    reader: Provider
    output: Recorded | None
    search: Shape | None
    is_direct: bool

    @property
    def answer(self) -> AnswerTarget | None:
        """What reads the answer, if an output was bound."""
        target: AnswerTarget | None = self.handlers.answer
        return target

    @property
    def entries(self) -> Mapping[str, bytes]:
        """The JSON of each entry, by wire name, in the order of the export; the
        answer's tool, if any, is last.
        """
        return self.entries_with(self.answer)

    def entries_with(self, answer: AnswerTarget | None) -> Mapping[str, bytes]:
        """Return the JSON of each entry, by wire name, with the tool of an answer as the last."""
        entries = {wire_name: shape.entry for wire_name, shape in self.shapes.items()}
        if answer is None or answer.wire_name is None:
            return entries
        return {**entries, answer.wire_name: answer.entry}

    @property
    def schemas(self) -> dict[str, JsonSchema]:
        """The parameter schemas that the provider receives, by the wire names of the tools."""
        return _schemas(self.shapes, self.answer)

    def terms(self) -> dict[str, Any]:
        """Return the arguments for ``bind_tools`` that rebuild this
        record, in this or another process.
        """
        names = (
            "tools",
            "provider",
            "strict",
            "rules",
            "annotates",
            "hooks",
            "observers",
            "default_effect",
            "output",
        )
        return {name: getattr(self, name) for name in names}


def bind_tools(
    *,
    tools: Iterable[Tool[..., Any]],
    provider: Provider,
    strict: Strictness,
    rules: CoercionRules,
    annotates: bool = False,
    hooks: Sequence[Hook] = (),
    observers: Sequence[Any] | None = None,
    default_effect: DefaultEffect = None,
    output: Recorded | None = None,
) -> BoundTools:
    """Compile tools for a provider, and the output that is sent beside the tools.

    Raises:
        ExportError: The provider does not accept one of the tools, or two tools have the same wire
            name.
    """
    tools = tuple(tools)
    by_wire_name: dict[str, Shape] = {}
    if output is None:
        answer = None
    else:
        answer = compile_target(provider, record_of_output(output), strict, has_tools=bool(tools))
    candidates = [] if answer is None else [answer.candidate]
    compiled = compile_shapes(
        tools, provider, strict, rules, annotates=annotates, beside=candidates
    )
    if (
        answer is not None
        and answer.wire_name is not None
        and answer.candidate.name in compiled.relaxed
    ):
        answer = compile_target(provider, answer.record, strict=False)
    for shape in compiled.compiled:
        if earlier_shape := by_wire_name.get(shape.wire_name):
            message = f"{earlier_shape.name!r} and {shape.name!r} both become {shape.wire_name!r}: "
            message += "call one otherwise with renamed() or prefixed(), or pass name="
            problem = Problem(path="name", rule="name_taken", message=message)
            raise ExportError(provider=provider.name, tool=shape.name, problems=[problem])
        by_wire_name[shape.wire_name] = shape
    if (
        answer is not None
        and answer.wire_name is not None
        and (conflicting_shape := by_wire_name.get(answer.wire_name)) is not None
    ):
        raise name_conflict(answer, conflicting_shape.name)
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
        handlers=Handlers(by_wire_name, hooks, default_effect, strict, provider.names, answer),
        reader=_provider_for_reading(provider, by_wire_name, answer),
        output=output,
        search=own_search(by_wire_name),
        is_direct=not observers,
    )


def _schemas(
    shapes_by_name: Mapping[str, Shape], answer: AnswerTarget | None
) -> dict[str, JsonSchema]:
    schemas = {wire_name: shape.schema for wire_name, shape in shapes_by_name.items()}
    if answer is None or answer.wire_name is None:
        return schemas
    return {**schemas, answer.wire_name: answer.lens.schema}


def _provider_for_reading(
    provider: Provider, shapes: Mapping[str, Shape], answer: AnswerTarget | None
) -> Provider:
    """Return the provider that reads responses; it keeps the tools' schemas if it needs them to
    type arguments, and reads a search of the client's as a call of the tool that searches.
    """
    for_schemas, deferral = provider.response.for_schemas, provider.request.deferral
    own = own_search(shapes)
    if own is not None and deferral is not None and deferral.read_search is not None:
        return replace(provider, response=deferral.read_search(provider.response, own.wire_name))
    if for_schemas is None:
        return provider
    return replace(provider, response=for_schemas(_schemas(shapes, answer)))


def select_part(whole: BoundTools, tools: Iterable[Tool[..., Any]]) -> BoundTools:
    """Return a record that holds only some of the tools, in the forms that the
    whole record has already compiled.
    """
    chosen_tools = tuple(tools)
    names = {tool.name for tool in chosen_tools}
    part = {wire_name: shape for wire_name, shape in whole.shapes.items() if shape.name in names}
    handlers, search = whole.handlers.of_some(part), own_search(part)
    return replace(whole, tools=chosen_tools, shapes=part, handlers=handlers, search=search)


def canonical_validation(whole: BoundTools, wire_name: str) -> Validate | None:
    """Return a validator that checks canonical arguments with a tool's rules;
    ``None`` if there is no such tool.
    """
    shape = whole.shapes.get(wire_name)
    if shape is None:
        return None
    return shape.validation(shape.settings._replace(back=None, drops=None))


def canonical_calls(
    whole: BoundTools, body: Any
) -> list[tuple[str | None, JsonObject | None, Any]]:
    """Return how a response body is read before validation: each call's name, canonical arguments,
    and the type of the answer if any.

    If there are no calls, the text of the response may be the answer, and the list says of which
    type.
    """
    _, wires, *_ = read_response(whole.reader, body)
    answer = whole.answer
    if answer is not None and not wires:
        return [(None, None, answer.record.key)]
    calls = [
        resolve_call(whole.provider.name, whole.handlers, position, wire)
        for position, wire in enumerate(wires)
    ]
    return [
        (
            call.name,
            call.arguments,
            answer.record.key if answer is not None and call.reader is answer else None,
        )
        for call in calls
    ]

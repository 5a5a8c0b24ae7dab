"""Compiles the form of each tool that one provider is sent, in the provider's limits."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._families.wire.provider import Provider
from toolshape._records.calls import Finding, JsonObject, JsonSchema, Loss, Strictness
from toolshape._schema.arrows import Arrow
from toolshape._tools.export import WireTool, to_wire
from toolshape._tools.strict_budget import Candidate, find_relaxed
from toolshape._tools.tool import Tool, record_of
from toolshape._validation.coercion import choose_rules
from toolshape._validation.settings import Validate, ValidationSettings

CoercionRules: TypeAlias = Mapping[str, bool] | bool | None


class Shape(NamedTuple):
    """One tool in the form that one provider is sent.

    ``entry`` is the JSON that the provider is sent; it includes ``description`` and ``schema`` (of
    the parameters). ``differences`` lists the losses and findings for a report. ``settings``
    control how calls are validated. ``advertises_output`` tells whether the provider is sent output
    schemas. ``out`` maps canonical arguments to the form that the provider was sent.
    ``validations`` caches the compiled validations, by their settings.
    """

    tool: Tool[..., Any]
    name: str
    wire_name: str
    description: str
    entry: bytes
    is_strict: bool
    differences: tuple[Loss | Finding, ...]
    settings: ValidationSettings
    out: Arrow | None
    schema: JsonSchema
    advertises_output: bool
    validations: dict[ValidationSettings, Validate]

    def validation(self, settings: ValidationSettings) -> Validate:
        """Return the function that validates arguments with these
        settings, compiled at its first use.
        """
        validate = self.validations.get(settings)
        if validate is None:
            validate = self.validations[settings] = record_of(self.tool).compile_validation(
                settings
            )
        return validate


class Shapes(NamedTuple):
    """The shapes of a set of tools, and the names of the tools that are not strict
    because of the provider's limits.
    """

    compiled: list[Shape]
    relaxed: frozenset[str]


def compile_shapes(
    tools: Iterable[Tool[..., Any]],
    provider: Provider,
    strict: Strictness,
    rules: CoercionRules,
    *,
    annotates: bool = False,
    beside: Sequence[Candidate] = (),
) -> Shapes:
    """Compile a set of tools for a provider.

    Args:
        tools: The tools.
        provider: The provider that the tools are sent to.
        strict: Whether the provider constrains arguments; a tool's own ``strict`` takes precedence.
        rules: The coercion rules of the registry; a tool's own rules take precedence.
        annotates: Whether an error shows the model its own invalid JSON, with comments.
        beside: Other schemas in the request, which count toward the same limits for strict schemas.

    Raises:
        ExportError: A tool cannot be sent to the provider, or the tools together cannot be sent in
            the requested form.
    """
    requested: list[tuple[Tool[..., Any], Strictness]] = [
        (tool, strict if tool.strict is None else tool.strict) for tool in tools
    ]
    if provider.schema.budget is None:
        return Shapes(
            [_compile_shape(provider, tool, wish, rules, annotates) for tool, wish in requested],
            frozenset(),
        )
    wire_tools = [
        (tool, wish, _compile_wire_tool(provider, tool, wish)) for tool, wish in requested
    ]
    candidates = [
        Candidate(
            name=tool.name,
            schema=wire_tool.lens.schema,
            is_strict=wire_tool.is_strict,
            is_asked=wish is True or _is_verbatim(tool, provider),
            is_destructive="destructive" in tool.effects,
        )
        for tool, wish, wire_tool in wire_tools
    ]
    relaxed_names = find_relaxed(provider, provider.schema.budget, [*candidates, *beside])
    compiled = [
        _compile_shape(
            provider, tool, "relaxed" if tool.name in relaxed_names else wish, rules, annotates
        )
        for tool, wish in requested
    ]
    return Shapes(compiled, relaxed_names)


_Wish: TypeAlias = Strictness | Literal["relaxed"]
"""The requested strictness; ``"relaxed"`` is not strict, because the tools
would exceed the provider's limits.
"""


def _compile_wire_tool(provider: Provider, tool: Tool[..., Any], wish: _Wish) -> WireTool:
    """Return a tool in the form that a provider is sent, compiled
    once for each record and provider.

    Most of the cost of a registry is in this step. Records and providers do not change, so a second
    registry of the same tools, such as a registry for each user, reuses the form that the first
    registry compiled. The record caches the form as long as both the record and the provider exist.
    """
    compiled = record_of(tool).compiled_for(provider)
    wire_tool: WireTool | None = compiled.get(("wire", wish))
    if wire_tool is None:
        if wish == "relaxed":
            wire_tool = _relax(provider, tool)
        else:
            wire_tool = to_wire(provider, tool.spec, wish)
        compiled["wire", wish] = wire_tool
    return wire_tool


def _is_verbatim(tool: Tool[..., Any], provider: Provider) -> bool:
    verbatim = tool.spec.verbatim
    return verbatim is not None and verbatim.form == provider.form


def _relax(provider: Provider, tool: Tool[..., Any]) -> WireTool:
    wire_tool = to_wire(provider, tool.spec, strict=False)
    note = f"not strict: the request would exceed the limits of {provider.name} for strict tools"
    return wire_tool._replace(
        notes=(*wire_tool.notes, Loss(path="", keyword="strict", kind="widened", note=note))
    )


def _compile_shape(
    provider: Provider, tool: Tool[..., Any], wish: _Wish, rules: CoercionRules, annotates: bool
) -> Shape:
    active_rules = choose_rules(rules, tool.coerce)
    compiled = record_of(tool).compiled_for(provider)
    key = ("shape", wish, active_rules, annotates)
    shape: Shape | None = compiled.get(key)
    if shape is None:
        wire_tool = _compile_wire_tool(provider, tool, wish)
        shape = compiled[key] = Shape(
            tool=tool,
            name=tool.name,
            wire_name=wire_tool.wire_name,
            description=wire_tool.description,
            entry=json.dumps(wire_tool.payload).encode(),
            is_strict=wire_tool.is_strict,
            differences=(*wire_tool.notes, *wire_tool.lens.losses),
            settings=ValidationSettings(
                wire_tool.wire_name,
                active_rules,
                wire_tool.lens.back,
                wire_tool.lens.drops,
                annotates,
                wire_tool.takes_text,
            ),
            out=wire_tool.lens.out,
            schema=wire_tool.lens.schema,
            advertises_output=provider.request.advertises_output
            or _holds_output_schema(wire_tool.payload),
            validations={},
        )
    if shape.tool is tool:
        return shape
    return shape._replace(tool=tool)


def _holds_output_schema(entry: JsonObject) -> bool:
    """Whether an entry, or a function in a group, has the schema of results."""
    return any("output_schema" in part for part in (entry, *entry.get("tools", ())))

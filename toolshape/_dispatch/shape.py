"""``Shape``: one tool in the form that one provider is sent; and the shapes of a set, of which not all may be strict."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from toolshape._calls import Finding, Loss, Strictness
from toolshape._schema.arrows import Arrow
from toolshape._tool import Tool
from toolshape._validation.coercion import chosen_rules
from toolshape._validation.settings import ValidationSettings
from toolshape._wire.export import WireTool, to_wire
from toolshape._wire.provider import Provider
from toolshape._wire.strict_budget import Candidate, relaxed

Rules: TypeAlias = Mapping[str, bool] | bool | None


class Shape(NamedTuple):
    """One tool at one provider, as it is shown.

    ``entry`` is the JSON of what is sent, ``differences`` what a report lists of it. ``settings`` say how its calls are
    validated, ``advertises_output`` whether the provider is sent schemas of results; ``out`` maps canonical arguments
    to the form that the provider was sent.
    """

    tool: Tool[..., Any]
    name: str
    wire_name: str
    entry: bytes
    is_strict: bool
    differences: tuple[Loss | Finding, ...]
    settings: ValidationSettings
    out: Arrow | None
    advertises_output: bool


def shapes(
    tools: Iterable[Tool[..., Any]],
    provider: Provider,
    strict: Strictness,
    rules: Rules,
    *,
    annotates: bool = False,
) -> list[Shape]:
    """Compile a set of tools for a provider.

    Args:
        tools: The tools.
        provider: Whom they are shown to.
        strict: Whether their arguments are to be constrained; a tool's own wish goes before it.
        rules: The registry's layer of coercion rules; a tool's own lies on top.
        annotates: Whether a model is shown its own invalid JSON with comments.

    Raises:
        ExportError: The provider cannot be sent one of the tools, or not all of them in the form that is asked for.
    """
    wishes: list[tuple[Tool[..., Any], Strictness]] = [
        (tool, strict if tool.strict is None else tool.strict) for tool in tools
    ]
    wire_tools = [(tool, wish, to_wire(provider, tool.spec, wish)) for tool, wish in wishes]
    if provider.schema.budget is None:
        return [_compiled(provider, tool, one, rules, annotates) for tool, _, one in wire_tools]
    candidates = [
        Candidate(
            name=tool.name,
            schema=one.lens.schema,
            is_strict=one.is_strict,
            is_asked=wish is True or _is_verbatim(tool, provider),
            is_destructive="destructive" in tool.effects,
        )
        for tool, wish, one in wire_tools
    ]
    too_many = relaxed(provider, provider.schema.budget, candidates)
    return [
        _compiled(provider, tool, _lenient(provider, tool) if tool.name in too_many else one, rules, annotates)
        for tool, _, one in wire_tools
    ]


def _is_verbatim(tool: Tool[..., Any], provider: Provider) -> bool:
    verbatim = tool.spec.verbatim
    return verbatim is not None and verbatim.form == provider.form


def _lenient(provider: Provider, tool: Tool[..., Any]) -> WireTool:
    wire_tool = to_wire(provider, tool.spec, strict=False)
    note = f"not strict: the request would exceed the limits of {provider.name} for strict tools"
    return wire_tool._replace(notes=(*wire_tool.notes, Loss(path="", keyword="strict", kind="widened", note=note)))


def _compiled(provider: Provider, tool: Tool[..., Any], wire_tool: WireTool, rules: Rules, annotates: bool) -> Shape:
    chosen = chosen_rules(rules, tool.coerce)
    return Shape(
        tool=tool,
        name=tool.name,
        wire_name=wire_tool.wire_name,
        entry=json.dumps(wire_tool.payload).encode(),
        is_strict=wire_tool.is_strict,
        differences=(*wire_tool.notes, *wire_tool.lens.losses),
        settings=ValidationSettings(wire_tool.wire_name, chosen, wire_tool.lens.back, wire_tool.lens.drops, annotates),
        out=wire_tool.lens.out,
        advertises_output=provider.request.advertises_output,
    )

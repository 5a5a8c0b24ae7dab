"""``Shape``: one tool at one provider, compiled; and a whole set of them, within the provider's budget."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from toolshape.binding import Invoke
from toolshape.budget import Candidate, relaxed
from toolshape.calls import Loss
from toolshape.coercion import chosen_rules
from toolshape.payload import Terms, Validate
from toolshape.provider import Provider, Strictness
from toolshape.showing import Shown, show
from toolshape.signature import Kind
from toolshape.tool import Tool

__all__ = ["Shape", "shapes"]

Rules: TypeAlias = Mapping[str, bool] | bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """One tool at one provider: what is shown, and the way from its call to the function."""

    tool: Tool[..., Any]
    name: str
    shown: Shown
    kind: Kind
    validate: Validate
    invoke: Invoke
    to_text: Callable[[Any], str]
    timeout: float | None
    longest_result: int | None
    is_untrusted: bool
    has_needs: bool


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
        ExportError: The provider cannot be shown one of the tools, or not all of them in the form that is asked for.
    """
    wishes: list[tuple[Tool[..., Any], Strictness]] = [
        (tool, strict if tool.strict is None else tool.strict) for tool in tools
    ]
    shown = [(tool, wish, show(provider, tool.spec, wish)) for tool, wish in wishes]
    if provider.budget is None:
        return [_compiled(tool, one, rules, annotates) for tool, _, one in shown]
    candidates = [
        Candidate(
            name=tool.name,
            schema=one.lens.schema,
            is_strict=one.is_strict,
            is_asked=wish is True or _is_verbatim(tool, provider),
            is_destructive="destructive" in tool.effects,
        )
        for tool, wish, one in shown
    ]
    too_many = relaxed(provider, provider.budget, candidates)
    return [
        _compiled(tool, _lenient(provider, tool) if tool.name in too_many else one, rules, annotates)
        for tool, _, one in shown
    ]


def _is_verbatim(tool: Tool[..., Any], provider: Provider) -> bool:
    verbatim = tool.spec.verbatim
    return verbatim is not None and verbatim.form == provider.form


def _lenient(provider: Provider, tool: Tool[..., Any]) -> Shown:
    shown = show(provider, tool.spec, strict=False)
    note = f"not constrained: the request's strict tools would be more than {provider.name} compiles"
    return replace(shown, notes=(*shown.notes, Loss(path="", keyword="strict", kind="widened", note=note)))


def _compiled(tool: Tool[..., Any], shown: Shown, rules: Rules, annotates: bool) -> Shape:
    definition = tool.definition
    return Shape(
        tool=tool,
        name=tool.name,
        shown=shown,
        kind=definition.kind,
        validate=tool.compile_validate(
            Terms(shown.wire_name, chosen_rules(rules, tool.coerce), shown.lens.back, annotates)
        ),
        invoke=definition.invoke,
        to_text=tool.output.to_text,
        timeout=tool.timeout,
        longest_result=tool.options.longest_result,
        is_untrusted=tool.options.untrusted,
        has_needs=bool(definition.layout.injected) or tool.function is None,
    )

"""``Shape``: one tool at one provider, compiled; and a whole set of them, within the provider's budget."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from toolshape.arrows import Arrow
from toolshape.binding import Invoke
from toolshape.budget import Candidate, relaxed
from toolshape.calls import Finding, Loss
from toolshape.coercion import chosen_rules
from toolshape.payload import Terms, Validate
from toolshape.provider import Provider, Strictness
from toolshape.running import is_async
from toolshape.showing import Shown, show
from toolshape.signature import Kind
from toolshape.tool import Tool

__all__ = ["Shape", "shapes"]

Rules: TypeAlias = Mapping[str, bool] | bool | None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Shape:
    """One tool at one provider: what is shown, and the way from its call to the function.

    ``entry`` is the JSON of what is shown, ``said`` what a report says of it; ``back`` and ``out`` are the lens's arrows.
    ``is_framed``: what a model reads of a result is cut or marked. ``says_text``: a result that is a text is read as
    it is. ``has_needs``: a call needs more than its arguments; ``is_plain``: it does not, nor a loop.
    """

    tool: Tool[..., Any]
    name: str
    wire_name: str
    entry: bytes
    is_strict: bool
    said: tuple[Loss | Finding, ...]
    back: Arrow | None
    out: Arrow | None
    kind: Kind
    is_async: bool
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
    has_needs = bool(definition.layout.injected) or tool.function is None
    is_framed = tool.options.untrusted or tool.options.longest_result is not None
    return Shape(
        tool=tool,
        name=tool.name,
        wire_name=shown.wire_name,
        entry=json.dumps(shown.payload).encode(),
        is_strict=shown.is_strict,
        said=(*shown.notes, *shown.lens.losses),
        back=shown.lens.back,
        out=shown.lens.out,
        kind=definition.kind,
        is_async=is_async(definition.kind),
        validate=tool.compile_validate(
            Terms(shown.wire_name, chosen_rules(rules, tool.coerce), shown.lens.back, shown.lens.drops, annotates)
        ),
        invoke=definition.invoke,
        to_text=tool.output.to_text,
        timeout=tool.timeout,
        longest_result=tool.options.longest_result,
        is_untrusted=tool.options.untrusted,
        is_framed=is_framed,
        says_text=not is_framed and tool.output.says_text,
        has_needs=has_needs,
        is_plain=not (has_needs or is_async(definition.kind)),
    )

"""``Shape``: one tool at one provider, compiled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolshape.binding import Invoke
from toolshape.coercion import chosen_rules
from toolshape.provider import Provider, Shown, Strictness, show
from toolshape.signature import Kind
from toolshape.tool import Tool
from toolshape.validation import Validate, compile_validate

__all__ = ["Shape", "shape"]


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
    is_injected: bool


def shape(
    tool: Tool[..., Any], provider: Provider, strict: Strictness, rules: Mapping[str, bool] | bool | None
) -> Shape:
    """Compile a tool for a provider.

    Args:
        tool: The tool.
        provider: Whom it is shown to.
        strict: Whether its arguments are to be constrained; the tool's own wish goes before it.
        rules: The registry's layer of coercion rules; the tool's own lies on top.

    Raises:
        ExportError: The provider cannot be shown this tool.
    """
    definition = tool.definition
    shown = show(provider, tool.spec, strict if tool.strict is None else tool.strict)
    return Shape(
        tool=tool,
        name=tool.name,
        shown=shown,
        kind=definition.kind,
        validate=compile_validate(definition, chosen_rules(rules, tool.coerce), shown.wire_name, shown.lens.back),
        invoke=definition.invoke,
        to_text=tool.output.to_text,
        timeout=tool.timeout,
        is_injected=bool(definition.layout.injected),
    )

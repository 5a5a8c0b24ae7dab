"""Fits the strict tools of a request into a provider's limits: some are sent leniently."""

from collections.abc import Sequence
from typing import NamedTuple

from toolshape._families.wire.provider import Budget, Provider
from toolshape._records.calls import JsonSchema
from toolshape._records.errors import ExportError, Problem
from toolshape._schema.limits import GrammarSize, grammar_size


class Candidate(NamedTuple):
    """A tool in the request: its wire schema, whether it is strict, and
    whether the user asked for strict.

    If ``is_strict`` is ``False``, the tool is sent in lenient form in any case, and matters only
    for a shared budget. ``is_tool`` is ``False`` for the answer's schema: its size counts, but not
    as a tool.
    """

    name: str
    schema: JsonSchema
    is_strict: bool
    is_asked: bool
    is_destructive: bool
    is_tool: bool = True


def find_relaxed(
    provider: Provider, budget: Budget, candidates: Sequence[Candidate]
) -> frozenset[str]:
    """Find the strict tools that must be sent in lenient form so that the
    other strict tools fit the budget.

    Explicitly strict tools take precedence, then destructive tools, then the cheapest tools; ties
    keep the given order. An added tool therefore displaces as few other tools as possible.

    Raises:
        ExportError: The explicitly strict tools do not fit; the error names the tools to relax.
    """
    strict = [tool for tool in candidates if tool.is_strict]
    # A shared budget is all or nothing: one lenient tool makes all tools lenient. If the user asked
    # for strict tools, a lenient tool is an error.
    if budget.is_shared and len(strict) < len(candidates):
        if explicit_names := [tool.name for tool in strict if tool.is_asked]:
            lenient = ", ".join(tool.name for tool in candidates if not tool.is_strict)
            raise _budget_error(
                provider,
                budget,
                "all tools of a request must be strict, or none of them (must be strict: "
                f"{', '.join(explicit_names)}; "
                f"not strict: {lenient}): set strict=False on the first group, or make all tools "
                "strict",
            )
        return frozenset(tool.name for tool in strict)
    sizes = {tool.name: grammar_size(tool.schema) for tool in strict}
    ordered_tools = sorted(
        strict,
        key=lambda tool: (
            not tool.is_asked,
            not tool.is_destructive,
            _cost(sizes[tool.name], budget),
        ),
    )
    used_size = GrammarSize(0, 0, 0)
    tool_count, displaced = 0, []
    for tool in ordered_tools:
        new_size = GrammarSize(*map(sum, zip(used_size, sizes[tool.name], strict=True)))
        if _fits(new_size, tool_count + tool.is_tool, budget):
            used_size, tool_count = new_size, tool_count + tool.is_tool
        else:
            displaced.append(tool)
    if excess_names := [tool.name for tool in displaced if tool.is_asked or budget.is_shared]:
        if budget.is_shared and not any(tool.is_asked for tool in strict):
            return frozenset(sizes)
        message = (
            f"not all tools can be strict in one request ({_limits(budget)}): relax "
            f"{', '.join(excess_names)}"
        )
        raise _budget_error(provider, budget, message)
    return frozenset(tool.name for tool in displaced)


def _cost(size: GrammarSize, budget: Budget) -> float:
    return size.optional / (budget.optional or 1e9) + size.unions / (budget.unions or 1e9)


def _fits(size: GrammarSize, tools: int, budget: Budget) -> bool:
    pairs = zip(
        (tools, *size),
        (budget.tools, budget.properties, budget.optional, budget.unions),
        strict=True,
    )
    return all(most is None or spent <= most for spent, most in pairs)


def _limits(budget: Budget) -> str:
    limits_by_name = {
        "strict tools": budget.tools,
        "properties": budget.properties,
        "optional properties": budget.optional,
        "unions": budget.unions,
    }
    return "at most " + ", ".join(
        f"{most} {limit}" for limit, most in limits_by_name.items() if most is not None
    )


def _budget_error(provider: Provider, budget: Budget, message: str) -> ExportError:
    problem = Problem(path="", rule="strict_budget", message=message, evidence=budget.evidence)
    return ExportError(provider=provider.name, tool=None, problems=[problem])

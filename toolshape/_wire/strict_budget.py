"""Fit the strict tools of a request into a provider's limits: find those that must be sent in lenient form."""

from collections.abc import Sequence
from typing import NamedTuple

from toolshape._calls import JsonSchema
from toolshape._errors import ExportError, Problem
from toolshape._schema.limits import GrammarSize, grammar_size
from toolshape._wire.provider import Budget, Provider


class Candidate(NamedTuple):
    """A tool of the set: its schema in wire form, whether that is strict, and whether strict was asked for.

    A tool whose ``is_strict`` is ``False`` is sent in lenient form anyway; it matters only if the budget is shared.
    """

    name: str
    schema: JsonSchema
    is_strict: bool
    is_asked: bool
    is_destructive: bool


def relaxed(provider: Provider, budget: Budget, candidates: Sequence[Candidate]) -> frozenset[str]:
    """Find the strict tools that must be shown in lenient form so that the others fit.

    Explicitly strict tools take precedence, then destructive ones, then the cheapest; ties keep the given order. So
    an added tool displaces as few others as possible.

    Raises:
        ExportError: The explicitly strict tools do not fit; the error names those to relax.
    """
    strict = [one for one in candidates if one.is_strict]
    if budget.is_shared and len(strict) < len(candidates):
        if asked := [one.name for one in strict if one.is_asked]:
            lenient = ", ".join(one.name for one in candidates if not one.is_strict)
            raise _too_much(
                provider,
                budget,
                f"strict applies to all tools at once: {asked[0]} is strict, {lenient} not: relax one or make all so",
            )
        return frozenset(one.name for one in strict)
    sizes = {one.name: grammar_size(one.schema) for one in strict}
    order = sorted(strict, key=lambda one: (not one.is_asked, not one.is_destructive, _cost(sizes[one.name], budget)))
    spent = GrammarSize(0, 0, 0)
    taken, out = 0, []
    for one in order:
        total = GrammarSize(*map(sum, zip(spent, sizes[one.name], strict=True)))
        if _fits(total, taken + 1, budget):
            spent, taken = total, taken + 1
        else:
            out.append(one)
    if too_many := [one.name for one in out if one.is_asked or budget.is_shared]:
        if budget.is_shared and not any(one.is_asked for one in strict):
            return frozenset(sizes)
        message = f"not all can be strict in one request ({_limits(budget)}): relax {', '.join(too_many)}"
        raise _too_much(provider, budget, message)
    return frozenset(one.name for one in out)


def _cost(size: GrammarSize, budget: Budget) -> float:
    return size.optional / (budget.optional or 1e9) + size.unions / (budget.unions or 1e9)


def _fits(size: GrammarSize, tools: int, budget: Budget) -> bool:
    pairs = zip((tools, *size), (budget.tools, budget.properties, budget.optional, budget.unions), strict=True)
    return all(most is None or spent <= most for spent, most in pairs)


def _limits(budget: Budget) -> str:
    named = {
        "strict tools": budget.tools,
        "properties": budget.properties,
        "optional properties": budget.optional,
        "unions": budget.unions,
    }
    return "at most " + ", ".join(f"{most} {what}" for what, most in named.items() if most is not None)


def _too_much(provider: Provider, budget: Budget, message: str) -> ExportError:
    problem = Problem(path="", rule="strict_budget", message=message, evidence=budget.evidence)
    return ExportError(provider=provider.name, tool=None, problems=[problem])

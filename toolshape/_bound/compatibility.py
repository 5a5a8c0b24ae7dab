"""Finds what a provider would reject in a registry, and compares one tool at several providers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from toolshape._answers.output import Output
from toolshape._bound.registry import Registry
from toolshape._families import get
from toolshape._families.wire.provider import Provider, ProviderOrName
from toolshape._records.calls import Strictness
from toolshape._records.errors import ExportError
from toolshape._records.report import Entry
from toolshape._tools.options import Options
from toolshape._tools.tool import Tool, make_tool


class RefusedTool(NamedTuple):
    """One reason why a provider would reject the tools.

    ``tool`` is empty if the provider would reject the set of tools rather than a single tool.
    ``evidence`` is the source of the rule.
    """

    provider: str
    tool: str
    path: str
    rule: str
    message: str
    evidence: str


def check(
    registry: Registry, provider: ProviderOrName, strict: Strictness | None = None
) -> tuple[RefusedTool, ...]:
    """Return each reason why a provider would reject these tools, checked alone and then together.

    Tools that are rejected alone take no part in the check of the whole set.

    Args:
        registry: The tools.
        provider: The provider to check against.
        strict: See ``Registry.bind``.

    Raises:
        ExportError: The provider is unknown.
        DefinitionError: Some of the tools' definitions cannot be read; the error names all of them.
    """
    registry.check()
    resolved_provider = get(provider)
    refusals: list[RefusedTool] = []
    for tool in registry:
        refusals += _refusals(registry.subset(names=[tool.name]), resolved_provider, strict)
    refused_names = {refusal.tool for refusal in refusals}
    accepted_tools = registry.subset(
        names=[tool.name for tool in registry if tool.name not in refused_names]
    )
    return (*refusals, *_refusals(accepted_tools, resolved_provider, strict))


def check_answer(
    output: Output[Any], provider: ProviderOrName, strict: Strictness | None = None
) -> tuple[RefusedTool, ...]:
    """Return each reason why a provider would reject an output.

    The ``tool`` of each ``RefusedTool`` is the output's name.
    """
    try:
        output.bind(get(provider), strict)
    except ExportError as error:
        return tuple(_to_refused_tools(get(provider), error))
    return ()


def _refusals(
    registry: Registry, provider: Provider, strict: Strictness | None
) -> Iterator[RefusedTool]:
    try:
        registry.bind(provider, strict).export()
    except ExportError as error:
        yield from _to_refused_tools(provider, error)


def _to_refused_tools(provider: Provider, error: ExportError) -> Iterator[RefusedTool]:
    for problem in error.problems:
        if problem.hint:
            message = f"{problem.message} ({problem.hint})"
        else:
            message = problem.message
        yield RefusedTool(
            provider.name, error.tool or "", problem.path, problem.rule, message, problem.evidence
        )


class FormDifference(NamedTuple):
    """How each provider receives one parameter: ``sent`` maps a provider to the
    differences from the canonical form.
    """

    path: str
    sent: dict[str, str]


def differences(
    tool: Tool[..., Any], targets: Sequence[ProviderOrName], strict: Strictness | None = None
) -> tuple[FormDifference, ...]:
    """Compare a tool's forms: the first row is for the whole tool, and each other row
    for one parameter that differs.

    Args:
        tool: The tool.
        targets: The providers to compare.
        strict: See ``Registry.bind``. Providers without a strict form ignore it.

    Raises:
        ExportError: A provider would reject the tool.
    """
    reports: dict[str, list[Entry]] = {}
    forms: dict[str, str] = {}
    for provider in map(get, targets):
        # A provider without a strict form gets its only form, even if the tool asks for the strict
        # form.
        if provider.schema.strict is None:
            sent_tool = make_tool(tool, Options(strict=False), None)
        else:
            sent_tool = tool
        bound = Registry([sent_tool]).bind(
            provider, None if provider.schema.strict is None else strict
        )
        reports[provider.name] = [entry for entry in bound.report() if entry.kind != "finding"]
        forms[provider.name] = "strict" if bound.is_strict(tool.name) else "lenient"
    paths = dict.fromkeys(entry.path for report in reports.values() for entry in report)
    rows = [
        FormDifference("", {name: _describe(forms[name], reports[name], "") for name in reports})
    ]
    rows += [
        FormDifference(
            path, {name: _describe("", report, path) for name, report in reports.items()}
        )
        for path in paths
        if path
    ]
    return tuple(rows)


def _describe(form: str, report: Iterable[Entry], path: str) -> str:
    notes = [f"{entry.rule}: {entry.note}" for entry in report if entry.path == path]
    return "; ".join([*([form] if form else []), *notes]) or "as written"

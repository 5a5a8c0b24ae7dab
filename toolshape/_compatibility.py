"""What each provider would refuse of a registry, and how the forms of one tool differ between providers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from toolshape._calls import Strictness
from toolshape._errors import ExportError
from toolshape._families import get
from toolshape._options import Options
from toolshape._registry import Registry
from toolshape._report import Entry
from toolshape._tool import Tool, make_tool
from toolshape._wire.provider import AnyProvider, Provider


class Refused(NamedTuple):
    """One thing that a provider would refuse: ``tool`` is empty where it is the set, ``evidence`` says how we know."""

    provider: str
    tool: str
    path: str
    rule: str
    message: str
    evidence: str


def check(registry: Registry, provider: AnyProvider, strict: Strictness | None = None) -> tuple[Refused, ...]:
    """Find everything that a provider would refuse of a registry: of each tool, then of those that it would take together.

    Args:
        registry: The tools.
        provider: Whom they would be sent to.
        strict: As for ``Registry.bind``.

    Raises:
        ExportError: There is no such provider.
    """
    found = get(provider)
    refused: list[Refused] = []
    for tool in registry:
        refused += _refusals(registry.subset(names=[tool.name]), found, strict)
    faulty = {one.tool for one in refused}
    sound = registry.subset(names=[tool.name for tool in registry if tool.name not in faulty])
    return (*refused, *_refusals(sound, found, strict))


def _refusals(registry: Registry, provider: Provider, strict: Strictness | None) -> Iterator[Refused]:
    try:
        registry.bind(provider, strict).export()
    except ExportError as error:
        for one in error.problems:
            message = f"{one.message} ({one.hint})" if one.hint else one.message
            yield Refused(provider.name, error.tool or "", one.path, one.rule, message, one.evidence)


class Difference(NamedTuple):
    """How one parameter is sent: ``sent`` holds, by target, the differences from the canonical schema."""

    path: str
    sent: dict[str, str]


def differences(
    tool: Tool[..., Any], targets: Sequence[AnyProvider], strict: Strictness | None = None
) -> tuple[Difference, ...]:
    """Compare how providers are sent a tool: a row for the whole of it, and for each parameter that differs.

    Args:
        tool: The tool.
        targets: Providers.
        strict: As for ``Registry.bind``, where a target has a strict form.

    Raises:
        ExportError: A target cannot be sent the tool.
    """
    reports: dict[str, list[Entry]] = {}
    forms: dict[str, str] = {}
    for provider in map(get, targets):
        # A target without a strict form is compared in the form that it has.
        again = make_tool(tool, Options(strict=False), None) if provider.schema.strict is None else tool
        bound = Registry([again]).bind(provider, None if provider.schema.strict is None else strict)
        reports[provider.name] = [entry for entry in bound.report() if entry.kind != "finding"]
        forms[provider.name] = "strict" if bound.is_strict(tool.name) else "lenient"
    paths = dict.fromkeys(entry.path for report in reports.values() for entry in report)
    rows = [Difference("", {name: _said(forms[name], reports[name], "") for name in reports})]
    rows += [
        Difference(path, {name: _said("", report, path) for name, report in reports.items()}) for path in paths if path
    ]
    return tuple(rows)


def _said(form: str, report: Iterable[Entry], path: str) -> str:
    notes = [f"{entry.rule}: {entry.note}" for entry in report if entry.path == path]
    return "; ".join([*([form] if form else []), *notes]) or "as written"

"""Renders an HTML page that shows what each provider is sent for the tools, without JavaScript or external files."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from toolshape._bound import Bound
from toolshape._compatibility import RefusedTool, check
from toolshape._errors import ExportError
from toolshape._families import get
from toolshape._html import SEARCH, checkboxes, code, page, text
from toolshape._registry import Registry
from toolshape._report import Entry
from toolshape._tool import Tool
from toolshape.contract._compare import Diff
from toolshape.contract._costs import ToolCost, request_cost

PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini", "bedrock", "mistral", "cohere", "ollama", "mcp")
"""The default providers of a page."""
_STYLE = """
:root { --strict: #17692f; --lenient: #4b4b52; --lossy: #6b5200; --refused: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --strict: #6fd68f; --lenient: #c9c9d1; --lossy: #e6c35c; --refused: #ff9b92 }
}
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem }
.strict, .strict a { color: var(--strict) } .lenient, .lenient a { color: var(--lenient) }
.lossy, .lossy a { color: var(--lossy) } .refused, .refused a { color: var(--refused) }
.breaking { color: var(--refused) } .unknown { color: var(--lossy) }
"""


class _At(NamedTuple):
    """The tools at one provider: the bound tools, and by tool the refusals, the report and the costs."""

    bound: Bound
    refused: Mapping[str, list[RefusedTool]]
    report: Mapping[str, list[Entry]]
    costs: Mapping[str, ToolCost]


def render_page(
    tools: Registry, providers: Iterable[str] = PROVIDERS, changes: Diff | None = None, title: str = "Tools"
) -> str:
    """Render the page.

    Args:
        tools: The tools.
        providers: The providers to show them for.
        changes: The changes of the tools, for example from ``diff``.
        title: The title of the page.

    Raises:
        ExportError: A provider is unknown.
    """
    at = {name: _at(tools, name) for name in dict.fromkeys(providers)}
    keys = {name: f"p{number}" for number, name in enumerate(at)}
    body = [
        *_changes(changes),
        *_overview(tools, at, keys),
        f"<h2>What is sent</h2><fieldset><legend>at</legend>{checkboxes(keys)}</fieldset>{SEARCH}",
        *(_tool(number, tool, at, keys) for number, tool in enumerate(tools)),
    ]
    return page(title, body, style=_STYLE, keys=keys)


def _at(tools: Registry, provider: str) -> _At:
    refused: dict[str, list[RefusedTool]] = {}
    for refusal in check(tools, provider):
        refused.setdefault(refusal.tool, []).append(refusal)
    bound = tools.subset([tool.name for tool in tools if tool.name not in refused]).bind(get(provider))
    report: dict[str, list[Entry]] = {}
    for entry in bound.report():
        report.setdefault(entry.tool, []).append(entry)
    try:
        costs = {cost.tool: cost for cost in request_cost(bound, "").costs}
    except ExportError:  # too many tools for one request, which ``refused`` reports
        costs = {}
    return _At(bound, refused, report, costs)


def _json(value: Any) -> str:
    return f'<pre tabindex="0">{text(json.dumps(value, indent=2, ensure_ascii=False, default=str))}</pre>'


def _changes(changes: Diff | None) -> Iterator[str]:
    if changes is None:
        return
    yield f"<h2>Changes</h2><p>{text(str(changes).splitlines()[-1])}</p>"
    if changes.changes:
        yield '<div class="wide"><table id="changes"><tr><th>level<th>tool<th>place<th>change<th>before<th>after<th>example call'
    for change in changes.changes:
        shown = "" if change.witness is None else code(change.witness)
        values = "".join(f"<td>{code(json.dumps(value, default=str))}" for value in (change.before, change.after))
        yield f'<tr class="{change.level}"><td>{change.level}<td>{text(change.tool)}<td>{code(change.path)}'
        yield f"<td>{text(change.kind.replace('_', ' '))}{values}<td>{shown}"
    if changes.changes:
        yield "</table></div>"


def _overview(tools: Registry, at: Mapping[str, _At], keys: Mapping[str, str]) -> Iterator[str]:
    """Render a table of tools and providers: the state of each tool there, with a link to its entry."""
    yield '<h2>Tools by provider</h2><div class="wide"><table id="pairs"><tr><th>tool'
    yield "".join(f'<th class="{keys[name]}">{text(name)}' for name in at)
    for number, tool in enumerate(tools):
        yield f'<tr><th scope="row"><a href="#t{number}">{text(tool.name)}</a>'
        for name, bound_at in at.items():
            state, label = _state(tool, bound_at)
            yield f'<td class="{keys[name]} {state}"><a href="#t{number}-{keys[name]}">{label}</a>'
    yield "</table></div>"


def _state(tool: Tool[..., Any], at: _At) -> tuple[str, str]:
    if tool.name in at.refused:
        return "refused", "refused"
    losses = [
        entry for entry in at.report.get(tool.name, ()) if entry.kind != "finding" and entry.severity != "mapped_back"
    ]
    form = "strict" if at.bound.is_strict(tool.name) else "lenient"
    return ("lossy", f"{form}, losses: {len(losses)}") if losses else (form, form)


def _tool(number: int, tool: Tool[..., Any], at: Mapping[str, _At], keys: Mapping[str, str]) -> str:
    inner = [f"<p>{text(tool.description)}</p>"]
    if tool.effects:
        inner.append(f"<p>effects: {text(', '.join(sorted(tool.effects)))}</p>")
    findings = "".join(f"<li>{text(finding.path or 'the tool')}: {text(finding.message)}" for finding in tool.findings)
    inner.append(f"<h3>Findings</h3><ul>{findings}</ul>" if findings else "")
    inner += [_sent(f"t{number}-{keys[name]}", keys[name], name, tool, bound_at) for name, bound_at in at.items()]
    head = f"<b>{text(tool.name)}</b> {text(tool.title or '')}"
    return f'<details class="tool entry" id="t{number}"><summary>{head}</summary>{"".join(inner)}</details>'


def _sent(place: str, key: str, provider: str, tool: Tool[..., Any], at: _At) -> str:
    """Render what one provider is sent for a tool, beside the canonical schema."""
    state, label = _state(tool, at)
    head = f'<b>{text(provider)}</b> <span class="{state}">{label}</span>'
    if tool.name in at.refused:
        rows = "".join(
            f"<li>{text(refusal.path or 'the tool')}: {text(refusal.message)} <em>{text(refusal.evidence)}</em>"
            for refusal in at.refused[tool.name]
        )
        return f'<details class="{key}" id="{place}"><summary>{head}</summary><ul>{rows}</ul></details>'
    cost = at.costs.get(tool.name)
    shares = "" if cost is None else _shares(cost)
    sent = at.bound.subset([tool.name]).export()
    pair = f"<div><h3>Canonical</h3>{_json(tool.input_schema)}</div><div><h3>Sent</h3>{_json(sent)}</div>"
    inner = f'{_losses(at.report.get(tool.name, []))}{shares}<div class="pair">{pair}</div>'
    return f'<details class="{key}" id="{place}"><summary>{head}</summary>{inner}</details>'


def _losses(report: list[Entry]) -> str:
    rows = [
        f"<tr><td>{code(entry.path or 'the tool')}<td>{text(entry.rule)}<td>{text(entry.kind)}"
        f"<td>{text(entry.severity.replace('_', ' '))}<td>{text(entry.note)}"
        for entry in report
        if entry.kind != "finding"
    ]
    head = "<tr><th>place<th>keyword<th>kind<th>severity<th>note"
    return f'<div class="wide"><table>{head}{"".join(rows)}</table></div>' if rows else "<p>Nothing is changed.</p>"


def _shares(cost: ToolCost) -> str:
    parts = ", ".join(f"{name} {count}" for name, count in cost.parts.items() if count)
    return f"<p>{cost.characters} characters, {cost.share:.0%} of all tools here: {text(parts)}</p>"

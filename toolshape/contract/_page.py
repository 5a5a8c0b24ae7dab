"""Tools in; one page of HTML that shows what each provider is sent of them, which loads nothing and needs no JavaScript, out."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from toolshape._bound import Bound
from toolshape._compatibility import Refused, check
from toolshape._errors import ExportError
from toolshape._html import SEARCH, checkboxes, code, page, text
from toolshape._registry import Registry
from toolshape._report import Entry
from toolshape._tool import Tool
from toolshape.contract._compare import Diff
from toolshape.contract._costs import Cost, bill

PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini", "bedrock", "mistral", "cohere", "ollama", "mcp")
"""Whom a page shows tools at where nobody says."""
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
    """The tools at one provider: what they are bound as, what would be refused, and what differs, by tool."""

    bound: Bound
    refused: Mapping[str, list[Refused]]
    report: Mapping[str, list[Entry]]
    costs: Mapping[str, Cost]


def page_of(
    tools: Registry, providers: Iterable[str] = PROVIDERS, changes: Diff | None = None, title: str = "Tools"
) -> str:
    """Write the page.

    Args:
        tools: The tools.
        providers: Whom they are shown at.
        changes: What has changed of them, as by ``diff``.
        title: What the page is called.

    Raises:
        ExportError: There is no such provider.
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
    refused: dict[str, list[Refused]] = {}
    for one in check(tools, provider):
        refused.setdefault(one.tool, []).append(one)
    bound = tools.subset([tool.name for tool in tools if tool.name not in refused]).bind(provider)
    report: dict[str, list[Entry]] = {}
    for entry in bound.report():
        report.setdefault(entry.tool, []).append(entry)
    try:
        costs = {one.tool: one for one in bill(bound, "").costs}
    except ExportError:  # there are too many for one request, which stands among what is refused
        costs = {}
    return _At(bound, refused, report, costs)


def _json(value: Any) -> str:
    return f'<pre tabindex="0">{text(json.dumps(value, indent=2, ensure_ascii=False, default=str))}</pre>'


def _changes(changes: Diff | None) -> Iterator[str]:
    if changes is None:
        return
    yield f"<h2>Changes</h2><p>{text(str(changes).splitlines()[-1])}</p>"
    if changes.changes:
        yield '<div class="wide"><table id="changes"><tr><th>level<th>tool<th>place<th>what<th>before<th>after<th>a call that shows it'
    for one in changes.changes:
        shown = "" if one.witness is None else code(one.witness)
        values = "".join(f"<td>{code(json.dumps(value, default=str))}" for value in (one.before, one.after))
        yield f'<tr class="{one.level}"><td>{one.level}<td>{text(one.tool)}<td>{code(one.path)}'
        yield f"<td>{text(one.kind.replace('_', ' '))}{values}<td>{shown}"
    if changes.changes:
        yield "</table></div>"


def _overview(tools: Registry, at: Mapping[str, _At], keys: Mapping[str, str]) -> Iterator[str]:
    """Each tool at each provider, in a word, with a way to what is sent."""
    yield '<h2>Tools by provider</h2><div class="wide"><table id="pairs"><tr><th>tool'
    yield "".join(f'<th class="{keys[name]}">{text(name)}' for name in at)
    for number, tool in enumerate(tools):
        yield f'<tr><th scope="row"><a href="#t{number}">{text(tool.name)}</a>'
        for name, one in at.items():
            state, said = _state(tool, one)
            yield f'<td class="{keys[name]} {state}"><a href="#t{number}-{keys[name]}">{said}</a>'
    yield "</table></div>"


def _state(tool: Tool[..., Any], at: _At) -> tuple[str, str]:
    if tool.name in at.refused:
        return "refused", "refused"
    losses = [one for one in at.report.get(tool.name, ()) if one.kind != "finding" and one.severity != "mapped_back"]
    form = "strict" if at.bound.is_strict(tool.name) else "lenient"
    return ("lossy", f"{form}, {len(losses)} not said") if losses else (form, form)


def _tool(number: int, tool: Tool[..., Any], at: Mapping[str, _At], keys: Mapping[str, str]) -> str:
    inner = [f"<p>{text(tool.description)}</p>"]
    if tool.effects:
        inner.append(f"<p>effects: {text(', '.join(sorted(tool.effects)))}</p>")
    findings = "".join(f"<li>{text(one.path or 'the tool')}: {text(one.message)}" for one in tool.findings)
    inner.append(f"<h3>Findings</h3><ul>{findings}</ul>" if findings else "")
    inner += [_sent(f"t{number}-{keys[name]}", keys[name], name, tool, one) for name, one in at.items()]
    head = f"<b>{text(tool.name)}</b> {text(tool.title or '')}"
    return f'<details class="tool entry" id="t{number}"><summary>{head}</summary>{"".join(inner)}</details>'


def _sent(place: str, key: str, provider: str, tool: Tool[..., Any], at: _At) -> str:
    """What one provider is sent of a tool, beside what the tool is."""
    state, said = _state(tool, at)
    head = f'<b>{text(provider)}</b> <span class="{state}">{said}</span>'
    if tool.name in at.refused:
        rows = "".join(
            f"<li>{text(one.path or 'the tool')}: {text(one.message)} <em>{text(one.evidence)}</em>"
            for one in at.refused[tool.name]
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
        f"<tr><td>{code(one.path or 'the tool')}<td>{text(one.rule)}<td>{text(one.kind)}"
        f"<td>{text(one.severity.replace('_', ' '))}<td>{text(one.note)}"
        for one in report
        if one.kind != "finding"
    ]
    head = "<tr><th>place<th>keyword<th>what<th>so that it is<th>how"
    return f'<div class="wide"><table>{head}{"".join(rows)}</table></div>' if rows else "<p>Nothing is changed.</p>"


def _shares(cost: Cost) -> str:
    parts = ", ".join(f"{name} {count}" for name, count in cost.parts.items() if count)
    return f"<p>{cost.characters} characters, {cost.share:.0%} of all tools here: {text(parts)}</p>"

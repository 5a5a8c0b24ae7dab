"""A run in; one page of HTML for people who look, which loads nothing and works without JavaScript, out."""

import base64
import hashlib
import html
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from toolshape._calls import Coercion
from toolshape.evals._verdict import RIGHT, Column, Difference, Label, Numbered, Verdict, by_column

_Columns: TypeAlias = dict[Column, dict[str, Numbered]]
_LABELS: tuple[Label, ...] = ("right", "right_after_coercion", "wrong", "failed")


class _Run(Protocol):
    @property
    def verdicts(self) -> tuple[Verdict, ...]: ...
    @property
    def cases(self) -> tuple[str, ...]: ...


_STYLE = """
:root { color-scheme: light dark; --line: #8886; --right: #17692f; --coerced: #6b5200; --wrong: #b3261e; --failed: #5f4b8b }
@media (prefers-color-scheme: dark) {
  :root { --right: #6fd68f; --coerced: #e6c35c; --wrong: #ff9b92; --failed: #c5b3f0 }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2rem }
.wide { overflow-x: auto }
table { border-collapse: collapse } th, td { text-align: left; vertical-align: top; padding: .25rem .75rem; border-bottom: 1px solid var(--line) }
code, pre { font: .9rem/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 }
fieldset { border: 0; padding: 0; margin: .5rem 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem }
legend { float: left; margin-right: 1rem; font-weight: bold }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .4rem .75rem }
details table { width: 100%; table-layout: fixed; margin: .5rem 0 }
summary { cursor: pointer } summary b { margin-right: .5rem }
.label { font-weight: bold } .right .label, td.right a { color: var(--right) } .wrong .label, td.wrong a { color: var(--wrong) }
.right_after_coercion .label { color: var(--coerced) } .failed .label { color: var(--failed) }
.scripted { display: none }
"""
_SCRIPT = """
document.querySelectorAll('.scripted').forEach(one => { one.style.display = 'block' })
const search = document.getElementById('search'), verdicts = [...document.querySelectorAll('.verdict')]
search.addEventListener('input', () => {
  const wanted = search.value.toLowerCase()
  verdicts.forEach(one => { one.hidden = !one.textContent.toLowerCase().includes(wanted) })
})
document.querySelectorAll('td a').forEach(link => link.addEventListener('click', () => {
  document.querySelector(link.getAttribute('href')).open = true
}))
"""


def page_of(run: _Run, title: str, shares: Mapping[Column, Any], comparisons: Iterable[tuple[str, Any]]) -> str:
    """Write the page.

    Args:
        run: The verdicts.
        title: What the page is called.
        shares: How many trials of each column were right.
        comparisons: What is compared of the columns, and how it compares.
    """
    columns = by_column(run.verdicts)
    keys = {column: f"m{number}" for number, column in enumerate(columns)}
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    hidden = [f"body:has(#only-{label}:checked) .verdict:not(.{label}) {{ display: none }}" for label in _LABELS]
    hidden += [f"body:has(#{key}:not(:checked)) .{key} {{ display: none }}" for key in keys.values()]
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title><style>{_STYLE}{' '.join(hidden)}</style></head><body><main>",
        f"<h1>{_text(title)}</h1>",
        *_overview(shares, columns, keys),
        *(f"<p>{_text(said)}: {_text(comparison)}</p>" for said, comparison in comparisons),
        *_cases(run, columns, keys),
        *_filters(run, keys),
        *(
            _verdict(number, verdict, keys[Column(verdict.track, verdict.model)])
            for number, verdict in enumerate(run.verdicts)
        ),
        f"</main><script>{_SCRIPT}</script></body></html>\n",
    ]
    return "".join(parts)


def _text(value: Any) -> str:
    """A text as text: no mark-up, and nothing that turns the direction of what follows."""
    return f"<bdi>{html.escape(str(value))}</bdi>"


def _code(value: Any) -> str:
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"<code>{_text(shown)}</code>"


def _overview(shares: Mapping[Column, Any], columns: _Columns, keys: dict[Column, str]) -> Iterator[str]:
    """The share of each column."""
    yield '<div class="wide"><table><tr><th>model<th>trials right<th>95 per cent of such runs<th>cases right in every trial'
    yield "".join(f"<th>{label.replace('_', ' ')}" for label in _LABELS)
    for column, cases in columns.items():
        share = shares[column]
        labels = Counter(verdict.label for own in cases.values() for _, verdict in own)
        yield f'<tr class="{keys[column]}"><th scope="row">{_text(column)}<td>{share.right} of {share.total}'
        yield f"<td>{share.low:.0%} to {share.high:.0%}<td>{share.every:.0%}"
        yield "".join(f"<td>{labels[label]}" for label in _LABELS)
    yield "</table></div>"


def _cases(run: _Run, columns: _Columns, keys: dict[Column, str]) -> Iterator[str]:
    """Each case in each column, with a way to the first verdict that is not right."""
    yield '<h2>Cases</h2><div class="wide"><table id="cases"><tr><th>case'
    yield "".join(f'<th class="{keys[column]}">{_text(column)}' for column in columns)
    for case in run.cases:
        yield f'<tr><th scope="row">{_text(case)}'
        yield "".join(_cell(cases.get(case, []), keys[column]) for column, cases in columns.items())
    yield "</table></div>"


def _cell(own: Numbered, key: str) -> str:
    if not own:
        return f'<td class="{key}">'
    first = next((number for number, verdict in own if verdict.label not in RIGHT), own[0][0])
    count = sum(verdict.label in RIGHT for _, verdict in own)
    state = "right" if count == len(own) else "wrong"
    return f'<td class="{key} {state}"><a href="#v{first}">{count} of {len(own)}</a>'


def _filters(run: _Run, keys: dict[Column, str]) -> Iterator[str]:
    yield '<h2>Verdicts</h2><fieldset><legend>show</legend><label><input type="radio" name="label" checked> all</label>'
    labels = Counter(verdict.label for verdict in run.verdicts)
    for label in _LABELS:
        yield f'<label><input type="radio" name="label" id="only-{label}"> {label.replace("_", " ")} ({labels[label]})</label>'
    yield "</fieldset><fieldset><legend>of</legend>"
    for column, key in keys.items():
        yield f'<label><input type="checkbox" id="{key}" checked> {_text(column)}</label>'
    yield '</fieldset><p class="scripted"><label>search <input type="search" id="search"></label></p>'


def _verdict(number: int, verdict: Verdict, key: str) -> str:
    """A verdict, open where something is wrong, with its differences side by side."""
    column = Column(verdict.track, verdict.model)
    head = f"<b>{_text(verdict.case)}</b> {_text(column)}, trial {_text(verdict.trial)}: "
    head += f'<span class="label">{_text(verdict.label.replace("_", " "))}</span>, score {verdict.score:.2f}'
    is_open = "" if verdict.label in RIGHT else " open"
    inner = "".join((*_differences(verdict.differences), *_coercions(verdict.coercions)))
    if verdict.error:
        inner += f"<p>{_text(verdict.error)}</p>"
    steps = f" after {verdict.steps} responses" if verdict.steps > 1 else ""
    inner += f"<p>finish: {_text(verdict.finish)}{steps}</p>" if verdict.finish else ""
    label = html.escape(verdict.label)
    return f'<details class="verdict {label} {key}" id="v{number}"{is_open}><summary>{head}</summary>{inner}</details>'


def _differences(differences: tuple[Difference, ...]) -> Iterator[str]:
    if differences:
        yield "<table><tr><th>what<th>where<th>expected<th>got"
    for one in differences:
        place = f"{one.tool}.{one.path}" if one.path else one.tool
        yield f"<tr><td>{_text(one.kind.replace('_', ' '))}<td>{_code(place)}<td>{_code(one.expected)}<td>{_code(one.actual)}"
    if differences:
        yield "</table>"


def _coercions(coercions: tuple[Coercion, ...]) -> Iterator[str]:
    if coercions:
        yield "<table><tr><th>coercion<th>where<th>what came<th>what the function gets"
    for one in coercions:
        yield f"<tr><td>{_text(one.rule)}<td>{_code(one.path)}<td>{_code(one.before)}<td>{_code(one.after)}"
    if coercions:
        yield "</table>"

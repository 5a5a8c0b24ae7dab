"""Writes the HTML page of a run. The page loads no other files, and works without JavaScript."""

import html
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from toolshape._calls import Coercion
from toolshape._html import SEARCH, checkboxes, code, page, text
from toolshape.evals._verdict import RIGHT, Column, Difference, Label, Numbered, Verdict, by_column

_Columns: TypeAlias = dict[Column, dict[str, Numbered]]
_LABELS: tuple[Label, ...] = ("right", "right_after_coercion", "wrong", "failed")


class _Run(Protocol):
    @property
    def verdicts(self) -> tuple[Verdict, ...]: ...
    @property
    def cases(self) -> tuple[str, ...]: ...


_STYLE = """
:root { --right: #17692f; --coerced: #6b5200; --wrong: #b3261e; --failed: #5f4b8b }
@media (prefers-color-scheme: dark) {
  :root { --right: #6fd68f; --coerced: #e6c35c; --wrong: #ff9b92; --failed: #c5b3f0 }
}
details table { width: 100%; table-layout: fixed; margin: .5rem 0 }
.label { font-weight: bold } .right .label, td.right a { color: var(--right) } .wrong .label, td.wrong a { color: var(--wrong) }
.right_after_coercion .label { color: var(--coerced) } .failed .label { color: var(--failed) }
"""


def render_page(run: _Run, title: str, shares: Mapping[Column, Any], comparisons: Iterable[tuple[str, Any]]) -> str:
    """Write the page.

    Args:
        run: The verdicts.
        title: The title of the page.
        shares: The share of right trials of each column.
        comparisons: The comparisons of columns, each with a label.
    """
    columns = by_column(run.verdicts)
    keys = {column: f"m{number}" for number, column in enumerate(columns)}
    only = " ".join(f"body:has(#only-{label}:checked) .verdict:not(.{label}) {{ display: none }}" for label in _LABELS)
    body = [
        *_overview(shares, columns, keys),
        *(f"<p>{text(label)}: {text(comparison)}</p>" for label, comparison in comparisons),
        *_cases(run, columns, keys),
        *_filters(run, keys),
        *(
            _verdict(number, verdict, keys[Column(verdict.track, verdict.model)])
            for number, verdict in enumerate(run.verdicts)
        ),
    ]
    return page(title, body, style=_STYLE + only, keys=keys)


def _overview(shares: Mapping[Column, Any], columns: _Columns, keys: dict[Column, str]) -> Iterator[str]:
    """Write the table of the columns with their shares."""
    yield '<div class="wide"><table><tr><th>model<th>trials right<th>95% interval<th>cases right in every trial'
    yield "".join(f"<th>{label.replace('_', ' ')}" for label in _LABELS)
    for column, cases in columns.items():
        share = shares[column]
        labels = Counter(verdict.label for own in cases.values() for _, verdict in own)
        yield f'<tr class="{keys[column]}"><th scope="row">{text(column)}<td>{share.right} of {share.total}'
        yield f"<td>{share.low:.0%} to {share.high:.0%}<td>{share.every:.0%}"
        yield "".join(f"<td>{labels[label]}" for label in _LABELS)
    yield "</table></div>"


def _cases(run: _Run, columns: _Columns, keys: dict[Column, str]) -> Iterator[str]:
    """Write the table of the cases. Each cell links to the first verdict that is not right."""
    yield '<h2>Cases</h2><div class="wide"><table id="cases"><tr><th>case'
    yield "".join(f'<th class="{keys[column]}">{text(column)}' for column in columns)
    for case in run.cases:
        yield f'<tr><th scope="row">{text(case)}'
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
    yield f"</fieldset><fieldset><legend>of</legend>{checkboxes(keys)}</fieldset>{SEARCH}"


def _verdict(number: int, verdict: Verdict, key: str) -> str:
    """Write a verdict with a table of its differences, expanded if the verdict is not right."""
    column = Column(verdict.track, verdict.model)
    head = f"<b>{text(verdict.case)}</b> {text(column)}, trial {text(verdict.trial)}: "
    head += f'<span class="label">{text(verdict.label.replace("_", " "))}</span>, score {verdict.score:.2f}'
    is_open = "" if verdict.label in RIGHT else " open"
    inner = "".join((*_differences(verdict.differences), *_coercions(verdict.coercions)))
    if verdict.error:
        inner += f"<p>{text(verdict.error)}</p>"
    steps = f" after {verdict.steps} responses" if verdict.steps > 1 else ""
    inner += f"<p>finish: {text(verdict.finish)}{steps}</p>" if verdict.finish else ""
    label = html.escape(verdict.label)
    return f'<details class="verdict entry {label} {key}" id="v{number}"{is_open}><summary>{head}</summary>{inner}</details>'


def _differences(differences: tuple[Difference, ...]) -> Iterator[str]:
    if differences:
        yield "<table><tr><th>what<th>where<th>expected<th>got"
    for difference in differences:
        place = f"{difference.tool}.{difference.path}" if difference.path else difference.tool
        yield (
            f"<tr><td>{text(difference.kind.replace('_', ' '))}<td>{code(place)}"
            f"<td>{code(difference.expected)}<td>{code(difference.actual)}"
        )
    if differences:
        yield "</table>"


def _coercions(coercions: tuple[Coercion, ...]) -> Iterator[str]:
    if coercions:
        yield "<table><tr><th>coercion<th>where<th>received<th>passed to the function"
    for coercion in coercions:
        yield (
            f"<tr><td>{text(coercion.rule)}<td>{code(coercion.path)}"
            f"<td>{code(coercion.before)}<td>{code(coercion.after)}"
        )
    if coercions:
        yield "</table>"

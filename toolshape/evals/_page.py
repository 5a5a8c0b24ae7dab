"""Writes an HTML page that shows a run.

The page loads no other files, and works without JavaScript.
"""

import html
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from toolshape._records.calls import Coercion
from toolshape._records.html import checkboxes, code, html_table, name, page, text
from toolshape.evals._verdict import (
    RIGHT,
    Column,
    Difference,
    Label,
    Numbered,
    Verdict,
    group_by_column,
)

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
.label { font-weight: bold } .right .label, td.right a { color: var(--right) } .wrong .label, td.wrong a { color: var(--wrong) }
.right_after_coercion .label { color: var(--coerced) } .failed .label { color: var(--failed) }
"""


def render_run(
    run: _Run, title: str, shares: Mapping[Column, Any], comparisons: Iterable[tuple[str, Any]]
) -> str:
    """Write the page. Cases with a verdict that is not right come first.

    Args:
        run: The run, with its verdicts.
        title: The title of the page.
        shares: The share of right trials for each column.
        comparisons: The comparisons of columns, each with a label.
    """
    columns = group_by_column(run.verdicts)
    keys = {column: f"m{number}" for number, column in enumerate(columns)}
    filter_rules = " ".join(
        f"body:has(#only-{label}:checked) .verdict:not(.{label}) {{ display: none }}"
        for label in _LABELS
    )
    filter_rules += " ".join(
        f"body:has(#only-{label}:checked) .case:not(:has(.{label})) {{ display: none }}"
        for label in _LABELS
    )
    right_counts = {
        case: [_count(cases.get(case, [])) for cases in columns.values()] for case in run.cases
    }
    sorted_cases = sorted(
        run.cases, key=lambda case: all(right == total for right, total in right_counts[case])
    )
    ids = {case: f"c{number}" for number, case in enumerate(sorted_cases)}
    body = [
        *_overview(shares, columns, keys),
        *(f"<p>{text(label)}: {text(comparison)}</p>" for label, comparison in comparisons),
        *_cases(ids, columns, keys),
        *_filters(run, keys),
        *(_case(case, ids[case], columns, keys) for case in sorted_cases),
    ]
    return page(
        title, body, style=_STYLE + filter_rules, keys=keys, skip=("verdicts", "Skip the tables")
    )


def _count(own: Numbered) -> tuple[int, int]:
    """Return the number of right trials, and the number of all trials."""
    return sum(verdict.label in RIGHT for _, verdict in own), len(own)


def _overview(
    shares: Mapping[Column, Any], columns: _Columns, keys: dict[Column, str]
) -> Iterator[str]:
    """Write the overview table: a row for each column of the report,
    with its share of right trials.
    """
    labels = [label.replace("_", " ") for label in _LABELS]
    head = ["model", "trials right", "95% interval", "cases right in every trial", *labels]
    rows = []
    for column, cases in columns.items():
        share = shares[column]
        counts = Counter(
            verdict.label
            for numbered_verdicts in cases.values()
            for _, verdict in numbered_verdicts
        )
        row = (
            f'<tr class="{keys[column]}"><th scope="row">{name(column)}<td>{share.right} of '
            f"{share.total}"
        )
        row += f"<td>{share.low:.0%} to {share.high:.0%}<td>{share.every:.0%}"
        rows.append(row + "".join(f"<td>{counts[label]}" for label in _LABELS))
    yield html_table("Models", [f"<th>{label}" for label in head], rows)


def _cases(ids: Mapping[str, str], columns: _Columns, keys: dict[Column, str]) -> Iterator[str]:
    """Write the table of cases.

    A cell links to its first verdict that is not right, or else to its first verdict.
    """
    head = ["<th>case", *(f'<th class="{keys[column]}">{name(column)}' for column in columns)]
    rows = []
    for case, entry_id in ids.items():
        cells = (_cell(cases.get(case, []), keys[column]) for column, cases in columns.items())
        rows.append(f'<tr data-entry="{entry_id}"><th scope="row">{name(case)}{"".join(cells)}')
    yield f"<h2>Cases</h2>{html_table('Cases', head, rows, key='cases')}"


def _cell(own: Numbered, key: str) -> str:
    if not own:
        return f'<td class="{key}">'
    first = next((number for number, verdict in own if verdict.label not in RIGHT), own[0][0])
    right, total = _count(own)
    return f'<td class="{key} {_state(own)}"><a href="#v{first}">{right} of {total}</a>'


def _state(own: Numbered) -> str:
    right, total = _count(own)
    if right == total:
        return "right"
    return "wrong"


def _filters(run: _Run, keys: dict[Column, str]) -> Iterator[str]:
    yield '<h2 id="verdicts" tabindex="-1">Verdicts</h2><fieldset><legend>show</legend>'
    yield '<label><input type="radio" name="label" checked> all</label>'
    counts_by_label = Counter(verdict.label for verdict in run.verdicts)
    for label in _LABELS:
        yield (
            f'<label><input type="radio" name="label" id="only-{label}"> '
            f"{label.replace('_', ' ')} ({counts_by_label[label]})</label>"
        )
    yield f"</fieldset><fieldset><legend>models</legend>{checkboxes(keys)}</fieldset>"


def _case(case: str, place: str, columns: _Columns, keys: dict[Column, str]) -> str:
    """Write a case with its verdicts. Verdicts that are not right come first.

    If there are any, expand the case.
    """
    verdicts_by_column = {column: cases[case] for column, cases in columns.items() if case in cases}
    counts = ", ".join(
        f'<span class="{keys[column]}">{text(column)} '
        f"{'{} of {}'.format(*_count(numbered_verdicts))}</span>"
        for column, numbered_verdicts in verdicts_by_column.items()
    )
    verdicts = [
        (number, column, verdict)
        for column, column_verdicts in verdicts_by_column.items()
        for number, verdict in column_verdicts
    ]
    verdicts.sort(key=lambda entry: entry[2].label in RIGHT)
    if all(verdict.label in RIGHT for _, _, verdict in verdicts):
        is_open = ""
    else:
        is_open = " open"
    content = "".join(
        _verdict(number, verdict, keys[column]) for number, column, verdict in verdicts
    )
    head = f"<summary><b>{name(case)}</b> {counts}</summary>"
    return f'<details class="case entry" id="{place}"{is_open}>{head}{content}</details>'


def _verdict(number: int, verdict: Verdict, key: str) -> str:
    """Write a verdict with tables of its differences and coercions.

    A verdict that is not right is expanded.
    """
    column = Column(verdict.track, verdict.model)
    head = f"{text(column)}, trial {text(verdict.trial + 1)}: "
    head += (
        f'<span class="label">{text(verdict.label.replace("_", " "))}</span>, score '
        f"{verdict.score:.2f}"
    )
    is_open = "" if verdict.label in RIGHT else " open"
    content = "".join(_evidence(verdict))
    content += "".join((*_differences(verdict.differences), *_coercions(verdict.coercions)))
    if verdict.error:
        content += f"<p>{text(verdict.error)}</p>"
    if verdict.steps > 1:
        steps = f" after {verdict.steps} responses"
    else:
        steps = ""
    content += f"<p>finish: {text(verdict.finish)}{steps}</p>" if verdict.finish else ""
    label = html.escape(verdict.label)
    return (
        f'<details class="verdict {label} {key}" '
        f'id="v{number}"{is_open}><summary>{head}</summary>{content}</details>'
    )


def _evidence(verdict: Verdict) -> Iterator[str]:
    """Write what was asked, what the model called, and what it said."""
    if verdict.question:
        yield f"<p>question: {text(verdict.question)}</p>"
    for call in verdict.calls:
        yield f"<p>call: {code(call)}</p>"
    if verdict.answer:
        yield f"<p>answer: {text(verdict.answer)}</p>"


def _differences(differences: tuple[Difference, ...]) -> Iterator[str]:
    rows = []
    for difference in differences:
        if difference.path:
            place = f"{difference.tool}.{difference.path}"
        else:
            place = difference.tool
        values = f"<td>{code(difference.expected)}<td>{code(difference.actual)}"
        rows.append(f"<tr><td>{text(difference.kind.replace('_', ' '))}<td>{code(place)}{values}")
    if rows:
        yield html_table("Differences", ["<th>what", "<th>where", "<th>expected", "<th>got"], rows)


def _coercions(coercions: tuple[Coercion, ...]) -> Iterator[str]:
    rows = [
        f"<tr><td>{name(coercion.rule)}<td>{code(coercion.path)}<td>{code(coercion.before)}<td>{code(coercion.after)}"
        for coercion in coercions
    ]
    if rows:
        head = ["<th>coercion", "<th>where", "<th>received", "<th>passed to the function"]
        yield html_table("Coercions", head, rows)

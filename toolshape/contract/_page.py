"""Renders an HTML page that shows each tool as each provider receives it.

It has no JavaScript or external files.
"""

import difflib
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from toolshape._answers.output import Output
from toolshape._bound.bound import Bound
from toolshape._bound.compatibility import RefusedTool, check, check_answer
from toolshape._bound.registry import Registry
from toolshape._families import get
from toolshape._records.errors import ExportError
from toolshape._records.html import checkboxes, code, escaped, html_table, name, page, text
from toolshape._records.report import Entry
from toolshape._tools.tool import Tool, record_of
from toolshape.contract._compare import Diff
from toolshape.contract._costs import ToolCost, request_cost, sent_schema

PROVIDERS = (
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
    "mcp",
)
"""The providers that a page shows by default."""
_STYLE = """
:root { --strict: #17692f; --lenient: #4b4b52; --lossy: #6b5200; --refused: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --strict: #6fd68f; --lenient: #c9c9d1; --lossy: #e6c35c; --refused: #ff9b92 }
}
.strict, .strict a { color: var(--strict) } .lenient, .lenient a { color: var(--lenient) }
.lossy, .lossy a { color: var(--lossy) } .refused, .refused a { color: var(--refused) }
.breaking { color: var(--refused) } .unknown { color: var(--lossy) }
#pairs td { white-space: nowrap }
ins, del { text-decoration: none } ins { color: var(--strict) } del { color: var(--refused) }
"""
_WIDTH = 90
_ELSEWHERE = ("name", "description", "parameters")  # xAI takes the parameters as a string
_LEGEND = {
    "strict": ("strict", "The provider constrains the model to the schema."),
    "lenient": (
        "lenient",
        "The provider does not constrain the model. toolshape validates the call.",
    ),
    "lossy": (
        "n differences",
        (
            "In n places, the provider's schema cannot state a rule of the tool. toolshape "
            "validates "
            "these rules."
        ),
    ),
    "refused": ("refused", "The provider would reject the tool, so it is not sent."),
}


class _At(NamedTuple):
    """The tools bound to one provider, and for each tool its refusals, its report and its costs."""

    bound: Bound
    refused: Mapping[str, list[RefusedTool]]
    report: Mapping[str, list[Entry]]
    costs: Mapping[str, ToolCost]


class _State(NamedTuple):
    """The state of a tool for a provider: the CSS class, the label, and the
    reasons why the tool is not strict.
    """

    style: str
    label: str
    reasons: tuple[str, ...] = ()


_Sent: TypeAlias = tuple[str, Any]
"""The name of a provider, and the entry that the provider receives: ``None`` if the
provider would reject the tool.
"""


class _Group(NamedTuple):
    """Providers that receive the same schema for a tool: their common markup,
    and the entry for each provider.
    """

    inner: str
    sent: tuple[_Sent, ...]


def render_page(
    tools: Registry,
    providers: Iterable[str] = PROVIDERS,
    changes: Diff | None = None,
    title: str = "Tools",
    about: Iterable[str] = (),
    outputs: Iterable[Output[Any]] = (),
) -> str:
    """Render an HTML page that shows the tools and outputs.

    Args:
        tools: The tools.
        providers: The names of the providers to compare.
        changes: The changes to the tools, for example from ``diff``.
        title: The title of the page.
        about: Facts that the page shows below its title: versions, dates, or the commit of a lock
            file.
        outputs: The outputs to show, each with the schema that each provider receives.

    Raises:
        ExportError: A provider is unknown.
        DefinitionError: Some of the tools' definitions cannot be read.
    """
    tools.check()
    by_provider = {provider: _bind(tools, provider) for provider in dict.fromkeys(providers)}
    keys = {provider: f"p{number}" for number, provider in enumerate(by_provider)}
    groups = [_groups(tool, by_provider) for tool in tools]
    usual_outlines = _usual_outlines(tools, groups)
    output_list = list(outputs)
    if len(tools) or not output_list:
        counts = [f"{len(tools)} tool{'s' * (len(tools) != 1)}"]
    else:
        counts = []
    counts += [f"{len(output_list)} output{'s' * (len(output_list) != 1)}"] if output_list else []
    overview = []
    if len(tools) or not output_list:
        overview = ["<h2>Tools by provider</h2>", *_overview(tools, by_provider, keys)]
    body = [
        f"<p>{text(' · '.join([*counts, *about]))}</p>",
        *_render_changes(changes),
        *overview,
        (
            '<h2 id="sent" tabindex="-1">What is '
            f"sent</h2><fieldset><legend>providers</legend>{checkboxes(keys)}</fieldset>"
        ),
        _outlines(usual_outlines),
        *(
            _render_tool(number, tool, groups[number], by_provider, keys, usual_outlines)
            for number, tool in enumerate(tools)
        ),
        *(["<h2>Answers</h2>"] if output_list else []),
        *(_render_answer(output, keys) for output in output_list),
    ]
    return page(
        title,
        body,
        style=_STYLE + _hiding_rules(groups, keys),
        keys=keys,
        skip=("sent", "Skip the tables"),
    )


def _render_answer(output: Output[Any], keys: Mapping[str, str]) -> str:
    """Render an output: its own schema, and the schema that each provider receives."""
    blocks = [f"<p>{text(output.description)}</p>"]
    blocks.append(
        "<details><summary>The output's own "
        f"schema</summary>{_schema(map(escaped, _lines(output.schema)))}</details>"
    )
    # No conversations are sent to the other providers.
    asked_providers = [provider for provider in keys if get(provider).histories is not None]
    blocks += [_render_request(output, provider, keys[provider]) for provider in asked_providers]
    head = f"<b>{name(output.name)}</b>"
    return f'<details class="tool entry"><summary>{head}</summary>{"".join(blocks)}</details>'


def _render_request(output: Output[Any], provider: str, key: str) -> str:
    refused = list(check_answer(output, provider))
    if refused:
        style, label, details = "refused", "refused", _refusals(refused)
    else:
        bound = output.bind(get(provider))
        report = list(bound.report())
        style = label = "strict" if bound.is_strict() else "lenient"
        label += ", as a tool" if bound.tool else ""
        finding_notes = "".join(
            f"<p>{text(entry.note)}</p>" for entry in report if entry.kind == "finding"
        )
        details = f"{finding_notes}{_render_rewrites(output.schema, bound.schema)}{_losses(report)}"
    head = (
        f'<summary><b class="{key}">{text(provider)}</b> <span '
        f'class="{style}">{label}</span></summary>'
    )
    return f'<details class="only-{key}">{head}{details}</details>'


def _bind(tools: Registry, provider: str) -> _At:
    refusals_by_tool: dict[str, list[RefusedTool]] = {}
    for refusal in check(tools, provider):
        refusals_by_tool.setdefault(refusal.tool, []).append(refusal)
    bound = tools.subset([tool.name for tool in tools if tool.name not in refusals_by_tool]).bind(
        get(provider)
    )
    report_by_tool: dict[str, list[Entry]] = {}
    for entry in bound.report():
        report_by_tool.setdefault(entry.tool, []).append(entry)
    try:
        costs = {cost.tool: cost for cost in request_cost(bound, "").costs}
    except ExportError:  # one request cannot hold so many tools: ``refused`` reports this
        costs = {}
    return _At(bound, refusals_by_tool, report_by_tool, costs)


def _render_changes(changes: Diff | None) -> Iterator[str]:
    if changes is None:
        return
    yield f"<h2>Changes</h2><p>{text(str(changes).splitlines()[-1])}</p>"
    rows = []
    for change in changes.changes:
        if change.witness is None:
            witness_markup = ""
        else:
            witness_markup = code(change.witness)
        values = "".join(
            f"<td>{code(json.dumps(value, default=str))}" for value in (change.before, change.after)
        )
        row = (
            "<tr "
            f'class="{change.level}"><td>{change.level}<td>{name(change.tool)}<td>{code(change.path)}'
        )
        rows.append(f"{row}<td>{text(change.kind.replace('_', ' '))}{values}<td>{witness_markup}")
    if rows:
        head = ("level", "tool", "place", "change", "before", "after", "example call")
        yield html_table("Changes", [f"<th>{label}" for label in head], rows, key="changes")


def _overview(tools: Registry, at: Mapping[str, _At], keys: Mapping[str, str]) -> Iterator[str]:
    """Render a legend, and a table with the state of each tool for each
    provider and links to the schemas.
    """
    rows, used_styles = [], set()
    for number, tool in enumerate(tools):
        row = (
            f'<tr data-entry="t{number}"><th scope="row"><a href="#t{number}">{name(tool.name)}</a>'
        )
        row += (
            f"<td>{text(', '.join(sorted(tool.effects)) or 'none declared')}<td>{_approval(tool)}"
        )
        for provider, at_provider in at.items():
            state = _state(tool, at_provider)
            used_styles.add(state.style)
            row += (
                f'<td class="{keys[provider]} {state.style}"><a '
                f'href="#t{number}-{keys[provider]}">{state.label}</a>'
            )
        rows.append(row)
    legend = (
        f'<dt class="{key}">{label}<dd>{text(explanation)}'
        for key, (label, explanation) in _LEGEND.items()
        if key in used_styles
    )
    yield f'<dl class="legend">{"".join(legend)}</dl>'
    columns = [f'<th class="{keys[provider]}">{name(provider)}' for provider in at]
    yield html_table(
        "Tools by provider",
        ["<th>tool", "<th>effects", "<th>approval", *columns],
        rows,
        key="pairs",
    )


def _approval(tool: Tool[..., Any]) -> str:
    approve = record_of(tool).options.approve
    if approve is True:
        return "for every call"
    if approve:
        return "decided for each call"
    return "not needed"


def _state(tool: Tool[..., Any], at: _At) -> _State:
    if tool.name in at.refused:
        return _State("refused", "refused")
    entries = at.report.get(tool.name, ())
    count = sum(entry.kind != "finding" and entry.severity != "mapped_back" for entry in entries)
    differences = f", {count} difference{'s' * (count != 1)}" * bool(count)
    if at.bound.is_strict(tool.name):
        return _State("lossy" if count else "strict", f"strict{differences}")
    reasons = tuple(
        f"{entry.path}: {entry.note}" if entry.path else entry.note
        for entry in entries
        if entry.rule == "not_strict"
    )
    if at.bound.provider.schema.strict is None:
        reasons = ("the provider has no strict form",)
    elif not reasons:
        reasons = ("strict mode is off: pass strict=True to turn it on",)
    return _State("lossy" if count else "lenient", f"lenient{differences}", reasons)


def _groups(tool: Tool[..., Any], at: Mapping[str, _At]) -> list[_Group]:
    """Group the providers that receive the same schema, with the same
    strictness and the same differences.
    """
    groups: dict[tuple[str, str], list[_Sent]] = {}
    for provider, at_provider in at.items():
        entry, state = None, _state(tool, at_provider)
        if tool.name in at_provider.refused:
            markup = _refusals(at_provider.refused[tool.name])
        else:
            exported = at_provider.bound.subset([tool.name]).export()
            entry = exported[0] if exported else {}
            losses = _losses(at_provider.report.get(tool.name, []))
            markup = (
                _reasons(state) + losses + _render_rewrites(tool.input_schema, sent_schema(entry))
            )
        groups.setdefault((state.label, markup), []).append((provider, entry))
    return [_Group(markup, tuple(group_sent)) for (_, markup), group_sent in groups.items()]


def _hiding_rules(groups: Iterable[list[_Group]], keys: Mapping[str, str]) -> str:
    """Return the CSS rules that hide a group when the boxes of all its providers are unchecked."""
    key_groups = {
        tuple(keys[provider] for provider, _ in group.sent)
        for tool_groups in groups
        for group in tool_groups
    }
    key_groups |= {(key,) for key in keys.values()}  # the blocks of outputs, each for one provider
    rules = (
        "".join(f":has(#{key}:not(:checked))" for key in group_keys)
        + f" .only-{'-'.join(group_keys)}"
        for group_keys in sorted(key_groups)
    )
    return " ".join(f"body{rule} {{ display: none }}" for rule in rules)


def _render_tool(
    number: int,
    tool: Tool[..., Any],
    groups: list[_Group],
    at: Mapping[str, _At],
    keys: Mapping[str, str],
    usual: Mapping[str, str],
) -> str:
    approval = _approval(tool)
    blocks = [f"<p>{text(tool.description)}</p>"]
    if tool.effects or approval != "not needed":
        effects = ", ".join(sorted(tool.effects)) or "none declared"
        blocks.append(f"<p>effects: {text(effects)}; approval: {approval}</p>")
    findings = "".join(
        f"<li>{text(finding.path or 'the tool')}: {text(finding.message)}"
        for finding in tool.findings
    )
    blocks.append(f"<h3>Findings</h3><ul>{findings}</ul>" if findings else "")
    blocks.append(
        "<details><summary>The tool's own "
        f"schema</summary>{_schema(map(escaped, _lines(tool.input_schema)))}</details>"
    )
    blocks += [_render_group(f"t{number}", tool, group, at, keys) for group in groups]
    blocks.append(_render_entries(tool, groups, at, usual))
    head = f"<b>{name(tool.name)}</b> {text(tool.title or '')}"
    return (
        '<details class="tool entry" '
        f'id="t{number}"><summary>{head}</summary>{"".join(blocks)}</details>'
    )


def _render_group(
    place: str, tool: Tool[..., Any], group: _Group, at: Mapping[str, _At], keys: Mapping[str, str]
) -> str:
    """Render the block of a group: its providers, the state of the tool,
    and the schema that they receive.
    """
    state = _state(tool, at[group.sent[0][0]])
    group_keys = [keys[provider] for provider, _ in group.sent]
    names = " ".join(
        f'<b class="{keys[provider]}">{text(provider)}</b>' for provider, _ in group.sent
    )
    targets = "".join(f'<span id="{place}-{key}"></span>' for key in group_keys)
    head = f'<summary>{names} <span class="{state.style}">{state.label}</span></summary>'
    content = f"{head}{targets}{group.inner}"
    return f'<details class="only-{"-".join(group_keys)}">{content}</details>'


def _render_entries(
    tool: Tool[..., Any], groups: Iterable[_Group], at: Mapping[str, _At], usual: Mapping[str, str]
) -> str:
    """Render the length of the entry for each provider, and each entry whose
    fields are unusual for its provider.
    """
    sizes, unusual = [], []
    for provider, entry in (provider_entry for group in groups for provider_entry in group.sent):
        if entry is None:
            continue
        if (cost := at[provider].costs.get(tool.name)) is not None:
            sizes.append(f"{provider} {cost.characters} ({cost.share:.0%} of all tools)")
        if (outline := _outline(tool, entry)) != usual[provider]:
            unusual.append(f"<p>{text(provider)}: {code(outline)}</p>")
    if sizes:
        return f"<p>Characters: {text(', '.join(sizes))}</p>{''.join(unusual)}"
    return "".join(unusual)


def _usual_outlines(tools: Registry, groups: Iterable[list[_Group]]) -> dict[str, str]:
    """Map each provider to the most frequent outline of its entries."""
    outlines: dict[str, Counter[str]] = {}
    for tool, tool_groups in zip(tools, groups, strict=True):
        for provider, entry in (
            provider_entry for group in tool_groups for provider_entry in group.sent
        ):
            if entry is not None:
                outlines.setdefault(provider, Counter())[_outline(tool, entry)] += 1
    return {provider: counts.most_common(1)[0][0] for provider, counts in outlines.items()}


def _outlines(usual: Mapping[str, str]) -> str:
    """Render the usual form of each provider's entries."""
    rows = [f"<tr><td>{name(provider)}<td>{code(outline)}" for provider, outline in usual.items()]
    outline_table = html_table("Entries", ["<th>provider", "<th>entry for a tool"], rows)
    if rows:
        return (
            "<details><summary>The form of an entry, by "
            f"provider</summary>{outline_table}</details>"
        )
    return ""


def _outline(tool: Tool[..., Any], entry: Any) -> str:
    """Return an entry as JSON, with ``…`` for its schema, name and description:
    the page shows these elsewhere.
    """
    schema = sent_schema(entry)

    def abbreviate(node: Any) -> Any:
        if isinstance(node, dict):
            return {
                key: "…" if value == schema or key in _ELSEWHERE else abbreviate(value)
                for key, value in node.items()
            }
        if isinstance(node, list):
            return [abbreviate(item) for item in node]
        return node

    if schema is None:
        return f"{tool.name}: {entry}"
    return json.dumps(abbreviate(entry), ensure_ascii=False, default=str)


def _lines(value: Any, indent: str = "", prefix: str = "") -> list[str]:
    """Return JSON as lines, with each short object or array on one line."""
    flat = json.dumps(value, ensure_ascii=False, default=str)
    if (
        not isinstance(value, dict | list)
        or not value
        or len(indent) + len(prefix) + len(flat) <= _WIDTH
    ):
        return [f"{indent}{prefix}{flat}"]
    if isinstance(value, dict):
        pairs = [(f"{json.dumps(key, ensure_ascii=False)}: ", item) for key, item in value.items()]
    else:
        pairs = [("", item) for item in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    inner_lines = [_lines(item, indent + " ", key) for key, item in pairs]
    body = [
        line for item_lines in inner_lines[:-1] for line in (*item_lines[:-1], f"{item_lines[-1]},")
    ]
    return [f"{indent}{prefix}{first}", *body, *inner_lines[-1], f"{indent}{last}"]


def _schema(lines: Iterable[str]) -> str:
    """Render the lines of a schema, which are already HTML, as a block."""
    return f'<pre tabindex="0"><bdi>{chr(10).join(lines)}</bdi></pre>'


def _render_rewrites(own: Any, sent: Any) -> str:
    """Render the differences between the tool's own schema and the
    schema that the provider receives.
    """
    if sent is None:
        return "<p>The entry has no schema.</p>"
    if sent == own:
        return "<p>The schema is sent as it is.</p>"
    before, after = _lines(own), _lines(sent)
    full_block = _schema(map(escaped, after))
    changed_block = _schema(
        _mark_lines(list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:])
    )
    if len(changed_block) > len(full_block):
        return f"<h3>Schema</h3>{full_block}"
    return f"<h3>Changes to the schema</h3>{changed_block}"


def _mark_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a diff as HTML, with each run of added or removed lines marked."""
    for sign, run_lines in itertools.groupby(lines, key=lambda line: line[0]):
        markup = escaped("\n".join(run_lines))
        mark = {"+": "ins", "-": "del"}.get(sign)
        yield markup if mark is None else f"<{mark}>{markup}</{mark}>"


def _reasons(state: _State) -> str:
    return "".join(
        f"<p>Not strict: {text(reason.replace('not strict: ', ''))}</p>" for reason in state.reasons
    )


def _refusals(refused: list[RefusedTool]) -> str:
    rows = (
        f"<li>{text(refusal.path or 'the tool')}: {text(refusal.message)} "
        f"<em>{text(refusal.evidence)}</em>"
        for refusal in refused
    )
    return f"<ul>{''.join(rows)}</ul>"


def _losses(report: list[Entry]) -> str:
    rows = [
        f"<tr><td>{code(entry.path or 'the tool')}<td>{name(entry.rule)}<td>{entry.kind}"
        f"<td>{entry.severity.replace('_', ' ')}<td>{text(entry.note)}"
        for entry in report
        if entry.kind != "finding"
    ]
    head = [f"<th>{label}" for label in ("place", "keyword", "kind", "severity", "note")]
    if rows:
        return html_table("Differences", head, rows)
    return ""

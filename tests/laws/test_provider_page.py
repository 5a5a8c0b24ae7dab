"""Generates docs/providers.md from the provider definitions. To write the page, run ``nox -s pages``."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic
import pytest
from judged import JUDGED
from zoo import CASES

from toolshape import Registry, tool
from toolshape._cli.rulebook.probes import rule_book
from toolshape._families import get
from toolshape._families.names import available
from toolshape._families.wire.provider import Provider
from toolshape._records.report import Entry

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"
HEAD = """# Providers

What each provider accepts, rule by rule, with the evidence and the date of each rule.

A name such as `provider:option` means the same provider with one difference. It is exported, bound and tested like
every provider. Where the table says "undocumented", `strict="auto"` stays lenient, and `strict=True` sends the form
that OpenAI accepts. A name such as `text:hermes` means an open model that writes calls as text in this format:
[open models](open-models.md) lists the formats.
"""
MIDDLE = """
# How the schemas differ for each provider

Each row is a difference between a tool's own schema and the schema that the provider receives. `Bound.report()` lists
these differences for your tools, each with its path. The severity is one of these:

- `mapped_back`: the provider receives another form, and toolshape maps the arguments back in every call.
- `enforced`: the provider's engine was measured to keep these constraints.
- `not_enforced`: the provider does not enforce the constraint. The description states it, and toolshape checks it.
- `lost`: the model can no longer write some values.
"""
RULES = """
# The rules, and what confirms them

Each rule has a source and a date. A probe is the smallest request that breaks the rule, and its twin breaks no rule:
[`toolshape verify`](verify.md) sends both. If we have recorded the provider's own error for a rule, this error confirms
the rule. Some probes are also rejected by other validators: the SDK's types, botocore's model, or mistral-common's
validator. For all other rules, the source is the only evidence. *Verified* says when we sent the probes to the
provider: so far, never.

| provider | rules | with a probe | confirmed by a recorded error | rejected by other validators | verified |
|---|--:|--:|--:|--:|---|
"""
SOURCES = """
All rules, with their sources:

| provider | about | rule | source |
|---|---|---|---|
"""
COLUMNS = (
    "provider",
    "a tool is sent as",
    "arguments come as",
    "if the arguments are broken JSON",
    "if there is no call",
    "strict",
)


def support() -> list[str]:
    """Return the table of all providers, then the table of their limits and other requirements."""
    names = [name for name in available() if ":" not in name]
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    for name in names:
        facts = get(name).facts
        cells = (
            f"`{name}`",
            keys_of(get(name)),
            facts.arguments,
            facts.malformed,
            facts.declined,
            facts.strict,
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| provider | limits that toolshape checks | other requirements |",
        "|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {limits(get(name))} | {get(name).facts.needs or '-'} |" for name in names
    ]
    return lines


def keys_of(provider: Provider) -> str:
    """Return the keys of a tool's entry as paths."""
    spec = tool(description="d", strict=False)(sample).spec
    entry = provider.request.gather(
        [provider.request.envelope(spec, provider.schema.strict is not None)]
    )[0]
    return ", ".join(f"`{path}`" for path in paths(entry, spec.parameters))


def sample(x: int) -> None: ...


def paths(entry: Any, parameters: Any, path: str = "") -> Iterator[str]:
    if isinstance(entry, list):
        for inner in entry:
            yield from paths(inner, parameters, f"{path}[]")
    elif isinstance(entry, dict) and not parameters.items() <= entry.items():
        for key, inner in entry.items():
            yield from paths(inner, parameters, f"{path}.{key}".strip("."))
    else:
        yield path


def limits(provider: Provider) -> str:
    found = [f"names: {name_rule(provider)}"]
    if provider.request.most_tools is not None:
        found.append(f"at most {provider.request.most_tools.most} tools per request")
    if provider.request.longest_description is not None:
        found.append(
            f"descriptions of at most {provider.request.longest_description.most} characters"
        )
    if budget := provider.schema.budget:
        parts = {
            "strict tools": budget.tools,
            "properties": budget.properties,
            "optional properties": budget.optional,
            "unions": budget.unions,
        }
        said = [f"{most} {what}" for what, most in parts.items() if most is not None]
        shared = ["all tools are strict, or none is"] if budget.is_shared else []
        found.append(
            f"for the strict tools of a request: {', '.join([*said, *shared])} ({budget.evidence})"
        )
    return "; ".join(found)


def name_rule(provider: Provider) -> str:
    """Return the rule for names, then the source of the rule in parentheses."""
    rule, _, source = provider.names.evidence.partition("; ")
    rule = re.sub(r"(\d+ to \d+) of ([^,]+)", r"\1 characters from `\2`", rule)
    source = re.sub(r" \((\w+)\)$", r", \1", source)
    return f"{rule} ({source})" if source else rule


BUDGETED = ("many_optionals",)


def entries(provider: Provider, strict: bool) -> list[Entry]:
    tools = (case.function for name, case in CASES.items() if name not in BUDGETED)
    reports = (Registry([tool]).bind(provider, strict).report() for tool in tools)
    return [entry for report in reports for entry in report if entry.kind != "finding"]


PAIRS = "fields that are not in `properties`, sent as pairs in one extra field"


def section(name: str) -> list[str]:
    provider = get(name)
    lines = [f"## `{name}`", ""]
    forms = [("lenient", False)] + (
        [("strict", True)] if provider.schema.strict is not None else []
    )
    rows = set()
    for form, strict in forms:
        for entry in entries(provider, strict):
            note = "another name" if entry.kind == "renamed" else entry.note.replace("|", "or")
            note = (
                "branches look alike once rewritten"
                if "look alike" in note and "branches" in note
                else note
            )
            note = PAIRS if note.startswith("fields that are not in") else note
            rows.add((form, entry.severity, entry.rule, entry.kind, note))
    if not rows:
        return [*lines, "Nothing is changed.", ""]
    lines += ["| form | severity | rule | kind | note |", "|---|---|---|---|---|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in sorted(rows)), ""]


def rules() -> list[str]:
    """Return the table that counts the rules, then the table of all rules with their sources."""
    counts, sources = [], []
    for name in available():
        provider = get(name)
        if ":" in name or provider.server is None or provider.histories is None:
            continue
        book = rule_book(provider)
        known = [
            *(probe.rule for probe in book.probes),
            *(unprobed.rule for unprobed in book.without),
        ]
        wordings = {
            key.removeprefix("output:").partition(":")[0] for key in provider.server.wordings
        }
        is_inherited = (
            name != "openai" and provider.server.wordings == get("openai").server.wordings
        )
        recorded = 0 if is_inherited else sum(rule.name in wordings for rule in known)
        probed = len(book.probes) + sum(unprobed.model is not None for unprobed in book.without)
        counts.append(
            f"| `{name}` | {len(known)} | {probed} | {recorded} | {len(JUDGED.get(name, ()))} | never |"
        )
        sources += [
            f"| `{name}` | {rule.kind} | `{rule.name}` | {rule.evidence.replace('|', 'or')} |"
            for rule in sorted(known)
        ]
    return [RULES + "\n".join(counts), SOURCES + "\n".join(sources)]


def page() -> str:
    return "\n".join(
        [
            HEAD,
            *support(),
            *rules(),
            MIDDLE,
            *(
                line
                for name in available()
                if not name.startswith("text:")
                for line in section(name)
            ),
        ]
    )


@pytest.mark.skipif(
    pydantic.VERSION < "2.14" or sys.version_info[:2] != (3, 11),
    reason="only Python 3.11 with pydantic 2.14 generates this page: there, the schema of a Decimal has no pattern",
)
def test_the_page_is_what_the_providers_say():
    """Fails if the page lacks a new rewrite or rule."""
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

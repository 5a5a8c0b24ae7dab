"""The command ``toolshape verify``: asks a provider whether the rules that toolshape knows of it hold."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

from toolshape._commands.output import echo, say
from toolshape._errors import ExportError
from toolshape._families import get


@click.command("verify")
@click.argument("provider")
@click.option("--model", required=True, help="The model to ask; some rules hold for some models.")
@click.option(
    "--rules",
    default="",
    metavar="KIND,...",
    help="schema, strict, name, limit, request, history or output; by default all.",
)
@click.option("--most", type=click.IntRange(min=1), help="The most rules to ask for, the cheapest first.")
@click.option(
    "--json",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append each finding to this file; what it decides already is not asked again.",
)
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An older file: print what has changed since.",
)
@click.option("--url", help="Another base address, as of a proxy; the path is the provider's.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent, and send nothing.")
def verifying(
    provider: str,
    *,
    model: str,
    rules: str,
    most: int | None,
    path: Path | None,
    against: Path | None,
    url: str | None,
    dry_run: bool,
) -> None:
    """Send PROVIDER a small request for each rule, which it should refuse, and a twin, which it should take.

    The key is read from the variable of the provider's SDK, and never printed. Before it sends, the command says how many
    requests it will send, and about how many tokens they hold. Exits with 1 if a rule is refuted.
    """
    from toolshape._rulebook import verify  # noqa: PLC0415 - what few commands need
    from toolshape._rulebook.probes import rule_book  # noqa: PLC0415 - the same

    name: Any = provider  # a name that a user types
    found = get(name)
    if found.histories is None or found.server is None:
        raise ExportError(provider=found.name, tool=None, problems=[])
    address = verify.address_of(found, url)
    book = rule_book(found, model)
    probes = verify.selected(book.probes, filter(None, rules.split(",")), most)
    known = verify.read_findings(path) if path is not None and path.exists() else []
    left = verify.left_over(probes, known, found.name, model)
    cost = verify.cost_of(left)
    say(f"{len(left)} rules of {found.name}: {cost.requests} requests, about {cost.tokens:,} tokens")
    if dry_run:
        for probe in left:
            echo(f"{probe.rule.kind}: {probe.rule.name} [{probe.rule.evidence}]")
        for rule, why in book.without:
            echo(f"not asked: {rule.kind}: {rule.name}: {why}")
        return
    key = verify.key_of(address)
    made = []
    with _client() as client:
        send = verify.sender(address, model, key, client, found.histories.model_key)
        for finding in verify.findings(found, model, left, send):
            made.append(finding)
            if path is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(finding.as_json()) + "\n")
            style = {"refuted": "red", "confirmed": "green"}.get(finding.outcome, "")
            say(f"{finding.outcome}: {finding.rule.kind}: {finding.rule.name}: {finding.words}", style=style)
    counts = Counter(finding.outcome for finding in made)
    say(", ".join(f"{counts[outcome]} {outcome}" for outcome in ("confirmed", "refuted", "unknown")))
    if against is not None:
        for was, now in verify.drift(verify.read_findings(against), [*known, *made]):
            say(
                f"changed since {was.at}: {now.rule.kind}: {now.rule.name}: {was.outcome} -> {now.outcome}", style="red"
            )
    if counts["refuted"]:
        raise SystemExit(1)


def _client() -> Any:
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("verify needs httpx: pip install 'toolshape[verify]'") from error
    return httpx.Client()

"""The command ``toolshape verify``: asks a provider whether the rules that toolshape knows of it hold."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from toolshape._calls import JsonObject
from toolshape._commands.output import echo, say
from toolshape._errors import UsageError
from toolshape._families import get

if TYPE_CHECKING:
    from toolshape._rulebook.probes import Probe, Unprobed
    from toolshape._rulebook.verify import Finding


@click.command("verify")
@click.argument("provider", required=False)
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
@click.option(
    "--endpoint", help="A server of OpenAI's form, such as http://localhost:8000/v1: judge what it does with calls."
)
@click.option("--key", "key_name", metavar="VARIABLE", help="The environment variable of the key, with --endpoint.")
@click.option("--timeout", default=60.0, show_default=True, help="How long an answer may take, in seconds.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent, and send nothing.")
def verifying(
    provider: str | None,
    *,
    model: str,
    rules: str,
    most: int | None,
    path: Path | None,
    against: Path | None,
    url: str | None,
    endpoint: str | None,
    key_name: str | None,
    timeout: float,
    dry_run: bool,
) -> None:
    """Send PROVIDER a small request for each rule, which it should refuse, and a twin, which it should take.

    The key is read from the variable of the provider's SDK, and never printed. Before it sends, the command says how many
    requests it will send, and about how many tokens they hold. Exits with 1 if a rule is refuted.

    With --endpoint, instead of PROVIDER: ask a server of OpenAI's form some questions, and say whether it obeys the choice of
    a tool, gives ids, streams what it says whole, keeps strict schemas, leaves no calls in the text, and reports its usage.
    """
    if (provider is None) == (endpoint is None):
        raise click.UsageError("pass a PROVIDER, or --endpoint URL")
    if endpoint is not None:
        _judge(endpoint, model, key_name, path, timeout)
        return
    asked = _Asked(str(provider), model, rules, most, path, url, timeout)
    made = _ask(asked, dry_run=dry_run)
    if against is not None:
        from toolshape._rulebook import verify  # noqa: PLC0415 - what few commands need

        for was, now in verify.drift(verify.read_findings(against), made):
            changed = f"{now.rule.kind}: {now.rule.name}: {was.outcome} -> {now.outcome}"
            say(f"changed since {was.at}: {changed}", style="red")
    if any(finding.outcome == "refuted" for finding in made):
        raise SystemExit(1)


class _Asked(NamedTuple):
    """What the command was asked to verify."""

    provider: str
    model: str
    rules: str
    most: int | None
    path: Path | None
    url: str | None
    timeout: float


def _ask(asked: _Asked, *, dry_run: bool) -> "list[Finding]":
    """Ask a provider for the rules that its file does not decide, and return the findings."""
    from toolshape._rulebook import verify  # noqa: PLC0415 - what few commands need
    from toolshape._rulebook.probes import rule_book  # noqa: PLC0415 - the same

    name: Any = asked.provider  # a name that a user types
    found = get(name)
    if found.histories is None or found.server is None:
        raise UsageError(f"{found.name} answers no requests of a model")
    address = verify.address_of(found, asked.url)
    book = rule_book(found, asked.model)
    probes = verify.selected(book.probes, filter(None, asked.rules.split(",")), asked.most)
    known = verify.read_findings(asked.path) if asked.path is not None and asked.path.exists() else []
    left = verify.left_over(probes, known, found.name, asked.model)
    cost = verify.cost_of(left)
    say(f"{len(left)} rules of {found.name}: {cost.requests} requests, about {cost.tokens:,} tokens")
    if dry_run:
        _list(left, book.without)
        return []
    key = verify.key_of(address)
    made = []
    with _client() as client:
        send = verify.sender(address, asked.model, key, client, found.histories.model_key, asked.timeout)
        for finding in verify.findings(found, asked.model, left, send):
            made.append(finding)
            about = f"{finding.rule.kind}: {finding.rule.name}"
            _report(finding.outcome, f"{about}: {finding.words}", finding.as_json(), asked.path)
    _count([finding.outcome for finding in made])
    return made


def _list(probes: "Iterable[Probe]", without: "Iterable[Unprobed]") -> None:
    for probe in probes:
        echo(f"{probe.rule.kind}: {probe.rule.name} [{probe.rule.evidence}]")
    for unprobed in without:
        echo(f"not asked: {unprobed.rule.kind}: {unprobed.rule.name}: {unprobed.why}")


def _report(outcome: str, words: str, line: JsonObject, path: Path | None) -> None:
    """Print one finding, and append it to a file."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    say(f"{outcome}: {words}", style={"refuted": "red", "confirmed": "green"}.get(outcome, ""))


def _count(outcomes: Sequence[str]) -> None:
    say(", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in ("confirmed", "refuted", "unknown")))


def _judge(endpoint: str, model: str, key_name: str | None, path: Path | None, timeout: float) -> None:
    """Judge a server; exit with 1 if it does not do what it should."""
    from toolshape._rulebook.endpoint import CHECKS, asking, behaviours  # noqa: PLC0415 - what few commands need

    key = "" if key_name is None else os.environ.get(key_name, "")
    if key_name is not None and not key:
        raise UsageError(f"there is no key: set {key_name}")
    say(f"{len(CHECKS)} questions to {endpoint}: about {2 * len(CHECKS)} requests of at most 512 tokens")
    outcomes = []
    with _client() as client:
        for seen in behaviours(model, asking(endpoint, key, client, timeout)):
            outcomes.append(seen.outcome)
            line = {"endpoint": endpoint, "model": model, **seen._asdict()}
            _report(seen.outcome, f"{seen.name}: {seen.words}", line, path)
    _count(outcomes)
    if "refuted" in outcomes:
        raise SystemExit(1)


def _client() -> Any:
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("verify needs httpx: pip install 'toolshape[verify]'") from error
    return httpx.Client()

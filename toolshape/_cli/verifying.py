"""The command ``toolshape verify``: tests whether a provider follows the rules known of it."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from toolshape._cli import rulebook
from toolshape._cli.output import echo, refuse_not_a_number, say
from toolshape._families import get
from toolshape._records.calls import JsonObject
from toolshape._records.errors import UsageError

if TYPE_CHECKING:
    from toolshape._cli.rulebook.probes import Probe, Unprobed
    from toolshape._cli.rulebook.verify import ProbeFinding


@click.command("verify")
@click.argument("provider", required=False)
@click.option(
    "--model", required=True, help="The model to ask; some rules hold only for some models."
)
@click.option(
    "--rules",
    default="",
    metavar="KIND,...",
    help="schema, strict, name, limit, request, history or output; by default all.",
)
@click.option(
    "--most", type=click.IntRange(min=1), help="Test at most this many rules, the cheapest first."
)
@click.option(
    "--json",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append each finding to this file; rules that the file already decides are not tested "
    "again.",
)
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Print what has changed since this older file.",
)
@click.option(
    "--url",
    help="Another base address, for example for a proxy. toolshape appends the provider's path.",
)
@click.option(
    "--endpoint",
    help="An OpenAI-compatible server, such as http://localhost:8000/v1: judge how it handles "
    "calls.",
)
@click.option(
    "--keywords",
    "has_keywords",
    is_flag=True,
    help="With --endpoint: measure which keywords of a schema the server accepts, and which it "
    "keeps.",
)
@click.option(
    "--key",
    "key_name",
    metavar="VARIABLE",
    help="With --endpoint: the variable that holds the key.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    callback=refuse_not_a_number,
    default=60.0,
    show_default=True,
    help="How long an answer may take, in seconds.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be sent, and send nothing.")
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
    has_keywords: bool,
    key_name: str | None,
    timeout: float,
    dry_run: bool,
) -> None:
    """For each rule, send PROVIDER a small request that it should refuse, and a
    similar one that it should accept.

    The command reads the key from the environment variable of the provider's SDK, and never prints
    the key. Before it sends anything, it prints the number of requests and roughly how many tokens
    they contain. Exits with 1 if a rule is refuted.

    With --endpoint instead of PROVIDER: ask an OpenAI-compatible server some questions, and report
    whether it obeys the tool choice, gives each call an id, returns the same response with and
    without streaming, obeys strict schemas, leaves no calls in the text, and reports its usage.
    With --keywords as well: ask for four answers under a schema for each keyword, and report
    whether the server accepts it and keeps it.
    """
    if has_keywords and endpoint is None:
        raise click.UsageError("--keywords measures a server: pass --endpoint URL")
    if (provider is None) == (endpoint is None):
        raise click.UsageError("pass a PROVIDER, or --endpoint URL")
    if endpoint is not None:
        judge = _measure_keywords if has_keywords else _judge
        judge(endpoint, model, key_name, path, timeout)
        return
    verification = _Asked(str(provider), model, rules, most, path, url, timeout)
    new_findings = _test_rules(verification, dry_run=dry_run)
    if against is not None:
        for earlier, current in rulebook.verify.drift(
            rulebook.verify.read_findings(against), new_findings
        ):
            changed = (
                f"{current.rule.kind}: {current.rule.name}: {earlier.outcome} -> {current.outcome}"
            )
            say(f"changed since {earlier.at}: {changed}", style="red")
    if any(finding.outcome == "refuted" for finding in new_findings):
        raise SystemExit(1)


class _Asked(NamedTuple):
    """The command's arguments. They decide what to verify."""

    provider: str
    model: str
    rules: str
    most: int | None
    path: Path | None
    url: str | None
    timeout: float


def _test_rules(asked: _Asked, *, dry_run: bool) -> "list[ProbeFinding]":
    """Test the rules that the findings file has not decided yet, and return the new findings."""
    name: Any = asked.provider  # the user types this name, so it may be unknown
    provider = get(name)
    if provider.histories is None or provider.server is None:
        raise UsageError(
            f"verify cannot test {provider.name}: toolshape knows no HTTP API for its models"
        )
    address = rulebook.verify.address_of(provider, asked.url)
    book = rulebook.probes.rule_book(provider, asked.model)
    probes = rulebook.verify.select_probes(
        book.probes, filter(None, asked.rules.split(",")), asked.most
    )
    if asked.path is not None and asked.path.exists():
        earlier_findings = rulebook.verify.read_findings(asked.path)
    else:
        earlier_findings = []
    open_probes = rulebook.verify.undecided_probes(
        probes, earlier_findings, provider.name, asked.model
    )
    cost = rulebook.verify.cost_of(open_probes)
    say(
        f"{len(open_probes)} rules for {provider.name}: {cost.requests} requests, about "
        f"{cost.tokens:,} tokens"
    )
    if dry_run:
        _list(open_probes, book.without)
        return []
    key = rulebook.verify.api_key_of(address)
    new_findings = []
    with _client() as client:
        send = rulebook.verify.sender(
            address, asked.model, key, client, provider.histories.model_key, asked.timeout
        )
        for finding in rulebook.verify.findings(provider, asked.model, open_probes, send):
            new_findings.append(finding)
            rule_label = f"{finding.rule.kind}: {finding.rule.name}"
            _report(
                finding.outcome, f"{rule_label}: {finding.words}", finding.as_json(), asked.path
            )
    _count([finding.outcome for finding in new_findings])
    return new_findings


def _list(probes: "Iterable[Probe]", without: "Iterable[Unprobed]") -> None:
    for probe in probes:
        echo(f"{probe.rule.kind}: {probe.rule.name} [{probe.rule.evidence}]")
    for unprobed in without:
        echo(f"not tested: {unprobed.rule.kind}: {unprobed.rule.name}: {unprobed.why}")


def _report(outcome: str, words: str, line: JsonObject, path: Path | None) -> None:
    """Print one finding, and append it to a file."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    say(
        f"{outcome}: {words}",
        style={"refuted": "red", "confirmed": "green", "refused": "red", "kept": "green"}.get(
            outcome, ""
        ),
    )


def _count(outcomes: Sequence[str]) -> None:
    say(
        ", ".join(
            f"{outcomes.count(outcome)} {outcome}"
            for outcome in ("confirmed", "refuted", "unknown")
        )
    )


def _judge(
    endpoint: str, model: str, key_name: str | None, path: Path | None, timeout: float
) -> None:
    """Test the behaviours of a server; exit with 1 if any of them is wrong."""
    key = _key(key_name)
    say(
        f"{len(rulebook.endpoint.CHECKS)} questions to {endpoint}: about {2 * len(rulebook.endpoint.CHECKS)} requests of at most 512 "
        "tokens"
    )
    outcomes = []
    with _client() as client:
        for behaviour in rulebook.endpoint.behaviours(
            model, rulebook.endpoint.make_ask(endpoint, key, client, timeout)
        ):
            outcomes.append(behaviour.outcome)
            line = {"endpoint": endpoint, "model": model, **behaviour._asdict()}
            _report(behaviour.outcome, f"{behaviour.name}: {behaviour.words}", line, path)
    _count(outcomes)
    if "refuted" in outcomes:
        raise SystemExit(1)


def _key(key_name: str | None) -> str:
    if key_name is None:
        key = ""
    else:
        key = os.environ.get(key_name, "")
    if key_name is not None and not key:
        raise UsageError(f"there is no key: set the environment variable {key_name}")
    return key


def _measure_keywords(
    endpoint: str, model: str, key_name: str | None, path: Path | None, timeout: float
) -> None:
    """Measure what a server keeps of a schema; nothing that it does not keep
    is wrong, so this exits with 0.
    """
    try:
        from toolshape._cli.rulebook.keywords import CASES, SEEDS, keywords  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        words = "verify --keywords needs jsonschema: pip install 'toolshape[schema,verify]'"
        raise ImportError(words) from error
    key = _key(key_name)
    say(f"{len(CASES)} keywords, {len(SEEDS)} answers each, at {endpoint}")
    outcomes = {True: "kept", False: "not kept", None: "not known"}
    with _client() as client:
        for found in keywords(model, rulebook.endpoint.make_ask(endpoint, key, client, timeout)):
            if found.accepted:
                outcome = outcomes[found.kept]
            else:
                outcome = "refused"
            line = {"endpoint": endpoint, "model": model, **found._asdict()}
            _report(outcome, found.keyword, line, path)


def _client() -> Any:
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("verify needs httpx: pip install 'toolshape[verify]'") from error
    return httpx.Client()

"""Sends probes and their twins to a provider, and decides whether each rule holds there.

A rule is confirmed, refuted or unknown.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args
from urllib.parse import quote

from toolshape._cli.rulebook.probes import Probe, ProbedRule
from toolshape._families.wire.provider import Provider
from toolshape._families.wire.server import Address
from toolshape._records.calls import JsonObject
from toolshape._records.errors import UsageError
from toolshape.testing._fake.speaker import server_of

ProbeOutcome: TypeAlias = Literal["confirmed", "refuted", "unknown"]
_REFUSED = frozenset({400, 413, 422})
# A response with one of these statuses may quote the key, or a part of the key.
_SECRET = frozenset({401, 403})
_LONGEST = 300
_CHARACTERS_A_TOKEN = 4
_SECONDS = 60.0


class ProbeReply(NamedTuple):
    """The reply to one request: its status and its words.

    ``status`` is ``None`` if the API did not reply.
    """

    status: int | None
    words: str


Send: TypeAlias = Callable[[JsonObject], ProbeReply]


class ProbeFinding(NamedTuple):
    """Whether a rule holds for a provider and a model, the words of the deciding
    reply, and the time of the test.
    """

    provider: str
    model: str
    rule: ProbedRule
    outcome: ProbeOutcome
    words: str
    at: str

    def as_json(self) -> JsonObject:
        """Return the finding as JSON: one line in a file of findings."""
        subject = {"kind": self.rule.kind, "rule": self.rule.name, "evidence": self.rule.evidence}
        result = {"outcome": self.outcome, "words": self.words, "at": self.at}
        return {"provider": self.provider, "model": self.model, **subject, **result}


def address_of(provider: Provider, url: str | None = None) -> Address:
    """Return the address of a provider's API. If ``url`` is given, it replaces the base address.

    Raises:
        UsageError: Requests to the provider are signed, or each account has its own address.
    """
    address = server_of(provider).address
    if address is None:
        reason = "its requests are signed, or each account has its own address"
        raise UsageError(f"verify cannot send requests to {provider.name}: {reason}")
    if url is None:
        return address
    api_path = address.url.split("/", 3)[3]
    return address._replace(url=f"{url.rstrip('/')}/{api_path}")


def api_key_of(address: Address, environment: Mapping[str, str] | None = None) -> str:
    """Return the key of an API from the environment, or an empty string if the API needs no key.

    Raises:
        UsageError: None of the environment variables for the key is set.
    """
    variables = os.environ if environment is None else environment
    key = next((variables[name] for name in address.keys if variables.get(name)), None)
    if key is None and address.keys:
        raise UsageError(f"there is no API key: set {' or '.join(address.keys)}")
    return key or ""


def sender(
    address: Address, model: str, key: str, client: Any, model_key: str, seconds: float = _SECONDS
) -> Send:
    """Return a function that sends a body to an API.

    If the request fails, it returns a reply instead of raising.

    Args:
        address: The address of the API.
        model: The model.
        key: The key, which is removed from the replies.
        client: An ``httpx`` client.
        model_key: The field of the body that holds the model's name, if the address does not
            contain this name.
        seconds: The timeout of a request, in seconds.
    """
    url = address.url.format(model=quote(model, safe=""))
    headers = {name: value.format(key=key) for name, value in address.headers.items()}
    if "{model}" in address.url:
        model_field = {}
    else:
        model_field = {model_key: model}

    def send(body: JsonObject) -> ProbeReply:
        try:
            response = client.post(
                url, headers=headers, json={**model_field, **body}, timeout=seconds
            )
            return _reply(response.status_code, response.text, key)
        except Exception as error:  # httpx raises many kinds of errors, and a server may cause any
            return ProbeReply(None, type(error).__name__)

    return send


def _reply(status: int, text: str, key: str) -> ProbeReply:
    """Return a reply without the key.

    A page that is not JSON does not count as a reply from the API.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return ProbeReply(None, f"status {status}, but no JSON")
    if status in _SECRET:
        return ProbeReply(status, "the key is not accepted")
    words = _words(body)
    return ProbeReply(status, (words.replace(key, "[key]") if key else words)[:_LONGEST])


def _words(body: Any) -> str:
    if isinstance(body, dict):
        error = body.get("error", body)
    else:
        error = body
    if isinstance(error, dict):
        message = error.get("message", error)
    else:
        message = error
    if isinstance(message, str):
        return message
    return json.dumps(message)


def select_probes(probes: Iterable[Probe], kinds: Iterable[str], most: int | None) -> list[Probe]:
    """Return at most ``most`` probes for rules of these kinds, the cheapest probes first.

    Raises:
        UsageError: A kind does not exist.
    """
    wanted, known_kinds = set(kinds), get_args(ProbedRule.__annotations__["kind"])
    if unknown := sorted(wanted - set(known_kinds)):
        raise UsageError(
            f"there are no rules of the kind {unknown[0]!r}: the kinds are {', '.join(known_kinds)}"
        )
    chosen = [probe for probe in probes if not wanted or probe.rule.kind in wanted]
    chosen.sort(key=lambda probe: len(json.dumps(probe.refused)))
    return chosen[:most]


class Cost(NamedTuple):
    """The number of requests that will be sent, and about how many tokens they contain."""

    requests: int
    tokens: int


def cost_of(probes: Iterable[Probe]) -> Cost:
    """Return the cost of sending these probes. A twin that several probes share is sent once."""
    bodies = {json.dumps(body) for probe in probes for body in (probe.refused, probe.accepted)}
    return Cost(len(bodies), sum(len(body) // _CHARACTERS_A_TOKEN for body in bodies))


def findings(
    provider: Provider, model: str, probes: Iterable[Probe], send: Send
) -> Iterator[ProbeFinding]:
    """Send each twin and, if the provider accepts the twin, its probe;
    yield a finding for each rule.

    A rule is confirmed if the provider refuses the probe and accepts the twin. It is refuted if the
    provider accepts the probe or refuses the twin. It is unknown if a reply decides nothing: the
    reply has another status or is a page, or the connection was lost.
    """
    twins: dict[str, ProbeReply] = {}
    for probe in probes:
        key = json.dumps(probe.accepted)
        if key not in twins:
            twins[key] = send(probe.accepted)
        twin = twins[key]
        if _is_accepted(twin) is True:
            reply = send(probe.refused)
        else:
            reply = twin
        yield ProbeFinding(provider.name, model, probe.rule, *_judge(twin, reply), _now())


def _is_accepted(reply: ProbeReply) -> bool | None:
    """Return whether a request was accepted, or ``None`` if the reply does not show this."""
    if reply.status is None:
        return None
    if 200 <= reply.status < 300:  # noqa: PLR2004 - HTTP's
        return True
    if reply.status in _REFUSED:
        return False
    return None


def _judge(twin: ProbeReply, reply: ProbeReply) -> tuple[ProbeOutcome, str]:
    is_twin_accepted, is_probe_accepted = _is_accepted(twin), _is_accepted(reply)
    if is_twin_accepted is False:
        return "refuted", f"the twin was refused: {twin.words}"
    if is_twin_accepted is None or is_probe_accepted is None:
        if reply.status is None:
            status = ""
        else:
            status = f"status {reply.status}: "
        return "unknown", f"{status}{reply.words}"
    if is_probe_accepted:
        return ("refuted", "the probe was accepted")
    return ("confirmed", reply.words)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def read_findings(path: Path) -> list[ProbeFinding]:
    """Read a file of findings. Skip the last line if it is incomplete.

    Raises:
        UsageError: The file cannot be read, or is not a file of findings.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    results = []
    for line in lines:
        if not line.endswith("\n"):
            break
        try:
            record = json.loads(line)
            rule = ProbedRule(record["kind"], record["rule"], record["evidence"])
            subject = record["provider"], record["model"]
            results.append(
                ProbeFinding(*subject, rule, record["outcome"], record["words"], record["at"])
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path} is not a file of findings ({error!r})") from error
    return results


def undecided_probes(
    probes: Iterable[Probe], found: Iterable[ProbeFinding], provider: str, model: str
) -> list[Probe]:
    """Return the probes that no earlier finding for this provider and model decides."""
    decided = {
        finding.rule
        for finding in found
        if (finding.provider, finding.model) == (provider, model) and finding.outcome != "unknown"
    }
    return [probe for probe in probes if probe.rule not in decided]


def drift(
    old: Iterable[ProbeFinding], new: Iterable[ProbeFinding]
) -> list[tuple[ProbeFinding, ProbeFinding]]:
    """Return the old and the new finding for each rule whose outcome changed.

    Unknown outcomes do not count.
    """
    earlier_by_rule = {(finding.provider, finding.model, finding.rule): finding for finding in old}
    pairs = [
        (earlier_by_rule.get((current.provider, current.model, current.rule)), current)
        for current in new
    ]
    return [
        (earlier, current)
        for earlier, current in pairs
        if earlier is not None
        and earlier.outcome != current.outcome
        and "unknown" not in (earlier.outcome, current.outcome)
    ]

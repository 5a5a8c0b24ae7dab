"""Each cited rule has a request that it refuses and a twin that is taken; a rule that is gone from a server is named."""

import dataclasses
import functools
import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import FAKED

from toolshape import Registry, UsageError, explain, tool
from toolshape._cli.rulebook import verify
from toolshape._cli.rulebook.histories import ACCEPTED, refused_histories
from toolshape._cli.rulebook.probes import KINDS, Probe, ProbedRule, RuleBook, rule_book
from toolshape._cli.rulebook.schemas import ACCEPTED as SCHEMA
from toolshape._families import get
from toolshape._families.wire.provider import Provider
from toolshape._schema.checks import cited
from toolshape.testing import Fake

OWN = [name for name in FAKED if ":" not in name and get(name).histories is not None]
MODEL = "probe"
ASKED = [(name, model) for name in OWN for model in (MODEL, *get(name).server.models)]
# What only the provider knows, and what is never sent: the model that is left out.
UNPROBED = {"signed_prefix", "item_without_reasoning", "required"}


@functools.cache
def book(name: str, model: str) -> RuleBook:
    return rule_book(get(name), model)


def posting(fake: Fake, model: str = MODEL) -> Callable[[dict[str, Any]], Any]:
    """Posts bodies to a fake without a socket."""
    endpoint, histories = fake.provider.server.endpoint, fake.provider.histories
    paths = {
        "gemini": f"/v1beta/models/{model}:generateContent", "bedrock": f"/model/{model}/converse",
        "openai-responses": "/v1/responses", "anthropic": "/v1/messages", "gemini-interactions": "/v1beta/interactions",
        "cohere": "/v2/chat", "ollama": "/api/chat",
    }  # fmt: skip
    path = paths.get(fake.provider.family, "/v1/chat/completions")
    named = (
        {} if "{model}" in path or endpoint.path.count("model>") else {histories.model_key: model}
    )

    def post(body: dict[str, Any]) -> Any:
        return fake._handle(
            "POST", path, json.dumps({histories.model_key: model, **named, **body}).encode()
        )

    return post


def sending(fake: Fake, model: str = MODEL) -> verify.Send:
    post = posting(fake, model)

    def send(body: dict[str, Any]) -> verify.ProbeReply:
        reply = post(body)
        return verify._reply(reply.status, b"".join(reply.chunks).decode(), "")

    return send


def asked(
    provider: Provider, probes: list[Probe], model: str = MODEL
) -> dict[ProbedRule, verify.ProbeFinding]:
    with Fake(provider) as fake:
        fake.answers(lambda _: "Yes.")
        return {
            found.rule: found
            for found in verify.findings(provider, model, probes, sending(fake, model))
        }


@pytest.mark.parametrize(
    ("name", "model"),
    [pytest.param(*each, marks=() if each[1] == MODEL else pytest.mark.slow) for each in ASKED],
)
def test_a_fake_confirms_each_rule(name, model):
    """The probe is refused by its rule, and by those that are listed beside it; the twin by none."""
    known = book(name, model)
    with Fake(name) as fake:
        fake.answers(lambda _: "Yes.")
        send = sending(fake, model)
        for probe in known.probes:
            before = len(fake.refused)
            assert send(probe.accepted).status == 200, (probe.rule, probe.accepted)
            assert send(probe.refused).status in (400, 422), probe.rule
            named = {(reason.rule, reason.evidence) for reason in fake.refused[before:]}
            assert (probe.rule.name, probe.rule.evidence) in named
            assert named == {(rule.name, rule.evidence) for rule in (probe.rule, *probe.others)}
    assert all(unprobed.why for unprobed in known.without)


# What is asked of an answer goes with the schemas, and what breaks a budget of schemas may be called too large.
EXPLAINED = {
    "schema": {"schema"}, "strict": {"schema", "limits"}, "output": {"schema"}, "name": {"schema"},
    "limit": {"limits", "schema"}, "history": {"history"}, "request": {"request", "schema", "history"},
}  # fmt: skip


@tool
def probe(a: str) -> str:
    """Has the name of the tool in the probes."""
    return a


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model"), ASKED)
def test_what_a_probe_is_answered_is_explained(name, model):
    """Where the words are the provider's own: by the kind of the rule, and by the tool that they name or number."""
    bound = Registry([probe]).bind(name, strict=False)
    with Fake(name) as fake:
        fake.answers(lambda _: "Yes.")
        post = posting(fake, model)
        for asked_for in book(name, model).probes:
            before = len(fake.refused)
            reply = post(asked_for.refused)
            why = fake.refused[before]
            if not why.as_recorded or why.rule != asked_for.rule.name:
                continue
            text = b"".join(reply.chunks).decode()
            failure = explain(
                SimpleNamespace(status_code=reply.status, headers=reply.headers, text=text), bound
            )
            assert failure.kind in EXPLAINED[asked_for.rule.kind], (asked_for.rule, failure)
            if asked_for.rule.kind in ("schema", "strict") and re.search(
                r"tools?\W?\d|probe", text
            ):
                assert failure.tool == "probe", (asked_for.rule, failure)


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_every_rule_has_a_probe_for_some_model(name):
    """But for those that no request can break."""
    probed = {
        probe.rule
        for model in (MODEL, *get(name).server.models)
        for probe in book(name, model).probes
    }
    for unprobed in book(name, MODEL).without:
        assert unprobed.rule in probed or unprobed.rule.name in UNPROBED, unprobed
        assert unprobed.model is None or unprobed.rule in {
            each.rule for each in book(name, unprobed.model).probes
        }


def test_there_are_rules_of_each_kind():
    assert {probe.rule.kind for probe in book("openai", MODEL).probes} == set(KINDS)


def without_rule(provider: Provider, rule: ProbedRule) -> Provider | None:
    """The provider without one rule; ``None`` if it is a limit or a pattern, which has no entry of its own."""
    server, schema, histories, output = (
        provider.server,
        provider.schema,
        provider.histories,
        provider.output,
    )

    def kept(rules: Any) -> tuple[Any, ...]:
        return tuple(
            each for each in rules if each.evidence != rule.evidence or _name(each) != rule.name
        )

    if rule.kind in ("schema", "strict"):
        changed = dataclasses.replace(
            schema, refuses=kept(schema.refuses), refuses_strict=kept(schema.refuses_strict)
        )
        return dataclasses.replace(provider, schema=changed)
    if rule.kind == "history":
        return dataclasses.replace(
            provider, histories=dataclasses.replace(histories, rules=kept(histories.rules))
        )
    if rule.kind == "request":
        left = tuple(each for each in server.refuses if each.evidence != rule.evidence)
        return dataclasses.replace(provider, server=dataclasses.replace(server, refuses=left))
    if rule.kind == "output" and rule.name not in ("name", "output_beside_tools"):
        own = output.schema or schema
        changed = dataclasses.replace(
            own, refuses=kept(own.refuses), refuses_strict=kept(own.refuses_strict)
        )
        return dataclasses.replace(provider, output=dataclasses.replace(output, schema=changed))
    return None


def _name(rule: Any) -> str:
    return rule.name if hasattr(rule, "name") else rule.check.__name__


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model"), ASKED)
def test_a_rule_that_is_gone_is_named(name, model):
    """Alone, unless another rule refuses its probe, too: then the probe lists that one.

    Some rules of histories are implied by others: what one mends is not there for the next to find. A call that is
    mended has lost its signature, which is not the request's fault.
    """
    provider, count, implied = get(name), 0, set()
    for probe in book(name, model).probes:
        changed = without_rule(provider, probe.rule)
        if changed is None or probe.rule.name in ("tools_missing", "choice"):
            continue
        found = asked(changed, [probe], model)[probe.rule]
        if probe.rule.kind == "history" and found.outcome == "confirmed" and not probe.others:
            implied.add(probe.rule.name)
            continue
        others = {rule.name for rule in probe.others} - {"missing_signature"}
        assert (found.outcome == "refuted") == (not others), (probe.rule, probe.others, found)
        count += found.outcome == "refuted"
    assert implied <= {
        "duplicate_result",
        "late_result",
        "split_results",
        "orphan_result",
        "blank_text",
        "empty_message",
    }
    assert count >= len(book(name, model).probes) / 4 or name == "ollama"


def test_a_rule_that_is_too_much_is_named():
    """A server that refuses what every provider takes: no rule is confirmed by it."""

    def nothing(node, at):
        return "no schema is taken" if at.is_root else None

    openai = get("openai")
    schema = dataclasses.replace(
        openai.schema, refuses=(*openai.schema.refuses, *cited("none", nothing))
    )
    wrong = dataclasses.replace(openai, schema=schema)
    probes = [probe for probe in book("openai", MODEL).probes if probe.rule.kind == "strict"]
    found = asked(wrong, probes)
    assert {finding.outcome for finding in found.values()} == {"refuted"}
    assert all("twin was refused" in finding.words for finding in found.values())


@pytest.mark.parametrize(
    ("twin", "reply", "outcome"),
    [
        ((200, "ok"), (400, "no"), "confirmed"),
        ((200, "ok"), (422, "no"), "confirmed"),
        ((200, "ok"), (200, "ok"), "refuted"),
        ((400, "no"), (400, "no"), "refuted"),
        ((429, "slow"), (400, "no"), "unknown"),
        ((200, "ok"), (429, "slow"), "unknown"),
        ((200, "ok"), (500, "broken"), "unknown"),
        ((404, "no model"), (404, "no model"), "unknown"),
        ((None, "ConnectError"), (None, "ConnectError"), "unknown"),
    ],
)
def test_what_answers_say_of_a_rule(twin, reply, outcome):
    probe = book("openai", MODEL).probes[0]

    def send(body):
        return verify.ProbeReply(*(twin if body == probe.accepted else reply))

    [found] = verify.findings(get("openai"), MODEL, [probe], send)
    assert found.outcome == outcome


def test_what_comes_back_is_read_without_the_key():
    assert verify._reply(200, "<html>", "k") == (None, "status 200, but no JSON")
    assert verify._reply(401, '{"error": "key sk-1 is wrong"}', "sk-1") == (
        401,
        "the key is not accepted",
    )
    assert "sk-1" not in verify._reply(400, '{"error": {"message": "bad key sk-1"}}', "sk-1").words
    assert len(verify._reply(400, json.dumps({"error": "x" * 9999}), "").words) == 300


def test_kinds_and_limits_of_a_run():
    probes = book("openai", MODEL).probes
    assert {
        probe.rule.kind for probe in verify.select_probes(probes, ["name", "history"], None)
    } == {"name", "history"}
    assert len(verify.select_probes(probes, [], 5)) == 5
    with pytest.raises(UsageError, match="the kinds are schema, strict"):
        verify.select_probes(probes, ["names"], None)
    assert verify.cost_of(probes).requests < 2 * len(probes)


def test_results_are_kept_and_compared(tmp_path):
    path, probes = tmp_path / "found.jsonl", list(book("anthropic", MODEL).probes)
    found = list(asked(get("anthropic"), probes[:3]).values())
    path.write_text(
        "".join(f"{json.dumps(each.as_json())}\n" for each in found) + '{"provider": "anth',
        encoding="utf-8",
    )
    assert verify.read_findings(path) == found
    assert verify.undecided_probes(probes, found, "anthropic", MODEL) == probes[3:]
    assert verify.undecided_probes(probes, found, "anthropic", "another") == probes
    gone = [found[0]._replace(outcome="refuted"), found[1]._replace(outcome="unknown")]
    assert verify.drift(found, gone) == [(found[0], gone[0])]
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="not a file of findings"):
        verify.read_findings(path)


def test_who_is_out_of_reach():
    for name in ("bedrock", "vertex", "azure"):
        with pytest.raises(UsageError, match="cannot send requests to"):
            verify.address_of(get(name))
    address = verify.address_of(get("openai"), "http://localhost:1/")
    assert address.url == "http://localhost:1/v1/chat/completions"
    with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
        verify.api_key_of(address, {})
    assert verify.api_key_of(address, {"OPENAI_API_KEY": "k"}) == "k"
    assert verify.api_key_of(verify.address_of(get("ollama")), {}) == ""


def test_the_twins_are_plain():
    assert SCHEMA["required"] == ["a"]
    assert all(history != ACCEPTED for history in refused_histories())

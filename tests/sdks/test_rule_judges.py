"""Others judge the probes: the SDKs' types, botocore and mistral-common take every twin, and refuse some of what is refused."""

import pytest
from jsonschema import Draft202012Validator
from judged import JUDGED
from judges import JUDGES, judged

from toolshape._cli.rulebook.probes import rule_book
from toolshape._cli.rulebook.schemas import ACCEPTED, refused_schemas
from toolshape._families import get

PROBES = {
    name: {
        probe.rule: probe
        for model in (None, *get(name).server.models)
        for probe in rule_book(get(name), model).probes
    }.values()
    for name in JUDGES
}


def is_taken(name: str, body: dict) -> bool:
    provider = get(name)
    try:
        judged(name, {provider.histories.model_key: "m", **body})
    except Exception:
        return False
    return True


@pytest.mark.parametrize("name", JUDGES)
def test_every_twin_is_a_request(name):
    """Whoever else knows the form of messages takes the twins of the rules of histories and requests."""
    for probe in PROBES[name]:
        assert is_taken(name, probe.accepted), (probe.rule, probe.accepted)


@pytest.mark.parametrize("name", JUDGES)
def test_others_refuse_what_is_written_here(name):
    """The types know what a message holds, botocore its lengths and patterns, mistral-common the order of messages."""
    asked = [probe for probe in PROBES[name] if get(name).histories.key in probe.refused]
    refused = {
        (probe.rule.kind, probe.rule.name) for probe in asked if not is_taken(name, probe.refused)
    }
    assert refused == JUDGED[name]


def test_the_schemas_are_what_they_are_meant_to_be():
    """JSON Schema itself takes nearly all of them: that they are refused is the dialects' doing."""
    Draft202012Validator.check_schema(ACCEPTED)
    invalid = [schema for schema in refused_schemas() if not _is_schema(schema)]
    assert len(invalid) <= 3


def _is_schema(schema: dict) -> bool:
    try:
        Draft202012Validator.check_schema(schema)
    except Exception:
        return False
    return True

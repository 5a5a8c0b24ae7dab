"""Others judge the probes: the SDKs' types, botocore and mistral-common take every twin, and refuse some of what is refused."""

import pytest
from jsonschema import Draft202012Validator
from judges import JUDGES, judged

from toolshape._families import get
from toolshape._rulebook.probes import rule_book
from toolshape._rulebook.schemas import ACCEPTED, refused_schemas

BOOKS = {name: rule_book(get(name)) for name in JUDGES}


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
    for probe in BOOKS[name].probes:
        assert is_taken(name, probe.accepted), (probe.rule, probe.accepted)


@pytest.mark.parametrize(("name", "least"), [("bedrock", 2), ("mistral", 4), ("openai", 1), ("gemini", 0)])
def test_some_probes_are_refused_by_others_too(name, least):
    """By those whose judge knows such rules; the others know types alone."""
    histories = [probe for probe in BOOKS[name].probes if probe.rule.kind in ("history", "request")]
    refused = {probe.rule.name for probe in histories if not is_taken(name, probe.refused)}
    print(name, sorted(refused))
    assert len(refused) >= least


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

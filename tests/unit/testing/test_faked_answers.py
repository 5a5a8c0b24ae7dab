"""Fakes and answers in a type: what they say in the schema that was sent, and which schemas they refuse."""

import copy
import json
from typing import Any

import pytest
from fakes import FAKED, asked, keywords
from pydantic import BaseModel

from toolshape import Output, Registry, UsageError, tool
from toolshape._families import get
from toolshape.testing import Fake, Turn


class Invoice(BaseModel):
    """An invoice."""

    total: float
    tags: dict[str, int] = {}
    note: str | None = None


@tool
def look(number: int) -> str:
    """Look an order up."""
    return f"order {number}"


class Receipt(BaseModel):
    total: float
    paid: bool = False
    lines: list[str] = []


OUTPUT = Output(Invoice)
VALUE = Invoice(total=3.5, tags={"a": 1})
TOOLS = Registry([look])
BY_FIELD = [name for name in FAKED if get(name).output is not None]


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    joined = copy.deepcopy(first)
    for key, value in second.items():
        joined[key] = {**joined[key], **value} if isinstance(joined.get(key), dict) else value
    return joined


def answer_of(provider: str, fake: Fake, given: dict[str, Any]) -> dict[str, Any]:
    status, content = asked(fake, given)
    assert status == 200, content
    return json.loads(content)


@pytest.mark.parametrize("provider", FAKED)
@pytest.mark.parametrize("strict", ["auto", True, False])
def test_a_value_is_said_in_the_schema_that_was_sent(provider, strict):
    """Alone and beside tools, in each form that the provider has."""
    form = get(provider).output
    if strict is False and form is not None and form.is_always_strict:
        pytest.skip("every answer is constrained")
    rules = get(provider).schema if form is None or form.schema is None else form.schema
    if strict is True and (rules.strict is None or get(provider).schema.strict is None):
        pytest.skip("there is no strict form")
    output = Output(Invoice, strict=strict)
    # Where all tools of a request must be strict, or none, the answer's tool is one of them.
    bound, beside = output.bind(provider), TOOLS.bind(provider, strict, output=output)
    with Fake(provider, TOOLS) as fake:
        fake.says(VALUE)
        fake.says(VALUE, output=output)
        assert (
            bound.read(
                answer_of(provider, fake, merged(keywords(provider), bound.request()))
            ).unwrap()
            == VALUE
        )
        body = answer_of(provider, fake, merged(keywords(provider), beside.request()))
        assert beside.dispatch(body).output.value == VALUE
        assert not fake.refused


@pytest.mark.parametrize("provider", FAKED)
def test_any_type_is_said(provider):
    for kind, value in ((list[int], [1, 2]), (int, 3), (str, "a"), (dict[str, int], {"a": 1})):
        bound = Output(kind).bind(provider)
        with Fake(provider) as fake:
            fake.says(value, output=kind)
            assert (
                bound.read(
                    answer_of(provider, fake, merged(keywords(provider), bound.request()))
                ).unwrap()
                == value
            )


def test_a_value_that_nobody_asked_for():
    """The script has no answer to a request without a schema, or to one that the value does not fit."""
    with Fake("openai") as fake:
        fake.says(VALUE)
        status, content = asked(fake, keywords("openai"))
        assert status == 400
        assert b"does not ask for structured output" in content
        of_others = {
            "type": "object",
            "properties": {"sum": {"type": "number"}},
            "required": ["sum"],
        }
        named = {"name": "Invoice", "schema": of_others}
        form = {"response_format": {"type": "json_schema", "json_schema": named}}
        assert b"'sum' is a required property" in asked(fake, {**keywords("openai"), **form})[1]
        of_others["properties"], of_others["required"] = {"total": {"type": "number"}}, ["total"]
        said = answer_of("openai", fake, {**keywords("openai"), **form})
        assert json.loads(said["choices"][0]["message"]["content"]) == {
            "total": 3.5,
            "tags": {"a": 1},
            "note": None,
        }


def test_a_value_of_another_type():
    with pytest.raises(UsageError, match="not a valid Invoice"):
        Turn().says({"sum": 1}, output=Invoice)
    with pytest.raises(UsageError, match="one answer"):
        Turn().says(VALUE).says(VALUE)
    assert str(Turn().says("Well. ").says(VALUE)).startswith("says('Well. ').says({'total': 3.5")


@pytest.mark.parametrize("provider", BY_FIELD)
def test_generated_answers_fit_the_schema(provider):
    bound = Output(Receipt).bind(provider)
    with Fake(provider) as fake:
        fake.generates(seed=3)
        for _ in range(5):
            assert bound.read(
                answer_of(provider, fake, merged(keywords(provider), bound.request()))
            ).ok


@pytest.mark.parametrize(
    ("provider", "schema", "rule", "words"),
    [
        (
            "openai",
            {"type": "object", "properties": {}},
            "closed",
            "Invalid schema for response_format 'answer': In context=()",
        ),
        (
            "openai-responses",
            {"type": "object", "properties": {}},
            "closed",
            "Invalid schema for response_format 'answer'",
        ),
        ("anthropic", {"type": "object", "properties": {}}, "closed", "additionalProperties"),
        ("bedrock", {"type": "object", "properties": {}}, "closed", "additionalProperties"),
        ("cerebras", {"type": "object", "properties": {}}, "closed", "additionalProperties"),
    ],
)
def test_a_schema_that_is_refused(provider, schema, rule, words):
    """By the rules for answers, with the recorded words where there are some; the twin, as it is exported, is taken."""
    form = get(provider).output
    assert form is not None
    from toolshape.provider import OutputSchema

    given = merged(keywords(provider), form.keywords(OutputSchema("answer", "", schema, True)))
    with Fake(provider) as fake:
        fake.says("{}")
        status, content = asked(fake, given)
        assert status == 400
        assert words in content.decode()
        assert rule in {reason.rule for reason in fake.refused}
        assert all(reason.evidence for reason in fake.refused)
        assert asked(fake, merged(keywords(provider), OUTPUT.bind(provider).request()))[0] == 200


REFUSING = {"groq", "fireworks", "mistral", "cohere", "gemini", "gemini-openapi", "vertex"}


@pytest.mark.parametrize("provider", [name for name in BY_FIELD if ":" not in name])
def test_a_schema_of_answers_beside_tools(provider):
    """Refused where the provider refuses it; the exported request, where the answer is a tool, is taken."""
    both = merged(
        merged(keywords(provider), TOOLS.bind(provider).request()), OUTPUT.bind(provider).request()
    )
    model_key = get(provider).histories.model_key
    with Fake(provider) as fake:
        fake.says("{}")
        both[model_key] = "gemini-2.5-flash"
        status, _ = asked(fake, both)
        assert (status == 400) == (provider in REFUSING)
        assert {reason.rule for reason in fake.refused} == (
            {"output_beside_tools"} if provider in REFUSING else set()
        )
    with Fake(provider) as fake:
        fake.says("{}")
        made = merged(keywords(provider), TOOLS.bind(provider, output=OUTPUT).request())
        assert asked(fake, {**made, model_key: "gemini-2.5-flash"})[0] == 200
    if provider == "gemini":
        with Fake(provider) as fake:
            fake.says("{}")
            assert asked(fake, {**both, model_key: "gemini-3-pro"})[0] == 200


def test_a_field_that_is_not_there():
    form = OUTPUT.bind("openai").request()
    with Fake("deepseek") as fake:
        fake.says("{}")
        status, content = asked(fake, {**keywords("deepseek"), **form})
        assert status == 400
        assert b"This response_format type is unavailable now" in content


def test_names_of_schemas():
    form = OUTPUT.bind("openai").request()
    form["response_format"]["json_schema"]["name"] = "the bill!"
    with Fake("openai") as fake:
        fake.says("{}")
        assert asked(fake, {**keywords("openai"), **form})[0] == 400
        assert [reason.rule for reason in fake.refused] == ["name"]

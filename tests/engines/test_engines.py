"""Engines do what their kept tables say, and keep all that is sent to the servers that use them."""

import json
import os
from functools import partial
from random import Random
from typing import Any

import pytest
from judging import apart, judge
from matchers import ENGINES
from schemas_and_texts import CASES, Case, texts
from shared import corpus
from tables import PAGE, kept, section

from toolshape import DefinitionError, Registry
from toolshape._families import get
from toolshape._schema.values import copy_json
from toolshape._schema.walk import compose

REASON = "the engine is not installed: nox -s engines"
FOLLOWS = {"vllm": "xgrammar", "sglang": "xgrammar", "huggingface": "outlines-core"}
# What the days of a month are is no part of their grammars, nor the length of a host's name.
SUBTLE = {
    "format date", "format date-time", "format + pattern", "format hostname", "format ipv4", "format + minLength",
}  # fmt: skip
# Definitions are bundled, and anchors resolved, before a schema is written for a provider; nothing fits ``false``.
NOT_ALONE = {"$anchor", "$ref into definitions", "$ref into properties", "a schema that is false", "schema true", "schema false", "schema {}"}  # fmt: skip


def compiler(engine: str) -> Any:
    module, load = ENGINES[engine]
    pytest.importorskip(module, reason=REASON)
    return load()


def drawn(names: list[str]) -> list[str]:
    """All cases by hand, and in CI those that the commit draws."""
    if os.environ.get("TOOLSHAPE_ENGINES") == "all":
        return names
    random = Random(os.environ.get("TOOLSHAPE_SEED", "0"))
    return sorted(random.sample(names, 40))


def test_the_page_is_of_the_tables():
    assert PAGE.read_text(encoding="utf-8").endswith(f"\n{section()}")
    for engine in ENGINES:
        assert kept(engine)["schemas"].keys() == CASES.keys()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_does_what_its_table_says(engine):
    compile_schema, table = compiler(engine), kept(engine)["schemas"]
    for name in drawn(list(CASES)):
        found = apart(partial(judge, compile_schema, CASES[name]))
        assert found.to_json() == table[name], (name, found)


def sent(provider: str, case: Case) -> Case:
    """A schema as it is sent for an answer, with its instances as they are and as the model would write them."""
    lens = compose(get(provider).output.schema.strict)(copy_json(case.schema))
    instances = list(case.instances)
    if lens.out is not None:
        for instance in case.instances:
            try:
                instances.append(lens.out(json.loads(texts(instance)[0])))
            except (ValueError, TypeError, KeyError, AttributeError, IndexError):
                continue  # it does not fit the schema
    return Case(lens.schema, instances)


@pytest.mark.parametrize("provider", FOLLOWS)
def test_an_engine_keeps_what_its_server_is_sent(provider):
    """It accepts each schema, and lets nothing through that the sent schema forbids."""
    compile_schema = compiler(FOLLOWS[provider])
    names = [
        name for name in CASES if isinstance(CASES[name].schema, dict) and name not in NOT_ALONE
    ]
    for name in drawn(names):
        found = apart(partial(judge, compile_schema, sent(provider, CASES[name])))
        assert found.accepted, (name, found)
        assert found.kept is not False or name in SUBTLE, (name, found)


def real_schemas() -> list[tuple[str, Any]]:
    rows = corpus("tool_definitions.jsonl")
    return [(row["id"], row["schema"]) for row in rows if len(json.dumps(row["schema"])) < 6_000]


@pytest.mark.parametrize("provider", FOLLOWS)
def test_an_engine_accepts_what_is_sent_of_real_definitions(provider):
    """The parameters of published tools as the schema of an answer, in the form that is sent: none is refused."""
    compile_schema = compiler(FOLLOWS[provider])
    schemas = dict(real_schemas())
    many = len(schemas) if os.environ.get("TOOLSHAPE_ENGINES") == "all" else 60
    random = Random(os.environ.get("TOOLSHAPE_SEED", "0"))
    refused, slow = {}, []
    for name in sorted(random.sample(sorted(schemas), many)):
        tools = Registry()
        try:
            tools.add_definitions([{"name": "f", "description": "F.", "parameters": schemas[name]}])
            canonical = tools["f"].input_schema
        except DefinitionError:
            continue
        lens = compose(get(provider).output.schema.strict)(canonical)
        found = apart(partial(judge, compile_schema, Case(lens.schema, [])))
        if "took longer" in found.note:
            slow.append(name)
        elif not found.accepted:
            refused[name] = found.note
    print(len(slow), "took too long of", many, slow)
    assert not refused
    assert (
        len(slow) <= many // 50
    )  # an automaton of the engine's, of a schema that others take at once

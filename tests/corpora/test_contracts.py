"""Tools that stand in the corpora in several versions, compared: each breaking change has a call that shows it."""

import functools
import itertools
import random
from collections import Counter, defaultdict
from typing import Any

from jsonschema import Draft202012Validator
from shared import corpus
from test_definitions_of_others import entry

from toolshape import DefinitionError, Registry, Tool
from toolshape._schema.generate import generate
from toolshape.contract import diff_contracts, dump_lock, load_lock, make_contract


@functools.cache
def versions() -> dict[str, list[Tool[..., Any]]]:
    """Tools of one name with different definitions, in the order in which they stand."""
    found: dict[str, list[Tool[..., Any]]] = defaultdict(list)
    for row in corpus("tool_definitions.jsonl"):
        try:
            tool = Tool.from_definition(entry(row), coerce=False)
        except DefinitionError:
            continue
        if tool.input_schema not in [item.input_schema for item in found[tool.name]]:
            found[tool.name].append(tool)
    return {name: tools for name, tools in found.items() if len(tools) > 1}


def test_versions_of_tools_are_classified():
    """None is silent: what the old schema takes and the new one refuses is said to break, or to be unknown."""
    counts: Counter[str] = Counter()
    pairs = [pair for tools in versions().values() for pair in itertools.pairwise(tools)]
    assert len(pairs) > 200
    for old, new in pairs:
        found = diff_contracts(make_contract(Registry([old])), make_contract(Registry([new])))
        counts.update(change.level for change in found.changes)
        admits_old, admits_new = (
            Draft202012Validator(item.input_schema).is_valid for item in (old, new)
        )
        for change in found.changes:
            assert (change.level == "breaking") <= (change.witness is not None)
            if change.level == "breaking":
                assert admits_old(change.witness)
                assert not admits_new(change.witness)
        if not found.is_breaking:
            for seed in range(5):
                value = generate(old.input_schema, random.Random(seed))
                assert admits_new(value) or not admits_old(value), (old.name, value)
    assert counts["breaking"] > 200
    assert counts["unknown"] < 0.1 * counts["breaking"], counts


def test_what_is_locked_is_read_as_it_was(tmp_path):
    """Each definition, also the odd ones; and it has not changed."""
    path = tmp_path / "tools.lock.json"
    tools = [tool for versions_of_one in versions().values() for tool in versions_of_one]
    assert len(tools) > 400
    for tool in tools:
        contract = make_contract(Registry([tool]))
        path.write_text(dump_lock(contract), encoding="utf-8")
        assert load_lock(path) == contract, tool.name
        assert not diff_contracts(load_lock(path), contract)

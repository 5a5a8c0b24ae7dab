"""Gold calls of others: each is right by itself, and by every value that is said to be acceptable; a changed one is not."""

import collections
import copy

import pytest
from shared import corpus
from test_definitions_of_others import entry

from toolshape import Registry, Tool
from toolshape.evals import Case, Expect, one_of


def expected_of(call):
    """A gold call with what its benchmark takes as well; "" there means that it may be left out."""
    acceptable = call.get("acceptable") or {}
    arguments = {}
    for name in dict.fromkeys((*call["arguments"], *acceptable)):
        values = acceptable.get(name, [call["arguments"].get(name)])
        shown = [value for value in values if value != ""] or [""]
        if any(
            isinstance(item, (dict, list)) for item in shown
        ):  # lists of acceptable values again, inside
            if name in call["arguments"]:
                arguments[name] = call["arguments"][name]
            continue
        own = call["arguments"].get(name, shown[0])
        arguments[name] = one_of(
            own, *shown, left_out="" in values or name not in call["arguments"]
        )
    return Expect(call["name"], arguments)


@pytest.fixture(scope="module")
def golds():
    """(the row, its tools bound, its case) for each row whose tools are known and whose calls are valid."""
    rows = {row["id"]: row for row in corpus("tool_definitions.jsonl")}
    found = []
    for gold in corpus("gold_calls.jsonl"):
        ids = {rows[item]["name"]: item for item in gold["tool_ids"] or ()}
        if not gold["calls"] or not all(
            call["name"] in ids and call["valid_as_jsonschema"] for call in gold["calls"]
        ):
            continue
        tools = [Tool.from_definition(entry(rows[item])) for item in ids.values()]
        case = Case(name=gold["id"], expected=[expected_of(call) for call in gold["calls"]])
        found.append((gold, Registry(tools).bind("openai", False), case))
    return found


def judged(case, bound, calls):
    """The verdict on some calls, as a response of Chat Completions."""
    return case.compare(
        bound, bound.calls_as_messages([(call["name"], call["arguments"]) for call in calls])[0]
    )


def test_gold_calls_match_themselves(golds):
    for gold, bound, case in golds:
        verdict = judged(case, bound, gold["calls"])
        assert (verdict.label, verdict.score) == ("right", 1), (gold["id"], verdict)
    assert len(golds) > 1500


def test_every_acceptable_value_matches(golds):
    seen = 0
    for gold, bound, case in golds:
        for at, call in enumerate(gold["calls"]):
            for name, values in (call.get("acceptable") or {}).items():
                for value in (
                    values if not any(isinstance(value, (dict, list)) for value in values) else ()
                ):
                    calls = copy.deepcopy(gold["calls"])
                    calls[at]["arguments"].pop(name, None)
                    if value != "":
                        calls[at]["arguments"][name] = value
                    verdict = judged(case, bound, calls)
                    if verdict.differences and verdict.differences[0].kind == "refused_arguments":
                        continue  # what is acceptable there is no value of the schema
                    assert not verdict.differences, (gold["id"], name, value, verdict)
                    assert verdict.score == 1
                    seen += 1
    assert seen > 2000


def test_what_is_changed_does_not_match(golds):
    """A value that is not acceptable, a call that is missing, and one too many."""
    counts = collections.Counter()
    for gold, bound, case in golds:
        assert judged(case, bound, [*gold["calls"], gold["calls"][0]]).label == "wrong"
        if len(gold["calls"]) > 1:
            assert judged(case, bound, gold["calls"][:-1]).label == "wrong"
        for at, call in enumerate(gold["calls"]):
            for name, value in call["arguments"].items():
                if isinstance(value, bool) or not isinstance(value, (str, int)):
                    continue
                calls = copy.deepcopy(gold["calls"])
                calls[at]["arguments"][name] = (
                    f"{value} and more" if isinstance(value, str) else value + 1_000_003
                )
                verdict = judged(case, bound, calls)
                assert verdict.label == "wrong", (gold["id"], name, verdict)
                assert verdict.score < 1
                counts[verdict.differences[0].kind] += 1
    assert counts["value"] > 2000

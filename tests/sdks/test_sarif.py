"""What ``toolshape diff --sarif`` writes, held against models of SARIF 2.1.0 that we did not write."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from toolshape import Registry, Tool, tool
from toolshape.contract import diff, make_contract, to_sarif

sarif_pydantic = pytest.importorskip("sarif_pydantic")


@tool
def order(customer: str, days: int = 1) -> str:
    """Order goods."""
    return customer


@tool(name="order")
def order_now(customer: str) -> str:
    """Order some goods."""
    return customer


class Ringing:
    """A tool that is an object."""

    def __call__(self, loud: bool) -> str:
        """Ring."""
        return ""


def written(changed: Registry, before: Registry) -> Any:
    return json.loads(
        to_sarif(diff(changed, make_contract(before)), changed, "a folder/tools.lock.json")
    )


def test_it_is_what_others_read():
    listed = {
        "name": "listed",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
    }
    other = {**listed, "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
    before = Registry([order, Tool.from_definition(listed), tool(name="gone")(order.function)])
    found = written(
        Registry([order_now, Tool.from_definition(other), tool(name="ring")(Ringing())]), before
    )
    read = sarif_pydantic.Sarif.model_validate(found)
    [run] = read.runs
    assert {result.level.value for result in run.results} == {"error", "note", "none"}
    places = {
        result["properties"]["tool"]: result["locations"][0]["physicalLocation"]
        for result in found["runs"][0]["results"]
    }
    assert (
        places["listed"]["artifactLocation"]["uri"] == "a%20folder/tools.lock.json"
    )  # it has no function
    assert places["gone"] == places["listed"]
    for name in ("order", "ring"):
        assert places[name]["artifactLocation"]["uri"].endswith("test_sarif.py")
        assert places[name]["region"]["startLine"] > 10


@pytest.mark.parametrize("wrong", [{"level": "bad"}, {"message": 5}, {"ruleIndex": "x"}])
def test_what_is_none_is_refused(wrong):
    """That the models look at it at all."""
    found = written(Registry([order_now]), Registry([order]))
    found["runs"][0]["results"][0] |= wrong
    with pytest.raises(ValidationError):
        sarif_pydantic.Sarif.model_validate(found)

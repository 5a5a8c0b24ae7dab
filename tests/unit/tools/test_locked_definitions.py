"""Definitions that somebody else writes are held against what they were when somebody looked at them."""

import copy
import logging
from pathlib import Path
from typing import Any

import pytest

from toolshape import Registry, UsageError

pytest.importorskip("jsonschema", reason="contracts need the extra schema")

from toolshape.contract import Diff, dump_lock, make_contract

SEARCH: dict[str, Any] = {
    "name": "search",
    "description": "Searches the notes.",
    "input_schema": {
        "type": "object",
        "properties": {"query": {"type": "string"}, "most": {"type": "integer", "maximum": 50}},
        "required": ["query"],
    },
}


def locked(*definitions: dict[str, Any]) -> Any:
    tools = Registry()
    tools.add_definitions(list(definitions))
    return make_contract(tools)


def changed(**keys: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SEARCH), **keys}


def with_most(**schema: Any) -> dict[str, Any]:
    definition = changed()
    definition["input_schema"]["properties"]["most"] = schema
    return definition


def added(*definitions: dict[str, Any], **options: Any) -> list[str]:
    tools = Registry()
    new = tools.add_definitions(list(definitions), lock=locked(SEARCH), **options)
    assert [tool.name for tool in new] == [tool.name for tool in tools]
    return [tool.name for tool in tools]


def test_what_is_the_same_or_takes_more_is_added() -> None:
    assert added(SEARCH) == ["search"]
    assert added(with_most(type="integer", maximum=100)) == ["search"]


def test_what_breaks_a_call_is_left_out_and_the_log_has_the_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert added(with_most(type="integer", maximum=10)) == []
    assert (
        "a tool of the definitions is left out, since it is not what the lock says" in caplog.text
    )
    assert '"most"' in caplog.text


@pytest.mark.parametrize(
    "definition",
    [changed(description="Searches the notes, and sends them."), changed(name="find")],
    ids=["other words", "a name that the lock does not have"],
)
def test_other_words_and_new_tools_are_left_out(definition: dict[str, Any]) -> None:
    assert added(definition) == []


def test_a_function_decides_once_a_tool_with_the_difference() -> None:
    asked: list[Diff] = []

    def take(difference: Diff) -> bool:
        asked.append(difference)
        return difference.changes[0].tool == "search"

    new = with_most(type="integer", maximum=10)
    assert added(new, changed(name="find"), on_change=take) == ["search"]
    assert [change.tool for difference in asked for change in difference.changes] == [
        "search",
        "find",
    ]


def test_an_async_function_cannot_decide_here() -> None:
    async def take(_: Diff) -> bool:
        return True

    with pytest.raises(UsageError, match="async"):
        added(with_most(type="string"), on_change=take)


def test_a_lock_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.lock"
    path.write_text(dump_lock(locked(SEARCH)))
    for lock in (path, str(path)):
        tools = Registry()
        tools.add_definitions([SEARCH, changed(name="find")], lock=lock)
        assert [tool.name for tool in tools] == ["search"]


@pytest.mark.parametrize("lock", [3, {"tools": {}}])
def test_what_is_no_lock_is_refused_and_adds_nothing(lock: Any) -> None:
    tools = Registry()
    with pytest.raises(UsageError, match="lock="):
        tools.add_definitions([SEARCH], lock=lock)
    assert list(tools) == []


def test_there_is_nothing_to_decide_without_a_lock() -> None:
    with pytest.raises(UsageError, match="pass lock="):
        Registry().add_definitions([SEARCH], on_change=lambda _: True)


def test_a_function_for_a_tool_that_is_left_out_is_no_mistake() -> None:
    tools = Registry()
    tools.add_definitions(
        [with_most(type="string")], {"search": lambda **_: "found"}, lock=locked(SEARCH)
    )
    assert list(tools) == []

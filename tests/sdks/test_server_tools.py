"""Every result that Anthropic's SDK has beside its call stays in a history: the SDK's types say which there are."""

from typing import get_args, get_type_hints

import pytest
from anthropic.types.beta import BetaContentBlockParam

from toolshape import Registry

RESULTS = [
    kind
    for block in get_args(BetaContentBlockParam)
    if isinstance(block, type) and "tool_use_id" in (hints := get_type_hints(block))
    for kind in get_args(hints["type"])
    if kind != "tool_result"
]


def test_there_are_such_types():
    assert {"web_search_tool_result", "mcp_tool_result"} <= set(RESULTS)


@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_beside_its_call_stays(kind):
    is_of_mcp = kind == "mcp_tool_result"
    call = {"type": "mcp_tool_use" if is_of_mcp else "server_tool_use", "id": "a", "name": "search"}
    blocks = [{**call, "input": {}}, {"type": kind, "tool_use_id": "a", "content": []}]
    given = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [*blocks, {"type": "text", "text": "Done."}]},
        {"role": "user", "content": "On."},
    ]
    repaired = Registry([]).bind("anthropic").repair_messages(given)
    assert repaired.repairs == ()
    assert repaired.messages == given

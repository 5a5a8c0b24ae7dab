"""Which call a fragment of a stream belongs to: what servers are known to do, each with the server that does it."""

import json
from typing import Any, NamedTuple

import pytest

from toolshape import Registry, tool


@tool
def look(place: str) -> str:
    """Look."""
    return f"seen {place}"


@tool
def mark(place: str) -> str:
    """Mark."""
    return f"marked {place}"


TOOLS = Registry([look, mark])
BONN, ROME = '{"place": "Bonn"}', '{"place": "Rome"}'


def piece(arguments: str | None = None, name: str | None = None, **own: Any) -> dict[str, Any]:
    """A fragment of a call in OpenAI's form; what is left out is not there."""
    function = {"name": name, "arguments": arguments}
    said = {key: value for key, value in function.items() if value is not None}
    return {**own, "type": "function", "function": said}


def chat(*pieces: dict[str, Any]) -> list[dict[str, Any]]:
    deltas = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [each]}, "finish_reason": None}]}
        for each in pieces
    ]
    return [*deltas, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def item(call_id: str, own_id: str | None, arguments: str, status: str) -> dict[str, Any]:
    said = {"type": "function_call", "call_id": call_id, "name": "look", "arguments": arguments}
    return {**said, "status": status, **({} if own_id is None else {"id": own_id})}


def responses(*events: dict[str, Any], output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    whole = {"object": "response", "status": "completed", "output": output}
    created = {"object": "response", "status": "in_progress", "output": []}
    return [
        {"type": "response.created", "response": created},
        *events,
        {"type": "response.completed", "response": whole},
    ]


def block(at: int, call_id: str, given: dict[str, Any], *pieces: str) -> list[dict[str, Any]]:
    started = {"type": "tool_use", "id": call_id, "name": "look", "input": given}
    return [
        {"type": "content_block_start", "index": at, "content_block": started},
        *(
            {"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": each}}
            for each in pieces
        ),
        {"type": "content_block_stop", "index": at},
    ]  # fmt: skip


def anthropic(*blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    message = {"type": "message", "role": "assistant", "content": []}
    return [
        {"type": "message_start", "message": message},
        *(event for each in blocks for event in each),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]


class Row(NamedTuple):
    """A stream, the server that sends such ones, and what runs; an id that the server did not send is ``None``."""

    server: str
    provider: str
    events: list[dict[str, Any]]
    ran: list[tuple[str | None, str]]


BOTH = [("a", "seen Bonn"), ("b", "seen Rome")]
ROWS = [
    Row(
        "any", "openai",
        chat(piece(BONN[:9], "look", index=0, id="a"), piece(BONN[9:], index=0), piece(ROME[:9], "look", index=1, id="b"), piece(ROME[9:], index=1)),
        BOTH,
    ),
    Row(
        "pieces of two calls in turn", "openai",
        chat(piece(BONN[:9], "look", index=0, id="a"), piece(ROME[:9], "look", index=1, id="b"), piece(BONN[9:], index=0), piece(ROME[9:], index=1)),
        BOTH,
    ),
    Row(
        "DeepSeek and GLM share an id between parallel calls: nanobot#3943", "openai",
        chat(piece(BONN, "look", index=0, id="a"), piece(ROME, "look", index=1, id="a")),
        [("a", "seen Bonn"), ("a", "seen Rome")],
    ),
    Row(
        "the same, and the arguments come later", "openai",
        chat(piece("", "look", index=0, id="a"), piece(BONN, index=0), piece("", "look", index=1, id="a"), piece(ROME, index=1)),
        [("a", "seen Bonn"), ("a", "seen Rome")],
    ),
    Row(
        "gateways give all calls one index: dynamo#4723", "openai",
        chat(piece(BONN[:9], "look", index=0, id="a"), piece(BONN[9:], index=0), piece(ROME[:9], "look", index=0, id="b"), piece(ROME[9:], index=0)),
        BOTH,
    ),
    Row(
        "Ollama behind LiteLLM: one index, no ids, each call whole: smolagents#1569", "openai",
        chat(piece(BONN, "look", index=0), piece(ROME, "look", index=0)),
        [(None, "seen Bonn"), (None, "seen Rome")],
    ),
    Row(
        "a name in two pieces: continue#5849", "openai",
        chat(piece("", "lo", index=0, id="a"), piece("", "ok", index=0), piece(BONN, index=0)),
        [("a", "seen Bonn")],
    ),
    Row(
        "MiniMax at NIM repeats the name in each piece: hermes-agent#8259", "openai",
        chat(piece("", "look", index=0, id="a"), piece(BONN[:9], "look", index=0, id="a"), piece(BONN[9:], "look", index=0, id="a")),
        [("a", "seen Bonn")],
    ),
    Row(
        "SGLang: no index, and the arguments before the name: vercel/ai#5885", "openai",
        chat(piece(BONN[:9], id="a"), piece(BONN[9:], "look", id="a")),
        [("a", "seen Bonn")],
    ),
    Row(
        "a bridge begins with the placeholder {}: autogen#7549", "openai",
        chat(piece("{}", "look", index=0, id="a"), piece(BONN, index=0)),
        [("a", "seen Bonn")],
    ),
    Row(
        "neither index nor id nor name: the last call goes on", "openai",
        chat(piece("", "look", index=0, id="a"), piece(BONN[:9]), piece(BONN[9:])),
        [("a", "seen Bonn")],
    ),
    Row(
        "an id that comes late", "openai",
        chat(piece(BONN[:9], "look", index=0), piece(BONN[9:], index=0, id="a")),
        [("a", "seen Bonn")],
    ),
    Row(
        "two tools of one turn, without ids", "openai",
        chat(piece(BONN, "look", index=0), piece(BONN, "mark", index=1)),
        [(None, "seen Bonn"), (None, "marked Bonn")],
    ),
    Row(
        "llama.cpp leaves output_index out: llama.cpp#20607", "openai-responses",
        responses(
            {"type": "response.output_item.added", "item": item("a", "fc_1", "", "in_progress")},
            {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": BONN},
            {"type": "response.output_item.done", "item": item("a", "fc_1", BONN, "completed")},
            {"type": "response.output_item.added", "item": item("b", "fc_2", "", "in_progress")},
            {"type": "response.function_call_arguments.delta", "item_id": "fc_2", "delta": ROME},
            {"type": "response.output_item.done", "item": item("b", "fc_2", ROME, "completed")},
            output=[item("a", "fc_1", BONN, "completed"), item("b", "fc_2", ROME, "completed")],
        ),
        BOTH,
    ),
    Row(
        "two items of one output_index", "openai-responses",
        responses(
            {"type": "response.output_item.added", "output_index": 0, "item": item("a", "fc_1", "", "in_progress")},
            {"type": "response.output_item.done", "output_index": 0, "item": item("a", "fc_1", BONN, "completed")},
            {"type": "response.output_item.added", "output_index": 0, "item": item("b", "fc_2", "", "in_progress")},
            {"type": "response.output_item.done", "output_index": 0, "item": item("b", "fc_2", ROME, "completed")},
            output=[item("a", "fc_1", BONN, "completed"), item("b", "fc_2", ROME, "completed")],
        ),
        BOTH,
    ),
    Row(
        "Copilot gives each event of an item another id: litellm#30071", "openai-responses",
        responses(
            {"type": "response.output_item.added", "output_index": 0, "item": item("a", "x1", "", "in_progress")},
            {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "x2", "delta": BONN},
            {"type": "response.output_item.done", "output_index": 0, "item": item("a", "x3", BONN, "completed")},
            output=[item("a", "x4", BONN, "completed")],
        ),
        [("a", "seen Bonn")],
    ),
    Row(
        "proxies use an index twice, and send the input whole", "anthropic",
        anthropic(block(0, "a", {"place": "Bonn"}), block(0, "b", {"place": "Rome"})),
        BOTH,
    ),
    Row("blocks in pieces", "anthropic", anthropic(block(0, "a", {}, BONN[:9], BONN[9:]), block(1, "b", {}, ROME)), BOTH),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.server)
@pytest.mark.parametrize("is_raw", [False, True])
def test_each_fragment_finds_its_call(row, is_raw):
    """As objects, and as text that is cut anywhere; each call is given out once."""
    collector = TOOLS.bind(row.provider).collector()
    chunks: list[Any] = list(row.events)
    if is_raw:
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in row.events)
        chunks = [text[at : at + 17] for at in range(0, len(text), 17)]
    early = list(collector.over(chunks))
    results = collector.plan().run()
    assert [result.text for result in results] == [text for _, text in row.ran]
    assert len(early) == len(row.ran)
    for call, (wanted, _) in zip(results.calls, row.ran, strict=True):
        assert wanted is None or call.id == wanted


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.server)
def test_what_is_shown_keeps_its_key(row):
    """Under one key, the name and the id never become others."""
    collector = TOOLS.bind(row.provider).collector()
    shown: dict[int, Any] = {}
    for event in row.events:
        collector.feed(event)
        for part in collector.partial():
            earlier = shown.setdefault(part.key, part)
            assert earlier.id in (None, part.id)
            shown[part.key] = part

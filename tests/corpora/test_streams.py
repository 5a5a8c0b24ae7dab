"""Streams, recorded and made: each call as soon as it is complete, however the stream is cut into chunks."""

import asyncio
import collections
import json
import re
from typing import Any

import pytest
from beginnings import begins
from rows import ROWS
from shared import corpus
from test_exchanges import MADE_UP, SURFACES, anything_named, as_json, reader, real

from toolshape import Registry, ResponseError, tool
from toolshape._families import get
from toolshape.messages import ReasoningPart, TextPart

# Websockets are no shape of ours: openai-realtime and gemini-live.
# Rows that differ, and why.
OTHERWISE = {
    "064d909fe516": "the recorder lists the call of a server's own tool",
    "d0f7dd3a8a00": "the same",
    "7dde13b5ab88": "three responses in one row; each begins the response anew",
    "8d14f34a37e0": "the recorder lists none of two calls",
}


def fed(registry: Registry, provider: str, chunks: list[Any]) -> tuple[Any, list[Any]]:
    collector = registry.bind(provider).collector()
    calls = [call for chunk in chunks for call in collector.feed(chunk)]
    return collector, [*calls, *collector.close()]


def split(text: str, size: int) -> list[bytes]:
    data = text.encode()
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("surface", sorted({*SURFACES, "bedrock-invoke"}))
def test_recorded_streams(surface):
    """The calls recorded, fed whole, by line, and split at bytes; and the response they make dispatches."""
    counts: collections.Counter[str] = collections.Counter()
    unlike: dict[str, Any] = {}
    for row in corpus("provider_exchanges_stream.jsonl"):
        if row["surface"] != surface or row["http_status"] not in (200, None):
            continue
        text = row["response_body"]
        provider = reader(row)
        registry = anything_named({call["name"] for call in real(row)})
        theirs = [(call["id"], call["name"], as_json(call["arguments_raw"])) for call in real(row)]
        for chunks in ([text], text.splitlines(keepends=True), split(text, 7), split(text, 64)):
            collector, calls = fed(registry, provider, chunks)
            ours = [(call.id, call.wire_name, as_json(call.arguments_raw)) for call in calls]
            same = [said[1:] for said in ours] == [said[1:] for said in theirs] and all(
                our[0] == their[0] if their[0] else MADE_UP.fullmatch(our[0])
                for our, their in zip(ours, theirs, strict=True)
            )
            if not same:
                unlike[row["id"]] = (row["provider"], ours, theirs)
                break
            results = collector.plan().run() if calls else []
            assert len(results) == len(calls)
            counts["answered"] += len(results)
        counts["rows"] += 1
    print(surface, dict(counts), "unlike", unlike)
    assert unlike.keys() <= OTHERWISE.keys()


@pytest.mark.parametrize("surface", sorted({*SURFACES, "bedrock-invoke"}))
def test_what_is_shown_of_a_call_only_grows(surface):
    """And ends as what is dispatched: one id, one name and growing arguments under each key."""
    grown = 0
    for row in corpus("provider_exchanges_stream.jsonl"):
        if row["surface"] != surface or row["http_status"] not in (200, None):
            continue
        if row["id"] in OTHERWISE:
            continue
        names = {call["name"] for call in real(row)}
        collector = anything_named(names).bind(reader(row)).collector()
        shown: dict[int, Any] = {}
        for chunk in split(row["response_body"], 48):
            collector.feed(chunk)
            for part in collector.partial():
                earlier = shown.get(part.key)
                if earlier is not None:
                    assert begins(earlier.arguments, part.arguments), (row["id"], earlier, part)
                    assert earlier.id in (None, part.id)
                    assert earlier.name in (None, part.name)
                shown[part.key] = part
        collector.close()
        calls = collector.plan().calls if shown else []
        for key, part in shown.items():
            final = calls[key]
            is_cut = final.arguments is None
            assert is_cut or begins(part.arguments, final.arguments), (row["id"], part, final)
            assert part.id in (None, final.id)
            assert part.name in (None, final.name)
            grown += 1
    print(surface, grown)


@pytest.mark.parametrize("surface", sorted({*SURFACES, "bedrock-invoke"}))
def test_the_pieces_of_the_text_are_the_text(surface):
    """What each piece of a recorded stream brings adds up to the text, and the reasoning, of the message that it makes."""
    texts = 0
    for row in corpus("provider_exchanges_stream.jsonl"):
        if (
            row["surface"] != surface
            or row["http_status"] not in (200, None)
            or row["id"] in OTHERWISE
        ):
            continue
        bound = anything_named(set()).bind(reader(row))
        for chunks in (
            row["response_body"].splitlines(keepends=True),
            split(row["response_body"], 64),
        ):
            collector, text, thinking = bound.collector(), "", ""
            for chunk in chunks:
                collector.feed(chunk)
                text += collector.new_text
                thinking += collector.new_thinking
            collector.close()
            parts = [
                part
                for message in bound.read_messages(collector.plan().results._assistant)
                for part in message.parts
            ]
            whole = "".join(part.text for part in parts if isinstance(part, TextPart))
            thoughts = "".join(part.text for part in parts if isinstance(part, ReasoningPart))
            assert text == whole, row["id"]
            assert "".join(thinking.split()) == "".join(thoughts.split()), row[
                "id"
            ]  # summaries are joined by lines
            texts += bool(text or thinking)
    print(surface, texts, "texts")


@tool
def note(text: str = "none", n: int = 0) -> str:
    return f"{text} {n}"


def chat(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def part(index: int, arguments: str, **begun: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": begun.pop("name")} if "name" in begun else {})}
    return {"index": index, "function": function, **begun}


CHAT = [
    chat(role="assistant", content=""),
    chat(tool_calls=[part(0, "", id="c0", name="note", type="function")]),
    chat(tool_calls=[part(0, '{"text": "')]),
    chat(tool_calls=[part(0, 'a"}')]),
    chat(tool_calls=[part(1, "", id="c1", name="note", type="function")]),
    chat(tool_calls=[part(1, '{"n": 1}')]),
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
]
BLOCK = {"type": "tool_use", "id": "t0", "name": "note", "input": {}}
ANTHROPIC = [
    {
        "type": "message_start",
        "message": {"type": "message", "role": "assistant", "content": [], "stop_reason": None},
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "Hm."},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "c2ln"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": BLOCK},
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"text":'},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": ' "a"}'},
    },
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {**BLOCK, "id": "t1"}},
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
]
GEMINI = [
    {
        "candidates": [
            {"content": {"parts": [{"functionCall": {"name": "note", "willContinue": True}}]}}
        ]
    },
    *(
        {
            "candidates": [
                {
                    "content": {
                        "parts": [{"functionCall": {"partialArgs": [piece], "willContinue": True}}]
                    }
                }
            ]
        }
        for piece in (
            {"jsonPath": "$.text", "stringValue": "a", "willContinue": True},
            {"jsonPath": "$.text", "stringValue": "b"},
            {"jsonPath": "$.n", "numberValue": 2},
        )
    ),
    {"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]},
    {
        "candidates": [
            {"content": {"parts": [{"functionCall": {"name": "note"}}]}, "finishReason": "STOP"}
        ]
    },
]


@pytest.mark.parametrize(
    ("provider", "events", "complete_at", "values"),
    [
        ("openai", CHAT, [4, 6], ["a 0", "none 1"]),
        (
            "anthropic",
            ANTHROPIC,
            [8, 11],
            ["a 0", "none 0"],
        ),  # of an empty text the end of the response tells
        ("gemini", GEMINI, [4, 5], ["ab 2", "none 0"]),
    ],
)
def test_a_call_is_there_before_the_stream_ends(provider, events, complete_at, values):
    """With the event that completes it; a stream that is cut anywhere gives whole calls, and one that was cut off."""
    bound = Registry([note]).bind(provider)
    collector = bound.collector()
    found = [(at, call.id) for at, event in enumerate(events) for call in collector.feed(event)]
    assert [at for at, _ in found] == complete_at
    assert collector.close() == []
    results = collector.plan().run()
    assert [result.value for result in results] == values
    assert results.finish == "tool_calls"
    for length in range(1, len(events)):
        collector = bound.collector()
        whole = [call for event in events[:length] for call in collector.feed(event)]
        cut = collector.close()
        results = list(collector.plan().run()) if whole or cut else []
        # A JSON object that is whole cannot go on: it is run, though nothing said that it was the end.
        ran = [result.value for result in results if result.ok]
        assert ran == values[: len(ran)]
        assert [result.error.code for result in results if not result.ok] == [
            "truncated_arguments"
        ] * (len(whole) + len(cut) - len(ran))
        assert len(whole) <= len(ran)
        assert len(cut) <= 1


def test_what_is_private_rides_along():
    """Thoughts and signatures are in the turn, as they must go back."""
    collector, calls = fed(Registry([note]), "anthropic", ANTHROPIC)
    [message, answers] = collector.plan().run().turn
    assert message["content"][0] == {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    assert message["content"][1]["input"] == {"text": "a"}
    assert (
        [block["tool_use_id"] for block in answers["content"]]
        == [call.id for call in calls]
        == ["t0", "t1"]
    )


def test_all_at_once_in_both_worlds():
    """Over a stream, or an asynchronous one; as server-sent events split anywhere."""
    registry = Registry([note])
    text = (
        "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in CHAT) + "data: [DONE]\n\n"
    )

    async def stream():
        for chunk in split(text, 5):
            yield chunk

    async def asynchronous():
        return [call.id async for call in registry.bind("openai").collector().aover(stream())]

    assert [call.id for call in registry.bind("openai").collector().over(CHAT)] == ["c0", "c1"]
    assert asyncio.run(asynchronous()) == ["c0", "c1"]
    for size in range(1, 40):
        for form in (
            text,
            text.replace("\n", "\r\n"),
            "\n".join(map(json.dumps, CHAT)),
            json.dumps(CHAT),
        ):
            _, calls = fed(registry, "openai", split(form, size))
            assert [call.id for call in calls] == ["c0", "c1"], (size, form[:20])


def test_gateways():
    """All calls under one index; the name again in each chunk; arguments as an object; an error in the stream."""
    registry = Registry([note])
    same = [chat(tool_calls=[part(0, '{"n": 1}', id=name, name="note")]) for name in ("a", "b")]
    assert [call.id for call in fed(registry, "openai", same)[1]] == ["a", "b"]
    again = [chat(tool_calls=[part(0, piece, id="a", name="note")]) for piece in ('{"n"', ": 1}")]
    assert [call.arguments for call in fed(registry, "openai", again)[1]] == [{"n": 1}]
    objects = [chat(tool_calls=[{"id": "a", "function": {"name": "note", "arguments": {"n": 1}}}])]
    assert [call.arguments for call in fed(registry, "mistral", objects)[1]] == [{"n": 1}]
    collector, calls = fed(
        registry, "groq", [CHAT[1], {"error": {"message": "tool call validation failed"}}]
    )
    results = collector.plan().run()
    assert (results.finish, [result.error.code for result in results], len(calls)) == (
        "error",
        ["truncated_arguments"],
        1,
    )


def test_the_rows_stream_too():
    """A response as one chunk, at those whose chunks are responses."""
    for row in ROWS:
        if row.provider in ("gemini", "ollama"):
            _, calls = fed(
                Registry([tool(name=name)(lambda x=0: x) for name in ("one", "two")]),
                row.provider,
                [row.response],
            )
            assert [call.wire_name for call in calls] == ["one", "two"]


def test_streams_that_say_nothing_or_fail():
    """An error of the stream is raised where it comes; without any event there is no plan."""
    failing = {
        "openai": {"error": {"message": "x"}},
        "anthropic": {"type": "error", "error": {"type": "overloaded_error"}},
        "openai-responses": {"type": "error", "message": "x"},
        "gemini": {"error": {"code": 503}},
        "gemini-interactions": {"event_type": "error", "error": {}},
        "ollama": {"error": "boom"},
        "bedrock": {"modelStreamErrorException": {"message": "x"}},
    }
    for provider, event in failing.items():
        collector, calls = fed(Registry([note]), provider, [event])
        assert calls == []
        with pytest.raises(ResponseError, match="the provider ended the response with an error"):
            collector.plan()
    for row in ROWS:
        if get(row.provider).session is not None:  # its events are no stream of one response
            continue
        collector = Registry([note]).bind(row.provider).collector()
        assert collector.feed("") == collector.close() == []
        with pytest.raises(ResponseError, match="no part of a response has arrived"):
            collector.plan()
    failed = {
        "object": "response",
        "status": "failed",
        "output": [
            {
                "type": "function_call",
                "call_id": "c",
                "name": "note",
                "arguments": "",
                "status": "incomplete",
            }
        ],
    }
    collector, _ = fed(
        Registry([note]), "openai-responses", [{"type": "response.failed", "response": failed}]
    )
    assert collector.plan().run()[0].error.code == "truncated_arguments"


def test_what_sdks_wrap():
    """The events of mistralai and of the helpers of openai hold the chunk."""
    for wrapped in (
        [{"data": chunk} for chunk in CHAT],
        [{"type": "chunk", "chunk": chunk} for chunk in CHAT],
    ):
        assert [call.id for call in fed(Registry([note]), "mistral", wrapped)[1]] == ["c0", "c1"]


def test_a_turn_that_was_cut_off_can_go_back():
    """Where only objects stand, the text that came is in one; a message without calls has no list of them."""
    collector, _ = fed(Registry([note]), "anthropic", ANTHROPIC[:7])
    turn = collector.plan().run().turn
    assert turn[0]["content"][1]["input"] == {"INVALID_JSON": '{"text":'}
    for provider, events in (
        ("openai", [chat(role="assistant", content="hi")]),
        ("ollama", [{"message": {"content": "hi"}, "done": True}]),
    ):
        collector, calls = fed(Registry([note]), provider, events)
        [message] = collector.plan().run().turn
        assert (calls, message["content"], "tool_calls" in message) == ([], "hi", False)


def test_paths_in_brackets():
    """JSON paths quote what has a dot or a blank in it."""
    pieces = [
        {"jsonPath": "$['te xt']", "stringValue": "a"},
        {"jsonPath": '$.n["x"][1]', "numberValue": 2},
    ]
    begun = {"name": "any", "willContinue": True}
    parts = [
        {"functionCall": begun},
        {"functionCall": {"partialArgs": pieces, "willContinue": True}},
        {"functionCall": {}},
    ]
    events = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
    [call] = fed(anything_named({"any"}), "gemini", events)[1]
    assert call.arguments == {"te xt": "a", "n": {"x": [None, 2]}}


def test_odd_fields_of_events():
    """Byte order marks, fields that nobody knows, and lines that are none."""
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in CHAT)
    for before in ("\ufeff", "x-id: 1\n", ": hello\n\n", "retry: 5\n"):
        assert [call.id for call in fed(Registry([note]), "openai", [before, text])[1]] == [
            "c0",
            "c1",
        ]
    lines = "not json\n" + "".join(f"{json.dumps(event)}\n" for event in CHAT)
    assert [call.id for call in fed(Registry([note]), "openai", [lines])[1]] == ["c0", "c1"]


WIPED = []


@tool
def wipe(path: str = "/", n: int = 7) -> str:
    WIPED.append((path, n))
    return path


def begun(index, arguments="", **more):
    return chat(tool_calls=[part(index, arguments, id=f"c{index}", name="wipe", **more)])


def ended(reason):
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


OPEN_CALL = [
    {"functionCall": {"name": "wipe", "willContinue": True}},
    {
        "functionCall": {
            "partialArgs": [{"jsonPath": "$.path", "stringValue": "/tm", "willContinue": True}],
            "willContinue": True,
        }
    },
]
CUT_OFF = {
    "nothing of two": ("openai", [begun(0), begun(1)]),
    "one of two in turns": ("openai", [begun(0), begun(1), chat(tool_calls=[part(0, '{"n"')])]),
    "for its length": ("openai", [begun(0), begun(1), ended("length")]),
    "filtered": ("openai", [begun(0), ended("content_filter")]),
    "an error": ("openai", [begun(0), {"error": {"message": "x"}, "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}]),
    "filtered, legacy": ("openai", [chat(function_call={"name": "wipe", "arguments": ""}), ended("content_filter")]),
    "model_length": ("mistral", [begun(0), ended("model_length")]),
    "responses": (
        "openai-responses",
        [
            {"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "c", "name": "wipe", "arguments": ""}},
            {"type": "response.output_item.done", "output_index": 0, "item": {"type": "function_call", "call_id": "c", "name": "wipe", "arguments": "", "status": "incomplete"}},
        ],
    ),
    "gemini": ("gemini", [{"candidates": [{"content": {"parts": [item]}}]} for item in OPEN_CALL]),
    "gemini, unsafe": (
        "gemini",
        [*({"candidates": [{"content": {"parts": [item]}}]} for item in OPEN_CALL), {"candidates": [{"finishReason": "SAFETY"}]}],
    ),
    "anthropic": (
        "anthropic",
        [ANTHROPIC[0], {**ANTHROPIC[5], "index": 0, "content_block": {**BLOCK, "name": "wipe"}}, {"type": "content_block_stop", "index": 0}, {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CUT_OFF)
def test_nothing_runs_of_a_call_that_was_cut_off(name):
    """Not with its defaults, not with half of its arguments; no such call is given as complete."""
    provider, events = CUT_OFF[name]
    WIPED.clear()
    collector = Registry([wipe]).bind(provider).collector()
    assert [call for event in events for call in collector.feed(event)] == []
    assert len(collector.close()) in (1, 2)
    assert {result.error.code for result in collector.plan().run()} == {"truncated_arguments"}
    assert WIPED == []


def test_calls_in_turns():
    """Fragments of several calls, by their index or their id."""
    events = [begun(0), begun(1), chat(tool_calls=[part(1, '{"n":3}'), part(0, '{"n":2}')])]
    collector = Registry([wipe]).bind("openai").collector()
    assert [call for event in events for call in collector.feed(event)] == []
    given = collector.feed(ended("tool_calls"))
    assert [call.arguments for call in given] == [{"n": 2}, {"n": 3}]
    by_id = [
        chat(tool_calls=[{"id": name, "function": {"name": "wipe", "arguments": ""}}]) for name in ("a", "b")
    ] + [chat(tool_calls=[{"id": item, "function": {"arguments": text}}]) for item, text in (("a", '{"n"'), ("b", '{"n":5}'), ("a", ":4}"))]  # fmt: skip
    _, calls = fed(Registry([wipe]), "openai", [*by_id, ended("tool_calls")])
    assert [(call.id, call.arguments) for call in calls] == [("a", {"n": 4}), ("b", {"n": 5})]
    two = [
        {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": {"id": f"c{index}", "function": {"name": "wipe", "arguments": ""}}}}}
        for index in (0, 1)
    ]  # fmt: skip
    deltas = [
        {
            "type": "tool-call-delta",
            "index": index,
            "delta": {"message": {"tool_calls": {"function": {"arguments": text}}}},
        }
        for index, text in ((1, '{"n"'), (0, '{"n":2}'), (1, ":3}"))
    ]
    ends = [{"type": "tool-call-end", "index": index} for index in (1, 0)]
    _, calls = fed(Registry([wipe]), "cohere", [*two, *deltas, *ends])
    assert sorted((call.id, call.arguments["n"]) for call in calls) == [("c0", 2), ("c1", 3)]


def test_a_legacy_call_without_arguments():
    """It is complete when the response ends."""
    events = [chat(function_call={"name": "wipe", "arguments": ""}), ended("function_call")]
    collector, calls = fed(Registry([wipe]), "openai", events)
    assert [call.wire_name for call in calls] == ["wipe"]
    assert collector.plan().run()[0].value == "/"


def test_an_event_that_is_broken_is_told():
    """Something of the stream is lost: nobody knows what."""
    collector = Registry([wipe]).bind("openai").collector()
    collector.feed(begun(0, '{"n":'))
    with pytest.raises(ResponseError, match="not valid JSON"):
        collector.feed('data: {"choices": [\n\n')
    assert collector.close() != []


def test_what_came_by_paths_keeps_its_digits():
    """As in a whole object."""
    from decimal import Decimal

    def pay(amount: Decimal, n: int = 1) -> str:
        return str(amount)

    for path, number, told in (
        ("$.amount", "1.50", "1.50"),
        ("$['amount']", "0.1234567890123456789", "0.1234567890123456789"),
    ):
        pieces = f'{{"functionCall":{{"partialArgs":[{{"jsonPath":"{path}","numberValue":{number}}}],"willContinue":true}}}}'
        parts = [
            '{"functionCall":{"name":"pay","willContinue":true}}',
            pieces,
            '{"functionCall":{}}',
        ]
        text = "".join(
            f'data: {{"candidates":[{{"content":{{"parts":[{part}]}}}}]}}\n\n' for part in parts
        )
        collector, _ = fed(Registry([pay]), "gemini", [text])
        assert collector.plan().run()[0].value == told


ODD_IDS = {
    "openai": ("choices", lambda i: {"choices": [{"message": {"role": "assistant", "tool_calls": [{"id": i, "type": "function", "function": {"name": "wipe", "arguments": "{}"}}]}}]}, lambda turn: (turn[0]["tool_calls"][0]["id"], turn[1]["tool_call_id"])),
    "anthropic": ("content", lambda i: {"type": "message", "role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "wipe", "input": {}}]}, lambda turn: (turn[0]["content"][0]["id"], turn[1]["content"][0]["tool_use_id"])),
    "gemini": ("candidates", lambda i: {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"id": i, "name": "wipe", "args": {}}}]}}]}, lambda turn: (turn[0]["parts"][0]["functionCall"]["id"], turn[1]["parts"][0]["functionResponse"]["id"])),
    "ollama": ("message", lambda i: {"done": True, "message": {"role": "assistant", "tool_calls": [{"id": i, "function": {"name": "wipe", "arguments": {}}}]}}, lambda turn: (turn[0]["tool_calls"][0]["id"], turn[1]["tool_call_id"])),
    "bedrock": ("output", lambda i: {"output": {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": i, "name": "wipe", "input": {}}}]}}}, lambda turn: (turn[0]["content"][0]["toolUse"]["toolUseId"], turn[1]["content"][0]["toolResult"]["toolUseId"])),
    "json-schema": ("name", lambda i: {"id": i, "name": "wipe", "arguments": {}}, lambda turn: (turn[0]["id"], turn[1]["id"])),
    "huggingface": ("choices", lambda i: {"choices": [{"message": {"role": "assistant", "tool_calls": [{"id": i, "type": "function", "function": {"name": "wipe", "arguments": "{}"}}]}}]}, lambda turn: (turn[0]["tool_calls"][0]["id"], turn[1]["tool_call_id"])),
}  # fmt: skip


@pytest.mark.parametrize("given", [5, 0, "\ud800", "é"])
@pytest.mark.parametrize("provider", ODD_IDS)
def test_odd_ids_match(provider, given):
    """What the assistant's message says and what answers it is one text."""
    _, made, ids = ODD_IDS[provider]
    results = Registry([wipe]).bind(provider).dispatch(made(given))
    called, answered = ids(results.turn)
    assert called == answered == results[0].call.id
    assert isinstance(called, str)


SAYS_USAGE = re.compile(
    r'"(?:prompt_tokens|input_tokens|promptTokenCount|inputTokens|prompt_eval_count|total_input_tokens)": ?[1-9]'
)


@pytest.mark.parametrize("name", ["provider_exchanges.jsonl", "provider_exchanges_stream.jsonl"])
def test_recorded_usage_is_read(name):
    """Where the wire counts, whole or streamed, there is a usage with what was read and written."""
    counts: collections.Counter[str] = collections.Counter()
    for row in corpus(name):
        if row["surface"] not in SURFACES or row["http_status"] not in (200, None):
            continue
        text = row["response_body"]
        said = text if isinstance(text, str) else json.dumps(text)
        try:
            if row["stream"]:
                usage = fed(Registry(), reader(row), [text])[0].plan().results.usage
            else:
                usage = Registry().bind(reader(row)).dispatch(text).usage
        except ResponseError:
            continue
        counts["rows"] += 1
        if SAYS_USAGE.search(said):
            assert usage is not None, row["id"]
            assert None not in usage[:2], row["id"]
            counts["with usage"] += 1
    print(name, dict(counts))
    assert counts["with usage"] >= 250

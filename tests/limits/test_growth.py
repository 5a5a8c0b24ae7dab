"""Time over doublings: streams of text and of arguments in the form of every family, and calls that fail, wait or run."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from growth import LINEAR, time_growth

from toolshape import Plan, Registry, text as text_formats, tool
from toolshape._families import families

PIECE = (
    "abcdefghij" * 40
)  # so long that copying what came before takes longer than reading an event


@tool
def note(text: str = "") -> str:
    """Note."""
    return text


TOOLS = Registry([note])

# For each family: the events before the pieces, the event of one piece, and the events after them.
Stream = tuple[list[Any], Callable[[str], Any], list[Any]]


def choices(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def function(arguments: str, **more: Any) -> dict[str, Any]:
    return {
        "tool_calls": [
            {"index": 0, **more, "function": {"arguments": arguments, "name": more.get("name")}}
        ]
    }


def openai(key: str) -> Stream:
    return (
        [choices({"role": "assistant"})],
        lambda piece: choices({key: piece}),
        [choices({}, "stop")],
    )


OPENAI_CALL: Stream = (
    [choices(function("", id="c1", name="note"))],
    lambda piece: choices(function(piece)),
    [choices({}, "tool_calls")],
)
LEGACY_CALL: Stream = (
    [choices({"function_call": {"name": "note", "arguments": ""}})],
    lambda piece: choices({"function_call": {"arguments": piece}}),
    [choices({}, "function_call")],
)


def anthropic(block: dict[str, Any], kind: str, key: str) -> Stream:
    before = [
        {
            "type": "message_start",
            "message": {"type": "message", "role": "assistant", "content": []},
        },
        {"type": "content_block_start", "index": 0, "content_block": block},
    ]
    after = [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ]
    return (
        before,
        lambda piece: {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": kind, key: piece},
        },
        after,
    )


def responses(item: dict[str, Any], kind: str) -> Stream:
    at = {"output_index": 0}
    return (
        [{"type": "response.output_item.added", **at, "item": item}],
        lambda piece: {"type": kind, **at, "delta": piece},
        [],
    )


def gemini(part: Callable[[str], Any], *before: Any) -> Stream:
    def event(*parts: Any) -> dict[str, Any]:
        return {"candidates": [{"index": 0, "content": {"role": "model", "parts": list(parts)}}]}

    return [event(*before)], lambda piece: event(part(piece)), [event({"functionCall": {}})]


def gemini_piece(piece: str) -> dict[str, Any]:
    partial = [{"jsonPath": "$.text", "stringValue": piece}]
    return {"functionCall": {"partialArgs": partial, "willContinue": True}}


def interactions(step: dict[str, Any], key: str) -> Stream:
    return (
        [{"event_type": "step.start", "index": 0, "step": step}],
        lambda piece: {"event_type": "step.delta", "index": 0, "delta": {key: piece}},
        [{"event_type": "step.stop", "index": 0}],
    )


def bedrock(start: dict[str, Any], delta: Callable[[str], Any]) -> Stream:
    return (
        [
            {"messageStart": {"role": "assistant"}},
            {"contentBlockStart": {"contentBlockIndex": 0, "start": start}},
        ],
        lambda piece: {"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta(piece)}},
        [
            {"contentBlockStop": {"contentBlockIndex": 0}},
            {"messageStop": {"stopReason": "end_turn"}},
        ],
    )


def cohere(begin: Any, kind: str, message: Callable[[str], Any]) -> Stream:
    return (
        [begin] if begin else [],
        lambda piece: {"type": kind, "index": 0, "delta": {"message": message(piece)}},
        [{"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}],
    )


COHERE_CALL = {"id": "c1", "type": "function", "function": {"name": "note", "arguments": ""}}


def xai(key: str) -> Stream:
    return (
        [],
        lambda piece: {"outputs": [{"delta": {key: piece}}]},
        [{"outputs": [{"finish_reason": "REASON_STOP"}]}],
    )


def ollama(key: str) -> Stream:
    return (
        [],
        lambda piece: {"message": {"role": "assistant", key: piece}},
        [{"done": True, "done_reason": "stop"}],
    )


STREAMS: dict[tuple[str, str], Stream] = {
    **{
        (name, key): openai(key)
        for name, key in (
            ("openai", "content"),
            ("openai", "refusal"),
            ("deepseek", "reasoning_content"),
            ("mistral", "content"),
            ("huggingface", "content"),
            ("groq", "reasoning"),
        )
    },
    **{(name, "arguments"): OPENAI_CALL for name in ("openai", "mistral", "groq", "huggingface")},
    ("openai", "arguments of the legacy form"): LEGACY_CALL,
    ("anthropic", "text"): anthropic({"type": "text", "text": ""}, "text_delta", "text"),
    ("anthropic", "thinking"): anthropic(
        {"type": "thinking", "thinking": ""}, "thinking_delta", "thinking"
    ),
    ("anthropic", "arguments"): anthropic(
        {"type": "tool_use", "id": "c1", "name": "note", "input": {}},
        "input_json_delta",
        "partial_json",
    ),
    ("openai-responses", "text"): responses(
        {"type": "message", "content": []}, "response.output_text.delta"
    ),
    ("openai-responses", "arguments"): responses(
        {"type": "function_call", "call_id": "c1", "name": "note", "arguments": ""},
        "response.function_call_arguments.delta",
    ),
    ("gemini", "text"): gemini(lambda piece: {"text": piece}),
    ("gemini", "arguments"): gemini(
        gemini_piece, {"functionCall": {"name": "note", "willContinue": True}}
    ),
    ("gemini-interactions", "text"): interactions({"type": "model_output"}, "text"),
    ("gemini-interactions", "arguments"): interactions(
        {"type": "function_call", "id": "c1", "name": "note"}, "arguments"
    ),
    ("bedrock", "text"): bedrock({}, lambda piece: {"text": piece}),
    ("bedrock", "reasoning"): bedrock({}, lambda piece: {"reasoningContent": {"text": piece}}),
    ("bedrock", "arguments"): bedrock(
        {"toolUse": {"toolUseId": "c1", "name": "note"}},
        lambda piece: {"toolUse": {"input": piece}},
    ),
    ("cohere", "text"): cohere(
        {
            "type": "content-start",
            "index": 0,
            "delta": {"message": {"content": {"type": "text", "text": ""}}},
        },
        "content-delta",
        lambda piece: {"content": {"text": piece}},
    ),
    ("cohere", "plan"): cohere(None, "tool-plan-delta", lambda piece: {"tool_plan": piece}),
    ("cohere", "arguments"): cohere(
        {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": COHERE_CALL}}},
        "tool-call-delta",
        lambda piece: {"tool_calls": {"function": {"arguments": piece}}},
    ),
    ("xai:grpc", "text"): xai("content"),
    ("xai:grpc", "reasoning"): xai("reasoning_content"),
    ("ollama", "text"): ollama("content"),
    ("ollama", "thinking"): ollama("thinking"),
}


def streamed(provider: str, stream: Stream, *, is_text: bool) -> Callable[[int], Callable[[], Any]]:
    """The work of a stream of so many pieces: events as a client gives them, or as they come over the wire."""
    before, event, after = stream

    def work(count: int) -> Callable[[], Any]:
        events = [*before, *(event(PIECE) for _ in range(count)), *after]
        chunks = (
            [f"data: {json.dumps(event)}\n\n".encode() for event in events] if is_text else events
        )

        def run() -> None:
            collector = TOOLS.bind(provider).collector()
            for chunk in chunks:
                collector.feed(chunk)
            collector.close()

        return run

    return work


@pytest.mark.parametrize(("provider", "kind"), STREAMS)
def test_a_stream_is_folded_in_time_that_grows_with_its_length(provider, kind):
    """No piece copies what came before it."""
    assert (
        time_growth(streamed(provider, STREAMS[provider, kind], is_text=False), 1_000, repeats=3)
        < LINEAR
    )


@pytest.mark.parametrize(("provider", "kind"), [("openai", "content"), ("anthropic", "arguments")])
def test_a_stream_of_bytes_is_read_in_time_that_grows_with_its_length(provider, kind):
    assert (
        time_growth(streamed(provider, STREAMS[provider, kind], is_text=True), 500, repeats=3)
        < LINEAR
    )


@pytest.mark.parametrize(("provider", "kind"), STREAMS)
def test_the_streams_say_what_is_measured(provider, kind):
    """Else a misspelt event would be measured, which is dropped."""
    before, event, after = STREAMS[provider, kind]
    collector = TOOLS.bind(provider).collector()
    for item in [
        *before,
        event('{"text": "'),
        *(event("abc") for _ in range(5)),
        event('"}'),
        *after,
    ]:
        collector.feed(item)
    collector.close()
    plan = collector.plan()
    written = json.dumps(plan.results._assistant, default=str)
    if "arguments" in kind:
        [call] = plan.calls
        assert "abcabcabcabcabc" in json.dumps(call.arguments_raw)
    elif provider == "openai-responses":  # a message comes whole once it is done
        assert not plan.calls
    else:
        assert written.count("abc") == 5


def test_every_family_that_streams_is_measured():
    streaming = {
        family.name for family in families() if family.response.fold.__name__ != "never_streamed"
    }
    assert streaming <= {provider for provider, _ in STREAMS}


# --- many calls of one response -----------------------------------------------------------------------------------


@tool
def fails() -> None:
    """Fail."""
    raise ValueError("no")


@tool(approve=True)
def waits() -> str:
    """Wait."""
    return "done"


@tool
async def looped() -> str:
    """Run in a loop."""
    return "done"


CALLED = Registry([note, fails, waits, looped])
HOOKED = Registry([note, fails])


@HOOKED.around
def passing(context, proceed):
    """Pass on each call."""
    return proceed()


def planned(name: str, count: int, tools: Registry = CALLED) -> Plan:
    function = {"name": name, "arguments": "{}"}
    calls = [
        {"id": f"c{number}", "type": "function", "function": function} for number in range(count)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return tools.bind("openai").plan(
        {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    )


def each(
    name: str, act: Callable[[Plan, Any], Any], tools: Registry = CALLED
) -> Callable[[int], Callable[[], Any]]:
    """The work of doing something with each call of a plan, one after another."""

    def work(count: int) -> Callable[[], Any]:
        plan = planned(name, count, tools)
        return lambda: [act(plan, call) for call in plan.calls]

    return work


def paused(count: int) -> Callable[[], Any]:
    token = planned("waits", count).pause(b"k" * 32, audience="a", expires=timedelta(1))
    decisions = {f"c{number}": bool(number % 2) for number in range(count)}
    return lambda: CALLED.resume(token, b"k" * 32, decisions, audience="a")


def in_a_loop(count: int) -> Callable[[], Any]:
    plan = planned("looped", count)

    async def run() -> None:
        for call in plan.calls:
            await plan.arun(only=[call])

    return lambda: asyncio.run(run())


CALLS: dict[str, tuple[Callable[[int], Callable[[], Any]], int]] = {
    "calls that wait are shown": (lambda count: lambda plan=planned("waits", count): list(plan.results), 500),
    "calls that were not run are shown": (lambda count: lambda plan=planned("note", count): list(plan.results), 500),
    "calls that fail": (lambda count: planned("fails", count).run, 100),
    "calls under a hook": (lambda count: planned("note", count, HOOKED).run, 100),
    "calls under a hook that fail": (lambda count: planned("fails", count, HOOKED).run, 50),
    "calls in a loop": (lambda count: lambda plan=planned("looped", count): asyncio.run(plan.arun(limit=4)), 100),
    "approved one by one": (each("waits", lambda plan, call: plan.approve(call)), 500),
    "approved by id": (each("waits", lambda plan, call: plan.approve(call.id)), 500),
    "approved together": (lambda count: lambda plan=planned("waits", count): plan.approve(plan.calls), 500),
    "denied one by one": (each("waits", lambda plan, call: plan.deny(call, "no")), 250),
    "edited one by one": (each("waits", lambda plan, call: plan.approve(plan.edit(call, {}))), 250),
    "run one by one": (each("note", lambda plan, call: plan.run(only=[call])), 500),
    "run one by one from the last": (
        lambda count: lambda plan=planned("note", count): [plan.run(only=call) for call in reversed(plan.calls)], 500,
    ),
    "run one by one in a loop": (in_a_loop, 100),
    "paused and resumed": (paused, 50),
    "unknown names": (lambda count: lambda: planned("nobody", count), 250),
    "unknown names that are near": (lambda count: lambda: planned("notes", count), 250),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_take_time_that_grows_with_their_number(name, caplog):
    """No call looks through all the others."""
    caplog.set_level("CRITICAL", logger="toolshape")
    work, small = CALLS[name]
    assert time_growth(work, small, repeats=3) < LINEAR


def crowded(provider: str, what: str) -> Callable[[int], Callable[[], Any]]:
    """Reads a response with one call among many things that a gateway put beside it."""
    bound = TOOLS.bind(provider)
    call = {"id": "call_1", "type": "function", "function": {"name": "note", "arguments": {}}}

    def work(count: int) -> Callable[[], Any]:
        strays = [{"function": {"arguments": {"at": at}}} for at in range(count)]
        blocks = [{"type": "tool_use", "id": str(at)} for at in range(count)]
        content, calls = (None, [*strays, call]) if what == "calls" else (blocks, [call])
        message = {"role": "assistant", "content": content, "tool_calls": calls}
        body: Any = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
        if provider == "ollama":
            body = {"message": message, "done": True}
        elif provider == "huggingface":
            body = message

        def read() -> None:
            [only] = bound.plan(body).calls
            assert only.id == "call_1"

        return read

    return work


@pytest.mark.parametrize("what", ["calls", "blocks"])
@pytest.mark.parametrize("provider", ["openai", "ollama", "huggingface"])
def test_what_is_left_out_of_a_message_is_found_in_time_that_grows_with_it(provider, what):
    assert time_growth(crowded(provider, what), 500) < LINEAR


# --- calls in the text of open models ---------------------------------------------------------------------------------

# A text of a size, by what it repeats; the formats are those that it is hard for.
TEXTS: dict[str, tuple[str, Callable[[int], str]]] = {
    "prose": ("hermes", lambda size: "some < text { and [ more \n" * size),
    "an argument": (
        "hermes",
        lambda size: (
            '<tool_call>{"name":"f","arguments":{"a":"' + "x\\n<y>" * size + '"}}</tool_call>'
        ),
    ),
    "calls": ("hermes", lambda size: '<tool_call>{"name":"f","arguments":{}}</tool_call>' * size),
    "openings": ("hermes", lambda size: "<tool_call> {" * size),
    "escapes": ("hermes", lambda size: '<tool_call>{"name":"f","arguments":{"a":"' + '\\"' * size),
    "a value": (
        "qwen3_coder",
        lambda size: "<tool_call><function=f><parameter=a>" + "a </parameter> b " * size,
    ),
    "blanks": (
        "qwen3_coder",
        lambda size: "<tool_call><function=f><parameter=a>" + ("x</parameter>" + " " * 90) * size,
    ),
    "parameters": (
        "glm45",
        lambda size: "<tool_call>f\n" + "<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n" * size,
    ),
    "brackets": ("json", lambda size: "[" * size),
    "objects": ("json", lambda size: '{"a":' * size),
    "Python": ("pythonic", lambda size: "[f(a=" + "[" * size),
    "a list": (
        "mistral_old",
        lambda size: "[TOOL_CALLS][" + '{"name":"f","arguments":{}},' * size + '{"name"',
    ),
}


@pytest.mark.parametrize("piece", [None, 7], ids=["whole", "pieces"])
@pytest.mark.parametrize("about", TEXTS)
def test_a_text_is_read_in_time_that_grows_with_it(about: str, piece: int | None):
    """Whole, and in pieces."""
    name, made = TEXTS[about]

    def work(size: int) -> Callable[[], Any]:
        said = made(size)
        length = piece or len(said)
        pieces = [said[at : at + length] for at in range(0, len(said), length)]

        def read() -> None:
            reader = text_formats.Reader(name)
            for given in pieces:
                reader.feed(given)
            reader.close()

        return read

    assert time_growth(work, 200) < LINEAR

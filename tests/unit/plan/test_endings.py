"""A response that is no answer is never taken for one: errors, turns that are not over, items that wait, calls unread."""

import json
import logging
import pickle
from datetime import timedelta
from typing import Any

import pytest
from fakes import FAKED
from pydantic import BaseModel, SecretStr

from toolshape import Conversation, Output, Registry, ResponseError, tool
from toolshape._families import get
from toolshape._families.wire.provider import Numbering
from toolshape._families.wire.server import Completion
from toolshape._families.wire.stream_events import Numbered
from toolshape._records.calls import WireCall
from toolshape.trace import record_to, replay

RAN: list[str] = []


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    RAN.append(city)
    return city


TOOLS = Registry([weather])
BONN = '{"city": "Bonn"}'


def completion(choice: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "", **choice.pop("message", {})}
    return {
        "choices": [{"index": 0, "finish_reason": "stop", "message": message, **choice}],
        **more,
    }


def call(call_id: str = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "weather", "arguments": BONN}}


def item(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "id": "i1", "call_id": "w1", "status": "completed", **more}


def responses(*items: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"object": "response", "status": status, "output": list(items), **more}


def claude(*blocks: Any, stop: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(blocks), "stop_reason": stop}


def converse(*blocks: Any, stop: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": list(blocks)}
    return {"output": {"message": message}, "stopReason": stop}


def candidate(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}]}


FUNCTION_CALL = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": BONN}
TEXT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}

ERRORS = [
    ("openai", completion({}, error={"message": "down"}), "down"),
    ("openrouter", completion({"finish_reason": "error", "error": {"code": 502, "message": "down"}}), "down"),
    ("mistral", completion({"finish_reason": "error"}), "error"),
    ("anthropic", {**claude(stop="error"), "error": {"type": "overloaded_error"}}, "overloaded_error"),
    ("openai-responses", responses(status="failed", error={"message": "down"}), "down"),
    ("openai-responses", responses(status="cancelled"), "cancelled"),
    ("cohere", {"finish_reason": "ERROR", "message": {"role": "assistant"}, "error": "down"}, "down"),
    ("gemini", candidate(finishReason="ERROR", finishMessage="down"), "down"),
    ("gemini-interactions", {"status": "cancelled", "steps": []}, "cancelled"),
    ("ollama", {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "error"}, "error"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "body", "said"), ERRORS)
def test_an_error_without_calls_is_raised_in_the_providers_words(provider, body, said):
    with pytest.raises(ResponseError, match=said) as caught:
        TOOLS.bind(provider).dispatch(body)
    assert caught.value.body == body


class Town(BaseModel):
    name: str


@pytest.mark.parametrize(("provider", "body", "said"), ERRORS)
def test_it_is_no_empty_answer(provider, body, said):
    """The model is not to blame, so it is not told to answer again."""
    with pytest.raises(ResponseError, match=said) as caught:
        Output(Town).bind(provider).read(body)
    assert caught.value.body == body


def test_a_stream_of_an_answer_that_ends_with_an_error_raises_it():
    collector = Output(Town).bind("openai").collector()
    for event in (chunk({"content": '{"na'}), {"error": {"message": "down"}}):
        collector.feed(event)
    with pytest.raises(ResponseError, match="down"):
        collector.close()
    assert collector.text == '{"na'
    secret = Output(Login).bind("openai").collector()
    for event in (chunk({"content": '{"pass'}), {"error": {"message": "cannot read hunter2"}}):
        secret.feed(event)
    with pytest.raises(ResponseError) as caught:
        secret.close()
    assert "hunter2" not in str(caught.value)


class Login(BaseModel):
    password: SecretStr


@pytest.mark.parametrize(("provider", "body", "said"), ERRORS)
def test_a_conversation_appends_nothing_of_it(provider, body, said):
    chat = Conversation(TOOLS)
    chat.user("How is Bonn?")
    with pytest.raises(ResponseError):
        chat.dispatch(body, provider=provider)
    assert len(chat) == 1
    chat.dispatch(completion({"message": {"content": "fine"}}), provider="openai")
    assert len(chat) == 2


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("openai", completion({"finish_reason": "error", "message": {"tool_calls": [call()]}}, error="down")),
        ("openai-responses", responses(FUNCTION_CALL, status="cancelled")),
        ("mistral", completion({"finish_reason": "error", "message": {"tool_calls": [call()]}})),
        ("openai-responses", responses(FUNCTION_CALL, status="failed", error={"message": "down"})),
    ],
)  # fmt: skip
def test_calls_beside_an_error_do_not_run(provider, body, caplog):
    """They are answered, so the conversation can go on; and it is logged."""
    RAN.clear()
    with caplog.at_level(logging.WARNING, "toolshape"):
        results = TOOLS.bind(provider).dispatch(body)
    assert [result.error and result.error.code for result in results] == ["not_run"]
    assert results[0].text == "weather was not run: the provider ended the response with an error"
    assert not RAN
    assert results.messages
    assert "provider_error" in [warning.rule for warning in results.warnings]
    assert "provider_error" in caplog.text


CONTINUES = [
    ("anthropic", claude({"type": "text", "text": "x"}, stop="pause_turn")),
    ("anthropic", claude({"type": "compaction", "content": "s"}, stop="compaction")),
    ("openai-responses", responses(status="queued")),
    ("openai-responses", responses(status="in_progress")),
    ("gemini-interactions", {"status": "in_progress", "steps": []}),
]


@pytest.mark.parametrize(("provider", "body"), CONTINUES)
def test_a_turn_that_is_not_over_goes_on(provider, body, caplog):
    with caplog.at_level(logging.WARNING, "toolshape"):
        results = TOOLS.bind(provider).dispatch(body)
    assert (results.finish, results.goes_on, bool(results)) == ("continue", True, False)
    assert [warning.rule for warning in results.warnings] == ["not_over"]
    assert "not_over" in caplog.text


WAITING = [
    item("mcp_approval_request", name="weather", server_label="s", arguments=BONN),
    item("computer_call", action={"type": "screenshot"}),
    item("local_shell_call", action={"type": "exec", "command": ["ls"]}),
    item("shell_call", action={"commands": ["ls"]}),
    item("apply_patch_call", operation={"type": "delete_file", "path": "x"}),
    item("tool_search_call", execution="client", arguments={}),
]


@pytest.mark.parametrize("waiting", WAITING, ids=lambda each: each["type"])
def test_what_waits_for_the_app_ends_the_loop(waiting, caplog):
    with caplog.at_level(logging.WARNING, "toolshape"):
        results = TOOLS.bind("openai-responses").dispatch(responses(TEXT, waiting))
    assert (results.finish, results.goes_on, bool(results)) == ("app", False, False)
    [found] = results.waits_for_app
    assert (found.kind, found.id, found.item) == (waiting["type"], "w1", waiting)
    assert waiting["type"] in caplog.text
    restored = pickle.loads(pickle.dumps(results))
    assert (restored.waits_for_app, restored.warnings) == (results.waits_for_app, results.warnings)
    beside = TOOLS.bind("openai-responses").dispatch(responses(FUNCTION_CALL, waiting))
    assert (len(beside), beside[0].value, beside.goes_on) == (1, "Bonn", False)
    assert [warning.rule for warning in beside.warnings] == ["waits_for_app"]


@pytest.mark.parametrize(
    "ran",
    [
        [item("shell_call"), item("shell_call_output", output=[])],
        [item("tool_search_call", execution="server")],
        [item("mcp_call", output="x")],
        [
            {**item("mcp_approval_request"), "call_id": None, "id": "m1"},
            item("mcp_approval_response", approval_request_id="m1") | {"call_id": None},
        ],
        [item("web_search_call")],
    ],
)
def test_what_the_provider_ran_itself_does_not_wait(ran):
    results = TOOLS.bind("openai-responses").dispatch(responses(*ran, TEXT))
    assert (results.finish, results.waits_for_app, results.warnings) == ("stop", (), ())


WARNED = [
    ("gemini", candidate(finishReason="MALFORMED_FUNCTION_CALL", finishMessage="print(x)"), "malformed_call", "print(x)"),
    ("gemini", candidate(finishReason="MISSING_THOUGHT_SIGNATURE"), "malformed_call", "SIGNATURE"),
    ("bedrock", converse({"text": "x"}, stop="malformed_tool_use"), "malformed_call", "malformed_tool_use"),
    ("gemini-interactions", {"status": "failed", "steps": []}, "malformed_call", "failed"),
    ("anthropic", claude({"type": "client_tool_use", "id": "t"}, stop="tool_use"), "unread", "client_tool_use"),
    ("anthropic", claude({"type": "text", "text": "x"}, stop="tool_use"), "unread", "tool_use"),
    ("openai", {"choices": [*completion({"message": {"content": "x"}})["choices"], {"message": {"tool_calls": [call()]}}]}, "other_choice", "1 other choice"),
    ("openai", completion({}), "empty_answer", "neither text nor a call"),
    ("anthropic", claude(stop="end_turn"), "empty_answer", "neither"),
    ("gemini", candidate(finishReason="STOP"), "empty_answer", "neither"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "body", "rule", "said"), WARNED)
def test_what_was_not_read_is_in_the_warnings(provider, body, rule, said):
    results = TOOLS.bind(provider).dispatch(body)
    assert [warning.rule for warning in results.warnings] == [rule]
    assert said in results.warnings[0].message
    assert (bool(results), results.goes_on) == (False, False)


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("openai", completion({"message": {"content": "fine"}})),
        ("anthropic", claude({"type": "text", "text": "fine"}, stop="end_turn")),
        ("openai-responses", responses(TEXT)),
        ("gemini", candidate({"text": "fine"}, finishReason="STOP")),
        ("bedrock", converse({"text": "fine"}, stop="end_turn")),
        ("ollama", {"message": {"role": "assistant", "content": "fine"}, "done": True, "done_reason": "stop"}),
    ],
)  # fmt: skip
def test_an_answer_is_an_answer(provider, body, caplog):
    with caplog.at_level(logging.WARNING, "toolshape"):
        results = TOOLS.bind(provider).dispatch(body)
    assert (results.finish, results.warnings, results.goes_on) == ("stop", (), False)
    assert not caplog.text


def streamed(provider: str, *events: Any) -> Any:
    collector = TOOLS.bind(provider).collector()
    for event in events:
        collector.feed(event)
    collector.close()
    return collector


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


STREAMED_ERRORS = [
    ("openai", [chunk({"content": "hi"}), {"error": {"message": "down"}}]),
    ("openrouter", [chunk({"content": "hi"}), chunk({}, "error", error={"message": "down"})]),
    ("groq", [{"error": {"message": "down", "failed_generation": "<function=weather>"}}]),
    ("anthropic", [
        {"type": "message_start", "message": claude(stop="") | {"stop_reason": None}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "down"}},
    ]),
    ("openai-responses", [
        {"type": "response.created", "response": responses(status="in_progress")},
        {"type": "response.failed", "response": responses(status="failed", error={"message": "down"})},
    ]),
    ("openai-responses", [{"type": "error", "code": "x", "message": "down"}]),
    ("gemini", [candidate({"text": "hi"}), {"error": {"message": "down"}}]),
    ("bedrock", [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "hi"}}}, {"modelStreamErrorException": {"message": "down"}}]),
    ("cohere", [{"type": "message-start"}, {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "down"}}]),
    ("ollama", [{"message": {"role": "assistant", "content": "hi"}, "done": False}, {"error": "down"}]),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "events"), STREAMED_ERRORS)
def test_an_error_in_a_stream_is_raised_by_its_plan(provider, events):
    """And what came before is still there."""
    collector = streamed(provider, *events)
    with pytest.raises(ResponseError, match="down"):
        collector.plan()
    assert collector.text == ("hi" if '"hi"' in json.dumps(events) else "")


def test_a_call_before_an_error_in_a_stream_does_not_run():
    RAN.clear()
    collector = streamed(
        "openai", chunk({"tool_calls": [{"index": 0, **call()}]}), {"error": "down"}
    )
    [result] = collector.plan().run()
    assert (result.error.code, RAN) == ("not_run", [])


def test_a_stream_without_an_end_is_told():
    collector = TOOLS.bind("openai").collector()
    collector.feed(chunk({"content": "half of"}))
    assert [warning.rule for warning in collector.plan().run().warnings] == ["no_end"]
    collector.feed(chunk({}, "stop"))
    assert collector.plan().run().warnings == ()


def test_a_message_of_a_session_is_no_event_of_a_response():
    with pytest.raises(ResponseError, match="Live API"):
        streamed(
            "gemini",
            {"toolCall": {"functionCalls": [{"name": "weather", "args": {"city": "Bonn"}}]}},
        )


def test_a_blocked_prompt_is_a_refusal_in_every_form():
    """As JSON, and as the SDK names its fields; whole, and as the only event."""
    for name, reason in (("promptFeedback", "blockReason"), ("prompt_feedback", "block_reason")):
        body = {name: {reason: "PROHIBITED_CONTENT"}}
        assert TOOLS.bind("gemini").dispatch(body).finish == "refusal"
        assert streamed("gemini", body).plan().run().finish == "refusal"


def test_half_a_call_of_a_body_does_not_run():
    part = {"functionCall": {"name": "weather", "args": {"city": "Bo"}, "willContinue": True}}
    [result] = TOOLS.bind("gemini").dispatch(candidate(part, finishReason="STOP"))
    assert result.error.code == "truncated_arguments"


def fragment(index: int | None, call_id: str | None, name: str | None, text: str | None) -> Any:
    function = {
        key: value for key, value in (("name", name), ("arguments", text)) if value is not None
    }
    part = {"index": index, "id": call_id, "function": function}
    return chunk({"tool_calls": [{key: value for key, value in part.items() if value is not None}]})


ROME = '{"city": "Rome"}'


@pytest.mark.parametrize(
    ("fragments", "cities"),
    [
        ([(0, "x", "weather", BONN), (1, "x", "weather", ROME)], ["Bonn", "Rome"]),
        ([(0, "x", "weather", ""), (0, None, None, BONN), (1, "x", "weather", ""), (1, None, None, ROME)], ["Bonn", "Rome"]),
        ([(0, None, "weather", BONN), (0, None, "weather", ROME)], ["Bonn", "Rome"]),
        ([(0, "a", "weather", BONN), (0, "b", "weather", ROME)], ["Bonn", "Rome"]),
        ([(0, "a", "wea", ""), (0, None, "ther", BONN)], ["Bonn"]),
        ([(0, "a", "weather", '{"city":'), (0, "a", "weather", ' "Bonn"}')], ["Bonn"]),
        ([(0, "a", "weather", BONN), (0, "a", "weather", BONN)], ["Bonn"]),
        ([(0, "a", "weather", "{}"), (0, None, None, BONN)], ["Bonn"]),
        ([(None, "a", "weather", ""), (None, None, None, BONN)], ["Bonn"]),
        ([(0, "a", "weather", ""), (0, "b", "weather", ""), (0, "a", None, BONN), (0, "b", None, ROME)], ["Bonn", "Rome"]),
    ],
)  # fmt: skip
def test_a_fragment_finds_its_call(fragments, cities):
    """What servers are known to leave out, repeat or share; the sources stand at ``_position_of``."""
    collector = streamed(
        "openai", *(fragment(*each) for each in fragments), chunk({}, "tool_calls")
    )
    results = collector.plan().run()
    assert [result.value for result in results] == cities
    assert results.finish == "tool_calls"


def test_events_that_are_doubled_begin_no_second_call():
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "weather", "input": {}}}  # fmt: skip
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": BONN}}  # fmt: skip
    stop = {"type": "content_block_stop", "index": 0}
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    begin = {"type": "message_start", "message": claude(stop="") | {"stop_reason": None}}
    results = streamed("anthropic", begin, start, start, delta, stop, stop, end, end).plan().run()
    assert [result.value for result in results] == ["Bonn"]
    tool_call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": ""}}
    start = {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": tool_call}}}
    delta = {"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls": {"function": {"arguments": BONN}}}}}  # fmt: skip
    end = {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}
    events = (
        {"type": "message-start"},
        start,
        start,
        delta,
        {"type": "tool-call-end", "index": 0},
        end,
    )
    assert [result.value for result in streamed("cohere", *events).plan().run()] == ["Bonn"]


def test_items_without_an_index_are_told_by_their_ids():
    done = [
        {"type": "response.output_item.done", "item": {**FUNCTION_CALL, "id": f"f{n}", "call_id": f"c{n}", "status": "completed"}}
        for n in (1, 2)
    ]  # fmt: skip
    results = streamed("openai-responses", *done).plan().run()
    assert [result.id for result in results] == ["c1", "c2"]


def test_a_compaction_that_is_streamed_goes_back_whole():
    start = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "compaction", "content": None},
    }
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": "s", "encrypted_content": "E"}}  # fmt: skip
    begin = {"type": "message_start", "message": claude(stop="") | {"stop_reason": None}}
    end = {"type": "message_delta", "delta": {"stop_reason": "compaction"}}
    results = (
        streamed("anthropic", begin, start, delta, {"type": "content_block_stop", "index": 0}, end)
        .plan()
        .run()
    )
    assert results.turn[0]["content"] == [
        {"type": "compaction", "content": "s", "encrypted_content": "E"}
    ]
    assert results.goes_on


def test_equal_ids_in_one_message_are_told_before_the_provider_does():
    turn = (
        TOOLS.bind("openai")
        .dispatch(completion({"message": {"tool_calls": [call("x"), call("x")]}}))
        .turn
    )
    messages = [{"role": "user", "content": "q"}, *turn]
    bound = TOOLS.bind("openai")
    assert [problem.rule for problem in bound.check_messages(messages)] == ["duplicate_id"]
    assert not bound.check_messages(bound.repair_messages(messages).messages)


def numbered_life() -> list[dict[str, Any]]:
    """A stream of the Responses API with two calls and a text, each event with its number."""
    found: list[dict[str, Any]] = [
        {"type": "response.created", "response": responses(status="in_progress")},
        {"type": "response.in_progress", "response": responses(status="in_progress")},
    ]
    calls = [
        {**FUNCTION_CALL, "id": f"f{n}", "call_id": f"c{n}", "status": "completed"} for n in (0, 1)
    ]
    for at, each in enumerate(calls):
        found.append(
            {
                "type": "response.output_item.added",
                "output_index": at,
                "item": {**each, "arguments": "", "status": "in_progress"},
            }
        )
        found += [
            {
                "type": "response.function_call_arguments.delta",
                "output_index": at,
                "item_id": each["id"],
                "delta": piece,
            }
            for piece in (BONN[:5], BONN[5:])
        ]
        found.append({"type": "response.output_item.done", "output_index": at, "item": each})
    message = {**TEXT, "id": "m"}
    found.append(
        {
            "type": "response.output_item.added",
            "output_index": 2,
            "item": {**message, "content": []},
        }
    )
    found += [
        {
            "type": "response.output_text.delta",
            "output_index": 2,
            "item_id": "m",
            "content_index": 0,
            "delta": piece,
        }
        for piece in "abc"
    ]
    found.append({"type": "response.completed", "response": responses(*calls, message)})
    return [{**event, "sequence_number": number} for number, event in enumerate(found)]  # fmt: skip


def read_alike(events: list[dict[str, Any]]) -> tuple[Any, ...]:
    collector = streamed("openai-responses", *events)
    results = collector.plan().run()
    return [result.value for result in results], collector.text, [w.rule for w in results.warnings]


@pytest.mark.parametrize("at", range(len(numbered_life())))
def test_numbered_events_that_are_doubled_or_swapped_are_mended(at):
    events = numbered_life()
    whole = read_alike(events)
    assert whole == (["Bonn", "Bonn"], "abc", [])
    assert read_alike([*events[: at + 1], *events[at:]]) == whole
    assert read_alike([*events[: at + 1], *events[max(at - 3, 0) :]]) == whole
    if 0 < at < len(events) - 1:  # the first event says where the numbers begin
        swapped = [*events[:at], events[at + 1], events[at], *events[at + 2 :]]
        assert read_alike(swapped) == whole


@pytest.mark.parametrize("at", range(2, len(numbered_life()) - 1))
def test_a_gap_in_the_numbers_is_told(at):
    """What was lost is lost; whole items come again, so calls are the same."""
    events = numbered_life()
    values, _, rules = read_alike([*events[:at], *events[at + 1 :]])
    assert values == ["Bonn", "Bonn"]
    assert rules == ["events_lost"]


def test_numbers_that_are_none_are_ignored():
    """A server that gives each event the same number, or begins anew with each item."""
    for number in (lambda at: 0, lambda at: at % 3, lambda at: None):
        events = [
            {**event, "sequence_number": number(at)} for at, event in enumerate(numbered_life())
        ]
        assert read_alike(events)[:2] == (["Bonn", "Bonn"], "abc")


def test_two_events_that_wait_with_one_number_are_both_read():
    """The first came too early, so it waits; the second says that the numbers mean nothing."""
    numbers = enumerate([0, 2, 2, 3, 4])
    events = [{"type": f"event {at}", "sequence_number": number} for at, number in numbers]
    numbered = Numbered(Numbering(key="sequence_number", first="response.created"))
    read = [each for event in events for each in numbered.in_order(event)]
    assert [*read, *numbered.rest()] == events


def test_an_event_without_a_number_moves_no_other():
    """A keep-alive comes while one event waits for another: both are read, in their order."""
    events = [{"type": f"event {at}", "sequence_number": at} for at in range(4)]
    ping = {"type": "ping"}
    numbered = Numbered(Numbering(key="sequence_number", first="response.created"))
    came = [events[0], events[2], ping, events[1], events[3]]
    assert [each for event in came for each in numbered.in_order(event)] == [
        events[0],
        ping,
        *events[1:],
    ]
    assert not numbered.has_gap


def test_a_first_event_that_comes_twice_is_read_once():
    """It begins a response, but not the same one again."""
    first = {"type": "response.created", "sequence_number": 0}
    events = [first, *({"type": f"event {at}", "sequence_number": at} for at in (1, 2))]
    numbered = Numbered(Numbering(key="sequence_number", first="response.created"))
    came = [*events[:2], first, events[2]]
    assert [each for event in came for each in numbered.in_order(event)] == events
    assert not numbered.has_gap
    again = {**first, "response": {"id": "r2"}}
    assert numbered.in_order(again) == [again]


def test_words_that_may_quote_a_secret_are_in_no_log_and_no_message(caplog):
    """Of a tool that takes one; they stay in the warning and in the error's body, which the app asked for."""

    @tool
    def login(password: SecretStr) -> str:
        """Log in."""
        return "done"

    bound = Registry([login]).bind("groq")
    quoted = "<function=login>hunter2</function>"
    body = completion({}, error={"message": "tool_use_failed", "failed_generation": quoted})
    with caplog.at_level(logging.WARNING, "toolshape"), pytest.raises(ResponseError) as caught:
        bound.dispatch(body)
    assert "hunter2" not in str(caught.value)
    assert caught.value.body == body
    malformed = candidate(finishReason="MALFORMED_FUNCTION_CALL", finishMessage="print(hunter2)")
    with caplog.at_level(logging.WARNING, "toolshape"):
        results = Registry([login]).bind("gemini").dispatch(malformed)
    assert "hunter2" in results.warnings[0].message
    assert "malformed_call: its words are not shown" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_stream_that_ended_with_an_error_is_in_the_trace(tmp_path):
    """As its body would be: what fails in production is what is looked for there."""
    path = tmp_path / "trace.jsonl"
    tools = Registry([weather])
    tools.observe(record_to(path))
    with pytest.raises(ResponseError):
        tools.bind("openai").dispatch(completion({}, error={"message": "down"}))
    collector = tools.bind("openai").collector()
    for event in (chunk({"content": "hi"}), {"error": {"message": "down"}}):
        collector.feed(event)
    collector.close()
    with pytest.raises(ResponseError):
        collector.plan()
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["outcome"] for line in lines] == [[], []]
    assert all("down" in line["error"] for line in lines)
    assert not replay(path, tools).changes


@tool(approve=True)
def pay(n: int) -> str:
    """Pay."""
    return "paid"


def test_what_waits_is_known_after_a_restore():
    """A turn with a call that needs a decision, stored in between: the loop must not ask again before the app answers."""
    tools = Registry([pay])
    chat = Conversation(tools)
    chat.user("Go.")
    chat.request("openai-responses", model="gpt-5")
    payment = {**FUNCTION_CALL, "name": "pay", "arguments": '{"n": 1}'}
    chat.dispatch(responses(payment, WAITING[0]), provider="openai-responses")
    for store in (
        lambda: Conversation.from_json(chat.to_json(), tools),
        lambda: pickle.loads(pickle.dumps(chat)),
    ):
        restored = store()
        restored.approve(restored.pending, again=True)
        results = restored.run()
        assert [result.value for result in results] == ["paid"]
        assert [waiting.kind for waiting in results.waits_for_app] == ["mcp_approval_request"]
        assert not results.goes_on


SAID = [
    ("openai", {}, ["no_end"]),
    ("openai", {"choices": [*completion({"message": {"tool_calls": [call()]}, "finish_reason": "tool_calls"})["choices"], {"index": 1, "message": {"role": "assistant", "tool_calls": [call("c2")]}}]}, ["other_choice"]),
    ("openai-responses", responses(FUNCTION_CALL, WAITING[1]), ["waits_for_app"]),
    ("anthropic", claude({"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bonn"}}, {"type": "client_tool_use", "id": "c2", "name": "weather", "input": {}}, stop="tool_use"), ["unread"]),
]  # fmt: skip


@tool(approve=True, name="weather")
def asked_weather(city: str) -> str:
    """The weather of a city."""
    return city


def streamed_call(collector: Any, usage: Any) -> Any:
    """A stream that was left before its end."""
    delta = {"tool_calls": [{"index": 0, **call()}]}
    collector.feed({"choices": [{"index": 0, "delta": delta}], "usage": usage})
    collector.close()
    return collector


@pytest.mark.parametrize(("provider", "body", "rules"), SAID)
def test_what_was_said_of_a_response_is_known_after_a_restore(provider, body, rules):
    """In a token, in a conversation's JSON and in a pickle: its warnings, its tokens and its finish."""
    counts = {"prompt_tokens": 7, "completion_tokens": 5}
    if provider != "openai":
        counts = {"input_tokens": 7, "output_tokens": 5}
    body, asking = {**body, "usage": counts}, Registry([asked_weather])
    bound, chat = asking.bind(provider), Conversation(asking)
    chat.user("Go.")
    if rules == ["no_end"]:
        plan = streamed_call(bound.collector(), counts).plan()
        chat.dispatch(streamed_call(chat.collector(provider), counts))
    else:
        plan = bound.plan(body)
        chat.dispatch(body, provider=provider)
    before = plan.results
    assert [warning.rule for warning in before.warnings] == rules
    assert before.usage is not None
    token = bound.plan(before).pause(key="k" * 32, audience="a", expires=timedelta(hours=1))
    later = [pickle.loads(pickle.dumps(before)), asking.resume(token, "k" * 32, audience="a")]
    for stored in (
        Conversation.from_json(chat.to_json(), asking),
        pickle.loads(pickle.dumps(chat)),
    ):
        stored.approve(stored.pending, again=True)
        later.append(stored.run())
    for results in later:
        found = (results.warnings, results.usage, results.finish, results.waits_for_app)
        assert found == (before.warnings, before.usage, before.finish, before.waits_for_app)


def test_words_that_may_quote_a_secret_are_not_stored_with_a_conversation():
    @tool(approve=True)
    def login(password: SecretStr) -> str:
        """Log in."""
        return "in"

    tools = Registry([login])
    chat = Conversation(tools)
    chat.user("Go.")
    message = {
        "role": "model",
        "parts": [{"functionCall": {"id": "c1", "name": "login", "args": {"password": "hunter2"}}}],
    }
    body = {
        "candidates": [
            {
                "content": message,
                "finishReason": "MALFORMED_FUNCTION_CALL",
                "finishMessage": "login('hunter2')",
            }
        ]
    }
    chat.dispatch(body, provider="gemini")
    text = chat.to_json(secrets=False)
    assert "hunter2" in chat.to_json(secrets=True)
    assert "hunter2" not in text
    assert "malformed_call" in text


@pytest.mark.parametrize("provider", [name for name in FAKED if ":" not in name])
@pytest.mark.parametrize("has_call", [False, True], ids=["text", "a call"])
def test_a_stream_that_was_left_in_the_middle_says_so(provider, has_call):
    """After each event but the last ones: no end has come, or the provider has said how it ends."""
    server = get(provider).server
    calls = (WireCall("call00001", "weather", {"city": "Bonn"}),) if has_call else ()
    finish = "tool_calls" if has_call else "stop"
    said = Completion(model="m", id="r1", text="It is fine in Bonn.", calls=calls, finish=finish)
    events = list(server.unfold(server.respond(said)))
    left = 0
    for end in range(1, len(events)):
        collector = TOOLS.bind(provider).collector()
        for event in events[:end]:
            collector.feed(event)
        collector.close()
        if not collector.text and not has_call:
            continue
        results = collector.plan().results
        rules = [warning.rule for warning in results.warnings]
        assert (results.finish is None) == ("no_end" in rules), (end, results.finish_raw)
        assert results.finish in (None, finish), (end, results.finish_raw)
        left += results.finish is None
    assert left or len(events) < 3  # some send the whole in one event


@pytest.mark.parametrize("beside", [{"text": "Well."}, {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Bonn"}}}])  # fmt: skip
def test_a_block_that_botocore_does_not_know_is_not_sent_back(beside):
    """It names the block only: ``converse`` would refuse the name as a parameter that it does not know."""
    body = converse({"SDK_UNKNOWN_MEMBER": {"name": "newThing"}}, beside, stop="end_turn")
    results = TOOLS.bind("bedrock").dispatch(body)
    assert results.turn[0]["content"] == [beside]
    [warning] = results.warnings
    assert warning.rule == "unread"
    assert "newThing" in warning.message

"""Sessions: each call runs once and is told once, whatever comes twice, late, or not at all."""

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import SecretStr
from session_events import live, realtime

from toolshape import Registry, ResponseError, Session, UsageError, tool
from toolshape.ledger import Ledger
from toolshape.trace import record_to, replay


@tool
def weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: The city.
    """
    return f"sunny in {city}"


TOOLS = Registry([weather])
BONN = ("weather", {"city": "Bonn"}, "call_1")
ROME = ("weather", {"city": "Rome"}, "call_2")
GO_ON = {"type": "response.create"}


def output(call_id: str, text: str) -> dict[str, Any]:
    item = {"type": "function_call_output", "call_id": call_id, "output": text}
    return {"type": "conversation.item.create", "item": item}


def session(provider: str = "openai-realtime", tools: Registry = TOOLS) -> Session:
    return tools.bind(provider).session()


def test_a_call_is_given_once_answered_once_and_then_the_model_goes_on() -> None:
    open_session = session()
    sent: list[Any] = []
    given_calls = []
    for event in realtime("resp_1", BONN):
        given_calls += open_session.feed(event)
        open_session.plan().run()
        assert open_session.messages == open_session.messages
        sent += open_session.messages
    assert [call.arguments for call in given_calls] == [{"city": "Bonn"}]
    assert sent == [output("call_1", "sunny in Bonn"), GO_ON]
    assert open_session.plans == ()


def test_the_model_is_asked_to_go_on_once_all_calls_of_its_response_are_answered() -> None:
    open_session = session()
    for event in realtime("resp_1", BONN, ROME):
        open_session.feed(event)
    plan = open_session.plan()
    plan.run(only=["call_2"])
    assert open_session.messages == [output("call_2", "sunny in Rome")]
    open_session.feed({"type": "rate_limits.updated", "rate_limits": []})
    open_session.plan().run()
    assert open_session.messages == [output("call_1", "sunny in Bonn"), GO_ON]
    open_session.feed({"type": "rate_limits.updated", "rate_limits": []})
    assert open_session.messages == []


def test_events_that_do_not_name_their_response_belong_to_the_last_that_began() -> None:
    open_session, given_calls = session(), []
    for event in realtime("resp_1", BONN):
        event.pop("response_id", None)
        given_calls += open_session.feed(event)
    open_session.plan().run()
    assert [call.id for call in given_calls] == ["call_1"]
    assert open_session.messages == [output("call_1", "sunny in Bonn"), GO_ON]


def test_messages_that_nobody_read_are_kept() -> None:
    open_session = session()
    for event in realtime("resp_1", BONN) + realtime("resp_2", ROME):
        open_session.feed(event)
        open_session.plan().run()
    assert open_session.messages == [
        output("call_1", "sunny in Bonn"),
        output("call_2", "sunny in Rome"),
        GO_ON,
    ]


def test_a_response_without_calls_asks_for_nothing() -> None:
    open_session = session()
    for event in [*realtime("resp_1"), {"type": "response.output_text.delta", "delta": "hi"}]:
        assert open_session.feed(event) == []
    assert (open_session.text, open_session.new_text, open_session.messages) == ("hi", "hi", [])
    assert list(open_session.plan().results) == []


@pytest.mark.parametrize("reason", ["turn_detected", "client_cancelled"])
def test_of_a_response_that_was_cancelled_whole_calls_run_and_half_ones_do_not(reason: str) -> None:
    events = realtime("resp_1", BONN, ROME, status="cancelled", status_details={"reason": reason})
    for event in events:
        items = [event.get("item"), *(event.get("response") or {}).get("output", ())]
        for item in items:
            if item and item.get("call_id") == "call_2":
                item.update(status="incomplete", arguments='{"city": "Ro')
    open_session = session()
    given_calls = [call for event in events for call in open_session.feed(event)]
    assert [call.id for call in given_calls] == ["call_1"]
    open_session.plan().run()
    assert open_session.messages == [output("call_1", "sunny in Bonn")]  # nobody asks it to go on
    assert open_session.partial() == ()


def test_an_error_of_the_server_is_a_warning_and_a_failed_response_too() -> None:
    open_session = session()
    error = {"type": "invalid_request_error", "code": "unknown_parameter", "message": "no strict"}
    open_session.feed({"type": "error", "error": error})
    details = {"type": "failed", "error": {"type": "server_error", "message": "overloaded"}}
    for event in realtime("resp_1", status="failed", status_details=details):
        open_session.feed(event)
    assert [
        "no strict" in str(open_session.warnings[0]),
        "overloaded" in str(open_session.warnings[1]),
    ] == [True, True]


def test_arguments_are_seen_as_they_arrive() -> None:
    open_session = session()
    seen = []
    for event in realtime("resp_1", BONN):
        open_session.feed(event)
        seen += [(part.id, part.name, part.arguments) for part in open_session.partial()]
    assert seen[-1] == ("call_1", "weather", {"city": "Bonn"})
    assert open_session.partial() == ()


@pytest.mark.parametrize(
    "event", [{"choices": []}, {"candidates": []}, 7, "x", '{"type": 3}', {"type": "message_start"}]
)
@pytest.mark.parametrize("provider", ["openai-realtime", "gemini-live"])
def test_what_is_no_event_is_an_error_and_changes_nothing(provider: str, event: Any) -> None:
    open_session = session(provider)
    with pytest.raises(ResponseError):
        open_session.feed(event)
    assert open_session.messages == []


def test_history_that_the_client_writes_is_no_call() -> None:
    item = realtime("resp_1", BONN)[6]["item"]
    open_session = session()
    for kind in (
        "conversation.item.added",
        "conversation.item.created",
        "conversation.item.retrieved",
        "conversation.item.done",
    ):
        assert open_session.feed({"type": kind, "item": item}) == []


def test_a_call_may_wait_for_somebody_while_the_session_goes_on() -> None:
    tools = Registry([tool(weather.function, approve=True, name="weather")])
    open_session = session(tools=tools)
    for event in realtime("resp_1", BONN):
        open_session.feed(event)
    open_session.plan().run()
    assert open_session.messages == []
    for event in realtime("resp_2", ROME):
        open_session.feed(event)
    open_session.plan().run()
    first, second = open_session.plans
    first.approve("call_1")
    second.deny("call_2", "not Rome")
    first.run()
    bonn, rome, go_on = open_session.messages
    assert bonn == output("call_1", "sunny in Bonn")
    assert "not Rome" in rome["item"]["output"]
    assert go_on == GO_ON


def test_live_answers_with_the_ids_of_the_calls() -> None:
    open_session = session("gemini-live")
    calls = open_session.feed(json.dumps(live(BONN, ROME)))
    assert [call.id for call in calls] == ["call_1", "call_2"]
    assert open_session.feed(live(BONN)) == []  # once more
    open_session.plan().run()
    [message] = open_session.messages
    answers = message["toolResponse"]["functionResponses"]
    assert [(each["id"], each["name"]) for each in answers] == [
        ("call_1", "weather"),
        ("call_2", "weather"),
    ]
    assert answers[0]["response"] == {"output": "sunny in Bonn"}


def test_a_call_that_live_takes_back_is_not_run_and_not_answered() -> None:
    open_session = session("gemini-live")
    open_session.feed(live(BONN, ROME))
    open_session.feed({"toolCallCancellation": {"ids": ["call_1"]}})
    open_session.plan().run()
    assert [result.call.id for result in open_session.results] == ["call_2"]
    open_session.feed({"tool_call_cancellation": {"ids": ["call_2"]}})  # it has run
    assert open_session.messages == []
    open_session.feed(live(BONN))
    assert open_session.messages == []


def test_a_planned_call_that_live_takes_back_is_denied() -> None:
    open_session = session("gemini-live")
    open_session.feed(live(BONN, ROME))
    plan = open_session.plan()
    open_session.feed({"toolCallCancellation": {"ids": ["call_1"]}})
    assert [result.ok for result in plan.run()] == [False, True]
    assert [
        each["id"] for each in open_session.messages[0]["toolResponse"]["functionResponses"]
    ] == ["call_2"]


def test_an_interruption_takes_no_call_back() -> None:
    open_session = session("gemini-live")
    open_session.feed(live(BONN))
    open_session.feed({"serverContent": {"interrupted": True}})
    open_session.plan().run()
    assert len(open_session.messages) == 1


def test_what_live_says_is_text_and_what_it_thinks_is_thinking() -> None:
    open_session = session("gemini-live")
    parts = [{"text": "hm", "thought": True}, {"text": "hello"}]
    open_session.feed({"serverContent": {"modelTurn": {"parts": parts}}})
    open_session.feed({"serverContent": {"outputTranscription": {"text": " you"}}})
    assert (open_session.text, open_session.thinking) == ("hello you", "hm")


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_a_provider_of_requests_has_no_session(provider: str) -> None:
    with pytest.raises(UsageError, match="no sessions"):
        TOOLS.bind(provider).session()


@pytest.mark.parametrize("provider", ["openai-realtime", "gemini-live"])
def test_a_collector_of_these_providers_is_a_session(provider: str) -> None:
    assert isinstance(TOOLS.bind(provider).collector(), Session)


def test_whole_and_by_events_the_calls_are_the_same() -> None:
    events = realtime("resp_1", BONN, ROME)
    bound = TOOLS.bind("openai-realtime")
    by_events = [call.arguments for call in bound.session().over(events)]
    whole = bound.dispatch(events[-1])
    assert [result.call.arguments for result in whole] == by_events
    assert whole.messages[:2] == [
        output("call_1", "sunny in Bonn"),
        output("call_2", "sunny in Rome"),
    ]
    assert TOOLS.bind("gemini-live").dispatch(live(BONN))[0].value == "sunny in Bonn"


def test_ids_of_other_providers_are_short_enough_for_realtime() -> None:
    long_id = "call-01234567-89ab-cdef-0123-456789abcdef-0"
    message = {
        "id": long_id,
        "type": "function",
        "function": {"name": "weather", "arguments": '{"city": "Bonn"}'},
    }
    results = TOOLS.bind("openai").dispatch(
        {
            "choices": [
                {
                    "message": {"role": "assistant", "tool_calls": [message]},
                    "finish_reason": "tool_calls",
                }
            ]
        }
    )
    bound = TOOLS.bind("openai-realtime")
    [call] = bound.calls_as_messages(results.calls)
    [answer] = bound.results_as_messages(list(results))
    assert call["item"]["call_id"] == answer["item"]["call_id"]
    assert len(call["item"]["call_id"]) <= 32


def test_a_session_in_a_loop() -> None:
    @tool
    async def later(city: str) -> str:
        """Tells it later."""
        await asyncio.sleep(0)
        return city

    async def main() -> list[Any]:
        open_session = Registry([later]).bind("openai-realtime").session()
        sent = []
        for event in realtime("resp_1", ("later", {"city": "Bonn"}, "call_1")):
            if open_session.feed(event):
                await open_session.plan().arun()
            sent += open_session.messages
        return sent

    assert asyncio.run(main()) == [output("call_1", "Bonn"), GO_ON]


RESPONSES = (
    realtime("resp_1", BONN, ROME) + realtime("resp_2", ("weather", {"city": "Oslo"}, "call_3")),
    [live(BONN, ROME), live(("weather", {"city": "Oslo"}, "call_3"))],
)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("provider", ["openai-realtime", "gemini-live"])
def test_doubled_and_reordered_events_change_nothing(provider: str, data: st.DataObject) -> None:
    """Whatever the order: each call is given once, and told once."""
    events = RESPONSES[provider == "gemini-live"]
    doubled = data.draw(st.lists(st.sampled_from(events), max_size=8))
    open_session, given_calls, sent = session(provider), [], []
    for event in data.draw(st.permutations([*events, *doubled])):
        given_calls += open_session.feed(event)
        if data.draw(st.booleans()):
            open_session.plan().run()
            sent += open_session.messages
            if data.draw(st.booleans()):
                open_session.mark_sent()
                assert open_session.messages == []
    open_session.mark_sent()
    open_session.plan().run()
    sent += open_session.messages
    assert sorted(call.id for call in given_calls) == ["call_1", "call_2", "call_3"]
    told = [message["item"]["call_id"] for message in sent if "item" in message]
    told += [
        each["id"]
        for message in sent
        if "toolResponse" in message
        for each in message["toolResponse"]["functionResponses"]
    ]
    assert sorted(told) == ["call_1", "call_2", "call_3"]
    asked = [message for message in sent if message == GO_ON]
    assert (1 <= len(asked) <= 2) is (provider == "openai-realtime")


@pytest.mark.parametrize("provider", ["openai-realtime", "gemini-live"])
def test_dropped_at_every_event_a_session_repeats_no_effect_and_loses_no_result(
    provider: str, tmp_path: Path
) -> None:
    """A new session, in a new process perhaps, gets all events again; the ledger is the same."""
    events = RESPONSES[provider == "gemini-live"]
    for drop in range(len(events) + 1):
        ran: list[str] = []

        def send(city: str) -> str:
            """Sends."""
            ran.append(city)  # noqa: B023 - it runs in this turn of the loop
            return city

        bound = Registry([tool(send, name="weather")]).bind(provider)
        with Ledger(tmp_path / f"{provider}-{drop}.db") as ledger:
            for fed in (events[:drop], events):
                open_session = bound.session()
                for event in fed:
                    open_session.feed(event)
                    open_session.plan().run(ledger=ledger, scope="s")
        assert sorted(ran) == ["Bonn", "Oslo", "Rome"]
        assert [result.value for result in open_session.results] == ["Bonn", "Rome", "Oslo"]


def test_a_call_that_was_broken_off_is_told_and_the_model_goes_on() -> None:
    @tool
    async def slow(city: str) -> str:
        """Takes long."""
        await asyncio.sleep(60)
        return city

    async def main() -> list[Any]:
        open_session = Registry([slow]).bind("openai-realtime").session()
        for event in realtime("resp_1", ("slow", {"city": "Bonn"}, "call_1")):
            open_session.feed(event)
        run = asyncio.ensure_future(open_session.plan().arun())
        await asyncio.sleep(0.01)
        assert open_session.messages == []  # it runs
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        assert open_session.plans == ()
        return open_session.messages

    answer, go_on = asyncio.run(main())
    assert "cancelled" in answer["item"]["output"]
    assert go_on == GO_ON


def test_a_plan_that_was_paused_and_resumed_elsewhere_is_told_here() -> None:
    tools = Registry([tool(weather.function, approve=True, name="weather")])
    open_session = session(tools=tools)
    for event in realtime("resp_1", BONN):
        open_session.feed(event)
    plan = open_session.plan()
    token = plan.pause(b"k" * 32, audience="me", expires=timedelta(hours=1))
    results = tools.resume(token, b"k" * 32, {"call_1": True}, audience="me")
    assert open_session.messages == []
    open_session.take(results)
    assert open_session.messages == [output("call_1", "sunny in Bonn"), GO_ON]
    with pytest.raises(UsageError, match="no plan of this session"):
        session().take(results)


def test_words_of_the_server_are_hidden_where_a_tool_takes_a_secret() -> None:
    @tool
    def login(password: SecretStr) -> str:
        """Logs in."""
        return "in"

    open_session = Registry([login]).bind("openai-realtime").session()
    open_session.feed({"type": "error", "error": {"message": 'bad {"password": "hunter2"}'}})
    assert "hunter2" not in repr(open_session.warnings)
    assert len(open_session.warnings) == 1


def test_what_live_does_not_say_in_words_that_are_known_ends_no_loop() -> None:
    assert session("gemini-live").feed({}) == []
    history = {
        "serverContent": {},
        "clientContent": {
            "turns": [{"parts": [{"functionCall": {"name": "weather", "args": {}}}]}]
        },
    }
    assert session("gemini-live").feed(history) == []


def test_what_was_sent_is_looked_at_no_more() -> None:
    open_session = session()
    for number in range(50):
        for event in realtime(f"resp_{number}", ("weather", {"city": "Bonn"}, f"call_{number}")):
            open_session.feed(event)
            open_session.plan().run()
            _ = open_session.messages
    open_session.mark_sent()
    assert (open_session._planned, open_session._responses, open_session.plans) == ([], {}, ())
    assert len(open_session.results) == 50


def test_the_model_is_the_one_that_the_server_names() -> None:
    open_session = session()
    assert open_session.model is None
    open_session.feed({"type": "session.created", "session": {"model": "gpt-realtime"}})
    open_session.feed({"type": "rate_limits.updated", "rate_limits": []})
    assert open_session.model == "gpt-realtime"


def live_calls(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "name": "book", "args": {"city": each}} for each in ids]
    return {"toolCall": {"functionCalls": calls}}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("with_ledger", [False, True])
@pytest.mark.parametrize("tool_is_async", [False, True])
def test_a_call_that_is_taken_back_before_it_begins_does_not_run(
    is_async: bool, with_ledger: bool, tool_is_async: bool, tmp_path: Path
) -> None:
    """It was claimed by a run already, and waits there for the call before it."""
    began, go_on, ran = threading.Event(), threading.Event(), []

    def book(city: str) -> str:
        """Books."""
        ran.append(city)
        began.set()
        assert go_on.wait(10)
        return city

    async def book_later(city: str) -> str:
        """Books."""
        return await asyncio.get_running_loop().run_in_executor(None, book, city)

    tools = Registry([tool(book_later if tool_is_async else book, effects=["write"], name="book")])
    open_session = tools.bind("gemini-live").session()
    open_session.feed(live_calls("a", "b", "c"))
    plan = open_session.plan()
    with Ledger(tmp_path / "calls.db") as ledger:
        options: Any = {"ledger": ledger, "scope": "s"} if with_ledger else {}
        worker = threading.Thread(
            target=(lambda: asyncio.run(plan.arun(**options)))
            if is_async
            else (lambda: plan.run(**options))
        )
        worker.start()
        assert began.wait(10)
        open_session.feed({"toolCallCancellation": {"ids": ["b", "c"]}})
        go_on.set()
        worker.join()
    assert ran == ["a"]
    [told] = open_session.messages
    assert [each["id"] for each in told["toolResponse"]["functionResponses"]] == ["a"]
    codes = [result.error and result.error.code for result in open_session.results]
    assert codes == [None, "denied", "denied"]


def ids_in(messages: list[Any]) -> list[str]:
    """The ids of the calls that these messages answer."""
    of_live = [
        answer["id"]
        for message in messages
        for answer in message.get("toolResponse", {}).get("functionResponses", ())
    ]
    return of_live + [message["item"]["call_id"] for message in messages if "item" in message]


@pytest.mark.parametrize("provider", ["openai-realtime", "gemini-live"])
def test_threads_that_feed_run_and_send_repeat_and_lose_nothing(provider: str) -> None:
    ran: list[str] = []
    told: list[str] = []

    @tool(name="weather")
    def count(city: str) -> str:
        """Counts."""
        ran.append(city)
        return city

    open_session = Registry([count]).bind(provider).session()
    ids = [f"c{number}" for number in range(300)]

    def events_of(call_id: str) -> list[Any]:
        call = ("weather", {"city": call_id}, call_id)
        return [live(call)] if provider == "gemini-live" else realtime(call_id, call)[-2:]

    def run() -> None:
        open_session.plan().run()

    def send() -> None:
        told.extend(ids_in(open_session.messages))
        open_session.mark_sent()

    is_over = threading.Event()

    def until_the_end(work: Callable[[], None]) -> None:
        while not is_over.is_set():
            work()

    with ThreadPoolExecutor(3) as threads:
        working = [threads.submit(until_the_end, work) for work in (run, run, send)]
        try:
            for each in ids:
                for event in events_of(each):
                    open_session.feed(event)
        finally:
            is_over.set()
    for work in working:
        work.result()  # raises what the thread raised
    run()
    send()
    assert sorted(ran) == sorted(ids) == sorted(told)


def test_the_model_is_asked_to_go_on_when_no_other_response_is_under_way() -> None:
    """The server refuses a response beside another; a person may approve while the user speaks."""
    tools = Registry([tool(weather.function, approve=True, name="weather")])
    open_session = session(tools=tools)
    for event in realtime("resp_1", BONN):
        open_session.feed(event)
    plan = open_session.plan()
    plan.run()
    began, *_, ended = realtime("resp_2")
    open_session.feed(began)
    plan.approve("call_1")
    plan.run()
    assert open_session.messages == [output("call_1", "sunny in Bonn")]
    open_session.feed(ended)
    assert open_session.messages == [GO_ON]


def test_the_model_is_asked_again_if_the_server_refused() -> None:
    """The other response had begun, and its event had not arrived yet."""
    open_session = session()
    for event in realtime("resp_1", BONN):
        open_session.feed(event)
    open_session.plan().run()
    assert open_session.messages == [output("call_1", "sunny in Bonn"), GO_ON]
    began, *_, ended = realtime("resp_2")
    error = {"type": "invalid_request_error", "code": "conversation_already_has_active_response"}
    for event in (began, {"type": "error", "error": {**error, "message": "wait"}}):
        open_session.feed(event)
        assert open_session.messages == []
    open_session.feed(ended)
    assert open_session.messages == [GO_ON]
    open_session.feed({"type": "rate_limits.updated", "rate_limits": []})
    assert open_session.messages == []


def test_a_response_outside_of_the_conversation_holds_nobody_up() -> None:
    open_session = session()
    for event in realtime("resp_1", BONN):
        open_session.feed(event)
    began = realtime("resp_2")[0]
    began["response"]["conversation_id"] = None
    open_session.feed(began)
    open_session.plan().run()
    assert open_session.messages == [output("call_1", "sunny in Bonn"), GO_ON]


def test_a_call_that_was_cut_off_at_the_length_is_answered_as_everywhere() -> None:
    details = {"type": "incomplete", "reason": "max_output_tokens"}
    *_, done = realtime("resp_1", BONN, status="incomplete", status_details=details)
    [item] = done["response"]["output"]
    item.update(status="incomplete", arguments='{"ci')
    open_session = session()
    open_session.feed(done)
    open_session.plan().run()
    [told, go_on] = open_session.messages
    assert go_on == GO_ON
    [expected] = TOOLS.bind("openai-realtime").dispatch(done)
    assert expected.error is not None
    assert expected.error.code == "truncated_arguments"
    assert expected.text in told["item"]["output"]


def test_a_call_whose_state_the_server_does_not_say_is_whole() -> None:
    open_session = session()
    given_calls = []
    for event in realtime("resp_1", BONN):
        for item in [event.get("item"), *(event.get("response") or {}).get("output", ())]:
            if item and item["status"] == "completed":
                item["status"] = None
        given_calls += open_session.feed(event)
    assert [call.id for call in given_calls] == ["call_1"]


def test_a_paused_call_that_is_taken_back_is_told_to_the_program() -> None:
    tools = Registry([tool(weather.function, approve=True, name="weather")])
    open_session = tools.bind("gemini-live").session()
    open_session.feed(live(("weather", {"city": "Bonn"}, "call_1")))
    plan = open_session.plan()
    plan.run()
    token = plan.pause(b"k" * 32, audience="me", expires=timedelta(hours=1))
    open_session.feed({"toolCallCancellation": {"ids": ["call_1"]}})
    assert [warning.rule for warning in open_session.warnings] == ["withdrawn"]
    results = tools.resume(token, b"k" * 32, {"call_1": True}, audience="me")
    open_session.take(results)
    assert [result.value for result in open_session.results] == ["sunny in Bonn"]
    assert open_session.messages == []


def test_a_call_without_an_id_is_answered_without_one() -> None:
    """Vertex sends none; two such calls that are equal are two calls, also for a ledger."""
    open_session = session("gemini-live")
    for _ in range(2):
        call = {"name": "weather", "args": {"city": "Bonn"}}
        assert len(open_session.feed({"toolCall": {"functionCalls": [call]}})) == 1
    open_session.plan().run()
    [told] = open_session.messages
    answers = told["toolResponse"]["functionResponses"]
    assert [each["name"] for each in answers] == ["weather"] * 2
    assert not any("id" in each for each in answers)


def test_an_approved_call_goes_first_though_a_later_plan_waits() -> None:
    tools = Registry([tool(weather.function, approve=True, name="weather")])
    open_session = tools.bind("gemini-live").session()
    open_session.feed(live(("weather", {"city": "Bonn"}, "call_1")))
    first = open_session.plan()
    first.run()
    open_session.feed(live(("weather", {"city": "Rome"}, "call_2")))
    open_session.plan().run()
    first.approve("call_1")
    open_session.plan().run()
    assert [result.id for result in open_session.results if result.error is None] == ["call_1"]


def test_what_a_trace_of_a_session_holds_is_read_again(tmp_path: Path) -> None:
    for provider in ("openai-realtime", "gemini-live"):
        tools, path = Registry([weather]), tmp_path / f"{provider}.jsonl"
        tools.observe(record_to(path, keep="all"))
        open_session = tools.bind(provider).session()
        for event in (
            realtime("resp_1", BONN, ROME) if provider == "openai-realtime" else [live(BONN, ROME)]
        ):
            open_session.feed(event)
        open_session.plan().run()
        assert not replay(path, tools).changes

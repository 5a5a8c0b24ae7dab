"""Sessions, judged by the SDKs' own types of events: what comes is what they know, and what is sent."""

import json
from typing import Any

import openai.types.realtime as realtime_types
import pytest
from google.genai import types as genai_types
from judges import forced
from pydantic import TypeAdapter, ValidationError
from session_events import live, realtime
from zoo import CASES

import toolshape
from toolshape.testing import FakeSession

TOOLS = toolshape.Registry([case.function for case in CASES.values()])
CALL = ("weather", {"city": "Bonn"}, "call_1")


@toolshape.tool
def weather(city: str) -> str:
    """Tells the weather."""
    return f"sunny in {city}"


WEATHER = toolshape.Registry([weather])


@pytest.mark.parametrize("choice", [None, "auto", "none", "required", "nothing"])
def test_the_tools_of_a_realtime_session(choice: str | None) -> None:
    name = next(iter(TOOLS)).name
    request = TOOLS.bind("openai-realtime").request(choice=name if choice == "nothing" else choice)
    session = realtime_types.RealtimeSessionCreateRequest.model_validate(request)
    assert len(session.tools or ()) == len(TOOLS)
    for entry in request["tools"]:
        assert entry.keys() <= realtime_types.RealtimeFunctionTool.model_fields.keys()
    event = {"type": "session.update", "session": request}
    forced(TypeAdapter(realtime_types.SessionUpdateEventParam).validate_python(event))


@pytest.mark.parametrize("as_object", [False, True])
def test_events_and_answers_of_realtime(as_object: bool) -> None:
    session = WEATHER.bind("openai-realtime").session()
    sent: list[Any] = []
    for event in realtime("resp_1", CALL):
        known = TypeAdapter(realtime_types.RealtimeServerEvent).validate_python(event)
        session.feed(known if as_object else json.dumps(event))
        session.plan().run()
        sent += session.messages
    assert [message["type"] for message in sent] == ["conversation.item.create", "response.create"]
    for message in sent:
        forced(TypeAdapter(realtime_types.RealtimeClientEventParam).validate_python(message))
    answered = {**sent[0], "item": {**sent[0]["item"], "output": {"no": "text"}}}
    with pytest.raises(ValidationError):
        TypeAdapter(realtime_types.ConversationItemCreateEventParam).validate_python(answered)


def test_the_tools_of_a_live_session() -> None:
    config = genai_types.LiveConnectConfig.model_validate(TOOLS.bind("gemini-live").request())
    [tool] = config.tools or ()
    declared = tool.function_declarations or ()
    assert len(declared) == len(TOOLS)
    assert all(one.parameters_json_schema is None for one in declared)  # Live does not read it
    taking = [one for one in declared if one.parameters is not None]
    assert taking
    assert all(one.parameters.type == genai_types.Type.OBJECT for one in taking)


@pytest.mark.parametrize("as_object", [False, True])
def test_messages_and_answers_of_live(as_object: bool) -> None:
    session = WEATHER.bind("gemini-live").session()
    event = live(CALL)
    message = genai_types.LiveServerMessage.model_validate(event)
    calls = session.feed(message if as_object else json.dumps(event))
    assert [call.arguments for call in calls] == [{"city": "Bonn"}]
    session.plan().run()
    [answer] = session.messages
    known = genai_types.LiveClientToolResponse.model_validate(answer["toolResponse"])
    [response] = known.function_responses or ()
    assert (response.id, response.name) == ("call_1", "weather")
    assert response.response == {"output": "sunny in Bonn"}


def test_the_sdk_object_of_a_cancellation() -> None:
    session = WEATHER.bind("gemini-live").session()
    session.feed(genai_types.LiveServerMessage.model_validate(live(CALL)))
    taken_back = {"toolCallCancellation": {"ids": ["call_1"]}}
    session.feed(genai_types.LiveServerMessage.model_validate(taken_back))
    assert list(session.plan().run()) == []


@pytest.mark.parametrize("provider", ["openai-realtime", "gemini-live"])
def test_what_our_fake_sends_is_what_the_sdk_knows(provider: str) -> None:
    fake = FakeSession(provider, WEATHER)
    fake.says("Let me see.").calls(weather, city="Bonn")
    fake.says("Sunny.")
    fake.calls(weather, city="Rome").cuts("length")
    request = WEATHER.bind(provider).request()
    first = (
        {"setup": {"model": "models/m", **request}}
        if provider == "gemini-live"
        else {"type": "session.update", "session": request}
    )
    frames = [*fake.connect("m"), *fake.receive(first), *fake.speak(), *fake.speak(), *fake.speak()]
    assert len(frames) > 4
    for frame in frames:
        if provider == "gemini-live":
            genai_types.LiveServerMessage.model_validate(frame)
        else:
            known = TypeAdapter(realtime_types.RealtimeServerEvent).validate_python(frame)
            assert known.type == frame["type"]

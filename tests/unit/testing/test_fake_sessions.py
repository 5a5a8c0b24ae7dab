"""Our fake of a session, spoken to as a program speaks to the server, and over a socket by OpenAI's own client."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolshape import Registry, UsageError, tool
from toolshape.testing import Fake, FakeSession

PROVIDERS = ("openai-realtime", "gemini-live")


@tool
def weather(city: str, days: int = 1) -> str:
    """Tells the weather."""
    return f"{city}: sun for {days} days"


TOOLS = Registry([weather])
ASK = {
    "openai-realtime": {"type": "response.create"},
    "gemini-live": {"clientContent": {"turns": [], "turnComplete": True}},
}


def first_message(provider: str, tools: Registry = TOOLS) -> dict[str, Any]:
    request = tools.bind(provider).request()
    if provider == "gemini-live":
        return {"setup": {"model": "models/m", **request}}
    return {"type": "session.update", "session": request}


def hold(fake: FakeSession, tools: Registry = TOOLS, **options: Any) -> Any:
    """Ask once, feed all that comes, run each call, and send what the session says."""
    provider = fake.provider.name
    session = tools.bind(provider).session()
    frames = fake.connect("gpt-realtime")
    for message in (first_message(provider, tools), ASK[provider]):
        frames += fake.receive(json.dumps(message))
    while frames:
        session.feed(json.dumps(frames.pop(0)))
        session.plan().run(**options)
        for message in session.messages:
            frames += fake.receive(message)
    return session


@pytest.mark.parametrize("provider", PROVIDERS)
def test_calls_are_answered_and_the_model_goes_on(provider: str) -> None:
    fake = FakeSession(provider, TOOLS)
    fake.says("Let me see. ").calls(weather, city="Bonn").calls("weather", city="Rome", days=3)
    fake.says("Sunny.")
    session = hold(fake)
    assert [result.value for result in session.results] == [
        "Bonn: sun for 1 days",
        "Rome: sun for 3 days",
    ]
    assert session.text == "Let me see. Sunny."
    fake.assert_done()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_mistakes_are_told_and_mended(provider: str) -> None:
    fake = FakeSession(provider, TOOLS)
    fake.invents("wether", city="Bonn")
    fake.calls(weather, raw={"city": "Bonn", "days": "many"})
    fake.calls(weather, city="Bonn")
    fake.says("Done.")
    session = hold(fake)
    codes = [result.error and result.error.code for result in session.results]
    assert codes == ["unknown_tool", "invalid_arguments", None]
    fake.assert_done()


def test_the_same_script_gives_the_same_calls_whole_streamed_and_in_a_session() -> None:
    """The SDK reads what the fakes of requests send; the session what the fake of sessions sends."""
    openai = pytest.importorskip("openai")

    def scripted(fake: Any) -> Any:
        fake.calls(weather, city="Bonn").calls(weather, city="Rome", days=3)
        return fake

    seen = []
    for provider in PROVIDERS:
        fake = scripted(FakeSession(provider, TOOLS))
        fake.says("Done.")
        seen.append([result.call.arguments for result in hold(fake).results])
    for is_streamed in (False, True):
        with scripted(Fake("openai-responses", TOOLS)) as fake:
            client = openai.OpenAI(base_url=f"{fake.url}/v1", api_key="x", max_retries=0)
            request = {**TOOLS.request("openai-responses"), "model": "m", "input": "x"}
            if is_streamed:
                with client.responses.stream(**request) as stream:
                    response = stream.get_final_response()
            else:
                response = client.responses.create(**request)
        seen.append([result.call.arguments for result in TOOLS.dispatch(response)])
    assert seen == [[{"city": "Bonn"}, {"city": "Rome", "days": 3}]] * 4


def test_what_the_server_refuses_is_refused_with_its_words() -> None:
    fake = FakeSession("openai-realtime", TOOLS)
    update = first_message("openai-realtime")
    update["session"]["tools"][0]["strict"] = True
    [error] = fake.receive(update)
    assert error["error"]["message"] == "Unknown parameter: 'session.tools[0].strict'."
    output = {"type": "function_call_output", "call_id": "nobody", "output": "x"}
    [error] = fake.receive({"type": "conversation.item.create", "item": output})
    assert error["error"]["code"] == "invalid_tool_call_id"
    with pytest.raises(AssertionError, match=r"refused: .*nobody"):
        fake.assert_done()


def test_live_says_nothing_to_an_answer_that_it_does_not_know() -> None:
    fake = FakeSession("gemini-live", TOOLS)
    answers = [{"id": "nobody", "name": "weather", "response": {}}]
    assert fake.receive({"toolResponse": {"functionResponses": answers}}) == []
    assert [reason.rule for reason in fake.refused] == ["unknown_id"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_missing_is_said(provider: str) -> None:
    fake = FakeSession(provider, TOOLS)
    fake.calls(weather, city="Bonn")
    fake.says("Never said.")
    fake.receive(ASK[provider])  # no tools were sent
    with pytest.raises(AssertionError, match=r"does not offer it(.|\n)*never said: calls"):
        fake.assert_done()
    fake.receive(first_message(provider))
    fake.receive(ASK[provider])
    with pytest.raises(AssertionError, match="was never answered"):
        fake.assert_done()
    empty = FakeSession(provider)
    empty.speak()
    with pytest.raises(AssertionError, match="no turn left"):
        empty.assert_done()


def test_a_provider_of_requests_has_a_fake_of_requests() -> None:
    with pytest.raises(UsageError, match="use Fake"):
        FakeSession("openai")


# --- over a socket -------------------------------------------------------------------------------


def serve(fake: FakeSession) -> Iterator[str]:
    """Serve a fake on a socket; yield its address."""
    server = pytest.importorskip("websockets.sync.server")

    def talk(connection: Any) -> None:
        for frame in fake.connect():
            connection.send(json.dumps(frame))
        for message in connection:
            for frame in fake.receive(message):
                connection.send(json.dumps(frame))

    with server.serve(talk, "127.0.0.1", 0) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.socket.getsockname()[1]}"
        served.shutdown()
        thread.join()


def with_openai(url: str) -> Any:
    openai = pytest.importorskip("openai")
    bound = TOOLS.bind("openai-realtime")
    session = bound.session()
    client = openai.OpenAI(api_key="none", base_url=f"{url}/v1")
    with client.realtime.connect(model="gpt-realtime") as connection:
        connection.session.update(session=bound.request())
        connection.response.create()
        for event in connection:
            session.feed(event)
            session.plan().run()
            for message in session.messages:
                connection.send(message)
            if session.text:
                break
    return session


async def with_openai_in_a_loop(url: str) -> Any:
    openai = pytest.importorskip("openai")
    bound = TOOLS.bind("openai-realtime")
    session = bound.session()
    client = openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1")
    async with client.realtime.connect(model="gpt-realtime") as connection:
        await connection.session.update(session=bound.request())
        await connection.response.create()
        async for event in connection:
            session.feed(event)
            await session.plan().arun()
            for message in session.messages:
                await connection.send(message)
            if session.text:
                break
    await client.close()
    return session


@pytest.mark.parametrize("talk", [with_openai, lambda url: asyncio.run(with_openai_in_a_loop(url))])
def test_openais_own_client_over_a_socket(talk: Callable[[str], Any]) -> None:
    fake = FakeSession("openai-realtime", TOOLS)
    fake.calls(weather, city="Bonn")
    fake.says("Sunny.")
    for url in serve(fake):
        session = talk(url)
    assert [result.value for result in session.results] == ["Bonn: sun for 1 days"]
    fake.assert_done()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_call_that_is_cut_off_never_runs(provider: str) -> None:
    """Realtime sends the half of it, which is answered; at Live a call comes whole or not at all."""
    fake = FakeSession(provider, TOOLS)
    fake.calls(weather, city="Bonn").cuts("length")
    fake.says("Sorry.")
    codes = [result.error and result.error.code for result in hold(fake).results]
    assert codes == (["truncated_arguments"] if provider == "openai-realtime" else [])

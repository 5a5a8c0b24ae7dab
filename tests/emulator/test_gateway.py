"""Through a gateway that others wrote: three forms in front, five providers behind it, whole and streamed.

The gateway is litellm's proxy, offline, in front of the emulator and of this library's fakes. It translates
each request and each response, so both a fault of ours and one of its own show as a difference. Where it is its
own, its client gets the same from it: the SDK of OpenAI is asked the same question.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from emulated import CALLS, SAID, TOOLS, emulator, free_port, started, weather

from toolshape import Conversation, ResponseError
from toolshape.testing import Fake

anthropic = pytest.importorskip("anthropic", reason="the real SDKs are asked: nox -s gateway")
openai = pytest.importorskip("openai", reason="the real SDKs are asked: nox -s gateway")

REASON = "the gateway is not installed: nox -s gateway"
FORMS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "openai-responses": "/v1/responses",
}
MORE = {"anthropic": {"max_tokens": 512}}
# The name of the model as the gateway's configuration has it, and the path of its API at the emulator.
BEHIND = {
    "openai": ("openai/gpt-4o", "/v1"),
    "anthropic": ("anthropic/claude-sonnet-4-5", ""),
    "ollama": ("ollama_chat/llama3.2", ""),
    "cohere": ("cohere_chat/command-a-03-2025", "/v2/chat"),
    "gemini": ("gemini/gemini-2.5-pro", "/v1beta"),
}
SETTINGS = {"router_settings": {"disable_cooldowns": True, "num_retries": 0}}
FAKED = ("openai", "openai-responses", "anthropic", "ollama", "cohere", "gemini")


def model(name: str, sent: str, base: str) -> dict[str, Any]:
    return {
        "model_name": name,
        "litellm_params": {"model": sent, "api_base": base, "api_key": "none"},
    }


def at_fake(provider: str, url: str) -> tuple[str, str]:
    """The model and the address of a fake, in the words of the gateway."""
    sent, path = BEHIND["openai" if provider == "openai-responses" else provider]
    return sent, f"{url}{path}"


@pytest.fixture(scope="session")
def fakes() -> Iterator[dict[str, Fake]]:
    started_fakes = {provider: Fake(provider, TOOLS) for provider in FAKED}
    yield started_fakes
    for fake in started_fakes.values():
        fake.close()


@pytest.fixture(scope="session")
def gateway(fakes: dict[str, Fake], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the gateway."""
    program = os.environ.get("TOOLSHAPE_GATEWAY")
    if not program:
        pytest.skip(REASON)
    with emulator(20) as emulated:
        models = [model(name, sent, f"{emulated}{path}") for name, (sent, path) in BEHIND.items()]
        models += [model(f"fake-{name}", *at_fake(name, fake.url)) for name, fake in fakes.items()]
        config = Path(tmp_path_factory.mktemp("gateway"), "config.yaml")
        config.write_text(json.dumps({"model_list": models, **SETTINGS}))  # each JSON text is YAML
        port = free_port()
        words = [program, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
        health = f"http://127.0.0.1:{port}/health/liveliness"
        offline = {
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_LOG": "ERROR",
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        }
        with started([*words, "--telemetry", "False"], health, **offline) as url:
            yield url


def body_of(form: str, chat: Conversation, name: str, *, streams: bool) -> dict[str, Any]:
    # A gateway hands the key strict on to providers that refuse it, or says it of schemas that are not.
    keywords = chat.request(form, model=name, strict=False)
    return {**keywords, **MORE.get(form, {}), "stream": streams}


def ask(url: str, form: str, chat: Conversation, name: str, *, streams: bool) -> Any:
    body = body_of(form, chat, name, streams=streams)
    reply = httpx.post(f"{url}{FORMS[form]}", json=body, timeout=60)
    assert reply.status_code == 200, reply.text
    if not streams:
        return chat.dispatch(reply.json(), provider=form)
    collector = chat.collector(form)
    for at in range(0, len(reply.content), 7):
        collector.feed(reply.content[at : at + 7])
    collector.close()
    return chat.dispatch(collector)


def calls_in(response: Any, form: str) -> list[tuple[str, Any]]:
    """The calls of a whole response, as the classes of the form's SDK hold them."""
    if form == "openai":
        found = response.choices[0].message.tool_calls or []
        return [(call.function.name, json.loads(call.function.arguments)) for call in found]
    if form == "anthropic":
        return [(block.name, block.input) for block in response.content if block.type == "tool_use"]
    found = [item for item in response.output if item.type == "function_call"]
    return [(call.name, json.loads(call.arguments)) for call in found]


def calls_by_sdk(url: str, form: str, body: dict[str, Any]) -> list[tuple[str, Any]]:
    """The calls that the form's own SDK gets; it puts the pieces of a stream together itself."""
    given = {key: value for key, value in body.items() if key != "stream"}
    if form == "anthropic":
        claude = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0).messages
        if not body["stream"]:
            return calls_in(claude.create(**given), form)
        with claude.stream(**given) as stream:
            return calls_in(stream.get_final_message(), form)
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    endpoint = client.chat.completions if form == "openai" else client.responses
    if not body["stream"]:
        return calls_in(endpoint.create(**given), form)
    with endpoint.stream(**given) as stream:
        whole = stream.get_final_completion() if form == "openai" else stream.get_final_response()
        return calls_in(whole, form)


def by(outcome: Callable[[], list[tuple[str, Any]]]) -> Any:
    """What is read of a response, or that it holds an error."""
    try:
        return outcome()
    except (AssertionError, ResponseError, openai.OpenAIError, anthropic.AnthropicError):
        return "an error"
    except RuntimeError as error:  # OpenAI's SDK has no other for a stream that begins with its end
        assert "response.failed" in str(error)
        return "an error"


def fault_of(form: str, behind: str, question: str, *, streams: bool) -> str:
    """What the gateway, or the emulator behind it, does wrong; empty if nothing is known (2026-11-28)."""
    if behind == "cohere" and streams:
        return "the gateway reads no event's name in Cohere's streams"
    if (form, behind, question) == ("openai-responses", "ollama", "no arguments") and streams:
        return "the gateway sends no call without arguments"
    if behind == "cohere" and question == "fake" and form != "openai":
        return "the gateway sends Cohere the key strict, which it was not sent, and which Cohere refuses"
    return ""


def is_known_fault(
    url: str, form: str, behind: str, question: str, *, streams: bool, name: str = ""
) -> bool:
    """Whether a fault of others is known here; then the form's own SDK gets what we read."""
    if not fault_of(form, behind, question, streams=streams):
        return False
    chat = Conversation(TOOLS)
    chat.user(question)
    body = body_of(form, chat, name or behind, streams=streams)
    ours = by(
        lambda: [
            (result.name, result.call.arguments)
            for result in ask(url, form, chat, name or behind, streams=streams)
        ]
    )
    theirs = by(lambda: calls_by_sdk(url, form, body))
    assert ours == theirs
    assert ours != CALLS.get(question)
    return True


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("question", CALLS)
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("form", FORMS)
def test_a_turn_with_tools(gateway, form, behind, question, streams):
    """The calls and the text are those of the fixture, and the emulator takes the results and answers."""
    if is_known_fault(gateway, form, behind, question, streams=streams):
        return
    chat = Conversation(TOOLS)
    chat.system("Be brief.")
    chat.user(question)
    results = ask(gateway, form, chat, behind, streams=streams)
    assert [(result.name, result.call.arguments) for result in results] == CALLS[question]
    assert not results.warnings
    assert results.finish == "tool_calls"
    if behind != "cohere":  # the emulator's Cohere says a plan instead of the text
        assert SAID[question] in chat.messages[2].text
    if (
        behind == "gemini"
    ):  # the emulator does not know "function_response", which the gateway writes
        return
    assert ask(gateway, form, chat, behind, streams=streams).finish == "stop"
    assert chat.messages[-1].text == SAID[""]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("form", FORMS)
def test_a_turn_with_a_fake_behind(gateway, fakes, form, behind, streams):
    """A fake of each provider takes what the gateway writes of our request, and its answers come back."""
    # The gateway asks OpenAI by its Responses, where it was not asked by chat completions.
    is_responses = behind == "openai" and form != "openai"
    fake = fakes["openai-responses" if is_responses else behind]
    name = f"fake-{'openai-responses' if is_responses else behind}"
    if fault_of(form, behind, "fake", streams=streams):
        fake.answers(lambda exchange: "Two days.")
        assert is_known_fault(gateway, form, behind, "fake", streams=streams, name=name)
        return
    fake.calls(weather, city="Köln", days=2)
    fake.says("Two days.")
    chat = Conversation(TOOLS)
    chat.user("The weather in Köln?")
    [result] = ask(gateway, form, chat, name, streams=streams)
    assert (result.name, result.value) == ("weather", "2 sunny days in Köln")
    ask(gateway, form, chat, name, streams=streams)
    assert chat.messages[-1].text == "Two days."

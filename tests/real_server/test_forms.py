"""The library as an app uses it, with the SDKs of others, in front of a real server with a real model."""

import json
import uuid
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from toolshape import Conversation, Output, Registry, tool

anthropic = pytest.importorskip("anthropic", reason="the real SDKs are asked: nox -s real_server")
openai = pytest.importorskip("openai", reason="the real SDKs are asked: nox -s real_server")

FORMS = ("llama-cpp", "anthropic", "openai-responses")
FORMATS = ("hermes", "qwen3_coder", "llama3_json", "mistral")
SAMPLING = {
    "temperature": 0,
    "seed": 7,
    "cache_prompt": False,
    "stop": ["<end_of_turn>", "<start_of_turn>"],
}
FAULTS_OF_THE_SERVER = ("does not match the expected", "Unexpected empty grammar stack")
ANSWERED = {
    "truncated_arguments", "malformed_arguments", "invalid_arguments", "unknown_tool",
}  # fmt: skip


@tool
def weather(city: str, days: int = 1) -> str:
    """Get the weather of a city.

    Args:
        city: The city.
        days: For how many days.
    """
    return f"{city}: sunny for {days} days"


TOOLS = Registry([weather])


def taught(*cities: str) -> Conversation:
    """A conversation in which the model has called the tool before, as it will do again."""
    chat = Conversation(TOOLS)
    for number, city in enumerate(cities, 2):
        chat.user(f"What is the weather in {city} for {number} days?")
        call = ("weather", {"city": city, "days": number})
        [message] = TOOLS.bind("openai").calls_as_messages([call])
        call_id = message["tool_calls"][0]["id"]
        text = f"{city}: sunny for {number} days"
        chat.read([message, {"role": "tool", "tool_call_id": call_id, "content": text}], "openai")
    return chat


def ask(
    url: str, form: str, request: dict[str, Any], *, most: int = 48, stream: bool = False
) -> Any:
    """The response of the server, through the SDK of the form."""
    request = {**request, "stream": stream, "extra_body": SAMPLING, "timeout": 120}
    try:
        if form == "anthropic":
            client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
            return client.messages.create(**{**request, "max_tokens": most})
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        if form == "openai-responses":
            return client.responses.create(**request, max_output_tokens=most)
        return client.chat.completions.create(**request, max_tokens=most)
    except (openai.InternalServerError, anthropic.InternalServerError) as error:
        if any(fault in str(error) for fault in FAULTS_OF_THE_SERVER):
            pytest.skip(f"the server failed over what its own model wrote: {str(error)[:100]}")
        raise


def said(results: Any) -> list[Any]:
    return [
        (result.call.wire_name, result.text if result.ok else result.error.code)
        for result in results
    ]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text_format", FORMATS)
def test_whole_and_streamed_are_one(serve, form, text_format):
    """The same calls, the same finish and the same text, with calls in the text or parsed by the server."""
    url = serve(text_format)
    chat = taught("Rome", "Paris", "Oslo")
    chat.user("What is the weather in Bonn for 3 days?")
    request = chat.request(form, model="m", text_calls=text_format)
    bound = TOOLS.bind(form, text_calls=text_format)
    whole = bound.dispatch(ask(url, form, request))
    collector = bound.collector()
    early = [call.id for call in collector.over(ask(url, form, request, stream=True))]
    streamed = collector.plan().run()
    print(form, text_format, said(whole), whole.finish, [each.rule for each in whole.warnings])
    assert said(streamed) == said(whole)
    assert len(set(early)) == len(early)
    assert (streamed.finish, bool(streamed)) == (whole.finish, bool(whole))
    assert {code for _, code in said(whole) if " " not in code} <= ANSWERED
    assert whole or whole.finish in ("stop", "length")
    json.dumps(whole.turn)


@pytest.mark.parametrize("text_format", ["hermes", "qwen3_coder"])
def test_a_conversation_goes_from_form_to_form(serve, text_format):
    """Each form of the server is sent what another one answered, and takes it; so does what was stored.

    The server's Responses refuse an assistant's plain message of another form ("Cannot determine
    type of 'item'", 2026-11-27), so the conversation begins there.
    """
    url = serve(text_format)
    chat = taught("Rome", "Paris", "Oslo")
    for turn, form in enumerate(("openai-responses", "llama-cpp", "anthropic", "llama-cpp")):
        chat.user(f"What is the weather in Bonn for {turn + 3} days?")
        request = chat.request(form, model="m", text_calls=text_format)
        results = chat.dispatch(ask(url, form, request))
        print(form, said(results), results.finish, [each.rule for each in results.warnings])
        chat = Conversation.from_json(chat.to_json(), TOOLS)
        again = chat.request("llama-cpp", model="m", text_calls=text_format)
        assert ask(url, "llama-cpp", again, most=1)


def test_an_approval_waits_and_is_restored(serve):
    """The call of a real model waits, is stored, and runs in another process's conversation."""
    ran: list[str] = []

    @tool(approve=True, effects=["write"])
    def weather(city: str, days: int = 1) -> str:
        """Get the weather of a city."""
        ran.append(city)
        return f"{city}: sunny for {days} days"

    tools = Registry([weather])
    url, chat = serve("hermes"), taught("Rome", "Paris", "Oslo")
    guarded = Conversation.from_json(chat.to_json(), tools)
    guarded.user("What is the weather in Bonn for 3 days?")
    request = guarded.request("llama-cpp", model="m", text_calls="hermes")
    results = guarded.dispatch(ask(url, "llama-cpp", request))
    if not results.pending:
        pytest.skip("the model did not call the tool")
    assert not ran
    stored = Conversation.from_json(guarded.to_json(), tools)
    for waiting in stored.pending:
        stored.approve(waiting, again=True)  # without a ledger, it may have run elsewhere
    stored.run()
    assert ran
    assert ask(url, "llama-cpp", stored.request("llama-cpp", model="m", text_calls="hermes"))


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Point(BaseModel):
    x: int = Field(ge=0, le=9)
    y: int = Field(ge=0, le=9)


class Item(BaseModel):
    name: str = Field(min_length=1, max_length=12)
    count: int = Field(ge=1, le=5)


class Order(BaseModel):
    customer: str = Field(max_length=12)
    items: list[Item] = Field(min_length=1, max_length=2)
    express: bool = False


TYPES: dict[str, Any] = {
    "a bool": bool, "an integer": int, "a choice": Literal["yes", "no"], "an enum": Colour, "a model": Point, "models": Order,
    "a list": Annotated[list[bool], Field(min_length=2, max_length=3)], "a union": Point | Literal["nowhere"],
    "a date": date, "an instant": datetime, "a uuid": uuid.UUID, "a bounded text": Annotated[str, Field(max_length=20)],
    "a pattern": Annotated[str, Field(pattern="^[A-C]{3}$")], "a decimal": Decimal, "an optional": Point | None,
}  # fmt: skip


def test_an_answer_fits_its_type(serve, drawn):
    """Or the response says that it was cut off."""
    url, names = serve("plain"), list(TYPES)
    fitting = 0
    for at in drawn(len(names), 4):
        output = Output(TYPES[names[at]], name="answer")
        bound = output.bind("llama-cpp")
        chat = Conversation(Registry([]))
        chat.user("Answer with any valid value.")
        request = chat.request("llama-cpp", model="m", output=output)
        response = ask(url, "llama-cpp", request, most=96)
        answer = bound.read(response)
        print(names[at], answer, answer.text[:60], answer.finish)
        if answer.finish == "length":
            continue
        sent = request["response_format"]["json_schema"]["schema"]
        Draft202012Validator(sent).validate(json.loads(answer.text))
        moved = list(bound.report())
        assert answer.ok or moved, (names[at], answer.text, answer.error)
        fitting += answer.ok
    print(fitting, "fit")

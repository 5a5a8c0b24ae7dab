"""The library as an app uses it, with the SDKs of others, in front of a real server with a real model."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from random import Random
from typing import Annotated, Any, Literal

import httpx
import pytest
from drawn_types import drawn_type
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import BaseModel, Field

from toolshape import Conversation, Output, Registry, tool
from toolshape._cli.rulebook.endpoint import CHECKS, behaviours, make_ask
from toolshape.evals import Case, Expect, Model, Run, evaluate

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


def judged(url: str, name: str, answer_type: Any, most: int = 96) -> bool:
    """Ask for an answer in a type; it fits what was sent, and what does not fit the type is in the report.

    Returns whether it fits the type. An answer that was cut off is judged by nobody.
    """
    output: Output[Any] = Output(answer_type, name="answer")
    bound, chat = output.bind("llama-cpp"), Conversation(Registry([]))
    chat.user("Answer with any valid value.")
    request = chat.request("llama-cpp", model="m", output=output)
    response = ask(url, "llama-cpp", request, most=most)
    answer = bound.read(response)
    print(name, answer, answer.text[:60], answer.finish)
    if answer.finish == "length":
        return False
    sent = request["response_format"]["json_schema"]["schema"]
    # The server's grammar of a date counts digits, and knows no calendar: it lets the year 0 through.
    # The checks are those of this draft: what ``FormatChecker`` has by itself means draft 3 by "time".
    value, checker = json.loads(answer.text), Draft202012Validator.FORMAT_CHECKER
    without_calendar = FormatChecker(formats=())
    without_calendar.checkers = {
        name: check for name, check in checker.checkers.items() if name not in ("date", "date-time")
    }
    Draft202012Validator(sent, format_checker=without_calendar).validate(value)
    is_in_calendar = Draft202012Validator(sent, format_checker=checker).is_valid(value)
    left_out = [entry for entry in bound.report() if entry.severity == "not_enforced"]
    assert answer.ok or left_out or not is_in_calendar, (name, answer.text, answer.error)
    return answer.ok


def test_an_answer_fits_its_type(serve, drawn):
    """Or the response says that it was cut off."""
    url, names = serve("plain"), list(TYPES)
    fitting = [judged(url, names[at], TYPES[names[at]]) for at in drawn(len(names), 4)]
    print(sum(fitting), "fit of", len(fitting))


def test_an_answer_fits_a_type_that_was_drawn(serve, drawn):
    """Two hundred types by hand, ten in CI: each as the seed and its number make it."""
    url, seed = serve("plain"), os.environ.get("TOOLSHAPE_SEED", "0")
    fitting = []
    for number in drawn(200, 10):
        answer_type = drawn_type(Random(f"{seed} {number}"))
        fitting.append(judged(url, f"{number}: {answer_type}", answer_type))
    print(sum(fitting), "fit of", len(fitting))


def test_an_evaluation_of_two_models(serve, tmp_path):
    """Two templates are two models: each trial is judged, their page shows both, and the lines hold the run."""
    cases = [
        Case(city, f"What is the weather in {city} for {days} days?", [Expect(weather, city=city, days=days)])
        for city, days in (("Rome", 2), ("Oslo", 5))
    ]  # fmt: skip
    verdicts: list[Any] = []
    for text_format in ("hermes", "llama3_json"):  # one server at a time
        url = serve(text_format)

        def send(request: Any, messages: Any, url: str = url) -> Any:
            return ask(url, "llama-cpp", {**request, "model": "m", "messages": messages})

        model = Model(f"llama-cpp+{text_format}", send)
        run = asyncio.run(evaluate(TOOLS, cases, {text_format: model}, trials=1, limit=1))
        verdicts += run.verdicts
    both = Run(verdicts=tuple(verdicts))
    print(both)
    assert len(verdicts) == 4
    assert {verdict.label for verdict in verdicts if verdict.error} <= {"failed"}
    assert not any("toolshape" in str(verdict.error) for verdict in verdicts)
    assert Run.from_json_lines(both.to_json_lines()) == both
    page = both.to_html()
    assert "hermes" in page
    assert "llama3_json" in page


def test_what_verify_asks_is_answered(serve):
    """Each behaviour is judged over answers of a few tokens; what is refuted is the server's, or its model's."""
    url = serve("hermes")
    with httpx.Client() as client:
        ask_whole = make_ask(f"{url}/v1", "", client, 120)
        found = list(behaviours("m", lambda body: ask_whole({**body, "max_tokens": 32})))
    print(*found, sep="\n")
    assert [behaviour.name for behaviour in found] == list(CHECKS)
    # This server may end a stream in the middle, over what its own model wrote; nothing else is unknown.
    unknown = [behaviour for behaviour in found if behaviour.outcome == "unknown"]
    assert all("RemoteProtocolError" in behaviour.words for behaviour in unknown)


def test_verify_asks_the_server(serve, tmp_path):
    """The command, with answers as long as it asks for them: five minutes, so by hand alone."""
    if os.environ.get("TOOLSHAPE_REAL_SERVER") != "all":
        pytest.skip("nox -s real_server -- all")
    url, table = serve("hermes"), tmp_path / "table.jsonl"
    words = ["verify", "--endpoint", f"{url}/v1", "--model", "m", "--json", str(table)]
    command = [sys.executable, "-m", "toolshape", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    print(done.stdout)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert len(list(map(json.loads, table.read_text().splitlines()))) == len(CHECKS)

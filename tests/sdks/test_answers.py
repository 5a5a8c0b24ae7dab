"""Answers in a type through the real SDK clients: what they send, and what they return, whole and streamed.

The SDKs' own helpers read the same bodies as the same values.
"""

import gc
import json
from typing import Any

import pytest
from clients import (
    CLIENTS,
    STREAMS,
    _anthropic as anthropic_client,
    _mistral as mistral_client,
    _openai as openai_client,
)
from pydantic import BaseModel
from test_clients import question

from toolshape import Conversation, Output, Registry, tool
from toolshape.testing import Fake

# The SDKs leave the closing of their sockets to the garbage collector, which is run where that is expected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Line(BaseModel):
    sku: str
    qty: int


class Invoice(BaseModel):
    """An invoice."""

    total: float
    lines: list[Line]


class Order(BaseModel):
    """An order with what strict dialects do not have: a map, a tuple, a default, a field that holds the same type."""

    tags: dict[str, int]
    size: tuple[int, int]
    note: str = ""
    parts: list["Order"] = []


INVOICE = {"total": 3.5, "lines": [{"sku": "a", "qty": 2}]}
ORDER = Order(tags={"a": 1}, size=(1, 2), parts=[Order(tags={}, size=(3, 4))])
EVERY = pytest.mark.parametrize("provider", CLIENTS)


@pytest.fixture(autouse=True)
def _collected():
    yield
    gc.collect()


def asking(provider: str, output: Output[Any]) -> dict[str, Any]:
    return {**question(provider), **output.bind(provider).request()}


def written(provider: str, output: Output[Any], canonical: Any) -> str:
    """An answer as a model writes it: in the form of the schema that was sent."""
    from toolshape._answers.export import output_to_wire
    from toolshape._answers.record import record_of_output

    out = output_to_wire(
        output.bind(provider).provider, record_of_output(output).spec, "auto"
    ).lens.out
    return json.dumps(canonical if out is None else out(canonical))


@EVERY
def test_an_answer_is_read_whole_and_streamed(provider):
    """From the SDK's own objects and events; the request is accepted by the SDK and holds the schema."""
    output = Output(Order)
    bound = output.bind(provider)
    text = written(provider, output, ORDER.model_dump(mode="json"))
    with Fake(provider, strict=True) as fake:
        fake.says(text)
        fake.says(text)
        answer = bound.read(CLIENTS[provider](fake.url, asking(provider, output)))
        assert answer.unwrap() == ORDER
        collector = bound.collector()
        states = list(collector.over(STREAMS[provider](fake.url, asking(provider, output))))
        assert collector.close().unwrap() == ORDER
        assert states[-1]["tags"] == {"a": 1}
        assert "tags" in json.dumps(fake.exchanges[0].request)


@tool
def look(number: int) -> str:
    """Look an order up."""
    return f"order {number}"


@EVERY
@pytest.mark.parametrize("is_streamed", [False, True])
def test_tools_and_then_an_answer(provider, is_streamed):
    """One conversation: a call, a wrong answer, the right one; each request is accepted, by the SDK and by the fake."""
    output, tools = Output(Order), Registry([look])
    conversation = Conversation(tools)
    conversation.user("The order, please.")
    more = {key: value for key, value in question(provider).items() if key == "max_tokens"}

    def ask(fake):
        request = conversation.request(provider, model="gemini-2.5-flash", output=output, **more)
        if not is_streamed:
            return conversation.dispatch(CLIENTS[provider](fake.url, request))
        collector = conversation.collector()
        for event in STREAMS[provider](fake.url, request):
            collector.feed(event)
        collector.close()
        return conversation.dispatch(collector)

    with Fake(provider, tools, strict=True) as fake:
        fake.calls("look", number=4)
        fake.says("I cannot say.")
        fake.says(ORDER)
        called, wrong, right = ask(fake), ask(fake), ask(fake)
        assert called[0].text == "order 4"
        assert called.output is None
        assert wrong.output.error is not None
        assert right.output.value == ORDER
        assert "I cannot say" in json.dumps(fake.exchanges[2].request)
        assert wrong.output.error.code == "malformed_answer"
        fake.assert_done()


@EVERY
def test_an_answer_that_is_asked_for_again(provider):
    """The turn of a wrong answer is accepted by the provider, and the model reads what was wrong."""
    output = Output(Invoice)
    bound = output.bind(provider)
    with Fake(provider) as fake:
        fake.says('{"total": "much"}')
        fake.says(json.dumps(INVOICE))
        request = asking(provider, output)
        answer = bound.read(CLIENTS[provider](fake.url, request))
        assert answer.error is not None
        key = next(name for name in ("messages", "contents", "input") if name in request)
        again = {**request, key: [*request[key], *answer.turn]}
        assert bound.read(CLIENTS[provider](fake.url, again)).unwrap() == Invoice(**INVOICE)
        assert "expected number" in json.dumps(fake.exchanges[1].request)


def test_the_helpers_of_the_sdks_read_the_same():
    """``parse`` of openai, anthropic and mistralai, on the body that we read."""
    text = json.dumps(INVOICE)
    invoice = Invoice(**INVOICE)
    with Fake("openai") as fake:
        fake.says(text)
        parsed = openai_client(fake.url).chat.completions.parse(
            response_format=Invoice, **question("openai")
        )
        assert (
            parsed.choices[0].message.parsed
            == Output(Invoice).bind("openai").read(parsed).unwrap()
            == invoice
        )
    with Fake("openai-responses") as fake:
        fake.says(text)
        response = openai_client(fake.url).responses.parse(
            text_format=Invoice, **question("openai-responses")
        )
        assert (
            response.output_parsed
            == Output(Invoice).bind("openai-responses").read(response).unwrap()
            == invoice
        )
    with Fake("anthropic") as fake:
        fake.says(text)
        message = anthropic_client(fake.url).messages.parse(
            max_tokens=9, output_format=Invoice, **question("anthropic")
        )
        assert (
            message.parsed_output
            == Output(Invoice).bind("anthropic").read(message).unwrap()
            == invoice
        )
    with Fake("mistral") as fake:
        fake.says(text)
        completion = mistral_client(fake.url).chat.parse(
            response_format=Invoice, **question("mistral")
        )
        assert (
            completion.choices[0].message.parsed
            == Output(Invoice).bind("mistral").read(completion).unwrap()
            == invoice
        )


def test_botocore_takes_the_schema():
    """The model of the service says that the schema is a text, inside a structure of one key."""
    from botocore.session import Session
    from botocore.validate import ParamValidator

    shape = Session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape
    request = {"modelId": "m", "messages": [], **Output(Order).bind("bedrock").request()}
    assert not ParamValidator().validate(request, shape).has_errors()

"""An output in one request with tools: as a field of it, or as a tool among the others; in a conversation, too."""

import json
import pickle
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from toolshape import Conversation, DefinitionError, ExportError, Output, Registry, UsageError, tool
from toolshape._families import get
from toolshape._families.names import available
from toolshape._families.wire.provider import Provider
from toolshape._families.wire.server import Completion
from toolshape.provider import WireCall


class Invoice(BaseModel):
    """An invoice."""

    total: float
    tags: dict[str, int] = {}


@tool(effects=["read"])
def look(number: int) -> str:
    """Look an order up."""
    return f"order {number}"


@tool(effects=["write"], approve=True)
def pay(amount: float) -> str:
    """Pay."""
    return f"paid {amount}"


OUTPUT = Output(Invoice)
TOOLS = Registry([look, pay])
ASKED = [name for name in available() if get(name).histories is not None]
PLAYED = [name for name in ASKED if get(name).server is not None]
WRONG = "The answer does not fit the schema of Invoice"


def is_call(provider: str) -> bool:
    form = get(provider).output
    return form is None or form.not_beside_tools is not None


def response(provider: str, *calls: tuple[str, Any], text: str = "") -> dict[str, Any]:
    """A response of a provider, made by the server that the fake plays."""
    server = get(provider).server
    assert server is not None
    made = [
        WireCall(f"call_{number:05}", name, arguments)
        for number, (name, arguments) in enumerate(calls)
    ]
    finish = "tool_calls" if calls else "stop"
    return json.loads(
        json.dumps(server.respond(Completion("m", "0", text, calls=tuple(made), finish=finish)))
    )


def answered(provider: str, canonical: dict[str, Any]) -> dict[str, Any]:
    """A response with an answer, in the form that was sent."""
    beside = TOOLS.bind(provider, output=OUTPUT)._bound_tools.answer
    assert beside is not None
    written = canonical if beside.lens.out is None else beside.lens.out(canonical)
    return (
        response(provider, ("Invoice", written))
        if beside.wire_name
        else response(provider, text=json.dumps(written))
    )


@pytest.mark.parametrize("provider", ASKED)
def test_a_request_holds_the_tools_and_the_answer(provider):
    """The keywords of both; where the answer is a tool, it is the last, and a call is forced if one can be."""
    tools, alone = TOOLS.bind(provider), OUTPUT.bind(provider)
    both = TOOLS.bind(provider, output=OUTPUT)
    if not is_call(provider):
        for key, value in alone.request().items():
            sent = both.request()[key]
            assert sent == value or sent.items() > value.items()
        assert both.export() == tools.export()
        return
    assert json.dumps(both.export()).index("look") < json.dumps(both.export()).index("Invoice")
    assert "answered_by_tool" in {entry.rule for entry in both.report()}
    assert not any(key in both.request() for key in ("response_format", "format"))


def test_which_providers_are_sent_a_tool():
    """Those without a field, and those that refuse it beside tools or then call none; each with its evidence."""
    by_call = {name for name in ASKED if is_call(name) and ":" not in name}
    assert by_call == {
        "cohere", "copilot", "deepseek", "fireworks", "gemini", "gemini-openapi", "groq", "huggingface", "llama-cpp",
        "lm-studio", "mistral", "ollama", "sglang", "vertex", "vllm",
    }  # fmt: skip
    for name in by_call - {"copilot", "deepseek"}:
        form = get(name).output
        assert form is not None
        assert form.not_beside_tools


@pytest.mark.parametrize("provider", PLAYED)
def test_an_answer_and_calls_are_read_whole_and_streamed(provider):
    bound, server = TOOLS.bind(provider, output=OUTPUT), get(provider).server
    assert server is not None
    body = answered(provider, {"total": 3.5, "tags": {"a": 1}})
    calls = response(provider, ("look", {"number": 4}))
    for given, value, texts in (
        (body, Invoice(total=3.5, tags={"a": 1}), ["received"] if is_call(provider) else []),
        (calls, None, ["order 4"]),
    ):
        whole = bound.dispatch(given)
        assert (None if whole.output is None else whole.output.value) == value
        assert [result.text for result in whole] == texts
        collector = bound.collector()
        called = [
            call.name
            for event in server.unfold(given)
            for call in collector.feed(json.loads(json.dumps(event)))
        ]
        called += [call.name for call in collector.close()]
        streamed = collector.plan().run()
        assert called == [result.call.name for result in whole]
        assert (None if streamed.output is None else streamed.output.value) == value
        assert [result.text for result in streamed] == texts


@pytest.mark.parametrize("provider", PLAYED)
def test_a_turn_answers_what_is_wrong(provider):
    """In the result of the call that is the answer, or in a message of the user."""
    results = TOOLS.bind(provider, output=OUTPUT).dispatch(
        response(provider, ("Invoice", {"total": "x"}))
        if is_call(provider)
        else response(provider, text='{"total": "x"}')
    )
    assert results.output is not None
    assert results.output.error is not None
    assert results.output.error.code == "invalid_answer"
    turn = json.dumps(results.turn, default=str)
    assert WRONG in turn
    assert len(results.turn) == len(results._assistant) + 1
    assert results.output.turn == results.turn
    if is_call(provider):
        assert not results.ok


def test_calls_beside_the_answer_run_and_a_second_answer_does_not():
    results = TOOLS.bind("groq", output=OUTPUT).dispatch(
        response(
            "groq", ("look", {"number": 1}), ("Invoice", {"total": "3"}), ("Invoice", {"total": 4})
        )
    )
    assert [result.call.name for result in results] == ["look", "Invoice", "Invoice"]
    assert [result.error and result.error.code for result in results] == [None, None, "not_run"]
    assert results[0].value == "order 1"
    assert results.output.value == Invoice(total=3)
    assert [coercion.rule for coercion in results[1].coercions] == ["number_text"]


def test_an_answer_beside_a_call_that_waits():
    """The answer is there at once; the turn is whole once the call is decided."""
    plan = TOOLS.bind("groq", output=OUTPUT).plan(
        response("groq", ("pay", {"amount": 5}), ("Invoice", {"total": 5}))
    )
    assert plan.results.output.value == Invoice(total=5)
    assert [call.name for call in plan.pending] == ["pay"]
    plan.approve(plan.pending)
    assert [result.text for result in plan.run()] == ["paid 5.0", "received"]


def test_text_where_a_call_was_wanted_is_read_too():
    """A model that was not forced answers in its text."""
    bound = TOOLS.bind("deepseek", output=OUTPUT)
    assert bound.dispatch(response("deepseek", text='{"total": 1}')).output.value == Invoice(
        total=1
    )
    prose = bound.dispatch(response("deepseek", text="It costs three."))
    assert prose.output.error.code == "malformed_answer"
    assert prose.turn[-1]["role"] == "user"


def test_choices():
    """Required by default, where the answer is a call; "none" leaves the answer alone."""
    bound = TOOLS.bind("groq", output=OUTPUT)
    assert bound.request()["tool_choice"] == "required"
    assert bound.request(choice="auto")["tool_choice"] == "auto"
    forced = {"type": "function", "function": {"name": "Invoice"}}
    assert bound.request(choice="none")["tool_choice"] == forced
    assert bound.request(choice="Invoice")["tool_choice"] == forced
    assert TOOLS.bind("openai", output=OUTPUT).request(choice="none")["tool_choice"] == "none"
    assert "tool_choice" not in TOOLS.bind("huggingface", output=OUTPUT).request()


def test_without_tools_the_field_is_used():
    bound = Registry().bind("groq", output=OUTPUT)
    assert bound.request() == OUTPUT.bind("groq").request()
    assert bound.dispatch(response("groq", text='{"total": 1}')).output.value == Invoice(total=1)


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(
        ExportError, match=r"the tool 'look' has the same name: pass name= to Output"
    ):
        TOOLS.bind("groq", output=Output(Invoice, name="look"))
    assert TOOLS.bind("openai", output=Output(Invoice, name="look")).export()


def test_the_strict_budget_is_shared():
    """Anthropic counts the schema of the answer with the strict tools: a tool gives way to it."""

    class Wide(BaseModel):
        a: int = 0
        b: int = 0
        c: int = 0
        d: int = 0

    def many(number: int, e: int = 0, f: int = 0, g: int = 0, h: int = 0) -> int:
        """Add."""
        return number + e + f + g + h

    registry = Registry()
    for number in range(6):
        registry.add(tool(many, name=f"many_{number}"))
    alone, beside = registry.bind("anthropic"), registry.bind("anthropic", output=Wide)
    assert sum(alone.is_strict(one.name) for one in alone.tools) == 6
    assert sum(beside.is_strict(one.name) for one in beside.tools) == 5


def test_a_type_is_an_output_and_the_registry_reads_by_the_last_request():
    registry = Registry([look])
    assert registry.bind("openai", output=Invoice) is registry.bind("openai", output=Invoice)
    registry.request("openai", output=Invoice)
    assert registry.dispatch(response("openai", text='{"total": 1}')).output.value == Invoice(
        total=1
    )
    registry.request("openai", output=list[int])
    assert registry.dispatch(response("openai", text='{"value": [1]}')).output.value == [1]
    registry.request("openai")
    assert registry.dispatch(response("openai", text='{"value": [1]}')).output is None
    with pytest.raises(DefinitionError, match="cannot be an output"):
        registry.bind("openai", output=lambda: None)
    for number in range(200):
        registry.bind("openai", output=Output(Invoice, name=f"invoice_{number}"))
    assert len(registry._store.contents.bounds) < 100


@pytest.mark.parametrize("provider", ["openai", "groq"])
def test_pickles_and_subsets_keep_the_output(provider):
    bound = TOOLS.bind(provider, output=OUTPUT)
    copied = pickle.loads(pickle.dumps(bound))
    assert copied.request() == bound.request()
    assert copied.fingerprint == bound.fingerprint
    part = bound.subset(["look"])
    body = answered(provider, {"total": 1, "tags": {}})
    assert part.dispatch(body).output.value == Invoice(total=1)
    wrong = bound.dispatch(response(provider, ("look", {"number": 1}), ("Invoice", {"total": "x"})))
    again = pickle.loads(pickle.dumps(wrong))
    assert str(again) == str(wrong)
    assert again.turn == wrong.turn


@pytest.mark.parametrize("provider", PLAYED)
def test_a_conversation_goes_on_after_an_answer(provider):
    """A wrong answer is said to be wrong, once; a right one is kept, and another provider reads it."""
    conversation = Conversation(TOOLS)
    conversation.user("The invoice, please.")
    assert conversation.request(provider, model="m", output=OUTPUT)
    given = (
        response(provider, ("Invoice", {"total": "x"}))
        if is_call(provider)
        else response(provider, text="{}")
    )
    assert not conversation.dispatch(given).output.ok
    assert (
        json.dumps(conversation.request(provider, model="m", output=OUTPUT), default=str).count(
            WRONG
        )
        == 1
    )
    results = conversation.dispatch(answered(provider, {"total": 2.0, "tags": {"a": 1}}))
    assert results.output.value == Invoice(total=2, tags={"a": 1})
    conversation.user("Thanks.")
    for other in ("openai", "anthropic", "gemini"):
        assert conversation.request(other, model="m", output=OUTPUT)
    stored = Conversation.from_json(conversation.to_json(), TOOLS)
    assert stored.request("openai", model="m") == conversation.request("openai", model="m")


def test_the_beginning_of_an_answer_that_is_a_call():
    """In canonical form, as far as it has come."""
    bound = TOOLS.bind("deepseek", strict=True, output=Output(Invoice, strict=True))
    collector = bound.collector()
    head = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": "Invoice", "arguments": ""},
    }
    collector.feed(
        {"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [head]}}]}
    )
    text = '{"tags": [{"key": "a", "value": 1}], "total": 3.5, '
    piece = {"index": 0, "function": {"arguments": text}}
    collector.feed({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
    assert collector.partial() == (("c1", "Invoice", {"total": 3.5, "tags": {"a": 1}}, 0),)


def test_another_provider_reads_the_answer_in_canonical_form():
    """A map that was sent as pairs is a map in the history, whatever form the next provider is sent."""
    conversation, output = Conversation(Registry([look])), Output(Invoice, strict=True)
    conversation.user("The invoice, please.")
    conversation.request("deepseek", model="m", strict=True, output=output)
    written = {"total": 3, "tags": [{"key": "a", "value": 1}]}
    results = conversation.dispatch(response("deepseek", ("Invoice", written)))
    assert results.output.value == Invoice(total=3, tags={"a": 1})
    assert results[0].arguments == {"total": 3, "tags": {"a": 1}}
    [call] = conversation.request("anthropic", model="m")["messages"][1]["content"]
    assert call["input"] == {"total": 3, "tags": {"a": 1}}
    assert pickle.loads(pickle.dumps(results))[0].arguments == {"total": 3, "tags": {"a": 1}}


def test_no_provider_is_asked_for_what_it_has_no_place_for():
    with pytest.raises(ExportError, match="cannot be asked for an answer"):
        TOOLS.bind("mcp", output=OUTPUT)
    assert isinstance(TOOLS.bind("openai", output=OUTPUT).provider, Provider)


class Login(BaseModel):
    user: str
    password: SecretStr


@pytest.mark.parametrize("provider", ["openai", "groq"])
def test_secrets_of_an_answer_are_not_stored(provider):
    """In no text of a conversation, also restored, pickled or trimmed; the conversation itself goes on with them."""
    conversation = Conversation(TOOLS)
    conversation.user("The login, please.")
    conversation.request(provider, model="m", output=Login)
    written = {"user": "ada", "password": "hunter2"}
    given = (
        response(provider, ("Login", written))
        if is_call(provider)
        else response(provider, text=json.dumps(written))
    )
    assert conversation.dispatch(given).output.value.password.get_secret_value() == "hunter2"
    assert "hunter2" in json.dumps(conversation.request(provider, model="m", output=Login))
    conversation.user("Thanks.")
    for each in (
        conversation,
        pickle.loads(pickle.dumps(conversation)),
        conversation.trimmed(keep=9),
    ):
        text = each.to_json()
        assert "hunter2" not in text
        again = Conversation.from_json(text, TOOLS)
        assert "hunter2" not in again.to_json()
        assert again.request("anthropic", model="m")["messages"]
    assert "hunter2" in conversation.to_json(secrets=True)


def test_secrets_of_an_answer_are_in_no_token():
    bound = TOOLS.bind("groq", output=Login)
    calls = ("pay", {"amount": 5}), ("Login", {"user": "ada", "password": "hunter2"})
    plan = bound.plan(response("groq", *calls))
    with pytest.raises(UsageError, match="ledger"):
        plan.pause("0123456789abcdef", audience="ada", expires=timedelta(hours=1))

"""Each provider by its row and by the types of its own SDK."""

import copy
import json
import re
from typing import Literal

import anthropic.types
import openai.types.chat
import pytest
from pydantic import TypeAdapter
from rows import ROWS
from zoo import CASES

from toolshape import Registry, UsageError, tool
from toolshape._families import get, recognised
from toolshape._families.names import available


@tool
def one(x: int) -> str:
    """One."""
    return "one"


@tool
def two() -> None:
    """Two."""
    raise RuntimeError("secret")


EVERY_ROW = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.provider)
RESPONSE_TYPES = {"openai": openai.types.chat.ChatCompletion, "anthropic": anthropic.types.Message}
TOOL_TYPES = {
    "openai": TypeAdapter(openai.types.chat.ChatCompletionToolUnionParam),
    "anthropic": TypeAdapter(anthropic.types.ToolParam),
}
MESSAGE_TYPES = {
    "openai": TypeAdapter(openai.types.chat.ChatCompletionMessageParam),
    "anthropic": TypeAdapter(anthropic.types.MessageParam),
}
CHOICE_TYPES = {
    "openai": TypeAdapter(openai.types.chat.ChatCompletionToolChoiceOptionParam),
    "anthropic": TypeAdapter(anthropic.types.ToolChoiceParam),
}


def test_every_provider_has_a_row():
    """A new one cannot be forgotten."""
    names = [name for name in available() if not get(name).response.takes_text]  # a text has no SDK
    assert {row.provider.partition(":")[0] for row in ROWS} == {
        name.partition(":")[0] for name in names
    }
    assert {get(row.provider).response.read for row in ROWS} == {
        get(name).response.read for name in names
    }


def without_reference(messages, results):
    text = json.dumps(messages)
    for result in results:
        if re.fullmatch("[0-9a-z]{9}", result.call.id):
            text = text.replace(result.call.id, "MADE_UP")
        if result.error:
            text = text.replace(result.error.reference, "REF")
    return json.loads(text)


@EVERY_ROW
@pytest.mark.parametrize("form", ["dict", "text", "bytes", "sdk"])
def test_there_and_back(row, form):
    """The calls in a response, the messages that answer them; the response is not changed."""
    before = copy.deepcopy(row.response)
    response = row.response
    if form in ("text", "bytes"):
        response = json.dumps(response) if form == "text" else json.dumps(response).encode()
    elif form == "sdk":
        if row.provider not in RESPONSE_TYPES:
            pytest.skip("its SDK has no types, or tests/sdks/test_sdk_types.py knows them")
        response = RESPONSE_TYPES[row.provider].model_validate(response)
    results = Registry([one, two]).dispatch(response, provider=row.provider)
    ids = [result.call.id for result in results]
    assert all(
        re.fullmatch("[0-9a-z]{9}", ours) if not own else ours == own
        for ours, (own, *_) in zip(ids, row.calls, strict=True)
    )
    said = [(result.call.wire_name, result.call.arguments_raw) for result in results]
    assert said == [(name, arguments) for _, name, arguments in row.calls]
    assert [result.call.name for result in results] == [name for _, name, _ in row.calls]
    assert results.finish_raw == row.finish
    assert results.finish == (None if row.finish is None else "tool_calls")
    assert without_reference(results.messages, results) == row.messages
    assert without_reference(results.turn, results) == [*row.assistant, *row.messages]
    assert row.response == before


@EVERY_ROW
@pytest.mark.parametrize("name", available())
def test_what_is_not_its_own_is_not_read(row, name):
    """Of a body that a provider does not recognise, its reader says so itself."""
    provider = get(name)
    for body in (
        row.response,
        *row.assistant,
        {},
        [],
        [{}],
        None,
        5,
        {"choices": {}},
        {"choices": [1]},
    ):
        try:
            is_read = provider.response.read(copy.deepcopy(body)) is not None
        except Exception:
            is_read = True  # it looked into it
        assert is_read == recognised(provider, body)


@EVERY_ROW
def test_a_message_and_one_call_are_read(row):
    """What goes back is read again, and each call alone: the same calls by the same ids."""
    registry = Registry([one, two])
    bound = registry.bind(row.provider)
    results = bound.dispatch(row.response)
    for form in (
        results.turn[: len(row.assistant)]
        if len(row.assistant) == 1
        else [row.assistant]
        if row.assistant
        else []
    ):
        again = bound.plan(form).calls
        assert [call.wire_name for call in again] == [name for _, name, _ in row.calls]
        assert [call.arguments_raw for call in again] == [arguments for *_, arguments in row.calls]
        assert [call.id for call in again] == [result.call.id for result in results]
    for result in results:
        [alone] = bound.plan(result.call.raw).calls
        assert (alone.wire_name, alone.arguments_raw) == (
            result.call.wire_name,
            result.call.arguments_raw,
        )


@EVERY_ROW
def test_said_and_read(row):
    """What ``say`` writes, ``plan`` reads: names, arguments and ids, through every rewriting."""

    def restock(
        items: dict[str, int], level: Literal[1, 2] = 1, pair: tuple[str, int] | None = None
    ) -> None: ...

    registry = Registry([restock, tool(name="a name.that is odd")(lambda x: x)])
    calls = [("restock", {"items": {"a": 1}, "pair": ["x", 2]}), ("a name.that is odd", {"x": "?"})]
    for strict in (False, True) if get(row.provider).schema.strict is not None else (False,):
        bound = registry.bind(row.provider, strict)
        said = bound.calls_as_messages(calls)
        read = [call for message in said for call in bound.plan(message).calls]
        assert [(call.name, call.arguments) for call in read if call.name != "restock"] == calls[1:]
        assert {**read[0].arguments, "level": 1} == {**calls[0][1], "level": 1}
        assert all(re.fullmatch("[0-9a-z]{9}", call.id) for call in read)
        again = registry.bind("anthropic").calls_as_messages(read)
        assert [call.arguments for call in registry.bind("anthropic").plan(again[0]).calls] == [
            call.arguments for call in read
        ]
        results = [result for message in said for result in bound.dispatch(message)]
        assert all(result.ok for result in results), [str(result.error) for result in results]
    with pytest.raises(UsageError, match="there is no tool 'lost'"):
        bound.calls_as_messages([("lost", {})])


GHOST = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}


def test_ghosts_are_no_calls():
    """A call without name and id that a gateway appends is neither answered nor sent back; streamed, the same."""
    real = {"id": "c", "type": "function", "function": {"name": "one", "arguments": '{"x": 1}'}}
    registry = Registry([one, two])
    for calls in ([real, GHOST], [GHOST, real]):
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        results = registry.dispatch({"choices": [{"message": message}]})
        assert [result.value for result in results] == ["one"]
        assert results.turn[0]["tool_calls"] == [real]
        collector = registry.bind("openai").collector()
        for index, part in enumerate(calls):
            collector.feed(
                {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": index, **part}]}}]}
            )
        collector.close()
        assert [result.value for result in collector.plan().run()] == ["one"]
    alone = registry.dispatch(
        {"choices": [{"message": {"role": "assistant", "content": "hi", "tool_calls": [GHOST]}}]}
    )
    assert not alone
    assert alone.turn == [{"role": "assistant", "content": "hi"}]


# Where the id of the second call stands in each row's response; where ids are not mandatory, none is sent back.
IDS = {
    "openai": ("choices", 0, "message", "tool_calls", 1, "id"),
    "openai-responses": ("output", 2, "call_id"),
    "anthropic": ("content", 4, "id"),
    "bedrock": ("output", "message", "content", 2, "toolUse", "toolUseId"),
    "cohere": ("message", "tool_calls", 1, "id"),
    "mistral": ("choices", 0, "message", "tool_calls", 1, "id"),
    "gemini-interactions": ("steps", 2, "id"),
    "xai:grpc": ("outputs", 0, "message", "tool_calls", 2, "id"),
}


@pytest.mark.parametrize("provider", IDS)
def test_ids_that_are_missing(provider):
    """Made up the same each time, and the same in the assistant's message and in the answer."""
    response = copy.deepcopy(next(row.response for row in ROWS if row.provider == provider))
    *path, last = IDS[provider]
    place = response
    for step in path:
        place = place[step]
    place[last] = ""
    for again in range(2):
        if again:
            del place[last]
        results = Registry([one, two]).dispatch(response, provider=provider)
        made = results[1].call.id
        assert re.fullmatch("[0-9a-z]{9}", made)
        assert json.dumps(results.turn).count(f'"{made}"') == 2
    assert Registry([one, two]).dispatch(response, provider=provider)[1].call.id == made


def test_responses_that_were_cut_off():
    """The last call of a response that ended for its length is not run, unless its text is whole; others are."""

    @tool
    def note(text: str = "none") -> str:
        return text

    registry = Registry([note])

    def chat(*arguments):
        calls = [
            {"id": f"c{i}", "function": {"name": "note", "arguments": argument}}
            for i, argument in enumerate(arguments)
        ]
        message = {"role": "assistant", "tool_calls": calls}
        return registry.dispatch({"choices": [{"message": message, "finish_reason": "length"}]})

    def codes(results):
        assert results.finish == "length"
        return [result.error.code if result.error else result.value for result in results]

    assert codes(chat("")) == ["truncated_arguments"]
    assert codes(chat('{"text": "a')) == ["truncated_arguments"]
    assert codes(chat('{"text": "a"}')) == ["a"]
    assert codes(chat("", "")) == ["none", "truncated_arguments"]
    blocks = [{"type": "tool_use", "id": f"t{i}", "name": "note", "input": {}} for i in range(2)]
    body = {"type": "message", "role": "assistant", "content": blocks, "stop_reason": "max_tokens"}
    assert codes(registry.dispatch(body)) == ["none", "truncated_arguments"]
    body["stop_reason"] = "tool_use"
    assert [result.value for result in registry.dispatch(body)] == ["none", "none"]


@EVERY_ROW
def test_the_turn_is_what_the_sdk_takes(row):
    """The SDK's own types, lazy iterables forced."""
    if row.provider not in MESSAGE_TYPES:
        pytest.skip("its SDK has no types, or tests/sdks/test_sdk_types.py knows them")
    response = RESPONSE_TYPES[row.provider].model_validate(row.response)
    for form in (row.response, response):
        for message in Registry([one, two]).dispatch(form).turn:
            forced(MESSAGE_TYPES[row.provider].validate_python(message))


@pytest.mark.parametrize("provider", TOOL_TYPES)
def test_exports_are_what_the_sdk_takes(provider):
    """Every function of the zoo, and every choice."""
    registry = Registry(case.function for case in CASES.values())
    for payload in registry.export(provider):
        assert forced(TOOL_TYPES[provider].validate_python(payload, strict=True)) == payload
    for choice in ("auto", "none", "required", "nested"):
        said = registry.request(provider, choice=choice)["tool_choice"]
        assert CHOICE_TYPES[provider].validate_python(said) == said


def test_tool_export_is_one_entry():
    """``tool.export`` shows one alone."""
    for provider in ("openai", "anthropic", "bedrock", "mcp", "json-schema"):
        assert [one.export(provider)] == Registry([one]).export(provider)


def test_what_is_sent():
    """The three envelopes in full, once."""

    @tool(title="Sum")
    def add(a: int, b: int = 1) -> int:
        """Add two numbers.

        Args:
            a: The first.

        Returns:
            The sum.
        """
        return a + b

    parameters = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first."},
            "b": {"type": "integer", "default": 1},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert add.export("openai", strict=False) == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.\n\nReturns:\n    The sum.",
            "parameters": parameters,
        },
    }
    said = {"name": "add", "description": "Add two numbers.\n\nReturns:\n    The sum."}
    strict = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first."},
            "b": {"type": ["integer", "null"], "description": "(default: 1)"},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert add.export("openai")["function"] == {**said, "strict": True, "parameters": strict}
    assert add.export("openai-responses") == {
        "type": "function",
        **said,
        "strict": True,
        "parameters": strict,
    }
    assert add.export("openai-responses", strict=False)["strict"] is False
    assert add.export("anthropic", strict=False) == {**said, "input_schema": parameters}
    assert add.export("anthropic") == {**said, "input_schema": parameters, "strict": True}
    assert add.export("gemini") == {**said, "parametersJsonSchema": parameters}
    opened = {key: value for key, value in parameters.items() if key != "additionalProperties"}
    assert add.export("gemini-openapi") == {**said, "parameters": opened}
    assert add.export("bedrock", strict=False) == {
        "toolSpec": {**said, "inputSchema": {"json": parameters}}
    }
    output = {"type": "integer", "description": "The sum."}
    newest = {**said, "title": "Sum", "inputSchema": parameters}
    assert add.export("mcp:2026-07-28") == {**newest, "outputSchema": output}
    wrapped = {"type": "object", "properties": {"result": output}, "required": ["result"]}
    for provider in ("mcp", "mcp:2025-11-25"):
        assert add.export(provider) == {**newest, "outputSchema": wrapped}
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    assert add.export("json-schema") == {
        "name": "add",
        "description": "Add two numbers.\n\nReturns:\n    The sum.",
        "parameters": dialect | parameters,
        "output": dialect | {"type": "integer", "description": "The sum."},
    }


def test_an_error_can_be_told_from_a_value_that_looks_like_one():
    """OpenAI has no error flag: the mark is ours alone."""

    @tool
    def echo(text: str) -> str:
        return text

    def content(text):
        call = {"id": "c", "function": {"name": "echo", "arguments": json.dumps({"text": text})}}
        return (
            Registry([echo])
            .dispatch({"choices": [{"message": {"tool_calls": [call]}}]})
            .messages[0]["content"]
        )

    assert content("Error: no") == "Error: no"
    assert content("Error [tool_error]: no") == " Error [tool_error]: no"
    assert content(" Error [tool_error]: no") == "  Error [tool_error]: no"


def test_custom_calls_and_empty_messages():
    """Free text for a tool that is not ours is answered; a message without content sends back none."""
    custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    [result] = Registry([one]).dispatch({"choices": [{"message": {"tool_calls": [custom]}}]})
    assert (result.error.code, result.call.arguments_raw) == ("unknown_tool", "select 1")
    assert (
        not Registry([one])
        .dispatch({"type": "message", "content": [], "stop_reason": "end_turn"})
        .turn
    )


def forced(value):
    """Walk into pydantic's lazy iterators, which check nothing until then."""
    if isinstance(value, dict):
        return {key: forced(item) for key, item in value.items()}
    if isinstance(value, (str, bytes, int, float, type(None))) or hasattr(value, "model_dump"):
        return value
    return [forced(item) for item in value]

"""Reading and writing messages: what mutants of it have shown to be untested."""

import json

import pytest

from toolshape import File, Image, Registry, ResponseError, tool
from toolshape._records.identity import has_made_up_id
from toolshape.messages import ProviderPart, ReasoningPart, TextPart


@tool
def f(city: str) -> str:
    """Find."""
    return city


TOOLS = Registry([f])


def of_openai(*calls):
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("report_2026.pdf", "report-2026-pdf"),
        ("a b (1) [2]-c", "a b (1) [2]-c"),
        ("über/x", "-ber-x"),
    ],
)
def test_the_name_of_a_document_at_bedrock(name, sent):
    """Each character that ``DocumentBlock.name`` does not take becomes one hyphen."""

    @tool
    def report() -> File:
        """Report."""
        return File(data=b"%PDF-1.7", media_type="application/pdf", name=name)

    body = {"output": {"message": {"role": "assistant", "content": [
        {"toolUse": {"toolUseId": "t1", "name": "report", "input": {}}}
    ]}}, "stopReason": "tool_use"}  # fmt: skip
    [message] = Registry([report]).dispatch(body).messages
    [document] = [
        part["document"]
        for part in message["content"][0]["toolResult"]["content"]
        if "document" in part
    ]
    assert document["name"] == sent


def test_results_at_gemini_are_no_question():
    """A user's message of results alone is the tools'; one with a text is the user's."""
    response = {"functionResponse": {"name": "f", "response": {"output": "7"}}}
    call = {"functionCall": {"name": "f", "args": {"city": "x"}}}
    messages = [
        {"role": "user", "parts": [{"text": "Go."}]}, {"role": "model", "parts": [call]},
        {"role": "user", "parts": [response]}, {"role": "model", "parts": [call]},
        {"role": "user", "parts": [response, {"text": "And?"}]},
    ]  # fmt: skip
    read = TOOLS.bind("gemini").read_messages(messages)
    assert [message.role for message in read] == ["user", "assistant", "tool", "assistant", "user"]


def test_calls_of_responses_without_an_id():
    """Each gets one of its own, which is known to be made up."""
    items = [{"type": "function_call", "name": "f", "arguments": '{"city": "x"}'} for _ in range(2)]
    calls = TOOLS.bind("openai-responses").plan({"object": "response", "output": items}).calls
    assert len({call.id for call in calls}) == 2
    assert all(has_made_up_id(call) for call in calls)


def test_reasoning_that_nobody_may_read_has_no_text():
    """Anthropic's ``redacted_thinking`` is data alone."""
    block = {"type": "redacted_thinking", "data": "c2ln"}
    [message] = TOOLS.bind("anthropic").read_messages([{"role": "assistant", "content": [block]}])
    assert [(part.text, part.raw) for part in message.parts] == [("", block)]


@pytest.mark.parametrize("provider", ["mcp", None])
def test_a_whole_request_of_mcp(provider):
    """With its envelope, or the parameters alone; without parameters it is no call."""
    params = {"name": "f", "arguments": {"city": "Bonn"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    bound = TOOLS.bind("mcp") if provider else TOOLS
    [result] = bound.dispatch(request)
    assert result.value == "Bonn"
    with pytest.raises(ResponseError):
        bound.dispatch({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})


@pytest.mark.parametrize("key", ["thoughtSignature", "thought_signature"])
def test_a_signature_in_either_spelling(key):
    """As the API writes it, and as Google's SDK for Python dumps it."""
    call = {"functionCall": {"name": "f", "args": {"city": "x"}}}
    response = {"functionResponse": {"name": "f", "response": {"output": "7"}}}

    def found(part):
        contents = [
            {"role": "user", "parts": [{"text": "Go."}]},
            {"role": "model", "parts": [part]},
        ]
        contents.append({"role": "user", "parts": [response]})
        return [p.rule for p in TOOLS.bind("gemini").check_messages(contents, model="gemini-3-pro")]

    assert found(call | {key: "c2ln"}) == []
    assert found(call) == ["missing_signature"]


def test_parts_of_gemini_that_are_no_text():
    """A signature alone is reasoning; what only Gemini knows is named by its kind."""
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "c2ln"}
    parts = [{"thoughtSignature": "c2ln"}, code]
    [message] = TOOLS.bind("gemini").read_messages([{"role": "model", "parts": parts}])
    reasoning, known_there = message.parts
    assert isinstance(reasoning, ReasoningPart)
    assert isinstance(known_there, ProviderPart)
    assert known_there.kind == "executableCode"


def test_a_text_that_is_streamed_in_pieces():
    """Each piece of an interaction is appended to the text that began with its step."""
    collector = TOOLS.bind("gemini-interactions").collector()
    for event in (
        {"event_type": "interaction.start", "interaction": {"id": "i", "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hel"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "lo."}},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.complete", "interaction": {"id": "i", "status": "completed"}},
    ):
        collector.feed(event)
    collector.close()
    [message] = collector.plan().run().turn
    assert message["content"] == [{"type": "text", "text": "Hello."}]


def test_an_image_and_a_sound_at_mcp():
    """As ImageContent and AudioContent."""

    @tool
    def media() -> list[Image | File]:
        """Look and listen."""
        return [Image(data=b"hi", media_type="image/png"), File(data=b"hi", media_type="audio/wav")]

    call = {"name": "media", "arguments": {}}
    [message] = Registry([media]).bind("mcp").dispatch(call).messages
    assert message["content"] == [
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    ]


@pytest.mark.parametrize(
    ("data", "mime"),
    [("inlineData", "mimeType"), ("inline_data", "mime_type"), ("inline_data", "mimeType")],
)
def test_an_image_in_either_spelling(data, mime):
    """As the API writes it, and as Google's SDK for Python dumps it."""
    part = {data: {mime: "image/png", "data": "aGk="}}
    [message] = TOOLS.bind("gemini").read_messages([{"role": "user", "parts": [part]}])
    assert message.parts[0].media == Image(data=b"hi", media_type="image/png")


@pytest.mark.parametrize("key", ["functionCall", "function_call"])
def test_a_part_of_gemini_alone(key):
    """A call without its content is a response of one call."""
    [result] = TOOLS.bind("gemini").dispatch({key: {"name": "f", "args": {"city": "Bonn"}}})
    assert result.value == "Bonn"


@pytest.mark.parametrize(
    "instruction", ["Be brief.", {"parts": [{"text": "Be brief."}]}, {"text": "Be brief."}]
)
def test_a_system_instruction_of_gemini(instruction):
    """In the request, or in the SDK's ``config``, in either spelling."""
    contents = [{"role": "user", "parts": [{"text": "Go."}]}]
    for more in (
        {"systemInstruction": instruction}, {"system_instruction": instruction},
        {"config": {"system_instruction": instruction}}, {"config": {"systemInstruction": instruction}},
    ):  # fmt: skip
        first, second = TOOLS.bind("gemini").read_messages({"contents": contents, **more})
        assert (first.role, first.parts[0].text, second.role) == ("system", "Be brief.", "user")


@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], 7, True])
def test_a_value_in_a_result_of_gemini_is_read_as_json(value):
    """A tool of somebody else may have answered with any value; nothing is an empty text."""

    def text_of(response):
        part = {"functionResponse": {"name": "f", "response": response}}
        [message] = TOOLS.bind("gemini").read_messages([{"role": "user", "parts": [part]}])
        return message.parts[0].text

    assert json.loads(text_of({"output": value})) == value
    assert text_of({"output": None}) == ""


def test_a_call_of_openai_alone():
    """Without its message."""
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": '{"city": "Bonn"}'},
    }
    for bound in (TOOLS.bind("openai"), TOOLS):
        [result] = bound.dispatch(call)
        assert (result.call.id, result.value) == ("c1", "Bonn")


def test_what_an_sdk_parsed_is_not_sent_back():
    """``responses.parse`` of OpenAI's SDK adds to each call what the API does not know."""
    item = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"city": "x"}'}
    body = {
        "object": "response",
        "status": "completed",
        "output": [item | {"parsed_arguments": {"city": "x"}}],
    }
    results = TOOLS.bind("openai-responses").dispatch(body)
    assert results.turn[0] == item


def test_an_image_of_the_user_at_openai():
    """As a part of Chat Completions."""
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    [message] = TOOLS.bind("openai").read_messages([{"role": "user", "content": [part]}])
    assert message.parts[0].media == Image(data=b"hi", media_type="image/png")


def test_what_gemini_thought():
    """The text of a part that says so, and the summary of an interaction's thought."""
    parts = [{"text": "Hm.", "thought": True}, {"text": "Ok."}]
    [message] = TOOLS.bind("gemini").read_messages([{"role": "model", "parts": parts}])
    assert [(type(part), part.text) for part in message.parts] == [
        (ReasoningPart, "Hm."),
        (TextPart, "Ok."),
    ]
    thought = {
        "type": "thought",
        "summary": [{"type": "text", "text": "Hm."}, {"type": "text", "text": "So."}],
    }
    [message] = TOOLS.bind("gemini-interactions").read_messages([thought])
    assert [(type(part), part.text) for part in message.parts] == [(ReasoningPart, "Hm.\nSo.")]


def test_a_signature_that_is_streamed():
    """It belongs to the step that it came in."""
    collector = TOOLS.bind("gemini-interactions").collector()
    for event in (
        {"event_type": "interaction.start", "interaction": {"id": "i", "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
        {
            "event_type": "step.delta",
            "index": 0,
            "delta": {"type": "thought_signature", "signature": "c2ln"},
        },
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.complete", "interaction": {"id": "i", "status": "completed"}},
    ):
        collector.feed(event)
    collector.close()
    assert collector.plan().run().turn == [{"type": "thought", "signature": "c2ln"}]


def test_a_plan_of_cohere_that_is_streamed():
    """Each piece is appended, and the plan goes back with the calls."""
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": '{"city": "Bonn"}'},
    }
    collector = TOOLS.bind("cohere").collector()
    for event in (
        {"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}},
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I look "}}},
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "it up."}}},
        {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call}}},
        {"type": "tool-call-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}},
    ):
        collector.feed(event)
    collector.close()
    results = collector.plan().run()
    assert results[0].value == "Bonn"
    assert results.turn[0]["tool_plan"] == "I look it up."


@pytest.mark.parametrize(
    ("given", "sent"), [({"id": "c1"}, {"tool_call_id": "c1"}), ({"id": ""}, {}), ({}, {})]
)
def test_an_id_that_ollama_did_not_give_is_not_sent(given, sent):
    """Its server gives none, others of its form do."""
    call = given | {"function": {"name": "f", "arguments": {"city": "Bonn"}}}
    body = {"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": True}
    [message] = TOOLS.bind("ollama").dispatch(body).messages
    assert {key: value for key, value in message.items() if key == "tool_call_id"} == sent


def test_calls_of_a_template_without_ids():
    """Calls that a local model wrote: each is answered, by an id where the template asks for one."""
    calls = [
        {"type": "function", "function": {"name": "f", "arguments": {"city": city}}}
        for city in ("Bonn", "Ulm")
    ]
    results = TOOLS.bind("huggingface").dispatch({"role": "assistant", "tool_calls": calls})
    assert [result.value for result in results] == ["Bonn", "Ulm"]
    assert len({result.call.id for result in results}) == 2
    assert [call["function"]["arguments"] for call in results.turn[0]["tool_calls"]] == [
        {"city": "Bonn"},
        {"city": "Ulm"},
    ]

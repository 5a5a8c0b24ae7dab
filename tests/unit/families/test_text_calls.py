"""``text_calls=``: calls that a server left in the text, at every form that servers of open models have."""

import json
from typing import get_args

import pytest

from toolshape import Conversation, ExportError, Registry, text, tool
from toolshape._families.names import TextCallsName
from toolshape._families.text.templates import TEMPLATE_MARKS
from toolshape.provider import get

RAN = []


@tool
def look(x: str) -> str:
    """Look."""
    RAN.append(x)
    return f"seen {x}"


TOOLS = Registry([look])
CALL = '<tool_call>\n{"name": "look", "arguments": {"x": "Bonn"}}\n</tool_call>'
SAID = f"I look.\n{CALL}"


def openai(said, finish, calls=()):
    message = {"role": "assistant", "content": said}
    if calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": "look", "arguments": json.dumps({"x": x})}}
            for call_id, x in calls
        ]  # fmt: skip
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def anthropic(said, finish, calls=()):
    blocks = [
        {"type": "tool_use", "id": call_id, "name": "look", "input": {"x": x}}
        for call_id, x in calls
    ]
    content = [{"type": "text", "text": said}, *blocks]
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": finish}


def responses(said, finish, calls=()):
    part = {"type": "output_text", "text": said, "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}  # fmt: skip
    items = [
        {"type": "function_call", "id": f"fc_{at}", "call_id": call_id, "name": "look", "arguments": json.dumps({"x": x}), "status": "completed"}
        for at, (call_id, x) in enumerate(calls)
    ]  # fmt: skip
    incomplete = None if finish == "completed" else {"reason": finish}
    status = "completed" if finish == "completed" else "incomplete"
    return {"object": "response", "status": status, "incomplete_details": incomplete, "output": [message, *items]}  # fmt: skip


def ollama(said, finish, calls=()):
    message = {"role": "assistant", "content": said}
    if calls:
        message["tool_calls"] = [{"function": {"name": "look", "arguments": {"x": x}}} for _, x in calls]  # fmt: skip
    return {"message": message, "done": True, "done_reason": finish}


FORMS = {
    "vllm": (openai, "stop", "length"),
    "llama-cpp": (openai, "stop", "length"),
    "anthropic": (anthropic, "end_turn", "max_tokens"),
    "openai-responses": (responses, "completed", "max_output_tokens"),
    "ollama": (ollama, "stop", "length"),
}
EVERY = pytest.mark.parametrize("provider", FORMS)


def streamed(provider, said, finish):
    """The events of a server that sends the text in small pieces."""
    pieces = [said[at : at + 3] for at in range(0, len(said), 3)]
    if provider in ("vllm", "llama-cpp"):
        deltas = [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]  # fmt: skip
        return [*deltas, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}]
    if provider == "ollama":
        deltas = [{"message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces]  # fmt: skip
        return [*deltas, {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": finish}]  # fmt: skip
    if provider == "anthropic":
        return [
            {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}} for piece in pieces),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": finish}, "usage": {}},
            {"type": "message_stop"},
        ]  # fmt: skip
    body = responses(said, finish)
    message = body["output"][0]
    end = "response.completed" if finish == "completed" else "response.incomplete"
    return [
        {"type": "response.created", "sequence_number": 0, "response": {"object": "response", "output": []}},
        {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": {**message, "content": []}},
        {"type": "response.content_part.added", "sequence_number": 2, "output_index": 0, "content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}},
        *(
            {"type": "response.output_text.delta", "sequence_number": 3 + at, "output_index": 0, "content_index": 0, "delta": piece}
            for at, piece in enumerate(pieces)
        ),
        {"type": "response.output_item.done", "sequence_number": 3 + len(pieces), "output_index": 0, "item": message},
        {"type": end, "sequence_number": 4 + len(pieces), "response": body},
    ]  # fmt: skip


@EVERY
@pytest.mark.parametrize("is_early", [False, True])
def test_a_call_in_the_text_is_a_call(provider, is_early):
    """Whole and streamed, with the same id, whatever the server says of the end."""
    form, stop, early = FORMS[provider]
    finish = early if is_early else stop
    bound = TOOLS.bind(provider, text_calls="hermes")
    results = bound.dispatch(form(SAID, finish))
    assert [(result.text, result.ok) for result in results] == [("seen Bonn", True)]
    collector = bound.collector()
    early_calls = list(collector.over(streamed(provider, SAID, finish)))
    plan = collector.plan()
    assert [call.id for call in plan.calls] == [call.id for call in early_calls]
    assert [call.id for call in plan.calls] == [call.id for call in results.calls]
    assert plan.run()[0].text == "seen Bonn"
    assert collector.text.strip() == "I look."


def test_a_call_that_the_server_completes_twice_is_one():
    """As at llama.cpp: once where the next call begins, and once more where the response ends (2026-11-27)."""

    def piece(at, arguments, **more):
        call = {"index": at, "function": {"arguments": arguments, **more.pop("of", {})}, **more}
        return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}

    collector = TOOLS.bind("llama-cpp", text_calls="hermes").collector()
    events = [
        piece(0, '{"x": "a"}', id="c1", type="function", of={"name": "look"}),
        piece(1, '{"x"', id="c2", type="function", of={"name": "look"}),
        piece(1, ': "b"}'),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    assert [call.id for call in collector.over(events)] == ["c1", "c2"]
    assert [result.text for result in collector.plan().run()] == ["seen a", "seen b"]


@EVERY
def test_the_turn_goes_back_in_the_form_of_the_server(provider):
    """The text without the call, the calls of the text and then those of the server; and a request takes it."""
    form, stop, _ = FORMS[provider]
    chat = Conversation(TOOLS)
    chat.user("Look.")
    chat.request(provider, model="m", text_calls="hermes")
    results = chat.dispatch(form(SAID, stop, [("call_2", "Rome")]))
    assert [result.text for result in results] == ["seen Bonn", "seen Rome"]
    assert len({call.id for call in results.calls}) == 2
    sent = json.dumps(chat.request(provider, model="m", text_calls="hermes"))
    assert "tool_call>" not in sent
    assert "I look." in sent
    assert sent.index("Bonn") < sent.index("Rome")
    assert not chat.repairs
    stored = Conversation.from_json(chat.to_json(), TOOLS)
    assert json.dumps(stored.request(provider, model="m", text_calls="hermes")) == sent


@EVERY
def test_a_call_that_is_cut_off_is_answered(provider):
    form, _, early = FORMS[provider]
    RAN.clear()
    bound = TOOLS.bind(provider, text_calls="hermes")
    [result] = bound.dispatch(form(SAID[:-25], early))
    assert result.error.code in ("truncated_arguments", "malformed_arguments")
    assert not RAN
    json.dumps(bound.dispatch(form(SAID[:-25], early)).turn)


@EVERY
def test_text_without_a_call_is_as_it_came(provider):
    form, stop, _ = FORMS[provider]
    body = form("I look.", stop)
    assert not TOOLS.bind(provider, text_calls="hermes").dispatch(body)
    plain, mixed = TOOLS.bind(provider), TOOLS.bind(provider, text_calls="hermes")
    assert mixed.dispatch(body).turn == plain.dispatch(body).turn


@EVERY
def test_what_is_not_read_is_said(provider):
    """Under the name of the format that is bound."""
    form, stop, _ = FORMS[provider]
    quoted = f"Such:\n```\n{CALL}\n```"
    results = TOOLS.bind(provider, text_calls="hermes").dispatch(form(quoted, stop))
    assert not results
    assert [(found.rule, found.text_format) for found in results.warnings] == [("call_in_text", "hermes")]  # fmt: skip


def test_editors_know_the_names():
    """Each is a provider; and each form has each format."""
    names = get_args(TextCallsName)
    formats = {text_format.name for text_format in text.formats()}
    assert {name.partition("+")[2] for name in names} == formats
    assert len(names) == len(set(names)) == len(FORMS) * len(formats)
    assert [get(name).name for name in names] == list(names)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("vllm+hermse", "did you mean 'vllm+hermes'?"),
        ("vlm+hermes", "did you mean 'vllm+hermes'?"),
        ("gemini+hermes", "there is no provider"),
    ],
)
def test_an_error_names_what_was_meant(name, said):
    with pytest.raises(ExportError, match="there is no provider") as raised:
        TOOLS.bind(name)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "name", [name for name in (each.name for each in text.formats()) if TEMPLATE_MARKS.get(name)]
)
def test_a_mark_of_the_chat_template_in_a_result_is_said(name):
    """And the result is sent as it is: an escape would change what the model reads."""
    for mark in TEMPLATE_MARKS[name]:

        @tool
        def fetch() -> str:
            """Fetch."""
            return f"before {mark} after"  # noqa: B023 - called at once

        said = text.write(name, [("fetch", {})])
        results = Registry([fetch]).bind(f"text:{name}").dispatch(said)
        assert results[0].text == f"before {mark} after"
        [found] = [found for found in results.warnings if found.rule == "template_mark"]
        assert (found.text_format, mark in found.message) == (name, True)


def test_a_result_without_marks_is_no_finding():
    """Also with marks of another template."""

    @tool
    def fetch() -> str:
        """Fetch."""
        return "plain <|eot_id|>"

    said = text.write("hermes", [("fetch", {})])
    assert not Registry([fetch]).bind("text:hermes").dispatch(said).warnings


def test_a_mark_is_said_where_the_server_parses_calls_too():
    @tool
    def fetch() -> str:
        """Fetch."""
        return "<|im_end|>"

    body = openai("", "tool_calls", [])
    body["choices"][0]["message"]["tool_calls"] = [{"id": "c", "type": "function", "function": {"name": "fetch", "arguments": "{}"}}]  # fmt: skip
    found = Registry([fetch]).bind("vllm+hermes").dispatch(body).warnings
    assert [(each.rule, each.text_format) for each in found] == [("template_mark", "hermes")]
    assert not Registry([fetch]).bind("vllm").dispatch(body).warnings


def test_the_templates_are_of_formats():
    assert TEMPLATE_MARKS.keys() <= {each.name for each in text.formats()}

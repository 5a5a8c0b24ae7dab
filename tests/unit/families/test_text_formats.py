"""Calls in the text of open models: each format, in every split; typed, written, refused, warned of, and constrained."""

import json
import logging
import pickle
import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from text_rows import ROWS, SCHEMAS, Row

from toolshape import Conversation, ExportError, Registry, UsageError, text, tool
from toolshape._families import get
from toolshape._families.names import available
from toolshape.testing import Fake

EVERY = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.format}-{row.about}")
FORMATS = [text_format.name for text_format in text.formats()]


@EVERY
def test_a_text_is_read(row: Row):
    """Its calls, with types, and what is left around them."""
    found = text.read(row.format, row.text, SCHEMAS)
    assert [(call.name, call.arguments) for call in found.calls] == row.calls
    assert (found.text.strip(), found.reasoning) == (row.left.strip(), row.reasoning)
    assert [call.is_cut for call in found.calls] == [False] * (len(row.calls) - 1) + [
        row.is_cut
    ] * bool(row.calls)


def streamed(name: str, pieces: list[str]) -> tuple[str, str, list[text.TextCall]]:
    reader = text.Reader(name, SCHEMAS)
    said, thought, calls = "", "", []
    for piece in pieces:
        calls += reader.feed(piece)
        said, thought = said + reader.text, thought + reader.reasoning
    calls += reader.close()
    return said + reader.text, thought + reader.reasoning, calls


@EVERY
def test_every_split_reads_as_the_whole(row: Row):
    """Cut at each character, and in pieces of each length up to eight."""
    found = text.read(row.format, row.text, SCHEMAS)
    whole = (found.text, found.reasoning, list(found.calls))
    splits = [[row.text[:at], row.text[at:]] for at in range(len(row.text) + 1)]
    splits += [
        [row.text[at : at + size] for at in range(0, len(row.text), size)] for size in range(1, 9)
    ]
    for pieces in splits:
        assert streamed(row.format, pieces) == whole, pieces


def test_a_text_that_has_ended_takes_no_more():
    """It can be ended twice."""
    reader = text.Reader("hermes")
    assert reader.feed('<tool_call>{"name": "now", "arguments": {}}') == []
    assert [call.name for call in reader.close()] == ["now"]
    assert reader.close() == []
    with pytest.raises(UsageError, match="has ended"):
        reader.feed("more")


def test_every_format_has_rows():
    """And a source with its date."""
    assert {row.format for row in ROWS} == set(FORMATS)
    assert all("20" in text_format.evidence for text_format in text.formats())


CALLS = [
    ("weather", {"city": 'a "b" <c>\nd é', "days": 3, "deep": True, "tags": ["x", "]"]}),
    ("now", {}),
    ("write", {"path": "5", "content": '{"x": 1}'}),
]


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read(name: str):
    """By any format, several calls in one text."""
    written = text.write(name, CALLS, SCHEMAS)
    found = text.read(name, written, SCHEMAS)
    arguments = [
        call.arguments if isinstance(call.arguments, dict) else json.loads(call.arguments)
        for call in found.calls
    ]
    assert [call.name for call in found.calls] == [called for called, _ in CALLS]
    assert arguments == [given for _, given in CALLS]
    assert not found.text.strip()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("qwen3_coder", {"content": "a\n</parameter>\n<parameter=path>\n5"}),
        ("glm45", {"content": "</arg_value><arg_key>"}),
        ("minimax_m2", {"content": "</parameter></invoke>"}),
        ("kimi_k2", {"content": 5}),
    ],
)
def test_a_value_that_holds_the_marks_is_refused(name: str, arguments: dict[str, Any]):
    """In tags; between quotes it is nothing special."""
    if name == "kimi_k2":
        assert text.read(name, text.write(name, [("write", arguments)])).calls
        return
    with pytest.raises(UsageError, match="a mark of the format"):
        text.write(name, [("write", arguments)], SCHEMAS)


def test_a_text_that_reads_as_another_type_is_refused():
    """A union of a text and an integer, in a format without types."""
    schemas = {"f": {"properties": {"x": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}}
    assert text.read(
        "qwen3_coder", text.write("qwen3_coder", [("f", {"x": 5})], schemas), schemas
    ).calls[0].arguments == {"x": 5}
    with pytest.raises(UsageError, match="read as another type"):
        text.write("qwen3_coder", [("f", {"x": "5"})], schemas)
    dsml = text.write(
        "deepseek_v32", [("f", {"x": "5"})], schemas
    )  # which says of a text that it is one
    assert text.read("deepseek_v32", dsml, schemas).calls[0].arguments == {"x": "5"}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Qwen/Qwen3-8B", "hermes"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_coder"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek_v31"),
        ("mistralai/Mistral-Nemo-Instruct-2407", "mistral_old"),
        ("openai/gpt-oss-20b", "harmony"),
        ("ibm-granite/granite-4.0-h-small", "hermes"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "pythonic"),
    ],
)
def test_the_format_of_a_model(model: str, name: str):
    """By the name of its family."""
    assert text.format_for(model) == name


def test_an_unknown_model_or_format():
    """What is there is said."""
    with pytest.raises(UsageError, match="chat template"):
        text.format_for("acme/frobnicator")
    with pytest.raises(UsageError, match="did you mean 'hermes'"):
        text.read("hermez", "")


# --- as a provider ----------------------------------------------------------------------------------------------------


@tool
def refund(order: str, amount: int, express: bool = False, tags: list[str] | None = None) -> str:
    """Refund an order."""
    return f"refunded {amount} of {order}"


ARGUMENTS = {"order": "7", "amount": 5, "express": True, "tags": ["a"]}
REGISTRY = Registry([refund])


def text_of(name: str) -> str:
    schemas = {"refund": REGISTRY.bind(f"text:{name}").export()[0]["function"]["parameters"]}
    return text.write(name, [("refund", ARGUMENTS)], schemas)


@pytest.mark.parametrize("name", FORMATS)
def test_a_text_is_dispatched_whole_and_streamed(name: str):
    """By a provider like any other: nothing is coerced, and the turn is the same."""
    bound, written = REGISTRY.bind(f"text:{name}"), text_of(name)
    whole = bound.dispatch(written)
    collector, found = bound.collector(), []
    for at in range(0, len(written), 3):
        found += collector.feed(written[at : at + 3])
    found += collector.close()
    pieces = collector.plan().run()
    for results in (
        whole,
        pieces,
        bound.dispatch(written.encode()),
        REGISTRY.dispatch(written, provider=f"text:{name}"),
    ):
        assert [result.arguments for result in results] == [ARGUMENTS]
        assert results[0].text == "refunded 5 of 7"
        assert results[0].coercions == ()
        assert results.finish == "tool_calls"
        assert results.turn == whole.turn
    assert [call.id for call in found] == [result.call.id for result in whole]
    assert whole.turn[0]["tool_calls"][0]["function"] == {"name": "refund", "arguments": ARGUMENTS}
    again = bound.dispatch(bound.calls_as_messages([("refund", ARGUMENTS)])[0])
    assert [result.arguments for result in again] == [ARGUMENTS]


BODIES: list[Any] = [
    lambda said: {"role": "assistant", "content": said},
    lambda said: {"role": "assistant", "content": [{"type": "text", "text": said}]},
    lambda said: {
        "choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}]
    },
    lambda said: {"choices": [{"text": said, "finish_reason": "stop"}]},
    lambda said: [{"generated_text": said}],
    lambda said: [
        {
            "generated_text": [
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": said},
            ]
        }
    ],
    lambda said: {"generated_text": said},
    lambda said: {"message": {"role": "assistant", "content": said}, "done_reason": "stop"},
    lambda said: {"response": said, "done_reason": "stop"},
]


@pytest.mark.parametrize("body", BODIES)
def test_bodies_that_hold_a_text(body: Any):
    """Of servers, pipelines and templates."""
    results = REGISTRY.bind("text:hermes").dispatch(body(f"Sure.\n{text_of('hermes')}"))
    assert [result.arguments for result in results] == [ARGUMENTS]
    assert results.turn[0]["content"] == "Sure."


def test_a_call_that_is_cut_off():
    """It is answered, and not run; the text and the reasoning are there."""
    bound = REGISTRY.bind("text:hermes")
    written = "<think>hm</think>Sure. " + text_of("hermes")[:-30]
    results = bound.dispatch(written)
    assert [result.error.code for result in results if result.error] == ["truncated_arguments"]
    assert results.finish == "length"
    assert results.turn[0]["content"] == "Sure."
    assert results.turn[0]["reasoning_content"] == "hm"
    collector = bound.collector()
    collector.feed(written)
    assert (collector.text, collector.thinking) == ("Sure. ", "hm")
    assert [call.name for call in collector.close()] == ["refund"]
    assert collector.plan().run()[0].text == results[0].text


@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_a_list_of_calls_that_is_cut_off(pieces: int):
    """What is whole runs, in a stream too; the last is answered as cut off."""
    written = '[TOOL_CALLS][{"name": "refund", "arguments": {"order": "7", "amount": 5}}, {"name": "refund", "arguments": {"order": "8"'
    bound = REGISTRY.bind("text:mistral_old")
    collector = bound.collector()
    for at in range(0, len(written), pieces):
        collector.feed(written[at : at + pieces])
    assert [call.arguments for call in collector.close()] == [{"order": "7", "amount": 5}, None]
    for results in (bound.dispatch(written), collector.plan().run()):
        assert [result.error and result.error.code for result in results] == [
            None,
            "truncated_arguments",
        ]


def test_an_unknown_tool_and_malformed_arguments():
    """As at any provider."""
    bound = REGISTRY.bind("text:hermes")
    assert (
        bound.dispatch('<tool_call>{"name": "fly", "arguments": {}}</tool_call>')[0].error.code
        == "unknown_tool"
    )
    broken = bound.dispatch(
        '<tool_call>{"name": "refund", "arguments": {"order": "7", "amount": 5}\n</tool_call>'
    )
    assert broken[0].arguments == {"order": "7", "amount": 5, "express": False, "tags": None}
    worse = bound.dispatch(
        '<tool_call>{"name": "refund", "arguments": {"order": "7" "amount": 5}}\n</tool_call>'
    )
    assert worse[0].error is not None
    assert worse[0].error.code == "malformed_arguments"


def test_ids():
    """Kimi's are the model's own, Mistral's template needs them, others have none."""
    kimi = REGISTRY.bind("text:kimi_k2").dispatch(text_of("kimi_k2"))
    assert kimi.turn[1] == {
        "role": "tool",
        "tool_call_id": "functions.refund:0",
        "content": "refunded 5 of 7",
        "name": "refund",
    }
    mistral = REGISTRY.bind("text:mistral").dispatch(text_of("mistral"))
    assert len(mistral.turn[0]["tool_calls"][0]["id"]) == 9
    assert mistral.turn[1]["tool_call_id"] == mistral.turn[0]["tool_calls"][0]["id"]
    assert (
        "id"
        not in REGISTRY.bind("text:hermes").dispatch(text_of("hermes")).turn[0]["tool_calls"][0]
    )


def test_a_conversation_goes_on_over_a_text():
    """From a text to a server that leaves calls in the text, and on to another provider."""
    chat = Conversation(Registry([refund]))
    chat.user("Refund it.")
    assert "tools" in chat.request("text:qwen3_coder")
    assert [result.arguments for result in chat.dispatch(f"Sure. {text_of('qwen3_coder')}")] == [
        ARGUMENTS
    ]
    messages = chat.request("text:qwen3_coder")["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    chat.user("Again.")
    provider = get("vllm+hermes")
    chat.request(provider)
    assert [result.arguments for result in chat.dispatch(completion(text_of("hermes")))] == [
        ARGUMENTS
    ]
    chat.user("And here.")
    blocks = [
        block
        for message in chat.request("anthropic")["messages"]
        for block in message["content"]
        if isinstance(block, dict)
    ]
    assert [block["input"] for block in blocks if block["type"] == "tool_use"] == [
        ARGUMENTS,
        ARGUMENTS,
    ]
    stored = Conversation.from_json(chat.to_json(), Registry([refund]))
    assert stored.request("text:hermes") == chat.request("text:hermes")


def test_what_a_format_cannot_hold_is_in_the_report():
    """Of formats without types."""

    @tool
    def find(what: int | str, where: str) -> str:
        """Find."""
        return ""

    rows = Registry([find]).bind("text:qwen3_coder").report()
    assert {row.path for row in rows} >= {"", "what"}
    assert not [
        row for row in Registry([find]).bind("text:hermes").report() if row.keyword == "type"
    ]


def test_an_unknown_body_is_never_read_as_a_text():
    """A model may quote a call: a format is read where it was asked for."""
    registry = Registry([refund])
    for body in BODIES[3:]:
        with pytest.raises(Exception, match=r"not a|no choices"):
            registry.dispatch(body(text_of("hermes")))


# --- calls that a server left -----------------------------------------------------------------------------------------


def completion(said: str, **more: Any) -> dict[str, Any]:
    return {
        "choices": [
            {"message": {"role": "assistant", "content": said, **more}, "finish_reason": "stop"}
        ]
    }


@pytest.mark.parametrize(
    "provider",
    ["openai", "vllm", "llama-cpp", "huggingface", "openrouter", "together", "fireworks"],
)
def test_a_call_in_the_text_is_warned_of(provider: str, caplog: pytest.LogCaptureFixture):
    """It is not run; the results are as falsy as those of any answer, and the log says what to do."""
    with caplog.at_level(logging.WARNING, "toolshape"):
        results = (
            Registry([refund]).bind(provider).dispatch(completion("Sure. " + text_of("hermes")))
        )
    (warning,) = results.warnings
    assert not results
    assert (warning.rule, warning.text_format) == ("call_in_text", "hermes")
    assert f"bind({provider!r}, text_calls='hermes')" in caplog.text


def test_the_warning_comes_beside_calls_too():
    """And never where there is no mark."""
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "refund", "arguments": json.dumps(ARGUMENTS)},
    }
    bound = Registry([refund]).bind("vllm")
    assert (
        bound.dispatch(completion(text_of("glm45"), tool_calls=[call])).warnings[0].text_format
        == "glm45"
    )
    assert bound.dispatch(completion("Nothing <b>here</b>.", tool_calls=[call])).warnings == ()
    empty = bound.dispatch({"choices": [{"message": {"role": "assistant", "content": None}}]})
    assert [warning.rule for warning in empty.warnings] == ["empty_answer"]


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_a_call_in_reasoning_is_warned_of_if_there_is_nothing_else(
    key: str, caplog: pytest.LogCaptureFixture
):
    """A model that forgets to end its reasoning seems to say nothing; beside an answer, its thoughts are its own."""
    bound = Registry([refund]).bind("vllm")
    with caplog.at_level(logging.WARNING, "toolshape"):
        results = bound.dispatch(completion("", **{key: f"I refund it. {text_of('hermes')}"}))
    (warning,) = results.warnings
    assert not results
    assert (warning.rule, warning.text_format) == ("call_in_text", "hermes")
    assert "only reasoning" in caplog.text
    assert bound.dispatch(completion("Done.", **{key: text_of("hermes")})).warnings == ()


def test_reasoning_that_does_not_end_is_warned_of():
    """In a text, too: the mark that ends the reasoning is missing."""
    results = (
        Registry([refund]).bind("text:hermes").dispatch(f"<think>I refund it. {text_of('hermes')}")
    )
    assert not results
    assert [warning.text_format for warning in results.warnings] == ["hermes"]


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "harmony", "mistral", "kimi_k2"])
def test_calls_in_the_text_are_read_where_that_is_asked_for(name: str):
    """As if the server had parsed them, beside those that it did parse; whole and streamed."""
    bound = Registry([refund]).bind("vllm", text_calls=name)
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "refund", "arguments": '{"order": "1", "amount": 1}'},
    }
    said = f"Sure. {text_of(name)}"
    results = bound.dispatch(completion(said, tool_calls=[call]))
    assert [result.arguments["order"] for result in results if result.arguments] == ["7", "1"]
    message = results.turn[0]
    assert message["content"] == "Sure."
    assert [
        json.loads(call["function"]["arguments"])["order"] for call in message["tool_calls"]
    ] == ["7", "1"]
    assert [answer["tool_call_id"] for answer in results.messages] == [
        call["id"] for call in message["tool_calls"]
    ]
    assert results.warnings == ()

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    collector, shown, found = bound.collector(), "", []
    events = [chunk({"content": said[at : at + 4]}) for at in range(0, len(said), 4)]
    for event in (*events, chunk({"tool_calls": [{**call, "index": 0}]}), chunk({}, "tool_calls")):
        found += collector.feed(event)
        shown += collector.new_text
    assert len(found) == 2  # the server's call is complete when the response ends
    assert collector.close() == []
    assert shown == "Sure. "
    assert [call.id for call in found] == [result.call.id for result in results]
    assert collector.plan().run().turn == results.turn
    assert collector.feed(chunk({"content": "late"})) == []  # after the end: a broken gateway


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder"])
def test_a_call_in_the_text_of_a_server_is_cut_off(name: str):
    """It is answered as cut off; the server's own call after it runs."""
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "refund", "arguments": '{"order": "1", "amount": 1}'},
    }
    bound = Registry([refund]).bind("vllm", text_calls=name)
    results = bound.dispatch(completion(text_of(name)[:-40], tool_calls=[call]))
    assert [result.error and result.error.code for result in results] == [
        "truncated_arguments",
        None,
    ]


def test_reading_text_calls_survives_a_pickle_and_a_pause():
    """The provider has a name of its own."""
    bound = Registry([refund]).bind("vllm", text_calls="hermes")
    assert bound.provider.name == "vllm+hermes"
    assert pickle.loads(pickle.dumps(bound.provider)) is bound.provider


@pytest.mark.parametrize(
    ("provider", "name"), [("vllm", "hermez"), ("gemini", "hermes"), ("text:hermes", "hermes")]
)
def test_text_calls_that_cannot_be_read(provider: str, name: str):
    """An unknown format, or a provider whose servers leave no calls in texts."""
    with pytest.raises(ExportError, match="text_calls"):
        Registry([refund]).bind(provider, text_calls=name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("provider", "path"), [("vllm", "/v1/chat/completions"), ("ollama", "/api/chat")]
)
def test_a_fake_leaves_the_call_in_the_text(provider: Any, path: str):
    """As a server without the right parser does."""
    registry = Registry([refund])
    bound = registry.bind(provider, text_calls="hermes")
    with Fake(provider, registry, text="hermes") as fake:
        fake.calls(refund, order="7", amount=5)
        body = {
            "model": "m",
            "stream": False,
            "messages": [{"role": "user", "content": "x"}],
            **bound.request(),
        }
        request = urllib.request.Request(
            fake.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            response = json.load(answer)
    assert registry.bind(provider).dispatch(response).warnings[0].text_format == "hermes"
    assert bound.dispatch(response)[0].text == "refunded 5 of 7"
    with pytest.raises(ExportError, match="text_calls"):
        Fake("gemini", text="hermes")


# --- grammars ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["structural_tag", "lark", "gbnf"])
def test_a_grammar_names_the_tools(kind: Any):
    """For one call, several, or a forced choice."""
    bound = REGISTRY.bind("text:hermes")
    for options in ({}, {"choice": "required"}, {"choice": "refund", "parallel": False}):
        assert "refund" in json.dumps(bound.grammar(kind, **options))
    assert bound.grammar(kind) != bound.grammar(kind, choice="required")


NAME_OF_RULE = re.compile(r"\b[a-z]+(?:-[a-z0-9]+)*\b")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("choice", [None, "required"])
def test_each_rule_of_llama_cpps_grammar_is_written(name: str, choice: Any):
    """Each name that a rule uses is the name of a rule, once; the engine itself judges in tests/real_server."""
    try:
        made = REGISTRY.bind(f"text:{name}").grammar("gbnf", choice=choice)
    except UsageError:
        return
    rules = [line.partition(" ::= ") for line in made.splitlines()]
    names = [name for name, _, _ in rules]
    assert names[0] == "root"
    assert len(set(names)) == len(names)
    for _, _, body in rules:
        bare = re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{[0-9,]*\}', " ", body)
        assert set(NAME_OF_RULE.findall(bare)) <= set(names), bare


def test_what_has_no_grammar():
    """The way out is said."""
    with pytest.raises(UsageError, match="text_calls="):
        REGISTRY.bind("openai").grammar("lark")
    with pytest.raises(UsageError, match="lark"):
        REGISTRY.bind("text:pythonic").grammar("structural_tag")
    with pytest.raises(UsageError, match="lark"):
        REGISTRY.bind("text:seed_oss").grammar("structural_tag")
    with pytest.raises(ExportError, match="no tool"):
        REGISTRY.bind("text:hermes").grammar("lark", choice="fly")


def test_the_names_of_the_providers():
    """Each format is a provider."""
    assert {f"text:{name}" for name in FORMATS} <= set(available())


def test_the_page_lists_the_formats():
    """Each with its models and its source."""
    page = (Path(__file__).parents[3] / "docs" / "open-models.md").read_text(encoding="utf-8")
    for text_format in text.formats():
        assert f"| `{text_format.name}` |" in page
        assert text_format.evidence in page
        assert all(f"`{pattern}`".replace("|", "\\|") in page for pattern in text_format.models)
    assert f"reads and writes {len(FORMATS)} formats" in page

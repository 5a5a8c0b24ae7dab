"""Answers in a type: what is sent for it, what is read of a response or a stream, and what a model is told of mistakes."""

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr, field_validator
from typing_extensions import Self, TypedDict

from toolshape import AnswerError, DefinitionError, ExportError, Output, ResponseError
from toolshape._families import get
from toolshape._families.names import available
from toolshape._families.wire.server import Completion


class Line(BaseModel):
    sku: str
    qty: int = 1


class Invoice(BaseModel):
    """An invoice."""

    total: float
    lines: list[Line]
    tags: dict[str, int] = {}


class Part(BaseModel):
    name: str
    parts: list["Part"] = []


@dataclasses.dataclass
class Point:
    lat: float
    lon: float = 0.0


class Area(TypedDict):
    corners: tuple[Point, Point]


INVOICE = Output(Invoice)
VALID = {"total": 3.5, "lines": [{"sku": "a", "qty": 2}], "tags": {"x": 1}}
ASKED = [name for name in available() if get(name).histories is not None]
WITH_SERVER = [name for name in ASKED if get(name).server is not None]


def chat(text: str | None, finish: str = "stop", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, **more}
    return {"choices": [{"index": 0, "finish_reason": finish, "message": message}]}


def response(provider: str, text: str) -> dict[str, Any]:
    """A response of a provider with a text, made by the server that the fake plays; or a call, where that is the answer."""
    server = get(provider).server
    assert server is not None
    return json.loads(json.dumps(server.respond(Completion("m", "0", text))))


# --- what is sent ------------------------------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
NAMED = {"name": "answer", "schema": SCHEMA, "description": "A number."}
DESCRIBED = {**SCHEMA, "description": "A number."}
STRICT_CHAT = {"response_format": {"type": "json_schema", "json_schema": {**NAMED, "strict": True}}}
LENIENT_CHAT = {"response_format": {"type": "json_schema", "json_schema": NAMED}}
CLOSED_NOT = {key: value for key, value in DESCRIBED.items() if key != "additionalProperties"}
REQUESTS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        (
            "openai",
            "azure",
            "xai",
            "openrouter",
            "together",
            "fireworks",
            "cerebras",
            "vllm",
            "llama-cpp",
            "huggingface",
        ),
        STRICT_CHAT,
    ),
    **dict.fromkeys(("groq", "mistral", "moonshot"), LENIENT_CHAT),
    "openai-responses": {"text": {"format": {"type": "json_schema", "strict": True, **NAMED}}},
    "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": DESCRIBED}}},
    "gemini": {"config": {"responseMimeType": "application/json", "responseJsonSchema": DESCRIBED}},
    "vertex": {"config": {"responseMimeType": "application/json", "responseJsonSchema": DESCRIBED}},
    "gemini-openapi": {
        "config": {"responseMimeType": "application/json", "responseSchema": CLOSED_NOT}
    },
    "gemini-interactions": {
        "response_format": {"type": "text", "mime_type": "application/json", "schema": DESCRIBED}
    },
    "cohere": {"response_format": {"type": "json_object", "json_schema": CLOSED_NOT}},
    "ollama": {"format": DESCRIBED},
}


class Number(BaseModel):
    n: int


@pytest.mark.parametrize("provider", REQUESTS)
def test_the_fields_of_a_request(provider):
    """Each provider's own field; a description beside the schema, or in it."""
    output = Output(Number, name="answer", description="A number.")
    assert output.bind(provider).request() == REQUESTS[provider]


def test_bedrock_and_grpc_take_the_schema_as_text():
    output = Output(Number, name="answer", description="A number.")
    config = output.bind("bedrock").request()["outputConfig"]["textFormat"]
    inner = config["structure"]["jsonSchema"]
    assert (config["type"], inner["name"], inner["description"]) == (
        "json_schema",
        "answer",
        "A number.",
    )
    assert json.loads(inner["schema"]) == SCHEMA
    form = output.bind("xai:grpc").request()["response_format"]
    assert form["format_type"] == "FORMAT_TYPE_JSON_SCHEMA"
    assert json.loads(form["schema"])["properties"] == SCHEMA["properties"]


def test_without_a_field_a_tool_is_forced():
    """The report says so; where no call can be forced, it says that, too."""
    bound = INVOICE.bind("deepseek")
    request = bound.request()
    assert bound.tool == "Invoice"
    assert request["tool_choice"] == {"type": "function", "function": {"name": "Invoice"}}
    assert next(entry.rule for entry in bound.report()) == "answered_by_tool"
    unforced = INVOICE.bind("text:hermes")
    assert "tool_choice" not in unforced.request()
    assert "cannot force" in str(unforced.report())


@pytest.mark.parametrize("provider", ["mcp", "json-schema"])
def test_who_answers_no_requests_is_refused(provider):
    with pytest.raises(
        ExportError, match="is not the API of a model, so it cannot be asked for an answer"
    ):
        INVOICE.bind(provider)


def test_strictness():
    """Auto is strict where the provider holds every value as it is; what has one form only refuses the other."""
    assert Output(Line).bind("openai").is_strict()
    assert not INVOICE.bind("openai").is_strict()  # a map would be sent as pairs, as for a tool
    assert INVOICE.bind("openai", strict=True).is_strict()
    assert not INVOICE.bind("openai", strict=False).is_strict()
    assert (
        "strict"
        not in INVOICE.bind("openai", strict=False).request()["response_format"]["json_schema"]
    )
    assert not INVOICE.bind("groq").is_strict()
    assert INVOICE.bind("groq", strict=True).is_strict()
    assert not Output(Invoice, strict=False).bind("openai").is_strict()
    with pytest.raises(ExportError, match="constrains every answer"):
        INVOICE.bind("anthropic", strict=False)
    with pytest.raises(ExportError, match="no strict form"):
        INVOICE.bind("moonshot", strict=True)


def test_a_request_is_the_callers_own():
    first = INVOICE.bind("openai").request()
    first["response_format"]["json_schema"]["schema"].clear()
    assert INVOICE.bind("openai").request()["response_format"]["json_schema"]["schema"]


# --- what is read ------------------------------------------------------------------------------------------------------

TYPES: list[tuple[Any, Any, Any]] = [
    (Invoice, VALID, Invoice(total=3.5, lines=[Line(sku="a", qty=2)], tags={"x": 1})),
    (Part, {"name": "a", "parts": [{"name": "b"}]}, Part(name="a", parts=[Part(name="b")])),
    (Point, {"lat": 1.5}, Point(1.5)),
    (
        Area,
        {"corners": [{"lat": 1.0, "lon": 2.0}, {"lat": 3.0}]},
        {"corners": (Point(1.0, 2.0), Point(3.0))},
    ),
    (list[int], [1, 2], [1, 2]),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (Point | Line, {"sku": "a"}, Line(sku="a")),
    (int, 7, 7),
    (str, "a", "a"),
    (Literal["yes", "no"], "yes", "yes"),
    (int | None, None, None),
    (tuple[int, str], [1, "a"], (1, "a")),
    (Annotated[int, Field(ge=1)], 3, 3),
]


@pytest.mark.parametrize("provider", WITH_SERVER)
@pytest.mark.parametrize(("kind", "written", "value"), TYPES, ids=lambda given: str(given)[:30])
def test_every_kind_of_type_is_read_at_every_provider(provider, kind, written, value):
    """In the form that was sent, and in canonical form; whole and streamed."""
    output = Output(kind)
    bound, found = output.bind(provider), get(provider)
    if bound.tool is not None:
        pytest.skip("the answer is a call: see the laws")
    assert found.server is not None
    text = json.dumps(written)
    assert bound.read(response(provider, text)).unwrap() == value
    collector = bound.collector()
    for event in found.server.unfold(response(provider, text)):
        collector.feed(json.loads(json.dumps(event)))
    assert collector.close().unwrap() == value


def test_a_root_that_is_no_object_is_wrapped():
    """The model writes an object with one field, and its value is the answer; without the object it is read, too."""
    bound = Output(list[int]).bind("openai")
    assert bound.request()["response_format"]["json_schema"]["schema"]["properties"].keys() == {
        "value"
    }
    assert bound.read(chat('{"value": [1]}')).unwrap() == [1]
    assert bound.read(chat("[1]")).unwrap() == [1]
    assert str(bound.read(chat('{"value": ["x"]}')).error).endswith(
        'value[0]: expected integer, got "x"'
    )


def test_an_object_that_has_a_field_of_that_name():
    class Held(BaseModel):
        value: int

    bound = Output(Held).bind("openai")
    assert bound.read(chat('{"value": 3}')).unwrap() == Held(value=3)
    assert Output(dict[str, int]).bind("gemini").read(
        response("gemini", '{"value": {"value": 3}}')
    ).unwrap() == {"value": 3}


def test_coercions_are_on_record_at_the_answers_own_paths():
    answer = INVOICE.bind("openai").read(chat('{"total": "3.5", "lines": [{"sku": 4}]}'))
    assert answer.ok
    assert [(coercion.path, coercion.rule) for coercion in answer.coercions] == [
        ("total", "number_text"),
        ("lines[0].sku", "text_from_integer"),
    ]
    strict = Output(Invoice, coerce=False).bind("openai")
    assert strict.read(chat('{"total": "3.5", "lines": []}')).error.code == "invalid_answer"


ERRORS = [
    ("", "stop", "empty_answer", "The answer was empty."),
    (None, "stop", "empty_answer", "The answer was empty."),
    ('{"total": 1, "li', "stop", "truncated_answer", "The answer was cut off."),
    ('{"total": 1, "lines": [', "length", "truncated_answer", "The answer was cut off."),
    ('```json\n{"total": 1}\n```', "stop", "answer_in_prose", "it is in a code fence"),
    ('Sure! {"total": 1}', "stop", "answer_in_prose", "there is text before it."),
    ('{"total": 1} Anything else?', "stop", "answer_in_prose", "there is text after it."),
    (
        '{"total": 1}, "value": {"total": 2, "lines": []}',
        "stop",
        "answer_in_prose",
        "text after it",
    ),
    ("I cannot say.", "stop", "malformed_answer", "The answer is not JSON"),
    ('{"total": 1, "total": 2, "lines": []}', "stop", "invalid_answer", "duplicate key"),
    ('{"total": 1}', "stop", "invalid_answer", "lines: required, but missing"),
    ('{"total": 1, "lines": [], "more": 1}', "stop", "invalid_answer", "more: unknown field"),
    ('{"total": 1, "lines": []}', "content_filter", "refused_answer", "No answer was given."),
]


@pytest.mark.parametrize(("text", "finish", "code", "words"), ERRORS)
def test_each_mistake_has_an_error_and_a_text_for_the_next_turn(text, finish, code, words):
    answer = INVOICE.bind("openai").read(chat(text, finish))
    assert not answer.ok
    assert answer.value is None
    assert answer.error is not None
    assert answer.error.code == code
    assert words in str(answer.error)
    assert "Invoice" in str(answer.error)
    assert answer.turn == [
        chat(text)["choices"][0]["message"],
        {"role": "user", "content": str(answer.error)},
    ]
    with pytest.raises(AnswerError):
        answer.unwrap()


def test_a_refusal_is_no_answer():
    answer = INVOICE.bind("openai").read(chat(None, refusal="I will not."))
    assert answer.error is not None
    assert (answer.error.code, answer.error.text, answer.error.retryable) == (
        "refused_answer",
        "I will not.",
        False,
    )
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": "I will not."}],
    }
    refused = {"object": "response", "status": "completed", "output": [item]}
    assert INVOICE.bind("openai-responses").read(refused).error.text == "I will not."
    message = {"type": "message", "role": "assistant", "content": [], "stop_reason": "refusal"}
    assert INVOICE.bind("anthropic").read(message).error.code == "refused_answer"
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert INVOICE.bind("gemini").read(blocked).error.code == "refused_answer"


def test_reasoning_before_the_answer_is_not_the_answer():
    text = json.dumps(VALID)
    thinking = [
        {"type": "thinking", "thinking": "{", "signature": "s"},
        {"type": "text", "text": text},
    ]
    message = {
        "type": "message",
        "role": "assistant",
        "content": thinking,
        "stop_reason": "end_turn",
    }
    assert INVOICE.bind("anthropic").read(message).ok
    parts = [{"text": "Hm.", "thought": True}, {"text": text[:9]}, {"text": text[9:]}]
    content = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]
    }
    assert INVOICE.bind("gemini").read(content).ok
    blocks = [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}, {"text": text}]
    converse = {
        "output": {"message": {"role": "assistant", "content": blocks}},
        "stopReason": "end_turn",
    }
    assert INVOICE.bind("bedrock").read(converse).ok
    early = {
        "type": "message",
        "role": "assistant",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "Hm."}],
    }
    final = {**early, "phase": "final_answer", "content": [{"type": "output_text", "text": text}]}
    assert (
        INVOICE.bind("openai-responses")
        .read({"object": "response", "status": "completed", "output": [early, final]})
        .ok
    )


def test_an_answer_by_a_tool_is_answered_and_other_calls_are_not_run():
    calls = [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "Invoice", "arguments": json.dumps(VALID)},
        },
        {"id": "c2", "type": "function", "function": {"name": "search", "arguments": "{}"}},
    ]
    answer = INVOICE.bind("deepseek").read(chat(None, "tool_calls", tool_calls=calls))
    assert answer.unwrap().tags == {"x": 1}
    assert [(message["role"], message.get("tool_call_id")) for message in answer.turn] == [
        ("assistant", None),
        ("tool", "c1"),
        ("tool", "c2"),
    ]
    assert "not run" in answer.turn[2]["content"]
    wrong = [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "Invoice", "arguments": '{"total": 1}'},
        }
    ]
    told = INVOICE.bind("deepseek").read(chat(None, "tool_calls", tool_calls=wrong)).turn[1]
    assert "lines: required, but missing" in told["content"]
    assert INVOICE.bind("deepseek").read(chat("Here you are.")).error.code == "malformed_answer"
    assert INVOICE.bind("deepseek").read(chat("")).error.code == "empty_answer"


def test_calls_instead_of_the_answer():
    """They are answered as not run, and the model is told what was wanted."""
    calls = [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]
    answer = INVOICE.bind("openai").read(chat(None, "tool_calls", tool_calls=calls))
    assert answer.error.code == "empty_answer"
    assert [message["role"] for message in answer.turn] == ["assistant", "tool", "user"]
    assert "Invoice" in answer.turn[2]["content"]


@pytest.mark.parametrize(
    "text",
    [
        "\ud800",
        '{"total": "\ud800"}',
        "\x00",
        '{"total": 1e999}',
        "[" * 5000,
        '{"a":' * 5000,
        "\ufeff{}",
    ],
)
@pytest.mark.parametrize("kind", [Invoice, list[int], str])
def test_no_text_is_too_odd_to_be_read(kind, text):
    """Whatever a model writes is an answer or an error of its own."""
    for provider in ("openai", "groq"):
        answer = Output(kind).bind(provider).read(chat(text))
        assert answer.ok or str(answer.error)


def test_a_validator_of_the_user():
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def is_even(cls, n: int) -> int:
            if n == 0:
                raise RuntimeError("the vault is open")
            if n % 2:
                raise ValueError("must be even")
            return n

    bound = Output(Even).bind("openai")
    assert "must be even" in str(bound.read(chat('{"n": 1}')).error)
    crashed = bound.read(chat('{"n": 0}')).error
    assert crashed is not None
    assert (crashed.code, crashed.retryable) == ("validator_crashed", False)
    assert crashed.reference is not None
    assert "vault" not in str(crashed)


def test_secrets_are_hidden():
    class Login(BaseModel):
        user: str
        password: SecretStr

    answer = Output(Login).bind("openai").read(chat('{"user": 1.5, "password": {"x": "hunter2"}}'))
    assert "hunter2" not in str(answer.error)
    beside = Output(Login).bind("openai").read(chat('My password is hunter2. {"user": "a"}'))
    assert "hunter2" not in str(beside.error)
    assert "hunter2" not in repr(
        Output(Login).bind("openai").read(chat('{"user": "a", "password": "hunter2"}'))
    )


def test_what_is_no_response_is_an_error():
    with pytest.raises(ResponseError):
        INVOICE.bind("openai").read({"hello": 1})
    with pytest.raises(ResponseError):
        INVOICE.bind("openai").collector().answer()


# --- streams -----------------------------------------------------------------------------------------------------------


def pieces(text: str, size: int) -> list[dict[str, Any]]:
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    events = [
        {"choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None}]}
        for part in parts
    ]
    return [*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


def test_a_stream_shows_the_answer_as_it_grows():
    """Each state is a beginning of the answer, in canonical form; a map, which is sent as pairs, is there once it is whole."""
    sent = {
        "total": 3.5,
        "lines": [{"sku": "abc", "qty": None}],
        "tags": [{"key": "x", "value": 1}],
    }
    collector = INVOICE.bind("openai", strict=True).collector()
    assert collector.partial() is None
    states = list(collector.over(pieces(json.dumps(sent), 3)))
    seen = [state for at, state in enumerate(states) if state != states[at - 1]]
    assert {"total": 3.5} in seen
    assert states[-1] == {"total": 3.5, "lines": [{"sku": "abc"}], "tags": {"x": 1}}
    assert collector.close().unwrap() == Invoice(total=3.5, lines=[Line(sku="abc")], tags={"x": 1})


def is_beginning(part: Any, whole: Any) -> bool:
    """Whether a whole value may have begun like this: texts and lists have grown, fields were added."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_beginning(item, whole[key]) for key, item in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_beginning, part, whole))
    return (
        whole.startswith(part)
        if isinstance(part, str) and isinstance(whole, str)
        else part == whole
    )


@pytest.mark.parametrize("provider", WITH_SERVER)
def test_a_stream_that_breaks_anywhere_keeps_what_has_come(provider):
    """Each state is a beginning of the last; an answer that is not whole is cut off, or empty."""
    bound, server = INVOICE.bind(provider), get(provider).server
    if bound.tool is not None:
        pytest.skip("the answer is a call: see the laws")
    assert server is not None
    collector, states, codes = bound.collector(), [], set()
    for event in server.unfold(response(provider, json.dumps(VALID))):
        collector.feed(json.loads(json.dumps(event)))
        state = collector.partial()
        if state is not None:
            states.append(state)
            answer = collector.answer()
            codes.add("whole" if answer.error is None else answer.error.code)
    assert all(is_beginning(state, states[-1]) for state in states)
    assert states[-1] == VALID
    assert codes == {"truncated_answer", "whole"}


def test_a_wrapped_answer_grows_without_its_object():
    states = list(
        Output(list[int]).bind("openai").collector().over(pieces('{"value": [1, 2, 33]}', 4))
    )
    assert states[-1] == [1, 2, 33]
    assert [1, 2] in states


def test_a_stream_that_breaks_is_cut_off():
    collector = INVOICE.bind("openai").collector()
    for event in pieces(json.dumps(VALID), 5)[:4]:
        collector.feed(event)
    assert collector.answer().error.code == "truncated_answer"
    assert collector.close().error.code == "truncated_answer"


# --- the output itself -------------------------------------------------------------------------------------------------


def test_names_and_descriptions():
    assert (INVOICE.name, INVOICE.description) == ("Invoice", "An invoice.")
    assert (Output(list[int]).name, Output(Invoice, name="bill").name) == ("answer", "bill")
    assert Output(Invoice, description="The bill.").description == "The bill."
    renamed = Output(Invoice, name="the bill!").bind("openai")
    assert renamed.request()["response_format"]["json_schema"]["name"].startswith("the_bill_")
    assert ("name", "renamed") in {(entry.rule, entry.kind) for entry in renamed.report()}
    assert Output(list[int]).schema == {"type": "array", "items": {"type": "integer"}}
    assert INVOICE.schema["properties"].keys() == {"total", "lines", "tags"}


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (Callable[[], int], {}, "no form for callable"),
        (json.loads, {}, "not function 'loads'"),
        (Self, {}, "Self has no meaning here"),
        (list[Self], {}, "Self has no meaning here"),
        (list["Nowhere"], {}, "not defined"),  # type: ignore[name-defined]
        (Annotated[int, Field(alias="n")], {}, "an answer has no field name"),
        (int, {"strict": "yes"}, "strict"),
        (int, {"name": ""}, "must be a non-empty string"),
        (int, {"coerce": {"nothing": True}}, "no coercion rule"),
    ],
)
def test_what_cannot_be_an_output_is_refused_with_its_place(kind, options, words):
    with pytest.raises(DefinitionError, match=words) as raised:
        Output(kind, **options)
    assert "cannot be an output" in str(raised.value)
    assert "test_answers.py" in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_copies_and_pickles():
    assert copy.deepcopy(INVOICE) is INVOICE
    again = pickle.loads(pickle.dumps(INVOICE))
    assert (again.name, again.description, again.schema) == (
        INVOICE.name,
        INVOICE.description,
        INVOICE.schema,
    )
    bound = pickle.loads(pickle.dumps(INVOICE.bind("openai")))
    assert bound.request() == INVOICE.bind("openai").request()
    answer = INVOICE.bind("openai").read(chat(json.dumps(VALID)))
    assert pickle.loads(pickle.dumps(answer)).unwrap() == answer.unwrap()
    error = INVOICE.bind("openai").read(chat("")).error
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.raises(TypeError, match="AnswerCollector"):
        pickle.dumps(INVOICE.bind("openai").collector())


def test_the_report_says_what_is_not_enforced():
    report = INVOICE.bind("openai", strict=True).report()
    assert {(entry.path, entry.rule, entry.severity) for entry in report} >= {
        ("tags", "additionalProperties", "mapped_back"),
        ("Line.qty", "required", "mapped_back"),
    }
    assert {entry.tool for entry in report} == {"Invoice"}


class Bounded(BaseModel):
    count: int = Field(ge=1, le=5)
    code: str = Field(pattern="^[A-Z]{3}$")
    plain: bool


@pytest.mark.parametrize(
    ("provider", "kept", "engine"),
    [
        ("vllm", "maximum, minimum, pattern", "xgrammar 0.2.8"),
        ("sglang", "maximum, minimum, pattern", "xgrammar 0.2.8"),
        ("llama-cpp", "maximum, minimum, pattern", "llama.cpp"),
        ("ollama", "maximum, minimum, pattern", "llama.cpp"),
        ("huggingface", "pattern", "outlines-core 0.2.14"),
    ],
)
def test_a_report_says_what_the_engine_was_measured_to_keep(provider, kept, engine):
    found = [
        entry for entry in Output(Bounded).bind(provider).report() if entry.severity == "enforced"
    ]
    assert [(entry.rule, entry.kind) for entry in found] == [("kept_by_engine", "finding")]
    assert f"(measured): {kept}; {engine}" in found[0].note


@pytest.mark.parametrize("provider", ["openai", "mistral", "lm-studio"])
def test_what_nobody_measured_is_not_said_to_be_kept(provider):
    bound = Output(Bounded if provider != "lm-studio" else Plain).bind(provider)
    assert "kept_by_engine" not in {entry.rule for entry in bound.report()}


class Plain(BaseModel):
    plain: bool

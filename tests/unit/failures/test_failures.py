"""Failures: bodies of every family, responses, and how long to wait. The SDKs' own exceptions are in tests/sdks."""

import email.utils
import json
import time

import pytest
from pydantic import BaseModel

from toolshape import (
    CallError,
    Conversation,
    HistoryError,
    Output,
    Problem,
    Registry,
    explain,
    tool,
)


@tool
def find_order(order_id: str) -> str:
    """Find an order."""
    return order_id


@tool(name="count.items")
def count_items(lines: list[dict[str, int]]) -> int:
    """Count."""
    return len(lines)


TOOLS = Registry([find_order, count_items])


def openai(message, code=None, param=None, kind="invalid_request_error"):
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def anthropic(message, kind="invalid_request_error"):
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def gemini(code, status, message, *details):
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


PER_DAY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "RequestsPerDay"}],
}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s"}
QUOTA = "You exceeded your current quota, please check your plan and billing details."

# (the kind, whether to retry, the body)
BODIES = [
    ("schema", False, openai("Invalid schema for function 'find_order': In context=('properties', 'x'), 'allOf' is not permitted.")),
    ("schema", False, anthropic("tools.1.custom.input_schema.type: Field required")),
    ("schema", False, gemini(400, "INVALID_ARGUMENT", "* GenerateContentRequest.tools[0].function_declarations[1].name: x")),
    ("schema", False, {"message": "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be object.", "__type": "ValidationException"}),
    ("history", False, openai("An assistant message with 'tool_calls' must be followed by tool messages", param="messages.[3].role")),
    ("history", False, anthropic("messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1")),
    ("history", False, {"object": "error", "message": "Unexpected role 'user' after role 'tool'", "type": "invalid_request_message_order", "code": "3230"}),
    ("history", False, gemini(400, "INVALID_ARGUMENT", "Function call is missing a thought_signature in functionCall parts.")),
    ("history", False, openai("The `reasoning_content` in the thinking mode must be passed back to the API.")),
    ("model", True, {"error": {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": "x"}}),
    ("limits", False, openai("This model's maximum context length is 128000 tokens.", "context_length_exceeded")),
    ("limits", False, anthropic("Too many strict tools (21).")),
    ("request", False, {"error": "llama2 does not support tools"}),
    ("rate", True, openai("Rate limit reached for requests", "rate_limit_exceeded")),
    ("rate", True, gemini(429, "RESOURCE_EXHAUSTED", QUOTA, RETRY)),
    ("quota", False, gemini(429, "RESOURCE_EXHAUSTED", QUOTA, PER_DAY, RETRY)),
    ("quota", False, openai(QUOTA, "insufficient_quota")),
    ("quota", False, anthropic("Your credit balance is too low to access the Anthropic API.")),
    ("overloaded", True, anthropic("Overloaded", "overloaded_error")),
    ("overloaded", True, gemini(503, "UNAVAILABLE", "The model is busy.")),
    ("auth", False, openai("Incorrect API key provided", "invalid_api_key")),
    ("auth", False, {"message": "denied", "__type": "com.amazon#AccessDeniedException"}),
    ("unknown", False, {"something": "else"}),
    ("unknown", False, {"error": {"message": "What happened here?"}}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "retryable", "body"), BODIES)
def test_bodies(kind, retryable, body):
    """As a dict, as text, as bytes, inside a router's, in a list; with everything kept."""
    router = {
        "error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(body)}}
    }
    for given in (body, json.dumps(body), json.dumps(body).encode(), router, [body]):
        failure = explain(given)
        assert (failure.kind, failure.retryable) == (kind, retryable), given
        assert failure.error is given


class Response:
    """What HTTP clients have in common."""

    def __init__(self, status, body=b"", headers=None):
        self.status_code = status
        self.headers = headers or {}
        self.content = body
        self.reason_phrase = "Reason"

    @property
    def text(self):
        raise RuntimeError("not read")


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "request", False), (401, "auth", False), (402, "quota", False), (403, "auth", False), (404, "request", False),
        (408, "network", True), (409, "overloaded", True), (413, "limits", False), (424, "model", True), (429, "rate", True),
        (500, "overloaded", True), (503, "overloaded", True), (504, "network", True), (529, "overloaded", True),
        (200, "unknown", False),
    ],
)  # fmt: skip
def test_a_status_that_says_it_alone(status, kind, retryable):
    """Where a proxy answers with a page, or with nothing."""
    failure = explain(Response(status, b"<html>no</html>", {"X-Request-Id": "req_7"}))
    assert (failure.kind, failure.retryable, failure.status, failure.request_id) == (
        kind,
        retryable,
        status,
        "req_7",
    )
    assert failure.message == "Reason"


def test_tools_are_named_by_their_own_names():
    """By what was sent; by its number, with the tools or with the request at hand; the path is that of the values."""
    openai_bound = TOOLS.bind("openai")
    wire_name = list(openai_bound.names_by_wire_name())[1]
    body = openai(
        f"Invalid schema for function '{wire_name}': In context=('properties', 'lines', 'items'), schema must have a 'type' key."
    )
    failure = explain(body, openai_bound)
    assert (failure.kind, failure.tool, failure.path) == ("schema", "count.items", "lines[]")
    assert explain(body).tool == wire_name
    numbered = openai(
        "Invalid 'tools[1].function.parameters.properties.lines'",
        "invalid_value",
        "tools[1].function.parameters",
    )
    assert explain(numbered, openai_bound).tool == "count.items"
    assert explain(numbered).tool is None
    gemini_body = gemini(
        400,
        "INVALID_ARGUMENT",
        "tools[0].function_declarations[1].parameters.properties[lines].items: missing field.",
    )
    failure = explain(gemini_body, TOOLS.bind("gemini"))
    assert (failure.tool, failure.path) == ("count.items", "lines[]")
    for request in (
        {
            "tools": [
                {"type": "function", "function": {"name": "a"}},
                {"type": "function", "function": {"name": "b"}},
            ]
        },
        {"tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}]},
        {"toolConfig": {"tools": [{"toolSpec": {"name": "a"}}, {"toolSpec": {"name": "b"}}]}},
    ):
        response = Response(400, json.dumps(numbered).encode())
        response.request = Response(0, json.dumps(request).encode())
        assert explain(response).tool == "b"
    assert explain(openai("tools[9].function.name is too long"), openai_bound).tool is None


def test_a_place_in_the_history():
    """As a path into the messages."""
    failure = explain(
        anthropic(
            "messages.48.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1"
        )
    )
    assert failure.path == "messages[48].content.1"
    aws = {
        "message": "Value at 'messages.73.member.content.2.member.toolUse.name' failed to satisfy constraint"
    }
    assert explain(aws).path.startswith("messages[72]")


# Names as an author might give them, and words of some provider's errors.
NAMES = (
    "billing_address", "insufficient_quota", "rate_limit", "api_key", "permission", "authentication", "overloaded_error",
    "context_length_exceeded", "request_too_large", "response_format", "budget_tokens", "reasoning_content", "prefill",
    "thought_signature", "tool_choice", "PerDay", "tool_use_failed", "timeout_error", "RESOURCE_EXHAUSTED", "spend_limit",
    "server_error", "unauthorized", "messages", "tools", "text.format", "rate limit", "quota-exceeded",
)  # fmt: skip
# What providers say of a request that holds a name, in the forms of the recorded refusals and of the SDKs' errors.
QUOTING = (
    lambda name: openai(f"Invalid schema for function '{name}': In context=(), object schema missing properties."),
    lambda name: openai(f"Invalid schema for function 'f': In context=('properties', '{name}'), 'allOf' is not permitted."),
    lambda name: openai(f"Invalid schema for function 'f': 'required' must include every key. Missing '{name}'."),
    lambda name: openai(f"Invalid 'tools[0].function.parameters.properties.{name}'", "invalid_value", f"tools[0].{name}"),
    lambda name: openai(f"Invalid 'messages[9].tool_calls[0].function.name': got '{name}'", None, "messages[9]"),
    lambda name: openai(f"No tool output found for function call {name}.", None, "input"),
    lambda name: openai(f"parameters for tool {name} did not match schema: errors: [`/{name}`: expected integer]"),
    lambda name: openai(f"attempted to call tool '{name}' which was not in request.tools"),
    lambda name: anthropic(f"tools.0.custom.input_schema.properties.{name}: JSON schema is invalid."),
    lambda name: anthropic(f"tools.0.custom.input_schema.properties.{name}.anyOf.0.properties.{name}.type: Field required"),
    lambda name: anthropic(f"tools.0.custom: Circular reference detected in schema definitions: {name} -> {name}."),
    lambda name: anthropic(f"messages.1.content.0.tool_use.input.{name}: Input should be a valid dictionary"),
    lambda name: anthropic(f"messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {name}"),
    lambda name: gemini(400, "INVALID_ARGUMENT", f"* x.tools[0].function_declarations[0].parameters.properties[{name}].items: missing."),
    lambda name: gemini(400, "INVALID_ARGUMENT", f"Unable to submit request because `{name}` functionDeclaration `parameters.{name}` schema is bad"),
    lambda name: gemini(400, "INVALID_ARGUMENT", f"required fields ['{name}'] are not defined in the schema properties.", {"field": name}),
    lambda name: {"message": f"The value at toolConfig.tools.0.toolSpec.inputSchema.json.properties.{name}.type must be object."},
    lambda name: {"message": f"Malformed input request: #/messages/2/content/0: extraneous key [{name}] is not permitted"},
    lambda name: {"detail": [{"loc": ["body", "tools", 0, "function", name], "msg": "Extra inputs are not permitted"}]},
    lambda name: {"message": f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes."},
    lambda name: {"message": f"Tool names must be unique: {name}"},
)  # fmt: skip


@pytest.mark.parametrize("quoting", QUOTING)
def test_the_name_of_a_tool_or_of_a_parameter_decides_nothing(quoting):
    """A message of the same words has the same kind, whatever the author of the request calls things."""
    expected = explain(quoting("shipping_address"))
    assert expected.kind in ("schema", "history", "model")
    for name in NAMES:
        for given in (
            quoting(name),
            {**quoting(name), "status_code": 400},
            json.dumps(quoting(name)),
        ):
            found = explain(given)
            assert (found.kind, found.retryable) == (expected.kind, expected.retryable), given


@pytest.mark.parametrize(
    ("words", "kind", "retryable"),
    [
        ("Request too large for m on tokens per min (TPM): Limit 30000, Requested 61337. It must be reduced.", "limits", False),
        ("Request too large for `m` in tier `on_demand` on tokens per minute (TPM): Limit 6,000, Requested 8,103", "limits", False),
        ("Request too large for m.", "limits", False),
        ("Request body too large for m model. Max size: 8000 tokens.", "limits", False),
        ("Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 28000, Requested 5000.", "rate", True),
        ("Rate limit reached for m on requests per day (RPD): Limit 200, Used 200, Requested 1.", "rate", True),
    ],
)  # fmt: skip
def test_what_no_waiting_helps_is_not_tried_again(words, kind, retryable):
    """A request alone is larger than what a limit allows in all, though its code is that of a rate."""
    for status in (413, 429, None):
        for header in ({}, {"x-should-retry": "true"}):
            body = openai(words, "rate_limit_exceeded", kind="tokens")
            given = body if status is None else Response(status, json.dumps(body).encode(), header)
            assert (explain(given).kind, explain(given).retryable) == (kind, retryable)
    none = gemini(
        429,
        "RESOURCE_EXHAUSTED",
        "Quota exceeded for metric: x/free_tier_requests, limit: 0, model: m. Please retry in 25s.",
    )
    some = gemini(
        429,
        "RESOURCE_EXHAUSTED",
        "Quota exceeded for metric: x/free_tier_requests, limit: 20, model: m. Please retry in 25s.",
    )
    assert (explain(none).kind, explain(none).retryable, explain(some).retryable) == (
        "quota",
        False,
        True,
    )


@pytest.mark.parametrize(
    "words",
    [
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        "The encrypted content for item rs_1 could not be verified.",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        "Assistant response prefill is incompatible with enable_thinking.",
        "messages: final assistant content cannot end with trailing whitespace",
        "The last message of m must be a user message, or an assistant message with prefix mode on.",
        "Invalid `signature` in `thinking` block",
    ],
)
def test_errors_of_reasoning_and_of_the_last_message_are_of_the_history(words):
    """In the words of OpenAI, Anthropic, Bedrock, llama.cpp and DeepSeek."""
    aws = f"The model returned the following errors: {words}"
    for given in (openai(words), openai(words, param="input"), anthropic(words), {"message": aws}):
        assert (explain(given).kind, explain(given).retryable) == ("history", False)


def test_a_code_is_read_where_codes_stand():
    """A class, a member of a body, the words of an SDK; among other words it is a name."""
    assert explain("ThrottlingException: slow down, please").kind == "rate"
    assert (
        explain(
            "An error occurred (AccessDeniedException) when calling the Converse operation: no"
        ).kind
        == "auth"
    )
    assert (
        explain("Error code: 402 - {'error': {'message': 'x', 'code': 'insufficient_quota'}}").kind
        == "quota"
    )
    assert explain("the parameter insufficient_quota is not known").kind == "unknown"


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, openai("x"), 7.0),
        ({"Retry-After-Ms": "1500"}, openai("x"), 1.5),
        ({"retry-after": email.utils.formatdate(NOW + 30, usegmt=True)}, openai("x"), 30.0),
        ({"x-amz-retry-after": "250"}, openai("x"), 0.25),
        ({}, gemini(429, "RESOURCE_EXHAUSTED", "x", RETRY), 13.5),
        ({}, openai("Rate limit reached. Please try again in 1m2.5s."), 62.5),
        ({}, openai("Please retry after 33 seconds."), 33.0),
        ({"x-ratelimit-reset-requests": "20ms"}, openai("x"), 0.02),
        ({"anthropic-ratelimit-tokens-reset": "2027-01-15T08:00:30Z"}, openai("x"), 30.0),
        ({"retry-after": "soon"}, openai("x"), None),
        ({"retry-after": "-5"}, openai("x"), None),
    ],
)
def test_how_long_to_wait(headers, body, seconds, monkeypatch):
    """In every spelling that has been seen; never invented."""
    monkeypatch.setattr(time, "time", lambda: NOW)
    failure = explain(Response(429, json.dumps(body).encode(), headers))
    assert failure.kind == "rate"
    assert failure.retry_after == (None if seconds is None else pytest.approx(seconds))


def test_the_rate_that_is_used_up_decides():
    """Not the one whose reset comes first."""
    headers = {
        "x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-requests": "5",
        "x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0",
    }  # fmt: skip
    assert explain(Response(429, b"", headers)).retry_after == 360.0


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("invalid_api_key", "auth"),
        ("rate_limit_exceeded", "rate"),
        ("invalid_function_parameters", "schema"),
    ],
)
def test_codes_go_before_words(code, kind):
    """Whatever else stands in the message."""
    for words in ("maximum context length", "schema", "tool_use_failed", "messages[3]"):
        assert explain(openai(words, code)).kind == kind


def test_what_the_server_says_of_retrying_counts():
    """Its header goes before what is known of codes."""
    assert not explain(Response(503, b"", {"x-should-retry": "false"})).retryable
    assert explain(Response(400, b"", {"x-should-retry": "true"})).retryable


class OddError(Exception):
    """Whatever it is asked, it raises."""

    def __getattr__(self, name):
        raise RuntimeError(name)


def test_nothing_that_is_given_raises():
    """An object that raises, an error that causes itself, a body that nests, a message without end."""
    odd = OddError("x")
    odd.__cause__ = odd
    assert explain(odd).kind == "unknown"
    assert explain(None).kind == "unknown"
    assert explain(5).message == ""
    nested = {"message": "deep"}
    for _ in range(50):
        nested = {"error": nested}
    assert explain(nested).kind == "unknown"
    knot = {}
    knot["error"] = knot
    assert explain(knot).kind == "unknown"
    wide = ["q"]
    for _ in range(7):
        wide = [wide] * 8
    began = time.perf_counter()
    explain(wide)
    explain(
        {
            "error": {
                "message": "x",
                "code": "extra_forbidden" * 200_000,
                "param": "tools[" * 200_000,
            }
        }
    )
    explain(openai("In context=(" + "'a'   " * 3000 + "!"))
    for odd_body in (
        {"error": {"message": r"In context=('\x',): bad"}}, {"error": {"code": "²"}}, {"status": "9" * 5000},
        {"error": {"details": [{(1, 2): 3}]}}, {"retry-after": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"},
    ):  # fmt: skip
        assert explain(odd_body).kind == "unknown"
    late = {"retry-after": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}
    assert explain(Response(429, b"", late)).retry_after is None
    explain(openai("tools[" * 200_000))
    explain(openai("In context=(" + "'a', " * 100_000))
    assert time.perf_counter() - began < 5


def test_exceptions_of_python():
    """Connections and timeouts, also where they caused another."""
    assert explain(ConnectionResetError("reset")).kind == "network"
    assert explain(TimeoutError()).kind == "network"
    wrapped = RuntimeError("wrapped")
    wrapped.__cause__ = ConnectionError("refused")
    assert explain(wrapped).kind == "network"
    assert explain(wrapped).retryable


def test_what_python_raises_is_no_provider_s():
    """Whatever words are in it; and what was raised while a connection failed has a cause of its own."""
    for error in (
        ValueError("database schema is missing"),
        KeyError("properties"),
        PermissionError("permission denied"),
    ):
        assert explain(error).kind == "unknown"
    meanwhile = ValueError("bad input")
    meanwhile.__context__ = ConnectionError("refused")
    assert explain(meanwhile).kind == "unknown"


class Bill(BaseModel):
    """A bill."""

    tags: dict[str, int]


BILL = Output(Bill, name="the bill!")
OF_ANSWERS = [
    ("openai", "Invalid schema for response_format 'the_bill_': In context=('properties', 'tags'), 'type' is missing", "tags"),
    ("anthropic", "output_config.format.schema: For 'object' type, 'additionalProperties' must be set", ""),
    ("gemini", "* GenerateContentRequest.generation_config.response_schema.properties[tags].items: missing field.", "tags[]"),
    ("bedrock", "The value at outputConfig.textFormat.structure.jsonSchema.schema is invalid", ""),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "message", "path"), OF_ANSWERS)
def test_a_refused_schema_of_an_answer_names_the_output(provider, message, path):
    """By its own name, alone and beside tools; without what was sent, by the name in the message."""
    error = {"error": {"message": message, "type": "invalid_request_error", "code": None}}
    for bound in (BILL.bind(provider), Registry().bind(provider, output=BILL)):
        failure = explain(error, bound)
        assert (failure.kind, failure.tool, failure.path) == ("schema", "the bill!", path)
    assert explain(error).tool == ("the_bill_" if provider == "openai" else None)


def test_a_refused_tool_that_is_the_answer():
    """Where the answer is a tool, the tool's wire name is the output's."""
    bound = BILL.bind("deepseek")
    error = openai(
        f"Invalid schema for function '{bound.tool}': In context=(), schema must have a 'type' key."
    )
    assert explain(error, bound).tool == "the bill!"


def test_what_else_is_refused_of_a_request():
    """Not a schema, and not a history."""
    assert explain(openai("Missing required parameter: 'response_format.type'")).kind == "request"
    assert (
        explain(
            anthropic("thinking.budget_tokens: must be less than max_tokens, see thinking blocks")
        ).kind
        == "request"
    )
    assert explain({"error": {"message": "schema cache failed", "code": 500}}).kind == "overloaded"


def test_errors_of_ours():
    """A call that failed, and a conversation or a tool that cannot be sent."""
    invalid = CallError(
        "invalid_arguments",
        tool="t",
        problems=[Problem(path="x", rule="type", expected="int", got="text")],
    )
    failure = explain(invalid)
    assert (failure.kind, failure.tool, failure.path, failure.rule) == ("model", "t", "x", "type")
    assert explain(CallError("tool_crashed", tool="t", reference="r")).kind == "tool"
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    call = {"id": "1", "type": "function", "function": {"name": "find_order", "arguments": "{}"}}
    conversation.read([{"role": "assistant", "content": None, "tool_calls": [call]}], "openai")
    with pytest.raises(HistoryError) as raised:
        conversation.request("openai")
    failure = explain(raised.value)
    assert (failure.kind, failure.path, failure.rule) == (
        "history",
        "messages[1].tool_calls[0]",
        "open_turn",
    )

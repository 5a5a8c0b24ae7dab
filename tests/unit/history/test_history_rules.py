"""Each rule of histories: a history that its provider takes, and one that it does not, written from the thread it cites.

A row tests both directions: what is found, and that the repair leaves nothing to find.
"""

import copy

import pytest

from toolshape import Registry, UsageError
from toolshape._families import get
from toolshape._families.names import available

BOUND = {name: Registry().bind(name) for name in available() if get(name).histories is not None}


def call(call_id="call_1", name="find", arguments="{}"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls, **more):
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def answer(call_id="call_1", content="7", **more):
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


GO = {"role": "user", "content": "Go."}
ON = {"role": "user", "content": "On."}
OK = {"role": "assistant", "content": "Ok."}
SYSTEM = {"role": "system", "content": "Be brief."}
NINE, OTHER = "abcdefgh1", "abcdefgh2"
PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}


def use(call_id="toolu_1", name="find", given=None):
    return {
        "type": "tool_use",
        "id": call_id,
        "name": name,
        "input": {} if given is None else given,
    }


def result(call_id="toolu_1", content="7", **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


TEXT = {"type": "text", "text": "Ok."}


NO_INPUT = {"type": "tool_use", "id": "toolu_1", "name": "find"}
SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
HIDDEN = {"type": "redacted_thinking", "data": "d"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def fc(call_id="call_1", **more):
    return {"type": "function_call", "call_id": call_id, "name": "find", "arguments": "{}", **more}


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}


def fco(call_id="call_1"):
    return {"type": "function_call_output", "call_id": call_id, "output": "7"}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def contents(*parts):
    return {"role": "user", "parts": list(parts)}


def g_call(name="find", **more):
    own = {"id": more.pop("id")} if "id" in more else {}
    return {"functionCall": {**own, "name": name, "args": {}}, **more}


def g_result(name="find", **own):
    return {"functionResponse": {**own, "name": name, "response": {"output": 7}}}


SAID = {"text": "Go."}


def b_use(call_id="t1", name="find", given=None):
    return {
        "toolUse": {"toolUseId": call_id, "name": name, "input": {} if given is None else given}
    }


def b_result(call_id="t1", content="7", **more):
    return {"toolResult": {"toolUseId": call_id, "content": [{"text": content}], **more}}


def b_thought(signature=None):
    text = {"text": "Hm."} if signature is None else {"text": "Hm.", "signature": signature}
    return {"reasoningContent": {"reasoningText": text}}


B_GO = {"role": "user", "content": [{"text": "Go."}]}
B_OK = {"role": "assistant", "content": [{"text": "Ok."}]}
A_GO = {"role": "user", "content": "Go."}
G_GO = contents(SAID)
STEP = {"type": "user_input", "content": [{"type": "text", "text": "Go."}]}


def s_call(call_id="c1"):
    return {"type": "function_call", "id": call_id, "name": "find", "arguments": {}}


def s_result(call_id="c1"):
    return {"type": "function_result", "call_id": call_id, "name": "find", "result": "7"}


CLOUD = "gpt-oss:120b-cloud"

# (provider, rule, the model, what is taken, what is not)
ROWS = [
    ("openai", "unanswered_call", None, [GO, asks(call()), answer(), ON], [GO, asks(call()), ON]),
    ("openai", "open_turn", None, [GO, asks(call()), answer()], [GO, asks(call())]),
    ("openai", "late_result", None, [GO, asks(call()), answer(), ON], [GO, asks(call()), ON, answer(), ON]),
    ("openai", "orphan_result", None, [GO, asks(call()), answer(), ON], [GO, answer(), ON]),
    ("openai", "duplicate_result", None, [GO, asks(call()), answer(), ON], [GO, asks(call()), answer(), answer(), ON]),
    ("openai", "call_id", None, [GO, asks(call("a" * 40)), answer("a" * 40)], [GO, asks(call("a" * 41)), answer("a" * 41)]),
    (
        "openai", "media_in_result", None,
        [GO, asks(call()), answer(content=[{"type": "text", "text": "7"}])], [GO, asks(call()), answer(content=[PNG])],
    ),
    ("openai", "empty_message", None, [GO, {**OK, "content": ""}, ON], [GO, {**OK, "content": None}, ON]),
    ("openai", "tool_name", None, [GO, asks(call(name="a-b")), answer()], [GO, asks(call(name="a.b")), answer()]),
    ("openai-responses", "unanswered_call", None, [GO, fc(), fco(), ON], [GO, fc(), ON]),
    ("openai-responses", "open_turn", None, [GO, fc(), fco()], [GO, fc()]),
    ("openai-responses", "orphan_result", None, [GO, fc(), fco(), ON], [GO, fco(), ON]),
    ("openai-responses", "duplicate_result", None, [GO, fc(), fco(), ON], [GO, fc(), fco(), fco(), ON]),
    ("openai-responses", "call_id", None, [GO, fc("a" * 64), fco("a" * 64)], [GO, fc("a" * 65), fco("a" * 65)]),
    ("openai-responses", "item_id", None, [GO, THOUGHT, fc(id="fc_1"), fco()], [GO, THOUGHT, fc(id="call_1"), fco()]),
    (
        "openai-responses", "item_without_reasoning", None,
        [GO, THOUGHT, fc(id="fc_1"), fco(), fc("call_2", id="fc_2"), fco("call_2")],
        [GO, THOUGHT, fc(id="fc_1"), fco(), ON, fc("call_2", id="fc_2", status="completed"), fco("call_2")],
    ),
    (
        "openai-responses", "reasoning_alone", None,
        [GO, {"type": "reasoning", "id": "rs_1", "summary": []}, fc(), fco()],
        [GO, {"type": "reasoning", "id": "rs_1", "summary": []}, ON],
    ),
    ("openai-responses", "tool_name", None, [GO, fc(), fco()], [GO, {**fc(), "name": "a.b"}, fco()]),
    ("anthropic", "unanswered_call", None, [A_GO, assistant(use()), user(result()), ON], [A_GO, assistant(use()), ON]),
    ("anthropic", "open_turn", None, [A_GO, assistant(use()), user(result())], [A_GO, assistant(use())]),
    ("anthropic", "orphan_result", None, [A_GO, assistant(use()), user(result())], [A_GO, user(result())]),
    (
        "anthropic", "late_result", None,
        [A_GO, assistant(use()), user(result(), TEXT)], [A_GO, assistant(use()), user(TEXT, result())],
    ),
    (
        "anthropic", "split_results", None,
        [A_GO, assistant(use(), use("toolu_2")), user(result(), result("toolu_2"))],
        [A_GO, assistant(use(), use("toolu_2")), user(result()), user(result("toolu_2"))],
    ),
    (
        "anthropic", "call_id", None,
        [A_GO, assistant(use("call_1")), user(result("call_1"))],
        [A_GO, assistant(use("functions.find:0")), user(result("functions.find:0"))],
    ),
    (
        "anthropic", "duplicate_id", None,
        [A_GO, assistant(use()), user(result()), assistant(use("toolu_2")), user(result("toolu_2"))],
        [A_GO, assistant(use()), user(result()), assistant(use()), user(result())],
    ),
    (
        "anthropic", "duplicate_result", None,
        [A_GO, assistant(use()), user(result())], [A_GO, assistant(use()), user(result(), result())],
    ),
    (
        "anthropic", "text_after_call", None,
        [A_GO, assistant(TEXT, use()), user(result())], [A_GO, assistant(use(), TEXT), user(result())],
    ),
    ("anthropic", "blank_text", None, [user(TEXT)], [user(TEXT, {"type": "text", "text": " \n"})]),
    ("anthropic", "empty_message", None, [A_GO, assistant(TEXT), ON], [A_GO, assistant(), ON]),
    (
        "anthropic", "tool_name", None,
        [A_GO, assistant(use()), user(result())], [A_GO, assistant(use(name="a.b")), user(result())],
    ),
    (
        "anthropic", "malformed_arguments", None,
        [A_GO, assistant(use()), user(result())], [A_GO, assistant(use(given='{"a":')), user(result())],
    ),
    ("anthropic", "malformed_arguments", None, [A_GO, assistant(use()), user(result())], [A_GO, assistant(NO_INPUT), user(result())]),
    (
        "anthropic", "malformed_arguments", None,
        [A_GO, assistant(use()), user(result())], [A_GO, assistant({**NO_INPUT, "input": None}), user(result())],
    ),
    (
        "anthropic", "blank_text", None,
        [A_GO, assistant(use()), user(result(content=[TEXT]))],
        [A_GO, assistant(use()), user(result(content=[TEXT, {"type": "text", "text": " "}]))],
    ),
    ("anthropic", "unsigned_reasoning", "claude-sonnet-4-5", [A_GO, assistant(SIGNED, TEXT), ON], [A_GO, assistant({**SIGNED, "signature": ""}, TEXT), ON]),
    ("anthropic", "unsigned_reasoning", "claude-sonnet-4-5", [A_GO, assistant(HIDDEN, TEXT), ON], [A_GO, assistant({**HIDDEN, "data": ""}, TEXT), ON]),
    ("anthropic", "server_tool_alone", None, [A_GO, assistant(SEARCH, FOUND, TEXT), ON], [A_GO, assistant(SEARCH, TEXT), ON]),
    ("anthropic", "server_tool_alone", None, [A_GO, assistant(SEARCH, FOUND, TEXT), ON], [A_GO, assistant(FOUND, TEXT), ON]),
    (
        "anthropic", "server_tool_alone", None,  # a program of the model's waits for a tool of the app
        [A_GO, assistant(SEARCH, use()), user(result()), assistant(FOUND, TEXT), ON],
        [A_GO, assistant(SEARCH, use()), user(result()), assistant(TEXT), ON],
    ),
    ("anthropic", "last_is_assistant", "claude-opus-4-6", [A_GO, assistant(TEXT), ON], [A_GO, assistant(TEXT)]),
    ("gemini", "unanswered_call", None, [G_GO, model(g_call()), contents(g_result()), G_GO], [G_GO, model(g_call()), G_GO]),
    ("gemini", "open_turn", None, [G_GO, model(g_call()), contents(g_result())], [G_GO, model(g_call())]),
    ("gemini", "orphan_result", None, [G_GO, model(g_call()), contents(g_result())], [G_GO, contents(g_result())]),
    (
        "gemini", "duplicate_result", None,
        [G_GO, model(g_call(id="c1")), contents(g_result(id="c1"))],
        [G_GO, model(g_call(id="c1")), contents(g_result(id="c1"), g_result(id="c1"))],
    ),
    (
        "gemini", "media_in_result", "gemini-2.5-pro",
        [G_GO, model(g_call()), contents(g_result())],
        [G_GO, model(g_call()), contents(g_result(parts=[{"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}]))],
    ),
    (
        "gemini", "late_result", None,
        [G_GO, model(g_call()), contents(g_result()), G_GO],
        [G_GO, model(g_call()), contents(SAID, g_result())],
    ),
    (
        "gemini", "split_results", None,
        [G_GO, model(g_call(), g_call("two")), contents(g_result(), g_result("two"))],
        [G_GO, model(g_call(), g_call("two")), contents(g_result()), contents(g_result("two"))],
    ),
    ("gemini", "call_placement", None, [G_GO, model(g_call()), contents(g_result())], [model(g_call()), contents(g_result())]),
    (
        "gemini", "missing_signature", "gemini-3-pro",
        [G_GO, model(g_call(thoughtSignature="c2ln")), contents(g_result())],
        [G_GO, model(g_call()), contents(g_result())],
    ),
    (
        "gemini", "tool_name", None,
        [G_GO, model(g_call("a.b")), contents(g_result("a.b"))], [G_GO, model(g_call("1 a")), contents(g_result("1 a"))],
    ),
    (
        "gemini", "malformed_arguments", None,
        [G_GO, model(g_call()), contents(g_result())],
        [G_GO, model({"functionCall": {"name": "find", "args": "{"}}), contents(g_result())],
    ),
    (
        "vertex", "call_without_id", "gemini-2.5-pro",
        [G_GO, model(g_call()), contents(g_result())],
        [
            G_GO,
            model({"functionCall": {"id": "1", "name": "find", "args": {}}}),
            contents({"functionResponse": {"id": "1", "name": "find", "response": {}}}),
        ],
    ),
    ("bedrock", "unanswered_call", None, [B_GO, assistant(b_use()), user(b_result())], [B_GO, assistant(b_use()), B_GO]),
    ("bedrock", "open_turn", None, [B_GO, assistant(b_use()), user(b_result())], [B_GO, assistant(b_use())]),
    ("bedrock", "orphan_result", None, [B_GO, assistant(b_use()), user(b_result())], [user({"text": "Go."}, b_result())]),
    (
        "bedrock", "duplicate_result", None,
        [B_GO, assistant(b_use()), user(b_result())], [B_GO, assistant(b_use()), user(b_result(), b_result())],
    ),
    (
        "bedrock", "late_result", None,
        [B_GO, assistant(b_use()), user(b_result(), {"text": "On."})],
        [B_GO, assistant(b_use()), user({"text": "On."}, b_result())],
    ),
    (
        "bedrock", "split_results", None,
        [B_GO, assistant(b_use(), b_use("t2")), user(b_result(), b_result("t2"))],
        [B_GO, assistant(b_use(), b_use("t2")), user(b_result()), user(b_result("t2"))],
    ),
    (
        "bedrock", "duplicate_id", None,
        [B_GO, assistant(b_use()), user(b_result()), assistant(b_use("t2")), user(b_result("t2"))],
        [B_GO, assistant(b_use()), user(b_result()), assistant(b_use()), user(b_result())],
    ),
    (
        "bedrock", "call_id", None,
        [B_GO, assistant(b_use("a.b:c-d")), user(b_result("a.b:c-d"))], [B_GO, assistant(b_use("a|b")), user(b_result("a|b"))],
    ),
    (
        "bedrock", "tool_name", None,
        [B_GO, assistant(b_use()), user(b_result())], [B_GO, assistant(b_use(name="a.b")), user(b_result())],
    ),
    ("bedrock", "blank_text", None, [B_GO], [user({"text": "Go."}, {"text": " "})]),
    ("bedrock", "empty_message", None, [B_GO, B_OK, B_GO], [B_GO, B_OK, {"role": "user", "content": []}]),
    (
        "bedrock", "text_after_call", None,
        [B_GO, assistant({"text": "Ok."}, b_use()), user(b_result())],
        [B_GO, assistant(b_use(), {"text": "Ok."}), user(b_result())],
    ),
    (
        "bedrock", "empty_error", None,
        [B_GO, assistant(b_use()), user(b_result(status="error"))],
        [B_GO, assistant(b_use()), user(b_result(content="", status="error"))],
    ),
    (
        "bedrock", "malformed_arguments", None,
        [B_GO, assistant(b_use()), user(b_result())],
        [B_GO, assistant({"toolUse": {"toolUseId": "t1", "name": "find"}}), user(b_result())],
    ),
    ("bedrock", "blank_text", None, [B_GO, assistant(b_use()), user(b_result())], [B_GO, assistant(b_use()), user(b_result(content=""))]),
    (
        "bedrock", "unsigned_reasoning", "anthropic.claude-sonnet-4-5",
        [B_GO, assistant(b_thought("s"), {"text": "Ok."}), B_GO], [B_GO, assistant(b_thought(), {"text": "Ok."}), B_GO],
    ),
    (
        "bedrock", "blank_signature", "amazon.nova-pro",
        [B_GO, assistant(b_thought(), {"text": "Ok."}), B_GO], [B_GO, assistant(b_thought(""), {"text": "Ok."}), B_GO],
    ),
    ("bedrock", "same_role", None, [B_GO, B_OK, B_GO], [B_GO, B_GO]),
    ("bedrock", "first_is_assistant", None, [B_GO, B_OK, B_GO], [B_OK, B_GO]),
    (
        "bedrock", "malformed_arguments", None,
        [B_GO, assistant(b_use()), user(b_result())], [B_GO, assistant(b_use(given="{")), user(b_result())],
    ),
    (
        "openai", "duplicate_id", None,
        [GO, asks(call(NINE), call(OTHER)), answer(NINE), answer(OTHER)],
        [GO, asks(call(NINE), call(NINE)), answer(NINE), answer(NINE)],
    ),
    ("openai", "malformed_arguments", None, [GO, asks(call()), answer()], [GO, asks(call(arguments={})), answer()]),
    ("openai", "malformed_arguments", None, [GO, asks(call()), answer()], [GO, asks(call(arguments=None)), answer()]),
    ("openai-responses", "malformed_arguments", None, [GO, fc(), fco()], [GO, fc(arguments={}), fco()]),
    ("mistral", "unanswered_call", None, [GO, asks(call(NINE)), answer(NINE)], [GO, asks(call(NINE)), ON]),
    ("mistral", "open_turn", None, [GO, asks(call(NINE)), answer(NINE)], [GO, asks(call(NINE))]),
    ("mistral", "orphan_result", None, [GO, asks(call(NINE)), answer(NINE)], [GO, answer(NINE)]),
    ("mistral", "duplicate_result", None, [GO, asks(call(NINE)), answer(NINE)], [GO, asks(call(NINE)), answer(NINE), answer(NINE)]),
    ("mistral", "late_result", None, [GO, asks(call(NINE)), answer(NINE)], [GO, asks(call(NINE)), OK, answer(NINE)]),
    (
        "mistral", "duplicate_id", None,
        [GO, asks(call(NINE), call(OTHER)), answer(NINE), answer(OTHER)],
        [GO, asks(call(NINE), call(NINE)), answer(NINE), answer(NINE)],
    ),
    ("mistral", "call_id", None, [GO, asks(call(NINE)), answer(NINE)], [GO, asks(call("call_1")), answer("call_1")]),
    (
        "mistral", "content_beside_calls", "open-mixtral-8x22b",
        [GO, OK, asks(call(NINE)), answer(NINE)], [GO, {**asks(call(NINE)), "content": "Ok."}, answer(NINE)],
    ),
    ("mistral", "tool_name", None, [GO, asks(call(NINE)), answer(NINE)], [GO, asks(call(NINE, "a.b")), answer(NINE)]),
    ("mistral", "system_between", None, [SYSTEM, GO, OK, ON], [GO, OK, SYSTEM, ON]),
    ("mistral", "last_is_assistant", None, [GO, OK, ON], [GO, OK]),
    (
        "mistral", "user_after_result", None,
        [GO, asks(call(NINE)), answer(NINE), OK, ON], [GO, asks(call(NINE)), answer(NINE), ON],
    ),
    (
        "mistral", "refused_reasoning", None,
        [GO, {**OK, "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, TEXT]}, ON],
        [GO, {**OK, "reasoning_content": "Hm."}, ON],
    ),
    ("mistral", "media_in_result", None, [GO, asks(call(NINE)), answer(NINE)], [GO, asks(call(NINE)), answer(NINE, [PNG])]),
    ("cohere", "unanswered_call", None, [GO, asks(call()), answer()], [GO, asks(call()), ON]),
    ("cohere", "open_turn", None, [GO, asks(call()), answer()], [GO, asks(call())]),
    ("cohere", "orphan_result", None, [GO, asks(call()), answer()], [GO, answer()]),
    ("cohere", "duplicate_result", None, [GO, asks(call()), answer()], [GO, asks(call()), answer(), answer()]),
    (
        "mistral", "call_placement", None,
        [GO, asks(call(NINE)), answer(NINE)], [asks(call(NINE)), answer(NINE)],
    ),
    ("gemini", "blank_text", None, [G_GO, model({"text": " "}), G_GO], [G_GO, model({"text": ""}, SAID), G_GO]),
    ("gemini", "empty_message", None, [G_GO, model(SAID), G_GO], [G_GO, model(), G_GO]),
    (
        "anthropic", "trailing_space", None,
        [A_GO, {"role": "assistant", "content": "It is"}], [A_GO, {"role": "assistant", "content": "It is "}],
    ),
    (
        "bedrock", "trailing_space", "eu.anthropic.claude-sonnet-4-5-v1:0",
        [B_GO, assistant({"text": "It is"})], [B_GO, assistant({"text": "It is\n"})],
    ),
    ("cohere", "call_id", None, [GO, asks(call()), answer()], [GO, asks(call("")), answer("")]),
    ("cohere", "late_result", None, [GO, asks(call()), answer()], [GO, asks(call()), OK, answer()]),
    (
        "ollama", "unanswered_call", "gpt-oss:120b-cloud",
        [GO, asks(call(arguments={})), {"role": "tool", "tool_name": "find", "content": "7"}], [GO, asks(call(arguments={})), ON],
    ),
    ("ollama", "open_turn", CLOUD, [GO, asks(call(arguments={})), answer()], [GO, asks(call(arguments={}))]),
    ("ollama", "orphan_result", CLOUD, [GO, asks(call(arguments={})), answer()], [GO, answer()]),
    (
        "ollama", "duplicate_result", CLOUD,
        [GO, asks(call(arguments={})), answer()], [GO, asks(call(arguments={})), answer(), answer()],
    ),
    (
        "ollama", "late_result", CLOUD,
        [GO, asks(call(arguments={})), answer()], [GO, asks(call(arguments={})), ON, answer()],
    ),
    ("ollama", "refused_reasoning", "gpt-oss:120b-cloud", [GO, OK, ON], [GO, {**OK, "thinking": "Hm."}, ON]),
    (
        "ollama", "malformed_arguments", None,
        [GO, asks(call(arguments={})), answer()], [GO, asks(call(arguments="{")), answer()],
    ),
    ("groq", "refused_reasoning", None, [GO, {**OK, "reasoning": "Hm."}, ON], [GO, {**OK, "reasoning_content": "Hm."}, ON]),
    ("cerebras", "refused_reasoning", None, [GO, OK, ON], [GO, {**OK, "reasoning_content": "Hm."}, ON]),
    (
        "deepseek", "missing_reasoning", "deepseek-v4-pro",
        [GO, asks(call(), reasoning_content="Hm."), answer()],
        [GO, {**OK, "reasoning_content": "Hm."}, ON, asks(call()), answer()],
    ),
    (
        "moonshot", "missing_reasoning", "kimi-k2-thinking",
        [GO, asks(call(), reasoning_content="Hm."), answer()],
        [GO, {**OK, "reasoning_content": "Hm."}, ON, asks(call()), answer()],
    ),
    ("deepseek", "missing_reasoning", "deepseek-reasoner", [GO, asks(call(), reasoning_content="Hm."), answer()], [GO, asks(call()), answer()]),
    ("moonshot", "missing_reasoning", "kimi-k2-thinking", [GO, asks(call(), reasoning_content="Hm."), answer()], [GO, asks(call()), answer()]),
    ("ollama", "malformed_arguments", None, [GO, asks(call(arguments={})), answer()], [GO, asks(call(arguments=None)), answer()]),
    ("llama-cpp", "malformed_arguments", None, [GO, asks(call()), answer()], [GO, asks(call(arguments="{")), answer()]),
    ("gemini-interactions", "unanswered_call", None, [STEP, s_call(), s_result(), STEP], [STEP, s_call(), STEP]),
    ("gemini-interactions", "open_turn", None, [STEP, s_call(), s_result()], [STEP, s_call()]),
    ("gemini-interactions", "orphan_result", None, [STEP, s_call(), s_result()], [STEP, s_result()]),
    ("gemini-interactions", "duplicate_result", None, [STEP, s_call(), s_result()], [STEP, s_call(), s_result(), s_result()]),
]  # fmt: skip
NOT_REPAIRED = {"open_turn", "last_is_assistant"}
EVERY = pytest.mark.parametrize(
    "row", ROWS, ids=[f"{provider} {rule}" for provider, rule, *_ in ROWS]
)


@EVERY
def test_what_is_taken_has_no_finding(row):
    """And is given back as the same objects."""
    provider, _, model_name, taken, _ = row
    bound = BOUND[provider]
    assert bound.check_messages(taken, model=model_name) == []
    repaired = bound.repair_messages(taken, model=model_name)
    assert repaired.repairs == ()
    assert all(message is other for message, other in zip(repaired.messages, taken, strict=True))


@EVERY
def test_what_is_refused_is_found_and_repaired(row):
    """With its path, its rule and the evidence; nothing given is changed; switched off, it stays."""
    provider, rule, model_name, _, refused = row
    bound, before = BOUND[provider], copy.deepcopy(refused)
    found = [
        check_message
        for check_message in bound.check_messages(refused, model=model_name)
        if check_message.rule == rule
    ]
    assert found, bound.check_messages(refused, model=model_name)
    assert all(
        item.path.startswith(f"{bound.provider.histories.key}[") and "20" in item.evidence
        for item in found
    )
    repaired = bound.repair_messages(refused, model=model_name)
    assert refused == before
    if rule in NOT_REPAIRED:
        return
    assert rule in {repair.rule for repair in repaired.repairs}
    left = {
        check_message.rule
        for check_message in bound.check_messages(repaired.messages, model=model_name)
    }
    assert left <= NOT_REPAIRED, repaired.messages
    as_it_is = bound.repair_messages(refused, model=model_name, repairs={rule: False})
    assert rule not in {repair.rule for repair in as_it_is.repairs}


@EVERY
def test_a_rule_that_holds_for_some_models_is_silent_elsewhere(row):
    """Where the model is another, or is not named; but at Anthropic a model without a name is a Claude."""
    provider, rule, model_name, _, refused = row
    others = (None, "some-other-model")
    if (provider, rule) == ("anthropic", "unsigned_reasoning"):
        others = others[1:]
    if model_name is not None:
        for other in others:
            assert rule not in {
                check_message.rule
                for check_message in BOUND[provider].check_messages(refused, model=other)
            }


def test_every_rule_has_a_row():
    """A new rule cannot be forgotten; vendors that have those of another need none of their own."""
    inherited = {"azure": "openai", "vertex": "gemini"}
    rows = {(provider, rule) for provider, rule, *_ in ROWS}
    for name, bound in BOUND.items():
        base = name if any(provider == name for provider, _ in rows) else "openai"
        for rule in {rule.name for rule in bound.provider.histories.rules} - {
            "signed_prefix",
            "tools_missing",
        }:
            owners = {
                name,
                base,
                inherited.get(name, name),
                "openai" if bound.provider.family == "openai" else name,
            }
            owners |= {"gemini"} if bound.provider.family == "gemini" else set()
            owners |= {bound.provider.family}
            assert any((owner, rule) in rows for owner in owners), (name, rule)


def test_reasoning_without_a_signature_goes_back_to_those_who_send_none():
    """Models of others are served in Anthropic's form, too, and want their reasoning back."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    stored = [A_GO, assistant(thought, TEXT), ON]
    assert not BOUND["anthropic"].check_messages(stored, model="mimo-v2-pro")
    [found] = BOUND["anthropic"].check_messages(stored, model="claude-sonnet-5")
    assert found.rule == "unsigned_reasoning"


def test_messages_that_are_put_into_one_keep_their_calls_last():
    """A text of the second message would stand after the call of the first."""
    bound, call, text = BOUND["bedrock"], b_use(), {"text": "Ok."}
    repaired = bound.repair_messages([B_GO, assistant(call), assistant(text)])
    assert repaired.messages == [B_GO, assistant(text, call)]
    assert [repair.rule for repair in repaired.repairs] == ["same_role", "text_after_call"]
    assert {problem.rule for problem in bound.check_messages(repaired.messages)} <= NOT_REPAIRED


def test_a_repair_says_which_signatures_it_invalidates():
    """Anthropic binds thinking to all that stands before (2026-08-31)."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    history = [
        A_GO,
        assistant(use()),
        ON,
        assistant(thought, TEXT),
        user({"type": "text", "text": " "}, TEXT),
    ]
    repairs = BOUND["anthropic"].repair_messages(history).repairs
    assert [(repair.rule, repair.invalidates) for repair in repairs] == [
        ("unanswered_call", ("messages[3].content[0]",)),
        ("blank_text", ()),
    ]


def test_ids_are_issued_without_collisions_and_the_same_each_time():
    """Two ids that a sanitiser would make one stay two; one that was issued before is not issued again."""
    history = [
        A_GO,
        assistant(use("call|1"), use("call.1")),
        user(result("call|1", "a"), result("call.1", "b")),
    ]
    first = BOUND["anthropic"].repair_messages(history)
    [one, two] = [block["id"] for block in first.messages[1]["content"]]
    assert one != two
    assert [(block["tool_use_id"], block["content"]) for block in first.messages[2]["content"]] == [
        (one, "a"),
        (two, "b"),
    ]
    assert BOUND["anthropic"].repair_messages(history).messages == first.messages
    taken = [A_GO, assistant(use(one)), user(result(one)), *history[1:]]
    ids = [
        b["id"]
        for m in BOUND["anthropic"].repair_messages(taken).messages
        for b in m["content"]
        if "input" in b
    ]
    assert len(set(ids)) == 3


def test_all_repairs_can_be_switched_off():
    """Then nothing is changed."""
    history = [GO, asks(call("a" * 50)), ON]
    assert BOUND["openai"].repair_messages(history, repairs=False) == BOUND[
        "openai"
    ].repair_messages(history, repairs={"unanswered_call": False, "call_id": False})
    with pytest.raises(UsageError, match="there is no repair 'ids'"):
        BOUND["openai"].repair_messages(history, repairs={"ids": False})


def test_bedrock_needs_its_tools():
    """A history with calls, and no toolConfig."""
    from toolshape import Conversation, HistoryError

    conversation = Conversation()
    conversation.read([B_GO, assistant(b_use()), user(b_result())], "bedrock")
    with pytest.raises(HistoryError, match="the request has no tools"):
        conversation.request("bedrock")
    assert "toolConfig" in conversation.request(
        "bedrock", native=[{"systemTool": {"name": "nova_grounding"}}]
    )


def test_arguments_that_look_like_the_id_of_their_call_stay_as_they_are():
    """A call is issued another id: an argument or a result of the same name and value is not one."""
    bound = Registry().bind("anthropic")
    given = [A_GO, assistant(use("a b", given={"id": "a b"})), user(result("a b")), A_GO]
    repaired = bound.repair_messages(given).messages
    [sent] = repaired[1]["content"]
    assert sent["id"] != "a b"
    assert sent["input"] == {"id": "a b"}
    given = [B_GO, assistant(b_use("a b", given={"toolUseId": "a b"})), user(b_result("a b"))]
    [sent] = Registry().bind("bedrock").repair_messages(given).messages[1]["content"]
    assert sent["toolUse"]["toolUseId"] != "a b"
    assert sent["toolUse"]["input"] == {"toolUseId": "a b"}

"""Fakes against what was recorded: they accept every request that was answered, refuse what was refused, and fold alike."""

import collections
import copy
import json
import re

import pytest
from fakes import MODEL, asked, keywords
from shared import corpus
from test_rules import SURFACES as WITH_RULES

from toolshape._families import family_of, get
from toolshape._families.names import available
from toolshape.testing import Fake

SURFACES = {
    **WITH_RULES,
    "vertex:gemini": "vertex",
    "ollama:ollama-native": "ollama",
    "ollama:openai-chat": "openrouter",
    "azure:openai-responses": "openai-responses",
    "xai:openai-responses": "openai-responses",
    "chatgpt:openai-responses": "openai-responses",
    "copilot:openai-responses": "openai-responses",
    "deepseek:openai-responses": "openai-responses",
}
NO_FAKE = {"bedrock-invoke", "writer", "xai-grpc (protobuf shown as JSON)"}
# What we refuse of requests that were answered, and why each is none of the provider's.
UNLIKE = {
    "call_id": "the recorder wrote ids anew, as call_REDACTED_1",
    "item_id": "the same, as id_REDACTED_1",
    "root_is_object": "types as numbers, which Vertex's gRPC form alone takes",
    "one_type": "the same",
    "keywords": "the same requests say propertyOrdering",
}


def faked(row):
    """The provider that a row's surface is faked as: vendors without one of their own as OpenAI's form alone."""
    if row["surface"] in NO_FAKE:
        return None
    found = SURFACES.get(f"{row['provider']}:{row['surface']}")
    own = (
        row["provider"]
        if row["surface"] == "openai-chat" and row["provider"] in available()
        else "openrouter"
    )
    return found or own


def test_what_was_answered_is_accepted():
    """Every recorded request with tools in it that was answered with 200, by the fake of its surface."""
    counts, unlike = collections.Counter(), collections.Counter()
    for name in ("provider_exchanges.jsonl", "provider_exchanges_stream.jsonl"):
        for row in corpus(name):
            body, surface = row["request"], None
            has_tools = isinstance(body, dict) and (
                body.get("tools") or body.get("toolConfig", {}).get("tools")
            )
            if has_tools and row["http_status"] == 200:
                surface = faked(row)
            if surface is None:
                continue
            fake = Fake(surface)
            fake.says("Ok.")
            key = get(surface).histories.model_key
            sent = {key: row["model"] or MODEL, **body}
            if get(surface).family == "gemini":
                sent = {"model": sent.pop("model"), "config": {}, **sent}
            status, content = asked(fake, sent)
            counts[surface] += 1
            if status != 200:
                rules = {item.rule for item in fake.refused}
                assert rules <= UNLIKE.keys(), (row["id"], content)
                assert "REDACTED" in json.dumps(body) or "propertyOrdering" in json.dumps(body), (
                    row["id"],
                    rules,
                )
                unlike.update(rules)
    print(counts, unlike)
    assert sum(counts.values()) > 1100
    assert sum(unlike.values()) <= 40


def chat(**function):
    return {"type": "function", "function": {"name": "find", **function}}


def openai_schema(schema, *, strict):
    return {"tools": [chat(parameters=schema, strict=strict)]}


OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
TWO = [chat(parameters=OBJECT), chat(parameters=OBJECT)]


def declared(**parameters):
    return {"tools": [{"functionDeclarations": [{"name": "find", "parameters": parameters}]}]}


def with_a(**node):
    return {**OBJECT, "properties": {"a": node}}


def called(name, call_id):
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": call_id, "name": name, "content": "7"}
    return [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        answer,
    ]


REFERRING = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/A", "maxLength": 9}},
    "$defs": {"A": {"type": "string"}},
}
# Rejections of which only the text was recorded: (provider, request) as it says that they were.
REBUILT = {
    35: ("openai", {"messages": called("a.b", "call_1")}),
    59: ("vertex", declared(**with_a(type="object", properties={"width": {}}))),
    61: ("gemini", {"tools": [{"functionDeclarations": [{"name": "find", "parametersJsonSchema": REFERRING}]}]}),
    64: ("mistral", {"messages": called("find", "call_search"), "tools": [chat(parameters=OBJECT)]}),
    26: ("openai-responses", {"tools": [{"type": "function", "name": "f", "strict": True, "parameters": with_a(type="object", properties={})}]}),
    27: ("openai", openai_schema(with_a(type=["object", "null"], properties={}), strict=True)),
    28: ("openai-responses", {"tools": [{"type": "function", "name": "f", "strict": True, "parameters": {**OBJECT, "required": []}}]}),
    31: ("openai", openai_schema(with_a(type="string", allOf=[{"type": "string"}]), strict=True)),
    34: ("openai", {"tools": [chat(parameters=OBJECT) | {"function": {"name": "a b", "parameters": OBJECT}}]}),
    36: ("azure", {"tools": [chat(description="x" * 1103, parameters=OBJECT)]}),
    38: ("deepseek", {"tools": [chat(parameters={"properties": {}})]}),
    39: ("deepseek", {"tools": TWO}),
    41: ("anthropic", {"tools": [{"name": "a" * 129, "input_schema": OBJECT}]}),
    45: ("anthropic", {"tools": [{"name": "a", "input_schema": OBJECT}] * 2}),
    47: ("bedrock", {"toolConfig": {"tools": [{"toolSpec": {"name": "a", "inputSchema": {"json": "{}"}}}]}}),
    50: ("gemini", declared(**with_a(type=""))),
    55: ("gemini", {"tools": [{"functionDeclarations": [{"name": "1a", "parameters": OBJECT}]}]}),
    57: ("gemini", declared(**{**OBJECT, "additionalProperties": None} | with_a(description="no type"))),
    58: ("gemini", declared(type="object", properties={"a": {"type": "string", "enum": []}})),
    60: ("vertex", declared(type="object", properties={}, required=["model"])),
    63: ("mistral", {"tools": [{"type": "function", "function": {"name": "a b", "parameters": OBJECT}}]}),
    65: ("mistral", {"tools": [chat(parameters=OBJECT, required=[])]}),
    66: ("cohere", {"tools": [chat(parameters=OBJECT, strict=True)]}),
}  # fmt: skip
# What a fake cannot refuse, by what the recorded text says.
NOT_REBUILT = {
    "--jinja": "a switch of the server, which no request shows",
    "extraneous key [toolResult]": "a document of S3 in a result, at one model",
    "tool_use_failed": "what the model wrote was refused, not the request",
    "did not match schema": "the same",
    "should be non-empty for OBJECT": "newer recordings accept it",
    "'default' is not permitted": "newer recordings accept it",
    "name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'": "the same server takes 128 since 2026-09",
    "draft 2020-12": "it is not recorded what was no JSON Schema",
    "cannot exceed 64": "a vendor that has no provider here",
    "No tool output found for tool call": "DeepSeek's Responses, which have no provider here",
}


def body_of_rejection(row, provider):
    """A request with what a row says was refused in it."""
    tools = row.get("all_tools") or ([row["offending_tool"]] if row.get("offending_tool") else [])
    schema, text = row.get("offending_schema"), str(row["error_body"])
    if not tools and schema is not None:
        strict = provider == "openai-responses" or "object schema missing properties" in text
        flat = {"name": "f", "parameters": schema}
        tools = [
            {
                "openai-responses": {"type": "function", **flat, "strict": strict},
                "anthropic": {"name": "f", "input_schema": schema},
                "bedrock": {"toolSpec": {"name": "f", "inputSchema": {"json": schema}}},
                "gemini": flat,
            }.get(provider)
            or {"type": "function", "function": {**flat, "strict": strict} if strict else flat}
        ]
    if provider == "gemini":
        return {"tools": [{"functionDeclarations": tools}]}
    return {"toolConfig": {"tools": tools}} if provider == "bedrock" else {"tools": tools}


def rejected(number, row):
    """A fake that has been asked what a row says was refused, and what it answered."""
    if number in REBUILT:
        provider, more = REBUILT[number]
    else:
        provider = SURFACES.get(f"{row['provider']}:{row['surface']}")
        more = body_of_rejection(row, provider)
    more = {
        **more,
        **{
            key: row["request_config"][key]
            for key in row.get("request_config") or {}
            if key != "stream"
        },
    }
    fake = Fake(provider)
    fake.says("Accepted.")
    if get(provider).family == "gemini":
        more = {"config": more}
    return fake, asked(fake, {**keywords(provider), **more})


@pytest.mark.parametrize("number", range(68))
def test_what_was_refused_is_refused(number):
    """With the recorded status and code, and in the recorded words where the fake says that they are."""
    row = corpus("provider_rejections.jsonl")[number]
    text = row["error_body"]
    listed = [reason for sign, reason in NOT_REBUILT.items() if sign in str(text)]
    if listed and number not in REBUILT:
        pytest.skip(listed[0])
    fake, (status, content) = rejected(number, row)
    assert status == row["http_status"], (number, text, content)
    assert fake.refused[0].evidence
    said = json.loads(content)
    try:
        recorded = json.loads(text)
    except ValueError:
        recorded = None
    if isinstance(recorded, dict) and isinstance(recorded.get("error"), dict):
        mine = said["error"]
        assert mine.keys() <= recorded["error"].keys() | {"code", "param"}
        assert mine["type"] == recorded["error"].get("type", mine["type"])
        assert mine.get("code") == recorded["error"].get("code")
        if fake.refused[0].as_recorded:
            assert mine["message"] == recorded["error"]["message"]


# Where the fake's words are a recorded refusal's of another request by the same rule.
OTHER_WORDS = {
    34: "the pattern of names that an older recording quotes",
    40: "the same",
    51: "the value of the enum, where the type is the fault",
    55: "the letters that names could have before colons were taken",
    58: "that an enum is empty",
    61: "a rule that is reported without its words",
    65: "the place beside the words",
}


def masked(text):
    """A message without what is the request's own: names, numbers and quoted texts."""
    text = re.sub(
        r"context=\([^)]*\)", "context", text.removeprefix("* ").replace("request.tools", "tools")
    )
    text = re.sub(r"\[[^\]]*\]|\.items|\.properties", "", text)
    text = re.sub(r"was .*? but", "was _ but", re.sub(r"required\[\d+\]", "required", text))
    return re.sub(r"'[^']*'|\"[^\"]*\"|<fn>|\b\w*\d\w*\b", "_", text)


@pytest.mark.parametrize("number", range(68))
def test_what_is_said_to_be_recorded_was(number):
    """The words of a refusal, but for what the recorded request has of its own."""
    row = corpus("provider_rejections.jsonl")[number]
    listed = [reason for sign, reason in NOT_REBUILT.items() if sign in str(row["error_body"])]
    if (listed and number not in REBUILT) or number in OTHER_WORDS:
        pytest.skip((*listed, OTHER_WORDS.get(number))[0])
    fake, _ = rejected(number, row)
    [why, *_] = fake.refused
    try:
        text = json.loads(row["error_body"])
        text = text.get("error", text)["message"] if isinstance(text, dict) else text
    except ValueError:
        text = row["error_body"]
    if why.as_recorded:
        assert masked(why.message) == masked(text), (why.message, text)
    else:
        assert "toolshape worded the message" in why.message


def test_recorded_bodies_fold_to_the_same_once_unfolded():
    seen = collections.Counter()
    for row in corpus("provider_exchanges.jsonl"):
        body = row["response_body"]
        try:
            body = json.loads(body) if isinstance(body, str) else body
            provider = family_of(body)
        except Exception:  # a body that is none: an error, or a stream
            continue
        if provider.server is None or not isinstance(body, dict):
            continue
        found = {}
        for event in provider.server.unfold(copy.deepcopy(body)):
            provider.response.fold(found, json.loads(json.dumps(event)))
        _, meant, finish, *_ = provider.response.read(copy.deepcopy(body))
        _, calls, finish_again, *_ = provider.response.read(found)
        assert [tuple(call)[1:3] for call in calls] == [tuple(item)[1:3] for item in meant], row[
            "id"
        ]
        assert (finish_again or "") == (finish or ""), row["id"]
        seen[provider.name] += 1
    print(seen)
    assert sum(seen.values()) > 600

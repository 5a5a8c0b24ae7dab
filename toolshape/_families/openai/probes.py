"""Requests that Chat Completions refuses, with accepted twins, and the addresses of its likes.

The addresses are the defaults of the vendors' SDKs and documentation, read on 2026-11-25.
"""

import json
import re
from typing import Any

from toolshape._families.openai.output import keywords
from toolshape._families.wire.provider import OutputSchema
from toolshape._families.wire.server import Address, RequestProbe
from toolshape._records.calls import JsonObject

_ENTRY: JsonObject = {
    "type": "function",
    "function": {"name": "probe", "parameters": {"type": "object", "properties": {}}},
}
_CALL = {"id": "call00001", "type": "function", "function": {"name": "probe", "arguments": "{}"}}
_RESULT = {"role": "tool", "tool_call_id": "call00001", "content": "ok"}


def _conversation(*calls: JsonObject) -> list[JsonObject]:
    answers = [_RESULT] if calls else []
    user_message = {"role": "user", "content": "Go."}
    return [
        user_message,
        {"role": "assistant", "content": "Well.", "tool_calls": list(calls)},
        *answers,
        user_message,
    ]


def _with_choice(name: str) -> JsonObject:
    return {"tools": [_ENTRY], "tool_choice": {"type": "function", "function": {"name": name}}}


_CALLED = {"tools": [_ENTRY], "messages": _conversation(_CALL)}
_UNWRITTEN = {**_CALL, "function": {"name": "probe", "arguments": {}}}
_NAMELESS = {**_CALL, "function": {"name": "", "arguments": "{}"}}
_REQUIRED = {**_ENTRY, "function": {**_ENTRY["function"], "required": []}}
_STRICT = {**_ENTRY, "function": {**_ENTRY["function"], "strict": False}}
KEY_TOO_MUCH = RequestProbe({"tools": [_STRICT]}, {"tools": [_ENTRY]})
# Content and messages for the probes below: an image, a question and an answer.
_MEDIA = [
    {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAA="},
    }
]
_USER = {"role": "user", "content": "Go."}
_ANSWER = {"role": "assistant", "content": "Done."}


def _with_result(content: Any) -> JsonObject:
    messages = [
        _USER,
        {"role": "assistant", "tool_calls": [_CALL]},
        {**_RESULT, "content": content},
    ]
    return {"tools": [_ENTRY], "messages": messages}


PROBES = (
    RequestProbe({"tools": []}, {"tools": [_ENTRY]}),
    RequestProbe({"tool_choice": "auto"}, {"tools": [_ENTRY], "tool_choice": "auto"}),
    RequestProbe({"tools": [{"function": _ENTRY["function"]}]}, {"tools": [_ENTRY]}),
    RequestProbe(_with_choice("other"), _with_choice("probe")),
    RequestProbe(_with_choice("probe"), {"tools": [_ENTRY], "tool_choice": "required"}),
    RequestProbe({"tools": [_ENTRY], "messages": _conversation()}, _CALLED),
    RequestProbe({"tools": [_ENTRY], "messages": _conversation(_NAMELESS)}, _CALLED),
    RequestProbe({"tools": [_ENTRY], "messages": _conversation(_UNWRITTEN)}, _CALLED),
    RequestProbe({"tools": [_REQUIRED]}, {"tools": [_ENTRY]}),
    KEY_TOO_MUCH,
    RequestProbe(_with_result(_MEDIA), _with_result("ok")),
    RequestProbe(
        {"messages": [_USER, {**_ANSWER, "reasoning_content": "Hm."}, _USER]},
        {"messages": [_USER, _ANSWER, _USER]},
    ),
    RequestProbe(
        {"messages": [_USER, _ANSWER, {"role": "system", "content": "Go."}, _USER]},
        {"messages": [_USER, _ANSWER, _USER]},
    ),
    RequestProbe(
        {"tools": [_ENTRY], "messages": [{"role": "assistant", "tool_calls": [_CALL]}, _RESULT]},
        _with_result("ok"),
    ),
    RequestProbe(
        {"tools": [_ENTRY], "tool_choice": "required"}, {"tools": [_ENTRY], "tool_choice": "auto"}
    ),
    RequestProbe(
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "probe", "schema": {}},
            }
        },
        {},
    ),
)
_BEARER = {"authorization": "Bearer {key}"}
_SHORT = {"max_tokens": 1}


def address_of_chat(url: str, *keys: str, **smallest: int) -> Address:
    """Return the address of an API that has the form of Chat Completions."""
    return Address(
        f"{url}/chat/completions",
        _BEARER if keys else {},
        keys,
        smallest or _SHORT,
        "read on 2026-11-25",
    )


# OpenAI's reasoning models refuse max_tokens, and need some tokens for their reasoning.
OPENAI_ADDRESS = address_of_chat(
    "https://api.openai.com/v1", "OPENAI_API_KEY", max_completion_tokens=16
)


def question(model: str, text: str, *, is_streamed: bool) -> JsonObject:
    """Return the body of a request that asks a model a question, at temperature
    0 so that answers vary little.
    """
    body: JsonObject = {
        "model": model,
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
        "max_tokens": 512,
    }
    if is_streamed:
        return {**body, "stream": True, "stream_options": {"include_usage": True}}
    return body


def drawn_answer(model: str, schema: JsonObject, seed: int) -> JsonObject:
    """Return a request for a short answer, so hot that only the schema holds the model."""
    return {
        **question(model, "Write any value.", is_streamed=False),
        **keywords(OutputSchema("a", "", schema, is_strict=True)),
        "temperature": 1.8,
        "max_tokens": 110,
        "seed": seed,
    }


def complete_answer(given: str) -> str | None:
    """Return the text of a response, or ``None`` if the limit of its length ended it."""
    [choice] = json.loads(given)["choices"]
    if choice["finish_reason"] == "length":
        return None
    return str(choice["message"]["content"])


def has_usage(given: str) -> bool:
    """Return whether a response, or the text of a stream, reports the
    number of tokens in the request.
    """
    return re.search(r'"prompt_tokens"\s*:\s*[1-9]', given) is not None

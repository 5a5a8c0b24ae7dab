"""Counts the broken histories that a provider would accept after toolshape or a peer converts them; times toolshape.

In ``python benchmarks/histories.py --litellm PYTHON --pydantic-ai PYTHON``, each PYTHON is the interpreter of an
environment with that library, because the two cannot be installed side by side. The script itself needs
toolshape[sdks], for the judges. Each case is a history in OpenAI's form that waits for the model's next answer. Each
library builds the whole request for the case, up to the transport; nothing leaves the machine. The same judges check
all requests: the SDK's types, botocore's model, mistral-common's validator, and a small checker of the requests
that providers are known to reject. This checker shares no code with toolshape.
"""

import argparse
import asyncio
import base64
import contextlib
import functools
import gc
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

PREFACE = """\
# Histories after conversion

Sixteen histories in the form of OpenAI, healthy and broken, converted for each provider, and judged by the providers'
SDK types, botocore's models, mistral-common's validators and the rules of each provider that are cited in
`docs/histories.md`. litellm and pydantic-ai are run in environments of their own; pydantic-ai reads its own
messages only, so that it is given the same histories as such.
{made}
"""

__all__ = ["CASES", "MODELS", "judge"]

JsonObject: TypeAlias = dict[str, Any]

MODELS: Mapping[str, str] = {
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
    "openai": "gpt-4o",
    "bedrock": "anthropic.claude-sonnet-4-20250514-v1:0",
    "mistral": "mistral-large-latest",
    "cohere": "command-a-03-2025",
}
"""The target providers, each with the model to ask."""

# --- cases --------------------------------------------------------------------------------------------------------

_ID, _OTHER = "call_Zk81bQx04TnPw7LmYd3VuEsa", "call_Rg62cHy95JoAv1KiNf8XtUqe"
_PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def user(text: str) -> JsonObject:
    return {"role": "user", "content": text}


def assistant_message(text: str) -> JsonObject:
    return {"role": "assistant", "content": text}


def call(
    identifier: str = _ID, city: str = "Paris", name: str = "weather", arguments: str = ""
) -> JsonObject:
    text = arguments or json.dumps({"city": city})
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": text}}


def calls(*made: JsonObject, text: str | None = None) -> JsonObject:
    return {"role": "assistant", "content": text, "tool_calls": list(made)}


def result(content: Any = "sunny", identifier: str = _ID) -> JsonObject:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def _with_id(identifier: str) -> list[JsonObject]:
    return [
        ASK,
        calls(call(identifier)),
        result("sunny", identifier),
        assistant_message("It is sunny."),
        user("And now?"),
    ]


ASK = user("What is the weather in Paris?")
SEEN = [
    {"type": "text", "text": "the sky"},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PICTURE}"}},
]
BOTH = (call(), call(_OTHER, "Rome"))
TOOL: JsonObject = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Get the weather.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
"""The tool of all cases, in OpenAI's form."""

CASES: Mapping[str, list[JsonObject]] = {
    "healthy": [{"role": "system", "content": "Be brief."}, *_with_id(_ID)],
    "parallel calls": [
        ASK,
        calls(*BOTH, text="I look."),
        result(),
        result("rain", _OTHER),
        assistant_message("Sun, rain."),
        ASK,
    ],
    "dangling call, then the user": [ASK, calls(call()), user("Never mind. What is 2 + 2?")],
    "orphan result": [
        ASK,
        assistant_message("It is sunny."),
        result("sunny", _OTHER),
        user("And now?"),
    ],
    "late result": [
        ASK,
        calls(call()),
        user("Are you there?"),
        result(),
        assistant_message("Sunny."),
        user("And now?"),
    ],
    "duplicate result": [
        ASK,
        calls(call()),
        result(),
        result("sunny, again"),
        assistant_message("Sunny."),
        user("And now?"),
    ],
    "duplicate ids in two turns": [*_with_id(_ID), calls(call(city="Rome")), result("rain")],
    "id of another provider": _with_id("functions.find:0"),
    "id of 50 characters": _with_id("call_" + "0123456789" * 4 + "abcde"),
    "two ids that sanitise to one": [
        ASK,
        calls(call("call|1"), call("call.1", "Rome")),
        result("sunny", "call|1"),
        result("rain", "call.1"),
    ],
    "cut arguments": [
        ASK,
        calls(call(arguments='{"city": "Par')),
        result("error: no JSON"),
        user("Try again."),
    ],
    "blank text beside a call": [ASK, calls(call(), text="\n\n"), result()],
    "empty assistant message": [ASK, assistant_message(""), user("Hello?")],
    "unknown tool, a dot in its name": [
        ASK,
        calls(call(name="files.read")),
        result("error: no such tool"),
    ],
    "image in a result": [ASK, calls(call()), result(SEEN)],
    "user right after a result": [ASK, calls(call()), result(), user("In French, please.")],
}
"""Histories that wait for the model's next answer."""

# --- judge --------------------------------------------------------------------------------------------------------


def judge(target: str, request: JsonObject) -> list[str]:
    """Return the problems for which a provider would reject a request.

    The first problems come from the SDK's types, botocore's model or mistral-common's validator: one for each message.
    Then come the problems that are known from public threads: see the rules of each target.
    """
    authority = {"bedrock": _check_with_botocore, "mistral": _check_with_mistral_common}.get(
        target, functools.partial(_check_types, target)
    )
    return list(dict.fromkeys([*authority(request), *_RULES[target](request)]))


def _messages(request: JsonObject) -> list[Any]:
    return request.get("messages") or request.get("contents") or []


def _check_types(target: str, request: JsonObject) -> Iterator[str]:
    if not _messages(request):
        yield "no messages"
    for at, message in enumerate(_messages(request)):
        try:
            _validate(target, message)
        except ValueError as error:
            yield f"messages[{at}]: {_first_line(error)}"


def _first_line(error: Any) -> str:
    """Return one line of a pydantic error. For a union, take the member that fits best: it is usually the right one."""
    if not hasattr(error, "errors"):
        return str(error)
    by_member: dict[Any, list[Any]] = {}
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        by_member.setdefault(item["loc"][:2], []).append(item)
    best = min(by_member.values(), key=lambda found: ("literal" in found[0]["type"], len(found)))[0]
    return f"{'.'.join(map(str, best['loc']))}: {best['msg']}"


def _validate(target: str, message: Any) -> None:
    """Validate a message with the SDK's own types."""
    if target == "gemini":
        from google.genai.types import Content

        Content.model_validate_json(json.dumps(message))
    else:
        _force(_adapter(target).validate_python(message, strict=True, extra="forbid"))


@functools.cache
def _adapter(target: str) -> Any:
    from pydantic import TypeAdapter

    if target == "openai":
        from openai.types.chat import ChatCompletionMessageParam as Form
    elif target == "anthropic":
        from anthropic.types import MessageParam as Form
    else:
        from cohere.types import ChatMessageV2 as Form
    return TypeAdapter[Any](Form)


def _force(value: Any) -> Any:
    """Walk into pydantic's lazy iterators, because they check their items only when read."""
    if isinstance(value, dict):
        return {key: _force(inner) for key, inner in value.items()}
    if value is None or isinstance(value, (str, bytes, int, float)) or hasattr(value, "model_dump"):
        return value
    return [_force(inner) for inner in value]


def _check_with_mistral_common(request: JsonObject) -> Iterator[str]:
    """Yield the problems that the SDK's types and the validator of tokenizers up to V11 find."""
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
    from mistral_common.tokens.tokenizers.base import TokenizerVersion
    from mistralai.client import models

    forms = {"assistant": models.AssistantMessage, "system": models.SystemMessage}
    forms |= {"tool": models.ToolMessage, "user": models.UserMessage}
    for at, message in enumerate(request["messages"]):
        try:
            forms[message["role"]].model_validate(message)
        except (KeyError, ValueError) as error:
            yield f"messages[{at}]: {_first_line(error)}"
    try:
        parsed: Any = ChatCompletionRequest.from_openai(request["messages"], model="model")
        get_validator(TokenizerVersion("v11"), ValidationMode.serving).validate_request(parsed)
    except Exception as error:  # errors of mistral-common, of pydantic, and KeyError
        yield f"mistral-common: {' '.join(str(getattr(error, 'message', error)).split())}"


@functools.cache
def _converse_shape() -> Any:
    from botocore.loaders import Loader
    from botocore.model import ServiceModel

    service_description = Loader().load_service_model("bedrock-runtime", "service-2")
    return (
        ServiceModel(service_description, "bedrock-runtime").operation_model("Converse").input_shape
    )


def _check_with_botocore(request: JsonObject) -> Iterator[str]:
    from botocore.validate import ParamValidator

    full_request = {"modelId": MODELS["bedrock"], **request}
    report = ParamValidator().validate(full_request, _converse_shape())
    if report.has_errors():
        yield from report.generate_report().splitlines()
    yield from _violations(full_request, _converse_shape(), "")


def _violations(value: Any, shape: Any, path: str) -> Iterator[str]:
    """Yield the problems that botocore leaves to the service: patterns, lengths and enums."""
    if shape.type_name == "structure" and isinstance(value, dict) and not shape.is_document_type:
        for key in value.keys() & shape.members.keys():
            yield from _violations(value[key], shape.members[key], f"{path}.{key}")
    elif shape.type_name == "list" and isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _violations(inner, shape.member, f"{path}[{at}]")
    elif shape.type_name == "string" and isinstance(value, str):
        most, pattern = shape.metadata.get("max", len(value)), shape.metadata.get("pattern", ".*")
        is_known = not shape.metadata.get("enum") or value in shape.metadata["enum"]
        if len(value) > most or not re.fullmatch(pattern, value, re.DOTALL) or not is_known:
            yield f"{path[1:]}: {value[:60]!r} is not of {pattern[:60]}, at most {most}"


class Part(NamedTuple):
    """A call, a result or a text: ``value`` is the id of a call or result, or the text."""

    kind: str
    value: Any
    raw: Any


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A message, or messages that count as one."""

    role: str
    parts: tuple[Part, ...] = ()

    def of(self, kind: str) -> list[Any]:
        return [part.value for part in self.parts if part.kind == kind]

    def kinds(self) -> list[str]:
        return [part.kind for part in self.parts]


def _join(turns: Iterable[Turn], *roles: str) -> list[Turn]:
    """Join neighbouring turns of the same role, if it is one of these roles."""
    joined_turns: list[Turn] = []
    for turn in turns:
        if joined_turns and turn.role in roles and joined_turns[-1].role == turn.role:
            joined_turns[-1] = Turn(role=turn.role, parts=joined_turns[-1].parts + turn.parts)
        else:
            joined_turns.append(turn)
    return joined_turns


def _check_pairing(turns: Sequence[Turn]) -> Iterator[str]:
    """Check that every call has one result, in the next turn, and that every result has its call."""
    for before, turn in pairwise([Turn(role="none"), *turns, Turn(role="none")]):
        call_counts, result_counts = Counter(before.of("call")), Counter(turn.of("result"))
        if unanswered := [*(call_counts - result_counts).elements()]:
            yield f"calls without a result in the next turn: {unanswered}"
        if unrequested := [*(result_counts - call_counts).elements()]:
            yield f"results without a call in the turn before: {unrequested}"


def _check_pattern(what: str, values: Iterable[str], pattern: str) -> Iterator[str]:
    for value in values:
        if not re.fullmatch(pattern, value):
            yield f"{what} {value!r} is not of {pattern}"


def _values_of(turns: Iterable[Turn], kind: str) -> list[Any]:
    return [value for turn in turns for value in turn.of(kind)]


def _check_names(turns: Iterable[Turn], pattern: str) -> Iterator[str]:
    return _check_pattern("tool name", _values_of(turns, "name"), pattern)


def _chat_turns(request: JsonObject) -> list[Turn]:
    turns: list[Turn] = []
    for message in request["messages"]:
        content, parts = message.get("content"), list[Part]()
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if message["role"] == "tool":
            parts.append(Part("result", message.get("tool_call_id"), message))
        elif content:
            parts += [Part(block.get("type", "text"), block.get("text"), block) for block in blocks]
        for tool_call in message.get("tool_calls") or []:
            parts += [
                Part("call", tool_call["id"], tool_call),
                Part("name", tool_call["function"]["name"], tool_call),
            ]
        turns.append(Turn(role=message["role"], parts=tuple(parts)))
    return _join(turns, "tool")


def _openai_rules(request: JsonObject) -> Iterator[str]:
    """openai/openai-agents-python#1061, agno-agi/agno#5116 (duplicate results), anomalyco/opencode#12653 (ids)."""
    turns = _chat_turns(request)
    yield from _check_pairing(turns)
    yield from _check_pattern("id", _values_of(turns, "call"), r"(?s).{1,40}")
    yield from _check_names(turns, "[a-zA-Z0-9_-]{1,64}")


def _mistral_rules(request: JsonObject) -> Iterator[str]:
    """NousResearch/hermes-agent#20154 (user after result); mistral-common's tokenizer (empty messages)."""
    turns = _chat_turns(request)
    yield from _check_pairing(turns)
    for before, turn in pairwise(turns):
        if (before.role, turn.role) == ("tool", "user"):
            yield "a user message right after a result (3230)"
    if any(turn.role == "assistant" and not turn.parts for turn in turns):
        yield "an assistant message with neither content nor calls"


def _cohere_rules(request: JsonObject) -> Iterator[str]:
    """oracle/langchain-oracle#10."""
    return _check_pairing(_chat_turns(request))


def _block_turns(request: JsonObject) -> list[Turn]:
    """Return the turns of a request to Anthropic or Bedrock, without the texts inside results."""
    turns: list[Turn] = []
    for message in request["messages"]:
        content, parts = message["content"], list[Part]()
        for block in [{"text": content}] if isinstance(content, str) else content:
            call_block = block.get("toolUse") or (
                block if block.get("type") == "tool_use" else None
            )
            result_block = block.get("toolResult") or (
                block if block.get("type") == "tool_result" else None
            )
            if call_block:
                parts += [
                    Part("call", call_block.get("toolUseId", call_block.get("id")), call_block),
                    Part("name", call_block["name"], 0),
                ]
            elif result_block:
                parts.append(
                    Part(
                        "result",
                        result_block.get("toolUseId", result_block.get("tool_use_id")),
                        result_block,
                    )
                )
            else:
                parts.append(Part("text" if "text" in block else "other", block.get("text"), block))
        turns.append(Turn(role=message["role"], parts=tuple(parts)))
    return turns


def _block_rules(turns: Sequence[Turn]) -> Iterator[str]:
    """Yield the problems for which Claude models reject a request, both at Anthropic and at Bedrock.

    aaif-goose/goose#1624, anthropics/claude-code#2697 (pairing, results first), earendil-works/pi#4071 and
    evalstate/fast-agent#668 (after calls), Anthropic's errors page and NousResearch/hermes-agent#63983 (blank text).
    """
    joined = _join(turns, "user", "assistant")
    yield from _check_pairing(joined)
    for turn in joined:
        kinds = [kind for kind in turn.kinds() if kind != "name"]
        if "result" in kinds and set(kinds[: kinds.count("result")]) != {"result"}:
            yield "results are not first in their message"
        if "call" in kinds and set(kinds[kinds.index("call") :]) != {"call"}:
            yield "content after a call"
    if any(not text.strip() for text in _values_of(turns, "text")):
        yield "blank text"
    if not all(turn.parts for turn in turns):
        yield "a message without content"


def _anthropic_rules(request: JsonObject) -> Iterator[str]:
    """QwenLM/qwen-code#8164 (ids), BerriAI/litellm#23510 (duplicates), anthropics/claude-code#96152 (names)."""
    turns = _block_turns(request)
    yield from _block_rules(turns)
    yield from _check_pattern("id", _values_of(turns, "call"), "[a-zA-Z0-9_-]+")
    yield from _check_names(turns, "[a-zA-Z0-9_-]{1,128}")
    if duplicates := [
        item for item, count in Counter(_values_of(turns, "call")).items() if count > 1
    ]:
        yield f"duplicate ids: {duplicates}"


def _bedrock_rules(request: JsonObject) -> Iterator[str]:
    """aws-samples/bedrock-access-gateway#239 (no tools), microsoft/semantic-kernel#10281 (roles); ``_block_rules``."""
    turns = _block_turns(request)
    yield from _block_rules(turns)
    if any(before.role == turn.role for before, turn in pairwise(turns)):
        yield "roles do not alternate"
    if _values_of(turns, "call") and "toolConfig" not in request:
        yield "calls, and no toolConfig"
    raw_results = [part.raw for turn in turns for part in turn.parts if part.kind == "result"]
    if any(
        raw_result.get("status") == "error" and not raw_result.get("content")
        for raw_result in raw_results
    ):
        yield "an error without content"


def _gemini_turns(request: JsonObject) -> list[Turn]:
    turns: list[Turn] = []
    for content in request["contents"]:
        parts: list[Part] = []
        for part in content.get("parts") or []:
            function_call = part.get("functionCall") or part.get("function_call")
            function_response = part.get("functionResponse") or part.get("function_response")
            if function_call:
                parts += [
                    Part("call", "call", function_call),
                    Part("name", function_call["name"], function_call),
                ]
            elif function_response:
                parts.append(Part("result", "call", function_response))
            else:
                parts.append(Part("text" if "text" in part else "other", part.get("text"), part))
        turns.append(Turn(role=content.get("role", "user"), parts=tuple(parts)))
    return turns


def _gemini_rules(request: JsonObject) -> Iterator[str]:
    """microsoft/vscode#299295 (counts), continuedev/continue#11047 (place), maximhq/bifrost#4202 (images before 3)."""
    turns = _gemini_turns(request)
    yield from _check_pairing(turns)
    for before, turn in pairwise([Turn(role="none"), *turns]):
        if turn.of("call") and before.role != "user":
            yield "a call turn after neither a user turn nor responses"
    if not all(turn.parts for turn in turns):
        yield "contents.parts must not be empty"
    raw_results = [part.raw for turn in turns for part in turn.parts if part.kind == "result"]
    if any(raw_result.get("parts") for raw_result in raw_results) and re.match(
        "gemini-[12]", MODELS["gemini"]
    ):
        yield "parts in a functionResponse, before Gemini 3"
    yield from _check_names(turns, "[A-Za-z_][A-Za-z0-9_.:-]{0,63}")


_RULES: Mapping[str, Callable[[JsonObject], Iterator[str]]] = {
    "anthropic": _anthropic_rules,
    "gemini": _gemini_rules,
    "openai": _openai_rules,
    "bedrock": _bedrock_rules,
    "mistral": _mistral_rules,
    "cohere": _cohere_rules,
}


def lost_texts(case: str, request: JsonObject) -> list[str]:
    """Return the user's texts that are missing in the request: a request without them could be valid, but useless."""
    request_text = json.dumps(request, ensure_ascii=False, default=str)
    words = [message["content"] for message in CASES[case] if message["role"] == "user"]
    return [f"lost: {text!r}" for text in words if text not in request_text]


# --- libraries ----------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """The request that a library built, or the reason why it built none."""

    request: JsonObject | None
    refused: str = ""


Convert: TypeAlias = Callable[[str, list[JsonObject]], Any]


def run_case(convert: Convert, target: str, messages: list[JsonObject]) -> Answer:
    try:
        return Answer(convert(target, json.loads(json.dumps(messages))))
    except Exception as error:  # a library may raise any error for a history
        return Answer(None, f"{type(error).__name__}: {' '.join(str(error).split())[:160]}")


def _tools() -> Any:
    from toolshape import Registry, tool

    def weather(city: str) -> str:
        """Get the weather.

        Args:
            city: The city.
        """
        return f"sunny in {city}"

    return Registry([tool(weather)])


def _ours() -> Convert:
    from toolshape import Conversation

    tools = _tools()

    def convert(target: str, messages: list[JsonObject]) -> JsonObject:
        conversation = Conversation(tools)
        conversation.read(messages, "openai")
        return conversation.request(target, model=MODELS[target])

    return convert


class _Sent(BaseException):  # not an Exception: no library retries it
    """The request has reached the transport."""


_SENT: list[Any] = []


def _keep_body(request: Any) -> Any:
    """Replace the transport: keep the body, and send nothing."""
    _SENT.append(json.loads(request.read() if hasattr(request, "read") else request.content))
    raise _Sent


def _body_sent_by(send: Callable[[], Any]) -> JsonObject:
    """Return the body that reaches the transport."""
    _SENT.clear()
    try:
        send()
    except _Sent:
        pass
    except Exception:
        if not _SENT:
            raise
    return _SENT[-1]


def _litellm(*, modify_params: bool) -> Convert:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = (
        "True"  # otherwise, litellm downloads its list of prices
    )
    import httpx
    import litellm

    httpx.HTTPTransport.handle_request = lambda _, request: _keep_body(request)  # type: ignore[method-assign]
    litellm.suppress_debug_info = True
    prefixes = {"cohere": "cohere_chat"}
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1"}

    def convert(target: str, messages: list[JsonObject]) -> JsonObject:
        litellm.modify_params = modify_params
        credentials: JsonObject = keys if target == "bedrock" else {"api_key": "key"}
        name = f"{prefixes.get(target, target)}/{MODELS[target]}"
        return _body_sent_by(
            lambda: litellm.completion(
                name, messages, tools=[TOOL], max_retries=0, num_retries=0, **credentials
            )
        )

    return convert


def _pydantic_ai() -> Convert:
    from pydantic_ai.messages import repair_messages
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    loop, models = asyncio.new_event_loop(), _ai_models()
    function = TOOL["function"]
    tool = ToolDefinition(
        name=function["name"],
        description=function["description"],
        parameters_json_schema=function["parameters"],
    )
    parameters = ModelRequestParameters(function_tools=[tool])

    def convert(target: str, messages: list[JsonObject]) -> JsonObject:
        model = models[target]()
        _, prepared = model.prepare_request(None, parameters)
        history = repair_messages(
            _ai_messages(messages), repair_last_response=True
        )  # as an agent does
        history = repair_messages(
            model.prepare_messages(history, prepared), repair_last_response=True
        )
        return _body_sent_by(
            lambda: loop.run_until_complete(model.request(history, None, parameters))
        )

    return convert


def _ai_models() -> dict[str, Callable[[], Any]]:
    import boto3
    import httpx
    import httpx2
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.models.cohere import CohereModel
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.models.mistral import MistralModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.bedrock import BedrockProvider
    from pydantic_ai.providers.cohere import CohereProvider
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.mistral import MistralProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    old: JsonObject = {
        "api_key": "key",
        "http_client": httpx.AsyncClient(transport=httpx.MockTransport(_keep_body)),
    }
    new: JsonObject = {
        "api_key": "key",
        "http_client": httpx2.AsyncClient(transport=httpx2.MockTransport(_keep_body)),
    }
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    client = boto3.client("bedrock-runtime", **keys)

    def keep(params: JsonObject, **_: Any) -> None:
        _SENT.append(json.loads(params["body"]))
        raise _Sent

    client.meta.events.register("before-call.bedrock-runtime", keep)
    return {
        "anthropic": lambda: AnthropicModel(MODELS["anthropic"], provider=AnthropicProvider(**new)),
        "gemini": lambda: GoogleModel(MODELS["gemini"], provider=GoogleProvider(**new)),
        "openai": lambda: OpenAIChatModel(MODELS["openai"], provider=OpenAIProvider(**new)),
        "bedrock": lambda: BedrockConverseModel(
            MODELS["bedrock"], provider=BedrockProvider(bedrock_client=client)
        ),
        "mistral": lambda: MistralModel(MODELS["mistral"], provider=MistralProvider(**old)),
        "cohere": lambda: CohereModel(MODELS["cohere"], provider=CohereProvider(**old)),
    }


def _ai_messages(messages: Iterable[JsonObject]) -> list[Any]:
    """Convert the history to pydantic-ai's own form, message by message: pydantic-ai reads no other form."""
    from pydantic_ai import messages as ai

    names: dict[str, str] = {}
    converted: list[Any] = []
    for message in messages:
        content = message.get("content")
        match message["role"]:
            case "system":
                converted.append(ai.ModelRequest(parts=[ai.SystemPromptPart(content=content)]))
            case "user":
                converted.append(ai.ModelRequest(parts=[ai.UserPromptPart(content=content)]))
            case "tool":
                result_content = (
                    content
                    if isinstance(content, str)
                    else [_ai_content(tool_call) for tool_call in content]
                )
                name = names.get(message["tool_call_id"], "unknown")
                part = ai.ToolReturnPart(
                    tool_name=name, content=result_content, tool_call_id=message["tool_call_id"]
                )
                converted.append(ai.ModelRequest(parts=[part]))
            case _:
                parts: list[Any] = [ai.TextPart(content=content)] if content else []
                for tool_call in message.get("tool_calls") or []:
                    names[tool_call["id"]] = name = tool_call["function"]["name"]
                    parts.append(
                        ai.ToolCallPart(
                            name, tool_call["function"]["arguments"], tool_call_id=tool_call["id"]
                        )
                    )
                converted.append(ai.ModelResponse(parts=parts))
    return converted


def _ai_content(block: JsonObject) -> Any:
    from pydantic_ai.messages import BinaryContent

    if block["type"] == "text":
        return block["text"]
    head, data = block["image_url"]["url"].removeprefix("data:").split(";base64,")
    return BinaryContent(data=base64.b64decode(data), media_type=head)


@dataclass(frozen=True, kw_only=True)
class Library:
    """A row of the table; ``peer`` names the environment that runs the library, and is ``None`` for toolshape."""

    name: str
    peer: str | None
    distribution: str
    make: Callable[[], Convert]


LIBRARIES = (
    Library(name="toolshape", peer=None, distribution="toolshape", make=_ours),
    Library(
        name="litellm",
        peer="litellm",
        distribution="litellm",
        make=functools.partial(_litellm, modify_params=False),
    ),
    Library(
        name="litellm, modify_params",
        peer="litellm",
        distribution="litellm",
        make=functools.partial(_litellm, modify_params=True),
    ),
    Library(
        name="pydantic-ai", peer="pydantic_ai", distribution="pydantic-ai-slim", make=_pydantic_ai
    ),
)


class Run(NamedTuple):
    """The version of a library, and its answers by target and case."""

    version: str
    answers: dict[str, dict[str, Answer]]


def run(library: Library) -> Run:
    convert = library.make()
    answers = {
        target: {case: run_case(convert, target, messages) for case, messages in CASES.items()}
        for target in MODELS
    }
    return Run(importlib.metadata.version(library.distribution), answers)


def serve(name: str) -> None:
    """Run a library in this process, and print its answers, which ``run_by`` reads."""
    with contextlib.redirect_stdout(sys.stderr):
        version, answers = run(next(library for library in LIBRARIES if library.name == name))
    print(json.dumps([version, answers]))


def run_by(python: str, library: Library) -> Run:
    """Run a library in a process of another interpreter."""
    command = [python, "-W", "ignore", __file__, "--serve", library.name]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    version, answers = json.loads(completed.stdout.splitlines()[-1])
    return Run(
        version,
        {
            target: {case: Answer(*fields) for case, fields in case_answers.items()}
            for target, case_answers in answers.items()
        },
    )


# --- costs --------------------------------------------------------------------------------------------------------


def long_history(turns: int = 250) -> list[JsonObject]:
    """Return a healthy history: a system prompt, then four messages for each turn, without the last answer."""
    history: list[JsonObject] = [{"role": "system", "content": "Be brief."}]
    for number in range(turns):
        identifier = f"call_{number:024}"
        history += [
            user(f"Question {number}"),
            calls(call(identifier)),
            result(f"sunny {number}", identifier),
        ]
        history.append(assistant_message(f"Answer {number}"))
    return history[:-1]


def best_milliseconds(
    prepare: Callable[[], Any], timed: Callable[[Any], Any], rounds: int = 7
) -> float:
    """Return the shortest time of some work in milliseconds; each round prepares a new input."""
    times: list[float] = []
    for _ in range(rounds):
        prepared = prepare()
        gc.collect()
        started = perf_counter()
        timed(prepared)
        times.append(perf_counter() - started)
    return min(times) * 1000


def cost_rows() -> Iterator[tuple[str, str]]:
    """Yield the costs of 1,000 messages, and how much longer the requests of a conversation take as it grows."""
    from toolshape import Conversation

    tools, messages = _tools(), long_history()
    bound = tools.bind("openai")

    def conversation() -> Any:
        long_conversation = Conversation(tools)
        long_conversation.read(messages, "openai")
        return long_conversation

    assert len(messages) == 1000  # noqa: PLR2004 - as the table says
    assert not bound.check_messages(messages)
    reading = best_milliseconds(
        lambda: Conversation(tools), lambda value: value.read(messages, "openai")
    )
    checking = best_milliseconds(lambda: None, lambda _: bound.check_messages(messages))
    yield "read 1,000 messages of OpenAI", f"{reading:.1f} ms"
    yield "check them", f"{checking:.1f} ms"
    for target, model in MODELS.items():
        milliseconds = best_milliseconds(
            conversation, lambda value, to=target, of=model: value.request(to, model=of)
        )
        yield f"request of them to {target}", f"{milliseconds:.1f} ms"
    for target in MODELS:
        early, late = growth(target)
        growth_text = f"{late / early:.2f} ({late:.3f} ms to {early:.3f} ms)"
        yield f"request at turn 1,000, in ratio to turn 10, {target}", growth_text


def growth(target: str, rounds: int = 15) -> tuple[float, float]:
    """Return the shortest milliseconds of a request at turn 10, and from turn 1,000 on; both take turns."""
    times: tuple[list[float], list[float]] = ([], [])
    long_conversation = conversation_of(target, 999)
    for number in range(rounds):
        times[0].append(seconds_of_turn(conversation_of(target, 9), target, 9))
        times[1].append(seconds_of_turn(long_conversation, target, 999 + number))
    return min(times[0]) * 1000, min(times[1]) * 1000


def conversation_of(target: str, turns: int) -> Any:
    from toolshape import Conversation

    conversation = Conversation(_tools())
    for number in range(turns):
        seconds_of_turn(conversation, target, number)
    return conversation


def seconds_of_turn(conversation: Any, target: str, number: int) -> float:
    """Return the seconds of the request with the results, in a turn of a question, a call and an answer."""
    conversation.user(f"Question {number}")
    conversation.request(target, model=MODELS[target])
    conversation.dispatch(_response(calls(call(f"call_{number:024}"))), provider="openai")
    started = perf_counter()
    conversation.request(target, model=MODELS[target])
    elapsed = perf_counter() - started
    conversation.dispatch(_response(assistant_message(f"Answer {number}")), provider="openai")
    return elapsed


def _response(message: JsonObject) -> JsonObject:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        "id": "r",
        "object": "chat.completion",
        "created": 0,
        "model": MODELS["openai"],
        "choices": [choice],
    }


# --- tables -------------------------------------------------------------------------------------------------------


def problems_of(case: str, target: str, answer: Answer) -> list[str]:
    if answer.request is None:
        return [f"not converted: {answer.refused}"]
    return judge(target, answer.request) + lost_texts(case, answer.request)


def as_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines])


def validity(pythons: Mapping[str, str | None]) -> str:
    """Return the table of requests that are valid after conversion, and a line for each case that is not valid."""
    rows: list[list[str]] = []
    lines: list[str] = []
    for library in LIBRARIES:
        python = None if library.peer is None else pythons.get(library.peer)
        if library.peer is not None and python is None:
            rows.append([f"{library.name} (not here)", *["" for _ in MODELS]])
            continue
        version, answers = run(library) if python is None else run_by(python, library)
        cells: list[str] = []
        for target in MODELS:
            problems_by_case = {
                case: problems_of(case, target, answer) for case, answer in answers[target].items()
            }
            cells.append(
                f"{sum(not problems for problems in problems_by_case.values())}/{len(CASES)}"
            )
            lines += [
                f"- {library.name}, {target}, {case}: {'; '.join(problems)}"
                for case, problems in problems_by_case.items()
                if problems
            ]
        rows.append([f"{library.name} {version}", *cells])
    return "\n".join([as_table(["valid after conversion", *MODELS], rows), "", *lines])


def main() -> None:
    """Convert the histories, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--litellm", help="a Python that has litellm")
    parser.add_argument(
        "--pydantic-ai",
        help="a Python that has pydantic-ai-slim[anthropic,bedrock,cohere,google,...]",
    )
    parser.add_argument(
        "--serve", choices=[library.name for library in LIBRARIES], help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve)
        return
    from commits import commit_of

    import toolshape

    run_note = f"Python {platform.python_version()}, `nox -s 'measure(histories)'` at {commit_of(Path(toolshape.__file__))}."
    table = as_table(["of toolshape", "at best"], cost_rows())
    text = "\n".join([PREFACE.format(made=run_note), validity(vars(options)), "", table]) + "\n"
    print(text)
    if options.litellm and options.pydantic_ai:
        Path(__file__).parent.joinpath("results", "histories.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

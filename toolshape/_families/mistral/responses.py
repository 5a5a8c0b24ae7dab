"""Mistral, chat completions. Types read in mistralai 3.7.0 and mistral-common 1.13.1 on 2026-11-20."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape._calls import JsonObject, WireMessage
from toolshape._families.mistral import server
from toolshape._families.openai import messages
from toolshape._families.openai import responses as openai
from toolshape._families.openai import server as openai_server
from toolshape._families.openai import vendors as openai_vendors
from toolshape._results import Result
from toolshape._schema import checks as rules
from toolshape._schema.checks import cited
from toolshape._wire.histories import IN_ONE_MESSAGE, history_rules
from toolshape._wire.provider import Completed, Facts, NameRule, Read
from toolshape._wire.request_checks import entry_keys, required_fields
from toolshape._wire.server import request_rules
from toolshape._wire.server_json import KEY


def read(body: Any) -> Read | None:
    """Read it as OpenAI's; the SDK writes a missing id as the text "null"."""
    reading = openai.read(body)
    if reading is None:
        return None
    [message], calls, finish, _, _ = reading
    if all(call_id != "null" for call_id, *_ in calls):
        return reading
    nameless = [{**call, "id": "" if call.get("id") == "null" else call["id"]} for call in message["tool_calls"]]
    return openai.read({"choices": [{"message": {**message, "tool_calls": nameless}, "finish_reason": finish}]})


def fold(body: JsonObject, event: JsonObject) -> list[Completed]:
    return [(at, call._replace(id="") if call.id == "null" else call) for at, call in openai.fold(body, event)]


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """As many results as calls, each with its name; there is no error flag."""
    return [_message(result) for result in results]


def _message(result: Result) -> JsonObject:
    message: JsonObject = {"role": "tool", "content": openai.content(result)}
    return {**message, "tool_call_id": result.call.id, "name": result.call.wire_name}


HISTORIES = replace(
    messages.HISTORIES,
    input_kinds=frozenset({"image", "image_url"}),
    rules=(
        *history_rules(
            "mistral-common 1.13.1 MistralRequestValidatorV11, 2026-11-22",
            "unanswered_call",
            "open_turn",
            "orphan_result",
            "duplicate_result",
            "late_result",
        ),
        *history_rules(
            "mistral-common 1.13.1 MistralRequestValidatorV11, 2026-11-22: in one message",
            "duplicate_id",
            pattern=IN_ONE_MESSAGE,
        ),
        *history_rules(
            "zed-industries/zed#53034, 2026-04: nine letters and digits, until tokenizer V13",
            "call_id",
            pattern=r"[a-zA-Z0-9]{9}",
        ),
        *history_rules(
            "mistral-common 1.13.1 MistralRequestValidatorV3, 2026-11-22: before V5 no content beside calls",
            "content_beside_calls",
            models=r"7b|8x7b|8x22b|codestral-22b",
        ),
        *history_rules("mistral-common 1.13.1, 2026-11-22", "tool_name", pattern=r"[a-zA-Z0-9_-]{1,64}"),
        *history_rules("mistral-common 1.13.1 _validate_message_order, 2026-11-22", "system_between"),
        *history_rules(
            "mistral-common 1.13.1 _validate_tool_calls_followed_by_tool_messages, 2026-11-23: calls of the first "
            "message are not expected to be answered",
            "call_placement",
        ),
        *history_rules(
            "mistral-common 1.13.1 _validate_last_message, 2026-11-22", "last_is_assistant", pattern="prefix"
        ),
        *history_rules(
            "NousResearch/hermes-agent#20154, 2026-05; not seen again in aaif-goose/goose#5998", "user_after_result"
        ),
        *history_rules("OpenMinis/OpenMinis#87, 2026-07", "refused_reasoning", pattern="reasoning_content|reasoning"),
        *history_rules("mistral-common 1.13.1: no images in results before V15, 2026-11-22", "media_in_result"),
    ),
)
MISTRAL = replace(
    openai_vendors.VENDOR,
    name="mistral",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; mistral-common 1.13.1, and its server's refusals",
    ),
    refuses=(
        *cited("mistralai 3.7.0 Function", rules.root_is_object),
        *cited("pdf-reader-mcp#63, 2026", rules.bounds_are_numbers),
    ),
    read=read,
    fold=fold,
    carries=frozenset(),
    encode=encode,
    histories=HISTORIES,
    facts=Facts(
        arguments="JSON text or an object",
        malformed="the text as the model wrote it",
        declined="no `tool_calls`",
        strict="`function.strict`, its dialect undocumented",
        needs="older models take ids of nine letters and digits only",
    ),
    endpoint=openai_server.ENDPOINT._replace(variables={"MISTRAL_API_KEY": KEY}),
    read_request=openai_server.read_counted_request,
    refuses_request=(
        *request_rules("mistralai 3.7.0 ChatCompletionRequest, 2026-11-22", required_fields("model", "messages")),
        *request_rules(
            "a recorded 422: extra_forbidden at tools.0.function.required",
            entry_keys("function", "name", "description", "strict", "parameters"),
        ),
    ),
    request_fields=server.REQUEST_FIELDS,
    unfold=openai_server.unfold_whole_calls,
    error=server.error,
    wordings=server.WORDINGS,
)

PROVIDERS = (MISTRAL,)

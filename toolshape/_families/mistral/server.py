"""Imitates Mistral's server where it differs from OpenAI's.

From the types of mistralai 3.7.0 and recorded errors.
"""

from dataclasses import replace

from toolshape._families.openai import probes as openai_probes, server as openai_server
from toolshape._families.wire.request_checks import entry_keys, required_fields
from toolshape._families.wire.server import ErrorReply, Refusal, RequestRead, Wording, request_rules
from toolshape._families.wire.server_json import KEY, request_id
from toolshape._records.calls import JsonObject

_UNPROCESSABLE = 422


def read_request(body: JsonObject) -> RequestRead:
    """Read the tools and the choice from a request.

    The server still accepts ``any``, the old word for ``required``.
    """
    choice = "required" if body.get("tool_choice") == "any" else body.get("tool_choice")
    return openai_server.read_counted_request({**body, "tool_choice": choice})._replace(body=body)


def error(refusal: Refusal) -> ErrorReply:
    """Write the headers and the body of an error; a validation error
    also states the path of the fault.
    """
    headers = {"mistral-correlation-id": request_id(refusal.message)}
    if refusal.status == _UNPROCESSABLE:
        location = ["body", *(refusal.param or "").split(".")]
        return headers, {
            "detail": [
                {"type": refusal.code or "value_error", "loc": location, "msg": refusal.message}
            ]
        }
    kind = "invalid_request_error" if refusal.status < 500 else "internal_server_error"  # noqa: PLR2004 - HTTP status
    body = {
        "object": "error",
        "message": refusal.message,
        "type": kind,
        "param": refusal.param,
        "code": refusal.code,
    }
    return headers, body


# mistralai 3.7.0 ChatCompletionRequest, 2026-11-22.
REQUEST_FIELDS = frozenset(
    {
        "frequency_penalty", "guardrails", "logprobs", "max_tokens", "messages", "metadata",
        "min_tokens", "model", "n",
        "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key",
        "prompt_logprobs", "prompt_mode",
        "random_seed", "reasoning_effort", "repetition_penalty", "response_format", "safe_prompt",
        "service_tier", "stop",
        "stream", "temperature", "tool_choice", "tools", "top_k", "top_logprobs", "top_p",
        "top_prompt_logprobs",
    }
)  # fmt: skip

WORDINGS: dict[str, Wording] = {
    "name": Wording(
        "Function name was {subject} but must be a-z, A-Z, 0-9, or contain underscores and "
        "dashes, with a maximum length of "
        "64."
    ),
    "call_id": Wording("Tool call id was {subject} but must be a-z, A-Z, 0-9, with a length of 9."),
    "entry_keys": Wording(
        "Extra inputs are not permitted", status=422, code="extra_forbidden", param="{path}"
    ),
    "unknown_field": Wording(
        "Extra inputs are not permitted", status=422, code="extra_forbidden", param="{path}"
    ),
    "unanswered_call": Wording("Not the same number of function calls and responses", code="3230"),
    "user_after_result": Wording("Unexpected role 'user' after role 'tool'", code="3230"),
}

SERVER = replace(
    openai_server.VENDOR_SERVER,
    endpoint=openai_server.ENDPOINT._replace(variables={"MISTRAL_API_KEY": KEY}),
    read_request=read_request,
    refuses=(
        *request_rules(
            "mistralai 3.7.0 ChatCompletionRequest, 2026-11-22",
            required_fields("model", "messages"),
        ),
        *request_rules(
            "a recorded 422: extra_forbidden at tools.0.function.required",
            entry_keys("function", "name", "description", "strict", "parameters"),
        ),
    ),
    fields=REQUEST_FIELDS,
    address=openai_probes.address_of_chat("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    models=("open-mistral-7b",),
    unfold=openai_server.unfold_whole_calls,
    error=error,
    wordings=WORDINGS,
)

"""Defines the tools to measure, the calls that a model makes, and the least work that such a call needs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, model_validator

from toolshape import Tool, tool

__all__ = [
    "RESPONSES",
    "SUBJECTS",
    "WITH_CODE",
    "Line",
    "Order",
    "Subject",
    "openai_response",
]


class Line(BaseModel):
    sku: str
    qty: int = 1
    price: float = 0.0


class Order(BaseModel):
    customer: str
    lines: list[Line]
    express: bool = False


def get_weather(city: str, units: Literal["c", "f"] = "c", days: int = 3) -> str:
    """Get the forecast.

    Args:
        city: City name.
        units: Temperature units.
        days: Number of days.

    Returns:
        The forecast.
    """
    del units, days
    return city


def create_order(order: Order) -> str:
    """Create an order.

    Args:
        order: The order.

    Returns:
        The id.
    """
    return order.customer


def search(
    q: str = "*",
    a: str | None = None,
    b: int = 1,
    c: float = 0.5,
    d: bool = False,
    e: int | None = None,
    f: str = "x",
    g: int = 7,
    h: float | None = None,
    i: bool = True,
    j: str = "z",
    k: int = 12,
) -> str:
    """Search.

    Args:
        q: Query.
        a: Option a.
        b: Option b.
        c: Option c.
        d: Option d.
        e: Option e.
        f: Option f.
        g: Option g.
        h: Option h.
        i: Option i.
        j: Option j.
        k: Option k.

    Returns:
        Hits.
    """
    del a, b, c, d, e, f, g, h, i, j, k
    return q


def _without_commas(value: Any) -> Any:
    return value.replace(",", "") if isinstance(value, str) else value


def pay(cents: Annotated[int, BeforeValidator(_without_commas)], payee: str, days: int = 3) -> str:
    """Pay an amount.

    Args:
        cents: The amount.
        payee: Who is paid.
        days: When.

    Returns:
        Who was paid.
    """
    del cents, days
    return payee


class Booking(BaseModel):
    room: str
    nights: int = 1
    guests: int = 1
    price: float = 0.0

    @model_validator(mode="before")
    @classmethod
    def passes(cls, value: Any) -> Any:
        return value


def book(booking: Booking) -> str:
    """Book a room.

    Args:
        booking: The booking.

    Returns:
        The room.
    """
    return booking.room


def ping() -> str:
    """Ping the service.

    Returns:
        pong
    """
    return "pong"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A tool and one call of it.

    ``given`` holds the arguments as a model writes them. ``nulled`` holds them in strict form, with null for each
    omitted argument. ``slipped`` holds them with one number as text. ``floor`` is the work that no library can avoid:
    to validate with the tool's own model, to read the attributes, and to call the function.
    """

    name: str
    function: Callable[..., Any]
    given: dict[str, Any]
    nulled: dict[str, Any]
    slipped: dict[str, Any] | None
    wanted: Any
    floor: Callable[[Callable[..., Any], Callable[..., Any], str], Callable[[], Any]]

    def tool(self) -> Tool[..., Any]:
        """Return a new tool of this function."""
        return tool(self.function)


def _weather_floor(
    validate_json: Callable[..., Any], function: Callable[..., Any], text: str
) -> Callable[[], Any]:
    def floor() -> Any:
        model = validate_json(text, strict=True)
        return function(city=model.city, units=model.units, days=model.days)

    return floor


def _order_floor(
    validate_json: Callable[..., Any], function: Callable[..., Any], text: str
) -> Callable[[], Any]:
    def floor() -> Any:
        return function(order=validate_json(text, strict=True).order)

    return floor


def _search_floor(
    validate_json: Callable[..., Any], function: Callable[..., Any], text: str
) -> Callable[[], Any]:
    def floor() -> Any:
        m = validate_json(text, strict=True)
        return function(
            q=m.q, a=m.a, b=m.b, c=m.c, d=m.d, e=m.e, f=m.f, g=m.g, h=m.h, i=m.i, j=m.j, k=m.k
        )

    return floor


def _ping_floor(
    validate_json: Callable[..., Any], function: Callable[..., Any], text: str
) -> Callable[[], Any]:
    def floor() -> Any:
        validate_json(text, strict=True)
        return function()

    return floor


def _pay_floor(
    validate_json: Callable[..., Any], function: Callable[..., Any], text: str
) -> Callable[[], Any]:
    def floor() -> Any:
        model = validate_json(text)
        return function(cents=model.cents, payee=model.payee, days=model.days)

    return floor


def _book_floor(
    validate_json: Callable[..., Any], function: Callable[..., Any], text: str
) -> Callable[[], Any]:
    def floor() -> Any:
        return function(booking=validate_json(text).booking)

    return floor


_LINES = [{"sku": f"AB-{number}", "qty": number, "price": number * 1.5} for number in range(1, 6)]
_LETTERS = "abcdefghijk"

SUBJECTS = (
    Subject(
        name="scalar",
        function=get_weather,
        given={"city": "Oslo", "units": "f"},
        nulled={"city": "Oslo", "units": "f", "days": None},
        slipped={"city": "Oslo", "units": "f", "days": "2"},
        wanted="Oslo",
        floor=_weather_floor,
    ),
    Subject(
        name="nested",
        function=create_order,
        given={"order": {"customer": "ACME", "lines": _LINES}},
        nulled={"order": {"customer": "ACME", "lines": _LINES, "express": None}},
        slipped={"order": {"customer": "ACME", "lines": [*_LINES[:4], {**_LINES[4], "qty": "5"}]}},
        wanted="ACME",
        floor=_order_floor,
    ),
    Subject(
        name="twelve optional",
        function=search,
        given={"q": "shoes", "b": 3, "d": True},
        nulled={"q": "shoes", **dict.fromkeys(_LETTERS), "b": 3, "d": True},
        slipped={"q": "shoes", "b": "3", "d": True},
        wanted="shoes",
        floor=_search_floor,
    ),
    Subject(
        name="no arguments",
        function=ping,
        given={},
        nulled={},
        slipped=None,
        wanted="pong",
        floor=_ping_floor,
    ),
)


_BOOKING = {"room": "12", "nights": 2, "guests": 2, "price": 80.5}
WITH_CODE = (
    Subject(
        name="a field's validator",
        function=pay,
        given={"cents": 1250, "payee": "Ann"},
        nulled={"cents": 1250, "payee": "Ann", "days": None},
        slipped={"cents": 1250, "payee": "Ann", "days": "2"},
        wanted="Ann",
        floor=_pay_floor,
    ),
    Subject(
        name="a model's validator",
        function=book,
        given={"booking": _BOOKING},
        nulled={"booking": _BOOKING},
        slipped={"booking": {**_BOOKING, "nights": "2"}},
        wanted="12",
        floor=_book_floor,
    ),
)
"""Tools with a before validator of the author's, of one field and of a whole model."""


def openai_response(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion that calls one tool, as OpenAI sends it."""
    call = {
        "id": "call_9mTzGhqTqJ",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    message = {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [call],
        "annotations": [],
    }
    return {
        "id": "chatcmpl-CfzP1sEJ8QgQ",
        "object": "chat.completion",
        "created": 1763654400,
        "model": "gpt-5-mini-2025-08-07",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": None}
        ],
        "usage": {"prompt_tokens": 91, "completion_tokens": 17, "total_tokens": 108},
        "service_tier": "default",
        "system_fingerprint": None,
    }


def anthropic_response(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a message that calls one tool, as Anthropic sends it."""
    call = {
        "type": "tool_use",
        "id": "toolu_01A09q90qw90lq917835lq9",
        "name": name,
        "input": arguments,
    }
    return {
        "id": "msg_01Aq9w938a90dw8q",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [call],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 391, "output_tokens": 17},
    }


def gemini_response(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a response with one call, as Gemini sends it."""
    part = {"functionCall": {"name": name, "args": arguments}, "thoughtSignature": "CiQB"}
    content = {"role": "model", "parts": [part]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 91,
            "candidatesTokenCount": 17,
            "totalTokenCount": 108,
        },
        "modelVersion": "gemini-2.5-flash",
        "responseId": "yXUyaZ2vGYqQ",
    }


def responses_response(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a response with one call, as OpenAI's Responses API sends it."""
    call = {
        "type": "function_call",
        "id": "fc_0a2f3e4b",
        "call_id": "call_9mTzGhqTqJ",
        "name": name,
        "arguments": json.dumps(arguments),
        "status": "completed",
    }
    return {
        "id": "resp_0a2f3e4b",
        "object": "response",
        "created_at": 1763654400,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-5-mini-2025-08-07",
        "output": [{"type": "reasoning", "id": "rs_0a2f3e4b", "summary": []}, call],
        "usage": {"input_tokens": 91, "output_tokens": 17, "total_tokens": 108},
    }


def bedrock_response(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a message that calls one tool, as Bedrock's Converse sends it."""
    call = {"toolUseId": "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q", "name": name, "input": arguments}
    return {
        "output": {"message": {"role": "assistant", "content": [{"toolUse": call}]}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 91, "outputTokens": 17, "totalTokens": 108},
        "metrics": {"latencyMs": 402},
    }


def cohere_response(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a message that calls one tool, as Cohere's second chat API sends it."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"{name}_4gh1rt2qv0jd", "type": "function", "function": function}
    plan = "I will call the tool."
    return {
        "id": "c14c80c3-18eb-4519-9460-6c92edd8cfb4",
        "finish_reason": "TOOL_CALL",
        "message": {"role": "assistant", "tool_plan": plan, "tool_calls": [call]},
        "usage": {"tokens": {"input_tokens": 91, "output_tokens": 17}},
    }


def ollama_response(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a message that calls one tool, as Ollama sends it."""
    call = {"function": {"name": name, "arguments": arguments}}
    return {
        "model": "qwen3:4b",
        "created_at": "2026-11-20T12:00:00.000000Z",
        "message": {"role": "assistant", "content": "", "tool_calls": [call]},
        "done_reason": "stop",
        "done": True,
        "prompt_eval_count": 91,
        "eval_count": 17,
    }


RESPONSES = {
    "anthropic": anthropic_response,
    "openai-responses": responses_response,
    "bedrock": bedrock_response,
    "mistral": openai_response,
    "cohere": cohere_response,
    "gemini": gemini_response,
    "ollama": ollama_response,
}
"""For each provider that is timed beside OpenAI, a function that returns its response with one call."""

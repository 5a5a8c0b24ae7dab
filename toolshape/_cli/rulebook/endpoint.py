"""Judges how an OpenAI-compatible server handles calls: choices, ids, streams, strictness, ..."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._bound.bound import Bound
from toolshape._bound.registry import Registry
from toolshape._cli.rulebook.verify import ProbeOutcome
from toolshape._families import get
from toolshape._families.openai.probes import has_usage, question
from toolshape._plan.plan import Plan
from toolshape._records.calls import JsonObject
from toolshape._records.errors import ToolshapeError
from toolshape._tools.options import parse_options
from toolshape._tools.tool import Tool, make_tool

AskEndpoint: TypeAlias = Callable[[JsonObject], str]
"""Sends the body of a request, and returns the body of the response.

Raises ``NoResponseError`` if the server sends no such response."""
_LONGEST = 300


class NoResponseError(Exception):
    """The server sent no response, an unreadable response, or a status other than 200."""


class Behaviour(NamedTuple):
    """One behaviour that a server should have, the outcome of the
    check, and what the check observed.
    """

    name: str
    outcome: ProbeOutcome
    words: str


class _Seen(NamedTuple):
    """One response: the plan of its calls, and whether the response reports its token usage."""

    plan: Plan
    has_usage: bool


def _weather(city: Literal["Bonn", "Rome"], days: int) -> str:
    """Say how the weather will be in a city."""
    return f"{city}, {days}"


def _book(room: int) -> str:
    """Book a room of the hotel by its number."""
    return str(room)


def _tools() -> list[Tool[..., Any]]:
    functions = {"weather": _weather, "book": _book}
    return [
        make_tool(function, parse_options({"name": name}), None)
        for name, function in functions.items()
    ]


_CALL_ONE = "How will the weather be in Bonn for the next 2 days? Use the tool."
_CALL_TWO = (
    "How will the weather be in Bonn and in Rome for the next 2 days? Use the tool for both."
)
_TALK = "Say hello."


class _Endpoint(NamedTuple):
    """One server and one model, with the tools to send in a request, in
    lenient form and in strict form.
    """

    model: str
    ask: AskEndpoint
    lenient: Bound
    strict: Bound


def _request_response(
    server: _Endpoint,
    text: str,
    bound: Bound | None = None,
    *,
    is_streamed: bool = False,
    **asked: Any,
) -> _Seen:
    """Send a request to a server, and read the response.

    Raises:
        NoAnswerError: The server did not send a readable response.
    """
    tools = bound or server.lenient
    response_body = server.ask(
        {**question(server.model, text, is_streamed=is_streamed), **tools.request(**asked)}
    )
    try:
        if not is_streamed:
            return _Seen(tools.plan(response_body), has_usage(response_body))
        collector = tools.collector()
        collector.feed(response_body)
        collector.close()
        return _Seen(collector.plan(), has_usage(response_body))
    except (ToolshapeError, ValueError, AttributeError) as error:
        raise NoResponseError(f"not a response: {error}"[:_LONGEST]) from error


_Check: TypeAlias = Callable[[_Endpoint], tuple[bool, str]]
"""Returns whether a server behaves as it should, and what it did.

Raises ``NoResponseError`` if it does not answer.
"""


def _calls(seen: _Seen) -> list[str]:
    return [str(call.name or call.wire_name) for call in seen.plan.calls]


def _describe(seen: _Seen) -> str:
    return (
        f"calls: {', '.join(_calls(seen)) or 'none'}; finish reason: "
        f"{seen.plan.results.finish_raw!r}"
    )


def _check_required(server: _Endpoint) -> tuple[bool, str]:
    response = _request_response(server, _TALK, choice="required")
    return bool(_calls(response)), _describe(response)


def _check_named(server: _Endpoint) -> tuple[bool, str]:
    response = _request_response(server, _CALL_ONE, choice="book")
    return set(_calls(response)) == {"book"}, _describe(response)


def _check_none(server: _Endpoint) -> tuple[bool, str]:
    response = _request_response(server, _CALL_ONE, choice="none")
    return not _calls(response), _describe(response)


def _check_single(server: _Endpoint) -> tuple[bool, str]:
    response = _request_response(server, _CALL_TWO, choice="required", parallel=False)
    return len(_calls(response)) == 1, _describe(response)


def _check_ids(server: _Endpoint) -> tuple[bool, str]:
    plans = [
        _request_response(server, _CALL_TWO, choice="required", is_streamed=is_streamed).plan
        for is_streamed in (False, True)
    ]
    ids_by_plan = [
        [call.raw.get("id") if isinstance(call.raw, dict) else None for call in plan.calls]
        for plan in plans
    ]
    is_right = all(ids and all(ids) and len(set(ids)) == len(ids) for ids in ids_by_plan)
    return is_right, f"ids: {ids_by_plan[0]}; ids in a stream: {ids_by_plan[1]}"


def _streamed(server: _Endpoint) -> tuple[bool, str]:
    whole, streamed = (
        _request_response(server, _CALL_ONE, choice="required", is_streamed=flag)
        for flag in (False, True)
    )
    read_calls = [
        [(call.name, call.arguments) for call in response.plan.calls]
        for response in (whole, streamed)
    ]
    ends = [response.plan.results.finish_raw for response in (whole, streamed)]
    return read_calls[0] == read_calls[1] and ends[0] == ends[
        1
    ], f"whole: {read_calls[0]}, {ends[0]!r}; streamed: {read_calls[1]}, {ends[1]!r}"


def _arguments(server: _Endpoint) -> tuple[bool, str]:
    response = _request_response(
        server,
        "Call the tool weather for Atlantis, for many days.",
        server.strict,
        choice="weather",
    )
    error_texts = [
        result.text
        for result in response.plan.results
        if result.error is not None and result.error.code != "not_run"
    ]
    return bool(_calls(response)) and not error_texts, "; ".join(error_texts) or _describe(response)


def _check_finish(server: _Endpoint) -> tuple[bool, str]:
    called_response, text_response = (
        _request_response(server, _CALL_ONE, choice="required"),
        _request_response(server, _TALK, choice="none"),
    )
    ends = called_response.plan.results.finish_raw, text_response.plan.results.finish_raw
    return ends in (("tool_calls", "stop"), ("stop", "stop")) and ends[
        0
    ] == "tool_calls", f"finish reasons: {ends[0]!r} with calls, {ends[1]!r} with text"


def _no_calls_in_text(server: _Endpoint) -> tuple[bool, str]:
    response = _request_response(server, _CALL_ONE)
    found = response.plan.results.warnings
    warnings = [warning for warning in found if warning.rule == "call_in_text"]
    return not warnings, "; ".join(warning.message for warning in warnings) or _describe(response)


def _usage(server: _Endpoint) -> tuple[bool, str]:
    whole, streamed = (_request_response(server, _TALK, is_streamed=flag) for flag in (False, True))
    words = {True: "reported", False: "not reported"}
    observation = f"whole: {words[whole.has_usage]}; streamed: {words[streamed.has_usage]}"
    return whole.has_usage and streamed.has_usage, observation


CHECKS: dict[str, _Check] = {
    "a required call comes": _check_required,
    "a named tool is called": _check_named,
    "no tool is called if none may be": _check_none,
    "one call at a time, if asked for": _check_single,
    "each call has an id of its own": _check_ids,
    "a stream says what a whole response says": _streamed,
    "strict arguments fit the schema": _arguments,
    "a response ends by tool_calls or stop": _check_finish,
    "no call is left in the text": _no_calls_in_text,
    "the usage is reported": _usage,
}


def behaviours(model: str, ask: AskEndpoint) -> Iterator[Behaviour]:
    """Check each behaviour of a server, and yield the outcome, which is ``unknown``
    if the server does not answer.
    """
    registry = Registry(_tools())
    server = _Endpoint(
        model,
        ask,
        registry.bind(get("vllm"), strict=False),
        registry.bind(get("openai"), strict=True),
    )
    for name, check in CHECKS.items():
        try:
            is_right, words = check(server)
        except NoResponseError as error:
            yield Behaviour(name, "unknown", str(error)[:_LONGEST])
        else:
            yield Behaviour(name, "confirmed" if is_right else "refuted", words[:_LONGEST])


def make_ask(url: str, key: str, client: Any, seconds: float) -> AskEndpoint:
    """Return a function that posts a body to an OpenAI-compatible server.

    Args:
        url: The address, with or without ``/chat/completions``.
        key: The key, or an empty string if the server needs no key.
        client: An ``httpx`` client.
        seconds: The timeout of a request, in seconds.
    """
    endpoint_url = url.rstrip("/")
    endpoint_url = (
        endpoint_url
        if endpoint_url.endswith("/chat/completions")
        else f"{endpoint_url}/chat/completions"
    )
    headers = {"authorization": f"Bearer {key}"} if key else {}

    def ask(body: JsonObject) -> str:
        try:
            response = client.post(endpoint_url, headers=headers, json=body, timeout=seconds)
        except Exception as error:  # httpx raises many kinds of errors, and a server may cause any
            raise NoResponseError(type(error).__name__) from error
        if response.status_code != 200:  # noqa: PLR2004 - an HTTP status
            if response.status_code not in (401, 403):
                words = response.text
            else:
                words = "the key is not accepted"
            raise NoResponseError(
                f"status {response.status_code}: {words.replace(key, '[key]') if key else words}"
            )
        return str(response.text)

    return ask

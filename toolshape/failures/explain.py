"""``explain``: an error of any SDK in; a ``Failure`` that says whose it is, where, and whether to try again, out."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape.bound import Bound
from toolshape.errors import CallError, ExportError, HistoryError
from toolshape.failures.facts import ErrorFacts, facts_of
from toolshape.failures.places import Place, place_in
from toolshape.failures.waits import wait_in

__all__ = ["Failure", "FailureKind", "explain"]

FailureKind: TypeAlias = Literal[
    "schema",
    "history",
    "model",
    "tool",
    "request",
    "limits",
    "rate",
    "quota",
    "auth",
    "overloaded",
    "network",
    "unknown",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """What went wrong, and where.

    ``kind``: ``schema``, a tool's definition was refused; ``history``, the messages were; ``model``, what the model wrote
    was, and the same request may pass; ``tool``, a tool of yours failed; ``request``, anything else in the request;
    ``limits``, it is too large; ``rate``, too many requests; ``quota``, nothing is left to pay with; ``auth``, the key;
    ``overloaded``, the provider's own fault; ``network``, nothing or not all of an answer came; or ``unknown``.

    ``retryable`` says whether the same request may pass later, ``retry_after`` in how many seconds, if the provider said.
    ``tool`` is the name of the tool, ``path`` the place in its arguments, or in the messages. ``rule`` is the provider's
    word for what was broken, or the keyword of JSON Schema. ``error`` is what was explained.
    """

    kind: FailureKind
    retryable: bool
    message: str
    retry_after: float | None = None
    tool: str | None = None
    path: str = ""
    rule: str = ""
    status: int | None = None
    request_id: str | None = None
    error: Any = field(default=None, repr=False, compare=False)


class _Sign(NamedTuple):
    kind: FailureKind
    retryable: bool
    pattern: re.Pattern[str]
    statuses: tuple[int, ...] = ()
    never: tuple[int, ...] = ()


_SERVER = tuple(range(501, 600))
_NOT_ABOUT_CONTENT = (401, 403, 429)


def _sign(
    kind: FailureKind,
    pattern: str,
    *,
    retryable: bool = False,
    statuses: tuple[int, ...] = (),
    never: tuple[int, ...] = (),
) -> _Sign:
    return _Sign(kind, retryable, re.compile(pattern, re.IGNORECASE | re.DOTALL), statuses, never)


# In this order: what is said of a history also says "tool", what is said of a tool also says "schema". Gemini says of a
# limit per minute what OpenAI says of an empty account (aider#3694, 2025): there the details decide.
_SIGNS = (
    _sign(
        "quota",
        r"insufficient_quota|credit_balance|billing_|spend_limit|usage_limit_exceeded|credit balance is too low|"
        r"insufficient (?:credits|balance|funds)|payment.required|quota_exceeded|ServiceQuotaExceeded|QUOTA_EXHAUSTED|PerDay|"
        r"exceeded your current quota(?!.{0,4000}RESOURCE_EXHAUSTED)",
        statuses=(400, 402, 403, 429),
    ),
    _sign(
        "model",
        r"tool_use_failed|failed_generation|did not match schema: errors|did not call a tool|not in request\.tools|"
        r"MALFORMED_FUNCTION_CALL|ModelErrorException|ModelStreamError|json_validate_failed",
        retryable=True,
    ),
    _sign(
        "limits",
        r"context_length|maximum context length|prompt is too long|input is too long|input token count .{0,40}exceeds|"
        r"exceeds?.{0,12}context.(?:size|limit|window|length)|request_too_large|too complex for compilation|"
        r"Too many strict tools|too many (?:optional )?parameters|array_above_max_length|array too long|"
        r"available_tools_limit|failed to parse grammar",
        never=_SERVER,
    ),
    _sign("request", r"response_format|text\.format|output_format|budget_tokens|generation_config", never=_SERVER),
    _sign(
        "history",
        r"reasoning_content|thought_?signature|tool_use. ids were found|unexpected .tool_use_id|tool_result. blocks|"
        r"must be followed by tool messages|role .tool. must be a response|No tool (?:call|output) found|"
        r"number of function (?:response|call)|function call turn|Expected toolResult|using (?:the )?toolUse and toolResult|"
        r"Unexpected role|last role User|Not the same number of function|Unexpected tool call id|Tool call id was|"
        r"arguments to a tool_call|invalid_request_message_order|(?:messages|input)\.?\[\d+\]|"
        r"(?:^|[\s'\"(])(?:messages|contents)\.\d+|#/messages/\d+|message\[\d+\]|at message index|function_response\.|"
        r"thinking.{0,30}block|must alternate|must start with a user message|non-empty content|must be non-empty",
        never=(*_NOT_ABOUT_CONTENT, 500, *_SERVER),
    ),
    _sign(
        "schema",
        r"tool names must be unique|Duplicate function|tool_name_conflict|tools?[.\[]\d+\]?|function_?declarations?|"
        r"function name\b|length of the tool name|Function name was|'strict' is not a valid field|"
        r"extra_forbidden.{0,80}tools|Invalid schema for function|invalid_function_parameters|input_schema|inputSchema|"
        r"JSON.?schema|tool schema|properties|\$ref|schema",
        never=(*_NOT_ABOUT_CONTENT, 500, *_SERVER),
    ),
    _sign(
        "request",
        r"tool_choice|toolChoice|does not support tools|requires --jinja|--enable-auto-tool-choice|tool choice",
        never=_SERVER,
    ),
    _sign("overloaded", r"overloaded|ModelNotReady|server_is_overloaded|slow_down", retryable=True),
    _sign("rate", r"rate_limit|Throttling|TooManyRequests|RESOURCE_EXHAUSTED|rate limit", retryable=True),
    _sign("auth", r"authentication|unauthorized|api.?key|permission|AccessDenied|NoCredentials|TokenRetrieval"),
    _sign("network", r"ModelTimeout|timeout_error|RequestTimeout", retryable=True),
    _sign("overloaded", r"api_error|InternalServer|ServiceUnavailable|server_error", retryable=True),
)
_BY_CODE: tuple[tuple[FailureKind, bool, re.Pattern[str]], ...] = (
    (
        "quota",
        False,
        re.compile(r"insufficient_quota|credit_balance_exhausted|billing_error|\w*spend_limit\w*|quota_exceeded"),
    ),
    ("model", True, re.compile(r"tool_use_failed|ModelErrorException|ModelStreamErrorException")),
    (
        "limits",
        False,
        re.compile(r"context_length_exceeded|request_too_large|array_above_max_length|exceed_context_size_error"),
    ),
    ("schema", False, re.compile(r"invalid_function_parameters")),
    ("history", False, re.compile(r"invalid_request_message_order|3230")),
    ("auth", False, re.compile(r"invalid_api_key|authentication_error|permission_error|AccessDeniedException")),
    ("rate", True, re.compile(r"rate_limit_exceeded|ThrottlingException|throttlingException|rate_limited")),
    ("overloaded", True, re.compile(r"overloaded_error|server_is_overloaded|ModelNotReadyException")),
)
"""Codes that mean one thing, whatever words stand beside them."""
_BY_STATUS: dict[int, tuple[FailureKind, bool]] = {
    401: ("auth", False),
    402: ("quota", False),
    403: ("auth", False),
    404: ("request", False),
    408: ("network", True),
    409: ("overloaded", True),
    413: ("limits", False),
    424: ("model", True),
    429: ("rate", True),
    499: ("network", True),
    504: ("network", True),
}
_OF_CALL: dict[str, FailureKind] = {
    "unknown_tool": "model",
    "malformed_arguments": "model",
    "truncated_arguments": "model",
    "invalid_arguments": "model",
}


def explain(error: Any, bound: Bound | None = None) -> Failure:
    """Say of a failure whose it is, where, and whether to try again.

    Codes that mean one thing decide, else what the provider says in words; where that says nothing, the status does.

    Args:
        error: An exception of a provider's SDK, an HTTP response, an error body (a dict, JSON text, an event of a
            stream), or a ``CallError``.
        bound: What was sent: it gives ``tools[3]`` its name. Without it, the request is looked at, where the error holds it.

    Returns:
        The failure; one that is not understood has the kind ``unknown``, and all that was found.
    """
    try:
        return _explained(error, bound)
    except Exception as problem:  # somebody's object, which raises where it is asked
        return Failure(
            kind="unknown", retryable=False, message=f"not understood: {type(problem).__name__}", error=error
        )


def _explained(error: Any, bound: Bound | None) -> Failure:
    if isinstance(error, CallError):
        return _of_call(error)
    if isinstance(error, (ExportError, HistoryError)) and error.problems:
        kind: FailureKind = "history" if isinstance(error, HistoryError) else "schema"
        first = error.problems[0]
        name = error.tool if isinstance(error, ExportError) else None
        return Failure(
            kind=kind, retryable=False, message=str(error), tool=name, path=first.path, rule=first.rule, error=error
        )
    facts = facts_of(error)
    kind, retryable = _kind(facts)
    said = facts.headers.get("x-should-retry")
    retryable = said == "true" if said in ("true", "false") else retryable
    place = place_in(f"{facts.param} {facts.message}".strip())
    is_placed = kind in ("schema", "history", "model", "request", "limits")
    is_waiting = kind in ("rate", "overloaded", "network", "quota")
    wait = wait_in(facts.headers, facts.details, facts.message, now=time.time(), is_limited=kind == "rate")
    return Failure(
        kind=kind,
        retryable=retryable,
        message=facts.message,
        retry_after=wait if is_waiting and retryable else None,
        tool=_tool_name(place, facts, bound) if is_placed else None,
        path=(place.message if kind == "history" else place.path) if is_placed else "",
        rule=(place.keyword if kind == "schema" and place.keyword else next(iter(facts.codes), "")),
        status=facts.status,
        request_id=facts.request_id,
        error=error,
    )


def _kind(facts: ErrorFacts) -> tuple[FailureKind, bool]:
    if facts.is_provider and not (facts.is_transport and facts.status is None) and (said := _said(facts)):
        return said
    if facts.status in _BY_STATUS:
        return _BY_STATUS[facts.status]
    if facts.is_transport or facts.is_timeout:
        return "network", True
    if facts.status is not None and facts.status >= 500:  # noqa: PLR2004 - HTTP's errors of servers
        return "overloaded", True
    if facts.status is not None and facts.status >= 400:  # noqa: PLR2004 - and of clients
        return "request", False
    return "unknown", False


def _said(facts: ErrorFacts) -> tuple[FailureKind, bool] | None:
    """What the provider's codes mean, or else its words."""
    for kind, retryable, pattern in _BY_CODE:
        if any(pattern.fullmatch(code) for code in facts.codes):
            return kind, retryable
    said = " ".join(one for one in (facts.param, facts.message, facts.details, *facts.codes) if one)
    for sign in _SIGNS:
        is_possible = not sign.statuses or facts.status in (None, 200, *sign.statuses)
        if is_possible and facts.status not in sign.never and sign.pattern.search(said):
            return sign.kind, sign.retryable
    return None


def _of_call(error: CallError) -> Failure:
    """What became of one call."""
    first = error.problems[0] if error.problems else None
    return Failure(
        kind=_OF_CALL.get(error.code, "tool"),
        retryable=error.retryable,
        message=str(error),
        tool=error.tool,
        path="" if first is None else first.path,
        rule=error.code if first is None else first.rule,
        error=error,
    )


def _tool_name(place: Place, facts: ErrorFacts, bound: Bound | None) -> str | None:
    """The tool's own name: by the name that was sent, or by its number among those that were."""
    sent = {} if bound is None else bound.names_by_wire_name()
    if place.tool_name is not None:
        return sent.get(place.tool_name, place.tool_name)
    if place.tool_number is None:
        return None
    names = list(sent.values()) if sent else _names_in(facts.request)
    return names[place.tool_number] if place.tool_number < len(names) else None


def _names_in(request: Any) -> Sequence[str]:
    """The names of the tools in a request."""
    if not isinstance(request, dict):
        return ()
    held: Any = request.get("tools") or (request.get("toolConfig") or {}).get("tools") or ()
    found: list[str] = []
    for one in held if isinstance(held, list) else ():
        if not isinstance(one, dict):
            continue
        declared = one.get("functionDeclarations", one.get("function_declarations"))
        for entry in declared if isinstance(declared, list) else [one]:
            inner = entry.get("function") or entry.get("toolSpec") or entry
            found.append(str(inner.get("name", "")) if isinstance(inner, dict) else "")
    return found

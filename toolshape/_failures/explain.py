"""``explain`` classifies an error of any SDK: what failed, where, and whether to retry."""

import datetime
import email.utils
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from toolshape._answers.bound_output import BoundOutput
from toolshape._bound.bound import Bound, bound_tools_of
from toolshape._failures.facts import ErrorFacts, facts_of
from toolshape._failures.places import Pointer, place_in, without_names
from toolshape._records.errors import CallError, ExportError, HistoryError
from toolshape._tools.definition.formats import tool_names_in

if TYPE_CHECKING:
    from toolshape._bound.registry import Registry

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_DURATION = re.compile(r"(?:\d{1,12}(?:\.\d{1,12})?(?:ns|us|µs|ms|s|m|h|d)){1,8}")
_AMOUNT_AND_UNIT = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)")
_IN_WORDS = re.compile(
    r"(?:try again|retry|reset|wait)\b[^.\d]{0,24}?(?:in|after)\s+"
    r"((?:\d{1,9}(?:\.\d{1,12})?\s?(?:ms|s|m|h)(?![a-z])){1,4}|"
    r"\d{1,9}(?:\.\d{1,9})?\s+(?:seconds?|minutes?|hours?))",
    re.IGNORECASE,
)
_DELAY_IN_DETAILS = re.compile(r'"(?:retryDelay|quotaResetDelay)": "([^"]{1,64})"')
_RESETS = re.compile(r"(?:x-ratelimit-reset|anthropic-ratelimit-[a-z-]{1,32}-reset)")
_EPOCH = 1e9  # A larger number is a point in time, not a duration.
_EPOCH_MS = 1e11


def wait_in(
    headers: Mapping[str, str], details: str, message: str, *, now: float, is_limited: bool
) -> float | None:
    """Return the seconds to wait, or ``None`` if the provider states no time.

    Args:
        headers: The response headers, with names in lower case.
        details: The details in the body, as JSON.
        message: The provider's message.
        now: The current time, in seconds since the epoch.
        is_limited: Whether a rate limit was exceeded. Reset times count only in this case.
    """
    waits = [_scale(headers.get("retry-after-ms"), 1e-3), _seconds(headers.get("retry-after"), now)]
    waits.append(_scale(headers.get("x-amz-retry-after"), 1e-3))
    waits += [_seconds(delay, now) for delay in _DELAY_IN_DETAILS.findall(details)]
    if match := _IN_WORDS.search(message):
        words = re.sub(r"\s", "", match[1]).lower()
        waits.append(
            _seconds(re.sub(r"(second|minute|hour)s?", lambda unit: unit[1][0], words), now)
        )
    if is_limited:
        waits.append(_reset(headers, now))
    return next((max(wait, 0.0) for wait in waits if wait is not None), None)


def _reset(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds until all exhausted limits reset; if no limit is
    exhausted, until all limits reset.
    """
    resets = {name: _seconds(value, now) for name, value in headers.items() if _RESETS.match(name)}
    known_resets = {name: seconds for name, seconds in resets.items() if seconds is not None}
    exhausted = [
        seconds
        for name, seconds in known_resets.items()
        if headers.get(name.replace("-reset", "-remaining")) == "0"
    ]
    return max(exhausted or known_resets.values(), default=None)


def _scale(given: str | None, factor: float) -> float | None:
    if given is not None and re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", given.strip()):
        return float(given) * factor
    return None


def _seconds(given: str | None, now: float) -> float | None:
    """Convert a number of seconds, a duration (``1m30s``), a date, or a time since
    the epoch to seconds from now.
    """
    text = (given or "").strip()
    if re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", text):
        number = float(text)
        if number > _EPOCH_MS:
            return number / 1000 - now
        return number - now if number > _EPOCH else number
    if _DURATION.fullmatch(text):
        return sum(float(amount) * _UNITS[unit] for amount, unit in _AMOUNT_AND_UNIT.findall(text))
    try:
        if re.match(r"[A-Za-z]{3},", text) and (date := email.utils.parsedate_tz(text)):
            return email.utils.mktime_tz(date) - now
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() - now
    except (ValueError, OverflowError):
        return None


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
    """Describes what failed, where, and whether to retry.

    ``kind`` is one of:

    - ``schema``: the provider rejected a tool's definition, or the schema for the answer;
    - ``history``: the provider rejected the messages;
    - ``model``: the provider rejected the model's output, and the same request may succeed;
    - ``tool``: one of your tools failed;
    - ``request``: the provider rejected another part of the request;
    - ``limits``: the request is too large;
    - ``rate``: too many requests;
    - ``quota``: the credit or the quota is used up;
    - ``auth``: the key is missing, invalid or not permitted;
    - ``overloaded``: the provider failed;
    - ``network``: no response arrived, or only part of a response;
    - ``unknown``: the error was not recognised.

    ``retryable`` is true if the same request may succeed later. ``retry_after`` is the number of
    seconds to wait, if the provider states it. ``tool`` is the name of the tool or output at fault.
    ``path`` is the place in the arguments, in the answer or in the messages. ``rule`` is the
    provider's error code, or the JSON Schema keyword. ``error`` is the explained error.
    """

    __module__ = "toolshape"

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
    words: re.Pattern[str] | None
    codes: re.Pattern[str] | None
    statuses: tuple[int, ...]
    never: tuple[int, ...]


_SERVER = tuple(range(501, 600))
_NOT_ABOUT_CONTENT = (401, 403, 429)


def _sign(
    kind: FailureKind,
    words: str = "",
    codes: str = "",
    *,
    retryable: bool = False,
    statuses: tuple[int, ...] = (),
    never: tuple[int, ...] = (),
) -> _Sign:
    """Compile the signs of one kind of failure: a pattern for the words of a message,
    and a pattern for error codes.

    The pattern for codes does not search the words, because they may contain a tool or parameter
    named like a code.
    """
    compiled = [
        re.compile(pattern, re.IGNORECASE | re.DOTALL) if pattern else None
        for pattern in (words, codes)
    ]
    return _Sign(kind, retryable, compiled[0], compiled[1], statuses, never)


# The first match wins, so the order matters: messages about the history also contain "tool", and
# messages about a tool also contain "schema". If a limit per minute is exceeded, Gemini sends the
# sentence that OpenAI sends for an empty account (aider#3694, 2025), so the details decide. Even if
# the limit is 0, Gemini states a time to try again (google-gemini/gemini-cli#22486, 2026).
_SIGNS = (
    _sign(
        "quota",
        r"credit balance is too low|insufficient (?:credits|balance|funds)|payment required|"
        r"Quota exceeded for metric.{0,200}\blimit: 0\b|"
        r"exceeded your current quota(?!.{0,4000}RESOURCE_EXHAUSTED)",
        r"insufficient_quota|credit_balance|billing_|spend_limit|usage_limit_exceeded|"
        r"payment.required|quota_exceeded|"
        r"ServiceQuotaExceeded|QUOTA_EXHAUSTED|PerDay",
        statuses=(400, 402, 403, 429),
    ),
    _sign(
        "model",
        r"did not match schema: errors|did not call a tool|see .failed_generation|"
        r"not in request\.tools|MALFORMED_FUNCTION_CALL",
        r"tool_use_failed|failed_generation|MALFORMED_FUNCTION_CALL|ModelErrorException|"
        r"ModelStreamError|json_validate_failed",
        retryable=True,
    ),
    _sign(
        "limits",
        r"maximum context length|prompt is too long|input is too long|"
        r"input token count .{0,40}exceeds|"
        r"\bexceed(?:s|ed)?\b.{0,12}context.(?:size|limit|window|length)|"
        r"too complex for compilation|"
        r"Too many strict tools|too many (?:optional )?parameters|array too long|"
        r"failed to parse grammar",
        r"context_length|request_too_large|array_above_max_length|available_tools_limit",
        never=_SERVER,
    ),
    _sign("history", r"messages\[0\]", never=(*_NOT_ABOUT_CONTENT, 500, *_SERVER)),
    _sign(
        "schema",
        r"tools\[0\]|Invalid schema for function",
        never=(*_NOT_ABOUT_CONTENT, 500, *_SERVER),
    ),
    _sign(
        "schema",
        r"Invalid schema for response_format|output_config\.format\.schema|"
        r"response_format\.json_schema\.schema|"
        r"text\.format\.schema|generation_?config\.response_?(?:json_?)?schema|"
        r"textFormat\.structure",
        "invalid_json_schema",
        never=(*_NOT_ABOUT_CONTENT, 500, *_SERVER),
    ),
    _sign(
        "request",
        r"response_format|text\.format|output_format|budget_tokens|generation_config",
        never=_SERVER,
    ),
    _sign(
        "history",
        r"reasoning_content|thought_?signature|tool_use. ids were found|unexpected .tool_use_id|"
        r"tool_result. blocks|"
        r"must be followed by tool messages|role .tool. must be a response|No tool (?:call|"
        r"output) found|"
        r"number of function (?:response|call)|function call turn|Expected toolResult|"
        r"using (?:the )?toolUse and toolResult|"
        r"Unexpected role|last role User|Not the same number of function|"
        r"Unexpected tool call id|Tool call id was|"
        r"arguments to a tool_call|message\[\d+\]|at message index|function_response\.|"
        r"thinking.{0,30}block|must alternate|must (?:start|end) with a user message|"
        r"last message.{0,60}must be a user message|non-empty content|must be non-empty|"
        # openai/openai-agents-python#2503 and continuedev/continue#11466, 2026: reasoning items.
        r"provided without its required|Items are not persisted|"
        r"encrypted content .{0,200}could not be verified|"
        # XiaomiMiMo/MiMo-Code#1703 and tailcallhq/forgecode#1872, 2025 and 2026: the end of the
        # conversation.
        r"assistant\b.{0,30}\bprefill\b|\bprefill(?:ing)?\b.{0,30}(?:support|incompatible)|"
        r"cannot end with trailing whitespace|empty text parameter",
        r"invalid_request_message_order|invalid_encrypted_content",
        never=(*_NOT_ABOUT_CONTENT, 500, *_SERVER),
    ),
    _sign(
        "schema",
        r"tool names must be unique|Duplicate function|function_?declarations?|function name\b|"
        r"length of the tool name|"
        r"Function name was|'strict' is not a valid field|input_schema|inputSchema|JSON.?schema|"
        r"tool schema|"
        r"properties|\$ref|schema",
        r"tool_name_conflict|invalid_function_parameters",
        never=(*_NOT_ABOUT_CONTENT, 500, *_SERVER),
    ),
    _sign(
        "request",
        r"tool_choice|toolChoice|does not support tools|requires --jinja|"
        r"--enable-auto-tool-choice|tool choice",
        never=_SERVER,
    ),
    _sign("overloaded", r"overloaded", r"overloaded|ModelNotReady|slow_down", retryable=True),
    _sign(
        "rate",
        r"\brate[ -]limit",
        r"rate_limit|Throttling|TooManyRequests|RESOURCE_EXHAUSTED",
        retryable=True,
    ),
    _sign(
        "auth",
        r"\bauthentication\b|\bunauthorized\b|\bapi[ -]?keys?\b|\bpermissions?\b|access denied|"
        r"api_key client option|setting (?:the )?\w{1,40}_API_KEY",
        r"authentication|unauthorized|api.?key|permission|AccessDenied|NoCredentials|"
        r"TokenRetrieval",
    ),
    _sign("network", codes=r"ModelTimeout|timeout_error|RequestTimeout", retryable=True),
    _sign(
        "overloaded",
        codes=r"api_error|InternalServer|ServiceUnavailable|server_error",
        retryable=True,
    ),
)
_BY_CODE: tuple[tuple[FailureKind, bool, re.Pattern[str]], ...] = (
    (
        "quota",
        False,
        re.compile(
            r"insufficient_quota|credit_balance_exhausted|billing_error|\w*spend_limit\w*|"
            r"quota_exceeded"
        ),
    ),
    ("model", True, re.compile(r"tool_use_failed|ModelErrorException|ModelStreamErrorException")),
    (
        "limits",
        False,
        re.compile(
            r"context_length_exceeded|request_too_large|array_above_max_length|"
            r"exceed_context_size_error"
        ),
    ),
    ("schema", False, re.compile(r"invalid_function_parameters|invalid_json_schema")),
    ("history", False, re.compile(r"invalid_request_message_order|3230")),
    (
        "auth",
        False,
        re.compile(r"invalid_api_key|authentication_error|permission_error|AccessDeniedException"),
    ),
    (
        "rate",
        True,
        re.compile(r"rate_limit_exceeded|ThrottlingException|throttlingException|rate_limited"),
    ),
    (
        "overloaded",
        True,
        re.compile(r"overloaded_error|server_is_overloaded|ModelNotReadyException"),
    ),
)
"""Codes that have only one meaning: they override the words of the message."""
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


def explain(error: Any, bound: "Bound | BoundOutput[Any] | Registry | None" = None) -> Failure:
    """Classify a failure: what failed, where, and whether to retry.

    Unambiguous error codes decide first, then the words of the message, then the HTTP status.

    Args:
        error: An exception of a provider's SDK, an HTTP response, an error body (a dict, JSON text,
            an event of a stream), or a ``CallError``.
        bound: The tools of the request: a ``Bound``, a ``BoundOutput``, or a registry if the
            request contained all of its tools. ``explain`` uses them to turn ``tools[3]`` into a
            name. If ``bound`` is omitted and the error contains the request, the names come from
            that request.

    Returns:
        The failure. If ``explain`` does not recognise the error, ``kind`` is ``unknown``, and the
        other fields hold the facts in the error.
    """
    try:
        return _explain(error, bound)
    except Exception as problem:  # Any attribute of a foreign object may raise.
        return Failure(
            kind="unknown",
            retryable=False,
            message=f"cannot read the error: {type(problem).__name__}",
            error=error,
        )


def _explain(error: Any, bound: "Bound | BoundOutput[Any] | Registry | None") -> Failure:
    if isinstance(error, CallError):
        return _explain_call(error)
    if isinstance(error, (ExportError, HistoryError)) and error.problems:
        if isinstance(error, HistoryError):
            kind: FailureKind = "history"
        else:
            kind = "schema"
        first = error.problems[0]
        if isinstance(error, ExportError):
            name = error.tool
        else:
            name = None
        return Failure(
            kind=kind,
            retryable=False,
            message=str(error),
            tool=name,
            path=first.path,
            rule=first.rule,
            error=error,
        )
    # The errors above are of this library, and know their place. Of any other only words and codes
    # are known. Its kind is found first: only some kinds have a place in the request, and only some
    # pass by themselves.
    facts = facts_of(error)
    kind, retryable = _kind(facts)
    should_retry = facts.headers.get("x-should-retry")
    if should_retry in ("true", "false") and not _is_beyond_limit(facts.message):
        retryable = should_retry == "true"
    place = place_in(f"{facts.param} {facts.message}".strip())
    has_place = kind in ("schema", "history", "model", "request", "limits")
    may_wait = kind in ("rate", "overloaded", "network", "quota")
    wait = wait_in(
        facts.headers, facts.details, facts.message, now=time.time(), is_limited=kind == "rate"
    )
    tool, path = None, ""
    if has_place:
        tool = _tool_name(place, facts, bound)
        path = place.message if kind == "history" else place.path
    rule = next(iter(facts.codes), "")
    if kind == "schema" and place.keyword:
        rule = place.keyword
    return Failure(
        kind=kind,
        retryable=retryable,
        message=facts.message,
        retry_after=wait if may_wait and retryable else None,
        tool=tool,
        path=path,
        rule=rule,
        status=facts.status,
        request_id=facts.request_id,
        error=error,
    )


def _kind(facts: ErrorFacts) -> tuple[FailureKind, bool]:
    if (
        facts.is_provider
        and not (facts.is_transport and facts.status is None)
        and (classified := _classify(facts))
    ):
        return classified
    if facts.status in _BY_STATUS:
        return _BY_STATUS[facts.status]
    if facts.is_transport or facts.is_timeout:
        return "network", True
    if facts.status is not None and facts.status >= 500:  # noqa: PLR2004 - HTTP server errors
        return "overloaded", True
    if facts.status is not None and facts.status >= 400:  # noqa: PLR2004 - HTTP client errors
        return "request", False
    return "unknown", False


# "Limit 30000, Requested 61337" (OpenAI, Groq; continuedev/continue#10602, 2026-02): the code is a
# rate limit, but waiting does not help, because this one request exceeds the limit. If one request
# is below the limit, waiting helps.
_LIMIT = re.compile(
    r"\bLimit:?\s+([\d,]{1,15})\b.{0,80}?\bRequested:?\s+~?([\d,]{1,15})\b",
    re.IGNORECASE | re.DOTALL,
)
_TOO_LARGE = re.compile(r"^[^.]{0,40}\brequest(?: body)? too large for\b", re.IGNORECASE)
_IN_DETAILS = re.compile(r'"(?:reason|quotaId|quotaMetric|@type)": "([^"]{1,256})"')
_BY_PARAM: dict[str, FailureKind] = {
    "tools": "schema",
    "messages": "history",
    "input": "history",
    "contents": "history",
}


def _is_beyond_limit(message: str) -> bool:
    """Return whether a single request is larger than the whole limit."""
    if numbers := _LIMIT.search(message):
        limit, requested = (int(number.replace(",", "") or 0) for number in numbers.groups())
        return requested > limit
    return _TOO_LARGE.search(message) is not None


_CODES = re.compile(
    r"^\s*([A-Z]\w{0,100}(?:Exception|Error))\b|error occurred \((\w{1,100})\)|"
    r"\b(?:code|type|status|reason)['\"]?[:=]\s*['\"]?([A-Za-z]\w{0,100})"
)


def _codes_in(message: str) -> list[str]:
    """Return the error codes in a message: the exception class at its
    start, or the code in a quoted body.
    """
    return [code for groups in _CODES.findall(message) for code in groups if code]


def _classify(facts: ErrorFacts) -> tuple[FailureKind, bool] | None:
    """Classify by the codes, then the words of the message, then the part of the
    request that the message names.
    """
    # The order is from the surest to the vaguest. A limit is told apart by its number, whatever
    # code it comes with. A code means one thing. Words are asked next, and together with codes
    # inside details, since gateways put the provider's code there. The parameter comes last: a
    # message about money may name a parameter, too.
    if _is_beyond_limit(facts.message):
        return "limits", False
    for kind, retryable, pattern in _BY_CODE:
        if any(pattern.fullmatch(code) for code in facts.codes):
            return kind, retryable
    codes = " ".join((*_IN_DETAILS.findall(facts.details), *_codes_in(facts.message), *facts.codes))
    words = " ".join((without_names(facts.param), without_names(facts.message), codes))
    for sign in _SIGNS:
        is_possible = not sign.statuses or facts.status in (None, 200, *sign.statuses)
        is_match = (sign.words and sign.words.search(words)) or (
            sign.codes and sign.codes.search(codes)
        )
        if is_match and is_possible and facts.status not in sign.never:
            return sign.kind, sign.retryable
    kind_by_param = _BY_PARAM.get(facts.param)
    if kind_by_param is None or facts.status not in (None, 400, 422):
        return None
    return (kind_by_param, False)


def _explain_call(error: CallError) -> Failure:
    """Classify the error of a single call."""
    first = error.problems[0] if error.problems else None
    path, rule = ("", error.code) if first is None else (first.path, first.rule)
    return Failure(
        kind=_OF_CALL.get(error.code, "tool"),
        retryable=error.retryable,
        message=str(error),
        tool=error.tool,
        path=path,
        rule=rule,
        error=error,
    )


def _tool_name(
    place: Pointer, facts: ErrorFacts, bound: "Bound | BoundOutput[Any] | Registry | None"
) -> str | None:
    """Return the output's name, or find the tool by its wire name or position and
    return its name in the registry.
    """
    # What is certain comes first: a provider that speaks of the answer, then one that names the
    # tool. A position is the last, because it counts the tools of the request as it was sent.
    if isinstance(bound, BoundOutput):
        output_name = bound.name
    else:
        output_name = None
    names_by_wire_name: Mapping[str, str] = {}
    if isinstance(bound, Bound):
        answer = bound_tools_of(bound).answer
        names_by_wire_name, output_name = (
            bound.names_by_wire_name(),
            None if answer is None else answer.name,
        )
    elif bound is not None and not isinstance(bound, BoundOutput):
        names_by_wire_name = {tool.name: tool.name for tool in bound}
    if place.is_output:
        return output_name or place.tool_name
    if isinstance(bound, BoundOutput) and bound.tool is not None:
        names_by_wire_name = {bound.tool: bound.name}
    if place.tool_name is not None:
        return names_by_wire_name.get(place.tool_name, place.tool_name)
    if place.tool_number is None:
        return None
    if names_by_wire_name:
        names = list(names_by_wire_name.values())
    else:
        names = tool_names_in(facts.request)
    if place.tool_number < len(names):
        return names[place.tool_number]
    return None

"""Reads from the headers, details and message of an error how many seconds to wait before a retry.

The order of the sources is that of the SDKs (openai, anthropic, groq: ``_base_client.py``; botocore:
``retries/standard.py``; Google: ``google.rpc.RetryInfo``), read 2026-11-22.
"""

import datetime
import email.utils
import re
from collections.abc import Mapping

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d{1,12}(?:\.\d{1,12})?(?:ns|us|µs|ms|s|m|h|d)){1,8}")
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)")
_IN_WORDS = re.compile(
    r"(?:try again|retry|reset|wait)\b[^.\d]{0,24}?(?:in|after)\s+"
    r"((?:\d{1,9}(?:\.\d{1,12})?\s?(?:ms|s|m|h)(?![a-z])){1,4}|\d{1,9}(?:\.\d{1,9})?\s+(?:seconds?|minutes?|hours?))",
    re.IGNORECASE,
)
_IN_DETAILS = re.compile(r'"(?:retryDelay|quotaResetDelay)": "([^"]{1,64})"')
_RESETS = re.compile(r"(?:x-ratelimit-reset|anthropic-ratelimit-[a-z-]{1,32}-reset)")
_EPOCH = 1e9  # A larger number is a point in time, not a duration.
_EPOCH_MS = 1e11


def wait_in(headers: Mapping[str, str], details: str, message: str, *, now: float, is_limited: bool) -> float | None:
    """Return the seconds to wait, or ``None`` if the provider names no time.

    Args:
        headers: The response headers, with names in lower case.
        details: The details in the body, as JSON.
        message: The provider's message.
        now: The current time, in seconds since the epoch.
        is_limited: Whether a rate limit was exceeded. Only then do reset times count.
    """
    waits = [_scaled(headers.get("retry-after-ms"), 1e-3), _seconds(headers.get("retry-after"), now)]
    waits.append(_scaled(headers.get("x-amz-retry-after"), 1e-3))
    waits += [_seconds(delay, now) for delay in _IN_DETAILS.findall(details)]
    if match := _IN_WORDS.search(message):
        words = re.sub(r"\s", "", match[1]).lower()
        waits.append(_seconds(re.sub(r"(second|minute|hour)s?", lambda unit: unit[1][0], words), now))
    if is_limited:
        waits.append(_reset(headers, now))
    return next((max(wait, 0.0) for wait in waits if wait is not None), None)


def _reset(headers: Mapping[str, str], now: float) -> float | None:
    """Return when the exhausted limit resets. If the headers do not say which limit is exhausted, return the latest."""
    resets = {name: _seconds(value, now) for name, value in headers.items() if _RESETS.match(name)}
    known = {name: seconds for name, seconds in resets.items() if seconds is not None}
    used_up = [seconds for name, seconds in known.items() if headers.get(name.replace("-reset", "-remaining")) == "0"]
    return max(used_up or known.values(), default=None)


def _scaled(given: str | None, factor: float) -> float | None:
    return (
        float(given) * factor if given is not None and re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", given.strip()) else None
    )


def _seconds(given: str | None, now: float) -> float | None:
    """Parse a number of seconds, a duration (``1m30s``), a date, or a time since the epoch, as seconds from now."""
    text = (given or "").strip()
    if re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", text):
        number = float(text)
        return number / 1000 - now if number > _EPOCH_MS else number - now if number > _EPOCH else number
    if _DURATION.fullmatch(text):
        return sum(float(amount) * _UNITS[unit] for amount, unit in _PIECE.findall(text))
    try:
        if re.match(r"[A-Za-z]{3},", text) and (date := email.utils.parsedate_tz(text)):
            return email.utils.mktime_tz(date) - now
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() - now
    except (ValueError, OverflowError):
        return None

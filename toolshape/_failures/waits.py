"""The headers and the words of an error in; how many seconds to wait before the request is made again, out.

In the order in which the SDKs look (openai, anthropic, groq: ``_base_client.py``; botocore: ``retries/standard.py``;
Google: ``google.rpc.RetryInfo``), read 2026-11-22.
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
_EPOCH = 1e9  # what is over this is a time, not a duration
_EPOCH_MS = 1e11


def wait_in(headers: Mapping[str, str], details: str, message: str, *, now: float, is_limited: bool) -> float | None:
    """Seconds to wait, as the provider says; ``None`` where it does not.

    Args:
        headers: Of the response, with names in lower case.
        details: Of the body, as JSON.
        message: What the provider says in words.
        now: The time, in seconds since the epoch.
        is_limited: Whether a rate was exceeded: only then the times of resets are waits.
    """
    found = [_scaled(headers.get("retry-after-ms"), 1e-3), _seconds(headers.get("retry-after"), now)]
    found.append(_scaled(headers.get("x-amz-retry-after"), 1e-3))
    found += [_seconds(one, now) for one in _IN_DETAILS.findall(details)]
    if one := _IN_WORDS.search(message):
        words = re.sub(r"\s", "", one[1]).lower()
        found.append(_seconds(re.sub(r"(second|minute|hour)s?", lambda unit: unit[1][0], words), now))
    if is_limited:
        found.append(_reset(headers, now))
    return next((max(one, 0.0) for one in found if one is not None), None)


def _reset(headers: Mapping[str, str], now: float) -> float | None:
    """When the rate that is used up is reset; where it is not said which that is, the latest of all."""
    resets = {name: _seconds(value, now) for name, value in headers.items() if _RESETS.match(name)}
    known = {name: seconds for name, seconds in resets.items() if seconds is not None}
    used_up = [seconds for name, seconds in known.items() if headers.get(name.replace("-reset", "-remaining")) == "0"]
    return max(used_up or known.values(), default=None)


def _scaled(given: str | None, factor: float) -> float | None:
    return (
        float(given) * factor if given is not None and re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", given.strip()) else None
    )


def _seconds(given: str | None, now: float) -> float | None:
    """A number of seconds, a duration, a date, or a time since the epoch."""
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

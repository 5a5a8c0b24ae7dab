"""Signs JSON with a key, and opens signed JSON after checking it."""

import hashlib
import hmac
import json
from typing import Any

from toolshape._calls import JsonObject
from toolshape._errors import TokenError, UsageError
from toolshape._identity import canonical_json

_SHORTEST_KEY = 16  # bytes
_LEEWAY = 60.0  # seconds by which clocks of two machines may differ
_SIGNATURE, _ARGUMENTS = b"toolshape token 1\n", b"toolshape arguments 1\n"


def checked_key(key: Any) -> bytes:
    """Return the key as bytes.

    Raises:
        UsageError: The key is too short to be a secret.
    """
    given = _utf8(key) if isinstance(key, str) else key
    if not isinstance(given, (bytes, bytearray)) or len(given) < _SHORTEST_KEY:
        raise UsageError(f"a key is a secret text or bytes, of {_SHORTEST_KEY} bytes or more: secrets.token_bytes(32)")
    return bytes(given)


def _utf8(text: str) -> bytes:
    """Encode a text, including lone surrogates, which JSON may hold and UTF-8 cannot."""
    return text.encode(errors="surrogatepass")


def _mac(key: bytes, purpose: bytes, value: Any) -> str:
    return hmac.new(key, purpose + canonical_json(value).encode(), hashlib.sha256).hexdigest()


def digest(key: bytes, value: Any) -> str:
    """HMAC-SHA256 of a value."""
    return _mac(key, _ARGUMENTS, value)


def signed(content: JsonObject, key: bytes) -> str:
    """Sign a token: its content as canonical JSON, with the signature as one of its members."""
    return canonical_json({**content, "signature": _mac(key, _SIGNATURE, content)})


def opened(token: Any, key: bytes, audience: str, now: float) -> JsonObject:
    """Verify a token's signature, audience and time, and return its content.

    Raises:
        TokenError: The text is not such a token.
    """
    content = _read(token.decode(errors="replace") if isinstance(token, (bytes, bytearray)) else token)
    if content is None:
        raise TokenError("malformed", "this is no token of a paused plan, or not as it was given out")
    signature = content.pop("signature", None)
    expected = _mac(key, _SIGNATURE, content)
    is_ours = isinstance(signature, str) and hmac.compare_digest(_utf8(signature), expected.encode())
    if not is_ours:
        raise TokenError("signature", "the token was changed, or signed with another key")
    if content["audience"] != audience:
        raise TokenError("audience", "the token was given out for another audience")
    if now >= content["expires"]:
        raise TokenError("expired", "the time of the token is over")
    if now < content["issued"] - _LEEWAY:
        raise TokenError("not_yet", "the token was given out later than now: is the clock right?")
    return content


def _read(text: Any) -> JsonObject | None:
    """Parse a text, and require that it is the only way to write its object: each key once, in order, without blanks."""
    try:
        content: Any = json.loads(text)
        return content if isinstance(content, dict) and canonical_json(content) == text else None
    except (TypeError, ValueError, RecursionError):
        return None

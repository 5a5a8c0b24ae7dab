"""Signs the content of a paused plan's token with a key; verifies and reads such tokens."""

import hashlib
import hmac
import json
from typing import Any

from toolshape._records.calls import JsonObject
from toolshape._records.errors import TokenError, UsageError
from toolshape._records.identity import canonical_json

_SHORTEST_KEY = 16  # bytes
_LEEWAY = 60.0  # seconds by which clocks of two machines may differ
_SIGNATURE, _ARGUMENTS = b"toolshape token 1\n", b"toolshape arguments 1\n"


def check_key(key: Any) -> bytes:
    """Check a key, and return it as bytes.

    Raises:
        UsageError: The key is not a string or bytes, or is too short to be a secret.
    """
    key_bytes = _utf8(key) if isinstance(key, str) else key
    if not isinstance(key_bytes, (bytes, bytearray)) or len(key_bytes) < _SHORTEST_KEY:
        raise UsageError(
            f"the key must be a string or bytes of at least {_SHORTEST_KEY} bytes: "
            "create a key with secrets.token_bytes(32)"
        )
    return bytes(key_bytes)


def _utf8(text: str) -> bytes:
    """Encode a string, including lone surrogates, which JSON can hold and strict UTF-8 cannot."""
    return text.encode(errors="surrogatepass")


def _mac(key: bytes, purpose: bytes, value: Any) -> str:
    return hmac.new(key, purpose + canonical_json(value).encode(), hashlib.sha256).hexdigest()


def digest(key: bytes, value: Any) -> str:
    """Return the HMAC-SHA256 of a value."""
    return _mac(key, _ARGUMENTS, value)


def sign(content: JsonObject, key: bytes) -> str:
    """Return a token: the content as canonical JSON, with the signature as an additional key."""
    return canonical_json({**content, "signature": _mac(key, _SIGNATURE, content)})


def open_token(token: Any, key: bytes, audience: str, now: float) -> JsonObject:
    """Verify a token's signature, audience and time, and return its content.

    Raises:
        TokenError: The token is malformed, changed, for another audience or key, expired, or not
            valid yet.
    """
    content = _parse_canonical(
        token.decode(errors="replace") if isinstance(token, (bytes, bytearray)) else token
    )
    if content is None:
        raise TokenError(
            "malformed", "this is not the token of a paused plan, or the token was changed"
        )
    signature = content.pop("signature", None)
    expected = _mac(key, _SIGNATURE, content)
    is_valid = isinstance(signature, str) and hmac.compare_digest(
        _utf8(signature), expected.encode()
    )
    if not is_valid:
        raise TokenError("signature", "the token was changed, or signed with another key")
    if content["audience"] != audience:
        raise TokenError("audience", "the token was issued for another audience")
    if now >= content["expires"]:
        raise TokenError("expired", "the token has expired")
    if now < content["issued"] - _LEEWAY:
        raise TokenError(
            "not_yet", "the token was issued in the future: check the clocks of both machines"
        )
    return content


def _parse_canonical(text: Any) -> JsonObject | None:
    """Parse a token, or return ``None`` if it is not canonical JSON: each key
    once, sorted, without whitespace.
    """
    try:
        content: Any = json.loads(text)
        return content if isinstance(content, dict) and canonical_json(content) == text else None
    except (TypeError, ValueError, RecursionError):
        return None

"""The identity of a call: scope, id, tool, and a digest of its arguments."""

import hashlib
import json
import uuid
from typing import Any, NamedTuple

from toolshape._records.calls import Call


class OutputRef(NamedTuple):
    """The identity of an output: its name, and the fingerprint of what an answer must be."""

    name: str
    fingerprint: str


class Identity(NamedTuple):
    """The identity of a call.

    A paused plan's token is identified like a call, with an empty ``tool``. ``digest`` is the
    digest of the call's arguments in canonical form, before coercion. ``is_lasting`` says whether
    the same call has the same identity when its response is parsed again. It is ``False`` if the
    provider gave no id and the application gave no scope.
    """

    scope: str
    call_id: str
    tool: str
    digest: str
    is_lasting: bool

    @property
    def key(self) -> str:
        """The SHA-256 of the whole identity, as 64 hexadecimal digits."""
        return hashlib.sha256(canonical_json([*self[:4]]).encode()).hexdigest()


def identity_of(call: Call, scope: str | None, unnamed: str | None = None) -> Identity:
    """Return the identity of a call.

    Args:
        call: The call.
        scope: The application's name for where the call was made, such as a conversation and a
            turn, or ``None``.
        unnamed: The scope for a call to which the provider gave no id, if ``scope`` is ``None``.
    """
    if scope is None and has_made_up_id(call):
        scope = unnamed
    is_lasting = scope is not None or not has_made_up_id(call)
    if is_lasting:
        used_scope = scope or ""
    else:
        used_scope = uuid.uuid4().hex
    arguments = call.arguments
    if arguments is None:
        digested = call.arguments_raw
    else:
        digested = arguments
    digest = hashlib.sha256(canonical_json(digested).encode()).hexdigest()
    return Identity(used_scope, call.id, str(call.name), digest, is_lasting)


def has_made_up_id(call: Call) -> bool:
    """Whether the id of a call was derived because the provider gave none; if so,
    ``raw`` does not contain the id.
    """
    escaped_id = json.dumps(call.id, ensure_ascii=False)[1:-1]
    return not call.id or escaped_id not in json.dumps(call.raw, ensure_ascii=False, default=str)


def canonical_json(value: Any) -> str:
    """Return a value as canonical JSON text: no whitespace, sorted keys, only ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)

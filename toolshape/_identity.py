"""A call in; what tells it from all others, and its arguments from others, out."""

import hashlib
import json
import uuid
from typing import Any, NamedTuple

from toolshape._calls import Call


class Identity(NamedTuple):
    """What tells a call from all others.

    ``digest`` is of its arguments in canonical form, before coercion. ``is_lasting`` is whether the same call has the
    same identity when its response is read again: not where neither the provider nor the application named it.
    """

    scope: str
    call_id: str
    tool: str
    digest: str
    is_lasting: bool

    @property
    def key(self) -> str:
        """All of it, as 64 hexadecimal digits."""
        return hashlib.sha256(canonical_json([*self[:4]]).encode()).hexdigest()


def identity_of(call: Call, scope: str | None, unnamed: str | None = None) -> Identity:
    """The identity of a call.

    Args:
        call: The call.
        scope: What the application says of where it was made, as a conversation and a turn; ``None`` if nothing.
        unnamed: The scope instead of none, for a call whose id was made up.
    """
    if scope is None and has_made_up_id(call):
        scope = unnamed
    is_lasting = scope is not None or not has_made_up_id(call)
    where = (scope or "") if is_lasting else uuid.uuid4().hex
    arguments = call.arguments
    given = call.arguments_raw if arguments is None else arguments
    digest = hashlib.sha256(canonical_json(given).encode()).hexdigest()
    return Identity(where, call.id, str(call.name), digest, is_lasting)


def has_made_up_id(call: Call) -> bool:
    """Whether the id of a call was made from the response, as the provider gave none: it is not in what came."""
    written = json.dumps(call.id, ensure_ascii=False)[1:-1]
    return not call.id or written not in json.dumps(call.raw, ensure_ascii=False, default=str)


def canonical_json(value: Any) -> str:
    """JSON in its one form: no space, keys in order, no character beyond ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)

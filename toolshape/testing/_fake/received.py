"""What came over the wire in; the request that it is, or the refusal of what is none, out."""

import json
import re
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from toolshape._calls import JsonObject
from toolshape._wire.provider import Provider
from toolshape._wire.server import Framing, Refusal
from toolshape.testing._fake.speaker import server_of

_NOT_FOUND, _BAD_REQUEST = 404, 400


class Received(NamedTuple):
    """A request: its path, its body with the model in it, the model, and the framing of a stream, if one is asked for.

    ``refusal`` is what is answered where it is no request.
    """

    path: str
    body: JsonObject
    model: str | None = None
    framing: Framing | None = None
    refusal: Refusal | None = None


def received(provider: Provider, method: str, target: str, raw: bytes) -> Received:
    """Read a request.

    Args:
        provider: Who is asked.
        method: HTTP's.
        target: The path and the query.
        raw: The body.
    """
    endpoint, histories = server_of(provider).endpoint, provider.histories
    parts = urlsplit(target)
    place = re.fullmatch(endpoint.path, parts.path)
    if method != "POST" or place is None:
        return Received(parts.path, {}, refusal=Refusal(_NOT_FOUND, f"there is no {method} {parts.path} here"))
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return Received(parts.path, {}, refusal=Refusal(_BAD_REQUEST, f"the body is no JSON: {error}"))
    if not isinstance(body, dict):
        return Received(parts.path, {}, refusal=Refusal(_BAD_REQUEST, "the body is no object"))
    named = place.groupdict()
    key = "model" if histories is None else histories.model_key
    if named.get("model"):
        body.setdefault(key, unquote(named["model"]))
    is_streamed = bool(body.get("stream", endpoint.streams))
    if endpoint.streaming_verb:
        is_streamed = named["verb"] == endpoint.streaming_verb
    pairs = [f"{name}={value}" for name, value in parse_qsl(parts.query)]
    framing: Framing = endpoint.framing
    if endpoint.sse_query and endpoint.sse_query not in pairs:
        framing = "json-array"
    model = body.get(key)
    return Received(parts.path, body, model if isinstance(model, str) else None, framing if is_streamed else None)

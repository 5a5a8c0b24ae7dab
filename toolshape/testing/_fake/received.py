"""Parses an HTTP request to a fake, or explains why it is not a request of the provider."""

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
    """A request: its path, its body including the model, the model, and the framing if it asks for a stream.

    If the HTTP request is invalid, ``refusal`` is the answer.
    """

    path: str
    body: JsonObject
    model: str | None = None
    framing: Framing | None = None
    refusal: Refusal | None = None


def received(provider: Provider, method: str, target: str, raw: bytes) -> Received:
    """Parse a request.

    Args:
        provider: The provider that the fake plays.
        method: The HTTP method.
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
        return Received(parts.path, {}, refusal=Refusal(_BAD_REQUEST, f"the body is not JSON: {error}"))
    if not isinstance(body, dict):
        return Received(parts.path, {}, refusal=Refusal(_BAD_REQUEST, "the body is not a JSON object"))
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

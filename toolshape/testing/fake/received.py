"""What came over the wire in; the request that it is, or the refusal of what is none, out."""

import json
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from toolshape.calls import JsonObject
from toolshape.testing.fake.endpoints import Endpoint
from toolshape.wire.provider import Provider
from toolshape.wire.server import Refusal

__all__ = ["Received", "received"]

_NOT_FOUND, _BAD_REQUEST = 404, 400


class Received(NamedTuple):
    """A request: its path, its body with the model in it, the model, and whether a stream is asked for.

    ``refusal`` is what is answered where it is no request.
    """

    path: str
    body: JsonObject
    model: str | None = None
    is_streamed: bool = False
    refusal: Refusal | None = None


def received(provider: Provider, endpoint: Endpoint, method: str, target: str, raw: bytes) -> Received:
    """Read a request.

    Args:
        provider: Who is asked.
        endpoint: Where.
        method: HTTP's.
        target: The path and the query.
        raw: The body.
    """
    parts = urlsplit(target)
    place = endpoint.path.fullmatch(unquote(parts.path))
    if method != "POST" or place is None:
        return Received(parts.path, {}, refusal=Refusal(_NOT_FOUND, f"there is no {method} {parts.path} here"))
    try:
        body = json.loads(raw)
    except ValueError as error:
        return Received(parts.path, {}, refusal=Refusal(_BAD_REQUEST, f"the body is no JSON: {error}"))
    if not isinstance(body, dict):
        return Received(parts.path, {}, refusal=Refusal(_BAD_REQUEST, "the body is no object"))
    named = place.groupdict()
    key = "model" if provider.histories is None else provider.histories.model_key
    if named.get("model"):
        body.setdefault(key, named["model"])
    is_streamed = bool(body.get("stream", endpoint.streams))
    if endpoint.streaming_verb:
        is_streamed = named["verb"] == endpoint.streaming_verb
    model = body.get(key)
    made = Received(parts.path, body, model if isinstance(model, str) else None, is_streamed)
    is_list = endpoint.framing == "sse" and endpoint.streaming_verb and parse_qs(parts.query).get("alt") != ["sse"]
    if is_streamed and is_list:
        return made._replace(refusal=Refusal(_BAD_REQUEST, "streams are sent as alt=sse here"))
    return made

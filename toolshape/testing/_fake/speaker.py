"""What of a ``Provider`` a fake speaks with, all of it there."""

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from toolshape._calls import JsonObject
from toolshape._errors import UsageError
from toolshape._wire.provider import Provider
from toolshape._wire.server import Completion, Endpoint, ErrorReply, Refusal, RequestRead


class Speaker(NamedTuple):
    """The server's side of a provider."""

    provider: Provider
    endpoint: Endpoint
    read_request: Callable[[JsonObject], RequestRead]
    respond: Callable[[Completion], JsonObject]
    unfold: Callable[[JsonObject], Iterable[JsonObject]]
    error: Callable[[Refusal], ErrorReply]


def speaker_of(provider: Provider) -> Speaker:
    """What a fake of a provider speaks with.

    Raises:
        UsageError: The provider does not say all of it.
    """
    endpoint, read_request, respond = provider.endpoint, provider.read_request, provider.respond
    unfold, error = provider.unfold, provider.error
    if endpoint is None or read_request is None or respond is None or unfold is None or error is None:
        raise UsageError(f"there is no fake of {provider.name}: its Provider does not say how a server answers")
    return Speaker(provider, endpoint, read_request, respond, unfold, error)


def environment(endpoint: Endpoint, url: str) -> dict[str, str]:
    """The variables by which an SDK asks a fake, past any proxy."""
    others = [one for one in os.environ.get("NO_PROXY", "").split(",") if one]
    own = {name: value.format(url=url) for name, value in endpoint.variables.items()}
    return {**own, "NO_PROXY": ",".join([*others, "127.0.0.1"])}

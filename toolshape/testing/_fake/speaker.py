"""Finds the server of a provider, and the variables by which an SDK asks a fake in its place."""

import os

from toolshape._errors import UsageError
from toolshape._wire.provider import Provider
from toolshape._wire.server import Endpoint, Server


def server_of(provider: Provider) -> Server:
    """The server's side of a provider, which a fake speaks.

    Raises:
        UsageError: Its ``Provider`` does not have one.
    """
    if provider.server is None:
        raise UsageError(f"there is no fake of {provider.name}: its Provider does not say how a server answers")
    return provider.server


def environment(endpoint: Endpoint, url: str) -> dict[str, str]:
    """The variables by which an SDK asks a fake, past any proxy."""
    others = [one for one in os.environ.get("NO_PROXY", "").split(",") if one]
    own = {name: value.format(url=url) for name, value in endpoint.variables.items()}
    return {**own, "NO_PROXY": ",".join([*others, "127.0.0.1"])}

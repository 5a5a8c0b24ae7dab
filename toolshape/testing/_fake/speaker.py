"""Finds a provider's server side, and the variables that point its SDK at a fake."""

import os

from toolshape._families.wire.provider import Provider
from toolshape._families.wire.server import Endpoint, Server
from toolshape._records.errors import UsageError


def server_of(provider: Provider) -> Server:
    """Return the server side of a provider, which a fake needs to answer requests.

    Raises:
        UsageError: The ``Provider`` has no ``server``.
    """
    if provider.server is None:
        raise UsageError(f"there is no fake of {provider.name}: its Provider has no server")
    return provider.server


def environment(endpoint: Endpoint, url: str) -> dict[str, str]:
    """Return the environment variables that make an SDK send its
    requests to a fake, without a proxy.
    """
    hosts = [host for host in os.environ.get("NO_PROXY", "").split(",") if host]
    variables = {name: value.format(url=url) for name, value in endpoint.variables.items()}
    return {**variables, "NO_PROXY": ",".join([*hosts, "127.0.0.1"])}

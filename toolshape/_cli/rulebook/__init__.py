"""Tests a provider's rules, each by a request that it refuses and a twin that none refuses."""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._cli.rulebook import (
        endpoint as endpoint,
        keywords as keywords,
        probes as probes,
        verify as verify,
    )
else:  # few commands need them, and one needs an extra.
    __getattr__ = import_later(__name__, "endpoint", "keywords", "probes", "verify")

"""Tests a provider's rules: for each rule, sends a request that the rule refuses
and a twin that no rule refuses.
"""

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

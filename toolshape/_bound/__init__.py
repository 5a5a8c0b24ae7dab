"""Binds tools to a provider: ``Registry`` and ``Bound``, the objects that applications hold.

In: tools and the name of a provider. Out: requests, exports, plans and messages for this provider.
This room only combines the rooms below it; a rule of a provider never belongs here.
"""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._bound import (
        batches as batches,
        bindings as bindings,
        bound as bound,
        past_searches as past_searches,
        search as search,
    )
else:  # an import of toolshape binds nothing, which is a third of it.
    __getattr__ = import_later(__name__, "batches", "bindings", "bound", "past_searches", "search")

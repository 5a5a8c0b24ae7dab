"""Reads and repairs the messages of any provider, and writes them for any other.

In: messages of one provider. Out: the same conversation in another provider's form, with a list of
the repairs. A repair is a named rule in ``repairs/``; the rule's evidence stands with the provider,
in its family.
"""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._history import (
        messages as messages,
        outbound as outbound,
    )
else:  # few programs convert histories, and they take a tenth of the import.
    __getattr__ = import_later(__name__, "messages", "outbound")

"""Makes a tool out of a function or a definition, and compiles its form at one provider.

In: a function or a definition with its options, and a provider. Out: the tool, its record, and its
shape at a provider. To add an option of ``@tool``, or a form of definitions, change this room.
"""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._tools import (
        export as export,
        hook_kinds as hook_kinds,
    )
else:  # an import of toolshape exports and binds nothing.
    __getattr__ = import_later(__name__, "export", "hook_kinds")

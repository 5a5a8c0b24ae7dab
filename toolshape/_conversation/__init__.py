"""Keeps a conversation across providers: its messages, its open turn, and its JSON.

In: messages of users, responses of any provider. Out: the next request for any provider; the stored
conversation. What a stored conversation holds is decided in ``message_json.py``; how messages are
converted, in ``_history``.
"""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._conversation import version_1 as version_1
else:  # few stored conversations are as old.
    __getattr__ = import_later(__name__, "version_1")

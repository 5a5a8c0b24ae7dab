"""Plans the calls of one response, runs them, and holds their states until each call is answered.

In: the reading of a response, and what answers each call. Out: results, and the tokens and ledger
rows that restore them. Every change of a call's state goes through the table in ``state.py``; begin
there.
"""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._plan import (
        once as once,
        pausing as pausing,
        plan as plan,
        results as results,
        resuming as resuming,
        session as session,
        steps as steps,
    )
else:  # few programs pause plans or have a ledger; an import of toolshape dispatches nothing.
    __getattr__ = import_later(
        __name__, "once", "pausing", "plan", "results", "resuming", "session", "steps"
    )

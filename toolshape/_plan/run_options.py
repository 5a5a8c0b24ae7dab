"""The keyword arguments that ``dispatch`` and its variants pass to a run."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias, TypedDict

from toolshape._plan.ledger_store import LedgerStore
from toolshape._records.context import Progress
from toolshape._records.errors import did_you_mean

OnProgress: TypeAlias = Callable[[Progress], object]


class RunOptions(TypedDict, total=False):
    """The keywords of ``dispatch`` and its variants that say how calls run;
    ``Registry.dispatch`` describes them.
    """

    inject: Mapping[str, Any]
    limit: int | None
    on_progress: OnProgress | None
    ledger: LedgerStore | None
    scope: str | None


class ResumeOptions(TypedDict, total=False):
    """The keywords of ``resume`` and ``aresume`` that say how calls run;
    ``Registry.resume`` describes them.
    """

    inject: Mapping[str, Any]
    limit: int | None
    on_progress: OnProgress | None
    context: Any
    output: Any


WITHOUT_LEDGER = frozenset({"inject", "limit", "on_progress"})
"""The options that need no ledger."""


def refuse_unknown(options: Collection[str], known: type[Any] = RunOptions) -> None:
    """Check the names of options, before anything is read or run.

    Raises:
        TypeError: An option does not exist.
    """
    for name in options:
        if name not in known.__annotations__:
            hint = did_you_mean(name, known.__annotations__)
            raise TypeError(f"there is no keyword {name!r}" + (f": {hint}" if hint else ""))

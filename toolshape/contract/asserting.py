"""``assert_contract``: a test that fails where tools have changed otherwise than their lock file says."""

import os
from collections.abc import Iterable
from pathlib import Path

from toolshape.contract.compare import Diff, diff
from toolshape.contract.lock import contract_of, read_lock, written_lock
from toolshape.registry import Registry

__all__ = ["UPDATE", "ContractError", "assert_contract"]

UPDATE = "TOOLSHAPE_UPDATE"
"""The variable of the environment by which lock files are written anew; ``pytest --toolshape-update`` sets it."""


class ContractError(AssertionError):
    """Tools are not what their lock file says; ``diff`` is what has changed."""

    def __init__(self, found: Diff, path: Path) -> None:
        lines = "\n".join(f"  {line}" for line in str(found).splitlines())
        super().__init__(
            f"the tools have changed since {path} was written:\n{lines}\n"
            "Where that is meant, write it anew: pytest --toolshape-update, or toolshape lock."
        )
        self.diff = found


def assert_contract(tools: Registry, path: Path | str, *, providers: Iterable[str] = ()) -> None:
    """Assert that tools are what their lock file says, to the last word.

    Under ``pytest --toolshape-update`` the file is written anew; where there is none, too.

    Args:
        tools: The tools.
        path: The lock file.
        providers: Whom they are locked for, where the file is written; as for ``toolshape lock --to``.

    Raises:
        ContractError: Something has changed; its message lists what, and which calls break.
        UsageError: The file is no lock file.
    """
    place = Path(path)
    is_updated = bool(os.environ.get(UPDATE))
    if is_updated or not place.exists():
        chosen = tuple(providers) or (read_lock(place).providers if place.exists() else ())
        place.write_text(written_lock(contract_of(tools, chosen)), encoding="utf-8")
        if is_updated:
            return
    found = diff(tools, read_lock(place))
    if found:
        raise ContractError(found, place)

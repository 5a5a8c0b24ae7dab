"""``assert_contract``: a test that fails where tools have changed otherwise than their lock file says."""

import os
from collections.abc import Iterable
from pathlib import Path

from toolshape._errors import UsageError
from toolshape._registry import Registry
from toolshape.contract._compare import Diff, diff
from toolshape.contract._lock import contract_of, read_lock, written_lock

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

    Under ``pytest --toolshape-update`` the file is written anew; where there is none, too, so that it is to be
    committed.

    Args:
        tools: The tools.
        path: The lock file.
        providers: Whom they are locked for, where the file is written; as for ``toolshape lock --to``.

    Raises:
        ContractError: Something has changed; its message lists what, and which calls break.
        UsageError: The file is no lock file, cannot be written, or was written for other providers.
    """
    place, chosen = Path(path), tuple(dict.fromkeys(providers))
    is_updated = os.environ.get(UPDATE, "").lower() not in ("", "0", "false", "no", "off")
    if is_updated or not place.exists():
        _write(tools, place, chosen or _providers_of(place))
        if is_updated:
            return
    old = read_lock(place)
    if chosen and set(chosen) != set(old.providers):
        known = ", ".join(old.providers) or "nobody"
        raise UsageError(f"{place} was written for {known}, not for {', '.join(chosen)}: write it anew")
    found = diff(tools, old)
    if found:
        raise ContractError(found, place)


def _providers_of(place: Path) -> tuple[str, ...]:
    """Whom a file was written for; nobody, where it cannot be read."""
    try:
        return read_lock(place).providers
    except UsageError:
        return ()


def _write(tools: Registry, place: Path, providers: tuple[str, ...]) -> None:
    try:
        place.write_text(written_lock(contract_of(tools, providers)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{place} cannot be written: {error.strerror}") from error

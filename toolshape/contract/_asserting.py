"""Fails a test if tools differ from their lock file."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolshape._answers.output import Output
from toolshape._bound.registry import Registry
from toolshape._records.errors import UsageError
from toolshape.contract._compare import Diff, diff
from toolshape.contract._lock import dump_lock, load_lock, make_contract

UPDATE = "TOOLSHAPE_UPDATE"
"""The environment variable that makes ``assert_contract`` update lock files;
``pytest --toolshape-update`` sets it.
"""


class ContractError(AssertionError):
    """Tools differ from their lock file; ``diff`` holds the changes."""

    def __init__(self, found: Diff, path: Path) -> None:
        lines = "\n".join(f"  {line}" for line in str(found).splitlines())
        super().__init__(
            f"the tools have changed since {path} was written:\n{lines}\n"
            "If you intended this, update the file with pytest --toolshape-update or toolshape "
            "lock."
        )
        self.diff = found


def assert_contract(
    tools: Registry,
    path: Path | str,
    *,
    providers: Iterable[str] = (),
    outputs: Iterable[Output[Any]] = (),
) -> None:
    """Assert that tools and outputs match their lock file, including every description.

    If the file does not exist, or if you run ``pytest --toolshape-update``, the function writes it.
    Commit the file.

    Args:
        tools: The tools.
        path: The lock file.
        providers: The providers whose entries the lock file covers, as in ``toolshape lock --to``.
            If you pass none, an updated file keeps its providers.
        outputs: The outputs, as in ``toolshape lock --answer``.

    Raises:
        ContractError: The tools have changed; the message lists the changes and the calls that
            break.
        UsageError: The file is not a lock file, cannot be written, or was written for other
            providers.
    """
    lock_path, chosen_providers, answers = (
        Path(path),
        tuple(dict.fromkeys(providers)),
        list(outputs),
    )
    is_updated = os.environ.get(UPDATE, "").lower() not in ("", "0", "false", "no", "off")
    if is_updated or not lock_path.exists():
        _write(tools, lock_path, chosen_providers or _providers_of(lock_path), answers)
        if is_updated:
            return
    old = load_lock(lock_path)
    if chosen_providers and set(chosen_providers) != set(old.providers):
        locked_providers = ", ".join(old.providers) or "no provider"
        raise UsageError(
            f"{lock_path} was written for {locked_providers}, not for "
            f"{', '.join(chosen_providers)}: update the file"
        )
    changes = diff(tools, old, answers)
    if changes:
        raise ContractError(changes, lock_path)


def _providers_of(place: Path) -> tuple[str, ...]:
    """Return the providers that a lock file covers, or none if the file cannot be read."""
    try:
        return load_lock(place).providers
    except UsageError:
        return ()


def _write(
    tools: Registry, place: Path, providers: tuple[str, ...], outputs: list[Output[Any]]
) -> None:
    try:
        place.write_text(dump_lock(make_contract(tools, providers, outputs)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{place} cannot be written: {error.strerror}") from error

"""``record``: an observer that appends each response to a file, for later."""

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from toolshape._bound import Bound, Seen
from toolshape._errors import ExportError, UsageError
from toolshape.trace._line import has_failed, line_of
from toolshape.trace._privacy import Pattern, split_patterns


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorder:
    """Appends responses to ``path``; give it to ``Registry.around``, or to ``evaluate`` as ``record=``.

    Every line is written at once and under a lock of the file, so that threads and processes may share it, and a
    process that dies loses no more than the line that it is writing; on Windows, where there is no such lock here, give
    each process a file of its own.
    """

    path: Path
    keep: Literal["failed", "all"]
    redact: tuple[Pattern, ...]

    def observe(self, bound: Bound, seen: Seen) -> None:
        """Append a response, if it is one to be kept.

        Raises:
            OSError: The file cannot be written.
            UsageError: A redacted place is none of its tool; nothing was written.
        """
        if self.keep == "all" or has_failed(seen):
            line = line_of(bound, seen, self.redact)
            _keep_definitions(self.path, bound)
            _append(self.path, line)


def record(
    path: str | os.PathLike[str], *, keep: Literal["failed", "all"] = "failed", redact: Iterable[str] = ()
) -> Recorder:
    """Record responses and what became of their calls: ``tools.around(record("calls.jsonl"))``.

    One line of JSON a response: the body as it came, provider, model, the id of the request, strictness, the
    fingerprint of the tools (their definitions stand once in the folder ``<path>.tools``), and of each call what its
    function got, coercions, error and time. Values in places that a schema marks as secret are left out, and injected
    values are never part of it. Where a tool has such places, the calls are kept and not what stands beside them, as a
    model may repeat there what it read; of that tool, arguments that cannot be read are kept as their length and hash.

    Args:
        path: A file, which is made if there is none; only its owner may read it.
        keep: ``"failed"`` keeps responses that could not be read, or of which a call was refused or failed; in an
            evaluation, also those of cases that are not right. ``"all"`` keeps every one.
        redact: More places to be left out, as ``"pay.card.number"`` or, of every tool that has it, ``"*.email"``; items
            of lists are passed over.

    Raises:
        UsageError: ``keep`` or a place is not of this form.
    """
    given: Any = keep
    if given not in ("failed", "all"):
        raise UsageError(f'keep= is "failed" or "all", not {keep!r}')
    if isinstance(redact, str):
        raise UsageError(f"redact= takes several places: write [{redact!r}]")
    return Recorder(path=Path(path).absolute(), keep=keep, redact=split_patterns(redact))


def definitions_path(path: Path, fingerprint: str) -> Path:
    """Where the definitions of the tools stand that a line names by their fingerprint."""
    return path.with_name(f"{path.name}.tools") / f"{fingerprint}.json"


def _keep_definitions(path: Path, bound: Bound) -> None:
    """Write what the provider is sent of the tools, once; at any moment the file is whole, or not there."""
    place = definitions_path(path, bound.fingerprint)
    if place.exists():
        return
    try:
        exported = bound.export()
    except ExportError:  # more than a request holds: a part of them was sent
        exported = []
    text = json.dumps({"provider": bound.provider.name, "strict": bound.strict, "tools": exported}, default=str)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=place.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    Path(file.name).replace(place)


def _append(path: Path, line: bytes) -> None:
    """Append a line, under the file's lock; a piece of a line that a process has left there is ended before it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        if sys.platform != "win32":
            import fcntl  # noqa: PLC0415 - not on Windows

            fcntl.flock(file, fcntl.LOCK_EX)  # closing it ends the lock
        size = os.lseek(file, 0, os.SEEK_END)
        if size:
            os.lseek(file, size - 1, os.SEEK_SET)
            line = line if os.read(file, 1) == b"\n" else b"\n" + line
        while line:
            line = line[os.write(file, line) :]
    finally:
        os.close(file)

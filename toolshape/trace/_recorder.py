"""Appends responses to a trace file, as an observer."""

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from toolshape._bound.bound import Bound, ObservedResponse
from toolshape._records.errors import ExportError, UsageError
from toolshape.trace._line import has_failed, line_of
from toolshape.trace._privacy import Pattern, split_patterns


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorder:
    """Appends responses to ``path``.

    Pass it to ``Registry.observe``, or to ``evaluate`` as ``record=``.

    Each line is written immediately, under a file lock. So threads and processes may share a file,
    and a process that dies loses at most the line that it is writing. On Windows there is no lock:
    give each process its own file.
    """

    path: Path
    keep: Literal["failed", "all"]
    redact: tuple[Pattern, ...]

    def observe(self, bound: Bound, seen: ObservedResponse) -> None:
        """Append a response, if ``keep`` selects it.

        Raises:
            OSError: The file cannot be written.
            UsageError: ``redact`` names a field that its tool does not have. Nothing is written.
        """
        if self.keep == "all" or has_failed(seen):
            line = line_of(bound, seen, self.redact)
            _write_definitions(self.path, bound)
            _append(self.path, line)


def record_to(
    path: str | os.PathLike[str],
    *,
    keep: Literal["failed", "all"] = "failed",
    redact: Iterable[str] = (),
) -> Recorder:
    """Record responses and the outcomes of their calls:
    ``tools.observe(record_to("calls.jsonl"))``.

    Each response becomes one line of JSON: the body, provider, model, request id, strictness, and
    the fingerprint of the tools. The folder ``<path>.tools`` holds each set of tool definitions
    once. For each call, the line holds the arguments that the function received, the coercions, the
    error, and how long it took. Injected values are never recorded.

    Values that a schema marks as secret are left out. If any tool has secret values, the line holds
    the calls instead of the body: a model may repeat a secret in the text around a call. If the
    arguments of a tool with secret values cannot be read, only their length and hash are recorded.

    Args:
        path: The file. If the file does not exist, it is created, and only its owner can read it.
        keep: ``"failed"`` keeps unreadable responses, and responses with a call that was rejected
            or failed. In an evaluation, it also keeps the responses whose verdict is not right.
            ``"all"`` keeps every response.
        redact: Further places to leave out, for example ``"pay.card.number"``, or ``"*.email"`` for
            every tool with this field. Omit list indexes: a path holds only the names of fields.

    Raises:
        UsageError: ``keep`` or a place in ``redact`` is invalid.
    """
    keep_value: Any = keep
    if keep_value not in ("failed", "all"):
        raise UsageError(f'keep= must be "failed" or "all", not {keep!r}')
    if isinstance(redact, str):
        raise UsageError(f"redact= must be a list of places: write [{redact!r}]")
    return Recorder(path=Path(path).absolute(), keep=keep, redact=split_patterns(redact))


def definitions_path(path: Path, fingerprint: str) -> Path:
    """Return the path of the file with the tool definitions that have this fingerprint."""
    return path.with_name(f"{path.name}.tools") / f"{fingerprint}.json"


def _write_definitions(path: Path, bound: Bound) -> None:
    """Write the tool definitions once, in the provider's form.

    Renaming a temporary file makes the write atomic.
    """
    definitions_file = definitions_path(path, bound.fingerprint)
    if definitions_file.exists():
        return
    try:
        exported = bound.export()
    except ExportError:
        # There are more tools than a request can hold, so only some of them were sent.
        exported = []
    text = json.dumps(
        {"provider": bound.provider.name, "strict": bound.strict, "tools": exported}, default=str
    )
    definitions_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", dir=definitions_file.parent, delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
    Path(file.name).replace(definitions_file)


def _append(path: Path, line: bytes) -> None:
    """Append a line under a file lock.

    If a process died while writing, the file ends in an incomplete line. In that case, write a line
    break first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        if sys.platform != "win32":
            import fcntl  # noqa: PLC0415 - not on Windows

            fcntl.flock(file, fcntl.LOCK_EX)  # Closing the file releases the lock.
        size = os.lseek(file, 0, os.SEEK_END)
        if size:
            os.lseek(file, size - 1, os.SEEK_SET)
            line = line if os.read(file, 1) == b"\n" else b"\n" + line
        while line:
            line = line[os.write(file, line) :]
    finally:
        os.close(file)

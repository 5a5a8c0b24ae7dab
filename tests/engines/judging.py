"""Says of an engine and a schema: is it accepted, are invalid texts refused, are valid ones let through?"""

import multiprocessing
import signal
from collections.abc import Callable
from typing import Any, NamedTuple

from matchers import Compile, Matcher
from schemas_and_texts import Case, split, texts

LONGEST = 60  # seconds of one case, after which it is stopped
SHOWN = 4  # how many texts a finding names


class Finding(NamedTuple):
    """What an engine does with a schema.

    ``accepted`` is false if the engine refuses the schema, also by refusing it in the middle of every valid answer.
    ``leaked`` are invalid texts that it lets through, and ``refused`` are valid ones that it does not; ``kept`` is
    ``None`` if the schema was refused, or no instance breaks it.
    """

    accepted: bool
    kept: bool | None = None
    leaked: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"accepted": self.accepted, "kept": self.kept, "refuses_valid": bool(self.refused)}


def judge(compile_schema: Compile, case: Case) -> Finding:
    """Walk an engine's matcher over the instances of a case."""
    try:
        matcher = compile_schema(case.schema)
    except Exception as error:  # engines raise what they like
        return Finding(accepted=False, note=_short(error))
    errors: list[str] = []
    valid, invalid = split(case)
    leaked = [text for text in (_passed(matcher, one, errors) for one in invalid) if text]
    refused = [texts(one)[0] for one in valid if not _passed(matcher, one, errors)]
    is_refused = bool(errors) and len(refused) == len(valid)
    if is_refused and not leaked:
        return Finding(accepted=False, note=errors[0])
    return Finding(
        accepted=not is_refused,
        kept=not leaked if invalid else None,
        leaked=tuple(map(_short, leaked[:SHOWN])),
        refused=tuple(map(_short, refused[:SHOWN])),
        note=errors[0] if errors else "",
    )


def _passed(matcher: Matcher, instance: Any, errors: list[str]) -> str:
    """The first text of an instance that an engine lets through, else an empty string."""
    for text in texts(instance):
        try:
            if matcher(text):
                return text
        except Exception as error:  # some refuse a schema only here
            errors.append(_short(error))
    return ""


def _short(said: object) -> str:
    words = str(said) or repr(said)
    return words if len(words) <= 160 else f"{words[:160]}… ({len(words)})"


def apart(work: Callable[[], Finding]) -> Finding:
    """Judge in a process of its own, for engines can crash and can take forever."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=lambda: writer.send(work()))
    process.start()
    writer.close()
    try:
        has_answered = reader.poll(LONGEST)
        found = reader.recv() if has_answered else None
    except EOFError:
        process.join()
        return Finding(accepted=False, note=f"crashed: {_ending(process.exitcode or 0)}")
    finally:
        process.kill()
        process.join()
    return found or Finding(accepted=False, note=f"took longer than {LONGEST} s")


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"status {code}"

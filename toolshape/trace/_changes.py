"""Compares a recorded call with its replay."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._bound.registry import Registry
from toolshape._records.calls import JsonObject
from toolshape._records.errors import ToolshapeError, UsageError
from toolshape._records.shown import escape_invisible, shorten
from toolshape._schema.places import location_of
from toolshape._schema.secrets import MASKED
from toolshape._schema.values import WrittenSet, is_same_value, scalars
from toolshape.trace._privacy import Hidden, hidden_of, known_path, mask_arguments, split_patterns
from toolshape.trace._stages import RecordedResponse, Stages, compute_stages

ChangeKind: TypeAlias = Literal[
    "now_unreadable", "now_readable", "other_calls", "other_tool", "now_refused", "now_accepted",
    "other_value",
    "other_coercion", "other_error",
]  # fmt: skip
_MISSING = object()
_MOST_PATHS = 3
_REGRESSIONS = frozenset(
    {"now_unreadable", "other_calls", "other_tool", "now_refused", "other_value"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A difference between a recorded call and its replay.

    ``line`` counts the lines of the trace from 1. ``call`` counts the calls of the response from 0,
    and is -1 for the response as a whole. ``paths`` are the places in the arguments that differ.
    ``before`` is the recorded side, and ``after`` is the replayed side. Depending on ``kind``, they
    hold the arguments that the function receives, the errors, the coercion rules, the tools, or the
    numbers of calls. ``stages`` holds the stages of the replayed call.
    """

    kind: ChangeKind
    line: int
    call: int
    tool: str
    provider: str
    model: str | None
    before: Any
    after: Any
    paths: tuple[str, ...] = ()
    stages: Stages | None = None

    @property
    def is_regression(self) -> bool:
        """Whether a call that used to work now fails or works differently."""
        return self.kind in _REGRESSIONS

    def __str__(self) -> str:
        if self.tool:
            where = f"line {self.line}, {self.tool}"
        else:
            where = f"line {self.line}"
        source = f" ({self.provider}{f', {self.model}' if self.model else ''})"
        return f"{where}{source}: {_sentence(self)}"

    def as_json(self) -> JsonObject:
        """Convert the change to JSON."""
        members = {
            name: getattr(self, name)
            for name in ("kind", "line", "call", "tool", "provider", "model")
        }
        members |= {"is_regression": self.is_regression, "before": self.before, "after": self.after}
        return {
            **members,
            "paths": list(self.paths),
            "stages": None if self.stages is None else self.stages.as_json(),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """The comparison of one recorded response: its changes, the number of calls,
    and how many were not compared.
    """

    changes: tuple[Change, ...]
    calls: int
    not_compared: int


def compare_response(recorded: RecordedResponse, tools: Registry) -> Compared:
    """Compare a recorded response with its replay."""
    try:
        replayed = compute_stages(recorded, tools)
    except ToolshapeError as error:
        if recorded.error or isinstance(error, UsageError):
            return Compared(changes=(), calls=0, not_compared=len(recorded.outcome))
        before = f"{len(recorded.outcome)} calls"
        change = _make_change(recorded, "now_unreadable", -1, "", before, str(error))
        return Compared(changes=(change,), calls=len(recorded.outcome), not_compared=0)
    if recorded.error:
        has_response = recorded.response is not None
        change = _make_change(
            recorded, "now_readable", -1, "", recorded.error, f"{len(replayed)} calls"
        )
        return Compared(
            changes=(change,) if has_response else (), calls=0, not_compared=int(not has_response)
        )
    if len(replayed) != len(recorded.outcome):
        change = _make_change(recorded, "other_calls", -1, "", len(recorded.outcome), len(replayed))
        return Compared(changes=(change,), calls=len(recorded.outcome), not_compared=0)
    patterns = split_patterns(recorded.redact)
    changes: list[Change] = []
    not_compared = 0
    for position, stages in enumerate(replayed):
        # An answer cannot be compared: the registry does not hold its output.
        if recorded.outcome[position].get("is_answer"):
            not_compared += 1
            continue
        if stages.resolved is None:
            hidden = None
        else:
            hidden = _find_hidden(tools, stages.resolved, patterns)
        call_changes = _compare_call(recorded, position, stages, hidden)
        not_compared += call_changes is None
        changes += call_changes or ()
    return Compared(changes=tuple(changes), calls=len(replayed), not_compared=not_compared)


def _sentence(change: Change) -> str:
    """Describe what changed and why.

    The reason for an error is never shortened, because the reader looks for it.
    """
    before, after = change.before, change.after
    match change.kind:
        case "now_unreadable":
            sentence = f"the response was read, and now cannot be read: {_one_line(after)}"
        case "now_readable":
            sentence = f"the response could not be read ({_one_line(before)}), and now has {after}"
        case "other_calls":
            sentence = f"the response had {before} calls, and now has {after}"
        case "other_tool":
            sentence = f"the call went to {before}, and now goes to {after}"
        case "now_refused":
            reason = _one_line(after)
            sentence = (
                f"the call was accepted, and is now refused: {reason} Its arguments were "
                f"{shorten(before)}."
            )
        case "now_accepted":
            sentence = (
                f"the call was refused ({_describe_error(before)}), and is now accepted with "
                f"{shorten(after)}"
            )
        case "other_value":
            values = (_describe_path(change, path) for path in change.paths[:_MOST_PATHS])
            more = (
                f"; and {len(change.paths) - _MOST_PATHS} more"
                if len(change.paths) > _MOST_PATHS
                else ""
            )
            sentence = f"the function now receives other arguments: {'; '.join(values)}{more}"
        case "other_coercion":
            sentence = (
                f"other coercions lead to the same arguments: {_coercions_text(before)} before, "
                f"{_coercions_text(after)} now"
            )
        case "other_error":
            sentence = (
                f"the call is still refused, but with another error: {_describe_error(before)} "
                f"before, {_describe_error(after)} now"
            )
    return sentence


def _one_line(text: Any) -> str:
    return escape_invisible(" ".join(str(text).split()))


def _describe_error(error: Any) -> str:
    """Return the code of an error, with the place and the rule of each problem."""
    if not isinstance(error, dict):
        return shorten(error)
    problems = ", ".join(f"{path or 'the arguments'}: {rule}" for path, rule in error["problems"])
    return escape_invisible(f"{error['code']}, {problems}" if problems else str(error["code"]))


def _coercions_text(coercions: Iterable[tuple[str, str]]) -> str:
    return (
        escape_invisible(
            ", ".join(f"{path or 'the arguments'}: {rule}" for path, rule in coercions)
        )
        or "none"
    )


def _describe_path(change: Change, path: str) -> str:
    """Describe how the value at a path has changed."""
    values = []
    for value in (change.before, change.after):
        for step in location_of(path):
            try:
                value = value[step]  # noqa: PLW2901 - walks down
            except (KeyError, IndexError, TypeError):  # the path is new, or holds a name with a dot
                value = _MISSING  # noqa: PLW2901 - walks down
                break
        values.append("missing" if value is _MISSING else shorten(value))
    return f"{escape_invisible(path) or 'the arguments'} was {values[0]}, and is {values[1]}"


def _find_hidden(tools: Registry, name: str, patterns: Any) -> Hidden:
    try:
        return hidden_of(tools[name], patterns)
    except UsageError:  # The redacted field no longer exists.
        return hidden_of(tools[name], ())


def _make_change(
    recorded: RecordedResponse,
    kind: ChangeKind,
    call: int,
    tool: str,
    before: Any,
    after: Any,
    **more: Any,
) -> Change:
    shared_fields = {
        "provider": recorded.provider,
        "model": recorded.model,
        "before": before,
        "after": after,
    }
    return Change(kind=kind, line=recorded.number, call=call, tool=tool, **shared_fields, **more)


def _compare_call(
    recorded: RecordedResponse, at: int, now: Stages, own: Hidden | None
) -> Sequence[Change] | None:
    """Return the changes of a call, or ``None`` if the trace does not hold
    enough of the call to compare.
    """
    if now.result.get("edited") or _is_unknown(now, own):
        return None
    tool = now.result["tool"] or now.result["wire_name"]
    change = _difference(now.result, now, own)
    if change is None:
        return ()
    return [
        _make_change(
            recorded,
            change.kind,
            at,
            tool,
            change.before,
            change.after,
            paths=tuple(change.paths),
            stages=now,
        )
    ]


def _is_unknown(now: Stages, own: Hidden | None) -> bool:
    """Return whether the trace holds too little of the arguments to tell what changed.

    The recorder replaced hidden values with stand-ins, which may be invalid. So if every problem in
    the replay is at a hidden or unknown place, the stand-ins may be the cause.
    """
    if now.is_whole:
        return False
    if now.canonical is None or now.result["arguments"] is None:
        return True
    if own is None or now.refused is None or not now.refused.problems:
        return False
    return all(
        not known_path(problem.path, own) or own.hides_path(problem.path)
        for problem in now.refused.problems
    )


class _Differing(NamedTuple):
    kind: ChangeKind
    before: Any
    after: Any
    paths: Iterable[str] = ()


def _difference(then: JsonObject, now: Stages, own: Hidden | None) -> _Differing | None:
    if now.resolved is not None and then["tool"] is not None and now.resolved != then["tool"]:
        return _Differing("other_tool", then["tool"], now.resolved)
    recorded_arguments, current_arguments = (
        then["arguments"],
        now.validated if own is None else mask_arguments(now.validated, own),
    )
    problems = _problems(now, own)
    if recorded_arguments is not None and now.refused is not None:
        return _Differing(
            "now_refused",
            recorded_arguments,
            _describe_refusal(now),
            [path for path, _ in problems],
        )
    if recorded_arguments is None and now.refused is None:
        return _Differing("now_accepted", then.get("error"), current_arguments)
    if now.refused is not None:
        before = then["error"]
        is_same_error = (
            before["code"] == now.refused.code and [*map(tuple, before["problems"])] == problems
        )
        after = {"code": now.refused.code, "problems": problems}
        return None if is_same_error else _Differing("other_error", before, after)
    paths = list(_find_differences(recorded_arguments, current_arguments))
    # The trace records only the names that the schema knows.
    if own is not None and not now.is_whole:
        paths = [path for path in paths if known_path(path, own)]
    if paths:
        return _Differing("other_value", recorded_arguments, current_arguments, paths)
    before, current_coercions = _coercions(then, now, own)
    return (
        None
        if current_coercions == before
        else _Differing("other_coercion", before, current_coercions)
    )


def _coercions(
    then: JsonObject, now: Stages, own: Hidden | None
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the places and rules of the recorded and the replayed coercions,
    as far as they can be compared.
    """
    rules = [
        (path if own is None else known_path(path, own), rule) for path, rule, *_ in now.coerced
    ]
    before = [(path, rule) for path, rule in then["coercions"]]
    # The call began, but no coercion was recorded.
    if then.get("error", {}).get("code") == "cancelled":
        return rules, rules
    if own is None or now.is_whole:
        return before, rules
    # The stand-in of a hidden value may be coerced differently.
    before, rules = (
        [entry for entry in entries if entry[0] and not own.hides_path(entry[0])]
        for entries in (before, rules)
    )
    return before, rules


def _describe_refusal(now: Stages) -> str:
    """Describe why the replay rejects the call.

    If a validator crashed, leave out the reference to the log.
    """
    assert now.refused is not None  # noqa: S101 - only called for rejected calls
    if now.refused.reference:
        return now.refused.code
    return str(now.refused)


def _problems(now: Stages, own: Hidden | None) -> list[tuple[str, str]]:
    problems = () if now.refused is None else now.refused.problems
    return [
        (problem.path if own is None else known_path(problem.path, own), problem.rule)
        for problem in problems
    ]


def _find_differences(then: Any, now: Any, path: str = "") -> Iterator[str]:
    """Yield the places where two JSON values differ. A masked value equals any value."""
    # If hidden items of a set had equal stand-ins, the set now holds only one of these items.
    if MASKED in (then, now) or (isinstance(now, WrittenSet) and MASKED in scalars(then)):
        return
    if isinstance(then, dict) and isinstance(now, dict):
        # Different keys may stand for the same value.
        if then.keys() != now.keys() and is_same_value(then, now):
            return
        for name in dict.fromkeys((*then, *now)):
            place = f"{path}.{name}" if path else str(name)
            if name not in then or name not in now:
                yield place
            else:
                yield from _find_differences(then[name], now[name], place)
    elif isinstance(then, list) and _is_list(now) and len(then) == len(now):
        for number, (old, new) in enumerate(zip(then, now, strict=True)):
            yield from _find_differences(old, new, f"{path}[{number}]")
    elif not is_same_value(then, now):
        yield path


def _is_list(now: Any) -> bool:
    """Return whether a value is a list in which the order matters.

    Items of a set have no positions to compare.
    """
    return isinstance(now, list) and not isinstance(now, WrittenSet)

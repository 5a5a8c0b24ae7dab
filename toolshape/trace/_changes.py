"""A recorded call and what becomes of it today in; what changed, out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._calls import JsonObject, shortened
from toolshape._errors import ToolshapeError, UsageError
from toolshape._registry import Registry
from toolshape._schema.values import WrittenSet, is_same_value, scalars
from toolshape._validation.lookup import MASKED
from toolshape.trace._privacy import Hidden, hidden_of, known_path, masked, split_patterns
from toolshape.trace._stages import Recorded, Stages, stages

ChangeKind: TypeAlias = Literal[
    "now_unreadable", "now_readable", "other_calls", "other_tool", "now_refused", "now_accepted", "other_value",
    "other_coercion", "other_error",
]  # fmt: skip
_REGRESSIONS = frozenset({"now_unreadable", "other_calls", "other_tool", "now_refused", "other_value"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What became of a recorded call then, and what becomes of it now.

    ``line`` counts the lines of the trace from 1, ``call`` the calls of the response from 0; ``call`` is -1 for the
    response as a whole. ``paths`` are the arguments that differ. ``before`` and ``after`` are what the function got and
    would get, the errors, the rules of the coercions, the tools, or how many calls there are. ``stages`` are those of
    the call today.
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
        """Whether what worked does not, or works otherwise."""
        return self.kind in _REGRESSIONS

    def __str__(self) -> str:
        where = f"line {self.line}, {self.tool}" if self.tool else f"line {self.line}"
        asked = f" ({self.provider}{f', {self.model}' if self.model else ''})"
        place = f" at {', '.join(self.paths)}" if self.paths else ""
        said = f"{shortened(self.before)} -> {shortened(self.after)}"
        return f"{where}{asked}: {self.kind.replace('_', ' ')}{place}: {said}"

    def as_json(self) -> JsonObject:
        """The change as JSON."""
        found = {name: getattr(self, name) for name in ("kind", "line", "call", "tool", "provider", "model")}
        found |= {"is_regression": self.is_regression, "before": self.before, "after": self.after}
        return {**found, "paths": list(self.paths), "stages": None if self.stages is None else self.stages.as_json()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """What a recorded response has become: its changes, and how many of its calls could be compared, and how many not."""

    changes: tuple[Change, ...]
    calls: int
    not_compared: int


def compared(one: Recorded, tools: Registry) -> Compared:
    """Compare a recorded response with what becomes of it today."""
    try:
        found = stages(one, tools)
    except ToolshapeError as error:
        if one.error or isinstance(error, UsageError):
            return Compared(changes=(), calls=0, not_compared=len(one.outcome))
        before = f"{len(one.outcome)} calls"
        change = _change(one, "now_unreadable", -1, "", before, str(error))
        return Compared(changes=(change,), calls=len(one.outcome), not_compared=0)
    if one.error:
        is_kept = one.response is not None
        change = _change(one, "now_readable", -1, "", one.error, f"{len(found)} calls")
        return Compared(changes=(change,) if is_kept else (), calls=0, not_compared=int(not is_kept))
    if len(found) != len(one.outcome):
        change = _change(one, "other_calls", -1, "", len(one.outcome), len(found))
        return Compared(changes=(change,), calls=len(one.outcome), not_compared=0)
    patterns = split_patterns(one.redact)
    changes: list[Change] = []
    not_compared = 0
    for at, now in enumerate(found):
        own = None if now.resolved is None else _hidden(tools, now.resolved, patterns)
        of_call = _of_call(one, at, now, own)
        not_compared += of_call is None
        changes += of_call or ()
    return Compared(changes=tuple(changes), calls=len(found), not_compared=not_compared)


def _hidden(tools: Registry, name: str, patterns: Any) -> Hidden:
    try:
        return hidden_of(tools[name], patterns)
    except UsageError:  # the field that was redacted is no longer there
        return hidden_of(tools[name], ())


def _change(one: Recorded, kind: ChangeKind, call: int, tool: str, before: Any, after: Any, **more: Any) -> Change:
    given = {"provider": one.provider, "model": one.model, "before": before, "after": after}
    return Change(kind=kind, line=one.number, call=call, tool=tool, **given, **more)


def _of_call(one: Recorded, at: int, now: Stages, own: Hidden | None) -> Sequence[Change] | None:
    """What changed of a call; ``None`` where too little of it was kept to tell."""
    if _is_unknown(now, own):
        return None
    tool = now.result["tool"] or now.result["wire_name"]
    found = _difference(now.result, now, own)
    if found is None:
        return ()
    return [_change(one, found.kind, at, tool, found.before, found.after, paths=tuple(found.paths), stages=now)]


def _is_unknown(now: Stages, own: Hidden | None) -> bool:
    """Whether too little was kept of the arguments to tell what has changed.

    Where something stands for what is hidden, a call that was refused is refused for other reasons, and one that was
    accepted may be refused for that.
    """
    if now.is_whole:
        return False
    if now.canonical is None or now.result["arguments"] is None:
        return True
    if own is None or now.refused is None or not now.refused.problems:
        return False
    return all(not known_path(one.path, own) or own.hides_path(one.path) for one in now.refused.problems)


class _Differing(NamedTuple):
    kind: ChangeKind
    before: Any
    after: Any
    paths: Iterable[str] = ()


def _difference(then: JsonObject, now: Stages, own: Hidden | None) -> _Differing | None:
    if now.resolved is not None and then["tool"] is not None and now.resolved != then["tool"]:
        return _Differing("other_tool", then["tool"], now.resolved)
    got, gets = then["arguments"], now.validated if own is None else masked(now.validated, own)
    problems = _problems(now, own)
    if got is not None and now.refused is not None:
        return _Differing("now_refused", got, _said(now), [path for path, _ in problems])
    if got is None and now.refused is None:
        return _Differing("now_accepted", then.get("error"), gets)
    if now.refused is not None:
        before = then["error"]
        is_same_error = before["code"] == now.refused.code and [*map(tuple, before["problems"])] == problems
        after = {"code": now.refused.code, "problems": problems}
        return None if is_same_error else _Differing("other_error", before, after)
    paths = list(_differing(got, gets))
    if own is not None and not now.is_whole:  # a name that the schema does not know was not kept
        paths = [one for one in paths if known_path(one, own)]
    if paths:
        return _Differing("other_value", got, gets, paths)
    before, rules = _coercions(then, now, own)
    return None if rules == before else _Differing("other_coercion", before, rules)


def _coercions(
    then: JsonObject, now: Stages, own: Hidden | None
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The places and rules of the coercions then and now, as far as they can be compared."""
    rules = [(path if own is None else known_path(path, own), rule) for path, rule, *_ in now.coerced]
    before = [(path, rule) for path, rule in then["coercions"]]
    if then.get("error", {}).get("code") == "cancelled":  # it began, and nothing was kept of how
        return rules, rules
    if own is None or now.is_whole:
        return before, rules
    # What stands for a hidden value is not coerced as that was.
    before, rules = ([one for one in each if one[0] and not own.hides_path(one[0])] for each in (before, rules))
    return before, rules


def _said(now: Stages) -> str:
    """Why a call is refused, without the reference under which a crash was logged."""
    assert now.refused is not None  # noqa: S101 - asked for of refused calls alone
    return now.refused.code if now.refused.reference else str(now.refused)


def _problems(now: Stages, own: Hidden | None) -> list[tuple[str, str]]:
    found = () if now.refused is None else now.refused.problems
    return [(one.path if own is None else known_path(one.path, own), one.rule) for one in found]


def _differing(then: Any, now: Any, path: str = "") -> Iterator[str]:
    """The places where two JSON values differ; a hidden one is like any."""
    if MASKED in (then, now) or (isinstance(now, WrittenSet) and MASKED in scalars(then)):
        return  # of a set, equal stand-ins for hidden items are one item
    if isinstance(then, dict) and isinstance(now, dict):
        if then.keys() != now.keys() and is_same_value(then, now):  # keys may be values with several texts
            return
        for name in dict.fromkeys((*then, *now)):
            place = f"{path}.{name}" if path else str(name)
            if name not in then or name not in now:
                yield place
            else:
                yield from _differing(then[name], now[name], place)
    elif isinstance(then, list) and _is_list(now) and len(then) == len(now):
        for number, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from _differing(one, other, f"{path}[{number}]")
    elif not is_same_value(then, now):
        yield path


def _is_list(now: Any) -> bool:
    """Whether a value has items in an order; of a set none is in the place of another."""
    return isinstance(now, list) and not isinstance(now, WrittenSet)

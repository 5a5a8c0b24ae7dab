"""Compares two contracts: says what each change breaks, with a call that shows it."""

import contextlib
import itertools
import json
import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic_core import SchemaError

from toolshape._bound import bound_tools_of
from toolshape._calls import JsonObject, JsonSchema, shortened
from toolshape._errors import CallError
from toolshape._registry import Registry, lenient
from toolshape._schema.generate import generated
from toolshape._validation.coercion import chosen_rules
from toolshape.contract._differences import Step, differences, with_names
from toolshape.contract._inclusion import Proof, is_same_json, marked
from toolshape.contract._lock import Contract, Locked, contract_of
from toolshape.contract._renaming import Renaming, renamed_tools, with_renamings
from toolshape.contract._validators import Formats, admission, refused_at
from toolshape.contract._witness import SpentError, Tries, candidates

Level: TypeAlias = Literal["breaking", "unknown", "behaviour", "compatible"]
LEVELS: tuple[Level, ...] = ("breaking", "unknown", "behaviour", "compatible")
Refuses: TypeAlias = Callable[[JsonObject], Collection[str]]
"""The paths at which arguments are refused; none where they are taken."""
_WORDS = frozenset({"default", "deprecated", "description", "examples", "order", "title"})
_OTHER_TYPE = frozenset({"allOf", "anyOf", "format", "oneOf", "schema", "type"})
"""Keywords whose change may make a type of another, which refuses more than its schema says."""
_UNSAID = ("contentSchema", "discriminator", "format")
"""Keywords that JSON Schema does not check, and types do."""
_MOST_TRIED, _MOST_ASKED, _SEEDS = 3_000, 200, 3


class Change(NamedTuple):
    """One thing that has changed of a tool.

    ``kind`` is the keyword of JSON Schema, or what happened: ``tool_added``, ``tool_removed``, ``tool_renamed``,
    ``parameter_added``, ``parameter_removed``, ``parameter_renamed``, ``description``, ``default``, ``default_added``,
    ``default_removed``, ``title``, ``order``, ``examples``, ``effects``, ``output``, ``coerce``, ``sent``; ``schema``
    for several keywords at once. ``level``: ``breaking``, where a call that was taken is refused, as ``witness`` is;
    ``unknown``, where neither that nor the contrary is certain, as where the tool refuses ``witness``, which its schema
    admits; ``behaviour``, where a model reads something else, or a function gets something else, as a default, or as
    ``witness``, which is coerced now; ``compatible``. ``providers`` are those that are sent something else.
    """

    kind: str
    level: Level
    tool: str
    path: str
    before: Any
    after: Any
    witness: JsonObject | None = None
    providers: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = f"{self.tool}.{self.path}" if self.path else self.tool or "(the tools)"
        said = f"{_shown(self.before)} -> {_shown(self.after)}"
        what = {"breaking": "refused now", "unknown": "refused now, and perhaps before"}.get(self.level, "coerced now")
        shown = "" if self.witness is None else f"; {what}: {_shown(self.witness)}"
        return f"{self.level}: {_shown(place)}: {self.kind.replace('_', ' ')}: {said}{shown}"


def _shown(value: Any) -> str:
    """A value on a line, whose characters can neither end it nor turn it around."""
    text = shortened(value, is_json=True)
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Diff:
    """What has changed of tools, in the order of levels: what breaks calls first. ``str()`` is a line for each change."""

    changes: tuple[Change, ...]

    def of(self, level: Level) -> tuple[Change, ...]:
        """The changes of a level."""
        return tuple(one for one in self.changes if one.level == level)

    @property
    def is_breaking(self) -> bool:
        """Whether a call that was taken is refused, or may be."""
        return bool(self.of("breaking") or self.of("unknown"))

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.of(level))} {level}" for level in LEVELS if self.of(level))
        return "\n".join([*map(str, self.changes), counts or "nothing has changed"])

    def to_json(self) -> str:
        """The changes as JSON: a list of objects."""
        return json.dumps([one._asdict() for one in self.changes], indent=2, default=str)


def diff(tools: Registry, old: Contract) -> Diff:
    """Compare tools with what they were.

    Args:
        tools: The tools now. They are asked whether they refuse a call, coercions included.
        old: What they were, as by ``read_lock``.

    Raises:
        ExportError: A provider that they were locked for is not there, or cannot be sent one of them now.
    """
    bound = lenient(tools).bind("json-schema")
    handlers = bound_tools_of(bound).handlers

    def refuses(name: str) -> Refuses:
        def asked(arguments: JsonObject) -> Collection[str]:
            handler = handlers.find(wire[name])
            try:
                if handler is not None:
                    handler.validate(arguments)
            except CallError as error:
                return [one.path for one in error.problems] or [""]
            except Exception:  # a user validator may raise anything, which refuses the call
                return [""]
            return ()

        return asked

    wire = {name: sent for sent, name in bound.names_by_wire_name().items()}
    return compared(old, contract_of(tools, old.providers), {name: refuses(name) for name in wire})


def compared(old: Contract, new: Contract, refuses: Mapping[str, Refuses] | None = None) -> Diff:
    """Compare two contracts.

    Args:
        old: What tools were.
        new: What they are.
        refuses: By the name of a tool that is there now, where it refuses arguments; by default its schema says.
    """
    asked = refuses or {}
    renamed = renamed_tools([one for one in old.tools.values() if one.name not in new.tools],
                       [one for one in new.tools.values() if one.name not in old.tools])  # fmt: skip
    found: list[Change] = []
    for before in old.tools.values():
        after = new.tools.get(renamed.get(before.name, before.name))
        if after is None:
            found.append(Change("tool_removed", "breaking", before.name, "", before.name, None, _some_call(before)))
            continue
        providers = _other_providers(before, after)
        if after.name != before.name:
            names = before.name, after.name
            found.append(Change("tool_renamed", "breaking", before.name, "", *names, _some_call(before), providers))
        found += _of_tool(before, after, providers, asked.get(after.name))
    added = [name for name in new.tools if name not in old.tools and name not in renamed.values()]
    found += [Change("tool_added", "compatible", name, "", None, name) for name in added]
    kept = [name for name in old.tools if name in new.tools]
    if kept != [name for name in new.tools if name in old.tools]:
        found.append(Change("order", "behaviour", "", "", list(old.tools), list(new.tools)))
    return Diff(changes=tuple(sorted(found, key=lambda one: LEVELS.index(one.level))))


def _other_providers(before: Locked, after: Locked) -> tuple[str, ...]:
    return tuple(name for name, sent in before.fingerprints.items() if after.fingerprints.get(name, sent) != sent)


def _of_tool(before: Locked, after: Locked, providers: tuple[str, ...], refuses: Refuses | None) -> Iterator[Change]:
    name = before.name
    count = 0
    for kind in ("title", "description", "effects", "examples", "output"):
        values = getattr(before, kind), getattr(after, kind)
        if not is_same_json(*values):
            count += 1
            yield Change(kind, "behaviour", name, "", *values, None, providers)
    if before.coerce != after.coerce:
        count += 1
        yield _coercion(before, after, providers)
    if json.dumps(before.parameters) != json.dumps(after.parameters):
        steps = differences(before.parameters, after.parameters)
        taken = before._replace(parameters=with_names(before.parameters, steps))
        found = [_change(step, taken, after, providers, refuses) for step in with_renamings(steps)]
        count += len(found)
        yield from found
        yield from _together(found, taken, after, providers, refuses)
    if providers and not count and before.name == after.name:
        yield Change(
            "sent", "behaviour", name, "", dict(before.fingerprints), dict(after.fingerprints), None, providers
        )


def _coercion(before: Locked, after: Locked, providers: tuple[str, ...]) -> Change:
    """Other rules of coercion: what fewer of them refuse depends on what models write."""
    rules = [sorted(chosen_rules()) if one.coerce is None else list(one.coerce) for one in (before, after)]
    level: Level = "behaviour" if set(rules[0]) <= set(rules[1]) else "unknown"
    return Change("coerce", level, before.name, "", rules[0], rules[1], None, providers)


_KINDS = {"removed": "parameter_removed", "added": "parameter_added"}


def _change(
    step: Step | Renaming, before: Locked, after: Locked, providers: tuple[str, ...], refuses: Refuses | None
) -> Change:
    if isinstance(step, Renaming):
        judged = [_judged(one, before.parameters, after.parameters, refuses) for one in step]
        level, witness = min(judged, key=lambda one: LEVELS.index(one[0]))
        if level == "compatible":  # the old name is taken as another argument, which nobody reads
            level = "behaviour"
        names = step.removed.path.rpartition(".")[2], step.added.path.rpartition(".")[2]
        return Change("parameter_renamed", level, before.name, step.removed.path, *names, witness, providers)
    kind = _KINDS.get(step.keyword, step.keyword)
    if kind == "default" and (step.is_new or step.is_gone):
        kind = "default_added" if step.is_new else "default_removed"
    if step.alone is None or step.keyword in _WORDS:
        return Change(kind, "behaviour", before.name, step.path, step.before, step.after, None, providers)
    level, witness = _judged(step, before.parameters, after.parameters, refuses)
    return Change(kind, level, before.name, step.path, step.before, step.after, witness, providers)


def _together(
    found: list[Change], before: Locked, after: Locked, providers: tuple[str, ...], refuses: Refuses | None
) -> Iterator[Change]:
    """What differences break that break nothing one by one, as one change of the whole schema."""
    levels = {one.level for one in found if one.kind not in _WORDS}
    if not levels or not levels.isdisjoint(("breaking", "unknown")):
        return
    old, new = before.parameters, after.parameters
    level, witness = _judged(Step("", "", old, new, new), old, new, refuses)
    if level in ("breaking", "unknown"):
        yield Change("schema", level, before.name, "", old, new, witness, providers)


def _judged(step: Step, old: JsonSchema, new: JsonSchema, refuses: Refuses | None) -> tuple[Level, JsonObject | None]:
    """Whether a difference breaks calls: a call that the old schema takes, and that with this difference alone does not."""
    if step.unnamed is not None:
        return "compatible", None
    try:
        return _Trial(step, old, new, refuses).judged()
    except (OverflowError, RecursionError, re.error, SchemaError):  # a schema of which nobody can make use
        return "unknown", None


class _Trial:
    """Tries whether one difference breaks calls: by a proof, and by calls that the old schema takes."""

    def __init__(self, step: Step, old: JsonSchema, new: JsonSchema, refuses: Refuses | None) -> None:
        self._step = step
        self._old, self._alone, self._new = old, step.alone or {}, new
        self._marked, self._marked_alone = marked(self._old), marked(self._alone)
        self._is_live = refuses is not None
        self._paths_of = refuses or refused_at(new)
        self._listed: list[Any] = []
        self._last: dict[Formats, tuple[Any, Callable[[Any], bool]]] = {}

    def judged(self) -> tuple[Level, JsonObject | None]:
        """The level, and the call that shows it."""
        if Proof(self._marked_alone, self._marked, self._admits_certainly).includes(self._marked_alone, self._marked):
            # A schema does not say all that a type refuses, and the tool is there to be asked.
            return (
                self._tried_although_proved()
                if self._is_live and self._step.keyword in _OTHER_TYPE
                else ("compatible", None)
            )
        return self._tried()

    def _admits_certainly(self, schema: Any, value: Any) -> bool:
        # Below a "not" a format turns round: there, the tool that checks no formats is the one that may refuse.
        return self._compiled(schema, "certain")(value) and self._compiled(schema, "open")(value)

    def _compiled(self, schema: Any, formats: Formats) -> Callable[[Any], bool]:
        """A check of a schema, which a proof asks about many values, one after the other."""
        last = self._last.get(formats)
        if last is None or last[0] is not schema:
            last = self._last[formats] = schema, admission(schema, formats)
        return last[1]

    def _admits_if_asked(self, schema: Any, value: Any) -> bool:
        self._listed.append(value)
        return self._compiled(schema, "checked")(value) and self._compiled(schema, "open")(value)

    def _tried_although_proved(self) -> tuple[Level, JsonObject | None]:
        was_taken, is_said = admission(self._marked, "certain"), admission(self._new)
        for value in islice(_taken_by(self._old, self._alone), _MOST_ASKED):
            # What the new schema refuses is a matter of another difference.
            if (
                was_taken(value)
                and is_said(value)
                and any(is_about(path, self._step.path, is_below=True) for path in self._paths_of(value))
            ):
                return "unknown", value
        return "compatible", None

    def _tried(self) -> tuple[Level, JsonObject | None]:
        admits_text, was_taken = admission(self._alone), admission(self._marked, "certain")
        admits_old, admits_alone = admission(self._marked, "checked"), admission(self._marked_alone, "checked")
        is_hidden = self._is_live and any(word in str(marked(self._step.after)) for word in _UNSAID)
        found: tuple[Level, JsonObject | None] = "unknown", None
        is_doubtful = False
        accepted: list[JsonObject] = []
        for value in _taken_by(self._old, self._alone):
            # A format that the old schema has, and the value has not, says nothing: not every tool checks formats.
            is_refused = not (admits_alone if self._is_live and admits_old(value) else admits_text)(value)
            if not (is_refused or is_hidden):
                continue
            paths = self._paths_of(value)
            if any(is_about(path, self._step.path, is_below=not is_refused) for path in paths):
                if was_taken(value):
                    return "breaking", value
                is_doubtful = True  # the old tool may have refused it, too
            elif (
                is_refused and not paths
            ):  # it is coerced, and the function gets something else; or nothing checks the format
                found = "behaviour", None if admits_text(value) else value
            if not paths:
                accepted.append(value)
        if not is_doubtful and self._is_live and self._is_proved_by(accepted):
            return "compatible", None
        return ("unknown", None) if is_doubtful else found

    def _is_proved_by(self, accepted: list[JsonObject]) -> bool:
        """Whether only formats were in doubt, and the tool has taken each value that was listed under one."""
        if not Proof(self._alone, self._old, self._admits_if_asked).includes(self._alone, self._old):
            return False
        return all(any(_holds(call, value) for call in accepted) for value in self._listed)


def _holds(whole: Any, part: Any) -> bool:
    inner = whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()
    return is_same_json(whole, part) or any(_holds(each, part) for each in inner)


def _taken_by(old: JsonSchema, alone: JsonSchema) -> Iterator[JsonObject]:
    """Arguments that the old schema takes, those first that the other may refuse."""
    admits = admission(old)
    seen: set[str] = set()
    budget = Tries()
    tried = (candidates(old, alone, old, alone, random.Random(seed), budget) for seed in range(_SEEDS))  # noqa: S311 - no secret
    with contextlib.suppress(SpentError):
        for value in islice(itertools.chain.from_iterable(tried), _MOST_TRIED):
            text = json.dumps(value)
            if text not in seen and isinstance(value, dict) and admits(value):
                yield value
            seen.add(text)


def is_about(path: str, place: str, *, is_below: bool = False) -> bool:
    """Whether what is wrong at a path may be so for what has changed at a place, above it or there and below alone."""
    steps, there = _steps(path), _steps(place)
    if is_below and len(steps) < len(there):
        return False
    return all(other in (one, "{}") for one, other in zip(steps, there, strict=False))


def _steps(path: str) -> list[str]:
    """The names and numbers on a path: ``[]`` for any item, ``{}`` for any name."""
    found = re.findall(r"\[\d*\]|\{\}|[^.\[\]{}]+", path.partition(" (")[0])
    return ["[]" if step.startswith("[") else step for step in found]


def _some_call(tool: Locked) -> JsonObject:
    try:
        made = generated(tool.parameters, random.Random(0))  # noqa: S311 - no secret
    except (OverflowError, RecursionError, re.error):  # the same
        return {}
    return made if isinstance(made, dict) else {}

"""Compares two contracts: lists changes, and finds a call that each breaking change breaks."""

import contextlib
import difflib
import itertools
import json
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic_core import SchemaError

from toolshape._answers.answer import compile_answer_reading
from toolshape._answers.output import Output
from toolshape._answers.record import record_of_output
from toolshape._bound.bound import bound_tools_of
from toolshape._bound.registry import Registry, without_strict
from toolshape._records.calls import JsonObject, JsonSchema
from toolshape._records.errors import AnswerError, CallError
from toolshape._records.shown import escape_invisible, shorten
from toolshape._schema.generate import generate
from toolshape._schema.lens import Lens
from toolshape._schema.values import values_inside
from toolshape._validation.coercion import choose_rules
from toolshape.contract._changed_checks import changed_places, judge_place
from toolshape.contract._differences import Step, schema_differences, with_added_names
from toolshape.contract._inclusion import Proof, is_same_json, mark_decimals
from toolshape.contract._lock import Contract, Locked, make_contract
from toolshape.contract._schema_validators import Formats, compile_admission, compile_refused_paths
from toolshape.contract._witness import SpentError, Tries, candidates

_ALIKE = 0.6  # two strings count as similar if their ``difflib`` ratio is at least this


def find_renamed_tools(gone: Iterable[Locked], come: Iterable[Locked]) -> dict[str, str]:
    """Map the old name of each renamed tool to its new name.

    An old and a new tool count as one renamed tool if they have the same description. They also
    count as one if their arguments are the same and both their names and their descriptions are
    similar.
    """
    names: dict[str, str] = {}
    unmatched = list(come)
    for before in gone:
        similar_tools = [
            tool
            for tool in unmatched
            if not schema_differences(before.parameters, tool.parameters)
            or _has_same_description(before, tool)
        ]
        similar_tools = [
            tool
            for tool in similar_tools
            if _has_same_description(before, tool) or _is_similar(before, tool)
        ]
        if similar_tools:
            closest = max(similar_tools, key=lambda tool: _similarity(before.name, tool.name))
            names[before.name] = closest.name
            unmatched.remove(closest)
    return names


def _has_same_description(before: Locked, after: Locked) -> bool:
    return bool(before.description) and before.description == after.description


def _similarity(before: str, after: str) -> float:
    return difflib.SequenceMatcher(None, before, after).ratio()


def _is_similar(before: Locked, after: Locked) -> bool:
    pairs = (before.name, after.name), (before.description, after.description)
    return all(_similarity(*pair) >= _ALIKE for pair in pairs)


class Renaming(NamedTuple):
    """A renamed parameter: the step that removed the old name, and
    the step that added the new name.
    """

    removed: Step
    added: Step


def join_renamings(steps: list[Step]) -> list[Step | Renaming]:
    """Join a removed and an added parameter of one object into a
    renaming if both have the same schema.
    """
    added = [step for step in steps if step.keyword == "added"]
    result: list[Step | Renaming] = []
    for step in steps:
        if step.keyword == "added" and step not in added:
            continue
        if step.keyword == "removed":
            same_schema = [
                candidate
                for candidate in added
                if _parent_path(candidate.path) == _parent_path(step.path)
                and not schema_differences(step.before, candidate.after)
            ]
        else:
            same_schema = []
        if same_schema:
            similarities = [
                _similarity(_name(step.path), _name(candidate.path)) for candidate in same_schema
            ]
            # If no name is similar, take the first candidate.
            closest = (
                same_schema[similarities.index(max(similarities))]
                if max(similarities) >= _ALIKE
                else same_schema[0]
            )
            added.remove(closest)
            result.append(Renaming(step, closest))
        elif step.keyword != "added":
            result.append(step)
    return [*result, *added]


def _name(path: str) -> str:
    return path.rpartition(".")[2]


def _parent_path(path: str) -> str:
    return path.rpartition(".")[0]


Level: TypeAlias = Literal["breaking", "unknown", "behaviour", "compatible"]
LEVELS: tuple[Level, ...] = ("breaking", "unknown", "behaviour", "compatible")
Refuses: TypeAlias = Callable[[JsonObject], Collection[str]]
"""A function that takes arguments, and returns the paths at which a tool refuses
them: no paths if it accepts them.
"""
_WORDS = frozenset({"default", "deprecated", "description", "examples", "order", "title"})
_OTHER_TYPE = frozenset({"allOf", "anyOf", "format", "oneOf", "schema", "type"})
"""If one of these keywords changed, the Python type may have changed.

A type may refuse more than its schema does.
"""
_UNSAID = ("contentSchema", "discriminator", "format")
"""Keywords that Python types check but JSON Schema does not."""
_MOST_TRIED, _MOST_ASKED, _SEEDS = 3_000, 200, 3
_LONG_TEXT, _MOST_OF_TEXT, _AROUND = 80, 600, 3  # characters, characters, words


class Change(NamedTuple):
    """One change to a tool or an output.

    ``kind`` is a JSON Schema keyword or an event: ``tool_added``, ``tool_removed``,
    ``tool_renamed``, ``parameter_added``, ``parameter_removed``, ``parameter_renamed``,
    ``description``, ``default``, ``default_added``, ``default_removed``, ``title``, ``order``,
    ``examples``, ``effects``, ``output``, ``coerce``, ``sent``. It is ``schema`` if several
    keywords changed together, and ``checks`` if what changed is checked beyond the schema:
    strictness, bounds of values that JSON writes as text, the author's validators.
    ``recorded_calls`` stands for recorded calls that break although no change explains it. The
    events for an output are ``output_added``, ``output_removed`` and ``output_renamed``; ``tool``
    then holds the name of the output.

    ``level`` is ``breaking`` if the tool now refuses a call that it accepted before: ``witness`` is
    a refused call. It is ``unknown`` if the comparison cannot tell whether calls break, for example
    if the tool refuses a ``witness`` that its schema admits. It is ``behaviour`` if the model reads
    different words, or if the function gets a different value: a new default, or the coerced
    ``witness``. Otherwise it is ``compatible``. ``providers`` are the providers whose entry for the
    tool has changed.
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
        if self.path:
            place = f"{self.tool}.{self.path}"
        else:
            place = self.tool or "(the tools)"
        values = " -> ".join(_values_on_one_line(self.before, self.after))
        effect = {"breaking": "refused now", "unknown": "refused now, and perhaps before"}.get(
            self.level, "coerced now"
        )
        if self.witness is None:
            witness_text = ""
        else:
            witness_text = f"; {effect}: {_on_one_line(self.witness)}"
        return (
            f"{self.level}: {_on_one_line(place)}: {self.kind.replace('_', ' ')}: "
            f"{values}{witness_text}"
        )


def _values_on_one_line(before: Any, after: Any) -> tuple[str, str]:
    """Return both values on one line; of two texts of which one is long, the words from
    the first to the last difference.

    A long description is changed in its middle as easily as at its end, and whoever decides must
    see the change.
    """
    if not (isinstance(before, str) and isinstance(after, str)):
        return _on_one_line(before), _on_one_line(after)
    if max(len(before), len(after)) <= _LONG_TEXT:
        return _on_one_line(before), _on_one_line(after)
    old, new = before.split(), after.split()
    same_before = _count_same(old, new)
    same_after = _count_same(old[same_before:][::-1], new[same_before:][::-1])
    return _part(old, same_before, same_after), _part(new, same_before, same_after)


def _count_same(first: list[str], second: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second)))  # noqa: B905 - to the shorter


def _part(words: list[str], same_before: int, same_after: int) -> str:
    """Return what differs of a text, with a few of the words around it."""
    first, end = max(same_before - _AROUND, 0), len(words) - max(same_after - _AROUND, 0)
    text = escape_invisible(" ".join(words[first:end]))
    if len(text) <= _MOST_OF_TEXT:
        cut = text
    else:
        cut = f"{text[:_MOST_OF_TEXT]}…"
    return f"{'… ' * bool(first)}{cut}{' …' * (end < len(words))}"


def _on_one_line(value: Any) -> str:
    """Return a value on one line, with escapes for characters that would break the
    line or reverse its direction.
    """
    text = shorten(value, is_json=True)
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1] for character in text
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Diff:
    """The changes to tools, breaking changes first.

    ``str()`` returns one line per change, and a line with counts.
    """

    changes: tuple[Change, ...]

    def of(self, level: Level) -> tuple[Change, ...]:
        """Return the changes with this level."""
        return tuple(change for change in self.changes if change.level == level)

    @property
    def is_breaking(self) -> bool:
        """Whether a tool refuses, or may refuse, a call that it accepted before."""
        return bool(self.of("breaking") or self.of("unknown"))

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.of(level))} {level}" for level in LEVELS if self.of(level))
        return "\n".join([*map(str, self.changes), counts or "nothing has changed"])

    def to_json(self) -> str:
        """Return the changes as JSON: a list of objects."""
        return json.dumps([change._asdict() for change in self.changes], indent=2, default=str)


def diff(tools: Registry, old: Contract, outputs: Iterable[Output[Any]] = ()) -> Diff:
    """Compare tools and outputs with an earlier contract.

    Args:
        tools: The current tools. They validate candidate calls, and apply their coercion rules.
        old: The earlier contract, for example from ``load_lock``.
        outputs: The current outputs. They parse candidate answers.

    Raises:
        ExportError: A provider in the contract is unknown, or a tool or output can no longer be
            exported to a provider.
    """
    bound = without_strict(tools).bind("json-schema")
    handlers = bound_tools_of(bound).handlers

    def make_refuses(name: str) -> Refuses:
        def find_refused_paths(arguments: JsonObject) -> Collection[str]:
            handler = handlers.find(wire_names[name])
            try:
                if handler is not None:
                    handler.validate(arguments)
            except CallError as error:
                return [problem.path for problem in error.problems] or [""]
            except Exception:
                # A user's validator may raise any exception: the tool refuses the call.
                return [""]
            return ()

        return find_refused_paths

    wire_names = {name: wire_name for wire_name, name in bound.names_by_wire_name().items()}
    answers = list(outputs)
    return diff_contracts(
        old,
        make_contract(tools, old.providers, answers),
        {name: make_refuses(name) for name in wire_names},
        {output.name: _make_refuses_answer(output) for output in answers},
    )


def _make_refuses_answer(output: Output[Any]) -> Refuses:
    record = record_of_output(output)
    lens = Lens(schema=record.spec.schema)
    read = compile_answer_reading(
        record.definition, lens, record.rules, is_wrapped=record.is_wrapped
    )

    def find_refused_paths(answer: JsonObject) -> Collection[str]:
        try:
            read(json.dumps(answer), False)
        except AnswerError as error:
            return [problem.path for problem in error.problems] or [""]
        return ()

    return find_refused_paths


def diff_contracts(
    old: Contract,
    new: Contract,
    refuses: Mapping[str, Refuses] | None = None,
    refuses_answer: Mapping[str, Refuses] | None = None,
) -> Diff:
    """Compare two contracts.

    Args:
        old: The earlier contract.
        new: The current contract.
        refuses: Maps the name of a tool in ``new`` to a function that returns the paths at which
            the tool refuses arguments. If a tool has no function here, its schema decides.
        refuses_answer: Maps the name of an output in ``new`` to a function of the same kind.
    """
    changes = _changes("tool", old.tools, new.tools, refuses or {})
    changes += _changes("output", old.outputs, new.outputs, refuses_answer or {})
    kept_names = [name for name in old.tools if name in new.tools]
    if kept_names != [name for name in new.tools if name in old.tools]:
        changes.append(Change("order", "behaviour", "", "", list(old.tools), list(new.tools)))
    return Diff(changes=tuple(sorted(changes, key=lambda change: LEVELS.index(change.level))))


def _changes(
    what: Literal["tool", "output"],
    old: Mapping[str, Locked],
    new: Mapping[str, Locked],
    refuses: Mapping[str, Refuses],
) -> list[Change]:
    new_names = find_renamed_tools(
        [before for before in old.values() if before.name not in new],
        [after for after in new.values() if after.name not in old],
    )
    changes: list[Change] = []
    for before in old.values():
        after = new.get(new_names.get(before.name, before.name))
        if after is None:
            removed_call = _example_call(before)
            changes.append(
                Change(
                    f"{what}_removed", "breaking", before.name, "", before.name, None, removed_call
                )
            )
            continue
        providers = _changed_providers(before, after)
        if after.name != before.name:
            # A model calls a tool by its name, so a new name breaks calls. An answer does not
            # depend on the name.
            if what == "tool":
                level: Level = "breaking"
            else:
                level = "behaviour"
            if what == "tool":
                renamed_call = _example_call(before)
            else:
                renamed_call = None
            names = before.name, after.name
            changes.append(
                Change(f"{what}_renamed", level, before.name, "", *names, renamed_call, providers)
            )
        changes += _tool_changes(before, after, providers, refuses.get(after.name))
    added = [name for name in new if name not in old and name not in new_names.values()]
    return changes + [Change(f"{what}_added", "compatible", name, "", None, name) for name in added]


def _changed_providers(before: Locked, after: Locked) -> tuple[str, ...]:
    return tuple(
        name
        for name, fingerprint in before.fingerprints.items()
        if after.fingerprints.get(name, fingerprint) != fingerprint
    )


def _tool_changes(
    before: Locked, after: Locked, providers: tuple[str, ...], refuses: Refuses | None
) -> Iterator[Change]:
    name = before.name
    count = 0
    for kind in ("title", "description", "effects", "examples", "output"):
        values = getattr(before, kind), getattr(after, kind)
        if not is_same_json(*values):
            count += 1
            yield Change(kind, "behaviour", name, "", *values, None, providers)
    if before.coerce != after.coerce:
        count += 1
        yield _coercion_change(before, after, providers)
    if json.dumps(before.parameters) != json.dumps(after.parameters):
        steps = schema_differences(before.parameters, after.parameters)
        before_with_names = before._replace(parameters=with_added_names(before.parameters, steps))
        changes = [
            _change(step, before_with_names, after, providers, refuses)
            for step in join_renamings(steps)
        ]
        count += len(changes)
        yield from changes
        yield from _joint_change(changes, before_with_names, after, providers, refuses)
    else:
        changes = []
    for change in _check_changes(before, after, providers, refuses, changes):
        count += 1
        yield change
    if providers and not count and before.name == after.name:
        yield Change(
            "sent",
            "behaviour",
            name,
            "",
            dict(before.fingerprints),
            dict(after.fingerprints),
            None,
            providers,
        )


def _check_changes(
    before: Locked,
    after: Locked,
    providers: tuple[str, ...],
    refuses: Refuses | None,
    changes: list[Change],
) -> Iterator[Change]:
    """Yield the changes to what the model checks beyond its schema, where no change of
    the schema breaks calls already.
    """
    old, new = before.checks or {}, after.checks or {}
    for path in changed_places(old, new):
        if any(
            _tells_of(change, new.get(path, ()))
            for change in changes
            if is_about(path, change.path)
        ):
            continue

        def refuses_at(call: JsonObject, path: str = path) -> bool:
            assert refuses is not None  # noqa: S101 - it is given only then
            return any(is_about(at, path) for at in refuses(call))

        verdict = judge_place(path, before, after, None if refuses is None else refuses_at)
        facts = [list(checks.get(path, ())) for checks in (old, new)]
        values: list[Any] = [
            "unknown" if before.checks is None else facts[0] or None,
            facts[1] or None,
        ]
        level, witness = verdict
        yield Change("checks", level, before.name, path, values[0], values[1], witness, providers)


def _tells_of(change: Change, facts: Collection[JsonObject]) -> bool:
    """Return whether a change of the schema has judged these facts: it breaks calls,
    or calls of the type were tried.
    """
    if change.kind in _OTHER_PLACE or change.level in ("breaking", "unknown"):
        return True
    has_more = any(fact.keys() & {"strict", "validator"} for fact in facts)
    return change.kind in _OTHER_TYPE and not has_more


_OTHER_PLACE = frozenset({"parameter_added", "parameter_removed", "parameter_renamed"})


def _coercion_change(before: Locked, after: Locked, providers: tuple[str, ...]) -> Change:
    """Return the change to coercion rules.

    If rules were removed, its level is ``unknown``: calls may need them.
    """
    rules = [
        sorted(choose_rules()) if tool.coerce is None else list(tool.coerce)
        for tool in (before, after)
    ]
    if set(rules[0]) <= set(rules[1]):
        level: Level = "behaviour"
    else:
        level = "unknown"
    return Change("coerce", level, before.name, "", rules[0], rules[1], None, providers)


_KINDS = {"removed": "parameter_removed", "added": "parameter_added"}


def _change(
    step: Step | Renaming,
    before: Locked,
    after: Locked,
    providers: tuple[str, ...],
    refuses: Refuses | None,
) -> Change:
    if isinstance(step, Renaming):
        verdicts = [_judge(part, before.parameters, after.parameters, refuses) for part in step]
        level, witness = min(verdicts, key=lambda verdict: LEVELS.index(verdict[0]))
        # The tool accepts the old name as an extra argument, and ignores it.
        if level == "compatible":
            level = "behaviour"
        names = step.removed.path.rpartition(".")[2], step.added.path.rpartition(".")[2]
        return Change(
            "parameter_renamed", level, before.name, step.removed.path, *names, witness, providers
        )
    kind = _KINDS.get(step.keyword, step.keyword)
    if kind == "default" and (step.is_new or step.is_gone):
        if step.is_new:
            kind = "default_added"
        else:
            kind = "default_removed"
    if step.alone is None or step.keyword in _WORDS:
        return Change(
            kind, "behaviour", before.name, step.path, step.before, step.after, None, providers
        )
    level, witness = _judge(step, before.parameters, after.parameters, refuses)
    return Change(kind, level, before.name, step.path, step.before, step.after, witness, providers)


def _joint_change(
    changes: list[Change],
    before: Locked,
    after: Locked,
    providers: tuple[str, ...],
    refuses: Refuses | None,
) -> Iterator[Change]:
    """Yield a change to the whole schema if the differences together break calls,
    but no single difference does.
    """
    levels = {change.level for change in changes if change.kind not in _WORDS}
    if not levels or not levels.isdisjoint(("breaking", "unknown")):
        return
    old, new = before.parameters, after.parameters
    level, witness = _judge(Step("", "", old, new, new), old, new, refuses)
    if level in ("breaking", "unknown"):
        yield Change("schema", level, before.name, "", old, new, witness, providers)


def _judge(
    step: Step, old: JsonSchema, new: JsonSchema, refuses: Refuses | None
) -> tuple[Level, JsonObject | None]:
    """Return the level of a difference, and a call that the old schema admits
    but this difference alone breaks.
    """
    if step.unnamed is not None:
        return "compatible", None
    try:
        return _Trial(step, old, new, refuses).judged()
    except (
        OverflowError,
        RecursionError,
        re.error,
        SchemaError,
    ):
        # A schema that no validator can use.
        return "unknown", None


class _Trial:
    """Decides whether one difference breaks calls: by a proof, or by trying
    calls that the old schema admits.
    """

    # Neither way is complete. A proof covers schemas only, but a type may refuse values that its
    # schema admits, for example a string in the wrong format. Accepted calls prove nothing about
    # other calls. So ``judged`` first looks for a proof that the old schema with this difference
    # alone admits every old call. Without a proof, ``_try_calls`` sends candidate calls to the
    # tool, or to its new schema. A refusal counts only at the place of the difference: a refusal
    # elsewhere has another cause. The difference is breaking only if the old tool certainly
    # accepted the call. If a format makes that doubtful, the level is unknown.

    def __init__(
        self, step: Step, old: JsonSchema, new: JsonSchema, refuses: Refuses | None
    ) -> None:
        self._step = step
        self._old, self._alone, self._new = old, step.alone or {}, new
        self._marked, self._marked_alone = mark_decimals(self._old), mark_decimals(self._alone)
        self._is_live = refuses is not None
        self._paths_of = refuses or compile_refused_paths(new)
        self._listed: list[Any] = []
        self._last: dict[Formats, tuple[Any, Callable[[Any], bool]]] = {}

    def judged(self) -> tuple[Level, JsonObject | None]:
        """Return the level of the difference, and a call that demonstrates the level."""
        if Proof(self._marked_alone, self._marked, self._admits_certainly).includes(
            self._marked_alone, self._marked
        ):
            # A type may refuse more than its schema does. If the tool is available, send it
            # candidate calls.
            if self._is_live and self._step.keyword in _OTHER_TYPE:
                return self._try_calls_despite_proof()
            return ("compatible", None)
        return self._try_calls()

    def _admits_certainly(self, schema: Any, value: Any) -> bool:
        # Inside a "not", a format has the reverse effect: a tool that ignores formats may refuse
        # the value there.
        return self._compile(schema, "certain")(value) and self._compile(schema, "open")(value)

    def _compile(self, schema: Any, formats: Formats) -> Callable[[Any], bool]:
        """Return a compiled check for a schema.

        Cache the last check, because a proof checks many values in a row.
        """
        cached = self._last.get(formats)
        if cached is None or cached[0] is not schema:
            cached = self._last[formats] = schema, compile_admission(schema, formats)
        return cached[1]

    def _record_and_admit(self, schema: Any, value: Any) -> bool:
        self._listed.append(value)
        return self._compile(schema, "checked")(value) and self._compile(schema, "open")(value)

    def _try_calls_despite_proof(self) -> tuple[Level, JsonObject | None]:
        was_accepted, is_admitted = (
            compile_admission(self._marked, "certain"),
            compile_admission(self._new),
        )
        for value in islice(_accepted_arguments(self._old, self._alone), _MOST_ASKED):
            # If the new schema refuses the value, another difference causes the refusal.
            if (
                was_accepted(value)
                and is_admitted(value)
                and any(
                    is_about(path, self._step.path, is_below=True) for path in self._paths_of(value)
                )
            ):
                return "unknown", value
        return "compatible", None

    def _try_calls(self) -> tuple[Level, JsonObject | None]:
        admits_without_formats, was_accepted = (
            compile_admission(self._alone),
            compile_admission(self._marked, "certain"),
        )
        admits_old, admits_alone = (
            compile_admission(self._marked, "checked"),
            compile_admission(self._marked_alone, "checked"),
        )
        may_check_more = self._is_live and any(
            word in str(mark_decimals(self._step.after)) for word in _UNSAID
        )
        verdict: tuple[Level, JsonObject | None] = "unknown", None
        is_doubtful = False
        accepted: list[JsonObject] = []
        for value in _accepted_arguments(self._old, self._alone):
            # Formats count only if the value matches the formats in the old schema, as not every
            # tool checks formats.
            is_refused = not (
                admits_alone if self._is_live and admits_old(value) else admits_without_formats
            )(value)
            if not (is_refused or may_check_more):
                continue
            paths = self._paths_of(value)
            if any(is_about(path, self._step.path, is_below=not is_refused) for path in paths):
                if was_accepted(value):
                    return "breaking", value
                is_doubtful = True  # the old tool may have refused the value as well
            elif is_refused and not paths:
                # The tool coerces the value, so the function gets another value, or the tool does
                # not check formats.
                verdict = "behaviour", None if admits_without_formats(value) else value
            if not paths:
                accepted.append(value)
        if not is_doubtful and self._is_live and self._is_proved_by(accepted):
            return "compatible", None
        if is_doubtful:
            return ("unknown", None)
        return verdict

    def _is_proved_by(self, accepted: list[JsonObject]) -> bool:
        """Return whether a proof with looser format checks succeeds, and the
        tool accepted all constants in it.
        """
        if not Proof(self._alone, self._old, self._record_and_admit).includes(
            self._alone, self._old
        ):
            return False
        return all(any(_contains(call, value) for call in accepted) for value in self._listed)


def _contains(whole: Any, part: Any) -> bool:
    children = values_inside(whole)
    return is_same_json(whole, part) or any(_contains(item, part) for item in children)


def _accepted_arguments(old: JsonSchema, alone: JsonSchema) -> Iterator[JsonObject]:
    """Yield arguments that the old schema admits: first the arguments that the
    difference most likely breaks.
    """
    admits = compile_admission(old)
    seen_texts: set[str] = set()
    budget = Tries()
    candidate_iterators = (
        candidates(old, alone, old, alone, random.Random(seed), budget)  # noqa: S311 - no secret
        for seed in range(_SEEDS)
    )
    with contextlib.suppress(SpentError):
        for value in islice(itertools.chain.from_iterable(candidate_iterators), _MOST_TRIED):
            text = json.dumps(value)
            if text not in seen_texts and isinstance(value, dict) and admits(value):
                yield value
            seen_texts.add(text)


def is_about(path: str, place: str, *, is_below: bool = False) -> bool:
    """Return whether a change at a place may cause a problem at a path.

    The path may equal the place, or lie above or below the place. ``is_below`` excludes paths above
    the place.
    """
    steps, place_steps = _steps(path), _steps(place)
    if is_below and len(steps) < len(place_steps):
        return False
    return all(
        place_step in (step, "{}") for step, place_step in zip(steps, place_steps, strict=False)
    )


def _steps(path: str) -> list[str]:
    """Return the steps of a path: names, ``[]`` for any item, ``{}`` for any name."""
    steps = re.findall(r"\[\d*\]|\{\}|[^.\[\]{}]+", path.partition(" (")[0])
    return ["[]" if step.startswith("[") else step for step in steps]


def _example_call(tool: Locked) -> JsonObject:
    try:
        generated_value = generate(tool.parameters, random.Random(0))  # noqa: S311 - no secret
    except (OverflowError, RecursionError, re.error):  # values cannot be generated from this schema
        return {}
    if isinstance(generated_value, dict):
        return generated_value
    return {}

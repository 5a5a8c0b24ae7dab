"""``Case``: what a model is asked, and the calls that it should make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from toolshape._bound import Bound, bound_tools_of
from toolshape._dispatch.handler import Handlers
from toolshape._dispatch.plan import Plan
from toolshape._errors import ResponseError, UsageError, did_you_mean
from toolshape._tool import Tool
from toolshape.evals._assign import best_in_steps, best_pairs
from toolshape.evals._compare import (
    Made,
    Pair,
    check_expected,
    difference_at,
    has_secrets,
    is_happening,
    made_of,
    pair_of,
    shown_coercions,
    unknown_call,
)
from toolshape.evals._expect import Expect
from toolshape.evals._verdict import Difference, DifferenceKind, Label, Verdict

if TYPE_CHECKING:
    from toolshape._conversation import Conversation


_SAME_TOOL = 1e-6  # what a call of the right tool counts whose arguments are all wrong


@dataclass(frozen=True, slots=True)
class Case:
    """One question to a model, and the calls that answer it.

    Args:
        name: What reports call it.
        messages: What the model is asked, as a text or as a conversation that ends with it.
        expected: The calls that are to be made, and those that must not; none of the first: no call at all. Where sets
            of tools are compared whose tools have other names or arguments, a mapping from each track to its calls.
        order: Whether calls count in ``"any"`` order, or in the ``"same"`` as they are expected. The calls of one
            response are made in parallel: they have no order among themselves, only responses that follow one another
            do.
        extra: Whether calls beside these are wrong (``"none"``), or are left alone (``"any"``).
        answers: What the model reads of calls that it makes, by tool: a value, or a function of the tool's arguments
            that gives one, or raises ``ToolError``. The model is asked again with them, and the calls of all steps
            count together, until it makes none, or one of a tool without an answer.
        most_steps: How often the model is asked at most.
    """

    name: str
    messages: "str | Conversation" = ""
    expected: Sequence[Expect] | Mapping[str, Sequence[Expect]] = ()
    order: Literal["any", "same"] = "any"
    extra: Literal["none", "any"] = "none"
    answers: Mapping[Tool[..., Any] | str, Any] = field(default_factory=dict)
    most_steps: int = 10

    def __post_init__(self) -> None:
        if self.order not in ("any", "same") or self.extra not in ("none", "any"):
            raise UsageError(f'order is "any" or "same", extra "none" or "any", not {self.order!r} and {self.extra!r}')
        by_track = self.expected.values() if isinstance(self.expected, Mapping) else [self.expected]
        strangers = [call for calls in by_track for call in calls if not _is_expected(call)]
        if strangers:
            raise UsageError(f"what is expected are calls, as Expect(tool, **arguments), not {strangers[0]!r}")
        most: Any = self.most_steps
        if not (type(most) is int and most > 0):
            raise UsageError(f"most_steps= is how often a model is asked, 1 or more, not {most!r}")

    def compare(self, bound: Bound, response: Any, *, track: str = "") -> Verdict:
        """Judge a response, by what the functions would get; none of them is run.

        Args:
            bound: The tools as the model was sent them.
            response: SDK object, dict, JSON text or bytes.
            track: Which of several sets of tools these are, where ``expected`` is a mapping.

        Returns:
            The verdict; ``failed`` where it is no response of the provider's family.

        Raises:
            UsageError: There is no tool that is expected, or it refuses the arguments that are expected of it.
        """
        check_expected(expected_of(self, track), bound.tools)
        try:
            plan = bound.plan(response)
        except ResponseError as error:
            said = type(error).__name__ if has_secrets(bound.tools) else str(error)
            return Verdict(case=self.name, label="failed", score=0.0, error=said, track=track)
        return judged(self, [plan], bound_tools_of(bound).handlers, track)


def _is_expected(given: Any) -> bool:
    return isinstance(given, Expect)


def expected_of(case: Case, track: str) -> Sequence[Expect]:
    """The calls that a case expects of one set of tools.

    Raises:
        UsageError: It does not say which.
    """
    if not isinstance(case.expected, Mapping):
        return case.expected
    if track not in case.expected:
        hint = did_you_mean(track, case.expected)
        raise UsageError(
            f"the case {case.name!r} expects calls of {', '.join(map(repr, case.expected))}, and nothing of the track"
            f" {track!r}{f' ({hint})' if hint else ''}"
        )
    return case.expected[track]


def judged(case: Case, plans: Sequence[Plan], handlers: Handlers, track: str = "") -> Verdict:
    """Judge the calls of one response to a case, or of several that follow one another.

    Args:
        case: The case.
        plans: The responses, of one model, read and validated.
        handlers: The handlers of the tools as that was sent them.
        track: Which of several sets of tools these are.

    Raises:
        UsageError: A tool refuses the arguments that are expected of it.
    """
    made = [
        made_of(result.call, result.error, handlers, step) for step, plan in enumerate(plans) for result in plan.results
    ]
    tools = {shape.name: shape.tool for shape in handlers.shapes.values()}
    score, differences, right = _compared(case, expected_of(case, track), made, tools)
    coercions = tuple(coercion for at in right for coercion in shown_coercions(made[at]))
    label: Label = "wrong" if differences else "right_after_coercion" if coercions else "right"
    return Verdict(
        case=case.name,
        label=label,
        score=score,
        differences=tuple(differences),
        coercions=coercions,
        finish=plans[-1].results.finish,
        steps=len(plans),
        track=track,
    )


def _compared(
    case: Case, expected: Sequence[Expect], made: Sequence[Made], tools: Mapping[str, Tool[..., Any]]
) -> tuple[float, list[Difference], list[int]]:
    """The score, the differences, and the calls that go with an expected one."""
    wanted = [call for call in expected if not call.is_forbidden]
    table = [[pair_of(call, other) for other in made] for call in wanted]
    pairs = _pairs(table, wanted, made, in_order=case.order == "same")
    columns = [column for _, column in pairs]
    rows = {row for row, _ in pairs}
    strays = [column for column in range(len(made)) if column not in columns]
    extra = sum(_stray(case, made[column], tools) is not None for column in strays)
    differences = [found for row, column in pairs for found in table[row][column].differences]
    for row in (row for row in range(len(wanted)) if row not in rows):
        late = next((column for column in strays if table[row][column].score == 1), None)
        call, tool = wanted[row], tools.get(wanted[row].tool)
        kind: DifferenceKind = "missing_call" if late is None else "order"
        differences.append(difference_at(kind, call.tool, tool, expected=call.arguments))
        strays = [column for column in strays if column != late]
    differences += [found for column in strays if (found := _stray(case, made[column], tools)) is not None]
    forbidden = [call for call in expected if call.is_forbidden]
    happened = [call for call in made for rule in forbidden if is_happening(rule, call)]
    differences += [
        difference_at("forbidden_call", str(call.call.name), call.tool, actual=call.given) for call in happened
    ]
    total = max(len(wanted), len(pairs) + extra) + len(happened)
    earned = sum(table[row][column].score for row, column in pairs)
    return (earned / total if total else 1.0), differences, columns


def _stray(case: Case, made: Made, tools: Mapping[str, Tool[..., Any]]) -> Difference | None:
    """What is wrong with a call that no expected one goes with."""
    if made.call.name is None:
        return unknown_call(made, tools)
    return None if case.extra == "any" else difference_at("extra_call", made.call.name, made.tool, actual=made.given)


def _pairs(
    table: Sequence[Sequence[Pair]], wanted: Sequence[Expect], made: Sequence[Made], *, in_order: bool
) -> list[tuple[int, int]]:
    """Which expected call goes with which that was made: of one tool, and by the best sum of scores."""
    in_order = in_order and len({call.step for call in made}) > 1
    power = 2 if in_order else 1  # in order, one call that is right counts more than two that are half right
    scores = [
        [
            pair.score**power + (_SAME_TOOL if other.call.name == call.tool else 0)
            for pair, other in zip(row, made, strict=True)
        ]
        for row, call in zip(table, wanted, strict=True)
    ]
    found = best_in_steps(scores, [call.step for call in made]) if in_order else best_pairs(scores)
    return [(row, column) for row, column in found if scores[row][column] > 0]

"""A question to a model and the calls that are expected, and how a response is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from toolshape._bound.bound import Bound, bound_tools_of
from toolshape._plan.plan import Plan
from toolshape._records.errors import ResponseError, UsageError, did_you_mean
from toolshape._tools.tool import Tool
from toolshape.evals._answer import ExpectAnswer, JudgedAnswer, judge_answer
from toolshape.evals._assign import best_in_steps, best_pairs
from toolshape.evals._compare import (
    Made,
    Pair,
    as_unknown_call,
    check_expected,
    compare_call,
    difference_at,
    has_secrets,
    is_forbidden_call,
    mask_coercions,
    receive_call,
)
from toolshape.evals._expect import Expect
from toolshape.evals._verdict import Difference, DifferenceKind, Label, Verdict

if TYPE_CHECKING:
    from toolshape._conversation.conversation import Conversation


# Added to the score of a pair with the same tool: even a call with only wrong arguments is paired.
_SAME_TOOL = 1e-6


@dataclass(frozen=True, slots=True)
class Case:
    """One question to a model, and the expected calls.

    Args:
        name: The name in reports.
        messages: The question as a string, or a conversation that ends with the question.
        expected: The expected calls, and the forbidden calls (``never``). If no call is expected,
            the model should make no call. If you compare several sets of tools (tracks) whose tools
            have different names or arguments, pass a mapping from each track to its calls.
        order: ``"any"`` ignores the order of the calls. ``"same"`` requires the order of
            ``expected``. Calls in one response are parallel and have no order.
        extra: Whether additional calls are wrong (``"none"``) or ignored (``"any"``).
        answers: A mapping from each tool to the result that the model receives for a call of the
            tool. A result is a value, or a function that takes the tool's arguments and returns a
            value or raises ``ToolError``. If you pass ``answers``, ``evaluate`` sends the results
            and asks the model again, until the model makes no call or calls a tool without a
            result. The verdict covers the calls of all steps.
        most_steps: The maximal number of requests to the model.
        answer: The expected structured answer. If you pass it, each request offers the tools and
            also asks for the output of this answer. The case ends when the model gives an answer.
    """

    name: str
    messages: "str | Conversation" = ""
    expected: Sequence[Expect] | Mapping[str, Sequence[Expect]] = ()
    order: Literal["any", "same"] = "any"
    extra: Literal["none", "any"] = "none"
    answers: Mapping[Tool[..., Any] | str, Any] = field(default_factory=dict)
    most_steps: int = 10
    answer: ExpectAnswer | None = None

    def __post_init__(self) -> None:
        if self.order not in ("any", "same") or self.extra not in ("none", "any"):
            raise UsageError(
                f'order= must be "any" or "same", and extra= "none" or "any", not {self.order!r} '
                f"and {self.extra!r}"
            )
        by_track = self.expected.values() if isinstance(self.expected, Mapping) else [self.expected]
        invalid_calls = [call for calls in by_track for call in calls if not _is_expected(call)]
        if invalid_calls:
            raise UsageError(f"expected= takes Expect(tool, **arguments), not {invalid_calls[0]!r}")
        answer: Any = self.answer
        if answer is not None and not isinstance(answer, ExpectAnswer):
            raise UsageError(
                f"answer= takes ExpectAnswer(value), not {answer!r}; results of tools go into "
                "answers="
            )
        most_steps: Any = self.most_steps
        if not (type(most_steps) is int and most_steps > 0):
            raise UsageError(f"most_steps= must be a positive integer, not {most_steps!r}")

    def compare(self, bound: Bound, response: Any, *, track: str = "") -> Verdict:
        """Judge a response by the arguments that the functions would receive. No function is run.

        Args:
            bound: The tools as sent to the model. If the case expects an answer, bind the tools
                with its output.
            response: The response: an SDK object, a dict, JSON text or bytes.
            track: The set of tools in use, if ``expected`` is a mapping.

        Returns:
            The verdict. Its label is ``failed`` if the provider's family cannot read the response.

        Raises:
            UsageError: An expected tool does not exist, or rejects the expected arguments. Or the
                case expects an answer, but the tools are bound without an output.
        """
        check_expected(expected_calls(self, track), bound.tools)
        if self.answer is not None and bound_tools_of(bound).output is None:
            raise UsageError(
                f"the case {self.name!r} expects an answer: bind the tools with output="
            )
        try:
            plan = bound.plan(response)
        except ResponseError as error:
            if has_secrets(bound.tools):
                reason = type(error).__name__
            else:
                reason = str(error)
            return Verdict(case=self.name, label="failed", score=0.0, error=reason, track=track)
        return judge_plans(self, [plan], bound, track)


def _is_expected(given: Any) -> bool:
    return isinstance(given, Expect)


def expected_calls(case: Case, track: str) -> Sequence[Expect]:
    """Return the calls that a case expects for one set of tools.

    Raises:
        UsageError: The case has no entry for this track.
    """
    if not isinstance(case.expected, Mapping):
        return case.expected
    if track not in case.expected:
        hint = did_you_mean(track, case.expected)
        raise UsageError(
            f"the case {case.name!r} has expected calls for "
            f"{', '.join(map(repr, case.expected))}, but none for the"
            f" track {track!r}{f' ({hint})' if hint else ''}"
        )
    return case.expected[track]


def judge_plans(case: Case, plans: Sequence[Plan], bound: Bound, track: str = "") -> Verdict:
    """Judge the calls in one response to a case, or in several consecutive responses.

    Args:
        case: The case.
        plans: The parsed and validated responses of one model.
        bound: The tools as sent to that model.
        track: The set of tools in use.

    Raises:
        UsageError: A tool rejects the expected arguments.
    """
    handlers = bound_tools_of(bound).handlers
    actual_calls = [
        receive_call(result.call, result.error, handlers, step)
        for step, plan in enumerate(plans)
        for result in plan.results
        if result.call.reader is None or not result.call.reader.is_answer
    ]
    tools = {shape.name: shape.tool for shape in handlers.shapes.values()}
    if case.answer is None:
        answer = None
    else:
        answer = judge_answer(case.answer, plans[-1].results.output)
    score, differences, paired_positions = _compare_calls(
        case, expected_calls(case, track), actual_calls, tools, answer
    )
    coercions = tuple(
        coercion
        for position in paired_positions
        for coercion in mask_coercions(actual_calls[position])
    )
    coercions += () if answer is None else answer.coercions
    if coercions:
        label: Label = "right_after_coercion"
    else:
        label = "right"
    if differences:
        label = "wrong"
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


def _compare_calls(
    case: Case,
    expected: Sequence[Expect],
    made: Sequence[Made],
    tools: Mapping[str, Tool[..., Any]],
    answer: JudgedAnswer | None,
) -> tuple[float, list[Difference], list[int]]:
    """Compare the expected calls with the actual calls. An answer counts as one more expected call.

    Returns:
        The score, the differences, and the positions of the actual calls that are paired with an
        expected call.
    """
    # The pairing is one decision for all calls: paired one by one, an early call could take the
    # partner that a later one needs. A call that is right but late is one difference (its order),
    # not a missing and an extra call. The score divides by the larger of what was expected and what
    # was made, so that neither silence nor guessing pays.
    expected_calls = [call for call in expected if not call.is_forbidden]
    table = [[compare_call(call, actual_call) for actual_call in made] for call in expected_calls]
    pairs = _pairs(table, expected_calls, made, in_order=case.order == "same")
    paired_columns = [column for _, column in pairs]
    paired_rows = {row for row, _ in pairs}
    unpaired_columns = [column for column in range(len(made)) if column not in paired_columns]
    extra_count = sum(
        _extra_difference(case, made[column], tools) is not None for column in unpaired_columns
    )
    differences = [
        difference for row, column in pairs for difference in table[row][column].differences
    ]
    for row in (row for row in range(len(expected_calls)) if row not in paired_rows):
        late_column = next(
            (column for column in unpaired_columns if table[row][column].score == 1), None
        )
        call, tool = expected_calls[row], tools.get(expected_calls[row].tool)
        if late_column is None:
            kind: DifferenceKind = "missing_call"
        else:
            kind = "order"
        differences.append(difference_at(kind, call.tool, tool, expected=call.arguments))
        unpaired_columns = [column for column in unpaired_columns if column != late_column]
    differences += [
        stray
        for column in unpaired_columns
        if (stray := _extra_difference(case, made[column], tools)) is not None
    ]
    forbidden = [call for call in expected if call.is_forbidden]
    violations = [
        call
        for call in made
        for forbidden_call in forbidden
        if is_forbidden_call(forbidden_call, call)
    ]
    differences += [
        difference_at("forbidden_call", str(call.call.name), call.tool, actual=call.given)
        for call in violations
    ]
    total = max(len(expected_calls), len(pairs) + extra_count) + len(violations)
    earned = sum(table[row][column].score for row, column in pairs)
    if answer is not None:
        differences += answer.differences
        total, earned = total + 1, earned + answer.score
    return (earned / total if total else 1.0), differences, paired_columns


def _extra_difference(
    case: Case, made: Made, tools: Mapping[str, Tool[..., Any]]
) -> Difference | None:
    """Return the difference for an unpaired call, or ``None`` if the case ignores extra calls."""
    if made.call.name is None:
        return as_unknown_call(made, tools)
    if case.extra == "any":
        return None
    return difference_at("extra_call", made.call.name, made.tool, actual=made.given)


def _pairs(
    table: Sequence[Sequence[Pair]],
    wanted: Sequence[Expect],
    made: Sequence[Made],
    *,
    in_order: bool,
) -> list[tuple[int, int]]:
    """Pair expected calls with actual calls of the same tool.

    The pairs have the highest total score.
    """
    in_order = in_order and len({call.step for call in made}) > 1
    # If the order matters, one right call outweighs two half-right calls.
    power = 2 if in_order else 1
    scores = [
        [
            pair.score**power + (_SAME_TOOL if actual_call.call.name == call.tool else 0)
            for pair, actual_call in zip(row, made, strict=True)
        ]
        for row, call in zip(table, wanted, strict=True)
    ]
    if in_order:
        pairs = best_in_steps(scores, [call.step for call in made])
    else:
        pairs = best_pairs(scores)
    return [(row, column) for row, column in pairs if scores[row][column] > 0]

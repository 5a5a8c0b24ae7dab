"""``Case``: what a model is asked, and the calls that it should make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from toolshape.bound import Bound, handlers_of
from toolshape.dispatch.handler import Handlers
from toolshape.dispatch.plan import Plan
from toolshape.errors import ResponseError, UsageError
from toolshape.evals.assign import best_in_order, best_pairs
from toolshape.evals.compare import Made, Pair, check_expected, is_happening, made_of, pair_of
from toolshape.evals.expect import Expect
from toolshape.evals.verdict import Difference, DifferenceKind, Label, Verdict
from toolshape.tool import Tool

if TYPE_CHECKING:
    from toolshape.conversation import Conversation

__all__ = ["Case", "judged"]

_SAME_TOOL = 1e-6  # what a call of the right tool counts whose arguments are all wrong


@dataclass(frozen=True, slots=True)
class Case:
    """One question to a model, and the calls that answer it.

    Args:
        name: What reports call it.
        messages: What the model is asked, as a text or as a conversation that ends with it.
        expected: The calls that are to be made, and those that must not; none of the first: no call at all.
        order: Whether calls count in ``"any"`` order, or in the ``"same"`` as they are expected.
        extra: Whether calls beside these are wrong (``"none"``), or are left alone (``"any"``).
        answers: What the model reads of calls that it makes, by tool: a value, or a function of the tool's arguments that
            gives one, or raises ``ToolError``. The model is asked again with them, and the calls of all steps count
            together, until it makes none, or one of a tool without an answer.
        most_steps: How often the model is asked at most.
    """

    name: str
    messages: "str | Conversation" = ""
    expected: Sequence[Expect] = ()
    order: Literal["any", "same"] = "any"
    extra: Literal["none", "any"] = "none"
    answers: Mapping[Tool[..., Any] | str, Any] = field(default_factory=dict)
    most_steps: int = 10

    def __post_init__(self) -> None:
        if self.order not in ("any", "same") or self.extra not in ("none", "any"):
            raise UsageError(f'order is "any" or "same", extra "none" or "any", not {self.order!r} and {self.extra!r}')
        given: Sequence[Any] = self.expected
        strangers = [one for one in given if not isinstance(one, Expect)]
        if strangers:
            raise UsageError(f"what is expected are calls, as Expect(tool, **arguments), not {strangers[0]!r}")
        most: Any = self.most_steps
        if not (type(most) is int and most > 0):
            raise UsageError(f"most_steps= is how often a model is asked, 1 or more, not {most!r}")

    def compare(self, bound: Bound, response: Any) -> Verdict:
        """Judge a response, by what the functions would get; none of them is run.

        Args:
            bound: The tools as the model was sent them.
            response: SDK object, dict, JSON text or bytes.

        Returns:
            The verdict; ``failed`` where it is no response of the provider's family.

        Raises:
            UsageError: There is no tool that is expected, or it refuses the arguments that are expected of it.
        """
        check_expected(self.expected, bound.tools)
        try:
            plan = bound.plan(response)
        except ResponseError as error:
            return Verdict(case=self.name, label="failed", score=0.0, error=str(error))
        return judged(self, [plan], handlers_of(bound))


def judged(case: Case, plans: Sequence[Plan], handlers: Handlers) -> Verdict:
    """Judge the calls of one response to a case, or of several that follow one another.

    Args:
        case: The case.
        plans: The responses, of one model, read and validated.
        handlers: The handlers of the tools as that was sent them.

    Raises:
        UsageError: A tool refuses the arguments that are expected of it.
    """
    made = [made_of(one.call, one.error, handlers) for plan in plans for one in plan.results]
    score, differences, right = _compared(case, made)
    coercions = tuple(one for at in right for one in made[at].coercions)
    label: Label = "wrong" if differences else "right_after_coercion" if coercions else "right"
    return Verdict(
        case=case.name,
        label=label,
        score=score,
        differences=tuple(differences),
        coercions=coercions,
        finish=plans[-1].results.finish,
        steps=len(plans),
    )


def _compared(case: Case, made: Sequence[Made]) -> tuple[float, list[Difference], list[int]]:
    """The score, the differences, and the calls that go with an expected one."""
    wanted = [one for one in case.expected if not one.is_forbidden]
    table = [[pair_of(one, other) for other in made] for one in wanted]
    pairs = _pairs(table, wanted, made, in_order=case.order == "same")
    columns = [column for _, column in pairs]
    missing = [row for row in range(len(wanted)) if row not in {row for row, _ in pairs}]
    strays = [column for column in range(len(made)) if column not in columns]
    differences = [one for row, column in pairs for one in table[row][column].differences]
    for row in missing:
        late = next((column for column in strays if table[row][column].score == 1), None)
        kind: DifferenceKind = "missing_call" if late is None else "order"
        differences.append(Difference(kind=kind, tool=wanted[row].tool, expected=wanted[row].arguments))
        strays = [column for column in strays if column != late]
    differences += [one for column in strays if (one := _stray(case, made[column])) is not None]
    forbidden = [one for one in case.expected if one.is_forbidden]
    happened = [one for one in made for rule in forbidden if is_happening(rule, one)]
    differences += [Difference(kind="forbidden_call", tool=str(one.call.name), actual=one.given) for one in happened]
    extra = sum(_stray(case, made[at]) is not None for at in range(len(made)) if at not in columns)
    total = max(len(wanted), len(pairs) + extra) + len(happened)
    earned = sum(table[row][column].score for row, column in pairs)
    return (earned / total if total else 1.0), differences, columns


def _stray(case: Case, made: Made) -> Difference | None:
    """What is wrong with a call that no expected one goes with."""
    if made.call.name is None:
        return Difference(kind="unknown_tool", tool=made.call.wire_name, actual=made.call.arguments_raw)
    return None if case.extra == "any" else Difference(kind="extra_call", tool=made.call.name, actual=made.given)


def _pairs(
    table: Sequence[Sequence[Pair]], wanted: Sequence[Expect], made: Sequence[Made], *, in_order: bool
) -> list[tuple[int, int]]:
    """Which expected call goes with which that was made: of one tool, and by the best sum of scores."""
    power = 2 if in_order else 1  # in order, one call that is right counts more than two that are half right
    scores = [
        [
            pair.score**power + (_SAME_TOOL if other.call.name == one.tool else 0)
            for pair, other in zip(row, made, strict=True)
        ]
        for row, one in zip(table, wanted, strict=True)
    ]
    found = (best_in_order if in_order else best_pairs)(scores)
    return [(row, column) for row, column in found if scores[row][column] > 0]

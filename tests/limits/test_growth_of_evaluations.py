"""Time over doublings: evaluations, and the replay of long lines."""

import itertools
import json

import pytest
from growth import LINEAR, time_growth

from toolshape import Registry, tool
from toolshape.evals import Case, Expect, Run, Verdict
from toolshape.trace import record_to, replay


def linear(size):
    """Work in proportion to its size."""
    return lambda: sum(number * number for number in range(size))


def quadratic(size):
    """Each item looks at all the others, quickly: no function of Python is called."""
    numbers = list(range(size))
    return lambda: [number for number in numbers if -number - 1 in numbers]


@pytest.mark.parametrize(
    ("work", "small", "is_linear"), [(linear, 20_000, True), (quadratic, 200, False)]
)
def test_linear_and_quadratic_work_are_told_apart(work, small, is_linear):
    """The measure itself."""
    assert (time_growth(work, small) < LINEAR) is is_linear


@tool
def note(text: str = "", tags: set[str] = frozenset(), places: list[int] = []) -> str:
    """Never run here."""
    raise AssertionError("nothing runs a tool here")


TOOLS = Registry([note])
BOUND = TOOLS.bind("openai", False)


def response(*given):
    calls = [
        {
            "id": f"c{at}",
            "type": "function",
            "function": {"name": "note", "arguments": json.dumps(item)},
        }
        for at, item in enumerate(given)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return {
        "id": "r",
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
    }


def run_of(size):
    """A run of so many cases, two tracks and two models; half of the verdicts are wrong."""
    difference = (
        Case("x", expected=[Expect(note, text="a")])
        .compare(BOUND, response({"text": "b"}))
        .differences
    )
    columns = list(itertools.product(("old", "new"), ("one", "two")))
    verdicts = [
        Verdict(case=f"case {case}", label="right", score=1, track=track, model=model)
        if (case + number) % 2
        else Verdict(
            case=f"case {case}",
            label="wrong",
            score=0,
            track=track,
            model=model,
            differences=difference,
        )
        for case in range(size)
        for number, (track, model) in enumerate(columns)
    ]
    return Run(verdicts=tuple(verdicts))


def of_models(size):
    """A run of so many models, each asked two cases."""
    names = [(case, f"model {number}") for case in "ab" for number in range(size)]
    return Run(
        verdicts=tuple(
            Verdict(case=case, label="right", score=1, model=name) for case, name in names
        )
    )


def read_back(size):
    lines = run_of(size).to_json_lines()
    return lambda: Run.from_json_lines(lines)


def judged(expected, came):
    case, answer = Case("x", expected=[Expect(note, expected)]), response(came)
    return lambda: case.compare(BOUND, answer)


def many_tags(size):
    tags = [f"tag {number}" for number in range(size)]
    return judged({"tags": tags}, {"tags": tags[::-1]})


EVALUATIONS = {
    "a table": (lambda size: run_of(size).__str__, 200),
    "a page": (lambda size: run_of(size).to_html, 100),
    "a table of models": (lambda size: of_models(size).__str__, 200),
    "a page of models": (lambda size: of_models(size).to_html, 200),
    "a comparison": (lambda size: lambda run=run_of(size): run.compare(run), 200),
    "lines": (lambda size: run_of(size).to_json_lines, 100),
    "lines that are read": (read_back, 100),
    "a long text": (lambda size: judged({"text": "a" * size}, {"text": "a" * size}), 1_000_000),
    "a long list": (
        lambda size: judged({"places": [*range(size)]}, {"places": [*range(size)]}),
        300,
    ),
    "a large set": (many_tags, 300),
}


@pytest.mark.parametrize("stage", EVALUATIONS)
def test_evaluations(stage):
    """In proportion to the verdicts, and to what is compared."""
    work, small = EVALUATIONS[stage]
    assert time_growth(work, small) < LINEAR


def test_replay_of_a_long_line(tmp_path):
    """Each span looks for its own lines alone."""
    numbers = itertools.count()

    def work(size):
        path = tmp_path / f"{next(numbers)}.jsonl"
        tools = Registry([note])
        tools.observe(record_to(path, keep="all"))
        tools.bind("openai").dispatch(response({"text": "x" * size}))
        return lambda: replay(path, TOOLS)

    assert time_growth(work, 1_000_000, doublings=3) < LINEAR

"""The laws of formats in text, over drawn calls and drawn texts: every split reads as the whole, what is written is read."""

import json
import os
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from text_rows import ROWS
from zoo import CASES

from toolshape import Registry, UsageError, text, tool
from toolshape._bound.bound import bound_tools_of

FORMATS = [text_format.name for text_format in text.formats()]
EXAMPLES = 20 * int(os.environ.get("TOOLSHAPE_EXAMPLES", "2"))
EVERY = pytest.mark.parametrize("name", FORMATS)

SCHEMAS: dict[str, Any] = {
    "f": {
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "on": {"type": "boolean"},
            "maybe": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "items": {"type": "array"},
            "tree": {"type": "object"},
            "any": {},
        }
    }
}
MARKS = sorted(
    {mark for text_format in text.formats() for mark in (*text_format.marks, *text_format.quiet)}
)
PIECES = [
    "<",
    ">",
    "{",
    "}",
    '"',
    "\\",
    "\n",
    "'",
    "</parameter>",
    "]",
    " ",
    "x",
    "5",
    "null",
    *MARKS,
]
TEXTS = st.text() | st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "text": TEXTS,
        "count": st.integers(),
        "on": st.booleans(),
        "maybe": st.none() | st.integers(),
        "items": st.lists(VALUES, max_size=3),
        "tree": st.dictionaries(TEXTS, VALUES, max_size=3),
        "any": VALUES,
    },
)
CALLS = st.lists(st.tuples(st.just("f"), ARGUMENTS), min_size=1, max_size=3)


def encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def read_in_pieces(name: str, said: str, size: int) -> tuple[str, str, list[Any]]:
    reader = text.Reader(name, SCHEMAS)
    shown, thought, calls = "", "", []
    for at in range(0, len(said), size):
        calls += reader.feed(said[at : at + size])
        shown, thought = shown + reader.text, thought + reader.reasoning
    calls += reader.close()
    return shown + reader.text, thought + reader.reasoning, calls


@EVERY
@settings(max_examples=EXAMPLES, deadline=None)
@given(calls=CALLS, around=TEXTS, size=st.integers(1, 9))
def test_what_is_written_is_read_in_every_split(name: str, calls: Any, around: str, size: int):
    """Or it is refused; text may stand before."""
    try:
        written = text.write(name, calls, SCHEMAS)
    except UsageError:
        return
    found = text.read(name, written, SCHEMAS)
    read = [
        json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
        for call in found.calls
    ]
    assert read == [arguments for _, arguments in calls]
    for said in (written, around + written, written[: len(written) // 2], written + around):
        whole = text.read(name, said, SCHEMAS)
        assert read_in_pieces(name, said, size) == (whole.text, whole.reasoning, list(whole.calls))


@EVERY
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    pieces=st.lists(
        st.sampled_from([*PIECES, "{}", '{"name": "f", "arguments": {}}', "f"]), max_size=12
    ),
    size=st.integers(1, 9),
)
def test_any_text_reads_as_the_whole(name: str, pieces: list[str], size: int):
    """Marks of all formats in any order; nothing raises, and nothing is lost that is no mark."""
    said = "".join(pieces)
    whole = text.read(name, said)
    assert read_in_pieces(name, said, size) == (whole.text, whole.reasoning, list(whole.calls))


PROSE = [
    "A call is written between <tool_call> and </tool_call>, like `<function=f>`.",
    "if a < b and c[0] > {1: 2}[1]: print('[TOOL_CALLS]', \"<invoke\")",
    '<html><body><a href="x">functools is a module</a><br/></body></html>',
    '{"city": "Paris", "days": [1, 2, {"a": null}]}',
    "[1, 2, 3] and [f for f in g(x)]",
    "```python\ndef f(a=1):\n    return [f(a=1)]\n```",
    "<xml><parameter=1></parameter></xml> <|weird|> \uff5c \u2581 <think",
    "to=nobody <|message|> hello",
]


@EVERY
@pytest.mark.parametrize("said", PROSE)
def test_a_text_without_a_call_is_no_call(name: str, said: str):
    """Prose, code, markup and JSON."""
    found = text.read(name, said)
    assert found.calls == ()
    quiet = next(text_format.quiet for text_format in text.formats() if text_format.name == name)
    if not any(mark in said for mark in (*quiet, "<think")):
        assert found.text == said


@EVERY
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_zoo_is_called(name: str, case: Any):
    """What each function takes, written in the format and dispatched: what it gets at OpenAI."""
    bound = Registry([tool(case.function)]).bind(f"text:{name}")
    ((wire_name, shape),) = bound_tools_of(bound).shapes.items()
    arguments = shape.out(case.arguments) if shape.out else case.arguments
    try:
        written = text.write(name, [(wire_name, arguments)], {wire_name: shape.schema})
    except UsageError:
        assert text.formats()
        return
    [result] = bound.dispatch(written)
    assert result.value == case.seen
    assert not result.coercions


def test_few_of_the_zoo_are_refused():
    """A refusal is the exception."""
    refused = set()
    for name in FORMATS:
        for case_name, case in CASES.items():
            bound = Registry([tool(case.function)]).bind(f"text:{name}")
            ((wire_name, shape),) = bound_tools_of(bound).shapes.items()
            try:
                text.write(
                    name,
                    [(wire_name, shape.out(case.arguments) if shape.out else case.arguments)],
                    {wire_name: shape.schema},
                )
            except UsageError:
                refused.add((name, case_name))
    assert len(refused) < len(FORMATS) * len(CASES) // 50, sorted(refused)


def test_rows_are_of_every_format():
    """The rows of the unit tests, which are read in every split there."""
    assert {row.format for row in ROWS} == set(FORMATS)

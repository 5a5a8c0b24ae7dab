"""Contracts: what mutants of their comparison have shown to be untested."""

from jsonschema import Draft202012Validator

from toolshape import Registry, Tool
from toolshape.contract import diff, make_contract, render_page

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
OBJECT = {"type": "object", "properties": {"a": STRING}, "required": ["a"]}


def schema(node):
    return {
        "type": "object",
        "properties": {"p": node},
        "required": ["p"],
        "additionalProperties": False,
    }


def tools(node, **more):
    return Registry(
        [
            Tool.from_definition(
                {"name": "work", "description": "Work.", "inputSchema": schema(node)} | more
            )
        ]
    )


def changes(old, new):
    """The changes of a parameter; each witness is what the old schema takes and the new refuses, by jsonschema."""
    found = diff(tools(new), make_contract(tools(old))).changes
    for change in found:
        if change.level == "breaking":
            assert Draft202012Validator(schema(old)).is_valid(change.witness), change
            assert not Draft202012Validator(schema(new)).is_valid(change.witness), change
    return found


def test_other_properties_get_a_type():
    """Or lose it: where one of two is a schema, and the other no more than open or closed."""
    typed, closed = (
        {**OBJECT, "additionalProperties": INTEGER},
        {**OBJECT, "additionalProperties": False},
    )
    for old, new, level in (
        (OBJECT, typed, "breaking"),
        (typed, OBJECT, "compatible"),
        (typed, closed, "breaking"),
        (closed, typed, "compatible"),
    ):
        [change] = changes(old, new)
        assert (change.kind, change.level) == ("additionalProperties", level), change


def test_a_witness_is_as_long_as_it_must_be():
    """A text of one letter is repeated until it is refused."""
    text = {"type": "string", "pattern": "^x+$"}
    [change] = changes(text, {**text, "maxLength": 100})
    assert change.level == "breaking"
    assert set(change.witness["p"]) == {"x"}
    assert len(change.witness["p"]) > 100


def test_a_change_as_a_line():
    """Its level, its place, what happened in words, and the call that is refused now."""
    [change] = changes(INTEGER, {**INTEGER, "minimum": 1})
    value = change.witness["p"]
    assert str(change) == f'breaking: work.p: minimum: null -> 1; refused now: {{"p": {value}}}'
    found = diff(Registry([]), make_contract(tools(STRING)))
    assert str(found.changes[0]).startswith("breaking: work: tool removed: ")


def test_the_page_has_a_title():
    """One that says what it is, unless another is given."""
    assert "<title>Tools</title>" in render_page(tools(STRING), ["openai"])
    assert "<title>Mine</title>" in render_page(tools(STRING), ["openai"], title="Mine")

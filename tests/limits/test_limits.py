"""Work grows with size and no faster: of payloads, types, definitions, streams, and of the number of calls and tools."""

import asyncio
import json
import logging
import threading
import time
import types
from typing import Annotated, Any, Literal

import pytest
from function_calls import calls_in, growth
from pydantic import AfterValidator, Field
from typing_extensions import TypeAliasType

from toolshape import DefinitionError, ExportError, Registry, Tool, tool
from toolshape._records.errors import nearest
from toolshape._schema.lens import Change
from toolshape._schema.limits import sizes
from toolshape._schema.patterns import is_bounded
from toolshape._schema.recursion import recursive_groups
from toolshape._schema.union_branches import are_disjoint, fits
from toolshape._schema.values import append_text
from toolshape._schema.walk import everywhere

Json = TypeAliasType("Json", "dict[str, Json] | list[Json] | str | int | None")
Json.__value__  # resolved where it stands


def recursive(x: Json) -> int:
    return 1


def numbers(x: list[int]) -> int:
    return len(x)


def anything(x: Any = None) -> int:
    return 1


def body(*calls):
    told = [
        {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": text}}
        for index, (name, text) in enumerate(calls)
    ]
    return {
        "choices": [
            {
                "finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": None, "tool_calls": told},
            }
        ]
    }


def expressions(classes):
    """Models that contain each other through one union."""
    names = [f"N{index}" for index in range(classes)]
    source = "from typing import *\nfrom pydantic import *\n"
    for name in names:
        source += f"class {name}(BaseModel):\n    op: Literal['{name}']\n    arg: 'Expr'\n"
    source += "class Leaf(BaseModel):\n    op: Literal['leaf']\n    v: int\n"
    source += f"Expr = Annotated[Union[{', '.join(names)}, Leaf], Field(discriminator='op')]\n"
    source += "".join(f"{name}.model_rebuild()\n" for name in names)
    source += "def f(e: Expr): return 1\n"
    module = types.ModuleType("expressions")
    __import__("sys").modules["expressions"] = module
    exec(source, module.__dict__)
    return module.f


DEEP = '[{"a":' * 45 + "1.5" + "}]" * 45
HOSTILE = {
    "deep": '{"x":[' + ",".join([DEEP] * 20) + "]}",
    "very deep": '{"x":' + "[" * 50_000 + "]" * 50_000 + "}",
    "wrong items": '{"x":[' + ",".join(["1.5"] * 25_000) + "]}",
    "texts for numbers": '{"x":[' + ",".join(['"5"'] * 25_000) + "]}",
    "wrong objects": '{"x":[' + ",".join(['{"a":1.5}'] * 10_000) + "]}",
    "unknown fields": "{" + ",".join(f'"k{index}":1' for index in range(10_000)) + "}",
    "a key again and again": '{"x":{' + ",".join(['"k":1'] * 16_000) + "}}",
    "a long number": '{"x":' + "1" * 100_000 + "}",
    "a long name": '{"' + "a" * 100_000 + '":1}',
    "colons": '{"x":"' + ":" * 100_000 + '"}',
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("function", [recursive, numbers, anything])
@pytest.mark.parametrize("kind", ["lenient", "strict", "definition"])
def test_a_hostile_payload_is_answered(name, function, kind):
    """In bounded work, whoever validates; what is over the budget in one sentence."""
    made = tool(function)
    if kind == "definition":
        made = Tool.from_definition(
            {"name": function.__name__, "parameters": made.input_schema}, lambda **_: 1
        )
    bound = Registry([made]).bind("openai", strict=kind == "strict")
    bound.dispatch(body((function.__name__, "{}")))
    response = body((function.__name__, HOSTILE[name]))
    answered = []
    work = calls_in(lambda: answered.append(bound.dispatch(response)[0]))
    [result] = answered
    assert work < 8_000_000
    if result.error is not None and "cannot be processed" in str(result.error):
        assert result.error.code == "malformed_arguments"
        assert str(result.error).count("\n") == 0
    assert len(str(result.error)) < 6_000


def test_many_classes_that_contain_each_other():
    """Shown to every provider, in size and work that grow as their number does, and never hang."""
    exported = {}
    for classes in (5, 10, 20):
        f = expressions(classes)
        exported[classes] = {
            provider: len(json.dumps(Registry([f]).export(provider)))
            for provider in ("openai", "mcp", "gemini", "ollama")
        }
        result = Registry([f]).bind("gemini").dispatch(
            {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {
                "e": {"op": "N0", "arg": json.dumps({"op": "N1", "arg": {"op": "leaf", "v": 1}})}}}}]}}]}
        )[0]  # fmt: skip
        assert result.ok
    for provider in exported[5]:
        assert exported[20][provider] < 10 * exported[5][provider], provider


def doubling(node, levels=24):
    definitions = {f"a{index}": node(f"#/$defs/a{index + 1}") for index in range(levels)}
    parameters = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/a0"}},
        "$defs": {**definitions, f"a{levels}": {"type": "string"}},
    }
    return Tool.from_definition({"name": "t", "parameters": parameters}, lambda **_: 1)


def test_references_that_double():
    """Small definitions with as many ways through them as there are stars."""
    both = doubling(lambda reference: {"allOf": [{"$ref": reference}] * 2})
    for value in ('{"x":5}', '{"x":"a"}'):
        made = Registry([both]).bind("json-schema")
        assert (
            calls_in(
                lambda value=value, made=made: made.dispatch({"name": "t", "arguments": value})
            )
            < 200_000
        )
    fields = doubling(
        lambda reference: {
            "type": "object",
            "properties": {key: {"$ref": reference} for key in "ab"},
        }
    )
    assert calls_in(lambda: Registry([fields]).bind("openai")) < 200_000
    assert json.dumps(Registry([fields]).export("mcp")).count("$ref") > 20  # they stay


def test_a_definition_that_is_nothing_but_itself():
    """It asks nothing."""
    looped = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}},
    }
    made = Tool.from_definition({"name": "t", "parameters": looped}, lambda **k: k)
    assert made.call('{"x": 5}') == {"x": 5}


@pytest.mark.parametrize("levels", [60, 150, 400])
def test_deep_definitions(levels):
    """Read, or refused in words."""
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    try:
        made = Tool.from_definition(
            {"name": "t", "parameters": {"type": "object", "properties": {"x": schema}}},
            lambda **_: 1,
        )
    except DefinitionError as error:
        assert "nested too deeply" in str(error)
    else:
        assert made.export("json-schema")


PATTERNS = [
    (r"^(a+)+$", False),
    (r"(a|aa)*b", False),
    (r"(a*)*", False),
    (r"(.*)(.*)\1", False),
    (r"^[a-z]+@[a-z]+$", True),
    (r"^(ab|cd)e*$", True),
    (r"a{2,5}(b{1,3})+", False),
    (r"^(?!x)[a-z]*$", True),
]


@pytest.mark.parametrize(("pattern", "is_linear"), PATTERNS)
def test_which_patterns_python_may_match(pattern, is_linear):
    """None in which a repetition stands in another: a text that does not match takes twice as long with every letter."""
    assert is_bounded(pattern, 60) is is_linear
    assert fits("a" * 200 + "!", {"type": "string", "pattern": pattern}, lambda node: node) in (
        True,
        False,
    )
    assert not is_bounded(r"^a*b*c*d*$", 1_000)


def test_a_pattern_of_the_author_in_a_union():
    """Which branch a text belongs to is found without it."""

    def f(x: Annotated[str, Field(pattern=r"^(a+)+$")] | dict[str, int]) -> int:
        return 1

    bound = Registry([f]).bind("openai", strict=True)
    [result] = bound.dispatch(
        body(("f", json.dumps({"x": "a" * 40 + "!"})))
    )  # matched, this would take years
    assert result.error.code == "invalid_arguments"


def test_unknown_names_are_cheap():
    """Whatever the number of tools; the first few get a hint."""
    names = [f"tool_number_{index}" for index in range(2_000)]

    def made(name):
        return tool(name=name)(lambda a=1: a)

    def lookups(tools):
        bound = Registry(map(made, names[:tools])).bind("mistral")
        bound.dispatch(body(("nobody", "{}")))
        return calls_in(
            lambda: bound.dispatch(body(*[(f"tool_numbr_{index}x", "{}") for index in range(20)]))
        )

    assert lookups(2_000) < 3 * lookups(50)
    assert nearest("tool_numbr_17", names) == "tool_number_17"
    assert nearest("something else", names) is None
    results = (
        Registry([made("find_order")]).bind("openai").dispatch(body(*[("find_ordr", "{}")] * 30))
    )
    assert ["Did you mean" in result.text for result in results] == [True] * 10 + [False] * 20


def chunk(*parts, finish=None):
    return {
        "choices": [
            {
                "index": 0,
                "delta": {"tool_calls": list(parts)} if parts else {},
                "finish_reason": finish,
            }
        ]
    }


RUNS: list[int] = []


def counted(value: int) -> int:
    RUNS.append(value)
    return value


def note(a: Annotated[int, AfterValidator(counted)] = 1) -> int:
    return a


BOUND = Registry([note]).bind("openai")


def streamed(calls):
    """A stream of so many calls."""

    def run():
        collector = BOUND.collector()
        for index in range(calls):
            function = {"name": "note", "arguments": '{"a":1}'}
            collector.feed(chunk({"index": index, "id": f"c{index}", "function": function}))
        collector.feed(chunk(finish="tool_calls"))
        assert collector.close() == []
        return collector.plan().run()

    return run


def in_pieces(size):
    """An event of so many letters, in pieces."""
    function = {"name": "note", "arguments": json.dumps({"a": 1, "z": "x" * size})}
    event = f"data: {json.dumps(chunk({'index': 0, 'id': 'c', 'function': function}))}\n\n"

    def run():
        collector = BOUND.collector()
        for start in range(0, len(event), 50):
            collector.feed(event[start : start + 50])

    return run


def fragments(count):
    """Arguments in so many fragments."""

    def run():
        collector = BOUND.collector()
        collector.feed(
            chunk({"index": 0, "id": "c", "function": {"name": "note", "arguments": ""}})
        )
        for _ in range(count):
            collector.feed(chunk({"index": 0, "function": {"arguments": " "}}))

    return run


STAGES = {
    "calls of a stream": (streamed, 100),
    "pieces of an event": (in_pieces, 20_000),
    "fragments of arguments": (fragments, 500),
    "calls of a response": (
        lambda count: lambda: BOUND.dispatch(body(*[("note", '{"a":1}')] * count)),
        100,
    ),
    "calls of nobody's tools": (
        lambda count: lambda: BOUND.dispatch(body(*[("none", "{}")] * count)),
        100,
    ),
    "definitions": (
        lambda count: (
            lambda: recursive_groups({f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(count)})
        ),
        300,
    ),
}


@pytest.mark.parametrize("stage", STAGES)
def test_growth(stage):
    """Work is in proportion to what there is."""
    work, small = STAGES[stage]
    assert growth(work, small) < 1.3


def test_each_streamed_call_is_validated_once():
    """When the plan is made."""
    RUNS.clear()
    streamed(100)()
    assert len(RUNS) == 100


def test_small_pieces_are_joined_in_place():
    """Nothing else refers to a text while a piece is added, so that CPython extends it instead of copying it."""
    holder = {"text": "a"}
    held = []

    class Piece(str):
        __slots__ = ()

        def __radd__(self, other: str) -> str:
            held.append(holder["text"])
            return other + str(self)

    append_text(holder, "text", Piece("b"))
    assert (held, holder) == ([None], {"text": "ab"})


def test_how_deep_is_told_without_walking_every_way():
    """The levels of definitions that contain each other."""
    definitions = {
        f"d{number}": {
            "type": "object",
            "properties": {f"p{other}": {"$ref": f"#/$defs/d{other}"} for other in range(30)},
        }
        for number in range(30)
    }
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions}
    found = []

    def look(node, at):
        if at.is_root:
            found.append(sizes(properties=5_000, levels=10)(node, at))

    assert (
        calls_in(lambda: everywhere(lambda node, at: look(node, at) and Change(node=node))(schema))
        < 2_000_000
    )
    assert found == [None]


def test_branches_are_told_apart_in_bounded_work():
    """However many there are, and whatever they hold."""
    branch = {"type": "object", "properties": {"x": {"$ref": "#/$defs/u"}}, "required": ["x"]}
    union = {"anyOf": [dict(branch) for _ in range(30)]}
    assert (
        calls_in(
            lambda: are_disjoint(
                union,
                union,
                lambda node: union if isinstance(node, dict) and "$ref" in node else node,
            )
        )
        < 500_000
    )


def test_threads_are_bounded(caplog):
    """Of calls with a deadline, whether they keep it or not; each is answered."""
    caplog.set_level(logging.CRITICAL)
    peak = [0]

    @tool(timeout=20)
    def quick() -> None:
        peak[0] = max(peak[0], threading.active_count())
        time.sleep(0.01)

    @tool(timeout=0.05)
    def slow() -> None:
        peak[0] = max(peak[0], threading.active_count())
        time.sleep(0.6)

    before = threading.active_count()
    results = asyncio.run(
        Registry([quick]).bind("openai").adispatch(body(*[("quick", "{}")] * 300))
    )
    assert results.ok
    results = asyncio.run(Registry([slow]).bind("openai").adispatch(body(*[("slow", "{}")] * 100)))
    assert {result.error.code for result in results} == {"tool_timeout"}
    assert peak[0] - before <= 40


def test_a_choice_of_very_many():
    """Refused at once."""

    def f(x: Literal[tuple(f"v{index}" for index in range(3_000))]) -> str:  # type: ignore[valid-type]
        return x

    made = tool(f)
    bound = Registry([made]).bind("json-schema")
    bound.dispatch({"name": "f", "arguments": '{"x": "w"}'})
    assert calls_in(lambda: bound.dispatch({"name": "f", "arguments": '{"x": "w"}'})) < 100_000


def test_hostile_definitions_end():
    """References that double, and nesting without end, are refused with a sentence."""
    doubling = {
        f"D{i}": {"type": "array", "prefixItems": [{"$ref": f"#/$defs/D{i + 1}"}] * 2}
        for i in range(40)
    }
    made = Tool.from_definition(
        {
            "name": "f",
            "parameters": {
                "properties": {"x": {"$ref": "#/$defs/D0"}},
                "$defs": {**doubling, "D40": {}},
            },
        }
    )
    with pytest.raises(ExportError, match="split the tool"):
        made.export("gemini")
    deep = {"type": "string"}
    for _ in range(5000):
        deep = {"type": "array", "items": deep}
    with pytest.raises(DefinitionError):
        Tool.from_definition(
            {"name": "f", "parameters": {"type": "object", "properties": {"x": deep}}}
        )


def test_more_properties_than_a_provider_takes():
    """Counted as the provider counts."""
    schema = {f"p{number}": {"type": "string"} for number in range(5001)}
    made = Tool.from_definition(
        {"name": "f", "parameters": {"type": "object", "properties": schema}}
    )
    with pytest.raises(ExportError, match="5001 properties"):
        made.export("openai", strict=True)

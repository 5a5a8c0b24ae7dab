"""Definitions that a registry gets are read when they are used; what needs no reading is refused at once."""

import asyncio
import copy
import json
import pickle
import threading

import pytest

from toolshape import DefinitionError, Registry, Tool, UsageError

UNREADABLE = {"type": "object", "properties": {"x": {"type": "objct"}}}
READABLE = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


def definition(name, schema=READABLE, **keys):
    return {"name": name, "description": "D.", "inputSchema": schema, **keys}


def of_two_that_cannot_be_read(**options):
    tools = Registry()
    given = [
        definition("good"),
        definition("bad", UNREADABLE),
        definition("worse", {"type": "array"}),
    ]
    tools.add_definitions(given, {"good": lambda x: x + 1}, **options)
    return tools


def test_what_cannot_be_read_is_one_error_that_names_all():
    tools = of_two_that_cannot_be_read()
    for use in (lambda: tools.bind("openai"), tools.check, lambda: tools.request("anthropic")):
        with pytest.raises(DefinitionError) as caught:
            use()
        assert caught.value.tool == "bad, worse"
        assert [problem.path for problem in caught.value.problems] == ["bad.x", "worse"]
        assert "'objct' is not a JSON Schema type" in str(caught.value)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert [tool.name for tool in tools] == ["good", "bad", "worse"]


def test_a_tool_that_can_be_read_is_used_beside_one_that_cannot():
    tools = of_two_that_cannot_be_read(tags=["imported"])
    assert tools["good"].call({"x": 1}) == 2
    chosen = tools.subset(exclude=["bad", "wors*"])
    [result] = chosen.dispatch({"name": "good", "arguments": {"x": 1}}, provider="mcp")
    assert result.value == 2
    assert tools.subset(["good"], tags=["imported"]).bind("openai").export()
    with pytest.raises(DefinitionError, match="bad cannot be a tool"):
        tools["bad"].input_schema


@pytest.mark.parametrize(
    "look",
    [
        lambda tool: tool.description,
        lambda tool: tool.effects,
        lambda tool: tool.spec,
        lambda tool: tool.findings,
        lambda tool: tool.call({}),
        lambda tool: tool.export("openai"),
        pickle.dumps,
    ],
)
def test_each_look_at_a_tool_reads_it(look):
    tool = of_two_that_cannot_be_read()["bad"]
    assert (tool.name, repr(tool), tool.function, tool.tags) == (
        "bad",
        "<tool bad>",
        None,
        frozenset(),
    )
    with pytest.raises(DefinitionError, match="objct"):
        look(tool)


def test_what_needs_no_reading_is_refused_at_once_and_together():
    tools = Registry([Tool.from_definition(definition("here"))])
    given = [
        3,
        "not json",
        {"inputSchema": READABLE},
        definition("fine"),
        definition("twice"),
        definition("twice"),
        definition("to.do"),
        definition("to_do"),
        definition("here"),
        definition("number", 1),
    ]
    with pytest.raises(DefinitionError) as caught:
        tools.add_definitions(given, {"nobody": print})
    text = str(caught.value)
    assert [(problem.path, problem.rule) for problem in caught.value.problems] == [
        ("a definition", "form"),
        ("a definition", "json"),
        ("a definition.name", "name"),
        ("number", "type"),
        ("nobody.functions", "no_definition"),
        ("twice.name", "name_taken"),
        ("to_do.name", "name_meets"),
        ("here.name", "name_taken"),
    ], text
    assert [tool.name for tool in tools] == ["here"]


def test_a_definition_is_read_as_it_was_given():
    """A change of the given data after the call does not reach the tool."""
    given, documents = [definition("f", {"$ref": "urn:d"})], {"urn:d": copy.deepcopy(READABLE)}
    tools = Registry()
    tools.add_definitions(given, documents=documents)
    given[0]["inputSchema"]["$ref"] = "urn:other"
    given[0]["name"] = "g"
    documents["urn:d"]["properties"]["x"]["type"] = "string"
    assert tools["f"].input_schema["properties"] == {"x": {"type": "integer"}}


def test_a_read_tool_is_as_one_that_was_read_at_once():
    """Its options, and what the definition says of itself."""
    given = definition("f", title="T", annotations={"readOnlyHint": True}, icons=[])
    tools = Registry()
    [added] = tools.add_definitions([json.dumps(given)], {"f": lambda x: x}, timeout=3)
    at_once = Tool.from_definition(given, lambda x: x, timeout=3)
    assert (added.spec, added.effects, added.timeout) == (
        at_once.spec,
        at_once.effects,
        at_once.timeout,
    )
    assert added.export("mcp") == at_once.export("mcp")


def test_a_renamed_tool_is_read_when_it_is_used():
    tools = of_two_that_cannot_be_read(tags=["t"]).prefixed("p")
    assert [(tool.name, tool.tags) for tool in tools] == [
        ("p_good", {"t"}),
        ("p_bad", {"t"}),
        ("p_worse", {"t"}),
    ]
    assert tools["p_good"].call({"x": 1}) == 2
    assert tools["p_good"].export("openai")["function"]["name"] == "p_good"
    with pytest.raises(DefinitionError, match="objct"):
        tools["p_bad"].export("openai")


def test_threads_read_one_record():
    tools = Registry()
    [tool] = tools.add_definitions([definition("f")])
    start, found = threading.Barrier(8), []

    def look():
        start.wait()
        found.append(tool._record)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(record) for record in found}) == 1


class Runner:
    """Runs every call, and keeps what it was given."""

    def __init__(self):
        self.seen = []

    def __call__(self, name, arguments, context):
        self.seen.append((name, arguments, context.call.id, context.tool.name))
        return f"{name} ran"


class AsyncRunner(Runner):
    async def __call__(self, name, arguments, context):
        await asyncio.sleep(0)
        return super().__call__(name, arguments, context)


def of_executor(executor, **schema):
    tools = Registry()
    given = [definition("a.b"), definition("own"), definition("odd", {"type": "object", **schema})]
    tools.add_definitions(given, {"own": lambda x: f"own {x}"}, executor=executor)
    return tools


def calls(*pairs):
    return [
        {"id": f"c{at}", "name": name, "arguments": given} for at, (name, given) in enumerate(pairs)
    ]


@pytest.mark.parametrize("made", [Runner, AsyncRunner])
def test_one_function_runs_every_imported_name(made):
    """By the names in the definitions, with the context of the call; an own function comes first."""
    executor = made()
    fields = {
        name: {"type": "integer"} for name in ("executor", "name", "context", "self", "class")
    }
    tools = of_executor(executor, properties=fields)
    given = {"executor": 1, "name": 2, "context": 3, "self": 4, "class": 5}
    made_calls = calls(("renamed", {"x": "1"}), ("own", {"x": 2}), ("odd", given), ("renamed", {}))
    results = tools.renamed({"a.b": "renamed"}).dispatch(made_calls, provider="json-schema")
    assert [result.value for result in results[:3]] == ["a.b ran", "own 2", "odd ran"]
    assert results[3].error.code == "invalid_arguments"
    assert executor.seen == [("a.b", {"x": 1}, "c0", "renamed"), ("odd", given, "c2", "odd")]


def test_an_async_executor_runs_in_the_loop():
    tools = of_executor(AsyncRunner())
    [result] = asyncio.run(tools.adispatch(calls(("a.b", {"x": 1})), provider="json-schema"))
    assert result.value == "a.b ran"


def test_what_is_no_function_runs_nothing():
    with pytest.raises(UsageError, match="executor= must be a function"):
        Registry().add_definitions([definition("f")], executor="f")


def test_a_tool_of_an_executor_is_pickled_with_it():
    tool = pickle.loads(pickle.dumps(of_executor(Runner())["a.b"]))
    assert tool.call({"x": 1}) == "a.b ran"

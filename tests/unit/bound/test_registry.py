"""The registry and its bounds: names, snapshots, choices, which shape reads a response."""

import asyncio
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import pytest

import toolshape
from toolshape import DefinitionError, ExportError, Registry, ResponseError, UsageError, tool
from toolshape._bound.bound import bound_tools_of
from toolshape._bound.registry import store_of
from toolshape._families import get
from toolshape._families.names import available
from toolshape._families.wire.provider import ProviderName


@tool(tags=["read"])
def find(place: str) -> str:
    """Find."""
    return place


@tool(tags=["write", "slow"])
def keep(place: str) -> None:
    """Keep."""


def test_editors_complete_the_names_of_providers():
    """All of this package's."""
    assert set(get_args(ProviderName)) == set(available())


@pytest.fixture
def impatient():
    """Threads take turns at every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(*work):
    """Do these in threads of their own; each begins when all are there."""
    together = threading.Barrier(len(work))

    def begin(one):
        together.wait()
        return one()

    with ThreadPoolExecutor(len(work)) as threads:
        return list(threads.map(begin, work))


@pytest.mark.usefixtures("impatient")
def test_no_tool_is_lost_that_several_threads_add():
    """By whatever verb; and what was bound before has what it had."""
    tools = Registry([find])
    bound = tools.bind("anthropic")
    heard = []
    tools.on_change(lambda: heard.append(len(tools)))

    def definitions(thread):
        entries = [
            {"name": f"d{thread}_{number}", "inputSchema": {"type": "object"}}
            for number in range(20)
        ]
        return lambda: [tools.add_definitions([entry]) for entry in entries]

    def plain(thread):
        made = [tool(name=f"p{thread}_{number}")(lambda: 1) for number in range(20)]
        return lambda: [tools.add(item) for item in made]

    at_once(*(definitions(thread) for thread in range(8)), *(plain(thread) for thread in range(8)))
    expected = {
        "find",
        *(f"{kind}{number}_{two}" for kind in "dp" for number in range(8) for two in range(20)),
    }
    assert {tool.name for tool in tools} == expected
    assert [item["name"] for item in bound.export()] == ["find"]
    assert len(tools.bind("anthropic").export()) == len(expected)
    assert len(heard) == 16 * 20


def test_of_definitions_with_a_name_that_is_taken_none_is_added():
    tools = Registry([find])
    for names in (["new", "find"], ["new", "new"]):
        with pytest.raises(DefinitionError, match="is already defined at"):
            tools.add_definitions(
                [{"name": name, "inputSchema": {"type": "object"}} for name in names]
            )
    assert [tool.name for tool in tools] == ["find"]


def test_a_registry_is_a_collection():
    """In insertion order, by name."""
    registry = Registry([find])
    added = registry.add(keep)
    assert added is keep is registry["keep"]
    assert (len(registry), list(registry), "find" in registry, "x" in registry) == (
        2,
        [find, keep],
        True,
        False,
    )
    assert (
        find in registry,
        keep in registry,
        tool(find, name="x") in registry,
        5 in registry,
    ) == (
        True,
        True,
        False,
        False,
    )
    assert list(registry.subset(names=["keep"])) == [keep]
    assert list(registry.subset(tags=["read", "slow"])) == [find, keep]
    assert list(registry.subset(names=["find"], tags=["slow"])) == []
    with pytest.raises(KeyError):
        registry.subset(names=["lost"])
    with pytest.raises(KeyError):
        registry["lost"]


def test_tool_as_decorator_of_a_registry():
    """Bare and with options; undecorated functions are taken too."""
    registry = Registry()

    @registry.tool
    def one() -> int:
        return 1

    @registry.tool(name="zwei", tags=["x"])
    def two() -> int:
        return 2

    def three() -> int:
        return 3

    registry.add(three)
    assert [t.name for t in registry] == ["one", "zwei", "three"]
    assert (one(), two(), registry["three"]()) == (1, 2, 3)


def test_two_tools_of_one_name_are_refused():
    """Naming both places."""

    @tool(name="find")
    def other() -> None: ...

    with pytest.raises(
        DefinitionError, match=rf"already defined at .*{__name__.split('.')[-1]}.py:\d+"
    ) as caught:
        Registry([find, other])
    assert caught.value.problems[0].rule == "name_taken"


def test_a_bound_does_not_change():
    """``add`` makes the next bound; the one that exists stays."""
    registry = Registry([find])
    bound = registry.bind("openai")
    assert registry.bind("openai") is bound
    registry.add(keep)
    assert len(bound.export()) == 1
    assert len(registry.bind("openai").export()) == 2
    assert json.dumps(bound.export()) == json.dumps(
        registry.subset(names=["find"]).export("openai")
    )


def test_names_that_a_provider_refuses():
    """Repaired, each by itself and injectively, and mapped back; reported; a collision names both."""
    names = ["a.b", "a-b", "a_c", "größe", "x" * 100, "7th", "find order!", "a.b.c"]
    registry = Registry(tool(name=name)(lambda: 1) for name in names)
    for provider in ("openai", "anthropic", "gemini", "bedrock", "mcp"):
        shown = registry.bind(provider)
        wire = [shape.wire_name for shape in bound_tools_of(shown).shapes.values()]
        assert len(set(wire)) == len(names)
        rule = get(provider).names
        assert all(rule.admits(name) for name in wire)
        assert Registry([registry["a.b"]]).bind(provider).names_by_wire_name().keys() <= set(wire)
        renamed = {entry.tool for entry in shown.report() if entry.kind == "renamed"}
        assert renamed == {name for name in names if not rule.admits(name)}
    openai_name = registry["a.b"].export("openai")["function"]["name"]
    call = {"id": "c", "function": {"name": openai_name, "arguments": "{}"}}
    [result] = registry.dispatch({"choices": [{"message": {"tool_calls": [call]}}]})
    assert (result.call.name, result.call.wire_name, result.value) == ("a.b", openai_name, 1)
    assert (
        registry.request("openai", choice="a.b")["tool_choice"]["function"]["name"] == openai_name
    )
    assert registry.export("json-schema")[0]["name"] == "a.b"
    collision = Registry([registry["a.b"], tool(name=openai_name)(lambda: 2)])
    with pytest.raises(
        ExportError,
        match=r"'a\.b' and 'a_b' both become 'a_b': call one .* renamed\(\) or prefixed\(\)",
    ):
        collision.export("openai")


def test_unknown_provider():
    """There are these."""
    with pytest.raises(ExportError, match=r"anthropic.*json-schema.*openai"):
        Registry([find]).export("nobody")
    assert {"openai", "anthropic", "json-schema"} <= set(available())


REQUESTS = [
    ("gemini", {}, {}),
    ("gemini", {"choice": "none"}, {"mode": "NONE"}),
    ("gemini", {"choice": "required"}, {"mode": "ANY"}),
    ("gemini", {"choice": "find"}, {"mode": "ANY", "allowedFunctionNames": ["find"]}),
    ("bedrock", {"choice": "auto"}, {"toolChoice": {"auto": {}}}),
    ("bedrock", {"choice": "required"}, {"toolChoice": {"any": {}}}),
    ("bedrock", {"choice": "find"}, {"toolChoice": {"tool": {"name": "find"}}}),
    ("openai-responses", {"choice": "find"}, {"tool_choice": {"type": "function", "name": "find"}}),
    ("mcp", {}, {}),
    ("openai", {}, {}),
    ("openai", {"choice": "auto"}, {"tool_choice": "auto"}),
    ("openai", {"choice": "none"}, {"tool_choice": "none"}),
    (
        "openai",
        {"choice": "required", "parallel": False},
        {"tool_choice": "required", "parallel_tool_calls": False},
    ),
    (
        "openai",
        {"choice": "find"},
        {"tool_choice": {"type": "function", "function": {"name": "find"}}},
    ),
    ("anthropic", {}, {}),
    ("anthropic", {"choice": "required"}, {"tool_choice": {"type": "any"}}),
    ("anthropic", {"choice": "none", "parallel": False}, {"tool_choice": {"type": "none"}}),
    (
        "anthropic",
        {"parallel": False},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ),
    (
        "anthropic",
        {"choice": "find", "parallel": True},
        {"tool_choice": {"type": "tool", "name": "find", "disable_parallel_tool_use": False}},
    ),
    ("json-schema", {"choice": "auto"}, {}),
]


@pytest.mark.parametrize(("provider", "asked", "said"), REQUESTS)
def test_request(provider, asked, said):
    """The keywords for the SDK call, in the provider's words."""
    registry = Registry([find, keep], strict=False)
    made = registry.request(provider, **asked)
    if provider == "gemini":
        made = made["config"]
        said = {"toolConfig": {"functionCallingConfig": said}} if said else {}
    if provider == "bedrock":
        made = made["toolConfig"]
    assert made == {"tools": registry.export(provider), **said}


def test_request_refuses_what_cannot_be_said():
    """A tool that is not there, a choice that has no word."""
    registry = Registry([find])
    with pytest.raises(ExportError, match='did you mean "find"'):
        registry.request("openai", choice="fnd")
    for provider, asked in (
        ("json-schema", {"choice": "required"}),
        ("json-schema", {"parallel": False}),
        ("mcp", {"choice": "find"}),
        ("gemini", {"parallel": False}),
        ("bedrock", {"choice": "none"}),
        ("bedrock", {"parallel": False}),
    ):
        with pytest.raises(ExportError, match=r"leave out (choice|parallel)=|in the prompt"):
            registry.request(provider, **asked)
    assert Registry().request("openai") == {}


OPENAI = {
    "choices": [
        {
            "message": {
                "tool_calls": [
                    {"id": "c", "function": {"name": "find", "arguments": '{"place": "x"}'}}
                ]
            }
        }
    ]
}
ANTHROPIC = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t", "name": "find", "input": {"place": "x"}}],
}


@pytest.mark.parametrize(("body", "provider"), [(OPENAI, "openai"), (ANTHROPIC, "anthropic")])
def test_the_form_of_a_response_finds_its_family(body, provider):
    """Never bound: the family's default reads it. Text and bytes are read too."""
    for form in (body, json.dumps(body), json.dumps(body).encode()):
        [result] = Registry([find]).dispatch(form)
        assert (result.value, result.call.provider) == ("x", provider)


@tool
def count(items: dict[str, int]) -> int:
    """Count items."""
    return sum(items.values())


def call_to_count(arguments):
    function = {"name": "count", "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    return {"choices": [{"finish_reason": "tool_calls", "message": message}]}


def test_a_second_provider_of_a_family_does_not_stand_in_the_way():
    """Both read the same calls: the one last asked for a request answers."""
    registry = Registry([find])
    registry.request("openai")
    assert registry.dispatch(OPENAI)[0].call.provider == "openai"
    registry.request("groq")
    registry.export("openai", strict=False)  # a look is no request
    assert registry.dispatch(OPENAI)[0].call.provider == "groq"
    registry.request("openai")
    assert registry.dispatch(OPENAI)[0].call.provider == "openai"
    assert registry.dispatch(OPENAI, provider="groq")[0].call.provider == "groq"
    registry.add(keep)
    assert registry.dispatch(OPENAI)[0].ok
    assert (
        store_of(registry.subset(names=["find"])).contents.used == store_of(registry).contents.used
    )


def test_shapes_that_read_a_response_differently_ask_which():
    """A list of pairs is a map where it was sent as one, and no map elsewhere."""
    registry = Registry([count])
    registry.request("openai", strict=True)
    registry.request("groq", strict=False)
    pairs = call_to_count({"items": [{"key": "a", "value": 2}]})
    with pytest.raises(
        UsageError, match=r"groq \(strict=False\), openai \(strict=True\) read .* pass provider="
    ):
        registry.dispatch(pairs)
    assert registry.dispatch(pairs, provider="openai")[0].value == 2
    assert (
        registry.dispatch(call_to_count({"items": {"a": 2}}))[0].value == 2
    )  # in canonical form, for both the same
    both = Registry([count])
    both.request("openai", strict=True)
    both.request("openai", strict=False)
    with pytest.raises(UsageError, match="call dispatch on the Bound"):
        both.dispatch(pairs)


@pytest.mark.parametrize(
    ("registry_wish", "bind_wish", "tool_wish", "strict"),
    [
        ("auto", None, None, True),
        ("auto", None, False, False),
        (False, None, None, False),
        (False, True, None, True),
        (True, False, None, False),
        (False, False, True, True),
        (True, None, False, False),
    ],
)
def test_who_decides_on_strict(registry_wish, bind_wish, tool_wish, strict):
    """The registry, over it the bind, over it the tool."""

    @tool(strict=tool_wish)
    def plain(a: int, b: int = 1) -> int:
        return a + b

    registry = Registry([plain], strict=registry_wish)
    assert registry.export("openai", strict=bind_wish)[0]["function"].get("strict", False) is strict


def test_auto_is_strict_only_without_a_trace():
    """Maps, tuples, text for anything: lenient; it depends on nothing else in the registry."""

    @tool
    def maps(m: dict[str, int]) -> None: ...

    @tool
    def plain(a: int | None = 5, b: str = "x") -> None: ...

    for tools in ([maps], [plain, maps], [maps, plain]):
        shown = {t["function"]["name"]: t["function"] for t in Registry(tools).export("openai")}
        assert "strict" not in shown["maps"]
        assert shown.get("plain", {"strict": True})["strict"] is True
    with pytest.raises(ExportError, match="json-schema has no strict form"):
        Registry([plain]).export("json-schema", strict=True)
    assert Registry([plain]).request("gemini")["config"]["toolConfig"] == {
        "functionCallingConfig": {"mode": "VALIDATED"}
    }
    assert "toolConfig" not in Registry([plain]).request("gemini", strict=False)["config"]


def test_report():
    """A table for people, data for programs: tool, path, rule, kind, severity."""

    @tool
    def lookup(m: dict[str, int], q: str = "x") -> None:
        """Look up."""

    report = Registry([lookup]).bind("openai", strict=True).report()
    assert {(e.tool, e.path, e.rule, e.kind, e.severity) for e in report} == {
        ("lookup", "m", "additionalProperties", "reshaped", "mapped_back"),
        ("lookup", "m", "uniqueItems", "widened", "not_enforced"),
        ("lookup", "q", "required", "reshaped", "mapped_back"),
        ("lookup", "q", "default", "moved", "not_enforced"),
    }
    assert str(report).splitlines()[0].split() == [
        "tool",
        "path",
        "rule",
        "kind",
        "severity",
        "note",
    ]
    assert json.loads(report.json) == report.data
    assert str(Registry([find]).bind("openai").report()) == "nothing changed, nothing found"


def test_export_of_what_few_readers_take():
    """Half a surrogate pair, and a default that is nested deeply, are sent as they are."""
    deep: Any = 1
    for _ in range(250):
        deep = [deep]

    @toolshape.tool(description="Take \ud800.")
    def take(x: Any = deep) -> None: ...

    [shown] = Registry([take]).export("openai", strict=False)
    assert shown["function"]["description"] == "Take \ud800."
    assert json.dumps(shown).count("[" * 250) == 1


def test_calls_of_a_plan_and_encode():
    """The calls alone, and results in an order of one's own."""
    bound = Registry([find]).bind("openai")
    [call] = bound.plan(OPENAI).calls
    assert (call.name, call.arguments) == ("find", {"place": "x"})
    results = bound.dispatch(OPENAI)
    assert (
        bound.results_as_messages(results)
        == results.messages
        == [{"role": "tool", "tool_call_id": "c", "content": "x"}]
    )
    assert bound.results_as_messages([]) == []


def test_a_response_of_another_family():
    """Told, not misread."""
    with pytest.raises(ResponseError, match="anthropic, not of openai"):
        Registry([find]).bind("openai").plan(ANTHROPIC)


def test_the_public_face():
    """What is exported is there, and nothing else is public."""
    assert sorted(toolshape.__all__) == toolshape.__all__
    public = {name for name in vars(toolshape) if not name.startswith("_")}
    modules = {name for name in public if type(vars(toolshape)[name]).__name__ == "module"}
    later = set(toolshape._LATER)
    assert (public - modules) | later == set(toolshape.__all__) <= set(dir(toolshape))
    for name in later:
        assert getattr(toolshape, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'Conversatoin'"):
        toolshape.Conversatoin


def test_a_keyword_that_there_is_none_of_is_refused_before_anything_runs():
    """Whoever misspells ``inject`` must not run a tool without it, nor find half a turn in the conversation."""
    ran = []

    def send(text: str) -> None:
        ran.append(text)

    registry = Registry([send])
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "send", "arguments": '{"text": "a"}'},
    }
    response = {
        "choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]
    }
    talk = toolshape.Conversation(registry)
    for verb in (registry.dispatch, registry.bind("openai").dispatch, talk.dispatch):
        with pytest.raises(TypeError, match="no keyword 'injct': did you mean \"inject\""):
            verb(response, injct={})
    for verb in (registry.adispatch, registry.bind("openai").adispatch, talk.adispatch):
        with pytest.raises(TypeError, match="no keyword 'ledgers'"):
            asyncio.run(verb(response, ledgers=None))
    assert (ran, len(talk)) == ([], 0)


def test_a_cell_that_is_run_twice_replaces_its_tool():
    """A function of a module that is defined again is the new one; another function of the same name is refused."""
    space = {"__name__": "__main__"}
    code = "def greet(name: str) -> str:\n    '''Greet.'''\n    return 'WORD ' + name\n"
    exec(code.replace("WORD", "hello"), space)
    registry = Registry([space["greet"]])
    exec(code.replace("WORD", "good day"), space)
    registry.add(space["greet"])
    assert registry["greet"].call({"name": "Ann"}) == "good day Ann"
    other = {"__name__": "elsewhere"}
    exec(code, other)
    with pytest.raises(DefinitionError, match="is already defined at"):
        registry.add(other["greet"])


def test_a_tag_of_no_tool_is_refused():
    """As a name of none is, with what may be meant."""
    registry = Registry([tool(tags=["orders"])(lambda_free)])
    with pytest.raises(KeyError, match="did you mean"):
        registry.subset(tags=["order"])
    assert len(registry.subset(tags=["orders"])) == 1


def lambda_free(order_id: str) -> str:
    """Find an order."""
    return order_id


def test_findings_are_logged_once_at_the_first_bind(caplog):
    """What no model can know is not left to whoever asks for ``findings``."""

    def bare(x):
        return x

    made = tool(bare)
    for _ in range(2):
        Registry([made]).bind("openai")
    [line] = [record.getMessage() for record in caplog.records if "bare" in record.getMessage()]
    assert "no annotation" in line
    assert "no description" in line

"""Sets of tools: some of them, all by other names, those of two; and those that are loaded when a model searches for them."""

import json
import pickle
import urllib.error
import urllib.request
from typing import Any

import pytest
from responses import outcomes, response

from toolshape import DefinitionError, ExportError, Namespace, Registry, Tool, UsageError, tool
from toolshape._bound.bound import bound_tools_of
from toolshape._bound.registry import store_of
from toolshape._families.names import available
from toolshape.testing import Fake


@tool(tags=["files"])
def read_file(path: str) -> str:
    """Read a file."""
    return f"read {path}"


@tool(tags=["files", "writes"])
def write_file(path: str, text: str = "") -> str:
    """Write a file."""
    return f"wrote {path}"


@tool
async def search(query: str) -> str:
    """Search."""
    return f"found {query}"


TOOLS = Registry([read_file, write_file, search])


def names(tools: Any) -> list[str]:
    return [tool.name for tool in tools]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"names": ["*_file"]}, ["read_file", "write_file"]),
        ({"names": "search"}, ["search"]),
        ({"names": ["sear?h", "read_file"]}, ["read_file", "search"]),
        ({"names": ["[rs]e*"]}, ["read_file", "search"]),
        ({"exclude": ["*_file"]}, ["search"]),
        ({"tags": ["files"], "exclude": "write*"}, ["read_file"]),
        ({"names": ["*"], "exclude": ["*"]}, []),
        ({}, ["read_file", "write_file", "search"]),
    ],
)
def test_some_of_them(asked, found):
    """By names, patterns and tags; of a registry, and of what is bound."""
    assert names(TOOLS.subset(**asked)) == found
    bound = TOOLS.bind("openai").subset(**asked)
    assert names(bound.tools) == found
    assert bound.export() == TOOLS.subset(**asked).export("openai")
    assert pickle.loads(pickle.dumps(bound)).export() == bound.export()
    assert bound.fingerprint == TOOLS.subset(**asked).bind("openai").fingerprint


@pytest.mark.parametrize(
    "asked", [{"names": ["raed_file"]}, {"exclude": ["x*"]}, {"names": ["*_files"]}]
)
def test_a_name_or_a_pattern_of_no_tool_is_a_mistake(asked):
    with pytest.raises(KeyError, match="there is no tool"):
        TOOLS.subset(**asked)
    with pytest.raises(KeyError, match="there is no tool"):
        TOOLS.bind("openai").subset(**asked)


def test_a_name_with_a_star_is_a_name_first():
    odd = Registry([tool(lambda path: path, name="a[b]")])
    assert names(odd.subset(["a[b]"])) == ["a[b]"]


def test_a_subset_of_what_is_bound_answers_for_its_tools_alone():
    """And has what the whole has compiled."""
    whole = TOOLS.bind("openai")
    some = whole.subset(["read_file"])
    body = response(("read_file", {"path": "a"}), ("write_file", {"path": "a"}))
    assert outcomes(some.dispatch(body)) == ["read a", "unknown_tool"]
    assert outcomes(whole.dispatch(body)) == ["read a", "wrote a"]
    assert bound_tools_of(some).handlers.find("read_file") is bound_tools_of(whole).handlers.find(
        "read_file"
    )
    assert some.request(choice="read_file")["tools"] == whole.subset(["read_file"]).export()
    with pytest.raises(ExportError, match="no tool 'search'"):
        some.request(choice="search")


def test_all_by_other_names():
    """The functions are the same, and a model's calls find them."""
    gh = TOOLS.prefixed("gh")
    assert names(gh) == ["gh_read_file", "gh_write_file", "gh_search"]
    assert names(TOOLS) == ["read_file", "write_file", "search"]
    assert outcomes(gh.dispatch(response(("gh_read_file", {"path": "a"}), ("read_file", {"path": "a"})))) == [
        "read a", "unknown_tool",
    ]  # fmt: skip
    renamed = TOOLS.renamed({"read_file": "open", "search": "read_file"})
    assert names(renamed) == ["open", "write_file", "read_file"]
    assert outcomes(renamed.dispatch(response(("open", {"path": "a"}), ("read_file", {"query": "q"})))) == [
        "read a", "found q",
    ]  # fmt: skip
    with pytest.raises(DefinitionError, match="'search' is already defined at"):
        TOOLS.renamed({"read_file": "search"})
    with pytest.raises(KeyError, match="there is no tool 'nope'"):
        TOOLS.renamed({"nope": "x"})
    with pytest.raises(DefinitionError, match="non-empty"):
        TOOLS.renamed({"search": ""})


def test_a_tool_of_a_definition_has_another_name_too():
    definition = {
        "name": "remote.search",
        "inputSchema": {
            "type": "object",
            "properties": {"q": {"type": "string"}},
            "required": ["q"],
        },
    }
    registry = Registry([Tool.from_definition(definition, lambda q: f"remote {q}")]).prefixed("gh")
    assert names(registry) == ["gh_remote.search"]
    [entry] = registry.export("openai")
    wire = entry["function"]["name"]
    assert outcomes(registry.dispatch(response((wire, {"q": "x"})))) == ["remote x"]


def test_those_of_two():
    both = TOOLS.prefixed("a") | TOOLS.prefixed("b")
    assert len(both) == 6
    assert outcomes(both.dispatch(response(("a_search", {"query": "1"}), ("b_search", {"query": "2"})))) == [
        "found 1", "found 2",
    ]  # fmt: skip
    with pytest.raises(DefinitionError, match="'read_file' is already defined at"):
        TOOLS | TOOLS.subset("read_file")
    with pytest.raises(TypeError):
        TOOLS | [search]


def test_hooks_and_settings_of_two():
    """Hooks of both are around every call; settings hold for all, and may not contradict."""
    said = []
    one, other = (
        Registry([read_file], default_effect="write"),
        Registry([write_file], feedback="json"),
    )
    one.around(lambda context, proceed: (said.append(("one", context.tool.name)), proceed())[1])
    other.around(lambda context, proceed: (said.append(("other", context.tool.name)), proceed())[1])
    both = one | other
    both.dispatch(response(("read_file", {"path": "a"}), ("write_file", {"path": "a"})))
    assert said == [
        ("one", "read_file"),
        ("other", "read_file"),
        ("one", "write_file"),
        ("other", "write_file"),
    ]
    assert store_of(both).contents.settings() == {
        "strict": "auto",
        "coerce": None,
        "feedback": "json",
        "default_effect": "write",
    }
    with pytest.raises(UsageError, match="one registry has strict=True, the other strict=False"):
        Registry([read_file], strict=True) | Registry([search], strict=False)


@pytest.mark.slow
@pytest.mark.parametrize("provider", available())
def test_names_that_are_too_long_with_their_prefix_are_told_apart(provider):
    """Two hundred of them, alike in their first hundred characters."""
    stem = "a_rather_long_name_of_a_tool_" * 4

    def made(number: int) -> Any:
        def work(n: int) -> int:
            """Work."""
            return number

        return tool(work, name=f"{stem}{number}")

    registry = Registry([made(number) for number in range(200)]).prefixed("a.prefix/of several")
    try:
        bound = registry.bind(provider)
    except ExportError as error:
        assert error.problems[0].rule == "name"  # refused by name
        return
    wire = bound.names_by_wire_name()
    assert len(wire) == len(set(wire.values())) == 200
    assert all(bound.provider.names.admits(item) for item in wire)


def test_who_asks_is_told_of_changes():
    registry, told = Registry([search]), []
    end = registry.on_change(lambda: told.append(names(registry)))
    registry.add(read_file)
    registry.add_definitions([{"name": "x", "inputSchema": {"type": "object"}}])
    registry.around(lambda _, proceed: proceed())
    assert told == [
        ["search", "read_file"],
        ["search", "read_file", "x"],
        ["search", "read_file", "x"],
    ]
    end()
    registry.add(write_file)
    assert len(told) == 3


# --- deferred -----------------------------------------------------------------------------------------------------


CRM = Namespace("crm", "Customers and their orders.")


def test_deferred_tools_in_the_words_of_who_has_them():
    tools = TOOLS.deferred(["*_file"])
    *files, other, search_tool = tools.export("anthropic")
    assert [file["defer_loading"] for file in files] == [True, True]
    assert "defer_loading" not in other
    assert search_tool == {
        "type": "tool_search_tool_bm25_20251119",
        "name": "tool_search_tool_bm25",
    }
    *files, other, search_tool = tools.export("openai-responses")
    assert [file["defer_loading"] for file in files] == [True, True]
    assert search_tool == {"type": "tool_search"}
    assert TOOLS.export("anthropic") == TOOLS.deferred([]).export("anthropic")


def test_a_group_where_a_provider_has_groups():
    tools = TOOLS.deferred(["*_file"], namespace=CRM)
    group, other, _ = tools.export("openai-responses")
    assert (group["type"], group["name"], group["description"]) == (
        "namespace",
        "crm",
        "Customers and their orders.",
    )
    assert [tool["name"] for tool in group["tools"]] == ["read_file", "write_file"]
    assert all(tool["defer_loading"] for tool in group["tools"])
    assert other["name"] == "search"
    assert tools.export("anthropic") == TOOLS.deferred(["*_file"]).export("anthropic")


def test_a_definition_that_is_sent_as_it_was_written_is_deferred_too():
    written = {
        "name": "written",
        "description": "Written.",
        "input_schema": {"type": "object", "properties": {}},
    }
    tools = Registry([Tool.from_definition(written, verbatim=True, deferred=True)])
    assert tools.export("anthropic")[0] == {**written, "defer_loading": True}
    assert [item.rule for item in tools.bind("gemini").report()] == ["deferred"]


def test_a_search_that_is_there_is_not_added():
    regex = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    tools = TOOLS.deferred().request("anthropic", native=[regex])["tools"]
    assert [tool for tool in tools if "search_tool" in str(tool.get("type"))] == [regex]
    assert TOOLS.request("anthropic", native=[regex])["tools"][-1] == regex
    own = {"type": "tool_search", "execution": "server"}
    tools = TOOLS.deferred(namespace=CRM).request("openai-responses", native=[own])["tools"]
    assert [tool["type"] for tool in tools] == ["namespace", "tool_search"]


def test_where_there_is_no_search_they_are_sent_whole_and_reported():
    tools = TOOLS.deferred(["search"], namespace=CRM)
    for provider in available():
        bound = tools.bind(provider)
        lost = [(item.tool, item.kind) for item in bound.report() if item.rule == "deferred"]
        if bound.provider.request.deferral is None:
            assert lost == [("search", "dropped")]
            assert bound.export() == TOOLS.export(provider)
        else:
            assert not lost


def test_what_is_no_deferral_is_refused_at_the_tool():
    for wrong in ("crm", 1, Namespace("no spaces"), Namespace("x" * 65), Namespace("a", None)):  # type: ignore[arg-type]
        with pytest.raises(DefinitionError, match="must be True, False, or a Namespace"):
            tool(deferred=wrong)  # type: ignore[arg-type]


RESPONSES = {
    "object": "response",
    "status": "completed",
    "output": [
        {"type": "tool_search_call", "id": "tsc_1", "execution": "server", "status": "completed",
         "arguments": {"paths": ["crm"]}},
        {"type": "tool_search_output", "id": "tso_1", "execution": "server", "status": "completed", "tools": []},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read_file", "namespace": "crm",
         "arguments": '{"path": "a"}'},
    ],
}  # fmt: skip
ANTHROPIC = {
    "type": "message",
    "role": "assistant",
    "stop_reason": "tool_use",
    "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "files"}},
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1",
         "content": {"type": "tool_search_tool_search_result",
                     "tool_references": [{"type": "tool_reference", "tool_name": "read_file"}]}},
        {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "body"), [("openai-responses", RESPONSES), ("anthropic", ANTHROPIC)]
)
def test_searches_and_what_they_found_are_read_and_sent_back(provider, body):
    bound = TOOLS.deferred(namespace=CRM).bind(provider)
    results = bound.dispatch(body)
    assert outcomes(results) == ["read a"]
    sent = (
        body["output"]
        if provider == "openai-responses"
        else [{"role": "assistant", "content": body["content"]}]
    )
    assert results.turn[: len(sent)] == sent
    model = (
        "gpt-4.1" if provider == "openai-responses" else None
    )  # it does not reason: its items need no reasoning
    assert not [
        check_message
        for check_message in bound.check_messages(results.turn, model=model)
        if check_message.rule != "begins_with_user"
    ]
    first = bound.read_messages(results.turn)[0]
    assert first.role == "assistant"


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([{"type": "tool_search"}], "tools.tool_search requires at least one deferred tool"),
        (
            TOOLS.deferred(namespace=CRM).export("openai-responses")[:-1],
            "Deferred tools require tools.tool_search",
        ),
    ],
)
def test_a_fake_refuses_one_without_the_other(tools, said):
    with Fake("openai-responses", TOOLS) as fake:
        status, body = posted(fake, {"model": "gpt-5.5", "input": "x", "tools": tools})
        fake.refused.clear()
    assert (status, said in body["error"]["message"]) == (400, True)


def test_a_fake_calls_a_tool_of_a_group():
    tools = TOOLS.deferred(["*_file"], namespace=CRM)
    with Fake("openai-responses", tools) as fake:
        fake.calls(read_file, path="a")
        request = {"model": "gpt-5.5", "input": "x", **tools.request("openai-responses")}
        _, body = posted(fake, request)
    assert outcomes(tools.dispatch(body)) == ["read a"]


def posted(fake, body):
    request = urllib.request.Request(
        f"{fake.url}/v1/responses", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=9) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize(
    ("native", "said"),
    [
        ({"type": "tool_search", "execution": "client"}, "toolshape cannot run a tool_search"),
        (
            {
                "type": "namespace",
                "name": "theirs",
                "tools": [{"type": "function", "name": "search"}],
            },
            "'search' in that namespace",
        ),
    ],
)
def test_what_could_not_be_told_from_ours_is_refused(native, said):
    @tool
    def search(query: str) -> str:
        """Search."""
        return query

    with pytest.raises(ExportError, match=said):
        Registry([search]).bind("openai-responses").request(native=[native])
    Registry([search]).bind("openai-responses").request(native=[{"type": "web_search"}])


@pytest.mark.parametrize("prefix", ["", None, 5])
def test_a_prefix_is_a_text(prefix):
    with pytest.raises(UsageError, match="a prefix must be a non-empty string"):
        Registry([]).prefixed(prefix)


def test_a_listener_that_raises_keeps_no_change_from_others(caplog):
    def named() -> str:
        """Named."""

    tools, heard = Registry([]), []
    tools.on_change(lambda: 1 / 0)
    tools.on_change(lambda: heard.append(len(tools)))
    tools.add(named)
    assert heard == [1]
    assert "a listener of a registry raised" in caplog.text


@pytest.mark.parametrize("wrong", [b"a", 5, TOOLS["search"]])
def test_a_set_is_said_by_names(wrong):
    for item in (TOOLS, TOOLS.bind("openai")):
        with pytest.raises(UsageError, match=r"by names and patterns \(strings\), not by"):
            item.subset([wrong])

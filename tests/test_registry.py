"""The registry and its bounds: names, snapshots, choices, which shape reads a response."""

import dataclasses
import json

import pytest

import toolshape
from toolshape import DefinitionError, ExportError, Registry, ResponseError, UsageError, tool
from toolshape.provider import available, get


@tool(tags=["read"])
def find(place: str) -> str:
    """Find."""
    return place


@tool(tags=["write", "slow"])
def keep(place: str) -> None:
    """Keep."""


def test_a_registry_is_a_collection():
    """In insertion order, by name."""
    registry = Registry([find])
    added = registry.add(keep)
    assert added is keep is registry["keep"]
    assert (len(registry), list(registry), "find" in registry, "x" in registry) == (2, [find, keep], True, False)
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

    with pytest.raises(DefinitionError, match=rf"already at .*{__name__.split('.')[-1]}.py:\d+") as caught:
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
    assert json.dumps(bound.export()) == json.dumps(registry.subset(names=["find"]).export("openai"))


def test_names_that_a_provider_refuses():
    """Told with the tool, the rule and its evidence."""
    registry = Registry([tool(name="a.b")(lambda: None)])
    with pytest.raises(ExportError, match=r"openai does not take 'a.b'.*pass @tool\(name=\)") as caught:
        registry.export("openai")
    assert (caught.value.provider, caught.value.tool) == ("openai", "a.b")
    assert registry.export("json-schema")[0]["name"] == "a.b"
    with pytest.raises(ExportError, match="anthropic"):
        registry["a.b"].export("anthropic")


def test_unknown_provider():
    """There are these."""
    with pytest.raises(ExportError, match=r"anthropic.*json-schema.*openai"):
        Registry([find]).export("opanai")
    assert {"openai", "anthropic", "json-schema"} <= set(available())


REQUESTS = [
    ("openai", {}, {}),
    ("openai", {"choice": "auto"}, {"tool_choice": "auto"}),
    ("openai", {"choice": "none"}, {"tool_choice": "none"}),
    ("openai", {"choice": "required", "parallel": False}, {"tool_choice": "required", "parallel_tool_calls": False}),
    ("openai", {"choice": "find"}, {"tool_choice": {"type": "function", "function": {"name": "find"}}}),
    ("anthropic", {}, {}),
    ("anthropic", {"choice": "required"}, {"tool_choice": {"type": "any"}}),
    ("anthropic", {"choice": "none", "parallel": False}, {"tool_choice": {"type": "none"}}),
    ("anthropic", {"parallel": False}, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
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
    registry = Registry([find, keep])
    assert registry.request(provider, **asked) == {"tools": registry.export(provider), **said}


def test_request_refuses_what_cannot_be_said():
    """A tool that is not there, a choice that has no word."""
    registry = Registry([find])
    with pytest.raises(ExportError, match='did you mean "find"'):
        registry.request("openai", choice="fnd")
    with pytest.raises(ExportError, match="leave it out"):
        registry.request("json-schema", choice="required")
    assert Registry().request("openai") == {}


OPENAI = {
    "choices": [{"message": {"tool_calls": [{"id": "c", "function": {"name": "find", "arguments": '{"place": "x"}'}}]}}]
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


def test_several_shapes_of_a_family_ask_which():
    """A vendor's variant that was bound reads; two that were ask for provider=."""
    vendor = dataclasses.replace(get("openai"), name="vendor")
    registry = Registry([find])
    registry.export(vendor)
    [result] = registry.dispatch(OPENAI)
    assert result.call.provider == "vendor"
    registry.export("openai")
    with pytest.raises(UsageError, match="openai, vendor: pass provider="):
        registry.dispatch(OPENAI)
    [result] = registry.dispatch(OPENAI, provider="openai")
    assert result.call.provider == "openai"
    registry.add(keep)
    with pytest.raises(UsageError):
        registry.dispatch(OPENAI)


def test_a_response_of_another_family():
    """Told, not misread."""
    with pytest.raises(ResponseError, match="anthropic-messages, not of openai-chat"):
        Registry([find]).bind("openai").plan(ANTHROPIC)


def test_the_public_face():
    """What is exported is there, and nothing else is public."""
    assert sorted(toolshape.__all__) == toolshape.__all__
    public = {name for name in vars(toolshape) if not name.startswith("_")}
    modules = {name for name in public if type(vars(toolshape)[name]).__name__ == "module"}
    assert public - modules == set(toolshape.__all__)

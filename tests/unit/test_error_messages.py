"""Mistakes that developers make, and what each error says: what was given, what is expected, what to write."""

import asyncio
import logging
import pickle
from typing import Any

import pytest

from toolshape import (
    CallError,
    DefinitionError,
    ExportError,
    Injected,
    Registry,
    ResponseError,
    Tool,
    ToolError,
    UsageError,
    tool,
)
from toolshape.testing import check_slips


@tool
def add(a: int, b: int = 1) -> int:
    return a + b


@tool
def find(name: str, *, db: Injected[dict]) -> str:
    return db[name]


class Shop:
    @tool
    def sell(self, item: str) -> str:
        return item


class FakeStream:
    """Named as the SDKs name theirs."""


async def response() -> None: ...


def dispatched(body: Any) -> None:
    Registry([add]).dispatch(body)


def never_awaited() -> None:
    pending = response()
    try:
        dispatched(pending)
    finally:
        pending.close()


async def in_a_loop() -> None:
    @tool
    async def later() -> None: ...

    later.call({})


class Db: ...


def returns_an_error() -> None:
    @tool
    def fail() -> Any:
        return ToolError("no such order")

    [result] = Registry([fail]).dispatch({"name": "fail", "arguments": {}})
    raise result.error.__cause__


def names_what_only_type_checkers_see() -> None:
    source = 'def f(x: "Decimal") -> int: ...'
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    tool(namespace["f"]).export("openai")


def forgets_to_inject(x: int, db: Db) -> int: ...


def bare(x: int): ...


def injects_a_list(x: list[Injected[int]]) -> int: ...


@tool
def look(*, cache: Injected[dict] = {}) -> int:
    return len(cache)


def hooked() -> Registry:
    registry = Registry([add])

    @registry.around
    def hook(context: Any, proceed: Any) -> None: ...

    return registry


def cause_of(results: Any) -> None:
    raise results[0].error.__cause__


def collected(event: Any, provider: str = "openai") -> None:
    collector = Registry([add]).bind(provider).collector()
    collector.feed(event)
    collector.close()


MISTAKES = {
    "a ToolError returned": (
        returns_an_error,
        UsageError,
        "fail returned a ToolError: raise the error",
    ),
    "a name under TYPE_CHECKING": (
        names_what_only_type_checkers_see,
        DefinitionError,
        "name 'Decimal' is not defined: define it, or import it outside of `if TYPE_CHECKING:`",
    ),
    "Injected forgotten": (
        lambda: tool(forgets_to_inject),
        DefinitionError,
        "db: JSON Schema has no form for Db; use a type that JSON Schema can describe, or mark it Injected[...]",
    ),
    "a provider misspelt": (
        lambda: Registry([add]).export("opneai"),
        ExportError,
        "did you mean 'openai'?",
    ),
    "a provider by its company": (
        lambda: Registry([add]).export("google"),
        ExportError,
        'write "gemini"',
    ),
    "a provider by its model": (
        lambda: Registry([add]).export("claude"),
        ExportError,
        'write "anthropic"',
    ),
    "a provider nobody knows": (
        lambda: Registry([add]).export("zzz"),
        ExportError,
        "there are anthropic, azure, bedrock",
    ),
    "no name of a provider": (
        lambda: Registry([add]).export(None),
        ExportError,
        "must be a name or a Provider, not NoneType",
    ),
    "a list of providers": (
        lambda: Registry([add]).export(["openai"]),
        ExportError,
        "or a Provider, not list",
    ),
    "a provider by the name of a file": (
        lambda: Registry([add]).export("__init__"),
        ExportError,
        "there is no provider '__init__'",
    ),
    "Anthropic's word for a choice": (
        lambda: Registry([add]).request("openai", choice="any"),
        ExportError,
        "write 'required'",
    ),
    "a tool that is not there": (
        lambda: Registry([add]).request("openai", choice="ad"),
        ExportError,
        "there is no tool 'ad' (did you mean \"add\"?)",
    ),
    "a response that was not awaited": (never_awaited, ResponseError, "did you forget to await"),
    "a stream": (lambda: dispatched(iter([])), ResponseError, "feed it to bind(...).collector()"),
    "the stream of an SDK": (
        lambda: dispatched(FakeStream()),
        ResponseError,
        "a stream (FakeStream)",
    ),
    "the provider's error": (
        lambda: dispatched({"error": {"message": "overloaded", "code": 529}}),
        ResponseError,
        "an error of the provider: {'message': 'overloaded', 'code': 529}",
    ),
    "another body": (lambda: dispatched({"foo": 1}), ResponseError, "with the keys ['foo']"),
    "a name instead of the function": (
        lambda: tool("add"),
        DefinitionError,
        "write @tool(name='add')",
    ),
    "a tool instead of a list": (lambda: Registry(add), TypeError, "write Registry([...])"),
    "the same name twice": (
        lambda: Registry([add, tool(name="add")(lambda x: x)]),
        DefinitionError,
        "or all tools of one server or registry a prefix: connect(prefix=...), prefixed(...)",
    ),
    "an effect that is none": (
        lambda: tool(effects=["delete"])(add.function),
        DefinitionError,
        "unknown effect 'delete'; the effects are read, write, destructive",
    ),
    "an injected value missing": (
        lambda: Registry([find]).dispatch(
            {"name": "find", "arguments": {"name": "a"}}, inject={"bd": {}}
        ),
        UsageError,
        "find needs inject={'db': ...}, but inject= has only ['bd']",
    ),
    "a method of no object": (lambda: Registry([Shop.sell]), UsageError, "get it from an object"),
    "an async tool in a running loop": (
        lambda: asyncio.run(in_a_loop()),
        UsageError,
        "await adispatch, arun or acall",
    ),
    # --- at the decorator ---------------------------------------------------------------------------------------
    "an option misspelt": (lambda: tool(nam="x"), TypeError, "unexpected keyword argument 'nam'"),
    "a class as a tool": (
        lambda: tool(Db),
        DefinitionError,
        "a class is not a tool: decorate a function that returns",
    ),
    "a lambda": (lambda: tool(lambda x: x), DefinitionError, "a lambda has no name: pass name="),
    "a value as a tool": (lambda: tool(5), DefinitionError, "int is not callable"),
    "a coercion rule misspelt": (
        lambda: tool(coerce={"number_txt": True})(add.function),
        DefinitionError,
        'did you mean "number_text"?',
    ),
    "an example that is wrong": (
        lambda: tool(examples=[{"a": "x"}])(add.function),
        DefinitionError,
        'examples[0].a: expected integer, got "x"',
    ),
    "a timeout that is none": (
        lambda: tool(timeout=0)(add.function),
        DefinitionError,
        "a number of seconds above 0",
    ),
    "a limit that is none": (
        lambda: tool(limit=0)(add.function),
        DefinitionError,
        "a positive number of calls, not 0",
    ),
    "keys for a provider nobody knows": (
        lambda: tool(providers={"antropic": {}})(add.function),
        DefinitionError,
        "no provider 'antropic' (did you mean \"anthropic\"?)",
    ),
    "effects that exclude each other": (
        lambda: tool(effects=["read", "write"])(add.function),
        DefinitionError,
        '"read" excludes "write" and "destructive": leave one out',
    ),
    "strict that is no word for it": (
        lambda: tool(strict="yes")(add.function),
        DefinitionError,
        "must be True, False or \"auto\", not 'yes'",
    ),
    "results to be checked that nothing describes": (
        lambda: tool(validate_result=True)(bare),
        DefinitionError,
        "the return annotation describes no result: annotate the return type, or leave this option out",
    ),
    "Injected inside a list": (
        lambda: tool(injects_a_list),
        DefinitionError,
        "Injected[...] must be the whole annotation",
    ),
    # --- at the registry and at export ----------------------------------------------------------------------------
    "a response given to a provider's own": (
        lambda: (
            Registry([add])
            .bind("anthropic")
            .dispatch({"choices": [{"message": {"role": "assistant"}}]})
        ),
        ResponseError,
        "this is a response of openai, not of anthropic",
    ),
    "strict at a provider without it": (
        lambda: Registry([add]).export("mcp", strict=True),
        ExportError,
        "mcp has no strict form of a tool: leave out strict=",
    ),
    "a word for strict that is none": (
        lambda: Registry([add]).bind("openai", strict="always"),
        UsageError,
        "strict must be True, False or \"auto\", not 'always'",
    ),
    "a choice that is no text": (
        lambda: Registry([add]).request("openai", choice=5),
        ExportError,
        "choice= must be a mode, a name or a list of names, not 5",
    ),
    "a choice among none": (
        lambda: Registry([add]).request("openai", choice=[]),
        ExportError,
        'choice= has no names: to forbid calls, write "none"',
    ),
    "a subset of a tool that is not there": (
        lambda: Registry([add]).subset(["ad"]),
        KeyError,
        "ad",
    ),
    "a definition in no known form": (
        lambda: Registry().add_definitions([{"foo": 1}]),
        DefinitionError,
        "unknown definition format: the keys are 'foo'",
    ),
    "a function for no definition": (
        lambda: Registry().add_definitions([{"name": "a", "parameters": {}}], {"b": print}),
        DefinitionError,
        "there is no definition for 'b'",
    ),
    # --- in use -----------------------------------------------------------------------------------------------------
    "an injected name misspelt beside a default": (
        lambda: Registry([look]).dispatch({"name": "look", "arguments": {}}, inject={"cahce": {}}),
        UsageError,
        "inject={'cahce': ...} is not a parameter of look: did you mean 'cache'?",
    ),
    "a hook that cannot be awaited": (
        lambda: asyncio.run(hooked().adispatch({"name": "add", "arguments": {"a": 1}})),
        UsageError,
        "make it async def, or call dispatch",
    ),
    "a hook that returns nothing": (
        lambda: cause_of(hooked().dispatch({"name": "add", "arguments": {"a": 1}})),
        UsageError,
        "returned nothing, and did not get an answer from proceed(): return the result of proceed(), or context.result(value)",
    ),
    "a call to run that is not there": (
        lambda: (
            Registry([add])
            .bind("openai")
            .plan({"choices": [{"message": {"role": "assistant"}}]})
            .run(only=["c1"])
        ),
        UsageError,
        "only= names 'c1', which is not a call of this plan",
    ),
    "a limit for a response that is none": (
        lambda: Registry([add]).dispatch({"name": "add", "arguments": {}}, limit=0),
        UsageError,
        "limit= must be the number of calls that run at once, 1 or more, not 0",
    ),
    "the stream of another provider": (
        lambda: collected(
            {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}
        ),
        ResponseError,
        "no event of openai has arrived; the last piece was an object with the keys ['message', 'type']",
    ),
    "an error in place of a stream": (
        lambda: collected({"type": "error", "error": {"message": "overloaded"}}, "cohere"),
        ResponseError,
        "the provider sent an error instead of a stream: {'message': 'overloaded'}",
    ),
    "a plan that is pickled": (
        lambda: pickle.dumps(
            Registry([add]).bind("openai").plan({"role": "assistant", "content": "Hi"})
        ),
        TypeError,
        "pickle its calls, or results",
    ),
    "arguments that are no JSON": (
        lambda: add.call("{'a': 1}"),
        CallError,
        "a key must be in double quotes at line 1 column 2",
    ),
    "the model of a tool that has none": (
        lambda: Tool.from_definition({"name": "a", "parameters": {}}).model,
        UsageError,
        "was made from a definition: it has a schema, but no pydantic model",
    ),
    "a tool without a function": (
        lambda: Registry([Tool.from_definition({"name": "a", "parameters": {}})]).dispatch(
            {"name": "a", "arguments": {}}
        ),
        UsageError,
        "a has no function: pass one to from_definition, or answer its calls yourself",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_error_says_what_to_do(mistake):
    """One sentence of it is enough to go on."""
    make, error, words = MISTAKES[mistake]
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)


def test_there_are_as_many_as_were_found():
    """The mistakes of a first day."""
    assert len(MISTAKES) >= 46


def test_a_misspelt_description_is_in_the_log(caplog):
    """The description is lost, and nothing else tells at once."""
    with caplog.at_level(logging.WARNING):

        @tool
        def weather(city: str) -> str:
            """The weather.

            Args:
                cty: Where.
            """
            return city

    assert (
        "'cty' is documented, but there is no such parameter: did you mean 'city'?" in caplog.text
    )
    assert [finding.path for finding in weather.findings] == ["cty"]


class Entry:
    """An entry point of a package, as ``importlib.metadata`` gives it."""

    name, value = "broken", "somebody.provider:BROKEN"

    def load(self) -> Any:
        raise RuntimeError("no licence")


def test_a_provider_of_a_package_that_cannot_be_loaded(monkeypatch):
    """It is named, with its package."""
    monkeypatch.setattr("toolshape._families.entry_points", lambda: [Entry()])
    with pytest.raises(
        ExportError,
        match=r"'broken' of somebody\.provider:BROKEN cannot be loaded: RuntimeError: no licence",
    ):
        Registry([add]).export("broken")
    monkeypatch.setattr(Entry, "load", lambda self: 5)
    with pytest.raises(
        ExportError, match=r"is somebody\.provider:BROKEN, of type int, not a Provider"
    ):
        Registry([add]).export("broken")


def test_arguments_to_begin_with_must_be_right():
    """``check_slips`` changes right arguments."""
    with pytest.raises(ValueError, match="the tool rejects these"):
        check_slips(add, {"a": "x"})

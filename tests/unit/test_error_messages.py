"""Mistakes that developers make, and what each error says: what was given, what is expected, what to write."""

import asyncio
from typing import Any

import pytest

from toolshape import DefinitionError, ExportError, Injected, Registry, ResponseError, ToolError, UsageError, tool


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


MISTAKES = {
    "a ToolError returned": (returns_an_error, UsageError, "fail returned a ToolError: raise it"),
    "a name under TYPE_CHECKING": (
        names_what_only_type_checkers_see,
        DefinitionError,
        "name 'Decimal' is not defined: define it, or import it outside of `if TYPE_CHECKING:`",
    ),
    "Injected forgotten": (
        lambda: tool(forgets_to_inject),
        DefinitionError,
        "db: JSON Schema has no form for Db; give it a type that JSON Schema can describe, or mark it Injected[...]",
    ),
    "a provider misspelt": (lambda: Registry([add]).export("opneai"), ExportError, "did you mean 'openai'?"),
    "a provider by its company": (lambda: Registry([add]).export("google"), ExportError, 'write "gemini"'),
    "a provider by its model": (lambda: Registry([add]).export("claude"), ExportError, 'write "anthropic"'),
    "a provider nobody knows": (
        lambda: Registry([add]).export("zzz"),
        ExportError,
        "there are anthropic, azure, bedrock",
    ),
    "no name of a provider": (
        lambda: Registry([add]).export(None),
        ExportError,
        "is a name or a Provider, not NoneType",
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
    "the stream of an SDK": (lambda: dispatched(FakeStream()), ResponseError, "a stream (FakeStream)"),
    "the provider's error": (
        lambda: dispatched({"error": {"message": "overloaded", "code": 529}}),
        ResponseError,
        "an error of the provider: {'message': 'overloaded', 'code': 529}",
    ),
    "another body": (lambda: dispatched({"foo": 1}), ResponseError, "with the keys ['foo']"),
    "a name instead of the function": (lambda: tool("add"), DefinitionError, "write @tool(name='add')"),
    "a tool instead of a list": (lambda: Registry(add), TypeError, "write Registry([...])"),
    "the same name twice": (
        lambda: Registry([add, tool(name="add")(lambda x: x)]),
        DefinitionError,
        "give one of them another name with tool(name=...)",
    ),
    "an effect that is none": (
        lambda: tool(effects=["delete"])(add.function),
        DefinitionError,
        "no effect 'delete'; there are read, write, destructive",
    ),
    "an injected value missing": (
        lambda: Registry([find]).dispatch({"name": "find", "arguments": {"name": "a"}}, inject={"bd": {}}),
        UsageError,
        "find needs inject={'db': ...}, was given ['bd']",
    ),
    "a method of no object": (lambda: Registry([Shop.sell]), UsageError, "get it from an object"),
    "an async tool in a running loop": (lambda: asyncio.run(in_a_loop()), UsageError, "await adispatch, arun or acall"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_error_says_what_to_do(mistake):
    """One sentence of it is enough to go on."""
    make, error, words = MISTAKES[mistake]
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)

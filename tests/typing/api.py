"""Checked by mypy and pyright, never run: right calls pass, and each wrong one is an error that is expected here."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from typing_extensions import assert_type

from toolshape import CallContext, Injected, Plan, Registry, Result, Results, Tool, tool
from toolshape.testing import Fake, Refused, Turn


class Db: ...


@tool
def add(a: int, b: int = 1) -> int:
    return a + b


@tool(name="other", tags=["x"], timeout=2.5, coerce={"json_text": False})
async def fetch(url: str, *, db: Injected[Db]) -> bytes:
    return url.encode()


@tool
async def stream(n: int) -> AsyncIterator[int]:
    yield n


class Desk:
    @tool
    def close(self, ticket: str) -> bool:
        return bool(ticket)

    @tool
    @classmethod
    def open(cls, title: str) -> int:
        return len(title)

    @tool(title="Made")
    @staticmethod
    def make(count: int) -> list[str]:
        return ["x"] * count

    @tool(title="Later")
    async def later(self, ticket: str, /, *, urgent: bool = False) -> str:
        return ticket


@tool
def numbers(n: int) -> Iterator[int]:
    yield n


registry = Registry([add, fetch, Desk().close])


@registry.tool
def added(x: float) -> str:
    return str(x)


def results_of() -> Results:
    return registry.dispatch({}, limit=3, on_progress=print)


@registry.around
def hook(context: CallContext, proceed: Callable[[], Result]) -> Result:
    assert_type(context.call_id, str)
    assert_type(context.tool.tags, frozenset[str])
    return proceed()


@registry.around
async def async_hook(context: CallContext, proceed: Callable[[], Awaitable[Result]]) -> Result:
    result = await proceed()
    return result if result.ok else context.result(None)


async def right() -> None:
    assert_type(add(1), int)
    assert_type(add(1, b=2), int)
    assert_type(await fetch("u", db=Db()), bytes)
    assert_type(Desk().close("7"), bool)
    assert_type(Desk.close(Desk(), ticket="7"), bool)
    assert_type(await Desk().later("7", urgent=True), str)
    assert_type(added(1.5), str)
    assert_type(Desk.open("x"), int)
    assert_type(Desk().open("x"), int)
    assert_type(Desk.make(3), list[str])
    assert_type(Desk().make(3), list[str])  # type: ignore[call-arg]
    assert_type(add.call({"a": 1}), int)
    assert_type(await add.acall("{}"), int)
    assert_type(fetch.call({"url": "u"}, inject={"db": Db()}), bytes)
    assert_type(await fetch.acall({"url": "u"}), bytes)
    assert_type(stream.call({}), list[int])
    assert_type(await stream.acall({}), list[int])
    assert_type(numbers.call({}), list[int])
    assert_type(Desk().close.call({}), bool)
    assert_type(Desk().later.call({}), str)
    assert_type(results_of()[0].arguments, "dict[str, Any] | None")
    assert_type(registry["add"], Tool[..., Any])
    function: Callable[[int, int], int] = add
    assert_type(function(1, 2), int)
    results = registry.dispatch({}, inject={"db": Db()})
    assert_type(results, Results)
    assert_type(results[0], Result)
    assert_type(results[0:1], list[Result])
    assert_type(results.turn, list[Any])
    assert_type(registry.bind("openai").plan("{}"), Plan)
    assert_type(await registry.adispatch({}), Results)
    async for n in stream(1):
        assert_type(n, int)


def fakes() -> None:
    with Fake("openai", registry) as fake:
        assert_type(fake, Fake)
        assert_type(fake.calls(add, a=1).says("x").cuts("length"), Turn)
        fake.calls("add", {"a": 1}, slip="missing")
        fake.answers(lambda asked: "x" if asked.model else Turn().calls(add, a=1))
        assert_type(fake.exchanges[0].refused, tuple[Refused, ...])
        assert_type(fake.env, dict[str, str])
        fake.calls(add, slip="no such")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        fake.cuts("half")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        fake.fails("429")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def wrong() -> None:
    add("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    add()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    add(1, c=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await fetch("u")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await fetch("u", db=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Desk().close(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Desk().close()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await Desk().later(ticket="7")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    added("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    text: str = add(1)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    assert text
    add.exprot("openai")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    Desk().close.exprot("openai")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    results_of()[0].vaule  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    results_of().turns  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    text = add.call({})  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    registry.request("openai", choise="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    registry.dispatch({}, injected={})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    registry.around(add)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
    tool(nam="x")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]

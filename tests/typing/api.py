"""Checked by mypy and pyright, never run: right calls pass, and each wrong one is an error that is expected here."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from typing_extensions import assert_type

from toolshape import Injected, Plan, Registry, Result, Results, Tool, tool


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

    @tool(title="Later")
    async def later(self, ticket: str, /, *, urgent: bool = False) -> str:
        return ticket


registry = Registry([add, fetch, Desk().close])


@registry.tool
def added(x: float) -> str:
    return str(x)


async def right() -> None:
    assert_type(add(1), int)
    assert_type(add(1, b=2), int)
    assert_type(await fetch("u", db=Db()), bytes)
    assert_type(Desk().close("7"), bool)
    assert_type(Desk.close(Desk(), ticket="7"), bool)
    assert_type(await Desk().later("7", urgent=True), str)
    assert_type(added(1.5), str)
    assert_type(registry["add"], Tool[..., Any])
    function: Callable[[int, int], int] = add
    assert_type(function(1, 2), int)
    results = registry.dispatch({}, inject={"db": Db()})
    assert_type(results, Results)
    assert_type(results[0], Result)
    assert_type(results[0:1], list[Result])
    assert_type(results.turn, list[dict[str, Any]])
    assert_type(registry.bind("openai").plan("{}"), Plan)
    assert_type(await registry.adispatch({}), Results)
    async for n in stream(1):
        assert_type(n, int)


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
    tool(nam="x")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]

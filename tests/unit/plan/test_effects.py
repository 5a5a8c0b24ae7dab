"""A call that writes runs alone, after all earlier and before all later ones; the rest run together."""

import asyncio
import threading
import time

import pytest
from responses import outcomes, response

from toolshape import DefinitionError, Registry, tool

EVENTS = []
LOCK = threading.Lock()


@pytest.fixture(autouse=True)
def no_events():
    EVENTS.clear()


def note(what, n):
    with LOCK:
        EVENTS.append((what, n))


def sync_tool(name, **options):
    @tool(name=name, **options)
    def made(n: int) -> int:
        """Do."""
        note("begin", n)
        time.sleep(0.002)
        note("end", n)
        return n

    return made


def async_tool(name, **options):
    @tool(name=name, **options)
    async def made(n: int) -> int:
        """Do."""
        note("begin", n)
        await asyncio.sleep(0.002)
        note("end", n)
        return n

    return made


EFFECTS = {
    "read": ["read"],
    "write": ["write"],
    "destroy": ["destructive", "idempotent"],
    "plain": (),
}
TOOLS = [make(f"{kind}_{way}", effects=effects) for kind, effects in EFFECTS.items() for way, make in (
    ("here", sync_tool), ("loop", async_tool))]  # fmt: skip


def run(names, how, tools=None, **options):
    registry = tools or Registry(TOOLS)
    body = response(*[(name, {"n": number}) for number, name in enumerate(names)])
    if how == "run":
        return registry.dispatch(body, **options)
    return asyncio.run(registry.adispatch(body, **options))


def overlaps(number):
    """The calls that ran while one did."""
    begin, end = EVENTS.index(("begin", number)), EVENTS.index(("end", number))
    return {n for _, n in EVENTS[begin:end]} - {number}


def order():
    return [n for what, n in EVENTS if what == "begin"]


@pytest.mark.parametrize("how", ["run", "arun"])
@pytest.mark.parametrize("limit", [None, 1, 3])
def test_what_writes_runs_alone_in_call_order(how, limit):
    """Sync and async together."""
    names = [
        "read_loop",
        "read_here",
        "write_loop",
        "read_here",
        "destroy_here",
        "read_loop",
        "read_loop",
        "write_here",
    ]
    assert outcomes(run(names, how, limit=limit)) == list(range(8))
    started = order()
    for writer in (2, 4, 7):
        assert not overlaps(writer)
        assert set(started[: started.index(writer)]) == set(range(writer))


def test_what_reads_runs_together():
    run(["read_loop"] * 3, "arun")
    assert overlaps(0) == {1, 2}
    EVENTS.clear()
    run(["write_here", "read_loop", "read_here", "read_loop"], "arun")
    assert overlaps(1) >= {3}


def test_what_declares_nothing_runs_as_before():
    run(["plain_loop", "plain_here"], "run")
    assert order() == [1, 0]
    EVENTS.clear()
    run(["plain_loop"] * 3, "arun")
    assert overlaps(0) == {1, 2}


@pytest.mark.parametrize("how", ["run", "arun"])
def test_what_declares_nothing_may_be_taken_to_write(how):
    """A subset of the registry takes it so, too."""
    tools = Registry(TOOLS, default_effect="write")
    for registry in (tools, tools.subset([member.name for member in tools])):
        EVENTS.clear()
        run(["plain_loop", "plain_here", "read_loop", "plain_loop"], how, registry)
        assert order() == [0, 1, 2, 3]
        assert not any(map(overlaps, range(4)))


def test_undeclared_is_write_or_nothing():
    with pytest.raises(ValueError, match='default_effect must be "write" or None'):
        Registry(default_effect="read")


def test_what_is_under_hooks_keeps_the_order():
    for hook in (lambda _, proceed: proceed(), None):
        registry = Registry(TOOLS)

        async def in_loop(_, proceed):
            return await proceed()

        registry.around(hook or in_loop)
        EVENTS.clear()
        run(["read_loop", "write_here", "read_here", "destroy_loop", "read_loop"], "run", registry)
        for writer in (1, 3):
            assert not overlaps(writer)
            assert set(order()[: order().index(writer)]) == set(range(writer))


def test_a_write_that_fails_does_not_stop_what_comes_after_it():
    @tool(effects=["write"])
    async def fail(n: int) -> int:
        """Fail."""
        raise ValueError(n)

    tools = Registry([*TOOLS, fail])
    assert outcomes(run(["read_here", "fail", "write_loop"], "arun", tools)) == [
        0,
        "tool_crashed",
        2,
    ]


def test_cancelled_between_two_writes_the_rest_waits():
    """Each call has one answer, and what had not begun can still be run."""

    async def main():
        plan = Registry(TOOLS).plan(
            response(*[("write_loop", {"n": n}) for n in range(6)]), provider="openai"
        )
        task = asyncio.ensure_future(plan.arun())
        while ("end", 1) not in EVENTS:  # noqa: ASYNC110 - the tools note what happens in a list
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = outcomes(plan.results)
        assert found[:2] == [0, 1]
        assert found[2] in ("cancelled", "not_run")
        assert found[3:] == ["not_run"] * 3
        await plan.arun()
        assert outcomes(plan.results)[3:] == [3, 4, 5]

    asyncio.run(main())


def test_read_excludes_write():
    with pytest.raises(DefinitionError, match="excludes"):
        tool(effects=["read", "write"])(lambda n: n)

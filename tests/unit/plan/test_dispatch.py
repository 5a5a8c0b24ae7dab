"""One response in, exactly one answer to each call out, in call order, sync and async alike."""

import asyncio
import contextvars
import inspect
import json
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from toolshape import Injected, Plan, Registry, ResponseError, Tool, UsageError, tool
from toolshape._tools.tool import record_of

TENANT = contextvars.ContextVar("tenant", default="nobody")


@tool
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


@tool
async def later(a: int) -> int:
    """Later."""
    await asyncio.sleep(0)
    return a


@tool
def boom() -> None:
    """Boom."""
    raise RuntimeError("secret")


@tool
def who(db: Injected[dict], place: str = "here") -> str:
    """Who.

    Args:
        db: Never shown.
        place: Where.
    """
    return f"{db['name']} {TENANT.get()} {place}"


REGISTRY = Registry([add, later, boom, who])


def drive_sync(plan: Plan, inject=None):
    return plan.run(inject=inject or {})


def drive_async(plan: Plan, inject=None):
    return asyncio.run(plan.arun(inject=inject or {}))


@pytest.fixture(params=[drive_sync, drive_async], ids=["sync", "async"])
def runner(request):
    """Both drivers, so that they cannot drift apart."""
    return request.param


def calls(*named):
    return [
        {"id": f"c{i}", "name": name, "arguments": arguments}
        for i, (name, arguments) in enumerate(named)
    ]


def plan_of(*named, registry=REGISTRY):
    return registry.bind("json-schema").plan(calls(*named))


def test_every_call_has_one_answer_in_order(runner):
    """Unknown, malformed, truncated, invalid, crashed: one failed call never drops another's result."""
    results = runner(
        plan_of(
            ("add", {"a": 1}),
            ("ad", {"a": 1}),
            ("add", '{"a": 1'),
            ("add", "nonsense"),
            ("boom", {}),
            ("add", {"a": "x"}),
            ("later", {"a": 5}),
            ("add", '{"a": 2, "b": 3}'),
            ("who", {"db": {"name": "evil"}}),
        ),
        {"db": {"name": "ours"}},
    )
    assert [result.value if result.ok else result.error.code for result in results] == [
        2, "unknown_tool", "truncated_arguments", "malformed_arguments", "tool_crashed", "invalid_arguments", 5, 5,
        "invalid_arguments",
    ]  # fmt: skip
    assert [result.call.id for result in results] == [f"c{i}" for i in range(9)]
    assert [message["id"] for message in results.messages] == [f"c{i}" for i in range(9)]
    assert not results.ok
    assert len(results[1:3]) == 2
    assert results[1].call.name is None
    assert results[1].call.wire_name == "ad"
    assert 'Did you mean "add"?' in results[1].text
    assert results[2].call.arguments is None
    assert results[2].call.arguments_raw == '{"a": 1'
    assert results[7].call.arguments == {"a": 2, "b": 3}
    assert all(result.elapsed >= 0 for result in results)
    assert "ours" not in json.dumps(results.messages)
    assert "evil" not in results[8].text


def test_a_plan_runs_nothing_until_it_is_run(runner):
    """And each call once, however often."""
    seen = []
    registry = Registry([tool(name="note")(lambda: seen.append(1))])
    plan = plan_of(("note", {}), registry=registry)
    assert seen == []
    assert [result.error.code for result in plan.results] == ["not_run"]
    first = runner(plan)
    again = runner(plan)
    assert seen == [1]
    assert first is again is plan.results
    assert first.ok


def test_no_call_is_no_result(runner):
    """Falsy, so that ``while results`` ends; the turn still is there."""
    response = {
        "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]
    }
    results = runner(REGISTRY.bind("openai").plan(response))
    assert not results
    assert results.messages == []
    assert results.turn == [{"role": "assistant", "content": "Hi"}]
    assert results.finish == "stop"
    assert results.ok


def test_injected_values_are_the_applications(runner):
    """By name, never from the model; a missing one is the developer's mistake, before anything runs."""
    schema = who.input_schema
    assert list(schema["properties"]) == ["place"]
    assert "db" not in json.dumps(REGISTRY.export("openai"))
    seen = []
    registry = Registry([who, tool(name="note")(lambda: seen.append(1))])
    with pytest.raises(UsageError, match=r"who needs inject=\{'db'"):
        runner(plan_of(("note", {}), ("who", {}), registry=registry))
    assert seen == []
    [result] = runner(plan_of(("who", {})), {"db": {"name": "ours"}, "unused": 1})
    assert result.value == "ours nobody here"


def test_injected_defaults_and_places(runner):
    """Keyword-only, positional-only, with a default, and none of them a call that does not need them."""

    @tool
    def every(
        a: Injected[int], /, x: int, b: Injected[int] = 2, *rest: int, c: Injected[int] = 3
    ) -> list[int]:
        return [a, x, b, *rest, c]

    registry = Registry([every, add])
    [result] = runner(
        plan_of(("every", {"x": 5, "rest": [7]}), registry=registry), {"a": 1, "c": 4}
    )
    assert result.value == [1, 5, 2, 7, 4]
    [result] = runner(plan_of(("add", {"a": 1}), registry=registry))
    assert result.ok


def test_context_variables_reach_every_tool(runner):
    """In the caller's thread, or copied into another."""
    token = TENANT.set("acme")
    try:
        [result] = runner(plan_of(("who", {})), {"db": {"name": "x"}})
    finally:
        TENANT.reset(token)
    assert result.value == "x acme here"


def test_sync_tools_run_in_threads_under_adispatch():
    """So that they do not block the loop; here they stay in ours."""
    registry = Registry([tool(name="where")(lambda: threading.get_ident())])
    call = calls(("where", {}), ("where", {}))
    assert {result.value for result in registry.dispatch(call)} == {threading.get_ident()}
    assert threading.get_ident() not in {
        result.value for result in asyncio.run(registry.adispatch(call))
    }


def test_calls_run_at_once_under_adispatch():
    """Two that wait for each other both finish."""
    registry = Registry()
    barrier = threading.Barrier(2, timeout=5)

    @registry.tool
    def meet() -> int:
        return barrier.wait()

    results = asyncio.run(registry.adispatch(calls(("meet", {}), ("meet", {}))))
    assert sorted(result.unwrap() for result in results) == [0, 1]


def test_what_a_generator_yields_is_the_value():
    """All of it, whatever it is, and whichever way it is run: another generator is not run for it."""

    def inner() -> Iterator[int]:
        raise AssertionError
        yield 1

    @tool
    def outer() -> Iterator[Any]:
        yield 1
        yield inner()

    for item, inner_one in (outer.call("{}"), asyncio.run(outer.acall("{}"))):
        assert item == 1
        assert isinstance(inner_one, Iterator)


def test_a_call_can_be_sent_to_another_process():
    """Before its first use and after, as the method that it is."""
    for _ in range(2):
        assert pickle.loads(pickle.dumps(add.call))('{"a": 1, "b": 1}') == 2
        assert inspect.signature(add.call) == inspect.signature(Tool.call.__get__(add))
        assert (add.call.__self__, add.call.__doc__) == (add, Tool.call.__doc__)


def test_a_call_of_a_class_of_ones_own():
    """What overrides it stays in the way."""

    class Counting(Tool):
        count = 0

        def call(self, arguments, **given):
            self.count += 1
            return super().call(arguments, **given)

    counting = Counting(record_of(add))
    assert [counting.call('{"a": 1}') for _ in range(3)] == [2, 2, 2]
    assert counting.count == 3


def test_sync_tools_beside_async_ones_stay_in_our_thread():
    """``dispatch`` never starts a thread."""
    registry = Registry([tool(name="where")(lambda: threading.get_ident()), later])
    results = registry.dispatch(calls(("where", {}), ("later", {"a": 1})))
    assert [result.value for result in results] == [threading.get_ident(), 1]


def test_async_tools_in_a_running_loop_need_adispatch():
    """Refused before anything runs, with the way out."""
    seen = []
    registry = Registry([tool(name="note")(lambda: seen.append(1)), later])

    async def main():
        with pytest.raises(UsageError, match="await adispatch"):
            registry.dispatch(calls(("note", {}), ("later", {"a": 1})))
        with pytest.raises(UsageError, match="acall"):
            later.call({"a": 1})
        assert registry.dispatch(calls(("note", {}))).ok
        return await later.acall({"a": 1})

    assert asyncio.run(main()) == 1
    assert seen == [1]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_timeout(asynchronous):
    """The call is answered, its siblings too; a thread is left behind and nobody waits for it."""
    released = threading.Event()
    finished = []
    registry = Registry([add])

    @registry.tool(timeout=0.05)
    async def hang() -> None:
        try:
            await asyncio.sleep(30)
            finished.append("hang")
        finally:
            await asyncio.sleep(0.01)

    @registry.tool(timeout=0.05)
    def hang_in_thread() -> None:
        released.wait(30)
        finished.append("hang_in_thread")

    name = "hang" if asynchronous else "hang_in_thread"
    results = asyncio.run(registry.adispatch(calls((name, {}), ("add", {"a": 1}))))
    assert not finished
    released.set()
    assert [result.value if result.ok else result.error.code for result in results] == [
        "tool_timeout",
        2,
    ]
    assert "within 0.05 s" in results[0].text


def test_a_tool_within_its_timeout():
    """The value, the exception and the context come back from the thread."""
    registry = Registry()

    @registry.tool(timeout=5)
    def fine() -> str:
        return TENANT.get()

    @registry.tool(timeout=5)
    def crash() -> None:
        raise RuntimeError

    TENANT.set("acme")
    results = asyncio.run(registry.adispatch(calls(("fine", {}), ("crash", {}))))
    assert [result.value if result.ok else result.error.code for result in results] == [
        "acme",
        "tool_crashed",
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_cancellation_leaves_complete_results(count):
    """What finished keeps its value, what did not reads as cancelled, and the cancellation goes on."""
    registry = Registry([add])

    @registry.tool
    async def hang() -> None:
        await asyncio.sleep(30)

    async def main():
        plan = registry.bind("json-schema").plan(calls(("add", {"a": 1}), *[("hang", {})] * count))
        task = asyncio.create_task(plan.arun())
        for _ in range(1000):
            await asyncio.sleep(0.01)
            if plan.results[0].ok:
                break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return plan.results

    results = asyncio.run(main())
    assert [result.value if result.ok else result.error.code for result in results] == [2] + [
        "cancelled"
    ] * count
    assert len(results.messages) == count + 1


def test_a_tool_that_cancels_itself_is_only_its_own():
    """Its siblings are answered; nobody cancelled us."""
    registry = Registry([add])

    @registry.tool
    async def quit() -> None:
        raise asyncio.CancelledError

    for named in ([("quit", {})], [("quit", {}), ("add", {"a": 1})]):
        results = asyncio.run(registry.adispatch(calls(*named)))
        assert results[0].error.code == "cancelled"
        assert len(results) == len(named)
    assert registry.dispatch(calls(("quit", {})))[0].error.code == "cancelled"


def test_what_a_coroutine_gives_is_not_awaited_again(runner):
    """An awaitable that comes out of one is its value, which nobody can show; with a time limit and without."""
    for timeout in (None, 5):

        @tool(name="twice", timeout=timeout)
        async def twice() -> Any:
            return later(7)

        [result] = runner(plan_of(("twice", {}), registry=Registry([twice])))
        assert result.error.code == "unserialisable_result"
        result.value.close()


def test_a_name_that_is_some_other_text():
    """SDKs may give texts of types of their own."""

    class Name(str):
        __slots__ = ()

    assert plan_of((Name("add"), {"a": 1})).run()[0].value == 2


def test_a_tool_that_cancels_its_own_task_is_cancelled_alone():
    """In a loop of its own, too: the plan is complete, and nothing is raised."""

    @tool
    async def stop() -> None:
        asyncio.current_task().cancel()
        await asyncio.sleep(1)

    assert Registry([stop]).dispatch(calls(("stop", {})))[0].error.code == "cancelled"


def test_an_awaitable_from_a_plain_function_is_awaited(runner):
    """A lambda around a coroutine is an async tool that does not say so."""
    registry = Registry([tool(name="hidden")(lambda: later(7))])
    [result] = runner(plan_of(("hidden", {}), registry=registry))
    assert result.value == 7


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"foo": 1},
        None,
        5,
        object(),
        "not json",
        b"\xff",
        '{"a": 1}',
        [{"a": 1}],
        {"choices": []},
    ],
)
def test_what_is_no_response(body):
    """A ResponseError with the body in it; nothing else escapes."""
    with pytest.raises(ResponseError) as caught:
        REGISTRY.dispatch(body)
    assert caught.value.body is body or caught.value.body == json.loads(body)

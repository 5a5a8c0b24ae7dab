"""Hooks, contexts, limits and parts of a plan: every call has one answer, whatever takes part in it."""

import asyncio
import dataclasses
import datetime
import json
import logging
import pickle
import threading
import time
from typing import Annotated, Any, Optional

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PlainSerializer, field_serializer

from toolshape import (
    CallContext,
    CallError,
    Injected,
    Registry,
    Result,
    ToolError,
    UsageError,
    tool,
)
from toolshape._function.calling import limited
from toolshape._function.calling.concurrency import ConcurrencyLimit


def body(*calls):
    """A response of OpenAI's form with these calls, ``(name, arguments)`` each."""
    made = [
        {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": text}}
        for i, (name, text) in enumerate(calls)
    ]
    return {
        "choices": [
            {"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": made}}
        ]
    }


def codes(results):
    return [result.value if result.ok else result.error.code for result in results]


@tool
def double(n: int, by: int = 2) -> int:
    return n * by


@tool
async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n


CALLS = body(
    ("double", '{"n": "3"}'), ("later", '{"n": 4}'), ("double", '{"n": "x"}'), ("nope", "{}")
)
ANSWERS = [6, 4, "invalid_arguments", "unknown_tool"]


def sync_hook(log, name="hook"):
    def hook(context, proceed):
        log.append((name, context.call_id, context.tool.name, context.arguments, context.attempt))
        return proceed()

    return hook


def async_hook(log, name="hook"):
    async def hook(context, proceed):
        log.append((name, context.call_id, context.tool.name, context.arguments, context.attempt))
        await asyncio.sleep(0)
        return await proceed()

    return hook


def dispatched(registry, response, way):
    bound = registry.bind("openai")
    return bound.dispatch(response) if way == "run" else asyncio.run(bound.adispatch(response))


WAYS = [(sync_hook, "run"), (async_hook, "run"), (async_hook, "arun")]
EACH_WAY = pytest.mark.parametrize(
    ("make", "way"), WAYS, ids=["def-run", "async-run", "async-arun"]
)


@EACH_WAY
def test_a_hook_is_given_the_call_its_tool_and_what_the_function_gets(make, way):
    """Coerced, defaults filled in; refused calls reach no hook."""
    log = []
    registry = Registry([double, later])
    registry.around(make(log))
    results = dispatched(registry, CALLS, way)
    assert codes(results) == ANSWERS
    assert sorted(log) == [
        ("hook", "c0", "double", {"n": 3, "by": 2}, 1),
        ("hook", "c1", "later", {"n": 4}, 1),
    ]
    assert [result.arguments for result in results] == [{"n": 3, "by": 2}, {"n": 4}, None, None]


@EACH_WAY
def test_the_first_hook_is_the_outermost(make, way):
    """As with decorators that are read from the top."""
    log = []
    registry = Registry([double])
    registry.around(make(log, "outer"))
    registry.around(make(log, "inner"))
    assert codes(dispatched(registry, body(("double", '{"n": 1}')), way)) == [2]
    assert [item[0] for item in log] == ["outer", "inner"]


@pytest.mark.parametrize(
    "order",
    [(sync_hook, async_hook), (async_hook, sync_hook)],
    ids=["def-outside", "async-outside"],
)
def test_both_kinds_together_under_run(order):
    """Each is called as it is written, around sync and async tools."""
    log = []
    registry = Registry([double, later])
    for number, make in enumerate(order):
        registry.around(make(log, str(number)))
    assert codes(registry.bind("openai").dispatch(CALLS)) == ANSWERS
    assert [item[:2] for item in log] == [("0", "c0"), ("1", "c0"), ("0", "c1"), ("1", "c1")]


def returns_nothing(context, proceed):
    proceed()


def never_calls_on(context, proceed):
    return None


def returns_something_else(context, proceed):
    proceed()
    return 5


def swallows(context, proceed):
    proceed()
    return context.result("swallowed")


def stands_in(context, proceed):
    return context.result("from the cache")


def denies(context, proceed):
    raise ToolError("not you")


def crashes(context, proceed):
    proceed()
    raise RuntimeError("password=1234")


def raises_what_it_was_given(context, proceed):
    proceed().unwrap()


def calls_on_twice(context, proceed):
    proceed()
    return proceed()


def answers_for_another(context, proceed):
    return OTHER


OTHER = Registry([double]).bind("openai").dispatch(body(("double", '{"n": 21}')))[0]
SINGULAR = {
    returns_nothing: ("run 1", "run 1"),
    never_calls_on: ("tool_crashed", ""),
    returns_something_else: ("tool_crashed", ""),
    swallows: ("swallowed", "swallowed"),
    stands_in: ("from the cache", "from the cache"),
    denies: ("tool_error", "not you"),
    crashes: ("tool_crashed", ""),
    raises_what_it_was_given: ("run 1", "run 1"),
    calls_on_twice: ("run 2", "run 2"),
    answers_for_another: (42, "42"),
}


def as_async(hook):
    async def hooked(context, proceed):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            None, hook, context, lambda: asyncio.run_coroutine_threadsafe(proceed(), loop).result()
        )

    return hooked


@pytest.mark.parametrize("way", ["def-run", "async-run", "async-arun"])
@pytest.mark.parametrize("hook", SINGULAR, ids=lambda hook: hook.__name__)
def test_one_answer_whatever_a_hook_does(hook, way, caplog):
    """Documented at ``around``; what is hidden from the model is in the log."""

    @tool
    def work(context: CallContext) -> str:
        return f"run {context.attempt}"

    registry = Registry([work])
    registry.around(hook if way == "def-run" else as_async(hook))
    with caplog.at_level(
        logging.CRITICAL if SINGULAR[hook][0] != "tool_crashed" else logging.ERROR
    ):
        [result] = dispatched(registry, body(("work", "{}")), way.split("-")[1])
    wanted, text = SINGULAR[hook]
    assert codes([result]) == [wanted]
    assert text in result.text
    assert "password" not in result.text
    assert result.call.id == "c0"
    if wanted == "tool_crashed":
        assert caplog.records


def test_one_call_failing_at_a_hook_leaves_the_others():
    """Each call has its own hooks."""
    registry = Registry([double])

    @registry.around
    def refuse_big(context, proceed):
        if context.arguments["n"] > 10:
            raise ToolError("too big")
        return proceed()

    results = registry.bind("openai").dispatch(
        body(("double", '{"n": 1}'), ("double", '{"n": 11}'), ("double", '{"n": 2}'))
    )
    assert codes(results) == [2, "tool_error", 4]
    assert [message["tool_call_id"] for message in results.messages] == ["c0", "c1", "c2"]


def test_a_def_hook_is_refused_where_calls_are_awaited():
    """Before anything is run: a permission that is not asked would be worse."""
    seen = []
    registry = Registry([tool(name="work")(lambda: seen.append(1))])
    registry.around(sync_hook([], "permission"))
    with pytest.raises(UsageError, match="is def, which cannot be awaited"):
        asyncio.run(registry.bind("openai").adispatch(body(("work", "{}"))))
    assert seen == []


def test_an_async_hook_needs_awaiting_in_a_running_loop():
    """As an async tool does."""
    registry = Registry([double])
    registry.around(async_hook([]))

    async def main():
        registry.bind("openai").dispatch(CALLS)

    with pytest.raises(UsageError, match="is async and an event loop is running"):
        asyncio.run(main())


def test_what_was_bound_before_keeps_its_hooks():
    """A ``Bound`` does not change; a subset has the hooks of its registry, and so has what was pickled."""
    registry = Registry([double, later])
    bound = registry.bind("openai")
    registry.around(swallows)
    response = body(("double", '{"n": 1}'))
    assert codes(bound.dispatch(response)) == [2]
    assert codes(registry.bind("openai").dispatch(response)) == ["swallowed"]
    assert codes(registry.subset(["double"]).bind("openai").dispatch(response)) == ["swallowed"]
    assert codes(pickle.loads(pickle.dumps(registry)).bind("openai").dispatch(response)) == [
        "swallowed"
    ]
    assert codes(pickle.loads(pickle.dumps(registry.bind("openai"))).dispatch(response)) == [
        "swallowed"
    ]


def test_cancellation_reaches_hook_and_tool():
    """And the results are complete."""
    log = []

    @tool
    async def slow(context: CallContext) -> int:
        try:
            await asyncio.sleep(60)
        finally:
            log.append("tool")
        return 1

    registry = Registry([slow, later])

    @registry.around
    async def hook(context, proceed):
        try:
            return await proceed()
        finally:
            log.append(("hook", context.call_id))

    async def main():
        plan = registry.bind("openai").plan(body(("slow", "{}"), ("later", '{"n": 1}')))
        task = asyncio.ensure_future(plan.arun())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return plan.results

    assert codes(asyncio.run(main())) == ["cancelled", 1]
    assert log == [("hook", "c1"), "tool", ("hook", "c0")]


def test_a_tool_that_cancels_itself_is_answered():
    """The hook sees a result, not a cancellation."""
    seen = []

    @tool
    async def stop() -> None:
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    registry = Registry([stop])

    @registry.around
    async def hook(context, proceed):
        result = await proceed()
        seen.append(result.error.code)
        return result

    assert codes(asyncio.run(registry.bind("openai").adispatch(body(("stop", "{}"))))) == [
        "cancelled"
    ]
    assert seen == ["cancelled"]


def test_interrupts_are_not_answers():
    """Ctrl-C in a hook stops the program."""
    registry = Registry([double])

    @registry.around
    def hook(context, proceed):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        registry.bind("openai").dispatch(CALLS)


# --- CallContext --------------------------------------------------------------------------------------------------


def plain(n: int, context: CallContext) -> str:
    return f"{n} {context.call_id} {context.tool.name} {context.attempt} {context.arguments}"


def marked(n: int, *, context: Injected[CallContext]) -> str:
    return plain(n, context)


def optional(n: int, context: Optional[CallContext] = None) -> str:
    return plain(n, context) if context else "none"


async def coroutine(n: int, context: CallContext) -> str:
    return plain(n, context)


@pytest.mark.parametrize(
    "function", [plain, marked, optional, coroutine], ids=lambda value: value.__name__
)
def test_a_context_is_injected_and_in_no_schema(function):
    """Under every verb; ``inject`` may give another, as tests do."""
    made = tool(function)
    assert list(made.input_schema["properties"]) == ["n"]
    name = function.__name__
    response = body((name, '{"n": 1}'))
    wanted = f"1 c0 {name} 1 {{'n': 1}}"
    assert codes(Registry([made]).bind("openai").dispatch(response)) == [wanted]
    assert codes(asyncio.run(Registry([made]).bind("openai").adispatch(response))) == [wanted]
    assert made.call({"n": 1}) == wanted.replace("c0", "")
    assert asyncio.run(made.acall({"n": 1})) == wanted.replace("c0", "")
    given = CallContext(call=OTHER.call, tool=double, arguments={}, attempt=7, _state=None)
    assert made.call({"n": 1}, inject={"context": given}) == "1 c0 double 7 {}"


@pytest.mark.parametrize("way", ["run", "arun"])
def test_progress_reaches_whoever_dispatched(way):
    """In order; a listener that fails is logged, and no failure of the tool."""
    seen = []

    @tool
    def count(context: CallContext) -> int:
        for done in range(3):
            context.progress(done, 3, message="counting")
        return 3

    def listen(progress):
        seen.append((progress.call.id, progress.done, progress.total, progress.message))
        if progress.done == 2:
            raise RuntimeError

    bound = Registry([count]).bind("openai")
    response = body(("count", "{}"))
    run = bound.dispatch(response, on_progress=listen) if way == "run" else None
    results = run or asyncio.run(bound.adispatch(response, on_progress=listen))
    assert codes(results) == [3]
    assert seen == [("c0", done, 3, "counting") for done in range(3)]
    assert codes(bound.dispatch(response)) == [3]  # nobody listens


def test_a_thread_can_see_that_nobody_waits():
    """After its time, and after a cancellation."""
    seen, begun = [], threading.Event()

    def wait(context: CallContext) -> None:
        begun.set()
        while not context.cancelled:
            time.sleep(0.005)
        seen.append("cancelled")

    timed = Registry([tool(name="wait", timeout=0.05)(wait)]).bind("openai")
    assert codes(asyncio.run(timed.adispatch(body(("wait", "{}"))))) == ["tool_timeout"]

    async def main():
        begun.clear()
        task = asyncio.ensure_future(
            Registry([wait]).bind("openai").adispatch(body(("wait", "{}")))
        )
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(main())
    with pytest.raises(CallError):
        asyncio.run(tool(timeout=0.05)(wait).acall({}))
    for _ in range(200):
        if len(seen) < 3:
            time.sleep(0.01)
    assert seen == ["cancelled"] * 3


# --- limits -------------------------------------------------------------------------------------------------------


class Gauge:
    """How many are inside at once, at most."""

    def __init__(self):
        self.now = self.most = 0
        self.lock = threading.Lock()

    def enter(self):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def leave(self):
        with self.lock:
            self.now -= 1


def gauged(gauge, *, is_async, **options):
    if is_async:

        @tool(name="work", **options)
        async def work() -> int:
            gauge.enter()
            await asyncio.sleep(0.01)
            gauge.leave()
            return 1
    else:

        @tool(name="work", **options)
        def work() -> int:
            gauge.enter()
            time.sleep(0.01)
            gauge.leave()
            return 1

    return work


MANY = body(*[("work", "{}")] * 12)


@pytest.mark.parametrize("is_async", [True, False], ids=["loop", "threads"])
@pytest.mark.parametrize("limit", [None, 1, 3])
def test_so_many_of_a_response_run_at_once(is_async, limit):
    """In the loop and in threads alike."""
    gauge = Gauge()
    bound = Registry([gauged(gauge, is_async=is_async)]).bind("openai")
    assert codes(asyncio.run(bound.adispatch(MANY, limit=limit))) == [1] * 12
    assert gauge.most == limit or (limit is None and gauge.most > 3)


@pytest.mark.parametrize("is_async", [True, False], ids=["loop", "threads"])
def test_so_many_of_a_tool_run_at_once(is_async):
    """Over all responses, loops and threads of the process."""
    gauge = Gauge()
    bound = Registry([gauged(gauge, is_async=is_async, limit=2)]).bind("openai")

    async def both():
        return await asyncio.gather(bound.adispatch(MANY), bound.adispatch(MANY))

    threads = [threading.Thread(target=bound.dispatch, args=(MANY,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for results in asyncio.run(both()):
        assert codes(results) == [1] * 12
    for thread in threads:
        thread.join()
    assert gauge.most == 2


def test_whoever_gives_up_leaves_the_turn_to_the_next():
    """Cancelled while waiting, and timed out while running: nobody waits for ever."""
    gauge, go = Gauge(), threading.Event()

    @tool(limit=1, timeout=0.05)
    def hold() -> None:
        go.wait(5)

    @tool(limit=1)
    async def slow(seconds: float) -> float:
        gauge.enter()
        await asyncio.sleep(seconds)
        gauge.leave()
        return seconds

    async def main():
        bound = Registry([slow, hold]).bind("openai")
        first = asyncio.ensure_future(bound.adispatch(body(("slow", '{"seconds": 0.1}'))))
        await asyncio.sleep(0.02)
        second = asyncio.ensure_future(bound.adispatch(body(("slow", '{"seconds": 0.0}'))))
        await asyncio.sleep(0.02)
        second.cancel()
        await asyncio.wait({second})
        assert codes(await first) == [0.1]
        assert codes(await bound.adispatch(body(("slow", '{"seconds": 0.0}')))) == [0.0]
        held = await bound.adispatch(body(("hold", "{}")))
        again = asyncio.ensure_future(bound.adispatch(body(("hold", "{}"))))
        await asyncio.sleep(0.1)
        assert not again.done()  # the thread that was left behind has its turn until it ends
        go.set()
        return [*held, *await again]

    assert codes(asyncio.run(main())) == ["tool_timeout", None]
    assert gauge.most == 1


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, "3"])
def test_a_limit_is_a_number_of_calls(limit):
    """Refused where it is written."""
    with pytest.raises(Exception, match="limit"):
        tool(limit=limit)(double.function)
    with pytest.raises(UsageError, match="limit"):
        Registry([double]).bind("openai").dispatch(CALLS, limit=limit)
    with pytest.raises(UsageError, match="limit"):
        asyncio.run(Registry([double]).bind("openai").adispatch(CALLS, limit=limit))


# --- part of a plan -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["call", "id", "one id"])
@pytest.mark.parametrize("way", ["run", "arun"])
def test_only_some_calls_run(by, way):
    """The others were not run, and can be later; each once."""
    plan = Registry([double, later]).bind("openai").plan(CALLS)
    only = {"call": [plan.calls[1]], "id": ["c1"], "one id": "c1"}[by]
    run = plan.run if way == "run" else lambda **given: asyncio.run(plan.arun(**given))
    results = run(only=only)
    assert codes(results) == ["not_run", 4, "invalid_arguments", "unknown_tool"]
    assert results[0].text == "double was not run."
    assert results[0].error.retryable
    again = pickle.loads(pickle.dumps(results))
    assert codes(again) == codes(results)
    assert codes(run(only=only)) == codes(results)
    assert codes(run()) == ANSWERS


def test_only_names_calls_of_the_plan():
    """Nothing was run."""
    plan = Registry([double, later]).bind("openai").plan(CALLS)
    with pytest.raises(UsageError, match="which is not a call of this plan"):
        plan.run(only=["c1", "c9"])
    assert codes(plan.results) == ["not_run", "not_run", "invalid_arguments", "unknown_tool"]


# --- arguments as the function got them ---------------------------------------------------------------------------


def test_arguments_are_made_anew_without_hooks_and_taken_before_with_them():
    """A tool that changes its arguments does not change what is reported of them."""

    @tool
    def drain(items: list[int], note: str = "none") -> int:
        items.clear()
        return len(items)

    response = body(("drain", '{"items": "[1, 2]"}'))
    wanted = {"items": [1, 2], "note": "none"}
    registry = Registry([drain])
    [result] = registry.bind("openai").dispatch(response)
    assert result.received is None
    assert result.arguments == wanted
    registry.around(sync_hook([]))
    [result] = registry.bind("openai").dispatch(response)
    assert result.received == wanted
    result.arguments.clear()
    assert result.arguments == wanted
    assert pickle.loads(pickle.dumps(result)).arguments == wanted


def test_arguments_are_those_of_the_function_whatever_was_sent():
    """Mapped back from the strict form of a provider."""

    @tool(strict=True)
    def restock(
        items: dict[str, int], note: str = "none", *, db: Injected[object] = None
    ) -> None: ...

    sent = '{"items": [{"key": "kettle", "value": 3}], "note": null}'
    [result] = Registry([restock]).bind("openai").dispatch(body(("restock", sent)))
    assert result.arguments == {"items": {"kettle": 3}, "note": "none"}
    assert pickle.loads(pickle.dumps(result)).arguments == result.arguments


def test_what_is_printed_fits_a_screen():
    """However many calls there are and however long their values."""
    bound = Registry([double, tool(name="long")(lambda: "x" * 100_000)]).bind("openai")
    results = bound.dispatch(body(*[("double", '{"n": 1}'), ("long", "{}")] * 50))
    assert len(str(results).splitlines()) <= 21
    assert max(map(len, str(results).splitlines())) <= 200
    assert len(repr(results)) <= 3000
    assert "back=" not in repr(results[0]) + repr(results[0].call)
    assert str(results).splitlines()[0] == "double(n=1) -> 2"
    assert isinstance(results[0], Result)
    assert (
        str(Registry([double]).bind("openai").plan({"role": "assistant", "content": "Hi"}).results)
        == "no calls (None)"
    )


# --- what a stranger found ----------------------------------------------------------------------------------------


def test_a_hook_that_cancels_itself_leaves_the_others():
    """Under ``run``, too, where hooks are async."""
    registry = Registry([double])

    @registry.around
    async def hook(context, proceed):
        if context.arguments["n"] == 0:
            raise asyncio.CancelledError
        return await proceed()

    response = body(("double", '{"n": 0}'), ("double", '{"n": 1}'))
    for way in ("run", "arun"):
        assert codes(dispatched(registry, response, way)) == ["cancelled", 2]


class Blob(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64")
    data: bytes


def broken(value: Any) -> Any:
    raise RuntimeError


def test_what_cannot_be_written_fails_no_call():
    """Arguments for hooks are bookkeeping."""

    @tool
    def blob(x: Blob, y: Annotated[int, PlainSerializer(broken)] = 1) -> int:
        return len(x.data) + y

    registry = Registry([blob])
    registry.around(sync_hook(log := []))
    [result] = registry.bind("openai").dispatch(body(("blob", '{"x": {"data": "//8="}}')))
    assert result.value == 3
    assert log[0][3] == {"x": {"data": "__8="}, "y": 1}


class Odd(BaseModel):
    """Names and serialisers that an author may have for other ends."""

    model_config = ConfigDict(extra="allow")
    a: int = Field(validation_alias="in_a", serialization_alias="out_a")
    b: int = Field(validation_alias=AliasChoices("b1", "b2"))
    c: int = Field(default=3, exclude=True)

    @field_serializer("a")
    def masked(self, value: int) -> str:
        return "***"


@dataclasses.dataclass
class Plain:
    when: datetime.date
    keys: dict[int, set[str]]


def test_arguments_have_the_names_of_the_schema_at_every_level():
    """What the function gets, whatever its types write elsewhere."""

    @tool
    def odd(
        first: int,
        /,
        *rest: int,
        odd: Odd,
        plain: Plain,
        hidden: Annotated[int, Field(exclude=True)] = 5,
    ) -> None: ...

    given = {
        "first": 1,
        "rest": [2],
        "odd": {"in_a": 1, "b1": 2, "more": "x"},
        "plain": {"when": "2026-01-01", "keys": {"7": ["x"]}},
    }
    [result] = (
        Registry([odd]).bind("openai", strict=False).dispatch(body(("odd", json.dumps(given))))
    )
    wanted = {**given, "hidden": 5, "odd": {**given["odd"], "c": 3}}
    assert result.arguments == wanted
    odd.call(result.arguments)


def test_a_call_that_was_cut_off_got_nothing():
    """Although its arguments can be read."""
    block = {"type": "tool_use", "id": "t", "name": "double", "input": {"n": 1}}
    response = {
        "type": "message",
        "role": "assistant",
        "stop_reason": "max_tokens",
        "content": [block],
    }
    [result] = Registry([double]).dispatch(response)
    assert (result.error.code, result.arguments) == ("truncated_arguments", None)


def test_each_attempt_gets_arguments_of_its_own():
    """What the first run changed, the second does not see."""
    seen = []

    @tool
    def pop(xs: list[int]) -> int:
        seen.append(list(xs))
        xs.clear()
        return 1

    registry = Registry([pop])
    registry.around(calls_on_twice)
    [result] = registry.bind("openai").dispatch(body(("pop", '{"xs": [1, 2]}')))
    assert seen == [[1, 2], [1, 2]]
    assert result.arguments == {"xs": [1, 2]}


def test_an_attempt_after_a_timeout_is_not_cancelled():
    """Each attempt has its own time, and its own progress."""
    seen, heard = [], []

    @tool(timeout=0.05)
    async def slow(context: CallContext) -> str:
        seen.append(context.cancelled)
        context.progress(context.attempt)
        if context.attempt == 1:
            try:
                await asyncio.sleep(5)
            finally:
                seen.append(context.cancelled)
        return "done"

    registry = Registry([slow])

    @registry.around
    async def again(context, proceed):
        result = await proceed()
        return result if result.ok else await proceed()

    bound = registry.bind("openai")
    results = asyncio.run(
        bound.adispatch(body(("slow", "{}")), on_progress=lambda value: heard.append(value.done))
    )
    assert codes(results) == ["done"]
    assert sorted(seen) == [
        False,
        False,
        True,
    ]  # at the beginning of each, and where the first was given up
    assert heard == [1, 2]


def test_a_deadline_of_a_hook_reaches_the_thread():
    """The tool can see that nobody waits."""
    seen = []

    @tool
    def wait(context: CallContext) -> None:
        for _ in range(200):
            if context.cancelled:
                seen.append("cancelled")
                return
            time.sleep(0.005)

    registry = Registry([wait])

    @registry.around
    async def deadline(context, proceed):
        try:
            return await asyncio.wait_for(proceed(), 0.05)
        except asyncio.TimeoutError:
            raise ToolError("too late") from None

    assert codes(asyncio.run(registry.bind("openai").adispatch(body(("wait", "{}"))))) == [
        "tool_error"
    ]
    for _ in range(200):
        if not seen:
            time.sleep(0.005)
    assert seen == ["cancelled"]


def test_a_limit_holds_for_direct_calls_and_for_all_objects():
    """From the first call on, in whatever threads."""
    gauge = Gauge()

    class Desk:
        @tool(limit=1)
        def work(self) -> int:
            gauge.enter()
            time.sleep(0.005)
            gauge.leave()
            return 1

    def once():
        Desk().work.call({})

    threads = [threading.Thread(target=once) for _ in range(4)]
    bounds = [Registry([Desk().work]).bind("openai") for _ in range(4)]
    threads += [
        threading.Thread(target=bound.dispatch, args=(body(("work", "{}")),)) for bound in bounds
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gauge.most == 1


def test_a_task_that_outlives_its_deadline_keeps_its_turn():
    """It was cancelled, and cleans up."""
    gauge = Gauge()

    @tool(limit=1, timeout=0.02)
    async def work() -> None:
        gauge.enter()
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(0.05)
            gauge.leave()

    async def main():
        results = await Registry([work]).bind("openai").adispatch(body(*[("work", "{}")] * 3))
        await asyncio.sleep(0.1)
        return results

    assert codes(asyncio.run(main())) == ["tool_timeout"] * 3
    assert gauge.most == 1


def test_a_turn_is_never_lost():
    """A loop that was closed with somebody waiting, and an interrupt, leave it to the next."""
    limit = ConcurrencyLimit(1)
    held = limit.ask()
    assert held.done()
    loop = asyncio.new_event_loop()

    async def wait():
        task = asyncio.ensure_future(limited._wait_for_turn(limit))
        await asyncio.sleep(0)
        return task

    task = loop.run_until_complete(wait())
    task._log_destroy_pending = False
    loop.close()
    limit.release()
    last = limit.ask()
    assert last.done()
    task.get_coro().close()
    limit.release()


def test_what_is_claimed_is_run_once():
    """From however many threads."""
    seen = []
    bound = Registry([tool(name="work")(lambda: seen.append(1))]).bind("openai")
    for _ in range(20):
        plan = bound.plan(body(("work", "{}")))
        threads = [threading.Thread(target=plan.run, kwargs={"only": plan.calls}) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(seen) == 20


@pytest.mark.parametrize("is_hooked", [True, False])
def test_an_interrupt_leaves_what_has_not_begun(is_hooked):
    """Async calls, too, which come after the plain ones; and it can be run later."""

    @tool
    def stop(context: CallContext) -> None:
        if not stopped:
            stopped.append(1)
            raise KeyboardInterrupt

    stopped = []
    registry = Registry([stop, later, double])
    if is_hooked:
        registry.around(sync_hook([]))
    calls = body(("stop", "{}"), ("later", '{"n": 1}'), ("double", '{"n": 1}'))
    plan = registry.bind("openai").plan(
        calls if is_hooked else body(("later", '{"n": 1}'), ("stop", "{}"), ("double", '{"n": 1}'))
    )
    with pytest.raises(KeyboardInterrupt):
        plan.run()
    assert sorted(codes(plan.results)) == ["cancelled", "not_run", "not_run"]
    plan.run()
    assert sorted(map(str, codes(plan.results))) == ["1", "2", "cancelled"]


def test_what_has_not_begun_was_not_run():
    """Where a limited dispatch is cancelled."""

    @tool
    async def slow() -> None:
        await asyncio.sleep(5)

    async def main():
        plan = Registry([slow]).bind("openai").plan(body(*[("slow", "{}")] * 3))
        task = asyncio.ensure_future(plan.arun(limit=1))
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.wait({task})
        return plan.results

    assert codes(asyncio.run(main())) == ["cancelled", "not_run", "not_run"]


def test_only_a_context_takes_the_place_of_the_context():
    """Values for other tools have other meanings."""

    @tool
    def work(context: CallContext) -> str:
        return context.call_id

    response = body(("work", "{}"))
    assert codes(
        Registry([work]).bind("openai").dispatch(response, inject={"context": {"app": 1}})
    ) == ["c0"]
    assert work.call({}, inject={"context": 5}) == ""


class TakesTooLittle:
    def __call__(self, context, proceed):
        return proceed()

    async def acall(self, context):
        """It cannot be called on."""


@pytest.mark.parametrize(
    "hook",
    ["text", None, lambda context: None, lambda: None, TakesTooLittle()],
    ids=["text", "none", "one", "no", "acall"],
)
def test_what_cannot_be_a_hook_is_refused_at_once(hook):
    """Not at every call."""
    with pytest.raises(UsageError, match=r"cannot be a hook|around takes"):
        Registry([double]).around(hook)


def test_a_hook_that_forgets_to_await_is_told_so(caplog):
    """In the log: the model reads nothing of it."""
    registry = Registry([double])
    registry.around(forgets)
    assert codes(asyncio.run(registry.bind("openai").adispatch(body(("double", '{"n": 1}'))))) == [
        "tool_crashed"
    ]
    assert "returned a coroutine: return the result of await proceed()" in caplog.text


async def forgets(context, proceed):
    return proceed()


def test_a_kept_result_is_of_this_call():
    """Its coercions and arguments are not those of the call that it was kept from."""
    kept = []
    registry = Registry([double])

    @registry.around
    def cache(context, proceed):
        if not kept:
            kept.append(proceed())
        return kept[0]

    bound = registry.bind("openai")
    first, second = (
        bound.dispatch(body(("double", text)))[0] for text in ('{"n": "3"}', '{"n": 3}')
    )
    assert (len(first.coercions), second.coercions) == (1, ())
    assert second.value == 6


def test_a_hook_sees_for_whom_a_call_is_made():
    """To be read: it cannot change what the function gets, and nothing shows it."""
    seen = []

    @tool
    def mine(what: str, *, user: Injected[str], context: CallContext) -> str:
        """Mine."""
        seen.append((context.inject["user"], repr(context)))
        return f"{what} of {user}"

    tools = Registry([mine])

    @tools.around
    def look(context, proceed):
        seen.append((context.inject["user"], repr(context)))
        with pytest.raises(TypeError):
            context.inject["user"] = "eve"
        return proceed()

    for user in ("ann", "bob"):
        body = {"name": "mine", "arguments": {"what": "a"}}
        assert tools.dispatch(body, inject={"user": user})[0].value == f"a of {user}"
    assert [user for user, _ in seen] == ["ann", "ann", "bob", "bob"]
    assert not any(user in shown for user, shown in seen)

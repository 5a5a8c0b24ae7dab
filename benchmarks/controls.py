"""Times approval, pausing, a ledger and spans around one call, and approval in other libraries.

``python benchmarks/controls.py`` needs toolshape[ledger,otel] and opentelemetry-sdk. It also measures pydantic-ai-slim,
langchain and langgraph if they are installed. Each row takes turns with its floor in the same run. For toolshape, the
floor is a dispatch of the same call without the control. For the other libraries, the floor is a run of the same agent
without approval, with a model that answers at once.
"""

import asyncio
import gc
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from commits import commit_of

import toolshape
from toolshape import Registry, tool

TURNS = 300
KEY = b"a key of thirty-two bytes, secret"
ARGUMENTS = {"amount": 5, "to": "ann", "note": "for lunch"}


class Row(NamedTuple):
    """A row of the table: the work to measure, and the floor, which is the same work without the control."""

    what: str
    floor: Callable[[], Any]
    work: Callable[[], Any]


@tool(name="pay", effects=["write"])
def plain(amount: int, to: str, note: str = "") -> str:
    """Pay somebody."""
    return f"paid {amount} to {to} {note}"


@tool(name="pay", effects=["write"], approve=True)
def asked(amount: int, to: str, note: str = "") -> str:
    """Pay somebody."""
    return f"paid {amount} to {to} {note}"


class Bodies:
    """Makes responses with one call; each call has its own id."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self) -> Any:
        self._count += 1
        function = {"name": "pay", "arguments": json.dumps(ARGUMENTS)}
        call = {"id": f"call_{self._count}", "type": "function", "function": function}
        message = {"role": "assistant", "tool_calls": [call]}
        return {"choices": [{"finish_reason": "tool_calls", "message": message}]}


def our_rows(folder: Path) -> Iterator[Row]:
    body = Bodies()
    plain_bound, approval_tools = Registry([plain]).bind("openai"), Registry([asked])
    bound = approval_tools.bind("openai")

    def floor() -> Any:
        return plain_bound.dispatch(body()).messages

    def run_approved() -> Any:
        plan = bound.plan(body())
        plan.approve(plan.pending)
        return plan.run().messages

    def run_paused() -> Any:
        plan = bound.plan(body())
        token = plan.pause(KEY, audience="ann", expires=timedelta(hours=1))
        return approval_tools.resume(token, KEY, {plan.calls[0].id: True}, audience="ann").messages

    yield Row("approval: plan, approve, run", floor, run_approved)
    yield Row("pausing: plan, pause, resume", floor, run_paused)
    try:
        from toolshape.ledger import Ledger
    except ImportError:
        return
    ledger = Ledger(folder / "calls.db")
    yield Row(
        "a ledger in SQLite, on this disk",
        floor,
        lambda: plain_bound.dispatch(body(), ledger=ledger, scope="s").messages,
    )
    yield from _span_rows(floor, body)


def _span_rows(floor: Callable[[], Any], body: Bodies) -> Iterator[Row]:
    try:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.trace import TracerProvider
    except ImportError:
        return
    from toolshape.otel import instrument

    for what, providers in (
        (
            "spans and metrics, made and thrown away",
            {"tracer_provider": TracerProvider(), "meter_provider": MeterProvider()},
        ),
        ("spans and metrics, the process not set up for them", {}),
    ):
        tools = Registry([plain])
        instrument(tools, **providers)
        bound = tools.bind("openai")
        yield Row(what, floor, lambda bound=bound: bound.dispatch(body()).messages)


def pydantic_ai_rows() -> Iterator[Row]:
    """Yield the row of pydantic-ai: a run of an agent ends at the deferred call, and a second run continues from it."""
    try:
        from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel
    except ImportError:
        return

    def model(messages: Any, _: Any) -> Any:
        is_answered = any(part.part_kind == "tool-return" for part in messages[-1].parts)
        return ModelResponse([TextPart("done") if is_answered else ToolCallPart("pay", ARGUMENTS)])

    def pay(amount: int, to: str, note: str = "") -> str:
        return f"paid {amount} to {to} {note}"

    direct = Agent(FunctionModel(model))
    direct.tool_plain(pay)
    held = Agent(FunctionModel(model), output_type=[str, DeferredToolRequests])
    held.tool_plain(requires_approval=True)(pay)
    loop = asyncio.new_event_loop()

    async def run_approved() -> Any:
        first = await held.run("Pay.")
        calls = {approval.tool_call_id: True for approval in first.output.approvals}
        results = DeferredToolResults(approvals=calls)
        return await held.run(message_history=first.all_messages(), deferred_tool_results=results)

    yield Row(
        "pydantic-ai: requires_approval, an agent's run",
        lambda: loop.run_until_complete(direct.run("Pay.")),
        lambda: loop.run_until_complete(run_approved()),
    )


def langchain_rows() -> Iterator[Row]:
    """Yield the row of LangChain: an agent with a scripted model, the middleware and a checkpointer in memory."""
    try:
        from langchain.agents import create_agent
        from langchain.agents.middleware import HumanInTheLoopMiddleware
        from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage, ToolMessage
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.types import Command
    except ImportError:
        return

    class Model(GenericFakeChatModel):
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            from langchain_core.outputs import ChatGeneration, ChatResult

            is_answered = isinstance(messages[-1], ToolMessage)
            call = {"name": "pay", "args": ARGUMENTS, "id": "call_1"}
            message = AIMessage("done") if is_answered else AIMessage("", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=message)])

    def pay(amount: int, to: str, note: str = "") -> str:
        """Pay somebody."""
        return f"paid {amount} to {to} {note}"

    model = Model(messages=iter(()))
    direct = create_agent(model, [pay], checkpointer=InMemorySaver())
    held = create_agent(
        model,
        [pay],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"pay": True})],
        checkpointer=InMemorySaver(),
    )
    count = iter(range(10**9))

    def config() -> Any:
        return {"configurable": {"thread_id": str(next(count))}}

    def run_approved() -> Any:
        thread = config()
        held.invoke({"messages": [("user", "Pay.")]}, thread)
        return held.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)

    yield Row(
        "LangChain: HumanInTheLoopMiddleware, an agent's run",
        lambda: direct.invoke({"messages": [("user", "Pay.")]}, config()),
        run_approved,
    )


def measure(row: Row) -> tuple[float, float]:
    """Return the medians of the floor and of the work in microseconds, measured in turns."""
    all_times: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        row.floor()
        row.work()
    gc.disable()
    for _ in range(TURNS):
        for times, work in zip(all_times, (row.floor, row.work), strict=True):
            started = perf_counter()
            work()
            times.append((perf_counter() - started) * 1e6)
    gc.enable()
    return statistics.median(all_times[0]), statistics.median(all_times[1])


def main() -> None:
    """Measure every row, and print and save the table."""
    lines = [
        "# What controls cost",
        "",
        f"One call, medians of {TURNS} turns in microseconds, Python {sys.version_info[0]}.{sys.version_info[1]}. The floor of a row is",
        "the same without the control, in the same run; of the other libraries that is a whole run of an agent, so that what approval",
        f"adds is what compares. `nox -s 'measure(controls)'` at {commit_of(Path(toolshape.__file__))}.",
        "",
        "| | without | with | added |",
        "|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for rows in (our_rows(Path(folder)), pydantic_ai_rows(), langchain_rows()):
            for row in rows:
                floor, work = measure(row)
                lines.append(f"| {row.what} | {floor:,.0f} | {work:,.0f} | {work - floor:,.0f} |")
                print(lines[-1], flush=True)
    (Path(__file__).parent / "results" / "controls.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

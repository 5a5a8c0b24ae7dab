"""Spans and metrics, by the conventions: of what runs, without what it was called with."""

import asyncio
import json

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import SecretStr
from responses import outcomes, response

from toolshape import Registry, Tool, tool
from toolshape.ledger import Ledger
from toolshape.otel import NAMES, instrument

CURRENT = []


@tool
def here(n: int, secret: SecretStr = SecretStr("x")) -> int:
    """Here."""
    CURRENT.append(trace.get_current_span().get_span_context().span_id)
    return n


@tool
async def later(n: int) -> int:
    """Later."""
    await asyncio.sleep(0)
    CURRENT.append(trace.get_current_span().get_span_context().span_id)
    return n


@tool
def fail(n: int) -> int:
    """Fail."""
    raise ValueError("a text of the tool's own")


BODY = response(
    ("here", {"n": "1", "secret": "hunter2"}),
    ("later", {"n": 2}),
    ("fail", {"n": 3}),
    ("here", {"n": "x"}),
    ("nope", {}),
)


@pytest.fixture
def made():
    CURRENT.clear()
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))

    def make(*more, content=False):
        tools = Registry([here, later, fail, *more])
        instrument(
            tools, content=content, tracer_provider=tracers, meter_provider=MeterProvider([reader])
        )
        return tools

    make.spans, make.reader, make.tracer = (
        spans.get_finished_spans,
        reader,
        tracers.get_tracer("test"),
    )
    return make


def points(reader):
    found = {}
    for resource in reader.get_metrics_data().resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                found[metric.name] = list(metric.data.data_points)
    return found


@pytest.mark.parametrize("how", ["run", "arun"])
def test_each_call_that_runs_is_a_span(made, how):
    """In a loop and out of one, under the span that is current; the tool runs inside it."""
    tools = made()
    with made.tracer.start_as_current_span("chat"):
        results = tools.dispatch(BODY) if how == "run" else asyncio.run(tools.adispatch(BODY))
    assert outcomes(results) == [1, 2, "tool_crashed", "invalid_arguments", "unknown_tool"]
    *spans, parent = made.spans()
    assert sorted(span.name for span in spans) == [
        "execute_tool fail",
        "execute_tool here",
        "execute_tool later",
    ]
    assert {span.parent.span_id for span in spans} == {parent.context.span_id}
    by_name = {span.name.split()[1]: span for span in spans}
    assert sorted(CURRENT) == sorted(by_name[name].context.span_id for name in ("here", "later"))
    assert dict(by_name["here"].attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "here",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Here.",
        "gen_ai.tool.call.id": "call_0",
    }
    failed = by_name["fail"]
    assert failed.attributes["error.type"] == "tool_crashed"
    assert not failed.status.is_ok
    assert "a text of the tool's own" not in failed.to_json()
    assert "hunter2" not in "".join(span.to_json() for span in spans)


def test_content_is_shown_where_it_is_asked_for_and_no_secret(made):
    wipe = Tool.from_definition(
        {
            "name": "wipe",
            "input_schema": {
                "type": "object",
                "properties": {"pin": {"type": "string", "writeOnly": True}},
            },
        },
        lambda pin="": "wiped",
    )
    made(wipe, content=True).dispatch(
        response(
            ("wipe", {"pin": "1234"}), ("here", {"n": 1, "secret": "hunter2"}), ("fail", {"n": 3})
        )
    )
    wiped, seen, failed = made.spans()
    assert json.loads(wiped.attributes["gen_ai.tool.call.arguments"]) == {"pin": "[hidden]"}
    assert seen.attributes["gen_ai.tool.call.result"] == "1"
    assert "hunter2" not in seen.to_json()
    assert failed.events[0].attributes["exception.message"] == "a text of the tool's own"


def test_durations_coercions_and_refusals_are_counted(made):
    made().dispatch(BODY)
    found = points(made.reader)
    durations = {
        dict(item.attributes)["gen_ai.tool.name"]: item
        for item in found["gen_ai.execute_tool.duration"]
    }
    assert {name: duration.count for name, duration in durations.items()} == {
        "here": 1,
        "later": 1,
        "fail": 1,
    }
    assert durations["fail"].attributes["error.type"] == "tool_crashed"
    assert durations["here"].explicit_bounds[-1] == 81.92
    [coercion] = found["toolshape.coercions"]
    assert (coercion.value, dict(coercion.attributes)) == (
        1,
        {
            "gen_ai.provider.name": "openai",
            "gen_ai.tool.name": "here",
            "toolshape.coercion.rule": "number_text",
        },
    )
    refusals = {
        item.attributes["error.type"]: dict(item.attributes) for item in found["toolshape.refusals"]
    }
    assert refusals.keys() == {"invalid_arguments", "unknown_tool"}
    assert "gen_ai.tool.name" not in refusals["unknown_tool"]


def test_a_cancelled_call_ends_its_span(made):
    @tool
    async def hang() -> None:
        """Hang."""
        await asyncio.sleep(60)

    async def main():
        task = asyncio.ensure_future(made(hang).adispatch(response(("hang", {}))))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(main())
    [span] = made.spans()
    assert span.attributes["error.type"] == "CancelledError"
    assert not span.status.is_ok
    assert not span.events


def test_what_a_ledger_answers_is_no_run(made, tmp_path):
    """Hooks are inside of it."""
    ledger, tools = Ledger(tmp_path / "calls.db"), made()
    for _ in range(2):
        tools.dispatch(response(("here", {"n": 1})), ledger=ledger, scope="c")
    assert len(made.spans()) == 1
    ledger.close()


def test_sync_tools_run_where_they_ran_before(made):
    """A hook for both drivers moves nothing into another thread."""
    import threading

    threads = []

    @tool
    def where() -> None:
        """Where."""
        threads.append(threading.current_thread())

    made(where).dispatch(response(("where", {}), ("later", {"n": 1})))
    assert threads == [threading.current_thread()]


def test_the_names_stand_in_one_table():
    assert len(set(NAMES.values())) == len(NAMES)
    assert all(name.split(".")[0] in ("gen_ai", "toolshape", "error") for name in NAMES.values())


class Broken(SpanProcessor):
    def __init__(self, where):
        self.where = where

    def on_start(self, span, parent_context=None):
        if self.where == "start":
            raise OSError("the collector is away")

    def on_end(self, span):
        if self.where == "end":
            raise OSError("the collector is away")


@pytest.mark.parametrize("where", ["start", "end"])
@pytest.mark.parametrize("how", ["run", "arun"])
def test_what_a_processor_raises_is_no_answer(how, where, caplog):
    """It is logged, and the call ran."""
    tracers = TracerProvider()
    tracers.add_span_processor(Broken(where))
    tools = Registry([here])
    instrument(
        tools, tracer_provider=tracers, meter_provider=MeterProvider([InMemoryMetricReader()])
    )
    body = response(("here", {"n": 1}))
    [result] = tools.dispatch(body) if how == "run" else asyncio.run(tools.adispatch(body))
    assert result.value == 1
    assert "the collector is away" in caplog.text

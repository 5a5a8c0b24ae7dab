"""Records calls as OpenTelemetry spans and metrics, following its GenAI conventions.

Needs the extra ``otel``.
"""

import functools
import json
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

try:
    from opentelemetry import metrics, trace
    from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode
except ImportError as error:
    raise ImportError(
        f"toolshape.otel needs OpenTelemetry: pip install 'toolshape[otel]' ({error})"
    ) from error

from toolshape._bound.bound import Bound, ObservedResponse
from toolshape._bound.registry import Registry, store_of
from toolshape._records.calls import JsonObject
from toolshape._records.context import CallContext
from toolshape._records.errors import ResponseError
from toolshape._records.result import REFUSED, Result
from toolshape._tools.tool import Tool, record_of

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

__all__ = ["NAMES", "instrument"]

T = TypeVar("T")

NAMES: Mapping[str, str] = MappingProxyType(
    {
        # https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/execute-tool.md,
        # read 2026-11. The conventions are still in development.
        "operation": "gen_ai.operation.name",
        "tool": "gen_ai.tool.name",
        "type": "gen_ai.tool.type",
        "description": "gen_ai.tool.description",
        "call": "gen_ai.tool.call.id",
        "arguments": "gen_ai.tool.call.arguments",
        "result": "gen_ai.tool.call.result",
        "provider": "gen_ai.provider.name",
        "error": "error.type",
        "duration": "gen_ai.execute_tool.duration",
        # These names are toolshape's own: the conventions do not define them.
        "replayed": "toolshape.call.replayed",
        "coercions": "toolshape.coercions",
        "refusals": "toolshape.refusals",
        "rule": "toolshape.coercion.rule",
    }
)
"""Maps a short key to the full name of each span attribute and metric."""
_Source: TypeAlias = "tuple[TracerProvider | None, MeterProvider | None]"
_OPERATION = "execute_tool"
_BUCKETS = [0.01 * 2**power for power in range(14)]  # 0.01 s to 81.92 s, as the conventions advise


def instrument(
    tools: Registry,
    *,
    content: bool = False,
    tracer_provider: "TracerProvider | None" = None,
    meter_provider: "MeterProvider | None" = None,
) -> None:
    """Record a span for every call that runs, and count durations, coercions and refusals.

    A registry that is instrumented already stays as it is: a second call does nothing, and logs a
    warning.

    ``instrument`` adds a hook around every call, inside the hooks that were added earlier. It also
    adds an observer of responses. If tools were bound before ``instrument`` was called, their plans
    are not recorded.

    Args:
        tools: The tools.
        content: Whether spans include arguments, results, and the exceptions that tools raise (with
            their messages). Arguments that are marked as secret are masked. Results and exceptions
            are not searched for secrets.
        tracer_provider: The tracer provider. The default is OpenTelemetry's global tracer provider.
        meter_provider: The meter provider. The default is OpenTelemetry's global meter provider.
    """
    if any(isinstance(hook, _Spans) for hook in store_of(tools).contents.hooks):
        logging.getLogger("toolshape").warning("these tools are instrumented already")
        return
    tracer = trace.get_tracer("toolshape", tracer_provider=tracer_provider)
    meter = metrics.get_meter("toolshape", meter_provider=meter_provider)
    source = (tracer_provider, meter_provider)
    tools.around(_Spans(source, tracer, meter, content=content))
    tools.observe(_Counts(source, meter))


class _Spans:
    """The hook that records a span for each call.

    Two hooks with the same providers are equal, so two instrumented registries that are joined
    record one span a call.
    """

    def __init__(
        self, source: _Source, tracer: trace.Tracer, meter: metrics.Meter, *, content: bool
    ) -> None:
        self._source = source
        self._tracer = tracer
        self._content = content
        self._duration = meter.create_histogram(
            NAMES["duration"],
            unit="s",
            description="How long tools ran.",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Spans) and self._source == other._source

    def __hash__(self) -> int:
        return hash(self._source)

    def __call__(self, context: CallContext, proceed: Callable[[], Result]) -> Result:
        with self._span(context) as end:
            return end(proceed())

    async def acall(self, context: CallContext, proceed: Callable[[], Awaitable[Result]]) -> Result:
        with self._span(context) as end:
            return end(await proceed())

    @contextmanager
    def _span(self, context: CallContext) -> Generator[Callable[[Result], Result]]:
        labels = {NAMES["tool"]: context.tool.name, NAMES["type"]: "function"}
        no_span: Span = INVALID_SPAN
        span, started = (
            _run_safely(lambda: self._start_span(context, labels), no_span),
            perf_counter(),
        )

        def end(result: Result) -> Result:
            _run_safely(lambda: self._set_outcome(span, result), None)
            if result.error is None:
                error_label = {}
            else:
                error_label = {NAMES["error"]: result.error.code}
            _run_safely(
                lambda: self._duration.record(perf_counter() - started, {**labels, **error_label}),
                None,
            )
            return result

        def end_broken(error: BaseException) -> None:
            span.set_attribute(NAMES["error"], type(error).__name__)
            span.set_status(StatusCode.ERROR)

        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield end
        except BaseException as error:  # for example an interrupt or a cancellation
            _run_safely(functools.partial(end_broken, error), None)
            raise
        finally:
            _run_safely(span.end, None)

    def _start_span(self, context: CallContext, labels: Mapping[str, str]) -> Span:
        attributes: dict[str, Any] = {
            **labels,
            NAMES["operation"]: _OPERATION,
            NAMES["call"]: context.call_id,
            NAMES["description"]: context.tool.description,
        }
        if self._content:
            attributes[NAMES["arguments"]] = json.dumps(_mask_arguments(context))
        name = f"{_OPERATION} {context.tool.name}"
        return self._tracer.start_span(name, kind=SpanKind.INTERNAL, attributes=attributes)

    def _set_outcome(self, span: Span, result: Result) -> None:
        if result.replayed:
            span.set_attribute(NAMES["replayed"], True)
        if self._content:
            span.set_attribute(NAMES["result"], result.text)
        if result.error is not None:
            span.set_attribute(NAMES["error"], result.error.code)
            span.set_status(StatusCode.ERROR, result.text if self._content else None)
            if self._content and result.error.__cause__ is not None:
                span.record_exception(result.error.__cause__)


def _run_safely(work: Callable[[], T], otherwise: T) -> T:
    """Run telemetry code.

    Log an exception from a tracer, meter or processor, because it must not fail the call.
    """
    try:
        return work()
    except Exception:
        logging.getLogger("toolshape").exception("could not record a span or a metric for a call")
        return otherwise


def _mask_arguments(context: CallContext) -> JsonObject:
    """Return the arguments of a call. Mask the values that are marked as secret."""
    if not isinstance(context.tool, Tool):
        return context.arguments
    masked_arguments: JsonObject = record_of(context.tool).secrets.masked(context.arguments)
    return masked_arguments


class _Counts:
    """The observer that counts coercions and refused calls, because hooks do not see refused calls.

    Two observers with the same providers are equal, as ``_Spans`` are.
    """

    def __init__(self, source: _Source, meter: metrics.Meter) -> None:
        self._source = source
        self._coercions = meter.create_counter(
            NAMES["coercions"], unit="{coercion}", description="Coerced arguments."
        )
        self._refusals = meter.create_counter(
            NAMES["refusals"], unit="{call}", description="Calls that were refused."
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Counts) and self._source == other._source

    def __hash__(self) -> int:
        return hash(self._source)

    def observe(self, bound: Bound, seen: ObservedResponse) -> None:
        if isinstance(seen.outcome, ResponseError) or seen.continues:
            return
        for result in seen.outcome:
            # Only known tool names are labels. A model can make up any number of names, and each
            # would add a series.
            labels = {NAMES["provider"]: bound.provider.name}
            if result.call.name is not None:
                labels[NAMES["tool"]] = result.call.name
            for coercion in result.coercions:
                self._coercions.add(1, {**labels, NAMES["rule"]: coercion.rule})
            if result.error is not None and result.error.code in REFUSED:
                self._refusals.add(1, {**labels, NAMES["error"]: result.error.code})

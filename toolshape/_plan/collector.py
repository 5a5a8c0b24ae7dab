"""Reads a streamed response: returns each call when it is complete, and the plan of all calls."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

from toolshape._families import families, recognised
from toolshape._families.receive import fold_event, read_response, text_delta
from toolshape._families.wire.bodies import member, model_name
from toolshape._families.wire.provider import Provider
from toolshape._families.wire.stream_events import WRAPPERS, Decoder, Numbered, PieceDecoder
from toolshape._plan.partial_calls import PartialCall, partial_call
from toolshape._plan.plan import Plan
from toolshape._plan.planning import plan_calls
from toolshape._plan.resolve import resolve_call
from toolshape._plan.results import Results, Streamed
from toolshape._records.calls import Call, JsonObject, WireCall
from toolshape._records.errors import ResponseError
from toolshape._records.identity import has_made_up_id
from toolshape._schema.values import join_halves
from toolshape._tools.handler import Handlers

ObserveStream: TypeAlias = Callable[[Results | ResponseError, Sequence[Any], bool], None]
"""Receives the results of a stream, or its error, its pieces as they were fed,
and whether the stream has ended.
"""


class Collector:
    """The calls of one streamed response.

    ``plan`` returns the plan of the calls so far, as for a response without streaming. If a call
    was cut off, its result is the error ``truncated_arguments``. ``text`` and ``thinking`` are the
    text and the visible reasoning that have arrived; ``new_text`` and ``new_thinking`` are what the
    last piece added, so one loop can print both as they arrive, for all providers. ``partial``
    returns the calls that are still arriving.
    """

    __module__ = "toolshape"

    __slots__ = (
        "_complete",
        "_decoder",
        "_fed",
        "_handlers",
        "_is_closed",
        "_last",
        "_model",
        "_numbered",
        "_observe",
        "_provider",
        "_reader",
        "_response",
        "_text",
        "_thinking",
        "new_text",
        "new_thinking",
    )

    def __init__(
        self,
        provider: Provider,
        handlers: Handlers,
        observe: ObserveStream | None = None,
        reader: Provider | None = None,
    ) -> None:
        self._provider = provider
        self._reader = reader or provider
        self._handlers = handlers
        self._observe = observe
        self._fed: list[Any] = []  # kept for observers
        self._is_closed = False
        self._decoder: Decoder | PieceDecoder = (
            PieceDecoder() if provider.response.takes_text else Decoder()
        )
        numbering = self._reader.response.numbering
        self._numbered = None if numbering is None else Numbered(numbering)
        self._complete: set[int] = set()
        self._response: JsonObject = {}
        self._last: Any = None
        self._model: str | None = None
        self._text: list[str] = []  # joined when somebody asks
        self._thinking: list[str] = []
        self.new_text = ""
        self.new_thinking = ""

    @property
    def text(self) -> str:
        """The text that has arrived."""
        return join_halves("".join(self._text))

    @property
    def thinking(self) -> str:
        """The visible reasoning that has arrived."""
        return join_halves("".join(self._thinking))

    def feed(self, chunk: Any) -> list[Call]:
        """Read one more piece of the stream.

        Args:
            chunk: An event of the SDK, a dict, an item of an event stream, or raw text or bytes
                (server-sent events, JSON lines), split anywhere.

        Returns:
            The calls that this piece completes.

        Raises:
            ResponseError: The piece is not an event of this provider. Earlier events are kept.
        """
        if self._observe is not None:
            self._fed.append(chunk)
        self.new_text = self.new_thinking = ""
        if type(chunk) is dict and WRAPPERS.isdisjoint(chunk):  # nearly every event of a client
            return self._read_event(chunk)
        return [call for event in self._decoder.events(chunk) for call in self._read_event(event)]

    def close(self) -> list[Call]:
        """Record that the stream has ended, completely or not.

        Returns:
            The calls that were not complete before. If the stream was cut, these calls are cut off.

        Raises:
            ResponseError: No piece was an event of this provider.
        """
        self._is_closed = True
        self.new_text = self.new_thinking = ""
        calls = [call for event in self._decoder.rest() for call in self._read_event(event)]
        calls += self._read_waiting_events()
        if not self._is_of_this_provider():
            raise ResponseError(self._describe_foreign_stream(), body=self._last)
        if not recognised(self._provider, self._response):
            return calls
        _, wires, *_ = read_response(self._reader, self._response)
        incomplete = [
            (position, wire)
            for position, wire in enumerate(wires)
            if position not in self._complete
        ]
        return calls + [self._resolve_call(position, wire) for position, wire in incomplete]

    def _read_event(self, event: Any) -> list[Call]:
        numbered = self._numbered
        if numbered is None or numbered.is_next(event):
            return self._fold_event(event)
        return [call for each in numbered.in_order(event) for call in self._fold_event(each)]

    def _read_waiting_events(self) -> list[Call]:
        """Read the events that wait for one that was lost, and keep that it was."""
        if self._numbered is None:
            return []
        calls = [call for event in self._numbered.rest() for call in self._fold_event(event)]
        if self._numbered.has_gap:
            self._response["x-gap"] = True
        return calls

    def _resolve_call(self, position: int, wire: WireCall | tuple[str, str, Any, Any]) -> Call:
        return resolve_call(self._provider.name, self._handlers, position, wire)

    def plan(self) -> Plan:
        """Return the calls so far, validated and not run; see ``Bound.plan``.

        If the provider ended the stream with an error, its calls are not run. What ``feed``
        returned before is yours.

        Raises:
            ResponseError: No part of a response has arrived. Or the stream ended with an error, and
                without calls; ``text`` holds what came before.
        """
        self._read_waiting_events()
        if not self._response or not recognised(self._provider, self._response):
            raise ResponseError(self._describe_foreign_stream(), body=self._last)
        assistant, calls, finish, _, ends_in_call = read_response(self._reader, self._response)
        if isinstance(finish, str) and finish in self._reader.response.unfinished:
            finish = None
        cut_positions = frozenset(range(len(calls))) - self._complete
        # A complete call cannot be cut off.
        ends_in_call = ends_in_call and len(calls) - 1 in cut_positions
        reading = assistant, calls, finish, cut_positions, ends_in_call
        try:
            results = plan_calls(self._provider, reading, self._handlers, Streamed(self._response))
        except ResponseError as error:
            if self._observe is not None:
                self._observe(error, tuple(self._fed), self._is_closed)
            raise
        if self._observe is not None:
            self._observe(results, tuple(self._fed), self._is_closed)
        return Plan(results)

    def partial(self) -> tuple[PartialCall, ...]:
        """Return the calls that are not complete, as far as they have arrived, in call order.

        The arguments are in canonical form, as the tool takes them, and not validated. They are the
        final arguments so far: strings and lists may grow, and fields may be added. A field may
        have another form at the provider, for example a list of pairs instead of a map. Such a
        field appears once it is complete.
        """
        if not self._response or not recognised(self._provider, self._response):
            return ()
        _, wires, *_ = read_response(self._reader, self._response)
        incomplete = [
            (position, wire)
            for position, wire in enumerate(wires)
            if position not in self._complete
        ]
        answer = self._handlers.answer
        if answer is None:
            read_partial = partial_call
        else:
            read_partial = answer.partial_call
        # An id that is made up of the arguments changes with them; in a model's text, it is made up
        # of what comes before the call.
        makes_ids_of_text = self._reader.response.takes_text
        parts: list[PartialCall] = []
        for position, wire in incomplete:
            call = self._resolve_call(position, wire)
            has_id = makes_ids_of_text or not has_made_up_id(call)
            part = read_partial(call)
            parts.append(part._replace(id=call.id if has_id else None, key=position))
        return tuple(parts)

    @property
    def model(self) -> str | None:
        """The model that the stream names; ``None`` until the name arrives."""
        return self._model

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Collector cannot be pickled: it holds an unfinished stream; pickle its calls, or "
            "results"
        )

    def over(self, stream: Iterable[Any]) -> Iterator[Call]:
        """Feed a whole stream, yield each call when it is complete, and close the collector.

        Raises:
            Exception: The stream raised. ``plan`` returns the calls that have arrived; the last may
                be cut off.
        """
        for chunk in stream:
            yield from self.feed(chunk)
        yield from self.close()

    async def aover(self, stream: AsyncIterable[Any]) -> AsyncIterator[Call]:
        """Like ``over``, for an asynchronous stream."""
        async for chunk in stream:
            for call in self.feed(chunk):
                yield call
        for call in self.close():
            yield call

    def _is_of_this_provider(self) -> bool:
        """Whether the events may come from this provider.

        Events are foreign if none of them changed the response, and the last event is an error or
        would change the response of another provider.
        """
        last_event = self._last
        if (
            self._complete
            or not isinstance(last_event, dict)
            or self._response != _apply_event(self._provider, {})
        ):
            return True
        if last_event.get("error") or last_event.get("type") == "error":
            return False
        other_providers = [
            family for family in families() if family.family != self._provider.family
        ]
        return not any(
            _apply_event(other_provider, last_event)
            != _apply_event(other_provider, {})
            == _apply_event(other_provider, _NOBODYS)
            for other_provider in other_providers
        )

    def _describe_foreign_stream(self) -> str:
        """Describe what arrived instead of a stream of this provider."""
        if self._last is None:
            return "no part of a response has arrived in this stream"
        last = self._last if isinstance(self._last, dict) else {}
        if last.get("error") or last.get("type") == "error":
            return (
                "the provider sent an error instead of a stream: "
                f"{str(last.get('error') or last)[:300]}"
            )
        if last:
            description = f"an object with the keys {sorted(map(str, last))[:8]}"
        else:
            description = type(self._last).__name__
        return (
            f"no event of {self._provider.name} has arrived; the last piece was {description}: "
            "is it from another provider?"
        )

    def _fold_event(self, event: Any) -> list[Call]:
        self._last = event
        if self._model is None:
            candidates = (event, member(event, "message"), member(event, "response"))
            self._model = next((name for item in candidates if (name := model_name(item))), None)
        folded = fold_event(self._reader, self._response, event)
        delta = text_delta(self._reader, self._response, event)
        if delta.text:
            self.new_text += delta.text
            self._text.append(delta.text)
        if delta.thinking:
            self.new_thinking += delta.thinking
            self._thinking.append(delta.thinking)
        if not folded:
            return []
        completed = [
            (position, wire) for position, wire in folded if position not in self._complete
        ]
        self._complete.update(position for position, _ in completed)
        return [self._resolve_call(position, wire) for position, wire in completed]


response_of: Callable[[Collector], JsonObject] = attrgetter("_response")
"""Returns the part of a collector's response that has arrived; the reader
of a streamed answer uses this.
"""

# No provider sends this event; only a provider that keeps every event accepts it.
_NOBODYS: JsonObject = {"": None}


def _apply_event(provider: Provider, event: JsonObject) -> JsonObject | None:
    """Apply one event to an empty response; return ``None`` if the provider has no such event."""
    body: JsonObject = {}
    try:
        fold_event(provider, body, event)
    except ResponseError:
        return None
    return body

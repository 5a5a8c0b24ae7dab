"""Writes requests for an answer in a type at one provider, reads its responses and streams."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, Generic, TypeVar

from toolshape._answers.answer import (
    ANSWER_FIELD,
    ReadAnswerText,
    answer_of,
    compile_answer_reading,
    raw_answer,
)
from toolshape._answers.export import WireOutput, output_to_wire
from toolshape._answers.record import OutputRecord, record_output
from toolshape._families import get, recognised
from toolshape._families.receive import ending_of, read_response
from toolshape._families.wire.provider import Provider, ProviderOrName
from toolshape._function.core_schema.validation_context import validating_with
from toolshape._plan.collector import Collector, response_of
from toolshape._plan.partial_calls import read_beginning
from toolshape._plan.planning import failed_response
from toolshape._plan.results import Answer, ending_with_finish
from toolshape._records.calls import JsonObject, JsonSchema, Strictness
from toolshape._records.errors import ResponseError
from toolshape._records.report import Report
from toolshape._schema.values import copy_json
from toolshape._tools.handler import Handlers

T = TypeVar("T", covariant=True)  # noqa: PLC0105 - users see this name in their editor


class BoundOutput(Generic[T]):
    """An output in the form of one provider: writes the keyword arguments of a
    request, and reads the responses.
    """

    __module__ = "toolshape"

    __slots__ = ("_read", "_record", "_strict", "_wire", "name", "provider")

    def __init__(
        self,
        record: OutputRecord,
        provider: Provider,
        wire: WireOutput,
        read: ReadAnswerText,
        strict: Strictness,
    ) -> None:
        self.name = record.name
        self.provider = provider
        self._record = record
        self._wire = wire
        self._read = read
        self._strict: Strictness = strict

    def __repr__(self) -> str:
        return f"BoundOutput({self.provider.name!r}, {self.name!r})"

    def __copy__(self) -> "BoundOutput[T]":
        return self

    def __deepcopy__(self, memo: Any) -> "BoundOutput[T]":
        return self

    def __reduce__(self) -> Any:
        return _rebind, (self._record.options, self.provider, self._strict)

    @property
    def schema(self) -> JsonSchema:
        """A copy of the schema that the provider receives."""
        return copy_json(self._wire.lens.schema)  # type: ignore[no-any-return]

    def is_strict(self) -> bool:
        """Return whether the provider constrains the answer to the schema, as
        ``Bound.is_strict`` does for a tool.
        """
        return self._wire.is_strict

    @property
    def tool(self) -> str | None:
        """The wire name of the tool that takes the answer; ``None`` if the
        provider has a field for the schema.
        """
        return self._wire.tool

    def request(self) -> JsonObject:
        """Return a copy of the keyword arguments for a request; every
        process produces the same bytes.
        """
        return copy_json(self._wire.keywords)  # type: ignore[no-any-return]

    def report(self) -> Report:
        """Return how the sent schema differs from the type, and the rules that
        the provider does not enforce.
        """
        findings = [
            finding for finding in self._record.definition.findings if finding.rule != "undescribed"
        ]
        differences = (*self._wire.notes, *self._wire.lens.losses, *findings)
        return Report([(self.name, difference) for difference in differences])

    def read(self, response: Any, *, context: Any = None) -> Answer[T]:
        """Read the answer in a response (SDK object, dict, JSON text or
        bytes): its value, or the error.

        Args:
            response: The response.
            context: What validators of the type read as ``info.context``; it is never stored.

        Raises:
            ResponseError: The response is not of this provider's family, or the provider ended it
                with an error.
        """
        reading = read_response(self.provider, response)
        # A response without calls may hold the answer as its text, even if the model had to call a
        # tool.
        tool = self._wire.tool if reading[1] else None
        given = (
            self.provider, reading, response, self.name, tool, self._read, self._record.secrets,
        )  # fmt: skip
        answer: Answer[T]
        # To enter a block that changes nothing would cost a quarter of a validation.
        if context is None:
            answer = answer_of(*given)
        else:
            with validating_with(context):
                answer = answer_of(*given)
        if answer.error is not None:
            self._refuse_failed(answer, response)
        return answer

    def _refuse_failed(self, answer: Answer[T], response: Any) -> None:
        """Check that the provider did not end the response with an error:
        then the model is not to blame.

        Raises:
            ResponseError: It did.
        """
        ending = ending_with_finish(
            ending_of(self.provider, response), answer.finish, answer.finish_raw
        )
        if ending.error is not None:
            may_quote = self._record.secrets.are_there
            raise failed_response(ending.error, response, may_quote=may_quote)

    def collector(self, *, context: Any = None) -> "AnswerCollector[T]":
        """Return a collector for a stream from this provider; the collector
        returns the answer as it grows.

        Args:
            context: What validators of the type read as ``info.context``; it is never stored.
        """
        return AnswerCollector(self, self._record, self._wire, context)


class AnswerCollector(Generic[T]):
    """Collects the answer from one streamed response.

    ``text`` and ``thinking`` are the text and the visible reasoning that have arrived, and
    ``new_text`` and ``new_thinking`` what the last piece of the stream added.
    """

    __module__ = "toolshape"

    __slots__ = ("_bound", "_broken", "_collector", "_context", "_record", "_wire")

    def __init__(
        self, bound: BoundOutput[T], record: OutputRecord, wire: WireOutput, context: Any
    ) -> None:
        self._bound = bound
        self._record = record
        self._wire = wire
        self._context = context
        self._collector = Collector(bound.provider, Handlers({}))
        self._broken: Exception | None = None

    @property
    def text(self) -> str:
        """The text that has arrived."""
        return self._collector.text

    @property
    def thinking(self) -> str:
        """The visible reasoning that has arrived."""
        return self._collector.thinking

    @property
    def new_text(self) -> str:
        """The text in the last piece of the stream."""
        return self._collector.new_text

    @property
    def new_thinking(self) -> str:
        """The visible reasoning in the last piece of the stream."""
        return self._collector.new_thinking

    @property
    def model(self) -> str | None:
        """The model that the stream names; ``None`` until the name arrives."""
        return self._collector.model

    def feed(self, chunk: Any) -> None:
        """Add the next piece of the stream.

        Args:
            chunk: An event of the SDK, a dict, an item of an event stream, or raw text or bytes,
                split anywhere.

        Raises:
            ResponseError: The value is not an event of this provider. Earlier events are kept.
        """
        self._collector.feed(chunk)

    def close(self) -> Answer[T]:
        """Record that the stream has ended or was cut off, and return its answer.

        Raises:
            ResponseError: No piece was an event of this provider.
        """
        self._collector.close()
        return self.answer()

    def answer(self) -> Answer[T]:
        """Return the answer so far; an incomplete answer has an error.

        Raises:
            ResponseError: No part of a response has arrived.
        """
        response = response_of(self._collector)
        if not response or not recognised(self._bound.provider, response):
            raise ResponseError("no part of a response has arrived in this stream", body=response)
        answer = self._bound.read(response, context=self._context)
        if self._broken is not None and answer.error is not None:
            answer.error.__cause__ = self._broken
        return answer

    def partial(self) -> Any:
        """Return the answer so far as canonical JSON, without validation;
        ``None`` if no part has arrived.

        The value is the final answer so far: strings and lists may still grow, and fields may be
        added. If this provider receives a field in another form, such as a map sent as pairs, the
        field appears only when it is complete.
        """
        response, bound = response_of(self._collector), self._bound
        if not response or not recognised(bound.provider, response):
            return None
        record, lens = self._record, self._wire.lens
        wire_answer = raw_answer(
            bound.provider, read_response(bound.provider, response), self._wire.tool
        )
        partial_answer = read_beginning(
            wire_answer, lens.back, lens.losses, tuple(record.definition.schema.get("$defs", ()))
        )
        if record.is_wrapped:
            return partial_answer.get(ANSWER_FIELD)
        return partial_answer or None

    def over(self, stream: Iterable[Any]) -> Iterator[Any]:
        """Feed a stream, and yield ``partial()`` after each piece with text.

        If the answer is sent as a tool call, yield ``partial()`` after every piece. If the stream
        raises after a part of the answer has arrived, this iterator ends: ``answer`` then has the
        error ``truncated_answer``, whose ``__cause__`` is the exception.

        Raises:
            Exception: The stream raised before a part of a response arrived.
            ResponseError: A piece is not an event of this provider.
        """
        pieces = iter(stream)
        while True:
            try:
                chunk = next(pieces)
            except StopIteration:
                return
            except Exception as error:
                self._break(error)
                return
            self.feed(chunk)
            if self.new_text or self._bound.tool:
                yield self.partial()

    async def aover(self, stream: AsyncIterable[Any]) -> AsyncIterator[Any]:
        """Like ``over``, for an asynchronous stream."""
        pieces = aiter(stream)
        while True:
            try:
                chunk = await anext(pieces)
            except StopAsyncIteration:
                return
            except Exception as error:
                self._break(error)
                return
            self.feed(chunk)
            if self.new_text or self._bound.tool:
                yield self.partial()

    def _break(self, error: Exception) -> None:
        """Keep the exception of a stream that broke.

        Raises:
            Exception: The same exception, if no part of a response has arrived.
        """
        response = response_of(self._collector)
        if not response or not recognised(self._bound.provider, response):
            raise error
        self._broken = error

    def __reduce__(self) -> Any:
        raise TypeError(
            "an AnswerCollector cannot be pickled: it holds an unfinished stream; pickle its answer"
        )


def bind_output(
    record: OutputRecord, provider: ProviderOrName, strict: Strictness
) -> BoundOutput[Any]:
    """Compile an output for a provider.

    Raises:
        ExportError: The provider is unknown, does not accept the schema, or has no strict form.
    """
    resolved_provider = get(provider)
    wire = output_to_wire(resolved_provider, record.spec, strict)
    read = compile_answer_reading(
        record.definition, wire.lens, record.rules, is_wrapped=record.is_wrapped
    )
    return BoundOutput(record, resolved_provider, wire, read, strict)


def _rebind(options: tuple[Any, ...], provider: Provider, strict: Strictness) -> BoundOutput[Any]:
    return bind_output(record_output(*options), provider, strict)

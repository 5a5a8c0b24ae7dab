"""Writes requests and runs calls with the tools of one moment in one provider's form."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, overload, runtime_checkable

from pydantic_core import from_json, to_json

from toolshape import _bound, _history, _plan
from toolshape._bound import writing
from toolshape._bound.bound_tools import BoundTools, bind_tools, select_part
from toolshape._bound.selection import select_tools
from toolshape._families.receive import read_response
from toolshape._families.wire.provider import Reading
from toolshape._function.calling.call import NOTHING_INJECTED
from toolshape._plan import state
from toolshape._plan.collector import Collector
from toolshape._plan.plan import Plan, plan_of
from toolshape._plan.planning import plan_calls
from toolshape._plan.results import Results, assistant_of
from toolshape._plan.run_options import WITHOUT_LEDGER, RunOptions, refuse_unknown
from toolshape._plan.running import USUAL_RUN, Run, arun_unshared, run_unshared
from toolshape._records.calls import (
    Call,
    Finding,
    JsonObject,
    Loss,
    Strictness,
    WireCall,
)
from toolshape._records.errors import Problem, ResponseError, UsageError
from toolshape._records.report import Report
from toolshape._records.result import Result
from toolshape._tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterator

    from typing_extensions import Unpack

    from toolshape._bound.batches import BatchLine
    from toolshape._plan.session import Session
    from toolshape.messages import Message, Repaired


class ObservedResponse(NamedTuple):
    """A response as observers receive it, with its results, or with the
    error if it could not be read.

    ``response`` is the response that the caller passed, or the pieces of a stream. For a resumed
    plan, it is the assistant's message. ``stream`` says whether a stream has ``ended`` or is still
    ``open``. ``outcome`` holds the results, or the error if the response could not be read.
    ``continues`` is true if the observers already received the response once, while a call waited.
    ``notes`` holds further facts, by name.
    """

    response: Any
    outcome: Results | ResponseError
    stream: Literal["ended", "open"] | None = None
    notes: Mapping[str, Any] = NOTHING_INJECTED
    continues: bool = False


_LONGEST_KEPT = 32_768  # bytes of a request


@runtime_checkable
class Observer(Protocol):
    """Receives each response once all calls are answered or rejected;
    ``toolshape.trace.record_to`` makes an observer.

    If calls wait for approval, the observer receives the response twice: when these calls begin to
    wait, and when all calls are answered.
    """

    def observe(self, bound: "Bound", seen: ObservedResponse) -> None:
        """Receive a response; an exception raised here is logged, and does not change the
        results.
        """


class Bound:
    """Tools in one provider's form: an immutable snapshot that later changes
    to the registry do not affect.
    """

    __module__ = "toolshape"

    __slots__ = ("_bound_tools", "_fingerprint", "_usual_request", "provider", "strict")

    def __init__(self, bound_tools: BoundTools) -> None:
        self.provider = bound_tools.provider
        self.strict: Strictness = bound_tools.strict
        self._bound_tools = bound_tools
        self._fingerprint = ""
        # The last request without options, by its model, as JSON: a conversation makes it again for
        # each response.
        self._usual_request: tuple[str | None, bytes] | None = None

    def __reduce__(self) -> Any:
        return _unpickle_bound, (self._bound_tools.terms(),)

    def __copy__(self) -> "Bound":
        return self

    def __deepcopy__(self, memo: Any) -> "Bound":
        return self

    def __repr__(self) -> str:
        return (
            f"Bound({self.provider.name!r}, "
            f"{[shape.name for shape in self._bound_tools.shapes.values()]})"
        )

    def export(self) -> list[Any]:
        """Return a copy of the list for ``tools=`` in the provider's SDK; every
        process produces the same bytes.

        Raises:
            ExportError: There are more tools than the provider accepts in one request.
        """
        return writing.write_tools(self._bound_tools)

    def subset(
        self,
        names: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        *,
        exclude: Collection[str] = (),
    ) -> "Bound":
        """Return a ``Bound`` with some of these tools, for one request; calls to other
        tools are rejected as unknown.

        Nothing is compiled again: a subset costs one lookup for each name.

        Args:
            names: Names, or patterns such as ``"gh_*"``. ``None`` matches every name.
            tags: Tags. ``None`` matches every tool.
            exclude: Names or patterns of tools to leave out.

        Raises:
            KeyError: A name, a pattern or a tag matches no tool.
        """
        return Bound(select_part(self._bound_tools, select_tools(self.tools, names, tags, exclude)))

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """The tools, in the order of the export."""
        return self._bound_tools.tools

    def is_strict(self, name: str) -> bool:
        """Whether the provider receives a tool in strict form; ``name`` is the tool's own name.

        Raises:
            KeyError: There is no such tool.
        """
        return {shape.name: shape.is_strict for shape in self._bound_tools.shapes.values()}[name]

    def names_by_wire_name(self) -> dict[str, str]:
        """Return a mapping from wire names to the tools' own names, in the order of the export."""
        return {shape.wire_name: shape.name for shape in self._bound_tools.shapes.values()}

    def report(self) -> Report:
        """Return the differences between the tools and their form for this provider,
        and the findings on each tool.
        """
        differences: list[tuple[str, Loss | Finding]] = []
        for shape in self._bound_tools.shapes.values():
            differences += [(shape.name, loss) for loss in shape.differences]
            differences += [(shape.name, finding) for finding in shape.tool.findings]
        answer = self._bound_tools.answer
        if answer is not None:
            differences += [(answer.name, difference) for difference in answer.differences]
        return Report(differences)

    @property
    def fingerprint(self) -> str:
        """A hash of the exported tools: equal exports have equal fingerprints, in every process."""
        if not self._fingerprint:
            entries = b",".join(self._bound_tools.entries.values())
            self._fingerprint = hashlib.sha256(entries).hexdigest()[:16]
        return self._fingerprint

    def request(
        self,
        *,
        choice: str | Collection[str] | None = None,
        parallel: bool | None = None,
        model: str | None = None,
        native: Sequence[Any] = (),
    ) -> JsonObject:
        """Return a request's keyword arguments (``tools``, and the choice in the
        provider's form); empty without tools.

        If an output is bound, the arguments include the schema of the answer. Some providers
        receive this schema as a tool. For these providers, ``"none"`` forces the answer, and
        ``choice`` defaults to ``"required"`` if the provider supports it: each response then calls
        tools or gives the answer.

        Args:
            choice: ``"auto"``, ``"none"``, ``"required"``, the name of the tool that must be
                called, or several names: the model must call one of these tools. If the provider
                cannot express a choice among several tools, only the named tools are sent.
            parallel: Whether one response may hold several calls.
            model: The model that receives the request: some choices work only for some models.
            native: The provider's own tools, in the form that its SDK expects. They are sent in
                addition to these tools.

        Raises:
            ExportError: A tool does not exist, the provider does not support the choice, or there
                are too many tools.
        """
        asked = writing.Asked(choice=choice, parallel=parallel, model=model, native=native)
        if choice is not None or parallel is not None or native:
            return writing.write_request(self._bound_tools, asked)
        usual = self._usual_request
        if usual is not None and usual[0] == model:
            request: JsonObject = from_json(usual[1])
            return request
        request = writing.write_request(self._bound_tools, asked)
        self._keep_request(model, request)
        return request

    def _keep_request(self, model: str | None, request: JsonObject) -> None:
        """Keep a request as JSON, unless it is so long that only the
        tools count, or is more than JSON.
        """
        try:
            text = to_json(request)
        except ValueError:  # a lone surrogate, or what only the provider's SDK can write
            return
        if len(text) <= _LONGEST_KEPT and from_json(text) == request:
            self._usual_request = model, text

    def plan(self, response: Any, *, context: Any = None) -> Plan:
        """Read a response (SDK object, dict, JSON text or bytes) and validate
        its calls, without running them.

        Args:
            response: The response, or results with calls that wait for approval. For results, their
                plan is returned.
            context: What validators of arguments read as ``info.context``; it is never stored.

        Raises:
            ResponseError: The response is not of this provider's family.
        """
        if isinstance(response, Results):
            return plan_of(response)
        bound_tools = self._bound_tools
        try:
            results = plan_calls(
                self.provider,
                read_response(bound_tools.reader, response),
                bound_tools.handlers.in_context(context),
                response,
            )
        except ResponseError as error:
            show_to_observers(self, ObservedResponse(response, error))
            raise
        if bound_tools.observers is not None:
            self._observe(results, response)
        return Plan(results)

    def _observe(self, results: Results, response: Any) -> None:
        """Show a response to the observers once its calls are answered."""
        state.observe(
            results,
            lambda done, was_told: show_to_observers(
                self, ObservedResponse(response, done, continues=was_told)
            ),
        )

    def session(self, *, context: Any = None) -> "Session":
        """Return the calls of a session, which one connection carries: ``openai-realtime`` and
        ``gemini-live``.

        Args:
            context: What validators of arguments read as ``info.context``; it is never stored.

        Raises:
            UsageError: The provider answers one request at a time.
        """
        form = self.provider.session
        if form is None:
            raise UsageError(
                f"{self.provider.name} has no sessions: use collector() for a stream, or bind to "
                "openai-realtime or gemini-live"
            )

        def observe(results: Results) -> None:
            self._observe(results, list(assistant_of(results)))

        has_observers = self._bound_tools.observers is not None
        handlers = self._bound_tools.handlers.in_context(context)
        return _plan.session.Session(
            self.provider, form, handlers, observe if has_observers else None
        )

    def collector(self, *, context: Any = None) -> "Collector | Session":
        """Return a collector for a stream from this provider; it returns each
        call once that call is complete.

        For a provider with sessions, this is ``session()``.

        Args:
            context: What validators of arguments read as ``info.context``; it is never stored.
        """
        if self.provider.session is not None:
            return self.session(context=context)

        def observe_stream(
            outcome: Results | ResponseError, pieces: Sequence[Any], has_ended: bool
        ) -> None:
            if has_ended:
                stream: Literal["ended", "open"] = "ended"
            else:
                stream = "open"
            if isinstance(outcome, ResponseError):
                show_to_observers(self, ObservedResponse(pieces, outcome, stream))
                return
            state.observe(
                outcome,
                lambda done, was_told: show_to_observers(
                    self, ObservedResponse(pieces, done, stream, continues=was_told)
                ),
            )

        return Collector(
            self.provider,
            self._bound_tools.handlers.in_context(context),
            None if self._bound_tools.observers is None else observe_stream,
            self._bound_tools.reader,
        )

    def dispatch(
        self, response: Any, *, context: Any = None, **options: "Unpack[RunOptions]"
    ) -> Results:
        """Run every call in a response, and return a result for each call: the
        same as ``plan``, then ``run``.

        Args:
            response: The response, as for ``plan``.
            context: What validators of arguments read as ``info.context``; it is never stored.
            **options: How to run the calls; as for ``Registry.dispatch``.
        """
        bound_tools = self._bound_tools
        is_direct = bound_tools.is_direct and context is None
        if is_direct and (not options or options.keys() <= WITHOUT_LEDGER):
            results = plan_calls(
                bound_tools.provider,
                read_response(bound_tools.reader, response),
                bound_tools.handlers,
                response,
            )
            return run_unshared(results, _make_run(options) if options else USUAL_RUN)
        refuse_unknown(options)
        return self.plan(response, context=context).run(**options)

    async def adispatch(
        self, response: Any, *, context: Any = None, **options: "Unpack[RunOptions]"
    ) -> Results:
        """Like ``dispatch``, for a running event loop: the same as ``plan``, then ``arun``."""
        bound_tools = self._bound_tools
        is_direct = bound_tools.is_direct and context is None
        if is_direct and (not options or options.keys() <= WITHOUT_LEDGER):
            results = plan_calls(
                bound_tools.provider,
                read_response(bound_tools.reader, response),
                bound_tools.handlers,
                response,
            )
            return await arun_unshared(results, _make_run(options) if options else USUAL_RUN)
        refuse_unknown(options)
        return await self.plan(response, context=context).arun(**options)

    def batch_line(self, custom_id: str, request: Mapping[str, Any]) -> JsonObject:
        """Return a request as one entry of this provider's batch: a line of the file, as JSON, or
        an item of the list that the SDK takes.

        OpenAI, Azure, Groq, Cerebras, Together, Mistral and Bedrock take a file of such lines,
        Anthropic ``requests=[...]``, and Gemini ``src=[...]``.

        Args:
            custom_id: What names the request in the batch's results; each request needs its own.
            request: What you would pass to the client: ``{**bound.request(), "messages": ...}``. It
                holds the model if the provider wants one in each request; the model of a whole
                batch is left out.

        Raises:
            UsageError: The provider has no batches, or does not take this id, or this request in a
                batch.
        """
        return _bound.batches.write_entry(self.provider, custom_id, request)

    def read_batch(
        self,
        lines: Iterable[Any],
        *,
        expected: Collection[str] | None = None,
        fingerprint: str | None = None,
        context: Any = None,
        **options: "Unpack[RunOptions]",
    ) -> "Iterator[BatchLine]":
        """Read the results of a batch one by one, and run their calls.

        The results hold no tools, so this must be the ``Bound`` that wrote the requests, or an
        equal one. One line is in memory at a time. A line that comes twice is not run again.

        Args:
            lines: The lines of the output (and of the file of errors), in any order: JSON text,
                dicts or objects of the SDK, an open file or an iterator.
            expected: The ids of all requests. An id that does not come is a line with an error, at
                the end; a line of another id is not run. Gemini's lists may come without ids: pass
                a list in the order of the requests, and each place says whose it is.
            fingerprint: The ``fingerprint`` of the ``Bound`` that wrote the requests, if you kept
                it.
            context: What validators of arguments read as ``info.context``; it is never stored.
            **options: How to run the calls; as for ``Registry.dispatch``. The scope of a line is
                this scope, a slash and the line's id.

        Raises:
            UsageError: The provider has no batches, the fingerprint is another one, or a tool is
                async and an event loop is running. No line was read.
        """
        may_quote = self._bound_tools.handlers.may_hold_secrets
        accounts = _bound.batches.Accounts(self.provider, expected, may_quote=may_quote)
        reader = _bound.batches.open_reader(self, accounts, fingerprint, context, options)
        return _bound.batches.read(reader, lines)

    def aread_batch(
        self,
        lines: "Iterable[Any] | AsyncIterable[Any]",
        *,
        expected: Collection[str] | None = None,
        fingerprint: str | None = None,
        context: Any = None,
        **options: "Unpack[RunOptions]",
    ) -> "AsyncIterator[BatchLine]":
        """Like ``read_batch``, for a running event loop; ``lines`` may be asynchronous, too."""
        may_quote = self._bound_tools.handlers.may_hold_secrets
        accounts = _bound.batches.Accounts(self.provider, expected, may_quote=may_quote)
        reader = _bound.batches.open_reader(self, accounts, fingerprint, context, options)
        return _bound.batches.aread(reader, lines)

    @overload
    def grammar(
        self,
        kind: Literal["structural_tag"],
        *,
        choice: str | Collection[str] | None = None,
        parallel: bool = True,
    ) -> JsonObject: ...
    @overload
    def grammar(
        self,
        kind: Literal["lark", "gbnf"],
        *,
        choice: str | Collection[str] | None = None,
        parallel: bool = True,
    ) -> str: ...
    def grammar(
        self,
        kind: Literal["structural_tag", "lark", "gbnf"],
        *,
        choice: str | Collection[str] | None = None,
        parallel: bool = True,
    ) -> JsonObject | str:
        """Return a grammar for an open model's text, in which every call must be a
        valid call to one of these tools.

        Bind the tools to a text format, or pass ``text_calls=`` to ``bind``. Also pass
        ``strict=True`` to get schemas in which every field is required.

        Args:
            kind: ``"structural_tag"`` for vLLM, SGLang and xgrammar, ``"lark"`` for llguidance, or
                ``"gbnf"`` for llama.cpp.
            choice: ``"required"``, the name of the tool that must be called, or several names. By
                default, the model may call a tool, or write text without calls.
            parallel: Whether several calls may follow one another.

        Raises:
            ExportError: A tool does not exist.
            UsageError: The tools are not bound to a text format, or the format has no grammar of
                this kind.
        """
        from toolshape._families.text import grammars  # noqa: PLC0415 - few programs need a grammar

        schemas = self._bound_tools.schemas
        names: tuple[str, ...] = ()
        if choice is not None and choice not in ("auto", "required"):
            names = writing.wire_names(self._bound_tools, choice, self._bound_tools.answer)
        schemas = {name: schemas[name] for name in names or schemas}
        return grammars.grammar(
            self.provider.name,
            kind,
            schemas,
            forced=choice not in (None, "auto"),
            parallel=parallel,
        )

    def calls_as_messages(self, calls: Iterable[Call | tuple[str, JsonObject]]) -> list[Any]:
        """Write calls as an assistant message, for examples and replayed history.

        Args:
            calls: Calls of any provider, or pairs of a tool's name and its arguments in canonical
                form. A call to an unknown tool, or a call with unreadable arguments, is written in
                a form that can be sent.

        Raises:
            UsageError: A pair names an unknown tool.
        """
        return self.provider.codec.write_calls(
            _history.outbound.convert_calls(self.provider, self._bound_tools.handlers, calls)
        )

    def results_as_messages(self, results: Sequence[Result]) -> list[Any]:
        """Write results as messages for the provider, in the given order.

        If the calls came from another provider, write them with ``calls_as_messages`` first: the
        results then refer to the rewritten calls.
        """
        if (
            all(result.call.provider == self.provider.name for result in results)
            or self.provider.histories is None
        ):
            if results:
                return self.provider.codec.write_results(results)
            return []
        return _history.outbound.write_foreign_results(
            self.provider, self._bound_tools.handlers, results
        )

    def read_messages(self, messages: Any, *, model: str | None = None) -> "list[Message]":
        """Read stored messages of this provider as records, with each call resolved to its tool.

        Args:
            messages: Messages, or a request that holds messages and a system prompt: dicts, SDK
                objects, or JSON text.
            model: The model that wrote the messages.

        Raises:
            ResponseError: The value is not a list of messages.
            UsageError: This provider has no message histories.
        """
        return _history.messages.read_messages(
            self.provider, self._bound_tools.handlers, messages, model, None, self.fingerprint
        )

    def check_messages(self, messages: Any, *, model: str | None = None) -> list[Problem]:
        """Find the problems that would make this provider reject messages,
        without changing the messages.

        Args:
            messages: The messages, as for ``read_messages``.
            model: The model that receives the request: some rules apply only to some models.

        Returns:
            The problems. Each has its path, its rule, and the dated evidence for the rule.

        Raises:
            ResponseError: The value is not a list of messages.
            UsageError: This provider has no message histories.
        """
        return _history.messages.check_messages(self.provider, messages, model)

    def repair_messages(
        self,
        messages: Any,
        *,
        model: str | None = None,
        repairs: Mapping[str, bool] | bool | None = None,
    ) -> "Repaired":
        """Repair messages by named rules so that this provider accepts them, and list each repair.

        Calls in the last turn may still wait for results. A message without a fault is returned as
        the same object.

        Args:
            messages: The messages, as for ``read_messages``.
            model: The model that receives the request: some rules apply only to some models.
            repairs: Rules to switch off, such as ``{"blank_text": False}``. ``False`` switches off
                all rules of the provider.

        Raises:
            ResponseError: The value is not a list of messages.
            UsageError: This provider has no message histories, or the rule does not exist.
        """
        return _history.messages.repair_messages(self.provider, messages, model, repairs)


def _make_run(options: RunOptions) -> Run:
    inject = options.get("inject", NOTHING_INJECTED)
    return Run(inject, options.get("limit"), options.get("on_progress"))


def show_to_observers(bound: Bound, seen: ObservedResponse, *others: Observer) -> None:
    """Show a response to the observers of a ``Bound`` and to other
    observers, once to each observer.
    """
    for observer in {
        id(observer): observer for observer in (*(bound_tools_of(bound).observers or ()), *others)
    }.values():
        try:
            observer.observe(bound, seen)
        except Exception:  # an observer may raise anything; the calls must not fail because of it
            import logging  # noqa: PLC0415 - only failures need it

            logging.getLogger("toolshape").exception(
                "%r failed for a response of %s", observer, bound.provider.name
            )


def observe_resumed(bound: Bound, results: Results) -> None:
    """Show a resumed plan to the observers of a ``Bound``, once all calls of the plan have
    answers.
    """
    if bound_tools_of(bound).observers is None:
        return
    assistant = assistant_of(results)
    response = assistant[0] if len(assistant) == 1 else list(assistant)

    def observe(done: Results, was_told: bool) -> None:
        show_to_observers(bound, ObservedResponse(response, done, continues=was_told))

    state.observe(results, observe, was_told=True)


def plan_call(bound: Bound, call: WireCall) -> Plan:
    """Return the plan for a call that other code (the MCP server) has read;
    ``call.raw`` is the whole request.
    """
    bound_tools = bound_tools_of(bound)
    if bound_tools.observers is not None:
        return bound.plan(call.raw)
    return Plan(plan_calls(bound_tools.provider, Reading([], [call], None), bound_tools.handlers))


def _unpickle_bound(terms: Mapping[str, Any]) -> Bound:
    # Tools are pickled by function name, providers by provider name.
    return Bound(bind_tools(**terms))


bound_tools_of: Callable[[Bound], BoundTools] = attrgetter("_bound_tools")
"""Returns the ``BoundTools`` of a ``Bound``, for the modules that read and run calls."""

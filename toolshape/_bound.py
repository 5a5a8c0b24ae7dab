"""``Bound``: a registry's tools in the form that one provider is sent, immutable; exports, requests and dispatches them."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from pydantic_core import from_json

from toolshape._calls import Call, ChoiceMode, Finding, JsonObject, Loss, WireCall
from toolshape._dispatch.collector import Collector
from toolshape._dispatch.handler import Handlers, Undeclared
from toolshape._dispatch.hook_kinds import Hook
from toolshape._dispatch.ledger_store import LedgerStore
from toolshape._dispatch.plan import OnProgress, Plan, plan_of, watch
from toolshape._dispatch.receive import reading_of
from toolshape._dispatch.resolve import call_of
from toolshape._dispatch.shape import Shape, shapes
from toolshape._errors import ExportError, Problem, ResponseError, did_you_mean
from toolshape._execution.run import NOTHING_INJECTED
from toolshape._report import Report
from toolshape._results import Result, Results
from toolshape._schema.values import copied
from toolshape._selection import selected
from toolshape._tool import Tool, record_of
from toolshape._validation.settings import Validate
from toolshape._wire.provider import Choice, Provider, Reading, Strictness

if TYPE_CHECKING:
    from toolshape.messages import Message, Repaired


_MODES: Mapping[str, ChoiceMode] = {"auto": "auto", "none": "none", "required": "required"}
_OTHER_WORDS: Mapping[Any, str] = {
    "any": "required", "ANY": "required", "REQUIRED": "required", "AUTO": "auto", "NONE": "none", "never": "none",
}  # fmt: skip
"""What providers call a choice (Anthropic ``any``, Gemini ``ANY``, Cohere ``REQUIRED``), with the word of toolshape."""
_MOST_NAMED = 10


class Seen(NamedTuple):
    """A response whose calls are answered, or which could not be read.

    ``response`` is as it was given, of a stream the pieces that were fed; ``stream`` is then whether it had ``ended``, or
    was still ``open``. ``outcome`` are the results, or why it could not be read. ``notes`` are what else is known of it.
    """

    response: Any
    outcome: Results | ResponseError
    stream: Literal["ended", "open"] | None = None
    notes: Mapping[str, Any] = NOTHING_INJECTED


@runtime_checkable
class Observer(Protocol):
    """Is shown each response once all of its calls are answered, refused ones too; ``toolshape.trace.record`` makes one."""

    def observe(self, bound: "Bound", seen: Seen) -> None:
        """Take a response; what this raises is logged, and changes no answer."""


def _unpickle_bound(
    tools: Iterable[Tool[..., Any]],
    provider: Provider,
    strict: Strictness,
    rules: Mapping[str, bool] | bool | None,
    annotates: bool,
    hooks: Sequence[Hook],
    observers: Sequence[Observer],
    undeclared: Undeclared,
) -> "Bound":
    return Bound(
        tools, provider, strict, rules, annotates=annotates, hooks=hooks, observers=observers, undeclared=undeclared
    )


class Bound:
    """The shapes of some tools at one provider: immutable, whatever becomes of the registry."""

    __slots__ = ("_fingerprint", "_handlers", "_made_of", "_observers", "_shapes", "provider", "strict")

    def __init__(
        self,
        tools: Iterable[Tool[..., Any]],
        provider: Provider,
        strict: Strictness,
        rules: Mapping[str, bool] | bool | None,
        *,
        annotates: bool = False,
        hooks: Sequence[Hook] = (),
        observers: Sequence[Observer] = (),
        undeclared: Undeclared = None,
    ) -> None:
        self.provider = provider
        self.strict: Strictness = strict
        tools = tuple(tools)
        self._made_of = (tools, provider, strict, rules, annotates, hooks, observers, undeclared)
        self._observers = (
            observers or None
        )  # compared with nothing on the path of a call, which is quicker than a length
        self._shapes: dict[str, Shape] = {}
        self._handlers = Handlers(self._shapes, hooks, undeclared, strict)
        self._fingerprint = ""
        for one in shapes(tools, provider, strict, rules, annotates=annotates):
            if other := self._shapes.get(one.wire_name):
                message = f"{other.name!r} and {one.name!r} would both be {one.wire_name!r}: pass name= to one"
                problem = Problem(path="name", rule="name_taken", message=message)
                raise ExportError(provider=provider.name, tool=one.name, problems=[problem])
            self._shapes[one.wire_name] = one

    def __reduce__(self) -> Any:
        return (
            _unpickle_bound,
            self._made_of,
        )  # tools are pickled by the name of their function, the provider by its own

    def __copy__(self) -> "Bound":
        return self

    def __deepcopy__(self, memo: Any) -> "Bound":
        return self

    def __repr__(self) -> str:
        return f"Bound({self.provider.name!r}, {[shape.name for shape in self._shapes.values()]})"

    def _gathered(self, wire_names: Iterable[str]) -> list[JsonObject]:
        entries = b",".join([self._shapes[name].entry for name in wire_names])
        text = b"[%s]" % entries
        try:
            return self.provider.request.gather(from_json(text))
        except ValueError:  # half a surrogate pair, or a default nested deeper than it reads
            return self.provider.request.gather(json.loads(text))

    def export(self) -> list[Any]:
        """What the provider's SDK takes as ``tools=``: your own copy, the same bytes in every process.

        Raises:
            ExportError: A request does not hold so many tools.
        """
        self._refuse_too_many()
        return self._searchable(self._gathered(self._shapes), ()) if self._shapes else []

    def _searchable(self, tools: list[Any], native: Sequence[Any]) -> list[Any]:
        """Tools and the provider's own search, where some are deferred and nobody has put it beside them."""
        deferral = self.provider.request.deferral
        if deferral is None or any(map(deferral.is_search, native)) or not any(map(deferral.is_marked, tools)):
            return tools
        return [*tools, dict(deferral.search)]

    def _refuse_beside(self, native: Sequence[Any]) -> None:
        deferral = self.provider.request.deferral
        refused = None if deferral is None else deferral.refused
        said = () if refused is None else [refused(one, self._shapes) for one in native]
        if any(said):
            raise self._request_error("native", "native", next(filter(None, said)))

    def _refuse_too_many(self, native: int = 0) -> None:
        limit = self.provider.request.most_tools
        if limit is None or len(self._shapes) + native <= limit.most:
            return
        most = limit.most
        too_many = [one.name for one in self._shapes.values()][max(most - native, 0) :]
        message = f"{len(self._shapes) + native} tools, at most {most} are taken in a request: send a subset without "
        message += ", ".join([*too_many[:_MOST_NAMED], *(["..."] if too_many[_MOST_NAMED:] else [])])
        raise self._request_error("", "most_tools", message)

    def _request_error(self, path: str, rule: str, message: str, hint: str = "") -> ExportError:
        problem = Problem(path=path, rule=rule, message=message, hint=hint)
        return ExportError(provider=self.provider.name, tool=None, problems=[problem])

    def subset(
        self,
        names: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        *,
        exclude: Collection[str] = (),
    ) -> "Bound":
        """Some of these tools as they were bound, for one request; calls of others are calls of unknown tools.

        Nothing is bound anew: it takes the time of a look at each name.

        Args:
            names: Names, or patterns as ``"gh_*"``.
            tags: Tags.
            exclude: Names, or patterns, of those to leave out.

        Raises:
            KeyError: A name, or a pattern, is of no tool.
        """
        tools, provider, strict, rules, annotates, hooks, observers, undeclared = self._made_of
        chosen = tuple(selected(tools, names, tags, exclude))
        given = (), provider, strict, rules
        made = Bound(*given, annotates=annotates, hooks=hooks, observers=observers, undeclared=undeclared)
        made._made_of = (chosen, *self._made_of[1:])
        there = {tool.name for tool in chosen}
        made._shapes = {key: shape for key, shape in self._shapes.items() if shape.name in there}
        made._handlers = self._handlers.of_some(made._shapes)
        return made

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """The tools, in the order of the export."""
        return self._made_of[0]

    def is_strict(self, name: str) -> bool:
        """Whether a tool, by its own name, is shown in strict form.

        Raises:
            KeyError: There is no such tool.
        """
        return {one.name: one.is_strict for one in self._shapes.values()}[name]

    def names_by_wire_name(self) -> dict[str, str]:
        """The tools' own names by those that they are sent under, in the order of the export."""
        return {one.wire_name: one.name for one in self._shapes.values()}

    def report(self) -> Report:
        """The differences between the tools and what this provider is sent, and the findings of each tool."""
        differences: list[tuple[str, Loss | Finding]] = []
        for one in self._shapes.values():
            differences += [(one.name, loss) for loss in one.differences]
            differences += [(one.name, finding) for finding in one.tool.findings]
        return Report(differences)

    @property
    def fingerprint(self) -> str:
        """Identifies what the provider is sent of these tools: equal exports have equal fingerprints, in every process."""
        if not self._fingerprint:
            entries = b",".join(shape.entry for shape in self._shapes.values())
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
        """The keywords of a request: ``tools``, and the choice in the provider's words. Empty without tools.

        Args:
            choice: ``"auto"``, ``"none"``, ``"required"``, the name of the one tool to call, or several names, of
                which one is to be called. Where a provider has no choice among several, only these are sent.
            parallel: Whether several calls may come in one response.
            model: The model that is asked, for choices that a provider takes at some of its models only.
            native: The provider's own tools, as its SDK takes them, to be sent beside these.

        Raises:
            ExportError: There is no such tool, the provider cannot say this, or a request holds fewer tools.
        """
        if not self._shapes and not native and choice in (None, "auto", "none"):
            return {}
        if not (parallel is None or parallel is True or parallel is False):
            raise self._request_error("parallel", "choice", f"parallel is True or False, not {parallel!r}")
        if isinstance(native, (str, bytes, Mapping)):
            raise self._request_error(
                "native", "native", f"native= is a list of tools, as the SDK takes them, not {native!r}"
            )
        self._refuse_beside(native)
        given: Any = choice
        if not (given is None or isinstance(given, (str, Iterable))):
            raise self._request_error("choice", "choice", f"a choice is a word, a name or some names, not {choice!r}")
        mode = _MODES.get(choice) if isinstance(choice, str) else None
        names = (
            () if choice is None or mode else self._wire_names([choice] if isinstance(choice, str) else list(choice))
        )
        chosen = Choice(
            provider=self.provider.name,
            model=None if model is None else str(model),
            mode=mode,
            names=names,
            chosen=(*self._searchable(self._gathered(names), native), *copied(list(native))) if names else (),
            parallel=parallel,
            is_strict=any(one.is_strict for one in self._shapes.values()),
        )
        shown = self._searchable(self._gathered(self._shapes), native) if self._shapes else []
        tools = [*shown, *copied(list(native))]
        request = self.provider.request.keywords(tools, chosen)
        # Where only some are sent, only these count.
        inner = [value for one in request.values() for value in (one.values() if isinstance(one, dict) else (one,))]
        if any(value is tools for value in inner):
            self._refuse_too_many(len(native))
        return request

    def _wire_names(self, names: Collection[str]) -> tuple[str, ...]:
        """The wire names of some tools, in the order of the registry."""
        wire_names = {one.name: one.wire_name for one in self._shapes.values()}
        for name in names:
            if name not in wire_names:
                if (meant := _OTHER_WORDS.get(name)) is not None:
                    message = f"{name!r} is no tool, and what some provider calls {meant!r}: write {meant!r}"
                    raise self._request_error("choice", "choice", message)
                hint = did_you_mean(str(name), [*_MODES, *wire_names])
                raise self._request_error("choice", "unknown_tool", f"there is no tool {name!r}", hint)
        if not names:
            raise self._request_error("choice", "choice", 'a choice among no tools: say "none"')
        return tuple(wire_name for name, wire_name in wire_names.items() if name in names)

    def plan(self, response: Any) -> Plan:
        """Read a response (SDK object, dict, JSON text or bytes), validate its calls, and run nothing.

        Args:
            response: The response; or results with calls that wait for approval, whose plan is given again.

        Raises:
            ResponseError: It is not a response of this provider's family.
        """
        if isinstance(response, Results):
            return plan_of(response)
        if self._observers is None:
            return Plan.of(self.provider, reading_of(self.provider, response), self._handlers)
        try:
            plan = Plan.of(self.provider, reading_of(self.provider, response), self._handlers)
        except ResponseError as error:
            show(self, Seen(response, error))
            raise
        watch(plan, lambda results: show(self, Seen(response, results)))
        return plan

    def collector(self) -> Collector:
        """A collector: feed it a stream of this provider, and it returns each call once it is complete."""

        def watch_stream(plan: Plan, pieces: Sequence[Any], has_ended: bool) -> None:
            watch(plan, lambda results: show(self, Seen(pieces, results, "ended" if has_ended else "open")))

        return Collector(self.provider, self._handlers, None if self._observers is None else watch_stream)

    def dispatch(
        self,
        response: Any,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
        limit: int | None = None,
        on_progress: OnProgress | None = None,
        ledger: LedgerStore | None = None,
        scope: str | None = None,
    ) -> Results:
        """Run every call of a response and answer each: ``plan`` and ``run``, nothing more."""
        if ledger is None and scope is None and self._observers is None:
            plan = Plan.of(self.provider, reading_of(self.provider, response), self._handlers)
            return plan._run(None, inject, limit, on_progress)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - by position, and private to users
        plan = self.plan(response)
        return plan.run(inject=inject, limit=limit, on_progress=on_progress, ledger=ledger, scope=scope)

    async def adispatch(
        self,
        response: Any,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
        limit: int | None = None,
        on_progress: OnProgress | None = None,
        ledger: LedgerStore | None = None,
        scope: str | None = None,
    ) -> Results:
        """The same from a running loop: ``plan`` and ``arun``."""
        plan = self.plan(response)
        if ledger is None and scope is None and self._observers is None:
            return await plan._arun(None, inject, limit, on_progress)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same
        return await plan.arun(inject=inject, limit=limit, on_progress=on_progress, ledger=ledger, scope=scope)

    def say(self, calls: Iterable[Call | tuple[str, JsonObject]]) -> list[Any]:
        """Write calls as the message of an assistant that made them, for examples and replayed history.

        Args:
            calls: Calls of this or of any other provider, or pairs of a tool's name and arguments, in canonical form. A
                call of an unknown tool, and one whose arguments cannot be read, is written so that it can be sent.

        Raises:
            UsageError: A pair names no tool.
        """
        from toolshape._dispatch import outbound  # noqa: PLC0415 - a tenth of importing us, for what few programs do

        return self.provider.codec.write_calls(outbound.outbound_calls(self.provider, self._handlers, calls))

    def encode(self, results: Sequence[Result]) -> list[Any]:
        """Results as the provider's messages, in the order given; those of other providers' calls as answers to ``say``."""
        if all(one.call.provider == self.provider.name for one in results) or self.provider.histories is None:
            return self.provider.codec.write_results(results) if results else []
        from toolshape._dispatch import outbound  # noqa: PLC0415 - the same

        return outbound.written_results(self.provider, self._handlers, results)

    def read_messages(self, messages: Any, *, model: str | None = None) -> "list[Message]":
        """Read stored messages of this provider as records, with each call resolved to its tool.

        Args:
            messages: Messages, or a request that holds them with its system prompt: dicts, SDK objects, or JSON text.
            model: The model that they are of.

        Raises:
            ResponseError: They are no messages.
            UsageError: This provider has no histories.
        """
        from toolshape._dispatch import messages as stored  # noqa: PLC0415 - the same

        return stored.read_messages(self.provider, self._handlers, messages, model, None, self.fingerprint)

    def check_messages(self, messages: Any, *, model: str | None = None) -> list[Problem]:
        """Find what this provider would refuse of messages, were they sent now; nothing is changed.

        Args:
            messages: As for ``read_messages``.
            model: The model that is asked: some rules hold for some models alone.

        Returns:
            What was found, each with its path, its rule, and the evidence for that with its date.

        Raises:
            ResponseError: They are no messages.
            UsageError: This provider has no histories.
        """
        from toolshape._dispatch import messages as stored  # noqa: PLC0415 - the same

        return stored.checked(self.provider, messages, model)

    def repair_messages(
        self, messages: Any, *, model: str | None = None, repairs: Mapping[str, bool] | bool | None = None
    ) -> "Repaired":
        """Change messages of this provider so that it takes them, by named rules, each change on record.

        Calls of the last turn that wait for their results still do, and a message that nothing is wrong with is the
        object that was given.

        Args:
            messages: As for ``read_messages``.
            model: The model that is asked: some rules hold for some models alone.
            repairs: Rules to switch off, as ``{"blank_text": False}``; ``False`` switches off all of the provider's.

        Raises:
            ResponseError: They are no messages.
            UsageError: This provider has no histories, or there is no such rule.
        """
        from toolshape._dispatch import messages as stored  # noqa: PLC0415 - the same

        return stored.repaired_messages(self.provider, messages, model, repairs)


def show(bound: Bound, seen: Seen, *others: Observer) -> None:
    """Show a response to the observers of what is bound, and to others, each once."""
    for observer in {id(one): one for one in (*(bound._observers or ()), *others)}.values():  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - private to users
        try:
            observer.observe(bound, seen)
        except Exception:  # an observer may raise anything, which is no failure of a call
            import logging  # noqa: PLC0415 - only what goes wrong needs it

            logging.getLogger("toolshape").exception("%r failed at a response of %s", observer, bound.provider.name)


def handlers_of(bound: Bound) -> Handlers:
    """The handlers of the tools of what is bound."""
    return bound._handlers  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - private to users


def plan_of_call(bound: Bound, call: WireCall) -> Plan:
    """The plan of one call that somebody else has read, as an MCP server; ``raw`` of it is the whole request."""
    if bound._observers is not None:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - private to users
        return bound.plan(call.raw)
    return Plan.of(bound.provider, Reading([], [call], None), bound._handlers)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same


def canonical_validation(bound: Bound, wire_name: str) -> Validate | None:
    """Validates canonical arguments by the rules of a tool at a provider; ``None`` where there is no such tool."""
    shape = bound._shapes.get(wire_name)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - private to users
    if shape is None:
        return None
    return record_of(shape.tool).compile_validation(shape.settings._replace(back=None, drops=None))


def canonical_calls(bound: Bound, body: Any) -> list[tuple[str | None, JsonObject | None]]:
    """The calls in a response body as these shapes read them, before the arguments are validated."""
    handlers = handlers_of(bound)
    _, wires, *_ = reading_of(bound.provider, body)
    calls = [call_of(bound.provider.name, handlers, position, wire) for position, wire in enumerate(wires)]
    return [(call.name, call.arguments) for call in calls]

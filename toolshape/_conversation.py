"""``Conversation``: what was said so far, by whomever, and the request that goes on with it at any provider."""

import json
import threading
import uuid
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from toolshape._bound import Bound, bound_tools_of
from toolshape._calls import Call, JsonObject, Strictness
from toolshape._dispatch import state
from toolshape._dispatch.approval import Decision
from toolshape._dispatch.collector import Collector
from toolshape._dispatch.conversion import Conversion
from toolshape._dispatch.ledger_store import LedgerStore
from toolshape._dispatch.messages import conversion_to, read_messages, response_messages, switched_off
from toolshape._dispatch.outbound import histories_of, result_part_of
from toolshape._dispatch.plan import Plan
from toolshape._dispatch.run_options import ResumeOptions, RunOptions, refuse_unknown
from toolshape._errors import HistoryError, Problem, UsageError
from toolshape._families import family_of, get, recognised
from toolshape._history.order import begins_turn
from toolshape._history.repair import tools_missing
from toolshape._identity import has_made_up_id
from toolshape._message_json import message_from_json, message_to_json
from toolshape._open_turn import (
    OpenTurn,
    answered_part,
    is_open,
    problems_of,
    refusal,
    refuse_unguarded,
    restored_turn,
    stored_waiting,
    turn_to_json,
    waiting_calls,
)
from toolshape._parts import File, Image, Text
from toolshape._registry import Registry
from toolshape._results import PendingCall, Results, sendable
from toolshape._tool import record_of
from toolshape._wire.bodies import model_of, parsed_body, plain
from toolshape._wire.provider import AnyProvider, Provider
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    Origin,
    Repair,
    TextPart,
    ToolCallPart,
    calls_in,
    with_parts,
)

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


_VERSION = 1


class _Said(NamedTuple):
    """What a response says: its messages as they can be sent, and as records."""

    given: list[Any]
    messages: list[Message]


class Conversation:
    """A conversation with one model after another, which only grows.

    ``messages`` are its records, ``repairs`` what the last ``request`` changed of them for its provider. A message goes
    back to the provider and model that wrote it as it came; for any other it is written anew, once.

    The message of the assistant is in it before a call of it runs, and each result as soon as it is there. While a call
    waits for approval, the turn is open: ``pending`` lists such calls, ``approve``, ``deny`` and ``edit`` decide on them,
    ``run`` goes on, and ``pause`` and ``resume`` move the turn to another process. Until it is closed nothing else can be
    said. ``id`` tells the conversation from all others, wherever it is restored.
    """

    __module__ = "toolshape"

    __slots__ = (
        "_added",
        "_asked",
        "_conversions",
        "_denied",
        "_lock",
        "_messages",
        "_open",
        "_runs",
        "_sent",
        "_stored_turn",
        "_turns",
        "id",
        "repairs",
        "tools",
    )

    def __init__(self, tools: Registry | None = None, messages: Iterable[Message] = ()) -> None:
        """Begin with nothing, or with messages that were read before.

        Args:
            tools: The tools of the calls in it; a tool that is added later can be called from then on.
            messages: Records, as ``Bound.read_messages`` gives them.

        Raises:
            UsageError: The tools are no registry, or a message is no record.
        """
        given: Any = tools
        if given is not None and not isinstance(given, Registry):
            raise UsageError(f"a Conversation takes a Registry of tools, not {type(given).__name__}")
        self.tools = Registry() if tools is None else tools
        self.repairs: tuple[Repair, ...] = ()
        self._messages: list[Message] = []
        self._lock = threading.RLock()  # requests and answers may come from several threads
        self._conversions: dict[Any, tuple[Bound, Conversion]] = {}
        self._asked: tuple[Bound, str | None] | None = None
        self._sent: dict[str, Bound] = {}
        self._added: dict[int, Results] = {}  # kept, so that no other has the id() of one that was added
        self.id = uuid.uuid4().hex
        self._turns = 0
        self._open: OpenTurn | None = None
        self._denied: Results | None = None  # of a turn that ended with a denial, until something else is said
        self._runs = 0  # of the open turn, that are under way
        self._stored_turn: JsonObject | None = None  # of a conversation that was restored, until somebody asks for it
        self._append(messages)

    def __repr__(self) -> str:
        return f"Conversation({len(self.messages)} messages)"

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __reduce__(self) -> Any:
        return self._restored, (self.tools, self.messages, self._about())

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages so far, with the results that are there of an open turn."""
        with self._lock:
            answered = None if self._open is None else answered_part(self._open)
            return (*self._messages, *(() if answered is None else (_placed(answered, len(self._messages)),)))

    def _append(self, messages: Iterable[Message]) -> None:
        for message in messages:
            given: Any = message
            if not isinstance(given, Message):
                raise UsageError("a message is a record: read stored ones with read(messages, provider)")
            self._messages.append(_placed(given, len(self._messages)))

    def system(self, text: str) -> None:
        """Append a system prompt; each provider is sent it where it wants it.

        Raises:
            UsageError: The turn is open.
        """
        self._refuse_open("system")
        self._append([Message(role="system", parts=(TextPart(text=text),))])

    def user(self, *content: str | Text | Image | File) -> None:
        """Append a message of the user: texts, images and files.

        Raises:
            UsageError: There is no content, or it is of another type; or the turn is open.
        """
        if not content:
            raise UsageError("a message of the user needs content: a text, an image or a file")
        self._refuse_open("user")
        self._append([Message(role="user", parts=tuple(_part_of(one) for one in content))])

    def read(self, messages: Any, provider: AnyProvider, *, model: str | None = None) -> None:
        """Append stored messages of a provider.

        Args:
            messages: Its messages, or a request that holds them with its system prompt: dicts, SDK objects, JSON text.
            provider: Whose they are.
            model: The model that wrote them, for which alone signatures and reasoning are kept.

        Raises:
            ResponseError: They are no messages of this provider; nothing was appended.
            UsageError: The provider has no histories, or the turn is open.
        """
        self._refuse_open("read")
        bound = self.tools.bind(provider)
        handlers = bound_tools_of(bound).handlers
        found = read_messages(bound.provider, handlers, messages, model, None, bound.fingerprint, self._messages)
        self._append(found)

    def __iadd__(self, results: Results) -> "Self":
        """Append the response that these results answer, and the results; the turn is open while a call of it waits.

        Raises:
            UsageError: They are no results, are here already, or another turn is open.
        """
        given: Any = results
        if not isinstance(given, Results):
            raise UsageError(f"results are appended, as plan.results, not {type(given).__name__}")
        if self._open is None or self._open.results is not results:
            if id(results) in self._added:
                raise UsageError("these results are in the conversation already: dispatch appends them")
            self._begin("+=", results, self._said(results, None))
        self._close_if_done()
        return self

    def _begin(self, what: str, results: Results, said: "_Said") -> tuple[int, int]:
        """Append the messages of a response and open its turn; returns how many messages and turns there were before.

        Raises:
            UsageError: A turn is open: another thread may have begun it while this response was read.
        """
        with self._lock:
            self._refuse_open(what)
            given, before = said.given, (len(self._messages), self._turns)
            is_redelivered = given == _last_given(self._messages) and not any(map(has_made_up_id, results.calls))
            if not (is_redelivered and len(results)):
                self._turns += 1
            is_here = bool(given) and [one.raw for one in self._messages[-len(given) :]] == given
            if not is_here:  # else its calls have waited for their results
                self._append(said.messages)
            self._open = OpenTurn(results=results, number=self._turns)
            return before

    def _close_if_done(self) -> None:
        """Append the results of the open turn once none of its calls waits. Whatever has run is kept: nothing here raises."""
        with self._lock:
            turn = self._open
            if turn is None or self._runs or is_open(turn):
                return
            if len(turn.results):
                self._append([Message(role="tool", parts=tuple(map(result_part_of, turn.results)))])
            self._added[id(turn.results)] = turn.results
            self._open = None

    def _waiting_calls(self) -> list[str]:
        """The names and ids of the calls that the conversation waits for."""
        self._close_if_done()  # its plan may have been run by whoever has the results
        if self._stored_turn is not None:
            return stored_waiting(self._stored_turn)
        return [] if self._open is None else waiting_calls(self._open)

    def _refuse_open(self, what: str) -> None:
        """Check that no turn is open.

        Raises:
            UsageError: One is.
        """
        if waiting := self._waiting_calls():
            raise UsageError(f"{what}: {refusal(waiting)}")
        self._denied = None

    def _turn(self) -> OpenTurn:
        """The open turn, made of what was stored if there is such.

        Raises:
            UsageError: There is none, or it cannot be made again.
        """
        with self._lock:
            stored = self._stored_turn
            if stored is not None:
                bound = self.tools.bind(get(stored["provider"]), stored["strict"])
                self._open = restored_turn(stored, self._turns, bound, self._messages)
                self._forget_stored()
            if self._open is None:
                raise UsageError("no call of this conversation waits: the turn is not open")
            return self._open

    def _forget_stored(self) -> None:
        """Leave the results that were stored of the open turn to the turn, which makes their message from now on."""
        self._stored_turn = None
        if self._messages[-1].role == "tool":
            self._messages.pop()

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls of the open turn that wait until somebody approves of them, in call order; none where none is open.

        Raises:
            UsageError: The conversation was restored, and the calls do not stand in its messages as they came.
        """
        return self._turn().results.pending if self._waiting_calls() else ()

    def approve(self, call: Call | PendingCall | str | Iterable[Call | PendingCall | str]) -> None:
        """Approve of calls of the open turn, as ``Plan.approve``; ``run`` runs them.

        Raises:
            UsageError: The turn is not open, or as for ``Plan.approve``.
        """
        Plan(self._turn().results).approve(call)

    def deny(self, call: Call | PendingCall | str | Iterable[Call | PendingCall | str], why: str = "") -> None:
        """Deny calls of the open turn, as ``Plan.deny``; where nothing else waits, the turn is closed.

        Raises:
            UsageError: The turn is not open, or as for ``Plan.deny``.
        """
        turn = self._turn()
        Plan(turn.results).deny(call, why)
        self._close_if_done()
        self._denied = turn.results if self._open is None else None

    def edit(self, call: Call | PendingCall | str, arguments: Mapping[str, Any]) -> Call:
        """Give a call of the open turn other arguments, as ``Plan.edit``.

        Raises:
            CallError: The tool does not take them; the call is what it was.
            UsageError: The turn is not open, or as for ``Plan.edit``.
        """
        return Plan(self._turn().results).edit(call, arguments)

    def run(self, **options: "Unpack[RunOptions]") -> Results:
        """Run the calls of the open turn that may run, and close it where none is left that waits.

        Args:
            **options: How the calls are run; as for ``Registry.dispatch``.

        Returns:
            The results of the turn. If the last call that waited was denied, they are those of the turn that this closed.

        Raises:
            UsageError: The turn is not open; a call of a restored turn may have run since, and there is no ledger; or as
                for ``Plan.run``. Nothing was run.
        """
        refuse_unknown(options)
        if self._denied is not None:
            return self._denied  # the last call that waited was denied: there is nothing left to run
        turn = self._turn()
        with self._running():
            Plan(turn.results).run(**self._scoped(turn, options))
        return turn.results

    async def arun(self, **options: "Unpack[RunOptions]") -> Results:
        """The same from a running loop."""
        refuse_unknown(options)
        if self._denied is not None:
            return self._denied
        turn = self._turn()
        with self._running():
            await Plan(turn.results).arun(**self._scoped(turn, options))
        return turn.results

    @contextmanager
    def _running(self) -> Generator[None]:
        """Hold the turn open while calls of it run, whoever asks meanwhile, and close it then if none waits."""
        with self._lock:
            self._runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1
                self._close_if_done()

    def _scoped(self, turn: OpenTurn, options: "RunOptions") -> "RunOptions":
        """The options of a run; a ledger knows the calls by the conversation and the turn, unless a scope is given.

        Raises:
            UsageError: The turn was restored, a call of it may have run since, and there is no ledger.
        """
        if options.get("ledger") is None:
            refuse_unguarded(turn)
            return options
        if options.get("scope") is not None:
            return options
        return {**options, "scope": self._scope(turn)}

    def _scope(self, turn: OpenTurn) -> str:
        return f"conversation {self.id}, turn {turn.number}"

    def pause(self, key: bytes | str, *, audience: str, expires: timedelta, ledger: LedgerStore | None = None) -> str:
        """Give the open turn away as a token, by which ``resume`` runs it, in this or in another process; see ``Plan.pause``.

        Store the conversation too, by ``to_json``: the token has the calls and the decisions on them, and nothing that was
        said before.

        Raises:
            UsageError: The turn is not open, or as for ``Plan.pause``.
        """
        turn = self._turn()
        self._name_scope(turn)
        return Plan(turn.results).pause(key, audience=audience, expires=expires, ledger=ledger)

    async def apause(
        self, key: bytes | str, *, audience: str, expires: timedelta, ledger: LedgerStore | None = None
    ) -> str:
        """The same from a running loop; the ledger is asked in a thread."""
        turn = self._turn()
        self._name_scope(turn)
        return await Plan(turn.results).apause(key, audience=audience, expires=expires, ledger=ledger)

    def _name_scope(self, turn: OpenTurn) -> None:
        controls = state.controlled(turn.results)
        controls.scope = controls.scope or self._scope(turn)

    def resume(
        self,
        token: Any,
        key: bytes | str,
        decisions: Mapping[str, Decision],
        *,
        audience: str,
        ledger: LedgerStore | None = None,
        **options: "Unpack[ResumeOptions]",
    ) -> Results:
        """Run what was decided of the open turn that was paused, and close it where none is left that waits.

        Args:
            token: What ``pause`` gave.
            key: As for ``Registry.resume``.
            decisions: As for ``Registry.resume``.
            audience: As for ``Registry.resume``.
            ledger: As for ``Registry.resume``.
            **options: ``inject``, ``limit`` and ``on_progress``, as for ``Registry.resume``.

        Raises:
            UsageError: The token is of other calls than those that wait here; or as for ``Registry.resume``.
            TokenError: As for ``Registry.resume``.
            CallError: As for ``Registry.resume``.
        """
        self._refuse_other_token(token)
        results = self.tools.resume(token, key, decisions, audience=audience, ledger=ledger, **options)
        self._adopt(results)
        return results

    async def aresume(
        self,
        token: Any,
        key: bytes | str,
        decisions: Mapping[str, Decision],
        *,
        audience: str,
        ledger: LedgerStore | None = None,
        **options: "Unpack[ResumeOptions]",
    ) -> Results:
        """The same from a running loop."""
        self._refuse_other_token(token)
        results = await self.tools.aresume(token, key, decisions, audience=audience, ledger=ledger, **options)
        self._adopt(results)
        return results

    def _refuse_other_token(self, token: Any) -> None:
        """Check that a token holds the calls of the open turn; whether it is genuine is seen when it is opened.

        Raises:
            UsageError: It holds others, or no turn is open.
        """
        stored = self._stored_turn
        if stored is not None:
            ids = [call["id"] for call in stored["calls"]]
        else:
            ids = [call.id for call in self._turn().results.calls]
        try:
            found = [call["id"] for call in json.loads(token)["calls"]]
        except (TypeError, ValueError, KeyError, RecursionError):
            return  # it is no token: ``resume`` says what is wrong with it
        if found != ids:
            raise UsageError("this token is of other calls than those that wait in this conversation")

    def _adopt(self, results: Results) -> None:
        """Take the results of a turn that was resumed."""
        with self._lock:
            if self._stored_turn is not None:
                self._forget_stored()
            self._open = OpenTurn(results=results, number=self._turns)
            self._close_if_done()

    def _said(self, results: Results, model: str | None) -> "_Said":
        """Read the message of a response, its calls as they are dispatched."""
        provider = get(results.provider) if isinstance(results.provider, Provider) else get(results.provider.name)
        bound = self._bound_of(provider)
        if self._asked is not None and self._asked[0].provider is provider and self._asked[1] is not None:
            model = self._asked[1]  # the name that was asked for, whatever it stands for today
        given, origin = (
            list(sendable(results.assistant)),
            Origin(provider=provider.name, model=model, fingerprint=bound.fingerprint),
        )
        return _Said(given, response_messages(provider, given, results.calls, results.finish, origin, self._messages))

    def _bound_of(self, provider: Provider) -> Bound:
        """The shapes that were sent to a provider last."""
        if self._asked is not None and self._asked[0].provider is provider:
            return self._asked[0]
        return self.tools.bind(provider)

    def _bound_for(self, response: Any, provider: AnyProvider | None) -> Bound:
        if provider is not None:
            return self._bound_of(get(provider))
        if response is None and self._asked is not None:
            return self._asked[0]
        for bound in reversed(self._sent.values()):  # whoever of those that were asked it is a response of
            if recognised(bound.provider, response):
                return bound
        return self._bound_of(family_of(response))

    def request(
        self,
        provider: AnyProvider,
        *,
        model: str | None = None,
        choice: str | Collection[str] | None = None,
        parallel: bool | None = None,
        strict: Strictness | None = None,
        native: Sequence[Any] = (),
        repairs: Mapping[str, bool] | bool | None = None,
        **keywords: Any,
    ) -> JsonObject:
        """All keywords of the SDK's call that goes on with this conversation.

        The lists in it are yours, what is in them is shared with later requests.

        Args:
            provider: Whom it goes to.
            model: The model that is asked; it stands in the request, and decides which rules hold.
            choice: As for ``Bound.request``.
            parallel: As for ``Bound.request``.
            strict: As for ``Registry.bind``.
            native: The provider's own tools, sent beside these and counted with them.
            repairs: Rules of histories to be left alone, as ``{"blank_text": False}``.
            **keywords: More keywords of the call, as ``max_tokens=1024``; a dict, or Gemini's ``config``, is merged
                with what stands there.

        Raises:
            HistoryError: The conversation cannot be sent as it is: calls wait for approval or for their results, say.
            ExportError: As for ``Bound.request``.
            UsageError: The provider has no histories, there is no such repair, or a keyword is one that is made here.
        """
        if waiting := self._waiting_calls():
            found = problems_of(waiting, f"messages[{len(self._messages) - 1}]")
            raise HistoryError(provider=get(provider).name, problems=found)
        request = self.tools.request(
            provider, choice=choice, parallel=parallel, model=model, strict=strict, native=native
        )
        bound = self.tools.bind(provider, strict)
        histories = histories_of(bound.provider)
        with self._lock:
            converted = self._conversion(bound, model, repairs).of(self._messages)
            self.repairs = tuple(converted.repairs)
        problems = list(converted.problems)
        missing = None if request or "tools_missing" in switched_off(repairs) else tools_missing(histories, model)
        if missing is not None and any(map(calls_in, self._messages)):
            problems.append(missing)
        if not converted.messages and not problems:
            hint = "append a message of the user"
            problems.append(
                Problem(path=histories.key, rule="no_messages", message="there is nothing to send", hint=hint)
            )
        if problems:
            raise HistoryError(provider=bound.provider.name, problems=problems)
        self._asked = bound, model
        self._sent = {
            **{name: one for name, one in self._sent.items() if name != bound.provider.name},
            bound.provider.name: bound,
        }
        made: JsonObject = {} if model is None else {histories.model_key: model}
        if converted.system and histories.system is not None:
            made.update(histories.system(converted.system))
        made[histories.key] = list(converted.messages)
        return _merged(_merged(made, request), {key: plain(value) for key, value in keywords.items()})

    def _conversion(self, bound: Bound, model: str | None, repairs: Mapping[str, bool] | bool | None) -> Conversion:
        off = switched_off(repairs)
        key = (bound.provider.name, bound.fingerprint, model, off)
        known = self._conversions.get(key)
        if known is not None and known[0] is bound:
            return known[1]
        handlers = bound_tools_of(bound).handlers
        made = conversion_to(bound.provider, handlers, bound.fingerprint, model, off)
        self._conversions[key] = bound, made
        return made

    def collector(self, provider: AnyProvider | None = None) -> Collector:
        """A collector for a stream, as of ``Bound.collector``; pass it to ``dispatch`` when the stream is over.

        Args:
            provider: Whose stream it is; that of the last request by default.

        Raises:
            UsageError: There was no request, and no provider is named.
        """
        if provider is None and self._asked is None:
            raise UsageError("whose stream is it? pass provider=, or make a request first")
        return self._bound_for(None, provider).collector()

    def plan(self, response: Any = None, *, provider: AnyProvider | None = None) -> Plan:
        """Read a response, or what a collector has collected, and run nothing; append its ``results`` by ``+=``.

        Args:
            response: As for ``dispatch``; nothing for the calls of the open turn.
            provider: As for ``dispatch``.

        Raises:
            ResponseError: It is not a response of the provider's family.
            UsageError: A response is given, and the turn is open.
        """
        if response is None and self._waiting_calls():
            return Plan(self._turn().results)
        self._refuse_open("plan")
        return self._read(response, provider)[0]

    def _read(self, response: Any, provider: AnyProvider | None) -> tuple[Plan, str | None]:
        """The plan of a response, and the model that it names."""
        if isinstance(response, Collector):
            return response.plan(), response.model
        if response is None:
            return self._waiting()
        body = parsed_body(response)
        return self._bound_for(body, provider).plan(body), model_of(body)

    def _waiting(self) -> tuple[Plan, str | None]:
        """The plan of the calls at the end that wait for their results."""
        last = [*takewhile(lambda one: one.role == "assistant" and one.raw is not None, reversed(self._messages))][::-1]
        origin = last[-1].origin if last else None
        if origin is None or not any(map(calls_in, last)):
            raise UsageError("no call waits for its result: pass the response")
        bound = self._bound_of(get(origin.provider))
        is_items = histories_of(bound.provider).is_items
        return bound.plan([one.raw for one in last] if is_items else last[-1].raw), origin.model

    def dispatch(
        self,
        response: Any = None,
        *,
        provider: AnyProvider | None = None,
        **options: "Unpack[RunOptions]",
    ) -> Results:
        """Run every call of a response, and append the response and the results, whatever became of the calls.

        Args:
            response: The response to a request: SDK object, dict, JSON text or bytes, or a ``Collector``; nothing for
                the calls at the end of a conversation that was read, which wait for their results.
            provider: Whose it is, where that is not one that was asked.
            **options: How the calls are run; as for ``Registry.dispatch``.

        Where a call waits for approval, the turn stays open: see ``pending``.

        Raises:
            ResponseError: It is not a response of the provider's family; nothing was appended.
            UsageError: As for ``Plan.run``, or a response is given, and the turn is open; nothing was run or appended.
        """
        refuse_unknown(options)
        if response is None and self._waiting_calls():
            return self.run(**options)
        results, before = self._opened(response, provider)
        try:
            return self.run(**options)
        except UsageError:
            self._take_back(results, *before)
            raise

    async def adispatch(
        self,
        response: Any = None,
        *,
        provider: AnyProvider | None = None,
        **options: "Unpack[RunOptions]",
    ) -> Results:
        """The same from a running loop; where it is cancelled, what there is of results is appended all the same."""
        refuse_unknown(options)
        if response is None and self._waiting_calls():
            return await self.arun(**options)
        results, before = self._opened(response, provider)
        try:
            return await self.arun(**options)
        except UsageError:
            self._take_back(results, *before)
            raise

    def _opened(self, response: Any, provider: AnyProvider | None) -> tuple[Results, tuple[int, int]]:
        """Read a response, and append it before anything runs: what has run must not be lost to what cannot be read."""
        self._refuse_open("dispatch")
        plan, model = self._read(response, provider)
        return plan.results, self._begin("dispatch", plan.results, self._said(plan.results, model))

    def _take_back(self, results: Results, messages: int, turns: int) -> None:
        """Undo ``_opened``: nothing of these calls could be run, and the response is dispatched once more."""
        with self._lock:
            self._open, self._turns = None, turns
            self._added.pop(id(results), None)
            del self._messages[messages:]

    def trimmed(self, keep: int) -> "Conversation":
        """A conversation of the last turns of this one, with its system prompts.

        Args:
            keep: How many turns; each begins with a message of the user and ends before the next.

        Raises:
            UsageError: ``keep`` is not a number from 1 on, or the turn is open.
        """
        self._refuse_open("trimmed")
        if not (type(keep) is int and keep > 0):
            raise UsageError(f"keep= is how many turns are kept, 1 or more, not {keep!r}")
        begins = [at for at, message in enumerate(self._messages) if begins_turn(message)]
        start = begins[-keep] if len(begins) >= keep else 0
        kept = [one for at, one in enumerate(self._messages) if at >= start or one.role == "system"]
        made = Conversation(self.tools, kept)
        made._asked = self._asked
        return made

    def to_json(self, *, secrets: bool = False) -> str:
        """The conversation as JSON text: what was read as it came, results with their values, images and files.

        Of an open turn it has the calls that wait and the results that are there, and no decision: whoever has the text
        can change it. A call that was approved of and has not run is pending where it is restored.

        Arguments in the places of secrets (``SecretStr``, ``writeOnly``) are ``[hidden]``, and the message around such a
        call is not kept as it came; nor is one with a call of an unknown tool, where any tool takes secrets. A call that
        waits and takes secrets is resumed by a token with a ledger.

        Args:
            secrets: Whether such arguments are written as they are.

        Half of a surrogate pair, which no file or database takes, is written as its escape.

        Raises:
            UsageError: A message that was read holds what JSON has no form for, as a date, or is nested too deep.
        """
        try:
            shown = self.messages if secrets else [_without_secrets(message, self.tools) for message in self.messages]
            messages = [message_to_json(message) for message in shown]
            whole = {"version": _VERSION, "messages": messages, **self._about()}
            text = json.dumps(whole, ensure_ascii=False, allow_nan=False)
            return text.encode(errors="backslashreplace").decode()
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"a message that was read holds what JSON has no form for: {error}") from error

    def _about(self) -> JsonObject:
        """What is stored of the conversation beside its messages."""
        with self._lock:
            self._close_if_done()
            stored = self._stored_turn
            if self._open is not None:
                stored = turn_to_json(self._open)
            return {"id": self.id, "turns": self._turns, **({} if stored is None else {"open": stored})}

    @classmethod
    def _restored(cls, tools: Registry | None, messages: Iterable[Message], about: JsonObject) -> "Self":
        """A conversation from its messages, and from what is stored beside them."""
        made = cls(tools, messages)
        made.id, made._turns = str(about.get("id", made.id)), int(about.get("turns", 0))
        stored = about.get("open")
        if stored is not None and stored_waiting(stored):  # else the last call ended while it was stored
            made._stored_turn = stored
        return made

    @classmethod
    def from_json(cls, given: str | bytes | JsonObject, tools: Registry | None = None) -> "Conversation":
        """A conversation that ``to_json`` wrote.

        Raises:
            UsageError: It is none, or one of a later version.
        """
        try:
            body: Any = json.loads(given) if isinstance(given, (str, bytes)) else given
        except (ValueError, RecursionError) as error:
            raise UsageError(f"no conversation, and no JSON: {error}") from error
        if not isinstance(body, dict) or body.get("version") != _VERSION or not isinstance(body.get("messages"), list):
            raise UsageError(f"no conversation of version {_VERSION}: pass what to_json gave")
        try:
            return cls._restored(tools, [message_from_json(one) for one in body["messages"]], body)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"a conversation with a message that cannot be read: {error!r}") from error


def _without_secrets(message: Message, tools: Registry) -> Message:
    """A message whose calls show no secret: where one may, it is written anew from its parts, and not kept as it came."""
    parts = tuple(_hidden_call(part, tools) if isinstance(part, ToolCallPart) else part for part in message.parts)
    return with_parts(message, parts)


def _hidden_call(part: ToolCallPart, tools: Registry) -> ToolCallPart:
    if part.name is None or part.name not in tools:  # it may have been meant for any tool that is here
        if not any(record_of(tool).secrets.are_there for tool in tools):
            return part
        return replace(part, arguments=None, arguments_raw={}, raw=None)
    secrets = record_of(tools[part.name]).secrets
    if not secrets.are_there:
        return part
    masked = None if part.arguments is None else secrets.masked(part.arguments)
    return replace(part, arguments=masked, arguments_raw=masked or {}, raw=None)


def _placed(message: Message, position: int) -> Message:
    return replace(message, path=f"messages[{position}]")


def _last_given(messages: Sequence[Message]) -> list[Any]:
    """The messages of the last turn of the assistant, as they came, whether its results follow or not."""
    end = len(messages)
    while end and messages[end - 1].role == "tool":
        end -= 1
    begin = end
    while begin and messages[begin - 1].role == "assistant":
        begin -= 1
    return [message.raw for message in messages[begin:end]]


def _part_of(content: Any) -> MessagePart:
    match content:
        case str():
            return TextPart(text=content)
        case Text():
            return TextPart(text=content.text)
        case Image() | File():
            return MediaPart(media=content)
        case _:
            raise UsageError(f"a message of the user holds texts, images and files, not {type(content).__name__}")


def _merged(one: JsonObject, other: JsonObject, path: str = "") -> JsonObject:
    """The keywords of both, objects in them merged.

    Raises:
        UsageError: Both say the same thing.
    """
    found = dict(one)
    spelt = {key.replace("_", "").lower(): key for key in found}  # Gemini's SDK takes both spellings of a key
    for name, value in other.items():
        key = spelt.get(name.replace("_", "").lower(), name)
        if key not in found:
            found[key] = value
        elif isinstance(found[key], dict) and isinstance(value, dict):
            found[key] = _merged(found[key], value, f"{path}{key}.")
        elif value is not None:
            way_out = "pass native= for the provider's own tools" if key == "tools" else "leave it out"
            raise UsageError(f"{path}{name} is made from the conversation: {way_out}")
    return found

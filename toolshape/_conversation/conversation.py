"""Keeps a history for all providers, builds requests, and runs the calls of responses."""

import hashlib
import json
import threading
import uuid
import weakref
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from toolshape import _bound, _conversation, _plan
from toolshape._bound.bound import Bound, bound_tools_of
from toolshape._bound.bound_tools import canonical_calls
from toolshape._bound.registry import Registry, bindings_of, is_picklable, store_of
from toolshape._conversation.message_json import message_from_json, message_to_json
from toolshape._conversation.open_turn import (
    OpenTurn,
    StoredTurn,
    answered_message,
    assistant_messages,
    is_turn_open,
    problems_of_waiting,
    refusal_message,
    stored_waiting_calls,
    turn_from_json,
    turn_to_json,
    waiting_calls,
)
from toolshape._conversation.transcript import transcript
from toolshape._families import family_of, get, recognised, with_text_format
from toolshape._families.receive import body_of
from toolshape._families.wire.bodies import model_name, to_plain_json
from toolshape._families.wire.provider import AnyProvider, Provider
from toolshape._history.conversion import Conversion, Converted
from toolshape._history.messages import (
    conversion_to,
    read_messages,
    response_messages,
    switched_off_repairs,
)
from toolshape._history.outbound import histories_of, result_part_of
from toolshape._history.repair import answers_as_text, tools_missing
from toolshape._history.repairs.order import begins_turn
from toolshape._plan import state
from toolshape._plan.approval import Decision
from toolshape._plan.collector import Collector
from toolshape._plan.ledger_store import LedgerStore
from toolshape._plan.plan import Plan
from toolshape._plan.plan_state import unsigned
from toolshape._plan.restore import has_lost_calls, with_assistant
from toolshape._plan.result_json import outcome_of_part, restore_result
from toolshape._plan.results import Results, may_hold_secret, peek_answer
from toolshape._plan.run_options import ResumeOptions, RunOptions, refuse_unknown
from toolshape._plan.snapshot import snapshot
from toolshape._records.calls import Call, Coercion, JsonObject, Strictness, WireMessage
from toolshape._records.errors import ExportError, HistoryError, Problem, UsageError
from toolshape._records.found import is_search
from toolshape._records.identity import OutputRef, has_made_up_id
from toolshape._records.parts import File, Image, Text
from toolshape._records.printing import Line, lines_as_html, lines_as_rich, lines_as_text
from toolshape._records.result import PendingCall, Result, is_json, make_sendable
from toolshape._records.shown import shown
from toolshape._schema.secrets import MASKED
from toolshape._tools.tool import record_of
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    Origin,
    ProviderPart,
    ReasoningPart,
    Repair,
    Role,
    TextPart,
    ToolCallPart,
    calls_in,
    results_in,
    with_parts,
)

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from toolshape._answers.output import Output
    from toolshape._plan.resuming import Resumption


_VERSION = 2
"""The version of ``to_json``.

In version 1, an open turn was read again from the provider's messages.
"""


class _Said(NamedTuple):
    """The messages of a response: ``given`` in the provider's form, to send them
    back, and ``messages`` as records.
    """

    given: list[Any]
    messages: list[Message]


class _Asked(NamedTuple):
    """How a provider was asked: the strictness of the tools, and the output, if an
    answer in a type was asked for.
    """

    strict: Strictness
    output: OutputRef | None

    def to_json(self) -> list[Any]:
        return [self.strict, *(self.output or ())]

    @classmethod
    def from_json(cls, given: Sequence[Any]) -> "_Asked":
        strict, *output = given
        return cls(strict, OutputRef(*output) if output else None)


class Conversation:
    """A conversation with models of any provider; messages are only ever appended.

    ``messages`` holds the messages as records. ``repairs`` lists the changes that the last
    ``request`` made for its provider. A message is sent back verbatim to the provider and model
    that wrote it. For any other provider or model, the message is converted once.

    ``dispatch`` appends the assistant's message before a call runs, and each result as soon as it
    exists. While a call waits for approval, the turn is open, and nothing else can be appended.
    ``pending`` lists the waiting calls; ``approve``, ``deny`` and ``edit`` decide on them; ``run``
    continues the turn; ``pause`` and ``resume`` move the turn to another process. ``id`` identifies
    the conversation, and stays the same when it is stored and restored.
    """

    __module__ = "toolshape"

    __slots__ = (
        "_added",
        "_asked",
        "_asked_since",
        "_coercions",
        "_conversions",
        "_denied",
        "_forks",
        "_lock",
        "_messages",
        "_open",
        "_runs",
        "_sent",
        "_sent_elsewhere",
        "_stored_turn",
        "_turns",
        "_wanted",
        "id",
        "repairs",
        "tools",
    )

    def __init__(self, tools: Registry | None = None, messages: Iterable[Message] = ()) -> None:
        """Start an empty conversation, or continue a conversation from its records.

        Args:
            tools: The tools that models can call, including tools that are added to the registry
                later.
            messages: Records, for example from ``Bound.read_messages``.

        Raises:
            UsageError: ``tools`` is not a ``Registry``, or a message is not a ``Message``.
        """
        raw_tools: Any = tools
        if raw_tools is not None and not isinstance(raw_tools, Registry):
            raise UsageError(
                f"a Conversation takes a Registry of tools, not {type(raw_tools).__name__}"
            )
        self.tools = Registry() if tools is None else tools
        self.repairs: tuple[Repair, ...] = ()
        self._messages: list[Message] = []
        self._lock = threading.RLock()  # several threads may make requests and append results
        self._conversions: dict[Any, tuple[Bound, Conversion]] = {}
        self._asked: tuple[Bound, str | None] | None = None
        self._sent: dict[str, Bound] = {}
        # Weak, because results hold their whole response: whoever could add them again keeps them
        # alive.
        self._added: dict[int, weakref.ref[Results]] = {}
        self.id = uuid.uuid4().hex
        self._turns = 0
        self._open: OpenTurn | None = None
        self._denied: Results | None = (
            None  # the results of a turn that a denial ended, until the next message
        )
        self._runs = 0  # the current runs of the open turn
        self._stored_turn: StoredTurn | None = (
            None  # the turn of a restored conversation, until it is needed
        )
        self._asked_since = False  # whether a request was made since the last response
        self._forks = 0  # how often this object was trimmed
        self._wanted: Any = None  # the output of the last request, or of ``from_json``
        # The last requests of other processes, by provider.
        self._sent_elsewhere: dict[str, _Asked] = {}
        # What was coerced in this process, for ``str``; a stored conversation does not hold it.
        self._coercions: dict[str, tuple[Coercion, ...]] = {}
        self._append(messages)

    def __repr__(self) -> str:
        return f"Conversation({len(self.messages)} messages)"

    def __str__(self) -> str:
        """Return the last 40 messages as a person would write them down, with
        calls, coercions and waiting calls.
        """
        return lines_as_text(self._transcript()) or "no messages"

    def _repr_html_(self) -> str:
        return lines_as_html(self._transcript())

    def __rich__(self) -> Any:
        """Return the transcript for rich."""
        return lines_as_rich(self._transcript())

    def _transcript(self) -> list[Line]:
        with self._lock:
            messages = self.messages
            coercions, turn, stored = dict(self._coercions), self._open, self._stored_turn
        lines = transcript(messages, self.tools, coercions)
        if stored is not None:
            lines += [Line("waits for approval:", name) for name in stored_waiting_calls(stored)]
        waiting = () if turn is None else turn.results.pending
        lines += [
            Line("waits for approval:", f"{shown(call.call)} (id {call.id})") for call in waiting
        ]
        return lines

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __reduce__(self) -> Any:
        messages, turn = self._moment()
        about, wanted = self._about(turn, secrets=True), self._wanted
        return self._restored, (
            self.tools, messages, about, wanted if is_picklable(wanted) else None
        )  # fmt: skip

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages so far, including the existing results of an open turn."""
        with self._lock:
            if self._open is None or self._open.is_repeated:
                return tuple(self._messages)
            return self._with_results(list(self._open.results._answers))

    def _with_results(self, answers: Sequence[Result | None]) -> tuple[Message, ...]:
        message = answered_message(answers)
        results = () if message is None else (_with_path(message, len(self._messages)),)
        return (*self._messages, *results)

    def _append(self, messages: Iterable[Message]) -> None:
        for message in messages:
            raw_message: Any = message
            if not isinstance(raw_message, Message):
                raise UsageError(
                    "messages must be Message records: use read(messages, provider) for stored "
                    "messages"
                )
            if raw_message.role == "assistant":
                raw_message = _marked(raw_message, self.tools)
            self._messages.append(_with_path(raw_message, len(self._messages)))

    def _append_new(self, role: Role, parts: tuple[MessagePart, ...]) -> None:
        """Append a message of the app, with its place from the beginning: to set
        it later costs another record.
        """
        path = f"messages[{len(self._messages)}]"
        self._messages.append(Message(role=role, parts=parts, path=path))

    def system(self, text: str) -> None:
        """Append a system prompt. Each request puts the prompt where the provider expects it.

        Raises:
            UsageError: The turn is open.
        """
        self._refuse_open("system")
        self._append_new("system", (TextPart(text=text),))

    def user(self, *content: str | Text | Image | File) -> None:
        """Append a user message with text, images and files.

        Raises:
            UsageError: There is no content, the content has another type, or the turn is open.
        """
        if not content:
            raise UsageError("a user message needs content: text, an image or a file")
        self._refuse_open("user")
        self._append_new("user", tuple(_make_part(item) for item in content))

    def read(self, messages: Any, provider: AnyProvider, *, model: str | None = None) -> None:
        """Append stored messages of a provider.

        Args:
            messages: The messages, or a whole request with its system prompt: dicts, SDK objects or
                JSON text.
            provider: The provider of the messages.
            model: The model that wrote the messages. Signatures and reasoning are sent only to this
                model.

        Raises:
            ResponseError: The messages are not in the provider's format. Nothing was appended.
            UsageError: The provider has no message histories, or the turn is open.
        """
        self._refuse_open("read")
        bound = self.tools.bind(provider)
        handlers = bound_tools_of(bound).handlers
        records = read_messages(
            bound.provider, handlers, messages, model, None, bound.fingerprint, self._messages
        )
        self._append(records)

    def __iadd__(self, results: Results) -> "Self":
        """Append a response and the results of its calls. The turn stays open while a call waits.

        Raises:
            UsageError: The value is not ``Results``, the results were appended before, or another
                turn is open.
        """
        raw_results: Any = results
        if not isinstance(raw_results, Results):
            raise UsageError(
                f"+= takes Results, such as plan.results, not {type(raw_results).__name__}"
            )
        if self._open is None or self._open.results is not results:
            added = self._added.get(id(results))
            if added is not None and added() is results:
                raise UsageError(
                    "these results are already in the conversation: dispatch, or an earlier +=, "
                    "appended them"
                )
            self._begin_turn("+=", results, self._messages_of_response(results, None))
        self._close_if_done()
        return self

    def _begin_turn(
        self, what: str, results: Results, said: "_Said", *, has_ledger: bool = False
    ) -> tuple[int, int, bool]:
        """Append the messages of a response and open its turn; return what
        ``_take_back`` needs to undo this.

        Raises:
            UsageError: A turn is open: another thread may have opened it while this response was
                read. Or the response was delivered before, and there is no ledger that knows its
                results.
        """
        # A second delivery is what equals the last response when nothing was asked since. It keeps
        # the number of its turn, by which the ledger finds its calls, and its results already stand
        # in the conversation. This needs ids from the provider: with generated ids, two equal
        # responses may be different responses. The messages are not appended either if the
        # conversation ends with them: after ``read``, the calls at the end wait for results.
        with self._lock:
            self._refuse_open(what)
            before = len(self._messages), self._turns, self._asked_since
            is_repeated = (
                bool(len(results))
                and not self._asked_since
                and _is_last_response(said.given, results, self._messages)
                and not any(map(has_made_up_id, results.calls))
            )
            if is_repeated:
                first_results = _results_of_last_response(self._messages)
            else:
                first_results = None
            has_results = first_results is not None
            if is_repeated and has_results and not has_ledger:
                raise UsageError(
                    f"{what}: this response was delivered before, and nothing was asked since: "
                    "its results stand in the "
                    "conversation; pass ledger= to get them again"
                )
            self._turns += not is_repeated
            ends_with_response = (
                bool(said.given)
                and [message.raw for message in self._messages[-len(said.given) :]] == said.given
            )
            if first_results is not None:
                _answer_again(results, first_results)
            elif not ends_with_response:
                self._append(said.messages)
            self._open = OpenTurn(
                results=results,
                number=self._turns,
                messages=len(said.given if ends_with_response else said.messages),
                is_repeated=is_repeated and has_results,
            )
            self._asked_since = False
            return before

    def _close_if_done(self) -> None:
        """Close the open turn if none of its calls runs or waits: append its results.

        This method never raises, so no result of a call that ran is lost.
        """
        turn = self._open
        if turn is None:
            return
        with self._lock:
            if self._open is not turn or self._runs or is_turn_open(turn):
                return
            if not turn.is_repeated:
                self._append_results(turn.results)
            self._added[id(turn.results)] = weakref.ref(turn.results)
            self._coercions |= {
                result.id: result.coercions for result in turn.results if result.coercions
            }
            self._open = None

    def _append_results(self, results: Results) -> None:
        if len(results):
            self._append_messages_of(results)
        answer = peek_answer(results)
        if answer is not None and answer.feedback:
            self._append_new("user", (TextPart(text=str(answer.error)),))

    def _append_messages_of(self, results: Results) -> None:
        """Append the messages with these results.

        What a search found is kept as the provider takes it, where that is an item of its own: its
        definitions belong to the request of that moment.
        """
        deferral = results.provider.request.deferral
        has_items = deferral is not None and deferral.has_search_items
        if not has_items or not any(map(_is_of_search, results)):
            self._append_new("tool", tuple(map(result_part_of, results)))
            return
        origin = self._messages[-1].origin if self._messages else None
        for result in results:
            part = result_part_of(result)
            if not _is_of_search(result):
                self._append_new("tool", (part,))
                continue
            [raw] = results.provider.codec.write_results([result])
            path, parts = f"messages[{len(self._messages)}]", (replace(part, raw=raw),)
            self._messages.append(
                Message(role="tool", parts=parts, origin=origin, raw=raw, path=path)
            )

    def _waiting_calls(self) -> list[str]:
        """Return the names and ids of the calls that have no result yet."""
        # The caller may have run the plan of these results outside of this class.
        self._close_if_done()
        if self._stored_turn is not None:
            return stored_waiting_calls(self._stored_turn)
        if self._open is None:
            return []
        return waiting_calls(self._open)

    def _refuse_open(self, what: str) -> None:
        """Check that no turn is open.

        Raises:
            UsageError: A turn is open; the message starts with ``what``, the rejected operation.
        """
        if waiting := self._waiting_calls():
            raise UsageError(f"{what}: {refusal_message(waiting)}")
        self._denied = None

    def _current_turn(self, context: Any = None) -> OpenTurn:
        """Return the open turn.

        In a restored conversation, the first access rebuilds the turn from its stored form.

        Args:
            context: What validators of arguments read when the turn is rebuilt.

        Raises:
            UsageError: No turn is open, or the messages do not hold the calls of the stored turn.
        """
        with self._lock:
            if self._stored_turn is not None:
                self._open = OpenTurn(
                    results=self._restore(self._stored_turn, context),
                    number=self._turns,
                    messages=self._stored_turn.messages,
                )
                self._forget_stored()
            if self._open is None:
                raise UsageError("no call of this conversation is waiting: the turn is not open")
            if context is not None and has_lost_calls(self._open.results):
                record = snapshot(self._open.results, {})
                results = bindings_of(self.tools).open_turn(record, context, self._wanted)
                self._open = replace(self._open, results=results)
            return self._open

    def _restore(self, turn: StoredTurn, context: Any) -> Results:
        try:
            messages = assistant_messages(self._messages, turn)
        except ValueError as error:
            raise UsageError(f"{error}: the stored conversation was changed") from error
        raw = [message.raw for message in messages if message.raw is not None]
        return bindings_of(self.tools).open_turn(
            with_assistant(turn.state, raw), context, self._wanted
        )

    def _forget_stored(self) -> None:
        """Drop the stored turn and the message with its results: from now on the
        open turn holds these results.
        """
        self._stored_turn = None
        if self._messages[-1].role == "tool":
            self._messages.pop()

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls of the open turn that wait for approval, in call
        order; empty if no turn is open.

        Raises:
            UsageError: The conversation was restored, and its messages do not contain the calls in
                their original form.
        """
        if self._waiting_calls():
            return self._current_turn().results.pending
        return ()

    def approve(
        self,
        call: Call | PendingCall | str | Iterable[Call | PendingCall | str],
        *,
        again: bool = False,
    ) -> None:
        """Approve calls of the open turn, as ``Plan.approve`` does; ``run`` runs them.

        Args:
            call: The calls, as for ``Plan.approve``.
            again: Whether the calls run even if they may have run before, as for ``Plan.approve``.

        Raises:
            UsageError: No turn is open, or ``Plan.approve`` rejects a call.
        """
        Plan(self._current_turn().results).approve(call, again=again)

    def deny(
        self, call: Call | PendingCall | str | Iterable[Call | PendingCall | str], why: str = ""
    ) -> None:
        """Deny calls of the open turn, as ``Plan.deny`` does.

        If no other call waits, the turn is closed.

        ``run`` with a ledger records the denials, so the calls do not run if the response is
        delivered again.

        Raises:
            UsageError: No turn is open, or ``Plan.deny`` rejects a call.
        """
        turn = self._current_turn()
        self._name_scope(turn)
        Plan(turn.results).deny(call, why)
        self._close_if_done()
        self._denied = turn.results if self._open is None else None

    def edit(self, call: Call | PendingCall | str, arguments: Mapping[str, Any]) -> Call:
        """Replace the arguments of a call of the open turn, as ``Plan.edit`` does.

        Raises:
            CallError: The new arguments are invalid. The call keeps its arguments.
            UsageError: No turn is open, or ``Plan.edit`` rejects the call.
        """
        return Plan(self._current_turn().results).edit(call, arguments)

    def run(self, *, context: Any = None, **options: "Unpack[RunOptions]") -> Results:
        """Run the calls of the open turn that may run.

        If no call waits after that, the turn is closed.

        Args:
            context: What validators of arguments read as ``info.context``, if the conversation was
                restored: its calls are then validated again.
            **options: How to run the calls; as for ``Registry.dispatch``.

        Returns:
            The results of the turn, even if ``deny`` has closed it by denying the last waiting
            call.

        Raises:
            UsageError: No turn is open; or ``Plan.run`` raises this error; or the turn was
                restored, a call may have run meanwhile, and there is no ledger. No call ran.
        """
        refuse_unknown(options)
        # The last waiting call was denied: nothing runs, but a ledger records the denial.
        if self._denied is not None:
            return Plan(self._denied).run(**options)
        turn = self._current_turn(context)
        with self._keep_turn_open():
            Plan(turn.results).run(**self._add_scope(turn, options))
        return turn.results

    async def arun(self, *, context: Any = None, **options: "Unpack[RunOptions]") -> Results:
        """Like ``run``, for a running event loop."""
        refuse_unknown(options)
        if self._denied is not None:
            return await Plan(self._denied).arun(**options)
        turn = self._current_turn(context)
        with self._keep_turn_open():
            await Plan(turn.results).arun(**self._add_scope(turn, options))
        return turn.results

    @contextmanager
    def _keep_turn_open(self) -> Generator[None]:
        """Keep the turn open while its calls run, and close it afterwards if no call waits.

        Another thread may check in the meantime whether the turn can be closed, so runs are
        counted.
        """
        with self._lock:
            self._runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1
                self._close_if_done()

    def _add_scope(self, turn: OpenTurn, options: "RunOptions") -> "RunOptions":
        """Return the options for a run.

        With a ledger but no ``scope=``, the scope is that of the turn's earlier runs, or names the
        conversation and the turn.
        """
        if options.get("ledger") is None or options.get("scope") is not None:
            return options
        controls = turn.results._controls
        scope = None if controls is None else controls.scope
        return {**options, "scope": scope or self._scope(turn)}

    def _scope(self, turn: OpenTurn) -> str:
        return f"conversation {self.id}, turn {turn.number}"

    def pause(
        self,
        key: bytes | str,
        *,
        audience: str,
        expires: timedelta,
        ledger: LedgerStore | None = None,
    ) -> str:
        """Return the open turn as a token, for ``resume`` in this or
        another process; see ``Plan.pause``.

        Also store the conversation with ``to_json``: the token holds the calls and their decisions,
        but not the earlier messages.

        Raises:
            UsageError: No turn is open, or ``Plan.pause`` cannot pause the plan.
        """
        turn = self._current_turn()
        self._name_scope(turn)
        return Plan(turn.results).pause(key, audience=audience, expires=expires, ledger=ledger)

    async def apause(
        self,
        key: bytes | str,
        *,
        audience: str,
        expires: timedelta,
        ledger: LedgerStore | None = None,
    ) -> str:
        """Like ``pause``, for a running event loop; the ledger is accessed in a thread."""
        turn = self._current_turn()
        self._name_scope(turn)
        return await Plan(turn.results).apause(
            key, audience=audience, expires=expires, ledger=ledger
        )

    def _name_scope(self, turn: OpenTurn) -> None:
        controls = state.controls_of(turn.results)
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
        """Resume the paused turn: apply the decisions, and run the calls.

        If no call waits after that, close the turn.

        Args:
            token: The token from ``pause``.
            key: The key that signed the token.
            decisions: The decisions by call id, as for ``Registry.resume``.
            audience: The audience that the token was made for.
            ledger: The ledger, as for ``Registry.resume``.
            **options: ``inject``, ``limit``, ``on_progress``, ``context`` and ``output``, as for
                ``Registry.resume``.

        Raises:
            UsageError: The token holds the calls of another turn, or ``Registry.resume`` raises
                this error.
            TokenError: As for ``Registry.resume``.
            CallError: As for ``Registry.resume``.
        """
        self._refuse_other_token(token)
        resumption = self._resumption((token, key, decisions, audience, ledger), options)
        with self._keep_turn_open():
            return _plan.steps.run_here(_plan.resuming.resume(resumption, _plan.steps.HERE))

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
        """Like ``resume``, for a running event loop."""
        self._refuse_other_token(token)
        resumption = self._resumption((token, key, decisions, audience, ledger), options)
        with self._keep_turn_open():
            return await _plan.resuming.resume(resumption, _plan.steps.IN_LOOP)

    def _resumption(self, given: tuple[Any, ...], options: "ResumeOptions") -> "Resumption":
        """Return the arguments of a resumption, whose results become the open
        turn before the first call runs.
        """
        return bindings_of(self.tools).resumption(
            given, {"output": self._wanted, **options}, self._adopt
        )

    def _refuse_other_token(self, token: Any) -> None:
        """Check that a token holds the calls of the open turn.

        Its signature is verified later, by ``resume``.

        Raises:
            UsageError: The token holds the calls of another turn, or no turn is open.
        """
        stored_turn = self._stored_turn
        if stored_turn is not None:
            open_ids = [call.id for call in stored_turn.state.calls]
        else:
            open_ids = [call.id for call in self._current_turn().results.calls]
        try:
            token_ids = [call["id"] for call in json.loads(token)["calls"]]
        except (TypeError, ValueError, KeyError, RecursionError):
            return  # not a token: ``resume`` raises an error that explains why
        if token_ids != open_ids:
            raise UsageError(
                "the calls in this token are not the calls that wait in this conversation: pass "
                "the token that pause() "
                "returned for this conversation"
            )

    def _adopt(self, results: Results) -> None:
        """Make the results of the resumed plan the open turn."""
        with self._lock:
            turn = self._stored_turn or self._open
            if self._stored_turn is not None:
                self._forget_stored()
            if turn is None:
                messages = len(results._assistant)
            else:
                messages = turn.messages
            self._open = OpenTurn(results=results, number=self._turns, messages=messages)

    def _messages_of_response(self, results: Results, model: str | None) -> "_Said":
        """Read the messages of a response, with the calls as ``dispatch`` runs them."""
        provider = results.provider
        bound = self._bound_of(provider)
        if (
            self._asked is not None
            and self._asked[0].provider is provider
            and self._asked[1] is not None
        ):
            # The requested name, which may be an alias for the version that the response names.
            model = self._asked[1]
        given = results._assistant
        is_plain = is_json(given)
        wire_messages = list(given if is_plain else make_sendable(given))
        origin = Origin(provider=provider.name, model=model, fingerprint=bound.fingerprint)
        read_messages = response_messages(
            provider,
            wire_messages,
            results.calls,
            results.finish,
            origin,
            self._messages,
            is_plain=is_plain,
            usage=results.usage,
            holds_secret=_holds_secret(results),
        )
        return _Said(wire_messages, read_messages)

    def _bound_of(self, provider: Provider) -> Bound:
        """Return the bound tools of the last request to this provider; if
        there was none, bind the tools.
        """
        sent = self._sent.get(provider.name)
        if sent is not None and sent.provider is provider:
            return sent
        asked = self._sent_elsewhere.get(provider.name)
        if asked is None:
            return self.tools.bind(provider)
        return self.tools.bind(provider, asked.strict, output=self._output_of(asked))

    def _output_of(self, asked: "_Asked") -> Any:
        """Return the output of a request that another process made.

        Raises:
            UsageError: This process does not know the output.
        """
        if asked.output is None:
            return None
        return bindings_of(self.tools).output_of(asked.output, self._wanted)

    def _bound_for(self, response: Any, provider: AnyProvider | None) -> Bound:
        if provider is not None:
            return self._bound_of(get(provider))
        if response is None and self._asked is not None:
            return self._asked[0]
        found = [
            self._bound_of(asked)
            for asked in self._asked_providers()
            if recognised(asked, response)
        ]
        if not found:
            return self._bound_of(family_of(response))
        self._refuse_other_readings(found, response)
        return found[0]

    def _asked_providers(self) -> Iterator[Provider]:
        """Yield each provider that was sent a request, the latest request first,
        those of another process last.

        A provider that is a package's or the app's own may be unknown in this process: only
        ``provider=`` can name it.
        """
        for bound in reversed(self._sent.values()):
            yield bound.provider
        for name in reversed(self._sent_elsewhere):
            if name in self._sent:
                continue
            with suppress(ExportError):
                yield get(name)

    def _refuse_other_readings(self, found: Sequence[Bound], response: Any) -> None:
        """Check that all providers of a family that were asked would read the same from a response.

        Raises:
            UsageError: Two of them read the response differently.
        """
        first = found[0]
        others = [bound for bound in found[1:] if bound.provider.family == first.provider.family]
        if others:
            reading = canonical_calls(bound_tools_of(first), response)
        else:
            reading = []
        for other in others:
            if canonical_calls(bound_tools_of(other), response) != reading:
                raise UsageError(
                    f"{other.provider.name} and {first.provider.name} read this response "
                    "differently: pass provider="
                )

    def request(
        self,
        provider: AnyProvider,
        *,
        model: str | None = None,
        choice: str | Collection[str] | None = None,
        parallel: bool | None = None,
        strict: Strictness | None = None,
        native: Sequence[Any] = (),
        output: "Output[Any] | Any" = None,
        text_calls: str | None = None,
        repairs: Mapping[str, bool] | bool | None = None,
        **keywords: Any,
    ) -> JsonObject:
        """Return all keyword arguments for the SDK's next call: messages, tools, system
        prompt, model and ``keywords``.

        You can change the lists in the request, but not the messages in them: later requests share
        the messages.

        Args:
            provider: The provider that the request is for.
            model: The model. It is part of the request, and decides which repair rules apply.
            choice: The tools that the model may or must call, as for ``Bound.request``. After three
                searches (``Registry.search``) without a call, it defaults to ``"none"``.
            parallel: Whether one response may hold several calls.
            strict: Whether the provider must constrain arguments to the schema, as for
                ``Registry.bind``.
            native: The provider's own tools. They are sent in addition to the tools of this
                conversation, and count toward the same limits.
            output: The type of the answer, as for ``Registry.bind``. The results of the response
                hold the answer. If the answer is invalid, the conversation appends a message that
                tells the model what to correct.
            text_calls: The format of calls that the server may leave in the text, as for
                ``Registry.bind``.
            repairs: Repair rules to switch off, for example ``{"blank_text": False}``.
            **keywords: Further arguments of the SDK's call, for example ``max_tokens=1024``. A
                dict, or Gemini's ``config``, is merged with the conversation's own value.

        Raises:
            HistoryError: The conversation cannot be sent, for example because a call waits for
                approval or has no result yet.
            ExportError: As for ``Bound.request``.
            UsageError: The provider has no message histories, a repair rule is unknown, or
                ``keywords`` has a key that the conversation sets itself.
        """
        # Everything that can refuse the request comes before the conversation remembers that it was
        # made: after an error, the next response still belongs to the request before. Only the
        # output is remembered at once: a stored history may end with the call of an answer, which
        # nothing else can name.
        if waiting := self._waiting_calls():
            problems = problems_of_waiting(waiting, f"messages[{len(self._messages) - 1}]")
            raise HistoryError(provider=get(provider).name, problems=problems)
        self._wanted = output
        if text_calls is not None:
            provider = with_text_format(get(provider), text_calls)
        bound = self.tools.bind(provider, strict, output=output)
        if choice is None and bound_tools_of(bound).search is not None:
            choice = _bound.past_searches.choice_after_searches(bound, self._messages, model)
        request = self.tools.request(
            provider,
            choice=choice,
            parallel=parallel,
            model=model,
            strict=strict,
            native=native,
            output=output,
        )
        histories = histories_of(bound.provider)
        has_tools = bool(request) and not _is_only_output(request, bound)
        if has_tools or "tools_missing" in switched_off_repairs(repairs):
            missing_tools = None
        else:
            missing_tools = tools_missing(histories, model)
        converted, problems = self._converted(bound, model, repairs, missing_tools)
        if not converted.messages and not problems:
            hint = "append a user message"
            problems.append(
                Problem(
                    path=histories.key,
                    rule="no_messages",
                    message="there is nothing to send",
                    hint=hint,
                )
            )
        if problems:
            raise HistoryError(provider=bound.provider.name, problems=problems)
        self._asked, self._asked_since = (bound, model), True
        self._remember_sent(bound)
        if model is None:
            body: JsonObject = {}
        else:
            body = {histories.model_key: model}
        if converted.system and histories.system is not None:
            body.update(histories.system(converted.system))
        sent: list[WireMessage] = [*converted.messages]
        if bound_tools_of(bound).search is not None:
            sent = _bound.past_searches.load_found(bound, sent, request)
        body[histories.key] = sent
        return _merge(
            _merge(body, request), {key: to_plain_json(value) for key, value in keywords.items()}
        )

    def _remember_sent(self, bound: Bound) -> None:
        """Put these tools last among those that were sent; a new dict, since
        another thread may read the old one.
        """
        sent, name = self._sent, bound.provider.name
        if sent.get(name) is bound and next(reversed(sent)) == name:
            return
        others = {other: other_bound for other, other_bound in sent.items() if other != name}
        self._sent = {**others, name: bound}

    def _converted(
        self,
        bound: Bound,
        model: str | None,
        repairs: Mapping[str, bool] | bool | None,
        missing_tools: Problem | None,
    ) -> tuple[Converted, list[Problem]]:
        """Return the messages in the provider's form, and the problems; the repairs are kept.

        ``missing_tools`` is the problem of calls in this request. Answers that came as calls are
        then sent as text.
        """
        with self._lock:
            messages, as_text = self._messages, list[Repair]()
            conversion = self._conversion(bound, model, repairs)
            if missing_tools is not None and any(map(calls_in, messages)):
                outputs = {output.name for output in store_of(self.tools).contents.outputs}
                messages, as_text = answers_as_text(messages, outputs)
                rules_off = switched_off_repairs(repairs)
                handlers = bound_tools_of(bound).handlers
                conversion = conversion_to(
                    bound.provider, handlers, bound.fingerprint, model, rules_off
                )
            converted = conversion.of(messages)
            self.repairs = (*as_text, *converted.repairs)
        has_problem = missing_tools is not None and any(map(calls_in, messages))
        return converted, [
            *converted.problems,
            *([missing_tools] if has_problem and missing_tools else []),
        ]

    def _conversion(
        self, bound: Bound, model: str | None, repairs: Mapping[str, bool] | bool | None
    ) -> Conversion:
        rules_off = switched_off_repairs(repairs)
        key = (bound.provider.name, bound.fingerprint, model, rules_off)
        cached = self._conversions.get(key)
        if cached is not None and cached[0] is bound:
            return cached[1]
        handlers = bound_tools_of(bound).handlers
        conversion = conversion_to(bound.provider, handlers, bound.fingerprint, model, rules_off)
        self._conversions[key] = bound, conversion
        return conversion

    def collector(self, provider: AnyProvider | None = None, *, context: Any = None) -> Collector:
        """Return a collector for a streamed response.

        When the stream is over, pass the collector to ``dispatch``.

        Args:
            provider: The provider of the stream. The default is the provider of the last request.
            context: What validators of arguments read as ``info.context``; it is never stored.

        Raises:
            UsageError: No request was made, and ``provider`` is missing.
        """
        if provider is None and self._asked is None:
            raise UsageError(
                "the provider of the stream is unknown: pass provider=, or make a request first"
            )
        collector = self._bound_for(None, provider).collector(context=context)
        if not isinstance(collector, Collector):
            raise UsageError("a session is no turn of a conversation: use bind(...).session()")
        return collector

    def plan(
        self, response: Any = None, *, provider: AnyProvider | None = None, context: Any = None
    ) -> Plan:
        """Read and validate the calls of a response without running them.

        ``conversation += plan.results`` then appends the response and its results.

        Args:
            response: The response, as for ``dispatch``. Without a response, the plan has the calls
                of the open turn, or the calls at the end of the conversation that have no results
                yet.
            provider: The provider of the response, as for ``dispatch``.
            context: What validators of arguments read as ``info.context``; it is never stored.

        Raises:
            ResponseError: The response is not in the provider's format.
            UsageError: A response is given, but the turn is open.
        """
        if response is None and self._waiting_calls():
            turn = self._current_turn(context)
            self._name_scope(turn)
            return Plan(turn.results)
        self._refuse_open("plan")
        return self._plan_response(response, provider, context)[0]

    def _plan_response(
        self, response: Any, provider: AnyProvider | None, context: Any
    ) -> tuple[Plan, str | None]:
        """Return the plan of a response, and the model that the response names."""
        if isinstance(response, Collector):
            return response.plan(), response.model
        if response is None:
            return self._plan_waiting_calls(context)
        body = self._body_of(response, provider)
        return self._bound_for(body, provider).plan(body, context=context), model_name(body)

    def _body_of(self, response: Any, provider: AnyProvider | None) -> Any:
        """Return the body of a response; a string is not parsed if the
        provider's responses are plain text.
        """
        if self._asked is None:
            last_provider = None
        else:
            last_provider = self._asked[0].provider
        if provider is None:
            resolved_provider = last_provider
        else:
            resolved_provider = get(provider)
        return body_of(response, *([] if resolved_provider is None else [resolved_provider]))

    def _plan_waiting_calls(self, context: Any) -> tuple[Plan, str | None]:
        """Return the plan of the last messages, whose calls have no results yet, and the
        model that wrote the messages.

        Raises:
            UsageError: The conversation does not end with unanswered calls in a provider's own
                message.
        """
        last_messages = [
            *takewhile(
                lambda message: message.role == "assistant" and message.raw is not None,
                reversed(self._messages),
            )
        ][::-1]
        if last_messages:
            origin = last_messages[-1].origin
        else:
            origin = None
        if origin is None or not any(map(calls_in, last_messages)):
            raise UsageError("no call is waiting for its result: pass the response")
        provider = get(origin.provider)
        bound = self._bound_of(provider)
        if self._wanted is not None:
            bound = self.tools.bind(provider, bound.strict, output=self._wanted)
        is_items = histories_of(bound.provider).is_items
        if is_items:
            raw = [message.raw for message in last_messages]
        else:
            raw = last_messages[-1].raw
        return bound.plan(raw, context=context), origin.model

    def dispatch(
        self,
        response: Any = None,
        *,
        provider: AnyProvider | None = None,
        context: Any = None,
        **options: "Unpack[RunOptions]",
    ) -> Results:
        """Run every call in a response, and append the response and
        the results, even if calls fail.

        If a call waits for approval, the turn stays open: see ``pending``.

        Args:
            response: The response to a request: SDK object, dict, JSON text or bytes, or a
                ``Collector``. Without a response, run the calls at the end of the conversation that
                have no results yet.
            provider: The provider of the response, if this conversation made no request to that
                provider.
            context: What validators of arguments read as ``info.context``; it is never stored.
            **options: How to run the calls; as for ``Registry.dispatch``.

        Raises:
            ResponseError: The response is not in the provider's format. Nothing was appended.
            UsageError: As for ``Plan.run``, or a response is given but the turn is open. No call
                ran, and nothing was appended.
        """
        refuse_unknown(options)
        if response is None and self._waiting_calls():
            return self.run(context=context, **options)
        has_ledger = options.get("ledger") is not None
        results, before = self._append_response(response, provider, context, has_ledger=has_ledger)
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
        context: Any = None,
        **options: "Unpack[RunOptions]",
    ) -> Results:
        """Like ``dispatch``, for a running event loop.

        If the dispatch is cancelled, existing results are appended.
        """
        refuse_unknown(options)
        if response is None and self._waiting_calls():
            return await self.arun(context=context, **options)
        has_ledger = options.get("ledger") is not None
        results, before = self._append_response(response, provider, context, has_ledger=has_ledger)
        try:
            return await self.arun(**options)
        except UsageError:
            self._take_back(results, *before)
            raise

    def _append_response(
        self, response: Any, provider: AnyProvider | None, context: Any, *, has_ledger: bool
    ) -> tuple[Results, tuple[int, int, bool]]:
        """Read a response and append it before a call runs.

        Reading can fail. If the response were read after the run, a failure would lose the results
        of calls that ran.
        """
        self._refuse_open("dispatch")
        plan, model = self._plan_response(response, provider, context)
        said = self._messages_of_response(plan.results, model)
        return plan.results, self._begin_turn("dispatch", plan.results, said, has_ledger=has_ledger)

    def _take_back(self, results: Results, messages: int, turns: int, asked_since: bool) -> None:
        """Undo ``_begin_turn`` because no call could run: the caller can
        dispatch the same response again.
        """
        with self._lock:
            self._open, self._turns, self._asked_since = None, turns, asked_since
            self._added.pop(id(results), None)
            del self._messages[messages:]

    def trimmed(self, keep: int) -> "Conversation":
        """Return a new conversation with the last turns and all
        system prompts of this conversation.

        Args:
            keep: The number of turns. A turn starts with a user message and ends before the next
                turn.

        Raises:
            UsageError: ``keep`` is not an int of 1 or more, or the turn is open.
        """
        self._refuse_open("trimmed")
        if not (type(keep) is int and keep > 0):
            raise UsageError(f"keep= must be a number of turns, 1 or more, not {keep!r}")
        starts = [
            position for position, message in enumerate(self._messages) if begins_turn(message)
        ]
        start = starts[-keep] if len(starts) >= keep else 0
        kept_positions = [
            position
            for position, message in enumerate(self._messages)
            if position >= start or message.role == "system"
        ]
        conversation = Conversation(
            self.tools, [self._messages[position] for position in kept_positions]
        )
        conversation._asked, conversation._wanted = self._asked, self._wanted
        conversation._sent = dict(self._sent)
        conversation._sent_elsewhere = dict(self._sent_elsewhere)
        conversation._turns, conversation._asked_since = self._turns, self._asked_since
        # A fork has an identity of its own, so a ledger tells its calls from those of other forks.
        # Whoever restores the same conversation and trims it in the same way gets the same fork.
        self._forks += 1
        identity = f"{self.id} {self._turns} {keep} {self._forks}"
        conversation.id = hashlib.sha256(identity.encode()).hexdigest()[:32]
        return conversation

    def to_json(self, *, secrets: bool = False) -> str:
        """Return the conversation as JSON text, with raw messages,
        values of results, images and files.

        For an open turn, the text has the waiting calls and the existing results, but no decisions,
        because the text is not signed. A call that was approved but did not run is pending again
        after ``from_json``.

        Secret arguments (``SecretStr``, ``writeOnly``) are written as ``[hidden]``, and the
        provider's own form of a message with such a call is left out. An answer whose type has
        secrets is hidden entirely. If any tool takes secrets, the arguments of calls to unknown
        tools are left out. To resume a waiting call with secrets, use a token and a ledger.

        A lone surrogate is written as an escape, because files and databases reject it.

        Args:
            secrets: Whether to write secret arguments without hiding them.

        Raises:
            UsageError: A message holds a value that JSON cannot hold, such as a date, or is nested
                too deeply.
        """
        try:
            messages, turn = self._moment()
            if secrets:
                visible = messages
            else:
                visible = [_hide_secrets(one, self.tools) for one in messages]
            body = {
                "version": _VERSION,
                "messages": [*map(message_to_json, visible)],
                **self._about(turn, secrets=secrets),
            }
            text = json.dumps(body, ensure_ascii=False, allow_nan=False)
            return text.encode(errors="backslashreplace").decode()
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"a message cannot be written as JSON: {error}") from error

    def _moment(self) -> tuple[Sequence[Message], StoredTurn | None]:
        """Return the messages and the open turn of one moment, while other threads may run
        calls.
        """
        with self._lock:
            self._close_if_done()
            if self._open is None:
                return tuple(self._messages), self._stored_turn
            results = self._open.results
            record = snapshot(results)
            turn = StoredTurn(state=record, messages=self._open.messages)
            if self._open.is_repeated:
                return tuple(self._messages), turn
            # The results in the messages are those of the record, not those of a later moment.
            known = [
                answer if call.result is not None else None
                for call, answer in zip(record.calls, results._answers, strict=True)
            ]
            is_over = all(call.result is not None for call in record.calls)  # a run is about to end
            return self._with_results(known), None if is_over else turn

    def _about(self, turn: StoredTurn | None, *, secrets: bool) -> JsonObject:
        """Return what is stored in addition to the messages: id, number of turns, and open turn."""
        about: JsonObject = {"id": self.id, "turns": self._turns}
        if self._asked_since:
            about["asked"] = True
        if sent := self._every_request():
            about["sent"] = {name: asked.to_json() for name, asked in sent.items()}
        if turn is not None:
            about["open"] = turn_to_json(replace(turn, state=unsigned(turn.state, secrets=secrets)))
        return about

    def _every_request(self) -> "dict[str, _Asked]":
        """Return how the last request to each provider was made, perhaps in
        another process; the latest is last.
        """
        sent = {
            name: asked for name, asked in self._sent_elsewhere.items() if name not in self._sent
        }
        for name, bound in self._sent.items():
            answer = bound_tools_of(bound).answer
            sent[name] = _Asked(bound.strict, None if answer is None else answer.record.ref)
        return sent

    @classmethod
    def _restored(
        cls,
        tools: Registry | None,
        messages: Iterable[Message],
        about: JsonObject,
        output: Any = None,
    ) -> "Self":
        """Rebuild a conversation from stored messages and the state that ``_about`` returned."""
        conversation = cls(tools, messages)
        conversation.id, conversation._turns = (
            str(about.get("id", conversation.id)),
            int(about.get("turns", 0)),
        )
        conversation._asked_since = bool(about.get("asked"))
        conversation._sent_elsewhere = {
            name: _Asked.from_json(asked) for name, asked in about.get("sent", {}).items()
        }
        conversation._wanted = output
        stored_turn = about.get("open")
        if stored_turn is not None:
            conversation._stored_turn = turn_from_json(stored_turn)
        return conversation

    @classmethod
    def from_json(
        cls,
        given: str | bytes | JsonObject,
        tools: Registry | None = None,
        *,
        output: "Output[Any] | Any" = None,
    ) -> "Conversation":
        """Return the conversation that ``to_json`` wrote.

        Args:
            given: The JSON text, or its parsed object.
            tools: The tools that models can call.
            output: The type of the answer in the open turn, if ``tools`` does not know it. Only
                ``Results.output`` of that turn needs it.

        Raises:
            UsageError: The value is not a conversation, or has an unknown version.
        """
        try:
            if isinstance(given, (str, bytes)):
                body: Any = json.loads(given)
            else:
                body = given
        except (ValueError, RecursionError) as error:
            raise UsageError(f"not a conversation: the text is not JSON ({error})") from error
        if (
            not isinstance(body, dict)
            or body.get("version") not in (1, _VERSION)
            or not isinstance(body.get("messages"), list)
        ):
            raise UsageError(
                f"not a conversation of version {_VERSION} or 1: pass the output of to_json"
            )
        try:
            messages = [*map(message_from_json, body["messages"])]
            if body["version"] == 1:
                messages, body = _conversation.version_1.upgraded(
                    messages, body, tools or Registry()
                )
            return cls._restored(tools, messages, body, output)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(
                f"the conversation has a message that cannot be read: {error!r}"
            ) from error


def _answer_again(results: Results, message: Message) -> None:
    """Answer the calls of a response that was delivered before with the results
    that stand in the conversation.
    """
    parts = results_in(message)
    for entry in state.every_entry(results):
        if entry[0] < len(parts):
            outcome = outcome_of_part(parts[entry[0]])
            result = restore_result(results.calls[entry[0]], outcome, replayed=True)
            state.answer_known(results, entry, result)


def _holds_secret(results: Results) -> bool:
    """Whether the messages of a response may hold a secret, in a call or in the answer."""
    if peek_answer(results) is not None and results._answered_by.has_secrets:
        return True
    return any(may_hold_secret(results, call) for call in results.calls)


def _marked(message: Message, tools: Registry) -> Message:
    """Return a message that says that it holds a secret, if one of its calls does with these
    tools.
    """
    if message.holds_secret or not any(_takes_secret(part, tools) for part in calls_in(message)):
        return message
    return replace(message, holds_secret=True)


def _takes_secret(part: ToolCallPart, tools: Registry) -> bool:
    """Whether a call may hold a secret with these tools; by an unknown name, the
    model may have meant any of them.
    """
    if part.name is not None and part.name in tools:
        return record_of(tools[part.name]).takes_secrets
    return any(record_of(tool).takes_secrets for tool in tools)


def _hide_secrets(message: Message, tools: Registry) -> Message:
    """Return a message without secrets.

    If a part may hold a secret, the raw form of the message is dropped.

    Where the tools of this registry say which call holds it, its arguments are masked. Otherwise,
    the message holds it as its answer, or in a call whose tool is another now: then all that it
    says is hidden.
    """
    parts_with_secrets = [part for part in calls_in(message) if _takes_secret(part, tools)]
    is_known = any(part.name is not None and part.name in tools for part in parts_with_secrets)
    if message.holds_secret and not is_known:
        shells = map(_without_content, message.parts)
        return with_parts(message, tuple(shell for shell in shells if shell is not None))
    parts = tuple(
        _hide_arguments(part, tools) if part in parts_with_secrets else part
        for part in message.parts
    )
    return with_parts(message, parts)


def _without_content(part: MessagePart) -> MessagePart | None:
    """Return a part of which only its kind is left; what is not needed is left out."""
    match part:
        case TextPart():
            return TextPart(text=MASKED)
        case ToolCallPart():
            return replace(part, arguments=None, arguments_raw={}, raw=None)
        case ReasoningPart() | ProviderPart():
            return None
        case _:
            return part


def _hide_arguments(part: ToolCallPart, tools: Registry) -> ToolCallPart:
    if part.name is None or part.name not in tools or part.arguments is None:
        return replace(part, arguments=None, arguments_raw={}, raw=None)
    masked = record_of(tools[part.name]).secrets.masked(part.arguments)
    shown_arguments = masked if isinstance(masked, dict) else {}
    return replace(part, arguments=shown_arguments, arguments_raw=shown_arguments, raw=None)


def _with_path(message: Message, position: int) -> Message:
    path = f"messages[{position}]"
    if message.path == path:
        return message
    return replace(message, path=path)


def _end_of_last_response(messages: Sequence[Message]) -> int:
    """Return where the assistant's last response ends; results, and what
    was said since, may follow it.
    """
    end = len(messages)
    while end and messages[end - 1].role != "assistant":
        end -= 1
    return end


def _results_of_last_response(messages: Sequence[Message]) -> Message | None:
    """Return the message with the results of the assistant's last response."""
    following = messages[_end_of_last_response(messages) :]
    return next((message for message in following if message.role == "tool"), None)


def _is_last_response(given: list[Any], results: Results, messages: Sequence[Message]) -> bool:
    """Whether a response equals the assistant's last response; tool results may follow it.

    A response that was stored without its secrets is known by the ids and names of its calls.
    """
    end = _end_of_last_response(messages)
    start = end
    while start and messages[start - 1].role == "assistant":
        start -= 1
    last = messages[start:end]
    if any(message.raw is None for message in last):
        stored = [(part.id, part.name) for message in last for part in calls_in(message)]
        return stored == [(call.id, call.name) for call in results.calls]
    return given == [message.raw for message in last]


def _make_part(content: Any) -> MessagePart:
    match content:
        case str():
            return TextPart(text=content)
        case Text():
            return TextPart(text=content.text)
        case Image() | File():
            return MediaPart(media=content)
        case _:
            raise UsageError(
                f"a user message takes text, images and files, not {type(content).__name__}"
            )


def _is_of_search(result: Result) -> bool:
    return is_search(getattr(result.call.reader, "tool", None))


def _is_only_output(request: JsonObject, bound: Bound) -> bool:
    answer = bound_tools_of(bound).answer
    return answer is not None and request == answer.keywords


def _merge(first: JsonObject, second: JsonObject, path: str = "") -> JsonObject:
    """Merge two objects of keyword arguments, including nested objects.

    Raises:
        UsageError: Both objects have a value for the same key.
    """
    if not second:
        return first
    merged = dict(first)
    # Gemini's SDK takes snake_case and camelCase.
    spellings = {key.replace("_", "").lower(): key for key in merged}
    for name, value in second.items():
        key = spellings.get(name.replace("_", "").lower(), name)
        if key not in merged:
            merged[key] = value
        elif isinstance(merged[key], dict) and isinstance(value, dict):
            merged[key] = _merge(merged[key], value, f"{path}{key}.")
        elif value is not None:
            if key == "tools":
                way_out = "pass native= for the provider's own tools"
            else:
                way_out = "leave it out"
            raise UsageError(f"{path}{name}= is set by the conversation: {way_out}")
    return merged

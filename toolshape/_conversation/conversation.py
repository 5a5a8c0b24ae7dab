"""Defines ``Conversation``, which keeps a history for all providers, builds requests, and runs calls."""

import json
import threading
import uuid
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from toolshape._bound.bound import Bound, bound_tools_of
from toolshape._bound.registry import Registry
from toolshape._conversation.message_json import message_from_json, message_to_json
from toolshape._conversation.open_turn import (
    OpenTurn,
    answered_message,
    check_guarded,
    is_open,
    problems_of,
    refusal_message,
    restore_turn,
    stored_waiting_calls,
    turn_to_json,
    waiting_calls,
)
from toolshape._conversation.transcript import transcript
from toolshape._families import family_of, get, recognised
from toolshape._families.receive import body_of
from toolshape._families.wire.bodies import model_name, to_plain_json
from toolshape._families.wire.provider import AnyProvider, Provider
from toolshape._history.conversion import Conversion
from toolshape._history.messages import (
    conversion_to,
    read_messages,
    response_messages,
    switched_off_repairs,
)
from toolshape._history.outbound import histories_of, result_part_of
from toolshape._history.repair import tools_missing
from toolshape._history.repairs.order import begins_turn
from toolshape._plan import state
from toolshape._plan.approval import Decision
from toolshape._plan.collector import Collector
from toolshape._plan.ledger_store import LedgerStore
from toolshape._plan.plan import Plan
from toolshape._plan.results import Results
from toolshape._plan.run_options import ResumeOptions, RunOptions, refuse_unknown
from toolshape._records.calls import Call, Coercion, JsonObject, Strictness
from toolshape._records.errors import HistoryError, Problem, UsageError
from toolshape._records.identity import has_made_up_id
from toolshape._records.parts import File, Image, Text
from toolshape._records.printing import Line, lines_as_html, lines_as_rich, lines_as_text
from toolshape._records.result import PendingCall, make_sendable
from toolshape._records.shown import shown
from toolshape._schema.secrets import MASKED
from toolshape._tools.tool import record_of
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

    from toolshape._answers.output import Output


_VERSION = 1


class _Said(NamedTuple):
    """The messages of a response: ``given`` in the provider's form, to send them back, and ``messages`` as records."""

    given: list[Any]
    messages: list[Message]


class Conversation:
    """A conversation with models of any provider; messages are only ever appended.

    ``messages`` holds the messages as records. ``repairs`` lists the changes that the last ``request`` made for its
    provider. A message is sent back verbatim to the provider and model that wrote it. For any other provider or model,
    the message is converted once.

    ``dispatch`` appends the assistant's message before a call runs, and each result as soon as it exists. While a call
    waits for approval, the turn is open, and nothing else can be appended. ``pending`` lists the waiting calls;
    ``approve``, ``deny`` and ``edit`` decide on them; ``run`` continues the turn; ``pause`` and ``resume`` move
    the turn to another process. ``id`` identifies the conversation, and stays the same when it is stored and restored.
    """

    __module__ = "toolshape"

    __slots__ = (
        "_added",
        "_asked",
        "_coercions",
        "_conversions",
        "_denied",
        "_hidden",
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
        """Start an empty conversation, or continue a conversation from its records.

        Args:
            tools: The tools that models can call, including tools that are added to the registry later.
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
        self._added: dict[
            int, Results
        ] = {}  # keeps results alive: a new object could reuse an id()
        self.id = uuid.uuid4().hex
        self._turns = 0
        self._open: OpenTurn | None = None
        self._denied: Results | None = (
            None  # the results of a turn that a denial ended, until the next message
        )
        self._runs = 0  # the current runs of the open turn
        self._stored_turn: JsonObject | None = (
            None  # the turn of a restored conversation, until it is needed
        )
        self._hidden: set[int] = set()  # the positions of messages that hold an answer with secrets
        # What was coerced in this process, for ``str``; a stored conversation does not hold it.
        self._coercions: dict[str, tuple[Coercion, ...]] = {}
        self._append(messages)

    def __repr__(self) -> str:
        return f"Conversation({len(self.messages)} messages)"

    def __str__(self) -> str:
        """Return the last 40 messages as a person would write them down, with calls, coercions and waiting calls."""
        return lines_as_text(self._transcript()) or "no messages"

    def _repr_html_(self) -> str:
        return lines_as_html(self._transcript())

    def __rich__(self) -> Any:
        """Return the transcript for rich."""
        return lines_as_rich(self._transcript())

    def _transcript(self) -> list[Line]:
        with self._lock:
            messages, hidden = self.messages, set(self._hidden)
            coercions, turn, stored = dict(self._coercions), self._open, self._stored_turn
        lines = transcript(messages, self.tools, hidden, coercions)
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
        return self._restored, (self.tools, self.messages, self._stored_state())

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages so far, including the existing results of an open turn."""
        with self._lock:
            result_message = None if self._open is None else answered_message(self._open)
            return (
                *self._messages,
                *(
                    ()
                    if result_message is None
                    else (_with_path(result_message, len(self._messages)),)
                ),
            )

    def _append(self, messages: Iterable[Message]) -> None:
        for message in messages:
            raw_message: Any = message
            if not isinstance(raw_message, Message):
                raise UsageError(
                    "messages must be Message records: use read(messages, provider) for stored messages"
                )
            self._messages.append(_with_path(raw_message, len(self._messages)))

    def system(self, text: str) -> None:
        """Append a system prompt. Each request puts the prompt where the provider expects it.

        Raises:
            UsageError: The turn is open.
        """
        self._refuse_open("system")
        self._append([Message(role="system", parts=(TextPart(text=text),))])

    def user(self, *content: str | Text | Image | File) -> None:
        """Append a user message with text, images and files.

        Raises:
            UsageError: There is no content, the content has another type, or the turn is open.
        """
        if not content:
            raise UsageError("a user message needs content: text, an image or a file")
        self._refuse_open("user")
        self._append([Message(role="user", parts=tuple(_make_part(item) for item in content))])

    def read(self, messages: Any, provider: AnyProvider, *, model: str | None = None) -> None:
        """Append stored messages of a provider.

        Args:
            messages: The messages, or a whole request with its system prompt: dicts, SDK objects or JSON text.
            provider: The provider of the messages.
            model: The model that wrote the messages. Signatures and reasoning are sent only to this model.

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
            UsageError: The value is not ``Results``, the results were appended before, or another turn is open.
        """
        raw_results: Any = results
        if not isinstance(raw_results, Results):
            raise UsageError(
                f"+= takes Results, such as plan.results, not {type(raw_results).__name__}"
            )
        if self._open is None or self._open.results is not results:
            if id(results) in self._added:
                raise UsageError(
                    "these results are already in the conversation: dispatch, or an earlier +=, appended them"
                )
            self._begin_turn("+=", results, self._messages_of_response(results, None))
        self._close_if_done()
        return self

    def _begin_turn(self, what: str, results: Results, said: "_Said") -> tuple[int, int]:
        """Append the messages of a response and open its turn; return the previous counts of messages and turns.

        Raises:
            UsageError: A turn is open: another thread may have opened it while this response was read.
        """
        # The same response may be delivered twice. The ledger finds a call by the number of its turn, so a response
        # equal to the last response keeps that number, and its calls do not run again. This needs ids from the
        # provider: with generated ids, two equal responses may be different responses. The messages are not appended
        # if the conversation already ends with them: after ``read``, the calls at the end wait for their results.
        with self._lock:
            self._refuse_open(what)
            wire_messages, previous_counts = said.given, (len(self._messages), self._turns)
            is_redelivered = wire_messages == _last_raw_response(self._messages) and not any(
                map(has_made_up_id, results.calls)
            )
            if not (is_redelivered and len(results)):
                self._turns += 1
            ends_with_response = (
                bool(wire_messages)
                and [message.raw for message in self._messages[-len(wire_messages) :]]
                == wire_messages
            )
            if not ends_with_response:
                self._append(said.messages)
                if results.output is not None and self._asks_for_secrets():
                    self._hidden.update(range(previous_counts[0], len(self._messages)))
            self._open = OpenTurn(results=results, number=self._turns)
            return previous_counts

    def _asks_for_secrets(self) -> bool:
        beside = None if self._asked is None else bound_tools_of(self._asked[0]).beside
        return beside is not None and beside.has_secrets

    def _close_if_done(self) -> None:
        """Close the open turn if none of its calls runs or waits: append its results.

        This method never raises, so no result of a call that ran is lost.
        """
        with self._lock:
            turn = self._open
            if turn is None or self._runs or is_open(turn):
                return
            if len(turn.results):
                self._append([Message(role="tool", parts=tuple(map(result_part_of, turn.results)))])
            answer = turn.results.output
            if answer is not None and answer.feedback:
                self._append([Message(role="user", parts=(TextPart(text=str(answer.error)),))])
            self._added[id(turn.results)] = turn.results
            self._coercions |= {
                result.id: result.coercions for result in turn.results if result.coercions
            }
            self._open = None

    def _waiting_calls(self) -> list[str]:
        """Return the names and ids of the calls that have no result yet."""
        self._close_if_done()  # the caller may have run the plan of these results outside of this class
        if self._stored_turn is not None:
            return stored_waiting_calls(self._stored_turn)
        return [] if self._open is None else waiting_calls(self._open)

    def _refuse_open(self, what: str) -> None:
        """Check that no turn is open.

        Raises:
            UsageError: A turn is open; the message starts with ``what``, the rejected operation.
        """
        if waiting := self._waiting_calls():
            raise UsageError(f"{what}: {refusal_message(waiting)}")
        self._denied = None

    def _current_turn(self, context: Any = None) -> OpenTurn:
        """Return the open turn. In a restored conversation, the first access rebuilds the turn from its stored form.

        Args:
            context: What validators of arguments read when the turn is rebuilt.

        Raises:
            UsageError: No turn is open, or the messages do not contain the waiting calls in their original form.
        """
        with self._lock:
            stored_turn = self._stored_turn
            if stored_turn is not None:
                bound = self.tools.bind(get(stored_turn["provider"]), stored_turn["strict"])
                self._open = restore_turn(stored_turn, self._turns, bound, self._messages, context)
                self._forget_stored()
            if self._open is None:
                raise UsageError("no call of this conversation is waiting: the turn is not open")
            return self._open

    def _forget_stored(self) -> None:
        """Drop the stored turn and the message with its results: from now on the open turn holds these results."""
        self._stored_turn = None
        if self._messages[-1].role == "tool":
            self._messages.pop()

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls of the open turn that wait for approval, in call order; empty if no turn is open.

        Raises:
            UsageError: The conversation was restored, and its messages do not contain the calls in their original form.
        """
        return self._current_turn().results.pending if self._waiting_calls() else ()

    def approve(self, call: Call | PendingCall | str | Iterable[Call | PendingCall | str]) -> None:
        """Approve calls of the open turn, as ``Plan.approve`` does; ``run`` runs them.

        Raises:
            UsageError: No turn is open, or ``Plan.approve`` rejects a call.
        """
        Plan(self._current_turn().results).approve(call)

    def deny(
        self, call: Call | PendingCall | str | Iterable[Call | PendingCall | str], why: str = ""
    ) -> None:
        """Deny calls of the open turn, as ``Plan.deny`` does. If no other call waits, the turn is closed.

        ``run`` with a ledger records the denials, so the calls do not run if the response is delivered again.

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
        """Run the calls of the open turn that may run. If no call waits after that, the turn is closed.

        Args:
            context: What validators of arguments read as ``info.context``, if the conversation was restored: its calls
                are then validated again.
            **options: How to run the calls; as for ``Registry.dispatch``.

        Returns:
            The results of the turn, even if ``deny`` has closed it by denying the last waiting call.

        Raises:
            UsageError: No turn is open; or ``Plan.run`` raises this error; or the turn was restored, a call may have
                run meanwhile, and there is no ledger. No call ran.
        """
        refuse_unknown(options)
        if (
            self._denied is not None
        ):  # the last waiting call was denied: nothing runs, but a ledger records the denial
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

        Another thread may check in the meantime whether the turn can be closed, so runs are counted.
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
        """Return the options for a run; with a ledger but no ``scope=``, the scope names the conversation and the turn.

        Raises:
            UsageError: The turn was restored, one of its calls may have run meanwhile, and there is no ledger.
        """
        if options.get("ledger") is None:
            check_guarded(turn)
            return options
        if options.get("scope") is not None:
            return options
        return {**options, "scope": self._scope(turn)}

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
        """Return the open turn as a token, for ``resume`` in this or another process; see ``Plan.pause``.

        Also store the conversation with ``to_json``: the token holds the calls and their decisions, but not the
        earlier messages.

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
        """Resume the paused turn: apply the decisions, and run the calls. If no call waits after that, close the turn.

        Args:
            token: The token from ``pause``.
            key: The key that signed the token.
            decisions: The decisions by call id, as for ``Registry.resume``.
            audience: The audience that the token was made for.
            ledger: The ledger, as for ``Registry.resume``.
            **options: ``inject``, ``limit``, ``on_progress`` and ``context``, as for ``Registry.resume``.

        Raises:
            UsageError: The token holds the calls of another turn, or ``Registry.resume`` raises this error.
            TokenError: As for ``Registry.resume``.
            CallError: As for ``Registry.resume``.
        """
        self._refuse_other_token(token)
        results = self.tools.resume(
            token, key, decisions, audience=audience, ledger=ledger, **options
        )
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
        """Like ``resume``, for a running event loop."""
        self._refuse_other_token(token)
        results = await self.tools.aresume(
            token, key, decisions, audience=audience, ledger=ledger, **options
        )
        self._adopt(results)
        return results

    def _refuse_other_token(self, token: Any) -> None:
        """Check that a token holds the calls of the open turn. Its signature is verified later, by ``resume``.

        Raises:
            UsageError: The token holds the calls of another turn, or no turn is open.
        """
        stored_turn = self._stored_turn
        if stored_turn is not None:
            open_ids = [call["id"] for call in stored_turn["calls"]]
        else:
            open_ids = [call.id for call in self._current_turn().results.calls]
        try:
            token_ids = [call["id"] for call in json.loads(token)["calls"]]
        except (TypeError, ValueError, KeyError, RecursionError):
            return  # not a token: ``resume`` raises an error that explains why
        if token_ids != open_ids:
            raise UsageError(
                "the calls in this token are not the calls that wait in this conversation: pass the token that pause() "
                "returned for this conversation"
            )

    def _adopt(self, results: Results) -> None:
        """Make the results of the resumed plan the open turn, and close it if no call waits."""
        with self._lock:
            if self._stored_turn is not None:
                self._forget_stored()
            self._open = OpenTurn(results=results, number=self._turns)
            self._close_if_done()

    def _messages_of_response(self, results: Results, model: str | None) -> "_Said":
        """Read the messages of a response, with the calls as ``dispatch`` runs them."""
        provider = results.provider
        bound = self._bound_of(provider)
        if (
            self._asked is not None
            and self._asked[0].provider is provider
            and self._asked[1] is not None
        ):
            model = self._asked[
                1
            ]  # the requested name, which may be an alias for the version that the response names
        wire_messages, origin = (
            list(make_sendable(results.assistant)),
            Origin(provider=provider.name, model=model, fingerprint=bound.fingerprint),
        )
        read_messages = response_messages(
            provider, wire_messages, results.calls, results.finish, origin, self._messages
        )
        if read_messages and (usage := results.usage) is not None:
            read_messages[-1] = replace(read_messages[-1], usage=usage)
        return _Said(wire_messages, read_messages)

    def _bound_of(self, provider: Provider) -> Bound:
        """Return the bound tools of the last request if it went to this provider; otherwise, bind the tools."""
        if self._asked is not None and self._asked[0].provider is provider:
            return self._asked[0]
        return self.tools.bind(provider)

    def _bound_for(self, response: Any, provider: AnyProvider | None) -> Bound:
        if provider is not None:
            return self._bound_of(get(provider))
        if response is None and self._asked is not None:
            return self._asked[0]
        for bound in reversed(self._sent.values()):  # prefer the provider of the latest request
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
        output: "Output[Any] | Any" = None,
        repairs: Mapping[str, bool] | bool | None = None,
        **keywords: Any,
    ) -> JsonObject:
        """Return all keyword arguments for the SDK's next call: messages, tools, system prompt, model and ``keywords``.

        You can change the lists in the request, but not the messages in them: later requests share the messages.

        Args:
            provider: The provider that the request is for.
            model: The model. It is part of the request, and decides which repair rules apply.
            choice: The tools that the model may or must call, as for ``Bound.request``.
            parallel: Whether one response may hold several calls.
            strict: Whether the provider must constrain arguments to the schema, as for ``Registry.bind``.
            native: The provider's own tools. They are sent in addition to the tools of this conversation, and count
                toward the same limits.
            output: The type of the answer, as for ``Registry.bind``. The results of the response hold the answer. If
                the answer is invalid, the conversation appends a message that tells the model what to correct.
            repairs: Repair rules to switch off, for example ``{"blank_text": False}``.
            **keywords: Further arguments of the SDK's call, for example ``max_tokens=1024``. A dict, or Gemini's
                ``config``, is merged with the conversation's own value.

        Raises:
            HistoryError: The conversation cannot be sent, for example because a call waits for approval
                or has no result yet.
            ExportError: As for ``Bound.request``.
            UsageError: The provider has no message histories, a repair rule is unknown, or ``keywords`` has
                a key that the conversation sets itself.
        """
        if waiting := self._waiting_calls():
            problems = problems_of(waiting, f"messages[{len(self._messages) - 1}]")
            raise HistoryError(provider=get(provider).name, problems=problems)
        request = self.tools.request(
            provider,
            choice=choice,
            parallel=parallel,
            model=model,
            strict=strict,
            native=native,
            output=output,
        )
        bound = self.tools.bind(provider, strict, output=output)
        histories = histories_of(bound.provider)
        with self._lock:
            converted = self._conversion(bound, model, repairs).of(self._messages)
            self.repairs = tuple(converted.repairs)
        problems = list(converted.problems)
        has_tools = bool(request) and not _is_only_output(request, bound)
        missing_tools = (
            None
            if has_tools or "tools_missing" in switched_off_repairs(repairs)
            else tools_missing(histories, model)
        )
        if missing_tools is not None and any(map(calls_in, self._messages)):
            problems.append(missing_tools)
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
        self._asked = bound, model
        self._sent = {
            **{
                name: sent_bound
                for name, sent_bound in self._sent.items()
                if name != bound.provider.name
            },
            bound.provider.name: bound,
        }
        body: JsonObject = {} if model is None else {histories.model_key: model}
        if converted.system and histories.system is not None:
            body.update(histories.system(converted.system))
        body[histories.key] = list(converted.messages)
        return _merge(
            _merge(body, request), {key: to_plain_json(value) for key, value in keywords.items()}
        )

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
        """Return a collector for a streamed response. When the stream is over, pass the collector to ``dispatch``.

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
        return self._bound_for(None, provider).collector(context=context)

    def plan(
        self, response: Any = None, *, provider: AnyProvider | None = None, context: Any = None
    ) -> Plan:
        """Read and validate the calls of a response without running them.

        ``conversation += plan.results`` then appends the response and its results.

        Args:
            response: The response, as for ``dispatch``. Without a response, the plan has the calls of the open
                turn, or the calls at the end of the conversation that have no results yet.
            provider: The provider of the response, as for ``dispatch``.
            context: What validators of arguments read as ``info.context``; it is never stored.

        Raises:
            ResponseError: The response is not in the provider's format.
            UsageError: A response is given, but the turn is open.
        """
        if response is None and self._waiting_calls():
            return Plan(self._current_turn(context).results)
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
        """Return the body of a response; a string is not parsed if the provider's responses are plain text."""
        last_provider = None if self._asked is None else self._asked[0].provider
        resolved_provider = last_provider if provider is None else get(provider)
        return body_of(response, *([] if resolved_provider is None else [resolved_provider]))

    def _plan_waiting_calls(self, context: Any) -> tuple[Plan, str | None]:
        """Return the plan of the last messages, whose calls have no results yet, and the model that wrote the messages.

        Raises:
            UsageError: The conversation does not end with unanswered calls in a provider's own message.
        """
        last_messages = [
            *takewhile(
                lambda message: message.role == "assistant" and message.raw is not None,
                reversed(self._messages),
            )
        ][::-1]
        origin = last_messages[-1].origin if last_messages else None
        if origin is None or not any(map(calls_in, last_messages)):
            raise UsageError("no call is waiting for its result: pass the response")
        bound = self._bound_of(get(origin.provider))
        is_items = histories_of(bound.provider).is_items
        raw = [message.raw for message in last_messages] if is_items else last_messages[-1].raw
        return bound.plan(raw, context=context), origin.model

    def dispatch(
        self,
        response: Any = None,
        *,
        provider: AnyProvider | None = None,
        context: Any = None,
        **options: "Unpack[RunOptions]",
    ) -> Results:
        """Run every call in a response, and append the response and the results, even if calls fail.

        If a call waits for approval, the turn stays open: see ``pending``.

        Args:
            response: The response to a request: SDK object, dict, JSON text or bytes, or a ``Collector``. Without a
                response, run the calls at the end of the conversation that have no results yet.
            provider: The provider of the response, if this conversation made no request to that provider.
            context: What validators of arguments read as ``info.context``; it is never stored.
            **options: How to run the calls; as for ``Registry.dispatch``.

        Raises:
            ResponseError: The response is not in the provider's format. Nothing was appended.
            UsageError: As for ``Plan.run``, or a response is given but the turn is open. No call ran, and nothing was
                appended.
        """
        refuse_unknown(options)
        if response is None and self._waiting_calls():
            return self.run(context=context, **options)
        results, previous_counts = self._append_response(response, provider, context)
        try:
            return self.run(**options)
        except UsageError:
            self._take_back(results, *previous_counts)
            raise

    async def adispatch(
        self,
        response: Any = None,
        *,
        provider: AnyProvider | None = None,
        context: Any = None,
        **options: "Unpack[RunOptions]",
    ) -> Results:
        """Like ``dispatch``, for a running event loop. If the dispatch is cancelled, existing results are appended."""
        refuse_unknown(options)
        if response is None and self._waiting_calls():
            return await self.arun(context=context, **options)
        results, previous_counts = self._append_response(response, provider, context)
        try:
            return await self.arun(**options)
        except UsageError:
            self._take_back(results, *previous_counts)
            raise

    def _append_response(
        self, response: Any, provider: AnyProvider | None, context: Any
    ) -> tuple[Results, tuple[int, int]]:
        """Read a response and append it before a call runs.

        Reading can fail. If the response were read after the run, a failure would lose the results of calls that ran.
        """
        self._refuse_open("dispatch")
        plan, model = self._plan_response(response, provider, context)
        return plan.results, self._begin_turn(
            "dispatch", plan.results, self._messages_of_response(plan.results, model)
        )

    def _take_back(self, results: Results, messages: int, turns: int) -> None:
        """Undo ``_begin_turn`` because no call could run: the caller can dispatch the same response again."""
        with self._lock:
            self._open, self._turns = None, turns
            self._added.pop(id(results), None)
            del self._messages[messages:]
            self._hidden = {position for position in self._hidden if position < messages}

    def trimmed(self, keep: int) -> "Conversation":
        """Return a new conversation with the last turns and all system prompts of this conversation.

        Args:
            keep: The number of turns. A turn starts with a user message and ends before the next turn.

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
        conversation._asked = self._asked
        conversation._hidden = {
            new_position
            for new_position, position in enumerate(kept_positions)
            if position in self._hidden
        }
        return conversation

    def to_json(self, *, secrets: bool = False) -> str:
        """Return the conversation as JSON text, with raw messages, values of results, images and files.

        For an open turn, the text has the waiting calls and the existing results, but no decisions, because
        the text is not signed. A call that was approved but did not run is pending again after ``from_json``.

        Secret arguments (``SecretStr``, ``writeOnly``) are written as ``[hidden]``, and the provider's own form of a
        message with such a call is left out. An answer whose type has secrets is hidden entirely. If any tool takes
        secrets, the arguments of calls to unknown tools are left out. To resume a waiting call with secrets, use a
        token and a ledger.

        A lone surrogate is written as an escape, because files and databases reject it.

        Args:
            secrets: Whether to write secret arguments without hiding them.

        Raises:
            UsageError: A message holds a value that JSON cannot hold, such as a date, or is nested too deeply.
        """
        try:
            visible_messages = (
                self.messages
                if secrets
                else tuple(
                    map(self._hide_message_secrets, range(len(self.messages)), self.messages)
                )
            )
            messages = [message_to_json(message) for message in visible_messages]
            body = {"version": _VERSION, "messages": messages, **self._stored_state()}
            text = json.dumps(body, ensure_ascii=False, allow_nan=False)
            return text.encode(errors="backslashreplace").decode()
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"a message cannot be written as JSON: {error}") from error

    def _hide_message_secrets(self, position: int, message: Message) -> Message:
        return (
            _hide_answer(message)
            if position in self._hidden
            else _hide_secrets(message, self.tools)
        )

    def _stored_state(self) -> JsonObject:
        """Return the state that is stored in addition to the messages: id, number of turns, and open turn."""
        with self._lock:
            self._close_if_done()
            stored_turn = self._stored_turn
            if self._open is not None:
                stored_turn = turn_to_json(self._open)
            hidden_positions = {"hidden": sorted(self._hidden)} if self._hidden else {}
            return {
                "id": self.id,
                "turns": self._turns,
                **hidden_positions,
                **({} if stored_turn is None else {"open": stored_turn}),
            }

    @classmethod
    def _restored(
        cls, tools: Registry | None, messages: Iterable[Message], about: JsonObject
    ) -> "Self":
        """Rebuild a conversation from stored messages and the state that ``_stored_state`` returned."""
        conversation = cls(tools, messages)
        conversation.id, conversation._turns = (
            str(about.get("id", conversation.id)),
            int(about.get("turns", 0)),
        )
        conversation._hidden = set(about.get("hidden", ()))
        stored_turn = about.get("open")
        if stored_turn is not None and stored_waiting_calls(
            stored_turn
        ):  # otherwise the last call ended during ``to_json``
            conversation._stored_turn = stored_turn
        return conversation

    @classmethod
    def from_json(
        cls, given: str | bytes | JsonObject, tools: Registry | None = None
    ) -> "Conversation":
        """Return the conversation that ``to_json`` wrote.

        Args:
            given: The JSON text, or its parsed object.
            tools: The tools that models can call.

        Raises:
            UsageError: The value is not a conversation, or has an unknown version.
        """
        try:
            body: Any = json.loads(given) if isinstance(given, (str, bytes)) else given
        except (ValueError, RecursionError) as error:
            raise UsageError(f"not a conversation: the text is not JSON ({error})") from error
        if (
            not isinstance(body, dict)
            or body.get("version") != _VERSION
            or not isinstance(body.get("messages"), list)
        ):
            raise UsageError(
                f"not a conversation of version {_VERSION}: pass the output of to_json"
            )
        try:
            return cls._restored(
                tools, [message_from_json(message) for message in body["messages"]], body
            )
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(
                f"the conversation has a message that cannot be read: {error!r}"
            ) from error


def _hide_answer(message: Message) -> Message:
    """Return a message with its answer hidden; the answer is text or the arguments of a call."""
    parts: list[MessagePart] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            parts.append(TextPart(text=MASKED))
        elif isinstance(part, ToolCallPart):
            parts.append(replace(part, arguments=None, arguments_raw={}, raw=None))
        else:
            parts.append(part)
    return with_parts(message, parts)


def _hide_secrets(message: Message, tools: Registry) -> Message:
    """Return a message without secrets. If a call may hold a secret, the raw form of the message is dropped."""
    parts = tuple(
        _hide_arguments(part, tools) if isinstance(part, ToolCallPart) else part
        for part in message.parts
    )
    return with_parts(message, parts)


def _hide_arguments(part: ToolCallPart, tools: Registry) -> ToolCallPart:
    if part.name is None or part.name not in tools:  # the model may have meant any of the tools
        if not any(record_of(tool).secrets.are_there for tool in tools):
            return part
        return replace(part, arguments=None, arguments_raw={}, raw=None)
    secrets = record_of(tools[part.name]).secrets
    if not secrets.are_there:
        return part
    masked = None if part.arguments is None else secrets.masked(part.arguments)
    return replace(part, arguments=masked, arguments_raw=masked or {}, raw=None)


def _with_path(message: Message, position: int) -> Message:
    return replace(message, path=f"messages[{position}]")


def _last_raw_response(messages: Sequence[Message]) -> list[Any]:
    """Return the raw messages of the assistant's last response; tool results may follow them."""
    end = len(messages)
    while end and messages[end - 1].role == "tool":
        end -= 1
    start = end
    while start and messages[start - 1].role == "assistant":
        start -= 1
    return [message.raw for message in messages[start:end]]


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


def _is_only_output(request: JsonObject, bound: Bound) -> bool:
    beside = bound_tools_of(bound).beside
    return beside is not None and request == beside.keywords


def _merge(first: JsonObject, second: JsonObject, path: str = "") -> JsonObject:
    """Merge two objects of keyword arguments, including nested objects.

    Raises:
        UsageError: Both objects have a value for the same key.
    """
    merged = dict(first)
    spellings = {
        key.replace("_", "").lower(): key for key in merged
    }  # Gemini's SDK takes snake_case and camelCase
    for name, value in second.items():
        key = spellings.get(name.replace("_", "").lower(), name)
        if key not in merged:
            merged[key] = value
        elif isinstance(merged[key], dict) and isinstance(value, dict):
            merged[key] = _merge(merged[key], value, f"{path}{key}.")
        elif value is not None:
            way_out = (
                "pass native= for the provider's own tools" if key == "tools" else "leave it out"
            )
            raise UsageError(f"{path}{name}= is set by the conversation: {way_out}")
    return merged

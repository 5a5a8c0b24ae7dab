"""``Conversation``: what was said so far, by whomever, and the request that goes on with it at any provider."""

import json
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from toolshape._bound import Bound, bound_tools_of
from toolshape._calls import JsonObject
from toolshape._dispatch.collector import Collector
from toolshape._dispatch.messages import conversion_to, read_messages, response_messages, switched_off
from toolshape._dispatch.outbound import histories_of, result_part_of
from toolshape._dispatch.plan import Plan
from toolshape._dispatch.run_options import RunOptions, refuse_unknown
from toolshape._errors import HistoryError, Problem, UsageError
from toolshape._families import family_of, get, recognised
from toolshape._history.conversion import Conversion
from toolshape._history.order import begins_turn
from toolshape._history.repair import tools_missing
from toolshape._message_json import message_from_json, message_to_json
from toolshape._parts import File, Image, Text
from toolshape._registry import Registry
from toolshape._results import Results, sendable
from toolshape._wire.bodies import model_of, parsed_body, plain
from toolshape._wire.provider import AnyProvider, Provider, Strictness
from toolshape.messages import MediaPart, Message, MessagePart, Origin, Repair, TextPart, calls_in

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
    """

    __slots__ = ("_added", "_asked", "_conversions", "_lock", "_messages", "_sent", "repairs", "tools")

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
        self._append(messages)

    def __repr__(self) -> str:
        return f"Conversation({len(self._messages)} messages)"

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(tuple(self._messages))

    def __reduce__(self) -> Any:
        return Conversation, (self.tools, tuple(self._messages))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages so far."""
        return tuple(self._messages)

    def _append(self, messages: Iterable[Message]) -> None:
        for message in messages:
            given: Any = message
            if not isinstance(given, Message):
                raise UsageError("a message is a record: read stored ones with read(messages, provider)")
            self._messages.append(replace(given, path=f"messages[{len(self._messages)}]"))

    def system(self, text: str) -> None:
        """Append a system prompt; each provider is sent it where it wants it."""
        self._append([Message(role="system", parts=(TextPart(text=text),))])

    def user(self, *content: str | Text | Image | File) -> None:
        """Append a message of the user: texts, images and files.

        Raises:
            UsageError: There is no content, or it is of another type.
        """
        if not content:
            raise UsageError("a message of the user needs content: a text, an image or a file")
        self._append([Message(role="user", parts=tuple(_part_of(one) for one in content))])

    def read(self, messages: Any, provider: AnyProvider, *, model: str | None = None) -> None:
        """Append stored messages of a provider.

        Args:
            messages: Its messages, or a request that holds them with its system prompt: dicts, SDK objects, JSON text.
            provider: Whose they are.
            model: The model that wrote them, for which alone signatures and reasoning are kept.

        Raises:
            ResponseError: They are no messages of this provider; nothing was appended.
            UsageError: The provider has no histories.
        """
        bound = self.tools.bind(provider)
        handlers = bound_tools_of(bound).handlers
        found = read_messages(bound.provider, handlers, messages, model, None, bound.fingerprint, self._messages)
        self._append(found)

    def __iadd__(self, results: Results) -> "Self":
        """Append the response that these results answer, and the results."""
        given: Any = results
        if not isinstance(given, Results):
            raise UsageError(f"results are appended, as plan.results, not {type(given).__name__}")
        if results.pending:
            results.messages  # noqa: B018 - raises
        if id(results) in self._added:
            raise UsageError("these results are in the conversation already: dispatch appends them")
        self._add(results, self._said(results, None))
        return self

    def _add(self, results: Results, said: "_Said") -> None:
        """Append a response and its results. Whatever has run is kept: nothing here raises."""
        if results.pending:
            return
        with self._lock:
            given = said.given
            is_here = bool(given) and [one.raw for one in self._messages[-len(given) :]] == given
            if not is_here:  # else its calls have waited for their results
                self._append(said.messages)
            if len(results):
                self._append([Message(role="tool", parts=tuple(result_part_of(one) for one in results))])
            self._added[id(results)] = results

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
            HistoryError: The conversation cannot be sent as it is: calls wait for their results, say.
            ExportError: As for ``Bound.request``.
            UsageError: The provider has no histories, there is no such repair, or a keyword is one that is made here.
        """
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
        """Read a response, or what a collector has collected, and run nothing; append its ``results`` once they are there.

        Raises:
            ResponseError: It is not a response of the provider's family.
        """
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

        Where a call waits for approval, nothing is appended: append the results, by ``+=``, once its plan has run.

        Raises:
            ResponseError: It is not a response of the provider's family; nothing was appended.
            UsageError: As for ``Plan.run``; nothing was run or appended.
        """
        refuse_unknown(options)
        plan, model = self._read(response, provider)
        # Before anything runs: what has run must not be lost to what cannot be read.
        said = self._said(plan.results, model)
        try:
            results = plan.run(**options)
        except UsageError:
            raise
        except BaseException:
            self._add(plan.results, said)
            raise
        self._add(results, said)
        return results

    async def adispatch(
        self,
        response: Any = None,
        *,
        provider: AnyProvider | None = None,
        **options: "Unpack[RunOptions]",
    ) -> Results:
        """The same from a running loop; where it is cancelled, what there is of results is appended all the same."""
        refuse_unknown(options)
        plan, model = self._read(response, provider)
        # Before anything runs: what has run must not be lost to what cannot be read.
        said = self._said(plan.results, model)
        try:
            results = await plan.arun(**options)
        except UsageError:
            raise
        except BaseException:
            self._add(plan.results, said)
            raise
        self._add(results, said)
        return results

    def trimmed(self, keep: int) -> "Conversation":
        """A conversation of the last turns of this one, with its system prompts.

        Args:
            keep: How many turns; each begins with a message of the user and ends before the next.

        Raises:
            UsageError: ``keep`` is not a number from 1 on.
        """
        if not (type(keep) is int and keep > 0):
            raise UsageError(f"keep= is how many turns are kept, 1 or more, not {keep!r}")
        begins = [at for at, message in enumerate(self._messages) if begins_turn(message)]
        start = begins[-keep] if len(begins) >= keep else 0
        kept = [one for at, one in enumerate(self._messages) if at >= start or one.role == "system"]
        made = Conversation(self.tools, kept)
        made._asked = self._asked
        return made

    def to_json(self) -> str:
        """The conversation as JSON text: what was read as it came, results with their values, images and files.

        Half of a surrogate pair, which no file or database takes, is written as its escape.

        Raises:
            UsageError: A message that was read holds what JSON has no form for, as a date, or is nested too deep.
        """
        try:
            messages = [message_to_json(message) for message in self._messages]
            text = json.dumps({"version": _VERSION, "messages": messages}, ensure_ascii=False, allow_nan=False)
            return text.encode(errors="backslashreplace").decode()
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"a message that was read holds what JSON has no form for: {error}") from error

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
            return cls(tools, [message_from_json(one) for one in body["messages"]])
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"a conversation with a message that cannot be read: {error!r}") from error


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

"""Plays a provider: answers as scripted, and refuses what the provider would refuse."""

import random
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolshape._bound.registry import Registry
from toolshape._families import get, with_text_format
from toolshape._families.wire.provider import AnyProvider
from toolshape._families.wire.server import Refusal, RequestRead
from toolshape._records.calls import JsonObject
from toolshape._records.errors import UsageError
from toolshape._tools.tool import Tool
from toolshape.testing._fake import answers
from toolshape.testing._fake.exchange import Exchange, Reply
from toolshape.testing._fake.refusals import Refused, faults, refuse
from toolshape.testing._fake.server import HttpServer
from toolshape.testing._fake.shown import Form, forms_of
from toolshape.testing._fake.speaker import environment, server_of
from toolshape.testing._fake.turn import Cut, Turn, copy_with_tools
from toolshape.testing._mistakes import SlipKind

if TYPE_CHECKING:
    from typing_extensions import Self

import importlib
import itertools
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from toolshape._families.wire.provider import Provider
from toolshape._families.wire.server import Framing
from toolshape.testing._fake.server import Handle

_NOT_FOUND = 404
_VERSION = re.compile(r"\bv\d\w*")


class ReceivedRequest(NamedTuple):
    """A request to the fake, parsed.

    ``body`` includes the model, even if only the path named the model. ``framing`` is ``None`` if
    the request does not ask for a stream. If the HTTP request is invalid, ``refusal`` is the error
    to send.
    """

    path: str
    body: JsonObject
    model: str | None = None
    framing: Framing | None = None
    refusal: Refusal | None = None


def parse_request(provider: Provider, method: str, target: str, raw: bytes) -> ReceivedRequest:
    """Parse an HTTP request to a fake.

    Args:
        provider: The provider that the fake plays.
        method: The HTTP method.
        target: The path and the query.
        raw: The body as received, in bytes.
    """
    # Providers say in different places which model is meant and whether the answer is streamed: in
    # the path, in the query or in the body. A wrong address is refused before the body is read.
    endpoint, histories = server_of(provider).endpoint, provider.histories
    parts = urlsplit(target)
    match = re.fullmatch(endpoint.path, parts.path)
    if method != "POST" or match is None or not _is_address(provider, parts.path):
        return ReceivedRequest(
            parts.path, {}, refusal=Refusal(_NOT_FOUND, f"there is no {method} {parts.path} here")
        )
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return ReceivedRequest(
            parts.path, {}, refusal=Refusal(_BAD_REQUEST, f"the body is not JSON: {error}")
        )
    if not isinstance(body, dict):
        return ReceivedRequest(
            parts.path, {}, refusal=Refusal(_BAD_REQUEST, "the body is not a JSON object")
        )
    groups = match.groupdict()
    key = "model" if histories is None else histories.model_key
    if groups.get("model"):
        body.setdefault(key, unquote(groups["model"]))
    # A client may write null for what it leaves out.
    asked = body.get("stream")
    is_streamed = endpoint.streams if asked is None else bool(asked)
    if endpoint.streaming_verb:
        is_streamed = groups["verb"] == endpoint.streaming_verb
    query_pairs = [f"{name}={value}" for name, value in parse_qsl(parts.query)]
    framing: Framing = endpoint.framing
    if endpoint.sse_query and endpoint.sse_query not in query_pairs:
        framing = "json-array"
    model = body.get(key)
    if not isinstance(model, str):
        model = None
    return ReceivedRequest(parts.path, body, model, framing if is_streamed else None)


def _is_address(provider: Provider, path: str) -> bool:
    """Whether a path has the version that the provider's address has, once, and
    repeats no part of the address.

    A client whose ``base_url`` is wrong by a segment asks for ``/v1/v1/messages``, or for
    ``/messages`` alone. Segments in front of the version are a proxy's own.
    """
    segments = path.strip("/").split("/")
    is_doubled = any(one == other for one, other in itertools.pairwise(segments))
    if is_doubled or segments.count(segments[-1]) > 1:
        return False
    versions = list(filter(_VERSION.fullmatch, segments))
    address = server_of(provider).address
    if address is None:
        documented = []
    else:
        documented = _VERSION.findall(urlsplit(address.url).path)
    if not documented:
        return len(versions) <= 1
    served = server_of(provider).endpoint.versions or tuple(documented)
    return len(versions) == 1 and versions[0] in served


def import_library(name: Literal["httpx", "httpx2"]) -> Any:
    """Import an HTTP library.

    Raises:
        UsageError: The library is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"{name} is not installed: install it, or send requests to the fake's url"
        ) from error


def transport(http: Any, handle: Handle, *, is_async: bool) -> Any:
    """Return a transport for an HTTP library.

    It sends every request to a fake, regardless of the address.
    """

    def answer_request(request: Any, raw: bytes) -> tuple[Reply, dict[str, str]]:
        reply = handle(request.method, request.url.raw_path.decode(), raw)
        if reply.drop == "before":
            raise http.RemoteProtocolError(
                "Server disconnected without sending a response.", request=request
            )
        return reply, reply.headers

    def sync_handler(request: Any) -> Any:
        reply, headers = answer_request(request, request.read())
        return http.Response(reply.status, headers=headers, content=_chunks(http, reply))

    async def async_handler(request: Any) -> Any:
        reply, headers = answer_request(request, await request.aread())
        return http.Response(reply.status, headers=headers, content=_async_chunks(http, reply))

    return http.MockTransport(async_handler if is_async else sync_handler)


def _chunks(http: Any, reply: Reply) -> Iterator[bytes]:
    yield from reply.chunks
    if reply.drop:
        raise http.RemoteProtocolError(
            "peer closed connection without sending complete message body"
        )


async def _async_chunks(http: Any, reply: Reply) -> AsyncIterator[bytes]:
    for chunk in _chunks(http, reply):
        yield chunk


Answer: TypeAlias = Callable[[Exchange], "Turn | str"]
"""A function that answers a request. It receives the request as an exchange without a response."""

_BAD_REQUEST = 400


class Fake:
    """Plays a provider on this machine, and enforces the provider's own rules.

    ``calls``, ``invents``, ``says``, ``replays``, ``fails`` and ``cuts`` each add a turn to a
    script. The fake first answers with these turns, in order. After the script, it answers as
    ``generates`` or ``answers`` configure. If a request breaks a cited rule of the provider, the
    fake refuses the request with an error in the provider's format. The first access to ``url`` or
    ``env`` starts a server. ``client`` needs no server.

    Args:
        provider: The provider to play.
        tools: The tools that ``calls`` can find by name: a registry, or tools and functions. You
            can also pass a tool itself to ``calls``.
        strict: Whether to refuse requests with a field that the provider's SDK does not define.
        text: The format in which the model writes calls into its text. The fake leaves the calls in
            the text, like a server without the right parser. Example:
            ``Fake("vllm", text="hermes")``. ``toolshape.text.formats()`` lists the formats.

    Raises:
        ExportError: The provider is unknown, its servers never leave calls in the text, or the text
            format is unknown.
        UsageError: The provider has no ``server``, which a fake needs.
    """

    def __init__(
        self,
        provider: AnyProvider,
        tools: Registry | Iterable[Tool[..., Any] | Callable[..., Any]] | None = None,
        *,
        strict: bool = False,
        text: str | None = None,
    ) -> None:
        self.provider = get(provider)
        if text is not None:
            with_text_format(self.provider, text)  # raises for an unknown format
        self._text_format = text
        self.exchanges: list[Exchange] = []
        self._wire = server_of(self.provider)
        self._is_strict = strict
        if isinstance(tools, Registry):
            registry = tools
        else:
            registry = Registry(tools or ())
        self._tools: dict[str, Tool[..., Any]] = {tool.name: tool for tool in registry}
        self._forms: dict[Tool[..., Any], list[Form]] = {}
        self._script: list[Turn] = []
        self._said = 0
        self._answer: Answer | None = None
        self._chance: random.Random | None = None
        self._misses: list[str] = []
        self._server: HttpServer | None = None
        self._lock = threading.RLock()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Fake({self.provider.name!r}, {len(self.exchanges)} exchanges)"

    def close(self) -> None:
        """Stop the server, if it was started. The recorded exchanges stay."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.stop()

    # --- how clients reach the fake ---------------------------------------------------------------

    @property
    def url(self) -> str:
        """The address of the server, without a path.

        If the server is not running, reading this property starts it.
        """
        with self._lock:
            if self._server is None:
                self._server = HttpServer(self._handle)
            return self._server.url

    @property
    def env(self) -> dict[str, str]:
        """The environment variables that point the provider's SDK at this fake: add
        them to the process environment.

        The SDK mistralai reads no address from the environment: pass ``client()`` to it. The SDK
        cohere reads the variables when you import it.
        """
        return environment(self._wire.endpoint, self.url)

    def transport(
        self, http: Literal["httpx", "httpx2"] | None = None, *, is_async: bool = False
    ) -> Any:
        """Return a transport for an HTTP library that sends requests to this fake without a socket.

        Args:
            http: The library. The default is the library that the provider's SDK uses.
            is_async: Whether the transport is for an async client.

        Raises:
            UsageError: The library is not installed.
        """
        return transport(
            import_library(http or self._wire.endpoint.http), self._handle, is_async=is_async
        )

    def client(self, http: Literal["httpx", "httpx2"] | None = None) -> Any:
        """Return a client that sends its requests to this fake, for SDKs that accept a client.

        For the arguments and errors, see ``transport``.
        """
        return import_library(http or self._wire.endpoint.http).Client(
            transport=self.transport(http)
        )

    def async_client(self, http: Literal["httpx", "httpx2"] | None = None) -> Any:
        """Return an async client that sends its requests to this fake.

        For arguments and errors, see ``transport``.
        """
        return import_library(http or self._wire.endpoint.http).AsyncClient(
            transport=self.transport(http, is_async=True)
        )

    # --- the script -------------------------------------------------------------------------------

    def _add_turn(self, turn: Turn) -> Turn:
        with self._lock:
            self._script.append(turn)
        return turn

    def calls(
        self,
        tool: Tool[..., Any] | str,
        given: Mapping[str, Any] | None = None,
        /,
        *,
        slip: SlipKind | None = None,
        raw: Mapping[str, Any] | str | None = None,
        **arguments: Any,
    ) -> Turn:
        """Script a response that calls a tool. For the arguments and errors, see ``Turn.calls``.

        You can add more calls and text to the returned turn.
        """
        return self._add_turn(Turn(self._tools).calls(tool, given, slip=slip, raw=raw, **arguments))

    def invents(
        self, name: str, given: Mapping[str, Any] | None = None, /, **arguments: Any
    ) -> Turn:
        """Script a call of a tool that does not exist.

        For the arguments and errors, see ``Turn.invents``.
        """
        return self._add_turn(Turn(self._tools).invents(name, given, **arguments))

    def says(self, answer: Any, *, output: Any = None) -> Turn:
        """Script a response with text or with a typed answer.

        For the arguments and errors, see ``Turn.says``.
        """
        return self._add_turn(Turn(self._tools).says(answer, output=output))

    def replays(self, body: JsonObject) -> Turn:
        """Script a recorded response body.

        The fake sends it whole, or as a stream if the request asks for a stream.

        Raises:
            UsageError: The body is not a response of the provider.
        """
        recorded: Any = body
        try:
            is_readable = (
                isinstance(recorded, dict) and self.provider.response.read(recorded) is not None
            )
            list(self._wire.unfold(recorded))
        except Exception as error:  # a recorded body may be anything
            message = (
                f"not a response of {self.provider.name}: it cannot be streamed: "
                f"{type(error).__name__}: {error}"
            )
            raise UsageError(message) from error
        if not is_readable:
            raise UsageError(
                f"not a response of {self.provider.name}: this {type(recorded).__name__} holds "
                "no message or call"
            )
        return self._add_turn(Turn(self._tools).replays(body))

    def cuts(self, how: Cut) -> Turn:
        """Script a text response that breaks off. For the argument ``how``, see ``Turn.cuts``."""
        return self._add_turn(Turn(self._tools).says("This text does not come to its").cuts(how))

    def fails(
        self,
        status: int,
        *,
        retry_after: float | None = None,
        message: str | None = None,
        code: str | None = None,
    ) -> Turn:
        """Script an error. For the arguments and errors, see ``Turn.fails``."""
        return self._add_turn(
            Turn().fails(status, retry_after=retry_after, message=message, code=code)
        )

    def generates(self, *, seed: int = 0) -> None:
        """After the script, generate calls from the schemas in each request.

        The same ``seed`` gives the same calls.
        """
        with self._lock:
            self._chance, self._answer = random.Random(seed), None  # noqa: S311 - must be repeatable

    def answers(self, answer: Answer) -> None:
        """After the script, answer each request with the ``Turn`` or the
        string that a function returns.

        Several threads may call the function at once.
        """
        with self._lock:
            self._chance, self._answer = None, answer

    # --- the record of requests -------------------------------------------------------------------

    @property
    def refused(self) -> list[Refused]:
        """The reasons why the fake refused requests, each with its rule, place and evidence."""
        return [reason for exchange in self.exchanges for reason in exchange.refused]

    def assert_done(self) -> None:
        """Check that the requests used the whole script, and that the
        fake could answer every request.

        Raises:
            AssertionError: A scripted turn was not used, or the fake could not answer a request.
                The message lists the requests and the expected turns.
        """
        __tracebackhide__ = True  # makes pytest point at the line in the test
        with self._lock:
            lines, unused_turns = list(self._misses), self._script[self._said :]
        if unused_turns:
            lines.append(f"never requested: {'; '.join(map(str, unused_turns))}")
            lines += [f"refused: {reason}" for reason in self.refused]
        if lines:
            request_lines = [
                f"  {number}. {exchange} -> {exchange.status}"
                for number, exchange in enumerate(self.exchanges, 1)
            ]
            raise AssertionError(
                "\n".join([*lines, "requests so far:", *(request_lines or ["  nothing"])])
            )

    # --- answering a request ----------------------------------------------------------------------

    def _handle(self, method: str, target: str, raw: bytes) -> Reply:
        asked = parse_request(self.provider, method, target, raw)
        if asked.refusal is not None:
            return self._reply_missed(asked, asked.refusal.message, asked.refusal.status)
        try:
            return self._answer_request(asked)
        except answers.NoAnswerError as error:
            return self._reply_missed(asked, str(error))
        except Exception as error:  # the function passed to ``answers``, or a replayed body, may cause any exception
            return self._reply_missed(
                asked, f"could not build an answer: {type(error).__name__}: {error}"
            )

    def _answer_request(self, asked: ReceivedRequest) -> Reply:
        wire, provider = self._wire, self.provider
        request = wire.read_request(asked.body)
        refusals = [
            refuse(provider, fault)
            for fault in faults(provider, request, asked.model, strict=self._is_strict)
        ]
        if refusals:
            return self._reply_error(asked, refusals[0][0], tuple(reason for _, reason in refusals))
        # Hold the lock while choosing the turn and building its reply. So no other thread gets the
        # same turn, and the turn stays in the script if its reply cannot be built.
        with self._lock:
            is_scripted = self._said < len(self._script)
            if is_scripted:
                turn = self._script[self._said]
            else:
                turn = None
            if turn is None and self._chance is not None:
                tools = self._tools.values()
                turn = answers.generate_turn(provider, request, self._chance, tools, self._forms_of)
            if turn is not None:
                reply, exchange = self._build_reply(asked, request, turn)
                self._said += is_scripted
                self.exchanges.append(exchange)
                return reply
        if self._answer is None:
            raise answers.NoAnswerError("the script has no turn left")
        # Not under the lock: the function may call this fake.
        answer = self._answer(self._exchange(asked, 0, None))
        returned: Any = answer
        if not isinstance(returned, (str, Turn)):
            raise UsageError(
                f"the function passed to answers() must return a Turn or a string, not {returned!r}"
            )
        if isinstance(returned, str):
            turn = Turn().says(returned)
        else:
            turn = copy_with_tools(returned, self._tools)
        reply, exchange = self._build_reply(asked, request, turn)
        self.exchanges.append(exchange)
        return reply

    def _build_reply(
        self, asked: ReceivedRequest, request: RequestRead, turn: Turn
    ) -> tuple[Reply, Exchange]:
        """Return the HTTP reply for a turn, and the exchange to record.

        Raises:
            NoAnswerError: The turn calls a tool that the request did not send.
        """
        if turn.failure is not None:
            reply, body = answers.error_reply(self._wire, turn.failure)
            return reply, self._exchange(asked, reply.status, body)
        model, is_streamed = asked.model or "", asked.framing is not None
        completion = answers.completion_of(
            turn, self.provider, request, model, self._forms_of, is_streamed=is_streamed
        )
        if self._text_format is not None:
            completion = answers.move_calls_to_text(completion, self._text_format)
        if turn.body is None:
            response = self._wire.respond(completion)
        else:
            response = turn.body
        reply = answers.reply_of(self._wire, asked.framing, response, turn)
        return reply, self._exchange(asked, reply.status, response if reply.status else None)

    def _reply_error(
        self,
        asked: ReceivedRequest,
        refusal: Refusal,
        refused: tuple[Refused, ...] = (),
        expected: str = "",
    ) -> Reply:
        reply, response = answers.error_reply(self._wire, refusal)
        exchange = self._exchange(asked, refusal.status, response)
        self.exchanges.append(replace(exchange, refused=refused, expected=expected))
        return reply

    def _exchange(
        self, asked: ReceivedRequest, status: int, response: JsonObject | None
    ) -> Exchange:
        return Exchange(
            provider=self.provider,
            path=asked.path,
            model=asked.model,
            request=asked.body,
            is_streamed=asked.framing is not None,
            status=status,
            response=response,
        )

    def _forms_of(self, tool: Tool[..., Any]) -> list[Form]:
        if tool not in self._forms:
            self._forms[tool] = forms_of(self.provider, tool)
        return self._forms[tool]

    def _reply_missed(self, asked: ReceivedRequest, what: str, status: int = _BAD_REQUEST) -> Reply:
        """Record a request that the fake cannot answer, and reply
        with an error that no SDK retries.
        """
        with self._lock:
            unused_turns = self._script[self._said :]
            if unused_turns:
                expected = str(unused_turns[0])
            else:
                expected = "nothing more"
            reply = self._reply_error(
                asked, Refusal(status, f"toolshape's Fake: {what}"), expected=expected
            )
            self._misses.append(
                f"{what}\n  asked: {self.exchanges[-1]}\n  expected next: {expected}"
            )
        return reply

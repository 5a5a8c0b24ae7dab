"""``Fake``: a provider's wire on this machine, that says what a test scripts and refuses what the provider refuses."""

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolshape.calls import JsonObject
from toolshape.errors import UsageError
from toolshape.providers import get
from toolshape.registry import Registry
from toolshape.testing.fake import answers
from toolshape.testing.fake.endpoints import endpoint_of, environment, library_of
from toolshape.testing.fake.exchange import Exchange, Reply
from toolshape.testing.fake.received import Received, received
from toolshape.testing.fake.refusals import Refused, faults, refused
from toolshape.testing.fake.server import Server
from toolshape.testing.fake.shown import Form, forms_of
from toolshape.testing.fake.transports import library, transport
from toolshape.testing.fake.turn import Cut, Turn
from toolshape.testing.mistakes import SlipKind
from toolshape.tool import Tool
from toolshape.wire.provider import AnyProvider
from toolshape.wire.server import Refusal, RequestRead

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Answer", "Fake"]

Answer: TypeAlias = Callable[[Exchange], "Turn | str"]
"""What answers a request: it is given the request as an exchange that has no response yet."""

_BAD_REQUEST = 400
_MESSAGES = {
    401: "the key is not valid", 403: "this key may not do that", 404: "there is no such model", 408: "it took too long",
    429: "too many requests", 500: "something went wrong", 503: "the service is not available", 529: "overloaded",
}  # fmt: skip


class Fake:
    """A provider's wire on this machine, with the provider's own rules behind it.

    It answers in turn what ``calls``, ``says``, ``replays``, ``fails`` and ``cuts`` script, then what ``generates`` or ``answers`` say;
    and refuses what a cited rule of the provider refuses, in the provider's own form. A server starts when ``url`` or
    ``env`` is first asked for; ``client`` needs none.

    Args:
        provider: Whose wire it speaks.
        tools: The tools whose calls are scripted: a registry, or tools and functions. Tools can also be passed to ``calls``
            themselves.
        strict: Whether a field of a request that the provider's SDK does not know is refused.

    Raises:
        ExportError: There is no such provider.
        UsageError: No fake speaks its wire.
    """

    def __init__(
        self,
        provider: AnyProvider,
        tools: Registry | Iterable[Tool[..., Any] | Callable[..., Any]] | None = None,
        *,
        strict: bool = False,
    ) -> None:
        self.provider = get(provider)
        self.exchanges: list[Exchange] = []
        self._endpoint = endpoint_of(self.provider)
        self._is_strict = strict
        registry = tools if isinstance(tools, Registry) else Registry(tools or ())
        self._tools: dict[str, Tool[..., Any]] = {one.name: one for one in registry}
        self._forms: dict[str, list[Form]] = {}
        self._script: list[Turn] = []
        self._said = 0
        self._answer: Answer | None = None
        self._seed: int | None = None
        self._misses: list[str] = []
        self._server: Server | None = None
        self._numbers = itertools.count()
        self._lock = threading.RLock()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Fake({self.provider.name!r}, {len(self.exchanges)} exchanges)"

    def close(self) -> None:
        """Stop the server, if there is one; what was recorded stays."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    # --- where it is ---------------------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The address of the server, without a path."""
        with self._lock:
            if self._server is None:
                self._server = Server(self._handle)
            return self._server.url

    @property
    def env(self) -> dict[str, str]:
        """The variables by which the provider's SDK asks this fake; mistralai reads no address: pass it ``client()``."""
        return environment(self.provider, self.url)

    def transport(self, http: Literal["httpx", "httpx2"] | None = None, *, is_async: bool = False) -> Any:
        """A transport of an HTTP library that asks this fake without a socket.

        Args:
            http: The library; that of the provider's SDK by default.
            is_async: Whether it is for an async client.

        Raises:
            UsageError: The library is not installed.
        """
        return transport(library(http or library_of(self.provider)), self._handle, is_async=is_async)

    def client(self, http: Literal["httpx", "httpx2"] | None = None) -> Any:
        """A client on such a transport, for SDKs that take one; arguments and errors as for ``transport``."""
        return library(http or library_of(self.provider)).Client(transport=self.transport(http))

    def async_client(self, http: Literal["httpx", "httpx2"] | None = None) -> Any:
        """The same for async SDKs."""
        return library(http or library_of(self.provider)).AsyncClient(transport=self.transport(http, is_async=True))

    # --- what it says --------------------------------------------------------------------------------------------------------------

    def _turn(self, turn: Turn) -> Turn:
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
        **arguments: Any,
    ) -> Turn:
        """Script a response that calls a tool; arguments and errors as for ``Turn.calls``, to which more can be added."""
        return self._turn(Turn(self._tools).calls(tool, given, slip=slip, **arguments))

    def says(self, text: str) -> Turn:
        """Script a response of text."""
        return self._turn(Turn(self._tools).says(text))

    def replays(self, body: JsonObject) -> Turn:
        """Script a response that was recorded, as ``Turn.replays``."""
        return self._turn(Turn(self._tools).replays(body))

    def cuts(self, how: Cut) -> Turn:
        """Script a response that breaks off, as ``Turn.cuts`` says, of a text."""
        return self._turn(Turn(self._tools).says("This text does not come to its").cuts(how))

    def fails(
        self,
        status: int,
        *,
        retry_after: float | None = None,
        message: str | None = None,
        code: str | None = None,
    ) -> None:
        """Script an error in the provider's form.

        Args:
            status: HTTP's.
            retry_after: The seconds after which the provider says to try again.
            message: What it says.
            code: The provider's word for it.

        Raises:
            UsageError: The status is none of an error.
        """
        if not 400 <= status <= 599:  # noqa: PLR2004 - HTTP's
            raise UsageError(f"an error has a status from 400 to 599, not {status}")
        turn = Turn()
        turn.failure = Refusal(status, message or _MESSAGES.get(status, "it failed"), code, None, retry_after)
        self._turn(turn)

    def generates(self, *, seed: int = 0) -> None:
        """After the script, answer with calls made from the schemas that are sent; the same seed makes the same."""
        self._seed, self._answer = seed, None

    def answers(self, answer: Answer) -> None:
        """After the script, answer with what a function makes of each request: a ``Turn``, or a text."""
        self._seed, self._answer = None, answer

    # --- what happened -------------------------------------------------------------------------------------------------------------

    @property
    def refused(self) -> list[Refused]:
        """Why requests were refused, each with its rule, its place and the evidence."""
        return [one for exchange in self.exchanges for one in exchange.refused]

    def assert_done(self) -> None:
        """Raise where the script and the requests do not fit: it says what was asked, and what was expected next.

        Raises:
            AssertionError: Something of the script was never asked for, or something was asked that the script does not say.
        """
        lines = list(self._misses)
        left = self._script[self._said :]
        if left:
            lines.append(f"never asked for: {'; '.join(map(str, left))}")
            lines += [f"refused: {one}" for one in self.refused]
        if lines:
            asked = [f"  {number}. {one} -> {one.status}" for number, one in enumerate(self.exchanges, 1)]
            raise AssertionError("\n".join([*lines, "asked so far:", *(asked or ["  nothing"])]))

    # --- how it answers ------------------------------------------------------------------------------------------------------------

    def _handle(self, method: str, target: str, raw: bytes) -> Reply:
        asked = received(self.provider, self._endpoint, method, target, raw)
        with self._lock:
            return self._answered(asked) if asked.refusal is None else self._erred(asked, asked.refusal)

    def _erred(self, asked: Received, refusal: Refusal, refused: tuple[Refused, ...] = (), expected: str = "") -> Reply:
        reply, response = answers.error_reply(self.provider, refusal)
        made = self._exchange(asked, refusal.status, response)
        self.exchanges.append(replace(made, refused=refused, expected=expected))
        return reply

    def _exchange(self, asked: Received, status: int, response: JsonObject | None) -> Exchange:
        return Exchange(
            provider=self.provider,
            path=asked.path,
            model=asked.model,
            request=asked.body,
            is_streamed=asked.is_streamed,
            status=status,
            response=response,
        )

    def _answered(self, asked: Received) -> Reply:
        provider = self.provider
        if provider.read_request is None or provider.respond is None:
            raise AssertionError(provider.name)
        request = provider.read_request(asked.body)
        found = [refused(provider, one) for one in faults(provider, request, asked.model, strict=self._is_strict)]
        if found:
            return self._erred(asked, found[0][0], tuple(why for _, why in found))
        try:
            turn = self._next(asked, request)
            if turn.failure is not None:
                return self._erred(asked, turn.failure)
            known = {one.tool.name: self._forms_of(one.tool) for one in turn.scripted if one.tool is not None}
            said = answers.said_by(
                turn, provider, request, asked.model or "", known, next(self._numbers), is_streamed=asked.is_streamed
            )
        except answers.NoAnswerError as error:
            return self._missed(asked, str(error))
        response = provider.respond(said) if turn.body is None else turn.body
        is_sent = turn.cut != "connection"
        self.exchanges.append(self._exchange(asked, 200 if is_sent else 0, response if is_sent else None))
        return answers.reply_of(provider, self._endpoint, response, turn, is_streamed=asked.is_streamed)

    def _next(self, asked: Received, request: RequestRead) -> Turn:
        """The next turn of the script; after it, what is generated or answered.

        Raises:
            NoAnswerError: There is none.
        """
        if self._said < len(self._script):
            self._said += 1
            return self._script[self._said - 1]
        if self._seed is not None:
            forms = {name: self._forms_of(tool) for name, tool in self._tools.items()}
            return answers.generated_turn(request, self._seed, len(self.exchanges), self._tools, forms)
        if self._answer is None:
            raise answers.NoAnswerError("the script has nothing left to say")
        answer = self._answer(self._exchange(asked, 0, None))
        return Turn().says(answer) if isinstance(answer, str) else answer

    def _forms_of(self, tool: Tool[..., Any]) -> list[Form]:
        if tool.name not in self._forms:
            self._forms[tool.name] = forms_of(self.provider, tool)
        return self._forms[tool.name]

    def _missed(self, asked: Received, what: str) -> Reply:
        """Answer what the script does not say, in a way that no SDK tries again."""
        left = self._script[self._said :]
        expected = str(left[0]) if left else "nothing more"
        reply = self._erred(asked, Refusal(_BAD_REQUEST, f"toolshape's Fake: {what}"), expected=expected)
        self._misses.append(f"{what}\n  asked: {self.exchanges[-1]}\n  expected next: {expected}")
        return reply

"""Plays the server of a session: one connection over which a model answers many times."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolshape._bound.registry import Registry
from toolshape._families import get
from toolshape._families.wire.bodies import parse_body
from toolshape._families.wire.nested import as_json
from toolshape._families.wire.provider import AnyProvider
from toolshape._families.wire.server import RequestRead, SentTool
from toolshape._records.calls import JsonObject
from toolshape._records.errors import UsageError
from toolshape._tools.tool import Tool
from toolshape.testing._fake import answers
from toolshape.testing._fake.refusals import Refused
from toolshape.testing._fake.shown import Form, forms_of
from toolshape.testing._fake.turn import Turn
from toolshape.testing._mistakes import SlipKind


class FakeSession:
    """Plays the server of OpenAI's Realtime API or of Gemini's Live; the connection is yours.

    ``calls``, ``invents`` and ``says`` each add a response to a script. Send what ``connect``
    returns when a client connects, and then, for each message of the client, what ``receive``
    returns. The model speaks when the client asks it to; after a call at Live, when all calls are
    answered. The tools are those that the client has sent.

    ``sent`` holds the messages of the client, and ``refused`` why some were refused.

    Args:
        provider: The provider to play.
        tools: The tools that ``calls`` can find by name: a registry, or tools and functions. You
            can also pass a tool itself to ``calls``.

    Raises:
        ExportError: The provider is unknown.
        UsageError: The provider has no sessions: use ``Fake``.
    """

    def __init__(
        self,
        provider: AnyProvider,
        tools: Registry | Iterable[Tool[..., Any] | Callable[..., Any]] | None = None,
    ) -> None:
        self.provider = get(provider)
        form = self.provider.session
        if form is None:
            raise UsageError(f"{self.provider.name} has no sessions: use Fake")
        self.sent: list[JsonObject] = []
        self.refused: list[Refused] = []
        self._server = form.server
        self._goes_on_by_itself = form.go_on is None
        registry = tools if isinstance(tools, Registry) else Registry(tools or ())
        self._tools: dict[str, Tool[..., Any]] = {tool.name: tool for tool in registry}
        self._forms: dict[Tool[..., Any], list[Form]] = {}
        self._script: list[Turn] = []
        self._said = 0
        self._offered: tuple[SentTool, ...] = ()
        self._waiting: dict[str, None] = {}  # the ids of the calls without a result
        self._misses: list[str] = []
        self._model = ""
        self._numbers = itertools.count(1)

    def __repr__(self) -> str:
        return f"FakeSession({self.provider.name!r}, {len(self.sent)} messages)"

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
        return self._add(Turn(self._tools).calls(tool, given, slip=slip, raw=raw, **arguments))

    def invents(
        self, name: str, given: Mapping[str, Any] | None = None, /, **arguments: Any
    ) -> Turn:
        """Script a call of a tool that does not exist.

        For the arguments and errors, see ``Turn.invents``.
        """
        return self._add(Turn(self._tools).invents(name, given, **arguments))

    def says(self, text: str) -> Turn:
        """Script a response with text."""
        return self._add(Turn(self._tools).says(text))

    def _add(self, turn: Turn) -> Turn:
        self._script.append(turn)
        return turn

    def connect(self, model: str = "") -> list[JsonObject]:
        """Return what the server sends when a client connects.

        Args:
            model: The model that the client asks for; at Live, its first message says it.
        """
        self._model = model
        return self._numbered(self._server.opens(model))

    def receive(self, message: Any) -> list[JsonObject]:
        """Return what the server sends after a message of the client.

        Args:
            message: A dict, or the JSON text or bytes of a frame.

        Raises:
            ResponseError: The message is no JSON.
        """
        parsed = as_json(parse_body(message))
        if not isinstance(parsed, dict):
            return self._refuse("invalid", "a message must be an object", "")
        self.sent.append(parsed)
        read = self._server.read(parsed, self._waiting.keys())
        if read.refusal is not None:
            return self._refuse(*read.refusal)
        if read.tools is not None:
            self._offered = read.tools
        for call_id in read.answered:
            self._waiting.pop(call_id, None)
        frames = self._numbered(read.said)
        has_answered_all = bool(read.answered) and not self._waiting
        if read.asks or (self._goes_on_by_itself and has_answered_all):
            frames += self.speak()
        return frames

    def speak(self) -> list[JsonObject]:
        """Return the next response of the script, as if the user had spoken."""
        if self._said >= len(self._script):
            self._misses.append("the model was asked to speak, but the script has no turn left")
            return []
        turn = self._script[self._said]
        request = RequestRead(body={}, tools=self._offered, messages=tuple(self.sent))
        try:
            said = answers.completion_of(
                turn, self.provider, request, self._model, self._forms_of, is_streamed=True
            )
        except answers.NoAnswerError as error:
            self._misses.append(str(error))
            return []
        self._said += 1
        if said.finish == "length" and not self._server.sends_cut_calls:
            said = said._replace(calls=said.calls[:-1])
        self._waiting |= dict.fromkeys(call.id for call in said.calls)
        return self._numbered(self._server.respond(said))

    def assert_done(self) -> None:
        """Check that the whole script was used, no call waits, and nothing was refused.

        Raises:
            AssertionError: Something of this is not so; the message says what.
        """
        __tracebackhide__ = True  # makes pytest point at the line in the test
        lines = [*self._misses, *(f"refused: {reason}" for reason in self.refused)]
        unused = self._script[self._said :]
        lines += [f"never said: {turn}" for turn in unused]
        lines += [f"the call {call_id} was never answered" for call_id in self._waiting]
        if lines:
            raise AssertionError("\n".join(lines))

    def _refuse(self, code: str, words: str, evidence: str) -> list[JsonObject]:
        self.refused.append(
            Refused(
                rule=code,
                path="",
                message=words,
                evidence=evidence,
                status=0,
                as_recorded=self._server.refuse is not None,
            )
        )
        if self._server.refuse is None:
            return []
        return self._numbered([self._server.refuse(code, words)])

    def _numbered(self, frames: Iterable[JsonObject]) -> list[JsonObject]:
        """Return the frames, each with an id of its own where the provider's events have one."""
        return [
            {"event_id": f"event_{next(self._numbers)}", **frame} if "type" in frame else frame
            for frame in frames
        ]

    def _forms_of(self, tool: Tool[..., Any]) -> list[Form]:
        if tool not in self._forms:
            self._forms[tool] = forms_of(self.provider, tool)
        return self._forms[tool]

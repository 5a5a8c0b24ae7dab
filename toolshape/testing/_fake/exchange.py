"""A request to a fake with its answer, and an HTTP reply that is ready to send."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from toolshape._families.wire.provider import Provider
from toolshape._history.reading import messages_in
from toolshape._records.calls import JsonObject
from toolshape.messages import Message
from toolshape.testing._fake.refusals import Refused


class Reply(NamedTuple):
    """An HTTP reply.

    If ``drop`` is set, the fake closes the connection before the reply or after the chunks.
    """

    status: int
    headers: dict[str, str]
    chunks: Sequence[bytes]
    is_streamed: bool = False
    drop: Literal["", "before", "after"] = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A request to a fake, and the answer.

    ``request`` is the body as received. If the path names the model, ``request`` also holds the
    model. ``response`` is the whole body, even if the fake sent a stream or an error. If the fake
    sent no response, ``response`` is ``None``. ``refused`` holds the reasons why the fake rejected
    the request, and is empty if the fake accepted the request. If the fake could not answer,
    ``expected`` describes the next scripted turn.
    """

    provider: Provider = field(repr=False)
    path: str
    model: str | None
    request: JsonObject
    is_streamed: bool
    status: int
    response: JsonObject | None
    refused: tuple[Refused, ...] = ()
    expected: str = ""

    @property
    def messages(self) -> list[Message]:
        """The messages of the request, as ``Message`` objects.

        Raises:
            ResponseError: The body does not hold valid messages.
        """
        histories = self.provider.histories
        if histories is None or not self.request.get(histories.key):
            return []
        return messages_in(histories, self.request)

    @property
    def tools(self) -> tuple[str, ...]:
        """The wire names of the tools in the request."""
        server = self.provider.server
        if server is None:
            parsed = None
        else:
            parsed = server.read_request(self.request)
        if parsed is None:
            return ()
        return tuple(str(tool.name) for tool in parsed.tools)

    def __str__(self) -> str:
        heading = f"{self.path} of {self.provider.name}, model {self.model!r}"
        tools = f"tools: {', '.join(self.tools) or 'none'}"
        return f"{heading}; {_describe_last(self._read_messages())}; {tools}"

    def _read_messages(self) -> list[Message]:
        try:
            return self.messages
        except Exception:  # a description must not fail, even for a malformed body
            return []


def _describe_last(messages: list[Message]) -> str:
    if not messages:
        return "no message"
    last: Any = messages[-1]
    content = last.text or ", ".join(
        getattr(part, "text", "") or getattr(part, "wire_name", "") for part in last.parts
    )
    return f"last message ({last.role}): {content[:120]!r}"

"""``Exchange``: one request to a fake and what it answered; and what an answer is before it is sent."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from toolshape._calls import JsonObject
from toolshape._history.reading import messages_in
from toolshape._wire.provider import Provider
from toolshape.messages import Message
from toolshape.testing._fake.refusals import Refused


class Reply(NamedTuple):
    """What goes over the wire: ``drop`` says where the connection is closed, before anything or after the chunks, if it is."""

    status: int
    headers: dict[str, str]
    chunks: Sequence[bytes]
    is_streamed: bool = False
    drop: Literal["", "before", "after"] = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A request, and what was answered.

    ``request`` is the body as it came, with the model, wherever that stood; ``response`` the whole body, also of a
    stream, or that of an error, ``None`` where the connection was closed. ``refused`` is why, if it was refused;
    ``expected`` what the script would have said next.
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
        """The messages of the request, as records.

        Raises:
            ResponseError: They are no messages.
        """
        histories = self.provider.histories
        if histories is None or not self.request.get(histories.key):
            return []
        return messages_in(histories, self.request)

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools in the request, as they were sent."""
        server = self.provider.server
        read = None if server is None else server.read_request(self.request)
        return () if read is None else tuple(str(one.name) for one in read.tools)

    def __str__(self) -> str:
        asked = f"{self.path} of {self.provider.name}, model {self.model!r}"
        tools = f"tools: {', '.join(self.tools) or 'none'}"
        return f"{asked}; {_last(self._read_messages())}; {tools}"

    def _read_messages(self) -> list[Message]:
        try:
            return self.messages
        except Exception:  # whatever came: it is only described
            return []


def _last(messages: list[Message]) -> str:
    if not messages:
        return "no message"
    last: Any = messages[-1]
    said = last.text or ", ".join(getattr(one, "text", "") or getattr(one, "wire_name", "") for one in last.parts)
    return f"last message, of {last.role}: {said[:120]!r}"

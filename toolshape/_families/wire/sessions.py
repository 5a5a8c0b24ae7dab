"""What one event says of a session: a connection over which one model answers many times."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from toolshape._families.wire.server import Completion, SentTool
from toolshape._records.calls import JsonObject

WireFields = tuple[str, str, Any, Any]
"""A call as its fields: id, wire name, arguments, and the item as it came."""


class SessionCall(NamedTuple):
    """A call of a session.

    ``response`` is the id of the response that holds it. ``number`` tells calls without ids apart.
    ``is_cut`` says that the call was cut off at the length limit: it is answered, and never run.
    """

    response: str
    wire: WireFields
    number: int = 0
    is_cut: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What this call is known by, however often it comes."""
        return self.response, self.wire[0] or f"#{self.number}"


class SessionEvent(NamedTuple):
    """What one event says.

    ``calls`` are complete. ``withdrawn`` are the ids of calls that the provider takes back.
    ``began`` is the id of a response that the model has begun: it begins no other before that one
    is over. ``refuses_go_on`` says that the provider did not go on when it was asked, because of
    such a response. ``ended`` is the id of a response that is over; ``goes_on`` says whether the
    model goes on once its calls are answered. ``text`` and ``thinking`` are what the event adds.
    ``warning`` is what a program should see, such as an error of the server. ``model`` is the
    model, if the event names it.
    """

    calls: tuple[SessionCall, ...] = ()
    withdrawn: tuple[str, ...] = ()
    began: str | None = None
    refuses_go_on: bool = False
    ended: str | None = None
    goes_on: bool = False
    text: str = ""
    thinking: str = ""
    warning: str = ""
    model: str | None = None


NOTHING = SessionEvent()


class ClientMessage(NamedTuple):
    """What one message of a client says to a server, and what the server says at once.

    ``tools`` are the tools of the session from now on. ``answered`` are the ids of the calls that
    have their results. ``asks`` says that the model is asked to speak. ``refusal`` is the error of
    a message that the server does not take: its code, its words, and the evidence of both.
    """

    tools: tuple[SentTool, ...] | None = None
    answered: tuple[str, ...] = ()
    asks: bool = False
    said: tuple[JsonObject, ...] = ()
    refusal: tuple[str, str, str] | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SessionServer:
    """How the provider's server takes part in a session, for fakes.

    Args:
        opens: What it says when the connection opens, to a client of this model.
        read: Reads a message of the client; the ids are those of the calls that wait for a result.
        respond: Writes a response of the model.
        refuse: Writes an error, by its code and words; ``None`` if errors end the connection.
        sends_cut_calls: Whether it sends a call that was cut off; otherwise a call comes whole.
    """

    opens: Callable[[str], list[JsonObject]]
    read: Callable[[JsonObject, Collection[str]], ClientMessage]
    respond: Callable[[Completion], list[JsonObject]]
    refuse: Callable[[str, str], JsonObject] | None
    sends_cut_calls: bool


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SessionForm:
    """How the events of a session are read.

    Args:
        read: Reads one event into the state so far (empty at first, changed in place). Returns
            ``None`` for an event of another provider.
        incomplete: Returns the calls of the state that are still arriving.
        go_on: The message that asks the model to go on after its calls are answered; ``None`` if it
            does so by itself.
        evidence: The source of this form, with its date.
        server: The other side of the connection.
    """

    read: Callable[[JsonObject, JsonObject], SessionEvent | None]
    incomplete: Callable[[JsonObject], Sequence[SessionCall]]
    go_on: JsonObject | None
    evidence: str
    server: SessionServer

"""The messages of a conversation as records for all providers, in the terms of OpenTelemetry's GenAI conventions.

``Message`` and its parts are read from one provider's messages and written as another's.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from toolshape._calls import JsonObject
from toolshape._parts import File, Image, Part

__all__ = [
    "CallFault",
    "MediaPart",
    "Message",
    "MessagePart",
    "Origin",
    "ProviderPart",
    "ReasoningPart",
    "Repair",
    "Repaired",
    "Role",
    "TextPart",
    "ToolCallPart",
    "ToolResultPart",
    "calls_in",
    "part_path",
    "results_in",
    "with_parts",
]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
CallFault: TypeAlias = Literal["unknown_tool", "malformed_arguments", "ambiguous_arguments"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Who wrote a message: the provider, the model, and the fingerprint of the tools that it was sent.

    It owns what is opaque in the message: signatures, encrypted reasoning and the like go back to it alone.
    """

    provider: str
    model: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPart:
    """A text. ``raw`` of every part is what the provider sent of it, ``path`` the place of that in its message."""

    text: str
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasoningPart:
    """What a model thought, as far as it is shown; ``raw`` may hold a signature or the encrypted rest."""

    text: str
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCallPart:
    """A call that a model made.

    ``wire_name`` and ``arguments_raw`` are what stood on the wire. ``name`` is the tool's own and ``arguments`` are
    canonical; both are ``None`` where no tool was found, and ``arguments`` where they could not be read. ``fault`` says
    what is wrong with it. ``has_id``: the id came with it, and was not made here.
    """

    id: str
    wire_name: str
    arguments_raw: Any
    name: str | None = None
    arguments: JsonObject | None = None
    fault: CallFault | None = None
    has_id: bool = True
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResultPart:
    """The answer to a call: ``text``, and the texts, images and files in it where there are others than that text.

    ``code`` is the error's, ``None`` where the call gave a value. ``is_text``: the text is a value that is a string,
    not the JSON of another value; ``None`` where that is not known. ``call_raw`` is what its provider sent of the call,
    where the result has to be in the same form.
    """

    id: str
    wire_name: str
    text: str
    code: str | None = None
    is_text: bool | None = None
    parts: tuple[Part, ...] = ()
    has_id: bool = True
    call_raw: Any = field(default=None, compare=False, repr=False)
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class MediaPart:
    """An image or a file."""

    media: Image | File
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderPart:
    """What only its provider knows, as a call that it ran itself: ``kind`` is the provider's name for it."""

    kind: str
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


MessagePart: TypeAlias = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | MediaPart | ProviderPart


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a conversation.

    ``origin`` says who wrote it, ``None`` where it was you or the application. ``raw`` is the message as it came, and
    ``None`` for one that was made here, or changed since. ``finish`` is why a response ended, in one word for all
    providers; ``path`` is the place in what it was read from.
    """

    __module__ = "toolshape"

    role: Role
    parts: tuple[MessagePart, ...]
    origin: Origin | None = None
    raw: Any = None
    finish: str | None = None
    path: str = field(default="", compare=False, repr=False)

    @property
    def text(self) -> str:
        """The texts in it, as one."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


def part_path(message: Message, part: MessagePart) -> str:
    """The path of a part; one that came from another message has that of its own."""
    if message.path and part.path.startswith(f"{message.path.partition('[')[0]}["):
        return part.path
    return f"{message.path}.{part.path}" if part.path else message.path


def calls_in(message: Message) -> list[ToolCallPart]:
    """The calls that a message makes."""
    return [part for part in message.parts if isinstance(part, ToolCallPart)]


def results_in(message: Message) -> list[ToolResultPart]:
    """The results that a message holds."""
    return [part for part in message.parts if isinstance(part, ToolResultPart)]


def with_parts(message: Message, parts: Iterable[MessagePart]) -> Message:
    """A message with other parts, without what it came as; the message itself where they are those that it has."""
    made = tuple(parts)
    if len(made) == len(message.parts) and all(one is other for one, other in zip(made, message.parts, strict=True)):
        return message
    return replace(message, parts=made, raw=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Repair:
    """One change of a history: at ``path``, for ``rule``, with what was done as ``note``.

    ``invalidates`` are the paths of reasoning whose signatures no longer hold, where the provider binds them to what
    stands before.
    """

    __module__ = "toolshape"

    path: str
    rule: str
    note: str
    invalidates: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Repaired:
    """Messages as their provider takes them, and what was changed for that."""

    __module__ = "toolshape"

    messages: list[Any]
    repairs: tuple[Repair, ...]

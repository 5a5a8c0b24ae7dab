"""Messages of a conversation for all providers, in the terms of OpenTelemetry's GenAI conventions.

The library reads ``Message`` records from one provider's messages, and writes them as messages of
another provider.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Any, Literal, TypeAlias

from toolshape._records.calls import JsonObject
from toolshape._records.parts import File, Image, Part
from toolshape._records.result import Usage

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
    """The author of a message: the provider, the model, and the
    fingerprint of the tools in the request.

    Opaque content of the message, for example signatures and encrypted reasoning, is sent back only
    to its author.
    """

    provider: str
    model: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPart:
    """Text in a message.

    In every part, ``raw`` is the part as the provider sent it, and ``path`` is the place of the
    part in the message.
    """

    text: str
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasoningPart:
    """The visible reasoning of a model. ``raw`` may hold a signature or encrypted reasoning."""

    text: str
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCallPart:
    """A call that a model made.

    ``wire_name`` and ``arguments_raw`` are the name and arguments on the wire. ``name`` is the
    tool's own name, and ``arguments`` are in canonical form. Both are ``None`` if no tool has this
    name; ``arguments`` is also ``None`` if the arguments cannot be read. ``fault`` says what is
    wrong with the call. ``has_id`` is ``True`` if the provider sent the id, and ``False`` if this
    library generated it.
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
    """The result of a call: its ``text``, and its ``parts`` (texts, images, files) if
    ``text`` is not the whole result.

    ``code`` is the code of the error, or ``None`` if the call returned a value. ``is_text`` is
    ``True`` if the call returned a string, ``False`` if ``text`` is the JSON of another value, and
    ``None`` if that is unknown. ``call_raw`` is the call as its provider sent it, if the result
    must be written in the same form, or the arguments of a call that is written as plain text.
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
    """Content that only its provider understands, for example a call that the provider ran itself.

    ``kind`` is the provider's name for the content.
    """

    kind: str
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


MessagePart: TypeAlias = (
    TextPart | ReasoningPart | ToolCallPart | ToolResultPart | MediaPart | ProviderPart
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a conversation.

    ``origin`` is the author, or ``None`` for the user and the application. ``raw`` is the message
    as it was received, or ``None`` if this library made or changed the message. ``finish`` says why
    a response ended, in the same words for all providers. ``usage`` are the tokens of the response
    that ended with this message, if it was read by ``Conversation`` and has counts.
    ``holds_secret`` says that a call or an answer in the message may hold a secret, by the tool or
    the type that read it; it is stored with the message. ``path`` says where the message is, for
    example ``messages[3]``.
    """

    __module__ = "toolshape"

    role: Role
    parts: tuple[MessagePart, ...]
    origin: Origin | None = None
    raw: Any = None
    finish: str | None = None
    usage: Usage | None = field(default=None, compare=False)
    path: str = field(default="", compare=False, repr=False)
    holds_secret: bool = field(default=False, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The text of all text parts and results in the message, concatenated."""
        return "".join(
            part.text for part in self.parts if isinstance(part, (TextPart, ToolResultPart))
        )


def part_path(message: Message, part: MessagePart) -> str:
    """Return the path of a part.

    A part that was moved from another message keeps its original path.
    """
    if message.path and part.path.startswith(f"{message.path.partition('[')[0]}["):
        return part.path
    if part.path:
        return f"{message.path}.{part.path}"
    return message.path


def calls_in(message: Message) -> list[ToolCallPart]:
    """Return the calls in a message."""
    return [part for part in message.parts if isinstance(part, ToolCallPart)]


def results_in(message: Message) -> list[ToolResultPart]:
    """Return the results in a message."""
    return [part for part in message.parts if isinstance(part, ToolResultPart)]


def with_parts(message: Message, parts: Iterable[MessagePart]) -> Message:
    """Return the message with other parts and without ``raw``, or the message
    itself if the parts are the same.
    """
    new_parts = tuple(parts)
    if len(new_parts) == len(message.parts) and all(map(is_, new_parts, message.parts)):
        return message
    return replace(message, parts=new_parts, raw=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Repair:
    """One repair of a history: where (``path``), why (``rule``), and what was done (``note``).

    ``invalidates`` lists the paths of reasoning whose signatures the repair invalidates, if the
    provider's signatures cover the preceding messages.
    """

    __module__ = "toolshape"

    path: str
    rule: str
    note: str
    invalidates: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Repaired:
    """Messages that the provider accepts, and the repairs that were made."""

    __module__ = "toolshape"

    messages: list[Any]
    repairs: tuple[Repair, ...]

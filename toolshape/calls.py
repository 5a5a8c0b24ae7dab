"""The data every other module speaks: what a tool is, what a model asked, what came of it. Only the stdlib below."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, overload

from toolshape.errors import CallError
from toolshape.parts import Part, Text

__all__ = [
    "EARLY",
    "Call",
    "Coercion",
    "Effect",
    "Finding",
    "Finish",
    "JsonObject",
    "JsonSchema",
    "Loss",
    "Message",
    "Result",
    "Results",
    "Spec",
    "Verbatim",
    "WireCall",
    "new_record",
]

JsonObject: TypeAlias = dict[str, Any]
JsonSchema: TypeAlias = dict[str, Any]
Message: TypeAlias = dict[str, Any]
Finish: TypeAlias = Literal["tool_calls", "stop", "length", "refusal", "error", "other"]
EARLY: frozenset[Finish] = frozenset({"length", "refusal", "error"})  # what was being written may be cut off
Effect: TypeAlias = Literal["read", "write", "destructive", "idempotent", "open_world", "closed_world"]

new_record = tuple.__new__
"""Makes a NamedTuple of all its fields, as its own constructor does, without that one's Python frame: at half the cost."""


class Verbatim(NamedTuple):
    """A tool as somebody wrote it for one provider: the ``form`` of the entry, and what of it a provider checks."""

    form: str
    entry: JsonObject
    name: str
    schema: Any
    is_strict: bool


class Spec(NamedTuple):
    """A tool as JSON knows it: the canonical record from which every provider's shape is made.

    ``parameters`` and ``output`` are JSON Schema 2020-12; ``output`` is ``None`` where the result is not described.
    ``examples`` are right arguments. ``effects`` say what a call does to the world. ``keys`` are what a provider, by
    its name, is told besides, in its own words. ``verbatim`` is an entry that is sent as it is to providers that take
    its form.
    """

    name: str
    title: str | None
    description: str
    parameters: JsonSchema
    output: JsonSchema | None
    examples: tuple[JsonObject, ...] = ()
    effects: frozenset[Effect] = frozenset()
    keys: Mapping[str, JsonObject] = {}
    verbatim: Verbatim | None = None


class Loss(NamedTuple):
    """What a provider is told otherwise than the function says it, at ``path``.

    ``kind``: ``renamed`` and ``reshaped`` are undone on the way home; ``moved`` went into the description; ``dropped``
    is gone; ``widened``: the provider admits more; ``narrowed``: it can no longer say something. ``ambiguous``: a
    call in canonical form cannot always be told from one in the shown form.
    """

    path: str
    keyword: str
    kind: Literal["renamed", "reshaped", "moved", "dropped", "widened", "narrowed"]
    note: str
    ambiguous: bool = False


class Finding(NamedTuple):
    """Something about a tool that works but deserves a look, at ``path`` (a parameter's name, ``""`` for the tool)."""

    path: str
    rule: Literal[
        "unannotated",
        "undescribed",
        "documented_but_absent",
        "unsayable_branch",
        "unresolved_return",
        "dialect",
        "unchecked",
        "provider_needs",
    ]
    message: str


class WireCall(NamedTuple):
    """A call as a provider's reader found it, not yet named home."""

    id: str
    wire_name: str
    arguments: Any
    raw: Any


class Call(NamedTuple):
    """One call a model made.

    ``name`` is the tool's own name, ``None`` when there is no such tool; ``wire_name`` is the name the model used.
    ``arguments_raw`` is the text or object as sent, ``raw`` the provider's whole call, untouched. ``id`` is the
    provider's; where it gave none, one that is made of the response, the same each time. ``back`` takes arguments from
    the form that the provider was shown to the canonical one.
    """

    id: str
    name: str | None
    wire_name: str
    arguments_raw: Any
    provider: str
    raw: Any
    opaque: Any = None
    back: Callable[[Any], Any] | None = None

    def __reduce__(self) -> Any:
        # What takes arguments home is made for one shape of one tool: their canonical form goes instead.
        back = None if self.back is None else _Canonical(self.arguments)
        return Call, (*self[:-1], back)

    @property
    def arguments(self) -> JsonObject | None:
        """The arguments as a JSON object in canonical form, before any mending; ``None`` where none can be read."""
        value = self.arguments_raw
        for _ in range(2):
            if isinstance(value, (str, bytes)):
                try:
                    value = json.loads(value) if value.strip() else {}
                except (ValueError, RecursionError):
                    return None
        if value is None or not isinstance(value, dict):
            return {} if value is None else None
        try:
            return value if self.back is None else self.back(value)
        except ValueError:  # a key comes twice in JSON text inside them
            return None


class _Canonical:
    """Arguments in canonical form, of a call that was pickled or copied, whatever form they were sent in."""

    __slots__ = ("arguments",)

    def __init__(self, arguments: JsonObject | None) -> None:
        self.arguments = arguments

    def __call__(self, _: Any) -> JsonObject | None:
        return self.arguments

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Canonical) and self.arguments == other.arguments

    def __hash__(self) -> int:
        return hash(type(self))


class Coercion(NamedTuple):
    """One mend: at ``path``, by ``rule``, ``before`` became ``after`` (``None`` where the place was left out)."""

    path: str
    rule: str
    before: Any
    after: Any


class Result(NamedTuple):
    """What came of one call: ``value``, or ``error``, never both.

    ``text`` is what the model reads: a string result verbatim, any other value as compact JSON, or the error's prose.
    ``parts`` are the texts, images and files that a tool gave, where it did; ``text`` names those that are no texts.
    ``coercions`` lists every mend of the arguments, ``elapsed`` is seconds spent in the tool. ``is_text`` says whether
    ``text`` is the value itself, a JSON string, and not the JSON of another; ``None`` where it is neither: of parts, of
    what was cut or marked, and where nobody has said so.
    """

    call: Call
    value: Any = None
    error: CallError | None = None
    coercions: tuple[Coercion, ...] = ()
    elapsed: float = 0.0
    text: str = ""
    replayed: bool = False
    parts: tuple[Part, ...] = ()
    is_text: bool | None = None

    @property
    def ok(self) -> bool:
        """Whether the tool gave a value."""
        return self.error is None

    def unwrap(self) -> Any:
        """Return the value, or raise the error.

        Raises:
            CallError: the call failed; its ``__cause__`` is the original exception where there is one.
        """
        if self.error is not None:
            raise self.error
        return self.value


class Results(Sequence[Result]):
    """The answers to every call of one response, in call order; falsy when the response called no tool.

    An answer that is not there yet reads as ``cancelled``, so what is here is complete at any time. ``finish`` says why
    the response ended, in one word for all providers; ``finish_raw`` is the provider's own.

    The modules of toolshape set what it knows, and no constructor does: its frame would be a thirtieth of a whole call.
    ``answers`` has ``None`` for what is not there yet, ``assistant`` the response's own messages, ``encode`` writes those
    that answer them, and ``carries`` says which parts of results these hold. Pickled, results keep what is there by then.
    """

    __slots__ = ("answers", "assistant", "calls", "carries", "encode", "finish", "finish_raw")
    calls: Sequence[Call]
    answers: Sequence[Result | None]
    assistant: Sequence[Message]
    encode: Callable[[Sequence[Result]], list[Message]]
    carries: frozenset[str]
    finish: Finish | None
    finish_raw: str | None

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Result]:
        return (answer or _cancelled(call) for answer, call in zip(self.answers, self.calls, strict=True))

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        if isinstance(index, slice):
            return list(self)[index]
        return self.answers[index] or _cancelled(self.calls[index])

    def __repr__(self) -> str:
        return f"Results({list(self)!r})"

    @property
    def ok(self) -> bool:
        """Whether every call gave a value."""
        return all(result.error is None for result in self)

    @property
    def messages(self) -> list[Message]:
        """The provider's messages that answer the calls, without the assistant's own; empty when there was no call."""
        answers: Sequence[Any] = self.answers
        if not answers:
            return []
        return self.encode(list(self) if None in answers else answers)

    @property
    def losses(self) -> list[Loss]:
        """What of the results the provider cannot carry: the text names it in its place."""
        lost = []
        for result in self:
            for part in result.parts:
                kind = type(part).__name__.lower()
                if kind != "text" and kind not in self.carries:
                    note = f"{part.media_type} is named in the text, not shown" if not isinstance(part, Text) else ""
                    lost.append(Loss(path=result.call.id, keyword=kind, kind="dropped", note=note))
        return lost

    @property
    def turn(self) -> list[Message]:
        """What to append to the conversation: the assistant's message as it came, then ``messages``."""
        return [*_sendable(self.assistant), *self.messages]


def _sendable(messages: Sequence[Message]) -> Sequence[Message]:
    """Messages as they came; half a surrogate pair in one, which no client could send, is marked as lost."""
    try:
        json.dumps(messages, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.loads(json.dumps(messages, ensure_ascii=False).encode(errors="replace"))  # type: ignore[no-any-return]
    except (TypeError, ValueError, RecursionError):  # what no text says is the client's to refuse
        return messages
    return messages


def _cancelled(call: Call) -> Result:
    error = CallError("cancelled", tool=call.wire_name)
    return Result(call, error=error, text=str(error))

"""Records of tools, of calls and of changes in a schema."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from toolshape._records.shown import escape_invisible, shorten, shown_json

JsonObject: TypeAlias = dict[str, Any]
JsonSchema: TypeAlias = dict[str, Any]
WireMessage: TypeAlias = dict[str, Any]
ChoiceMode: TypeAlias = Literal["auto", "none", "required"]
"""Whether a model may, may not, or must call tools."""

Finish: TypeAlias = Literal[
    "tool_calls", "stop", "length", "refusal", "error", "continue", "app", "other"
]
"""Why a response ended. ``"continue"``: the model's turn is not over.

``"app"``: it waits for the app, not for a tool.
"""
EARLY: frozenset[Finish] = frozenset({"length", "refusal", "error"})
"""The finish reasons after which the last call of a response may have been cut off."""
Effect: TypeAlias = Literal[
    "read", "write", "destructive", "idempotent", "open_world", "closed_world"
]
DefaultEffect: TypeAlias = Literal["write"] | None
"""How to treat tools that declare neither ``read`` nor ``write`` nor ``destructive``."""
Strictness: TypeAlias = bool | Literal["auto"]
"""Whether a provider constrains arguments to the schema; ``"auto"`` means only if
the schema changes harmlessly.
"""

new_record = tuple.__new__
"""Makes a NamedTuple from a tuple of all its fields; takes half as long as the
constructor, which is Python code.
"""


class Verbatim(NamedTuple):
    """A definition that was written for one provider and is sent unchanged.

    ``form`` names the provider whose entries have this form. An export checks ``name``, ``schema``
    and ``is_strict`` against the rules of the provider.
    """

    form: str
    entry: JsonObject
    name: str
    schema: Any
    is_strict: bool


class Namespace(NamedTuple):
    """A named group of deferred tools, for providers that have groups; the model
    reads the group's description.
    """

    name: str
    description: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the name and the description are strings, and providers accept the name."""
        name: Any = self.name
        description: Any = self.description
        has_valid_name = (
            isinstance(name, str) and re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) is not None
        )
        return has_valid_name and isinstance(description, str)


class Grammar(NamedTuple):
    """The texts that a tool of free text takes: a Lark grammar with the rule
    ``start``, or a regular expression.

    The expression has the syntax of Rust's ``regex`` and describes the whole text.
    """

    syntax: Literal["lark", "regex"]
    definition: str

    @property
    def is_right(self) -> bool:
        """Whether the syntax is one of the two, and the definition a string with content."""
        definition: Any = self.definition
        return self.syntax in ("lark", "regex") and isinstance(definition, str) and bool(definition)


PLAIN_TEXT = "x-toolshape-text"
"""The only key of arguments that a model wrote as plain text instead of a JSON object.

Such arguments are stored, compared and converted like any others, and whoever reads them knows what
they are. No parameter of a Python function has this name.
"""


def plain_text(arguments: Any) -> str | None:
    """Return the text of arguments that are plain text; ``None`` if they are JSON."""
    if type(arguments) is dict and len(arguments) == 1:
        text = arguments.get(PLAIN_TEXT)
        if isinstance(text, str):
            return text
        return None
    return None


class Spec(NamedTuple):
    """The canonical record of a tool, from which every provider's entry is made.

    ``parameters`` and ``output`` are JSON Schema 2020-12; ``output`` is ``None`` if the result has
    no schema. ``examples`` are valid arguments. ``effects`` say what a call changes. ``keys`` maps
    the name of a provider to additional keys for its entry. ``verbatim`` is an entry that is sent
    unchanged to providers that accept its form. If ``deferred`` is ``True`` or a group, the tool is
    loaded only when a model's search finds it. ``is_closed`` says that the objects inside the
    arguments have no further fields, although their schemas do not say so. ``free_text`` says that
    the only argument may be written as plain text; a grammar describes the texts.
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
    deferred: bool | Namespace = False
    is_closed: bool = False
    free_text: bool | Grammar = False


class Loss(NamedTuple):
    """A difference at ``path`` between the canonical schema and the
    schema that is sent to a provider.

    ``kind`` says what the difference means:

    - ``renamed``, ``reshaped``: Every call is mapped back to the canonical schema.
    - ``moved``: The description states the keyword instead.
    - ``dropped``: The keyword is not sent.
    - ``widened``: The sent schema accepts more values.
    - ``narrowed``: The sent schema accepts fewer values.

    ``ambiguous`` is ``True`` if canonical arguments cannot always be distinguished from arguments
    in the sent form.
    """

    path: str
    keyword: str
    kind: Literal["renamed", "reshaped", "moved", "dropped", "widened", "narrowed"]
    note: str
    ambiguous: bool = False


class Finding(NamedTuple):
    """Something to review in a tool that works; ``path`` is a
    parameter, or ``""`` for the whole tool.
    """

    path: str
    rule: Literal[
        "unannotated",
        "undescribed",
        "documented_but_absent",
        "unsupported_branch",
        "unresolved_return",
        "unsendable_result",
        "refused_default",
        "two_defaults",
        "unusable",
        "section_left_out",
        "dialect",
        "unchecked",
        "provider_needs",
        "not_strict",
        "kept_by_engine",
        "bytes_as_text",
        "timeout_not_kept",
        "answered_by_tool",
        "grown",
        "large",
        "name_meets",
        "grammar_not_checked",
    ]
    message: str


class WireCall(NamedTuple):
    """A call in the provider's form, with its wire name and its arguments in that form.

    ``raw`` is the provider's own call if this call was read from a response; otherwise ``None``.
    """

    id: str
    wire_name: str
    arguments: Any
    raw: Any = None


class ArgumentsReader(Protocol):
    """Reads the arguments of one tool's calls, or the answer in a call, in the
    form that the provider was sent.
    """

    @property
    def is_answer(self) -> bool:
        """Whether the call holds the answer, and so is never run."""
        raise NotImplementedError

    @property
    def back(self) -> Callable[[Any], Any] | None:
        """Maps arguments from the form that was sent to canonical form;
        ``None`` if both forms are equal.
        """

    @property
    def takes_text(self) -> bool:
        """Whether ``back`` also maps plain text to the arguments."""
        raise NotImplementedError

    @property
    def may_return_null(self) -> bool:
        """Whether the output schema of the tool accepts null."""
        raise NotImplementedError

    @property
    def has_secrets(self) -> bool:
        """Whether the arguments may hold a secret."""
        raise NotImplementedError

    def received(self, arguments: Any) -> JsonObject | None:
        """Validate and coerce received arguments; return the function's arguments
        as JSON, or ``None`` if invalid.
        """

    def unchecked(self, arguments: Any) -> list[tuple[str, str]]:
        """Return the paths of received values that were not checked in full, each with the
        pattern.
        """
        raise NotImplementedError


class Call(NamedTuple):
    """One call that a model made.

    ``name`` is the tool's own name, ``None`` if there is no such tool; ``wire_name`` is the name
    that the model used. ``arguments_raw`` holds the arguments as received, as text or an object
    (plain text of a free text tool is an object with one key, which ``arguments`` reads); ``raw``
    is the provider's whole call, unchanged. ``id`` is the provider's id; if the provider gave none,
    the id is derived from the response, and is the same each time that the response is read.
    ``reader`` reads the arguments; it is ``None`` if there is no such tool.
    """

    id: str
    name: str | None
    wire_name: str
    arguments_raw: Any
    provider: str
    raw: Any
    reader: ArgumentsReader | None = None

    def __repr__(self) -> str:
        name = self.name or f"unknown tool {self.wire_name}"
        return (
            f"Call({escape_invisible(name)}, {shown_json(self, self.arguments_raw)}, "
            f"id={shorten(self.id)})"
        )

    def __reduce__(self) -> Any:
        # The reader belongs to one tool at one provider and cannot be pickled: store the values
        # that it reads instead.
        if self.reader is None:
            return Call, tuple(self)
        reader = _Read(
            self.arguments,
            self.reader.received(self.arguments_raw),
            self.reader.has_secrets,
            self.reader.is_answer,
        )
        return Call, (*self[:-1], reader)

    @property
    def arguments(self) -> JsonObject | None:
        """The arguments in canonical form, before coercion; ``None`` if they are not a JSON
        object.
        """
        value = self.arguments_raw
        text = plain_text(value)
        if text is not None and not (self.reader is not None and self.reader.takes_text):
            value = text  # of an ordinary tool, so it can only be JSON text
        for _ in range(2):
            if isinstance(value, (str, bytes)):
                try:
                    value = json.loads(value) if value.strip() else {}
                except (ValueError, RecursionError):
                    return None
        if value is None or not isinstance(value, dict):
            return {} if value is None else None
        try:
            return (
                value
                if self.reader is None or self.reader.back is None
                else self.reader.back(value)
            )
        except ValueError:  # a JSON string inside the arguments repeats a key
            return None


class _Read:
    """The reader of a call that was pickled or copied: returns the arguments
    that the original reader read.
    """

    __slots__ = ("_holds_answer", "_received", "_takes_secrets", "canonical")
    takes_text = True  # it returns what was read, whatever the form

    def __init__(
        self,
        canonical: JsonObject | None,
        received: JsonObject | None,
        has_secrets: bool,
        is_answer: bool,
    ) -> None:
        self._holds_answer = is_answer
        self._takes_secrets = has_secrets
        self.canonical = canonical
        self._received = received

    @property
    def has_secrets(self) -> bool:
        return getattr(self, "_takes_secrets", True)  # an older pickle does not say

    @property
    def is_answer(self) -> bool:
        return getattr(self, "_holds_answer", False)  # an older pickle does not say

    def back(self, _: Any) -> JsonObject | None:
        return self.canonical

    def received(self, _: Any) -> JsonObject | None:
        return self._received

    def unchecked(self, _: Any) -> list[tuple[str, str]]:
        return []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Read) and self.canonical == other.canonical

    def __hash__(self) -> int:
        return hash(type(self))


class Coercion(NamedTuple):
    """At ``path``, ``rule`` changed ``before`` to ``after``; ``after`` is ``None``
    if the rule removed the field.
    """

    path: str
    rule: str
    before: Any
    after: Any

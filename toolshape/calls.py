"""The records of tools and calls: a tool's canonical record, the losses on its way to a provider, a call that a model made."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

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
    "Spec",
    "Verbatim",
    "WireCall",
    "WireMessage",
    "new_record",
]

JsonObject: TypeAlias = dict[str, Any]
JsonSchema: TypeAlias = dict[str, Any]
WireMessage: TypeAlias = dict[str, Any]
Finish: TypeAlias = Literal["tool_calls", "stop", "length", "refusal", "error", "other"]
EARLY: frozenset[Finish] = frozenset({"length", "refusal", "error"})
"""The finish reasons after which the last call of a response may have been cut off."""
Effect: TypeAlias = Literal["read", "write", "destructive", "idempotent", "open_world", "closed_world"]

new_record = tuple.__new__
"""Makes a NamedTuple from all of its fields at half the cost of its constructor, which is a Python function."""


class Verbatim(NamedTuple):
    """A definition that was written for one provider, to be sent as it is.

    ``form`` names the provider whose entries look like it; ``name``, ``schema`` and ``is_strict`` are what a provider
    checks of it.
    """

    form: str
    entry: JsonObject
    name: str
    schema: Any
    is_strict: bool


class Spec(NamedTuple):
    """The canonical record of a tool, from which every provider's entry is made.

    ``parameters`` and ``output`` are JSON Schema 2020-12; ``output`` is ``None`` where the result is not described.
    ``examples`` are valid arguments. ``effects`` say what a call changes. ``keys`` are further members of an entry, by
    the provider's name. ``verbatim`` is an entry that is sent as it is to providers that take its form.
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
    """A difference between the canonical schema and the one that a provider is sent, at ``path``.

    ``kind``: ``renamed`` and ``reshaped`` are mapped back in every call; ``moved`` stands in the description instead;
    ``dropped`` is gone; ``widened``: the sent schema admits more; ``narrowed``: it admits less. ``ambiguous``:
    canonical arguments cannot always be told from arguments in the form that was sent.
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
    """A call as a provider's reader found it: the name and the arguments are those of the wire."""

    id: str
    wire_name: str
    arguments: Any
    raw: Any


class Call(NamedTuple):
    """One call a model made.

    ``name`` is the tool's own name, ``None`` when there is no such tool; ``wire_name`` is the name that the model used.
    ``arguments_raw`` is the text or object as it came, ``raw`` the provider's whole call, untouched. ``id`` is the
    provider's; where it gave none, it is derived from the response and always the same. ``back`` maps arguments from
    the form that the provider was sent to the canonical one.
    """

    id: str
    name: str | None
    wire_name: str
    arguments_raw: Any
    provider: str
    raw: Any
    back: Callable[[Any], Any] | None = None

    def __reduce__(self) -> Any:
        # ``back`` belongs to one tool at one provider and cannot be pickled: the canonical arguments take its place.
        back = None if self.back is None else _Canonical(self.arguments)
        return Call, (*self[:-1], back)

    @property
    def arguments(self) -> JsonObject | None:
        """The arguments as a JSON object in canonical form, before coercion; ``None`` where they are no JSON object."""
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
    """Stands for ``back`` in a call that was pickled or copied: the canonical arguments, whatever they were sent as."""

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
    """One coercion: at ``path``, by ``rule``, ``before`` became ``after`` (``None`` where the field was left out)."""

    path: str
    rule: str
    before: Any
    after: Any

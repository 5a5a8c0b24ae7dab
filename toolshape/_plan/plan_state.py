"""All that is known of one turn, as frozen data that JSON can hold.

A token, the open turn of a stored conversation and a pickle are this record. ``snapshot`` makes it
from results, ``restore`` makes results from it, and nothing else reads or writes a turn.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolshape._records.calls import Effect, Finish, JsonObject, Strictness
from toolshape._records.identity import OutputRef
from toolshape._records.result import QUOTING, ResponseWarning, Usage
from toolshape._schema.bytes_json import from_json_value, to_json_value

if TYPE_CHECKING:
    from toolshape._tools.handler import Handler

TURN_VERSION = 3
"""The version of the record. Version 1 encoded bytes differently; version 2 knew no answers."""
StoredState: TypeAlias = Literal[
    "answered", "ready", "pending", "approved", "elsewhere", "cancelled"
]
"""The states of ``state.py`` that are stored; the others become one of them (see ``snapshot``)."""
Lost: TypeAlias = Literal["tools_changed", "arguments_changed"]
"""Why a tool of this process cannot take a restored call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredCallState:
    """One call of a turn. Its position in the turn is its key: it joins the result to the call.

    Args:
        id: The id that the provider gave, or that was made up.
        tool: The tool's own name; ``None`` if there was no such tool.
        wire_name: The name that the model used.
        raw: The provider's whole call.
        written: The arguments as the model wrote them, also after an edit: a ledger knows the call
            by them.
        is_canonical: Whether ``written`` is in canonical form, not in the provider's.
        given: The arguments that validate to exactly what the function gets; ``None`` once the call
            is answered.
        is_given_canonical: Whether ``given`` is in canonical form.
        shown: The arguments that the function gets, as a person may see them.
        exact: A digest that differs whenever the function's arguments differ.
        is_edited: Whether a person replaced the arguments.
        is_answer: Whether the call holds the answer in a type.
        is_secret: Whether the arguments may hold a secret.
        state: The state.
        result: The outcome, if there is one.
        unstorable: Why ``given`` is missing although the call is not answered; otherwise empty.
    """

    id: str
    tool: str | None
    wire_name: str
    raw: Any
    written: Any
    is_canonical: bool
    state: StoredState
    given: Any = None
    is_given_canonical: bool = False
    shown: JsonObject | None = None
    exact: str = ""
    is_edited: bool = False
    is_answer: bool = False
    is_secret: bool = False
    result: JsonObject | None = None
    unstorable: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerState:
    """The answer in a type that a turn holds.

    Args:
        output: The output that read the answer.
        call: The position of the call that holds it; ``None`` if the answer is the text.
        value: The valid answer as JSON; ``None`` if there is an error, or if ``unstorable`` says
            why not.
        text: The answer as the model wrote it.
        exact: A digest that differs whenever answers differ.
        error: The error that rejects the answer.
        coercions: The changes that made the answer valid.
        is_secret: Whether the answer may hold a secret.
        unstorable: Why the value is missing although the answer is valid; otherwise empty.
    """

    output: OutputRef
    call: int | None
    value: Any = None
    text: Any = ""
    exact: str = ""
    error: JsonObject | None = None
    coercions: tuple[tuple[Any, ...], ...] = ()
    is_secret: bool = False
    unstorable: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanState:
    """One turn: the calls of a response with their states and results, and the
    answer, if the response holds one.

    Args:
        provider: The name of the provider.
        strict: The strictness that ``bind`` was given.
        finish, finish_raw: Why the response ended, in common words, and in the provider's.
        scope: The ledger scope of an earlier run.
        unnamed: The ledger scope of the calls to which the provider gave no id.
        assistant: The assistant's messages; empty where they are stored beside the record.
        calls: The calls, in order.
        answer: The answer.
        usage: The tokens of the response.
        warnings: What was said of the response when it came, and does not stand in its messages.
        is_stale: Whether the record was in a store that is not signed, so its calls may have run
            since.
    """

    provider: str
    strict: Strictness
    calls: tuple[StoredCallState, ...]
    finish: Finish | None = None
    finish_raw: str | None = None
    scope: str | None = None
    unnamed: str | None = None
    assistant: tuple[Any, ...] = ()
    answer: AnswerState | None = None
    usage: Usage | None = None
    warnings: tuple[ResponseWarning, ...] = ()
    is_stale: bool = False

    @property
    def is_secret(self) -> bool:
        """Whether a call or the answer may hold a secret; the model may
        then have repeated it anywhere.
        """
        return any(call.is_secret for call in self.calls) or (
            self.answer is not None and self.answer.is_secret
        )


_UNSIGNED: Mapping[StoredState, StoredState] = {"approved": "pending"}
HIDDEN = "it was stored without its secrets: call resume() with the token from pause(), or edit it"
"""Why a call that was stored without its secrets cannot run."""


def unsigned(state: PlanState, *, secrets: bool) -> PlanState:
    """Return the record for a store that is not signed: without approvals and,
    unless ``secrets``, without secrets.

    The assistant's messages are left out, because whoever stores a turn of a conversation stores
    its messages.
    """
    calls = [replace(call, state=_UNSIGNED.get(call.state, call.state)) for call in state.calls]
    answer, warnings = state.answer, state.warnings
    if not secrets:
        if state.is_secret:
            warnings = tuple(map(_without_words, warnings))
        calls = [_without_secrets(call) if call.is_secret else call for call in calls]
        if answer is not None and answer.is_secret:
            why = answer.error and {**answer.error, "text": "", "problems": []}
            answer = replace(
                answer, value=None, text="", exact="", error=why, coercions=(), unstorable=HIDDEN
            )
    return replace(
        state,
        calls=tuple(calls),
        answer=answer,
        warnings=warnings,
        assistant=(),
        is_stale=True,
    )


def _without_words(warning: ResponseWarning) -> ResponseWarning:
    hidden = "its words were not stored, because a call takes a secret"
    if warning.rule in QUOTING:
        return warning._replace(message=hidden)
    return warning


def _without_secrets(call: StoredCallState) -> StoredCallState:
    why = "" if call.state == "answered" else HIDDEN
    return replace(call, raw=None, written={}, given=None, exact="", unstorable=why)


def to_json(state: PlanState) -> JsonObject:
    """Return the record as JSON; bytes are encoded."""
    encoded: JsonObject = to_json_value({"version": TURN_VERSION, **asdict(state)})
    return encoded


def from_json(given: Any) -> PlanState:
    """Read the record that ``to_json`` wrote.

    Raises:
        ValueError: The value is not the record of a turn, or has another version.
    """
    try:
        body = from_json_value(given)
        version = body.pop("version")
        if version != TURN_VERSION:
            raise ValueError(f"the turn has version {version}, not version {TURN_VERSION}")
        calls = tuple(StoredCallState(**call) for call in body.pop("calls"))
        answer = body.pop("answer")
        if answer is not None:
            coercions = tuple(map(tuple, answer.pop("coercions")))
            output = OutputRef(*answer.pop("output"))
            answer = AnswerState(**answer, output=output, coercions=coercions)
        assistant = tuple(body.pop("assistant"))
        # A record that was written before these were known does not have them.
        usage, warnings = body.pop("usage", None), body.pop("warnings", ())
        return PlanState(
            **body,
            calls=calls,
            answer=answer,
            assistant=assistant,
            usage=None if usage is None else Usage(*usage),
            warnings=tuple(ResponseWarning(*warning) for warning in warnings),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"this is not the record of a turn: {error!r}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTarget:
    """Stands for the target of a restored call, where this process has no such
    target or it would not do the same.

    The call keeps its place and can be denied. It cannot run, unless it is edited and ``handler``
    is there.
    """

    call: StoredCallState
    why: str = ""
    code: Lost = "tools_changed"
    handler: "Handler | None" = None
    bound_strict: Strictness = "auto"
    may_return_null: bool = False
    takes_text: bool = False
    runs_code: bool = False
    runs_alone: bool = True
    approve: bool = True

    @property
    def name(self) -> str | None:
        """The name of the tool that was called."""
        return self.call.tool

    @property
    def effects(self) -> frozenset[Effect]:
        """What the tool is known to do: nothing is known of it."""
        return frozenset()

    @property
    def is_answer(self) -> bool:
        """Whether the call holds the answer in a type."""
        return self.call.is_answer

    @property
    def has_secrets(self) -> bool:
        """Whether the arguments may hold a secret."""
        return self.call.is_secret

    @property
    def back(self) -> None:
        """``None``: the arguments are read as they are."""
        return

    def received(self, arguments: Any) -> JsonObject | None:
        """Return the arguments as a person saw them."""
        del arguments
        return self.call.shown

    def shown(self, validated: Any) -> JsonObject:
        """Return the arguments as a person saw them."""
        del validated
        return self.call.shown or {}

    def unchecked(self, arguments: Any) -> list[tuple[str, str]]:
        """Return no paths."""
        del arguments
        return []


@dataclass(frozen=True, slots=True)
class StoredAnswerTarget:
    """Stands for the target of an answer, where only the record of the answer is here."""

    state: AnswerState

    @property
    def name(self) -> str:
        """The name of the output."""
        return self.state.output.name

    @property
    def has_secrets(self) -> bool:
        """Whether the answer may hold a secret."""
        return self.state.is_secret

    def stored(self, answer: Any) -> AnswerState:
        """Return the record."""
        del answer
        return self.state

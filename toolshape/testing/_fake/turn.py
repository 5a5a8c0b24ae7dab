"""One scripted response of a fake."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolshape._families.wire.server import Refusal
from toolshape._records.calls import JsonObject
from toolshape._records.errors import UsageError, did_you_mean
from toolshape._tools.tool import Tool, record_of
from toolshape._validation.settings import ValidationSettings
from toolshape.testing._fake.spoken import SpokenValue, validate_answer
from toolshape.testing._mistakes import Slip, SlipKind, slips

Cut: TypeAlias = Literal["length", "connection", "stream"]


_MESSAGES = {
    401: "the key is not valid", 403: "this key may not do that", 404: "there is no such model",
    408: "it took too long",
    429: "too many requests", 500: "something went wrong", 503: "the service is not available",
    529: "overloaded",
}  # fmt: skip


class ScriptedCall(NamedTuple):
    """A scripted call.

    ``arguments`` are in canonical form, or are the malformed payload of a ``Slip``. If ``is_raw``
    is true, the fake sends them unchanged. If ``is_invented`` is true, no such tool exists.
    Otherwise the request must offer the tool.
    """

    name: str
    tool: Tool[..., Any] | None
    arguments: Any
    is_raw: bool = False
    is_invented: bool = False


class Turn:
    """One response, built step by step: text and calls, an error, a recorded body,
    or a response that breaks off.

    ``tools`` are the tools that ``calls`` can find by name. If a function passed to
    ``Fake.answers`` returns a turn, the fake also looks up the names among its own tools.
    """

    __slots__ = ("_tools", "answer", "body", "cut", "failure", "is_truncated", "scripted", "text")

    def __init__(self, tools: Mapping[str, Tool[..., Any]] | None = None) -> None:
        self._tools = {} if tools is None else tools
        self.text = ""
        self.scripted: list[ScriptedCall] = []
        self.cut: Cut | None = None
        self.failure: Refusal | None = None
        self.body: JsonObject | None = None
        self.answer: SpokenValue | None = None
        self.is_truncated = False  # a slip has already truncated a call in this turn

    def __repr__(self) -> str:
        return f"Turn({self})"

    def __str__(self) -> str:
        if self.failure is not None:
            return f"fails({self.failure.status})"
        if self.body is not None:
            return "replays(...)"
        parts = [f"says({self.text!r})"] if self.text else []
        parts += (
            [f"says({self.answer.canonical!r}, output={self.answer.record.name})"]
            if self.answer
            else []
        )
        parts += [
            f"{'invents' if call.is_invented else 'calls'}({call.name}, {call.arguments!r})"
            for call in self.scripted
        ]
        parts += [f"cuts({self.cut!r})"] if self.cut else []
        return ".".join(parts) or "says('')"

    def says(self, answer: Any, *, output: Any = None) -> "Turn":
        """Append text, or add an answer in the form that the request asks for.

        Args:
            answer: Text, or a value such as an instance of a pydantic model. The fake writes the
                value so that it fits the schema in the request.
            output: The ``Output`` of the value, or the output's type. The default is the type of
                the value.

        Raises:
            UsageError: The value is not valid for the output's type, or the turn already has an
                answer.
            DefinitionError: The type cannot be an output.
        """
        if isinstance(answer, str) and output is None:
            self.text += answer
            return self
        if self.answer is not None:
            raise UsageError("a turn can hold only one answer, and this turn already has an answer")
        self.answer = validate_answer(answer, output)
        return self

    def calls(
        self,
        tool: Tool[..., Any] | str,
        given: Mapping[str, Any] | None = None,
        /,
        *,
        slip: SlipKind | None = None,
        raw: Mapping[str, Any] | str | None = None,
        **arguments: Any,
    ) -> "Turn":
        """Add a call. The tool validates the arguments immediately.

        Args:
            tool: A tool or its name.
            given: Arguments as a mapping, for example if an argument is named ``slip`` or ``raw``.
            slip: A kind of mistake that models often make. The fake puts this mistake into the
                arguments.
            raw: Arguments, as an object or as text, to send unchanged and without validation. Use
                ``raw`` for values that toolshape coerces or rejects, such as ``{"days": "2"}``.
            **arguments: Valid arguments, in canonical form.

        Raises:
            CallError: The tool rejects the arguments.
            UsageError: No tool of the fake has this name, or the arguments are not JSON. Or the
                mistake is unknown, or does not apply to these arguments. Or ``raw`` is combined
                with other arguments.
        """
        if isinstance(tool, str):
            known_tool = self._tools.get(tool)
        else:
            known_tool = tool
        name = tool if isinstance(tool, str) else tool.name
        if known_tool is None and self._tools:
            hint = did_you_mean(name, self._tools) or f"the tools are {', '.join(self._tools)}"
            raise UsageError(
                f"this fake has no tool {name!r} ({hint}); for a name that the model makes up, "
                f"use invents({name!r})"
            )
        # Arguments are validated here, not when the turn is played: a mistake in a test then points
        # at its own line. The form that the tool's rules would coerce is refused as well, because a
        # script says what a right call looks like, and a slip says what is wrong with it.
        if raw is not None:
            if given or arguments or slip:
                raise UsageError(
                    f"raw= holds all arguments of {name}: pass no other arguments, and no slip="
                )
            self.scripted.append(ScriptedCall(name, known_tool, _to_json(name, raw), is_raw=True))
            return self
        canonical: JsonObject = _to_json(name, {**(given or {}), **arguments})
        if known_tool is not None:
            record_of(known_tool).compile_validation(
                ValidationSettings(known_tool.name, frozenset())
            )(canonical)
        if slip is None:
            applied_slip = None
        else:
            applied_slip = _find_slip(known_tool, name, canonical, slip)
        self.scripted.append(
            ScriptedCall(
                name, known_tool, canonical if applied_slip is None else applied_slip.payload
            )
        )
        self.is_truncated = self.is_truncated or slip == "truncated"
        return self

    def invents(
        self, name: str, given: Mapping[str, Any] | None = None, /, **arguments: Any
    ) -> "Turn":
        """Add a call of a tool that does not exist, as if the model made it up.

        Args:
            name: The name.
            given: Arguments as a mapping.
            **arguments: Arguments.

        Raises:
            UsageError: The fake has a tool with this name, or the arguments are not JSON.
        """
        if name in self._tools:
            raise UsageError(f"{name!r} is a tool of this fake: use calls({name!r})")
        json_arguments = _to_json(name, {**(given or {}), **arguments})
        self.scripted.append(ScriptedCall(name, None, json_arguments, is_invented=True))
        return self

    def replays(self, body: JsonObject) -> "Turn":
        """Send a recorded body instead of text and calls.

        If the request asks for a stream, send the body as events.
        """
        self.body = body
        return self

    def fails(
        self,
        status: int,
        *,
        retry_after: float | None = None,
        message: str | None = None,
        code: str | None = None,
    ) -> "Turn":
        """Answer with an error in the provider's format, instead of text and calls.

        Args:
            status: The HTTP status.
            retry_after: The ``retry-after`` header: how many seconds the client should wait before
                a retry.
            message: The error message.
            code: The error code, for providers whose errors have a code.

        Raises:
            UsageError: The status is not an error status.
        """
        if not 400 <= status <= 599:  # noqa: PLR2004 - HTTP error statuses
            raise UsageError(f"an error has a status from 400 to 599, not {status}")
        self.failure = Refusal(
            status, message or _MESSAGES.get(status, "it failed"), code, None, retry_after
        )
        return self

    def cuts(self, how: Cut) -> "Turn":
        """Break off the response.

        Args:
            how: With ``"length"``, the response stops at the token limit, inside its last call or
                its text. With ``"connection"``, the connection closes before the response. With
                ``"stream"``, the connection closes in the middle of the response.

        Raises:
            UsageError: ``how`` is not one of these values.
        """
        if how not in get_args(Cut):
            raise UsageError(f"cuts() takes {', '.join(map(repr, get_args(Cut)))}, not {how!r}")
        self.cut = how
        return self


def copy_with_tools(turn: Turn, tools: Mapping[str, Tool[..., Any]]) -> Turn:
    """Copy a turn, and look up the tools of its calls by name. The tools validate the arguments.

    Raises:
        CallError: A tool rejects its arguments.
        UsageError: A call names a tool that does not exist, or an invented call has the name of a
            tool.
    """
    copied_turn = Turn(tools)
    copied_turn.text, copied_turn.cut, copied_turn.failure, copied_turn.body = (
        turn.text,
        turn.cut,
        turn.failure,
        turn.body,
    )
    copied_turn.is_truncated, copied_turn.answer = turn.is_truncated, turn.answer
    for call in turn.scripted:
        if call.is_invented:
            copied_turn.invents(call.name, call.arguments)
        elif call.tool is None and call.is_raw:
            copied_turn.calls(call.name, raw=call.arguments)
        elif call.tool is None:
            copied_turn.calls(call.name, call.arguments)
        else:
            copied_turn.scripted.append(call)
    return copied_turn


def _to_json(name: str, arguments: Any) -> Any:
    try:
        return to_jsonable_python(arguments)
    except PydanticSerializationError as error:
        raise UsageError(f"the arguments of {name} cannot be written as JSON: {error}") from error


def _find_slip(
    tool: Tool[..., Any] | None, name: str, arguments: JsonObject, kind: SlipKind
) -> Slip:
    if kind not in get_args(SlipKind):
        hint = (
            did_you_mean(kind, get_args(SlipKind)) or f"use one of {', '.join(get_args(SlipKind))}"
        )
        raise UsageError(f"slip {kind!r} is unknown: {hint}")
    if tool is None:
        raise UsageError(
            f"{name!r} is not a tool of this fake, and slip= needs the tool: pass it to "
            "Fake(provider, tools)"
        )
    all_slips = list(slips(tool, arguments))
    possible = [slip for slip in all_slips if slip.kind == kind]
    if not possible:
        kinds = ", ".join(dict.fromkeys(slip.kind for slip in all_slips)) or "none"
        raise UsageError(
            f"slip {kind!r} does not apply to these arguments of {name}; possible slips: {kinds}"
        )
    if kind == "truncated":
        return possible[len(possible) // 2]
    return next((slip for slip in possible if isinstance(slip.payload, dict)), possible[0])

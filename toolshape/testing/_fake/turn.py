"""``Turn``: what a fake says in one response, as it was scripted."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolshape._calls import JsonObject
from toolshape._errors import UsageError, did_you_mean
from toolshape._tool import Tool, record_of
from toolshape._validation.settings import ValidationSettings
from toolshape._wire.server import Refusal
from toolshape.testing._mistakes import Slip, SlipKind, slips

Cut: TypeAlias = Literal["length", "connection", "stream"]


_MESSAGES = {
    401: "the key is not valid", 403: "this key may not do that", 404: "there is no such model", 408: "it took too long",
    429: "too many requests", 500: "something went wrong", 503: "the service is not available", 529: "overloaded",
}  # fmt: skip


class ScriptedCall(NamedTuple):
    """A call to be made: of a tool, or of a name that is none; ``arguments`` are canonical, or what a slip made of them."""

    name: str
    tool: Tool[..., Any] | None
    arguments: Any


class Turn:
    """One response, built step by step: texts and calls in one, or an error, or a response that breaks off.

    ``tools`` are the tools that can be named in ``calls`` by their names; a turn that a function answers with knows
    those of the fake.
    """

    __slots__ = ("_tools", "body", "cut", "failure", "is_truncated", "scripted", "text")

    def __init__(self, tools: Mapping[str, Tool[..., Any]] | None = None) -> None:
        self._tools = {} if tools is None else tools
        self.text = ""
        self.scripted: list[ScriptedCall] = []
        self.cut: Cut | None = None
        self.failure: Refusal | None = None
        self.body: JsonObject | None = None
        self.is_truncated = False  # a call of it is cut off already

    def __repr__(self) -> str:
        return f"Turn({self})"

    def __str__(self) -> str:
        if self.failure is not None:
            return f"fails({self.failure.status})"
        if self.body is not None:
            return "replays(...)"
        parts = [f"says({self.text!r})"] if self.text else []
        parts += [f"calls({one.name}, {one.arguments!r})" for one in self.scripted]
        parts += [f"cuts({self.cut!r})"] if self.cut else []
        return ".".join(parts) or "says('')"

    def says(self, text: str) -> "Turn":
        """Add a text."""
        self.text += text
        return self

    def calls(
        self,
        tool: Tool[..., Any] | str,
        given: Mapping[str, Any] | None = None,
        /,
        *,
        slip: SlipKind | None = None,
        **arguments: Any,
    ) -> "Turn":
        """Add a call; the tool validates its arguments now.

        Args:
            tool: A tool, or the name of one; any other name is a tool that the model makes up.
            given: Arguments as a mapping, where one of them is named ``slip``.
            slip: A typical mistake of models, to be made of these arguments.
            **arguments: Right arguments, in canonical form.

        Raises:
            CallError: The tool refuses the arguments.
            UsageError: No such mistake can be made of them, or they are no JSON.
        """
        found = self._tools.get(tool) if isinstance(tool, str) else tool
        name = tool if isinstance(tool, str) else tool.name
        try:
            canonical: JsonObject = to_jsonable_python({**(given or {}), **arguments})
        except PydanticSerializationError as error:
            raise UsageError(f"the arguments of {name} are no JSON: {error}") from error
        if found is not None:
            record_of(found).compile_validation(ValidationSettings(found.name, frozenset()))(canonical)
        made = None if slip is None else _slip(found, name, canonical, slip)
        self.scripted.append(ScriptedCall(name, found, canonical if made is None else made.payload))
        self.is_truncated = self.is_truncated or slip == "truncated"
        return self

    def replays(self, body: JsonObject) -> "Turn":
        """Send a body that was recorded, in place of texts and calls: as it is, or as the events of its stream."""
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
        """Answer with an error in the provider's form, in place of texts and calls.

        Args:
            status: HTTP's.
            retry_after: The seconds after which the provider says to try again.
            message: What it says.
            code: The provider's word for it, where its errors have a place for one.

        Raises:
            UsageError: The status is none of an error.
        """
        if not 400 <= status <= 599:  # noqa: PLR2004 - HTTP's
            raise UsageError(f"an error has a status from 400 to 599, not {status}")
        self.failure = Refusal(status, message or _MESSAGES.get(status, "it failed"), code, None, retry_after)
        return self

    def cuts(self, how: Cut) -> "Turn":
        """Break the response off.

        Args:
            how: ``"length"``: it ends for its length, in the middle of its last call or of its text; ``"connection"``:
                the connection is closed before anything comes; ``"stream"``: it is closed in the middle.

        Raises:
            UsageError: There is no such way.
        """
        if how not in get_args(Cut):
            raise UsageError(f"a response is cut by {', '.join(map(repr, get_args(Cut)))}, not {how!r}")
        self.cut = how
        return self


def with_tools(turn: Turn, tools: Mapping[str, Tool[..., Any]]) -> Turn:
    """A turn whose calls that name one of these tools are calls of that; the tool validates their arguments.

    Raises:
        CallError: A tool refuses the arguments.
    """
    made = Turn(tools)
    made.text, made.cut, made.failure, made.body = turn.text, turn.cut, turn.failure, turn.body
    made.is_truncated = turn.is_truncated
    for one in turn.scripted:
        if one.tool is None and one.name in tools:
            made.calls(one.name, one.arguments)
        else:
            made.scripted.append(one)
    return made


def _slip(tool: Tool[..., Any] | None, name: str, arguments: JsonObject, kind: SlipKind) -> Slip:
    if kind not in get_args(SlipKind):
        hint = did_you_mean(kind, get_args(SlipKind)) or f"there are {', '.join(get_args(SlipKind))}"
        raise UsageError(f"there is no mistake {kind!r}: {hint}")
    if tool is None:
        raise UsageError(f"{name!r} is no tool of this fake: slip= needs the tool, as Fake(provider, tools)")
    found = list(slips(tool, arguments))
    possible = [one for one in found if one.kind == kind]
    if not possible:
        kinds = ", ".join(dict.fromkeys(one.kind for one in found)) or "none"
        raise UsageError(f"no mistake {kind!r} can be made of these arguments of {name}; there are: {kinds}")
    if kind == "truncated":
        return possible[len(possible) // 2]
    return next((one for one in possible if isinstance(one.payload, dict)), possible[0])

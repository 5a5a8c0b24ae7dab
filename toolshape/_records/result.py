"""The outcome of one call, a call that waits, and a warning of a response."""

import copy
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, cast

from toolshape._records.calls import Call, Coercion, JsonObject, WireMessage
from toolshape._records.errors import CallError
from toolshape._records.parts import Part
from toolshape._records.shown import escape_invisible, shorten, shown_json

REFUSED = frozenset(
    {"unknown_tool", "malformed_arguments", "truncated_arguments", "invalid_arguments"}
)
"""The error codes of calls that are not run because the tool is
unknown or the arguments are invalid.
"""


class Result(NamedTuple):
    """The outcome of one call: its ``value`` or its ``error``; both are set only
    if the value could not be sent.

    ``text`` is the text that the model reads: a string verbatim, any other value as compact JSON,
    or the error's message. ``parts`` are the texts, images and files that the tool returned, if
    any; ``text`` names the images and files. ``coercions`` lists every coercion of the arguments;
    ``elapsed`` is the time in the tool, in seconds. ``is_text`` is ``True`` if the value is a
    string and ``text`` is this string, and ``False`` if ``text`` is the JSON of the value. It is
    ``None`` for parts, for text that was cut or marked as untrusted, and if it was not recorded.
    ``received`` holds the ``arguments``, if they were recorded before the tool ran.
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
    received: JsonObject | None = None

    def __dir__(self) -> list[str]:
        """Return the names that a page documents."""
        return [name for name in tuple.__dir__(self) if name not in ("is_text", "received")]

    def __repr__(self) -> str:
        if self.error is None:
            outcome = shorten(self.value)
        else:
            outcome = f"error {self.error.code}"
        return f"Result({escape_invisible(self.name)} -> {outcome})"

    @property
    def id(self) -> str:
        """The call's id."""
        return self.call.id

    @property
    def name(self) -> str:
        """The tool's own name; the name that the model wrote, if there is no such tool."""
        return self.call.name or self.call.wire_name

    @property
    def arguments(self) -> JsonObject | None:
        """The arguments that the function got, as JSON: validated, coerced, with
        defaults; ``None`` for invalid calls.

        Under a hook, the arguments are recorded before the tool runs. Without a hook, each access
        validates the call's raw arguments again. In that case, changes that the tool made to its
        arguments are missing, and a validator that is not deterministic can return other values.
        """
        if self.error is not None and self.error.code in REFUSED:
            return None
        if self.received is not None:
            return copy.deepcopy(self.received)
        if self.call.reader is None:
            return None
        return self.call.reader.received(self.call.arguments_raw)

    @property
    def ok(self) -> bool:
        """Whether the tool returned a value."""
        return self.error is None

    def unwrap(self) -> Any:
        """Return the value, or raise the error.

        Raises:
            CallError: The call failed; its ``__cause__`` is the original exception, if there is
                one.
        """
        if self.error is not None:
            raise self.error
        return self.value


class PendingCall(NamedTuple):
    """A call that waits for approval.

    ``arguments`` are the arguments that the function would get, as JSON: validated, coerced, with
    defaults. ``coercions`` lists the changes to the arguments that the model wrote.
    """

    call: Call
    arguments: JsonObject
    coercions: tuple[Coercion, ...] = ()

    def __repr__(self) -> str:
        given = shown_json(self.call, self.arguments)
        return f"PendingCall({escape_invisible(self.name)}, {given}, id={shorten(self.id)})"

    @property
    def id(self) -> str:
        """The call's id."""
        return self.call.id

    @property
    def name(self) -> str:
        """The tool's own name."""
        return str(self.call.name)


class Usage(NamedTuple):
    """The tokens of a response, from the provider's own numbers.

    ``None`` where the provider says nothing.

    ``input_tokens`` counts the whole request, with the ``cached_tokens``, which were read from a
    cache. ``output_tokens`` counts all that the model wrote, with the ``reasoning_tokens``.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


def add_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Add the tokens of several responses; ``None`` if no response says anything."""
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    return Usage(*map(_add_counts, zip(*known, strict=True)))


def usage_text(usage: Usage) -> str:
    """Return the usage on one line, without what the provider did not count."""
    parts = [(usage.input_tokens, "in"), (usage.cached_tokens, "of them cached")]
    parts += [(usage.output_tokens, "out"), (usage.reasoning_tokens, "of them reasoning")]
    return f"tokens: {', '.join(f'{count:,} {name}' for count, name in parts if count)}"


def _add_counts(counts: Iterable[int | None]) -> int | None:
    said = [count for count in counts if count is not None]
    if said:
        return sum(said)
    return None


class WaitingItem(NamedTuple):
    """An item of a response that the app must answer, and that is no call of a tool here.

    ``kind`` is the provider's word, such as ``mcp_approval_request`` or ``computer_call``; ``id``
    is the id that the answer names; ``item`` is the item as it came.
    """

    kind: str
    id: str
    item: JsonObject


class ResponseWarning(NamedTuple):
    """A part of a response that needs attention, although the response could be read.

    ``rule`` says what was found, and ``message`` what to do:

    - ``call_in_text``: The text contains the opening mark of a call, but was not read as a call.
      ``text_format`` names the format of the call.
    - ``cut_at_length``: The response called no tool, and ended at its length limit, so its text may
      end anywhere.
    - ``empty_answer``: The response holds neither text nor a call.
    - ``events_lost``: The events of the stream are numbered, and some did not arrive.
    - ``no_end``: The stream has ended, or was left, before the provider said how the response
      ended.
    - ``not_over``: The model's turn is not over: ask again with the messages so far, or fetch the
      response later.
    - ``waits_for_app``: The model waits for the app; see ``Results.waits_for_app``.
    - ``provider_error``: The provider ended the response with an error. Its calls were not run.
    - ``malformed_call``: The provider could not read the call that the model wrote.
    - ``withdrawn``: The provider took back a call that waits in a paused plan: deny it when you
      resume the plan.
    - ``other_choice``: Another choice also calls tools; its calls were not run.
    - ``unread``: The response holds something of an unknown kind where a call is expected.
    - ``pattern_not_checked``: A text in a call is so long that matching it against a pattern of the
      tool's definition may take too long. The call was accepted without that. The message names the
      tool, the path and the pattern.
    - ``template_mark``: A result holds a mark with which the model's chat template begins or ends a
      message, so the model may read what follows as a message of its own. The result is sent as it
      is. ``text_format`` names the format.

    A warning of a response that did not end with calls is also logged, because a program that does
    not read it may take the response for an answer; ``cut_at_length``, ``empty_answer`` and
    ``no_end`` are not, which every app meets.
    """

    rule: Literal[
        "call_in_text", "cut_at_length", "empty_answer", "events_lost", "malformed_call", "no_end",
        "not_over", "other_choice", "withdrawn",
        "pattern_not_checked", "provider_error", "template_mark", "unread", "waits_for_app",
    ]  # fmt: skip
    text_format: str
    message: str


QUOTING = frozenset({"malformed_call", "provider_error"})
"""The rules of warnings whose messages may quote what the model wrote, and so a secret."""


def make_sendable(messages: Sequence[WireMessage]) -> Sequence[WireMessage]:
    """Return the messages as received, but replace the values that no client can send.

    A lone surrogate becomes ``?``. A number that is NaN or outside the range of floats (1e400)
    becomes a string.
    """
    if is_json(messages):
        return messages
    try:
        replaced = _replace_unsendable(messages)
    except RecursionError:  # the client will reject the messages
        return messages
    if replaced == messages:
        return messages
    return cast("Sequence[WireMessage]", replaced)


def is_json(messages: Sequence[WireMessage]) -> bool:
    """Return whether every client can send the messages as they are; some clients also
    send bytes, which are no JSON.
    """
    try:
        _encode_strictly(messages).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True


# One encoder, because ``json.dumps`` makes one for each text.
_encode_strictly = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _replace_unsendable(node: Any) -> Any:
    if isinstance(node, dict):
        return {_replace_unsendable(key): _replace_unsendable(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [_replace_unsendable(value) for value in node]
    if isinstance(node, str):
        return node.encode(errors="replace").decode()
    if isinstance(node, float) and not math.isfinite(node):
        return str(getattr(node, "text", node))
    return node

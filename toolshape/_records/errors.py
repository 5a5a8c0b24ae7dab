"""The error tree, grouped by who must act, and the text of each error.

ToolshapeError
|- DefinitionError   the developer, at ``@tool``: lists every problem of the function at once
|- ExportError       the developer, at export: the tool cannot be sent to this provider
|- HistoryError      the developer, at a request: the conversation cannot be sent to this provider
|- UsageError        the developer, in use: an injected value is missing, a method is not bound, a
loop is running |- ResponseError     the integrator: the body is not a response of any known family
|- TokenError        the integrator: the given token cannot resume a paused plan |- AnswerError
the model: carried in ``Answer.error``; raised only by ``Answer.unwrap`` `- CallError         the
model: carried in ``Result.error``; raised only by ``Tool.call`` and ``Result.unwrap``

``ToolError`` is outside the tree: a tool raises it to send its own message to the model.
"""

import functools
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

CallErrorCode = Literal[
    "unknown_tool",
    "malformed_arguments",
    "truncated_arguments",
    "invalid_arguments",
    "tool_error",
    "tool_crashed",
    "tool_timeout",
    "cancelled",
    "denied",
    "pending",
    "not_run",
    "duplicate_call",
    "unknown_outcome",
    "unserialisable_result",
]

AnswerErrorCode = Literal[
    "refused_answer",
    "empty_answer",
    "truncated_answer",
    "answer_in_prose",
    "malformed_answer",
    "invalid_answer",
    "validator_crashed",
]

TokenRule = Literal[
    "malformed",
    "signature",
    "audience",
    "expired",
    "not_yet",
    "used",
    "in_use",
    "tools_changed",
    "arguments_changed",
]

_RETRYABLE: frozenset[CallErrorCode] = frozenset(
    {
        "unknown_tool",
        "malformed_arguments",
        "truncated_arguments",
        "invalid_arguments",
        "tool_timeout",
        "not_run",
    }
)
_MOST_PROBLEMS_SHOWN = 10
_MOST_NAMES_SHOWN = 20
_LONGEST_VALUE_SHOWN = 60
_LONGEST_WORD = 100
_LONGEST_PATH_SHOWN = 200
_CONTROL = r"[\x00-\x1f\x7f\x85\u2028\u2029]"


class Problem(NamedTuple):
    """One problem, and where it is.

    ``path`` is the place, in names that the reader knows (``"lines[1].qty"``; ``""`` for the
    whole). ``rule`` is the machine-readable name of the violated rule. ``expected``, ``got`` and
    ``hint`` are short phrases that complete "expected ..., got ..." and "did you mean ...".
    ``message`` is the whole sentence if that form does not fit. ``evidence`` is the dated source of
    a provider's rule: documentation or an observation.
    """

    path: str
    rule: str
    expected: str = ""
    got: str = ""
    hint: str = ""
    message: str = ""
    evidence: str = ""

    def __str__(self) -> str:
        sentence = self.message or f"expected {self.expected}" + (
            f", got {self.got}" if self.got else ""
        )
        if len(self.path) <= _LONGEST_PATH_SHOWN:
            path = self.path
        else:
            path = self.path[:_LONGEST_PATH_SHOWN] + "…"
        if path:
            sentence_with_path = f"{path}: {sentence}"
        else:
            sentence_with_path = sentence
        if self.hint:
            line = f"{sentence_with_path} ({self.hint})"
        else:
            line = sentence_with_path
        # A problem is one line.
        return re.sub(_CONTROL, lambda match: json.dumps(match[0])[1:-1], line)


class ToolshapeError(Exception):
    """The base class of toolshape's errors."""


class DefinitionError(ToolshapeError):
    """A function cannot be a tool, or a type cannot be an output.

    ``tool`` is the name of the tool or output, ``problems`` lists every reason, and ``location`` is
    ``file:line``. If the error is about several tools, both list all of them, and the path of each
    problem begins with a tool's name.
    """

    def __init__(
        self,
        *,
        tool: str,
        location: str,
        problems: Sequence[Problem],
        kind: Literal["a tool", "an output", "tools"] = "a tool",
    ) -> None:
        self.tool = tool
        self.location = location
        self.problems = tuple(problems)
        self.kind: Literal["a tool", "an output", "tools"] = kind
        reasons = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"{tool} cannot be {kind} ({location}):\n{reasons}")

    def __reduce__(self) -> Any:
        return _unpickle_error, (
            type(self),
            (),
            {
                "tool": self.tool,
                "location": self.location,
                "problems": self.problems,
                "kind": self.kind,
            },
        )


def join_errors(errors: Sequence[DefinitionError]) -> DefinitionError:
    """Return one error with the problems of all; a single error stays as it is."""
    if len(errors) == 1:
        return errors[0]
    return DefinitionError(
        tool=", ".join(dict.fromkeys(error.tool for error in errors)),
        location=", ".join(dict.fromkeys(error.location for error in errors)),
        problems=[
            problem._replace(path=".".join(filter(None, (error.tool, problem.path))))
            for error in errors
            for problem in error.problems
        ],
        kind="tools",
    )


class ExportError(ToolshapeError):
    """Tools cannot be sent to a provider.

    Each item of ``problems`` has a path and a rule, and says what to do.
    """

    def __init__(self, *, provider: str, tool: str | None, problems: Sequence[Problem]) -> None:
        self.provider = provider
        self.tool = tool
        self.problems = tuple(problems)
        reasons = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"{tool or 'these tools'} cannot be sent to {provider}:\n{reasons}")

    def __reduce__(self) -> Any:
        return _unpickle_error, (
            type(self),
            (),
            {"provider": self.provider, "tool": self.tool, "problems": self.problems},
        )


class HistoryError(ToolshapeError):
    """A conversation cannot be sent to a provider.

    Each problem has a path, a rule, evidence and a hint.
    """

    def __init__(self, *, provider: str, problems: Sequence[Problem]) -> None:
        self.provider = provider
        self.problems = tuple(problems)
        reasons = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"this conversation cannot be sent to {provider}:\n{reasons}")

    def __reduce__(self) -> Any:
        return _unpickle_error, (
            type(self),
            (),
            {"provider": self.provider, "problems": self.problems},
        )


class UsageError(ToolshapeError):
    """The developer used a tool wrongly. No tool has run when this error is raised."""


class ResponseError(ToolshapeError):
    """A response, a stream or a list of messages cannot be read. No tool was run.

    ``body`` is the unreadable value, either as the caller passed it or in parsed form.
    """

    def __init__(self, message: str, *, body: object) -> None:
        self.body = body
        super().__init__(message)

    def __reduce__(self) -> Any:
        return _unpickle_error, (type(self), self.args, {"body": self.body})


class TokenError(ToolshapeError):
    """A token cannot resume a paused plan here and now. No tool was run; ``rule`` names the
    reason.
    """

    def __init__(self, rule: TokenRule, message: str) -> None:
        self.rule: TokenRule = rule
        super().__init__(message)

    def __reduce__(self) -> Any:
        return type(self), (self.rule, str(self))


class ToolError(Exception):
    """Raise this error inside a tool to tell the model, in your own words, why the call failed.

    Args:
        text: The text that the model reads, verbatim.
        retryable: Whether a different call to the same tool may succeed; copied to
            ``CallError.retryable``.
    """

    text: str = ""
    retryable: bool = False

    def __init__(self, text: str, *, retryable: bool = False) -> None:
        self.text = str(text)
        self.retryable = retryable
        super().__init__(text)

    def __reduce__(self) -> Any:
        return _unpickle_error, (type(self), (self.text,), {"retryable": self.retryable})


class CallError(ToolshapeError):
    """A call was rejected or failed, so it has no value.

    ``code`` is the kind of failure, ``tool`` the name that the model used, and ``problems`` lists
    the invalid places. ``retryable`` says whether a different call may succeed. ``reference`` is
    the id under which the cause was logged, ``__cause__`` the original exception. ``arguments`` are
    the invalid arguments as JSON in the function's own form, coerced as far as possible;
    ``annotated`` is this JSON with a comment at each fault, if comments were requested. ``str()``
    is the text that the model reads: see ``for_model``.
    """

    def __init__(
        self,
        code: CallErrorCode,
        *,
        tool: str,
        problems: Sequence[Problem] = (),
        text: str = "",
        names: Sequence[str] = (),
        retryable: bool | None = None,
        reference: str | None = None,
        arguments: Any = None,
        annotated: str = "",
    ) -> None:
        self.code: CallErrorCode = code
        self.tool = tool
        self.problems = tuple(problems)
        self.text = text
        self.names = tuple(names)
        self.retryable = code in _RETRYABLE if retryable is None else retryable
        self.reference = reference
        self.arguments = arguments
        self.annotated = annotated
        super().__init__(code)

    def __str__(self) -> str:
        return for_model(self)

    def __reduce__(self) -> Any:
        # The cause is not pickled: the log has it, under the reference.
        names = (
            "tool",
            "problems",
            "text",
            "names",
            "retryable",
            "reference",
            "arguments",
            "annotated",
        )
        return _unpickle_error, (
            type(self),
            (self.code,),
            {name: getattr(self, name) for name in names},
        )


class AnswerError(ToolshapeError):
    """A response holds no answer of the requested type.

    ``code`` is the kind of failure, ``output`` the name of the ``Output``, and ``problems`` lists
    the invalid places. ``retryable`` says whether another answer may be valid. ``text`` is the text
    of a refusal. ``reference`` is the id under which a crash of a validator was logged,
    ``__cause__`` the original exception. ``str()`` is the text that the model reads, which asks for
    the answer again.
    """

    def __init__(
        self,
        code: AnswerErrorCode,
        *,
        output: str,
        problems: Sequence[Problem] = (),
        text: str = "",
        reference: str | None = None,
    ) -> None:
        self.code: AnswerErrorCode = code
        self.output = output
        self.problems = tuple(problems)
        self.text = text
        self.reference = reference
        self.retryable = code not in ("refused_answer", "validator_crashed")
        super().__init__(code)

    def __str__(self) -> str:
        return _sentence_for_answer(self).encode("utf-8", "backslashreplace").decode()

    def __reduce__(self) -> Any:
        names = ("output", "problems", "text", "reference")
        return _unpickle_error, (
            type(self),
            (self.code,),
            {name: getattr(self, name) for name in names},
        )


def _sentence_for_answer(error: AnswerError) -> str:
    if error.code == "validator_crashed":
        return (
            f"The answer could not be checked for an internal reason (reference {error.reference})."
        )
    name = error.output
    if error.code == "invalid_answer":
        return (
            f"The answer does not fit the schema of {name}. Send it again, whole, with these "
            f"corrected:\n{_problems(error)}"
        )
    return (
        f"{_WRONG_ANSWERS[error.code].format(problems=_problems(error))} "
        f"{_SEND_AGAIN.format(name=name)}"
    )


_SEND_AGAIN = "Send {name} as JSON that fits the schema, and nothing else."
_WRONG_ANSWERS = {
    "refused_answer": "No answer was given. Answer if you can.",
    "empty_answer": "The answer was empty.",
    "truncated_answer": "The answer was cut off. Keep it shorter if necessary.",
    "answer_in_prose": "The answer holds more than JSON: {problems}.",
    "malformed_answer": "The answer is not JSON: {problems}.",
}


def _unpickle_error(
    kind: type[Exception], given: tuple[Any, ...], named: dict[str, Any]
) -> Exception:
    """Rebuild an error that was pickled or copied."""
    return kind(*given, **named)


def for_model(error: CallError) -> str:
    """Return the error as the model reads it: one short line per problem, and no internal details.

    The text never contains the text of an exception, except for a ``ToolError`` raised by the tool
    and a ``ValueError`` raised by a user validator: both are written for the caller.
    """
    # A lone surrogate cannot be sent.
    return _sentence_for_call(error).encode("utf-8", "backslashreplace").decode()


def _sentence_for_call(error: CallError) -> str:  # noqa: C901, PLR0911, PLR0912 - one line per code
    # The sentences are read by models: each says what did not happen, so that the model neither
    # repeats an effect nor relies on one, and then what to do. No sentence quotes an exception of
    # the app, which may hold a secret.
    match error.code:
        case "unknown_tool":
            return _unknown_tool(error)
        case "malformed_arguments":
            is_over_limit = any(
                problem.rule in ("too_deep", "too_much_wrong") for problem in error.problems
            )
            if is_over_limit:
                fault = "cannot be processed"
            else:
                fault = "are not a JSON object"
            return f"The arguments of {error.tool} {fault}: {_problems(error)}"
        case "truncated_arguments":
            return (
                f"The arguments of {error.tool} were cut off: {_problems(error)}. "
                "Nothing was run. Send the whole call again, shorter if necessary."
            )
        case "invalid_arguments":
            problems = error.annotated or _problems(error)
            return f"The arguments of {error.tool} are invalid, nothing was run:\n{problems}"
        case "tool_error":
            return error.text or f"{error.tool} failed without giving a reason."
        case "tool_crashed":
            return f"{error.tool} failed for an internal reason (reference {error.reference})."
        case "tool_timeout":
            return (
                f"{error.tool} did not finish within {error.text}. It may still have had an effect."
            )
        case "cancelled":
            return f"{error.tool} was cancelled before it finished. It may have had an effect."
        case "denied":
            return f"{error.tool} was not allowed and was not run" + (
                f": {error.text}" if error.text else "."
            )
        case "pending":
            return f"{error.tool} is waiting for approval and was not run."
        case "not_run":
            return f"{error.tool} was not run{f': {error.text}' if error.text else '.'}"
        case "duplicate_call":
            return (
                f"{error.tool} was not run: another call has this id, for another tool or with "
                "other arguments. "
                "Call it again with a new id."
            )
        case "unknown_outcome":
            return _unknown_outcome(error)
        case "unserialisable_result":
            return f"{error.tool} ran, but its result cannot be sent (reference {error.reference})."


def _unknown_outcome(error: CallError) -> str:
    if error.text == "ledger":
        return (
            f"{error.tool} was not run now, because it could not be found out whether it has run "
            "before. "
            "Find out before you call it again."
        )
    if error.text == "running":
        return (
            f"{error.tool} is still running elsewhere and was not started a second time. Its "
            "outcome is not known yet."
        )
    return (
        f"{error.tool} was started but interrupted. It may or may not have had an effect, and "
        "was not run again. "
        "Find out which before you call it again."
    )


def nearest(word: str, words: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the closest word; ``None`` if no word is close enough, or if
    ``word`` is too long to compare.
    """
    if len(word) > _LONGEST_WORD:
        return None
    import difflib  # noqa: PLC0415 - only errors need it

    names = words if isinstance(words, (list, tuple)) else list(words)
    if len(names) > _MOST_COMPARED:
        names = _names_sharing_pieces(word, tuple(names))
    by_folded = {name.casefold(): name for name in names}
    matches = difflib.get_close_matches(word.casefold(), by_folded, 1, likeness)
    return by_folded[matches[0]] if matches else None


_MOST_COMPARED = 50
_PIECE = 3


def _names_sharing_pieces(word: str, names: tuple[str, ...]) -> list[str]:
    """Return the names that share the rarest three-letter pieces with a word:
    comparing all names can take seconds.
    """
    by_piece = _index_by_piece(names)
    candidates: dict[str, None] = {}
    for piece in sorted(_pieces(word), key=lambda text: len(by_piece.get(text, ()))):
        for name in by_piece.get(piece, ())[: _MOST_COMPARED - len(candidates)]:
            candidates[name] = None
    return list(candidates)


@functools.lru_cache(maxsize=8)
def _index_by_piece(names: tuple[str, ...]) -> dict[str, list[str]]:
    by_piece: dict[str, list[str]] = {}
    for name in names:
        for piece in _pieces(name):
            by_piece.setdefault(piece, []).append(name)
    return by_piece


def _pieces(name: str) -> list[str]:
    """Return the lowercase pieces of a name, with its ends marked, in an order
    that is the same in every process.
    """
    marked = f"  {name[:_LONGEST_WORD].lower()} "
    return list(
        dict.fromkeys(marked[start : start + _PIECE] for start in range(len(marked) - _PIECE + 1))
    )


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return a hint with the closest word, or an empty string if no word is close."""
    closest = nearest(word, words)
    if closest:
        return f'did you mean "{closest}"?'
    return ""


def preview(value: Any) -> str:
    """Return short JSON that shows a value from a model; a long value is
    encoded only as far as it is shown.
    """
    if isinstance(value, str):
        value = value[: _LONGEST_VALUE_SHOWN + 1]
    text = ""
    for piece in _encoder.iterencode(value):
        text += piece[: _LONGEST_VALUE_SHOWN + 1]
        if len(text) > _LONGEST_VALUE_SHOWN:
            return text[:_LONGEST_VALUE_SHOWN] + "…"
    return text


_encoder = json.JSONEncoder(ensure_ascii=False, default=lambda unknown: type(unknown).__name__)


def _problems(error: CallError | AnswerError) -> str:
    lines = [str(problem) for problem in error.problems[:_MOST_PROBLEMS_SHOWN]]
    hidden_count = sum(
        int(problem.got) if problem.rule == "more" else 1
        for problem in error.problems[_MOST_PROBLEMS_SHOWN:]
    )
    if hidden_count:
        lines.append(f"and {hidden_count} more")
    return "\n".join(lines)


def _unknown_tool(error: CallError) -> str:
    sentence = f"There is no tool named {preview(error.tool)}."
    if error.text:
        sentence += f' Did you mean "{error.text}"?'
    if error.names:
        hidden_count = len(error.names) - _MOST_NAMES_SHOWN
        tool_list = ", ".join(error.names[:_MOST_NAMES_SHOWN]) + (
            f" and {hidden_count} more" if hidden_count > 0 else ""
        )
        sentence += f" The tools are: {tool_list}."
    return sentence

"""Writes a request: the tools, the choice among them, and the schema of the answer.

In: the tools in one provider's form, and what the caller asks of this request. Out: the keyword
arguments for the provider's SDK. The steps, in this order: refuse what has the wrong type; decide
how the answer is sent, and whether it is forced; name the tools that may be called; write them; and
refuse more of them than the provider takes.

Only what is sent counts toward the provider's limit: a request for some of the tools may be written
from more tools than fit into one.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json

from toolshape._answers.target import AnswerTarget
from toolshape._bound.bound_tools import BoundTools
from toolshape._families.wire.provider import Choice
from toolshape._records.calls import ChoiceMode, JsonObject
from toolshape._records.errors import ExportError, Problem, did_you_mean
from toolshape._schema.values import copy_json

_MODES: Mapping[str, ChoiceMode] = {"auto": "auto", "none": "none", "required": "required"}
_OTHER_WORDS: Mapping[Any, str] = {
    "any": "required", "ANY": "required", "REQUIRED": "required", "AUTO": "auto", "NONE": "none",
    "never": "none",
}  # fmt: skip
"""Maps providers' words for a choice (Anthropic ``any``, Gemini ``ANY``, Cohere
``REQUIRED``) to toolshape's words.
"""
_MOST_NAMED = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the caller asks of one request; see ``Bound.request``."""

    choice: str | Collection[str] | None = None
    parallel: bool | None = None
    model: str | None = None
    native: Sequence[Any] = ()


def write_tools(tools: BoundTools) -> list[Any]:
    """Return the list for ``tools=`` in the provider's SDK.

    Raises:
        ExportError: There are more tools than the provider accepts in one request.
    """
    _refuse_too_many(tools)
    return _write_entries(tools, tools.entries.values(), ())


def write_request(tools: BoundTools, asked: Asked) -> JsonObject:
    """Return a request's keyword arguments; empty if there is nothing to send.

    Raises:
        ExportError: An argument is of the wrong type, a tool does not exist, the provider does not
            support the choice, or there are too many tools.
    """
    answer = _form_of_answer(tools, asked.native)
    answer_keywords = {} if answer is None else copy_json(answer.keywords)
    if not tools.shapes and not asked.native and asked.choice in (None, "auto", "none"):
        return answer_keywords
    _refuse_types(tools, asked)
    _refuse_native_tools(tools, asked.native)
    entries = tools.entries_with(answer)
    if asked.choice == "required" and not entries and not asked.native:
        raise request_error(
            tools, "choice", "choice", "there is no tool to call: leave out choice="
        )
    if answer is not None and answer.wire_name is not None and asked.choice in (None, "none"):
        asked, entries = _with_answer_as_tool(tools, asked, answer, entries)
    wire_choice = _write_choice(tools, asked, answer, entries)
    own = _write_entries(tools, entries.values(), asked.native)
    sent = [*own, *copy_json(list(asked.native))]
    request = tools.provider.request.keywords(sent, wire_choice)
    if _holds(request, sent):
        _refuse_too_many(tools, len(asked.native))
    return merge_keywords(request, answer_keywords)


def wire_names(
    tools: BoundTools, choice: str | Collection[str], answer: AnswerTarget | None
) -> tuple[str, ...]:
    """Return the wire names of the named tools, in the order of the registry; the answer's tool is
    the last.

    Raises:
        ExportError: There is no such tool, or no name at all.
    """
    if isinstance(choice, str):
        names = [choice]
    else:
        names = list(choice)
    by_name = {shape.name: shape.wire_name for shape in tools.shapes.values()}
    if answer is not None and answer.wire_name is not None:
        by_name = {**by_name, answer.name: answer.wire_name}
    for name in names:
        if name in by_name:
            continue
        if (mode := _OTHER_WORDS.get(name)) is not None:
            message = f"{name!r} is not a tool, but a provider's word for {mode!r}: write {mode!r}"
            raise request_error(tools, "choice", "choice", message)
        hint = did_you_mean(str(name), [*_MODES, *by_name])
        raise request_error(tools, "choice", "unknown_tool", f"there is no tool {name!r}", hint)
    if not names:
        message = 'choice= has no names: to forbid calls, write "none"'
        raise request_error(tools, "choice", "choice", message)
    return tuple(wire_name for name, wire_name in by_name.items() if name in names)


def request_error(
    tools: BoundTools, path: str, rule: str, message: str, hint: str = "", evidence: str = ""
) -> ExportError:
    """Return the error for a request that cannot be written."""
    problem = Problem(path=path, rule=rule, message=message, hint=hint, evidence=evidence)
    return ExportError(provider=tools.provider.name, tool=None, problems=[problem])


# --- refusals -----------------------------------------------------------------------------------


def _refuse_types(tools: BoundTools, asked: Asked) -> None:
    choice: Any = asked.choice  # a caller without a type checker may pass anything
    parallel: Any = asked.parallel
    native: Any = asked.native
    if not (parallel is None or parallel is True or parallel is False):
        message = f"parallel must be True or False, not {parallel!r}"
        raise request_error(tools, "parallel", "choice", message)
    if isinstance(native, (str, bytes, Mapping)):
        message = f"native= must be a list of tools in the SDK's form, not {native!r}"
        raise request_error(tools, "native", "native", message)
    if not (choice is None or isinstance(choice, (str, Iterable))):
        message = f"choice= must be a mode, a name or a list of names, not {choice!r}"
        raise request_error(tools, "choice", "choice", message)


def _refuse_native_tools(tools: BoundTools, native: Sequence[Any]) -> None:
    deferral = tools.provider.request.deferral
    if deferral is None or deferral.refused is None:
        return
    for tool in native:
        refusal = deferral.refused(tool, tools.shapes)
        if refusal:
            raise request_error(tools, "native", "native", refusal)


def _refuse_too_many(tools: BoundTools, native: int = 0) -> None:
    limit = tools.provider.request.most_tools
    total = len(tools.entries) + native
    if limit is None or total <= limit.most:
        return
    too_many = [shape.name for shape in tools.shapes.values()][limit.most - total :]
    named = too_many[:_MOST_NAMED]
    if len(too_many) > len(named):
        named = [*named, "..."]
    message = (
        f"{total} tools, but a request may hold at most {limit.most}: send a subset without "
        f"{', '.join(named)}"
    )
    raise request_error(tools, "", "most_tools", message, evidence=limit.evidence)


# --- the answer ---------------------------------------------------------------------------------


def _form_of_answer(tools: BoundTools, native: Sequence[Any]) -> AnswerTarget | None:
    """Return the form in which the output is sent: beside native tools it may have to be a tool."""
    answer = tools.answer
    if native and answer is not None and answer.as_tool:
        return answer.as_tool
    return answer


def _with_answer_as_tool(
    tools: BoundTools, asked: Asked, answer: AnswerTarget, entries: Mapping[str, bytes]
) -> tuple[Asked, Mapping[str, bytes]]:
    """Return the request in which the answer is a tool, and the entries that are sent.

    The model has to call a tool, because its answer is one. With ``"none"`` it may call no other:
    where the provider cannot force this one, no other tool is sent.
    """
    is_only_answer = asked.choice == "none"
    forced = _choice_of_answer(tools, asked, answer, is_only_answer=is_only_answer)
    if not is_only_answer:
        return replace(asked, choice=forced), entries
    if forced is None:
        entries = {str(answer.wire_name): answer.entry}
    return replace(asked, choice=forced, native=()), entries


def _choice_of_answer(
    tools: BoundTools, asked: Asked, answer: AnswerTarget, *, is_only_answer: bool
) -> str | None:
    """Return the choice that forces any tool, or only the answer's; ``None`` if unsupported."""
    wire_choice = Choice(provider=tools.provider.name, model=asked.model, mode="required")
    if is_only_answer:
        names, chosen = (str(answer.wire_name),), tuple(_gather(tools, [answer.entry]))
        wire_choice = wire_choice._replace(mode=None, names=names, chosen=chosen)
    entries = tools.entries_with(answer)
    try:
        tools.provider.request.keywords(_gather(tools, entries.values()), wire_choice)
    except ExportError:
        return None
    if is_only_answer:
        return answer.name
    return "required"


# --- what is sent -------------------------------------------------------------------------------


def _write_choice(
    tools: BoundTools, asked: Asked, answer: AnswerTarget | None, entries: Mapping[str, bytes]
) -> Choice:
    """Return the choice, with the tools that it names in the provider's form."""
    choice = asked.choice
    mode = _MODES.get(choice) if isinstance(choice, str) else None
    names: tuple[str, ...] = ()
    chosen: tuple[Any, ...] = ()
    if choice is not None and not mode:
        names = wire_names(tools, choice, answer)
        named = _write_entries(tools, (entries[name] for name in names), asked.native)
        chosen = (*named, *copy_json(list(asked.native)))
    is_answer_strict = answer is not None and answer.wire_name is not None and answer.is_strict
    return Choice(
        provider=tools.provider.name,
        model=None if asked.model is None else str(asked.model),
        mode=mode,
        names=names,
        chosen=chosen,
        parallel=asked.parallel,
        is_strict=is_answer_strict or any(shape.is_strict for shape in tools.shapes.values()),
    )


def _write_entries(tools: BoundTools, entries: Iterable[bytes], native: Sequence[Any]) -> list[Any]:
    """Return the tools, with what searches them if a tool is deferred: the user's own search, one
    in ``native``, or the provider's.
    """
    sent = _gather(tools, entries)
    deferral = tools.provider.request.deferral
    if (
        deferral is None
        or any(map(deferral.is_search, native))
        or not any(map(deferral.is_marked, sent))
    ):
        return sent
    own = tools.search
    if own is None or not any(entry.get("name") == own.wire_name for entry in sent):
        return [*sent, dict(deferral.search)]
    return [
        deferral.own_search(entry) if entry.get("name") == own.wire_name else entry
        for entry in sent
    ]


def _gather(tools: BoundTools, entries: Iterable[bytes]) -> list[JsonObject]:
    """Read entries that are JSON, in the form in which the provider takes a list of tools."""
    listed = list(entries)
    if not listed:
        return []
    text = b"[%s]" % b",".join(listed)
    try:
        return tools.provider.request.gather(from_json(text))
    except ValueError:  # a lone surrogate, or a default that is nested too deeply
        return tools.provider.request.gather(json.loads(text))


def _holds(request: JsonObject, sent: list[Any]) -> bool:
    """Whether a request holds this list of tools, itself or in one of its objects."""
    for value in request.values():
        inner = value.values() if isinstance(value, dict) else (value,)
        if any(item is sent for item in inner):
            return True
    return False


def merge_keywords(request: JsonObject, asked: Mapping[str, Any]) -> JsonObject:
    """Merge the keyword arguments for tools with others; some providers take one object for
    both.
    """
    merged = dict(request)
    for key, value in asked.items():
        merged[key] = {**merged[key], **value} if isinstance(merged.get(key), dict) else value
    return merged

"""A turn of a script and the request that it answers in; the response that the provider would send, out."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolshape.calls import Finish, JsonObject
from toolshape.testing.fake.endpoints import Endpoint
from toolshape.testing.fake.exchange import Reply
from toolshape.testing.fake.framing import CONTENT_TYPES, framed
from toolshape.testing.fake.generate import generated
from toolshape.testing.fake.shown import Form, sent_form, sent_tool, written
from toolshape.testing.fake.turn import ScriptedCall, Turn
from toolshape.tool import Tool
from toolshape.wire.ids import generated_id, id_seed
from toolshape.wire.provider import Provider
from toolshape.wire.server import Refusal, RequestRead, Said, SaidCall, SentTool

__all__ = ["NoAnswerError", "error_reply", "generated_turn", "reply_of", "said_by"]

_TRIES = 100
_CHARACTERS_A_TOKEN = 4


class NoAnswerError(Exception):
    """There is no answer: the script has ended, or calls a tool that the request does not hold."""


def said_by(
    turn: Turn,
    provider: Provider,
    request: RequestRead,
    model: str,
    forms: Mapping[str, list[Form]],
    number: int,
    *,
    is_streamed: bool,
) -> Said:
    """What a turn says, its calls in the form in which the request holds their tools.

    Args:
        turn: The turn.
        provider: Who says it.
        request: What it answers.
        model: The model that is asked.
        forms: The forms of the tools of ours, by name.
        number: The number of the response, so that ids differ.
        is_streamed: Whether it is streamed.

    Raises:
        NoAnswerError: A tool of a call was not sent.
    """
    calls = [
        SaidCall(generated_id(id_seed([provider.name, number]), at), *_written(one, request, forms))
        for at, one in enumerate(turn.scripted)
    ]
    text = turn.text
    finish: Finish = "tool_calls" if calls else "stop"
    if turn.cut == "length" or turn.is_truncated:
        finish = "length"
    if turn.cut == "length" and calls:
        last = calls[-1]
        text_of_last = last.arguments if isinstance(last.arguments, str) else json.dumps(last.arguments)
        calls[-1] = last._replace(arguments=text_of_last[: max(len(text_of_last) // 2, 1)])
    elif turn.cut == "length":
        text = text[: len(text) // 2]
    is_told = request.wants_usage or not is_streamed
    histories = provider.histories
    thinks = histories is not None and histories.rule("missing_reasoning", model) is not None
    return Said(
        model=model,
        text=text,
        calls=tuple(calls),
        reasoning="I call a tool." if thinks and calls else "",
        finish=finish,
        usage=(_tokens(request.body), _tokens([text, *calls])) if is_told else None,
    )


def _tokens(node: Any) -> int:
    return len(json.dumps(node, default=str)) // _CHARACTERS_A_TOKEN + 1


def _written(one: ScriptedCall, request: RequestRead, forms: Mapping[str, list[Form]]) -> tuple[str, Any]:
    """The wire name and the arguments of a call."""
    if one.tool is None:
        return one.name, one.arguments
    known = forms[one.tool.name]
    sent = sent_tool(request, {one.tool.name, *(form.shape.wire_name for form in known)})
    if sent is None:
        there = ", ".join(str(other.name) for other in request.tools) or "none"
        raise NoAnswerError(f"the script calls {one.tool.name}, and the tools of the request are: {there}")
    return str(sent.name), written(sent_form(known, sent), one.arguments)


def generated_turn(
    request: RequestRead, seed: int, number: int, tools: Mapping[str, Tool[..., Any]], forms: Mapping[str, list[Form]]
) -> Turn:
    """A call of one of the tools that were sent, where one may be called and none has been answered just now; else a text.

    Args:
        request: The request.
        seed: What decides, together with the number.
        number: The number of the response.
        tools: The tools of ours by name: what is generated for these is valid for them.
        forms: Their forms.
    """
    chance = random.Random(f"{seed} {number}")  # noqa: S311 - to be the same each time
    turn = Turn(tools)
    choices = [one for one in request.tools if not request.names or one.name in request.names]
    is_forced = bool(request.names) or request.mode == "required"
    if not choices or request.mode == "none" or (not is_forced and _is_answered(request.messages)):
        return turn.says("All is done.")
    sent = chance.choice(choices)
    form = _known_form(sent, forms)
    turn.scripted.append(ScriptedCall(str(sent.name), None, _arguments(sent, form, chance)))
    return turn


def _arguments(sent: SentTool, form: Form | None, chance: random.Random) -> Any:
    """Arguments by the schema that was sent; where that says too little of what the tool takes, by the tool's own."""
    for attempt in range(_TRIES):
        if form is not None and attempt > _TRIES // 2:
            arguments = written(form, generated(form.shape.tool.input_schema, chance))
        else:
            arguments = {} if sent.schema is None else generated(sent.schema, chance)
        if form is None or form.takes(arguments):
            return arguments
    raise NoAnswerError(f"no arguments were found that {sent.name} takes: script its call")


def _known_form(sent: SentTool, forms: Mapping[str, list[Form]]) -> Form | None:
    for known in forms.values():
        if any(form.shape.wire_name == sent.name for form in known):
            return sent_form(known, sent)
    return None


def _is_answered(messages: Sequence[JsonObject]) -> bool:
    """Whether the last message is a result: of any family, each of which names its results so."""
    last = json.dumps(messages[-1]) if messages else ""
    marks = ('"tool"', '"function"', "tool_result", "toolResult", "functionResponse", "function_response")
    return any(one in last for one in (*marks, "function_call_output", "function_result"))


def reply_of(provider: Provider, endpoint: Endpoint, body: JsonObject, turn: Turn, *, is_streamed: bool) -> Reply:
    """A response as what goes over the wire: whole or streamed, and broken off where the turn says so."""
    if turn.cut == "connection":
        return Reply(0, {}, lambda: iter(()), drop="before")
    headers = {"content-type": CONTENT_TYPES[endpoint.framing] if is_streamed else "application/json"}

    def chunks() -> Iterator[bytes]:
        if is_streamed and provider.unfold is not None:
            return framed(endpoint, provider.unfold(body))
        return iter([json.dumps(body, ensure_ascii=False).encode()])

    if turn.cut == "stream":
        return Reply(200, headers, lambda: _half(list(chunks())), is_streamed=is_streamed, drop="after")
    return Reply(200, headers, chunks, is_streamed=is_streamed)


def _half(chunks: list[bytes]) -> Iterator[bytes]:
    """The first half; of one chunk, its first half."""
    if len(chunks) == 1:
        return iter([chunks[0][: len(chunks[0]) // 2]])
    return iter(chunks[: max(len(chunks) // 2, 1)])


def error_reply(provider: Provider, refusal: Refusal) -> tuple[Reply, JsonObject]:
    """An error as what goes over the wire, and its body."""
    if provider.error is None:
        raise AssertionError(provider.name)
    headers, body = provider.error(refusal)
    made = {"content-type": "application/json", **headers}
    if refusal.retry_after is not None:
        made["retry-after"] = f"{refusal.retry_after:g}"
    content = json.dumps(body, ensure_ascii=False).encode()
    return Reply(refusal.status, made, lambda: iter([content])), body

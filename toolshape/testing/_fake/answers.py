"""A turn of a script and the request that it answers in; the response that the provider would send, out."""

import contextlib
import json
import random
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from toolshape._calls import Finish, JsonObject, WireCall
from toolshape._schema.generate import generated
from toolshape._tool import Tool
from toolshape._wire.ids import generated_id, id_seed
from toolshape._wire.provider import Provider
from toolshape._wire.server import Completion, Framing, Refusal, RequestRead, SentTool, Server
from toolshape._wire.server_json import seconds_text
from toolshape.messages import results_in
from toolshape.testing._fake.exchange import Reply
from toolshape.testing._fake.framing import CONTENT_TYPES, framed
from toolshape.testing._fake.shown import Form, sent_form, sent_tool, written
from toolshape.testing._fake.turn import ScriptedCall, Turn

Forms: TypeAlias = Callable[[Tool[..., Any]], list[Form]]
_TRIES = 100
_CHARACTERS_A_TOKEN = 4


class NoAnswerError(Exception):
    """There is no answer: the script has ended, or calls a tool that the request does not hold."""


def completion_of(
    turn: Turn,
    provider: Provider,
    request: RequestRead,
    model: str,
    forms: Forms,
    *,
    is_streamed: bool,
) -> Completion:
    """What a turn says, its calls in the form in which the request holds their tools.

    Args:
        turn: The turn.
        provider: Who says it.
        request: What it answers.
        model: The model that is asked.
        forms: The forms of a tool of ours.
        is_streamed: Whether it is streamed.

    Raises:
        NoAnswerError: A tool of a call was not sent.
    """
    seed = id_seed([provider.name, list(request.messages), str(turn)])  # a history goes on without an id that it has
    calls = [
        WireCall(generated_id(seed, at + 1), *_written(one, request, forms)) for at, one in enumerate(turn.scripted)
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
    return Completion(
        model=model,
        id=generated_id(seed, 0),
        text=text,
        calls=tuple(calls),
        reasoning="I call a tool." if thinks and calls else "",
        finish=finish,
        usage=(_tokens(request.body), _tokens([text, *calls])) if is_told else None,
        is_streamed=is_streamed,
    )


def _tokens(node: Any) -> int:
    return len(json.dumps(node, default=str)) // _CHARACTERS_A_TOKEN + 1


def _written(one: ScriptedCall, request: RequestRead, forms: Forms) -> tuple[str, Any]:
    """The wire name and the arguments of a call."""
    if one.tool is None:
        return one.name, one.arguments
    known = forms(one.tool)
    sent = sent_tool(request, {one.tool.name, *(form.shape.wire_name for form in known)})
    if sent is None:
        there = ", ".join(str(other.name) for other in request.tools) or "none"
        raise NoAnswerError(f"the script calls {one.tool.name}, and the tools of the request are: {there}")
    return str(sent.name), written(sent_form(known, sent), one.arguments)


def generated_turn(
    provider: Provider, request: RequestRead, chance: random.Random, tools: Iterable[Tool[..., Any]], forms: Forms
) -> Turn:
    """A call of one of the tools that were sent, where one may be called and none has been answered just now; else a text.

    Args:
        provider: Who is asked.
        request: The request.
        chance: What decides.
        tools: The tools of ours: what is generated for these is valid for them.
        forms: The forms of a tool of ours.

    Raises:
        NoAnswerError: No arguments were found that a tool takes.
    """
    turn = Turn()
    choices = [one for one in request.tools if not request.names or one.name in request.names]
    is_forced = bool(request.names) or request.mode == "required"
    if not choices and is_forced:
        raise NoAnswerError("the request forces a call, and holds no function that could be called")
    if not choices or request.mode == "none" or (not is_forced and _is_answered(provider, request)):
        return turn.says("All is done.")
    sent = chance.choice(choices)
    known = [forms(one) for one in tools]
    own = next((one for one in known if any(form.shape.wire_name == sent.name for form in one)), [])
    turn.scripted.append(ScriptedCall(str(sent.name), None, _arguments(sent, sent_form(own, sent), chance)))
    return turn


def _is_answered(provider: Provider, request: RequestRead) -> bool:
    """Whether the last message holds a result."""
    if provider.histories is None or not request.messages:
        return False
    return bool(results_in(provider.histories.read(request.messages[-1], "")))


def _arguments(sent: SentTool, form: Form | None, chance: random.Random) -> Any:
    """Arguments by the schema that was sent; where that says too little of what the tool takes, by the tool's own."""
    for attempt in range(_TRIES):
        with contextlib.suppress(RecursionError):  # a tree that did not come to an end this time
            if form is not None and attempt > _TRIES // 2:
                arguments = written(form, generated(form.shape.tool.input_schema, chance))
            else:
                arguments = {} if sent.schema is None else generated(sent.schema, chance)
            if form is None or form.takes(arguments):
                return arguments
    raise NoAnswerError(f"no arguments were found that {sent.name} takes: script its call")


def reply_of(server: Server, framing: Framing | None, body: JsonObject, turn: Turn) -> Reply:
    """A response as what goes over the wire: whole or streamed, and broken off where the turn says so."""
    if turn.cut == "connection":
        return Reply(0, {}, (), drop="before")
    if framing is None:
        headers, chunks = _JSON, [json.dumps(body, ensure_ascii=False).encode()]
    else:
        headers = {"content-type": CONTENT_TYPES[framing]}
        chunks = list(
            framed(framing, server.unfold(body), is_done=server.endpoint.is_done, name_key=server.endpoint.event_key)
        )
    if turn.cut == "stream":
        return Reply(200, headers, _half(chunks), is_streamed=framing is not None, drop="after")
    return Reply(200, headers, chunks, is_streamed=framing is not None)


_JSON = {"content-type": "application/json"}


def _half(chunks: list[bytes]) -> list[bytes]:
    """The first half; of one chunk, its first half."""
    return [chunks[0][: len(chunks[0]) // 2]] if len(chunks) == 1 else chunks[: max(len(chunks) // 2, 1)]


def error_reply(server: Server, refusal: Refusal) -> tuple[Reply, JsonObject]:
    """An error as what goes over the wire, and its body."""
    headers, body = server.error(refusal)
    made = {**_JSON, **headers}
    if refusal.retry_after is not None:
        made["retry-after"] = seconds_text(refusal.retry_after)
    return Reply(refusal.status, made, [json.dumps(body, ensure_ascii=False).encode()]), body

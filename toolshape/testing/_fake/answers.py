"""Builds the fake's answer to a request: the completion of a turn, and the HTTP reply."""

import binascii
import contextlib
import json
import random
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from toolshape._families.text.format import TextCall
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.writing import write_calls
from toolshape._families.wire.ids import generated_id, id_seed
from toolshape._families.wire.provider import Provider
from toolshape._families.wire.server import (
    Completion,
    Framing,
    Refusal,
    RequestRead,
    SentTool,
    Server,
)
from toolshape._families.wire.server_json import seconds_text
from toolshape._records.calls import PLAIN_TEXT, Finish, JsonObject, WireCall, plain_text
from toolshape._schema.generate import generate
from toolshape._tools.tool import Tool
from toolshape.messages import results_in
from toolshape.testing._fake.exchange import Reply
from toolshape.testing._fake.shown import Form, sent_form, sent_tool, write_shown_arguments
from toolshape.testing._fake.spoken import NoFormError, write_answer
from toolshape.testing._fake.turn import ScriptedCall, Turn

CONTENT_TYPES: Mapping[Framing, str] = {
    "sse": "text/event-stream; charset=utf-8",
    "named-sse": "text/event-stream; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "event-stream": "application/vnd.amazon.eventstream",
    "json-array": "application/json; charset=utf-8",
}


def frame_events(
    framing: Framing, events: Iterable[JsonObject], *, is_done: bool, name_key: str = "type"
) -> Iterator[bytes]:
    """Yield the bytes of each event, and then the bytes that end the stream.

    Args:
        framing: The format that separates the events of the stream, such as ``sse`` or ``ndjson``.
        events: The events, as JSON objects.
        is_done: Whether the stream ends with ``[DONE]``.
        name_key: The key of the event's name in its JSON object. Only ``named-sse`` needs this key.
    """
    separator = "["
    for event in events:
        text = json.dumps(event, ensure_ascii=False)
        match framing:
            case "sse":
                yield f"data: {text}\n\n".encode()
            case "named-sse":
                yield f"event: {event[name_key]}\ndata: {text}\n\n".encode()
            case "ndjson":
                yield f"{text}\n".encode()
            case "event-stream":
                [(name, payload)] = event.items()
                yield _aws_message(name, json.dumps(payload).encode())
            case "json-array":
                yield f"{separator}{text}\n".encode()
                separator = ","
    if is_done:
        yield b"data: [DONE]\n\n"
    if framing == "json-array":
        yield b"]"


def _aws_message(name: str, payload: bytes) -> bytes:
    """Encode a message for AWS's event stream: the lengths, their checksum, headers,
    payload, and a final checksum.
    """
    headers = b""
    for key, value in (
        (":event-type", name),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ):
        headers += (
            struct.pack("!B", len(key))
            + key.encode()
            + struct.pack("!BH", 7, len(value))
            + value.encode()
        )
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", binascii.crc32(message))


Forms: TypeAlias = Callable[[Tool[..., Any]], list[Form]]
_TRIES = 100
_CHARACTERS_A_TOKEN = 4


class NoAnswerError(Exception):
    """The fake cannot answer.

    For example, the script has ended, or it calls a tool that the request does not offer.
    """


def completion_of(
    turn: Turn,
    provider: Provider,
    request: RequestRead,
    model: str,
    forms: Forms,
    *,
    is_streamed: bool,
) -> Completion:
    """Return the completion for a turn.

    Each call is encoded in the form that the request uses for its tool.

    Args:
        turn: The turn.
        provider: The provider that the fake plays.
        request: The request that the turn answers.
        model: The requested model.
        forms: A function that returns the forms in which a tool can be sent.
        is_streamed: Whether the response is streamed.

    Raises:
        NoAnswerError: The turn calls a tool that the request did not send, or its answer does not
            fit the request.
    """
    # The seed depends on the history, so a later turn in the same conversation never repeats an id.
    seed = id_seed([provider.name, list(request.messages), str(turn)])
    calls = [
        WireCall(generated_id(seed, index + 1), *_write_call(call, request, forms))
        for index, call in enumerate(turn.scripted)
    ]
    text = turn.text
    if turn.answer is not None:
        try:
            sent_answer = write_answer(provider, request, turn.answer)
        except NoFormError as error:
            raise NoAnswerError(str(error)) from error
        if sent_answer.tool is None:
            text += json.dumps(sent_answer.written, ensure_ascii=False)
        else:
            calls.append(
                WireCall(generated_id(seed, len(calls) + 1), sent_answer.tool, sent_answer.written)
            )
    finish: Finish = "tool_calls" if calls else "stop"
    if turn.cut == "length" or turn.is_truncated:
        finish = "length"
    if turn.cut == "length" and calls:
        last = calls[-1]
        calls[-1] = last._replace(arguments=_first_half(last.arguments))
    elif turn.cut == "length":
        text = text[: len(text) // 2]
    sends_usage = request.wants_usage or not is_streamed
    histories = provider.histories
    needs_reasoning = (
        histories is not None and histories.rule("missing_reasoning", model) is not None
    )
    if needs_reasoning and calls:
        reasoning = "I call a tool."
    else:
        reasoning = ""
    return Completion(
        model=model,
        id=generated_id(seed, 0),
        text=text,
        calls=tuple(calls),
        reasoning=reasoning,
        finish=finish,
        usage=_usage_of(request, text, calls) if sends_usage else None,
        is_streamed=is_streamed,
    )


def _first_half(arguments: Any) -> Any:
    """Return the arguments as far as a model wrote them that was stopped in the middle."""
    if (text := plain_text(arguments)) is not None:
        return {PLAIN_TEXT: text[: len(text) // 2]}
    if isinstance(arguments, str):
        text = arguments
    else:
        text = json.dumps(arguments)
    return text[: max(len(text) // 2, 1)]


def move_calls_to_text(said: Completion, text_format: str) -> Completion:
    """Move the calls of a completion into its text, as models that use the text format do."""
    if not said.calls:
        return said
    calls = [TextCall(call.wire_name, call.arguments, call.id) for call in said.calls]
    text = said.text + write_calls(FORMATS[text_format], calls, checks=False)
    return said._replace(
        text=text, calls=(), finish="stop" if said.finish == "tool_calls" else said.finish
    )


def _usage_of(request: RequestRead, text: str, calls: Iterable[WireCall]) -> tuple[int, int]:
    written = [call._replace(raw=None) for call in calls]
    return _count_tokens(request.body), _count_tokens([text, *written])


def _count_tokens(node: Any) -> int:
    return len(json.dumps(node, default=str)) // _CHARACTERS_A_TOKEN + 1


def _write_call(call: ScriptedCall, request: RequestRead, forms: Forms) -> tuple[str, Any, Any]:
    """Return the wire name and the arguments of a call, and the entry that offers the tool."""
    if call.is_invented:
        return call.name, call.arguments, None
    tool_forms = [] if call.tool is None else forms(call.tool)
    offered_tool = sent_tool(request, {call.name, *(form.shape.wire_name for form in tool_forms)})
    if offered_tool is None:
        offered = ", ".join(str(tool.name) for tool in request.tools) or "none"
        message = (
            f"the script calls {call.name}, but the request does not offer it; tools in the "
            f"request: {offered}"
        )
        raise NoAnswerError(
            f"{message}; for a name that the model makes up, use invents({call.name!r})"
        )
    if call.is_raw:
        return str(offered_tool.name), call.arguments, offered_tool.entry
    written = write_shown_arguments(sent_form(tool_forms, offered_tool), call.arguments)
    return str(offered_tool.name), written, offered_tool.entry


def generate_turn(
    provider: Provider,
    request: RequestRead,
    chance: random.Random,
    tools: Iterable[Tool[..., Any]],
    forms: Forms,
) -> Turn:
    """Return a turn that calls one of the tools in the request, or a turn that holds only text.

    If the request allows no call, the turn holds only text. The same is true if the last message in
    the request holds a result and the request does not force a call. If the request asks for
    structured output, the text is valid JSON for the schema.

    Args:
        provider: The provider that the fake plays.
        request: The request.
        chance: The source of random choices.
        tools: The tools of the fake. The turn calls these tools only with arguments that they
            accept.
        forms: A function that returns the forms in which a tool can be sent.

    Raises:
        NoAnswerError: The request forces a call but offers no function, or no valid arguments could
            be generated.
    """
    turn = Turn()
    all_forms = [forms(tool) for tool in tools]
    known = {form.shape.wire_name for tool_forms in all_forms for form in tool_forms}
    # The schema of a tool that takes plain text does not say which text is valid, so such a tool is
    # called only if the fake has it.
    choices = [
        tool
        for tool in request.tools
        if (not request.names or tool.name in request.names)
        and (tool.name in known or not _takes_text(tool))
    ]
    is_forced = bool(request.names) or request.mode == "required"
    if not choices and is_forced:
        raise NoAnswerError("the request forces a call, but has no function to call")
    if (
        not choices
        or request.mode == "none"
        or (not is_forced and _ends_with_result(provider, request))
    ):
        return turn.says(_final_text(provider, request, chance))
    chosen_tool = chance.choice(choices)
    chosen_forms = next(
        (
            tool_forms
            for tool_forms in all_forms
            if any(form.shape.wire_name == chosen_tool.name for form in tool_forms)
        ),
        [],
    )
    turn.scripted.append(
        ScriptedCall(
            str(chosen_tool.name),
            None,
            _arguments(chosen_tool, sent_form(chosen_forms, chosen_tool), chance),
        )
    )
    return turn


def _takes_text(tool: SentTool) -> bool:
    return isinstance(tool.schema, dict) and PLAIN_TEXT in tool.schema.get("properties", ())


def _final_text(provider: Provider, request: RequestRead, chance: random.Random) -> str:
    output_form = provider.output
    if output_form is None or output_form.sent is None:
        sent_output = None
    else:
        sent_output = output_form.sent(request.body)
    if sent_output is None or not isinstance(sent_output.schema, dict):
        return "All is done."
    for _ in range(_TRIES):
        # A random recursive value grew too deep: try again.
        with contextlib.suppress(RecursionError):
            return json.dumps(generate(sent_output.schema, chance), ensure_ascii=False)
    raise NoAnswerError(
        "could not generate an answer that fits the schema in the request: script this answer"
    )


def _ends_with_result(provider: Provider, request: RequestRead) -> bool:
    """Return whether the last message of the request holds the result of a call."""
    if provider.histories is None or not request.messages:
        return False
    return bool(results_in(provider.histories.read(request.messages[-1], "")))


def _arguments(sent: SentTool, form: Form | None, chance: random.Random) -> Any:
    """Generate arguments from the schema in the request.

    If half of the tries fail, use the tool's own schema instead, because the schema in the request
    may lack constraints.
    """
    for attempt in range(_TRIES):
        # A random recursive value grew too deep: try again.
        with contextlib.suppress(RecursionError):
            if form is not None and attempt > _TRIES // 2:
                arguments = write_shown_arguments(
                    form, generate(form.shape.tool.input_schema, chance)
                )
            else:
                arguments = {} if sent.schema is None else generate(sent.schema, chance)
            if form is None or form.takes(arguments):
                return arguments
    raise NoAnswerError(f"could not generate arguments that {sent.name} accepts: script this call")


def reply_of(server: Server, framing: Framing | None, body: JsonObject, turn: Turn) -> Reply:
    """Return a response as an HTTP reply, whole or streamed.

    ``turn.cut`` decides whether and where the reply ends.
    """
    if turn.cut == "connection":
        return Reply(0, {}, (), drop="before")
    if framing is None:
        headers, chunks = _JSON, [json.dumps(body, ensure_ascii=False).encode()]
    else:
        headers = {"content-type": CONTENT_TYPES[framing]}
        chunks = list(
            frame_events(
                framing,
                server.unfold(body),
                is_done=server.endpoint.is_done,
                name_key=server.endpoint.event_key,
            )
        )
    if turn.cut == "stream":
        return Reply(200, headers, _half(chunks), is_streamed=framing is not None, drop="after")
    return Reply(200, headers, chunks, is_streamed=framing is not None)


_JSON = {"content-type": "application/json"}


def _half(chunks: list[bytes]) -> list[bytes]:
    """Return the first half of the chunks.

    If there is only one chunk, return the first half of that chunk.
    """
    if len(chunks) == 1:
        return [chunks[0][: len(chunks[0]) // 2]]
    return chunks[: max(len(chunks) // 2, 1)]


def error_reply(server: Server, refusal: Refusal) -> tuple[Reply, JsonObject]:
    """Return the HTTP reply for an error, and the body of the reply."""
    headers, body = server.error(refusal)
    all_headers = {**_JSON, **headers}
    if refusal.retry_after is not None:
        all_headers["retry-after"] = seconds_text(refusal.retry_after)
    return Reply(refusal.status, all_headers, [json.dumps(body, ensure_ascii=False).encode()]), body

"""Calls as each provider's response has them: as text, as an object in a body's text, and as a stream in pieces."""

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Call = tuple[str, str, str]
"""The id, the name, and the text of the arguments."""


def quoted(value: Any) -> str:
    return json.dumps(value)


def openai(calls: Sequence[Call]) -> str:
    told = ",".join(
        '{{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}}'.format(
            *tuple(map(quoted, call))
        )
        for call in calls
    )
    message = f'{{"role":"assistant","content":null,"tool_calls":[{told}]}}'
    return f'{{"choices":[{{"index":0,"finish_reason":"tool_calls","message":{message}}}]}}'


def responses(calls: Sequence[Call]) -> str:
    told = ",".join(
        '{{"type":"function_call","call_id":{},"name":{},"arguments":{}}}'.format(
            *tuple(map(quoted, call))
        )
        for call in calls
    )
    return f'{{"object":"response","status":"completed","output":[{told}]}}'


def anthropic(calls: Sequence[Call]) -> str:
    told = ",".join(
        f'{{"type":"tool_use","id":{quoted(i)},"name":{quoted(n)},"input":{text or "{}"}}}'
        for i, n, text in calls
    )
    return f'{{"type":"message","role":"assistant","stop_reason":"tool_use","content":[{told}]}}'


def gemini(calls: Sequence[Call]) -> str:
    told = ",".join(
        f'{{"functionCall":{{"id":{quoted(i)},"name":{quoted(n)},"args":{text or "{}"}}}}}'
        for i, n, text in calls
    )
    return f'{{"candidates":[{{"finishReason":"STOP","content":{{"role":"model","parts":[{told}]}}}}]}}'


def interactions(calls: Sequence[Call]) -> str:
    told = ",".join(
        f'{{"type":"function_call","id":{quoted(i)},"name":{quoted(n)},"arguments":{text or "{}"}}}'
        for i, n, text in calls
    )
    return f'{{"status":"requires_action","steps":[{told}]}}'


def bedrock(calls: Sequence[Call]) -> str:
    told = ",".join(
        f'{{"toolUse":{{"toolUseId":{quoted(i)},"name":{quoted(n)},"input":{text or "{}"}}}}}'
        for i, n, text in calls
    )
    return f'{{"output":{{"message":{{"role":"assistant","content":[{told}]}}}},"stopReason":"tool_use"}}'


def ollama(calls: Sequence[Call]) -> str:
    told = ",".join(
        f'{{"id":{quoted(i)},"function":{{"name":{quoted(n)},"arguments":{text or "{}"}}}}}'
        for i, n, text in calls
    )
    message = f'{{"role":"assistant","content":"","tool_calls":[{told}]}}'
    return f'{{"done":true,"done_reason":"stop","message":{message}}}'


def cohere(calls: Sequence[Call]) -> str:
    told = ",".join(
        '{{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}}'.format(
            *tuple(map(quoted, call))
        )
        for call in calls
    )
    return f'{{"finish_reason":"TOOL_CALL","message":{{"role":"assistant","tool_calls":[{told}]}}}}'


def records(calls: Sequence[Call]) -> str:
    told = ",".join(
        f'{{"id":{quoted(i)},"name":{quoted(n)},"arguments":{text or "{}"}}}'
        for i, n, text in calls
    )
    return f"[{told}]"


def grpc(calls: Sequence[Call]) -> str:
    told = ",".join(
        '{{"id":{},"type":"TOOL_CALL_TYPE_CLIENT_SIDE_TOOL","function":{{"name":{},"arguments":{}}}}}'.format(
            *tuple(map(quoted, call))
        )
        for call in calls
    )
    message = f'{{"role":"ROLE_ASSISTANT","tool_calls":[{told}]}}'
    return f'{{"outputs":[{{"finish_reason":"REASON_TOOL_CALLS","message":{message}}}]}}'


TEXTS: dict[str, Callable[[Sequence[Call]], str]] = {
    "openai": openai, "openai-responses": responses, "mistral": openai, "cohere": cohere, "groq": openai, "xai:grpc": grpc,
    "huggingface": openai,
}  # fmt: skip
"""Those whose arguments are text."""
OBJECTS: dict[str, Callable[[Sequence[Call]], str]] = {
    "anthropic": anthropic, "gemini": gemini, "gemini-interactions": interactions, "bedrock": bedrock, "ollama": ollama,
    "json-schema": records,
}  # fmt: skip
"""Those whose arguments are an object in the body: their text is to be JSON."""


# --- streams ------------------------------------------------------------------------------------------------------

Deltas = list[tuple[int, str]]
"""Pieces of the arguments, each with the index of its call, in the order in which they come."""


def pieces(calls: Sequence[Call], chance: random.Random) -> Deltas:
    """The texts in pieces; those of several calls in turns, each in its own order."""
    waiting: list[list[tuple[int, str]]] = []
    for index, (_, _, text) in enumerate(calls):
        cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(4)))
        parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        waiting.append([(index, part) for part in parts])
    found: Deltas = []
    while any(waiting):
        queue = chance.choice([item for item in waiting if item])
        found.append(queue.pop(0))
    return found


def openai_stream(calls: Sequence[Call], deltas: Deltas) -> Iterator[str]:
    def chunk(call: str, finish: str = "null") -> str:
        told = f'{{"tool_calls":[{call}]}}' if call else "{}"
        return f'{{"choices":[{{"index":0,"delta":{told},"finish_reason":{finish}}}]}}'

    for index, (call_id, name, _) in enumerate(calls):
        function = f'{{"name":{quoted(name)},"arguments":""}}'
        yield chunk(
            f'{{"index":{index},"id":{quoted(call_id)},"type":"function","function":{function}}}'
        )
    for index, piece in deltas:
        yield chunk(f'{{"index":{index},"function":{{"arguments":{quoted(piece)}}}}}')
    yield chunk("", '"tool_calls"')


def responses_stream(calls: Sequence[Call], deltas: Deltas) -> Iterator[str]:
    for index, (call_id, name, _) in enumerate(calls):
        item = f'{{"type":"function_call","call_id":{quoted(call_id)},"name":{quoted(name)},"arguments":""}}'
        yield f'{{"type":"response.output_item.added","output_index":{index},"item":{item}}}'
    for index, piece in deltas:
        yield f'{{"type":"response.function_call_arguments.delta","output_index":{index},"delta":{quoted(piece)}}}'
    for index, (call_id, name, text) in enumerate(calls):
        item = f'{{"type":"function_call","call_id":{quoted(call_id)},"name":{quoted(name)},"arguments":{quoted(text)}}}'
        yield f'{{"type":"response.output_item.done","output_index":{index},"item":{item}}}'
    yield '{"type":"response.completed","response":{"object":"response","status":"completed","output":[]}}'


def anthropic_stream(calls: Sequence[Call], deltas: Deltas) -> Iterator[str]:
    yield '{"type":"message_start","message":{"type":"message","role":"assistant","content":[]}}'
    for index, (call_id, name, _) in enumerate(calls):
        block = f'{{"type":"tool_use","id":{quoted(call_id)},"name":{quoted(name)},"input":{{}}}}'
        yield f'{{"type":"content_block_start","index":{index},"content_block":{block}}}'
    for index, piece in deltas:
        delta = f'{{"type":"input_json_delta","partial_json":{quoted(piece)}}}'
        yield f'{{"type":"content_block_delta","index":{index},"delta":{delta}}}'
    for index in range(len(calls)):
        yield f'{{"type":"content_block_stop","index":{index}}}'
    yield '{"type":"message_delta","delta":{"stop_reason":"tool_use"}}'


def bedrock_stream(calls: Sequence[Call], deltas: Deltas) -> Iterator[str]:
    for index, (call_id, name, _) in enumerate(calls):
        use = f'{{"toolUse":{{"toolUseId":{quoted(call_id)},"name":{quoted(name)}}}}}'
        yield f'{{"contentBlockStart":{{"contentBlockIndex":{index},"start":{use}}}}}'
    for index, piece in deltas:
        delta = f'{{"toolUse":{{"input":{quoted(piece)}}}}}'
        yield f'{{"contentBlockDelta":{{"contentBlockIndex":{index},"delta":{delta}}}}}'
    for index in range(len(calls)):
        yield f'{{"contentBlockStop":{{"contentBlockIndex":{index}}}}}'
    yield '{"messageStop":{"stopReason":"tool_use"}}'


def cohere_stream(calls: Sequence[Call], deltas: Deltas) -> Iterator[str]:
    for index, (call_id, name, _) in enumerate(calls):
        call = f'{{"id":{quoted(call_id)},"type":"function","function":{{"name":{quoted(name)},"arguments":""}}}}'
        yield f'{{"type":"tool-call-start","index":{index},"delta":{{"message":{{"tool_calls":{call}}}}}}}'
    for index, piece in deltas:
        call = f'{{"function":{{"arguments":{quoted(piece)}}}}}'
        yield f'{{"type":"tool-call-delta","index":{index},"delta":{{"message":{{"tool_calls":{call}}}}}}}'
    for index in range(len(calls)):
        yield f'{{"type":"tool-call-end","index":{index}}}'
    yield '{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}'


def interactions_stream(calls: Sequence[Call], deltas: Deltas) -> Iterator[str]:
    for index, (call_id, name, _) in enumerate(calls):
        step = f'{{"type":"function_call","id":{quoted(call_id)},"name":{quoted(name)}}}'
        yield f'{{"event_type":"step.start","index":{index},"step":{step}}}'
    for index, piece in deltas:
        yield f'{{"event_type":"step.delta","index":{index},"delta":{{"arguments":{quoted(piece)}}}}}'
    for index in range(len(calls)):
        yield f'{{"event_type":"step.stop","index":{index}}}'
    yield '{"event_type":"interaction.complete","interaction":{"status":"requires_action"}}'


def whole_events(
    render: Callable[[Sequence[Call]], str],
) -> Callable[[Sequence[Call], Deltas], Iterator[str]]:
    """A provider whose calls come whole: a response for each."""

    def stream(calls: Sequence[Call], _: Deltas) -> Iterator[str]:
        for call in calls:
            yield render([call])

    return stream


STREAMS: dict[str, Callable[[Sequence[Call], Deltas], Iterator[str]]] = {
    "openai": openai_stream,
    "mistral": openai_stream,
    "openai-responses": responses_stream,
    "anthropic": anthropic_stream,
    "bedrock": bedrock_stream,
    "cohere": cohere_stream,
    "gemini-interactions": interactions_stream,
    "gemini": whole_events(gemini),
    "ollama": whole_events(ollama),
}


def data(event: str, end: str) -> str:
    """One event of server-sent events: a field for each of its lines."""
    return "".join(f"data: {line}{end}" for line in re.split(r"\r\n|\r|\n", event)) + end


FRAMES: tuple[Callable[[Sequence[str]], str], ...] = (
    lambda events: "".join(data(event, "\n") for event in events) + "data: [DONE]\n\n",
    lambda events: "".join("event: x\r\n" + data(event, "\r\n") for event in events),
    lambda events: "".join(data(event, "\r") for event in events),
    lambda events: "".join(data(event.replace(",", ",\n", 1), "\n") for event in events),
    lambda events: "\n".join(events) + "\n",
    lambda events: "[" + ",\n".join(events) + "]",
    lambda events: "\ufeff" + "".join(": hello\n\n" + data(event, "\n") for event in events),
)
"""Events as a text: server-sent events with every line end and over several lines, JSON lines, an array."""


def cut(text: str, chance: random.Random) -> list[bytes]:
    """The text in bytes, split anywhere."""
    data = text.encode(errors="surrogatepass")
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(12)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]

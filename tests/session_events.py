"""Events of OpenAI's Realtime API and messages of Gemini's Live, as the servers send them."""

import json
from typing import Any


def realtime(
    response_id: str, *calls: tuple[str, Any, str], status: str = "completed", **about: Any
) -> list[dict[str, Any]]:
    """The events of one response with these calls, ``(name, arguments, id)`` each.

    Each item comes four times, as from the server.
    """
    events: list[dict[str, Any]] = [
        {
            "type": "response.created",
            "response": {
                "id": response_id,
                "object": "realtime.response",
                "status": "in_progress",
                "output": [],
            },
        }
    ]
    output = []
    for index, (name, arguments, call_id) in enumerate(calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        begun = {
            "id": f"item_{call_id}",
            "type": "function_call",
            "status": "in_progress",
            "name": name,
            "call_id": call_id,
            "arguments": "",
        }
        whole = {**begun, "status": "completed", "arguments": text}
        where = {"response_id": response_id, "output_index": index}
        of_item = {**where, "item_id": begun["id"], "call_id": call_id}
        half = len(text) // 2
        events += [
            {"type": "response.output_item.added", **where, "item": begun},
            {"type": "conversation.item.added", "previous_item_id": None, "item": begun},
            {"type": "response.function_call_arguments.delta", **of_item, "delta": text[:half]},
            {"type": "response.function_call_arguments.delta", **of_item, "delta": text[half:]},
            {
                "type": "response.function_call_arguments.done",
                **of_item,
                "name": name,
                "arguments": text,
            },
            {"type": "conversation.item.done", "previous_item_id": None, "item": whole},
            {"type": "response.output_item.done", **where, "item": whole},
        ]
        output.append(whole)
    response = {
        "id": response_id,
        "object": "realtime.response",
        "status": status,
        "output": output,
        **about,
    }
    events.append({"type": "response.done", "response": response})
    return [{"event_id": f"{response_id}_{number}", **event} for number, event in enumerate(events)]


def live(*calls: tuple[str, Any, str]) -> dict[str, Any]:
    """A message of the server with these calls, ``(name, arguments, id)`` each."""
    made = [{"id": call_id, "name": name, "args": arguments} for name, arguments, call_id in calls]
    return {"toolCall": {"functionCalls": made}}

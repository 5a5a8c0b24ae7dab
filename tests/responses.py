"""Responses of OpenAI's form, for tests that are not about a provider."""

import json


def response(*calls, first=0):
    """A response with these calls, ``(name, arguments)`` or ``(name, arguments, id)`` each."""
    made = [
        {
            "id": call[2] if len(call) > 2 else f"call_{number}",
            "type": "function",
            "function": {
                "name": call[0],
                "arguments": call[1] if isinstance(call[1], str) else json.dumps(call[1]),
            },
        }
        for number, call in enumerate(calls, first)
    ]
    return {
        "choices": [
            {"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": made}}
        ]
    }


def outcomes(results):
    """The value of each call, or the code of its error."""
    return [result.value if result.ok else result.error.code for result in results]

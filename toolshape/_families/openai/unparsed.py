"""Warns about calls that a server left in the text of a message."""

from toolshape._families.wire.content import visible_text
from toolshape._records.calls import WireMessage
from toolshape._records.result import ResponseWarning


def left_calls(message: WireMessage, provider: str) -> tuple[ResponseWarning, ...]:
    """Return a warning if the text of a message contains the opening mark of a call.

    If a message has neither text nor calls, this function searches its reasoning, because a model
    may forget to close its reasoning before a call.
    """
    text = visible_text(message)
    is_reasoning = not text.strip() and not message.get("tool_calls")
    if is_reasoning:
        text = next((message[key] for key in _REASONING if isinstance(message.get(key), str)), "")
    if not text:
        return ()
    from toolshape._families.text.unparsed import warn_of_left_calls  # noqa: PLC0415 - the formats import this family

    return warn_of_left_calls(text, provider, is_reasoning=is_reasoning)


# The keys for reasoning: of vLLM, of OpenRouter and vLLM from 0.12 on, and of Ollama.
_REASONING = ("reasoning_content", "reasoning", "thinking")

"""The examples table before the SDKs' own types: what is expected of us, and what is stored, are messages that they take."""

import re
from typing import Any

import pytest
from history_examples import EXAMPLES
from judges import JUDGES, judged

from toolshape._families import get

NAMES = [f"{example.source} to {example.target}: {example.name}" for example in EXAMPLES]
NEW_CHUNKS = (
    "thinking",
    "document_url",
)  # mistralai has them, mistral-common's reading of OpenAI's messages does not


def judge(provider: str, request: dict[str, Any]) -> None:
    """Raise what the SDK's types raise, and mistral-common and botocore."""
    messages = request[get(provider).histories.key]
    if provider != "mistral":
        judged(provider, {get(provider).histories.key: messages})
        return
    JUDGES["mistral"]({"messages": messages})
    known = [
        {
            **message,
            "content": [piece for piece in message["content"] if piece["type"] not in NEW_CHUNKS],
        }
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]
    judged("mistral", {"messages": known})


def issued(value: Any) -> Any:
    """The same, each id that is issued on the way as one that every provider takes."""
    if isinstance(value, dict):
        return {key: issued(item) for key, item in value.items()}
    if isinstance(value, list):
        return [issued(item) for item in value]
    found = re.fullmatch(r"<id (\d)>", value) if isinstance(value, str) else None
    return f"issued00{found[1]}" if found else value


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_what_is_expected_is_what_the_sdk_takes(example):
    """By the target's types; where it is what was stored, that is judged."""
    judge(example.target, issued(example.expected))

"""Every end of a response that an SDK or its service knows has a meaning here, or is known to have none."""

from typing import get_args

import anthropic.types
import botocore.loaders
import cohere.types
import mistralai.client.models
import openai.types.chat.chat_completion
import pytest
from google.genai.types import FinishReason

from toolshape._families import get


def _converse() -> list[str]:
    model = botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    return model["shapes"]["StopReason"]["enum"]


def _names(annotation: object) -> list[str]:
    """The strings of a union of literals, which may be nested."""
    return [
        name
        for each in get_args(annotation)
        for name in ([each] if isinstance(each, str) else _names(each))
    ]


ENDS = {
    "anthropic": _names(anthropic.types.StopReason),
    "bedrock": _converse(),
    "cohere": _names(cohere.types.ChatFinishReason),
    "gemini": [each.value for each in FinishReason],
    "mistral": _names(
        mistralai.client.models.ChatCompletionChoice.model_fields["finish_reason"].annotation
    ),
    "openai": _names(
        openai.types.chat.chat_completion.Choice.model_fields["finish_reason"].annotation
    ),
}
# An image's end, and what the service itself does not explain.
OTHER = {
    "gemini": {
        "FINISH_REASON_UNSPECIFIED", "OTHER", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_OTHER", "NO_IMAGE",
        "IMAGE_RECITATION",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_every_end_is_known(name):
    known = get(name).response.finishes
    assert ENDS[name]
    assert {end for end in ENDS[name] if end not in known} == OTHER.get(name, set())

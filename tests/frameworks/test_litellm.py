"""litellm on a fake: its call of a tool, and what OpenAI refuses."""

import os

import pytest

from toolshape import Registry
from toolshape.testing import Fake

# Their clients are left to the garbage collector, and some of their modules warn where they are imported.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_litellm(fake, weather, library):
    litellm = library("litellm")
    request = Registry([weather]).request("openai")
    messages = [{"role": "user", "content": "How will it be in Bonn?"}]
    response = litellm.completion(
        "openai/gpt-5", messages, api_base=os.environ["OPENAI_BASE_URL"], **request
    )
    messages += Registry([weather]).dispatch(response.model_dump()).turn
    response = litellm.completion(
        "openai/gpt-5", messages, api_base=os.environ["OPENAI_BASE_URL"], **request
    )
    assert response.choices[0].message.content == "It will be sunny."


def test_what_is_refused_reaches_the_application(library):
    """As the framework's own error, with the words that OpenAI uses."""
    litellm = library("litellm")
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "tool", "tool_call_id": "call_1", "content": "7"},
    ]
    with Fake("openai") as fake:
        options = {"api_base": f"{fake.url}/v1", "api_key": "k", "max_retries": 0}
        with pytest.raises(litellm.BadRequestError, match="must be a response to a preceeding"):
            litellm.completion("openai/gpt-5", messages, **options)
    assert "orphan_result" in {item.rule for item in fake.refused}

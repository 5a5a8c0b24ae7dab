"""The real SDK clients: each asked for a response or a stream, over HTTP or on a client of ours."""

import importlib
import os
from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["CLIENTS", "IN_PROCESS", "STREAMS", "sdk"]


def sdk(name: str) -> Any:
    """A library; where all are promised, none is skipped."""
    if os.environ.get("TOOLSHAPE_ALL_INSTALLED"):
        return importlib.import_module(name)
    return pytest.importorskip(
        name, reason=f"{name} is not installed: pip install 'toolshape[test,sdks]'"
    )


Client = Callable[[str, Any], Any]


def _openai(url: str, **more: Any) -> Any:
    return sdk("openai").OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, **more)


def _anthropic(url: str, **more: Any) -> Any:
    return sdk("anthropic").Anthropic(base_url=url, api_key="k", max_retries=0, **more)


def _gemini(url: str, request: Any, **more: Any) -> Any:
    client = sdk("google.genai").Client(api_key="k", http_options={"base_url": url, **more})
    return client.models.generate_content(
        **request
    )  # a client without a name would be closed before


def _gemini_stream(url: str, request: Any) -> Any:
    client = sdk("google.genai").Client(api_key="k", http_options={"base_url": url})
    yield from client.models.generate_content_stream(**request)


def _bedrock(url: str) -> Any:
    session = sdk("botocore.session").get_session()
    session.set_credentials("k", "k")
    retries = sdk("botocore.config").Config(retries={"total_max_attempts": 1})
    return session.create_client(
        "bedrock-runtime", region_name="us-east-1", endpoint_url=url, config=retries
    )


def _mistral(url: str, **more: Any) -> Any:
    return sdk("mistralai.client").Mistral(server_url=url, api_key="k", **more)


def _cohere(url: str, **more: Any) -> Any:
    return sdk("cohere").ClientV2(api_key="k", base_url=url, max_retries=0, **more)


def _ollama(url: str, **more: Any) -> Any:
    return sdk("ollama").Client(host=url, **more)


def _groq(url: str, **more: Any) -> Any:
    return sdk("groq").Groq(base_url=url, api_key="k", max_retries=0, **more)


CLIENTS: dict[str, Client] = {
    "openai": lambda url, request: _openai(url).chat.completions.create(**request),
    "openai-responses": lambda url, request: _openai(url).responses.create(**request),
    "anthropic": lambda url, request: _anthropic(url).messages.create(max_tokens=9, **request),
    "gemini": _gemini,
    "bedrock": lambda url, request: _bedrock(url).converse(**request),
    "mistral": lambda url, request: _mistral(url).chat.complete(**request),
    "cohere": lambda url, request: _cohere(url).chat(**request),
    "ollama": lambda url, request: _ollama(url).chat(**request),
    "groq": lambda url, request: _groq(url).chat.completions.create(**request),
}
STREAMS: dict[str, Client] = {
    "openai": lambda url, request: _openai(url).chat.completions.create(stream=True, **request),
    "openai-responses": lambda url, request: _openai(url).responses.create(stream=True, **request),
    "anthropic": lambda url, request: _anthropic(url).messages.create(
        max_tokens=9, stream=True, **request
    ),
    "gemini": _gemini_stream,
    "bedrock": lambda url, request: _bedrock(url).converse_stream(**request)["stream"],
    "mistral": lambda url, request: (event.data for event in _mistral(url).chat.stream(**request)),
    "cohere": lambda url, request: _cohere(url).chat_stream(**request),
    "ollama": lambda url, request: _ollama(url).chat(stream=True, **request),
    "groq": lambda url, request: _groq(url).chat.completions.create(stream=True, **request),
}
NOWHERE = "http://fake.invalid"
IN_PROCESS: dict[str, Callable[[Any, Any], Any]] = {
    "openai": lambda fake, request: _openai(
        NOWHERE, http_client=fake.client()
    ).chat.completions.create(**request),
    "openai-responses": lambda fake, request: _openai(
        NOWHERE, http_client=fake.client()
    ).responses.create(**request),
    "anthropic": lambda fake, request: _anthropic(
        NOWHERE, http_client=fake.client()
    ).messages.create(max_tokens=9, **request),
    "gemini": lambda fake, request: _gemini(NOWHERE, request, httpx_client=fake.client()),
    "mistral": lambda fake, request: _mistral(NOWHERE, client=fake.client()).chat.complete(
        **request
    ),
    "cohere": lambda fake, request: _cohere(NOWHERE, httpx_client=fake.client()).chat(**request),
    "ollama": lambda fake, request: _ollama(NOWHERE, transport=fake.transport()).chat(**request),
    "groq": lambda fake, request: _groq(NOWHERE, http_client=fake.client()).chat.completions.create(
        **request
    ),
}

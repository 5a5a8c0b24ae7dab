"""Where each wire family is asked, how its streams are framed, and the variables that its SDK reads."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from toolshape.errors import UsageError
from toolshape.wire.provider import Provider

__all__ = ["Endpoint", "Framing", "endpoint_of", "environment", "library_of"]

Framing: TypeAlias = Literal["sse", "named-sse", "ndjson", "event-stream"]


class Endpoint(NamedTuple):
    """One family's address: ``path`` may hold the ``model`` and a ``verb``, which says whether it streams.

    ``is_done`` is whether a stream ends with ``[DONE]``; ``streams`` is what a request means that does not say.
    """

    path: re.Pattern[str]
    framing: Framing
    is_done: bool = False
    streams: bool = False
    streaming_verb: str = ""


_CHAT = Endpoint(re.compile(r"(?:.*/deployments/(?P<model>[^/]+)|.*)/chat/completions"), "sse", is_done=True)
_ENDPOINTS: Mapping[str, Endpoint] = {
    "openai": _CHAT,
    "huggingface": _CHAT,
    "openai-responses": Endpoint(re.compile(r".*/responses"), "named-sse"),
    "anthropic": Endpoint(re.compile(r".*/messages"), "named-sse"),
    "gemini": Endpoint(
        re.compile(r".*/models/(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent)"),
        "sse",
        streaming_verb="streamGenerateContent",
    ),
    "gemini-interactions": Endpoint(re.compile(r".*/interactions"), "named-sse"),
    "bedrock": Endpoint(
        re.compile(r"/model/(?P<model>[^/]+)/(?P<verb>converse|converse-stream)"),
        "event-stream",
        streaming_verb="converse-stream",
    ),
    "cohere": Endpoint(re.compile(r".*/chat"), "named-sse"),
    "ollama": Endpoint(re.compile(r".*/api/chat"), "ndjson", streams=True),
}


def endpoint_of(provider: Provider) -> Endpoint:
    """Where a provider of this family is asked.

    Raises:
        UsageError: No fake speaks its wire.
    """
    found = _ENDPOINTS.get(provider.family)
    parts = (provider.read_request, provider.respond, provider.unfold, provider.error)
    if found is None or None in parts:
        raise UsageError(f"there is no fake of {provider.name}: its Provider does not say how a server answers")
    return found


_KEY = "fake-key"
_OPENAI = {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": _KEY}
_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "openai": _OPENAI,
    "openai-responses": _OPENAI,
    "azure": {
        "AZURE_OPENAI_ENDPOINT": "{url}",
        "AZURE_OPENAI_API_KEY": _KEY,
        "OPENAI_API_VERSION": "2024-10-21",
    },
    "anthropic": {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": _KEY},
    "gemini": {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": _KEY},
    "gemini-openapi": {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": _KEY},
    "gemini-interactions": {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": _KEY},
    "vertex": {"GOOGLE_VERTEX_BASE_URL": "{url}", "GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_API_KEY": _KEY},
    "bedrock": {
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "{url}",
        "AWS_ACCESS_KEY_ID": _KEY,
        "AWS_SECRET_ACCESS_KEY": _KEY,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    },
    "mistral": {"MISTRAL_API_KEY": _KEY},
    "cohere": {"CO_API_URL": "{url}", "CO_API_KEY": _KEY},
    "ollama": {"OLLAMA_HOST": "{url}"},
    "groq": {"GROQ_BASE_URL": "{url}", "GROQ_API_KEY": _KEY},
    "cerebras": {"CEREBRAS_BASE_URL": "{url}", "CEREBRAS_API_KEY": _KEY},
    "together": {"TOGETHER_BASE_URL": "{url}/v1", "TOGETHER_API_KEY": _KEY},
    "fireworks": {"FIREWORKS_BASE_URL": "{url}/v1", "FIREWORKS_API_KEY": _KEY},
    "deepseek": {**_OPENAI, "DEEPSEEK_API_KEY": _KEY},
    "xai": {**_OPENAI, "XAI_API_KEY": _KEY},
    "openrouter": {**_OPENAI, "OPENROUTER_API_KEY": _KEY},
    "moonshot": {**_OPENAI, "MOONSHOT_API_KEY": _KEY},
    "huggingface": {**_OPENAI, "HF_TOKEN": _KEY},
}
"""What the SDKs of 2026-11 read; those without one of their own are asked by OpenAI's."""


def environment(provider: Provider, url: str) -> dict[str, str]:
    """The variables by which a provider's SDK asks a fake, and no other key is found."""
    own = _VARIABLES.get(provider.name) or _VARIABLES.get(provider.name.partition(":")[0]) or _OPENAI
    return {name: value.format(url=url) for name, value in own.items()}


_ON_HTTPX = frozenset({"groq", "cerebras", "together", "fireworks", "cohere", "ollama"})
"""Whose SDKs take clients of httpx on 2026-11-22; the others have moved to httpx2."""


def library_of(provider: Provider) -> Literal["httpx", "httpx2"]:
    """The HTTP library of a provider's SDK."""
    return "httpx" if provider.name.partition(":")[0] in _ON_HTTPX else "httpx2"

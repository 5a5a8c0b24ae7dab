"""Fakes asked without an SDK: the keywords of a request as its body and address, and what comes back as it is read."""

import copy
import json
from typing import Any

from toolshape._families import get
from toolshape._families.names import available
from toolshape.testing import Fake

__all__ = ["FAKED", "MODEL", "asked", "body_of", "collected", "keywords", "path_of"]

FAKED = [name for name in available() if get(name).server is not None]
MODEL = "some-model"
_PATHS = {
    "openai": "/v1/chat/completions",
    "huggingface": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini-interactions": "/v1beta/interactions",
    "cohere": "/v2/chat",
    "ollama": "/api/chat",
}


def path_of(provider: str, model: str, *, stream: bool) -> str:
    """The address of a request."""
    family = get(provider).family
    if family == "gemini":
        return f"/v1beta/models/{model}:" + (
            "streamGenerateContent?alt=sse" if stream else "generateContent"
        )
    if family == "bedrock":
        return f"/model/{model}/converse" + ("-stream" if stream else "")
    return _PATHS[family]


def keywords(provider: str, text: str = "Go.") -> dict[str, Any]:
    """A question as the keywords of a request, without tools."""
    histories = get(provider).histories
    question: Any = {"role": "user", "content": text}
    if get(provider).family == "gemini":
        question = {"role": "user", "parts": [{"text": text}]}
    elif get(provider).family == "bedrock":
        question = {"role": "user", "content": [{"text": text}]}
    elif get(provider).family == "gemini-interactions":
        question = {"type": "user_input", "content": [{"type": "text", "text": text}]}
    more = {"max_tokens": 9} if get(provider).family == "anthropic" else {}
    return {histories.model_key: MODEL, histories.key: [question], **more}


def body_of(provider: str, given: dict[str, Any], *, stream: bool) -> dict[str, Any]:
    """The keywords of an SDK's call as the body that the SDK sends."""
    body = copy.deepcopy(given)
    if get(provider).family == "gemini":
        config = body.pop("config", {})
        of_answer = {key: config.pop(key) for key in list(config) if key.startswith("response")}
        body.update(config, **({"generationConfig": of_answer} if of_answer else {}))
        del body["model"]
    elif get(provider).family == "bedrock":
        del body["modelId"]
    elif stream or get(provider).family == "ollama":
        body["stream"] = stream
    return body


def asked(fake: Fake, given: dict[str, Any], *, stream: bool = False) -> tuple[int, bytes]:
    """Ask a fake; the status and the whole of what comes back."""
    name = fake.provider.name
    model = given.get("model") or given["modelId"]
    raw = json.dumps(body_of(name, given, stream=stream)).encode()
    reply = fake._handle("POST", path_of(name, model, stream=stream), raw)
    return reply.status, b"".join(reply.chunks)


def collected(bound: Any, fake: Fake, given: dict[str, Any], *, stream: bool) -> Any:
    """The plan of what a fake answers, whole or streamed."""
    status, content = asked(fake, given, stream=stream)
    assert status == 200, content
    if not stream:
        return bound.plan(content)
    collector = bound.collector()
    if bound.provider.family == "bedrock":
        for event in bound.provider.server.unfold(
            fake.exchanges[-1].response
        ):  # its frames are read by botocore elsewhere
            collector.feed(event)
    else:
        collector.feed(content)
    collector.close()
    return collector.plan()

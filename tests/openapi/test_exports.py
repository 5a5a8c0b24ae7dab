"""Which operations of published documents each provider is sent, strict or not, and what is refused by which rule.

The sample goes by ``TOOLSHAPE_SEED``; ``TOOLSHAPE_OPENAPI_ALL`` takes more documents.
"""

import os
import random
from collections import Counter
from typing import Any

import httpx
import pytest
from real import FOLDER, documents

from toolshape import ExportError, Registry
from toolshape.openapi import load

SEED = os.environ.get("TOOLSHAPE_SEED", "0")
DOCUMENTS = 300 if os.environ.get("TOOLSHAPE_OPENAPI_ALL") else 30
OPERATIONS = 40  # of one document
PROVIDERS = (
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
    "gemini-live",
)
LEAST = {"openai": 0.98, "openai-responses": 0.98, "anthropic": 0.98, "gemini": 0.97, "bedrock": 0.98, "mistral": 0.98, "cohere": 0.98, "ollama": 0.97, "gemini-live": 0.95}  # fmt: skip
SMALL = 4_000_000  # bytes of a document


def sampled() -> list[Any]:
    """Tools of operations, each read alone: what cannot be read is among what is left out."""
    found: list[Any] = []
    client = httpx.Client(base_url="https://api.example")
    for count, (_, document) in enumerate(documents(SEED, most_bytes=SMALL)):
        if count == DOCUMENTS:
            break
        api = load(document, client)
        tools = list(api.tools())
        found += random.Random(SEED).sample(tools, min(OPERATIONS, len(tools)))
    return found


def refusal(tool: Any, provider: str, strict: Any) -> str:
    try:
        Registry([tool]).bind(provider, strict).export()
    except ExportError as error:
        return error.problems[0].rule
    return ""


@pytest.mark.skipif(not FOLDER.exists(), reason="the documents are not installed: nox -s openapi")
def test_published_operations_at_each_provider() -> None:
    tools = sampled()
    print(f"\n{len(tools)} operations of at most {DOCUMENTS} documents, seed {SEED}")
    for provider in PROVIDERS:
        lenient = Counter(refusal(tool, provider, False) for tool in tools)
        strict: Counter[str] = Counter()
        for tool in tools:
            try:
                strict[refusal(tool, provider, True)] += 1
            except Exception as error:  # it has no strict form
                strict[type(error).__name__] += 1
        share = lenient[""] / len(tools)
        refused = {rule: count for rule, count in lenient.items() if rule}
        refused_strict = {rule: count for rule, count in strict.items() if rule}
        print(
            f"{provider}: {share:.1%}, refused {refused}; strict {strict[''] / len(tools):.1%}, refused {refused_strict}"
        )
        assert share >= LEAST[provider], (provider, refused)

"""The names of providers: this package's as literals, and those of installed packages.

No family is imported for a name: see ``get`` in the package for what a name stands for.
"""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, get_args

ENTRY_POINTS = "toolshape.providers"

ProviderName: TypeAlias = Literal[
    "anthropic", "anthropic:described", "azure", "bedrock", "cerebras", "cohere", "copilot",
    "deepseek", "fireworks", "gemini", "gemini-interactions", "gemini-live", "gemini-openapi",
    "gemini-openapi:upper-case", "gemini:string-enums", "groq", "huggingface", "json-schema",
    "llama-cpp", "lm-studio", "mcp", "mcp:2025-06-18", "mcp:2025-11-25", "mcp:2026-07-28",
    "mcp:refs", "mistral", "moonshot", "ollama", "ollama:server", "openai", "openai-realtime",
    "openai-responses",
    "openai-responses:minimal", "openai:minimal", "openai:string-enums", "openrouter", "sglang",
    "text:apertus", "text:cohere_command", "text:deepseek_v3", "text:deepseek_v31",
    "text:deepseek_v32", "text:deepseek_v41", "text:dots", "text:functiongemma", "text:gemma4",
    "text:gigachat3", "text:glm45", "text:granite", "text:granite_20b", "text:harmony",
    "text:hermes", "text:hunyuan", "text:internlm", "text:invoke", "text:json", "text:kimi_k2",
    "text:kimi_k3", "text:lfm2", "text:llama3_json", "text:longcat", "text:mimo",
    "text:minimax_m1", "text:minimax_m2", "text:minimax_m3", "text:mistral", "text:mistral_old",
    "text:muse", "text:nemotron", "text:olmo3", "text:phi4", "text:pythonic", "text:qwen3_coder",
    "text:seed_oss", "text:step3", "text:tool_calls", "together", "vertex", "vllm", "xai",
    "xai:grpc",
]  # fmt: skip
"""The names of this package's providers, as literals that an editor can complete."""

TextCallsName: TypeAlias = Literal[
    "anthropic+apertus", "anthropic+cohere_command", "anthropic+deepseek_v3",
    "anthropic+deepseek_v31",
    "anthropic+deepseek_v32", "anthropic+deepseek_v41", "anthropic+dots", "anthropic+functiongemma",
    "anthropic+gemma4", "anthropic+gigachat3", "anthropic+glm45", "anthropic+granite",
    "anthropic+granite_20b",
    "anthropic+harmony", "anthropic+hermes", "anthropic+hunyuan", "anthropic+internlm",
    "anthropic+invoke",
    "anthropic+json", "anthropic+kimi_k2", "anthropic+kimi_k3", "anthropic+lfm2",
    "anthropic+llama3_json",
    "anthropic+longcat", "anthropic+mimo", "anthropic+minimax_m1", "anthropic+minimax_m2",
    "anthropic+minimax_m3",
    "anthropic+mistral", "anthropic+mistral_old", "anthropic+muse", "anthropic+nemotron",
    "anthropic+olmo3",
    "anthropic+phi4", "anthropic+pythonic", "anthropic+qwen3_coder", "anthropic+seed_oss",
    "anthropic+step3",
    "anthropic+tool_calls",
    "llama-cpp+apertus", "llama-cpp+cohere_command", "llama-cpp+deepseek_v3",
    "llama-cpp+deepseek_v31",
    "llama-cpp+deepseek_v32", "llama-cpp+deepseek_v41", "llama-cpp+dots", "llama-cpp+functiongemma",
    "llama-cpp+gemma4", "llama-cpp+gigachat3", "llama-cpp+glm45", "llama-cpp+granite",
    "llama-cpp+granite_20b",
    "llama-cpp+harmony", "llama-cpp+hermes", "llama-cpp+hunyuan", "llama-cpp+internlm",
    "llama-cpp+invoke",
    "llama-cpp+json", "llama-cpp+kimi_k2", "llama-cpp+kimi_k3", "llama-cpp+lfm2",
    "llama-cpp+llama3_json",
    "llama-cpp+longcat", "llama-cpp+mimo", "llama-cpp+minimax_m1", "llama-cpp+minimax_m2",
    "llama-cpp+minimax_m3",
    "llama-cpp+mistral", "llama-cpp+mistral_old", "llama-cpp+muse", "llama-cpp+nemotron",
    "llama-cpp+olmo3",
    "llama-cpp+phi4", "llama-cpp+pythonic", "llama-cpp+qwen3_coder", "llama-cpp+seed_oss",
    "llama-cpp+step3",
    "llama-cpp+tool_calls",
    "ollama+apertus", "ollama+cohere_command", "ollama+deepseek_v3", "ollama+deepseek_v31",
    "ollama+deepseek_v32",
    "ollama+deepseek_v41", "ollama+dots", "ollama+functiongemma", "ollama+gemma4",
    "ollama+gigachat3",
    "ollama+glm45", "ollama+granite", "ollama+granite_20b", "ollama+harmony", "ollama+hermes",
    "ollama+hunyuan",
    "ollama+internlm", "ollama+invoke", "ollama+json", "ollama+kimi_k2", "ollama+kimi_k3",
    "ollama+lfm2",
    "ollama+llama3_json", "ollama+longcat", "ollama+mimo", "ollama+minimax_m1", "ollama+minimax_m2",
    "ollama+minimax_m3", "ollama+mistral", "ollama+mistral_old", "ollama+muse", "ollama+nemotron",
    "ollama+olmo3",
    "ollama+phi4", "ollama+pythonic", "ollama+qwen3_coder", "ollama+seed_oss", "ollama+step3",
    "ollama+tool_calls",
    "openai-responses+apertus", "openai-responses+cohere_command", "openai-responses+deepseek_v3",
    "openai-responses+deepseek_v31", "openai-responses+deepseek_v32",
    "openai-responses+deepseek_v41",
    "openai-responses+dots", "openai-responses+functiongemma", "openai-responses+gemma4",
    "openai-responses+gigachat3", "openai-responses+glm45", "openai-responses+granite",
    "openai-responses+granite_20b", "openai-responses+harmony", "openai-responses+hermes",
    "openai-responses+hunyuan", "openai-responses+internlm", "openai-responses+invoke",
    "openai-responses+json",
    "openai-responses+kimi_k2", "openai-responses+kimi_k3", "openai-responses+lfm2",
    "openai-responses+llama3_json",
    "openai-responses+longcat", "openai-responses+mimo", "openai-responses+minimax_m1",
    "openai-responses+minimax_m2", "openai-responses+minimax_m3", "openai-responses+mistral",
    "openai-responses+mistral_old", "openai-responses+muse", "openai-responses+nemotron",
    "openai-responses+olmo3",
    "openai-responses+phi4", "openai-responses+pythonic", "openai-responses+qwen3_coder",
    "openai-responses+seed_oss", "openai-responses+step3", "openai-responses+tool_calls",
    "vllm+apertus", "vllm+cohere_command", "vllm+deepseek_v3", "vllm+deepseek_v31",
    "vllm+deepseek_v32",
    "vllm+deepseek_v41", "vllm+dots", "vllm+functiongemma", "vllm+gemma4", "vllm+gigachat3",
    "vllm+glm45",
    "vllm+granite", "vllm+granite_20b", "vllm+harmony", "vllm+hermes", "vllm+hunyuan",
    "vllm+internlm",
    "vllm+invoke", "vllm+json", "vllm+kimi_k2", "vllm+kimi_k3", "vllm+lfm2", "vllm+llama3_json",
    "vllm+longcat",
    "vllm+mimo", "vllm+minimax_m1", "vllm+minimax_m2", "vllm+minimax_m3", "vllm+mistral",
    "vllm+mistral_old",
    "vllm+muse", "vllm+nemotron", "vllm+olmo3", "vllm+phi4", "vllm+pythonic", "vllm+qwen3_coder",
    "vllm+seed_oss",
    "vllm+step3", "vllm+tool_calls",
]  # fmt: skip
"""The names for servers of open models that may leave calls in the text, each
with the format of these calls.

Other providers that serve open models have such names, too: ``together+hermes``.
"""


def available() -> tuple[str, ...]:
    """Return the names of all providers: in this package, and in the
    entry points of installed packages.
    """
    return tuple(sorted({*get_args(ProviderName), *(entry.name for entry in entry_points())}))


def entry_points() -> Iterable[Any]:
    """Return the providers of installed packages, not yet loaded."""
    import importlib.metadata  # noqa: PLC0415 - would add a tenth to the package's import time, for few programs

    return importlib.metadata.entry_points(group=ENTRY_POINTS)

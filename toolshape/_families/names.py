"""The names of this package's providers, as type checkers and editors read them."""

from typing import Literal, TypeAlias

ProviderName: TypeAlias = Literal[
    "anthropic", "anthropic:described", "azure", "bedrock", "cerebras", "cohere",
    "deepseek", "fireworks", "gemini", "gemini-interactions", "gemini-openapi", "gemini-openapi:upper-case",
    "gemini:string-enums", "groq", "huggingface", "json-schema", "llama-cpp", "mcp",
    "mcp:2025-06-18", "mcp:2025-11-25", "mcp:2026-07-28", "mcp:refs", "mistral", "moonshot",
    "ollama", "ollama:server", "openai", "openai-responses", "openai-responses:minimal", "openai:minimal",
    "openai:string-enums", "openrouter",
    "text:apertus", "text:cohere_command", "text:deepseek_v3", "text:deepseek_v31", "text:deepseek_v32",
    "text:deepseek_v41", "text:dots", "text:functiongemma", "text:gemma4", "text:gigachat3",
    "text:glm45", "text:granite", "text:granite_20b", "text:harmony", "text:hermes",
    "text:hunyuan", "text:internlm", "text:invoke", "text:json", "text:kimi_k2",
    "text:kimi_k3", "text:lfm2", "text:llama3_json", "text:longcat", "text:mimo",
    "text:minimax_m1", "text:minimax_m2", "text:minimax_m3", "text:mistral", "text:mistral_old",
    "text:muse", "text:nemotron", "text:olmo3", "text:phi4", "text:pythonic",
    "text:qwen3_coder", "text:seed_oss", "text:step3", "text:tool_calls",
    "together", "vertex", "vllm", "xai",
    "xai:grpc",
]  # fmt: skip
"""The names of this package's providers, as literals that an editor can complete."""

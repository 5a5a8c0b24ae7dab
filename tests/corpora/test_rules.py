"""The rules of each provider, checked against schemas that the providers accepted and refused."""

import collections
from typing import Any

import pytest
from shared import corpus

from toolshape._families import get
from toolshape._tools.export import export_problems

SURFACES = {
    "openai:openai-chat": "openai",
    "azure:openai-chat": "azure",
    "openrouter:openai-chat": "openrouter",
    "mistral:openai-chat": "mistral",
    "deepseek:openai-chat": "deepseek",
    "groq:openai-chat": "groq",
    "xai:openai-chat": "xai",
    "together:openai-chat": "together",
    "cerebras:openai-chat": "cerebras",
    "llamacpp:openai-chat": "llama-cpp",
    "huggingface:openai-chat": "huggingface",
    "cohere:cohere-v2": "cohere",
    "google:gemini-interactions": "gemini-interactions",
    "openai:openai-responses": "openai-responses",
    "anthropic:anthropic-messages": "anthropic",
    "bedrock:bedrock-converse": "bedrock",
    "google:gemini": "gemini",
    "vertex:gemini": "gemini",
}
UNLIKE = {
    "td_7c9464968b87": "types as the numbers of the protocol buffer's enum, which only Vertex's gRPC form takes"
}


def test_what_was_accepted_is_accepted():
    """Every definition that a provider answered 200 to, by its own schema and name."""
    counts: collections.Counter[str] = collections.Counter()
    unlike: dict[str, list[str]] = {}
    for row in corpus("tool_definitions.jsonl"):
        for surface in row.get("accepted_by") or ():
            strict = surface.endswith(":strict")
            name = SURFACES.get(surface.removesuffix(":strict"))
            if name is None or not row["schema"]:
                continue
            provider = get(
                "gemini-openapi" if name == "gemini" and row["dialect"] == "gemini" else name
            )
            said = [
                str(problem)
                for problem in export_problems(provider.schema, row["schema"], is_strict=strict)
            ]
            if not provider.names.admits(row["name"]):
                said.append(f"name: {row['name']}")
            counts[surface] += 1
            if said:
                unlike.setdefault(row["id"], []).extend(said)
    print(counts)
    assert unlike.keys() == UNLIKE.keys(), unlike
    assert sum(counts.values()) > 500


def schema_of(tool: Any) -> Any:
    """The schema in a definition of any envelope."""
    inner = tool.get("function", tool.get("toolSpec", tool))
    for key in ("parameters", "input_schema", "inputSchema"):
        if key in inner:
            return (
                inner[key].get("json", inner[key]) if isinstance(inner[key], dict) else inner[key]
            )
    return None


# Refusals whose tool was recorded, that come from its schema. Two are of the size of the whole request's grammar, which
# has no documented number: the server found 16 unions, and 24 optionals, in one schema too complex.
TOO_COMPLEX = {"pr_6cee05812be8", "pr_a168a22e3f34"}
ABOUT_OTHER_THINGS = (
    "toolResult",
    "Too many strict tools",
    "tool_choice",
    "jinja",
    "tool_use_failed",
    "call_id",
)


def test_what_was_refused_is_refused():
    """Every recorded refusal of a schema is predicted."""
    seen = 0
    for row in corpus("provider_rejections.jsonl"):
        name = SURFACES.get(f"{row['provider']}:{row['surface']}")
        tool = row.get("offending_tool")
        body = str(row["error_body"])
        if name is None or not tool or any(word in body for word in ABOUT_OTHER_THINGS):
            continue
        inner = tool.get("function", tool.get("toolSpec", tool))
        strict = bool(inner.get("strict", name == "openai-responses"))
        found = export_problems(get(name).schema, schema_of(tool), is_strict=strict)
        if row["id"] in TOO_COMPLEX:
            continue
        assert found, (row["id"], body[:200], tool)
        seen += 1
    assert seen >= 14


OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


def with_a(**node: Any) -> dict[str, Any]:
    return {**OBJECT, "properties": {"a": node}}


QUOTED = [
    ("pr_c55127aa4521", "openai", True, {"type": "object", "additionalProperties": False}),
    ("pr_ff9b84d94ef9", "openai-responses", True, with_a(type="object", properties={})),
    ("pr_24222e93f5f8", "openai", True, with_a(type=["object", "null"], properties={})),
    ("pr_4288dbde17ac", "openai-responses", True, {**OBJECT, "required": []}),
    ("pr_7407de4ae591", "openai", False, with_a(type="array")),
    ("pr_c4f0d592627e", "openai", True, with_a(allOf=[{"type": "string"}])),
    ("pr_756bba0881a8", "openai-responses", True, with_a(type="string", format="uri")),
    ("pr_a97d584d19af", "openai-responses", True, with_a(type="array", items={})),
    ("pr_8ffd9d073ceb", "anthropic", False, {"type": "object", "properties": {"a b": {}}}),
    ("pr_3996057e0ac9", "anthropic", False, {"type": "object", "anyOf": [OBJECT]}),
    ("pr_60f3bd5f0963", "bedrock", False, {"properties": {}}),
    ("pr_67cfc3c0e84f", "bedrock", False, "{}"),
    ("pr_3105039204ac", "gemini-openapi", False, {"$schema": "x", **OBJECT}),
    ("pr_5812e81471fd", "gemini-openapi", False, with_a(type="")),
    ("pr_343a94d4618e", "gemini-openapi", False, with_a(type="integer", enum=[0])),
    ("pr_8c8fa710bf95", "gemini-openapi", False, with_a(enum=["a"])),
    ("pr_c00bf167ed46", "gemini-openapi", False, with_a(type="string", format="uri")),
    ("pr_9ad9d6bf56dc", "gemini-openapi", False, with_a(type="array")),
    (
        "pr_77e5e3ce7518",
        "gemini-openapi",
        False,
        {"type": "object", "properties": {}, "required": ["a"]},
    ),
    ("pr_2fa76f84f1ce", "gemini-openapi", False, with_a(description="no type")),
    ("pr_45ce2a7cb831", "gemini-openapi", False, with_a(type="string", enum=[])),
    ("pr_6794734d48fe", "gemini-openapi", False, with_a(properties={})),
    (
        "pr_b431f0365b94",
        "gemini",
        False,
        {"type": "object", "properties": {}, "required": ["model"]},
    ),
    (
        "pr_cb0fc2dab423",
        "gemini",
        False,
        with_a(**{"$ref": "#/$defs/A", "type": "string"}) | {"$defs": {"A": {}}},
    ),
]


@pytest.mark.parametrize(("recorded", "provider", "strict", "schema"), QUOTED)
def test_quoted_refusals(recorded, provider, strict, schema):
    """Refusals of which only the text is known, with a schema of ours that it describes."""
    assert export_problems(get(provider).schema, schema, is_strict=strict)
    allowed = (
        {**OBJECT}
        if provider != "gemini-openapi"
        else {k: v for k, v in OBJECT.items() if k != "additionalProperties"}
    )
    assert not export_problems(get(provider).schema, allowed, is_strict=strict)


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "a b"),
        ("openai", "x" * 65),
        ("anthropic", "a.b"),
        ("anthropic", "x" * 129),
        ("gemini", "7a"),
        ("bedrock", "a.b"),
    ],
)
def test_names_that_were_refused(provider, name):
    """pr_7da69b6c516b, pr_61cfb4441390, pr_ec706eba3be7, pr_817591b38fe4, pr_3d144d81841e."""
    assert not get(provider).names.admits(name)

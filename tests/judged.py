"""The rules whose probe somebody else refuses, too: the SDK's types, botocore's model, mistral-common's validator.

``tests/sdks/test_rule_judges.py`` asks them, and the page of the providers counts them.
"""

_INPUT = {("history", "malformed_arguments")}
JUDGED: dict[str, set[tuple[str, str]]] = {
    "openai": {
        ("history", "call_id"), ("history", "empty_message"), ("history", "media_in_result"), *_INPUT,
    },
    "openai-responses": _INPUT,
    "anthropic": {("history", "unsigned_reasoning"), *_INPUT},
    "gemini": _INPUT,
    "vertex": _INPUT,
    "bedrock": {
        ("history", "call_id"), ("history", "tool_name"), ("name", "name"), ("request", "empty_array"),
        ("request", "entry_keys"),
    },
    "mistral": {
        ("history", name)
        for name in (
            "call_id", "call_placement", "duplicate_id", "duplicate_result", "last_is_assistant", "late_result",
            "media_in_result", "open_turn", "orphan_result", "system_between", "tool_name", "unanswered_call",
        )
    },
    "cohere": {("history", "call_id")},
    "ollama": _INPUT,
}  # fmt: skip
"""By provider, the kind and the name of each rule."""

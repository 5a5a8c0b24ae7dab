"""A key of a provider's wire stands in the folder of its family, and in no other file of the package.

Read from the syntax tree: keys of dicts, subscripts, and what ``get``, ``pop``, ``setdefault`` and ``member`` are asked
for. A word such as ``"name"`` is everybody's; a key that is made of several words (``tool_call_id``, ``toolUse``) is
its provider's, unless JSON Schema or MCP has it too.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator

import pytest
from house import MODULES, TREES
from jsonschema import Draft202012Validator

FAMILIES = "toolshape._families."
SHARED = (
    f"{FAMILIES}names",
    f"{FAMILIES}receive",
    f"{FAMILIES}wire",
)  # what families share, which names no family's keys
ASKED = ("get", "pop", "setdefault")
READERS = ("member", "_either")
# What happens to be spelt as some provider's key, and is our own: columns, rules, fields of what we write ourselves.
OUR_OWN = {
    ("toolshape._cli.cli", "most_tools"): "a rule",
    ("toolshape._cli.rulebook.probes", "most_tools"): "a rule",
    ("toolshape._plan.result_json", "is_text"): "a field of a stored result",
    ("toolshape._plan.result_json", "media_type"): "a field of a stored part",
    ("toolshape._history.repairs.parts", "tool_name"): "a rule of histories",
    ("toolshape._history.repairs.parts", "item_id"): "a rule of histories",
    ("toolshape._history.repairs.ids", "call_id"): "a rule of histories",
    **dict.fromkeys(
        (("toolshape._history.plain_tail", name) for name in ("call_id", "missing_signature")),
        "a rule of histories",
    ),
    (
        "toolshape._conversation.message_json",
        "mime_type",
    ): "a field of a stored conversation, after OpenTelemetry's conventions",
    (
        "toolshape._conversation.message_json",
        "finish_reason",
    ): "a field of a stored conversation, after OpenTelemetry's conventions",
    ("toolshape._conversation.message_json", "is_text"): "a field of a stored conversation",
    ("toolshape._function.core_schema.nodes", "json_schema"): "pydantic's",
    ("toolshape._function.core_schema.tighten", "json_schema"): "pydantic's",
    ("toolshape._families.wire.stream_events", "is_end"): "a field of our own event",
    (
        "toolshape._families.wire.content",
        "INVALID_JSON",
    ): "what every family puts around arguments that are no object",
    ("toolshape.bridges.langchain", "mime_type"): "LangChain's, of its content blocks",
    ("toolshape.bridges.langchain", "tool_call_id"): "LangChain's, of an interrupt for approval",
    ("toolshape.ledger", "call_id"): "a column",
    ("toolshape.trace._line", "request_id"): "a field of a trace",
    ("toolshape.trace._stages", "request_id"): "a field of a trace",
}
# MCP has no family alone: its client and server are a package, and functions return its content.
OF_MCP = ("toolshape.mcp.", "toolshape._records.mcp_results", "toolshape._tools.definition.formats")


def keys_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        found: list[ast.expr | None] = []
        if isinstance(node, ast.Dict):
            found += node.keys
        elif isinstance(node, ast.Subscript):
            found.append(node.slice)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ASKED
        ):
            found += node.args[:1]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in READERS
        ):
            found += node.args[1:]
        for item in found:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                yield item.value


def is_of_several_words(key: str) -> bool:
    return (
        ("_" in key or key != key.lower())
        and key not in Draft202012Validator.VALIDATORS
        and not key.startswith("x-")
    )


def is_of_a_family(name: str) -> bool:
    return name.startswith(FAMILIES) and not name.startswith(SHARED)


def families_by_key() -> dict[str, set[str]]:
    found = defaultdict(set)
    for name, tree in TREES.items():
        if is_of_a_family(name):
            for key in filter(is_of_several_words, keys_in(tree)):
                found[key].add(name.split(".")[2])
    return found


FAMILIES_BY_KEY = families_by_key()
OUTSIDE = [name for name in MODULES if not is_of_a_family(name)]


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_key_of_a_provider_stands_outside_its_family(name):
    for key in set(keys_in(TREES[name])):
        families = FAMILIES_BY_KEY.get(key, set())
        if (
            not families
            or (name, key) in OUR_OWN
            or ("mcp" in families and name.startswith(OF_MCP))
        ):
            continue
        if name == "toolshape._records.mcp_results" and key in (
            "mime_type",
            "is_error",
        ):  # MCP's, under its old names
            continue
        raise AssertionError(
            f"{name} uses {key!r}, which is a key of {sorted(families)}: let the family read or write it"
        )


def test_what_is_listed_as_our_own_is_there():
    """The list says what is, and nothing that was."""
    for name, key in OUR_OWN:
        assert key in set(keys_in(TREES[name])), (name, key)
        assert key in FAMILIES_BY_KEY, key


@pytest.mark.parametrize(
    "text",
    ['x["tool_calls"]', 'x.get("toolUse")', '{"tool_call_id": 1}', 'member(x, "functionCall")'],
)
def test_a_key_is_found_however_it_is_used(text):
    [key] = keys_in(ast.parse(text))
    assert key in FAMILIES_BY_KEY

"""A schema that is copied as it is, because it needs no normalising, is what normalising makes of it.

The reader of all schemas is the oracle: same schema, keys in the same order, same findings. It is held over every
definition of the corpora, and over drawn schemas that have what authors write beside what the copy knows.
"""

import json
import random
from typing import Any

from seeds import run_each
from shared import corpus

from toolshape._schema.secrets import without_secret_defaults
from toolshape._tools.definition.normalise import SchemaReader
from toolshape._tools.definition.settled import settled

TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"]
OTHER_TYPES = [
    "dict",
    "float",
    "STRING",
    "any",
    "tuple",
    "list",
    ["string", "null"],
    6,
    None,
    "strnig",
]
VALUES = ["x", "", 1, 1.5, True, None, [], ["a"], {}, {"a": 1}, [None], "$ref"]
WORDS: dict[str, list[Any]] = {
    "title": ["A", 3], "description": ["Says.", None], "desc": ["Says."], "format": ["date", 1], "pattern": ["^a$", 2],
    "minimum": [0, "0", True], "maximum": [9], "exclusiveMinimum": [0, True], "minLength": [1], "maxItems": [2],
    "multipleOf": [5], "uniqueItems": [True, 1], "enum": [["a"], [], [1, 2], ["a", None], [1]], "examples": [["a"], "a"],
    "example": ["a"], "default": VALUES, "const": ["a", None], "nullable": [True, False], "required": [[], ["a"], ["a", "a"], True, "a"],
    "additionalProperties": [True, False, None], "optional": [True], "x-more": [1], "$comment": ["a"], "deprecated": [True],
    "items": [True, False, [], [{"type": "string"}]], "properties": [None, [], {}], "not": [{"type": "string"}],
    "$ref": ["#/$defs/a"], "format_": [1], "writeOnly": [True], "contentEncoding": ["base64"], "$schema": ["x"],
}  # fmt: skip
USUAL = [
    "title",
    "description",
    "format",
    "minimum",
    "maxItems",
    "enum",
    "default",
    "required",
    "additionalProperties",
]
DRAFTS = ["http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-03/schema#", "x"]


def drawn_schema(chance: random.Random, depth: int) -> Any:
    """A schema; one in twelve of its choices is of the rarer kind."""
    rare = chance.random() < 1 / 12
    kind = chance.choice(OTHER_TYPES if rare else TYPES)
    node: dict[str, Any] = {} if chance.random() < 0.15 else {"type": kind}
    for _ in range(chance.randint(0, 3)):
        word = chance.choice([*WORDS] if chance.random() < 1 / 12 else USUAL)
        values = WORDS[word]
        node[word] = chance.choice(values) if chance.random() < 1 / 12 else values[0]
    if depth and kind in ("object", "dict", "array"):
        if chance.random() < 0.8:
            names = chance.sample(
                ["a", "b", "type", "properties", "required", ""], chance.randint(0, 3)
            )
            node["properties"] = {name: drawn_schema(chance, depth - 1) for name in names}
        if kind == "array" or chance.random() < 0.1:
            node["items"] = drawn_schema(chance, depth - 1)
        if chance.random() < 0.1:
            node["additionalProperties"] = drawn_schema(chance, depth - 1)
    if depth and chance.random() < 0.15:
        node[chance.choice(["anyOf", "oneOf", "allOf"])] = [
            drawn_schema(chance, depth - 1) for _ in range(chance.randint(0, 2))
        ]
    return node


def is_as_normalised(schema: Any) -> bool | None:
    """Whether the copy is what normalising makes; ``None`` if the schema is not copied."""
    before = json.dumps(schema)
    plain = settled(schema)
    if plain is None:
        return None
    reader = SchemaReader()
    expected = reader.rewritten(schema)
    canonical, findings = plain
    found = without_secret_defaults(canonical)
    assert json.dumps(found) == json.dumps(expected), schema
    assert findings == reader.findings, schema
    assert not reader.problems, schema
    assert json.dumps(schema) == before
    return True


def test_drawn_schemas():
    counts = {True: 0, None: 0}

    def hold(seed: int) -> None:
        chance = random.Random(seed)
        schema: dict[str, Any] = {"type": "object", "properties": {"p": drawn_schema(chance, 3)}}
        if chance.random() < 0.2:
            schema = {"$schema": chance.choice(DRAFTS), **schema}
        counts[is_as_normalised(schema)] += 1

    run_each(hold, range(4_000))
    assert counts[True] > 1_000, counts
    assert counts[None] > 200, counts


def test_the_definitions_of_the_corpora():
    """Nine tenths are copied, or the gate is wrong."""
    schemas = [row["schema"] for row in corpus("tool_definitions.jsonl")]
    copied = sum(is_as_normalised(schema) is True for schema in schemas)
    assert copied > 0.85 * len(schemas), (copied, len(schemas))


def test_what_is_nested_deeply_is_left_to_the_other_reader():
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(3_000):
        schema = {"type": "array", "items": schema}
    assert settled(schema) is None

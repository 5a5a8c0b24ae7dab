"""Schemas of tools as people and programs write them, which no single rule of a provider takes as they are."""

from typing import Any

TEXT = {"type": "string"}
TWO = {"name": TEXT, "note": TEXT}


def field(schema: Any, **more: Any) -> dict[str, Any]:
    """A tool whose one argument has this schema."""
    return {"type": "object", "properties": {"it": schema}, "required": ["it"], **more}


def choice(*parts: Any, of: str = "allOf", **more: Any) -> dict[str, Any]:
    return {of: list(parts), **more}


# The schema of the parameters; arguments that are valid by it, and some that are not (None: there are none).
ODD: dict[str, tuple[Any, Any, Any]] = {
    "requires what is no property, or null": (
        field({"type": ["object", "null"], "properties": {"name": TEXT}, "required": ["id"]}),
        {"it": {"id": 1}},
        {"it": {"name": "x"}},
    ),
    "requires it in a part": (
        field(choice({"type": "object", "properties": {"name": TEXT}}, {"required": ["id"]})),
        {"it": {"id": 1}},
        {"it": {"name": "x"}},
    ),
    "requires of a text": (field({"type": "string", "required": ["id"]}), {"it": "x"}, {"it": 5}),
    "one of two is required": (
        field(choice({"required": ["name"]}, {"required": ["note"]}, of="anyOf", type="object", properties=TWO)),
        {"it": {"note": "x"}},
        {"it": {}},
    ),
    "an integer within numbers": (
        field(choice({"type": "integer"}, {"type": "number", "minimum": 0})),
        {"it": 3},
        {"it": -1},
    ),
    "an integer beside a reference to numbers": (
        field(choice({"$ref": "#/$defs/n"}, type="integer"), **{"$defs": {"n": {"type": "number"}}}),
        {"it": 3},
        {"it": 1.5},
    ),
    "a text that one part lets be null": (field(choice({"type": ["string", "null"]}, TEXT)), {"it": "x"}, {"it": None}),
    "bounds in several parts": (
        field(choice({"type": "integer", "minimum": 0, "maximum": 9}, {"minimum": 5})),
        {"it": 7},
        {"it": 3},
    ),
    "choices in several parts": (field(choice({"enum": ["a", "b"]}, {"enum": ["b", "c"]})), {"it": "b"}, {"it": "a"}),
    "patterns in several parts": (
        field(choice({"type": "string", "pattern": "^a"}, {"pattern": "b$"})),
        {"it": "ab"},
        {"it": "ac"},
    ),
    "types that have nothing in common": (field(choice(TEXT, {"type": "integer"})), None, {"it": "x"}),
    "a field in several parts": (
        field(choice({"type": "object", "properties": {"name": TEXT}}, {"properties": {"name": {"minLength": 2}}})),
        {"it": {"name": "xy"}},
        {"it": {"name": "x"}},
    ),
    "a closed part beside another field": (
        field(
            choice(
                {"type": "object", "properties": {"name": TEXT}, "additionalProperties": False}, {"properties": TWO}
            )
        ),
        {"it": {"name": "x"}},
        {"it": {"note": "x"}},
    ),
    "conditions": (
        {
            "type": "object",
            "properties": TWO,
            "allOf": [
                {"if": {"properties": {"name": {"const": "x"}}, "required": ["name"]}, "then": {"required": ["note"]}},
                {"if": {"required": ["note"]}, "then": {"required": ["name"]}},
            ],
        },
        {"name": "y"},
        {"name": "x"},
    ),
    "what must not be there, twice": (
        field(choice({"not": {"required": ["a"]}}, {"not": {"required": ["b"]}}, type="object", properties=TWO)),
        {"it": {"name": "x"}},
        {"it": {"a": 1}},
    ),
    "a part that contains itself": (
        field({"$ref": "#/$defs/one"}, **{
            "$defs": {
                "one": choice(
                    {"type": "object", "properties": {"next": {"$ref": "#/$defs/one"}, "name": TEXT}},
                    {"properties": {"next": {"type": "object"}}},
                )
            }
        }),
        {"it": {"next": {"name": "x"}}},
        {"it": {"next": 5}},
    ),
    "an object or null": ({"type": ["object", "null"], "properties": {"name": TEXT}}, {"name": "x"}, {"name": 5}),
    "a reference to an object or null": (
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": ["object", "null"], "properties": {"name": TEXT}}}},
        {"name": "x"},
        {"name": 5},
    ),
    "nothing said": ({}, {}, None),
    "true": (True, {}, None),
    "patterns alone": ({"patternProperties": {"^a": TEXT}}, {"ab": "x"}, {"ab": 5}),
    "a format alone": (field({"format": "date"}), {"it": "2026-01-01"}, None),
    "a length alone": (field({"minLength": 2}), {"it": "xy"}, {"it": "x"}),
    "a bound alone": (field({"minimum": 1}), {"it": 2}, {"it": 0}),
    "what it is not": (field({"not": TEXT}), {"it": 5}, {"it": "x"}),
    "a keyword nobody knows": (field({"widget": "textarea"}), {"it": [1]}, None),
    "items without a type": (field({"type": "array", "items": {"minLength": 2}}), {"it": ["xy"]}, {"it": ["x"]}),
    "branches without a type": (field(choice({"minLength": 3}, {"maxLength": 1}, of="anyOf")), {"it": "x"}, {"it": "xy"}),
    "a map without a type": (field({"additionalProperties": TEXT}), {"it": {"a": "x"}}, {"it": {"a": 5}}),
    "fields without a type beside branches": (
        field(choice({"required": ["name"]}, {"required": ["note"]}, of="anyOf", properties=TWO)),
        {"it": {"name": "x"}},
        {"it": {}},
    ),
    "a field that is never valid": (
        field({"type": "object", "properties": {"name": TEXT, "old": {"not": {}}}}),
        {"it": {"name": "x"}},
        {"it": {"name": 5}},
    ),
    "keywords that are null": (
        {
            "type": "object",
            "required": None,
            "properties": {"it": {"type": "string", "enum": None, "format": None, "anyOf": None, "minLength": None}},
            "additionalProperties": None,
        },
        {"it": "x"},
        {"it": 5},
    ),
}  # fmt: skip

"""The table of keywords: what the standard's own metaschemas say, and that every walk of a schema asks it."""

import pytest
from jsonschema import Draft3Validator, Draft4Validator, Draft6Validator, Draft7Validator
from jsonschema.validators import Draft201909Validator, Draft202012Validator
from jsonschema_specifications import REGISTRY

from toolshape._schema.keywords import BY_NAME, HOLDS_SCHEMAS, KEYWORDS, keywords, subschemas
from toolshape._schema.lens import Change
from toolshape._schema.references import prune, references
from toolshape._schema.secrets import MASKED, Secrets, without_secret_defaults
from toolshape._schema.walk import everywhere, nodes_of
from toolshape.contract._differences import schema_differences

DRAFTS = {
    "3": Draft3Validator, "4": Draft4Validator, "6": Draft6Validator, "7": Draft7Validator,
    "2019-09": Draft201909Validator, "2020-12": Draft202012Validator,
}  # fmt: skip
# Words that a metaschema still lists for the sake of older schemas.
OF_OLDER_DRAFTS = {"definitions", "dependencies", "$recursiveAnchor", "$recursiveRef"}
# Draft 4 describes references in a document of its own; draft 7 describes writeOnly in its text alone.
IN_TEXT_ONLY = {"4": {"$ref"}, "7": {"writeOnly"}}


def in_metaschema(validator):
    """The keywords of a draft, those of its vocabularies included, each with what the metaschema says of it."""
    found = dict(validator.META_SCHEMA["properties"])
    for part in validator.META_SCHEMA.get("allOf", ()):
        uri = validator.META_SCHEMA["$id"].rpartition("/")[0] + "/" + part["$ref"]
        found |= REGISTRY.contents(uri)["properties"]
    return {name: said if isinstance(said, dict) else {} for name, said in found.items()}


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_draft_has_the_keywords_of_its_metaschema(draft):
    """No keyword is missing, and none is claimed for a draft that does not have it."""
    known, said = set(keywords(draft=draft)), set(in_metaschema(DRAFTS[draft]))
    assert said - known - OF_OLDER_DRAFTS == set()
    assert known - said == IN_TEXT_ONLY.get(draft, set())


HELD = [keyword for keyword in KEYWORDS if keyword.name in in_metaschema(Draft202012Validator)]


@pytest.mark.parametrize("keyword", HELD, ids=[keyword.name for keyword in HELD])
def test_what_a_keyword_holds_is_what_the_metaschema_says(keyword):
    """One schema, a list of them, or schemas by name."""
    said = in_metaschema(Draft202012Validator)[keyword.name]
    a_schema = ("$dynamicRef", "#meta")
    held = "value"
    if a_schema in said.items():
        held = "schema"
    elif said.get("$ref") == "#/$defs/schemaArray":
        held = "schemas"
    elif a_schema in said.get("additionalProperties", {}).items() or keyword.name == "dependencies":
        held = "by name"
    assert keyword.holds == held


def under(keyword, inner):
    """A schema that has another one under a keyword."""
    node = {"by name": {"name": inner}, "schemas": [inner], "schema": inner}[keyword.holds]
    return {"$defs": {"deep": {"type": "string"}}, "type": "object", keyword.name: node}


HOLDING = [keyword for keyword in KEYWORDS if keyword.holds != "value"]
PRESENT = [
    keyword for keyword in HOLDING if keyword.name in keywords() and keyword.role != "defines"
]
EVERY = pytest.mark.parametrize("keyword", PRESENT, ids=[keyword.name for keyword in PRESENT])
EVERY_DRAFT = pytest.mark.parametrize("keyword", HOLDING, ids=[keyword.name for keyword in HOLDING])


@EVERY_DRAFT
def test_the_schemas_below_a_node_are_found(keyword):
    inner = {"type": "string", "minLength": 3}
    assert inner in list(subschemas(under(keyword, inner)))
    assert keyword.name in HOLDS_SCHEMAS
    assert (keyword.name in BY_NAME) == (keyword.holds == "by name")


@EVERY_DRAFT
def test_a_reference_is_found_under_every_keyword(keyword):
    """What a schema refers to is not pruned, wherever it refers to it."""
    schema = under(keyword, {"$ref": "#/$defs/deep"})
    assert references(schema) == {"deep"}
    if keyword.name != "$defs":
        assert "deep" in prune(schema)["$defs"]


@pytest.mark.parametrize(
    "word", ["default", "const", "enum", "examples", "x-note", "dependentRequired"]
)
def test_what_a_value_holds_is_no_reference(word):
    """A value may look like a schema."""
    assert references({word: {"$ref": "#/$defs/deep"}}) == set()


@EVERY
def test_a_walk_meets_and_rewrites_the_schema_under_every_keyword(keyword):
    """Looking and rewriting meet the same nodes."""
    schema = under(keyword, {"type": "string", "title": "here"})
    assert any(node.get("title") == "here" for node, _ in nodes_of(schema, constraints=True))

    def rename(node, at):
        return Change(node={**node, "title": "there"}) if node.get("title") == "here" else None

    rewritten = everywhere(rename, constraints=True)(schema).schema
    assert (
        rewritten[keyword.name]
        == under(keyword, {"type": "string", "title": "there"})[keyword.name]
    )


@EVERY
def test_a_secret_default_is_left_out_under_every_keyword(keyword):
    """The default of the secret itself, and that of an object in which it lies."""
    secret = {"type": "string", "writeOnly": True}
    assert "hunter2" not in str(
        without_secret_defaults(under(keyword, {**secret, "default": "hunter2"}))
    )
    if keyword.at != "key":  # a key is not a value
        default = ["hunter2"] if "array" in keyword.kinds else {"name": "hunter2"}
        assert "hunter2" not in str(
            without_secret_defaults({**under(keyword, secret), "default": default})
        )


SECRET_AT = [keyword for keyword in PRESENT if keyword.at != "key" and keyword.role != "content"]


@pytest.mark.parametrize("keyword", SECRET_AT, ids=[keyword.name for keyword in SECRET_AT])
def test_a_secret_value_is_masked_under_every_keyword(keyword):
    """Also where the keyword only constrains the value: whoever wrote it there said that it is secret."""
    place = "hunter2"
    if keyword.at == "child":
        place = ["hunter2"] if "array" in keyword.kinds else {"name": "hunter2"}
    schema = {
        "properties": {
            "a": {**under(keyword, {"type": "string", "writeOnly": True}), "type": "string"}
        }
    }
    masked = Secrets(schema).masked({"a": place})
    assert "hunter2" not in str(masked)
    assert MASKED in str(masked)


@EVERY
def test_a_change_is_seen_under_every_keyword(keyword):
    """A contract compares what every keyword holds."""
    old, new = (
        {"type": "object", "properties": {"a": under(keyword, {"type": kind})}}
        for kind in ("string", "integer")
    )
    assert schema_differences(old, new)

"""The keywords of JSON Schema: what each holds, where it applies, which drafts have it.

Every walk of a schema asks this table, so a keyword that is added here is seen by all of them. A
keyword that is not in the table is an annotation: what it holds is not a schema, and is never
searched.

The rows follow the metaschemas of drafts 3, 4, 6, 7, 2019-09 and 2020-12, and OpenAPI 3.0 for the
words that only OpenAPI has (json-schema.org and spec.openapis.org, read 2026-11-26).
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._records.calls import JsonSchema

Draft: TypeAlias = Literal["3", "4", "6", "7", "2019-09", "2020-12", "openapi"]
NEWEST: Draft = "2020-12"
"""The draft in which every schema is kept, once a definition has been read."""
_DRAFTS: tuple[Draft, ...] = ("3", "4", "6", "7", "2019-09", "2020-12")

Holds: TypeAlias = Literal["schema", "schemas", "by name", "value"]
"""Whether a keyword holds one schema, a list of schemas, schemas by names that the
author chooses, or another value.
"""
KeywordRole: TypeAlias = Literal[
    "applies", "constrains", "asserts", "content", "annotates", "identifies", "defines"
]
"""What a keyword does.

- ``applies``: Its schemas describe the value, so a rewrite of them maps values.
- ``constrains``: Its schemas only accept or reject the value.
- ``asserts``: It accepts or rejects the value by itself.
- ``content``: It describes what a text holds.
- ``annotates``: It says something to a reader.
- ``identifies``: It names a schema or its dialect.
- ``defines``: Its schemas apply only where a reference names them.
"""
At: TypeAlias = Literal["place", "child", "key"]
"""Which value the schemas apply to: the same value, a part of it, or the keys of an object."""


class Keyword(NamedTuple):
    """One keyword.

    ``kinds`` are the JSON types of the values to which it applies; empty for all. ``since`` and
    ``until`` are the first and the last draft that have it. ``bound`` says whether the keyword
    gives the least or the most that is allowed. The keywords of one ``group`` must be read
    together, because each changes what the others mean.
    """

    name: str
    holds: Holds
    role: KeywordRole
    at: At | None = None
    kinds: tuple[str, ...] = ()
    since: Draft = "3"
    until: Draft = NEWEST
    bound: Literal["least", "most"] | None = None
    group: Literal["items", "fields", "if"] | None = None


_NUMBER, _STRING, _ARRAY, _OBJECT = ("number",), ("string",), ("array",), ("object",)

KEYWORDS: tuple[Keyword, ...] = (
    # References.
    Keyword("$ref", "value", "applies", "place"),
    Keyword("$dynamicRef", "value", "applies", "place", since="2020-12"),
    Keyword("$recursiveRef", "value", "applies", "place", since="2019-09", until="2019-09"),
    # What applies to the same value. A walk visits unions in this order.
    Keyword("anyOf", "schemas", "applies", "place", since="4"),
    Keyword("oneOf", "schemas", "applies", "place", since="4"),
    Keyword("allOf", "schemas", "applies", "place", since="4"),
    Keyword("extends", "schemas", "applies", "place", until="3"),
    Keyword("not", "schema", "constrains", "place", since="4"),
    Keyword("if", "schema", "constrains", "place", since="7", group="if"),
    Keyword("then", "schema", "constrains", "place", since="7", group="if"),
    Keyword("else", "schema", "constrains", "place", since="7", group="if"),
    # Arrays.
    Keyword("contains", "schema", "constrains", "child", _ARRAY, since="6", group="items"),
    Keyword(
        "unevaluatedItems", "schema", "constrains", "child", _ARRAY, since="2019-09", group="items"
    ),
    Keyword("prefixItems", "schemas", "applies", "child", _ARRAY, since="2020-12", group="items"),
    # Before 2020-12 also a list of schemas.
    Keyword("items", "schema", "applies", "child", _ARRAY, group="items"),
    Keyword(
        "additionalItems", "schema", "applies", "child", _ARRAY, until="2019-09", group="items"
    ),
    Keyword("minItems", "value", "asserts", None, _ARRAY, bound="least"),
    Keyword("maxItems", "value", "asserts", None, _ARRAY, bound="most"),
    Keyword("uniqueItems", "value", "asserts", None, _ARRAY),
    Keyword("minContains", "value", "asserts", None, _ARRAY, since="2019-09", group="items"),
    Keyword("maxContains", "value", "asserts", None, _ARRAY, since="2019-09", group="items"),
    # Objects.
    Keyword(
        "unevaluatedProperties",
        "schema",
        "constrains",
        "child",
        _OBJECT,
        since="2019-09",
        group="fields",
    ),
    Keyword("dependentSchemas", "by name", "constrains", "place", _OBJECT, since="2019-09"),
    # A schema, or names of fields.
    Keyword("dependencies", "by name", "constrains", "place", _OBJECT, until="7"),
    Keyword("properties", "by name", "applies", "child", _OBJECT, group="fields"),
    Keyword("patternProperties", "by name", "applies", "child", _OBJECT, group="fields"),
    Keyword("additionalProperties", "schema", "applies", "child", _OBJECT, group="fields"),
    Keyword("propertyNames", "schema", "applies", "key", _OBJECT, since="6"),
    Keyword("required", "value", "asserts", None, _OBJECT),
    Keyword("dependentRequired", "value", "asserts", None, _OBJECT, since="2019-09"),
    Keyword("minProperties", "value", "asserts", None, _OBJECT, since="4", bound="least"),
    Keyword("maxProperties", "value", "asserts", None, _OBJECT, since="4", bound="most"),
    # Values of any type.
    Keyword("type", "value", "asserts"),
    Keyword("disallow", "value", "asserts", until="3"),
    Keyword("enum", "value", "asserts"),
    Keyword("const", "value", "asserts", since="6"),
    Keyword("format", "value", "asserts", None, ("string", "number")),
    # Numbers.
    Keyword("minimum", "value", "asserts", None, _NUMBER, bound="least"),
    Keyword("maximum", "value", "asserts", None, _NUMBER, bound="most"),
    Keyword("exclusiveMinimum", "value", "asserts", None, _NUMBER, bound="least"),
    Keyword("exclusiveMaximum", "value", "asserts", None, _NUMBER, bound="most"),
    Keyword("multipleOf", "value", "asserts", None, _NUMBER, since="4"),
    Keyword("divisibleBy", "value", "asserts", None, _NUMBER, until="3"),
    # Texts.
    Keyword("minLength", "value", "asserts", None, _STRING, bound="least"),
    Keyword("maxLength", "value", "asserts", None, _STRING, bound="most"),
    Keyword("pattern", "value", "asserts", None, _STRING),
    Keyword("contentEncoding", "value", "content", None, _STRING, since="7"),
    Keyword("contentMediaType", "value", "content", None, _STRING, since="7"),
    Keyword("contentSchema", "schema", "content", "child", _STRING, since="2019-09"),
    # Words for a reader.
    Keyword("title", "value", "annotates"),
    Keyword("description", "value", "annotates"),
    Keyword("default", "value", "annotates"),
    Keyword("examples", "value", "annotates", since="6"),
    Keyword("deprecated", "value", "annotates", since="2019-09"),
    Keyword("readOnly", "value", "annotates", since="7"),
    Keyword("writeOnly", "value", "annotates", since="7"),
    Keyword("$comment", "value", "annotates", since="7"),
    Keyword("example", "value", "annotates", since="openapi", until="openapi"),
    Keyword("nullable", "value", "asserts", since="openapi", until="openapi"),
    Keyword("discriminator", "value", "asserts", since="openapi", until="openapi"),
    # Names of schemas.
    Keyword("$defs", "by name", "defines", since="2019-09"),
    Keyword("definitions", "by name", "defines", since="4", until="7"),
    Keyword("$id", "value", "identifies", since="6"),
    Keyword("id", "value", "identifies", until="4"),
    Keyword("$schema", "value", "identifies"),
    Keyword("$anchor", "value", "identifies", since="2019-09"),
    Keyword("$dynamicAnchor", "value", "identifies", since="2020-12"),
    Keyword("$recursiveAnchor", "value", "identifies", since="2019-09", until="2019-09"),
    Keyword("$vocabulary", "value", "identifies", since="2019-09"),
)


def keywords(
    *roles: KeywordRole,
    holds: Holds | None = None,
    at: At | None = None,
    kind: str | None = None,
    draft: Draft | Literal["any"] = NEWEST,
) -> tuple[str, ...]:
    """Return the names of the keywords with these properties, in the order of the table.

    Args:
        roles: The roles that count; all roles, if none is given.
        holds: What the keyword holds.
        at: The value to which its schemas apply.
        kind: A JSON type to whose values alone the keyword applies, or ``""`` for keywords of every
            type.
        draft: The draft that has the keyword; ``"any"`` for all drafts of JSON Schema, without the
            words of OpenAPI.
    """
    return tuple(
        keyword.name
        for keyword in KEYWORDS
        if (not roles or keyword.role in roles)
        and (holds is None or keyword.holds == holds)
        and (at is None or keyword.at == at)
        and (kind is None or (kind in keyword.kinds if kind else not keyword.kinds))
        and _is_in(keyword, draft)
    )


def _is_in(keyword: Keyword, draft: str) -> bool:
    if "openapi" in (keyword.since, draft):
        return keyword.since == draft
    return draft == "any" or _DRAFTS.index(keyword.since) <= _DRAFTS.index(draft) <= _DRAFTS.index(
        keyword.until
    )


def group(name: Literal["items", "fields", "if"]) -> frozenset[str]:
    """Return the keywords of draft 2020-12 that must be read together."""
    return frozenset(
        keyword.name for keyword in KEYWORDS if keyword.group == name and _is_in(keyword, NEWEST)
    )


ANNOTATIONS = frozenset(keywords("annotates"))
"""The keywords that constrain no value, and name no schema."""
COUNTS = frozenset(key.name for key in KEYWORDS if key.bound and key.kinds != _NUMBER)
"""The keywords that bound how many there are: characters, items or fields."""
UNIONS = keywords("applies", holds="schemas", at="place")
"""``anyOf``, ``oneOf`` and ``allOf``: the keywords whose schemas describe the value itself."""
HOLDS_SCHEMAS = frozenset(keyword.name for keyword in KEYWORDS if keyword.holds != "value")
"""The keywords that hold schemas, in any draft."""
BY_NAME = frozenset(keyword.name for keyword in KEYWORDS if keyword.holds == "by name")
"""The keywords that hold schemas by names that the author chooses: such a name is never a keyword.
"""


def subschemas(node: JsonSchema) -> Iterator[Any]:
    """Yield each schema that a node holds directly, whatever its
    draft; a boolean counts as a schema.
    """
    for keyword, value in node.items():
        if keyword not in HOLDS_SCHEMAS:
            continue
        if isinstance(value, list):
            yield from value
        elif keyword in BY_NAME and isinstance(value, dict):
            yield from value.values()
        else:
            yield value

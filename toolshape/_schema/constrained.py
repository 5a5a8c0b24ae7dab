"""Rewrites hand-written schemas to the form that constrained decoding accepts.

Schemas of decorated functions rarely need these rules. Definitions that were written elsewhere may
need them.
"""

import json
from collections.abc import Mapping
from typing import Any

from toolshape._records.calls import JsonSchema, Loss
from toolshape._schema.keywords import UNIONS, keywords
from toolshape._schema.lens import MARKS, Change, Lens, Pass, Place, UnsupportedError, each
from toolshape._schema.recursion import recursive_groups
from toolshape._schema.references import mentions, references, resolver
from toolshape._schema.rewrites import (
    all_of_merged_or_described,
    annotations_of,
    any_as_json_text,
    extras_as_pairs,
    free_object_as_json_text,
    map_as_pairs,
    merge_all_of,
    misread_error,
    mixed_enum_as_strings,
    null_choice_apart,
    one_of_as_any_of,
    recursion_as_json_text,
    say_instead,
    tuple_as_object,
    type_list_as_any_of,
    typed_enum,
)
from toolshape._schema.union_branches import fits
from toolshape._schema.values import kind_of
from toolshape._schema.walk import everywhere, inline_all


def split_type_list(node: JsonSchema, at: Place) -> Change | None:
    """Split a list of types into one branch per type, with that type's keywords;
    leave a nullable scalar unchanged.
    """
    types = node.get("type")
    if not isinstance(types, list) or "enum" in node or "const" in node:
        return None
    non_null_types = [name for name in types if name != "null"]
    return (
        type_list_as_any_of(node, at)
        if len(non_null_types) != 1 or non_null_types[0] in ("object", "array")
        else None
    )


# What says something of an object without declaring fields.
_OF_THE_WHOLE = frozenset(
    {"description", *keywords("constrains", at="place"), *keywords("asserts", kind="object")}
)


def _only_constrains(branch: JsonSchema) -> bool:
    """Whether a branch only constrains the object around it, and declares no fields."""
    other_keywords = set(branch) - MARKS - _OF_THE_WHOLE
    return other_keywords <= frozenset(UNIONS) and all(
        _only_constrains(_node(inner)) for key in other_keywords for inner in branch[key]
    )


def describe_constraints(node: JsonSchema, at: Place) -> Change | None:
    """Move a union to the description if it only constrains which fields are
    present; toolshape still checks it.
    """
    keywords = [
        keyword
        for keyword in UNIONS
        if node.get(keyword) and all(map(_only_constrains, map(_node, node[keyword])))
    ]
    if not keywords or "type" not in node:
        return None
    return say_instead(*keywords)(node, at)


def _node(schema: Any) -> JsonSchema:
    return schema if isinstance(schema, dict) else {}


def _without_marks(node: Any) -> Any:
    return (
        {key: value for key, value in node.items() if key not in MARKS}
        if isinstance(node, dict)
        else node
    )


def merge_siblings_into_branches(node: JsonSchema, at: Place) -> Change | None:
    """Merge the siblings of ``anyOf`` or ``oneOf`` into each branch; if that
    fails, describe the union instead.
    """
    keyword = next((keyword for keyword in ("anyOf", "oneOf") if node.get(keyword)), None)
    annotations = annotations_of(node)
    siblings = {
        key: value for key, value in node.items() if key not in annotations and key != keyword
    }
    siblings.pop("discriminator", None)
    if keyword is None or not siblings.keys() - {"$defs", "nullable"}:
        return None
    try:
        branches = [
            _merge_with_branch(siblings, _node(at.resolve(branch)), at) for branch in node[keyword]
        ]
    except UnsupportedError:
        return say_instead(keyword)(node, at)
    return Change(node={**annotations, keyword: branches})


def _merge_with_branch(beside: JsonSchema, branch: JsonSchema, at: Place) -> JsonSchema:
    merged = merge_all_of({"allOf": [beside, branch]}, at)
    return {} if merged is None else merged.node


def drop_impossible_fields(node: JsonSchema, at: Place) -> Change | None:
    """Remove optional fields that admit no value; toolshape rejects a call that sends such a
    field.
    """
    impossible_names = [
        name
        for name, inner in node.get("properties", {}).items()
        if _without_marks(inner) in ({"not": {}}, {"not": True})
        and name not in node.get("required", ())
    ]
    if not impossible_names:
        return None
    properties = {
        name: inner for name, inner in node["properties"].items() if name not in impossible_names
    }
    base = f"{at.path}." if at.path else ""
    note = (
        "no value of the field can be valid, so its schema is not sent; toolshape rejects the field"
    )
    losses = tuple(
        Loss(path=f"{base}{name}", keyword="not", kind="widened", note=note)
        for name in impossible_names
    )
    return Change(node={**node, "properties": properties}, losses=losses)


def patterns_as_maps(schema: JsonSchema) -> Lens:
    """Replace every ``patternProperties`` by
    ``additionalProperties``, with as many walks as needed.

    Without ``constraints``, a walk does not enter ``patternProperties``. The first walk moves the
    inner schemas to ``additionalProperties``, where the next walk reaches them. They may themselves
    contain ``patternProperties``.
    """
    losses: list[Loss] = []
    while mentions(schema, "patternProperties"):
        lens = everywhere(_pattern_as_map)(schema)
        losses.extend(lens.losses)
        if lens.schema == schema:  # the remaining mentions are fields or values with this name
            break
        schema = lens.schema
    return Lens(schema=schema, losses=tuple(losses))


def _pattern_as_map(node: JsonSchema, at: Place) -> Change | None:
    """Replace ``patternProperties`` by ``additionalProperties``, which admits fields with any
    name.
    """
    patterns = node.get("patternProperties")
    if not patterns:
        return None
    additional = node.get("additionalProperties", True)
    values = [_without_marks(value) for value in patterns.values()]
    distinct_schemas = [value for index, value in enumerate(values) if value not in values[:index]]
    rewritten = {key: value for key, value in node.items() if key != "patternProperties"}
    if additional is not True:
        distinct_schemas += (
            [additional]
            if isinstance(additional, dict) and additional not in distinct_schemas
            else []
        )
        rewritten["additionalProperties"] = (
            distinct_schemas[0] if len(distinct_schemas) == 1 else {"anyOf": distinct_schemas}
        )
    else:  # explicit, because ``extras_as_pairs`` forbids unknown fields if the keyword is absent
        rewritten["additionalProperties"] = True
    if additional is False and len(patterns) == 1 and not node.get("properties"):
        rewritten["propertyNames"] = {"pattern": next(iter(patterns))}
        return Change(node=rewritten)
    note = "the provider does not check which names have which values; toolshape does"
    return Change(
        node=rewritten,
        losses=(Loss(path=at.path, keyword="patternProperties", kind="widened", note=note),),
    )


def describe_impossible_enum(node: JsonSchema, at: Place) -> Change | None:
    """Move an enum to the description if none of its values has the declared
    type: the author cannot want both.
    """
    if (
        "enum" not in node
        or "type" not in node
        or any(fits(choice, {"type": node["type"]}, at.resolve) for choice in node["enum"])
    ):
        return None
    return say_instead("enum")(node, at)


def require_what_is_named(node: JsonSchema, at: Place) -> Change | None:
    """Drop required names that are not properties, for providers that reject such names."""
    missing = [name for name in node.get("required", ()) if name not in node.get("properties", {})]
    if not missing:
        return None
    kept_names = [name for name in node["required"] if name not in missing]
    node_without_required = {key: value for key, value in node.items() if key != "required"}
    note = f"requires {missing[0]!r}, which is not a property; toolshape rejects a call without it"
    loss = Loss(path=at.path, keyword="required", kind="widened", note=note)
    return Change(
        node={**node_without_required, "required": kept_names}
        if kept_names
        else node_without_required,
        losses=(loss,),
    )


def require_what_is_there(node: JsonSchema, at: Place) -> Change | None:
    """Add a schema for each required field that has none; in a closed object,
    make the field optional instead.
    """
    properties = node.get("properties", {})
    missing = [name for name in node.get("required", ()) if name not in properties]
    if node.get("type") != "object" or not missing:
        return None
    additional = node.get("additionalProperties", True)
    if additional is False:
        loss = Loss(
            path=at.path,
            keyword="required",
            kind="widened",
            note=f"requires {missing[0]!r}, but admits no field with this name",
        )
        return Change(
            node={**node, "required": [name for name in node["required"] if name in properties]},
            losses=(loss,),
        )
    completed_properties = {
        **properties,
        **{name: {} if additional is True else additional for name in missing},
    }
    return Change(node={**node, "properties": completed_properties})


def wrap_root_and_add_items(schema: JsonSchema) -> Lens:
    """Apply ``wrap_root``, and add ``items`` to arrays that lack it, for
    providers that reject such arrays.

    Only schemas with ``unevaluatedItems`` have arrays without ``items``: there, ``items`` would
    disable that keyword.
    """
    lens = wrap_root(schema)
    if not mentions(schema, "unevaluatedItems"):
        return lens
    completed_lens = everywhere(_add_items)(lens.schema)
    return lens._replace(
        schema=completed_lens.schema, losses=(*lens.losses, *completed_lens.losses)
    )


def _add_items(node: JsonSchema, at: Place) -> Change | None:
    kinds = node.get("type", ())
    if "array" not in ((kinds,) if isinstance(kinds, str) else kinds) or node.keys() & {
        "items",
        "prefixItems",
    }:
        return None
    note = "toolshape checks which items are unevaluated"
    loss = Loss(path=at.path, keyword="unevaluatedItems", kind="widened", note=note)
    return Change(node={**node, "items": {}}, losses=(loss,))


_CONDITIONS = keywords("constrains")


def inline_references(schema: JsonSchema) -> Lens:
    """Inline every reference, and send recursive definitions as JSON text.

    A condition such as ``not`` or ``if`` has no arrows. If it contained a recursive definition, its
    schema would ask for JSON text, but no arrow would parse that text. So conditions that refer to
    a recursive definition are first moved to the description. toolshape still checks these
    conditions.
    """
    recursive_names = _names_reaching_recursion(schema.get("$defs", {}))

    def describe(node: JsonSchema, at: Place) -> Change | None:
        recursive_keywords = {
            keyword for keyword in _CONDITIONS if references(node.get(keyword)) & recursive_names
        }
        # Each of these is meaningless without the others.
        if recursive_keywords & {
            "if",
            "then",
            "else",
        }:
            recursive_keywords |= {"if", "then", "else"}
        return (
            say_instead(*[keyword for keyword in _CONDITIONS if keyword in recursive_keywords])(
                node, at
            )
            if recursive_keywords
            else None
        )

    described_lens = everywhere(describe)(schema) if recursive_names else Lens(schema=schema)
    lens = inline_all(recursion_as_json_text)(described_lens.schema)
    return lens._replace(losses=(*described_lens.losses, *lens.losses))


def _names_reaching_recursion(definitions: Mapping[str, Any]) -> set[str]:
    """Return the names of the recursive definitions, and of definitions
    that refer to these at any depth.
    """
    reaching_names = set(recursive_groups(definitions)) if definitions else set[str]()
    has_grown = bool(reaching_names)
    while has_grown:
        new_names = {
            name
            for name, node in definitions.items()
            if name not in reaching_names and references(node) & reaching_names
        }
        reaching_names |= new_names
        has_grown = bool(new_names)
    return reaching_names


ROOT_FIELD = "arguments"


def wrap_root(schema: JsonSchema) -> Lens:
    """Wrap a union of objects in an object with one field, because
    the root must not have ``anyOf``.
    """
    if not any(keyword in schema for keyword in (*UNIONS, "not", "enum", "const", "if")):
        return Lens(schema=schema)
    resolve = resolver(schema)
    place = Place(path="", keyword="", resolve=resolve)
    change = each(
        describe_constraints, say_instead("not", "if", "then", "else"), _merge_if_possible
    )(schema, place)
    node, losses = (schema, ()) if change is None else (change.node, change.losses)
    if not any(keyword in node for keyword in (*UNIONS, "enum", "const")):
        return Lens(schema=node, losses=losses)
    name = ROOT_FIELD
    while f'"{name}":' in json.dumps(schema):  # no branch may have a field with this name
        name += "_"
    inner = {key: value for key, value in node.items() if key != "$defs"}
    rewritten = {
        "type": "object",
        "properties": {name: inner},
        "required": [name],
        "additionalProperties": False,
    }
    if "$defs" in node:
        rewritten["$defs"] = node["$defs"]

    def back(value: Any) -> Any:
        if not isinstance(value, dict) or name not in value:
            return value
        if value.keys() == {name} and isinstance(value[name], dict):
            return (
                value[name]
                if fits(value[name], schema, resolve) or not fits(value, schema, resolve)
                else value
            )
        if not isinstance(value[name], dict):
            raise misread_error(f"expected object, got {kind_of(value[name])}", "", name)
        extra_field = next(key for key in value if key != name)
        raise misread_error(f"unknown field: put it inside {name!r}", "", extra_field)

    def out(value: Any) -> Any:
        return {name: value}

    note = f"a union of objects, sent in the field {name!r}"
    loss = Loss(
        path="",
        keyword="anyOf",
        kind="reshaped",
        note=note,
        ambiguous=fits({name: {}}, schema, resolve),
    )
    return Lens(schema=rewritten, back=back, out=out, losses=(*losses, loss))


def _merge_if_possible(node: JsonSchema, at: Place) -> Change | None:
    try:
        return merge_all_of(node, at)
    except UnsupportedError:
        return None


STRUCTURE: tuple[Pass, ...] = (
    patterns_as_maps,
    *map(
        everywhere,
        (
            each(
                split_type_list,
                drop_impossible_fields,
                describe_constraints,
                describe_impossible_enum,
                require_what_is_there,
            ),
            all_of_merged_or_described,
            require_what_is_there,  # again: a merged schema may require fields that it does not declare
            merge_siblings_into_branches,
            one_of_as_any_of,
            free_object_as_json_text,
            extras_as_pairs,
            tuple_as_object,
            map_as_pairs,
            any_as_json_text,
            null_choice_apart,
            mixed_enum_as_strings,
            typed_enum,
        ),
    ),
)
"""The passes that every constrained decoder needs, in this order.

After these passes, objects declare their fields, and every node has a type.
"""

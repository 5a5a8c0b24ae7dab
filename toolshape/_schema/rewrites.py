"""The rewrite rules that providers choose from: maps to pairs, optional to nullable, ...

``walk.everywhere`` applies a rule to every node, innermost first. A function here that takes
options returns a rule.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Set as AbstractSet
from typing import Any, Literal

from toolshape._records.calls import JsonSchema, Loss
from toolshape._schema import keywords
from toolshape._schema.arrows import Arrow
from toolshape._schema.intersect import intersect
from toolshape._schema.lens import MARKS, NAMES, PATH, Change, Place, Rule, UnsupportedError
from toolshape._schema.references import definition_name
from toolshape._schema.union_branches import are_disjoint, fits
from toolshape._schema.values import (
    INTEGER_KEY,
    UnreadableError,
    as_json,
    kind_of,
    require_unique_keys,
)
from toolshape._schema.walk import remove_marks

ANNOTATIONS = keywords.ANNOTATIONS | MARKS
"""The keywords that do not constrain values, and toolshape's own marks."""
WIRE_FORM = "wire_form"
"""The ``rule`` of the error for a value that cannot be mapped back, because it
does not match the sent schema.
"""


def describe(node: JsonSchema, *texts: str) -> JsonSchema:
    """Return the node with sentences added to its description."""
    description = " ".join(
        text for text in (str(node.get("description", "")).strip(), *texts) if text
    )
    if description:
        return {**node, "description": description}
    return node


def misread_error(message: str, path: str, *location: int | str) -> UnreadableError:
    """Return the error for a value that cannot be mapped back to canonical form.

    Args:
        message: The error message.
        path: The path of the rewritten node in the canonical schema.
        location: The place in the value that the LLM sent.
    """
    return UnreadableError(message, rule=WIRE_FORM, location=location, schema_path=path)


def annotations_of(node: JsonSchema) -> JsonSchema:
    """Return a node's annotations: the keywords that do not constrain values."""
    return {key: value for key, value in node.items() if key in ANNOTATIONS}


def admits_more_fields(node: JsonSchema) -> bool:
    """Whether a node is an object that accepts fields that it does not declare."""
    return node.get("type") == "object" and node.get("additionalProperties", True) is not False


# --- unsupported forms as JSON text -------------------------------------------------------------


def json_text(node: JsonSchema, at: Place, *, of: str, text_is_meant: bool) -> Change:
    """Send a node as a string that holds JSON; ``back`` raises
    ``UnreadableError`` if the JSON repeats a key.

    Args:
        node: The node.
        at: The node's place.
        of: What the JSON text contains, as a phrase for the description.
        text_is_meant: Whether the value itself may be a string. If so, a string that is sent
            unencoded may be misread.
    """
    rewritten = describe({"type": "string", **annotations_of(node)}, f"{of}, written as JSON text.")

    def back(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return require_unique_keys(as_json(value))

    losses = [
        Loss(
            path=at.path,
            keyword="type",
            kind="reshaped",
            note="sent as JSON text",
            ambiguous=text_is_meant,
        )
    ]
    if not text_is_meant or set(node) - ANNOTATIONS:
        losses.append(
            Loss(
                path=at.path,
                keyword="type",
                kind="widened",
                note="any text is admitted; toolshape checks it",
            )
        )
    return Change(node=rewritten, back=back, out=_to_json_text, losses=tuple(losses))


def _admits_text(node: Any, at: Place) -> bool:
    """Whether a node may admit a string."""
    return not are_disjoint(node, {"type": "string"}, at.resolve)


def _to_json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_TYPED = frozenset({"type", "$ref", *keywords.UNIONS, "enum", "const"})
"""The keywords that determine which types of values are possible; a node with none
of these keywords has no type.
"""


def any_as_json_text(node: JsonSchema, at: Place) -> Change | None:
    """Send ``Any`` and schemas without a type as JSON text, because constrained
    decoding does not support them.
    """
    constraints = set(node) - ANNOTATIONS
    if at.is_root or at.keyword == "propertyNames" or constraints & _TYPED:
        return None
    if constraints:
        return of_a_form(node, at)
    return json_text(node, at, of="Any JSON value", text_is_meant=True)


def free_object_as_json_text(node: JsonSchema, at: Place) -> Change | None:
    """Send an object with no named fields and no schema for its values as JSON text."""
    if at.is_root or node.get("type") != "object" or node.get("properties"):
        return None
    if node.get("additionalProperties", True) not in (True, {}):
        return None
    return json_text(node, at, of="A JSON object", text_is_meant=False)


def empty_object_as_json_text(node: JsonSchema, at: Place) -> Change | None:
    """Send an object without named fields as JSON text, for providers that
    require fields in every object.
    """
    if at.is_root or node.get("type") != "object" or node.get("properties"):
        return None
    return json_text(node, at, of="A JSON object without fields, {}", text_is_meant=False)


def recursion_as_json_text(node: JsonSchema, at: Place) -> Change:
    """Send a recursive reference, or a union of such references, as JSON
    text, because it cannot be inlined.
    """
    parts = node.get("anyOf", [node])
    names = [definition_name(part["$ref"]) for part in parts]
    text_is_meant = any(_admits_text(part, at) for part in parts)
    target = at.resolve(node) if len(names) == 1 else node
    names_text = " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return json_text(
        target, at, of=f"One more {names_text}, of the form above", text_is_meant=text_is_meant
    )


def union_as_json_text(node: JsonSchema, at: Place) -> Change | None:
    """Send a union as JSON text, for providers that accept no unions."""
    is_choice = "anyOf" in node or isinstance(node.get("type"), list)
    if at.is_root or not is_choice:
        return None
    return of_a_form(node, at)


def of_a_form(node: JsonSchema, at: Place) -> Change:
    """Send a node as JSON text, with its schema in the description.

    The schema is that of the node before its inside was rewritten: a model should never write JSON
    text within JSON text, and each level of it would double the quotes.
    """
    source = node if at.before is None else at.before
    plain_schema = remove_marks(
        {key: value for key, value in source.items() if key not in ANNOTATIONS}
    )
    change = json_text(
        node,
        at,
        of=f"JSON of the form {_to_json_text(plain_schema)}",
        text_is_meant=_admits_text(node, at),
    )
    return change._replace(is_whole=at.before is not None)


# --- objects, maps, tuples ----------------------------------------------------------------------


def map_as_pairs(node: JsonSchema, at: Place) -> Change | None:
    """Send a map as a list of ``{key, value}`` pairs, for providers that
    require objects to name their fields.
    """
    values = node.get("additionalProperties")
    if (
        at.is_root
        or node.get("type") != "object"
        or node.get("properties")
        or not isinstance(values, dict)
    ):
        return None
    names = node.get("propertyNames", {})
    is_integer = names.get("pattern") == INTEGER_KEY
    if is_integer:
        key = {"type": "integer"}
    else:
        key = names if "$ref" in names else {"type": "string", **names}
    admits_integers = not are_disjoint(key, {"type": "integer"}, at.resolve)
    rewritten: JsonSchema = {"type": "array", "items": _pair(key, values), **annotations_of(node)}
    for object_keyword, array_keyword in (
        ("minProperties", "minItems"),
        ("maxProperties", "maxItems"),
    ):
        if object_keyword in node:
            rewritten[array_keyword] = node[object_keyword]

    def out(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return [
            {"key": _integer(key) if is_integer else key, "value": item}
            for key, item in value.items()
        ]

    losses = (
        Loss(
            path=at.path,
            keyword="additionalProperties",
            kind="reshaped",
            note="a map, sent as a list of pairs",
        ),
        Loss(
            path=at.path,
            keyword="uniqueItems",
            kind="widened",
            note="a key may be repeated; toolshape rejects it",
        ),
    )

    def back(value: Any) -> Any:
        return _from_pairs(value, at.path, admits_integers=admits_integers)

    return Change(node=rewritten, back=back, out=out, losses=losses)


def _pair(key: JsonSchema, value: Any) -> JsonSchema:
    properties = {"key": key, "value": value}
    return {
        "type": "object",
        "properties": properties,
        "required": ["key", "value"],
        "additionalProperties": False,
    }


def _from_pairs(value: Any, path: str, *, admits_integers: bool = False) -> Any:
    """Convert a list of pairs to a map; return a value that is not a list unchanged.

    Raises:
        UnreadableError: An item is not a pair, a key is not a string, or two pairs have the same
            key.
    """
    if not isinstance(value, list):
        return value
    converted: dict[str, Any] = {}
    for index, pair in enumerate(value):
        if not isinstance(pair, dict) or pair.keys() != {"key", "value"}:
            message = 'expected an object with only "key" and "value"'
            raise misread_error(message, path, index)
        key = pair["key"]
        if admits_integers and type(key) is int:
            key = str(key)
        if not isinstance(key, str):
            message = f"expected {'integer' if admits_integers else 'string'}, got {kind_of(key)}"
            raise misread_error(message, path, index, "key")
        if key in converted:
            raise misread_error("duplicate key", path, index, "key")
        converted[key] = pair["value"]
    return converted


def _integer(key: str) -> Any:
    if re.fullmatch(INTEGER_KEY, key):
        return int(key)
    return key


EXTRAS = "additional_properties"


def extras_as_pairs(node: JsonSchema, at: Place) -> Change | None:
    """Send the fields that are not in ``properties`` as a list of pairs, in one extra field."""
    if not admits_more_fields(node) or not (node.get("properties") or at.is_root):
        return None
    values = node.get("additionalProperties")
    # A pydantic model that ignores unknown fields, or a definition that does not mention them.
    if values is None:
        loss = Loss(
            path=at.path,
            keyword="additionalProperties",
            kind="narrowed",
            note="unknown fields are not admitted",
        )
        return Change(node={**node, "additionalProperties": False}, losses=(loss,))
    properties = node.get("properties", {})
    name = EXTRAS
    while name in properties:
        name += "_"
    pairs = {
        "type": "array",
        "items": _pair({"type": "string"}, {} if values is True else values),
        "description": "Further fields of this object.",
    }
    rewritten = {**node, "properties": {**properties, name: pairs}, "additionalProperties": False}
    named_fields, path = frozenset(properties), _inner_path(at, "*")

    def back(value: Any) -> Any:
        if not isinstance(value, dict) or name not in value:
            return value
        other_fields = {key: item for key, item in value.items() if key != name}
        return {
            **other_fields,
            **_further_fields(value[name], name, named_fields | other_fields.keys(), path),
        }

    def out(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        known_fields = {key: item for key, item in value.items() if key in named_fields}
        extras = [
            {"key": key, "value": item} for key, item in value.items() if key not in named_fields
        ]
        if extras:
            return {**known_fields, name: extras}
        return known_fields

    note = f"fields that are not in `properties`, sent as pairs in {name!r}"
    losses = (
        Loss(path=at.path, keyword="additionalProperties", kind="reshaped", note=note),
        Loss(
            path=path,
            keyword="uniqueItems",
            kind="widened",
            note="a field may be repeated; toolshape rejects it",
        ),
    )
    return Change(node=rewritten, back=back, out=out, losses=losses)


def _further_fields(pairs: Any, name: str, named: Collection[str], path: str) -> dict[str, Any]:
    """Return the fields that are not in ``properties``; the LLM sends these fields
    as pairs in the field ``name``.

    Raises:
        UnreadableError: ``pairs`` is not a list of pairs, repeats a field, or names a field in
            ``properties``.
    """
    if not isinstance(pairs, list):
        message = f'expected a list of objects with "key" and "value", got {kind_of(pairs)}'
        raise misread_error(message, path, name)
    try:
        fields: dict[str, Any] = _from_pairs(pairs, path)
    except UnreadableError as error:
        error.location = (name, *error.location)
        raise
    for index, key in enumerate(fields):
        if key in named:
            raise misread_error(
                "this is a named field: send it as a field of the object, not here",
                path,
                name,
                index,
                "key",
            )
    return fields


_ABSENT = object()


def _tuple_from_object(
    names: list[str], defaults: Mapping[str, Any], known: frozenset[str], path: str
) -> Arrow:
    """Return the arrow that converts an object with one field per item to a tuple; an
    omitted item takes its default.

    If a later item is present, an earlier item may only be omitted if it has a default.
    """

    def back(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        for key in value:
            if key not in known:
                raise misread_error("unknown field", path, key)
        if "rest" in known:
            rest_items = value.get("rest", [])
        else:
            rest_items = []
        if not isinstance(rest_items, list):
            raise misread_error(f"expected array, got {kind_of(rest_items)}", path, "rest")
        if rest_items:
            last_index = len(names) - 1
        else:
            last_index = max(
                (index for index, name in enumerate(names) if name in value), default=-1
            )
        given_items = [
            value.get(name, defaults.get(name, _ABSENT)) for name in names[: last_index + 1]
        ]
        if _ABSENT in given_items:  # an item has no default, and a later item is present
            missing = names[given_items.index(_ABSENT)]
            raise misread_error("missing, but a later item is present", path, missing)
        return given_items + rest_items

    return back


_OF_TUPLES = frozenset({"type", "prefixItems", "items", "minItems", "maxItems"})


def tuple_as_object(node: JsonSchema, at: Place) -> Change | None:
    """Send a tuple as an object with a field for each item, so that each item keeps its type."""
    # Providers without ``prefixItems`` would let each item be of any of the types. An object keeps
    # the types, and one way back is enough, because positions and names correspond. What an object
    # cannot say is a loss: that an item may be left out only if all later ones are, and that other
    # types than an array were admitted.
    prefix = node.get("prefixItems")
    if not prefix:
        return None
    # Places after ``maxItems`` are never filled.
    least, most = node.get("minItems", 0), node.get("maxItems", math.inf)
    prefix = prefix[: max(int(min(most, len(prefix))), 1)]
    names = [f"item_{index + 1}" for index in range(len(prefix))]
    properties: dict[str, Any] = dict(zip(names, prefix, strict=True))
    rest_schema = node.get("items", True)
    if rest_schema is not False and most > len(prefix):
        properties["rest"] = _rest_schema(node, rest_schema, len(prefix))
    if "rest" in properties and least > len(prefix):
        required = [*names, "rest"]
    else:
        required = names[:least]
    # What an object cannot say, such as ``uniqueItems``, moves into the description.
    moved_change = say_instead(*sorted(node.keys() - _OF_TUPLES - ANNOTATIONS))(node, at) or Change(
        node=node
    )
    rewritten = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **annotations_of(moved_change.node),
    }

    def out(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        named_items = dict(zip(names, value, strict=False))
        if len(value) > len(names):
            return {**named_items, "rest": value[len(names) :]}
        return named_items

    defaults = {
        name: item["default"] for name, item in properties.items() if "default" in _as_dict(item)
    }
    losses = [
        Loss(
            path=at.path, keyword="prefixItems", kind="reshaped", note="a tuple, sent as an object"
        )
    ]
    if node.get("type") != "array":
        losses.append(
            Loss(
                path=at.path,
                keyword="type",
                kind="narrowed",
                note="no type is declared: only an array is admitted",
            )
        )
    # On the way back, a default fills the place before a later item; without one, there is a gap.
    before_others = names[least:] if "rest" in properties else names[least:-1]
    if any(name not in defaults for name in before_others):
        losses.append(
            Loss(
                path=at.path,
                keyword="prefixItems",
                kind="widened",
                note="an item may be omitted before a later item",
            )
        )
    back = _tuple_from_object(names, defaults, frozenset(properties), at.path)
    return Change(node=rewritten, back=back, out=out, losses=(*losses, *moved_change.losses))


def _rest_schema(node: JsonSchema, others: Any, places: int) -> JsonSchema:
    """Return the schema of the remaining items, which have no separate field."""
    rest_schema: JsonSchema = {"type": "array", "items": {} if others is True else others}
    for keyword in ("minItems", "maxItems"):
        if node.get(keyword, 0) > places:
            rest_schema[keyword] = node[keyword] - places
    if PATH in node:
        return {**rest_schema, PATH: node[PATH]}
    return rest_schema


def _as_dict(node: Any) -> JsonSchema:
    if isinstance(node, dict):
        return node
    return {}


def optional_as_nullable(node: JsonSchema, at: Place) -> Change | None:
    """Make every field required; to omit an optional field that does not
    admit null, the LLM sends null.
    """
    properties = node.get("properties")
    if node.get("type") != "object" or not properties:
        return None
    required = frozenset(node.get("required", ()))
    optional_names = tuple(name for name in properties if name not in required)
    if not optional_names:
        return None
    names_admitting_null = {
        name for name in optional_names if fits(None, properties[name], at.resolve)
    }
    defaults = {
        name: properties[name]["default"]
        for name in names_admitting_null
        if "default" in properties[name]
        and fits(properties[name]["default"], properties[name], at.resolve)
    }
    dropped_names = frozenset(optional_names) - names_admitting_null
    nullable = {
        name: _nullable(inner) if name in dropped_names else inner
        for name, inner in properties.items()
    }
    names = tuple(properties)  # the arrows are kept longer than the schema: they hold its names

    def back(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            key: item for key, item in value.items() if item is not None or key not in dropped_names
        }

    def out(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        # What is left out is its default or null, in the schema's order; unknown fields come last.
        complete = {**{name: defaults.get(name) for name in optional_names}, **value}
        return {name: complete[name] for name in names if name in complete} | value

    names_sent_as_null = [name for name in optional_names if name in dropped_names]
    names_always_sent = [
        name for name in optional_names if name not in dropped_names and name not in defaults
    ]
    losses = [_null_loss(at, name, "reshaped", "null means omitted") for name in names_sent_as_null]
    losses += [_null_loss(at, name, "narrowed", _NULL_IS_A_VALUE) for name in names_always_sent]
    used_back = back if dropped_names else None
    return Change(
        node={**node, "properties": nullable, "required": list(properties)},
        back=used_back,
        out=out,
        losses=tuple(losses),
        drops=(names, dropped_names),
    )


_NULL_IS_A_VALUE = 'cannot be omitted: null is a valid value here, so it cannot mean "omitted"'


def _null_loss(at: Place, name: str, kind: Literal["reshaped", "narrowed"], note: str) -> Loss:
    return Loss(path=_inner_path(at, name), keyword="required", kind=kind, note=note)


def _inner_path(at: Place, name: str) -> str:
    if at.path:
        return f"{at.path}.{name}"
    return name


def _nullable(node: Any) -> JsonSchema:
    if not isinstance(node, dict):
        return {"anyOf": [node, {"type": "null"}]}
    annotations = annotations_of(node)
    constraints = {key: value for key, value in node.items() if key not in annotations}
    if isinstance(constraints.get("type"), str) and not constraints.keys() & {
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
    }:
        return {**node, "type": [constraints["type"], "null"]}
    if set(constraints) == {"anyOf"}:
        return {"anyOf": [*constraints["anyOf"], {"type": "null"}], **annotations}
    return {"anyOf": [constraints, {"type": "null"}], **annotations}


def null_left_out(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Remove null from optional fields whose default is null, for providers without
    null: the field can be omitted.
    """
    properties = node.get("properties", {})
    rewritten: dict[str, Any] = {}
    for name, inner in properties.items():
        non_null_branches = [
            branch for branch in inner.get("anyOf", ()) if branch.get("type") != "null"
        ]
        if (
            name not in node.get("required", ())
            and inner.get("default", 0) is None
            and len(non_null_branches) == 1
        ):
            annotations = {
                key: value for key, value in annotations_of(inner).items() if key != "default"
            }
            rewritten[name] = {**non_null_branches[0], **annotations}
    if not rewritten:
        return None

    def out(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            key: item for key, item in value.items() if item is not None or key not in rewritten
        }

    return Change(node={**node, "properties": {**properties, **rewritten}}, out=out)


def one_required(node: JsonSchema, at: Place) -> Change | None:
    """Make one field required, for providers that reject an object without a required field.

    If a field has a default other than null, which fits it, this field becomes required, and the
    LLM sends its value explicitly. Otherwise the object is sent as JSON text. A root must stay an
    object, so one of its fields becomes required and is sent as JSON text. The text ``null`` means
    that the field is omitted. If null is a valid value of the field, an empty string means that the
    field is omitted.
    """
    properties = node.get("properties", {})
    if not properties or node.get("required"):
        return None
    # A default that its own schema forbids, as a mark of "not given" is, cannot be sent.
    with_defaults = (
        name
        for name, inner in properties.items()
        if inner.get("default") is not None and fits(inner["default"], inner, at.resolve)
    )
    name = next(with_defaults, None)
    if name is None:
        if at.is_root:
            return _require_first(node, at)
        return of_a_form(node, at)
    default = properties[name]["default"]

    def out(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: default, **value}
        return value

    loss = Loss(
        path=_inner_path(at, name),
        keyword="required",
        kind="narrowed",
        note="cannot be omitted: the default must be sent",
    )
    return Change(node={**node, "required": [name]}, out=out, losses=(loss,))


def _require_first(node: JsonSchema, at: Place) -> Change:
    properties = node["properties"]
    texts = [name for name, inner in properties.items() if _admits_text(inner, at)]
    name = next(
        (name for name in properties if name not in texts),
        texts[0] if texts else next(iter(properties)),
    )
    place = Place(path=_inner_path(at, name), keyword="properties", resolve=at.resolve)
    change = of_a_form(properties[name], place)
    # If null is a valid value of the field, an empty string means that the field is omitted.
    null_is_value = (
        fits(None, properties[name], at.resolve) and properties[name].get("default", 0) is not None
    )
    sentence, omitted_text = (
        ("An empty text leaves it out.", "") if null_is_value else ("null leaves it out.", "null")
    )
    rewritten = describe(change.node, sentence)

    def back(value: Any) -> Any:
        if not isinstance(value, dict) or name not in value:
            return value
        if change.back:
            inner_value = change.back(value[name])
        else:
            inner_value = value[name]
        if inner_value == "" if null_is_value else inner_value is None:
            return {key: item for key, item in value.items() if key != name}
        return {**value, name: inner_value}

    def out(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            **value,
            name: change.out(value[name]) if name in value and change.out else omitted_text,
        }

    changed = {**node, "properties": {**properties, name: rewritten}, "required": [name]}
    return Change(node=changed, back=back, out=out, losses=change.losses)


def close_objects(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Add ``additionalProperties: false`` to every object that does
    not set ``additionalProperties``.
    """
    if node.get("type") != "object" or "additionalProperties" in node:
        return None
    return Change(node={**node, "additionalProperties": False})


def open_objects(node: JsonSchema, at: Place) -> Change | None:
    """Remove ``additionalProperties: false``, for providers that do not support it;
    toolshape rejects extra fields.
    """
    if node.get("type") != "object" or node.get("additionalProperties") is not False:
        return None
    loss = Loss(
        path=at.path,
        keyword="additionalProperties",
        kind="widened",
        note="other fields are admitted; toolshape rejects them",
    )
    return Change(
        node={key: value for key, value in node.items() if key != "additionalProperties"},
        losses=(loss,),
    )


def every_object_has_properties(
    node: JsonSchema,
    at: Place,  # noqa: ARG001 - a rule
) -> Change | None:
    """Add empty ``properties`` to closed objects that have no ``properties``."""
    if (
        node.get("type") != "object"
        or "properties" in node
        or node.get("additionalProperties") is not False
    ):
        return None
    return Change(node={**node, "properties": {}})


def rename_keys(pattern: str, *, only_root: bool = False) -> Rule:
    """Return a rule that renames fields whose names a provider rejects;
    no two fields get the same name.
    """
    allowed_pattern = re.compile(pattern)

    def rule(node: JsonSchema, at: Place) -> Change | None:
        # Names that are admitted keep their place before any new name is made, so that no new name
        # takes one of theirs. The names are remembered in the node (``NAMES``) where a later pass
        # must find a field by its path.
        properties = node.get("properties", {})
        if (only_root and not at.is_root) or all(
            allowed_pattern.fullmatch(name) for name in properties
        ):
            return None
        new_names: dict[str, str] = {
            name: name for name in properties if allowed_pattern.fullmatch(name)
        }
        for name in properties:
            if name not in new_names:
                new_names[name] = _free_name(name, set(new_names.values()), allowed_pattern, at)
        originals = {new: old for old, new in new_names.items()}
        renamed = {
            **node,
            "properties": {new_names[name]: inner for name, inner in properties.items()},
        }
        if "required" in node:
            renamed["required"] = [new_names.get(name, name) for name in node["required"]]
        if PATH in node:
            renamed[NAMES] = {old: new for old, new in new_names.items() if old != new}
        losses = tuple(
            Loss(
                path=_inner_path(at, old),
                keyword="properties",
                kind="renamed",
                note=f"sent as {new!r}",
            )
            for old, new in new_names.items()
            if old != new
        )
        if admits_more_fields(node):
            note = "a field may be sent under both of its names; toolshape rejects such a call"
            losses = (*losses, Loss(path=at.path, keyword="properties", kind="widened", note=note))
        return Change(
            node=renamed,
            back=_compile_rename(originals, at.path),
            out=_compile_rename(new_names, at.path),
            losses=losses,
        )

    return rule


def _free_name(name: str, taken: Collection[str], allowed: re.Pattern[str], at: Place) -> str:
    stem = re.sub(r"[^A-Za-z0-9_]", "_", name).lstrip("_0123456789")[:50] or "field"
    for candidate in (stem, *(f"{stem}_{number}" for number in range(2, 1000))):
        if allowed.fullmatch(candidate) and candidate not in taken:
            return candidate
    message = (
        f"the provider does not accept the field name {name!r}, and toolshape found no "
        "substitute: rename the field"
    )
    raise UnsupportedError(message, path=_inner_path(at, name), rule="properties")


def _compile_rename(names: Mapping[str, str], path: str) -> Arrow:
    def rename(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        renamed = {names.get(key, key): item for key, item in value.items()}
        if len(renamed) < len(value):
            repeated_name = next(
                key for key in value if names.get(key, key) != key and names[key] in value
            )
            raise misread_error(
                f"duplicate field: also sent as {names[repeated_name]!r}", path, repeated_name
            )
        return renamed

    return rename


# --- choices ------------------------------------------------------------------------------------


def const_as_enum(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Rewrite ``const`` as an enum with one choice."""
    if "const" not in node:
        return None
    other_keywords = {key: value for key, value in node.items() if key != "const"}
    return Change(node={**other_keywords, "enum": [node["const"]]})


def enum_as_strings(node: JsonSchema, at: Place) -> Change | None:
    """If some choices are not strings, send all as strings: ``1`` is sent as
    ``"1"`` and read back as ``1``.
    """
    choices = node.get("enum")
    if not choices or all(isinstance(choice, str) for choice in choices):
        return None
    fitting_choices = [
        choice
        for choice in choices
        if "type" not in node or fits(choice, {"type": node["type"]}, at.resolve)
    ]
    # A choice that violates the declared type can never be valid.
    choices = fitting_choices or choices
    texts = {choice for choice in choices if isinstance(choice, str)}
    words: dict[str, Any] = {}
    for choice in choices:
        if isinstance(choice, str):
            word = choice
        else:
            word = _to_json_text(choice)
        while word in words or (word in texts and not isinstance(choice, str)):
            word += "_"
        words[word] = choice
    rewritten = {**node, "type": "string", "enum": list(words)}

    def out(value: Any) -> Any:
        return next(
            (
                word
                for word, choice in words.items()
                if type(choice) is type(value) and choice == value
            ),
            value,
        )

    def back(value: Any) -> Any:
        if isinstance(value, str):
            return words.get(value, value)
        return value

    losses = [
        Loss(
            path=at.path,
            keyword="enum",
            kind="reshaped",
            note="choices that are not strings, sent as strings",
        )
    ]
    if not fitting_choices:
        note = "no choice has the declared type; toolshape rejects every choice"
        losses.append(Loss(path=at.path, keyword="enum", kind="widened", note=note))
    return Change(node=rewritten, back=back, out=out, losses=tuple(losses))


def null_choice_apart(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Move null from an enum to a separate branch, so that later rewrites
    of the enum do not change null.
    """
    choices = node.get("enum", ())
    non_null_choices = [choice for choice in choices if choice is not None]
    if len(non_null_choices) == len(choices) or not non_null_choices:
        return None
    annotations = annotations_of(node)
    constraints = {key: value for key, value in node.items() if key not in annotations}
    if isinstance(constraints.get("type"), list):
        types = [name for name in constraints["type"] if name != "null"]
        constraints["type"] = types[0] if len(types) == 1 else types
    return Change(
        node={"anyOf": [{**constraints, "enum": non_null_choices}, {"type": "null"}], **annotations}
    )


def mixed_enum_as_strings(node: JsonSchema, at: Place) -> Change | None:
    """Apply ``enum_as_strings`` if the choices have several types, or
    include null, objects or arrays.
    """
    kinds = {type(choice) for choice in node.get("enum", ())}
    if len(kinds) > 1 or kinds & {dict, list, type(None)}:
        return enum_as_strings(node, at)
    return None


def boolean_enum_as_strings(node: JsonSchema, at: Place) -> Change | None:
    """Apply ``enum_as_strings`` to enums with booleans, for providers that
    accept only strings and numbers.
    """
    if any(isinstance(choice, bool) for choice in node.get("enum", ())):
        return enum_as_strings(node, at)
    return None


def typed_enum(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Add the type to an enum whose choices all have the same type."""
    if "enum" not in node or "type" in node:
        return None
    kinds = {type(choice) for choice in node["enum"]}
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    if len(kinds) == 1 and kinds <= names.keys():
        return Change(node={**node, "type": names[kinds.pop()]})
    return None


def one_of_as_any_of(node: JsonSchema, at: Place) -> Change | None:
    """Rewrite ``oneOf`` as ``anyOf``; this loses nothing if the branches exclude each other."""
    if "oneOf" not in node:
        return None
    branches = node["oneOf"]
    other_keywords = {
        key: value for key, value in node.items() if key not in ("oneOf", "discriminator")
    }
    pairs = [
        (branch, earlier) for index, branch in enumerate(branches) for earlier in branches[:index]
    ]
    losses: tuple[Loss, ...] = ()
    if not all(are_disjoint(branch, earlier, at.resolve) for branch, earlier in pairs):
        losses = (
            Loss(
                path=at.path, keyword="oneOf", kind="widened", note="a value may fit two branches"
            ),
        )
    return Change(node={**other_keywords, "anyOf": branches}, losses=losses)


def _can_merge(part: JsonSchema, beside: AbstractSet[str]) -> bool:
    """Whether ``part`` and its siblings can be one node: no keyword is in both, and
    no ``$ref`` would get siblings.
    """
    return not beside & part.keys() and not (beside and "$ref" in part)


def merge_all_of(node: JsonSchema, at: Place) -> Change | None:
    """Merge ``allOf`` and its siblings into one schema by intersecting them.

    Raises:
        UnsupportedError: The intersection cannot be written without ``allOf``, or it admits
            nothing.
    """
    parts = node.get("allOf")
    if not parts:
        return None
    siblings = {key: value for key, value in node.items() if key != "allOf"}
    if (
        len(parts) == 1
        and isinstance(parts[0], dict)
        and _can_merge(parts[0], siblings.keys() - ANNOTATIONS)
    ):
        return Change(node={**parts[0], **siblings})
    merged: JsonSchema = {}
    for part in [*(at.resolve(part) for part in parts), siblings]:
        if part is False:
            raise UnsupportedError("allOf admits nothing", path=at.path, rule="allOf")
        if isinstance(part, dict):
            merged = intersect(merged, part, at.resolve, ANNOTATIONS, path=at.path)
    return Change(node=merged)


def all_of_merged_or_described(node: JsonSchema, at: Place) -> Change | None:
    """Merge ``allOf``; if that fails, move it to the description or send the node as JSON text.

    ``allOf`` is moved to the description if the node has a type, and is the root or has named
    fields.
    """
    try:
        return merge_all_of(node, at)
    except UnsupportedError:
        if "type" in node and (at.is_root or "properties" in node):
            return say_instead("allOf")(node, at)
        if at.is_root:
            raise
        return of_a_form(node, at)


# --- types and null -----------------------------------------------------------------------------


_OF_NUMBERS = tuple(
    keyword for keyword in keywords.keywords("asserts", kind="number") if keyword != "format"
)
_TYPES_OF: Mapping[str, str] = {
    **dict.fromkeys(
        ("properties", "required", "additionalProperties", "patternProperties"), "object"
    ),
    **dict.fromkeys(
        ("propertyNames", "minProperties", "maxProperties", "dependentRequired"), "object"
    ),
    **dict.fromkeys(
        ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"), "array"
    ),
    **dict.fromkeys(("pattern", "format", "minLength", "maxLength"), "string"),
}
"""Maps each keyword that applies to only one type to this type."""


def _applies_to(keyword: str, name: str) -> bool:
    if keyword in _OF_NUMBERS:
        return name in ("number", "integer")
    return name != "null" and _TYPES_OF.get(keyword, name) == name


def type_list_as_any_of(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Rewrite ``type: [a, b]`` as ``anyOf`` with one branch for each type."""
    if not isinstance(node.get("type"), list):
        return None
    annotations = annotations_of(node)
    constraints = {
        key: value for key, value in node.items() if key not in annotations and key != "type"
    }
    branches = [
        {
            "type": name,
            **{key: value for key, value in constraints.items() if _applies_to(key, name)},
        }
        for name in node["type"]
    ]
    return Change(
        node={"anyOf": branches, **annotations}
        if len(branches) > 1
        else {**branches[0], **annotations}
    )


def null_as_nullable(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Rewrite a null branch as ``nullable``, as in OpenAPI 3.0."""
    branches = node.get("anyOf")
    non_null_branches = [
        branch
        for branch in branches or ()
        if not isinstance(branch, dict) or branch.get("type") != "null"
    ]
    if not branches or len(non_null_branches) == len(branches):
        return None
    other_keywords = {key: value for key, value in node.items() if key != "anyOf"}
    # Otherwise the type next to the branches excludes null.
    if "type" not in other_keywords or "null" in other_keywords["type"]:
        other_keywords["nullable"] = True
    if (
        len(non_null_branches) == 1
        and isinstance(non_null_branches[0], dict)
        and "$ref" not in non_null_branches[0]
    ):
        return Change(node={**non_null_branches[0], **other_keywords})
    if non_null_branches:
        return Change(node={**other_keywords, "anyOf": non_null_branches})
    return None


def nullable_as_null(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Rewrite ``nullable`` as a null branch: the inverse of ``null_as_nullable``."""
    if node.get("nullable") is not True:
        return None
    other_keywords = {key: value for key, value in node.items() if key != "nullable"}
    return Change(node={"anyOf": [other_keywords, {"type": "null"}]})


def null_as_type(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """If a union has only one branch besides null, add null to the type of this branch."""
    branches = node.get("anyOf", ())
    non_null_branches = [
        branch for branch in branches if isinstance(branch, dict) and branch.get("type") != "null"
    ]
    if (
        len(branches) != len(non_null_branches) + 1
        or len(non_null_branches) != 1
        or not isinstance(non_null_branches[0].get("type"), str)
    ):
        return None
    other_keywords = {key: value for key, value in node.items() if key != "anyOf"}
    merged = {
        **non_null_branches[0],
        **other_keywords,
        "type": [non_null_branches[0]["type"], "null"],
    }
    if "enum" in merged:
        merged["enum"] = [*merged["enum"], None]
    return Change(node=merged)


# --- keywords -----------------------------------------------------------------------------------


def say_instead(*keywords: str, unless: Callable[[str, Any], bool] | None = None) -> Rule:
    """Return a rule that moves unsupported constraints to the description;
    toolshape still validates them.
    """

    def rule(node: JsonSchema, at: Place) -> Change | None:
        moved_keywords = {
            key: node[key]
            for key in keywords
            if key in node and not (unless is not None and unless(key, node[key]))
        }
        if not moved_keywords:
            return None
        remaining = {key: value for key, value in node.items() if key not in moved_keywords}
        keywords_text = ", ".join(
            f"{key}: {_to_json_text(_without_marks(key, value))}"
            for key, value in moved_keywords.items()
        )
        losses = tuple(
            Loss(path=at.path, keyword=key, kind="moved", note="stated in the description")
            for key in moved_keywords
        )
        return Change(node=describe(remaining, f"({keywords_text})"), losses=losses)

    return rule


def _without_marks(keyword: str, value: Any) -> Any:
    """Return a keyword's value without toolshape's marks in its schemas."""
    if keyword in ("enum", "const", "default", "dependentRequired", "discriminator", "examples"):
        return value
    if isinstance(value, list):
        return [remove_marks(item) if isinstance(item, dict) else item for item in value]
    if keyword in ("patternProperties", "dependentSchemas"):
        return {
            name: remove_marks(inner) if isinstance(inner, dict) else inner
            for name, inner in value.items()
        }
    if isinstance(value, dict):
        return remove_marks(value)
    return value


def say_formats_but(*formats: str) -> Rule:
    """Return a rule that moves ``format`` to the description, except the
    ``formats`` that the provider knows.
    """
    return say_instead("format", unless=lambda _, value: value in formats)


def drop(*keywords: str) -> Rule:
    """Return a rule that drops keywords that do not constrain values, for
    providers that reject these keywords.
    """

    def rule(node: JsonSchema, at: Place) -> Change | None:
        dropped_keywords = [key for key in keywords if key in node]
        if not dropped_keywords:
            return None
        losses = tuple(
            Loss(path=at.path, keyword=key, kind="dropped", note="not sent")
            for key in dropped_keywords
        )
        return Change(
            node={key: value for key, value in node.items() if key not in dropped_keywords},
            losses=losses,
        )

    return rule


def say_default(node: JsonSchema, at: Place) -> Change | None:
    """Move a default to the description; drop a default of null."""
    if "default" not in node:
        return None
    node_without_default = {key: value for key, value in node.items() if key != "default"}
    if node["default"] is None:
        loss = Loss(
            path=at.path,
            keyword="default",
            kind="moved",
            note="null: the same as omitting the field",
        )
        return Change(node=node_without_default, losses=(loss,))
    loss = Loss(path=at.path, keyword="default", kind="moved", note="stated in the description")
    return Change(
        node=describe(node_without_default, f"(default: {_to_json_text(node['default'])})"),
        losses=(loss,),
    )


def inclusive_bounds(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Rewrite exclusive bounds of integers as inclusive bounds."""
    if node.get("type") != "integer" or not node.keys() & {"exclusiveMinimum", "exclusiveMaximum"}:
        return None
    rewritten = dict(node)
    if (low := rewritten.pop("exclusiveMinimum", None)) is not None:
        least = math.floor(low) + 1
        rewritten["minimum"] = max(least, rewritten.get("minimum", least))
    if (high := rewritten.pop("exclusiveMaximum", None)) is not None:
        most = math.ceil(high) - 1
        rewritten["maximum"] = min(most, rewritten.get("maximum", most))
    return Change(node=rewritten)


def lone_references(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Move a ``$ref`` with siblings into an ``anyOf`` with one branch, for
    providers that reject siblings.
    """
    siblings = {key: value for key, value in node.items() if key != "$ref"}
    if "$ref" not in node or not set(siblings) - MARKS:
        return None
    return Change(node={"anyOf": [{"$ref": node["$ref"]}], **siblings})


def only_keywords(*allowed: str) -> Rule:
    """Return a rule that keeps ``allowed`` keywords, describes other
    constraints, and drops other annotations.
    """
    known = frozenset(allowed)

    def rule(node: JsonSchema, at: Place) -> Change | None:
        unknown = [key for key in node if key not in known and key not in MARKS]
        if not unknown:
            return None
        annotations = [key for key in unknown if key in ANNOTATIONS or key.startswith(("x-", "$"))]
        constraints = [key for key in unknown if key not in annotations]
        change = drop(*annotations)(node, at) or Change(node=node)
        moved_change = say_instead(*constraints)(change.node, at) or change
        return Change(
            node=moved_change.node,
            losses=change.losses + (moved_change.losses if moved_change is not change else ()),
        )

    return rule

"""Normalise a JSON Schema of any draft to draft 2020-12, with all references to its own ``$defs``.

Schemas written for providers often deviate from JSON Schema: other type names, ``nullable``, keywords of older drafts,
``required`` on the field itself. Each deviation is accepted if it can mean only one thing.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from toolshape._calls import Finding, JsonSchema
from toolshape._errors import Problem
from toolshape._schema.lens import Change, Place
from toolshape._schema.references import at_pointer, definition_name, mentions, resolver
from toolshape._schema.union_branches import fits
from toolshape._schema.values import copied
from toolshape._schema.walk import everywhere
from toolshape._schema.write_only import without_secret_defaults

SCHEMA_WORDS = frozenset({"type", "properties", "$ref", "anyOf", "oneOf", "allOf", "$schema"})

_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("object", "dict", "dictionary", "map", "hashmap", "struct"), "object"),
    **dict.fromkeys(("array", "list", "tuple", "set", "arraylist"), "array"),
    **dict.fromkeys(("string", "str", "char", "text"), "string"),
    **dict.fromkeys(("number", "float", "double", "decimal"), "number"),
    **dict.fromkeys(("integer", "int", "long", "short", "byte", "bigint"), "integer"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    "null": "null",
    # google.ai.generativelanguage.v1beta.Type, as its gRPC form has it
    **dict(zip("1234567", ("string", "number", "integer", "boolean", "array", "object", "null"), strict=True)),
}
_ANY = frozenset({"any", "", "enum", "none", "0", "type_unspecified"})
_OLD_DRAFT = re.compile(r"draft-0?[1-7]\b|/draft[1-7]\b")
# What makes a reference one keyword among others; an annotation beside it changes no meaning.
_CONSTRAINTS = frozenset(
    {
        "type", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "format", "pattern",
        "properties", "patternProperties", "additionalProperties", "propertyNames", "required", "minProperties",
        "maxProperties", "dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
        "items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains", "minItems", "maxItems",
        "uniqueItems", "unevaluatedItems", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
        "exclusiveMaximum", "multipleOf",
    }
)  # fmt: skip
_EVALUATES_ITEMS = frozenset(
    {"items", "contains", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies"}
)
_EVALUATES_FIELDS = frozenset(
    {"additionalProperties", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies"}
)
_DEFINITIONS = ("$defs", "definitions")
_DROPPED = frozenset({*_DEFINITIONS, "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$vocabulary"})
# What a keyword can hold; anything else is no schema.
_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("patternProperties", "dependentSchemas", "dependentRequired", "dependencies"), dict),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems", "enum"), list),
    **dict.fromkeys(("additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"), (dict, bool)),
    **dict.fromkeys(("$ref", "pattern", "format"), str),
    "properties": (dict, list, type(None)),
    "items": (dict, bool, list),
    "required": (list, bool, str),
}


class SchemaReader:
    """Reads schemas, and collects what is wrong with them (``problems``) and what was reinterpreted (``findings``)."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.findings: list[Finding] = []
        self.root: JsonSchema = {}
        self.base = ""
        self.names: dict[str, str] = {}
        self.definitions: JsonSchema = {}
        self.references_stand_alone = False
        self.completes_arrays = True

    def arguments(self, schema: Any) -> JsonSchema:
        """The schema of arguments: an object, whatever the form of what was written."""
        if isinstance(schema, list) and _are_parameters(schema):
            schema = _of_a_list(schema)
        elif isinstance(schema, dict) and _is_map_of_parameters(schema):
            schema = {"type": "object", "properties": schema}
        if schema is None or schema is True:
            schema = {"type": "object", "properties": {}}
        if not isinstance(schema, dict):
            self.problems.append(Problem(path="", rule="type", message="the parameters must be a JSON Schema"))
            return {}
        found = self.canonical(schema)
        if "$ref" in found:  # the root itself is a reference
            target = resolver(found)(found)
            if not isinstance(target, dict) or target.get("not") == {}:
                self.problems.append(Problem(path="", rule="$ref", message=f"{found['$ref']} admits nothing"))
                return {}
            found = {**target, **({"$defs": found["$defs"]} if "$defs" in found else {})}
        kinds = found.get("type", "object")
        if isinstance(kinds, list) and "object" in kinds:
            self.findings.append(
                Finding(path="", rule="dialect", message=f"arguments are an object: {kinds} is read as object")
            )
            kinds = "object"
        if kinds != "object":
            message = f"arguments are an object, not {found['type']!r}"
            self.problems.append(Problem(path="", rule="type", message=message))
        found = {**found, "type": "object"}
        return found if found.keys() & {"properties", "anyOf", "oneOf", "allOf"} else {**found, "properties": {}}

    def canonical(self, schema: JsonSchema) -> JsonSchema:
        """The schema in the words of 2020-12."""
        self.root = copied(schema)
        self.references_stand_alone = _OLD_DRAFT.search(str(schema.get("$schema", ""))) is not None
        # An array that says it holds anything leaves nothing for ``unevaluatedItems``, wherever that is written.
        self.completes_arrays = not mentions(self.root, "unevaluatedItems")
        self.names = {}
        self.definitions = {}
        found = self.typed(self.inner(self.root, ""))
        if not any(mentions(self.root, keyword) for keyword in ("not", "if", "contains", "oneOf")):  # may refer to any
            self.definitions = {name: self.typed(node, name) for name, node in self.definitions.items()}
        return without_secret_defaults({**found, "$defs": self.definitions} if self.definitions else found)

    def inner(self, schema: Any, base: str) -> Any:
        """A schema inside, rewritten; definitions are read when something refers to them."""
        if not isinstance(schema, dict):
            return schema
        before, self.base = self.base, base
        own = {key: value for key, value in schema.items() if key not in _DEFINITIONS}
        if self.references_stand_alone:
            own = everywhere(_lone_reference, constraints=True)(own).schema
        done = everywhere(self.rule, constraints=True)(own).schema
        self.base = before
        return done

    def rule(self, node: JsonSchema, at: Place) -> Change:
        """One node in the words of 2020-12."""
        node = {key: value for key, value in node.items() if key not in _DROPPED}
        if (
            "unevaluatedProperties" in node and not node.keys() & _EVALUATES_FIELDS
        ):  # the same where no part names fields
            node["additionalProperties"] = node.pop("unevaluatedProperties")
        steps = (
            self.kinds,
            self.reference,
            self.texts,
            self.items,
            self.branches,
            self.types,
            self.older,
            self.fields,
            self.null,
        )
        for step in steps:
            step(node, at)
        return Change(node=node)

    def kinds(self, node: JsonSchema, at: Place) -> None:
        """What a keyword holds is of the kind that it can hold."""
        for keyword in [
            key
            for key, value in node.items()
            if value is None and key not in ("default", "const", "example", "properties", "type")
        ]:
            del node[keyword]
            self.note(at, f"{keyword} is null, which is ignored")
        for keyword, kinds in _KINDS.items():
            if keyword in node and not isinstance(node[keyword], kinds):
                self.problem(at, "not_a_schema", f"{keyword} cannot be of type {type(node[keyword]).__name__}")
                del node[keyword]
        if isinstance(node.get("required"), list) and not all(isinstance(name, str) for name in node["required"]):
            self.problem(at, "not_a_schema", "required is a list of names")
            del node["required"]
        if isinstance(node.get("properties"), list):
            if _are_parameters(node["properties"]):
                node.update(self.inner(_of_a_list(node["properties"]), self.path(at)))
            else:
                self.problem(at, "not_a_schema", "properties are schemas by their names")
                del node["properties"]

    def reference(self, node: JsonSchema, at: Place) -> None:
        """A reference to a definition of our own, whatever it led to."""
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in node:
                node.setdefault("$ref", node.pop(keyword))
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return
        if reference not in self.names:
            found = self.at_pointer(reference)
            if not isinstance(found, (dict, bool)):
                self.problem(at, "$ref", f"{reference} leads nowhere")
                return
            stem = re.sub(r"[^A-Za-z0-9_.-]", "_", unquote(reference).rpartition("/")[2]).lstrip("#_") or "definition"
            name, number = stem, 2
            while name in self.definitions:
                name, number = f"{stem}_{number}", number + 1
            self.names[reference] = f"#/$defs/{name}"
            self.definitions[name] = {}
            self.definitions[name] = self.inner(_as_object(found), name)
        node["$ref"] = self.names[reference]
        self.apart(node)

    def apart(self, node: JsonSchema) -> None:
        """Move a reference that does not stand alone into ``allOf``, which means the same.

        Since 2019-09 ``$ref`` is one keyword among others: a value must be valid for the definition and for what is
        written beside the reference. The rewrites know ``allOf``; they need not know this second way to write it.
        """
        target = self.definitions.get(definition_name(node["$ref"]))
        if isinstance(target, dict) and "type" in node and target.get("type") == node["type"]:
            del node["type"]
        is_mark = isinstance(node.get("required"), (bool, str))  # of the field that stands here
        if not (node.keys() - {"required"} if is_mark else node.keys()) & _CONSTRAINTS:
            return
        reference = {"$ref": node.pop("$ref")}
        node["allOf"] = [reference, *node.get("allOf", ())]

    def at_pointer(self, reference: str) -> Any:
        """What a local reference leads to; ``None`` where there is nothing, or where it leads out."""
        if reference.startswith("#/") or reference == "#":
            return at_pointer(self.root, unquote(reference))
        found: list[JsonSchema] = []

        def look(node: JsonSchema, at: Place) -> None:  # noqa: ARG001 - a rule
            if reference in (f"#{node.get('$anchor')}", f"#{node.get('$dynamicAnchor')}"):
                found.append(node)

        inside = (self.root[key] for key in _DEFINITIONS if isinstance(self.root.get(key), dict))
        for schema in (self.root, *(one for definitions in inside for one in definitions.values())):
            everywhere(look, constraints=True)(schema if isinstance(schema, dict) else {})
        return found[0] if found else None

    def texts(self, node: JsonSchema, at: Place) -> None:
        """Drop titles and descriptions that are not strings; read synonyms of description, enum and examples."""
        if "desc" in node and "description" not in node:
            node["description"] = node.pop("desc")
        for keyword in ("title", "description"):
            if keyword in node and not isinstance(node[keyword], str):
                del node[keyword]
        if isinstance(node.get("allowed_values"), list) and "enum" not in node:
            node["enum"] = node.pop("allowed_values")
            self.note(at, "allowed_values is read as enum")
        for keyword in ("example", "example_value"):
            if keyword in node and "examples" not in node:
                node["examples"] = [node.pop(keyword)]
        if "examples" in node and not isinstance(node["examples"], list):
            node["examples"] = [node["examples"]]
        if node.get("enum") == []:
            del node["enum"]
            self.note(at, "an empty enum is ignored")

    def items(self, node: JsonSchema, at: Place) -> None:
        """Read a list of items as ``prefixItems``; say of boolean items what they mean."""
        if isinstance(node.get("items"), list):
            items = [self.inner(inner, f"{self.path(at)}[{index}]") for index, inner in enumerate(node.pop("items"))]
            others = self.inner(node.pop("additionalItems", None), f"{self.path(at)}[]")
            if items:
                node["prefixItems"] = items
            if others is not None:
                node["items"] = {} if others is True else others
        if node.get("type") == "array" and "unevaluatedItems" in node and not node.keys() & _EVALUATES_ITEMS:
            node["items"] = node.pop("unevaluatedItems")
        if node.get("items") is True:
            node["items"] = {}
        if node.get("items") is False and not node.get("prefixItems"):
            node["items"], node["maxItems"] = {}, 0

    def branches(self, node: JsonSchema, at: Place) -> None:  # noqa: ARG002 - a step
        """Read boolean branches as objects; drop those of a union that admit nothing."""
        for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
            if keyword in node:
                never: tuple[Any, ...] = (False, {"not": {}}, {"not": True}) if keyword in ("anyOf", "oneOf") else ()
                written = node[keyword]
                node[keyword] = [_as_object(inner) for inner in written if inner not in never]
                if not node[keyword]:
                    del node[keyword]
                    if written:  # no branch admits anything
                        node["not"] = {}

    def types(self, node: JsonSchema, at: Place) -> None:
        """Each type by its one name; an array says what it holds."""
        if "type" in node:
            given = node["type"] if isinstance(node["type"], list) else [node["type"]]
            read = [self.type(name, at) for name in given]
            known = list(dict.fromkeys(name for name in read if name is not None))
            if known and None not in read:
                node["type"] = known if len(known) > 1 else known[0]
            else:
                del node["type"]
        if node.get("enum") and "type" in node:
            of_type = {"type": node["type"]}
            if not any(fits(choice, of_type, lambda inner: inner) for choice in node["enum"]):
                self.note(at, f"none of the choices is of type {node['type']}: no value can be right")
        kinds = node.get("type", ())
        if self.completes_arrays and "array" in ((kinds,) if isinstance(kinds, str) else kinds):
            node.setdefault("items", {})

    def typed(self, schema: JsonSchema, base: str = "") -> JsonSchema:
        """Read fields as an object's, and items as an array's, where no type is written.

        The standard lets such a schema admit any text and number, too; nobody means that. The walk stays out of ``not``
        and ``if``, where a type would admit more. A branch of ``oneOf`` excludes what the others admit: types that were
        added inside of it are taken out again, once the walk, which begins at the leaves, has come to the ``oneOf``.
        """
        self.base = base
        marked = everywhere(self.implied_type)(schema).schema
        return everywhere(self.noted_type)(marked).schema if mentions(marked, _IMPLIED) else marked

    def implied_type(self, node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG002 - a rule
        """Add the type that fields or items imply, and a mark."""
        if "oneOf" in node:
            node = {**node, **everywhere(_without_implied_type)({"oneOf": node["oneOf"]}).schema}
        kind = _implied_by(node)
        if kind is None:
            return Change(node=node)
        completed = {**node, "type": kind, _IMPLIED: True}
        if kind == "array" and self.completes_arrays:
            completed.setdefault("items", {})
        return Change(node=completed)

    def noted_type(self, node: JsonSchema, at: Place) -> Change | None:
        """Take out the mark, and keep what was read."""
        if _IMPLIED not in node:
            return None
        if self.base or not at.is_root:
            self.note(at, f"no type is written: it is read as {node['type']}")
        return Change(node={key: value for key, value in node.items() if key != _IMPLIED})

    def type(self, name: Any, at: Place) -> str | None:
        """The type that a name means; ``None``: any."""
        key = str(name).lower()
        if key in _ANY:
            return None
        if key not in _TYPES:
            message = f"{name!r} is no type of JSON Schema: string, number, integer, boolean, array, object or null"
            self.problem(at, "type", message)
            return None
        if key != _TYPES[key]:
            self.note(at, f"{name!r} is read as {_TYPES[key]}")
        return _TYPES[key]

    def older(self, node: JsonSchema, at: Place) -> None:
        """The words of older drafts: an exclusive bound as a flag, ``divisibleBy``, ``dependencies``."""
        for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(node.get(flag), bool) and node.pop(flag) and bound in node:
                node[flag] = node.pop(bound)
        if "divisibleBy" in node:
            node.setdefault("multipleOf", node.pop("divisibleBy"))
        for name, wanted in node.pop("dependencies", {}).items():
            if isinstance(wanted, (list, str)):
                node.setdefault("dependentRequired", {})[name] = [wanted] if isinstance(wanted, str) else wanted
            else:
                node.setdefault("dependentSchemas", {})[name] = self.inner(wanted, self.path(at))

    def fields(self, node: JsonSchema, at: Place) -> None:
        """Collect ``required`` on the object where it is written on its fields; drop fields that are never valid."""
        properties = node.get("properties")
        if isinstance(properties, dict):
            properties = {name: _as_object(inner) for name, inner in properties.items()}
            marked = [name for name, inner in properties.items() if isinstance(inner, dict) and _is_required(inner)]
            node["properties"] = {
                name: _without_mark(inner) if isinstance(inner, dict) else inner for name, inner in properties.items()
            }
            if marked and "required" not in node:
                node["required"] = marked
            elif isinstance(node.get("required"), str) and node["required"] in properties:
                node["required"] = [node["required"]]
        elif "properties" in node:
            node["properties"] = {}
        if "patternProperties" in node:
            node["patternProperties"] = {name: _as_object(inner) for name, inner in node["patternProperties"].items()}
        if "propertyNames" in node:
            node["propertyNames"] = _as_object(node["propertyNames"])
        if at.keyword != "properties" and isinstance(node.get("required"), (bool, str)):
            del node["required"]
        if isinstance(node.get("required"), list):
            node["required"] = list(dict.fromkeys(node["required"]))
            if not node["required"]:
                del node["required"]

    def null(self, node: JsonSchema, at: Place) -> None:  # noqa: ARG002 - a step
        """OpenAPI's ``nullable`` is one more type, or one more branch."""
        if node.pop("nullable", False) is not True:
            return
        if node.keys() & {"$ref", "oneOf", "allOf", "const"}:
            values = {
                key: node.pop(key) for key in list(node) if key not in ("title", "description", "default", "examples")
            }
            node["anyOf"] = [values, {"type": "null"}]
            return
        if "enum" in node and None not in node["enum"]:
            node["enum"] = [*node["enum"], None]
        if "type" in node:
            types = node["type"] if isinstance(node["type"], list) else [node["type"]]
            node["type"] = list(dict.fromkeys([*types, "null"]))
        if node.get("anyOf"):
            node["anyOf"] = [*node["anyOf"], {"type": "null"}]

    def note(self, at: Place, message: str) -> None:
        """Keep what was read otherwise than it was written."""
        self.findings.append(Finding(path=self.path(at), rule="dialect", message=message))

    def problem(self, at: Place, rule: str, message: str) -> None:
        """Keep what cannot be read."""
        self.problems.append(Problem(path=self.path(at), rule=rule, message=message))

    def path(self, at: Place) -> str:
        """Where a node stands, from the root or the definition that it is in."""
        return f"{self.base}.{at.path}".strip(".") if self.base else at.path


_IMPLIED = "x-toolshape-implied"


def _implied_by(node: JsonSchema) -> str | None:
    """The type that a node speaks of without saying so."""
    if "type" in node or not _says_nothing_else(node):
        return None
    if node.keys() & {"properties", "patternProperties"}:
        return "object"
    return "array" if node.keys() & {"items", "prefixItems"} else None


def _without_implied_type(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    if _IMPLIED not in node:
        return None
    return Change(node={key: value for key, value in node.items() if key not in ("type", _IMPLIED)})


def _as_object(schema: Any) -> Any:
    """A schema that is true or false as an object that means the same."""
    return {} if schema is True else {"not": {}} if schema is False else schema


def _lone_reference(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Up to draft-07, what is written beside a reference is ignored; a description of it is kept."""
    ignored = [key for key in node if key in _CONSTRAINTS] if isinstance(node.get("$ref"), str) else []
    return Change(node={key: value for key, value in node.items() if key not in ignored}) if ignored else None


def _are_parameters(given: list[Any]) -> bool:
    return all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in given)


def _of_a_list(parameters: list[JsonSchema]) -> JsonSchema:
    """Parameters that each hold their name; where some are marked as optional, the others are not."""
    optional = [one["name"] for one in parameters if str(one.get("optional", "")).lower() == "true"]
    properties = {
        one["name"]: {key: value for key, value in one.items() if key not in ("name", "optional")} for one in parameters
    }
    required = {"required": [name for name in properties if name not in optional]} if optional else {}
    return {"type": "object", "properties": properties, **required}


def _is_map_of_parameters(schema: JsonSchema) -> bool:
    """Whether these are parameters by their names, and no schema: one of them may be called ``type``."""
    words = SCHEMA_WORDS | {
        "required",
        "additionalProperties",
        "$defs",
        "definitions",
        "patternProperties",
        "propertyNames",
        "dependentSchemas",
        "dependentRequired",
        "unevaluatedProperties",
        "then",
    }
    is_schema = bool(schema.keys() & words) and not isinstance(schema.get("type"), dict)
    return bool(schema) and not is_schema and all(isinstance(inner, dict) for inner in schema.values())


def _without_mark(inner: JsonSchema) -> JsonSchema:
    is_mark = isinstance(inner.get("required"), (bool, str))
    return {key: value for key, value in inner.items() if not (is_mark and key == "required")}


def _is_required(inner: JsonSchema) -> bool:
    return inner.get("required") is True or str(inner.get("required", "")).lower() == "true"


def _says_nothing_else(node: JsonSchema) -> bool:
    """Whether nothing beside the fields speaks of a type: no reference, and no branch of one."""
    branches = [one for keyword in ("anyOf", "oneOf", "allOf") for one in node.get(keyword, ())]
    return "$ref" not in node and all(
        isinstance(one, dict) and not one.keys() & {"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"}
        for one in branches
    )

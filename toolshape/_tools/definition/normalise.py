"""Normalises a JSON Schema of any draft, once ``bundle`` has run, to draft 2020-12.

Schemas written for providers often deviate from JSON Schema: other type names, ``nullable``,
keywords of older drafts, ``required`` on the field itself. A deviation is accepted if it can only
have one meaning.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolshape._records.calls import Finding, JsonSchema
from toolshape._records.errors import Problem
from toolshape._schema.keywords import COUNTS, UNIONS, keywords
from toolshape._schema.lens import Change, Place
from toolshape._schema.references import definition_name, mentions, resolver
from toolshape._schema.secrets import without_secret_defaults
from toolshape._schema.union_branches import fits
from toolshape._schema.values import copy_json
from toolshape._schema.walk import everywhere
from toolshape._tools import definition as definitions
from toolshape._tools.definition.settled import TYPE_NAMES, as_count, settled

if TYPE_CHECKING:
    from toolshape._tools.definition.bundle import Documents

SCHEMA_WORDS = frozenset({"type", "properties", "$ref", *UNIONS, "$schema"})

_ANY = frozenset({"any", "", "enum", "none", "0", "type_unspecified"})
# The siblings of a reference that also constrain the value; annotations beside a reference do not
# change its meaning.
_REFERENCES = frozenset(keywords("applies", holds="value", draft="any"))
_CONSTRAINTS = frozenset(keywords("applies", "constrains", "asserts", draft="any")) - _REFERENCES
_EVALUATES = frozenset(keywords("applies", "constrains", at="place", draft="any")) - {"not"}
_EVALUATES_ITEMS = _EVALUATES | {"items", "contains"}
_EVALUATES_FIELDS = _EVALUATES | {"additionalProperties"}
_LISTS_OF_SCHEMAS = keywords("applies", holds="schemas")
_DEFINITIONS = keywords("defines", draft="any")
_DROPPED = frozenset(keywords("defines", "identifies", draft="any"))
# The Python types that a keyword's value may have. If a value has another type, the node is not a
# schema.
_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(
        (*keywords("applies", "constrains", holds="by name", draft="any"), "dependentRequired"),
        dict,
    ),
    **dict.fromkeys((*keywords("applies", holds="schemas"), "enum"), list),
    **dict.fromkeys(keywords("applies", "constrains", holds="schema", draft="any"), (dict, bool)),
    **dict.fromkeys(("$ref", "pattern", "format"), str),
    "properties": (dict, list, type(None)),
    "items": (dict, bool, list),
    "required": (list, bool, str),
}


NO_SCHEMA = Problem(path="", rule="type", message="the parameters must be a JSON Schema")


def as_object(schema: Any) -> JsonSchema | None:
    """Return the schema of arguments as an object; ``None`` if it is neither a
    schema nor parameters by name.
    """
    if isinstance(schema, list) and _are_parameters(schema):
        return _schema_of_list(schema)
    if isinstance(schema, dict):
        if _is_map_of_parameters(schema):
            return {"type": "object", "properties": schema}
        return schema
    if schema is None or schema is True:
        return {"type": "object", "properties": {}}
    return None


class SchemaReader:
    """Normalises schemas; collects their errors (``problems``) and the
    reinterpreted deviations (``findings``).

    ``documents`` are what the schemas refer to outside of themselves.
    """

    def __init__(self, documents: "Documents | None" = None) -> None:
        self.documents = documents
        self.problems: list[Problem] = []
        self.findings: list[Finding] = []
        self.root: JsonSchema = {}
        self.base = ""
        self.definitions: JsonSchema = {}
        self.completes_arrays = True

    def arguments(self, schema: Any) -> JsonSchema:
        """Return the canonical schema of a tool's arguments; the schema's type is object.

        ``schema`` may also be a list of named parameters, or a map from names to parameters.
        """
        written = as_object(schema)
        if written is None:
            self.problems.append(NO_SCHEMA)
            return {}
        canonical = self.canonical(written)
        if "$ref" in canonical:  # the root itself is a reference
            target = resolver(canonical)(canonical)
            if not isinstance(target, dict) or target.get("not") == {}:
                self.problems.append(
                    Problem(path="", rule="$ref", message=f"{canonical['$ref']} admits nothing")
                )
                return {}
            canonical = {
                **target,
                **({"$defs": canonical["$defs"]} if "$defs" in canonical else {}),
            }
        kinds = canonical.get("type", "object")
        if isinstance(kinds, list) and "object" in kinds:
            self.findings.append(
                Finding(
                    path="",
                    rule="dialect",
                    message=f"arguments must be an object: {kinds} is read as object",
                )
            )
            kinds = "object"
        if kinds != "object":
            message = f"arguments must be an object, not {canonical['type']!r}"
            self.problems.append(Problem(path="", rule="type", message=message))
        canonical = {**canonical, "type": "object"}
        if canonical.keys() & {"properties", *UNIONS}:
            return canonical
        return {**canonical, "properties": {}}

    def canonical(self, schema: JsonSchema) -> JsonSchema:
        """Return the schema in draft 2020-12."""
        plain = settled(schema)
        if plain is None:
            return self.rewritten(schema)
        canonical, findings = plain
        self.findings += findings
        return without_secret_defaults(canonical)

    def rewritten(self, schema: JsonSchema) -> JsonSchema:
        """Return any schema in draft 2020-12, by the rules below."""
        try:
            bundled = definitions.bundle.bundle(schema, self.documents)
        except definitions.bundle.BundleError as error:
            self.problems.append(Problem(path=error.path, rule="$ref", message=str(error)))
            return {}
        self.findings += [
            Finding(path=path, rule="dialect", message=note) for path, note in bundled.notes
        ]
        self.root = copy_json(bundled.schema)
        # ``items: {}`` evaluates every item, so adding it would disable any ``unevaluatedItems`` in
        # the schema.
        self.completes_arrays = not mentions(self.root, "unevaluatedItems")
        self.definitions = {}
        canonical = self.typed(self.inner(self.root, ""))
        # These keywords may refer to any definition. Inside them, an implied type would change
        # which values are valid.
        if not mentions(self.root, "not", "if", "contains", "oneOf"):
            self.definitions = {
                name: self.typed(node, name) for name, node in self.definitions.items()
            }
        return without_secret_defaults(
            {**canonical, "$defs": self.definitions} if self.definitions else canonical
        )

    def inner(self, schema: Any, base: str) -> Any:
        """Normalise a subschema; a definition is normalised when the first reference to it is
        read.
        """
        if not isinstance(schema, dict):
            return schema
        outer_base, self.base = self.base, base
        own_keywords = {key: value for key, value in schema.items() if key not in _DEFINITIONS}
        rewritten = everywhere(self.rule, constraints=True)(own_keywords).schema
        self.base = outer_base
        return rewritten

    def rule(self, node: JsonSchema, at: Place) -> Change:
        """Rewrite one node to draft 2020-12."""
        node = {key: value for key, value in node.items() if key not in _DROPPED}
        # The order of the steps. ``kinds`` comes first, so that every later step may rely on the
        # Python type of a keyword's value. ``reference`` comes before anything is added to a node:
        # what the author wrote beside a reference decides whether it moves into an ``allOf``. Then
        # come synonyms, so that ``types`` finds the choices under ``enum``. ``items`` comes before
        # ``types``, which completes an array whose items nothing says. ``null`` is last: it widens
        # whatever the node became.
        # If no other keyword evaluates fields, ``unevaluatedProperties`` means the same as
        # ``additionalProperties``.
        if "unevaluatedProperties" in node and not node.keys() & _EVALUATES_FIELDS:
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
        """Check the Python types of keyword values; drop keywords whose value is null."""
        # This comes first: the other steps, the rewrites and the grammars slice by counts, and ask
        # what is in a keyword without a look at its type.
        for keyword in node.keys() & COUNTS:
            node[keyword] = as_count(node[keyword])
        for keyword in [
            key
            for key, value in node.items()
            if value is None and key not in ("default", "const", "example", "properties", "type")
        ]:
            del node[keyword]
            self.note(at, f"{keyword} is null and is ignored")
        for keyword, kinds in _KINDS.items():
            if keyword in node and not isinstance(node[keyword], kinds):
                self.problem(
                    at,
                    "not_a_schema",
                    f"{keyword} cannot be of type {type(node[keyword]).__name__}",
                )
                del node[keyword]
        if isinstance(node.get("required"), list) and not all(
            isinstance(name, str) for name in node["required"]
        ):
            self.problem(at, "not_a_schema", "required must be a list of names")
            del node["required"]
        if isinstance(node.get("properties"), list):
            if _are_parameters(node["properties"]):
                node.update(self.inner(_schema_of_list(node["properties"]), self.path(at)))
            else:
                self.problem(
                    at, "not_a_schema", "properties must be an object that maps names to schemas"
                )
                del node["properties"]

    def reference(self, node: JsonSchema, at: Place) -> None:  # noqa: ARG002 - a step
        """Normalise the definition that a reference means; it points into ``$defs`` already.

        The definition is there, empty, before it is normalised, so that a recursive reference finds
        it.
        """
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return
        name = definition_name(reference)
        if name not in self.definitions:
            self.definitions[name] = {}
            target = _as_object(self.root["$defs"][name])
            self.definitions[name] = self.inner(target, name)
        self.apart(node)

    def apart(self, node: JsonSchema) -> None:
        """Move a reference with constraining siblings into ``allOf``, which means the same.

        Since draft 2019-09, a value must match both the definition and the siblings of the
        ``$ref``. The rewrites support ``allOf``, so they need not support siblings as well.
        """
        target = self.definitions.get(definition_name(node["$ref"]))
        if isinstance(target, dict) and "type" in node and target.get("type") == node["type"]:
            del node["type"]
        # Such a flag marks the field itself as required.
        is_mark = isinstance(node.get("required"), (bool, str))
        if not (node.keys() - {"required"} if is_mark else node.keys()) & _CONSTRAINTS:
            return
        reference = {"$ref": node.pop("$ref")}
        node["allOf"] = [reference, *node.get("allOf", ())]

    def texts(self, node: JsonSchema, at: Place) -> None:
        """Drop titles and descriptions that are not strings, and empty enums.

        Synonyms of ``description``, ``enum`` and ``examples`` are renamed to these keywords.
        """
        # A word of another dialect counts only where the standard one is not there: an author who
        # writes both means the standard one. What only a reader sees is dropped without a note;
        # what decides which values are valid is noted.
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
        """Rewrite a list of ``items`` as ``prefixItems``, and boolean ``items`` as
        the schema with the same meaning.
        """
        if isinstance(node.get("items"), list):
            items = [
                self.inner(inner, f"{self.path(at)}[{index}]")
                for index, inner in enumerate(node.pop("items"))
            ]
            additional_items = self.inner(node.pop("additionalItems", None), f"{self.path(at)}[]")
            if items:
                node["prefixItems"] = items
            if additional_items is not None:
                node["items"] = {} if additional_items is True else additional_items
        if (
            node.get("type") == "array"
            and "unevaluatedItems" in node
            and not node.keys() & _EVALUATES_ITEMS
        ):
            node["items"] = node.pop("unevaluatedItems")
        if node.get("items") is True:
            node["items"] = {}
        if node.get("items") is False and not node.get("prefixItems"):
            node["items"], node["maxItems"] = {}, 0

    def branches(self, node: JsonSchema, at: Place) -> None:  # noqa: ARG002 - a step
        """Rewrite boolean branches as objects; drop union branches that admit no value."""
        for keyword in _LISTS_OF_SCHEMAS:
            if keyword in node:
                if keyword in ("anyOf", "oneOf"):
                    impossible_schemas: tuple[Any, ...] = (False, {"not": {}}, {"not": True})
                else:
                    impossible_schemas = ()
                original_branches = node[keyword]
                node[keyword] = [
                    _as_object(inner)
                    for inner in original_branches
                    if inner not in impossible_schemas
                ]
                if not node[keyword]:
                    del node[keyword]
                    if original_branches:  # no branch admits any value
                        node["not"] = {}

    def types(self, node: JsonSchema, at: Place) -> None:
        """Rewrite each type to its JSON Schema name; add ``items`` to arrays."""
        if "type" in node:
            if isinstance(node["type"], list):
                declared = node["type"]
            else:
                declared = [node["type"]]
            resolved_types = [self.type(name, at) for name in declared]
            # A name that allows any type makes the others worthless, and the keyword goes with it.
            # An unknown name is a problem that was noted already.
            known_types = list(dict.fromkeys(name for name in resolved_types if name is not None))
            if known_types and None not in resolved_types:
                node["type"] = known_types if len(known_types) > 1 else known_types[0]
            else:
                del node["type"]
        if node.get("enum") and "type" in node:
            type_schema = {"type": node["type"]}
            if not any(fits(choice, type_schema, lambda inner: inner) for choice in node["enum"]):
                self.note(
                    at, f"none of the choices is of type {node['type']}: no value can be valid"
                )
        kinds = node.get("type", ())
        if self.completes_arrays and "array" in ((kinds,) if isinstance(kinds, str) else kinds):
            node.setdefault("items", {})

    def typed(self, schema: JsonSchema, base: str = "") -> JsonSchema:
        """If no type is declared, infer object from fields and array from items.

        By the standard, such a schema also admits any string and number, but authors do not mean
        that. The walk does not enter ``not`` and ``if``: an added type there would make more values
        valid. A branch of ``oneOf`` excludes values of the other branches, so a type added inside
        would also make more values valid. The walk starts at the leaves. When it reaches a
        ``oneOf``, it removes the types that it has added inside.
        """
        self.base = base
        marked_schema = everywhere(self.implied_type)(schema).schema
        if mentions(marked_schema, _IMPLIED):
            return everywhere(self.noted_type)(marked_schema).schema
        return marked_schema

    def implied_type(self, node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG002 - a rule
        """Add the type that fields or items imply, and a mark that the type was implied."""
        if "oneOf" in node:
            node = {**node, **everywhere(_without_implied_type)({"oneOf": node["oneOf"]}).schema}
        kind = _implied_type(node)
        if kind is None:
            return Change(node=node)
        completed = {**node, "type": kind, _IMPLIED: True}
        if kind == "array" and self.completes_arrays:
            completed.setdefault("items", {})
        return Change(node=completed)

    def noted_type(self, node: JsonSchema, at: Place) -> Change | None:
        """Remove the mark of an implied type, and record a finding."""
        if _IMPLIED not in node:
            return None
        if self.base or not at.is_root:
            self.note(at, f"no type is declared: read as {node['type']}")
        return Change(node={key: value for key, value in node.items() if key != _IMPLIED})

    def type(self, name: Any, at: Place) -> str | None:
        """Return the JSON Schema type that a name means, or ``None`` if the name
        allows any type or is unknown.
        """
        key = str(name).lower()
        if key in _ANY:
            return None
        if key not in TYPE_NAMES:
            message = (
                f"{name!r} is not a JSON Schema type: use string, number, integer, boolean, "
                "array, object or null"
            )
            self.problem(at, "type", message)
            return None
        if key != TYPE_NAMES[key]:
            self.note(at, f"{name!r} is read as {TYPE_NAMES[key]}")
        return TYPE_NAMES[key]

    def older(self, node: JsonSchema, at: Place) -> None:
        """Rewrite keywords of older drafts: boolean exclusive bounds,
        ``divisibleBy``, ``dependencies``.
        """
        for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(node.get(flag), bool) and node.pop(flag) and bound in node:
                node[flag] = node.pop(bound)
        if "divisibleBy" in node:
            node.setdefault("multipleOf", node.pop("divisibleBy"))
        for name, dependency in node.pop("dependencies", {}).items():
            if isinstance(dependency, (list, str)):
                node.setdefault("dependentRequired", {})[name] = (
                    [dependency] if isinstance(dependency, str) else dependency
                )
            else:
                node.setdefault("dependentSchemas", {})[name] = self.inner(
                    dependency, self.path(at)
                )

    def fields(self, node: JsonSchema, at: Place) -> None:
        """Move ``required`` from the fields to their object; rewrite
        boolean schemas of fields as objects.
        """
        # Draft 3 and many hand-written definitions mark the field itself as required. The mark
        # moves to the object only if the object has no list of its own, since the list is what
        # every other reader goes by. A mark on a node that is no field has no meaning, and is
        # dropped.
        properties = node.get("properties")
        if isinstance(properties, dict):
            properties = {name: _as_object(inner) for name, inner in properties.items()}
            required_names = [
                name
                for name, inner in properties.items()
                if isinstance(inner, dict) and _is_required(inner)
            ]
            node["properties"] = {
                name: _without_mark(inner) if isinstance(inner, dict) else inner
                for name, inner in properties.items()
            }
            if required_names and "required" not in node:
                node["required"] = required_names
            elif isinstance(node.get("required"), str) and node["required"] in properties:
                node["required"] = [node["required"]]
        elif "properties" in node:
            node["properties"] = {}
        if "patternProperties" in node:
            node["patternProperties"] = {
                name: _as_object(inner) for name, inner in node["patternProperties"].items()
            }
        if "propertyNames" in node:
            node["propertyNames"] = _as_object(node["propertyNames"])
        if at.keyword != "properties" and isinstance(node.get("required"), (bool, str)):
            del node["required"]
        if isinstance(node.get("required"), list):
            node["required"] = list(dict.fromkeys(node["required"]))
            if not node["required"]:
                del node["required"]

    def null(self, node: JsonSchema, at: Place) -> None:  # noqa: ARG002 - a step
        """Rewrite OpenAPI's ``nullable`` as an additional type or branch."""
        if node.pop("nullable", False) is not True:
            return
        if node.keys() & {"$ref", "oneOf", "allOf", "const"}:
            values = {
                key: node.pop(key)
                for key in list(node)
                if key not in ("title", "description", "default", "examples")
            }
            node["anyOf"] = [values, {"type": "null"}]
            return
        if "enum" in node and None not in node["enum"]:
            node["enum"] = [*node["enum"], None]
        if "type" in node:
            if isinstance(node["type"], list):
                types = node["type"]
            else:
                types = [node["type"]]
            node["type"] = list(dict.fromkeys([*types, "null"]))
        if node.get("anyOf"):
            node["anyOf"] = [*node["anyOf"], {"type": "null"}]

    def note(self, at: Place, message: str) -> None:
        """Record a deviation that was reinterpreted."""
        self.findings.append(Finding(path=self.path(at), rule="dialect", message=message))

    def problem(self, at: Place, rule: str, message: str) -> None:
        """Record an error in the schema."""
        self.problems.append(Problem(path=self.path(at), rule=rule, message=message))

    def path(self, at: Place) -> str:
        """Return a node's path, prefixed with the definition that contains it."""
        if self.base:
            return f"{self.base}.{at.path}".strip(".")
        return at.path


_IMPLIED = "x-toolshape-implied"


def _implied_type(node: JsonSchema) -> str | None:
    """Return the type that a node's keywords imply, if it declares none."""
    if "type" in node or not _has_no_type(node):
        return None
    if node.keys() & {"properties", "patternProperties"}:
        return "object"
    if node.keys() & {"items", "prefixItems"}:
        return "array"
    return None


def _without_implied_type(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    if _IMPLIED not in node:
        return None
    return Change(node={key: value for key, value in node.items() if key not in ("type", _IMPLIED)})


def _as_object(schema: Any) -> Any:
    """Return a boolean schema as the equivalent object; return any other schema unchanged."""
    if schema is True:
        return {}
    if schema is False:
        return {"not": {}}
    return schema


def _are_parameters(given: list[Any]) -> bool:
    return all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in given)


def _schema_of_list(parameters: list[JsonSchema]) -> JsonSchema:
    """Return the schema of a list of named parameters; if some are marked
    optional, all others are required.
    """
    optional = [
        item["name"] for item in parameters if str(item.get("optional", "")).lower() == "true"
    ]
    properties = {
        item["name"]: {key: value for key, value in item.items() if key not in ("name", "optional")}
        for item in parameters
    }
    if optional:
        required = {"required": [name for name in properties if name not in optional]}
    else:
        required = {}
    return {"type": "object", "properties": properties, **required}


def _is_map_of_parameters(schema: JsonSchema) -> bool:
    """Whether a dict maps parameter names to schemas and is not itself a schema; a
    parameter may be named ``type``.
    """
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
    return (
        bool(schema) and not is_schema and all(isinstance(inner, dict) for inner in schema.values())
    )


def _without_mark(inner: JsonSchema) -> JsonSchema:
    is_mark = isinstance(inner.get("required"), (bool, str))
    return {key: value for key, value in inner.items() if not (is_mark and key == "required")}


def _is_required(inner: JsonSchema) -> bool:
    return inner.get("required") is True or str(inner.get("required", "")).lower() == "true"


def _has_no_type(node: JsonSchema) -> bool:
    """Whether neither the node nor its branches determine a type: no
    reference, type, union, enum or const.
    """
    branches = [branch for keyword in UNIONS for branch in node.get(keyword, ())]
    return "$ref" not in node and all(
        isinstance(branch, dict) and not branch.keys() & {"type", "$ref", *UNIONS, "enum", "const"}
        for branch in branches
    )

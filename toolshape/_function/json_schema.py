"""Generates canonical JSON Schema: 2020-12, closed objects, no titles, fields in order."""

import dataclasses
import functools
import inspect
import json
from collections import deque
from collections.abc import Callable, Mapping, Set as AbstractSet
from enum import Enum, Flag
from typing import Any, cast

from pydantic import BaseModel, SecretStr, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import (
    CoreSchema,
    PydanticSerializationError,
    core_schema,
    to_jsonable_python,
)

from toolshape._function import docstrings
from toolshape._function.arguments import FreshDefault, schema_name_of, write_default
from toolshape._function.core_schema.enum_values import choices_of, json_of_choice
from toolshape._function.core_schema.map_keys import key_rule
from toolshape._function.core_schema.nodes import (
    MAPS,
    Definitions,
    Node,
    class_config,
    core_nodes,
    definitions_of,
    rebuild,
    sets_extra,
    takes_no_alias,
)
from toolshape._function.core_schema.tighten import NUMBER_TEXTS
from toolshape._function.core_schema.two import (
    compile_validator,
    full_schema,
    with_definitions,
)
from toolshape._function.core_schema.widen import widen
from toolshape._records.calls import Finding, JsonSchema
from toolshape._schema.secrets import without_secret_defaults
from toolshape._schema.values import is_finite, scalars


def generate(schema: CoreSchema, mode: JsonSchemaMode) -> tuple[JsonSchema, list[Finding]]:
    """Generate the canonical JSON Schema of a pydantic core schema.

    Returns:
        The schema, and a finding for each omission: a union branch that JSON Schema cannot express,
        or an invalid default.

    Raises:
        PydanticInvalidForJsonSchema: A type has no JSON Schema.
    """
    generator = _CanonicalSchema(by_alias=True)
    generator.core_definitions = definitions_of(schema)
    has_unused = mode == "validation" and any(
        takes_no_alias(node.get("config")) for node in core_nodes(schema)
    )
    if has_unused:
        shown_schema = rebuild(schema, _drop_unused_alias)
    else:
        shown_schema = schema
    json_schema = without_secret_defaults(generator.generate(shown_schema, mode))
    skipped = [
        Finding(path="", rule="unsupported_branch", message=detail) for detail in generator.skipped
    ]
    refused = [
        Finding(path="", rule="refused_default", message=detail)
        for detail in generator.refused_defaults
    ]
    return json_schema, [*skipped, *refused]


def _drop_unused_alias(node: Node, config: Node | None) -> Node:
    """Remove the alias of a field that accepts only its own name: pydantic
    would put the alias in the schema.
    """
    if not takes_no_alias(config) or "validation_alias" not in node:
        return node
    return {key: value for key, value in node.items() if key != "validation_alias"}


class _CanonicalSchema(GenerateJsonSchema):
    """pydantic's generator with this library's rules; it overrides only methods
    that pydantic documents as hooks.
    """

    def __init__(self, by_alias: bool = True) -> None:
        super().__init__(by_alias=by_alias)
        self.skipped: list[str] = []
        self.refused_defaults: list[str] = []
        self.core_definitions: Definitions = {}

    def emit_warning(self, kind: str, detail: str) -> None:
        if kind == "skipped-choice":
            self.skipped.append(detail)

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:  # noqa: ARG002
        return value

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - we never want a title
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        if schema["cls"] is BaseModel:
            return self.handle_invalid_for_json_schema(schema, _NO_FIELDS)
        return self._describe_class(schema["cls"], super().model_schema(schema))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return self._describe_class(schema["cls"], super().dataclass_schema(schema))

    def call_schema(self, schema: core_schema.CallSchema) -> JsonSchemaValue:
        """Name the places of a named tuple in their descriptions, since an
        array has no other place for names.
        """
        return _name_places(super().call_schema(schema), schema["arguments_schema"])

    def named_tuple_schema(self, schema: Any) -> JsonSchemaValue:
        """Name the places; pydantic has this kind of node from 2.14 on."""
        return _name_places(cast("Any", super()).named_tuple_schema(schema), schema)

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        generated = super().typed_dict_schema(schema)
        if self.mode == "validation" and "extras_schema" in schema:
            extras = self.generate_inner(schema["extras_schema"])
            generated["additionalProperties"] = (
                extras  # ``{}``, not ``True``: the class says that any field is taken
            )
        if "cls" in schema:
            return self._describe_class(schema["cls"], generated)
        return generated

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        if schema["type"] == "is-instance" and issubclass(schema["cls"], Enum):
            return self.handle_invalid_for_json_schema(schema, "an enum without members")
        generated = super().generate_inner(schema)
        if schema["type"].startswith("function-"):
            generated = _in_words_of_json_schema(generated)
        if schema["type"] == "enum":  # pydantic adds the title after enum_schema
            _write_choices(
                schema, _drop_generated_title(schema["cls"], self.resolve_ref_schema(generated))
            )
        if schema["type"] in MAPS and self.mode == "validation":
            return self._add_key_rule(schema, generated)
        if "$ref" not in generated or schema["type"] == "named-tuple":
            resolved = self.resolve_ref_schema(generated)
            if resolved.get("type") == "array" and not resolved.keys() & {"items", "prefixItems"}:
                resolved["items"] = {}  # a canonical array always has "items"
        return generated

    def _add_key_rule(self, schema: Node, generated: JsonSchemaValue) -> JsonSchemaValue:
        """Add the rule for a map's keys (``propertyNames``) to the map's schema."""
        patterns = generated.pop("patternProperties", None)
        if patterns:
            [(_, values)] = patterns.items()
            keys = self.generate_inner(schema["keys_schema"])
            names = {
                key: value
                for key, value in keys.items()
                if key in ("pattern", "minLength", "maxLength")
            }
            return {**generated, "additionalProperties": values, "propertyNames": names}
        rule = key_rule(schema.get("keys_schema"), self.core_definitions)
        if rule.schema is None:
            return generated
        if rule.schema == {"not": {}}:
            self.skipped.append(
                "no string is a valid key of this map, so the map can only be empty"
            )
            return {
                **{key: value for key, value in generated.items() if key != "propertyNames"},
                "maxProperties": 0,
            }
        return {**generated, "propertyNames": rule.schema}

    def field_is_present(self, field: Any) -> bool:
        """Return false for fields that a dataclass sets itself: its constructor has
        no parameter for these fields.
        """
        return super().field_is_present(field) and not (
            self.mode == "validation" and field.get("init") is False
        )

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        generated = super().tuple_schema(schema)
        if "variadic_item_index" not in schema:
            generated["minItems"] = generated["maxItems"] = len(schema["items_schema"])
        return generated

    def json_or_python_schema(self, schema: core_schema.JsonOrPythonSchema) -> JsonSchemaValue:
        generated = super().json_or_python_schema(schema)
        serializer: Any = schema["python_schema"].get("function") or {}
        maker_name = getattr(serializer.get("function"), "__qualname__", "")
        # Pydantic describes Secret[T] like T.
        if maker_name.startswith("Secret.") and self.mode == "validation":
            return {**generated, "writeOnly": True}
        return generated

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        return self._add_text_pattern("decimal", super().decimal_schema(schema))

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonSchemaValue:
        return self._add_text_pattern("complex", super().complex_schema(schema))

    def fraction_schema(self, schema: Any) -> JsonSchemaValue:
        """Add the pattern for the text of a fraction; pydantic supports fractions from 2.14 on."""
        return self._add_text_pattern("fraction", cast("Any", super()).fraction_schema(schema))

    def _add_text_pattern(self, kind: str, generated: JsonSchemaValue) -> JsonSchemaValue:
        """Add the pattern for the text form of a number."""
        if self.mode == "validation":
            for branch in (generated, *generated.get("anyOf", ())):
                if branch.get("type") == "string":
                    branch["pattern"] = NUMBER_TEXTS[kind]
        return generated

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, f"a subclass of {schema['cls']}")

    def get_default_value(self, schema: core_schema.WithDefaultSchema) -> Any:
        factory = schema.get("default_factory")
        if isinstance(factory, FreshDefault):
            return factory.value
        return super().get_default_value(schema)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        generated = super().default_schema(schema)
        if "default" not in generated:
            return generated
        if generated["default"] is None and not _may_be_null(schema["schema"]):
            del generated["default"]
        elif self.mode == "validation" and not self._surely_accepts(
            schema["schema"], generated["default"]
        ):
            generated["default"] = write_default(schema, self.core_definitions, None)
            if not self._accepts(schema["schema"], generated["default"]):
                del generated["default"]
                self.refused_defaults.append(
                    f"a default of type {type(self.get_default_value(schema)).__name__} is not "
                    f"sent: {_OF_REFUSED}"
                )
        return generated

    def _surely_accepts(self, node: Node, default: Any) -> bool:
        """Whether a default is obviously valid, which nearly all defaults are;
        this check compiles no validator.
        """
        while node["type"] in ("nullable", "definition-ref"):
            if default is None:
                return True
            if node["type"] == "definition-ref":
                node = self.core_definitions[node["schema_ref"]]
            else:
                node = node["schema"]
        if node["type"] == "any":
            return True
        if node["type"] in ("enum", "literal"):
            return any(
                type(choice) is type(default) and choice == default
                for choice in choices_of(node).values
            )
        is_bare = node.keys() <= {
            "type",
            "items_schema",
            "keys_schema",
            "values_schema",
            "metadata",
        }
        return (
            is_bare
            and type(default) is _BARE.get(node["type"])
            and (not isinstance(default, (list, dict)) or not default)
        )

    def _accepts(self, node: Node, default: Any) -> bool:
        part = widen(with_definitions(node, self.core_definitions))
        try:
            compile_validator(full_schema(part)).validate_json(json.dumps(default))
        except Exception:  # an author's validator may raise anything
            return False
        return True

    def encode_default(self, dft: Any) -> Any:
        """Return a default as JSON, or raise the error that makes the
        generator leave the default out.
        """
        if dft is None or (isinstance(dft, (str, bool, int)) and not isinstance(dft, Enum)):
            return dft
        if _has_secret_field(dft):
            raise PydanticSerializationError(f"{type(dft).__name__} holds a secret")
        is_by_alias = (
            self.mode == "validation"
            or class_config(type(dft)).get("serialize_by_alias") is not False
        )
        try:
            encoded = to_jsonable_python(
                _sort_sets(dft, self.by_alias and is_by_alias),
                by_alias=self.by_alias,
                inf_nan_mode="constants",
            )
        except Exception as error:
            raise PydanticSerializationError(f"{type(dft).__name__} is not JSON") from error
        if not is_finite(encoded) or _MASK in scalars(encoded):
            raise PydanticSerializationError(f"{encoded} is not JSON, or contains a secret")
        return encoded

    def _describe_class(self, cls: type[Any], generated: JsonSchemaValue) -> JsonSchemaValue:
        generated = _drop_generated_title(cls, generated)
        if "properties" not in generated:
            return generated
        if (
            self.mode == "validation"
            and not sets_extra(cls)
            and generated.get("additionalProperties", True) is True
        ):
            generated["additionalProperties"] = (
                False  # otherwise the outer model's extra= applies here
            )
        _put_sets_in_order(cls, generated)
        docstring = cls.__doc__
        # The generated docstring of a dataclass.
        if docstring and not docstring.startswith(f"{cls.__name__}("):
            doc = docstrings.read_docstring(docstring, [*generated["properties"], *_aliases(cls)])
            if generated.get("description") in (None, inspect.cleandoc(docstring)):
                generated.pop("description", None)
                generated |= {"description": doc.for_caller} if doc.for_caller else {}
            _describe_fields(cls, generated, doc.parameters)
        if any(
            isinstance(field, dict) and "description" not in field
            for field in generated["properties"].values()
        ):
            _describe_fields(cls, generated, docstrings.attribute_docstrings(cls))
        return generated


_IN_JSON_SCHEMA: Mapping[str, str] = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
}
_LIMITS: Mapping[str, frozenset[str]] = {
    "integer": frozenset(_IN_JSON_SCHEMA.values()),
    "number": frozenset(_IN_JSON_SCHEMA.values()),
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "array": frozenset({"minItems", "maxItems"}),
    "object": frozenset({"minProperties", "maxProperties"}),
}
"""The keywords that limit the values of a type; they say nothing of other types."""


_NO_FIELDS = "BaseModel has no fields of its own: name the model that is meant"


def _name_places(generated: JsonSchemaValue, node: Node) -> JsonSchemaValue:
    fields = node.get("fields", node.get("arguments_schema", ()))
    if isinstance(fields, Mapping):
        names = list(fields)
    else:
        names = [field["name"] for field in fields]
    places = generated.get("prefixItems", ())
    if len(places) != len(names):
        return generated
    named = [
        place if "description" in place else {**place, "description": name}
        for name, place in zip(names, places, strict=True)
    ]
    return {**generated, "prefixItems": named}


def _in_words_of_json_schema(generated: JsonSchemaValue) -> JsonSchemaValue:
    """Write limits that pydantic checks after a validator or a union in JSON Schema's
    words, in each branch they are for.

    Pydantic writes them under the names of its own (``gt``), which no reader of a schema knows.
    """
    if not generated.keys() & {*_IN_JSON_SCHEMA, *frozenset().union(*_LIMITS.values())}:
        return generated
    named = {
        _IN_JSON_SCHEMA.get(key, key): value
        for key, value in generated.items()
        if key not in _IN_JSON_SCHEMA or _is_number(value)
    }
    branches = named.get("anyOf")
    if not branches or not all(isinstance(branch.get("type"), str) for branch in branches):
        return named
    # Where a branch has a limit of its own, both must hold.
    own = {key for branch in branches for key in branch}
    limits = {key: named.pop(key) for key in list(named) if _is_limit(key) and key not in own}
    told = [
        {**{key: limits[key] for key in limits if key in _LIMITS.get(branch["type"], ())}, **branch}
        for branch in branches
    ]
    return {**named, "anyOf": told}


def _is_limit(key: str) -> bool:
    return any(key in keywords for keywords in _LIMITS.values())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _fields_of(cls: type[Any]) -> Mapping[str, Any]:
    """Return the fields of a model or of a pydantic dataclass."""
    infos: Any = getattr(
        cls, "model_fields" if issubclass(cls, BaseModel) else "__pydantic_fields__", None
    )
    if isinstance(infos, dict):
        return infos
    return {}


def _aliases(cls: type[Any]) -> dict[str, str]:
    return {name: schema_name_of(name, info) for name, info in _fields_of(cls).items()}


def _describe_fields(cls: type[Any], generated: JsonSchemaValue, texts: Mapping[str, str]) -> None:
    aliases = _aliases(cls) if texts else {}
    for name, text in texts.items():
        field = generated["properties"].get(aliases.get(name, name))
        if isinstance(field, dict):
            field.setdefault("description", text)


def _put_sets_in_order(cls: type[Any], generated: JsonSchemaValue) -> None:
    """Sort the sets in ``examples`` and ``json_schema_extra``; pydantic writes them in hash
    order.
    """
    fields = generated["properties"]
    for name, info in _fields_of(cls).items():
        field, extra = fields.get(schema_name_of(name, info)), info.json_schema_extra
        if isinstance(field, dict):
            _put_in_order(field, {"examples": info.examples} if info.examples else {})
            _put_in_order(field, extra if isinstance(extra, dict) else {})
    extra = class_config(cls).get("json_schema_extra")
    _put_in_order(generated, extra if isinstance(extra, dict) else {})


def _put_in_order(node: JsonSchemaValue, written: Mapping[str, Any]) -> None:
    for key, value in written.items():
        if key in node and _holds_set(value):
            node[key] = to_jsonable_python(_sort_sets(value, by_alias=True))


def _holds_set(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_set, value.values()))
    if isinstance(value, (BaseModel, AbstractSet)):
        return True
    return isinstance(value, (list, tuple)) and any(map(_holds_set, value))


def _write_choices(schema: Node, generated: JsonSchemaValue) -> None:
    """Add the values of an enum to its schema, including combinations of flags."""
    choices = choices_of(schema)
    if choices.mask is None:
        generated["enum"] = choices.values
    else:
        generated.pop("enum", None)
        generated |= {"type": "integer", "minimum": 0, "maximum": choices.mask}
    if generated.get("type") == "array":
        generated.setdefault("items", {})
    if issubclass(schema["cls"], Flag):
        bits = ", ".join(
            f"{int(member.value)} {member.name}" for member in dict.fromkeys(schema["members"])
        )
        generated.setdefault("description", f"The sum of: {bits}.")


_BARE: Mapping[str, type[Any]] = {
    "str": str,
    "int": int,
    "bool": bool,
    "float": float,
    "list": list,
    "dict": dict,
}
_OF_REFUSED = "the tool itself rejects it"


_NULLABLE_TYPES = frozenset(
    {"nullable", "any", "none", "definition-ref", "custom-error", "lax-or-strict", "json-or-python"}
)


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    """Whether a node may accept null; also true if this depends on inner nodes,
    which this function does not read.
    """
    kind = schema["type"]
    if kind == "union":
        return any(
            _may_be_null(choice[0] if isinstance(choice, tuple) else choice)
            for choice in schema["choices"]
        )
    if kind == "literal":
        return None in schema["expected"]
    return kind in _NULLABLE_TYPES or kind.startswith("function-")


def _has_secret_field(value: Any) -> bool:
    """Whether a default contains an instance of a class with a secret field, even
    if the field reveals the secret.
    """
    if isinstance(value, Mapping):
        return any(map(_has_secret_field, value.values()))
    if isinstance(value, (list, tuple, deque, AbstractSet)):
        return any(map(_has_secret_field, value))
    is_record = isinstance(value, BaseModel) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    )
    return is_record and _class_has_secret(cast("Any", type(value)))


@functools.lru_cache(maxsize=256)
def _class_has_secret(cls: type[Any]) -> bool:
    try:
        schema_text = json.dumps(TypeAdapter(cls).json_schema(), default=str)
    except Exception:  # the class has no schema, so no field is marked as secret
        return False
    return '"writeOnly": true' in schema_text


_MASK = str(SecretStr("secret"))


def _sort_sets(value: Any, by_alias: bool) -> Any:
    """Return a default with all of its sets sorted, because the order of a
    set differs between processes.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=by_alias, warnings=False)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = _dump_dataclass(value, by_alias)
    if isinstance(value, Enum):
        return json_of_choice(value.value)
    if isinstance(value, AbstractSet):
        return sorted(
            (_sort_sets(item, by_alias) for item in value),
            key=lambda item: (type(item).__name__, repr(item)),
        )
    if isinstance(value, Mapping):
        return {key: _sort_sets(item, by_alias) for key, item in value.items()}
    if isinstance(value, (list, tuple, deque)):
        return [_sort_sets(item, by_alias) for item in value]
    return value


def _dump_dataclass(value: Any, by_alias: bool) -> Any:
    serializer = getattr(type(value), "__pydantic_serializer__", None)
    if serializer is not None:
        return serializer.to_python(value, by_alias=by_alias, warnings=False)
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _drop_generated_title(cls: type[Any], generated: JsonSchemaValue) -> JsonSchemaValue:
    generator: Callable[[type[Any]], str] | None = class_config(cls).get("model_title_generator")
    if (
        generated.get("title") == cls.__name__
        and not generator
        and class_config(cls).get("title") is None
    ):
        del generated["title"]
    return generated

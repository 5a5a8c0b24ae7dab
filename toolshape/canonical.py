"""A pydantic model in, canonical JSON Schema out: 2020-12, closed, without generated titles, in signature order."""

import inspect
import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import CoreSchema, PydanticSerializationError, core_schema, to_jsonable_python

from toolshape import docstrings
from toolshape.calls import JsonSchema

__all__ = ["INTEGER_KEY", "SharedDefault", "generate", "sets_extra"]


class SharedDefault:
    """A default as Python has it: one object for every call. pydantic would deep-copy what has no hash."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        """Give the one object."""
        return self.value


def generate(schema: CoreSchema, mode: JsonSchemaMode) -> tuple[JsonSchema, list[str]]:
    """Generate the canonical JSON Schema of a pydantic core schema.

    Returns:
        The schema, and a line for every branch of a union that JSON Schema cannot say and that was left out.

    Raises:
        PydanticInvalidForJsonSchema: A type has no JSON Schema.
    """
    generator = _CanonicalSchema(by_alias=True)
    return generator.generate(schema, mode), generator.skipped


INTEGER_KEY = "^(0|-?[1-9][0-9]*)$"
"""The pattern by which the canonical schema says that the keys of a map are integers."""


def sets_extra(cls: type[Any]) -> bool:
    """Whether a model, dataclass or TypedDict itself says what to do with fields it does not know."""
    return _config(cls).get("extra") is not None


def _config(cls: type[Any]) -> Mapping[str, Any]:
    own: Any = getattr(cls, "model_config" if issubclass(cls, BaseModel) else "__pydantic_config__", None)
    return own if isinstance(own, Mapping) else {}


class _CanonicalSchema(GenerateJsonSchema):
    """pydantic's generator with our house rules, through the methods it documents for overriding."""

    def __init__(self, by_alias: bool = True) -> None:
        super().__init__(by_alias=by_alias)
        self.skipped: list[str] = []

    def emit_warning(self, kind: str, detail: str) -> None:
        if kind == "skipped-choice":
            self.skipped.append(detail)

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:  # noqa: ARG002
        return value

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - we never want one
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return self._of_class(schema["cls"], super().model_schema(schema))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return self._of_class(schema["cls"], super().dataclass_schema(schema))

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        said = super().typed_dict_schema(schema)
        return self._of_class(schema["cls"], said) if "cls" in schema else said

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        said = super().generate_inner(schema)
        if schema["type"] == "enum":  # pydantic adds the title after enum_schema
            _without_generated_title(schema["cls"], self.resolve_ref_schema(said))
        return said

    def json_or_python_schema(self, schema: core_schema.JsonOrPythonSchema) -> JsonSchemaValue:
        said = super().json_or_python_schema(schema)
        serializer: Any = schema["python_schema"].get("function") or {}
        maker = getattr(serializer.get("function"), "__qualname__", "")
        if maker.startswith("Secret.") and self.mode == "validation":  # of Secret[T] pydantic says no more than of T
            return {**said, "writeOnly": True}
        return said

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, f"a subclass of {schema['cls']}")

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        said = super().dict_schema(schema)
        if schema.get("keys_schema", {}).get("type") == "int" and self.mode == "validation":
            said.setdefault("propertyNames", {"pattern": INTEGER_KEY})
        return said

    def get_default_value(self, schema: core_schema.WithDefaultSchema) -> Any:
        factory = schema.get("default_factory")
        return factory.value if isinstance(factory, SharedDefault) else super().get_default_value(schema)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        said = super().default_schema(schema)
        if "default" in said and said["default"] is None and not _may_be_null(schema["schema"]):
            del said["default"]
        return said

    def encode_default(self, dft: Any) -> Any:
        """Write a default as JSON, or raise what the generator reads as "leave it out"."""
        if dft is None or (isinstance(dft, (str, bool, int)) and not isinstance(dft, Enum)):
            return dft
        try:
            encoded = to_jsonable_python(_ordered(dft, self.by_alias), by_alias=self.by_alias, inf_nan_mode="constants")
        except Exception as error:
            raise PydanticSerializationError(f"{type(dft).__name__} is not JSON") from error
        if not _is_sayable(encoded):
            raise PydanticSerializationError(f"{encoded} is not JSON, or a secret")
        return encoded

    def _of_class(self, cls: type[Any], said: JsonSchemaValue) -> JsonSchemaValue:
        said = _without_generated_title(cls, said)
        if "properties" not in said:
            return said
        if self.mode == "validation" and not sets_extra(cls) and said.get("additionalProperties", True) is True:
            said["additionalProperties"] = False  # dataclasses and TypedDicts would take it from around them
        text = cls.__doc__
        if text and not text.startswith(f"{cls.__name__}("):  # what dataclasses generate is no description
            aliases = {name: info.alias for name, info in getattr(cls, "model_fields", {}).items() if info.alias}
            doc = docstrings.read(text, [*said["properties"], *aliases])
            if said.get("description") in (None, inspect.cleandoc(text)):
                said.pop("description", None)
                said |= {"description": doc.description} if doc.description else {}
            for name, said_of_it in doc.parameters.items():
                field = said["properties"].get(aliases.get(name, name))
                if isinstance(field, dict):
                    field.setdefault("description", said_of_it)
        return said


_NULLABLE_TYPES = frozenset(
    {"nullable", "any", "none", "definition-ref", "custom-error", "lax-or-strict", "json-or-python"}
)


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    """Whether the node admits null, or we cannot tell without a walk."""
    kind = schema["type"]
    if kind == "union":
        return any(_may_be_null(choice[0] if isinstance(choice, tuple) else choice) for choice in schema["choices"])
    if kind == "literal":
        return None in schema["expected"]
    return kind in _NULLABLE_TYPES or kind.startswith("function-")


def _is_sayable(value: Any) -> bool:
    """Whether JSON can say it: no NaN, no infinity, and no mask that stands for a secret."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_sayable, value.values()))
    return all(map(_is_sayable, value)) if isinstance(value, list) else value != _MASK


_MASK = str(SecretStr("secret"))


def _ordered(value: Any, by_alias: bool) -> Any:
    """A default with its sets in order, wherever they are: their own order changes from process to process."""
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=by_alias, warnings=False)
    if isinstance(value, AbstractSet):
        return sorted((_ordered(item, by_alias) for item in value), key=lambda item: (type(item).__name__, repr(item)))
    if isinstance(value, dict):
        return {key: _ordered(item, by_alias) for key, item in value.items()}
    return [_ordered(item, by_alias) for item in value] if type(value) in (list, tuple) else value


def _without_generated_title(cls: type[Any], said: JsonSchemaValue) -> JsonSchemaValue:
    generator: Callable[[type[Any]], str] | None = _config(cls).get("model_title_generator")
    if said.get("title") == cls.__name__ and not generator and _config(cls).get("title") is None:
        del said["title"]
    return said

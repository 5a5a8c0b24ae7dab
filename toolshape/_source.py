"""What a tool is made from: a function, read once, or a definition that somebody else wrote."""

import copy
import functools
import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from toolshape._calls import Finding, JsonObject, JsonSchema, Verbatim
from toolshape._definitions.record import SchemaDefinition
from toolshape._errors import DefinitionError, Problem, UsageError
from toolshape._function import output as outputs
from toolshape._function import signature as signatures
from toolshape._function.arguments import ParameterForm, exact_arguments, written_arguments
from toolshape._function.invoke import Invoke, Layout, compile_invoke
from toolshape._function.model import FunctionDefinition, define_model
from toolshape._function.output import Output
from toolshape._function.signature import Kind
from toolshape._validation.fast_path import compile_model_validation
from toolshape._validation.model_traits import ModelTraits, traits_of
from toolshape._validation.settings import Validate, ValidationSettings

if TYPE_CHECKING:
    from toolshape._execution.concurrency import ConcurrencyLimit


class Definition(Protocol):
    """What is known of a tool, whether it was read from a function or written by somebody else."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def location(self) -> str: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def schema(self) -> JsonSchema: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def findings(self) -> tuple[Finding, ...]: ...


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FunctionSource:
    """A function that was decorated, and what is read of it once: shared by the tools that differ in options or object.

    ``frame`` holds the frame of the decorator until the annotations are resolved, where they name what is local to it.
    """

    function: Any
    name: str | None
    skip_first: bool = False
    frame: list[types.FrameType] = field(default_factory=list)
    origin: "FunctionSource | None" = None
    limits: dict[int, "ConcurrencyLimit"] = field(default_factory=dict)  # of all objects that it is a method of

    @functools.cached_property
    def definition(self) -> FunctionDefinition:
        """The signature, model and schema.

        Raises:
            DefinitionError: The function cannot be a tool, or a name in its annotations is not defined yet.
        """
        if self.origin is not None:
            return define_model(signatures.without_first(self.origin.definition.signature))
        frame = self.frame[0] if self.frame else None
        try:
            found = signatures.read_signature(self.function, name=self.name, skip_first=self.skip_first, frame=frame)
            definition = define_model(found)
        except signatures.NameNotDefinedError as error:
            message = f"{error}: define it, or import it outside of `if TYPE_CHECKING:`"
            problem = Problem(path="", rule="name_not_defined", message=message)
            raise DefinitionError(tool=error.tool, location=error.location, problems=[problem]) from error
        self.frame.clear()
        return definition

    @functools.cached_property
    def traits(self) -> ModelTraits:
        """What of the model decides how arguments are validated."""
        return traits_of(self.definition)

    @functools.cached_property
    def output(self) -> Output:
        """How results are written."""
        if self.origin is not None:
            return self.origin.output
        return outputs.describe(self.definition.signature)

    @functools.cached_property
    def as_method(self) -> "FunctionSource":
        """The same without the first parameter, which an object will fill."""
        return self if self.skip_first else replace(self, skip_first=True, origin=self)

    @property
    def entry(self) -> None:
        """There is no definition that was written by somebody."""
        return None

    @property
    def verbatim(self) -> None:
        """There is nothing to be sent as it was written."""
        return None

    def model(self) -> type[BaseModel]:
        """The model that makes the schema and validates."""
        return self.definition.model

    def compile_invoke(self, function: Callable[..., Any] | None) -> Invoke:
        """Compile the call of the function, or of the method that it is bound as."""
        assert function is not None  # noqa: S101 - what was decorated
        return compile_invoke(function, self.definition.layout)

    def written(self, validated: Any) -> JsonObject:
        """Validated arguments as JSON, by the names that a model knows."""
        return written_arguments(validated, self.definition.layout.omittable)

    def comparable(self, validated: Any, *, reveals: bool) -> JsonObject:
        """The same with what ``is_same_value`` needs to compare what the function gets; with secrets as they are, or not."""
        return written_arguments(
            validated, self.definition.layout.omittable, ParameterForm(reveals=reveals, keeps_values=True)
        )

    def sparse(self, validated: Any) -> JsonObject:
        """The same without nested fields that nobody gave: what validates to the same again."""
        return written_arguments(
            validated, self.definition.layout.omittable, ParameterForm(reveals=True, is_sparse=True)
        )

    def exact(self, validated: Any) -> Any:
        """Validated arguments as JSON that differs where they differ.

        Raises:
            TypeError: One has no form in JSON.
        """
        return exact_arguments(validated, self.definition.layout.omittable)

    def compile_validation(self, settings: ValidationSettings) -> Validate:
        """Compile the validation of arguments by the model."""
        return compile_model_validation(self.traits, settings)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DefinitionSource:
    """A definition that somebody else wrote, and what has been read of it."""

    definition: SchemaDefinition
    limits: dict[int, "ConcurrencyLimit"] = field(default_factory=dict)

    @property
    def output(self) -> Output:
        """How results are written."""
        return self.definition.output

    @property
    def entry(self) -> JsonObject:
        """The definition as it was written."""
        return self.definition.entry

    @property
    def verbatim(self) -> Verbatim | None:
        """The definition, to be sent as it was written."""
        return self.definition.verbatim

    def model(self) -> type[BaseModel]:
        """There is none.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{self.definition.name} was made from a definition: it has a schema, and no model")

    def compile_invoke(self, _function: Callable[..., Any] | None) -> Invoke:
        """The call of the function, which was fitted to the definition when that was read."""
        return self.definition.invoke

    def written(self, validated: Any) -> JsonObject:
        """Validated arguments, which are JSON."""
        return copy.deepcopy(dict(validated))

    def comparable(self, validated: Any, *, reveals: bool) -> JsonObject:
        """The same: JSON is compared as it is, and masks nothing."""
        del reveals
        return self.written(validated)

    def sparse(self, validated: Any) -> JsonObject:
        """The same: nothing is filled in below the top level."""
        return self.written(validated)

    def exact(self, validated: Any) -> Any:
        """Validated arguments, which are JSON."""
        return exact_arguments(dict(validated), frozenset())

    def compile_validation(self, settings: ValidationSettings) -> Validate:
        """Compile the validation of arguments by the definition's own JSON Schema."""
        from toolshape._definitions import build  # noqa: PLC0415 - a tool of somebody else's: most programs have none

        return build.compile_validation(self.definition, settings)

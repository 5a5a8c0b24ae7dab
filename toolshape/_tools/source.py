"""Where a tool comes from: a decorated function, or a ready-made definition."""

import copy
import functools
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from toolshape._function import result_form as result_forms, signature as signatures
from toolshape._function.arguments import ParameterForm, write_arguments, write_exact_arguments
from toolshape._function.invoke import Invoke, Layout, compile_invoke
from toolshape._function.model import FunctionDefinition, define_model
from toolshape._function.result_form import ResultForm
from toolshape._function.signature import Kind
from toolshape._records.calls import Finding, JsonObject, JsonSchema, Verbatim
from toolshape._records.errors import DefinitionError, Problem, UsageError
from toolshape._tools import definition as definitions
from toolshape._tools.definition.record import SchemaDefinition
from toolshape._validation.fast_path import compile_model_validation
from toolshape._validation.model_traits import ModelTraits, traits_of
from toolshape._validation.settings import FindUnchecked, Validate, Validated, ValidationSettings

if TYPE_CHECKING:
    from toolshape._function.calling.concurrency import ConcurrencyLimit


class Definition(Protocol):
    """The definition of a tool, read from a function or taken from a ready-made definition."""

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
    """A decorated function and its cached definition; tools that differ only in
    options or object share this source.

    ``frame`` holds the frame in which the function was decorated, until the annotations are
    resolved: they may use local names of this frame.
    """

    function: Any
    name: str | None
    skip_first: bool = False
    frame: list[types.FrameType] = field(default_factory=list)
    origin: "FunctionSource | None" = None
    # Shared by all objects with this method.
    limits: dict[int, "ConcurrencyLimit"] = field(default_factory=dict)

    @functools.cached_property
    def definition(self) -> FunctionDefinition:
        """The signature, pydantic model and schema of the function.

        Raises:
            DefinitionError: The function cannot be a tool, or a name in its annotations is not
                defined yet.
        """
        if self.origin is not None:
            return define_model(signatures.drop_first_parameter(self.origin.definition.signature))
        frame = self.frame[0] if self.frame else None
        try:
            signature = signatures.read_signature(
                self.function, name=self.name, skip_first=self.skip_first, frame=frame
            )
            definition = define_model(signature)
        except signatures.NameNotDefinedError as error:
            message = f"{error}: define it, or import it outside of `if TYPE_CHECKING:`"
            problem = Problem(path="", rule="name_not_defined", message=message)
            raise DefinitionError(
                tool=error.tool, location=error.location, problems=[problem]
            ) from error
        self.frame.clear()
        return definition

    @functools.cached_property
    def traits(self) -> ModelTraits:
        """The traits of the pydantic model that decide how arguments are validated."""
        return traits_of(self.definition)

    @functools.cached_property
    def output(self) -> ResultForm:
        """The schema of results, and the function that writes them."""
        if self.origin is not None:
            return self.origin.output
        return result_forms.describe_result(self.definition.signature)

    @functools.cached_property
    def as_method(self) -> "FunctionSource":
        """This source without the first parameter, which the bound object fills."""
        if self.skip_first:
            return self
        return replace(self, skip_first=True, origin=self)

    @property
    def runs_code(self) -> bool:
        """Whether validators of the author's run on the arguments; they may read a context."""
        return self.traits.validators.runs_code

    @property
    def entry(self) -> None:
        """``None``: this tool was read from a function, not from a ready-made definition."""
        return None

    @property
    def verbatim(self) -> None:
        """``None``: a function has no definition to send unchanged."""
        return None

    def model(self) -> type[BaseModel]:
        """Return the pydantic model that generates the schema and validates arguments."""
        return self.definition.model

    def compile_invoke(self, function: Callable[..., Any] | None) -> Invoke:
        """Compile a function that calls the tool's function or bound method."""
        assert function is not None  # noqa: S101 - only tools from definitions can lack a function
        return compile_invoke(function, self.definition.layout)

    def written(self, validated: Any) -> JsonObject:
        """Return validated arguments as JSON, with the names in the schema."""
        return write_arguments(validated, self.definition.layout.omittable)

    def comparable(self, validated: Any, *, reveals: bool) -> JsonObject:
        """Return validated arguments as JSON that ``is_same_value`` can
        compare; ``reveals`` adds secrets.
        """
        return write_arguments(
            validated,
            self.definition.layout.omittable,
            ParameterForm(reveals=reveals, keeps_values=True),
        )

    def sparse(self, validated: Any) -> JsonObject:
        """Return JSON without the nested fields that the caller left out; this JSON
        validates to the same arguments.
        """
        return write_arguments(
            validated, self.definition.layout.omittable, ParameterForm(reveals=True, is_sparse=True)
        )

    def exact(self, validated: Any) -> Any:
        """Return JSON that differs whenever the validated arguments differ.

        Raises:
            TypeError: A value cannot be written as JSON.
        """
        return write_exact_arguments(validated, self.definition.layout.omittable)

    @property
    def is_closed(self) -> bool:
        """``False``: the schema of a function says which objects are closed."""
        return False

    @property
    def shortest_unchecked(self) -> int:
        """A length that no arguments have."""
        return sys.maxsize

    @property
    def find_unchecked(self) -> FindUnchecked | None:
        """``None``: pydantic leaves nothing unchecked."""
        return None

    def compile_validation(self, settings: ValidationSettings) -> Validate:
        """Compile a validator of arguments from the pydantic model."""
        return compile_model_validation(self.traits, settings)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DefinitionSource:
    """A ready-made definition of a tool, in its parsed form."""

    definition: SchemaDefinition
    limits: dict[int, "ConcurrencyLimit"] = field(default_factory=dict)

    @property
    def output(self) -> ResultForm:
        """The schema of results, and the function that writes them."""
        return self.definition.output

    @property
    def runs_code(self) -> bool:
        """``False``: a definition has no validators."""
        return False

    @property
    def entry(self) -> JsonObject:
        """The definition as it was written."""
        return self.definition.entry

    @property
    def verbatim(self) -> Verbatim | None:
        """The definition, to be sent unchanged."""
        return self.definition.verbatim

    def model(self) -> type[BaseModel]:
        """Raise an error, because a definition has no pydantic model.

        Raises:
            UsageError: Always.
        """
        raise UsageError(
            f"{self.definition.name} was made from a definition: it has a schema, but no "
            "pydantic model"
        )

    def compile_invoke(self, _function: Callable[..., Any] | None) -> Invoke:
        """Return the compiled call to the tool's function, which was
        made when the definition was read.
        """
        return self.definition.invoke

    def written(self, validated: Any) -> JsonObject:
        """Return a copy of validated arguments, which are already JSON."""
        return copy.deepcopy(dict(validated))

    def comparable(self, validated: Any, *, reveals: bool) -> JsonObject:
        """Return the same as ``written``: JSON needs no marks for comparison, and hides no
        secrets.
        """
        del reveals
        return self.written(validated)

    def sparse(self, validated: Any) -> JsonObject:
        """Return the same as ``written``: validation fills in no nested fields."""
        return self.written(validated)

    def exact(self, validated: Any) -> Any:
        """Return JSON that differs whenever the validated arguments differ."""
        return write_exact_arguments(dict(validated), frozenset())

    @property
    def is_closed(self) -> bool:
        """Whether whoever imported the definition says that its objects have no further fields."""
        return self.definition.read_options.closed

    @property
    def shortest_unchecked(self) -> int:
        """The length of arguments from which on a part of them may not be checked."""
        return self.definition.searches.shortest_unchecked

    @functools.cached_property
    def find_unchecked(self) -> FindUnchecked | None:
        """The search for texts that are too long for their patterns; ``None``
        if no pattern is about a text.
        """
        if not self.definition.searches.are_any:
            return None
        return definitions.build.compile_find_unchecked(self.definition)

    def compile_validation(self, settings: ValidationSettings) -> Validate:
        """Compile a validator of arguments from the definition's own JSON Schema."""
        validate = definitions.build.compile_validation(self.definition, settings)
        fill = self.definition.fill
        if fill is None:
            return validate

        def validate_and_fill(arguments: Any) -> Validated:
            validated, coercions = validate(arguments)
            return fill(validated), coercions

        return validate_and_fill

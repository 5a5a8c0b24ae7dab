"""The immutable record behind a ``Tool``: all that exports and calls need, made from a function or from a definition."""

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

from pydantic import BaseModel

from toolshape import providers
from toolshape.calls import Finding, JsonObject, JsonSchema, Verbatim
from toolshape.definitions.record import SchemaDefinition
from toolshape.errors import CallError, DefinitionError, Problem, UsageError
from toolshape.execution.returned import is_async
from toolshape.execution.run import compile_call, refuse_running_loop
from toolshape.function import output as outputs
from toolshape.function import signature as signatures
from toolshape.function.invoke import Invoke, Layout, compile_invoke
from toolshape.function.model import FunctionDefinition, define_model
from toolshape.function.output import Output
from toolshape.function.signature import Kind
from toolshape.options import Options
from toolshape.validation.coercion import chosen_rules
from toolshape.validation.fast_path import compile_model_validation
from toolshape.validation.model_traits import ModelTraits, traits_of
from toolshape.validation.settings import Validate, ValidationSettings

__all__ = [
    "Binding",
    "DefinitionRecord",
    "FunctionRecord",
    "FunctionSource",
    "Record",
    "check_examples",
    "require",
    "require_object",
]

Binding: TypeAlias = Literal["to_object", "to_class", "never"]
"""What a tool in a class body is bound to when it is taken from an object."""


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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FunctionRecord:
    """The record of a function; ``function`` is what a call calls: a method, where the source has been bound."""

    function: Callable[..., Any] | None
    source: FunctionSource
    options: Options
    binding: Binding = "never"
    needs_object: bool = False
    is_bound: bool = False
    entry: None = None
    verbatim: None = None

    @functools.cached_property
    def definition(self) -> FunctionDefinition:
        definition = self.source.definition
        if not self.is_bound:  # the tool that it was bound from has been checked
            check_examples(self, definition)
        return definition

    @property
    def name(self) -> str:
        return self.options.name or self.definition.name

    @property
    def model(self) -> type[BaseModel]:
        return self.definition.model

    @property
    def output(self) -> Output:
        return self.source.output

    @functools.cached_property
    def invoke(self) -> Invoke:
        assert self.function is not None  # noqa: S101 - a function's record has one
        return compile_invoke(self.function, self.definition.layout)

    @functools.cached_property
    def validate(self) -> Validate:
        return self.compile_validation(_own_settings(self))

    @functools.cached_property
    def call(self) -> Callable[..., Any]:
        return _compile_call(self)

    def compile_validation(self, settings: ValidationSettings) -> Validate:
        return compile_model_validation(self.source.traits, settings)

    def with_options(self, options: Options) -> "FunctionRecord":
        return replace(self, options=options)

    def bound_to(self, subject: Any) -> "FunctionRecord":
        """The record of the method of an object, or of a class."""
        method = types.MethodType(self.source.function, subject)
        return FunctionRecord(function=method, source=self.source.as_method, options=self.options, is_bound=True)

    def in_class(self) -> "FunctionRecord":
        """The record of a function that has turned out to stand in a class body: its first parameter is the object."""
        is_read = "definition" in vars(self.source)
        source = self.source.as_method if is_read else replace(self.source, skip_first=True)
        return replace(self, source=source, needs_object=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DefinitionRecord:
    """The record of a definition that somebody else wrote, and of the function that answers it, if there is one."""

    function: Callable[..., Any] | None
    definition: SchemaDefinition
    options: Options
    binding: Binding = "never"
    needs_object: bool = False

    @property
    def entry(self) -> JsonObject:
        return self.definition.entry

    @property
    def name(self) -> str:
        return self.options.name or self.definition.name

    @property
    def model(self) -> type[BaseModel]:
        raise UsageError(f"{self.name} was made from a definition: it has a schema, and no model")

    @property
    def output(self) -> Output:
        return self.definition.output

    @property
    def verbatim(self) -> Verbatim | None:
        return self.definition.verbatim if self.options.verbatim else None

    @property
    def invoke(self) -> Invoke:
        return self.definition.invoke

    @functools.cached_property
    def validate(self) -> Validate:
        return self.compile_validation(_own_settings(self))

    @functools.cached_property
    def call(self) -> Callable[..., Any]:
        return _compile_call(self)

    def compile_validation(self, settings: ValidationSettings) -> Validate:
        from toolshape.definitions import build  # noqa: PLC0415 - a tool of somebody else's: most programs have none

        return build.compile_validation(self.definition, settings)

    def with_options(self, options: Options) -> "DefinitionRecord":
        return replace(self, options=options)


Record: TypeAlias = FunctionRecord | DefinitionRecord
"""What a ``Tool`` stands on: the same members for a function and for a definition of somebody else.

``entry`` is the definition as it was written, ``None`` for a function; ``needs_object`` is whether this is a method
that no object has been given; ``model`` raises ``UsageError`` where there is none.
"""


def _own_settings(record: Record) -> ValidationSettings:
    """The settings of a call that comes from no provider: canonical arguments, the tool's own rules."""
    return ValidationSettings(record.name, chosen_rules(record.options.coerce))


def _compile_call(record: Record) -> Callable[..., Any]:
    definition = record.definition

    def check(inject: Mapping[str, Any]) -> None:
        require(record, inject)
        refuse_running_loop(definition.kind, record.name)

    never_fails = not (
        record.needs_object or record.function is None or definition.layout.injected or is_async(definition.kind)
    )
    return compile_call(record.validate, record.invoke, record.name, None if never_fails else check)


def require_object(record: Record) -> None:
    """Check that this is not an unbound method.

    Raises:
        UsageError: It is one; get it from an object.
    """
    if record.needs_object:
        raise UsageError(f"{record.name} is an unbound method: get it from an object, or put @tool above @classmethod")


def require(record: Record, inject: Mapping[str, Any]) -> None:
    """Check that a tool can be called with these injected values.

    Raises:
        UsageError: It is a method bound to nothing, it has no function, or a value is missing.
    """
    require_object(record)
    if record.function is None:
        raise UsageError(f"{record.name} has no function: answer its calls yourself, or pass one to from_definition")
    for name, default in record.definition.layout.injected.items():
        if default is inspect.Parameter.empty and name not in inject:
            given = f", was given {sorted(map(str, inject))}" if inject else ""
            raise UsageError(f"{record.name} needs inject={{{name!r}: ...}}{given}")


def check_examples(record: Record, definition: Definition) -> None:
    """Validate the examples as a model's arguments are validated, with every coercion rule off.

    Raises:
        DefinitionError: One is not what the tool takes.
    """
    options = record.options
    examples = [(f"examples[{index}]", example) for index, example in enumerate(options.examples)]
    for name, keys in options.providers.items():
        key = providers.get(name).examples
        examples += [(f"providers[{name!r}].{key}[{index}]", one) for index, one in enumerate(keys.get(str(key), ()))]
    if not examples:
        return
    problems: list[Problem] = []
    name = options.name or definition.name
    validate = record.compile_validation(ValidationSettings(name, frozenset()))
    for path, example in examples:
        try:
            validate(example)
        except CallError as error:
            problems += [one._replace(path=f"{path}.{one.path}".strip(".")) for one in error.problems]
    if problems:
        raise DefinitionError(tool=name, location=definition.location, problems=problems)

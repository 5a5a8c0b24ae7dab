"""The immutable record behind a ``Tool``: all that exports and calls need, made from a function or from a definition."""

import copy
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolshape._calls import Call, Verbatim
from toolshape._context import CallContext, Cancellation, ToolFacts, with_contexts
from toolshape._errors import CallError, DefinitionError, Problem, UsageError, nearest
from toolshape._execution.returned import is_async
from toolshape._execution.run import compile_call, final_value, refuse_running_loop
from toolshape._function.invoke import Invoke
from toolshape._function.output import Output
from toolshape._options import Options
from toolshape._source import Definition, DefinitionSource, FunctionSource
from toolshape._validation.coercion import chosen_rules, is_installed
from toolshape._validation.lookup import Secrets
from toolshape._validation.settings import Validate, ValidationSettings

if TYPE_CHECKING:
    from toolshape._execution.concurrency import ConcurrencyLimit


_SURELY = 0.8  # the likeness of a misspelt name
Binding: TypeAlias = Literal["to_object", "to_class", "never"]
"""What a tool in a class body is bound to when it is taken from an object."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Record:
    """What a ``Tool`` stands on: what is known of it, its options, and what a call calls.

    ``function`` is the method, where the tool is bound to an object; ``needs_object`` is whether this is a method that
    no object has been given.
    """

    function: Callable[..., Any] | None
    source: FunctionSource | DefinitionSource
    options: Options
    binding: Binding = "never"
    needs_object: bool = False
    is_bound: bool = False

    @functools.cached_property
    def definition(self) -> Definition:
        definition = self.source.definition
        if not self.is_bound:  # the tool that it was bound from has been checked
            check_examples(self, definition)
        return definition

    @property
    def name(self) -> str:
        return self.options.name or self.definition.name

    @property
    def output(self) -> Output:
        return self.source.output

    @property
    def verbatim(self) -> Verbatim | None:
        return self.source.verbatim if self.options.verbatim else None

    @functools.cached_property
    def invoke(self) -> Invoke:
        return self.source.compile_invoke(self.function)

    @functools.cached_property
    def validate(self) -> Validate:
        return self.compile_validation(_own_settings(self))

    @functools.cached_property
    def validate_for_call(self) -> Validate:
        """Validates as ``validate``, and refuses what would wait for approval: there is nobody to ask."""
        if self.options.approve is False:
            return self.validate

        def validate_approved(arguments: Any) -> tuple[Any, Any]:
            validated, coercions = self.validate(arguments)
            if self.must_wait(validated):
                raise CallError("pending", tool=self.name)
            return validated, coercions

        return validate_approved

    def must_wait(self, validated: Any) -> bool:
        """Whether a call waits for approval; where that cannot be decided, it does."""
        wanted = self.options.approve
        if isinstance(wanted, bool):
            return wanted
        try:
            return bool(wanted(self.source.written(validated)))
        except Exception:  # a function of the user's may raise anything
            import logging  # noqa: PLC0415 - only what goes wrong needs it

            logging.getLogger("toolshape").exception("approve= of %r failed: the call waits for approval", self.name)
            return True

    @functools.cached_property
    def validate_uncoerced(self) -> Validate:
        """Validates what an author wrote: in canonical form, with every coercion rule off."""
        return self.compile_validation(ValidationSettings(self.name, frozenset()))

    @functools.cached_property
    def secrets(self) -> Secrets:
        """Finds the places of the arguments that may hold a secret."""
        return Secrets(self.definition.schema)

    @functools.cached_property
    def call(self) -> Callable[..., Any]:
        return _compile_call(self)

    @property
    def limit(self) -> "ConcurrencyLimit | None":
        most = self.options.limit
        if most is None:
            return None
        from toolshape._execution import concurrency  # noqa: PLC0415 - concurrent.futures loads logging, for what few ask

        return self.source.limits.setdefault(most, concurrency.ConcurrencyLimit(most))

    def compile_validation(self, settings: ValidationSettings) -> Validate:
        return self.source.compile_validation(settings)

    def with_options(self, options: Options) -> "Record":
        return replace(self, options=options)

    def bound_to(self, subject: Any) -> "Record":
        """The record of the method of an object, or of a class."""
        source = self._function_source()
        method = types.MethodType(source.function, subject)
        return Record(function=method, source=source.as_method, options=self.options, is_bound=True)

    def in_class(self) -> "Record":
        """The record of a function that has turned out to stand in a class body: its first parameter is the object."""
        source = self._function_source()
        is_read = "definition" in vars(source)
        return replace(
            self, source=source.as_method if is_read else replace(source, skip_first=True), needs_object=True
        )

    def _function_source(self) -> FunctionSource:
        assert isinstance(self.source, FunctionSource)  # noqa: S101 - only a function is ever bound
        return self.source


def _own_settings(record: Record) -> ValidationSettings:
    """The settings of a call that comes from no provider: canonical arguments, the tool's own rules."""
    return ValidationSettings(record.name, chosen_rules(record.options.coerce))


def with_context(
    record: Record, tool: ToolFacts, validated: Any, inject: Mapping[str, Any], cancellation: Cancellation
) -> Mapping[str, Any]:
    """The injected values, and a ``CallContext`` where the function takes one, of a call that no provider made."""
    contexts = record.definition.layout.contexts
    if not contexts:
        return inject
    arguments = record.source.written(validated)
    call = Call("", record.name, record.name, arguments, "", None)
    context = CallContext(
        call=call,
        tool=tool,
        arguments=copy.deepcopy(arguments),
        attempt=1,
        inject=MappingProxyType(inject),
        _cancellation=cancellation,
    )
    return with_contexts(contexts, context, inject)


def _compile_call(record: Record) -> Callable[..., Any]:
    definition = record.definition

    def check(inject: Mapping[str, Any]) -> None:
        require(record, inject)
        refuse_running_loop(definition.kind, record.name)

    never_fails = not (
        record.needs_object or record.function is None or definition.layout.injected or is_async(definition.kind)
    )

    def with_own(tool: ToolFacts, validated: Any, inject: Mapping[str, Any]) -> Mapping[str, Any]:
        return with_context(record, tool, validated, inject, Cancellation())

    extend = with_own if definition.layout.contexts else None
    invoke = record.invoke if record.limit is None else _in_turn(record.invoke, record.limit)
    return compile_call(record.validate_for_call, invoke, record.name, None if never_fails else check, extend)


def _in_turn(invoke: Invoke, limit: "ConcurrencyLimit") -> Invoke:
    def in_turn(model: Any, inject: Mapping[str, Any]) -> Any:
        with limit.turn():
            return final_value(invoke(model, inject))

    return in_turn


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
    layout = record.definition.layout
    for name, default in layout.injected.items():
        if name in inject or name in layout.contexts:
            continue
        if default is not inspect.Parameter.empty:
            if inject and (meant := nearest(name, inject.keys() - layout.injected.keys(), _SURELY)):
                message = f"inject={{{meant!r}: ...}} is no parameter of {record.name}: did you mean {name!r}?"
                raise UsageError(message)
        else:
            given = f", was given {sorted(map(str, inject))}" if inject else ""
            raise UsageError(f"{record.name} needs inject={{{name!r}: ...}}{given}")


def check_validation_of_results(record: Record) -> None:
    """Check that the results of a tool that asks for it can be held against a schema.

    Raises:
        DefinitionError: There is no schema, or jsonschema is not installed.
    """
    if not record.options.validate_result:
        return
    output = record.output
    if output.schema is None and not any(one.rule == "unresolved_return" for one in output.findings):
        message = "the return annotation describes no result: annotate it, or leave this out"
    elif not is_installed("jsonschema"):
        message = "it needs jsonschema: pip install 'toolshape[schema]'"
    else:
        return
    problem = Problem(path="validate_result", rule="option", message=message)
    raise DefinitionError(tool=record.name, location=record.definition.location, problems=[problem])


def check_examples(record: Record, definition: Definition) -> None:
    """Validate the examples as a model's arguments are validated, with every coercion rule off.

    Raises:
        DefinitionError: One is not what the tool takes.
    """
    options = record.options
    examples = [(f"examples[{index}]", example) for index, example in enumerate(options.examples)]
    for name, keys in options.providers.items():
        from toolshape import _families as providers  # noqa: PLC0415 - few tools have options for one provider

        key = providers.get(name).request.examples
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

"""The immutable record behind a ``Tool``: what exports and calls need."""

import copy
import functools
import inspect
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolshape import _validation
from toolshape._function import calling
from toolshape._function.calling.call import compile_call, final_value, refuse_running_loop
from toolshape._function.calling.failures import is_cancellation
from toolshape._function.calling.returned import is_async
from toolshape._function.invoke import Invoke
from toolshape._function.result_form import ResultForm
from toolshape._function.secret_types import has_secret_types
from toolshape._records.calls import Call, Grammar, Verbatim
from toolshape._records.context import CallContext, Cancellation, ToolFacts, add_contexts
from toolshape._records.errors import CallError, DefinitionError, Problem, UsageError, nearest
from toolshape._schema.secrets import Secrets
from toolshape._tools.options import Options
from toolshape._tools.source import Definition, DefinitionSource, FunctionSource
from toolshape._validation import text_grammar
from toolshape._validation.coercion import choose_rules, is_installed
from toolshape._validation.masking import masking
from toolshape._validation.settings import Validate, ValidationSettings

if TYPE_CHECKING:
    from toolshape._function.calling.concurrency import ConcurrencyLimit


_SURELY = 0.8  # a name at least this similar counts as misspelt
Binding: TypeAlias = Literal["to_object", "to_class", "never"]
"""What a tool from a class body is bound to when code reads it from an object: the
object, its class, or nothing.
"""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Record:
    """The data behind a ``Tool``: its source, its options, and the function that a call runs.

    If the tool is bound to an object, ``function`` is the bound method. ``needs_object`` says
    whether the tool is a method that is not bound yet.
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
        if not self.is_bound:  # the unbound tool's examples were already checked
            check_free_text(self.options, definition)
            check_examples(self, definition)
        return definition

    @property
    def name(self) -> str:
        return self.options.name or self.definition.name

    @property
    def output(self) -> ResultForm:
        return self.source.output

    @property
    def verbatim(self) -> Verbatim | None:
        if self.options.verbatim:
            return self.source.verbatim
        return None

    @functools.cached_property
    def invoke(self) -> Invoke:
        return self.source.compile_invoke(self.function)

    @functools.cached_property
    def validate(self) -> Validate:
        return self.compile_validation(_own_settings(self))

    @functools.cached_property
    def validate_for_call(self) -> Validate:
        """Validates like ``validate``, but rejects calls that need
        approval: a direct call cannot wait.
        """
        if self.options.approve is False:
            return self.validate

        def validate_approved(arguments: Any) -> tuple[Any, Any]:
            validated, coercions = self.validate(arguments)
            if self.must_wait(validated):
                raise CallError("pending", tool=self.name)
            return validated, coercions

        return validate_approved

    @functools.cached_property
    def approves_by_inject(self) -> bool:
        """Whether ``approve=`` is a function that takes the injected values as a second
        argument.
        """
        approve: Any = self.options.approve
        return not isinstance(approve, bool) and _takes_injected_values(approve)

    def must_wait(self, validated: Any, inject: Mapping[str, Any] | None = None) -> bool:
        """Whether a call must wait for approval; also true if the
        user's ``approve`` function raises.

        Args:
            validated: The validated arguments.
            inject: The injected values, or ``None`` before they are known. With ``None``, a
                function that needs these values cannot decide, so the call waits.
        """
        approve: Any = self.options.approve
        if isinstance(approve, bool):
            return approve
        if self.approves_by_inject and inject is None:
            return True
        try:
            arguments = self.source.written(validated)
            if self.approves_by_inject:
                return bool(approve(arguments, MappingProxyType(dict(inject or {}))))
            return bool(approve(arguments))
        except BaseException as error:  # a user's function may raise anything, SystemExit too
            if isinstance(error, KeyboardInterrupt) or is_cancellation(error):
                raise
            import logging  # noqa: PLC0415 - only failures need it

            logging.getLogger("toolshape").exception(
                "approve= of %r failed: the call waits for approval", self.name
            )
            return True

    @functools.cached_property
    def validate_uncoerced(self) -> Validate:
        """Validates arguments that an author wrote: in canonical
        form, with every coercion rule off.
        """
        return self.compile_validation(ValidationSettings(self.name, frozenset()))

    @functools.cached_property
    def secrets(self) -> Secrets:
        """Finds the places in the arguments that may hold a secret."""
        schema = self.source.definition.schema  # what the author adds to it marks no secret
        secrets = Secrets(schema)
        if secrets.are_there or not isinstance(self.source, FunctionSource):
            return secrets
        # A type for secrets whose schema says nothing of it: an author may have replaced the
        # schema.
        return Secrets(schema, hides_all=has_secret_types(self.source.model()))

    @property
    def takes_secrets(self) -> bool:
        """Whether an argument may hold a secret: the schema marks one, or the model
        has a type for secrets anywhere.
        """
        return self.secrets.are_there

    @functools.cached_property
    def call(self) -> Callable[..., Any]:
        return _compile_call(self)

    @property
    def limit(self) -> "ConcurrencyLimit | None":
        most_calls = self.options.limit
        if most_calls is None:
            return None
        return self.source.limits.setdefault(
            most_calls, calling.concurrency.ConcurrencyLimit(most_calls)
        )

    def compile_validation(self, settings: ValidationSettings) -> Validate:
        validate = masking(self.source.compile_validation(settings), self.secrets)
        grammar = self.options.free_text
        if not isinstance(grammar, Grammar):
            return validate
        fits = text_grammar.compile_grammar(grammar)
        if fits is None:
            return validate
        return text_grammar.checking_text(
            validate,
            fits,
            settings.name,
            grammar,
            lambda validated: self.source.comparable(validated, reveals=True),
            is_secret=self.takes_secrets,
        )

    @functools.cached_property
    def check_output(self) -> Callable[[str, bool], None]:
        """Checks a result against the output schema, which must exist.

        Raises:
            ImportError: jsonschema is not installed.
        """
        assert self.output.schema is not None  # noqa: S101 - the caller has checked
        return _validation.output_checker.compile_output_check(self.name, self.output.schema)

    def log_findings(self) -> None:
        """Log the findings about this tool, such as a missing description, but only the first
        time.
        """
        _ = self._logged_findings

    @functools.cached_property
    def _logged_findings(self) -> bool:
        if findings := [*self.definition.findings, *self.output.findings]:
            import logging  # noqa: PLC0415 - only findings need it

            summary = "; ".join(
                f"{finding.path}: {finding.message}".removeprefix(": ") for finding in findings
            )
            logging.getLogger("toolshape").warning(
                "%s (%s): %s", self.name, self.definition.location, summary
            )
        return True

    @functools.cached_property
    def _compiled(self) -> "weakref.WeakKeyDictionary[Any, dict[Any, Any]]":
        return weakref.WeakKeyDictionary()

    def compiled_for(self, provider: object) -> dict[Any, Any]:
        """Return the cache of compiled data for a provider; ``shape`` fills and reads it."""
        return self._compiled.setdefault(provider, {})

    def with_options(self, options: Options) -> "Record":
        return replace(self, options=options)

    def bound_to(self, subject: Any) -> "Record":
        """Return the record of the tool bound to an object or a class."""
        source = self._function_source()
        method = types.MethodType(source.function, subject)
        return Record(function=method, source=source.as_method, options=self.options, is_bound=True)

    def in_class(self) -> "Record":
        """Return this record for a method, because ``__set_name__`` showed that
        the first parameter is ``self``.
        """
        source = self._function_source()
        is_defined = "definition" in vars(source)
        return replace(
            self,
            source=source.as_method if is_defined else replace(source, skip_first=True),
            needs_object=True,
        )

    def _function_source(self) -> FunctionSource:
        assert isinstance(self.source, FunctionSource)  # noqa: S101 - only a function is ever bound
        return self.source


def _takes_injected_values(function: Callable[..., Any]) -> bool:
    """Whether a function requires two positional arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # the function has no readable signature
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [
        parameter
        for parameter in parameters
        if parameter.kind in kinds and parameter.default is inspect.Parameter.empty
    ]
    return len(required) == 2  # noqa: PLR2004 - the arguments and the injected values


def _own_settings(record: Record) -> ValidationSettings:
    """Return the settings for a call without a provider: canonical arguments,
    and only the tool's own rules.
    """
    return ValidationSettings(record.name, choose_rules(record.options.coerce))


def add_context(
    record: Record,
    tool: ToolFacts,
    validated: Any,
    inject: Mapping[str, Any],
    cancellation: Cancellation,
) -> Mapping[str, Any]:
    """Return the injected values for a call without a provider, with a
    ``CallContext`` if the function takes one.
    """
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
    return add_contexts(contexts, context, inject)


def _compile_call(record: Record) -> Callable[..., Any]:
    definition = record.definition

    def check(inject: Mapping[str, Any]) -> None:
        refuse_uncallable(record, inject)
        refuse_running_loop(definition.kind, record.name)

    never_fails = not (
        record.needs_object
        or record.function is None
        or definition.layout.injected
        or is_async(definition.kind)
    )

    def with_own(tool: ToolFacts, validated: Any, inject: Mapping[str, Any]) -> Mapping[str, Any]:
        return add_context(record, tool, validated, inject, Cancellation())

    extend = with_own if definition.layout.contexts else None
    if record.limit is None:
        invoke = record.invoke
    else:
        invoke = _in_turn(record.invoke, record.limit)
    return compile_call(
        record.validate_for_call, invoke, record.name, None if never_fails else check, extend
    )


def _in_turn(invoke: Invoke, limit: "ConcurrencyLimit") -> Invoke:
    def in_turn(model: Any, inject: Mapping[str, Any]) -> Any:
        with limit.turn():
            return final_value(invoke(model, inject))

    return in_turn


def refuse_unbound_method(record: Record) -> None:
    """Check that a tool is not an unbound method.

    Raises:
        UsageError: The tool is an unbound method. To bind the method, get it from an object.
    """
    if record.needs_object:
        raise UsageError(
            f"{record.name} is an unbound method: get it from an object, or put @tool above "
            "@classmethod"
        )


def refuse_uncallable(record: Record, inject: Mapping[str, Any]) -> None:
    """Check that a tool can be called with these injected values.

    Raises:
        UsageError: The tool is an unbound method or has no function, or an injected value is
            missing or has a misspelt name.
    """
    refuse_unbound_method(record)
    if record.function is None:
        raise UsageError(
            f"{record.name} has no function: pass one to from_definition, or answer its calls "
            "yourself"
        )
    layout = record.definition.layout
    for name, default in layout.injected.items():
        if name in inject or name in layout.contexts:
            continue
        if default is not inspect.Parameter.empty:
            if inject and (
                closest_name := nearest(name, inject.keys() - layout.injected.keys(), _SURELY)
            ):
                message = (
                    f"inject={{{closest_name!r}: ...}} is not a parameter of {record.name}: did "
                    f"you mean {name!r}?"
                )
                raise UsageError(message)
        else:
            if inject:
                injected_names = f", but inject= has only {sorted(map(str, inject))}"
            else:
                injected_names = ""
            raise UsageError(f"{record.name} needs inject={{{name!r}: ...}}{injected_names}")


def check_validation_of_results(record: Record) -> None:
    """If ``validate_result`` is set, check that the results of the tool can
    be validated against a schema.

    Raises:
        DefinitionError: There is no schema, or jsonschema is not installed.
    """
    if not record.options.validate_result:
        return
    output = record.output
    if output.schema is None and not any(
        finding.rule == "unresolved_return" for finding in output.findings
    ):
        message = (
            "the return annotation describes no result: annotate the return type, or leave this "
            "option out"
        )
    elif not is_installed("jsonschema"):
        message = "this option needs jsonschema: pip install 'toolshape[schema]'"
    else:
        return
    problem = Problem(path="validate_result", rule="option", message=message)
    raise DefinitionError(tool=record.name, location=record.definition.location, problems=[problem])


def check_free_text(options: Options, definition: Definition) -> None:
    """Check that a tool of free text has one string as its only argument,
    and a grammar that can be read.

    Raises:
        DefinitionError: It has other arguments, or the grammar is wrong.
    """
    if not options.free_text:
        return
    properties = definition.schema.get("properties", {})
    schemas = list(properties.values())
    if len(schemas) != 1 or schemas[0].get("type") != "string" or "enum" in schemas[0]:
        message = "a tool of free text has exactly one argument for models, and it is a str"
    elif isinstance(options.free_text, Grammar):
        message = text_grammar.grammar_fault(options.free_text)
    else:
        return
    if message:
        problem = Problem(path="free_text", rule="option", message=message)
        raise DefinitionError(
            tool=options.name or definition.name, location=definition.location, problems=[problem]
        )


def check_examples(record: Record, definition: Definition) -> None:
    """Validate the examples like a model's arguments, but with every coercion rule off.

    Raises:
        DefinitionError: An example is invalid.
    """
    options = record.options
    examples = [(f"examples[{index}]", example) for index, example in enumerate(options.examples)]
    for name, keys in options.providers.items():
        from toolshape import _families as providers  # noqa: PLC0415 - few tools have options for one provider

        key = providers.get(name).request.examples
        examples += [
            (f"providers[{name!r}].{key}[{index}]", example)
            for index, example in enumerate(keys.get(str(key), ()))
        ]
    if not examples:
        return
    problems: list[Problem] = []
    name = options.name or definition.name
    validate = record.compile_validation(ValidationSettings(name, frozenset()))
    for path, example in examples:
        try:
            validate(example)
        except CallError as error:
            problems += [
                problem._replace(path=f"{path}.{problem.path}".strip("."))
                for problem in error.problems
            ]
    if problems:
        raise DefinitionError(tool=name, location=definition.location, problems=problems)

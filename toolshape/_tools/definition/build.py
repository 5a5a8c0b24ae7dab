"""Builds a tool's record from a definition, and compiles what validates its calls.

Needs the extra ``schema``.
"""

import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from toolshape import _validation
from toolshape._function import result_form as result_forms, signature as signatures
from toolshape._function.annotations import is_context
from toolshape._function.invoke import Invoke, Layout
from toolshape._function.result_form import ResultForm
from toolshape._function.signature import (
    POSITIONAL_ONLY,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Kind,
    Parameter,
    Signature,
)
from toolshape._records.calls import PLAIN_TEXT, Finding, Verbatim
from toolshape._records.errors import DefinitionError, Problem, UsageError
from toolshape._records.shown import shorten
from toolshape._schema.keywords import UNIONS
from toolshape._schema.lens import UnsupportedError
from toolshape._schema.values import copy_json
from toolshape._tools.definition.bundle import Documents
from toolshape._tools.definition.formats import (
    Foreign,
    ForeignError,
    Outline,
    entries,
    outline,
    read_definition,
)
from toolshape._tools.definition.record import Choose, ReadOptions, SchemaDefinition
from toolshape._validation.coercion import Coerce
from toolshape._validation.pattern_search import searches_for
from toolshape._validation.settings import FindUnchecked, Validate, ValidationSettings

if TYPE_CHECKING:
    from toolshape._validation.schema_defaults import Defaults


class Unread(NamedTuple):
    """A definition whose schema is not read yet, with the function that
    answers its calls, if there is one.
    """

    outline: Outline
    function: Callable[..., Any] | None
    signature: Signature | None
    read_options: ReadOptions


def outline_definition(
    given: Any,
    choose: Choose,
    *,
    name: str | None,
    frame: types.FrameType | None,
    read_options: ReadOptions,
) -> Unread:
    """Find the name of a definition and the function for it, without a look at the schema.

    Args:
        given: One definition in any format: a dict, an SDK object, or JSON text.
        choose: Takes the name in the definition; returns the function, or ``None``. The tool calls
            the function with keyword arguments.
        name: The tool's name, if the definition has no name or the tool should have another name.
        frame: The caller's frame, used to resolve annotations that name local classes.
        read_options: How the definition is read.

    Raises:
        DefinitionError: It is no definition or has no name, or its function cannot be a tool.
    """
    try:
        found = outline(given, name=name)
    except ForeignError as error:
        raise _as_definition_error(error) from error
    except RecursionError as error:
        raise _too_large(name, _TOO_DEEP) from error
    function = choose(found.key)
    if function is None:
        signature = None
    else:
        signature = _signature(function, found.name, frame)
    return Unread(found, function, signature, read_options)


def build_definition(unread: Unread) -> SchemaDefinition:
    """Read the schema of a definition, and match its function to it.

    Raises:
        DefinitionError: The schema is invalid, or the function does not accept the arguments in the
            schema.
    """
    try:
        return _build(unread)
    except ForeignError as error:
        raise _as_definition_error(error) from error
    except UnsupportedError as error:
        raise _too_large(unread.outline.name, str(error)) from error
    except RecursionError as error:
        raise _too_large(unread.outline.name, _TOO_DEEP) from error


def _as_definition_error(error: ForeignError) -> DefinitionError:
    return DefinitionError(tool=error.name, location="a definition", problems=error.problems)


def _too_large(name: str | None, message: str) -> DefinitionError:
    problem = Problem(path="", rule="too_large", message=message)
    return DefinitionError(tool=name or "a definition", location="a definition", problems=[problem])


_TOO_DEEP = "the definition is nested too deeply to be read"


def _build(unread: Unread) -> SchemaDefinition:
    _, function, signature, read_options = unread
    foreign = read_definition(unread.outline, read_options.documents)
    searches = searches_for(foreign.parameters)
    location = "a definition" if signature is None else signature.location
    fills_defaults = read_options.defaults == "fill" or (
        read_options.defaults is None and function is not None
    )
    problems = _validation.jsonschema_checker.schema_problems(foreign.parameters)
    defaults = (
        None if problems else _validation.schema_defaults.defaults_of(foreign.parameters, searches)
    )
    fill, filled = None, frozenset[str]()
    if defaults is not None and fills_defaults:
        fill = _validation.schema_defaults.compile_fill(defaults)
        filled = _validation.schema_defaults.always_filled(defaults)
    problems = [
        *problems,
        *(_misfits(foreign, signature, filled) if signature else ()),
    ]
    if problems:
        raise DefinitionError(tool=foreign.name, location=location, problems=problems)
    kind, known, switched = _of_signature(signature)
    own_findings = () if defaults is None else tuple(_default_findings(defaults, signature))
    return SchemaDefinition(
        name=foreign.name,
        title=foreign.title,
        description=foreign.description,
        location=location,
        kind=kind,
        schema=foreign.parameters,
        output=_result_form(foreign, signature),
        layout=_layout(signature),
        invoke=_compile_invoke(function, signature, foreign.name),
        known=known,
        never=frozenset({*_injected_defaults(signature), PLAIN_TEXT}),
        switched=switched,
        findings=(
            *foreign.findings,
            *_validation.jsonschema_checker.unchecked_findings(foreign.parameters, searches),
            *own_findings,
        ),
        searches=searches,
        read_options=read_options,
        fill=fill,
        effects=foreign.effects,
        examples=foreign.examples,
        keys={foreign.form: foreign.keys} if foreign.keys else {},
        entry=foreign.entry,
        is_strict=foreign.is_strict,
        verbatim=_verbatim(foreign),
    )


def _of_signature(
    signature: Signature | None,
) -> tuple[Kind, frozenset[str] | None, dict[str, dict[str, bool]]]:
    """Return the kind of a function, the names that it accepts, and the
    coercion rules that it switches.
    """
    if signature is None:
        return "function", None, {}
    return signature.kind, _known_names(signature), _switched_rules(signature)


def _default_findings(defaults: "Defaults", signature: Signature | None) -> Iterator[Finding]:
    """Yield one finding for the defaults that their schemas refuse, and one for each
    that the function has otherwise.
    """
    refused = list(_validation.schema_defaults.refused_defaults(defaults))
    if refused:
        shown = "; ".join(f"{at.path}: {shorten(default)}" for at, default in refused[:_MOST_NAMED])
        if len(refused) > _MOST_NAMED:
            more = f" and {len(refused) - _MOST_NAMED} more"
        else:
            more = ""
        message = f"these defaults are not valid, and not filled in: {shown}{more}"
        yield Finding(path="", rule="refused_default", message=message)
    properties = defaults.schema.get("properties", {})
    for parameter in () if signature is None else signature.parameters:
        node = properties.get(parameter.name)
        if isinstance(node, dict):
            default = node.get("default", _NO_DEFAULT)
        else:
            default = _NO_DEFAULT
        is_refused = any(at.path == parameter.name for at, _ in refused)
        differs = default is not _NO_DEFAULT and default is not None and not is_refused
        if differs and parameter.default not in (default, inspect.Parameter.empty):
            message = (
                f"the definition's default is {shorten(default)}, the function's is "
                f"{shorten(parameter.default)}"
            )
            yield Finding(path=parameter.name, rule="two_defaults", message=message)


_NO_DEFAULT = object()
_MOST_NAMED = 5


def _verbatim(foreign: Foreign) -> Verbatim | None:
    if foreign.entry_name is None:
        return None
    return Verbatim(
        foreign.form, foreign.entry, foreign.entry_name, foreign.schema, bool(foreign.is_strict)
    )


def read_documents(given: Mapping[str, Any]) -> Documents | None:
    """Return the documents that definitions refer to, as a copy; ``None`` if there are none."""
    if given:
        return Documents(copy_json(dict(given)))
    return None


def list_definitions(given: Any) -> list[Any]:
    """Return the definitions in ``given``: a list, a request, a list
    of tools or a single definition.

    What is no definition is returned with them: ``outline_definition`` refuses it.

    Raises:
        DefinitionError: ``given`` is no JSON.
    """
    try:
        return list(entries(given))
    except ForeignError as error:
        raise DefinitionError(
            tool=error.name, location="add_definitions", problems=error.problems
        ) from error


def compile_validation(definition: SchemaDefinition, settings: ValidationSettings) -> Validate:
    """Compile the function that validates a call's arguments; see
    ``jsonschema_checker.compile_validation``.
    """
    return _validation.jsonschema_checker.compile_validation(
        definition.schema,
        definition.known,
        definition.never,
        definition.switched,
        settings,
        definition.searches,
    )


def compile_find_unchecked(definition: SchemaDefinition) -> FindUnchecked:
    """Compile the search for what a check leaves out; see
    ``jsonschema_checker.compile_find_unchecked``.
    """
    return _validation.jsonschema_checker.compile_find_unchecked(
        definition.schema, definition.searches
    )


def _signature(function: Callable[..., Any], name: str, frame: types.FrameType | None) -> Signature:
    try:
        signature = signatures.read_signature(function, name=name, skip_first=False, frame=frame)
    except signatures.NameNotDefinedError as error:
        problem = Problem(path="", rule="name_not_defined", message=str(error))
        raise DefinitionError(tool=name, location=error.location, problems=[problem]) from error
    if signature.problems:
        raise DefinitionError(tool=name, location=signature.location, problems=signature.problems)
    return signature


def _known_names(signature: Signature) -> frozenset[str] | None:
    """Return the names of the arguments that a function accepts, or
    ``None`` if it accepts any name.
    """
    if any(parameter.kind is VAR_KEYWORD for parameter in signature.parameters):
        return None
    return frozenset(
        parameter.name
        for parameter in signature.parameters
        if not parameter.injected and parameter.kind is not VAR_POSITIONAL
    )


def _switched_rules(signature: Signature) -> dict[str, dict[str, bool]]:
    """Return the coercion rules that each parameter switches on or off with
    ``Annotated[..., Coerce(...)]``.
    """
    metadata_of = {
        parameter.name: getattr(parameter.annotation, "__metadata__", ())
        for parameter in signature.parameters
    }
    return {
        name: {
            rule: is_on
            for item in metadata
            if isinstance(item, Coerce)
            for rule, is_on in item.rules
        }
        for name, metadata in metadata_of.items()
    }


def _misfits(foreign: Foreign, signature: Signature, filled: frozenset[str]) -> list[Problem]:
    """Return a problem for each difference between the definition's parameters
    and the function's parameters.

    Args:
        foreign: The definition.
        signature: The function's signature.
        filled: The parameters that always have a value, because the definition has a default for
            them.
    """
    properties: Mapping[str, Any] = foreign.parameters.get("properties", {})
    known = _known_names(signature)
    problems = [
        Problem(
            path=parameter.name,
            rule="injected",
            message="this parameter is injected into the function, not set by a model: remove it "
            "from the definition",
        )
        for parameter in signature.parameters
        if parameter.injected and parameter.name in properties
    ]
    in_branches = bool(foreign.parameters.keys() & {*UNIONS})  # branches may declare more fields
    problems += [
        Problem(
            path=name,
            rule="no_such_parameter",
            message="the function has no parameter with this name",
        )
        for name in properties
        if known is not None and name not in known
    ]
    problems += [
        Problem(
            path=parameter.name,
            rule="not_in_definition",
            message="the function requires this parameter, but the definition does not have it",
        )
        for parameter in signature.parameters
        if parameter.name not in properties and _is_needed(parameter) and not in_branches
    ]
    required = foreign.parameters.get("required", ())
    problems += [
        Problem(
            path=parameter.name,
            rule="may_be_left_out",
            message="the function requires this parameter, but the definition does not require it",
        )
        for parameter in signature.parameters
        if (parameter.name in properties or in_branches)
        and parameter.name not in required
        and parameter.name not in filled
        and _is_needed(parameter)
    ]
    return problems


def _is_needed(parameter: Parameter) -> bool:
    variadic = parameter.kind in (VAR_POSITIONAL, VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and not variadic and not parameter.injected


def _injected_defaults(signature: Signature | None) -> dict[str, Any]:
    parameters = () if signature is None else signature.parameters
    return {parameter.name: parameter.default for parameter in parameters if parameter.injected}


def _layout(signature: Signature | None) -> Layout:
    parameters = () if signature is None else signature.parameters
    contexts = frozenset(
        parameter.name for parameter in parameters if is_context(parameter.annotation)
    )
    return Layout(injected=_injected_defaults(signature), contexts=contexts)


def _compile_invoke(
    function: Callable[..., Any] | None, signature: Signature | None, name: str
) -> Invoke:
    """Return a function that calls the tool's function with valid arguments and injected values."""
    if function is None or signature is None:

        def call_nothing(_arguments: Any, _inject: Mapping[str, Any]) -> Any:
            raise UsageError(
                f"{name} has no function: pass one to from_definition, or answer its calls yourself"
            )

        return call_nothing
    injected = _injected_defaults(signature)
    positional_defaults = [
        (parameter.name, parameter.default)
        for parameter in signature.parameters
        if parameter.kind is POSITIONAL_ONLY
    ]
    tool_function = function

    def call(arguments: Any, inject: Mapping[str, Any]) -> Any:
        keyword_arguments = {
            **arguments,
            **{name: inject[name] for name in injected if name in inject},
        }
        positional = [keyword_arguments.pop(name, default) for name, default in positional_defaults]
        return tool_function(*positional, **keyword_arguments)

    return call


def _result_form(foreign: Foreign, signature: Signature | None) -> ResultForm:
    if signature is None:
        function_form = result_forms.untyped_form()
    else:
        function_form = result_forms.describe_result(signature)
    if foreign.output is None:
        schema = function_form.schema
    else:
        schema = foreign.output
    return ResultForm(schema=schema, write=function_form.write, findings=function_form.findings)

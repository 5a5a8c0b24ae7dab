"""Builds the pydantic model of a function's parameters: for the schema, and to validate calls."""

import functools
import json
import re
import threading
import types
import typing
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic.warnings import ArbitraryTypeWarning
from pydantic_core import SchemaError

from toolshape._function import docstrings
from toolshape._function.annotations import description_of, is_context, unpack_type
from toolshape._function.arguments import FreshDefault, schema_name_of
from toolshape._function.core_schema.constraints import find_unusable, require_fitting_constraints
from toolshape._function.core_schema.nodes import core_nodes
from toolshape._function.core_schema.sharing import share_repeated
from toolshape._function.core_schema.widen import prepare
from toolshape._function.invoke import Layout
from toolshape._function.json_schema import generate
from toolshape._function.signature import (
    EMPTY,
    POSITIONAL_ONLY,
    POSITIONAL_OR_KEYWORD,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Kind,
    NameNotDefinedError,
    Signature,
)
from toolshape._records.calls import PLAIN_TEXT, Finding, JsonSchema
from toolshape._records.errors import DefinitionError, Problem, nearest


class FunctionDefinition(NamedTuple):
    """A function that is ready to be a tool: its signature, pydantic
    model, JSON Schema and call layout.

    ``reserved`` holds the names that a call may not use as keys of ``**kwargs``.
    """

    signature: Signature
    kind: Kind
    model: type[BaseModel]
    schema: JsonSchema
    layout: Layout
    reserved: frozenset[str]
    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """The tool's name: the function's name, or the name that the author chose."""
        return self.signature.name

    @property
    def description(self) -> str:
        """The docstring's summary, its body, and its sections for the caller."""
        return self.signature.doc.for_caller

    @property
    def location(self) -> str:
        """The place where the function is defined, as ``file:line``."""
        return self.signature.location


def define_model(signature: Signature) -> FunctionDefinition:
    """Build the pydantic model of a function's arguments.

    Raises:
        DefinitionError: A parameter has no JSON Schema, or two parameters share a name. The error
            lists all problems.
        NameNotDefinedError: A class in a parameter's annotation uses a name that is not defined
            yet.
    """
    fields, layout = _fields(signature)
    base = _base_model(signature)
    if signature.problems:
        problems = [*signature.problems, *_find_problems(signature, base, fields)]
        raise DefinitionError(tool=signature.name, location=signature.location, problems=problems)
    try:
        model, schema, schema_findings = _create_model(signature, base, fields)
    except (NameError, PydanticUndefinedAnnotation) as error:
        raise NameNotDefinedError(
            str(error).partition("\n")[0], tool=signature.name, location=signature.location
        ) from error
    except (
        Exception
    ) as error:  # pydantic and the hooks of users' types may raise anything, such as a TypeError
        general_problem = Problem(path="", rule="no_schema", message=_first_line(error))
        problems = _find_problems(signature, base, fields) or [general_problem]
        raise DefinitionError(
            tool=signature.name, location=signature.location, problems=problems
        ) from error
    names = [schema_name_of(name, info) for name, info in model.model_fields.items()]
    if taken_names := sorted(name for name, count in Counter(names).items() if count > 1):
        problems = [
            Problem(path=name, rule="name_taken", message="two parameters have this name")
            for name in taken_names
        ]
        raise DefinitionError(tool=signature.name, location=signature.location, problems=problems)
    prepare(model)
    return FunctionDefinition(
        signature=signature,
        kind=signature.kind,
        model=model,
        schema=schema,
        layout=layout,
        reserved=frozenset({*signature.names, PLAIN_TEXT}) if layout.takes_extra else frozenset(),
        findings=_findings(signature, schema_findings),
    )


class _Field(NamedTuple):
    """A parameter of the function, or a key of its ``**kwargs: Unpack[...]``."""

    name: str
    annotation: Any
    default: Any
    role: Literal["positional", "keyword", "omittable", "var_positional"]
    injected: bool = False


def _slots(signature: Signature) -> Iterator[_Field]:
    # If the function has *args, the parameters before *args must be passed by position.
    has_var_positional = any(parameter.kind is VAR_POSITIONAL for parameter in signature.parameters)
    by_position = (
        (POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD) if has_var_positional else (POSITIONAL_ONLY,)
    )
    for parameter in signature.parameters:
        unpacked_type = unpack_type(parameter.annotation)
        if parameter.kind is VAR_KEYWORD:
            for key, (annotation, required) in (
                _keys_of(unpacked_type).items() if unpacked_type is not None else ()
            ):
                # The author gave no default, so the schema has none.
                absent_default = Field(default_factory=_nothing)
                if required:
                    yield _Field(key, annotation, EMPTY, "keyword")
                else:
                    yield _Field(key, annotation, absent_default, "omittable")
        elif parameter.kind is VAR_POSITIONAL:
            annotation = (
                _subscript(list, parameter.annotation) if unpacked_type is None else unpacked_type
            )
            default: Any = Field(default_factory=list) if unpacked_type is None else EMPTY
            yield _Field(parameter.name, annotation, default, "var_positional")
        else:
            role: Literal["positional", "keyword"] = (
                "positional" if parameter.kind in by_position else "keyword"
            )
            yield _Field(
                parameter.name, parameter.annotation, parameter.default, role, parameter.injected
            )


def _nothing() -> None:
    return None


def _fields(signature: Signature) -> tuple[dict[str, Any], Layout]:
    """Return the fields for ``create_model`` and the layout of the call."""
    fields: dict[str, Any] = {}
    slots_with_fields: list[tuple[_Field, str | None]] = [
        (slot, None if slot.injected else _add_field(fields, slot, signature.doc))
        for slot in _slots(signature)
    ]
    layout = Layout(
        positional=tuple(
            (slot.name, field) for slot, field in slots_with_fields if slot.role == "positional"
        ),
        var_positional=next(
            (field for slot, field in slots_with_fields if slot.role == "var_positional"), None
        ),
        keywords=tuple(
            (slot.name, field)
            for slot, field in slots_with_fields
            if slot.role in ("keyword", "omittable")
        ),
        omittable=frozenset(
            str(field) for slot, field in slots_with_fields if slot.role == "omittable"
        ),
        takes_extra=_kwargs_type(signature) is not EMPTY,
        injected={slot.name: slot.default for slot, _ in slots_with_fields if slot.injected},
        contexts=frozenset(
            parameter.name for parameter in signature.parameters if is_context(parameter.annotation)
        ),
    )
    return fields, layout


def _kwargs_type(signature: Signature) -> Any:
    """Return ``T`` of ``**kwargs: T``, or ``EMPTY`` if there is no ``**kwargs``
    or its type is ``Unpack[...]``.
    """
    kwargs = [
        parameter.annotation for parameter in signature.parameters if parameter.kind is VAR_KEYWORD
    ]
    if kwargs and unpack_type(kwargs[0]) is None:
        return kwargs[0]
    return EMPTY


def _add_field(fields: dict[str, Any], slot: _Field, doc: docstrings.Doc) -> str:
    """Add a field for a parameter, under a name that pydantic accepts, and return that name."""
    name, annotation, default = slot.name, slot.annotation, slot.default
    attributes: dict[str, Any] = {}
    description = description_of(annotation, default)
    if not isinstance(description, str) and name in doc.parameters:
        annotation, description = _add_choices(annotation, doc.parameters[name])
    if isinstance(description, str):
        attributes["description"] = description
    field = name
    if field.startswith("_"):
        field = field.strip("_") or "field"
    while field in fields or hasattr(BaseModel, field):
        field += "_"
    infos = [
        info
        for info in (default, *getattr(annotation, "__metadata__", ()))
        if isinstance(info, FieldInfo)
    ]
    aliases = [
        alias
        for info in infos
        for alias in (info.alias, info.validation_alias)
        if alias is not None
    ]
    if field != name and not aliases:
        attributes["alias"] = name
    if isinstance(default, FieldInfo):
        attributes = {
            key: value for key, value in attributes.items() if getattr(default, key) is None
        }
    # Keep the author's settings.
    if isinstance(default, FieldInfo) or hasattr(annotation, "__metadata__"):
        annotation = Annotated[annotation, Field(**attributes)] if attributes else annotation
        attributes = {}
    fields[field] = (
        annotation,
        default if isinstance(default, FieldInfo) else _make_field(default, attributes),
    )
    return field


def _add_choices(annotation: Any, text: str) -> tuple[Any, str]:
    """Turn the choices in a parameter's description into a ``Literal``; return both
    the type and the remaining text.

    Hugging Face writes choices as ``(choices: ["a", "b"])``. Like this function, its module
    ``transformers.utils.chat_template_utils`` reads them as JSON at the end of the description
    (5.23.0, 2026-11-23).
    """
    match = re.search(r"\(choices:\s*(\[.*\])\s*\)\s*$", text, re.DOTALL | re.IGNORECASE)
    try:
        choices = json.loads(match[1]) if match else None
    except ValueError:
        choices = None
    inner = [argument for argument in typing.get_args(annotation) if argument is not type(None)]
    is_optional = (
        typing.get_origin(annotation) in (typing.Union, types.UnionType) and len(inner) == 1
    )
    kind = inner[0] if is_optional else annotation
    if not choices or match is None or kind not in (str, int, Any):
        return annotation, text
    if any(
        type(choice) not in (str, int) if kind is Any else type(choice) is not kind
        for choice in choices
    ):
        return annotation, text
    literal = _subscript(Literal, tuple(choices))
    return literal | None if is_optional else literal, text[: match.start()].rstrip()


def _make_field(default: Any, attributes: Mapping[str, Any]) -> Any:
    if default is EMPTY:
        return Field(**attributes)
    try:
        hash(default)
        has_hash = default is not ...
    except Exception:  # a user's __hash__ may raise anything
        has_hash = False
    if has_hash:
        return Field(default, **attributes)
    return Field(default_factory=FreshDefault(default), **attributes)


def _keys_of(typed_dict: Any) -> dict[str, tuple[Any, bool]]:
    origin: Any = typing.get_origin(typed_dict) or typed_dict
    type_arguments = dict(
        zip(getattr(origin, "__parameters__", ()), typing.get_args(typed_dict), strict=False)
    )
    hints = typing.get_type_hints(origin, include_extras=True)
    keys: dict[str, tuple[Any, bool]] = {}
    for key, hint in hints.items():
        bare_hint, is_required = _strip_qualifiers(hint)
        keys[key] = (
            _fill_parameters(bare_hint, type_arguments),
            key in origin.__required_keys__ if is_required is None else is_required,
        )
    return keys


def _fill_parameters(hint: Any, given: Mapping[Any, Any]) -> Any:
    """Replace the type parameters in a generic class's annotation with the given types."""
    if hint in given:
        return given[hint]
    parameters = [
        parameter for parameter in getattr(hint, "__parameters__", ()) if parameter in given
    ]
    if parameters:
        return _subscript(hint, tuple(given[parameter] for parameter in parameters))
    return hint


def _strip_qualifiers(hint: Any) -> tuple[Any, bool | None]:
    """Return the annotation of a TypedDict's key without qualifiers, and whether a
    qualifier makes the key required.

    With postponed annotations, ``__required_keys__`` ignores the qualifiers: they were strings when
    the class was made.
    """
    is_required: bool | None = None
    metadata: tuple[Any, ...] = ()
    while True:
        name = getattr(typing.get_origin(hint), "_name", None)
        if name in ("Required", "NotRequired"):
            is_required = name == "Required"
        elif typing.get_origin(hint) is Annotated:
            metadata = (*hint.__metadata__, *metadata)
        elif name != "ReadOnly":
            break
        hint = typing.get_args(hint)[0]
    return _subscript(Annotated, (hint, *metadata)) if metadata else hint, is_required


def _base_model(signature: Signature) -> type[BaseModel]:
    values = _kwargs_type(signature)
    if values is EMPTY:
        return _closed_base()
    annotations = {"__pydantic_extra__": _subscript(dict, (str, values))}
    namespace = {
        "__annotations__": annotations,
        "__module__": signature.module,
        "model_config": _OPEN,
    }
    return types.new_class("Arguments", (BaseModel,), {}, lambda body: body.update(namespace))


def _subscript(origin: Any, arguments: Any) -> Any:
    return origin[arguments]


# These settings let pydantic accept types without a schema. JSON Schema generation then reports the
# place of each such type.
_CLOSED = ConfigDict(extra="forbid", arbitrary_types_allowed=True, protected_namespaces=())
_OPEN = ConfigDict(extra="allow", arbitrary_types_allowed=True, protected_namespaces=())


@functools.cache
def _closed_base() -> type[BaseModel]:
    # Built with the first tool, not at import: the first pydantic model in a process loads
    # pydantic's plugins.
    return create_model("Arguments", __config__=_CLOSED, __module__=__name__)


_WARNING_FILTERS_LOCK = threading.Lock()  # all threads share the warning filters


def _create_model(
    signature: Signature, base: type[BaseModel], fields: Mapping[str, Any]
) -> tuple[type[BaseModel], JsonSchema, list[Finding]]:
    with _WARNING_FILTERS_LOCK, warnings.catch_warnings():
        # For an annotation that is not a type, pydantic only warns and accepts any value: make the
        # warning an error.
        warnings.simplefilter("error", ArbitraryTypeWarning)
        # The class's own closed= or extra_items= applies.
        warnings.filterwarnings("ignore", "TypedDict class")
        model: type[BaseModel] = create_model(
            signature.name, __base__=base, __module__=signature.module, **fields
        )
        if not model.__pydantic_complete__:
            model.model_rebuild()
    nodes = list(core_nodes(model.__pydantic_core_schema__))
    core: Any = share_repeated(model.__pydantic_core_schema__, nodes)
    untyped_model: Any = model
    untyped_model.__pydantic_core_schema__ = core
    require_fitting_constraints(nodes)
    schema, schema_findings = generate(core, "validation")
    schema_findings += [
        Finding(path="", rule="unusable", message=message) for message in find_unusable(core, nodes)
    ]
    schema.pop("title", None)
    return model, schema, schema_findings


def _find_problems(
    signature: Signature, base: type[BaseModel], fields: Mapping[str, Any]
) -> list[Problem]:
    problems = []
    for field, definition in fields.items():
        try:
            _create_model(signature, base, {field: definition})
        except Exception as error:
            way_out = "use a type that JSON Schema can describe, or mark it Injected[...]"
            message = f"{_first_line(error)}; {way_out}"
            if any(map(_is_of_wrapper, (definition[0], *typing.get_args(definition[0])))):
                message = _OF_WRAPPER
            infos = [
                info
                for info in (*getattr(definition[0], "__metadata__", ()), definition[1])
                if info.__class__ is FieldInfo
            ]
            alias = next((info.alias for info in infos if info.alias), None)
            problems.append(Problem(path=alias or field, rule="no_schema", message=message))
    return problems


_OF_WRAPPER = (
    "these are the parameters of another function, which the wrapper does not name: "
    "write @functools.wraps(function) above the wrapper"
)


def _is_of_wrapper(annotation: Any) -> bool:
    return isinstance(annotation, (typing.ParamSpecArgs, typing.ParamSpecKwargs))


def _first_line(error: Exception) -> str:
    """Return the first line of an error, without the names of pydantic's internals."""
    line = f"{type(error).__name__}: {error}".split("\n")[0]
    if match := re.match(
        r"PydanticInvalidForJsonSchema: .*core_schema\.(\w+)(?: \(<class '(.+?)'>\))?", line
    ):
        if match[2]:
            kind = match[2].rpartition(".")[2]
        else:
            kind = match[1].removesuffix("Schema").lower()
        return f"JSON Schema has no form for {kind}"
    # The reason is the innermost; the lines around it name pydantic's own nodes.
    if isinstance(error, SchemaError):
        reason = str(error).rpartition("SchemaError: ")[2].split("\n")
        return " ".join(part.strip() for part in reason if part.strip(" ^"))
    return line


def _find_misspelt_parameters(signature: Signature) -> Iterator[Finding]:
    """Yield a finding for each documented parameter that the function lacks; log
    the name that was probably meant.
    """
    undescribed = [
        parameter.name
        for parameter in signature.parameters
        if parameter.name not in signature.doc.parameters
    ]
    for name in signature.doc.parameters:
        if name in signature.names:
            continue
        message = "documented, but there is no such parameter"
        if closest_name := nearest(name, undescribed):
            import logging  # noqa: PLC0415 - only a misspelt name needs logging

            message += f": did you mean {closest_name!r}? Its description is lost"
            logging.getLogger("toolshape").warning(
                "%s (%s): %r is %s", signature.name, signature.location, name, message
            )
        yield Finding(path=name, rule="documented_but_absent", message=message)


def _findings(signature: Signature, not_said: list[Finding]) -> tuple[Finding, ...]:
    findings = [
        Finding(
            path=parameter.name,
            rule="unannotated",
            message="no annotation: any JSON value is accepted",
        )
        for parameter in signature.parameters
        if not parameter.annotated and parameter.kind is not VAR_KEYWORD
    ]
    if not signature.doc.description:
        findings.append(
            Finding(
                path="",
                rule="undescribed",
                message="no description: a model must guess what the tool does",
            )
        )
    if not any(parameter.kind is VAR_KEYWORD for parameter in signature.parameters):
        findings.extend(_find_misspelt_parameters(signature))
    findings.extend(
        Finding(
            path="",
            rule="section_left_out",
            message=f"the docstring's section {title!r} is not sent to a model",
        )
        for title in signature.doc.left_out
    )
    findings.extend(not_said)
    return tuple(findings)

"""The immutable record behind an ``Output``: its type's model, and the schema of answers."""

import functools
import hashlib
import inspect
import json
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, Protocol, get_args, get_origin

from pydantic import BaseModel

from toolshape._answers.answer import ANSWER_FIELD
from toolshape._answers.export import OutputSpec
from toolshape._function import docstrings
from toolshape._function.arguments import ParameterForm, write_arguments, write_exact_arguments
from toolshape._function.model import FunctionDefinition, define_model
from toolshape._function.secret_types import has_secret_types
from toolshape._function.signature import EMPTY, NameNotDefinedError, Parameter, Signature
from toolshape._records.calls import JsonSchema, Strictness
from toolshape._records.errors import DefinitionError, Problem
from toolshape._records.identity import OutputRef, canonical_json
from toolshape._schema.keywords import BY_NAME, HOLDS_SCHEMAS
from toolshape._schema.references import prune, resolver
from toolshape._schema.secrets import Secrets
from toolshape._validation.coercion import choose_rules

NOT_OF_OUTPUTS = frozenset({"empty_as_no_arguments"})
"""The coercion rules for whole argument objects; these rules do not apply to answers."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OutputRecord:
    """The data behind an ``Output``.

    ``definition`` describes a function whose only argument is the answer; its pydantic model
    validates answers. ``spec`` holds the schema that the LLM's output must fit. If ``is_wrapped``
    is true, this schema describes an object whose only field holds the answer; otherwise, it
    describes the answer itself. ``rules`` holds the coercion rules that are switched on.
    """

    kind: Any
    spec: OutputSpec
    definition: FunctionDefinition
    is_wrapped: bool
    strict: Strictness
    coerce: Mapping[str, bool] | bool | None
    rules: frozenset[str]

    @property
    def name(self) -> str:
        """The name of the answer."""
        return self.spec.name

    @property
    def options(self) -> tuple[Any, str, str, Strictness, Mapping[str, bool] | bool | None]:
        """The arguments for ``record_output`` that rebuild this record, in this or another
        process.
        """
        return self.kind, self.spec.name, self.spec.description, self.strict, self.coerce

    @functools.cached_property
    def ref(self) -> OutputRef:
        """What identifies this output in another process: its name, and what an answer must be.

        The fingerprint covers the modules and names of the classes, and the schema with the order
        of its branches. Titles and descriptions do not count.
        """
        identity = [*_class_names(self.kind)], _without_words(self.spec.schema)
        return OutputRef(
            self.name, hashlib.sha256(canonical_json(identity).encode()).hexdigest()[:16]
        )

    @property
    def has_secrets(self) -> bool:
        """Whether an answer may hold a secret: the schema marks one, or the type
        has a type for secrets anywhere.
        """
        return self.secrets.are_there

    @functools.cached_property
    def secrets(self) -> Secrets:
        """The places in an answer that may hold a secret."""
        return Secrets(self.spec.schema, hides_all=has_secret_types(self.definition.model))

    @functools.cached_property
    def key(self) -> Any:
        """A key that tells the type from others in this process; see ``type_key``."""
        return type_key(self.kind)

    def written(self, value: Any, *, is_sparse: bool) -> Any:
        """Return a valid answer as JSON that the same output accepts; ``is_sparse``
        leaves out what was not given.
        """
        form = ParameterForm(reveals=True, is_sparse=is_sparse)
        return write_arguments(self._as_model(value), frozenset(), form)[ANSWER_FIELD]

    def exact_digest(self, value: Any) -> str:
        """Return a digest that differs whenever valid answers differ, other than by what
        was given and what is a default.

        Raises:
            TypeError: The answer cannot be written as JSON.
        """
        exact = write_exact_arguments(self._as_model(value), frozenset(), as_equal=True)
        return hashlib.sha256(canonical_json(exact).encode()).hexdigest()

    def validated(self, written: Any) -> Any:
        """Validate an answer that ``written`` returned.

        Raises:
            ValueError: The type does not accept the answer.
        """
        text = json.dumps({ANSWER_FIELD: written})
        return getattr(self.definition.model.model_validate_json(text), ANSWER_FIELD)

    def _as_model(self, value: Any) -> BaseModel:
        return self.definition.model.model_construct(**{ANSWER_FIELD: value})


def type_key(kind: Any) -> Any:
    """Return a key that is equal only for types with the same parts in the same order.

    Types compare without it: ``A | B`` equals ``B | A``, and ``Literal[1]`` equals
    ``Literal[True]``. A part that has no parts of its own counts by its identity, so whoever keeps
    the key must keep the type.
    """
    origin = get_origin(kind)
    if origin is None:
        if isinstance(kind, list):  # the parameters of a Callable
            return tuple(map(type_key, kind))
        if kind is None:
            return kind
        return id(kind)
    if origin is Literal:
        return "Literal", *[(type(value), value) for value in get_args(kind)]
    return id(origin), *map(type_key, get_args(kind))


def _class_names(kind: Any) -> Iterator[str]:
    """Yield the names of the classes in a type, in their order, with their
    modules; and the values of literals.
    """
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        yield from (f"{type(value).__name__} {value!r}" for value in parts)
    elif parts:
        for part in parts:
            yield from _class_names(part)
    elif isinstance(kind, type):
        yield f"{kind.__module__}.{kind.__qualname__}"


def _without_words(node: Any) -> Any:
    """Return a schema without titles and descriptions."""
    if not isinstance(node, dict):
        if isinstance(node, list):
            return [*map(_without_words, node)]
        return node
    kept = {}
    for keyword, value in node.items():
        if keyword in BY_NAME and isinstance(value, dict):
            kept[keyword] = {name: _without_words(inner) for name, inner in value.items()}
        elif keyword not in ("title", "description"):
            kept[keyword] = _without_words(value) if keyword in HOLDS_SCHEMAS else value
    return kept


class Recorded(Protocol):
    """What an ``Output`` is, for the modules below it: whatever has such a record."""

    @property
    def _record(self) -> OutputRecord: ...


record_of_output: Callable[[Recorded], OutputRecord] = attrgetter("_record")
"""Returns the record of an ``Output``, for the modules that export outputs and read answers."""


def record_output(
    kind: Any,
    name: str | None,
    description: str | None,
    strict: Strictness,
    coerce: Mapping[str, bool] | bool | None,
    frame: types.FrameType | None = None,
) -> OutputRecord:
    """Build the record of an output from a type and its options.

    Raises:
        DefinitionError: The type has no JSON Schema, or an option is invalid.
    """
    output_name = name if isinstance(name, str) and name else _name_of(kind)
    location = "an output" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
    try:
        rules = choose_rules(coerce) - NOT_OF_OUTPUTS
    except ValueError as error:
        problem = Problem(path="coerce", rule="option", message=str(error))
        raise DefinitionError(
            tool=output_name, location=location, problems=[problem], kind="an output"
        ) from error
    problems = _find_problems(name, description, strict)
    # Pydantic would generate a schema of a function's parameters.
    if isinstance(kind, functools.partial) or inspect.isroutine(kind):
        problems.append(
            Problem(
                path="",
                rule="no_schema",
                message=f"must be a type, not function {getattr(kind, '__name__', str(kind))!r}",
            )
        )
    if isinstance(kind, (dict, list, set, bytes, bool, int, float)):
        message = (
            "must be a type, such as a pydantic model or list[str], not a value of type "
            f"{type(kind).__name__}"
        )
        problems.append(Problem(path="", rule="no_schema", message=message))
    if problems:
        raise DefinitionError(
            tool=output_name, location=location, problems=problems, kind="an output"
        )
    definition = _define_model(kind, output_name, location)
    full_schema = definition.schema
    root = resolver(full_schema)(full_schema["properties"][ANSWER_FIELD])
    is_wrapped = not _is_object(root)
    schema = full_schema
    if not is_wrapped:
        definitions = {"$defs": full_schema["$defs"]} if "$defs" in full_schema else {}
        schema = prune({**root, **definitions})
    full_description = str(root.get("description", "")) if description is None else description
    return OutputRecord(
        kind=kind,
        spec=OutputSpec(output_name, full_description, schema),
        definition=definition,
        is_wrapped=is_wrapped,
        strict=strict,
        coerce=coerce,
        rules=rules,
    )


def _find_problems(name: Any, description: Any, strict: Any) -> list[Problem]:
    checks = {
        "name": (
            name is None or (isinstance(name, str) and bool(name)),
            f"must be a non-empty string, not {name!r}",
        ),
        "description": (
            description is None or isinstance(description, str),
            f"must be a string, not {description!r}",
        ),
        "strict": (
            strict is True or strict is False or strict == "auto",
            f'must be True, False or "auto", not {strict!r}',
        ),
    }
    return [
        Problem(path=path, rule="option", message=message)
        for path, (is_valid, message) in checks.items()
        if not is_valid
    ]


def _name_of(kind: Any) -> str:
    """Return the name of a class without its type parameters, or ``answer``
    for a built-in or any other type.
    """
    is_class = (
        inspect.isclass(kind) and kind.__module__ != "builtins" and not hasattr(kind, "__args__")
    )
    if is_class:
        return re.sub(r"\[.*", "", kind.__name__)
    return "answer"


def _is_object(root: JsonSchema) -> bool:
    """Whether every provider accepts this schema as the root: an object with declared fields."""
    return root.get("type") == "object" and (
        "properties" in root or root.get("additionalProperties") is False
    )


def _define_model(kind: Any, name: str, location: str) -> FunctionDefinition:
    """Build the pydantic model for a function whose only argument is the answer.

    Raises:
        DefinitionError: The type has no JSON Schema, or a name in it is not defined.
    """
    answer = Parameter(
        ANSWER_FIELD,
        inspect.Parameter.KEYWORD_ONLY,
        kind,
        annotated=True,
        default=EMPTY,
        injected=False,
    )
    signature = Signature(
        name=name,
        location=location,
        module=__name__,
        kind="function",
        doc=docstrings.Doc(),
        parameters=(answer,),
        names=frozenset({ANSWER_FIELD}),
        returns=lambda: None,
        problems=(),
    )
    try:
        definition = define_model(signature)
    except NameNotDefinedError as error:
        problem = Problem(path="", rule="name_not_defined", message=str(error))
        raise DefinitionError(
            tool=name, location=location, problems=[problem], kind="an output"
        ) from error
    except DefinitionError as error:
        output_problems = [
            problem._replace(
                path="", message=problem.message.replace(", or mark it Injected[...]", "")
            )
            for problem in error.problems
        ]
        raise DefinitionError(
            tool=name, location=location, problems=output_problems, kind="an output"
        ) from error.__cause__
    if "properties" not in definition.schema:  # the schema is a reference to the arguments model
        problem = Problem(
            path="", rule="no_schema", message="Self has no meaning here: write the class"
        )
        raise DefinitionError(tool=name, location=location, problems=[problem], kind="an output")
    if ANSWER_FIELD not in definition.schema["properties"]:
        problem = Problem(
            path="", rule="option", message="an answer has no field name: leave out alias="
        )
        raise DefinitionError(tool=name, location=location, problems=[problem], kind="an output")
    return definition

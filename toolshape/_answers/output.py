"""The type that a model's answer must have, for any provider."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from toolshape._answers.answer import ANSWER_FIELD
from toolshape._answers.bound_output import BoundOutput, bind_output
from toolshape._answers.record import record_of_output, record_output
from toolshape._function.annotations import calling_frame
from toolshape._records.calls import Finding, JsonSchema, Strictness
from toolshape._schema.references import prune
from toolshape._schema.values import copy_json

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from toolshape._families.wire.provider import AnyProvider

T = TypeVar("T", covariant=True)  # noqa: PLC0105 - users see this name in their editor
S = TypeVar("S")


class Output(Generic[T]):
    """A type for a model's answer: a pydantic model, dataclass, TypedDict,
    union, list, Literal, ``int``, ...

    Args:
        kind: The type.
        name: The name of the answer, in requests and in messages to the model about mistakes. The
            default is the name of the class, or ``"answer"`` for any other type.
        description: The description of the answer, for the model. The default is the docstring of
            the class.
        strict: Whether providers must constrain the answer to the schema. ``"auto"`` means yes,
            unless the strict form excludes valid values.
        coerce: Coercion rules to switch on or off, by name; ``False`` switches all rules off.

    Raises:
        DefinitionError: The type has no JSON Schema, or an option is invalid.
    """

    __module__ = "toolshape"

    __slots__ = ("_bounds", "_record")

    @overload
    def __init__(
        self: "Output[S]",
        kind: type[S],
        *,
        name: str | None = None,
        description: str | None = None,
        strict: Strictness = "auto",
        coerce: Mapping[str, bool] | bool | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: "Output[S]",
        kind: "TypeForm[S]",
        *,
        name: str | None = None,
        description: str | None = None,
        strict: Strictness = "auto",
        coerce: Mapping[str, bool] | bool | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: "Output[Any]",
        kind: Any,
        *,
        name: str | None = None,
        description: str | None = None,
        strict: Strictness = "auto",
        coerce: Mapping[str, bool] | bool | None = None,
    ) -> None: ...
    def __init__(
        self,
        kind: Any,
        *,
        name: str | None = None,
        description: str | None = None,
        strict: Strictness = "auto",
        coerce: Mapping[str, bool] | bool | None = None,
    ) -> None:
        self._record = record_output(kind, name, description, strict, coerce, calling_frame())
        self._bounds: dict[tuple[str, str], BoundOutput[Any]] = {}

    def __repr__(self) -> str:
        return f"<output {self.name}>"

    def __copy__(self) -> "Output[T]":
        return self

    def __deepcopy__(self, memo: Any) -> "Output[T]":
        return self

    def __reduce__(self) -> Any:
        return _unpickle, self._record.options

    @property
    def name(self) -> str:
        """The name of the answer."""
        return self._record.spec.name

    @property
    def description(self) -> str:
        """The description that models read for the answer as a whole."""
        return self._record.spec.description

    @property
    def schema(self) -> JsonSchema:
        """The canonical JSON Schema (2020-12) of the type, as a copy."""
        schema = self._record.spec.schema
        if self._record.is_wrapped:
            schema = prune({"$defs": schema.get("$defs", {}), **schema["properties"][ANSWER_FIELD]})
        return copy_json(schema)  # type: ignore[no-any-return]

    def bind(self, provider: "AnyProvider", strict: Strictness | None = None) -> "BoundOutput[T]":
        """Return this output in a provider's form; the first call for a provider compiles it.

        Args:
            provider: The provider.
            strict: Whether the provider must constrain the answer; the default is the output's own
                ``strict``.

        Raises:
            ExportError: The provider does not accept the schema, or has no strict form.
        """
        if strict is None:
            strictness = self._record.strict
        else:
            strictness = strict
        key = (str(getattr(provider, "name", provider)), str(strictness))
        bound = self._bounds.get(key)
        if bound is None or (bound.provider is not provider and not isinstance(provider, str)):
            bound = self._bounds[key] = bind_output(self._record, provider, strictness)
        return bound


def findings_of(output: Output[Any]) -> tuple[Finding, ...]:
    """Return the findings about an output's type, without ``undescribed``:
    an answer needs no description.
    """
    return tuple(
        finding
        for finding in record_of_output(output).definition.findings
        if finding.rule != "undescribed"
    )


def _unpickle(
    kind: Any,
    name: str,
    description: str,
    strict: Strictness,
    coerce: Mapping[str, bool] | bool | None,
) -> Output[Any]:
    return Output(kind, name=name, description=description, strict=strict, coerce=coerce)

"""The record of a tool that was defined elsewhere; ``build`` creates it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from toolshape._function.invoke import Invoke, Layout
from toolshape._function.result_form import ResultForm
from toolshape._function.signature import Kind
from toolshape._records.calls import Effect, Finding, JsonObject, JsonSchema, Verbatim

if TYPE_CHECKING:  # it would load the walks of schemas with every import of toolshape
    from toolshape._tools.definition.bundle import Documents
    from toolshape._validation.pattern_search import Searches

Choose: TypeAlias = Callable[[str], "Callable[..., Any] | None"]
"""Takes the name in a tool's definition; returns the function that answers
the tool's calls, or ``None``.
"""


class ReadOptions(NamedTuple):
    """How a definition is read.

    ``documents`` are what it refers to outside of itself. ``closed`` says that no object of the
    arguments has further fields, although the schema does not say so; the sent schema may then say
    it. ``defaults`` says whether the schema's defaults are filled in; ``None`` means that they are
    if the tool has a function.
    """

    documents: "Documents | None" = None
    closed: bool = False
    defaults: Literal["fill", "leave"] | None = None


class SchemaDefinition(NamedTuple):
    """A tool that was defined elsewhere, with the function that answers its calls, if there is one.

    It has the attributes of ``FunctionDefinition`` (for decorated functions), except the pydantic
    model. ``known`` holds the names that the function accepts (``None``: any name). ``never`` holds
    the names that the LLM must not set. ``switched`` holds the coercion rules that the function's
    parameters switch on or off, ``searches`` the compiled patterns. ``fill`` returns arguments with
    the defaults filled in; ``None`` if nothing is.
    """

    name: str
    title: str | None
    description: str
    location: str
    kind: Kind
    schema: JsonSchema
    output: ResultForm
    layout: Layout
    invoke: Invoke
    known: frozenset[str] | None
    never: frozenset[str]
    switched: Mapping[str, Mapping[str, bool]]
    searches: "Searches"
    read_options: ReadOptions
    fill: Callable[[Any], Any] | None
    findings: tuple[Finding, ...]
    entry: JsonObject
    is_strict: bool | None
    effects: frozenset[Effect]
    examples: tuple[JsonObject, ...]
    keys: Mapping[str, JsonObject]
    verbatim: Verbatim | None

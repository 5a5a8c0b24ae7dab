"""Detects the provider's format of a tool definition, and takes out its parts."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from toolshape._families.wire.bodies import to_plain_json
from toolshape._records.calls import Effect, Finding, JsonObject, JsonSchema
from toolshape._records.errors import Problem
from toolshape._schema.values import copy_json
from toolshape._tools.definition.normalise import NO_SCHEMA, SCHEMA_WORDS, SchemaReader, as_object

if TYPE_CHECKING:
    from toolshape._tools.definition.bundle import Documents


class ForeignError(Exception):
    """A definition cannot be read; ``problems`` holds the reasons."""

    def __init__(self, name: str, *problems: Problem) -> None:
        self.name = name
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


class Foreign(NamedTuple):
    """The parts of a tool definition.

    ``form`` names the provider that defined the format. ``entry`` is the whole definition as
    written; ``entry_name`` and ``schema`` are the entry's name and parameters. ``keys`` holds the
    remaining keys, which only this provider understands.
    """

    form: str
    entry: JsonObject
    entry_name: str | None
    name: str
    title: str | None
    description: str
    schema: Any
    parameters: JsonSchema
    output: JsonSchema | None
    is_strict: bool | None
    effects: frozenset[Effect]
    examples: tuple[JsonObject, ...]
    keys: JsonObject
    findings: tuple[Finding, ...]


_LISTS = ("tools", "functions", "functionDeclarations", "function_declarations")
_WRAPPERS = ("config", "toolConfig")
"""The keys of a Gemini or Bedrock request that hold its tools."""
_INNER = ("function", "toolSpec")
"""The keys of an entry that hold the definition itself."""


class Outline(NamedTuple):
    """What a definition says before its schema is read.

    ``entry`` is the whole definition as written, and a copy; ``inner`` is the part of it that holds
    the name and the ``schema``.
    """

    form: "_DefinitionForm"
    entry: JsonObject
    inner: JsonObject
    name: str
    schema: Any

    @property
    def key(self) -> str:
        """The name in the definition, by which its function is found;
        the tool's own if it has none.
        """
        written = self.inner.get("name")
        if isinstance(written, str) and written:
            return written
        return self.name


def entries(given: Any) -> Iterator[Any]:
    """Yield every definition in a list, a request or a nested list of tools;
    yield a single definition itself.

    What is no definition is yielded as it is: ``outline`` says why.

    Raises:
        ForeignError: The whole cannot be read as JSON.
    """
    yield from _entries_in(_parse_json(given))


def _entries_in(given: Any) -> Iterator[Any]:
    """Yield every definition in JSON data, in which a definition may also stand as JSON text."""
    if isinstance(given, list):
        for item in given:
            yield from _entries_in(_json_or_text(item))
        return
    if not isinstance(given, dict):
        yield given
        return
    for wrapper in _WRAPPERS:
        if isinstance(given.get(wrapper), dict) and not any(
            isinstance(given.get(key), list) for key in _LISTS
        ):
            yield from _entries_in(given[wrapper])
            return
    holder = next((key for key in _LISTS if isinstance(given.get(key), list)), None)
    if holder is not None:
        yield from _entries_in(given[holder])
    elif "cachePoint" not in given:
        yield given


def tool_names_in(request: Any) -> list[str]:
    """Return the names of the tools in a request, in order; the name of an
    unnamed tool is an empty string.

    If ``request`` is not a request, the list is empty.
    """
    if not isinstance(request, dict):
        return []
    tools = next(
        (
            listed_tools
            for holder in (request, *map(request.get, _WRAPPERS))
            if (listed_tools := _list_in(holder))
        ),
        [],
    )
    listed_entries = [
        entry for tool in tools if isinstance(tool, dict) for entry in _list_in(tool) or [tool]
    ]
    definitions = [
        next((entry[key] for key in _INNER if entry.get(key)), entry)
        if isinstance(entry, dict)
        else entry
        for entry in listed_entries
    ]
    return [
        str(definition.get("name", "")) if isinstance(definition, dict) else ""
        for definition in definitions
    ]


def _list_in(holder: Any) -> list[Any]:
    """Return the list of definitions that a request, or one of its tools, holds."""
    container = holder if isinstance(holder, dict) else {}
    return next((container[key] for key in _LISTS if isinstance(container.get(key), list)), [])


def _json_or_text(item: Any) -> Any:
    """Return what a text in a list says as JSON; a text that is no JSON is returned as it is."""
    if not isinstance(item, (str, bytes)):
        return item
    try:
        return json.loads(item)
    except ValueError:
        return item


def _parse_json(given: Any) -> Any:
    if not isinstance(given, (str, bytes)):
        _require_few_values(given)
        return to_plain_json(given)
    try:
        return json.loads(given)
    except ValueError as error:
        problem = Problem(path="", rule="json", message=f"the definition is not JSON: {error}")
        raise ForeignError("a definition", problem) from error


_MOST_VALUES = 1_000_000


def _require_few_values(given: Any) -> None:
    """Refuse what would be endless as JSON: a dict of Python may hold
    the same object at many places.

    Raises:
        ForeignError: There are too many values.
    """
    pending: list[Any] = [[given]]
    count = 1
    while pending:
        value = pending.pop()
        count += len(value)
        if isinstance(value, dict):
            inner = value.values()
        else:
            inner = value
        pending += [each for each in inner if isinstance(each, (dict, list))]
        if count > _MOST_VALUES:
            message = f"more than {_MOST_VALUES:,} values: split the definition"
            raise ForeignError("a definition", Problem(path="", rule="too_large", message=message))


class _DefinitionForm(NamedTuple):
    """A definition format: the keys that hold the parts of an entry."""

    provider: str
    inner: str | None
    schema: str
    output: str | None = None


# ``read_definition`` tries the formats in this order. The last formats come from test sets and
# registries.
_FORMS = (
    _DefinitionForm("openai", "function", "parameters", "return"),
    _DefinitionForm("bedrock", "toolSpec", "inputSchema"),
    _DefinitionForm("anthropic", None, "input_schema"),
    _DefinitionForm("mcp", None, "inputSchema", "outputSchema"),
    _DefinitionForm("gemini", None, "parametersJsonSchema", "responseJsonSchema"),
    _DefinitionForm("gemini", None, "parameters_json_schema", "response_json_schema"),
    _DefinitionForm("json-schema", None, "parameters", "output"),
    _DefinitionForm("json-schema", None, "schema"),
    _DefinitionForm("docker-registry", None, "arguments"),
    _DefinitionForm("nestful", None, "query_parameters"),
)


def outline(given: Any, *, name: str | None = None) -> Outline:
    """Find the format, the name and the parts of one definition.

    Args:
        given: A dict, an SDK object, or JSON text.
        name: The tool's name. It is needed if the definition has no name, such as a bare JSON
            Schema. Otherwise it replaces the definition's name.

    Raises:
        ForeignError: The format is unknown, there is no name, or what should be the schema is none.
    """
    entry = copy_json(_single_definition(given, name))
    form, inner = _form_of(entry, name)
    tool_name = str(name or inner.get("name") or inner.get("title") or "")
    if not tool_name:
        raise ForeignError(
            "a definition",
            Problem(path="name", rule="name", message="the definition has no name: pass name="),
        )
    schema = _unwrap(inner if form.schema == "" else inner.get(form.schema))
    if as_object(schema) is None:
        raise ForeignError(tool_name, NO_SCHEMA)
    return Outline(form, entry, inner, tool_name, schema)


def read_definition(outlined: Outline, documents: "Documents | None" = None) -> Foreign:
    """Read the schemas and the other parts of a definition.

    Args:
        outlined: The definition, whose format and name are known.
        documents: What the schemas refer to outside of themselves.

    Raises:
        ForeignError: The schema cannot be read; the error holds every problem.
    """
    form, entry, inner, tool_name, schema = outlined
    reader = SchemaReader(documents)
    parameters = reader.arguments(schema)
    if form.output is None:
        output = None
    else:
        output = inner.get(form.output)
    if isinstance(output, dict):
        output_schema = reader.canonical(output)
    else:
        output_schema = None
    if reader.problems:
        raise ForeignError(tool_name, *reader.problems)
    examples = inner.get("input_examples", ())
    description = inner.get("description")
    title = _title(inner) if form.schema else None
    if not isinstance(examples, (list, tuple)):
        examples = ()
    if isinstance(description, str):
        said = description.strip()
    else:
        said = ""
    is_strict = inner.get("strict")
    return Foreign(
        form=_provider_of(form, entry, schema),
        entry=entry,
        entry_name=inner.get("name"),
        name=tool_name,
        title=title,
        description=said,
        schema=schema,
        parameters=parameters,
        output=output_schema,
        is_strict=is_strict if isinstance(is_strict, bool) else None,
        effects=_effects(inner.get("annotations")),
        examples=tuple(examples),
        keys=_remaining_keys(form, inner),
        findings=tuple(dict.fromkeys(reader.findings)),
    )


def _single_definition(given: Any, name: str | None) -> JsonObject:
    definitions = list(entries(given))
    if len(definitions) != 1:
        message = f"expected one definition, got {len(definitions)}: use Registry.add_definitions"
        raise ForeignError(name or "a definition", Problem(path="", rule="form", message=message))
    definition = definitions[0]
    if isinstance(definition, (str, bytes)):
        definition = _parse_json(definition)
    if not isinstance(definition, dict):
        message = f"{type(definition).__name__} is not a definition"
        raise ForeignError("a definition", Problem(path="", rule="form", message=message))
    return definition


def _form_of(entry: JsonObject, name: str | None) -> tuple[_DefinitionForm, JsonObject]:
    for form in _FORMS:
        inner = entry if form.inner is None else entry.get(form.inner)
        if isinstance(inner, dict) and (form.schema in inner or form.inner is not None):
            return form, inner
    kind = entry.get("type")
    # No parameters.
    if "name" in entry and kind in (None, "function", "custom") and "format" not in entry:
        return _DefinitionForm(
            "anthropic" if kind == "custom" else "json-schema", None, "parameters"
        ), entry
    if not entry and name:  # an empty schema means that the tool has no parameters
        return _DefinitionForm("json-schema", None, ""), entry
    if (
        any(word in entry for word in SCHEMA_WORDS)
        and isinstance(kind, (str, list, type(None)))
        and "name" not in entry
    ):
        return _DefinitionForm("json-schema", None, ""), entry
    message = (
        "unknown definition format: the keys are "
        f"{', '.join(map(repr, sorted(map(str, entry)))) or 'none'}"
    )
    if isinstance(kind, str):
        message += (
            f"; the provider itself defines tools of type {kind!r}: send this tool separately"
        )
    raise ForeignError(
        str(name or entry.get("name") or "a definition"),
        Problem(path="", rule="form", message=message),
    )


def _provider_of(form: _DefinitionForm, entry: JsonObject, schema: Any) -> str:
    if form.provider == "json-schema" and entry.get("type") == "function":
        return "openai-responses"
    if form.provider == "json-schema" and form.schema == "parameters" and isinstance(schema, dict):
        kind = schema.get("type")
        if isinstance(kind, str) and kind.isupper():
            return "gemini-openapi"
        if "output" in entry:
            return "json-schema"
        return "openai-functions"
    return form.provider


def _unwrap(written: Any) -> Any:
    """Return the schema itself: take it from Bedrock's ``json`` key, or
    parse it from JSON text (xAI).
    """
    if isinstance(written, str):
        try:
            written = json.loads(written)
        except ValueError:
            return written
    if isinstance(written, dict) and set(written) == {"json"}:
        return _unwrap(written["json"])
    return written


_EFFECTS: Mapping[str, tuple[Effect, Effect | None]] = {
    "readOnlyHint": ("read", None),
    "destructiveHint": ("destructive", "write"),
    "idempotentHint": ("idempotent", None),
    "openWorldHint": ("open_world", "closed_world"),
}


def _effects(annotations: Any) -> frozenset[Effect]:
    """Return the effects that MCP's hints declare; an absent hint declares nothing."""
    hints = annotations if isinstance(annotations, dict) else {}
    declared: set[Effect | None] = {
        effects[0] if hints[hint] else effects[1]
        for hint, effects in _EFFECTS.items()
        if hint in hints
    }
    if "read" in declared:  # for a read-only tool, the hints about writing have no meaning
        declared -= {"destructive", "write"}
    return frozenset(effect for effect in declared if effect is not None)


def _title(inner: JsonObject) -> str | None:
    """Return the display name. Before revision 2025-06-18, MCP put the title into
    ``annotations``.
    """
    hints = inner.get("annotations")
    title = inner.get("title") or (hints.get("title") if isinstance(hints, dict) else None)
    if isinstance(title, str):
        return title
    return None


_READ = frozenset({"type", "name", "title", "description", "strict", "input_examples"})


def _remaining_keys(form: _DefinitionForm, inner: JsonObject) -> JsonObject:
    """Return the remaining keys of the entry, which only the entry's provider understands."""
    if form.inner is not None or form.schema in ("", "arguments", "query_parameters", "schema"):
        return {}
    return {
        key: copy_json(value)
        for key, value in inner.items()
        if key not in _READ | {form.schema, form.output}
    }

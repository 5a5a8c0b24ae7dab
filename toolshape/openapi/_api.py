"""Makes tools of the operations of a document, each read when it is asked for."""

import functools
import inspect
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, cast

import httpx

from toolshape._bound.registry import Registry
from toolshape._bound.selection import select_names
from toolshape._records.calls import Effect, Finding, JsonObject
from toolshape._records.errors import DefinitionError, UsageError
from toolshape._schema.lens import UnsupportedError
from toolshape._schema.references import mentions
from toolshape._schema.values import copy_json
from toolshape._tools.definition.bundle import BundleError, Documents, bundle
from toolshape._tools.definition.executor import function_of
from toolshape._tools.definition.record import ReadOptions
from toolshape._tools.options import (
    ToolOptions,
    labels,
    parse_options,
    refuse_invalid_options,
)
from toolshape._tools.tool import Tool, make_from_definition, with_finding
from toolshape.openapi._answering import AsyncSender, Sender
from toolshape.openapi._operations import (
    Body,
    LeftOut,
    Operation,
    Parameter,
    RefusedError,
    at,
    operations_of,
)
from toolshape.openapi._requests_only import drop_read_only, refuse_read_only

_ADDRESS = "urn:toolshape:openapi"
_MUCH = 16_000  # characters of a schema
_EFFECTS: Mapping[str, frozenset[Effect]] = {
    "GET": frozenset({"read"}),
    "HEAD": frozenset({"read"}),
    "OPTIONS": frozenset({"read"}),
    "TRACE": frozenset({"read"}),
    "PUT": frozenset({"write", "idempotent"}),
    "DELETE": frozenset({"write", "idempotent"}),
}


class Api:
    """The operations of a document, and what of them cannot be a tool; ``load`` makes it."""

    def __init__(
        self,
        operations: Mapping[str, Operation],
        left_out: Collection[LeftOut],
        document: JsonObject,
        executor: Sender | AsyncSender,
        approve: Callable[[Operation, JsonObject], bool] | bool,
        options: Mapping[str, Any],
    ) -> None:
        self.operations = operations
        self._left_out = {(each.method, each.path): each for each in left_out}
        self._document = document
        self._documents = Documents({_ADDRESS: document})
        self._executor = executor
        self._approve = approve
        self._options = options
        self._tools: dict[str, Tool[..., Any] | None] = {}

    def __repr__(self) -> str:
        return f"Api({len(self.operations)} operations, {len(self._left_out)} left out)"

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The operations that cannot be tools, each with the reason, as far as they were read."""
        return tuple(self._left_out.values())

    def tools(
        self,
        names: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        *,
        exclude: Collection[str] = (),
    ) -> Registry:
        """Return the tools of some operations; their schemas are read now, and no others.

        An operation whose schema cannot be read is left out, and stands in ``left_out``.

        Args:
            names: Names, or patterns such as ``"issues_*"``. ``None`` matches every name.
            tags: Tags of the document. ``None`` matches every operation.
            exclude: Names or patterns of operations to leave out.

        Raises:
            KeyError: A name, a pattern or a tag matches no operation.
        """
        labels = {name: operation.tags for name, operation in self.operations.items()}
        made = map(self._tool, select_names(labels, names, tags, exclude))
        return Registry([tool for tool in made if tool is not None])

    def _tool(self, name: str) -> Tool[..., Any] | None:
        if name not in self._tools:
            operation = self.operations[name]
            try:
                self._tools[name] = self._make(operation)
            except (
                DefinitionError, BundleError, UnsupportedError, RefusedError, RecursionError,
            ) as error:  # fmt: skip
                if isinstance(error, DefinitionError):
                    reason = "; ".join(map(str, error.problems))
                else:
                    reason = str(error)
                self._tools[name] = None
                self._left_out[operation.method, operation.path] = LeftOut(
                    name=name, method=operation.method, path=operation.path, reason=reason
                )
        return self._tools[name]

    def _make(self, operation: Operation) -> Tool[..., Any]:
        options: Any = {
            "effects": _EFFECTS.get(operation.method, frozenset({"write"})),
            **self._options,
            "tags": operation.tags | labels(self._options.get("tags", ())),
        }
        if callable(self._approve):
            options["approve"] = functools.partial(self._approve, operation)
        else:
            options["approve"] = self._approve
        definition = _definition(operation, self._document)
        parameters: JsonObject = copy_json(bundle(definition["parameters"], self._documents).schema)
        _refuse_what_is_no_json(parameters)
        read_only = drop_read_only(parameters)
        executor = replace(self._executor, refuse=functools.partial(refuse_read_only, read_only))
        made = make_from_definition(
            {**definition, "parameters": read_only.schema},
            lambda _: function_of(executor, operation.name),
            False,
            options,
            None,
            ReadOptions(defaults="leave"),
        )
        size = len(json.dumps(made.input_schema))
        return made if size <= _MUCH else with_finding(made, _is_large(made, size))


def _refuse_what_is_no_json(schema: JsonObject) -> None:
    """Check that a schema is JSON, as a document that was read from YAML may not be.

    Raises:
        RefusedError: It holds a date, or a key that is no text.
    """
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            for key in node:
                if not isinstance(key, str):
                    raise RefusedError(f"the key {key!r} in a schema is no text: put it in quotes")
            pending += node.values()
        elif isinstance(node, list):
            pending += node
        elif not isinstance(node, _SCALARS):
            raise RefusedError(f"{node!r} in a schema is no value of JSON: put it in quotes")


_SCALARS = (str, int, float, type(None))


def _is_large(tool: Tool[..., Any], size: int) -> Finding:
    """Return what is said of a large tool: the argument that makes it so."""
    schema = tool.input_schema
    properties = schema.get("properties", {})
    sizes = {name: len(json.dumps(inner)) for name, inner in properties.items()}
    largest = max(sizes, key=lambda name: _with_definitions(properties[name], schema), default="")
    message = f"the schema has {size:,} characters; most of them are of {largest!r}"
    return Finding(path=largest, rule="large", message=message)


def _with_definitions(node: Any, schema: JsonObject) -> int:
    """Return the size of a field with the definitions that it refers to, directly or not."""
    definitions, pending, seen = schema.get("$defs", {}), [json.dumps(node)], set[str]()
    size = 0
    while pending:
        text = pending.pop()
        size += len(text)
        for name, inner in definitions.items():
            if name not in seen and f'"#/$defs/{name}"' in text:
                seen.add(name)
                pending.append(json.dumps(inner))
    return size


def _schema_at(document: JsonObject, place: str) -> JsonObject:
    """Return the schema at a place, if it stands alone, or a reference to it."""
    node = at(document, place)
    if not isinstance(node, dict):
        return {"not": {}} if node is False else {}
    if not mentions(node, "$ref"):
        alone: JsonObject = copy_json(node)
        return alone
    reference = node["$ref"] if node.keys() == {"$ref"} else f"#{place}"
    is_inside = isinstance(reference, str) and reference.startswith("#/")
    return {"$ref": f"{_ADDRESS}{reference if is_inside else f'#{place}'}"}


def _definition(operation: Operation, document: JsonObject) -> JsonObject:
    """Return the definition of a tool, whose schemas are where they stand in the document."""
    # A description beside a reference is the argument's own. A body that is no JSON is described as
    # what a model can write: a text, or bytes in base64.
    properties: JsonObject = {}
    required: list[str] = []
    body = operation.body
    arguments: list[Parameter | Body] = [*operation.parameters]
    if body is not None:
        arguments.append(body)
    for parameter in arguments:
        node = {} if parameter.place is None else _schema_at(document, parameter.place)
        if parameter.description:
            node["description"] = parameter.description
        properties[parameter.argument] = node
        if parameter.is_required:
            required.append(parameter.argument)
    if body is not None and body.kind in ("text", "bytes"):
        said = body.description or "The body."
        text: JsonObject = {"type": "string", "description": said}
        if body.kind == "bytes":
            text |= {"contentEncoding": "base64", "description": f"{said} The bytes, in base64."}
        properties[body.argument] = text
    files = [] if body is None else _files(body)
    if body is not None and files:
        said = properties[body.argument].get("description", "")
        properties[body.argument]["description"] = (
            f"{said} These fields are bytes, in base64: {', '.join(files)}.".strip()
        )
    return {
        "name": operation.name,
        "description": operation.description or f"{operation.method} {operation.path}",
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    }


def _files(body: Body) -> list[str]:
    """Return what is said of the fields that are files."""
    files = [name for name, each in body.encoding.items() if each.is_file]
    return [*files, "all others"] if body.others.is_file else files


def _read(document: Any) -> JsonObject:
    """Return the document as JSON data.

    Raises:
        UsageError: It is no document of OpenAPI 3.
    """
    given: Any = document
    if isinstance(given, (str, bytes)):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the document is not JSON: {error}") from error
    version = given.get("openapi") if isinstance(given, dict) else None
    if not isinstance(version, str) or not version.startswith(("3.0", "3.1")):
        raise UsageError(
            "this is no document of OpenAPI 3.0 or 3.1: it says openapi="
            f"{version!r}; convert older ones first"
        )
    read: JsonObject = given
    return read


def load(
    document: JsonObject | str | bytes,
    client: httpx.Client | httpx.AsyncClient,
    *,
    base_url: str | None = None,
    approve: Callable[[Operation, JsonObject], bool] | bool = False,
    most_bytes: int = 1_000_000,
    **options: Any,
) -> Api:
    """Read the operations of an OpenAPI document (3.0 or 3.1), which become tools when they are
    used.

    Parameters and bodies keep their own names as arguments; those of one name that stand at
    different places are called by their place: ``path_id``, ``query_id``. Credentials are the
    client's, and never an argument. Nothing is fetched but what a call asks for.

    Args:
        document: The document, as a dict or as JSON text. A dict is read again when a tool is asked
            for, so it must not change.
        client: The client that sends the requests, with its credentials, timeouts and retries. With
            an async client, the tools are async.
        base_url: The server. The default is the ``base_url`` of the client. The servers in the
            document are not used: the app decides where its credentials go. An operation that names
            servers of its own is left out, unless this is one of them.
        approve: Whether calls wait for approval; a function gets the ``Operation`` and the
            arguments.
        most_bytes: How many bytes of an answer are read. A longer one is cut, with a note.
        **options: The options of ``tool`` for all tools. The tags are added to those in the
            document. ``effects`` replace those of the method: GET and HEAD read, PUT and DELETE are
            writes that are idempotent, others write.

    Raises:
        UsageError: The document is not one of OpenAPI 3, the client is none, there is no server, or
            an option is invalid.
    """
    # Everything that the app may have got wrong is said here, before a model makes a call. What the
    # document got wrong is a reason to leave one operation out.
    given = _read(document)
    raw_client: Any = client
    if not isinstance(raw_client, (httpx.Client, httpx.AsyncClient)):
        raise UsageError(f"client= must be a client of httpx, not {type(raw_client).__name__}")
    server = str(base_url or client.base_url)
    if not server.lower().startswith(("http://", "https://")):
        raise UsageError("there is no server: pass base_url=, or a client that has one")
    if "?" in server or "#" in server:
        raise UsageError("the address of the server has a query: give it to the client as params=")
    raw_approve: Any = approve
    if not isinstance(raw_approve, bool) and (
        not callable(raw_approve) or inspect.iscoroutinefunction(raw_approve)
    ):
        raise UsageError("approve= must be True, False, or a plain function that decides")
    if "name" in options:
        raise UsageError("name= would give all tools the same name")
    refuse_invalid_options(parse_options(cast("ToolOptions", options)), "load", "load")
    raw_most: Any = most_bytes
    if type(raw_most) is not int or raw_most < 1:
        raise UsageError(f"most_bytes= must be a whole number above 0, not {most_bytes!r}")
    own = [
        *(("header", name.lower()) for name in client.headers),
        *(("query", name.lower()) for name in client.params),
        *(("cookie", name.lower()) for name in client.cookies),
    ]
    found = list(operations_of(given, server, own))
    operations = {each.name: each for each in found if isinstance(each, Operation)}
    executor: Sender | AsyncSender
    if isinstance(client, httpx.AsyncClient):
        executor = AsyncSender(
            operations=operations, client=client, base_url=server, most_bytes=most_bytes
        )
    else:
        executor = Sender(
            operations=operations, client=client, base_url=server, most_bytes=most_bytes
        )
    return Api(
        operations,
        [each for each in found if isinstance(each, LeftOut)],
        given,
        executor,
        approve,
        options,
    )

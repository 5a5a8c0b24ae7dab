"""Checks for a whole request; each provider lists, with evidence, those that its server makes."""

from collections.abc import Callable, Iterator
from typing import Any

from toolshape._families.wire.server import RequestCheck, RequestFault, RequestRead
from toolshape._families.wire.server_json import as_object
from toolshape._records.calls import JsonObject


def unique_names(request: RequestRead) -> Iterator[RequestFault]:
    """Check that no two tools have the same name."""
    known_names: set[str] = set()
    for tool in request.tools:
        name = str(tool.name)
        if name in known_names:
            message = f"two tools have the name {name!r}"
            yield RequestFault(
                f"{tool.path}.name",
                "unique_names",
                message,
                tool=name,
                number=tool.number,
                subject=name,
            )
        known_names.add(name)


def tools_not_empty(request: RequestRead) -> Iterator[RequestFault]:
    """Check that a list of tools, if there is one, is not empty."""
    if request.body.get("tools") == []:
        yield RequestFault(
            "tools", "empty_array", "the list of tools is empty: leave it out", subject="tools"
        )


def choice_has_tools(field: str) -> RequestCheck:
    """Return a check that a request with a tool choice in this field also has tools."""

    def choice_without_tools(request: RequestRead) -> Iterator[RequestFault]:
        if request.body.get(field) is not None and not request.tools and not request.native:
            yield RequestFault(field, "choice_without_tools", f"{field} needs tools", subject=field)

    return choice_without_tools


def chosen_tools_exist(request: RequestRead) -> Iterator[RequestFault]:
    """Check that a choice names only tools in the request."""
    tool_names = {str(tool.name) for tool in request.tools}
    for name in request.names:
        if name not in tool_names:
            yield RequestFault(
                "tool_choice", "chosen_tool", f"there is no tool {name!r}", tool=name, subject=name
            )


def no_forced_call(thinks: Callable[[RequestRead], bool]) -> RequestCheck:
    """Return a check that a request does not force a call if the model is in thinking mode."""

    def forced_while_thinking(request: RequestRead) -> Iterator[RequestFault]:
        if (request.names or request.mode == "required") and thinks(request):
            yield RequestFault(
                "tool_choice", "forced_while_thinking", "no tool can be forced in thinking mode"
            )

    return forced_while_thinking


def required_fields(*names: str) -> RequestCheck:
    """Return a check that a request has these fields."""

    def required(request: RequestRead) -> Iterator[RequestFault]:
        for name in names:
            if request.body.get(name) is None:
                yield RequestFault(name, "required_fields", f"{name} is required", subject=name)

    return required


def entry_keys(inner: str, *known: str) -> RequestCheck:
    """Return a check that the inner object of a tool's entry has only known keys."""

    def keys(request: RequestRead) -> Iterator[RequestFault]:
        for tool in request.tools:
            for key in as_object(tool.entry.get(inner)):
                if key not in known:
                    message = f"this provider's tools have no key {key!r}"
                    yield RequestFault(
                        f"{tool.path}.{key}",
                        "entry_keys",
                        message,
                        tool=str(tool.name),
                        number=tool.number,
                        subject=key,
                    )

    return keys


def no_foreign_keys(
    read: Callable[[JsonObject], list[Any]], path: str, *foreign: str
) -> RequestCheck:
    """Return a check that no entry in the list of tools has a key that only
    other providers' entries have.

    Args:
        read: Returns the list of tools in a request.
        path: The path of an entry, with ``{at}`` for its position.
        foreign: The keys of other providers' entries. The check accepts unknown keys, because the
            provider may release a built-in tool that has them.
    """

    def own_entries(request: RequestRead) -> Iterator[RequestFault]:
        for at, entry in enumerate(read(request.body)):
            for key in as_object(entry):
                if key in foreign:
                    message = f"{key!r} is a key of another provider's entry"
                    yield RequestFault(
                        path.format(at=at), "entry_keys", message, number=at, subject=key
                    )

    return own_entries


def schemas_are_objects(request: RequestRead) -> Iterator[RequestFault]:
    """Check that a schema is an object, if there is one."""
    for tool in request.tools:
        if tool.schema is not None and not isinstance(tool.schema, dict):
            yield RequestFault(
                tool.schema_path,
                "schema",
                "the schema must be an object",
                tool=str(tool.name),
                number=tool.number,
            )

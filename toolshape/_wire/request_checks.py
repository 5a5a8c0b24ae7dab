"""Checks of a whole request; each provider cites its evidence where it lists a check."""

from collections.abc import Iterator

from toolshape._wire.server import RequestCheck, RequestFault, RequestRead
from toolshape._wire.server_json import mapping


def unique_names(request: RequestRead) -> Iterator[RequestFault]:
    """Check that no two tools have the same name."""
    seen: set[str] = set()
    for tool in request.tools:
        name = str(tool.name)
        if name in seen:
            message = f"two tools are called {name!r}"
            yield RequestFault(
                f"{tool.path}.name", "unique_names", message, tool=name, number=tool.number, subject=name
            )
        seen.add(name)


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
            for key in mapping(tool.entry.get(inner)):
                if key not in known:
                    message = f"{key!r} is not a key of a tool here"
                    yield RequestFault(
                        f"{tool.path}.{key}",
                        "entry_keys",
                        message,
                        tool=str(tool.name),
                        number=tool.number,
                        subject=key,
                    )

    return keys


def schemas_are_objects(request: RequestRead) -> Iterator[RequestFault]:
    """Check that a schema is an object, if there is one."""
    for tool in request.tools:
        if tool.schema is not None and not isinstance(tool.schema, dict):
            yield RequestFault(
                tool.schema_path, "schema", "the schema must be an object", tool=str(tool.name), number=tool.number
            )

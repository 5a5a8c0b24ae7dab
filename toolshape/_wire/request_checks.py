"""What providers refuse of a whole request, as checks; the evidence stands where a provider names them."""

from collections.abc import Iterator

from toolshape._wire.server import RequestCheck, RequestFault, RequestRead
from toolshape._wire.server_json import mapping


def unique_names(request: RequestRead) -> Iterator[RequestFault]:
    """No two tools have one name."""
    seen: set[str] = set()
    for one in request.tools:
        name = str(one.name)
        if name in seen:
            message = f"two tools are called {name!r}"
            yield RequestFault(f"{one.path}.name", "unique_names", message, tool=name, number=one.number, subject=name)
        seen.add(name)


def required_fields(*names: str) -> RequestCheck:
    """Fields that a request must have."""

    def required(request: RequestRead) -> Iterator[RequestFault]:
        for name in names:
            if request.body.get(name) is None:
                yield RequestFault(name, "required_fields", f"{name} is required", subject=name)

    return required


def entry_keys(inner: str, *known: str) -> RequestCheck:
    """The keys that the object inside an entry of a tool may have."""

    def keys(request: RequestRead) -> Iterator[RequestFault]:
        for one in request.tools:
            for key in mapping(one.entry.get(inner)):
                if key not in known:
                    message = f"{key!r} is not a key of a tool here"
                    yield RequestFault(
                        f"{one.path}.{key}", "entry_keys", message, tool=str(one.name), number=one.number, subject=key
                    )

    return keys


def schemas_are_objects(request: RequestRead) -> Iterator[RequestFault]:
    """A schema is an object, or is left out."""
    for one in request.tools:
        if one.schema is not None and not isinstance(one.schema, dict):
            yield RequestFault(
                one.schema_path, "schema", "the schema must be an object", tool=str(one.name), number=one.number
            )

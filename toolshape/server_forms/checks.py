"""What providers refuse of a whole request, as checks; the evidence stands where a provider names them."""

from collections.abc import Iterator

from toolshape.server_forms.common import mapping
from toolshape.wire.server import Fault, RequestCheck, RequestRead

__all__ = ["entry_keys", "forced_while_thinking", "required_fields", "unique_names"]


def unique_names(request: RequestRead) -> Iterator[Fault]:
    """No two tools have one name."""
    seen: set[str] = set()
    for at, one in enumerate(request.tools):
        name = str(one.name)
        if name in seen:
            message = f"two tools are called {name!r}"
            yield Fault(f"{one.path}.name", "unique_names", message, tool=name, number=at, subject=name)
        seen.add(name)


def required_fields(*names: str) -> RequestCheck:
    """Fields that a request must have."""

    def required(request: RequestRead) -> Iterator[Fault]:
        for name in names:
            if request.body.get(name) is None:
                yield Fault(name, "required_fields", f"{name} is required", subject=name)

    return required


def entry_keys(inner: str, *known: str) -> RequestCheck:
    """The keys that the object inside an entry of a tool may have."""

    def keys(request: RequestRead) -> Iterator[Fault]:
        for at, one in enumerate(request.tools):
            for key in mapping(one.entry.get(inner)):
                if key not in known:
                    message = f"{key!r} is not a key of a tool here"
                    yield Fault(f"{one.path}.{key}", "entry_keys", message, tool=str(one.name), number=at, subject=key)

    return keys


def forced_while_thinking(request: RequestRead) -> Iterator[Fault]:
    """A model that thinks cannot be made to call a tool."""
    is_off = mapping(request.body.get("thinking")).get("type") == "disabled"
    is_thinker = "v4" in str(request.body.get("model")) or "reasoner" in str(request.body.get("model"))
    if is_thinker and not is_off and (request.names or request.mode == "required"):
        yield Fault("tool_choice", "forced_while_thinking", "a tool is forced in thinking mode")

"""What a provider is: how it takes tools, how its calls read, how it wants results. JSON only, no SDK."""

import functools
import importlib
import importlib.metadata
import json
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.errors import ExportError, Problem, ResponseError

__all__ = [
    "Choice",
    "NameRule",
    "Provider",
    "Reading",
    "available",
    "copied",
    "family_of",
    "get",
    "member",
    "opened",
    "plain",
    "show",
]

ENTRY_POINTS = "toolshape.providers"


class Reading(NamedTuple):
    """What a response says: the assistant's messages as they came, its calls, and why it ended, in its own words."""

    assistant: list[Message]
    calls: list[WireCall]
    finish: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """Which tools a model may or must call: ``choice`` is ``"auto"``, ``"none"``, ``"required"`` or a wire name."""

    choice: str | None = None
    is_name: bool = False
    parallel: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NameRule:
    """What a provider takes as a tool's name, and the evidence for it."""

    pattern: re.Pattern[str]
    evidence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """One provider's API, as data and pure functions over JSON.

    Args:
        name: What users write.
        family: The wire family; responses of one family look alike, whoever sent them.
        names: The rule for tool names.
        envelope: One tool as an entry of what the SDK takes as tools.
        choose: A choice as the other keywords of a request; raises ``ExportError`` for what cannot be said.
        recognises: Whether a body (dict, list or SDK object) is a response of the family.
        read: The calls in such a body.
        encode: Results as the messages that answer them.
    """

    name: str
    family: str
    names: NameRule
    envelope: Callable[[Spec], JsonObject]
    choose: Callable[[Choice], JsonObject]
    recognises: Callable[[Any], bool]
    read: Callable[[Any], Reading]
    encode: Callable[[Sequence[Result]], list[Message]]


def show(provider: Provider, spec: Spec) -> JsonObject:
    """Show one tool to a provider.

    Raises:
        ExportError: The provider would refuse it.
    """
    if not provider.names.pattern.fullmatch(spec.name):
        message = f"{provider.name} does not take {spec.name!r} ({provider.names.evidence}): pass @tool(name=)"
        problem = Problem(path="name", rule="tool_name", message=message)
        raise ExportError(provider=provider.name, tool=spec.name, problems=[problem])
    payload: JsonObject = copied(provider.envelope(spec))
    return payload


def get(provider: str | Provider) -> Provider:
    """Find a provider by name.

    Raises:
        ExportError: There is none of this name.
    """
    if isinstance(provider, Provider):
        return provider
    found = _built_in().get(provider)
    if found is None:
        for entry in importlib.metadata.entry_points(group=ENTRY_POINTS, name=provider):
            loaded = entry.load()
            if isinstance(loaded, Provider):
                return loaded
        message = f"there is no provider {provider!r}; there are {', '.join(available())}"
        raise ExportError(provider=provider, tool=None, problems=[Problem(path="", rule="provider", message=message)])
    return found


def available() -> tuple[str, ...]:
    """The names of all providers: those in this package, and those of installed packages' entry points."""
    installed = {entry.name for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)}
    return tuple(sorted({*_built_in(), *installed}))


@functools.cache
def _built_in() -> Mapping[str, Provider]:
    from toolshape import providers  # noqa: PLC0415 - the loader: its files import this module

    names = [f"{providers.__name__}.{file.name}" for file in pkgutil.iter_modules(providers.__path__)]
    files = [importlib.import_module(name) for name in names]
    return {provider.name: provider for file in files for provider in file.PROVIDERS}


def family_of(response: Any, bound: Sequence[Provider] = ()) -> Provider:
    """Find whose response this is, by its form.

    Args:
        response: A dict, list or SDK object.
        bound: Providers to ask besides those of this package.

    Returns:
        The first provider of the family: its default.

    Raises:
        ResponseError: It has the form of no family.
    """
    for provider in (*_built_in().values(), *bound):
        if provider.recognises(response):
            return provider
    known = ", ".join(sorted({provider.family for provider in _built_in().values()}))
    said = f"with the keys {sorted(map(str, response))}" if isinstance(response, Mapping) else type(response).__name__
    raise ResponseError(f"not a response of a known family ({known}): {said}", body=response)


def opened(response: Any) -> Any:
    """A response as data: JSON text is parsed, anything else is left as it is.

    Raises:
        ResponseError: The text is not JSON.
    """
    if not isinstance(response, (str, bytes, bytearray)):
        return response
    try:
        return json.loads(response)
    except ValueError as error:
        raise ResponseError(f"the response is not JSON: {error}", body=response) from error


def member(node: Any, name: str) -> Any:
    """A member of a JSON object or an attribute of an SDK object; ``None`` where there is none."""
    return node.get(name) if isinstance(node, dict) else getattr(node, name, None)


def plain(node: Any) -> Any:
    """An SDK object (any pydantic model) as the JSON it came from; JSON as it is."""
    if isinstance(node, list):
        return [plain(item) for item in node]
    dump = None if isinstance(node, dict) else getattr(node, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_unset=True) if dump else node


def copied(node: Any) -> Any:
    """A deep copy of JSON, so that no caller can change what another is given."""
    if isinstance(node, dict):
        return {key: copied(value) for key, value in node.items()}
    return [copied(value) for value in node] if isinstance(node, list) else node

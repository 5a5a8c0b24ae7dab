"""What a provider is: how it takes tools, how its calls read, how it wants results. JSON only, no SDK."""

import functools
import hashlib
import importlib
import importlib.metadata
import json
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape.calls import JsonObject, JsonSchema, Loss, Message, Result, Spec, WireCall
from toolshape.errors import ExportError, Problem, ResponseError
from toolshape.lens import Lens, Pass, UnsayableError, compose
from toolshape.rules import Check, broken

__all__ = [
    "Choice",
    "NameRule",
    "Provider",
    "Reading",
    "Shown",
    "Strictness",
    "available",
    "copied",
    "family_of",
    "get",
    "member",
    "opened",
    "plain",
    "refusals",
    "repaired",
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
    """Which tools a model may or must call: ``choice`` is ``"auto"``, ``"none"``, ``"required"`` or a wire name.

    ``is_strict``: some tool is shown in strict form, for providers that switch it on by request.
    """

    choice: str | None = None
    is_name: bool = False
    parallel: bool | None = None
    is_strict: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class NameRule:
    """What a provider takes as a tool's name, and the evidence for it.

    ``pattern`` must match the whole name; ``longest`` is the most characters; a ``reserved`` name is not taken.
    """

    pattern: str
    longest: int
    evidence: str
    reserved: frozenset[str] = frozenset()

    def admits(self, name: str) -> bool:
        """Whether the provider takes this name."""
        return len(name) <= self.longest and name not in self.reserved and bool(re.fullmatch(self.pattern, name))


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """One tool as a provider is shown it: the entry it is sent, and the lens that made its schema."""

    wire_name: str
    is_strict: bool
    payload: JsonObject
    lens: Lens
    notes: tuple[Loss, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """One provider's API, as data and pure functions over JSON.

    Args:
        name: What users write.
        family: The wire family; responses of one family look alike, whoever sent them.
        names: The rule for tool names.
        refuses: What it refuses of any schema.
        refuses_strict: What it refuses of a strict one besides.
        lenient: How the schema is rewritten by default, in this order.
        strict: How it is rewritten for constrained decoding; ``None`` where there is no such thing.
        envelope: One tool, its schema rewritten, as an entry of what the SDK takes as tools.
        gather: The entries of all tools as what the SDK takes as its tools.
        request: The keywords of a request with these tools; raises ``ExportError`` for a choice it cannot say.
        recognises: Whether a body (dict, list or SDK object) is a response of the family.
        read: The calls in such a body.
        encode: Results as the messages that answer them.
    """

    name: str
    family: str
    names: NameRule
    refuses: tuple[Check, ...] = ()
    refuses_strict: tuple[Check, ...] = ()
    lenient: tuple[Pass, ...]
    strict: tuple[Pass, ...] | None
    envelope: Callable[[Spec, bool], JsonObject]
    gather: Callable[[list[JsonObject]], list[JsonObject]] = list
    request: Callable[[list[JsonObject], Choice], JsonObject]
    recognises: Callable[[Any], bool]
    read: Callable[[Any], Reading]
    encode: Callable[[Sequence[Result]], list[Message]]


Strictness: TypeAlias = bool | Literal["auto"]

# What "auto" takes for granted: changes that are undone without a trace, and words that constrain nothing.
_HARMLESS = frozenset(
    {"required", "enum", "const", "default", "title", "examples", "deprecated", "description", "$schema"}
)


def show(provider: Provider, spec: Spec, strict: Strictness = "auto", wire_name: str | None = None) -> Shown:
    """Show one tool to a provider.

    Args:
        provider: Whom it is shown to.
        spec: The tool.
        strict: Whether its arguments are to be constrained; ``"auto"``: if that only takes renaming, null for what is
            left out, and other forms of enums.
        wire_name: The name it is shown by; by default its own, repaired if the provider does not take it.

    Raises:
        ExportError: The provider would refuse it, or has no strict form.
    """
    if strict is True and provider.strict is None:
        message = f"{provider.name} has no strict form of a tool: leave strict= out"
        raise _cannot(provider, spec, "strict", "", message)
    lens, is_strict, problems = _lens(provider, spec.parameters, strict)
    if problems:
        raise ExportError(provider=provider.name, tool=spec.name, problems=problems)
    name = wire_name or repaired(provider, spec.name)
    shown = replace(spec, name=name, parameters=lens.schema)
    payload: JsonObject = copied(provider.envelope(shown, is_strict))
    notes = (Loss(path="", keyword="name", kind="renamed", note=f"shown as {name!r}"),) if name != spec.name else ()
    return Shown(wire_name=name, is_strict=is_strict, payload=payload, lens=lens, notes=notes)


def refusals(provider: Provider, schema: Any, *, is_strict: bool) -> list[Problem]:
    """What the provider would refuse of a schema that it is sent."""
    return broken(schema, (*provider.refuses, *(provider.refuses_strict if is_strict else ())))


def _lens(provider: Provider, schema: JsonSchema, strict: Strictness) -> tuple[Lens, bool, list[Problem]]:
    """The lens to show a schema through, whether it is strict, and what would be refused all the same."""
    if strict is not False and provider.strict is not None:
        lens, problems = _tried(provider, provider.strict, schema, is_strict=True)
        is_harmless = all(loss.kind == "renamed" or loss.keyword in _HARMLESS for loss in lens.losses)
        if strict is True or (is_harmless and not problems):
            return lens, True, problems
    lens, problems = _tried(provider, provider.lenient, schema, is_strict=False)
    return lens, False, problems


def _tried(
    provider: Provider, passes: tuple[Pass, ...], schema: JsonSchema, *, is_strict: bool
) -> tuple[Lens, list[Problem]]:
    try:
        lens = compose(passes)(schema)
    except UnsayableError as error:
        return Lens(schema=schema), [Problem(path=error.path, rule=error.rule, message=str(error))]
    return lens, refusals(provider, lens.schema, is_strict=is_strict)


def repaired(provider: Provider, name: str) -> str:
    """The name by which a tool is shown: its own, or one made of it alone, so that no other tool can change it."""
    rule = provider.names
    if rule.admits(name):
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    stem = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[: rule.longest - 11]
    stem = stem if stem[:1].isalpha() else f"t_{stem}"
    return f"{stem}_{digest}"


def _cannot(provider: Provider, spec: Spec, rule: str, path: str, message: str) -> ExportError:
    problem = Problem(path=path, rule=rule, message=message)
    return ExportError(provider=provider.name, tool=spec.name, problems=[problem])


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
    for provider in (*bound, *_built_in().values()):
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

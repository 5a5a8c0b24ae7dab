"""Reads and writes the wire format of each provider: a folder for each family of providers.

In: the body of a response, or records to send. Out: readings with their calls, or messages and
entries in wire form. Touch one family's folder to change what a provider sends or accepts;
``wire/`` holds what families share.
"""

import copyreg
import functools
import importlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Collection, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from toolshape._families.names import available, entry_points
from toolshape._families.wire.provider import Provider, ProviderOrName
from toolshape._records.errors import ExportError, Problem, ResponseError, nearest

# Several families may recognise a bare message: bound providers come first, then this family.
_MOST_SPOKEN = "openai"
_VENDORS = "openai.vendors"
_TEXT_CALLS, _TEXT_FORMATS = "text.mixed", "text.formats"
# What families share: the other modules beside this one are families.
_SHARED = frozenset({"names", "receive", "wire"})
_MOST_NAMES = 256  # limits the size of the caches, because a caller may pass any string as a name


def get(provider: ProviderOrName) -> Provider:
    """Find a provider by name.

    Raises:
        ExportError: No provider has this name.
    """
    if isinstance(provider, Provider):
        return provider
    if not isinstance(provider, str):  # pyright: ignore[reportUnnecessaryIsInstance] - for users without a type checker
        raise _no_such_provider(provider)
    built_in = _find(provider)
    if built_in is None:
        for entry in entry_points():
            if entry.name != provider:
                continue
            return _load(entry)
        raise _no_such_provider(provider)
    return built_in


def _load(entry: Any) -> Provider:
    """Load the provider of an installed package.

    Raises:
        ExportError: The package cannot be loaded, or its entry point is not a ``Provider``.
    """
    try:
        provider = entry.load()
    except Exception as error:  # importing a package may raise anything
        message = (
            f"the provider {entry.name!r} of {entry.value} cannot be loaded: "
            f"{type(error).__name__}: {error}"
        )
        problem = Problem(path="", rule="provider", message=message)
        raise ExportError(provider=entry.name, tool=None, problems=[problem]) from error
    if not isinstance(provider, Provider):
        message = (
            f"the provider {entry.name!r} is {entry.value}, of type {type(provider).__name__}, "
            "not a Provider"
        )
        problem = Problem(path="", rule="provider", message=message)
        raise ExportError(provider=entry.name, tool=None, problems=[problem])
    return provider


def _no_such_provider(name: Any) -> ExportError:
    """Return the error for an unknown name.

    It suggests the likely name, or lists the names without ``:``.
    """
    if not isinstance(name, str):
        message = f"a provider must be a name or a Provider, not {type(name).__name__}"
    elif suggestion := _OTHER_NAMES.get(name.lower()):
        message = f"there is no provider {name!r}: write {suggestion}"
    elif ("+" in name and (suggestion := _nearest_with_text_calls(name))) or (
        suggestion := nearest(name, available())
    ):
        message = f"there is no provider {name!r}: did you mean {suggestion!r}?"
    else:
        message = (
            f"there is no provider {name!r}; there are "
            f"{', '.join(known for known in available() if ':' not in known)}"
        )
    return ExportError(
        provider=str(name), tool=None, problems=[Problem(path="", rule="provider", message=message)]
    )


def _nearest_with_text_calls(name: str) -> str | None:
    """Return the likely name for one such as ``vlm+hermse``; ``None`` if one half is like no
    name.
    """
    formats = _text_formats()
    base, _, text_format = name.partition("+")
    known_base = base if _find(base) is not None else nearest(base, available())
    known_format = text_format if text_format in formats else nearest(text_format, formats)
    likely = f"{known_base}+{known_format}"
    return likely if known_base and known_format and _find(likely) is not None else None


_OTHER_NAMES: Mapping[str, str] = {
    "google": '"gemini"',
    "google-genai": '"gemini"',
    "genai": '"gemini"',
    "vertexai": '"vertex"',
    "claude": '"anthropic"',
    "aws": '"bedrock"',
    "amazon": '"bedrock"',
    "converse": '"bedrock"',
    "gpt": '"openai" or "openai-responses"',
    "chatgpt": '"openai" or "openai-responses"',
    "responses": '"openai-responses"',
    "realtime": '"openai-realtime"',
    "live": '"gemini-live"',
    "azure-openai": '"azure"',
    "grok": '"xai"',
    "hf": '"huggingface"',
    "llamacpp": '"llama-cpp"',
    "lmstudio": '"lm-studio"',
    "github": '"copilot"',
    "kimi": '"moonshot"',
}
"""Names that people write for a provider. They are not accepted: the error suggests the right name.
"""


def _built_in() -> Iterator[Provider]:
    """Yield this package's providers in the order in which ``family_of`` tries
    them; load one module at a time.
    """
    for module in _modules():
        yield from _providers_of(module).values()


@functools.cache
def _modules() -> tuple[str, ...]:
    import pkgutil  # noqa: PLC0415 - would add a twentieth to the package's import time

    other_modules = sorted(
        {file.name for file in pkgutil.iter_modules(__path__)} - {_MOST_SPOKEN, *_SHARED}
    )
    return (_MOST_SPOKEN, *other_modules, _VENDORS)


def _load_module(module: str) -> ModuleType:
    """Import a module of a family when its first provider is asked for."""
    return importlib.import_module(f"{__name__}.{module}")


def _text_formats() -> Collection[str]:
    formats: Collection[str] = _load_module(_TEXT_FORMATS).FORMATS
    return formats


@functools.lru_cache(_MOST_NAMES)
def _providers_of(module: str) -> Mapping[str, Provider]:
    """Return the providers of one wire family, by name; return an empty
    mapping if there is no such module.
    """
    try:
        family = _load_module(module)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{module}":
            raise
        return {}
    return {provider.name: provider for provider in family.PROVIDERS}


@functools.lru_cache(_MOST_NAMES)
def _find(name: str) -> Provider | None:
    """Find a provider of this package.

    Most providers are in the module of the same name, so try that module first.
    """
    base, separator, text_format = name.partition("+")
    if separator:
        return _with_text_calls(base, text_format)
    family = name.partition(":")[0].replace("-", "_")
    is_family = family.isidentifier() and not family.startswith("_") and family not in _SHARED
    if is_family:
        family_provider = _providers_of(family).get(name)
    else:
        family_provider = None
    return family_provider or next(
        (provider for provider in _built_in() if provider.name == name), None
    )


def _with_text_calls(name: str, text_format: str) -> Provider | None:
    """Return a provider such as ``vllm+hermes``, which also reads calls in the
    text; ``None`` for an unknown name.
    """
    provider = _find(name)
    if provider is None:
        return None
    combined_provider: Provider | None = _load_module(_TEXT_CALLS).with_text_calls(
        provider, text_format
    )
    return combined_provider


def with_text_format(provider: Provider, text_format: str) -> Provider:
    """Return a copy of the provider that also reads calls in this format, which
    servers may leave in the text.

    Raises:
        ExportError: There is no such format, or the provider's servers leave no calls in the text.
    """
    if _find(provider.name) is provider:
        combined_provider = _find(f"{provider.name}+{text_format}")
    else:
        combined_provider = None
    if combined_provider is not None:
        return combined_provider
    formats = _text_formats()
    if text_format in formats:
        message = (
            "text_calls= is for the forms that servers of open models have (OpenAI's, "
            "Anthropic's, Ollama's), "
            f"not for {provider.name}"
        )
    else:
        suggestion = nearest(str(text_format), formats)
        message = f"there is no text format {text_format!r}" + (
            f": did you mean {suggestion!r}?" if suggestion else f"; there are {', '.join(formats)}"
        )
    problem = Problem(path="text_calls", rule="provider", message=message)
    raise ExportError(provider=provider.name, tool=None, problems=[problem])


def families() -> tuple[Provider, ...]:
    """Return the default provider of each wire family of this package."""
    return tuple(provider for provider in _built_in() if provider.family == provider.name)


def family_of(response: Any, bound: Sequence[Provider] = ()) -> Provider:
    """Find the family of a response by its form.

    Args:
        response: A dict, list or SDK object.
        bound: Providers to try before this package's providers.

    Returns:
        The default provider of the family, or, if the default does not recognise the response, the
        provider that does.

    Raises:
        ResponseError: No provider recognises the response.
    """
    # Try a text format only if the user binds it: a call that a model quotes in an unknown body
    # must not run.
    searched_providers = (provider for provider in _built_in() if not provider.response.takes_text)
    for provider in itertools.chain(bound, searched_providers):
        if recognised(provider, response):
            # Providers of one family recognise the same form: return the default if it recognises
            # this response.
            default = _find(provider.family) or provider
            if default is provider or recognised(default, response):
                return default
            return provider
    raise ResponseError(_not_a_response(response), body=response)


def _not_a_response(response: Any) -> str:
    """Return the message for an object that no provider recognises: what is wrong, and what to
    do.
    """
    kind = type(response).__name__
    if isinstance(response, Awaitable):
        return f"not a response, but {kind}: did you forget to await the client's call?"
    if isinstance(response, (Iterator, AsyncIterator)) or "Stream" in kind:
        return f"not a response, but a stream ({kind}): feed it to bind(...).collector()"
    if isinstance(response, Mapping) and (response.get("error") or response.get("type") == "error"):
        return (
            "not a response, but an error of the provider: "
            f"{str(response.get('error') or dict(response))[:300]}"
        )
    if isinstance(response, (list, tuple)) and response:
        return (
            f"not a response, but a {kind}: pass the whole response or message, not the calls in it"
        )
    family_names = ", ".join(sorted({provider.family for provider in _built_in()}))
    if isinstance(response, Mapping):
        description = f"with the keys {sorted(map(str, response))}"
    else:
        description = kind
    return f"not a response of a known family ({family_names}): {description}"


def recognised(provider: Provider, response: Any) -> bool:
    """Return whether a response has the provider's form; ``False`` if
    the check raises an exception.
    """
    try:
        return provider.response.recognises(response)
    except Exception:  # a response may hold anything, and an SDK object may raise anything
        return False


def _reduce_provider(provider: Provider) -> tuple[Any, ...]:
    """Pickle a provider as its name, if ``get`` finds this provider by the name."""
    try:
        is_found = get(provider.name) is provider
    except ExportError:
        is_found = False
    if not is_found:
        raise TypeError(
            f"the provider {provider.name!r} cannot be pickled: register it as an entry point of "
            "a package"
        )
    return get, (provider.name,)


copyreg.pickle(Provider, _reduce_provider)

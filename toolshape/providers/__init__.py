"""Finds a provider by name or by response. Each file holds providers of one wire family; some families have several."""

import copyreg
import functools
import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolshape.errors import ExportError, Problem, ResponseError
from toolshape.wire.provider import Provider

__all__ = ["available", "family_of", "get", "recognised"]

ENTRY_POINTS = "toolshape.providers"
_MOST_SPOKEN = "openai"  # a bare message may fit several families: it is this one's unless a bound provider fits


def get(provider: str | Provider) -> Provider:
    """Find a provider by name.

    Raises:
        ExportError: There is none of this name.
    """
    if isinstance(provider, Provider):
        return provider
    found = _built_in().get(provider)
    if found is None:
        for entry in _entry_points():
            if entry.name != provider:
                continue
            loaded = entry.load()
            if isinstance(loaded, Provider):
                return loaded
        message = f"there is no provider {provider!r}; there are {', '.join(available())}"
        raise ExportError(provider=provider, tool=None, problems=[Problem(path="", rule="provider", message=message)])
    return found


def available() -> tuple[str, ...]:
    """The names of all providers: those in this package, and those of installed packages' entry points."""
    return tuple(sorted({*_built_in(), *(entry.name for entry in _entry_points())}))


def _entry_points() -> Iterable[Any]:
    import importlib.metadata  # noqa: PLC0415 - a tenth of the cost of importing us, for what few ask

    return importlib.metadata.entry_points(group=ENTRY_POINTS)


@functools.cache
def _built_in() -> Mapping[str, Provider]:
    import pkgutil  # noqa: PLC0415 - a twentieth of the cost of importing us

    found = sorted(pkgutil.iter_modules(__path__), key=lambda file: (file.name != _MOST_SPOKEN, file.name))
    names = [f"{__name__}.{file.name}" for file in found]
    files = [importlib.import_module(name) for name in names]
    return {provider.name: provider for file in files for provider in file.PROVIDERS}


def family_of(response: Any, bound: Sequence[Provider] = ()) -> Provider:
    """Find whose response this is, by its form.

    Args:
        response: A dict, list or SDK object.
        bound: Providers to ask besides those of this package.

    Returns:
        The default provider of the family, or the one that recognised it where that does not.

    Raises:
        ResponseError: It has the form of no family.
    """
    for provider in (*bound, *_built_in().values()):
        if recognised(provider, response):
            default = _built_in().get(provider.family, provider)
            return default if recognised(default, response) else provider
    known = ", ".join(sorted({provider.family for provider in _built_in().values()}))
    form = f"with the keys {sorted(map(str, response))}" if isinstance(response, Mapping) else type(response).__name__
    raise ResponseError(f"not a response of a known family ({known}): {form}", body=response)


def recognised(provider: Provider, response: Any) -> bool:
    """Whether a response has the provider's form; one that raises an error when examined does not."""
    try:
        return provider.recognises(response)
    except Exception:  # anything may be anywhere in it, and an object may raise whatever it likes
        return False


def _pickled(provider: Provider) -> tuple[Any, ...]:
    """A provider as its name, where that finds it again."""
    try:
        is_found = get(provider.name) is provider
    except ExportError:
        is_found = False
    if not is_found:
        raise TypeError(f"the provider {provider.name!r} cannot be pickled: no entry point of a package has its name")
    return get, (provider.name,)


copyreg.pickle(Provider, _pickled)

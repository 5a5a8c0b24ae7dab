"""Defines ``Bindings``, which binds a registry's tools to providers, and finds the ``Bound`` that reads a response.

A registry loads this module when it is first bound. Before that, a program needs neither providers nor dispatch, and
saves a third of the package's import time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from toolshape._answers.output import Output
from toolshape._bound.bound import Bound, bound_tools_of, observe_resumed
from toolshape._bound.bound_tools import bind_tools, canonical_calls
from toolshape._bound.store import Key, Store, Use
from toolshape._families import family_of, get, with_text_format
from toolshape._families.receive import body_of
from toolshape._families.wire.provider import Provider, ProviderOrName
from toolshape._plan.results import Results
from toolshape._records.calls import Strictness
from toolshape._records.errors import UsageError
from toolshape._tools.handler import Handlers
from toolshape._tools.tool import record_of

_STRICTNESS: Mapping[str, Strictness] = {"True": True, "False": False, "auto": "auto"}


class Bindings:
    """Binds the current contents of a store to providers."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def bind(
        self,
        provider: ProviderOrName,
        strict: Strictness | None = None,
        text_calls: str | None = None,
        output: Any = None,
    ) -> Bound:
        """Return the ``Bound`` for a provider; compile a new ``Bound`` only if the contents have changed.

        Raises:
            ExportError: The provider is unknown, does not accept one of the tools or the output, or has no strict form.
            DefinitionError: ``output`` is neither an ``Output`` nor a type that has a JSON Schema.
            UsageError: ``strict`` is not ``True``, ``False`` or ``"auto"``.
        """
        resolved_provider = (
            get(provider) if text_calls is None else with_text_format(get(provider), text_calls)
        )
        contents = self._store.contents  # a snapshot: adding a tool replaces the contents
        strictness = contents.strict if strict is None else strict
        if not (strictness is True or strictness is False or strictness == "auto"):
            raise UsageError(f'strict must be True, False or "auto", not {strictness!r}')
        key = (resolved_provider.name, str(strictness))
        # If the caller passes a type, the type is the cache key, because the Output made from it is not kept.
        output_key = (key, output if _is_hashable(output) else None)
        bound = contents.bounds.get(output_key) if output_key[1] is output else None
        if bound is None or bound.provider is not resolved_provider:
            bound_tools = bind_tools(
                tools=contents.tools.values(),
                provider=resolved_provider,
                strict=strictness,
                rules=contents.coerce,
                annotates=contents.feedback == "json",
                hooks=contents.hooks,
                observers=contents.observers,
                default_effect=contents.default_effect,
                output=output if output is None or isinstance(output, Output) else Output(output),
            )
            for tool in contents.tools.values():
                record_of(tool).is_told_of  # noqa: B018 - the first access logs the findings
            store = self._store
            with store.lock:
                bound = Bound(bound_tools)
                if output_key[1] is output:
                    _cache_bound(contents.bounds, output_key, bound)
                # Binding is not a request, so the new entry goes first: the last entry is the provider of the latest
                # request.
                store.contents = replace(
                    store.contents,
                    used={key: Use(resolved_provider, output), **store.contents.used},
                )
        return bound

    def put_last(self, bound: Bound, strict: Strictness | None, output: Any = None) -> None:
        """Record that this ``Bound`` made the latest request, so it reads the next response in its family."""
        store = self._store
        with store.lock:
            contents = store.contents
            used = dict(contents.used)  # a copy: another thread may be reading ``used``
            key = (bound.provider.name, str(contents.strict if strict is None else strict))
            used.pop(key, None)
            used[key] = Use(bound.provider, output)
            store.contents = replace(contents, used=used)

    def reader_of(self, response: Any, provider: ProviderOrName | None) -> tuple[Bound, Any]:
        """Find the ``Bound`` that reads a response: the one that made the latest request in the response's family.

        If several providers of the family are in use, all of them must read the same canonical calls from the response.

        Returns:
            The ``Bound``, and the value that it reads: the original response if there are observers, otherwise the
            parsed body.

        Raises:
            ResponseError: The response is not of any known family.
            UsageError: Two providers of the family read the response differently.
        """
        contents = self._store.contents
        uses = contents.used
        # The provider of the latest request comes first, because the first provider that recognises the body decides
        # the family: a text format and OpenAI's chat have the same message form, so the body cannot tell them apart.
        providers = (
            [use.provider for use in reversed(list(uses.values()))]
            if provider is None
            else [get(provider)]
        )
        body = body_of(response, *providers)
        default = family_of(body, providers) if provider is None else get(provider)
        name = None if provider is None else default.name
        family_keys = [
            key
            for key, use in uses.items()
            if use.provider.family == default.family and name in (None, key[0])
        ]
        bounds = [self._bound_of(key, uses[key]) for key in family_keys] or [self.bind(default)]
        if len(bounds) > 1 and not _all_equal(
            [canonical_calls(bound_tools_of(bound), body) for bound in bounds]
        ):
            shapes = ", ".join(sorted(f"{key[0]} (strict={key[1]})" for key in family_keys))
            has_several = len({key[0] for key in family_keys}) > 1
            way_out = (
                "pass provider="
                if has_several
                else "call dispatch on the Bound that made the request"
            )
            raise UsageError(
                f"{shapes} read this response of {default.family} differently: {way_out}"
            )
        return bounds[-1], response if contents.observers else body

    def _bound_of(self, key: Key, use: Use) -> Bound:
        return self.bind(use.provider, _STRICTNESS[key[1]], output=use.output)

    def resumption_at(
        self, provider: str, strict: Strictness
    ) -> tuple[Provider, Handlers, Callable[[Results], None]]:
        """Return the provider and handlers that resume a plan, and a function that shows the results to observers."""
        used_provider = next(
            (
                use.provider
                for use in self._store.contents.used.values()
                if use.provider.name == provider
            ),
            None,
        )
        bound = self.bind(provider if used_provider is None else used_provider, strict)
        return bound.provider, bound_tools_of(bound).handlers, partial(observe_resumed, bound)


_MOST_OUTPUTS = 64
"""The number of bindings with an output that the cache keeps: a program may make a new ``Output`` for each request."""


def _cache_bound(
    bounds: "dict[tuple[Key, Any], Bound]", key: tuple[Key, Any], bound: Bound
) -> None:
    keys_with_output = [cached_key for cached_key in bounds if cached_key[1] is not None]
    if len(keys_with_output) >= _MOST_OUTPUTS:
        del bounds[keys_with_output[0]]
    bounds[key] = bound


def _is_hashable(output: Any) -> bool:
    try:
        hash(output)
    except TypeError:
        return False
    return True


def _all_equal(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values)

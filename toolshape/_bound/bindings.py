"""Binds a registry's tools to providers, and finds what reads a response.

A registry loads this module when it is first bound. Before that, a program needs neither providers
nor dispatch, and saves a third of the package's import time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolshape._answers.output import Output
from toolshape._answers.record import record_of_output, type_key
from toolshape._bound.bound import Bound, bound_tools_of, observe_resumed
from toolshape._bound.bound_tools import bind_tools, canonical_calls
from toolshape._bound.store import BindingKey, Store, Use
from toolshape._families import family_of, get, with_text_format
from toolshape._families.receive import body_of
from toolshape._families.wire.provider import Provider, ProviderOrName
from toolshape._function.calling.call import NOTHING_INJECTED
from toolshape._plan.plan_state import PlanState
from toolshape._plan.restore import restore
from toolshape._plan.results import Results
from toolshape._plan.resuming import Resumption
from toolshape._plan.run_options import ResumeOptions, refuse_unknown
from toolshape._records.calls import Strictness
from toolshape._records.errors import UsageError
from toolshape._records.identity import OutputRef
from toolshape._tools.tool import read_all, record_of

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
        """Return the ``Bound`` for a provider; compile a new ``Bound``
        only if the contents have changed.

        Raises:
            ExportError: The provider is unknown, does not accept one of the tools or the output, or
                has no strict form.
            DefinitionError: ``output`` is neither an ``Output`` nor a type that has a JSON Schema.
                Or definitions cannot be read; the error names all of them.
            UsageError: ``strict`` is not ``True``, ``False`` or ``"auto"``.
        """
        if text_calls is None:
            resolved_provider = get(provider)
        else:
            resolved_provider = with_text_format(get(provider), text_calls)
        contents = self._store.contents  # a snapshot: adding a tool replaces the contents
        if strict is None:
            strictness = contents.strict
        else:
            strictness = strict
        if not (strictness is True or strictness is False or strictness == "auto"):
            raise UsageError(f'strict must be True, False or "auto", not {strictness!r}')
        key = (resolved_provider.name, str(strictness))
        # The Bound in the cache keeps the type alive, by whose parts it is found.
        output_key = (key, None if output is None else type_key(output))
        bound = contents.bounds.get(output_key)
        if bound is None or bound.provider is not resolved_provider:
            read_all(contents.tools.values())
            asked_output = None if output is None else _output(output)
            bound_tools = bind_tools(
                tools=contents.tools.values(),
                provider=resolved_provider,
                strict=strictness,
                rules=contents.coerce,
                annotates=contents.feedback == "json",
                hooks=contents.hooks,
                observers=contents.observers,
                default_effect=contents.default_effect,
                output=asked_output,
            )
            for tool in contents.tools.values():
                record_of(tool).log_findings()
            store = self._store
            with store.lock:
                bound = Bound(bound_tools)
                _cache_bound(contents.bounds, output_key, bound)
                # Binding is not a request, so the new entry goes first: the last entry is the
                # provider of the latest request.
                store.contents = replace(
                    store.contents,
                    used={key: Use(resolved_provider, output), **store.contents.used},
                    outputs=_with_output(store.contents.outputs, asked_output),
                )
        return bound

    def put_last(self, bound: Bound, strict: Strictness | None, output: Any = None) -> None:
        """Record that this ``Bound`` made the latest request, so it reads
        the next response in its family.
        """
        store = self._store
        with store.lock:
            contents = store.contents
            key = (bound.provider.name, str(contents.strict if strict is None else strict))
            if _is_last(contents.used, key, bound.provider, output):
                return
            used = dict(contents.used)  # a copy: another thread may be reading ``used``
            used.pop(key, None)
            used[key] = Use(bound.provider, output)
            store.contents = replace(contents, used=used)

    def reader_of(self, response: Any, provider: ProviderOrName | None) -> tuple[Bound, Any]:
        """Find the ``Bound`` that reads a response: the one that made the latest
        request in the response's family.

        If several providers of the family are in use, all of them must read the same canonical
        calls from the response.

        Returns:
            The ``Bound``, and the value that it reads: the original response if there are
            observers, otherwise the parsed body.

        Raises:
            ResponseError: The response is not of any known family.
            UsageError: Two providers of the family read the response differently.
        """
        contents = self._store.contents
        uses = contents.used
        # The provider of the latest request comes first, because the first provider that recognises
        # the body decides the family: a text format and OpenAI's chat have the same message form,
        # so the body cannot tell them apart.
        if provider is None:
            providers = [use.provider for use in reversed(list(uses.values()))]
        else:
            providers = [get(provider)]
        body = body_of(response, *providers)
        if provider is None:
            default = family_of(body, providers)
        else:
            default = get(provider)
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
            if has_several:
                way_out = "pass provider="
            else:
                way_out = "call dispatch on the Bound that made the request"
            raise UsageError(
                f"{shapes} read this response of {default.family} differently: {way_out}"
            )
        return bounds[-1], response if contents.observers else body

    def _bound_of(self, key: BindingKey, use: Use) -> Bound:
        return self.bind(use.provider, _STRICTNESS[key[1]], output=use.output)

    def open_turn(self, record: PlanState, context: Any, output: Any) -> Results:
        """Return the results of a stored turn with these tools.

        Args:
            record: The record of the turn.
            context: What validators of arguments read as ``info.context``.
            output: The output of the turn's answer, if it is not one of the outputs that are known
                here.

        Raises:
            ExportError: The provider does not accept one of the tools.
        """
        uses = self._store.contents.used.values()
        provider: ProviderOrName = next(
            (use.provider for use in uses if use.provider.name == record.provider), record.provider
        )
        bound = self.bind(provider, record.strict)
        handlers = bound_tools_of(bound).handlers.in_context(context)

        def find_output(ref: OutputRef) -> Any:
            found = self.output_of(ref, output)
            return bound_tools_of(self.bind(provider, record.strict, output=found)).answer

        results = restore(record, bound.provider, handlers, find_output)
        observe_resumed(bound, results)
        return results

    def output_of(self, ref: OutputRef, given: Any) -> Output[Any]:
        """Return the output with this identity: the given one, or the only one of those
        that were bound or registered.

        Raises:
            UsageError: There is no such output here, or there are two.
        """
        outputs = self._store.contents.outputs
        if given is None:
            candidates = outputs
        else:
            candidates = (_output(given),)
        found = [known for known in candidates if record_of_output(known).ref == ref]
        if len({record_of_output(known).key for known in found}) > 1:
            raise UsageError(
                f"the turn is about an answer of the output {ref.name}, and two types here fit "
                "it: pass it as output="
            )
        if found:
            return found[-1]
        is_other = any(record_of_output(known).name == ref.name for known in candidates)
        if is_other:
            why = "is another type here"
        else:
            why = "is not known here"
        raise UsageError(
            f"the turn is about an answer of the output {ref.name}, which {why}: pass it as "
            "output=, or to "
            "Registry(outputs=)"
        )

    def resumption(
        self,
        given: tuple[Any, ...],
        options: Mapping[str, Any],
        adopt: Callable[[Results], None] | None = None,
    ) -> Resumption:
        """Return the arguments of a resumption.

        Args:
            given: The token, the key, the decisions, the audience and the ledger.
            options: The further options of ``Registry.resume``.
            adopt: Gets the results before the first call runs.

        Raises:
            TypeError: An option does not exist.
        """
        refuse_unknown(options, ResumeOptions)
        context, output = options.get("context"), options.get("output")
        token, key, decisions, audience, ledger = given
        return Resumption(
            token=token,
            key=key,
            decisions=decisions,
            audience=audience,
            ledger=ledger,
            open_turn=lambda record: self.open_turn(record, context, output),
            inject=options.get("inject", NOTHING_INJECTED),
            limit=options.get("limit"),
            on_progress=options.get("on_progress"),
            adopt=adopt,
        )


_MOST_OUTPUTS = 64
"""The number of bindings with an output that the cache keeps: a program may make a
new ``Output`` for each request.
"""


def _cache_bound(
    bounds: "dict[tuple[BindingKey, Any], Bound]", key: tuple[BindingKey, Any], bound: Bound
) -> None:
    keys_with_output = [cached_key for cached_key in bounds if cached_key[1] is not None]
    if len(keys_with_output) >= _MOST_OUTPUTS:
        del bounds[keys_with_output[0]]
    bounds[key] = bound


def _is_last(
    used: Mapping[BindingKey, Use], key: BindingKey, provider: Provider, output: Any
) -> bool:
    if [*used][-1:] != [key]:
        return False
    return used[key].provider is provider and used[key].output is output


def _output(given: Any) -> Output[Any]:
    if isinstance(given, Output):
        return given
    return Output(given)


def _with_output(
    outputs: tuple[Output[Any], ...], added: Output[Any] | None
) -> tuple[Output[Any], ...]:
    """Return the known outputs with one more as the newest; of one type, only the newest is
    kept.
    """
    if added is None:
        return outputs
    record = record_of_output(added)
    others = [
        known
        for known in outputs
        if (record_of_output(known).key, known.name) != (record.key, record.name)
    ]
    return (*others, added)[-_MOST_OUTPUTS:]


def _all_equal(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values)

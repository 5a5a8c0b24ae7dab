"""``Registry``: the tools of an application, and the verbs that bind, export, request and dispatch them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from toolshape._calls import JsonObject, Namespace, Strictness, Undeclared
from toolshape._errors import DefinitionError, Problem, UsageError
from toolshape._execution.run import NOTHING_INJECTED
from toolshape._function.annotations import calling_frame
from toolshape._options import ToolOptions, options_of
from toolshape._results import Results
from toolshape._selection import joined_settings, no_such_tool, selected
from toolshape._store import Contents, Key, Store, by_name
from toolshape._tool import Tool, as_tool, make_from_definition, make_tool
from toolshape._validation.coercion import chosen_rules

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolshape._bindings import Bindings
    from toolshape._bound import Bound, Observer
    from toolshape._dispatch.approval import Decision
    from toolshape._dispatch.hook_kinds import Hook
    from toolshape._dispatch.ledger_store import LedgerStore
    from toolshape._dispatch.plan import Plan
    from toolshape._dispatch.run_options import OnProgress, RunOptions
    from toolshape._wire.provider import AnyProvider, Provider


P = ParamSpec("P")
R = TypeVar("R")
H = TypeVar("H", bound="Hook | Observer")


class Registry:
    """The tools of an application, offered to any provider.

    Args:
        tools: Tools, or plain functions, which become tools.
        strict: Whether providers are to constrain arguments to the schema, where ``bind`` and the tool do not say.
        coerce: Coercion rules to switch on or off by name for all of them, ``False`` for none.
        feedback: How the answer says that arguments are invalid: in ``"lines"``, one a problem, or as its own
            ``"json"`` with comments at the faults.
        undeclared: What tools are taken for that declare no effect of ``"read"``, ``"write"`` and ``"destructive"``:
            ``"write"`` runs their calls alone, in call order.

    Raises:
        DefinitionError: A function cannot be a tool, or two tools have one name.
        ValueError: There is no such rule, no such feedback, or no such effect.
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]] = (),
        *,
        strict: Strictness = "auto",
        coerce: Mapping[str, bool] | bool | None = None,
        feedback: Literal["lines", "json"] = "lines",
        undeclared: Undeclared = None,
    ) -> None:
        chosen_rules(coerce)
        if undeclared not in (None, "write"):
            raise ValueError(f'undeclared is "write" or None, not {undeclared!r}')
        if feedback not in ("lines", "json"):
            raise ValueError(f'feedback is "lines" or "json", not {feedback!r}')
        if not (strict is True or strict is False or strict == "auto"):
            raise ValueError(f'strict is True, False or "auto", not {strict!r}')
        frame = calling_frame()
        if callable(tools):
            raise TypeError("Registry takes a list of tools: write Registry([...])")
        added = by_name({}, [as_tool(one, frame) for one in tools])
        contents = Contents(strict=strict, coerce=coerce, feedback=feedback, undeclared=undeclared, tools=added)
        self._store = Store(contents)

    @cached_property
    def _bindings(self) -> "Bindings":
        from toolshape._bindings import Bindings  # noqa: PLC0415 - what is bound and run is a third of the import

        return Bindings(self._store)

    def add(self, tool: Tool[..., Any] | Callable[..., Any]) -> Tool[..., Any]:
        """Add a tool, or a plain function as one; what was bound before does not change.

        Raises:
            DefinitionError: It cannot be a tool, or its name is taken.
            UsageError: It is a method that no object has been given.
        """
        return self._add(as_tool(tool, calling_frame()))

    def _add(self, added: Tool[..., Any]) -> Tool[..., Any]:
        self._add_all([added])
        return added

    def _add_all(self, added: Iterable[Tool[..., Any]]) -> None:
        """Add all of these tools, or none; other threads may be adding, too."""
        self._store.change(lambda held: replace(held, tools=by_name(held.tools, added), bounds={}))

    def add_definitions(
        self,
        given: Any,
        functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
        *,
        verbatim: bool = False,
        **options: "Unpack[ToolOptions]",
    ) -> list[Tool[..., Any]]:
        """Add tools from definitions in the form of any provider, or of none; see ``Tool.from_definition``.

        Args:
            given: A list of definitions, whatever holds one (a request, MCP's list of tools, Gemini's declarations),
                or its JSON text.
            functions: The functions that answer their calls, by the names in the definitions; a tool without one is
                sent, but not run.
            verbatim: Whether they are sent unchanged to a provider whose form they have.
            **options: As for ``tool``, for all of them.

        Raises:
            DefinitionError: One of them cannot be a tool, or is not there for a function; none is added then.
        """
        frame = calling_frame()
        asked: list[str] = []

        def choose(name: str) -> Callable[..., Any] | None:
            asked.append(name)
            return functions.get(name)

        from toolshape._definitions import build  # noqa: PLC0415 - most programs have no definition of others, and would pay for all formats

        each = build.each_of(given)
        made = [make_from_definition(entry, choose, verbatim, options, frame) for entry in each]
        if lost := sorted(functions.keys() - set(asked)):
            problem = Problem(path="functions", rule="no_definition", message=f"there is no definition of {lost[0]!r}")
            raise DefinitionError(tool=lost[0], location="add_definitions", problems=[problem])
        self._add_all(made)
        return made

    @overload
    def tool(self, function: Callable[P, R], /) -> Tool[P, R]: ...
    @overload
    def tool(
        self, function: None = None, /, **options: "Unpack[ToolOptions]"
    ) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
    def tool(self, function: Any = None, /, **options: "Unpack[ToolOptions]") -> Any:
        """Make a function a tool and add it; as ``toolshape.tool`` otherwise."""
        made = options_of(options)
        if function is None:
            return lambda decorated: self._add(make_tool(decorated, made, calling_frame()))
        return self._add(make_tool(function, made, calling_frame()))

    def around(self, hook: H) -> H:
        """Put a hook around every call of these tools that may run: for logging, permissions, caches and retries.

        The first hook is the outermost. What was bound before does not change. Calls that were refused (unknown,
        invalid, cut off) reach no hook. Each call gets one answer, whatever its hooks do:

        - What a hook returns is the answer: what ``proceed()`` gave, or another ``Result``, as
          ``context.result(value)``.
        - One that returns nothing leaves the last that ``proceed()`` gave; if it never called on, or returned something
          else, the call is answered as ``tool_crashed``, and the log says which hook it was.
        - What it raises is the answer, too: the text of a ``ToolError`` is for the model, a ``CallError`` (as from
          ``Result.unwrap``) stands as it is, anything else is logged and hidden as ``tool_crashed``.
        - Each ``proceed()`` runs the rest anew, as the next ``attempt``.

        An ``Observer``, as ``toolshape.trace.record(path)``, is around whole responses instead: it is shown each once
        its calls are answered, refused ones too, and changes nothing.

        Args:
            hook: ``def hook(context, proceed)``, for ``run`` and ``dispatch``; or ``async def``, which awaits
                ``proceed()``, for these and for ``arun`` and ``adispatch``. Under ``run``, a hook that is ``def`` makes
                calls run one after another; where all hooks are async, plain tools run in threads of one loop. Or an
                ``Observer``.

        Returns:
            The hook, so that this decorates.

        Raises:
            UsageError: It cannot be called with a context and ``proceed``.
        """
        from toolshape._bound import Observer  # noqa: PLC0415 - with what is bound
        from toolshape._dispatch.hook_kinds import refuse_no_hook  # noqa: PLC0415 - the same

        given: Any = hook
        if isinstance(given, Observer):
            self._store.change(lambda held: replace(held, observers=(*held.observers, given), bounds={}))
            return hook
        refuse_no_hook(given)
        self._store.change(lambda held: replace(held, hooks=(*held.hooks, given), bounds={}))
        return hook

    def __getitem__(self, name: str) -> Tool[..., Any]:
        if name not in self._tools:
            raise no_such_tool(name, self._tools)
        return self._tools[name]

    def __contains__(self, one: object) -> bool:
        """Whether a tool, or one of this name, is here."""
        return one in self._tools if isinstance(one, str) else any(one == tool for tool in self)

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __reduce__(self) -> Any:
        held = self._store.contents
        return (
            _unpickle_registry,
            (list(held.tools.values()), held.settings()),
            (dict(held.used), held.hooks, held.observers),
        )

    def __setstate__(self, state: "tuple[dict[Key, Provider], tuple[Hook, ...], tuple[Observer, ...]]") -> None:
        used, hooks, observers = state
        # Which providers it was bound to decides whose a response is.
        self._store.change(lambda held: replace(held, used=used, hooks=hooks, observers=observers))

    def __repr__(self) -> str:
        return f"Registry({list(self._tools)})"

    @property
    def _tools(self) -> Mapping[str, Tool[..., Any]]:
        return self._store.contents.tools

    def subset(
        self,
        names: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        *,
        exclude: Collection[str] = (),
    ) -> "Registry":
        """A registry of some of these tools, as they are now: with one of these names, and with one of these tags.

        Args:
            names: Names, or patterns as ``"gh_*"``.
            tags: Tags.
            exclude: Names, or patterns, of those to leave out.

        Raises:
            KeyError: A name, or a pattern, is of no tool.
        """
        return self._like(selected(self, names, tags, exclude))

    def prefixed(self, prefix: str) -> "Registry":
        """A registry of these tools, as they are now, each named ``{prefix}_{name}``.

        Raises:
            UsageError: The prefix is no text, or empty.
        """
        given: Any = prefix
        if not isinstance(given, str) or not given:
            raise UsageError(f"a prefix is a text, not {prefix!r}")
        return self.renamed({name: f"{prefix}_{name}" for name in self._tools})

    def renamed(self, names: Mapping[str, str]) -> "Registry":
        """A registry of these tools, as they are now, some by other names.

        Args:
            names: The new names, by the names that they have here.

        Raises:
            KeyError: A name is not here.
            DefinitionError: Two tools would have one name.
        """
        for name in names:
            _ = self[name]
        return self._like(
            make_tool(tool, options_of({"name": names[tool.name]}), None) if tool.name in names else tool
            for tool in self
        )

    def deferred(self, names: Collection[str] | None = None, *, namespace: Namespace | None = None) -> "Registry":
        """A registry of these tools, as they are now, some to be loaded only when a model's search finds them.

        Args:
            names: Which, as names or patterns; ``None`` for all.
            namespace: What they are grouped under, where a provider has groups; as ``tool(deferred=...)`` otherwise.

        Raises:
            KeyError: A name, or a pattern, is of no tool.
        """
        chosen = {tool.name for tool in selected(self, names)}
        options = options_of({"deferred": namespace or True})
        return self._like(make_tool(tool, options, None) if tool.name in chosen else tool for tool in self)

    def __or__(self, other: "Registry") -> "Registry":
        """A registry of the tools of two, as they are now.

        The hooks and observers of both are around every call, those of the first outermost. A setting that one of them
        says holds for all tools.

        Raises:
            DefinitionError: Two tools have one name: give one of the registries a prefix.
            UsageError: Both say a setting, and not the same.
        """
        given: Any = other
        if not isinstance(given, Registry):
            return NotImplemented
        ours, theirs = self._store.contents, store_of(given).contents
        made = Registry([*self, *given], **joined_settings(ours.settings(), theirs.settings()))
        hooks = *ours.hooks, *(one for one in theirs.hooks if one not in ours.hooks)
        observers = *ours.observers, *(one for one in theirs.observers if one not in ours.observers)
        used = {**theirs.used, **ours.used}
        store_of(made).change(lambda held: replace(held, used=used, hooks=hooks, observers=observers))
        return made

    def on_change(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Have a function called, in the thread that makes the change, when the tools or hooks of this registry change.

        Args:
            listener: Called without arguments.

        Returns:
            What ends that.
        """
        store = self._store
        with store.lock:
            store.listeners = (*store.listeners, listener)

        def end() -> None:
            with store.lock:
                store.listeners = tuple(one for one in store.listeners if one is not listener)

        return end

    def _like(self, tools: Iterable[Tool[..., Any]]) -> "Registry":
        """A registry of other tools, with the settings and hooks of this one."""
        return _made_like(self._store.contents, tools)

    def bind(self, provider: "AnyProvider", strict: Strictness | None = None) -> "Bound":
        """The shapes of these tools, as they are now, at a provider.

        Args:
            provider: Whom they are shown to.
            strict: Whether arguments are to be constrained: ``True``, ``False``, or ``"auto"``; by default as the
                registry says. A tool's own wish goes before it.

        Raises:
            ExportError: There is no such provider, it cannot be sent one of the tools, or it has no strict form.
            UsageError: ``strict`` is something else.
        """
        return self._bindings.bind(provider, strict)

    def export(self, provider: "AnyProvider", *, strict: Strictness | None = None) -> list[Any]:
        """What the provider's SDK takes as ``tools=``; see ``bind`` and ``Bound.export``."""
        return self.bind(provider, strict).export()

    def request(
        self,
        provider: "AnyProvider",
        *,
        choice: str | Collection[str] | None = None,
        parallel: bool | None = None,
        model: str | None = None,
        strict: Strictness | None = None,
        native: Sequence[Any] = (),
    ) -> JsonObject:
        """The keywords of a request; see ``bind`` and ``Bound.request``. A response of the family is read by these shapes."""
        bound = self.bind(provider, strict)
        request = bound.request(choice=choice, parallel=parallel, model=model, native=native)
        self._bindings.put_last(bound, strict)
        return request

    def plan(self, response: Any, *, provider: "AnyProvider | None" = None) -> "Plan":
        """The calls of a response, validated and not run: to approve of them, deny or edit them, run or pause them.

        Args:
            response: The provider's response: SDK object, dict, JSON text or bytes; or results with calls that wait for
                approval, whose plan is given again.
            provider: Whose it is, where this registry was bound to several of one family.

        Raises:
            ResponseError: It is not a response of any known family.
            UsageError: ``provider`` is needed.
        """
        if isinstance(response, Results):
            from toolshape._dispatch.plan import plan_of  # noqa: PLC0415 - with what is bound

            return plan_of(response)
        bound, given = self._bindings.reader_of(response, provider)
        return bound.plan(given)

    def dispatch(
        self,
        response: Any,
        *,
        provider: "AnyProvider | None" = None,
        **options: "Unpack[RunOptions]",
    ) -> Results:
        """Run every call of a response and answer each. It never raises for what a model or a tool did.

        Args:
            response: The provider's response: SDK object, dict, JSON text or bytes.
            provider: Whose it is, where this registry was bound to several of one family.
            **options: How the calls are run, all by keyword:

                - ``inject``: The values of injected parameters, by name.
                - ``limit``: How many calls run at once, where they do not run one after another.
                - ``on_progress``: Takes each ``Progress`` that a tool reports through its ``CallContext``.
                - ``ledger``: A ``toolshape.ledger.Ledger``, which records the calls that have run.
                - ``scope``: Where these calls were made, for the ledger; see ``Plan.run``.

        Raises:
            ResponseError: It is not a response of any known family.
            UsageError: An injected value is missing, ``provider`` is needed, or a tool is async and a loop runs.
        """
        bound, given = self._bindings.reader_of(response, provider)
        return bound.dispatch(given, **options)

    async def adispatch(
        self,
        response: Any,
        *,
        provider: "AnyProvider | None" = None,
        **options: "Unpack[RunOptions]",
    ) -> Results:
        """The same from a running loop: all calls at once, async tools in the loop, others in threads."""
        bound, given = self._bindings.reader_of(response, provider)
        return await bound.adispatch(given, **options)

    def resume(
        self,
        token: str | bytes,
        key: bytes | str,
        decisions: "Mapping[str, Decision]" = NOTHING_INJECTED,
        *,
        audience: str,
        ledger: "LedgerStore | None" = None,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
        limit: int | None = None,
        on_progress: "OnProgress | None" = None,
    ) -> Results:
        """Run what was decided of a plan that was paused, here or elsewhere, by these tools.

        Calls that nothing was decided of, and calls that were edited and have to be approved of anew, are ``pending``
        in the results: take their plan by ``plan(results)``, and run it or pause it again. What ran before the pause is
        answered by what came of it then, and marked as ``replayed``.

        Args:
            token: What ``Plan.pause`` gave.
            key: The key that it was signed with.
            decisions: By the ids of calls: ``True`` approves; ``Deny(text)`` denies, and the model reads the text; a dict
                of other arguments edits.
            audience: Whom the token was given out for.
            ledger: Where it is written down which calls have run, and that the token was used. Without one, a token can
                be used again until it expires, and its calls run each time.
            inject: The values of injected parameters, by name.
            limit: How many async calls run at once.
            on_progress: Takes each ``Progress`` that a tool reports.

        Raises:
            TokenError: It is not what was given out, for this audience, in time, for these tools, or it was used;
                nothing was run.
            CallError: A tool does not take the arguments that a call was edited to; nothing was run.
            UsageError: A decision is none, or of no call that waits, or the plan cannot be run; nothing was run.
        """
        from toolshape._dispatch import resuming, steps  # noqa: PLC0415 - few plans are paused

        given = token, key, decisions, audience, ledger, self._bindings.resumption_at, inject, limit, on_progress
        return steps.done_here(resuming.resume(resuming.Resumption(*given), steps.HERE))

    async def aresume(
        self,
        token: str | bytes,
        key: bytes | str,
        decisions: "Mapping[str, Decision]" = NOTHING_INJECTED,
        *,
        audience: str,
        ledger: "LedgerStore | None" = None,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
        limit: int | None = None,
        on_progress: "OnProgress | None" = None,
    ) -> Results:
        """The same from a running loop: the calls run as by ``adispatch``, the ledger is asked in threads."""
        from toolshape._dispatch import resuming, steps  # noqa: PLC0415 - the same

        given = token, key, decisions, audience, ledger, self._bindings.resumption_at, inject, limit, on_progress
        return await resuming.resume(resuming.Resumption(*given), steps.IN_LOOP)


def lenient(registry: Registry, name: str | None = None) -> Registry:
    """A registry of its tools, or of one of them, never strict, with the same settings and hooks."""
    tools = [make_tool(one, options_of({"strict": False}), None) for one in registry if name in (None, one.name)]
    return _made_like(store_of(registry).contents, tools)


def _made_like(contents: Contents, tools: Iterable[Tool[..., Any]]) -> Registry:
    made = Registry()
    store_of(made).change(lambda _: contents.holding(tools))
    return made


def replaced(registry: Registry, tools: Iterable[Tool[..., Any]]) -> None:
    """Give a registry other tools, in place of all that it has."""
    store_of(registry).change(lambda held: held.holding(tools))


def _unpickle_registry(tools: list[Tool[..., Any]], options: dict[str, Any]) -> Registry:
    """A registry as it was before it was pickled."""
    return Registry(tools, **options)


store_of: Callable[[Registry], Store] = attrgetter("_store")
"""Returns what a ``Registry`` stands on."""

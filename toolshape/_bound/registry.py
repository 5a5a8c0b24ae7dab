"""Holds an application's tools, exports them, and runs the calls of responses."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from toolshape import _answers, _bound, _plan, _tools
from toolshape._bound.locks import Lock, TakesChange, take_unchanged
from toolshape._bound.selection import join_settings, no_such_tool, select_tools
from toolshape._bound.store import Contents, Store, add_by_name, name_errors
from toolshape._function.annotations import calling_frame
from toolshape._function.calling.call import NOTHING_INJECTED
from toolshape._records.calls import DefaultEffect, JsonObject, Namespace, Strictness
from toolshape._records.errors import DefinitionError, Problem, UsageError, join_errors
from toolshape._records.found import is_search
from toolshape._records.printing import rows_as_html, rows_as_rich
from toolshape._records.report import table
from toolshape._records.shown import shorten
from toolshape._tools import definition as definitions
from toolshape._tools.definition.record import ReadOptions
from toolshape._tools.options import ToolOptions, parse_options
from toolshape._tools.tool import Tool, as_tool, make_tool, make_unread, read_all
from toolshape._validation.coercion import choose_rules

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolshape._answers.output import Output
    from toolshape._bound.bindings import Bindings
    from toolshape._bound.bound import Bound, Observer
    from toolshape._bound.search import Embed
    from toolshape._families.wire.provider import AnyProvider
    from toolshape._plan.approval import Decision
    from toolshape._plan.ledger_store import LedgerStore
    from toolshape._plan.plan import Plan
    from toolshape._plan.results import Results
    from toolshape._plan.run_options import OnProgress, RunOptions
    from toolshape._tools.definition.executor import Executor
    from toolshape._tools.hook_kinds import Hook


P = ParamSpec("P")
R = TypeVar("R")
H = TypeVar("H", bound="Hook")
AnObserver = TypeVar("AnObserver", bound="Observer")


_HEAD = ("tool", "parameters", "description", "effects")


class Registry:
    """The tools of an application, for any provider.

    The imperative methods ``add``, ``add_definitions``, ``tool``, ``around`` and ``observe`` change
    the registry. ``subset``, the participles ``prefixed``, ``renamed`` and ``deferred``, and ``|``
    return a new registry.

    Args:
        tools: Tools, or plain functions, which become tools.
        strict: Whether providers must constrain arguments to the schema, if neither ``bind`` nor
            the tool decides.
        coerce: Coercion rules to switch on or off for all tools, by name; ``False`` switches all
            rules off.
        feedback: How to tell models about invalid arguments: ``"lines"`` sends one line for each
            problem, ``"json"`` sends the model's own JSON with comments at the problems.
        default_effect: How to treat tools that declare none of the effects ``"read"``, ``"write"``
            and ``"destructive"``: ``"write"`` runs their calls alone, in call order.
        outputs: The types of answers that a restored turn may hold; see ``Conversation.from_json``
            and ``resume``. A type that was passed as ``output=`` is known from then on, and needs
            no mention.

    Raises:
        DefinitionError: A function cannot be a tool, or two tools have the same name.
        ValueError: A coercion rule does not exist, or another argument has an invalid value.
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]] = (),
        *,
        strict: Strictness = "auto",
        coerce: Mapping[str, bool] | bool | None = None,
        feedback: Literal["lines", "json"] = "lines",
        default_effect: DefaultEffect = None,
        outputs: "Iterable[Output[Any] | Any]" = (),
    ) -> None:
        choose_rules(coerce)
        if default_effect not in (None, "write"):
            raise ValueError(f'default_effect must be "write" or None, not {default_effect!r}')
        if feedback not in ("lines", "json"):
            raise ValueError(f'feedback must be "lines" or "json", not {feedback!r}')
        if not (strict is True or strict is False or strict == "auto"):
            raise ValueError(f'strict must be True, False or "auto", not {strict!r}')
        frame = calling_frame()
        if callable(tools):
            raise TypeError("Registry takes a list of tools: write Registry([...])")
        tools_by_name = add_by_name({}, [as_tool(entry, frame) for entry in tools])
        contents = Contents(
            strict=strict,
            coerce=coerce,
            feedback=feedback,
            default_effect=default_effect,
            tools=tools_by_name,
            outputs=_read_outputs(outputs),
        )
        self._store = Store(contents)

    @cached_property
    def _bindings(self) -> "Bindings":
        return _bound.bindings.Bindings(self._store)

    def add(self, tool: Tool[..., Any] | Callable[..., Any]) -> Tool[..., Any]:
        """Add a tool; a plain function becomes a tool first.

        Existing ``Bound`` objects do not change.

        Returns:
            The tool.

        Raises:
            DefinitionError: The function cannot be a tool, or the name is taken.
            UsageError: The tool is a method that is not bound to an object.
        """
        return self._add(as_tool(tool, calling_frame()))

    def _add(self, added: Tool[..., Any]) -> Tool[..., Any]:
        self._add_all([added])
        return added

    def _add_all(self, added: Iterable[Tool[..., Any]]) -> None:
        """Add all of these tools, or none. Several threads may add tools at the same time."""
        self._store.change(
            lambda held: replace(held, tools=add_by_name(held.tools, added), bounds={})
        )

    def add_definitions(
        self,
        given: Any,
        functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
        *,
        executor: "Executor | None" = None,
        verbatim: bool = False,
        documents: Mapping[str, Any] = MappingProxyType({}),
        closed: bool = False,
        defaults: Literal["fill", "leave"] | None = None,
        lock: Lock | None = None,
        on_change: TakesChange = "refuse",
        **options: "Unpack[ToolOptions]",
    ) -> list[Tool[..., Any]]:
        """Add tools from definitions in the format of any provider, or from JSON
        Schemas; see ``Tool.from_definition``.

        A schema is read when its tool is first bound, called or looked at. ``check`` reads all of
        them at once.

        Args:
            given: A list of definitions, or an object that contains such a list (a request, MCP's
                list of tools, Gemini's declarations), or the JSON text of such a list or object.
            functions: The functions that run the calls, by the names in the definitions. A tool
                without a function is sent, but its calls cannot run.
            executor: A function ``executor(name, arguments, context)``, sync or async, that runs
                the calls of every tool without a function of its own. ``name`` is the name in the
                definition, ``arguments`` the valid arguments as a dict, ``context`` a
                ``CallContext``.
            verbatim: Whether to send the definitions unchanged to providers that use their format.
            documents: The schemas, or the documents that contain them, to which the definitions
                refer, by URI.
            closed: Whether the objects inside the arguments have no further fields.
            defaults: Whether a field that a model leaves out gets the default in the schema.
            lock: What the tools were when somebody looked at them: a
                ``toolshape.contract.Contract``, or the path of a lock file. Needs the extra
                ``schema``, and reads the schemas now. A tool of which only more calls are accepted
                than before is added. A tool that changed otherwise, in its words, too, is left out,
                and so is a tool that the lock does not have. The log says why, with a call that
                breaks.
            on_change: What decides on such a tool: ``"refuse"``, or a function that takes the
                tool's ``Diff`` and returns whether to add the tool as it is now.
            **options: The options of ``tool``, which apply to all of these tools.

        Returns:
            The tools that were added.

        Raises:
            DefinitionError: A definition is none or has no name, two tools share a name or the form
                in which it is sent, a function cannot be a tool, or has no definition. The error
                names all of these, and no tool is added. A schema that cannot be read is an error
                where it is read: in ``bind`` or ``check``, or here under a lock.
            UsageError: The executor is no function, or the lock cannot be read.
        """
        frame = calling_frame()
        raw_executor: Any = executor
        if raw_executor is not None and not callable(raw_executor):
            raise UsageError(f"executor= must be a function, not {raw_executor!r}")
        requested: list[str] = []

        def choose(name: str) -> Callable[..., Any] | None:
            requested.append(name)
            if executor is None or name in functions:
                return functions.get(name)
            return definitions.executor.function_of(executor, name)

        entries = definitions.build.list_definitions(given)
        read_options = ReadOptions(definitions.build.read_documents(documents), closed, defaults)
        new_tools: list[Tool[..., Any]] = []
        errors: list[DefinitionError] = []
        for entry in entries:
            try:
                made = make_unread(entry, choose, verbatim, options, frame, read_options)
            except DefinitionError as error:
                errors.append(error)
            else:
                new_tools.append(made)
        for name in sorted(functions.keys() - set(requested)):
            message = f"there is no definition for {name!r}"
            problem = Problem(path="functions", rule="no_definition", message=message)
            errors.append(
                DefinitionError(tool=name, location="add_definitions", problems=[problem])
            )
        errors += name_errors(self._tools, new_tools)
        if errors:
            raise join_errors(errors) from errors[0].__cause__
        new_tools = take_unchanged(new_tools, lock, on_change)
        self._add_all(new_tools)
        return new_tools

    def search(self, *, k: int = 8, embed: "Embed | None" = None) -> Tool[..., Any]:
        """Return a tool, ``tool_search``, with which a model finds the tools of this registry.

        Add it to what you bind, under any name. Anthropic and OpenAI's Responses API load what it
        finds: mark the tools as ``deferred``, and the request keeps its prefix, so the cache keeps
        it, too. Other providers get the names and descriptions as a text. It searches the tools
        that the registry has at that moment; called by a model, it finds those that the request
        holds. In a ``Conversation``, three searches without a call end it.

        Args:
            k: How many tools it returns at most.
            embed: A function that returns the vectors of texts. Tools are then ranked by the cosine
                of their vectors and not by their words.

        Raises:
            UsageError: ``k`` is no number of tools.
        """
        return make_tool(
            _bound.search.ToolSearch(lambda: list(self), k, embed),
            parse_options({"effects": ["read"]}),
            None,
        )

    def check(self) -> None:
        """Read the definitions of all tools now.

        Otherwise ``bind`` reads them, or the first use of a tool.

        Raises:
            DefinitionError: Some cannot be read; the error names all of them, with every problem.
                The registry stays as it was.
        """
        read_all(self)

    @overload
    def tool(self, function: Callable[P, R], /) -> Tool[P, R]: ...
    @overload
    def tool(
        self, function: None = None, /, **options: "Unpack[ToolOptions]"
    ) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
    def tool(self, function: Any = None, /, **options: "Unpack[ToolOptions]") -> Any:
        """Turn a function into a tool and add it: ``@tools.tool`` or
        ``@tools.tool(...)``; see ``toolshape.tool``.
        """
        chosen = parse_options(options)
        if function is None:
            return lambda decorated: self._add(make_tool(decorated, chosen, calling_frame()))
        return self._add(make_tool(function, chosen, calling_frame()))

    def around(self, hook: H) -> H:
        """Add a hook around every call that runs, for example for logging,
        permissions, caches or retries.

        Decorate hooks with ``@registry.around``. The first hook is outermost. Existing ``Bound``
        objects do not change. Hooks do not see rejected calls (unknown tool, invalid or truncated
        arguments). Each call has exactly one answer:

        - If the hook returns a ``Result``, the answer is that result: the result of ``proceed()``,
          or another result, for example ``context.result(value)``.
        - If the hook returns ``None``, the answer is the last result of ``proceed()``. If the hook
          never called ``proceed``, or returned any other value, the answer is ``tool_crashed``, and
          the log names the hook.
        - If the hook raises ``ToolError``, the model reads the error's text. If it raises
          ``CallError`` (as ``Result.unwrap`` does), the answer is that error. Any other exception
          is logged, and the model reads ``tool_crashed``.
        - Each ``proceed()`` runs the inner hooks and the tool again, as the next ``attempt``.

        Args:
            hook: A function ``hook(context, proceed)``. A ``def`` hook works under ``run`` and
                ``dispatch``. An ``async def`` hook awaits ``proceed()``, and works under ``run``,
                ``dispatch``, ``arun`` and ``adispatch``. Under ``run``, a ``def`` hook makes all
                calls run one after another; if all hooks are async, the calls share one event loop,
                and plain tools run in worker threads.

        Returns:
            The hook itself, so ``around`` works as a decorator.

        Raises:
            UsageError: The hook cannot be called with a context and ``proceed``.
        """
        raw_hook: Any = hook
        _tools.hook_kinds.check_is_hook(raw_hook)
        self._store.change(lambda held: replace(held, hooks=(*held.hooks, raw_hook), bounds={}))
        return hook

    def observe(self, observer: AnObserver) -> AnObserver:
        """Add an observer of whole responses, such as
        ``toolshape.trace.record_to(path)`` or a counter of your own.

        Its method ``observe(bound, observed)`` receives each response once all calls are answered
        or rejected. If calls wait for approval, it also receives the response when they begin to
        wait. The observer cannot change an answer: an exception that it raises is logged. Existing
        ``Bound`` objects do not change.

        Args:
            observer: An object with the method ``observe``; see ``toolshape.trace.Observer``.

        Returns:
            The observer itself.

        Raises:
            UsageError: The observer has no method ``observe``.
        """
        raw_observer: Any = observer
        if not isinstance(raw_observer, _bound.bound.Observer):
            raise UsageError(
                "observe takes an object with the method observe(bound, observed), not "
                f"{raw_observer!r}"
            )
        self._store.change(
            lambda held: replace(held, observers=(*held.observers, raw_observer), bounds={})
        )
        return observer

    def __getitem__(self, name: str) -> Tool[..., Any]:
        if name not in self._tools:
            raise no_such_tool(name, self._tools)
        return self._tools[name]

    def __contains__(self, tool: object) -> bool:
        """Whether the registry has this tool, or a tool of this name."""
        if isinstance(tool, str):
            return tool in self._tools
        return any(tool == own_tool for own_tool in self)

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __reduce__(self) -> Any:
        contents = self._store.contents
        # A type that pickle cannot name, such as a local class, is not known in the other process.
        used = {
            key: use if is_picklable(use.output) else use._replace(output=None)
            for key, use in contents.used.items()
        }
        outputs = tuple(filter(is_picklable, contents.outputs))
        return (
            _unpickle_registry,
            (list(contents.tools.values()), contents.settings()),
            (used, contents.hooks, contents.observers, outputs),
        )

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        used, hooks, observers, *outputs = state  # an older pickle has no outputs
        # Keep the providers that were bound: they decide which provider reads a response.
        self._store.change(
            lambda held: replace(
                held,
                used=used,
                hooks=hooks,
                observers=observers,
                outputs=outputs[0] if outputs else (),
            )
        )

    def __repr__(self) -> str:
        return f"Registry({list(self._tools)})"

    def __str__(self) -> str:
        """Return a table of the tools: name, parameters, description, effects."""
        if self._tools:
            return table(_HEAD, self._rows())
        return "no tools"

    def _repr_html_(self) -> str:
        return rows_as_html(_HEAD, self._rows())

    def __rich__(self) -> Any:
        """Return the table of the tools for rich."""
        return rows_as_rich(_HEAD, self._rows())

    def _rows(self) -> list[list[str]]:
        return [
            [
                tool.name,
                ", ".join(tool.spec.parameters.get("properties", {})),
                shorten(tool.description, is_json=True),
                ", ".join(sorted(tool.effects)),
            ]
            for tool in self
        ]

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
        """Return a new registry with the current tools that have one of
        the names and one of the tags.

        Args:
            names: Names, or patterns such as ``"gh_*"``. ``None`` matches every name.
            tags: Tags. ``None`` matches every tool.
            exclude: Names or patterns of tools to leave out.

        Raises:
            KeyError: A name, a pattern or a tag matches no tool.
        """
        return self._copy_with_tools(select_tools(self, names, tags, exclude))

    def prefixed(self, prefix: str) -> "Registry":
        """Return a new registry with the current tools, each named ``{prefix}_{name}``.

        Raises:
            UsageError: The prefix is not a string, or is empty.
        """
        raw_prefix: Any = prefix
        if not isinstance(raw_prefix, str) or not raw_prefix:
            raise UsageError(f"a prefix must be a non-empty string, not {prefix!r}")
        return self.renamed({name: f"{prefix}_{name}" for name in self._tools})

    def renamed(self, names: Mapping[str, str]) -> "Registry":
        """Return a new registry with the current tools, some of them renamed.

        Args:
            names: A mapping from current names to new names.

        Raises:
            KeyError: A current name is not in this registry.
            DefinitionError: Two tools would have the same name.
        """
        for name in names:
            _ = self[name]
        return self._copy_with_tools(
            make_tool(tool, parse_options({"name": names[tool.name]}), None)
            if tool.name in names
            else tool
            for tool in self
        )

    def deferred(
        self, names: Collection[str] | None = None, *, namespace: Namespace | None = None
    ) -> "Registry":
        """Return a new registry in which some of the tools are deferred: they load
        when a model's search finds them.

        Args:
            names: Names or patterns of the tools to defer. ``None`` defers all, but for the tool
                that searches them.
            namespace: The group of the deferred tools, for providers that group tools; see
                ``deferred`` in ``tool``.

        Raises:
            KeyError: A name or pattern matches no tool.
        """
        chosen = {tool.name for tool in select_tools(self, names) if not is_search(tool)}
        options = parse_options({"deferred": namespace or True})
        return self._copy_with_tools(
            make_tool(tool, options, None) if tool.name in chosen else tool for tool in self
        )

    def __or__(self, other: "Registry") -> "Registry":
        """Return a new registry with the current tools of both registries.

        The hooks and observers of both apply to every call; the hooks of the first registry are
        outermost. If only one registry changes a setting from its default, this setting applies to
        all tools.

        Raises:
            DefinitionError: Two tools have the same name. Use ``prefixed`` on one of the
                registries.
            UsageError: Both registries change the same setting, to different values.
        """
        raw_other: Any = other
        if not isinstance(raw_other, Registry):
            return NotImplemented
        own_contents, other_contents = self._store.contents, store_of(raw_other).contents
        joined = Registry(
            [*self, *raw_other], **join_settings(own_contents.settings(), other_contents.settings())
        )
        hooks = (
            *own_contents.hooks,
            *(hook for hook in other_contents.hooks if hook not in own_contents.hooks),
        )
        observers = (
            *own_contents.observers,
            *(
                observer
                for observer in other_contents.observers
                if observer not in own_contents.observers
            ),
        )
        used = {**other_contents.used, **own_contents.used}
        store_of(joined).change(
            lambda held: replace(held, used=used, hooks=hooks, observers=observers)
        )
        return joined

    def on_change(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call a function after each change to this registry's tools or hooks, in
        the thread that makes the change.

        Args:
            listener: A function without parameters.

        Returns:
            A function that removes the listener.
        """
        store = self._store
        with store.lock:
            store.listeners = (*store.listeners, listener)

        def end() -> None:
            with store.lock:
                store.listeners = tuple(
                    existing for existing in store.listeners if existing is not listener
                )

        return end

    def _copy_with_tools(self, tools: Iterable[Tool[..., Any]]) -> "Registry":
        """Return a new registry with other tools, and the settings and hooks of this registry."""
        return _copy_of_contents(self._store.contents, tools)

    def bind(
        self,
        provider: "AnyProvider",
        strict: Strictness | None = None,
        *,
        text_calls: str | None = None,
        output: "Output[Any] | Any" = None,
    ) -> "Bound":
        """Bind the current tools to a provider: convert the tools, and check
        that the provider supports them.

        Args:
            provider: The provider.
            strict: Whether the provider must constrain arguments to the schema: ``True``,
                ``False``, or ``"auto"``. The default is the registry's ``strict``. A tool's own
                ``strict`` takes precedence.
            text_calls: The format of calls that the server may leave in the text of a response,
                such as ``"hermes"``. These calls are read and run as if the server had parsed them.
                ``toolshape.text.formats()`` lists the formats.
            output: The type of the model's answer when the model calls no tools: an ``Output``, or
                a type that becomes an ``Output``. ``Results.output`` holds the answer. If the
                provider accepts no answer schema beside tools, the schema is sent as one more tool,
                and the report says so.

        Returns:
            The bound tools, which are immutable. The same object is returned until the registry
            changes.

        Raises:
            ExportError: The provider is unknown, does not support one of the tools or the output,
                or has no strict form. Or the text format is unknown, or the provider's servers
                leave no calls in text.
            DefinitionError: ``output`` has no JSON Schema. Or some of the definitions that were
                added cannot be read; the error names all of them.
            UsageError: ``strict`` is not ``True``, ``False`` or ``"auto"``.
        """
        return self._bindings.bind(provider, strict, text_calls, output)

    def export(self, provider: "AnyProvider", *, strict: Strictness | None = None) -> list[Any]:
        """Return the list for ``tools=`` in the provider's SDK; see ``bind`` and
        ``Bound.export``.
        """
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
        output: "Output[Any] | Any" = None,
    ) -> JsonObject:
        """Return a request's keyword arguments for tools and the answer; see
        ``bind`` and ``Bound.request``.

        ``plan`` and ``dispatch`` read the next response in this provider's format with the tools of
        this request.
        """
        bound = self.bind(provider, strict, output=output)
        request = bound.request(choice=choice, parallel=parallel, model=model, native=native)
        self._bindings.put_last(bound, strict, output)
        return request

    def plan(
        self, response: Any, *, provider: "AnyProvider | None" = None, context: Any = None
    ) -> "Plan":
        """Validate the calls of a response without running them: the plan can approve,
        deny, edit, run and pause calls.

        Args:
            response: The provider's response: SDK object, dict, JSON text or bytes. Or pass results
                with calls that wait for approval, to get the plan of these results.
            provider: The provider of the response. It is required if the registry was bound to
                several providers that read the response differently.
            context: What validators of arguments read as ``info.context``; it is never stored.

        Raises:
            ResponseError: The response is not in any known format.
            UsageError: ``provider`` is required.
        """
        if isinstance(response, _plan.results.Results):
            return _plan.plan.plan_of(response)
        bound, readable_response = self._bindings.reader_of(response, provider)
        return bound.plan(readable_response, context=context)

    def dispatch(
        self,
        response: Any,
        *,
        provider: "AnyProvider | None" = None,
        context: Any = None,
        **options: "Unpack[RunOptions]",
    ) -> "Results":
        """Run every call in a response, and return one result for each call.

        Mistakes by the model and exceptions from tools become results; this method never raises
        them.

        Args:
            response: The provider's response: SDK object, dict, JSON text or bytes.
            provider: The provider of the response. It is required if the registry was bound to
                several providers that read the response differently.
            context: What validators of arguments read as ``info.context``; it is never stored.
            **options: How to run the calls, all by keyword:

                - ``inject``: The values of injected parameters, by name.
                - ``limit``: How many calls run at once: under ``dispatch`` and ``Plan.run`` of the
                  async tools, under ``adispatch`` and ``Plan.arun`` of all, in the loop and in
                  threads together.
                - ``on_progress``: Called with each ``Progress`` that a tool reports through its
                  ``CallContext``, in the thread in which the tool runs.
                - ``ledger``: A ``toolshape.ledger.Ledger``, which records the calls that have run,
                  so no call runs twice. Under ``adispatch``, threads read and write it.
                - ``scope``: A name within which the ids of calls are unique, for example a
                  conversation and a turn. Without a scope, the provider's ids must be unique
                  everywhere, and the ledger ignores a call to which the provider gave no id.

        Raises:
            ResponseError: The response is not in any known format.
            UsageError: An injected value is missing, ``provider`` is required, or a tool is async
                and an event loop is running.
        """
        bound, readable_response = self._bindings.reader_of(response, provider)
        return bound.dispatch(readable_response, context=context, **options)

    async def adispatch(
        self,
        response: Any,
        *,
        provider: "AnyProvider | None" = None,
        context: Any = None,
        **options: "Unpack[RunOptions]",
    ) -> "Results":
        """Like ``dispatch``, for a running event loop; async tools run in parallel
        in the loop, others in threads.
        """
        bound, readable_response = self._bindings.reader_of(response, provider)
        return await bound.adispatch(readable_response, context=context, **options)

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
        context: Any = None,
        output: "Output[Any] | Any" = None,
    ) -> "Results":
        """Resume a paused plan with these tools: apply the decisions,
        and run the calls that may run.

        If a call has no decision, or if its edited arguments need approval, it is ``pending`` in
        the results. Pass the results to ``plan``, then run or pause that plan. Calls that ran
        before the pause return their recorded results, marked as ``replayed``.

        Args:
            token: The token that ``Plan.pause`` returned, in this or another process.
            key: The key that signed the token.
            decisions: The decisions, by the ids of the calls. ``True`` approves a call.
                ``Deny(text)`` denies the call, and the model reads the text. A dict replaces the
                arguments of the call.
            audience: The audience for which the token was made.
            ledger: Records the calls that have run, and the use of the token. Without a ledger, a
                token can be used again until it expires, and its calls run each time.
            inject: As for ``dispatch``, like ``limit`` and ``on_progress``.
            limit: As there.
            on_progress: As there.
            context: What validators of arguments read as ``info.context``; a token does not hold
                it.
            output: The type of the answer that the plan holds, if these tools do not know it. Only
                ``Results.output`` needs it.

        Raises:
            TokenError: The token is invalid, expired or used, or was made for another audience; or
                a decision lets a call run whose tool is not here, or would get other arguments than
                were shown. No call ran.
            CallError: The edited arguments of a call are invalid. No call ran.
            UsageError: A decision is invalid or names no waiting call, or the plan cannot run. No
                call ran.
        """
        options = {
            "inject": inject,
            "limit": limit,
            "on_progress": on_progress,
            "context": context,
            "output": output,
        }
        given = token, key, decisions, audience, ledger
        resumption = self._bindings.resumption(given, options)
        return _plan.steps.run_here(_plan.resuming.resume(resumption, _plan.steps.HERE))

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
        context: Any = None,
        output: "Output[Any] | Any" = None,
    ) -> "Results":
        """Like ``resume``, for a running event loop: calls run as in ``adispatch``,
        and the ledger runs in threads.
        """
        options = {
            "inject": inject,
            "limit": limit,
            "on_progress": on_progress,
            "context": context,
            "output": output,
        }
        given = token, key, decisions, audience, ledger
        resumption = self._bindings.resumption(given, options)
        return await _plan.resuming.resume(resumption, _plan.steps.IN_LOOP)


def without_strict(registry: Registry, name: str | None = None) -> Registry:
    """Return a copy of a registry with all tools, or only the named tool;
    no tool in the copy is strict.
    """
    tools = [
        make_tool(tool, parse_options({"strict": False}), None)
        for tool in registry
        if name in (None, tool.name)
    ]
    return _copy_of_contents(store_of(registry).contents, tools)


def _read_outputs(outputs: Any) -> "tuple[Output[Any], ...]":
    """Return the outputs that a registry is told of.

    Raises:
        TypeError: The value is not a list of types and outputs.
        DefinitionError: A type has no JSON Schema.
    """
    if isinstance(outputs, type) or not isinstance(outputs, Iterable):
        raise TypeError("outputs= takes a list of types: write outputs=[...]")
    given = list(outputs)
    if not given:
        return ()
    output = _answers.output.Output
    return tuple(one if isinstance(one, output) else output(one) for one in given)


def _copy_of_contents(contents: Contents, tools: Iterable[Tool[..., Any]]) -> Registry:
    registry = Registry()
    store_of(registry).change(lambda _: contents.holding(tools))
    return registry


def replace_tools(registry: Registry, tools: Iterable[Tool[..., Any]]) -> None:
    """Replace all tools of a registry."""
    store_of(registry).change(lambda held: held.holding(tools))


def is_picklable(value: Any) -> bool:
    """Whether pickle can name a value, such as a type that a module defines."""
    if value is None:
        return True
    import pickle  # noqa: PLC0415 - only a registry that is pickled needs it

    try:
        pickle.dumps(value)
    except Exception:  # a class may refuse to be pickled in any way
        return False
    return True


def _unpickle_registry(tools: list[Tool[..., Any]], options: dict[str, Any]) -> Registry:
    """Return the pickled registry; ``__setstate__`` adds its hooks, observers and providers."""
    return Registry(tools, **options)


store_of: Callable[[Registry], Store] = attrgetter("_store")
"""Returns the ``Store`` of a ``Registry``."""
bindings_of: Callable[[Registry], "Bindings"] = attrgetter("_bindings")
"""Returns the ``Bindings`` of a ``Registry``."""

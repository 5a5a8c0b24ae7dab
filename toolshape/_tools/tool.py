"""Makes a function a tool for models, and keeps it callable from Python."""

import functools
import inspect
import sys
import types
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

from pydantic import BaseModel

from toolshape import _tools
from toolshape._function import calling, signature as signatures
from toolshape._function.annotations import calling_frame, signature
from toolshape._function.calling.call import NOTHING_INJECTED
from toolshape._function.calling.failures import as_call_error, validation_error
from toolshape._function.calling.returned import is_async
from toolshape._function.invoke import Invoke
from toolshape._records.calls import (
    Effect,
    Finding,
    Grammar,
    JsonObject,
    JsonSchema,
    Spec,
    Strictness,
)
from toolshape._records.context import Cancellation
from toolshape._records.errors import DefinitionError, UsageError, join_errors
from toolshape._records.shown import escape_invisible
from toolshape._schema.values import copy_json
from toolshape._tools import definition as definitions
from toolshape._tools.definition.record import Choose, ReadOptions, SchemaDefinition
from toolshape._tools.options import (
    Options,
    ToolOptions,
    changed_options,
    parse_options,
    refuse_invalid_options,
)
from toolshape._tools.record import (
    Binding,
    Record,
    add_context,
    check_examples,
    check_free_text,
    check_validation_of_results,
    refuse_uncallable,
)
from toolshape._tools.source import DefinitionSource, FunctionSource
from toolshape._validation import text_grammar

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolshape._families.wire.provider import AnyProvider


P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R", covariant=True)  # noqa: PLC0105 - users see this name in their editor
S = TypeVar("S")
T = TypeVar("T")


Arguments: TypeAlias = str | bytes | Mapping[str, Any] | None
"""A model's arguments: JSON text, or a mapping."""


class _SignatureOfFunction:
    """Provides ``__signature__`` for ``inspect.signature``, on instances only: the
    class keeps its own signature.
    """

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")
        if instance.function is None:
            names = [
                name for name in instance.input_schema.get("properties", ()) if name.isidentifier()
            ]
            return inspect.Signature(
                [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
            )
        return signature(instance.function)


class Tool(Generic[P, R]):
    """A function that models can call: call it from Python as before, export it,
    or pass it a model's arguments.

    ``tool`` makes a ``Tool``. If the function is a method, accessing the tool through an object
    binds it to that object.
    """

    __signature__ = _SignatureOfFunction()

    def __init__(
        self, record: "Record | UnreadTool", origin: "Tool[..., Any] | None" = None
    ) -> None:
        if isinstance(record, Record):
            self._record = record
        else:
            self._unread = record  # the first look at ``_record`` reads the definition
        self.function: Callable[P, R] | None = record.function
        self._origin = origin  # the unbound tool, if this tool is bound
        if origin is not None:
            self.__doc__ = origin.__doc__
        elif record.function is not None:
            self._imitate(record.function)

    def _imitate(self, function: Any) -> None:
        """Make ``inspect`` treat this tool like the function."""
        functools.update_wrapper(cast("Callable[..., Any]", self), function, updated=())
        inner = signatures.innermost_function(function)
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner):
            # With these attributes, inspect and asyncio recognise a coroutine function.
            self.__dict__.setdefault(
                "__name__", getattr(inner, "__name__", type(function).__name__)
            )
            for attribute in ("__code__", "__defaults__", "__kwdefaults__"):
                setattr(self, attribute, getattr(inner, attribute, None))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, as if it had no decorator."""
        if self.function is None:
            raise UsageError(
                f"{self.name} was made from a definition, without a function: there is nothing "
                "to call"
            )
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> "Tool[..., R]": ...
    @overload
    def __get__(
        self: "Tool[Concatenate[type[S], Rest], R]", instance: S, owner: type[Any] | None = None
    ) -> "Tool[Rest, R]": ...
    @overload
    def __get__(
        self: "Tool[Concatenate[S, Rest], R]", instance: S, owner: type[Any] | None = None
    ) -> "Tool[Rest, R]": ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> "Tool[P, R]": ...
    def __get__(self, instance: Any, owner: type[Any] | None = None) -> "Tool[..., Any]":
        """Return this tool bound to an object, as Python does with a plain function."""
        record = self._record
        if record.binding == "to_class":
            subject = owner
        else:
            subject = instance
        if subject is None or record.binding == "never":
            return self
        return Tool(record.bound_to(subject), self)

    if not TYPE_CHECKING:  # type checkers can then report misspelt names

        def __getattr__(self, name: str) -> Any:
            if name == "_record":
                return _read_now(self)
            # A bound tool takes missing attributes from the unbound tool.
            origin = self.__dict__.get("_origin")
            if origin is None:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            return getattr(origin, name)

    def __eq__(self, other: object) -> bool:
        if self._origin is None:
            return self is other
        return (
            isinstance(other, Tool)
            and other._origin is self._origin
            and other.function == self.function
        )

    def __hash__(self) -> int:
        if self._origin is None:
            return object.__hash__(self)
        return hash(self.function)

    def __set_name__(self, owner: type[Any], name: str) -> None:
        # Only this hook proves that the function is a method: the first parameter of a method can
        # have any name.
        record = self._record
        qualified_name = getattr(self.function, "__qualname__", None)
        is_method = (
            record.binding == "to_object" and qualified_name == f"{owner.__qualname__}.{name}"
        )
        if is_method and not record.needs_object:
            self._record = record.in_class()
            self.__dict__.pop("call", None)

    def __copy__(self) -> "Tool[P, R]":
        return self

    def __deepcopy__(self, memo: Any) -> "Tool[P, R]":
        return self

    def __reduce__(self) -> "str | tuple[Any, ...]":
        # Tools are pickled by name, like functions and methods. If there is no name, or if the name
        # leads to the wrapped function instead of the tool, the function is pickled with the
        # options.
        record = self._record
        if self._origin is not None:
            method = cast("types.MethodType", self.function)
            return getattr, (method.__self__, method.__name__)
        if isinstance(record.source, DefinitionSource):
            definition = record.source.definition
            parts = (definition.entry, record.function, record.options, definition.read_options)
            return _unpickle_definition_tool, parts
        function = self.function
        if not isinstance(function, types.FunctionType):
            return _unpickle_tool, (function, record.options)
        target: Any = sys.modules.get(function.__module__)
        for attribute in function.__qualname__.split("."):
            target = getattr(target, attribute, None)
        if target is self:
            return function.__qualname__
        if target is function:
            return _unpickle_tool, (function, record.options)
        qualified_name = f"{function.__module__}.{function.__qualname__}"
        raise TypeError(
            f"the tool {self.name!r} cannot be pickled: {qualified_name} is not its function"
        )

    def __repr__(self) -> str:
        return f"<tool {escape_invisible(self.name)}>"

    @property
    def name(self) -> str:
        """The name by which models call the tool."""
        unread: UnreadTool | None = vars(self).get("_unread")
        if unread is None:
            return self._record.name
        return unread.name

    @property
    def title(self) -> str | None:
        """The name that people see, or ``None``."""
        return self._record.options.title

    @property
    def description(self) -> str:
        """The text that models read: ``description=`` of ``tool``, or the docstring's
        text and sections for callers.
        """
        explicit_description = self._record.options.description
        if explicit_description is None:
            return self._record.definition.description
        return explicit_description

    @property
    def effects(self) -> frozenset[Effect]:
        """The effects of a call that the author declared, such as ``"read"`` or ``"write"``."""
        return self._record.options.effects

    @property
    def tags(self) -> frozenset[str]:
        """Labels for ``Registry.subset``."""
        unread: UnreadTool | None = vars(self).get("_unread")
        if unread is None:
            return self._record.options.tags
        return unread.tags

    @property
    def timeout(self) -> float | None:
        """The seconds after which an unfinished call is answered with an error,
        if an event loop runs the tool.
        """
        return self._record.options.timeout

    @property
    def strict(self) -> Strictness | None:
        """Whether providers must constrain the arguments to the schema; if
        ``None``, the registry decides.
        """
        return self._record.options.strict

    @property
    def coerce(self) -> Mapping[str, bool] | bool | None:
        """The coercion rules that this tool switches on or off."""
        return self._record.options.coerce

    @property
    def model(self) -> type[BaseModel]:
        """The pydantic model that provides the schema and validates the arguments of every call.

        Raises:
            UsageError: The tool was made from a definition, whose JSON Schema validates the
                arguments.
        """
        return self._record.source.model()

    @property
    def input_schema(self) -> JsonSchema:
        """The canonical JSON Schema (2020-12) of the arguments, as a copy."""
        return cast("JsonSchema", copy_json(self._record.definition.schema))

    @property
    def output_schema(self) -> JsonSchema | None:
        """The JSON Schema of the result, as a copy; ``None`` if the return
        annotation does not describe the result.
        """
        schema = self._record.output.schema
        return None if schema is None else copy_json(schema)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Points that the author should review, although the tool works,
        such as an undescribed parameter.
        """
        findings = self._record.definition.findings + self._record.output.findings
        if self._record.options.description:
            findings = tuple(finding for finding in findings if finding.rule != "undescribed")
        if isinstance(self._record.options.free_text, Grammar):
            findings += text_grammar.unchecked_grammar(self._record.options.free_text)
        if self._record.options.timeout is not None and not is_async(self._record.definition.kind):
            findings += (
                Finding(path="timeout", rule="timeout_not_kept", message=_TIMEOUT_NOT_KEPT),
            )
        return findings

    @property
    def spec(self) -> Spec:
        """The canonical record of the tool, from which the entry for each provider is made.

        It has no output schema if results are cut (``longest_result``) or marked (``untrusted``).
        """
        options = self._record.options
        return Spec(
            name=self.name,
            title=self.title,
            description=self.description,
            parameters=self.input_schema,
            output=None
            if options.untrusted or options.longest_result is not None
            else self.output_schema,
            examples=options.examples,
            effects=self.effects,
            keys=options.providers,
            verbatim=self._record.verbatim,
            deferred=options.deferred,
            is_closed=self._record.source.is_closed,
            free_text=options.free_text,
        )

    @classmethod
    def from_definition(
        cls,
        definition: Any,
        function: Callable[..., Any] | None = None,
        /,
        *,
        verbatim: bool = False,
        documents: Mapping[str, Any] = MappingProxyType({}),
        closed: bool = False,
        defaults: Literal["fill", "leave"] | None = None,
        **options: "Unpack[ToolOptions]",
    ) -> "Tool[..., Any]":
        """Make a tool from a definition in the format of any provider, or from a JSON Schema.

        The tool can be sent to every provider. Its own schema validates the arguments; coercion and
        error messages are the same as for other tools. This method needs the extra ``schema``.

        Args:
            definition: A dict, an SDK object or JSON text: a definition for OpenAI, Anthropic,
                Gemini, Bedrock, MCP, Mistral, Cohere or Ollama, a bare JSON Schema (with
                ``name=``), or a format that test sets or registries use. The structure of the
                definition determines the format.
            function: The function that runs the calls. It receives all arguments and injected
                values by keyword. Without a function, the tool is sent and its calls are planned,
                but they cannot run.
            verbatim: Whether to send the definition unchanged, and ignore the options, for
                providers that use its format. A definition that the provider would reject still
                raises ``ExportError``.
            documents: The schemas, or the documents that contain them, to which the definition
                refers, by URI. Nothing is fetched.
            closed: Whether the objects inside the arguments have no further fields, although the
                schema does not say so. The strict form of the schema then says it, so that
                ``strict="auto"`` can be strict. The object of all arguments is always closed there.
                Calls are validated by the schema as written.
            defaults: Whether a field that a model leaves out gets the default in the schema. If not
                given, it does if the tool has a function. A tool without a function is a relay: its
                server has its own defaults, and for many servers a field that is left out means
                that nothing changes.
            **options: The options of ``tool``; they take precedence over the definition.

        Raises:
            DefinitionError: The format is unknown, the schema is invalid, or the function does not
                match the schema.
            ImportError: The extra ``schema`` is not installed.
        """
        return make_from_definition(
            definition,
            lambda _: function,
            verbatim,
            options,
            calling_frame(),
            ReadOptions(definitions.build.read_documents(documents), closed, defaults),
        )

    @overload
    def call(
        self: "Tool[..., Coroutine[Any, Any, T]]",
        arguments: Arguments,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
    ) -> T: ...
    @overload
    def call(
        self: "Tool[..., AsyncIterator[T]]",
        arguments: Arguments,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
    ) -> list[T]: ...
    @overload
    def call(
        self: "Tool[..., Iterator[T]]",
        arguments: Arguments,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
    ) -> list[T]: ...
    @overload
    def call(self, arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> R: ...
    def call(self, arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Any:
        """Validate a model's arguments, call the function, and return its value.

        Args:
            arguments: JSON text, or a mapping. The tool's coercion rules apply.
            inject: The values of injected parameters, by name.

        Raises:
            CallError: The arguments are invalid, or the call needs approval; the function did not
                run. Or the function failed; ``__cause__`` is the original exception.
            UsageError: An injected value is missing, or the tool is async and an event loop is
                running. The function did not run.
        """
        call = self._record.call
        if type(self) is Tool and self._origin is None:  # the next ``call`` skips this frame
            self.__dict__["call"] = types.MethodType(
                functools.update_wrapper(call, Tool.call), self
            )
        return call(self, arguments, inject=inject)

    @overload
    async def acall(
        self: "Tool[..., Coroutine[Any, Any, T]]",
        arguments: Arguments,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
    ) -> T: ...
    @overload
    async def acall(
        self: "Tool[..., AsyncIterator[T]]",
        arguments: Arguments,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
    ) -> list[T]: ...
    @overload
    async def acall(
        self: "Tool[..., Iterator[T]]",
        arguments: Arguments,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
    ) -> list[T]: ...
    @overload
    async def acall(
        self, arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> R: ...
    async def acall(
        self, arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> Any:
        """Like ``call``, for a running event loop: an async tool runs in the
        loop, any other tool in a thread.
        """
        calling.aio.require_loop()
        record = self._record
        refuse_uncallable(record, inject)
        try:
            validated, _ = record.validate_for_call(arguments)
        except BaseException as error:
            call_error = validation_error(error, tool=self.name)
            raise call_error from call_error.__cause__
        cancellation = Cancellation()
        try:
            inject = add_context(record, self, validated, inject, cancellation)
            kind, invoke, limit, given_up = (
                record.definition.kind,
                record.invoke,
                record.limit,
                cancellation.cancel,
            )

            def run(invoke: Invoke) -> Coroutine[Any, Any, Any]:
                return calling.aio.run_async(
                    kind, invoke, validated, inject, self.timeout, None, given_up
                )

            if limit is None:
                work = run(invoke)
            else:
                work = calling.limited.run_in_turn(limit, kind, invoke, run)
            return await calling.aio.run_alone(work, given_up)
        except BaseException as error:
            cancellation.cancel()
            raise as_call_error(error, tool=self.name, timeout=self.timeout) from error

    def export(self, provider: "AnyProvider", *, strict: Strictness | None = None) -> JsonObject:
        """Return this tool as one entry of the provider's list of tools.

        Args:
            provider: The provider that receives the entry.
            strict: Whether the provider must constrain the arguments to the schema. The default is
                the tool's own ``strict``, or ``"auto"``.

        Raises:
            ExportError: The provider does not support this tool, or has no strict form.
        """
        from toolshape import _families as providers  # noqa: PLC0415 - only exports need it

        strictness = self.strict if strict is None else strict
        return _tools.export.to_wire(
            providers.get(provider), self.spec, "auto" if strictness is None else strictness
        ).payload


def is_read(tool: Tool[..., Any]) -> bool:
    """Whether the schema of a tool is known: one from ``add_definitions``
    is read when it is first used.
    """
    return "_unread" not in vars(tool)


def _read_now(tool: Tool[..., Any]) -> Record:
    """Read the definition of a tool that was not used yet.

    Two threads may read it at the same time: the first record is the one that both get.

    Raises:
        DefinitionError: The definition cannot be read. The tool stays as it was.
    """
    attributes = vars(tool)
    unread: UnreadTool | None = attributes.get("_unread")
    if unread is not None:
        attributes.setdefault("_record", unread.read())
        attributes.pop("_unread", None)
    record: Record = attributes["_record"]
    return record


_TIMEOUT_NOT_KEPT = (
    "a plain function cannot be stopped: the timeout holds under adispatch and arun, but not "
    "under dispatch"
)
record_of: Callable[[Tool[..., Any]], Record] = attrgetter("_record")
"""Returns the ``Record`` of a ``Tool``, for the modules that export and run it."""
_origin_of: Callable[[Tool[..., Any]], Any] = attrgetter("_origin")


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    function: None = None, /, **options: "Unpack[ToolOptions]"
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Any = None, /, **options: "Unpack[ToolOptions]") -> Any:
    """Make a function a tool, as ``@tool`` or ``@tool(...)``; the function
    can still be called from Python.

    Args:
        function: A function, method, staticmethod, classmethod, ``functools.partial`` or callable
            object, sync or async. The result of a generator is the list of the values that it
            yields.
        **options: The options, all by keyword:

            - ``name``: The name by which models call the tool. The default is the function's name.
            - ``title``: The name that people see.
            - ``description``: The text that models read, instead of the docstring's text and
              sections for callers.
            - ``strict``: Whether providers must constrain the arguments to the schema: ``True``,
              ``False``, or ``"auto"`` (strict only if every schema change for the strict form is
              harmless). By default the registry decides.
            - ``coerce``: Coercion rules to switch on or off, by name; ``False`` switches all rules
              off.
            - ``timeout``: The seconds after which an unfinished call is answered with an error.
              ``adispatch`` and ``acall`` enforce this limit. A synchronous function cannot be
              stopped: it continues in its thread, and can check ``CallContext.cancelled``. Time
              spent waiting for a slot under ``limit`` does not count.
            - ``limit``: How many calls to the tool run at the same time in this process, over all
              event loops and threads; further calls wait. All instances of a class share one limit
              for a method.
            - ``validate_result``: Whether to validate each result against the schema of the return
              annotation before it is sent. An invalid result is answered as
              ``unserialisable_result``. By default, results are validated only for providers that
              receive this schema (``mcp``). This option needs the extra ``schema``.
            - ``longest_result``: The maximum length of a result, in characters. A longer result is
              cut, with a note.
            - ``untrusted``: Whether results contain third-party text. If so, they are sent inside a
              marker that the text itself cannot close.
            - ``tags``: Labels for ``Registry.subset``.
            - ``effects``: What a call does: ``"read"``, ``"write"``, ``"destructive"``,
              ``"idempotent"``, ``"open_world"``, ``"closed_world"``. MCP clients receive them as
              hints. If a provider limits the number of strict tools, destructive tools become
              strict first. A call to a ``"write"`` or ``"destructive"`` tool runs alone: after all
              earlier calls of the response, and before all later calls.
            - ``approve``: Whether calls wait for approval: ``True``, or a function that decides for
              each call. The function gets the arguments as JSON (a dict: validated, coerced, with
              defaults). If the function has a second parameter, this parameter gets the injected
              values. The function returns whether the call waits. If the function raises, the call
              waits. See ``Plan.approve``. ``Tool.call`` rejects a call that would wait.
            - ``deferred``: Whether models see the tool only after a search, if the provider has a
              tool search. A ``Namespace`` defers the tool as part of a group. Other providers
              receive the whole tool, and the report says so.
            - ``free_text``: Whether a model writes the only argument, a ``str``, as plain text
              instead of JSON, where the provider has such tools (OpenAI's custom tools). With a
              ``Grammar``, the provider constrains the text; every call is also checked against it.
              Other providers get an ordinary tool, and the description of its argument states the
              grammar.
            - ``examples``: Valid arguments, each a dict of JSON values. They are sent in the same
              form as the tool.
            - ``providers``: Extra keys for the tool's entry at a provider, by the provider's name,
              for example ``{"anthropic": {"eager_input_streaming": True}}``.

    Raises:
        DefinitionError: The function cannot be a tool. The error lists every problem, with file and
            line. An annotation with a name that is not defined yet is resolved at the first use of
            the tool.
    """
    chosen = parse_options(options)
    if function is None:
        return lambda decorated: make_tool(decorated, chosen, calling_frame())
    return make_tool(function, chosen, calling_frame())


def make_tool(function: Any, options: Options, frame: types.FrameType | None) -> Tool[..., Any]:
    """Make a tool from a function, or copy a tool and change its options.

    Raises:
        DefinitionError: The function cannot be a tool, or an option is invalid.
    """
    name = options.name or getattr(function, "__name__", type(function).__name__)
    refuse_invalid_options(options, str(name), getattr(function, "__module__", ""))
    if isinstance(function, Tool):
        if is_read(function):
            return Tool(_changed_record(function, options), _origin_of(function))
        read = functools.partial(_changed_record, function, options)
        tags = options.tags or function.tags
        return Tool(UnreadTool(options.name or function.name, tags, function.function, read))
    binding: Binding = "never"
    if isinstance(function, staticmethod):
        function = function.__func__
    elif isinstance(function, classmethod):
        binding, function = "to_class", function.__func__
    elif (
        hasattr(type(function), "__get__")
        and not inspect.ismethod(function)
        and not inspect.isbuiltin(function)
    ):
        binding = "to_object"  # functions, and wrappers such as those that functools.cache makes
    if signatures.dispatches_on(function) == "method":
        binding = "never"  # a singledispatchmethod is bound to its object already
    skip_first = binding == "to_class" or (binding == "to_object" and _looks_like_method(function))
    source = FunctionSource(
        function=function,
        name=options.name,
        skip_first=skip_first,
        frame=[] if frame is None else [frame],
    )
    record = Record(
        function=function, source=source, options=options, binding=binding, needs_object=skip_first
    )
    if _define_now(record):
        check_validation_of_results(record)
    return Tool(record)


def _changed_record(tool: Tool[..., Any], options: Options) -> Record:
    """Return the record of a tool with some options changed.

    Raises:
        DefinitionError: The tool cannot have these options, or its definition cannot be read.
    """
    record = record_of(tool)
    record = record.with_options(record.options._replace(**changed_options(options)))
    if options.free_text:
        check_free_text(record.options, record.definition)
    if options.examples:
        check_examples(record, record.definition)
    check_validation_of_results(record)
    return record


def _define_now(record: Record) -> bool:
    """Build the definition at decoration, to report mistakes there; return whether
    the definition could be built.

    If an annotation has a name that is not defined yet, the first use of the tool builds the
    definition.
    """
    try:
        _ = record.definition
    except DefinitionError as error:
        if not isinstance(error.__cause__, signatures.NameNotDefinedError):
            raise
        return False
    return True


def _merge_provider_keys(
    written: Mapping[str, JsonObject], given: Mapping[str, JsonObject]
) -> dict[str, JsonObject]:
    """Merge the definition's keys with the author's keys, which take precedence."""
    return {name: {**written.get(name, {}), **given.get(name, {})} for name in (*written, *given)}


class UnreadTool(NamedTuple):
    """A tool from a definition before its schema is read: what is known of
    it, and how its record is made.
    """

    name: str
    tags: frozenset[str]
    function: Callable[..., Any] | None
    read: Callable[[], Record]


def make_from_definition(
    definition: Any,
    choose: Choose,
    verbatim: bool,
    options: ToolOptions,
    frame: types.FrameType | None,
    read_options: ReadOptions,
) -> Tool[..., Any]:
    """Make a tool from a definition and read its schema; see ``Tool.from_definition``."""
    tool = make_unread(definition, choose, verbatim, options, frame, read_options)
    _ = record_of(tool)
    return tool


def make_unread(
    definition: Any,
    choose: Choose,
    verbatim: bool,
    options: ToolOptions,
    frame: types.FrameType | None,
    read_options: ReadOptions,
) -> Tool[..., Any]:
    """Make a tool from a definition, whose schema is read when the tool is first used.

    Raises:
        DefinitionError: It is no definition or has no name, an option is invalid, or the function
            cannot be a tool.
    """
    chosen = parse_options(options)
    refuse_invalid_options(chosen, chosen.name or "a definition", "a definition")
    unread = definitions.build.outline_definition(
        definition, choose, name=chosen.name, frame=frame, read_options=read_options
    )

    def read() -> Record:
        parsed_definition = definitions.build.build_definition(unread)
        record = Record(
            function=unread.function,
            source=DefinitionSource(definition=parsed_definition),
            options=_with_written(chosen, parsed_definition, verbatim),
        )
        _ = record.definition  # also checks the examples
        check_validation_of_results(record)
        return record

    return Tool(UnreadTool(unread.outline.name, chosen.tags, unread.function, read))


def _with_written(chosen: Options, definition: SchemaDefinition, verbatim: bool) -> Options:
    """Return the author's options, and what the definition says where the author says nothing."""
    keys = definition.keys
    if chosen.effects and "mcp" in keys:  # the author's effects replace the hints in the definition
        keys = {
            **keys,
            "mcp": {key: value for key, value in keys["mcp"].items() if key != "annotations"},
        }
    return chosen._replace(
        title=chosen.title or definition.title,
        # Keep a definition's ``strict`` only if it is ``False``: some providers have no strict
        # form.
        strict=False if chosen.strict is None and definition.is_strict is False else chosen.strict,
        effects=chosen.effects or definition.effects,
        examples=chosen.examples or definition.examples,
        providers=_merge_provider_keys(keys, chosen.providers),
        verbatim=verbatim,
    )


def read_all(tools: Iterable[Tool[..., Any]]) -> None:
    """Read the definitions of tools that were not used yet.

    Raises:
        DefinitionError: Some cannot be read; the error names all of them.
    """
    errors: list[DefinitionError] = []
    for tool in tools:
        try:
            _ = record_of(tool).definition
        except DefinitionError as error:
            errors.append(error)
    if errors:
        raise join_errors(errors) from errors[0].__cause__


def with_finding(tool: Tool[..., Any], finding: Finding) -> Tool[..., Any]:
    """Return a tool that was made from a definition, with one more finding."""
    record = record_of(tool)
    source = record.source
    assert isinstance(source, DefinitionSource)  # noqa: S101 - only imported tools are given
    definition = source.definition._replace(findings=(*source.definition.findings, finding))
    return Tool(replace(record, source=replace(source, definition=definition)))


def _unpickle_definition_tool(
    entry: JsonObject,
    function: Callable[..., Any] | None,
    options: Options,
    read_options: ReadOptions,
) -> Tool[..., Any]:
    unread = definitions.build.outline_definition(
        entry, lambda _: function, name=options.name, frame=None, read_options=read_options
    )
    source = DefinitionSource(definition=definitions.build.build_definition(unread))
    return Tool(Record(function=function, source=source, options=options))


def _unpickle_tool(function: Any, options: Options) -> Tool[..., Any]:
    return make_tool(function, options, None)


def as_tool(candidate: Any, frame: types.FrameType | None = None) -> Tool[..., Any]:
    """Return a tool unchanged, or make a tool from a plain function.

    On Python 3.13, reading a classmethod that wraps a tool returns a bound method. This function
    then binds the wrapped tool instead.
    """
    if isinstance(candidate, Tool):
        return candidate
    if isinstance(candidate, types.MethodType) and isinstance(candidate.__func__, Tool):
        return candidate.__func__.__get__(candidate.__self__)
    return make_tool(candidate, Options(), frame)


def _looks_like_method(function: Any) -> bool:
    """Whether a function looks like a method: defined in a class body, with ``self``
    or ``cls`` as first parameter.
    """
    scope, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is not None and code.co_argcount:
        first_parameter = code.co_varnames[:1]
    else:
        first_parameter = ()
    return (
        bool(scope) and not scope.endswith("<locals>") and first_parameter in (("self",), ("cls",))
    )

"""``@tool``: makes a function a tool for models, and leaves it callable from Python."""

import functools
import inspect
import sys
import types
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from operator import attrgetter
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

from pydantic import BaseModel

from toolshape._calls import Effect, Finding, JsonObject, JsonSchema, Spec, Strictness, visible
from toolshape._context import Cancellation
from toolshape._definitions.record import Choose
from toolshape._errors import DefinitionError, UsageError
from toolshape._execution.failures import as_call_error, validation_error
from toolshape._execution.returned import is_async
from toolshape._execution.run import NOTHING_INJECTED
from toolshape._function import signature as signatures
from toolshape._function.annotations import calling_frame, signature
from toolshape._function.invoke import Invoke
from toolshape._options import Options, ToolOptions, given_in, options_of, refuse_wrong
from toolshape._record import Binding, Record, check_examples, check_validation_of_results, require, with_context
from toolshape._schema.values import copied
from toolshape._source import DefinitionSource, FunctionSource

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolshape._wire.provider import AnyProvider


P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R", covariant=True)  # noqa: PLC0105 - users read it where they hover
S = TypeVar("S")
T = TypeVar("T")


Arguments: TypeAlias = str | bytes | Mapping[str, Any] | None
"""A model's arguments: JSON text, or an object."""


class _SignatureOfFunction:
    """``__signature__`` for ``inspect.signature``; only on instances, so that the class keeps its own signature."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")
        if instance.function is None:
            names = [name for name in instance.input_schema.get("properties", ()) if name.isidentifier()]
            return inspect.Signature([inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names])
        return signature(instance.function)


class Tool(Generic[P, R]):
    """A function offered to models: call it as before, export it, or let a model's arguments call it.

    Made by ``tool``. Accessed through an object, a method's tool is bound to it, as the method would be.
    """

    __signature__ = _SignatureOfFunction()

    def __init__(self, record: Record, origin: "Tool[..., Any] | None" = None) -> None:
        self._record = record
        self.function: Callable[P, R] | None = record.function
        self._origin = origin  # the tool that this one was bound from
        if origin is not None:
            self.__doc__ = origin.__doc__
        elif record.function is not None:
            self._look_like(record.function)

    def _look_like(self, function: Any) -> None:
        """Make ``inspect`` treat this tool as it treats the function."""
        functools.update_wrapper(cast("Callable[..., Any]", self), function, updated=())
        inner = signatures.innermost(function)
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner):
            # With these, inspect and asyncio see a coroutine function.
            self.__dict__.setdefault("__name__", getattr(inner, "__name__", type(function).__name__))
            for attribute in ("__code__", "__defaults__", "__kwdefaults__"):
                setattr(self, attribute, getattr(inner, attribute, None))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function as if it were not decorated."""
        if self.function is None:
            raise UsageError(f"{self.name} was made from a definition, without a function: there is nothing to call")
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
        """Bind to an object, as the function would be."""
        record = self._record
        subject = owner if record.binding == "to_class" else instance
        if subject is None or record.binding == "never":
            return self
        return Tool(record.bound_to(subject), self)

    if not TYPE_CHECKING:  # a type checker is to see a misspelt name

        def __getattr__(self, name: str) -> Any:
            # What a bound tool does not have itself, the tool that it was bound from has.
            origin = self.__dict__.get("_origin")
            if origin is None:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            return getattr(origin, name)

    def __eq__(self, other: object) -> bool:
        if self._origin is None:
            return self is other
        return isinstance(other, Tool) and other._origin is self._origin and other.function == self.function

    def __hash__(self) -> int:
        return object.__hash__(self) if self._origin is None else hash(self.function)

    def __set_name__(self, owner: type[Any], name: str) -> None:
        # Only now is it certain that a function in a class body is a method, whatever its first parameter is called.
        record = self._record
        qualified = getattr(self.function, "__qualname__", None)
        is_method = record.binding == "to_object" and qualified == f"{owner.__qualname__}.{name}"
        if is_method and not record.needs_object:
            self._record = record.in_class()
            self.__dict__.pop("call", None)

    def __copy__(self) -> "Tool[P, R]":
        return self

    def __deepcopy__(self, memo: Any) -> "Tool[P, R]":
        return self

    def __reduce__(self) -> "str | tuple[Any, ...]":
        # Pickled as functions and methods are: by name. What has no name is pickled with what it wraps.
        record = self._record
        if self._origin is not None:
            method = cast("types.MethodType", self.function)
            return getattr, (method.__self__, method.__name__)
        if record.source.entry is not None:
            return _unpickle_definition_tool, (record.source.entry, record.function, record.options)
        function = self.function
        if not isinstance(function, types.FunctionType):
            return _unpickle_tool, (function, record.options)
        found: Any = sys.modules.get(function.__module__)
        for step in function.__qualname__.split("."):
            found = getattr(found, step, None)
        if found is self:
            return function.__qualname__
        if found is function:
            return _unpickle_tool, (function, record.options)
        where = f"{function.__module__}.{function.__qualname__}"
        raise TypeError(f"the tool {self.name!r} cannot be pickled: what is found at {where} is not its function")

    def __repr__(self) -> str:
        return f"<tool {visible(self.name)}>"

    @property
    def name(self) -> str:
        """The name a model calls it by."""
        return self._record.name

    @property
    def title(self) -> str | None:
        """The name for people, if there is one."""
        return self._record.options.title

    @property
    def description(self) -> str:
        """What a model reads of it: the docstring's summary and body, or what ``tool`` was given."""
        given = self._record.options.description
        return self._record.definition.description if given is None else given

    @property
    def effects(self) -> frozenset[Effect]:
        """What a call does to the world, as far as the author says."""
        return self._record.options.effects

    @property
    def tags(self) -> frozenset[str]:
        """Labels by which ``Registry.subset`` chooses."""
        return self._record.options.tags

    @property
    def timeout(self) -> float | None:
        """Seconds after which a call is answered without its result; kept where a loop runs the tool."""
        return self._record.options.timeout

    @property
    def strict(self) -> Strictness | None:
        """Whether the author wants the arguments constrained; ``None``: as the registry is bound."""
        return self._record.options.strict

    @property
    def coerce(self) -> Mapping[str, bool] | bool | None:
        """The coercion rules that the author switched on or off."""
        return self._record.options.coerce

    @property
    def model(self) -> type[BaseModel]:
        """The pydantic model that makes the schema and validates every call.

        Raises:
            UsageError: The tool was made from a definition: its own JSON Schema validates.
        """
        return self._record.source.model()

    @property
    def input_schema(self) -> JsonSchema:
        """A copy of the canonical JSON Schema (2020-12) of the arguments."""
        return cast("JsonSchema", copied(self._record.definition.schema))

    @property
    def output_schema(self) -> JsonSchema | None:
        """A copy of the JSON Schema of the result; ``None`` if the return annotation says nothing."""
        schema = self._record.output.schema
        return None if schema is None else copied(schema)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What works but deserves a look."""
        found = self._record.definition.findings + self._record.output.findings
        if self._record.options.description:
            found = tuple(finding for finding in found if finding.rule != "undescribed")
        if self._record.options.timeout is not None and not is_async(self._record.definition.kind):
            found += (Finding(path="timeout", rule="timeout_not_kept", message=_TIMEOUT_NOT_KEPT),)
        return found

    @property
    def spec(self) -> Spec:
        """The canonical record that every provider's entry is made from.

        It has no output schema where results are cut or marked.
        """
        options = self._record.options
        return Spec(
            name=self.name,
            title=self.title,
            description=self.description,
            parameters=self.input_schema,
            output=None if options.untrusted or options.longest_result is not None else self.output_schema,
            examples=options.examples,
            effects=self.effects,
            keys=options.providers,
            verbatim=self._record.verbatim,
            deferred=options.deferred,
        )

    @classmethod
    def from_definition(
        cls,
        definition: Any,
        function: Callable[..., Any] | None = None,
        /,
        *,
        verbatim: bool = False,
        **options: "Unpack[ToolOptions]",
    ) -> "Tool[..., Any]":
        """Make a tool from a definition that was written for some provider, or is a JSON Schema.

        It is a tool like any other: sent to every provider, its arguments validated (by its own schema), coerced and
        answered for in the same words. Needs the extra ``schema``.

        Args:
            definition: A definition as OpenAI, Anthropic, Gemini, Bedrock, MCP, Mistral, Cohere or Ollama takes it, a
                bare JSON Schema (with ``name=``), or one of the formats of test sets and registries, detected by its
                form. A dict, an SDK object, or JSON text.
            function: The function that answers its calls, called by keyword, injected values included. Without one,
                the tool is sent and its calls are planned, but not run.
            verbatim: Whether providers whose entries have the form of this definition are sent it unchanged, whatever
                the options say; what they would refuse still raises an ``ExportError``.
            **options: As for ``tool``; they take precedence over the definition.

        Raises:
            DefinitionError: Its form is unknown, its schema is invalid, or the function does not match it.
            ImportError: The extra is not installed.
        """
        return make_from_definition(definition, lambda _: function, verbatim, options, calling_frame())

    @overload
    def call(
        self: "Tool[..., Coroutine[Any, Any, T]]", arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> T: ...
    @overload
    def call(
        self: "Tool[..., AsyncIterator[T]]", arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> list[T]: ...
    @overload
    def call(
        self: "Tool[..., Iterator[T]]", arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> list[T]: ...
    @overload
    def call(self, arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> R: ...
    def call(self, arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Any:
        """Validate a model's arguments, call the function, and return its value.

        Args:
            arguments: A JSON text, or an object; coerced by the tool's coercion rules.
            inject: The values of injected parameters, by name.

        Raises:
            CallError: The arguments are refused, or the call would wait for approval (nothing was run); or the tool
                failed (``__cause__`` says how).
            UsageError: An injected value is missing, or the tool is async and a loop runs; nothing was run.
        """
        call = self._record.call
        if type(self) is Tool and self._origin is None:  # the next call finds it here, and saves this frame
            self.__dict__["call"] = types.MethodType(functools.update_wrapper(call, Tool.call), self)
        return call(self, arguments, inject=inject)

    @overload
    async def acall(
        self: "Tool[..., Coroutine[Any, Any, T]]", arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> T: ...
    @overload
    async def acall(
        self: "Tool[..., AsyncIterator[T]]", arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> list[T]: ...
    @overload
    async def acall(
        self: "Tool[..., Iterator[T]]", arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> list[T]: ...
    @overload
    async def acall(self, arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> R: ...
    async def acall(self, arguments: Arguments, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Any:
        """The same as ``call``, from a running loop: other than async tools run in a thread."""
        from toolshape._execution import aio, limited  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

        record = self._record
        require(record, inject)
        try:
            validated, _ = record.validate_for_call(arguments)
        except BaseException as error:
            refused = validation_error(error, tool=self.name)
            raise refused from refused.__cause__
        cancellation = Cancellation()
        try:
            inject = with_context(record, self, validated, inject, cancellation)
            kind, invoke, limit, given_up = record.definition.kind, record.invoke, record.limit, cancellation.cancel

            def run(invoke: Invoke) -> Coroutine[Any, Any, Any]:
                return aio.run_async(kind, invoke, validated, inject, self.timeout, None, given_up)

            work = run(invoke) if limit is None else limited.in_turn(limit, kind, invoke, run)
            return await aio.alone(work, given_up)
        except BaseException as error:
            cancellation.cancel()
            raise as_call_error(error, tool=self.name, timeout=self.timeout) from error

    def export(self, provider: "AnyProvider", *, strict: Strictness | None = None) -> JsonObject:
        """Show this tool alone, as one entry of what the provider takes as tools.

        Args:
            provider: Whom it is shown to.
            strict: Whether its arguments are to be constrained; by default as the tool says, else ``"auto"``.

        Raises:
            ExportError: The provider cannot be sent this tool, or has no strict form.
        """
        from toolshape import _families as providers  # noqa: PLC0415 - with what is bound
        from toolshape._wire import export  # noqa: PLC0415 - the same

        wish = self.strict if strict is None else strict
        return export.to_wire(providers.get(provider), self.spec, "auto" if wish is None else wish).payload


_TIMEOUT_NOT_KEPT = (
    "a plain function cannot be stopped: the timeout holds under adispatch and arun, and not under dispatch"
)
record_of: Callable[[Tool[..., Any]], Record] = attrgetter("_record")
"""Returns what a ``Tool`` stands on, for the modules that export and run it."""
_origin_of: Callable[[Tool[..., Any]], Any] = attrgetter("_origin")


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(function: None = None, /, **options: "Unpack[ToolOptions]") -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Any = None, /, **options: "Unpack[ToolOptions]") -> Any:
    """Make a function a tool. Use it bare or with options; the function stays callable as it was.

    Args:
        function: A function, method, static- or classmethod, ``functools.partial`` or callable object, sync or
            async, or a generator (the list of what it yields is the result).
        **options: All by keyword:

            - ``name``: The name a model calls it by; by default the function's.
            - ``title``: A name for people.
            - ``description``: What a model reads instead of the docstring's summary and body.
            - ``strict``: Whether a provider is to constrain the arguments to the schema: ``True``, ``False``, or
              ``"auto"`` (if that takes only changes without a trace). By default as the registry is bound.
            - ``coerce``: Coercion rules to switch on or off by name, ``False`` for none of them.
            - ``timeout``: Seconds after which a call is answered without its result. Kept by ``adispatch`` and
              ``acall``; a synchronous function cannot be stopped from outside and goes on in its thread, where it
              can look at ``CallContext.cancelled``. The wait for a turn under ``limit`` does not count.
            - ``limit``: How many of its calls run at once in this process, in whatever loops and threads; the others
              wait. A method has one limit for all objects.
            - ``validate_result``: Whether a result is held against the schema of the return annotation before it is
              sent; one that does not fit is answered as ``unserialisable_result``. By default, where a provider is
              sent that schema (``mcp``). Needs the extra ``schema``.
            - ``longest_result``: How many characters of a result a model is sent; a note says where it was cut.
            - ``untrusted``: Whether results contain third-party text: they are sent inside a marker that the text
              itself cannot close.
            - ``tags``: Labels by which ``Registry.subset`` chooses.
            - ``effects``: What a call does: ``"read"``, ``"write"``, ``"destructive"``, ``"idempotent"``,
              ``"open_world"``, ``"closed_world"``. MCP clients are sent them as hints; where a provider limits strict
              tools, destructive ones go first. A call of a ``"write"`` or ``"destructive"`` tool is run alone: after
              all calls before it in the response, and before all after it.
            - ``approve``: Whether a call waits until somebody approves of it: ``True``, or a function that takes the
              arguments as JSON (a dict, validated, coerced, with defaults) and says so for this call. Where that
              raises, the call waits. See ``Plan.approve``; ``Tool.call`` refuses what would wait.
            - ``deferred``: Whether a model is shown the tool only once it searched for it, at providers that have such
              a search; or the ``Namespace`` that it is grouped under. Elsewhere it is sent whole, and the report says
              so.
            - ``examples``: Valid arguments, as JSON; sent in the same wire form as the tool.
            - ``providers``: Extra keys for the entry of a provider, by the provider's name, as in
              ``{"anthropic": {"eager_input_streaming": True}}``.

    Raises:
        DefinitionError: The function cannot be a tool; every problem at once, with file and line. A name that is not
            defined yet is left to the first use.
    """
    made = options_of(options)
    if function is None:
        return lambda decorated: make_tool(decorated, made, calling_frame())
    return make_tool(function, made, calling_frame())


def make_tool(function: Any, options: Options, frame: types.FrameType | None) -> Tool[..., Any]:
    """Make the tool, and refuse at once what cannot be one."""
    called = options.name or getattr(function, "__name__", type(function).__name__)
    refuse_wrong(options, str(called), getattr(function, "__module__", ""))
    if isinstance(function, Tool):
        record = record_of(function)
        record = record.with_options(record.options._replace(**given_in(options)))
        if options.examples:
            check_examples(record, record.definition)
        check_validation_of_results(record)
        return Tool(record, _origin_of(function))
    binding: Binding = "never"
    if isinstance(function, staticmethod):
        function = function.__func__
    elif isinstance(function, classmethod):
        binding, function = "to_class", function.__func__
    elif hasattr(type(function), "__get__") and not inspect.ismethod(function) and not inspect.isbuiltin(function):
        binding = "to_object"  # functions, and what functools.cache makes of them
    if signatures.dispatches_on(function) == "method":
        binding = "never"  # it has its object
    skip_first = binding == "to_class" or (binding == "to_object" and _looks_like_method(function))
    source = FunctionSource(
        function=function, name=options.name, skip_first=skip_first, frame=[] if frame is None else [frame]
    )
    made = Record(function=function, source=source, options=options, binding=binding, needs_object=skip_first)
    if _define_now(made):
        check_validation_of_results(made)
    return Tool(made)


def _define_now(record: Record) -> bool:
    """Define at decoration, so that mistakes show there; a name not defined yet waits for the first use."""
    try:
        _ = record.definition
    except DefinitionError as error:
        if not isinstance(error.__cause__, signatures.NameNotDefinedError):
            raise
        return False
    return True


def _both_keys(written: Mapping[str, JsonObject], given: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """A definition's own keys with the author's, which go before them."""
    return {name: {**written.get(name, {}), **given.get(name, {})} for name in (*written, *given)}


def make_from_definition(
    definition: Any,
    choose: Choose,
    verbatim: bool,
    options: ToolOptions,
    frame: types.FrameType | None,
) -> Tool[..., Any]:
    """Make the tool; see ``Tool.from_definition``."""
    given = options_of(options)
    refuse_wrong(given, given.name or "a definition", "a definition")
    from toolshape._definitions import build  # noqa: PLC0415 - most programs have no definition of others, and would pay for all formats

    made, function = build.build_definition(definition, choose, name=given.name, frame=frame)
    keys = made.keys
    if given.effects and "mcp" in keys:  # the author knows better what it does than the hints
        keys = {**keys, "mcp": {key: value for key, value in keys["mcp"].items() if key != "annotations"}}
    given = given._replace(
        title=given.title or made.title,
        # Only "not strict" is a wish for every provider: some have no strict form.
        strict=False if given.strict is None and made.is_strict is False else given.strict,
        effects=given.effects or made.effects,
        examples=given.examples or made.examples,
        providers=_both_keys(keys, given.providers),
        verbatim=verbatim,
    )
    record = Record(function=function, source=DefinitionSource(definition=made), options=given)
    _ = record.definition  # its examples are checked with it
    check_validation_of_results(record)
    return Tool(record)


def _unpickle_definition_tool(
    entry: JsonObject, function: Callable[..., Any] | None, options: Options
) -> Tool[..., Any]:
    from toolshape._definitions import build  # noqa: PLC0415 - most programs have no definition of others

    made, _ = build.build_definition(entry, lambda _: function, name=options.name, frame=None)
    return Tool(Record(function=function, source=DefinitionSource(definition=made), options=options))


def _unpickle_tool(function: Any, options: Options) -> Tool[..., Any]:
    return make_tool(function, options, None)


def as_tool(candidate: Any, frame: types.FrameType | None = None) -> Tool[..., Any]:
    """A tool from a tool, a bound tool as a classmethod gives it on Python 3.13, or a plain function."""
    if isinstance(candidate, Tool):
        return candidate
    if isinstance(candidate, types.MethodType) and isinstance(candidate.__func__, Tool):
        return candidate.__func__.__get__(candidate.__self__)
    return make_tool(candidate, Options(), frame)


def _looks_like_method(function: Any) -> bool:
    """Whether a function stands in a class body and takes the object first, as far as its text tells."""
    scope, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    code = getattr(inspect.unwrap(function), "__code__", None)
    first = code.co_varnames[:1] if code is not None and code.co_argcount else ()
    return bool(scope) and not scope.endswith("<locals>") and first in (("self",), ("cls",))

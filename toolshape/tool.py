"""``@tool``: a function that can still be called, and that knows how it is offered and called by a model."""

import asyncio
import functools
import inspect
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, TypeVar, cast, overload

from pydantic import BaseModel

from toolshape import model as models
from toolshape import output as outputs
from toolshape import provider as providers
from toolshape import signature as signatures
from toolshape.annotations import calling_frame, signature
from toolshape.calls import Finding, JsonObject, JsonSchema, Spec
from toolshape.coercion import chosen_rules
from toolshape.errors import CallError, DefinitionError, Problem, UsageError
from toolshape.running import NOTHING_INJECTED, as_call_error, hidden, refuse_running_loop, run, run_async
from toolshape.validation import Validate, compile_validate

__all__ = ["Tool", "as_tool", "tool"]

P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R")
S = TypeVar("S")


class Options(NamedTuple):
    """What the author said besides the function itself."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    strict: providers.Strictness | None = None
    coerce: Mapping[str, bool] | bool | None = None
    timeout: float | None = None
    tags: frozenset[str] = frozenset()


_CACHED = frozenset({"_definition", "_validate", "as_method", "output"})


class _SignatureOfFunction:
    """What ``inspect.signature`` asks an object for; a class has none, so that ``Tool`` itself keeps its own."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")
        return signature(instance.function)


class Tool(Generic[P, R]):
    """A function offered to models: call it as before, export it, or let a model's arguments call it.

    Made by ``tool``. Accessed through an object, a method's tool is bound to it, as the method would be.
    """

    __signature__ = _SignatureOfFunction()

    def __init__(
        self,
        function: Any,
        options: Options,
        *,
        binds: Literal["to_object", "to_class", "never"] = "never",
        skip_first: bool = False,
        frame: types.FrameType | None = None,
    ) -> None:
        functools.update_wrapper(cast("Callable[..., Any]", self), function, updated=())
        inner = signatures.innermost(function)
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner):
            # With these, inspect and asyncio take us for what we wrap: a coroutine function.
            self.__dict__.setdefault("__name__", getattr(inner, "__name__", type(function).__name__))
            for attribute in ("__code__", "__defaults__", "__kwdefaults__"):
                setattr(self, attribute, getattr(inner, attribute, None))
        self.function: Callable[P, R] = function
        self.options = options
        self._binds = binds
        self._skip_first = skip_first
        self._frame = frame
        self._bound_to: Tool[..., Any] | None = None
        self._define_now()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function as if it were not decorated."""
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> "Tool[P, R]": ...
    @overload
    def __get__(
        self: "Tool[Concatenate[S, Rest], R]", instance: S, owner: type[Any] | None = None
    ) -> "Tool[Rest, R]": ...
    def __get__(self, instance: Any, owner: type[Any] | None = None) -> "Tool[..., Any]":
        """Bind to an object, as the function would be."""
        subject = owner if self._binds == "to_class" else instance
        if subject is None or self._binds == "never":
            return self
        bound: Tool[..., Any] = object.__new__(Tool)
        method = types.MethodType(self.function, subject)
        bound.__dict__.update(function=method, _bound_to=self, _binds="never", _skip_first=False, __doc__=self.__doc__)
        return bound

    def __getattr__(self, name: str) -> Any:
        # What a bound tool does not have itself, the tool that it was bound from has.
        origin = self.__dict__.get("_bound_to")
        if origin is None or name in _CACHED:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(origin, name)

    def __eq__(self, other: object) -> bool:
        if self._bound_to is None:
            return self is other
        return isinstance(other, Tool) and other._bound_to is self._bound_to and other.function == self.function

    def __hash__(self) -> int:
        return object.__hash__(self) if self._bound_to is None else hash(self.function)

    def __set_name__(self, owner: type[Any], name: str) -> None:
        # Only now is it certain that a function in a class body is a method, whatever its first parameter is called.
        qualified = getattr(self.function, "__qualname__", None)
        if self._binds == "to_object" and not self._skip_first and qualified == f"{owner.__qualname__}.{name}":
            if "_definition" in self.__dict__:
                self.__dict__["_definition"] = self.as_method
            self._skip_first = True

    def __copy__(self) -> "Tool[P, R]":
        return self

    def __deepcopy__(self, memo: Any) -> "Tool[P, R]":
        return self

    def __reduce__(self) -> "str | tuple[Any, ...]":
        # Pickled as functions and methods are: by name. What has no name is pickled with what it wraps.
        if self._bound_to is not None:
            method = cast("types.MethodType", self.function)
            return getattr, (method.__self__, method.__name__)
        if isinstance(self.function, types.FunctionType):
            return self.function.__qualname__
        return Tool, (self.function, self.options)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    @property
    def name(self) -> str:
        """The name a model calls it by."""
        return self.options.name or self._definition.signature.name

    @property
    def title(self) -> str | None:
        """The name for people, if there is one."""
        return self.options.title

    @property
    def description(self) -> str:
        """What a model reads of it: the docstring's summary and body, or what ``tool`` was given."""
        given = self.options.description
        return self._definition.signature.doc.description if given is None else given

    @property
    def tags(self) -> frozenset[str]:
        """Labels by which ``Registry.subset`` chooses."""
        return self.options.tags

    @property
    def timeout(self) -> float | None:
        """Seconds after which a call is answered without its result; kept where a loop runs the tool."""
        return self.options.timeout

    @property
    def strict(self) -> providers.Strictness | None:
        """Whether the author wants the arguments constrained; ``None``: as the registry is bound."""
        return self.options.strict

    @property
    def coerce(self) -> Mapping[str, bool] | bool | None:
        """The coercion rules that the author switched on or off."""
        return self.options.coerce

    @property
    def model(self) -> type[BaseModel]:
        """The pydantic model that makes the schema and validates every call."""
        return self._definition.model

    @property
    def input_schema(self) -> JsonSchema:
        """A copy of the canonical JSON Schema (2020-12) of the arguments."""
        return cast("JsonSchema", providers.copied(self._definition.schema))

    @property
    def output_schema(self) -> JsonSchema | None:
        """A copy of the JSON Schema of the result; ``None`` if the return annotation says nothing."""
        schema = self.output.schema
        return None if schema is None else providers.copied(schema)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What works but deserves a look."""
        found = self._definition.findings + self.output.findings
        if self.options.description:
            found = tuple(finding for finding in found if finding.rule != "undescribed")
        return found

    @property
    def spec(self) -> Spec:
        """The canonical record that every provider's shape is made from."""
        return Spec(
            name=self.name,
            title=self.title,
            description=self.description,
            parameters=self.input_schema,
            output=self.output_schema,
        )

    @functools.cached_property
    def output(self) -> outputs.Output:
        """How results are written as JSON."""
        return self._bound_to.output if self._bound_to else outputs.describe(self._definition.signature)

    @property
    def definition(self) -> models.Definition:
        """What has been read of the function; for the modules of toolshape."""
        return self._definition

    @functools.cached_property
    def _definition(self) -> models.Definition:
        if self._bound_to is not None:
            return models.rebind(self._bound_to.as_method, self.function)
        try:
            read = signatures.read(
                self.function, name=self.options.name, skip_first=self._skip_first, frame=self._frame
            )
            definition = models.define(self.function, read)
        except signatures.NameNotDefinedError as error:
            problem = Problem(path="", rule="name_not_defined", message=str(error))
            raise DefinitionError(tool=error.tool, location=error.location, problems=[problem]) from error
        self._frame = None
        return definition

    @functools.cached_property
    def as_method(self) -> models.Definition:
        """The definition without the first parameter, which an object will fill; for the modules of toolshape."""
        read = self._definition.signature
        return self._definition if self._skip_first else models.define(self.function, signatures.without_first(read))

    def _define_now(self) -> None:
        """Define at decoration, so that mistakes show there; a name not defined yet waits for the first use."""
        try:
            _ = self._definition
        except DefinitionError as error:
            if not isinstance(error.__cause__, signatures.NameNotDefinedError):
                raise

    @functools.cached_property
    def _validate(self) -> Validate:
        return compile_validate(self._definition, chosen_rules(self.options.coerce), self.name)

    def call(
        self, arguments: str | bytes | Mapping[str, Any] | None, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> Any:
        """Validate a model's arguments, call the function, and return its value.

        Args:
            arguments: A JSON text, or an object; mended by the tool's coercion rules.
            inject: The values of injected parameters, by name.

        Raises:
            CallError: The arguments are refused (nothing was run), or the tool failed (``__cause__`` says how).
            UsageError: An injected value is missing, or the tool is async and a loop runs; nothing was run.
        """
        definition = self._definition
        self.require(inject)
        refuse_running_loop(definition.kind, self.name)
        validated = self._validated(arguments)
        try:
            return run(definition.kind, definition.invoke, validated, inject)
        except asyncio.CancelledError as error:  # nobody cancels us here: it is the tool's own
            raise CallError("cancelled", tool=self.name) from error
        except BaseException as error:
            raise as_call_error(error, tool=self.name) from error

    async def acall(
        self, arguments: str | bytes | Mapping[str, Any] | None, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> Any:
        """The same as ``call``, from a running loop: other than async tools run in a thread."""
        definition = self._definition
        self.require(inject)
        validated = self._validated(arguments)
        try:
            return await run_async(definition.kind, definition.invoke, validated, inject, self.timeout, threads=True)
        except BaseException as error:
            raise as_call_error(error, tool=self.name, timeout=self.timeout) from error

    def _validated(self, arguments: Any) -> BaseModel:
        try:
            return self._validate(arguments)[0]
        except CallError:
            raise
        except Exception as error:  # a validator of the author's that failed otherwise than by refusing
            raise hidden("tool_crashed", error, tool=self.name) from error

    def export(self, provider: "str | providers.Provider", *, strict: providers.Strictness | None = None) -> JsonObject:
        """Show this tool alone, as one entry of what the provider takes as tools.

        Args:
            provider: Whom it is shown to.
            strict: Whether its arguments are to be constrained; by default as the tool says, else ``"auto"``.

        Raises:
            ExportError: The provider cannot be shown this tool, or has no strict form.
        """
        wish = self.strict if strict is None else strict
        return providers.show(providers.get(provider), self.spec, "auto" if wish is None else wish).payload

    def require_bound(self) -> None:
        """Check that this is not a method that no object has been given.

        Raises:
            UsageError: It is; take it from an object.
        """
        if self._skip_first:
            raise UsageError(f"{self.name} is a method: take it from an object, or put @tool above @classmethod")

    def require(self, inject: Mapping[str, Any]) -> None:
        """Check that this tool can be called with these injected values.

        Raises:
            UsageError: It is a method bound to nothing, or a value is missing.
        """
        self.require_bound()
        for name, default in self._definition.layout.injected.items():
            if default is inspect.Parameter.empty and name not in inject:
                raise UsageError(f"{self.name} needs inject={{{name!r}: ...}}")


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    strict: providers.Strictness | None = None,
    coerce: Mapping[str, bool] | bool | None = None,
    timeout: float | None = None,
    tags: Collection[str] = (),
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    strict: providers.Strictness | None = None,
    coerce: Mapping[str, bool] | bool | None = None,
    timeout: float | None = None,
    tags: Collection[str] = (),
) -> Any:
    """Make a function a tool. Use it bare or with options; the function stays callable as it was.

    Args:
        function: A function, method, static- or classmethod, ``functools.partial`` or callable object, sync or
            async, or a generator (the last value it yields is the result).
        name: The name a model calls it by; by default the function's.
        title: A name for people.
        description: What a model reads instead of the docstring's summary and body.
        strict: Whether a provider is to constrain the arguments to the schema: ``True``, ``False``, or ``"auto"``
            (if that takes only changes without a trace). By default as the registry is bound.
        coerce: Coercion rules to switch on or off by name, ``False`` for none of them.
        timeout: Seconds after which a call is answered without its result. Kept by ``adispatch`` and ``acall``; a
            synchronous function cannot be stopped from outside and goes on in its thread.
        tags: Labels by which ``Registry.subset`` chooses.

    Raises:
        DefinitionError: The function cannot be a tool; every problem at once, with file and line. A name that is not
            defined yet is left to the first use.
    """
    options = Options(name, title, description, strict, coerce, timeout, labels(tags))
    if function is None:
        return lambda decorated: make_tool(decorated, options, calling_frame())
    return make_tool(function, options, calling_frame())


def make_tool(function: Any, options: Options, frame: types.FrameType | None) -> Tool[..., Any]:
    """Make the tool, and refuse at once what cannot be one."""
    if problems := list(_wrong_options(options)):
        name = options.name or getattr(function, "__name__", type(function).__name__)
        raise DefinitionError(tool=str(name), location=getattr(function, "__module__", ""), problems=problems)
    if isinstance(function, Tool):
        again: Tool[..., Any] = object.__new__(Tool)
        again.__dict__.update({key: value for key, value in function.__dict__.items() if key != "_validate"})
        again.options = function.options._replace(**_given(options))
        return again
    binds: Literal["to_object", "to_class", "never"] = "never"
    if isinstance(function, staticmethod):
        function = function.__func__
    elif isinstance(function, classmethod):
        binds, function = "to_class", function.__func__
    elif hasattr(type(function), "__get__") and not inspect.ismethod(function) and not inspect.isbuiltin(function):
        binds = "to_object"  # functions, and what functools.cache makes of them
    skip_first = binds == "to_class" or (binds == "to_object" and _looks_like_method(function))
    return Tool(function, options, binds=binds, skip_first=skip_first, frame=frame)


def _wrong_options(options: Options) -> Iterator[Problem]:
    try:
        chosen_rules(options.coerce)
    except ValueError as error:
        yield Problem(path="coerce", rule="option", message=str(error))
    name: Any = options.name
    timeout: Any = options.timeout
    if name is not None and not (isinstance(name, str) and name):
        yield Problem(path="name", rule="option", message="the name is a text that is not empty")
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
        yield Problem(path="timeout", rule="option", message="the timeout is a number of seconds above 0")


def as_tool(candidate: Any, frame: types.FrameType | None = None) -> Tool[..., Any]:
    """A tool from a tool, a bound tool as a classmethod gives it on Python 3.13, or a plain function."""
    if isinstance(candidate, Tool):
        return candidate
    if isinstance(candidate, types.MethodType) and isinstance(candidate.__func__, Tool):
        return candidate.__func__.__get__(candidate.__self__)
    return make_tool(candidate, Options(), frame)


def _given(options: Options) -> dict[str, Any]:
    return {key: value for key, value in options._asdict().items() if value not in (None, frozenset())}


def _looks_like_method(function: Any) -> bool:
    """Whether a function stands in a class body and takes the object first, as far as its text tells."""
    scope, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    code = getattr(inspect.unwrap(function), "__code__", None)
    first = code.co_varnames[:1] if code is not None and code.co_argcount else ()
    return bool(scope) and not scope.endswith("<locals>") and first in (("self",), ("cls",))


def labels(tags: Collection[str]) -> frozenset[str]:
    """Tags as a set; a single text is one tag."""
    return frozenset((tags,) if isinstance(tags, str) else tags)

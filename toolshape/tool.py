"""``@tool``: a function that can still be called, and that knows how it is offered and called by a model."""

import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    TypeVar,
    cast,
    overload,
)

from pydantic import BaseModel

from toolshape import providers
from toolshape.calls import Effect, Finding, JsonObject, JsonSchema, Spec, Verbatim
from toolshape.definitions.record import Choose, SchemaDefinition
from toolshape.errors import CallError, DefinitionError, Problem, UsageError
from toolshape.execution.failures import as_call_error, refusal
from toolshape.execution.returned import is_async
from toolshape.execution.run import NOTHING_INJECTED, compile_call, refuse_running_loop
from toolshape.function import model as models
from toolshape.function import output as outputs
from toolshape.function import signature as signatures
from toolshape.function.annotations import calling_frame, signature
from toolshape.function.invoke import Invoke, compile_invoke
from toolshape.options import Options, ToolOptions, given_in, options_of, refuse_wrong
from toolshape.schema.values import copied
from toolshape.validation.coercion import chosen_rules
from toolshape.validation.fast_path import compile_validate
from toolshape.validation.model_traits import Validation, validation_of
from toolshape.validation.settings import Terms, Validate
from toolshape.wire import export as showing
from toolshape.wire.provider import Provider, Strictness

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Tool", "as_tool", "make_from_definition", "make_tool", "tool"]

P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R")
S = TypeVar("S")


_CACHED = frozenset(
    {
        "_call",
        "_definition",
        "_validate",
        "_validation",
        "as_method",
        "call",
        "invoke",
        "output",
        "validation_as_method",
    }
)
"""What a bound tool makes for itself."""


_OF_OPTIONS = frozenset({"_call", "_validate", "call"})
"""What of these was made with the options, and is made anew where they change."""


class _SignatureOfFunction:
    """What ``inspect.signature`` asks an object for; a class has none, so that ``Tool`` itself keeps its own."""

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

    def __init__(
        self,
        function: Any,
        options: Options,
        *,
        binds: Literal["to_object", "to_class", "never"] = "never",
        skip_first: bool = False,
        frame: types.FrameType | None = None,
    ) -> None:
        self.take_after(function)
        self.function: Callable[P, R] | None = function
        self.options = options
        self._binds = binds
        self._skip_first = skip_first
        self._frame = frame
        self._bound_to: Tool[..., Any] | None = None
        self._define_now()

    def take_after(self, function: Any) -> None:
        """Be to inspect what the function is; for the modules of toolshape."""
        functools.update_wrapper(cast("Callable[..., Any]", self), function, updated=())
        inner = signatures.innermost(function)
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner):
            # With these, inspect and asyncio take us for what we wrap: a coroutine function.
            self.__dict__.setdefault("__name__", getattr(inner, "__name__", type(function).__name__))
            for attribute in ("__code__", "__defaults__", "__kwdefaults__"):
                setattr(self, attribute, getattr(inner, attribute, None))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function as if it were not decorated."""
        if self.function is None:
            raise UsageError(f"{self.name} was made from a definition, without a function: there is nothing to call")
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
        method = types.MethodType(cast("Any", self.function), subject)
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
            for made in _CACHED - {"_definition", "as_method", "validation_as_method"}:
                self.__dict__.pop(made, None)
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
        if isinstance(self._definition, SchemaDefinition):
            return _from_pickle, (self._definition.entry, self.function, self.options)
        function = self.function
        if not isinstance(function, types.FunctionType):
            return _made_again, (function, self.options)
        found: Any = sys.modules.get(function.__module__)
        for step in function.__qualname__.split("."):
            found = getattr(found, step, None)
        if found is self:
            return function.__qualname__
        if found is function:
            return _made_again, (function, self.options)
        where = f"{function.__module__}.{function.__qualname__}"
        raise TypeError(f"the tool {self.name!r} cannot be pickled: what is found at {where} is not its function")

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    @property
    def name(self) -> str:
        """The name a model calls it by."""
        return self.options.name or self._definition.name

    @property
    def title(self) -> str | None:
        """The name for people, if there is one."""
        return self.options.title

    @property
    def description(self) -> str:
        """What a model reads of it: the docstring's summary and body, or what ``tool`` was given."""
        given = self.options.description
        return self._definition.description if given is None else given

    @property
    def effects(self) -> frozenset[Effect]:
        """What a call does to the world, as far as the author says."""
        return self.options.effects

    @property
    def tags(self) -> frozenset[str]:
        """Labels by which ``Registry.subset`` chooses."""
        return self.options.tags

    @property
    def timeout(self) -> float | None:
        """Seconds after which a call is answered without its result; kept where a loop runs the tool."""
        return self.options.timeout

    @property
    def strict(self) -> Strictness | None:
        """Whether the author wants the arguments constrained; ``None``: as the registry is bound."""
        return self.options.strict

    @property
    def coerce(self) -> Mapping[str, bool] | bool | None:
        """The coercion rules that the author switched on or off."""
        return self.options.coerce

    @property
    def model(self) -> type[BaseModel]:
        """The pydantic model that makes the schema and validates every call.

        Raises:
            UsageError: The tool was made from a definition: its own JSON Schema validates.
        """
        if isinstance(self._definition, SchemaDefinition):
            raise UsageError(f"{self.name} was made from a definition: it has a schema, and no model")
        return self._definition.model

    @property
    def input_schema(self) -> JsonSchema:
        """A copy of the canonical JSON Schema (2020-12) of the arguments."""
        return cast("JsonSchema", copied(self._definition.schema))

    @property
    def output_schema(self) -> JsonSchema | None:
        """A copy of the JSON Schema of the result; ``None`` if the return annotation says nothing."""
        schema = self.output.schema
        return None if schema is None else copied(schema)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What works but deserves a look."""
        found = self._definition.findings + self.output.findings
        if self.options.description:
            found = tuple(finding for finding in found if finding.rule != "undescribed")
        return found

    @property
    def spec(self) -> Spec:
        """The canonical record that every provider's shape is made from; of results that are cut or marked it promises no form."""
        options = self.options
        return Spec(
            name=self.name,
            title=self.title,
            description=self.description,
            parameters=self.input_schema,
            output=None if options.untrusted or options.longest_result is not None else self.output_schema,
            examples=self.options.examples,
            effects=self.effects,
            keys=self.options.providers,
            verbatim=self._verbatim,
        )

    @property
    def _verbatim(self) -> Verbatim | None:
        definition = self._definition
        if not self.options.verbatim or not isinstance(definition, SchemaDefinition):
            return None
        return definition.verbatim

    @functools.cached_property
    def output(self) -> outputs.Output:
        """How results are written as JSON."""
        if self._bound_to is not None:
            return self._bound_to.output
        definition = self._definition
        return definition.output if isinstance(definition, SchemaDefinition) else outputs.describe(definition.signature)

    @property
    def definition(self) -> "models.Definition | SchemaDefinition":
        """What has been read of the function; for the modules of toolshape."""
        return self._definition

    @functools.cached_property
    def _definition(self) -> "models.Definition | SchemaDefinition":
        if self._bound_to is not None:
            return self._bound_to.as_method
        try:
            read = signatures.read(
                cast("Any", self.function), name=self.options.name, skip_first=self._skip_first, frame=self._frame
            )
            definition = models.define(read)
        except signatures.NameNotDefinedError as error:
            problem = Problem(path="", rule="name_not_defined", message=str(error))
            raise DefinitionError(tool=error.tool, location=error.location, problems=[problem]) from error
        self._frame = None
        self.__dict__["_definition"] = definition
        self.refuse_wrong_examples()
        return definition

    @functools.cached_property
    def invoke(self) -> Invoke:
        """What calls the function with valid arguments; for the modules of toolshape."""
        definition = self._definition
        if isinstance(definition, SchemaDefinition):
            return definition.invoke
        return compile_invoke(cast("Any", self.function), definition.layout)

    @functools.cached_property
    def as_method(self) -> models.Definition:
        """The definition without the first parameter, which an object will fill; for the modules of toolshape."""
        definition = cast("models.Definition", self._definition)
        if self._skip_first:
            return definition
        return models.define(signatures.without_first(definition.signature))

    def _define_now(self) -> None:
        """Define at decoration, so that mistakes show there; a name not defined yet waits for the first use."""
        try:
            _ = self._definition
        except DefinitionError as error:
            if not isinstance(error.__cause__, signatures.NameNotDefinedError):
                raise

    @functools.cached_property
    def _validate(self) -> Validate:
        return self.compile_validate(Terms(self.name, chosen_rules(self.options.coerce)))

    def compile_validate(self, terms: Terms) -> Validate:
        """Compile the way from a model's arguments to valid ones; for the modules of toolshape."""
        definition = self._definition
        if isinstance(definition, SchemaDefinition):
            from toolshape.definitions import build  # noqa: PLC0415 - most programs have no definition of others, and would pay for all formats

            return build.compile_validate(definition, terms)
        return compile_validate(
            self._validation if self._bound_to is None else self._bound_to.validation_as_method, terms
        )

    @functools.cached_property
    def _validation(self) -> Validation:
        return validation_of(cast("models.Definition", self._definition))

    @functools.cached_property
    def validation_as_method(self) -> Validation:
        """How the arguments of ``as_method`` are validated; for the modules of toolshape."""
        return validation_of(self.as_method)

    def refuse_wrong_examples(self) -> None:
        """Check the examples as a model's arguments are checked, none of them mended.

        Raises:
            DefinitionError: One is not what the tool takes.
        """
        places = [(f"examples[{index}]", example) for index, example in enumerate(self.options.examples)]
        for name, keys in self.options.providers.items():
            key = providers.get(name).examples
            places += [(f"providers[{name!r}].{key}[{index}]", one) for index, one in enumerate(keys.get(str(key), ()))]
        if not places:
            return
        problems: list[Problem] = []
        validate = self.compile_validate(Terms(self.name, frozenset()))
        for place, example in places:
            try:
                validate(example)
            except CallError as error:
                problems += [one._replace(path=f"{place}.{one.path}".strip(".")) for one in error.problems]
        if problems:
            raise DefinitionError(tool=self.name, location=self._definition.location, problems=problems)

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

        It is a tool like any other: shown to every provider, its arguments validated (by its own schema), mended and
        answered for in the same words. Needs the extra ``schema``.

        Args:
            definition: A definition as OpenAI, Anthropic, Gemini, Bedrock, MCP, Mistral, Cohere or Ollama takes it, a
                bare JSON Schema (with ``name=``), or one of the forms of test sets and registries; told apart by form.
                A dict, an SDK object, or JSON text.
            function: What answers its calls: called by keyword, with what ``inject`` gives. Without one the tool is
                shown and its calls are planned, but not run.
            verbatim: Whether providers whose entries have the form of this definition are sent it as it is, without
                what the options say; what they would refuse is an ``ExportError`` all the same.
            **options: As for ``tool``; they go before what the definition says.

        Raises:
            DefinitionError: It has no form that is known, its schema is none, or the function does not fit it.
            ImportError: The extra is not installed.
        """
        return make_from_definition(definition, lambda _: function, verbatim, options, calling_frame())

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
        call = self._call
        if type(self) is Tool and self._bound_to is None:  # the next call finds it here, and saves this frame
            self.__dict__["call"] = types.MethodType(call, self)
        return call(self, arguments, inject=inject)

    @functools.cached_property
    def _call(self) -> Callable[..., Any]:
        definition = self._definition

        def check(inject: Mapping[str, Any]) -> None:
            self.require(inject)
            refuse_running_loop(definition.kind, self.name)

        needs = self._skip_first or self.function is None or definition.layout.injected or is_async(definition.kind)
        call = compile_call(definition.kind, self._validate, self.invoke, self.name, check if needs else None)
        return functools.update_wrapper(call, Tool.call)

    async def acall(
        self, arguments: str | bytes | Mapping[str, Any] | None, *, inject: Mapping[str, Any] = NOTHING_INJECTED
    ) -> Any:
        """The same as ``call``, from a running loop: other than async tools run in a thread."""
        from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

        definition = self._definition
        self.require(inject)
        try:
            validated, _ = self._validate(arguments)
        except BaseException as error:
            refused = refusal(error, tool=self.name)
            raise refused from refused.__cause__
        try:
            work = aio.run_async(definition.kind, self.invoke, validated, inject, self.timeout)
            return await aio.alone(work)
        except BaseException as error:
            raise as_call_error(error, tool=self.name, timeout=self.timeout) from error

    def export(self, provider: str | Provider, *, strict: Strictness | None = None) -> JsonObject:
        """Show this tool alone, as one entry of what the provider takes as tools.

        Args:
            provider: Whom it is shown to.
            strict: Whether its arguments are to be constrained; by default as the tool says, else ``"auto"``.

        Raises:
            ExportError: The provider cannot be shown this tool, or has no strict form.
        """
        wish = self.strict if strict is None else strict
        return showing.show(providers.get(provider), self.spec, "auto" if wish is None else wish).payload

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
            UsageError: It is a method bound to nothing, it has no function, or a value is missing.
        """
        self.require_bound()
        if self.function is None:
            raise UsageError(f"{self.name} has no function: answer its calls yourself, or pass one to from_definition")
        for name, default in self._definition.layout.injected.items():
            if default is inspect.Parameter.empty and name not in inject:
                raise UsageError(f"{self.name} needs inject={{{name!r}: ...}}")


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(function: None = None, /, **options: "Unpack[ToolOptions]") -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Any = None, /, **options: "Unpack[ToolOptions]") -> Any:
    """Make a function a tool. Use it bare or with options; the function stays callable as it was.

    Args:
        function: A function, method, static- or classmethod, ``functools.partial`` or callable object, sync or
            async, or a generator (the last value it yields is the result).
        **options: All by keyword:

            - ``name``: The name a model calls it by; by default the function's.
            - ``title``: A name for people.
            - ``description``: What a model reads instead of the docstring's summary and body.
            - ``strict``: Whether a provider is to constrain the arguments to the schema: ``True``, ``False``, or
              ``"auto"`` (if that takes only changes without a trace). By default as the registry is bound.
            - ``coerce``: Coercion rules to switch on or off by name, ``False`` for none of them.
            - ``timeout``: Seconds after which a call is answered without its result. Kept by ``adispatch`` and
              ``acall``; a synchronous function cannot be stopped from outside and goes on in its thread.
            - ``longest_result``: How many characters of a result a model is shown; it is told where one was cut.
            - ``untrusted``: Whether a result is somebody else's text: it is marked as data, with a mark that it cannot
              close itself.
            - ``tags``: Labels by which ``Registry.subset`` chooses.
            - ``effects``: What a call does: ``"read"``, ``"write"``, ``"destructive"``, ``"idempotent"``,
              ``"open_world"``, ``"closed_world"``. MCP clients are told; where a provider compiles only so many strict
              tools, destructive ones go first.
            - ``examples``: Right arguments, as JSON; shown in the form that a provider is shown the tool in.
            - ``providers``: By a provider's name, what its entry says besides, in its own words, as in
              ``{"anthropic": {"defer_loading": True}}``.

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
        again: Tool[..., Any] = object.__new__(Tool)
        again.__dict__.update({key: value for key, value in function.__dict__.items() if key not in _OF_OPTIONS})
        again.options = function.options._replace(**given_in(options))
        if options.examples:
            again.refuse_wrong_examples()
        return again
    binds: Literal["to_object", "to_class", "never"] = "never"
    if isinstance(function, staticmethod):
        function = function.__func__
    elif isinstance(function, classmethod):
        binds, function = "to_class", function.__func__
    elif hasattr(type(function), "__get__") and not inspect.ismethod(function) and not inspect.isbuiltin(function):
        binds = "to_object"  # functions, and what functools.cache makes of them
    if signatures.dispatches_on(function) == "method":
        binds = "never"  # it has its object
    skip_first = binds == "to_class" or (binds == "to_object" and _looks_like_method(function))
    return Tool(function, options, binds=binds, skip_first=skip_first, frame=frame)


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
    from toolshape.definitions import build  # noqa: PLC0415 - most programs have no definition of others, and would pay for all formats

    made, function = build.define(definition, choose, name=given.name, frame=frame)
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
    tool = _from_parts(made, function, given)
    tool.refuse_wrong_examples()
    return tool


def _from_parts(made: SchemaDefinition, function: Callable[..., Any] | None, options: Options) -> Tool[..., Any]:
    tool: Tool[..., Any] = object.__new__(Tool)
    if function is not None:
        tool.take_after(function)
    tool.__dict__.update(
        function=function, options=options, _definition=made, _bound_to=None, _binds="never", _skip_first=False
    )
    return tool


def _from_pickle(entry: JsonObject, function: Callable[..., Any] | None, options: Options) -> Tool[..., Any]:
    from toolshape.definitions import build  # noqa: PLC0415 - most programs have no definition of others, and would pay for all formats

    made, _ = build.define(entry, lambda _: function, name=options.name, frame=None)
    return _from_parts(made, function, options)


def _made_again(function: Any, options: Options) -> Tool[..., Any]:
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

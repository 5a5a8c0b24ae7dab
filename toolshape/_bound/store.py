"""Holds the tools and settings of a registry, and refuses names that are taken."""

import ast
import inspect
import linecache
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from toolshape._records.calls import DefaultEffect, Strictness
from toolshape._records.errors import DefinitionError, Problem, join_errors
from toolshape._records.shown import readable_name
from toolshape._tools.record import refuse_unbound_method
from toolshape._tools.tool import Tool, is_read, record_of

if TYPE_CHECKING:
    from toolshape._answers.output import Output
    from toolshape._bound.bound import Bound, Observer
    from toolshape._families.wire.provider import Provider
    from toolshape._tools.hook_kinds import Hook

BindingKey: TypeAlias = tuple[str, str]
"""The name of a provider, and the requested strictness as a string."""


class Use(NamedTuple):
    """The last binding of the tools under one ``BindingKey``: the provider,
    and the requested output, if any.
    """

    provider: "Provider"
    output: Any = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, slots=True)
class Contents:
    """A snapshot of a registry; a change replaces the whole snapshot, so
    no thread sees a partial change.

    Args:
        strict: Whether providers constrain arguments to the schema; ``bind`` or a tool can override
            this setting.
        coerce: Coercion rules to switch on or off by name.
        feedback: The format of the error that answers a call with invalid arguments.
        default_effect: How to treat tools that declare no effect.
        tools: The tools by name.
        hooks: The hooks around every call, the first outermost.
        observers: The observers of whole responses.
        outputs: The outputs that a restored turn may hold an answer of; the newest comes last.
        used: The providers that the tools were bound to; the provider of the latest request comes
            last.
        bounds: The ``Bound`` objects of these tools and hooks, by key and output; a cache that
            ``bind`` fills.
    """

    strict: Strictness = "auto"
    coerce: Mapping[str, bool] | bool | None = None
    feedback: Literal["lines", "json"] = "lines"
    default_effect: DefaultEffect = None
    tools: Mapping[str, Tool[..., Any]] = field(default_factory=dict)
    hooks: "tuple[Hook, ...]" = ()
    observers: "tuple[Observer, ...]" = ()
    outputs: "tuple[Output[Any], ...]" = ()
    used: Mapping[BindingKey, Use] = field(default_factory=dict)
    bounds: "dict[tuple[BindingKey, Any], Bound]" = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """Return the keyword arguments of a ``Registry`` with the same settings."""
        names = "strict", "coerce", "feedback", "default_effect"
        return {name: getattr(self, name) for name in names}

    def holding(self, tools: Iterable[Tool[..., Any]]) -> "Contents":
        """Return a copy with other tools, and the same settings and hooks.

        Raises:
            DefinitionError: Two of the tools share a name.
        """
        return replace(self, tools=add_by_name({}, tools), bounds={})


class Store:
    """The contents of a registry, and the listeners that each change calls;
    safe to use from several threads.
    """

    __slots__ = ("contents", "listeners", "lock")

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.listeners: tuple[Callable[[], object], ...] = ()
        self.lock = threading.Lock()

    def change(self, made_of: Callable[[Contents], Contents]) -> None:
        """Replace the contents, then call the listeners.

        Raises:
            Exception: ``made_of`` raised an exception; the registry is unchanged.
        """
        with self.lock:
            self.contents = made_of(self.contents)
        for listener in self.listeners:
            try:
                listener()
            except Exception:  # the change is made, and the other listeners are still called
                import logging  # noqa: PLC0415 - it costs a tenth of importing the package, and is rarely needed

                logging.getLogger("toolshape").exception("a listener of a registry raised")


def add_by_name(
    there: Mapping[str, Tool[..., Any]], added: Iterable[Tool[..., Any]]
) -> dict[str, Tool[..., Any]]:
    """Return the existing and the added tools, by name.

    Raises:
        DefinitionError: Two tools share a name; the error names all of them.
        UsageError: A tool is a method that is not bound to an object.
    """
    tools = dict(there)
    errors: list[DefinitionError] = []
    for tool in added:
        if is_read(tool):
            refuse_unbound_method(record_of(tool))
        if tool.name in tools and not _is_redefined(tools[tool.name], tool):
            errors.append(_name_taken(tools[tool.name], tool))
        tools[tool.name] = tool
    if errors:
        raise join_errors(errors)
    return tools


def name_errors(
    there: Mapping[str, Tool[..., Any]], added: Iterable[Tool[..., Any]]
) -> Iterator[DefinitionError]:
    """Yield an error for each added tool whose name is taken, or is sent in the
    same form as the name of another.
    """
    by_form = {readable_name(name): tool for name, tool in there.items()}
    for tool in added:
        other = by_form.setdefault(readable_name(tool.name), tool)
        if other is tool or _is_redefined(other, tool):
            continue
        if other.name == tool.name:
            yield _name_taken(other, tool)
        else:
            yield _names_meet(other, tool)


def _is_redefined(taken: Tool[..., Any], added: Tool[..., Any]) -> bool:
    """Whether a module defined a function again, as in a notebook cell that ran
    twice; the new tool then wins.

    Two functions of one name that stand in one file are a mistake, and not a second definition: the
    author is told.
    """
    functions: list[Any] = [taken.function, added.function]
    names = [
        (getattr(function, "__module__", None), getattr(function, "__qualname__", "<locals>"))
        for function in functions
    ]
    return (
        names[0] == names[1]
        and functions[0] is not functions[1]
        and "." not in names[0][1]
        and "<" not in names[0][1]
        and not _stand_in_one_file(*functions)
    )


def _stand_in_one_file(one: Any, other: Any) -> bool:
    """Whether the source of a file holds both of these functions, at two places.

    After a reload, a function stands where it stood, or the line where it stood no longer begins a
    function of its name. Each cell of a notebook is a file.
    """
    codes: list[Any] = [
        getattr(inspect.unwrap(function), "__code__", None) for function in (one, other)
    ]
    if None in codes or codes[0].co_filename != codes[1].co_filename:
        return False
    lines = {code.co_firstlineno for code in codes}
    try:
        tree = ast.parse("".join(linecache.getlines(codes[0].co_filename)))
    except (SyntaxError, ValueError):  # the file has changed, and is being written
        return False
    places = {
        min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == one.__name__
    }
    return len(lines) > 1 and lines <= places


def _name_taken(existing: Tool[..., Any], added: Tool[..., Any]) -> DefinitionError:
    message = (
        f"{added.name!r} is already defined at {_location(existing)}: "
        "give one of the two tools another name with tool(name=...), "
        "or all tools of one server or registry a prefix: connect(prefix=...), prefixed(...)"
    )
    problem = Problem(path="name", rule="name_taken", message=message)
    return DefinitionError(tool=added.name, location=_location(added), problems=[problem])


def _names_meet(existing: Tool[..., Any], added: Tool[..., Any]) -> DefinitionError:
    message = (
        f"{existing.name!r} and {added.name!r} would both be sent as "
        f"{readable_name(added.name)!r}: "
        "add one of the two under another name with Tool.from_definition(definition, name=...)"
    )
    problem = Problem(path="name", rule="name_meets", message=message)
    return DefinitionError(tool=added.name, location=_location(added), problems=[problem])


def _location(tool: Tool[..., Any]) -> str:
    if is_read(tool):
        return record_of(tool).definition.location
    return "a definition"

"""``Registry``: the tools an application has. ``Bound``: their shapes at one provider, for good."""

import difflib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar, overload

from toolshape.annotations import calling_frame
from toolshape.calls import Call, Finding, JsonObject, Loss, Message, Result, Results
from toolshape.coercion import chosen_rules
from toolshape.dispatch import Plan
from toolshape.errors import DefinitionError, ExportError, Problem, ResponseError, UsageError
from toolshape.provider import Choice, Provider, Strictness, family_of, get, opened
from toolshape.report import Report
from toolshape.running import NOTHING_INJECTED
from toolshape.shape import Shape, shape
from toolshape.tool import Options, Tool, as_tool, labels, make_tool

__all__ = ["Bound", "Registry"]

P = ParamSpec("P")
R = TypeVar("R")
_Key: TypeAlias = tuple[str, str]
_STRICTNESS: Mapping[str, Strictness] = {"True": True, "False": False, "auto": "auto"}


class Bound:
    """The shapes of some tools at one provider: immutable, whatever becomes of the registry."""

    __slots__ = ("_exported", "_shapes", "provider")

    def __init__(
        self,
        tools: Iterable[Tool[..., Any]],
        provider: Provider,
        strict: Strictness,
        rules: Mapping[str, bool] | bool | None,
    ) -> None:
        self.provider = provider
        self._shapes: dict[str, Shape] = {}
        for tool in tools:
            one = shape(tool, provider, strict, rules)
            if other := self._shapes.get(one.shown.wire_name):
                message = f"{other.name!r} and {one.name!r} would both be {one.shown.wire_name!r}: pass name= to one"
                problem = Problem(path="name", rule="name_taken", message=message)
                raise ExportError(provider=provider.name, tool=one.name, problems=[problem])
            self._shapes[one.shown.wire_name] = one
        self._exported = json.dumps(provider.gather([one.shown.payload for one in self._shapes.values()]))

    def __repr__(self) -> str:
        return f"Bound({self.provider.name!r}, {[shape.name for shape in self._shapes.values()]})"

    def export(self) -> list[JsonObject]:
        """What the provider's SDK takes as ``tools=``: your own copy, the same bytes in every process."""
        tools: list[JsonObject] = json.loads(self._exported) if self._shapes else []
        return tools

    def report(self) -> Report:
        """What this provider is told otherwise than the functions say it, and what deserves a look."""
        said: list[tuple[str, Loss | Finding]] = []
        for one in self._shapes.values():
            said += [(one.name, loss) for loss in (*one.shown.notes, *one.shown.lens.losses)]
            said += [(one.name, finding) for finding in one.tool.findings]
        return Report(said)

    def request(self, *, choice: str | None = None, parallel: bool | None = None) -> JsonObject:
        """The keywords of a request: ``tools``, and the choice in the provider's words. Empty without tools.

        Args:
            choice: ``"auto"``, ``"none"``, ``"required"``, or the name of the one tool to call.
            parallel: Whether several calls may come in one response.

        Raises:
            ExportError: There is no such tool, or the provider cannot say this.
        """
        if not self._shapes:
            return {}
        is_strict = any(one.shown.is_strict for one in self._shapes.values())
        is_name = choice not in (None, "auto", "none", "required")
        wire_name = choice
        if is_name:
            wire_names = {one.name: one.shown.wire_name for one in self._shapes.values()}
            if choice not in wire_names:
                near = difflib.get_close_matches(str(choice), wire_names, 1)
                hint = f'did you mean "{near[0]}"?' if near else ""
                problem = Problem(path="choice", rule="unknown_tool", message=f"there is no tool {choice!r}", hint=hint)
                raise ExportError(provider=self.provider.name, tool=None, problems=[problem])
            wire_name = wire_names[str(choice)]
        chosen = Choice(choice=wire_name, is_name=is_name, parallel=parallel, is_strict=is_strict)
        return self.provider.request(self.export(), chosen)

    def plan(self, response: Any) -> Plan:
        """Read a response (SDK object, dict, JSON text or bytes), validate its calls, and run nothing.

        Raises:
            ResponseError: It is not a response of this provider's family.
        """
        body = opened(response)
        if not self.provider.recognises(body):
            found = family_of(body)
            raise ResponseError(f"a response of {found.family}, not of {self.provider.family}", body=response)
        return Plan(self.provider, self.provider.read(body), self._shapes)

    def parse(self, response: Any) -> list[Call]:
        """The calls in a response, named home, whether they are valid or not."""
        return self.plan(response).calls

    def dispatch(self, response: Any, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Results:
        """Run every call of a response and answer each: ``plan`` and ``run``, nothing more."""
        return self.plan(response).run(inject=inject)

    async def adispatch(self, response: Any, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Results:
        """The same from a running loop: ``plan`` and ``arun``."""
        return await self.plan(response).arun(inject=inject)

    def encode(self, results: Sequence[Result]) -> list[Message]:
        """Results as the provider's messages, in the order given."""
        return self.provider.encode(results) if results else []


class Registry:
    """The tools of an application, offered to any provider.

    Args:
        tools: Tools, or plain functions, which become tools.
        strict: Whether providers are to constrain arguments to the schema, where ``bind`` and the tool do not say.
        coerce: Coercion rules to switch on or off by name for all of them, ``False`` for none.

    Raises:
        DefinitionError: A function cannot be a tool, or two tools have one name.
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]] = (),
        *,
        strict: Strictness = "auto",
        coerce: Mapping[str, bool] | bool | None = None,
    ) -> None:
        chosen_rules(coerce)
        self._tools: dict[str, Tool[..., Any]] = {}
        self._coerce = coerce
        self._strict: Strictness = strict
        self._bounds: dict[_Key, Bound] = {}
        self._used: dict[_Key, Provider] = {}
        frame = calling_frame()
        for one in tools:
            self._add(as_tool(one, frame))

    def add(self, tool: Tool[..., Any] | Callable[..., Any]) -> Tool[..., Any]:
        """Add a tool, or a plain function as one; what was bound before does not change.

        Raises:
            DefinitionError: It cannot be a tool, or its name is taken.
            UsageError: It is a method that no object has been given.
        """
        return self._add(as_tool(tool, calling_frame()))

    def _add(self, added: Tool[..., Any]) -> Tool[..., Any]:
        added.require_bound()
        if taken := self._tools.get(added.name):
            message = f"{added.name!r} is already at {taken.definition.signature.location}: pass name="
            problem = Problem(path="name", rule="name_taken", message=message)
            location = added.definition.signature.location
            raise DefinitionError(tool=added.name, location=location, problems=[problem])
        self._tools = {**self._tools, added.name: added}  # another thread may be reading
        self._bounds = {}
        return added

    @overload
    def tool(self, function: Callable[P, R], /) -> Tool[P, R]: ...
    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        strict: Strictness | None = None,
        coerce: Mapping[str, bool] | bool | None = None,
        timeout: float | None = None,
        tags: Collection[str] = (),
    ) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
    def tool(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        strict: Strictness | None = None,
        coerce: Mapping[str, bool] | bool | None = None,
        timeout: float | None = None,
        tags: Collection[str] = (),
    ) -> Any:
        """Make a function a tool and add it; as ``toolshape.tool`` otherwise."""
        options = Options(name, title, description, strict, coerce, timeout, labels(tags))
        if function is None:
            return lambda decorated: self._add(make_tool(decorated, options, calling_frame()))
        return self._add(make_tool(function, options, calling_frame()))

    def __getitem__(self, name: str) -> Tool[..., Any]:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"Registry({list(self._tools)})"

    def subset(self, names: Collection[str] | None = None, tags: Collection[str] | None = None) -> "Registry":
        """A registry of some of these tools: those with one of these names, and with one of these tags.

        Raises:
            KeyError: A name is not here.
        """
        names = None if names is None else labels(names)
        tags = None if tags is None else labels(tags)
        for name in sorted(names or ()):
            if name not in self._tools:
                raise KeyError(name)
        chosen = [
            tool
            for tool in self
            if (names is None or tool.name in names) and (tags is None or not tool.tags.isdisjoint(tags))
        ]
        subset = Registry(chosen, strict=self._strict, coerce=self._coerce)
        subset._used = dict(self._used)
        return subset

    def bind(self, provider: str | Provider, strict: Strictness | None = None) -> Bound:
        """The shapes of these tools, as they are now, at a provider.

        Args:
            provider: Whom they are shown to.
            strict: Whether arguments are to be constrained: ``True``, ``False``, or ``"auto"``; by default as the
                registry says. A tool's own wish goes before it.

        Raises:
            ExportError: There is no such provider, it cannot be shown one of the tools, or it has no strict form.
        """
        found = get(provider)
        wish = self._strict if strict is None else strict
        key = (found.name, str(wish))
        bound = self._bounds.get(key)
        if bound is None or bound.provider is not found:
            bound = self._bounds[key] = Bound(self, found, wish, self._coerce)
            self._used[key] = found
        return bound

    def export(self, provider: str | Provider, *, strict: Strictness | None = None) -> list[JsonObject]:
        """What the provider's SDK takes as ``tools=``; see ``bind`` and ``Bound.export``."""
        return self.bind(provider, strict).export()

    def request(
        self,
        provider: str | Provider,
        *,
        choice: str | None = None,
        parallel: bool | None = None,
        strict: Strictness | None = None,
    ) -> JsonObject:
        """The keywords of a request; see ``bind`` and ``Bound.request``."""
        return self.bind(provider, strict).request(choice=choice, parallel=parallel)

    def dispatch(
        self,
        response: Any,
        *,
        provider: str | Provider | None = None,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
    ) -> Results:
        """Run every call of a response and answer each. It never raises for what a model or a tool did.

        Args:
            response: The provider's response: SDK object, dict, JSON text or bytes.
            provider: Whose it is, where this registry was bound to several of one family.
            inject: The values of injected parameters, by name.

        Raises:
            ResponseError: It is not a response of any known family.
            UsageError: An injected value is missing, ``provider`` is needed, or a tool is async and a loop runs.
        """
        body = opened(response)
        return self._bound_for(body, provider).dispatch(body, inject=inject)

    async def adispatch(
        self,
        response: Any,
        *,
        provider: str | Provider | None = None,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
    ) -> Results:
        """The same from a running loop: all calls at once, async tools in the loop, others in threads."""
        body = opened(response)
        return await self._bound_for(body, provider).adispatch(body, inject=inject)

    def _bound_for(self, body: Any, provider: str | Provider | None) -> Bound:
        """The one shape of the body's family that this registry was bound to; the family's default, if to none."""
        name = None if provider is None else get(provider).name
        default = family_of(body, list(self._used.values())) if provider is None else get(provider)
        used = [key for key, one in self._used.items() if one.family == default.family and name in (None, key[0])]
        if len(used) > 1:
            shapes = ", ".join(sorted(f"{key[0]} (strict={key[1]})" for key in used))
            way_out = (
                "pass provider=" if len({key[0] for key in used}) > 1 else "call dispatch on the bound that was sent"
            )
            raise UsageError(f"a response of {default.family} may be of any of {shapes}: {way_out}")
        if not used:
            return self.bind(default)
        return self.bind(self._used[used[0]], _STRICTNESS[used[0][1]])

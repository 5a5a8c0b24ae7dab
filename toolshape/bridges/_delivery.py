"""Answers a call that a framework delivers: plans it, asks the framework for approval, and runs it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from toolshape._bound import Bound, bound_tools_of
from toolshape._calls import JsonObject, JsonSchema, Strictness, WireCall
from toolshape._dispatch import steps
from toolshape._dispatch.approval import Decision, Deny
from toolshape._dispatch.ledger_store import LedgerStore, checked_ledger
from toolshape._dispatch.outbound import histories_of
from toolshape._dispatch.plan import Plan
from toolshape._dispatch.planning import planned
from toolshape._dispatch.run_options import OnProgress
from toolshape._errors import CallError, UsageError, did_you_mean
from toolshape._function.annotations import framework_of_context
from toolshape._parts import Part, Text, named
from toolshape._registry import Registry
from toolshape._results import PendingCall, Result
from toolshape._schema.values import copied
from toolshape._tool import Tool, record_of
from toolshape._wire.provider import AnyProvider, Reading


class BridgeOptions(TypedDict, total=False):
    """The keywords of the functions that give tools to a framework.

    - ``inject``: The values of injected parameters, by name, or a function that returns them for the framework's context.
      A parameter that is typed as that context needs no entry.
    - ``ledger``: A ``toolshape.ledger.Ledger``, which records the calls that have run, so that none runs twice. Tools
      that need approval and write need one: a framework may deliver an approval twice.
    - ``scope``: Where the ids of calls are unique, if they are not unique everywhere: a text, or a function that
      returns one for the framework's context.
    - ``on_progress``: Takes each ``Progress`` that a tool reports through its ``CallContext``.
    """

    inject: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
    ledger: LedgerStore | None
    scope: str | Callable[[Any], str] | None
    on_progress: OnProgress | None


class Definition(NamedTuple):
    """A tool as a framework is given it: in the form of the provider that the framework talks to.

    ``may_wait``: calls may need approval. ``runs_alone``: it writes, so that its calls run alone and in order.
    ``contexts`` are the parameters that take a framework's context, with their annotations.
    """

    tool: Tool[..., Any]
    wire_name: str
    description: str
    schema: JsonSchema
    is_strict: bool
    may_wait: bool
    runs_alone: bool
    contexts: Mapping[str, Any]


class Delivered(NamedTuple):
    """A call as a framework delivers it.

    ``arguments`` are the model's, as JSON text or as a value. ``context`` is what the framework tells of the call, and
    ``fill`` returns the value of a parameter with a given annotation that takes it.
    """

    call_id: str
    wire_name: str
    arguments: Any
    context: Any
    fill: Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Bridge:
    """Tools in the form of one provider, and how the calls of a framework are run."""

    bound: Bound
    definitions: Mapping[str, Definition]
    options: BridgeOptions

    def plan(self, call: Delivered) -> Plan:
        """Validate a call, and run nothing. Observers are shown a message of the provider that holds only this call."""
        bound_tools = bound_tools_of(self.bound)
        if bound_tools.observers is None:
            return self.unobserved_plan(call)
        provider = bound_tools.provider
        messages = provider.codec.write_calls([WireCall(call.call_id, call.wire_name, call.arguments)])
        return self.bound.plan(messages if histories_of(provider).is_items else messages[-1])

    def unobserved_plan(self, call: Delivered) -> Plan:
        """Validate a call, and show it to nobody."""
        raw = {"name": call.wire_name, "arguments": call.arguments}
        if call.call_id:
            raw["id"] = call.call_id
        bound_tools = bound_tools_of(self.bound)
        reading = Reading([], [WireCall(call.call_id, call.wire_name, call.arguments, raw)], None)
        return Plan(planned(bound_tools.provider, reading, bound_tools.handlers))

    def sendable(self, parts: Iterable[Part]) -> list[Part]:
        """Return the parts that a result can hold; each other part is named by a text."""
        provider = self.bound.provider
        rules = () if provider.histories is None else provider.histories.rules
        holds_none = any(rule.name == "media_in_result" and not rule.models for rule in rules)
        return [
            part if isinstance(part, Text) or (provider.takes(part) and not holds_none) else Text(named(part))
            for part in parts
        ]

    def run_options(self, call: Delivered) -> dict[str, Any]:
        """Return the keywords of ``Plan.run`` for a call."""
        inject, scope, ledger = self.options.get("inject", {}), self.options.get("scope"), self.options.get("ledger")
        given = inject(call.context) if callable(inject) else inject
        contexts = self.definitions[call.wire_name].contexts
        filled = {name: call.fill(annotation) for name, annotation in contexts.items() if name not in given}
        if callable(scope):
            scope = scope(call.context)
        progress = self.options.get("on_progress")
        return {
            "inject": {**filled, **given},
            "ledger": ledger,
            "scope": scope if ledger else None,
            "on_progress": progress,
        }


def bridge(
    tools: Registry,
    provider: AnyProvider,
    strict: Strictness | None,
    options: BridgeOptions,
    packages: Collection[str] = (),
) -> Bridge:
    """Bind tools for a framework.

    Args:
        tools: The registry.
        provider: The provider that the framework talks to.
        strict: As for ``Registry.bind``.
        options: How calls are run.
        packages: The packages whose context classes the framework fills.

    Raises:
        TypeError: There is no such keyword.
        UsageError: A tool needs approval and writes, and there is no ledger; or another argument is invalid.
        ExportError: The provider cannot be sent one of the tools.
    """
    given: Any = tools
    if not isinstance(given, Registry):
        raise UsageError(f"a bridge takes a Registry, not {type(tools).__name__}: write Registry([...])")
    for name in options:
        if name not in BridgeOptions.__annotations__:
            raise TypeError(f"there is no keyword {name!r} {did_you_mean(name, BridgeOptions.__annotations__)}".strip())
    ledger = options.get("ledger")
    if ledger is not None:
        checked_ledger(ledger, None)
    bound = tools.bind(provider, strict)
    definitions = _definitions(bound, packages)
    for definition in definitions.values():
        if ledger is None and definition.may_wait and not _is_harmless(definition):
            raise UsageError(
                f"{definition.tool.name} needs approval, and a framework may deliver an approval twice: pass ledger= "
                '(see toolshape.ledger.Ledger), or declare effects=["read"] or ["idempotent"] if twice is as good as once'
            )
    return Bridge(bound=bound, definitions=definitions, options=options)


def _is_harmless(definition: Definition) -> bool:
    return not definition.runs_alone and not definition.tool.effects.isdisjoint(("read", "idempotent"))


def _definitions(bound: Bound, packages: Collection[str]) -> dict[str, Definition]:
    bound_tools = bound_tools_of(bound)
    found = {}
    for wire_name, shape in bound_tools.shapes.items():
        handler = bound_tools.handlers.find(wire_name)
        assert handler is not None  # noqa: S101 - each shape has one
        found[wire_name] = Definition(
            tool=shape.tool,
            wire_name=wire_name,
            description=shape.description,
            schema={key: value for key, value in shape.schema.items() if key != "$schema"},
            is_strict=shape.is_strict,
            may_wait=bool(handler.approve),
            runs_alone=handler.runs_alone,
            contexts=_contexts(shape.tool, packages),
        )
    return found


def _contexts(tool: Tool[..., Any], packages: Collection[str]) -> dict[str, Any]:
    """Return the parameters of a tool that take a context of these packages, with their annotations."""
    signature = getattr(record_of(tool).definition, "signature", None)
    parameters = () if signature is None else signature.parameters
    return {
        parameter.name: parameter.annotation
        for parameter in parameters
        if parameter.injected and framework_of_context(parameter.annotation) in packages
    }


def answered(bridge: Bridge, call: Delivered, plan: Plan, decide: Callable[[PendingCall], Decision]) -> Result:
    """Run the call of a plan, and return its result.

    Args:
        bridge: The tools.
        call: The call, as it was delivered.
        plan: Its plan.
        decide: Returns the decision on a call that needs approval; or raises what makes the framework ask for one.
            Nothing was run then.

    Raises:
        UsageError: An injected value is missing, or edited arguments are invalid.
    """
    return steps.done_here(_answered(bridge, call, plan, decide, steps.HERE))


async def aanswered(bridge: Bridge, call: Delivered, plan: Plan, decide: Callable[[PendingCall], Decision]) -> Result:
    """Do the same in a running loop."""
    return await _answered(bridge, call, plan, decide, steps.IN_LOOP)


async def _answered(
    bridge: Bridge, call: Delivered, plan: Plan, decide: Callable[[PendingCall], Decision], how: steps.Steps
) -> Result:
    options = bridge.run_options(call)
    run: Callable[..., Any] = plan.arun if how.is_loop else plan.run
    # The ledger is looked at first: whoever approved of a call that has run is not asked again.
    await how.result_of(run(**options))
    for waiting in plan.pending:
        put(plan, waiting, decide(waiting))
        await how.result_of(run(**options))
    return plan.results[0]


async def needs_approval(bridge: Bridge, call: Delivered) -> bool:
    """Whether a call would wait for approval, and has not run yet; runs nothing."""
    plan = bridge.unobserved_plan(call)
    await plan.arun(only=(), **bridge.run_options(call))
    return bool(plan.pending)


def put(plan: Plan, waiting: Any, decision: Decision) -> None:
    """Put a decision on a call of a plan.

    Raises:
        UsageError: Edited arguments are invalid.
    """
    if isinstance(decision, Mapping):
        try:
            waiting = plan.edit(waiting, decision)
        except CallError as error:
            problems = "; ".join(map(str, error.problems))
            raise UsageError(f"the edited arguments of {error.tool} are invalid: {problems}") from error
        decision = True
    if decision is True:
        plan.approve(waiting)
    else:
        plan.deny(waiting, decision.text if isinstance(decision, Deny) else "")


def check_edit(waiting: PendingCall, arguments: Mapping[str, Any]) -> None:
    """Check edited arguments.

    Raises:
        ValueError: They are invalid.
    """
    reader: Any = waiting.call.reader
    try:
        reader.canonical.validate(copied(dict(arguments)))
    except CallError as error:
        raise ValueError("; ".join(map(str, error.problems))) from error


def question(waiting: PendingCall) -> JsonObject:
    """Return what a person is shown of a call that needs approval: its arguments as the tool gets them, secrets masked."""
    reader: Any = waiting.call.reader
    arguments = record_of(reader.tool).secrets.masked(waiting.arguments)
    return {"tool": waiting.name, "arguments": arguments, "coercions": _coercions(waiting.coercions)}


def details(result: Result) -> JsonObject:
    """Return what the application may want to know of a result and the model is not told, as JSON."""
    return {
        "coercions": _coercions(result.coercions),
        "error": None if result.error is None else result.error.code,
        "replayed": result.replayed,
    }


def _coercions(coercions: Any) -> list[JsonObject]:
    return [{"path": coercion.path, "rule": coercion.rule} for coercion in coercions]

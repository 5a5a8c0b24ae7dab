"""Runs a call that a framework delivers: plans it, asks for approval there, returns a result."""

import contextlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from toolshape._bound.bound import Bound, ObservedResponse, bound_tools_of, show_to_observers
from toolshape._bound.registry import Registry
from toolshape._families.wire.provider import AnyProvider, Reading
from toolshape._function.annotations import framework_of_context
from toolshape._plan import state
from toolshape._plan.approval import Decision, Deny, validate_edit
from toolshape._plan.ledger_store import LedgerStore, check_ledger, check_scope
from toolshape._plan.plan import Plan
from toolshape._plan.planning import plan_calls
from toolshape._plan.run_options import OnProgress
from toolshape._plan.steps import IN_LOOP, Steps
from toolshape._records.calls import JsonObject, JsonSchema, Strictness, WireCall
from toolshape._records.errors import CallError, UsageError, did_you_mean
from toolshape._records.identity import has_made_up_id
from toolshape._records.parts import Part, Text, named
from toolshape._records.result import PendingCall, Result
from toolshape._tools.tool import Tool, record_of

_NO_ID = (
    "the call needs approval and has no id, so a second delivery could not be recognised: "
    "deliver it with an id, or pass "
    "scope= to the bridge"
)


class BridgeOptions(TypedDict, total=False):
    """Keyword arguments for the functions that pass tools to a framework.

    - ``inject``: The values for injected parameters, by name, or a function that takes the
      framework's context and returns these values. A parameter whose type is the framework's
      context needs no value.
    - ``ledger``: A ``toolshape.ledger.Ledger``, which records the calls that have run, so no call
      runs twice. Tools that write and need approval require a ledger, because a framework may
      deliver an approval twice.
    - ``scope``: The namespace for the call ids, if the ids are not globally unique: a string, or a
      function that takes the framework's context and returns a string.
    - ``on_progress``: Called with each ``Progress`` that a tool reports through its
      ``CallContext``.
    """

    inject: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
    ledger: LedgerStore | None
    scope: str | Callable[[Any], str] | None
    on_progress: OnProgress | None


class FrameworkDefinition(NamedTuple):
    """A tool definition to pass to a framework, in one provider's form.

    ``may_wait`` is true if calls to the tool may need approval. ``runs_alone`` is true if the tool
    writes: its calls then run alone and in order. ``contexts`` maps the parameters that are typed
    as a framework's context to their annotations.
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

    ``arguments`` are the model's arguments, as JSON text or parsed. ``context`` is the framework's
    context for the call. ``fill(annotation)`` returns the value for a parameter whose type is the
    framework's context.
    """

    call_id: str
    wire_name: str
    arguments: Any
    context: Any
    fill: Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Bridge:
    """Tools in one provider's form, and the options for running calls."""

    bound: Bound
    definitions: Mapping[str, FrameworkDefinition]
    options: BridgeOptions

    def plan(self, call: Delivered) -> Plan:
        """Validate a call without running it.

        Observers receive a provider message that contains only this call.
        """
        plan = self.unobserved_plan(call)
        if bound_tools_of(self.bound).observers is not None:
            response = self._response(call)
            state.observe(
                plan.results,
                lambda done, was_told: show_to_observers(
                    self.bound, ObservedResponse(response, done, continues=was_told)
                ),
            )
        return plan

    def _response(self, call: Delivered) -> Any:
        """Write a provider response that contains only this call."""
        provider, arguments = self.bound.provider, call.arguments
        if isinstance(arguments, str):
            with contextlib.suppress(ValueError, RecursionError):  # malformed JSON stays a string
                arguments = json.loads(arguments)
        if provider.histories is None:
            return {"id": call.call_id, "name": call.wire_name, "arguments": arguments}
        messages = provider.codec.write_calls([WireCall(call.call_id, call.wire_name, arguments)])
        return messages if provider.histories.is_items else messages[-1]

    def unobserved_plan(self, call: Delivered) -> Plan:
        """Validate a call without running it and without notifying observers."""
        raw = {"name": call.wire_name, "arguments": call.arguments}
        if call.call_id:
            raw["id"] = call.call_id
        bound_tools = bound_tools_of(self.bound)
        reading = Reading([], [WireCall(call.call_id, call.wire_name, call.arguments, raw)], None)
        return Plan(plan_calls(bound_tools.provider, reading, bound_tools.handlers))

    def sendable(self, parts: Iterable[Part]) -> list[Part]:
        """Return the parts.

        If a result cannot hold a part, a ``Text`` with the part's name replaces it.
        """
        fits_result = self.bound.provider.holds_in_result
        return [
            part if isinstance(part, Text) or fits_result(part) else Text(named(part))
            for part in parts
        ]

    def run_options(self, call: Delivered) -> dict[str, Any]:
        """Return the keyword arguments of ``Plan.run`` for a call."""
        inject, scope, ledger = (
            self.options.get("inject", {}),
            self.options.get("scope"),
            self.options.get("ledger"),
        )
        injected = inject(call.context) if callable(inject) else inject
        contexts = self.definitions[call.wire_name].contexts
        context_values = {
            name: call.fill(annotation)
            for name, annotation in contexts.items()
            if name not in injected
        }
        if callable(scope):
            scope = scope(call.context)
        progress = self.options.get("on_progress")
        return {
            "inject": {**context_values, **injected},
            "ledger": ledger,
            "scope": scope if ledger is not None else None,
            "on_progress": progress,
        }


def bridge(
    tools: Registry,
    provider: AnyProvider,
    strict: Strictness | None,
    options: BridgeOptions,
    packages: Collection[str] = (),
    fills: Callable[[Any], bool] = lambda _: True,
) -> Bridge:
    """Bind tools for a framework.

    Args:
        tools: The registry.
        provider: The provider that the framework talks to.
        strict: See ``Registry.bind``.
        options: The options for running calls.
        packages: The framework's packages. Parameters typed as a context class from these packages
            get the context.
        fills: Returns whether the framework fills a parameter that is marked by these packages, by
            its annotation.

    Raises:
        TypeError: An option is unknown.
        UsageError: A tool writes and needs approval, and there is no ledger; or another argument is
            invalid.
        ExportError: One of the tools cannot be exported to the provider.
    """
    check_arguments(tools, options)
    ledger = options.get("ledger")
    bound = tools.bind(provider, strict)
    definitions = _definitions(bound, packages, fills)
    for definition in definitions.values():
        if ledger is None and definition.may_wait and not _may_run_twice(definition):
            raise UsageError(
                f"{definition.tool.name} needs approval, and a framework may deliver an approval "
                "twice: pass ledger= "
                '(see toolshape.ledger.Ledger), or declare effects=["read"] or ["idempotent"] if '
                "running a call twice is harmless"
            )
    return Bridge(bound=bound, definitions=definitions, options=options)


def check_arguments(tools: Any, options: BridgeOptions) -> None:
    """Check the arguments of a bridge.

    Raises:
        TypeError: An option is unknown.
        UsageError: An argument is invalid.
    """
    if not isinstance(tools, Registry):
        raise UsageError(
            f"a bridge takes a Registry, not {type(tools).__name__}: write Registry([...])"
        )
    for name in options:
        if name not in BridgeOptions.__annotations__:
            raise TypeError(
                f"unknown keyword {name!r} "
                f"{did_you_mean(name, BridgeOptions.__annotations__)}".strip()
            )
    inject: Any = options.get("inject", {})
    if not (isinstance(inject, Mapping) or callable(inject)):
        raise UsageError(
            "inject= takes values by name, or a function that returns them, not "
            f"{type(inject).__name__}"
        )
    scope: Any = options.get("scope")
    if not callable(scope):
        check_scope(scope)
    if (ledger := options.get("ledger")) is not None:
        check_ledger(ledger, None)


def _may_run_twice(definition: FrameworkDefinition) -> bool:
    return not definition.runs_alone and not definition.tool.effects.isdisjoint(
        ("read", "idempotent")
    )


def _definitions(
    bound: Bound, packages: Collection[str], fills: Callable[[Any], bool]
) -> dict[str, FrameworkDefinition]:
    bound_tools = bound_tools_of(bound)
    definitions = {}
    for wire_name, shape in bound_tools.shapes.items():
        handler = bound_tools.handlers.find(wire_name)
        assert handler is not None  # noqa: S101 - each shape has a handler
        definitions[wire_name] = FrameworkDefinition(
            tool=shape.tool,
            wire_name=wire_name,
            description=shape.description,
            schema={key: value for key, value in shape.schema.items() if key != "$schema"},
            is_strict=shape.is_strict,
            may_wait=bool(handler.approve),
            runs_alone=handler.runs_alone,
            contexts=_contexts(shape.tool, packages, fills),
        )
    return definitions


def _contexts(
    tool: Tool[..., Any], packages: Collection[str], fills: Callable[[Any], bool]
) -> dict[str, Any]:
    """Map the parameters of a tool that take a context from these packages to their annotations."""
    signature = getattr(record_of(tool).definition, "signature", None)
    parameters = () if signature is None else signature.parameters
    return {
        parameter.name: parameter.annotation
        for parameter in parameters
        if parameter.injected
        and framework_of_context(parameter.annotation) in packages
        and fills(parameter.annotation)
    }


async def run_call(
    plan: Plan,
    options: Mapping[str, Any],
    decide: Callable[[PendingCall], Decision],
    how: Steps = IN_LOOP,
) -> Result:
    """Run the only call in a plan, and return its result.

    Args:
        plan: The plan that holds the call.
        options: The result of ``run_options``. Compute it once for each call, because ``inject=``
            may be a function.
        decide: Returns the decision on a call that needs approval, or raises the framework's
            exception that requests approval. The tool never runs before the decision.
        how: ``IN_LOOP`` if an event loop runs the call, else ``HERE``.

    Raises:
        UsageError: An injected value is missing, or edited arguments are invalid.
    """
    run: Callable[..., Any] = plan.arun if how.is_loop else plan.run
    # The first run checks the ledger, so a call that has already run needs no second approval.
    await how.result_of(run(**options))
    for pending_call in plan.pending:
        apply_decision(plan, pending_call, refusal(pending_call, options) or decide(pending_call))
        await how.result_of(run(**options))
    return plan.results[0]


def refusal(waiting: PendingCall, options: Mapping[str, Any]) -> Deny | None:
    """Return a denial if the ledger could not recognise a second
    delivery of the call, else ``None``.
    """
    is_recognised = (
        not has_made_up_id(waiting.call)
        or options["scope"] is not None
        or options["ledger"] is None
    )
    return None if is_recognised else Deny(_NO_ID)


async def needs_approval(plan: Plan, options: Mapping[str, Any], how: Steps = IN_LOOP) -> bool:
    """Return whether the call in a plan needs approval, without running it
    and without reading the ledger.
    """
    run: Callable[..., Any] = plan.arun if how.is_loop else plan.run
    await how.result_of(run(only=(), inject=options["inject"]))
    return bool(plan.pending)


async def must_request_approval(bridge: Bridge, call: Delivered) -> bool:
    """Return whether a call needs approval and has not run yet, without running it."""
    plan = bridge.unobserved_plan(call)
    await plan.arun(only=(), **bridge.run_options(call))
    return bool(plan.pending)


def apply_decision(plan: Plan, waiting: Any, decision: Decision) -> None:
    """Apply a decision to a call in a plan.

    Raises:
        UsageError: Edited arguments are invalid.
    """
    if isinstance(decision, Mapping):
        try:
            waiting = plan.edit(waiting, decision)
        except CallError as error:
            problems = "; ".join(map(str, error.problems))
            raise UsageError(
                f"the edited arguments of {error.tool} are invalid: {problems}"
            ) from error
        decision = True
    if decision is True:
        plan.approve(waiting)
    else:
        plan.deny(waiting, decision.text if isinstance(decision, Deny) else "")


def check_edit(waiting: PendingCall, arguments: Mapping[str, Any]) -> None:
    """Check edited arguments.

    Raises:
        ValueError: The arguments are invalid.
    """
    reader: Any = waiting.call.reader
    try:
        validate_edit(reader.canonical, arguments)
    except CallError as error:
        raise ValueError("; ".join(map(str, error.problems))) from error
    except UsageError as error:
        raise ValueError(str(error)) from error


def approval_request(waiting: PendingCall) -> JsonObject:
    """Return the details of a call for its approver: the arguments that the tool
    would get, with secrets masked.
    """
    reader: Any = waiting.call.reader
    arguments = record_of(reader.tool).secrets.masked(waiting.arguments)
    return {
        "tool": waiting.name,
        "arguments": arguments,
        "coercions": _coercions(waiting.coercions),
    }


def details(result: Result) -> JsonObject:
    """Return metadata about a result as JSON, for the application: the model does not see it."""
    return {
        "coercions": _coercions(result.coercions),
        "error": None if result.error is None else result.error.code,
        "replayed": result.replayed,
    }


def _coercions(coercions: Any) -> list[JsonObject]:
    return [{"path": coercion.path, "rule": coercion.rule} for coercion in coercions]

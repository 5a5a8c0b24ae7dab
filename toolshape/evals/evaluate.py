"""``evaluate``: ask some models some cases, a few times, and judge what they call."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeAlias

from toolshape.bound import Bound, Observer, Seen, handlers_of, show
from toolshape.calls import JsonObject
from toolshape.conversation import Conversation
from toolshape.dispatch.outbound import histories_of
from toolshape.dispatch.outcomes import failed, succeeded
from toolshape.dispatch.plan import Plan
from toolshape.dispatch.receive import reading_of
from toolshape.errors import ResponseError, UsageError, did_you_mean
from toolshape.evals.case import Case, judged
from toolshape.evals.compare import check_expected
from toolshape.evals.run import Run
from toolshape.evals.verdict import Verdict
from toolshape.failures.explain import explain
from toolshape.providers import get
from toolshape.registry import Registry
from toolshape.wire.provider import AnyProvider, Strictness

__all__ = ["Ask", "Model", "evaluate"]

Ask: TypeAlias = Callable[[JsonObject, list[Any]], Awaitable[Any] | Any]
"""The application's own call of its client: it takes the keywords of a request and its messages, and gives the response."""


@dataclass(frozen=True, kw_only=False, slots=True)
class Model:
    """A model, and how it is asked.

    Args:
        provider: Whose API it is.
        ask: Calls the client, sync or async, and gives its response: an SDK object, a dict, or JSON text.
        name: The name that the provider knows it by, for rules that hold for some models; it stands in the request.
        strict: Whether arguments are to be constrained, where the registry and the tools do not say.
    """

    provider: AnyProvider
    ask: Ask
    name: str | None = None
    strict: Strictness | None = None


async def evaluate(
    tools: Registry,
    cases: Iterable[Case],
    models: Mapping[str, Model],
    *,
    trials: int = 1,
    limit: int = 8,
    record: Observer | None = None,
    on_verdict: Callable[[Verdict], object] | None = None,
) -> Run:
    """Ask each model each case, and judge what it calls; no tool is run.

    Args:
        tools: The tools that the models are offered.
        cases: The cases; each must say what the model is asked.
        models: The models, by the names that reports call them.
        trials: How often each case is asked.
        limit: How many cases are under way at once.
        record: Is shown every response with its case, model, trial and label, as are the observers of the tools.
        on_verdict: Takes each verdict as soon as there is one, in the order in which they come.

    Returns:
        A verdict for each case, model and trial. One whose request failed is ``failed``, and says why.

    Raises:
        UsageError: A case asks nothing, two have one name, or a tool that is expected is not there, or refuses what is
            expected of it.
    """
    asked = list(cases)
    _check(tools, asked, trials, limit)
    gate = asyncio.Semaphore(limit)
    others = () if record is None else (record,)

    async def verdict_on(case: Case, name: str, trial: int) -> Verdict:
        async with gate:
            made, seen = await _questioned(tools, case, models[name])
        verdict = replace(made, model=name, trial=trial)
        bound = tools.bind(models[name].provider, models[name].strict)
        for one in seen:
            notes = {"case": case.name, "model": name, "trial": trial, "label": verdict.label}
            show(bound, one._replace(notes=notes), *others)
        if on_verdict is not None:
            on_verdict(verdict)
        return verdict

    work = [verdict_on(case, name, trial) for case in asked for name in models for trial in range(trials)]
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return Run(verdicts=tuple(await asyncio.gather(*tasks)))
    finally:  # where one raised, what the application was given to call is called no more
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _check(tools: Registry, asked: list[Case], trials: int, limit: int) -> None:
    """Check that the cases can be asked.

    Raises:
        UsageError: One cannot.
    """
    names = [one.name for one in asked]
    if silent := [one.name for one in asked if not one.messages]:
        raise UsageError(f"the case {silent[0]!r} asks nothing: pass messages=")
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two cases are called {twice[0]!r}")
    for number, what in ((trials, "trials"), (limit, "limit")):
        given: Any = number
        if not (type(given) is int and given > 0):
            raise UsageError(f"{what}= is a number from 1 on, not {number!r}")
    for one in asked:
        check_expected(one.expected, tools)
        for answered in one.answers:
            name = answered if isinstance(answered, str) else answered.name
            if name not in tools:
                hint = did_you_mean(name, [tool.name for tool in tools])
                raise UsageError(
                    f"the case {one.name!r} answers {name!r}, which is no tool{f' ({hint})' if hint else ''}"
                )


async def _questioned(tools: Registry, case: Case, model: Model) -> tuple[Verdict, list[Seen]]:
    """Ask a model one case, to its end; the verdict, and every response."""
    provider = get(model.provider)
    bound = tools.bind(provider, model.strict)
    conversation = Conversation(tools, case.messages.messages if isinstance(case.messages, Conversation) else ())
    if isinstance(case.messages, str):
        conversation.user(case.messages)
    plans: list[Plan] = []
    seen: list[Seen] = []
    while True:
        request = conversation.request(provider, model=model.name, strict=model.strict)
        messages = request.pop(histories_of(provider).key)
        try:
            response = await _asked(model, request, messages)
        except Exception as error:  # whatever the client raises
            failure = explain(error, bound)
            said = f"{failure.kind}: {failure.message or type(error).__name__}"
            return Verdict(case=case.name, label="failed", score=0.0, error=said, steps=len(plans) + 1), seen
        try:
            plan = _unwatched(bound, response)
        except ResponseError as error:
            seen.append(Seen(response, error))
            return Verdict(case=case.name, label="failed", score=0.0, error=str(error), steps=len(plans) + 1), seen
        plans.append(plan)
        seen.append(Seen(response, plan.results))
        if len(plans) == case.most_steps or not await asyncio.to_thread(_answer, plan, case):
            return judged(case, plans, handlers_of(bound)), seen
        conversation += plan.results


async def _asked(model: Model, request: JsonObject, messages: list[Any]) -> Any:
    if inspect.iscoroutinefunction(model.ask):
        return await model.ask(request, messages)
    response = await asyncio.to_thread(model.ask, request, messages)
    return await response if inspect.isawaitable(response) else response


def _unwatched(bound: Bound, response: Any) -> Plan:
    """The plan of a response, of which no observer is told yet.

    Raises:
        ResponseError: It is not a response of this provider's family.
    """
    return Plan.of(bound.provider, reading_of(bound.provider, response), handlers_of(bound))


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _answer(plan: Plan, case: Case) -> bool:
    """Answer the calls of a plan as a case says; whether there were any, and each has an answer."""
    answers = {one if isinstance(one, str) else one.name: value for one, value in case.answers.items()}
    if not plan.calls or any(one[2].name not in answers for one in plan.results.waiting):
        return False
    for position, call, handler, validated, coercions in plan.results.waiting:
        value = answers[handler.name]
        try:
            value = value(**handler.written(validated)) if callable(value) else value
            value = asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value
        except Exception as error:  # a function of the author's may raise anything, as a tool may
            plan.results.answers[position] = failed(call, handler, coercions, error, perf_counter())
        else:
            plan.results.answers[position] = succeeded(call, handler, coercions, value, 0.0)
    plan.results.waiting = ()
    return bool(answers)

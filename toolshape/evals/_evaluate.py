"""``evaluate``: ask some models some cases, a few times, and judge what they call."""

import asyncio
import inspect
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeAlias

from toolshape._bound import Bound, Observer, Seen, bound_tools_of, show
from toolshape._calls import JsonObject, Strictness
from toolshape._conversation import Conversation
from toolshape._dispatch import state
from toolshape._dispatch.outbound import histories_of
from toolshape._dispatch.outcomes import failed, succeeded
from toolshape._dispatch.plan import Plan
from toolshape._dispatch.planning import planned
from toolshape._dispatch.receive import reading_of
from toolshape._errors import ResponseError, UsageError, did_you_mean
from toolshape._failures.explain import explain
from toolshape._families import get
from toolshape._registry import Registry
from toolshape._wire.provider import AnyProvider
from toolshape.evals._case import Case, expected_of, judged
from toolshape.evals._compare import check_expected, has_secrets
from toolshape.evals._run import Run
from toolshape.evals._verdict import Verdict

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
    tools: Registry | Mapping[str, Registry],
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
        tools: The tools that the models are offered; or several sets of them by name, which are compared: each case is
            asked with each set, and these *tracks* stand side by side in the run.
        cases: The cases; each must say what the model is asked.
        models: The models, by the names that reports call them.
        trials: How often each case is asked.
        limit: How many cases are under way at once.
        record: Is shown every response with its case, model, track, trial and label, as are the observers of the tools.
        on_verdict: Takes each verdict as soon as there is one, in the order in which they come.

    Returns:
        A verdict for each case, track, model and trial. One whose request failed is ``failed``, and says why.

    Raises:
        UsageError: A case asks nothing, two have one name, or a tool that is expected is not there, or refuses what is
            expected of it.
    """
    tracks = {"": tools} if isinstance(tools, Registry) else dict(tools)
    asked = list(cases)
    _check(tracks, asked, trials, limit)
    gate = asyncio.Semaphore(limit)
    others = () if record is None else (record,)

    async def verdict_on(case: Case, track: str, name: str, trial: int) -> Verdict:
        registry = tracks[track]
        async with gate:
            made, seen = await _questioned(registry, case, models[name], track)
        verdict = replace(made, model=name, trial=trial)
        bound = registry.bind(models[name].provider, models[name].strict)
        for response in seen:
            notes = {"case": case.name, "model": name, "trial": trial, "label": verdict.label}
            notes |= {"track": track} if track else {}
            show(bound, response._replace(notes=notes), *others)
        if on_verdict is not None:
            on_verdict(verdict)
        return verdict

    questions = itertools.product(asked, tracks, models, range(trials))
    tasks = [asyncio.ensure_future(verdict_on(*question)) for question in questions]
    try:
        return Run(verdicts=tuple(await asyncio.gather(*tasks)))
    finally:  # where one raised, what the application was given to call is called no more
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _check(tracks: Mapping[str, Registry], asked: list[Case], trials: int, limit: int) -> None:
    """Check that the cases can be asked.

    Raises:
        UsageError: One cannot.
    """
    given: Any = tracks
    if not given or not all(isinstance(track, str) and isinstance(tools, Registry) for track, tools in given.items()):
        raise UsageError(f"tools= is a registry, or a mapping from names to registries, not {tracks!r}")
    if "" in tracks and len(tracks) > 1:
        raise UsageError("a set of tools among several needs a name that is not empty")
    if silent := [case.name for case in asked if not case.messages]:
        raise UsageError(f"the case {silent[0]!r} asks nothing: pass messages=")
    if twice := [name for name, count in Counter(case.name for case in asked).items() if count > 1]:
        raise UsageError(f"two cases are called {twice[0]!r}")
    for number, what in ((trials, "trials"), (limit, "limit")):
        given = number
        if not (type(given) is int and given > 0):
            raise UsageError(f"{what}= is a number from 1 on, not {number!r}")
    for case in asked:
        for track, tools in tracks.items():
            check_expected(expected_of(case, track), tools)
        _check_answers(case, tracks)


def _check_answers(case: Case, tracks: Mapping[str, Registry]) -> None:
    """Check that each tool that a case answers is there, in one of the tracks at least.

    Raises:
        UsageError: It is not.
    """
    names = [tool.name for tools in tracks.values() for tool in tools]
    for answered in case.answers:
        name = answered if isinstance(answered, str) else answered.name
        if name not in names:
            hint = did_you_mean(name, names)
            raise UsageError(f"the case {case.name!r} answers {name!r}, which is no tool{f' ({hint})' if hint else ''}")


async def _questioned(tools: Registry, case: Case, model: Model, track: str) -> tuple[Verdict, list[Seen]]:
    """Ask a model one case, to its end; the verdict, and every response."""

    def failed_with(said: str) -> tuple[Verdict, list[Seen]]:
        steps = len(plans) + 1
        return Verdict(case=case.name, label="failed", score=0.0, error=said, steps=steps, track=track), seen

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
            return failed_with(_explained(error, bound))
        try:
            plan = _unwatched(bound, response)
        except ResponseError as error:
            seen.append(Seen(response, error))
            return failed_with(type(error).__name__ if has_secrets(bound.tools) else str(error))
        plans.append(plan)
        seen.append(Seen(response, plan.results))
        if len(plans) == case.most_steps or not await asyncio.to_thread(_answer, plan, case):
            return judged(case, plans, bound_tools_of(bound).handlers, track), seen
        conversation += plan.results


def _explained(error: Exception, bound: Bound) -> str:
    """Why a request failed. Where tools have secrets, what a provider may quote of the messages or of a call is left out."""
    failure = explain(error, bound)
    may_quote = failure.kind in ("history", "model", "tool", "unknown") and has_secrets(bound.tools)
    return f"{failure.kind}: {type(error).__name__ if may_quote else failure.message or type(error).__name__}"


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
    return Plan(planned(bound.provider, reading_of(bound.provider, response), bound_tools_of(bound).handlers))


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _answer(plan: Plan, case: Case) -> bool:
    """Answer the calls of a plan as a case says; whether there were any, and each has an answer."""
    answers = {one if isinstance(one, str) else one.name: value for one, value in case.answers.items()}
    results = plan.results
    ready = state.claimable(results)
    if not plan.calls or any(entry[2].name not in answers for entry in ready):
        return False
    for position, call, handler, validated, coercions in state.claim(results, ready):
        value = answers[handler.name]
        try:
            value = value(**handler.written(validated)) if callable(value) else value
            value = asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value
        except Exception as error:  # a function of the author's may raise anything, as a tool may
            state.record(results, position, failed(call, handler, coercions, error, perf_counter()))
        else:
            state.record(results, position, succeeded(call, handler, coercions, value, 0.0))
    return bool(answers)

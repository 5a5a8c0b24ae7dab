"""Sends each case to each model, once or several times, and judges the calls."""

import asyncio
import inspect
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeAlias

from toolshape._answers.output import Output
from toolshape._bound.bound import (
    Bound,
    ObservedResponse,
    Observer,
    bound_tools_of,
    show_to_observers,
)
from toolshape._bound.registry import Registry
from toolshape._conversation.conversation import Conversation
from toolshape._failures.explain import explain
from toolshape._families import get
from toolshape._families.receive import read_response
from toolshape._families.wire.provider import AnyProvider
from toolshape._history.messages import response_messages
from toolshape._history.outbound import histories_of
from toolshape._plan import state
from toolshape._plan.outcomes import failed_result, successful_result
from toolshape._plan.plan import Plan
from toolshape._plan.planning import plan_calls
from toolshape._plan.results import Results, assistant_of
from toolshape._records.calls import JsonObject, Strictness
from toolshape._records.errors import ResponseError, UsageError, did_you_mean
from toolshape._records.result import add_usage, is_json
from toolshape._records.shown import shown
from toolshape._schema.secrets import MASKED
from toolshape._tools.source import Definition
from toolshape._tools.tool import record_of
from toolshape.evals._case import Case, expected_calls, judge_plans
from toolshape.evals._compare import check_expected, has_secrets
from toolshape.evals._run import Run
from toolshape.evals._verdict import Verdict
from toolshape.messages import Origin

Ask: TypeAlias = Callable[[JsonObject, list[Any]], Awaitable[Any] | Any]
"""A function that sends a request with the application's client.

It takes the request's keyword arguments and messages, and returns the response.
"""


@dataclass(frozen=True, kw_only=False, slots=True)
class Model:
    """A model, and the function that calls it.

    Args:
        provider: The provider whose API serves the model.
        ask: A sync or async function that calls the client and returns its response: an SDK object,
            a dict, or JSON text.
        name: The provider's name for the model. Requests contain it, and it selects the rules for
            single models.
        strict: Whether the provider must constrain arguments to the schema, as in
            ``Registry.bind``.
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
    """Send each case to each model, and judge the calls that the model makes. No tool is run.

    Args:
        tools: A registry of tools for the models. To compare several sets of tools (*tracks*), pass
            a mapping from names to registries. Each case is then sent with each set, and reports
            show the tracks side by side.
        cases: The cases. Each case needs ``messages``.
        models: A mapping from each model's name in reports to the model.
        trials: How many times to send each case to a model.
        limit: How many trials may run at the same time.
        record: An observer that receives every response, with its case, model, track, trial and
            label as notes. Observers of the registry receive the same responses and notes.
        on_verdict: A function to call with each verdict as soon as the verdict is known.

    Returns:
        A verdict for each case, track, model and trial. If a request failed, the label is
        ``failed``, and ``error`` is the reason.

    Raises:
        UsageError: A case has no messages, two cases have the same name, or an expected tool does
            not exist or rejects the expected arguments.
    """
    if isinstance(tools, Registry):
        tracks = {"": tools}
    else:
        tracks = dict(tools)
    case_list = list(cases)
    check_cases(tracks, case_list, trials, limit)
    semaphore = asyncio.Semaphore(limit)
    extra_observers = () if record is None else (record,)

    async def verdict_on(case: Case, track: str, name: str, trial: int) -> Verdict:
        registry = tracks[track]
        async with semaphore:
            judgement, responses = await _ask_case(registry, case, models[name], track)
        verdict = replace(judgement, model=name, trial=trial)
        bound = registry.bind(models[name].provider, models[name].strict, output=output_of(case))
        for response in responses:
            notes = {"case": case.name, "model": name, "trial": trial, "label": verdict.label}
            notes |= {"track": track} if track else {}
            show_to_observers(bound, response._replace(notes=notes), *extra_observers)
        if on_verdict is not None:
            on_verdict(verdict)
        return verdict

    questions = itertools.product(case_list, tracks, models, range(trials))
    tasks = [asyncio.ensure_future(verdict_on(*question)) for question in questions]
    try:
        return Run(verdicts=tuple(await asyncio.gather(*tasks)))
    finally:  # If a task raised, cancel the other tasks, so they send no more requests.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def check_cases(tracks: Mapping[str, Registry], asked: list[Case], trials: int, limit: int) -> None:
    """Check the arguments of ``evaluate``.

    Raises:
        UsageError: An argument is invalid.
    """
    # Everything is checked before the first request: an evaluation costs money, and a name that is
    # there twice would be found when its lines are compared.
    value: Any = tracks
    if not value or not all(
        isinstance(track, str) and isinstance(tools, Registry) for track, tools in value.items()
    ):
        raise UsageError(
            f"tools= must be a registry, or a mapping from names to registries, not {tracks!r}"
        )
    if "" in tracks and len(tracks) > 1:
        raise UsageError("tools= has several sets of tools: give each set a name that is not empty")
    if empty_cases := [case.name for case in asked if not case.messages]:
        raise UsageError(f"the case {empty_cases[0]!r} has no messages: pass messages=")
    if repeated_names := [
        name for name, count in Counter(case.name for case in asked).items() if count > 1
    ]:
        raise UsageError(
            f"two cases have the name {repeated_names[0]!r}: give each case its own name"
        )
    for number, argument in ((trials, "trials"), (limit, "limit")):
        value = number
        if not (type(value) is int and value > 0):
            raise UsageError(f"{argument}= must be a positive integer, not {number!r}")
    for case in asked:
        for track, tools in tracks.items():
            check_expected(expected_calls(case, track), tools)
        _check_answers(case, tracks)


def _check_answers(case: Case, tracks: Mapping[str, Registry]) -> None:
    """Check that each tool with an answer exists in at least one track.

    Raises:
        UsageError: A tool does not exist.
    """
    names = [tool.name for tools in tracks.values() for tool in tools]
    for tool_or_name, answer in case.answers.items():
        if isinstance(tool_or_name, str):
            name = tool_or_name
        else:
            name = tool_or_name.name
        if name not in names:
            hint = did_you_mean(name, names)
            raise UsageError(
                f"the case {case.name!r} has an answer for {name!r}, but there is no such "
                f"tool{f' ({hint})' if hint else ''}"
            )
        if callable(answer):
            for tools in tracks.values():
                if name in tools:
                    _check_answer_function(case, record_of(tools[name]).definition, answer)


def _check_answer_function(case: Case, definition: Definition, answer: Callable[..., Any]) -> None:
    """Check that the function in ``answers=`` can be called with the arguments of its tool.

    Raises:
        UsageError: It lacks a parameter for an argument, or requires one that the tool does not
            have.
    """
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):  # a function of an extension module may have none
        return
    try:
        signature.bind(**dict.fromkeys(definition.schema.get("properties", ())))
    except TypeError as error:
        raise UsageError(
            f"the case {case.name!r} has an answer for {definition.name!r} that cannot take its "
            f"arguments: {error}"
        ) from error


async def _ask_case(
    tools: Registry, case: Case, model: Model, track: str
) -> tuple[Verdict, list[ObservedResponse]]:
    """Send one case to a model, step by step, until the case ends.

    Return the verdict and every response.
    """

    def failed_with(reason: str) -> tuple[Verdict, list[ObservedResponse]]:
        steps = len(plans) + 1
        verdict = Verdict(
            case=case.name, label="failed", score=0.0, error=reason, steps=steps, track=track
        )
        return with_evidence(verdict, conversation, bound, plans), responses

    provider = get(model.provider)
    output = output_of(case)
    bound = tools.bind(provider, model.strict, output=output)
    conversation = conversation_of(tools, case)
    plans: list[Plan] = []
    responses: list[ObservedResponse] = []
    while True:
        request = conversation.request(
            provider, model=model.name, strict=model.strict, output=output
        )
        messages = request.pop(histories_of(provider).key)
        try:
            response = await _ask_model(model, request, messages)
        except Exception as error:  # The client may raise any exception.
            return failed_with(_explain_failure(error, bound))
        try:
            plan = plan_unobserved(bound, response)
        except ResponseError as error:
            responses.append(ObservedResponse(response, error))
            return failed_with(type(error).__name__ if has_secrets(bound.tools) else str(error))
        plans.append(plan)
        responses.append(ObservedResponse(response, plan.results))
        is_over = len(plans) == case.most_steps or plan.results.output is not None
        try:
            if is_over or not await asyncio.to_thread(_answer_calls, plan, case):
                verdict = judge_plans(case, plans, bound, track)
                return with_evidence(verdict, conversation, bound, plans), responses
        except UsageError as error:
            return failed_with(f"a fault of the test: {error}")
        conversation += plan.results


def with_evidence(
    verdict: Verdict, conversation: Conversation, bound: Bound, plans: Sequence[Plan]
) -> Verdict:
    """Add what the page shows of a trial: the question, the calls, the
    model's last text, and the tokens.
    """
    questions = [message.text for message in conversation.messages if message.role == "user"]
    answer = ""
    if plans and not plans[-1].calls:
        target = bound_tools_of(bound).answer
        is_secret = has_secrets(bound.tools) or (target is not None and target.has_secrets)
        if is_secret:
            answer = MASKED
        else:
            answer = _text_of(plans[-1].results)
    return replace(
        verdict,
        question=next(iter(questions), ""),
        calls=tuple(shown(result.call) for plan in plans for result in plan.results),
        answer=answer,
        usage=add_usage(plan.results.usage for plan in plans),
    )


def _text_of(results: Results) -> str:
    origin = Origin(provider=results.provider.name)
    given = assistant_of(results)
    messages = response_messages(
        results.provider,
        given,
        results.calls,
        results.finish,
        origin,
        (),
        is_plain=is_json(given),
    )
    return "".join(message.text for message in messages)


def conversation_of(tools: Registry, case: Case) -> Conversation:
    """Return a new conversation that ends with the question of a case."""
    conversation = Conversation(
        tools, case.messages.messages if isinstance(case.messages, Conversation) else ()
    )
    if isinstance(case.messages, str):
        conversation.user(case.messages)
    return conversation


def output_of(case: Case) -> Output[Any] | None:
    if case.answer is None:
        return None
    return case.answer.output


def _explain_failure(error: Exception, bound: Bound) -> str:
    """Describe why a request failed.

    If tools have secrets, leave out the provider's message, which may quote the conversation or a
    call.
    """
    failure = explain(error, bound)
    may_quote = failure.kind in ("history", "model", "tool", "unknown") and has_secrets(bound.tools)
    return (
        f"{failure.kind}: "
        f"{type(error).__name__ if may_quote else failure.message or type(error).__name__}"
    )


async def _ask_model(model: Model, request: JsonObject, messages: list[Any]) -> Any:
    if inspect.iscoroutinefunction(model.ask):
        return await model.ask(request, messages)
    response = await asyncio.to_thread(model.ask, request, messages)
    if inspect.isawaitable(response):
        return await response
    return response


def plan_unobserved(bound: Bound, response: Any) -> Plan:
    """Plan a response without notifying the observers: ``evaluate``
    notifies them later, with the verdict.

    Raises:
        ResponseError: This provider's family cannot read the response.
    """
    bound_tools = bound_tools_of(bound)
    results = plan_calls(
        bound.provider,
        read_response(bound_tools.reader, response),
        bound_tools.handlers,
        response,
    )
    return Plan(results)


async def _await_value(value: Awaitable[Any]) -> Any:
    return await value


def _answer_calls(plan: Plan, case: Case) -> bool:
    """Give the calls in a plan the results in ``case.answers``, and return
    whether to ask the model again.

    Return true if the case has answers, the plan has calls, and there is an answer for every call
    that could run.
    """
    answers = {
        tool if isinstance(tool, str) else tool.name: value for tool, value in case.answers.items()
    }
    results = plan.results
    if not answers or any(call.name not in answers for call in results.pending):
        return False
    plan.approve(plan.pending)  # no tool runs: the case says what the model receives
    ready = state.claimable(results)
    if not plan.calls or any(entry[2].name not in answers for entry in ready):
        return False
    for position, call, handler, validated, coercions in state.claim(results, ready):
        value = answers[handler.name]
        try:
            value = value(**handler.written(validated)) if callable(value) else value
            value = asyncio.run(_await_value(value)) if inspect.isawaitable(value) else value
        except Exception as error:  # Like a tool, the author's function may raise any exception.
            state.record(
                results, position, failed_result(call, handler, coercions, error, perf_counter())
            )
        else:
            state.record(results, position, successful_result(call, handler, coercions, value, 0.0))
    return True

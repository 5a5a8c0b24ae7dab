"""``evaluate``: ask some models some cases, a few times, and judge what they call."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from toolshape.calls import JsonObject
from toolshape.conversation import Conversation
from toolshape.dispatch.outbound import histories_of
from toolshape.errors import UsageError
from toolshape.evals.case import Case
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
    tools: Registry, cases: Iterable[Case], models: Mapping[str, Model], *, trials: int = 1, limit: int = 8
) -> Run:
    """Ask each model each case, and judge what it calls; no tool is run.

    Args:
        tools: The tools that the models are offered.
        cases: The cases; each must say what the model is asked.
        models: The models, by the names that reports call them.
        trials: How often each case is asked.
        limit: How many requests are under way at once.

    Returns:
        A verdict for each case, model and trial. One whose request failed is ``failed``, and says why.

    Raises:
        UsageError: A case asks nothing, two have one name, or a tool refuses what is expected of it.
    """
    asked = list(cases)
    names = [one.name for one in asked]
    if silent := [one.name for one in asked if not one.messages]:
        raise UsageError(f"the case {silent[0]!r} asks nothing: pass messages=")
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two cases are called {twice[0]!r}")
    gate = asyncio.Semaphore(limit)

    async def judged(case: Case, name: str, trial: int) -> Verdict:
        async with gate:
            verdict = await _judged(tools, case, models[name])
        return replace(verdict, model=name, trial=trial)

    work = [judged(case, name, trial) for case in asked for name in models for trial in range(trials)]
    return Run(verdicts=tuple(await asyncio.gather(*work)))


async def _judged(tools: Registry, case: Case, model: Model) -> Verdict:
    provider = get(model.provider)
    conversation = Conversation(tools, case.messages.messages if isinstance(case.messages, Conversation) else ())
    if isinstance(case.messages, str):
        conversation.user(case.messages)
    request = conversation.request(provider, model=model.name, strict=model.strict)
    messages = request.pop(histories_of(provider).key)
    try:
        if inspect.iscoroutinefunction(model.ask):
            response = await model.ask(request, messages)
        else:
            response = await asyncio.to_thread(model.ask, request, messages)
            response = await response if inspect.isawaitable(response) else response
    except Exception as error:  # whatever the client raises
        failure = explain(error, tools.bind(provider, model.strict))
        said = f"{failure.kind}: {failure.message or type(error).__name__}"
        return Verdict(case=case.name, label="failed", score=0.0, error=said)
    return case.compare(tools.bind(provider, model.strict), response)

"""Evaluates the first turn of cases through a provider's batch, at half the price."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from toolshape._bound import batches
from toolshape._bound.batches import BatchLine
from toolshape._bound.bound import Bound
from toolshape._bound.registry import Registry
from toolshape._bound.writing import merge_keywords
from toolshape._families import get
from toolshape._families.wire.batches import BatchResult
from toolshape._families.wire.provider import AnyProvider
from toolshape._records.calls import JsonObject, Strictness
from toolshape._records.errors import ResponseError, UsageError
from toolshape.evals._case import Case, judge_plans
from toolshape.evals._compare import has_secrets
from toolshape.evals._evaluate import (
    check_cases,
    conversation_of,
    output_of,
    plan_unobserved,
    with_evidence,
)
from toolshape.evals._run import Run
from toolshape.evals._verdict import Verdict

_NOTHING: Mapping[str, Any] = {}


def batch_entries(
    tools: Registry,
    cases: Iterable[Case],
    provider: AnyProvider,
    *,
    model: str | None = None,
    strict: Strictness | None = None,
    request: Mapping[str, Any] = _NOTHING,
) -> list[JsonObject]:
    """Return the entries of a batch, one for each case; see ``Bound.batch_line``.

    Args:
        tools: The tools for the model.
        cases: The cases. Each needs ``messages``, and none may have ``answers``: a batch is one
            turn.
        provider: The provider of the batch.
        model: The provider's name for the model.
        strict: Whether the provider must constrain arguments to the schema.
        request: What else each request holds, for example ``{"max_tokens": 1024}``, or
            ``{"config": {"temperature": 0}}`` at Gemini: such an object is joined with what the
            request holds there already.

    Raises:
        UsageError: A case has no messages, has answers or the name of another, or the provider has
            no batches.
    """
    entries: list[JsonObject] = []
    for case in _checked(tools, cases):
        asked: JsonObject = conversation_of(tools, case).request(
            get(provider), model=model, strict=strict, output=output_of(case)
        )
        named = {} if model is None else {"model": model}
        bound = tools.bind(provider, strict, output=output_of(case))
        entries.append(bound.batch_line(_id_of(case), merge_keywords({**asked, **named}, request)))
    return entries


def judge_batch(
    tools: Registry,
    cases: Iterable[Case],
    provider: AnyProvider,
    lines: Iterable[Any],
    *,
    model: str | None = None,
    strict: Strictness | None = None,
) -> Run:
    """Judge the calls in the output of a batch that ``batch_entries`` wrote; no tool is run.

    Args:
        tools: The same tools.
        cases: The same cases, in any order.
        provider: The provider of the batch.
        lines: The lines of the output, as for ``Bound.read_batch``.
        model: The name of the model in the report; the provider's name by default.
        strict: As for ``batch_entries``.

    Returns:
        A verdict for each case. If its request failed, came to nothing or is missing, the label is
        ``failed``, and ``error`` is the reason.

    Raises:
        UsageError: As for ``batch_entries``.
    """
    by_id = {_id_of(case): case for case in _checked(tools, cases)}
    found = get(provider)
    name = model or found.name
    accounts = batches.Accounts(found, list(by_id), may_quote=has_secrets(tools))
    verdicts: dict[str, Verdict] = {}
    each_line = map(accounts.look_at, batches.lines_in(lines))
    for line in chain(each_line, accounts.missing()):
        case = by_id.get((line.custom_id if isinstance(line, BatchLine) else line.request_id) or "")
        if case is None or case.name in verdicts:  # of nobody, or once more
            continue
        bound = tools.bind(provider, strict, output=output_of(case))
        if isinstance(line, BatchResult):
            verdict = _judge(tools, case, bound, line.body)
        else:
            verdict = _failed(case, str(line.error))
        verdicts[case.name] = replace(verdict, model=name)
    return Run(verdicts=tuple(verdicts[case.name] for case in by_id.values()))


def _judge(tools: Registry, case: Case, bound: Bound, body: Any) -> Verdict:
    try:
        plan = plan_unobserved(bound, body)
    except ResponseError as error:
        return _failed(case, type(error).__name__ if has_secrets(bound.tools) else str(error))
    judged = judge_plans(case, [plan], bound, "")
    return with_evidence(judged, conversation_of(tools, case), bound, [plan])


def _failed(case: Case, words: str) -> Verdict:
    return Verdict(case=case.name, label="failed", score=0.0, error=words, steps=1)


def _checked(tools: Registry, cases: Iterable[Case]) -> list[Case]:
    asked = list(cases)
    check_cases({"": tools}, asked, 1, 1)
    for case in asked:
        if case.answers:
            raise UsageError(
                f"the case {case.name!r} has answers, but a batch is one turn: use evaluate"
            )
    return asked


def _id_of(case: Case) -> str:
    """Return an id that every provider takes, whatever the case is called."""
    return f"case-{hashlib.sha256(case.name.encode(errors='replace')).hexdigest()[:24]}"

"""Evaluates whether models call the expected tools with the expected arguments.

In: cases, and the responses of models. Out: a verdict for each case, and a run that adds them up;
no tool is run. What counts as equal is decided in ``_compare.py``, which calls are meant for which
expectation in ``_assign.py``.
"""

from toolshape.evals._answer import ExpectAnswer
from toolshape.evals._batch import batch_entries, judge_batch
from toolshape.evals._case import Case
from toolshape.evals._evaluate import Model, evaluate
from toolshape.evals._expect import Expect, never
from toolshape.evals._matchers import (
    Matcher,
    anything,
    close_to,
    containing,
    matching,
    one_of,
    where,
)
from toolshape.evals._run import Comparison, Run, Share
from toolshape.evals._verdict import Difference, Verdict

__all__ = [
    "Case",
    "Comparison",
    "Difference",
    "Expect",
    "ExpectAnswer",
    "Matcher",
    "Model",
    "Run",
    "Share",
    "Verdict",
    "anything",
    "batch_entries",
    "close_to",
    "containing",
    "evaluate",
    "judge_batch",
    "matching",
    "never",
    "one_of",
    "where",
]

"""Evaluations: whether a model called the tools that it should have, by what their functions would get."""

from toolshape.evals.case import Case
from toolshape.evals.evaluate import Model, evaluate
from toolshape.evals.expect import Expect, never
from toolshape.evals.matchers import Matcher, anything, close_to, containing, matching, one_of, where
from toolshape.evals.run import Comparison, Run, Share
from toolshape.evals.verdict import Difference, Verdict

__all__ = [
    "Case",
    "Comparison",
    "Difference",
    "Expect",
    "Matcher",
    "Model",
    "Run",
    "Share",
    "Verdict",
    "anything",
    "close_to",
    "containing",
    "evaluate",
    "matching",
    "never",
    "one_of",
    "where",
]

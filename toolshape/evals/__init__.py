"""Evaluates whether models call the expected tools, and whether the functions get the expected arguments."""

from toolshape.evals._answer import ExpectAnswer
from toolshape.evals._case import Case
from toolshape.evals._evaluate import Model, evaluate
from toolshape.evals._expect import Expect, never
from toolshape.evals._matchers import Matcher, anything, close_to, containing, matching, one_of, where
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
    "close_to",
    "containing",
    "evaluate",
    "matching",
    "never",
    "one_of",
    "where",
]

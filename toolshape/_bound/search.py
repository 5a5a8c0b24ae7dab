"""Searches tools by the words of a query; the tool behind ``Registry.search``."""

# The ranking is BM25, in thirty lines instead of the packages bm25s and snowballstemmer: on the
# same words and weights their first eight scores differ by 1.5e-7, and the suffixes below lose at
# most 0.6 points to Snowball's stems. Of a question's tools, this share stood among the first 1, 5
# and 8, with these lines and with the packages, in per cent: 61.7, 84.9, 88.7 and 61.9, 84.9, 89.1
# on BFCL's questions (1,853 tools), 43.1, 63.4, 67.8 and 43.1, 64.0, 68.4 on MetaTool's (199
# tools); measured on 2026-11-28. What decides there is not the ranking but what is read: names
# split into words, the words of parameters and of their choices at half weight, no stop words, each
# word of a query once.
#
# No score says that nothing fits: where 90 % of the answerable questions are kept, 80 % of those
# whose tool was taken away are kept, too. So the model is told that it may abstain.

import inspect
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest
from typing import Any, TypeAlias

from toolshape._records.calls import JsonSchema
from toolshape._records.errors import UsageError
from toolshape._records.found import SEARCH_NAME, FoundTool, FoundTools, is_search
from toolshape._tools.tool import Tool, record_of

Embed: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]
"""Returns the vectors of texts, one each."""

NOTE = (
    "If none of these tools fits, say so and call none. After three searches without a tool that "
    "fits, say that there is none."
)
_NOTHING = "No tool matches these words. Search with other words, or say that there is none."
_STOP = frozenset(
    "a about all am an and any are as at be been but by can could did do does for from had has have how i if in into is it "  # noqa: SIM905 - one line a row of words
    "its just let like may me my need of on or our out please should so some such tell than that the their them then there "
    "these they this those to up us use used using want was we were what when where which who will with would you your".split()
)  # fmt: skip
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # no spaces there: each pair is a word
_WORD = re.compile(rf"(?=([{_CJK}]{{2}}|(?<![{_CJK}])[{_CJK}](?![{_CJK}])))|([^\W\d_{_CJK}]+|\d+)")
_SUFFIX = re.compile(
    r"(?<=[a-z]{3})(?:ments?|ations?|at(?:e|ing|ed|es)|ions?|ings?|i(?:es|ed)|ers?|ors?|ed|es|"
    r"ally|al|ly|s|e|y)$"
)  # fmt: skip
_SATURATION, _LENGTH_WEIGHT = 1.2, 0.5  # BM25's k1 and b


def words_of(text: str) -> list[str]:
    """Return the words of a text without their endings, and without stop words."""
    folded = _CAMEL.sub(" ", unicodedata.normalize("NFKC", text)).casefold()
    found = (pair or word for pair, word in _WORD.findall(folded))
    return [_SUFFIX.sub("", word) for word in found if word not in _STOP]


def _weighed_texts(tool: Tool[..., Any]) -> Iterator[tuple[str, float]]:
    """Yield what is read of a tool, with its weight."""
    yield tool.name, 2.0
    yield tool.description, 1.0
    for name, schema in _fields_in(tool.input_schema):
        choices = [choice for choice in schema.get("enum") or () if isinstance(choice, str)]
        yield " ".join((name, schema.get("description") or "", *choices)), 0.5


def _fields_in(schema: JsonSchema) -> Iterator[tuple[str, JsonSchema]]:
    """Yield the fields of a schema and of those inside it, each once; no reference is followed."""
    nodes: list[Any] = [schema]
    seen: set[int] = set()
    while nodes:
        node = nodes.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        fields = node.get("properties") or {}
        yield from ((name, field) for name, field in fields.items() if isinstance(field, dict))
        for inner in (node.get("$defs") or {}, fields):
            nodes += inner.values()
        nodes.append(node.get("items"))
        for keyword in ("anyOf", "oneOf", "allOf"):
            nodes += node.get(keyword) or ()


class WordIndex:
    """An index of tools by their words."""

    def __init__(self, tools: Sequence[Tool[..., Any]]) -> None:
        self._scores: dict[str, dict[int, float]] = defaultdict(dict)
        sizes = [0.0] * len(tools)
        for position, tool in enumerate(tools):
            for text, weight in _weighed_texts(tool):
                for word in words_of(text):
                    counts = self._scores[word]
                    counts[position] = counts.get(position, 0.0) + weight
                    sizes[position] += weight
        mean = sum(sizes) / len(sizes) if sizes else 1.0
        for counts in self._scores.values():
            rarity = math.log(1 + (len(sizes) - len(counts) + 0.5) / (len(counts) + 0.5))
            for position, count in counts.items():
                size = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * sizes[position] / mean
                counts[position] = rarity * count * (_SATURATION + 1) / (count + _SATURATION * size)

    def scores(self, query: str) -> dict[int, float]:
        """Return the scores of the tools that share a word with the query."""
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words_of(query)):
            for position, score in self._scores.get(word, {}).items():
                scores[position] += score
        return scores


class VectorIndex:
    """An index of tools by vectors of their texts."""

    def __init__(self, tools: Sequence[Tool[..., Any]], embed: Embed) -> None:
        self._embed = embed
        texts = ["\n".join(text for text, _ in _weighed_texts(tool) if text) for tool in tools]
        self._vectors = _vectors(embed, texts)

    def scores(self, query: str) -> dict[int, float]:
        """Return the cosine of each tool and the query."""
        [asked] = _vectors(self._embed, [query])
        if self._vectors and len(asked) != len(self._vectors[0]):
            raise UsageError("embed= returned vectors of different lengths")
        return {
            position: sum(left * right for left, right in zip(asked, vector, strict=True))
            for position, vector in enumerate(self._vectors)
        }


def _vectors(embed: Embed, texts: list[str]) -> list[list[float]]:
    """Return the vectors of texts, each of length one.

    Raises:
        UsageError: The app's function returns something else.
    """
    # Whatever the function returns is looked at before it is used: a wrong vector would raise
    # later, in the midst of a call, or rank the tools by nothing.
    if not texts:
        return []
    given: Any = embed(texts)
    if inspect.isawaitable(given):
        if inspect.iscoroutine(given):
            given.close()
        raise UsageError("embed= is async, and a search cannot wait for it")
    try:
        vectors = [[float(number) for number in vector] for vector in given]
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"embed= returned no vectors of numbers: {error}") from error
    if len(vectors) != len(texts):
        raise UsageError(f"embed= returned {len(vectors)} vectors for {len(texts)} texts")
    if not all(vectors):
        raise UsageError("embed= returned a vector without numbers")
    if len({len(vector) for vector in vectors}) > 1:
        raise UsageError("embed= returned vectors of different lengths")
    if not all(map(math.isfinite, (number for vector in vectors for number in vector))):
        raise UsageError("embed= returned a number that is not finite")
    return [_unit(vector) for vector in vectors]


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.hypot(*vector)
    if not math.isfinite(length):  # the squares of such numbers are too large, their shares are not
        largest = max(map(abs, vector))
        return _unit([number / largest for number in vector])
    return [number / (length or 1.0) for number in vector]


class ToolSearch:
    """The function of the tool that searches: it indexes the tools again when they have changed."""

    __name__ = SEARCH_NAME
    finds_tools = True

    def __init__(
        self, tools_of: Callable[[], Sequence[Tool[..., Any]]], k: int, embed: Embed | None
    ) -> None:
        given: Any = k
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise UsageError(f"k= must be a number of tools, at least 1, not {k!r}")
        self._tools_of = tools_of
        self._k = k
        self._embed = embed
        self._indexed: tuple[tuple[Tool[..., Any], ...], WordIndex | VectorIndex] | None = None

    def __reduce__(self) -> Any:
        raise TypeError(
            "a tool that searches cannot be pickled: add registry.search() in the other process"
        )

    def among(self, tools_of: Callable[[], Sequence[Tool[..., Any]]]) -> "ToolSearch":
        """Return a search that finds only those of its tools that are also among these, under the
        names and with the options that they have there.
        """

        def found_among() -> list[Tool[..., Any]]:
            sources = {id(record_of(tool).source) for tool in self._tools_of()}
            return [tool for tool in tools_of() if id(record_of(tool).source) in sources]

        return ToolSearch(found_among, self._k, self._embed)

    def __call__(self, query: str) -> FoundTools:
        """Find tools for a task that the tools you already have cannot do.

        If none of the tools that it finds fits, say so and call none. After three searches without
        a tool that fits, say that there is none.

        Args:
            query: Words for what the tool should do.
        """
        tools, index = self._index()
        scores = index.scores(query)
        best = nsmallest(self._k, scores.items(), key=lambda hit: (-hit[1], hit[0]))
        found = tuple(
            FoundTool(name=tools[at].name, description=tools[at].description, score=round(score, 3))
            for at, score in best
        )
        return FoundTools(tools=found, note=NOTE if found else _NOTHING)

    def _index(self) -> tuple[tuple[Tool[..., Any], ...], WordIndex | VectorIndex]:
        tools = tuple(tool for tool in self._tools_of() if not is_search(tool))
        indexed = self._indexed
        if (
            indexed is None
            or len(indexed[0]) != len(tools)
            or any(map(_are_two, indexed[0], tools))
        ):
            embed = self._embed
            index = WordIndex(tools) if embed is None else VectorIndex(tools, embed)
            indexed = self._indexed = (tools, index)
        return indexed


def _are_two(left: Any, right: Any) -> bool:
    return left is not right

"""How often a search for tools finds the right one, on questions that others wrote, beside fastmcp and pydantic-ai.

``nox -s 'measure(search)'``: BFCL's questions come with ``bfcl_eval`` (Apache-2.0), MetaTool's (MIT) from its repository at a pinned
commit. The query is the whole question. A question counts as found if one of its tools is among the first.
"""

import argparse
import asyncio
import csv
import importlib.metadata
import json
import math
import types
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commits import commit_of

import toolshape
from toolshape import Registry, Tool

RESULTS = Path(__file__).parent / "results" / "search.md"
DEPTHS = (1, 5, 8)
BFCL_SETS = ("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")  # fmt: skip
BFCL_DISTRACTORS = ("irrelevance", "live_irrelevance", "live_relevance")
PEER_QUESTIONS = 400  # peers answer so many of each set, evenly spread; they take up to 20 ms each

Search = Callable[[str], Sequence[str]]


class Question(NamedTuple):
    query: str
    tools: frozenset[str]


class Set(NamedTuple):
    name: str
    definitions: list[dict[str, Any]]
    questions: list[Question]


def json_lines(path: Path) -> list[Any]:
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]


def bfcl(data: Path) -> Set:
    """All functions of the benchmark as one catalogue, and the questions that call one of them."""
    definitions: dict[str, dict[str, Any]] = {}
    questions: dict[str, frozenset[str]] = {}
    for name in (*BFCL_SETS, *BFCL_DISTRACTORS):
        for row in json_lines(data / f"BFCL_v4_{name}.json"):
            for function in row["function"]:
                definitions.setdefault(
                    function["name"],
                    {"name": function["name"], "description": function.get("description") or "", "parameters": function.get("parameters") or {}},
                )  # fmt: skip
    for name in BFCL_SETS:
        gold = {
            row["id"]: row["ground_truth"]
            for row in json_lines(data / "possible_answer" / f"BFCL_v4_{name}.json")
        }
        for row in json_lines(data / f"BFCL_v4_{name}.json"):
            query = "\n".join(
                message["content"] for message in row["question"][0] if message["role"] == "user"
            )
            wanted = frozenset(called for call in gold[row["id"]] for called in call)
            if query.strip() and wanted <= definitions.keys():
                questions.setdefault(query, wanted)
    return Set("BFCL", list(definitions.values()), [Question(*pair) for pair in questions.items()])


def metatool(folder: Path) -> Set:
    described = json.loads((folder / "dataset" / "plugin_des.json").read_text(encoding="utf-8"))
    definitions = [
        {"name": name, "description": text, "parameters": {"type": "object", "properties": {}}}
        for name, text in described.items()
    ]
    wanted: dict[str, set[str]] = {}
    with (folder / "dataset" / "data" / "all_clean_data.csv").open(
        encoding="utf-8", errors="replace"
    ) as file:
        for row in csv.DictReader(file):
            wanted.setdefault(row["Query"].strip(), set()).add(row["Tool"])
    questions = [Question(query, frozenset(tools)) for query, tools in wanted.items() if query]
    return Set("MetaTool", definitions, questions)


def registry_of(definitions: Iterable[dict[str, Any]]) -> Registry:
    """The tools; of two names that are sent in one form, the first stays."""
    tools = Registry()
    for definition in definitions:
        try:
            tools.add(Tool.from_definition(definition))
        except toolshape.DefinitionError:
            parameters = {"type": "object", "properties": {}}
            if definition["name"] not in tools:
                tools.add(Tool.from_definition({**definition, "parameters": parameters}))
    return tools


def ours(tools: Registry) -> Search:
    search = tools.search(k=max(DEPTHS))
    return lambda query: [found.name for found in search(query).tools]


def fastmcp(definitions: Sequence[dict[str, Any]]) -> Search:
    from fastmcp.server.transforms.search import BM25SearchTransform
    from fastmcp.tools.base import Tool as TheirTool

    tools = [TheirTool(**definition) for definition in definitions]
    transform, loop = BM25SearchTransform(max_results=max(DEPTHS)), asyncio.new_event_loop()
    return lambda query: [
        found.name for found in loop.run_until_complete(transform._search(tools, query))
    ]


def pydantic_ai(definitions: Sequence[dict[str, Any]]) -> Search:
    from pydantic_ai import ModelRetry
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets._tool_search import ToolSearchToolset

    corpus = [
        ToolDefinition(
            name=one["name"],
            description=one["description"],
            parameters_json_schema=one["parameters"],
        )
        for one in definitions
    ]
    toolset: Any = ToolSearchToolset(wrapped=None, max_results=max(DEPTHS))  # type: ignore[arg-type]
    tools = types.SimpleNamespace(corpus=corpus, discovered_tool_names=set())

    def search(query: str) -> list[str]:
        try:
            return [
                match["name"]
                for match in toolset._run_keywords_search([query], tools)["discovered_tools"]
            ]
        except ModelRetry:  # nothing matches
            return []

    return search


def recall(search: Search, questions: Sequence[Question]) -> str:
    hits = dict.fromkeys(DEPTHS, 0)
    for question in questions:
        names = search(question.query)
        for depth in DEPTHS:
            hits[depth] += not question.tools.isdisjoint(names[:depth])
    return " / ".join(f"{hits[depth] / len(questions):.1%}" for depth in DEPTHS)


def kept_without_the_tool(tools: Registry, questions: Sequence[Question]) -> str:
    """How many questions whose tools were taken away are kept by a limit that keeps 90 % of all."""
    search = tools.search(k=max(DEPTHS) + max(len(question.tools) for question in questions))
    best, best_of_rest = [], []
    for question in questions:
        found = search(question.query).tools
        best.append(max((one.score for one in found), default=0.0))
        best_of_rest.append(
            max((one.score for one in found if one.name not in question.tools), default=0.0)
        )
    limit = sorted(best)[math.floor(len(best) * 0.1)]
    return f"{sum(score >= limit for score in best_of_rest) / len(best_of_rest):.0%}"


def thinned(questions: Sequence[Question]) -> Sequence[Question]:
    return questions[:: max(1, len(questions) // PEER_QUESTIONS)]


def rows(sets: Sequence[Set]) -> list[str]:
    head = "".join(
        f" {one.name}: {len(one.definitions)} tools, {len(one.questions)} questions |"
        for one in sets
    )
    lines = [f"| |{head}", "|---|" + "---|" * len(sets)]
    registries = [registry_of(one.definitions) for one in sets]
    found = [
        recall(ours(tools), one.questions) for tools, one in zip(registries, sets, strict=True)
    ]
    lines.append(f"| toolshape | {' | '.join(found)} |")
    few = [
        recall(ours(tools), thinned(one.questions))
        for tools, one in zip(registries, sets, strict=True)
    ]
    lines.append(f"| toolshape, the questions of the next rows | {' | '.join(few)} |")
    for package, make in (("fastmcp", fastmcp), ("pydantic-ai-slim", pydantic_ai)):
        cells = " | ".join(recall(make(one.definitions), thinned(one.questions)) for one in sets)
        lines.append(f"| {package} {importlib.metadata.version(package)} | {cells} |")
    kept = [
        kept_without_the_tool(tools, one.questions)
        for tools, one in zip(registries, sets, strict=True)
    ]
    lines.append(f"| kept by a limit, though the right tool was taken away | {' | '.join(kept)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bfcl", type=Path, required=True, help="the folder bfcl_eval/data")
    parser.add_argument(
        "--metatool", type=Path, required=True, help="a clone of HowieHwong/MetaTool"
    )
    given = parser.parse_args()
    table = rows([bfcl(given.bfcl), metatool(given.metatool)])
    text = [
        "# Searches for tools",
        "",
        "Whether a right tool is among the first 1, 5 and 8 that a search finds; the query is the whole question. A limit",
        "that keeps 90 % of the questions is the best that a score could do to say that nothing fits: the last row is the",
        "share of questions without their tool that it keeps as well. fastmcp's `BM25SearchTransform` and pydantic-ai's",
        f"`ToolSearchToolset` search by their own words. `nox -s 'measure(search)'` at {commit_of(Path(toolshape.__file__))}.",
        "",
        *table,
        "",
    ]
    RESULTS.write_text("\n".join(text), encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()

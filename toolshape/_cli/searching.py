"""The command ``toolshape search``: finds tools by words, or measures how often they are found."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import click

from toolshape._bound.registry import Registry
from toolshape._bound.targets import TargetError, registry_of
from toolshape._cli.output import echo_json, say, show_table

_MARK = b"\xef\xbb\xbf"  # some editors begin a file with it


class _Question(NamedTuple):
    query: str
    tools: Sequence[str]


@click.command("search")
@click.argument("target")
@click.argument("query", required=False)
@click.option(
    "--gold",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help='Questions, one JSON object a line: {"query": "...", "tools": ["name"]}.',
)
@click.option("-k", "--most", "k", default=8, show_default=True, type=click.IntRange(1))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def searching(target: str, query: str | None, *, gold: Path | None, k: int, as_json: bool) -> None:
    """Find the tools of TARGET that match QUERY, as a model would with `registry.search()`.

    With --gold, measure instead for how many questions the search finds a right tool among the
    first 1, 5 and K.
    """
    tools = registry_of(target)
    if (query is None) == (gold is None):
        raise TargetError("pass either a query, or --gold with a file of questions")
    if gold is None:
        found = tools.search(k=k)(query)
        rows = [(f"{tool.score:.3f}", tool.name, tool.description) for tool in found.tools]
        if as_json:
            echo_json(json.dumps([asdict(tool) for tool in found.tools]))
        elif rows:
            show_table(("score", "tool", "description"), rows)
        else:
            say("no tool matches")
        return
    measured = _measure(tools, _read_questions(gold), k)
    if as_json:
        echo_json(json.dumps(measured))
        return
    for words, share in measured["recall"].items():
        say(f"recall at {words}: {share:.1%}")
    say(f"{measured['questions']} questions, {len(tools)} tools")
    for name in measured["unknown"]:
        say(f"{target} has no tool {name!r}, which a question names")


def _read_questions(path: Path) -> list[_Question]:
    """Read the questions.

    Raises:
        TargetError: A line is no question.
    """
    questions: list[_Question] = []
    # Only a line feed ends a line: JSON may hold other ends of lines as they are.
    for number, line in enumerate(path.read_bytes().removeprefix(_MARK).split(b"\n"), 1):
        if not line.strip():
            continue
        question: Any = None
        with suppress(ValueError, RecursionError):
            question = json.loads(line)
        if not _is_question(question):
            raise TargetError(
                f'{path}, line {number}: a question is {{"query": "...", "tools": ["name"]}}, '
                "with at least one name"
            )
        questions.append(_Question(question["query"], question["tools"]))
    if not questions:
        raise TargetError(f"{path} holds no question")
    return questions


def _is_question(given: Any) -> bool:
    if not isinstance(given, dict) or not isinstance(given.get("query"), str):
        return False
    names = given.get("tools")
    return isinstance(names, list) and bool(names) and all(isinstance(name, str) for name in names)


def _measure(tools: Registry, questions: Sequence[_Question], k: int) -> dict[str, Any]:
    """Return the share of questions for which a right tool is among the first 1, 5 and k."""
    search = tools.search(k=max(k, 5))
    depths = sorted({1, 5, k})
    hits = dict.fromkeys(depths, 0)
    for question in questions:
        names = [tool.name for tool in search(question.query).tools]
        for depth in depths:
            hits[depth] += not set(question.tools).isdisjoint(names[:depth])
    named = {name for question in questions for name in question.tools}
    return {
        "recall": {str(depth): hits[depth] / len(questions) for depth in depths},
        "questions": len(questions),
        "unknown": sorted(named - {tool.name for tool in tools}),
    }

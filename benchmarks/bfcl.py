"""Compares the verdicts of ``toolshape.evals`` and of bfcl_eval's checker, on the benchmark's gold calls, also changed.

In ``python benchmarks/bfcl.py --python PATH``, PATH is the Python of an environment with bfcl_eval (``nox -s 'measure(bfcl)'``).
The script must find a reason for each disagreement, and the table says who is right; otherwise the run fails.
"""

import argparse
import collections
import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from commits import commit_of

import toolshape
from toolshape import Registry, Tool
from toolshape.evals import Case, Expect, one_of

CORPORA = Path(__file__).parents[2] / "shared" / "corpora"
RESULTS = Path(__file__).parent / "results" / "bfcl.md"
SETS = ("bfcl/simple_python", "bfcl/multiple", "bfcl/parallel", "bfcl/parallel_multiple")

# Runs in the environment of bfcl_eval. An empty table of models replaces its own, which imports the clients of models.
CHECKER = r"""
import json, sys, types
names = types.ModuleType("bfcl_eval.constants.model_config")
names.MODEL_CONFIG_MAPPING = {"m": types.SimpleNamespace(underscore_to_dot=False)}
sys.modules[names.__name__] = names
from bfcl_eval.constants.enums import Language
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
for line in sys.stdin:
    given = json.loads(line)
    try:
        found = ast_checker(given["tools"], given["calls"], given["gold"], Language.PYTHON, given["category"], "m")
        print(json.dumps(bool(found["valid"])))
    except Exception:
        print("null")
"""


class Pair(NamedTuple):
    """A changed response: its gold row, the tools by name, the change, the changed argument, and the calls."""

    row: dict[str, Any]
    tools: dict[str, dict[str, Any]]
    change: str
    at: str
    calls: list[dict[str, Any]]


def read_corpus(name: str) -> list[dict[str, Any]]:
    """Return the rows of a corpus."""
    return [json.loads(line) for line in (CORPORA / name).read_text(encoding="utf-8").splitlines()]


def changed_versions(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield changed versions of a value, each with the name of its change."""
    match value:
        case bool():
            yield "flipped", not value
            yield "written as text", str(value).lower()
        case int():
            yield "another number", value + 1_000_003
            yield "written as text", str(value)
            yield "integer written as a float", float(value)
        case float():
            yield "another number", value + 1_000_003.5
            yield "written as text", str(value)
        case str():
            yield "another text", f"{value} and more"
            yield "other letter case", value.swapcase()
            yield "other punctuation", f"{value}."
        case list():
            yield "an item less", value[:-1]
            yield "other order", value[::-1]
        case dict():
            yield "a key more", {**value, "zz": 1}


def pairs(rows: list[dict[str, Any]], tools: dict[str, dict[str, Any]]) -> Iterator[Pair]:
    """Yield each gold row unchanged, and then with each change."""
    for row in rows:
        row_tools = {tools[item]["name"]: tools[item] for item in row["tool_ids"]}
        yield Pair(row, row_tools, "none", "", row["calls"])
        yield Pair(row, row_tools, "a call more", "", [*row["calls"], row["calls"][0]])
        yield Pair(row, row_tools, "a call less", "", row["calls"][:-1])
        yield Pair(row, row_tools, "other order of calls", "", row["calls"][::-1])
        for at, call in enumerate(row["calls"]):

            def with_(
                arguments: dict[str, Any], at: int = at, row: dict[str, Any] = row
            ) -> list[dict[str, Any]]:
                calls = copy.deepcopy(row["calls"])
                calls[at]["arguments"] = arguments
                return calls

            yield Pair(
                row, row_tools, "an argument more", "", with_({**call["arguments"], "zz": 1})
            )
            for name, value in call["arguments"].items():
                other_arguments = {
                    key: argument for key, argument in call["arguments"].items() if key != name
                }
                yield Pair(row, row_tools, "left out", name, with_(other_arguments))
                yield Pair(row, row_tools, "null", name, with_({**other_arguments, name: None}))
                for change, changed_value in changed_versions(value):
                    yield Pair(
                        row,
                        row_tools,
                        change,
                        name,
                        with_({**other_arguments, name: changed_value}),
                    )


def expected_of(call: dict[str, Any]) -> Expect:
    """Return the expected call for a gold call, with all acceptable values."""
    return Expect(
        call["name"], {name: acceptable(values) for name, values in call["acceptable"].items()}
    )


def acceptable(values: list[Any]) -> Any:
    """Return what matches a list of acceptable values; ``""`` in the list means that the argument may be left out.

    In an object, the value of each field is again a list of acceptable values.
    """
    objects = [value for value in values if isinstance(value, dict)]
    if objects and len(values) == 1:
        return {name: acceptable(inner) for name, inner in objects[0].items()}
    plain_values = [first_of(value) for value in values if value != ""]
    return one_of(*(plain_values or [""]), left_out="" in values)


def first_of(value: Any) -> Any:
    """Return a value in which each field of an object has its first acceptable value."""
    if isinstance(value, dict):
        return {name: inner[0] for name, inner in value.items()}
    return [first_of(item) for item in value] if isinstance(value, list) else value


def our_verdict(pair: Pair) -> tuple[str, str]:
    """Return the label and the first difference of our verdict."""
    entries = [
        {"name": tool["name"], "description": tool["description"], "parameters": tool["schema"]}
        for tool in pair.tools.values()
    ]
    bound = Registry([Tool.from_definition(entry) for entry in entries]).bind("openai", False)
    case = Case(pair.row["id"], expected=[expected_of(call) for call in pair.row["calls"]])
    messages = bound.calls_as_messages([(call["name"], call["arguments"]) for call in pair.calls])
    if not messages:
        return ("wrong", "no call")
    verdict = case.compare(bound, messages[0])
    return verdict.label, str(verdict.differences[0]) if verdict.differences else ""


def their_verdicts(python: str, given: list[Pair]) -> list[bool | None]:
    """Return for each response whether the other checker accepts it; ``None`` if the checker crashes."""
    lines = []
    for pair in given:
        tools = [
            {"name": tool["name"], "description": tool["description"], "parameters": tool["schema"]}
            for tool in pair.tools.values()
        ]
        calls = [{call["name"]: call["arguments"]} for call in pair.calls]
        gold = [{call["name"]: call["acceptable"]} for call in pair.row["calls"]]
        category = pair.row["set"].removeprefix("bfcl/")
        lines.append(
            json.dumps({"tools": tools, "calls": calls, "gold": gold, "category": category})
        )
    completed = subprocess.run(
        [python, "-c", CHECKER],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in completed.stdout.splitlines()]


def main() -> None:
    """Compare, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    options = parser.parse_args()
    tools = {row["id"]: row for row in read_corpus("tool_definitions.jsonl")}
    rows = [
        row
        for row in read_corpus("gold_calls.jsonl")
        if row["set"] in SETS
        and row["calls"]
        and row["tool_ids"]
        and all(call.get("acceptable") for call in row["calls"])
    ]
    all_pairs = list(pairs(rows, tools))
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    unexplained = []
    for pair, (label, difference), valid in zip(
        all_pairs,
        map(our_verdict, all_pairs),
        their_verdicts(options.python, all_pairs),
        strict=True,
    ):
        agrees = (label == "right") is valid
        explanation = "" if agrees else reason(pair, label, difference, valid=valid)
        counts[pair.change, explanation] += 1
        if explanation is None:
            unexplained.append(
                f"{pair.row['id']} {pair.change} {pair.at}: {label} ({difference}), theirs {valid}"
            )
    if unexplained:
        sys.exit(
            "\n".join([*unexplained[:20], f"{len(unexplained)} disagreements without a reason"])
        )
    RESULTS.write_text(page(counts, options.python), encoding="utf-8")
    sys.stdout.write(RESULTS.read_text(encoding="utf-8"))


def reason(pair: Pair, label: str, difference: str, *, valid: bool | None) -> str | None:
    """Return why the two checkers disagree; ``None`` if no reason is known."""
    if label != "right" and valid and pair.change in ("other letter case", "other punctuation"):
        return "letters"
    if label == "right" and not valid and pair.change == "left out":
        defaults = [
            tool["schema"]["properties"].get(pair.at, {}).get("default")
            for tool in pair.tools.values()
        ]
        accepted_values = [call["acceptable"].get(pair.at, []) for call in pair.row["calls"]]
        if any(
            default is not None and default in values
            for default in defaults
            for values in accepted_values
        ):
            return "default"
    if label != "right" and valid and ": refused: " in difference:
        return "schema"
    if label != "right" and valid and pair.change == "an item less":
        return "empty list"
    return None


REASONS = {
    "letters": (
        "text that differs in letter case, blanks or punctuation alone",
        "theirs takes it, on purpose; the function gets another text, which `matching` may allow where that is meant",
    ),
    "default": (
        "left out, where the schema's default is an acceptable value",
        "ours: the function gets that value; theirs knows no defaults (as an issue of that project says)",
    ),
    "schema": (
        "arguments that the tool's own schema refuses",
        "ours: no call with them could run; theirs looks at the gold call alone, which is as wrong",
    ),
    "empty list": (
        "a list that has lost its only item",
        "ours: the function gets an empty list; theirs takes it for the whole one",
    ),
}


def page(counts: collections.Counter[tuple[str, str]], python: str) -> str:
    """Return the page: the table of the changes, and the table of the reasons."""
    command = [python, "-c", "import importlib.metadata as m; print(m.version('bfcl_eval'))"]
    version = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    total, agreements = (
        sum(counts.values()),
        sum(number for (_, why), number in counts.items() if not why),
    )
    lines = [
        "# Verdicts beside bfcl_eval's checker",
        "",
        (
            f"{total} responses, made of the gold calls of {', '.join(SETS)}: as they are, and with one thing changed in each. "
            f"Both say the same of {agreements}. `right` is agreement; what is right once it is coerced counts as wrong here, as "
            f"their checker coerces nothing. bfcl_eval {version}; `nox -s 'measure(bfcl)'` at {commit_of(Path(toolshape.__file__))}."
        ),
        "",
        "| what was changed | responses | both say the same | they differ |",
        "|---|---|---|---|",
    ]
    for change in dict.fromkeys(change for change, _ in counts):
        counts_by_reason = {
            why: number
            for (counted_change, why), number in counts.items()
            if counted_change == change
        }
        differ = ", ".join(f"{number} {why}" for why, number in counts_by_reason.items() if why)
        lines.append(
            f"| {change} | {sum(counts_by_reason.values())} | {counts_by_reason.get('', 0)} | {differ} |"
        )
    lines += ["", "| they differ | in what | who is right |", "|---|---|---|"]
    reasons_seen = {why for _, why in counts}
    lines += [
        f"| {why} | {what} | {who} |" for why, (what, who) in REASONS.items() if why in reasons_seen
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()

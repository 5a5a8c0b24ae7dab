"""Measures, prints and saves the tables: ``python benchmarks``, or ``nox -s benchmarks`` for all Pythons and peers."""

import argparse
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from calls import call_rows
from commits import CHANGED, commit_of
from costs import definition_rows, export_rows, growth_rows, import_rows, memory_rows
from instructions import call_instruction_rows, loop_instruction_rows
from loops import loop_rows
from peers import PEERS, Peer, installed
from rows import Row, as_markdown
from timing import Effort, Spread

import toolshape

RESULTS = Path(__file__).parent / "results"
PREFACE = """\
# Results

Medians, with their quartiles in brackets; what missed its goal is in bold. The floor of a call is
`validate_json(text, strict=True)` of the tool's own model, its attributes, and the call. Times drift with what else the
machine does, two Pythons at once among them; instructions do not. Python 3.10 adapts no bytecode to the types that it
meets, so that what is ours of a call weighs more there. Before 3.12 a task first runs at the next turn of the loop,
which a single async call waits for.

Where another library is ahead:

- Of `dispatch`: on Python 3.10 and 3.11 anthropic's `beta_tool`, of scalars. It begins with the arguments and ends with
  the value, finds no tool, reads no response and writes no message: what does the same here is `tool.call(text)`, which
  is ahead. polytools calls the function with whatever came, unvalidated.
- Of the definition: toolschema, polytools and google-genai make no model, they look at the function when it is exported;
  pydantic-ai and anthropic compile no checks for duplicate keys, NaN, dates and enums.
- Of the export: anthropic, polytools and mirascope hand out the same objects each time, so that what one caller changes
  all others get; mcp and openai-agents wrap theirs in new ones. Ours are copies.
- Of the import: toolschema and polytools know nothing of pydantic.
"""
PARTS = (
    "call",
    "definition",
    "export",
    "import",
    "memory",
    "growth",
    "instructions",
    "loop",
    "loop instructions",
)


def measure(parts: Iterable[str], peers: Sequence[Peer], *, is_quick: bool) -> list[Row]:
    """Measure some parts and return their rows; a quick run only shows that each measurement works."""
    effort = Effort(rounds=3, seconds=0.001) if is_quick else Effort()
    ways: Mapping[str, Callable[[], Iterable[Row]]] = {
        "call": lambda: call_rows(effort, peers),
        "definition": lambda: definition_rows(effort, peers),
        "export": lambda: export_rows(effort, peers, *([20] if is_quick else [])),
        "import": lambda: import_rows(1 if is_quick else 11, peers),
        "memory": lambda: memory_rows(*([5] if is_quick else [])),
        "growth": lambda: growth_rows(*([300, 1_000] if is_quick else [])),
        "instructions": call_instruction_rows,
        "loop": lambda: loop_rows(effort),
        "loop instructions": loop_instruction_rows,
    }
    return [row for part in parts for row in ways[part]()]


def as_json(rows: Iterable[Row], before: Mapping[str, Any], commit: str) -> dict[str, Any]:
    """Return a run as JSON: versions, commits and rows. Parts that were not measured keep the rows of the saved run."""
    core = {
        name: version(name)
        for name in ("toolshape", "pydantic", "pydantic-core", "docstring-parser")
    }
    measured_rows = [{**asdict(row), "is_reached": row.is_reached} for row in rows]
    rows_by_part = {
        part: [row for row in before.get("rows", ()) if row["part"] == part] for part in PARTS
    }
    rows_by_part |= {
        row["part"]: [
            measured_row for measured_row in measured_rows if measured_row["part"] == row["part"]
        ]
        for row in measured_rows
    }
    commits = before.get("commits", {}) | dict.fromkeys(
        (row["part"] for row in measured_rows), commit
    )
    return {
        "python": platform.python_version(),
        "versions": core | installed(),
        "commits": {part: commits[part] for part in PARTS if part in commits},
        "rows": [row for part in PARTS for row in rows_by_part[part]],
    }


def page(results: Iterable[Mapping[str, Any]]) -> str:
    """Return the tables of all saved runs as one page."""
    lines = [PREFACE.rstrip("\n")]
    for result in results:
        rows = [
            Row(
                **{
                    key: value
                    for key, value in {**row, "spread": Spread(**row["spread"])}.items()
                    if key != "is_reached"
                }
            )
            for row in result["rows"]
        ]
        versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
        lines += [
            "",
            f"## Python {result['python']}",
            "",
            f"{versions}.",
            *_commits_shown(result.get("commits", {})),
        ]
        lines += ["", as_markdown(rows).rstrip("\n")]
    return "\n".join(lines) + "\n"


def _commits_shown(commits: Mapping[str, str]) -> list[str]:
    parts_by_commit = {
        commit: [part for part in commits if commits[part] == commit] for commit in commits.values()
    }
    return (
        [
            "",
            *(
                f"Measured at {commit}: {', '.join(parts)}."
                for commit, parts in parts_by_commit.items()
            ),
        ]
        if parts_by_commit
        else []
    )


def main() -> None:
    """Measure the parts, and save the tables."""
    parser = argparse.ArgumentParser(prog="python benchmarks", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="part", help=f"which parts to measure: {', '.join(PARTS)}"
    )
    parser.add_argument(
        "--quick", action="store_true", help="see that everything is measured, in a minute"
    )
    parser.add_argument("--alone", action="store_true", help="without the other libraries")
    parser.add_argument(
        "--to", type=Path, default=RESULTS, help="the folder that the tables are saved in"
    )
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    installed_names = [] if options.alone else installed()
    commit = commit_of(Path(toolshape.__file__))
    if commit.endswith(CHANGED) and options.to == RESULTS:
        parser.error(
            "the tables name a commit: commit the changes first, or save the tables elsewhere by --to"
        )
    peers = [peer for peer in PEERS if peer.name in installed_names]
    rows = measure(options.parts or PARTS, peers, is_quick=options.quick)
    print(as_markdown(rows))
    options.to.mkdir(parents=True, exist_ok=True)
    results_path = options.to / f"{'.'.join(platform.python_version_tuple()[:2])}.json"
    before = json.loads(results_path.read_text(encoding="utf-8")) if results_path.exists() else {}
    results_path.write_text(
        json.dumps(as_json(rows, before, commit), indent=1) + "\n", encoding="utf-8"
    )
    saved_paths = sorted(
        options.to.glob("*.json"), key=lambda path: [int(part) for part in path.stem.split(".")]
    )
    results = [json.loads(path.read_text(encoding="utf-8")) for path in saved_paths]
    (options.to / "README.md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()

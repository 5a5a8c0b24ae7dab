"""Functions of real packages: each becomes a tool with a valid schema and its texts, or is refused for cause.

Run by ``nox -s functions``, which installs the packages. It writes the table of reasons to docs/real-functions.md.
"""

import collections
import importlib
import json
import re
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from toolshape import DefinitionError, Tool, tool

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpora" / "real_functions.jsonl"
FORMS = [
    (r"CallableSchema|no form for callable", "a parameter is a callback"),
    (
        r"JSON Schema has no form for|unable to generate|PydanticSchemaGenerationError",
        "a parameter is an object that JSON cannot say (a class of the package)",
    ),
    (
        r"typing_extensions\.TypedDict",
        "a parameter is a TypedDict of `typing`, which pydantic takes from Python 3.12 on",
    ),
    (r"a framework fills", "a parameter is filled by a framework"),
    (r"subclass", "a parameter is a class"),
    (r"is not defined", "an annotation names what only a type checker imports"),
    (r"a class is not a tool", "it is a class"),
]
LEAKS = re.compile(
    r"^(Args|Arguments|Parameters):?$|^\s*:(param|type|returns?)\b|^@param", re.MULTILINE
)


def importable() -> list[dict[str, Any]]:
    if not CORPUS.exists():
        return []
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    return [
        row for row in rows if row.get("package") and installed(row["package"].partition("==")[0])
    ]


def installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def load(reference: str) -> Any:
    module, _, path = reference.partition(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Any = importlib.import_module(module)
        for step in path.split("."):
            found = getattr(found, step)
    return found


def test_real_functions():
    """None crashes; the table of what was refused is kept."""
    rows = importable()
    if not rows:
        pytest.skip("neither the corpus nor its packages are here: run nox -s functions")
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    packages: set[str] = set()
    unknown: list[str] = []
    silent: list[str] = []
    for row in rows:
        try:
            function = load(row["ref"])
        except Exception as error:
            counts[f"not importable here ({type(error).__name__})"] += 1
            continue
        packages.add(row["package"])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = tool(function)
                schema = made.input_schema
        except DefinitionError as error:
            counts["refused"] += 1
            for reason in {reason_of(str(problem)) for problem in error.problems}:
                reasons[reason] += 1
                if reason not in [said for _, said in FORMS]:
                    unknown.append(f"{row['ref']}: {error}")
            continue
        counts["became a tool"] += 1
        check(made, schema)
        silent.extend(undocumented(row, function, schema))
    write_table(counts, reasons, len(packages), silent)
    print("\n", counts, reasons, len(packages), "packages", len(silent), "silent", silent)
    assert not unknown
    assert len(packages) >= 12
    assert counts["became a tool"] > 250
    assert len(silent) <= 5


def check(made: Tool[..., Any], schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    json.dumps(made.export("json-schema"), allow_nan=False)
    assert isinstance(made.findings, tuple)
    assert not LEAKS.search(made.description), made.description


def undocumented(row: dict[str, Any], function: Any, schema: dict[str, Any]) -> list[str]:
    """Parameters that the corpus counts as documented and that carry no text with us."""
    properties = schema["properties"]
    described = sum(1 for node in properties.values() if node.get("description"))
    share = described / len(properties) if properties else 1
    return (
        [f"{row['ref']} ({described} of {len(properties)})"]
        if share + 0.01 < (row["documented_share"] or 0)
        else []
    )


def reason_of(problem: str) -> str:
    return next((said for pattern, said in FORMS if re.search(pattern, problem)), problem)


def write_table(counts: Any, reasons: Any, packages: int, silent: list[str]) -> None:
    lines = [
        "# Functions of real packages",
        "",
        f"This page shows which public functions of {packages} packages from PyPI become tools.",
        "`nox -s functions` writes this page.",
        "",
        "| outcome | functions |",
        "|---|--:|",
        *(f"| {outcome} | {count} |" for outcome, count in sorted(counts.items())),
        "",
        "| refused because | functions |",
        "|---|--:|",
        *(f"| {reason} | {count} |" for reason, count in reasons.most_common()),
        "",
        "These functions became tools, but fewer of their parameters have a description than the corpus counts as",
        "documented: a field of the docstring is empty, or describes something that is not a parameter of its own.",
        "",
        *(f"- {name}" for name in silent),
        "",
    ]
    (ROOT / "docs").mkdir(exist_ok=True)
    (ROOT / "docs" / "real-functions.md").write_text("\n".join(lines), encoding="utf-8")

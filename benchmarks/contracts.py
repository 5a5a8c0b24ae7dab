"""Compares how toolshape and mcp-diff judge nine changes of a tool: seven affect a caller, and two affect nobody.

``python benchmarks/contracts.py`` needs toolshape[schema] and mcp-diff. schemafit is not measured: it lints
definitions, and compares none.
"""

import copy
import importlib.metadata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from commits import commit_of
from mcp_diff.diff import classify_changes

import toolshape
from toolshape import Registry, Tool
from toolshape.contract import diff, make_contract

OLD: dict[str, Any] = {
    "name": "order",
    "description": "Order goods.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "how": {"type": "string", "enum": ["post", "van"], "default": "post"},
            "days": {"type": "integer", "minimum": 1, "default": 3},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "address": {
                "type": "object",
                "properties": {"street": {"type": "string"}, "zip": {"type": "string"}},
                "required": ["street"],
            },
        },
        "required": ["how"],
    },
}


def cases() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the name of each change, its right level, and the tool after the change."""

    def apply_change(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        new = copy.deepcopy(OLD)
        change(new["inputSchema"])
        return new

    yield (
        "an enum narrowed",
        "breaking",
        apply_change(lambda value: value["properties"]["how"].update(enum=["post"])),
    )
    yield (
        "a default changed",
        "behaviour",
        apply_change(lambda value: value["properties"]["days"].update(default=5)),
    )
    yield (
        "a minimum raised",
        "breaking",
        apply_change(lambda value: value["properties"]["days"].update(minimum=2)),
    )
    yield (
        "required in a record",
        "breaking",
        apply_change(
            lambda value: value["properties"]["address"].update(required=["street", "zip"])
        ),
    )
    yield (
        "a type in a record",
        "breaking",
        apply_change(
            lambda value: value["properties"]["address"]["properties"].update(
                zip={"type": "integer"}
            )
        ),
    )
    yield (
        "null taken away",
        "breaking",
        apply_change(lambda value: value["properties"].update(note={"type": "string"})),
    )
    yield (
        "an object closed",
        "breaking",
        apply_change(lambda value: value.update(additionalProperties=False)),
    )
    yield (
        "a union as a list of types",
        "compatible",
        apply_change(lambda value: value["properties"].update(note={"type": ["string", "null"]})),
    )
    yield (
        "a limit lifted by another type",
        "compatible",
        apply_change(
            lambda value: value["properties"].update(days={"type": "number", "default": 3})
        ),
    )


def our_level(new: dict[str, Any]) -> str:
    """Return the first level that toolshape reports, without coercion, because mcp-diff compares only definitions."""
    old = make_contract(Registry([Tool.from_definition(OLD, coerce=False)]))
    report = diff(Registry([Tool.from_definition(new, coerce=False)]), old)
    return report.changes[0].level if report.changes else "nothing"


def their_severity(new: dict[str, Any]) -> str:
    """Return the worst severity that mcp-diff reports."""
    severities = [change.severity for change in classify_changes([OLD], [new])]
    return next((name for name in ("breaking", "warning", "info") if name in severities), "nothing")


def main() -> None:
    """Compare, print the table, and save it."""
    version = importlib.metadata.version("mcp-diff")
    lines = [
        "# What is said of nine changes of a tool",
        "",
        f"`nox -s 'measure(contracts)'` at {commit_of(Path(toolshape.__file__))}; schemafit lints definitions and compares none.",
        "",
        f"| | right | toolshape | mcp-diff {version} |",
        "|---|---|---|---|",
        *(
            f"| {name} | {right} | {our_level(new)} | {their_severity(new)} |"
            for name, right, new in cases()
        ),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    Path(__file__).parent.joinpath("results", "contracts.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

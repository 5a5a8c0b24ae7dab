"""The kept tables of what engines do with schemas, and their part of the page ``docs/engines.md``.

``python tests/engines/tables.py`` measures the engines that are installed, and writes their tables and the page anew.
"""

import importlib.util
import json
import sys
from collections.abc import Mapping
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from judging import apart, judge
from matchers import ENGINES
from schemas_and_texts import CASES

KEPT = Path(__file__).parent / "kept"
PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
BEGIN = "## Engines by their matchers\n"
INTRODUCTION = """
The engines that servers put between a model and its answer, measured without a model: each matcher was walked over
valid and invalid texts of each schema. "Leaks" are texts that break the schema and are let through, "narrow" are texts that
fit and are refused; the order of keys is fixed in most of them. `vllm` and `sglang` follow xgrammar, which they use
unless their operator chooses another; the answers of `huggingface` follow outlines-core, which text-generation-inference
uses. What an engine keeps is sent; what it refuses or does not keep moves to the description, and is validated after the call.
So do the lengths of texts at xgrammar, which would let no quote, backslash or new line into such a text.
Schemas that all of them accept and keep are left out.
"""


def kept(engine: str) -> Mapping[str, Any]:
    """The table of an engine: its version, the day, and what it does by the name of the case."""
    table: Mapping[str, Any] = json.loads((KEPT / f"{engine}.json").read_text(encoding="utf-8"))
    return table


def mark(found: Mapping[str, Any]) -> str:
    if not found["accepted"]:
        return "refused"
    words = ["leaks"] if found["kept"] is False else ["kept"]
    return ", ".join([*words, "narrow"] if found["refuses_valid"] else words)


def section() -> str:
    """The part of the page that these tables make."""
    tables = {engine: kept(engine) for engine in ENGINES}
    heads = [f"{engine} {table['version']}" for engine, table in tables.items()]
    days = ", ".join(sorted({table["date"] for table in tables.values()}))
    lines = [BEGIN, INTRODUCTION.strip(), "", f"Measured {days}.", ""]
    lines += [f"| schema | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for name in CASES:
        marks = [mark(table["schemas"][name]) for table in tables.values()]
        if set(marks) != {"kept"}:
            lines.append(f"| {name.replace('|', chr(92) + '|')} | {' | '.join(marks)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    KEPT.mkdir(exist_ok=True)
    for engine, (module, load) in ENGINES.items():
        if importlib.util.find_spec(module) is None:
            continue
        compile_schema = load()
        schemas = {
            name: apart(partial(judge, compile_schema, case)).to_json()
            for name, case in CASES.items()
        }
        table = {"version": version(engine), "date": date.today().isoformat(), "schemas": schemas}  # noqa: DTZ011 - a day
        (KEPT / f"{engine}.json").write_text(
            json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        print(engine, table["version"], file=sys.stderr)
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(f"\n{BEGIN}")
    PAGE.write_text(f"{before.rstrip()}\n\n{section()}", encoding="utf-8")


if __name__ == "__main__":
    main()

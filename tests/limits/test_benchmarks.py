"""The benchmarks run: every way of a call gives the right value, and the tables say what was measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 12), reason="that they run on one Python is enough to know"
)
def test_a_quick_run(tmp_path):
    """Each figure that has a goal is measured for each tool; the page has a table for each part."""
    options = ["--quick", "--alone", "--to", str(tmp_path)]
    command = [sys.executable, str(BENCHMARKS), *options, "call", "definition", "export", "memory"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    [saved] = tmp_path.glob("*.json")
    rows = json.loads(saved.read_text(encoding="utf-8"))["rows"]
    goals = {(row["what"], row["subject"]): row["goal"] for row in rows if row["goal"] is not None}
    assert {subject for _, subject in goals} == {"scalar", "nested", "twelve optional", "20 tools"}
    assert goals["dispatch, lenient", "nested"] == 2.2
    assert all(row["spread"]["median"] > 0 for row in rows if row["part"] != "definition")
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("### ")] == [
        "### One call, in ratio to its floor",
        "### Defining a tool, in ratio to what pydantic and docstring-parser take for the same function",
        "### Exporting 1,000 unchanged tools again, microseconds a tool",
        "### Memory of a tool beyond its pydantic model, after export to one provider, KB",
    ]

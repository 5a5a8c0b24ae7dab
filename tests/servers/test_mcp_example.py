"""The example of an MCP server and its two clients runs, and prints what it promises."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "examples" / "mcp_pair.py"


def test_the_pair_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [
        "an MCP client sees: stock, reserve",
        "stock of B-1: {'left': 7}",
        'count=many: count: expected integer, got "many"',
        "a model at OpenAI gets: 2 of B-1 reserved",
    ], done.stderr

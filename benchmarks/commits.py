"""Names the commit that a table measures, and the paths whose change makes a table old.

A table can be committed only after the commit that it names, so a table is fresh while its paths have not changed since:
``tests/unit/test_benchmark_tables.py`` asks git.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path

__all__ = ["MEASURED", "commit_of"]

ROOT = Path(__file__).resolve().parents[1]
CHANGED = ", with changes that are not committed"
HOT_PATH = (
    "toolshape/registry.py",
    "toolshape/bound.py",
    "toolshape/results.py",
    "toolshape/dispatch/handler.py",
    "toolshape/dispatch/outcomes.py",
    "toolshape/dispatch/plan.py",
    "toolshape/dispatch/receive.py",
    "toolshape/dispatch/resolve.py",
    "toolshape/execution/aio.py",
    "toolshape/execution/run.py",
    "toolshape/function/invoke.py",
    "toolshape/function/output.py",
    "toolshape/providers/__init__.py",
    "toolshape/providers/openai.py",  # the provider of the calls that are timed
    "toolshape/validation/fast_path.py",
    "toolshape/wire/bodies.py",
    "toolshape/wire/ids.py",
)
MEASURED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("3.10.json", "3.11.json", "3.12.json", "3.13.json"), HOT_PATH),
    "controls.md": (
        "toolshape/dispatch/approval.py", "toolshape/dispatch/once.py", "toolshape/dispatch/pausing.py",
        "toolshape/dispatch/resuming.py", "toolshape/ledger.py", "toolshape/otel.py",
    ),
    "mcp_servers.md": ("toolshape/mcp/serving.py", "toolshape/providers/mcp.py"),
    "replay.md": ("toolshape/trace/line.py", "toolshape/trace/replay.py", "toolshape/trace/stages.py"),
    "fakes.md": ("toolshape/testing/fake/exchange.py", "toolshape/testing/fake/fake.py", "toolshape/testing/fake/transports.py"),
    # These count verdicts, and time little: they name their commit, and grow old by no path.
    "bfcl.md": (),
    "contracts.md": (),
    "histories.md": (),
    "mutants.md": (),
}  # fmt: skip
"""For each table, the paths that must be as they were at its commit."""


def commit_of(package: Path) -> str:
    """The commit that an imported toolshape is of, as the tables name it."""
    try:
        head = _git("rev-parse", "HEAD").strip()
        changed = _git("status", "--porcelain", "--", "toolshape", "benchmarks/*.py", "pyproject.toml").strip()
    except (OSError, subprocess.CalledProcessError):  # no git, or no clone
        return "no commit, as there is no git"
    ours = ROOT / "toolshape"
    of_others = [
        path
        for path in ours.rglob("*.py")
        if not (there := package.parent / path.relative_to(ours)).exists() or there.read_bytes() != path.read_bytes()
    ]
    return f"commit {head}{CHANGED if changed or of_others else ''}"


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

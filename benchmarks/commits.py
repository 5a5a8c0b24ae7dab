"""Names the commit that a table measures, and the paths whose changes make the table stale.

A table can be committed only after the commit that it names. So a table is fresh while its paths have not changed since
that commit; ``tests/unit/test_benchmark_tables.py`` checks this with git.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path

__all__ = ["MEASURED", "commit_of"]

ROOT = Path(__file__).resolve().parents[1]
CHANGED = ", with changes that are not committed"
HOT_PATH = (
    "toolshape/_bound/bindings.py",
    "toolshape/_bound/registry.py",
    "toolshape/_bound/bound.py",
    "toolshape/_bound/writing.py",
    "toolshape/_plan/results.py",
    "toolshape/_tools/handler.py",
    "toolshape/_plan/outcomes.py",
    "toolshape/_plan/planning.py",
    "toolshape/_families/receive.py",
    "toolshape/_plan/resolve.py",
    "toolshape/_plan/running.py",
    "toolshape/_plan/state.py",
    "toolshape/_function/calling/aio.py",
    "toolshape/_function/calling/call.py",
    "toolshape/_function/invoke.py",
    "toolshape/_function/result_form.py",
    "toolshape/_families/__init__.py",
    "toolshape/_families/openai/messages.py",
    "toolshape/_families/openai/responses.py",  # the provider of the calls that are timed
    "toolshape/_validation/fast_path.py",
    "toolshape/_families/wire/bodies.py",
    "toolshape/_families/wire/ids.py",
)
MEASURED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("3.10.json", "3.11.json", "3.12.json", "3.13.json"), HOT_PATH),
    "controls.md": (
        "toolshape/_plan/approval.py", "toolshape/_plan/once.py", "toolshape/_plan/pausing.py",
        "toolshape/_plan/resuming.py", "toolshape/ledger.py", "toolshape/otel.py",
    ),
    "search.md": ("toolshape/_bound/search.py",),
    "mcp_servers.md": ("toolshape/mcp/_serving.py", "toolshape/_families/mcp.py"),
    "replay.md": ("toolshape/trace/_line.py", "toolshape/trace/_replay.py", "toolshape/trace/_stages.py"),
    "open_text.md": (
        "toolshape/_families/text/scanner.py", "toolshape/_families/text/calls.py", "toolshape/_families/text/formats.py",
        "toolshape/_families/text/reading.py", "toolshape/_families/text/values.py", "toolshape/_families/text/steps.py",
    ),
    "fakes.md": ("toolshape/testing/_fake/exchange.py", "toolshape/testing/_fake/fake.py"),
    # These tables count verdicts, and time little. They name their commit, but no change of a path makes them stale.
    "bfcl.md": (),
    "contracts.md": (),
    "histories.md": (),
    "mutants.md": (),
    "outputs.md": (),
}  # fmt: skip
"""For each table, the paths that must not have changed since the commit that the table names."""


def commit_of(package: Path) -> str:
    """Return the commit of the imported toolshape, in the words of the tables."""
    try:
        head = _git("rev-parse", "HEAD").strip()
        changed = _git(
            "status", "--porcelain", "--", "toolshape", "benchmarks/*.py", "pyproject.toml"
        ).strip()
    except (OSError, subprocess.CalledProcessError):  # no git, or no clone
        return "no commit, as there is no git"
    own_folder = ROOT / "toolshape"
    differing_paths = [
        path
        for path in own_folder.rglob("*.py")
        if not (imported_path := package.parent / path.relative_to(own_folder)).exists()
        or imported_path.read_bytes() != path.read_bytes()
    ]
    return f"commit {head}{CHANGED if changed or differing_paths else ''}"


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

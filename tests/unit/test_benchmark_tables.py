"""The tables of ``benchmarks/results`` are of the code that is here: what they measure has not changed since their commit."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = BENCHMARKS / "results"
sys.path.append(str(BENCHMARKS))

from commits import HOT_PATH, MEASURED, commit_of  # noqa: E402 - benchmarks are programs in a folder

TIMED = [table for table, paths in MEASURED.items() if paths]
TIMED_PARTS = {"call", "instructions"}
WAY_OUT = "nox -s tables writes it again, on a machine that does nothing else"


def git(folder, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def named(table, parts=None):
    """The commit of each part of a table: ``None``, where it names none, or one that its changes were not in."""
    text = (RESULTS / table).read_text(encoding="utf-8")
    texts = {text}
    if table.endswith(".json"):
        saved = json.loads(text)
        commits = saved.get("commits", {})
        texts = {
            commits.get(row["part"], "")
            for row in saved["rows"]
            if parts is None or row["part"] in parts
        }
    found = [re.search(r"\bcommit ([0-9a-f]{40})(?!, with changes)", said) for said in texts]
    return {match and match[1] for match in found}


def changed_since(folder, commit, paths):
    """Whether paths are other than at a commit; ``None`` where git cannot say.

    A commit that is not an ancestor is compared as well: it is enough that the code is the same.
    """
    if not (folder / ".git").exists():
        return None
    try:
        if git(folder, "cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
            return None  # a shallow clone
        differs = git(folder, "diff", "--quiet", commit, "--", *paths).returncode
    except FileNotFoundError:
        return None  # git is not installed
    return {0: False, 1: True}.get(differs)


@pytest.mark.parametrize("table", MEASURED)
def test_a_table_names_its_commit(table):
    """A table without a commit, or of changes that nobody else has, measures nobody knows what."""
    assert None not in named(table), f"a part of {table} names no commit: {WAY_OUT}"


@pytest.mark.parametrize("table", TIMED)
def test_what_a_table_measures_is_unchanged(table):
    """Since the commit that the table names."""
    for commit in named(table, TIMED_PARTS) - {None}:
        changed = changed_since(ROOT, commit, MEASURED[table])
        if changed is None:
            pytest.skip(
                f"git does not know the commit that {table} names: a shallow clone, or no clone"
            )
        assert not changed, (
            f"{table} is of {commit[:12]}, and what it measures has changed since: {WAY_OUT}"
        )


def test_every_table_is_known():
    """A new table says what it measures; the page is made of the tables of each Python."""
    assert {path.name for path in RESULTS.iterdir()} == {*MEASURED, "README.md"}
    assert all((ROOT / path).exists() for paths in MEASURED.values() for path in paths)


def test_the_hot_path_is_what_a_call_runs_through():
    """Each module that a scalar dispatch enters after the first is one whose change makes the tables old."""
    script = """
import sys
from pathlib import Path
import toolshape
from toolshape import Registry, tool

@tool
def add(a: int, b: int = 1) -> int:
    return a + b

tools = Registry([add])
call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
message = {"role": "assistant", "content": None, "tool_calls": [call]}
response = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
assert tools.dispatch(response).messages[0]["content"] == "2"
root, seen = Path(toolshape.__file__).parents[1], set()

def see(frame, event, argument):
    seen.add(frame.f_code.co_filename)

sys.setprofile(see)
tools.dispatch(response).messages
sys.setprofile(None)
print(*sorted(Path(file).relative_to(root).as_posix() for file in seen if file.startswith(str(root / "toolshape"))))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) <= set(HOT_PATH)


def test_git_is_asked(tmp_path):
    """A path that changed, one that did not, a commit that is not there, a folder that is no clone, and uncommitted work."""
    (tmp_path / "hot.py").write_text("1", encoding="utf-8")
    (tmp_path / "cold.py").write_text("1", encoding="utf-8")
    assert changed_since(tmp_path, "0" * 40, ["hot.py"]) is None
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    if git(tmp_path, "init").returncode != 0:
        pytest.skip("git is not there")
    git(tmp_path, "add", ".")
    git(tmp_path, *who, "commit", "-m", "first")
    first = git(tmp_path, "rev-parse", "HEAD").stdout.strip()
    (tmp_path / "cold.py").write_text("2", encoding="utf-8")
    git(tmp_path, *who, "commit", "-am", "second")
    assert changed_since(tmp_path, first, ["hot.py"]) is False
    assert changed_since(tmp_path, first, ["hot.py", "cold.py"]) is True
    assert changed_since(tmp_path, "0" * 40, ["hot.py"]) is None
    (tmp_path / "hot.py").write_text("2", encoding="utf-8")
    assert changed_since(tmp_path, first, ["hot.py"]) is True


def test_another_installation_is_no_commit(tmp_path):
    """A toolshape that is installed elsewhere, and is not this tree, is not measured in its name."""
    there = tmp_path / "toolshape" / "__init__.py"
    there.parent.mkdir()
    there.write_text("", encoding="utf-8")
    assert not re.search(r"commit [0-9a-f]{40}$", commit_of(there))

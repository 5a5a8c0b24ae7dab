"""Servers from the package index, in environments of their own, taken in: every tool of theirs exported and called."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from responses import response
from test_mcp_server import run

from toolshape._families.names import available
from toolshape.mcp import connect

PLACE = os.environ.get("TOOLSHAPE_SERVERS", "")
pytestmark = pytest.mark.skipif(not PLACE, reason="nox -s servers installs the servers")

TIME = {"timezone": "Europe/Paris"}
CALLS = {
    "time": {
        "get_current_time": TIME,
        "convert_time": {"source_timezone": "Europe/Paris", "time": "12:00", "target_timezone": "Asia/Tokyo"},
    },
    "git": {
        "git_status": {}, "git_diff_unstaged": {}, "git_diff_staged": {}, "git_diff": {"target": "HEAD"},
        "git_add": {"files": ["b.txt"]}, "git_commit": {"message": "Second"}, "git_reset": {}, "git_log": {"max_count": "2"},
        "git_create_branch": {"branch_name": "other"}, "git_checkout": {"branch_name": "other"},
        "git_show": {"revision": "HEAD"}, "git_branch": {"branch_type": "local"},
    },
    "sqlite": {
        "create_table": {"query": "CREATE TABLE goods (name TEXT)"},
        "write_query": {"query": "INSERT INTO goods VALUES ('bread')"},
        "read_query": {"query": "SELECT name FROM goods"},
        "list_tables": {},
        "describe_table": {"table_name": "goods"},
        "append_insight": {"insight": "Bread sells."},
    },
}  # fmt: skip


@pytest.fixture
def repository(tmp_path):
    place = tmp_path / "repository"
    place.mkdir()
    (place / "a.txt").write_text("a", encoding="utf-8")
    for command in (
        ["init", "-q"],
        ["config", "user.email", "a@b.c"],
        ["config", "user.name", "A"],
        ["add", "."],
        ["commit", "-qm", "First"],
    ):
        subprocess.run(["git", *command], cwd=place, check=True)
    (place / "b.txt").write_text("b", encoding="utf-8")
    return place


@pytest.mark.parametrize("name", CALLS)
def test_a_real_server(name, repository, tmp_path):
    """Each tool is exported to every provider, called by the name that one of them is sent, and answers."""
    options = {
        "git": ["--repository", str(repository)],
        "sqlite": ["--db-path", str(tmp_path / "goods.db")],
    }
    command = [str(Path(PLACE, name, "bin", f"mcp-server-{name}")), *options.get(name, [])]

    async def main():
        said = {}
        async with connect(command, prefix=name) as remote:
            exported = {provider: remote.export(provider) for provider in available()}
            for tool, given in CALLS[name].items():
                arguments = {"repo_path": str(repository), **given} if name == "git" else given
                [result] = await remote.adispatch(
                    response((f"{name}_{tool}", json.dumps(arguments)))
                )
                said[tool] = result
            [wrong] = await remote.adispatch(
                response((next(iter(remote)).name, {"no": "such argument"}))
            )
            return [item.name for item in remote], exported, said, wrong

    names, exported, said, wrong = run(main())
    assert set(names) == {f"{name}_{item}" for item in said}
    assert all(exported.values())
    assert {tool: item.text for tool, item in said.items() if not item.ok} == {}
    assert all(item.text for item in said.values())
    assert wrong.error.code == "invalid_arguments"


def test_what_they_say_is_read(tmp_path):
    command = [str(Path(PLACE, "time", "bin", "mcp-server-time"))]

    async def main():
        async with connect(command) as remote:
            calls = response(
                ("get_current_time", TIME), ("get_current_time", {"timezone": "Nowhere"})
            )
            return await remote.adispatch(calls)

    right, wrong = run(main())
    assert '"timezone": "Europe/Paris"' in right.text
    assert wrong.error.code == "tool_error"
    assert "Nowhere" in wrong.text

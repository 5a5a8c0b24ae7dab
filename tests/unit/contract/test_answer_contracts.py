"""Outputs in lock files, on the command line and on pages."""

import json
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from toolshape import Output, Registry, UsageError, tool
from toolshape._cli.cli import main
from toolshape.contract import (
    ContractError,
    assert_contract,
    diff,
    diff_contracts,
    dump_lock,
    load_lock,
    make_contract,
    render_page,
)


class Invoice(BaseModel):
    """An invoice."""

    total: float
    tags: dict[str, int] = {}
    kind: Literal["credit", "debit"] = "debit"


@tool
def look(number: int) -> str:
    """Look an order up."""
    return f"order {number}"


TOOLS, OUTPUT = Registry([look]), Output(Invoice)
APP = '''
from pydantic import BaseModel
from toolshape import Output, Registry, tool

class Invoice(BaseModel):
    """An invoice."""
    total: float
    tags: dict[str, int] = {}

@tool
def look(number: int) -> str:
    """Look an order up."""
    return f"order {number}"

tools, invoice = Registry([look]), Output(Invoice)
'''


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(APP, encoding="utf-8")


def run(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == code, result.output
    return result.output


def test_a_lock_file_holds_outputs(tmp_path):
    made = make_contract(TOOLS, ["openai", "mcp"], [OUTPUT, Output(list[int])])
    path = tmp_path / "tools.lock.json"
    path.write_text(dump_lock(made), encoding="utf-8")
    assert load_lock(path) == made
    assert made.outputs["Invoice"].fingerprints.keys() == {
        "openai"
    }  # an MCP client asks for no answers
    assert not diff(TOOLS, load_lock(path), [OUTPUT, Output(list[int])])
    assert "outputs" not in json.loads(dump_lock(make_contract(TOOLS)))
    with pytest.raises(UsageError, match="two outputs are called 'Invoice'"):
        make_contract(TOOLS, (), [OUTPUT, Output(Invoice)])


def changed(kind: type, **options: object) -> set[tuple[str, str, str]]:
    found = diff(
        TOOLS, make_contract(TOOLS, ["openai"], [OUTPUT]), [Output(kind, name="Invoice", **options)]
    )
    return {(change.kind, change.level, change.path) for change in found.changes}


def test_what_breaks_an_answer():
    """Each change with an answer that was valid, and that the type now refuses."""

    class Other(BaseModel):
        """An invoice."""

        total: int
        tags: dict[str, int] = {}
        kind: Literal["debit"] = "debit"
        due: str

    assert changed(Other) == {
        ("type", "breaking", "total"),
        ("enum", "breaking", "kind"),
        ("parameter_added", "breaking", "due"),
    } or changed(Other) >= {("parameter_added", "breaking", "due")}
    found = diff(TOOLS, make_contract(TOOLS, (), [OUTPUT]), [Output(Other, name="Invoice")])
    added = next(change for change in found.changes if change.path == "due")
    assert "due" not in added.witness
    assert ("description", "behaviour", "") in changed(Invoice, description="The bill.")
    assert ("coerce", "unknown", "") in changed(Invoice, coerce=False)


def test_outputs_that_come_and_go():
    old, new = make_contract(TOOLS, (), [OUTPUT]), make_contract(TOOLS)
    assert [
        (change.kind, change.level, change.tool) for change in diff_contracts(old, new).changes
    ] == [("output_removed", "breaking", "Invoice")]
    assert [change.kind for change in diff_contracts(new, old).changes] == ["output_added"]
    renamed = make_contract(TOOLS, (), [Output(Invoice, name="Bill")])
    assert [(change.kind, change.level) for change in diff_contracts(old, renamed).changes] == [
        ("output_renamed", "behaviour")
    ]


def test_a_contract_is_asserted_with_outputs(tmp_path):
    path = tmp_path / "tools.lock.json"
    assert_contract(TOOLS, path, providers=["openai"], outputs=[OUTPUT])
    assert_contract(TOOLS, path, outputs=[OUTPUT])
    with pytest.raises(ContractError, match="Invoice: description"):
        assert_contract(TOOLS, path, outputs=[Output(Invoice, description="Other.")])


@pytest.mark.usefixtures("app")
def test_the_command_line():
    exported = json.loads(run("export", "app.py:invoice", "--to", "openai"))
    assert exported["response_format"]["json_schema"]["name"] == "Invoice"
    both = json.loads(run("export", "app.py:invoice", "--to", "openai", "--to", "anthropic"))
    assert both.keys() == {"openai", "anthropic"}
    assert "nothing would be refused" in run("check", "app.py:invoice", "--to", "openai")
    assert "is not the API of a model" in run("check", "app.py:invoice", "--to", "mcp", code=1)
    assert "1 tool, 1 output" in run("lock", "app.py:tools", "--answer", "app.py:invoice")
    assert "nothing has changed" in run(
        "diff", "app.py:tools", "--against", "tools.lock.json", "--answer", "app.py:invoice"
    )
    assert "1 output" in run("lock", "app.py:invoice", "-o", "answers.lock.json")
    Path("app.py").write_text(
        APP.replace("total: float", "total: float\n    due: str"), encoding="utf-8"
    )
    import sys

    sys.modules.pop("app", None)
    changed = run(
        "diff", "app.py:tools", "--against", "tools.lock.json", "--answer", "app.py:invoice", code=1
    )
    assert "breaking: Invoice.due: parameter added" in changed
    assert "--answer names an Output" in run(
        "lock", "app.py:tools", "--answer", "app.py:look", code=2
    )
    assert "is an output: name a registry" in run("call", "app.py:invoice", code=2)


@pytest.mark.usefixtures("app")
def test_a_page_shows_what_is_asked_for():
    assert "1 tool, 1 output" in run(
        "page", "app.py:tools", "--answer", "app.py:invoice", "--to", "openai", "--to", "groq"
    )
    page = Path("tools.html").read_text(encoding="utf-8")
    assert "<h2>Answers</h2>" in page
    assert "1 tool · 1 output" in page
    shown = render_page(Registry(), ["openai", "deepseek", "mcp"], outputs=[OUTPUT])
    assert "Tools by provider" not in shown
    assert "lenient, as a tool" in shown
    assert "sent as a tool that the model must call" in shown

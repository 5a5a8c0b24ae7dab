"""The commands, as a user types them."""

import json
import subprocess
import sys
import textwrap

import pytest
from click.testing import CliRunner

from toolshape.cli import main

SHOP = """
    from toolshape import Registry, tool

    @tool
    def create_ticket(order_id: str, urgent: bool = False) -> dict:
        "Open a ticket."
        return {"名": order_id, "urgent": urgent}

    @tool(strict=True)
    def exact(n: int = 1) -> int:
        return n

    @tool
    async def boom() -> None:
        raise RuntimeError("secret")

    def plain(x: int) -> int:
        return x

    tools = Registry([create_ticket, boom])
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a folder with a shop in it."""
    name = f"shop_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(SHOP), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def invoke(*arguments):
        return CliRunner().invoke(main, [argument.replace("shop", name, 1) for argument in arguments])

    return invoke


def test_export(run):
    """One provider: what the SDK takes; several: by name; a single tool too."""
    one = json.loads(run("export", "shop:tools", "--to", "openai").stdout)
    assert [tool["function"]["name"] for tool in one] == ["create_ticket", "boom"]
    both = json.loads(run("export", "shop:tools", "--to", "openai, anthropic").stdout)
    assert both["openai"] == one
    assert [tool["name"] for tool in both["anthropic"]] == ["create_ticket", "boom"]
    assert json.loads(run("export", "shop:plain", "--to", "anthropic").stdout)[0]["name"] == "plain"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "shop:tools", "--to", "opnai"), "there is no provider 'opnai'"),
        (("export", "shop", "--to", "openai"), "not of the form MODULE:NAME"),
        (("export", "shop:nothing", "--to", "openai"), "has no 'nothing'"),
        (("export", "nowhere_at_all:tools", "--to", "openai"), "there is no module 'nowhere_at_all'"),
        (("call", "shop:tools", "{}"), "is a registry"),
        (("call", "shop:tools.create_ticket", "{}"), "order_id: required, but missing"),
        (("call", "shop:tools.create_ticket", '{"order_id": "4"'), "cut off"),
        (("call", "shop:boom"), "internal reason"),
    ],
)
def test_mistakes(run, arguments, said):
    """A sentence on standard error, and not 0."""
    done = run(*arguments)
    assert done.exit_code != 0
    assert said in " ".join(done.stderr.split())
    assert "secret" not in done.output


def test_call(run):
    """The result as a model reads it; coercions on standard error."""
    done = run("call", "shop:tools.create_ticket", '{"order_id": 45128}')
    assert (done.exit_code, done.stdout) == (0, '{"名":"45128","urgent":false}\n')
    assert done.stderr == "coerced order_id by text_from_integer: 45128 -> '45128'\n"
    assert run("call", "shop:exact", '{"n": 2}').stdout == "2\n"
    assert run("call", "shop:plain", '{"x": 2}').stdout == "2\n"


def test_the_script_is_installed():
    """As the README says it."""
    done = subprocess.run(
        [sys.executable, "-m", "toolshape.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert "0.1.0" in done.stdout


LONG = """
from toolshape import Registry, tool

@tool(name="x" * 70, strict=True)
def wide(a: dict[str, int], b: int = 1) -> int:
    "Wide."
    return 1

@tool(strict=True)
def many(PARAMETERS) -> int:
    "Many."
    return 1

tools = Registry([wide, many])
""".replace("PARAMETERS", ", ".join(f"p{number}: int = 0" for number in range(30)))


def test_check(run, tmp_path):
    """What would be refused, by whom, where, by which rule, and how that is known; 1 if anything would be."""
    [shop] = tmp_path.glob("shop_*.py")
    shop.write_text(LONG, encoding="utf-8")
    done = run("check", "shop:tools", "--for", "openai,anthropic,mcp")
    assert done.exit_code == 1
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["provider", "tool", "path", "rule", "message", "evidence"]
    assert [row.split()[:2] for row in rows] == [["anthropic", "many"], ["mcp", "x" * 70], ["mcp", "many"]]
    assert "30 optional properties, at most 23 are taken" in rows[0]
    assert "2026" in rows[0]
    found = json.loads(run("check", "shop:tools", "--for", "anthropic", "--json").stdout)
    assert [(one["tool"], one["rule"]) for one in found] == [("many", "grammar")]
    done = run("check", "shop:tools." + "x" * 70, "--for", "openai,gemini", "--strict", "auto")
    assert (done.exit_code, done.stdout) == (0, "nothing would be refused: 1 tools for openai, gemini\n")
    done = run("check", "shop:tools", "--for", "opnai")
    assert (done.exit_code, "there is no provider 'opnai'" in " ".join(done.stderr.split())) == (2, True)


def test_diff(run, tmp_path):
    """How each target is sent each parameter that differs."""
    [shop] = tmp_path.glob("shop_*.py")
    shop.write_text(LONG, encoding="utf-8")
    done = run("diff", "shop:tools.%s" % ("x" * 70), "--targets", "openai,mcp")
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    told = {(path, target): what for path, target, what in lines if path in ("a", "b")}
    assert told["a", "openai"].startswith("additionalProperties: a map, sent as a list of pairs")
    assert told["b", "openai"] == "required: null means: left out; default: said in the description"
    assert told["a", "mcp"] == told["b", "mcp"] == "as written"
    rows = json.loads(run("diff", "shop:tools.%s" % ("x" * 70), "--targets", "openai,mcp", "--json").stdout)
    assert rows[0]["path"] == ""
    assert rows[0]["told"]["openai"].startswith("strict; name: sent as ")
    assert rows[0]["told"]["mcp"] == "lenient"
    same = json.loads(run("diff", "shop:tools.many", "--targets", "openai,azure", "--strict", "false", "--json").stdout)
    assert [row["path"] for row in same] == ["", *(f"p{number}" for number in range(30))]
    assert all(row["told"]["openai"] == row["told"]["azure"] for row in same)
    assert run("diff", "shop:tools", "--targets", "openai").exit_code != 0

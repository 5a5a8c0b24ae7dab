"""The two commands, as a user types them."""

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
    """The result as a model reads it; mends beside it."""
    done = run("call", "shop:tools.create_ticket", '{"order_id": 45128}')
    assert (done.exit_code, done.stdout) == (0, '{"名":"45128","urgent":false}\n')
    assert done.stderr == "mended order_id by text_from_integer: 45128 -> '45128'\n"
    assert run("call", "shop:exact", '{"n": 2}').stdout == "2\n"
    assert run("call", "shop:plain", '{"x": 2}').stdout == "2\n"


def test_the_script_is_installed():
    """As the README says it."""
    done = subprocess.run(
        [sys.executable, "-m", "toolshape.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert "0.1.0" in done.stdout

"""A provider in another package: one file, an entry point, one row; everything else finds it."""

import json
import subprocess
import sys

import pytest
from zoo import CASES

from toolshape import Registry
from toolshape.provider import available, get
from toolshape.testing import check_provider

ACME = '''
"""Acme Models: lists of functions, arguments as pairs."""

from dataclasses import replace

from toolshape.provider import NameRule, Reading, WireCall, checks, get


def envelope(spec, strict):
    return {"fn": spec.name, "about": spec.description, "takes": spec.parameters, "constrain": strict}


def request(tools, choice):
    return {"functions": tools}


def recognises(body):
    return isinstance(body, dict) and "invoke" in body


def read(body):
    if not recognises(body):
        return None
    calls = [WireCall(str(i), one["fn"], one["with"], one) for i, one in enumerate(body["invoke"])]
    return Reading([body], calls, body.get("why"))


def encode(results):
    return [{"answers": [result.text for result in results]}]


ACME = replace(
    get("openai"),
    name="acme",
    family="acme",
    form="acme",
    names=NameRule(pattern="[a-z]+", longest=12, evidence="their handbook, 2026-01"),
    schema=replace(
        get("openai").schema,
        refuses=checks.cited("their handbook, 2026-01", checks.closed),
        lenient=get("openai").schema.strict,
    ),
    request=replace(get("openai").request, envelope=envelope, keywords=request),
    response=replace(get("openai").response, recognises=recognises, read=read),
    codec=replace(get("openai").codec, write_results=encode),
    server=None,  # nobody has said how its server answers: there is no fake of it
)
'''


@pytest.fixture
def acme(tmp_path, monkeypatch):
    (tmp_path / "acme_tools.py").write_text(ACME)
    installed = tmp_path / "acme_tools-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-tools\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[toolshape.providers]\nacme = acme_tools:ACME\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_tools", raising=False)
    return tmp_path


@pytest.mark.slow
def test_one_file_and_one_row(acme):
    """Names, laws, exports, reading and answering: as one of ours."""
    assert "acme" in available()

    def find_order(order_id: int, tags: dict[str, int] | None = None) -> str:
        """Find."""
        return f"order {order_id} {tags}"

    registry = Registry([find_order])
    [exported] = registry.export("acme")
    assert get("acme").names.admits(exported["fn"])
    assert exported["constrain"] is False
    call = {"fn": exported["fn"], "with": {"order_id": 7, "tags": [{"key": "a", "value": 1}]}}
    results = registry.dispatch({"invoke": [call], "why": "asked"})
    assert results.messages == [{"answers": ["order 7 {'a': 1}"]}]
    assert (results.finish_raw, results[0].call.provider) == ("asked", "acme")
    check_provider("acme", [case.function for case in list(CASES.values())[::6]], examples=2)


def test_the_command_line_finds_it(acme):
    """In a process of its own."""
    (acme / "desk.py").write_text("def add(a: int) -> int:\n    return a\n")
    command = [sys.executable, "-m", "toolshape._cli.cli", "export", "desk:add", "--to", "acme"]
    path = {"PYTHONPATH": str(acme)}
    done = subprocess.run(
        command, cwd=acme, capture_output=True, text=True, check=False, env={**path}
    )
    assert json.loads(done.stdout)[0]["fn"] == "add", done.stderr


def test_it_is_gone_with_its_package():
    """Nothing of it is kept."""
    assert "acme" not in available()
    assert get("openai").name == "openai"

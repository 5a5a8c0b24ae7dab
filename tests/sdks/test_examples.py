"""The examples that need SDKs run offline, and print what they promise."""

import contextlib
import io
import json
import linecache
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = {
    "approval_web": """\
waits: ['refund'] paid: []
first click:  Your 250 euros are on their way.
second click: somebody has decided already
paid: [('45128', 250.0)] asked: 2
""",
    "evaluate_models": """\
case            gpt                                    claude
plain question  3 of 3                                 3 of 3
business class  3 of 3                                 0 of 3
small talk      2 of 3                                 3 of 3
all             8 of 9 (57% to 98%), every trial: 67%  6 of 9 (35% to 88%), every trial: 67%
business class, claude, trial 1: find_flights.cabin: expected 'business', got 'economy'
small talk, gpt, trial 3: find_flights: extra call with {'origin': 'BER', 'destination': 'LIS', 'day': '2027-05-03'}
tokens: 4,503 in, 402 out
gpt beside claude: better in 1, worse in 1: 3 cases are too few to tell (p = 1.000)
""",
    "support_desk": """\
openai failed (RateLimitError), after 3 messages
anthropic failed (OverloadedError), after 5 messages
gemini: Your kettle was sent on Monday. I opened ticket T-45128 for the lid.
tickets: [('45128', 'The lid is broken.')]
""",
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    """As a reader runs it, with no network and no key."""
    script = EXAMPLES / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, PRINTED[name]), done.stderr
    if name == "evaluate_models":
        page = (tmp_path / "evaluation.html").read_text(encoding="utf-8")
        assert "<title>Two models and our flights</title>" in page


def run_in(folder: Path, *command: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False, cwd=folder
    )
    return done.returncode, done.stdout + done.stderr


def test_an_agent_is_tested_with_its_contract(tmp_path: Path) -> None:
    """The suite passes; a parameter that is renamed fails it and the command of the pipeline, with a call that breaks."""
    folder = tmp_path / "agent"
    shutil.copytree(EXAMPLES / "tested_agent", folder, ignore=shutil.ignore_patterns("__pycache__"))
    commands = re.findall(r"- run: toolshape (.*)", (folder / "ci.yml").read_text(encoding="utf-8"))
    code, printed = run_in(folder, "pytest", "-q", "-p", "no:cacheprovider")
    assert (code, "6 passed" in printed) == (0, True), printed
    assert [run_in(folder, "toolshape", *command.split())[0] for command in commands] == [0, 0]
    agent = folder / "agent.py"
    agent.write_text(
        agent.read_text(encoding="utf-8").replace("is_urgent", "urgent"), encoding="utf-8"
    )
    code, printed = run_in(folder, "pytest", "-q", "-p", "no:cacheprovider", "-k", "contract")
    assert (code, "parameter renamed" in printed) == (1, True), printed
    assert [run_in(folder, "toolshape", *command.split())[0] for command in commands] == [1, 0]


def test_the_notebook_prints_what_it_shows() -> None:
    """Each cell runs in one namespace, as in a notebook; its source can be found by ``inspect``."""
    names: dict[str, Any] = {"__name__": "__main__"}
    notebook = json.loads((EXAMPLES / "first_steps.ipynb").read_text(encoding="utf-8"))
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            source, place = "".join(cell["source"]), f"<cell {number}>"
            linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(source, place, "exec"), names)
            assert printed.getvalue() == "".join(
                "".join(output["text"]) for output in cell["outputs"]
            ), source


def test_every_example_is_run_and_short() -> None:
    """By this module, by the unit tests, or by those of servers, the real one among them."""
    elsewhere = {"quickstart", "mcp_pair", "local_model"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PRINTED, *elsewhere}
    folders = {
        path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"
    }
    assert folders == {"tested_agent"}
    for script in EXAMPLES.rglob("*.py"):
        assert len(script.read_text(encoding="utf-8").splitlines()) <= 160, script

"""The recipe of docs/durable.md in processes that are killed: no effect comes twice, and each call is answered truthfully."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from databases import postgres  # noqa: F401 - a fixture

if not os.environ.get("TOOLSHAPE_ALL_INSTALLED"):
    pytest.importorskip("dbos", reason="dbos is not installed: nox -s durable")
from dbos import DBOSClient

APP = Path(__file__).parent / "app"
PAGE = Path(__file__).parents[2] / "docs" / "durable.md"
PAID = {"reserve": "reserved B-1", "pay": "paid 5 to ann", "mail": '{"mailed":"ann"}'}
CALLS = list(PAID)
# How often the call that is hit has its effect, and whether the model is told its outcome.
POINTS = {
    "before_step": (1, True),
    "before_claim": (1, True),
    "after_claim": (0, False),
    "before_effect": (0, False),
    "after_effect": (1, False),
    "before_finish": (1, False),
    "after_finish": (1, True),
    "before_record": (1, True),
    "after_step": (1, True),
}


@pytest.fixture(scope="session")
def recipe(tmp_path_factory):
    """A folder with the recipe, as a reader would save it."""
    folder = tmp_path_factory.mktemp("recipe")
    blocks = re.findall(
        r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    (folder / "turns.py").write_text(blocks[0], encoding="utf-8")
    return folder


class Case:
    """A workflow, and the processes that run it."""

    def __init__(self, url, recipe, folder):
        self.url, self.recipe, self.folder, self.id = url, recipe, folder, uuid.uuid4().hex

    def begin(self, **settings):
        path = os.pathsep.join([str(self.recipe), os.environ.get("PYTHONPATH", "")])
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": path,
            "DATABASE_URL": self.url,
            "CASE": self.id,
        }
        files = {"OUT": str(self.folder / "effects"), "ANSWERS": str(self.folder / "answers")}
        return subprocess.Popen(
            [sys.executable, APP / "worker.py"], env={**env, **files, **settings}
        )

    def dies(self, at, **settings):
        assert self.begin(DIE=at, **settings).wait(60) == -signal.SIGKILL
        assert not (self.folder / "answers").exists()

    def lives(self, **settings):
        assert self.begin(**settings).wait(60) == 0
        found = json.loads((self.folder / "answers").read_text())
        assert found["status"] == "SUCCESS", found
        return found

    @property
    def effects(self):
        path = self.folder / "effects"
        lines = path.read_text().split() if path.exists() else []
        return {name: lines.count(name) for name in CALLS}

    def holds(self, found, hit=None, expected=(1, True)):
        """Check the effects and answers of all calls, of which one was hit."""
        said = dict(zip(CALLS, (message["content"] for message in found["messages"]), strict=True))
        count, is_told = expected
        assert self.effects == {**dict.fromkeys(CALLS, 1), **({hit: count} if hit else {})}, said
        unknown = {
            name for name, text in said.items() if text.startswith("Error [unknown_outcome]")
        }
        assert unknown == (set() if is_told else {hit})
        assert all(text == PAID[name] for name, text in said.items() if name not in unknown)


@pytest.fixture
def case(postgres, recipe, tmp_path):  # noqa: F811 - the fixture
    return Case(postgres, recipe, tmp_path)


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_point_of_a_call(case, point):
    case.dies(f"{point} pay", START="1")
    case.holds(case.lives(), "pay", POINTS[point])


def test_killed_in_an_async_tool(case):
    case.dies("after_effect mail", START="1")
    case.holds(case.lives(), "mail", POINTS["after_effect"])


@pytest.mark.parametrize("at", ["after_step ask", "before_record answers"])
def test_killed_around_the_calls(case, at):
    case.dies(at, START="1")
    case.holds(case.lives())


def test_killed_again_and_again(case):
    case.dies("before_record reserve", START="1")
    case.dies("after_finish pay")
    case.dies("before_record mail")
    case.holds(case.lives())


def test_a_response_that_is_delivered_twice_is_one_workflow(case):
    case.holds(case.lives(START="2"))


def test_two_processes_of_one_executor(case):
    """As in a restart where the old process still runs: DBOS starts the workflow again."""
    first = case.begin(START="1", SLOW="2")
    time.sleep(1.5)
    found = case.lives(SLOW="2")
    assert first.wait(60) == 0
    case.holds(found)


def test_a_forked_workflow_pays_nothing_again(case):
    found = case.lives(START="1", FORK="1")
    case.holds(found)
    assert found["forked"] == found["messages"]


@pytest.fixture
def waiting(case):
    """A workflow that waits for a person, whose process was killed."""
    process = case.begin(START="1", APPROVE="1")
    client = DBOSClient(system_database_url=case.url)
    assert client.get_event(case.id, "asked", timeout_seconds=30) == [
        ["call_1", "pay", {"amount": 5, "to": "ann"}]
    ]
    process.kill()
    process.wait()
    assert case.effects == dict.fromkeys(CALLS, 0)
    yield case, client
    client.destroy()


def test_a_decision_that_is_sent_twice_pays_once(waiting):
    case, client = waiting
    for _ in range(2):
        client.send(case.id, ["call_1"], "allowed")
    case.holds(case.lives(APPROVE="1"))
    client.send(case.id, ["call_1"], "allowed")
    case.holds(case.lives(APPROVE="1"))


@pytest.mark.parametrize("decision", [[], ["call_0"]])
def test_what_is_not_allowed_is_not_run(waiting, decision):
    case, client = waiting
    client.send(case.id, decision, "allowed")
    client.send(case.id, ["call_1"], "allowed")  # too late
    found = case.lives(APPROVE="1")
    assert found["messages"][1]["content"].startswith("Error [denied]")
    assert case.effects == {"reserve": 1, "pay": 0, "mail": 1}


@pytest.mark.parametrize("point", ["after_recv", "after_effect", "before_record"])
def test_killed_after_the_decision(waiting, point):
    case, client = waiting
    client.send(case.id, ["call_1"], "allowed")
    case.dies("after_recv all" if point == "after_recv" else f"{point} pay", APPROVE="1")
    client.send(case.id, ["call_1"], "allowed")
    case.holds(case.lives(APPROVE="1"), "pay", POINTS.get(point, (1, True)))


def test_a_tool_that_changed_meanwhile_is_not_run_as_it_is_now(waiting):
    case, client = waiting
    client.send(case.id, ["call_1"], "allowed")
    found = case.lives(APPROVE="1", DEFAULT_TO="eve")
    assert "changed since" in found["messages"][1]["content"]
    assert case.effects["pay"] == 0

"""Traces that processes write together and are killed over, and that processes, here or Dask's, replay together."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest

from toolshape import Registry, UsageError, tool
from toolshape.trace import record_to, replay


@pytest.fixture
def path(tmp_path):
    return tmp_path / "calls.jsonl"


WRITER = """
import json, sys
from toolshape import Registry, tool
from toolshape.trace import record_to

@tool
def weather(city: str) -> str:
    '''Say.'''
    return "x" * 3000

tools = Registry([weather])
tools.observe(record_to(sys.argv[1], keep="all"))
number = 0
while number < int(sys.argv[2]):
    number += 1
    if number == 2:
        print("the first is written", flush=True)
    tools.dispatch({"name": "weather", "arguments": {"city": sys.argv[3] * 2000}}, provider="json-schema")
"""


def writer(path, many, name):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(many), name],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_several_processes_write_and_are_killed(path):
    """Every line that is whole reads, whoever is killed and when; those of the others are all there."""
    kept = [writer(path, 200, name) for name in "ab"]
    for round_ in range(4):
        victim = writer(path, 10_000_000, "v")
        assert victim.stdout is not None
        victim.stdout.readline()
        time.sleep(0.05 * (round_ + 1))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        victim.stdout.close()
    for item in kept:
        assert item.stdout is not None
        assert item.wait(60) == 0
        item.stdout.close()
    cities = [line["body"]["arguments"]["city"][0] for line in _readable(path)]
    assert (cities.count("a"), cities.count("b")) == (200, 200)
    assert cities.count("v") >= 4
    unreadable = len(path.read_bytes().splitlines()) - len(cities)
    assert unreadable <= 4  # at most the line that each victim was writing


def _readable(path):
    for line in path.read_bytes().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


TODAY = """
import os, signal, pathlib
from toolshape import Registry, tool

@tool
def weather(city: str, days: int = 3) -> str:
    "Say."
    return ""

tools = Registry([weather])
died = pathlib.Path(__file__).with_name("died")
if {dies!r} and not died.exists() and os.getpid() != {parent}:
    died.write_text("")  # the first worker that imports this dies in the middle of its work
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def long_trace(path):
    """3,000 responses, every third of them changed today."""

    @tool
    def weather(city: str, days: int = 1) -> str:
        """Say."""
        return ""

    tools = Registry([weather])
    tools.observe(record_to(path, keep="all"))
    for number in range(3000):
        given = {"city": "Bonn"} if number % 3 == 0 else {"city": "Bonn", "days": str(number)}
        tools.dispatch({"name": "weather", "arguments": given})
    return path


@pytest.fixture
def here(long_trace, tmp_path):
    """What a replay in this process says."""
    file = tmp_path / "here.py"
    file.write_text(TODAY.format(dies=False, parent=0))
    found = replay(long_trace, f"{file}:tools")
    assert (found.responses, len(found.regressions)) == (3000, 1000)
    return str(found), found.to_json_lines()


def today(tmp_path, *, dies: bool) -> str:
    file = tmp_path / "today.py"
    file.write_text(TODAY.format(dies=dies, parent=os.getpid()))
    return f"{file}:tools"


def processes(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"))


@pytest.mark.parametrize("count", [1, 3])
def test_processes_give_the_same_report(long_trace, here, tmp_path, count):
    found = replay(long_trace, today(tmp_path, dies=False), partial(processes, count))
    assert (str(found), found.to_json_lines()) == here


def test_a_worker_that_is_killed_changes_nothing(long_trace, here, tmp_path):
    target = today(tmp_path, dies=True)
    found = replay(long_trace, target, partial(processes, 2))
    assert (tmp_path / "died").exists()
    assert (str(found), found.to_json_lines()) == here
    (tmp_path / "died").unlink()
    with processes(2) as pool, pytest.raises(UsageError, match="the executor broke"):
        replay(long_trace, target, pool)


def test_a_dask_cluster_gives_the_same_report(long_trace, here, tmp_path):
    """Two worker processes, one of which is killed: Dask sends its spans to another."""
    distributed = pytest.importorskip(
        "distributed", reason="distributed is not installed: nox -s lanes-3.12"
    )
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": None,
    }
    with (
        distributed.LocalCluster(**options, local_directory=str(tmp_path)) as cluster,
        distributed.Client(cluster) as client,
    ):
        for dies in (False, True):
            found = replay(long_trace, today(tmp_path, dies=dies), client.get_executor)
            assert (str(found), found.to_json_lines()) == here
        with client.get_executor() as pool:
            assert replay(long_trace, today(tmp_path, dies=False), pool).to_json_lines() == here[1]


def test_recorded_exchanges_are_replayed(path, tmp_path):
    """Real responses, streams among them, of every surface, replayed by two processes as by one."""
    corpora = Path(__file__).parents[3] / "shared" / "corpora"
    if not corpora.exists() and not os.environ.get("CI"):
        pytest.skip(f"the corpora are not here: {corpora} does not exist")
    file = tmp_path / "recorded.py"
    file.write_text(
        EXCHANGES.format(corpora=str(corpora), tests=str(Path(__file__).parents[1]), step=1)
    )
    writing = f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; import recorded; recorded.write({str(path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", writing], capture_output=True, text=True, check=True
    )
    many = int(done.stdout)
    assert many > 800
    same = replay(path, f"{file}:tools")
    assert (same.responses, same.changes, same.unreadable) == (many, (), ())
    other = tmp_path / "fewer.py"
    other.write_text(
        EXCHANGES.format(corpora=str(corpora), tests=str(Path(__file__).parents[1]), step=2)
    )
    found = replay(path, f"{other}:tools")
    assert len(found.regressions) > 100  # half of the tools are gone
    again = replay(path, f"{other}:tools", partial(processes, 2))
    assert (str(again), again.to_json_lines()) == (str(found), found.to_json_lines())


EXCHANGES = """
import json, sys
sys.path[:0] = [{tests!r}, {tests!r} + "/corpora", {tests!r} + "/sdks"]
from pathlib import Path
from shared import corpus
from test_exchanges import SURFACES, reader, response_of
from toolshape import Registry, ToolshapeError
from toolshape.trace import record_to

WHOLE = [row for row in corpus("provider_exchanges.jsonl") if row["surface"] in SURFACES]
STREAMS = [row for row in corpus("provider_exchanges_stream.jsonl") if row["surface"] in SURFACES]

def made():
    # The tools that were sent, the first of each name, with a function that is never run.
    found, seen = {{}}, set()
    for row in (*WHOLE, *STREAMS):
        sent = json.dumps((row["request"] or {{}}).get("tools"), sort_keys=True)
        if sent in seen:
            continue
        seen.add(sent)
        try:
            names = [one.name for one in Registry().add_definitions(row["request"] or {{}})]
            sent = Registry().add_definitions(row["request"] or {{}}, dict.fromkeys(names, lambda **arguments: ""))
        except ToolshapeError:  # a tool of the provider's own is among them
            continue
        for one in sent:
            found.setdefault(one.name, one)
    return Registry([*found.values()][:: {step}], strict=False)

tools = made()

def write(path):
    watched = tools
    watched.observe(record_to(path, keep="all"))
    for row in (*WHOLE, *STREAMS):
        there = watched.bind(reader(row))
        try:
            if row in STREAMS:
                collector = there.collector()
                for line in row["response_body"].splitlines(keepends=True):
                    collector.feed(line)
                collector.close()
                collector.plan().run()
            else:
                there.dispatch(response_of(row))
        except ToolshapeError:
            continue
    with open(path, "rb") as lines:
        print(sum(1 for line in lines))
"""

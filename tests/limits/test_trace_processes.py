"""Traces that processes write together, are killed over, and replay together."""

import json
import signal
import subprocess
import sys
import time

WRITER = """
import json, sys
from toolshape import Registry, tool
from toolshape.trace import record

@tool
def weather(city: str) -> str:
    '''Say.'''
    return "x" * 3000

tools = Registry([weather])
tools.around(record(sys.argv[1], keep="all"))
print("ready", flush=True)
number = 0
while number < int(sys.argv[2]):
    number += 1
    tools.dispatch({"name": "weather", "arguments": {"city": sys.argv[3] * 2000}}, provider="json-schema")
"""


def writer(path, many, name):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(many), name], stdout=subprocess.PIPE, text=True
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
    for one in kept:
        assert one.stdout is not None
        assert one.wait(60) == 0
        one.stdout.close()
    cities = [line["body"]["arguments"]["city"][0] for line in _readable(path)]
    assert (cities.count("a"), cities.count("b")) == (200, 200)
    assert cities.count("v") > 0
    unreadable = len(path.read_bytes().splitlines()) - len(cities)
    assert unreadable <= 4  # at most the line that each victim was writing


def _readable(path):
    for line in path.read_bytes().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


TODAY = """
from toolshape import Registry, tool

@tool
def weather(city: str, days: int = 3) -> str:
    '''Say.'''
    return ""

tools = Registry([weather])
"""

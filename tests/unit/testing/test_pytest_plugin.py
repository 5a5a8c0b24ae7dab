"""The plugin of pytest, in a run of its own."""

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]
TESTS = """
import json, urllib.request
import pytest
from toolshape import tool

@tool
def weather(city: str) -> str:
    "Say what the weather will be."
    return city

def ask(fake, text="Weather?"):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    request = urllib.request.Request(f"{fake.url}/v1/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]

def test_kept(fake_provider):
    fake = fake_provider("openai", [weather])
    fake.says("Sunny.")
    assert ask(fake) == "Sunny."

def test_more_is_scripted(fake_provider):
    fake = fake_provider("openai", [weather])
    fake.says("Sunny.")
    fake.calls(weather, city="Bonn")
    ask(fake, "Is it warm?")

def test_fails_itself(fake_provider):
    fake = fake_provider("openai")
    fake.says("Sunny.")
    assert ask(fake, "Is it wet?") == "Rain."

def test_more_is_asked(fake_provider):
    ask(fake_provider("openai"), "Is it cold?")

@pytest.mark.xfail(strict=True)
def test_expected_to_fail(fake_provider):
    fake_provider("openai").says("Never asked for.")
"""


@pytest.mark.slow
def test_scripts_are_kept_or_the_test_fails(pytester):
    """It says what was asked and what was expected next; a test that is expected to fail is."""
    pytester.makepyfile(TESTS)
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    found.assert_outcomes(passed=1, failed=3, xfailed=1)
    found.stdout.fnmatch_lines(
        [
            "*test_more_is_scripted*",
            "*never requested: calls(weather, {'city': 'Bonn'})*",
            "*'Is it warm?'*",
            "*test_fails_itself*",
            "*fake of openai*",
            "*Is it wet?*",
            "*test_more_is_asked*",
            "*no turn left*",
            "*Is it cold?*",
        ]
    )


def test_it_imports_pytest_alone():
    script = "import sys; before = set(sys.modules); import pytest_toolshape; print(*(set(sys.modules) - before))"
    found = subprocess.run(
        [sys.executable, "-c", f"import pytest; {script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["pytest_toolshape"]

"""The plugin of pytest, in runs of its own."""

import subprocess
import sys

pytest_plugins = ["pytester"]
HEAD = """
import json, urllib.request
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
"""


def run(pytester, test):
    pytester.makepyfile(HEAD + test)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider")


def test_a_script_that_is_kept(pytester):
    found = run(
        pytester,
        """
def test_it(fake_provider):
    fake = fake_provider("openai", [weather])
    fake.says("Sunny.")
    assert ask(fake) == "Sunny."
""",
    )
    found.assert_outcomes(passed=1)


def test_what_was_never_asked_for_fails_the_test(pytester):
    """And says what was asked, and what was expected next."""
    found = run(
        pytester,
        """
def test_it(fake_provider):
    fake = fake_provider("openai", [weather])
    fake.says("Sunny.")
    fake.calls(weather, city="Bonn")
    ask(fake, "Is it warm?")
""",
    )
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*never asked for: calls(weather, {'city': 'Bonn'})*", "*'Is it warm?'*"])


def test_a_test_that_fails_itself_says_what_was_asked(pytester):
    found = run(
        pytester,
        """
def test_it(fake_provider):
    fake = fake_provider("openai")
    fake.says("Sunny.")
    assert ask(fake, "Is it warm?") == "Rain."

def test_more_than_is_scripted(fake_provider):
    ask(fake_provider("openai"), "Is it cold?")
""",
    )
    found.assert_outcomes(failed=2)
    found.stdout.fnmatch_lines(["*fake of openai*", "*Is it warm?*", "*nothing left to say*", "*Is it cold?*"])


def test_a_test_that_is_expected_to_fail(pytester):
    found = run(
        pytester,
        """
import pytest

@pytest.mark.xfail(strict=True)
def test_it(fake_provider):
    fake_provider("openai").says("Never asked for.")
""",
    )
    found.assert_outcomes(xfailed=1)


def test_it_imports_pytest_alone():
    script = "import sys; before = set(sys.modules); import pytest_toolshape; print(*(set(sys.modules) - before))"
    found = subprocess.run(
        [sys.executable, "-c", f"import pytest; {script}"], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["pytest_toolshape"]

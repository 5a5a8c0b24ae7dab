"""The examples that need SDKs run offline, and print what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = {
    "approval_web": """\
waits: ['refund'] paid: []
first click:  Your 250 euros are on their way.
second click: Your 250 euros are on their way.
stale window: refunded 250.00
paid: [('45128', 250.0)]
""",
    "support_desk": """\
openai failed (RateLimitError), after 3 messages
anthropic failed (OverloadedError), after 5 messages
gemini: Your kettle was sent on Monday. I opened ticket T-45128 for the lid.
tickets: [('45128', 'The lid is broken.')]
""",
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs(name: str) -> None:
    """As a reader runs it, with no network and no key."""
    script = EXAMPLES / f"{name}.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 150
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, PRINTED[name]), done.stderr


def test_every_example_is_run() -> None:
    """By this module, or by the unit tests."""
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PRINTED, "quickstart"}

"""The quickstart prints what it says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_quickstart():
    """One right call, one coerced on record, one refused with a message that can be acted on; for both providers."""
    script = ROOT / "examples" / "quickstart.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) < 30
    first, second = done.stdout.split("\n\n")[:2]
    for part, provider in ((first, "openai"), (second, "anthropic")):
        assert part.startswith(f"{provider} is offered 2 tools")
        assert (
            "coerced: order_id was 45128, is '45128' (rule text_from_integer)\n    gave: kettle, sent"
            in part
        )
        assert 'urgent: expected boolean, got "true"' in part
        assert "orders" not in part.splitlines()[0]

"""The quickstart prints what it says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_quickstart():
    """One right call, one coerced on record, one refused with a message that can be acted on; for both providers."""
    script = ROOT / "examples" / "quickstart.py"
    done = subprocess.run([sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    first, second = done.stdout.split("=== anthropic ===")
    for part in (first, second):
        assert 'gave:   {"order_id":"45200","item":"lamp","status":"packed"}' in part
        assert "coerced: order_id was 45128, is '45128' (rule text_from_integer)" in part
        assert 'urgent: expected boolean, got "true"' in part
    assert '"tool_call_id": "call_2"' in first
    assert '"is_error": true' in second
    assert "orders" not in first.split("The model calls")[0]

"""Recorded traffic and definitions that no one here wrote, where they are at hand."""

import json
import os
from pathlib import Path

import pytest

CORPORA = Path(__file__).parents[2] / "shared" / "corpora"


def corpus(name: str) -> list[dict]:
    """The rows of a corpus; skips where the folder is absent, except in CI, where that is a failure."""
    path = CORPORA / name
    if not path.exists():
        reason = f"the corpora are not here: {path} does not exist"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return [json.loads(line) for line in path.read_text().splitlines()]

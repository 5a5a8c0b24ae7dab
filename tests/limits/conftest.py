"""Draws a part of the tests of growth for each commit where few examples are asked for; ``nox -s every`` runs all."""

import hashlib
import os

import pytest

SEED = os.environ.get("TOOLSHAPE_SEED", "0")
SHARE = 5  # one of so many: each takes ten seconds, and all of them take seven minutes of two cores


def is_drawn(node_id: str) -> bool:
    return hashlib.sha256(f"{SEED} {node_id}".encode()).digest()[0] % SHARE == 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("TOOLSHAPE_EXAMPLES") != "1":
        return
    is_kept = ["test_growth" not in item.nodeid or is_drawn(item.nodeid) for item in items]
    config.hook.pytest_deselected(
        items=[item for item, kept in zip(items, is_kept, strict=True) if not kept]
    )
    items[:] = [item for item, kept in zip(items, is_kept, strict=True) if kept]

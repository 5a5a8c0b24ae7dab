"""Chooses the seed of a run of the lanes, and prints it."""

import os
import secrets

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Set the seed before worker processes start, which inherit it."""
    os.environ.setdefault("TOOLSHAPE_SEED", str(secrets.randbelow(10**9)))


def pytest_report_header(config: pytest.Config) -> str:
    """Print the seed."""
    return f"seed of the lanes: TOOLSHAPE_SEED={os.environ['TOOLSHAPE_SEED']}"

"""A fake that an agent of another library talks to, and the tool that it calls."""

import importlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolshape import Registry, Tool, tool
from toolshape.testing import Fake


def pytest_addoption(parser):
    parser.addoption(
        "--write-table", action="store_true", help="write what is seen into docs/frameworks.md"
    )


@pytest.fixture
def library() -> Callable[[str], Any]:
    """Imports a framework; in CI none is skipped."""

    def found(name: str) -> Any:
        if os.environ.get("TOOLSHAPE_ALL_INSTALLED"):
            return importlib.import_module(name)
        return pytest.importorskip(name, reason=f"{name} is not installed: nox -s frameworks")

    return found


@pytest.fixture
def weather() -> Tool:
    """A tool with a default."""

    @tool
    def weather(city: str, days: int = 1) -> str:
        """Say what the weather will be.

        Args:
            city: Its name.
            days: How many days ahead.
        """
        return f"{city}: sun for {days} days"

    return weather


@pytest.fixture
def fake(monkeypatch, weather):
    """A fake that says one call and one text, found by the variables of OpenAI's SDK."""
    with Fake("openai", Registry([weather])) as made:
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        made.calls("weather", city="Bonn", days=2)
        made.says("It will be sunny.")
        yield made
        made.assert_done()
        assert made.exchanges[0].tools == ("weather",)
        assert "Bonn: sun for 2 days" in str(made.exchanges[1].request["messages"][-1]["content"])
        assert not made.refused


@pytest.fixture(scope="session")
def shop_server():
    """Serves the tools of the shop over HTTP, by the Python that has the MCP SDK that we need; sets where it is."""
    shop = str(Path(__file__).with_name("showcase.py"))
    python = os.environ.get("TOOLSHAPE_MCP_PYTHON", sys.executable)
    command = [
        python,
        "-m",
        "toolshape",
        "mcp",
        "--http",
        "--port",
        "0",
        "--inject",
        f"user={shop}:user",
        f"{shop}:tools",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr:
                if found := re.search(r"running on (http://\S+)", line):
                    os.environ["TOOLSHAPE_SHOP_URL"] = f"{found[1]}/mcp"
                    break
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield
        finally:
            process.terminate()

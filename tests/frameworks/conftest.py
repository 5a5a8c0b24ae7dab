"""A fake that an agent of another library talks to, and the tool that it calls."""

import importlib
import os
from collections.abc import Callable
from typing import Any

import pytest

from toolshape import Registry, Tool, tool
from toolshape.testing import Fake


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

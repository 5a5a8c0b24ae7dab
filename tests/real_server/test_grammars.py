"""``grammar("gbnf")`` at the engine that it is for: each format is forced, and what is written is read as calls."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Literal

import pytest

from toolshape import Registry, UsageError, text, tool
from toolshape._bound.bound import bound_tools_of


@tool
def weather(
    city: str,
    days: int = 1,
    deep: bool = False,
    unit: Literal["c", "f"] = "c",
    tags: list[str] | None = None,
) -> str:
    """Get the weather."""
    return city


@tool
def now() -> str:
    """Get the time."""
    return "12:00"


TOOLS = Registry([weather, now])
FORMATS = [each.name for each in text.formats()]
PROMPT = "Call the tool weather with the city Bonn:\n"


def complete(url, grammar, seed, **more):
    body = {
        "prompt": PROMPT, "grammar": grammar, "n_predict": 160, "temperature": 1.0, "seed": seed, "cache_prompt": False,
        **more,
    }  # fmt: skip
    request = urllib.request.Request(
        f"{url}/completion", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=180) as answer:
            found = json.load(answer)
            return found["content"], found["stop_type"] == "limit"
    except urllib.error.HTTPError as error:
        pytest.fail(f"{error.read().decode(errors='replace')[:300]}\n{grammar[:2000]}")


@pytest.mark.parametrize("at", range(len(FORMATS)))
def test_a_forced_text_is_a_call(serve, drawn, at):
    """Of one of the tools, with valid arguments; or it was cut off by the limit of tokens."""
    if at not in drawn(len(FORMATS), 5):
        pytest.skip("not in the sample")
    url, name = serve("plain"), FORMATS[at]
    bound = TOOLS.bind(f"text:{name}")
    schemas = bound_tools_of(bound).schemas
    for seed, choice in ((1, "required"), (2, "weather"), (3, "now")):
        grammar = bound.grammar("gbnf", choice=choice, parallel=False)
        written, is_cut = complete(url, grammar, seed)
        found = text.read(name, written, schemas)
        print(name, choice, repr(written[:150]), is_cut)
        if is_cut:
            continue
        [call] = found.calls
        assert call.name in (("weather", "now") if choice == "required" else (choice,))
        results = bound.dispatch(written)
        assert results[0].ok, (written, results[0].error)


def test_a_text_without_a_call_is_free(serve):
    """Before a mark, the model writes what it likes; a grammar that forces nothing may never be left."""
    url = serve("plain")
    for name in ("hermes", "qwen3_coder", "mistral", "glm45"):
        written, _ = complete(url, TOOLS.bind(f"text:{name}").grammar("gbnf"), 5, n_predict=24)
        assert written
        assert not text.read(name, written).calls or "tool" in written.lower()


def test_the_kinds_are_named():
    with pytest.raises(UsageError, match="gbnf"):
        TOOLS.bind("text:hermes").grammar("ebnf")


def test_the_example_runs_a_tool(serve):
    """At a server that runs already."""
    script = Path(__file__).parents[2] / "examples" / "local_model.py"
    words = [sys.executable, str(script), "--endpoint", serve("plain")]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=180)
    assert "weather returned: " in done.stdout

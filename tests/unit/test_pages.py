"""The code blocks of the README and of the pages run as they stand; real clients talk to fakes on this machine."""

import gc
import importlib
import importlib.util
import os
import re
from pathlib import Path
from unittest import SkipTest

import pytest
import reference
from sybil import Document
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

from toolshape.messages import results_in
from toolshape.testing import Exchange, Fake, Turn

ROOT = Path(__file__).parents[2]
# Pages leave the closing of clients to the garbage collector, which is run where that is expected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ARGUMENTS = {"weather": {"city": "Bonn", "days": "2"}, "find_order": {"order_id": 45128}}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def has(*libraries: str) -> bool:
    """Whether all of these are installed."""
    return all(importlib.util.find_spec(library) is not None for library in libraries)


def answer(asked: Exchange) -> Turn | str:
    """A call of the first tool, until its result has come; then a text."""
    if any(results_in(message) for message in asked.messages):
        return "There you are."
    return Turn().calls(asked.tools[0], ARGUMENTS[asked.tools[0]])


@pytest.fixture
def clients(monkeypatch):
    """Clients find fakes by the variables that their documentation names."""
    with Fake("anthropic") as anthropic, Fake("openai") as openai:
        for fake in (anthropic, openai):
            fake.answers(answer)
            for name, value in fake.env.items():
                monkeypatch.setenv(name, value)
        yield
        if anthropic.exchanges or openai.exchanges:
            gc.collect()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("clients")
def test_the_code_blocks_run(page, tmp_path, monkeypatch):
    """In order, each with the names of those before it; a block that needs a package which is not here is left out."""
    monkeypatch.chdir(tmp_path)  # what a block writes
    document = Document.parse(str(page), SkipParser(), PythonCodeBlockParser())
    document.namespace["has"] = has
    left_out = []
    for example in document.examples():
        try:
            example.evaluate()
        except SkipTest as reason:
            left_out.append(str(reason))
    if left_out:
        assert not os.environ.get("TOOLSHAPE_EVERY_BLOCK"), left_out
        pytest.skip(
            f"{len(left_out)} blocks of {page.name} were left out: {', '.join(sorted(set(left_out)))}"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_block_depends_on_a_name_of_the_tests(page):
    """A reader pastes it: ``has`` is for the comments that leave a block out."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert [block for block in blocks if re.search(r"\bhas\(", block)] == []


def test_recipes_are_short():
    """16 lines at most, beneath the heading; the loops and the refund, which open the page, 30; the page, 300."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    first = [[line for line in block.splitlines() if line.strip()] for block in blocks[:3]]
    for loop in first[:2]:
        assert any("for _ in range(10)" in line for line in loop), "a loop without a bound"
    assert "Ledger(" in blocks[2]
    assert max(map(len, first)) <= 30
    recipes = text.partition("\n## Recipes\n")[2].partition("\n## ")[0]
    blocks = [block.partition("```")[0].strip() for block in recipes.split("```python\n")[1:]]
    assert 4 <= len(blocks) <= 10
    for block in blocks:
        assert len([line for line in block.splitlines() if line.strip()]) <= 16, block


def test_the_pages_that_are_named_are_there():
    """Links between the pages, and to headings of the README."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in {part.partition(")")[0] for part in text.split("](")[1:]}:
            place, _, heading = target.partition("#")
            if not place.startswith("http"):
                assert not place or (page.parent / place).exists(), f"{page.name}: {target}"
            if not place and heading:
                headings = {
                    line.lstrip("# ").lower().replace(" ", "-").replace(",", "")
                    for line in text.splitlines()
                    if line.startswith("#")
                }
                assert heading in headings, f"{page.name}: {target}"


def test_the_reference_has_every_public_name_with_an_example():
    """Each once; what a provider of one's own needs has a page of its own."""
    named: list[str] = []
    for page in reference.PAGES:
        text = page.read_text(encoding="utf-8")
        entries = re.findall(
            r"^<!-- made: (\S+) -->.*?<!-- end -->\n(.*?)(?=^<!-- made|\Z)",
            text,
            re.MULTILINE | re.DOTALL,
        )
        assert [name for name, below in entries if "```python" not in below] == []
        named += [name for name, _ in entries]
    assert len(named) == len(set(named))
    for module in (
        "",
        ".contract",
        ".evals",
        ".ledger",
        ".mcp",
        ".openapi",
        ".otel",
        ".testing",
        ".text",
        ".trace",
    ):
        if has({".mcp": "mcp", ".openapi": "httpx"}.get(module, "pydantic")):
            there = importlib.import_module(f"toolshape{module}")
            assert {f"{there.__name__}.{name}" for name in there.__all__} <= set(named)


@pytest.mark.skipif(
    not (has("mcp") and has("httpx")), reason="the pages of MCP and OpenAPI need mcp and httpx"
)
def test_the_reference_says_what_the_code_says():
    """``python tests/reference.py`` writes it."""
    for page in reference.PAGES:
        assert reference.current(page) == page.read_text(encoding="utf-8"), page
    assert reference.index() == reference.INDEX.read_text(encoding="utf-8")


def test_each_page_is_in_the_site():
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    assert [
        page.name for page in PAGES[1:] if f'{page.relative_to(ROOT / "docs")}"' not in text
    ] == []

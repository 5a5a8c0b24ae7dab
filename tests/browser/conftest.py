"""A headless Chromium from the distribution, and pages that may load nothing but themselves."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def browser_path() -> str:
    """Where Chromium is; in CI its absence is a failure."""
    found = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "there is no Chromium: install the package chromium"
        )
    return str(found)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One browser for all tests."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: nox -s browser"
    )
    with playwright.sync_playwright() as made:
        options = [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
        ]
        browser = made.chromium.launch(executable_path=browser_path(), args=options)
        yield browser
        browser.close()


@pytest.fixture(params=["with scripts", "without scripts"])
def opened(request: pytest.FixtureRequest, chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens the text of a page; nothing may be asked for, or go wrong, while it is looked at."""
    context = chromium.new_context(java_script_enabled=request.param == "with scripts")
    page = context.new_page()
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda value: asked.append(value.url))
    page.on("console", lambda value: wrong.append(value.text))
    page.on("pageerror", lambda value: wrong.append(str(value)))
    page.on("dialog", lambda value: wrong.append(value.message))
    file = tmp_path / "page.html"

    def open_page(text: str) -> Any:
        file.write_text(text, encoding="utf-8")
        page.goto(file.as_uri())
        return page

    yield open_page
    assert asked == [file.as_uri()]
    assert not wrong
    context.close()

"""The site of the documentation, as ``nox -s browser`` builds it: read, searched, and asked for nothing elsewhere."""

import functools
import http.server
import inspect
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolshape

SITE = os.environ.get("TOOLSHAPE_SITE", "")
pytestmark = pytest.mark.skipif(not SITE, reason="nox -s browser builds the site")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=SITE)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def page(chromium: Any, url: str) -> Iterator[Any]:
    context = chromium.new_context()
    made = context.new_page()
    elsewhere: list[str] = []
    made.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((url, "data:", "blob:"))
            else elsewhere.append(request.url)
        ),
    )
    yield made
    assert elsewhere == []
    context.close()


def test_the_first_page_leads_to_the_tutorial(page: Any, url: str) -> None:
    page.goto(url)
    assert "What no other library does" in page.locator("article").inner_text()
    page.locator("article").get_by_role("link", name="the tutorial").click()
    page.wait_for_url("**/tutorial/**")
    assert "support desk" in page.locator("article").inner_text()


def test_each_link_leads_somewhere() -> None:
    """Also those of what is taken in from other files."""
    for page in Path(SITE).rglob("*.html"):
        for target in re.findall(r'href="?([^"\s>#]+)', page.read_text(encoding="utf-8")):
            if page.name != "404.html" and not target.startswith(("http", "data:", "mailto:")):
                place = (page.parent / target.partition("?")[0]).resolve()
                assert place.is_file() or (place / "index.html").is_file(), f"{page}: {target}"


def test_the_comparison_has_its_tables(page: Any, url: str) -> None:
    page.goto(f"{url}/coming-from/")
    assert page.locator("article table").count() == 6
    assert "8<" not in page.locator("article").inner_text()


def test_the_reference_holds_what_docstrings_say(page: Any, url: str) -> None:
    page.goto(f"{url}/reference/calls/")
    text = page.locator("article").inner_text()
    for name in ("Plan", "Results", "Collector"):
        assert f"from toolshape import {name}" in text
    said = inspect.getdoc(toolshape.Plan.approve)
    assert said is not None
    assert said.splitlines()[0].replace("`", "") in text


def test_something_is_found(page: Any, url: str) -> None:
    page.goto(url)
    page.get_by_role("button", name="Search").first.click()
    page.keyboard.type("idempotency")
    found = (
        page.get_by_role("link", name="The ledger").or_(page.get_by_text("idempotency_key")).first
    )
    found.wait_for(timeout=15_000)
    assert found.is_visible()


@pytest.mark.parametrize("width", [390, 700, 1300])
def test_tables_fit_their_column(page: Any, url: str, width: int) -> None:
    """A wide table scrolls by itself, and code in it is broken between words only; the pictures are there to be looked at."""
    page.set_viewport_size({"width": width, "height": 900})
    pictures = Path(SITE).with_name("pictures")
    pictures.mkdir(exist_ok=True)
    for name in ("", "testing", "controls", "coming-from", "providers", "hooks"):
        page.goto(f"{url}/{name}/" if name else url)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), name
        broken = page.evaluate(
            """() => [...document.querySelectorAll('article td code')]
            .filter(code => getComputedStyle(code).wordBreak !== 'normal').length"""
        )
        assert broken == 0, name
        page.screenshot(path=str(pictures / f"{name or 'index'}-{width}.png"))


def test_each_page_is_there_and_fits_a_phone(page: Any, url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for file in sorted(Path(SITE).rglob("index.html")):
        path = file.parent.relative_to(SITE).as_posix()
        answer = page.goto(f"{url}/{'' if path == '.' else path + '/'}")
        assert answer.status == 200
        assert page.locator("h1").first.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), path

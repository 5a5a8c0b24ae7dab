"""The page of tools, opened, read and clicked: with JavaScript and without; and looked at by axe where that is installed."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from toolshape import Registry, tool
from toolshape.contract import diff, make_contract, render_page

HOSTILE = "</pre></details><script>alert(1)</script><img src=x onerror=alert(1)></textarea>\u202edrow"
AXE = os.environ.get("TOOLSHAPE_AXE", "")


@tool(description=HOSTILE, title=HOSTILE)
def hostile(text: Annotated[str, Field(description=HOSTILE)]) -> str:
    return text


@tool(effects=["write"])
def order(customer: str, how: Literal["post"] = "post", prices: dict[str, float] | None = None) -> str:
    """Order goods."""
    return customer


@tool
def fetch(url: str) -> str:
    """Fetch a page."""
    return url


def before() -> Registry:
    @tool(effects=["write"], name="order")
    def then(customer: str, how: Literal["post", "van"] = "post", prices: dict[str, float] | None = None) -> str:
        """Order goods."""
        return customer

    return Registry([hostile, then, fetch])


TOOLS = Registry([hostile, order, fetch])
PAGE = render_page(
    TOOLS, ["openai", "anthropic", "gemini"], diff(TOOLS, make_contract(before(), ["openai"])), title=HOSTILE
)


def has_scripts(page: Any) -> bool:
    return bool(page.locator(".scripted").first.is_visible())


def test_what_is_sent_stands_beside_what_the_tool_is(opened: Any) -> None:
    page = opened(PAGE)
    assert page.locator("#pairs tr").count() == 4
    assert page.locator("#pairs td").count() == 9
    assert not page.locator("#t1-p0").is_visible()
    page.locator("#t1 > summary").click()
    page.locator("#t1-p0 > summary").click()
    assert page.locator("#t1-p0 .pair pre").nth(0).is_visible()
    assert '"customer"' in page.locator("#t1-p0 .pair pre").nth(1).inner_text()
    assert "breaking" in page.locator("#changes").inner_text()
    assert '"van"' in page.locator("#changes").inner_text()


def test_two_providers_are_compared_and_others_left_out(opened: Any) -> None:
    page = opened(PAGE)
    page.locator("#t1 > summary").click()
    assert page.locator("#t1-p2").is_visible()
    page.get_by_label("gemini").uncheck()
    assert not page.locator("#t1-p2").is_visible()
    assert not page.locator("#pairs td.p2").first.is_visible()
    assert page.locator("#t1-p1").is_visible()


def test_a_tool_is_found(opened: Any) -> None:
    page = opened(PAGE)
    if has_scripts(page):
        page.get_by_label("search").fill("fetch a")
        assert [one.is_visible() for one in page.locator(".tool").all()] == [False, False, True]
        page.get_by_label("search").fill("")
        page.locator("#pairs td a").nth(3).click()
        assert page.locator("#t1-p0 .pair").is_visible()


def test_nothing_breaks_out(opened: Any) -> None:
    """``opened`` holds that nothing is asked for, and no dialog comes."""
    page = opened(PAGE)
    page.locator("#t0 > summary").click()
    assert page.locator("script").count() == 1
    assert page.locator("img, textarea").count() == 0
    assert "<script>alert(1)</script>" in page.locator("#t0 p").first.inner_text()
    assert page.locator("#t0 bdi").count() > 3


def test_the_keyboard_is_enough(opened: Any) -> None:
    page = opened(PAGE)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.parentElement && document.activeElement.parentElement.id") == "t1":
            break
    page.keyboard.press("Enter")
    assert page.locator("#t1-p0").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_it_is_read_everywhere(opened: Any, scheme: Any, width: int) -> None:
    page = opened(PAGE)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("#t1 > summary").click()
    page.locator("#t1-p0 > summary").click()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.skipif(not AXE, reason="nox -s browser installs axe where npm is")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium: Any, tmp_path: Path, scheme: Any) -> None:
    context = chromium.new_context(bypass_csp=True, color_scheme=scheme)
    page = context.new_page()
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    for one in page.locator("summary").all():
        if one.is_visible():
            one.click()
    page.add_script_tag(path=str(Path(AXE, "node_modules", "axe-core", "axe.min.js")))
    found = page.evaluate("axe.run()")
    assert [(one["id"], [node["failureSummary"] for node in one["nodes"]][:3]) for one in found["violations"]] == []
    context.close()

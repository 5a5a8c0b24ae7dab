"""Opens, reads and clicks the page of tools, with and without JavaScript; axe checks it where axe is installed."""

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from readable import unreadable
from test_rendered_pages import change_order

from toolshape import Registry, tool
from toolshape.contract import diff, make_contract, render_page

HOSTILE = (
    "</pre></details><script>alert(1)</script><img src=x onerror=alert(1)></textarea>\u202edrow"
)
AXE = os.environ.get("TOOLSHAPE_AXE", "")


@tool(description=HOSTILE, title=HOSTILE)
def hostile(text: Annotated[str, Field(description=HOSTILE)]) -> str:
    return text


@tool(effects=["write"])
def order(
    customer: str, how: Literal["post"] = "post", prices: dict[str, float] | None = None
) -> str:
    """Order goods."""
    return customer


@tool
def fetch(url: str) -> str:
    """Fetch a page."""
    return url


def before() -> Registry:
    @tool(effects=["write"], name="order")
    def then(
        customer: str, how: Literal["post", "van"] = "post", prices: dict[str, float] | None = None
    ) -> str:
        """Order goods."""
        return customer

    return Registry([hostile, then, fetch])


TOOLS = Registry([hostile, order, fetch])
PAGE = render_page(
    TOOLS,
    ["openai", "anthropic", "gemini"],
    diff(TOOLS, make_contract(before(), ["openai"])),
    title=HOSTILE,
)

TABLES = {
    count: render_page(
        Registry([change_order(number) for number in range(count)]), about=["toolshape 1.2"]
    )
    for count in (6, 100)
}


def sent_to(entry: Any, provider: str) -> Any:
    """The part of a tool's entry that shows what a provider is sent."""
    return entry.locator(
        "details", has=entry.page.locator("summary b", has_text=re.compile(f"^{provider}$"))
    )


def has_scripts(page: Any) -> bool:
    return bool(page.locator(".scripted").first.is_visible())


def test_what_is_sent_stands_beside_what_the_tool_is(opened: Any) -> None:
    page = opened(PAGE)
    assert page.locator("#pairs tr").count() == 4
    assert page.locator("#pairs td").count() == 15
    order = page.locator("#t1")
    assert not sent_to(order, "openai").is_visible()
    order.locator("> summary").click()
    order.locator("summary", has_text="own schema").click()
    assert '"customer"' in order.locator("pre").first.inner_text()
    sent_to(order, "openai").locator("summary").click()
    assert "prices: strict mode would change" in sent_to(order, "openai").inner_text()
    sent_to(order, "gemini").locator("summary").click()
    assert '"enum": ["post"]' in sent_to(order, "gemini").locator("pre").inner_text()
    assert "breaking" in page.locator("#changes").inner_text()
    assert '"van"' in page.locator("#changes").inner_text()


def test_a_provider_is_left_out(opened: Any) -> None:
    page = opened(PAGE)
    page.locator("#t1 > summary").click()
    assert sent_to(page.locator("#t1"), "gemini").is_visible()
    page.get_by_label("gemini").uncheck()
    assert not page.locator("#t1 b", has_text="gemini").is_visible()
    assert not page.locator("#pairs td.p2").first.is_visible()
    page.get_by_label("openai").uncheck()
    page.get_by_label("anthropic").uncheck()
    assert page.locator("#t1 b:visible").all_inner_texts() == ["order"]


def test_a_tool_is_found(opened: Any) -> None:
    page = opened(PAGE)
    if has_scripts(page):
        page.get_by_label("search").fill("fetch a")
        assert [entry.is_visible() for entry in page.locator(".tool").all()] == [False, False, True]
        assert [row.is_visible() for row in page.locator("#pairs tbody tr").all()] == [
            False,
            False,
            True,
        ]
        page.get_by_label("search").fill("")
        page.locator("#pairs td a").nth(3).click()
        assert sent_to(page.locator("#t1"), "openai").locator("p").first.is_visible()


def test_nothing_breaks_out(opened: Any) -> None:
    """``opened`` holds that nothing is asked for, and no dialog comes."""
    page = opened(PAGE)
    page.locator("#t0 > summary").click()
    assert page.locator("script").count() == 1
    assert page.locator("img, textarea").count() == 0
    assert "<script>alert(1)</script>" in page.locator("#t0 p").first.inner_text()
    assert page.locator("#t0 bdi").count() > 3


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.className"))


def test_the_keyboard_is_enough(opened: Any) -> None:
    """The search is the first stop. The second leads past the tables, and from there each tool is one stop away."""
    page = opened(PAGE)
    page.keyboard.press("Tab")
    if has_scripts(page):
        assert focused(page) == "search"
        page.keyboard.press("Tab")
    assert focused(page) == "skip"
    assert page.locator(".skip").is_visible()
    page.keyboard.press("Enter")
    for _ in range(3 + 1 + 2):  # three boxes, the forms of entries, two tools
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("#t1 > p").first.is_visible()


@pytest.mark.parametrize("width", [390, 768, 1300])
@pytest.mark.parametrize(("count", "scheme"), [(6, "light"), (6, "dark"), (100, "light")])
def test_it_is_read_everywhere(
    chromium: Any, tmp_path: Path, scheme: Any, width: int, count: int
) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    (tmp_path / "page.html").write_text(TABLES[count], encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    for place in ("#t1 > summary", "#t2 > summary"):
        page.locator(place).click()
    for summary in page.locator("#t1 summary, #t2 summary").all()[1:]:
        if summary.evaluate(
            "element => element.parentElement.id === '' && !element.parentElement.open"
        ):
            summary.click()
    assert unreadable(page) == []
    head = page.locator("#pairs thead th").nth(1)
    before = head.bounding_box()
    page.locator("#pairs").evaluate(
        "table => { table.parentElement.scrollTop = 300; table.parentElement.scrollLeft = 300 }"
    )
    after = head.bounding_box()
    assert after["y"] == before["y"]  # the head stays
    region, first = (
        page.locator(".wide", has=page.locator("#pairs")),
        page.locator("#pairs tbody th").nth(count - 1),
    )
    assert first.bounding_box()["x"] == region.bounding_box()["x"]  # and so does the first column
    context.close()


@pytest.mark.skipif(not AXE, reason="nox -s browser installs axe where npm is")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium: Any, tmp_path: Path, scheme: Any) -> None:
    context = chromium.new_context(bypass_csp=True, color_scheme=scheme)
    page = context.new_page()
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.click()
    page.add_script_tag(path=str(Path(AXE, "node_modules", "axe-core", "axe.min.js")))
    found = page.evaluate("axe.run()")
    assert [
        (rule["id"], [node["failureSummary"] for node in rule["nodes"]][:3])
        for rule in found["violations"]
    ] == []
    context.close()

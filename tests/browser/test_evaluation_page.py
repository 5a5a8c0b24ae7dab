"""Opens, reads and clicks the page of an evaluation, with and without JavaScript."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from readable import unreadable
from test_evaluation_run import EXPECTED, run as evaluation

from toolshape.evals import Difference, Run, Verdict

AXE = os.environ.get("TOOLSHAPE_AXE", "")


@pytest.fixture(scope="module")
def run() -> Run:
    """Three real clients at three fakes, in a thread: the browser's own loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(evaluation).result()


def shown(page: Any) -> list[str]:
    """The heads of the verdicts that can be seen."""
    return [
        summary.inner_text()
        for summary in page.locator(".verdict > summary").all()
        if summary.is_visible()
    ]


def unfold(page: Any) -> None:
    """Expand the cases without wrong verdicts, too."""
    for summary in page.locator(".case:not([open]) > summary").all():
        summary.click()


def in_order(run: Run) -> list[Verdict]:
    """The verdicts as the page shows them: grouped by case, wrong ones first."""
    right = ("right", "right_after_coercion")
    wrong_cases = {verdict.case for verdict in run if verdict.label not in right}
    cases = sorted(run.cases, key=lambda case: case not in wrong_cases)
    verdicts = sorted(run, key=lambda verdict: cases.index(verdict.case))
    return sorted(verdicts, key=lambda verdict: (cases.index(verdict.case), verdict.label in right))


def head_of(verdict: Verdict) -> str:
    return f"{verdict.model}, trial {verdict.trial + 1}"


def test_it_shows_what_was_scripted(opened, run):
    page = opened(run.to_html("Hotels"))
    assert page.title() == "Hotels"
    rows = {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts()
        for row in page.locator("#cases tbody tr").all()
    }
    right = ("right", "right_after_coercion")
    expected: dict[str, list[str]] = {}
    for (case, _), labels in EXPECTED.items():
        expected.setdefault(case, []).append(f"{sum(label in right for label in labels)} of 2")
    assert rows == expected
    unfold(page)
    heads = shown(page)
    assert len(heads) == len(run) == 18
    for head, verdict in zip(heads, in_order(run), strict=True):
        assert (
            head
            == f"{head_of(verdict)}: {verdict.label.replace('_', ' ')}, score {verdict.score:.2f}"
        )
    wrong = page.locator(".case", has_text="weather").locator(
        ".verdict", has_text="gemini, trial 1"
    )
    assert wrong.locator("td").all_inner_texts() == ["value", "weather.days", "2", "3"]
    assert wrong.locator("td").first.is_visible()  # what is wrong is open
    coerced = page.locator(".verdict.right_after_coercion")
    assert not coerced.locator("td").first.is_visible()
    coerced.locator("summary").click()
    assert coerced.locator("td").first.is_visible()


def test_verdicts_are_chosen_by_label_and_model(opened, run):
    page = opened(run.to_html())
    page.locator("#only-failed").check()
    assert [head.split(":")[0] for head in shown(page)] == ["claude, trial 1"]
    assert [
        case.inner_text().split()[0] for case in page.locator(".case > summary:visible").all()
    ] == ["book"]
    page.locator("#only-wrong").check()
    assert len(shown(page)) == sum(verdict.label == "wrong" for verdict in run)
    page.get_by_label("gemini").uncheck()
    left = [
        verdict
        for verdict in in_order(run)
        if verdict.label == "wrong" and verdict.model != "gemini"
    ]
    assert [head.split(":")[0] for head in shown(page)] == [head_of(verdict) for verdict in left]
    assert "gemini" not in page.locator("#cases").inner_text()


def test_a_cell_leads_to_the_first_verdict_that_is_not_right(opened, run):
    page = opened(run.to_html())
    page.locator("#cases tr", has_text="book").locator("a").first.click()
    first = next(
        number
        for number, verdict in enumerate(run)
        if (verdict.case, verdict.model, verdict.trial) == ("book", "gpt", 1)
    )
    assert page.url.endswith(f"#v{first}")
    assert page.locator(f"#v{first} td").first.is_visible()


@pytest.mark.parametrize("opened", ["with scripts"], indirect=True)
def test_verdicts_are_searched(opened, run):
    page = opened(run.to_html())
    unfold(page)
    page.get_by_label("search").fill("overloaded")
    cases = page.locator(".case:visible")
    assert cases.count() == 1
    assert "overloaded" in cases.inner_text()
    page.get_by_label("search").fill("Which is nowhere")
    assert shown(page) == []
    page.get_by_label("search").fill("")
    assert len(shown(page)) == 18


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1300])
def test_it_is_read_everywhere(chromium, tmp_path, run, scheme, width):
    context = chromium.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True
    )
    page = context.new_page()
    (tmp_path / "page.html").write_text(run.to_html("Hotels"), encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    unfold(page)
    assert unreadable(page) == []
    if AXE:
        page.add_script_tag(path=str(Path(AXE, "node_modules", "axe-core", "axe.min.js")))
        found = page.evaluate("axe.run()")["violations"]
        assert [
            (rule["id"], [node["failureSummary"] for node in rule["nodes"]][:3]) for rule in found
        ] == []
    context.close()


@pytest.mark.parametrize("opened", ["without scripts"], indirect=True)
def test_without_scripts_there_is_no_search(opened, run):
    assert not opened(run.to_html()).get_by_label("search").is_visible()


def test_what_a_model_wrote_is_text(opened):
    hostile = (
        '</code></textarea><script>alert(1)</script><img src="http://127.0.0.1:9/"> \u202e"\'<b>'
    )
    difference = Difference(
        kind="value", tool=hostile, path=hostile, expected=hostile, actual={hostile: [hostile]}
    )
    verdict = Verdict(
        case=hostile,
        label="wrong",
        score=0,
        differences=(difference,),
        error=hostile,
        model=hostile,
    )
    page = opened(Run(verdicts=(verdict,)).to_html(hostile))
    assert page.title() == " ".join(hostile.split())
    assert page.locator("img").count() == 0
    assert page.locator(".verdict td").nth(2).inner_text() == hostile

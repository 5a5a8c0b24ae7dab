"""The page of an evaluation, opened, read and clicked: with JavaScript and without."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from test_evaluation_run import EXPECTED
from test_evaluation_run import run as evaluation

from toolshape.evals import Difference, Run, Verdict


@pytest.fixture(scope="module")
def run() -> Run:
    """Three real clients at three fakes, in a thread: the browser's own loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(evaluation).result()


def shown(page: Any) -> list[str]:
    """The heads of the verdicts that can be seen."""
    return [one.inner_text() for one in page.locator(".verdict > summary").all() if one.is_visible()]


def test_it_shows_what_was_scripted(opened, run):
    page = opened(run.to_html("Hotels"))
    assert page.title() == "Hotels"
    cells = page.locator("#cases td").all_inner_texts()
    right = ("right", "right_after_coercion")
    assert cells == [f"{sum(one in right for one in labels)} of 2" for labels in EXPECTED.values()]
    heads = shown(page)
    assert len(heads) == len(run) == 18
    for head, one in zip(heads, run, strict=True):
        assert head == (
            f"{one.case} {one.model}, trial {one.trial}: {one.label.replace('_', ' ')}, score {one.score:.2f}"
        )
    wrong = page.locator(".verdict", has_text="weather gemini, trial 0")
    assert wrong.locator("td").all_inner_texts() == ["value", "weather.days", "2", "3"]
    assert wrong.locator("td").first.is_visible()  # what is wrong is open
    coerced = page.locator(".verdict.right_after_coercion")
    assert not coerced.locator("td").first.is_visible()
    coerced.locator("summary").click()
    assert coerced.locator("td").first.is_visible()


def test_verdicts_are_chosen_by_label_and_model(opened, run):
    page = opened(run.to_html())
    page.locator("#only-failed").check()
    assert [one.split(":")[0] for one in shown(page)] == ["book claude, trial 0"]
    page.locator("#only-wrong").check()
    assert len(shown(page)) == sum(one.label == "wrong" for one in run)
    page.get_by_label("gemini").uncheck()
    left = [one for one in run if one.label == "wrong" and one.model != "gemini"]
    assert [one.split(",")[0] for one in shown(page)] == [f"{one.case} {one.model}" for one in left]
    assert "gemini" not in page.locator("#cases").inner_text()


def test_a_cell_leads_to_the_first_verdict_that_is_not_right(opened, run):
    page = opened(run.to_html())
    page.locator("#cases td a").nth(3).click()
    first = next(number for number, one in enumerate(run) if (one.case, one.model, one.trial) == ("book", "gpt", 1))
    assert page.url.endswith(f"#v{first}")
    assert page.locator(f"#v{first} td").first.is_visible()


@pytest.mark.parametrize("opened", ["with scripts"], indirect=True)
def test_verdicts_are_searched(opened, run):
    page = opened(run.to_html())
    page.get_by_label("search").fill("529")
    found = shown(page)
    page.get_by_label("search").fill("Which is nowhere")
    assert (found == [] or all("failed" in one for one in found), shown(page)) == (True, [])
    page.get_by_label("search").fill("")
    assert len(shown(page)) == 18


@pytest.mark.parametrize("opened", ["without scripts"], indirect=True)
def test_without_scripts_there_is_no_search(opened, run):
    assert not opened(run.to_html()).get_by_label("search").is_visible()


def test_what_a_model_wrote_is_text(opened):
    hostile = '</code></textarea><script>alert(1)</script><img src="http://127.0.0.1:9/"> \u202e"\'<b>'
    difference = Difference(kind="value", tool=hostile, path=hostile, expected=hostile, actual={hostile: [hostile]})
    verdict = Verdict(case=hostile, label="wrong", score=0, differences=(difference,), error=hostile, model=hostile)
    page = opened(Run(verdicts=(verdict,)).to_html(hostile))
    assert page.title() == " ".join(hostile.split())
    assert page.locator("img").count() == 0
    assert page.locator(".verdict td").nth(2).inner_text() == hostile

"""The HTML pages as text: what they say, how long they are, and that they escape everything."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from toolshape import Registry, tool
from toolshape.contract import render_page
from toolshape.evals import Comparison, Difference, Run, Verdict


class Line(BaseModel):
    """A line of an order."""

    sku: str = Field(description="The number of the article.")
    count: int = Field(gt=0, description="How many.")
    note: str | None = Field(None, description="What the customer wrote.")


def change_order(number: int) -> Any:
    """A tool of ordinary size: a list of models, a choice, a range and a map."""

    @tool(name=f"change_customer_order_{number}", effects=["write"], approve=number % 2 == 0)
    def change(
        customer: str,
        lines: list[Line],
        how: Literal["post", "van", "bike"] = "post",
        priority: Annotated[int, Field(ge=0, le=9)] = 3,
        tags: dict[str, str] | None = None,
    ) -> str:
        """Change an order that has not been sent yet.

        Args:
            customer: The number of the customer, eight digits.
            lines: The lines of the order, which replace the former lines.
            how: How the goods are sent.
            priority: Orders of a higher priority are packed first.
            tags: Words that the warehouse reads.
        """
        return customer

    return change


@pytest.mark.slow
@pytest.mark.parametrize("count", [6, 100])
def test_a_page_of_a_hundred_tools_is_below_a_megabyte(count: int) -> None:
    page = render_page(Registry([change_order(number) for number in range(count)]))
    assert page.count('class="tool entry"') == count
    assert len(page.encode()) < 1_000_000


def test_a_page_says_effects_approval_and_why_a_tool_is_not_strict() -> None:
    page = render_page(
        Registry([change_order(number) for number in (1, 2)]),
        ["openai", "ollama"],
        about=["toolshape 1.2", "<i>"],
    )
    assert page.count("<td>for every call") == 1
    assert page.count("<td>not needed") == 1
    assert "<bdi>2 tools · toolshape 1.2 · &lt;i&gt;</bdi>" in page
    assert "Not strict: <bdi>tags: strict mode would change additionalProperties" in page
    assert "Not strict: <bdi>the provider has no strict form" in page
    assert "The provider does not constrain the model" in page  # the legend
    assert "The provider constrains the model" not in page  # no tool here is strict


def test_providers_of_another_strictness_have_an_entry_of_their_own() -> None:
    """Though they are sent the same schema."""

    @tool
    def find_order(order_id: str) -> str:
        """Find an order."""
        return order_id

    page = render_page(Registry([find_order]), ["mistral", "openai"])
    assert "<bdi>openai</bdi></b> <span" in page
    assert "<bdi>mistral</bdi></b> <span" in page


def git(folder: Path, *arguments: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", "-C", str(folder), *own, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.slow
def test_a_page_says_which_lock_it_is_compared_with(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        'def add(a: int) -> int:\n    """Add one."""\n    return a + 1\n'
    )

    def page(*more: str) -> str:
        command = [
            sys.executable,
            "-m",
            "toolshape",
            "page",
            "mine.py:add",
            "--to",
            "openai",
            *more,
        ]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return (tmp_path / "tools.html").read_text(encoding="utf-8")

    assert "compared with" not in page()
    command = [
        sys.executable,
        "-m",
        "toolshape",
        "lock",
        "mine.py:add",
        "--to",
        "openai",
        "-o",
        "my.lock.json",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert "compared with my.lock.json, which is in no commit" in page("--against", "my.lock.json")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "my.lock.json")
    git(tmp_path, "commit", "--quiet", "--message", "a lock")
    commit = git(tmp_path, "log", "-1", "--format=%h of %cs")
    assert f"compared with my.lock.json, commit {commit}</bdi>" in page("--against", "my.lock.json")
    with (tmp_path / "my.lock.json").open("a") as lock:
        lock.write("\n")
    assert f"compared with my.lock.json, commit {commit}, changed since" in page(
        "--against", "my.lock.json"
    )


@pytest.mark.parametrize(
    ("comparison", "said"),
    [
        (Comparison(4, 0, 0.125, 6), "6 cases are too few to tell"),
        (Comparison(1, 0, 1.0, 1), "1 case is too few to tell"),
        (Comparison(12, 8, 0.503, 20), "no evidence of a difference"),
        (Comparison(6, 0, 0.03125, 6), "a difference"),
    ],
)
def test_a_comparison_of_few_cases_says_so(comparison: Comparison, said: str) -> None:
    assert said in str(comparison)


def test_wrong_cases_come_first_and_trials_count_from_one() -> None:
    wrong = Difference(kind="value", tool="t", path="a", expected=1, actual=2)
    verdicts = [
        Verdict(case="fine", label="right", score=1, model="m", trial=trial) for trial in (0, 1)
    ]
    verdicts += [
        Verdict(case="mixed", label="right", score=1, model="m", trial=0),
        Verdict(case="mixed", label="wrong", score=0, differences=(wrong,), model="m", trial=1),
    ]
    page = Run(verdicts=tuple(verdicts)).to_html()
    sections = page[page.index('id="verdicts"') :]
    assert sections.index("<bdi>mixed</bdi>") < sections.index("<bdi>fine</bdi>")
    mixed = sections[sections.index("<bdi>mixed</bdi>") : sections.index("<bdi>fine</bdi>")]
    assert mixed.index("trial <bdi>2</bdi>") < mixed.index("trial <bdi>1</bdi>")
    assert "trial <bdi>0</bdi>" not in page

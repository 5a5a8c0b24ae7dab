"""docs/providers.md is made from the providers; ``python tests/test_docs.py`` writes it anew."""

from pathlib import Path

import pydantic
import pytest
from zoo import CASES

from toolshape import Registry
from toolshape.provider import Provider, available, get
from toolshape.report import Entry

PAGE = Path(__file__).parents[1] / "docs" / "providers.md"
HEAD = """# Providers

Made from the providers themselves and the functions of the test zoo by `python tests/test_docs.py`. Every row is an
excuse that the laws accept, and an entry that `Bound.report()` gives at its place:

- `undone`: another form on the wire, undone on the way home.
- `told`: the provider does not hold it; the description says it, and we check it.
- `lost`: a model cannot say it any more.
"""
BUDGETED = ("many_optionals",)


def entries(provider: Provider, strict: bool) -> list[Entry]:
    tools = (case.function for name, case in CASES.items() if name not in BUDGETED)
    return [entry for entry in Registry(tools).bind(provider, strict).report() if entry.kind != "finding"]


def section(name: str) -> list[str]:
    provider = get(name)
    lines = [f"## `{name}`", "", f"Names: {provider.names.evidence}.", ""]
    forms = [("lenient", False)] + ([("strict", True)] if provider.strict is not None else [])
    rows = set()
    for form, strict in forms:
        for entry in entries(provider, strict):
            note = "another name" if entry.kind == "renamed" else entry.note.replace("|", "or")
            note = "branches look alike once rewritten" if "look alike" in note and "branches" in note else note
            note = "unnamed fields, shown in a field of their own" if "unnamed fields" in note else note
            rows.add((form, entry.severity, entry.rule, entry.kind, note))
    if not rows:
        return [*lines, "Nothing is changed.", ""]
    lines += ["| form | | keyword | kind | what |", "|---|---|---|---|---|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in sorted(rows)), ""]


def page() -> str:
    return "\n".join([HEAD, *(line for name in available() for line in section(name))])


@pytest.mark.skipif(
    pydantic.VERSION < "2.14", reason="the page is made with pydantic 2.14, whose Decimal has no pattern"
)
def test_the_page_is_what_the_providers_say():
    """A new rewrite is in the docs, or this fails."""
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

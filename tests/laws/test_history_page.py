"""Generates docs/histories.md from the providers. To write the page, run ``python tests/laws/test_history_page.py``."""

from pathlib import Path
from typing import get_args

from toolshape._families import get
from toolshape._families.names import available
from toolshape._families.wire.histories import HistoryRuleName

PAGE = Path(__file__).parents[2] / "docs" / "histories.md"
HEAD = """# Histories, rule by rule

What each provider rejects in a message history, with the source and the date of each rule. [The page on
conversations](conversations.md#the-rules) explains what toolshape does about each rule.

| provider | rule | for models that match | evidence |
|---|---|---|---|
"""


def page():
    """Return the page: one row for each rule. A vendor lists its own rules, and counts the rules of its family."""
    rows = []
    for name in available():
        histories = get(name).histories
        if histories is None or (":" in name and name != "xai:grpc"):
            continue
        base = get(get(name).family).histories
        shared = set(base.rules) if base is not None and base is not histories else set()
        own = [rule for rule in histories.rules if rule not in shared]
        for rule in own:
            models = f"`{rule.models}`".replace("|", "\\|") if rule.models else ""
            evidence = rule.evidence.replace("|", "\\|")
            rows.append(f"| `{name}` | `{rule.name}` | {models} | {evidence} |")
        if shared & set(histories.rules):
            rows.append(
                f"| `{name}` | and {len(shared & set(histories.rules))} rules of `{get(name).family}` | | |"
            )
    return HEAD + "\n".join(rows) + "\n"


def test_the_page_is_what_the_providers_say():
    """The page lists every rule, and the evidence of every rule has a date."""
    assert PAGE.read_text(encoding="utf-8") == page()
    for name in available():
        histories = get(name).histories
        for rule in () if histories is None else histories.rules:
            assert "20" in rule.evidence, rule


def test_every_rule_is_in_the_page_on_conversations():
    """That page explains the repair for each rule."""
    text = (
        (PAGE.parent / "conversations.md").read_text(encoding="utf-8").partition("## The rules")[2]
    )
    assert [name for name in get_args(HistoryRuleName) if f"`{name}`" not in text] == []


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""The tables of behaviours in docs/frameworks.md: one for each framework, each cell a test.

``TOOLSHAPE_FRAMEWORK=langchain python -m pytest tests/frameworks/test_bridges.py --write-table`` writes that of a framework anew.
"""

from pathlib import Path

from behaviours import BEHAVIOURS
from bench import WAYS

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"
YES, NO = "yes", "no"


def _marks(framework: str) -> tuple[str, str]:
    return (
        f"<!-- behaviours of {framework}, made by tests/frameworks -->",
        f"<!-- until here: {framework} -->",
    )


def cells(framework: str) -> dict[tuple[str, str], bool]:
    """What the page says of each behaviour and way."""
    begin, end = _marks(framework)
    text = PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    by_sentence = {row[0]: row[1:] for row in rows}
    found = {}
    for behaviour in BEHAVIOURS:
        for way, cell in zip(WAYS, by_sentence.get(behaviour.sentence, ()), strict=False):
            found[behaviour.name, way] = cell == YES
    return found


def write(framework: str, seen: dict[tuple[str, str], bool]) -> None:
    """Write the table of a framework."""
    lines = [f"| | {' | '.join(WAYS.values())} |", f"|---|{'---|' * len(WAYS)}"]
    group = ""
    for behaviour in BEHAVIOURS:
        if behaviour.group != group:
            group = behaviour.group
            lines.append(f"| **{group}** |{' |' * len(WAYS)}")
        answers = [YES if seen[behaviour.name, way] else NO for way in WAYS]
        lines.append(f"| {behaviour.sentence} | {' | '.join(answers)} |")
    totals = [sum(seen[behaviour.name, way] for behaviour in BEHAVIOURS) for way in WAYS]
    lines.append(f"| **of {len(BEHAVIOURS)}** | {' | '.join(f'**{total}**' for total in totals)} |")
    begin, end = _marks(framework)
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(begin)[0], text.partition(end)[2]
    PAGE.write_text(
        "\n".join([f"{before}{begin}", "", *lines, "", f"{end}{after}"]), encoding="utf-8"
    )

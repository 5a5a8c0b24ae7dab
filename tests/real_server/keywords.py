"""The kept table of what engines keep, and its page.

``toolshape verify --endpoint URL --model NAME --keywords`` prints the table of a server of one's own;
``python tests/real_server/keywords.py URL BUILD`` replaces the kept one and the page.
"""

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import httpx

from toolshape._cli.rulebook.endpoint import make_ask
from toolshape._cli.rulebook.keywords import keywords

KEPT = Path(__file__).parent / "kept.json"
PAGE = Path(__file__).parents[2] / "docs" / "engines.md"


def page(kept: dict[str, Any]) -> str:
    """The page of the documentation that a table makes."""
    lines = [
        "# What engines keep",
        "",
        "Servers of open models make a grammar of each schema. What they refuse, and what they accept and do not keep, was",
        "measured against real servers with a real model: four answers for each keyword, at temperature 1.8. toolshape sends",
        "what is kept, and moves the rest to the description; it validates all of it after the call. This measures a server",
        "of your own: `toolshape verify --endpoint URL --model NAME --keywords`.",
        "",
    ]
    for engine, table in kept.items():
        lines += [f"## {engine}", "", f"Version {table['version']}, measured {table['date']}.", ""]
        lines += ["| keyword | accepted | kept |", "|---|---|---|"]
        for name, found in table["keywords"].items():
            said = {True: "yes", False: "no", None: ""}
            keyword = name.replace("|", "\\|")
            lines.append(f"| {keyword} | {said[found['accepted']]} | {said[found['kept']]} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    url, build = sys.argv[1:]
    found = {}
    before = json.loads(KEPT.read_text())["llama.cpp"]
    seen = before["keywords"] if before["version"] == build else {}
    with httpx.Client() as client:
        for each in keywords("m", make_ask(f"{url}/v1", "", client, 120)):
            # Four answers may fit by chance: what this build has broken once, it does not keep.
            was_broken = seen.get(each.keyword, {}).get("kept") is False
            kept = False if was_broken and each.kept else each.kept
            found[each.keyword] = {"accepted": each.accepted, "kept": kept}
            print(each, flush=True)
    table = {"version": build, "date": date.today().isoformat(), "keywords": found}  # noqa: DTZ011 - a day
    KEPT.write_text(json.dumps({"llama.cpp": table}, indent=1) + "\n")
    _, begin, of_matchers = PAGE.read_text().partition("\n## Engines by their matchers\n")
    PAGE.write_text(f"{page({'llama.cpp': table})}{begin}{of_matchers}")


if __name__ == "__main__":
    main()

"""Runs the attack scripts of ``../shared``, and compares what holds with the list of what held before.

Each script prints a line for each case, which begins with the name of the case and HOLDS, BROKEN, SKIP or ERROR. A case
that ``tests/attacks_that_hold.txt`` lists and that no longer holds fails the run. ``python tests/attacks.py --add``
adds to the list what holds for the first time; ``python tests/attacks.py composed4`` runs one script, and compares
nothing else.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from databases import running_server

SHARED = Path(__file__).resolve().parents[2] / "shared"
LIST = Path(__file__).with_name("attacks_that_hold.txt")
SECONDS = 300
STATE = re.compile(r"^([a-z]+\d+\w*) +(HOLDS|BROKEN|SKIP|ERROR)\b", re.MULTILINE)
LEAVES = " left: "
# The oldest scripts use names that were replaced before the first release: what they attack is attacked by the new names.
RENAMED = (
    (re.compile(r"\bcontract_of\b"), "make_contract"),
    (re.compile(r"(?<=from toolshape\.trace import )record\b"), "record_to as record"),
    (re.compile(r"\.around\((?=record\()"), ".observe("),
)


def scripts() -> list[Path]:
    return sorted(
        path
        for folder in (SHARED / "facts").glob("attack*")
        if folder.is_dir()
        for path in folder.glob("*.py")
    )


def name_of(script: Path) -> str:
    return f"{script.parent.name}/{script.stem}"


def with_present_names(script: Path, folder: Path) -> Path:
    text = script.read_text(encoding="utf-8")
    for old, new in RENAMED:
        text = old.sub(new, text)
    renamed = folder / script.parent.name / script.name
    renamed.parent.mkdir(exist_ok=True)
    renamed.write_text(text, encoding="utf-8")
    return renamed


def run(script: Path, database: str) -> dict[str, str]:
    """The state of each case of a script; a script that does not end in time has the cases that it printed."""
    command = [sys.executable, str(script)]
    env = {**os.environ, "PG_URL": database, "PYTHONUNBUFFERED": "1"}
    env.pop("PYTHONWARNINGS", None)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=env,
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        printed, complaint = done.stdout, done.stderr
    except subprocess.TimeoutExpired as expired:
        printed, complaint = (
            (expired.stdout or b"").decode(errors="replace"),
            f"stopped after {SECONDS} seconds",
        )
    states = dict(STATE.findall(printed))
    if not states:
        print(f"{name_of(script)} printed no case: {complaint.strip()[-500:]}")
    return states


def listed() -> tuple[set[str], set[str]]:
    """The cases that must hold, and those that once did and left the list with a reason."""
    lines = [
        line
        for line in LIST.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    left = {line.partition(LEAVES)[0] for line in lines if LEAVES in line}
    return {line for line in lines if LEAVES not in line}, left


def report(found: dict[str, dict[str, str]], most_shown: int = 400) -> None:
    for script, states in found.items():
        broken = [case for case, state in states.items() if state != "HOLDS"]
        print(
            f"{script}: {len(states) - len(broken)} HOLDS, {len(broken)} BROKEN: {' '.join(broken)[:most_shown]}"
        )


def add(new: Iterable[str]) -> None:
    head = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    rows = [
        line
        for line in LIST.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    LIST.write_text("\n".join([*head, *sorted({*rows, *new})]) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scripts", nargs="*", help="names of scripts; without any, all of them")
    parser.add_argument(
        "--add", action="store_true", help="add to the list what holds and is not listed"
    )
    given = parser.parse_args()
    wanted = [script for script in scripts() if not given.scripts or script.stem in given.scripts]
    if not wanted:
        in_ci = bool(os.environ.get("CI"))
        print(
            "the attack scripts are in ../shared/facts, which is not here"
            + (", but must be in CI" if in_ci else ": skipped")
        )
        return 1 if in_ci else 0
    must, left = listed()
    with (
        running_server() as database,
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(2) as pool,
    ):
        renamed = {name_of(script): with_present_names(script, Path(folder)) for script in wanted}
        found = pool.map(lambda script: run(script, database), renamed.values())
        states = dict(zip(renamed, found, strict=True))
        # Some cases compare times, which a busy machine spoils: what seems broken is tried twice more, one by one.
        for name, cases in states.items():
            for _ in range(2):
                expected = [row.split()[1] for row in must if row.split()[0] == name]
                broken = [case for case in expected if cases.get(case) != "HOLDS"]
                if broken:
                    again = run(renamed[name], database)
                    cases |= {case: again.get(case, "BROKEN") for case in broken}
    report(states)
    holding = {
        f"{script} {case}"
        for script, cases in states.items()
        for case, state in cases.items()
        if state == "HOLDS"
    }
    must = {row for row in must if row.split()[0] in states}
    if given.add:
        add(holding - must - left)
    for row in sorted(must - holding):
        print(f"BROKEN, though the list says that it holds: {row}")
    print(
        f"{len(holding)} hold, {len(must - holding)} of {len(must)} listed cases are broken, {len(holding - must)} are not listed"
    )
    return 1 if must - holding else 0


if __name__ == "__main__":
    sys.exit(main())

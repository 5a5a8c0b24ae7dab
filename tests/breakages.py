"""Breaks each mechanism of the turn once, and requires that the machine of turns notices: ``nox -s breakages``.

A breakage is a piece of the code and what stands in its place. If the piece is not there any more, this fails too: a
breakage that breaks nothing says nothing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WALKS = "400"


@dataclass(frozen=True, kw_only=True)
class Breakage:
    """One mechanism: what it is, where it stands, and how it is broken."""

    what: str
    file: str
    piece: str
    broken: str


BREAKAGES = (
    Breakage(
        what="an answer is not restored",
        file="_plan/restore.py",
        piece="    answer_target = _restore_answer(results, stored, find_output)\n",
        broken="    answer_target = None\n",
    ),
    Breakage(
        what="an answer is read by the output that was bound last",
        file="_bound/bindings.py",
        piece="        found = [known for known in candidates if record_of_output(known).ref == ref]\n",
        broken="        found = [*candidates][-1:]\n",
    ),
    Breakage(
        what="the scope is not stored",
        file="_plan/restore.py",
        piece="        stored.scope,\n        stored.unnamed,\n",
        broken="        None,\n        stored.unnamed,\n",
    ),
    Breakage(
        what="a running call is stored as ready",
        file="_plan/snapshot.py",
        piece='    "running": "elsewhere",',
        broken='    "running": "ready",',
    ),
    Breakage(
        what="a call that had begun elsewhere may be claimed",
        file="_plan/state.py",
        piece="            if is_harmless(entry):\n                move(",
        broken="            if True:\n                move(",
    ),
    Breakage(
        what="results are joined to calls by their order",
        file="_plan/restore.py",
        piece="            results._answers.append(restore_result(call, call_state.result, replayed=True))\n            continue\n",
        broken=(
            "            results._answers.append(None)\n"
            "            at = results._answers.index(None)\n"
            "            results._answers[at] = restore_result(call, call_state.result, replayed=True)\n"
            "            continue\n"
        ),
    ),
    Breakage(
        what="only=[] runs everything",
        file="_plan/claims.py",
        piece="    if only is None:\n        return None\n",
        broken="    if not only:\n        return None\n",
    ),
    Breakage(
        what="the rule is asked about a call that the run does not name",
        file="_plan/claims.py",
        piece="        if wanted is None or unasked[0] in wanted:\n",
        broken="        if True:\n",
    ),
    Breakage(
        what="the plan has no guard",
        file="_plan/state.py",
        piece="            if _may_repeat_effect(controls, entry):\n",
        broken="            if False:\n",
    ),
    Breakage(
        what="a second delivery is what equals the last response, even after a request",
        file="_conversation/conversation.py",
        piece="                and not self._asked_since\n",
        broken="",
    ),
    Breakage(
        what="only the last request says what is secret",
        file="_conversation/conversation.py",
        piece="        if _holds_secret(results):\n",
        broken=(
            "        asked = None if self._asked is None else bound_tools_of(self._asked[0]).answer\n"
            "        if asked is not None and asked.has_secrets:\n"
        ),
    ),
    Breakage(
        what="a resumed plan joins the conversation when it has run",
        file="_plan/resuming.py",
        piece="    adopt = given.adopt or _nobody\n",
        broken="    adopt = _nobody\n",
    ),
    Breakage(
        what="a call for which the ledger was only being asked is stored as begun",
        file="_plan/snapshot.py",
        piece='    "asking": "ready",',
        broken='    "asking": "elsewhere",',
    ),
    Breakage(
        what="a call that had begun elsewhere is answered without waiting for the ledger",
        file="_plan/once.py",
        piece="            claim = await _look(run, identity, steps, waits=is_begun)\n",
        broken="            claim = await _look(run, identity, steps, waits=False)\n",
    ),
)


def is_noticed(breakage: Breakage, place: Path, seed: int) -> bool:
    """Return whether the machine fails once a mechanism is broken.

    Raises:
        SystemExit: The piece of code is not there any more.
    """
    tree = place / "tree"
    shutil.copytree(ROOT / "toolshape", tree / "toolshape")
    shutil.copytree(ROOT / "tests", tree / "tests")
    for name in ("pyproject.toml", "pytest_toolshape.py"):
        shutil.copy2(ROOT / name, tree / name)
    file = tree / "toolshape" / breakage.file
    code = file.read_text(encoding="utf-8")
    if code.count(breakage.piece) != 1:
        sys.exit(f"{breakage.what}: its piece of {breakage.file} is not there once: write it anew")
    file.write_text(code.replace(breakage.piece, breakage.broken), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-x", "tests/laws/test_turns.py"]
    environment = {
        **os.environ,
        "TOOLSHAPE_TURNS": WALKS,
        "TOOLSHAPE_SEED": str(seed),
        "PYTHONPATH": str(tree),
    }
    ran = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    return ran.returncode == 1


def main() -> None:
    """Break each mechanism, and say which breakage nothing noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "numbers", nargs="*", type=int, help="which breakages, from 1; all by default"
    )
    options = parser.parse_args()
    unnoticed = []
    for number, breakage in enumerate(BREAKAGES, 1):
        if options.numbers and number not in options.numbers:
            continue
        with tempfile.TemporaryDirectory(prefix="breakages-") as place:
            noticed = is_noticed(breakage, Path(place).resolve(), options.seed)
        print(f"{number}. {breakage.what}: {'noticed' if noticed else 'NOT NOTICED'}", flush=True)
        unnoticed += [] if noticed else [breakage.what]
    if unnoticed:
        sys.exit(f"{len(unnoticed)} breakages were not noticed")


if __name__ == "__main__":
    main()

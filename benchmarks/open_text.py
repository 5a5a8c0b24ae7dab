"""Times how toolshape and SGLang's detectors read calls in the text of open models, and counts wrong splits.

``nox -s open_text`` runs this benchmark, and writes benchmarks/results/open_text.md. Each text is read whole and as a
stream. It is about a kilobyte: a sentence, and two calls. The floor of a whole text is one regular expression and
``json.loads`` of each call.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commits import commit_of

import toolshape
from toolshape import text

RESULTS = Path(__file__).parent / "results" / "open_text.md"
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "line": {"type": "integer"},
        "options": {"type": "object"},
    },
}
TOOLS = [{"name": "write_file", "description": "", "parameters": SCHEMA}]
SCHEMAS = {"write_file": SCHEMA}
CONTENT = "def total(prices: list[float]) -> float:\n    if not prices:  # nothing <to> add\n        return 0.0\n    return sum(prices)\n"
CALLS = [
    (
        "write_file",
        {
            "path": f"src/{name}.py",
            "content": (CONTENT * 2).strip(),
            "line": 5,
            "options": {"force": True, "tags": ["a", "b"]},
        },
    )
    for name in ("first", "second")
]
PROSE = "I write both files now, as you asked. "
PEERS = {
    "hermes": "hermes", "qwen3_coder": "qwen3_coder", "llama3_json": "llama3", "deepseek_v3": "deepseekv3", "deepseek_v31": "deepseekv31", "deepseek_v32": "deepseekv32", "glm45": "glm45", "kimi_k2": "kimi_k2",
    "minimax_m2": "minimax-m2", "harmony": "gpt-oss",
}  # fmt: skip
BARE = {"llama3_json", "pythonic", "json"}  # formats whose calls are read only where the text begins
STEP = 17  # characters from one cut into two pieces to the next cut
PIECE = 4  # characters, about a token
REPEATS = 50


def shortest(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the shortest time of some work, in seconds."""
    best_time = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        best_time = min(best_time, time.perf_counter() - started)
    return best_time


def pieces_of(said: str, size: int = PIECE) -> list[str]:
    return [said[at : at + size] for at in range(0, len(said), size)]


def read_stream(name: str, pieces: list[str]) -> list[Any]:
    """Read a text piece by piece."""
    reader = text.Reader(name, SCHEMAS)
    calls = [call for piece in pieces for call in reader.feed(piece)]
    return calls + reader.close()


def floor_of(said: str) -> float:
    """Return the seconds of one regular expression and ``json.loads``, for a text of the same length."""
    hermes = text.write("hermes", CALLS)
    pattern = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
    seconds = shortest(lambda: [json.loads(found) for found in pattern.findall(hermes)])
    return seconds * len(said) / len(hermes)


def splits_of(said: str) -> list[list[str]]:
    """Return the splits of a text: cuts into two pieces, and pieces of each size up to eight."""
    cuts = [[said[:at], said[at:]] for at in range(1, len(said), STEP)]
    return cuts + [pieces_of(said, size) for size in range(1, 9)]


def is_right(calls: list[Any]) -> bool:
    """Return whether the calls are those that were written."""
    read_calls = []
    for name, arguments in calls:
        try:
            read_calls.append((name, json.loads(arguments) if isinstance(arguments, str) else arguments))
        except ValueError:
            return False
    return read_calls == CALLS


class Peer:
    """Runs SGLang's detectors in their own process."""

    def __init__(self, python: str, folder: str) -> None:
        script = str(Path(__file__).with_name("sglang_detectors.py"))
        self.process = subprocess.Popen(
            [python, script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def ask(self, name: str, pieces: list[str], repeats: int) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(
            json.dumps({"format": name, "pieces": pieces, "tools": TOOLS, "repeats": repeats}) + "\n"
        )
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def row(name: str, peer: Peer | None) -> str:
    """Return the row of a format: microseconds for a kilobyte, and wrong splits."""
    sample = ("" if name in BARE else PROSE) + text.write(name, CALLS, SCHEMAS)
    kilobytes = len(sample.encode()) / 1000
    pieces = pieces_of(sample)
    assert is_right([(call.name, call.arguments) for call in text.read(name, sample, SCHEMAS).calls]), name
    whole = shortest(lambda: text.read(name, sample, SCHEMAS)) / kilobytes
    streamed = shortest(lambda: read_stream(name, pieces)) / kilobytes
    floor = floor_of(sample) / kilobytes
    splits = splits_of(sample)
    wrong = sum(not is_right([(call.name, call.arguments) for call in read_stream(name, split)]) for split in splits)
    cells = [
        f"`{name}`",
        f"{floor * 1e6:.0f}",
        f"{whole * 1e6:.0f}",
        f"{streamed * 1e6:.0f}",
        f"{wrong} of {len(splits)}",
    ]
    peer_cells = ["-", "-", "-"]
    if peer is not None and name in PEERS:
        answers = [peer.ask(PEERS[name], sample_pieces, REPEATS) for sample_pieces in ([sample], pieces)]
        peer_cells = [
            f"{answer['seconds'] / kilobytes * 1e6:.0f}" if is_right(answer.get("calls", [])) else "wrong"
            for answer in answers
        ]
        peer_wrong = sum(not is_right(peer.ask(PEERS[name], split, 1).get("calls", [])) for split in splits)
        peer_cells.append(f"{peer_wrong} of {len(splits)}")
    return f"| {' | '.join([*cells, *peer_cells])} |"


def main() -> None:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", help="an interpreter with pydantic, orjson and partial-json-parser")
    parser.add_argument("--sglang", help="the folder of an unpacked wheel of SGLang")
    options = parser.parse_args()
    peer = Peer(options.python or sys.executable, options.sglang) if options.sglang else None
    lines = [
        "# Calls in text",
        "",
        f"toolshape {commit_of(Path(toolshape.__file__))}, beside the detectors of SGLang 0.5.23. Microseconds for a kilobyte of text, the",
        f"shortest of {REPEATS}; streamed in pieces of {PIECE} characters. The floor is one pattern and `json.loads`. Wrong splits: cuts in",
        f"two, every {STEP} characters, and pieces of 1 to 8 characters, that do not give the calls.",
        "",
        "| format | floor | whole | streamed | wrong splits | SGLang, whole | SGLang, streamed | SGLang, wrong splits |",
        "|---|---|---|---|---|---|---|---|",
        *(row(text_format.name, peer) for text_format in text.formats()),
        "",
    ]
    RESULTS.write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

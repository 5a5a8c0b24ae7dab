"""Times how toolshape, SGLang and vLLM read calls in the text of open models, and counts the splits that they misread.

``nox -s 'measure(open_text)'`` runs this benchmark, and writes benchmarks/results/open_text.md. Each text is about a kilobyte: a
sentence, and two calls. Each text is read whole and as a stream. The floor is the time of one regular expression, and
of ``json.loads`` for each call.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from commits import commit_of
from vllm_parsers import PARSERS

import toolshape
from toolshape import text

RESULTS = Path(__file__).parent / "results" / "open_text.md"
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "line": {"type": "integer"},
        "options": {
            "type": "object",
            "properties": {
                "force": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
        },
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
SGLANG = {
    "hermes": "hermes", "qwen3_coder": "qwen3_coder", "llama3_json": "llama3", "deepseek_v3": "deepseekv3", "deepseek_v31": "deepseekv31", "deepseek_v32": "deepseekv32", "glm45": "glm45", "kimi_k2": "kimi_k2",
    "minimax_m2": "minimax-m2", "harmony": "gpt-oss",
}  # fmt: skip
BARE = {
    "llama3_json",
    "pythonic",
    "json",
}  # formats whose calls are read only where the text begins
STEP = 17  # characters between the positions at which a text is cut into two pieces
PIECE = 4  # characters, about a token
REPEATS = 50


def measure_shortest(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Run some work several times; return the shortest time in seconds."""
    best_time = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        best_time = min(best_time, time.perf_counter() - started)
    return best_time


def pieces_of(said: str, size: int = PIECE) -> list[str]:
    return [said[start : start + size] for start in range(0, len(said), size)]


def read_stream(name: str, pieces: list[str]) -> list[Any]:
    """Read a text piece by piece."""
    reader = text.Reader(name, SCHEMAS)
    calls = [call for piece in pieces for call in reader.feed(piece)]
    return calls + reader.close()


def floor_of(said: str) -> float:
    """Return the seconds that one regular expression and ``json.loads`` take for a text of this length."""
    hermes = text.write("hermes", CALLS)
    pattern = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
    seconds = measure_shortest(
        lambda: [json.loads(call_text) for call_text in pattern.findall(hermes)]
    )
    return seconds * len(said) / len(hermes)


def splits_of(said: str) -> list[list[str]]:
    """Return the splits of a text: cuts into two pieces, and pieces of each size up to eight."""
    cuts = [[said[:position], said[position:]] for position in range(1, len(said), STEP)]
    return cuts + [pieces_of(said, size) for size in range(1, 9)]


def is_right(calls: list[Any]) -> bool:
    """Return whether the calls equal ``CALLS``, which were written."""
    read_calls = []
    for name, arguments in calls:
        try:
            read_calls.append(
                (name, json.loads(arguments) if isinstance(arguments, str) else arguments)
            )
        except ValueError:
            return False
    return read_calls == CALLS


class Peer:
    """Runs the parsers of a server in their own process.

    Args:
        python: The interpreter.
        script: The script that runs the parsers, in the folder of this file.
        folder: The folder of the server's package.
        names: The server's names of the formats, by toolshape's names.
        options: Additional keys of a request with several pieces.
    """

    def __init__(
        self, python: str, script: str, folder: str, names: Mapping[str, str], **options: str
    ) -> None:
        self.names = names
        self.options = options
        command = [python, str(Path(__file__).with_name(script)), folder]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def ask(self, name: str, pieces: list[str], repeats: int) -> Any:
        """Ask the script to read a text in pieces; return its answer with the calls and the shortest time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"format": self.names[name], "pieces": pieces, "tools": TOOLS, "repeats": repeats}
        if len(pieces) > 1:
            request |= self.options
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def cells(self, name: str, sample: str) -> list[str]:
        """Return this server's cells in the row of a format: whole, streamed, and wrong splits."""
        if name not in self.names:
            return ["-", "-", "-"]
        kilobytes = len(sample.encode()) / 1000
        answers = [self.ask(name, pieces, REPEATS) for pieces in ([sample], pieces_of(sample))]
        times = [
            f"{answer['seconds'] / kilobytes * 1e6:.0f}"
            if is_right(answer.get("calls", []))
            else "wrong"
            for answer in answers
        ]
        splits = splits_of(sample)
        wrong_count = sum(
            not is_right(self.ask(name, split, 1).get("calls", [])) for split in splits
        )
        return [*times, f"{wrong_count} of {len(splits)}"]


def make_row(name: str, peers: Sequence[Peer]) -> str:
    """Return the table row of a format: microseconds for each kilobyte, and wrong splits."""
    sample = ("" if name in BARE else PROSE) + text.write(name, CALLS, SCHEMAS)
    kilobytes = len(sample.encode()) / 1000
    pieces = pieces_of(sample)
    assert is_right(
        [(call.name, call.arguments) for call in text.read(name, sample, SCHEMAS).calls]
    ), name
    whole_time = measure_shortest(lambda: text.read(name, sample, SCHEMAS)) / kilobytes
    streamed_time = measure_shortest(lambda: read_stream(name, pieces)) / kilobytes
    floor_time = floor_of(sample) / kilobytes
    splits = splits_of(sample)
    wrong_count = sum(
        not is_right([(call.name, call.arguments) for call in read_stream(name, split)])
        for split in splits
    )
    times = [f"{seconds * 1e6:.0f}" for seconds in (floor_time, whole_time, streamed_time)]
    cells = [f"`{name}`", *times, f"{wrong_count} of {len(splits)}"]
    return f"| {' | '.join([*cells, *(cell for peer in peers for cell in peer.cells(name, sample))])} |"


def main() -> None:
    """Print the table, and write it to ``RESULTS``."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--python", help="an interpreter with the packages that the parsers of the servers import"
    )
    parser.add_argument("--sglang", help="the folder of an unpacked wheel of SGLang")
    parser.add_argument("--vllm", help="the folder that holds vLLM's package")
    options = parser.parse_args()
    python = options.python or sys.executable
    peers: list[Peer] = []
    heads: list[str] = []
    if options.sglang:
        peers.append(Peer(python, "sglang_detectors.py", options.sglang, SGLANG))
        heads.append("SGLang")
    if options.vllm:
        vllm_names = {name: parsers[0] for name, parsers in PARSERS.items()}
        peers.append(Peer(python, "vllm_parsers.py", options.vllm, vllm_names, marks="alone"))
        heads.append("vLLM")
    columns = ["format", "floor", "whole", "streamed", "wrong splits"]
    columns += [
        f"{head}, {column}" for head in heads for column in ("whole", "streamed", "wrong splits")
    ]
    lines = [
        "# Calls in text",
        "",
        f"toolshape {commit_of(Path(toolshape.__file__))}, beside the detectors of SGLang 0.5.23 and the parsers of vLLM 0.33.0, each",
        f"in a process of its own. Microseconds for a kilobyte of text, the shortest of {REPEATS}; streamed in pieces of {PIECE} characters. The",
        "floor is one pattern and `json.loads`. Wrong splits are those that do not give the calls: cuts in two, every",
        f"{STEP} characters, and pieces of 1 to 8 characters. For vLLM no cut is inside a special token, and each special token is a",
        "piece of its own, as when its server sends one token at a time. vLLM reads at most one call of `internlm` and `gigachat3`.",
        "",
        f"| {' | '.join(columns)} |",
        "|---" * len(columns) + "|",
        *(make_row(text_format.name, peers) for text_format in text.formats()),
        "",
    ]
    RESULTS.write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

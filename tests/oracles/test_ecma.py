"""Patterns mean what ECMA-262 says: Node's own engine is the judge, for drawn patterns and drawn texts."""

import json
import shutil
import subprocess
from random import Random
from typing import Any

import pytest
from lanes import cases, seed

from toolshape._validation.pattern_search import compile_search

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed")
# A pattern of JSON Schema is one for Unicode; where it is no such pattern, the words of Annex B count, but for those that
# have another meaning then (\p{L} is the text p{L}).
ASK = r"""
const [patterns, texts] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const compiled = pattern => {
  try { return new RegExp(pattern, "u") } catch {}
  if (!/\\[pPu]|[^\x00-\uffff]/u.test(pattern)) try { return new RegExp(pattern) } catch {}
};
console.log(JSON.stringify(patterns.map(pattern => {
  const search = compiled(pattern);
  const counts = text => search.unicode || !/[^\x00-\uffff]/u.test(text);  // else half characters are counted
  return search ? texts.map(text => counts(text) ? search.test(text) : null) : null;
})));
"""
ATOMS = [
    "a", "b", "é", "ß", "1", "_", "-", " ", "/", "&", "~", "#", "ü", "😀", ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b",
    r"\B", r"\t", r"\n", r"\0", r"\cJ", r"\x41", r"\u00e9", r"\u{1F600}", r"\.", r"\/", r"\-", r"\p{L}", r"\P{L}", r"\p{Lu}",
    "[ab]", "[^ab]", r"[\d_]", r"[^\w]", r"[\S]", r"[\D1]", "[a-c]", "[a-]", "[-a]", r"[\]]", "[[]", "[a&&b]", "[~~]", "[^]", "[]", r"[\b]",
    "^", "$",
]  # fmt: skip
REPEATS = ["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "*?", "+?"]
TEXTS = [
    "", "a", "b", "ab", "aa", "aab", "é", "ß", "éa", "1", "\u0661", "a1", "_", "-", "a-b", " ", "\u00a0", "\ufeff", "\u2028", "\r", "\n", "a\nb",
    "\t", "/", "&", "~", "#", "Ü", "ü", "😀", "😀a", "A", "[", "]", "\0", "\x08", "a b", "\u180e", "\u1680", "K", "\u017f", "aé", "a_1-",
]  # fmt: skip


def drawn(random: Random, depth: int = 2) -> str:
    kind = random.random()
    if depth == 0 or kind < 0.5:
        atom = random.choice(ATOMS)
        may_repeat = atom not in ("^", "$", r"\b", r"\B")
        return atom + (random.choice(REPEATS) if may_repeat else "")
    inner = drawn(random, depth - 1)
    if kind < 0.7:
        return drawn(random, depth - 1) + inner
    if kind < 0.8:
        return f"(?:{inner}|{drawn(random, depth - 1)})"
    if kind < 0.85:
        return f"({inner}){random.choice(REPEATS)}"
    if kind < 0.9:
        return f"(?<n>{inner})"
    if kind < 0.95:
        return f"^(?={inner}){drawn(random, depth - 1)}"
    return f"^(?!{inner})(?={drawn(random, depth - 1)}){drawn(random, depth - 1)}$"


def test_a_pattern_matches_what_node_matches() -> None:
    """A text is decided as Node decides it, or not at all."""
    random = Random(f"ecma {seed()}")
    patterns = [drawn(random) for _ in range(5 * cases())]
    answers: list[Any] = json.loads(
        subprocess.run(
            [str(NODE), "-e", ASK],
            input=json.dumps([patterns, TEXTS]).encode(),
            capture_output=True,
            check=True,
        ).stdout
    )
    wrong: list[Any] = []
    decided = 0
    for pattern, answer in zip(patterns, answers, strict=True):
        if answer is None:
            continue
        search = compile_search(pattern)
        for text, expected in zip(TEXTS, answer, strict=True):
            matches = search.matches(text) if expected is not None else None
            decided += matches is not None
            if matches is not None and matches is not expected:
                wrong.append((pattern, text, expected, search.note))
    assert not wrong, wrong[:10]
    asked = len(TEXTS) * sum(answer is not None for answer in answers)
    assert decided >= 0.9 * asked, (decided, asked)

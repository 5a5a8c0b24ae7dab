"""Asks a server that makes grammars: for each keyword, does it accept the schema, and does it keep the constraint?

``python tests/real_server/keywords.py URL`` prints the table of a server of one's own; with
``--write BUILD``, it replaces the kept one and the page.
"""

import json
import sys
import urllib.error
import urllib.request
from datetime import date
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

KEPT = Path(__file__).parent / "kept.json"
PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
SEEDS = (1, 2, 3, 4)
"""The seeds of the answers; "kept" says that no answer of theirs broke the constraint."""
_LONGEST = 110  # tokens


def _of(schema: Any) -> dict[str, Any]:
    """An object with one field of a schema."""
    return {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "additionalProperties": False,
    }


def _text(**more: Any) -> dict[str, Any]:
    return _of({"type": "string", **more})


def _list(**more: Any) -> dict[str, Any]:
    return _of({"type": "array", "items": {"type": "boolean"}, **more})


_BOOLEAN = {"type": "boolean"}
_INTEGER = {"type": "integer", "minimum": 100, "maximum": 999}
CASES: dict[str, dict[str, Any]] = {
    "enum": _of({"enum": ["a", 1, None]}),
    "const": _of({"const": "x"}),
    "anyOf": _of({"anyOf": [_INTEGER, _BOOLEAN]}),
    "oneOf": _of({"oneOf": [_INTEGER, _BOOLEAN]}),
    "allOf": _of({"allOf": [{"type": "object", "properties": {"a": _BOOLEAN}, "required": ["a"]}, {"type": "object", "properties": {"b": _BOOLEAN}, "required": ["b"]}]}),
    "a list of types": _of({"type": ["boolean", "null"]}),
    "$ref": {"$defs": {"P": _of(_BOOLEAN)}, **_of({"$ref": "#/$defs/P"})},
    "a field that may be missing": {"type": "object", "properties": {"a": _BOOLEAN, "b": _BOOLEAN}, "required": ["b"], "additionalProperties": False},
    "a schema that is true": _of(True),
    "minLength": _text(minLength=30, maxLength=40),
    "maxLength": _text(maxLength=4),
    "minLength from 2000 on": _text(minLength=3000),
    "maxLength 2000": _text(maxLength=2000),
    "pattern, anchored": _text(pattern="^[A-C]{3}$"),
    "pattern with alternatives": _text(pattern="^(ab|cd){1,4}$"),
    "maxLength beside pattern": _text(pattern="^(ab|cd)+$", maxLength=4),
    "pattern without anchors": _text(pattern="abc"),
    "pattern with \\d": _text(pattern="^\\d{2}$"),
    "pattern with \\w": _text(pattern="^\\w{3}$"),
    "pattern with repeated é": _text(pattern="^é{2}$"),
    "minimum, integer": _of({"type": "integer", "minimum": 100}),
    "maximum, integer": _of({"type": "integer", "maximum": 50}),
    "maximum below zero, no minimum": _of({"type": "integer", "maximum": -100}),
    "exclusiveMinimum, integer": _of({"type": "integer", "exclusiveMinimum": 100}),
    "exclusiveMaximum, integer": _of({"type": "integer", "exclusiveMaximum": 50}),
    "minimum, number": _of({"type": "number", "minimum": 100}),
    "multipleOf": _of({"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 9999}),
    "minItems": _list(minItems=4, maxItems=6),
    "maxItems": _list(maxItems=2),
    "minItems from 2000 on": _list(minItems=3000),
    "uniqueItems": _list(minItems=3, maxItems=4, uniqueItems=True),
    "prefixItems": _of({"type": "array", "prefixItems": [_BOOLEAN, {"type": "null"}], "minItems": 2, "maxItems": 2}),
    "prefixItems with items: false": _of({"type": "array", "prefixItems": [_BOOLEAN, {"type": "null"}], "items": False, "minItems": 2}),
    "format uuid": _text(format="uuid"),
    "format time": _text(format="time"),
    "format email": _text(format="email"),
    "format ipv4": _text(format="ipv4"),
    "minProperties": {"type": "object", "additionalProperties": _BOOLEAN, "minProperties": 2},
    "patternProperties": {"type": "object", "patternProperties": {"^a": _BOOLEAN}, "additionalProperties": False},
}  # fmt: skip


def ask(url: str, schema: dict[str, Any], seed: int) -> tuple[int, str, str]:
    """Return the status, the text and the finish reason of an answer under the schema."""
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True}}
    body = {
        "model": "m", "messages": [{"role": "user", "content": "Write any value."}], "max_tokens": _LONGEST,
        "temperature": 1.8, "seed": seed, "cache_prompt": False, "response_format": form,
    }  # fmt: skip
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            [choice] = json.load(answer)["choices"]
            return 200, choice["message"]["content"], choice["finish_reason"]
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace"), ""


def measure(url: str, schema: dict[str, Any]) -> dict[str, bool | None]:
    """Return whether the server accepts a schema, and whether each answer that ended fits it; ``None`` if none did."""
    judge = Draft202012Validator(schema, format_checker=FormatChecker())
    fits: list[bool] = []
    for seed in SEEDS:
        status, text, finish = ask(url, schema, seed)
        if status != 200:
            return {"accepted": False, "kept": None}
        if finish != "length":
            fits.append(judge.is_valid(json.loads(text)))
    return {"accepted": True, "kept": all(fits) if fits else None}


def page(kept: dict[str, Any]) -> str:
    """The page of the documentation that a table makes."""
    lines = [
        "# What engines keep",
        "",
        "Servers of open models make a grammar of each schema. What they refuse, and what they accept and do not keep, was",
        "measured against real servers with a real model: four answers for each keyword, at temperature 1.8. toolshape sends",
        "what is kept, and moves the rest to the description; it validates all of it after the call. `python",
        "tests/real_server/keywords.py URL` measures a server of your own.",
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
    url, *words = sys.argv[1:]
    found = {}
    for name, schema in CASES.items():
        found[name] = measure(url, schema)
        print(f"{name:32} {found[name]}", flush=True)
    if words:
        table = {"version": words[1], "date": date.today().isoformat(), "keywords": found}  # noqa: DTZ011 - a day
        KEPT.write_text(json.dumps({"llama.cpp": table}, indent=1) + "\n")
        PAGE.write_text(page({"llama.cpp": table}))


if __name__ == "__main__":
    main()

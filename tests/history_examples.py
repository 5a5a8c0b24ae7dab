"""The examples of ``tests/examples``: what is stored of one provider, and the exact request of each other.

A file for each provider holds ten rows. ``stored`` is a request as the SDK's types have it. ``to`` holds what each
provider is sent of it, ``"as stored"`` where that is the same. ``repairs`` names the rules that change something on the
way. ``"<id 1>"`` stands for an id that is issued on the way: the same wherever it stands, and no other. Bytes are
``{"$bytes": base64}``. The rows were written from the types of openai 3.54.0, anthropic 2.12.0, google-genai 3.4.0,
botocore 1.44.5 and mistralai 3.7.0, and from the providers' documentation, not from what toolshape sends.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["EXAMPLES", "PROVIDERS", "Example", "with_ids"]

PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini", "bedrock", "mistral")
_FOLDER = Path(__file__).parent / "examples"
_ISSUED = re.compile(r"<id \d>")


class Example(NamedTuple):
    """One history, and what one provider is sent of it."""

    name: str
    source: str
    target: str
    stored: dict[str, Any]
    expected: dict[str, Any]
    repairs: list[str]


def _with_bytes(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"$bytes"}:
            return base64.b64decode(value["$bytes"])
        return {key: _with_bytes(item) for key, item in value.items()}
    return [_with_bytes(item) for item in value] if isinstance(value, list) else value


def with_ids(expected: Any, sent: Any, ids: dict[str, str]) -> Any:
    """What is expected, each ``"<id 1>"`` with the id that was sent at its first place.

    Args:
        expected: What is expected.
        sent: What was sent.
        ids: The ids found so far; changed in place.
    """
    if isinstance(expected, dict) and isinstance(sent, dict):
        return {key: with_ids(value, sent.get(key), ids) for key, value in expected.items()}
    if isinstance(expected, list) and isinstance(sent, list):
        rest = expected[len(sent) :]
        return [with_ids(*pair, ids) for pair in zip(expected, sent, strict=False)] + rest
    if isinstance(expected, str) and _ISSUED.fullmatch(expected) and isinstance(sent, str):
        if expected not in ids and sent not in ids.values():
            ids[expected] = sent
        return ids.get(expected, expected)
    return expected


def _examples() -> list[Example]:
    found = []
    for source in PROVIDERS:
        for row in json.loads((_FOLDER / f"{source}.json").read_text(encoding="utf-8")):
            stored = _with_bytes(row["stored"])
            for target, expected in row["to"].items():
                request = stored if expected == "as stored" else _with_bytes(expected)
                found.append(
                    Example(
                        row["name"], source, target, stored, request, row["repairs"].get(target, [])
                    )
                )
    return found


EXAMPLES = _examples()

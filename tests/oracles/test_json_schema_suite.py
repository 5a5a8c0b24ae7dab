"""JSON Schema's own test suite, out of jsonschema's source distribution: what each draft says that a schema admits.

``nox -s json_schema`` fetches it. Each schema is a document that a definition refers to, as OpenAPI's definitions are;
the suite's remote documents are given beside it.
"""

import collections
import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from toolshape import DefinitionError, Registry, Tool

SUITE = Path(os.environ.get("TOOLSHAPE_JSON_SCHEMA_SUITE", ""))
pytestmark = pytest.mark.skipif(
    "TOOLSHAPE_JSON_SCHEMA_SUITE" not in os.environ,
    reason="nox -s json_schema fetches the suite of JSON Schema",
)
DRAFTS = {
    "draft3": "http://json-schema.org/draft-03/schema#",
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
# What a draft leaves to the implementation and toolshape does not do: it says so in docs/limits.md.
NOT_ASKED = {
    "content": "what a text holds is not decoded",
    "format-assertion": "a format is said to the model, and not checked",
}
LEAST = 400  # tests of each draft


def documents() -> dict[str, Any]:
    root = SUITE / "remotes"
    return {
        f"http://localhost:1234/{path.relative_to(root).as_posix()}": json.loads(path.read_text())
        for path in root.rglob("*.json")
        if "draft-next" not in path.parts
    }


def kind_of_difference(tool: Tool[..., Any], test: dict[str, Any], remember: list[str]) -> str:
    """Return in which way a tool judges a value otherwise than the suite; ``""`` if it does not."""
    call = {"name": "t", "arguments": json.dumps({"x": test["data"]})}
    [result] = Registry([tool]).dispatch(call, provider="json-schema")
    if result.ok is test["valid"]:
        return ""
    assert result.error is None or result.error.code != "tool_crashed", remember
    if result.ok:
        return "coerced" if result.coercions else "accepted"
    is_told = any("no type is declared" in finding.message for finding in tool.findings)
    return "read with a type" if is_told else "refused"


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_definition_means_what_the_suite_says(draft: str) -> None:
    """No valid value is refused and no invalid one accepted, but with a recorded coercion, or a finding of a type."""
    logging.disable(logging.CRITICAL)
    given, counts, wrong = documents(), collections.Counter[str](), []
    folder = SUITE / "tests" / draft
    for path in sorted([*folder.glob("*.json"), *folder.glob("optional/*.json")]):
        if path.stem in NOT_ASKED:
            continue
        for case in json.loads(path.read_text(encoding="utf-8")):
            name = [draft, path.stem, case["description"]]
            schema = case["schema"]
            if isinstance(schema, bool):
                schema = {} if schema else {"not": {}}
            remotes = given if "localhost:1234" in json.dumps(schema) else {}
            entry = {
                "name": "t",
                "description": "T.",
                "inputSchema": {
                    "$schema": DRAFTS[draft],
                    "type": "object",
                    "properties": {"x": {"$ref": "urn:case"}},
                },
            }
            try:
                made = Tool.from_definition(
                    entry, lambda **_: "ran", documents={**remotes, "urn:case": schema}
                )
            except DefinitionError as error:
                wrong.append([*name, str(error)])
                continue
            for test in case["tests"]:
                kind = kind_of_difference(made, test, name)
                counts[kind] += 1
                if kind in ("accepted", "refused"):
                    wrong.append([*name, test["description"], kind])
    logging.disable(logging.NOTSET)
    print(draft, dict(counts))
    assert not wrong, wrong[:10]
    assert counts[""] >= LEAST, counts

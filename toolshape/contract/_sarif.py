"""Converts changes to SARIF 2.1.0, which code hosts show beside the functions' source lines."""

import inspect
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from toolshape._bound.registry import Registry
from toolshape._records.calls import JsonObject
from toolshape._tools.tool import Tool
from toolshape.contract._compare import Change, Diff, Level

_LEVELS: dict[Level, str] = {
    "breaking": "error",
    "unknown": "warning",
    "behaviour": "note",
    "compatible": "none",
}
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def to_sarif(found: Diff, tools: Registry, lock: str) -> str:
    """Return the changes as SARIF, each located at the function of its tool.

    Args:
        found: The changes.
        tools: The current tools.
        lock: The path of the lock file. If a tool was removed, or has no function because it was
            made from a definition, its changes are located in this file.
    """
    rules = sorted({change.kind for change in found.changes})
    run = {
        "tool": {
            "driver": {
                "name": "toolshape",
                "rules": [
                    {"id": rule, "shortDescription": {"text": rule.replace("_", " ").capitalize()}}
                    for rule in rules
                ],
            }
        },
        "results": [
            _result(change, tools, lock, rules.index(change.kind)) for change in found.changes
        ],
    }
    return (
        json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, default=str)
        + "\n"
    )


def _result(change: Change, tools: Registry, lock: str, rule: int) -> JsonObject:
    if change.kind == "tool_renamed":
        current_names = [change.after]
    else:
        current_names = [change.tool]
    tool = next((tools[name] for name in current_names if name in tools), None)
    uri, line = (None if tool is None else _source_location(tool)) or (_uri(Path(lock)), 1)
    place = {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}
    properties = {
        "level": change.level,
        "tool": change.tool,
        "path": change.path,
        "witness": change.witness,
    }
    return {
        "ruleId": change.kind,
        "ruleIndex": rule,
        "level": _LEVELS[change.level],
        "message": {"text": str(change)},
        "locations": [{"physicalLocation": place}],
        "properties": {**properties, "providers": list(change.providers)},
    }


def _source_location(tool: Tool[..., Any]) -> tuple[str, int] | None:
    """Return the URI of a tool's source file and the line of its function, or
    ``None`` if there is no function.

    If the file is below the working directory, the URI is relative.
    """
    if tool.function is None:
        return None
    function: Any = inspect.unwrap(getattr(tool.function, "func", tool.function))
    code = getattr(
        function if hasattr(function, "__code__") else type(function).__call__, "__code__", None
    )
    if code is None:
        return None
    return (_uri(Path(code.co_filename)), code.co_firstlineno)


def _uri(path: Path) -> str:
    working_directory = Path.cwd()
    if not path.is_absolute():
        return quote(path.as_posix())
    if path.is_relative_to(working_directory):
        return quote(path.relative_to(working_directory).as_posix())
    return path.as_uri()

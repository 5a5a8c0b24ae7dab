"""Changes in; SARIF 2.1.0, which code hosts show beside the lines of the functions, out."""

import inspect
import json
from pathlib import Path
from typing import Any

from toolshape.calls import JsonObject
from toolshape.contract.compare import Change, Diff, Level
from toolshape.registry import Registry
from toolshape.tool import Tool

__all__ = ["to_sarif"]

_LEVELS: dict[Level, str] = {"breaking": "error", "unknown": "warning", "behaviour": "note", "compatible": "none"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def to_sarif(found: Diff, tools: Registry, lock: str) -> str:
    """The changes as SARIF, each at the function of its tool.

    Args:
        found: The changes.
        tools: The tools now.
        lock: The path of the lock file, where a tool that is gone stands.
    """
    rules = sorted({change.kind for change in found.changes})
    run = {
        "tool": {
            "driver": {
                "name": "toolshape",
                "rules": [
                    {"id": rule, "shortDescription": {"text": rule.replace("_", " ").capitalize()}} for rule in rules
                ],
            }
        },
        "results": [_result(one, tools, lock, rules.index(one.kind)) for one in found.changes],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, default=str) + "\n"


def _result(change: Change, tools: Registry, lock: str, rule: int) -> JsonObject:
    names = [change.after] if change.kind == "tool_renamed" else [change.tool]
    tool = next((tools[name] for name in names if name in tools), None)
    uri, line = _place(tool) if tool is not None else (lock, 1)
    place = {"artifactLocation": {"uri": Path(uri).as_posix()}, "region": {"startLine": line}}
    properties = {"level": change.level, "tool": change.tool, "path": change.path, "witness": change.witness}
    return {
        "ruleId": change.kind,
        "ruleIndex": rule,
        "level": _LEVELS[change.level],
        "message": {"text": str(change)},
        "locations": [{"physicalLocation": place}],
        "properties": {**properties, "providers": list(change.providers)},
    }


def _place(tool: Tool[..., Any]) -> tuple[str, int]:
    """The file and the line of a tool's function, the file as seen from here where it is below."""
    function: Any = inspect.unwrap(getattr(tool.function, "func", tool.function) or (lambda: None))
    code = getattr(function, "__code__", None)
    if code is None:
        return "unknown", 1
    path = Path(code.co_filename)
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path), code.co_firstlineno

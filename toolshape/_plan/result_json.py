"""Writes a ``Result`` as JSON for a ledger or a token, and reads it back."""

import base64
import json
from typing import Any

from toolshape._function.result_form import ResultForm
from toolshape._records.calls import Call, JsonObject
from toolshape._records.errors import CallError, Problem
from toolshape._records.mcp_results import McpParts
from toolshape._records.parts import File, Image, Part, Text
from toolshape._records.result import Result
from toolshape._schema.bytes_json import from_json_value, to_json_value
from toolshape.messages import ToolResultPart


def through_json(value: Any) -> Any:
    """Return what a value is once it was stored as JSON."""
    return from_json_value(json.loads(json.dumps(to_json_value(value), default=str)))


_ERROR = ("code", "tool", "text", "names", "retryable", "reference")


def store_result(result: Result, output: ResultForm | None) -> JsonObject:
    """Convert the outcome of a call to JSON: the text for the model, and
    the value if JSON can express it.

    Args:
        result: The result.
        output: Converts the tool's values to JSON; ``None`` if there is no such tool.
    """
    error = result.error
    outcome: JsonObject = {
        "text": result.text,
        "is_text": result.is_text,
        "elapsed": round(float(result.elapsed), 6),
        "parts": [_store_part(part) for part in result.parts],
    }
    if isinstance(result.parts, McpParts):
        outcome["mcp"] = _store_for_client(result.parts)
    if error is None:
        outcome["value"] = _value(result, output)
    else:
        outcome["error"] = {name: getattr(error, name) for name in _ERROR}
        outcome["error"]["problems"] = [list(problem) for problem in error.problems]
    return outcome


def outcome_of_part(part: ToolResultPart) -> JsonObject:
    """Return the outcome of a call of which only its result in a message is known."""
    outcome: JsonObject = {
        "text": part.text,
        "is_text": part.is_text,
        "elapsed": 0.0,
        "parts": [*map(_store_part, part.parts)],
    }
    if part.code is not None:
        outcome["error"] = {
            "code": part.code,
            "tool": part.wire_name,
            "text": "",
            "names": [],
            "retryable": False,
            "reference": None,
            "problems": [],
        }
        return outcome
    value: Any = part.text if part.is_text else None
    if part.is_text is False:
        try:
            value = json.loads(part.text)
        except ValueError:
            value = None
    return {**outcome, "value": value}


def _value(result: Result, output: ResultForm | None) -> Any:
    parts = result.parts
    has_value = not parts or (isinstance(parts, McpParts) and parts.is_structured)
    if result.is_text or result.value is None or not has_value or output is None:
        if result.is_text:
            return result.text
        return None
    try:
        text, is_text = output.write(result.value)
        if is_text:
            return text
        return json.loads(text)
    except Exception:  # a serialiser of the user's types may raise anything
        return None


def _store_part(part: Part) -> JsonObject:
    if isinstance(part, Text):
        return {"text": part.text}
    media = {
        "media_type": part.media_type,
        "url": part.url,
        "data": base64.b64encode(part.data).decode(),
    }
    if isinstance(part, File):
        return {**media, "name": part.name}
    return media


def _store_for_client(parts: McpParts) -> JsonObject:
    """Convert what an MCP client receives: without it, a replayed result would be another one."""
    content = parts.content and [
        {"block": item} if isinstance(item, dict) else {"part": _store_part(item)}
        for item in parts.content
    ]
    return {"content": content, "is_structured": parts.is_structured, "meta": parts.meta}


def _restore_parts(given: JsonObject) -> tuple[Part, ...]:
    parts = tuple(map(_restore_part, given["parts"]))
    for_client = given.get("mcp")
    if for_client is None:
        return parts
    restored = McpParts(parts)
    if for_client["content"] is not None:
        restored.content = tuple(
            item["block"] if "block" in item else _restore_part(item["part"])
            for item in for_client["content"]
        )
    restored.is_structured, restored.meta = for_client["is_structured"], for_client["meta"]
    return restored


def _restore_part(given: JsonObject) -> Part:
    if "text" in given:
        return Text(given["text"])
    data = base64.b64decode(given["data"])
    if "name" in given:
        return File(data, given["media_type"], given["name"], given["url"])
    return Image(data, given["media_type"], given["url"])


def restore_result(call: Call, given: JsonObject, *, replayed: bool) -> Result:
    """Restore the result of a call from its stored outcome."""
    stored_error = given.get("error")
    failure = None
    if stored_error is not None:
        failure = CallError(
            stored_error["code"],
            tool=stored_error["tool"],
            problems=[Problem(*problem) for problem in stored_error["problems"]],
            text=stored_error["text"],
            names=stored_error["names"],
            retryable=stored_error["retryable"],
            reference=stored_error["reference"],
        )
    return Result(
        call,
        value=given.get("value"),
        error=failure,
        elapsed=given["elapsed"],
        text=given["text"],
        replayed=replayed,
        parts=_restore_parts(given),
        is_text=given["is_text"],
    )

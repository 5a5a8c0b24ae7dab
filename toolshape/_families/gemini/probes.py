"""Pairs of requests: one that a rule of Gemini refuses, and one like it that it accepts."""

from typing import Any

from toolshape._families.gemini.messages import SKIPPED_SIGNATURE
from toolshape._families.wire.server import RequestProbe
from toolshape._records.calls import JsonObject

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAA="
_TOOL: JsonObject = {"name": "probe", "description": "A probe."}
_SIGNED = {"thoughtSignature": SKIPPED_SIGNATURE}
_AUTO = {"functionCallingConfig": {"mode": "AUTO"}}
_USER = {"role": "user", "parts": [{"text": "Go."}]}
_LIST, _OBJECT = (
    {"type": "array", "items": {"type": "string"}},
    {"type": "object", "properties": {"a": {"type": "string"}}},
)


def _tools(**parameters: JsonObject) -> JsonObject:
    return {"tools": [{"functionDeclarations": [{**_TOOL, **parameters}]}]}


def _called(given: Any, *before: JsonObject, signed: bool = True, **response: Any) -> JsonObject:
    call: JsonObject = {
        "functionCall": {"name": "probe", "args": given},
        **(_SIGNED if signed else {}),
    }
    result = {"functionResponse": {"name": "probe", "response": {"result": "ok"}, **response}}
    return {
        "contents": [
            *before,
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [result]},
        ],
        **_tools(),
    }


_MEDIA = [{"inlineData": {"mimeType": "image/png", "data": _PIXEL}}]
_ANSWER = {"responseMimeType": "application/json", "responseJsonSchema": _OBJECT}
_COMMON = (
    RequestProbe({"tools": [{"type": "function", "function": {"name": "probe"}}]}, _tools()),
    RequestProbe({"toolConfig": _AUTO}, {"toolConfig": _AUTO, **_tools()}),
    RequestProbe(_called("a", _USER), _called({}, _USER)),
    RequestProbe(_called({}), _called({}, _USER)),
    RequestProbe(_called({}, _USER, parts=_MEDIA), _called({}, _USER)),
    RequestProbe(_called({}, _USER, signed=False), _called({}, _USER)),
    RequestProbe(_called({}, _USER, id="call00001"), _called({}, _USER)),
    RequestProbe({"generationConfig": _ANSWER, **_tools()}, {"generationConfig": _ANSWER}),
)
PROBES = (
    RequestProbe(_tools(parametersJsonSchema=_LIST), _tools(parametersJsonSchema=_OBJECT)),
    *_COMMON,
)
OPENAPI_PROBES = (RequestProbe(_tools(parameters=_LIST), _tools(parameters=_OBJECT)), *_COMMON)
MODELS = ("gemini-2.5-flash", "gemini-3-pro")

"""The tools that the official conformance tests ask of a server: ``python conforming.py PORT`` serves them over HTTP."""

import sys
import time
from typing import Annotated

import uvicorn
from pydantic import Field

from toolshape import CallContext, File, Image, Registry, Text, Tool, ToolError, tool
from toolshape.mcp import server

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100"
    "c9fe92ef0000000049454e44ae426082"
)
WAV = b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00"


@tool
def test_simple_text() -> str:
    """Say something."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> Image:
    """Show a picture."""
    return Image(PNG, "image/png")


@tool
def test_audio_content() -> File:
    """Make a sound."""
    return File(WAV, "audio/wav", "sound.wav")


@tool
def test_embedded_resource() -> File:
    """Give a file."""
    return File(b"This is an embedded resource content.", "text/plain", "embedded.txt")


@tool
def test_multiple_content_types() -> list[Text | Image | File]:
    """Give all of them."""
    return [
        Text("Several:"),
        Image(PNG, "image/png"),
        File(b'{"test": "data"}', "application/json", "mixed.json"),
    ]


@tool
def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool
def test_tool_with_progress(context: CallContext) -> str:
    """Say how far it is."""
    for done in (0, 50, 100):
        context.progress(done, 100)
        time.sleep(0.05)
    return "done"


@tool
def where(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Say where it ran."""
    return region


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "address",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
    "anyOf": [{"required": ["name"]}, {"required": ["address"]}],
    "if": {"required": ["name"]},
    "then": {"properties": {"name": {"minLength": 1}}},
    "else": {"required": ["address"]},
    "additionalProperties": False,
}
written = Tool.from_definition(
    {"name": "json_schema_2020_12_tool", "description": "Take an address.", "inputSchema": SCHEMA},
    lambda name="", address=None: name,
    verbatim=True,
)
tools = Registry(
    [
        test_simple_text, test_image_content, test_audio_content, test_embedded_resource, test_multiple_content_types,
        test_error_handling, test_tool_with_progress, where, written,
    ]
)  # fmt: skip

if __name__ == "__main__":
    uvicorn.run(
        server(tools, "conforming", version="1").streamable_http_app(),
        port=int(sys.argv[1]),
        log_level="error",
    )

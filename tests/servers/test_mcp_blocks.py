"""What MCP's blocks say reaches who it is for: the client as from the SDK's own server, the model, and the app."""

import asyncio
from typing import Any

import mcp_types as types
import pytest
from fastmcp.tools import ToolResult
from mcp import Client
from mcp.server import MCPServer, Server

from toolshape import Image, Registry, tool
from toolshape.ledger import Ledger
from toolshape.mcp import connect, server

FOR_USER = types.Annotations(audience=["user"], priority=1.0)
PICTURE = "iVBORw0KGgo="


def text_of(text, **more):
    return types.TextContent(type="text", text=text, **more)


def link(uri="orders://5", **more):
    return types.ResourceLink(
        type="resource_link", uri=uri, name="order 5", mime_type="application/json", **more
    )


def embedded(**more):
    held = types.TextResourceContents(uri="notes://1", mime_type="text/markdown", text="held")
    return types.EmbeddedResource(type="resource", resource=held, **more)


def embedded_bytes():
    held = types.BlobResourceContents(uri="notes://2", mime_type="image/png", blob=PICTURE)
    return types.EmbeddedResource(type="resource", resource=held)


BLOCKS = {
    "link": link(title="Order", description="The order of Ann.", size=12),
    "public link": link("https://example.com/5", description="The order of Ann."),
    "resource": embedded(annotations=FOR_USER, _meta={"shop/a": 1}),
    "bytes": embedded_bytes(),
    "text": text_of("said", annotations=FOR_USER),
    "image": types.ImageContent(type="image", data=PICTURE, mime_type="image/png"),
    "audio": types.AudioContent(type="audio", data="UklGRg==", mime_type="audio/wav"),
    "several": [text_of("a", _meta={"shop/b": 2}), link(), embedded()],
    "with a string": ["a", link()],
    "result": types.CallToolResult(content=[link(), text_of("b")], _meta={"shop/cost": 3}),
    "result with a value": types.CallToolResult(
        content=[text_of("b")], structured_content={"n": 1}, _meta={"shop/cost": 3}
    ),
    "result of fastmcp": ToolResult(
        content=[types.ImageContent(type="image", data=PICTURE, mime_type="image/png")],
        structured_content={"a": 1},
        meta={"shop/cost": 3},
    ),
}


def received(made, mode="auto"):
    """What a client of the SDK gets from a server."""

    async def main():
        async with Client(made, mode=mode) as client:
            await client.list_tools()
            return await client.call_tool("ask", {})

    return asyncio.run(main())


def ours(value):
    @tool
    def ask() -> Any:
        """Ask."""
        return value

    return server(Registry([ask]), "ours")


def of_the_sdk(value):
    made = MCPServer("theirs")

    @made.tool()
    def ask() -> Any:
        """Ask."""
        return value

    return made


def blocks_of(result):
    return [
        block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content
    ]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in BLOCKS.items()])
def test_a_client_receives_what_the_sdks_own_server_sends(value, mode):
    """Each field of each block, with ``_meta``; of fastmcp's result, what it says of itself."""
    got = received(ours(value), mode)
    if isinstance(value, ToolResult):
        wanted = value.to_mcp_result()
    else:
        wanted = received(of_the_sdk(value), mode)
    assert blocks_of(got) == blocks_of(wanted)
    if isinstance(value, (types.CallToolResult, ToolResult)):
        assert (got.meta or {}).get("shop/cost") == (wanted.meta or {}).get("shop/cost")
        assert got.structured_content == wanted.structured_content


def asked(*content, **more):
    """The result of a call of a tool of a server that answers with this content."""

    async def listed(context, params):
        listed_tool = types.Tool(name="ask", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[listed_tool])

    async def called(context, params):
        return types.CallToolResult(content=list(content), **more)

    async def main():
        served = Server("hand", on_list_tools=listed, on_call_tool=called)
        async with connect(served, untrusted=False) as tools:
            body = {"name": "ask", "arguments": {}}
            [result] = await tools.bind("json-schema").adispatch(body)
            return result

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([link(title="Order", description="The order of Ann.", size=12)], ["orders://5", "Order", "The order of Ann.", "12 bytes"]),
        ([link("https://example.com/5", description="The order of Ann.")], ["https://example.com/5", "The order of Ann."]),
        ([embedded()], ["notes://1", "text/markdown", "held"]),
        ([embedded_bytes()], ["notes://2", "image/png"]),
    ],
)  # fmt: skip
def test_the_model_reads_what_a_block_says_of_itself(content, words):
    result = asked(*content)
    assert [word for word in words if word not in result.text] == []


def test_bytes_of_a_resource_stay_an_image():
    assert any(isinstance(part, Image) for part in asked(embedded_bytes()).parts)


def test_what_is_for_the_user_alone_is_left_out_of_what_the_model_reads():
    """Unless it is all: a result without content would say nothing of the call."""
    assert (
        asked(text_of("for you", annotations=FOR_USER), text_of("for the model")).text
        == "for the model"
    )
    assert asked(text_of("for you", annotations=FOR_USER)).text == "for you"
    both = types.Annotations(audience=["user", "assistant"])
    assert asked(text_of("a", annotations=both), text_of("b")).text == "a\nb"


def test_the_value_of_a_single_resource_is_its_text():
    assert asked(embedded()).value == "held"


@pytest.mark.parametrize("untrusted", [True, False])
def test_the_meta_of_a_result_passes_through_a_server_of_imported_tools(untrusted):
    """It is for the app, and was never for the model; also where the texts are marked as untrusted."""

    async def listed(context, params):
        listed_tool = types.Tool(name="ask", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[listed_tool])

    async def called(context, params):
        return types.CallToolResult(content=[text_of("x")], _meta={"shop/cost": 3})

    async def main():
        served = Server("hand", on_list_tools=listed, on_call_tool=called)
        async with (
            connect(served, untrusted=untrusted) as tools,
            Client(server(tools, "again"), mode="legacy") as client,
        ):
            return await client.call_tool("ask", {})

    got = asyncio.run(main())
    assert (got.meta or {}).get("shop/cost") == 3
    assert ("<untrusted" in got.content[0].text) == untrusted


@pytest.mark.parametrize("value", BLOCKS.values(), ids=BLOCKS)
def test_a_client_receives_from_a_ledger_what_it_received_before(value, tmp_path):
    """Blocks, structured content and meta are recorded, not only what a model reads."""

    @tool
    def ask():
        """Ask."""
        return value

    bound = Registry([ask]).bind("mcp")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask"}}
    with Ledger(tmp_path / "calls.db") as ledger:
        first, again = (bound.dispatch(call, ledger=ledger, scope="a") for _ in range(2))
    assert again[0].replayed
    assert again.messages == first.messages


def test_an_error_of_fastmcp_is_an_error():
    got = received(ours(ToolResult(content="refused", is_error=True)))
    assert (got.is_error, got.content[0].text) == (True, "refused")

"""One MCP server with two clients: a third-party client calls our tools, and so does a model at OpenAI.

``python examples/mcp_pair.py`` starts itself as a server over standard input and output. First, the official SDK's
client, which knows nothing about toolshape, lists and calls the tools. Then ``connect`` imports the tools of the same
server for a model at OpenAI. The example needs toolshape[mcp].
"""

import asyncio
import json
import sys
import urllib.request
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.stdio import stdio_server

from toolshape import Registry, ToolError, tool
from toolshape.mcp import connect, server
from toolshape.testing import Fake

STOCK = {"B-1": 7, "B-2": 0}


@tool(effects=["read"])
def stock(sku: str) -> dict[str, int]:
    """Say how many pieces of an article there are.

    Args:
        sku: The number of the article.
    """
    if sku not in STOCK:
        raise ToolError(f"There is no article {sku}.")
    return {"left": STOCK[sku]}


@tool(effects=["write"])
def reserve(sku: str, count: int = 1) -> str:
    """Put pieces of an article aside.

    Args:
        sku: The number of the article.
        count: How many.
    """
    if STOCK.get(sku, 0) < count:
        raise ToolError(f"There are only {STOCK.get(sku, 0)} of {sku}.")
    STOCK[sku] -= count
    return f"{count} of {sku} reserved"


tools = Registry([stock, reserve])
COMMAND = [sys.executable, __file__, "serve"]


async def serve() -> None:
    """Serve the tools, as ``toolshape mcp examples/mcp_pair.py:tools`` does."""
    shop_server = server(tools, "shop", version="1.0")
    async with stdio_server() as (read, write):
        await shop_server.run(read, write, shop_server.create_initialization_options())


async def call_from_other_client() -> None:
    """Call the tools with any MCP client: here, the official SDK's client, without toolshape."""
    parameters = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
    async with Client(stdio_client(parameters)) as client:
        listed = (await client.list_tools()).tools
        print("an MCP client sees:", ", ".join(entry.name for entry in listed))
        answer = await client.call_tool("stock", {"sku": "B-1"})
        print("stock of B-1:", answer.structured_content)
        refused = await client.call_tool("reserve", {"sku": "B-1", "count": "many"})
        print(
            "count=many:",
            next(getattr(content, "text", "") for content in refused.content).splitlines()[-1],
        )


async def call_from_our_model() -> None:
    """Import the tools of the same server for a model at OpenAI, as if a third party ran the server."""
    async with connect(COMMAND, prefix="shop", timeout=20) as remote:
        with Fake("openai") as fake:  # in place of OpenAI
            fake.calls("shop_reserve", sku="B-1", count=2)
            response = await asyncio.to_thread(ask, fake, remote.request("openai"))
        [result] = await remote.adispatch(response)
        print("a model at OpenAI gets:", result.text)


def ask(fake: Fake, request: dict[str, Any]) -> Any:
    """Send a request, as ``OpenAI().chat.completions.create`` does."""
    messages = [{"role": "user", "content": "Put two of B-1 aside."}]
    body = json.dumps({"model": "gpt-5", "messages": messages, **request}).encode()
    with urllib.request.urlopen(f"{fake.url}/v1/chat/completions", body) as response:  # noqa: S310 - the fake's address
        return json.load(response)


async def main() -> None:
    await call_from_other_client()
    await call_from_our_model()


if __name__ == "__main__":
    asyncio.run(serve() if "serve" in sys.argv else main())

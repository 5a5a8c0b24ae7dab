"""Serves tools to MCP clients, and imports the tools of MCP servers. Needs the extra ``mcp``.

In: a registry to serve, or a server to connect to. Out: a server of the official SDK, or a registry
of its tools. The protocol is the SDK's; only what a tool is on either side of it belongs here.
"""

try:
    from toolshape.mcp._connecting import connect
    from toolshape.mcp._serving import server
except ImportError as error:
    raise ImportError(
        f"toolshape.mcp needs the MCP SDK: pip install 'toolshape[mcp]' ({error})"
    ) from error

__all__ = ["connect", "server"]

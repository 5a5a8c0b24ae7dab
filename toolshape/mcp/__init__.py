"""Serves tools to MCP clients, and imports the tools of MCP servers. Needs the extra ``mcp``."""

try:
    from toolshape.mcp._connecting import connect
    from toolshape.mcp._serving import server
except ImportError as error:
    raise ImportError(f"toolshape.mcp needs the MCP SDK: pip install 'toolshape[mcp]' ({error})") from error

__all__ = ["connect", "server"]

"""Tools served to MCP clients, and the tools of MCP servers as ours. Needs the extra ``mcp``."""

from toolshape.mcp.connecting import connect
from toolshape.mcp.serving import server

__all__ = ["connect", "server"]

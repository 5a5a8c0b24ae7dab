"""``toolshape mcp``: tools served to MCP clients, over standard input and output or HTTP."""

import asyncio
import contextlib
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolshape.targets import injected, registry_of

if TYPE_CHECKING:
    from mcp.server import Server

__all__ = ["serving"]


@click.command("mcp")
@click.argument("target")
@click.option("--name", help="The name of the server; by default that of the target.")
@click.option("--http", is_flag=True, help="Serve streamable HTTP at /mcp instead of standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="With --http; 0 for any.")
@click.option(
    "--inject",
    multiple=True,
    metavar="NAME=MODULE:FACTORY",
    help="An injected value: a factory is called. Repeat for more.",
)
@click.option("--key-file", type=click.File("rb"), help="Holds the secret, of 32 bytes or more, that seals approvals.")
def serving(
    target: str, name: str | None, http: bool, host: str, port: int, inject: tuple[str, ...], key_file: Any
) -> None:
    """Serve the tools of TARGET to MCP clients, until standard input ends or the process is interrupted.

    What tools print goes to standard error. Needs the extra `mcp`.
    """
    try:
        from toolshape.mcp import server  # noqa: PLC0415 - it needs an extra
    except ImportError as error:
        raise ImportError(f"toolshape mcp needs the extra mcp: pip install 'toolshape[mcp]' ({error})") from error

    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")  # to standard error
    key = None if key_file is None else key_file.read().strip()
    made = server(registry_of(target), name or _name_of(target), inject=injected(inject), key=key)
    if not http:
        asyncio.run(_over_standard_streams(made))
        return
    try:
        import uvicorn  # noqa: PLC0415 - it comes with the extra
    except ImportError as error:
        raise ImportError(f"toolshape mcp --http needs uvicorn: pip install 'toolshape[mcp]' ({error})") from error
    uvicorn.run(made.streamable_http_app(host=host), host=host, port=port)


def _name_of(target: str) -> str:
    """The module of a target, wherever its file is: approvals hold for a server of one name."""
    module = target.rpartition(":")[0] or target
    return Path(module).stem if module.endswith(".py") else module


async def _over_standard_streams(made: "Server[Any]") -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - it needs an extra

    # What tools print must not stand between messages; the transport has its own descriptors by then.
    async with stdio_server() as (read, write):
        with contextlib.redirect_stdout(sys.stderr):
            await made.run(read, write, made.create_initialization_options())

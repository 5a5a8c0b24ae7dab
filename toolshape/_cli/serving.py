"""The command ``toolshape mcp``: serves tools to MCP clients, over stdio or HTTP."""

import asyncio
import contextlib
import io
import logging
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from toolshape._bound.registry import Registry
from toolshape._bound.targets import (
    TargetError,
    load_injected,
    refuse_missing,
    refuse_unread,
    registry_of,
)
from toolshape._cli.output import output, reserve_input
from toolshape._tools.tool import record_of

if TYPE_CHECKING:
    from mcp.server import Server


@click.command("mcp")
@click.argument("target")
@click.option("--name", help="The name of the server; by default the target's module.")
@click.option(
    "--http",
    is_flag=True,
    help="Serve streamable HTTP at /mcp instead of standard input and output.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="HTTP host.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="HTTP port; 0 for any.",
)
@click.option(
    "--inject",
    multiple=True,
    metavar="NAME=MODULE:FACTORY",
    help="A factory for an injected value; repeat for more.",
)
@click.option(
    "--key-file",
    type=click.File("rb"),
    help="A file with the secret that seals approvals: 32 bytes or more.",
)
def serving(
    target: str,
    name: str | None,
    http: bool,
    host: str,
    port: int,
    inject: tuple[str, ...],
    key_file: Any,
) -> None:
    """Serve the tools of TARGET to MCP clients, until standard input ends
    or the process is interrupted.

    Tools and their modules print to standard error. Needs the extra `mcp`.
    """
    try:
        from toolshape.mcp import server  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        raise ImportError(
            f"toolshape mcp needs the extra mcp: pip install 'toolshape[mcp]' ({error})"
        ) from error

    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")  # to standard error
    key = None if key_file is None else key_file.read().strip()
    input_context = reserve_input() if not http else contextlib.nullcontext(sys.stdin)
    with input_context as standard_input:
        tools, values = registry_of(target), load_injected(inject)
        _check_injected(tools, values)
        mcp_server = server(tools, name or _server_name(target), inject=values, key=key)
        if not http:
            asyncio.run(_serve_standard_streams(mcp_server, standard_input))
            return
    try:
        import uvicorn  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        raise ImportError(
            f"toolshape mcp --http needs uvicorn: pip install 'toolshape[mcp]' ({error})"
        ) from error
    config = uvicorn.Config(mcp_server.streamable_http_app(host=host), host=host, port=port)
    with _listening_socket(host, port) as listening:
        # uvicorn leaves this line to whoever opened the socket.
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        logging.getLogger("uvicorn.error").info(
            "Uvicorn running on %s (Press CTRL+C to quit)", address
        )
        uvicorn.Server(config).run(sockets=[listening])


def _listening_socket(host: str, port: int) -> socket.socket:
    """Open the socket that the server listens on.

    Raises:
        TargetError: The port is taken, or the host is not an address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise TargetError(f"cannot listen on {host}, port {port}: {error.strerror}") from error


def _check_injected(tools: Registry, values: Mapping[str, Any]) -> None:
    """Check that these injected values suffice for every tool: if a tool lacks a
    value, every call to it fails.

    Raises:
        TargetError: A value that a tool needs is missing, or a value is given that no tool uses.
    """
    declared: set[str] = set()
    for tool in tools:
        layout = record_of(tool).definition.layout
        declared |= layout.injected.keys() - layout.contexts
        refuse_missing(record_of(tool), values)
    refuse_unread(values, tools, declared, "these tools take")


def _server_name(target: str) -> str:
    """Return the server's name: the target's module name without the folder.

    Approvals are bound to this name.
    """
    module = target.rpartition(":")[0] or target
    if module.endswith(".py"):
        return Path(module).stem
    return module


async def _serve_standard_streams(made: "Server[Any]", standard_input: TextIO) -> None:
    import anyio  # noqa: PLC0415 - needs an extra
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - needs an extra

    # By default, the transport uses sys.stdin and sys.stdout, but this command has redirected both.
    input_stream = io.TextIOWrapper(standard_input.buffer, encoding="utf-8", errors="replace")
    output_stream = io.TextIOWrapper(output().buffer, encoding="utf-8")
    try:
        async with stdio_server(anyio.wrap_file(input_stream), anyio.wrap_file(output_stream)) as (
            read,
            write,
        ):
            await made.run(read, write, made.create_initialization_options())
    finally:
        for stream in (input_stream, output_stream):
            # Otherwise the wrapper closes the underlying stream.
            with contextlib.suppress(ValueError, OSError):
                stream.detach()

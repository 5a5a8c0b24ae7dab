"""The command line: export a registry, call a tool. Needs the extra ``cli``."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from toolshape.errors import ToolshapeError
from toolshape.registry import Registry
from toolshape.tool import Options, Tool, as_tool, make_tool

try:
    import click
except ImportError as error:
    raise SystemExit("the command line needs click: pip install 'toolshape[cli]'") from error

__all__ = ["main"]


@click.group()
@click.version_option(package_name="toolshape")
def main() -> None:
    """Show tools to model providers, and call them as a model would."""


@main.command()
@click.argument("target", metavar="MODULE:REGISTRY")
@click.option("--to", "providers", required=True, help="Providers, separated by commas.")
def export(target: str, providers: str) -> None:
    """Print what each provider takes as tools, as JSON.

    MODULE:REGISTRY may also name a single tool. One provider prints its list, several an object of lists.
    """
    found = _load(target)
    registry = found if isinstance(found, Registry) else Registry([_as_tool(found, target)])
    names = [name.strip() for name in providers.split(",") if name.strip()]
    if not names:
        raise click.BadParameter("name at least one provider", param_hint="--to")
    try:
        exported = {name: registry.export(name) for name in names}
    except ToolshapeError as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(exported if len(names) != 1 else exported[names[0]], indent=2, ensure_ascii=False))


@main.command()
@click.argument("target", metavar="MODULE:TOOL")
@click.argument("arguments", default="{}")
def call(target: str, arguments: str) -> None:
    """Call a tool with JSON ARGUMENTS and print what a model would read.

    What was mended goes to standard error; a refused or failed call exits with 1.
    """
    # A plain record has no strict form, whatever the tool asks for elsewhere.
    tool = make_tool(_as_tool(_load(target), target), Options(strict=False), None)
    try:
        registry = Registry([tool])
        [result] = registry.dispatch({"name": tool.name, "arguments": arguments}, provider="json-schema")
    except ToolshapeError as error:
        raise click.ClickException(str(error)) from error
    for path, rule, before, after in result.coercions:
        click.echo(f"mended {path or 'the arguments'} by {rule}: {before!r} -> {after!r}", err=True)
    if result.error is not None:
        raise click.ClickException(result.text)
    click.echo(result.text)


def _load(target: str) -> Any:
    module_name, colon, path = target.partition(":")
    if not (module_name and colon and path):
        raise click.BadParameter(f"{target!r} is not of the form MODULE:NAME")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise click.BadParameter(f"there is no module {error.name!r}") from error
    for step in path.split("."):
        if isinstance(found, Registry) and step in found:
            found = found[step]
        elif hasattr(found, step):
            found = getattr(found, step)
        else:
            raise click.BadParameter(f"{module_name!r} has no {path!r}")
    return found


def _as_tool(found: Any, target: str) -> Tool[..., Any]:
    if isinstance(found, Registry):
        names = ", ".join(tool.name for tool in found)
        raise click.BadParameter(f"{target} is a registry: name one of its tools, as {target}.NAME ({names})")
    try:
        return as_tool(found)
    except ToolshapeError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()

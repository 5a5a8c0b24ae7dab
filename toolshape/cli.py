"""The command line: export, check, compare and call tools. Needs the extra ``cli``."""

import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolshape import compatibility
from toolshape.errors import ToolshapeError
from toolshape.options import Options
from toolshape.providers import get
from toolshape.registry import Registry
from toolshape.report import table
from toolshape.tool import Tool, as_tool, make_tool
from toolshape.wire.provider import Strictness

try:
    import click
except ImportError as error:
    raise SystemExit("the command line needs click: pip install 'toolshape[cli]'") from error

__all__ = ["main"]


_STRICT = click.option(
    "--strict", type=click.Choice(["auto", "true", "false"]), default=None, help="Whether arguments are constrained."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
_STRICTNESS: Mapping[str | None, Strictness | None] = {None: None, "auto": "auto", "true": True, "false": False}


@click.group()
@click.version_option(package_name="toolshape")
def main() -> None:
    """Export tools for model providers, and call them as a model would."""


@main.command()
@click.argument("target", metavar="MODULE:REGISTRY")
@click.option("--to", "providers", required=True, help="Providers, separated by commas.")
@_STRICT
def export(target: str, providers: str, strict: str | None) -> None:
    """Print what each provider takes as tools, as JSON.

    MODULE:REGISTRY may also name a single tool. One provider prints its list, several an object of lists.
    """
    registry = _as_registry(_load(target), target)
    names = _names(providers, "--to")
    try:
        exported = {name: registry.export(name, strict=_STRICTNESS[strict]) for name in names}
    except ToolshapeError as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(exported if len(names) != 1 else exported[names[0]], indent=2, ensure_ascii=False))


@main.command()
@click.argument("target", metavar="MODULE:TOOL")
@click.argument("arguments", default="{}")
def call(target: str, arguments: str) -> None:
    """Call a tool with JSON ARGUMENTS and print what a model would read.

    Coercions go to standard error; a refused or failed call exits with 1.
    """
    # A plain record has no strict form, whatever the tool asks for elsewhere.
    tool = make_tool(_as_tool(_load(target), target), Options(strict=False), None)
    try:
        registry = Registry([tool])
        [result] = registry.dispatch({"name": tool.name, "arguments": arguments}, provider="json-schema")
    except ToolshapeError as error:
        raise click.ClickException(str(error)) from error
    for path, rule, before, after in result.coercions:
        click.echo(f"coerced {path or 'the arguments'} by {rule}: {before!r} -> {after!r}", err=True)
    if result.error is not None:
        raise click.ClickException(result.text)
    click.echo(result.text)


@main.command()
@click.argument("target", metavar="MODULE:REGISTRY")
@click.option("--for", "providers", required=True, help="Providers, separated by commas.")
@_STRICT
@_JSON
def check(target: str, providers: str, strict: str | None, as_json: bool) -> None:
    """Say what providers would refuse of a registry, and how each rule is known.

    MODULE:REGISTRY may also name a single tool. Exits with 1 if anything would be refused.
    """
    try:
        registry = _as_registry(_load(target), target)
        for name in _names(providers, "--for"):
            _known(name)
        found = [
            one
            for name in _names(providers, "--for")
            for one in compatibility.check(registry, name, _STRICTNESS[strict])
        ]
    except ToolshapeError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps([one._asdict() for one in found], indent=2, ensure_ascii=False))
    elif found:
        click.echo(table(compatibility.Refused._fields, found))
    else:
        click.echo(f"nothing would be refused: {len(registry)} tools for {', '.join(_names(providers, '--for'))}")
    if found:
        raise SystemExit(1)


@main.command()
@click.argument("target", metavar="MODULE:TOOL")
@click.option("--targets", required=True, help="Providers, separated by commas.")
@_STRICT
@_JSON
def diff(target: str, targets: str, strict: str | None, as_json: bool) -> None:
    """Compare what each provider is sent of a tool: the whole of it, and each parameter that differs."""
    tool = _as_tool(_load(target), target)
    names = _names(targets, "--targets")
    try:
        found = compatibility.differences(tool, names, _STRICTNESS[strict])
    except ToolshapeError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps([one._asdict() for one in found], indent=2, ensure_ascii=False))
        return
    rows = [(row.path or "(the tool)", name, said) for row in found for name, said in row.told.items()]
    click.echo(table(("path", "target", "told"), rows))


def _known(name: str) -> None:
    try:
        get(name)
    except ToolshapeError as error:
        raise click.BadParameter(str(error)) from error


def _names(given: str, option: str) -> list[str]:
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise click.BadParameter("name at least one provider", param_hint=option)
    return names


def _as_registry(found: Any, target: str) -> Registry:
    return found if isinstance(found, Registry) else Registry([_as_tool(found, target)])


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

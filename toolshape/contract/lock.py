"""Tools in; what is known of each, as a model and a provider see it, in a file of the same bytes everywhere, out; and from it."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolshape.calls import JsonObject, JsonSchema
from toolshape.errors import UsageError
from toolshape.registry import Registry
from toolshape.tool import Tool

__all__ = ["Contract", "Locked", "contract_of", "read_lock", "written_lock"]

_VERSION = 1


class Locked(NamedTuple):
    """One tool as it is called: its canonical record, without what only a provider is told.

    ``fingerprints`` are of the entries that providers are sent, by the provider's name.
    """

    name: str
    title: str | None
    description: str
    parameters: JsonSchema
    output: JsonSchema | None
    effects: tuple[str, ...]
    examples: tuple[JsonObject, ...]
    fingerprints: Mapping[str, str]


class Contract(NamedTuple):
    """The tools of an application as they are called, in their order; ``providers`` are those they were locked for."""

    tools: Mapping[str, Locked]
    providers: tuple[str, ...]


def contract_of(tools: Registry, providers: Iterable[str] = ()) -> Contract:
    """The contract of tools, with what each provider is sent of them.

    Args:
        tools: The tools.
        providers: Providers, by name.

    Raises:
        ExportError: There is no such provider, or it cannot be sent one of the tools.
    """
    names = tuple(dict.fromkeys(providers))
    fingerprints = {name: _fingerprints(tools, name) for name in names}
    found = {tool.name: _locked(tool, {name: fingerprints[name][tool.name] for name in names}) for tool in tools}
    return Contract(found, names)


def _fingerprints(tools: Registry, provider: str) -> dict[str, str]:
    bound = tools.bind(provider)
    return {tool.name: bound.subset([tool.name]).fingerprint for tool in tools}


def _locked(tool: Tool[..., Any], fingerprints: Mapping[str, str]) -> Locked:
    spec = tool.spec
    return Locked(
        spec.name, spec.title, spec.description, spec.parameters, spec.output, tuple(sorted(spec.effects)),
        tuple(spec.examples), fingerprints,
    )  # fmt: skip


def written_lock(contract: Contract) -> str:
    """The text of a lock file: JSON, a line for each value, in the order of the tools."""
    tools = {
        one.name: {key: value for key, value in one._asdict().items() if key != "name" and value not in (None, (), {})}
        for one in contract.tools.values()
    }
    content = {"version": _VERSION, "providers": list(contract.providers), "tools": tools}
    return json.dumps(content, indent=1, ensure_ascii=True) + "\n"


def read_lock(given: Path | str) -> Contract:
    """The contract in a lock file.

    Args:
        given: The path of the file.

    Raises:
        UsageError: There is none, or it is no lock file of a version that is known.
    """
    path = Path(given)
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != _VERSION:
            raise UsageError(f"{path} is of version {content['version']}, and this is {_VERSION}")
        tools = {str(name): _read(str(name), one) for name, one in content["tools"].items()}
        return Contract(tools, tuple(content["providers"]))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; toolshape lock writes it") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no lock file of toolshape ({error})") from error


def _read(name: str, given: JsonObject) -> Locked:
    return Locked(
        name, given.get("title"), given.get("description", ""), given["parameters"], given.get("output"),
        tuple(given.get("effects", ())), tuple(given.get("examples", ())), given.get("fingerprints", {}),
    )  # fmt: skip

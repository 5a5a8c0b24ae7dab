"""Writes and reads the lock file: a deterministic snapshot of every tool."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from toolshape._bound import bound_tools_of
from toolshape._calls import JsonObject, JsonSchema
from toolshape._errors import UsageError
from toolshape._families import get
from toolshape._registry import Registry, lenient
from toolshape._tool import Tool
from toolshape._validation.coercion import chosen_rules

try:
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.exceptions import SchemaError
except ImportError as error:
    raise ImportError("contracts need jsonschema: pip install 'toolshape[schema]'") from error


_VERSION = 1


class Locked(NamedTuple):
    """The contract of one tool: its canonical record, without the parts that only one provider gets.

    ``coerce`` holds the coercion rules that are on, or ``None`` for the default. ``fingerprints`` are those of the
    entries that are sent, by the provider's name.
    """

    name: str
    title: str | None
    description: str
    parameters: JsonSchema
    output: JsonSchema | None
    effects: tuple[str, ...]
    examples: tuple[JsonObject, ...]
    coerce: tuple[str, ...] | None
    fingerprints: Mapping[str, str]


class Contract(NamedTuple):
    """The contract of an application's tools, in their order; ``providers`` are the providers that the lock covers."""

    tools: Mapping[str, Locked]
    providers: tuple[str, ...]


def make_contract(tools: Registry, providers: Iterable[str] = ()) -> Contract:
    """Return the contract of tools, with fingerprints of the entries for each provider.

    Args:
        tools: The tools.
        providers: The names of the providers.

    Raises:
        ExportError: A provider is unknown, or one of the tools cannot be exported to it.
    """
    names = tuple(dict.fromkeys(providers))
    fingerprints = {name: _fingerprints(tools, name) for name in names}
    rules = _rules(tools)
    locked = {
        tool.name: _locked(tool, rules[tool.name], {name: fingerprints[name][tool.name] for name in names})
        for tool in tools
    }
    return Contract(locked, names)


def _rules(tools: Registry) -> dict[str, tuple[str, ...] | None]:
    """Return the coercion rules of each tool; ``None`` for the default."""
    bound, usual = lenient(tools).bind("json-schema"), chosen_rules()
    by_name: dict[str, tuple[str, ...] | None] = {}
    for wire_name, name in bound.names_by_wire_name().items():
        handler = bound_tools_of(bound).handlers.find(wire_name)
        rules = usual if handler is None else handler.shape.settings.rules
        by_name[name] = None if rules == usual else tuple(sorted(rules))
    return by_name


def _fingerprints(tools: Registry, provider: str) -> dict[str, str]:
    bound = tools.bind(get(provider))
    return {tool.name: bound.subset([tool.name]).fingerprint for tool in tools}


def _locked(tool: Tool[..., Any], coerce: tuple[str, ...] | None, fingerprints: Mapping[str, str]) -> Locked:
    spec = tool.spec
    return Locked(
        spec.name, spec.title, spec.description, spec.parameters, spec.output, tuple(sorted(spec.effects)),
        tuple(spec.examples), coerce, fingerprints,
    )  # fmt: skip


def dump_lock(contract: Contract) -> str:
    """Return the text of a lock file: JSON with a line for each value, in the order of the tools."""
    tools = {
        tool.name: {key: value for key, value in tool._asdict().items() if key != "name" and _is_said(key, value)}
        for tool in contract.tools.values()
    }
    content = {"version": _VERSION, "providers": list(contract.providers), "tools": tools}
    return json.dumps(content, indent=1, ensure_ascii=True) + "\n"


def _is_said(key: str, value: Any) -> bool:
    return value is not None if key == "coerce" else value not in (None, (), {})


class _LockedTool(BaseModel):
    """A tool in a lock file."""

    model_config = ConfigDict(strict=True, extra="forbid")
    title: str | None = None
    description: str = ""
    parameters: JsonSchema
    output: JsonSchema | None = None
    effects: list[str] = []
    examples: list[JsonObject] = []
    coerce: list[str] | None = None
    fingerprints: dict[str, str] = {}


class _LockFile(BaseModel):
    """A lock file."""

    model_config = ConfigDict(strict=True, extra="forbid")
    version: int
    providers: list[str]
    tools: dict[str, _LockedTool]


def load_lock(given: Path | str) -> Contract:
    """Read the contract from a lock file.

    Args:
        given: The path of the file.

    Raises:
        UsageError: The file does not exist, is not a lock file, or has an unknown version.
    """
    path = Path(given)
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        version = content.get("version") if isinstance(content, dict) else None
        if type(version) is int and version != _VERSION:
            raise UsageError(f"{path} has version {version}, but this toolshape reads version {_VERSION}")
        file = _LockFile.model_validate(content)
        return Contract({name: _read(name, tool, file) for name, tool in file.tools.items()}, tuple(file.providers))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; create it with toolshape lock") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path} is not a lock file of toolshape ({place}: {first['msg']})") from error
    except (ValueError, RecursionError, SchemaError) as error:
        reason = error.message if isinstance(error, SchemaError) else error
        raise UsageError(f"{path} is not a lock file of toolshape ({reason})") from error


def _read(name: str, given: _LockedTool, file: _LockFile) -> Locked:
    for schema in (given.parameters, given.output):
        if schema is not None:
            Draft202012Validator.check_schema(
                schema, format_checker=FormatChecker(formats=())
            )  # patterns may be in Rust's dialect
    if given.parameters.get("type") != "object":
        raise ValueError(f"tools.{name}.parameters: the type is not object")
    if given.fingerprints.keys() != set(file.providers):
        raise ValueError(f"tools.{name}.fingerprints: the names are not those of the providers")
    return Locked(
        name, given.title, given.description, given.parameters, given.output, tuple(given.effects),
        tuple(given.examples), None if given.coerce is None else tuple(given.coerce), given.fingerprints,
    )  # fmt: skip

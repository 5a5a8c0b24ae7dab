"""Writes and reads the lock file: a deterministic snapshot of every tool."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import SchemaError as CoreSchemaError

from toolshape._answers.answer import ANSWER_FIELD
from toolshape._answers.output import Output
from toolshape._answers.record import NOT_OF_OUTPUTS, record_of_output
from toolshape._bound.bound import bound_tools_of
from toolshape._bound.registry import Registry, without_strict
from toolshape._families import get
from toolshape._records.calls import Grammar, JsonObject, JsonSchema, Spec
from toolshape._records.errors import UsageError
from toolshape._tools.source import FunctionSource
from toolshape._tools.tool import Tool, record_of
from toolshape._validation.coercion import choose_rules
from toolshape.contract._checks import Checks, checks_of, leaf_accepts

try:
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.exceptions import SchemaError
except ImportError as error:
    raise ImportError("contracts need jsonschema: pip install 'toolshape[schema]'") from error


_VERSION = 1


class Locked(NamedTuple):
    """The contract of one tool or output: its canonical record, without the parts
    that only one provider receives.

    For an output, ``parameters`` is the schema of the answer. ``coerce`` holds the coercion rules
    that are on, or ``None`` for the default rules. ``fingerprints`` maps each provider's name to a
    fingerprint of the entry that this provider receives. ``checks`` holds what the model checks
    beyond the schema, by place: strictness, bounds of values that JSON writes as text, digests of
    the author's validators. It is ``None`` if the lock does not say.
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
    checks: Checks | None = MappingProxyType({})


class Contract(NamedTuple):
    """An application's contract: its tools, in their order, and its outputs.

    ``providers`` are the providers that the fingerprints cover.
    """

    tools: Mapping[str, Locked]
    providers: tuple[str, ...]
    outputs: Mapping[str, Locked] = MappingProxyType({})


def make_contract(
    tools: Registry, providers: Iterable[str] = (), outputs: Iterable[Output[Any]] = ()
) -> Contract:
    """Return the contract of tools and outputs, with fingerprints of the
    entries that each provider receives.

    Args:
        tools: The tools.
        providers: The names of the providers.
        outputs: The outputs. Their names must differ.

    Raises:
        ExportError: A provider is unknown, or a tool or output cannot be exported to a provider.
        UsageError: Two outputs have the same name.
        DefinitionError: Some of the tools' definitions cannot be read.
    """
    tools.check()
    names = tuple(dict.fromkeys(providers))
    fingerprints = {name: _fingerprints(tools, name) for name in names}
    rules = _rules(tools)
    locked = {
        tool.name: _lock_tool(
            tool, rules[tool.name], {name: fingerprints[name][tool.name] for name in names}
        )
        for tool in tools
    }
    locked_outputs: dict[str, Locked] = {}
    for output in outputs:
        if output.name in locked_outputs:
            raise UsageError(f"two outputs are called {output.name!r}: pass name= to one of them")
        locked_outputs[output.name] = _lock_output(output, names)
    return Contract(locked, names, locked_outputs)


def _lock_output(output: Output[Any], providers: Iterable[str]) -> Locked:
    record = record_of_output(output)
    default_rules = choose_rules() - NOT_OF_OUTPUTS
    if record.rules == default_rules:
        rules = None
    else:
        rules = tuple(sorted(record.rules))
    fingerprints = {
        name: _fingerprint(output.bind(get(name)).request())
        for name in providers
        if _has_conversations(name)
    }
    schema = record.spec.schema
    core_schema: Any = record.definition.model.__pydantic_core_schema__
    checks = checks_of(core_schema)
    if not record.is_wrapped:  # the model has one field, and the answer is its value
        checks = {
            path.removeprefix(ANSWER_FIELD).removeprefix("."): facts
            for path, facts in checks.items()
        }
    return Locked(
        output.name, None, output.description, schema, None, (), (), rules, fingerprints, checks
    )


def _has_conversations(provider: str) -> bool:
    return get(provider).histories is not None


def _fingerprint(request: JsonObject) -> str:
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()[:16]


def _rules(tools: Registry) -> dict[str, tuple[str, ...] | None]:
    """Return the coercion rules of each tool, or ``None`` for the default rules."""
    bound, default_rules = without_strict(tools).bind("json-schema"), choose_rules()
    by_name: dict[str, tuple[str, ...] | None] = {}
    for wire_name, name in bound.names_by_wire_name().items():
        handler = bound_tools_of(bound).handlers.find(wire_name)
        if handler is None:
            rules = default_rules
        else:
            rules = handler.shape.settings.rules
        by_name[name] = None if rules == default_rules else tuple(sorted(rules))
    return by_name


def _fingerprints(tools: Registry, provider: str) -> dict[str, str]:
    bound = tools.bind(get(provider))
    return {tool.name: bound.subset([tool.name]).fingerprint for tool in tools}


def _lock_tool(
    tool: Tool[..., Any], coerce: tuple[str, ...] | None, fingerprints: Mapping[str, str]
) -> Locked:
    spec = tool.spec
    return Locked(
        spec.name, spec.title, spec.description, spec.parameters, spec.output,
        tuple(sorted(spec.effects)),
        tuple(spec.examples), coerce, fingerprints, _checks_of_tool(tool, spec),
    )  # fmt: skip


def _checks_of_tool(tool: Tool[..., Any], spec: Spec) -> Checks:
    """Return what a tool checks beyond its schema; the schema of a definition
    says everything but a grammar.
    """
    source = record_of(tool).source
    checks: dict[str, tuple[JsonObject, ...]] = {}
    if isinstance(source, FunctionSource):
        core_schema: Any = source.model().__pydantic_core_schema__
        checks.update(checks_of(core_schema))
    if isinstance(spec.free_text, Grammar):
        (field,) = spec.parameters["properties"]
        fact = {"validator": "grammar", **spec.free_text._asdict()}
        checks[field] = (*checks.get(field, ()), fact)
    return checks


def dump_lock(contract: Contract) -> str:
    """Return the text of a lock file: JSON with a line for each value, in the order of the
    tools.
    """
    content: JsonObject = {
        "version": _VERSION,
        "providers": list(contract.providers),
        "has_checks": True,
        "tools": _dump_entries(contract.tools),
    }
    if contract.outputs:
        content["outputs"] = _dump_entries(contract.outputs)
    return json.dumps(content, indent=1, ensure_ascii=True) + "\n"


def _dump_entries(locked: Mapping[str, Locked]) -> JsonObject:
    return {
        entry.name: {
            key: value
            for key, value in entry._asdict().items()
            if key != "name" and _is_written(key, value)
        }
        for entry in locked.values()
    }


def _is_written(key: str, value: Any) -> bool:
    if key == "coerce":
        return value is not None
    return value not in (None, (), {})


class _LockedTool(BaseModel):
    """The form of a tool or an output in a lock file."""

    model_config = ConfigDict(strict=True, extra="forbid")
    title: str | None = None
    description: str = ""
    parameters: JsonSchema
    output: JsonSchema | None = None
    effects: list[str] = []
    examples: list[JsonObject] = []
    coerce: list[str] | None = None
    fingerprints: dict[str, str] = {}
    checks: dict[str, list[JsonObject]] = {}


class _LockFile(BaseModel):
    """The form of a lock file.

    Without ``has_checks``, it does not say what the tools check beyond their schemas.
    """

    model_config = ConfigDict(strict=True, extra="forbid")
    version: int
    providers: list[str]
    has_checks: bool = False
    tools: dict[str, _LockedTool]
    outputs: dict[str, _LockedTool] = {}


def load_lock(given: Path | str) -> Contract:
    """Read the contract from a lock file.

    Args:
        given: The path of the file.

    Raises:
        UsageError: The file does not exist, is not a lock file, or has an unknown version.
    """
    path = Path(given)
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8-sig"))
        if not isinstance(content, dict):
            raise UsageError(f"{path} is not a toolshape lock file (it holds no JSON object)")
        version = content.get("version")
        if type(version) is int and version != _VERSION:
            raise UsageError(
                f"{path} has version {version}, but this toolshape reads version {_VERSION}"
            )
        file = _LockFile.model_validate(content)
        providers = set(file.providers)
        tools = {
            name: _read_entry(f"tools.{name}", name, tool, providers)
            for name, tool in file.tools.items()
        }
        answer_providers = set(filter(_has_conversations, providers))
        outputs = {
            name: _read_entry(f"outputs.{name}", name, given, answer_providers)
            for name, given in file.outputs.items()
        }
        if not file.has_checks:
            tools, outputs = _without_checks(tools), _without_checks(outputs)
        return Contract(tools, tuple(file.providers), outputs)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}; create it with toolshape lock"
        ) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{path} is not a toolshape lock file ({place}: {first['msg']})"
        ) from error
    except (ValueError, RecursionError, SchemaError) as error:
        reason = error.message if isinstance(error, SchemaError) else error
        raise UsageError(f"{path} is not a toolshape lock file ({reason})") from error


def _without_checks(entries: Mapping[str, Locked]) -> dict[str, Locked]:
    return {name: entry._replace(checks=None) for name, entry in entries.items()}


def _read_entry(place: str, name: str, given: _LockedTool, providers: Collection[str]) -> Locked:
    for schema in (given.parameters, given.output):
        if schema is not None:
            # The patterns may be in Rust's regex dialect.
            Draft202012Validator.check_schema(schema, format_checker=FormatChecker(formats=()))
    if given.parameters.get("type") != "object":
        raise ValueError(f"{place}.parameters: the type is not object")
    if given.fingerprints.keys() != providers:
        raise ValueError(f"{place}.fingerprints: the names differ from the names in providers")
    for path, facts in given.checks.items():
        try:
            leaf_accepts(facts)
        except (CoreSchemaError, KeyError, TypeError) as error:
            raise ValueError(f"{place}.checks.{path}: no such check") from error
    return Locked(
        name, given.title, given.description, given.parameters, given.output, tuple(given.effects),
        tuple(given.examples), None if given.coerce is None else tuple(given.coerce), given.fingerprints,
        {path: tuple(facts) for path, facts in given.checks.items()},
    )  # fmt: skip

"""Exports a tool to one provider: its entry, and the lens for its arguments."""

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from toolshape._families.wire.provider import Provider, SchemaRules
from toolshape._records.calls import (
    PLAIN_TEXT,
    Finding,
    Grammar,
    JsonObject,
    JsonSchema,
    Loss,
    Spec,
    Strictness,
    Verbatim,
    plain_text,
)
from toolshape._records.errors import ExportError, Problem
from toolshape._schema.checks import broken
from toolshape._schema.keywords import keywords
from toolshape._schema.lens import Lens, Pass, UnsupportedError
from toolshape._schema.values import copy_json
from toolshape._schema.walk import compose, nodes_of


class WireTool(NamedTuple):
    """One tool as toolshape sends it to a provider: the entry, and the lens that made its schema.

    ``takes_text``: the model writes the only argument as plain text, so the entry has no schema.
    """

    wire_name: str
    description: str
    is_strict: bool
    payload: JsonObject
    lens: Lens
    notes: tuple[Loss | Finding, ...] = ()
    takes_text: bool = False


# The keywords that "auto" may change: either toolshape fully reverses the change when it reads a
# call, or the keyword constrains nothing.
_HARMLESS = frozenset(
    {
        "required",
        "enum",
        "const",
        "default",
        "title",
        "examples",
        "deprecated",
        "description",
        "$schema",
    }
)

_MAX_GROWTH = 4  # The rewritten schema may be at most this many times as long as the original.


def to_wire(provider: Provider, spec: Spec, strict: Strictness = "auto") -> WireTool:
    """Export one tool to a provider.

    Args:
        provider: The provider that receives the tool.
        spec: The tool.
        strict: Whether the provider constrains the arguments. ``"auto"`` chooses strict if the
            provider documents the schemas that it supports, and if the rewrite only changes names
            and enums, or sends null for omitted fields.

    Raises:
        ExportError: The provider would refuse the tool, or ``strict`` is ``True`` and the provider
            has no strict form.
    """
    if strict is True and provider.schema.strict is None:
        message = f"{provider.name} has no strict form of a tool: leave out strict="
        raise _export_error(provider, spec, [Problem(path="", rule="strict", message=message)])
    if spec.verbatim is not None and spec.verbatim.form == provider.form:
        return _export_verbatim(provider, spec, spec.verbatim, strict)
    notes: list[Loss | Finding] = []
    if spec.free_text and provider.request.free_text is not None:
        return _export_free_text(provider, spec, provider.request.free_text)
    if isinstance(spec.free_text, Grammar):
        spec, loss = _say_grammar(spec, spec.free_text)
        notes.append(loss)
    parameters, description = spec.parameters, spec.description
    longest = provider.request.longest_description
    if longest is not None and len(description) > longest.most:
        parameters, description, loss = _move_overflow(provider, spec, longest.most)
        notes.append(loss)
    lens, is_strict, problems, hindrances = rewrite(
        provider.schema, parameters, strict, functools.partial(_is_harmful, spec)
    )
    if problems:
        raise _export_error(provider, spec, problems)
    notes += hindrances
    notes += _growth(provider, spec, lens.schema)
    name, name_notes = _sent_name(provider, spec)
    notes += name_notes
    if is_strict:
        notes += strict_notes(provider.schema, lens.schema)
    wire_spec = spec._replace(name=name, description=description)
    lens, payload, entry_losses = _entry(provider, wire_spec, is_strict, lens)
    return WireTool(
        wire_name=name,
        description=description,
        is_strict=is_strict,
        payload=payload,
        lens=lens,
        notes=(*notes, *entry_losses),
    )


def strict_notes(rules: SchemaRules, schema: JsonSchema) -> list[Loss | Finding]:
    """Return what a report says of a schema that is sent in strict form: what it
    needs, and what is kept of it.
    """
    notes: list[Loss | Finding] = []
    if rules.strict_needs:
        notes.append(Finding(path="", rule="provider_needs", message=rules.strict_needs))
    found = {key for node, _ in nodes_of(schema) for key in node if key in _LIMITS}
    if rules.engine and found:
        named = ", ".join(sorted(found))
        message = f"kept by the engine (measured): {named}; {rules.engine}"
        notes.append(Finding(path="", rule="kept_by_engine", message=message))
    return notes


_LIMITS = frozenset(keywords("asserts", holds="value")) - {"required", "enum", "const", "type"}
"""The keywords that engines differ about: bounds, patterns and formats."""


def _sent_name(provider: Provider, spec: Spec) -> tuple[str, list[Loss]]:
    """Return the name under which a tool is sent, and the loss if it is not the tool's own."""
    name = wire_name_of(provider, spec.name)
    if name == spec.name:
        return name, []
    return name, [Loss(path="", keyword="name", kind="renamed", note=f"sent as {name!r}")]


def _export_free_text(
    provider: Provider, spec: Spec, write: Callable[[Spec], JsonObject]
) -> WireTool:
    """Export a tool whose only argument is plain text, for a provider that takes such tools.

    The entry has no schema. What the schema says of the argument is lost, except for its
    description.
    """
    [(field, schema)] = spec.parameters["properties"].items()
    losses: list[Loss | Finding] = []
    description = spec.description
    if described := str(schema.get("description", "")).strip():
        description = f"{description}\n\n{field}: {described}".strip()
        note = "the description of the tool has it"
        losses.append(Loss(path=field, keyword="description", kind="moved", note=note))
    losses += [
        Loss(path=field, keyword=keyword, kind="dropped", note="plain text has no schema")
        for keyword in schema
        if keyword not in _TOLD
    ]
    if spec.examples:
        note = "a tool has no field for examples"
        losses.append(Loss(path="", keyword="examples", kind="dropped", note=note))
    name, name_notes = _sent_name(provider, spec)
    losses += name_notes

    def back(value: Any) -> Any:
        text = plain_text(value)
        if text is None:
            return value
        return {field: text}

    def out(value: Any) -> Any:
        is_text = isinstance(value, dict) and value.keys() == {field}
        if is_text and type(value[field]) is str:
            return {PLAIN_TEXT: value[field]}
        return value

    lens = Lens(schema=spec.parameters, back=back, out=out)
    payload = write(spec._replace(name=name, description=description))
    payload = _merge_author_keys(provider, spec, copy_json(payload), lens)
    payload, deferral_losses = _mark_deferred(provider, spec, payload)
    return WireTool(
        wire_name=name,
        description=description,
        is_strict=False,
        payload=payload,
        lens=lens,
        notes=(*losses, *deferral_losses),
        takes_text=True,
    )


_TOLD = frozenset({"type", "title", "description"})
"""What is said of a plain text without a schema."""


def _say_grammar(spec: Spec, grammar: Grammar) -> tuple[Spec, Loss]:
    """Return a tool whose argument's description holds the grammar, for
    providers that take no grammars.
    """
    [(field, schema)] = spec.parameters["properties"].items()
    if grammar.syntax == "lark":
        kind = "this Lark grammar"
    else:
        kind = "this regular expression as a whole"
    said = f"The text must fit {kind}:\n{grammar.definition}"
    described = str(schema.get("description", "")).strip()
    properties = {field: {**schema, "description": f"{described}\n{said}".strip()}}
    loss = Loss(path=field, keyword="grammar", kind="moved", note="the description states it")
    return spec._replace(parameters={**spec.parameters, "properties": properties}), loss


_MOST_BYTES = 256_000
"""The most that a schema may have as JSON.

Providers refuse less; this is for definitions that nobody has read.
"""
_MUCH = 10
_LONG = 4_000


def _growth(provider: Provider, spec: Spec, sent: JsonSchema) -> list[Finding]:
    """Return a finding if a schema is sent at many times its size, because
    the provider takes no references.

    Raises:
        ExportError: The schema is too large to be sent.
    """
    size = len(json.dumps(sent))
    if size > _MOST_BYTES:
        message = (
            f"the schema would be sent with {size:,} bytes, and at most {_MOST_BYTES:,} are: "
            "split the tool"
        )
        problem = Problem(path=_largest_field(sent), rule="too_large", message=message)
        raise _export_error(provider, spec, [problem])
    if size < _LONG or "$defs" not in spec.parameters or "$defs" in sent:
        return []
    times = size // len(json.dumps(spec.parameters))
    if times < _MUCH:
        return []
    message = (
        f"sent at {times} times its size ({size:,} bytes): {provider.name} takes no references"
    )
    return [Finding(path=_largest_field(sent), rule="grown", message=message)]


def _largest_field(schema: JsonSchema) -> str:
    """Return the field that holds most of a schema."""
    fields = schema.get("properties", {})
    return max(fields, key=lambda name: len(json.dumps(fields[name])), default="")


def _entry(
    provider: Provider, spec: Spec, is_strict: bool, lens: Lens
) -> tuple[Lens, JsonObject, list[Loss]]:
    """Build the entry with the author's examples and keys; report examples and keys
    that the provider does not take.
    """
    losses: list[Loss] = []
    examples = [example if lens.out is None else lens.out(example) for example in spec.examples]
    if examples and provider.request.examples is None:
        losses.append(
            Loss(
                path="", keyword="examples", kind="dropped", note="a tool has no field for examples"
            )
        )
    if examples and provider.request.examples == "schema":
        lens = lens._replace(schema={**lens.schema, "examples": examples})
    payload: JsonObject = copy_json(
        provider.request.envelope(spec._replace(parameters=lens.schema), is_strict)
    )
    if examples and provider.request.examples not in (None, "schema"):
        payload[str(provider.request.examples)] = copy_json(examples)
    payload = _merge_author_keys(provider, spec, payload, lens)
    for key in sorted(provider.request.lacks & payload.keys()):
        del payload[key]
        losses.append(
            Loss(path="", keyword=key, kind="dropped", note="this revision has no such key")
        )
    payload, deferral_losses = _mark_deferred(provider, spec, payload)
    return lens, payload, [*losses, *deferral_losses]


def is_significant(loss: Loss) -> bool:
    """Return whether a loss matters.

    A new name, null for an omitted field, or a rewritten enum does not matter.
    """
    return loss.kind != "renamed" and loss.keyword not in _HARMLESS


def _is_harmful(spec: Spec, loss: Loss) -> bool:
    """Whether a loss in the strict form keeps ``"auto"`` from choosing it for a tool.

    A definition rarely says that an object has no other fields, and hardly ever means that it has.
    So the strict form may say it of the object of all arguments, unless that names no field at all,
    and of the objects inside if whoever imported the definition says so. The calls are still
    validated by the schema as written.
    """
    is_closing = loss.keyword == "additionalProperties" and loss.kind == "narrowed"
    names_fields = bool(spec.parameters.get("properties"))
    if is_closing and names_fields and (spec.is_closed or not loss.path):
        return False
    return is_significant(loss)


def export_problems(rules: SchemaRules, schema: Any, *, is_strict: bool) -> list[Problem]:
    """Return the problems that would make a provider with these rules refuse the rewritten
    schema.
    """
    return broken(schema, (*rules.refuses, *(rules.refuses_strict if is_strict else ())))


def wire_name_of(provider: Provider, name: str) -> str:
    """Return the wire name of a tool: its own name, or a name derived only from that name.

    Raises:
        ExportError: The provider accepts neither name.
    """
    rule = provider.names
    wire_name = rule.wire_name(name)
    if wire_name is not None:
        return wire_name
    message = (
        f"{name!r} is not a valid tool name for this provider, nor is any name derived from it: "
        "pass name="
    )
    problem = Problem(path="name", rule="name", message=message, evidence=rule.evidence)
    raise ExportError(provider=provider.name, tool=name, problems=[problem])


class Rewritten(NamedTuple):
    """A schema rewritten for a provider: whether it is strict, the problems that
    remain, and why it is not strict.
    """

    lens: Lens
    is_strict: bool
    problems: list[Problem]
    hindrances: list[Finding]


def rewrite(
    rules: SchemaRules,
    schema: JsonSchema,
    strict: Strictness,
    is_harmful: Callable[[Loss], bool] = is_significant,
) -> Rewritten:
    """Rewrite a schema by a provider's rules.

    Args:
        rules: The provider's rules.
        schema: The canonical schema.
        strict: Whether the provider constrains the values. ``"auto"`` chooses strict if no loss is
            harmful and the schema stays short.
        is_harmful: Returns whether a loss in the strict form keeps ``"auto"`` from choosing strict.
    """
    if strict == "auto":
        wants_strict = rules.is_strict_by_auto
    else:
        wants_strict = strict
    hindrances: list[Finding] = []
    if wants_strict and rules.strict is not None:
        lens, problems = _try_passes(rules, rules.strict, schema, is_strict=True)
        is_harmless = not any(map(is_harmful, lens.losses))
        # Inlining reports no loss, but the model reads the inlined schema at every turn, so its
        # growth is limited.
        is_harmless = is_harmless and len(json.dumps(lens.schema)) <= _MAX_GROWTH * len(
            json.dumps(schema)
        )
        if strict is True or (is_harmless and not problems):
            return Rewritten(lens, True, problems, [])
        hindrances = _strict_obstacles(lens, problems, is_harmful)
    lens, problems = _try_passes(rules, rules.lenient, schema, is_strict=False)
    return Rewritten(lens, False, problems, hindrances)


def _strict_obstacles(
    lens: Lens, problems: Sequence[Problem], is_harmful: Callable[[Loss], bool]
) -> list[Finding]:
    """Report why a tool is not strict: the first problem or harmful loss in its
    strict form, or the schema's length.
    """
    findings = [
        Finding(path=problem.path, rule="not_strict", message=f"not strict: {problem.message}")
        for problem in problems
    ]
    for loss in lens.losses:
        if is_harmful(loss):
            message = (
                f"not strict: strict mode would change {loss.keyword} ({loss.note}); strict=True "
                "accepts that"
            )
            findings.append(Finding(path=loss.path, rule="not_strict", message=message))
    return findings[:1] or [
        Finding(path="", rule="not_strict", message="not strict: the schema would grow too long")
    ]


def _try_passes(
    rules: SchemaRules, passes: tuple[Pass, ...], schema: JsonSchema, *, is_strict: bool
) -> tuple[Lens, list[Problem]]:
    try:
        lens = compose(passes)(schema)
    except UnsupportedError as error:
        return Lens(schema=schema), [Problem(path=error.path, rule=error.rule, message=str(error))]
    except RecursionError:
        return Lens(schema=schema), [
            Problem(path="", rule="too_large", message="the schema is nested too deeply")
        ]
    return lens, export_problems(rules, lens.schema, is_strict=is_strict)


def _export_verbatim(
    provider: Provider, spec: Spec, verbatim: Verbatim, strict: Strictness
) -> WireTool:
    """Return the author's entry unchanged, if the provider accepts it and no option contradicts
    it.
    """
    problems = export_problems(provider.schema, verbatim.schema, is_strict=verbatim.is_strict)
    if strict != "auto" and strict is not verbatim.is_strict and provider.schema.strict is not None:
        if verbatim.is_strict:
            strictness = "strict"
        else:
            strictness = "not strict"
        message = (
            f"the definition is sent as written, which is {strictness}: leave out strict= or "
            "verbatim="
        )
        problems.append(Problem(path="", rule="strict", message=message))
    if verbatim.is_strict and provider.schema.strict is None:
        problems.append(
            Problem(path="", rule="strict", message=f"{provider.name} has no strict form of a tool")
        )
    longest = provider.request.longest_description
    if longest is not None and len(spec.description) > longest.most:
        message = (
            f"the description has {len(spec.description)} characters, at most {longest.most} are "
            "allowed: "
        )
        message += "shorten it, or leave out verbatim="
        problems.append(
            Problem(path="", rule="description", message=message, evidence=longest.evidence)
        )
    if not provider.names.admits(verbatim.name):
        message = f"{verbatim.name!r} is not a valid tool name for this provider"
        problems.append(
            Problem(path="name", rule="name", message=message, evidence=provider.names.evidence)
        )
    if problems:
        raise _export_error(provider, spec, problems)
    payload, losses = _mark_deferred(provider, spec, copy_json(verbatim.entry))
    lens = Lens(schema=verbatim.schema)
    return WireTool(
        wire_name=verbatim.name,
        description=spec.description,
        is_strict=verbatim.is_strict,
        payload=payload,
        lens=lens,
        notes=tuple(losses),
    )


def _mark_deferred(
    provider: Provider, spec: Spec, payload: JsonObject
) -> tuple[JsonObject, list[Loss]]:
    """Mark the entry of a deferred tool; report the loss if the provider has no tool search."""
    if spec.deferred is False:
        return payload, []
    if provider.request.deferral is None:
        note = "sent like any other tool: this provider has no tool search"
        return payload, [Loss(path="", keyword="deferred", kind="dropped", note=note)]
    return provider.request.deferral.mark(payload, spec.deferred), []


def _move_overflow(provider: Provider, spec: Spec, longest: int) -> tuple[JsonSchema, str, Loss]:
    """Move the part of a description that exceeds the limit into the
    description of the first parameter.
    """
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    first_parameter = next(iter([*spec.parameters.get("required", ()), *properties]), None)
    if first_parameter is None or not isinstance(properties.get(first_parameter), dict):
        message = (
            f"the description has {len(spec.description)} characters, at most {longest} are "
            "allowed, and no parameter "
            "can hold the rest: shorten it"
        )
        raise _export_error(provider, spec, [Problem(path="", rule="description", message=message)])
    pointer = f" (More at {first_parameter}.)"
    head, overflow = _split_description(spec.description, longest - len(pointer))
    own_description = str(properties[first_parameter].get("description", "")).strip()
    changed_parameter = {
        **properties[first_parameter],
        "description": f"{own_description} (On the tool itself: {overflow})".strip(),
    }
    loss = Loss(
        path="",
        keyword="description",
        kind="moved",
        note=f"the text beyond {longest} characters is in the description of {first_parameter!r}",
    )
    return (
        {**spec.parameters, "properties": {**properties, first_parameter: changed_parameter}},
        head + pointer,
        loss,
    )


def _split_description(text: str, longest: int) -> tuple[str, str]:
    """Cut text after the last paragraph, sentence or word that fits."""
    for end in ("\n\n", ". ", " "):
        position = text.rfind(end, longest // 2, longest)
        if position > 0:
            return text[: position + len(end)].rstrip(), text[position + len(end) :].strip()
    return text[:longest], text[longest:]


def _merge_author_keys(
    provider: Provider, spec: Spec, payload: JsonObject, lens: Lens
) -> JsonObject:
    """Merge the keys that the author wrote for this provider into the entry.

    If the keys include examples, rewrite the examples in the same way as arguments.
    """
    base = provider.name.partition(":")[0]
    for name in dict.fromkeys((base, provider.name)):
        keys = spec.keys.get(name, {})
        if provider.request.examples in keys and lens.out is not None:
            keys = {
                **keys,
                provider.request.examples: [
                    lens.out(example) for example in keys[provider.request.examples]
                ],
            }
        payload = _merge_keys(provider, spec, payload, keys, lens.schema, "")
    return payload


_OVERRIDABLE = frozenset({"description", "title"})


def _merge_keys(
    provider: Provider,
    spec: Spec,
    payload: JsonObject,
    keys: Mapping[str, Any],
    schema: JsonSchema,
    path: str,
) -> JsonObject:
    merged = dict(payload)
    for key, value in keys.items():
        existing = payload.get(key)
        if isinstance(existing, dict) and isinstance(value, dict) and existing != schema:
            merged[key] = _merge_keys(provider, spec, existing, value, schema, f"{path}{key}.")
        elif (key in payload or key == "strict") and key not in _OVERRIDABLE and existing != value:
            message = (
                f"providers[{provider.name!r}] sets {path}{key}, which is generated from the "
                "function"
            )
            raise _export_error(
                provider, spec, [Problem(path="", rule="providers", message=message)]
            )
        else:
            merged[key] = copy_json(value)
    return merged


def _export_error(provider: Provider, spec: Spec, problems: list[Problem]) -> ExportError:
    return ExportError(provider=provider.name, tool=spec.name, problems=problems)

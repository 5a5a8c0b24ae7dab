"""Writes the answer's schema for a provider: as a field of the request, or as a tool.

The tool is one that the model must call.
"""

from typing import NamedTuple

from toolshape._families.wire.provider import Choice, OutputForm, OutputSchema, Provider
from toolshape._records.calls import Finding, JsonObject, JsonSchema, Loss, Spec, Strictness
from toolshape._records.errors import ExportError, Problem
from toolshape._schema.lens import Lens
from toolshape._schema.values import copy_json
from toolshape._tools.export import rewrite, strict_notes, to_wire


class OutputSpec(NamedTuple):
    """The canonical record of an output: its name, its description, and
    the schema of the model's answer.
    """

    name: str
    description: str
    schema: JsonSchema


class WireOutput(NamedTuple):
    """An output, written as part of a request to one provider.

    ``keywords`` are keyword arguments of a request. ``tool`` is the wire name of the tool that the
    model must call, or ``None`` if the answer is the text of the response. A report lists the
    losses of the lens and the ``notes``.
    """

    keywords: JsonObject
    lens: Lens
    is_strict: bool
    tool: str | None
    notes: tuple[Loss | Finding, ...]


def output_to_wire(provider: Provider, spec: OutputSpec, strict: Strictness) -> WireOutput:
    """Write an output for a provider.

    Args:
        provider: The provider that receives the request.
        spec: The output to ask for.
        strict: Whether the provider constrains the answer. ``"auto"`` chooses strict if the strict
            form excludes no value that the schema allows.

    Raises:
        ExportError: The provider would refuse the schema, has no strict form, or is not an LLM's
            API.
    """
    if provider.histories is None:
        message = f"{provider.name} is not the API of a model, so it cannot be asked for an answer"
        raise _export_error(provider, spec, [Problem(path="", rule="provider", message=message)])
    # What was asked is judged before the schema is rewritten: that error names the option to
    # change, and a problem of the rewrite a place in the schema.
    form = provider.output
    if form is None:
        return _write_as_tool(provider, spec, strict)
    if strict is False and form.is_always_strict:
        message = f"{provider.name} constrains every answer to its schema: leave out strict="
        raise _export_error(provider, spec, [Problem(path="", rule="strict", message=message)])
    rules = form.schema or provider.schema
    if strict is True and rules.strict is None:
        message = f"{provider.name} has no strict form of an output: leave out strict="
        raise _export_error(provider, spec, [Problem(path="", rule="strict", message=message)])
    requested_strict = rules.strict is not None if form.is_always_strict else strict
    lens, is_strict, problems, hindrances = rewrite(
        rules, spec.schema, requested_strict, _is_harmful
    )
    if problems:
        raise _export_error(provider, spec, problems)
    notes: list[Loss | Finding] = [*hindrances]
    if is_strict:
        notes += strict_notes(rules, lens.schema)
    name = spec.name if form.names is None else form.names.wire_name(spec.name) or "answer"
    if name != spec.name:
        notes.append(Loss(path="", keyword="name", kind="renamed", note=f"sent as {name!r}"))
    return WireOutput(
        _keywords(form, spec, name, lens, is_strict), lens, is_strict, None, tuple(notes)
    )


def _is_harmful(loss: Loss) -> bool:
    """Return whether the strict form excludes a value that the schema
    allows, or sends a map as pairs.

    A loss does not count if a value only changes its form, or if only toolshape checks a rule. A
    map counts: models write pairs less well than an object, and ``"auto"`` chooses the same for a
    map in a tool and in an answer.
    """
    return loss.kind == "narrowed" or (
        loss.kind == "reshaped" and loss.keyword == "additionalProperties"
    )


def _keywords(
    form: OutputForm, spec: OutputSpec, name: str, lens: Lens, is_strict: bool
) -> JsonObject:
    schema = dict(lens.schema)
    description = spec.description or str(schema.get("description", ""))
    schema.pop("description", None)
    if description and not form.has_description:
        schema["description"] = description
    keywords: JsonObject = copy_json(
        form.keywords(OutputSchema(name, description, schema, is_strict))
    )
    return keywords


def _write_as_tool(provider: Provider, spec: OutputSpec, strict: Strictness) -> WireOutput:
    """Ask for the answer with a tool that the model must call, or may call if
    the provider cannot force a call.
    """
    tool = Spec(
        name=spec.name,
        title=None,
        description=spec.description,
        parameters=spec.schema,
        output=None,
    )
    wire_tool = to_wire(provider, tool, strict)
    entries = provider.request.gather([copy_json(wire_tool.payload)])
    names = (wire_tool.wire_name,)
    choice = Choice(
        provider.name, names=names, chosen=tuple(entries), is_strict=wire_tool.is_strict
    )
    note = f"{provider.name} has no field for a schema: sent as a tool that the model must call"
    try:
        keywords = provider.request.keywords(entries, choice)
    except ExportError:
        keywords = provider.request.keywords(entries, choice._replace(names=(), chosen=()))
        note = (
            f"{provider.name} has no field for a schema, and cannot force a call: sent as a tool; "
            "ask for the call in the prompt"
        )
    finding = Finding(path="", rule="answered_by_tool", message=note)
    return WireOutput(
        keywords,
        wire_tool.lens,
        wire_tool.is_strict,
        wire_tool.wire_name,
        (finding, *wire_tool.notes),
    )


def _export_error(provider: Provider, spec: OutputSpec, problems: list[Problem]) -> ExportError:
    return ExportError(provider=provider.name, tool=spec.name, problems=problems)

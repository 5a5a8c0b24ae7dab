"""A provider for each format in which models write their calls as text."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from toolshape._families import huggingface
from toolshape._families.openai import messages as openai_messages, schema as openai_schema
from toolshape._families.text.format import TextFormat
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.responses import form_of
from toolshape._families.text.values import admits_texts_and_others
from toolshape._families.wire.ids import made_up_id
from toolshape._families.wire.provider import Facts, NameRule, Provider
from toolshape._records.calls import JsonSchema, Loss, WireCall, WireMessage
from toolshape._schema.lens import PATH, Lens
from toolshape._schema.references import resolver

FAMILY = "text"


def _report_losses(text_format: TextFormat, schema: JsonSchema) -> Lens:
    """Return the schema unchanged, and report as losses the values that
    an untyped format cannot write.
    """
    properties = schema.get("properties", {})
    resolve = resolver(schema)
    closing_mark = text_format.layout.parameter.partition("{value}")[2].strip()
    losses = [
        Loss(
            path="",
            keyword="type",
            kind="narrowed",
            note=f"a string that holds {closing_mark} cannot be written",
        )
    ]
    losses += [
        Loss(
            path=str(node.get(PATH, key)) if isinstance(node, dict) else key,
            keyword="anyOf",
            kind="narrowed",
            note="a string that would be read as another type cannot be written",
        )
        for key, node in properties.items()
        if admits_texts_and_others(node, resolve)
    ]
    return Lens(schema, losses=tuple(losses) if properties else ())


def _write_calls(text_format: TextFormat, calls: Sequence[WireCall]) -> list[WireMessage]:
    """Write each call with its arguments as an object, and with an id if the chat
    template or the format needs one.
    """
    if text_format.id_form:
        calls = [
            call._replace(
                id=call.id or text_format.id_form.format(name=call.wire_name, number=number)
            )
            for number, call in enumerate(calls)
        ]
    elif text_format.needs_ids:
        calls = [
            call._replace(id=call.id or made_up_id(call.wire_name, call.arguments, number))
            for number, call in enumerate(calls)
        ]
    return huggingface.write_calls(calls)


def _provider(text_format: TextFormat) -> Provider:
    base = huggingface.HUGGINGFACE
    form = _form_of_results(text_format)
    loss_lenses = (partial(_report_losses, text_format),) if text_format.is_untyped else ()
    arguments = "Python literals" if text_format.is_python else "JSON"
    if text_format.is_untyped:
        arguments = "strings, typed by the schema"
    return replace(
        base,
        name=f"text:{text_format.name}",
        family=FAMILY,
        names=NameRule(pattern=text_format.names, longest=64, evidence=text_format.evidence),
        schema=replace(
            base.schema,
            lenient=(*base.schema.lenient, *loss_lenses),
            strict=(*openai_schema.STRICT, *loss_lenses),
            is_strict_by_auto=False,
            strict_needs="the schema is enforced by a grammar: Bound.grammar",
        ),
        codec=replace(
            base.codec,
            write_calls=partial(_write_calls, text_format),
            write_results=partial(openai_messages.write_results_as, form),
        ),
        response=form_of(text_format, {}),
        server=None,
        output=None,
        facts=Facts(
            arguments=arguments,
            malformed="the text as the model wrote it",
            declined="no call in the text",
            strict="only with a grammar",
            needs="a server or a library that does not change the text; a chat template that "
            "supports tools",
        ),
    )


def _form_of_results(text_format: TextFormat) -> openai_messages.VendorForm:
    """Return the form for tool results; each result contains the call's id
    if the chat template needs ids.
    """
    return huggingface.FORM._replace(sends_made_up_ids=text_format.needs_ids)


PROVIDERS = tuple(map(_provider, FORMATS.values()))

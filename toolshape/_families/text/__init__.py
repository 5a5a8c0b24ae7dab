"""Defines the providers of models that write their calls as text, one for each format."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from toolshape._calls import JsonSchema, Loss, WireCall, WireMessage
from toolshape._families import huggingface
from toolshape._families.openai import messages as openai_messages
from toolshape._families.openai import schema as openai_schema
from toolshape._families.text.format import TextFormat
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.responses import form_of
from toolshape._families.text.values import admits_texts_and_others
from toolshape._schema.lens import PATH, Lens
from toolshape._schema.references import resolver
from toolshape._wire.ids import generated_id, id_seed
from toolshape._wire.provider import Facts, NameRule, Provider

FAMILY = "text"


def _with_losses(text_format: TextFormat, schema: JsonSchema) -> Lens:
    """Report what a format without types cannot hold; the schema stays as it is."""
    properties = schema.get("properties", {})
    resolve = resolver(schema)
    closing = text_format.layout.parameter.partition("{value}")[2].strip()
    losses = [Loss(path="", keyword="type", kind="narrowed", note=f"a text that holds {closing} cannot be written")]
    losses += [
        Loss(
            path=str(node.get(PATH, key)) if isinstance(node, dict) else key,
            keyword="anyOf",
            kind="narrowed",
            note="a text that reads as another type cannot be written",
        )
        for key, node in properties.items()
        if admits_texts_and_others(node, resolve)
    ]
    return Lens(schema, losses=tuple(losses) if properties else ())


def _write_calls(text_format: TextFormat, calls: Sequence[WireCall]) -> list[WireMessage]:
    """Write calls with arguments as objects; with ids where the template needs them or the format has them."""
    if text_format.id_form:
        calls = [
            call._replace(id=call.id or text_format.id_form.format(name=call.wire_name, number=number))
            for number, call in enumerate(calls)
        ]
    elif text_format.needs_ids:
        calls = [
            call._replace(id=call.id or generated_id(id_seed(list(call[1:3])), number))
            for number, call in enumerate(calls)
        ]
    return huggingface.write_calls(calls)


def _provider(text_format: TextFormat) -> Provider:
    base = huggingface.HUGGINGFACE
    form = _form_of_results(text_format)
    said = (partial(_with_losses, text_format),) if text_format.is_untyped else ()
    return replace(
        base,
        name=f"text:{text_format.name}",
        family=FAMILY,
        names=NameRule(pattern=text_format.names, longest=64, evidence=text_format.evidence),
        schema=replace(
            base.schema,
            lenient=(*base.schema.lenient, *said),
            strict=(*openai_schema.STRICT, *said),
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
            arguments="texts, typed by the schema"
            if text_format.is_untyped
            else "JSON"
            if not text_format.is_python
            else "Python literals",
            malformed="the text as the model wrote it",
            declined="no call in the text",
            strict="by a grammar alone",
            needs="a server or a library that leaves the text as it is; a chat template that knows tools",
        ),
    )


def _form_of_results(text_format: TextFormat) -> openai_messages.VendorForm:
    """Return the form of results: with the id of the call where the template needs one."""
    return huggingface.FORM._replace(sends_made_up_ids=text_format.needs_ids)


PROVIDERS = tuple(map(_provider, FORMATS.values()))

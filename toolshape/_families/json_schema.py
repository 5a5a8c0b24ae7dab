"""Canonical records of tools, and calls as ``{"id"?, "name", "arguments"}``, for no vendor."""

from collections.abc import Sequence
from typing import Any

from toolshape._families.wire.ids import with_call_ids
from toolshape._families.wire.provider import (
    Choice,
    Codec,
    Facts,
    NameRule,
    Provider,
    Reading,
    RequestForm,
    ResponseForm,
    SchemaRules,
    never_streamed,
    unsupported,
)
from toolshape._records.calls import JsonObject, Spec, WireCall, WireMessage
from toolshape._records.result import Result

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - there is no strict form
    if spec.output is None:
        output = None
    else:
        output = {"$schema": DIALECT, **spec.output}
    return {
        "name": spec.name,
        "description": spec.description,
        "parameters": {"$schema": DIALECT, **spec.parameters},
        "output": output,
    }


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    if choice.names or choice.mode not in (None, "auto") or choice.parallel is False:
        raise unsupported(
            choice, "choice", "a plain record cannot hold a choice: leave out choice= and parallel="
        )
    return {"tools": tools}


def _is_call(body: Any) -> bool:
    return isinstance(body, dict) and isinstance(body.get("name"), str) and "arguments" in body


def recognises(body: Any) -> bool:
    return _is_call(body) or (isinstance(body, list) and bool(body) and all(map(_is_call, body)))


def read(body: Any) -> Reading | None:
    if not recognises(body):
        return None
    records = body if isinstance(body, list) else [body]
    calls = [
        WireCall(call.get("id") or f"call_{index}", call["name"], call["arguments"], call)
        for index, call in enumerate(records)
    ]
    identified = [
        record if record.get("id") else {**record, "id": call.id}
        for record, call in zip(records, calls, strict=True)
    ]
    sent, calls = with_call_ids(
        identified, calls, lambda _: True, lambda record, call_id: {**record, "id": call_id}
    )
    return Reading(sent, calls, None)


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    return [{"id": call.id, "name": call.wire_name, "arguments": call.arguments} for call in calls]


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    return [
        {
            "id": result.call.id,
            "name": result.call.wire_name,
            "error" if result.error else "result": result.text,
        }
        for result in results
    ]


JSON_SCHEMA = Provider(
    name="json-schema",
    family="json-schema",
    form="json-schema",
    names=NameRule(pattern=r"(?s).+", longest=10_000, evidence="any name"),
    schema=SchemaRules(lenient=(), strict=None),
    request=RequestForm(examples="schema", envelope=envelope, keywords=request),
    codec=Codec(write_calls=write_calls, write_results=write_results),
    response=ResponseForm(recognises=recognises, read=read, finishes={}, fold=never_streamed),
    facts=Facts(
        arguments="JSON text or an object",
        malformed="the text as it was written",
        declined="no record",
        strict="none",
    ),
)

PROVIDERS = (JSON_SCHEMA,)

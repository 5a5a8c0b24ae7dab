"""Hugging Face's chat templates.

Entries have the form that ``utils.get_json_schema`` returns in transformers 5.23.0, read on
2026-11-20.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from toolshape._families.openai import (
    OPENAI,
    messages as openai_messages,
    probes,
    responses as openai_bodies,
    schema as openai_schema,
    vendor_outputs,
)
from toolshape._families.openai.server import ENDPOINT, SERVER, VARIABLES
from toolshape._families.wire.bodies import member, to_plain_json
from toolshape._families.wire.histories import Histories
from toolshape._families.wire.ids import with_call_ids
from toolshape._families.wire.provider import (
    Choice,
    Facts,
    NameRule,
    Read,
    RequestForm,
    unsupported,
)
from toolshape._families.wire.server_json import KEY
from toolshape._records.calls import JsonObject, Spec, WireCall, WireMessage
from toolshape._schema import constrained as structure, rewrites
from toolshape._schema.values import as_json, copy_json
from toolshape._schema.walk import everywhere


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - there is no strict form
    """Write an entry in the form of ``get_json_schema``, with the schema of the tool's result."""
    tool = openai_schema.envelope(spec, strict=False)
    if spec.output is not None:
        tool["function"]["return"] = spec.output
    return tool


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Return the arguments for ``apply_chat_template``: the tools, or
    no tools for the choice "none".
    """
    if choice.parallel is False:
        raise unsupported(
            choice,
            "parallel",
            "a chat template has no switch for parallel calls: leave out parallel=",
        )
    if choice.mode == "required" or choice.names:
        raise unsupported(
            choice,
            "choice",
            "a chat template cannot force a call: bind a subset, and ask in the prompt",
        )
    if choice.mode == "none":
        return {}
    return {"tools": tools}


def recognises(body: Any) -> bool:
    """Return whether a body is a response from the hosted router, or a
    message that a tokenizer has parsed.
    """
    return openai_bodies.recognises(body)


def read(body: Any) -> Read | None:
    """Read the calls in a message from the hosted router, or in a message for a chat template.

    The router's message is sent back unchanged. A template fails on arguments that are text, so
    this function parses them into objects.
    """
    reading = openai_bodies.read(body)
    response = openai_bodies.as_completion(body)
    if reading is None:
        return None
    if response is body:  # The router sent this body. It matches results by id.
        [sent_message], calls, finish, cut, ends_in_call = reading
        sent_calls = member(sent_message, "tool_calls") or ()
        router_calls = (
            [openai_messages.read_call(call) for call in sent_calls]
            if len(sent_calls) == len(calls)
            else calls
        )
        return [sent_message], router_calls, finish, cut, ends_in_call
    message = _parse_arguments(
        openai_bodies.with_content(to_plain_json(response["choices"][0]["message"]))
    )
    all_calls = [
        openai_messages.read_call(call)
        for call in member(response["choices"][0]["message"], "tool_calls") or ()
    ]
    kept_calls = [call for call in all_calls if not openai_bodies.is_stray(call)]
    if len(kept_calls) < len(all_calls):
        message = openai_bodies.without_strays(message, all_calls)
    if kept_calls:
        message["tool_calls"], kept_calls = with_call_ids(
            message["tool_calls"],
            kept_calls,
            lambda _: True,
            lambda call, call_id: {**call, "id": call_id},
            leaves_out=True,
        )
    _, _, finish, cut, ends_in_call = reading
    return [message], kept_calls, finish, cut, ends_in_call


def _parse_arguments(message: WireMessage) -> WireMessage:
    message = copy_json(to_plain_json(message))
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        if isinstance(function.get("arguments"), str):
            function["arguments"] = as_json(function["arguments"] or "{}")
    return message


FORM = openai_messages.VendorForm(name_key="name", sends_made_up_ids=False, arguments="object")
"""Chat templates match results to calls by name or by order; some also accept an id."""
write_results = partial(openai_messages.write_results_as, FORM)


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    """Write calls with arguments as objects; templates do not print the id."""
    tool_calls = [
        {
            "type": "function",
            "id": call.id,
            "function": {"name": call.wire_name, "arguments": call.arguments},
        }
        for call in calls
    ]
    return [{"role": "assistant", "content": "", "tool_calls": tool_calls}]


HUGGINGFACE = replace(
    OPENAI,
    batch=None,
    name="huggingface",
    form="huggingface",
    names=NameRule(pattern=r"(?s).+", longest=10_000, evidence="any name; transformers 5.23.0"),
    schema=replace(
        OPENAI.schema,
        lenient=(
            *OPENAI.schema.lenient,
            structure.inline_references,
            everywhere(rewrites.null_as_nullable),
        ),
        strict=None,
    ),
    output=vendor_outputs.HUGGINGFACE,
    request=RequestForm(envelope=envelope, keywords=request),
    codec=replace(
        OPENAI.codec, write_calls=write_calls, carries=frozenset(), write_results=write_results
    ),
    response=replace(OPENAI.response, recognises=recognises, read=read),
    histories=Histories(
        key="messages",
        read=openai_messages.read,
        write=partial(openai_messages.write, form=FORM),
        with_id=openai_messages.with_id,
        rules=openai_messages.PAIRING,
    ),
    server=replace(
        SERVER,
        endpoint=ENDPOINT._replace(variables={**VARIABLES, "HF_TOKEN": KEY}),
        address=probes.address_of_chat("https://router.huggingface.co/v1", "HF_TOKEN"),
        refuses=(),
        fields=frozenset(),
        wordings={},
    ),
    facts=Facts(
        arguments="an object; JSON text from the hosted router",
        malformed="text, if the tokenizer cannot parse the call",
        declined="no `tool_calls`",
        strict="none; nothing is enforced",
        needs="a chat template that knows tools",
    ),
)

PROVIDERS = (HUGGINGFACE,)

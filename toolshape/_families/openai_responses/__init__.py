"""OpenAI's Responses API."""

from dataclasses import replace

from toolshape._families.openai import OLDER, OPENAI
from toolshape._families.openai.batches import OPENAI_BATCH
from toolshape._families.openai_responses import messages, server
from toolshape._families.openai_responses.groups import merge_groups
from toolshape._families.openai_responses.messages import write_calls, write_results
from toolshape._families.openai_responses.output import OUTPUT
from toolshape._families.openai_responses.responses import (
    ending,
    fold,
    read,
    recognises,
    text_delta,
    usage,
    with_search,
)
from toolshape._families.openai_responses.schema import (
    client_search,
    envelope,
    free_text,
    is_deferred,
    mark_deferred,
    native_conflict,
    request,
)
from toolshape._families.openai_responses.text_place import TEXT_PLACE
from toolshape._families.wire.bodies import member
from toolshape._families.wire.provider import Deferral, Facts, Numbering

OPENAI_RESPONSES = replace(
    OPENAI,
    name="openai-responses",
    family="openai-responses",
    form="openai-responses",
    request=replace(
        OPENAI.request,
        envelope=envelope,
        free_text=free_text,
        keywords=request,
        # 184 functions were answered on the day on which Chat Completions refused the same ones
        # at 128 (a log of both, 2026-07-16); about 138 in 2026-06 (Spshulem/openAGI#53).
        most_tools=None,
        gather=merge_groups,
        deferral=Deferral(
            mark=mark_deferred,
            is_marked=is_deferred,
            search={"type": "tool_search"},
            is_search=lambda tool: member(tool, "type") == "tool_search",
            refused=native_conflict,
            own_search=client_search,
            load=messages.load_found,
            read_search=with_search,
            evidence="FunctionToolParam, NamespaceToolParam and ToolSearchToolParam of openai 3.51.0, "
            "and the guide to tool "
            "search (gpt-5.4 and later), 2026-11-20; a search without a deferred tool, or a "
            "deferred tool without a "
            "search, is refused: justrach/codegraff#746, Wei-Shaw/sub2api#5942",
        ),
    ),
    codec=replace(
        OPENAI.codec,
        carries=frozenset({"image", "file"}),
        write_calls=write_calls,
        write_results=write_results,
    ),
    response=replace(
        OPENAI.response,
        recognises=recognises,
        read=read,
        unfinished=frozenset({"queued", "in_progress"}),
        finishes={
            "completed": "stop",
            "max_output_tokens": "length",
            "content_filter": "refusal",
            "failed": "error",
            "cancelled": "error",
        },
        fold=fold,
        usage=usage,
        ending=ending,
        numbering=Numbering("sequence_number", "response.created"),
        text_delta=text_delta,
        text_place=TEXT_PLACE,
    ),
    histories=messages.HISTORIES,
    server=server.SERVER,
    output=OUTPUT,
    batch=replace(OPENAI_BATCH, fixed={"method": "POST", "url": "/v1/responses"}),
    facts=Facts(
        arguments="JSON text",
        malformed='the text as the model wrote it; `""` for no arguments',
        declined="no `function_call` item; perhaps a `refusal` part of a message",
        strict="`strict`, always sent: without it the server decides",
    ),
)
PROVIDERS = (
    OPENAI_RESPONSES,
    replace(
        OPENAI_RESPONSES,
        name="openai-responses:minimal",
        schema=replace(
            OPENAI_RESPONSES.schema,
            strict=OLDER.schema.strict,
            refuses_strict=OLDER.schema.refuses_strict,
        ),
        request=replace(
            OPENAI_RESPONSES.request,
            longest_description=OLDER.request.longest_description,
            free_text=None,
        ),
    ),
)

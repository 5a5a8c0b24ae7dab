"""OpenAI's Chat Completions."""

from dataclasses import replace

from toolshape._families.openai import messages, server
from toolshape._families.openai.batches import OPENAI_BATCH
from toolshape._families.openai.messages import write_calls, write_results
from toolshape._families.openai.output import OUTPUT
from toolshape._families.openai.responses import (
    FINISHES,
    ending,
    fold,
    read,
    recognises,
    text_delta,
    usage,
)
from toolshape._families.openai.schema import (
    ACCEPTED,
    FORMATS,
    GUIDE,
    MINIMAL,
    MOVED,
    NAMES,
    ROOT,
    STRICT,
    STRICT_KEYWORDS,
    envelope,
    free_text,
    request,
)
from toolshape._families.openai.text_place import TEXT_PLACE
from toolshape._families.openai.unparsed import left_calls
from toolshape._families.wire.provider import (
    Codec,
    Facts,
    Limit,
    Provider,
    RequestForm,
    ResponseForm,
    SchemaRules,
)
from toolshape._schema import checks as rules, constrained as structure, limits, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.walk import everywhere

OPENAI = Provider(
    name="openai",
    family="openai",
    form="openai",
    names=NAMES,
    schema=SchemaRules(
        refuses=(
            *ROOT,
            *cited("opencode#20273, 2026", rules.arrays_have_items),
            *cited("vscode#286415, 2026", rules.references_resolve),
        ),
        refuses_strict=(
            *cited("a recorded 400: object schema missing properties", rules.root_has_properties),
            *cited(
                GUIDE,
                rules.closed,
                rules.all_required,
                rules.typed,
                rules.known_keywords(*STRICT_KEYWORDS, *ACCEPTED),
                rules.known_formats(*FORMATS),
                limits.sizes(properties=5000, levels=10),
                limits.long_enums(choices=250, characters=15_000),
            ),
        ),
        lenient=(structure.wrap_root_and_add_items,),
        strict=STRICT,
    ),
    request=RequestForm(
        most_tools=Limit(128, "oh-my-openagent#2848, 2026-03"),
        envelope=envelope,
        free_text=free_text,
        keywords=request,
    ),
    codec=Codec(
        carries=frozenset({"image", "file", "audio"}),
        write_calls=write_calls,
        write_results=write_results,
    ),
    response=ResponseForm(
        recognises=recognises,
        read=read,
        finishes=FINISHES,
        fold=fold,
        usage=usage,
        ending=ending,
        text_delta=text_delta,
        left_calls=left_calls,
        text_place=TEXT_PLACE,
    ),
    histories=messages.HISTORIES,
    server=server.SERVER,
    output=OUTPUT,
    batch=OPENAI_BATCH,
    facts=Facts(
        arguments="JSON text",
        malformed='the text as the model wrote it; `""` for no arguments',
        declined="no `tool_calls`; perhaps `message.refusal`",
        strict="`function.strict`, off by default",
    ),
)
# The limits until 2025 were 1,024 characters of description (sentry-mcp#106), and 100 properties
# and 5 levels (Azure's page of 2025-01). toolshape assumes that older models and Azure still have
# these limits.
OLDER = replace(
    OPENAI,
    schema=replace(
        OPENAI.schema,
        strict=MINIMAL,
        refuses_strict=(
            *OPENAI.schema.refuses_strict,
            *cited(
                "Azure's page of 2025-01",
                rules.known_keywords(
                    *(key for key in STRICT_KEYWORDS if key not in MOVED), *ACCEPTED
                ),
                limits.sizes(properties=100, levels=5),
            ),
        ),
    ),
    request=replace(
        OPENAI.request, longest_description=Limit(1024, "sentry-mcp#106, 2025"), free_text=None
    ),
)
PROVIDERS = (
    OPENAI,
    replace(OLDER, name="openai:minimal"),
    replace(
        OPENAI,
        name="openai:string-enums",
        request=replace(OPENAI.request, free_text=None),
        schema=replace(
            OPENAI.schema,
            lenient=(
                *OPENAI.schema.lenient,
                everywhere(rewrites.all_of_merged_or_described),  # each part must be of one type
                everywhere(rewrites.enum_as_strings),
            ),
            strict=(*STRICT, everywhere(rewrites.enum_as_strings)),
        ),
    ),
)

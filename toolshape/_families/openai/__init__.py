"""OpenAI Chat Completions."""

from dataclasses import replace

from toolshape._families.openai import messages, server
from toolshape._families.openai.messages import encode, say
from toolshape._families.openai.responses import FINISHES, fold, read, recognises
from toolshape._families.openai.schema import (
    FORMATS,
    GUIDE,
    MINIMAL,
    MOVED,
    NAMES,
    ROOT,
    STRICT,
    STRICT_KEYWORDS,
    envelope,
    request,
)
from toolshape._schema import checks as rules
from toolshape._schema import constrained as structure
from toolshape._schema import limits, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.walk import everywhere
from toolshape._wire.provider import Facts, Limit, Provider
from toolshape._wire.request_checks import required_fields
from toolshape._wire.server import request_rules

OPENAI = Provider(
    name="openai",
    family="openai",
    form="openai",
    names=NAMES,
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
            rules.known_keywords(*STRICT_KEYWORDS, "default", "title"),  # the last two have been accepted in 2026
            rules.known_formats(*FORMATS),
            limits.sizes(properties=5000, levels=10),
            limits.long_enums(choices=250, characters=15_000),
        ),
    ),
    lenient=(structure.wrapped_root_with_items,),
    strict=STRICT,
    most_tools=Limit(128, "oh-my-openagent#2848, 2026-03"),
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    carries=frozenset({"image", "file", "audio"}),
    finishes=FINISHES,
    fold=fold,
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="JSON text",
        malformed='the text as the model wrote it; `""` for no arguments',
        declined="no `tool_calls`; perhaps `message.refusal`",
        strict="`function.strict`, off by default",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    refuses_request=request_rules(
        "openai 3.54.0 CompletionCreateParams, 2026-11-22", required_fields("model", "messages")
    ),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
    wordings=server.WORDINGS,
)
# 1,024 characters of description were the most until 2025 (sentry-mcp#106), 100 properties and 5 levels too (Azure's
# page of 2025-01): older models and Azure are assumed to keep both limits.
OLDER = replace(
    OPENAI,
    strict=MINIMAL,
    longest_description=Limit(1024, "sentry-mcp#106, 2025"),
    refuses_strict=(
        *OPENAI.refuses_strict,
        *cited(
            "Azure's page of 2025-01",
            rules.known_keywords(*(key for key in STRICT_KEYWORDS if key not in MOVED), "default", "title"),
            limits.sizes(properties=100, levels=5),
        ),
    ),
)
PROVIDERS = (
    OPENAI,
    replace(OLDER, name="openai:minimal"),
    replace(
        OPENAI,
        name="openai:string-enums",
        lenient=(
            *OPENAI.lenient,
            everywhere(rewrites.all_of_merged_or_described),  # each part must be of one type
            everywhere(rewrites.enum_as_strings),
        ),
        strict=(*STRICT, everywhere(rewrites.enum_as_strings)),
    ),
)

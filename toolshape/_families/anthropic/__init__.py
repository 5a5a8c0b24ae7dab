"""Anthropic's Messages API."""

from dataclasses import replace

from toolshape._families.anthropic import messages, server
from toolshape._families.anthropic.batches import ANTHROPIC_BATCH
from toolshape._families.anthropic.messages import write_calls, write_results
from toolshape._families.anthropic.output import OUTPUT
from toolshape._families.anthropic.responses import (
    FINISHES,
    ending,
    fold,
    read,
    recognises,
    text_delta,
    usage,
)
from toolshape._families.anthropic.schema import (
    DEFERRAL,
    DIALECT,
    KEY,
    KEYS,
    MOVED,
    STRICT,
    envelope,
    request,
)
from toolshape._families.anthropic.text_place import TEXT_PLACE
from toolshape._families.wire.provider import (
    Budget,
    Codec,
    Facts,
    NameRule,
    Provider,
    RequestForm,
    ResponseForm,
    SchemaRules,
)
from toolshape._schema import checks as rules, constrained as structure, limits, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.walk import everywhere

ANTHROPIC = Provider(
    name="anthropic",
    family="anthropic",
    form="anthropic",
    names=NameRule(
        # toolshape sends names up to the documented length; the server accepts longer names.
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; tool use documentation, 2026; 128 in claude-code#96152, "
        "2026-09",
        longest_accepted=128,
    ),
    schema=SchemaRules(
        refuses=(
            *cited(
                "claude-code#44788, 2026; recorded 400s",
                rules.root_is_object,
                rules.root_without("anyOf", "oneOf", "allOf"),
            ),
            *cited("vscode#286415, 2026", rules.references_resolve),
            *cited("n8n#30590 and claude-code#79418, 2026", rules.keys(KEY, only_root=True)),
        ),
        refuses_strict=(
            *DIALECT,
            # The documentation allows 24 optional properties and 16 unions in a request, but the
            # server refused a schema with that many because it was too complex.
            *cited("recorded 400s, 2026", limits.at_most(optional=23, unions=15)),
        ),
        budget=Budget(
            tools=20,
            optional=24,
            unions=16,
            evidence="structured outputs documentation, 2026-07; recorded 400s, 2026",
        ),
        lenient=(structure.wrap_root, KEYS),
        strict=(structure.wrap_root, KEYS, *STRICT),
    ),
    request=RequestForm(
        deferral=DEFERRAL._replace(load=messages.load_found),
        examples="input_examples",
        envelope=envelope,
        keywords=request,
    ),
    codec=Codec(
        carries=frozenset({"image", "file"}), write_calls=write_calls, write_results=write_results
    ),
    response=ResponseForm(
        recognises=recognises,
        read=read,
        finishes=FINISHES,
        fold=fold,
        usage=usage,
        ending=ending,
        text_delta=text_delta,
        text_place=TEXT_PLACE,
    ),
    histories=messages.HISTORIES,
    server=server.SERVER,
    output=OUTPUT,
    batch=ANTHROPIC_BATCH,
    facts=Facts(
        arguments="an object",
        malformed="nothing: an object arrives; with `eager_input_streaming`, broken text may arrive",
        declined="`stop_reason` `end_turn`, or `refusal`",
        strict="`strict`",
    ),
)
DESCRIBED = (*ANTHROPIC.schema.lenient, everywhere(rewrites.say_instead(*MOVED)))
PROVIDERS = (
    ANTHROPIC,
    replace(
        ANTHROPIC, name="anthropic:described", schema=replace(ANTHROPIC.schema, lenient=DESCRIBED)
    ),
)

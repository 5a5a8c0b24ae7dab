"""Anthropic Messages."""

from dataclasses import replace

from toolshape._families.anthropic import messages, server
from toolshape._families.anthropic.messages import encode, say
from toolshape._families.anthropic.responses import FINISHES, fold, read, recognises
from toolshape._families.anthropic.schema import DEFERRAL, DIALECT, KEY, KEYS, MOVED, STRICT, envelope, request
from toolshape._schema import checks as rules
from toolshape._schema import constrained as structure
from toolshape._schema import limits, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.walk import everywhere
from toolshape._wire.provider import Budget, Facts, NameRule, Provider
from toolshape._wire.request_checks import required_fields, schemas_are_objects, unique_names
from toolshape._wire.server import request_rules

ANTHROPIC = Provider(
    name="anthropic",
    family="anthropic",
    form="anthropic",
    names=NameRule(
        # What is documented is safe, and the server takes more.
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; tool use documentation, 2026; 128 in claude-code#96152, 2026-09",
        longest_accepted=128,
    ),
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
        # A request may hold one more of each, by the documentation; one schema with all of them was too complex.
        *cited("recorded 400s, 2026", limits.at_most(optional=23, unions=15)),
    ),
    budget=Budget(
        tools=20, optional=24, unions=16, evidence="structured outputs documentation, 2026-07; recorded 400s, 2026"
    ),
    deferral=DEFERRAL,
    examples="input_examples",
    lenient=(structure.wrapped_root, KEYS),
    strict=(structure.wrapped_root, KEYS, *STRICT),
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes=FINISHES,
    fold=fold,
    carries=frozenset({"image", "file"}),
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="an object",
        malformed="nothing: an object arrives; with `eager_input_streaming`, broken text may",
        declined="`stop_reason` `end_turn`, or `refusal`",
        strict="`strict`",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    refuses_request=(
        *request_rules(
            "anthropic 2.12.0 MessageCreateParams, 2026-11-22", required_fields("max_tokens", "messages", "model")
        ),
        *request_rules("a recorded 400; LibreChat#13162, 2026", unique_names),
        *request_rules("a recorded 400 of claude-sonnet-4-6, 2026", schemas_are_objects),
    ),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
    wordings=server.WORDINGS,
)
DESCRIBED = (
    *ANTHROPIC.lenient,
    everywhere(rewrites.say_instead(*MOVED)),
)
PROVIDERS = (ANTHROPIC, replace(ANTHROPIC, name="anthropic:described", lenient=DESCRIBED))

"""Mistral's chat completions."""

from dataclasses import replace

from toolshape._families.mistral import server
from toolshape._families.mistral.batches import MISTRAL_BATCH
from toolshape._families.mistral.messages import HISTORIES, write_results
from toolshape._families.openai import vendors as openai_vendors
from toolshape._families.openai.output import OUTPUT
from toolshape._families.wire.provider import Facts, NameRule, NotBesideTools
from toolshape._schema import checks as rules
from toolshape._schema.checks import cited

MISTRAL = replace(
    openai_vendors.VENDOR,
    name="mistral",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; mistral-common 1.13.1, and refusals of Mistral's server",
    ),
    schema=replace(
        openai_vendors.VENDOR.schema,
        refuses=(
            *cited("mistralai 3.7.0 Function", rules.root_is_object),
            *cited("pdf-reader-mcp#63, 2026", rules.bounds_are_numbers),
        ),
    ),
    output=replace(
        OUTPUT,
        not_beside_tools=NotBesideTools("a 400 for both together: agno-agi/agno#2501, 2025-03", ""),
    ),
    codec=replace(openai_vendors.VENDOR.codec, carries=frozenset(), write_results=write_results),
    histories=HISTORIES,
    server=server.SERVER,
    batch=MISTRAL_BATCH,
    facts=Facts(
        arguments="JSON text or an object",
        malformed="the text as the model wrote it",
        declined="no `tool_calls`",
        strict="`function.strict`, its dialect undocumented",
        needs="older models take ids of nine letters and digits only",
    ),
)
PROVIDERS = (MISTRAL,)

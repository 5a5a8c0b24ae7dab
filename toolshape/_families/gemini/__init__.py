"""Google Gemini's generateContent, on the Gemini API and on Vertex AI."""

from dataclasses import replace

from toolshape._families.gemini import messages, server
from toolshape._families.gemini.batches import GEMINI_BATCH
from toolshape._families.gemini.messages import write_calls, write_results
from toolshape._families.gemini.output import OPENAPI_OUTPUT, OUTPUT
from toolshape._families.gemini.probes import OPENAPI_PROBES
from toolshape._families.gemini.responses import ending, fold, read, recognises, text_delta, usage
from toolshape._families.gemini.schema import (
    ACCEPTED,
    EVIDENCE,
    JSON_SCHEMA,
    KEY,
    OPENAPI,
    OPENAPI_FORMATS,
    envelope,
    gather,
    openapi_envelope,
    request,
    upper_case_types,
    vertex_request,
)
from toolshape._families.wire.provider import (
    Codec,
    Facts,
    Limit,
    NameRule,
    Provider,
    RequestForm,
    ResponseForm,
    SchemaRules,
)
from toolshape._schema import checks as rules, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.lens import Rule
from toolshape._schema.walk import everywhere

GEMINI = Provider(
    name="gemini",
    family="gemini",
    form="gemini",
    names=NameRule(pattern=r"[A-Za-z_][A-Za-z0-9_.:-]*", longest=64, evidence=EVIDENCE),
    schema=SchemaRules(
        refuses=(
            *cited(
                "google-genai 3.3.0: the parameters must describe an object", rules.root_is_object
            ),
            *cited("gcli2api#374, 2026-05", rules.references_alone, rules.references_resolve),
            *cited(
                "a recorded 400 of Vertex: required fields are not defined",
                rules.required_is_defined,
            ),
        ),
        lenient=JSON_SCHEMA,
        strict=JSON_SCHEMA,
    ),
    request=RequestForm(
        most_tools=Limit(512, "google-genai 3.3.0 FunctionDeclaration"),
        envelope=envelope,
        gather=gather,
        keywords=request,
    ),
    codec=Codec(
        carries=frozenset({"image", "file", "audio", "video"}),
        write_calls=write_calls,
        write_results=write_results,
    ),
    response=ResponseForm(
        recognises=recognises,
        read=read,
        finishes={
            "STOP": "stop",
            "MAX_TOKENS": "length",
            # Only with automatic_continuation off; otherwise the SDK requests the rest.
            "CONTINUATION": "length",
            **dict.fromkeys(
                ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"),
                "refusal",
            ),
            **dict.fromkeys(("ESCALATION", "MODEL_ARMOR", "PUP_LIMITED_DISABLED"), "refusal"),
            **dict.fromkeys(
                (
                    "MALFORMED_FUNCTION_CALL",
                    "UNEXPECTED_TOOL_CALL",
                    "TOO_MANY_TOOL_CALLS",
                    "MALFORMED_RESPONSE",
                ),
                "error",
            ),
            "MISSING_THOUGHT_SIGNATURE": "error",
            "ERROR": "error",
        },
        fold=fold,
        usage=usage,
        ending=ending,
        text_delta=text_delta,
    ),
    histories=messages.HISTORIES,
    server=server.SERVER,
    output=OUTPUT,
    batch=GEMINI_BATCH,
    facts=Facts(
        arguments="an object, or nothing",
        malformed="no call: `finishReason` `MALFORMED_FUNCTION_CALL`",
        declined="a text part; `finishReason` `SAFETY` and the like",
        strict="the request's mode `VALIDATED`",
    ),
)
GEMINI_OPENAPI = replace(
    GEMINI,
    name="gemini-openapi",
    form="gemini-openapi",
    server=replace(server.SERVER, probes=OPENAPI_PROBES),
    schema=replace(
        GEMINI.schema,
        refuses=(
            *cited(
                "google-genai 3.3.0: the parameters must describe an object", rules.root_is_object
            ),
            *cited("zed#44875, 2026", rules.known_keywords(*ACCEPTED)),
            *cited("gemini-cli#3178, 2025", rules.known_formats(*OPENAPI_FORMATS)),
            *cited("gitlab-mcp#166 and LibreChat#6971, 2025", rules.one_type, rules.typed),
            *cited("azure-devops-mcp#145 and llms#20, 2025", rules.string_enums),
            *cited("schemaport, 2026-08", rules.any_of_alone),
            *cited("cline#7339, 2025-11", rules.arrays_have_items),
            *cited("agno#2112 and browser-use#7, 2025", rules.objects_have_properties),
            *cited("gemini-cli#1458 and AIStudioToAPI#154, 2026", rules.required_is_defined),
            *cited("google-genai 3.3.0 Schema", rules.keys(KEY)),
        ),
        lenient=OPENAPI,
        strict=OPENAPI,
    ),
    request=replace(GEMINI.request, envelope=openapi_envelope),
    output=OPENAPI_OUTPUT,
)


def _with_rule(provider: Provider, name: str, rule: Rule) -> Provider:
    passes = (*provider.schema.lenient, everywhere(rule))
    return replace(
        provider, name=name, schema=replace(provider.schema, lenient=passes, strict=passes)
    )


GEMINI_OPENAPI_UPPER = _with_rule(GEMINI_OPENAPI, "gemini-openapi:upper-case", upper_case_types)
PROVIDERS = (
    GEMINI,
    _with_rule(GEMINI, "gemini:string-enums", rewrites.enum_as_strings),
    GEMINI_OPENAPI,
    replace(
        GEMINI,
        name="vertex",
        request=replace(GEMINI.request, keywords=vertex_request),
        histories=messages.VERTEX_HISTORIES,
        batch=None,
        server=replace(
            server.SERVER,
            endpoint=server.ENDPOINT._replace(variables=server.VERTEX_VARIABLES),
            wordings={},
            address=None,
        ),
    ),
    GEMINI_OPENAPI_UPPER,
)

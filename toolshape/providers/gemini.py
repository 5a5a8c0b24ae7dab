"""Google Gemini, generateContent. Types read in google-genai 3.3.0 on 2026-11-20; server texts from the issues named."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape import rewrites, rules
from toolshape.calls import JsonObject, JsonSchema, Message, Result, Spec, WireCall
from toolshape.errors import ExportError, Problem, ResponseError
from toolshape.lens import PATH, Change, Place, everywhere, inlined
from toolshape.provider import Choice, NameRule, Provider, Reading, member, plain

_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}

# FunctionDeclaration.parameters_json_schema names its parameters [A-Za-z_][A-Za-z0-9_]{0,63}, as Schema does.
KEY = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
KEYS = everywhere(rewrites.rename_keys(KEY))
# The list documented for responseJsonSchema; what is not on it is ignored. A node with $ref may say nothing else
# (gcli2api#374, 2026-05), and cycles are taken only where nothing is required: references are inlined.
JSON_KEYWORDS = (
    "additionalProperties", "anyOf", "default", "description", "enum", "format", "items", "maxItems", "maximum",
    "minItems", "minimum", "prefixItems", "properties", "required", "title", "type",
)  # fmt: skip
JSON_SCHEMA = (
    inlined(rewrites.recursion_as_json_text),
    KEYS,
    everywhere(rewrites.merge_all_of),
    everywhere(rewrites.one_of_as_any_of),
    everywhere(rewrites.const_as_enum),
    everywhere(rewrites.mixed_enum_as_strings),
    everywhere(rewrites.inclusive_bounds),
    everywhere(rewrites.only_keywords(*JSON_KEYWORDS)),
)


def any_of_alone(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """``anyOf`` with nothing beside it: what stands there goes into the first branch."""
    beside = {key: value for key, value in node.items() if key not in ("anyOf", PATH)}
    if "anyOf" not in node or not beside:
        return None
    first, *others = node["anyOf"]
    text = " ".join(node["description"] for node in (beside, first) if node.get("description"))
    first = {**first, **beside, **({"description": text} if text else {})}
    return Change(node={"anyOf": [first, *others]})


# types.Schema, an OpenAPI 3.0 subset: anything else is "Cannot find field" (zed#44875); enums are text only
# (azure-devops-mcp#145); a list of types cannot start (google_workspace_mcp#1099).
OPENAPI_KEYWORDS = (
    "anyOf", "default", "description", "enum", "format", "items", "maxItems", "maxLength", "maxProperties", "maximum",
    "minItems", "minLength", "minProperties", "minimum", "nullable", "pattern", "properties", "required", "title", "type",
)  # fmt: skip
OPENAPI_FORMATS = ("date-time", "enum", "float", "double", "int32", "int64")
OPENAPI = (
    inlined(rewrites.recursion_as_json_text),
    KEYS,
    everywhere(rewrites.const_as_enum),
    everywhere(rewrites.enum_as_strings),
    *rewrites.STRUCTURE,
    everywhere(rewrites.type_list_as_any_of),
    everywhere(rewrites.null_as_nullable),
    everywhere(rewrites.inclusive_bounds),
    everywhere(rewrites.say_formats_but(*OPENAPI_FORMATS)),
    everywhere(rewrites.open_objects),
    everywhere(rewrites.only_keywords(*OPENAPI_KEYWORDS)),
    everywhere(any_of_alone),
)


def upper_case_types(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Types as the protocol buffer spells them; the SDK does it by itself."""
    return Change(node={**node, "type": node["type"].upper()}) if isinstance(node.get("type"), str) else None


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - strict is a mode of the request
    return _declaration(spec, "parametersJsonSchema")


def openapi_envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - the same
    return _declaration(spec, "parameters")


def _declaration(spec: Spec, parameters: str) -> JsonObject:
    """Without parameters the field is left out: an OBJECT must have some (python-genai#981, SM#2229)."""
    declaration: JsonObject = {"name": spec.name}
    if spec.description:
        declaration["description"] = spec.description
    if spec.parameters.get("properties"):
        declaration[parameters] = spec.parameters
    return declaration


def gather(declarations: list[JsonObject]) -> list[JsonObject]:
    return [{"functionDeclarations": declarations}]


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """VALIDATED is what Gemini has for strict: text, or a call that fits the schema."""
    if choice.parallel is False:
        problem = Problem(
            path="parallel", rule="choice", message="Gemini has no switch for parallel calls: leave it out"
        )
        raise ExportError(provider="gemini", tool=None, problems=[problem])
    calling: JsonObject = {}
    if choice.is_name:
        calling = {"mode": "ANY", "allowedFunctionNames": [choice.choice]}
    elif choice.choice is not None:
        calling = {"mode": _MODES[choice.choice]}
    if choice.is_strict and calling.get("mode", "AUTO") == "AUTO":
        calling = {"mode": "VALIDATED"}
    config: JsonObject = {"tools": tools}
    if calling:
        config["toolConfig"] = {"functionCallingConfig": calling}
    return {"config": config}


def recognises(body: Any) -> bool:
    return isinstance(member(body, "candidates"), list)


def read(body: Any) -> Reading:
    candidates = member(body, "candidates")
    if not candidates:
        raise ResponseError("a response without candidates", body=body)
    content = member(candidates[0], "content")
    calls = []
    for part in (member(content, "parts") or ()) if content is not None else ():
        call = member(part, "functionCall") or member(part, "function_call")
        if call is not None:
            calls.append(WireCall(member(call, "id") or "", member(call, "name") or "", member(call, "args"), part))
    finish = member(candidates[0], "finishReason") or member(candidates[0], "finish_reason")
    # Parallel calls must go back in one content: only the first part carries the signature (js-genai#1275).
    assistant = [plain(content)] if content is not None and member(content, "parts") else []
    return Reading(assistant, calls, None if finish is None else str(getattr(finish, "value", finish)))


def encode(results: Sequence[Result]) -> list[Message]:
    """All responses in one content, as many as there were calls."""
    return [{"role": "user", "parts": [{"functionResponse": _response(result)} for result in results]}]


def _response(result: Result) -> JsonObject:
    response: JsonObject = {"name": result.call.wire_name}
    if result.call.id:
        response["id"] = result.call.id
    if result.error is not None:
        response["response"] = {"error": result.text}
    # Gemini 3 looks for a file behind every "$ref" in a result (hermes-agent#93014): such a result goes as text.
    elif isinstance(result.value, str) or '"$ref"' in result.text:
        response["response"] = {"output": result.text}
    else:
        response["response"] = {"output": _value(result.text)}
    return response


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # the text of an enum or a date
        return text


_EVIDENCE = "a letter or _, then A-Z a-z 0-9 _ . : -, at most 64; cline#7339, 2025-11"
GEMINI = Provider(
    name="gemini",
    family="gemini",
    names=NameRule(pattern=r"[A-Za-z_][A-Za-z0-9_.:-]*", longest=64, evidence=_EVIDENCE),
    refuses=(rules.root_is_object, rules.references_alone, rules.required_is_defined, rules.references_resolve),
    lenient=JSON_SCHEMA,
    strict=JSON_SCHEMA,
    envelope=envelope,
    gather=gather,
    request=request,
    recognises=recognises,
    read=read,
    encode=encode,
)
GEMINI_OPENAPI = replace(
    GEMINI,
    name="gemini-openapi",
    # Each from the text of a refusal of 2025 or 2026: zed#44875 (keywords), gemini-cli#3178 (formats), gitlab-mcp#166
    # (types), LibreChat#6971 (no type), azure-devops-mcp#145 and llms#20 (enums), cline#7339 (items), gemini-cli#1458
    # and AIStudioToAPI#154 (required).
    refuses=(
        rules.root_is_object,
        rules.known_keywords(*OPENAPI_KEYWORDS),
        rules.known_formats(*OPENAPI_FORMATS),
        rules.one_type,
        rules.typed,
        rules.string_enums,
        rules.any_of_alone,
        rules.arrays_have_items,
        rules.required_is_defined,
        rules.keys(KEY),
    ),
    lenient=OPENAPI,
    strict=OPENAPI,
    envelope=openapi_envelope,
)

PROVIDERS = (
    GEMINI,
    replace(GEMINI, name="gemini:string-enums", lenient=(*JSON_SCHEMA, everywhere(rewrites.enum_as_strings))),
    GEMINI_OPENAPI,
    replace(GEMINI_OPENAPI, name="gemini-openapi:upper-case", lenient=(*OPENAPI, everywhere(upper_case_types))),
)

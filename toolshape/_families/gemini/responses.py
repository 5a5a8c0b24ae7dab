"""Google Gemini, generateContent. Types read in google-genai 3.3.0 on 2026-11-20; server texts from the issues named."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from toolshape._calls import JsonObject, JsonSchema, Spec, WireCall, WireMessage
from toolshape._errors import ResponseError
from toolshape._families.gemini import messages, server
from toolshape._parts import Text, as_text, by_media_type, is_taken
from toolshape._results import Result
from toolshape._schema import checks as rules
from toolshape._schema import constrained as structure
from toolshape._schema import rewrites
from toolshape._schema.checks import cited
from toolshape._schema.lens import MARKS, Change, Place, Rule, each
from toolshape._schema.values import append_text, read_json, write_json
from toolshape._schema.walk import everywhere, inlined
from toolshape._wire.bodies import make_room, member, plain, result_json
from toolshape._wire.ids import is_plain_id, with_call_ids
from toolshape._wire.provider import (
    Choice,
    Completed,
    Facts,
    Limit,
    NameRule,
    OutboundCall,
    Provider,
    Reading,
    unsupported,
)
from toolshape._wire.request_checks import required_fields
from toolshape._wire.server import request_rules

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
    structure.wrapped_root,
    structure.patterns_as_maps,  # first: no arrow is lifted from a pattern
    inlined(rewrites.recursion_as_json_text),
    everywhere(each(structure.never_left_out, structure.describe_constraints, structure.require_what_is_there)),
    KEYS,
    everywhere(rewrites.all_of_merged_or_described),
    everywhere(rewrites.one_of_as_any_of),
    everywhere(rewrites.const_as_enum),
    everywhere(rewrites.boolean_enum_as_strings),
    everywhere(rewrites.mixed_enum_as_strings),
    everywhere(rewrites.inclusive_bounds),
    everywhere(rewrites.only_keywords(*JSON_KEYWORDS)),
    everywhere(structure.require_what_is_named),
)


def any_of_alone(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """``anyOf`` with nothing beside it: what stands there goes into the first branch."""
    beside = {key: value for key, value in node.items() if key not in ("anyOf", *MARKS)}
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
    structure.wrapped_root,
    structure.patterns_as_maps,  # first: no arrow is lifted from a pattern
    inlined(rewrites.recursion_as_json_text),
    everywhere(each(structure.never_left_out, structure.possible_enum, structure.require_what_is_there)),
    KEYS,
    everywhere(rewrites.const_as_enum),
    everywhere(rewrites.enum_as_strings),
    *structure.STRUCTURE,
    everywhere(rewrites.empty_object_as_json_text),
    everywhere(rewrites.type_list_as_any_of),
    everywhere(rewrites.null_as_nullable),
    everywhere(rewrites.inclusive_bounds),
    everywhere(rewrites.say_formats_but(*OPENAPI_FORMATS)),
    everywhere(rewrites.open_objects),
    everywhere(rewrites.only_keywords(*OPENAPI_KEYWORDS)),
    everywhere(any_of_alone),
    everywhere(structure.require_what_is_named),
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
    """Its own tools beside functions need a switch: a 400 says so otherwise (pydantic-ai#6052, ag2#3145, 2026)."""
    made = vertex_request(tools, choice)
    with_functions = {_has_functions(one) for one in tools}
    if with_functions == {True, False}:
        made["config"].setdefault("toolConfig", {})["includeServerSideToolInvocations"] = True
    return made


def _has_functions(entry: Any) -> bool:
    return any(member(entry, key) is not None for key in ("functionDeclarations", "function_declarations"))


def vertex_request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """VALIDATED is what Gemini has for strict: text, or a call that fits the schema.

    Vertex AI does not know the switch for its own tools (agent-framework#6954, strands-agents/harness-sdk#3646, 2026).
    """
    if choice.parallel is False:
        raise unsupported(choice, "parallel", "Gemini has no switch for parallel calls: leave it out")
    calling: JsonObject = {}
    if choice.names:
        calling = {"mode": "ANY", "allowedFunctionNames": list(choice.names)}
    elif choice.mode is not None:
        calling = {"mode": _MODES[choice.mode]}
    if choice.is_strict and calling.get("mode", "AUTO") == "AUTO":
        calling = {"mode": "VALIDATED"}
    config: JsonObject = {"tools": tools}
    if calling:
        config["toolConfig"] = {"functionCallingConfig": calling}
    return {"config": config}


def whole(body: Any) -> Any:
    """A response, a content of history, or one part that is a call; ``None`` if it is none of these."""
    if isinstance(member(body, "candidates"), list) or isinstance(member(body, "promptFeedback"), dict):
        return body
    if member(body, "role") == "model" and isinstance(member(body, "parts"), list):
        return {"candidates": [{"content": body}]}
    if function_call(body) is not None and member(body, "role") is None:
        return {"candidates": [{"content": {"role": "model", "parts": [plain(body)]}}]}
    return None


def function_call(part: Any) -> Any:
    """The call in a part, as the wire or as the SDK names it."""
    found = member(part, "functionCall")
    return member(part, "function_call") if found is None else found


def recognises(body: Any) -> bool:
    return whole(body) is not None


def read(body: Any) -> Reading | None:
    body = whole(body)
    if body is None:
        return None
    candidates = member(body, "candidates")
    if blocked := member(member(body, "promptFeedback"), "blockReason"):
        return Reading([], [], str(blocked))
    if not candidates:
        raise ResponseError("a response without candidates", body=body)
    content = member(candidates[0], "content")
    parts = (member(content, "parts") or ()) if content is not None else ()
    calls = [_call(part) for part in parts if function_call(part) is not None]
    finish = member(candidates[0], "finishReason") or member(candidates[0], "finish_reason")
    # Parallel calls must go back in one content: only the first part carries the signature (js-genai#1275).
    assistant: list[JsonObject] = (
        [{**plain(content), "role": "model"}] if content is not None and member(content, "parts") else []
    )
    if any(call.id != "" and not is_plain_id(call.id) for call in calls):  # one that came without stays without
        sent, calls = with_call_ids(
            assistant[0]["parts"], calls, lambda part: function_call(part) is not None, _with_id, leaves_out=True
        )
        assistant = [{**assistant[0], "parts": sent}]
    return Reading(assistant, calls, None if finish is None else str(getattr(finish, "value", finish)))


def _call(part: Any) -> WireCall:
    call = function_call(part)
    call_id = member(call, "id")
    return WireCall("" if call_id is None else call_id, member(call, "name") or "", member(call, "args"), part)


def _with_id(part: JsonObject, call_id: str) -> JsonObject:
    key = "functionCall" if "functionCall" in part else "function_call"
    return {**part, key: {**part[key], "id": call_id}}


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Parts are appended; a call comes whole, or in pieces by JSON path as long as ``willContinue`` is set."""
    done: list[Completed] = []
    candidate = body.setdefault("candidates", [{"content": {"role": "model", "parts": []}}])[0]
    parts = candidate["content"]["parts"]
    if event.get("error"):
        candidate["finishReason"] = "ERROR"
    for one in event.get("candidates") or ():
        if one.get("index", 0) != 0:
            continue
        for part in (one.get("content") or {}).get("parts") or ():
            done += _join(body, parts, part)
        for key in ("finishReason", "finish_reason"):
            if one.get(key):
                candidate["finishReason"] = one[key]
                done = done if one[key] != "MAX_TOKENS" else []
    return done


def _join(body: JsonObject, parts: list[JsonObject], part: JsonObject) -> list[Completed]:
    """Append a part, or add it to the open call; returns the call if this completes one."""
    call = function_call(part)
    if call is None:
        parts.append(dict(part))
        return []
    opened = body.get("x-open")
    if opened is None or call.get("name"):
        opened = {**{key: value for key, value in part.items() if key != "function_call"}}
        opened["functionCall"] = {key: call[key] for key in ("id", "name", "args") if call.get(key) is not None}
        parts.append(opened)
        body["x-calls"] = body.get("x-calls", 0) + 1
    for piece in call.get("partialArgs") or ():
        _put(opened["functionCall"].setdefault("args", {}), piece)
    body["x-open"] = opened if call.get("willContinue") else None
    if call.get("willContinue"):
        return []
    if "args" in opened["functionCall"]:  # read again, so that the whole object keeps the digits of its numbers
        opened["functionCall"]["args"] = read_json(write_json(opened["functionCall"]["args"]))
    return [(body["x-calls"] - 1, _call(opened))]


_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


def _put(arguments: JsonObject, piece: JsonObject) -> None:
    """Put a value at its JSON path; texts arrive in pieces."""
    found = _STEP.findall(piece["jsonPath"])
    steps = [
        int(index) if index else name or re.sub(r"\\(.)", r"\1", quoted or other)
        for name, index, quoted, other in found
    ]
    value = next((piece[key] for key in _VALUES if key in piece), None)
    value = None if "nullValue" in piece else value
    place: Any = arguments
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, int):
            make_room(place, step, lambda: None)
        before = place[step] if isinstance(step, int) else place.get(step)
        if following is None and isinstance(before, str) and isinstance(value, str):
            before = None  # else the text would be copied
            append_text(place, step, value)
        elif following is None:
            place[step] = value
        else:
            place[step] = before if before is not None else [] if isinstance(following, int) else {}
            place = place[step]


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    return [{"role": "model", "parts": [{"functionCall": _said(one)} for one in calls]}]


def _said(one: OutboundCall) -> JsonObject:
    return {"id": one.id, "name": one.wire_name, "args": one.arguments}


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """All responses in one content, as many as there were calls."""
    return [{"role": "user", "parts": [{"functionResponse": _response(result)} for result in results]}]


def _response(result: Result) -> JsonObject:
    response: JsonObject = {"name": result.call.wire_name}
    if member(function_call(result.call.raw), "id") not in (None, ""):  # an id that we made up is none of the model's
        response["id"] = result.call.id
    if result.error is not None:
        response["response"] = {"error": result.text}
    # Gemini 3 looks for a file behind every "$ref" in a result (hermes-agent#93014): such a result goes as text.
    elif '"$ref"' in result.text:
        response["response"] = {"output": result.text}
    else:
        response["response"] = {"output": result_json(result)}
    types = messages.HISTORIES.media_types
    if shown := [one for one in result.parts if not isinstance(one, Text) and is_taken(by_media_type(one), types)]:
        text = as_text(tuple(one for one in result.parts if one not in shown))
        response["response"] = {"output" if result.error is None else "error": text}
        response["parts"] = [messages.piece(one) for one in shown]
    return response


_EVIDENCE = "a letter or _, then A-Z a-z 0-9 _ . : -, at most 64; cline#7339, 2025-11"
GEMINI = Provider(
    name="gemini",
    family="gemini",
    form="gemini",
    names=NameRule(pattern=r"[A-Za-z_][A-Za-z0-9_.:-]*", longest=64, evidence=_EVIDENCE),
    refuses=(
        *cited("google-genai 3.3.0: the parameters must describe an object", rules.root_is_object),
        *cited("gcli2api#374, 2026-05", rules.references_alone, rules.references_resolve),
        *cited("a recorded 400 of Vertex: required fields are not defined", rules.required_is_defined),
    ),
    lenient=JSON_SCHEMA,
    strict=JSON_SCHEMA,
    most_tools=Limit(512, "google-genai 3.3.0 FunctionDeclaration"),
    envelope=envelope,
    gather=gather,
    request=request,
    recognises=recognises,
    read=read,
    finishes={
        "STOP": "stop",
        "MAX_TOKENS": "length",
        **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"), "refusal"),
        **dict.fromkeys(
            ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"), "error"
        ),
        "MISSING_THOUGHT_SIGNATURE": "error",
        "ERROR": "error",
    },
    fold=fold,
    carries=frozenset({"image", "file", "audio", "video"}),
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="an object, or nothing",
        malformed="no call: `finishReason` `MALFORMED_FUNCTION_CALL`",
        declined="a text part; `finishReason` `SAFETY` and the like",
        strict="the request's mode `VALIDATED`",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    refuses_request=request_rules("google-genai 3.4.0 generate_content, 2026-11-22", required_fields("contents")),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
    wordings=server.WORDINGS,
)
GEMINI_OPENAPI = replace(
    GEMINI,
    name="gemini-openapi",
    form="gemini-openapi",
    refuses=(
        *cited("google-genai 3.3.0: the parameters must describe an object", rules.root_is_object),
        *cited("zed#44875, 2026", rules.known_keywords(*OPENAPI_KEYWORDS)),
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
    envelope=openapi_envelope,
)


def _with(provider: Provider, name: str, rule: Rule) -> Provider:
    passes = (*provider.lenient, everywhere(rule))
    return replace(provider, name=name, lenient=passes, strict=passes)


PROVIDERS = (
    GEMINI,
    _with(GEMINI, "gemini:string-enums", rewrites.enum_as_strings),
    GEMINI_OPENAPI,
    replace(
        GEMINI,
        name="vertex",
        request=vertex_request,
        histories=messages.VERTEX_HISTORIES,
        endpoint=server.ENDPOINT._replace(variables=server.VERTEX_VARIABLES),
        wordings={},
    ),
    _with(GEMINI_OPENAPI, "gemini-openapi:upper-case", upper_case_types),
)

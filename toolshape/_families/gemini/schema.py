"""Writes tools and choices for Gemini's generateContent, and rewrites for its two dialects.

The types come from google-genai 3.3.0, read on 2026-11-20. The server's messages come from the
cited issues.
"""

import re
from typing import Any

from toolshape._families.wire.bodies import member
from toolshape._families.wire.provider import Choice, unsupported
from toolshape._records.calls import ChoiceMode, JsonObject, JsonSchema, Spec
from toolshape._schema import constrained as structure, rewrites
from toolshape._schema.lens import MARKS, Change, Place, each
from toolshape._schema.walk import everywhere

MODES: dict[ChoiceMode, str] = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
# FunctionDeclaration.parameters_json_schema restricts the names of properties to this pattern, and
# so does Schema.
KEY = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
KEYS = everywhere(rewrites.rename_keys(KEY))
# The keywords that are documented for responseJsonSchema; Gemini ignores other keywords. References
# are inlined: a node with $ref may have no other keyword (gcli2api#374, 2026-05), and Gemini
# accepts no cycle of required fields.
JSON_KEYWORDS = (
    "additionalProperties", "anyOf", "default", "description", "enum", "format", "items",
    "maxItems", "maximum",
    "minItems", "minimum", "prefixItems", "properties", "required", "title", "type",
)  # fmt: skip
JSON_SCHEMA = (
    structure.wrap_root,
    structure.patterns_as_maps,  # first: the other passes do not enter patternProperties
    structure.inline_references,
    everywhere(
        each(
            structure.drop_impossible_fields,
            structure.describe_constraints,
            structure.require_what_is_there,
        )
    ),
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


def any_of_alone(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - the signature of a rule
    """Move all other keywords into the first branch of ``anyOf``, because
    ``anyOf`` must be the only keyword.

    If the first branch is itself an ``anyOf``, its branches take its place: it must stay alone,
    too.
    """
    sibling_keywords = {key: value for key, value in node.items() if key not in ("anyOf", *MARKS)}
    if "anyOf" not in node or not sibling_keywords:
        return None
    first_branch, *other_branches = node["anyOf"]
    while "anyOf" in first_branch:
        first_branch, *inner_branches = first_branch["anyOf"]
        other_branches = [*inner_branches, *other_branches]
    text = " ".join(
        schema["description"]
        for schema in (sibling_keywords, first_branch)
        if schema.get("description")
    )
    first_branch = {**first_branch, **sibling_keywords, **({"description": text} if text else {})}
    return Change(node={"anyOf": [first_branch, *other_branches]})


# types.Schema is a subset of OpenAPI 3.0. If a schema has another keyword, the server answers
# "Cannot find field" (zed#44875). If ``type`` is a list, the server answers "cannot start"
# (google_workspace_mcp#1099). Enums may hold only strings (azure-devops-mcp#145).
OPENAPI_KEYWORDS = (
    "anyOf", "default", "description", "enum", "format", "items", "maxItems", "maxLength",
    "maxProperties", "maximum",
    "minItems", "minLength", "minProperties", "minimum", "nullable", "pattern", "properties",
    "required", "title", "type",
)  # fmt: skip
ACCEPTED = tuple(
    spelling
    for keyword in (*OPENAPI_KEYWORDS, "propertyOrdering")
    for spelling in (keyword, re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", keyword))
)
"""The keywords that the API reads, in camel case and snake case, with
``propertyOrdering``, which its SDK adds.

Source: Schema in google-genai 3.6.1, 2026-11-25.
"""
OPENAPI_FORMATS = ("date-time", "enum", "float", "double", "int32", "int64")
OPENAPI = (
    structure.wrap_root,
    structure.patterns_as_maps,  # first: the other passes do not enter patternProperties
    structure.inline_references,
    everywhere(
        each(
            structure.drop_impossible_fields,
            structure.describe_impossible_enum,
            structure.require_what_is_there,
        )
    ),
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


def upper_case_types(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - the signature of a rule
    """Write types in upper case, as in the protocol buffer; the SDK writes them the same way."""
    if isinstance(node.get("type"), str):
        return Change(node={**node, "type": node["type"].upper()})
    return None


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - strict is a mode of the request
    return _declaration(spec, "parametersJsonSchema")


def openapi_envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - strict is a mode of the request
    return _declaration(spec, "parameters")


def _declaration(spec: Spec, parameters: str) -> JsonObject:
    """Write a tool's declaration.

    Omit empty parameters: an OBJECT needs properties (python-genai#981, SM#2229).
    """
    declaration: JsonObject = {"name": spec.name}
    if spec.description:
        declaration["description"] = spec.description
    if spec.parameters.get("properties"):
        declaration[parameters] = spec.parameters
    return declaration


def gather(declarations: list[JsonObject]) -> list[JsonObject]:
    return [{"functionDeclarations": declarations}]


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Return the config for a request.

    If a request has both functions and Gemini's own tools, it needs a switch that allows this.
    Without the switch, the server returns a 400 (pydantic-ai#6052, ag2#3145, 2026).
    """
    keywords = vertex_request(tools, choice)
    has_functions = {_has_functions(tool) for tool in tools}
    if has_functions == {True, False}:
        keywords["config"].setdefault("toolConfig", {})["includeServerSideToolInvocations"] = True
    return keywords


def _has_functions(entry: Any) -> bool:
    return any(
        member(entry, key) is not None for key in ("functionDeclarations", "function_declarations")
    )


def vertex_request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Return the config for a request to Vertex AI.

    In Gemini's strict mode, VALIDATED, the model writes text or a valid call. Vertex AI does not
    know the switch that ``request`` adds for functions beside Gemini's own tools
    (agent-framework#6954, strands-agents/harness-sdk#3646, 2026).
    """
    if choice.parallel is False:
        raise unsupported(
            choice, "parallel", "Gemini has no switch for parallel calls: leave out parallel="
        )
    calling_config: JsonObject = {}
    if choice.names:
        calling_config = {"mode": "ANY", "allowedFunctionNames": list(choice.names)}
    elif choice.mode is not None:
        calling_config = {"mode": MODES[choice.mode]}
    if choice.is_strict and calling_config.get("mode", "AUTO") == "AUTO":
        calling_config = {"mode": "VALIDATED"}
    if calling_config and not any(map(_has_functions, tools)):
        # A tool choice needs functions: if a request has only Gemini's own tools, the server
        # returns a 400 (laravel/ai#259, 2026-03).
        if calling_config["mode"] == "ANY":
            raise unsupported(
                choice, "choice", "Gemini cannot be forced to call its own tools: leave out choice="
            )
        calling_config = {}
    config: JsonObject = {"tools": tools}
    if calling_config:
        config["toolConfig"] = {"functionCallingConfig": calling_config}
    return {"config": config}


EVIDENCE = "a letter or _, then A-Z a-z 0-9 _ . : -, at most 64; cline#7339, 2025-11"

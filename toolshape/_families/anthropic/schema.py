"""Writes tools and choices for Anthropic's Messages API, and checks schemas against its rules.

The types come from anthropic 2.10.0, read on 2026-11-20. The server's messages are from the cited
issues.
"""

import re

from toolshape._families.wire.bodies import member
from toolshape._families.wire.provider import Choice, Deferral, unsupported
from toolshape._records.calls import ChoiceMode, JsonObject, JsonSchema, Namespace, Spec
from toolshape._schema import checks as rules, constrained as structure, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.lens import Place, each
from toolshape._schema.walk import everywhere

CHOICES: dict[ChoiceMode, str] = {"auto": "auto", "required": "any", "none": "none"}
# Structured outputs documentation, 2026-07. Bounds, lengths and recursion cause a 400; oneOf and
# prefixItems are not documented, so toolshape does not send them.
FORMATS = (
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
)
STRICT_KEYWORDS = (
    "additionalProperties", "anyOf", "const", "default", "description", "enum", "format", "items",
    "minItems",
    "pattern", "properties", "required", "title", "type",
)  # fmt: skip
_COMPLEX_PATTERN = re.compile(r"\(\?|\\[1-9bB]|\{\d*,?\d{3,}")
STRICT = (
    # Runs first, because the other passes do not enter patternProperties.
    structure.patterns_as_maps,
    structure.inline_references,
    *structure.STRUCTURE,
    everywhere(
        each(
            rewrites.every_object_has_properties,
            rewrites.close_objects,
            rewrites.say_formats_but(*FORMATS),
            rewrites.say_instead("minItems", unless=lambda _, least: least in (0, 1)),
            rewrites.say_instead(
                "pattern", unless=lambda _, pattern: not _COMPLEX_PATTERN.search(pattern)
            ),
            rewrites.only_keywords(*STRICT_KEYWORDS),
        )
    ),
)


def few_items(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001 - the signature of a check
    """Check that ``minItems`` is missing, 0 or 1."""
    if node.get("minItems", 0) in (0, 1):
        return None
    return "minItems must be 0 or 1"


def simple_pattern(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that a pattern has no lookaround, back reference, word boundary or large repetition."""
    if _COMPLEX_PATTERN.search(str(node.get("pattern", ""))):
        return "the pattern is too complex"
    return None


# n8n#30590 and claude-code#79418: the server checks only the property keys of the root.
KEY = r"[a-zA-Z0-9_.-]{1,64}"
KEYS = everywhere(rewrites.rename_keys(KEY, only_root=True))


def envelope(spec: Spec, strict: bool) -> JsonObject:
    tool: JsonObject = {"name": spec.name, "input_schema": spec.parameters}
    if spec.description:
        tool["description"] = spec.description
    if strict:
        tool["strict"] = True
    return tool


def _mark_deferred(entry: JsonObject, _: bool | Namespace) -> JsonObject:
    """Mark a tool as deferred. Anthropic has no groups of deferred tools."""
    return {**entry, "defer_loading": True}


DEFERRAL = Deferral(
    mark=_mark_deferred,
    is_marked=lambda entry: entry.get("defer_loading") is True,
    search={"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    is_search=lambda tool: str(member(tool, "type")).startswith("tool_search_tool_"),
    evidence="ToolParam and ToolSearchToolBm25_20251119Param of anthropic 2.12.0, 2026-11-22; "
    "nearai/ironclaw#7274: "
    "a request whose tools are all deferred is refused",
)
# These models refuse ToolChoiceParam's "any" and "tool". Fable 5 and Mythos 5 refused both in
# 2026-06, but accept them now (withceleste/celeste-python#393, 2026-09). The thread does not
# mention Haiku 5.5.
_NEVER_FORCED = re.compile(r"mythos-preview|(fable|mythos)-5[.-][1-9](?!\d)|(opus|sonnet)-5[.-]5")
_FORCED_EVIDENCE = (
    "what's new in Fable 5.1, 2026-09, Opus 5.5, 2026-09, and Sonnet 5.5, 2026-09; "
    "anthropics/claude-cookbooks#854, 2026-09"
)


def refuse_forced(choice: Choice) -> None:
    """Raise ``ExportError`` if the choice forces a tool call, and the model
    does not support forced calls.
    """
    if (
        (choice.names or choice.mode == "required")
        and choice.model
        and _NEVER_FORCED.search(choice.model)
    ):
        message = f"{choice.model} does not support a forced tool call: leave out choice="
        raise unsupported(choice, "choice", message, _FORCED_EVIDENCE)


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Return the tools and the choice of a request.

    The switch for parallel calls is inside ``tool_choice``, and "none" has no such switch
    (ToolChoiceParam, 2.10.0). The API cannot restrict a choice to several tools. If a choice names
    several, the request holds only those tools.
    """
    refuse_forced(choice)
    if not choice.names and choice.mode is None and choice.parallel is None:
        return {"tools": tools}
    tool_choice: JsonObject = {
        "type": CHOICES[choice.mode or ("required" if choice.names else "auto")]
    }
    if len(choice.names) == 1:
        tool_choice = {"type": "tool", "name": choice.names[0]}
    if choice.parallel is not None and tool_choice["type"] != "none":
        tool_choice["disable_parallel_tool_use"] = not choice.parallel
    return {
        "tools": list(choice.chosen) if len(choice.names) > 1 else tools,
        "tool_choice": tool_choice,
    }


DIALECT = cited(
    "structured outputs documentation, 2026-07",
    rules.closed,
    rules.typed,
    rules.no_recursion,
    rules.known_keywords(*STRICT_KEYWORDS, "$ref", "$defs", "definitions", "allOf"),
    rules.known_formats(*FORMATS),
    few_items,
    simple_pattern,
)
# Constraints that a strict schema cannot hold. "anthropic:described" moves them to the descriptions
# in lenient schemas too, as the helper in Anthropic's SDK does.
MOVED = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength", "maxItems",
    "minItems", "uniqueItems",
)  # fmt: skip

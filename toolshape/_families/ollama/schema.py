"""Ollama, ``/api/chat``: what is sent and what is refused. Read in ollama 0.6.3 and the server's source (2026-08-21) on 2026-11-20."""

from toolshape._calls import JsonObject, JsonSchema, Spec
from toolshape._families.openai import schema as openai_schema
from toolshape._schema import constrained as structure
from toolshape._schema import rewrites
from toolshape._schema.arrows import in_object
from toolshape._schema.lens import MARKS, Change, Place
from toolshape._schema.walk import everywhere, inlined
from toolshape._wire.provider import Choice, unsupported

# The server's ToolProperty keeps these and drops the rest in silence; nothing is enforced.
SERVER_KEYWORDS = ("anyOf", "description", "enum", "items", "properties", "required", "type")
SERVER = (
    structure.wrapped_root,
    structure.patterns_as_maps,  # first: no arrow is lifted from a pattern
    inlined(rewrites.recursion_as_json_text),
    *structure.STRUCTURE,
    everywhere(rewrites.const_as_enum),
    everywhere(rewrites.say_default),
    everywhere(rewrites.open_objects),
    everywhere(rewrites.only_keywords(*SERVER_KEYWORDS)),
)
# The Python client keeps less of a parameter still (Tool.Function.Parameters.Property): an object or a choice among the
# parameters would arrive as {}.
CLIENT_KEYWORDS = frozenset({"type", "items", "description", "enum"})


def plain_fields(node: JsonSchema, at: Place) -> Change | None:
    """Parameters that are objects or unions become JSON text, where a provider sends only scalars and arrays."""
    if not at.is_root:
        return None
    changes = {
        name: rewrites.of_a_form(inner, Place(path=name, keyword="properties", resolve=at.resolve))
        for name, inner in node.get("properties", {}).items()
        if isinstance(inner, dict) and inner.keys() - {*MARKS, *CLIENT_KEYWORDS}
    }
    if not changes:
        return None
    shown = {**node["properties"], **{name: change.node for name, change in changes.items()}}
    return Change(
        node={**node, "properties": shown},
        back=in_object({name: change.back for name, change in changes.items()}),
        out=in_object({name: change.out for name, change in changes.items()}),
        losses=tuple(loss for change in changes.values() for loss in change.losses),
    )


def client_keywords(node: JsonSchema, at: Place) -> str | None:
    """The client keeps four keywords of a parameter, and drops the rest in silence."""
    properties = node.get("properties", {}).items() if at.is_root else ()
    lost = [(name, key) for name, inner in properties for key in inner if key not in CLIENT_KEYWORDS]
    return f"the client drops {lost[0][1]} of {lost[0][0]!r}" if lost else None


CLIENT = (*SERVER, everywhere(rewrites.null_as_type), everywhere(plain_fields))


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - there is no strict form
    return openai_schema.envelope(spec, strict=False)


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """There is no tool_choice: "none" is sending no tools, and no call can be forced."""
    if choice.parallel is False:
        raise unsupported(choice, "parallel", "Ollama has no switch for parallel calls: leave it out")
    if choice.mode == "required" or choice.names:
        raise unsupported(
            choice, "choice", "Ollama cannot be made to call a tool: bind a subset, and ask in the prompt"
        )
    return {} if choice.mode == "none" else {"tools": tools}

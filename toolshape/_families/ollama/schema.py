"""Writes tools for Ollama's ``/api/chat``, with the rewrites for its server and its client.

The types come from ollama 0.6.3 and from the server's source of 2026-08-21, read on 2026-11-22.
"""

from toolshape._families.openai import schema as openai_schema
from toolshape._families.wire.provider import Choice, unsupported
from toolshape._records.calls import JsonObject, JsonSchema, Spec
from toolshape._schema import constrained as structure, rewrites
from toolshape._schema.arrows import in_object
from toolshape._schema.lens import MARKS, Change, Place
from toolshape._schema.walk import everywhere

# The server's ToolProperty keeps these keywords and silently drops all others; it enforces none.
SERVER_KEYWORDS = ("anyOf", "description", "enum", "items", "properties", "required", "type")
SERVER = (
    structure.wrap_root,
    # Runs first, because the other passes do not enter patternProperties.
    structure.patterns_as_maps,
    structure.inline_references,
    *structure.STRUCTURE,
    everywhere(rewrites.const_as_enum),
    everywhere(rewrites.say_default),
    everywhere(rewrites.open_objects),
    everywhere(rewrites.only_keywords(*SERVER_KEYWORDS)),
)
# The Python client keeps even fewer keywords of a parameter (Tool.Function.Parameters.Property): a
# parameter that is an object or a union would arrive as {}.
CLIENT_KEYWORDS = frozenset({"type", "items", "description", "enum"})


def plain_fields(node: JsonSchema, at: Place) -> Change | None:
    """Turn parameters that are objects or unions into JSON text strings: the client
    sends only scalars and arrays.
    """
    if not at.is_root:
        return None
    changes = {
        name: rewrites.of_a_form(inner, Place(path=name, keyword="properties", resolve=at.resolve))
        for name, inner in node.get("properties", {}).items()
        if isinstance(inner, dict) and inner.keys() - {*MARKS, *CLIENT_KEYWORDS}
    }
    if not changes:
        return None
    properties = {**node["properties"], **{name: change.node for name, change in changes.items()}}
    return Change(
        node={**node, "properties": properties},
        back=in_object({name: change.back for name, change in changes.items()}),
        out=in_object({name: change.out for name, change in changes.items()}),
        losses=tuple(loss for change in changes.values() for loss in change.losses),
    )


def client_keywords(node: JsonSchema, at: Place) -> str | None:
    """Check that a parameter has only the four keywords that the client keeps; the
    client silently drops all others.
    """
    if at.is_root:
        properties = node.get("properties", {}).items()
    else:
        properties = ()
    dropped = [
        (name, key) for name, inner in properties for key in inner if key not in CLIENT_KEYWORDS
    ]
    if dropped:
        return f"the client drops {dropped[0][1]} of {dropped[0][0]!r}"
    return None


CLIENT = (*SERVER, everywhere(rewrites.null_as_type), everywhere(plain_fields))


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - there is no strict form
    return openai_schema.envelope(spec, strict=False)


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Return the tools of a request.

    Ollama has no tool_choice: "none" sends no tools, and no call can be forced.
    """
    if choice.parallel is False:
        raise unsupported(
            choice, "parallel", "Ollama has no switch for parallel calls: leave out parallel="
        )
    if choice.mode == "required" or choice.names:
        raise unsupported(
            choice,
            "choice",
            "Ollama cannot be made to call a tool: bind a subset, and ask in the prompt",
        )
    if choice.mode == "none":
        return {}
    return {"tools": tools}

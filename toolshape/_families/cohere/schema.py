"""Writes tools and choices for Cohere's v2 chat API, and the rewrites of its strict dialect.

The types come from cohere 7.3.1, read on 2026-11-20. Cohere's documentation of 2025 describes the
strict dialect.
"""

import re

from toolshape._families.openai import schema as openai_schema
from toolshape._families.wire.provider import Choice, unsupported
from toolshape._records.calls import ChoiceMode, JsonObject, Spec, WireMessage
from toolshape._schema import constrained as structure, rewrites
from toolshape._schema.walk import everywhere

# Cohere's structured outputs documentation (2025) allows no combinators, bounds or lengths, and few
# formats. Every object must have a required field. The documentation is about response schemas;
# toolshape assumes that the same rules hold for strict_tools.
FORMATS = ("date-time", "uuid", "date", "time")
STRICT_KEYWORDS = (
    "default",
    "description",
    "enum",
    "format",
    "items",
    "properties",
    "required",
    "title",
    "type",
)
STRICT = (
    structure.wrap_root,
    # Runs first, because the other passes do not enter patternProperties.
    structure.patterns_as_maps,
    structure.inline_references,
    everywhere(rewrites.const_as_enum),
    # Runs before the choices lose null, which Cohere does not support.
    everywhere(rewrites.enum_as_strings),
    *structure.STRUCTURE,
    everywhere(rewrites.null_left_out),
    everywhere(rewrites.one_required),
    everywhere(rewrites.union_as_json_text),
    everywhere(rewrites.say_formats_but(*FORMATS)),
    everywhere(rewrites.open_objects),
    everywhere(rewrites.only_keywords(*STRICT_KEYWORDS)),
)


CHOICES: dict[ChoiceMode, str] = {"required": "REQUIRED", "none": "NONE"}
"""Cohere has no word for ``"auto"``: the request omits the field."""


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - strict is a flag of the request
    return openai_schema.envelope(spec, strict=False)


# Only Command R7B and newer models accept tool_choice (cohere 7.3.1, V2ChatRequest).
_WITHOUT_CHOICE = re.compile(r"command(-light|-nightly|-r|-r-plus|-r-0\d-2024|-r-plus-0\d-2024)?$")


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Return the tools and the choice, ``REQUIRED`` or ``NONE``.

    If the choice names tools, send only those tools.
    """
    if choice.parallel is False:
        raise unsupported(
            choice, "parallel", "Cohere has no switch for parallel calls: leave out parallel="
        )
    is_chosen = choice.names or choice.mode in ("required", "none")
    if is_chosen and choice.model and _WITHOUT_CHOICE.match(choice.model):
        message = f"{choice.model} does not support a tool choice: leave out choice="
        raise unsupported(
            choice, "choice", message, "cohere 7.3.1 V2ChatRequest: for Command R7B and newer"
        )
    body: JsonObject = {"tools": list(choice.chosen) if choice.names else tools}
    if is_chosen:
        body["tool_choice"] = CHOICES[
            "required" if choice.names or choice.mode is None else choice.mode
        ]
    if choice.is_strict:
        body["strict_tools"] = True
    return body


def without_null(message: WireMessage) -> WireMessage:
    """Return a message; if its content is null, leave out the key ``content``."""
    return {key: value for key, value in message.items() if key != "content" or value is not None}

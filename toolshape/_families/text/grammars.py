"""Builds grammars that only let a model call the given tools: structural tags, and Lark.

The sources are xgrammar 53da3ff8 (2026-08-17) for structural tags, which vLLM and SGLang accept,
and llguidance 1.9 (2026-11) for Lark.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from toolshape._families.text.format import TextFormat
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.gbnf import from_lark
from toolshape._families.text.value_grammars import ValueRules
from toolshape._families.text.values import kinds_of
from toolshape._families.text.writing import kind_holes, write_spaced
from toolshape._records.calls import JsonObject, JsonSchema
from toolshape._records.errors import UsageError
from toolshape._schema.references import resolver
from toolshape._schema.rewrites import nullable_as_null
from toolshape._schema.values import kind_of
from toolshape._schema.walk import everywhere

# These placeholders mark the parts of a call that the model chooses. ``_PATTERNS`` has patterns for
# some placeholders.
_HOLE, _ID_HOLE, _NUMBER_HOLE, _KEY_HOLE = "\x00", "\x01", "\x02", "\x03"
_PATTERNS = {_ID_HOLE: "[a-zA-Z0-9]{9}", _NUMBER_HOLE: "[0-9]+", _KEY_HOLE: "[a-zA-Z0-9_.-]+"}


def structural_tag(
    text_format: TextFormat, schemas: Mapping[str, JsonSchema], *, forced: bool, parallel: bool
) -> JsonObject:
    """Return a structural tag: the model may write text up to an opening
    mark, and then calls of the tools.

    Args:
        text_format: The format.
        schemas: The parameter schemas of the tools that the model may call, by wire name.
        forced: Whether the text must be a call.
        parallel: Whether the text may contain several calls.

    Raises:
        UsageError: No structural tag can describe the format's parameters, or no mark begins a call
            in the format.
    """
    layout = text_format.layout
    if layout.parameter and not text_format.xml_style:
        raise UsageError(
            f'there is no structural tag for the format {text_format.name!r}: use grammar("lark")'
        )
    tags = [_tag(text_format, name, schema) for name, schema in schemas.items()]
    if layout.before or layout.after:
        separated_tags: JsonObject = {
            "type": "tags_with_separator",
            "tags": tags,
            "separator": layout.between,
            "at_least_one": True,
        }
        separated_tags["stop_after_first"] = not parallel
        tags = [
            {"type": "tag", "begin": layout.before, "content": separated_tags, "end": layout.after}
        ]
    if forced:
        separator = "" if layout.before else layout.between
        content: JsonObject = {
            "type": "tags_with_separator",
            "tags": tags,
            "separator": separator,
            "at_least_one": True,
            "stop_after_first": not parallel or bool(layout.before),
        }
        return {"type": "structural_tag", "format": content}
    trigger = _trigger(text_format, [str(tag["begin"]) for tag in tags])
    content = {
        "type": "triggered_tags",
        "triggers": [trigger],
        "tags": tags,
        "at_least_one": False,
        "stop_after_first": not parallel,
    }
    return {"type": "structural_tag", "format": content}


def _tag(text_format: TextFormat, name: str, schema: JsonSchema) -> JsonObject:
    (begin, *middle_parts), ends = _split_around_arguments(text_format, name)
    content: JsonObject = {"type": "json_schema", "json_schema": schema}
    if text_format.xml_style:
        content["style"] = text_format.xml_style
    *after, end = ends
    if middle_parts or after:  # the call also contains ids or numbers
        content = {
            "type": "sequence",
            "elements": [*_elements(middle_parts, 0), content, *_elements(after, 1)],
        }
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def _elements(pieces: Sequence[str], first: int) -> list[JsonObject]:
    """Return the sequence elements for alternating strings and patterns; ``first``
    is 0 if a pattern comes first.
    """
    return [
        {"type": "const_string", "value": piece}
        if position % 2
        else {"type": "regex", "pattern": piece}
        for position, piece in enumerate(pieces, first)
    ]


def _split_around_arguments(text_format: TextFormat, name: str) -> tuple[list[str], list[str]]:
    """Return the parts before and after a call's arguments.

    Each list alternates strings and patterns, string first.
    """
    text = text_format.layout.call.format(
        name=name,
        id=_ID_HOLE,
        number=_NUMBER_HOLE,
        ordinal=_NUMBER_HOLE,
        arguments=_HOLE,
        parameters=_HOLE,
    )
    begin, _, end = text.partition(_HOLE)
    return _split_at_holes(begin), _split_at_holes(end)


def _split_at_holes(text: str) -> list[str]:
    """Split a string at its placeholders, and replace each placeholder with its pattern."""
    return [_PATTERNS.get(piece, piece) for piece in re.split(f"([{''.join(_PATTERNS)}])", text)]


def _trigger(text_format: TextFormat, begins: Sequence[str]) -> str:
    mark = next((mark for mark in text_format.marks if begins and begins[0].startswith(mark)), None)
    if mark is None:
        if begins:
            mark = begins[0][: len(_common_prefix(begins))].rstrip()
        else:
            mark = ""
    if not mark:
        raise UsageError(
            f"calls in the format {text_format.name!r} begin without a mark: force a call with "
            'choice="required"'
        )
    return mark


def _common_prefix(texts: Sequence[str]) -> str:
    smallest, largest = min(texts), max(texts)
    length = next(
        (
            position
            for position, character in enumerate(smallest)
            if character != largest[position : position + 1]
        ),
        len(smallest),
    )
    return smallest[:length]


def lark(
    text_format: TextFormat, schemas: Mapping[str, JsonSchema], *, forced: bool, parallel: bool
) -> str:
    """Return a Lark grammar for llguidance; it takes the same arguments as ``structural_tag``.

    Free text before a call cannot contain the mark that begins a call.

    Raises:
        UsageError: No mark begins a call in the format, and ``forced`` is false.
    """
    layout = text_format.layout
    rules: list[str] = []
    names: list[str] = []
    for number, (name, schema) in enumerate(schemas.items()):
        before, after = (
            _terminals(pieces) for pieces in _split_around_arguments(text_format, name)
        )
        arguments = _arguments_expression(text_format, f"call_{number}", schema, rules)
        rules.append(f"call_{number}: {before} {arguments} {after}")
        names.append(f"call_{number}")
    rules.append(f"call: {' | '.join(names)}")
    separator = _quote(layout.between) if layout.between else ""
    later_calls = f"({separator} call)*" if parallel else ""
    if forced:
        rules.append(f"start: {_quote(layout.before)} call {later_calls} {_quote(layout.after)}")
        return "\n".join(["%llguidance {}", *rules, ""])
    # The rule for the text before a call includes the opening mark, so no other text can contain
    # the mark.
    if layout.before:
        beginnings = [layout.before]
    else:
        beginnings = [_split_around_arguments(text_format, name)[0][0] for name in schemas]
    mark = _trigger(text_format, beginnings)
    if layout.before:
        first_call = f"{_quote(layout.before[len(mark) :])} call"
    else:
        first_rules: list[str] = []
        for number, rule in enumerate([rule for rule in rules if re.match(r"call_\d+: ", rule)]):
            body = rule.partition(": ")[2]
            first_rules.append(f"first_{number}")
            rules.append(
                f"first_{number}: {_quote(beginnings[number][len(mark) :])} "
                f"{body[len(_quote(beginnings[number])) :]}"
            )
        first_call = f"({' | '.join(first_rules)})"
    rules += [
        f"start: PROSE? | opening {first_call} {later_calls} {_quote(layout.after)}",
        f"PROSE: /(?s:.+)/ & ~/(?s:.*){_escape(mark)}(?s:.*)/",
        f"opening[suffix={_quote(mark)}]: /(?s:.*)/",
    ]
    return "\n".join(["%llguidance {}", *rules, ""])


def _terminals(pieces: Sequence[str]) -> str:
    return " ".join(
        f"/{piece}/" if position % 2 else _quote(piece) for position, piece in enumerate(pieces)
    )


def _escape(text: str) -> str:
    return "".join(
        f"\\{character}" if character in r"\^$.|?*+()[]{}/" else character for character in text
    )


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json_rule(schema: Any) -> str:
    """Return the rule for a schema. llguidance ignores unknown keywords here,
    because toolshape validates the call.
    """
    schema = schema if isinstance(schema, dict) else {}
    return f"%json {json.dumps({**schema, 'x-guidance': {'lenient': True}}, ensure_ascii=False)}"


def _arguments_expression(
    text_format: TextFormat, rule: str, schema: JsonSchema, rules: list[str]
) -> str:
    layout = text_format.layout
    if not layout.parameter:
        return _json_rule(schema)
    if text_format.is_python or text_format.quote or text_format.tag_mark:
        return ValueRules(text_format, rule, schema, rules).parameters(schema)
    required = set(schema.get("required", ()))
    parameters: list[str] = []
    for number, (key, node) in enumerate(schema.get("properties", {}).items()):
        name = f"{rule}_{number}"
        rules.append(
            f"{name}: "
            f"{' | '.join(_parameter_rules(layout.parameter, name, key, node, schema, rules))}"
        )
        parameters.append(name if key in required else f"{name}?")
    other_schema = schema.get("additionalProperties", False)
    if other_schema is not False:
        expressions = _parameter_rules(
            layout.parameter, f"{rule}_others", _KEY_HOLE, other_schema, schema, rules
        )
        rules.append(f"{rule}_others: {' | '.join(expressions)}")
        parameters.append(f"{rule}_others*")
    return " ".join(parameters)


def _parameter_rules(
    parameter: str, name: str, key: str, node: Any, schema: JsonSchema, rules: list[str]
) -> list[str]:
    """Return the expressions for a parameter in tags: one expression for each type
    that the opening tag can declare.

    Strings are not quoted, so a parameter that admits strings accepts any text up to the closing
    tag.
    """
    kinds_by_text: dict[str, set[str]] = {}
    for kind in sorted(kinds_of(node, resolver(schema))):
        kinds_by_text.setdefault(
            parameter.format(key=key, value=_HOLE, **kind_holes(kind)), set()
        ).add(kind)
    if "$defs" in schema:
        definitions = {"$defs": schema["$defs"]}
    else:
        definitions = {}
    expressions: list[str] = []
    for number, (text, kinds) in enumerate(kinds_by_text.items()):
        begin, _, end = text.partition(_HOLE)
        choices = _choices(node, kinds)
        if choices:
            value = f"({' | '.join(map(_quote, choices))}) {_quote(end)}"
        elif "string" in kinds:  # the rule for the text includes the closing tag
            value = f"{name}_text{number}"
            rules.append(f"{value}[suffix={_quote(end)}]: /(?s:.*)/")
        else:
            if len(kinds_by_text) > 1:
                type_limit = {"type": sorted(kinds)}
            else:
                type_limit = {}
            value = (
                f"{_json_rule({**definitions, **node, **type_limit} if isinstance(node, dict) else node)} "
                f"{_quote(end)}"
            )
        expressions.append(f"{_terminals(_split_at_holes(begin))} {value}")
    return expressions


def _choices(node: Any, kinds: Collection[str]) -> list[str]:
    """Return the text of each choice with one of the JSON types; return an empty
    list if the schema has no choices.
    """
    if not isinstance(node, dict) or not ("const" in node or isinstance(node.get("enum"), list)):
        return []
    values = [node["const"]] if "const" in node else node["enum"]
    return [
        value if isinstance(value, str) else write_spaced(value)
        for value in values
        if kind_of(value) in kinds
    ]


def grammar(
    provider: str, kind: str, schemas: Mapping[str, JsonSchema], *, forced: bool, parallel: bool
) -> JsonObject | str:
    """Return the grammar for a provider such as ``text:hermes`` or ``openai+hermes``.

    Raises:
        UsageError: The provider has no text format, the kind is unknown, or the format has no
            grammar of this kind.
    """
    text_format = FORMATS.get(
        provider.removeprefix("text:")
        if provider.startswith("text:")
        else provider.partition("+")[2]
    )
    if text_format is None:
        raise UsageError(
            f'tools bound to {provider} have no grammar: bind("text:hermes"), or pass '
            "text_calls= to bind"
        )
    if not schemas:
        raise UsageError("a grammar needs at least one tool")
    schemas = {
        name: everywhere(nullable_as_null)(schema).schema for name, schema in schemas.items()
    }
    if kind == "structural_tag":
        return structural_tag(text_format, schemas, forced=forced, parallel=parallel)
    if kind == "lark":
        return lark(text_format, schemas, forced=forced, parallel=parallel)
    if kind == "gbnf":
        return from_lark(lark(text_format, schemas, forced=forced, parallel=parallel))
    raise UsageError(
        f'the kind of grammar must be "structural_tag", "lark" or "gbnf", not {kind!r}'
    )

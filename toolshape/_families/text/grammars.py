"""Makes grammars that constrain a model's text to calls of some tools: structural tags, and Lark for llguidance.

Structural tags are read in xgrammar 53da3ff8 (2026-08-17), as vLLM and SGLang take them; Lark in llguidance 1.9 (2026-11).
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolshape._calls import JsonObject, JsonSchema
from toolshape._errors import UsageError
from toolshape._families.text.format import TextFormat
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.values import kinds_of
from toolshape._schema.references import resolver

_HOLE, _ID_HOLE, _NUMBER_HOLE = "\x00", "\x01", "\x02"
_PATTERNS = {_ID_HOLE: "[a-zA-Z0-9]{9}", _NUMBER_HOLE: "[0-9]+"}


def structural_tag(
    text_format: TextFormat, schemas: Mapping[str, JsonSchema], *, forced: bool, parallel: bool
) -> JsonObject:
    """Return a structural tag: text until an opening mark, then calls of the tools.

    Args:
        text_format: The format.
        schemas: The schemas of the tools' parameters that may be called, by wire name.
        forced: Whether the text must be a call.
        parallel: Whether several calls may follow one another.

    Raises:
        UsageError: The format has parameters in tags that are no structural tag, or no mark that begins a call.
    """
    layout = text_format.layout
    if layout.parameter and not text_format.xml_style:
        raise UsageError(f'there is no structural tag for the format {text_format.name!r}: use grammar("lark")')
    tags = [_tag(text_format, name, schema) for name, schema in schemas.items()]
    if layout.before or layout.after:
        inner: JsonObject = {
            "type": "tags_with_separator",
            "tags": tags,
            "separator": layout.between,
            "at_least_one": True,
        }
        inner["stop_after_first"] = not parallel
        tags = [{"type": "tag", "begin": layout.before, "content": inner, "end": layout.after}]
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
    (begin, *between), ends = _around(text_format, name)
    content: JsonObject = {"type": "json_schema", "json_schema": schema}
    if text_format.xml_style:
        content["style"] = text_format.xml_style
    *after, end = ends
    if between or after:  # ids stand in the middle of a call
        content = {"type": "sequence", "elements": [*_elements(between, 0), content, *_elements(after, 1)]}
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def _elements(pieces: Sequence[str], first: int) -> list[JsonObject]:
    """Return texts and patterns, by turns, as elements of a sequence; ``first`` is 0 if a pattern comes first."""
    return [
        {"type": "const_string", "value": piece} if at % 2 else {"type": "regex", "pattern": piece}
        for at, piece in enumerate(pieces, first)
    ]


def _around(text_format: TextFormat, name: str) -> tuple[list[str], list[str]]:
    """Return what stands before and after the arguments of a call: texts and patterns of ids by turns, a text first."""
    text = text_format.layout.call.format(
        name=name, id=_ID_HOLE, number=_NUMBER_HOLE, arguments=_HOLE, parameters=_HOLE
    )
    begin, _, end = text.partition(_HOLE)
    first, last = (
        [_PATTERNS.get(piece, piece) for piece in re.split(f"([{_ID_HOLE}{_NUMBER_HOLE}])", part)]
        for part in (begin, end)
    )
    return first, last


def _trigger(text_format: TextFormat, begins: Sequence[str]) -> str:
    mark = next((mark for mark in text_format.marks if begins and begins[0].startswith(mark)), None)
    if mark is None:
        mark = begins[0][: len(_common(begins))].rstrip() if begins else ""
    if not mark:
        raise UsageError(
            f'no mark begins a call in the format {text_format.name!r}: force a call with choice="required"'
        )
    return mark


def _common(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    length = next((at for at, character in enumerate(first) if character != last[at : at + 1]), len(first))
    return first[:length]


def lark(text_format: TextFormat, schemas: Mapping[str, JsonSchema], *, forced: bool, parallel: bool) -> str:
    """Return a Lark grammar for llguidance; arguments as for ``structural_tag``.

    Free text before a call cannot hold the mark that begins one.

    Raises:
        UsageError: The format has no mark that begins a call, and a call is not forced.
    """
    layout = text_format.layout
    rules: list[str] = []
    names: list[str] = []
    for number, (name, schema) in enumerate(schemas.items()):
        before, after = (_terminals(pieces) for pieces in _around(text_format, name))
        inner = _arguments(text_format, f"call_{number}", schema, rules)
        rules.append(f"call_{number}: {before} {inner} {after}")
        names.append(f"call_{number}")
    rules.append(f"call: {' | '.join(names)}")
    separator = _quoted(layout.between) if layout.between else ""
    further = f"({separator} call)*" if parallel else ""
    if forced:
        rules.append(f"start: {_quoted(layout.before)} call {further} {_quoted(layout.after)}")
        return "\n".join(["%llguidance {}", *rules, ""])
    # The text before a call ends with its opening mark, so that the mark belongs to no other text.
    begins = [layout.before] if layout.before else [_around(text_format, name)[0][0] for name in schemas]
    mark = _trigger(text_format, begins)
    if layout.before:
        first = f"{_quoted(layout.before[len(mark) :])} call"
    else:
        rests: list[str] = []
        for number, rule in enumerate([rule for rule in rules if re.match(r"call_\d+: ", rule)]):
            body = rule.partition(": ")[2]
            rests.append(f"first_{number}")
            rules.append(
                f"first_{number}: {_quoted(begins[number][len(mark) :])} {body[len(_quoted(begins[number])) :]}"
            )
        first = f"({' | '.join(rests)})"
    rules += [
        f"start: PROSE? | opening {first} {further} {_quoted(layout.after)}",
        f"PROSE: /(?s:.+)/ & ~/(?s:.*){_escaped(mark)}(?s:.*)/",
        f"opening[suffix={_quoted(mark)}]: /(?s:.*)/",
    ]
    return "\n".join(["%llguidance {}", *rules, ""])


def _terminals(pieces: Sequence[str]) -> str:
    return " ".join(f"/{piece}/" if at % 2 else _quoted(piece) for at, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in r"\^$.|?*+()[]{}/" else character for character in text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json(schema: Any) -> str:
    """Return the rule of a schema. What llguidance does not know of it is left out: arguments are validated anyway."""
    schema = schema if isinstance(schema, dict) else {}
    return f"%json {json.dumps({**schema, 'x-guidance': {'lenient': True}}, ensure_ascii=False)}"


def _arguments(text_format: TextFormat, rule: str, schema: JsonSchema, rules: list[str]) -> str:
    layout = text_format.layout
    if not layout.parameter:
        return _json(schema)
    if text_format.is_python:
        raise UsageError(f"there is no grammar for the format {text_format.name!r}: its arguments are Python literals")
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    resolve = resolver(schema)
    parts: list[str] = []
    for number, (key, node) in enumerate(properties.items()):
        is_text = kinds_of(node, resolve) == frozenset({"string"})
        text = layout.parameter.format(key=key, value=_HOLE, is_text="true" if is_text else "false")
        begin, _, end = text.partition(_HOLE)
        definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
        name = f"{rule}_{number}"
        if is_text and "enum" not in node:  # up to the closing tag, which belongs to this rule
            rules += [f"{name}: {_quoted(begin)} {name}_text", f"{name}_text[suffix={_quoted(end)}]: /(?s:.*)/"]
        else:
            value = {**definitions, **node} if isinstance(node, dict) else node
            choices = " | ".join(map(_quoted, node["enum"])) if is_text else _json(value)
            rules.append(f"{name}: {_quoted(begin)} ({choices}) {_quoted(end)}")
        parts.append(name if key in required else f"{name}?")
    return " ".join(parts)


def grammar(
    provider: str, kind: str, schemas: Mapping[str, JsonSchema], *, forced: bool, parallel: bool
) -> JsonObject | str:
    """Return the grammar of a provider that is ``text:`` and a format, or has ``+`` and a format after its name.

    Raises:
        UsageError: The provider has no text format, the kind is unknown, or the format has no grammar of this kind.
    """
    text_format = FORMATS.get(
        provider.removeprefix("text:") if provider.startswith("text:") else provider.partition("+")[2]
    )
    if text_format is None:
        raise UsageError(f'tools at {provider} have no grammar: bind("text:hermes"), or pass text_calls= to bind')
    if not schemas:
        raise UsageError("there are no tools to write a grammar for")
    if kind == "structural_tag":
        return structural_tag(text_format, schemas, forced=forced, parallel=parallel)
    if kind == "lark":
        return lark(text_format, schemas, forced=forced, parallel=parallel)
    raise UsageError(f'a grammar is "structural_tag" or "lark", not {kind!r}')

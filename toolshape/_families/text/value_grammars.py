"""Builds Lark rules for arguments that are not JSON: Python literals, braces, elements.

The rules follow the structure of a schema: types, properties in their order, items, choices and
references. They leave out limits and patterns, because toolshape validates the arguments later.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolshape._families.text.braces import write_braces
from toolshape._families.text.elements import ITEM, write_content
from toolshape._families.text.format import TextFormat
from toolshape._families.text.values import kinds_of
from toolshape._families.text.writing import write_spaced
from toolshape._records.calls import JsonSchema
from toolshape._schema.references import Resolve, resolver

INTEGER = "/-?(0|[1-9][0-9]*)/"
NUMBER = r"/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/"
_ESCAPE = r"\\([\\'\"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5})"
PYTHON_STRING = rf"/'([^'\\\n]|{_ESCAPE})*'|\"([^\"\\\n]|{_ESCAPE})*\"/"
WORD = r"/[^:,{}\[\]<>\n]+/"
PARAMETER_NAME = "/[a-zA-Z_][a-zA-Z0-9_]*/"
TAG = r"/<[^<>\/][^<>]*>/"
TAG_NAME = r"/[^<>\/][^<>]*/"
_ANY: Sequence[str] = ("null", "boolean", "number", "string", "array", "object")


class ValueRules:
    """Builds the rules for the values of one tool's parameters in one format.

    Args:
        text_format: A format with Python literals, with values in braces, or with nested elements.
        prefix: The prefix for the names of the rules.
        schema: The schema of the tool's parameters.
        rules: The rules of the grammar; the new rules are appended to this list.
    """

    def __init__(
        self, text_format: TextFormat, prefix: str, schema: JsonSchema, rules: list[str]
    ) -> None:
        self._format = text_format
        self._prefix = prefix
        self._rules = rules
        self._resolve: Resolve = resolver(schema)
        self._named: dict[tuple[str, str], str] = {}

    def parameters(self, schema: JsonSchema) -> str:
        """Return an expression for the parameters of a call."""
        layout = self._format.layout
        begin, _, end = layout.parameter.partition("{value}")
        properties: Mapping[str, Any] = schema.get("properties", {})
        members = [
            (_quote(begin.format(key=key)) + " " + self._value(node, end.format(key=key)), key)
            for key, node in properties.items()
        ]
        other_schema = schema.get("additionalProperties", False)
        if other_schema is False:
            other_members = ""
        else:
            other_members = self._add_rule(self._other_parameter(begin, end, other_schema))
        return self._members(
            members, frozenset(schema.get("required", ())), layout.between_parameters, other_members
        )

    def _other_parameter(self, begin: str, end: str, node: Any) -> str:
        """Return an expression for a parameter with any name."""
        if self._format.tag_mark:
            return f"{self._other_element(node)} {_quote(end.rpartition('>')[2])}"
        before_name, _, after_name = begin.partition("{key}")
        return (
            f"{_quote(before_name)} {PARAMETER_NAME} {_quote(after_name)} {self._value(node, end)}"
        )

    def _add_rule(self, body: str) -> str:
        name = f"{self._prefix}_v{len(self._rules)}"
        self._rules.append(f"{name}: {body}")
        return name

    def _members(
        self,
        members: Sequence[tuple[str, str]],
        required: frozenset[str],
        separator: str,
        more: str = "",
    ) -> str:
        """Return an expression for members in a fixed order; a member may be
        missing if it is not required.

        A separator comes only between members that are present. So each position needs two rules:
        one rule if no member came before, and one rule if a member came before. ``more`` is an
        expression for further members.
        """
        later = f"({_quote(separator)} {more})*" if more else ""
        first = f"({more} {later})?" if more else ""
        for member, key in reversed(members):
            following = f"{member} {later}"
            if key in required:
                first = self._add_rule(following)
                later = self._add_rule(f"{_quote(separator)} {following}")
            else:
                first = self._add_rule(f"{following} | {first}" if first else f"({following})?")
                later = self._add_rule(f"({_quote(separator)} {member})? {later}")
        return first

    def _value(self, node: Any, closing: str) -> str:
        """Return an expression for a value and the text that closes it."""
        if isinstance(node, dict) and "$ref" in node:
            return self._reference(node, closing)
        if not isinstance(node, dict):
            node = {}
        # The closing text belongs to the expression of the value, since a text without quotes ends
        # only where the closing begins. So each branch carries it down, and a format with elements
        # takes any value where it cannot tell a text from elements.
        if self._format.tag_mark and self._is_text_or_elements(node):
            return self._any_value(closing)
        if isinstance(node.get("enum"), list) or "const" in node:
            if isinstance(node.get("enum"), list):
                values = node["enum"]
            else:
                values = [node["const"]]
            return f"({' | '.join(_quote(self._write(value) + closing) for value in values)})"
        branches = node.get("anyOf") or node.get("oneOf") or (node.get("allOf") or ())[:1]
        if branches:
            return f"({' | '.join(self._value(branch, closing) for branch in branches)})"
        kinds = node.get("type", _ANY)
        if isinstance(kinds, str):
            kinds = [kinds]
        else:
            kinds = list(kinds)
        if kinds == list(_ANY):
            return self._any_value(closing)
        return f"({' | '.join(self._kind(kind, node, closing) for kind in kinds)})"

    def _is_text_or_elements(self, node: Any) -> bool:
        kinds = kinds_of(node, self._resolve)
        return "string" in kinds and not kinds.isdisjoint(("array", "object"))

    def _any_value(self, closing: str) -> str:
        """Return the name of a rule for any value; the rule may refer to itself."""
        name = self._named.get(("", closing))
        if name is None:
            name = self._named["", closing] = f"{self._prefix}_any{len(self._named)}"
            if not self._format.tag_mark:
                kinds = [self._kind(kind, {}, closing) for kind in _ANY]
            else:
                kinds = []
            self._rules.append(f"{name}: {' | '.join(kinds) or self._any_content(closing)}")
        return name

    def _any_content(self, closing: str) -> str:
        """Return an expression for any content of an element: text, or further elements.

        llguidance ends the text at the first mark. So the rule for the text includes this mark, and
        the alternatives follow it.
        """
        mark = self._format.tag_mark
        element = f'{TAG} {self._any_value(f"{mark}</")} {TAG_NAME} ">"'
        end = _quote(closing.removeprefix(mark))
        return (
            f"{self._text_up_to(mark)} ({end} | {element} ({_quote(mark)} {element})* "
            f"{_quote(mark)} {end})"
        )

    def _reference(self, node: JsonSchema, closing: str) -> str:
        """Return the name of the rule for a definition in the schema; the
        definition may refer to itself.
        """
        key = (str(node["$ref"]), closing)
        if key not in self._named:
            self._named[key] = f"{self._prefix}_d{len(self._named)}"
            self._rules.append(f"{self._named[key]}: {self._value(self._resolve(node), closing)}")
        return self._named[key]

    def _kind(self, kind: str, node: JsonSchema, closing: str) -> str:
        if kind == "string":
            return self._string(closing)
        if kind in ("array", "object"):
            if kind == "array":
                expression = self._array(node)
            else:
                expression = self._object(node)
            return f"({expression}) {_quote(closing)}"
        if kind in ("integer", "number"):
            return f"{INTEGER if kind == 'integer' else NUMBER} {_quote(closing)}"
        words = [self._write(value) for value in ((True, False) if kind == "boolean" else (None,))]
        return f"({' | '.join(_quote(word + closing) for word in words)})"

    def _string(self, closing: str) -> str:
        if self._format.is_python:
            return f"{PYTHON_STRING} {_quote(closing)}"
        quote = self._format.quote
        text = self._text_up_to(quote + closing)
        if quote:
            return f"{_quote(quote)} {text}"
        return text

    def _text_up_to(self, end: str) -> str:
        """Return the name of a rule for any text up to ``end``; the rule includes ``end``."""
        name = f"{self._prefix}_t{len(self._rules)}"
        self._rules.append(f"{name}[suffix={_quote(end)}]: /(?s:.*)/")
        return name

    def _array(self, node: JsonSchema) -> str:
        """Return an expression for an array.

        A tuple of fixed length has its own item schema for each position. If a tuple may be
        shorter, each position accepts all of these item schemas.
        """
        positions, items = (
            node.get("prefixItems", ()),
            node.get("items", not node.get("prefixItems")),
        )
        # A grammar has no counters: a shorter tuple would need a rule for each length, and their
        # number grows with the square of the positions.
        if positions and node.get("minItems") != len(positions):
            items = {"anyOf": [*positions, *([] if items is False else [items])]}
            positions = ()
        if self._format.tag_mark:
            elements = [f"({self._element(ITEM, item)})" for item in positions]
            if items is not False:
                elements.append(f"({self._element(ITEM, items)})*")
            return " ".join(elements) or '""'
        separator = _quote(", " if self._format.is_python else ",")
        if items is not False:
            item_rule = self._add_rule(self._value(items, ""))
        else:
            item_rule = ""
        if not positions:
            if item_rule:
                return f'"[" ({item_rule} ({separator} {item_rule})*)? "]"'
            return '"[]"'
        position_items = f" {separator} ".join(f"({self._value(item, '')})" for item in positions)
        return f'"[" {position_items} {f"({separator} {item_rule})*" if item_rule else ""} "]"'

    def _element(self, key: str, node: Any) -> str:
        mark = self._format.tag_mark
        return f"{_quote(f'{mark}<{key}>')} {self._value(node, f'{mark}</{key}>')}"

    def _object(self, node: JsonSchema) -> str:
        """Return an expression for an object: its properties in the order of the
        schema, and then other properties.

        The rule admits other properties if ``additionalProperties`` does, or if the schema names no
        properties.
        """
        properties: Mapping[str, Any] = node.get("properties", {})
        required = frozenset(node.get("required", ()))
        other_schema = node.get("additionalProperties", not properties)
        if self._format.tag_mark:
            elements = [
                f"({self._element(key, value)}){'' if key in required else '?'}"
                for key, value in properties.items()
            ]
            if other_schema is not False:
                elements.append(f"({self._add_rule(self._other_element(other_schema))})*")
            return " ".join(elements) or '""'
        colon, separator = (": ", ", ") if self._format.is_python else (":", ",")
        members = [
            (
                (
                    f"{_quote((repr(key) if self._format.is_python else key) + colon)} "
                    f"{self._value(value, '')}"
                ),
                key,
            )
            for key, value in properties.items()
        ]
        other_members = ""
        if other_schema is not False:
            if self._format.is_python:
                key = PYTHON_STRING
            else:
                key = WORD
            other_members = self._add_rule(f"{key} {_quote(colon)} {self._value(other_schema, '')}")
        return f'"{{" {self._members(members, required, separator, other_members)} "}}"'

    def _other_element(self, node: Any) -> str:
        """Return an expression for an element with any name; the names in its two tags may
        differ.
        """
        mark = self._format.tag_mark
        return (
            f'{_quote(f"{mark}<")} {TAG_NAME} ">" {self._value(node, f"{mark}</")} {TAG_NAME} ">"'
        )

    def _write(self, value: Any) -> str:
        if self._format.is_python:
            return repr(value)
        if self._format.quote:
            return write_braces(value, self._format.quote, write_spaced)
        return write_content(value, self._format.tag_mark, write_spaced)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

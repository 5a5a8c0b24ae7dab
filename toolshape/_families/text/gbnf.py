"""Writes a grammar of llama.cpp (GBNF), translated from the Lark rules that ``grammars`` builds.

GBNF has no JSON Schema, no regular expressions and no text up to a mark, so these are written out:
a schema as rules for its values, a text up to a mark as a rule for each part of the mark that has
been read. Source: ``grammars/README.md`` of llama.cpp, and its server, build 10434, which judges
the result (``tests/real_server``, 2026-11-27).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolshape._families.text import value_grammars as values
from toolshape._schema.references import Resolve, resolver

_MOST_REPEATED = 1999
_TOKEN = re.compile(
    r"""
      (?P<text>"(?:[^"\\]|\\.)*")
    | (?P<json>%json\s+)
    | /(?P<pattern>(?:[^/\\]|\\.)+)/
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>[()|*+?])
    | \s+""",
    re.VERBOSE,
)
_SUFFIXED = re.compile(r'(?P<name>\w+)\[suffix=(?P<end>"(?:[^"\\]|\\.)*")\]: ')
_BUILT_IN = {
    "json-value": "json-object | json-list | json-text | json-number | json-word",
    "json-object": '"{" ws (json-member ("," ws json-member)*)? ws "}"',
    "json-member": 'json-text ":" ws json-value',
    "json-list": '"[" ws (json-value ("," ws json-value)*)? ws "]"',
    "json-text": '"\\"" json-character* "\\""',
    "json-character": r'[^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})',
    "json-number": 'json-integer ("." [0-9]+)? ([eE] [-+]? [0-9]+)?',
    "json-integer": '"-"? ("0" | [1-9] [0-9]{0,17})',
    "json-word": '"true" | "false" | "null"',
    "ws": '" "?',
}
_ESCAPE = (
    r"""("\\" ([\\'"abfnrtv] | "x" [0-9a-fA-F]{2} | "u" [0-9a-fA-F]{4} | "U000" [0-9a-fA-F]{5}))"""
)
_PATTERNS = {
    values.INTEGER: '"-"? ("0" | [1-9] [0-9]*)',
    values.NUMBER: '"-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?',
    values.PYTHON_STRING: rf"""("'" ([^'\\\n] | {_ESCAPE})* "'" | "\"" ([^"\\\n] | {_ESCAPE})* "\"")""",
    values.WORD: r"[^:,{}\[\]<>\n]+",
    values.PARAMETER_NAME: "[a-zA-Z_] [a-zA-Z0-9_]*",
    values.TAG: '"<" [^<>/] [^<>]* ">"',
    values.TAG_NAME: "[^<>/] [^<>]*",
    "/[a-zA-Z0-9]{9}/": "[a-zA-Z0-9]{9}",
    "/[0-9]+/": "[0-9]{1,6}",  # a small model would count for ever
    "/[a-zA-Z0-9_.-]+/": "[a-zA-Z0-9_.-]+",
}
"""The regular expressions of the Lark rules, each as an expression of GBNF."""


_SCALARS = {
    "integer": "json-integer",
    "number": "json-number",
    "boolean": '("true" | "false")',
    "null": '"null"',
}


def from_lark(lark: str) -> str:
    """Translate a grammar that ``grammars.lark`` wrote."""
    return "\n".join([*_Translation().lines(lark), ""])


class _Translation:
    """The rules that are written so far, by name."""

    def __init__(self) -> None:
        self._rules: dict[str, str] = {}

    def lines(self, lark: str) -> Iterator[str]:
        """Yield the rules, the root first."""
        prose_mark = ""
        for line in lark.splitlines():
            if line.startswith("%") or not line:
                continue
            suffixed = _SUFFIXED.match(line)
            name, _, body = line.partition(": ")
            if suffixed is not None:
                end = json.loads(suffixed["end"])
                prose_mark = end if suffixed["name"] == "opening" else prose_mark
                self._rules[_name(suffixed["name"])] = self._text_up_to(end)
            elif name != "PROSE":
                self._rules[_name(name)] = self._expression(body)
        root = self._rules.pop("start")
        if prose_mark:
            self._rules["prose"] = self._text_without(prose_mark)
            root = re.sub(r"\bPROSE\?", "prose", root)
        yield f"root ::= {root}"
        yield from (f"{name} ::= {body}" for name, body in self._rules.items())
        yield from (f"{name} ::= {body}" for name, body in _BUILT_IN.items())

    def _expression(self, body: str) -> str:
        pieces: list[str] = []
        at = 0
        while at < len(body):
            token = _TOKEN.match(body, at)
            if token is None:
                raise AssertionError(f"no token of a grammar: {body[at : at + 40]!r}")
            at = token.end()
            if token["json"]:
                schema, at = json.JSONDecoder().raw_decode(body, at)
                pieces.append(self._json(schema))
            elif token["text"]:
                pieces.append(_literal(json.loads(token["text"])))
            elif token["pattern"]:
                pieces.append(f"({_PATTERNS[token[0]]})")
            elif token["name"]:
                pieces.append(token["name"] if token["name"] == "PROSE" else _name(token["name"]))
            elif token["sign"] in ("*", "+", "?") and pieces:
                pieces[-1] += token["sign"]
            elif token["sign"]:
                pieces.append(token["sign"])
        return " ".join(pieces) or '""'

    # --- text and marks -------------------------------------------------------------------------

    def _text_up_to(self, end: str) -> str:
        """Return an expression for any text up to a mark, and the mark."""
        return self._states(end, may_end_anywhere=False)

    def _text_without(self, mark: str) -> str:
        """Return an expression for any text that does not hold a mark."""
        return self._states(mark, may_end_anywhere=True)

    def _states(self, mark: str, *, may_end_anywhere: bool) -> str:
        """Write a rule for each number of characters of the mark that
        were just read; return the first.

        After a character, the next rule is that of the longest beginning of the mark that the text
        now ends with. A text without the mark may end in each of these rules.
        """
        prefix = f"{'without' if may_end_anywhere else 'upto'}-{len(self._rules)}"
        names = [f"{prefix}-{read}" for read in range(len(mark))]
        self._rules.update(dict.fromkeys(names, ""))
        for read, name in enumerate(names):
            branches: list[str] = []
            going_on: list[str] = []
            for character in sorted(set(mark)):
                following = _read_after(mark, mark[:read] + character)
                if following == 0:
                    continue
                going_on.append(character)
                if following < len(mark):
                    branches.append(f"{_class(character)} {names[following]}")
                elif not may_end_anywhere:
                    branches.append(_literal(character))
            branches.append(f"{_class(*going_on, negated=True)} {names[0]}")
            if may_end_anywhere:
                branches.append('""')
            self._rules[name] = " | ".join(branches)
        return names[0]

    # --- JSON -----------------------------------------------------------------------------------

    def _json(self, schema: Any) -> str:
        return _JsonRules(self._rules, schema).value(schema)


class _JsonRules:
    """Writes rules for the values of a schema: what they leave out is validated after the call."""

    def __init__(self, rules: dict[str, str], schema: Any) -> None:
        self._rules = rules
        self._resolve: Resolve = resolver(schema if isinstance(schema, dict) else {})
        self._named: dict[str, str] = {}

    def value(self, node: Any) -> str:
        """Return an expression for the values of a schema.

        Each branch is a keyword that decides alone which values there are, the strongest first:
        what stands beside a reference, a constant or a union is left to the validation after the
        call.
        """
        # What no keyword decides is any JSON value: a grammar may admit too much, and the
        # validation refuses it, but a model cannot write what a grammar leaves out.
        if not isinstance(node, dict):
            return "json-value"
        if "$ref" in node:
            return self._reference(node)
        if "const" in node or isinstance(node.get("enum"), list):
            if "const" in node:
                choices = [node["const"]]
            else:
                choices = node["enum"]
            return _group(_literal(json.dumps(choice, ensure_ascii=False)) for choice in choices)
        branches = node.get("anyOf") or node.get("oneOf") or (node.get("allOf") or ())[:1]
        if branches:
            return _group(self.value(branch) for branch in branches)
        kinds = node.get("type", ())
        if isinstance(kinds, str):
            kinds = [kinds]
        else:
            kinds = list(kinds)
        if not kinds and "properties" in node:
            kinds = ["object"]
        if kinds:
            return _group(self._kind(kind, node) for kind in kinds)
        return "json-value"

    def _reference(self, node: Mapping[str, Any]) -> str:
        key = str(node["$ref"])
        if key not in self._named:
            self._named[key] = self._new("ref")
            self._rules[self._named[key]] = self.value(self._resolve(dict(node)))
        return self._named[key]

    def _new(self, prefix: str, body: str = "") -> str:
        name = f"{prefix}-{len(self._rules)}"
        self._rules[name] = body
        return name

    def _kind(self, kind: str, node: Mapping[str, Any]) -> str:
        if kind == "string":
            return self._text(node)
        if kind == "array":
            return self._list(node)
        if kind in _SCALARS:
            return _SCALARS[kind]
        return self._object(node)

    def _text(self, node: Mapping[str, Any]) -> str:
        repeated = _repeated(node.get("minLength", 0), node.get("maxLength"))
        return f'"\\"" json-character{repeated} "\\""'

    def _list(self, node: Mapping[str, Any]) -> str:
        first = [self.value(item) for item in node.get("prefixItems", ())]
        item = self._new("item", self.value(node.get("items", {})))
        least, most = node.get("minItems", 0), node.get("maxItems")
        if first:
            separated = ' "," ws '.join(first)
            if node.get("items", False) is False:
                more = ""
            else:
                more = f' ("," ws {item})*'
            return f'("[" ws {separated}{more} ws "]")'
        if node.get("items") is False or most == 0:
            return '("[" ws "]")'
        rest = _repeated(max(least - 1, 0), None if most is None else max(most - 1, 0))
        some = f'{item} ("," ws {item}){rest}'
        if least:
            return f'("[" ws {some} ws "]")'
        return f'("[" ws ({some})? ws "]")'

    def _object(self, node: Mapping[str, Any]) -> str:
        properties: Mapping[str, Any] = node.get("properties", {})
        required = frozenset(node.get("required", ()))
        others = node.get("additionalProperties", not properties)
        more = ""
        if others is not False:
            more = self._new("other", f'json-text ":" ws {self.value(others)}')
        later = f'("," ws {more})*' if more else '""'
        first = f"({more} {later})?" if more else '""'
        for key, inner in reversed(list(properties.items())):
            member = f'{_literal(json.dumps(key, ensure_ascii=False))} ":" ws {self.value(inner)}'
            following = f"{member} {later}"
            if key in required:
                first = self._new("first", following)
                later = self._new("later", f'"," ws {following}')
            else:
                first = self._new("first", f"{following} | {first}")
                later = self._new("later", f'("," ws {member})? {later}')
        return f'("{{" ws {first} ws "}}")'


def _repeated(least: Any, most: Any) -> str:
    if isinstance(least, (int, float)) and least <= _MOST_REPEATED:
        low = int(least)
    else:
        low = 0
    if not isinstance(most, (int, float)) or most > _MOST_REPEATED:
        if low == 0:
            return "*"
        return f"{{{low},}}"
    return f"{{{low},{max(int(most), low)}}}"


def _group(expressions: Iterator[str] | Sequence[str] | Any) -> str:
    return f"({' | '.join(expressions)})"


def _name(lark_name: str) -> str:
    return lark_name.replace("_", "-").lower()


def _literal(text: str) -> str:
    return '"' + "".join(_escaped(character, r'"\\') for character in text) + '"'


def _class(*characters: str, negated: bool = False) -> str:
    inside = "".join(_escaped(character, r"\\[]^-") for character in characters)
    return f"[{'^' if negated else ''}{inside}]"


def _escaped(character: str, signs: str) -> str:
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    if character in '"\\[]' and character in signs:
        return f"\\{character}"
    if character in signs or not character.isprintable():
        return f"\\U{ord(character):08X}"
    return character


def _read_after(mark: str, text: str) -> int:
    """Return the length of the longest beginning of a mark that a text ends with."""
    return next(
        length
        for length in range(min(len(mark), len(text)), -1, -1)
        if text.endswith(mark[:length])
    )

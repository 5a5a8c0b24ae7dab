"""Generates values that a JSON Schema admits, from a seed; ignores some hard keywords."""

import json
import math
import random
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from toolshape._records.calls import JsonObject
from toolshape._schema.patterns import re_parser
from toolshape._schema.references import at_pointer

_MOST_REPEATED = 3
_MOST_PIECES = 10_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CHARACTERS = {
    "CATEGORY_DIGIT": "0123456789",
    "CATEGORY_SPACE": " ",
    "CATEGORY_WORD": f"{_LETTERS}0123456789_",
}
_OTHERS = ("\t", "é", "日")
_PRINTABLE = [chr(code) for code in range(32, 127)]


def generate_matching(pattern: str, chance: random.Random, *, least: int = 0) -> str:
    """Return a string that matches a pattern, or an empty string if the pattern has an
    unsupported part (lookaround).

    Args:
        pattern: A regular expression.
        chance: The random source.
        least: The minimum length to aim for, if a repetition allows it.
    """
    try:
        parsed = re_parser.parse(pattern)
        return _Matching(chance).all(parsed, least)
    except (ValueError, KeyError, IndexError, RecursionError, OverflowError, re.error):
        return ""


def _named_operators(parsed: Any) -> list[tuple[str, Any]]:
    return [(str(operator), argument) for operator, argument in parsed]


class _Matching:
    """Generates one string for a pattern, from a bounded number of pieces."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._left = _MOST_PIECES

    def all(self, parsed: Any, least: int) -> str:
        """Return a string for a parsed sequence of pattern pieces."""
        return "".join(
            self._piece(name, argument, least) for name, argument in _named_operators(parsed)
        )

    def _piece(self, name: str, given: Any, least: int) -> str:  # noqa: C901, PLR0911 - one case for each kind
        # A pattern of ten characters may mean a text of a billion. The pieces are counted, and
        # repetitions stay near their least number, unless the text as a whole must be longer
        # (``least``).
        self._left -= 1
        if self._left < 0:
            raise ValueError("the text would be too long")
        match name:
            case "LITERAL":
                return chr(given)
            case "NOT_LITERAL":
                return self._chance.choice([letter for letter in _LETTERS if ord(letter) != given])
            case "ANY":
                return self._chance.choice(_LETTERS)
            case "AT":
                return ""
            case "IN":
                return self._chance.choice(_class_characters(given))
            case "BRANCH":
                return self.all(self._chance.choice(given[1]), least)
            case "SUBPATTERN":
                return self.all(given[-1], least)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, inner = given
                top = min(int(high), max(int(low) + _MOST_REPEATED, least))
                times = self._chance.randint(max(int(low), min(least, top)), top)
                if times > _MOST_PIECES:
                    raise ValueError("the text would be too long")
                return "".join(self.all(inner, 0) for _ in range(times))
            case _:
                raise KeyError(name)


def _class_characters(members: Any) -> list[str]:
    """Return the characters of a class; for a negated class, consider only
    printable characters and a few others.
    """
    characters: list[str] = []
    is_negated = False
    for name, argument in _named_operators(members):
        match name:
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                characters.append(chr(argument))
            case "RANGE":
                low, high = argument
                characters += [chr(code) for code in range(low, min(high, low + 300) + 1)]
            case "CATEGORY":
                word = str(argument)
                positive = _CHARACTERS.get(word)
                characters += (
                    positive
                    or [
                        letter
                        for letter in _LETTERS
                        if letter not in _CHARACTERS[word.replace("NOT_", "")]
                    ]
                    or ["-"]
                )
            case _:
                raise KeyError(name)
    if is_negated:
        return [char for char in (*_PRINTABLE, *_OTHERS) if char not in characters]
    return characters


def _day(chance: random.Random) -> str:
    return f"{chance.randint(2000, 2030)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"


def _clock(chance: random.Random) -> str:
    return f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"


def _host(chance: random.Random) -> str:
    return f"{chance.choice(('north', 'south', 'east', 'west'))}.example.com"


def _hexadecimal(chance: random.Random, length: int) -> str:
    return "".join(chance.choice("0123456789abcdef") for _ in range(length))


def _uuid(chance: random.Random) -> str:
    return "-".join(
        [_hexadecimal(chance, 8), _hexadecimal(chance, 4), "4" + _hexadecimal(chance, 3),
         "a" + _hexadecimal(chance, 3), _hexadecimal(chance, 12)]
    )  # fmt: skip


FORMATS: Mapping[str, Callable[[random.Random], str]] = {
    "date-time": lambda chance: f"{_day(chance)}T{_clock(chance)}Z",
    "date": _day,
    "time": lambda chance: f"{_clock(chance)}Z",
    "duration": lambda chance: f"P{chance.randint(1, 9)}DT{chance.randint(1, 9)}H",
    "email": lambda chance: f"user{chance.randint(1, 99)}@{_host(chance)}",
    "idn-email": lambda chance: f"user{chance.randint(1, 99)}@{_host(chance)}",
    "hostname": _host,
    "uri": lambda chance: f"https://{_host(chance)}/{chance.randint(1, 99)}",
    "url": lambda chance: f"https://{_host(chance)}/{chance.randint(1, 99)}",
    "ipv4": lambda chance: ".".join(str(chance.randint(1, 254)) for _ in range(4)),
    "name-email": lambda chance: f"Somebody <user{chance.randint(1, 99)}@{_host(chance)}>",
    "ipvanyaddress": lambda chance: ".".join(str(chance.randint(1, 254)) for _ in range(4)),
    "ipv6": lambda chance: ":".join(_hexadecimal(chance, 4) for _ in range(8)),
    "uuid": _uuid,
    "uuid4": _uuid,
    **dict.fromkeys(("byte", "base64", "binary"), lambda _: "AAEC"),
    "json-string": lambda chance: f'{{"n": {chance.randint(1, 9)}}}',
}
"""Generators of valid strings, for the formats of JSON Schema and of pydantic."""


_DEEPEST = 4
_TRIES = 64
_WORDS = ("amber", "birch", "cedar", "delta", "ember", "flint", "grove", "harbor")
_LEAST_NUMBER, _MOST_NUMBER = -1000, 1000
# Limits: values in one generated value, characters in a string.
_MOST_MADE, _LONGEST = (
    6_000,
    200_000,
)
_MOST_LOOKED_AT = 2_000  # the limit for schemas that are visited to find a value's minimum depth
_TYPES = ("string", "integer", "number", "boolean")


def generate(schema: Any, chance: random.Random) -> Any:
    """Generate a value that a schema admits.

    If keywords depend on each other, about one value in several hundred may be invalid. If a schema
    requires a huge value, the generated value is smaller than required.

    Args:
        schema: The schema; it also contains the targets of its references.
        chance: The random source.
    """
    return _Generator(schema, chance).value(schema, 0)


class _Generator:
    def __init__(self, root: Any, chance: random.Random) -> None:
        self.root = root
        self.chance = chance
        self.left = _MOST_MADE
        self.looked_at = 0

    def value(self, schema: Any, depth: int) -> Any:  # noqa: PLR0911 - one return for each type
        self.left -= 1
        if self.left < 0:
            return None
        node = self.resolved(schema, depth)
        if "const" in node:
            return node["const"]
        if node.get("enum"):
            choices = [choice for choice in node["enum"] if _is_of(choice, node.get("type"))]
            return self.chance.choice(choices or node["enum"])
        kind = self.kind(node, depth)
        match kind:
            case "object":
                return self.object(node, depth)
            case "array":
                return self.array(node, depth)
            case "string":
                return self.string(node, depth)
            case "integer" | "number":
                return self.number(node, is_integer=kind == "integer")
            case "boolean":
                return self.chance.random() < 0.5  # noqa: PLR2004 - a coin flip
            case _:
                return None

    def resolved(self, schema: Any, depth: int) -> JsonObject:
        """Resolve references, choose a branch of each union, and merge it with
        the siblings of these keywords.
        """
        if isinstance(schema, dict):
            node: JsonObject = schema
        else:
            node = {}
        if isinstance(node.get("$ref"), str):
            target = at_pointer(self.root, node["$ref"])
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            return self.resolved(
                _merge(target if isinstance(target, dict) else {}, siblings), depth + 1
            )
        for keyword in ("anyOf", "oneOf"):
            if node.get(keyword):
                siblings = {key: value for key, value in node.items() if key != keyword}
                branch = self.branch(node[keyword], depth)
                return self.resolved(
                    _merge(siblings, branch if isinstance(branch, dict) else {}), depth
                )
        if node.get("allOf"):
            merged = {key: value for key, value in node.items() if key != "allOf"}
            for part in node["allOf"]:
                merged = _merge(merged, self.resolved(part, depth))
            return merged
        return node

    def branch(self, branches: list[Any], depth: int) -> Any:
        """Choose a branch; at the maximum depth, choose among the branches
        with the smallest minimum depth.
        """
        if depth < _DEEPEST:
            return self.chance.choice(branches)
        heights = [self.height(branch) for branch in branches]
        return self.chance.choice(
            [
                branch
                for branch, height in zip(branches, heights, strict=True)
                if height == min(heights)
            ]
        )

    def height(self, schema: Any, seen: frozenset[str] = frozenset()) -> float:
        """Return the minimum depth of a schema's values, or infinity if the schema requires
        itself.
        """
        if not isinstance(schema, dict):
            return 0
        # A schema that refers to itself has finite values only by way of a branch that does not.
        # The height leads to that branch: a reference that is on the way already is infinitely
        # high, and a union is as high as its lowest branch. Branching references could be followed
        # for ever, so what was looked at is counted.
        self.looked_at += 1
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference in seen or self.looked_at > _MOST_LOOKED_AT:
                return math.inf
            return 1 + self.height(at_pointer(self.root, reference), seen | {reference})
        for keyword in ("anyOf", "oneOf"):
            if schema.get(keyword):
                return min(self.height(branch, seen) for branch in schema[keyword])
        required_schemas = [
            (schema.get("properties") or {}).get(name) for name in schema.get("required") or ()
        ]
        required_schemas += [*(schema.get("allOf") or ()), *(schema.get("prefixItems") or ())]
        required_schemas += [schema.get("items")] if schema.get("minItems") else []
        return max((1 + self.height(inner, seen) for inner in required_schemas), default=0)

    def kind(self, node: JsonObject, depth: int) -> str:
        declared = node.get("type")
        if isinstance(declared, list):
            listed = declared
        else:
            listed = [declared]
        if declared:
            kinds = [str(name).lower() for name in listed]
        else:
            kinds = []
        if node.get("nullable") is True:
            kinds.append("null")
        if not kinds:
            implied = {
                "properties": "object",
                "additionalProperties": "object",
                "items": "array",
                "prefixItems": "array",
            }
            kinds = [kind for key, kind in implied.items() if key in node][:1] or [
                self.chance.choice(_TYPES)
            ]
        non_null_kinds = [kind for kind in kinds if kind != "null"]
        is_null = "null" in kinds and (
            not non_null_kinds or depth >= _DEEPEST or self.chance.random() < 0.2  # noqa: PLR2004
        )
        if is_null:
            return "null"
        return self.chance.choice(non_null_kinds)

    def object(self, node: JsonObject, depth: int) -> JsonObject:
        properties: JsonObject = node.get("properties") or {}
        required = [name for name in node.get("required") or () if isinstance(name, str)]
        optional_names = [name for name in properties if name not in required]
        kept_names = [
            name
            for name in optional_names
            if depth < _DEEPEST and self.chance.random() < 0.5  # noqa: PLR2004 - a coin
        ]
        names = [name for name in properties if name in required or name in kept_names]
        names += [name for name in required if name not in properties]
        members = {name: self.value(properties.get(name, {}), depth + 1) for name in names}
        self.fill(members, node, optional_names, depth)
        return members

    def fill(self, found: JsonObject, node: JsonObject, others: list[str], depth: int) -> None:
        """Add fields up to ``minProperties``, and up to two more if the object admits other
        fields.
        """
        least, most = node.get("minProperties", 0), node.get("maxProperties", math.inf)
        # Declared fields are taken first, because only they are sure to be admitted. Then come
        # names that fit a pattern, or free ones. A name may be drawn twice, or its pattern may
        # admit few names, so the tries are bounded.
        for name in others:
            if len(found) < least and name not in found:
                found[name] = self.value(node["properties"][name], depth + 1)
        patterns = list((node.get("patternProperties") or {}).items())
        additional = node.get("additionalProperties")
        admits_more = patterns or isinstance(additional, dict)
        wanted_size = max(
            least,
            len(found) + (self.chance.randint(0, 2) if admits_more and depth < _DEEPEST else 0),
        )
        for _ in range(_TRIES):
            if len(found) >= min(wanted_size, most) or not (admits_more or additional is not False):
                return
            pattern, inner = "", additional if isinstance(additional, dict) else {}
            if patterns:
                pattern, inner = self.chance.choice(patterns)
            name = self.value(
                {
                    "type": "string",
                    **({"pattern": pattern} if pattern else node.get("propertyNames", {})),
                },
                depth,
            )
            if name not in found:
                found[name] = self.value(inner, depth + 1)

    def array(self, node: JsonObject, depth: int) -> list[Any]:
        prefix_items = [self.value(inner, depth + 1) for inner in node.get("prefixItems") or ()]
        items = node.get("items", {})
        least = max(node.get("minItems", 0), len(prefix_items))
        most = min(
            node.get("maxItems", math.inf), max(least, 0 if depth >= _DEEPEST else least + 2)
        )
        if items is False or (prefix_items and "items" not in node and "minItems" not in node):
            return prefix_items
        size = self.chance.randint(least, max(int(most), least))
        array_items = prefix_items
        keys = set(map(_key, array_items))
        for _ in range(_TRIES + size):
            if len(array_items) >= size or self.left < 0:
                break
            item = self.value(items, depth + 1)
            if not node.get("uniqueItems") or _key(item) not in keys:
                array_items.append(item)
                keys.add(_key(item))
        return array_items

    def string(self, node: JsonObject, depth: int) -> str:
        if node.get("contentMediaType") == "application/json":
            return json.dumps(self.value(node.get("contentSchema", {}), depth + 1))
        least, most = min(node.get("minLength", 0), _LONGEST), node.get("maxLength", math.inf)
        if isinstance(node.get("pattern"), str):
            with warnings.catch_warnings():
                # Hide warnings about the pattern, which the user did not write.
                warnings.simplefilter("ignore")
                for _ in range(32):
                    text = generate_matching(node["pattern"], self.chance, least=int(least))
                    if least <= len(text) <= most:
                        return text
                    if not text:
                        break  # no string can be generated for the pattern
        if node.get("format") in FORMATS:
            text = FORMATS[node["format"]](self.chance)
        else:
            text = ""
        if text and least <= len(text) <= most:
            return text
        text = self.chance.choice(_WORDS)
        while len(text) < least:
            text += self.chance.choice(_WORDS)
        if len(text) <= most:
            return text
        return text[: int(most)]

    def number(self, node: JsonObject, *, is_integer: bool) -> Any:
        low = max(_bound(node, "minimum", -math.inf), _bound(node, "exclusiveMinimum", -math.inf))
        high = min(_bound(node, "maximum", math.inf), _bound(node, "exclusiveMaximum", math.inf))
        if math.isinf(low):
            least = _LEAST_NUMBER if high <= 0 else 0
            low = min(least, high - _MOST_NUMBER if high <= _LEAST_NUMBER else high)
        if math.isinf(high):
            high = max(_MOST_NUMBER, low + _MOST_NUMBER)
        step = node.get("multipleOf") or (1 if is_integer else 0)
        if step:
            first, last = math.ceil(low / step), math.floor(high / step)
            first += first * step == node.get("exclusiveMinimum")
            last -= last * step == node.get("exclusiveMaximum")
            times = self.chance.randint(first, max(first, last))
            if is_integer:
                return int(times * step)
            return times * step
        number = round(self.chance.uniform(low, high), 3)
        if low < number < high:
            return number
        if low < high:
            return (low + high) / 2
        return low


def _bound(node: JsonObject, keyword: str, default: float) -> float:
    bound = node.get(keyword)
    if isinstance(bound, (int, float)) and not isinstance(bound, bool):
        return bound
    return default


_CLASSES: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict,
    "null": type(None),
}  # fmt: skip


def _is_of(value: Any, kinds: Any) -> bool:
    """Whether a value has one of the declared types; true if no type is declared."""
    listed = kinds if isinstance(kinds, list) else [kinds]
    if kinds:
        names = [str(kind).lower() for kind in listed]
    else:
        names = []
    is_flag = isinstance(value, bool)
    return not names or any(
        isinstance(value, _CLASSES.get(name, object)) and is_flag == (name == "boolean")
        for name in names
    )


def _key(value: Any) -> Any:
    """Return a key for comparing values: equal keys mean equal values, and the
    keys of ``1`` and ``true`` differ.
    """
    if isinstance(value, (dict, list)):
        return json.dumps(value, sort_keys=True)
    return (isinstance(value, bool), value)


def _merge(one: JsonObject, other: JsonObject) -> JsonObject:
    """Merge two nodes: unite their properties and required names; for other
    keywords, the second node's value wins.
    """
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    return merged

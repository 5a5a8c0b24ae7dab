"""Draws JSON values that a JSON Schema probably admits, and values that differ from them in one place.

The draw knows nothing of toolshape, whose own generators make assumptions that a judge must not share. It collects
all schemas that apply to one place, chooses a type that all of them admit, and draws a value of that type. Some of the
values are invalid all the same: whoever needs valid ones asks a validator.
"""

import json
import math
import re
from random import Random
from typing import Any

KEYS = (
    "a",
    "b",
    "c",
    "ab",
    "ba",
    "x1",
    "zz",
    "value",
    "key",
    "rest",
    "item_1",
    "type",
    "",
    "é",
    "10",
)
TEXTS = (
    "", "a", "b", "ab", "ba", "abc", "bb", "x1", "5", "1.0", "true", "null", "[1]", '{"a": 1}', "{}", "3", "é", "aaaaaa",
    "2026-01-02",
)  # fmt: skip
NUMBERS = (0, 1, 2, 3, 4, 5, 6, 10, -1, -3, 0.5, 1.5, 2.5, -0.5, 7.0, 1.0, 0.0, 2**53 + 1)
FORMATS = {
    "date": ("2026-01-02",),
    "date-time": ("2026-01-02T03:04:05Z",),
    "time": ("03:04:05Z",),
    "duration": ("PT1H",),
    "uuid": ("12345678-1234-5678-1234-567812345678",),
    "uri": ("https://example.com/a",),
    "ipv4": ("127.0.0.1",),
    "ipv6": ("::1",),
    "regex": ("a+",),
}
KINDS = ("null", "boolean", "integer", "number", "string", "array", "object")
_DEEPEST = 6
_MOST_PARTS = 300


class NoValueError(Exception):
    """No value was found."""


class Values:
    """Draws values of one schema.

    Args:
        random: The source of the draw.
        root: The whole schema, into which references lead.
        siblings: Whether keywords beside a ``$ref`` count, as they do since 2019-09.
        unknown: Whether fields are drawn that no schema speaks of.
    """

    def __init__(
        self, random: Random, root: Any, *, siblings: bool = True, unknown: bool = True
    ) -> None:
        self.random = random
        self.root = root
        self.siblings = siblings
        self.unknown = unknown
        self.anchors: dict[str, Any] = {}
        self.parts = 0
        self._find_anchors(root)

    def value(self, schema: Any = None) -> Any:
        """A value of the whole schema, or of a part of it.

        Raises:
            NoValueError: None was found.
        """
        self.parts = 0
        return self._of([self.root if schema is None else schema], 0)

    def _find_anchors(self, node: Any) -> None:
        if isinstance(node, list):
            for inner in node:
                self._find_anchors(inner)
        if isinstance(node, dict):
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(node.get(keyword), str):
                    self.anchors.setdefault(f"#{node[keyword]}", node)
            for keyword in ("$id", "id"):
                if isinstance(node.get(keyword), str) and node[keyword].startswith("#"):
                    self.anchors.setdefault(node[keyword], node)
            for inner in node.values():
                self._find_anchors(inner)

    def target(self, reference: str) -> Any:
        """What a reference leads to."""
        if reference in self.anchors:
            return self.anchors[reference]
        node = self.root
        for written in reference.lstrip("#").split("/")[1:]:
            step = _unquoted(written).replace("~1", "/").replace("~0", "~")
            node = node[int(step)] if isinstance(node, list) else node[step]
        return node

    def flat(self, schema: Any, found: list[dict[str, Any]], left: int) -> None:  # noqa: C901 - a line a keyword
        """Collect a schema and all that apply to the same value, with one branch of each choice."""
        if schema is False or not left:
            raise NoValueError
        if not isinstance(schema, dict):
            return
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(schema.get(keyword), str):
                self.flat(self.target(schema[keyword]), found, left - 1)
                if not self.siblings:
                    return
        found.append(schema)
        for inner in schema.get("allOf", ()):
            self.flat(inner, found, left - 1)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                self._any(schema[keyword], found, left)
        if "if" in schema:
            self._conditional(schema, found, left)
        for inner in schema.get("dependentSchemas", {}).values():
            if self.random.random() < 0.5:
                self.flat(inner, found, left - 1)

    def _any(self, branches: list[Any], found: list[dict[str, Any]], left: int) -> None:
        for branch in self.random.sample(branches, len(branches)):
            added: list[dict[str, Any]] = []
            try:
                self.flat(branch, added, left - 1)
            except NoValueError:
                continue
            found.extend(added)
            return
        raise NoValueError

    def _conditional(self, schema: dict[str, Any], found: list[dict[str, Any]], left: int) -> None:
        if self.random.random() < 0.5:
            self.flat(schema["if"], found, left - 1)
            self.flat(schema.get("then", True), found, left - 1)
        else:
            self.flat(schema.get("else", True), found, left - 1)

    def _of(self, schemas: list[Any], depth: int) -> Any:
        self.parts += 1
        if depth > 2 * _DEEPEST or self.parts > _MOST_PARTS:
            raise NoValueError
        nodes: list[dict[str, Any]] = []
        for schema in schemas:
            self.flat(schema, nodes, 30)
        for node in nodes:
            if "const" in node:
                return node["const"]
        choices = [node["enum"] for node in nodes if node.get("enum")]
        if choices:
            both = [
                choice for choice in choices[0] if all(choice in other for other in choices[1:])
            ]
            return self.random.choice(both or choices[0])
        return self._typed(self._kind(nodes, depth), nodes, depth)

    def _kind(self, nodes: list[dict[str, Any]], depth: int) -> str:
        kinds = set(KINDS)
        for node in nodes:
            if "type" in node:
                asked = node["type"] if isinstance(node["type"], list) else [node["type"]]
                kinds &= {"number", "integer", *asked} if "number" in asked else set(asked)
        if not kinds:
            raise NoValueError
        if len(kinds) == len(KINDS):
            words = set().union(*nodes) if nodes else set()
            for kind, marks in _MARKS.items():
                if words & marks and self.random.random() < 0.8:
                    return kind
        if depth > _DEEPEST and kinds - {"array", "object"}:
            kinds -= {"array", "object"}
        return self.random.choice(sorted(kinds))

    def _typed(self, kind: str, nodes: list[dict[str, Any]], depth: int) -> Any:
        if kind == "null":
            return None
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "string":
            return self._text(nodes)
        if kind == "array":
            return self._array(nodes, depth)
        if kind == "object":
            return self._object(nodes, depth)
        return self._number(nodes, kind == "integer")

    def _text(self, nodes: list[dict[str, Any]]) -> str:
        pool = next(
            (FORMATS[node["format"]] for node in nodes if node.get("format") in FORMATS), TEXTS
        )
        fitting = [text for text in pool if _text_fits(text, nodes)]
        return self.random.choice(fitting or TEXTS)

    def _number(self, nodes: list[dict[str, Any]], is_integer: bool) -> Any:
        bounds = [
            node[key]
            for node in nodes
            for key in _BOUNDS
            if isinstance(node.get(key), (int, float))
        ]
        drawn = [
            *NUMBERS,
            *(
                bound + step
                for bound in bounds
                for step in (-1, 0, 1)
                if not isinstance(bound, bool)
            ),
        ]
        drawn = [item for item in drawn if not is_integer or item == int(item)]
        return self.random.choice([item for item in drawn if _number_fits(item, nodes)] or drawn)

    def _array(self, nodes: list[dict[str, Any]], depth: int) -> list[Any]:
        least = max((node.get("minItems", 0) for node in nodes), default=0)
        prefix = max((len(node.get("prefixItems", ())) for node in nodes), default=0)
        listed = max(
            (len(node["items"]) for node in nodes if isinstance(node.get("items"), list)), default=0
        )
        wanted = max(prefix, listed)
        length = self.random.choice((wanted, wanted, wanted + 1, wanted - 1, wanted + 2, 0, 1))
        length = 0 if depth > _DEEPEST else max(length, 0)
        length = max(least, min(length, *(node.get("maxItems", 99) for node in nodes), 99))
        contained = [node["contains"] for node in nodes if "contains" in node]
        times = max((node.get("minContains", 1) for node in nodes if "contains" in node), default=0)
        length = max(length, min(times, 3))
        chosen = set(self.random.sample(range(length), min(times, length)))
        found: list[Any] = []
        for index in range(length):
            try:
                more = contained if index in chosen else []
                found.append(self._of([*_item_schemas(nodes, index), *more], depth + 1))
            except NoValueError:
                if index < least:
                    raise
                break
        if any(node.get("uniqueItems") for node in nodes):
            found = [json.loads(text) for text in dict.fromkeys(map(json.dumps, found))]
        return found

    def _object(self, nodes: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        required = dict.fromkeys(
            name for node in nodes for name in node.get("required", ()) if isinstance(name, str)
        )
        named = [name for node in nodes for name in node.get("properties", {})]
        wanted = [
            *required,
            *(name for name in named if self.random.random() < (0.6 if depth < 4 else 0.1)),
        ]
        patterns = [item for node in nodes for item in node.get("patternProperties", ())]
        others = [key for key in KEYS if any(re.search(pattern, key) for pattern in patterns)]
        is_map = any(isinstance(node.get("additionalProperties"), dict) for node in nodes)
        if others and self.random.random() < 0.7:
            wanted.append(self.random.choice(others))
        if self.random.random() < (0.7 if is_map else 0.15 if self.unknown else 0):
            wanted += self.random.sample(KEYS, self.random.randint(1, 2))
        least = max((node.get("minProperties", 0) for node in nodes), default=0)
        wanted += [key for key in KEYS if key not in wanted][: max(0, least - len(set(wanted)))]
        most = min((node.get("maxProperties", 99) for node in nodes), default=99)
        found: dict[str, Any] = {}
        for name in dict.fromkeys([*required, *wanted]):
            if not _name_fits(name, nodes, self) or (len(found) >= most and name not in required):
                continue
            try:
                found[name] = self._of(_field_schemas(nodes, name), depth + 1)
            except NoValueError:
                if name in required:
                    raise
        items = list(found.items())
        self.random.shuffle(items)
        return dict(items)


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_MARKS = {
    "object": {"properties", "required", "additionalProperties", "patternProperties", "unevaluatedProperties",
               "dependentSchemas", "dependentRequired", "propertyNames", "minProperties"},
    "array": {"items", "prefixItems", "contains", "unevaluatedItems", "minItems", "uniqueItems"},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "number": {*_BOUNDS, "multipleOf"},
}  # fmt: skip


def _unquoted(text: str) -> str:
    return re.sub("%([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)


def _item_schemas(nodes: list[dict[str, Any]], index: int) -> list[Any]:
    found = []
    for node in nodes:
        prefix = (
            node["items"] if isinstance(node.get("items"), list) else node.get("prefixItems", [])
        )
        rest = (
            node.get("additionalItems")
            if isinstance(node.get("items"), list)
            else node.get("items")
        )
        if index < len(prefix):
            found.append(prefix[index])
        elif rest is not None:
            found.append(rest)
        elif "unevaluatedItems" in node:
            found.append(node["unevaluatedItems"])
    return found


def _field_schemas(nodes: list[dict[str, Any]], name: str) -> list[Any]:
    found: list[Any] = []
    unevaluated: list[Any] = []
    for node in nodes:
        own = [node["properties"][name]] if name in node.get("properties", {}) else []
        own += [
            inner
            for pattern, inner in node.get("patternProperties", {}).items()
            if re.search(pattern, name)
        ]
        if not own and "additionalProperties" in node:
            own = [node["additionalProperties"]]
        found += own
        unevaluated += [node["unevaluatedProperties"]] if "unevaluatedProperties" in node else []
    return found or unevaluated


def _name_fits(name: str, nodes: list[dict[str, Any]], values: Values) -> bool:
    for node in nodes:
        asked = node.get("propertyNames", True)
        flat: list[dict[str, Any]] = []
        try:
            values.flat(asked, flat, 10)
        except NoValueError:
            return False
        choices = [choice for item in flat for choice in item.get("enum", ())]
        if (choices and name not in choices) or not _text_fits(name, flat):
            return False
    return True


def _text_fits(text: str, nodes: list[dict[str, Any]]) -> bool:
    return all(
        node.get("minLength", 0) <= len(text) <= node.get("maxLength", math.inf)
        and re.search(node.get("pattern", ""), text)
        for node in nodes
    )


def _number_fits(number: Any, nodes: list[dict[str, Any]]) -> bool:
    return all(
        node.get("minimum", -math.inf) <= number <= node.get("maximum", math.inf)
        and (
            isinstance(node.get("exclusiveMinimum"), bool)
            or node.get("exclusiveMinimum", -math.inf) < number
        )
        and (
            isinstance(node.get("exclusiveMaximum"), bool)
            or node.get("exclusiveMaximum", math.inf) > number
        )
        and number % node.get("multipleOf", number or 1) == 0
        for node in nodes
    )


_OTHERS = (
    None,
    True,
    False,
    0,
    1,
    1.0,
    5,
    "5",
    "",
    "a",
    "null",
    "[1]",
    '{"a": 1}',
    [],
    [1],
    {},
    {"a": 1},
    "true",
    0.5,
)


def mutated(random: Random, value: Any) -> Any:
    """A value that differs in one place: something else there, a member more, one less, or under another name."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        name = random.choice(list(value))
        way = random.random()
        if way < 0.65:
            return {**value, name: mutated(random, value[name])}
        if way < 0.8:
            return {key: item for key, item in value.items() if key != name}
        other = random.choice(KEYS)
        return {**value, other: random.choice((value[name], random.choice(_OTHERS)))}
    if isinstance(value, list) and value and random.random() < 0.8:
        index = random.randrange(len(value))
        way = random.random()
        if way < 0.65:
            return [*value[:index], mutated(random, value[index]), *value[index + 1 :]]
        return (
            value[:index] + value[index + 1 :]
            if way < 0.8
            else [*value, random.choice((value[index], *_OTHERS))]
        )
    if type(value) is int and random.random() < 0.3:
        return random.choice((float(value), str(value), value + 1, -value))
    return random.choice((*_OTHERS, [value], json.dumps(value)))

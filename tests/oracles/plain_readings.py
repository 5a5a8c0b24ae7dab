"""What a value in the form that a provider was sent means, by the two schemas alone and in plain Python.

A provider is sent another schema than the function has: maps as pairs, tuples as objects, JSON as text. ``Readings``
holds both schemas and reads a value without knowing the rewrites: it looks at the shapes on both sides. A value may
have several readings where a union leaves it open; none, if nothing plain can be read from it.
"""

import functools
import itertools
import json
import re
from typing import Any

from jsonschema import Draft202012Validator

_ANNOTATIONS = {
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
}
_LEFT_OUT = object()
_MOST = 32


class UnknownError(Exception):
    """Nothing is known of how a value is read."""


def in_2020_12(node: Any) -> Any:
    """A sent schema as JSON Schema: OpenAPI writes ``nullable``, and protocol buffers types in capitals."""
    if isinstance(node, list):
        return [in_2020_12(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    found = {}
    for key, value in node.items():
        if key in ("enum", "const", "default", "examples", "dependentRequired"):
            found[key] = value
        elif key in ("properties", "$defs", "patternProperties", "dependentSchemas"):
            found[key] = {name: in_2020_12(inner) for name, inner in value.items()}
        else:
            found[key] = in_2020_12(value)
    if isinstance(found.get("type"), str):
        found["type"] = found["type"].lower()
    if found.pop("nullable", False) is True:
        definitions = {"$defs": found.pop("$defs")} if "$defs" in found else {}
        return {"anyOf": [found, {"type": "null"}], **definitions}
    return found


class Readings:
    """Reads values in the form of one schema as values of another.

    Args:
        meant: The schema of the function's arguments, 2020-12.
        sent: The schema that a provider was sent.
        left_out: The paths of fields that the report says are left out by null.
    """

    def __init__(self, meant: Any, sent: Any, left_out: set[str]) -> None:
        self.meant = meant
        self.sent = sent
        self.left_out = left_out
        self.admits_meant = functools.partial(_admits, meant, {})
        self.admits_sent = functools.partial(_admits, sent, {})

    def of(self, value: Any) -> list[Any]:
        """Every value that a value in the sent form may mean.

        Raises:
            UnknownError: No plain reading is known.
        """
        return _distinct(self.read(self.meant, self.sent, value))

    def read(self, meant: Any, sent: Any, value: Any) -> list[Any]:
        meant, sent = _resolved(meant, self.meant), _resolved(sent, self.sent)
        if meant is False or sent is False:
            return []
        meant, sent = ({} if node is True else node for node in (meant, sent))
        if "allOf" in meant or "$ref" in meant:
            raise UnknownError
        of_meant, of_sent = _branches(meant), _branches(sent)
        if (
            len(of_meant) > 1
            or len(of_sent) > 1
            or of_meant[0] is not meant
            or of_sent[0] is not sent
        ):
            return self.in_branches(of_meant, of_sent, value)
        if _is_json_text(sent):
            return self.json_text(meant, value)
        if "enum" in sent and ("enum" in meant or "const" in meant):
            return _choice(meant.get("enum", [meant.get("const")]), value)
        is_map = meant.get("type", "object") == "object" and "items" not in meant
        if is_map and isinstance(value, list) and "key" in _field(sent.get("items"), "properties"):
            return self.pairs(meant, sent["items"]["properties"], value, {})
        if (
            isinstance(value, dict)
            and "prefixItems" in meant
            and "item_1" in _field(sent, "properties")
        ):
            return self.places(meant, sent, value)
        if isinstance(value, dict):
            return self.fields(meant, sent, value)
        if isinstance(value, list):
            return self.items(meant, sent, value)
        return [value]

    def in_branches(self, of_meant: list[Any], of_sent: list[Any], value: Any) -> list[Any]:
        found: list[Any] = []
        fitting = [sent for sent in of_sent if self.admits_sent(sent, value)]
        for sent in (
            fitting
            or [sent for sent in of_sent if _kind(value) == _field(sent, "type")]
            or of_sent[:1]
        ):
            for meant in of_meant:
                read = self.read(meant, sent, value)
                found += [
                    item
                    for item in read
                    if any(self.admits_meant(branch, item) for branch in of_meant)
                ]
        if not found and any(self.admits_meant(meant, value) for meant in of_meant):
            found.append(value)  # in the form of the function
        return _distinct(found)

    def json_text(self, meant: Any, value: Any) -> list[Any]:
        if not isinstance(value, str):
            return [value]
        found: list[Any] = [value]
        try:
            read = json.loads(value, object_pairs_hook=_unique, parse_constant=float)
        except ValueError:
            return found
        return [read, value] if self.admits_meant(meant, value) else [read]

    def pairs(self, meant: Any, pair: Any, value: Any, beside: dict[str, Any]) -> list[Any]:
        found: list[dict[str, Any]] = [dict(beside)]
        for item in value:
            if (
                not isinstance(item, dict)
                or item.keys() != {"key", "value"}
                or isinstance(item["key"], bool)
            ):
                return []
            is_integer = "integer" in str(_resolved(pair["key"], self.sent).get("type"))
            if not isinstance(item["key"], str) and not (
                is_integer and isinstance(item["key"], int)
            ):
                return []
            key = str(item["key"])
            if any(key in before for before in found):
                return []
            inner = self.field(meant, key)
            found = _product(found, key, self.read(inner, pair["value"], item["value"]))
        return list(found)

    def places(self, meant: Any, sent: Any, value: dict[str, Any]) -> list[Any]:
        prefix = meant["prefixItems"]
        names = [f"item_{index + 1}" for index in range(len(prefix))]
        if value.keys() - {*names, "rest"} or (
            "rest" in value and "rest" not in sent["properties"]
        ):
            return []
        items = dict(zip(names, prefix, strict=True))
        value = {
            key: item
            for key, item in value.items()
            if item is not None
            or not self.is_left_out(key)
            or (key in items and self.admits_meant(items[key], None))  # null is a value here
        }
        rest = value.get("rest", [])
        if not isinstance(rest, list):
            return []
        last = (
            len(names)
            if rest
            else max((names.index(name) + 1 for name in names if name in value), default=0)
        )
        found: list[Any] = [[]]
        for index, name in enumerate(names[:last]):
            if name in value:
                items = self.read(prefix[index], sent["properties"][name], value[name])
            elif isinstance(prefix[index], dict) and "default" in prefix[index]:
                items = [prefix[index]["default"]]
            else:
                return []
            found = [[*before, item] for before in found for item in items]
        for item in rest:
            read = self.read(
                meant.get("items", True), sent["properties"]["rest"].get("items", True), item
            )
            found = [[*before, item] for before in found for item in read]
            if len(found) > _MOST:
                raise UnknownError
        return found

    def fields(self, meant: Any, sent: Any, value: dict[str, Any]) -> list[Any]:
        named, shown = meant.get("properties", {}), sent.get("properties", {})
        if (
            meant is self.meant
            and list(shown) == ["arguments"]
            and "arguments" not in json.dumps(meant)
        ):
            return (
                self.read(meant, shown["arguments"], value["arguments"])
                if value.keys() == {"arguments"}
                else [value]
            )
        unknown = [name for name in shown if name not in named and not self.is_open(meant, name)]
        extras = next((name for name in unknown if name.startswith("additional_properties")), None)
        if any(name != extras for name in unknown):
            raise UnknownError  # renamed, or merged from somewhere
        found: list[dict[str, Any]] = [{}]
        for key, item in value.items():
            if key == extras:
                continue
            found = _product(found, key, self.one_field(meant, sent, key, item))
        if extras is None or extras not in value:
            return list(found)
        if value[extras] is None or _says_left_out(shown[extras], value[extras]):
            return list(found)
        if _is_json_text(shown[extras]):
            raise UnknownError  # a list of pairs within a text
        pair = _field(
            _field(_resolved(_without_null(shown[extras]), self.sent), "items"), "properties"
        )
        if not isinstance(value[extras], list) or not pair:
            return []
        done: list[Any] = []
        for beside in found:
            read = self.pairs({**meant, "properties": {}}, pair, value[extras], beside)
            done += [
                item for item in read if not {pair["key"] for pair in value[extras]} & named.keys()
            ]
        return done

    def is_left_out(self, name: str) -> bool:
        """Whether null leaves out a field of this name, wherever the field is."""
        return any(path == name or path.endswith(f".{name}") for path in self.left_out)

    def one_field(self, meant: Any, sent: Any, key: str, item: Any) -> list[Any]:
        inner, shown = self.field(meant, key), self.field(sent, key)
        shown = (
            True if shown is False else shown
        )  # a field that was not sent is in the function's own form
        if _says_left_out(shown, item):
            return [_LEFT_OUT]
        is_optional = key not in meant.get("required", ()) and all(
            key in _field(item, "properties") for item in (meant, sent)
        )
        if item is None and is_optional and self.is_left_out(key):
            return [_LEFT_OUT, None] if self.admits_meant(inner, None) else [_LEFT_OUT]
        return self.read(inner, shown, item)

    def field(self, meant: Any, key: str) -> Any:
        if key in meant.get("properties", {}):
            if any(re.search(item, key) for item in meant.get("patternProperties", ())):
                raise UnknownError
            return meant["properties"][key]
        found = [
            inner
            for item, inner in meant.get("patternProperties", {}).items()
            if re.search(item, key)
        ]
        if len(found) > 1:
            raise UnknownError
        return found[0] if found else meant.get("additionalProperties", True)

    def is_open(self, meant: Any, name: str) -> bool:
        """Whether a required field without a schema of its own was given one."""
        return name in meant.get("required", ())

    def items(self, meant: Any, sent: Any, value: list[Any]) -> list[Any]:
        """An array, item by item."""
        found: list[Any] = [[]]
        for index, item in enumerate(value):
            inner, shown = (_item(node, index) for node in (meant, sent))
            found = [
                [*before, entry] for before in found for entry in self.read(inner, shown, item)
            ]
            if len(found) > _MOST:
                raise UnknownError
        return found


def _admits(root: Any, known: dict[int, Any], node: Any, value: Any) -> bool:
    if isinstance(node, bool):
        return node
    if id(node) not in known:
        definitions = {key: root[key] for key in ("$defs", "definitions") if key in root}
        known[id(node)] = (
            Draft202012Validator({**node, **definitions}),
            node,
        )  # which keeps the id
    return bool(known[id(node)][0].is_valid(value))


def _resolved(node: Any, root: Any) -> Any:
    for _ in range(20):
        if (
            not isinstance(node, dict)
            or not isinstance(node.get("$ref"), str)
            or node.keys() - _ANNOTATIONS - {"$ref"}
        ):
            return node
        target = root
        for step in node["$ref"].lstrip("#").split("/")[1:]:
            target = target[step.replace("~1", "/").replace("~0", "~")]
        node = target
    raise UnknownError


def _branches(node: Any) -> list[Any]:
    """The branches of a node; the node alone, where it has none."""
    beside = {
        key: value
        for key, value in node.items()
        if key not in ("anyOf", "oneOf", "$defs", *_ANNOTATIONS)
    }
    for keyword in ("anyOf", "oneOf"):
        if keyword in node:
            if beside.keys() & {
                "properties",
                "items",
                "prefixItems",
                "additionalProperties",
                "anyOf",
                "oneOf",
            }:
                raise UnknownError
            return list(node[keyword])
    if isinstance(node.get("type"), list):
        return [{**node, "type": name} for name in node["type"]]
    return [node]


def _kind(value: Any) -> str:
    return {dict: "object", list: "array", str: "string", bool: "boolean"}.get(type(value), "")


def _is_json_text(sent: Any) -> bool:
    """Whether a text is asked for that holds JSON, perhaps null beside it."""
    if "JSON" not in str(_field(sent, "description")) or "enum" in sent:
        return any(_is_json_text(item) for item in _field(sent, "anyOf") or ())
    return sent.get("type") in ("string", ["string", "null"]) or "anyOf" in sent


def _says_left_out(sent: Any, item: Any) -> bool:
    """Whether a description says that an item leaves out its field."""
    text = str(_field(sent, "description"))
    return ("null leaves it out" in text and item in ("null", None)) or (
        "empty text leaves it out" in text and item == ""
    )


def _without_null(node: Any) -> Any:
    if isinstance(node, dict) and "anyOf" in node:
        return next(item for item in node["anyOf"] if item.get("type") != "null")
    return node


def _field(node: Any, name: str) -> Any:
    return node.get(name, {}) if isinstance(node, dict) else {}


def _item(node: Any, index: int) -> Any:
    if not isinstance(node, dict):
        return node
    prefix = node.get("prefixItems", [])
    return prefix[index] if index < len(prefix) else node.get("items", True)


def _choice(options: list[Any], value: Any) -> list[Any]:
    """The choices that a value may stand for: itself, or what its text says."""
    own = [option for option in options if json.dumps(option) == json.dumps(value)]
    if isinstance(value, str) and not own:
        own = [
            option
            for option in options
            if not isinstance(option, str) and json.dumps(option) == value.rstrip("_")
        ]
        own = own or [
            option for option in options if value == json.dumps(option, separators=(",", ":"))
        ]
    return own or [value]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise UnknownError
    return dict(pairs)


def _product(found: list[dict[str, Any]], key: str, values: list[Any]) -> list[dict[str, Any]]:
    pairs = itertools.product(found, values)
    done = [before if value is _LEFT_OUT else {**before, key: value} for before, value in pairs]
    if len(done) > _MOST:
        raise UnknownError
    return done


def _distinct(values: list[Any]) -> list[Any]:
    return [json.loads(text) for text in dict.fromkeys(map(json.dumps, values))]

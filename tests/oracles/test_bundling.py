"""A bundled schema admits what the schema admits where its references lead elsewhere: judged by jsonschema itself.

Drawn are schemas of three drafts with ids (absolute, relative and names), anchors, dynamic and recursive anchors, and
references to all of these, along ways that meet one definition twice.
"""

import json
import logging
from random import Random
from typing import Any

from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator
from jsonschema.exceptions import _WrappedReferencingError  # pyright: ignore[reportPrivateUsage]
from lanes import Case, check_drawn, check_kept, in_blocks

from toolshape._schema.lens import UnsupportedError
from toolshape._tools.definition.bundle import BundleError, bundle

LANE = "bundling"
BASE = "https://x.test/root"
DRAFTS = {
    "7": ("http://json-schema.org/draft-07/schema#", Draft7Validator, "definitions"),
    "2019-09": ("https://json-schema.org/draft/2019-09/schema", Draft201909Validator, "$defs"),
    "2020-12": ("https://json-schema.org/draft/2020-12/schema", Draft202012Validator, "$defs"),
}
VALUES: list[Any] = [
    1, "a", True, None, [], [1], ["a"], [[1]], {}, {"a": 1}, {"a": "x"}, {"a": {"a": 1}}, {"b": [1]}, {"a": {"b": "x"}},
    {"a": {"a": {"a": 1}}}, {"b": "x", "a": [{"a": 1}]}, [{"a": 1}], [{"b": True}], {"c": 1}, {"a": {"c": 1}},
]  # fmt: skip


class Drawing:
    """Draws one schema; ids and anchors are unique in it."""

    def __init__(self, random: Random, draft: str) -> None:
        self.random, self.draft = random, draft
        self.holder = DRAFTS[draft][2]
        self.names = [f"d{number}" for number in range(random.randint(2, 5))]
        self.anchors = ["p", "q"]

    def reference(self) -> dict[str, Any]:
        name = self.random.choice(self.names)
        ways = [
            f"#/{self.holder}/{name}",
            name,
            f"{BASE}#/{self.holder}/{name}",
            f"{name}#{self.random.choice(self.anchors)}",
            f"#{self.random.choice(self.anchors)}",
            "#",
        ]
        keyword = "$ref"
        if self.draft == "2020-12" and self.random.random() < 0.3:
            keyword = "$dynamicRef"
        if self.draft == "2019-09" and self.random.random() < 0.3:
            return {"$recursiveRef": "#"}
        # jsonschema follows a plain "$ref" to a dynamic anchor dynamically, too, against 8.2.3.1 of the draft.
        is_judged = self.draft != "2020-12" or keyword == "$dynamicRef"
        return {keyword: self.random.choice(ways if is_judged else [*ways[:3], "#"])}

    def node(self, depth: int) -> dict[str, Any]:
        kind = self.random.choice(["type", "ref", "object", "array", "both", "any"])
        if depth == 0 or kind == "type":
            return {"type": self.random.choice(["integer", "string", "object", "array"])}
        if kind == "ref":
            return self.reference()
        if kind == "object":
            fields = {name: self.node(depth - 1) for name in self.random.sample("ab", 1)}
            closed = [
                {},
                {"additionalProperties": False},
                {"additionalProperties": self.reference()},
            ]
            return {"type": "object", "properties": fields, **self.random.choice(closed)}
        if kind == "array":
            return {"type": "array", "items": self.node(depth - 1)}
        if kind == "both":
            return {**self.reference(), "minProperties": 1}
        return {"anyOf": [self.node(depth - 1), self.reference()]}

    def plain(self) -> dict[str, Any]:
        """A node beside whose words an anchor counts."""
        while True:
            node = self.node(1)
            if self.may_have_id(node):
                return node

    def anchored(self, node: dict[str, Any], name: str) -> dict[str, Any]:
        """Give a node the anchor of a name, in one of the words of the draft."""
        if self.draft == "7":
            return {**node, "$id": f"#{name}"}
        if self.draft == "2019-09" and self.random.random() < 0.5:
            return {**node, "$anchor": name}
        word = "$dynamicAnchor" if self.draft == "2020-12" else "$anchor"
        return {**node, word: name}

    def may_have_id(self, node: dict[str, Any]) -> bool:
        """Whether an id counts here: up to draft 7, a reference hides all that stands beside it."""
        return self.draft != "7" or "$ref" not in node

    def schema(self) -> dict[str, Any]:
        definitions: dict[str, Any] = {}
        for name in self.names:
            node = self.node(2)
            if self.random.random() < 0.6 and self.may_have_id(node):
                node["$id"] = name
                if self.draft == "2019-09" and self.random.random() < 0.5:
                    node["$recursiveAnchor"] = True
                inner = self.anchored(self.plain(), self.random.choice(self.anchors))
                node[self.holder] = {"inner": inner}
            definitions[name] = node
        root = self.node(2)
        while not self.may_have_id(root):
            root = self.node(2)
        if self.draft == "2019-09" and self.random.random() < 0.5:
            root["$recursiveAnchor"] = True
        anchored = {
            f"r{name}": self.anchored(self.plain(), name)
            for name in self.anchors
            if self.random.random() < 0.8
        }
        return {
            "$schema": DRAFTS[self.draft][0],
            "$id": BASE,
            **root,
            self.holder: {**definitions, **anchored},
        }


def verdicts(validator: Any) -> "list[bool] | None":
    """What a schema says of each value; ``None`` where jsonschema finds no end, or no target."""
    try:
        return [validator.is_valid(value) for value in VALUES]
    except (RecursionError, _WrappedReferencingError):
        return None


def draw(random: Random) -> Case | None:
    draft = random.choice(list(DRAFTS))
    schema = Drawing(random, draft).schema()
    try:
        bundle(schema)
    except (BundleError, UnsupportedError):
        return None  # a reference leads nowhere
    return {"draft": draft, "schema": schema}


def check(case: Case) -> str | None:
    expected = verdicts(DRAFTS[case["draft"]][1](case["schema"]))
    if expected is None:
        return None
    bundled = bundle(case["schema"]).schema
    found = verdicts(
        Draft202012Validator(bundled)
    )  # the drawn words mean the same in all three drafts
    if found is None:
        return (
            None  # a way that leads only to itself: the order of the branches decides who notices
        )
    different = [
        json.dumps(value)
        for value, one, other in zip(VALUES, expected, found, strict=True)
        if one is not other
    ]
    return f"judged otherwise: {different[:3]}" if different else None


@in_blocks
def test_a_bundle_admits_what_its_schema_admits(block: int) -> None:
    logging.disable(logging.CRITICAL)
    check_drawn(LANE, block, draw, check)


def test_what_once_differed() -> None:
    check_kept(LANE, check)

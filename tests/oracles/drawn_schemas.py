"""Draws JSON Schemas of tools, in any dialect from draft 4 to 2020-12, from keywords that people seldom combine."""

from random import Random
from typing import Any

from drawn_values import NUMBERS

DIALECTS = {
    "": 12,  # none is named: 2020-12
    "https://json-schema.org/draft/2020-12/schema": 2,
    "https://json-schema.org/draft/2019-09/schema": 4,
    "http://json-schema.org/draft-07/schema#": 4,
    "http://json-schema.org/draft-06/schema#": 1,
    "http://json-schema.org/draft-04/schema#": 2,
}
_AGE = {"": 12, "2020-12": 12, "2019-09": 11, "draft-07": 7, "draft-06": 6, "draft-04": 4}
NAMES = (
    "a",
    "b",
    "c",
    "ab",
    "value",
    "key",
    "rest",
    "item_1",
    "additional_properties",
    "arguments",
)
ODD_NAMES = ("type", "properties", "required", "$ref", "enum", "items", "default", "not", "a.b", "x y", "é", "", "$defs",
             "additionalProperties", "const", "anyOf", "x-y", "desc", "nullable")  # fmt: skip
PATTERNS = ("^a", "b$", "^[a-z]+$", "^x", "1", ".")
_DEFINITIONS = ("Base", "Other", "Node", "Leaf", "No")
_ODD_DEFINITIONS = ("a/b", "c~d", "e f", "properties", "$ref", "Ünit", "x.y")
_CHOICES = ("a", "b", 1, 2, 1.5, True, False, None, "1", [1], {"a": 1}, {"$ref": "#/nowhere"}, 0)
_DEEPEST = 4


def siblings_count(schema: Any) -> bool:
    """Whether keywords beside a ``$ref`` count in the dialect of a schema."""
    return "draft-0" not in schema.get("$schema", "")


class Schemas:
    """Draws one schema of a tool's arguments."""

    def __init__(self, random: Random, *, dialect: str | None = None) -> None:
        self.random = random
        self.dialect = (
            random.choices(list(DIALECTS), list(DIALECTS.values()))[0]
            if dialect is None
            else dialect
        )
        self.age = next(
            age
            for word, age in _AGE.items()
            if (word in self.dialect if word else not self.dialect)
        )
        self.definitions: dict[str, Any] = {}
        self.anchors: dict[str, str] = {}
        self.names: list[str] = []
        # jsonschema 4.26 loses its way where what is unevaluated depends on a recursive reference.
        self.is_recursive = self.age == 11 and self.chance(0.3)
        self.is_evaluated = self.age >= 11 and not self.is_recursive
        self.holder = "definitions" if self.age < 11 or self.chance(0.1) else "$defs"

    def chance(self, share: float) -> bool:
        """Whether something is drawn that has this share."""
        return self.random.random() < share

    def pick(self, *choices: Any) -> Any:
        """One of some."""
        return self.random.choice(choices)

    def schema(self) -> dict[str, Any]:
        """The schema of some arguments: an object."""
        names = self.random.sample(_DEFINITIONS, self.random.choice((0, 0, 1, 2, 2, 3)))
        names += [self.pick(*_ODD_DEFINITIONS)] if self.chance(0.1) else []
        self.names = names
        for name in names:
            if self.age >= 11 and self.chance(0.1):
                self.anchors[name] = f"anchor{len(self.anchors)}"
        for index in range(len(names) - 1, -1, -1):
            self.definitions[names[index]] = self.definition(index)
        found: dict[str, Any] = {"type": "object"}
        if self.dialect:
            found["$schema"] = self.dialect
        self.object_words(found, 0)
        found.setdefault("properties", {"a": self.node(1, 0)})
        if self.chance(0.25):
            self.in_place(found, 1, 0)
        if self.chance(0.05) and names:
            found = self.referring(found, 0)
        if self.definitions:
            found[self.holder] = self.definitions
        return found

    def definition(self, index: int) -> Any:
        found = self.node(1, index + 1)
        anchor = self.anchors.get(self.names[index])
        if anchor and not isinstance(found, dict):
            found = {}
        if anchor:
            found = {
                "$dynamicAnchor" if self.age == 12 and self.chance(0.4) else "$anchor": anchor,
                **found,
            }
        return found

    def node(self, depth: int, first: int) -> Any:
        """Any schema.

        Args:
            depth: How deep it stands.
            first: The first definition that it may refer to in place, so that no reference leads in a circle.
        """
        ways = [self.scalar, self.scalar, self.choice, self.several, self.nothing]
        ways += [self.reference] * 3 if self.names else []
        if depth < _DEEPEST:
            ways += [
                self.object,
                self.object,
                self.array,
                self.array,
                self.combined,
                self.combined,
                self.negated,
            ]
            ways += [self.conditional] if self.age >= 7 else []
        found = self.random.choice(ways)(depth, first)
        if isinstance(found, dict):
            if self.chance(0.06):
                found["default"] = self.pick(*_CHOICES, {"a": 1})
            if self.chance(0.05):
                found["description"] = "A field."
        return found

    def scalar(self, depth: int, first: int) -> Any:
        kind = self.pick("string", "integer", "number", "boolean", "null", "string", "integer")
        found: dict[str, Any] = {} if self.chance(0.12) else {"type": kind}
        if kind == "string":
            self.text_words(found)
        if kind in ("integer", "number"):
            self.number_words(found)
        return found

    def text_words(self, found: dict[str, Any]) -> None:
        if self.chance(0.2):
            found["minLength"] = self.random.randint(0, 2)
        if self.chance(0.2):
            found["maxLength"] = self.random.randint(1, 4)
        if self.chance(0.2):
            found["pattern"] = self.pick(*PATTERNS)
        if self.chance(0.1):
            found["format"] = self.pick("date", "email", "unknown")

    def number_words(self, found: dict[str, Any]) -> None:
        bound = self.pick(*NUMBERS[:13])
        if self.chance(0.2):
            found["minimum"] = bound
        if self.chance(0.2):
            found["maximum"] = bound + self.random.randint(0, 5)
        if self.chance(0.1):
            found["multipleOf"] = self.pick(1, 2, 0.5, 3)
        if self.chance(0.15):
            self.exclusive(found, self.pick("Minimum", "Maximum"))

    def exclusive(self, found: dict[str, Any], which: str) -> None:
        if self.age > 4:
            found[f"exclusive{which}"] = self.pick(0, 1, 2.5, 5)
            return
        found.setdefault(which.lower(), self.pick(0, 1, 5))
        found[f"exclusive{which}"] = self.chance(0.7)

    def choice(self, depth: int, first: int) -> Any:
        drawn = self.random.sample(_CHOICES, self.random.randint(1, 4))
        if self.chance(0.5):
            drawn = [item for item in drawn if isinstance(item, str)] or ["a", "b"]
        options = [
            item for index, item in enumerate(drawn) if item not in drawn[:index]
        ]  # 1 is true to Python
        found: dict[str, Any] = {"enum": options}
        if self.age >= 6 and self.chance(0.4):
            found = {"const": options[0]}
        if self.chance(0.3):
            found["type"] = self.pick("string", "integer", ["string", "null"], "number", "boolean")
        return found

    def several(self, depth: int, first: int) -> Any:
        found: dict[str, Any] = {
            "type": self.random.sample(
                ("string", "integer", "null", "array", "object", "boolean", "number"), 2
            )
        }
        if self.chance(0.4):
            self.text_words(found)
        if self.chance(0.4):
            self.number_words(found)
        if depth < _DEEPEST and self.chance(0.4):
            self.object_words(found, depth)
        if depth < _DEEPEST and self.chance(0.3):
            self.array_words(found, depth)
        return found

    def nothing(self, depth: int, first: int) -> Any:
        if self.age < 6:
            return self.pick({}, {"not": {}})
        return self.pick({}, True, False, {"not": {}}, {})

    def reference(self, depth: int, first: int) -> Any:
        if first >= len(self.names):
            return self.scalar(depth, first)
        return (
            self.referring({}, first)
            if self.chance(0.5)
            else self.referring(self.beside(depth, first), first)
        )

    def referring(self, found: dict[str, Any], first: int) -> dict[str, Any]:
        """Put a reference beside other keywords."""
        name = self.random.choice(self.names[first:])
        anchor = self.anchors.get(name)
        if anchor and self.chance(0.7):
            word = "$dynamicRef" if self.age == 12 and self.chance(0.5) else "$ref"
            return {word: f"#{anchor}", **found}
        written = name.replace("~", "~0").replace("/", "~1").replace("%", "%25").replace(" ", "%20")
        return {"$ref": f"#/{self.holder}/{written}", **found}

    def beside(self, depth: int, first: int) -> dict[str, Any]:
        """Keywords that stand beside a reference: since 2019-09 they count."""
        found: dict[str, Any] = {}
        if depth < _DEEPEST:
            for way in self.random.sample(
                ("object", "array", "in place"), self.random.randint(1, 2)
            ):
                if way == "object":
                    self.object_words(found, depth)
                elif way == "array":
                    self.array_words(found, depth)
                else:
                    self.in_place(found, depth, first)
        if self.chance(0.3):
            self.text_words(found)
        if self.chance(0.2):
            self.number_words(found)
        if self.chance(0.2):
            found["enum"] = [*self.random.sample(("a", "b", "ab"), 2), 1, {"a": 1}]
        if self.chance(0.2):
            found["type"] = self.pick("string", "object", "array", ["integer", "null"])
        return found

    def object(self, depth: int, first: int) -> Any:
        found: dict[str, Any] = {} if self.chance(0.15) else {"type": "object"}
        self.object_words(found, depth)
        return found

    def fields(self, depth: int) -> dict[str, Any]:
        """Fields with their schemas; a reference in them may lead anywhere, since it consumes a part of the value."""
        count = self.random.choice((1, 1, 2, 3))
        names = self.random.sample(NAMES, count)
        if self.chance(0.08):
            names[0] = self.pick(*ODD_NAMES)
        return {name: self.inside(depth) for name in names}

    def inside(self, depth: int) -> Any:
        if self.age >= 6 and self.chance(0.03):
            return {"$ref": "#"}
        if self.is_recursive and self.chance(0.15):
            return {"$recursiveRef": "#"}
        return self.node(depth + 1, 0)

    def object_words(self, found: dict[str, Any], depth: int) -> None:
        if self.chance(0.85):
            found["properties"] = self.fields(depth)
        names = [*found.get("properties", ()), self.pick(*NAMES)]
        if self.chance(0.4):
            found["required"] = self.random.sample(
                names, self.random.randint(1, min(2, len(names)))
            )
            found["required"] = list(dict.fromkeys(found["required"]))
        if self.chance(0.25):
            found["patternProperties"] = {
                pattern: self.inside(depth) for pattern in self.random.sample(PATTERNS, 1)
            }
        if self.chance(0.3):
            found["additionalProperties"] = self.pick(False, False, True, self.inside(depth))
        if self.chance(0.08):
            found["minProperties"] = self.random.randint(0, 2)
        if self.chance(0.08):
            found["maxProperties"] = self.random.randint(1, 3)
        self.newer_object_words(found, depth, names)

    def newer_object_words(self, found: dict[str, Any], depth: int, names: list[str]) -> None:
        if self.age >= 6 and self.chance(0.12):
            found["propertyNames"] = self.pick(
                {"pattern": "^[a-z]"}, {"maxLength": 2}, {"enum": [*names, "a"]}, True
            )
            if isinstance(found["propertyNames"], dict) and "enum" in found["propertyNames"]:
                found["propertyNames"]["enum"] = list(dict.fromkeys(found["propertyNames"]["enum"]))
        if self.is_evaluated and self.chance(0.12):
            found["unevaluatedProperties"] = self.pick(False, False, self.inside(depth))
        if self.age >= 11 and self.chance(0.08):
            found["dependentSchemas"] = {self.pick(*names): self.node(depth + 1, len(self.names))}
        if self.age >= 11 and self.chance(0.08):
            found["dependentRequired"] = {self.pick(*names): [self.pick(*names)]}
        if self.age < 11 and self.chance(0.1):
            found["dependencies"] = {
                self.pick(*names): self.pick([self.pick(*names)], self.node(9, len(self.names)))
            }

    def array(self, depth: int, first: int) -> Any:
        found: dict[str, Any] = {} if self.chance(0.15) else {"type": "array"}
        self.array_words(found, depth)
        return found

    def array_words(self, found: dict[str, Any], depth: int) -> None:  # noqa: C901 - a line a keyword
        if self.chance(0.45):
            items = [self.inside(depth) for _ in range(self.random.randint(1, 2))]
            found["prefixItems" if self.age == 12 else "items"] = items
            if self.chance(0.5):
                found["items" if self.age == 12 else "additionalItems"] = self.further(depth)
        elif self.chance(0.7):
            items = self.inside(depth)
            # jsonschema 4.26 does not find the unevaluated items of 2019-09 beside items that are true or false.
            found["items"] = {} if self.age == 11 and isinstance(items, bool) else items
        if self.chance(0.25):
            found["minItems"] = self.random.randint(0, 3)
        if self.chance(0.2):
            found["maxItems"] = self.random.randint(0, 3)
        if self.chance(0.1):
            found["uniqueItems"] = self.chance(0.9)
        if self.age >= 6 and self.chance(0.12):
            found["contains"] = self.inside(depth)
            if self.age >= 11 and self.chance(0.5):
                found["minContains"] = self.random.randint(0, 2)
            if self.age >= 11 and self.chance(0.3):
                found["maxContains"] = self.random.randint(1, 2)
        if self.is_evaluated and self.chance(0.15):
            found["unevaluatedItems"] = self.pick(False, False, self.inside(depth))

    def further(self, depth: int) -> Any:
        return (
            self.pick(False, self.inside(depth))
            if self.age >= 6 or self.chance(0.5)
            else self.pick(False, True)
        )

    def combined(self, depth: int, first: int) -> Any:
        found: dict[str, Any] = {}
        self.in_place(found, depth, first)
        if self.chance(0.25):
            self.object_words(found, depth)
        if self.chance(0.15):
            self.array_words(found, depth)
        if self.chance(0.2):
            found["type"] = self.pick("object", "string", "array", ["string", "object"])
        return found

    def in_place(self, found: dict[str, Any], depth: int, first: int) -> None:
        """Combine schemas that all speak of the same value."""
        way = self.pick("anyOf", "anyOf", "oneOf", "allOf", "not", "if")
        if way == "not":
            found.update(self.negated(depth, first))
        elif way == "if" and self.age >= 7:
            found.update(self.conditional(depth, first))
        else:
            way = way if way in ("anyOf", "oneOf", "allOf") else "anyOf"
            found[way] = [self.node(depth + 1, first) for _ in range(self.random.randint(1, 3))]

    def negated(self, depth: int, first: int) -> Any:
        return {"not": self.node(depth + 1, first)}

    def conditional(self, depth: int, first: int) -> Any:
        found = {"if": self.node(depth + 1, first)}
        for word in ("then", "else"):
            if self.chance(0.75):
                found[word] = self.node(depth + 1, first)
        return found

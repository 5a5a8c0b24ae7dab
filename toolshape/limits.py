"""How large a schema is, and the checks of how large it may be."""

from typing import NamedTuple

from toolshape.calls import JsonSchema
from toolshape.lens import Change, Place, everywhere
from toolshape.rules import Check

__all__ = ["GrammarSize", "at_most", "grammar_size", "long_enums", "sizes"]


class GrammarSize(NamedTuple):
    """What a schema costs where it is compiled: its properties, those of them that are optional, and its unions."""

    properties: int
    optional: int
    unions: int


def grammar_size(schema: JsonSchema) -> GrammarSize:
    """Count what a provider's budget for constrained decoding counts."""
    counts = [0, 0, 0]

    def count(node: JsonSchema, _: Place) -> Change | None:
        required = node.get("required", ())
        counts[0] += len(node.get("properties", ()))
        counts[1] += sum(name not in required for name in node.get("properties", ()))
        counts[2] += "anyOf" in node or isinstance(node.get("type"), list)
        return None

    everywhere(count)(schema)
    return GrammarSize(*counts)


def at_most(optional: int, unions: int) -> Check:
    """Not more optional properties and unions than one schema may hold."""

    def grammar(node: JsonSchema, at: Place) -> str | None:
        if not at.is_root:
            return None
        found = grammar_size(node)
        if found.optional > optional:
            return f"{found.optional} optional properties, at most {optional} are taken"
        return f"{found.unions} unions, at most {unions} are taken" if found.unions > unions else None

    return grammar


def sizes(properties: int, levels: int, characters: int = 120_000, choices: int = 1000) -> Check:
    """Not more properties, levels of objects, characters in names and choices, and choices than a schema may hold."""

    def too_large(node: JsonSchema, at: Place) -> str | None:
        if not at.is_root:
            return None
        found = {"properties": 0, "characters": 0, "choices": 0}

        def count(inner: JsonSchema, _: Place) -> Change | None:
            texts = [*inner.get("properties", ()), *inner.get("$defs", ())]
            options = [*inner.get("enum", ()), *([inner["const"]] if "const" in inner else [])]
            found["properties"] += len(inner.get("properties", ()))
            found["choices"] += len(inner.get("enum", ()))
            found["characters"] += sum(len(str(text)) for text in (*texts, *options))
            return None

        everywhere(count)(node)
        counts = [*found.items(), ("levels of nesting", _levels(node))]
        limits = zip(counts, (properties, characters, choices, levels), strict=True)
        return next(
            (f"{number} {what}, at most {most} are taken" for (what, number), most in limits if number > most), None
        )

    return too_large


def _levels(schema: JsonSchema) -> int:
    """How deep the objects and arrays of a schema stand in each other, definitions in their places; no cycle twice."""
    definitions = schema.get("$defs", {})
    own: dict[str, int] = {}
    references: dict[str, list[tuple[str, int]]] = {}
    for name, inner in (("", {key: value for key, value in schema.items() if key != "$defs"}), *definitions.items()):
        own[name], references[name] = 0, []

        def look(node: JsonSchema, at: Place, name: str = name) -> Change | None:
            own[name] = max(own[name], at.depth)
            if isinstance(node.get("$ref"), str):
                references[name].append((node["$ref"].rpartition("/")[2].lstrip("#"), at.depth))
            return None

        everywhere(look)(inner if isinstance(inner, dict) else {})

    def deepest(name: str, above: frozenset[str]) -> int:
        inner = [
            depth + deepest(target, above | {name})
            for target, depth in references.get(name, ())
            if target not in above and target != name
        ]
        return max([own.get(name, 0), *inner])

    return deepest("", frozenset())


def long_enums(choices: int, characters: int) -> Check:
    """Not more text in an enum of many choices than is taken."""

    def long_enum(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001 - a check
        options = node.get("enum", ())
        text = sum(len(option) for option in options if isinstance(option, str))
        if len(options) <= choices or text <= characters:
            return None
        return f"{text} characters in {len(options)} choices, at most {characters} are taken above {choices} choices"

    return long_enum

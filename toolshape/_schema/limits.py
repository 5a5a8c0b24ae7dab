"""The size of a schema as providers count it, and the checks of their limits."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolshape._calls import JsonSchema
from toolshape._schema.checks import Check
from toolshape._schema.lens import Change, Place
from toolshape._schema.recursion import recursive_groups
from toolshape._schema.references import definition_name
from toolshape._schema.walk import everywhere


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
    """How deep the objects and arrays of a schema stand in each other, definitions in their places."""
    definitions = schema.get("$defs", {})
    own: dict[str, int] = {}
    references: dict[str, list[tuple[str, int]]] = {}
    for name, inner in (("", {key: value for key, value in schema.items() if key != "$defs"}), *definitions.items()):
        own[name], references[name] = 0, []

        def look(node: JsonSchema, at: Place, name: str = name) -> Change | None:
            own[name] = max(own[name], at.depth)
            if isinstance(node.get("$ref"), str):
                references[name].append((definition_name(node["$ref"]).lstrip("#"), at.depth))
            return None

        everywhere(look)(inner if isinstance(inner, dict) else {})

    groups = recursive_groups(definitions)
    known: dict[str, int] = {}

    def deepest(name: str) -> int:
        """The depth below a definition; each of a mutually recursive group counts where it is first reached."""
        if name not in known:
            known[name] = max(
                [depth + own.get(one, 0) for one, depth in _members(name, groups, references).items()]
                + [
                    depth + further + deepest(target)
                    for one, depth in _members(name, groups, references).items()
                    for target, further in references.get(one, ())
                    if groups.get(target, target) != groups.get(name, name)
                ]
            )
        return known[name]

    return deepest("")


def _members(
    name: str, groups: Mapping[str, int], references: Mapping[str, Sequence[tuple[str, int]]]
) -> dict[str, int]:
    """The definitions that contain each other with this one, and how deep each is first met from there; itself at least."""
    found, queue = {name: 0}, [name]
    for one in queue:
        for target, further in sorted(references.get(one, ()), key=lambda pair: pair[1]):
            if groups.get(target) == groups.get(name, -1) and target not in found:
                found[target] = found[one] + further
                queue.append(target)
    return found


def long_enums(choices: int, characters: int) -> Check:
    """Not more text in an enum of many choices than is taken."""

    def long_enum(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001 - a check
        options = node.get("enum", ())
        text = sum(len(option) for option in options if isinstance(option, str))
        if len(options) <= choices or text <= characters:
            return None
        return f"{text} characters in {len(options)} choices, at most {characters} are taken above {choices} choices"

    return long_enum

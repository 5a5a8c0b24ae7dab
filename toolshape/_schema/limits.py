"""Measures the size of a schema as providers count it, and checks the providers' limits."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolshape._records.calls import JsonSchema
from toolshape._schema.checks import Check
from toolshape._schema.lens import Place
from toolshape._schema.recursion import recursive_groups
from toolshape._schema.references import definition_name
from toolshape._schema.walk import nodes_of


class GrammarSize(NamedTuple):
    """The size of a schema for constrained decoding: its properties, its
    optional properties and its unions.
    """

    properties: int
    optional: int
    unions: int


def grammar_size(schema: JsonSchema) -> GrammarSize:
    """Count the properties, optional properties and unions of a schema."""
    counts = [0, 0, 0]

    for node, _ in nodes_of(schema):
        required = node.get("required", ())
        counts[0] += len(node.get("properties", ()))
        counts[1] += sum(name not in required for name in node.get("properties", ()))
        counts[2] += "anyOf" in node or isinstance(node.get("type"), list)
    return GrammarSize(*counts)


def at_most(optional: int, unions: int) -> Check:
    """Return a check that a schema has at most the given numbers of optional properties and
    unions.
    """

    def grammar(node: JsonSchema, at: Place) -> str | None:
        if not at.is_root:
            return None
        size = grammar_size(node)
        if size.optional > optional:
            return f"{size.optional} optional properties, at most {optional} are allowed"
        if size.unions > unions:
            return f"{size.unions} unions, at most {unions} are allowed"
        return None

    return grammar


def sizes(properties: int, levels: int, characters: int = 120_000, choices: int = 1000) -> Check:
    """Return a check that limits a schema's properties, nesting and choices, and
    the length of names and choices.
    """

    def too_large(node: JsonSchema, at: Place) -> str | None:
        if not at.is_root:
            return None
        totals = {"properties": 0, "characters": 0, "choices": 0}
        for inner, _ in nodes_of(node):
            names = [*inner.get("properties", ()), *inner.get("$defs", ())]
            options = [*inner.get("enum", ()), *([inner["const"]] if "const" in inner else [])]
            totals["properties"] += len(inner.get("properties", ()))
            totals["choices"] += len(inner.get("enum", ()))
            totals["characters"] += sum(len(str(text)) for text in (*names, *options))
        counts = [*totals.items(), ("levels of nesting", _nesting_depth(node))]
        limits = zip(counts, (properties, characters, choices, levels), strict=True)
        return next(
            (
                f"{number} {total_name}, at most {most} are allowed"
                for (total_name, number), most in limits
                if number > most
            ),
            None,
        )

    return too_large


def _nesting_depth(schema: JsonSchema) -> int:
    """Return the nesting depth of a schema's objects and arrays; a definition
    counts at each place that uses it.
    """
    definitions = schema.get("$defs", {})
    own: dict[str, int] = {}
    references: dict[str, list[tuple[str, int]]] = {}
    for name, definition in (
        ("", {key: value for key, value in schema.items() if key != "$defs"}),
        *definitions.items(),
    ):
        own[name], references[name] = 0, []
        for node, at in nodes_of(definition if isinstance(definition, dict) else {}):
            own[name] = max(own[name], at.depth)
            if isinstance(node.get("$ref"), str):
                references[name].append((definition_name(node["$ref"]).lstrip("#"), at.depth))

    # ``own`` holds the depth of each definition without its references. ``references`` holds the
    # depths at which the definition refers to other definitions. Without recursion, the depth of a
    # definition is the longest path through its references. A recursive definition has no longest
    # path. So each member of its group counts once, at the depth where it is first reached.
    groups = recursive_groups(definitions)
    known_depths: dict[str, int] = {}

    def deepest(name: str) -> int:
        """Return the depth inside a definition; each member of a recursive group
        counts where it is first reached.
        """
        if name not in known_depths:
            known_depths[name] = max(
                [
                    depth + own.get(member, 0)
                    for member, depth in _members(name, groups, references).items()
                ]
                + [
                    depth + further + deepest(target)
                    for member, depth in _members(name, groups, references).items()
                    for target, further in references.get(member, ())
                    if groups.get(target, target) != groups.get(name, name)
                ]
            )
        return known_depths[name]

    return deepest("")


def _members(
    name: str, groups: Mapping[str, int], references: Mapping[str, Sequence[tuple[str, int]]]
) -> dict[str, int]:
    """Return the members of a definition's recursive group (including itself), each
    with the depth of its first use.
    """
    depths, queue = {name: 0}, [name]
    for member in queue:
        for target, further in sorted(references.get(member, ()), key=lambda pair: pair[1]):
            if groups.get(target) == groups.get(name, -1) and target not in depths:
                depths[target] = depths[member] + further
                queue.append(target)
    return depths


def long_enums(choices: int, characters: int) -> Check:
    """Return a check that limits enums with more than ``choices`` choices to
    ``characters`` characters in total.
    """

    def long_enum(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001 - a check
        options = node.get("enum", ())
        text = sum(len(option) for option in options if isinstance(option, str))
        if len(options) <= choices or text <= characters:
            return None
        return (
            f"{text} characters in {len(options)} choices, at most {characters} are allowed "
            f"above {choices} choices"
        )

    return long_enum

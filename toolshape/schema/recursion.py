"""The definitions of a schema in, which of them contain themselves out."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolshape.calls import JsonSchema

__all__ = ["groups_of", "name_of", "references", "referring"]


def name_of(reference: str) -> str:
    """The name of the definition that a reference leads to."""
    return reference.rpartition("/")[2]


def references(node: Any) -> set[str]:
    """The names of the definitions that a schema refers to."""
    return {name_of(found) for found in re.findall(r'"\$ref": "([^"]+)"', json.dumps(node))}


def referring(node: Any) -> Iterator[JsonSchema]:
    """The nodes of a schema that refer to a definition, in their order."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node
        for value in node.values():
            yield from referring(value)
    elif isinstance(node, list):
        for value in node:
            yield from referring(value)


def groups_of(definitions: Mapping[str, Any]) -> dict[str, int]:
    """The definitions that contain themselves, each with the number of its group: those that contain each other.

    Strongly connected components, by Tarjan's algorithm, without recursion of our own.
    """
    targets = {
        name: [one for one in sorted(references(node)) if one in definitions] for name, node in definitions.items()
    }
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    is_waiting: set[str] = set()
    groups: dict[str, int] = {}
    for root in definitions:
        path: list[tuple[str, Iterator[str]]] = [] if root in numbers else [(root, iter(targets[root]))]
        while path:
            name, rest = path[-1]
            if name not in numbers:
                numbers[name] = lowest[name] = len(numbers)
                waiting.append(name)
                is_waiting.add(name)
            for target in rest:
                if target not in numbers:
                    path.append((target, iter(targets[target])))
                    break
                if target in is_waiting:
                    lowest[name] = min(lowest[name], numbers[target])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[name])
                if lowest[name] == numbers[name]:
                    group = waiting[waiting.index(name) :]
                    del waiting[-len(group) :]
                    is_waiting.difference_update(group)
                    if len(group) > 1 or name in targets[name]:
                        groups |= dict.fromkeys(group, numbers[name])
    return groups

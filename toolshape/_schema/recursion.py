"""The definitions of a schema in; those that contain themselves or each other out."""

from collections.abc import Iterator, Mapping
from typing import Any

from toolshape._schema.references import references


def recursive_groups(definitions: Mapping[str, Any]) -> dict[str, int]:
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

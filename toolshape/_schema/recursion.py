"""Finds the recursive definitions of a schema, grouped by mutual recursion."""

from collections.abc import Iterator, Mapping
from typing import Any

from toolshape._schema.references import references


def recursive_groups(definitions: Mapping[str, Any]) -> dict[str, int]:
    """Return the recursive definitions, each with the number of its group; definitions
    in a group refer to each other.

    The groups are the strongly connected components, by Tarjan's algorithm.
    """
    targets = {
        name: [target for target in sorted(references(node)) if target in definitions]
        for name, node in definitions.items()
    }
    # Tarjan's algorithm with an explicit stack (``path``), so that a long chain of definitions
    # cannot exhaust Python's recursion limit. ``numbers`` is the order of discovery. ``lowest`` is
    # the lowest number that a definition reaches through definitions that have no group yet
    # (``waiting``). If a definition reaches nothing lower than itself, it and the definitions after
    # it in ``waiting`` form one group. A group of one definition is recursive only if the
    # definition refers to itself.
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    waiting_names: set[str] = set()
    groups: dict[str, int] = {}
    for root in definitions:
        path: list[tuple[str, Iterator[str]]] = (
            [] if root in numbers else [(root, iter(targets[root]))]
        )
        while path:
            name, remaining_targets = path[-1]
            if name not in numbers:
                numbers[name] = lowest[name] = len(numbers)
                waiting.append(name)
                waiting_names.add(name)
            for target in remaining_targets:
                if target not in numbers:
                    path.append((target, iter(targets[target])))
                    break
                if target in waiting_names:
                    lowest[name] = min(lowest[name], numbers[target])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[name])
                if lowest[name] == numbers[name]:
                    group = waiting[waiting.index(name) :]
                    del waiting[-len(group) :]
                    waiting_names.difference_update(group)
                    if len(group) > 1 or name in targets[name]:
                        groups |= dict.fromkeys(group, numbers[name])
    return groups

"""The definitions of a schema in; those that contain themselves or each other out."""

from collections.abc import Iterator, Mapping
from typing import Any

from toolshape._schema.references import definition_name, is_reference, references


def endless(schema: Mapping[str, Any]) -> list[str]:
    """Returns the references by which a definition refers to itself at the same place of the value.

    No validator can check a value against such a definition: it would follow the references for ever. JSON Schema
    leaves the behaviour undefined (2020-12, Core 9.4.1).
    """
    definitions = schema.get("$defs", {})
    nodes = {"#": schema, **{f"#/$defs/{name}": node for name, node in definitions.items()}}
    targets = {reference: sorted(_in_place(node) & nodes.keys()) for reference, node in nodes.items()}
    return list(_groups(targets))


_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")


def _in_place(node: Any) -> set[str]:
    """The references that a node follows for the very value that it checks, not for an item or a field of it."""
    if not isinstance(node, dict):
        return set()
    inner = [node[key] for key in _IN_PLACE if key in node]
    inner += [branch for key in _IN_PLACE_LISTS if isinstance(node.get(key), list) for branch in node[key]]
    dependent = node.get("dependentSchemas")
    inner += dependent.values() if isinstance(dependent, dict) else ()
    found = set().union(*map(_in_place, inner)) if inner else set()
    if is_reference(node):
        found.add("#" if node["$ref"] == "#" else f"#/$defs/{definition_name(node['$ref'])}")
    return found


def recursive_groups(definitions: Mapping[str, Any]) -> dict[str, int]:
    """Returns the definitions that contain themselves, each with the number of the group of those that contain each other."""
    return _groups(
        {name: [one for one in sorted(references(node)) if one in definitions] for name, node in definitions.items()}
    )


def _groups(targets: Mapping[str, list[str]]) -> dict[str, int]:
    """Strongly connected components, by Tarjan's algorithm, without recursion of our own."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    is_waiting: set[str] = set()
    groups: dict[str, int] = {}
    for root in targets:
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

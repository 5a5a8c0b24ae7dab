"""Applies a rule to every node of a schema, and builds the maps of values both ways.

It handles recursion, ``$ref`` and ``$defs``, unions and paths. Which keywords hold schemas is in
``keywords.py``.

A rule sees one node and returns a ``Change``: the node as it is sent, the arrow that maps a value
of it back, and the one that maps a value out. The walk makes a pass of it. It goes innermost first,
so that a rule sees its node as earlier changes left it, and its arrow runs before theirs on the way
back: what was changed last is undone first. An object's arrow is that of its fields, an array's
that of its items. In a union the branch is known only when a value is there, so the arrow asks
which branch a value is of, by the schema on its own side (the sent one on the way back), and takes
that branch's arrow. A value that is of no branch stays as it is, for the validation to refuse.

There are two walkers. ``_Walk`` rebuilds the schema and its arrows, which is dear. ``_Nodes`` only
lists the nodes with their places, and ``Pass.changes`` asks the rule about each. Most passes change
nothing in most schemas, so one list of nodes answers for all passes until the first of them acts.
That is sound because a walk hands its rule the original nodes as long as nothing was changed.
"""

import collections
import contextlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolshape._records.calls import JsonSchema, Loss
from toolshape._schema.arrows import (
    Arrow,
    chain_arrows,
    in_array,
    in_matching,
    in_object,
    in_others,
)
from toolshape._schema.keywords import HOLDS_SCHEMAS, UNIONS, keywords
from toolshape._schema.lens import (
    MARKS,
    NAMES,
    PATH,
    Change,
    Lens,
    Pass,
    Place,
    Rule,
    UnsupportedError,
)
from toolshape._schema.recursion import recursive_groups
from toolshape._schema.references import (
    definition_name,
    follow,
    is_reference,
    prune,
    referring_nodes,
    resolver,
)
from toolshape._schema.union_branches import (
    are_distinguishable,
    branch_of,
    disjoint_pairs,
    matches,
)
from toolshape._schema.values import copy_json

# A definition from elsewhere may be hostile: each inlined reference can double the size. The
# largest of 4,490 real definitions has 12 kB; a refusal takes half a second with this limit.
MOST_NODES = 15_000
_MOST_INLINED = (
    2_000  # the limit in ``inline_all_but_recursion``, which may leave references in place
)
_SEVERAL = 2


def compose(passes: Iterable[Pass]) -> Pass:
    """Combine passes into a single pass, which runs them in order and
    then removes unused definitions.
    """
    steps = tuple(passes)

    # Marks keep the path of a node through passes that move it. Most schemas are changed by no
    # pass, and to mark one, copy it and remove the marks costs more than to ask all passes. So a
    # schema is marked when the first pass is about to change it. Definitions move to the end as
    # they are marked, so a schema that has some is marked at once.
    def apply(schema: JsonSchema) -> Lens:
        backs: list[Arrow] = []
        outs: list[Arrow] = []
        losses: list[Loss] = []
        drops: set[Any] | None = set()
        nodes: list[_NodeAt] | None = None
        may_mark = len(steps) > 1
        if may_mark and "$defs" in schema:
            schema, nodes = _mark(schema)
            may_mark = False
        for step in steps:
            if isinstance(step, _Everywhere) and not step.constraints:
                nodes = nodes_of(schema) if nodes is None else nodes
                if not step.changes(nodes):
                    continue
            lens = step(schema)
            if may_mark and lens.schema != schema:
                schema, nodes = _mark(schema)
                may_mark = False
                lens = step(schema)
            nodes = nodes if lens.schema is schema else None
            schema = lens.schema
            losses.extend(lens.losses)
            if lens.back is not None:
                backs.insert(0, lens.back)
                drops = None if drops is None or lens.drops is None else drops | lens.drops
            if lens.out is not None:
                outs.append(lens.out)
        if len(steps) > 1:
            schema = copy_json(schema) if may_mark else remove_marks(schema)
        return Lens(
            schema=prune(schema),
            back=chain_arrows(backs),
            out=chain_arrows(outs),
            losses=tuple(dict.fromkeys(losses)),
            drops=frozenset(drops) if drops else None,
        )

    return apply


_NodeAt: TypeAlias = "tuple[JsonSchema, Place]"


@dataclass(frozen=True, eq=False, repr=False)
class _Everywhere:
    """The pass that ``everywhere`` returns."""

    rule: Rule
    constraints: bool

    def __call__(self, schema: JsonSchema) -> Lens:
        return _Walk(self.rule, None, schema, self.constraints).lens()

    def changes(self, nodes: Iterable[_NodeAt]) -> bool:
        """Whether the rule changes any of the nodes that a walk of the schema visits.

        A provider has about twenty-five passes, and most of them change nothing in most schemas. A
        walk rebuilds the whole schema and its arrows. That takes many times as long as calling the
        rule on each node. As long as a rule changes no node, a walk passes it the original nodes.
        So this method finds a change if and only if a walk would.
        """
        rule = self.rule
        for node, at in nodes:  # noqa: SIM110 - ``any`` with a generator is slower
            if rule(node, at) is not None:
                return True
        return False


def everywhere(rule: Rule, *, constraints: bool = False) -> Pass:
    """Return a pass that applies a rule to every node of a schema, innermost first.

    Args:
        rule: The rule.
        constraints: Whether to also visit subschemas that only constrain (``not``, ``if``,
            ``patternProperties``). If a rule changes such a subschema, values are mapped only in
            ``patternProperties``.
    """
    return _Everywhere(rule, constraints)


def nodes_of(schema: JsonSchema, *, constraints: bool = False) -> list[_NodeAt]:
    """Return the nodes of a schema, each with its place, in the order in which
    ``everywhere`` applies a rule to them.

    Args:
        schema: The schema.
        constraints: Whether to also visit subschemas that only constrain, as for ``everywhere``.

    Raises:
        UnsupportedError: There are too many nodes.
    """
    collector = _Nodes(schema, constraints)
    collector.visit(schema, "", "", 0)
    for name in schema.get("$defs", ()):
        collector.definition(name)
    return collector.nodes


def inline_all(at_recursion: Rule) -> Pass:
    """Return a pass that inlines every ``$ref``, and applies a rule to the
    recursive references that remain.

    Each definition of a mutually recursive group is inlined once, at its shallowest position. The
    rule rewrites every other reference to this definition, alone or in a union of such references.
    So recursion does not multiply the schema's size.
    """

    def apply(schema: JsonSchema) -> Lens:
        return _Walk(_unchanged, at_recursion, schema, True).lens()

    return apply


def inline_all_but_recursion(schema: JsonSchema) -> Lens:
    """Inline every ``$ref`` that is not recursive; return the schema unchanged if
    the result would be too large.
    """
    try:
        walk = _Walk(_unchanged, _unchanged, schema, True)
        walk.keeps_recursion, walk.most = True, _MOST_INLINED
        return walk.lens()
    except UnsupportedError:
        return Lens(schema=schema)


def remove_marks(schema: JsonSchema) -> JsonSchema:
    """Return a schema without toolshape's marks, as the provider sees the schema."""
    clean: JsonSchema = copy_json(schema)
    for node, _ in nodes_of(clean, constraints=True):
        for mark in MARKS:
            node.pop(mark, None)
    return clean


def _mark(schema: JsonSchema) -> tuple[JsonSchema, list[_NodeAt]]:
    """Return a copy of a schema in which each node holds its path, and a list of
    these nodes with their places.
    """
    marked_schema: JsonSchema = copy_json(schema)
    if "$defs" in marked_schema:
        # Move the definitions to the end, where each pass puts them.
        marked_schema["$defs"] = marked_schema.pop("$defs")
    nodes = nodes_of(marked_schema)
    for node, at in nodes:
        node[PATH] = at.path
    return marked_schema, nodes


def _unchanged(node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    return None


class _Step:
    """A node before and after a rewrite, and the arrows between the two forms."""

    __slots__ = ("after", "back", "before", "out")

    def __init__(
        self, *, before: Any, after: Any, back: Arrow | None = None, out: Arrow | None = None
    ) -> None:
        self.before = before
        self.after = after
        self.back = back
        self.out = out


_CONSTRAINTS = keywords("constrains", "content", holds="schema")
_CONSTRAINTS_BY_NAME = keywords("constrains", holds="by name")
_WITH_SCHEMAS = frozenset(keywords("applies", "constrains", "content")) & HOLDS_SCHEMAS
# No provider counts its levels.
_DEEPER = frozenset(keywords("applies", at="child")) - {"patternProperties"}
_Arrows: TypeAlias = "tuple[Arrow | None, Arrow | None]"
_Pair: TypeAlias = tuple[int, int]


class _Nodes:
    """Collects the nodes of one schema, innermost first; visits a
    definition at the first reference to it.
    """

    __slots__ = ("constraints", "definitions", "nodes", "resolve", "schema")

    def __init__(self, schema: JsonSchema, constraints: bool) -> None:
        self.schema = schema
        self.constraints = constraints
        self.resolve = resolver(schema)
        self.nodes: list[_NodeAt] = []
        self.definitions: set[str] = set()

    def definition(self, name: str) -> None:
        definitions = self.schema.get("$defs", {})
        if name in definitions and name not in self.definitions:
            self.definitions.add(name)
            self.visit(definitions[name], name, "$defs", 0)

    def visit(self, node: Any, path: str, keyword: str, depth: int) -> None:
        if not isinstance(node, dict):
            return
        if len(self.nodes) >= MOST_NODES:
            raise _too_large_error(MOST_NODES, path)
        if keyword in _DEEPER:
            depth += 1
        path = node.get(PATH, path)
        if "$ref" in node and is_reference(node):
            self.definition(definition_name(node["$ref"]))
        if not node.keys().isdisjoint(_WITH_SCHEMAS):
            self.children(node, path, depth)
        self.nodes.append((node, Place(path, keyword, self.resolve, depth)))

    def children(  # noqa: C901, PLR0912 - a branch for each keyword that holds schemas
        self, node: JsonSchema, path: str, depth: int
    ) -> None:
        # The keywords are asked by name, not found in a table: this runs for every node of every
        # schema, and most nodes have one or two of them. The order is that in which the paths of
        # losses are shown.
        base = f"{path}." if path else ""
        if self.constraints:
            self.in_constraints(node, path, depth)
        if "properties" in node:
            for name, inner in _mapping(node, "properties").items():
                self.visit(inner, base + name, "properties", depth)
        if self.constraints and "patternProperties" in node:
            for inner in _mapping(node, "patternProperties").values():
                self.visit(inner, f"{base}*", "patternProperties", depth)
        if "additionalProperties" in node:
            self.visit(node["additionalProperties"], f"{base}*", "additionalProperties", depth)
        if "propertyNames" in node:
            self.visit(node["propertyNames"], path, "propertyNames", depth)
        if "prefixItems" in node:
            for index, inner in enumerate(_sequence(node, "prefixItems")):
                self.visit(inner, f"{path}[{index}]", "prefixItems", depth)
        if "items" in node:
            self.visit(node["items"], f"{path}[]", "items", depth)
        for keyword in UNIONS:
            if keyword in node:
                for inner in _sequence(node, keyword):
                    self.visit(inner, path, keyword, depth)

    def in_constraints(self, node: JsonSchema, path: str, depth: int) -> None:
        for keyword in _CONSTRAINTS:
            self.visit(node.get(keyword), path, keyword, depth)
        for keyword in _CONSTRAINTS_BY_NAME:
            for inner in _mapping(node, keyword).values():
                self.visit(inner, path, keyword, depth)


def _mapping(node: JsonSchema, keyword: str) -> JsonSchema:
    value = node.get(keyword)
    if isinstance(value, dict):
        return value
    return {}


def _sequence(node: JsonSchema, keyword: str) -> Sequence[Any]:
    value = node.get(keyword)
    if isinstance(value, list):
        return value
    return ()


def _too_large_error(most: int, path: str) -> UnsupportedError:
    return UnsupportedError(
        f"the schema has more than {most} nodes: split the tool", path=path, rule="too_large"
    )


class _Walk:
    """One application of a rule to one schema.

    A definition is rewritten once, when the first reference to it is visited. Its arrows are stored
    by name, and a reference looks them up when it maps a value. So a recursive definition may refer
    to arrows that do not exist yet.

    If ``inline`` is set, references are replaced by their definitions instead. A recursive
    definition cannot be inlined everywhere. For each recursive group around the current node,
    ``inlined_at`` holds the references that are inlined. All other references into the group are
    cut, which means that the ``inline`` rule rewrites them.
    """

    def __init__(
        self, rule: Rule, inline: Rule | None, schema: JsonSchema, constraints: bool
    ) -> None:
        self.rule = rule
        self.inline = inline
        self.schema = schema
        self.constraints = constraints
        self.losses: list[Loss] = []
        self.definitions: dict[str, _Step | None] = {}
        self.arrows: dict[str, _Arrows] = {}
        self.nodes = self.depth = 0
        self.most, self.keeps_recursion = MOST_NODES, False
        self.groups = recursive_groups(schema.get("$defs", {})) if inline is not None else {}
        self.inlined_at: dict[int, set[int]] = {}
        self.changes_values = False
        self.drops: set[Any] | None = set()

    def lens(self) -> Lens:
        step = self.visit(self.schema, "", "", ())
        after = {key: value for key, value in step.after.items() if key != "$defs"}
        if self.inline is not None and "$defs" in self.schema:
            # The remaining references need the definitions.
            after = prune({**after, "$defs": self.schema["$defs"]})
        elif "$defs" in self.schema:
            definitions = {name: self.definition(name) for name in self.schema["$defs"]}
            after["$defs"] = {
                name: inner.after for name, inner in definitions.items() if inner is not None
            }
        if not self.changes_values:
            return Lens(schema=after, losses=tuple(self.losses))
        if self.drops is None:
            drops = None
        else:
            drops = frozenset(self.drops)
        return Lens(
            schema=after, back=step.back, out=step.out, losses=tuple(self.losses), drops=drops
        )

    def resolve_before(self, node: Any) -> Any:
        return resolver(self.schema)(node)

    def resolve_after(self, node: Any) -> Any:
        def find(name: str) -> Any:
            # ``None`` while the definition is being rewritten: use the original.
            step = self.definitions.get(name)
            if step is None:
                return self.schema.get("$defs", {}).get(name)
            return step.after

        return follow(node, find, self.schema)

    def definition(self, name: str) -> _Step | None:
        """Return the rewritten definition with this name; ``None`` if it is
        missing or still being rewritten.
        """
        if name not in self.definitions and name in self.schema.get("$defs", {}):
            self.definitions[name] = None
            depth, self.depth = self.depth, 0
            step = self.visit(self.schema["$defs"][name], f"{name}", "$defs", ())
            self.definitions[name], self.arrows[name] = step, (step.back, step.out)
            self.depth = depth
        return self.definitions.get(name)

    def visit(self, node: Any, path: str, keyword: str, stack: tuple[str, ...]) -> _Step:
        if not isinstance(node, dict):
            if keyword:
                return _Step(before=node, after=node)
            return _Step(before={}, after={})
        self.depth += keyword in _DEEPER
        step = self.visit_node(node, path, keyword, stack)
        self.depth -= keyword in _DEEPER
        return step

    def visit_node(
        self, node: JsonSchema, path: str, keyword: str, stack: tuple[str, ...]
    ) -> _Step:
        self.nodes += 1
        if self.nodes > self.most:
            raise _too_large_error(self.most, path)
        path = node.get(PATH, path)
        if self.inline is None:
            resolve = self.resolve_after
        else:
            resolve = self.resolve_before
        place = Place(path, keyword, resolve, self.depth, before=node)
        has_reference = "$ref" in node and is_reference(node)
        if has_reference and self.inline is not None:
            return self.inlined(node, place, stack)
        inner = self.children(node, path, stack)
        change = self.rule(inner.after, place)
        if change is None:
            step = inner
        else:
            self.losses.extend(change.losses)
            self.record_value_change(change)
            back, out = change.back, change.out
            if not change.is_whole:
                back = chain_arrows([arrow for arrow in (back, inner.back) if arrow])
                out = chain_arrows([arrow for arrow in (inner.out, out) if arrow])
            step = _Step(before=node, after=change.node, back=back, out=out)
        if has_reference:
            return step
        return self.with_examples(step, node)

    def inlined(self, node: JsonSchema, place: Place, stack: tuple[str, ...]) -> _Step:
        name = definition_name(node["$ref"])
        if self.keeps_recursion and name in self.groups:
            return _Step(before=node, after=dict(node))
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        if self.is_cut(node, stack):
            return self.cut(node, place)
        target = self.resolve_before({"$ref": node["$ref"]})
        if not isinstance(target, dict) or "$ref" in target:
            raise UnsupportedError(f"{node['$ref']} does not resolve", path=place.path, rule="$ref")
        inlined_node = {**target, **siblings}
        with self.entering([node], stack):
            return self.visit_node(
                inlined_node, place.path, place.keyword or "$ref", (*stack, name)
            )

    def is_cut(self, node: JsonSchema, stack: tuple[str, ...]) -> bool:
        """Whether a reference is cut, because its definition is inlined at another place."""
        name = definition_name(node["$ref"])
        group = self.groups.get(name)
        is_inside = group is not None and any(self.groups.get(outer) == group for outer in stack)
        return name in stack or (is_inside and id(node) not in self.inlined_at.get(group or 0, ()))

    def cut(self, node: JsonSchema, place: Place) -> _Step:
        """Apply the rule to a reference that is cut, or to a union of such references."""
        change = (self.inline or _unchanged)(node, place) or Change(node=node)
        self.losses.extend(change.losses)
        self.record_value_change(change)
        return self.with_examples(
            _Step(before=node, after=change.node, back=change.back, out=change.out), node
        )

    @contextlib.contextmanager
    def entering(self, branches: Sequence[Any], stack: tuple[str, ...]) -> Generator[None]:
        """Choose the shallowest references to inline, for each recursive
        group that the walk enters here.
        """
        entered_groups: dict[int, list[str]] = {}
        for name in [
            definition_name(branch["$ref"]) for branch in branches if is_reference(branch)
        ]:
            group = self.groups.get(name)
            if (
                group is not None
                and group not in self.inlined_at
                and not any(self.groups.get(outer) == group for outer in stack)
            ):
                entered_groups.setdefault(group, []).append(name)
        for group, names in entered_groups.items():
            self.inlined_at[group] = self.shallowest_references(group, names)
        yield
        for group in entered_groups:
            del self.inlined_at[group]

    def shallowest_references(self, group: int, names: list[str]) -> set[int]:
        """Return the ``id()`` of the shallowest reference to each definition
        of a group, found breadth first.
        """
        queue, visited_names, chosen_ids = collections.deque(names), set(names), set[int]()
        while queue:
            for node in referring_nodes(self.schema["$defs"][queue.popleft()]):
                name = definition_name(node["$ref"])
                if self.groups.get(name) == group and name not in visited_names:
                    visited_names.add(name)
                    queue.append(name)
                    chosen_ids.add(id(node))
        return chosen_ids

    def record_value_change(self, change: Change) -> None:
        """Record whether changes affect values, and whether all of them only drop null fields."""
        self.changes_values = self.changes_values or bool(change.back or change.out)
        if change.back is None or self.drops is None:
            return
        self.drops = None if change.drops is None else {*self.drops, change.drops}

    def with_examples(self, step: _Step, node: JsonSchema) -> _Step:
        """Map the node's default and its examples to wire form."""
        if step.out is None or not isinstance(step.after, dict):
            return step
        after = dict(step.after)
        if "default" in node and "default" in after:
            after["default"] = step.out(node["default"])
        if isinstance(node.get("examples"), list) and "examples" in after:
            after["examples"] = [step.out(example) for example in node["examples"]]
        step.after = after
        return step

    def children(self, node: JsonSchema, path: str, stack: tuple[str, ...]) -> _Step:
        """Rewrite the children of a node, and combine their arrows
        into arrows for the node's values.
        """
        has_reference = "$ref" in node and is_reference(node)  # a reference may have siblings
        if has_reference:
            step = self.reference(node)
        else:
            step = _Step(before=node, after=dict(node))
        if (has_reference and len(node) == 1) or node.keys().isdisjoint(_WITH_SCHEMAS):
            return step
        if self.constraints:
            self.in_constraints(node, step.after, path, stack)
        backs: list[Arrow] = [step.back] if step.back else []
        outs: list[Arrow] = [step.out] if step.out else []
        for rewrite in (self.in_objects, self.in_arrays, self.in_branches):
            for back, out in rewrite(node, step.after, path, stack):
                backs.extend([back] if back else [])
                outs.extend([out] if out else [])
        step.back, step.out = chain_arrows(backs[::-1]), chain_arrows(outs)
        return step

    def in_constraints(
        self, node: JsonSchema, after: JsonSchema, path: str, stack: tuple[str, ...]
    ) -> None:
        for keyword in _CONSTRAINTS:
            if isinstance(node.get(keyword), dict):
                after[keyword] = self.visit(node[keyword], path, keyword, stack).after
        for keyword in _CONSTRAINTS_BY_NAME:
            if isinstance(node.get(keyword), dict):
                steps = {
                    name: self.visit(inner, path, keyword, stack)
                    for name, inner in node[keyword].items()
                }
                after[keyword] = {name: step.after for name, step in steps.items()}

    def in_objects(
        self, node: JsonSchema, after: JsonSchema, path: str, stack: tuple[str, ...]
    ) -> Iterator[_Arrows]:
        base = f"{path}." if path else ""
        properties = node.get("properties")
        if isinstance(properties, dict):
            steps = {
                name: self.visit(inner, base + name, "properties", stack)
                for name, inner in properties.items()
            }
            after["properties"] = {name: step.after for name, step in steps.items()}
            backs = {name: step.back for name, step in steps.items()}
            # ``NAMES`` has the wire names of renamed fields by their canonical ones. A call may use
            # either, so the way back knows both.
            backs |= {canonical: backs.get(wire) for canonical, wire in node.get(NAMES, {}).items()}
            yield in_object(backs), in_object({name: step.out for name, step in steps.items()})
        if self.constraints and isinstance(node.get("patternProperties"), dict):
            steps = {
                pattern: self.visit(inner, f"{base}*", "patternProperties", stack)
                for pattern, inner in node["patternProperties"].items()
            }
            after["patternProperties"] = {pattern: step.after for pattern, step in steps.items()}
            yield (
                in_matching({pattern: step.back for pattern, step in steps.items()}, matches),
                in_matching({pattern: step.out for pattern, step in steps.items()}, matches),
            )
        if isinstance(node.get("additionalProperties"), dict):
            step = self.visit(
                node["additionalProperties"], f"{base}*", "additionalProperties", stack
            )
            after["additionalProperties"] = step.after
            known_names = frozenset(properties or ())
            yield (
                in_others(known_names | node.get(NAMES, {}).keys(), step.back),
                in_others(known_names, step.out),
            )
        # Keys are always strings: no arrow changes them.
        if isinstance(node.get("propertyNames"), dict):
            after["propertyNames"] = self.visit(
                node["propertyNames"], path, "propertyNames", stack
            ).after

    def in_arrays(
        self, node: JsonSchema, after: JsonSchema, path: str, stack: tuple[str, ...]
    ) -> Iterator[_Arrows]:
        if "prefixItems" not in node and "items" not in node:
            return
        prefix: list[_Step] = []
        rest_step = _Step(before=None, after=None)
        if isinstance(node.get("prefixItems"), list):
            prefix = [
                self.visit(inner, f"{path}[{index}]", "prefixItems", stack)
                for index, inner in enumerate(node["prefixItems"])
            ]
            after["prefixItems"] = [step.after for step in prefix]
        if isinstance(node.get("items"), dict):
            rest_step = self.visit(node["items"], f"{path}[]", "items", stack)
            after["items"] = rest_step.after
        yield (
            in_array([step.back for step in prefix], rest_step.back),
            in_array([step.out for step in prefix], rest_step.out),
        )

    def in_branches(
        self, node: JsonSchema, after: JsonSchema, path: str, stack: tuple[str, ...]
    ) -> Iterator[_Arrows]:
        for keyword in UNIONS:
            if isinstance(node.get(keyword), list):
                with self.entering(node[keyword] if keyword != "allOf" else (), stack):
                    branches = self.branches(node, keyword, path, stack)
                after[keyword] = [step.after for step in branches]
                if keyword == "allOf":
                    yield from ((step.back, step.out) for step in branches)
                else:
                    self.report_ambiguous_branches(branches, keyword, path)
                    yield self.union(branches)

    def branches(
        self, node: JsonSchema, keyword: str, path: str, stack: tuple[str, ...]
    ) -> list[_Step]:
        """Rewrite the branches of a union; if several references are cut, they become one
        branch.
        """
        cut_references = [
            branch
            for branch in node[keyword]
            if self.inline and is_reference(branch) and self.is_cut(branch, stack)
        ]
        if len(cut_references) < _SEVERAL or keyword == "allOf" or self.keeps_recursion:
            return [self.visit(branch, path, keyword, stack) for branch in node[keyword]]
        other_steps = [
            self.visit(branch, path, keyword, stack)
            for branch in node[keyword]
            if not any(branch is reference for reference in cut_references)
        ]
        place = Place(path=path, keyword=keyword, resolve=self.resolve_before, depth=self.depth)
        return [*other_steps, self.cut({"anyOf": cut_references}, place)]

    def reference(self, node: JsonSchema) -> _Step:
        """Give a ``$ref`` the arrows of its definition.

        The arrows are looked up at each call, because they may not exist yet.
        """
        # Not ``self``: the arrows outlive the schemas.
        name, arrows = (
            definition_name(node["$ref"]),
            self.arrows,
        )
        step = self.definition(name)
        if step is not None and step.back is None and step.out is None:
            return _Step(before=node, after=dict(node))

        def back(value: Any) -> Any:
            arrow, _ = arrows.get(name, (None, None))
            if arrow:
                return arrow(value)
            return value

        def out(value: Any) -> Any:
            _, arrow = arrows.get(name, (None, None))
            if arrow:
                return arrow(value)
            return value

        return _Step(before=node, after=dict(node), back=back, out=out)

    def report_ambiguous_branches(self, branches: Sequence[_Step], keyword: str, path: str) -> None:
        """Report branches that cannot be distinguished once they are rewritten, or only then.

        A value that fits two branches is sent in the form of the first. Later passes see one branch
        in it: they may say each of its fields, which shows where the pydantic model takes the value
        for the other branch, such as a map.
        """
        if not any(branch.back for branch in branches):
            return
        alike_after, alike_before = self.alike(branches)
        for first, second in sorted(alike_after | alike_before):
            pair = f"branches {first + 1} and {second + 1}"
            is_alike = (first, second) in alike_after
            if is_alike:
                note = f"{pair} look alike once rewritten; the first match is used"
            else:
                note = f"a value that fits {pair} is sent as the first"
            if is_alike:
                kind: Literal["narrowed", "reshaped"] = "narrowed"
            else:
                kind = "reshaped"
            self.losses.append(
                Loss(path=path, keyword=keyword, kind=kind, note=note, ambiguous=True)
            )

    def alike(self, branches: Sequence[_Step]) -> tuple[set[_Pair], set[_Pair]]:
        """Return the pairs of changed branches that one value may fit: once
        they are rewritten, and before.
        """
        changed = [
            (first, second)
            for second in range(len(branches))
            for first in range(second)
            if branches[first].back or branches[second].back
        ]
        forms = (
            ([branch.after for branch in branches], self.resolve_after),
            ([branch.before for branch in branches], self.resolve_before),
        )
        after, before = (
            set[_Pair]()
            if are_distinguishable(nodes, resolve)
            else {*changed} - disjoint_pairs(nodes, changed, resolve)
            for nodes, resolve in forms
        )
        return after, before

    def union(self, branches: Sequence[_Step]) -> _Arrows:
        """Return arrows that find a value's branch and apply the arrow of that branch."""
        if not any(branch.back or branch.out for branch in branches):
            return None, None

        rewritten_branches, original_branches = (
            [branch.after for branch in branches],
            [branch.before for branch in branches],
        )

        def back(value: Any) -> Any:
            index = branch_of(value, rewritten_branches, self.resolve_after)
            if index is None:
                arrow = None
            else:
                arrow = branches[index].back
            if arrow:
                return arrow(value)
            return value

        def out(value: Any) -> Any:
            index = branch_of(value, original_branches, self.resolve_before)
            if index is None:
                arrow = None
            else:
                arrow = branches[index].out
            if arrow:
                return arrow(value)
            return value

        return back, out

"""Finds the differences between two schemas, and applies each alone to the old one."""

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from toolshape._records.calls import JsonObject, JsonSchema
from toolshape._records.identity import canonical_json
from toolshape._schema.keywords import UNIONS, keywords
from toolshape._schema.references import at_pointer
from toolshape.contract._inclusion import ANNOTATIONS, BY_NAME, is_same_json

_NEW = "new:"
_SAID = ("description", "title", "default", "examples", "deprecated")
_ONE_BELOW = frozenset(keywords("applies", "constrains", "content", holds="schema"))
_NAMED_BELOW = tuple(
    name for name in keywords("applies", "constrains", holds="by name") if name != "properties"
)
_MANY_BELOW = keywords("applies", holds="schemas")
_BELOW = _ONE_BELOW | {*_MANY_BELOW, *_NAMED_BELOW, "properties", "required"}
_VALUES = frozenset(keywords("asserts", "annotates", holds="value", draft="any"))
_APPLIED = frozenset(
    {"$ref", "patternProperties", *UNIONS, *keywords("constrains", at="place")} - {"then", "else"}
)
"""Keywords that may constrain a property that ``properties`` does not list."""
_MOST_VISITED, _MOST_CHANGED = 2_000, 200
SchemaPlace: TypeAlias = tuple[str | int, ...]


class Step(NamedTuple):
    """One difference between two schemas: ``keyword`` at ``path`` was
    ``before`` and is now ``after``.

    ``alone`` is the old schema with only this difference, or ``None`` if the difference is in words
    that a model reads. ``is_new`` and ``is_gone`` mark words that were added or removed. ``place``
    is the location in the old schema. If an optional property was added to an open object,
    ``unnamed`` is its name: the old contract does not cover this name.
    """

    path: str
    keyword: str
    before: Any
    after: Any
    alone: JsonSchema | None
    is_new: bool = False
    is_gone: bool = False
    place: SchemaPlace = ()
    unnamed: str | None = None


def schema_differences(old: JsonSchema, new: JsonSchema) -> list[Step]:
    """Return the differences between two schemas for arguments.

    Args:
        old: The earlier schema.
        new: The current schema.
    """
    return list(_Walk(old, new).of(old, new, (), ""))


class _Walk:
    def __init__(self, old: JsonSchema, new: JsonSchema) -> None:
        self._old = old
        self._new = new
        self._open: set[tuple[str, str]] = set()
        self._seen: set[tuple[str, str]] = set()
        self._visited = self._changed = 0

    def of(self, old: Any, new: Any, place: SchemaPlace, path: str) -> Iterator[Step]:
        """Yield the differences at a place and below it."""
        if not (_reference(old) and _reference(new)):
            yield from self._compare(old, new, place, path)
            return
        # The walk compares a pair of definitions at each place that refers to the pair, because the
        # keywords around the reference decide what the difference breaks. If the pair occurs inside
        # itself (``_open``), the walk does not compare it again, because the walk would never end.
        # If definitions share definitions, there are exponentially many places. So beyond the
        # limits, the walk yields only word differences for a pair that it has seen before.
        pair = canonical_json(_without_annotations(old)), canonical_json(_without_annotations(new))
        self._visited += 1
        is_over_limit = self._visited > _MOST_VISITED or self._changed > _MOST_CHANGED
        if pair in self._open or (pair in self._seen and is_over_limit):
            yield from _word_differences(old, new, path)
            return
        self._open.add(pair)
        self._seen.add(pair)
        steps = list(self._compare(old, new, place, path))
        self._changed += bool(steps)
        self._open.remove(pair)
        yield from steps

    def _compare(self, old: Any, new: Any, place: SchemaPlace, path: str) -> Iterator[Step]:
        before, after = _resolve(old, self._old), _resolve(new, self._new)
        if not (isinstance(before, dict) and isinstance(after, dict)):
            if not is_same_json(before, after):
                yield self._make_step(path, "schema", before, after, place, after)
            return
        yield from _word_differences(before, after, path)
        if not _is_same_value(before.get("type"), after.get("type")):
            yield self._keyword_difference(before, after, place, path)
            return
        yield from self._subschema_differences(before, after, place, path)
        if "properties" in before or "properties" in after:
            yield from self._object_differences(before, after, place, path)
        elif _required(before) != _required(after):
            values = before.get("required"), after.get("required")
            alone = {**before, "required": after.get("required", [])}
            yield self._make_step(path, "required", *values, place, alone, is_old=True)
        if any(
            not self._is_same(before, after, key)
            and not (key in _BELOW and _is_compared_below(before, after, key))
            for key in {*before, *after} - ANNOTATIONS
        ):
            yield self._keyword_difference(before, after, place, path)

    def _subschema_differences(
        self, before: JsonSchema, after: JsonSchema, place: SchemaPlace, path: str
    ) -> Iterator[Step]:
        """Yield the differences in the subschemas that both nodes have at the same place."""
        for key in _ONE_BELOW & before.keys() & after.keys():
            if isinstance(before[key], dict) and isinstance(after[key], dict):
                mark = {"items": "[]", "additionalProperties": "{}"}.get(key, f" ({key})")
                yield from self._inner_differences(
                    before[key], after[key], (*place, key), f"{path}{mark}"
                )
        for key in _NAMED_BELOW:
            for name in before[key] if _has_same_names(before, after, key) else ():
                if key == "patternProperties":
                    mark = "{}"
                else:
                    mark = f" ({key})"
                yield from self._inner_differences(
                    before[key][name], after[key][name], (*place, key, name), f"{path}{mark}"
                )
        for key in _MANY_BELOW:
            for index, new_index in _pair(before, after, key) or ():
                if key == "prefixItems":
                    mark = f"[{index}]"
                else:
                    mark = ""
                yield from self._inner_differences(
                    before[key][index], after[key][new_index], (*place, key, index), f"{path}{mark}"
                )

    def _inner_differences(
        self, old: Any, new: Any, place: SchemaPlace, path: str
    ) -> Iterator[Step]:
        if not is_same_json(old, new) or _has_reference(old):
            yield from self.of(old, new, place, path)

    def _keyword_difference(
        self, before: JsonSchema, after: JsonSchema, place: SchemaPlace, path: str
    ) -> Step:
        """Combine the differences in the node's own keywords into one difference."""
        # One step has one witness, so the keywords of a node that changed together are one step: a
        # call that the old minimum admits may be refused by the new maximum. A changed type comes
        # alone, as it decides what the other keywords mean. The step is judged with everything else
        # as it was (``alone``), or another place could be blamed for its break.
        changed = [
            key
            for key in sorted({*before, *after} - ANNOTATIONS)
            if not self._is_same(before, after, key)
        ]
        if not _is_same_value(before.get("type"), after.get("type")):
            kinds = before.get("type"), after.get("type")
            type_values = [
                {key: node[key] for key in changed if key in node} for node in (before, after)
            ]
            values = list(kinds) if changed == ["type"] else type_values
            return self._make_step(path, "type", values[0], values[1], place, after)
        changed = [
            key
            for key in changed
            if key not in _BELOW or not _is_compared_below(before, after, key)
        ]
        alone = {key: value for key, value in before.items() if key not in changed}
        alone |= {key: self._rename_references(after[key]) for key in changed if key in after}
        keyword = "enum" if set(changed) == {"const", "enum"} else "schema"
        if len(changed) == 1:
            keyword = changed[0]
        values = [before.get(keyword), after.get(keyword)]
        if len(changed) > 1:
            values = [
                {key: node[key] for key in changed if key in node} for node in (before, after)
            ]
        return self._make_step(path, keyword, values[0], values[1], place, alone, is_old=True)

    def _object_differences(
        self, before: JsonSchema, after: JsonSchema, place: SchemaPlace, path: str
    ) -> Iterator[Step]:
        old, new = before.get("properties", {}), after.get("properties", {})
        required_before, required_after = (
            list(before.get("required", ())),
            list(after.get("required", ())),
        )
        for name in old:
            if name in new:
                yield from self._inner_differences(
                    old[name], new[name], (*place, "properties", name), _join_path(path, name)
                )
        for name in (key for key in old if key not in new):
            without_property = {
                **before,
                "properties": {key: node for key, node in old.items() if key != name},
            }
            without_property["required"] = [key for key in required_before if key != name]
            without_property.pop("additionalProperties", None)
            # It now governs the removed name, and no other difference tests this.
            if "additionalProperties" in after:
                without_property["additionalProperties"] = self._rename_references(
                    after["additionalProperties"]
                )
            yield self._make_step(
                _join_path(path, name),
                "removed",
                old[name],
                None,
                place,
                without_property,
                is_old=True,
            )
        for name in (key for key in new if key not in old):
            with_property = {
                **before,
                "properties": {**old, name: self._rename_references(new[name])},
            }
            with_property["required"] = (
                [*required_before, name] if name in required_after else required_before
            )
            step = self._make_step(
                _join_path(path, name), "added", None, new[name], place, with_property, is_old=True
            )
            yield (
                step._replace(unnamed=name)
                if name not in required_after and _is_open(before, place)
                else step
            )
        for name in dict.fromkeys([*required_before, *required_after]):
            was_required, is_required = name in required_before, name in required_after
            if was_required != is_required and (name in old) == (name in new):
                required = [
                    *(key for key in required_before if key != name),
                    *([name] if is_required else []),
                ]
                alone = {**before, "required": required}
                yield self._make_step(
                    _join_path(path, name),
                    "required",
                    was_required,
                    is_required,
                    place,
                    alone,
                    is_old=True,
                )
        yield from self._other_properties(before, after, place, path)

    def _other_properties(
        self, before: JsonSchema, after: JsonSchema, place: SchemaPlace, path: str
    ) -> Iterator[Step]:
        old, new = before.get("additionalProperties", True), after.get("additionalProperties", True)
        if not (isinstance(old, dict) and isinstance(new, dict)) and not is_same_json(old, new):
            alone = {**before, "additionalProperties": self._rename_references(new)}
            yield self._make_step(path, "additionalProperties", old, new, place, alone, is_old=True)

    def _is_same(self, before: JsonSchema, after: JsonSchema, key: str) -> bool:
        if (key in before) != (key in after):
            return False
        old, new = before.get(key), after.get(key)
        if key in ("required", "enum", "type"):
            return _is_same_value(old, new)
        are_equal = is_same_json(_without_annotations(old, key), _without_annotations(new, key))
        return are_equal and not (
            _has_reference(old) and self._old.get("$defs") != self._new.get("$defs")
        )

    def _make_step(
        self,
        path: str,
        keyword: str,
        before: Any,
        after: Any,
        place: SchemaPlace,
        node: Any,
        *,
        is_old: bool = False,
    ) -> Step:
        alone = self._with_node(place, node if is_old else self._rename_references(node))
        return Step(path, keyword, before, after, alone, place=place)

    def _with_node(self, place: SchemaPlace, node: Any) -> JsonSchema:
        """Return the old schema with a new node at a place, and with the
        definitions from both schemas.

        Each reference on the way to the place becomes a copy of its definition. The new node
        therefore changes only this place, not every place that refers to the definition. The names
        of the new definitions get a prefix (``_NEW``).
        """
        wrapper: JsonObject = {"root": copy.deepcopy(self._old)}
        holder: Any = wrapper
        steps: SchemaPlace = ("root", *place)
        for step in steps[:-1]:
            holder[step] = copy.deepcopy(_resolve(holder[step], self._old))
            holder = holder[step]
        holder[steps[-1]] = node
        definitions = {
            f"{_NEW}{name}": self._rename_references(part)
            for name, part in self._new.get("$defs", {}).items()
        }
        return {**wrapper["root"], "$defs": {**self._old.get("$defs", {}), **definitions}}

    def _rename_references(self, node: Any) -> Any:
        """Return a node of the new schema, with references that point to the prefixed
        definitions.
        """
        if isinstance(node, list):
            return [self._rename_references(item) for item in node]
        if not isinstance(node, dict):
            return node
        return {
            key: value.replace("#/$defs/", f"#/$defs/{_NEW}", 1)
            if key == "$ref" and isinstance(value, str)
            else self._rename_references(value)
            for key, value in node.items()
        }


def _is_open(node: JsonSchema, place: SchemaPlace) -> bool:
    """Return whether an object admits any name, and constrains only the names in ``properties``.

    An object without properties holds data, so it does not count as open. The arguments object is
    an exception: it may be open without properties.
    """
    is_free = (
        is_same_json(node.get("additionalProperties", True), True)
        or node["additionalProperties"] == {}
    )
    constrains = bool(_APPLIED & node.keys()) or "allOf" in place
    return is_free and not constrains and (bool(node.get("properties")) or not place)


def with_added_names(old: JsonSchema, steps: list[Step]) -> JsonSchema:
    """Return the old schema plus the optional properties that were added to its open objects.

    Each property gets its current schema: the old contract does not cover names that the old schema
    did not have.

    Args:
        old: The earlier schema.
        steps: The differences, including the added properties.
    """
    schema: JsonObject = old
    for step in steps:
        if step.unnamed is None or step.alone is None:
            continue
        if schema is old:
            schema = copy.deepcopy(old) | {"$defs": copy.deepcopy(step.alone["$defs"])}
        node: Any = schema
        alone_node: Any = step.alone
        for key in step.place:
            node, alone_node = _target(node, schema)[key], alone_node[key]
        node = _target(node, schema)
        node["properties"] = {
            **node.get("properties", {}),
            step.unnamed: alone_node["properties"][step.unnamed],
        }
    return schema


def _target(node: Any, root: JsonSchema) -> Any:
    """Return the definition that a reference points to: the object itself, not a copy."""
    for _ in range(20):
        if not _reference(node):
            break
        node = at_pointer(root, _reference(node))
    return node


def _reference(node: Any) -> str:
    if isinstance(node, dict):
        reference = node.get("$ref")
    else:
        reference = None
    if isinstance(reference, str):
        return reference
    return ""


def _has_reference(node: Any) -> bool:
    return '"$ref"' in str(node).replace("'", '"')


def _resolve(node: Any, root: JsonSchema) -> Any:
    """Return the target of a reference, merged with the keywords beside the reference."""
    for _ in range(20):
        reference = _reference(node)
        if not reference:
            return node
        target = at_pointer(root, reference)
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        if not isinstance(target, dict):
            return siblings
        # They share a keyword, and both of its values apply.
        if target.keys() & siblings.keys() - ANNOTATIONS:
            return {**siblings, "allOf": [*siblings.get("allOf", []), {"$ref": reference}]}
        node = {**target, **siblings}
    return node


def _without_annotations(node: Any, key: str = "") -> Any:
    """Return the value of a keyword without the annotations in its subschemas."""
    if key in _VALUES:
        return node
    if isinstance(node, list):
        return [_without_annotations(item) for item in node]
    if not isinstance(node, dict):
        return node
    if key in BY_NAME:
        return {name: _without_annotations(value) for name, value in node.items()}
    if key == "discriminator":
        return node.get("propertyName")  # the mapping follows from the branches
    return {
        name: _without_annotations(value, name)
        for name, value in node.items()
        if name not in ANNOTATIONS
    }


def _word_differences(before: JsonSchema, after: JsonSchema, path: str) -> Iterator[Step]:
    """Yield the differences in the words that a model reads, and in the order of the properties."""
    for key in _SAID:
        if (key in before) != (key in after) or not is_same_json(before.get(key), after.get(key)):
            yield Step(
                path,
                key,
                before.get(key),
                after.get(key),
                None,
                key not in before,
                key not in after,
            )
    old, new = list(before.get("properties", {})), list(after.get("properties", {}))
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield Step(path, "order", old, new, None)


def _is_compared_below(before: JsonSchema, after: JsonSchema, key: str) -> bool:
    """Return whether the walk finds the differences of a keyword by comparing its subschemas."""
    if key in ("properties", "required"):
        return True
    if key == "additionalProperties" and ("properties" in before or "properties" in after):
        return True
    if key in _ONE_BELOW:
        return isinstance(before.get(key), dict) and isinstance(after.get(key), dict)
    if key in _NAMED_BELOW:
        return _has_same_names(before, after, key)
    return _pair(before, after, key) is not None


def _has_same_names(before: JsonSchema, after: JsonSchema, key: str) -> bool:
    old, new = before.get(key), after.get(key)
    return isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys()


def _pair(before: JsonSchema, after: JsonSchema, key: str) -> list[tuple[int, int]] | None:
    """Match the schemas in two lists.

    Return pairs of indexes, or ``None`` if the match is not clear.

    The order of ``prefixItems`` counts. Equal branches match in any order. If exactly one branch is
    left on each side, these two branches match.
    """
    old, new = before.get(key), after.get(key)
    if not (isinstance(old, list) and isinstance(new, list) and len(old) == len(new)):
        return None
    if key == "prefixItems":
        return [(index, index) for index in range(len(old))]
    unmatched, pairs = list(range(len(new))), list[tuple[int, int]]()
    for index, node in enumerate(old):  # the order of branches has no meaning
        equal_index = next(
            (
                number
                for number in unmatched
                if is_same_json(_without_annotations(new[number]), _without_annotations(node))
            ),
            None,
        )
        if equal_index is not None:
            unmatched.remove(equal_index)
            pairs.append((index, equal_index))
    changed = [index for index in range(len(old)) if index not in {number for number, _ in pairs}]
    return [*pairs, *zip(changed, unmatched, strict=True)] if len(changed) < 2 else None  # noqa: PLR2004 - one is clear


def _is_same_value(old: Any, new: Any) -> bool:
    """Return whether two values are equal, ignoring the order of lists."""
    if isinstance(old, list) and isinstance(new, list):
        sorted_texts = [sorted(map(canonical_json, values)) for values in (old, new)]
        return sorted_texts[0] == sorted_texts[1]
    return is_same_json(old, new)


def _required(node: JsonSchema) -> set[str]:
    return set(node.get("required", ()))


def _join_path(path: str, name: str) -> str:
    if path:
        return f"{path}.{name}"
    return name

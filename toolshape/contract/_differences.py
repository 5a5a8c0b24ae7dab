"""Finds the places at which two schemas differ, each with a schema in which nothing else has changed."""

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from toolshape._calls import JsonObject, JsonSchema
from toolshape._identity import canonical_json
from toolshape._schema.references import at_pointer
from toolshape.contract._inclusion import ANNOTATIONS, BY_NAME, is_same_json

_NEW = "new:"
_SAID = ("description", "title", "default", "examples", "deprecated")
_ONE_BELOW = frozenset(
    {"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
     "unevaluatedItems", "unevaluatedProperties"}
)  # fmt: skip
_NAMED_BELOW = ("dependentSchemas", "patternProperties")
_MANY_BELOW = ("allOf", "anyOf", "oneOf", "prefixItems")
_BELOW = _ONE_BELOW | {*_MANY_BELOW, *_NAMED_BELOW, "properties", "required"}
_VALUES = frozenset({"const", "default", "enum", "examples", "required"})
_APPLIED = frozenset({"$ref", "allOf", "anyOf", "dependentSchemas", "if", "not", "oneOf", "patternProperties"})
"""Keywords beside which a name that ``properties`` lacks may be spoken of all the same."""
_MOST_VISITED, _MOST_CHANGED = 2_000, 200
Place: TypeAlias = tuple[str | int, ...]


class Step(NamedTuple):
    """One difference of two schemas: ``keyword`` at ``path`` was ``before`` and is ``after``.

    ``alone`` is the old schema with this difference alone; ``None`` where it is one of words, which may be new, or
    gone. ``place`` is where it stands in the old schema. ``unnamed`` is the name of an optional property that was added
    to an open object: a name that a schema does not have is no part of the contract.
    """

    path: str
    keyword: str
    before: Any
    after: Any
    alone: JsonSchema | None
    is_new: bool = False
    is_gone: bool = False
    place: Place = ()
    unnamed: str | None = None


def differences(old: JsonSchema, new: JsonSchema) -> list[Step]:
    """The differences of two schemas of arguments.

    Args:
        old: The schema before.
        new: The schema now.
    """
    return list(_Walk(old, new).of(old, new, (), ""))


class _Walk:
    def __init__(self, old: JsonSchema, new: JsonSchema) -> None:
        self._old = old
        self._new = new
        self._open: set[tuple[str, str]] = set()
        self._seen: set[tuple[str, str]] = set()
        self._visited = self._changed = 0

    def of(self, old: Any, new: Any, place: Place, path: str) -> Iterator[Step]:
        """What differs at a place and below it."""
        if not (_reference(old) and _reference(new)):
            yield from self._of(old, new, place, path)
            return
        # A definition is compared at each place that refers to it, as what stands around the reference decides what the
        # difference breaks; but not inside itself. Definitions that share definitions have more places than can be said.
        pair = canonical_json(_plain(old)), canonical_json(_plain(new))
        self._visited += 1
        is_too_much = self._visited > _MOST_VISITED or self._changed > _MOST_CHANGED
        if pair in self._open or (pair in self._seen and is_too_much):
            yield from _words(old, new, path)
            return
        self._open.add(pair)
        self._seen.add(pair)
        steps = list(self._of(old, new, place, path))
        self._changed += bool(steps)
        self._open.remove(pair)
        yield from steps

    def _of(self, old: Any, new: Any, place: Place, path: str) -> Iterator[Step]:
        before, after = _resolved(old, self._old), _resolved(new, self._new)
        if not (isinstance(before, dict) and isinstance(after, dict)):
            if not is_same_json(before, after):
                yield self._step(path, "schema", before, after, place, after)
            return
        yield from _words(before, after, path)
        if not _is_same_value(before.get("type"), after.get("type")):
            yield self._of_keywords(before, after, place, path)
            return
        yield from self._below(before, after, place, path)
        if "properties" in before or "properties" in after:
            yield from self._object(before, after, place, path)
        elif _required(before) != _required(after):
            values = before.get("required"), after.get("required")
            alone = {**before, "required": after.get("required", [])}
            yield self._step(path, "required", *values, place, alone, is_old=True)
        if any(
            not self._is_same(before, after, key) and not (key in _BELOW and _is_below(before, after, key))
            for key in {*before, *after} - ANNOTATIONS
        ):
            yield self._of_keywords(before, after, place, path)

    def _below(self, before: JsonSchema, after: JsonSchema, place: Place, path: str) -> Iterator[Step]:
        """What differs in the schemas inside that stand at the same place in both."""
        for key in _ONE_BELOW & before.keys() & after.keys():
            if isinstance(before[key], dict) and isinstance(after[key], dict):
                mark = {"items": "[]", "additionalProperties": "{}"}.get(key, f" ({key})")
                yield from self._inside(before[key], after[key], (*place, key), f"{path}{mark}")
        for key in _NAMED_BELOW:
            for name in before[key] if _has_same_names(before, after, key) else ():
                mark = "{}" if key == "patternProperties" else f" ({key})"
                yield from self._inside(before[key][name], after[key][name], (*place, key, name), f"{path}{mark}")
        for key in _MANY_BELOW:
            for at, other in _paired(before, after, key) or ():
                mark = f"[{at}]" if key == "prefixItems" else ""
                yield from self._inside(before[key][at], after[key][other], (*place, key, at), f"{path}{mark}")

    def _inside(self, one: Any, other: Any, place: Place, path: str) -> Iterator[Step]:
        if not is_same_json(one, other) or _has_reference(one):
            yield from self.of(one, other, place, path)

    def _of_keywords(self, before: JsonSchema, after: JsonSchema, place: Place, path: str) -> Step:
        """What differs at this node itself, as one difference."""
        changed = [key for key in sorted({*before, *after} - ANNOTATIONS) if not self._is_same(before, after, key)]
        if not _is_same_value(before.get("type"), after.get("type")):
            kinds = before.get("type"), after.get("type")
            shown = [{key: node[key] for key in changed if key in node} for node in (before, after)]
            said = list(kinds) if changed == ["type"] else shown
            return self._step(path, "type", said[0], said[1], place, after)
        changed = [key for key in changed if key not in _BELOW or not _is_below(before, after, key)]
        alone = {key: value for key, value in before.items() if key not in changed}
        alone |= {key: self._renamed(after[key]) for key in changed if key in after}
        keyword = changed[0] if len(changed) == 1 else "enum" if set(changed) == {"const", "enum"} else "schema"
        said = [before.get(keyword), after.get(keyword)]
        if len(changed) > 1:
            said = [{key: node[key] for key in changed if key in node} for node in (before, after)]
        return self._step(path, keyword, said[0], said[1], place, alone, is_old=True)

    def _object(self, before: JsonSchema, after: JsonSchema, place: Place, path: str) -> Iterator[Step]:
        own, others = before.get("properties", {}), after.get("properties", {})
        required, now = list(before.get("required", ())), list(after.get("required", ()))
        for name in own:
            if name in others:
                yield from self._inside(own[name], others[name], (*place, "properties", name), _at(path, name))
        for name in (one for one in own if one not in others):
            without = {**before, "properties": {key: one for key, one in own.items() if key != name}}
            without["required"] = [one for one in required if one != name]
            without.pop("additionalProperties", None)
            if "additionalProperties" in after:  # said to be open, it would be looked at by nobody else
                without["additionalProperties"] = self._renamed(after["additionalProperties"])
            yield self._step(_at(path, name), "removed", own[name], None, place, without, is_old=True)
        for name in (one for one in others if one not in own):
            given = {**before, "properties": {**own, name: self._renamed(others[name])}}
            given["required"] = [*required, name] if name in now else required
            step = self._step(_at(path, name), "added", None, others[name], place, given, is_old=True)
            yield step._replace(unnamed=name) if name not in now and _is_open(before, place) else step
        for name in dict.fromkeys([*required, *now]):
            is_new = name in others and name not in own
            if (name in required) != (name in now) and not is_new and (name in others or name not in own):
                asked = [one for one in required if one != name] + ([name] if name in now else [])
                values = name in required, name in now
                yield self._step(
                    _at(path, name), "required", *values, place, {**before, "required": asked}, is_old=True
                )
        then, today = before.get("additionalProperties", True), after.get("additionalProperties", True)
        if not (isinstance(then, dict) and isinstance(today, dict)) and not is_same_json(then, today):
            alone = {**before, "additionalProperties": self._renamed(today)}
            yield self._step(path, "additionalProperties", then, today, place, alone, is_old=True)

    def _is_same(self, before: JsonSchema, after: JsonSchema, key: str) -> bool:
        if (key in before) != (key in after):
            return False
        one, other = before.get(key), after.get(key)
        if key in ("required", "enum", "type"):
            return _is_same_value(one, other)
        same = is_same_json(_plain(one, key), _plain(other, key))
        return same and not (_has_reference(one) and self._old.get("$defs") != self._new.get("$defs"))

    def _step(
        self, path: str, keyword: str, before: Any, after: Any, place: Place, node: Any, *, is_old: bool = False
    ) -> Step:
        alone = self._alone(place, node if is_old else self._renamed(node))
        return Step(path, keyword, before, after, alone, place=place)

    def _alone(self, place: Place, node: Any) -> JsonSchema:
        """The old schema with another node at a place, and the definitions of both."""
        wrapper: JsonObject = {"root": copy.deepcopy(self._old)}
        holder: Any = wrapper
        steps: Place = ("root", *place)
        for step in steps[:-1]:
            holder[step] = copy.deepcopy(_resolved(holder[step], self._old))
            holder = holder[step]
        holder[steps[-1]] = node
        definitions = {f"{_NEW}{name}": self._renamed(one) for name, one in self._new.get("$defs", {}).items()}
        return {**wrapper["root"], "$defs": {**self._old.get("$defs", {}), **definitions}}

    def _renamed(self, node: Any) -> Any:
        """A node of the new schema, whose references lead to its own definitions."""
        if isinstance(node, list):
            return [self._renamed(one) for one in node]
        if not isinstance(node, dict):
            return node
        return {
            key: value.replace("#/$defs/", f"#/$defs/{_NEW}", 1)
            if key == "$ref" and isinstance(value, str)
            else self._renamed(value)
            for key, value in node.items()
        }


def _is_open(node: JsonSchema, place: Place) -> bool:
    """Whether an object takes whatever names, and speaks of those alone that ``properties`` has.

    A free object without names of its own holds data, unless it is the arguments themselves.
    """
    is_free = is_same_json(node.get("additionalProperties", True), True) or node["additionalProperties"] == {}
    speaks = bool(_APPLIED & node.keys()) or "allOf" in place
    return is_free and not speaks and (bool(node.get("properties")) or not place)


def with_names(old: JsonSchema, steps: list[Step]) -> JsonSchema:
    """The old schema with the optional names that have come to its open objects: what it says of calls by these names.

    Args:
        old: The schema before.
        steps: What has changed, the names that have come among it.
    """
    found: JsonObject = old
    for step in steps:
        if step.unnamed is None or step.alone is None:
            continue
        if found is old:
            found = copy.deepcopy(old) | {"$defs": copy.deepcopy(step.alone["$defs"])}
        node: Any = found
        given: Any = step.alone
        for key in step.place:
            node, given = _target(node, found)[key], given[key]
        node = _target(node, found)
        node["properties"] = {**node.get("properties", {}), step.unnamed: given["properties"][step.unnamed]}
    return found


def _target(node: Any, root: JsonSchema) -> Any:
    """The definition that a reference leads to, itself and no copy."""
    for _ in range(20):
        if not _reference(node):
            break
        node = at_pointer(root, _reference(node))
    return node


def _reference(node: Any) -> str:
    found = node.get("$ref") if isinstance(node, dict) else None
    return found if isinstance(found, str) else ""


def _has_reference(node: Any) -> bool:
    return '"$ref"' in str(node).replace("'", '"')


def _resolved(node: Any, root: JsonSchema) -> Any:
    """A node in place of a reference to it; what stands beside the reference is kept."""
    for _ in range(20):
        reference = _reference(node)
        if not reference:
            return node
        target = at_pointer(root, reference)
        beside = {key: value for key, value in node.items() if key != "$ref"}
        if not isinstance(target, dict):
            return beside
        if target.keys() & beside.keys() - ANNOTATIONS:  # both hold
            return {**beside, "allOf": [*beside.get("allOf", []), {"$ref": reference}]}
        node = {**target, **beside}
    return node


def _plain(node: Any, key: str = "") -> Any:
    """What a keyword says, without the words in the schemas inside of it."""
    if key in _VALUES:
        return node
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    if key in BY_NAME:
        return {name: _plain(one) for name, one in node.items()}
    if key == "discriminator":
        return node.get("propertyName")  # which branch a value means follows from the branches
    return {name: _plain(value, name) for name, value in node.items() if name not in ANNOTATIONS}


def _words(before: JsonSchema, after: JsonSchema, path: str) -> Iterator[Step]:
    """What differs in what a model reads."""
    for key in _SAID:
        if (key in before) != (key in after) or not is_same_json(before.get(key), after.get(key)):
            yield Step(path, key, before.get(key), after.get(key), None, key not in before, key not in after)
    own, others = list(before.get("properties", {})), list(after.get("properties", {}))
    if [one for one in own if one in others] != [one for one in others if one in own]:
        yield Step(path, "order", own, others, None)


def _is_below(before: JsonSchema, after: JsonSchema, key: str) -> bool:
    """Whether what differs under a keyword was looked at in the schemas inside."""
    if key in ("properties", "required"):
        return True
    if key == "additionalProperties" and ("properties" in before or "properties" in after):
        return True
    if key in _ONE_BELOW:
        return isinstance(before.get(key), dict) and isinstance(after.get(key), dict)
    if key in _NAMED_BELOW:
        return _has_same_names(before, after, key)
    return _paired(before, after, key) is not None


def _has_same_names(before: JsonSchema, after: JsonSchema, key: str) -> bool:
    one, other = before.get(key), after.get(key)
    return isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys()


def _paired(before: JsonSchema, after: JsonSchema, key: str) -> list[tuple[int, int]] | None:
    """Which schemas of two lists stand for each other; ``None`` where that is not clear."""
    one, other = before.get(key), after.get(key)
    if not (isinstance(one, list) and isinstance(other, list) and len(one) == len(other)):
        return None
    if key == "prefixItems":
        return [(at, at) for at in range(len(one))]
    left, pairs = list(range(len(other))), list[tuple[int, int]]()
    for at, node in enumerate(one):  # the order of branches says nothing
        same = next((number for number in left if is_same_json(_plain(other[number]), _plain(node))), None)
        if same is not None:
            left.remove(same)
            pairs.append((at, same))
    changed = [at for at in range(len(one)) if at not in {number for number, _ in pairs}]
    return [*pairs, *zip(changed, left, strict=True)] if len(changed) < 2 else None  # noqa: PLR2004 - one is clear


def _is_same_value(one: Any, other: Any) -> bool:
    """Whether two lists say the same, in whatever order."""
    if isinstance(one, list) and isinstance(other, list):
        texts = [sorted(map(canonical_json, given)) for given in (one, other)]
        return texts[0] == texts[1]
    return is_same_json(one, other)


def _required(node: JsonSchema) -> set[str]:
    return set(node.get("required", ()))


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

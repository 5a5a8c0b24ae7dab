"""Bundles a JSON Schema of any draft: each reference then points into its own ``$defs``.

A reference means a place by the URI of the resource around it (``$id``), by an anchor or by a
pointer. The library ``referencing`` knows how each draft joins and resolves these. What is left for
this module is to write down what was found, once, under a stable name, and to leave out what
nothing refers to. Nothing is fetched: a schema can refer to itself, to the ``documents`` that the
caller gives, and to the metaschemas.

``$dynamicRef`` and ``$recursiveRef`` mean the outermost resource, on the way to them, that declares
the anchor. So a definition can mean different things on different ways, and is written once for
each *environment*: which resource declared each anchor first. An anchor that is declared once stays
declared, so there are few environments.

Needs the extra ``schema``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from toolshape._records.calls import JsonSchema
from toolshape._schema.keywords import BY_NAME, HOLDS_SCHEMAS, keywords, subschemas
from toolshape._schema.lens import UnsupportedError
from toolshape._schema.references import mentions
from toolshape._schema.values import copy_json
from toolshape._schema.walk import MOST_NODES

try:
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
    from referencing import exceptions
    from referencing.jsonschema import (
        DRAFT3,
        DRAFT4,
        DRAFT6,
        DRAFT7,
        DRAFT202012,
        specification_with,
    )
except ImportError as error:
    raise ImportError(
        "tools from definitions need jsonschema: pip install 'toolshape[schema]'"
    ) from error

_ALONE = (DRAFT3, DRAFT4, DRAFT6, DRAFT7)
"""The drafts in which the constraints beside a ``$ref`` are ignored; what only
says something to a reader stays.
"""
_REFERENCES = frozenset(keywords("applies", holds="value", draft="any"))
_IGNORED = (
    frozenset(keywords("applies", "constrains", "asserts", "content", draft="any")) - _REFERENCES
)
_DROPPED = frozenset(keywords("defines", "identifies", draft="any")) - {"id"}
_SCHEMAS = (HOLDS_SCHEMAS | {"type", "disallow"}) - _DROPPED
"""The keywords whose values are written as schemas; in draft 3, ``type``
and ``disallow`` may hold some.
"""
_MAY_NAME = ("$id", "id", "$anchor", "$dynamicAnchor", "$schema")
_RECURSIVE = ""
"""The name of ``$recursiveAnchor`` among the dynamic anchors."""

_MOST_DYNAMIC = 200
"""The most dynamic anchors on one way.

Each of them multiplies the meanings that a definition may have.
"""

_Environment: TypeAlias = tuple[tuple[str, int], ...]
"""The dynamic anchors on the way to a node: each name with the ``id()`` of the node that it means.
"""


class BundleError(ValueError):
    """A reference leads nowhere; ``path`` is the place of the reference."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        super().__init__(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundle:
    """A bundled schema, and the places that are read in another way than the
    standard says, with the reason.
    """

    schema: JsonSchema
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Scope:
    """Where a node stands.

    Attributes:
        resolver: The resolver of ``referencing`` for the resource around the node.
        home: The ``id()`` of the resource's root.
        dialect: The draft of the resource.
        environment: The dynamic anchors on the way to the node.
    """

    resolver: Any
    home: int
    dialect: Any
    environment: _Environment = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Anchored:
    """A node that an anchor names, and where it stands."""

    node: Any
    scope: _Scope
    is_dynamic: bool


def _dialect_of(node: Any, outer: Any) -> Any:
    if isinstance(node, dict):
        declared = node.get("$schema")
    else:
        declared = None
    if isinstance(declared, str):
        return specification_with(declared, default=outer)
    return outer


def _resource(contents: Any, dialect: Any) -> Any:
    return dialect.create_resource(contents)


def _is_held_apart(node: Any, root: Any, dialect: Any) -> bool:
    """Whether a node is a resource of its own within the resource of ``root``."""
    return node is not root and _id_of(node, dialect) is not None


def _id_of(node: Any, dialect: Any) -> str | None:
    if isinstance(node, dict):
        identifier = dialect.id_of(node)
    else:
        identifier = None
    if isinstance(identifier, str) and identifier:
        return identifier
    return None


@dataclass(kw_only=True, slots=True)
class _Written:
    """What a bundler has written: the definitions, their references, and the
    nodes that are left of the budget.
    """

    definitions: JsonSchema = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    references: dict[tuple[int, _Environment], str] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    nodes_left: int = MOST_NODES


@dataclass(kw_only=True, slots=True)
class _Known:
    """The resources that references can lead to.

    ``bases`` has the URI of each resource that has an ``$id``, by the ``id()`` of its root.
    """

    registry: Any
    bases: dict[int, str] = field(default_factory=dict)

    def add(self, document: Any, uri: str, dialect: Any) -> None:
        """Add a document, and the resources inside it."""
        self._register(document, uri, dialect)
        resource = _resource(document, _dialect_of(document, dialect))
        self.registry = self.registry.with_resource(uri, resource)

    def _register(self, node: Any, base: str, dialect: Any) -> None:
        """Register the resources inside a document, and write
        ``{"$id": "#name"}`` as the anchor that it means.

        This walk is not that of ``referencing``, because authors write many things that are no
        schema: an ``$id`` at every node that is a pointer, ``properties`` as a list. Those are left
        alone.
        """
        if not isinstance(node, dict):
            return
        dialect = _dialect_of(node, dialect)
        for keyword in _MAY_NAME:
            value = node.get(keyword)
            is_fragment = isinstance(value, str) and value.startswith("#")
            is_ignored = dialect in _ALONE and "$ref" in node
            if is_fragment and keyword in ("$id", "id") and not is_ignored:
                node.setdefault("$anchor", str(value)[1:])
            if keyword in node and (is_fragment or not isinstance(value, str)):
                del node[keyword]
        if identifier := _id_of(node, dialect):
            base = urldefrag(urljoin(base, identifier))[0]
            self.bases[id(node)] = base
            self.registry = self.registry.with_resource(base, _resource(node, dialect))
        for inner in subschemas(node):
            self._register(inner, base, dialect)


class Documents:
    """The documents that definitions refer to, by URI; they are copied and looked
    through once for all definitions.
    """

    __slots__ = ("_copies", "_known", "given")

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        self._copies: list[Any] = []  # keeps them alive, and so their ``id()``
        self._known: dict[int, _Known] = {}

    def __reduce__(self) -> Any:
        return Documents, (dict(self.given),)

    def known(self, dialect: Any) -> _Known:
        """Return what the documents hold, for a schema of this dialect;
        documents may name another one.
        """
        if id(dialect) not in self._known:
            known = _Known(registry=REGISTRY)
            copies = copy_json(dict(self.given))
            for uri, document in copies.items():
                known.add(document, uri, dialect)
            self._copies.append(copies)
            self._known[id(dialect)] = known
        known = self._known[id(dialect)]
        return _Known(registry=known.registry, bases=dict(known.bases))


def bundle(schema: JsonSchema, documents: Documents | None = None) -> Bundle:
    """Return the schema with all of its references in its own ``$defs``; definitions
    that are not used are left out.

    Args:
        schema: A schema of any draft; its ``$schema`` says which, else it is 2020-12.
        documents: What the schema refers to outside of itself.

    Raises:
        BundleError: A reference leads nowhere.
        UnsupportedError: The bundled schema has too many nodes.
    """
    is_old = _dialect_of(schema, DRAFT202012) is DRAFT3
    if not is_old and not mentions(schema, *_REFERENCES):
        return Bundle(schema=schema)  # as most definitions are
    return _Bundler(copy_json(schema), documents or Documents({})).bundled()


class _Bundler:
    """Bundles one schema, of which it owns the copy."""

    def __init__(self, schema: JsonSchema, documents: Documents) -> None:
        self.schema = schema
        self.written = _Written()
        self.anchors_by_root: dict[int, dict[str, _Anchored]] = {}
        self.places: dict[int, _Anchored] = {}  # the nodes that dynamic anchors mean, by ``id()``
        self.dialect = _dialect_of(schema, DRAFT202012)
        known = documents.known(self.dialect)
        known.add(schema, "", self.dialect)
        self.registry, self.bases = known.registry, known.bases
        self.root = self.registry.resolver_with_root(_resource(schema, self.dialect))

    def bundled(self) -> Bundle:
        """Write the schema and the definitions that it needs."""
        scope = self.entered(self.root, _Scope(resolver=None, home=0, dialect=self.dialect))
        root = self.write(self.schema, scope, "")
        # OpenAPI's definitions: those that are used are in ``$defs`` now.
        root.pop("components", None)
        if self.written.definitions:
            root["$defs"] = self.written.definitions
        return Bundle(schema=root, notes=tuple(dict.fromkeys(self.written.notes)))

    # --- finding

    def anchors(self, root: Any, dialect: Any, resolver: Any) -> dict[str, _Anchored]:
        """Return the anchors that a resource declares, without those of the resources inside it."""
        if id(root) not in self.anchors_by_root:
            found = self.anchors_by_root.setdefault(id(root), {})
            scope = _Scope(resolver=resolver, home=id(root), dialect=dialect)
            pending = [root]
            while pending:
                node = pending.pop()
                if not isinstance(node, dict) or _is_held_apart(node, root, dialect):
                    continue
                for keyword in ("$anchor", "$dynamicAnchor"):
                    if isinstance(name := node.get(keyword), str):
                        is_dynamic = keyword == "$dynamicAnchor"
                        found.setdefault(
                            name, _Anchored(node=node, scope=scope, is_dynamic=is_dynamic)
                        )
                pending.extend(subschemas(node))
            if isinstance(root, dict) and root.get("$recursiveAnchor") is True:
                found[_RECURSIVE] = _Anchored(node=root, scope=scope, is_dynamic=True)
        return self.anchors_by_root[id(root)]

    def entered(self, resolver: Any, scope: _Scope) -> _Scope:
        """Return the scope at the root of the resource that a resolver
        stands in, come from ``scope``.
        """
        root = resolver.lookup("#").contents
        # A resource may be found under the URI of a document; its own ``$id`` is the base of what
        # it says.
        if id(root) in self.bases:
            resolver = self.registry.resolver(self.bases[id(root)])
        dialect = _dialect_of(root, scope.dialect)
        environment = dict(scope.environment)
        anchors = self.anchors(root, dialect, resolver)
        for name, anchored in anchors.items():
            if anchored.is_dynamic:
                environment.setdefault(name, id(anchored.node))
                self.places[id(anchored.node)] = anchored
        if _RECURSIVE not in anchors:  # the way of recursive anchors ends at a root without one
            environment.pop(_RECURSIVE, None)
        if len(environment) > _MOST_DYNAMIC:
            message = f"more than {_MOST_DYNAMIC} dynamic anchors on the way to a reference"
            raise UnsupportedError(message, path="", rule="too_large")
        return _Scope(
            resolver=resolver,
            home=id(root),
            dialect=dialect,
            environment=tuple(sorted(environment.items())),
        )

    def find(self, reference: str, scope: _Scope, path: str, *, is_dynamic: bool) -> Any:
        """Return the node that a reference means, and its scope.

        Raises:
            BundleError: The reference leads nowhere.
        """
        try:
            return self.found(reference, scope, is_dynamic=is_dynamic)
        except (exceptions.Unresolvable, AttributeError, TypeError, ValueError) as error:
            # Authors write "#/$defs/x" as if no ``$id`` stood between it and the root.
            target = self.at_root(reference)
            if target is None:
                raise BundleError(
                    path,
                    f"{reference} does not resolve; nothing is fetched: give what it points to "
                    "as documents=",
                ) from error
        note = f"{reference} is read from the root, not from the $id around it"
        self.written.notes.append((path, note))
        return target.contents, self.entered(target.resolver, scope)

    def at_root(self, reference: str) -> Any:
        try:
            return self.root.lookup(reference) if reference.startswith("#/") else None
        except (exceptions.Unresolvable, AttributeError, TypeError, ValueError):
            return None

    def found(self, reference: str, scope: _Scope, *, is_dynamic: bool) -> tuple[Any, _Scope]:
        uri, _, fragment = reference.partition("#")
        home = scope.resolver.lookup(f"{uri}#")
        inside = self.entered(home.resolver, scope)
        anchors = self.anchors(home.contents, inside.dialect, home.resolver)
        name = unquote(fragment)
        # An empty fragment is the root, and the recursive anchor only for a ``$recursiveRef``.
        if name or is_dynamic:
            anchored = anchors.get(name)
        else:
            anchored = None
        if anchored is None:
            target = scope.resolver.lookup(reference)
            return target.contents, self.entered(target.resolver, scope)
        if is_dynamic and anchored.is_dynamic:
            anchored = self.places[dict(inside.environment)[name]]
        return anchored.node, _with_environment(anchored.scope, inside.environment)

    # --- writing

    def define(self, reference: str, scope: _Scope, path: str, *, is_dynamic: bool) -> str:
        """Write the definition that a reference means, once, and return the reference to it."""
        node, inside = self.find(reference, scope, path, is_dynamic=is_dynamic)
        key = id(node), inside.environment
        references, definitions = self.written.references, self.written.definitions
        if key not in references:
            name = self.free_name(reference)
            references[key] = f"#/$defs/{name}"
            definitions[name] = {}  # it may refer to itself
            definitions[name] = self.write(node, inside, name)
        return references[key]

    def free_name(self, reference: str) -> str:
        """Return a name for the definition that a reference means: its last step,
        with a number if that is taken.
        """
        last_step = re.split("[/#]", unquote(reference).rstrip("/#"))[-1]
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", last_step).lstrip("_") or "definition"
        name, number = stem, self.written.numbers.get(stem, 2)
        while name in self.written.definitions:
            name, number = f"{stem}_{number}", number + 1
        self.written.numbers[stem] = number
        return name

    def write(self, node: Any, scope: _Scope, path: str) -> Any:
        """Return a node with its references bundled."""
        if not isinstance(node, dict):
            return node
        self.written.nodes_left -= 1
        if self.written.nodes_left < 0:
            message = f"the schema has more than {MOST_NODES} nodes: split the tool"
            raise UnsupportedError(message, path=path, rule="too_large")
        if id(node) != scope.home and id(node) in self.bases:
            scope = self.entered(self.registry.resolver(self.bases[id(node)]), scope)
        is_alone = scope.dialect in _ALONE and isinstance(node.get("$ref"), str)
        written: JsonSchema = {}
        bundled: list[str] = []
        for keyword, value in node.items():
            is_id = keyword == "id" and scope.dialect in _ALONE and isinstance(value, str)
            if is_id or keyword in _DROPPED or (is_alone and keyword in _IGNORED):
                continue
            if keyword in _REFERENCES and isinstance(value, str):
                is_dynamic = keyword != "$ref"
                bundled.append(self.define(value, scope, path, is_dynamic=is_dynamic))
                written["$ref"] = bundled[0]
            else:
                written[keyword] = self.write_value(keyword, value, scope, path)
        if len(set(bundled)) > 1:  # $ref and $dynamicRef: both hold
            others = [{"$ref": reference} for reference in bundled[1:]]
            written["allOf"] = [*written.get("allOf", ()), *others]
        if scope.dialect is DRAFT3:
            return _in_words_of_later_drafts(written)
        return written

    def write_value(self, keyword: str, value: Any, scope: _Scope, path: str) -> Any:
        """Return the value of a keyword, with the schemas inside it written."""
        if keyword not in _SCHEMAS:
            return value
        if isinstance(value, list):
            return [self.write(inner, scope, path) for inner in value]
        if keyword not in BY_NAME:
            return self.write(value, scope, path)
        if not isinstance(value, dict):
            return value
        written: JsonSchema = {}
        for name, inner in value.items():
            if keyword == "properties":
                inner_path = f"{path}.{name}".lstrip(".")
            else:
                inner_path = path
            written[name] = self.write(inner, scope, inner_path)
        return written


def _in_words_of_later_drafts(node: JsonSchema) -> JsonSchema:
    """Write what only draft 3 has: ``extends``, ``disallow``, and schemas in ``type``."""
    parts = _listed(node.pop("extends", []))
    disallowed = [_as_schema(kind) for kind in _listed(node.pop("disallow", []))]
    kinds = _listed(node.get("type", []))
    if any(isinstance(kind, dict) for kind in kinds):
        del node["type"]
        parts = [*parts, {"anyOf": [_as_schema(kind) for kind in kinds]}]
    if disallowed:
        node["not"] = {"anyOf": disallowed}
    if parts:
        node["allOf"] = parts
    return node


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [value]


def _as_schema(kind: Any) -> Any:
    if isinstance(kind, dict):
        return kind
    return {"type": kind}


def _with_environment(scope: _Scope, environment: _Environment) -> _Scope:
    return _Scope(
        resolver=scope.resolver, home=scope.home, dialect=scope.dialect, environment=environment
    )

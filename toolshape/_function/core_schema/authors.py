"""Finds the author's validators in core schemas: before, around or instead of pydantic's.

Pydantic puts functions into core schemas, too, for paths, addresses and secrets. The author's
functions are all others, and those of the libraries that the author uses.
"""

from collections.abc import Callable
from typing import Any

from toolshape._function.core_schema.nodes import Definitions, Node, core_nodes

_CODE = frozenset({"function-before", "function-wrap", "function-plain"})
FUNCTIONS = _CODE | {"function-after"}
"""The types of nodes that hold a function."""
_PYDANTIC = frozenset({"pydantic", "pydantic_core", "ipaddress", "pathlib"})
"""The packages of the functions that pydantic puts into core schemas."""
_OF_VERSION_1 = "pydantic._internal._decorators_v1"
"""The module of the functions that pydantic puts around the author's
validators in the style of version 1.
"""
_OURS = "toolshape"


def is_of_pydantic(function: Callable[..., Any]) -> bool:
    """Whether pydantic put a function into a core schema."""
    return _package_of(function) in _PYDANTIC


def is_of_version_1(function: Callable[..., Any]) -> bool:
    """Whether pydantic put a function around the author's validator in the style of version 1."""
    return getattr(function, "__module__", None) == _OF_VERSION_1


def _package_of(function: Callable[..., Any]) -> str:
    """Return the first part of a function's module; a method that is built in has none,
    so its object's class decides.
    """
    owner = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or getattr(owner, "__module__", None)
    if module == _OF_VERSION_1:
        return ""
    return str(module or "").partition(".")[0]


def _is_authors(node: Node) -> bool:
    """Whether the function of a node with a function is the author's."""
    package = _package_of(node["function"]["function"])
    return package not in _PYDANTIC and package != _OURS


def is_authors_function(node: Node) -> bool:
    """Whether a node with a function, of any mode, holds a function of the author."""
    return node["type"] in FUNCTIONS and _is_authors(node)


def is_authors_code(node: Node) -> bool:
    """Whether a node's value is decided by the author: a before, wrap or plain
    validator, or a default for errors.
    """
    if node["type"] in _CODE:
        return _is_authors(node)
    return bool(node["type"] == "default" and node.get("on_error", "raise") != "raise")


def holds_authors_code(node: Node, definitions: Definitions) -> bool:
    """Whether a node, or a node that it refers to, is the author's code."""
    waiting, seen = [node], set[str]()
    while waiting:
        for inner in core_nodes(waiting.pop()):
            if is_authors_code(inner):
                return True
            name = inner.get("schema_ref")
            if name is not None and name not in seen:
                seen.add(name)
                waiting.append(definitions[name])
    return False


def is_authors_place(node: Node, definitions: Definitions) -> bool:
    """Whether pydantic's own mode holds inside a node: it is the author's code, or a
    union in which such code stands.

    A union is taken as a whole. If one of its branches were read laxly and the others strictly, the
    lax branch would win over a branch that pydantic prefers.
    """
    return is_authors_code(node) or (
        node["type"] == "union" and holds_authors_code(node, definitions)
    )


def side_of_author(node: Node) -> Node | None:
    """Return the lax side of a ``lax-or-strict`` node that an author wrote;
    pydantic's own keeps its strict side.
    """
    if node["type"] != "lax-or-strict":
        return None
    lax: Node = node["lax_schema"]
    if any(map(is_authors_function, core_nodes(lax))):
        return lax
    return None

"""The types of a rewrite: a rule for one node, the change it makes, and a rewritten schema that maps values both ways.

A rule is local: it sees one node whose children are rewritten already, and answers with a ``Change``, or with ``None``.
``walk.everywhere`` lifts a rule to a whole schema; ``walk.compose`` puts such passes one after the other.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from toolshape._calls import JsonSchema, Loss
from toolshape._schema.arrows import Arrow, Dropped
from toolshape._schema.references import Resolve


class UnsupportedError(Exception):
    """A schema that cannot be rewritten: ``path`` and ``rule`` say what is unsupported, the message what to do."""

    def __init__(self, message: str, *, path: str, rule: str) -> None:
        self.path = path
        self.rule = rule
        super().__init__(message)


class Change(NamedTuple):
    """What a rule makes of a node.

    ``node`` is what the provider sees. ``back`` maps values from wire form to canonical form, ``out`` the other way;
    ``None`` where values do not change. ``back`` must return a value that is not in wire form unchanged. ``drops`` is
    set if ``back`` only drops null fields: it holds the names of all fields of the object, and of those dropped.
    """

    node: JsonSchema
    back: Arrow | None = None
    out: Arrow | None = None
    losses: tuple[Loss, ...] = ()
    drops: tuple[tuple[str, ...], frozenset[str]] | None = None


class Place(NamedTuple):
    """Where a node stands: ``path`` in the user's names, the ``keyword`` that leads to it (``""`` at the root).

    ``resolve`` follows a ``$ref`` to its definition as far as there is one; ``depth`` is how many objects and arrays
    lead to it, from the root or from the definition that it stands in.
    """

    path: str
    keyword: str
    resolve: Resolve
    depth: int = 0

    @property
    def is_root(self) -> bool:
        """Whether this is the schema of the arguments itself, which must stay an object."""
        return not self.keyword


class Lens(NamedTuple):
    """A whole schema rewritten, and the arrows on whole values; ``None`` where no value changes.

    ``drops``: all that ``back`` does is to drop fields that are null, of these objects; ``None`` if it does more.
    """

    schema: JsonSchema
    back: Arrow | None = None
    out: Arrow | None = None
    losses: tuple[Loss, ...] = ()
    drops: Dropped | None = None


Rule: TypeAlias = Callable[[JsonSchema, Place], "Change | None"]
Pass: TypeAlias = Callable[[JsonSchema], Lens]


def each(*rules: Rule) -> Rule:
    """Rules that change no value, one after the other at each node: one walk for all of them."""

    def rule(node: JsonSchema, at: Place) -> Change | None:
        losses: list[Loss] = []
        before = node
        for one in rules:
            change = one(node, at)
            if change is not None:
                node = change.node
                losses.extend(change.losses)
        return None if node is before else Change(node=node, losses=tuple(losses))

    return rule


PATH = "x-toolshape-path"
"""The keyword that holds a node's canonical path through all passes, so that every loss is reported there."""


NAMES = "x-toolshape-names"
"""The keyword that maps the canonical names of renamed fields to their wire names, for calls in canonical form."""
MARKS = frozenset({PATH, NAMES})

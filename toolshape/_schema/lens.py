"""The types of a rewrite: ``Rule`` and ``Change`` for a node, ``Lens`` for a whole schema.

A rule is local: it sees one node whose children are already rewritten, and returns a ``Change`` or
``None``. ``walk.everywhere`` applies a rule to a whole schema; ``walk.compose`` runs several passes
in order.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from toolshape._records.calls import JsonSchema, Loss
from toolshape._schema.arrows import Arrow, Dropped
from toolshape._schema.references import Resolve


class UnsupportedError(Exception):
    """A schema cannot be rewritten: ``path`` and ``rule`` name the unsupported part.

    The message says what to do.
    """

    def __init__(self, message: str, *, path: str, rule: str) -> None:
        self.path = path
        self.rule = rule
        super().__init__(message)


class Change(NamedTuple):
    """The result of a rule for one node.

    ``node`` is the node that the provider sees. ``back`` maps values from wire form to canonical
    form, and ``out`` maps them from canonical form to wire form. If an arrow is ``None``, values do
    not change. ``back`` must return a value unchanged if it is not in wire form. If ``back`` only
    drops null fields, ``drops`` holds the names of all the object's fields, and the names of the
    dropped fields. If ``is_whole``, the arrows map between the wire form and the form of the node
    before its inside was rewritten, so the arrows of its inside are not applied.
    """

    node: JsonSchema
    back: Arrow | None = None
    out: Arrow | None = None
    losses: tuple[Loss, ...] = ()
    drops: tuple[tuple[str, ...], frozenset[str]] | None = None
    is_whole: bool = False


class Place(NamedTuple):
    """The position of a node in a schema.

    ``path`` uses the field names in the user's schema, even for renamed fields. ``keyword`` is the
    keyword above the node (``""`` at the root).

    ``resolve`` follows a chain of ``$ref`` to a definition, as far as possible. ``depth`` counts
    the objects and arrays around the node, from the root or from the definition that contains it.
    ``before`` is the node before the rule rewrote its inside, in a walk that rewrites.
    """

    path: str
    keyword: str
    resolve: Resolve
    depth: int = 0
    before: JsonSchema | None = None

    @property
    def is_root(self) -> bool:
        """Whether this is the root: the schema of all arguments, which must stay an object."""
        return not self.keyword


class Lens(NamedTuple):
    """A rewritten schema, and the arrows for whole values; an arrow
    is ``None`` if no value changes.

    If ``back`` only drops null fields, ``drops`` lists these fields for each object. Otherwise
    ``drops`` is ``None``.
    """

    schema: JsonSchema
    back: Arrow | None = None
    out: Arrow | None = None
    losses: tuple[Loss, ...] = ()
    drops: Dropped | None = None


Rule: TypeAlias = Callable[[JsonSchema, Place], "Change | None"]
Pass: TypeAlias = Callable[[JsonSchema], Lens]


def each(*rules: Rule) -> Rule:
    """Combine rules that change no values into one rule: a single walk then applies
    all rules to each node in order.
    """

    def rule(node: JsonSchema, at: Place) -> Change | None:
        losses: list[Loss] = []
        original = node
        for inner in rules:
            change = inner(node, at)
            if change is not None:
                node = change.node
                losses.extend(change.losses)
        if node is original:
            return None
        return Change(node=node, losses=tuple(losses))

    return rule


PATH = "x-toolshape-path"
"""The keyword that carries a node's canonical path through all passes; every
loss is reported at that path.
"""


NAMES = "x-toolshape-names"
"""The keyword that maps the canonical names of renamed fields to wire names, for
calls that use canonical names.
"""
MARKS = frozenset({PATH, NAMES})

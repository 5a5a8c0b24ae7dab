"""Rewrites JSON Schema, maps arguments in both directions, compares and copies JSON.

In: a JSON Schema and the rules of a provider. Out: the rewritten schema, its inverse on arguments,
and its losses. To add a rewrite, write a function in ``rewrites.py``; a new keyword goes into
``keywords.py`` first.
"""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._schema import walk as walk
else:  # few schemas of functions are recursive.
    __getattr__ = import_later(__name__, "walk")

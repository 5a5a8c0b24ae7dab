"""Reads a structured answer from a response, and sends the schema that the answer must have.

In: a type, and a provider. Out: the part of the request that asks for the type, and the value that
came back. What an answer allows at a provider is data of the family; this room only applies it.
"""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._answers import output as output
else:  # few registries are told of outputs.
    __getattr__ = import_later(__name__, "output")

"""``SchemaDefinition``: what is known of a tool that somebody else defined. ``definitions.build`` makes it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from toolshape._calls import Effect, Finding, JsonObject, JsonSchema, Verbatim
from toolshape._function.invoke import Invoke, Layout
from toolshape._function.output import Output
from toolshape._function.signature import Kind

Choose: TypeAlias = Callable[[str], "Callable[..., Any] | None"]
"""Gives the function that answers a tool's calls, for the name in its definition."""


class SchemaDefinition(NamedTuple):
    """A tool that somebody else described, and the function that answers it, if there is one.

    It has what ``FunctionDefinition`` has for a decorated function, except the pydantic model. ``known`` are the names
    that the function takes (``None``: any), ``never`` those that no model may set, ``switched`` the coercion rules that
    its parameters switch.
    """

    name: str
    title: str | None
    description: str
    location: str
    kind: Kind
    schema: JsonSchema
    output: Output
    layout: Layout
    invoke: Invoke
    known: frozenset[str] | None
    never: frozenset[str]
    switched: Mapping[str, Mapping[str, bool]]
    findings: tuple[Finding, ...]
    entry: JsonObject
    is_strict: bool | None
    effects: frozenset[Effect]
    examples: tuple[JsonObject, ...]
    keys: Mapping[str, JsonObject]
    verbatim: Verbatim | None

"""A call that a model should make, and one that it must not make."""

from collections.abc import Mapping
from typing import Any, Literal

from toolshape._tools.tool import Tool
from toolshape.evals._matchers import Matcher


class Expect:
    """An expected call of a tool.

    Its arguments are JSON values in canonical form, or matchers at any depth.

    If you omit an argument, the tool's default is expected. ``match`` selects the arguments to
    compare: all (``"exact"``), only the arguments that you give (``"subset"``), or none
    (``"name"``).
    """

    __slots__ = ("arguments", "is_forbidden", "match", "tool")
    match: Literal["exact", "subset", "name"]

    def __init__(
        self,
        tool: Tool[..., Any] | str,
        given: Mapping[str, Any] | None = None,
        /,
        **arguments: Any,
    ) -> None:
        """Expect a call.

        Args:
            tool: A tool, or its name in the registry (not the name on the wire).
            given: Arguments as a mapping, for names that cannot be Python keywords.
            **arguments: The arguments.
        """
        self.tool = tool if isinstance(tool, str) else tool.name
        self.arguments: dict[str, Any] = {**(given or {}), **arguments}
        self.is_forbidden = False
        self.match = "exact"

    @classmethod
    def name_only(cls, tool: Tool[..., Any] | str, /) -> "Expect":
        """Expect a call of a tool, with any arguments.

        Even a call with invalid arguments counts as right.
        """
        expected = cls(tool)
        expected.match = "name"
        return expected

    @classmethod
    def subset(
        cls, tool: Tool[..., Any] | str, given: Mapping[str, Any] | None = None, /, **arguments: Any
    ) -> "Expect":
        """Expect a call with these arguments. The tool's other arguments are not compared.

        Each given argument is compared as a whole. If its value is an object, include every field
        without a default.
        """
        expected = cls(tool, given, **arguments)
        expected.match = "subset"
        return expected

    def __repr__(self) -> str:
        argument_list = ", ".join(
            [repr(self.tool), *(f"{name}={value!r}" for name, value in self.arguments.items())]
        )
        constructor = {"exact": "Expect", "subset": "Expect.subset", "name": "Expect.name_only"}[
            self.match
        ]
        return f"{'never' if self.is_forbidden else constructor}({argument_list})"


def never(
    tool: Tool[..., Any] | str, given: Mapping[str, Any] | None = None, /, **arguments: Any
) -> Expect:
    """Forbid a call of a tool with these arguments. The tool's other arguments are not compared."""
    forbidden = Expect.subset(tool, given, **arguments)
    forbidden.is_forbidden = True
    return forbidden


def has_matcher(expected: Any) -> bool:
    """Return whether a value contains a matcher."""
    if isinstance(expected, dict):
        return any(map(has_matcher, expected.values()))
    return isinstance(expected, Matcher) or (
        isinstance(expected, list) and any(map(has_matcher, expected))
    )

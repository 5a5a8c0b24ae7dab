"""``Expect``: a call that a model should make, or must not."""

from collections.abc import Mapping
from typing import Any, Literal

from toolshape._tool import Tool
from toolshape.evals._matchers import Matcher


class Expect:
    """A call that is expected: of a tool, with arguments in canonical form, each a value as JSON or a matcher.

    What is left out is the tool's default, as it is for the function. A matcher may stand anywhere inside. ``match``
    says which arguments count: all (``"exact"``), those that are named (``"subset"``), or none (``"name"``).
    """

    __slots__ = ("arguments", "is_forbidden", "match", "tool")
    match: Literal["exact", "subset", "name"]

    def __init__(self, tool: Tool[..., Any] | str, given: Mapping[str, Any] | None = None, /, **arguments: Any) -> None:
        """Expect a call.

        Args:
            tool: A tool, or its own name, whatever a provider is sent.
            given: Arguments as a mapping, where one of them has a name that cannot be written as a keyword.
            **arguments: Arguments.
        """
        self.tool = tool if isinstance(tool, str) else tool.name
        self.arguments: dict[str, Any] = {**(given or {}), **arguments}
        self.is_forbidden = False
        self.match = "exact"

    @classmethod
    def name_only(cls, tool: Tool[..., Any] | str, /) -> "Expect":
        """Expect a call of a tool, whatever its arguments are, even if the tool refuses them."""
        made = cls(tool)
        made.match = "name"
        return made

    @classmethod
    def subset(
        cls, tool: Tool[..., Any] | str, given: Mapping[str, Any] | None = None, /, **arguments: Any
    ) -> "Expect":
        """Expect a call with these arguments; the tool's other arguments do not count.

        A value is compared as a whole: an object that stands for an argument names all its fields that have no default.
        """
        made = cls(tool, given, **arguments)
        made.match = "subset"
        return made

    def __repr__(self) -> str:
        shown = ", ".join([repr(self.tool), *(f"{name}={value!r}" for name, value in self.arguments.items())])
        made_by = {"exact": "Expect", "subset": "Expect.subset", "name": "Expect.name_only"}[self.match]
        return f"{'never' if self.is_forbidden else made_by}({shown})"


def never(tool: Tool[..., Any] | str, given: Mapping[str, Any] | None = None, /, **arguments: Any) -> Expect:
    """A call that must not happen: of a tool, with these arguments, whatever the others are."""
    made = Expect.subset(tool, given, **arguments)
    made.is_forbidden = True
    return made


def is_matched(expected: Any) -> bool:
    """Whether a matcher stands anywhere in a value."""
    if isinstance(expected, dict):
        return any(map(is_matched, expected.values()))
    return isinstance(expected, Matcher) or (isinstance(expected, list) and any(map(is_matched, expected)))
